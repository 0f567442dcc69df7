/* count_set.c - the sketches of one stream, by the questions they answer.
 *
 * Each question has a kind of sketch that answers it best; several questions share one
 * where they can. All sketches of a set have the same seed, so that a key is hashed
 * once for all of them. A window wraps each of them; a half-life is an option of
 * those that count.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "count.h"
#include "group_note.h"
#include "report.h"
#include "run_note.h"

enum { PANES = 16 };          /* sketches that a window moves by: it reaches back a 16th too far */
enum { K_MOST = 10000000 };   /* the most keys of a list, as for --top */
enum { KEYS_OF_PANE = 100 };  /* the least that a pane keeps for the list of its window */
enum { KEY_BYTES = 450 };     /* memory for each key of a list, at most */
enum { KEY_WHOLE = 4096 };    /* bytes up to which a key is kept whole, memory permitting */
enum { KEYS_OF_GROUP = 100 }; /* the longest list for which a group has only 64K */
enum { SAMPLE_BYTES = 4 << 20 }; /* for the keys of --sample, or 64 each if that is more */

static const char *const part_names[PARTS] = {"keys",   "signed",    "distinct", "integers",
                                              "sample", "quantiles", "spectrum"};

/* --- specs ------------------------------------------------------------------------- */

static int put(char spec[SPEC_SIZE], const char *flag, const char *name, const char *value) {
    char own[SPEC_SIZE];
    if (!value || !*spec) return EXIT_DONE;
    if (weir_spec_get(spec, name, own, sizeof own)) {
        if (!strcmp(own, value)) return EXIT_DONE;
        return cli_error("%s %s and %s=%s in --sketch '%s' disagree; give it once", flag, value,
                         name, own, spec);
    }
    if (strpbrk(value, ",=:()")) return cli_error("%s cannot be '%s'", flag, value);
    size_t used = strlen(spec);
    int n = snprintf(spec + used, SPEC_SIZE - used, "%c%s=%s", strchr(spec, ':') ? ',' : ':', name,
                     value);
    if (n < 0 || (size_t)n >= SPEC_SIZE - used) return cli_error("the sketch's spec is too long");
    return EXIT_DONE;
}

/* The questions a part is for. */
static uint32_t questions_of(const count_settings *s, count_part part) {
    bool lists = s->top || s->above > 0;
    uint32_t counts = (s->query_count ? WEIR_CAN_ESTIMATE : 0u) |
                      (s->self_join ? WEIR_CAN_SELF_JOIN : 0u) | (s->join ? WEIR_CAN_JOIN : 0u);
    switch (part) {
    case PART_KEYS:
        return (lists ? WEIR_CAN_TOP : 0u) | (s->by_agms ? 0u : counts);
    case PART_SIGNED:
        return s->by_agms ? counts | (lists ? WEIR_CAN_ESTIMATE : 0u) : 0u;
    case PART_DISTINCT:
        return s->distinct ? WEIR_CAN_DISTINCT : 0u;
    case PART_INTEGERS:
        return s->range_count ? WEIR_CAN_RANGE : 0u;
    case PART_QUANTILES:
        return s->quantile_count ? WEIR_CAN_QUANTILE : 0u;
    case PART_SPECTRUM:
        return s->spectrum || s->where ? WEIR_CAN_WHERE : 0u;
    case PART_SAMPLE:
        return s->sample ? WEIR_CAN_SAMPLE : 0u;
    default:
        return 0;
    }
}

/* Which questions the sketch of a spec answers. */
static int answers_of(const char *spec, uint32_t *answers) {
    weir_sketch *sketch;
    weir_sketch_info info;
    weir_error err;
    if (weir_sketch_new(&sketch, spec, &err) != WEIR_OK)
        return cli_error("--sketch '%s': %s", spec, err.message);
    weir_sketch_get_info(sketch, &info);
    weir_sketch_free(sketch);
    *answers = info.answers;
    return EXIT_DONE;
}

/* Give each --sketch its place: that of the questions it answers. */
static int place_given(count_specs *specs, const count_settings *s) {
    for (size_t i = 0; i < s->sketch_count; i++) {
        uint32_t answers = 0;
        int code = answers_of(s->sketches[i], &answers), part = 0;
        if (code != EXIT_DONE) return code;
        for (part = PARTS - 1; part >= 0; part--) {
            uint32_t asked = questions_of(s, (count_part)part);
            if (asked && (asked & answers) == asked && !*specs->of[part]) break;
        }
        if (part < 0)
            return cli_error("--sketch '%s' cannot answer what is asked for; docs/sketches.md has "
                             "a table of which sketch answers what",
                             s->sketches[i]);
        if (strlen(s->sketches[i]) >= SPEC_SIZE) return cli_error("--sketch is too long");
        strcpy(specs->of[part], s->sketches[i]);
    }
    return EXIT_DONE;
}

enum { USUAL_WIDTH = 65536 }; /* of the counters of a list, 1M in all */

/* So wide that CM errs by half of the share of --above: then the list lacks none. */
static void widen(char *spec, const count_settings *s) {
    double width = ceil(2 * exp(1) / s->above);
    if (s->memory || s->error || s->group || s->window || width <= USUAL_WIDTH) return;
    snprintf(spec + strlen(spec), SPEC_SIZE - strlen(spec), ",width=%.0f", width);
}

/* The --memory of the sketch that keeps a list, of one pane in a window; false if not given. */
static bool memory_of_list(const count_settings *s, double *bytes) {
    uint64_t memory;
    if (!s->memory || weir_parse_size(s->memory, &memory, NULL)) return false;
    *bytes = (double)memory / (s->window ? PANES + 2 : 1);
    return true;
}

/* How many keys may be above; fewer where they would take more than half of the memory. */
static double keys_above(const count_settings *s) {
    double k = s->above > 0 ? ceil(1 / s->above) : 0, memory;
    return memory_of_list(s, &memory) ? fmin(k, fmax(1, floor(memory / 2 / KEY_BYTES))) : k;
}

/* The keys of a window's list are found pane by pane, where many are equal that are not in
 * the window: so more are kept, as far as they take no more than a quarter of a pane. */
static double keys_of_panes(const count_settings *s) {
    double memory;
    if (!s->window) return 0;
    if (!memory_of_list(s, &memory)) return KEYS_OF_PANE;
    return fmin(KEYS_OF_PANE, floor(memory / 4 / KEY_BYTES));
}

/* Memory for the bytes of the keys of a list: that of keys of 4 KiB for twice the list, for
 * eight at least, but no more than a quarter of the memory, or 64 bytes a key where that is
 * more. A key is kept whole up to an eighth of it. */
static double bytes_of_keys(const count_settings *s, double k) {
    uint64_t memory = (s->group ? 64u : 1024u) << 10;
    if (s->memory && weir_parse_size(s->memory, &memory, NULL)) return 256 * k;
    double share = (double)memory / 4;
    if (s->window) share = s->memory ? share / (PANES + 2) : fmin(share, 8 * KEY_WHOLE);
    return floor(fmin(fmax(2 * k, 8) * KEY_WHOLE, fmax(fmax(256 * k, 512), share)));
}

/* How many keys a list keeps. */
static double keys_of_list(const count_settings *s) {
    double spare = s->listed ? (double)s->listed : keys_of_panes(s);
    return fmin(fmax(fmax(keys_above(s), spare), (double)s->top), K_MOST);
}

/* The kind for a part when none was given. */
static void place_usual(count_specs *specs, const count_settings *s, count_part part) {
    char *spec = specs->of[part];
    if (!questions_of(s, part) || *spec) return;
    if (part == PART_KEYS && (s->top || s->above > 0)) {
        double k = keys_of_list(s);
        double bytes = s->listed ? (double)s->key_bytes : bytes_of_keys(s, k);
        snprintf(spec, SPEC_SIZE, "top:k=%.0f", k);
        if (bytes > 0) snprintf(spec + strlen(spec), SPEC_SIZE - strlen(spec), ",keys=%.0f", bytes);
        if (s->above > 0) widen(spec, s);
    } else if (part == PART_SAMPLE) {
        double key = fmin(KEY_WHOLE, fmax(64, (double)SAMPLE_BYTES / (double)s->sample));
        snprintf(spec, SPEC_SIZE, "sample:n=%zu,key=%.0f", s->sample, floor(key));
    } else if (part == PART_INTEGERS) {
        strcpy(spec, "dyadic:bits=64");
    } else if (part == PART_QUANTILES) {
        strcpy(spec, "kll");
    } else if (part == PART_SPECTRUM) {
        strcpy(spec, "distinct");
    } else {
        static const char *const kinds[] = {"countmin", "agms", "hll"};
        strcpy(spec, kinds[part]);
    }
}

static bool counts_weights(count_part part) {
    return part == PART_KEYS || part == PART_SIGNED || part == PART_INTEGERS ||
           part == PART_QUANTILES;
}

/* Memory where none was given: of a group little; ranges need more than counts, as they
 * count at every level. NULL: what the kind takes. */
static const char *usual_memory(const count_settings *s, count_part part) {
    static const char *const small[PARTS] = {"64K", "64K", "4K", "256K", NULL, "64K", "64K"};
    bool long_list = part == PART_KEYS && keys_of_list(s) > KEYS_OF_GROUP;
    if (s->group) return long_list ? NULL : small[part];
    return part == PART_INTEGERS ? "4M" : NULL;
}

/* Memory if --memory was not given: a pane has its own default, a group a small one. */
static int put_usual_memory(char *spec, const count_settings *s, count_part part) {
    char own[SPEC_SIZE];
    bool sized = s->memory || s->error || s->sketch_count || (s->window && !s->group);
    if (sized || weir_spec_get(spec, "memory", own, sizeof own)) return EXIT_DONE;
    return put(spec, "--memory", "memory", usual_memory(s, part));
}

static int put_memory(char *spec, const count_settings *s, count_part part, bool alone) {
    if (part == PART_SAMPLE || (!counts_weights(part) && !alone)) return EXIT_DONE;
    return put(spec, "--memory", "memory", s->memory);
}

static int wrap_window(char *spec, const count_settings *s) {
    char whole[2 * SPEC_SIZE];
    if (!s->window || !*spec || !strncmp(spec, "window:", 7)) return EXIT_DONE;
    int n =
        snprintf(whole, sizeof whole, "window:length=%s,panes=%d,of=(%s)", s->window, PANES, spec);
    if (n < 0 || n >= SPEC_SIZE) return cli_error("the sketch's spec is too long");
    strcpy(spec, whole);
    return EXIT_DONE;
}

/* Whether sketches of that spec can count in fractions. */
static bool has_counter(const char *spec) {
    const weir_kind *kind;
    size_t length = strcspn(spec, ":");
    for (size_t i = 0; (kind = weir_sketch_kind(i)); i++) {
        if (strlen(kind->name) != length || memcmp(kind->name, spec, length) != 0) continue;
        for (const weir_option *o = kind->options; o && o->name; o++)
            if (!strcmp(o->name, "counter")) return true;
    }
    return false;
}

static int finish_spec(char *spec, const count_settings *s, count_part part, bool alone) {
    bool sized = counts_weights(part) || (alone && part == PART_DISTINCT);
    bool weighs = counts_weights(part) && s->from.in.number_field;
    char own[64];
    int code = sized ? put(spec, "--error", "error", s->error) : EXIT_DONE;
    if (code == EXIT_DONE && sized && part != PART_QUANTILES)
        code = put(spec, "--confidence", "confidence", s->confidence);
    if (code == EXIT_DONE && part == PART_KEYS && s->conservative)
        code = put(spec, "--estimator", "update", "conservative");
    if (code == EXIT_DONE && weighs && has_counter(spec) &&
        !weir_spec_get(spec, "counter", own, sizeof own))
        code = put(spec, "--weight", "counter", s->conservative ? "64" : "real");
    if (code == EXIT_DONE && (part == PART_KEYS || part == PART_SIGNED))
        code = put(spec, "--decay", "decay", s->decay);
    if (code == EXIT_DONE) code = put_usual_memory(spec, s, part);
    if (code == EXIT_DONE) code = wrap_window(spec, s);
    if (code == EXIT_DONE) code = put_memory(spec, s, part, alone);
    return code;
}

static int make_specs(count_specs *specs, const count_settings *s) {
    memset(specs, 0, sizeof *specs);
    int code = place_given(specs, s), parts = 0;
    for (int i = 0; i < PARTS; i++) place_usual(specs, s, (count_part)i);
    for (int i = 0; i < PARTS; i++) parts += *specs->of[i] != 0;
    for (int i = 0; i < PARTS && code == EXIT_DONE; i++)
        if (*specs->of[i]) code = finish_spec(specs->of[i], s, (count_part)i, parts == 1);
    for (int i = 0; i < PARTS && code == EXIT_DONE; i++)
        if (*specs->of[i]) code = put(specs->of[i], "--seed", "seed", s->seed);
    return code;
}

/* The option that a part answers, for messages. */
static const char *purpose(const count_settings *s, count_part part, char text[64]) {
    static const char *const of[PARTS] = {"--query",  "--estimator agms", "--distinct", "--range",
                                          "--sample", "--quantiles",      "--spectrum"};
    if (part == PART_KEYS && s->top) snprintf(text, 64, "--top %zu", s->top);
    else if (part == PART_KEYS && s->above > 0)
        snprintf(text, 64, "--above %.15g%%", 100 * s->above);
    else if (part == PART_SPECTRUM && !s->spectrum) snprintf(text, 64, "--where");
    else snprintf(text, 64, "%s", of[part]);
    return text;
}

static bool can_be_made(const char *spec) {
    weir_sketch *sketch;
    bool good = weir_sketch_new(&sketch, spec, NULL) == WEIR_OK;
    if (good) weir_sketch_free(sketch);
    return good;
}

/* A --memory that is too small is refused in words of the command line, with the least power of
 * two that would do. */
static int check_memory(const count_specs *specs, const count_settings *s) {
    char text[64], least[32];
    uint64_t memory;
    if (!s->memory || s->sketch_count || weir_parse_size(s->memory, &memory, NULL))
        return EXIT_DONE;
    for (int i = 0; i < PARTS; i++) {
        char own[SPEC_SIZE];
        if (!*specs->of[i] || !weir_spec_get(specs->of[i], "memory", own, sizeof own) ||
            can_be_made(specs->of[i]))
            continue;
        for (uint64_t more = 64; more <= (uint64_t)1 << 36; more *= 2) {
            count_settings larger = *s;
            count_specs others;
            larger.memory = weir_print_size(least, more);
            larger.sketch_count = 0;
            if (more <= memory || make_specs(&others, &larger) != EXIT_DONE) continue;
            if (can_be_made(others.of[i]))
                return cli_error("--memory %s is too little for %s; %s would do", s->memory,
                                 purpose(s, (count_part)i, text), least);
        }
    }
    return EXIT_DONE;
}

int count_specs_make(count_specs *specs, const count_settings *s) {
    int code = make_specs(specs, s);
    return code == EXIT_DONE ? check_memory(specs, s) : code;
}

/* --- sketches ------------------------------------------------------------------------ */

static int make_one(weir_sketch **out, const char *spec) {
    weir_error err;
    if (weir_sketch_new(out, spec, &err) == WEIR_OK) return EXIT_DONE;
    spec_name_flag(&err, NULL); /* a --sketch was checked when it was placed */
    return cli_error("%s", err.message);
}

int count_set_make(count_set *set, const count_specs *specs) {
    char seed[32] = "", spec[SPEC_SIZE], own[64];
    memset(set, 0, sizeof *set);
    for (int i = 0; i < PARTS; i++) {
        if (!*specs->of[i]) continue;
        strcpy(spec, specs->of[i]);
        int code = EXIT_DONE;
        if (*seed && !weir_spec_get(spec, "seed", own, sizeof own))
            code = put(spec, "--seed", "seed", seed);
        if (code == EXIT_DONE) code = make_one(&set->part[i], spec);
        if (code != EXIT_DONE) return code;
        weir_sketch_info info;
        weir_sketch_get_info(set->part[i], &info);
        snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)info.seed);
        if (weir_sketch_hash(set->part[i], "weir", 4) !=
            weir_sketch_hash(count_set_any(set), "weir", 4))
            return cli_error("the sketches of one run need the same seed and the same hash");
    }
    return EXIT_DONE;
}

int count_set_like(count_set *set, const count_set *other) {
    memset(set, 0, sizeof *set);
    for (int i = 0; i < PARTS; i++) {
        if (!other->part[i]) continue;
        char *spec = report_sketch_spec(other->part[i]);
        if (!spec) return cli_error("out of memory");
        int code = make_one(&set->part[i], spec);
        free(spec);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

void count_set_free(count_set *set) {
    for (int i = 0; i < PARTS; i++) weir_sketch_free(set->part[i]), set->part[i] = NULL;
}

void count_set_clear(count_set *set) {
    for (int i = 0; i < PARTS; i++)
        if (set->part[i]) weir_sketch_clear(set->part[i]);
}

void count_set_advance(count_set *set, int64_t time) {
    for (int i = 0; i < PARTS; i++)
        if (set->part[i]) weir_sketch_advance(set->part[i], time);
}

int count_set_merge(count_set *into, const count_set *from) {
    weir_error err;
    for (int i = 0; i < PARTS; i++)
        if (into->part[i] && weir_sketch_merge(into->part[i], from->part[i], &err) != WEIR_OK)
            return cli_error("%s", err.message);
    return EXIT_DONE;
}

const weir_sketch *count_set_any(const count_set *set) {
    for (int i = 0; i < PARTS; i++)
        if (set->part[i]) return set->part[i];
    return NULL;
}

uint64_t count_set_memory(const count_set *set) {
    uint64_t bytes = 0;
    for (int i = 0; i < PARTS; i++) {
        weir_sketch_info info;
        if (!set->part[i]) continue;
        weir_sketch_get_info(set->part[i], &info);
        bytes += info.memory;
    }
    return bytes;
}

weir_sketch *count_set_quantiles(const count_set *set) {
    weir_sketch *own = set->part[PART_QUANTILES];
    return own ? own : set->part[PART_INTEGERS]; /* as a state may have been saved for ranges */
}

bool count_set_takes_decimals(const count_set *set) {
    weir_sketch_info info = {0};
    if (set->part[PART_QUANTILES]) weir_sketch_get_info(set->part[PART_QUANTILES], &info);
    return info.takes_decimals && !set->part[PART_INTEGERS];
}

double count_set_total(const count_set *set) {
    static const count_part order[PARTS] = {PART_KEYS,     PART_SIGNED, PART_INTEGERS,
                                            PART_DISTINCT, PART_SAMPLE, PART_QUANTILES,
                                            PART_SPECTRUM};
    weir_sketch_info info;
    for (size_t i = 0; i < PARTS; i++) {
        if (!set->part[order[i]]) continue;
        weir_sketch_get_info(set->part[order[i]], &info);
        return info.total;
    }
    return 0;
}

/* --- the state file -------------------------------------------------------------------- */

enum { PART_LABEL = 16 }; /* bytes of the name of a part of a state: two letters and its group */

/* Where what was saved is, for messages, and what to try. */
static const char *place(const count_settings *s, char text[512]) {
    if (s->at.url) snprintf(text, 512, "'%.480s'", s->at.url);
    else snprintf(text, 512, "the state file '%.480s'", s->state);
    return text;
}
static const char *another(const count_settings *s) {
    return s->at.url ? "another name" : "another state file";
}

/* The name of a part in a snapshot: its own, or of a group its first two letters. */
static void part_label(char label[PART_LABEL], int part, const char *group) {
    if (group) snprintf(label, PART_LABEL, "%.2s%.12s", part_names[part], group);
    else snprintf(label, PART_LABEL, "%s", part_names[part]);
}

weir_status count_set_put(weir_snapshot *snapshot, const count_set *set, const char *group,
                          weir_error *err) {
    weir_status status = WEIR_OK;
    for (int i = 0; i < PARTS && status == WEIR_OK; i++) {
        char label[PART_LABEL];
        if (!set->part[i]) continue;
        part_label(label, i, group);
        status = weir_snapshot_put_sketch(snapshot, label, set->part[i], err);
    }
    return status;
}

void count_set_take(weir_snapshot *snapshot, count_set *set, const char *group) {
    for (int i = 0; i < PARTS; i++) {
        char label[PART_LABEL];
        part_label(label, i, group);
        set->part[i] = weir_snapshot_take_sketch(snapshot, label);
    }
}

int count_set_save(const count_set *set, const count_settings *s, const count_totals *totals,
                   const count_groups *groups) {
    weir_snapshot *snapshot;
    weir_error err;
    size_t length, groups_length = 0;
    run_counts counts = {.records = totals->records,
                         .missing = totals->missing,
                         .bad = totals->bad,
                         .unweighted = totals->unweighted};
    char *note = run_note_keys("count", &s->from, &counts, &length), *groups_note = NULL;
    if (note && groups) groups_note = count_groups_note(groups, &groups_length);
    if (!note || (groups && !groups_note)) {
        free(note);
        return cli_error("out of memory");
    }
    weir_status status = weir_snapshot_new(&snapshot, &err);
    if (status == WEIR_OK) status = count_set_put(snapshot, set, NULL, &err);
    if (status == WEIR_OK && groups) status = count_groups_put(groups, snapshot, &err);
    if (status == WEIR_OK) status = weir_snapshot_put_note(snapshot, "run", note, length, &err);
    if (status == WEIR_OK && groups)
        status = weir_snapshot_put_note(snapshot, GROUP_NOTE, groups_note, groups_length, &err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, s->state, &err);
    weir_snapshot_free(snapshot);
    free(note);
    free(groups_note);
    return status == WEIR_OK ? EXIT_DONE : cli_error("%s", err.message);
}

/* Info of a sketch; all zero if there is none. */
static weir_sketch_info info_of(const weir_sketch *sketch) {
    weir_sketch_info info = {0};
    if (sketch) weir_sketch_get_info(sketch, &info);
    return info;
}

/* A saved sketch fits if it could be merged into one made by today's options. */
static int check_options(const count_settings *s, const count_specs *specs,
                         const count_set *saved) {
    char spec[SPEC_SIZE], seed[32], where[512];
    for (int i = 0; i < PARTS; i++) {
        weir_sketch *fresh = NULL;
        weir_sketch_info info;
        weir_error err;
        if (!*specs->of[i]) continue;
        weir_sketch_get_info(saved->part[i], &info);
        snprintf(seed, sizeof seed, "0x%llx", (unsigned long long)info.seed);
        strcpy(spec, specs->of[i]);
        int code = s->seed ? EXIT_DONE : put(spec, "--seed", "seed", seed);
        if (code == EXIT_DONE) code = make_one(&fresh, spec);
        if (code == EXIT_DONE &&
            weir_sketch_merge(fresh, saved->part[i], &err) == WEIR_ERR_MISMATCH)
            code = cli_error("%s does not fit: %s; use the same options or %s", place(s, where),
                             err.message, another(s));
        weir_sketch_free(fresh);
        if (code != EXIT_DONE) return code;
    }
    return EXIT_DONE;
}

/* A state file must have a sketch for each question, made with the options that are given. */
static int check_saved(const count_settings *s, const count_set *set) {
    char where[512];
    count_specs specs;
    count_settings like = *s;
    weir_sketch_info list = info_of(set->part[PART_KEYS]);
    like.listed = list.listed;
    like.key_bytes = list.key_bytes;
    int code = count_specs_make(&specs, &like);
    for (int i = 0; i < PARTS && code == EXIT_DONE; i++) {
        weir_sketch_info info = {0};
        uint32_t asked = questions_of(s, (count_part)i);
        if (!asked) continue;
        if (set->part[i]) weir_sketch_get_info(set->part[i], &info);
        if (i == PART_QUANTILES && !set->part[i] && set->part[PART_INTEGERS])
            weir_sketch_get_info(set->part[PART_INTEGERS], &info);
        if ((info.answers & asked) != asked)
            return cli_error("%s has no sketch '%s' that could answer this: ask what was asked "
                             "when it was made, or use %s",
                             place(s, where), part_names[i], another(s));
    }
    bool given = s->memory || s->error || s->confidence || s->seed || s->sketch_count ||
                 s->window || s->decay || s->conservative;
    return code == EXIT_DONE && given ? check_options(s, &specs, set) : code;
}

/* A list of 10 keys cannot become one of 100, nor can a window begin later. */
static int check_room(const count_settings *s, const count_set *set) {
    char where[512];
    uint64_t k = info_of(set->part[PART_KEYS]).listed;
    if (!k || s->top <= k) return EXIT_DONE;
    return cli_error("%s keeps the %llu most frequent keys, so --top can be at most that",
                     place(s, where), (unsigned long long)k);
}

static bool answers(const weir_sketch *sketch, uint32_t question) {
    weir_sketch_info info = {0};
    if (sketch) weir_sketch_get_info(sketch, &info);
    return info.answers & question;
}

/* Where it answers neither, the questions stay, and loading it says what is missing. */
int count_set_usual(count_settings *s) {
    weir_snapshot *snapshot = NULL;
    count_set set;
    if (s->shelf && !count_shelf_exists(s->shelf)) return EXIT_DONE;
    if (s->shelf && count_shelf_read(s->shelf, &snapshot) != EXIT_DONE) return EXIT_TROUBLE;
    if (!s->shelf && weir_snapshot_read(&snapshot, s->state, NULL) != WEIR_OK) return EXIT_DONE;
    count_set_take(snapshot, &set, NULL);
    bool lists = answers(set.part[PART_KEYS], WEIR_CAN_TOP);
    bool distinct = answers(set.part[PART_DISTINCT], WEIR_CAN_DISTINCT);
    uint64_t k = info_of(set.part[PART_KEYS]).listed;
    if (lists && k && k < s->top) s->top = (size_t)k;
    if (lists || distinct) s->distinct = distinct;
    if (!lists && distinct) s->top = 0;
    count_set_free(&set);
    weir_snapshot_free(snapshot);
    return EXIT_DONE;
}

/* Saved with --group, and with the same: or without, now and then. */
static int check_group(const count_settings *s, const weir_snapshot *snapshot) {
    char name[GROUP_LABEL], *field = NULL;
    size_t length, n = 0;
    const char *note = weir_snapshot_note(snapshot, GROUP_NOTE, &length), *at = note;
    if (!note && !s->group) return EXIT_DONE;
    if (note && !group_note_next(&at, note + length, name, &field, &n))
        return cli_error("the groups of the state file '%s' are not understood", s->state);
    bool same = note && s->group && strlen(s->group) == n && !memcmp(s->group, field, n);
    int code = EXIT_DONE;
    if (!same)
        code = cli_error("the state file '%s' was made with%s%.*s, not with%s%s; use the same "
                         "options or another state file",
                         s->state, note ? " --group " : "out --group", (int)n, field ? field : "",
                         s->group ? " --group " : "out", s->group ? s->group : "");
    free(field);
    return code;
}

/* The sketches of a snapshot, if they are what is asked for. */
static int take_saved(count_set *set, const count_settings *s, weir_snapshot *snapshot,
                      run_counts *counts) {
    size_t length;
    char difference[512], where[512];
    memset(set, 0, sizeof *set);
    count_set_take(snapshot, set, NULL);
    const char *note = weir_snapshot_note(snapshot, "run", &length);
    int code = EXIT_DONE;
    if (!count_set_any(set))
        code = cli_error("'%s' holds no sketches that 'weir count' has made",
                         s->at.url ? s->at.url : s->state);
    else if (note &&
             !run_note_keys_fit(&s->from, note, length, counts, difference, sizeof difference))
        code = cli_error("%s was made %s; use the same options or %s", place(s, where), difference,
                         another(s));
    if (code == EXIT_DONE) code = check_group(s, snapshot);
    if (code == EXIT_DONE) code = check_saved(s, set);
    return code == EXIT_DONE ? check_room(s, set) : code;
}

int count_set_load(count_set *set, const count_settings *s, count_totals *totals,
                   count_groups *groups) {
    weir_snapshot *snapshot;
    weir_error err;
    run_counts counts = {0};
    memset(set, 0, sizeof *set);
    if (weir_snapshot_read(&snapshot, s->state, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    int code = take_saved(set, s, snapshot, &counts);
    if (code == EXIT_DONE && groups) code = count_groups_take(groups, snapshot, count_set_any(set));
    *totals = (count_totals){counts.records, counts.missing, counts.bad, counts.unweighted};
    weir_snapshot_free(snapshot);
    return code;
}

/* --- on servers ------------------------------------------------------------------------- */

int count_set_pull(count_set *set, const count_settings *s) {
    weir_snapshot *snapshot;
    run_counts counts = {0};
    memset(set, 0, sizeof *set);
    int code = count_shelf_read(s->shelf, &snapshot);
    if (code != EXIT_DONE) return code;
    code = take_saved(set, s, snapshot, &counts);
    weir_snapshot_free(snapshot);
    return code;
}

/* --at adds sketches up: refuse those that cannot be merged. */
static int check_sums(const count_set *set) {
    count_set twin;
    weir_error err;
    int code = count_set_like(&twin, set);
    for (int i = 0; i < PARTS && code == EXIT_DONE; i++)
        if (set->part[i] && weir_sketch_merge(twin.part[i], set->part[i], &err) != WEIR_OK)
            code = cli_error("--at adds sketches up, and this one cannot be: %s", err.message);
    count_set_free(&twin);
    return code;
}

int count_set_offer(const count_set *set, const count_settings *s) {
    const weir_sketch *sketches[PARTS];
    const char *names[PARTS];
    size_t count = 0, length;
    const run_counts none = {0};
    int code = check_sums(set);
    if (code != EXIT_DONE) return code;
    char *note = run_note_keys("count", &s->from, &none, &length);
    if (!note) return cli_error("out of memory");
    for (int i = 0; i < PARTS; i++) {
        if (!set->part[i]) continue;
        sketches[count] = set->part[i];
        names[count++] = part_names[i];
    }
    code = count_shelf_make(s->shelf, sketches, names, count, note, length);
    free(note);
    return code;
}

int count_set_push(count_set *set, const count_settings *s) {
    for (int i = 0; i < PARTS; i++) {
        if (!set->part[i]) continue;
        int code = count_shelf_push(s->shelf, part_names[i], set->part[i]);
        if (code != EXIT_DONE) return code;
        weir_sketch_clear(set->part[i]);
    }
    return EXIT_DONE;
}
