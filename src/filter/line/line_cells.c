/* line_cells.c - the steps in which a key's cells are found; see line_cells.h. */
#include "filter/line/line_cells.h"

#include <assert.h>

/* The cells `from` to `to` in their lanes, of mixes that have bits for `a_mix` cells. */
#define SHIFT(j, from, to, a_mix) ((j) < (from) || (j) > (to) ? 0 : (j) % (a_mix) * (60 / (a_mix)))
#define KEEP(j, from, to, a_mix) ((j) < (from) || (j) > (to) ? 0 : UINT64_MAX)
#define ROUND(of, j, ...)                                                                          \
    of((j), __VA_ARGS__), of((j) + 1, __VA_ARGS__), of((j) + 2, __VA_ARGS__),                      \
        of((j) + 3, __VA_ARGS__), of((j) + 4, __VA_ARGS__), of((j) + 5, __VA_ARGS__),              \
        of((j) + 6, __VA_ARGS__), of((j) + 7, __VA_ARGS__)
#define LANES(of, from, to, a_mix)                                                                 \
    { ROUND(of, (from) / 8 * 8, from, to, a_mix), ROUND(of, (from) / 8 * 8, from, to, a_mix) }
#define STEP(from, to, a_mix)                                                                      \
    {                                                                                              \
        from, (from) && (from) % (a_mix) == 0, LANES(SHIFT, from, to, a_mix),                      \
            LANES(KEEP, from, to, a_mix)                                                           \
    }

static const line_step tens[] = {STEP(0, 7, 10),   STEP(8, 9, 10),   STEP(10, 15, 10),
                                 STEP(16, 19, 10), STEP(20, 23, 10), STEP(24, 29, 10),
                                 STEP(30, 31, 10)};
static const line_step fives[] = {
    STEP(0, 4, 5),   STEP(5, 7, 5),   STEP(8, 9, 5),   STEP(10, 14, 5), STEP(15, 15, 5),
    STEP(16, 19, 5), STEP(20, 23, 5), STEP(24, 24, 5), STEP(25, 29, 5), STEP(30, 31, 5)};
enum { TENS = sizeof tens / sizeof *tens, FIVES = sizeof fives / sizeof *fives };

/* The same in whole rounds: cell j is of mix j / 5. */
#define OF_MIX(j, mix) ((j) / 5 == (mix) ? UINT64_MAX : 0)
#define WHOLE(r)                                                                                   \
    { (r) * 8 / 5, LANES(SHIFT, (r)*8, (r)*8 + 7, 5), MIX_LANES(r, 1), MIX_LANES(r, 2) }
#define MIX_LANES(r, mix)                                                                          \
    { ROUND(OF_MIX, (r)*8, (r)*8 / 5 + (mix)), ROUND(OF_MIX, (r)*8, (r)*8 / 5 + (mix)) }
const line_round line_rounds[LINE_ROUNDS_MOST] = {WHOLE(0), WHOLE(1), WHOLE(2), WHOLE(3)};

static line_plan plan_of(unsigned K, const line_step *steps, unsigned all) {
    assert(K >= 1 && K <= LINE_CELLS_MOST);
    line_plan plan = {.step = steps};
    while (plan.steps < all && plan.step[plan.steps].first < K) plan.steps++;
    const line_step *last = &plan.step[plan.steps - 1];
    unsigned round = last->first / WEIR__LINE_WORDS * WEIR__LINE_WORDS;
    for (unsigned i = 0; i < 2 * WEIR__LINE_WORDS; i++)
        plan.last[i] = round + i % WEIR__LINE_WORDS < K ? last->keep[i] : 0;
    return plan;
}

line_plan line_plan_scaled(unsigned K) { return plan_of(K, fives, FIVES); }

line_plan line_plan_of(unsigned K, unsigned width) {
    return width == 3 ? line_plan_scaled(K) : plan_of(K, tens, TENS);
}
