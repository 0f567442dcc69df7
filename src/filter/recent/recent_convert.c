/* recent_convert.c - lines of `recent` read as a whole, and written in another form.
 *
 * Question   what does a line hold, and how would another form write it?
 * Idea       each form is read into a list of keys, the best protected first, and is written from
 *            such a list. All forms know the same bits of a key, so that nothing but the keys that
 *            do not fit is lost.
 * Cost       some hundred ns a line, when it changes its form, which is seldom.
 */
#include "filter/recent/recent_convert.h"

#include "core/rng.h"
#include "filter/recent/recent_clock.h"
#include "filter/recent/recent_shared.h"
#include "filter/recent/recent_spread.h"

/* One that is read, with its place in the order: by mark, and then by rank. */
typedef struct {
    uint64_t value;
    bool mark;
    uint8_t order;
} ranked_entry;

#define RANKS 64u /* beyond which entries of a list are alike */

static ranked_entry entry_read(uint64_t value, bool mark, unsigned rank) {
    return (ranked_entry){value, mark, (uint8_t)(least(rank, RANKS - 1) + (mark ? 0 : RANKS))};
}

static void sort_entries(line_content *content, const ranked_entry *entries, unsigned n) {
    uint8_t first[2 * RANKS + 1] = {0};
    unsigned lowest = 2 * RANKS, highest = 0;
    for (unsigned i = 0; i < n; i++) { /* NOLINTNEXTLINE(clang-analyzer-core*): filled up to n */
        unsigned order = entries[i].order;
        first[order + 1]++;
        lowest = least(lowest, order);
        highest = order > highest ? order : highest;
    }
    for (unsigned order = lowest + 1; order <= highest; order++)
        first[order] = (uint8_t)(first[order] + first[order - 1]);
    for (unsigned i = 0; i < n; i++) {
        unsigned at = first[entries[i].order]++;
        content->value[at] = entries[i].value;
        content->mark[at] = entries[i].mark;
    }
    content->count = n;
}

static void read_flat(const line_shape *shape, const uint8_t *line, unsigned n,
                      line_content *content) {
    const shared_form *form = &shape->shared;
    unsigned marks = get_flat_marks(line, n), width = form->width[n];
    for (unsigned i = 0; i < n; i++) { /* the latest stands last */
        uint64_t tag = get_tag(line, n, n - 1 - i);
        content->value[i] = value_of((unsigned)(tag >> (64 - form->list_bits)), form->lists,
                                     tag << form->list_bits >> (64 - width), width);
        content->mark[i] = marks >> (n - 1 - i) & 1;
    }
    content->count = n;
}

static void read_lists(const line_shape *shape, const uint8_t *line, unsigned n, unsigned width,
                       unsigned mark, line_content *content) {
    unsigned lists = shape->shared.lists, head = shape->code_bits, end = head + lists + n;
    unsigned i = 0, rank = 0, last = lists;
    ranked_entry entries[ENTRIES_MAX + 1];
    for (unsigned k = 0; 64 * k < end; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, head, end); ones; ones &= ones - 1) {
            unsigned list = 64 * k + (unsigned)__builtin_ctzll(ones) - head - i;
            uint64_t field = get_bits(line, remainder_at(i, width), width);
            uint64_t value = value_of(list, lists, field >> mark, width - mark);
            rank = list == last ? rank + 1 : 0;
            last = list;
            entries[i++] = entry_read(value, field & mark, rank);
        }
    sort_entries(content, entries, n);
}

static void read_shared(const line_shape *shape, const uint8_t *line, line_content *content) {
    const shared_form *form = &shape->shared;
    unsigned n = read_code(line, shape);
    if (n <= form->flat) read_flat(shape, line, n, content);
    else read_lists(shape, line, n, form->width[n], mark_of(form, n), content);
}

/* An entry of a shared line: its list, and the bits of the value that follow. */
typedef struct {
    uint64_t rest;
    unsigned list;
    bool mark;
} list_entry;

static void write_flat(const line_shape *shape, uint8_t *line, const list_entry *entries,
                       unsigned n) {
    unsigned marks = 0;
    for (unsigned i = 0; i < n; i++) {
        const list_entry *entry = &entries[n - 1 - i];
        uint64_t tag = tag_of(&shape->shared, entry->list, entry->rest);
        if (n <= WORDS_MOST) put_word(line, i, tag);
        else put_bits(line, 32 * (i + 1), 32, tag >> 32);
        marks |= (unsigned)entry->mark << i;
    }
    line[0] = (uint8_t)n;
    add_flat_marks(line, n, marks);
}

/* Write entries list by list, those of one list in the order in which they come. */
static void write_lists(const line_shape *shape, uint8_t *line, unsigned code,
                        const list_entry *entries, unsigned n, unsigned width, unsigned mark) {
    uint64_t words[9] = {code};
    uint8_t lists[ENTRIES_MAX + 1];
    for (unsigned i = 0; i < n; i++) lists[i] = (uint8_t)entries[i].list;
    for (unsigned i = 0; i < n; i++) {
        unsigned rank = 0;
        for (unsigned j = 0; j < i; j++) rank += lists[j] <= lists[i];
        for (unsigned j = i + 1; j < n; j++) rank += lists[j] < lists[i];
        unsigned bit = shape->code_bits + lists[i] + rank, at = remainder_at(rank, width);
        uint64_t bits = entries[i].rest >> (64 - width) & ~(uint64_t)mark;
        bits |= entries[i].mark & mark;
        words[bit / 64] |= UINT64_C(1) << bit % 64;
        words[at / 64] |= bits << at % 64;
        words[at / 64 + 1] |= bits >> 1 >> (63 - at % 64);
    }
    memcpy(line, words, LINE_BYTES);
}

static void find_lists(const shared_form *form, const line_content *content, list_entry *entries,
                       unsigned n) {
    for (unsigned i = 0; i < n; i++) { /* NOLINTNEXTLINE(clang-analyzer-core*): filled up to n */
        entries[i].list = (unsigned)weir__part(content->value[i], form->lists, &entries[i].rest);
        entries[i].mark = content->mark[i];
    }
}

static unsigned write_shared(const line_shape *shape, uint8_t *line, const line_content *content) {
    const shared_form *form = &shape->shared;
    unsigned n = content->count < form->most ? content->count : form->most;
    list_entry entries[ENTRIES_MAX + 1];
    find_lists(form, content, entries, n);
    memset(line, 0, LINE_BYTES);
    if (n <= form->flat) write_flat(shape, line, entries, n);
    else write_lists(shape, line, n, entries, n, form->width[n], mark_of(form, n));
    return n;
}

/* Entries of a clocked line: of those alike, what the hand has passed last comes first. */
static void read_clocked(const line_shape *shape, const uint8_t *line, line_content *content) {
    const unsigned bits = shape->clock.key_bits, lists = shape->shared.lists;
    ranked_entry entries[ENTRIES_MAX + 1];
    clock_keys clock;
    read_clock(line, &shape->clock, &clock, CPU_ANY);
    unsigned n = 0, at = keys_below(&clock, shape->clock.sectors[clock.hand]);
    for (unsigned i = 0; i < clock.n; i++) {
        at = at ? at - 1 : clock.n - 1;
        uint64_t key = clock.keys[at + 1] >> 1;
        uint64_t value = value_of((unsigned)(key >> bits), lists, key & low_mask(bits), bits);
        entries[n++] = entry_read(value, clock.keys[at + 1] & 1, 0);
    }
    sort_entries(content, entries, n);
}

/* As many as fit. */
static unsigned write_clocked(const line_shape *shape, uint8_t *line, const line_content *content) {
    const clock_form *form = &shape->clock;
    clock_keys clock = {0};
    memset(line, 0, LINE_BYTES);
    write_code(line, shape, form->code);
    for (unsigned i = 0; i < content->count; i++) {
        uint64_t key = clock_key(shape, content->value[i]);
        unsigned below = keys_below(&clock, key);
        if (!has_room_for(&clock, form, below, key)) break;
        insert_key(line, form, &clock, below, key << 1 | content->mark[i], CPU_ANY);
    }
    return clock.n;
}

/* The same where the processor can do eight keys at a time. */
static unsigned write_lanes_of(const line_shape *shape, uint8_t *line,
                               const line_content *content) {
    uint64_t entries[ENTRIES_MAX + 1];
    memset(line, 0, LINE_BYTES);
    write_code(line, shape, shape->clock.code);
    for (unsigned i = 0; i < content->count; i++)
        entries[i] = clock_key(shape, content->value[i]) << 1 | content->mark[i];
    return fill_lanes(line, &shape->clock, entries, content->count);
}

/* Entries of a spread line: those that hold their lists, then the extras, the latest first. */
static void read_spread(const uint8_t *line, const spread_form *form, line_content *content) {
    unsigned extras = count_extras(line, form), width = form->width, n = 0;
    ranked_entry entries[ENTRIES_MAX + 1];
    for (unsigned k = 0; k < form->words; k++)
        for (uint64_t ones = get_word(line, k) & places_in(k, form->map, form->extras); ones;
             ones &= ones - 1) {
            unsigned list = 64 * k + (unsigned)__builtin_ctzll(ones) - form->map;
            uint64_t remainder = get_bits(line, remainder_at(n, width), width);
            entries[n++] = entry_read(value_of(list, form->lists, remainder, width), false, 0);
        }
    while (extras--) {
        uint64_t extra = get_bits(line, extra_at(form, extras), form->extra_width);
        uint64_t value =
            value_of((unsigned)(extra >> width), form->lists, extra & low_mask(width), width);
        entries[n++] = entry_read(value, false, 1);
    }
    sort_entries(content, entries, n);
}

/* Each list to the first of its keys that comes, the others are extras as far as they fit. */
static unsigned write_spread(uint8_t *line, const line_shape *shape, const spread_form *form,
                             const line_content *content) {
    uint64_t left[ENTRIES_MAX + 1], holder[LINE_BITS], map[LINE_BITS / 64] = {0};
    unsigned others = 0, singles = 0, n = content->count < form->most ? content->count : form->most;
    line_top top = new_top();
    for (unsigned i = 0; i < n; i++) {
        spread_key key = find_spread_key(form, content->value[i]);
        uint64_t bit = UINT64_C(1) << key.bit % 64;
        if (map[key.bit / 64] & bit) left[others++] = key.extra;
        else map[key.bit / 64] |= bit, holder[key.bit] = key.remainder;
    }
    for (unsigned k = 0; k < form->words; k++)
        for (uint64_t ones = map[k]; ones; ones &= ones - 1, singles++)
            add_bits(&top, holder[64 * k + (unsigned)__builtin_ctzll(ones)], form->width);
    memcpy(line, map, LINE_BYTES);
    put_top(line, &top);
    write_code(line, shape, form->code);
    unsigned room = LINE_BITS - form->extras - singles * form->width;
    if (others > most_extras(form)) others = most_extras(form);
    if (others > room / form->extra_width) others = room / form->extra_width;
    for (unsigned j = 0; j < others; j++) add_extra(line, form, j, left[others - 1 - j]);
    return singles + others;
}

/* ---- any form ---- */

unsigned weir__recent_entries(const line_shape *shape, const uint8_t *line) {
    unsigned code = read_code(line, shape), form = form_of(shape, code);
    return form == SHARED ? code
           : form == CLOCKED
               ? count_clocked(line, &shape->clock)
               : count_singles(line, &shape->spread) + count_extras(line, &shape->spread);
}

uint64_t weir__recent_cost(const line_shape *shape, const uint8_t *line) {
    unsigned code = read_code(line, shape);
    return form_cost(shape, form_of(shape, code), code);
}

void weir__recent_read(const line_shape *shape, const uint8_t *line, line_content *content) {
    unsigned form = form_of(shape, read_code(line, shape));
    if (form == SHARED) read_shared(shape, line, content);
    else if (form == SPREAD) read_spread(line, &shape->spread, content);
    else read_clocked(shape, line, content);
}

unsigned weir__recent_write(const line_shape *shape, uint8_t *line, unsigned form,
                            const line_content *content) {
    if (form == SHARED) return write_shared(shape, line, content);
    if (form == SPREAD) return write_spread(line, shape, &shape->spread, content);
    if (shape->clock.in_lanes && weir__cpu() != CPU_ANY)
        return write_lanes_of(shape, line, content);
    return write_clocked(shape, line, content);
}

/* ---- merging ---- */

bool weir__recent_unite(const line_shape *shape, const uint8_t *a, const uint8_t *b,
                        line_content *both) {
    line_content other;
    unsigned n = read_code(a, shape), m = read_code(b, shape);
    const shared_form *form = &shape->shared;
    if (form_of(shape, n) != SHARED || form_of(shape, m) != SHARED) return false;
    unsigned larger = n > m ? n : m, lists = form->lists;
    unsigned width = form->width[larger] - mark_of(form, larger);
    read_shared(shape, a, both);
    read_shared(shape, b, &other);
    for (unsigned i = 0; i < other.count; i++) {
        uint64_t rest, its_rest;
        uint64_t list = weir__part(other.value[i], lists, &rest);
        unsigned j = 0;
        while (j < n && (weir__part(both->value[j], lists, &its_rest) != list ||
                         (rest ^ its_rest) >> (64 - width) != 0))
            j++;
        if (j < n) both->mark[j] |= other.mark[i];
        if (j < n || both->count > ENTRIES_MAX) continue;
        both->mark[both->count] = other.mark[i];
        both->value[both->count++] = other.value[i];
    }
    return both->count <= form->fair;
}

/* ---- checking ---- */

/* The header of lists must close its last one exactly where n says. */
static bool header_is_sound(const line_shape *shape, const uint8_t *line, unsigned n) {
    unsigned zeros = 0, end = shape->code_bits + shape->shared.lists + n;
    for (unsigned bit = shape->code_bits; bit < end; bit++) zeros += !get_bits(line, bit, 1);
    return zeros == shape->shared.lists && !get_bits(line, end - 1, 1);
}

static bool spread_is_sound(const uint8_t *line, const spread_form *form) {
    unsigned singles = count_singles(line, form), extras = count_extras(line, form);
    return form->most && singles && singles + extras <= form->most &&
           extra_at(form, extras) + singles * form->width <= LINE_BITS;
}

static bool clocked_is_sound(const line_shape *shape, const uint8_t *line) {
    clock_keys clock;
    if (!shape->clock.entries) return false;
    read_clock(line, &shape->clock, &clock, CPU_ANY);
    uint64_t last = clock.keys[clock.n] >> 1;
    return clock.n && last >> shape->clock.key_bits < shape->shared.lists;
}

static bool flat_is_sound(const shared_form *form, const uint8_t *line, unsigned n) {
    if (line[0] != n) return false;
    for (unsigned i = 0; i < n; i++)
        if (get_tag(line, n, i) >> (64 - form->list_bits) >= form->lists) return false;
    return true;
}

bool weir__recent_is_sound(const line_shape *shape, const uint8_t *line) {
    const shared_form *shared = &shape->shared;
    unsigned code = read_code(line, shape), form = form_of(shape, code);
    if (form == SPREAD) return spread_is_sound(line, &shape->spread);
    if (form == CLOCKED) return clocked_is_sound(shape, line);
    return code <= shared->flat ? flat_is_sound(shared, line, code)
                                : code <= shared->most && header_is_sound(shape, line, code);
}
