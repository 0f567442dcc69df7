/* cmd_inspect.c - weir inspect: what a snapshot holds.
 *
 * Reads the whole file as a run would, so what it prints has been checked.
 * Notes that are text of the form `name=value`, one a line, are shown by name
 * and value; other notes only by their length.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "cli.h"
#include "count_shelf.h"
#include "note_lines.h"
#include "opts.h"
#include "report.h"
#include "site_picture.h"
#include "spec_text.h"
#include "weir.h"
#include "weir_pairs.h"
#include "weir_sketch.h"
#include "weir_text.h"

enum { INSPECT_JSON = 1 };

static const opt_entry inspect_table[] = {
    {INSPECT_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, NULL, true,
     "Print one JSON object instead of text.", NULL},
    AT_ACCESS_ROWS,
    {0},
};

/* --- notes ----------------------------------------------------------------------- */

static bool is_text(const char *note, size_t length) {
    const char *at = note, *end = note + length;
    note_line line;
    for (const char *next; (next = note_next(at, end, &line)) && line.value;) at = next;
    return length && at == end && !memchr(note, 0, length);
}

static void note_text(const char *note, size_t length) {
    const char *end = note + length;
    note_line line;
    if (!is_text(note, length)) {
        printf("  %zu bytes\n", length);
        return;
    }
    for (const char *at = note; (at = note_next(at, end, &line));)
        if (line.value_length)
            printf("  %-15.*s %.*s\n", (int)line.name_length, line.name, (int)line.value_length,
                   line.value);
}

static void note_json(json_out *j, const char *note, size_t length) {
    const char *end = note + length;
    note_line line;
    if (!is_text(note, length)) return;
    json_open(j, "values", '{');
    for (const char *at = note; (at = note_next(at, end, &line));) {
        char *name = strndup(line.name, line.name_length);
        json_bytes(j, name ? name : "", line.value, line.value_length);
        free(name);
    }
    json_close(j, '}');
}

/* --- filters --------------------------------------------------------------------- */

static void detail_text(void *context, const char *name, const char *value, const char *meaning) {
    (void)context;
    printf("  %-15s %-15s %s\n", name, value, meaning);
}

static void filter_text(const weir_filter *filter) {
    weir_filter_info info;
    weir_filter_get_info(filter, &info);
    char a[32], b[32];
    report_spec_line(stdout, "  spec            ", filter);
    printf("  %-15s %llu\n", "offered", (unsigned long long)info.offered);
    printf("  %-15s %llu (%.2f%%)\n", "seen", (unsigned long long)info.seen,
           info.offered ? 100.0 * (double)info.seen / (double)info.offered : 0);
    printf("  %-15s %s, %.1f%% full%s\n", "memory", weir_print_size(a, info.memory),
           100 * info.fill, report_fullness(&info));
    printf("  %-15s at most %s%s; by the fill %s now\n", "false pos.",
           weir_print_rate(a, info.fpr_bound), info.fpr_implied ? " by its settings" : "",
           weir_print_rate(b, info.fpr_now));
    weir_filter_details(filter, detail_text, NULL);
    sites_text(filter);
}

static void detail_json(void *context, const char *name, const char *value, const char *meaning) {
    json_out *j = context;
    json_open(j, name, '{');
    json_text(j, "value", value);
    json_text(j, "meaning", meaning);
    json_close(j, '}');
}

/* A seed as a person gives it. */
static void seed_json(json_out *j, uint64_t seed) {
    json_print(j, "seed", "\"0x%016" PRIx64 "\"", seed);
}

static void filter_json(json_out *j, const weir_filter *filter) {
    weir_filter_info info;
    weir_filter_get_info(filter, &info);
    char *spec = report_spec(filter);
    json_text(j, "spec", spec ? spec : info.name);
    free(spec);
    json_text(j, "filter", info.name);
    seed_json(j, info.seed);
    json_count(j, "offered", info.offered);
    json_count(j, "seen", info.seen);
    json_count(j, "memory", info.memory);
    json_number(j, "fill", info.fill);
    json_number(j, "fpr_bound", info.fpr_bound);
    json_flag(j, "fpr_implied", info.fpr_implied);
    json_number(j, "fpr_now", info.fpr_now);
    json_flag(j, "overfull", info.overfull);
    json_open(j, "details", '{');
    weir_filter_details(filter, detail_json, j);
    json_close(j, '}');
    sites_json(j, filter);
}

/* --- sketches -------------------------------------------------------------------- */

static void sketch_text(const weir_sketch *sketch) {
    weir_sketch_info info;
    char a[32];
    weir_sketch_get_info(sketch, &info);
    char *spec = report_sketch_spec(sketch);
    printf("  %-15s %s\n", "spec", spec ? spec : info.name);
    free(spec);
    printf("  %-15s %llu\n", "updates", (unsigned long long)info.updates);
    printf("  %-15s %.15g\n", "total", info.total);
    printf("  %-15s %s%s\n", "memory", weir_print_size(a, info.memory),
           info.overfull ? ", overfull" : "");
    if (info.error > 0)
        printf("  %-15s %.4g%% with a confidence of %.4g%%\n", "error", 100 * info.error,
               100 * info.confidence);
    weir_sketch_details(sketch, detail_text, NULL);
}

static void sketch_json(json_out *j, const weir_sketch *sketch) {
    weir_sketch_info info;
    weir_sketch_get_info(sketch, &info);
    char *spec = report_sketch_spec(sketch);
    json_text(j, "spec", spec ? spec : info.name);
    free(spec);
    json_text(j, "sketch", info.name);
    seed_json(j, info.seed);
    json_count(j, "updates", info.updates);
    json_count(j, "memory", info.memory);
    json_number(j, "total", info.total);
    json_number(j, "error", info.error);
    json_number(j, "confidence", info.confidence);
    json_flag(j, "overfull", info.overfull);
    json_open(j, "details", '{');
    weir_sketch_details(sketch, detail_json, j);
    json_close(j, '}');
}

/* --- summaries of pairs ------------------------------------------------------------ */

static void pairs_text(const weir_pairs *pairs) {
    weir_pairs_info info;
    char spec[SPEC_SIZE], pretty[SPEC_SIZE], a[32], b[32];
    weir_pairs_get_info(pairs, &info);
    weir_pairs_spec(pairs, spec, sizeof spec);
    weir_spec_pretty(spec, pretty, sizeof pretty);
    printf("  %-15s %s\n", "spec", pretty);
    printf("  %-15s %llu\n", "records", (unsigned long long)info.records);
    printf("  %-15s pairs that agree in %u or more of %u values\n", "counts", info.threshold,
           info.columns);
    printf("  %-15s %llu for each record%s%s\n", "super-values",
           (unsigned long long)info.per_record,
           info.sample < 1 ? ", a sample of " : ", all of them",
           info.sample < 1 ? weir_print_rate(b, info.sample) : "");
    if (info.online)
        printf("  %-15s online: sketches of %llu counters in %u rows\n", "method",
               (unsigned long long)info.width, info.depth);
    else printf("  %-15s offline: all super-values are kept\n", "method");
    if (info.repeats > 1) printf("  %-15s median of %u\n", "repeats", info.repeats);
    printf("  %-15s %llu records kept whole, for the interval\n", "witnesses",
           (unsigned long long)info.witnesses);
    printf("  %-15s %s%s\n", "memory", report_size(a, info.memory),
           info.online ? "" : " at most, and what does not fit on disk");
}

static void pairs_json(json_out *j, const weir_pairs *pairs) {
    weir_pairs_info info;
    char spec[SPEC_SIZE];
    weir_pairs_get_info(pairs, &info);
    weir_pairs_spec(pairs, spec, sizeof spec);
    json_text(j, "spec", spec);
    json_text(j, "method", info.online ? "online" : "offline");
    seed_json(j, info.seed);
    json_count(j, "records", info.records);
    json_count(j, "columns", info.columns);
    json_count(j, "threshold", info.threshold);
    json_number(j, "sample", info.sample);
    json_count(j, "per_record", info.per_record);
    json_count(j, "repeats", info.repeats);
    json_count(j, "witnesses", info.witnesses);
    json_count(j, "width", info.width);
    json_count(j, "depth", info.depth);
    json_count(j, "memory", info.memory);
}

/* --- parts ------------------------------------------------------------------------- */

/* j: NULL for text. */
static void show_part(weir_snapshot *snapshot, const weir_snapshot_part *part, json_out *j) {
    if (!strcmp(part->kind, "filter")) {
        weir_filter *filter = weir_snapshot_take_filter(snapshot, part->name);
        if (filter && j) filter_json(j, filter);
        if (filter && !j) filter_text(filter);
        weir_filter_free(filter);
    } else if (!strcmp(part->kind, "audit")) {
        weir_audit *audit = weir_snapshot_take_audit(snapshot, part->name);
        if (audit && j) report_audit_json(j, "report", audit);
        if (audit && !j) fputs("  ", stdout), report_audit_line(stdout, audit), putchar('\n');
        weir_audit_free(audit);
    } else if (!strcmp(part->kind, "sketch")) {
        weir_sketch *sketch = weir_snapshot_take_sketch(snapshot, part->name);
        if (sketch && j) sketch_json(j, sketch);
        if (sketch && !j) sketch_text(sketch);
        weir_sketch_free(sketch);
    } else if (!strcmp(part->kind, "pairs")) {
        weir_pairs *pairs = weir_snapshot_take_pairs(snapshot, part->name);
        if (pairs && j) pairs_json(j, pairs);
        if (pairs && !j) pairs_text(pairs);
        weir_pairs_free(pairs);
    } else {
        size_t length;
        const char *note = weir_snapshot_note(snapshot, part->name, &length);
        if (note && j) note_json(j, note, length);
        if (note && !j) note_text(note, length);
    }
}

static void show_text(weir_snapshot *snapshot, const char *path) {
    size_t count = weir_snapshot_count(snapshot);
    printf("%s: %zu part%s, every byte checked\n", path, count, count == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        weir_snapshot_part part;
        char size[32];
        weir_snapshot_get_part(snapshot, i, &part);
        if (!strcmp(part.name, part.kind))
            printf("\n%s (%s)\n", part.kind, report_size(size, part.bytes));
        else printf("\n%s '%s' (%s)\n", part.kind, part.name, report_size(size, part.bytes));
        show_part(snapshot, &part, NULL);
    }
}

static void show_json(weir_snapshot *snapshot, const char *path) {
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_text(&j, "file", path);
    json_open(&j, "parts", '[');
    for (size_t i = 0; i < weir_snapshot_count(snapshot); i++) {
        weir_snapshot_part part;
        weir_snapshot_get_part(snapshot, i, &part);
        json_open(&j, NULL, '{');
        json_text(&j, "name", part.name);
        json_text(&j, "kind", part.kind);
        json_count(&j, "bytes", part.bytes);
        show_part(snapshot, &part, &j);
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
}

/* Sketches that runs of `weir count --at` add to, and the filter of `weir dedup --at`: either, or
 * both. */
static int show_servers(const at_settings *at, const char *url, bool json) {
    count_shelf *shelf;
    weir_snapshot *snapshot;
    int code = count_shelf_open(&shelf, url, at);
    if (code != EXIT_DONE) return code;
    if (!count_shelf_exists(shelf)) {
        count_shelf_close(shelf);
        return at_inspect(at, url, json, false);
    }
    code = count_shelf_read(shelf, &snapshot);
    if (code == EXIT_DONE && json) show_json(snapshot, url);
    if (code == EXIT_DONE && !json) show_text(snapshot, url);
    if (code == EXIT_DONE) weir_snapshot_free(snapshot);
    count_shelf_close(shelf);
    return code == EXIT_DONE ? at_inspect(at, url, json, true) : code;
}

static int run_inspect(int argc, char **argv) {
    opt_parser parser;
    bool json = false;
    at_settings at = {0};
    opt_init(&parser, &cmd_inspect, argc, argv);
    for (int id; (id = opt_next(&parser)) != OPT_END;) {
        if (id == OPT_WRONG) return EXIT_TROUBLE;
        if (id < 0) return opt_show_help(&cmd_inspect, id);
        if (id == INSPECT_JSON) json = true;
        if (at_option(&at, id, parser.value) != EXIT_DONE) return EXIT_TROUBLE;
    }
    if (parser.operands == 0) return cli_error("a snapshot is missing: weir inspect FILE");
    int code = EXIT_DONE;
    for (int i = 0; i < parser.operands; i++) {
        weir_snapshot *snapshot;
        weir_error err;
        if (at_is_url(argv[i])) {
            if (show_servers(&at, argv[i], json) != EXIT_DONE) code = EXIT_TROUBLE;
            continue;
        }
        if (weir_snapshot_read(&snapshot, argv[i], &err) != WEIR_OK) {
            code = cli_error("%s", err.message);
            continue;
        }
        if (i && !json) putchar('\n');
        if (json) show_json(snapshot, argv[i]);
        else show_text(snapshot, argv[i]);
        weir_snapshot_free(snapshot);
    }
    int finish = cli_finish_stdout();
    return code == EXIT_DONE ? finish : code;
}

static const opt_section inspect_sections[] = {
    {"EXAMPLES", "    weir inspect seen.weir\n"
                 "    weir inspect --json seen.weir\n"
                 "    weir inspect redis+cluster://h1/clicks"},
    {"EXIT STATUS", "= 0\nThe snapshot is sound.\n\n"
                    "= 2\nIt is not, or cannot be read: one line on standard error says why."},
    {0},
};

const opt_command cmd_inspect = {
    .name = "inspect",
    .operands = "SNAPSHOT...",
    .operand_glob = "*.weir",
    .summary = "show what a snapshot holds, and check it",
    .description =
        "Reads a snapshot (a file written by `weir dedup --state`, `weir count --state`, `weir "
        "pairs --save`, `weir merge` or the library), "
        "checks every byte of it and prints what it holds: the filter with its full spec, how "
        "full it is and how it stands, a picture of its sites if it has any; the audit; how "
        "far the run that wrote it had come; and of a summary of pairs its records, what they are "
        "compared by, and how they were read.\n"
        "\n"
        "Of an address, as `weir dedup --at` takes it, it shows the filter there: the key of each "
        "slice, its server, how many keys it was offered by all runs and knew, how full it is, and "
        "how even the load is; or the sketches there that `weir count --at` adds to.\n"
        "\n"
        "With `--json` it prints one object for each file, with an array `parts`. Every part has "
        "`name`, `kind` (`filter`, `sketch`, `pairs`, `audit` or `note`) and `bytes`. A filter "
        "adds `spec`, "
        "`filter`, `seed`, `offered`, `seen`, `memory`, `fill`, `fpr_bound`, `fpr_implied`, "
        "`fpr_now`, "
        "`overfull` and `details` (by name, each with `value` and `meaning`), and one that is "
        "spread over sites an array `sites` and an object `traffic`; a sketch adds `spec`, "
        "`sketch`, `seed`, `updates`, `memory`, `total`, `error`, `confidence`, `overfull` and "
        "`details`; a summary of pairs adds `spec`, `method`, `seed`, `records`, `columns`, "
        "`threshold`, `sample`, `per_record` (super-values), `repeats`, `witnesses`, `width`, "
        "`depth` (0 but for `online`) and `memory`; an audit adds `report`, as in weir-dedup(1); a "
        "note of a run adds `values`.",
    .options = inspect_table,
    .sections = inspect_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-count(1)`, `weir-pairs(1)`, "
                "`weir-merge(1)`",
    .run = run_inspect,
};
