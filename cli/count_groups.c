/* count_groups.c - one set of sketches for each group, a bounded number of them.
 *
 * A group is known by the hash of its field's value. The first --groups different values
 * get sketches of their own; the records of all later ones go into one more set,
 * the rest. So memory is bounded, and nothing is lost from the total.
 */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"

typedef struct {
    uint64_t hash;
    char *name; /* NULL: the rest */
    size_t length;
    count_set set;
    double total; /* weight, for the order */
    uint32_t number, count, at;
} group;

struct count_groups {
    const count_settings *settings;
    const count_specs *specs;
    count_feed *feed;
    stream_picker *picker;
    group *all; /* in order of appearance, until they are sorted; room for the rest too */
    size_t count;
    uint32_t *index; /* hash -> place in all, + 1 */
    size_t slots;
    bool has_rest;
    count_set like; /* an empty set: its hash, its seed */

    uint32_t *of, *sorted; /* of each record of a batch: its group; and the records by group */
    size_t batch_room;
};

int count_groups_new(count_groups **out, const count_settings *s, const count_specs *specs) {
    stream_error err;
    count_groups *g = *out = calloc(1, sizeof *g);
    if (!g) return cli_error("out of memory");
    g->settings = s;
    g->specs = specs;
    for (g->slots = 64; g->slots < 2 * (s->groups + 1);) g->slots *= 2;
    g->index = calloc(g->slots, sizeof *g->index);
    g->all = calloc(s->groups + 1, sizeof *g->all);
    if (!g->index || !g->all) return cli_error("out of memory");
    stream_options options = s->from.in;
    options.key = s->group;
    options.key_option = "--group";
    if (stream_picker_new(&g->picker, &options, &err) != STREAM_OK)
        return cli_error("%s", err.message);
    int code = count_set_make(&g->like, specs);
    return code == EXIT_DONE ? count_feed_new(&g->feed, s, &g->like, 1) : code;
}

void count_groups_free(count_groups *g) {
    if (!g) return;
    for (size_t i = 0; g->all && i < g->count; i++) {
        count_set_free(&g->all[i].set);
        free(g->all[i].name);
    }
    count_feed_free(g->feed);
    stream_picker_free(g->picker);
    count_set_free(&g->like);
    free(g->all);
    free(g->index);
    free(g->of);
    free(g->sorted);
    free(g);
}

const weir_sketch *count_groups_hasher(const count_groups *g) { return count_set_any(&g->like); }

/* NULL if memory is out. name NULL: the rest. */
static group *add_group(count_groups *g, uint64_t hash, const char *name, size_t length) {
    group *new = &g->all[g->count];
    *new = (group){.hash = hash, .length = length, .number = (uint32_t)g->count};
    if (name) {
        new->name = malloc(length + 1);
        if (!new->name) return NULL;
        memcpy(new->name, name, length);
    }
    g->count++;
    return count_set_like(&new->set, &g->like) == EXIT_DONE ? new : NULL;
}

/* The rest is always the last. */
static group *rest_of(count_groups *g) {
    if (g->has_rest) return &g->all[g->count - 1];
    g->has_rest = true;
    return add_group(g, 0, NULL, 0);
}

static group *find_group(count_groups *g, const char *name, size_t length) {
    uint64_t hash = weir_sketch_hash(count_groups_hasher(g), name, length);
    size_t slot = (size_t)hash & (g->slots - 1);
    for (; g->index[slot]; slot = (slot + 1) & (g->slots - 1))
        if (g->all[g->index[slot] - 1].hash == hash) return &g->all[g->index[slot] - 1];
    if (g->count >= g->settings->groups) return rest_of(g);
    group *new = add_group(g, hash, name, length);
    if (new) g->index[slot] = new->number + 1;
    return new;
}

static bool make_room(count_groups *g, size_t count) {
    if (count <= g->batch_room) return true;
    void *of = realloc(g->of, count * sizeof *g->of);
    if (of) g->of = of;
    void *sorted = realloc(g->sorted, count * sizeof *g->sorted);
    if (sorted) g->sorted = sorted;
    if (of && sorted) g->batch_room = count;
    return of && sorted;
}

/* Which group each record is of; what has none counts as missing. */
static int assign(count_groups *g, const stream_batch *b, count_totals *totals) {
    for (size_t i = 0; i < g->count; i++) g->all[i].count = 0;
    for (size_t i = 0; i < b->count; i++) {
        size_t length;
        g->of[i] = UINT32_MAX;
        if (b->status && b->status[i] != STREAM_RECORD_OK) continue;
        const char *name = stream_pick(g->picker, b, i, &length);
        if (!name && g->settings->from.on_missing == DO_FAIL)
            return cli_error("record %llu of '%s' has no field for --group",
                             (unsigned long long)b->first_record + i, b->file);
        if (!name) {
            totals->missing++;
            continue;
        }
        group *found = find_group(g, name, length);
        if (!found) return cli_error("out of memory for the groups; give fewer --groups");
        g->of[i] = found->number;
        found->count++;
        found->total += b->numbers ? b->numbers[i] : 1;
    }
    return EXIT_DONE;
}

static int look_at_status(count_groups *g, const stream_reader *reader, const stream_batch *b,
                          count_totals *totals) {
    stream_error err;
    if (b->status && b->status[0] == STREAM_HEADER &&
        stream_picker_header(g->picker, b, 0, &err) != STREAM_OK)
        return cli_error("%s", err.message);
    return count_feed_check(g->feed, reader, b, totals);
}

int count_groups_batch(count_groups *g, const stream_reader *reader, const stream_batch *b,
                       count_totals *totals) {
    if (!make_room(g, b->count)) return cli_error("out of memory");
    int code = look_at_status(g, reader, b, totals);
    if (code == EXIT_DONE) code = assign(g, b, totals);
    uint32_t at = 0;
    for (size_t i = 0; i < g->count; i++) g->all[i].at = at, at += g->all[i].count;
    for (size_t i = 0; i < b->count && code == EXIT_DONE; i++)
        if (g->of[i] != UINT32_MAX) g->sorted[g->all[g->of[i]].at++] = (uint32_t)i;
    for (size_t i = 0; i < g->count && code == EXIT_DONE; i++) {
        group *one = &g->all[i];
        if (one->count)
            code = count_feed_some(g->feed, &one->set, b, g->sorted + one->at - one->count,
                                   one->count, totals);
    }
    return code;
}

static int by_total(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (!x->name != !y->name) return !x->name - !y->name;
    if (x->total != y->total) return x->total < y->total ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

/* The largest first; numbers and the index follow. */
size_t count_groups_sort(count_groups *g) {
    qsort(g->all, g->count, sizeof *g->all, by_total);
    memset(g->index, 0, g->slots * sizeof *g->index);
    for (size_t i = 0; i < g->count; i++) {
        group *one = &g->all[i];
        one->number = (uint32_t)i;
        if (!one->name) continue;
        size_t slot = (size_t)one->hash & (g->slots - 1);
        while (g->index[slot]) slot = (slot + 1) & (g->slots - 1);
        g->index[slot] = (uint32_t)i + 1;
    }
    return g->count;
}

count_set *count_groups_get(count_groups *g, size_t i, const char **name, size_t *length) {
    *name = g->all[i].name;
    *length = g->all[i].length;
    return &g->all[i].set;
}
