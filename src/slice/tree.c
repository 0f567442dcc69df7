/* tree.c - filters near those who send, and above them filters of filters.
 *
 * Question   how are most repeats found without asking a site far away?
 * Idea       a tree of filters, each node knowing what its children know. A key
 *            enters at the leaf of its producer; what the leaf has seen is decided
 *            there, the rest goes up. Nothing is new that the root has seen.
 * Parameters fanout, levels (1 is the root alone), of: the filter of a node; root:
 *            another spec for the root, such as slices; mode; down
 * Modes      dense: test-and-set at every node on the way up, so that a key that
 *            several leaves send is soon known at all of them. sparse: test on the
 *            way up, and only if the root has not seen it set on the way down, so
 *            that a key stands at one leaf. Filters with a window may not be set by
 *            repeats, so for them dense too tests first and sets new keys only.
 * Top-down   down=d: a hit at a level above d is doubted, for filters higher up know
 *            more and err more. The children on other ways are asked, and below those
 *            that say SEEN theirs, down to level d. If all say NEW it was a false
 *            positive there, and the key goes on up. Levels are counted from the root, 0.
 *            rule=letter is the heuristic as printed: then the process stops and the key is
 *            new, though a node above may know it from another way; so repeats pass.
 * Error      a new key may be taken for seen at every level, so each node gets fpr
 *            divided by the levels. Not so for arrays of places: the bits set at a
 *            node are a subset of those at the root, so with Bloom filters dense,
 *            sparse and the single filter of the root's size agree on what is new
 *            (propositions 3 and 4; where a false positive stops a key at a leaf,
 *            the same bits would stop it at the root).
 * Elsewhere  nodes on servers are used by other processes too. Two may find one key
 *            unknown at the root and set it there: setting is test-and-set, so the second
 *            is told that the key is on by now, and to it the key is SEEN.
 * Threads    any number may offer and test at once; a key's lock is held on its way
 *            (nest.h), a node's while it is asked
 * Cost       one filter call for each level passed, and twice that to set a new key in
 *            sparse mode
 * Source     Koloniari et al., CIKM 2011, section 6
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/rng.h"
#include "slice/nest.h"

enum {
    OPT_FANOUT = WEIR__OPT_OWN,
    OPT_LEVELS,
    OPT_MODE,
    OPT_OF,
    OPT_ROOT,
    OPT_DOWN,
    OPT_RULE,
    OPT_LOST
};
#define LEVELS_MOST 8   /* levels, the root included */
#define NODES_MOST 4096 /* nodes of all levels */
#define FANOUT_MOST 256 /* nodes below one */

typedef struct {
    weir_filter base;
    weir__nest nest; /* node 0 is the root, those of a level follow each other */
    size_t fanout, levels, leaves, first_leaf;
    size_t first[LEVELS_MOST + 1]; /* first node of each level */
    unsigned down;
    bool dense, tests_first, letter;
    weir__key_locks *locks;
} tree_filter;

/* One key on its way. */
typedef struct {
    uint64_t hash;
    const int64_t *time;
    const double *importance;
} traveller;

static size_t parent_of(const tree_filter *f, size_t node) { return (node - 1) / f->fanout; }

static size_t level_of(const tree_filter *f, size_t node) {
    assert(node < f->first[f->levels]);
    size_t level = 0;
    while (node >= f->first[level + 1]) level++;
    return level;
}

static size_t leaf_of(const tree_filter *f, const weir_batch *batch, size_t i) {
    uint64_t number = batch->producers ? batch->producers[i] % f->leaves
                                       : weir__scale(weir__mix64(~batch->hashes[i]), f->leaves);
    assert(number < f->leaves);
    return f->first_leaf + (size_t)number;
}

/* --- asking nodes ------------------------------------------------ */

typedef enum { NODE_NEW, NODE_SEEN, NODE_LOST } node_answer;

/* A node that is lost gives no answer: the key goes on as on-lost says. */
static node_answer ask_node(tree_filter *f, size_t node, traveller *t, bool offering) {
    assert(node < f->first[f->levels]);
    uint64_t verdict;
    size_t seen;
    weir_batch one = {
        .count = 1, .hashes = &t->hash, .times = t->time, .importances = t->importance};
    if (weir__nest_ask(&f->nest, node, &one, offering, true, &verdict, &seen) != WEIR__ANSWER)
        return NODE_LOST;
    return seen ? NODE_SEEN : NODE_NEW;
}

/* Whether the subtree of a node, but for the child that the key came through,
 * confirms that it has seen the key. */
static bool confirmed_below(tree_filter *f, size_t node, size_t level, size_t came_from,
                            traveller *t) {
    if (level >= f->down || level + 1 >= f->levels) return true;
    size_t child = node * f->fanout + 1;
    for (size_t i = 0; i < f->fanout; i++)
        if (child + i != came_from && ask_node(f, child + i, t, false) != NODE_NEW &&
            confirmed_below(f, child + i, level + 1, SIZE_MAX, t))
            return true;
    return false;
}

/* --- the way of a key -------------------------------------------- */

/* From its leaf up: SEEN at a node, if not in vain doubted, ends the way. *stopped is the
 * last node asked, *last what it said. */
static bool go_up(tree_filter *f, size_t leaf, bool setting, traveller *t, size_t *stopped,
                  node_answer *last) {
    assert(leaf >= f->first_leaf && leaf < f->first[f->levels]);
    size_t node = leaf, came_from = SIZE_MAX;
    for (size_t level = f->levels - 1;; level--) {
        node_answer a = ask_node(f, node, t, setting);
        *stopped = node;
        *last = a;
        if (a == NODE_LOST && f->nest.on_lost == WEIR__LOST_SEEN) return true;
        if (a == NODE_SEEN && confirmed_below(f, node, level, came_from, t)) return true;
        if (a == NODE_SEEN && f->letter) return false;
        if (level == 0) return false;
        came_from = node;
        node = parent_of(f, node);
    }
}

/* Set a new key on its way, from where it was decided down to the leaf. `said`: by the top when it
 * was tested. False: another process has set it there meanwhile. */
static bool set_way(tree_filter *f, size_t leaf, size_t top, node_answer said, traveller *t) {
    assert(level_of(f, top) <= level_of(f, leaf));
    size_t way[LEVELS_MOST], n = 0;
    for (size_t node = leaf;; node = parent_of(f, node)) {
        way[n++] = node;
        if (node == top) break;
    }
    node_answer now = ask_node(f, way[--n], t, true);
    if (f->base.elsewhere && said == NODE_NEW && now == NODE_SEEN) return false;
    while (n) ask_node(f, way[--n], t, true);
    return true;
}

static bool judge(tree_filter *f, size_t leaf, bool offering, traveller *t) {
    size_t top;
    node_answer last;
    bool at_once = offering && f->dense && !f->tests_first;
    if (go_up(f, leaf, at_once, t, &top, &last)) return true;
    return offering && !at_once && !set_way(f, leaf, top, last, t);
}

/* With down=, which asks the nodes below a hit, a key may need any node. */
static bool needs_lost(const weir_filter *filter, const weir_batch *batch) {
    const tree_filter *f = (const tree_filter *)filter;
    if (!weir__any_lost(f->nest.sites, f->nest.count)) return false;
    if (f->down) return true;
    for (size_t i = 0; i < batch->count; i++)
        for (size_t node = leaf_of(f, batch, i);; node = parent_of(f, node)) {
            if (weir__site_lost(&f->nest.sites[node])) return true;
            if (node == 0) break;
        }
    return false;
}

/* --- keys that go up together ------------------------------------ */

#define TOGETHER 1024 /* keys: a message of 8 KiB, and arrays that fit the stack */
#define NOWHERE UINT32_MAX

typedef struct {
    size_t count;
    uint32_t at[TOGETHER];   /* of keys that are not decided, in the batch */
    uint32_t node[TOGETHER]; /* where each is; NOWHERE: it is decided */
    /* those at one node */
    size_t ask_count;
    uint32_t ask[TOGETHER]; /* among the above */
    uint64_t hashes[TOGETHER];
    int64_t times[TOGETHER];
    double importances[TOGETHER];
} company;

static void gather_at(company *c, const weir_batch *batch, uint32_t node) {
    c->ask_count = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->node[i] != node) continue;
        size_t n = c->ask_count++;
        c->ask[n] = (uint32_t)i;
        c->hashes[n] = batch->hashes[c->at[i]];
        if (batch->times) c->times[n] = batch->times[c->at[i]];
        if (batch->importances) c->importances[n] = batch->importances[c->at[i]];
    }
}

/* Offer the keys at one node to it; returns how many are SEEN. */
static size_t offer_at(tree_filter *f, company *c, const weir_batch *batch, uint32_t node,
                       uint64_t *verdicts) {
    uint64_t said[TOGETHER / 64];
    size_t seen = 0;
    gather_at(c, batch, node);
    weir_batch part = {.count = c->ask_count,
                       .hashes = c->hashes,
                       .times = batch->times ? c->times : NULL,
                       .importances = batch->importances ? c->importances : NULL};
    bool lost = weir__nest_ask(&f->nest, node, &part, true, true, said, &seen) != WEIR__ANSWER;
    bool lost_is_seen = lost && f->nest.on_lost == WEIR__LOST_SEEN;
    seen = 0;
    for (size_t i = 0; i < c->ask_count; i++) {
        bool is_seen = lost ? lost_is_seen : said[i / 64] >> i % 64 & 1;
        if (is_seen) weir__mark_seen(verdicts, c->at[c->ask[i]], true);
        c->node[c->ask[i]] = is_seen || !node ? NOWHERE : (uint32_t)parent_of(f, node);
        seen += is_seen;
    }
    return seen;
}

static void leave_out_decided(company *c) {
    size_t left = 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->node[i] == NOWHERE) continue;
        c->at[left] = c->at[i];
        c->node[left++] = c->node[i];
    }
    c->count = left;
}

/* Keys first .. first + count - 1; how many are SEEN. */
static size_t go_up_together(tree_filter *f, const weir_batch *batch, size_t first, size_t count,
                             uint64_t *verdicts) {
    company c = {.count = count};
    size_t seen = 0;
    for (size_t i = 0; i < count; i++) {
        c.at[i] = (uint32_t)(first + i);
        c.node[i] = (uint32_t)leaf_of(f, batch, first + i);
    }
    for (size_t level = f->levels; level-- > 0;) {
        for (size_t i = 0; i < c.count; i++)
            if (c.node[i] != NOWHERE && c.node[i] >= f->first[level])
                seen += offer_at(f, &c, batch, c.node[i], verdicts);
        leave_out_decided(&c);
    }
    return seen;
}

static size_t judge_together(tree_filter *f, const weir_batch *batch, uint64_t *verdicts) {
    size_t seen = 0;
    for (size_t at = 0; at < batch->count; at += TOGETHER) {
        size_t count = batch->count - at < TOGETHER ? batch->count - at : TOGETHER;
        seen += go_up_together(f, batch, at, count, verdicts);
    }
    weir__count_traffic(&f->nest, batch->count, 0, 0);
    return seen;
}

static size_t judge_batch(weir_filter *filter, const weir_batch *batch, bool offering,
                          uint64_t *verdicts) {
    tree_filter *f = (tree_filter *)filter;
    size_t seen = 0;
    if (filter->elsewhere && offering && f->dense && !f->tests_first && !f->down)
        return judge_together(f, batch, verdicts);
    for (size_t i = 0; i < batch->count; i++) {
        traveller t = {.hash = batch->hashes[i]};
        if (batch->times) t.time = batch->times + i;
        if (batch->importances) t.importance = batch->importances + i;
        weir__lock_key(f->locks, t.hash);
        bool is_seen = judge(f, leaf_of(f, batch, i), offering, &t);
        weir__unlock_key(f->locks, t.hash);
        weir__mark_seen(verdicts, i, is_seen);
        seen += is_seen;
    }
    if (offering || !f->nest.hides_tests) weir__count_traffic(&f->nest, batch->count, 0, 0);
    return seen;
}

static const weir__nest_judge judging = {judge_batch, needs_lost};

/* --- making ------------------------------------------------------ */

static weir_status lay_out(tree_filter *f, weir_error *err) {
    size_t in_level = 1, nodes = 0;
    f->fanout = weir__opt_whole(&f->base, OPT_FANOUT);
    f->levels = weir__opt_whole(&f->base, OPT_LEVELS);
    for (size_t level = 0; level < f->levels; level++, in_level *= f->fanout) {
        f->first[level] = f->first_leaf = nodes;
        f->leaves = in_level;
        nodes += in_level;
        if (nodes > NODES_MOST)
            return weir__opt_fail(&f->base, OPT_LEVELS, err,
                                  "a tree of fanout=%zu and levels=%zu has more than %d nodes",
                                  f->fanout, f->levels, NODES_MOST);
    }
    f->first[f->levels] = nodes;
    return WEIR_OK;
}

static weir_status create(weir_filter *filter, weir_error *err) {
    tree_filter *f = (tree_filter *)filter;
    weir_status status = lay_out(f, err);
    if (status != WEIR_OK) return status;
    f->dense = weir__opt_whole(filter, OPT_MODE) == 0;
    f->down = (unsigned)weir__opt_whole(filter, OPT_DOWN);
    f->letter = weir__opt_whole(filter, OPT_RULE) == 1;
    f->nest.on_lost = (weir__on_lost)weir__opt_whole(filter, OPT_LOST);
    f->nest.judge = &judging;
    if (f->down >= f->levels)
        return weir__opt_fail(filter, OPT_DOWN, err,
                              "down=%u is below the leaves; the levels go from 0 to %zu", f->down,
                              f->levels - 1);
    status =
        weir__nest_make(&f->nest, filter, f->first[f->levels], OPT_OF, OPT_ROOT, f->levels, 0, err);
    if (status != WEIR_OK) return status;
    f->tests_first = filter->windowed;
    if (f->nest.sites[f->first_leaf].filter->windowed != filter->windowed)
        return weir__opt_fail(filter, OPT_ROOT, err,
                              "the root and the other nodes must all have a window, or none");
    f->locks = weir__alloc(&filter->allocator, sizeof *f->locks);
    return f->locks ? WEIR_OK : weir__fail(err, WEIR_ERR_MEMORY, -1, "out of memory");
}

/* --- the table --------------------------------------------------- */

#define SELF(filter) ((tree_filter *)(uintptr_t)(filter))

/* The chance that a new key is taken for seen at a node of a level, on average over
 * the keys that came by. */
static double level_fpr(const tree_filter *f, size_t level) {
    double asked = 0, wrong = 0;
    for (size_t i = f->first[level]; i < f->first[level + 1]; i++) {
        weir_filter_info node;
        pthread_mutex_lock(&f->nest.sites[i].lock);
        weir_filter_get_info(f->nest.sites[i].filter, &node);
        pthread_mutex_unlock(&f->nest.sites[i].lock);
        double load = (double)__atomic_load_n(&f->nest.counts[i].asked, __ATOMIC_RELAXED);
        wrong += load * node.fpr_now;
        asked += load;
    }
    return asked > 0 ? wrong / asked : 0;
}

/* The root has the last word, so its fill stands for the tree; a key is taken for seen
 * if it is so at any level. Nodes hold keys of each other, in part: no number of keys can be
 * given for all of them. */
static void info(const weir_filter *filter, weir_filter_info *out) {
    const tree_filter *f = SELF(filter);
    weir_site_info root;
    double right = 1;
    weir__nest_info(filter, out);
    out->uses_producers = true;
    weir__nest_site(&f->nest, 0, &root);
    out->fill = root.fill;
    if (f->levels > 1) out->room = 0;
    /* Bits set at a node are set at the root too: what stops a key there stops it here. */
    size_t levels = f->nest.all_places ? 1 : f->levels;
    for (size_t level = 0; level < levels; level++) right *= 1 - level_fpr(f, level);
    out->fpr_now = 1 - right;
}

static void site(const weir_filter *filter, size_t i, weir_site_info *out) {
    weir__nest_site(&SELF(filter)->nest, i, out);
    out->level = level_of(SELF(filter), i);
    if (i > 0) out->parent = parent_of(SELF(filter), i);
}
static void traffic(const weir_filter *filter, weir_traffic *out) {
    weir__nest_traffic(&SELF(filter)->nest, SELF(filter)->first_leaf, SELF(filter)->leaves, out);
}

static void details(const weir_filter *filter, weir_detail_fn *each, void *context) {
    const tree_filter *f = SELF(filter);
    weir_traffic t;
    traffic(filter, &t);
    weir__detail(each, context, "nodes", "filters in the tree", "%zu", f->nest.count);
    weir__detail(each, context, "leaves", "of these at its foot", "%zu", f->leaves);
    weir__detail(each, context, "accesses_per_key", "filters asked for each key", "%.3f",
                 t.keys ? (double)t.messages / (double)t.keys : 0);
    weir__detail(each, context, "fairness", "Jain's index of the load of the leaves, 1 is even",
                 "%.4f", t.fairness);
    for (size_t level = 0; level < f->levels; level++) {
        char name[32], meaning[64];
        uint64_t asked = 0, seen = 0;
        for (size_t i = f->first[level]; i < f->first[level + 1]; i++) {
            asked += __atomic_load_n(&f->nest.counts[i].asked, __ATOMIC_RELAXED);
            seen += __atomic_load_n(&f->nest.counts[i].seen, __ATOMIC_RELAXED);
        }
        snprintf(name, sizeof name, "level_%zu", level);
        snprintf(meaning, sizeof meaning, "hits and accesses of level %zu", level);
        weir__detail(each, context, name, meaning, "%llu/%llu", (unsigned long long)seen,
                     (unsigned long long)asked);
    }
}

static void destroy(weir_filter *filter) {
    weir__nest_free(&SELF(filter)->nest);
    weir__free(&filter->allocator, SELF(filter)->locks);
}

static const weir_option options[] = {
    {"fanout", WEIR_OPT_COUNT, 2, FANOUT_MOST, NULL, "2", "children of a node"},
    {"levels", WEIR_OPT_COUNT, 1, LEVELS_MOST, NULL, "2", "levels of nodes, the root included"},
    {"mode", WEIR_OPT_CHOICE, 0, 0, "dense|sparse", "dense",
     "set a key at every node on its way up, or only new ones on the way down"},
    {"of", WEIR_OPT_SPEC, 0, 0, NULL, "(recent)", "the filter of a node"},
    {"root", WEIR_OPT_SPEC, 0, 0, NULL, NULL, "the filter of the root, if another, such as slices"},
    {"down", WEIR_OPT_COUNT, 0, LEVELS_MOST, NULL, "0",
     "doubt hits above this level and ask the nodes below; 0: never"},
    {"rule", WEIR_OPT_CHOICE, 0, 0, "on|letter", "on",
     "a key whose hit proves false goes on up, or (letter) is new at once, as printed"},
    WEIR__LOST_OPTION,
    {NULL, 0, 0, 0, NULL, NULL, NULL},
};

static const weir__spread spread = {.count = weir__nest_sites,
                                    .site = site,
                                    .set = weir__nest_set_site,
                                    .traffic = traffic,
                                    .place = weir__nest_place};

const weir__filter_class weir__tree_class = {
    .kind = {.name = "tree",
             .summary = "a tree of filters: leaves near the producers, the root over all",
             .advice = "Use it when records come from several places and repeats mostly from the "
                       "same one: the leaf finds those, and only the rest goes on. In one process "
                       "a single filter is faster and remembers more.",
             .mergeable = true,
             .options = options},
    WEIR__NEST_FUNCTIONS(tree_filter),
    .info = info,
    .merge = weir__nest_merge,
};
