/* lab_experiment.h - what an experiment is, for those who write one.
 *
 * An experiment is one entry of a table: what a paper claims and where, the
 * cases to run, the columns that a run fills in, the figures to draw, the paper's
 * numbers where they are printed, and the claims to check. Everything else is
 * made from the entry: repetition over seeds, the cache, tables, figures, the
 * verdict, the report.
 *
 *     static weir_status run_example(lab_unit *unit) {
 *         double row[] = {unit->c->p[0], measure(unit->c->p[0], unit->seed)};
 *         return lab_emit(unit, row);
 *     }
 *
 * A case and a seed are one unit of work: units run in any order, on several
 * threads, and each is kept as soon as it is done. A unit gives one row, or many
 * (a course over time); row i of a case must mean the same under every seed.
 *
 * To add experiments: an array that ends with a name of NULL in a file
 * lab/exp_NAME.c, declared here, and one line in lab_experiments.c.
 */
#ifndef LAB_EXPERIMENT_H
#define LAB_EXPERIMENT_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

/* Computed, never typed: lab_result.c says how. */
typedef enum { LAB_DIFFERS, LAB_SAME_SHAPE, LAB_REPRODUCED } lab_verdict;

enum { LAB_MOST_COLUMNS = 24, LAB_PARAMS = 6, LAB_MOST_FIGURES = 4 };

typedef struct {
    const char *name;  /* in the CSV: "fnr_sbf" */
    const char *title; /* for people: "SBF, false negatives" */
    const char *unit;  /* "%", "bits"; NULL: none */
    bool given;        /* set by the case, not measured */
    /* How far from a printed number ours may be, besides sampling error: what
     * rounding and a reading of the text leave open. Absolute, and as a share. */
    double within, within_share;
} lab_column;

typedef enum { LAB_ALWAYS, LAB_QUICK_ONLY, LAB_FULL_ONLY } lab_when;

/* One line of a table, or one curve. */
typedef struct {
    const char *panel; /* cases of one panel are drawn together; NULL: one for all */
    const char *label;
    const char *stream, *filter; /* specs, for the run function's use */
    double p[LAB_PARAMS];        /* numbers, likewise */
    lab_when when;
    /* The paper's numbers by column, NAN where it prints none; NULL: none at all.
     * For the last row, or for each of the first paper_rows rows. */
    const double (*paper)[LAB_MOST_COLUMNS];
    size_t paper_rows;
} lab_case;

#define LAB_PAPER(...) ((const double[][LAB_MOST_COLUMNS]){{__VA_ARGS__}})
#define LAB_PAPER_ROWS(...) ((const double[][LAB_MOST_COLUMNS]){__VA_ARGS__})

/* Points are all rows of all cases, with the line y = x: one value against another. */
typedef enum { LAB_LINES, LAB_POINTS, LAB_BARS } lab_style;

typedef struct {
    const char *title;
    const char *x_label, *y_label;
    const char *x;    /* name of a column; unused by bars */
    const char *y[8]; /* names of columns */
    bool by_case;     /* one curve for each case and y; else one for each y, over the cases */
    bool log_x, log_y;
    lab_style style;
    const char *y_range; /* "[0:100]" or NULL */
    size_t claim;        /* number of the claim that it shows: what was found is its caption */
} lab_figure;

/* --- a unit of work, as the run function sees it ------------------------------- */

typedef struct lab_experiment lab_experiment;
typedef struct lab_work lab_work;

typedef struct {
    const lab_experiment *experiment;
    const lab_case *c;
    size_t index; /* of the case */
    uint64_t seed;
    bool full;
    double size;  /* the experiment's quick or full size */
    double scale; /* size / full size: by how much to shrink memories */
    weir_error error;
    double *values; /* rows so far */
    size_t rows, room;
    double seconds;  /* of a processor that it took */
    uint64_t ticked; /* progress told so far, in nanoseconds */
    lab_work *work;
} lab_unit;

/* Add a row: a value for each column of the experiment. */
weir_status lab_emit(lab_unit *unit, const double *values);

/* Tell that so many more records (or what cost() counts) are done; false: stop
 * soon, the person has asked for it. Return WEIR_OK then; what was emitted is
 * thrown away. */
bool lab_tick(lab_unit *unit, uint64_t records);

/* Fail with a message; use as `return lab_fail(unit, WEIR_ERR_RANGE, "...")`.
 * WEIR_ERR_IO means that a file is not there: the case is left out, with a word. */
weir_status lab_fail(lab_unit *unit, weir_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- results, as claims see them ------------------------------------------------- */

typedef struct lab_result lab_result;

/* Mean of a cell over the seeds; row -1 is the last. NAN if it was not run. */
double lab_mean(const lab_result *result, size_t c, int row, const char *column);

/* Half of the 95% interval of that mean; 0 with one seed. */
double lab_spread(const lab_result *result, size_t c, int row, const char *column);

size_t lab_cases(const lab_result *result);
unsigned lab_seeds(const lab_result *result, size_t c);
const lab_case *lab_case_at(const lab_result *result, size_t c);
size_t lab_rows(const lab_result *result, size_t c);

/* The case of that panel (NULL: any) and label; lab_cases() if there is none. */
size_t lab_find_case(const lab_result *result, const char *panel, const char *label);

typedef struct {
    char text[512];
} lab_words;

/* Write a sentence with the numbers found; returns `holds`, so that a claim can
 * end in `return lab_say(words, a < b, "...", a, b)`. */
bool lab_say(lab_words *words, bool holds, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the limit of a claim comes from: it was set after a look at results (a verdict that rests
 * on it is at best `same shape`), the paper says it, or it is a level of significance. */
typedef enum { LAB_AFTER, LAB_WORDS, LAB_LEVEL } lab_origin;

typedef struct { /* NOLINT(clang-analyzer-optin.performance.Padding): in the order of reading */
    /* A claim of numbers is needed for `reproduced`; one of order or trend
     * (shape = true) for anything better than `differs`. */
    bool shape;
    const char *text; /* what the paper says: a sentence */
    bool (*holds)(const lab_result *result, lab_words *found);
    const char *criterion; /* what has to be so for it to hold */
    lab_origin origin;     /* of the criterion */
} lab_claim;

/* --- the entry -------------------------------------------------------------------- */

struct lab_experiment {
    const char *name;   /* "rsbf-table-2" */
    const char *file;   /* LAB_FILE */
    const char *source; /* "RSBF, table 2" */
    const char *title;
    const char *claim;         /* what the paper claims: a sentence or two */
    const char *method;        /* how it is run here: parameters, readings taken, sizes */
    const char *reason;        /* why ours differs, where it does; the arithmetic where a printed
                                * number cannot follow from its text. NULL if it does not */
    const lab_column *columns; /* ends with a name of NULL */
    const lab_case *cases;     /* ends with a label of NULL */
    const lab_claim *claims;   /* ends with a text of NULL; or NULL */
    lab_figure figures[LAB_MOST_FIGURES];
    double quick, full; /* size, usually records of the stream */
    unsigned quick_seeds, full_seeds;
    lab_verdict quick_expected, full_expected; /* worse than this is a regression */
    bool alone;                                /* measures time: no other unit beside it */
    weir_status (*run)(lab_unit *unit);
    /* What a unit costs (default: size), with the nanoseconds of one of that on the machine
     * where it was measured (default: 100), and the memory it needs (default: little). */
    double ns;
    double (*cost)(const lab_case *c, double size, double scale);
    double (*memory)(const lab_case *c, double size, double scale);
};

/* The source file of an entry: results are cached by what it contains. */
#define LAB_FILE __FILE__

/* What every entry says, in short. */
#define LAB_ENTRY(label, where) .name = label, .file = LAB_FILE, .source = where
#define LAB_SIZES(few, many) .quick = few, .full = many
#define LAB_SEEDS(few, many) .quick_seeds = few, .full_seeds = many
#define LAB_EXPECT(verdict) .quick_expected = verdict, .full_expected = verdict

extern const lab_experiment lab_exp_stable[], lab_exp_reservoir[], lab_exp_importance[],
    lab_exp_count[], lab_exp_pairs[], lab_exp_pairs_rivals[], lab_exp_pairs_texts[],
    lab_exp_slices[], lab_exp_windows[], lab_exp_trees[], lab_exp_ours[];
#ifdef HAVE_REMOTE
extern const lab_experiment lab_exp_live[], lab_exp_live_trees[], lab_exp_live_faults[],
    lab_exp_live_designs[];
#endif

/* All experiments, in the order of the report; NULL past the last. */
const lab_experiment *lab_experiment_at(size_t i);

#endif
