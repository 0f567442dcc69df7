/* count_changes.c - weir count --changes OLD NEW: which keys changed most between two states.
 *
 * Both files hold a list of frequent keys with counters behind it, made with one seed. The
 * candidates are the keys of both lists; each is estimated in both, and the difference of the
 * counts has the bounds of both. A key that is in neither list came at most as often as their
 * floors, so it cannot have changed by more than the larger of them. (Krishnamurthy et al. 2003
 * subtract one sketch from the other: the same difference for count-min, without bounds.)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "count.h"
#include "json_out.h"
#include "plain_text.h"

typedef struct {
    const weir_item *item;
    uint64_t hash;
    weir_estimate before, after;
    double change, low, high;
} changed_key;

typedef struct {
    const char *path;
    weir_snapshot *snapshot;
    count_set set;
    weir_items items;
    double total;
} saved_side;

enum { CANDIDATES_MOST = 1 << 20 }; /* keys of one state that are looked at */
enum { LIST_USUAL = 10 };           /* keys that are shown if --top says nothing else */

static int load_side(saved_side *side, const char *path) {
    weir_error err;
    side->path = path;
    if (weir_snapshot_read(&side->snapshot, path, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    count_set_take(side->snapshot, &side->set, NULL);
    weir_sketch_info info = {0};
    if (side->set.part[PART_KEYS]) weir_sketch_get_info(side->set.part[PART_KEYS], &info);
    if (!(info.answers & WEIR_CAN_TOP) || !(info.answers & WEIR_CAN_ESTIMATE))
        return cli_error("'%s' keeps no list of frequent keys; make it with --top N --state", path);
    side->total = info.total;
    size_t room = info.memory / 24 < CANDIDATES_MOST ? info.memory / 24 + 1 : CANDIDATES_MOST;
    side->items = (weir_items){.items = calloc(room, sizeof(weir_item)), .room = room};
    if (!side->items.items) return cli_error("out of memory");
    if (weir_sketch_top(side->set.part[PART_KEYS], WEIR_BY_AUTO, &side->items, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    return EXIT_DONE;
}

static void free_side(saved_side *side) {
    free(side->items.items);
    count_set_free(&side->set);
    weir_snapshot_free(side->snapshot);
}

static int by_change(const void *a, const void *b) {
    const changed_key *x = a, *y = b;
    double p = fabs(x->change), q = fabs(y->change);
    if (p != q) return p < q ? 1 : -1;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

static int by_hash(const void *a, const void *b) {
    uint64_t x = ((const changed_key *)a)->hash, y = ((const changed_key *)b)->hash;
    return (x > y) - (x < y);
}

/* All keys of both lists, once. */
static size_t gather(saved_side sides[2], changed_key *keys) {
    size_t n = 0, kept = 0;
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < sides[i].items.found; k++)
            keys[n++] = (changed_key){.item = &sides[i].items.items[k],
                                      .hash = sides[i].items.items[k].hash};
    if (!n || !keys) return 0;
    qsort(keys, n, sizeof *keys, by_hash);
    keys[kept++] = keys[0];
    for (size_t i = 1; i < n; i++)
        if (keys[kept - 1].hash != keys[i].hash) keys[kept++] = keys[i];
    return kept;
}

static double whole(double x, bool up) { return up ? ceil(x) : floor(x); }

static int estimate_changes(saved_side sides[2], changed_key *keys, size_t n) {
    weir_error err;
    for (size_t i = 0; i < n; i++) {
        changed_key *k = &keys[i];
        weir_estimate *e[] = {&k->before, &k->after};
        for (int j = 0; j < 2; j++)
            if (weir_sketch_estimate_hash(sides[j].set.part[PART_KEYS], k->hash, WEIR_BY_AUTO, e[j],
                                          &err) != WEIR_OK)
                return cli_error("%s", err.message);
        k->low = whole(k->after.low - k->before.high, true);
        k->high = whole(k->after.high - k->before.low, false);
        k->change = round(k->after.value - k->before.value);
    }
    if (n) qsort(keys, n, sizeof *keys, by_change);
    return EXIT_DONE;
}

/* --- printing ----------------------------------------------------------------------------- */

static void print_json(const changed_key *keys, size_t n, double floor_) {
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    json_print(&j, "floor", "%.15g", floor_);
    json_open(&j, "changes", '[');
    for (const changed_key *k = keys; k < keys + n; k++) {
        json_open(&j, NULL, '{');
        json_key(&j, "key", k->item->key, k->item->length);
        if (k->item->cut) json_flag(&j, "cut", true);
        json_print(&j, "change", "%.0f", k->change);
        json_print(&j, "low", "%.0f", k->low);
        json_print(&j, "high", "%.0f", k->high);
        json_print(&j, "before", "%.0f", round(k->before.value));
        json_print(&j, "after", "%.0f", round(k->after.value));
        json_close(&j, '}');
    }
    json_close(&j, ']');
    json_close(&j, '}');
    putchar('\n');
}

static void print_csv(const changed_key *keys, size_t n) {
    puts("key,change,low,high,before,after,cut");
    for (const changed_key *k = keys; k < keys + n; k++) {
        plain_text_csv(stdout, k->item->key, k->item->length);
        printf(",%.0f,%.0f,%.0f,%.0f,%.0f,%s\n", k->change, k->low, k->high, round(k->before.value),
               round(k->after.value), k->item->cut ? "cut" : "");
    }
}

static void print_text(const changed_key *keys, size_t n) {
    printf("%13s %13s %13s %13s %13s  key\n", "change", "at least", "at most", "before", "after");
    for (const changed_key *k = keys; k < keys + n; k++) {
        printf("%+13.0f %13.0f %13.0f %13.0f %13.0f  ", k->change, k->low, k->high,
               round(k->before.value), round(k->after.value));
        count_show_key(k->item->key, k->item->length, k->item->cut);
        putchar('\n');
    }
}

static int print_changes(const count_settings *s, saved_side sides[2], const changed_key *keys,
                         size_t n) {
    size_t most = s->top ? s->top : LIST_USUAL, shown = n < most ? n : most, sure = 0;
    double rest = fmax(sides[0].items.floor, sides[1].items.floor);
    for (size_t i = shown; i < n; i++)
        rest = fmax(rest, fmax(fabs(keys[i].low), fabs(keys[i].high)));
    for (size_t i = 0; i < shown; i++) sure += keys[i].low > 0 || keys[i].high < 0;
    if (s->form == FORM_JSON) {
        print_json(keys, shown, floor(rest));
    } else if (s->form == FORM_CSV) {
        print_csv(keys, shown);
    } else {
        printf("%-18s %15.0f\n%-18s %15.0f\n\n", sides[0].path, sides[0].total, sides[1].path,
               sides[1].total);
        print_text(keys, shown);
        printf("%zu of these surely changed; no other key changed by more than %.0f\n", sure,
               floor(rest));
    }
    return cli_finish_stdout();
}

int count_changes(const count_settings *s) {
    saved_side sides[2] = {{0}};
    changed_key *keys = NULL;
    size_t n = 0;
    int code = load_side(&sides[0], s->changes);
    if (code == EXIT_DONE) code = load_side(&sides[1], s->with);
    if (code == EXIT_DONE && weir_sketch_hash(sides[0].set.part[PART_KEYS], "weir", 4) !=
                                 weir_sketch_hash(sides[1].set.part[PART_KEYS], "weir", 4))
        code = cli_error("'%s' and '%s' were made with different seeds, so their keys do not "
                         "compare; make both with the same --seed",
                         s->changes, s->with);
    if (code == EXIT_DONE)
        keys = calloc(sides[0].items.found + sides[1].items.found + 1, sizeof *keys);
    if (code == EXIT_DONE && !keys) code = cli_error("out of memory");
    if (keys) {
        n = gather(sides, keys);
        code = estimate_changes(sides, keys, n);
    }
    if (keys && code == EXIT_DONE) code = print_changes(s, sides, keys, n);
    free(keys);
    free_side(&sides[0]);
    free_side(&sides[1]);
    return code;
}
