/* test_recent_lines.c - the forms of a full line of recent, each against a slow exact twin.
 */
#include "recent_testing.h"

#include "filter/recent/recent_clock.h"
#include "filter/recent/recent_convert.h"
#include "filter/recent/recent_spread.h"

static const double rates[] = {0.1, 0.01, 0.001, 1e-6, 1e-9};
enum { RATES = 5 };

static line_content some_content(uint64_t stream, unsigned count) {
    line_content content = {.count = count};
    for (unsigned i = 0; i < count; i++) content.value[i] = test_word(stream, i);
    return content;
}

/* ---- clocked ---- */

/* What a clocked line holds, without its bits: keys in their order, and the sector of the hand. */
typedef struct {
    struct {
        uint64_t key;
        bool mark;
    } entry[ENTRIES_MAX + 1];
    unsigned count, hand;
} clock_model;

/* Bits that the keys of a model take, and how many they are. */
static unsigned model_bits(const clock_model *m, const line_shape *shape, unsigned *keys) {
    unsigned each = 1 + shape->clock.width, bits = shape->code_bits + SECTOR_BITS;
    uint64_t before = 0;
    *keys = 0;
    for (unsigned i = 0; i < m->count; i++) {
        bits += (unsigned)((m->entry[i].key - before) >> shape->clock.gap_bits);
        bits += each;
        *keys += 1;
        before = m->entry[i].key;
    }
    return bits;
}

static bool model_fits(const clock_model *m, const line_shape *shape) {
    unsigned keys, bits = model_bits(m, shape, &keys);
    return bits <= LINE_BITS && keys <= shape->clock.most;
}

/* The keys of a line that is known to have n of them, bit by bit. */
static bool read_model_of(const line_shape *shape, const uint8_t *line, unsigned n,
                          clock_model *m) {
    const clock_form *form = &shape->clock;
    unsigned bit = shape->code_bits + SECTOR_BITS, end = LINE_BITS - n * form->width;
    uint64_t key = 0;
    memset(m, 0, sizeof *m);
    m->hand = (unsigned)get_bits(line, shape->code_bits, SECTOR_BITS);
    for (unsigned i = 0; i < n; i++, bit++) {
        uint64_t field = get_bits(line, remainder_at(i, form->width), form->width);
        for (; bit < end && !get_bits(line, bit, 1); bit++) key += UINT64_C(1) << form->gap_bits;
        if (bit >= end) return false;
        key += field >> 1;
        m->entry[m->count].key = key;
        m->entry[m->count++].mark = field & 1;
    }
    for (; bit < end; bit++)
        if (get_bits(line, bit, 1)) return false;
    return true;
}

/* No two numbers of keys make sense. */
static clock_model read_model(const line_shape *shape, const uint8_t *line) {
    clock_model model, found = {.count = 0};
    unsigned readings = 0;
    for (unsigned n = 1; n <= shape->clock.most; n++)
        if (read_model_of(shape, line, n, &model)) found = model, readings++;
    assert_int_equal(readings, 1);
    return found;
}

static void model_remove(clock_model *m, unsigned i) {
    m->count--;
    memmove(&m->entry[i], &m->entry[i + 1], (m->count - i) * sizeof m->entry[0]);
    memset(&m->entry[m->count], 0, sizeof m->entry[0]);
}

static unsigned sector_of(const line_shape *shape, uint64_t key) {
    unsigned list = (unsigned)(key >> shape->clock.key_bits), sector = 0;
    while ((sector + 1) * shape->shared.lists / SECTORS <= list) sector++;
    return sector;
}

/* The first key without a mark in the sector of the hand, or in a later one, goes. A sector that
 * the hand leaves has no marks, with `sweep`. */
static void model_let_go(clock_model *m, const line_shape *shape, bool sweep) {
    for (unsigned left = 0;; left++, m->hand = (m->hand + 1) % SECTORS) {
        for (unsigned i = 0; i < m->count; i++) {
            if (sector_of(shape, m->entry[i].key) != m->hand || m->entry[i].mark) continue;
            model_remove(m, i);
            return;
        }
        for (unsigned i = 0; i < m->count; i++) {
            bool here = sector_of(shape, m->entry[i].key) == m->hand;
            if (left == SECTORS || (sweep && here)) m->entry[i].mark = false;
        }
    }
}

static unsigned model_find(const clock_model *m, uint64_t key) {
    unsigned i = 0;
    while (i < m->count && m->entry[i].key != key) i++;
    return i;
}

static bool model_offer(clock_model *m, const line_shape *shape, uint64_t key, clock_rule rule) {
    unsigned at = model_find(m, key);
    if (at < m->count) return m->entry[at].mark = true;
    for (;; model_let_go(m, shape, rule.sweep)) {
        clock_model with = *m;
        for (at = 0; at < with.count && with.entry[at].key < key;) at++;
        memmove(&with.entry[at + 1], &with.entry[at], (with.count++ - at) * sizeof with.entry[0]);
        memset(&with.entry[at], 0, sizeof with.entry[0]);
        with.entry[at].key = key;
        with.entry[at].mark = rule.sweep && sector_of(shape, key) == m->hand;
        if (!model_fits(&with, shape)) continue;
        *m = with;
        return false;
    }
}

static unsigned count_marks(const clock_model *model) {
    unsigned marks = 0;
    for (unsigned i = 0; i < model->count; i++) marks += model->entry[i].mark;
    return marks;
}

/* A clocked line does what is said of it, in each of its two ways and for each processor: keys
 * that were hit stay until all are, or until the hand has come round, and the hand takes the next
 * that has no mark. */
static void clocked_lines_are_what_they_say(void **unused) {
    (void)unused;
    const clock_rule rules[] = {{false}, {true}};
    for (double rate = 0.09; rate > 1e-9; rate *= 0.1)
        for (unsigned w = 0; w < 6; w++) {
            line_shape shape;
            uint8_t line[LINE_BYTES] = {0};
            clock_rule rule = rules[w % 2];
            unsigned wiped = 0, marks = 0;
            cpu_kind cpu = (cpu_kind)(w / 2), most = weir__cpu();
            if (cpu > most) continue;
            weir__recent_plan(&shape, rate);
            line_content content = some_content(71, shape.clock.entries);
            weir__recent_write(&shape, line, CLOCKED, &content);
            clock_model model = read_model(&shape, line);
            assert_true(model.count >= shape.clock.entries * 9 / 10);
            for (uint64_t i = 0; i < 40u * shape.clock.entries; i++) {
                uint64_t value = test_word(72, test_word(73, i) % (shape.clock.usual * 5 / 4));
                if (i % 16 == 0) value = test_word(74, i);
                bool seen = model_offer(&model, &shape, clock_key(&shape, value), rule);
                clock_outcome outcome = CALL(offer_clocked, cpu, (&shape, line, value, rule));
                assert_int_equal(outcome.seen, seen);
                clock_model found = read_model(&shape, line);
                assert_memory_equal(&found, &model, sizeof model);
                assert_true(test_clocked(&shape, line, value));
                assert_true(weir__recent_is_sound(&shape, line));
                wiped += marks > count_marks(&model) + 1;
                marks = count_marks(&model);
            }
            assert_true(wiped > 1);
        }
}

/* A clocked line has about as many keys as planned, of which the gaps are spread like waiting
 * times: within half a key, over 400 lines. */
static void clocked_lines_hold_what_is_planned(void **unused) {
    (void)unused;
    for (unsigned r = 1; r < RATES; r++) {
        line_shape shape;
        double held = 0;
        weir__recent_plan(&shape, rates[r]);
        for (uint64_t i = 0; i < 400; i++) {
            uint8_t line[LINE_BYTES];
            line_content content = some_content(75 + i, ENTRIES_MAX);
            held += weir__recent_write(&shape, line, CLOCKED, &content);
            assert_true(weir__recent_is_sound(&shape, line));
        }
        printf("# fpr %g: %.2f keys in a line, planned %u\n", rates[r], held / 400,
               shape.clock.usual);
        assert_true(held / 400 > shape.clock.usual - 0.25);
        assert_true(held / 400 < shape.clock.usual + 1.5);
    }
}

/* ---- spread ---- */

/* What a spread line holds: the keys of its lists, and the extras in the order in which they came.
 */
typedef struct {
    uint64_t single[ENTRIES_MAX], extra[ENTRIES_MAX];
    unsigned singles, extras;
} spread_model;

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Keys as a number each, list before remainder, read bit by bit. */
static spread_model read_spread_model(const line_shape *shape, const uint8_t *line) {
    const spread_form *form = &shape->spread;
    spread_model m = {.singles = 0};
    for (unsigned list = 0; list < form->lists; list++) {
        if (!get_bits(line, form->map + list, 1)) continue;
        uint64_t low = get_bits(line, remainder_at(m.singles, form->width), form->width);
        m.single[m.singles++] = (uint64_t)list << form->width | low;
    }
    m.extras = (unsigned)get_bits(line, shape->code_bits, form->count_bits);
    for (unsigned j = 0; j < m.extras; j++)
        m.extra[j] = get_bits(line, form->extras + j * form->extra_width, form->extra_width);
    return m;
}

/* The place of a number, or `count`. */
static unsigned place_of(const uint64_t *numbers, unsigned count, uint64_t number) {
    unsigned i = 0;
    while (i < count && numbers[i] != number) i++;
    return i;
}

/* Any stream in a spread line: what was there is SEEN and is
 * the only thing that is; a new key is there afterwards; as many keys are gone as is said. */
static void spread_lines_lose_what_they_say(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned w = 0; w < 3; w++) {
            line_shape shape;
            uint8_t line[LINE_BYTES];
            cpu_kind cpu = (cpu_kind)w;
            uint64_t rng = 7;
            if (cpu > weir__cpu()) continue;
            weir__recent_plan(&shape, rates[r]);
            const spread_form *form = &shape.spread;
            if (!form->most) continue;
            line_content content = some_content(81, shape.shared.fair);
            weir__recent_write(&shape, line, SPREAD, &content);
            for (uint64_t i = 0; i < 3000; i++) {
                uint64_t value = test_word(82, test_word(83, i) % (form->most * 3 / 2));
                uint64_t number = find_spread_key(form, value).extra;
                spread_model before = read_spread_model(&shape, line);
                bool there = place_of(before.single, before.singles, number) < before.singles ||
                             place_of(before.extra, before.extras, number) < before.extras;
                unsigned gone;
                assert_int_equal(offer_spread(form, line, value, &rng, &gone, cpu), there);
                spread_model after = read_spread_model(&shape, line);
                assert_int_equal(after.singles + after.extras + gone,
                                 before.singles + before.extras + !there);
                assert_true(place_of(after.single, after.singles, number) < after.singles ||
                            place_of(after.extra, after.extras, number) < after.extras);
                qsort(after.single, after.singles, sizeof *after.single, by_number);
                for (unsigned k = 1; k < after.singles; k++)
                    assert_true(after.single[k - 1] >> form->width < after.single[k] >>
                                form->width);
                assert_true(test_spread(form, line, value));
                assert_true(weir__recent_is_sound(&shape, line));
            }
        }
}

/* ---- from one form to another ---- */

static bool has(const line_content *content, const line_shape *shape, uint64_t value) {
    for (unsigned i = 0; i < content->count; i++)
        if (clock_key(shape, content->value[i]) == clock_key(shape, value)) return true;
    return false;
}

/* A full shared line becomes any form and back: what it says it kept is kept, and no other key
 * comes in. */
static void forms_keep_what_fits(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned form = 0; form < FORMS; form++)
            for (uint64_t round = 0; round < 50; round++) {
                line_shape shape;
                uint8_t line[LINE_BYTES];
                line_content read;
                weir__recent_plan(&shape, rates[r]);
                if (!form_is_possible(&shape, form)) continue;
                line_content content = some_content(90 + round, shape.shared.fair);
                for (unsigned i = 0; i < content.count; i++) content.mark[i] = i % 3 == 0;
                unsigned kept = weir__recent_write(&shape, line, form, &content);
                assert_true(kept + 7 >= content.count * 4 / 5);
                assert_true(weir__recent_is_sound(&shape, line));
                assert_int_equal(weir__recent_entries(&shape, line), kept);
                weir__recent_read(&shape, line, &read);
                assert_int_equal(read.count, kept);
                for (unsigned i = 0; i < read.count; i++)
                    assert_true(has(&content, &shape, read.value[i]));
            }
}

/* All keys in one list are strange, but harmless. */
static void one_list_is_sound(void **unused) {
    (void)unused;
    line_shape shape;
    uint8_t line[LINE_BYTES];
    weir__recent_plan(&shape, 0.1);
    line_content all = {.count = shape.shared.fair};
    for (unsigned i = 0; i < all.count; i++) all.value[i] = value_of(1, shape.shared.lists, i, 20);
    for (unsigned form = 0; form < FORMS; form++) {
        weir__recent_write(&shape, line, form, &all);
        assert_true(weir__recent_is_sound(&shape, line));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clocked_lines_are_what_they_say),
        cmocka_unit_test(clocked_lines_hold_what_is_planned),
        cmocka_unit_test(spread_lines_lose_what_they_say),
        cmocka_unit_test(forms_keep_what_fits),
        cmocka_unit_test(one_list_is_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
