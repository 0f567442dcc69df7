/* exp_live_faults.c - sites on servers: producers that race, and servers that fail.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011, sections 3 (fault tolerance) and 6
 * (concurrency). The paper has no figures of these: what is measured here is what it says can
 * happen, two producers that are both told NEW, and what must not, a record that nobody lets
 * through.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab_live.h"
#include "lab_rng.h"
#include "weir_remote.h"
#include "weir_sites.h"

enum { SERVERS = 4, PRODUCERS_MOST = 4, RACE_K = 4 };

static void nap(long ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* --- producers that race
 * --------------------------------------------------------------------------- */

static const lab_column race_columns[] = {
    {"producers", "producers", NULL, true, 0, 0},
    {"keys", "keys, each offered by all", NULL, true, 0, 0},
    {"twice", "keys that came out more than once", "%", false, 0, 0},
    {"bound", "bound", "%", false, 0, 0},
    {"never", "keys that came out never", NULL, false, 0, 0},
    {"us", "time of a key", "us", false, 0, 0},
    {0}};

/* Producers with a connection each, that offer the same keys at the same instant: one at a time by
 * messages, or in batches. */
typedef struct {
    lab_unit *unit;
    weir_live *live;
    weir_remote *remote;
    pthread_barrier_t *start;
    _Atomic unsigned *news; /* of each key */
    size_t keys, batch;
    uint64_t number;
    bool good;
} producer;

static bool offer(producer *p, const weir_batch *batch, uint64_t *verdicts) {
    weir_error err;
    if (p->live) {
        weir_filter_offer_batch(weir_live_filter(p->live), batch, verdicts);
        return weir_live_good(p->live, &err);
    }
    return weir_remote_submit(p->remote, batch, &err) == WEIR_OK &&
           weir_remote_collect(p->remote, verdicts, NULL, &err) == WEIR_OK;
}

static void *race(void *context) {
    enum { BATCH_MOST = 512 };
    producer *p = context;
    uint64_t hashes[BATCH_MOST], numbers[BATCH_MOST], verdicts[BATCH_MOST / 64] = {0};
    for (size_t at = 0; at < p->keys; at += p->batch) {
        size_t n = p->keys - at < p->batch ? p->keys - at : p->batch;
        for (size_t i = 0; i < n; i++) {
            hashes[i] = lab_hash_id(at + i, p->unit->seed);
            numbers[i] = p->number;
        }
        pthread_barrier_wait(p->start);
        p->good &=
            offer(p, &(weir_batch){.count = n, .hashes = hashes, .producers = numbers}, verdicts);
        for (size_t i = 0; i < n; i++) p->news[at + i] += !(verdicts[i / 64] >> i % 64 & 1);
    }
    return NULL;
}

static weir_status open_producer(lab_unit *unit, producer *p, const lab_servers *servers,
                                 const char *name, const char *spec) {
    char url[128];
    lab_servers_url(servers, name, url);
    if (p->batch == 1) {
        weir_live_options options = {.leaves_on_servers = false};
        return weir_live_open(&p->live, url, spec, &options, &unit->error);
    }
    weir_remote_options options = {.in_flight = 1};
    weir_status status = weir_remote_open(&p->remote, url, &options, &unit->error);
    return status ? status : weir_remote_begin(p->remote, spec, 0, &unit->error);
}

/* Of keys whose places lie at d of the sites, two producers that test and set in any order are both
 * told NEW unless one is first at all of them: 1 - P^(1 - d) for P producers. */
static double bound_of(const char *spec, size_t producers, size_t keys, uint64_t seed) {
    weir_filter *filter;
    weir_cut cut;
    double sum = 0;
    if (!strstr(spec, "test-and-set") || weir_filter_new(&filter, spec, NULL)) return 0;
    weir_filter_get_cut(filter, &cut, NULL);
    for (size_t i = 0; i < keys; i++) {
        uint64_t places[64], met = 0;
        weir_filter_find_places(filter, lab_hash_id(i, seed), places);
        for (unsigned k = 0; k < cut.k; k++)
            met |=
                UINT64_C(1) << (unsigned)((unsigned __int128)places[k] * cut.slices / cut.places);
        sum += 1 - pow((double)producers, 1 - (double)__builtin_popcountll(met));
    }
    weir_filter_free(filter);
    return 100 * sum / (double)keys;
}

/* In batches of b keys two keys of one batch take the same of a slice's C claims with chance b / C,
 * and so may be told NEW twice. */
static double bound_of_claims(size_t batch) {
    enum { CLAIMS = 16384 };
    return 100 * 2 * (double)batch / CLAIMS;
}

typedef struct {
    double twice, never, seconds;
} outcome;

static void run_threads(producer *p, size_t producers) {
    pthread_t threads[PRODUCERS_MOST];
    for (size_t i = 0; i < producers; i++)
        if (pthread_create(&threads[i], NULL, race, &p[i])) abort();
    for (size_t i = 0; i < producers; i++) pthread_join(threads[i], NULL);
}

static weir_status run_producers(lab_unit *unit, const lab_servers *servers, size_t producers,
                                 const char *spec, size_t batch, outcome *out) {
    producer p[PRODUCERS_MOST] = {0};
    pthread_barrier_t start;
    size_t keys = (size_t)unit->size, opened = 0;
    char name[32];
    struct timespec from, to;
    _Atomic unsigned *news = calloc(keys, sizeof *news);
    weir_status status = WEIR_OK;
    if (!news) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory");
    snprintf(name, sizeof name, "race%zu", producers);
    pthread_barrier_init(&start, NULL, (unsigned)producers);
    for (; opened < producers && !status; opened++) {
        p[opened] = (producer){.unit = unit,
                               .start = &start,
                               .news = news,
                               .keys = keys,
                               .batch = batch,
                               .number = opened,
                               .good = true};
        status = open_producer(unit, &p[opened], servers, name, spec);
    }
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (!status) run_threads(p, producers);
    clock_gettime(CLOCK_MONOTONIC, &to);
    *out = (outcome){.seconds = (double)(to.tv_sec - from.tv_sec) +
                                1e-9 * (double)(to.tv_nsec - from.tv_nsec)};
    for (size_t i = 0; i < keys && !status; i++) out->twice += news[i] > 1, out->never += !news[i];
    for (size_t i = 0; i < opened; i++) {
        if (!status && !p[i].good) status = lab_fail(unit, WEIR_ERR_IO, "a server failed");
        weir_live_close(p[i].live);
        weir_remote_close(p[i].remote);
    }
    pthread_barrier_destroy(&start);
    free(news);
    return status;
}

static weir_status run_race(lab_unit *unit) {
    static const size_t counts[] = {2, PRODUCERS_MOST};
    char spec[320];
    lab_servers *servers;
    size_t batch = unit->c->p[0] > 0 ? (size_t)unit->c->p[0] : 1;
    weir_status status = lab_servers_start(&servers, unit, SERVERS, false);
    /* so wide that no key is taken for another */
    snprintf(spec, sizeof spec, "%s,memory=4M,seed=%llu", unit->c->filter,
             (unsigned long long)unit->seed);
    for (size_t i = 0; i < 2 && !status; i++) {
        outcome o = {0};
        status = run_producers(unit, servers, counts[i], spec, batch, &o);
        if (status) break;
        double bound = bound_of(spec, counts[i], (size_t)unit->size, unit->seed);
        if (batch > 1 && strstr(spec, "vertical")) bound = bound_of_claims(batch);
        double row[] = {(double)counts[i],
                        unit->size,
                        lab_percent(o.twice, unit->size),
                        bound,
                        o.never,
                        1e6 * o.seconds / unit->size};
        status = lab_emit(unit, row);
        if (!lab_tick(unit, (uint64_t)unit->size * counts[i])) break;
    }
    lab_servers_stop(servers);
    return status;
}

static bool within_the_bound(const lab_result *r, lab_words *found) {
    double most = 0;
    size_t cells = 0, over = 0;
    char where[64] = "";
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, cells++) {
            double twice = lab_mean(r, c, row, "twice"), bound = lab_mean(r, c, row, "bound");
            over += twice > bound;
            if (twice <= most) continue;
            most = twice;
            snprintf(where, sizeof where, " (%.50s)", lab_case_at(r, c)->label);
        }
    return lab_say(found, cells && !over,
                   "Beyond the bound in %zu of %zu cells; the most is %.2f%%%s.", over, cells, most,
                   where);
}

static bool deciders_prevent_it(const lab_result *r, lab_words *found) {
    double twice = 0;
    size_t cells = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            if (lab_mean(r, c, row, "bound") > 0) continue;
            twice += lab_mean(r, c, row, "twice");
            cells++;
        }
    return lab_say(found, cells && twice == 0, "In %zu cells without a bound above 0: %.2f%%.",
                   cells, twice);
}

static bool none_is_lost(const lab_result *r, lab_words *found) {
    double never = 0;
    size_t cells = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++, cells++)
            never += lab_mean(r, c, row, "never");
    return lab_say(found, cells && never == 0, "%.0f keys in %zu cells.", never, cells);
}

#define NODES "of=(bloom:layout=classic,k=4)"
static const lab_case race_cases[] = {
    {.label = "horizontal", .filter = "horizontal:slices=4," NODES},
    {.label = "vertical, parallel", .filter = "vertical:slices=4,probe=parallel," NODES},
    {.label = "vertical, pipelined", .filter = "vertical:slices=4,probe=pipeline," NODES},
    {.label = "vertical, test-and-set",
     .filter = "vertical:slices=4,probe=parallel,primitive=test-and-set," NODES},
    {.label = "tree, dense", .filter = "tree:fanout=4,mode=dense," NODES},
    {.label = "tree, sparse", .filter = "tree:fanout=4,mode=sparse," NODES},
    {.label = "tree, sparse, root vertical",
     .filter = "tree:fanout=4,mode=sparse,root=(vertical:slices=4," NODES ")," NODES},
    {.label = "keys in batches of 256", .filter = "bloom:layout=classic,k=4", .p = {256}},
    {.label = "vertical in batches of 256", .filter = "vertical:slices=4," NODES, .p = {256}},
    {0}};

static const lab_claim race_claims[] = {
    {true,
     "With concurrent accesses an interleaving may lead to false negatives; operations that are "
     "atomic handle that.",
     deciders_prevent_it,
     "where a site decides, no key comes out twice, with two producers and with four", LAB_WORDS},
    {false, "Where nothing decides, it is bounded.", within_the_bound,
     "no more keys come out twice than the bound says", LAB_WORDS},
    {true, "No key is lost by it.", none_is_lost, "each comes out at least once", LAB_WORDS},
    {0}};

/* --- servers that fail
 * ------------------------------------------------------------------------------- */

static const lab_column fault_columns[] = {
    {"silent", "sites without an answer", NULL, false, 0, 0},
    {"back", "sites that answered again", NULL, false, 0, 0},
    {"empty", "sites that came back empty", NULL, false, 0, 0},
    {"rewound", "sites that lacked writes", NULL, false, 0, 0},
    {"keys", "keys, each offered twice", NULL, true, 0, 0},
    {"lost", "keys that came out never", NULL, false, 0, 0},
    {"passed", "keys that came out twice", NULL, false, 0, 0},
    {"lines", "lines said", NULL, false, 0, 0},
    {0}};

typedef enum { NO_FAULT, KILLED, RESTORED, PAUSED, CUT } fault;

typedef struct {
    lab_unit *unit;
    lab_servers *servers;
    weir_live *live;
    unsigned *news;
    size_t keys, spare; /* those that are counted, and the next beyond them */
    double lines;
} sufferer;

static void count_lines(void *context, const char *message) {
    (void)message;
    ((sufferer *)context)->lines++;
}

static void offer_some(sufferer *s, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        uint64_t hash = lab_hash_id(i, s->unit->seed), verdict;
        weir_batch one = {.count = 1, .hashes = &hash};
        weir_filter_offer_batch(weir_live_filter(s->live), &one, &verdict);
        s->news[i] += !(verdict & 1);
    }
}

static weir_status strike(sufferer *s, fault f) {
    size_t last = SERVERS - 1;
    if (f == PAUSED) lab_servers_pause(s->servers, last, true);
    if (f == CUT) lab_servers_cut(s->servers, true);
    if (f == KILLED || f == RESTORED) lab_servers_kill(s->servers, last);
    return WEIR_OK;
}

static weir_status mend(sufferer *s, fault f) {
    size_t last = SERVERS - 1;
    if (f == PAUSED) lab_servers_pause(s->servers, last, false);
    if (f == CUT) lab_servers_cut(s->servers, false);
    return f == KILLED || f == RESTORED ? lab_servers_again(s->servers, s->unit, last) : WEIR_OK;
}

/* Offer keys beyond those that are counted, which no leaf knows, until a site is lost, or until
 * none is any more: a lost one is tried once a second. */
enum { TRIES = 600, A_TRY = 20 };
static weir_status until(sufferer *s, bool lost) {
    enum { STEP_MS = 50 };
    weir_live_stats stats;
    for (size_t i = 0; i < TRIES; i++, nap(STEP_MS)) {
        offer_some(s, s->spare, s->spare + A_TRY);
        s->spare += A_TRY;
        weir_live_get_stats(s->live, &stats);
        if ((stats.lost > 0) == lost) return WEIR_OK;
    }
    return lab_fail(s->unit, WEIR_ERR_RANGE, lost ? "no site is lost" : "a site stays lost");
}

static double events_of(const weir_live *live, weir_live_what what) {
    size_t kept;
    double count = 0;
    const weir_live_event *e = weir_live_events(live, &kept, NULL);
    for (size_t i = 0; i < kept; i++) count += e[i].what == what;
    return count;
}

/* A quarter of the keys, the fault, a quarter while it lasts, the rest, and all of them again. */
static weir_status suffer(sufferer *s, fault f) {
    size_t keys = s->keys;
    weir_status status = WEIR_OK;
    offer_some(s, 0, keys / 8);
    if (f == RESTORED) status = lab_servers_save(s->servers, s->unit, SERVERS - 1);
    offer_some(s, keys / 8, keys / 4);
    if (!status) status = strike(s, f);
    if (!status) offer_some(s, keys / 4, keys / 2);
    if (!status && f != NO_FAULT) status = until(s, true);
    if (!status) status = mend(s, f);
    if (!status) status = until(s, false);
    if (!status) offer_some(s, keys / 2, keys);
    if (!status) offer_some(s, 0, keys);
    return status;
}

static weir_status run_fault(lab_unit *unit) {
    enum { LOST_MS = 100, REPLY_MS = 300, SLOW_MS = 10000 };
    fault f = (fault)unit->c->p[0];
    char url[128], spec[320];
    sufferer s = {.unit = unit, .keys = (size_t)unit->size, .spare = (size_t)unit->size};
    /* Silence is noticed by waiting only where nothing refuses; a server that is merely slow is
     * none. */
    int64_t wait = f == PAUSED || f == CUT ? REPLY_MS : SLOW_MS;
    weir_live_options options = {.servers = {.connect_ms = wait,
                                             .reply_ms = wait,
                                             .lost_ms = LOST_MS,
                                             .say = count_lines,
                                             .context = &s}};
    s.news = calloc(s.keys + 2 * TRIES * A_TRY, sizeof *s.news);
    if (!s.news) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory");
    weir_status status = lab_servers_start(&s.servers, unit, SERVERS, f == CUT);
    if (!status) lab_servers_url(s.servers, "f", url);
    snprintf(spec, sizeof spec, "%s,memory=4M,seed=%llu", unit->c->filter,
             (unsigned long long)unit->seed);
    if (!status) status = weir_live_open(&s.live, url, spec, &options, &unit->error);
    if (!status) s.lines = 0; /* what was said of masters at the start is no fault's */
    if (!status) status = suffer(&s, f);
    double row[8] = {[4] = unit->size, [7] = s.lines};
    if (!status) {
        row[0] = events_of(s.live, WEIR_LIVE_SILENT);
        row[1] = events_of(s.live, WEIR_LIVE_BACK);
        row[2] = events_of(s.live, WEIR_LIVE_EMPTY);
        row[3] = events_of(s.live, WEIR_LIVE_REWOUND);
        for (size_t i = 0; i < s.keys; i++) row[5] += !s.news[i], row[6] += s.news[i] > 1;
        status = lab_emit(unit, row);
    }
    weir_live_close(s.live);
    lab_servers_stop(s.servers);
    free(s.news);
    return status;
}

static bool nothing_is_lost(const lab_result *r, lab_words *found) {
    double lost = 0, keys = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        lost += lab_mean(r, c, 0, "lost");
        keys += lab_mean(r, c, 0, "keys");
    }
    return lab_say(found, keys > 0 && lost == 0, "%.0f of %.0f keys.", lost, keys);
}

/* The kind that must have been noticed, and those that must not. */
static bool kinds_are_told_apart(const lab_result *r, lab_words *found) {
    size_t cases = 0, right = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double silent = lab_mean(r, c, 0, "silent"), empty = lab_mean(r, c, 0, "empty");
        double rewound = lab_mean(r, c, 0, "rewound"), back = lab_mean(r, c, 0, "back");
        fault f = (fault)lab_case_at(r, c)->p[0];
        cases++;
        right += f == NO_FAULT   ? silent + empty + rewound + lab_mean(r, c, 0, "passed") == 0
                 : f == KILLED   ? silent > 0 && back > 0 && empty > 0 && rewound == 0
                 : f == RESTORED ? silent > 0 && back > 0 && empty == 0 && rewound > 0
                                 : silent > 0 && back > 0 && empty + rewound == 0;
    }
    return lab_say(found, cases > 1 && right == cases, "In %zu of %zu cases.", right, cases);
}

/* Each event has its line, and nothing else does. */
static bool each_event_is_one_line(const lab_result *r, lab_words *found) {
    size_t cases = 0, right = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double events = lab_mean(r, c, 0, "silent") + lab_mean(r, c, 0, "back") +
                        lab_mean(r, c, 0, "empty") + lab_mean(r, c, 0, "rewound");
        cases++;
        right += lab_mean(r, c, 0, "lines") == events;
    }
    return lab_say(found, cases && right == cases, "In %zu of %zu cases.", right, cases);
}

#define FAULT(design, spec, name, kind, how_often)                                                 \
    { .panel = design, .label = name, .filter = spec, .p = {kind}, .when = how_often }
#define FAULTS(design, spec, how_often)                                                            \
    FAULT(design, spec, "none", NO_FAULT, how_often),                                              \
        FAULT(design, spec, "killed, back empty", KILLED, LAB_ALWAYS),                             \
        FAULT(design, spec, "killed, back without its last writes", RESTORED, how_often),          \
        FAULT(design, spec, "paused", PAUSED, how_often),                                          \
        FAULT(design, spec, "cut off", CUT, LAB_ALWAYS)

static const lab_case fault_cases[] = {
    FAULTS("horizontal", "horizontal:slices=4," NODES, LAB_FULL_ONLY),
    FAULTS("vertical", "vertical:slices=4," NODES, LAB_ALWAYS),
    FAULTS("tree", "tree:fanout=4,root=(vertical:slices=4," NODES ")," NODES, LAB_FULL_ONLY),
    {0}};

static const lab_claim fault_claims[] = {
    {true, "With lost sites treated as distinct nothing is lost.", nothing_is_lost,
     "each key comes out at least once, under each fault", LAB_WORDS},
    {true, "No answer, back but empty and back without writes are three things.",
     kinds_are_told_apart, "each fault is noticed as what it was, and as nothing else", LAB_WORDS},
    {false, "Each is said in one line.", each_event_is_one_line,
     "as many lines as events, in each case", LAB_WORDS},
    {0}};

/* --- the entries --- */

#define IN_WORDS "The paper says it in words, so that there is no number to agree with."

const lab_experiment lab_exp_live_faults[] = {
    {LAB_ENTRY("live-race", LOG_PAPER "section 6, concurrency"), .ns = 60000,
     .title = "Producers that race on the same keys",
     .claim = "An interleaving may lead to false negatives unless operations are atomic.",
     .method = LIVE_MANNER "Two and four producers with connections of their own offer the same "
                           "keys at the same instant. "
                           "The bound of test-and-set is 1 - P^(1-d) for P producers and a key at "
                           "d servers; of batches of "
                           "places it is twice the batch over the 16,384 claims of a slice.",
     .reason = IN_WORDS, .columns = race_columns, .cases = race_cases, .claims = race_claims,
     .figures = {{.title = "Keys that came out more than once, of four producers",
                  .y_label = "% of the keys",
                  .y = {"twice", "bound"},
                  .style = LAB_BARS,
                  .claim = 1}},
     LAB_SIZES(1500, 50000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_race},
    {LAB_ENTRY("live-faults", LOG_PAPER "section 3, fault tolerance"), .ns = 100000,
     .title = "One of four servers fails and comes back",
     .claim = "Sites fail; treated as distinct, keys at failed sites are not lost.",
     .method = LIVE_MANNER
     "A quarter of the keys, the fault, a quarter of the keys, the fault's end, the rest, and all "
     "of "
     "them again. Killed is SIGKILL, paused is SIGSTOP; to be cut off a server stands in a network "
     "namespace, which takes root. Back without its last writes is what a replica is that took "
     "over: the server begins again with what it had saved before.",
     .reason = IN_WORDS, .columns = fault_columns, .cases = fault_cases, .claims = fault_claims,
     .figures = {{.title = "Keys that came out never, or twice",
                  .y_label = "keys",
                  .y = {"lost", "passed"},
                  .style = LAB_BARS}},
     LAB_SIZES(800, 8000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_fault},
    {0}};
