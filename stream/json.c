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
 * As text    for readers of words and items a value is also spelled without tag, and
 *            numbers without exponent: 1e2 is 100, 15e-1 is 1.5.
 * Limits     1024 levels. Of several fields with one name the last counts: when a name
 *            comes again, what was found behind it before is forgotten.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream_internal.h"

enum {
    MAX_DEPTH = 1024,  /* arrays and objects within each other; deeper ones are malformed */
    LONGEST_PLAIN = 40 /* digits of a number that is written without exponent */
};

/* ------------------------------------------------------------------------
 * Scalars
 * ------------------------------------------------------------------------ */

static bool is_space(unsigned char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool is_digit(unsigned char c) { return c >= '0' && c <= '9'; }

/* May a number or word end before this byte? */
static bool is_delimiter(unsigned char c) {
    static const bool delimiter[256] = {
        [','] = true, ['}'] = true, [']'] = true,  [':'] = true,  ['{'] = true,
        ['['] = true, [' '] = true, ['\t'] = true, ['\n'] = true, ['\r'] = true};
    return delimiter[c];
}

/* The end of the number at p, or NULL if it is none. */
static const unsigned char *end_of_number(const unsigned char *p, const unsigned char *end) {
    if (p < end && *p == '-') p++;
    if (p == end || !is_digit(*p)) return NULL;
    if (*p == '0') p++;
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

/* Likewise of true, false or null. */
static const unsigned char *end_of_word(const unsigned char *p, const unsigned char *end) {
    size_t length = *p == 'f' ? 5 : 4;
    if ((size_t)(end - p) < length) return NULL;
    if (memcmp(p, *p == 't' ? "true" : *p == 'f' ? "fals" : "null", 4) != 0) return NULL;
    if (length == 5 && p[4] != 'e') return NULL;
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
static unsigned char *unescape(const unsigned char *p, const unsigned char *end,
                               unsigned char *to) {
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

bool stream_reads_as_json(const void *text, size_t length) {
    const unsigned char *p = text, *end = p + length;
    if (!length) return false;
    if (strchr("\"[{", *p) || is_space(*p) || is_space(end[-1])) return *p != 0;
    bool word = *p == 't' || *p == 'f' || *p == 'n';
    return (word ? end_of_word(p, end) : end_of_number(p, end)) == end;
}

/* ------------------------------------------------------------------------
 * The walk
 * ------------------------------------------------------------------------ */

/* An open bracket. */
typedef struct {
    uint64_t active;   /* paths that lead into it */
    uint64_t captured; /* paths that it is itself the answer to */
    int32_t index;     /* of an array's present element */
    int32_t count;     /* elements of an array, if a path counts them from the end */
    size_t items;      /* how many items had been found before it */
    bool object;
} json_level;

/* A search for the values of paths. */
typedef struct {
    const unsigned char *text;
    uint32_t to;
    const json_path *paths;
    uint64_t many; /* paths that may lead to many values */
    json_slice *parts;
    json_items *items;
    bool escapes; /* there is a backslash in the text */
} json_search;

/* The end of the string before the token at `next`: only white space is between. */
static uint32_t end_of_string(const unsigned char *text, uint32_t next) {
    while (text[next - 1] != '"') next--;
    return next;
}

/* Does the field name that begins with the quote at `start` mean this step? */
static inline bool is_step(const json_search *s, uint32_t start, const path_step *step) {
    const unsigned char *name = s->text + start + 1;
    if (!step->name) return false;
    if (!s->escapes)
        return s->to - start > step->length + 1 && name[step->length] == '"' &&
               !memcmp(name, step->name, step->length);
    const unsigned char *end = name;
    while (*end != '"') end += 1 + (*end == '\\');
    size_t length = (size_t)(end - name);
    unsigned char copy[1024];
    if (length > 6 * (size_t)step->length || length > sizeof copy) return false;
    size_t n = (size_t)(unescape(name, end, copy) - copy);
    return n == step->length && !memcmp(copy, step->name, n);
}

/* Forget what was found for a path since `level` was opened. */
static void forget(const json_search *s, const json_level *level, int path) {
    s->parts[path] = (json_slice){0, 0};
    if (!(s->many >> path & 1)) return;
    size_t kept = level->items;
    for (size_t i = level->items; i < s->items->count; i++)
        if (s->items->items[i].path != (uint32_t)path) s->items->items[kept++] = s->items->items[i];
    s->items->count = kept;
}

/* The paths that go on through the field whose name begins at `start`. A field of the same name
 * that came before does not count. */
static inline uint64_t follow_field(const json_search *s, const json_level *level, uint32_t depth,
                                    uint32_t start) {
    uint64_t found = 0;
    for (uint64_t rest = level->active; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        if (!is_step(s, start, &s->paths[p].steps[depth - 1])) continue;
        found |= 1ull << p;
        forget(s, level, p);
    }
    return found;
}

/* The paths that go on through the present element of an array. */
static uint64_t follow_element(const json_search *s, const json_level *level, uint32_t depth) {
    uint64_t found = 0;
    for (uint64_t rest = level->active; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        const path_step *step = &s->paths[p].steps[depth - 1];
        int32_t index = step->index < 0 ? level->count + step->index : step->index;
        if (!step->name && (step->each || index == level->index)) found |= 1ull << p;
    }
    return found;
}

/* How many elements the array has whose first token is at t; 0 unless a path asks. */
static int32_t count_elements(const json_search *s, const json_level *level, uint32_t depth,
                              const uint32_t *t) {
    bool asked = false;
    for (uint64_t rest = level->active; rest; rest &= rest - 1) {
        const path_step *step = &s->paths[__builtin_ctzll(rest)].steps[depth - 1];
        asked |= !step->name && step->index < 0;
    }
    if (!asked) return 0;
    int32_t count = 1;
    for (int nested = 0; *t < s->to && nested >= 0; t++) {
        unsigned char c = s->text[*t];
        nested += (c == '[' || c == '{') - (c == ']' || c == '}');
        count += nested == 0 && c == ',';
    }
    return count;
}

/* Of these paths, the ones that end at this depth. */
static uint64_t complete(const json_path *paths, uint64_t mask, uint32_t depth) {
    uint64_t answers = 0;
    for (uint64_t rest = mask; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        if (paths[p].count == depth) answers |= 1ull << p;
    }
    return answers;
}

static bool add_found(json_items *items, uint32_t path, json_slice value) {
    if (items->count == items->room) {
        size_t room = items->room ? 2 * items->room : 16;
        json_item *more = realloc(items->items, room * sizeof *more);
        if (!more) return false;
        items->items = more;
        items->room = room;
    }
    items->items[items->count++] = (json_item){path, value};
    return true;
}

/* Take a value down as the answer to these paths. False: out of memory. */
static inline bool capture(const json_search *s, uint64_t answers, uint32_t start, uint32_t stop) {
    for (; answers; answers &= answers - 1) {
        int p = __builtin_ctzll(answers);
        if (!(s->many >> p & 1)) s->parts[p] = (json_slice){start, stop};
        else if (!add_found(s->items, (uint32_t)p, (json_slice){start, stop})) return false;
    }
    return true;
}

/* The end of a bracket that is an answer is known. */
static void capture_end(const json_search *s, const json_level *level, uint32_t stop) {
    for (uint64_t rest = level->captured; rest; rest &= rest - 1) {
        int p = __builtin_ctzll(rest);
        if (!(s->many >> p & 1)) {
            s->parts[p].stop = stop;
            continue;
        }
        /* the item that was added when the bracket opened, just after those before it */
        for (size_t i = level->items; i < s->items->count; i++)
            if (s->items->items[i].path == (uint32_t)p) s->items->items[i].value.stop = stop;
    }
}

/* The paths' first steps must fit the outermost value. */
static stream_reason check_root(unsigned char first, const json_path *paths, uint32_t count) {
    for (uint32_t p = 0; p < count; p++) {
        if (paths[p].count == 0) continue;
        bool named = paths[p].steps[0].name != NULL;
        if (first != (named ? '{' : '[')) return named ? REASON_NOT_OBJECT : REASON_NOT_ARRAY;
    }
    return REASON_NONE;
}

/* One function, since the grammar is one: a value, what follows it, a field, an element. Tokens
 * from `to` on belong to others; the last of all is UINT32_MAX. */
stream_reason stream__json_find(const unsigned char *text, uint32_t from, uint32_t to,
                                const uint32_t **tokens, const json_path *paths,
                                uint32_t path_count, json_slice *parts, json_items *items,
                                uint32_t *where) {
    json_level levels[MAX_DEPTH], *level = levels; /* set as they are opened */
    const uint32_t *t = *tokens;
    const bool escapes = memchr(text + from, '\\', to - from) != NULL;
    const unsigned char *const end = text + to, *stop, *bad;
    uint32_t depth = 0, start, last;
    uint64_t mask = path_count ? ~0ull >> (64 - path_count) : 0, answers;
    stream_reason reason;
    json_search search = {text, to, paths, 0, parts, items, escapes};
    assert(path_count <= 64);
    items->count = 0;
    for (uint32_t i = 0; i < path_count; i++) {
        parts[i] = (json_slice){0, 0};
        search.many |= (uint64_t)paths[i].each << i;
    }

value:
    start = *t;
    if (start >= to) goto misplaced;
    t++;
    answers = mask ? complete(paths, mask, depth) : 0;
    switch (text[start]) {
    case '{':
    case '[':
        reason = REASON_DEPTH;
        if (depth == MAX_DEPTH) goto failed;
        level = &levels[depth++];
        *level = (json_level){.active = mask & ~answers,
                              .captured = answers,
                              .items = items->count,
                              .object = text[start] == '{'};
        if (!capture(&search, answers, start, start)) goto no_memory;
        if (level->active && !level->object)
            level->count = count_elements(&search, level, depth, t);
        if (*t < to && text[*t] == (level->object ? '}' : ']')) goto close;
        if (level->object) goto field;
        goto element;
    case '"':
        if (answers || escapes) {
            last = end_of_string(text, *t < to ? *t : to);
            if (!capture(&search, answers, start, last)) goto no_memory;
            if (escapes && (bad = bad_escape(text + start + 1, text + last - 1))) goto bad_escape;
        }
        goto after;
    case 't':
    case 'f':
    case 'n':
        reason = REASON_WORD;
        stop = end_of_word(text + start, end);
        break;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        reason = REASON_NUMBER;
        stop = end_of_number(text + start, end);
        break;
    case '}':
    case ']':
    case ',':
    case ':':
        t--;
        goto misplaced;
    default:
        reason = REASON_WORD;
        goto failed;
    }
    if (!stop) goto failed;
    if (answers && !capture(&search, answers, start, (uint32_t)(stop - text))) goto no_memory;

after: /* a value */
    if (depth == 0) {
        reason = REASON_TRAILING;
        start = *t;
        if (start < to) goto failed;
        *where = **tokens;
        reason = check_root(text[**tokens], paths, path_count);
        *tokens = t;
        return reason;
    }
    if (*t >= to) goto misplaced;
    if (text[*t] == ',') {
        t++;
        if (level->object) goto field;
        level->index++;
        goto element;
    }
    if (text[*t] != (level->object ? '}' : ']')) goto misplaced;

close: /* the innermost bracket */
    if (level->captured) capture_end(&search, level, *t + 1);
    t++;
    depth--;
    level--;
    goto after;

field:
    start = *t;
    if (start >= to || text[start] != '"') goto misplaced;
    t++;
    if (*t >= to || text[*t] != ':') goto misplaced;
    if (escapes) {
        last = end_of_string(text, *t);
        if ((bad = bad_escape(text + start + 1, text + last - 1))) goto bad_escape;
    }
    mask = level->active ? follow_field(&search, level, depth, start) : 0;
    t++;
    goto value;

element:
    mask = level->active ? follow_element(&search, level, depth) : 0;
    goto value;

no_memory:
    return REASON_MEMORY;
misplaced: /* or not there at all */
    reason = *t < to ? REASON_SYNTAX : REASON_CUT;
    start = *t < to ? *t : to;
    goto failed;
bad_escape:
    reason = REASON_ESCAPE;
    start = (uint32_t)(bad - text);
failed:
    *where = start;
    while (*t < to) t++;
    *tokens = t;
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
        if (end - p > 17) { /* the exponent exceeds int64: compare as text */
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
    case 'f':
        *to = *text;
        break;
    case 'n':
        *to = 'z';
        break;
    default:
        *to = 'n';
        n = canonical_number(text, length, to + 1);
    }
    out->length += n + 1;
    return true;
}

/* ------------------------------------------------------------------------
 * As text
 * ------------------------------------------------------------------------ */

/* The power of ten after the e; beyond LONGEST_PLAIN just more than that. */
static long power_of(const unsigned char *p, const unsigned char *end) {
    bool minus = p < end && *p == '-';
    long power = 0;
    for (p += minus; p < end && power <= LONGEST_PLAIN; p++) power = power * 10 + (*p - '0');
    return minus ? -power : power;
}

static bool put_zeros(stream_buffer *out, long count) {
    bool done = true;
    for (; count > 0 && done; count--) done = stream__buffer_append(out, "0", 1);
    return done;
}

bool stream__json_plain(const unsigned char *p, size_t length, stream_buffer *out) {
    const unsigned char *end = p + length, *e = memchr(p, 'e', length);
    const unsigned char *digits = p + (*p == '-');
    long power = e ? power_of(e + 1, end) : 0, count = (e ? e : end) - digits;
    long whole = count + power; /* digits before the point */
    bool lengthy = power > 0 ? whole > LONGEST_PLAIN : count - whole > LONGEST_PLAIN;
    if (power == 0 || lengthy) return stream__buffer_append(out, p, length);
    if (power > 0) return stream__buffer_append(out, p, (size_t)(e - p)) && put_zeros(out, power);
    if (!stream__buffer_append(out, p, (size_t)(digits - p))) return false;
    if (whole > 0)
        return stream__buffer_append(out, digits, (size_t)whole) &&
               stream__buffer_append(out, ".", 1) &&
               stream__buffer_append(out, digits + whole, (size_t)(count - whole));
    return stream__buffer_append(out, "0.", 2) && put_zeros(out, -whole) &&
           stream__buffer_append(out, digits, (size_t)count);
}

/* The canonical spelling is made in the same buffer, behind all that may come before it. */
static bool add_plain(const unsigned char *text, size_t length, stream_buffer *out) {
    const size_t at = out->length, behind = at + length + 2 * LONGEST_PLAIN;
    if (!stream__buffer_reserve(out, 2 * (behind - at))) return false;
    out->length = behind;
    bool done = stream__json_canonical(text, length, out);
    size_t spelled = out->length - behind;
    out->length = at;
    return done && stream__json_plain(out->bytes + behind + 1, spelled - 1, out);
}

static bool add_string(const unsigned char *text, size_t length, stream_buffer *out) {
    if (!stream__buffer_reserve(out, length)) return false;
    unsigned char *to = out->bytes + out->length;
    out->length += (size_t)(unescape(text + 1, text + length - 1, to) - to);
    return true;
}

/* The end of the string that begins at p. */
static const unsigned char *past_string(const unsigned char *p) {
    for (p++; *p != '"'; p++) p += *p == '\\';
    return p + 1;
}

/* A string, number or word that is no part of anything. */
static bool add_scalar(const unsigned char *text, size_t length, stream_buffer *out) {
    if (*text == '"') return add_string(text, length, out);
    if (*text == 'n') return true;
    if (*text == 't' || *text == 'f') return stream__buffer_append(out, text, length);
    return add_plain(text, length, out);
}

bool stream__json_text(const unsigned char *text, size_t length, stream_buffer *out) {
    const unsigned char *end = text + length;
    bool done = stream__buffer_reserve(out, length + 1);
    for (const unsigned char *p = text, *stop; p < end && done; p = stop) {
        stop = p + 1;
        if (*p == '"') stop = past_string(p);
        else if (!is_delimiter(*p))
            while (stop < end && !is_delimiter(*stop)) stop++;
        done = is_delimiter(*p) ? stream__buffer_append(out, p, 1)
                                : add_scalar(p, (size_t)(stop - p), out);
    }
    return done;
}
