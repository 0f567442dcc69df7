/* cmd_merge.c - weir merge: join snapshots whose filters or sketches can be joined.
 *
 * The result knows every key that any of them knows, and has counted what all of them
 * have. Sketches are joined by their names; where they are those of groups, one file may
 * have groups that another has not. Audits and the position of a run belong to one stream
 * and are left out; how keys were made stays.
 *
 * An address stands for the sketches on servers (count_shelf.h): as one of those that are joined
 * they are read; as the output, what is joined is added to them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count_shelf.h"
#include "group_note.h"
#include "opts.h"
#include "report.h"
#include "run_note.h"
#include "state_lock.h"
#include "values.h"
#include "weir.h"
#include "weir_pairs.h"

enum { MERGE_OUTPUT = 1, MERGE_QUIET };

static const opt_entry merge_table[] = {
    {MERGE_OUTPUT, "output", 'o', OPT_VALUE, "FILE", NULL, NULL, NULL, true,
     "Write the joined snapshot to FILE.",
     "It may be one of those that are joined: the file is replaced only when the new one is "
     "complete. An address, as `weir count --at` takes it: what is joined is added to the sketches "
     "there."},
    {MERGE_QUIET, "quiet", 'q', OPT_FLAG, NULL, NULL, NULL, NULL, true,
     "Do not say what was left out.", NULL},
    AT_ACCESS_ROWS,
    {0},
};

/* A loaded snapshot: its filter or its sketches, and the snapshot itself for its note. */
typedef struct {
    const char *path;
    weir_snapshot *snapshot;
    weir_filter *filter;
    weir_sketch **sketches;
    char **names;
    size_t sketch_count;
    char *groups; /* the note that names them, or NULL */
    size_t groups_length;
} source;

static void close_source(source *from) {
    weir_filter_free(from->filter);
    for (size_t i = 0; i < from->sketch_count; i++) {
        weir_sketch_free(from->sketches[i]);
        free(from->names[i]);
    }
    free(from->sketches);
    free(from->names);
    free(from->groups);
    weir_snapshot_free(from->snapshot);
}

/* Add a sketch, which is the source's from then on. */
static int add_sketch(source *to, weir_sketch *sketch, const char *name) {
    size_t n = to->sketch_count + 1;
    weir_sketch **sketches = realloc(to->sketches, n * sizeof(void *));
    if (sketches) to->sketches = sketches;
    char **names = realloc(to->names, n * sizeof *names);
    if (names) to->names = names;
    char *copy = strdup(name);
    if (!sketches || !names || !copy) {
        weir_sketch_free(sketch);
        free(copy);
        return cli_error("out of memory");
    }
    to->sketches[to->sketch_count] = sketch;
    to->names[to->sketch_count++] = copy;
    return EXIT_DONE;
}

static int take_groups(source *from) {
    const char *note = weir_snapshot_note(from->snapshot, GROUP_NOTE, &from->groups_length);
    if (!note) return EXIT_DONE;
    from->groups = malloc(from->groups_length + 1);
    if (!from->groups) return cli_error("out of memory");
    memcpy(from->groups, note, from->groups_length);
    return EXIT_DONE;
}

/* Take groups, filter and sketches out of the snapshot. */
static int take_all(source *from, bool *others) {
    int code = take_groups(from);
    for (size_t i = 0; i < weir_snapshot_count(from->snapshot) && code == EXIT_DONE; i++) {
        weir_snapshot_part part;
        weir_snapshot_get_part(from->snapshot, i, &part);
        if (!strcmp(part.kind, "filter") && !from->filter)
            from->filter = weir_snapshot_take_filter(from->snapshot, part.name);
        else if (!strcmp(part.kind, "sketch"))
            code =
                add_sketch(from, weir_snapshot_take_sketch(from->snapshot, part.name), part.name);
        else *others = true;
    }
    if (code != EXIT_DONE || from->filter || from->sketch_count) return code;
    weir_pairs *pairs = weir_snapshot_take_pairs(from->snapshot, "pairs");
    weir_pairs_free(pairs);
    if (pairs)
        return cli_error("'%s' holds a summary of pairs; `weir pairs self A B --save C` joins them",
                         from->path);
    return cli_error("'%s' holds no filter and no sketch", from->path);
}

static int read_servers(source *from, const at_settings *at) {
    count_shelf *shelf;
    int code = count_shelf_open(&shelf, from->path, at);
    if (code != EXIT_DONE) return code;
    if (!count_shelf_exists(shelf))
        code = cli_error("there are no sketches at '%s'; filters are joined by the runs that share "
                         "them, `weir dedup --at`",
                         from->path);
    if (code == EXIT_DONE) code = count_shelf_read(shelf, &from->snapshot);
    count_shelf_close(shelf);
    return code;
}

/* Read a snapshot; *others tells whether it holds more than what is joined. */
static int open_source(source *from, const char *path, const at_settings *at, bool *others) {
    weir_error err;
    int code = EXIT_DONE;
    *from = (source){.path = path};
    if (at_is_url(path)) code = read_servers(from, at);
    else if (weir_snapshot_read(&from->snapshot, path, &err) != WEIR_OK)
        code = cli_error("%s", err.message);
    return code == EXIT_DONE ? take_all(from, others) : code;
}

/* Keys that were made in different ways do not meet in one filter. */
static int check_keys(const source *a, const source *b) {
    size_t length_a = 0, length_b = 0;
    char difference[512];
    const char *note_a = weir_snapshot_note(a->snapshot, "run", &length_a);
    const char *note_b = weir_snapshot_note(b->snapshot, "run", &length_b);
    if (!note_a || !note_b ||
        run_notes_agree(note_a, length_a, note_b, length_b, difference, sizeof difference))
        return EXIT_DONE;
    return cli_error("'%s' and '%s' do not have the same keys: made with %s", a->path, b->path,
                     difference);
}

/* Add what the run of a source has counted. */
static void add_counts(run_counts *counts, const source *from) {
    size_t length;
    const char *note = weir_snapshot_note(from->snapshot, "run", &length);
    if (note) run_note_add_counts(note, length, counts);
}

/* Print why two states cannot be merged, and if their options differ, how to make them. */
static int cannot_merge(const source *into, const source *from, const weir_error *err) {
    return cli_error("'%s' and '%s': %s%s", into->path, from->path, err->message,
                     err->code == WEIR_ERR_MISMATCH
                         ? "; make both with the same options and the same --seed"
                         : "");
}

static int merge_filters(source *into, const source *from) {
    weir_error err;
    if (!into->filter && !from->filter) return EXIT_DONE;
    if (!into->filter || !from->filter)
        return cli_error("'%s' holds a filter and '%s' does not",
                         into->filter ? into->path : from->path,
                         into->filter ? from->path : into->path);
    if (weir_filter_merge(into->filter, from->filter, &err) == WEIR_OK) return EXIT_DONE;
    return cannot_merge(into, from, &err);
}

static weir_sketch *find_sketch(const source *from, const char *name) {
    for (size_t i = 0; i < from->sketch_count; i++)
        if (!strcmp(from->names[i], name)) return from->sketches[i];
    return NULL;
}

static int lacks(const source *a, const char *name, const source *b) {
    return cli_error("'%s' holds no sketch '%s', as '%s' does", a->path, name, b->path);
}

/* Groups that only the other has are taken over. */
static int merge_sketches(source *into, source *from) {
    weir_error err;
    bool grouped = into->groups && from->groups;
    for (size_t i = 0; i < into->sketch_count && !grouped; i++)
        if (!find_sketch(from, into->names[i])) return lacks(from, into->names[i], into);
    for (size_t i = 0; i < from->sketch_count; i++) {
        weir_sketch *own = find_sketch(into, from->names[i]);
        if (!own && !grouped) return lacks(into, from->names[i], from);
        if (!own) {
            weir_sketch *moved = from->sketches[i];
            from->sketches[i] = NULL;
            int code = add_sketch(into, moved, from->names[i]);
            if (code != EXIT_DONE) return code;
        } else if (weir_sketch_merge(own, from->sketches[i], &err) != WEIR_OK) {
            return cannot_merge(into, from, &err);
        }
    }
    return EXIT_DONE;
}

static int merge_groups(source *into, const source *from) {
    size_t length = 0;
    if (!into->groups && !from->groups) return EXIT_DONE;
    char *joined = NULL;
    if (into->groups && from->groups)
        joined = group_notes_join(into->groups, into->groups_length, from->groups,
                                  from->groups_length, &length);
    if (!joined)
        return cli_error("'%s' and '%s' do not have groups of the same field", into->path,
                         from->path);
    free(into->groups);
    into->groups = joined;
    into->groups_length = length;
    return EXIT_DONE;
}

static int merge_into(source *into, const char *path, const at_settings *at, run_counts *counts,
                      bool *others) {
    source from;
    int code = open_source(&from, path, at, others);
    if (code == EXIT_DONE) code = check_keys(into, &from);
    if (code == EXIT_DONE) code = merge_filters(into, &from);
    if (code == EXIT_DONE) code = merge_groups(into, &from);
    if (code == EXIT_DONE) code = merge_sketches(into, &from);
    if (code == EXIT_DONE) add_counts(counts, &from);
    close_source(&from);
    return code;
}

static weir_status put_all(weir_snapshot *snapshot, const source *joined, const char *note,
                           size_t length, weir_error *err) {
    weir_status status = WEIR_OK;
    if (joined->filter) status = weir_snapshot_put_filter(snapshot, "filter", joined->filter, err);
    for (size_t i = 0; i < joined->sketch_count && status == WEIR_OK; i++)
        status = weir_snapshot_put_sketch(snapshot, joined->names[i], joined->sketches[i], err);
    if (status == WEIR_OK && note)
        status = weir_snapshot_put_note(snapshot, "run", note, length, err);
    if (status == WEIR_OK && joined->groups)
        status = weir_snapshot_put_note(snapshot, GROUP_NOTE, joined->groups, joined->groups_length,
                                        err);
    return status;
}

static int write_joined(const source *joined, const run_counts *counts, const char *output) {
    weir_snapshot *snapshot;
    weir_error err;
    size_t length = 0, old_length;
    char *note = NULL;
    const char *old = weir_snapshot_note(joined->snapshot, "run", &old_length);
    if (old) {
        note = joined->sketch_count ? run_note_joined(old, old_length, counts, &length)
                                    : run_note_only_keys(old, old_length, &length);
        if (!note) return cli_error("out of memory");
    }
    weir_status status = weir_snapshot_new(&snapshot, &err);
    if (status == WEIR_OK) status = put_all(snapshot, joined, note, length, &err);
    if (status == WEIR_OK) status = weir_snapshot_write(snapshot, output, &err);
    weir_snapshot_free(snapshot);
    free(note);
    return status == WEIR_OK ? EXIT_DONE : cli_error("%s", err.message);
}

/* Read them all, each added to the first. */
static int join(source *into, int count, char **paths, const at_settings *at, run_counts *counts,
                bool *others) {
    int code = open_source(into, paths[0], at, others);
    if (code == EXIT_DONE) add_counts(counts, into);
    for (int i = 1; i < count && code == EXIT_DONE; i++)
        code = merge_into(into, paths[i], at, counts, others);
    return code;
}

static int to_file(const char *output, int count, char **paths, const at_settings *at) {
    state_lock lock;
    source into = {0};
    run_counts counts = {0};
    bool others = false;
    int code = state_lock_take(&lock, output);
    if (code != EXIT_DONE) return code;
    code = join(&into, count, paths, at, &counts, &others);
    if (code == EXIT_DONE) code = write_joined(&into, &counts, output);
    if (code == EXIT_DONE && others && !into.sketch_count)
        cli_warn(
            "only filters were joined; audits, and how far a run had come, are left out of '%s'",
            output);
    close_source(&into);
    state_lock_drop(&lock);
    return code;
}

/* --- to servers ------------------------------------------------------------------------ */

/* What is there must have the same keys, and the same sketches; tried here, before anything is
 * pushed. */
static int check_there(count_shelf *shelf, const source *joined, const char *output) {
    source there = {.path = output};
    weir_error err;
    int code = count_shelf_read(shelf, &there.snapshot);
    bool others;
    if (code == EXIT_DONE) code = take_all(&there, &others);
    if (code == EXIT_DONE) code = check_keys(joined, &there);
    for (size_t i = 0; i < joined->sketch_count && code == EXIT_DONE; i++) {
        weir_sketch *own = find_sketch(&there, joined->names[i]);
        if (!own) code = lacks(&there, joined->names[i], joined);
        else if (weir_sketch_merge(own, joined->sketches[i], &err) != WEIR_OK)
            code = cannot_merge(joined, &there, &err);
    }
    close_source(&there);
    return code;
}

static int make_there(count_shelf *shelf, const source *joined) {
    size_t length = 0, old_length;
    const run_counts none = {0};
    char *note = NULL;
    const char *old = weir_snapshot_note(joined->snapshot, "run", &old_length);
    if (old && !(note = run_note_joined(old, old_length, &none, &length)))
        return cli_error("out of memory");
    int code =
        count_shelf_make(shelf, (const weir_sketch *const *)joined->sketches,
                         (const char *const *)joined->names, joined->sketch_count, note, length);
    free(note);
    return code;
}

static int push(count_shelf *shelf, const source *joined, const char *output) {
    int code = EXIT_DONE;
    if (joined->groups)
        return cli_error("'%s' has groups, which do not go to servers", joined->path);
    if (!joined->sketch_count)
        return cli_error("'%s' holds a filter; filters go to servers by `weir dedup --at`",
                         joined->path);
    if (!count_shelf_exists(shelf)) code = make_there(shelf, joined);
    if (code == EXIT_DONE) code = check_there(shelf, joined, output);
    for (size_t i = 0; i < joined->sketch_count && code == EXIT_DONE; i++)
        code = count_shelf_push(shelf, joined->names[i], joined->sketches[i]);
    return code;
}

static int to_servers(const char *output, int count, char **paths, const at_settings *at) {
    count_shelf *shelf;
    source into = {0};
    run_counts counts = {0};
    bool others = false;
    for (int i = 0; i < count; i++)
        if (!strcmp(paths[i], output))
            return cli_error(
                "'%s' is one of those that are joined: what is there would be added to "
                "itself",
                output);
    int code = join(&into, count, paths, at, &counts, &others);
    if (code == EXIT_DONE && (code = count_shelf_open(&shelf, output, at)) == EXIT_DONE) {
        code = push(shelf, &into, output);
        count_shelf_close(shelf);
    }
    close_source(&into);
    return code;
}

static int run_merge(int argc, char **argv) {
    opt_parser parser;
    const char *output = NULL;
    at_settings at = {0};
    opt_init(&parser, &cmd_merge, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_merge, id);
        if (id == MERGE_OUTPUT) output = value_path(parser.value);
        if (id == MERGE_QUIET) cli_be_quiet();
        if (at_option(&at, id, parser.value) != EXIT_DONE) return EXIT_TROUBLE;
    }
    if (!output) return cli_error("say where to write the result: weir merge -o OUT A B...");
    bool alone = parser.operands == 1 && (at_is_url(output) || at_is_url(argv[0]));
    if (parser.operands < 2 && !alone)
        return cli_error("at least two snapshots are needed: weir merge -o OUT A B...");
    return (at_is_url(output) ? to_servers : to_file)(output, parser.operands, argv, &at);
}

static const opt_section merge_sections[] = {
    {"EXAMPLES", "Two machines kept what they saw, with the same seed; join what they know:\n"
                 "\n"
                 "    weir dedup --filter bloom --seed 7 --state a.weir a.log > a.out\n"
                 "    weir dedup --filter bloom --seed 7 --state b.weir b.log > b.out\n"
                 "    weir merge -o both.weir a.weir b.weir"},
    {"SKETCHES",
     "The snapshots of `weir count --state` hold sketches: each is added to the one of "
     "the same name, and the result has counted what all of them have.\n"
     "\n"
     "    weir count --seed 7 --state one.weir a.log\n"
     "    weir count --seed 7 --state two.weir b.log\n"
     "    weir merge -o sum.weir one.weir two.weir\n"
     "    weir count --state sum.weir /dev/null\n"
     "\n"
     "With an address in place of a file they are on servers, where `weir count --at` adds "
     "to them: as the output, what is joined is added to what is there; one of those "
     "that are joined is read.\n"
     "\n"
     "    weir merge -o redis://h/words one.weir two.weir\n"
     "    weir merge -o sum.weir redis://h/words\n"
     "\n"
     "Those of `--group` are added group by group; a group that only some of them have "
     "stays as it is."},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 2\nTrouble: one line on standard error says what, and FILE is as it was."},
    {0},
};

const opt_command cmd_merge = {
    .name = "merge",
    .operands = "-o FILE SNAPSHOT SNAPSHOT...",
    .operand_glob = "*.weir",
    .summary = "join snapshots into one that knows what all of them know",
    .description =
        "Joins the filters or sketches of two or more snapshots. They must be of one kind with the "
        "same "
        "options and the same seed, and of a kind that can be merged; `weir help filters` says "
        "which. What does not fit is refused, with the reason.\n"
        "\n"
        "Snapshots made on different machines fit together only if `--seed` was given: "
        "otherwise each run draws a seed of its own.",
    .options = merge_table,
    .sections = merge_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-count(1)`, `weir-inspect(1)`, `weir-filters(7)`",
    .run = run_merge,
};
