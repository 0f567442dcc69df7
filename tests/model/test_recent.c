/* test_recent.c - recent against exact twins and against its own formulas.
 */
#include "recent_testing.h"

static const double rates[] = {0.1, 0.01, 0.001, 0.000001};
enum { RATES = 4, BATCH = 256 };

/* ---- exactness ---- */

static void exact_while_keys_fit(void **unused) {
    (void)unused;
    const uint64_t memories[] = {1024, 4096 + 192, 65536, 4 << 20};
    for (unsigned m = 0; m < 4; m++)
        for (unsigned r = 0; r < RATES; r++) {
            recent_filter *f = make_recent(memories[m], rates[r], m);
            uint64_t keys = memories[m] * 6 / 10 / 8;
            for (uint64_t i = 0; i < keys; i++) {
                assert_false(offer_hash(f, test_word(m, i)));
                assert_true(offer_hash(f, test_word(m, test_word(99, i) % (i + 1))));
            }
            for (uint64_t i = 0; i < keys; i++) assert_true(test_hash(f, test_word(m, i)));
            assert_int_equal(f->state.books.forgotten, 0);
            assert_int_equal(f->state.books.held, keys);
            assert_sound(f);
            free_recent(f);
        }
}

/* Lines of every shape: headers of one word, of more, and of one that becomes two; the
 * widths of all rates. A line that fills forgets nothing before it is full, and stays
 * sound after that, whatever processor the code is for. */
static void every_shape_is_sound(void **unused) {
    (void)unused;
    unsigned grow = 0;
    for (double rate = 0.3; rate > 1e-12; rate *= 0.83)
        for (cpu_kind cpu = CPU_ANY; cpu <= CPU_AVX512; cpu++) {
            weir__cpu_most = cpu;
            recent_filter *f = make_recent(1024, rate, 3);
            const shared_form *shared = &f->shape.shared;
            unsigned header = f->shape.code_bits + shared->lists;
            assert_true(shared->flat == WORDS_MOST || shared->width[HALVES_MOST + 1] < 32);
            assert_true(shared->marked > shared->flat && shared->marked <= shared->fair);
            /* so that nobody has to ask whether a flat line may take one more */
            for (unsigned n = 0; n <= shared->flat; n++)
                assert_true(shared->cost[n] <= shared->cost[n + 1] &&
                            shared->cost[n + 1] <= f->fair);
            grow += header + shared->flat < 64 && header + shared->most > 64;
            uint64_t i = 0, unknown = 0;
            for (; !f->state.books.forgotten; i++) offer_hash(f, test_word(4, i));
            for (uint64_t j = 0; j < i; j++) unknown += !test_hash(f, test_word(4, j));
            assert_true(unknown <= f->state.books.forgotten);
            for (uint64_t end = 4 * i; i < end; i++) offer_hash(f, test_word(4, i));
            assert_sound(f);
            free_recent(f);
        }
    weir__cpu_most = CPU_AVX512;
    assert_true(grow > 0);
}

/* ---- the forms of full lines ---- */

static bool offer_to_line(recent_filter *f, uint8_t *line, unsigned way, uint64_t value) {
    return offer_line(f, line, way, value, CPU_ANY);
}

/* The first line of a new filter, full, in some form; the values that it was offered. */
typedef struct {
    recent_filter *f;
    uint8_t *line;
    unsigned count;
    uint64_t values[4 * ENTRIES_MAX];
} full_line;

static void make_full_line(full_line *l, double rate, unsigned form) {
    l->f = make_recent(1024, rate, 5);
    l->line = l->f->base.cells;
    for (l->count = 0; read_code(l->line, &l->f->shape) < l->f->shape.shared.fair; l->count++) {
        l->values[l->count] = test_word(71, l->count);
        offer_to_line(l->f, l->line, SHARED_BEHIND, l->values[l->count]);
    }
    assert_true(convert_any(l->f, l->line, form));
    assert_int_equal(form_of(&l->f->shape, read_code(l->line, &l->f->shape)), form);
}

static unsigned count_known(const full_line *l) {
    unsigned known = 0;
    for (unsigned i = 0; i < l->count; i++) known += knows(l->f, l->line, l->values[i]);
    return known;
}

/* A change of form loses what does not fit, and nothing else. */
static void forms_keep_what_fits(void **unused) {
    (void)unused;
    for (double rate = 0.009; rate > 1e-10; rate *= 0.3)
        for (unsigned form = CLOCKED; form <= SPREAD; form++) {
            full_line l;
            make_full_line(&l, rate, form);
            assert_true(count_known(&l) >= line_entries(l.f, l.line));
            assert_true(count_known(&l) + l.f->state.books.forgotten >= l.count);
            uint8_t before[LINE_BYTES];
            memcpy(before, l.line, LINE_BYTES);
            assert_true(convert_any(l.f, l.line, SHARED) && convert_any(l.f, l.line, form));
            assert_true(line_is_sound(l.f, l.line));
            unsigned end = form == SPREAD ? l.f->shape.spread.extras : LINE_BITS;
            assert_memory_equal(l.line, before, end / 8);
            free_recent(l.f);
        }
}

/* Lines with room have marks too, which go with their keys from form to form. */
static void marks_are_kept_from_the_start(void **unused) {
    (void)unused;
    unsigned lists = 0, halves = 0;
    for (double rate = 1e-4; rate > 1e-10; rate *= 0.3) {
        recent_filter *f = make_recent(1024, rate, 5);
        const shared_form *shared = &f->shape.shared;
        uint8_t *line = f->base.cells;
        line_content content;
        for (unsigned n = 1; n <= shared->marked; n++) {
            assert_false(offer_to_line(f, line, SHARED_BEHIND, test_word(71, n)));
            if (n % 3 == 0) assert_true(offer_to_line(f, line, SHARED_BEHIND, test_word(71, n)));
            if (n <= WORDS_MOST) continue; /* so few have none */
            read_line(f, line, SHARED, &content);
            unsigned marked = 0;
            for (unsigned i = 0; i < content.count; i++) marked += content.mark[i];
            assert_int_equal(marked, n / 3 - WORDS_MOST / 3);
            lists += n > shared->flat, halves += n <= shared->flat;
        }
        assert_true(convert_any(f, line, CLOCKED));
        read_line(f, line, CLOCKED, &content);
        assert_true(content.count >= shared->marked * 9 / 10);
        for (unsigned i = 0; i < content.count; i++)
            assert_int_equal(content.mark[i], i < shared->marked / 3 - WORDS_MOST / 3);
        free_recent(f);
    }
    assert_true(lists > 50 && halves > 20);
}

/* Where keys are to go in order, the younger half of a line has a mark, as far as there are
 * marks, but for the key that it outgrew being flat with; none has where repeats are less rare. */
static void young_keys_have_marks(void **unused) {
    (void)unused;
    for (double rate = 1e-4; rate > 1e-10; rate *= 0.3)
        for (unsigned rare = 0; rare < 2; rare++) {
            recent_filter *f = make_recent(1024, rate, 5);
            unsigned entries = f->shape.clock.entries, young = f->shape.clock.young, expected = 0;
            line_content content;
            f->state.hits = rare ? 1 : 2, f->state.misses = VERY_RARE - 1;
            for (unsigned n = 0; n < entries; n++) {
                bool has_none = n <= WORDS_MOST || n == f->shape.shared.flat;
                expected += rare && n >= young && !has_none;
                assert_false(offer_to_line(f, f->base.cells, SHARED_FRONT, test_word(71, n)));
            }
            assert_true(convert_any(f, f->base.cells, CLOCKED));
            read_line(f, f->base.cells, CLOCKED, &content);
            for (unsigned i = 0; i < content.count; i++)
                assert_int_equal(content.mark[i], i < expected);
            assert_true(!rare || expected >= entries / 4);
            free_recent(f);
        }
}

/* What a clocked line holds, without its bits: keys in their order, and the sector of the hand. */
typedef struct {
    struct {
        uint64_t key;
        bool mark, twice;
    } entry[ENTRIES_MAX + 1];
    unsigned count, hand;
} clock_model;

/* Bits that the keys of a model take, and how many they are, those that stand twice too. */
static unsigned model_bits(const clock_model *m, const line_shape *shape, unsigned *keys) {
    unsigned each = 1 + shape->clock.width, bits = shape->code_bits + SECTOR_BITS;
    uint64_t before = 0;
    *keys = 0;
    for (unsigned i = 0; i < m->count; i++) {
        bits += (unsigned)((m->entry[i].key - before) >> shape->clock.gap_bits);
        bits += each << m->entry[i].twice;
        *keys += 1 + m->entry[i].twice;
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
        if (i && m->entry[m->count - 1].key == key) {
            m->entry[m->count - 1].twice = true;
            continue;
        }
        m->entry[m->count].key = key;
        m->entry[m->count++].mark = field & 1;
    }
    for (; bit < end; bit++)
        if (get_bits(line, bit, 1)) return false;
    return true;
}

/* No two numbers of keys make sense. */
static clock_model read_model(const recent_filter *f, const uint8_t *line) {
    clock_model model, found = {.count = 0};
    unsigned readings = 0;
    for (unsigned n = 1; n <= f->shape.clock.most; n++)
        if (read_model_of(&f->shape, line, n, &model)) found = model, readings++;
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

/* The first key without a mark in the sector of the hand, or in a later one, goes; if it stands
 * twice it has a mark instead. A sector that the hand leaves has no marks, with `sweep`. */
static void model_let_go(clock_model *m, const line_shape *shape, bool sweep) {
    for (unsigned left = 0;; left++, m->hand = (m->hand + 1) % SECTORS) {
        for (unsigned i = 0; i < m->count; i++) {
            if (sector_of(shape, m->entry[i].key) != m->hand || m->entry[i].mark) continue;
            m->entry[i].mark = m->entry[i].twice;
            if (!m->entry[i].twice) model_remove(m, i);
            else m->entry[i].twice = false;
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
    clock_model with = *m;
    bool seen = at < m->count, more = !seen || (rule.keep && !m->entry[at].twice);
    if (seen) m->entry[at].mark = true;
    for (; more; model_let_go(m, shape, rule.sweep)) {
        with = *m;
        at = model_find(&with, key);
        if (seen && at == with.count) return true;
        if (!seen) {
            for (at = 0; at < with.count && with.entry[at].key < key;) at++;
            memmove(&with.entry[at + 1], &with.entry[at],
                    (with.count++ - at) * sizeof with.entry[0]);
            memset(&with.entry[at], 0, sizeof with.entry[0]);
            with.entry[at].key = key;
            with.entry[at].mark = rule.mark || (rule.sweep && sector_of(shape, key) == m->hand);
        }
        with.entry[at].twice = seen;
        if (model_fits(&with, shape)) break;
    }
    if (more) *m = with;
    return seen;
}

static unsigned count_marks(const recent_filter *f, const uint8_t *line) {
    clock_model model = read_model(f, line);
    unsigned marks = 0;
    for (unsigned i = 0; i < model.count; i++) marks += model.entry[i].mark;
    return marks;
}

/* A clocked line does what is said of it, in each of its three ways: keys that were hit stay
 * until all are, or until the hand has come round, and the hand takes the next that has no mark.
 * Where new ones have marks, those that were hit stand twice. */
static void clocked_lines_are_what_they_say(void **unused) {
    (void)unused;
    const unsigned clocked[] = {CLOCKED_KEEP, CLOCKED_SWEEP, CLOCKED_FRONT};
    for (double rate = 0.09; rate > 1e-10; rate *= 0.3)
        for (unsigned w = 0; w < 3; w++) {
            unsigned way = clocked[w], wiped = 0, twice = 0;
            full_line l;
            make_full_line(&l, rate, CLOCKED);
            const line_shape *shape = &l.f->shape;
            clock_rule rule = {ways[way].front, ways[way].sweep, ways[way].front};
            clock_model model = read_model(l.f, l.line);
            assert_true(model.count >= shape->clock.entries * 9 / 10);
            for (uint64_t i = 0; i < 60u * shape->clock.entries; i++) {
                uint64_t value = test_word(72, test_word(73, i) % (shape->clock.usual * 5 / 4));
                if (i % 16 == 0) value = test_word(74, i);
                unsigned marks = count_marks(l.f, l.line);
                bool seen = model_offer(&model, shape, clock_key(shape, value), rule);
                assert_int_equal(offer_to_line(l.f, l.line, way, value), seen);
                clock_model found = read_model(l.f, l.line);
                assert_memory_equal(&found, &model, sizeof model);
                assert_true(knows(l.f, l.line, value) && line_is_sound(l.f, l.line));
                wiped += marks > count_marks(l.f, l.line) + 1;
                for (unsigned j = 0; j < model.count; j++) twice += model.entry[j].twice;
            }
            assert_true(wiped > 3 && (twice > 0) == rule.keep);
            free_recent(l.f);
        }
}

/* A clocked line has about as many keys as planned, of which the gaps are spread like waiting
 * times: within 2%, or half a key, over 400 lines. */
static void clocked_lines_hold_what_is_planned(void **unused) {
    (void)unused;
    for (double rate = 0.01; rate > 1e-10; rate *= 0.1) {
        recent_filter *f = make_recent(400 * LINE_BYTES, rate, 5);
        double held = 0;
        for (uint64_t i = 0; i < f->lines; i++) {
            line_content content = {.count = ENTRIES_MAX};
            for (unsigned j = 0; j < content.count; j++)
                content.value[j] = test_word(75, i * ENTRIES_MAX + j);
            held += write_clocked(&f->shape, f->base.cells + i * LINE_BYTES, &content);
        }
        held /= (double)f->lines;
        double planned = clock_keys_held(
            &f->shape.clock, ldexp(f->shape.shared.lists, (int)f->shape.clock.key_bits));
        printf("# fpr %g: %.2f keys in a line, planned %.2f\n", rate, held, planned);
        assert_true(held > f->shape.clock.usual - 0.25 && held < planned + 0.25);
        memset(f->base.cells, 0, f->base.cells_bytes);
        free_recent(f);
    }
}

/* Keys of one list: its extras are no more than can be counted, and the oldest goes for each new
 * one. */
static void a_list_has_only_so_many_extras(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(1024, 1e-6, 5);
    const spread_form *form = &f->shape.spread;
    uint8_t *line = f->base.cells;
    line_content few = {.count = 3, .value = {1, UINT64_MAX / 2, UINT64_MAX}};
    write_spread(line, &f->shape, form, &few);
    unsigned most = most_extras(form), extras = 0;
    for (unsigned k = 0; k < 4 * most; k++) {
        uint64_t value = value_of(5, form->lists, 1000 + k, form->width);
        assert_false(offer_to_line(f, line, SPREAD_ANY, value));
        assert_true(knows(f, line, value) && line_is_sound(f, line));
        extras = count_extras(line, form);
        assert_int_equal(extras, k < most ? k : most);
    }
    for (unsigned k = 3 * most; k < 4 * most; k++)
        assert_true(knows(f, line, value_of(5, form->lists, 1000 + k, form->width)));
    assert_true(knows(f, line, 1) && knows(f, line, UINT64_MAX));
    free_recent(f);
}

/* For each new key one goes at most, extras first, and a hit makes an extra hold its list. */
static void spread_lines_lose_one_key_at_a_time(void **unused) {
    (void)unused;
    for (double rate = 1e-6; rate > 1e-10; rate *= 0.1) {
        full_line l;
        make_full_line(&l, rate, SPREAD);
        recent_filter *f = l.f;
        const spread_form *form = &f->shape.spread;
        unsigned most = 0, swaps = 0;
        for (uint64_t i = 0; l.count < 4 * ENTRIES_MAX - 1; i++) {
            unsigned before = count_known(&l), extras = count_extras(l.line, form);
            l.values[l.count++] = test_word(74, i);
            assert_false(offer_to_line(f, l.line, SPREAD_ANY, test_word(74, i)));
            assert_true(count_known(&l) >= before);
            assert_true(count_extras(l.line, form) <= extras + 1);
            assert_true(line_is_sound(f, l.line));
            if (line_entries(f, l.line) > most) most = line_entries(f, l.line);
            spread_key key = find_spread_key(form, l.values[l.count - 1]);
            unsigned now = count_extras(l.line, form);
            if (find_extra(l.line, form, now, key.extra) == now) continue;
            assert_true(offer_to_line(f, l.line, SPREAD_ANY, l.values[l.count - 1]));
            unsigned rank = entries_before(l.line, form->map, form->words, key.bit);
            assert_int_equal(get_bits(l.line, remainder_at(rank, form->width), form->width),
                             key.remainder);
            swaps++;
        }
        assert_int_equal(most, form->most);
        assert_true(swaps > 0);
        free_recent(f);
    }
}

/* Where keys hold their places none of those that have one goes for a new key, which waits until
 * the next one comes. If it is hit while it waits it has a place. */
static void held_places_are_kept(void **unused) {
    (void)unused;
    unsigned known = 0, tries = 0;
    for (double rate = 0.09; rate > 1e-10; rate *= 0.3) {
        full_line l;
        make_full_line(&l, rate, SPREAD);
        recent_filter *f = l.f;
        const spread_form *form = &f->shape.spread;
        uint64_t next = 0, last = 0;
        for (unsigned i = 0; i < 40u * form->most; i++) { /* every list that is to be had */
            if (offer_to_line(f, l.line, SPREAD_HOLD, test_word(75, next++))) continue;
            assert_true(knows(f, l.line, test_word(75, next - 1)));
            assert_int_equal(f->state.books.held, line_entries(f, l.line));
        }
        unsigned singles = count_singles(l.line, form), moved = 0;
        assert_int_equal(count_extras(l.line, form), WAITING);
        uint8_t held[LINE_BYTES];
        memcpy(held, l.line, LINE_BYTES);
        for (unsigned i = 0; i < 200; i++) {
            last = test_word(75, next++);
            if (offer_to_line(f, l.line, SPREAD_HOLD, last)) continue;
            assert_int_equal(count_singles(l.line, form), singles);
            for (unsigned bit = form->map; bit < form->extras; bit++)
                assert_int_equal(is_taken(l.line, bit), is_taken(held, bit));
            moved++;
        }
        assert_true(moved > 100 && knows(f, l.line, last));
        assert_true(offer_to_line(f, l.line, SPREAD_HOLD, last)); /* it has a place, */
        for (unsigned i = 0; i < 20; i++)
            offer_to_line(f, l.line, SPREAD_HOLD, test_word(75, next++));
        assert_true(line_is_sound(f, l.line));
        assert_int_equal(f->state.books.held, line_entries(f, l.line));
        known += knows(f, l.line, last); /* unless it is the one that goes for another */
        tries++;
        free_recent(f);
    }
    printf("# of %u keys that were hit while they waited %u kept their places\n", tries, known);
    assert_true(4 * known >= 3 * tries);
}

/* The marks that clocked lines have. */
static double marks_a_line(const recent_filter *f) {
    unsigned marks = 0, lines = 0;
    for (uint64_t i = 0; i < f->lines; i++) {
        const uint8_t *line = f->base.cells + i * LINE_BYTES;
        if (form_of(&f->shape, read_code(line, &f->shape)) != CLOCKED) continue;
        marks += count_marks(f, line), lines++;
    }
    return (double)marks / lines;
}

/* The marks tell what a stream is like: keys that are all alike are spread, and where some come
 * much more often than others lines are clocked, and know what was hit before. */
static void ways_follow_the_stream(void **unused) {
    (void)unused;
    for (unsigned skewed = 0; skewed < 2; skewed++) {
        recent_filter *f = make_without_spans(256 << 10, 0.000001, 6);
        double universe = 2.0 * (double)f->lines * f->shape.shared.fair, skew = 0, marks = 0;
        for (uint64_t i = 0; i < (uint64_t)(3 * universe); i++) {
            double part = test_part(81, i);
            uint64_t key = (uint64_t)(universe * (skewed ? pow(part, 5) : part));
            uint64_t clocked = f->state.books.in_form[CLOCKED];
            offer_hash(f, test_word(82, key));
            if (skew == 0) skew = known_skew(f);
            if (clocked < 50 && f->state.books.in_form[CLOCKED] == 50) marks = marks_a_line(f);
        }
        printf("# skewed %u: skew %.2f at first, %.2f at last; %.1f marks a line at first\n",
               skewed, skew, known_skew(f), marks);
        assert_true(!skewed || marks > 2.5);
        assert_true(skewed ? skew > 6 : skew > 0.6 && skew < 1.6);
        assert_true(skewed ? known_skew(f) > 4 : known_skew(f) > 0.9 && known_skew(f) < 1.1);
        assert_int_equal(f->state.winner, skewed ? CLOCKED_KEEP : SPREAD_ANY);
        assert_true(f->state.books.in_form[skewed ? CLOCKED : SPREAD] > f->lines / 2);
        assert_sound(f);
        free_recent(f);
    }
}

/* Some keys come more often than others, the first ones of `keys` words most; which repeats pass.
 */
static uint64_t offer_skewed(recent_filter *f, uint64_t stream, uint64_t count, uint64_t keys) {
    bool *known = calloc(keys, sizeof *known);
    uint64_t missed = 0;
    assert_non_null(known);
    for (uint64_t i = 0; i < count; i++) {
        double part = test_part(stream, i);
        uint64_t key = (uint64_t)((double)keys * pow(part, 2.5));
        missed += !offer_hash(f, test_word(stream + 1, key)) && known[key];
        known[key] = true;
    }
    free(known);
    return missed;
}

/* Where they do so at all times what came first holds its place, and fewer repeats pass than if it
 * did not. If other keys take over, it is seen. */
static void keys_hold_their_places_while_they_last(void **unused) {
    (void)unused;
    uint64_t missed[2] = {0};
    for (unsigned hold = 0; hold < 2; hold++) {
        recent_filter *f = make_without_spans(256 << 10, 0.01, 6);
        uint64_t room = f->lines * f->shape.shared.fair;
        f->state.fleeting = !hold;
        missed[hold] = offer_skewed(f, 81, 6 * room, 3 * room);
        assert_int_equal(f->state.winner == SPREAD_HOLD, hold);
        assert_int_equal(f->state.fleeting, !hold);
        printf("# freshness %.2f\n", freshness(f));
        assert_true(freshness(f) < LASTING && freshness(f) > -0.5);
        assert_sound(f);
        for (uint64_t i = 0; i < 12 && !f->state.fleeting; i++)
            offer_skewed(f, 83 + i, room / 2, 3 * room);
        assert_true(f->state.fleeting && !f->state.decided);
        judge(f);
        assert_int_not_equal(f->state.winner, SPREAD_HOLD);
        assert_sound(f);
        free_recent(f);
    }
    recent_filter *small = make_recent(64 << 10, 0.01, 6); /* which would not see it in time */
    uint64_t room = small->lines * small->shape.shared.fair;
    offer_skewed(small, 81, 6 * room, 3 * room);
    assert_true(freshness(small) < LASTING && small->state.winner != SPREAD_HOLD);
    free_recent(small);
    printf("# %llu repeats passed, %llu if places are not held\n", (unsigned long long)missed[1],
           (unsigned long long)missed[0]);
    assert_true((double)missed[1] < 0.95 * (double)missed[0]);
}

/* The order of arrival of keys that are hit, as flat lines tell it: the oldest eighth, any, and the
 * youngest. */
static void freshness_is_told(void **unused) {
    (void)unused;
    const double expected[] = {-0.75, 0, 0.75};
    for (unsigned age = 0; age < 3; age++) {
        recent_filter *f = make_recent(64 << 10, 0.01, 6);
        for (uint64_t i = 0; i < 10 * f->lines; i++) {
            offer_hash(f, test_word(90, i));
            uint64_t back = test_word(91, i) % (age == 1 ? i + 1 : i / 8 + 1);
            if (i % 4 == 0) offer_hash(f, test_word(90, age ? i - back : back));
        }
        printf("# freshness %.2f\n", freshness(f));
        assert_true(fabs(freshness(f) - expected[age]) < 0.1);
        free_recent(f);
    }
}

/* What is told counts only if it is sure, and if the skew leaves something to be gained by it. */
static void freshness_has_to_be_sure(void **unused) {
    (void)unused;
    const struct {
        double freshness;
        uint64_t hits;
        double skew;
        uint64_t winner;
        bool fresh, last;
    } cases[] = {
        {0.2, 300, 0, SPREAD_ANY, true, false},      {0.2, 63, 0, SPREAD_ANY, false, false},
        {0.07, 9000, 0, SPREAD_ANY, false, false},   {0.1, 120, 0, SPREAD_ANY, false, false},
        {0.1, 150, 0, SPREAD_ANY, true, false},      {0.2, 300, 1.2, SPREAD_ANY, true, false},
        {0.2, 300, 0.7, SPREAD_ANY, false, false},   {0.2, 300, 0.7, CLOCKED_FRONT, true, false},
        {0.2, 300, 3.2, CLOCKED_KEEP, false, false}, {-0.2, 300, 0, SPREAD_ANY, false, true},
        {-0.2, 120, 0, SPREAD_ANY, false, false},    {-0.07, 9000, 0, SPREAD_ANY, false, false},
    };
    recent_filter *f = make_recent(256 << 10, 0.01, 6);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        f->state.hits_aged = cases[i].hits;
        f->state.hit_age =
            (uint64_t)(int64_t)(cases[i].freshness * AGE_ONE * (double)cases[i].hits);
        f->state.hit_first = cases[i].skew > 0 ? 1000000 : 0;
        f->state.hit_again = (uint64_t)(cases[i].skew * 1000000);
        f->state.winner = cases[i].winner;
        if (keys_are_fresh(f) != cases[i].fresh || keys_last(f) != cases[i].last)
            fail_msg("case %u: fresh %d, last %d", i, keys_are_fresh(f), keys_last(f));
    }
    free_recent(f);
}

/* One record in four is one of the last `reach` once more, of the latest more often; which of
 * them pass. A filter that is not to know how fresh its keys are is made to forget what it was
 * told. */
static uint64_t offer_lately(recent_filter *f, uint64_t count, uint64_t reach, bool told) {
    uint64_t *records = calloc(count, sizeof *records), missed = 0;
    assert_non_null(records);
    for (uint64_t i = 0; i < count; i++) {
        bool again = i && test_word(93, i) % 4 == 0;
        double part = test_part(94, i);
        uint64_t back = (uint64_t)(pow(part, 3) * (double)(i < reach ? i : reach));
        records[i] = again ? records[i - 1 - back] : test_word(95, i);
        if (!told) f->state.hits_aged = 0;
        missed += !offer_hash(f, records[i]) && again;
    }
    free(records);
    return missed;
}

/* Where what came last is hit lines are clocked, and the hand wipes marks; if there are far too
 * many keys new ones have marks. Fewer repeats pass than if that is not known. */
static void fresh_keys_are_kept(void **unused) {
    (void)unused;
    for (unsigned many = 0; many < 2; many++) {
        uint64_t missed[2] = {0};
        for (unsigned told = 0; told < 2; told++) {
            recent_filter *f = make_recent(128 << 10, 0.001, 6);
            uint64_t room = f->lines * f->shape.shared.fair;
            missed[told] = offer_lately(f, (many ? 5 : 3) * room, 3 * room / 2, told);
            printf("# freshness %.2f, skew %.2f, crowding %.2f: %llu repeats passed\n",
                   freshness(f), known_skew(f), crowding(f), (unsigned long long)missed[told]);
            assert_int_equal(keys_are_fresh(f), told);
            if (told) assert_int_equal(f->state.winner, many ? CLOCKED_FRONT : CLOCKED_KEEP);
            assert_int_equal(f->state.sweep, told);
            assert_sound(f);
            free_recent(f);
        }
        assert_true((double)missed[1] < 0.85 * (double)missed[0]);
    }
}

/* Delivery at least once: few keys come again, soon, and are done. Keys go in the order in which
 * they came. */
static void rare_repeats_are_kept_in_order(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(256 << 10, 0.000001, 6);
    uint64_t room = f->lines * f->shape.shared.fair, missed = 0, repeats = 0;
    for (uint64_t i = 0; i < 9 * room; i++) {
        offer_hash(f, test_word(84, i));
        if (i < room / 4 || i % 20) continue;
        repeats++, missed += !offer_hash(f, test_word(84, i - room / 4));
        if (i == room / 2) assert_int_equal(f->state.winner, SHARED_FRONT);
        if (i == 2 * room) assert_int_equal(f->state.winner, CLOCKED_FRONT);
    }
    printf("# %llu of %llu missed\n", (unsigned long long)missed, (unsigned long long)repeats);
    assert_true(repeats > room / 10 && missed < repeats / 40);
    free_recent(f);
}

/* Very few repeats, of keys that came lately: while the first lines have to let keys go, what came
 * first goes first, as it has no mark. */
static void what_came_first_goes_first(void **unused) {
    (void)unused;
    uint64_t missed[2] = {0}, repeats = 0;
    for (unsigned young = 0; young < 2; young++) {
        recent_filter *f = make_recent(1 << 20, 0.000001, 6);
        uint64_t room = f->lines * f->shape.shared.fair;
        if (!young) f->shape.clock.young = ENTRIES_MAX + 1;
        f->telling = 0; /* where marks are for hits */
        for (uint64_t i = 0; i < 3 * room / 2; i++) {
            offer_hash(f, test_word(84, i));
            if (i < room / 4 || i % 50) continue;
            repeats++, missed[young] += !offer_hash(f, test_word(84, i - room / 4));
        }
        assert_int_equal(f->state.winner, CLOCKED_FRONT);
        assert_sound(f);
        free_recent(f);
    }
    printf("# of %llu repeats %llu missed, %llu without marks\n", (unsigned long long)repeats / 2,
           (unsigned long long)missed[1], (unsigned long long)missed[0]);
    assert_true(missed[0] > 100 && missed[1] < missed[0] * 2 / 3);
}

/* Few repeats, but the same keys come again and again: that is told by the lines in which marks
 * are for hits alone, and new keys no longer have one. If they are very few, only once keys press.
 */
static void rare_repeats_of_the_same_keys_are_told(void **unused) {
    (void)unused;
    for (unsigned told = 0; told < 3; told++) {
        bool very = told == 2;
        recent_filter *f = make_recent(256 << 10, 0.000001, 6);
        uint64_t room = f->lines * f->shape.shared.fair;
        if (!told) f->telling = 0;
        for (uint64_t i = 0; i < 6 * room; i++) {
            bool again = test_word(87, i) % (very ? 50 : 25) == 0;
            offer_hash(f, again ? test_word(85, test_word(86, i) % (room / 8)) : test_word(84, i));
            if (i == 3 * room / 2) assert_int_equal(f->state.winner, CLOCKED_FRONT);
            if (i == room && very) f->state.hit_again += 1 << 20; /* it is known, in good time */
            if (i == 2 * room && very) assert_int_equal(f->state.winner, CLOCKED_FRONT);
        }
        assert_int_equal(f->state.winner, told ? CLOCKED_KEEP : CLOCKED_FRONT);
        assert_int_equal(f->state.decided, 0);
        assert_sound(f);
        free_recent(f);
    }
}

/* The marks of young keys say nothing of how skewed a stream is. */
static void young_keys_are_not_taken_for_hit_ones(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(32 << 10, 0.000001, 6);
    uint64_t room = f->lines * f->shape.shared.fair;
    assert_true(f->telling < f->watched);
    for (uint64_t i = 0; i < 2 * room; i++) {
        offer_hash(f, test_word(84, i));
        if (i > room / 20 && i % 50 == 0) offer_hash(f, test_word(84, i - room / 20));
    }
    uint64_t again = f->state.hit_again, first = f->state.hit_first;
    printf("# again %llu, first %llu\n", (unsigned long long)again, (unsigned long long)first);
    assert_true(again < first);
    free_recent(f);
}

/* What comes again is what came lately, or what comes often: rivals tell, and fewer repeats are
 * missed than without them. */
static void rivals_tell_what_counts(void **unused) {
    (void)unused;
    for (unsigned lately = 0; lately < 2; lately++) {
        double missed[2] = {0}, room = 0;
        for (unsigned rivals = 0; rivals < 2; rivals++) {
            recent_filter *f = make_without_spans(256 << 10, 0.000001, 6);
            room = (double)f->lines * f->shape.shared.fair;
            if (!rivals) f->rivals = 0;
            for (uint64_t i = 0; i < (uint64_t)(40 * room); i++) {
                double part = test_part(81, i);
                uint64_t key = (uint64_t)(3 * room * pow(part, 5));
                if (lately) key += i / (uint64_t)(2 * room) << 40;
                missed[rivals] += !offer_hash(f, test_word(103, key));
            }
            if (rivals) assert_int_equal(f->state.sweep, lately);
            if (rivals) assert_sound(f);
            free_recent(f);
        }
        printf("# lately %u: %.0f called new with rivals, %.0f without\n", lately, missed[1],
               missed[0]);
        assert_true(missed[1] < (lately ? 0.995 : 1.005) * missed[0]);
    }
}

/* Twins and rivals keep to a budget of their own, whatever the lines are that they take after:
 * where keys just about fit some of these cost more than their share. */
static void rivals_keep_to_their_budget(void **unused) {
    (void)unused;
    for (unsigned seed = 0; seed < 40; seed++) {
        recent_filter *f = make_recent(384 << 10, seed % 2 ? 0.1 : 0.00001, seed);
        uint64_t room = f->lines * f->shape.shared.fair;
        assert_true(f->rivals >= 16);
        for (uint64_t i = 0; i < room * 5 / 4; i++) {
            offer_hash(f, test_word(89 + seed, i));
            if (i % (room / 8) == 0) assert_sound(f);
        }
        assert_sound(f);
        free_recent(f);
    }
}

/* A skewed stream, for which lines are clocked, and then one whose keys come twice and are done,
 * for which marks are worse than nothing. The contest finds out: it leads away from them, and
 * fewer repeats are missed than without it. */
static void contest_replaces_what_no_longer_wins(void **unused) {
    (void)unused;
    double missed[2] = {0};
    for (unsigned contest = 0; contest < 2; contest++) {
        recent_filter *f = make_without_spans(256 << 10, 0.000001, 6);
        double room = (double)f->lines * f->shape.shared.fair;
        for (uint64_t i = 0; i < (uint64_t)(6 * room); i++) {
            double part = test_part(81, i);
            offer_hash(f, test_word(82, (uint64_t)(4 * room * pow(part, 5))));
        }
        assert_int_equal(f->state.winner, CLOCKED_KEEP);
        assert_int_equal(f->state.decided, 0);
        if (!contest) f->tried = 0;
        uint64_t distance = (uint64_t)(room / 3), end = (uint64_t)(12 * room);
        for (uint64_t i = 0; i < end; i++) {
            offer_hash(f, test_word(83, i));
            bool seen = i < distance || offer_hash(f, test_word(83, i - distance));
            missed[contest] += !seen && i > end / 2;
        }
        printf("# %s by %s\n", ways[f->state.winner].name, f->state.decided ? "contest" : "stream");
        assert_int_equal(f->state.decided, contest);
        if (contest) assert_int_equal(f->state.winner, CLOCKED_FRONT);
        assert_true(f->state.winner != CLOCKED_KEEP); /* which is known to be worth nothing */
        if (contest) assert_sound(f);
        free_recent(f);
    }
    printf("# repeats missed: %.0f with the contest, %.0f without\n", missed[1], missed[0]);
    assert_true(missed[1] < 0.8 * missed[0]);
}

FOR_AVX2 static bool ordered_avx2(const ordered_form *form, uint8_t *line, uint64_t value) {
    return offer_ordered(form, line, value, CPU_AVX2);
}
FOR_AVX512 static bool ordered_avx512(const ordered_form *form, uint8_t *line, uint64_t value) {
    return offer_ordered(form, line, value, CPU_AVX512);
}

/* Every group of an ordered line, also the last, keeps what was just offered to it, and
 * is the same by any processor's code. */
static void groups_agree(const ordered_form *form, unsigned code_bits) {
    uint8_t line[3][LINE_BYTES] = {{0}};
    for (uint64_t i = 0; i < 40u * form->entries; i++) {
        uint64_t value = test_word(61, i), rest;
        unsigned group = (unsigned)weir__part(value, form->groups, &rest);
        bool seen = offer_ordered(form, line[CPU_ANY], value, CPU_ANY);
        if (weir__cpu() >= CPU_AVX2)
            assert_int_equal(ordered_avx2(form, line[CPU_AVX2], value), seen);
        if (weir__cpu() >= CPU_AVX512)
            assert_int_equal(ordered_avx512(form, line[CPU_AVX512], value), seen);
        assert_true(test_group(form, line[CPU_ANY], group, rest >> (64 - form->bits)));
        assert_int_equal(line[CPU_ANY][0] & ((1u << code_bits) - 1), 0);
        for (cpu_kind cpu = CPU_AVX2; cpu <= weir__cpu(); cpu++)
            assert_memory_equal(line[cpu], line[CPU_ANY], LINE_BYTES);
    }
}

static void every_group_is_sound(void **unused) {
    (void)unused;
    unsigned forms = 0;
    for (double rate = 0.5; rate > 1e-12; rate *= 0.97) {
        recent_filter *f = make_recent(1024, rate, 3);
        for (unsigned way = ORDERED_MIDDLE; way <= PACKED_ANY; way++)
            if (to_be_had(f, way)) groups_agree(ordered_way(f, way), f->shape.code_bits), forms++;
        free_recent(f);
    }
    assert_true(forms > 1000);
}

/* Streams of all kinds, one after the other: alike, skewed, all new, repeated far away or near. */
static uint64_t key_of_kind(unsigned kind, uint64_t i, uint64_t universe) {
    double part = test_part(91, i);
    uint64_t back = test_word(92, i) % (i < universe ? i + 1 : universe);
    return kind == 0   ? test_word(93, i) % universe
           : kind == 1 ? (uint64_t)((double)universe * pow(part, 5))
           : kind == 2 ? i
           : kind == 3 ? i - back
                       : i - (i % 3 ? 0 : back % 50);
}

/* Any rate, any memory, any stream: a key that was just offered is known, lines are in order,
 * and the bound is not overdrawn. */
static void offered_keys_are_known(void **unused) {
    (void)unused;
    uint64_t in_form[FORMS] = {0};
    for (unsigned round = 0; round < 40; round++) {
        double rate =
            pow(10, -0.3 - (double)(test_word(94, round) % 1000) / (round % 4 ? 100 : 1000));
        uint64_t memory = 1024 + test_word(95, round) % (round % 8 ? 16384 : 131072);
        recent_filter *f = make_recent(memory, rate, round);
        uint64_t room = f->lines * f->shape.shared.fair, universe = room * (1 + round % 7) / 2;
        for (uint64_t i = 0; i < room * (2 + round % 9 * 2); i++) {
            uint64_t key = key_of_kind((unsigned)(i / (2 * room) + round) % 5, i, universe);
            offer_hash(f, test_word(96, key));
            assert_true(test_hash(f, test_word(96, key)));
            if (i % 999 == 0) assert_sound(f);
        }
        assert_sound(f);
        assert_true(f->state.books.spent <= f->lines * COST_ONE);
        for (unsigned form = 0; form < FORMS; form++) in_form[form] += f->state.books.in_form[form];
        free_recent(f);
    }
    for (unsigned form = 0; form < FORMS; form++) {
        printf("# %s lines: %llu\n", form_names[form], (unsigned long long)in_form[form]);
        assert_true(in_form[form] > 50);
    }
}

/* ---- the bound ---- */

/* Only new keys, far into overload, some of them offered again and again: every
 * SEEN on a new key is a false positive. Each stretch is held to the bound by
 * itself. With 3 rates of 20 stretches a false alarm at z = 5 has a chance below
 * 2e-5; the seeds are fixed. */
static void bound_holds_in_every_stretch(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < 3; r++) {
        recent_filter *f = make_recent(16384, rates[r], 7);
        double worst = -99;
        uint64_t key = 0;
        for (unsigned stretch = 0; stretch < 20; stretch++) {
            uint64_t keys = 20000, wrong = 0;
            for (uint64_t i = 0; i < keys; i++) {
                wrong += offer_hash(f, test_word(1, key));
                offer_hash(f,
                           test_word(1, key - test_word(2, key) % (key < 3000 ? key + 1 : 3000)));
                key++;
            }
            double expected = rates[r] * (double)keys;
            double z = ((double)wrong - expected) / sqrt(expected);
            worst = z > worst ? z : worst;
        }
        printf("# fpr %g: worst stretch z = %.1f\n", rates[r], worst);
        assert_true(worst < 5);
        assert_sound(f);
        free_recent(f);
    }
}

/* The rate that the filter reports is the one that test() finds for keys that
 * were never offered, within 5 sigmas, empty, half full and overfull. */
static void reported_rate_is_the_real_one(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(65536, 0.01, 3);
    uint64_t room = f->lines * f->shape.shared.fair, key = 0;
    for (unsigned step = 0; step < 6; step++) {
        for (; key < room * step / 2; key++) offer_hash(f, test_word(4, key));
        weir_filter_info i = {.fpr_bound = 0.01};
        info(&f->base, &i);
        uint64_t tries = 200000, wrong = 0;
        for (uint64_t t = 0; t < tries; t++) wrong += test_hash(f, test_word(5, t));
        double expected = i.fpr_now * (double)tries;
        double z = ((double)wrong - expected) / sqrt(expected + 1);
        printf("# %u/2 full: reported %.5f, found %.5f, z = %.1f\n", step, i.fpr_now,
               (double)wrong / (double)tries, z);
        assert_true(i.fpr_now <= 0.01);
        assert_true(z < 5); /* entries that agree by chance make it a little less */
        assert_true((double)wrong > 0.8 * expected - 5 * sqrt(expected + 1));
    }
    free_recent(f);
}

/* ---- verdicts do not depend on how they are asked for ---- */

typedef struct {
    size_t count;
    uint64_t *hashes, *verdicts;
} stream;

/* Skewed, with drift: every part of the filter comes into play. */
static stream make_stream(size_t count, uint64_t seed) {
    stream s = {count, test_calloc(count, 8), test_calloc(WEIR_VERDICT_WORDS(count), 8)};
    for (size_t i = 0; i < count; i++) {
        double u = test_part(seed, i);
        uint64_t rank = (uint64_t)(exp(u * 10) * 2);
        s.hashes[i] = test_word(seed + 1, rank + (rank > 500 ? i / 4 : 0));
    }
    return s;
}
static void free_stream(stream s) {
    test_free(s.hashes);
    test_free(s.verdicts);
}

static void run(recent_filter *f, stream s, size_t batch) {
    for (size_t at = 0; at < s.count; at += batch) {
        size_t n = s.count - at < batch ? s.count - at : batch;
        uint64_t verdicts[WEIR_VERDICT_WORDS(4096)] = {0};
        offer(&f->base, &(weir_batch){.count = n, .hashes = s.hashes + at}, verdicts);
        for (size_t i = 0; i < n; i++)
            if (verdicts[i / 64] >> (i % 64) & 1) weir__mark_seen(s.verdicts, at + i, true);
    }
}

static void same_for_every_batch_and_processor(void **unused) {
    (void)unused;
    const size_t batches[] = {4096, 1, 7, 64};
    for (unsigned r = 0; r < RATES; r++) {
        stream first = make_stream(150000, 11);
        uint64_t memory = r < 2 ? 8192 : 65536; /* without twins, and with them */
        recent_filter *model = make_recent(memory, rates[r], 5);
        weir__cpu_most = CPU_ANY;
        run(model, first, 333);
        assert_sound(model);
        for (unsigned b = 0; b < 4; b++)
            for (cpu_kind cpu = CPU_ANY; cpu <= CPU_AVX512; cpu++) {
                stream s = make_stream(150000, 11);
                recent_filter *f = make_recent(memory, rates[r], 5);
                weir__cpu_most = cpu;
                run(f, s, batches[b]);
                assert_memory_equal(s.verdicts, first.verdicts, WEIR_VERDICT_WORDS(s.count) * 8);
                assert_memory_equal(f->base.cells, model->base.cells, f->base.cells_bytes);
                assert_memory_equal(&f->state, &model->state, sizeof f->state);
                free_recent(f);
                free_stream(s);
            }
        weir__cpu_most = CPU_AVX512;
        free_recent(model);
        free_stream(first);
    }
}

static void repeat_in_a_batch_is_seen(void **unused) {
    (void)unused;
    weir_filter *filter = make_filter("recent:memory=1K,seed=1");
    uint64_t hashes[BATCH], verdicts[WEIR_VERDICT_WORDS(BATCH)];
    for (unsigned i = 0; i < BATCH; i++) hashes[i] = test_word(1, i / 2 % 20);
    size_t seen =
        weir_filter_offer_batch(filter, &(weir_batch){.count = BATCH, .hashes = hashes}, verdicts);
    assert_int_equal(seen, BATCH - 20);
    assert_int_equal(verdicts[0] & 0xff, 0xaa);
    weir_filter_free(filter);
}

/* ---- what is remembered ---- */

/* Little's law (see "lifetime" in recent.c): after new keys only, the keys that
 * are still known are as many as there are entries. */
static void lifetime_is_the_number_held(void **unused) {
    (void)unused;
    for (unsigned r = 1; r < RATES; r++) {
        recent_filter *f = make_recent(32768, rates[r], 9);
        uint64_t keys = f->lines * f->shape.shared.fair * 12, known = 0;
        for (uint64_t i = 0; i < keys; i++) offer_hash(f, test_word(6, i));
        for (uint64_t i = 0; i < keys; i++) known += test_hash(f, test_word(6, i));
        double by_chance = rates[r] * (double)(keys - f->state.books.held);
        double ratio = ((double)known - by_chance) / (double)f->state.books.held;
        printf("# fpr %g: %.1f entries a line, known / held = %.3f\n", rates[r],
               (double)f->state.books.held / (double)f->lines, ratio);
        assert_true(ratio > 0.91 && ratio < 1.03);
        free_recent(f);
    }
}

/* False negatives on a uniform stream against the oracle: an exact LRU of
 * M / (log2(1/fpr) + 2) keys knows the share capacity / universe. */
static void uniform_stream_near_the_oracle(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++) {
        uint64_t memory = 65536, universe = (uint64_t)(memory * 8 / (log2(1 / rates[r]) + 2) * 1.6);
        recent_filter *f = make_recent(memory, rates[r], 2);
        uint64_t missed = 0, draws = universe * 4;
        for (uint64_t i = 0; i < universe * 8 + draws; i++)
            missed += !offer_hash(f, test_word(3, test_word(8, i) % universe)) && i >= universe * 8;
        double fnr = (double)missed / (double)draws, oracle = (1 - 1 / 1.6) * (1 - rates[r]);
        printf("# fpr %g: false negatives %.1f%%, oracle %.1f%%\n", rates[r], 100 * fnr,
               100 * oracle);
        assert_true(fnr < 1.10 * oracle + 0.01);
        free_recent(f);
    }
}

/* Keys that just about fit: few are lost to lines that fill unevenly. */
static void little_is_lost_where_keys_just_fit(void **unused) {
    (void)unused;
    for (unsigned r = 0; r < RATES; r++) {
        recent_filter *f = make_recent(65536, rates[r], 2);
        uint64_t universe = f->lines * f->shape.shared.fair * 95 / 100, missed = 0;
        for (uint64_t i = 0; i < universe * 12; i++)
            missed += !offer_hash(f, test_word(3, test_word(8, i) % universe)) && i >= universe * 8;
        double fnr = (double)missed / (double)(universe * 4);
        printf("# fpr %g: %.1f%% lost at 95%% load\n", rates[r], 100 * fnr);
        assert_true(fnr < 0.12);
        free_recent(f);
    }
}

/* ---- state ---- */

static void snapshot_continues_as_if_nothing_happened(void **unused) {
    (void)unused;
    const char *specs[] = {"recent:memory=8K,fpr=1%,seed=4", "recent:memory=8K,seed=4",
                           "recent:memory=8K,seed=4,window=3000"};
    stream s = make_stream(60000, 21);
    for (unsigned i = 0; i < 3; i++) {
        weir_filter *a = make_filter(specs[i]), *b;
        uint64_t x[WEIR_VERDICT_WORDS(30000)], y[WEIR_VERDICT_WORDS(30000)];
        weir_filter_offer_batch(a, &(weir_batch){.count = 30000, .hashes = s.hashes}, x);
        assert_int_equal(weir_filter_save(a, scratch_path("recent.weir"), NULL), WEIR_OK);
        weir_error err = {0};
        if (weir_filter_load(&b, scratch_path("recent.weir"), &err)) fail_msg("%s", err.message);
        weir_filter_offer_batch(a, &(weir_batch){.count = 30000, .hashes = s.hashes + 30000}, x);
        weir_filter_offer_batch(b, &(weir_batch){.count = 30000, .hashes = s.hashes + 30000}, y);
        assert_memory_equal(x, y, sizeof x);
        weir_filter_free(a);
        weir_filter_free(b);
    }
    free_stream(s);
}

/* All keys in one list are strange, but harmless. */
static void one_list_is_sound(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(1024, 0.1, 1);
    const shared_form *shared = &f->shape.shared;
    uint8_t *line = f->base.cells;
    line_content all = {.count = shared->fair};
    for (unsigned i = 0; i < all.count; i++) all.value[i] = value_of(1, shared->lists, i, 20);
    write_shared(f, line, &all);
    assert_true(all.count > RANKS && line_is_sound(f, line));
    f->state.books.held = all.count;
    f->state.books.spent = shared->cost[all.count];
    assert_sound(f);
    assert_true(convert_any(f, line, CLOCKED));
    assert_sound(f);
    for (uint64_t i = 0; i < 2000; i++) offer_hash(f, test_word(98, i));
    assert_sound(f);
    free_recent(f);
}

/* One line in place of the first, with books that agree. */
static weir_status check_with_line(recent_filter *f, const uint8_t *line) {
    uint8_t kept[LINE_BYTES];
    line_books books = f->state.books;
    memcpy(kept, f->base.cells, LINE_BYTES);
    uint64_t from = line_price_of(f, kept).cost, held = line_entries(f, kept);
    books.in_form[form_of(&f->shape, read_code(kept, &f->shape))]--;
    books.in_form[form_of(&f->shape, read_code(line, &f->shape))]++;
    books.held += line_entries(f, line) - held;
    books.spent += line_price_of(f, line).cost - from;
    memcpy(f->base.cells, line, LINE_BYTES);
    weir_status status = check_lines(f, 0, f->lines, &books, NULL);
    memcpy(f->base.cells, kept, LINE_BYTES);
    return status;
}

/* Lines that no stream makes: a flat one of lists that there are not, a spread one of extras
 * only, a clocked one of no number of keys, and more cost than the bound has. */
static void broken_lines_by_hand(recent_filter *f) {
    const shared_form *shared = &f->shape.shared;
    const spread_form *spread = &f->shape.spread;
    const clock_form *clock = &f->shape.clock;
    uint8_t line[LINE_BYTES];
    memset(line, 0xff, LINE_BYTES);
    line[0] = 5;
    assert_int_equal(check_with_line(f, line), WEIR_ERR_CORRUPT);
    memset(line, 0, LINE_BYTES);
    write_code(line, &f->shape, spread->code);
    put_count(line, spread, 2);
    assert_int_equal(check_with_line(f, line), WEIR_ERR_CORRUPT);
    line_content some = {.count = clock->entries};
    for (unsigned i = 0; i < some.count; i++) some.value[i] = test_word(97, i);
    write_clocked(&f->shape, line, &some);
    assert_int_equal(check_with_line(f, line), WEIR_OK);
    put_bits(line, clock->gaps, 8, 0xff); /* too many 1s for any number of keys */
    put_bits(line, clock->gaps + 8, 50, ~UINT64_C(0) >> 14);
    assert_int_equal(check_with_line(f, line), WEIR_ERR_CORRUPT);
    recent_filter *g = make_recent(1024, 0.01, 1);
    line_content all = {.count = shared->most};
    for (unsigned i = 0; i < all.count; i++) all.value[i] = test_word(97, i);
    for (uint64_t i = 0; i < g->lines; i++) {
        write_shared(g, g->base.cells + i * LINE_BYTES, &all);
        g->state.books.held += shared->most;
        g->state.books.spent += shared->cost[shared->most];
        g->state.books.pool -= shared->cost[shared->most] - g->fair;
    }
    assert_int_equal(check(&g->base, NULL), WEIR_ERR_CORRUPT);
    free_recent(g);
}

static void broken_lines_are_found(void **unused) {
    (void)unused;
    recent_filter *f = make_recent(1024, 0.01, 1);
    for (uint64_t i = 0; i < 400; i++) offer_hash(f, test_word(1, i));
    assert_sound(f);
    unsigned found = 0;
    for (unsigned bit = 0; bit < 512; bit++) {
        f->base.cells[bit / 8] ^= (uint8_t)(1 << bit % 8);
        found += check(&f->base, NULL) != WEIR_OK;
        f->base.cells[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    /* the code and the header are covered; remainders are for the checksum */
    assert_true(found >= f->shape.code_bits + f->shape.shared.lists);
    broken_lines_by_hand(f);
    f->state.layout++;
    assert_int_equal(check(&f->base, NULL), WEIR_ERR_VERSION);
    f->state.layout--, f->state.books.held++;
    assert_int_equal(check(&f->base, NULL), WEIR_ERR_CORRUPT);
    free_recent(f);
}

static void merged_filters_know_what_both_know(void **unused) {
    (void)unused;
    recent_filter *a = make_recent(65536, 1e-6, 1), *b = make_recent(65536, 1e-6, 1);
    for (uint64_t i = 0; i < 6000; i++) offer_hash(a, test_word(1, i));
    for (uint64_t i = 4000; i < 10000; i++) offer_hash(b, test_word(1, i));
    assert_int_equal(merge(&a->base, &b->base, NULL), WEIR_OK);
    assert_sound(a);
    assert_int_equal(a->state.books.held, 10000);
    for (uint64_t i = 0; i < 10000; i++) assert_true(test_hash(a, test_word(1, i)));
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 100000; i++) wrong += test_hash(a, test_word(2, i));
    assert_true(wrong <= 2);
    for (uint64_t i = 0; i < 100000; i++) offer_hash(b, test_word(3, i));
    assert_int_equal(merge(&a->base, &b->base, NULL), WEIR_ERR_UNSUPPORTED);
    assert_sound(a);
    free_recent(a);
    free_recent(b);
}

/* ---- windows ---- */

/* A twin that knows each key's time exactly. Keys within the window less two ticks
 * must be known while no group overflows, keys beyond it must not, for several
 * rounds of the stamps. */
static void window_of_records_forgets_on_time(bool renew) {
    enum { KEYS = 200 };
    const uint64_t window = 1000;
    recent_filter *f = make_recent(65536, 1e-6, 1);
    window_plan *plan = &f->window;
    f->base.windowed = true;
    weir__window_plan(plan, f->lines, 1e-6, window, renew);
    uint64_t came[KEYS] = {0}, wrong = 0, early = 0, late = 0, hits = 0;
    for (uint64_t i = 1; i <= 200000; i++) {
        /* keys with all kinds of pauses */
        uint64_t k = test_word(5, i) % (1 + i / 700 % KEYS);
        bool seen = offer_hash(f, test_word(6, k));
        uint64_t age = i - came[k];
        if (came[k] && !seen && age + 2 * plan->tick <= window) wrong++;
        if (came[k] && seen && age > window) late++;
        if (came[k] && !seen && age < window) early++;
        hits += seen;
        if (!seen || renew) came[k] = i;
    }
    printf("# renew %d: %llu hits, %llu within the grain of the ticks\n", renew,
           (unsigned long long)hits, (unsigned long long)early);
    assert_int_equal(wrong, 0);
    assert_int_equal(late, 0);
    assert_true(hits > 100000);
    assert_sound(f);
    free_recent(f);
}
static void window_of_records(void **unused) {
    (void)unused;
    window_of_records_forgets_on_time(false);
    window_of_records_forgets_on_time(true);
}

/* Time in jumps of all sizes, also far beyond the window: no key that is too old
 * is ever taken for a young one. */
static void window_of_time_survives_jumps(void **unused) {
    (void)unused;
    weir_filter *filter = make_filter("recent:memory=16K,seed=3,window=1s");
    int64_t time = -5000000000, came[64];
    bool known[64] = {false};
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t dice = test_word(7, i);
        time +=
            dice % 100 == 0 ? (int64_t)(test_word(8, i) % 70000000000) : (int64_t)(dice % 20000000);
        unsigned k = (unsigned)(dice >> 40) % 64;
        uint64_t hash = test_word(9, k), verdict;
        weir_filter_test_batch(filter, &(weir_batch){.count = 1, .hashes = &hash, .times = &time},
                               &verdict);
        uint64_t tested = verdict;
        weir_filter_offer_batch(filter, &(weir_batch){.count = 1, .hashes = &hash, .times = &time},
                                &verdict);
        assert_int_equal(tested, verdict);
        if (known[k]) {
            int64_t age = time - came[k];
            if (age > 1000000000) assert_int_equal(verdict, 0);
            if (age < 950000000) assert_int_equal(verdict, 1);
        }
        if (!verdict) came[k] = time, known[k] = true;
    }
    weir_filter_free(filter);
}

static void renew_needs_a_window(void **unused) {
    (void)unused;
    weir_filter *filter;
    weir_error err = {0};
    assert_int_equal(weir_filter_new(&filter, "recent:renew=yes", &err), WEIR_ERR_RANGE);
    assert_non_null(strstr(err.message, "window"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_while_keys_fit),
        cmocka_unit_test(every_shape_is_sound),
        cmocka_unit_test(forms_keep_what_fits),
        cmocka_unit_test(marks_are_kept_from_the_start),
        cmocka_unit_test(young_keys_have_marks),
        cmocka_unit_test(clocked_lines_are_what_they_say),
        cmocka_unit_test(clocked_lines_hold_what_is_planned),
        cmocka_unit_test(a_list_has_only_so_many_extras),
        cmocka_unit_test(spread_lines_lose_one_key_at_a_time),
        cmocka_unit_test(held_places_are_kept),
        cmocka_unit_test(ways_follow_the_stream),
        cmocka_unit_test(keys_hold_their_places_while_they_last),
        cmocka_unit_test(freshness_is_told),
        cmocka_unit_test(freshness_has_to_be_sure),
        cmocka_unit_test(fresh_keys_are_kept),
        cmocka_unit_test(rare_repeats_are_kept_in_order),
        cmocka_unit_test(what_came_first_goes_first),
        cmocka_unit_test(rare_repeats_of_the_same_keys_are_told),
        cmocka_unit_test(young_keys_are_not_taken_for_hit_ones),
        cmocka_unit_test(rivals_tell_what_counts),
        cmocka_unit_test(rivals_keep_to_their_budget),
        cmocka_unit_test(contest_replaces_what_no_longer_wins),
        cmocka_unit_test(every_group_is_sound),
        cmocka_unit_test(offered_keys_are_known),
        cmocka_unit_test(bound_holds_in_every_stretch),
        cmocka_unit_test(reported_rate_is_the_real_one),
        cmocka_unit_test(same_for_every_batch_and_processor),
        cmocka_unit_test(repeat_in_a_batch_is_seen),
        cmocka_unit_test(lifetime_is_the_number_held),
        cmocka_unit_test(uniform_stream_near_the_oracle),
        cmocka_unit_test(little_is_lost_where_keys_just_fit),
        cmocka_unit_test(snapshot_continues_as_if_nothing_happened),
        cmocka_unit_test(one_list_is_sound),
        cmocka_unit_test(broken_lines_are_found),
        cmocka_unit_test(merged_filters_know_what_both_know),
        cmocka_unit_test(window_of_records),
        cmocka_unit_test(window_of_time_survives_jumps),
        cmocka_unit_test(renew_needs_a_window),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove_scratch_folder();
    return failed;
}
