/* accuracy_main.c - weir-accuracy: error rates of the filters on reference streams.
 *
 * For every stream, memory and false positive rate it runs the filters over the
 * same hashes, compares with the truth and with the two references, and judges
 * the first filter by the rules of lab_judge.h. Exit 0: every must is met, 1: one
 * is not, 2: trouble.
 *
 * Memories are fractions of what the exact answer needs, 64 bits for each
 * distinct key: halvings down to 1/64, three steps between where keys of 6 to 24
 * bits just about fit, and 5/3 of it, the edge at which recent must be exact. At
 * least 1 KiB.
 *
 * Rivals are compared at a false positive rate no higher than the one they were
 * measured to have. The run at the cell's own rate serves if its measured rate is
 * no higher and it wins; otherwise the judged filter runs again, asked for the
 * rival's measured rate, and if it stays below that by some margin once more,
 * asked for so much more that it should measure the same.
 *
 * Cells of a stream are worked on by several threads; each has filters of its
 * own, so the results do not depend on their number.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "accuracy.h"
#include "accuracy_page.h"
#include "lab_rng.h"
#include "lab_stream.h"

#define MOST_CHOICES 32
#define LEAST_BYTES 1024
#define HIGHEST_FPR 0.5 /* asked for when a rival's measured rate is beyond sense */
#define PAGE_SEEDS 4    /* of drawn streams: the first is for tuning and fails nothing */
#define PAGE_DRAWN 200
#define PAGE_DRAWN_QUICK 10
#define MARGIN 0.97 /* of a rival's rate, when aiming at it: room for noise */

/* Sizes of the thesis's streams are a quarter of its 2^24, and so is the larger
 * u. Its figures give b, l and u; v = 10% is what l = 6 leaves room for. */
static const struct {
    const char *name, *spec, *quick;
    unsigned traits;
} references[] = {
    {"uniform", "uniform:n=3M,universe=1M", "uniform:n=240K,universe=80K", LAB_EVEN},
    {"uniform-small", "uniform:n=24K,universe=8K", NULL, LAB_EVEN},
    {"zipf-0.6", "zipf:n=3M,s=0.6,domain=1500K", "zipf:n=240K,s=0.6,domain=120K", LAB_EVEN},
    {"zipf-0.9", "zipf:n=3M,s=0.9,domain=1500K", "zipf:n=240K,s=0.9,domain=120K",
     LAB_EVEN | LAB_STRONG},
    {"zipf-1.2", "zipf:n=3M,s=1.2,domain=1500K", "zipf:n=240K,s=1.2,domain=120K",
     LAB_EVEN | LAB_STRONG},
    {"poisson", "poisson:n=4194304,lambda=0.5,u=250K", "poisson:n=262144,lambda=0.5,u=16K", 0},
    {"bmodel-short", "bmodel:n=4194304,b=0.7,l=6,v=0.1,u=1000", NULL, 0},
    {"bmodel-long", "bmodel:n=4194304,b=0.7,l=6,v=0.1,u=250K",
     "bmodel:n=262144,b=0.7,l=6,v=0.1,u=8000", 0},
    {"weblog", "weblog", "weblog", LAB_STRONG},
    {"repo_urls", "repo_urls", NULL, LAB_STRONG},
    {"trending", "trending", "trending", LAB_STRONG},
    {"recommendations", "recommendations", NULL, LAB_STRONG},
    {"block_trace", "block_trace", NULL, LAB_STRONG},
    {"flows", "flows", "flows", LAB_STRONG},
    {"package_titles", "package_titles", NULL, LAB_STRONG},
};

#define REFERENCES (sizeof references / sizeof *references)

typedef struct {
    accuracy_setup setup;
    char *streams; /* "a,b", or NULL: all */
    char *filters; /* "recent,stable" */
    char *extra[ACCURACY_FILTERS];
    size_t extra_count; /* "recent:option=value": more of its spec */
    double memories[MOST_CHOICES], rates[MOST_CHOICES];
    size_t memory_count, rate_count;
    char names[512];          /* storage of setup.filters */
    accuracy_drawing drawing; /* count 0: the reference streams */
    bool surprises, page;
    const char *cells; /* a file for every cell as CSV, or NULL */
} options;

/* The work on one stream, shared by the threads. */
typedef struct {
    const options *opt;
    const accuracy_stream *stream;
    accuracy_row *rows;
    size_t count;
} work;

static void die(const char *what, const char *text) {
    fprintf(stderr, "weir-accuracy: %s '%s'; see weir-accuracy --help\n", what, text);
    exit(2);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- running cells ---------------------------------------------------------------- */

static const char *extra_of(const options *opt, const char *filter) {
    size_t length = strlen(filter);
    for (size_t i = 0; i < opt->extra_count; i++)
        if (!strncmp(opt->extra[i], filter, length) && opt->extra[i][length] == ':')
            return opt->extra[i] + length + 1;
    return NULL;
}

static void run_filter(const work *w, size_t filter, size_t bytes, double fpr, lab_trial *trial) {
    char spec[512];
    const char *name = w->opt->setup.filters[filter], *extra = extra_of(w->opt, name);
    snprintf(spec, sizeof spec, "%s:memory=%zu,fpr=%.15f,seed=%llu%s%s", name, bytes, fpr,
             (unsigned long long)w->opt->setup.seed, extra ? "," : "", extra ? extra : "");
    lab_trial_run(trial, w->stream->truth, w->stream->hashes, spec, fpr);
}

static int is_rival(const char *name) {
    return !strcmp(name, "stable") || !strcmp(name, "reservoir");
}

static void meet_rival(const work *w, accuracy_row *row, size_t i) {
    const lab_trial *rival = &row->trials[i];
    const lab_truth *truth = w->stream->truth;
    lab_trial *own = &row->matched[i];
    if (!rival->made) return;
    *own = row->trials[0];
    double rate = lab_rival_rate(truth, rival), ask = rate;
    unsigned broken = lab_judge_rival(&row->cell, truth, own, rival);
    for (int again = 0; broken && again < 2; again++) {
        run_filter(w, 0, row->bytes, ask < HIGHEST_FPR ? ask : HIGHEST_FPR, own);
        broken &= lab_judge_rival(&row->cell, truth, own, rival);
        if (!(own->fpr > 0) || own->fpr > MARGIN * rate) break;
        ask = MARGIN * rate / own->fpr * ask;
    }
    row->broken |= broken;
    if (broken) row->lost_to |= 1u << i;
}

static void run_row(const work *w, accuracy_row *row) {
    const accuracy_setup *setup = &w->opt->setup;
    for (size_t i = 0; i < setup->filter_count; i++)
        run_filter(w, i, row->bytes, row->cell.fpr, &row->trials[i]);
    row->broken = lab_judge_alone(&row->cell, w->stream->truth, &row->trials[0]);
    for (size_t i = 1; i < setup->filter_count; i++)
        if (is_rival(setup->filters[i])) meet_rival(w, row, i);
}

static void run_one(void *context, size_t i) {
    const work *w = context;
    run_row(w, &w->rows[i]);
}

/* Fill in the coordinates of a stream's cells; returns how many. */
static size_t lay_out(const options *opt, const accuracy_stream *s, accuracy_row *rows) {
    size_t count = 0, last = 0;
    for (size_t m = 0; m < opt->memory_count; m++) {
        size_t bytes = (size_t)((double)s->truth->distinct * 8 * opt->memories[m]) + 1;
        if (bytes < LEAST_BYTES) bytes = LEAST_BYTES;
        if (bytes == last) continue; /* several fractions below the least */
        last = bytes;
        for (size_t f = 0; f < opt->rate_count; f++, count++) {
            memset(&rows[count], 0, sizeof *rows);
            rows[count].stream = s->name;
            rows[count].bytes = bytes;
            rows[count].bits_per_key = 8.0 * (double)bytes / (double)s->truth->distinct;
            lab_cell_init(&rows[count].cell, s->truth, 8.0 * (double)bytes, opt->rates[f],
                          s->traits);
        }
    }
    return count;
}

/* --- streams ------------------------------------------------------------------------ */

/* Draw or read a stream's ids and find its truth. A file that is not there is no
 * trouble: one line says so. */
static int prepare(accuracy_stream *s, uint64_t seed) {
    weir_error err;
    uint64_t *ids;
    size_t count;
    weir_status status = lab_stream_collect(&ids, &count, s->spec, seed, &err);
    if (status == WEIR_ERR_IO) {
        fprintf(stderr, "weir-accuracy: %s is skipped: %s\n", s->name, err.message);
        return 0;
    }
    if (status) {
        fprintf(stderr, "weir-accuracy: %s: %s\n", s->spec, err.message);
        exit(2);
    }
    s->truth = lab_truth_new(ids, count);
    if (!s->truth) {
        fprintf(stderr, "weir-accuracy: %s: out of memory\n", s->name);
        exit(2);
    }
    s->hashes = ids;
    return count > 0;
}

static void hash_ids(const accuracy_stream *s, uint64_t seed) {
    for (size_t i = 0; i < s->truth->count; i++) s->hashes[i] = lab_hash_id(s->hashes[i], seed);
}

static void discard(accuracy_stream *s) {
    lab_truth_free(s->truth);
    free(s->hashes);
}

/* Is a name among "a,b,c"? A NULL list holds all. */
static int listed(const char *list, const char *name) {
    size_t length = strlen(name);
    for (const char *at = list; at && (at = strstr(at, name)); at += length)
        if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ',')) return 1;
    return !list;
}

/* Every name of a list must be one of a reference stream. */
static void check_streams(const char *list) {
    for (const char *at = list; at && *at; at += *at == ',') {
        char name[64];
        size_t length = strcspn(at, ","), i = 0;
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        while (i < REFERENCES && strcmp(references[i].name, name) != 0) i++;
        if (i == REFERENCES) die("no reference stream is called", name);
        at += length;
    }
}

/* The reference streams that were asked for; in a quick run those that have a
 * quick form, in it, unless named. */
static size_t choose_streams(const options *opt, accuracy_stream *chosen) {
    size_t count = 0;
    check_streams(opt->streams);
    for (size_t i = 0; i < REFERENCES; i++) {
        const char *spec = references[i].spec;
        if (!listed(opt->streams, references[i].name)) continue;
        if (opt->setup.quick && references[i].quick) spec = references[i].quick;
        else if (opt->setup.quick && !opt->streams) continue;
        chosen[count++] = (accuracy_stream){
            .name = references[i].name, .spec = spec, .traits = references[i].traits};
    }
    return count;
}

/* Ten seeds take their time: drawn reference streams in their quick form. */
static void shorten(accuracy_stream *streams, size_t count) {
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < REFERENCES; j++)
            if (!strcmp(streams[i].name, references[j].name) && references[j].quick)
                streams[i].spec = references[j].quick;
}

/* --- options ------------------------------------------------------------------------- */

static const char usage[] =
    "usage: weir-accuracy [options]\n"
    "Error rates of the filters on reference streams, against the truth.\n\n"
    "  --quick          small streams and fewer cells: seconds\n"
    "  --streams A,B    only these (weir-accuracy --list names them)\n"
    "  --filters A,B    which filters, the judged one first (default recent,stable,reservoir;\n"
    "                   all: every filter of the library)\n"
    "  --with F:O=V,... more options for filter F\n"
    "  --drawn N        streams drawn from a seed instead: lengths, parts, memories, rates\n"
    "  --draw-seed S    which (default 1, the one that filters are tuned on)\n"
    "  --only I,J       of these, by number\n"
    "  --surprises      ten seeds and twice the memory: with --drawn for each of the drawn\n"
    "                   streams, else for the reference streams\n"
    "  --page           the page docs/accuracy.md: the reference streams, drawn streams of four\n"
    "                   seeds, surprises\n"
    "  --cells FILE     with --page: every cell as CSV\n"
    "  --memory X,Y     fractions of 64 bits a distinct key, e.g. 1/64,0.5\n"
    "  --fpr X,Y        false positive rates, e.g. 10%,0.001\n"
    "  --seed N         of streams, hashes and filters (default 1)\n"
    "  --jobs N         threads (default: the cores)\n"
    "  --markdown, --csv\n"
    "Exit: 0 every must is met, 1 one is not, 2 trouble.\n";

/* "1/64,0.5,10%" */
static size_t parse_numbers(const char *text, double *values) {
    size_t count = 0;
    char *end;
    for (const char *at = text; *at && count < MOST_CHOICES; at = end + (*end == ',')) {
        double value = strtod(at, &end);
        if (end == at) die("these are not numbers:", text);
        if (*end == '/') value /= strtod(end + 1, &end);
        if (*end == '%') value /= 100, end++;
        if ((*end && *end != ',') || !(value > 0)) die("these are not numbers:", text);
        values[count++] = value;
    }
    return count;
}

/* A number of at least 1. */
static uint64_t whole(const char *text) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || !value) die("this is no number of at least 1:", text);
    return value;
}

static void parse_only(accuracy_drawing *drawing, const char *text) {
    double values[MOST_CHOICES];
    drawing->only_count = parse_numbers(text, values);
    for (size_t i = 0; i < drawing->only_count; i++) {
        drawing->only[i] = (size_t)values[i];
        if (values[i] != (double)drawing->only[i]) die("these are not numbers of streams:", text);
    }
    drawing->count = drawing->only_count;
}

static int exists(const char *name) {
    for (size_t i = 0; weir_filter_kind(i); i++)
        if (!strcmp(weir_filter_kind(i)->name, name)) return 1;
    return 0;
}

static void all_filters(options *opt) {
    for (size_t i = 0; weir_filter_kind(i) && i < ACCURACY_FILTERS; i++)
        opt->setup.filters[opt->setup.filter_count++] = weir_filter_kind(i)->name;
}

/* The filters to run. Of the default ones, those that the library has. */
static void choose_filters(options *opt) {
    int given = opt->filters != NULL;
    if (given && !strcmp(opt->filters, "all")) {
        all_filters(opt);
        return;
    }
    snprintf(opt->names, sizeof opt->names, "%s", given ? opt->filters : "recent,stable,reservoir");
    char *save = NULL;
    for (char *name = strtok_r(opt->names, ",", &save);
         name && opt->setup.filter_count < ACCURACY_FILTERS; name = strtok_r(NULL, ",", &save)) {
        if (exists(name)) opt->setup.filters[opt->setup.filter_count++] = name;
        else if (given) die("no filter is called", name);
        else fprintf(stderr, "weir-accuracy: this library has no filter '%s'\n", name);
    }
    if (!opt->setup.filter_count) die("no filter to run in", opt->names);
}

static void list_streams(void) {
    for (size_t i = 0; i < REFERENCES; i++)
        printf("%-16s %s\n", references[i].name, references[i].spec);
    exit(0);
}

static void parse_options(options *opt, int argc, char **argv) {
    enum {
        QUICK = 256,
        STREAMS,
        FILTERS,
        WITH,
        MEMORY,
        FPR,
        SEED,
        JOBS,
        MARKDOWN,
        CSV,
        LIST,
        DRAWN,
        DRAW_SEED,
        ONLY,
        SURPRISES,
        PAGE,
        CELLS,
        HELP
    };
    static const struct option names[] = {{"quick", 0, NULL, QUICK},
                                          {"streams", 1, NULL, STREAMS},
                                          {"filters", 1, NULL, FILTERS},
                                          {"with", 1, NULL, WITH},
                                          {"memory", 1, NULL, MEMORY},
                                          {"fpr", 1, NULL, FPR},
                                          {"seed", 1, NULL, SEED},
                                          {"jobs", 1, NULL, JOBS},
                                          {"markdown", 0, NULL, MARKDOWN},
                                          {"csv", 0, NULL, CSV},
                                          {"list", 0, NULL, LIST},
                                          {"help", 0, NULL, HELP},
                                          {"drawn", 1, NULL, DRAWN},
                                          {"draw-seed", 1, NULL, DRAW_SEED},
                                          {"only", 1, NULL, ONLY},
                                          {"surprises", 0, NULL, SURPRISES},
                                          {"page", 0, NULL, PAGE},
                                          {"cells", 1, NULL, CELLS},
                                          {NULL, 0, NULL, 0}};
    const char *memory = NULL, *fpr = NULL;
    memset(opt, 0, sizeof *opt);
    opt->setup.seed = 1;
    opt->drawing.seed = 1;
    opt->setup.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
    for (int c; (c = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
        switch (c) {
        case QUICK:
            opt->setup.quick = true;
            break;
        case STREAMS:
            opt->streams = optarg;
            break;
        case FILTERS:
            opt->filters = optarg;
            break;
        case WITH:
            if (opt->extra_count < ACCURACY_FILTERS) opt->extra[opt->extra_count++] = optarg;
            break;
        case MEMORY:
            memory = optarg;
            break;
        case FPR:
            fpr = optarg;
            break;
        case SEED:
            opt->setup.seed = strtoull(optarg, NULL, 0);
            break;
        case JOBS:
            opt->setup.jobs = atoi(optarg);
            break;
        case MARKDOWN:
            opt->setup.form = ACCURACY_MARKDOWN;
            break;
        case CSV:
            opt->setup.form = ACCURACY_CSV;
            break;
        case LIST:
            list_streams();
            break;
        case DRAWN:
            opt->drawing.count = (size_t)whole(optarg);
            break;
        case DRAW_SEED:
            opt->drawing.seed = whole(optarg);
            break;
        case ONLY:
            parse_only(&opt->drawing, optarg);
            break;
        case SURPRISES:
            opt->surprises = true;
            break;
        case PAGE:
            opt->page = true;
            break;
        case CELLS:
            opt->cells = optarg;
            break;
        case 'h':
        case HELP:
            fputs(usage, stdout);
            exit(0);
        default:
            exit(2);
        }
    }
    if (optind < argc) die("unexpected argument", argv[optind]);
    if (opt->setup.jobs < 1 || opt->setup.jobs > 256) opt->setup.jobs = 1;
    if (!memory)
        memory = opt->setup.quick ? "1/32,1/8,3/16,1/2,5/3"
                                  : "1/64,1/32,1/16,3/32,1/8,3/16,1/4,3/8,1/2,1,5/3";
    if (!fpr) fpr = opt->setup.quick ? "1%,0.0001%" : "10%,1%,0.1%,0.0001%";
    opt->setup.memories = memory;
    opt->setup.rates = fpr;
    opt->memory_count = parse_numbers(memory, opt->memories);
    opt->rate_count = parse_numbers(fpr, opt->rates);
    choose_filters(opt);
}

/* --- all of it --------------------------------------------------------------------------- */

/* Streams are described first and the rows collected, so that the table is one. */
static size_t run_streams(const options *opt, accuracy_stream *streams, size_t count,
                          accuracy_row *rows) {
    size_t done = 0;
    for (size_t i = 0; i < count; i++) {
        if (!prepare(&streams[i], opt->setup.seed)) continue;
        hash_ids(&streams[i], opt->setup.seed);
        if (!opt->page) accuracy_print_stream(&opt->setup, &streams[i]);
        fflush(stdout);
        work w = {.opt = opt, .stream = &streams[i], .rows = rows + done};
        w.count = lay_out(opt, &streams[i], w.rows);
        accuracy_each(w.count, opt->setup.jobs, run_one, &w);
        done += w.count;
        discard(&streams[i]);
    }
    return done;
}

static int run_table(const options *opt, accuracy_stream *streams, size_t count) {
    double start = now();
    int missed = 0;
    accuracy_row *rows = malloc(count * opt->memory_count * opt->rate_count * sizeof *rows);
    if (!rows) die("out of memory for", "the table");
    accuracy_print_head(&opt->setup);
    size_t done = run_streams(opt, streams, count, rows);
    accuracy_print_columns(&opt->setup);
    for (size_t i = 0; i < done; i++) {
        accuracy_print_row(&opt->setup, &rows[i]);
        missed |= (rows[i].broken & LAB_BROKE_MUST) != 0;
    }
    accuracy_print_summary(&opt->setup, rows, done, now() - start);
    free(rows);
    return missed;
}

/* The cells of all streams that are there; *done counts them. The caller frees them. */
static accuracy_surprise *find_surprises(const options *opt, accuracy_stream *streams, size_t count,
                                         size_t *done) {
    accuracy_surprise *cells = malloc(count * ACCURACY_SURPRISES * sizeof *cells);
    *done = 0;
    if (!cells) die("out of memory for", "the surprises");
    for (size_t i = 0; i < count; i++) {
        if (!prepare(&streams[i], opt->setup.seed)) continue;
        accuracy_surprise_run(&opt->setup, extra_of(opt, opt->setup.filters[0]), &streams[i],
                              cells + *done);
        *done += ACCURACY_SURPRISES;
        discard(&streams[i]);
    }
    return cells;
}

static int run_surprises(const options *opt, accuracy_stream *streams, size_t count) {
    size_t done;
    accuracy_surprise *cells = find_surprises(opt, streams, count, &done);
    accuracy_surprise_print(cells, done, "  ");
    int missed = !accuracy_surprise_holds(cells, done);
    free(cells);
    return missed;
}

static accuracy_drawn *draw(options *opt, size_t *count, accuracy_drawn_sum *sum) {
    accuracy_drawing *drawing = &opt->drawing;
    accuracy_drawn *rows = malloc(drawing->count * sizeof *rows);
    if (!rows) die("out of memory for", "the drawn streams");
    drawing->filter = opt->setup.filters[0];
    drawing->extra = extra_of(opt, drawing->filter);
    drawing->jobs = opt->setup.jobs;
    drawing->seeds = opt->surprises;
    *count = accuracy_drawn_run(drawing, rows);
    accuracy_drawn_sum_up(sum, rows, *count, drawing->seeds);
    return rows;
}

static int run_drawn(options *opt) {
    double start = now();
    accuracy_drawn_sum sum;
    size_t count;
    accuracy_drawn *rows = draw(opt, &count, &sum);
    if (opt->setup.form == ACCURACY_CSV) accuracy_drawn_csv(stdout, &opt->drawing, rows, count);
    else accuracy_drawn_print(&opt->drawing, rows, count, now() - start);
    free(rows);
    return !sum.holds;
}

/* --- the page --------------------------------------------------------------------------- */

static int page_draws(options *opt, FILE *cells) {
    accuracy_drawn *rows = NULL;
    size_t count = 0;
    int missed = 0;
    if (!opt->drawing.count) opt->drawing.count = opt->setup.quick ? PAGE_DRAWN_QUICK : PAGE_DRAWN;
    accuracy_page_draws(opt->drawing.count);
    for (opt->drawing.seed = 1; opt->drawing.seed <= PAGE_SEEDS; opt->drawing.seed++) {
        accuracy_drawn_sum sum;
        free(rows);
        opt->surprises = opt->drawing.seed > 1;
        rows = draw(opt, &count, &sum);
        accuracy_page_draw(&opt->drawing, &sum);
        if (cells) accuracy_drawn_csv(cells, &opt->drawing, rows, count);
        missed |= opt->drawing.seed > 1 && !sum.holds;
    }
    opt->drawing.seed = PAGE_SEEDS;
    accuracy_page_worst(&opt->drawing, rows, count);
    free(rows);
    return missed;
}

static int page_table(const options *opt, accuracy_stream *streams, size_t count, FILE *cells) {
    accuracy_row *rows = malloc(count * opt->memory_count * opt->rate_count * sizeof *rows);
    if (!rows) die("out of memory for", "the table");
    size_t done = run_streams(opt, streams, count, rows);
    bool holds = accuracy_page_table(&opt->setup, rows, done);
    fflush(stdout);
    if (cells) accuracy_print_csv(cells, &opt->setup, rows, done);
    free(rows);
    return !holds;
}

static int run_page(options *opt, const accuracy_stream *chosen, size_t count) {
    double start = now();
    accuracy_stream streams[REFERENCES];
    FILE *cells = opt->cells ? fopen(opt->cells, "w") : NULL;
    if (opt->cells && !cells) die("cannot write", opt->cells);
    memcpy(streams, chosen, count * sizeof *chosen);
    accuracy_page_head(&opt->setup);
    int missed = page_table(opt, streams, count, cells);
    missed |= page_draws(opt, cells);
    size_t done;
    memcpy(streams, chosen, count * sizeof *chosen);
    shorten(streams, count);
    accuracy_surprise *surprises = find_surprises(opt, streams, count, &done);
    accuracy_page_surprises(surprises, done);
    missed |= !accuracy_surprise_holds(surprises, done);
    free(surprises);
    accuracy_page_end(now() - start);
    if (cells && fclose(cells)) die("cannot write", opt->cells);
    return missed;
}

int main(int argc, char **argv) {
    static options opt;
    accuracy_stream streams[REFERENCES];
    parse_options(&opt, argc, argv);
    if (opt.drawing.count && !opt.page) return run_drawn(&opt);
    size_t count = choose_streams(&opt, streams);
    if (!count) die("no reference stream is among", opt.streams);
    if (opt.page) return run_page(&opt, streams, count);
    if (opt.surprises) shorten(streams, count);
    return opt.surprises ? run_surprises(&opt, streams, count) : run_table(&opt, streams, count);
}
