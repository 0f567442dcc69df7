/* window_ticks.c - how a window's time passes, and the sweep behind it; see window_ticks.h. */
#if defined(__x86_64__)
#include <assert.h>
#include <immintrin.h>
#endif

#include "filter/window/window_over.h"

static void forget_oldest(weir__window *f) {
    assert(f->state.oldest <= f->state.newest);
    unsigned mark = weir__window_mark(f, f->state.oldest++);
    f->state.running &= ~weir__window_running_bit(f, mark);
    f->state.live -= f->count[mark];
    f->state.idle += f->count[mark];
    f->count[mark] = 0;
    f->ended[mark] = f->state.visits;
}

#if defined(__x86_64__)
/* Words in which nothing is over are not written, without a branch that could not be
 * foreseen; `n` counts the bits set in each. */
FOR_AVX512 static inline void clear_wide(uint64_t *words, const half_line *kept,
                                         const half_line *over, const half_line *set,
                                         half_line *n) {
    __mmask8 changed = _mm256_test_epi64_mask((__m256i)*over, (__m256i)*over);
    _mm256_mask_storeu_epi64(words, changed, (__m256i)*kept);
    *n += (half_line)_mm256_popcnt_epi64((__m256i)*set);
}

HOT uint64_t sweep_lines_wide(uint64_t *words, uint64_t count, const over_rule *rule,
                              over_kind kind, unsigned width, bool *left) {
    half_line all = {0}, n = {0};
    for (const uint64_t *end = words + count; words < end; words += HALF_WORDS) {
        half_line half = load_half(words), over = half & over_in(half, rule, kind, width);
        half_line set = set_cells(over, rule, kind);
        half ^= over;
        all |= half;
        clear_wide(words, &half, &over, &set, &n);
    }
    *left = any_bit(all);
    return n[0] + n[1] + n[2] + n[3];
}
#else
#define sweep_lines_wide(...) 0
#endif

/* Clear the cells of ticks that are over, in some lines. Returns how many; `left` says whether
 * any cell is still set. */
HOT uint64_t sweep_lines(uint64_t *words, uint64_t count, const over_rule *rule, over_kind kind,
                         unsigned width, bool *left, cpu_kind cpu) {
    half_line all = {0};
    if (cpu == CPU_AVX512) return sweep_lines_wide(words, count, rule, kind, width, left);
    uint64_t n = 0;
    for (const uint64_t *end = words + count; words < end; words += WEIR__LINE_WORDS) {
        half_line low = load_half(words), high = load_half(words + HALF_WORDS);
        half_line over_low = low & over_in(low, rule, kind, width);
        half_line over_high = high & over_in(high, rule, kind, width);
        low ^= over_low, high ^= over_high;
        all |= low | high;
        if (!any_bit(over_low | over_high)) continue; /* nor is the line written */
        store_half(words, low);
        store_half(words + HALF_WORDS, high);
        n += cells_in(over_low, over_high, rule, kind, width);
    }
    *left = any_bit(all);
    return n;
}

HOT uint64_t sweep_timers(const over_rule *rule, uint64_t *words, uint64_t count, unsigned width,
                          bool *left, cpu_kind cpu) {
    return rule->kind == TIMERS ? sweep_lines(words, count, rule, TIMERS, width, left, cpu)
                                : sweep_lines(words, count, rule, TIMERS_AROUND, width, left, cpu);
}

HOT uint64_t sweep_words_all(const weir__window *f, uint64_t *words, uint64_t count, bool *left,
                             cpu_kind cpu) {
    over_rule rule = over_rule_of(f);
    if (f->jumping) return sweep_lines(words, count, &rule, GENERATIONS, f->width, left, cpu);
    if (f->width == 4) return sweep_timers(&rule, words, count, 4, left, cpu);
    return sweep_timers(&rule, words, count, f->width, left, cpu);
}
FOR_EACH_CPU_TOLD(uint64_t, sweep_words,
                  (const weir__window *f, uint64_t *words, uint64_t count, bool *left), f, words,
                  count, left)

static void visit(weir__window *f, uint64_t block) {
    assert(block < f->blocks);
    uint64_t from = block * WEIR__SWEPT_WORDS;
    uint64_t count = f->words - from < WEIR__SWEPT_WORDS ? f->words - from : WEIR__SWEPT_WORDS;
    bool left = false;
    f->state.idle -= sweep_words(f, f->cells + from, count, &left);
    if (!left) f->dirty[block / 64] &= ~(UINT64_C(1) << block % 64);
}

void weir__window_sweep(weir__window *f, uint64_t visits) {
    assert(f->blocks > 0);
    uint64_t to = f->state.visits + visits;
    while (f->state.idle && f->state.visits < to) {
        uint64_t at = f->state.visits % f->blocks, step = 1;
        uint64_t flags = f->dirty[at / 64] >> at % 64;
        if (flags & 1) visit(f, at);
        else step = flags ? (uint64_t)__builtin_ctzll(flags) : 64 - at % 64;
        if (step > f->blocks - at) step = f->blocks - at;
        if (step > to - f->state.visits) step = to - f->state.visits;
        f->state.visits += step;
    }
    f->state.visits = to; /* where nothing is idle a visit would change nothing */
}

static uint64_t plus(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

static void foresee(weir__window *f) {
    uint64_t began = f->began[weir__window_mark(f, f->state.oldest)];
    uint64_t expiry = plus(plus(began, f->length), 1);
    f->state.event = expiry < f->state.tick_end ? expiry : f->state.tick_end;
}

/* Make the visits due by the end of a tick, and choose how fast to go in the next. */
static void settle_sweep(weir__window *f) {
    assert(f->quota > 0);
    if (f->state.visits < f->state.due) weir__window_sweep(f, f->state.due - f->state.visits);
    uint64_t turns = f->state.keys / WEIR__SWEEP_EVERY + 1;
    f->state.pace = (f->quota + turns - 1) / turns;
    f->state.due = f->state.visits + f->quota;
    f->state.keys = 0;
}

/* A tick begins, with a mark that no cell bears. */
static void begin_tick(weir__window *f, uint64_t began) {
    bool none = f->state.newest < f->state.oldest;
    if (none || f->count[weir__window_mark(f, f->state.newest)]) {
        settle_sweep(f);
        uint64_t next = f->state.newest + 1;
        if (next - f->state.oldest >= f->running_most) forget_oldest(f), f->state.cut++;
        uint64_t visits = f->state.visits - f->ended[weir__window_mark(f, next)];
        if (visits < f->blocks) weir__window_sweep(f, f->blocks - visits);
        f->state.newest = next;
    }
    unsigned mark = weir__window_mark(f, f->state.newest);
    f->state.running |= weir__window_running_bit(f, mark);
    f->began[mark] = began;
}

void weir__window_go_on_to(weir__window *f, uint64_t at) {
    while (f->state.oldest <= f->state.newest &&
           at - f->began[weir__window_mark(f, f->state.oldest)] > f->length)
        forget_oldest(f);
    if (!f->state.started || at >= f->state.tick_end) {
        uint64_t since = weir__window_into_tick(f, at);
        f->state.started = 1;
        f->state.tick_end = plus(at, f->tick - since);
        begin_tick(f, at > since ? at - since : 0);
    }
    foresee(f);
}

void weir__window_make_room(weir__window *f) {
    if (f->count[weir__window_mark(f, f->state.newest)] >= f->early) begin_tick(f, f->state.latest);
    while (!f->jumping && f->state.live > f->limit && f->state.oldest < f->state.newest)
        forget_oldest(f), f->state.cut++;
    foresee(f);
}

uint64_t weir__window_oldest_at(const weir__window *f, uint64_t at, uint64_t *running) {
    uint64_t oldest = f->state.oldest;
    *running = f->state.running;
    if (!f->state.started || at < f->state.event) return oldest;
    for (; oldest <= f->state.newest; oldest++) {
        unsigned mark = weir__window_mark(f, oldest);
        bool over = at - f->began[mark] > f->length;
        bool crowded = at >= f->state.tick_end && f->state.newest + 1 - oldest >= f->running_most &&
                       f->count[weir__window_mark(f, f->state.newest)];
        if (!over && !crowded) break;
        *running &= ~weir__window_running_bit(f, mark);
    }
    return oldest;
}
