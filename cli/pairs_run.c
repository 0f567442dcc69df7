/* pairs_run.c - weir pairs self, join and search: from settings to an answer. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "pairs_command.h"
#include "spool.h"
#include "stopping.h"

/* ---- self and join ---- */

static int check_records(const pairs_settings *s, const pairs_side *side, size_t number) {
    const char *file = s->in.files[number];
    bool several = s->question == ASK_SELF && s->in.file_count > 1;
    uint64_t least = s->question == ASK_SELF ? 2 : 1;
    if (side->records >= least) return EXIT_DONE;
    if (side->records == 1) return cli_error("'%s' has one record, which makes no pair", file);
    return cli_error("%s'%s' has no records to compare", several ? "no file from " : "", file);
}

/* The values of one signature of all rows of a side. */
static int take_signature(const pairs_settings *s, const pairs_side *side, unsigned number,
                          uint64_t **rows) {
    size_t d = s->columns, width = d * (s->signatures ? s->signatures : 1);
    *rows = malloc((side->row_count * d + 1) * sizeof **rows);
    if (!*rows) return cli_error("out of memory");
    for (size_t i = 0; i < side->row_count; i++)
        memcpy(*rows + i * d, side->rows + i * width + number * d, d * sizeof **rows);
    return EXIT_DONE;
}

static int answer_exactly(const pairs_settings *s, const pairs_side *sides, size_t count,
                          weir_pairs_answer *out) {
    weir_error err;
    weir_exact_options o = {
        .columns = s->columns, .threshold = s->threshold, .set = s->rows.from == WEIR_FROM_SET};
    unsigned n = s->signatures ? s->signatures : 1;
    weir_pairs_answer *all = calloc(n, sizeof *all);
    int code = EXIT_DONE;
    if (!all) return cli_error("out of memory");
    for (unsigned i = 0; i < n && code == EXIT_DONE; i++) {
        uint64_t *rows[2] = {NULL, NULL};
        for (size_t k = 0; k < count && code == EXIT_DONE; k++)
            code = take_signature(s, &sides[k], i, &rows[k]);
        if (code == EXIT_DONE &&
            weir_pairs_exact(&o, rows[0], sides[0].row_count, rows[1],
                             count > 1 ? sides[1].row_count : 0, &all[i], &err) != WEIR_OK)
            code = cli_error("%s", err.message);
        free(rows[0]);
        free(rows[1]);
    }
    if (code == EXIT_DONE) {
        weir_pairs_average(all, n);
        *out = all[0];
    }
    free(all);
    return code;
}

static int answer(const pairs_settings *s, pairs_side *sides, size_t count,
                  weir_pairs_answer *out) {
    weir_error err;
    if (s->exact) return answer_exactly(s, sides, count, out);
    if (s->sampled) {
        if (weir_pairs_sampled(sides[0].pairs, count > 1 ? sides[1].pairs : NULL, out, &err))
            return cli_error("%s", err.message);
        return EXIT_DONE;
    }
    weir_status status = count > 1 ? weir_pairs_join(sides[0].pairs, sides[1].pairs, out, &err)
                                   : weir_pairs_self(sides[0].pairs, out, &err);
    return status == WEIR_OK ? EXIT_DONE : cli_error("%s", err.message);
}

/* Both sides of a join must be made alike: the seed is settled once, and a summary, which
 * comes first then, says how the records of the other side are read. */
static int fill_sides(pairs_settings *s, pairs_side *sides, size_t count) {
    bool second = count > 1 && pairs_is_summary(s->in.files[1]);
    bool mixed = count > 1 && pairs_is_summary(s->in.files[0]) != second;
    size_t files = s->question == ASK_SELF ? s->in.file_count : 1;
    for (size_t n = 0; n < count; n++) {
        size_t i = mixed && second ? 1 - n : n;
        int code = pairs_fill(&sides[i], s, s->in.files + i, files, (unsigned)i, s->exact);
        if (code == EXIT_DONE) code = check_records(s, &sides[i], i);
        if (code == EXIT_DONE && mixed && sides[i].loaded)
            code = pairs_adopt(s, &sides[i], s->in.files[i]);
        if (code != EXIT_DONE) return code;
    }
    if (!sides[0].loaded || mixed) return EXIT_DONE;
    pairs_apply_note(s, &sides[0]);
    if (count < 2) return EXIT_DONE;
    return pairs_check_notes(&sides[0], s->in.files[0], &sides[1], s->in.files[1]);
}

/* A cosine is refused where the records kept whole do not tell how many pairs have it, and most of
 * what is counted would be less similar. */
static int look_for_doubts(const pairs_settings *s, const pairs_side *sides, size_t count,
                           const weir_pairs_answer *out, weir_pairs_doubt *doubt, bool *known) {
    weir_error err;
    char most[32], below[32];
    *known =
        s->similarity > 0 && weir_pairs_doubts(sides[0].pairs, count > 1 ? sides[1].pairs : NULL,
                                               s->similarity, doubt, &err) == WEIR_OK;
    if (!*known || s->rows.from != WEIR_FROM_COSINE || doubt->told ||
        doubt->below <= out->similar / 2)
        return EXIT_DONE;
    weir_print_count(most, out->similar);
    weir_print_count(below, fmin(doubt->below, out->similar));
    if (doubt->least >= 1)
        return cli_error("--cosine %g cannot be told in these texts: about %s of %s pairs counted "
                         "would be less similar; use --jaccard",
                         s->similarity, below, most);
    return cli_error(
        "--cosine %g cannot be told in these texts: about %s of %s pairs counted would "
        "be less similar; the smallest that can be told is %.2f",
        s->similarity, below, most, doubt->least);
}

/* ---- neighbours ---- */

enum { NEIGHBOURS_SAMPLE = 1024 }; /* records compared with all: shares within 3 points */

static int count_neighbours(const pairs_settings *s) {
    int64_t started = clock_now(CLOCK_MONOTONIC);
    pairs_side side = {0};
    weir_neighbours found;
    weir_error err;
    weir_neighbours_options o = {.columns = s->columns,
                                 .threshold = s->threshold,
                                 .set = s->rows.from == WEIR_FROM_SET,
                                 .distance = s->distance,
                                 .fewer = s->outliers,
                                 .sample = s->exact ? 0 : NEIGHBOURS_SAMPLE,
                                 .seed = s->seed};
    int code = pairs_fill(&side, s, s->in.files, s->in.file_count, 0, true);
    if (code == EXIT_DONE) code = check_records(s, &side, 0);
    if (code == EXIT_DONE && weir_pairs_neighbours(&o, side.rows, side.row_count, &found, &err))
        code = cli_error("%s", err.message);
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - started) * 1e-9;
    if (code == EXIT_DONE) code = pairs_report_neighbours(s, &found, side.dropped, seconds);
    pairs_side_release(&side);
    return code;
}

static int list_examples(const pairs_settings *s, pairs_side *sides, size_t count,
                         pairs_examples *out) {
    if (!s->list) return EXIT_DONE;
    if (sides[0].loaded || sides[count - 1].loaded)
        return cli_error("--list needs the records, not a summary");
    return pairs_find_examples(s, sides, count, out);
}

/* The pairs that agree in nothing are all that do not agree in one value or more. */
static void add_none(weir_pairs_answer *a) {
    a->count[0] = a->pairs - a->similar;
    a->deviation[0] = a->similar_deviation;
    a->threshold = 0;
    a->similar = a->low = a->high = a->pairs;
    a->similar_deviation = 0;
}

/* ---- what can be read only once ---- */

static void name_examples(pairs_examples *examples, const spool *inputs) {
    for (size_t i = 0; i < examples->count; i++)
        for (size_t k = 0; k < 2; k++)
            examples->list[i].file[k] = spool_given(inputs, examples->list[i].file[k]);
}

/* ---- theorems 8 and 10 ---- */

static int count_one(void *context, const accepted *records) {
    *(uint64_t *)context += records->count;
    return EXIT_DONE;
}

/* Choose the sample and the repetitions for --error and --confidence. */
static int plan_error(pairs_settings *s) {
    weir_pairs *probe;
    weir_pairs_info info;
    weir_pairs_budget budget;
    weir_error err;
    uint64_t records = 0, dropped = 0;
    char more[80];
    if (!(s->error > 0)) return EXIT_DONE;
    if (weir_pairs_new(&probe, s->maker, &err) != WEIR_OK) {
        spec_name_flag(&err, NULL);
        return cli_error("%s", err.message);
    }
    int code = pairs_read(s, probe, s->in.files, s->in.file_count, &dropped, count_one, &records);
    weir_pairs_get_info(probe, &info);
    weir_pairs_free(probe);
    if (code != EXIT_DONE) return code;
    double chance = 1 - (s->confidence > 0 ? s->confidence : 0.95);
    weir_pairs_cost(s->columns, s->threshold, (double)records, s->error, chance, (double)info.width,
                    &budget);
    if (!budget.reachable)
        return cli_error("--error %g cannot be promised for %llu records, not even with all "
                         "super-values; allow more, or leave out --online",
                         s->error, (unsigned long long)records);
    snprintf(more, sizeof more, ",sample=%.15g,repeats=%u", fmin(1, budget.sample), budget.repeats);
    if (strlen(s->maker) + strlen(more) >= SPEC_SIZE) return cli_error("the options are too long");
    strcat(s->maker, more);
    strcat(s->spec, more);
    return EXIT_DONE;
}

static int count_pairs(const pairs_settings *given) {
    pairs_settings copy = *given, *s = &copy;
    size_t count = s->question == ASK_JOIN ? 2 : 1;
    pairs_side sides[2] = {{0}};
    weir_pairs_answer out = {0};
    pairs_examples examples = {0};
    weir_pairs_doubt doubt = {0};
    bool doubted = false;
    int64_t started = clock_now(CLOCK_MONOTONIC);
    spool inputs;
    int code = spool_inputs(&inputs, s->in.files, s->in.file_count, s->list || s->error > 0,
                            s->folder, "give --tmp a folder with more room");
    if (code == EXIT_DONE) s->in.files = inputs.names;
    if (code == EXIT_DONE) code = plan_error(s);
    if (code == EXIT_DONE) code = fill_sides(s, sides, count);
    if (code == EXIT_DONE) code = answer(s, sides, count, &out);
    if (code == EXIT_DONE) code = look_for_doubts(s, sides, count, &out, &doubt, &doubted);
    if (code == EXIT_DONE && s->save) code = pairs_save(s, &sides[0]);
    if (code == EXIT_DONE) code = list_examples(s, sides, count, &examples);
    if (code == EXIT_DONE && s->list) name_examples(&examples, &inputs);
    if (code == EXIT_DONE && s->with_none) add_none(&out);
    double seconds = (double)(clock_now(CLOCK_MONOTONIC) - started) * 1e-9;
    if (code == EXIT_DONE)
        code =
            pairs_report(s, sides[0].pairs, &out, (uint64_t[]){sides[0].dropped, sides[1].dropped},
                         &examples, doubted ? &doubt : NULL, seconds);
    pairs_examples_release(&examples);
    for (size_t i = 0; i < count; i++) pairs_side_release(&sides[i]);
    free(s->note);
    spool_release(&inputs);
    return code;
}

/* ---- search ---- */

/* The records of the command line as a file, so that they are read like others. */
static int records_file(const char *const *records, size_t count) {
    int fd = memfd_create("records", MFD_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < count; i++) {
        size_t length = strlen(records[i]);
        if (write(fd, records[i], length) != (ssize_t)length || write(fd, "\n", 1) != 1) {
            close(fd);
            fd = -1;
        }
    }
    if (fd < 0) cli_error("cannot keep the records: %s", strerror(errno));
    return fd;
}

typedef struct {
    weir_pairs *pairs;
    weir_pairs_answer *answers;
    size_t count, most, width;
} searching;

static int search_records(void *context, const accepted *records) {
    searching *c = context;
    weir_error err;
    for (size_t i = 0; i < records->count && c->count < c->most; i++) {
        if (weir_pairs_search(c->pairs, records->rows + i * c->width, &c->answers[c->count++],
                              &err) != WEIR_OK)
            return cli_error("%s", err.message);
    }
    return EXIT_DONE;
}

/* Read the records as the summary's were, but for their layout: a row of a table
 * has the columns that are compared, and no others. */
static int prepare_search(pairs_settings *s, char *key, size_t size) {
    size_t used = 0;
    bool table = s->in.in.format == STREAM_CSV || s->in.in.format == STREAM_TSV;
    s->in.in.key = s->rows.parts && !table ? s->fields : NULL;
    s->in.in.header = false;
    s->in.in.threads = 1;
    s->in.on_bad = s->in.on_missing = STREAM_STOP;
    s->in.progress = PROGRESS_OFF;
    for (unsigned i = 0; table && i < s->rows.parts && used < size; i++)
        used += (size_t)snprintf(key + used, size - used, "%s%u", i ? "," : "", i + 1);
    if (used) s->in.in.key = key;
    if (s->in.in.format == STREAM_FIXED || s->in.in.format == STREAM_LEN32)
        return cli_error("binary records cannot be given as words; join a file with the summary");
    return EXIT_DONE;
}

static uint64_t no_hash(const void *context, const void *key, size_t length) {
    (void)context, (void)key, (void)length;
    return 0;
}

/* The number of the first row that has one column more than are compared; 0: none has. */
static uint64_t find_long_row(const pairs_settings *s, const char *file) {
    char column[16];
    stream_options o = s->in.in;
    stream_reader *reader;
    stream_error err;
    const stream_batch *b;
    uint64_t found = 0;
    snprintf(column, sizeof column, "%u", s->rows.parts + 1);
    o.key = column;
    o.hash = no_hash;
    if (stream_open(&reader, &o, &file, 1, &err) != STREAM_OK) return 0;
    while (!found && stream_next(reader, -1, &b, &err) == STREAM_BATCH)
        for (size_t i = 0; i < b->count && !found; i++)
            if (!b->status || b->status[i] == STREAM_RECORD_OK) found = b->first_record + i;
    stream_close(reader);
    return found;
}

static int check_rows(const pairs_settings *s, const char *file) {
    bool table = s->in.in.format == STREAM_CSV || s->in.in.format == STREAM_TSV;
    uint64_t row = table && s->rows.parts ? find_long_row(s, file) : 0;
    if (!row) return EXIT_DONE;
    return cli_error("record %llu of the command line has more than the %u column%s compared, '%s'",
                     (unsigned long long)row, s->rows.parts, s->rows.parts == 1 ? "" : "s",
                     s->fields ? s->fields : "");
}

/* The lines of standard input, as records of the command line are. */
static int read_lines(char ***lines, size_t *count) {
    size_t room = 0, size = 0;
    char *line = NULL;
    ssize_t n;
    while ((n = getline(&line, &size, stdin)) >= 0) {
        if (n && line[n - 1] == '\n') line[--n] = 0;
        if (strlen(line) != (size_t)n) {
            free(line);
            return cli_error("record %zu of standard input holds a NUL byte; a record is one line",
                             *count + 1);
        }
        const stream_array arrays[] = {{lines, sizeof **lines}};
        if (!stream_make_room(&room, *count + 1, arrays, 1)) break;
        (*lines)[(*count)++] = line;
        line = NULL;
        size = 0;
    }
    free(line);
    if (ferror(stdin)) return cli_error("cannot read standard input: %s", strerror(errno));
    if (!feof(stdin)) return cli_error("out of memory");
    return *count ? EXIT_DONE : cli_error("standard input has no records to search for");
}

static int search(const pairs_settings *given) {
    pairs_settings s = *given;
    pairs_side side = {0};
    char key[256], path[32];
    uint64_t dropped;
    const char *file[] = {path};
    const char *const *records = s.in.files + 1;
    size_t count = s.in.file_count - 1;
    searching c = {.most = count};
    weir_pairs_info info;
    int code = pairs_load(&side, &s, s.in.files[0]);
    if (code == EXIT_DONE) pairs_apply_note(&s, &side);
    if (code == EXIT_DONE) code = prepare_search(&s, key, sizeof key);
    int fd = code == EXIT_DONE ? records_file(records, count) : -1;
    c.answers = calloc(count + 1, sizeof *c.answers);
    if (code == EXIT_DONE && fd < 0) code = EXIT_TROUBLE;
    if (code == EXIT_DONE) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        weir_pairs_get_info(side.pairs, &info);
        c.pairs = side.pairs;
        c.width = info.row_words;
        code = check_rows(&s, path);
    }
    if (code == EXIT_DONE) code = pairs_read(&s, side.pairs, file, 1, &dropped, search_records, &c);
    if (code == EXIT_DONE && c.count != count)
        code = cli_error("%zu records were given but %zu were read; a record is one line", count,
                         c.count);
    if (code == EXIT_DONE) code = pairs_report_search(&s, records, count, c.answers);
    if (fd >= 0) close(fd);
    free(c.answers);
    free(s.note);
    pairs_side_release(&side);
    return code;
}

/* `search SUMMARY -`: the records come from a pipe. */
static int search_input(const pairs_settings *given) {
    pairs_settings s = *given;
    char **lines = NULL;
    size_t count = 0;
    int code = read_lines(&lines, &count);
    const char **files = calloc(count + 1, sizeof *files);
    if (code == EXIT_DONE && !files) code = cli_error("out of memory");
    if (code == EXIT_DONE && files) {
        files[0] = given->in.files[0];
        for (size_t i = 0; i < count; i++) files[i + 1] = lines[i];
        s.in.files = files;
        s.in.file_count = count + 1;
        code = search(&s);
    }
    for (size_t i = 0; i < count; i++) free(lines[i]);
    free(lines);
    free(files);
    return code;
}

int pairs_run(const pairs_settings *s) {
    const char *const *files = s->in.files;
    bool two = s->in.file_count == 2, last = two && !strcmp(files[1], "-");
    stopping_catch(NULL);
    if (s->question == ASK_SEARCH) return last ? search_input(s) : search(s);
    if (s->question == ASK_JOIN && last && !strcmp(files[0], "-"))
        return cli_error("both sides cannot be standard input; to count the pairs within it: weir "
                         "pairs self -");
    return s->distance > 0 || s->outliers ? count_neighbours(s) : count_pairs(s);
}
