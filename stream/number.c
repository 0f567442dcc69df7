/* number.c - numbers in decimal that come with a record.
 *
 * Digits, a sign, a point, an exponent; nothing else that strtod() would take (no
 * hexadecimal, no words). Numbers of up to 15 digits with at most 22 of them
 * behind the point, nearly all there are, need no more than one exact division.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

enum { DIGITS_EXACT = 15 }; /* digits that a double always holds: such numbers are read fast */
enum { LONGEST = 400 };     /* bytes of a number; a double has at most 309 before its point */

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* A number of many digits, or with an exponent. */
static bool parse_any(const unsigned char *text, size_t length, double *number) {
    char copy[LONGEST + 1], *end;
    if (length > LONGEST) return false;
    for (size_t i = 0; i < length; i++)
        if (!is_digit(text[i]) && !memchr("+-.eE", text[i], 5)) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    *number = strtod(copy, &end);
    return end == copy + length && length > 0 && isfinite(*number);
}

bool stream__number_parse(const unsigned char *text, size_t length, double *number) {
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    while (length && (*text == ' ' || *text == '\t')) text++, length--;
    while (length && (text[length - 1] == ' ' || text[length - 1] == '\t')) length--;
    bool negative = length && *text == '-';
    size_t i = length && (*text == '-' || *text == '+'), digits = 0, behind = 0;
    uint64_t value = 0;
    for (; i < length && is_digit(text[i]) && digits < DIGITS_EXACT; i++, digits++)
        value = value * 10 + (text[i] - '0');
    if (i < length && text[i] == '.')
        for (i++; i < length && is_digit(text[i]) && digits < DIGITS_EXACT; i++, digits++, behind++)
            value = value * 10 + (text[i] - '0');
    if (i < length || !digits) return parse_any(text, length, number);
    *number = (double)value / powers[behind];
    if (negative) *number = -*number;
    return true;
}
