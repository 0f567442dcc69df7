/* window_over.h - which cells of a window are over, in half a line at once.
 *
 * Sliding: the values of the ticks that run go from `first` to `last`, around the end if
 * last < first, and each cell is compared with both in its own bits; `highs` are the
 * highest bits of the cells. Jumping: `over` are the bits of the generations that are.
 * What follows takes half a line.
 */
#ifndef WEIR_FILTER_WINDOW_OVER_H
#define WEIR_FILTER_WINDOW_OVER_H

#include "filter/line/line_cells.h"
#include "filter/window/window_ticks.h"

typedef enum { TIMERS, TIMERS_AROUND, GENERATIONS } over_kind;

/* All words of a half line alike. */
typedef struct {
    over_kind kind;
    unsigned newest; /* the mark that is written */
    half_line first, last, lows, highs, over;
} over_rule;

HOT half_line each_word(uint64_t word) { return (half_line){word, word, word, word}; }

HOT over_rule over_rule_of(const weir__window *f) {
    uint64_t lows = f->lows, first = weir__window_mark(f, f->state.oldest) + 1,
             last = weir__window_mark(f, f->state.newest) + 1;
    bool none = f->state.newest < f->state.oldest;
    return (over_rule){.kind = f->jumping              ? GENERATIONS
                               : none || first <= last ? TIMERS
                                                       : TIMERS_AROUND,
                       .newest = (unsigned)last - 1,
                       .first = each_word(lows * (none ? f->mask : first)),
                       .last = each_word(none ? 0 : lows * last),
                       .lows = each_word(lows),
                       .highs = each_word(lows << (f->width - 1)),
                       .over = each_word(~(lows * f->state.running))};
}

/* In each cell, as its highest bit: x >= y. Without their highest bits a difference does
 * not borrow from the next cell; these decide where they differ. */
HOT half_line at_least(half_line x, half_line y, half_line highs) {
    half_line difference = (x | highs) - (y & ~highs);
    return ((x & ~y) | (~(x ^ y) & difference)) & highs;
}

/* The highest bit of each cell that is not empty; for generations each bit is one. */
HOT half_line set_cells(half_line words, const over_rule *rule, over_kind kind) {
    if (kind == GENERATIONS) return words;
    return (((words & ~rule->highs) + (rule->highs - rule->lows)) | words) & rule->highs;
}

/* All bits of the cells that are over, of empty ones too. */
HOT half_line over_in(half_line words, const over_rule *rule, over_kind kind, unsigned width) {
    if (kind == GENERATIONS) return rule->over;
    half_line from = at_least(words, rule->first, rule->highs);
    half_line to = at_least(rule->last, words, rule->highs);
    half_line runs = kind == TIMERS_AROUND ? from | (to & set_cells(words, rule, kind)) : from & to;
    half_line over = rule->highs & ~runs;
    return over | (over - (over >> (width - 1)));
}

/* One bit of each cell, of a line's eight words in two: cells have at least four bits,
 * or else a third and fourth word are needed, which are empty otherwise. */
typedef struct {
    uint64_t word[4];
} cell_bits;

/* `lows`: the lowest bits of cells. Words four apart are laid into one, the later moved up
 * by one bit, and so those two apart, by two. */
HOT cell_bits lay_together(half_line low, half_line high, unsigned width) {
    half_line both = low | high << 1;
    if (width < 4) return (cell_bits){{both[0], both[1], both[2], both[3]}};
    return (cell_bits){{both[0] | both[2] << 2, both[1] | both[3] << 2, 0, 0}};
}

HOT uint64_t count_bits(cell_bits bits) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < 4; i++) sum += (uint64_t)__builtin_popcountll(bits.word[i]);
    return sum;
}

/* How many cells, or bits of generations, are not empty. */
HOT uint64_t cells_in(half_line low, half_line high, const over_rule *rule, over_kind kind,
                      unsigned width) {
    if (kind == GENERATIONS) return bits_in(low) + bits_in(high);
    return count_bits(lay_together(set_cells(low, rule, kind) >> (width - 1),
                                   set_cells(high, rule, kind) >> (width - 1), width));
}

#endif
