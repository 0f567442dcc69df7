/* lab_run.c - runs the units of experiments on several threads and keeps them.
 *
 * A unit is a case and a seed. Those that the book has are not run again. The
 * others go through one queue; each is written to the book the moment it is done,
 * so stopping at any instant loses only what is under way. Experiments that
 * measure time come last, one unit at a time. The main thread only watches: it
 * tells the progress and hears the wish to stop.
 */
#include "lab_run.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lab_error.h"
#include "lab_result.h"
#include "lab_room.h"
#include "lab_stream.h"

enum { MOST_JOBS = 256, WATCH_MS = 100 };
#define MEMORY_SHARE 0.9 /* of what is free may be taken */

enum { MOST_TOLD = 64 };

struct lab_work {
    const lab_session *session;
    lab_book *book;
    lab_unit *units;
    size_t count, next, last; /* units next..last-1 are free to take */
    unsigned running;
    atomic_uint_least64_t done; /* nanoseconds of a processor, about */
    uint64_t total;
    atomic_bool stop;
    const char *now; /* the experiment that was begun last */
    weir_error error;
    pthread_mutex_t lock;
    pthread_cond_t quiet;
    struct {
        const lab_experiment *of;
        char why[sizeof((weir_error *)0)->message];
    } told[MOST_TOLD]; /* of cases that were left out; more are told again */
    size_t told_count;
};

void lab_warn(const lab_session *session, const char *format, ...) {
    char line[1024];
    va_list args;
    if (!session->warn) return;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    session->warn(session->context, line);
}

/* --- what a run function calls ------------------------------------------------------ */

weir_status lab_emit(lab_unit *unit, const double *values) {
    size_t columns = lab_column_count(unit->experiment);
    if (unit->rows == unit->room) {
        size_t room = unit->room ? 2 * unit->room : 4;
        double *larger = realloc(unit->values, room * columns * sizeof *larger);
        if (!larger) return lab_fail(unit, WEIR_ERR_MEMORY, "out of memory");
        unit->values = larger;
        unit->room = room;
    }
    memcpy(unit->values + unit->rows++ * columns, values, columns * sizeof *values);
    return WEIR_OK;
}

static double nanoseconds(const lab_experiment *e, double cost) {
    return cost * (e->ns > 0 ? e->ns : 100);
}

static uint64_t cost_of(const lab_unit *unit) {
    const lab_experiment *e = unit->experiment;
    double cost = e->cost ? e->cost(unit->c, unit->size, unit->scale) : unit->size;
    return cost >= 1 ? (uint64_t)nanoseconds(e, cost) : 1;
}

bool lab_tick(lab_unit *unit, uint64_t records) {
    uint64_t left = cost_of(unit) - unit->ticked;
    uint64_t more = (uint64_t)nanoseconds(unit->experiment, (double)records);
    if (more > left) more = left; /* costs are estimates */
    unit->ticked += more;
    atomic_fetch_add(&unit->work->done, more);
    return !atomic_load(&unit->work->stop);
}

weir_status lab_fail(lab_unit *unit, weir_status code, const char *format, ...) {
    va_list args;
    unit->error.code = code;
    unit->error.offset = -1;
    va_start(args, format);
    vsnprintf(unit->error.message, sizeof unit->error.message, format, args);
    va_end(args);
    return code;
}

/* --- one unit ------------------------------------------------------------------------- */

/* Said once for all cases and seeds of an experiment that have the same reason. */
static bool is_told(lab_work *work, const lab_unit *unit) {
    for (size_t i = 0; i < work->told_count; i++)
        if (work->told[i].of == unit->experiment && !strcmp(work->told[i].why, unit->error.message))
            return true;
    if (work->told_count == MOST_TOLD) return false;
    work->told[work->told_count].of = unit->experiment;
    memcpy(work->told[work->told_count++].why, unit->error.message, sizeof unit->error.message);
    return false;
}

static void finish_unit(lab_work *work, lab_unit *unit, weir_status status) {
    const char *panel = unit->c->panel ? unit->c->panel : "";
    if (status == WEIR_ERR_IO) {
        if (!is_told(work, unit))
            lab_warn(work->session, "%s, %s%s%s is left out: %s", unit->experiment->name, panel,
                     *panel ? ", " : "", unit->c->label, unit->error.message);
    } else if (status) {
        if (!work->error.code)
            lab_error(&work->error, status, -1, "%s, %s%s%s: %.240s", unit->experiment->name, panel,
                      *panel ? ", " : "", unit->c->label, unit->error.message);
        atomic_store(&work->stop, true);
    } else if (!atomic_load(&work->stop) && unit->rows) {
        if (lab_book_add(work->book, unit, &work->error)) atomic_store(&work->stop, true);
    }
    free(unit->values);
    unit->values = NULL;
}

/* Of a processor, by this thread. */
static double thread_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *work_on_units(void *context) {
    lab_work *work = context;
    pthread_mutex_lock(&work->lock);
    while (work->next < work->last && !atomic_load(&work->stop)) {
        lab_unit *unit = &work->units[work->next++];
        work->now = unit->experiment->name;
        pthread_mutex_unlock(&work->lock);
        double start = thread_seconds();
        weir_status status = unit->experiment->run(unit);
        unit->seconds = thread_seconds() - start;
        atomic_fetch_add(&work->done, cost_of(unit) - unit->ticked);
        pthread_mutex_lock(&work->lock);
        finish_unit(work, unit, status);
    }
    if (--work->running == 0) pthread_cond_signal(&work->quiet);
    pthread_mutex_unlock(&work->lock);
    return NULL;
}

static void watch(lab_work *work) {
    const lab_session *s = work->session;
    pthread_mutex_lock(&work->lock);
    while (work->running) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        pthread_cond_timedwait(&work->quiet, &work->lock, &until);
        if (s->stop && *s->stop) atomic_store(&work->stop, true);
        if (s->progress && work->now)
            s->progress(s->context, work->now, atomic_load(&work->done), work->total);
    }
    pthread_mutex_unlock(&work->lock);
}

static weir_status run_stretch(lab_work *work, size_t from, size_t to, unsigned jobs) {
    pthread_t threads[MOST_JOBS];
    unsigned started = 0;
    if (from == to) return WEIR_OK;
    work->next = from;
    work->last = to;
    if (jobs > to - from) jobs = (unsigned)(to - from);
    work->running = jobs;
    while (started < jobs && !pthread_create(&threads[started], NULL, work_on_units, work))
        started++;
    pthread_mutex_lock(&work->lock);
    work->running -= jobs - started;
    pthread_mutex_unlock(&work->lock);
    if (!started) return lab_error(&work->error, WEIR_ERR_MEMORY, -1, "no thread can be started");
    watch(work);
    while (started > 0) pthread_join(threads[--started], NULL);
    return work->error.code;
}

/* --- which units ------------------------------------------------------------------------ */

static unsigned seeds_of(const lab_session *s, const lab_experiment *e) {
    if (s->seeds) return s->seeds;
    unsigned seeds = s->full ? e->full_seeds : e->quick_seeds;
    return seeds ? seeds : 1;
}

static bool matches(const lab_experiment *e, int count, char *const *names) {
    if (!count) return true;
    for (int i = 0; i < count; i++)
        if (!strcmp(names[i], "all") || !fnmatch(names[i], e->name, 0)) return true;
    return false;
}

static weir_status check_names(int count, char *const *names, weir_error *err) {
    char all[4096] = "", near[64];
    size_t used = 0;
    for (size_t i = 0; lab_experiment_at(i); i++)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? "|" : "",
                                 lab_experiment_at(i)->name);
    for (int n = 0; n < count; n++) {
        size_t i = 0;
        while (lab_experiment_at(i) && !matches(lab_experiment_at(i), 1, names + n)) i++;
        if (lab_experiment_at(i)) continue;
        if (weir_nearest(names[n], all, near))
            return lab_error(err, WEIR_ERR_SPEC, -1, "no experiment '%s'; did you mean '%s'?",
                             names[n], near);
        return lab_error(err, WEIR_ERR_SPEC, -1, "no experiment '%s'; 'weir lab list' names them",
                         names[n]);
    }
    return WEIR_OK;
}

static void fill_unit(lab_unit *unit, lab_work *work, const lab_experiment *e, size_t c,
                      uint64_t seed) {
    bool full = work->session->full;
    *unit = (lab_unit){.experiment = e,
                       .c = &e->cases[c],
                       .index = c,
                       .seed = seed,
                       .full = full,
                       .size = full ? e->full : e->quick,
                       .work = work};
    unit->scale = e->full > 0 ? unit->size / e->full : 1;
}

/* Units of one experiment; adds to work->units if there is room for them. */
static size_t lay_out(lab_work *work, const lab_experiment *e, size_t at, lab_outcome *outcome) {
    unsigned seeds = seeds_of(work->session, e);
    for (size_t c = 0; e->cases[c].label; c++) {
        if (!lab_case_applies(&e->cases[c], work->session->full)) continue;
        for (uint64_t seed = 1; seed <= seeds; seed++) {
            outcome->units++;
            if (lab_book_find(work->book, e, work->session->full, c, seed)) {
                outcome->cached++;
                continue;
            }
            fill_unit(&work->units[at++], work, e, c, seed);
        }
    }
    return at;
}

static size_t count_units(const lab_session *s, const lab_experiment *e) {
    size_t cases = 0;
    while (e->cases[cases].label) cases++;
    return cases * seeds_of(s, e);
}

/* Long units first, so that no thread is left with one at the end. */
static int by_cost(const void *a, const void *b) {
    const lab_unit *x = a, *y = b;
    if (x->experiment->alone != y->experiment->alone) return x->experiment->alone ? 1 : -1;
    uint64_t cost_x = cost_of(x), cost_y = cost_of(y);
    if (cost_x != cost_y) return cost_x > cost_y ? -1 : 1;
    return x < y ? -1 : x > y;
}

static weir_status plan(lab_work *work, int count, char *const *names, lab_outcome *outcome,
                        weir_error *err) {
    size_t room = 0;
    for (size_t i = 0; lab_experiment_at(i); i++)
        if (matches(lab_experiment_at(i), count, names))
            room += count_units(work->session, lab_experiment_at(i));
    work->units = calloc(room + 1, sizeof *work->units);
    if (!work->units) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (size_t i = 0; lab_experiment_at(i); i++) {
        if (!matches(lab_experiment_at(i), count, names)) continue;
        outcome->experiments++;
        work->count = lay_out(work, lab_experiment_at(i), work->count, outcome);
    }
    qsort(work->units, work->count, sizeof *work->units, by_cost);
    for (size_t i = 0; i < work->count; i++) work->total += cost_of(&work->units[i]);
    return WEIR_OK;
}

/* --- will it fit ------------------------------------------------------------------------- */

static double memory_of(const lab_unit *unit) {
    const lab_experiment *e = unit->experiment;
    return e->memory ? e->memory(unit->c, unit->size, unit->scale) : 0;
}

static int by_memory(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* How many units may run at a time: the largest of them must fit together. */
static weir_status fit_memory(const lab_work *work, unsigned *jobs, weir_error *err) {
    double room = MEMORY_SHARE * (double)lab_free_memory(), sum = 0;
    double *needs = calloc(work->count + 1, sizeof *needs);
    const lab_unit *largest = NULL;
    if (!needs) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    for (size_t i = 0; i < work->count; i++) {
        needs[i] = memory_of(&work->units[i]);
        if (!largest || needs[i] > memory_of(largest)) largest = &work->units[i];
    }
    qsort(needs, work->count, sizeof *needs, by_memory);
    unsigned fit = 0;
    while (fit < *jobs && fit < work->count && sum + needs[fit] <= room) sum += needs[fit++];
    double most = work->count ? needs[0] : 0;
    free(needs);
    if (fit) *jobs = fit;
    if (fit || !work->count) return WEIR_OK;
    char need[32], have[32];
    return lab_error(err, WEIR_ERR_MEMORY, -1,
                     "%s needs %s of memory and %s can be had; run it %son a larger machine",
                     largest->experiment->name, weir_print_size(need, (uint64_t)most),
                     weir_print_size(have, (uint64_t)room),
                     work->session->full ? "without --full, or " : "");
}

static unsigned core_count(void) {
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (unsigned)cores : 1;
}

/* --- the session --------------------------------------------------------------------------- */

static weir_status run_units(lab_work *work, weir_error *err) {
    unsigned jobs = work->session->jobs ? work->session->jobs : core_count();
    if (jobs > MOST_JOBS) jobs = MOST_JOBS;
    weir_status status = fit_memory(work, &jobs, err);
    if (status) return status;
    size_t shared = 0;
    while (shared < work->count && !work->units[shared].experiment->alone) shared++;
    pthread_mutex_init(&work->lock, NULL);
    pthread_cond_init(&work->quiet, NULL);
    status = run_stretch(work, 0, shared, jobs);
    if (!status && !atomic_load(&work->stop)) status = run_stretch(work, shared, work->count, 1);
    pthread_cond_destroy(&work->quiet);
    pthread_mutex_destroy(&work->lock);
    if (status && err) *err = work->error;
    return status;
}

/* Tables and figures of one experiment, and its lines of the summary. */
static weir_status conclude(const lab_session *s, const lab_book *book, const lab_experiment *e,
                            bool draw, bool json, FILE *out, lab_outcome *outcome,
                            weir_error *err) {
    lab_result *result;
    weir_status status = lab_result_new(&result, book, e, s->full, err);
    if (status || !result) return status;
    lab_judgement j = lab_result_judge(result);
    lab_verdict expected = s->full ? e->full_expected : e->quick_expected;
    bool samples = lab_data_sampled() && lab_reads_real(e);
    bool whole = lab_result_whole(result, 1), worse = whole && j.verdict < expected && !samples;
    outcome->worse += worse;
    if (json) {
        fputs(outcome->experiments++ ? ",\n" : "", out);
        lab_table_json(result, out);
    } else {
        char numbers[48] = "";
        if (j.numbers) snprintf(numbers, sizeof numbers, "%u/%u numbers ", j.within, j.numbers);
        fprintf(out, "%-20s %-11s %s%u/%u claims in %.1fs%s%s%s%s\n", e->name,
                lab_verdict_text(j.verdict), numbers, j.held, j.claims, result->seconds,
                samples ? "; on samples" : "", whole ? "" : "; cases are missing",
                worse ? "; worse than expected: " : "", worse ? lab_verdict_text(expected) : "");
        outcome->experiments++;
    }
    status = lab_write_result(s, result, draw, err);
    lab_result_free(result);
    return status;
}

static weir_status conclude_all(const lab_session *s, const lab_book *book, int count,
                                char *const *names, bool json, FILE *out, lab_outcome *outcome,
                                weir_error *err) {
    weir_status status = WEIR_OK;
    bool draw = lab_check_plot(s);
    outcome->experiments = 0;
    if (json) fputs("{\"experiments\": [\n", out);
    for (size_t i = 0; !status && lab_experiment_at(i); i++)
        if (matches(lab_experiment_at(i), count, names))
            status = conclude(s, book, lab_experiment_at(i), draw, json, out, outcome, err);
    if (json) fputs("]}\n", out);
    return status;
}

weir_status lab_run(const lab_session *session, int count, char *const *names, bool json, FILE *out,
                    lab_outcome *outcome, weir_error *err) {
    lab_work work = {.session = session};
    memset(outcome, 0, sizeof *outcome);
    weir_status status = check_names(count, names, err);
    if (!status) status = lab_book_open(&work.book, session->out, true, err);
    if (!status && lab_book_stale(work.book))
        lab_warn(session, "%zu results in '%s' are of other versions of the code and are not used",
                 lab_book_stale(work.book), session->out);
    if (!status) status = plan(&work, count, names, outcome, err);
    if (!status) status = run_units(&work, err);
    outcome->stopped = session->stop && *session->stop;
    if (!status && !outcome->stopped)
        status = conclude_all(session, work.book, count, names, json, out, outcome, err);
    free(work.units);
    lab_book_close(work.book);
    return status;
}

/* Seconds of a processor that an experiment takes, about, with the seeds it asks for. */
static double planned_seconds(const lab_experiment *e, bool full) {
    lab_session session = {.full = full};
    lab_work work = {.session = &session};
    double sum = 0;
    for (size_t c = 0; e->cases[c].label; c++) {
        lab_unit unit;
        fill_unit(&unit, &work, e, c, 1);
        if (lab_case_applies(&e->cases[c], full)) sum += (double)cost_of(&unit) * 1e-9;
    }
    return sum * seeds_of(&session, e);
}

static void widen(int *width, const char *text) {
    int length = (int)strlen(text);
    if (length > *width) *width = length;
}

static void list_text(FILE *out) {
    const lab_experiment *e;
    int name = 0, source = 0;
    for (size_t i = 0; (e = lab_experiment_at(i)); i++) {
        widen(&name, e->name);
        widen(&source, e->source);
    }
    for (size_t i = 0; (e = lab_experiment_at(i)); i++)
        fprintf(out, "%-*s  %-*s  %s\n", name, e->name, source, e->source, e->title);
}

static void list_json(FILE *out) {
    const lab_experiment *e;
    fputs("[", out);
    for (size_t i = 0; (e = lab_experiment_at(i)); i++) {
        fprintf(out, "%s{\"name\": ", i ? ",\n " : "");
        lab_json_text(e->name, out);
        fputs(", \"source\": ", out);
        lab_json_text(e->source, out);
        fputs(", \"title\": ", out);
        lab_json_text(e->title, out);
        fputs(", \"claim\": ", out);
        lab_json_text(e->claim, out);
        fprintf(out, ", \"quick\": %.0f, \"full\": %.0f", e->quick, e->full);
        fprintf(out, ", \"quick_seconds\": %.3g, \"full_seconds\": %.3g}",
                planned_seconds(e, false), planned_seconds(e, true));
    }
    fputs("]\n", out);
}

void lab_list(FILE *out, bool json) {
    if (json) list_json(out);
    else list_text(out);
}
