/* cmd_merge.c - weir merge: join snapshots whose filters can be joined.
 *
 * The result knows every key that any of them knows. Only filters are joined:
 * the audit and the position of a run belong to one stream and are left out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "opts.h"
#include "report.h"
#include "run_note.h"
#include "state_lock.h"
#include "weir.h"

enum { MERGE_OUTPUT = 1, MERGE_QUIET };

static const opt_entry merge_table[] = {
    {MERGE_OUTPUT, "output", 'o', OPT_VALUE, "FILE", NULL, NULL, NULL, true,
     "Write the joined snapshot to FILE.",
     "It may be one of those that are joined: the file is replaced only when the new one is "
     "complete."},
    {MERGE_QUIET, "quiet", 'q', OPT_FLAG, NULL, NULL, NULL, NULL, true,
     "Do not say what was left out.", NULL},
    {0},
};

/* What is kept of a snapshot: its filter, and the snapshot for its note. */
typedef struct {
    const char *path;
    weir_snapshot *snapshot;
    weir_filter *filter;
} source;

static void close_source(source *from) {
    weir_filter_free(from->filter);
    weir_snapshot_free(from->snapshot);
}

/* Read a snapshot; *others tells whether it holds more than a filter. */
static int open_source(source *from, const char *path, bool *others) {
    weir_error err;
    *from = (source){.path = path};
    if (weir_snapshot_read(&from->snapshot, path, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    for (size_t i = 0; i < weir_snapshot_count(from->snapshot); i++) {
        weir_snapshot_part part;
        weir_snapshot_get_part(from->snapshot, i, &part);
        if (!strcmp(part.kind, "filter") && !from->filter)
            from->filter = weir_snapshot_take_filter(from->snapshot, part.name);
        else *others = true;
    }
    return from->filter ? EXIT_DONE : cli_error("'%s' holds no filter", path);
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

static int merge_into(source *into, const char *path, bool *others) {
    source from;
    weir_error err;
    int code = open_source(&from, path, others);
    if (code == EXIT_DONE) code = check_keys(into, &from);
    if (code == EXIT_DONE && weir_filter_merge(into->filter, from.filter, &err) != WEIR_OK)
        code = cli_error("'%s' and '%s': %s", into->path, path, err.message);
    close_source(&from);
    return code;
}

static int merge(const char *output, int count, char **paths) {
    state_lock lock;
    weir_error err;
    source into;
    bool others = false;
    int code = state_lock_take(&lock, output);
    if (code != EXIT_DONE) return code;
    code = open_source(&into, paths[0], &others);
    for (int i = 1; i < count && code == EXIT_DONE; i++)
        code = merge_into(&into, paths[i], &others);
    if (code == EXIT_DONE && weir_filter_save(into.filter, output, &err) != WEIR_OK)
        code = cli_error("%s", err.message);
    if (code == EXIT_DONE && others)
        cli_warn(
            "only filters were joined; audits, and how far a run had come, are left out of '%s'",
            output);
    close_source(&into);
    state_lock_drop(&lock);
    return code;
}

static int run_merge(int argc, char **argv) {
    opt_parser parser;
    const char *output = NULL;
    opt_init(&parser, &cmd_merge, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_merge, id);
        if (id == MERGE_OUTPUT) output = parser.value;
        if (id == MERGE_QUIET) cli_be_quiet();
    }
    if (!output) return cli_error("say where to write the result: weir merge -o OUT A B...");
    if (parser.operands < 2)
        return cli_error("at least two snapshots are needed: weir merge -o OUT A B...");
    return merge(output, parser.operands, argv);
}

static const opt_section merge_sections[] = {
    {"EXAMPLES", "Two machines kept what they saw, with the same seed; join what they know:\n"
                 "\n"
                 "    weir dedup --filter bloom --seed 7 --state a.weir a.log > a.out\n"
                 "    weir dedup --filter bloom --seed 7 --state b.weir b.log > b.out\n"
                 "    weir merge -o both.weir a.weir b.weir"},
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
        "Joins the filters of two or more snapshots. They must be of one kind with the same "
        "options and the same seed, and of a kind that can be merged; `weir help filters` says "
        "which. What does not fit is refused, with the reason.\n"
        "\n"
        "Snapshots made on different machines fit together only if `--seed` was given: "
        "otherwise each run draws a seed of its own.",
    .options = merge_table,
    .sections = merge_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-inspect(1)`, `weir-filters(7)`",
    .run = run_merge,
};
