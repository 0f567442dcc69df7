/* line_groups.c - the steps in which the cells of a key's groups are found; see
 * line_groups.h. */
#include "filter/line/line_groups.h"

#include <assert.h>

/* The word's cell in this step is that of group j; none: one that lies beyond its end. */
static void fill_in(group_step *step, unsigned word, unsigned j, uint64_t begins) {
    assert(word < WEIR__LINE_WORDS);
    step->mix[2 * word] = j % GROUP_BLOCK / 4 * 2;
    step->mix[2 * word + 1] = j % GROUP_BLOCK / 4 * 2 + 1;
    step->shift[word] = j % 4 * 16;
    step->begins[word] = begins;
}

/* The steps of the groups from `from` up to `end`, all of one block. */
static void add_block(group_plan *plan, unsigned from, unsigned end) {
    assert(end - from <= GROUP_BLOCK && plan->steps <= GROUP_STEPS_MOST);
    group_step *steps = plan->step + plan->steps;
    unsigned most = 0, before[WEIR__LINE_WORDS] = {0};
    for (unsigned i = plan->steps; i < GROUP_STEPS_MOST; i++) {
        plan->step[i].block = from / GROUP_BLOCK;
        for (unsigned w = 0; w < WEIR__LINE_WORDS; w++) fill_in(&plan->step[i], w, from, 64);
    }
    for (unsigned j = from; j < end; j++) {
        unsigned low = j * plan->group << plan->shift;
        unsigned high = low + ((plan->group - 1) << plan->shift);
        for (unsigned w = low / 64; w <= high / 64; w++) {
            fill_in(&steps[before[w]++], w, j, (uint64_t)low - 64 * (uint64_t)w);
            if (before[w] > most) most = before[w];
        }
    }
    plan->steps += most;
}

void group_plan_make(group_plan *plan, unsigned group, unsigned k, unsigned shift) {
    assert(group * k << shift <= WEIR__LINE_BITS);
    *plan = (group_plan){.group = group, .shift = shift, .long_blocks = k > GROUP_BLOCK / 2};
    for (unsigned from = 0; from < k; from += GROUP_BLOCK)
        add_block(plan, from, from + GROUP_BLOCK < k ? from + GROUP_BLOCK : k);
}
