/* planted.c - wrong estimators, planted into the lab: a verdict is worth what it can lose.
 *
 * The linker puts these functions in the place of the library's wherever the lab calls them
 * (--wrap). WEIR_PLANT says which fault:
 *
 *   constant  every filter says SEEN, every estimate and every formula is the same number
 *   new       every filter says NEW
 *   never     every filter knows every key that it was ever offered, and no other
 *
 * Filters still get the keys, so that what else they count goes on.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "filter/fading/importance.h"
#include "weir.h"
#include "weir_pairs.h"
#include "weir_sketch.h"

typedef enum { NOTHING, CONSTANT, ALWAYS_NEW, NEVER_FORGETS } plant;

static plant planted(void) {
    const char *name = getenv("WEIR_PLANT");
    if (!name) return NOTHING;
    return !strcmp(name, "constant") ? CONSTANT
           : !strcmp(name, "new")    ? ALWAYS_NEW
           : !strcmp(name, "never")  ? NEVER_FORGETS
                                     : NOTHING;
}

/* --- keys that were offered, by filter ------------------------------------------------------ */

typedef struct known {
    struct known *next;
    const weir_filter *of;
    uint64_t *keys; /* open addressing; 0 is no key */
    size_t count, room;
} known;

static known *all_known;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static known *known_of(const weir_filter *filter) {
    known *k = all_known;
    while (k && k->of != filter) k = k->next;
    if (k) return k;
    k = calloc(1, sizeof *k);
    if (!k) abort();
    *k = (known){.next = all_known, .of = filter};
    return all_known = k;
}

static bool put(uint64_t *keys, size_t room, uint64_t key) {
    size_t at = key * UINT64_C(0x9e3779b97f4a7c15) & (room - 1);
    while (keys[at] && keys[at] != key) at = (at + 1) & (room - 1);
    bool there = keys[at] != 0;
    keys[at] = key;
    return there;
}

static void grow(known *k) {
    size_t room = k->room ? 2 * k->room : 1024;
    uint64_t *keys = calloc(room, sizeof *keys);
    if (!keys) abort();
    for (size_t i = 0; i < k->room; i++)
        if (k->keys[i]) put(keys, room, k->keys[i]);
    free(k->keys);
    k->keys = keys, k->room = room;
}

static bool came_before(known *k, uint64_t key) {
    if (2 * k->count >= k->room) grow(k);
    bool there = put(k->keys, k->room, key | 1);
    k->count += !there;
    return there;
}

/* --- filters --------------------------------------------------------------------------------- */

size_t __real_weir_filter_offer_batch(weir_filter *, const weir_batch *, uint64_t *);
size_t __wrap_weir_filter_offer_batch(weir_filter *, const weir_batch *, uint64_t *);
size_t __wrap_weir_filter_offer_batch(weir_filter *f, const weir_batch *b, uint64_t *verdicts) {
    size_t seen = __real_weir_filter_offer_batch(f, b, verdicts);
    plant fault = planted();
    if (fault == NOTHING || seen == WEIR_STOPPED) return seen;
    pthread_mutex_lock(&lock);
    seen = 0;
    for (size_t i = 0; i < b->count; i++) {
        bool is =
            fault == CONSTANT || (fault == NEVER_FORGETS && came_before(known_of(f), b->hashes[i]));
        verdicts[i / 64] &= ~(UINT64_C(1) << i % 64);
        verdicts[i / 64] |= (uint64_t)is << i % 64;
        seen += is;
    }
    pthread_mutex_unlock(&lock);
    return seen;
}

void __real_weir_filter_free(weir_filter *);
void __wrap_weir_filter_free(weir_filter *);
void __wrap_weir_filter_free(weir_filter *f) {
    pthread_mutex_lock(&lock);
    for (known **at = &all_known; *at; at = &(*at)->next) {
        known *k = *at;
        if (k->of != f) continue;
        *at = k->next;
        free(k->keys);
        free(k);
        break;
    }
    pthread_mutex_unlock(&lock);
    __real_weir_filter_free(f);
}

void __real_weir_filter_get_info(const weir_filter *, weir_filter_info *);
void __wrap_weir_filter_get_info(const weir_filter *, weir_filter_info *);
void __wrap_weir_filter_get_info(const weir_filter *f, weir_filter_info *info) {
    __real_weir_filter_get_info(f, info);
    if (planted() == CONSTANT) info->fill = info->fpr_now = 0.5;
}

weir_status __real_weir_filter_get_traffic(const weir_filter *, weir_traffic *, weir_error *);
weir_status __wrap_weir_filter_get_traffic(const weir_filter *, weir_traffic *, weir_error *);
weir_status __wrap_weir_filter_get_traffic(const weir_filter *f, weir_traffic *t, weir_error *err) {
    weir_status status = __real_weir_filter_get_traffic(f, t, err);
    if (planted() == CONSTANT && status == WEIR_OK) memset(t, 0, sizeof *t);
    return status;
}

weir_status __real_weir_filter_get_site(const weir_filter *, size_t, weir_site_info *,
                                        weir_error *);
weir_status __wrap_weir_filter_get_site(const weir_filter *, size_t, weir_site_info *,
                                        weir_error *);
weir_status __wrap_weir_filter_get_site(const weir_filter *f, size_t i, weir_site_info *info,
                                        weir_error *err) {
    weir_status status = __real_weir_filter_get_site(f, i, info, err);
    if (planted() == CONSTANT && status == WEIR_OK) info->asked = info->seen = 1000;
    return status;
}

void __real_weir_audit_get_report(const weir_audit *, weir_audit_report *);
void __wrap_weir_audit_get_report(const weir_audit *, weir_audit_report *);
void __wrap_weir_audit_get_report(const weir_audit *audit, weir_audit_report *r) {
    __real_weir_audit_get_report(audit, r);
    if (planted() != CONSTANT) return;
    r->fpr = r->fpr_low = r->fpr_high = r->fnr = r->fnr_low = r->fnr_high = 0.5;
}

/* --- sketches and pairs ------------------------------------------------------------------------
 */

static weir_status same_estimate(weir_status status, weir_estimate *out) {
    if (planted() == CONSTANT && status == WEIR_OK)
        *out = (weir_estimate){.value = 1000, .low = 1000, .high = 1000};
    return status;
}

#define ESTIMATE(name, parameters, arguments)                                                      \
    weir_status __real_##name parameters;                                                          \
    weir_status __wrap_##name parameters;                                                          \
    weir_status __wrap_##name parameters { return same_estimate(__real_##name arguments, out); }

ESTIMATE(weir_sketch_estimate_hash,
         (weir_sketch * s, uint64_t hash, weir_estimator by, weir_estimate *out, weir_error *err),
         (s, hash, by, out, err))
ESTIMATE(weir_sketch_self_join,
         (weir_sketch * s, weir_estimator by, weir_estimate *out, weir_error *err),
         (s, by, out, err))
ESTIMATE(weir_sketch_distinct, (weir_sketch * s, weir_estimate *out, weir_error *err),
         (s, out, err))

weir_status __real_weir_sketch_above(weir_sketch *, double, weir_estimator, weir_items *,
                                     weir_error *);
weir_status __wrap_weir_sketch_above(weir_sketch *, double, weir_estimator, weir_items *,
                                     weir_error *);
weir_status __wrap_weir_sketch_above(weir_sketch *s, double share, weir_estimator by,
                                     weir_items *out, weir_error *err) {
    return __real_weir_sketch_above(s, planted() == CONSTANT ? 0.999 : share, by, out, err);
}

static weir_status same_answer(weir_status status, weir_pairs_answer *out) {
    if (planted() != CONSTANT || status != WEIR_OK) return status;
    for (size_t k = 0; k < sizeof out->count / sizeof *out->count; k++) out->count[k] = 1000;
    out->similar = out->low = out->high = 1000;
    return status;
}

#define ANSWER(name, parameters, arguments)                                                        \
    weir_status __real_##name parameters;                                                          \
    weir_status __wrap_##name parameters;                                                          \
    weir_status __wrap_##name parameters { return same_answer(__real_##name arguments, out); }

ANSWER(weir_pairs_self, (weir_pairs * p, weir_pairs_answer *out, weir_error *err), (p, out, err))
ANSWER(weir_pairs_join, (weir_pairs * a, weir_pairs *b, weir_pairs_answer *out, weir_error *err),
       (a, b, out, err))

weir_status __real_weir_pairs_doubts(const weir_pairs *, const weir_pairs *, double,
                                     weir_pairs_doubt *, weir_error *);
weir_status __wrap_weir_pairs_doubts(const weir_pairs *, const weir_pairs *, double,
                                     weir_pairs_doubt *, weir_error *);
weir_status __wrap_weir_pairs_doubts(const weir_pairs *a, const weir_pairs *b, double similarity,
                                     weir_pairs_doubt *out, weir_error *err) {
    weir_status status = __real_weir_pairs_doubts(a, b, similarity, out, err);
    if (planted() != CONSTANT || status != WEIR_OK) return status;
    out->pairs = out->low = out->high = 1000;
    out->told = true;
    return status;
}

/* --- formulas ------------------------------------------------------------------------------------
 */

#define FORMULA(name, parameters, arguments)                                                       \
    double __real_##name parameters;                                                               \
    double __wrap_##name parameters;                                                               \
    double __wrap_##name parameters {                                                              \
        return planted() == CONSTANT ? 0.5 : __real_##name arguments;                              \
    }

FORMULA(weir__stable_fnr, (double m, double K, double P, unsigned max, double gap, double share),
        (m, K, P, max, gap, share))
FORMULA(weir__stable_zeros_after, (double m, double K, double P, unsigned max, double n),
        (m, K, P, max, n))
FORMULA(weir__stable_p, (double m, double K, unsigned max, double fps), (m, K, max, fps))
FORMULA(weir__loss_horizontal_fpr, (double f, double sites, double fpr), (f, sites, fpr))
FORMULA(weir__loss_vertical_fpr, (double f, double sites, unsigned k, double one),
        (f, sites, k, one))
FORMULA(weir__loss_horizontal_sites, (double f, double fpr, double most), (f, fpr, most))
FORMULA(weir__loss_vertical_sites, (double f, double fpr, unsigned k, double most),
        (f, fpr, k, most))
