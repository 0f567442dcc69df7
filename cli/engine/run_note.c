/* run_note.c - how far a run has come, kept beside the filter in the state file.
 *
 * The note is text (note_lines.h).
 *
 * It holds three kinds of things: options that decide what a key is (a filter
 * that knows keys by their user column is of no use to a run that looks at
 * URLs); options that decide what the output is (they must be the same to
 * continue a run, and only then); and the place that was reached.
 *
 * Which files these were, and how far each was read, is the business of run_files.c.
 */
#include "run_note.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "note_lines.h"

enum { NOTE_VERSION = 2, VALUE_MOST = 4096 };

/* --- the options that must be the same ---------------------------------------------- */

typedef struct {
    const char *name; /* in the note, and with two dashes in messages */
    bool of_key;      /* decides what a key is, or when */
    char value[VALUE_MOST];
} noted_option;

enum { NOTED = 26 };

static void note_option(noted_option *list, size_t *count, const char *name, bool of_key,
                        const char *value) {
    noted_option *o = &list[(*count)++];
    o->name = name;
    o->of_key = of_key;
    snprintf(o->value, sizeof o->value, "%s", value ? value : "");
}

static const char *yes_no(bool value) { return value ? "yes" : "no"; }

static const char *const actions[] = {"pass", "drop", "fail"};
static const char *const lates[] = {"pass", "drop", "pass", "judge"};
static const char *const emits[] = {"new", "seen", "all", "verdicts"}; /* those with a state */
static const char *const forms[] = {
    [STREAM_BYTES] = "", [STREAM_NFC] = "nfc", [STREAM_NFKC] = "nfkc"};
static const char *const compressions[] = {"none", "gzip", "zstd"};

static size_t list_options(const dedup_settings *s, noted_option list[NOTED]) {
    size_t n = 0;
    char skip[32], late[32];
    snprintf(skip, sizeof skip, "%zu", s->from.in.key_skip_prefix);
    snprintf(late, sizeof late, "%" PRId64 "ns", s->lateness);
    note_option(list, &n, "format", true, s->from.format);
    note_option(list, &n, "key", true, s->from.in.key);
    note_option(list, &n, "delimiter", true, s->from.in.delimiter);
    note_option(list, &n, "normalize", true, forms[s->from.in.normalize]);
    note_option(list, &n, "key-skip-prefix", true, skip);
    note_option(list, &n, "ignore-case", true, yes_no(s->from.in.ignore_case));
    note_option(list, &n, "trim", true, yes_no(s->from.in.trim));
    note_option(list, &n, "null", true, yes_no(s->from.in.terminator == 0));
    note_option(list, &n, "header", false, yes_no(s->from.in.header));
    note_option(list, &n, "time", true, s->from.in.time_field);
    note_option(list, &n, "time-format", false, s->from.in.time_format);
    note_option(list, &n, "importance", false, s->from.in.number_field);
    note_option(list, &n, "producer", false, s->from.in.label_field);
    note_option(list, &n, "lateness", false, s->lateness < 0 ? "" : late);
    note_option(list, &n, "on-late", false, lates[s->on_late]);
    note_option(list, &n, "on-missing", false, actions[s->from.on_missing]);
    note_option(list, &n, "on-bad", false, actions[s->from.on_bad]);
    note_option(list, &n, "emit", false, emits[s->emit]);
    note_option(list, &n, "compress", false, compressions[s->compression]);
    note_option(list, &n, "output", false, s->output);
    note_option(list, &n, "from", false, s->source);
    note_option(list, &n, "to", false, s->sink);
    return n;
}

/* --- writing -------------------------------------------------------------------------- */

static void put_text(FILE *out, const char *name, const char *value) {
    note_put(out, name, value, strlen(value));
}

static void put_number(FILE *out, const char *name, uint64_t value) {
    fprintf(out, "%s=%" PRIu64 "\n", name, value);
}

/* Names of counters, the same for writing and reading. */
#define COUNTERS(X)                                                                                \
    X(records) X(new_records) X(seen) X(missing) X(unweighted) X(bad) X(late) X(passed) X(bytes_in)

static void put_counts(FILE *out, const run_counts *counts) {
#define PUT(name) put_number(out, #name, counts->name);
    COUNTERS(PUT)
#undef PUT
}

static void put_point(FILE *out, const run_point *point) {
    put_text(out, "complete", yes_no(point->complete));
    put_text(out, "resumable", yes_no(point->resumable));
    put_counts(out, &point->counts);
    if (point->newest != INT64_MIN) fprintf(out, "newest=%" PRId64 "\n", point->newest);
    if (!point->resumable) return;
    put_number(out, "output.offset", point->mark.offset);
    put_text(out, "output.open", yes_no(point->mark.open_end));
    fputs("output.end=", out);
    for (int i = 0; i < point->mark.terminator_length; i++)
        fprintf(out, "%02x", (unsigned char)point->mark.terminator[i]);
    fputc('\n', out);
}

/* For each file: size, device, inode, hashes, its path; bytes and records done and how it ended;
 * its name in the list if it was renamed. */
static void put_file(FILE *out, size_t i, const run_file *f) {
    char name[32], value[2 * VALUE_MOST];
    snprintf(name, sizeof name, "file.%zu", i);
    snprintf(value, sizeof value,
             "%" PRIu64 " %" PRIx64 ":%" PRIu64 " %016" PRIx64 " %016" PRIx64 " %s", f->size,
             f->device, f->inode, f->head, f->tail, f->path);
    put_text(out, name, value);
    fprintf(out, "done.%zu=%" PRIu64 " %" PRIu64 " %s%s\n", i, f->offset, f->record,
            f->ended ? "ended" : "begun", f->open_end ? " open" : "");
    if (!f->name) return;
    snprintf(name, sizeof name, "name.%zu", i);
    put_text(out, name, f->name);
}

char *run_note_write(const dedup_settings *settings, const run_files *files, const run_point *point,
                     size_t *length) {
    char *text = NULL;
    noted_option *list = calloc(NOTED, sizeof *list);
    FILE *out = list ? open_memstream(&text, length) : NULL;
    if (!out) {
        free(list);
        return NULL;
    }
    put_number(out, "note", NOTE_VERSION);
    put_text(out, "command", "dedup");
    put_text(out, "version", weir_version());
    put_point(out, point);
    size_t count = list_options(settings, list);
    for (size_t i = 0; i < count; i++) put_text(out, list[i].name, list[i].value);
    free(list);
    put_number(out, "files", files->count);
    for (size_t i = 0; i < files->count; i++) put_file(out, i, &files->list[i]);
    if (fclose(out)) {
        free(text);
        return NULL;
    }
    return text;
}

char *run_note_keys(const char *command, const reading *from, const run_counts *counts,
                    size_t *length) {
    char *text = NULL;
    const dedup_settings keys = {.from = *from, .lateness = -1};
    noted_option *list = calloc(NOTED, sizeof *list);
    FILE *out = list ? open_memstream(&text, length) : NULL;
    size_t count = out ? list_options(&keys, list) : 0;
    if (out) {
        put_number(out, "note", NOTE_VERSION);
        put_text(out, "command", command);
        put_text(out, "version", weir_version());
        put_counts(out, counts);
        put_text(out, "weight", from->in.number_field ? from->in.number_field : "");
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].of_key) put_text(out, list[i].name, list[i].value);
    free(list);
    if (!out || !fclose(out)) return text;
    free(text);
    return NULL;
}

/* --- reading -------------------------------------------------------------------------- */

typedef struct {
    const char *text, *end;
} note_text;

static bool get_text(const note_text *note, const char *name, char *value, size_t size) {
    note_line line;
    return note_find(note->text, (size_t)(note->end - note->text), name, &line) &&
           note_value(&line, value, size, NULL);
}

static uint64_t get_number(const note_text *note, const char *name) {
    char value[32];
    return get_text(note, name, value, sizeof value) ? strtoull(value, NULL, 10) : 0;
}

static bool get_flag(const note_text *note, const char *name) {
    char value[8];
    return get_text(note, name, value, sizeof value) && !strcmp(value, "yes");
}

static void get_counts(const note_text *note, run_counts *counts) {
#define GET(name) counts->name = get_number(note, #name);
    COUNTERS(GET)
#undef GET
}

static void get_point(const note_text *note, run_point *point) {
    char value[64];
    *point = (run_point){.newest = INT64_MIN};
    point->complete = get_flag(note, "complete");
    point->resumable = get_flag(note, "resumable");
    get_counts(note, &point->counts);
    if (get_text(note, "newest", value, sizeof value)) point->newest = strtoll(value, NULL, 10);
    point->mark.offset = get_number(note, "output.offset");
    point->mark.open_end = get_flag(note, "output.open");
    if (!get_text(note, "output.end", value, sizeof value)) return;
    for (size_t i = 0; i < 2 && strlen(value) >= 2 * i + 2; i++) {
        unsigned code;
        if (sscanf(value + 2 * i, "%2x", &code) != 1) return;
        point->mark.terminator[i] = (char)code;
        point->mark.terminator_length = (uint8_t)(i + 1);
    }
}

/* --- comparing ------------------------------------------------------------------------ */

/* Describe a difference: "made with --key 2, not --key 5". */
static void describe(const noted_option *now, const char *then, char *out, size_t size) {
    const char *absent[] = {"", "no", "0", "none", "pass", NULL};
    bool without_then = false, without_now = false;
    for (size_t i = 0; absent[i]; i++) {
        without_then |= !strcmp(then, absent[i]);
        without_now |= !strcmp(now->value, absent[i]);
    }
    if (!strcmp(now->value, "yes") || !strcmp(then, "yes"))
        snprintf(out, size, "%s --%s", without_then ? "without" : "with", now->name);
    else if (without_then) snprintf(out, size, "without --%s %.200s", now->name, now->value);
    else if (without_now) snprintf(out, size, "with --%s %.200s", now->name, then);
    else snprintf(out, size, "with --%s %.200s, not %.200s", now->name, then, now->value);
}

/* The first option that differs, those of the key or all of them. */
static bool options_fit(const dedup_settings *settings, const note_text *note, bool all,
                        char *difference, size_t size) {
    noted_option *list = calloc(NOTED, sizeof *list);
    char *then = malloc(VALUE_MOST);
    bool fit = list && then;
    if (!fit) snprintf(difference, size, "more than there is memory for");
    size_t count = fit ? list_options(settings, list) : 0;
    for (size_t i = 0; i < count && fit; i++) {
        if (!all && !list[i].of_key) continue;
        if (!get_text(note, list[i].name, then, VALUE_MOST)) continue;
        if (!strcmp(then, list[i].value)) continue;
        describe(&list[i], then, difference, size);
        fit = false;
    }
    free(list);
    free(then);
    return fit;
}

static bool get_file(const note_text *note, size_t i, run_file *file) {
    char name[32], text[VALUE_MOST], how[8] = "", open[8] = "";
    int skip = 0;
    *file = (run_file){0};
    snprintf(name, sizeof name, "file.%zu", i);
    if (!get_text(note, name, text, sizeof text) ||
        sscanf(text, "%" SCNu64 " %" SCNx64 ":%" SCNu64 " %" SCNx64 " %" SCNx64 " %n", &file->size,
               &file->device, &file->inode, &file->head, &file->tail, &skip) != 5 ||
        !skip || !(file->path = strdup(text + skip)))
        return false;
    snprintf(name, sizeof name, "done.%zu", i);
    if (!get_text(note, name, text, sizeof text) ||
        sscanf(text, "%" SCNu64 " %" SCNu64 " %7s %7s", &file->offset, &file->record, how, open) <
            3)
        return false;
    file->ended = !strcmp(how, "ended");
    file->open_end = !strcmp(open, "open");
    snprintf(name, sizeof name, "name.%zu", i);
    return !get_text(note, name, text, sizeof text) || (file->name = strdup(text));
}

static bool get_files(const note_text *note, run_files *files) {
    size_t count = get_number(note, "files");
    bool fine = count < SIZE_MAX / sizeof *files->list;
    *files = (run_files){.list = fine ? calloc(count + 1, sizeof *files->list) : NULL};
    for (size_t i = 0; files->list && fine && i < count; i++, files->count++)
        fine = get_file(note, i, &files->list[i]);
    return fine && files->list;
}

static bool files_fit(run_files *files, const weir_filter *filter, const note_text *note,
                      char *difference, size_t size) {
    run_files then;
    bool fit = get_files(note, &then);
    if (!fit) snprintf(difference, size, "its note is not understood");
    fit = fit && run_files_continue(files, &then, filter, difference, size);
    run_files_release(&then);
    return fit;
}

static note_verdict refuse_interrupted(const dedup_settings *s, const run_point *point) {
    cli_error("the run that wrote the state file '%s' was stopped after %" PRIu64
              " records; add --resume to finish it, or remove the file to start over",
              s->state, point->counts.records);
    return NOTE_REFUSED;
}

note_verdict run_note_judge(const dedup_settings *s, const weir_filter *filter, const char *text,
                            size_t length, run_point *point, run_files *files) {
    note_text note = {text, text + length};
    char difference[640];
    run_point then;
    if (get_number(&note, "note") > NOTE_VERSION) {
        cli_error("the state file '%s' was written by a newer weir; use that one", s->state);
        return NOTE_REFUSED;
    }
    if (!options_fit(s, &note, false, difference, sizeof difference)) {
        cli_error("the state file '%s' was made %s; use the same options or another state file",
                  s->state, difference);
        return NOTE_REFUSED;
    }
    get_point(&note, &then);
    point->newest = then.newest; /* time does not run backwards from one run to the next */
    if (!then.resumable) return NOTE_FRESH;
    if (!s->resume) return then.complete ? NOTE_FRESH : refuse_interrupted(s, &then);
    /* A finished run is continued too, with what was added to its input; another run
     * would empty its output. */
    if (!options_fit(s, &note, true, difference, sizeof difference)) {
        cli_error("cannot resume: the run that wrote '%s' was made %s", s->state, difference);
        return NOTE_REFUSED;
    }
    if (!s->source && !files_fit(files, filter, &note, difference, sizeof difference)) {
        cli_error("cannot resume the run that wrote '%s': %s", s->state, difference);
        return NOTE_REFUSED;
    }
    *point = then;
    return NOTE_CONTINUE;
}

bool run_notes_agree(const char *a, size_t length_a, const char *b, size_t length_b,
                     char *difference, size_t size) {
    note_text notes[2] = {{a, a + length_a}, {b, b + length_b}};
    const dedup_settings none = {.from.format = ""};
    noted_option *list = calloc(NOTED, sizeof *list);
    char *values = malloc(2 * VALUE_MOST);
    bool agree = list && values;
    if (!agree) snprintf(difference, size, "more than there is memory for");
    size_t count = agree ? list_options(&none, list) : 0;
    for (size_t i = 0; i < count && agree; i++) {
        char *of_a = values, *of_b = values + VALUE_MOST;
        if (!list[i].of_key || !get_text(&notes[0], list[i].name, of_a, VALUE_MOST) ||
            !get_text(&notes[1], list[i].name, of_b, VALUE_MOST) || !strcmp(of_a, of_b))
            continue;
        snprintf(difference, size, "--%s '%.200s' and '%.200s'", list[i].name, of_a, of_b);
        agree = false;
    }
    free(list);
    free(values);
    return agree;
}

bool run_note_keys_fit(const reading *from, const char *text, size_t length, run_counts *counts,
                       char *difference, size_t size) {
    const note_text note = {text, text + length};
    const dedup_settings keys = {.from = *from, .lateness = -1};
    noted_option weight = {.name = "weight"};
    char then[sizeof weight.value];
    if (from->in.number_field)
        snprintf(weight.value, sizeof weight.value, "%s", from->in.number_field);
    get_counts(&note, counts);
    if (!options_fit(&keys, &note, false, difference, size)) return false;
    if (!get_text(&note, "weight", then, sizeof then) || !strcmp(then, weight.value)) return true;
    describe(&weight, then, difference, size);
    return false;
}

char *run_note_only_keys(const char *text, size_t length, size_t *new_length) {
    const note_text note = {text, text + length};
    const dedup_settings none = {.from.format = ""};
    char *kept = NULL, *value = malloc(VALUE_MOST);
    noted_option *list = calloc(NOTED, sizeof *list);
    FILE *out = list && value ? open_memstream(&kept, new_length) : NULL;
    size_t count = out ? list_options(&none, list) : 0;
    if (out) {
        put_number(out, "note", NOTE_VERSION);
        put_text(out, "command", "merge");
        put_text(out, "version", weir_version());
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].of_key && get_text(&note, list[i].name, value, VALUE_MOST))
            put_text(out, list[i].name, value);
    free(list);
    free(value);
    if (!out || !fclose(out)) return kept;
    free(kept);
    return NULL;
}

void run_note_add_counts(const char *text, size_t length, run_counts *counts) {
    const note_text note = {text, text + length};
    run_counts own;
    get_counts(&note, &own);
#define ADD(name) counts->name += own.name;
    COUNTERS(ADD)
#undef ADD
}

static bool is_counter(const note_line *line) {
#define MATCH(counter)                                                                             \
    if (line->name_length == sizeof #counter - 1 &&                                                \
        !memcmp(line->name, #counter, sizeof #counter - 1))                                        \
        return true;
    COUNTERS(MATCH)
#undef MATCH
    return false;
}

char *run_note_joined(const char *text, size_t length, const run_counts *counts,
                      size_t *new_length) {
    char *joined = NULL;
    FILE *out = open_memstream(&joined, new_length);
    if (!out) return NULL;
    note_line line;
    for (const char *at = text, *next; (next = note_next(at, text + length, &line)); at = next)
        if (!is_counter(&line)) fwrite(at, 1, (size_t)(next - at), out);
    put_counts(out, counts);
    if (!fclose(out)) return joined;
    free(joined);
    return NULL;
}
