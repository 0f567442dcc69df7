/* count_answer.c - from sketches, and the truth where it is known, to answers.
 *
 * Every answer is a list of rows of one form: a key (or what stands for it, "10:20",
 * "99%"), a value with its bounds, and the true value if --exact counted it.
 */
#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"

enum { ABOVE_MOST = 1000000 }; /* keys of a list by --above that are printed */

typedef struct {
    count_report *report;
    const count_settings *s;
    count_set *set;
} asker;

static int failed(const weir_error *err) { return cli_error("%s", err->message); }

/* The sketch that says how often. */
static weir_sketch *counter(const asker *a) {
    return a->set->part[a->s->by_agms ? PART_SIGNED : PART_KEYS];
}

static count_row *add_rows(count_answer *answer, size_t count) {
    answer->asked = true;
    answer->rows = calloc(count + 1, sizeof *answer->rows);
    for (size_t i = 0; answer->rows && i < count; i++) answer->rows[i].truth = NAN;
    if (answer->rows) answer->count = count;
    return answer->rows;
}

static bool set_key(count_row *row, const void *key, size_t length) {
    row->key = malloc(length + 1);
    if (!row->key) return false;
    if (length) memcpy(row->key, key, length);
    row->key[length] = 0;
    row->length = length;
    return true;
}

static void set_value(count_row *row, const weir_estimate *e) {
    row->value = e->value;
    row->low = e->low;
    row->high = e->high;
}

/* Without weights and fading, counts are whole, and so are their bounds. */
static bool counts_whole(const count_settings *s) { return !s->from.in.number_field && !s->decay; }

static void make_whole(weir_estimate *e) {
    double low = ceil(e->low - 1e-9), high = floor(e->high + 1e-9);
    if (low > high) low = floor(e->low), high = ceil(e->high);
    double value = fmin(fmax(round(e->value), low), high);
    *e = (weir_estimate){value + 0.0, low + 0.0, high + 0.0, e->deviation}; /* -0 becomes 0 */
}

static int one_row(asker *a, answer_kind kind, const weir_estimate *e) {
    count_row *row = add_rows(&a->report->answers[kind], 1);
    if (!row || !set_key(row, "", 0)) return cli_error("out of memory");
    set_value(row, e);
    return EXIT_DONE;
}

/* --- lists ------------------------------------------------------------------------------- */

/* Equal counts stand in the order of their keys, so that a list is always the same. */
static int descending(const void *x, const void *y) {
    const count_row *a = x, *b = y;
    if (a->value != b->value) return a->value < b->value ? 1 : -1;
    size_t least = a->length < b->length ? a->length : b->length;
    int order = memcmp(a->key, b->key, least);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

static int take_items(asker *a, answer_kind kind, const weir_items *items) {
    count_answer *answer = &a->report->answers[kind];
    weir_error err;
    count_row *rows = add_rows(answer, items->found);
    if (!rows) return cli_error("out of memory");
    answer->complete = items->complete;
    answer->floor = counts_whole(a->s) ? floor(items->floor + 1e-9) : items->floor;
    for (size_t i = 0; i < items->found; i++) {
        const weir_item *item = &items->items[i];
        weir_estimate e = item->count;
        if (kind != ANSWER_SAMPLE && a->s->by_agms &&
            weir_sketch_estimate_hash(counter(a), item->hash, a->s->by, &e, &err) != WEIR_OK)
            return failed(&err);
        if (!set_key(&rows[i], item->key, item->length)) return cli_error("out of memory");
        rows[i].cut = item->cut;
        rows[i].hash = item->hash;
        if (counts_whole(a->s)) make_whole(&e);
        set_value(&rows[i], &e);
    }
    answer->flat = answer->floor > 0;
    for (size_t i = 0; i < answer->count; i++) answer->flat &= rows[i].low <= answer->floor;
    if (kind != ANSWER_SAMPLE) qsort(rows, answer->count, sizeof *rows, descending);
    return EXIT_DONE;
}

static int ask_list(asker *a, answer_kind kind, size_t room) {
    weir_items items = {.items = calloc(room, sizeof(weir_item)), .room = room};
    weir_sketch *keys = a->set->part[PART_KEYS];
    weir_error err;
    if (!items.items) return cli_error("out of memory");
    weir_status status = kind == ANSWER_TOP ? weir_sketch_top(keys, a->s->by, &items, &err)
                         : kind == ANSWER_ABOVE
                             ? weir_sketch_above(keys, a->s->above, a->s->by, &items, &err)
                             : weir_sketch_sample(a->set->part[PART_SAMPLE], &items, &err);
    int code = status == WEIR_OK ? take_items(a, kind, &items) : failed(&err);
    free(items.items);
    return code;
}

static int ask_lists(asker *a) {
    const count_settings *s = a->s;
    int code = EXIT_DONE;
    double above = s->above > 0 ? 4 * ceil(1 / s->above) + 64 : 0;
    if (s->top) code = ask_list(a, ANSWER_TOP, s->top);
    if (s->above > 0 && code == EXIT_DONE)
        code = ask_list(a, ANSWER_ABOVE, above < ABOVE_MOST ? (size_t)above : ABOVE_MOST);
    if (s->sample && code == EXIT_DONE) code = ask_list(a, ANSWER_SAMPLE, s->sample);
    return code;
}

/* --- single values ------------------------------------------------------------------------ */

static int ask_keys(asker *a, const count_key *keys, size_t count) {
    weir_error err;
    weir_estimate e;
    count_row *rows = add_rows(&a->report->answers[ANSWER_QUERY], count);
    if (!rows) return cli_error("out of memory");
    for (size_t i = 0; i < count; i++) {
        if (weir_sketch_estimate_hash(counter(a), keys[i].hash, a->s->by, &e, &err) != WEIR_OK)
            return failed(&err);
        if (!set_key(&rows[i], keys[i].text, keys[i].length)) return cli_error("out of memory");
        rows[i].hash = keys[i].hash;
        if (counts_whole(a->s)) make_whole(&e);
        set_value(&rows[i], &e);
    }
    return EXIT_DONE;
}

static int ask_sizes(asker *a, count_other *other) {
    weir_error err;
    weir_estimate e;
    int code = EXIT_DONE;
    if (a->s->distinct) {
        if (weir_sketch_distinct(a->set->part[PART_DISTINCT], &e, &err) != WEIR_OK)
            return failed(&err);
        make_whole(&e);
        code = one_row(a, ANSWER_DISTINCT, &e);
    }
    if (a->s->self_join && code == EXIT_DONE) {
        if (weir_sketch_self_join(counter(a), a->s->by, &e, &err) != WEIR_OK) return failed(&err);
        if (counts_whole(a->s)) make_whole(&e);
        code = one_row(a, ANSWER_SELF_JOIN, &e);
    }
    if (!other || code != EXIT_DONE) return code;
    asker there = {.s = a->s, .set = &other->set};
    if (weir_sketch_join(counter(a), counter(&there), a->s->by, &e, &err) != WEIR_OK)
        return failed(&err);
    if (counts_whole(a->s)) make_whole(&e);
    code = one_row(a, ANSWER_JOIN, &e);
    if (!a->s->distinct || code != EXIT_DONE) return code;
    if (weir_sketch_common(a->set->part[PART_DISTINCT], other->set.part[PART_DISTINCT], &e, &err) !=
        WEIR_OK)
        return failed(&err);
    make_whole(&e);
    return one_row(a, ANSWER_COMMON, &e);
}

static int ask_ranges(asker *a) {
    weir_error err;
    weir_estimate e;
    char text[64];
    count_row *rows = add_rows(&a->report->answers[ANSWER_RANGE], a->s->range_count);
    if (!rows) return cli_error("out of memory");
    for (size_t i = 0; i < a->s->range_count; i++) {
        const count_range *r = &a->s->ranges[i];
        if (weir_sketch_range(a->set->part[PART_INTEGERS], r->low, r->high, a->s->by, &e, &err) !=
            WEIR_OK)
            return failed(&err);
        snprintf(text, sizeof text, "%lld:%lld", (long long)r->low, (long long)r->high);
        if (!set_key(&rows[i], text, strlen(text))) return cli_error("out of memory");
        if (counts_whole(a->s)) make_whole(&e);
        set_value(&rows[i], &e);
    }
    return EXIT_DONE;
}

static int ask_quantiles(asker *a) {
    weir_error err;
    weir_quantile q;
    char text[64];
    count_row *rows = add_rows(&a->report->answers[ANSWER_QUANTILE], a->s->quantile_count);
    if (!rows) return cli_error("out of memory");
    for (size_t i = 0; i < a->s->quantile_count; i++) {
        if (weir_sketch_quantile(count_set_quantiles(a->set), a->s->quantiles[i], &q, &err) !=
            WEIR_OK)
            return failed(&err);
        snprintf(text, sizeof text, "%.10g%%", 100 * a->s->quantiles[i]);
        if (!set_key(&rows[i], text, strlen(text))) return cli_error("out of memory");
        weir_estimate e = {(double)q.value, (double)q.low, (double)q.high, 0};
        if (q.is_decimal) e = (weir_estimate){q.decimal, q.decimal_low, q.decimal_high, 0};
        set_value(&rows[i], &e);
        rows[i].is_decimal = q.is_decimal;
        rows[i].is_key = !q.is_decimal;
        rows[i].keys[ROW_VALUE] = q.value;
        rows[i].keys[ROW_LOW] = q.low;
        rows[i].keys[ROW_HIGH] = q.high;
    }
    return EXIT_DONE;
}

/* --- samples of different keys ------------------------------------------------------------ */

/* How many keys came from..to times. */
typedef struct {
    double from, to;
} times_range;

static bool came_so_often(void *context, const weir_item *item) {
    const times_range *r = context;
    return item->count.value >= r->from && item->count.value <= r->to;
}

static bool fits_pattern(void *context, const weir_item *item) {
    const char *pattern = context;
    char key[4097];
    bool negated = *pattern == '!';
    size_t length = item->length < sizeof key - 1 ? item->length : sizeof key - 1;
    memcpy(key, item->key, length);
    key[length] = 0;
    return (fnmatch(pattern + negated, key, 0) == 0) != negated;
}

static int ask_where(asker *a) {
    weir_error err;
    weir_estimate e;
    if (weir_sketch_distinct_where(a->set->part[PART_SPECTRUM], fits_pattern,
                                   (void *)(uintptr_t)a->s->where, &e, &err) != WEIR_OK)
        return failed(&err);
    make_whole(&e);
    return one_row(a, ANSWER_WHERE, &e);
}

/* Once to five times singly, then by tenfold ranges: 6 to 10, 11 to 100, ... */
static int ask_spectrum(asker *a) {
    enum { SINGLY = 5 };           /* numbers of times with a row of their own */
    enum { RANGES = SINGLY + 14 }; /* rows in all: the last ends at 10^14 times */
    weir_error err;
    weir_estimate e;
    count_row *rows = add_rows(&a->report->answers[ANSWER_SPECTRUM], RANGES);
    size_t n = 0;
    if (!rows) return cli_error("out of memory");
    for (int i = 0; i < RANGES; i++) {
        double tens = pow(10, i - SINGLY);
        times_range r = {i < SINGLY    ? i + 1
                         : i == SINGLY ? SINGLY + 1
                                       : tens + 1,
                         i < SINGLY ? i + 1 : 10 * tens};
        char text[64];
        if (r.from > a->report->total) break;
        if (weir_sketch_distinct_where(a->set->part[PART_SPECTRUM], came_so_often, &r, &e, &err) !=
            WEIR_OK)
            return failed(&err);
        make_whole(&e);
        if (r.from == r.to) snprintf(text, sizeof text, "%.0f", r.from);
        else snprintf(text, sizeof text, "%.0f-%.0f", r.from, r.to);
        if (!set_key(&rows[n], text, strlen(text))) return cli_error("out of memory");
        set_value(&rows[n++], &e);
    }
    a->report->answers[ANSWER_SPECTRUM].count = n;
    return EXIT_DONE;
}

/* --- skew --------------------------------------------------------------------------------- */

/* The sum of i^-z for i from 1 to n: a thousand terms, then the integral. */
static double power_sum(double n, double z) {
    double sum = 0, first = fmin(n, 1000);
    for (int i = 1; i <= (int)first; i++) sum += pow(i, -z);
    if (n <= first) return sum;
    double from = first + 0.5, to = n + 0.5;
    return sum +
           (fabs(z - 1) < 1e-9 ? log(to / from) : (pow(to, 1 - z) - pow(from, 1 - z)) / (1 - z));
}

/* The exponent of the power law of n keys whose squares of shares sum to this. */
static double exponent_of(double n, double squares) {
    double low = 0, high = 10;
    for (int i = 0; i < 60; i++) {
        double z = (low + high) / 2, sum = power_sum(n, z);
        if (power_sum(n, 2 * z) / (sum * sum) < squares) low = z;
        else high = z;
    }
    return low > 0 ? (low + high) / 2 : 0;
}

/* In the summary that is printed when nothing is asked for. */
static int ask_skew(asker *a) {
    weir_estimate square, keys, e;
    double total = a->report->total;
    weir_sketch_info info = {0};
    if (a->set->part[PART_KEYS]) weir_sketch_get_info(a->set->part[PART_KEYS], &info);
    if (!a->s->usual || !a->s->distinct || !(info.answers & WEIR_CAN_SELF_JOIN) || !(total > 1))
        return EXIT_DONE;
    if (weir_sketch_distinct(a->set->part[PART_DISTINCT], &keys, NULL) != WEIR_OK ||
        weir_sketch_self_join(a->set->part[PART_KEYS], WEIR_BY_AUTO, &square, NULL) != WEIR_OK ||
        keys.value < 2)
        return EXIT_DONE;
    /* each key's records are a sample: of n records, pairs of the same key */
    double pairs = total * (total - 1), n = round(keys.value);
    e.value = exponent_of(n, fmax(0, square.value - total) / pairs);
    e.low = fmin(e.value, exponent_of(n, fmax(0, square.low - total) / pairs));
    e.high = fmax(e.value, exponent_of(n, fmax(0, square.high - total) / pairs));
    return one_row(a, ANSWER_SKEW, &e);
}

/* --- the truth ------------------------------------------------------------------------------ */

/* A row that waits for its true value. */
typedef struct {
    uint64_t hash;
    count_row *row;
} wanted;

static int by_hash(const void *a, const void *b) {
    uint64_t x = ((const wanted *)a)->hash, y = ((const wanted *)b)->hash;
    return (x > y) - (x < y);
}

static bool has_hashes(answer_kind kind) {
    return kind == ANSWER_TOP || kind == ANSWER_ABOVE || kind == ANSWER_QUERY;
}

static wanted *list_wanted(count_report *report, size_t *count) {
    size_t n = 0;
    for (int k = 0; k < ANSWERS; k++)
        if (has_hashes((answer_kind)k)) n += report->answers[k].count;
    wanted *list = calloc(n + 1, sizeof *list);
    *count = 0;
    for (int k = 0; list && k < ANSWERS; k++)
        for (size_t i = 0; has_hashes((answer_kind)k) && i < report->answers[k].count; i++) {
            count_row *row = &report->answers[k].rows[i];
            row->truth = 0;
            list[(*count)++] = (wanted){row->hash, row};
        }
    if (list) qsort(list, *count, sizeof *list, by_hash);
    return list;
}

/* The n largest of many numbers: a heap with the least on top. */
typedef struct {
    double *heap;
    size_t count, room;
} largest;

static void keep_largest(largest *l, double x) {
    size_t at;
    if (!l->room) return;
    if (l->count < l->room) {
        for (at = l->count++; at && l->heap[(at - 1) / 2] > x; at = (at - 1) / 2)
            l->heap[at] = l->heap[(at - 1) / 2];
        l->heap[at] = x;
        return;
    }
    if (x <= l->heap[0]) return;
    for (at = 0;;) {
        size_t child = 2 * at + 1;
        if (child >= l->count) break;
        if (child + 1 < l->count && l->heap[child + 1] < l->heap[child]) child++;
        if (l->heap[child] >= x) break;
        l->heap[at] = l->heap[child];
        at = child;
    }
    l->heap[at] = x;
}

typedef struct {
    double keys, squares;
    largest top;
    double threshold; /* of --above */
    size_t above;
} hash_sums;

static void set_truth(count_report *report, answer_kind kind, double truth) {
    if (report->answers[kind].count) report->answers[kind].rows[0].truth = truth;
}

/* How many of the keys that ought to be listed are in the list. */
static void judge_list(count_answer *answer, double least, bool strictly, size_t expected) {
    if (!answer->asked) return;
    answer->expected = expected;
    answer->found = 0;
    for (size_t i = 0; i < answer->count; i++)
        answer->found += strictly ? answer->rows[i].truth > least : answer->rows[i].truth >= least;
    if (answer->found > expected) answer->found = expected; /* equals of the last */
}

static int walk_hashes(count_report *report, count_truth *truth, hash_sums *sums) {
    size_t count, at = 0;
    uint64_t word;
    double n;
    wanted *list = list_wanted(report, &count);
    if (!list) return cli_error("out of memory");
    int code = truth_begin(truth);
    while (code == EXIT_DONE && truth_next(truth, &word, &n)) {
        sums->keys += n != 0;
        sums->squares += n * n;
        sums->above += n > sums->threshold;
        keep_largest(&sums->top, n);
        while (at < count && list[at].hash < word) at++;
        for (; at < count && list[at].hash == word; at++) list[at].row->truth = n;
    }
    free(list);
    return code;
}

static int tell_hashes(count_report *report, count_truth *truth) {
    const count_settings *s = report->settings;
    hash_sums sums = {.threshold = s->above * report->total, .top.room = s->top};
    sums.top.heap = calloc(s->top + 1, sizeof *sums.top.heap);
    if (!sums.top.heap) return cli_error("out of memory");
    int code = walk_hashes(report, truth, &sums);
    if (code == EXIT_DONE) {
        set_truth(report, ANSWER_DISTINCT, sums.keys);
        set_truth(report, ANSWER_SELF_JOIN, sums.squares);
        judge_list(&report->answers[ANSWER_TOP], sums.top.heap[0], false, sums.top.count);
        judge_list(&report->answers[ANSWER_ABOVE], sums.threshold, true, sums.above);
    }
    free(sums.top.heap);
    return code;
}

/* Both in ascending order: words that are in both meet. */
static int tell_join(count_report *report, count_truth *a, count_truth *b) {
    uint64_t x, y;
    double n, m, join = 0, common = 0;
    int code = truth_begin(a);
    if (code == EXIT_DONE) code = truth_begin(b);
    if (code != EXIT_DONE) return code;
    bool more = truth_next(a, &x, &n) && truth_next(b, &y, &m);
    while (more) {
        if (x == y) {
            join += n * m;
            common += n != 0 && m != 0;
            more = truth_next(a, &x, &n) && truth_next(b, &y, &m);
        } else if (x < y) {
            more = truth_next(a, &x, &n);
        } else {
            more = truth_next(b, &y, &m);
        }
    }
    set_truth(report, ANSWER_JOIN, join);
    set_truth(report, ANSWER_COMMON, common);
    return EXIT_DONE;
}

static int tell_integers(count_report *report, count_truth *truth) {
    const count_settings *s = report->settings;
    count_answer *ranges = &report->answers[ANSWER_RANGE];
    count_answer *quantiles = &report->answers[ANSWER_QUANTILE];
    uint64_t word;
    double n, sum = 0;
    for (size_t i = 0; i < ranges->count; i++) ranges->rows[i].truth = 0;
    int code = truth_begin(truth);
    while (code == EXIT_DONE && truth_next(truth, &word, &n)) {
        double before = sum;
        int64_t value = (int64_t)truth_word((int64_t)word);
        sum += n;
        for (size_t i = 0; i < ranges->count; i++)
            if (value >= s->ranges[i].low && value <= s->ranges[i].high) ranges->rows[i].truth += n;
        for (size_t i = 0; i < quantiles->count; i++) {
            double wanted_sum = s->quantiles[i] * report->total;
            if ((before < wanted_sum || (before == 0 && isnan(quantiles->rows[i].truth))) &&
                sum >= wanted_sum) {
                quantiles->rows[i].truth = (double)value;
                quantiles->rows[i].keys[ROW_TRUTH] = value;
            }
        }
    }
    return code;
}

static int tell_decimals(count_report *report, count_truth *truth) {
    count_answer *quantiles = &report->answers[ANSWER_QUANTILE];
    uint64_t word;
    double n, sum = 0;
    if (!quantiles->count || !quantiles->rows[0].is_decimal) return EXIT_DONE;
    for (size_t i = 0; i < quantiles->count; i++) quantiles->rows[i].truth = NAN;
    int code = truth_begin(truth);
    while (code == EXIT_DONE && truth_next(truth, &word, &n)) {
        sum += n;
        for (size_t i = 0; i < quantiles->count; i++)
            if (isnan(quantiles->rows[i].truth) &&
                sum >= report->settings->quantiles[i] * report->total)
                quantiles->rows[i].truth = truth_decimal(word);
    }
    return code;
}

static int tell_truths(count_report *report, const count_truths *truths, count_other *other) {
    int code = EXIT_DONE;
    if (truths->hashes) code = tell_hashes(report, truths->hashes);
    if (truths->integers && code == EXIT_DONE) code = tell_integers(report, truths->integers);
    if (truths->decimals && code == EXIT_DONE) code = tell_decimals(report, truths->decimals);
    if (other && code == EXIT_DONE) code = tell_join(report, truths->hashes, other->truths.hashes);
    return code;
}

/* --- all of them ------------------------------------------------------------------------------ */

int count_report_make(count_report *report, const count_settings *s, count_set *set,
                      count_other *other, const count_truths *truths, const count_key *keys,
                      size_t key_count) {
    asker a = {report, s, set};
    report->settings = s;
    report->total = count_set_total(set);
    report->memory = count_set_memory(set);
    int code = ask_lists(&a);
    if (s->query_count && code == EXIT_DONE) code = ask_keys(&a, keys, key_count);
    if (code == EXIT_DONE) code = ask_sizes(&a, other);
    if (s->range_count && code == EXIT_DONE) code = ask_ranges(&a);
    if (s->quantile_count && code == EXIT_DONE) code = ask_quantiles(&a);
    if (s->where && code == EXIT_DONE) code = ask_where(&a);
    if (s->spectrum && code == EXIT_DONE) code = ask_spectrum(&a);
    if (code == EXIT_DONE) code = ask_skew(&a);
    if (truths && code == EXIT_DONE) code = tell_truths(report, truths, other);
    return code;
}

void count_report_release(count_report *report) {
    for (int k = 0; k < ANSWERS; k++) {
        count_answer *answer = &report->answers[k];
        for (size_t i = 0; i < answer->count; i++) free(answer->rows[i].key);
        free(answer->rows);
        *answer = (count_answer){0};
    }
}
