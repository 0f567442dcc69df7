/* nest.c - making, saving and asking the parts of a composition. */
#include "slice/nest.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cells.h"
#include "core/rng.h"

#define DEPTH_MOST 4 /* filters in filters in filters in filters */

/* --- specs of parts ---------------------------------------------- */

/* `memory`, `fpr` of the parts may be said inside; seed and hash are the whole's. */
static weir_status settle_inside(weir_filter *filter, char *inner, uint64_t count,
                                 weir_error *err) {
    char text[64];
    static const char *const whole_only[] = {"seed", "hash"};
    for (size_t i = 0; i < 2; i++)
        if (weir_spec_take(inner, whole_only[i], text, sizeof text))
            return weir__fail(err, WEIR_ERR_SPEC, -1,
                              "'%s' is an option of the whole, not of the parts: move it out of "
                              "the parentheses",
                              whole_only[i]);
    if (weir_spec_take(inner, "memory", text, sizeof text)) {
        uint64_t bytes;
        if (weir__opt_given(filter, WEIR__OPT_MEMORY))
            return weir__opt_fail(filter, WEIR__OPT_MEMORY, err,
                                  "memory is given twice: for the whole, for its parts, or for "
                                  "parts of these; give it once, for the outermost");
        weir_status status = weir_parse_size(text, &bytes, err);
        if (status != WEIR_OK) return status;
        if (bytes > (UINT64_C(1) << 50) / count)
            return weir__fail(err, WEIR_ERR_RANGE, -1, "%llu parts of memory=%s are too much",
                              (unsigned long long)count, text);
        weir__opt_resolve(filter, WEIR__OPT_MEMORY, bytes * count);
    }
    if (weir_spec_take(inner, "fpr", text, sizeof text)) {
        if (weir__opt_given(filter, WEIR__OPT_FPR))
            return weir__opt_fail(filter, WEIR__OPT_FPR, err,
                                  "fpr is given twice: for the whole, for its parts, or for parts "
                                  "of these; give it once, for the outermost");
        weir_status status = weir_parse_rate(text, &filter->values[WEIR__OPT_FPR].number, err);
        if (status != WEIR_OK) return status;
        filter->values[WEIR__OPT_FPR].given = true;
    }
    return WEIR_OK;
}

static unsigned depth_of(const char *spec) {
    unsigned depth = 0, most = 0;
    for (; *spec; spec++) {
        depth += *spec == '(';
        if (depth > most) most = depth;
        depth -= *spec == ')' && depth > 0;
    }
    return most;
}

static weir_status take_spec(weir_filter *filter, int place, char *inner, uint64_t count,
                             weir_error *err) {
    weir__value *value = &filter->values[place];
    if (depth_of(value->text) + 2 > DEPTH_MOST)
        return weir__opt_fail(filter, place, err, "specs can be nested %d deep at most",
                              DEPTH_MOST);
    snprintf(inner, WEIR__SPEC_MAX, "%s", value->text);
    weir_status status = settle_inside(filter, inner, count, err);
    if (status == WEIR_OK) strcpy(value->text, inner); /* never longer */
    return status;
}

/* Parts that are to be cut by places stand one place after the other, unless the spec
 * says otherwise. */
static const char *layout_of(const weir__nest *nest, const char *inner) {
    char copy[WEIR__SPEC_MAX], layout[WEIR__NAME_SIZE];
    const weir__filter_class *class;
    snprintf(copy, sizeof copy, "%s", inner);
    bool can = weir__filter_find(inner, &class, NULL) == WEIR_OK && class->places;
    bool given = weir_spec_take(copy, "layout", layout, sizeof layout);
    return nest->by_places && can && !given ? ",layout=classic" : "";
}

/* The first part may be of another kind, but has its share like all. */
static weir_status take_first(weir_filter *filter, int place, char *inner, uint64_t count,
                              weir_error *err) {
    static const char *const shared[] = {"memory", "fpr"};
    char copy[WEIR__SPEC_MAX], text[64];
    snprintf(copy, sizeof copy, "%s", filter->values[place].text);
    for (size_t i = 0; i < 2; i++)
        if (weir_spec_take(copy, shared[i], text, sizeof text))
            return weir__opt_fail(filter, place, err, "all parts have the same %s; give it outside",
                                  shared[i]);
    return take_spec(filter, place, inner, count, err);
}

/* With its share of fpr, or without any. */
static weir_status try_part(weir__nest *nest, weir_filter *filter, size_t i, const char *inner,
                            bool with_fpr, weir_error *why) {
    assert(i < nest->count && nest->stride > nest->head);
    static const char *const hashes[] = {"xxh3", "siphash"};
    char spec[WEIR__SPEC_MAX + 160], fpr[48] = "";
    uint64_t bytes = nest->stride - nest->head;
    uint8_t *cells = filter->cells + i * nest->stride + nest->head;
    if (with_fpr) snprintf(fpr, sizeof fpr, ",fpr=%.17g", nest->fpr);
    snprintf(spec, sizeof spec, "%s%cmemory=%llu%s,seed=%llu,hash=%s%s", inner,
             strchr(inner, ':') ? ',' : ':', (unsigned long long)bytes, fpr,
             (unsigned long long)weir__opt_whole(filter, WEIR__OPT_SEED),
             hashes[weir__opt_whole(filter, WEIR__OPT_HASH)], layout_of(nest, inner));
    return weir__filter_new_in(&nest->sites[i].filter, spec, filter, cells, bytes, why);
}

/* Parts whose every setting was given imply their rate, if nobody asked for another. */
static bool part_implies(weir__nest *nest, weir_filter *filter, size_t i, const char *inner) {
    weir_filter **part = &nest->sites[i].filter;
    if (!weir__fpr_is_open(filter)) return false;
    if (try_part(nest, filter, i, inner, false, NULL) == WEIR_OK &&
        (*part)->values[WEIR__OPT_FPR].implied)
        return true;
    weir_filter_free(*part);
    *part = NULL;
    return false;
}

static weir_status make_part(weir__nest *nest, weir_filter *filter, size_t i, const char *inner,
                             weir_error *err) {
    uint64_t bytes = nest->stride - nest->head;
    weir_error why = {0};
    if (part_implies(nest, filter, i, inner)) return WEIR_OK;
    weir_status status = try_part(nest, filter, i, inner, true, &why);
    if (status == WEIR_OK) return WEIR_OK;
    char share[32];
    return weir__fail(err, status, -1, "a part with %s of memory cannot be made: %.280s",
                      weir_print_size(share, bytes), why.message);
}

/* --- making ------------------------------------------------------ */

/* Writers (set a site) go before readers (judge), which else might keep a writer out for ever. */
static void make_gate(pthread_rwlock_t *gate) {
    pthread_rwlockattr_t attr;
    pthread_rwlockattr_init(&attr);
    pthread_rwlockattr_setkind_np(&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(gate, &attr);
    pthread_rwlockattr_destroy(&attr);
}

static bool make_locks(weir__nest *nest) {
    make_gate(&nest->gate);
    for (size_t i = 0; i < nest->count; i++) weir__site_own(&nest->sites[i]);
    pthread_mutex_init(&nest->waiting, NULL);
    pthread_cond_init(&nest->returned, NULL);
    return nest->ready = true;
}

/* Room for what a part keeps outside of its cells: two totals and its state. */
static weir_status settle_head(weir__nest *nest, const char *inner, bool *adds_up,
                               weir_error *err) {
    const weir__filter_class *class;
    weir_status status = weir__filter_find(inner, &class, err);
    if (status != WEIR_OK) return status;
    *adds_up |= class->places == NULL;
    uint64_t bytes = 8 * (2 + class->state_words);
    bytes = (bytes + WEIR__LINE - 1) / WEIR__LINE * WEIR__LINE;
    if (bytes > nest->head) nest->head = bytes;
    return WEIR_OK;
}

static weir_status lay_out(weir__nest *nest, weir_filter *filter, size_t count, size_t extra,
                           weir_error *err) {
    uint64_t memory = weir__opt_whole(filter, WEIR__OPT_MEMORY);
    uint64_t counters = count * sizeof(weir__site_counts) + (WEIR__TRAFFIC_WORDS + extra) * 8;
    nest->count = count;
    nest->stride = memory > counters ? (memory - counters) / count / WEIR__LINE * WEIR__LINE : 0;
    if (nest->stride < nest->head + 1024) {
        char has[32], least[32];
        weir_print_size(least, count * (nest->head + 1024) + counters + count * WEIR__LINE);
        return weir__opt_fail(filter, WEIR__OPT_MEMORY, err,
                              "memory=%s is too small for %zu parts; ask for %s at least",
                              weir_print_size(has, memory), count, least);
    }
    weir_status status = weir__filter_map(filter, count * nest->stride + counters, err);
    if (status != WEIR_OK) return status;
    nest->traffic = (uint64_t *)(void *)(filter->cells + count * nest->stride);
    nest->counts = (weir__site_counts *)(nest->traffic + WEIR__TRAFFIC_WORDS);
    nest->extra = (uint64_t *)(nest->counts + count);
    nest->allocator = filter->allocator;
    nest->sites = weir__alloc(&nest->allocator, count * sizeof *nest->sites);
    if (!nest->sites) return weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
    make_locks(nest);
    return WEIR_OK;
}

/* A key meets `steps` parts at most, and each may err. */
static void imply_from_parts(const weir__nest *nest, weir_filter *filter, size_t steps) {
    double worst = 0;
    bool implied = false;
    for (size_t i = 0; i < nest->count; i++) {
        const weir__value *fpr = &nest->sites[i].filter->values[WEIR__OPT_FPR];
        implied |= fpr->implied;
        if (fpr->number > worst) worst = fpr->number;
    }
    if (implied) weir__imply_fpr(filter, worst * (double)steps);
}

weir_status weir__nest_make(weir__nest *nest, weir_filter *filter, size_t count, int of, int first,
                            size_t steps, size_t extra, weir_error *err) {
    char inner[WEIR__SPEC_MAX], other[WEIR__SPEC_MAX] = "";
    weir_status status = take_spec(filter, of, inner, count, err);
    if (status == WEIR_OK && first >= 0 && filter->values[first].text)
        status = take_first(filter, first, other, count, err);
    bool adds_up = false;
    if (status == WEIR_OK) status = settle_head(nest, inner, &adds_up, err);
    if (status == WEIR_OK && *other) status = settle_head(nest, other, &adds_up, err);
    nest->all_places = !adds_up;
    nest->fpr = weir__opt_rate(filter, WEIR__OPT_FPR) / (adds_up ? (double)steps : 1);
    if (status == WEIR_OK) status = lay_out(nest, filter, count, extra, err);
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = make_part(nest, filter, i, i == 0 && *other ? other : inner, err);
    if (status == WEIR_OK) filter->windowed = nest->sites[0].filter->windowed;
    if (status == WEIR_OK) imply_from_parts(nest, filter, adds_up ? steps : 1);
    return status;
}

void weir__nest_free(weir__nest *nest) {
    for (size_t i = 0; nest->sites && i < nest->count; i++) {
        weir_filter_free(nest->sites[i].filter);
        if (nest->ready) pthread_mutex_destroy(&nest->sites[i].lock);
    }
    if (nest->ready) {
        pthread_mutex_destroy(&nest->waiting);
        pthread_cond_destroy(&nest->returned);
        pthread_rwlock_destroy(&nest->gate);
    }
    weir__free(&nest->allocator, nest->sites);
}

/* --- saving and loading ------------------------------------------ */

static uint64_t *head_of(const weir__nest *nest, size_t i) {
    assert(i < nest->count);
    return (uint64_t *)(void *)(nest->sites[i].filter->cells - nest->head);
}

/* A stretch of the cells that is being saved. */
typedef struct {
    uint64_t at;
    uint8_t *bytes;
    size_t length;
} stretch;

/* Copy to the stretch those of `count` words at `place` that fall into it. */
static void copy_words(const stretch *s, uint64_t place, const uint64_t *words, size_t count) {
    assert(place % 8 == 0);
    uint64_t end = place + count * 8;
    uint64_t from = place > s->at ? place : s->at;
    uint64_t to = end < s->at + s->length ? end : s->at + s->length;
    if (from < to)
        memcpy(s->bytes + (from - s->at), (const uint8_t *)words + (from - place), to - from);
}

/* Cells of a part that is itself made of filters, from `place` on. */
static void pack_part(const stretch *s, uint64_t place, const weir_filter *part) {
    uint64_t end = place + part->cells_bytes;
    uint64_t from = place > s->at ? place : s->at;
    uint64_t to = end < s->at + s->length ? end : s->at + s->length;
    if (part->class->pack && from < to)
        part->class->pack(part, from - place, s->bytes + (from - s->at), to - from);
}

void weir__nest_pack(const weir_filter *filter, uint64_t at, uint8_t *bytes, size_t length) {
    assert(length > 0 && at + length <= filter->cells_bytes);
    const weir__nest *nest = weir__nest_of(filter);
    const stretch s = {at, bytes, length};
    uint64_t last = (at + length - 1) / nest->stride;
    for (size_t i = at / nest->stride; i < nest->count && i <= last; i++) {
        const weir_filter *part = nest->sites[i].filter;
        uint64_t place = i * nest->stride;
        copy_words(&s, place, &part->offered, 1);
        copy_words(&s, place + 8, &part->seen, 1);
        copy_words(&s, place + 16, weir__filter_state(part), part->class->state_words);
        pack_part(&s, place + nest->head, part);
    }
}

weir_status weir__nest_check(const weir_filter *filter, weir_error *err) {
    weir__nest *nest = weir__nest_of(filter);
    for (size_t i = 0; i < nest->count; i++) {
        weir_filter *part = nest->sites[i].filter;
        const uint64_t *head = head_of(nest, i);
        part->offered = head[0];
        part->seen = head[1];
        memcpy(weir__filter_state(part), head + 2, part->class->state_words * 8);
        weir_status status = weir__filter_check(part, err);
        if (status != WEIR_OK) return status;
        if (nest->counts[i].seen > nest->counts[i].asked)
            return weir__fail(err, WEIR_ERR_CORRUPT, -1,
                              "the counters of site %zu contradict each other", i);
    }
    return WEIR_OK;
}

/* The cells are zero already. */
void weir__nest_clear(weir_filter *filter) {
    weir__nest *nest = weir__nest_of(filter);
    for (size_t i = 0; i < nest->count; i++) weir_filter_clear(nest->sites[i].filter);
}

weir_status weir__nest_merge(weir_filter *filter, const weir_filter *other, weir_error *err) {
    weir__nest *into = weir__nest_of(filter), *from = weir__nest_of(other);
    assert(into->count == from->count);
    for (size_t i = 0; i < into->count; i++) {
        weir_status status = weir_filter_merge(into->sites[i].filter, from->sites[i].filter, err);
        if (status != WEIR_OK) return status;
        into->counts[i].asked += from->counts[i].asked;
        into->counts[i].seen += from->counts[i].seen;
    }
    for (size_t i = 0; i < WEIR__TRAFFIC_WORDS; i++) into->traffic[i] += from->traffic[i];
    return WEIR_OK;
}

/* --- asking ------------------------------------------------------ */

void weir__nest_info(const weir_filter *filter, weir_filter_info *info) {
    const weir__nest *nest = weir__nest_of(filter);
    info->waits = nest->on_lost == WEIR__LOST_WAIT;
    for (size_t i = 0; i < nest->count; i++) {
        weir_filter_info part;
        pthread_mutex_lock(&nest->sites[i].lock);
        weir_filter_get_info(nest->sites[i].filter, &part);
        pthread_mutex_unlock(&nest->sites[i].lock);
        info->memory += part.memory - nest->sites[i].filter->cells_bytes;
        info->fill += part.fill / (double)nest->count;
        info->fpr_now += part.fpr_now / (double)nest->count;
        info->overfull |= part.overfull;
        info->keeps_all = part.keeps_all && (i == 0 || info->keeps_all);
        info->room += part.room;
        info->uses_importance |= part.uses_importance;
        info->uses_producers |= part.uses_producers;
        info->window = part.window;
        info->window_is_time = part.window_is_time;
        info->renew = part.renew;
    }
}

/* What asking a part about keys sends, and what it sends back: to each key a hash and what comes
 * with it, and a verdict. A key is a message, as in the paper; who sends many at once saves. */
static void count_asked(const weir__nest *nest, const weir_batch *batch) {
    uint64_t request =
        8 + (batch->times ? 8 : 0) + (batch->importances ? 8 : 0) + (batch->producers ? 8 : 0);
    weir__count_traffic(nest, 0, batch->count, batch->count * (request + 1));
}

/* --- judging a batch --------------------------------------------- */

static size_t judge(weir_filter *filter, const weir_batch *batch, bool offering,
                    uint64_t *verdicts) {
    weir__nest *nest = weir__nest_of(filter);
    if (nest->on_lost != WEIR__LOST_STOP)
        return nest->judge->judge(filter, batch, offering, verdicts);
    pthread_rwlock_rdlock(&nest->gate);
    size_t seen = nest->judge->needs_lost(filter, batch)
                      ? WEIR_STOPPED
                      : nest->judge->judge(filter, batch, offering, verdicts);
    pthread_rwlock_unlock(&nest->gate);
    return seen;
}

void weir__nest_start(weir_filter *filter) { (void)filter; }

size_t weir__nest_offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return judge(filter, batch, true, verdicts);
}

size_t weir__nest_test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    return judge((weir_filter *)(uintptr_t)filter, batch, false, verdicts);
}

weir__answer weir__nest_ask(weir__nest *nest, size_t i, const weir_batch *batch, bool offering,
                            bool waiting, uint64_t *verdicts, size_t *seen) {
    assert(i < nest->count && batch->count > 0);
    weir__site *site = &nest->sites[i];
    for (;;) {
        weir__answer answer = offering ? site->kind->offer(site, batch, waiting, verdicts, seen)
                                       : site->kind->test(site, batch, waiting, verdicts, seen);
        if (answer == WEIR__ANSWER && (offering || !nest->hides_tests)) {
            weir__count_site(&nest->counts[i], batch->count, *seen);
            count_asked(nest, batch);
        }
        if (answer != WEIR__NO_ANSWER || nest->on_lost != WEIR__LOST_WAIT || site->host)
            return answer; /* a site that is elsewhere has been waited for, until somebody stopped
                            */
        if (!waiting) return WEIR__NOT_NOW;
        weir__nest_wait(nest, site);
    }
}

void weir__describe_site(weir__site *site, const weir__site_counts *counts, weir_site_info *info) {
    site->kind->describe(site, info);
    info->asked = __atomic_load_n(&counts->asked, __ATOMIC_RELAXED);
    info->seen = __atomic_load_n(&counts->seen, __ATOMIC_RELAXED);
}

void weir__nest_site(const weir__nest *nest, size_t i, weir_site_info *info) {
    weir__describe_site(&nest->sites[i], &nest->counts[i], info);
}

weir__site *weir__nest_place(weir_filter *filter, size_t i) {
    return &weir__nest_of(filter)->sites[i];
}

void weir__nest_set(weir__nest *nest, size_t i, weir_site_state state) {
    assert(i < nest->count);
    pthread_rwlock_wrlock(&nest->gate);
    nest->sites[i].kind->put(&nest->sites[i], state);
    pthread_rwlock_unlock(&nest->gate);
    weir__nest_wake(nest);
}

size_t weir__nest_sites(const weir_filter *filter) { return weir__nest_of(filter)->count; }

void weir__nest_set_site(weir_filter *filter, size_t i, weir_site_state state) {
    weir__nest_set(weir__nest_of(filter), i, state);
}

void weir__nest_wake(weir__nest *nest) {
    pthread_mutex_lock(&nest->waiting);
    pthread_cond_broadcast(&nest->returned);
    pthread_mutex_unlock(&nest->waiting);
}

void weir__nest_wait(weir__nest *nest, const weir__site *site) {
    pthread_mutex_lock(&nest->waiting);
    while (weir__site_lost(site)) pthread_cond_wait(&nest->returned, &nest->waiting);
    pthread_mutex_unlock(&nest->waiting);
}

void weir__fairness(const weir__site_counts *counts, size_t count, weir_traffic *traffic) {
    double sum = 0, squares = 0, most = 0;
    for (size_t i = 0; i < count; i++) {
        double load = (double)__atomic_load_n(&counts[i].asked, __ATOMIC_RELAXED);
        sum += load;
        squares += load * load;
        most = fmax(most, load);
    }
    traffic->fairness = squares > 0 ? sum * sum / ((double)count * squares) : 1;
    traffic->greatest = sum > 0 ? most / sum : 0;
}

void weir__nest_traffic(const weir__nest *nest, size_t first, size_t count, weir_traffic *traffic) {
    assert(first + count <= nest->count);
    *traffic = (weir_traffic){
        .sites = nest->count,
        .keys = __atomic_load_n(&nest->traffic[WEIR__KEYS], __ATOMIC_RELAXED),
        .messages = __atomic_load_n(&nest->traffic[WEIR__MESSAGES], __ATOMIC_RELAXED),
        .bytes = __atomic_load_n(&nest->traffic[WEIR__BYTES], __ATOMIC_RELAXED)};
    for (size_t i = 0; i < nest->count; i++) traffic->lost += weir__site_lost(&nest->sites[i]);
    weir__fairness(nest->counts + first, count, traffic);
}

/* --- key locks --------------------------------------------------- */

static atomic_flag *lock_of(weir__key_locks *locks, uint64_t hash) {
    return &locks->locks[weir__mix64(hash) % WEIR__KEY_LOCKS];
}

static void spin_lock(atomic_flag *lock) {
    for (unsigned tries = 0; atomic_flag_test_and_set_explicit(lock, memory_order_acquire); tries++)
        if (tries < 64) weir__pause();
        else if (tries < 256) sched_yield(); /* its holder may not be running */
        else nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL); /* or wait for a site */
}

void weir__lock_key(weir__key_locks *locks, uint64_t hash) { spin_lock(lock_of(locks, hash)); }

void weir__unlock_key(weir__key_locks *locks, uint64_t hash) {
    atomic_flag_clear_explicit(lock_of(locks, hash), memory_order_release);
}

void weir__lock_keys(weir__key_locks *locks) {
    for (size_t i = 0; i < WEIR__KEY_LOCKS; i++) spin_lock(&locks->locks[i]);
}

void weir__unlock_keys(weir__key_locks *locks) {
    for (size_t i = 0; i < WEIR__KEY_LOCKS; i++)
        atomic_flag_clear_explicit(&locks->locks[i], memory_order_release);
}
