/* cmd_plan.c - weir plan: which filter, with what numbers, and what it will cost.
 *
 * The library answers (weir_profile, weir_plan_*); here the question is read, the
 * sample is streamed through a profile, and the answer put together: the table, the
 * speed on this machine, the curve of error against memory.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "engine.h"
#include "opts.h"
#include "plan_show.h"
#include "values.h"

enum {
    PL_MEMORY = 1,
    PL_FPR,
    PL_FNR,
    PL_RECORDS,
    PL_DISTINCT,
    PL_SAMPLE,
    PL_WINDOW,
    PL_RATE,
    PL_SITES,
    PL_FAIL,
    PL_CHANCE,
    PL_FPR_LOST,
    PL_PLOT,
    PL_JSON
};

enum { PROFILE_BYTES = 64 << 20, CALIBRATED = 4 };
#define CALIBRATE_SECONDS 0.12
#define CURVE_SPAN 16.0  /* the curve goes from a sixteenth of the memory to 16 times it */
#define WINDOW_LOSS 0.01 /* repeats that a window which "fits" may lose */
#define MEMORY_STANDARD (UINT64_C(256) << 20)
#define DISTINCT_LEAST 0.95 /* of the sample's keys, which may be an estimate */
#define RATE_MOST 1000000000000u
#define COUNT_MOST 1000000000000000000u

static const opt_entry plan_table[] = {
    {PL_MEMORY, "memory", 'm', OPT_VALUE, "SIZE", NULL, NULL, "Question", true,
     "The memory that the filter may use.",
     "256M if neither this nor `--fnr` is given. K, M, G and T are powers of 1024."},
    {PL_FPR, "fpr", 0, OPT_VALUE, "RATE", NULL, "0.0001%", "Question", true,
     "The share of new records that may be lost.", "As for `weir dedup`."},
    {PL_FNR, "fnr", 0, OPT_VALUE, "RATE", NULL, NULL, "Question", true,
     "How much memory for at most this share of repeats let through?",
     "Instead of `--memory`. It needs to know the stream: `--sample`, or `--records` and "
     "`--distinct`."},
    {PL_WINDOW, "window", 0, OPT_VALUE, "SPAN", NULL, NULL, "Question", true,
     "Keys older than this time (`10m`) or number of records (`1M`) are new.", NULL},
    {PL_RATE, "rate", 0, OPT_VALUE, "N/s", NULL, NULL, "Question", true,
     "Records a second; without `--window`: which window fits?",
     "50K/s or 50K. With a window in time it says how many records that is, where the sample has "
     "no times of its own. Without a window it asks how long one would fit the memory if every "
     "record were new; what says something else of the stream (`--sample`, `--records`, "
     "`--distinct`) is refused then."},

    {PL_SITES, "sites", 0, OPT_VALUE, "N", NULL, NULL, "Question", false,
     "Spread over N sites: by keys or by places?",
     "Says how many keys fit, how many messages a key costs, and what the loss of sites does, and "
     "chooses between `horizontal` slices and `vertical` ones with their rule of live places. The "
     "stream does not matter. `--fnr` is then the share of repeats that may pass while sites are "
     "lost, 1% if not given."},
    {PL_FAIL, "fail", 0, OPT_VALUE, "F", NULL, "1", "Question", false,
     "So many of the sites may be lost at once.", NULL},
    {PL_CHANCE, "chance", 0, OPT_VALUE, "P", NULL, NULL, "Question", false,
     "With `--sites`: each is a server, gone for this share of the time.",
     "`0.1%` is nine hours a year. Says how many slices, how many replicas, and whether to wait "
     "for "
     "them (`--durability`), so that no more than `--fnr` (1%) of the repeats pass because of "
     "servers that are gone; with `--rate` also what a server has to do."},
    {PL_FPR_LOST, "fpr-lost", 0, OPT_VALUE, "RATE", NULL, NULL, "Question", false,
     "Over how many sites, so that losing F keeps the rate?",
     "With `--fail`, without `--sites`: the least number of sites with which the loss of F keeps "
     "the "
     "false positive rate below RATE, if `--fpr` holds while all are there and keys or places of "
     "lost "
     "sites count as seen, so that no repeat passes. For slices by keys and by places."},

    {PL_SAMPLE, "sample", 's', OPT_VALUE, "FILE", NULL, NULL, "Stream", true,
     "A piece of the stream, from its beginning; `-` is standard input.",
     "Read once and in bounded memory. The longer it is, the less has to be guessed; at least "
     "1000 records and 100 repeats are needed."},
    {PL_RECORDS, "records", 'n', OPT_VALUE, "N", NULL, NULL, "Stream", true,
     "How many records the whole stream has.",
     "With a sample: if longer than it, the stream is taken to go on as the sample does."},
    {PL_DISTINCT, "distinct", 'd', OPT_VALUE, "N", NULL, NULL, "Stream", true,
     "How many distinct keys the whole stream has.",
     "With a sample it goes with `--records`: the stream is then taken to go on from the sample's "
     "keys to this many. What no stream that goes on as the sample comes to is refused."},

    READ_RECORD_ROWS("", "", 0),
    READ_KEY_ROWS,
    READ_UNJUDGED_ROWS("What passes is left out of the plan."),
    READ_TIME_ROWS,
    READ_IMPORTANCE_ROW,

    {PL_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, "Reports", true,
     "Print one JSON object instead of text.", NULL},
    {PL_PLOT, "plot", 0, OPT_VALUE, "FILE", NULL, NULL, "Reports", true,
     "Write the curve of error against memory to FILE, as SVG.", NULL},
    READ_PROGRESS_ROWS,
    READ_THREAD_ROWS,
    {0},
};

/* --- the question ------------------------------------------------------------------------ */

/* Append an option as it would be typed, quoted where a shell needs it. */
static void add_words(char *words, const char *name, const char *value) {
    size_t used = strlen(words);
    used += (size_t)snprintf(words + used, PLAN_WORDS - used, " --%s", name);
    if (!value || used + 4 * strlen(value) + 4 >= PLAN_WORDS) return;
    const char *plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:=,%+-";
    words[used++] = ' ';
    if (*value && value[strspn(value, plain)] == 0) {
        snprintf(words + used, PLAN_WORDS - used, "%s", value);
        return;
    }
    words[used++] = '\'';
    for (; *value; value++) {
        if (*value == '\'') used += (size_t)snprintf(words + used, PLAN_WORDS - used, "'\\''");
        else words[used++] = *value;
    }
    words[used++] = '\'';
    words[used] = 0;
}

/* Options of records and keys go into the dedup line as they are. */
static void keep_words(plan_settings *s, int id, const char *value) {
    if (id < READ_FORMAT || id > READ_TIME_FORMAT) return;
    for (const opt_entry *o = plan_table; o->name; o++)
        if (o->id == id) add_words(s->words, o->name, value);
}

/* "50K/s", "50k/s" or "50K". */
static int set_rate(plan_settings *s, const char *value) {
    char text[64];
    uint64_t rate;
    weir_error err;
    size_t length = strlen(value);
    if (length > 2 && !strcmp(value + length - 2, "/s")) length -= 2;
    snprintf(text, sizeof text, "%.*s", (int)(length < 60 ? length : 60), value);
    if (weir_parse_count(text, &rate, &err) != WEIR_OK)
        return cli_error("--rate: '%s' is not a number of records a second such as 50K/s", value);
    int code = value_number("--rate", text, 1, RATE_MOST, false, &rate);
    if (code == EXIT_DONE) s->question.rate = (double)rate;
    return code;
}

static int set_window(plan_settings *s, const char *value) {
    s->window = value;
    return value_window("--window", value, 1, &s->question.window, &s->question.window_is_time);
}

#define IN(member) offsetof(plan_settings, member)

static const opt_target targets[] = {
    {PL_FPR, KEEP_RATE, IN(question.fpr), 0, 0},
    {PL_FNR, KEEP_RATE, IN(fnr), 0, 0},
    {PL_RECORDS, KEEP_REAL, IN(question.records), 1, COUNT_MOST},
    {PL_DISTINCT, KEEP_REAL, IN(question.distinct), 1, COUNT_MOST},
    {PL_SITES, KEEP_REAL, IN(sites), 1, COUNT_MOST},
    {PL_FAIL, KEEP_REAL, IN(fail), 1, COUNT_MOST},
    {PL_CHANCE, KEEP_RATE, IN(gone), 0, 0},
    {PL_FPR_LOST, KEEP_RATE, IN(fpr_lost), 0, 0},
    {PL_SAMPLE, KEEP_WORD, IN(sample), 0, 0},
    {PL_PLOT, KEEP_WORD, IN(plot), 0, 0},
    {PL_JSON, KEEP_FLAG, IN(json), 0, 0},
    {0},
};

static int set_option(void *settings, int id, const char *value) {
    plan_settings *s = settings;
    switch (id) {
    case PL_MEMORY:
        s->memory = value;
        return value_number("--memory", value, 1024, UINT64_C(1) << 50, true, &s->question.memory);
    case PL_WINDOW:
        return set_window(s, value);
    case PL_RATE:
        return set_rate(s, value);
    default:
        keep_words(s, id, value);
        return reading_option(&s->from, id, value);
    }
}

/* Which window fits is asked of a stream in which every record is new. */
static int check_window_question(const plan_settings *s) {
    const weir_plan_question *q = &s->question;
    const char *useless = s->sample         ? "sample"
                          : q->distinct > 0 ? "distinct"
                          : q->records > 0  ? "records"
                                            : NULL;
    if (s->ask_memory)
        return cli_error("--rate asks which window fits a memory, and --fnr which memory fits a "
                         "stream; give a --window, or leave out one of them");
    if (!useless) return EXIT_DONE;
    return cli_error("--rate without --window asks which window fits if every record is new, "
                     "where --%s says nothing; leave it out, or give a --window",
                     useless);
}

static int resolve(plan_settings *s) {
    const weir_plan_question *q = &s->question;
    if (q->fpr > 0.5) return cli_error("--fpr cannot be above 50%%");
    if (s->fpr_lost > 0) {
        if (!(s->fail > 0) || s->sites > 0 || s->sample || s->plot || s->memory || s->window ||
            s->fnr > 0 || q->records > 0 || q->distinct > 0 || q->rate > 0)
            return cli_error("--fpr-lost goes with --fail and --fpr alone: it asks how many sites "
                             "it takes");
        return EXIT_DONE;
    }
    if (s->fail > 0 && !(s->sites > 0))
        return cli_error("--fail goes with --sites, or with --fpr-lost");
    if (s->gone > 0 && !(s->sites > 0)) return cli_error("--chance goes with --sites");
    if (s->sites > 1024) return cli_error("--sites cannot be above 1024");
    if (s->sites > 0) {
        bool rate = q->rate > 0 && !(s->gone > 0);
        if (s->fail > 0 && s->gone > 0)
            return cli_error("--chance says how many may be lost at once; leave out --fail");
        if (s->sample || s->plot || s->window || q->records > 0 || q->distinct > 0 || rate)
            return cli_error("--sites asks about sites, memory and rates alone; ask about the "
                             "stream without it");
        if (!s->memory) s->question.memory = MEMORY_STANDARD;
        if (!(s->fail > 0)) s->fail = 1;
        return EXIT_DONE;
    }
    if (s->fnr > 0 && s->memory)
        return cli_error("--fnr asks how much memory it takes; leave out --memory");
    s->ask_memory = s->fnr > 0;
    if (s->sample && q->distinct > 0 && s->window)
        return cli_error("under a --window a --sample says all about keys; leave out --distinct");
    if (s->sample && q->distinct > 0 && !(q->records > 0))
        return cli_error("--distinct says how a stream longer than its --sample goes on; give "
                         "--records too, or leave it out");
    if (s->ask_memory && !s->sample && !(q->distinct > 0 && q->records > 0))
        return cli_error("--fnr needs to know the stream: --sample, or --records and --distinct");
    if (q->distinct > q->records && q->records > 0)
        return cli_error("there cannot be more --distinct keys than --records");
    if (!s->memory && !s->ask_memory) s->question.memory = MEMORY_STANDARD;
    s->ask_window = q->rate > 0 && !q->window;
    int code = s->ask_window ? check_window_question(s) : EXIT_DONE;
    if (code != EXIT_DONE) return code;
    if (s->from.in.time_field && !s->sample) return cli_error("--time goes with --sample");
    if (s->from.in.number_field && !s->sample) return cli_error("--importance goes with --sample");
    if (s->from.in.time_field && !q->window_is_time)
        return cli_error("--time goes with a --window that is a duration, such as --window 1h");
    if (q->window_is_time && !s->from.in.time_field && !(q->rate > 0))
        return cli_error("--window %s needs --rate, or --sample with --time, to know how many "
                         "records that is",
                         s->window);
    return EXIT_DONE;
}

/* --- the sample ------------------------------------------------------------------------------ */

typedef struct {
    engine engine;
    weir_profile *profile;
} sampling;

static engine_outcome take_batch(void *context, const stream_batch *batch) {
    sampling *c = context;
    const stream_selection *s = &c->engine.selection;
    weir_error err;
    engine_outcome so_far = engine_select(&c->engine, batch);
    if (so_far != ENGINE_GO_ON) return so_far;
    weir_batch keys = {
        .count = s->count, .hashes = s->hashes, .times = s->times, .importances = s->numbers};
    if (weir_profile_observe(c->profile, &keys, &err) != WEIR_OK) {
        cli_error("%s", err.message);
        return ENGINE_TROUBLE;
    }
    return engine_refuse(&c->engine, batch);
}

static void count_records(void *context, uint64_t *records, uint64_t *seen) {
    stream_progress p;
    stream_get_progress(((const sampling *)context)->engine.reader, &p);
    *records = p.records;
    *seen = PROGRESS_NO_REPEATS;
}

static int read_sample(const plan_settings *s, weir_profile **profile) {
    static const engine_consumer consumer = {.take = take_batch, .count = count_records};
    stream_options in = s->from.in;
    weir_error err;
    weir_filter *hasher;
    sampling c = {0};
    if (weir_profile_new(profile, PROFILE_BYTES, &s->question, &err) != WEIR_OK ||
        weir_filter_new(&hasher, "recent:memory=1K,seed=1", &err) != WEIR_OK)
        return cli_error("%s", err.message);
    in.filter = hasher;
    c.profile = *profile;
    engine_init(&c.engine, &consumer, &c, &s->from);
    engine_outcome how = ENGINE_TROUBLE;
    if (engine_open(&c.engine, &in, &s->sample, 1) == EXIT_DONE) {
        engine_start(&c.engine);
        how = engine_run(&c.engine);
        progress_clear();
    }
    engine_release(&c.engine);
    weir_filter_free(hasher);
    return how == ENGINE_ALL_READ ? EXIT_DONE : EXIT_TROUBLE;
}

/* The sample knows its own keys: --distinct can only say something of what follows. */
static int check_distinct(const plan_settings *s, const weir_profile_report *r) {
    char keys[32], records[32], given[32];
    weir_print_count(keys, r->distinct);
    weir_print_count(records, (double)r->records);
    weir_print_count(given, s->question.distinct);
    if (!(s->question.distinct > 0)) return EXIT_DONE;
    if (s->question.distinct < DISTINCT_LEAST * r->distinct)
        return cli_error("--distinct cannot be %s; the sample has %s distinct keys already", given,
                         keys);
    if (s->question.records <= PLAN_LONGER * (double)r->covered)
        return cli_error("the sample of %s records is the whole stream; leave out --distinct",
                         records);
    return EXIT_DONE;
}

static int get_profile(const plan_settings *s, plan_answer *a, weir_profile **profile) {
    weir_error err;
    a->asked = a->question = s->question;
    *profile = NULL;
    if (!s->sample) {
        if (weir_profile_assume(profile, PROFILE_BYTES, &a->question, &err))
            return cli_error("%s", err.message);
        return EXIT_DONE;
    }
    int code = read_sample(s, profile);
    if (code != EXIT_DONE) return code;
    if (weir_profile_get_report(*profile, &a->report, &err))
        return cli_error("'%s': %s", s->sample, err.message);
    a->has_report = true;
    code = check_distinct(s, &a->report);
    if (code != EXIT_DONE) return code;
    if (a->question.records < (double)a->report.records)
        a->question.records = (double)a->report.records;
    return EXIT_DONE;
}

/* --- the answer ------------------------------------------------------------------------------- */

enum { MORE_MOST = 16 }; /* times 1/64 more memory than the search found */

/* Up to a size that reads well: 1/64 more at most. */
static uint64_t round_up(uint64_t memory) {
    uint64_t unit = 1024;
    while (unit * 128 <= memory) unit *= 2;
    return (memory + unit - 1) / unit * unit;
}

/* A window over records that fits, tried on new keys only. */
static int find_window(plan_answer *a, weir_profile **profile) {
    weir_error err;
    uint64_t window;
    weir_plan_choice choice;
    if (weir_plan_window(&a->question, WINDOW_LOSS, &window, &choice, &err))
        return cli_error("%s", err.message);
    a->question = (weir_plan_question){.memory = a->question.memory,
                                       .fpr = a->question.fpr,
                                       .rate = a->question.rate,
                                       .window = (int64_t)window};
    a->has_report = false;
    weir_profile_free(*profile);
    if (weir_profile_assume(profile, PROFILE_BYTES, &a->question, &err))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

static int rank_choices(plan_answer *a, weir_profile *profile) {
    weir_error err;
    if (weir_plan_rank(profile, &a->question, a->choices, PLAN_CHOICES, &a->count, &err))
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

static bool is_at_most(const plan_answer *a, double fnr) {
    return a->count && a->choices[0].usable && a->choices[0].fnr <= fnr;
}

/* More memory may do a little worse than less: what is shown must be as asked for. */
static int find_memory(const plan_settings *s, plan_answer *a, weir_profile *profile) {
    weir_error err;
    weir_plan_choice choice;
    if (weir_plan_memory(profile, &a->question, s->fnr, &choice, &err))
        return cli_error("%s", err.message);
    int code = EXIT_DONE;
    for (uint64_t more = 0; code == EXIT_DONE && more < MORE_MOST; more++) {
        a->question.memory = round_up(choice.memory + choice.memory * more / 64);
        code = rank_choices(a, profile);
        if (is_at_most(a, s->fnr)) break;
    }
    return code;
}

/* The best of those ranked: whether there is one, and how fast they are here. */
static int look_at_choices(plan_answer *a) {
    weir_error err;
    if (!a->count || !a->choices[0].usable)
        return cli_error("no filter keeps fpr=%g in this memory; give more of either",
                         a->question.fpr);
    for (size_t i = 0; i < a->count && i < CALIBRATED && a->choices[i].usable; i++)
        if (weir_plan_calibrate(&a->question, &a->choices[i], CALIBRATE_SECONDS, &err))
            return cli_error("%s", err.message);
    return EXIT_DONE;
}

/* The curves of the best kinds; a point where the bound does not hold is left out. */
static int find_curves(plan_answer *a, weir_profile *profile) {
    weir_error err;
    for (size_t j = 0; j < PLAN_POINTS; j++) {
        double step = pow(CURVE_SPAN * CURVE_SPAN, (double)j / (PLAN_POINTS - 1)) / CURVE_SPAN;
        a->memories[j] = fmax(1024, (double)a->question.memory * step);
    }
    for (size_t i = 0; i < a->count && i < PLAN_CURVES && a->choices[i].usable; i++, a->curves++)
        for (size_t j = 0; j < PLAN_POINTS; j++) {
            weir_plan_question q = a->question;
            weir_plan_choice c = a->choices[i];
            q.memory = (uint64_t)a->memories[j];
            if (weir_plan_try(profile, &q, &c, &err)) return cli_error("%s", err.message);
            a->curve[i][j] = c.usable ? c.fnr : NAN;
        }
    return EXIT_DONE;
}

static int answer(const plan_settings *s, plan_answer *a) {
    weir_profile *profile;
    int code = get_profile(s, a, &profile);
    if (code == EXIT_DONE && s->ask_window) code = find_window(a, &profile);
    if (code == EXIT_DONE)
        code = s->ask_memory ? find_memory(s, a, profile) : rank_choices(a, profile);
    if (code == EXIT_DONE) code = look_at_choices(a);
    if (code == EXIT_DONE) code = find_curves(a, profile);
    weir_profile_free(profile);
    if (code == EXIT_DONE && s->plot) code = plan_show_svg(s, a);
    if (code != EXIT_DONE) return code;
    if (s->json) plan_show_json(s, a);
    else plan_show_text(s, a);
    return cli_finish_stdout();
}

static int run_plan(int argc, char **argv) {
    opt_parser parser;
    plan_settings s = {.from = reading_defaults(), .question = {.fpr = 1e-6}};
    int code;
    opt_init(&parser, &cmd_plan, argc, argv);
    if (!opt_read(&parser, targets, &s, set_option, &code)) return code;
    if (parser.operands)
        return cli_error("'%s' is not an option; a sample is given as --sample FILE", argv[0]);
    code = reading_resolve(&s.from, 0, argv);
    if (code == EXIT_DONE) code = resolve(&s);
    if (code != EXIT_DONE) return code;
    if (s.fpr_lost > 0) return plan_least_sites(&s);
    if (s.gone > 0) return plan_servers(&s);
    if (s.sites > 0) return plan_sites(&s);
    if (s.sample && strcmp(s.sample, "-") != 0) {
        size_t used = strlen(s.words);
        add_words(s.words, "", s.sample);
        memmove(s.words + used + 1, s.words + used + 4, strlen(s.words + used + 4) + 1);
    }
    plan_answer *a = calloc(1, sizeof *a);
    if (!a) return cli_error("out of memory");
    code = answer(&s, a);
    free(a);
    return code;
}

/* --- the manual ---------------------------------------------------------------------------------
 */

static const opt_section plan_sections[] = {
    {"EXAMPLES",
     "Which filter for 64M, if one new record in a hundred may be lost?\n"
     "\n"
     "    weir plan --memory 64M --fpr 1%\n"
     "\n"
     "A billion records of a hundred million keys: how much memory so that at most 1% of the "
     "repeats pass?\n"
     "\n"
     "    weir plan --records 1G --distinct 100M --fnr 1%\n"
     "\n"
     "How long a window fits 64M at 50 thousand records a second?\n"
     "\n"
     "    weir plan --memory 64M --fpr 0.1% --rate 50K/s\n"
     "\n"
     "Forty sites, of which eight may fail at once:\n"
     "\n"
     "    weir plan --sites 40 --fail 8 --memory 64M --fpr 1%\n"
     "\n"
     "Ten servers, each gone for a thousandth of the time, two million records a second:\n"
     "\n"
     "    weir plan --sites 10 --chance 0.1% --rate 2M/s --memory 16G --fpr 0.01%\n"
     "\n"
     "Over how many sites, so that with eight of them lost at most 5% of the new records are "
     "lost?\n"
     "\n"
     "    weir plan --fail 8 --fpr 1% --fpr-lost 5%\n"
     "\n"
     "By a sample, for a stream that is going to be a hundred times as long:\n"
     "\n"
     "    weir plan --memory 16M --sample day1.csv --format csv --header --key user \\\n"
     "        --records 3G --plot error.svg"},
    {"WHAT THE TABLE SAYS",
     "= fpr most\nthe highest rate at which new records are lost, at the end of the stream\n\n"
     "= fnr, fnr within\nthe share of the repeats that will pass as new, and the range in which a "
     "real run should lie: two standard deviations, and 10% and half a point for what another seed "
     "and a scaled replay change; beyond the length of the sample three points and 60% below this "
     "and the formula, and 30% above, or 60% without one\n\n"
     "= formula\nthe same by the filter's own formulas, where it has any. They look only at the "
     "gaps between repeats. On the reference streams they come within a quarter of what is "
     "measured, or five points\n\n"
     "= by importance\nwith `--importance` a repeat that passes counts as much as it matters: the "
     "share is of the sum of the importances of all repeats, those below 0 counting as 0\n\n"
     "= places\nplaces of memory looked at for each key\n\n"
     "= keys/s\nmeasured on this machine just now, with keys that are all new, at the memory in "
     "question but at most 64M of it; reading records is not in it"},
    {"METHOD",
     "The sample is read once. Of at most 1.4 million records every occurrence is kept; when there "
     "are more, those of every second, fourth, ... key, chosen by hash. Gaps, distances, growth, "
     "skew and drift are exact for the keys that are kept. Each filter is then given the kept "
     "records and as large a part of the memory as keys were kept, and judged against the truth. "
     "Where a smaller part of the memory would be too small to behave like the whole, only the "
     "beginning of a long sample is used.\n"
     "\n"
     "A stream longer than the sample is taken to go on as it does: distinct keys grow on the "
     "curve A(1-(1+cn)^-a) through those of the sample (or to `--distinct`), and a repeat from n "
     "records back, beyond half of the sample, is as frequent as that growth says. Each filter is "
     "replayed in a memory in which the sample's keys crowd as all keys will, and forgets by "
     "distance as it does there.\n"
     "\n"
     "Without a sample the stream is drawn: keys that are all alike, `--distinct` of them; with "
     "`--window` and no `--distinct` new keys of which one in ten comes again within the window. "
     "Keys that are all alike are the hardest case for a filter that forgets: real streams mostly "
     "do better.\n"
     "\n"
     "Usable is what keeps `--fpr` to the end of the stream, with a twentieth more keys than "
     "expected. Of these the one with the fewest false negatives is recommended, and `recent` "
     "where it is as good within 5%."},
    {"JSON",
     "= version, fpr\nthe version of weir, and the bound asked for\n\n"
     "= stream\n`assumed`, `records`, `distinct`, `window_records`, `window_seconds`, `rate`: what "
     "is planned for; `window_fits_seconds` if that was the question\n\n"
     "= sample\n`null`, or `records`, `covered` (of these, looked at), `one_in` (keys), `kept`, "
     "`distinct`, `growth`, `gap_median`, `gap_90`, `distance_median`, `distance_90`, `zipf`, "
     "`drift`\n\n"
     "= choices\nbest first: `filter`, `usable`, and `memory`, `positions`, `fpr`, `fnr`, "
     "`fnr_low`, `fnr_high`, `formula_fnr`, `keys_per_second`, or `why` it is not usable\n\n"
     "= curves\nof the best: `filter` and `points` of `memory` and `fnr`\n\n"
     "= recommended, command\nthe first choice, and the line to run\n\n"
     "With `--sites` and `--chance` it has `nodes`, `slices`, `slice_memory`, `replicas`, "
     "`durability`, `keys`, `passes` (the share of the repeats that pass as no copy of their slice "
     "is there), `lost` (servers without a copy at once, but for a thousandth of the time), "
     "`node_keys` and `node_bytes` a second, `forgotten` (keys, by a failover that nobody waited "
     "for) and `forgotten_part`. With `--sites` and `--fail` it has none of these but `sites`, "
     "`lost` (how many may be), and `horizontal` "
     "and `vertical`, each with `best`, `spec`, `keys` (that it holds), `messages` (for a key), "
     "`fpr`, and `fpr_lost` and `fnr_lost` with so many sites lost. With `--fpr-lost`: `lost`, "
     "`fpr`, `fpr_lost`, and `sites_horizontal`, `sites_vertical` and its `k`."},
    {"EXIT STATUS", "= 0\nThere is an answer.\n\n"
                    "= 2\nTrouble, such as a sample too small to judge by: one line on standard "
                    "error says what."},
    {0},
};

const opt_command cmd_plan = {
    .name = "plan",
    .operands = "",
    .operand_glob = "",
    .summary = "choose a filter and its memory, and say what errors to expect",
    .description =
        "Says which filter to use for a stream, with which options, and what it will cost: the "
        "bound on lost records, the share of repeats that will pass, the memory, the speed on this "
        "machine. It ends with the line to run.\n"
        "\n"
        "The best answer comes from a `--sample` of the stream, through which all filters are "
        "tried. Without one it goes by the numbers of records and distinct keys, and says what it "
        "assumes. Asked the other way around it finds the memory for an error (`--fnr`) or the "
        "window for a memory (`--rate`).",
    .options = plan_table,
    .sections = plan_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-filters(7)`",
    .run = run_plan,
};
