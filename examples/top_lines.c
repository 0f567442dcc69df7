/* top_lines.c - the most frequent lines, and how many different ones, in one pass.
 *
 * Reads lines from standard input; prints the ten most frequent with bounds that
 * hold the true count. Two sketches share one hash of each line: they have the same
 * seed and the same hash function.
 *
 *     cc top_lines.c -o top_lines $(pkg-config --cflags --libs weir)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir.h>
#include <weir_sketch.h>

enum { BATCH = 256, LISTED = 10 };

typedef struct {
    char *text[BATCH];
    size_t room[BATCH], length[BATCH];
    uint64_t hashes[BATCH];
} lines;

/* Called only for the few lines that the sketch keeps. */
static const void *bytes_of(void *context, size_t i, size_t *length) {
    const lines *l = context;
    *length = l->length[i];
    return l->text[i];
}

static size_t read_lines(lines *l, const weir_sketch *sketch) {
    size_t n = 0;
    for (; n < BATCH; n++) {
        ssize_t length = getline(&l->text[n], &l->room[n], stdin);
        if (length < 0) break;
        l->length[n] = (size_t)length - (length > 0 && l->text[n][length - 1] == '\n');
        l->hashes[n] = weir_sketch_hash(sketch, l->text[n], l->length[n]);
    }
    return n;
}

static weir_status print_answers(weir_sketch *top, weir_sketch *distinct, weir_error *err) {
    weir_item items[LISTED];
    weir_items list = {.items = items, .room = LISTED};
    weir_estimate keys;
    weir_status status = weir_sketch_top(top, WEIR_BY_AUTO, &list, err);
    if (status == WEIR_OK) status = weir_sketch_distinct(distinct, &keys, err);
    if (status != WEIR_OK) return status;
    for (size_t i = 0; i < list.found; i++)
        printf("%10.0f (%.0f to %.0f)  %.*s\n", items[i].count.value, items[i].count.low,
               items[i].count.high, (int)items[i].length, (const char *)items[i].key);
    printf("about %.0f different lines\n", keys.value);
    return WEIR_OK;
}

int main(void) {
    static lines l;
    weir_sketch *top = NULL, *distinct = NULL;
    weir_error err;
    weir_status status = weir_sketch_new(&top, "top:k=100,memory=1M,seed=1", &err);
    if (status == WEIR_OK) status = weir_sketch_new(&distinct, "hll:memory=12K,seed=1", &err);
    for (size_t n; status == WEIR_OK && (n = read_lines(&l, top)) > 0;) {
        weir_updates u = {.count = n, .hashes = l.hashes, .key = bytes_of, .context = &l};
        status = weir_sketch_add_batch(top, &u, &err);
        if (status == WEIR_OK) status = weir_sketch_add_batch(distinct, &u, &err);
    }
    if (status == WEIR_OK) status = print_answers(top, distinct, &err);
    if (status != WEIR_OK) fprintf(stderr, "top: %s\n", err.message);
    weir_sketch_free(top);
    weir_sketch_free(distinct);
    for (size_t i = 0; i < BATCH; i++) free(l.text[i]);
    return status == WEIR_OK ? 0 : 2;
}
