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
#include "group_note.h"
#include "note_lines.h"

struct count_groups {
    const count_settings *settings;
    count_feed *feed;
    stream_picker *picker;
    count_group *all; /* in order of appearance, until they are sorted; room for the rest too */
    size_t count, most;
    uint32_t *index; /* hash -> place in all, + 1 */
    size_t slots;
    bool has_rest;
    const count_set *like; /* an empty set: its hash, its seed */

    uint32_t *of, *sorted; /* of each record of a batch: its group; and the records by group */
    size_t batch_room;
};

static int make_places(count_groups *g, size_t most) {
    g->most = most;
    for (g->slots = 64; g->slots < 2 * (most + 1);) g->slots *= 2;
    free(g->index);
    free(g->all);
    g->index = calloc(g->slots, sizeof *g->index);
    g->all = calloc(most + 1, sizeof *g->all);
    return g->index && g->all ? EXIT_DONE : cli_error("out of memory");
}

int count_groups_new(count_groups **out, const count_settings *s) {
    stream_error err;
    count_groups *g = *out = calloc(1, sizeof *g);
    if (!g) return cli_error("out of memory");
    g->settings = s;
    stream_options options = s->from.in;
    options.key = s->group;
    options.key_option = "--group";
    if (stream_picker_new(&g->picker, &options, &err) != STREAM_OK) return cli_stream_error(&err);
    return make_places(g, s->groups);
}

int count_groups_start(count_groups *g, const count_set *like) {
    g->like = like;
    return count_feed_new(&g->feed, g->settings, (count_set *)(uintptr_t)like, 1);
}

void count_groups_free(count_groups *g) {
    if (!g) return;
    for (size_t i = 0; g->all && i < g->count; i++) {
        count_set_free(&g->all[i].set);
        count_truths_free(&g->all[i].truths);
        free(g->all[i].name);
    }
    count_feed_free(g->feed);
    stream_picker_free(g->picker);
    free(g->all);
    free(g->index);
    free(g->of);
    free(g->sorted);
    free(g);
}

enum { TRUTH_LEAST = 64 * 1024 }; /* bytes for the exact counts of one group, at least */

/* Put a group at the end; its name is the group's from then on. Exact counts have each
 * their share of the memory. */
static int append(count_groups *g, uint64_t hash, char *name, size_t length, count_group **out) {
    uint64_t memory = g->settings->exact_memory / (g->most + 1);
    count_group *new = *out = g->all ? &g->all[g->count] : NULL;
    if (!new) {
        cli_error("out of memory");
        return EXIT_TROUBLE;
    }
    *new =
        (count_group){.hash = hash, .name = name, .length = length, .number = (uint32_t)g->count++};
    return count_truths_make(&new->truths, g->settings,
                             memory < TRUTH_LEAST ? TRUTH_LEAST : memory);
}

/* NULL if memory is out. name NULL: the rest. */
static count_group *add_group(count_groups *g, uint64_t hash, const char *name, size_t length) {
    count_group *new;
    char *copy = name ? malloc(length + 1) : NULL;
    if (name && !copy) return NULL;
    if (name) memcpy(copy, name, length);
    if (append(g, hash, copy, length, &new) != EXIT_DONE) return NULL;
    return count_set_like(&new->set, g->like) == EXIT_DONE ? new : NULL;
}

/* The rest is always the last. */
static count_group *rest_of(count_groups *g) {
    if (g->has_rest) return &g->all[g->count - 1];
    g->has_rest = true;
    return add_group(g, 0, NULL, 0);
}

static count_group *find_group(count_groups *g, const char *name, size_t length) {
    uint64_t hash = weir_sketch_hash(count_set_any(g->like), name, length);
    size_t slot = (size_t)hash & (g->slots - 1);
    for (; g->index[slot]; slot = (slot + 1) & (g->slots - 1))
        if (g->all[g->index[slot] - 1].hash == hash) return &g->all[g->index[slot] - 1];
    if (g->count >= g->most) return rest_of(g);
    count_group *new = add_group(g, hash, name, length);
    if (new) g->index[slot] = new->number + 1;
    return new;
}

static bool room_for(count_groups *g, size_t count) {
    const stream_array arrays[] = {{&g->of, sizeof *g->of}, {&g->sorted, sizeof *g->sorted}};
    return stream_make_room(&g->batch_room, count, arrays, 2);
}

/* Which group each record chosen is of; what has none counts as missing. */
static int assign(count_groups *g, const stream_batch *b, const stream_selection *s,
                  count_totals *totals) {
    for (size_t i = 0; i < g->count; i++) g->all[i].records = 0;
    for (size_t n = 0; n < s->count; n++) {
        size_t length, i = s->places ? s->places[n] : n;
        g->of[n] = UINT32_MAX;
        const char *name = stream_pick(g->picker, b, i, &length);
        if (!name && g->settings->from.on_missing == STREAM_STOP)
            return cli_error("record %llu of '%s' has no field for --group",
                             (unsigned long long)b->first_record + i, b->file);
        if (!name) {
            totals->missing++;
            continue;
        }
        count_group *found = find_group(g, name, length);
        if (!found) return cli_error("out of memory for the groups; give fewer --groups");
        g->of[n] = found->number;
        found->records++;
        found->total += b->numbers ? b->numbers[i] : 1;
    }
    return EXIT_DONE;
}

static int look_at_status(count_groups *g, const stream_reader *reader, const stream_batch *b,
                          count_totals *totals) {
    stream_error err;
    if (b->status && b->status[0] == STREAM_HEADER &&
        stream_picker_header(g->picker, b, 0, &err) != STREAM_OK)
        return cli_stream_error(&err);
    return count_feed_check(g->feed, reader, b, totals);
}

int count_groups_batch(count_groups *g, const stream_reader *reader, const stream_batch *b,
                       count_totals *totals) {
    if (!room_for(g, b->count)) return cli_error("out of memory");
    int code = look_at_status(g, reader, b, totals);
    const stream_selection *s = count_feed_chosen(g->feed);
    if (code == EXIT_DONE) code = assign(g, b, s, totals);
    uint32_t at = 0;
    for (size_t i = 0; i < g->count; i++) g->all[i].at = at, at += g->all[i].records;
    for (size_t i = 0; code == EXIT_DONE && i < s->count; i++)
        if (g->of[i] != UINT32_MAX) g->sorted[g->all[g->of[i]].at++] = (uint32_t)i;
    for (size_t i = 0; i < g->count && code == EXIT_DONE; i++) {
        count_group *one = &g->all[i];
        if (one->records)
            code = count_feed_some(g->feed, one, b, g->sorted + one->at - one->records, totals);
    }
    return code;
}

static int by_total(const void *a, const void *b) {
    const count_group *x = a, *y = b;
    if (!x->name != !y->name) return !x->name - !y->name;
    if (x->total != y->total) return x->total < y->total ? 1 : -1;
    return x->number < y->number ? -1 : 1;
}

/* The largest first; numbers and the index follow. */
size_t count_groups_sort(count_groups *g) {
    qsort(g->all, g->count, sizeof *g->all, by_total);
    memset(g->index, 0, g->slots * sizeof *g->index);
    for (size_t i = 0; i < g->count; i++) {
        count_group *one = &g->all[i];
        one->number = (uint32_t)i;
        if (!one->name) continue;
        size_t slot = (size_t)one->hash & (g->slots - 1);
        while (g->index[slot]) slot = (slot + 1) & (g->slots - 1);
        g->index[slot] = (uint32_t)i + 1;
    }
    return g->count;
}

count_group *count_groups_get(count_groups *g, size_t i) { return &g->all[i]; }

/* --- in a snapshot ------------------------------------------------------------------ */

static const char *label_of(const count_group *one, char label[GROUP_LABEL]) {
    if (one->name) group_label(label, one->hash);
    else strcpy(label, GROUP_REST);
    return label;
}

weir_status count_groups_put(const count_groups *g, weir_snapshot *snapshot, weir_error *err) {
    weir_status status = WEIR_OK;
    char label[GROUP_LABEL];
    for (size_t i = 0; i < g->count && status == WEIR_OK; i++)
        status = count_set_put(snapshot, &g->all[i].set, label_of(&g->all[i], label), err);
    return status;
}

char *count_groups_note(const count_groups *g, size_t *length) {
    char *text = NULL, label[GROUP_LABEL];
    FILE *out = open_memstream(&text, length);
    if (!out) return NULL;
    note_put(out, GROUP_FIELD, g->settings->group, strlen(g->settings->group));
    for (size_t i = 0; i < g->count; i++) {
        const count_group *one = &g->all[i];
        note_put(out, label_of(one, label), one->name ? one->name : "", one->length);
    }
    if (!fclose(out)) return text;
    free(text);
    return NULL;
}

/* Groups of a state that has more than --groups stay. */
static int make_enough(count_groups *g, const char *note, size_t length) {
    const char *at = note;
    char label[GROUP_LABEL], *name;
    size_t named = 0, n;
    while (group_note_next(&at, note + length, label, &name, &n)) {
        named += strcmp(label, GROUP_FIELD) && strcmp(label, GROUP_REST);
        free(name);
    }
    return named > g->most ? make_places(g, named) : EXIT_DONE;
}

static int take_group(count_groups *g, weir_snapshot *snapshot, const char *label, char *name,
                      size_t length, const weir_sketch *hasher) {
    bool rest = !strcmp(label, GROUP_REST);
    char expected[GROUP_LABEL] = GROUP_REST;
    count_group *new;
    uint64_t hash = weir_sketch_hash(hasher, name, length);
    if (!rest) group_label(expected, hash);
    if (rest) free(name);
    g->has_rest |= rest;
    int code = append(g, rest ? 0 : hash, rest ? NULL : name, rest ? 0 : length, &new);
    if (code != EXIT_DONE) return code;
    count_set_take(snapshot, &new->set, label);
    new->total = count_set_total(&new->set);
    if (count_set_any(&new->set) && !strcmp(label, expected)) return EXIT_DONE;
    return cli_error("the groups of the state file '%s' are not understood", g->settings->state);
}

int count_groups_take(count_groups *g, weir_snapshot *snapshot, const weir_sketch *hasher) {
    char label[GROUP_LABEL], *name;
    size_t length, n;
    const char *note = weir_snapshot_note(snapshot, GROUP_NOTE, &length);
    if (!note) return EXIT_DONE;
    const char *at = note, *end = note + length;
    int code = make_enough(g, note, length);
    for (bool field = true; code == EXIT_DONE && group_note_next(&at, end, label, &name, &n);
         field = false) {
        if (field) free(name);
        else code = take_group(g, snapshot, label, name, n, hasher);
    }
    count_groups_sort(g); /* the rest last, the index made */
    return code;
}
