/* exact.c - similar pairs by comparing, and random sampling.
 *
 * Question   how many pairs agree in k of d values, exactly?
 * Idea       equal rows first become one with a weight. Then
 *              all pairs  each row with each: the values as 32-bit hashes in
 *                         columns, a block of rows against a block of others, so
 *                         that one value is compared with many in a few
 *                         instructions; whoever reaches the threshold is compared
 *                         again in full
 *              index      rows that agree in s of d values agree in one of the
 *                         d-s+1 rarest of each (in any order common to all rows);
 *                         so only rows that share one of these are compared, and
 *                         counted at the first that they share
 *            The cheaper is taken, by the number of comparisons.
 * Error      none.
 * Cost       n^2/2 comparisons of d values, or the sum of the squared lengths of
 *            the index's lists. Memory grows with the records: this is the
 *            straightforward way that the summary saves.
 * Sampling   (thesis 5.2.3) the exact number among R records drawn at random,
 *            times n(n-1)/(R(R-1)): unbiased, but a sample of R records sees only
 *            one pair in (n/R)^2.
 * Source     thesis 5.2.2, 5.2.3; the index is the prefix filter of Chaudhuri,
 *            Ganti, Kaushik, ICDE 2006.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu.h"
#include "core/error.h"
#include "core/rng.h"
#include "pairs/pairs.h"

enum {
    ROWS_BLOCK = 64,    /* rows that are compared with a block of others */
    OTHERS_BLOCK = 1024 /* others of a block: with all columns they stay in the cache */
};

/* Nanoseconds of one comparison, measured: only their ratio counts. */
#define COST_ALL_PAIRS_VALUE 0.12 /* each value */
#define COST_INDEX 12.0           /* each pair of a list */

typedef struct {
    unsigned d, s;
    bool set, join;
    size_t rows;
    uint64_t *row;       /* distinct ones; the items of a set in order */
    uint64_t *weight[2]; /* how often it is in a and in b */
    weir_pairs_answer *out;
} comparison;

static const uint64_t *row_at(const comparison *c, size_t i) { return c->row + i * c->d; }

/* ---- how alike two rows are ---- */

static unsigned agree_in_place(const uint64_t *a, const uint64_t *b, unsigned d) {
    unsigned same = 0;
    for (unsigned i = 0; i < d; i++) same += a[i] == b[i];
    return same;
}

/* 0 stands for no item. */
unsigned weir__sets_agree(const uint64_t *a, const uint64_t *b, unsigned d) {
    unsigned same = 0;
    for (unsigned i = 0, j = 0; i < d && j < d;) {
        same += a[i] == b[j] && a[i] != 0;
        unsigned step = a[i] <= b[j];
        j += a[i] >= b[j];
        i += step;
    }
    return same;
}

int weir__by_word(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

unsigned weir_rows_agree(const uint64_t *a, const uint64_t *b, unsigned columns, bool set) {
    assert(columns <= WEIR__COLUMNS_MOST);
    uint64_t left[WEIR__COLUMNS_MOST], right[WEIR__COLUMNS_MOST];
    if (!set) return agree_in_place(a, b, columns);
    memcpy(left, a, columns * sizeof *left);
    memcpy(right, b, columns * sizeof *right);
    qsort(left, columns, sizeof *left, weir__by_word);
    qsort(right, columns, sizeof *right, weir__by_word);
    return weir__sets_agree(left, right, columns);
}

static unsigned agree(const comparison *c, size_t i, size_t j) {
    return c->set ? weir__sets_agree(row_at(c, i), row_at(c, j), c->d)
                  : agree_in_place(row_at(c, i), row_at(c, j), c->d);
}

static void count_pair(const comparison *c, size_t i, size_t j, unsigned same) {
    assert(i < c->rows && j < c->rows && same <= c->d);
    if (same < c->s) return;
    const uint64_t *a = c->weight[0], *b = c->weight[1];
    c->out->count[same] += c->join ? (double)a[i] * (double)b[j] + (double)b[i] * (double)a[j]
                                   : (double)a[i] * (double)a[j];
}

/* ---- equal rows become one ---- */

typedef struct {
    uint64_t hash;
    size_t number;
} hashed_row;

static int by_hash(const void *a, const void *b) {
    const hashed_row *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static uint64_t hash_row(const uint64_t *row, unsigned d) {
    uint64_t h = d;
    for (unsigned i = 0; i < d; i++) h = weir__mix64(h ^ row[i]) + WEIR__GOLD;
    return h;
}

/* The place of a row among the distinct ones that share its hash, the last ones. */
static size_t find_row(const comparison *c, size_t first, const uint64_t *row) {
    size_t i = first;
    while (i < c->rows && memcmp(row_at(c, i), row, c->d * sizeof *row) != 0) i++;
    return i;
}

static void collapse(comparison *c, const uint64_t *all, hashed_row *order, size_t n,
                     size_t a_count) {
    size_t first = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t *row = all + order[i].number * c->d;
        if (i && order[i].hash != order[i - 1].hash) first = c->rows;
        size_t at = find_row(c, first, row);
        if (at == c->rows) {
            memcpy(c->row + at * c->d, row, c->d * sizeof *row);
            c->rows++;
        }
        c->weight[order[i].number >= a_count][at]++;
    }
}

static void count_equal(const comparison *c) {
    for (size_t i = 0; i < c->rows; i++) {
        double a = (double)c->weight[0][i], b = (double)c->weight[1][i];
        unsigned same = c->d;
        for (unsigned j = 0; c->set && j < c->d; j++) same -= row_at(c, i)[j] == 0;
        if (same >= c->s) c->out->count[same] += c->join ? a * b : a * (a - 1) / 2;
    }
}

static weir_status gather(comparison *c, const uint64_t *a, size_t a_count, const uint64_t *b,
                          size_t b_count, weir_error *err) {
    size_t n = a_count + b_count, words = n * c->d;
    uint64_t *all = malloc((words + 1) * sizeof *all);
    hashed_row *order = malloc((n + 1) * sizeof *order);
    c->row = malloc((words + 1) * sizeof *c->row);
    c->weight[0] = calloc(n + 1, sizeof(uint64_t));
    c->weight[1] = calloc(n + 1, sizeof(uint64_t));
    bool room = all && order && c->row && c->weight[0] && c->weight[1];
    if (room) {
        memcpy(all, a, a_count * c->d * sizeof *a);
        if (b_count) memcpy(all + a_count * c->d, b, b_count * c->d * sizeof *b);
        for (size_t i = 0; i < n; i++) {
            if (c->set) qsort(all + i * c->d, c->d, sizeof *all, weir__by_word);
            order[i] = (hashed_row){hash_row(all + i * c->d, c->d), i};
        }
        qsort(order, n, sizeof *order, by_hash);
        collapse(c, all, order, n, a_count);
    }
    free(all);
    free(order);
    return room ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

/* ---- all pairs ---- */

/* One row against a block of others; tells whether any may reach s. */
HOT bool compare_block_all(const uint32_t *mine, const uint32_t *columns, size_t stride, unsigned d,
                           uint32_t s, size_t count, uint32_t *restrict same) {
    uint32_t most = 0;
    for (size_t j = 0; j < count; j++) same[j] = columns[j] == mine[0];
    for (unsigned c = 1; c < d; c++) {
        const uint32_t *column = columns + c * stride;
        uint32_t value = mine[c];
        for (size_t j = 0; j < count; j++) same[j] += column[j] == value;
    }
    for (size_t j = 0; j < count; j++) most = same[j] > most ? same[j] : most;
    return most >= s;
}
FOR_EACH_CPU(bool, compare_block,
             (const uint32_t *mine, const uint32_t *columns, size_t stride, unsigned d, uint32_t s,
              size_t count, uint32_t *restrict same),
             (mine, columns, stride, d, s, count, same))

static void compare_blocks(const comparison *c, const uint32_t *columns, size_t from, size_t to,
                           size_t others, size_t others_end) {
    assert(to <= c->rows && others_end <= c->rows && others_end - others <= OTHERS_BLOCK);
    uint32_t mine[WEIR__COLUMNS_MOST], same[OTHERS_BLOCK];
    for (size_t i = from; i < to; i++) {
        size_t begin = i + 1 > others ? i + 1 : others;
        if (begin >= others_end) continue;
        for (unsigned k = 0; k < c->d; k++) mine[k] = columns[k * c->rows + i];
        if (!compare_block(mine, columns + begin, c->rows, c->d, c->s, others_end - begin, same))
            continue;
        for (size_t j = begin; j < others_end; j++)
            if (same[j - begin] >= c->s) count_pair(c, i, j, agree(c, i, j));
    }
}

static weir_status all_pairs(const comparison *c, weir_error *err) {
    size_t n = c->rows;
    uint32_t *columns = malloc((n * c->d + 1) * sizeof *columns);
    if (!columns) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < c->d; k++)
            columns[k * n + i] = (uint32_t)weir__mix64(row_at(c, i)[k]);
    for (size_t others = 0; others < n; others += OTHERS_BLOCK) {
        size_t end = others + OTHERS_BLOCK < n ? others + OTHERS_BLOCK : n;
        for (size_t from = 0; from < end; from += ROWS_BLOCK)
            compare_blocks(c, columns, from, from + ROWS_BLOCK < end ? from + ROWS_BLOCK : end,
                           others, end);
    }
    free(columns);
    return WEIR_OK;
}

/* ---- index ---- */

typedef struct {
    uint64_t key; /* a token; then its rarity and part of it */
    size_t at;    /* row x d + place; then row */
} entry;

static int by_key(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* A value with its column, or an item; 0 for no item. */
static uint64_t token(const comparison *c, size_t i, unsigned place) {
    assert(i < c->rows && place < c->d);
    uint64_t value = row_at(c, i)[place];
    if (c->set) return value ? weir__mix64(value) | 1 : 0;
    return weir__mix64(value + (place + 1) * WEIR__GOLD) | 1;
}

/* Keys that sort by rarity: 24 bits of how often, 40 of what. Two tokens may share
 * one; their lists are then one, and nothing is counted twice or missed. */
static size_t rank_tokens(const comparison *c, entry *entries, uint64_t *keys) {
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++)
        for (unsigned k = 0; k < c->d; k++) {
            uint64_t t = token(c, i, k);
            keys[i * c->d + k] = UINT64_MAX;
            if (t) entries[n++] = (entry){t, i * c->d + k};
        }
    qsort(entries, n, sizeof *entries, by_key);
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && entries[to].key == entries[from].key; to++) {
        }
        uint64_t often = to - from < (1u << 24) - 1 ? to - from : (1u << 24) - 2;
        for (size_t i = from; i < to; i++)
            keys[entries[i].at] = often << 40 | entries[from].key >> 24;
    }
    return n;
}

static unsigned prefix_length(const comparison *c, const uint64_t *keys) {
    unsigned items = c->d;
    while (items && keys[items - 1] == UINT64_MAX) items--;
    return items >= c->s ? items - c->s + 1 : 0;
}

/* Lists of the rows by their rarest keys; returns the number of entries. */
static size_t make_lists(const comparison *c, uint64_t *keys, entry *entries) {
    size_t n = 0;
    for (size_t i = 0; i < c->rows; i++) {
        uint64_t *mine = keys + i * c->d;
        qsort(mine, c->d, sizeof *mine, weir__by_word);
        for (unsigned k = 0, end = prefix_length(c, mine); k < end; k++)
            entries[n++] = (entry){mine[k], i};
    }
    qsort(entries, n, sizeof *entries, by_key);
    return n;
}

static uint64_t first_common(const comparison *c, const uint64_t *a, const uint64_t *b) {
    for (unsigned i = 0, j = 0; i < c->d && j < c->d;) {
        if (a[i] == b[j]) return a[i];
        if (a[i] < b[j]) i++;
        else j++;
    }
    return UINT64_MAX;
}

static void compare_list(const comparison *c, const uint64_t *keys, const entry *list, size_t n) {
    for (size_t x = 0; x < n; x++)
        for (size_t y = x + 1; y < n; y++) {
            size_t i = list[x].at, j = list[y].at;
            unsigned same = i == j ? 0 : agree(c, i, j);
            if (same >= c->s && first_common(c, keys + i * c->d, keys + j * c->d) == list[x].key)
                count_pair(c, i, j, same);
        }
}

typedef struct {
    uint64_t *keys;
    entry *entries;
    size_t count;
} index_lists;

static size_t list_end(const index_lists *x, size_t from) {
    assert(from < x->count);
    size_t to = from + 1;
    while (to < x->count && x->entries[to].key == x->entries[from].key) to++;
    return to;
}

static weir_status make_index(const comparison *c, index_lists *x, weir_error *err) {
    size_t words = c->rows * c->d + 1;
    x->keys = malloc(words * sizeof *x->keys);
    x->entries = malloc(words * sizeof *x->entries);
    if (!x->keys || !x->entries) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    rank_tokens(c, x->entries, x->keys);
    x->count = make_lists(c, x->keys, x->entries);
    return WEIR_OK;
}

static double index_pairs(const index_lists *x) {
    double pairs = 0;
    for (size_t from = 0, to; from < x->count; from = to) {
        to = list_end(x, from);
        pairs += (double)(to - from) * (double)(to - from - 1) / 2;
    }
    return pairs;
}

static weir_status compare(const comparison *c, weir_exact_method method, weir_error *err) {
    index_lists x = {0};
    double n = (double)c->rows, whole = n * n / 2 * c->d * COST_ALL_PAIRS_VALUE;
    if (method == WEIR_EXACT_ALL_PAIRS && !c->set) return all_pairs(c, err);
    weir_status status = make_index(c, &x, err);
    bool index = c->set || method == WEIR_EXACT_INDEX;
    if (status == WEIR_OK && !index && index_pairs(&x) * COST_INDEX > whole)
        status = all_pairs(c, err);
    else
        for (size_t from = 0, to; status == WEIR_OK && from < x.count; from = to) {
            to = list_end(&x, from);
            compare_list(c, x.keys, x.entries + from, to - from);
        }
    free(x.keys);
    free(x.entries);
    return status;
}

weir_status weir_pairs_exact(const weir_exact_options *o, const uint64_t *a, size_t a_count,
                             const uint64_t *b, size_t b_count, weir_pairs_answer *out,
                             weir_error *err) {
    if (o->columns < 1 || o->columns > WEIR__COLUMNS_MOST || o->threshold < 1 ||
        o->threshold > o->columns)
        return weir__fail(err, WEIR_ERR_RANGE, -1,
                          "%u of %u columns cannot be compared; columns go from 1 to %d, and the "
                          "threshold from 1 to the columns",
                          o->threshold, o->columns, WEIR__COLUMNS_MOST);
    comparison c = {.d = o->columns, .s = o->threshold, .set = o->set, .join = b, .out = out};
    double n = (double)a_count, m = (double)b_count;
    *out = (weir_pairs_answer){.columns = o->columns,
                               .threshold = o->threshold,
                               .records = {a_count, b ? b_count : a_count},
                               .pairs = b ? n * m : n * (n - 1) / 2};
    weir_status status = gather(&c, a, a_count, b, b ? b_count : 0, err);
    if (status == WEIR_OK) {
        count_equal(&c);
        status = compare(&c, o->method, err);
    }
    for (unsigned k = c.s; k <= c.d; k++) out->similar += out->count[k];
    out->low = out->high = out->similar;
    free(c.row);
    free(c.weight[0]);
    free(c.weight[1]);
    return status;
}

/* ---- random sampling ---- */

static uint64_t *sample_rows(const weir_pairs *p) {
    size_t n = weir__witness_count(p);
    uint64_t *rows = malloc((n * p->shape.d + 1) * sizeof *rows);
    for (size_t i = 0; rows && i < n; i++)
        memcpy(rows + i * p->shape.d, weir__witness_row(p, i), p->shape.d * sizeof *rows);
    return rows;
}

/* The variance of a share of pairs, from the partners of each record of one side of the sample:
 * what the choice of these records adds. `others`: records that each was compared with. `left`:
 * the share of all records that is not in the sample. */
static double choice_variance(const uint32_t *partners, size_t n, double others, double left) {
    assert(n > 0 && left >= 0);
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++) {
        double share = partners[i] / others;
        sum += share;
        squares += share * share;
    }
    double variance = n > 1 ? fmax(0, squares - sum * sum / (double)n) / (double)(n - 1) : 0;
    return left * variance / (double)n;
}

enum { SPREAD_MOST = 8192 }; /* records of a sample whose partners are counted one by one */
enum { FEW_HITS = 4 };       /* added to the pairs found: none found may be three missed */

typedef struct {
    const weir_pairs *a, *b;
    const uint64_t *rows, *others;
    size_t n, m;
    uint32_t *in_a, *in_b; /* partners of each */
} sample_spread;

/* The deviation of the share of pairs that agree in low..high values. */
static double share_deviation(sample_spread *s, unsigned low, unsigned high) {
    unsigned d = s->a->shape.d;
    bool set = s->a->maker.from == WEIR__FROM_SET;
    double hits = 0, left_a = 1 - (double)s->n / (double)s->a->records;
    double left_b = s->b ? 1 - (double)s->m / (double)s->b->records : left_a;
    memset(s->in_a, 0, s->n * sizeof *s->in_a);
    memset(s->in_b, 0, s->m * sizeof *s->in_b);
    for (size_t i = 0; i < s->n; i++)
        for (size_t j = s->b ? 0 : i + 1; j < s->m; j++) {
            unsigned k = weir_rows_agree(s->rows + i * d, s->others + j * d, d, set);
            if (k < low || k > high) continue;
            hits++;
            s->in_a[i]++;
            if (s->b) s->in_b[j]++;
            else s->in_a[j]++;
        }
    double n = (double)s->n, m = (double)s->m, seen = s->b ? n * m : n * (n - 1) / 2;
    double pairs = left_a > 0 || left_b > 0 ? (hits + FEW_HITS) / seen / seen : 0;
    if (!s->b) return sqrt(4 * choice_variance(s->in_a, s->n, n - 1, left_a) + pairs);
    return sqrt(choice_variance(s->in_a, s->n, m, left_a) +
                choice_variance(s->in_b, s->m, n, left_b) + pairs);
}

static weir_status add_deviations(const weir_pairs *a, const weir_pairs *b, const uint64_t *rows,
                                  const uint64_t *others, weir_pairs_answer *out, weir_error *err) {
    sample_spread s = {.a = a, .b = b, .rows = rows, .others = b ? others : rows};
    s.n = weir__witness_count(a) < SPREAD_MOST ? weir__witness_count(a) : SPREAD_MOST;
    s.m = !b ? s.n : weir__witness_count(b) < SPREAD_MOST ? weir__witness_count(b) : SPREAD_MOST;
    if (s.n < 2 || s.m < 2) return WEIR_OK;
    s.in_a = malloc(s.n * sizeof *s.in_a);
    s.in_b = malloc(s.m * sizeof *s.in_b);
    weir_status status = WEIR_OK;
    if (!s.in_a || !s.in_b) status = weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (unsigned k = a->shape.s; status == WEIR_OK && k <= a->shape.d; k++)
        out->deviation[k] = out->pairs * share_deviation(&s, k, k);
    if (status == WEIR_OK)
        out->similar_deviation = out->pairs * share_deviation(&s, a->shape.s, a->shape.d);
    free(s.in_a);
    free(s.in_b);
    return status;
}

weir_status weir_pairs_sampled(const weir_pairs *a, const weir_pairs *b, weir_pairs_answer *out,
                               weir_error *err) {
    weir_exact_options o = {a->shape.d, a->shape.s, a->maker.from == WEIR__FROM_SET, 0};
    weir_status status = b ? weir__pairs_fit(a, b, err) : WEIR_OK;
    if (status != WEIR_OK) return status;
    uint64_t *rows = sample_rows(a), *others = b ? sample_rows(b) : NULL;
    if (!rows || (b && !others)) status = weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    else
        status = weir_pairs_exact(&o, rows, weir__witness_count(a), others,
                                  b ? weir__witness_count(b) : 0, out, err);
    if (status != WEIR_OK) {
        free(rows);
        free(others);
        return status;
    }
    double n = (double)a->records, m = b ? (double)b->records : n, seen = out->pairs;
    out->pairs = b ? n * m : n * (n - 1) / 2;
    double scale = seen > 0 ? out->pairs / seen : 0;
    out->records[0] = a->records;
    out->records[1] = b ? b->records : a->records;
    out->similar *= scale;
    for (unsigned k = 0; k <= a->shape.d; k++) out->count[k] *= scale;
    status = add_deviations(a, b, rows, others, out, err);
    free(rows);
    free(others);
    out->low = fmax(0, out->similar - 1.96 * out->similar_deviation);
    out->high = fmin(out->pairs, out->similar + 1.96 * out->similar_deviation);
    return status;
}
