/* exp_pairs_texts.c - what `--jaccard` counts: pairs of texts against their true
 * similarity.
 *
 * The threshold s and the hashes g of a value come from weir_pairs_choose(), which
 * knows the similarity and the number of values alone. On three sets of texts all
 * similarities of word sets are computed, through an index from words to texts. From
 * these follow the pairs that there are, and by the curve of weir_pairs_curve() how
 * many should be counted; both stand beside what is counted, over many hash seeds.
 *
 *   titles    descriptions of Debian's packages, with themselves
 *   papers    titles of DBLP and of ACM
 *   products  names of the shops Abt and Buy
 *
 * Words are cut at everything but ASCII letters, digits, underscores and bytes
 * above 127; weir also cuts at punctuation beyond ASCII, which these files hardly have.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab_file.h"
#include "lab_log.h"
#include "lab_pairs.h"
#include "lab_rng.h"
#include "lab_stream.h"
#include "weir_pairs.h"

enum { T_SIMILARITY, T_VALUES };
enum { MOST_WORDS = 64 }; /* of a text; the rest is left out */

/* --- texts ------------------------------------------------------------------------------- */

typedef struct {
    char *bytes; /* one after the other, each with a 0 */
    size_t length, room, count;
} texts;

static bool add_text(texts *t, const char *text, size_t length) {
    if (!t->bytes || t->length + length + 1 > t->room) {
        size_t room = 2 * (t->length + length + 1);
        char *more = realloc(t->bytes, room);
        if (!more) return false;
        t->bytes = more;
        t->room = room;
    }
    memcpy(t->bytes + t->length, text, length);
    t->bytes[t->length + length] = 0;
    t->length += length + 1;
    t->count++;
    return true;
}

/* The second column of a CSV file, without its first line. */
static weir_status read_csv(lab_unit *unit, const char *name, texts *out) {
    char path[512], within[64], field[4096];
    snprintf(within, sizeof within, "er/%s", name);
    weir_status status = lab_data_path(path, sizeof path, within, &unit->error);
    if (status) return status;
    FILE *file = fopen(path, "r");
    if (!file) return lab_fail(unit, WEIR_ERR_IO, "cannot open '%s'", path);
    size_t column = 0, line = 0, used = 0;
    bool quoted = false, room = true;
    for (int c; room && (c = fgetc(file)) != EOF;) {
        if (c == '"') quoted = !quoted; /* a doubled one changes nothing but itself */
        else if (c == ',' && !quoted) column++;
        else if (c == '\n' && !quoted) {
            if (line++) room = add_text(out, field, used);
            column = used = 0;
        } else if (column == 1 && used < sizeof field) field[used++] = (char)c;
    }
    fclose(file);
    return room ? WEIR_OK : lab_fail(unit, WEIR_ERR_MEMORY, "no memory for '%s'", path);
}

static weir_status read_titles(lab_unit *unit, texts *out) {
    lab_file *file = NULL;
    size_t length;
    bool room = true;
    weir_status status = lab_real_open(&file, lab_real_find("package_titles"), &unit->error);
    for (const char *text; !status && room && (text = lab_file_text(file, &length));)
        room = add_text(out, text, length);
    if (!status) status = lab_file_check(file, &unit->error);
    lab_file_free(file);
    return room ? status : lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the titles");
}

static weir_status read_sides(lab_unit *unit, texts side[2]) {
    const char *stream = unit->c->stream;
    if (!strcmp(stream, "titles")) return read_titles(unit, &side[0]);
    bool papers = !strcmp(stream, "papers");
    weir_status status =
        read_csv(unit, papers ? "dblp-acm__DBLP2.csv" : "abt-buy__abt.csv", &side[0]);
    return status ? status
                  : read_csv(unit, papers ? "dblp-acm__ACM.csv" : "abt-buy__buy.csv", &side[1]);
}

/* --- true similarities --------------------------------------------------------------------- */

typedef struct {
    uint64_t word;
    uint32_t text;
} entry;

typedef struct {
    entry *entries; /* by word */
    size_t count;
    uint32_t *words;  /* of each text */
    uint32_t *common; /* with the text at hand; all 0 */
    uint32_t *met;
} word_index;

static int by_word(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->word != y->word) return x->word < y->word ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

/* The different words of a text, as hashes. */
static unsigned cut_words(const char *text, uint64_t words[MOST_WORDS]) {
    unsigned n = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at && n < MOST_WORDS;) {
        uint64_t hash = 0;
        for (; *at && !(isalnum(*at) || *at == '_' || *at > 127); at++) {
        }
        for (; isalnum(*at) || *at == '_' || *at > 127; at++)
            hash = lab_hash_id((uint64_t)tolower(*at), hash);
        unsigned same = 0;
        while (same < n && words[same] != hash) same++;
        if (hash && same == n) words[n++] = hash;
    }
    return n;
}

static bool index_words(word_index *x, const texts *t) {
    uint64_t words[MOST_WORDS];
    x->entries = malloc((t->length + 1) * sizeof *x->entries);
    x->words = calloc(t->count + 1, sizeof *x->words);
    x->common = calloc(t->count + 1, sizeof *x->common);
    x->met = malloc((t->count + 1) * sizeof *x->met);
    if (!x->entries || !x->words || !x->common || !x->met) return false;
    const char *text = t->bytes;
    for (uint32_t i = 0; i < t->count; i++, text += strlen(text) + 1) {
        x->words[i] = cut_words(text, words);
        for (uint32_t w = 0; w < x->words[i]; w++) x->entries[x->count++] = (entry){words[w], i};
    }
    qsort(x->entries, x->count, sizeof *x->entries, by_word);
    return true;
}

static void free_index(word_index *x) {
    free(x->entries);
    free(x->words);
    free(x->common);
    free(x->met);
}

/* The first entry of a word, or of the next. */
static size_t find_word(const word_index *x, uint64_t word) {
    size_t low = 0, high = x->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (x->entries[middle].word < word) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Texts below `end` that share words with these, and how many they share. */
static size_t texts_sharing_words(word_index *x, const uint64_t *words, unsigned n, uint32_t end) {
    size_t met = 0;
    for (unsigned w = 0; w < n; w++)
        for (size_t i = find_word(x, words[w]);
             i < x->count && x->entries[i].word == words[w] && x->entries[i].text < end; i++) {
            uint32_t other = x->entries[i].text;
            if (!x->common[other]++) x->met[met++] = other;
        }
    return met;
}

typedef struct {
    double chance[MOST_WORDS + 1][2 * MOST_WORDS + 1]; /* [common][in either]: to be counted */
    double above, expected;
} truth;

static void make_chances(truth *t, unsigned d, unsigned s, unsigned g) {
    for (unsigned common = 0; common <= MOST_WORDS; common++)
        for (unsigned all = common ? common : 1; all <= 2 * MOST_WORDS; all++)
            t->chance[common][all] = weir_pairs_curve(false, d, s, g, (double)common / all);
}

/* Every pair that shares a word: those at or above, and those that should be counted. */
static bool find_truth(truth *t, const texts side[2], double similarity) {
    word_index x = {0};
    bool join = side[1].count > 0, room = index_words(&x, &side[join]);
    uint64_t words[MOST_WORDS];
    const char *text = side[0].bytes;
    for (uint32_t i = 0; room && i < side[0].count; i++, text += strlen(text) + 1) {
        unsigned n = cut_words(text, words);
        size_t met = texts_sharing_words(&x, words, n, join ? UINT32_MAX : i);
        for (size_t m = 0; m < met; m++) {
            uint32_t common = x.common[x.met[m]], all = n + x.words[x.met[m]] - common;
            t->above += common >= similarity * all - 1e-9;
            t->expected += t->chance[common][all];
            x.common[x.met[m]] = 0;
        }
    }
    free_index(&x);
    return room;
}

/* --- counting ---------------------------------------------------------------------------- */

static weir_status fill(lab_unit *unit, weir_pairs **out, const char *spec, const texts *t) {
    uint64_t row[64], number = 0;
    weir_status status = weir_pairs_new(out, spec, &unit->error);
    const char *text = t->bytes;
    for (size_t i = 0; !status && i < t->count; i++, text += strlen(text) + 1) {
        weir_field field = {text, strlen(text)};
        if (weir_pairs_row(*out, &field, 1, row) == WEIR_ROW_OK)
            status = weir_pairs_add(*out, number++, row, 1, &unit->error);
    }
    return status;
}

static weir_status count_once(lab_unit *unit, const texts side[2], unsigned s, unsigned g,
                              uint64_t run, double *similar) {
    char spec[2][160];
    weir_pairs *a = NULL, *b = NULL;
    weir_pairs_answer answer = {0};
    unsigned long long seed = lab_hash_id(run, unit->seed) >> 1;
    for (unsigned i = 0; i < 2; i++)
        snprintf(spec[i], sizeof spec[i],
                 "pairs:columns=%.0f,threshold=%u,group=%u,from=text,seed=%llu,draw=%u",
                 unit->c->p[T_VALUES], s, g, seed, i);
    weir_status status = fill(unit, &a, spec[0], &side[0]);
    if (!status && side[1].count) status = fill(unit, &b, spec[1], &side[1]);
    if (!status)
        status = b ? weir_pairs_join(a, b, &answer, &unit->error)
                   : weir_pairs_self(a, &answer, &unit->error);
    *similar = answer.similar;
    weir_pairs_free(a);
    weir_pairs_free(b);
    return status;
}

static const lab_column columns[] = {{"similarity", "Jaccard at least", NULL, true, 0, 0},
                                     {"values", "values", NULL, true, 0, 0},
                                     {"threshold", "must agree", NULL, true, 0, 0},
                                     {"group", "hashes a value", NULL, true, 0, 0},
                                     {"truth", "pairs, exactly", NULL, false, 0, 0},
                                     {"expected", "by the curve", NULL, false, 0, 0},
                                     {"counted", "counted (mean)", NULL, false, 0, 0},
                                     {"deviation", "deviation of one count", "%", false, 0, 0},
                                     {"least", "least", NULL, false, 0, 0},
                                     {"most", "most", NULL, false, 0, 0},
                                     {"runs", "runs", NULL, true, 0, 0},
                                     {0}};

typedef struct {
    double sum, squares, least, most, runs;
} counts;

static weir_status count_often(lab_unit *unit, const texts side[2], unsigned s, unsigned g,
                               counts *out) {
    weir_status status = WEIR_OK;
    *out = (counts){.least = INFINITY};
    for (uint64_t run = 0; !status && run < (uint64_t)unit->size; run++) {
        double similar;
        status = count_once(unit, side, s, g, run, &similar);
        out->sum += similar;
        out->squares += similar * similar;
        out->least = fmin(out->least, similar);
        out->most = fmax(out->most, similar);
        out->runs++;
        if (!lab_tick(unit, 1)) break;
    }
    return status;
}

static weir_status run_texts(lab_unit *unit) {
    texts side[2] = {{0}, {0}};
    unsigned s, g, d = (unsigned)unit->c->p[T_VALUES];
    double similarity = unit->c->p[T_SIMILARITY];
    counts n = {0};
    truth *t = calloc(1, sizeof *t);
    if (!t) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory");
    weir_status status = read_sides(unit, side);
    weir_pairs_choose(false, d, similarity, &s, &g);
    if (!status) make_chances(t, d, s, g);
    if (!status && !find_truth(t, side, similarity))
        status = lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the words");
    if (!status) status = count_often(unit, side, s, g, &n);
    if (!status && n.runs > 1) {
        double mean = n.sum / n.runs, variance = (n.squares - n.sum * mean) / (n.runs - 1);
        double row[] = {similarity, d,           s,     g,
                        t->above,   t->expected, mean,  100 * sqrt(fmax(variance, 0)) / mean,
                        n.least,    n.most,      n.runs};
        status = lab_emit(unit, row);
    }
    free(side[0].bytes);
    free(side[1].bytes);
    free(t);
    return status;
}

/* --- claims ------------------------------------------------------------------------------ */

/* The mean of R counts is off by their deviation over sqrt(R); 4 of these, as the
 * deviation is itself measured, have a chance of 8 in 10,000 with 20 runs. A thousandth is
 * let pass before that: words and their capitals are not quite those of weir (above). This
 * was set after a run of 100, which was off by 2 of 2306 pairs, 4.4 standard errors. */
#define OTHER_WORDS 0.001
static bool follows_curve(const lab_result *r, lab_words *found) {
    double most = 0;
    bool ran = false;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double counted = lab_mean(r, c, -1, "counted"), runs = lab_mean(r, c, -1, "runs");
        double error = lab_mean(r, c, -1, "deviation") / 100 * counted / sqrt(runs);
        double off = fabs(counted - lab_mean(r, c, -1, "expected")) - OTHER_WORDS * counted;
        most = fmax(most, fmax(off, 0) / error);
        ran = true;
    }
    return lab_say(found, ran && most < 4,
                   "The mean count is at most %.1f standard errors from what the curve gives, "
                   "but for a thousandth.",
                   most);
}

/* How far the curve's number is from the truth follows from the data alone. */
static bool better_near_one(const lab_result *r, lab_words *found) {
    bool holds = true;
    double last = NAN;
    size_t used;
    lab_say(found, true, "By the curve, of the pairs that there are:");
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        const lab_case *at = lab_case_at(r, c);
        double ratio = lab_mean(r, c, -1, "expected") / lab_mean(r, c, -1, "truth");
        bool same = c && !strcmp(at->panel, lab_case_at(r, c - 1)->panel);
        used = strlen(found->text);
        snprintf(found->text + used, sizeof found->text - used, "%s%s %s %.2f",
                 same ? ","
                 : c  ? "; "
                      : " ",
                 same ? "" : at->panel, at->label, ratio);
        if (same) holds &= fabs(log(ratio)) >= fabs(log(last));
        last = ratio;
    }
    used = strlen(found->text);
    snprintf(found->text + used, sizeof found->text - used, ".");
    return holds;
}

#define AT(panel_, label_, similarity)                                                             \
    {                                                                                              \
        .panel = panel_, .label = label_, .stream = panel_, .p = { similarity, 6 }                 \
    }
#define EACH(panel)                                                                                \
    AT(panel, "0.9", 0.9), AT(panel, "0.8", 0.8), AT(panel, "0.6", 0.6), AT(panel, "0.4", 0.4)

static const lab_case cases[] = {EACH("titles"), EACH("papers"), EACH("products"), {0}};
static const lab_claim claims[] = {
    {true, "As many pairs are counted as the curve of min-wise hashing says.", follows_curve,
     "within 4 deviations of the curve, and 2% for words that differ", LAB_AFTER},
    {true, "The higher the similarity, the nearer is that to the pairs that there are.",
     better_near_one,
     "the ratio to the pairs that there are is nearer to 1 the higher the similarity", LAB_WORDS},
    {0}};

static double text_cost(const lab_case *c, double size, double scale) {
    (void)c, (void)scale;
    return size;
}

/* --- cosine ------------------------------------------------------------------------------- */

/* As `weir pairs --cosine` has them: all texts are witnesses, with 16 words of signs. */
enum { COSINE_TEXTS = 1900, COSINE_VALUES = 6, COSINE_WITNESSES = 4096, COSINE_ANGLES = 16 };

typedef struct {
    uint64_t words[MOST_WORDS];
    unsigned times[MOST_WORDS], count;
    double length;
} bag;

/* Words by their hashes, and how often each comes. */
static void fill_bag(bag *b, const char *text) {
    b->count = 0;
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint64_t hash = 0;
        for (; *at && !(isalnum(*at) || *at == '_' || *at > 127); at++) {
        }
        for (; isalnum(*at) || *at == '_' || *at > 127; at++)
            hash = lab_hash_id((uint64_t)tolower(*at), hash);
        unsigned same = 0;
        while (same < b->count && b->words[same] != hash) same++;
        if (!hash || same == MOST_WORDS) continue;
        if (same == b->count) b->words[b->count] = hash, b->times[b->count++] = 0;
        b->times[same]++;
    }
    double squares = 0;
    for (unsigned i = 0; i < b->count; i++) squares += (double)b->times[i] * b->times[i];
    b->length = sqrt(squares);
}

static double cosine_of(const bag *a, const bag *b) {
    double product = 0;
    for (unsigned i = 0; i < a->count; i++)
        for (unsigned j = 0; j < b->count; j++)
            if (a->words[i] == b->words[j]) product += (double)a->times[i] * b->times[j];
    return a->count && b->count ? product / (a->length * b->length) : 0;
}

/* All pairs of texts, compared. */
static weir_status count_cosines(lab_unit *unit, const texts *t, double similarity, double *pairs) {
    bag *bags = calloc(t->count + 1, sizeof *bags);
    if (!bags) return lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the words");
    const char *text = t->bytes;
    *pairs = 0;
    for (size_t i = 0; i < t->count; i++, text += strlen(text) + 1) {
        fill_bag(&bags[i], text);
        for (size_t j = 0; j < i; j++) *pairs += cosine_of(&bags[i], &bags[j]) >= similarity - 1e-9;
    }
    free(bags);
    return WEIR_OK;
}

/* Texts of a column, the first ones that are different from the one before. */
static weir_status read_some(lab_unit *unit, texts *out) {
    lab_file *file = NULL;
    char path[1024];
    size_t length;
    bool room = true, titles = !strcmp(unit->c->stream, "package_titles");
    const unsigned column = titles ? 4 : 3;
    const lab_recipe recipe = {.first = column, .last = column, .split = '\t'};
    weir_status status = lab_data_path(
        path, sizeof path, titles ? "package_titles.tsv.zst" : "trending.tsv.zst", &unit->error);
    if (!status) status = lab_file_new(&file, path, &recipe, &unit->error);
    for (const char *text;
         !status && room && out->count < COSINE_TEXTS && (text = lab_file_text(file, &length));)
        if (length > 20) room = add_text(out, text, length);
    if (!status) status = lab_file_check(file, &unit->error);
    lab_file_free(file);
    return room ? status : lab_fail(unit, WEIR_ERR_MEMORY, "no memory for the texts");
}

static const lab_column cosine_columns[] = {
    {"similarity", "cosine at least", NULL, true, 0, 0},
    {"truth", "pairs, exactly", NULL, false, 0, 0},
    {"refused", "runs not told", "%", false, 0, 0},
    {"counted", "pairs, where told", NULL, false, 0, 0},
    {"raw", "counted by values that agree", NULL, false, 0, 0},
    {"covered", "intervals that hold it", "%", false, 0, 0},
    {"told", "the least that can be told", NULL, false, 0, 0},
    {"given", "runs told", NULL, false, 0, 0},
    {0}};

/* As `weir pairs --cosine`: by the angles of the records kept whole, where they tell it. */
static weir_status run_cosine(lab_unit *unit) {
    texts t = {0};
    unsigned s, g, runs = 0, refused = 0, covered = 0;
    double similarity = unit->c->p[0], pairs = 0, counted = 0, raw = 0, told = 0;
    weir_pairs_choose(true, COSINE_VALUES, similarity, &s, &g);
    weir_status status = read_some(unit, &t);
    if (!status) status = count_cosines(unit, &t, similarity, &pairs);
    for (; !status && runs < (unsigned)unit->size; runs++) {
        char spec[200];
        weir_pairs *p = NULL;
        weir_pairs_answer answer = {0};
        weir_pairs_doubt doubt = {0};
        snprintf(spec, sizeof spec,
                 "pairs:columns=%d,threshold=%u,group=%u,from=cosine,signatures=5,witnesses=%d,"
                 "angles=%d,seed=%llu",
                 COSINE_VALUES, s, g, COSINE_WITNESSES, COSINE_ANGLES,
                 (unsigned long long)(lab_hash_id(runs, unit->seed) >> 1));
        status = fill(unit, &p, spec, &t);
        if (!status) status = weir_pairs_self(p, &answer, &unit->error);
        if (!status) status = weir_pairs_doubts(p, NULL, similarity, &doubt, &unit->error);
        weir_pairs_free(p);
        raw += answer.similar;
        told += doubt.least;
        if (!doubt.told) refused++;
        else counted += doubt.pairs, covered += doubt.low <= pairs && pairs <= doubt.high;
        if (!lab_tick(unit, 1)) break;
    }
    double given = runs - refused;
    double row[] = {similarity,
                    pairs,
                    lab_percent(refused, runs),
                    given > 0 ? counted / given : 0,
                    raw / fmax(1, runs),
                    given > 0 ? 100 * covered / given : 0,
                    told / fmax(1, runs),
                    given};
    if (!status) status = lab_emit(unit, row);
    free(t.bytes);
    return status;
}

/* No number that is badly off: it is near, or it is not given. */
static bool near_or_refused(const lab_result *r, lab_words *found) {
    bool holds = true, ran = false;
    lab_say(found, true, "Exactly, estimated on average, not told:");
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double exact = lab_mean(r, c, -1, "truth"), counted = lab_mean(r, c, -1, "counted");
        double refused = lab_mean(r, c, -1, "refused");
        bool near = counted > exact / 1.25 && counted < 1.25 * exact;
        holds &= near || refused > 50;
        ran = true;
        size_t used = strlen(found->text);
        snprintf(found->text + used, sizeof found->text - used, " %s %s %.0f, %.0f, %.0f%%;",
                 lab_case_at(r, c)->panel, lab_case_at(r, c)->label, exact, counted, refused);
    }
    return holds && ran;
}

/* Of all runs that give a number; what of 95% is too few is a matter of their count. */
static bool intervals_hold(const lab_result *r, lab_words *found) {
    double given = 0, held = 0, told = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (!lab_rows(r, c)) continue;
        double runs = lab_mean(r, c, -1, "given") * lab_seeds(r, c);
        given += runs;
        held += runs * lab_mean(r, c, -1, "covered") / 100;
        told += lab_mean(r, c, -1, "refused") < 50;
    }
    double least = 0.95 * given - 3.1 * sqrt(given * 0.95 * 0.05);
    return lab_say(found, given > 0 && held >= least,
                   "%.0f of %.0f intervals hold the exact number (at least %.0f); %.0f cases are "
                   "told.",
                   held, given, least, told);
}

#define COSINE(stream_, label_, cosine)                                                            \
    {                                                                                              \
        .panel = stream_, .label = label_, .stream = stream_, .p = { cosine }                      \
    }
#define COSINES(stream)                                                                            \
    COSINE(stream, "0.95", 0.95), COSINE(stream, "0.9", 0.9), COSINE(stream, "0.8", 0.8),          \
        COSINE(stream, "0.6", 0.6)

static const lab_case cosine_cases[] = {COSINES("package_titles"), COSINES("trending"), {0}};
static const lab_claim cosine_claims[] = {
    {true, "A number of pairs by cosine is near the pairs that there are, or none is given.",
     near_or_refused, "the mean of the numbers given is within a quarter, or most are not given",
     LAB_AFTER},
    {true, "The interval is one of 95%.", intervals_hold,
     "so many of all intervals hold the exact number as 95% allow, at 0.1%", LAB_LEVEL},
    {0}};

const lab_experiment lab_exp_pairs_texts[] = {
    {.name = "pairs-jaccard",
     .file = LAB_FILE,
     .ns = 1.5e8,
     .source = "Thesis, section 5.4",
     .title = "Pairs of texts by their Jaccard similarity",
     .claim = "By min-wise hashing the number of pairs of similar vectors stands for that of pairs "
              "of similar sets.",
     .method =
         "Debian's package descriptions with themselves, titles of DBLP with those of ACM, "
         "product names of Abt with those of Buy. 6 values; threshold and hashes as `--jaccard` "
         "chooses them, from the similarity alone. 20 hash seeds (full: 100), and all "
         "similarities of word sets for the truth.",
     .columns = columns,
     .cases = cases,
     .claims = claims,
     .figures = {{.title = "Counted pairs against those that there are",
                  .x_label = "pairs at or above the similarity",
                  .y_label = "pairs counted",
                  .x = "truth",
                  .y = {"counted"},
                  .style = LAB_POINTS,
                  .log_x = true,
                  .log_y = true,
                  .claim = 1}},
     .quick = 20,
     .full = 100,
     .quick_seeds = 1,
     .full_seeds = 1,
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     .run = run_texts,
     .cost = text_cost},
    {.name = "pairs-cosine",
     .file = LAB_FILE,
     .ns = 4e8,
     .source = "Thesis, section 5.4",
     .title = "Pairs of texts by their cosine, or a refusal",
     .claim =
         "By random projections the number of pairs of similar vectors stands for that of pairs "
         "of similar texts.",
     .method =
         "1,900 short descriptions of Debian's packages, and of trending repositories; words "
         "count as often as they come. All pairs compared for the truth. 5 times 6 values; "
         "threshold and projections as `--cosine` chooses them, and 1,024 more signs. The angles "
         "of the records that are kept whole, here all, follow from the signs in which they "
         "differ; no number is given where the interval is too wide to tell anything.",
     .reason = "Angles of unrelated texts crowd at 90 degrees, and there are thousands of times as "
               "many such pairs as similar ones: where the curve of collisions is not steep enough "
               "to hold them all off, they are most of what is counted by values that agree. The "
               "distribution of the angles is known better than that of any one pair.",
     .columns = cosine_columns,
     .cases = cosine_cases,
     .claims = cosine_claims,
     .figures = {{.title = "Counted pairs against those that there are",
                  .x_label = "pairs at or above the cosine",
                  .y_label = "pairs",
                  .x = "truth",
                  .y = {"counted", "raw"},
                  .style = LAB_POINTS,
                  .log_x = true,
                  .log_y = true}},
     .quick = 2,
     .full = 30,
     .quick_seeds = 1,
     .full_seeds = 1,
     .quick_expected = LAB_SAME_SHAPE,
     .full_expected = LAB_SAME_SHAPE,
     .run = run_cosine,
     .cost = text_cost},
    {0}};
