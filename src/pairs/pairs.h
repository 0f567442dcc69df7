/* pairs.h - what a summary of records is, inside the library.
 *
 *   supervalue.c   a record's super-values
 *   rows.c         a record's values, from columns, sets and texts
 *   store.c        offline: streams of super-values, whole
 *   sketch/        online: a Fast-AGMS matrix for each stream
 *   pairsize.c     join sizes into numbers of pairs, deviations, costs
 *   pairs.c        the object: made from a spec, filled, merged, saved
 *   answer.c       self-join, join, search, examples
 *   exact.c        by comparing, and random sampling
 *
 * There is a stream for each level k = s..d and each repetition; stream
 * number repetition x levels + level.
 */
#ifndef WEIR_PAIRS_PAIRS_H
#define WEIR_PAIRS_PAIRS_H

#include "core/family.h"
#include "core/hash.h"
#include "core/options.h"
#include "pairs/rows.h"
#include "pairs/store.h"
#include "pairs/supervalue.h"
#include "sketch/matrix.h"
#include "weir.h"
#include "weir_pairs.h"

struct weir_pairs {
    weir__value values[WEIR__OPTIONS_MAX];
    weir__row_maker maker;
    weir__shape shape;
    unsigned repeats;    /* of all that follows from a row; each signature is one */
    unsigned signatures; /* independent ones of a text, side by side in a row */
    unsigned row_words;  /* of a row: d for each signature, and those of maker.angles */
    size_t streams;
    bool online;
    double sample;
    uint64_t draw;            /* from which records draw */
    uint64_t records, merged; /* totals: records, and summaries merged into this one */

    weir__store *store; /* offline */

    weir__matrix *matrix; /* online: one for each stream */
    uint8_t *cells;
    uint64_t cells_bytes;

    uint64_t *bitmap; /* to draw with */
    uint64_t *batch;  /* online: super-values on their way to a sketch */

    /* What a snapshot keeps as words: the number of witnesses, the streams'
     * lengths in the store's image, and the witnesses. */
    uint64_t *words;
    size_t word_count, witness_room;
};

/* A witness is a record kept whole: its generator, then its row. They are those
 * with the least priorities, a random sample whatever is merged in what order. */
static inline uint64_t weir__witness_count(const weir_pairs *p) { return p->words[0]; }
static inline uint64_t *weir__stream_lengths(const weir_pairs *p) { return p->words + 1; }
static inline uint64_t *weir__witness(const weir_pairs *p, size_t i) {
    return p->words + 1 + p->streams + i * (p->row_words + 1);
}
static inline const uint64_t *weir__witness_row(const weir_pairs *p, size_t i) {
    return weir__witness(p, i) + 1;
}

/* The values of a row that a repetition is made from: its own signature, if there are several. */
static inline const uint64_t *weir__row_part(const weir_pairs *p, const uint64_t *row,
                                             unsigned repeat) {
    return p->signatures > 1 ? row + (size_t)repeat * p->shape.d : row;
}

/* The generator of a record in one repetition, from its first. */
static inline uint64_t weir__repeat_state(uint64_t state, unsigned repeat) {
    return repeat ? weir__mix64(state + repeat * WEIR__GOLD) : state;
}

/* How many items two sets have in common, whose items are in the order of weir__by_word(). */
unsigned weir__sets_agree(const uint64_t *a, const uint64_t *b, unsigned columns);
int weir__by_word(const void *a, const void *b);

/* May the two be joined or merged? */
weir_status weir__pairs_fit(const weir_pairs *a, const weir_pairs *b, weir_error *err);

/* Student's t of 97.5%, by degrees of freedom from 1; for more than 15 that of 15. */
double weir__student(unsigned freedom);

/* Widen the deviations of an answer about texts to what the choice of hashes does to the counts, as
 * the witnesses show it. b: of a join; record: the row of a search; pairs: in all. */
weir_status weir__redraw(const weir_pairs *a, const weir_pairs *b, const uint64_t *record,
                         double pairs, weir_pairs_answer *answer, weir_error *err);

/* Bring it into the form in which it is saved. */
weir_status weir__pairs_settle(weir_pairs *pairs, weir_error *err);

#endif
