/* lab_stream.c - the drawn streams, and the specs that describe all of them.
 *
 * uniform   each id below a universe U alike. From a share of distinct keys d, U
 *           solves U (1 - (1 - 1/U)^n) = d n: that is how tables given by length
 *           and share of distinct keys are drawn again.
 *
 * zipf      lab_zipf.h: rejection-inversion, no table.
 *
 * poisson and bmodel: the two-step streams of Deng's thesis, 3.5.1. First, some
 * positions of the stream are given to "the frequent integer", every other
 * position gets an integer of its own. Second, each arrival of the frequent
 * integer is relabelled i with a probability q_i that falls exponentially. The
 * text leaves choices open; these are ours:
 *
 *   - A Poisson process in a stream without clocks: each position is an arrival
 *     with probability lambda on its own. The thesis asks that lambda of any
 *     stretch be arrivals and that gaps be exponential with mean 1/lambda; this
 *     process has the first exactly and is the discrete form of the second.
 *     (Rounding exponential gaps up to whole positions would give a fraction of
 *     1 - e^-lambda; leaving them unrounded, two arrivals on one position.)
 *   - "Exponential with a parameter u", less skewed for larger u: u is the mean,
 *     i = floor(-u ln U), so q_i = e^(-i/u) (1 - e^(-1/u)).
 *   - b-model: round(v n) arrivals in all, split l times, b of an interval's
 *     arrivals into one half. Which half is a coin for each interval ("or 30% in
 *     the first": the text fixes the first half "for the ease of presentation");
 *     order=first takes the first half always. Inside a finest interval the
 *     arrivals are a random subset of its positions, their number exact.
 *   - l is allowed while v (2b)^l <= 1: the densest finest interval is full then.
 *     This is the thesis's l <= ln v / ln(1/2b).
 *
 * Ids of poisson and bmodel: relabelled arrivals are below 37 u (37 > 53 ln 2,
 * the largest -ln U that a draw of 53 bits gives), the others follow by position.
 *
 * The same everywhere: integers throughout, but for zipf, the relabelling and
 * the solving of U, which use lab_math.h alone. Memory is constant. A b-model
 * descends its tree once per finest interval; everything else is O(1) an id.
 */
#include "lab_stream.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lab_error.h"
#include "lab_stream_internal.h"

#define ONE_32 ((uint64_t)1 << 32)
#define MOST_LEVELS 40
#define LABELS_PER_MEAN 37

/* --- uniform ---------------------------------------------------------------- */

double lab_expected_share(double universe, double n) {
    if (universe <= 1) return 1 / n;
    double exponent = n * lab_log1p(-1 / universe);
    if (exponent < -700) exponent = -700;
    return -lab_expm1(exponent) * universe / n;
}

/* The smallest universe whose expected share reaches `share`: it grows with the
 * universe, so halve the stretch that holds it. */
static uint64_t solve_universe(uint64_t n, double share) {
    uint64_t low = 0, high = 1;
    while (lab_expected_share((double)high, (double)n) < share && high < (UINT64_C(1) << 50))
        high *= 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (lab_expected_share((double)middle, (double)n) < share) low = middle;
        else high = middle;
    }
    return high;
}

static weir_status uniform_open(lab_stream *s, weir_error *err) {
    if (!s->set.universe == !(s->set.distinct > 0))
        return lab_error(err, WEIR_ERR_SPEC, -1, "uniform needs either universe= or distinct=");
    if (!s->set.universe) s->set.universe = solve_universe(s->set.n, s->set.distinct);
    s->universe = s->set.universe;
    return WEIR_OK;
}

static size_t uniform_next(lab_stream *s, uint64_t *ids, size_t n) {
    lab_rng rng = s->labels;
    for (size_t i = 0; i < n; i++) ids[i] = lab_rng_below(&rng, s->universe);
    s->labels = rng;
    return n;
}

/* --- zipf ------------------------------------------------------------------- */

static weir_status zipf_open(lab_stream *s, weir_error *err) {
    if (!s->set.domain) return lab_error(err, WEIR_ERR_SPEC, -1, "zipf needs domain=");
    if (s->set.s < 0) return lab_error(err, WEIR_ERR_SPEC, -1, "zipf needs s=");
    s->universe = s->set.domain;
    lab_zipf_init(&s->zipf, s->set.s, s->set.domain);
    return WEIR_OK;
}

static size_t zipf_next(lab_stream *s, uint64_t *ids, size_t n) {
    for (size_t done = 0; done < n;) {
        if (s->block_at == s->block_end) {
            s->block_end = lab_zipf_block(&s->zipf, &s->labels, s->block);
            s->block_at = 0;
        }
        while (done < n && s->block_at < s->block_end) ids[done++] = s->block[s->block_at++] - 1;
    }
    return n;
}

/* --- poisson and bmodel ------------------------------------------------------- */

static uint64_t new_label(lab_stream *s) {
    /* 1 - unit is in (0, 1]: its log is at least -53 ln 2. */
    double unit = 1.0 - lab_rng_unit(&s->labels);
    return (uint64_t)(-(double)s->set.u * lab_log(unit));
}

static uint64_t own_id(const lab_stream *s, uint64_t position) {
    return s->set.u * LABELS_PER_MEAN + position;
}

static weir_status poisson_open(lab_stream *s, weir_error *err) {
    if (!(s->set.lambda > 0)) return lab_error(err, WEIR_ERR_SPEC, -1, "poisson needs lambda=");
    if (!s->set.u) return lab_error(err, WEIR_ERR_SPEC, -1, "poisson needs u=");
    s->arrive = s->set.lambda < 1 ? (uint64_t)(s->set.lambda * 0x1p64) : 0;
    s->universe = own_id(s, s->set.n);
    return WEIR_OK;
}

static size_t poisson_next(lab_stream *s, uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int arrival = !s->arrive || lab_rng_next(&s->places) < s->arrive;
        ids[i] = arrival ? new_label(s) : own_id(s, s->drawn + i);
    }
    return n;
}

static weir_status bmodel_open(lab_stream *s, weir_error *err) {
    const stream_settings *set = &s->set;
    if (!(set->b > 0 && set->v > 0 && set->u))
        return lab_error(err, WEIR_ERR_SPEC, -1, "bmodel needs b=, v= and u=");
    double densest = set->v;
    for (uint64_t i = 0; i < set->l; i++) densest *= 2 * set->b;
    /* The excess allowed is for v and b that binary cannot hold exactly. */
    if (densest > 1 + 1e-9 || set->n >> set->l == 0)
        return lab_error(
            err, WEIR_ERR_RANGE, -1,
            "l=%d is too deep: the densest of 2^l intervals would hold %.3g times its room",
            (int)set->l, densest);
    s->bias = (uint64_t)(set->b * 0x1p32 + 0.5);
    s->universe = own_id(s, set->n);
    return WEIR_OK;
}

/* Descend to finest interval s->leaf: its length and how many arrivals it has.
 * Each interval is halved the same way each time it is passed. */
static void enter_leaf(lab_stream *s) {
    uint64_t length = s->set.n, node = 1;
    uint64_t count = (uint64_t)(s->set.v * (double)s->set.n + 0.5);
    for (uint64_t level = s->set.l; level-- > 0;) {
        uint64_t first_length = length / 2;
        uint64_t heavy = (uint64_t)(((unsigned __int128)count * s->bias + ONE_32 / 2) / ONE_32);
        int heavy_first = s->set.order == 1 || (lab_hash_id(node, s->seed) & 1);
        uint64_t first = heavy_first ? heavy : count - heavy;
        if (first > first_length) first = first_length; /* full but for rounding */
        if (count - first > length - first_length) first = count - (length - first_length);
        int second = (s->leaf >> level) & 1;
        length = second ? length - first_length : first_length;
        count = second ? count - first : first;
        node = 2 * node + (uint64_t)second;
    }
    s->left = length;
    s->due = count;
    s->leaf++;
}

static size_t bmodel_next(lab_stream *s, uint64_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) {
        while (!s->left) enter_leaf(s);
        /* Choosing each position with probability due/left selects a random
         * subset of exactly the right size. */
        int arrival = lab_rng_below(&s->places, s->left) < s->due;
        s->left--;
        s->due -= (uint64_t)arrival;
        ids[i] = arrival ? new_label(s) : own_id(s, s->drawn + i);
    }
    return n;
}

/* --- files -------------------------------------------------------------------- */

/* "2-5", "1+7", "4", "0" or nothing. */
static weir_status parse_columns(const char *text, lab_recipe *r, weir_error *err) {
    char sign = 0, rest = 0;
    int first = 0, second = 0;
    int got = sscanf(text, "%d%c%d%c", &first, &sign, &second, &rest);
    if (!*text) return WEIR_OK;
    if (first < 0 || (got != 1 && !(got == 3 && (sign == '-' || sign == '+') && second > 0)))
        return lab_error(err, WEIR_ERR_SPEC, -1, "columns='%s' is not like 4, 2-5 or 1+7", text);
    r->first = first;
    r->last = sign == '-' ? second : first;
    r->also = sign == '+' ? second : 0;
    return WEIR_OK;
}

static weir_status file_open(lab_stream *s, weir_error *err) {
    lab_recipe recipe = {0, 0, 0, s->set.split ? ' ' : '\t', 0, 0};
    if (!*s->set.path) return lab_error(err, WEIR_ERR_SPEC, -1, "file needs path=");
    if (s->reading && (*s->set.columns || s->set.split))
        return lab_error(err, WEIR_ERR_SPEC, -1,
                         "columns= and split= do not go with the options of records and keys; take "
                         "--format and --key");
    if (s->reading) return lab_keys_new(&s->keys, s->set.path, s->reading, err);
    weir_status status = parse_columns(s->set.columns, &recipe, err);
    return status ? status : lab_file_new(&s->file, s->set.path, &recipe, err);
}

static size_t file_next(lab_stream *s, uint64_t *ids, size_t n) {
    if (s->keys) return lab_keys_next(s->keys, ids, n);
    return lab_file_next(s->file, ids, s->tags, n);
}

/* --- the table of kinds and the parsing of specs -------------------------------- */

#define FIELD(name) offsetof(stream_settings, name)
#define LONGEST 1e12
#define OPTION_N                                                                                   \
    { "n", STREAM_COUNT, FIELD(n), 1, LONGEST, NULL }
#define OPTION_U                                                                                   \
    { "u", STREAM_COUNT, FIELD(u), 1, LONGEST, NULL }

static const stream_option uniform_options[] = {
    OPTION_N,
    {"universe", STREAM_COUNT, FIELD(universe), 1, 1e15, NULL},
    {"distinct", STREAM_REAL, FIELD(distinct), 1e-9, 0.9999, NULL},
    {0}};
static const stream_option zipf_options[] = {
    OPTION_N,
    {"s", STREAM_REAL, FIELD(s), 0, 10, NULL},
    {"domain", STREAM_COUNT, FIELD(domain), 1, LONGEST, NULL},
    {0}};
static const stream_option poisson_options[] = {
    OPTION_N, OPTION_U, {"lambda", STREAM_REAL, FIELD(lambda), 1e-9, 1, NULL}, {0}};
static const stream_option bmodel_options[] = {
    OPTION_N,
    OPTION_U,
    {"b", STREAM_REAL, FIELD(b), 0.5, 1, NULL},
    {"l", STREAM_COUNT, FIELD(l), 0, MOST_LEVELS, NULL},
    {"v", STREAM_REAL, FIELD(v), 1e-9, 1, NULL},
    {"order", STREAM_WORD, FIELD(order), 0, 0, "random|first"},
    {0}};
static const stream_option file_options[] = {
    {"path", STREAM_TEXT, FIELD(path), 0, 512, NULL},
    {"columns", STREAM_TEXT, FIELD(columns), 0, 32, NULL},
    {"split", STREAM_WORD, FIELD(split), 0, 0, "tab|space"},
    {0}};

static const stream_kind kinds[] = {{"uniform", uniform_open, uniform_next, uniform_options, NULL},
                                    {"zipf", zipf_open, zipf_next, zipf_options, NULL},
                                    {"poisson", poisson_open, poisson_next, poisson_options, NULL},
                                    {"bmodel", bmodel_open, bmodel_next, bmodel_options, NULL},
                                    {"file", file_open, file_next, file_options, NULL}};
static const stream_kind real_kind = {"real", NULL, file_next, NULL, NULL};
static const stream_kind request_kind = {"requests", NULL, file_next, NULL, "pages"};
static const stream_kind sized_kind = {"sizes", NULL, file_next, NULL, "bytes"};

static const stream_kind *find_kind(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].name, name)) return &kinds[i];
    for (size_t i = 0; lab_tagged_kinds[i].name; i++)
        if (!strcmp(lab_tagged_kinds[i].name, name)) return &lab_tagged_kinds[i];
    return strcmp(lab_mix_kind.name, name) ? NULL : &lab_mix_kind;
}

static weir_status parse_real(const char *text, double *value, weir_error *err) {
    char *end;
    *value = strtod(text, &end);
    if (end != text && *end == '%' && !end[1]) {
        *value /= 100;
        end++;
    }
    return end != text && !*end ? WEIR_OK
                                : lab_error(err, WEIR_ERR_RANGE, 0, "'%s' is not a number", text);
}

/* Index of a word among choices, or -1. */
static int parse_word(const char *text, const char *choices) {
    size_t length = strlen(text);
    for (int i = 0; choices; i++) {
        const char *bar = strchr(choices, '|');
        size_t size = bar ? (size_t)(bar - choices) : strlen(choices);
        if (size == length && !memcmp(choices, text, size)) return i;
        choices = bar ? bar + 1 : NULL;
    }
    return -1;
}

static weir_status parse_value(stream_settings *set, const stream_option *o, const char *text,
                               weir_error *err) {
    void *field = (char *)set + o->field;
    uint64_t count = 0;
    double real = 0;
    weir_status status = WEIR_OK;
    if (o->type == STREAM_TEXT) {
        if (strlen(text) >= (size_t)o->high)
            return lab_error(err, WEIR_ERR_RANGE, 0, "%s is too long", o->name);
        strcpy(field, text);
        return WEIR_OK;
    }
    if (o->type == STREAM_WORD) {
        int word = parse_word(text, o->choices);
        *(uint64_t *)field = (uint64_t)word;
        return word >= 0 ? WEIR_OK
                         : lab_error(err, WEIR_ERR_SPEC, 0, "%s='%s' is none of %s", o->name, text,
                                     o->choices);
    }
    if (o->type == STREAM_COUNT) status = weir_parse_count(text, &count, err);
    else status = parse_real(text, &real, err);
    if (status) return status;
    double value = o->type == STREAM_COUNT ? (double)count : real;
    if (!(value >= o->low && value <= o->high))
        return lab_error(err, WEIR_ERR_RANGE, 0, "%s=%s is not in %g..%g", o->name, text, o->low,
                         o->high);
    if (o->type == STREAM_COUNT) *(uint64_t *)field = count;
    else *(double *)field = real;
    return WEIR_OK;
}

/* One option=value; `at` is where it stands in the spec. */
static weir_status parse_option(lab_stream *s, char *text, int64_t at, weir_error *err) {
    char *value = strchr(text, '=');
    if (!value) return lab_error(err, WEIR_ERR_SPEC, at, "'%s' is not option=value", text);
    *value++ = 0;
    for (const stream_option *o = s->kind->options; o->name; o++) {
        if (strcmp(o->name, text) != 0) continue;
        weir_status status = parse_value(&s->set, o, value, err);
        if (status && err) err->offset = at + (value - text);
        return status;
    }
    return lab_error(err, WEIR_ERR_SPEC, at, "%s has no option '%s'", s->kind->name, text);
}

static weir_status parse_spec(lab_stream *s, char *spec, weir_error *err) {
    char *options = strchr(spec, ':');
    if (options) *options++ = 0;
    const lab_real *real = lab_real_find(spec);
    if (!real) s->kind = find_kind(spec);
    else if (real->recipe.pages == LAB_REQUESTS) s->kind = &request_kind;
    else s->kind = real->recipe.tag ? &sized_kind : &real_kind;
    if (!s->kind)
        return lab_error(err, WEIR_ERR_SPEC, 0,
                         "no stream is called '%s'; 'weir help lab' names them", spec);
    if (s->reading && s->kind != find_kind("file"))
        return lab_error(err, WEIR_ERR_SPEC, 0,
                         "the options of records and keys go with file:path=, not with '%s'", spec);
    if (real)
        return options
                   ? lab_error(err, WEIR_ERR_SPEC, options - spec, "'%s' takes no options", spec)
                   : lab_real_open(&s->file, real, err);
    while (options && *options) {
        char *next = strchr(options, ',');
        if (next) *next++ = 0;
        weir_status status = parse_option(s, options, options - spec, err);
        if (status) return status;
        options = next;
    }
    if (s->kind != find_kind("file") && !s->set.n)
        return lab_error(err, WEIR_ERR_SPEC, -1, "%s needs n=", s->kind->name);
    return s->kind->open(s, err);
}

weir_status lab_stream_new(lab_stream **out, const char *spec, uint64_t seed, weir_error *err) {
    return lab_stream_read(out, spec, seed, NULL, err);
}

weir_status lab_stream_read(lab_stream **out, const char *spec, uint64_t seed,
                            const lab_reading *reading, weir_error *err) {
    *out = NULL;
    lab_stream *s = calloc(1, sizeof *s);
    char *copy = strdup(spec);
    weir_status status;
    if (!s || !copy) {
        status = lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
        goto done;
    }
    s->set.s = -1; /* 0 is an exponent */
    s->seed = seed;
    s->reading = reading;
    s->places = lab_rng_of(seed, 1);
    s->labels = lab_rng_of(seed, 2);
    status = parse_spec(s, copy, err);
    if (!status) *out = s;
done:
    if (!*out) lab_stream_free(s);
    free(copy);
    return status;
}

void lab_stream_free(lab_stream *s) {
    if (!s) return;
    lab_file_free(s->file);
    lab_keys_free(s->keys);
    free(s->mix);
    free(s);
}

const char *lab_stream_read_once(const lab_stream *s) {
    struct stat st;
    return *s->set.path && stat(s->set.path, &st) == 0 && !S_ISREG(st.st_mode) ? s->set.path : NULL;
}

size_t lab_stream_next(lab_stream *s, uint64_t *ids, size_t n) {
    return lab_stream_next_tagged(s, ids, NULL, n);
}

const char *lab_stream_tag(const lab_stream *s) { return s->kind->tag; }

size_t lab_stream_next_tagged(lab_stream *s, uint64_t *ids, uint64_t *tags, size_t n) {
    s->tags = tags;
    if (!s->file && !s->keys && n > s->set.n - s->drawn) n = (size_t)(s->set.n - s->drawn);
    size_t got = n ? s->kind->next(s, ids, n) : 0;
    s->drawn += got;
    return got;
}

weir_status lab_stream_check(const lab_stream *s, weir_error *err) {
    if (s->keys) return lab_keys_check(s->keys, err);
    return s->file ? lab_file_check(s->file, err) : WEIR_OK;
}

uint64_t lab_stream_length(const lab_stream *s) { return s->set.n; }

uint64_t lab_stream_universe(const lab_stream *s) { return s->universe; }

weir_status lab_stream_collect(uint64_t **ids, size_t *count, const char *spec, uint64_t seed,
                               weir_error *err) {
    lab_stream *s;
    *ids = NULL;
    *count = 0;
    weir_status status = lab_stream_new(&s, spec, seed, err);
    if (!s) return status;
    size_t room = s->set.n ? s->set.n : 1 << 16, got = 0;
    uint64_t *all = NULL;
    for (;;) {
        if (!all || *count == room) {
            if (all) room *= 2;
            uint64_t *larger = realloc(all, room * sizeof *all);
            if (!larger) {
                status = lab_error(err, WEIR_ERR_MEMORY, -1, "no memory for %zu ids", room);
                break;
            }
            all = larger;
        }
        got = lab_stream_next(s, all + *count, room - *count);
        *count += got;
        if (!got) {
            status = lab_stream_check(s, err);
            break;
        }
        if (*count == s->set.n) break;
    }
    lab_stream_free(s);
    if (status) {
        free(all);
        all = NULL;
        *count = 0;
    }
    *ids = all;
    return status;
}
