/* cmd_pairs.c - weir pairs: the table of its options, and from words to settings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "cli.h"
#include "opts.h"
#include "pairs_command.h"
#include "values.h"

enum { TEXT_VALUES = 6 }; /* values of a text, unless --values says otherwise */
enum {
    COSINE_WITNESSES = 4096, /* records kept whole, whose pairs tell the angles of all */
    COSINE_ANGLES = 16       /* words of signs that they have for it */
};
enum { TEXT_SIGNATURES = 5 }; /* signatures of a text, unless --signatures says otherwise */
enum { OUTLIERS_MOST = 1000000000, LIST_MOST = 1000000 };

enum {
    P_COLUMNS = 1,
    P_TEXT,
    P_SET,
    P_SPLIT,
    P_ROUND,
    P_SHINGLE,
    P_VALUES,
    P_GROUP,
    P_THRESHOLD,
    P_JACCARD,
    P_COSINE,
    P_SAMPLE,
    P_ONLINE,
    P_SIGNATURES,
    P_MEMORY,
    P_REPEATS,
    P_EXACT,
    P_SEED,
    P_TMP,
    P_SAVE,
    P_LIST,
    P_METHOD,
    P_ERROR,
    P_CONFIDENCE,
    P_DISTANCE,
    P_OUTLIERS,
    P_CSV,
    P_JSON,
    P_PLOT,
    P_ORDERED
};

#define QUESTIONS "self|join|search" /* as pairs_question has them */

#define G_WHAT "What is compared"
#define G_HOW "How it is counted"
#define G_ANSWER "Answer"

static const opt_entry pairs_table[] = {
    {P_COLUMNS, "columns", 'c', OPT_VALUE, "COLUMNS", NULL, NULL, G_WHAT, true,
     "Columns (`1,3,4` or `name,city`) or JSON paths to compare.",
     "Each is one value of a record; two records agree in a column if its values are equal. At "
     "most 64; the error grows fast with their number, see WHEN NOT TO TRUST IT."},
    {P_TEXT, "text", 0, OPT_VALUE, "FIELD", NULL, NULL, G_WHAT, true,
     "Compare a text by its words; `.` is the whole record.",
     "Letters are folded as by `--ignore-case`; the text is cut into shingles; their least hashes "
     "are the values, "
     "so that two texts agree in each with the probability of their Jaccard similarity. JSON "
     "values are read as in `--set`, and objects and arrays with all that is in them."},
    {P_SET, "set", 0, OPT_VALUE, "FIELD", NULL, NULL, G_WHAT, false,
     "Compare the items of a field as a set; `.` is the whole record.",
     "A JSON array, or text with separators. A record agrees with another in each item that both "
     "have, wherever it stands and however often. An item of an array is the same as in a text: a "
     "string counts without its quotes, whatever is in it, a number by its value, written without "
     "exponent (1.50 and 15e-1 are 1.5; in a text it stays as it is), and what is empty or null "
     "does not count. A JSON value that is no array and no string is one item. `--values` must say "
     "how many items a set has at most."},
    {P_SPLIT, "split", 0, OPT_VALUE, "CHARACTERS", NULL, "space, tab and ,;|", G_WHAT, false,
     "What separates the items of a set.", NULL},
    {P_ROUND, "round", 0, OPT_VALUE, "COLUMN=STEP,...", NULL, NULL, G_WHAT, false,
     "Round the numbers of a column before they are compared.",
     "`--columns name,price --round price=5` takes 12.50 and 14.99 for equal. The column is named "
     "as in `--columns`. What is no number stays as it is."},
    {P_SHINGLE, "shingle", 0, OPT_VALUE, "N", NULL, "1w", G_WHAT, false,
     "Shingles of N words (`3w`) or characters (`5c`).", NULL},
    {P_VALUES, "values", 0, OPT_VALUE, "N", NULL, "6", G_WHAT, false,
     "Values made of a text; most items of a set.", NULL},
    {P_GROUP, "group", 0, OPT_VALUE, "N", NULL, NULL, G_WHAT, false,
     "Hashes in each value of a text.",
     "More make a value agree less often: with probability J to the power of N. Chosen by "
     "`--jaccard` and `--cosine`; else 1, for cosine 8."},

    {P_THRESHOLD, "threshold", 's', OPT_VALUE, "N", NULL, "two thirds", G_HOW, true,
     "Count pairs that agree in N values or more.",
     "With 0 the report has a row of pairs that agree in nothing, too."},
    {P_JACCARD, "jaccard", 0, OPT_VALUE, "SIMILARITY", NULL, NULL, G_HOW, true,
     "Choose threshold and group for texts of this Jaccard similarity.",
     "Such as 0.8. More similar pairs are then counted in most cases, less similar ones in few; "
     "the report has the curve. Below 0.5 it counts several times too many: texts that are little "
     "alike abound."},
    {P_COSINE, "cosine", 0, OPT_VALUE, "SIMILARITY", NULL, NULL, G_HOW, false,
     "The same for the cosine of the angle between texts.",
     "Words count as often as they occur; values are signs of random projections. How many pairs "
     "have that cosine follows from the angles between 4,096 records that are kept whole, with an "
     "interval; where that is too wide, from the values that agree, as for `--jaccard`, or it is "
     "refused, with the smallest similarity that can be told."},
    {P_DISTANCE, "distance", 0, OPT_VALUE, "D", NULL, NULL, G_HOW, false,
     "Compare numbers: count pairs of points within this Euclidean distance.",
     "The columns must be numbers; where one counts for more than another, scale them first. 1,024 "
     "records, or with `--exact` all, are compared with all others, which are kept in memory: the "
     "report has the distances of all pairs, doubling from row to row, with intervals."},
    {P_SAMPLE, "sample", 'r', OPT_VALUE, "SHARE", NULL, "1 if they are at most 64, else 0.5", G_HOW,
     false, "Share of its super-values that each record draws.",
     "More than 0, at most 1. With 1 every one is drawn, and the offline answer is exact but for "
     "hash collisions. A record has C(d, s) + ... + C(d, d) of them: 22 for 4 or more of 6."},
    {P_ONLINE, "online", 0, OPT_OPTIONAL, "width=W,depth=D", NULL, NULL, G_HOW, false,
     "Keep sketches of a fixed size instead of the super-values.",
     "`--online=width=65536,depth=5`, or `--online=error=1%` to plan the width so that the size of "
     "each stream is off by so much. For streams too long to keep: the answer is good when "
     "similar pairs are at least about as many as records."},
    {P_METHOD, "method", 0, OPT_VALUE, "HOW", "offline|online|sample", "offline", G_HOW, false,
     "`offline`, `online` or `sample`.",
     "= offline\nkeeps super-values\n\n"
     "= online\nkeeps sketches of them, as `--online` does\n\n"
     "= sample\ncompares the pairs of 1,024 random records and scales up: for comparison, and "
     "better where similar pairs are many"},
    {P_ERROR, "error", 0, OPT_VALUE, "SHARE", NULL, NULL, G_HOW, false,
     "Choose `--sample` and `--repeats` for this error.",
     "Of the share of all pairs that are similar, by theorems 8 and 10 of Deng's thesis: off by "
     "more than SHARE with a chance of at most 1 - `--confidence`. The records are counted first."},
    {P_CONFIDENCE, "confidence", 0, OPT_VALUE, "SHARE", NULL, "95%", G_HOW, false,
     "The chance that `--error` holds.", NULL},
    {P_MEMORY, "memory", 'm', OPT_VALUE, "SIZE", NULL, "256M", G_HOW, false,
     "Memory for super-values; what does not fit is sorted on disk.", NULL},
    {P_SIGNATURES, "signatures", 0, OPT_VALUE, "N", NULL, "5 if they fit 64 values", G_HOW, false,
     "Independent signatures of a text, whose counts are averaged.",
     "Values of a text agree by chance, so other hashes count other pairs. How far the signatures "
     "are apart makes the interval, which so covers that chance. Costs N times as much; with 1 the "
     "interval leaves it out."},
    {P_REPEATS, "repeats", 0, OPT_VALUE, "N", NULL, "1", G_HOW, false,
     "Do it N times at once, an odd number, and take the median.", NULL},
    {P_EXACT, "exact", 0, OPT_FLAG, NULL, NULL, NULL, G_HOW, true,
     "Compare all records, value by value; of texts their min-hashes.",
     "Slow, and all are kept in memory; any number of columns up to 64 will do. Texts are compared "
     "by the values that are made of them, so the curve of the report holds here too."},
    {P_SEED, "seed", 0, OPT_VALUE, "N", NULL, NULL, G_HOW, false, "Make the run repeatable.",
     "Summaries that are to be joined or merged need the same one."},
    {P_TMP, "tmp", 0, OPT_VALUE, "FOLDER", NULL, "$TMPDIR or /tmp", G_HOW, false,
     "Where temporary files go.", "They have no name, so nothing is ever left behind."},

    {P_SAVE, "save", 0, OPT_VALUE, "FILE", NULL, NULL, G_ANSWER, true,
     "Save the summary, to be searched, joined or merged later.",
     "A summary can stand wherever a file of records can; from a pipe there are always records. "
     "Several summaries after `self` are merged. A `join` of a summary with records makes and "
     "reads these as the summary's were; `--format` and `--columns`, `--text` or `--set` may say "
     "that they are laid out otherwise. What else the command line says must agree with the "
     "summary. So must two summaries with each other in all that makes values equal: "
     "`--ignore-case`, `--trim`, `--split`, `--round`; and columns of JSON, whose values have "
     "types, equal no others."},
    {P_OUTLIERS, "outliers", 0, OPT_VALUE, "N", NULL, NULL, G_ANSWER, true,
     "How many records have fewer than N others near them.",
     "Near is by `--threshold`, `--jaccard`, `--cosine` or `--distance`. 1,024 records, or with "
     "`--exact` all, are compared with all others, which are kept in memory; the report has the "
     "distribution of all pairs, too."},
    {P_LIST, "list", 0, OPT_VALUE, "N", NULL, NULL, G_ANSWER, true,
     "Show N pairs that are similar.",
     "At most 1M, an equal part for each number of agreeing values. Each record is compared with "
     "the first 8 records of each super-value that it shares: of many equal records each is listed "
     "with some others, not with all. Texts are found by their first signature, so that of pairs "
     "which are just similar enough the report counts more. The files are read a second time; what "
     "can be read only once, such as a pipe, is kept in a temporary file. With their similarity: "
     "the share of values that agree, of texts as their values speak for it. Up to 400 bytes of a "
     "record are shown. "
     "Records are numbered as they stand in their file, from 1; a header counts, and so does what "
     "is left out."},
    {P_CSV, "csv", 0, OPT_FLAG, NULL, NULL, NULL, G_ANSWER, false,
     "Print the pairs of `--list` as rows of CSV, and nothing else.",
     "The columns are `agree`, `similarity`, `record_a`, `record_b`, `file_a`, `file_b`, `text_a` "
     "and `text_b`."},
    {P_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, G_ANSWER, false,
     "Print one object on one line.", NULL},
    {P_PLOT, "plot", 0, OPT_VALUE, "FILE", NULL, NULL, G_ANSWER, false,
     "Draw the numbers of pairs into an SVG file.", NULL},
    {P_ORDERED, "ordered", 0, OPT_FLAG, NULL, NULL, NULL, G_ANSWER, false,
     "Count (a, b) and (b, a), and each record with itself.",
     "As the tables of Deng's thesis do: all numbers then sum to the square of the records. "
     "Without it a pair is two different records, in no order."},

    READ_RECORD_ROWS("", "", 'd'),
    {READ_CASE, "ignore-case", 'i', OPT_FLAG, NULL, NULL, NULL, "Records", false,
     "a equals A, and so on for all letters of Unicode.",
     "By the full case folding of Unicode: `STRASSE` equals `straße`. Texts are always compared "
     "so."},
    {READ_TRIM, "trim", 0, OPT_FLAG, NULL, NULL, NULL, "Records", false,
     "Leave out white space at both ends of each value.", NULL},
    {READ_MISSING, "on-missing", 0, OPT_VALUE, "WHAT", "drop|fail", "drop", "Records", false,
     "A text without words or a set without items: `drop` or `fail`.",
     "Dropped records are not counted, neither as records nor in pairs; the report says how many."},
    {READ_BAD, "on-bad", 0, OPT_VALUE, "WHAT", "drop|fail", "fail", "Records", false,
     "A malformed record or one with too few columns: `drop` or `fail`.",
     "`fail` says in which file, at which record and byte, and why."},
    READ_PROGRESS_ROWS,
    READ_THREAD_ROWS,
    {0},
};

/* --- what has no effect together ------------------------------------------------------- */

enum {
    IN_JOIN = 1 << 0,
    IN_SEARCH = 1 << 1,
    BY_ONLINE = 1 << 2,
    BY_EXACT = 1 << 3,
    OF_COLUMNS = 1 << 4,
    OF_TEXT = 1 << 5,
    OF_SET = 1 << 6,
    OF_NOTHING = 1 << 7, /* none of these three is named: right for summaries */
    OF_SUMMARIES = 1 << 8,
    BY_NEIGHBOURS = 1 << 9,
    BY_DISTANCE = 1 << 10
};

static const struct {
    unsigned mode;
    const char *words;
} modes[] = {{IN_JOIN, "in `join`"},
             {IN_SEARCH, "in `search`, which looks up records in a summary"},
             {BY_ONLINE, "with --online, which keeps sketches and no super-values"},
             {BY_EXACT, "with --exact, which compares the records themselves"},
             {OF_COLUMNS, "with --columns"},
             {OF_TEXT, "with --text"},
             {OF_SET, "with --set"},
             {OF_NOTHING, "without --columns, --text or --set"},
             {OF_SUMMARIES, "on summaries, which are read as they are"},
             {BY_NEIGHBOURS, "with --outliers or --distance, which compare records"},
             {BY_DISTANCE, "with --distance, which compares numbers"}};

/* Modes in which an option would be ignored: it is refused instead. */
static const struct {
    int id;
    unsigned modes;
} useless[] = {{P_SPLIT, OF_COLUMNS | OF_TEXT | OF_NOTHING},
               {P_ROUND, OF_TEXT | OF_SET | OF_NOTHING | BY_DISTANCE},
               {P_SHINGLE, OF_COLUMNS | OF_SET},
               {P_VALUES, OF_COLUMNS | OF_NOTHING},
               {P_GROUP, OF_COLUMNS | OF_SET},
               {P_SAMPLE, BY_EXACT | BY_NEIGHBOURS},
               {P_ONLINE, BY_EXACT | BY_NEIGHBOURS},
               {P_MEMORY, BY_EXACT | BY_ONLINE | IN_SEARCH | OF_SUMMARIES | BY_NEIGHBOURS},
               {P_REPEATS, BY_EXACT | BY_NEIGHBOURS},
               {P_SIGNATURES, OF_COLUMNS | OF_SET | IN_SEARCH | BY_NEIGHBOURS},
               {P_EXACT, IN_SEARCH},
               {P_TMP, BY_EXACT | BY_ONLINE | IN_SEARCH | OF_SUMMARIES | BY_NEIGHBOURS},
               {P_SAVE, BY_EXACT | IN_JOIN | IN_SEARCH | BY_NEIGHBOURS},
               {P_LIST, BY_EXACT | BY_ONLINE | IN_SEARCH | BY_NEIGHBOURS},
               {P_PLOT, IN_SEARCH | BY_NEIGHBOURS},
               {P_ORDERED, IN_JOIN | IN_SEARCH | BY_NEIGHBOURS},
               {P_METHOD, BY_NEIGHBOURS},
               {P_ERROR, BY_NEIGHBOURS},
               {P_THRESHOLD, BY_DISTANCE},
               {P_DISTANCE, IN_JOIN | IN_SEARCH | OF_TEXT | OF_SET | OF_NOTHING | OF_SUMMARIES},
               {P_OUTLIERS, IN_JOIN | IN_SEARCH | OF_SUMMARIES},
               {READ_NULL, IN_SEARCH | OF_SUMMARIES},
               {READ_HEADER, IN_SEARCH},
               {READ_MISSING, IN_SEARCH | OF_COLUMNS | OF_SUMMARIES},
               {READ_BAD, IN_SEARCH | OF_SUMMARIES}};

static unsigned useless_in(int id) {
    for (size_t i = 0; i < sizeof useless / sizeof *useless; i++)
        if (useless[i].id == id) return useless[i].modes;
    return 0;
}

/* The first of the given options that would be ignored is an error. */
static int check_effects(const bool *given, unsigned mode) {
    for (size_t n = 0; pairs_table[n].name; n++) {
        unsigned both = given[n] ? useless_in(pairs_table[n].id) & mode : 0;
        for (size_t i = 0; both && i < sizeof modes / sizeof *modes; i++)
            if (both & modes[i].mode)
                return cli_error("--%s has no effect %s; leave it out", pairs_table[n].name,
                                 modes[i].words);
    }
    return EXIT_DONE;
}

/* --- from words to settings ---------------------------------------------------------- */

/* The words as they were given. */
typedef struct {
    const char *columns, *text, *set, *round, *shingle, *values, *group, *threshold, *sample,
        *online, *memory, *repeats, *signatures, *jaccard, *cosine;
    bool is_online;
} pairs_words;

/* Options as words, until all are read. */
typedef struct {
    pairs_settings s;
    pairs_words w;
} request;

#define IN(member) offsetof(request, member)

static const opt_target targets[] = {
    {P_COLUMNS, KEEP_WORD, IN(w.columns), 0, 0},
    {P_TEXT, KEEP_WORD, IN(w.text), 0, 0},
    {P_SET, KEEP_WORD, IN(w.set), 0, 0},
    {P_ROUND, KEEP_WORD, IN(w.round), 0, 0},
    {P_SHINGLE, KEEP_WORD, IN(w.shingle), 0, 0},
    {P_VALUES, KEEP_WORD, IN(w.values), 0, 0},
    {P_GROUP, KEEP_WORD, IN(w.group), 0, 0},
    {P_THRESHOLD, KEEP_WORD, IN(w.threshold), 0, 0},
    {P_SAMPLE, KEEP_WORD, IN(w.sample), 0, 0},
    {P_MEMORY, KEEP_WORD_OF_SIZE, IN(w.memory), 0, 0},
    {P_REPEATS, KEEP_WORD, IN(w.repeats), 0, 0},
    {P_SIGNATURES, KEEP_WORD, IN(w.signatures), 0, 0},
    {P_JACCARD, KEEP_WORD, IN(w.jaccard), 0, 0},
    {P_COSINE, KEEP_WORD, IN(w.cosine), 0, 0},
    {P_EXACT, KEEP_FLAG, IN(s.exact), 0, 0},
    {P_ORDERED, KEEP_FLAG, IN(s.ordered), 0, 0},
    {P_JSON, KEEP_FLAG, IN(s.json), 0, 0},
    {P_CSV, KEEP_FLAG, IN(s.csv), 0, 0},
    {P_ERROR, KEEP_RATE, IN(s.error), 0, 0},
    {P_CONFIDENCE, KEEP_RATE, IN(s.confidence), 0, 0},
    {P_OUTLIERS, KEEP_COUNT, IN(s.outliers), 1, OUTLIERS_MOST},
    {P_LIST, KEEP_COUNT, IN(s.list), 1, LIST_MOST},
    {P_TMP, KEEP_FOLDER, IN(s.folder), 0, 0},
    {P_SAVE, KEEP_PATH, IN(s.save), 0, 0},
    {P_PLOT, KEEP_WORD, IN(s.plot), 0, 0},
    {0},
};

static int set_option(void *settings, int id, const char *value) {
    pairs_settings *s = &((request *)settings)->s;
    pairs_words *w = &((request *)settings)->w;
    char *end;
    switch (id) {
    case P_ONLINE:
        w->is_online = true;
        w->online = value;
        return EXIT_DONE;
    case P_SPLIT:
        if (!*value || strlen(value) >= sizeof s->rows.split)
            return cli_error("--split takes from 1 to %zu characters", sizeof s->rows.split - 1);
        snprintf(s->rows.split, sizeof s->rows.split, "%s", value);
        s->split_given = true;
        return EXIT_DONE;
    case P_METHOD:
        s->sampled = !strcmp(value, "sample");
        w->is_online |= !strcmp(value, "online");
        return EXIT_DONE;
    case P_DISTANCE:
        s->distance = strtod(value, &end);
        if (end == value || *end || !(s->distance > 0) || s->distance > 1e300)
            return cli_error("--distance cannot be '%s'; it is a number above 0", value);
        return EXIT_DONE;
    case P_SEED:
        s->seeded = true;
        return value_seed("--seed", value, &s->seed);
    case READ_MISSING:
        s->in.on_missing = strcmp(value, "drop") ? STREAM_STOP : STREAM_DROP;
        return EXIT_DONE;
    case READ_BAD:
        s->in.on_bad = strcmp(value, "drop") ? STREAM_STOP : STREAM_DROP;
        return EXIT_DONE;
    default:
        s->formatted |= id == READ_FORMAT;
        return reading_option(&s->in, id, value);
    }
}

/* --- what is compared ------------------------------------------------------------------ */

/* The parts of "a,b,c": commas inside quotes do not count. */
static size_t next_part(const char *text) {
    bool quoted = false;
    size_t n = 0;
    for (; text[n] && (quoted || text[n] != ','); n++) quoted ^= text[n] == '"';
    return n;
}

static unsigned count_parts(const char *text) {
    unsigned parts = 1;
    for (size_t n; text[n = next_part(text)]; text += n + 1) parts++;
    return parts;
}

/* The place of a column in --columns. */
static bool find_part(const char *columns, const char *name, size_t length, unsigned *place) {
    for (*place = 0;; ++*place) {
        size_t n = next_part(columns);
        if (n == length && !memcmp(columns, name, n)) return true;
        if (!columns[n]) return false;
        columns += n + 1;
    }
}

static int resolve_round(pairs_settings *s, const pairs_words *w) {
    for (const char *at = w->round; at && *at;) {
        size_t n = next_part(at), name = n;
        unsigned place;
        char *end;
        while (name && at[name] != '=') name--;
        if (!w->columns || !name || !find_part(w->columns, at, name, &place))
            return cli_error("--round '%.*s' names no column of --columns; write it as there, as "
                             "in price=5",
                             (int)n, at);
        double step = strtod(at + name + 1, &end);
        if (end != at + n || !(step > 0) || step > 1e300)
            return cli_error("--round '%.*s' has no step above 0", (int)n, at);
        s->rows.round[place] = step;
        at += n + (at[n] == ',');
    }
    return EXIT_DONE;
}

static int resolve_fields(pairs_settings *s, const pairs_words *w) {
    unsigned given = !!w->columns + !!w->text + !!w->set;
    bool table = s->in.in.format != STREAM_LINES && s->in.in.format != STREAM_FIXED &&
                 s->in.in.format != STREAM_LEN32;
    uint64_t values = TEXT_VALUES;
    if (given == 0) return EXIT_DONE; /* right for summaries */
    if (given > 1) return cli_error("--columns, --text and --set exclude each other");
    s->fields = w->columns ? w->columns : w->text ? w->text : w->set;
    bool whole = !w->columns && !strcmp(s->fields, ".");
    if (!whole && !table)
        return cli_error("--%s goes with --format csv, tsv or json; lines have no columns%s",
                         w->columns ? "columns"
                         : w->text  ? "text"
                                    : "set",
                         w->columns ? "" : ": write `.` for the whole line");
    whole &= s->in.in.format != STREAM_JSON; /* where `.` is a path, to all of the value */
    s->rows.parts = whole ? 0 : count_parts(s->fields);
    s->rows.json = s->in.in.format == STREAM_JSON;
    s->in.in.key = whole ? NULL : s->fields;
    unsigned parts = whole ? 0 : stream_key_parts(&s->in.in);
    if (parts && parts != s->rows.parts)
        return cli_error("ranges such as '%s' cannot be compared; name each column", s->fields);
    if (w->columns && !parts && strchr(s->fields, '-') &&
        strspn(s->fields, "0123456789-,") == strlen(s->fields))
        return cli_error("ranges such as '%s' cannot be compared; name each column", s->fields);
    if (w->columns && s->rows.parts > PAIRS_COLUMNS_MOST)
        return cli_error("%u columns are too many to compare; at most %d", s->rows.parts,
                         PAIRS_COLUMNS_MOST);
    if (w->text && s->rows.parts > 1)
        return cli_error("--text takes one field, not '%s'", s->fields);
    if (w->set && !w->values)
        return cli_error("--set needs --values N, the most items that a set has");
    if (w->values) {
        int code = value_number("--values", w->values, 1, PAIRS_COLUMNS_MOST, false, &values);
        if (code != EXIT_DONE) return code;
    }
    s->columns = w->columns ? s->rows.parts : (unsigned)values;
    uint64_t signatures = 1, most = PAIRS_COLUMNS_MOST / s->columns;
    if (w->text && !w->repeats && !s->outliers)
        signatures = most < TEXT_SIGNATURES ? most : TEXT_SIGNATURES;
    if (w->signatures) {
        int code = value_number("--signatures", w->signatures, 1, most, false, &signatures);
        if (code != EXIT_DONE) return code;
    }
    s->signatures = (unsigned)signatures;
    s->rows.points = s->distance > 0;
    s->rows.from = w->columns  ? WEIR_FROM_COLUMNS
                   : w->set    ? WEIR_FROM_SET
                   : w->cosine ? WEIR_FROM_COSINE
                               : WEIR_FROM_TEXT;
    return resolve_round(s, w);
}

static int resolve_threshold(pairs_settings *s, const pairs_words *w) {
    const char *wanted = w->jaccard ? w->jaccard : w->cosine;
    const char *flag = w->jaccard ? "--jaccard" : "--cosine";
    uint64_t threshold = (2 * (uint64_t)s->columns + 2) / 3;
    uint64_t group = s->rows.from == WEIR_FROM_COSINE ? 8 : 1;
    int code = EXIT_DONE;
    if (w->jaccard && w->cosine) return cli_error("--jaccard and --cosine exclude each other");
    if (wanted && !w->text) return cli_error("%s goes with --text", flag);
    if (wanted && w->threshold) return cli_error("%s chooses the threshold; leave out one", flag);
    if (wanted) {
        code = value_rate(flag, wanted, &s->similarity);
        if (code != EXIT_DONE) return code;
        weir_pairs_choose(s->rows.from == WEIR_FROM_COSINE, s->columns, s->similarity,
                          &s->threshold, &s->group);
        threshold = s->threshold;
        group = s->group;
    }
    if (w->threshold)
        code = value_number("--threshold", w->threshold, 0, PAIRS_COLUMNS_MOST, false, &threshold);
    s->with_none = w->threshold && threshold == 0;
    if (s->with_none) threshold = 1;
    if (code == EXIT_DONE && w->group)
        code = value_number("--group", w->group, 1, 64, false, &group);
    if (code == EXIT_DONE && s->columns && threshold > s->columns)
        code = cli_error("--threshold cannot be %llu; a record has %u values",
                         (unsigned long long)threshold, s->columns);
    s->threshold = (unsigned)threshold;
    s->group = (unsigned)group;
    return code;
}

static int shingle_of(const pairs_words *w, unsigned *count, const char **unit) {
    char *end;
    *count = 1;
    *unit = "words";
    if (!w->shingle) return EXIT_DONE;
    unsigned long n = strtoul(w->shingle, &end, 10);
    bool words = !strcmp(end, "w"), letters = !strcmp(end, "c");
    if (end == w->shingle || (!words && !letters) || n < 1 || n > 64)
        return cli_error("--shingle cannot be '%s'; write 3w for three words or 5c for five "
                         "characters, from 1 to 64",
                         w->shingle);
    *count = (unsigned)n;
    *unit = words ? "words" : "letters";
    return EXIT_DONE;
}

/* --- the spec ---------------------------------------------------------------------------- */

static int print_spec(char out[SPEC_SIZE], const pairs_settings *s, const pairs_words *w,
                      unsigned threshold) {
    static const char *const froms[] = {"columns", "set", "text", "cosine"};
    unsigned shingle;
    const char *unit;
    double sample = 0;
    char drawn[40] = "", witnesses[48] = "";
    weir_error err;
    int code = shingle_of(w, &shingle, &unit);
    if (code != EXIT_DONE) return code;
    if (w->sample && (weir_parse_rate(w->sample, &sample, &err) || !(sample > 0) || sample > 1))
        return cli_error("--sample cannot be '%s'; it is a share above 0 and at most 1", w->sample);
    if (w->sample) snprintf(drawn, sizeof drawn, ",sample=%.15g", sample);
    bool compares = s->exact || s->sampled || s->outliers || s->distance > 0;
    if (w->cosine && !compares)
        snprintf(witnesses, sizeof witnesses, ",witnesses=%d,angles=%d", COSINE_WITNESSES,
                 COSINE_ANGLES);
    int n = snprintf(out, SPEC_SIZE,
                     "pairs:columns=%u,threshold=%u%s,from=%s,shingle=%u,unit=%s,"
                     "group=%u,signatures=%u,seed=%llu%s%s%s%s%s%s%s%s",
                     s->columns, threshold, drawn, froms[s->rows.from], shingle, unit, s->group,
                     s->signatures ? s->signatures : 1, (unsigned long long)s->seed, witnesses,
                     w->is_online ? ",method=online" : "", w->online ? "," : "",
                     w->online ? w->online : "", w->repeats ? ",repeats=" : "",
                     w->repeats ? w->repeats : "", w->memory ? ",memory=" : "",
                     w->memory ? w->memory : "");
    return n < SPEC_SIZE ? EXIT_DONE : cli_error("the options are too long");
}

/* The part of the spec that the user gave. */
static void resolve_asked(pairs_settings *s, const pairs_words *w) {
    bool chosen = w->jaccard || w->cosine;
    const struct {
        bool given;
        const char *name;
    } all[] = {{s->columns, "columns"},
               {s->columns, "from"},
               {w->threshold || chosen, "threshold"},
               {w->group || chosen, "group"},
               {w->sample, "sample"},
               {w->shingle, "shingle"},
               {w->shingle, "unit"},
               {w->repeats, "repeats"},
               {w->signatures, "signatures"},
               {w->is_online, "method"},
               {w->online, "width"},
               {w->online, "depth"},
               {w->online, "counter"},
               {s->seeded, "seed"}};
    char value[64];
    size_t used = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].given && weir_spec_get(s->spec, all[i].name, value, sizeof value))
            used += (size_t)snprintf(s->asked + used, sizeof s->asked - used, "%s%s=%s",
                                     used ? "," : "pairs:", all[i].name, value);
}

/* Rows that are compared one by one need no super-values, which may be too many: a
 * summary of the highest threshold has one of them, and makes the same rows. */
static int resolve_spec(pairs_settings *s, const pairs_words *w) {
    weir_pairs *probe; /* says now what is wrong, before anything is read */
    weir_error err;
    if (!s->seeded && getrandom(&s->seed, sizeof s->seed, 0) != sizeof s->seed)
        return cli_error("the system gives no random seed; set --seed");
    bool compares = s->exact || s->outliers || s->distance > 0;
    int code = print_spec(s->spec, s, w, s->threshold);
    if (code == EXIT_DONE) code = print_spec(s->maker, s, w, compares ? s->columns : s->threshold);
    resolve_asked(s, w);
    if (code != EXIT_DONE || !s->columns) return code;
    if (weir_pairs_new(&probe, s->maker, &err) != WEIR_OK) {
        spec_name_flag(&err, NULL);
        return cli_error("%s", err.message);
    }
    weir_pairs_free(probe);
    return EXIT_DONE;
}

static bool are_summaries(const pairs_settings *s) {
    for (size_t i = 0; i < s->in.file_count; i++)
        if (!pairs_is_summary(s->in.files[i])) return false;
    return true;
}

static unsigned mode_of(const pairs_settings *s, const pairs_words *w) {
    unsigned of = (w->columns ? OF_COLUMNS : 0) | (w->text ? OF_TEXT : 0) | (w->set ? OF_SET : 0);
    unsigned mode = of ? of : OF_NOTHING;
    if (s->question == ASK_JOIN) mode |= IN_JOIN;
    if (s->question == ASK_SEARCH) mode |= IN_SEARCH;
    else if (are_summaries(s)) mode |= OF_SUMMARIES;
    if (w->is_online) mode |= BY_ONLINE;
    if (s->exact) mode |= BY_EXACT;
    if (s->distance > 0) mode |= BY_DISTANCE;
    if (s->distance > 0 || s->outliers) mode |= BY_NEIGHBOURS;
    return mode;
}

static int check_together(const pairs_settings *s, const pairs_words *w) {
    if (w->online && !strchr(w->online, '='))
        return cli_error("--online takes width=W,depth=D or error=RATE, such as "
                         "--online=error=1%%, not '%s'",
                         w->online);
    if (s->csv && !s->list) return cli_error("--csv goes with --list");
    if (s->csv && s->json) return cli_error("give --json or --csv, not both");
    if (s->outliers && s->with_none)
        return cli_error("--outliers needs a --threshold above 0, or every record is near");
    if (s->confidence > 0 && !(s->error > 0)) return cli_error("--confidence goes with --error");
    if (s->error > 0 && (w->sample || w->repeats || w->signatures || s->exact || s->sampled))
        return cli_error("--error chooses --sample and --repeats; leave out one");
    if (s->error > 0 && w->text)
        return cli_error("--error goes with --columns and --set; of texts it would leave out the "
                         "choice of hashes, which --signatures covers");
    if (s->error > 0 && (s->question == ASK_SEARCH || are_summaries(s)))
        return cli_error("--error goes with records that are still to be read");
    if (s->sampled && (s->exact || w->is_online || s->list || s->save))
        return cli_error("--method sample keeps a sample alone; leave out --exact, --online, "
                         "--list and --save");
    return EXIT_DONE;
}

static int resolve_question(pairs_settings *s, int operands, char **argv) {
    int index;
    if (!operands)
        return cli_error(
            "a question is missing: give `self FILE`, `join A B` or `search SUMMARY RECORD`");
    if (!opt_is_choice(argv[0], QUESTIONS, &index))
        return opt_complain("question", argv[0], QUESTIONS);
    s->question = (pairs_question)index;
    int code = reading_resolve(&s->in, operands - 1, argv + 1);
    if (code != EXIT_DONE) return code;
    if (s->question == ASK_JOIN && operands != 3) return cli_error("join takes two files");
    if (s->question == ASK_SEARCH && operands < 3)
        return cli_error("search takes a summary and the records to look for");
    return EXIT_DONE;
}

static int run_pairs(int argc, char **argv) {
    opt_parser parser;
    request r = {.s = {.in = reading_defaults(), .rows = {.split = PAIRS_SPLIT}}};
    pairs_settings *s = &r.s;
    int code;
    s->in.on_missing = STREAM_DROP;
    opt_init(&parser, &cmd_pairs, argc, argv);
    if (!opt_read(&parser, targets, &r, set_option, &code)) return code;
    code = resolve_question(s, parser.operands, argv);
    if (code == EXIT_DONE) code = check_effects(parser.given, mode_of(s, &r.w));
    if (code == EXIT_DONE) code = resolve_fields(s, &r.w);
    if (code == EXIT_DONE) code = resolve_threshold(s, &r.w);
    if (code == EXIT_DONE) code = check_together(s, &r.w);
    if (code == EXIT_DONE) code = resolve_spec(s, &r.w);
    return code == EXIT_DONE ? pairs_run(s) : code;
}

/* --- the manual ------------------------------------------------------------------------- */

static const opt_section pairs_sections[] = {
    {"EXAMPLES",
     "How dirty is this table? Pairs of rows that share three or more of four columns:\n"
     "\n"
     "    weir pairs self --format csv --header --columns name,street,city,phone -s 3 people.csv\n"
     "\n"
     "The same, and ten of them to look at:\n"
     "\n"
     "    weir pairs self --format csv --header -c name,street,city,phone -s 3 --list 10 "
     "people.csv\n"
     "\n"
     "Near copies among the lines of a file, by their words:\n"
     "\n"
     "    weir pairs self --text . --jaccard 0.8 titles.txt\n"
     "\n"
     "How many customers are like nobody else: fewer than two others agree in three of four?\n"
     "\n"
     "    weir pairs self --outliers 2 --format csv --header -c name,street,city,phone -s 3 "
     "people.csv\n"
     "\n"
     "How far are these points apart, and which share of pairs is within 1.5?\n"
     "\n"
     "    weir pairs self --distance 1.5 --format csv --header -c x,y,z points.csv\n"
     "\n"
     "How large would this join be?\n"
     "\n"
     "    weir pairs join --format csv --header -c title,venue,year -s 2 a.csv b.csv\n"
     "\n"
     "Keep a summary, and ask it how many records are like this one:\n"
     "\n"
     "    weir pairs self --format csv --header -c name,city,phone -s 2 --save p.weir people.csv\n"
     "    weir pairs search p.weir 'Ann Smith,Leeds,0113 496 0000'\n"
     "\n"
     "How many of tomorrow's records are in it already?\n"
     "\n"
     "    weir pairs join p.weir tomorrow.csv\n"
     "\n"
     "A stream that is too long to keep:\n"
     "\n"
     "    zcat crawl.gz | weir pairs self --text . --shingle 3w --online -"},
    {"SEARCH",
     "A RECORD is written as the summary's records were: for csv and tsv a row of the compared "
     "columns, in their order and no others; for json an object; for lines the line. `-` alone "
     "reads the "
     "records from standard input, one a line."},
    {"WHAT IS COUNTED",
     "A pair is two different records, in no order. For each k from the threshold up, the report "
     "has the number of pairs that agree in exactly k values, an interval that holds the truth in "
     "about 95 of 100 runs (a single number if there is no error), and the share of all pairs. The "
     "estimates are unbiased: the mean over "
     "many runs is the truth. Each number of a run may be off by its interval, and where nearly "
     "nothing is to be found an estimate may fall below 0 and is then shown as 0."},
    {"WHEN NOT TO TRUST IT",
     "With all super-values (`--sample 1`, the default where a record has at most 64) and without "
     "`--online` the answer has no error. Else it grows fast with the number of columns. By the "
     "thesis, which takes pairs as independent, the deviation is at most C(d,s) times the root of "
     "C(2(d-s), d-s) and of the number of similar pairs, over the root of the sample: a factor of "
     "7 for 4 of 5, of 110 for 8 of 10, of 40,536 for 16 of 20. Where records come in large groups "
     "it can be more; the interval is measured and knows them. Up to ten columns are good; compare "
     "fewer, raise the threshold, or use `--exact`.\n"
     "\n"
     "With `--online` the sketch adds an error in proportion to all super-values, whether similar "
     "or not: with fewer similar pairs than records it drowns the answer. The interval says so.\n"
     "\n"
     "For texts the values agree by chance, so the threshold is a slope and not a step; the report "
     "has its curve. The interval is that of values that agree; which pairs these are depends on "
     "the "
     "hashes, that is on `--seed`."},
    {"JSON",
     "= version, summary, method\nthe version of weir, the spec of the summary, and `offline`, "
     "`online` or `exact`\n\n"
     "= records, dropped, pairs, ordered\nrecords of both sides, records left out, all pairs, and "
     "whether they are counted in order\n\n"
     "= columns, threshold, values\nvalues of a record, how many must agree, super-values drawn\n\n"
     "= counts\nfor each number of agreeing values `agree`: `pairs` (unbiased, may be negative), "
     "`deviation`, `low`, `high`\n\n"
     "= similar, deviation, bound, low, high, share\nthe sum, its standard deviation, the bound on "
     "that from the thesis, its interval and its share of all pairs\n\n"
     "= memory, disk, seconds\nbytes held, bytes in temporary files, time\n\n"
     "= examples\nwith `--list`: `agree`, `records` (their numbers in `files`, from 1; a header "
     "and "
     "what is left out count), `files`, `text`\n\n"
     "= found\nwith `--list`: how many similar pairs were found for it, the ones that are not "
     "shown included"},
    {"JSON OF NEIGHBOURS",
     "= version, method, records, compared, dropped, pairs\nwith `--outliers` or `--distance`: the "
     "method is `neighbours`; `compared` records were compared with all\n\n"
     "= near\n`limit` (the threshold or the distance), `pairs`, `low`, `high`\n\n"
     "= outliers\nwith `--outliers`: `fewer`, `records`, `low`, `high`\n\n"
     "= distribution\nlike `near` for each row of the report: pairs that agree in `limit` values "
     "or more, or are within `limit`\n\n"
     "= seconds\ntime"},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 2\nTrouble: one line on standard error says what.\n\n"
                    "= 130, 143, 129\nStopped by SIGINT, SIGTERM or SIGHUP."},
    {0},
};

const opt_command cmd_pairs = {
    .name = "pairs",
    .operands = "self FILE... | join A B | search SUMMARY RECORD...",
    .actions = QUESTIONS,
    .operand_glob = "*",
    .summary = "estimate how many records are nearly the same, without comparing them",
    .description =
        "Estimates in one pass how many pairs of records agree in most of their values: within a "
        "file (`self`), between two (`join`), or with one record (`search`). Every record draws "
        "some of the subsets of its columns; records that drew the same values betray that they "
        "are alike, and from how many do the number of similar pairs follows. Nothing is compared "
        "with anything, so a million records take a second or two.\n"
        "\n"
        "Useful before paying for the real thing: is this table clean, will this join explode, how "
        "many near-copies are in this crawl.\n"
        "\n"
        "An option that has no effect on what is asked is refused.",
    .options = pairs_table,
    .sections = pairs_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-inspect(1)`",
    .run = run_pairs,
};
