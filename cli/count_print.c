/* count_print.c - answers as tables for people, JSON and CSV for machines, and bars.
 *
 * Keys are bytes of somebody's choosing. For people a key that is printable UTF-8 is
 * shown as it is, any other with its unprintable bytes as \n, \t or \xHH. In JSON a key that
 * is no UTF-8 has its bad bytes replaced and its bytes beside it in hexadecimal; in CSV
 * keys are byte for byte, in quotes where need be.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"
#include "count.h"
#include "json_out.h"
#include "plain_text.h"
#include "plot.h"
#include "values.h"

static const char *const names[ANSWERS] = {"top",   "above",  "query",   "distinct", "self_join",
                                           "join",  "common", "range",   "quantile", "sample",
                                           "where", "skew",   "spectrum"};

static bool is_list(answer_kind kind) { return kind == ANSWER_TOP || kind == ANSWER_ABOVE; }

static bool has_share(answer_kind kind) {
    return is_list(kind) || kind == ANSWER_QUERY || kind == ANSWER_RANGE;
}

static double share_of(const count_report *r, const count_row *row) {
    return r->total > 0 ? row->value / r->total : 0;
}

/* Keys that are picked from JSON are values; they are printed as such. */
static bool is_value(const count_report *r, answer_kind kind, const count_row *row) {
    bool picked = r->settings->from.in.format == STREAM_JSON && r->settings->from.in.key;
    bool of_records = is_list(kind) || kind == ANSWER_QUERY || kind == ANSWER_SAMPLE;
    return picked && of_records && !row->cut && plain_text_is_utf8(row->key, row->length) &&
           stream_reads_as_json(row->key, row->length);
}

void count_show_key(const char *key, size_t length, bool cut) {
    plain_text_show(stdout, key, length);
    if (cut) fputs("...", stdout);
}

/* --- for people ------------------------------------------------------------------------------ */

static double part_of(const count_row *row, row_part part) {
    const double parts[ROW_PARTS] = {row->value, row->low, row->high, row->truth};
    return parts[part];
}

/* Digits, of which `whole` are before the point, with commas. */
static void put_commas(char buffer[48], const char *digits, int whole, bool negative) {
    if (negative) *buffer++ = '-';
    for (int i = 0; digits[i]; i++) {
        if (i && i < whole && (whole - i) % 3 == 0) *buffer++ = ',';
        *buffer++ = digits[i];
    }
    *buffer = 0;
}

/* Whole numbers with commas; what the stream has in fractions with two digits. */
static const char *number(char buffer[48], const count_report *r, double value) {
    bool fractions = r->settings->from.in.number_field || r->settings->decay;
    char digits[40];
    if (!isfinite(value) || fabs(value) >= 1e18) {
        snprintf(buffer, 48, "%.6g", value);
        return buffer;
    }
    fractions = fractions && value != floor(value);
    int length = snprintf(digits, sizeof digits, "%.*f", fractions ? 2 : 0, fabs(value));
    bool negative = value < 0 && strspn(digits, "0.") < (size_t)length;
    put_commas(buffer, digits, fractions ? length - 3 : length, negative);
    return buffer;
}

/* The shortest text that reads back as the same number. */
static const char *shortest(char buffer[48], double value) {
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, 48, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    return buffer;
}

static const char *shown(char buffer[48], const count_report *r, const count_row *row,
                         row_part part) {
    char digits[40];
    int64_t key = row->keys[part];
    if (row->is_decimal) return shortest(buffer, part_of(row, part));
    if (!row->is_key) return number(buffer, r, part_of(row, part));
    int length = snprintf(digits, sizeof digits, "%llu",
                          key < 0 ? 0 - (unsigned long long)key : (unsigned long long)key);
    put_commas(buffer, digits, length, key < 0);
    return buffer;
}

static void show_error(const count_report *r, const count_row *row) {
    char text[48];
    double off = row->value - row->truth;
    printf("  %13s", number(text, r, row->truth));
    if (row->truth != 0) printf("  %+8.2f%%", 100 * off / fabs(row->truth));
    else printf("  %9s", number(text, r, off));
}

static void list_rows(const count_report *r, const count_answer *answer) {
    char a[48], b[48], c[48];
    bool truth = answer->count && !isnan(answer->rows[0].truth);
    printf("%13s %13s %13s  %7s%s  key\n", "count", "at least", "at most", "share",
           truth ? "           true      error" : "");
    for (size_t i = 0; i < answer->count; i++) {
        const count_row *row = &answer->rows[i];
        printf("%13s %13s %13s  %6.2f%%", number(a, r, row->value), number(b, r, row->low),
               number(c, r, row->high), 100 * share_of(r, row));
        if (truth) show_error(r, row);
        fputs("  ", stdout);
        count_show_key(row->key, row->length, row->cut);
        putchar('\n');
    }
}

/* Advice for a list in which no key stands out: closer bounds, or more keys if bounds are close. */
static const char *advice(answer_kind kind, const count_answer *answer) {
    const count_row *last = answer->count ? &answer->rows[answer->count - 1] : NULL;
    if (kind == ANSWER_ABOVE || (last && last->high - last->low >= 1))
        return "more --memory would tell";
    return "a longer --top would tell";
}

/* The most that any key came by: one that is not listed, or, where the list is not shown, any. */
static double most_of(const count_answer *answer, bool any) {
    double most = answer->floor;
    for (size_t i = 0; any && i < answer->count; i++) most = fmax(most, answer->rows[i].high);
    return most;
}

/* No row has any error. */
static bool is_exact(const count_answer *answer) {
    for (size_t i = 0; i < answer->count; i++)
        if (answer->rows[i].low != answer->rows[i].high) return false;
    return true;
}

static void list_text(const count_report *r, answer_kind kind) {
    const count_answer *answer = &r->answers[kind];
    char text[48], share[32];
    if (kind == ANSWER_ABOVE)
        printf("\nkeys above %s of %s\n", weir_print_rate(share, r->settings->above),
               number(text, r, r->total));
    else putchar('\n');
    bool flat = kind != ANSWER_QUERY && answer->count && answer->flat;
    if (!flat || is_exact(answer)) list_rows(r, answer);
    if (kind == ANSWER_QUERY) return;
    if (flat) printf("nothing stands out: no key is known to come more often than all others\n");
    if (answer->floor > 0)
        printf("no %skey came by more than %s times%s%s\n",
               flat && !is_exact(answer) ? "" : "other ",
               number(text, r, most_of(answer, flat && !is_exact(answer))),
               answer->complete ? "" : "; the list may lack some: ",
               answer->complete ? "" : advice(kind, answer));
    if (r->settings->exact)
        printf("%zu of the %zu that are truly %s are in the list\n", answer->found,
               answer->expected, kind == ANSWER_TOP ? "the most frequent" : "above that");
}

static void value_text(const count_report *r, const char *label, const count_row *row) {
    char a[48], b[48], c[48];
    printf("%-18s %15s", label, shown(a, r, row, ROW_VALUE));
    if (row->is_key ? row->keys[ROW_LOW] != row->keys[ROW_HIGH] : row->low != row->high)
        printf("   from %s to %s", shown(b, r, row, ROW_LOW), shown(c, r, row, ROW_HIGH));
    if (!isnan(row->truth)) {
        printf("   true %s", shown(a, r, row, ROW_TRUTH));
        if (row->truth != 0)
            printf(" (%+.2f%%)", 100 * (row->value - row->truth) / fabs(row->truth));
    }
    putchar('\n');
}

/* How uneven: the exponent of a power law of as many keys and as many equal pairs. */
static void skew_text(const count_row *row) {
    const char *word = row->value < 0.3   ? "nearly even"
                       : row->value < 0.8 ? "somewhat uneven"
                       : row->value < 1.3 ? "uneven: a few keys make much of it"
                                          : "very uneven: a few keys make most of it";
    printf("%-18s %15.2f   %s\n", "skew", row->value, word);
}

static void spectrum_text(const count_report *r, const count_answer *answer) {
    char a[48], b[48], c[48];
    printf("\n%13s %13s %13s  came so often\n", "keys", "at least", "at most");
    for (size_t i = 0; i < answer->count; i++) {
        const count_row *row = &answer->rows[i];
        printf("%13s %13s %13s  %s\n", number(a, r, row->value), number(b, r, row->low),
               number(c, r, row->high), row->key);
    }
}

static void values_text(const count_report *r, answer_kind kind) {
    static const char *const labels[ANSWERS] = {[ANSWER_DISTINCT] = "different keys",
                                                [ANSWER_SELF_JOIN] = "self-join size",
                                                [ANSWER_JOIN] = "join size",
                                                [ANSWER_COMMON] = "keys in both",
                                                [ANSWER_RANGE] = "from ",
                                                [ANSWER_QUANTILE] = "quantile ",
                                                [ANSWER_WHERE] = "of these, fit",
                                                [ANSWER_SKEW] = "skew"};
    const count_answer *answer = &r->answers[kind];
    for (size_t i = 0; i < answer->count; i++) {
        char label[128];
        snprintf(label, sizeof label, "%s%s", labels[kind], answer->rows[i].key);
        if (kind == ANSWER_SKEW) skew_text(&answer->rows[i]);
        else value_text(r, label, &answer->rows[i]);
    }
}

static void sample_text(const count_answer *answer) {
    printf("\na sample of %zu records\n", answer->count);
    for (size_t i = 0; i < answer->count; i++) {
        fputs("  ", stdout);
        count_show_key(answer->rows[i].key, answer->rows[i].length, answer->rows[i].cut);
        putchar('\n');
    }
}

/* A window holds whole parts, the oldest of which may reach back too far: what is counted is
 * said. */
static void window_text(const count_report *r) {
    const count_settings *s = r->settings;
    char a[48];
    if (!s->window) return;
    printf("%-18s %15s", "window", s->window);
    if (value_is_duration(s->window)) printf("   and up to a sixteenth of it more is counted\n");
    else if (s->from.in.number_field) printf("   records and up to a sixteenth more are counted\n");
    else printf("   the last %s records are counted\n", number(a, r, r->total));
}

static void heading(const count_report *r) {
    char a[48], b[48];
    if (r->grouped) {
        fputs("\n== ", stdout);
        if (r->group) count_show_key(r->group, r->group_length, false);
        else fputs("(all other groups)", stdout);
        printf("   %s\n", number(a, r, r->total));
        return;
    }
    printf("%-18s %15s", "records", number(a, r, (double)r->totals.records));
    if (r->total != (double)r->totals.records) printf("   %s in all", number(b, r, r->total));
    uint64_t keyless = r->totals.missing - r->totals.unweighted;
    if (keyless) printf("   %s without key", number(b, r, (double)keyless));
    if (r->totals.unweighted)
        printf("   %s without weight", number(b, r, (double)r->totals.unweighted));
    if (r->totals.bad) printf("   %s malformed", number(b, r, (double)r->totals.bad));
    putchar('\n');
    window_text(r);
}

static void print_text(const count_report *r) {
    heading(r);
    for (int k = ANSWER_DISTINCT; k <= ANSWER_QUANTILE; k++)
        if (r->answers[k].asked) values_text(r, (answer_kind)k);
    for (int k = ANSWER_WHERE; k <= ANSWER_SKEW; k++)
        if (r->answers[k].asked) values_text(r, (answer_kind)k);
    if (r->answers[ANSWER_SPECTRUM].asked) spectrum_text(r, &r->answers[ANSWER_SPECTRUM]);
    for (int k = ANSWER_TOP; k <= ANSWER_QUERY; k++)
        if (r->answers[k].asked) list_text(r, (answer_kind)k);
    if (r->answers[ANSWER_SAMPLE].asked) sample_text(&r->answers[ANSWER_SAMPLE]);
}

/* --- for machines ---------------------------------------------------------------------------- */

/* As machines read it. */
static const char *plain(char buffer[48], const count_row *row, row_part part) {
    double value = part_of(row, part);
    if (row->is_key) snprintf(buffer, 48, "%lld", (long long)row->keys[part]);
    else if (row->is_decimal && isfinite(value)) shortest(buffer, value);
    else if (isfinite(value)) snprintf(buffer, 48, "%.15g", value);
    else snprintf(buffer, 48, "null");
    return buffer;
}

/* Fifteen digits: sums of weights are shown as they are. */
static void json_sum(json_out *j, const char *name, double value) {
    if (isfinite(value)) json_print(j, name, "%.15g", value);
    else json_null(j, name);
}

static void json_row(json_out *j, const char *name, const count_report *r, answer_kind kind,
                     const count_row *row) {
    bool keyed = has_share(kind) || kind == ANSWER_QUANTILE || kind == ANSWER_SAMPLE ||
                 kind == ANSWER_SPECTRUM;
    char text[48];
    json_open(j, name, '{');
    if (keyed && is_value(r, kind, row)) json_print(j, "key", "%.*s", (int)row->length, row->key);
    else if (keyed) json_key(j, "key", row->key, row->length);
    if (row->cut) json_flag(j, "cut", true);
    if (kind != ANSWER_SAMPLE) {
        json_print(j, has_share(kind) ? "count" : "value", "%s", plain(text, row, ROW_VALUE));
        json_print(j, "low", "%s", plain(text, row, ROW_LOW));
        json_print(j, "high", "%s", plain(text, row, ROW_HIGH));
        if (has_share(kind)) json_sum(j, "share", share_of(r, row));
        if (!isnan(row->truth)) json_print(j, "true", "%s", plain(text, row, ROW_TRUTH));
    }
    json_close(j, '}');
}

static void json_rows(json_out *j, const char *name, const count_report *r, answer_kind kind) {
    const count_answer *answer = &r->answers[kind];
    json_open(j, name, '[');
    for (size_t i = 0; i < answer->count; i++) json_row(j, NULL, r, kind, &answer->rows[i]);
    json_close(j, ']');
}

static void json_answer(json_out *j, const count_report *r, answer_kind kind) {
    const count_answer *answer = &r->answers[kind];
    if (is_list(kind)) {
        json_open(j, names[kind], '{');
        json_flag(j, "complete", answer->complete);
        json_sum(j, "floor", answer->floor);
        json_flag(j, "flat", answer->flat);
        if (r->settings->exact) json_count(j, "expected", answer->expected);
        if (r->settings->exact) json_count(j, "found", answer->found);
        json_rows(j, "keys", r, kind);
        json_close(j, '}');
    } else if ((kind >= ANSWER_DISTINCT && kind <= ANSWER_COMMON) || kind == ANSWER_WHERE ||
               kind == ANSWER_SKEW) {
        json_row(j, names[kind], r, kind, &answer->rows[0]);
    } else {
        json_rows(j, names[kind], r, kind);
    }
}

static void print_json(const count_report *r) {
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    if (r->grouped && r->group) json_key(&j, "group", r->group, r->group_length);
    if (r->grouped && !r->group) json_null(&j, "group");
    if (!r->grouped) {
        json_count(&j, "records", r->totals.records);
        json_count(&j, "missing", r->totals.missing);
        json_count(&j, "unweighted", r->totals.unweighted);
        json_count(&j, "bad", r->totals.bad);
    }
    json_sum(&j, "total", r->total);
    if (r->settings->window) json_text(&j, "window", r->settings->window);
    json_count(&j, "memory", r->memory);
    for (int k = 0; k < ANSWERS; k++)
        if (r->answers[k].asked) json_answer(&j, r, (answer_kind)k);
    json_close(&j, '}');
    putchar('\n');
}

static void csv_row(const count_report *r, answer_kind kind, const count_row *row) {
    char a[48], b[48], c[48];
    if (r->running) printf("%llu,", (unsigned long long)r->totals.records);
    if (r->grouped) {
        plain_text_csv(stdout, r->group ? r->group : "", r->group_length);
        putchar(',');
    }
    printf("%s,", names[kind]);
    plain_text_csv(stdout, row->key, row->length);
    if (kind == ANSWER_SAMPLE) {
        printf(",,,,,,%s\n", row->cut ? "cut" : "");
        return;
    }
    printf(",%s,%s,%s,", plain(a, row, ROW_VALUE), plain(b, row, ROW_LOW), plain(c, row, ROW_HIGH));
    if (has_share(kind)) printf("%.9g", share_of(r, row));
    putchar(',');
    if (!isnan(row->truth)) fputs(plain(a, row, ROW_TRUTH), stdout);
    printf(",%s\n", row->cut ? "cut" : "");
}

static void print_csv(const count_report *r, bool first) {
    if (first)
        printf("%s%sanswer,key,value,low,high,share,true,cut\n", r->running ? "records," : "",
               r->grouped ? "group," : "");
    for (int k = 0; k < ANSWERS; k++)
        for (size_t i = 0; i < r->answers[k].count; i++)
            csv_row(r, (answer_kind)k, &r->answers[k].rows[i]);
}

/* --- bars ---------------------------------------------------------------------------------------
 */

enum { BARS_MOST = 40 };     /* keys of a list that --plot draws */
enum { LABEL_COLUMNS = 12 }; /* characters of a label beside a bar */
enum { LABEL_HEAD = 4 };     /* of them for the beginning of a key that is longer */
enum { LABEL_TAIL = 5 };     /* and for its end; three dots stand between */
enum { LABEL_BYTES = 31 };   /* of a label: what plot_text has room for */

static const count_row *plotted; /* the rows whose keys are the labels: plot_text has no context */

/* Bytes of the first `count` characters of a key. */
static size_t head_of(const count_row *row, size_t count) {
    size_t at = 0;
    for (; at < row->length && count; count--) {
        size_t n = plain_text_character((const unsigned char *)row->key + at, row->length - at);
        at += n ? n : 1;
    }
    return at;
}

/* Where the last `count` characters of a key begin. */
static size_t tail_of(const count_row *row, size_t count) {
    size_t at = row->length;
    for (; at && count; count--)
        for (at--; at && ((unsigned char)row->key[at] & 0xc0) == 0x80;) at--;
    return at;
}

/* Append a part of a key: what cannot be shown is a question mark, what has no room is left out. */
static size_t put_label(char *buffer, size_t used, const count_row *row, size_t from, size_t to,
                        size_t room) {
    for (size_t i = from; i < to;) {
        const unsigned char *p = (const unsigned char *)row->key + i;
        size_t n = plain_text_character(p, row->length - i), taken = n ? n : 1;
        bool shown = n && !plain_text_is_control(p, n);
        size_t bytes = shown ? n : 1;
        if (used + bytes > room) break;
        memcpy(buffer + used, shown ? (const void *)p : "?", bytes);
        used += bytes;
        i += taken;
    }
    return used;
}

/* A key, or the beginning and the end of one that is longer than a label; of one that was cut the
 * end is not known. */
static char *bar_label(char *buffer, double place) {
    const count_row *row = &plotted[(size_t)place];
    size_t whole = head_of(row, LABEL_COLUMNS), used;
    if (whole == row->length && !row->cut && whole <= LABEL_BYTES) {
        used = put_label(buffer, 0, row, 0, whole, LABEL_BYTES);
    } else {
        size_t head = row->cut ? LABEL_COLUMNS - 3 : LABEL_HEAD;
        size_t tail = row->cut ? row->length : tail_of(row, LABEL_TAIL);
        used = put_label(buffer, 0, row, 0, head_of(row, head), LABEL_BYTES / 2 - 1);
        memcpy(buffer + used, "...", 3);
        used = put_label(buffer, used + 3, row, tail, row->length, LABEL_BYTES);
    }
    buffer[used] = 0;
    return buffer;
}

static int terminal_width(void) {
    struct winsize w;
    if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col >= 40) return w.ws_col;
    return 80;
}

static int print_plot(const count_report *r) {
    const count_settings *s = r->settings;
    const count_answer *answer = &r->answers[s->top         ? ANSWER_TOP
                                             : s->above > 0 ? ANSWER_ABOVE
                                                            : ANSWER_QUERY];
    double x[BARS_MOST], y[BARS_MOST], truth[BARS_MOST];
    size_t n = answer->count < BARS_MOST ? answer->count : BARS_MOST;
    for (size_t i = 0; i < n; i++) {
        x[i] = (double)i;
        y[i] = fmax(answer->rows[i].value, 0);
        truth[i] = answer->rows[i].truth;
    }
    const plot_series series[] = {{"estimate", y}, {"true", truth}};
    const plot p = {.title = "how often",
                    .x_name = "key",
                    .y_name = "count",
                    .bars = true,
                    .points = n,
                    .x = x,
                    .x_text = bar_label,
                    .y_text = plot_count,
                    .series = series,
                    .series_count = s->exact ? 2 : 1};
    if (!n) return EXIT_DONE;
    plotted = answer->rows;
    if (s->plot_file) return plot_svg(s->plot_file, &p);
    putchar('\n');
    plot_terminal(stdout, &p, terminal_width(), 0);
    return EXIT_DONE;
}

int count_print(const count_report *r, bool first) {
    if (r->settings->form == FORM_TEXT) print_text(r);
    if (r->settings->form == FORM_JSON) print_json(r);
    if (r->settings->form == FORM_CSV) print_csv(r, first);
    return r->settings->plot ? print_plot(r) : EXIT_DONE;
}
