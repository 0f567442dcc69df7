/* units.c - sizes, counts, rates and durations, as people write them.
 *
 *   size      64M, 1.5G, 512, 64MiB      K M G T are powers of 1024
 *   count     10M, 2.5k, 1000            k M G are powers of 1000
 *   rate      1%, 0.0001%, 0.01, 1e-6    from 0 to 1
 *   seed      7, 0x1f, 10M               any 64 bits
 *   duration  30s, 1m30s, 250ms, 1.5h    d h m s ms us ns
 *   integer   -7, +5, 0042               64 bits with sign; keys of ranges and quantiles
 *   decimal   -0.5, 1e3, 12              keys of quantiles
 *
 * A parser reads the whole text or fails and points at the first byte that it
 * could not use. The printers give the shortest text that a person would
 * write; whole multiples of a unit parse back to the same value.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "weir_text.h"

typedef struct {
    const char *name;
    double factor;
} unit;

static const unit size_units[] = {{"T", 0x1p40}, {"G", 0x1p30}, {"M", 0x1p20}, {"K", 0x1p10}};
static const unit count_units[] = {{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"K", 1e3}};
static const unit duration_units[] = {{"d", 86400e9}, {"h", 3600e9}, {"m", 60e9}, {"s", 1e9},
                                      {"ms", 1e6},    {"us", 1e3},   {"ns", 1}};
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static weir_status unusable(weir_error *err, const char *text, const char *at, const char *what) {
    return weir__fail(err, WEIR_ERR_RANGE, at - text, "'%s' is not a %s", text, what);
}

/* A plain decimal number at *at, which moves behind it. No sign, no infinity,
 * no hexadecimal: those that strtod() would take and a person would not mean. */
static bool read_number(const char **at, double *number) {
    if (!isdigit((unsigned char)**at) && **at != '.') return false;
    if (**at == '0' && ((*at)[1] == 'x' || (*at)[1] == 'X')) return false;
    char *end;
    *number = strtod(*at, &end);
    if (end == *at || !isfinite(*number)) return false;
    *at = end;
    return true;
}

/* The factor of a one-letter unit at *at (1 if there is none). */
static double read_factor(const char **at, const unit *units, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (toupper((unsigned char)**at) == units[i].name[0]) {
            (*at)++;
            return units[i].factor;
        }
    return 1;
}

static weir_status whole_number(const char *text, double value, const char *what, uint64_t *out,
                                weir_error *err) {
    if (value >= 0x1p64)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "'%s' is too large for a %s", text, what);
    if (value != floor(value))
        return weir__fail(err, WEIR_ERR_RANGE, 0, "'%s' is not a whole number", text);
    *out = (uint64_t)value;
    return WEIR_OK;
}

/* Digits alone are read exactly; a double would round above 2^53. */
static bool only_digits(const char *text, uint64_t *value) {
    if (!*text || text[strspn(text, "0123456789")]) return false;
    errno = 0;
    *value = strtoull(text, NULL, 10);
    return errno == 0;
}

weir_status weir_parse_size(const char *text, uint64_t *bytes, weir_error *err) {
    const char *at = text;
    double number;
    if (only_digits(text, bytes)) return WEIR_OK;
    if (!read_number(&at, &number)) return unusable(err, text, at, "size such as 64M or 1.5G");
    number *= read_factor(&at, size_units, LENGTH(size_units));
    if (at[0] == 'i' && at[1] == 'B') at += 2;
    else if (at[0] == 'B') at++;
    if (*at) return unusable(err, text, at, "size such as 64M or 1.5G");
    return whole_number(text, floor(number), "size", bytes, err);
}

weir_status weir_parse_count(const char *text, uint64_t *count, weir_error *err) {
    const char *at = text;
    double number;
    if (only_digits(text, count)) return WEIR_OK;
    if (!read_number(&at, &number)) return unusable(err, text, at, "count such as 1000 or 10M");
    number *= read_factor(&at, count_units, LENGTH(count_units));
    if (*at) return unusable(err, text, at, "count such as 1000 or 10M");
    return whole_number(text, nearbyint(number * 1e6) / 1e6, "count", count, err);
}

weir_status weir_parse_seed(const char *text, uint64_t *seed, weir_error *err) {
    char *end;
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    if (!hexadecimal && weir_parse_count(text, seed, NULL) == WEIR_OK) return WEIR_OK;
    errno = 0;
    if (hexadecimal) *seed = strtoull(text + 2, &end, 16);
    if (hexadecimal && isxdigit((unsigned char)text[2]) && !*end && !errno) return WEIR_OK;
    return weir__fail(err, WEIR_ERR_RANGE, 0, "'%.40s' is not a number from 0 to 2^64-1", text);
}

weir_status weir_parse_rate(const char *text, double *rate, weir_error *err) {
    const char *at = text;
    double number;
    if (!read_number(&at, &number)) return unusable(err, text, at, "rate such as 1% or 0.01");
    if (*at == '%') {
        number /= 100;
        at++;
    }
    if (*at) return unusable(err, text, at, "rate such as 1% or 0.01");
    *rate = number;
    return WEIR_OK;
}

/* Keys: bytes with a length, blanks at both ends left aside. */
static const char *trim(const void *text, size_t *length) {
    const char *at = text;
    while (*length && (at[*length - 1] == ' ' || at[*length - 1] == '\r')) --*length;
    while (*length && *at == ' ') at++, --*length;
    return at;
}

static weir_status not_a_key(weir_error *err, const char *text, size_t length, const char *what) {
    return weir__fail(err, WEIR_ERR_RANGE, 0, "the key '%.*s' is %s",
                      (int)(length < 60 ? length : 60), length ? text : "", what);
}

weir_status weir_parse_integer(const void *text, size_t length, int64_t *value, weir_error *err) {
    const char *at = trim(text, &length);
    size_t i = length && (*at == '-' || *at == '+') ? 1 : 0;
    bool minus = i && *at == '-', fits = true;
    uint64_t sum = 0, most = minus ? UINT64_C(1) << 63 : INT64_MAX;
    if (i == length) return not_a_key(err, at, length, "not an integer");
    for (; i < length; i++) {
        unsigned digit = (unsigned)(unsigned char)at[i] - '0';
        if (digit > 9) return not_a_key(err, at, length, "not an integer");
        fits = fits && sum <= (most - digit) / 10;
        if (fits) sum = sum * 10 + digit;
    }
    if (!fits) return not_a_key(err, at, length, "out of range: integers have 64 bits");
    *value = minus ? (int64_t)(0 - sum) : (int64_t)sum;
    return WEIR_OK;
}

weir_status weir_parse_decimal(const void *text, size_t length, double *value, weir_error *err) {
    char copy[128], *end = copy;
    const char *at = trim(text, &length);
    if (length && length < sizeof copy) {
        memcpy(copy, at, length);
        copy[length] = 0;
    }
    bool good = length && length < sizeof copy && strspn(copy, "+-.0123456789eE") == length;
    if (good) *value = strtod(copy, &end);
    if (!good || end != copy + length) return not_a_key(err, at, length, "not a number");
    if (!isfinite(*value)) return not_a_key(err, at, length, "out of range for a number");
    return WEIR_OK;
}

static const unit *read_duration_unit(const char **at) {
    size_t length = strspn(*at, "dhmsun");
    for (size_t i = 0; i < LENGTH(duration_units); i++)
        if (strlen(duration_units[i].name) == length &&
            memcmp(duration_units[i].name, *at, length) == 0) {
            *at += length;
            return &duration_units[i];
        }
    return NULL;
}

weir_status weir_parse_duration(const char *text, int64_t *nanoseconds, weir_error *err) {
    const char *at = text;
    double total = 0, last = INFINITY;
    do {
        double number;
        const char *start = at;
        if (!read_number(&at, &number))
            return unusable(err, text, start, "duration such as 30s or 1m30s");
        const unit *u = read_duration_unit(&at);
        if (!u || u->factor >= last)
            return unusable(err, text, at, "duration such as 30s or 1m30s (units d h m s ms)");
        total += number * u->factor;
        last = u->factor;
    } while (*at);
    if (total >= 0x1p63)
        return weir__fail(err, WEIR_ERR_RANGE, 0, "'%s' is too long for a duration", text);
    *nanoseconds = (int64_t)nearbyint(total);
    return WEIR_OK;
}

#define PLAIN_MOST 1e15 /* from here on an exponent says more than digits, and fits the buffer */

/* Print value/factor with up to three significant digits, or exactly when it
 * is a whole number of units. */
static char *print_scaled(char *buffer, double value, const unit *units, size_t n) {
    size_t i = 0;
    while (i < n && value < units[i].factor * 0.9995) i++;
    double factor = i < n ? units[i].factor : 1;
    double shown = value / factor;
    int decimals = shown == floor(shown) || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
    if (!(fabs(shown) < PLAIN_MOST)) snprintf(buffer, 32, "%.3g", value);
    else snprintf(buffer, 32, "%.*f%s", decimals, shown, i < n ? units[i].name : "");
    return buffer;
}

char *weir_print_size(char *buffer, uint64_t bytes) {
    return print_scaled(buffer, (double)bytes, size_units, LENGTH(size_units));
}

char *weir_print_count(char *buffer, double count) {
    return print_scaled(buffer, count, count_units, LENGTH(count_units));
}

char *weir_print_rate(char *buffer, double rate) {
    double percent = rate * 100;
    bool tiny = percent != 0 && fabs(percent) < 1e-5;
    if (tiny || !(fabs(percent) < PLAIN_MOST)) snprintf(buffer, 32, "%.2g%%", percent);
    else
        snprintf(buffer, 32, "%.*f%%",
                 percent == 0      ? 0
                 : percent < 0.001 ? 7
                 : percent < 1     ? 5
                                   : 2,
                 percent);
    char *dot = strchr(buffer, '.'), *end = strchr(buffer, '%');
    if (!dot || strchr(buffer, 'e')) return buffer;
    while (end > dot && (end[-1] == '0' || end[-1] == '.')) {
        end--;
        if (end == dot) break;
    }
    snprintf(end, 2, "%%");
    return buffer;
}

char *weir_print_duration(char *buffer, int64_t nanoseconds) {
    double value = (double)nanoseconds;
    if (value < 60e9) {
        size_t i = 3;
        while (i + 1 < LENGTH(duration_units) && value < duration_units[i].factor) i++;
        double shown = value / duration_units[i].factor;
        int decimals = shown == floor(shown) || shown >= 100 ? 0 : shown >= 10 ? 1 : 2;
        snprintf(buffer, 32, "%.*f%s", decimals, shown, duration_units[i].name);
        return buffer;
    }
    int64_t seconds = nanoseconds / 1000000000 + (nanoseconds % 1000000000 >= 500000000);
    int64_t parts[4] = {seconds / 86400, seconds / 3600 % 24, seconds / 60 % 60, seconds % 60};
    size_t used = 0;
    for (int i = 0; i < 4; i++)
        if (parts[i])
            used += (size_t)snprintf(buffer + used, 32 - used, "%" PRId64 "%s", parts[i],
                                     duration_units[i].name);
    return buffer;
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b. */
static size_t edit_distance(const char *a, size_t la, const char *b, size_t lb) {
    size_t rows[3][34];
    for (size_t j = 0; j <= lb; j++) rows[0][j] = j;
    for (size_t i = 1; i <= la; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= lb; j++) {
            size_t best = above[j - 1] + (a[i - 1] != b[j - 1]);
            if (above[j] + 1 < best) best = above[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                above2[j - 2] + 1 < best)
                best = above2[j - 2] + 1;
            row[j] = best;
        }
    }
    return rows[la % 3][lb];
}

/* A slip leaves something of a word, and two of them at least its first letter. */
static bool is_slip(const char *a, size_t la, const char *b, size_t lb, size_t distance) {
    return distance < (la > lb ? la : lb) && (distance < 2 || a[0] == b[0]);
}

const char *weir_nearest(const char *word, const char *names, char *buffer) {
    size_t length = strlen(word), best = 1 + length / 3;
    const char *found = NULL;
    size_t found_length = 0;
    if (length == 0 || length > 31) return NULL;
    while (*names) {
        size_t n = strcspn(names, "|");
        if (n && n <= 31) {
            bool begins = n > length && length >= 2 && memcmp(word, names, length) == 0;
            size_t distance = begins ? 1 : edit_distance(word, length, names, n);
            if (distance <= best && (!found || distance < best) &&
                is_slip(word, length, names, n, distance)) {
                best = distance;
                found = names;
                found_length = n;
            }
        }
        names += n + (names[n] == '|');
    }
    if (!found) return NULL;
    memcpy(buffer, found, found_length);
    buffer[found_length] = 0;
    return buffer;
}
