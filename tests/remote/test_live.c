/* test_live.c - sites on servers give the verdicts of sites here, and what they lose is noticed. */
#include <poll.h>

#include "live.h"
#include "servers.h"
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
    if (weir_live_open(&live, url, spec, &options, &err) != WEIR_OK) fail_msg("%s: %s", spec, err.message);
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
    assert_int_equal(counted.messages, sent.messages);
    assert_true(counted.fairness == sent.fairness);
    weir_live_get_stats(live, &stats);
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
        "vertical:slices=5,memory=4K,probe=parallel,of=(bloom:k=4,bits=1500,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,of=(bloom:k=4,bits=1500,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,primitive=test-and-set,of=(bloom:k=4,bits=1500,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=parallel,primitive=test-and-set,of=(bloom:k=4,bits=1500,capacity=150),seed=7",
        "vertical:slices=5,memory=4K,probe=pipeline,rule=letter,live=2,of=(bloom:k=4,bits=1500,capacity=150),seed=7",
        "vertical:slices=5,memory=64K,probe=parallel,of=(window:length=2m,layout=classic),seed=7",
        "vertical:slices=5,memory=64K,probe=pipeline,of=(window:length=2m,layout=classic),seed=7",
        "tree:levels=3,fanout=2,memory=64K,mode=dense,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=3,fanout=2,memory=64K,mode=sparse,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=3,fanout=2,memory=512K,mode=dense,of=(recent:window=2m),seed=7",
        "tree:levels=3,fanout=2,memory=512K,mode=sparse,of=(recent:window=2m),seed=7",
        "tree:levels=2,fanout=3,memory=64K,mode=dense,root=(horizontal:slices=3,of=(bloom:layout=classic,k=4)),of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=2,fanout=3,memory=64K,mode=sparse,root=(vertical:slices=3,of=(bloom:layout=classic,k=4)),of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=4,fanout=2,memory=32K,mode=dense,down=2,of=(bloom:layout=classic,k=4),seed=7",
        "tree:levels=4,fanout=2,memory=32K,mode=sparse,down=2,of=(bloom:layout=classic,k=4),seed=7",
    };
    if (!can_run()) skip();
    real_server s = start_with_module();
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%zu", i);
        same_verdicts(s.port, name, specs[i], (weir_live_options){0});
    }
    same_verdicts(s.port, "deep", "tree:levels=3,fanout=2,memory=32K,down=2,of=(bloom:layout=classic,k=4),seed=7",
                  (weir_live_options){.leaves_on_servers = true});
    stop_real(&s);
}

int main(void) {
#ifdef __SANITIZE_ADDRESS__
    puts("ok test_live # skip a module with sanitizers needs a server with sanitizers");
    return 0;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_producer_hears_what_the_filter_here_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
