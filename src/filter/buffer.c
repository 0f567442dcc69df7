/* buffer.c - an exact buffer of fingerprints: LRU or CLOCK, and FPBuffering.
 *
 * Question   is this key among the ones used last?
 * Idea       keep the 64-bit hashes of as many keys as fit. A key that is there is
 *            SEEN and counts as used; a new one takes the place of another. Which:
 *              lru    the one whose last use is longest ago, by a list in the
 *                     order of use
 *              clock  a hand goes around the keys in the order in which their
 *                     places were taken. One that was used since the hand last
 *                     came is passed once, the first other one is replaced, and
 *                     the hand stands behind it.
 *            FPBuffering (q) is the same, but a key that is not there is called
 *            SEEN with probability q: false positives in exchange for fewer false
 *            negatives, to compare it at the false positive rate of another filter.
 * Error      false positives: q, and 2^-64 for each key held. False negatives: a
 *            key is forgotten when it is replaced; with LRU exactly when as many
 *            different other keys as it holds have come since.
 * Cost       LRU a line of fingerprints and three of links; CLOCK one line, a bit,
 *            and for a new key the line of the one that goes.
 * Memory     accounting=honest: all of it is within `memory`. LRU takes 21.5 bytes
 *            a key, CLOCK 20.3. accounting=paper: `memory` counts 8 bytes a key,
 *            as the thesis does in its tables, and the rest comes on top; the
 *            report of the memory held stays honest.
 * Layout     capacity = the keys held; lines of 8 places, one for each 6 keys
 *              lines      8 words each: fingerprints, 0 where a place is free
 *              LRU        for each place the places of its neighbours in the list,
 *                         newer and older, 4 bytes each
 *              CLOCK      for each key its place, in the order of the hand, and for
 *                         each place where in that order, 4 bytes each; a bit for
 *                         each place: used since the hand came by
 *              overflows  a byte for each line: keys that belong here or before and
 *                         stand further on
 *            A key's line follows from the high bits of its hash; if that is full
 *            it goes to the next that is not, and the overflows of the lines passed
 *            are counted up. A search ends at a line that counts none. When a key
 *            goes, one that stands further on for want of its place moves there, and
 *            another into its place: else lines would in time all count some, and a
 *            search go on for ever. A count that has reached 255 stays there.
 * Source     thesis 3.2.2, 3.5.2; Broder, Najork, Wiener: Efficient URL caching. The
 *            thesis counts 64 bits a key for URLs and 32 for numbers; we keep 64.
 *            Its q is drawn for each key that comes; ours is a mix of the hash and
 *            the number of keys so far, so that testing tells what offering says.
 */
#include "filter/buffer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "core/cells.h"
#include "filter/filter.h"

enum { OPT_POLICY = WEIR__OPT_OWN, OPT_Q, OPT_ACCOUNTING };
enum {
    LINE_PLACES = WEIR__LINE / 8, /* fingerprints of a line */
    AHEAD = 16,                   /* keys between asking for a line and using it */
    STUCK = 255                   /* a count of overflows that is no longer changed */
};
#define PLACES_MOST UINT64_C(0xfffffff0) /* links have 32 bits */

typedef struct {
    uint32_t newer, older; /* places */
} neighbours;

typedef struct {
    weir_filter base;
    weir__buffer_policy policy;
    uint64_t capacity, lines;
    uint64_t q; /* out of 2^64 */
    /* the parts of the cells */
    uint64_t *fingerprints;
    neighbours *links;
    uint32_t *ring, *positions;
    uint8_t *used;
    uint8_t *overflows;
    struct {
        uint64_t held;           /* keys */
        uint64_t newest, oldest; /* LRU: places */
        uint64_t hand;           /* CLOCK: place in the ring */
        uint64_t replaced;       /* keys that had to go */
    } state;
} buffer_filter;

/* --- formulas -------------------------------------------------------------------------- */

/* Six keys for each line of eight places. With seven a key that goes makes others
 * move twice as often, and a new one takes twice the time. */
static uint64_t lines_for(uint64_t capacity) { return capacity / 6 + 1; }

static uint64_t whole_lines(uint64_t bytes) { return (bytes + WEIR__LINE - 1) / WEIR__LINE; }

uint64_t weir__buffer_bytes(uint64_t capacity, weir__buffer_policy policy) {
    uint64_t lines = lines_for(capacity);
    uint64_t order = policy == WEIR__POLICY_LRU
                         ? lines * LINE_PLACES * sizeof(neighbours)
                         : whole_lines(capacity * sizeof(uint32_t)) * WEIR__LINE +
                               whole_lines(lines * LINE_PLACES * sizeof(uint32_t)) * WEIR__LINE +
                               whole_lines(lines) * WEIR__LINE; /* a bit a place: a byte a line */
    return lines * WEIR__LINE + order + whole_lines(lines) * WEIR__LINE;
}

uint64_t weir__buffer_capacity(uint64_t memory, weir__buffer_policy policy, bool paper) {
    uint64_t low = 0, high = memory / 8;
    if (high > PLACES_MOST / 8 * 6) high = PLACES_MOST / 8 * 6;
    if (paper) return high;
    while (low < high) { /* the most keys that take no more than the memory */
        uint64_t middle = low + (high - low + 1) / 2;
        if (weir__buffer_bytes(middle, policy) <= memory) low = middle;
        else high = middle - 1;
    }
    return low;
}

double weir__buffer_fnr(uint64_t capacity, double q, double distance) {
    return distance < (double)capacity ? 0 : 1 - q;
}

double weir__buffer_fnr_uniform(uint64_t capacity, double q, double keys) {
    return (double)capacity >= keys ? 0 : (1 - (double)capacity / keys) * (1 - q);
}

/* --- creation ---------------------------------------------------------------------------- */

/* Where the parts of the cells begin. */
static void lay_out(buffer_filter *f) {
    uint8_t *at = f->base.cells;
    f->fingerprints = (void *)at, at += f->lines * WEIR__LINE;
    if (f->policy == WEIR__POLICY_LRU) {
        f->links = (void *)at, at += f->lines * LINE_PLACES * sizeof(neighbours);
    } else {
        f->ring = (void *)at, at += whole_lines(f->capacity * sizeof(uint32_t)) * WEIR__LINE;
        f->positions = (void *)at;
        at += whole_lines(f->lines * LINE_PLACES * sizeof(uint32_t)) * WEIR__LINE;
        f->used = at, at += whole_lines(f->lines) * WEIR__LINE;
    }
    f->overflows = at;
}

/* Without fpr, q is what is asked for. */
static weir_status settle_q(buffer_filter *f, weir_error *err) {
    weir_filter *filter = &f->base;
    double q = weir__opt_rate(filter, OPT_Q);
    char asked[32], bound[32];
    if (!weir__opt_given(filter, OPT_Q)) return WEIR_OK;
    if (!weir__opt_given(filter, WEIR__OPT_FPR)) {
        filter->values[WEIR__OPT_FPR].number = q;
        filter->values[WEIR__OPT_FPR].given = true;
    }
    if (q > weir__opt_rate(filter, WEIR__OPT_FPR))
        return weir__opt_fail(filter, OPT_Q, err, "q=%s is above fpr=%s; raise fpr or lower q",
                              weir_print_rate(asked, q),
                              weir_print_rate(bound, weir__opt_rate(filter, WEIR__OPT_FPR)));
    f->q = (uint64_t)(q * 0x1p64);
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    buffer_filter *f = (buffer_filter *)filter;
    f->policy = (weir__buffer_policy)weir__opt_whole(filter, OPT_POLICY);
    f->capacity = weir__buffer_capacity(weir__opt_whole(filter, WEIR__OPT_MEMORY), f->policy,
                                        weir__opt_whole(filter, OPT_ACCOUNTING) == 1);
    f->lines = lines_for(f->capacity);
    weir_status status = settle_q(f, err);
    if (status == WEIR_OK)
        status = weir__filter_map(filter, weir__buffer_bytes(f->capacity, f->policy), err);
    if (status == WEIR_OK) lay_out(f);
    return status;
}

static void start(weir_filter *filter) { (void)filter; }

/* --- the table of places -------------------------------------------------------------------- */

#define NOWHERE UINT64_MAX

/* Zero marks a free place, so that one hash stands for another. */
static inline uint64_t fingerprint_of(uint64_t hash) { return hash ? hash : 1; }

static inline uint64_t line_of(const buffer_filter *f, uint64_t hash) {
    return weir__scale(hash, f->lines);
}

static inline uint64_t next_line(const buffer_filter *f, uint64_t line) {
    assert(line < f->lines);
    return line + 1 == f->lines ? 0 : line + 1;
}

/* Which of a line's places holds this, or LINE_PLACES. */
static inline unsigned place_in_line(const uint64_t *line, uint64_t fingerprint) {
    unsigned found = 0;
    for (unsigned i = 0; i < LINE_PLACES; i++) found |= (unsigned)(line[i] == fingerprint) << i;
    return found ? (unsigned)__builtin_ctz(found) : LINE_PLACES;
}

static inline uint64_t find(const buffer_filter *f, uint64_t hash) {
    uint64_t line = line_of(f, hash), fingerprint = fingerprint_of(hash);
    for (uint64_t tried = 0; tried < f->lines; tried++, line = next_line(f, line)) {
        unsigned i = place_in_line(f->fingerprints + line * LINE_PLACES, fingerprint);
        if (i < LINE_PLACES) return line * LINE_PLACES + i;
        if (!f->overflows[line]) break;
    }
    return NOWHERE;
}

/* Put a key where there is room; there is, for not all places are ever taken. */
static uint64_t take_place(buffer_filter *f, uint64_t hash) {
    assert(f->state.held <= f->capacity && f->capacity < f->lines * LINE_PLACES);
    for (uint64_t line = line_of(f, hash);; line = next_line(f, line)) {
        unsigned i = place_in_line(f->fingerprints + line * LINE_PLACES, 0);
        if (i < LINE_PLACES) {
            f->fingerprints[line * LINE_PLACES + i] = fingerprint_of(hash);
            return line * LINE_PLACES + i;
        }
        if (f->overflows[line] < STUCK) f->overflows[line]++;
    }
}

/* One key less passes the lines from here up to there. */
static void uncount(buffer_filter *f, uint64_t line, uint64_t to) {
    assert(line < f->lines && to < f->lines);
    for (; line != to; line = next_line(f, line))
        if (f->overflows[line] < STUCK) f->overflows[line]--;
}

static uint64_t lines_between(const buffer_filter *f, uint64_t from, uint64_t to) {
    assert(from < f->lines && to < f->lines);
    return to >= from ? to - from : to + f->lines - from;
}

/* The place of a key that would stand in this line if there had been room. */
static uint64_t find_passed(const buffer_filter *f, uint64_t line) {
    for (uint64_t at = line; f->overflows[at];) {
        at = next_line(f, at);
        if (at == line) break;
        for (unsigned i = 0; i < LINE_PLACES; i++) {
            uint64_t fingerprint = f->fingerprints[at * LINE_PLACES + i];
            if (fingerprint &&
                lines_between(f, line_of(f, fingerprint), at) >= lines_between(f, line, at))
                return at * LINE_PLACES + i;
        }
    }
    return NOWHERE;
}

/* Move a key to a free place, and change the links or the ring entry that point to it. */
static void move_key(buffer_filter *f, uint64_t from, uint64_t to) {
    assert(f->fingerprints[from] && !f->fingerprints[to]);
    f->fingerprints[to] = f->fingerprints[from];
    f->fingerprints[from] = 0;
    if (f->policy == WEIR__POLICY_LRU) {
        neighbours l = f->links[to] = f->links[from];
        if (from == f->state.newest) f->state.newest = to;
        else f->links[l.newer].older = (uint32_t)to;
        if (from == f->state.oldest) f->state.oldest = to;
        else f->links[l.older].newer = (uint32_t)to;
    } else {
        f->positions[to] = f->positions[from];
        f->ring[f->positions[to]] = (uint32_t)to;
        if (weir__bit_get(f->used, from)) weir__bit_set(f->used, to);
        else weir__bit_clear(f->used, to);
    }
}

/* Remove a key. Keys that had overflowed past its line move into the free place, one by one. */
static void free_place(buffer_filter *f, uint64_t place) {
    assert(f->fingerprints[place]);
    uncount(f, line_of(f, f->fingerprints[place]), place / LINE_PLACES);
    f->fingerprints[place] = 0;
    for (uint64_t next; (next = find_passed(f, place / LINE_PLACES)) != NOWHERE; place = next) {
        uncount(f, place / LINE_PLACES, next / LINE_PLACES);
        move_key(f, next, place);
    }
}

/* --- the order of use ------------------------------------------------------------------------- */

/* Take a place out of the list. */
static void unlink_place(buffer_filter *f, uint64_t place) {
    assert(f->state.held > 0);
    neighbours l = f->links[place];
    if (place == f->state.newest) f->state.newest = l.older;
    else f->links[l.newer].older = l.older;
    if (place == f->state.oldest) f->state.oldest = l.newer;
    else f->links[l.older].newer = l.newer;
}

/* Put it at the head of the list; `others` are in it. */
static void link_newest(buffer_filter *f, uint64_t place, bool others) {
    f->links[place] = (neighbours){0, others ? (uint32_t)f->state.newest : 0};
    if (others) f->links[f->state.newest].newer = (uint32_t)place;
    else f->state.oldest = place;
    f->state.newest = place;
}

static void lru_use(buffer_filter *f, uint64_t place) {
    assert(f->state.held > 0 && f->fingerprints[place]);
    if (place == f->state.newest) return;
    unlink_place(f, place);
    link_newest(f, place, true);
}

/* The one that goes after the next is known by now. */
static inline void ask_for_next(const buffer_filter *f) {
    uint64_t next = f->links[f->state.oldest].newer;
    __builtin_prefetch(&f->links[next], 1);
    __builtin_prefetch(&f->fingerprints[next], 1);
}

static void lru_add(buffer_filter *f, uint64_t hash) {
    if (f->state.held == f->capacity) {
        uint64_t out = f->state.oldest;
        unlink_place(f, out);
        ask_for_next(f);
        free_place(f, out);
        f->state.held--;
        f->state.replaced++;
    }
    uint64_t place = take_place(f, hash);
    link_newest(f, place, f->state.held > 0);
    f->state.held++;
}

/* The hand's next victim: not used since it came by. */
static void clock_make_room(buffer_filter *f) {
    assert(f->state.held == f->capacity && f->state.hand < f->capacity);
    for (;;) {
        uint64_t ahead = f->state.hand + AHEAD, place = f->ring[f->state.hand];
        if (ahead < f->capacity) {
            __builtin_prefetch(&f->used[f->ring[ahead] / 8], 1);
            __builtin_prefetch(&f->fingerprints[f->ring[ahead]], 1);
        }
        if (!weir__bit_get(f->used, place)) break;
        weir__bit_clear(f->used, place);
        f->state.hand = f->state.hand + 1 == f->capacity ? 0 : f->state.hand + 1;
    }
    free_place(f, f->ring[f->state.hand]);
    f->state.replaced++;
}

/* A new key takes the place of the one that goes, and the hand passes it. */
static void clock_add(buffer_filter *f, uint64_t hash) {
    assert(f->state.hand < f->capacity);
    if (f->state.held == f->capacity) clock_make_room(f);
    else f->state.held++;
    uint64_t place = take_place(f, hash);
    f->ring[f->state.hand] = (uint32_t)place;
    f->positions[place] = (uint32_t)f->state.hand;
    weir__bit_clear(f->used, place);
    f->state.hand = f->state.hand + 1 == f->capacity ? 0 : f->state.hand + 1;
}

static void use(buffer_filter *f, uint64_t place) {
    if (f->policy == WEIR__POLICY_LRU) lru_use(f, place);
    else weir__bit_set(f->used, place);
}

static void add(buffer_filter *f, uint64_t hash) {
    if (f->policy == WEIR__POLICY_LRU) lru_add(f, hash);
    else clock_add(f, hash);
}

/* --- the table ----------------------------------------------------------------------------------
 */

/* FPBuffering's coin for a key that is not there, as the n-th to come. */
static inline bool called_seen(const buffer_filter *f, uint64_t hash, uint64_t n) {
    return f->q && weir__mix64(hash ^ weir__mix64(n)) < f->q;
}

/* A key's line, and what goes with its places: eight of them share a line of
 * links, or a byte of bits. */
static inline void ask_for_line(const buffer_filter *f, uint64_t hash) {
    uint64_t line = line_of(f, hash);
    __builtin_prefetch(&f->fingerprints[line * LINE_PLACES], 1);
    __builtin_prefetch(&f->overflows[line], 1);
    if (f->policy == WEIR__POLICY_LRU) __builtin_prefetch(&f->links[line * LINE_PLACES], 1);
    else
        __builtin_prefetch(&f->used[line], 1),
            __builtin_prefetch(&f->positions[line * LINE_PLACES], 1);
}

/* If the key is there, its neighbours in the list. What comes between may change
 * them, so nothing is kept. */
static inline void ask_for_neighbours(const buffer_filter *f, uint64_t hash) {
    uint64_t line = line_of(f, hash);
    unsigned i = place_in_line(f->fingerprints + line * LINE_PLACES, fingerprint_of(hash));
    if (i == LINE_PLACES) return;
    neighbours l = f->links[line * LINE_PLACES + i];
    __builtin_prefetch(&f->links[l.newer], 1);
    __builtin_prefetch(&f->links[l.older], 1);
}

static inline bool offer_one(buffer_filter *f, uint64_t hash, uint64_t n) {
    uint64_t place = find(f, hash);
    if (place != NOWHERE) {
        use(f, place);
        return true;
    }
    add(f, hash);
    return called_seen(f, hash, n);
}

static size_t offer(weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    buffer_filter *f = (buffer_filter *)filter;
    const uint64_t *hashes = batch->hashes;
    size_t seen = 0, n = batch->count;
    bool listed = f->policy == WEIR__POLICY_LRU;
    for (size_t i = 0; i < n && i < AHEAD; i++) ask_for_line(f, hashes[i]);
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) ask_for_line(f, hashes[i + AHEAD]);
        if (listed && i + AHEAD / 2 < n) ask_for_neighbours(f, hashes[i + AHEAD / 2]);
        bool is_seen = offer_one(f, hashes[i], filter->offered + i);
        weir__mark_seen(verdicts, i, is_seen);
        seen += is_seen;
    }
    return seen;
}

static size_t test(const weir_filter *filter, const weir_batch *batch, uint64_t *verdicts) {
    const buffer_filter *f = (const buffer_filter *)filter;
    size_t seen = 0, n = batch->count;
    for (size_t i = 0; i < n && i < AHEAD; i++) ask_for_line(f, batch->hashes[i]);
    for (size_t i = 0; i < n; i++) {
        if (i + AHEAD < n) ask_for_line(f, batch->hashes[i + AHEAD]);
        uint64_t hash = batch->hashes[i];
        bool is_seen = find(f, hash) != NOWHERE || called_seen(f, hash, filter->offered);
        weir__mark_seen(verdicts, i, is_seen);
        seen += is_seen;
    }
    return seen;
}

static void info(const weir_filter *filter, weir_filter_info *info) {
    const buffer_filter *f = (const buffer_filter *)filter;
    double q = weir__opt_given(filter, OPT_Q) ? weir__opt_rate(filter, OPT_Q) : 0;
    info->room = (double)f->capacity;
    info->fill = (double)f->state.held / info->room;
    info->fpr_now = q + (1 - q) * ldexp((double)f->state.held, -64);
    info->overfull = f->state.replaced > 0;
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const buffer_filter *f = (const buffer_filter *)filter;
    weir__detail(each, context, "capacity", "keys it can hold", "%llu",
                 (unsigned long long)f->capacity);
    weir__detail(each, context, "held", "keys it holds", "%llu", (unsigned long long)f->state.held);
    weir__detail(each, context, "replaced", "keys that had to go for others", "%llu",
                 (unsigned long long)f->state.replaced);
    weir__detail(each, context, "bytes_per_key", "of memory, links and table included", "%.1f",
                 (double)filter->cells_bytes / (double)f->capacity);
    weir__detail(each, context, "paper_memory", "bytes if fingerprints alone counted", "%llu",
                 (unsigned long long)f->capacity * 8);
}

/* --- merging and checking
 * -------------------------------------------------------------------------- */

/* A filter's keys from the least recently used on (CLOCK: in the order of the ring,
 * which as long as none has gone is that of their coming). */
static uint64_t oldest_place(const buffer_filter *f) {
    return f->policy == WEIR__POLICY_LRU ? f->state.oldest : 0;
}
static uint64_t place_at(const buffer_filter *f, uint64_t at) {
    return f->policy == WEIR__POLICY_LRU ? at : f->ring[at];
}
static uint64_t newer_place(const buffer_filter *f, uint64_t at) {
    return f->policy == WEIR__POLICY_LRU ? f->links[at].newer : at + 1;
}

static uint64_t count_unknown(const buffer_filter *in, const buffer_filter *keys) {
    uint64_t unknown = 0, at = oldest_place(keys);
    for (uint64_t i = 0; i < keys->state.held; i++, at = newer_place(keys, at))
        unknown += find(in, keys->fingerprints[place_at(keys, at)]) == NOWHERE;
    return unknown;
}

/* While neither has had to let a key go, both know all that came, and so does
 * the union if it fits. The other's keys count as used after ours. */
static weir_status merge(weir_filter *into, const weir_filter *from, weir_error *err) {
    buffer_filter *f = (buffer_filter *)into;
    const buffer_filter *other = (const buffer_filter *)from;
    if (f->state.replaced || other->state.replaced)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "a buffer that has let keys go cannot be merged: which of two filters' "
                          "keys were used last is not known; give both more memory");
    uint64_t unknown = count_unknown(f, other);
    if (f->state.held + unknown > f->capacity)
        return weir__fail(err, WEIR_ERR_UNSUPPORTED, -1,
                          "the two buffers hold %llu different keys, and there is room for %llu; "
                          "give both more memory",
                          (unsigned long long)(f->state.held + unknown),
                          (unsigned long long)f->capacity);
    uint64_t at = oldest_place(other);
    for (uint64_t i = 0; i < other->state.held; i++, at = newer_place(other, at)) {
        uint64_t fingerprint = other->fingerprints[place_at(other, at)];
        uint64_t place = find(f, fingerprint);
        if (place != NOWHERE) use(f, place);
        else add(f, fingerprint);
    }
    return WEIR_OK;
}

static weir_status damaged(weir_error *err, const char *what) {
    return weir__fail(err, WEIR_ERR_CORRUPT, -1, "buffer: %s", what);
}

/* Every place that is taken is found from its key's line, and there are as many
 * as it is said to hold. */
static weir_status check_places(const buffer_filter *f, weir_error *err) {
    uint64_t held = 0, places = f->lines * LINE_PLACES;
    if (f->state.held > f->capacity || (f->state.replaced && f->state.held < f->capacity))
        return damaged(err, "it holds more or fewer keys than it can");
    for (uint64_t place = 0; place < places; place++) {
        uint64_t fingerprint = f->fingerprints[place];
        if (!fingerprint) continue;
        held++;
        if (find(f, fingerprint) != place) return damaged(err, "a key is not where it belongs");
    }
    if (held != f->state.held) return damaged(err, "it holds another number of keys than it says");
    return WEIR_OK;
}

/* The list goes through as many taken places as there are keys, each behind the
 * one before: so through all of them, and once. */
static weir_status check_list(const buffer_filter *f, weir_error *err) {
    uint64_t place = f->state.oldest, places = f->lines * LINE_PLACES;
    for (uint64_t i = 0; i < f->state.held; i++) {
        if (place >= places || !f->fingerprints[place])
            return damaged(err, "its list leads to no key");
        if (i + 1 == f->state.held) break;
        uint64_t newer = f->links[place].newer;
        if (newer >= places || newer == f->state.oldest || f->links[newer].older != place)
            return damaged(err, "its list is torn");
        place = newer;
    }
    if (f->state.held && place != f->state.newest) return damaged(err, "its list does not end");
    return WEIR_OK;
}

/* The ring names as many taken places as there are keys, and no two of its
 * entries the same, since each place knows its entry. */
static weir_status check_ring(const buffer_filter *f, weir_error *err) {
    uint64_t places = f->lines * LINE_PLACES;
    uint64_t hand = f->state.held < f->capacity ? f->state.held : f->state.hand;
    if (f->state.hand >= f->capacity || f->state.hand != hand)
        return damaged(err, "its hand is out of place");
    for (uint64_t i = 0; i < f->state.held; i++)
        if (f->ring[i] >= places || !f->fingerprints[f->ring[i]] || f->positions[f->ring[i]] != i)
            return damaged(err, "its ring leads to no key");
    return WEIR_OK;
}

static weir_status check(const weir_filter *filter, weir_error *err) {
    const buffer_filter *f = (const buffer_filter *)filter;
    weir_status status = check_places(f, err);
    if (status != WEIR_OK) return status;
    return f->policy == WEIR__POLICY_LRU ? check_list(f, err) : check_ring(f, err);
}

/* Exact for LRU, whatever the stream; a hand that passes keys used since it last came
 * keeps about the same ones. */
static void expect(const weir_filter *filter, const weir_stream_model *model,
                   weir_expectation *expectation) {
    const buffer_filter *f = (const buffer_filter *)filter;
    double q = weir__opt_rate(filter, OPT_Q), sum = 0;
    for (size_t i = 0; i < model->gap_count; i++)
        sum += model->gaps[i].share * weir__buffer_fnr(f->capacity, q, model->gaps[i].distance);
    expectation->fpr = q;
    expectation->fnr = sum;
}

static const weir_option options[] = {
    {"policy", WEIR_OPT_CHOICE, 0, 0, "lru|clock", "lru",
     "which key goes for a new one: least recently used, or by a hand that spares used ones"},
    {"q", WEIR_OPT_RATE, 1e-9, 0.5, NULL, NULL,
     "FPBuffering: call a key that is not there seen at this rate; none if not given"},
    {"accounting", WEIR_OPT_CHOICE, 0, 0, "honest|paper", "honest",
     "memory is all that is used, or the fingerprints alone, as in the thesis's tables: takes "
     "more"},
    {NULL, WEIR_OPT_COUNT, 0, 0, NULL, NULL, NULL},
};

const weir__filter_class weir__buffer_class = {
    .kind = {.name = "buffer",
             .summary = "exact buffer of the last keys, LRU or CLOCK, without false positives",
             .advice = "For comparison, and where not one record may be lost: it makes no false "
                       "positives and remembers exactly the keys used last. A key takes 21 "
                       "bytes, so that recent, at any bound that is not zero, remembers several "
                       "times as many.",
             .mergeable = true,
             .options = options},
    WEIR__FILTER_FUNCTIONS(buffer_filter),
    .details = details,
    .merge = merge,
    .check = check,
    .expect = expect,
};
