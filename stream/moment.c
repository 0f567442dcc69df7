/* moment.c - event times: text into nanoseconds since 1970-01-01T00:00:00Z.
 *
 *   unix      seconds, also with a fraction: 1700000000.25; unix-ms, -us, -ns likewise
 *   iso       2024-02-29T23:59:59.5+01:00, with a blank for the T, without seconds, without a
 *             time, and the short form 20240229T235959Z. Without a zone it is UTC.
 *   clf       10/Oct/2000:13:55:36 -0700, as web servers write it
 *   pattern   strptime(3), and %f for digits after the point. UTC unless it has %z.
 *
 * The range is that of 64 bits: the years 1678 to 2262.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stream_internal.h"

#define SECOND 1000000000ll

stream_status stream__moment_format(key_plan *plan, const char *text, stream_error *err) {
    static const struct {
        const char *name;
        moment_kind kind;
    } kinds[] = {{"unix", MOMENT_SECONDS}, {"unix-s", MOMENT_SECONDS}, {"unix-ms", MOMENT_MS},
                 {"unix-us", MOMENT_US},   {"unix-ns", MOMENT_NS},     {"iso", MOMENT_ISO},
                 {"iso8601", MOMENT_ISO},  {"rfc3339", MOMENT_ISO},    {"clf", MOMENT_CLF}};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(text, kinds[i].name) != 0) continue;
        plan->moment = kinds[i].kind;
        return STREAM_OK;
    }
    if (!strchr(text, '%')) {
        char near[64];
        const char *hint = weir_nearest(text, "unix|unix-ms|unix-us|unix-ns|iso|clf", near);
        return stream__fail(
            err, 0,
            "unknown time format '%.80s'%s%s%s (choose unix, unix-ms, unix-us, unix-ns, "
            "iso, clf, or a pattern such as %%d/%%b/%%Y:%%H:%%M:%%S %%z)",
            text, hint ? ": did you mean '" : "", hint ? hint : "", hint ? "'?" : "");
    }
    plan->moment = MOMENT_PATTERN;
    plan->pattern = strdup(text);
    return plan->pattern ? STREAM_OK : stream__no_memory(err);
}

/* Digits after the point as a fraction of `unit`; *p is moved past them. */
static int64_t fraction(const char **p, const char *end, int64_t unit) {
    int64_t sum = 0;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        unit /= 10;
        sum += unit * (**p - '0');
    }
    return sum;
}

static bool parse_exponent(const char *text, size_t length, int64_t unit, int64_t *ns) {
    char copy[64], *stop;
    if (length >= sizeof copy) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    double value = strtod(copy, &stop) * (double)unit;
    if (stop != copy + length || !(value > -9.2e18 && value < 9.2e18)) return false;
    *ns = (int64_t)value;
    return true;
}

static bool parse_unix(const char *text, size_t length, int64_t unit, int64_t *ns) {
    const char *p = text, *end = text + length;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    const char *digits = p;
    int64_t whole = 0;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, *p - '0', &whole))
            return false;
    if (p == digits) return false;
    int64_t rest = 0;
    if (p < end && *p == '.') {
        p++;
        rest = fraction(&p, end, unit);
    }
    if (p < end && (*p == 'e' || *p == 'E')) return parse_exponent(text, length, unit, ns);
    if (p != end || __builtin_mul_overflow(whole, unit, &whole) ||
        __builtin_add_overflow(whole, rest, &whole))
        return false;
    *ns = negative ? -whole : whole;
    return true;
}

/* Days since 1970 of a date in the Gregorian calendar: years begin in March, so that leap days
 * come last, and 400 years are one era. */
static int64_t days_of(int64_t year, int month, int day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Exactly n digits, from low to high. */
static bool number(const char **p, const char *end, int n, int low, int high, int *value) {
    if (end - *p < n) return false;
    *value = 0;
    for (int i = 0; i < n; i++) {
        if ((*p)[i] < '0' || (*p)[i] > '9') return false;
        *value = *value * 10 + ((*p)[i] - '0');
    }
    *p += n;
    return *value >= low && *value <= high;
}

static bool accept(const char **p, const char *end, char c) {
    if (*p == end || **p != c) return false;
    ++*p;
    return true;
}

static bool parse_zone(const char **p, const char *end, int *seconds_east) {
    int hours, minutes = 0;
    *seconds_east = 0;
    if (*p == end || accept(p, end, 'Z') || accept(p, end, 'z')) return true;
    bool west = **p == '-';
    if (**p != '+' && **p != '-') return false;
    ++*p;
    if (!number(p, end, 2, 0, 23, &hours)) return false;
    if (*p < end) {
        accept(p, end, ':');
        if (!number(p, end, 2, 0, 59, &minutes)) return false;
    }
    *seconds_east = (hours * 60 + minutes) * (west ? -60 : 60);
    return true;
}

static bool parse_iso(const char *p, size_t length, int64_t *ns) {
    const char *end = p + length;
    int year, month, day, hour = 0, minute = 0, second = 0, east = 0;
    int64_t rest = 0;
    if (!number(&p, end, 4, 0, 9999, &year)) return false;
    bool dashes = accept(&p, end, '-');
    if (!number(&p, end, 2, 1, 12, &month) || (dashes && !accept(&p, end, '-')) ||
        !number(&p, end, 2, 1, 31, &day))
        return false;
    static const char month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    if (day > month_days[month - 1] + (month == 2 && leap)) return false;
    if (p < end) {
        if (!accept(&p, end, 'T') && !accept(&p, end, 't') && !accept(&p, end, ' ')) return false;
        if (!number(&p, end, 2, 0, 24, &hour)) return false;
        bool colons = accept(&p, end, ':');
        if (!number(&p, end, 2, 0, 59, &minute)) return false;
        if (colons ? accept(&p, end, ':') : p < end && *p >= '0' && *p <= '9')
            if (!number(&p, end, 2, 0, 60, &second)) return false;
        if (accept(&p, end, '.') || accept(&p, end, ',')) rest = fraction(&p, end, SECOND);
        if (hour == 24 && (minute || second || rest)) return false;
        if (!parse_zone(&p, end, &east)) return false;
    }
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - east;
    return p == end && !__builtin_mul_overflow(seconds, SECOND, ns) &&
           !__builtin_add_overflow(*ns, rest, ns);
}

/* strptime() knows no fractions: the pattern is used in pieces, with %f between them. */
static bool parse_pattern(const char *pattern, const char *text, size_t length, int64_t *ns) {
    char copy[256], piece[256];
    if (length >= sizeof copy || strlen(pattern) >= sizeof piece || memchr(text, 0, length))
        return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    struct tm tm = {.tm_mday = 1, .tm_year = 70};
    int64_t rest = 0;
    const char *p = copy;
    for (;;) {
        const char *f = pattern;
        while ((f = strchr(f, '%')) && f[1] != 'f') f += f[1] ? 2 : 1;
        size_t n = f ? (size_t)(f - pattern) : strlen(pattern);
        memcpy(piece, pattern, n);
        piece[n] = 0;
        if (n && !(p = strptime(p, piece, &tm))) return false;
        if (!f) break;
        rest = fraction(&p, copy + length, SECOND);
        pattern = f + 2;
    }
    if (*p) return false;
    int64_t east = tm.tm_gmtoff;
    int64_t seconds = (int64_t)timegm(&tm) - east;
    return !__builtin_mul_overflow(seconds, SECOND, ns) && !__builtin_add_overflow(*ns, rest, ns);
}

static bool parse_clf(const char *p, size_t length, int64_t *ns) {
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    const char *end = p + length;
    int year, month = 1, day, hour, minute, second, east = 0;
    if (!number(&p, end, 2, 1, 31, &day) || !accept(&p, end, '/') || end - p < 3) return false;
    while (month <= 12 && memcmp(p, months + 3 * (month - 1), 3) != 0) month++;
    p += 3;
    if (month > 12 || !accept(&p, end, '/') || !number(&p, end, 4, 0, 9999, &year) ||
        !accept(&p, end, ':') || !number(&p, end, 2, 0, 23, &hour) || !accept(&p, end, ':') ||
        !number(&p, end, 2, 0, 59, &minute) || !accept(&p, end, ':') ||
        !number(&p, end, 2, 0, 60, &second))
        return false;
    if (accept(&p, end, ' ') && !parse_zone(&p, end, &east)) return false;
    int64_t seconds = days_of(year, month, day) * 86400 + hour * 3600 + minute * 60 + second - east;
    return p == end && !__builtin_mul_overflow(seconds, SECOND, ns);
}

static bool parse_by(const key_plan *plan, const char *text, size_t length, int64_t *ns) {
    switch (plan->moment) {
    case MOMENT_SECONDS:
        return parse_unix(text, length, SECOND, ns);
    case MOMENT_MS:
        return parse_unix(text, length, SECOND / 1000, ns);
    case MOMENT_US:
        return parse_unix(text, length, 1000, ns);
    case MOMENT_NS:
        return parse_unix(text, length, 1, ns);
    case MOMENT_ISO:
        return parse_iso(text, length, ns);
    case MOMENT_CLF:
        return parse_clf(text, length, ns);
    default:
        return parse_pattern(plan->pattern, text, length, ns);
    }
}

/* The reason for a text that is a time of no known format. */
static stream_reason not_of(const key_plan *plan, size_t length) {
    if (!length) return REASON_NO_TIME_TEXT;
    if (plan->moment == MOMENT_ISO) return REASON_NOT_ISO;
    if (plan->moment == MOMENT_CLF) return REASON_NOT_CLF_TIME;
    return plan->moment == MOMENT_PATTERN ? REASON_NOT_PATTERN : REASON_NO_COUNT;
}

/* What a time that does not parse looks like. Counts are told apart by their digits before the
 * point: today's seconds have 10, milliseconds 13, microseconds 16, nanoseconds 19. */
static stream_reason looks_like(const key_plan *plan, const char *text, size_t length) {
    int64_t ns;
    bool counted = plan->moment <= MOMENT_NS;
    size_t digits = 0;
    while (digits < length && text[digits] >= '0' && text[digits] <= '9') digits++;
    bool whole = digits > 0 && (digits == length || text[digits] == '.');
    if (whole && digits >= 9 && digits <= 20) {
        static const struct {
            size_t most;
            moment_kind kind;
            stream_reason reason;
        } counts[] = {{11, MOMENT_SECONDS, REASON_TIME_IS_UNIX},
                      {14, MOMENT_MS, REASON_TIME_IS_MS},
                      {17, MOMENT_US, REASON_TIME_IS_US},
                      {20, MOMENT_NS, REASON_TIME_IS_NS}};
        int i = 0;
        while (digits > counts[i].most) i++;
        return counts[i].kind == plan->moment ? REASON_TIME_RANGE : counts[i].reason;
    }
    if (whole && counted) return REASON_TIME_RANGE;
    if (plan->moment != MOMENT_ISO && parse_iso(text, length, &ns)) return REASON_TIME_IS_ISO;
    if (plan->moment != MOMENT_CLF && parse_clf(text, length, &ns)) return REASON_TIME_IS_CLF;
    return not_of(plan, length);
}

stream_reason stream__moment_parse(const key_plan *plan, const unsigned char *bytes, size_t length,
                                   int64_t *ns) {
    const char *text = (const char *)bytes;
    while (length && (*text == ' ' || *text == '\t')) text++, length--;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    return parse_by(plan, text, length, ns) ? REASON_NONE : looks_like(plan, text, length);
}
