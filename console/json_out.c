/* json_out.c - JSON on its way out: names, commas and quotes. */
#include "json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "plain_text.h"

json_out json_begin(FILE *out) { return (json_out){.out = out}; }

static void put_quoted(FILE *out, const char *bytes, size_t length) {
    const unsigned char *p = (const unsigned char *)bytes;
    fputc('"', out);
    for (size_t i = 0, n; i < length; i += n ? n : 1) {
        n = plain_text_character(p + i, length - i);
        if (!n) fputs("\\ufffd", out);
        else if (p[i] == '"' || p[i] == '\\') fprintf(out, "\\%c", p[i]);
        else if (p[i] < 0x20) fprintf(out, "\\u%04x", p[i]);
        else fwrite(p + i, 1, n, out);
    }
    fputc('"', out);
}

/* Comma, name and colon before a value. */
static void put_name(json_out *j, const char *name) {
    if (j->comma) fputc(',', j->out);
    j->comma = true;
    if (!name) return;
    put_quoted(j->out, name, strlen(name));
    fputc(':', j->out);
}

void json_open(json_out *j, const char *name, char bracket) {
    put_name(j, name);
    fputc(bracket, j->out);
    j->comma = false;
}

void json_close(json_out *j, char bracket) {
    fputc(bracket, j->out);
    j->comma = true;
}

void json_bytes(json_out *j, const char *name, const char *bytes, size_t length) {
    put_name(j, name);
    put_quoted(j->out, bytes, length);
}

void json_text(json_out *j, const char *name, const char *text) {
    json_bytes(j, name, text, strlen(text));
}

void json_key(json_out *j, const char *name, const char *bytes, size_t length) {
    json_bytes(j, name, bytes, length);
    if (plain_text_is_utf8(bytes, length)) return;
    fprintf(j->out, ",\"%s_hex\":\"", name);
    for (size_t i = 0; i < length; i++) fprintf(j->out, "%02x", (unsigned char)bytes[i]);
    fputc('"', j->out);
}

void json_print(json_out *j, const char *name, const char *format, ...) {
    va_list list;
    put_name(j, name);
    va_start(list, format);
    vfprintf(j->out, format, list);
    va_end(list);
}

void json_count(json_out *j, const char *name, uint64_t value) {
    json_print(j, name, "%" PRIu64, value);
}

void json_flag(json_out *j, const char *name, bool value) {
    json_print(j, name, "%s", value ? "true" : "false");
}

void json_null(json_out *j, const char *name) { json_print(j, name, "null"); }

void json_number(json_out *j, const char *name, double value) {
    if (isfinite(value)) json_print(j, name, "%.9g", value);
    else json_null(j, name);
}
