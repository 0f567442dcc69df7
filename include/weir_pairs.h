/* weir_pairs.h - how many records are nearly the same.
 *
 * A weir_pairs is a summary of records of d values each, from which the number
 * of pairs that agree in at least s of them is estimated, in one pass and
 * without comparing pairs. A pair is two different records, in no order. Made
 * from a spec:
 *
 *     pairs:columns=6,threshold=4,sample=0.5
 *
 * `weir_pairs_kind()` lists the options. method=offline keeps all super-values
 * (in memory=, then in a temporary file without a name), method=online keeps
 * sketches of fixed size. Records are known by their `row`, d words; rows are
 * made by weir_pairs_row() from text, or are any numbers of your own.
 *
 * Contents:
 *
 *   1. Making and filling  new, rows of records, add, merge
 *   2. Answers             self, join, search
 *   3. State               save, load, parts of a snapshot, info
 *   4. Examples            collisions, match (experimental)
 *   5. Exact and sampled   the exact numbers by comparing; a random sample; neighbours
 *   6. Texts               several signatures, doubts, similarity of two (experimental)
 *   7. Formulas            chances, and what a precision costs (experimental)
 *
 * Threads, statuses and errors are as in weir.h.
 */
#ifndef WEIR_PAIRS_H
#define WEIR_PAIRS_H

#include <weir_text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * 1. Making and filling
 * ------------------------------------------------------------------------ */

typedef struct weir_pairs weir_pairs;

/* Fails, and *out is then NULL, with WEIR_ERR_SPEC or WEIR_ERR_RANGE (err->offset points into the
 * spec), WEIR_ERR_IO (the system gives no random seed) or WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_new(weir_pairs **out, const char *spec, weir_error *err);
WEIR_API void weir_pairs_free(weir_pairs *pairs);

/* Its one kind, and the full spec of a summary, as for filters. */
WEIR_API const weir_kind *weir_pairs_kind(void);
WEIR_API size_t weir_pairs_spec(const weir_pairs *pairs, char *buffer, size_t size);

/* Where temporary files go; $TMPDIR, or /tmp, unless it is set. Fails with WEIR_ERR_RANGE: the
 * name is too long. */
WEIR_API weir_status weir_pairs_set_folder(weir_pairs *pairs, const char *folder, weir_error *err);

typedef struct {
    const void *bytes;
    size_t length;
} weir_field;

typedef enum {
    WEIR_ROW_OK = 0,
    WEIR_ROW_TOO_FEW,  /* not as many fields as columns */
    WEIR_ROW_TOO_MANY, /* a set of more items than columns */
    WEIR_ROW_EMPTY     /* a text without words, a set without items */
} weir_row_status;

/* Make the d words of a record: by the spec's `from`, of d fields (columns), up
 * to d items (set) or one text (text, cosine). Thread-safe on one object. */
WEIR_API weir_row_status weir_pairs_row(const weir_pairs *pairs, const weir_field *fields,
                                        size_t count, uint64_t *row);

/* A number rounded to a multiple of `step`, as text: so numbers can be compared
 * as columns. False if the bytes are not a number, or the step is not above 0; a number
 * that is beyond all multiples stays as it is. out: at least 40 bytes. */
WEIR_API bool weir_round_number(const void *bytes, size_t length, double step, char *out);

/* Add records: count rows of d words, one after the other. `first` is the number
 * of the first of them; each record of a summary needs a number of its own (the
 * choice of super-values follows from it), in any order. Fails with WEIR_ERR_IO,
 * WEIR_ERR_MEMORY or WEIR_ERR_RANGE (online: a counter of 32 bits overflows), and
 * then some of the records may have been added. */
WEIR_API weir_status weir_pairs_add(weir_pairs *pairs, uint64_t first, const uint64_t *rows,
                                    size_t count, weir_error *err);

/* Do now what the first answer would do: sort. For threads that fill summaries
 * which are then merged. */
WEIR_API void weir_pairs_prepare(weir_pairs *pairs);

/* Move all records of `from` to `into`; `from` is empty afterwards. Both must
 * have the same spec, but for `draw`, `memory` and `witnesses`; and either their
 * `draw` or the numbers of their records must be different (WEIR_ERR_MISMATCH,
 * as far as their witnesses show it). Or WEIR_ERR_RANGE (a counter would overflow),
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_merge(weir_pairs *into, weir_pairs *from, weir_error *err);

/* ------------------------------------------------------------------------
 * 2. Answers
 * ------------------------------------------------------------------------ */

/* An answer. Counts are estimates, unbiased, and so may come out negative when
 * there is little to count; deviations are standard deviations. */
typedef struct {
    unsigned columns, threshold;
    uint64_t records[2]; /* of a self-join: the same twice; of a search: all, and 1 */
    double pairs;        /* how many there are in all */
    double count[65];    /* [k] pairs that agree in exactly k, threshold <= k <= columns */
    double deviation[65];
    double similar; /* pairs that agree in threshold or more */
    double similar_deviation;
    double similar_bound;      /* the thesis's bound on that deviation, much wider */
    double low, high;          /* interval of 95% around similar, within 0 and pairs */
    unsigned long long values; /* super-values that were compared */
} weir_pairs_answer;

/* Fails with WEIR_ERR_IO (temporary files), WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_self(weir_pairs *pairs, weir_pairs_answer *out, weir_error *err);

/* Pairs of one record of each. The specs must be the same but for `draw`, which
 * must differ, and `memory` (WEIR_ERR_MISMATCH). Or WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_join(weir_pairs *a, weir_pairs *b, weir_pairs_answer *out,
                                     weir_error *err);

/* Records of a summary that agree with this one. Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_search(weir_pairs *pairs, const uint64_t *row,
                                       weir_pairs_answer *out, weir_error *err);

/* ------------------------------------------------------------------------
 * 3. State
 * ------------------------------------------------------------------------ */

/* Save and load, as filters are. Fails with WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_save(weir_pairs *pairs, const char *path, weir_error *err);

/* Fails with WEIR_ERR_IO, WEIR_ERR_CORRUPT, WEIR_ERR_VERSION, WEIR_ERR_MISMATCH,
 * WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_load(weir_pairs **out, const char *path, weir_error *err);

/* Fails with WEIR_ERR_RANGE (the name), WEIR_ERR_IO, WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_snapshot_put_pairs(weir_snapshot *snapshot, const char *name,
                                             weir_pairs *pairs, weir_error *err);
WEIR_API weir_pairs *weir_snapshot_take_pairs(weir_snapshot *snapshot, const char *name);

/* What values are made from; in the order of the spec's choices. */
typedef enum { WEIR_FROM_COLUMNS, WEIR_FROM_SET, WEIR_FROM_TEXT, WEIR_FROM_COSINE } weir_pairs_from;

typedef struct {
    uint64_t records;
    uint64_t memory;     /* bytes held */
    uint64_t disk;       /* bytes in temporary files */
    uint64_t per_record; /* super-values drawn for each record */
    uint64_t witnesses;  /* records kept as a sample */
    unsigned columns, threshold, repeats;
    uint64_t seed;
    weir_pairs_from from;
    unsigned group; /* text: min-hashes in a value; cosine: projections in a value */
    bool online;
    uint64_t width; /* of a sketch, and its depth */
    unsigned depth;
    double sample;
    unsigned signatures; /* independent ones of a text; 1 for all else */
    unsigned row_words;  /* words of a row: columns x signatures + angles */
} weir_pairs_info;
WEIR_API void weir_pairs_get_info(const weir_pairs *pairs, weir_pairs_info *info);

/* ------------------------------------------------------------------------
 * 4. Examples
 * ------------------------------------------------------------------------ */

/* Examples. Super-values that more than one record drew (that records of both
 * drew, if b is not NULL), at most `most`, in no order that means anything;
 * returns how many. Fails with WEIR_ERR_UNSUPPORTED (method=online), WEIR_ERR_MISMATCH as
 * weir_pairs_join() does, WEIR_ERR_IO, WEIR_ERR_MEMORY. Then, for each
 * record once more, those of a list that it drew: place in the sorted list for
 * each, at most `most`. */
WEIR_EXPERIMENTAL weir_status weir_pairs_collisions(weir_pairs *a, weir_pairs *b, uint64_t *values,
                                                    size_t most, size_t *count, weir_error *err);
WEIR_EXPERIMENTAL size_t weir_pairs_match(weir_pairs *pairs, uint64_t number, const uint64_t *row,
                                          const uint64_t *values, size_t count, size_t *places,
                                          size_t most);

/* ------------------------------------------------------------------------
 * 5. Exact and sampled
 * ------------------------------------------------------------------------ */

/* How many of d values two rows have in common; `set`: in any place. */
WEIR_API unsigned weir_rows_agree(const uint64_t *a, const uint64_t *b, unsigned columns, bool set);

/* The exact numbers, by comparing. Rows of d words; b NULL: pairs within a. out:
 * count[k] for k from threshold up (all 65 are written), deviations 0. Fails with WEIR_ERR_RANGE
 * (columns or threshold), WEIR_ERR_MEMORY. */
typedef enum { WEIR_EXACT_AUTO, WEIR_EXACT_ALL_PAIRS, WEIR_EXACT_INDEX } weir_exact_method;
typedef struct {
    unsigned columns, threshold;
    bool set;
    weir_exact_method method;
} weir_exact_options;
WEIR_API weir_status weir_pairs_exact(const weir_exact_options *options, const uint64_t *a,
                                      size_t a_count, const uint64_t *b, size_t b_count,
                                      weir_pairs_answer *out, weir_error *err);

/* Random sampling, for comparison: the pairs among the records that the summary
 * keeps as a sample, scaled up, with the deviation that the choice of the sample makes. b NULL: a
 * self-join. Fails with WEIR_ERR_MEMORY. */
WEIR_API weir_status weir_pairs_sampled(const weir_pairs *a, const weir_pairs *b,
                                        weir_pairs_answer *out, weir_error *err);

/* Neighbours: other records that agree in `threshold` or more of d values, or points (rows of the
 * bits of d doubles) within a Euclidean distance. */
typedef struct {
    unsigned columns, threshold;
    bool set;
    double distance; /* above 0: of points; the threshold then says nothing */
    unsigned stride; /* words from one row to the next; 0: as many as columns */
    uint64_t fewer;  /* an outlier has fewer neighbours than this */
    uint64_t sample; /* so many records are compared with all; 0: every one */
    uint64_t seed;   /* of the sample */
} weir_neighbours_options;

enum { WEIR_NEIGHBOURS_ROWS = 66 };

/* Pairs that agree in `limit` values or more, or are within `limit`; and an interval of 95%. */
typedef struct {
    double limit, pairs, low, high;
} weir_neighbours_row;

typedef struct {
    uint64_t records, compared;
    double pairs;                                  /* how many there are in all */
    weir_neighbours_row near;                      /* by the threshold or distance */
    double outliers, outliers_low, outliers_high;  /* records, and an interval of 95% */
    unsigned rows;                                 /* the distribution: from the nearest, */
    weir_neighbours_row row[WEIR_NEIGHBOURS_ROWS]; /* each with those before it, to all pairs */
} weir_neighbours;

/* How many neighbours records have, by comparing a sample of them with all. The distribution of
 * distances doubles from a sixteenth of `distance` on. Fails with WEIR_ERR_RANGE (columns,
 * threshold, distance), WEIR_ERR_MEMORY (of sets a copy is made). */
WEIR_API weir_status weir_pairs_neighbours(const weir_neighbours_options *options,
                                           const uint64_t *rows, size_t count, weir_neighbours *out,
                                           weir_error *err);

/* ------------------------------------------------------------------------
 * 6. Texts
 * ------------------------------------------------------------------------ */

/* The answers of several independent signatures of the same texts become one, all[0]: the mean of
 * their counts, with an interval of 95% by how far they are apart, which so covers the chance that
 * is in the choice of hashes. At most 64. */
WEIR_EXPERIMENTAL void weir_pairs_average(weir_pairs_answer *all, size_t count);

/* How many of the pairs that are counted for texts of a similarity (0 to 1) are less similar, as
 * the records that were kept whole show it; and the least similarity of which that is no more than
 * a quarter of what is counted, 1: none. Of cosines also how many pairs are at least so similar,
 * by the same records alone, with an interval of 95%; `told` says whether that is narrow enough to
 * go by, and `least` is then the least cosine of which it is. b: the other side of a join, or NULL.
 * Fails with WEIR_ERR_UNSUPPORTED (the values are not made of texts), WEIR_ERR_RANGE (the
 * similarity), WEIR_ERR_MEMORY. */
typedef struct {
    double below, least;
    double pairs, low, high;
    bool told;
} weir_pairs_doubt;
WEIR_EXPERIMENTAL weir_status weir_pairs_doubts(const weir_pairs *a, const weir_pairs *b,
                                                double similarity, weir_pairs_doubt *out,
                                                weir_error *err);

/* How similar two records are by their rows, 0 to 1: the share of their values that agree; of
 * texts the Jaccard similarity or cosine that the values of all signatures speak for. */
WEIR_EXPERIMENTAL double weir_pairs_similarity(const weir_pairs *pairs, const uint64_t *a,
                                               const uint64_t *b);

/* ------------------------------------------------------------------------
 * 7. Formulas
 * ------------------------------------------------------------------------ */

/* The chance that a pair is counted as similar, when each of d values agrees
 * with this probability; and the same by the similarity of two texts (Jaccard,
 * or cosine) when g hashes make a value. */
WEIR_EXPERIMENTAL double weir_pairs_chance(unsigned columns, unsigned threshold, double agrees);
WEIR_EXPERIMENTAL double weir_pairs_curve(bool cosine, unsigned columns, unsigned threshold,
                                          unsigned group, double similarity);

/* The threshold, at least half of the columns, and the group for which that curve
 * comes nearest to a step at a similarity: the area between them is least. */
WEIR_EXPERIMENTAL void weir_pairs_choose(bool cosine, unsigned columns, double similarity,
                                         unsigned *threshold, unsigned *group);

/* What theorems 8 (width 0) and 10 ask for so that the share of similar pairs is
 * off by more than `error` with at most `chance`. */
typedef struct {
    bool reachable;   /* false: not even with all super-values */
    double sample;    /* r */
    unsigned repeats; /* runs to take the median of */
    double values;    /* super-values a record, over all runs */
    double bytes;
} weir_pairs_budget;
WEIR_EXPERIMENTAL void weir_pairs_cost(unsigned columns, unsigned threshold, double records,
                                       double error, double chance, double width,
                                       weir_pairs_budget *out);

#ifdef __cplusplus
}
#endif

#endif
