/* count_truth.c - exact counts of 64-bit words, however many there are.
 *
 * Words (hashes of keys, or integer keys) and their weights are added up in a hash
 * table. When it has reached its bound it is sorted and written to a temporary file
 * as a run, and begins anew. At the end the runs and what is left in the table are
 * merged: every word comes once, in ascending order. Memory is bounded, and the disk
 * takes 16 bytes for each different word of each run.
 *
 * Keys are known by their hashes: two of a billion keys share one with a chance of 3%.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "count.h"
#include "spool.h"

enum { RUN_BUFFER = 4096 };  /* entries of a sorted run that are read at once */
enum { SLOTS_LEAST = 1024 }; /* entries of a table that has just begun */

typedef struct {
    uint64_t word;
    double count;
} entry;

typedef struct {
    uint64_t at, end; /* entries in the file */
    entry *buffer;
    size_t used, filled;
} run;

struct count_truth {
    entry *slots; /* the word 0 marks a free one, and is counted apart */
    size_t size, used, most;
    double zero;
    bool has_zero;
    FILE *file;
    run *runs;
    size_t run_count;
    uint64_t written; /* entries in the file */
    entry *sorted;    /* of what is in the table, while going through */
    size_t sorted_count, sorted_at;
};

count_truth *truth_new(uint64_t memory) {
    count_truth *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->size = SLOTS_LEAST;
    t->most = SLOTS_LEAST;
    while (t->most * 4 * sizeof(entry) <= memory) t->most *= 2;
    t->slots = calloc(t->size, sizeof *t->slots);
    if (t->slots) return t;
    free(t);
    return NULL;
}

static void forget_runs(count_truth *t) {
    for (size_t i = 0; i < t->run_count; i++) free(t->runs[i].buffer), t->runs[i].buffer = NULL;
    free(t->sorted);
    t->sorted = NULL;
}

void truth_free(count_truth *t) {
    if (!t) return;
    forget_runs(t);
    free(t->runs);
    free(t->slots);
    if (t->file) fclose(t->file);
    free(t);
}

/* --- adding ------------------------------------------------------------------------ */

static entry *slot_of(entry *slots, size_t size, uint64_t word) {
    uint64_t mixed = (word ^ word >> 32) * UINT64_C(0x9E3779B97F4A7C15); /* decimals end in zeros */
    size_t at = (size_t)(mixed >> 20) & (size - 1);
    while (slots[at].word && slots[at].word != word) at = (at + 1) & (size - 1);
    return &slots[at];
}

static bool grow(count_truth *t) {
    entry *larger = calloc(t->size * 2, sizeof *larger);
    if (!larger) return false;
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].word) *slot_of(larger, t->size * 2, t->slots[i].word) = t->slots[i];
    free(t->slots);
    t->slots = larger;
    t->size *= 2;
    return true;
}

static int by_word(const void *a, const void *b) {
    uint64_t x = ((const entry *)a)->word, y = ((const entry *)b)->word;
    return (x > y) - (x < y);
}

static int no_disk(void) {
    return cli_error("cannot write the exact counts to a temporary file: %s; give --exact more "
                     "memory, or set TMPDIR",
                     strerror(errno));
}

static FILE *temporary(void) {
    int fd = spool_file(NULL);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!file && fd >= 0) close(fd);
    return file;
}

/* Sort what is in the table, write it as a run, and empty the table. */
static int spill(count_truth *t) {
    size_t n = 0;
    if (!t->file && !(t->file = temporary())) return no_disk();
    run *runs = realloc(t->runs, (t->run_count + 1) * sizeof *runs);
    if (!runs) return cli_error("out of memory");
    t->runs = runs;
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].word) t->slots[n++] = t->slots[i];
    qsort(t->slots, n, sizeof *t->slots, by_word);
    if (fwrite(t->slots, sizeof *t->slots, n, t->file) != n) return no_disk();
    t->runs[t->run_count++] = (run){.at = t->written, .end = t->written + n};
    t->written += n;
    memset(t->slots, 0, t->size * sizeof *t->slots);
    t->used = 0;
    return EXIT_DONE;
}

int truth_add(count_truth *t, uint64_t word, double weight) {
    if (!word) {
        t->zero += weight;
        t->has_zero = true;
        return EXIT_DONE;
    }
    entry *e = slot_of(t->slots, t->size, word);
    if (e->word) {
        e->count += weight;
        return EXIT_DONE;
    }
    *e = (entry){word, weight};
    if (++t->used < t->size / 2) return EXIT_DONE;
    if (t->size < t->most) return grow(t) ? EXIT_DONE : cli_error("out of memory");
    return spill(t);
}

/* --- going through ------------------------------------------------------------------- */

static bool fill(const count_truth *t, run *r) {
    size_t n = r->end - r->at < RUN_BUFFER ? (size_t)(r->end - r->at) : RUN_BUFFER;
    off_t from = (off_t)(r->at * sizeof(entry));
    if (pread(fileno(t->file), r->buffer, n * sizeof(entry), from) != (ssize_t)(n * sizeof(entry)))
        return false;
    r->at += n;
    r->used = 0;
    r->filled = n;
    return true;
}

static int begin_runs(count_truth *t) {
    if (!t->file) return EXIT_DONE;
    if (fflush(t->file)) return no_disk();
    uint64_t start = 0;
    for (size_t i = 0; i < t->run_count; i++) {
        run *r = &t->runs[i];
        r->at = start;
        start = r->end;
        r->buffer = malloc(RUN_BUFFER * sizeof *r->buffer);
        if (!r->buffer) return cli_error("out of memory");
        if (!fill(t, r)) return cli_error("cannot read the exact counts back from the disk");
    }
    return EXIT_DONE;
}

int truth_begin(count_truth *t) {
    forget_runs(t);
    t->sorted = malloc((t->used + 1) * sizeof *t->sorted);
    if (!t->sorted) return cli_error("out of memory");
    size_t n = 0;
    if (t->has_zero) t->sorted[n++] = (entry){0, t->zero};
    for (size_t i = 0; i < t->size; i++)
        if (t->slots[i].word) t->sorted[n++] = t->slots[i];
    qsort(t->sorted, n, sizeof *t->sorted, by_word);
    t->sorted_count = n;
    t->sorted_at = 0;
    return begin_runs(t);
}

/* The next entry of a source, the table or a run; NULL at its end. */
static const entry *peek(count_truth *t, size_t source) {
    if (source == t->run_count)
        return t->sorted_at < t->sorted_count ? &t->sorted[t->sorted_at] : NULL;
    run *r = &t->runs[source];
    if (r->used == r->filled && (r->at == r->end || !fill(t, r))) return NULL;
    return &r->buffer[r->used];
}

static void step(count_truth *t, size_t source) {
    if (source == t->run_count) t->sorted_at++;
    else t->runs[source].used++;
}

bool truth_next(count_truth *t, uint64_t *word, double *count) {
    const entry *least = NULL;
    for (size_t i = 0; i <= t->run_count; i++) {
        const entry *e = peek(t, i);
        if (e && (!least || e->word < least->word)) least = e;
    }
    if (!least) return false;
    *word = least->word;
    *count = 0;
    for (size_t i = 0; i <= t->run_count; i++) {
        const entry *e = peek(t, i);
        if (!e || e->word != *word) continue;
        *count += e->count;
        step(t, i);
    }
    return true;
}

#define SIGN (UINT64_C(1) << 63) /* the bit by which a double is negative */

uint64_t truth_word_of_decimal(double value) {
    uint64_t bits;
    value += 0.0; /* no -0 */
    memcpy(&bits, &value, sizeof bits);
    return bits & SIGN ? ~bits : bits | SIGN;
}

double truth_decimal(uint64_t word) {
    uint64_t bits = word & SIGN ? word ^ SIGN : ~word;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* --- all truths of a stream ---------------------------------------------------------- */

int count_truths_make(count_truths *truths, const count_settings *s, uint64_t memory) {
    bool integers = s->range_count || s->quantile_count;
    if (!s->exact) return EXIT_DONE;
    truths->hashes = truth_new(memory);
    bool decimals = s->quantile_count && !s->range_count;
    if (integers) truths->integers = truth_new(memory);
    if (decimals) truths->decimals = truth_new(memory);
    bool lacks =
        !truths->hashes || (integers && !truths->integers) || (decimals && !truths->decimals);
    return lacks ? cli_error("out of memory") : EXIT_DONE;
}

void count_truths_free(count_truths *truths) {
    truth_free(truths->hashes);
    truth_free(truths->integers);
    truth_free(truths->decimals);
}
