/* test_live.c - sites on servers give the verdicts of sites here, and what they lose is noticed. */
#include <poll.h>

#include "live.h"
#include "servers.h"
#include "slice/stretch.h"
#include "weir_live.h"

static const char *module_path(void) {
    const char *given = getenv("WEIR_MODULE");
    return given ? given : WEIR_MODULE_PATH;
}

static bool can_run(void) { return have_program("redis-server") && !access(module_path(), R_OK); }

static real_server start_with_module(void) {
    const char *more[] = {"--loadmodule", module_path(), NULL};
    return start_real(more);
}

static char said[8192];
static void note(void *context, const char *message) {
    (void)context;
    strncat(said, message, sizeof said - strlen(said) - 2);
    strcat(said, "\n");
}

static weir_live *open_live(uint16_t port, const char *name, const char *spec,
                            weir_live_options options) {
    char url[128];
    weir_live *live;
    weir_error err;
    options.servers.say = note;
    said[0] = 0;
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/%s", (unsigned)port, name);
    if (weir_live_open(&live, url, spec, &options, &err) != WEIR_OK)
        fail_msg("%s: %s", spec, err.message);
    return live;
}

/* --- the same verdicts ---------------------------------------------------------------------- */

enum { RECORDS = 600, KEYS = 200, BATCH = 50 };

static uint64_t scramble(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Batch number b of a stream of keys that repeat, of five producers, a second apart. */
static void fill_batch(uint64_t b, uint64_t *hashes, uint64_t *producers, int64_t *times) {
    for (uint64_t i = 0; i < BATCH; i++) {
        uint64_t n = b * BATCH + i, draw = scramble(n + 1);
        hashes[i] = scramble(draw % (1 + scramble(draw) % KEYS) + 77);
        producers[i] = scramble(draw >> 7) % 5;
        times[i] = (INT64_C(1700000000) + (int64_t)n) * 1000000000;
    }
}

static void same_verdicts(uint16_t port, const char *name, const char *spec,
                          weir_live_options options) {
    weir_filter *here;
    weir_error err;
    if (weir_filter_new(&here, spec, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
    weir_live *live = open_live(port, name, spec, options);
    size_t seen = 0;
    weir_live_stats opening;
    weir_live_get_stats(live, &opening);
    for (uint64_t b = 0; b < RECORDS / BATCH; b++) {
        uint64_t hashes[BATCH], producers[BATCH], mine, theirs;
        int64_t times[BATCH];
        fill_batch(b, hashes, producers, times);
        weir_batch batch = {
            .count = BATCH, .hashes = hashes, .producers = producers, .times = times};
        seen += weir_filter_offer_batch(here, &batch, &mine);
        weir_filter_offer_batch(weir_live_filter(live), &batch, &theirs);
        if (mine != theirs) fail_msg("%s: batch %u differs", spec, (unsigned)b);
    }
    assert_true(seen > RECORDS / 4 && seen < RECORDS);
    assert_true(weir_live_good(live, &err));
    weir_traffic counted, sent;
    weir_live_stats stats;
    assert_int_equal(weir_filter_get_traffic(here, &counted, NULL), WEIR_OK);
    assert_int_equal(weir_filter_get_traffic(weir_live_filter(live), &sent, NULL), WEIR_OK);
    weir_live_get_stats(live, &stats);
    uint64_t messages = 0;
    for (size_t i = 0; i < WEIR_LIVE_LEVELS; i++) messages += stats.messages[i];
    assert_true(counted.fairness == sent.fairness && messages);
    assert_int_equal(sent.messages, messages); /* what went over the wire, and nothing else */
    assert_int_equal(sent.bytes, stats.bytes_sent + stats.bytes_received - opening.bytes_sent -
                                     opening.bytes_received);
    assert_int_equal(stats.commands, opening.commands + messages);
    if (!strncmp(spec, "vertical", 8)) assert_int_equal(counted.messages, messages);
    assert_int_equal(stats.silent + stats.emptied + stats.rewound + stats.doubtful, 0);
    weir_live_close(live);
    weir_filter_free(here);
}

static void one_producer_hears_what_the_filter_here_says(void **state) {
    (void)state;
    static const char *const specs[] = {
        "horizontal:slices=4,memory=64K,of=(bloom:layout=classic,k=4),seed=7",
        "horizontal:slices=4,memory=64K,of=(recent),seed=7",
        "horizontal:slices=3,memory=128K,of=(recent:window=2m),seed=7",
        "horizontal:slices=3,memory=96K,of=(growing:of=(bloom),most=4),seed=7",
        "horizontal:slices=3,memory=256K,of=(growing:of=(window:length=2m),most=4),seed=7",
        "vertical:slices=5,memory=4K,probe=parallel,of=(bloom:k=4,bits=1504,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,of=(bloom:k=4,bits=1504,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,primitive=test-and-set,of=(bloom:k=4,bits=1504,"
        "capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=parallel,primitive=test-and-set,of=(bloom:k=4,bits=1504,"
        "capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,rule=letter,live=2,of=(bloom:k=4,bits=1504,"
        "capacity=150),seed=7",
        "vertical:slices=5,memory=64K,probe=parallel,of=(window:length=2m,layout=classic),seed=7",
        "vertical:slices=5,memory=64K,probe=pipeline,of=(window:length=2m,layout=classic),seed=7",
        "tree:levels=3,fanout=2,memory=64K,mode=dense,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=3,fanout=2,memory=64K,mode=sparse,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=3,fanout=2,memory=512K,mode=dense,of=(recent:window=2m),seed=7",
        "tree:levels=3,fanout=2,memory=512K,mode=sparse,of=(recent:window=2m),seed=7",
        "tree:levels=2,fanout=3,memory=64K,mode=dense,root=(horizontal:slices=3,of=(bloom:layout="
        "classic,k=4)),of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=2,fanout=3,memory=64K,mode=sparse,root=(vertical:slices=3,of=(bloom:layout="
        "classic,k=4)),of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=4,fanout=2,memory=32K,mode=dense,down=2,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=4,fanout=2,memory=32K,mode=sparse,down=2,of=(bloom:layout=classic,k=4),seed=7",
    };
    if (!can_run()) skip();
    real_server s = start_with_module();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        same_verdicts(s.port, name, specs[i], (weir_live_options){.leaves_on_servers = false});
    }
    same_verdicts(s.port, "deep",
                  "tree:levels=3,fanout=2,memory=32K,down=2,of=(bloom:layout=classic,k=4),seed=7",
                  (weir_live_options){.leaves_on_servers = true});
    stop_real(&s);
}

/* --- several producers ------------------------------------------------------------------------ */

enum { RACED = 150, RACERS = 3 };

typedef struct {
    weir_live *live;
    pthread_barrier_t *start;
    _Atomic unsigned *news; /* for each key, how often it came out */
    uint64_t producer;
} racer;

static void *race(void *context) {
    racer *r = context;
    for (uint64_t i = 0; i < RACED; i++) {
        uint64_t hash = scramble(i + 1), verdict;
        pthread_barrier_wait(r->start);
        weir_batch batch = {.count = 1, .hashes = &hash, .producers = &r->producer};
        weir_filter_offer_batch(weir_live_filter(r->live), &batch, &verdict);
        r->news[i] += !(verdict & 1);
    }
    return NULL;
}

/* Keys that came out more than once; each must come out. */
static unsigned doubles(uint16_t port, const char *name, const char *spec) {
    pthread_t threads[RACERS];
    racer racers[RACERS];
    pthread_barrier_t start;
    _Atomic unsigned news[RACED] = {0};
    unsigned twice = 0;
    pthread_barrier_init(&start, NULL, RACERS);
    for (size_t i = 0; i < RACERS; i++)
        racers[i] = (racer){
            .live = open_live(port, name, spec, (weir_live_options){.leaves_on_servers = false}),
            .start = &start,
            .news = news,
            .producer = i};
    for (size_t i = 0; i < RACERS; i++) pthread_create(&threads[i], NULL, race, &racers[i]);
    for (size_t i = 0; i < RACERS; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < RACERS; i++) weir_live_close(racers[i].live);
    pthread_barrier_destroy(&start);
    for (size_t i = 0; i < RACED; i++) {
        assert_true(news[i] >= 1);
        twice += news[i] > 1;
    }
    return twice;
}

/* Filters so wide that no key is taken for another. */
static void of_many_that_race_one_is_told_new(void **state) {
    (void)state;
    static const char *const specs[] = {
        "vertical:slices=5,memory=64K,probe=parallel,of=(bloom:k=4),seed=7",
        "vertical:slices=5,memory=64K,probe=pipeline,of=(bloom:k=4),seed=7",
        "tree:levels=2,fanout=3,memory=256K,mode=dense,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=2,fanout=3,memory=256K,mode=sparse,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=2,fanout=3,memory=256K,mode=sparse,root=(vertical:slices=3,of=(bloom:layout="
        "classic,k=4)),of=(bloom:layout=classic,k=4),seed=7",
    };
    if (!can_run()) skip();
    real_server s = start_with_module();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char name[16];
        snprintf(name, sizeof name, "r%zu", i);
        unsigned twice = doubles(s.port, name, specs[i]);
        if (twice) fail_msg("%s: %u keys came out more than once", specs[i], twice);
    }
    stop_real(&s);
}

/* A command by a connection of its own. */
static wire_reply *command(uint16_t port, const char *format, const char *key) {
    fleet *f;
    wire_options options = {0};
    wire_reply *reply;
    weir_error err;
    char url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", (unsigned)port);
    assert_int_equal(fleet_open(&f, url, &options, &err), WEIR_OK);
    assert_int_equal(wire_call(f->nodes[0]->wire, &reply, &err, format, key), WIRE_OK);
    fleet_close(f);
    return reply;
}

/* --- slices that grow ------------------------------------------------------------------------ */

/* How many filters a slice has in use, as its server says. */
static int64_t parts_of(uint16_t port, const live_site *s) {
    int64_t count = 0;
    wire_reply *info = command(port, "WEIR.INFO %s", s->key);
    assert_true(wire_reply_number(wire_reply_field(info, "detail:filters"), &count));
    wire_reply_free(info);
    return count;
}

/* Keys of one slice only, at an instant; how many are NEW. */
static size_t offer_to_slice(weir_live *live, size_t slice, uint64_t from, uint64_t keys,
                             int64_t seconds) {
    size_t news = 0;
    int64_t time = (INT64_C(1700000000) + seconds) * 1000000000;
    for (uint64_t i = from, done = 0; done < keys; i++) {
        uint64_t hash = scramble(i + 1), verdict;
        if (weir__slice_of(hash, live->count) != slice) continue;
        weir_batch one = {.count = 1, .hashes = &hash, .times = &time};
        news += 1 - weir_filter_offer_batch(weir_live_filter(live), &one, &verdict);
        done++;
    }
    return news;
}

static void each_slice_grows_by_itself(void **state) {
    (void)state;
    if (!can_run()) skip();
    real_server s = start_with_module();
    weir_live *live = open_live(
        s.port, "grows",
        "horizontal:slices=2,memory=64K,of=(growing:of=(window:length=60s),most=8),seed=7",
        (weir_live_options){.leaves_on_servers = false});
    offer_to_slice(live, 0, 0, 200, 0);
    offer_to_slice(live, 1, 0, 20, 0);
    assert_true(parts_of(s.port, &live->sites[0]) > 1);
    assert_int_equal(parts_of(s.port, &live->sites[1]), 1);
    /* when the window has passed, what is empty is dropped, on the server */
    assert_int_equal(offer_to_slice(live, 0, 0, 20, 200), 20);
    assert_int_equal(parts_of(s.port, &live->sites[0]), 1);
    assert_int_equal(offer_to_slice(live, 0, 0, 20, 200), 0);
    weir_live_close(live);
    stop_real(&s);
}

/* --- joining ------------------------------------------------------------------------------------
 */

static void who_joins_is_told_the_shape(void **state) {
    (void)state;
    char first[256], second[256];
    weir_live *live;
    weir_error err;
    weir_live_options options = {.leaves_on_servers = false};
    char url[64];
    if (!can_run()) skip();
    real_server s = start_with_module();
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/joined", (unsigned)s.port);
    assert_int_equal(weir_live_open(&live, url, NULL, &options, &err), WEIR_ERR_RANGE);
    assert_int_equal(weir_live_open(&live, url, "bloom", &options, &err), WEIR_ERR_UNSUPPORTED);
    assert_int_equal(weir_live_open(&live, url, "vertical:nothing=1", &options, &err),
                     WEIR_ERR_SPEC);
    weir_live *one =
        open_live(s.port, "joined", "vertical:slices=3,memory=8K,of=(bloom:k=5)", options);
    weir_live *two = open_live(s.port, "joined", NULL, options);
    weir_filter_spec(weir_live_filter(one), first, sizeof first);
    weir_filter_spec(weir_live_filter(two), second, sizeof second);
    assert_string_equal(first, second);
    assert_non_null(strstr(first, "seed="));
    weir_live_close(one);
    weir_live_close(two);

    /* a slice that is something else, and a node that is */
    one = open_live(s.port, "other", "tree:levels=2,memory=32K,seed=1", options);
    char key[160];
    snprintf(key, sizeof key, "%s", one->sites[0].key);
    weir_live_close(one);
    wire_reply_free(command(s.port, "DEL %s", key));
    wire_reply_free(command(s.port, "WEIR.CREATE %s bloom:memory=4K,seed=1", key));
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/other", (unsigned)s.port);
    assert_int_equal(weir_live_open(&live, url, NULL, &options, &err), WEIR_ERR_MISMATCH);
    assert_non_null(strstr(err.message, "take another name"));

    /* a string of places of another filter, whose description is gone: its keys would be lost */
    static const char timed[] = "vertical:slices=3,memory=64K,of=(window:length=2m,layout=classic)";
    weir_live_close(open_live(s.port, "nameless", timed, options));
    wire_reply_free(command(s.port, "DEL %s", "nameless:weir"));
    snprintf(url, sizeof url, "redis://127.0.0.1:%u/nameless", (unsigned)s.port);
    assert_int_equal(weir_live_open(&live, url, timed, &options, &err), WEIR_ERR_MISMATCH);
    assert_non_null(strstr(err.message, "is not a slice of this filter; take another name"));

    /* where the leaves are is found out; one that only looks makes nothing */
    options.leaves_on_servers = true;
    weir_live_close(open_live(s.port, "leaves", "tree:levels=2,memory=32K,seed=1", options));
    options = (weir_live_options){.look = true};
    two = open_live(s.port, "leaves", NULL, options);
    assert_int_equal(two->count, 3);
    weir_remote_slice slice;
    size_t level;
    assert_int_equal(weir_live_get_slice(two, 2, &slice, &level, &err), WEIR_OK);
    assert_true(level == 1 && slice.memory && slice.epoch && !slice.gone);
    wire_reply_free(command(s.port, "DEL %s", slice.key));
    assert_int_equal(weir_live_get_slice(two, 2, &slice, &level, &err), WEIR_OK);
    assert_true(slice.gone);
    assert_int_equal(weir_live_get_slice(two, 3, &slice, &level, &err), WEIR_ERR_RANGE);
    int64_t ahead;
    assert_int_equal(weir_live_clock(two, &ahead, &err), WEIR_OK);
    assert_in_range(ahead + 1000000000, 0, 2000000000); /* on the same machine */
    weir_live_close(two);
    stop_real(&s);
}

/* --- three kinds of loss ------------------------------------------------------------------------
 */

/* One key after the other; how many are NEW. */
static size_t offer_keys(weir_live *live, uint64_t from, uint64_t to) {
    size_t news = 0;
    for (uint64_t i = from; i < to; i++) {
        uint64_t hash = scramble(i + 1), verdict;
        weir_filter_offer_batch(weir_live_filter(live), &(weir_batch){.count = 1, .hashes = &hash},
                                &verdict);
        news += !(verdict & 1);
    }
    return news;
}

static uint64_t count_events(const weir_live *live, weir_live_what what) {
    size_t kept;
    uint64_t count = 0;
    const weir_live_event *e = weir_live_events(live, &kept, NULL);
    for (size_t i = 0; i < kept; i++) {
        assert_true(e[i].time > INT64_C(1700000000) * 1000000000 && *e[i].server);
        count += e[i].what == what;
    }
    return count;
}

/* Lost ones are tried once a second, and a server that was away is let alone for two. */
static void until_none_is_lost(weir_live *live) {
    weir_live_stats stats;
    for (uint64_t i = 0; i < 100; i++) {
        offer_keys(live, 1000 + 50 * i, 1050 + 50 * i);
        weir_live_get_stats(live, &stats);
        if (!stats.lost) return;
        nap(100);
    }
    fail_msg("%zu slices stay lost", stats.lost);
}

static const char *const loss_specs[] = {
    "vertical:slices=3,memory=64K,of=(bloom:k=4),seed=7",
    "horizontal:slices=3,memory=192K,of=(bloom:layout=classic,k=4),seed=7",
    "tree:levels=2,fanout=2,memory=192K,of=(bloom:layout=classic,k=4),seed=7",
};

static weir_live_options impatient(void) {
    weir_live_options o = {.servers = {.connect_ms = 200, .reply_ms = 200, .lost_ms = 50}};
    return o;
}

static void no_answer_then_back_but_empty(void **state) {
    (void)state;
    if (!can_run()) skip();
    for (size_t i = 0; i < 3; i++) {
        real_server s = start_with_module();
        const char *more[] = {"--loadmodule", module_path(), NULL};
        weir_live *live = open_live(s.port, "lossy", loss_specs[i], impatient());
        assert_int_equal(offer_keys(live, 0, 20), 20);
        stop_real(&s);
        /* unknown keys are called new while nobody answers */
        assert_int_equal(offer_keys(live, 100, 104), 4);
        assert_true(count_events(live, WEIR_LIVE_SILENT) >= 1);
        assert_non_null(strstr(said, "is lost"));
        s = start_real_at(s.port, false, more);
        until_none_is_lost(live);
        size_t again = offer_keys(live, 0, 20);
        assert_true(again == 20 || i == 2); /* a leaf here still knows them */
        assert_true(offer_keys(live, 200, 220) == 20);
        assert_true(count_events(live, WEIR_LIVE_BACK) >= 1);
        assert_true(count_events(live, WEIR_LIVE_EMPTY) >= 1);
        assert_non_null(strstr(said, "begins again empty"));
        assert_true(offer_keys(live, 200, 220) == 0); /* and is a filter again */
        assert_true(weir_live_good(live, NULL));
        weir_live_close(live);
        stop_real(&s);
    }
}

/* A value of before is what a replica without the last writes has. */
static void rewind_value(uint16_t port, const char *key, const wire_reply *dump) {
    fleet *f;
    wire_options options = {0};
    wire_reply *reply;
    weir_error err;
    char url[64];
    snprintf(url, sizeof url, "redis://127.0.0.1:%u", (unsigned)port);
    assert_int_equal(fleet_open(&f, url, &options, &err), WEIR_OK);
    assert_int_equal(wire_call(f->nodes[0]->wire, &reply, &err, "RESTORE %s 0 %b REPLACE", key,
                               dump->text, dump->length),
                     WIRE_OK);
    assert_int_equal(reply->type, WIRE_STATUS);
    wire_reply_free(reply);
    fleet_close(f);
}

static void missing_writes_are_noticed(void **state) {
    (void)state;
    if (!can_run()) skip();
    real_server s = start_with_module();
    for (size_t i = 0; i < 3; i++) {
        char name[16];
        weir_live_stats stats;
        snprintf(name, sizeof name, "m%zu", i);
        weir_live *live = open_live(s.port, name, loss_specs[i], impatient());
        offer_keys(live, 0, 20);
        wire_reply *dump = command(s.port, "DUMP %s", live->sites[0].key);
        assert_int_equal(dump->type, WIRE_STRING);
        offer_keys(live, 20, 60);
        rewind_value(s.port, live->sites[0].key, dump);
        wire_reply_free(dump);
        offer_keys(live, 60, 80);
        weir_live_get_stats(live, &stats);
        assert_int_equal(stats.rewound, 1);
        assert_true(stats.keys_rewound >= 5);
        assert_int_equal(count_events(live, WEIR_LIVE_REWOUND), 1);
        assert_int_equal(stats.emptied + stats.silent, 0);
        assert_non_null(strstr(said, "lacks at least"));
        weir_live_close(live);
    }
    stop_real(&s);
}

/* The rules hold for a slice that came back empty, too. */
static void rules_hold_for_each_kind(void **state) {
    (void)state;
    weir_error err;
    if (!can_run()) skip();
    real_server s = start_with_module();
    weir_live *live =
        open_live(s.port, "ruled",
                  "vertical:slices=4,memory=64K,on-lost=seen,of=(bloom:k=4),seed=7", impatient());
    assert_int_equal(offer_keys(live, 0, 30), 30);
    wire_reply_free(command(s.port, "DEL %s", live->sites[1].key));
    assert_int_equal(offer_keys(live, 0, 30), 0);     /* what is off there proves nothing */
    assert_int_equal(offer_keys(live, 100, 130), 30); /* but what is off elsewhere does */
    weir_live_close(live);
    live = open_live(s.port, "ruled", NULL, impatient()); /* who joins knows that, too */
    assert_int_equal(offer_keys(live, 0, 30), 0);
    weir_live_close(live);
    live =
        open_live(s.port, "stops",
                  "vertical:slices=4,memory=64K,on-lost=stop,of=(bloom:k=4),seed=7", impatient());
    offer_keys(live, 0, 30);
    wire_reply_free(command(s.port, "DEL %s", live->sites[1].key));
    offer_keys(live, 0, 30);
    assert_false(weir_live_good(live, &err));
    assert_non_null(strstr(err.message, "on-lost is stop"));
    weir_live_close(live);
    stop_real(&s);
}

/* A paused server holds nothing up for longer than was agreed, and its answer afterwards is not
 * taken for that to another question. */
static void a_paused_server_is_lost_and_comes_back(void **state) {
    (void)state;
    if (!can_run()) skip();
    real_server s = start_with_module();
    weir_live *live = open_live(s.port, "paused", loss_specs[0], impatient());
    assert_int_equal(offer_keys(live, 0, 20), 20);
    kill(s.pid, SIGSTOP);
    assert_int_equal(offer_keys(live, 20, 22), 2);
    assert_true(count_events(live, WEIR_LIVE_SILENT) >= 1);
    kill(s.pid, SIGCONT);
    until_none_is_lost(live);
    assert_int_equal(offer_keys(live, 0, 20), 0);
    assert_int_equal(count_events(live, WEIR_LIVE_EMPTY), 0);
    weir_live_close(live);
    stop_real(&s);
}

static bool stop_now(void *context) { return *(bool *)context; }

static void *wake(void *context) {
    nap(700);
    kill(*(pid_t *)context, SIGCONT);
    return NULL;
}

static void *wish_an_end(void *context) {
    nap(300);
    *(bool *)context = true;
    return NULL;
}

/* A site that is waited for is said to be, in one line; and whoever wishes an end has one, with the
 * rest called new. */
static void waiting_is_said_and_can_be_ended(void **state) {
    (void)state;
    static const char *const specs[] = {
        "vertical:slices=3,memory=64K,on-lost=wait,of=(bloom:k=4),seed=7",
        "tree:levels=2,fanout=2,memory=192K,on-lost=wait,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=2,fanout=2,memory=192K,on-lost=wait,root=(vertical:slices=3,on-lost=wait,of="
        "(bloom:layout=classic,k=4)),of=(bloom:layout=classic,k=4),seed=7"};
    if (!can_run()) skip();
    for (size_t i = 0; i < 3; i++) {
        real_server s = start_with_module();
        pthread_t helper;
        bool stop = false;
        weir_live_options o = impatient();
        o.servers.stop = stop_now;
        o.servers.context = &stop;
        weir_live *live = open_live(s.port, "waits", specs[i], o);
        assert_int_equal(offer_keys(live, 0, 20), 20);
        kill(s.pid, SIGSTOP);
        said[0] = 0;
        pthread_create(&helper, NULL, wake, &s.pid);
        assert_int_equal(offer_keys(live, 20, 22), 2);
        pthread_join(helper, NULL);
        const char *line = strstr(said, "and is waited for: ");
        assert_non_null(line);
        assert_null(strstr(line + 1, "and is waited for: "));
        assert_non_null(strstr(said, "answers again"));
        assert_int_equal(offer_keys(live, 0, 22), 0);
        stop_real(&s);
        pthread_create(&helper, NULL, wish_an_end, &stop);
        assert_int_equal(offer_keys(live, 100, 120), 20);
        pthread_join(helper, NULL);
        weir_live_close(live);
    }
}

/* Errors of a server end it with one line. */
static void refusals_are_one_line(void **state) {
    (void)state;
    weir_error err;
    if (!can_run()) skip();
    real_server s = start_with_module();
    weir_live *live = open_live(s.port, "refused", loss_specs[1], impatient());
    offer_keys(live, 0, 5);
    for (size_t i = 0; i < live->count; i++) {
        wire_reply_free(command(s.port, "DEL %s", live->sites[i].key));
        wire_reply_free(command(s.port, "SET %s x", live->sites[i].key));
    }
    assert_int_equal(offer_keys(live, 10, 15), 5);
    assert_false(weir_live_good(live, &err));
    assert_null(strchr(err.message, '\n'));
    assert_true(strlen(err.message) > 10);
    weir_live_close(live);
    stop_real(&s);
}

int main(void) {
#ifdef __SANITIZE_ADDRESS__
    if (!getenv("WEIR_MODULE")) {
        puts("ok test_live # skip a module with sanitizers needs a server with sanitizers");
        return 0;
    }
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_hears_what_the_filter_here_says),
        cmocka_unit_test(of_many_that_race_one_is_told_new),
        cmocka_unit_test(each_slice_grows_by_itself),
        cmocka_unit_test(who_joins_is_told_the_shape),
        cmocka_unit_test(no_answer_then_back_but_empty),
        cmocka_unit_test(missing_writes_are_noticed),
        cmocka_unit_test(rules_hold_for_each_kind),
        cmocka_unit_test(a_paused_server_is_lost_and_comes_back),
        cmocka_unit_test(waiting_is_said_and_can_be_ended),
        cmocka_unit_test(refusals_are_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
