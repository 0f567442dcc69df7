/* lab_stream_mix.c - streams mixed of several parts, with a change of regime.
 *
 *     mix:n=300K,parts=3*zipf;0.9;50K+1*loop;20K~10K/2*zipf;0.9;50K+1*scan
 *
 * Each record belongs to one of the parts, drawn by weight (the number before *).
 * Parts are joined by +, regimes by /; regimes are stretches of equal length. A part
 * that is written the same in two regimes is one part: it goes on where it was. A part
 * with ~P is on for P records, off for P, and so on; while all are off all are on.
 *
 *   zipf;S;D      id k of 1..D with probability ~ k^-S
 *   uniform;U     each id below U alike
 *   loop;L        0, 1, ..., L-1, and again from the start
 *   scan          every id once
 *   fashion;U;E   a new id each E records of the part; the age of what is drawn, counted
 *                 in ids, is exponential with mean U. So ids come into fashion and go.
 *   again;P;D     ids come once; with probability P the record is instead one of the
 *                 last D ids, at a distance d with probability ~ 1/d: repeats of
 *                 at-least-once delivery, as many at 10 as at 100,000 for each octave
 *   burst;M       each id comes several times in a row, M on average
 *
 * Parts have ids of their own, mixed to 64 bits, as those of a file are. Memory is
 * constant: no part remembers what it drew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_error.h"
#include "lab_math.h"
#include "lab_stream_internal.h"

#define MOST_PARTS 16
#define MOST_REGIMES 4
#define PART_TEXT 64
#define LABELS_PER_MEAN 37 /* > 53 ln 2, the most an exponential of 53 bits can be */

typedef struct {
    char text[PART_TEXT]; /* without its weight: what names it */
    size_t kind;
    double real;         /* S, P or M */
    uint64_t size, each; /* D, U or L; E */
    uint64_t period;     /* ~P; 0: always on */
    uint64_t drawn;      /* records of this part so far */
    uint64_t fresh;      /* ids given out so far: again, burst */
    lab_zipf zipf;       /* zipf: with ranks drawn ahead */
    size_t block_at, block_end;
    uint64_t block[LAB_ZIPF_BLOCK];
} mix_part;

struct stream_mix {
    mix_part parts[MOST_PARTS];
    size_t part_count, regime_count;
    uint64_t weights[MOST_REGIMES][MOST_PARTS];
};

/* --- the parts ----------------------------------------------------------------------- */

static uint64_t draw_zipf(mix_part *p, lab_rng *rng) {
    while (p->block_at == p->block_end) {
        p->block_end = lab_zipf_block(&p->zipf, rng, p->block);
        p->block_at = 0;
    }
    return p->block[p->block_at++];
}

static uint64_t draw_uniform(mix_part *p, lab_rng *rng) { return lab_rng_below(rng, p->size); }

static uint64_t draw_loop(mix_part *p, lab_rng *rng) {
    (void)rng;
    return p->drawn % p->size;
}

static uint64_t draw_scan(mix_part *p, lab_rng *rng) {
    (void)rng;
    return p->drawn;
}

static uint64_t draw_fashion(mix_part *p, lab_rng *rng) {
    uint64_t age = (uint64_t)(-(double)p->size * lab_log(1.0 - lab_rng_unit(rng)));
    return p->size * LABELS_PER_MEAN + p->drawn / p->each - age;
}

static uint64_t draw_again(mix_part *p, lab_rng *rng) {
    if (!p->fresh || lab_rng_unit(rng) >= p->real) return p->fresh++;
    uint64_t distance = (uint64_t)lab_exp(lab_rng_unit(rng) * lab_log((double)p->size));
    return p->fresh - (distance < p->fresh ? distance : p->fresh);
}

static uint64_t draw_burst(mix_part *p, lab_rng *rng) {
    if (!p->fresh || lab_rng_unit(rng) * p->real < 1) p->fresh++;
    return p->fresh;
}

/* What follows a kind's name, in order: S, P, M are reals, the others counts. */
static const struct {
    const char *name;
    uint64_t (*draw)(mix_part *, lab_rng *);
    double low, high; /* of the real; 0, 0: there is none */
    int counts;
} part_kinds[] = {
    {"zipf", draw_zipf, 1e-9, 10, 1},   {"uniform", draw_uniform, 0, 0, 1},
    {"loop", draw_loop, 0, 0, 1},       {"scan", draw_scan, 0, 0, 0},
    {"fashion", draw_fashion, 0, 0, 2}, {"again", draw_again, 1e-9, 1, 1},
    {"burst", draw_burst, 1, 1e9, 0},
};

#define PART_KINDS (sizeof part_kinds / sizeof *part_kinds)

/* --- parsing --------------------------------------------------------------------------- */

static weir_status bad_part(weir_error *err, const char *part, const char *why) {
    return lab_error(err, WEIR_ERR_SPEC, -1, "'%s' is no part of a mix: %s", part, why);
}

static int parse_number(const char *text, double low, double high, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && *value >= low && *value <= high;
}

static int parse_whole(const char *text, uint64_t *value) {
    weir_error ignored;
    return !weir_parse_count(text, value, &ignored) && *value >= 1 && *value <= UINT64_C(1) << 32;
}

/* The arguments behind the name, cut at each semicolon. */
static weir_status parse_arguments(mix_part *p, char *at, weir_error *err) {
    char *words[3] = {at, at, at};
    int count = 0, next = 0;
    for (char *save = NULL, *word = strtok_r(at, ";", &save); word;
         word = strtok_r(NULL, ";", &save))
        if (count++ < 3) words[count - 1] = word;
    int real = part_kinds[p->kind].high > 0;
    if (count != real + part_kinds[p->kind].counts)
        return bad_part(err, p->text, "it has too many or too few numbers");
    if (real &&
        !parse_number(words[next++], part_kinds[p->kind].low, part_kinds[p->kind].high, &p->real))
        return bad_part(err, p->text, "its first number is out of range");
    if (next < count && !parse_whole(words[next++], &p->size))
        return bad_part(err, p->text, "its size is no count");
    if (next < count && !parse_whole(words[next], &p->each))
        return bad_part(err, p->text, "its last number is no count");
    return WEIR_OK;
}

static weir_status parse_part(mix_part *p, weir_error *err) {
    char copy[PART_TEXT];
    strcpy(copy, p->text);
    char *period = strchr(copy, '~');
    if (period) *period++ = 0;
    if (period && !parse_whole(period, &p->period))
        return bad_part(err, p->text, "what follows ~ is no count");
    char *arguments = strchr(copy, ';');
    if (arguments) *arguments++ = 0;
    while (p->kind < PART_KINDS && strcmp(part_kinds[p->kind].name, copy) != 0) p->kind++;
    if (p->kind == PART_KINDS) return bad_part(err, p->text, "see lab_stream_mix.c for the kinds");
    weir_status status = parse_arguments(p, arguments ? arguments : copy + strlen(copy), err);
    if (!status && part_kinds[p->kind].draw == draw_zipf) lab_zipf_init(&p->zipf, p->real, p->size);
    return status;
}

/* "3*zipf;0.9;50K" of a regime: a new part, or one that there is already. */
static weir_status add_part(struct stream_mix *m, char *text, weir_error *err) {
    char *star = strchr(text, '*');
    double weight;
    size_t i = 0;
    if (!star) return bad_part(err, text, "it has no weight, as in 2*scan");
    *star = 0;
    if (!parse_number(text, 1, 1e6, &weight)) return bad_part(err, text, "its weight is no number");
    const char *name = star + 1;
    if (strlen(name) >= PART_TEXT) return bad_part(err, name, "it is too long");
    while (i < m->part_count && strcmp(m->parts[i].text, name) != 0) i++;
    if (i == MOST_PARTS) return bad_part(err, name, "there are too many");
    m->weights[m->regime_count - 1][i] += (uint64_t)weight;
    if (i < m->part_count) return WEIR_OK;
    strcpy(m->parts[m->part_count++].text, name);
    return parse_part(&m->parts[i], err);
}

static weir_status mix_open(lab_stream *s, weir_error *err) {
    char copy[sizeof s->set.parts], *regimes = NULL;
    struct stream_mix *m = s->mix = calloc(1, sizeof *m);
    if (!m) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    strcpy(copy, s->set.parts);
    for (char *r = strtok_r(copy, "/", &regimes); r; r = strtok_r(NULL, "/", &regimes)) {
        char *parts = NULL;
        if (m->regime_count == MOST_REGIMES)
            return lab_error(err, WEIR_ERR_SPEC, -1, "a mix has %d regimes at most", MOST_REGIMES);
        m->regime_count++;
        for (char *p = strtok_r(r, "+", &parts); p; p = strtok_r(NULL, "+", &parts)) {
            weir_status status = add_part(m, p, err);
            if (status) return status;
        }
    }
    return m->part_count ? WEIR_OK : lab_error(err, WEIR_ERR_SPEC, -1, "mix needs parts=");
}

/* --- drawing ----------------------------------------------------------------------------- */

static size_t choose_part(const struct stream_mix *m, const uint64_t *weights, uint64_t position,
                          lab_rng *rng) {
    uint64_t on[MOST_PARTS] = {0}, total = 0, all = 0;
    for (size_t i = 0; i < m->part_count; i++) {
        uint64_t period = m->parts[i].period;
        on[i] = period && position / period % 2 ? 0 : weights[i];
        total += on[i];
        all += weights[i];
    }
    const uint64_t *shares = total ? on : weights;
    uint64_t draw = lab_rng_below(rng, total ? total : all);
    size_t i = 0;
    while (draw >= shares[i]) draw -= shares[i++];
    return i;
}

static size_t mix_next(lab_stream *s, uint64_t *ids, size_t n) {
    struct stream_mix *m = s->mix;
    for (size_t i = 0; i < n; i++) {
        uint64_t position = s->drawn + i;
        size_t regime = (size_t)((unsigned __int128)position * m->regime_count / s->set.n);
        size_t part = choose_part(m, m->weights[regime], position, &s->places);
        uint64_t id = part_kinds[m->parts[part].kind].draw(&m->parts[part], &s->labels);
        m->parts[part].drawn++;
        ids[i] = lab_mix((uint64_t)(part + 1) << 48 | id);
    }
    return n;
}

static const stream_option mix_options[] = {
    {"n", STREAM_COUNT, offsetof(stream_settings, n), 1, 1e12, NULL},
    {"parts", STREAM_TEXT, offsetof(stream_settings, parts), 0, 512, NULL},
    {0}};

const stream_kind lab_mix_kind = {"mix", mix_open, mix_next, mix_options, NULL};
