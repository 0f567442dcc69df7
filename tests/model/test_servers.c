/* test_servers.c - weir plan --sites --chance against a hundred servers in one process.
 *
 * Each server and each of its replicas is a coin that is thrown anew at every instant; a slice is
 * lost while no copy is there. Seeds are fixed; theory.h says how likely a false alarm would be
 * under another.
 */
#include "theory.h"
#include "weir_sites.h"

enum { NODES = 100, KEYS = 200000, INSTANTS = 4000, ASKED = 250 };
#define GONE 0.05

static weir_servers_plan plan_for(double nodes, double gone, uint64_t memory, double fpr,
                                  double fnr, double rate) {
    weir_servers_plan p;
    weir_error err;
    const weir_servers_question q = {nodes, rate, gone, memory, fpr, fnr};
    if (weir_plan_servers(&q, &p, &err) != WEIR_OK) fail_msg("%s", err.message);
    return p;
}

static uint64_t key_of(uint64_t i) { return test_word(17, i); }

static size_t seen_of(weir_filter *f, const uint64_t *keys, size_t count) {
    uint64_t verdicts[WEIR_VERDICT_WORDS(ASKED)];
    weir_batch batch = {.count = count, .hashes = keys};
    return weir_filter_test_batch(f, &batch, verdicts);
}

static weir_filter *filled(const char *spec, uint64_t keys) {
    weir_filter *f = make_filter(spec);
    for (uint64_t i = 0; i < keys; i++) {
        uint64_t key = key_of(i), verdict;
        weir_filter_offer_batch(f, &(weir_batch){.count = 1, .hashes = &key}, &verdict);
    }
    return f;
}

/* How many repeats pass, and how many servers are without a copy at once. */
static void what_is_gone_costs_what_the_plan_says(void **state) {
    (void)state;
    weir_servers_plan p = plan_for(NODES, GONE, NODES << 20, 0.01, 0.01, 0);
    assert_int_equal(p.slices, NODES);
    assert_int_equal(p.replicas, 1);
    weir_filter *f = filled("horizontal:slices=100,memory=100M,fpr=1%,seed=9,of=(recent)", KEYS);
    uint64_t dice = 0, lost_in_all = 0, beyond = 0, passed = 0;
    for (size_t t = 0; t < INSTANTS; t++) {
        uint64_t keys[ASKED];
        size_t lost = 0;
        for (size_t i = 0; i < NODES; i++) {
            bool gone = true;
            for (int copy = 0; copy <= p.replicas; copy++)
                gone &= (double)(test_word(5, dice++) >> 11) * 0x1p-53 < GONE;
            lost += gone;
            weir_filter_set_site(f, i, gone ? WEIR_SITE_LOST : WEIR_SITE_ALIVE, NULL);
        }
        lost_in_all += lost;
        beyond += lost > p.lost;
        for (size_t i = 0; i < ASKED; i++) keys[i] = key_of(test_word(6, t * ASKED + i) % KEYS);
        passed += ASKED - seen_of(f, keys, ASKED);
    }
    expect_rate("a slice has no copy", (double)lost_in_all, (double)INSTANTS * NODES, p.passes);
    /* keys asked at one instant share its slices: as if each slice were asked as a whole */
    double sigma = sqrt(p.passes * (1 - p.passes) / ((double)INSTANTS * NODES)) +
                   sqrt(p.passes / ((double)INSTANTS * ASKED));
    expect_within("repeats that pass", (double)passed / ((double)INSTANTS * ASKED), p.passes,
                  sigma);
    expect_at_most("instants with more servers lost", (double)beyond, INSTANTS, 0.001);
    weir_filter_free(f);
}

/* Load, messages, and keys that fit. */
static void the_load_is_even_and_the_keys_fit(void **state) {
    (void)state;
    enum { MEMORY = NODES * 16384 };
    weir_servers_plan p = plan_for(NODES, GONE, MEMORY, 0.01, 0.01, 1e6);
    weir_filter *f =
        filled("horizontal:slices=100,memory=1600K,fpr=1%,seed=9,of=(recent)", (uint64_t)p.keys);
    weir_traffic t;
    assert_int_equal(weir_filter_get_traffic(f, &t, NULL), WEIR_OK);
    assert_true(t.messages == t.keys); /* one to the one slice of each */
    /* Jain's index of N Poisson loads of mean m is 1 / (1 + 1/m) on average. */
    double mean = p.keys / NODES, even = 1 / (1 + 1 / mean);
    expect_within("fairness of the load", t.fairness, even, sqrt(2.0 / NODES) / mean);
    assert_true(p.node_keys == 1e4);
    double forgotten = 0;
    for (uint64_t i = 0; i < (uint64_t)p.keys; i++) {
        uint64_t key = key_of(i);
        forgotten += 1 - (double)seen_of(f, &key, 1);
    }
    printf("# of %.0f keys %.2f%% were forgotten\n", p.keys, 100 * forgotten / p.keys);
    assert_true(forgotten / p.keys < 0.04);
    weir_filter_free(f);
}

/* The numbers of docs/cluster.md: 10^12 keys on 1,000 servers. */
static void a_trillion_keys_on_a_thousand_servers(void **state) {
    (void)state;
    weir_servers_plan p = plan_for(1000, 0.001, UINT64_C(2400) << 30, 1e-4, 1e-4, 1e8);
    assert_true(p.keys >= 1e12);
    assert_int_equal(p.slices, 8000);
    assert_true(p.slice_memory < 512e6);
    assert_int_equal(p.replicas, 1);
    assert_true(fabs(p.passes - 1e-6) < 1e-12);
}

static void small_ones_and_edges(void **state) {
    (void)state;
    weir_servers_plan p = plan_for(3, 0, 96 << 20, 0.01, 0.01, 0);
    assert_int_equal(p.slices, 3);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.lost, 0);
    assert_false(p.wait);
    p = plan_for(3, 0.02, 97 << 20, 0.01, 0.01, 3e6);
    assert_int_equal(p.slices, 6); /* 32M at most, as many for each */
    assert_int_equal(p.replicas, 1);
    assert_true(p.wait); /* a million keys a second of the few that fit */
    p = plan_for(3, 0.02, 97 << 20, 0.01, 0.01, 3e3);
    assert_false(p.wait);
    p = plan_for(3, 0.5, 97 << 20, 0.01, 1e-9, 0);
    assert_int_equal(p.replicas, 4); /* the most */
    weir_error err;
    const weir_servers_question bad[] = {
        {0, 0, 0, 1 << 20, 0.01, 0.01},
        {3, 0, 1, 1 << 20, 0.01, 0.01},
        {3, -1, 0, 1 << 20, 0.01, 0.01},
        {3, 0, 0, 1 << 20, 1, 0.01},
        {3, 0, 0, 1 << 20, 0.01, 0},
        {3, 0, 0, 100, 0.01, 0.01},
        {3, 0, 0, UINT64_C(1) << 45, 0.01, 0.01},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(weir_plan_servers(&bad[i], &p, &err), WEIR_ERR_RANGE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_gone_costs_what_the_plan_says),
        cmocka_unit_test(the_load_is_even_and_the_keys_fit),
        cmocka_unit_test(a_trillion_keys_on_a_thousand_servers),
        cmocka_unit_test(small_ones_and_edges),
    };
    return cmocka_run_group_tests_name("servers", tests, NULL, NULL);
}
