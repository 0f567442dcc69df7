/* recent_grow.c - the table of a small `recent` doubles, and becomes lines. See recent_table.h. */
#include <stdatomic.h>
#include <string.h>

#include "filter/recent/recent_filter.h"
#include "filter/recent/recent_flat.h"
#include "filter/recent/recent_line.h"
#include "filter/recent/recent_table.h"

/* Lines whose keys may be so far behind their own that they do not move ahead of all that is still
 * to be moved: a key of line h is in h + TABLE_RUN - 1 at most, and goes to 2h at least. It also
 * covers those that began again at the first line. */
#define TABLE_HEAD (2 * TABLE_RUN)

/* Lines of a part that one thread doubles: they become 2 MiB, a huge page. */
#define PART_LINES 16384u

/* The keys of some lines, which are emptied. */
static unsigned take_lines(uint8_t *cells, uint64_t first, uint64_t count, uint64_t *hashes) {
    unsigned n = 0;
    for (uint64_t i = first; i < first + count; i++) {
        for (unsigned j = 0; j < 8; j++) {
            uint64_t hash = get_word(cells + i * LINE_BYTES, j);
            if (hash) hashes[n++] = hash;
        }
        memset(cells + i * LINE_BYTES, 0, LINE_BYTES);
    }
    return n;
}

/* Keys that are in no line yet come into the table. */
static void put_all(recent_filter *f, const uint64_t *hashes, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        bool put = table_offer(f->base.cells, f->state.table, hashes[i], true) != NO_PLACE;
        f->state.books.forgotten += !put;
        f->state.books.held -= !put;
    }
}

/* Line i of the table that is doubled becomes lines 2i and 2i + 1, after what neighbours have left
 * there. That is all there is to do for most lines: those whose keys are their own, with room for
 * them in either half. Which half a key goes to is hard to guess, so there is no branch about it.
 * False: nothing was changed. */
static bool split_line(uint8_t *cells, uint64_t lines, uint64_t i) {
    uint8_t *from = cells + i * LINE_BYTES, *to = cells + 2 * i * LINE_BYTES;
    uint64_t halves[2 * 16], foreign = 0, count[2] = {0, 0};
    memcpy(halves, to, LINE_BYTES);
    memcpy(halves + 16, to + LINE_BYTES, LINE_BYTES);
    for (unsigned j = 0; j < 8; j++) {
        count[0] += halves[j] != 0;
        count[1] += halves[16 + j] != 0;
    }
    for (unsigned j = 0; j < 8; j++) {
        uint64_t hash = get_word(from, j), rest, home = weir__part(hash, lines, &rest);
        uint64_t second = rest >> 63;
        foreign |= (home ^ i) & -(uint64_t)(hash != 0);
        halves[16 * second + count[second]] = hash;
        count[second] += hash != 0;
    }
    if (foreign || count[0] > 8 || count[1] > 8) return false;
    memset(from, 0, LINE_BYTES);
    memcpy(to, halves, LINE_BYTES);
    memcpy(to + LINE_BYTES, halves + 16, LINE_BYTES);
    return true;
}

/* Lines of a table that is doubled, in parts that have nothing to do with each other: for all but
 * the last lines of a part, where a key goes to is known to be within the same part. Its first
 * lines have keys of the part before. */
typedef struct {
    recent_filter *f;
    uint64_t lines;       /* before */
    uint64_t first, last; /* those at work, of which none becomes another */
    _Atomic uint64_t lost;
} doubling;

static uint64_t part_begin(const doubling *d, size_t part) {
    uint64_t at = (d->first / PART_LINES + part) * PART_LINES;
    return at > d->first ? at : d->first;
}
static uint64_t part_end(const doubling *d, size_t part) {
    uint64_t at = (d->first / PART_LINES + part + 1) * PART_LINES;
    return at < d->last ? at : d->last;
}
static bool at_edge(uint64_t i, uint64_t begin, uint64_t end) {
    return i < begin + TABLE_RUN || i + TABLE_RUN >= end;
}

static void double_part(void *work, size_t part) {
    doubling *d = work;
    uint8_t *cells = d->f->base.cells;
    uint64_t begin = part_begin(d, part), end = part_end(d, part);
    uint64_t hashes[8], lost = 0;
    for (uint64_t i = end; i-- > begin;) {
        if (split_line(cells, d->lines, i) || at_edge(i, begin, end)) continue;
        unsigned n = take_lines(cells, i, 1, hashes);
        while (n--) lost += table_offer(cells, 2 * d->lines, hashes[n], true) == NO_PLACE;
    }
    if (lost) atomic_fetch_add(&d->lost, lost);
}

/* The first and last lines of a part, once all parts are done. */
static void double_edges(const doubling *d, size_t part) {
    uint64_t begin = part_begin(d, part), end = part_end(d, part), hashes[8];
    for (uint64_t i = end; i-- > begin;) {
        if (!at_edge(i, begin, end)) i = begin + TABLE_RUN - 1;
        put_all(d->f, hashes, take_lines(d->f->base.cells, i, 1, hashes));
    }
}

/* The upper half of the lines goes where none are, then the upper half of what is left, and so on.
 */
static void double_table(recent_filter *f) {
    uint64_t head[8 * TABLE_HEAD];
    doubling d = {.f = f, .lines = f->state.table, .first = f->state.table};
    unsigned n = take_lines(f->base.cells, 0, TABLE_HEAD, head);
    f->state.table = 2 * d.lines;
    while (d.first > TABLE_HEAD) {
        d.last = d.first;
        d.first = (d.last + 1) / 2 > TABLE_HEAD ? (d.last + 1) / 2 : TABLE_HEAD;
        size_t parts = (d.last - 1) / PART_LINES - d.first / PART_LINES + 1;
        weir__filter_share(&f->base, double_part, &d, parts);
        while (parts--) double_edges(&d, parts);
    }
    f->state.books.forgotten += d.lost;
    f->state.books.held -= d.lost;
    put_all(f, head, n);
}

/* The keys of one of the filter's lines, in its table; `head` is what the first lines of that were
 * before they were written over. */
static unsigned gather(const recent_filter *f, uint64_t number, const uint8_t *head,
                       uint64_t *values) {
    unsigned n = 0;
    uint64_t table = f->state.table, at = number / (f->lines / table);
    for (unsigned run = 0; run < TABLE_RUN; run++) {
        const uint8_t *line = (at < TABLE_RUN ? head : f->base.cells) + at * LINE_BYTES;
        for (unsigned j = 0; j < 8; j++) {
            uint64_t hash = get_word(line, j), value;
            if (hash && weir__part(hash, f->lines, &value) == number && n < ENTRIES_MAX)
                values[n++] = value;
        }
        if (table_match(line, 0)) break;
        at = at + 1 == table ? 0 : at + 1;
    }
    return n;
}

/* A line of some keys, but for those that no form has room for. Returns how many it has. */
static unsigned make_line(const line_shape *shape, uint8_t *line, const uint64_t *values,
                          unsigned n) {
    line_content content = {.count = n, .kept = 64};
    for (unsigned i = 0; i < n; i++) content.tag[i] = tag_of(shape, values[i]) & ~UINT64_C(1);
    while (!weir__recent_write(shape, line, &content)) content.count--;
    return content.count;
}

const uint8_t *weir__recent_line(const recent_filter *f, uint64_t number, uint8_t *line) {
    uint64_t values[ENTRIES_MAX];
    if (!f->state.table) return f->base.cells + number * LINE_BYTES;
    make_line(&f->shape, line, values, gather(f, number, f->base.cells, values));
    return line;
}

static void leave_table(recent_filter *f) {
    uint8_t head[TABLE_RUN * LINE_BYTES];
    uint64_t values[ENTRIES_MAX], known = f->lines < TABLE_RUN ? f->lines : TABLE_RUN;
    uint64_t held = f->state.books.held;
    memcpy(head, f->base.cells, known * LINE_BYTES);
    f->state.books.held = 0;
    for (uint64_t i = 0; i < f->lines; i++) {
        uint8_t *line = f->base.cells + i * LINE_BYTES;
        unsigned n = gather(f, i, head, values);
        f->state.books.held += make_line(&f->shape, line, values, n);
        f->state.books.spent += weir__recent_cost(&f->shape, line);
    }
    f->state.books.forgotten += held - f->state.books.held;
    f->state.table = 0;
}

void weir__recent_grow(recent_filter *f) {
    if (f->state.table < f->lines) double_table(f);
    else leave_table(f);
}
