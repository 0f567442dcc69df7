/* json.c - JSON values: checked in full, searched by path, spelled canonically.
 *
 * Question   is this line one JSON value, and what stands at these paths?
 * Idea       json_index.cpp has found the tokens and checked strings and UTF-8.
 *            One walk over the tokens checks the grammar of RFC 8259; on the way,
 *            a bit mask per level says which paths lead here. The end of a string
 *            is found backwards from the next token, so strings are never read
 *            unless the line holds a backslash somewhere.
 * Equality   a value is spelled with a tag and
 *              s  the characters of a string, escapes undone; half a surrogate
 *                 pair is kept as three bytes, so that it equals only itself
 *              n  a number as digits without zeros at either end, and a power of
 *                 ten: 100, 1e2 and 1.00E+2 are "1e2"; no digit is ever lost
 *              t f z  true, false, null
 *              o a  an object or array: its text without white space
 * Limits     1024 levels. Of several fields with one name the first counts.
 */
#include <stdio.h>
#include <string.h>

#include "stream_internal.h"

enum { MAX_DEPTH = 1024 };

/* ------------------------------------------------------------------------
 * Scalars
 * ------------------------------------------------------------------------ */

static bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* May a number or word end before this byte? */
static bool is_delimiter(unsigned char c) {
    return c == ',' || c == '}' || c == ']' || c == ':' || c == '{' || c == '[' || is_space(c);
}

/* The end of the number at p, or NULL if it is none. */
static const unsigned char *end_of_number(const unsigned char *p, const unsigned char *end) {
    if (p < end && *p == '-') p++;
    if (p == end || !is_digit(*p)) return NULL;
    if (*p == '0')
        p++;
    else
        while (p < end && is_digit(*p)) p++;
    if (p < end && *p == '.') {
        if (++p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) p++;
        if (p == end || !is_digit(*p)) return NULL;
        while (p < end && is_digit(*p)) p++;
    }
    return p == end || is_delimiter(*p) ? p : NULL;
}

static const unsigned char *end_of_word(const unsigned char *p, const unsigned char *end) {
    const char *word = *p == 't' ? "true" : *p == 'f' ? "false" : "null";
    size_t length = strlen(word);
    if ((size_t)(end - p) < length || memcmp(p, word, length) != 0) return NULL;
    p += length;
    return p == end || is_delimiter(*p) ? p : NULL;
}

static int hex4(const unsigned char *p, const unsigned char *end) {
    int value = 0;
    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        unsigned char c = p[i], lower = c | 0x20;
        int digit = is_digit(c) ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* The first bad escape in the inside of a string, or NULL. */
static const unsigned char *bad_escape(const unsigned char *p, const unsigned char *end) {
    while ((p = memchr(p, '\\', (size_t)(end - p)))) {
        const unsigned char *start = p++;
        if (p == end) return start;
        if (*p == 'u') {
            if (hex4(p + 1, end) < 0) return start;
            p += 5;
        } else if (*p && strchr("\"\\/bfnrt", *p)) {
            p++;
        } else {
            return start;
        }
    }
    return NULL;
}

static unsigned char *put_utf8(unsigned char *to, unsigned c) {
    if (c < 0x80) {
        *to++ = (unsigned char)c;
    } else if (c < 0x800) {
        *to++ = (unsigned char)(0xc0 | c >> 6);
        *to++ = (unsigned char)(0x80 | (c & 63));
    } else if (c < 0x10000) {
        *to++ = (unsigned char)(0xe0 | c >> 12);
        *to++ = (unsigned char)(0x80 | (c >> 6 & 63));
        *to++ = (unsigned char)(0x80 | (c & 63));
    } else {
        *to++ = (unsigned char)(0xf0 | c >> 18);
        *to++ = (unsigned char)(0x80 | (c >> 12 & 63));
        *to++ = (unsigned char)(0x80 | (c >> 6 & 63));
        *to++ = (unsigned char)(0x80 | (c & 63));
    }
    return to;
}

/* Undo the escapes of a checked string's inside; never longer than it was. Returns the end. */
static unsigned char *unescape(const unsigned char *p, const unsigned char *end, unsigned char *to) {
    while (p < end) {
        if (*p != '\\') {
            *to++ = *p++;
            continue;
        }
        static const char from[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
        if (p[1] != 'u') {
            *to++ = (unsigned char)meaning[strchr(from, p[1]) - from];
            p += 2;
            continue;
        }
        unsigned c = (unsigned)hex4(p + 2, end);
        p += 6;
        if (c >= 0xd800 && c < 0xdc00 && end - p >= 6 && p[0] == '\\' && p[1] == 'u') {
            unsigned low = (unsigned)hex4(p + 2, end);
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                p += 6;
            }
        }
        to = put_utf8(to, c);
    }
    return to;
}

/* ------------------------------------------------------------------------
 * The walk
 * ------------------------------------------------------------------------ */

typedef struct {
    const unsigned char *text;
    uint32_t to;
    const uint32_t *token;     /* the next one; those from `to` on are not ours */
    bool escapes;              /* there is a backslash somewhere */
    const json_path *paths;
    uint32_t path_count;
    json_slice *parts;
    uint32_t *where;
    /* One per open bracket: */
    uint32_t depth;
    bool object[MAX_DEPTH];
    uint32_t index[MAX_DEPTH];     /* of the array's present element */
    uint64_t active[MAX_DEPTH];    /* paths that lead into it and have found nothing yet */
    uint64_t captured[MAX_DEPTH];  /* paths that it is itself the answer to */
} json_walk;

static stream_reason trouble(json_walk *w, stream_reason reason, uint32_t where) {
    *w->where = where;
    return reason;
}

static bool has_token(const json_walk *w) { return *w->token < w->to; }

/* What stands at the next token; 0 past the last. */
static unsigned char peek(const json_walk *w) { return has_token(w) ? w->text[*w->token] : 0; }

static stream_reason misplaced(json_walk *w) {
    return has_token(w) ? trouble(w, REASON_SYNTAX, *w->token) : trouble(w, REASON_CUT, w->to);
}

/* The string that starts at `start` ends just before the next token, white space aside. */
static uint32_t end_of_string(const json_walk *w) {
    uint32_t end = has_token(w) ? *w->token : w->to;
    while (w->text[end - 1] != '"') end--;
    return end;
}

static stream_reason check_string(json_walk *w, uint32_t start, uint32_t end) {
    if (!w->escapes) return REASON_NONE;
    const unsigned char *bad = bad_escape(w->text + start + 1, w->text + end - 1);
    return bad ? trouble(w, REASON_ESCAPE, (uint32_t)(bad - w->text)) : REASON_NONE;
}

/* Does a field name, still in quotes, mean this step? */
static bool is_step(const json_walk *w, uint32_t start, uint32_t end, const path_step *step) {
    const unsigned char *name = w->text + start + 1;
    size_t length = end - start - 2;
    if (!step->name) return false;
    if (!w->escapes || !memchr(name, '\\', length))
        return length == step->length && !memcmp(name, step->name, length);
    if (length > 6 * (size_t)step->length) return false;
    unsigned char copy[1024];
    if (length > sizeof copy) return false;
    size_t n = (size_t)(unescape(name, name + length, copy) - copy);
    return n == step->length && !memcmp(copy, step->name, n);
}

/* The paths that go on through the field or element of the innermost bracket that comes next.
 * Each is taken off: later fields of the same name do not count. */
static uint64_t follow(json_walk *w, uint32_t start, uint32_t end) {
    uint32_t level = w->depth - 1;
    uint64_t rest = w->active[level], found = 0;
    for (; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        const path_step *step = &w->paths[p].steps[level];
        if (w->object[level] ? is_step(w, start, end, step)
                             : !step->name && step->index == w->index[level])
            found |= 1ull << p;
    }
    w->active[level] &= ~found;
    return found;
}

/* A bracket opens; `mask` are the paths that lead to it, `answers` those that end there. */
static stream_reason open_bracket(json_walk *w, uint32_t at, uint64_t mask, uint64_t answers) {
    if (w->depth == MAX_DEPTH) return trouble(w, REASON_DEPTH, at);
    w->object[w->depth] = w->text[at] == '{';
    w->index[w->depth] = 0;
    w->active[w->depth] = mask & ~answers;
    w->captured[w->depth] = answers;
    w->depth++;
    return REASON_NONE;
}

static void capture(json_walk *w, uint64_t answers, uint32_t start, uint32_t stop) {
    for (; answers; answers &= answers - 1)
        w->parts[__builtin_ctzll(answers)] = (json_slice){start, stop};
}

static void close_bracket(json_walk *w, uint32_t end) {
    w->depth--;
    for (uint64_t rest = w->captured[w->depth]; rest; rest &= rest - 1)
        w->parts[__builtin_ctzll(rest)].stop = end;
}

/* Those of the paths that have no further step at this depth. */
static uint64_t complete(const json_walk *w, uint64_t mask) {
    uint64_t answers = 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        if (w->paths[p].count == w->depth) answers |= 1ull << p;
    }
    return answers;
}

/* Take a value's first token; a scalar is then done, a bracket is open. */
static stream_reason take_value(json_walk *w, uint64_t mask) {
    if (!has_token(w)) return trouble(w, REASON_CUT, w->to);
    uint32_t start = *w->token++;
    const unsigned char *p = w->text + start, *end = w->text + w->to;
    uint64_t answers = mask ? complete(w, mask) : 0;
    switch (*p) {
    case '{':
    case '[':
        capture(w, answers, start, start);
        return open_bracket(w, start, mask, answers);
    case '"': {
        uint32_t stop = end_of_string(w);
        capture(w, answers, start, stop);
        return check_string(w, start, stop);
    }
    case '}':
    case ']':
    case ',':
    case ':': return trouble(w, REASON_SYNTAX, start);
    case 't':
    case 'f':
    case 'n': end = end_of_word(p, end); break;
    default:
        if (*p != '-' && !is_digit(*p)) return trouble(w, REASON_WORD, start);
        end = end_of_number(p, end);
        if (!end) return trouble(w, REASON_NUMBER, start);
    }
    if (!end) return trouble(w, REASON_WORD, start);
    capture(w, answers, start, (uint32_t)(end - w->text));
    return REASON_NONE;
}

/* A field: its name, the colon, and its value's first token. */
static stream_reason take_field(json_walk *w) {
    if (peek(w) != '"') return misplaced(w);
    uint32_t start = *w->token++;
    if (peek(w) != ':') return misplaced(w);
    uint32_t end = end_of_string(w);
    w->token++;
    stream_reason reason = check_string(w, start, end);
    if (reason) return reason;
    return take_value(w, w->active[w->depth - 1] ? follow(w, start, end) : 0);
}

/* What comes next inside the innermost bracket; `first` just after it was opened. */
static stream_reason take_member(json_walk *w, bool first) {
    uint32_t level = w->depth - 1;
    bool object = w->object[level];
    unsigned char next = peek(w);
    if (next == (object ? '}' : ']')) {
        close_bracket(w, *w->token++ + 1);
        return REASON_NONE;
    }
    if (!first) {
        if (next != ',') return misplaced(w);
        w->token++;
        w->index[level]++;
    }
    if (object) return take_field(w);
    return take_value(w, w->active[level] ? follow(w, 0, 0) : 0);
}

/* The paths' first steps must fit the outermost value. */
static stream_reason check_root(json_walk *w) {
    unsigned char c = peek(w);
    for (uint32_t p = 0; p < w->path_count; p++) {
        if (w->paths[p].count == 0) continue;
        bool named = w->paths[p].steps[0].name != NULL;
        if (c != (named ? '{' : '[')) return trouble(w, named ? REASON_NOT_OBJECT : REASON_NOT_ARRAY, *w->token);
    }
    return REASON_NONE;
}

stream_reason stream__json_find(const unsigned char *text, uint32_t from, uint32_t to,
                                const uint32_t *tokens, const json_path *paths,
                                uint32_t path_count, json_slice *parts, uint32_t *where) {
    json_walk w; /* not zeroed: levels are set as they are opened */
    w.text = text;
    w.to = to;
    w.token = tokens;
    w.escapes = memchr(text + from, '\\', to - from) != NULL;
    w.paths = paths;
    w.path_count = path_count;
    w.parts = parts;
    w.where = where;
    w.depth = 0;
    memset(parts, 0, path_count * sizeof *parts);
    if (!has_token(&w)) return trouble(&w, REASON_CUT, from);
    stream_reason root = check_root(&w);
    uint32_t root_where = *where;
    stream_reason reason = take_value(&w, path_count ? ~0ull >> (64 - path_count) : 0);
    uint32_t depth = 0;
    while (!reason && w.depth) {
        bool opened = w.depth > depth;
        depth = w.depth;
        reason = take_member(&w, opened);
    }
    if (!reason && has_token(&w)) return trouble(&w, REASON_TRAILING, *w.token);
    if (!reason && root) return trouble(&w, root, root_where);
    return reason;
}

/* ------------------------------------------------------------------------
 * Canonical spelling
 * ------------------------------------------------------------------------ */

/* The digits of a number without the point, zeros at both ends dropped, and what power of ten
 * makes up for that. */
static size_t canonical_number(const unsigned char *p, size_t length, unsigned char *to) {
    const unsigned char *end = p + length, *start = to;
    bool negative = *p == '-';
    p += negative;
    if (negative) *to++ = '-';
    unsigned char *digits = to;
    int64_t power = 0;
    bool point = false;
    for (; p < end && (is_digit(*p) || *p == '.'); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        power -= point;
        if (*p != '0' || to > digits) *to++ = *p;
    }
    while (to > digits && to[-1] == '0') to--, power++;
    if (to == digits) { /* 0, -0, 0.0e9: all the same */
        digits = (unsigned char *)start;
        *digits = '0';
        return 1;
    }
    if (p < end) { /* an exponent */
        const unsigned char *e = ++p;
        bool minus = *p == '-';
        if (*p == '-' || *p == '+') p++;
        while (p < end - 1 && *p == '0') p++;
        if (end - p > 17) { /* beyond all measure: by its spelling */
            *to++ = 'E';
            memcpy(to, e, (size_t)(end - e));
            return (size_t)(to + (end - e) - start);
        }
        int64_t exponent = 0;
        for (; p < end; p++) exponent = exponent * 10 + (*p - '0');
        power += minus ? -exponent : exponent;
    }
    if (power) to += sprintf((char *)to, "e%lld", (long long)power);
    return (size_t)(to - start);
}

/* Without the white space between tokens. */
static size_t minify(const unsigned char *p, size_t length, unsigned char *to) {
    const unsigned char *end = p + length, *start = to;
    bool quoted = false;
    for (; p < end; p++) {
        if (quoted && *p == '\\') *to++ = *p++;
        else if (*p == '"') quoted = !quoted;
        if (quoted || !is_space(*p)) *to++ = *p;
    }
    return (size_t)(to - start);
}

bool stream__json_canonical(const unsigned char *text, size_t length, stream_buffer *out) {
    if (!stream__buffer_reserve(out, length + 32)) return false;
    unsigned char *to = out->bytes + out->length;
    size_t n = 0;
    switch (*text) {
    case '"':
        *to = 's';
        if (memchr(text, '\\', length)) {
            n = (size_t)(unescape(text + 1, text + length - 1, to + 1) - (to + 1));
        } else {
            n = length - 2;
            memcpy(to + 1, text + 1, n);
        }
        break;
    case '{':
    case '[':
        *to = *text == '{' ? 'o' : 'a';
        n = minify(text, length, to + 1);
        break;
    case 't':
    case 'f': *to = *text; break;
    case 'n': *to = 'z'; break;
    default:
        *to = 'n';
        n = canonical_number(text, length, to + 1);
    }
    out->length += n + 1;
    return true;
}
