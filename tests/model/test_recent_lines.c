/* test_recent_lines.c - the lines of recent, each form against a slow exact twin.
 */
#include "recent_testing.h"

#include "filter/recent/recent_gaps.h"
#include "filter/recent/recent_line.h"

static const double rates[] = {0.5, 0.1, 0.02, 0.01, 0.001, 1e-6, 1e-9};
enum { RATES = sizeof rates / sizeof *rates };

/* So many different keys, some of them with marks. */
static line_content some_content(const line_shape *shape, uint64_t stream, unsigned count) {
    line_content content = {.count = count, .kept = 64};
    for (unsigned i = 0; i < count; i++)
        content.tag[i] = (tag_of(shape, test_word(stream, i)) & ~UINT64_C(1)) | (i % 3 == 0);
    return content;
}

/* ---- a twin ---- */

/* What a line with gaps holds, without its bits: keys in their order, and the sector of the hand.
 */
typedef struct {
    struct {
        uint64_t key;
        bool mark;
    } entry[ENTRIES_MAX + 1];
    unsigned count, hand, form;
} gap_model;

/* Bits that the keys of a model take. */
static unsigned model_bits(const gap_model *m, const gap_form *form) {
    unsigned bits = form->gaps;
    uint64_t before = 0;
    for (unsigned i = 0; i < m->count; i++) {
        bits += (unsigned)((m->entry[i].key - before) >> form->gap_bits) + 1 + form->width;
        before = m->entry[i].key;
    }
    return bits;
}

static bool model_fits(const gap_model *m, const line_shape *shape) {
    const gap_form *form = &shape->form[m->form];
    return model_bits(m, form) <= LINE_BITS && m->count <= form->most;
}

/* The keys of a line that is known to have n of them, bit by bit. */
static bool read_model_of(const line_shape *shape, const uint8_t *line, unsigned n, gap_model *m) {
    memset(m, 0, sizeof *m);
    m->form = read_code(line) - GAP_CODE;
    const gap_form *form = &shape->form[m->form];
    unsigned bit = form->gaps, end = LINE_BITS - n * form->width;
    uint64_t key = 0;
    m->hand = (unsigned)get_bits(line, CODE_BITS, SECTOR_BITS);
    if (form->counted && get_bits(line, CODE_BITS + SECTOR_BITS, COUNT_BITS) != n) return false;
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
static gap_model read_model(const line_shape *shape, const uint8_t *line) {
    const gap_form *form = form_of(shape, line);
    gap_model model, found = {.count = 0};
    unsigned readings = 0;
    for (unsigned n = 1; n <= form->most; n++)
        if (read_model_of(shape, line, n, &model)) found = model, readings++;
    assert_int_equal(readings, 1);
    return found;
}

static void model_remove(gap_model *m, unsigned i) {
    m->count--;
    memmove(&m->entry[i], &m->entry[i + 1], (m->count - i) * sizeof m->entry[0]);
    memset(&m->entry[m->count], 0, sizeof m->entry[0]);
}

static unsigned sector_of(const line_shape *shape, const gap_form *form, uint64_t key) {
    unsigned list = (unsigned)(key >> (64 - LIST_BITS - form->shift)), sector = 0;
    while ((sector + 1) * shape->lists / SECTORS <= list) sector++;
    return sector;
}

/* The first key without a mark in the sector of the hand, or in a later one, goes. A sector that
 * the hand leaves has no marks. */
static void model_let_go(gap_model *m, const line_shape *shape) {
    const gap_form *form = &shape->form[m->form];
    for (;; m->hand = (m->hand + 1) % SECTORS) {
        for (unsigned i = 0; i < m->count; i++) {
            if (sector_of(shape, form, m->entry[i].key) != m->hand || m->entry[i].mark) continue;
            model_remove(m, i);
            return;
        }
        for (unsigned i = 0; i < m->count; i++)
            if (sector_of(shape, form, m->entry[i].key) == m->hand) m->entry[i].mark = false;
    }
}

static void model_cut(gap_model *m, const line_shape *shape) {
    unsigned off = shape->form[m->form + 1].shift - shape->form[m->form].shift;
    for (unsigned i = 0; i < m->count; i++) m->entry[i].key >>= off;
    m->form++;
}

static bool model_offer(gap_model *m, const line_shape *shape, uint64_t tag) {
    unsigned at = 0;
    uint64_t key = tag >> shape->form[m->form].shift;
    while (at < m->count && m->entry[at].key != key) at++;
    if (at < m->count) return m->entry[at].mark = true;
    for (;;) {
        const gap_form *form = &shape->form[m->form];
        gap_model with = *m;
        key = tag >> form->shift;
        for (at = 0; at < with.count && with.entry[at].key < key;) at++;
        memmove(&with.entry[at + 1], &with.entry[at], (with.count++ - at) * sizeof with.entry[0]);
        memset(&with.entry[at], 0, sizeof with.entry[0]);
        with.entry[at].key = key;
        with.entry[at].mark = form->last && sector_of(shape, form, key) == m->hand;
        if (model_fits(&with, shape)) {
            *m = with;
            return false;
        }
        if (form->last) model_let_go(m, shape);
        else model_cut(m, shape);
    }
}

static unsigned count_marks(const gap_model *model) {
    unsigned marks = 0;
    for (unsigned i = 0; i < model->count; i++) marks += model->entry[i].mark;
    return marks;
}

static void assert_same(const line_shape *shape, const uint8_t *line, const gap_model *model) {
    gap_model found = read_model(shape, line);
    assert_memory_equal(&found, model, sizeof *model);
    assert_true(weir__recent_is_sound(shape, line));
    assert_int_equal(weir__recent_cost(shape, line), shape->form[model->form].cost * model->count);
}

/* A line with gaps does what is said of it, for each processor, from its first key in the widest
 * form to where the hand has gone round many times in the narrowest. Most keys come again soon. */
static void lines_with_gaps_are_what_they_say(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++)
        for (cpu_kind cpu = CPU_ANY; cpu <= weir__cpu(); cpu++) {
            line_shape shape;
            uint8_t line[LINE_BYTES];
            unsigned wiped = 0, marks = 0, forms = 0, gone = 0;
            uint64_t cost = 0;
            weir__recent_plan(&shape, rates[r]);
            line_content content = some_content(&shape, 71, shape.flat + 1);
            assert_true(weir__recent_write(&shape, line, &content));
            gap_model model = read_model(&shape, line);
            assert_int_equal(model.form, 0);
            assert_int_equal(model.count, shape.flat + 1);
            cost = weir__recent_cost(&shape, line);
            for (uint64_t i = 0; i < 60u * last_form(&shape)->usual; i++) {
                uint64_t value =
                    test_word(72, test_word(73, i) % (last_form(&shape)->usual * 5 / 4));
                if (i % 16 == 0) value = test_word(74, i);
                uint64_t tag = tag_of(&shape, value);
                unsigned form = model.form, count = model.count;
                bool seen = model_offer(&model, &shape, tag);
                gap_outcome outcome = CALL_CPU_VARIANT(offer_gaps, cpu, (&shape, line, tag));
                assert_int_equal(outcome.seen, seen);
                assert_int_equal(outcome.gone, count + !seen - model.count);
                cost += outcome.cost;
                assert_int_equal(cost, weir__recent_cost(&shape, line));
                assert_same(&shape, line, &model);
                assert_true(test_gaps(&shape, line, tag));
                forms += model.form != form, gone += outcome.gone;
                wiped += marks > count_marks(&model) + 1;
                marks = count_marks(&model);
            }
            assert_int_equal(forms, shape.forms - 1);
            assert_true(gone > 100 && wiped > 1);
        }
}

/* A full line has about as many keys as planned, of which the gaps are spread like waiting times:
 * within half a key or so, over 400 lines. */
static void full_lines_hold_what_is_planned(void **unused) {
    (void)unused;
    for (unsigned r = 1; r < RATES; r++) {
        line_shape shape;
        double held = 0;
        weir__recent_plan(&shape, rates[r]);
        for (uint64_t i = 0; i < 400; i++) {
            uint8_t line[LINE_BYTES];
            line_content content = some_content(&shape, 75 + i, last_form(&shape)->most + 8);
            while (!weir__recent_write(&shape, line, &content)) content.count--;
            held += content.count;
            assert_true(weir__recent_is_sound(&shape, line));
        }
        printf("# fpr %g: %.2f keys in a line, planned %u\n", rates[r], held / 400,
               last_form(&shape)->usual);
        assert_true(held / 400 > last_form(&shape)->usual - 1.25);
        assert_true(held / 400 < last_form(&shape)->usual + 1.5);
    }
}

/* ---- from one form to another ---- */

static bool has(const line_content *content, uint64_t tag, unsigned kept) {
    for (unsigned i = 0; i < content->count; i++)
        if ((content->tag[i] ^ tag) >> (64 - kept) == 0 && ((content->tag[i] ^ tag) & 1) == 0)
            return true;
    return false;
}

/* Any number of keys becomes a line, and is read again: all keys, all marks but those of words, and
 * as many bits as its form keeps. A line never costs more than the bound. */
static void lines_keep_what_they_are_given(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++) {
        line_shape shape;
        uint8_t line[LINE_BYTES];
        line_content read;
        unsigned kept = 64;
        weir__recent_plan(&shape, rates[r]);
        for (unsigned n = 1; n <= ENTRIES_MAX; n++) {
            line_content content = some_content(&shape, 90, n);
            if (!weir__recent_write(&shape, line, &content)) break;
            assert_true(weir__recent_is_sound(&shape, line));
            assert_int_equal(weir__recent_entries(&shape, line), n);
            assert_true(weir__recent_cost(&shape, line) <= COST_ONE);
            weir__recent_read(&shape, line, &read);
            assert_int_equal(read.count, n);
            assert_true(read.kept <= kept && read.kept >= 64 - last_form(&shape)->shift);
            kept = read.kept;
            for (unsigned i = 0; i < n; i++) {
                uint64_t mark = n <= WORDS_MOST ? content.tag[i] & 1 : 0;
                assert_true(has(&content, read.tag[i] | mark, kept));
            }
        }
        assert_int_equal(kept, 64 - last_form(&shape)->shift);
    }
}

/* The union of two lines of any number of keys, a third of them in both; a few that differ
 * are taken for the same where few bits are kept. */
static void united_lines_have_the_keys_of_both(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++) {
        line_shape shape;
        uint8_t a[LINE_BYTES], b[LINE_BYTES];
        line_content both;
        weir__recent_plan(&shape, rates[r]);
        for (unsigned n = 3; n < last_form(&shape)->usual / 2; n += 3) {
            line_content first = some_content(&shape, 91, n),
                         second = some_content(&shape, 91, n + n * 2 / 3);
            memmove(second.tag, second.tag + n * 2 / 3, n * sizeof *second.tag);
            second.count = n;
            assert_true(weir__recent_write(&shape, a, &first) &&
                        weir__recent_write(&shape, b, &second));
            assert_true(weir__recent_unite(&shape, a, b, &both));
            assert_in_range(both.count, n + n * 2 / 3 - (r < 3 ? 5 : 0), n + n * 2 / 3);
        }
        line_content most = some_content(&shape, 92, last_form(&shape)->usual * 3 / 4),
                     others = some_content(&shape, 93, last_form(&shape)->usual * 3 / 4);
        assert_true(weir__recent_write(&shape, a, &most) && weir__recent_write(&shape, b, &others));
        assert_false(weir__recent_unite(&shape, a, b, &both));
    }
}

/* All keys side by side, or all the same in what is kept of them, are strange, but harmless. */
static void strange_keys_are_sound(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++)
        for (unsigned same = 0; same < 2; same++)
            for (cpu_kind cpu = CPU_ANY; cpu <= weir__cpu(); cpu++) {
                line_shape shape;
                uint8_t line[LINE_BYTES];
                weir__recent_plan(&shape, rates[r]);
                line_content content = {.count = shape.flat + 1, .kept = 64};
                for (unsigned i = 0; i < content.count; i++)
                    content.tag[i] = (uint64_t)i << (same ? 33 : 8);
                assert_true(weir__recent_write(&shape, line, &content));
                for (uint64_t i = 0; i < 1000; i++) {
                    CALL_CPU_VARIANT(offer_gaps, cpu, (&shape, line, i % 300 << (same ? 33 : 8)));
                    assert_true(weir__recent_is_sound(&shape, line));
                }
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_with_gaps_are_what_they_say),
        cmocka_unit_test(full_lines_hold_what_is_planned),
        cmocka_unit_test(lines_keep_what_they_are_given),
        cmocka_unit_test(united_lines_have_the_keys_of_both),
        cmocka_unit_test(strange_keys_are_sound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
