/* plain_text.c - bytes of somebody's choosing, as people and machines may read them. */
#include "plain_text.h"

#include <string.h>

size_t plain_text_character(const unsigned char *p, size_t left) {
    static const unsigned char low[] = {[0xE0 - 0xC0] = 0xA0, [0xF0 - 0xC0] = 0x90, [63] = 0};
    size_t n = *p < 0x80 ? 1 : *p < 0xC2 ? 0 : *p < 0xE0 ? 2 : *p < 0xF0 ? 3 : *p < 0xF5 ? 4 : 0;
    if (n < 2) return n;
    if (n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if (p[1] < low[*p - 0xC0]) return 0;       /* too long a form */
    if (*p == 0xED && p[1] >= 0xA0) return 0;  /* half a pair */
    return *p == 0xF4 && p[1] >= 0x90 ? 0 : n; /* beyond Unicode */
}

bool plain_text_is_control(const unsigned char *p, size_t length) {
    if (length == 1) return *p < 0x20 || *p == 0x7F;
    if (length == 2) return *p == 0xC2 && p[1] < 0xA0;
    if (length != 3 || p[0] != 0xE2) return false;
    return (p[1] == 0x80 && ((p[2] >= 0xA8 && p[2] <= 0xAE) || p[2] == 0x8E || p[2] == 0x8F)) ||
           (p[1] == 0x81 && p[2] >= 0xA6 && p[2] <= 0xA9);
}

bool plain_text_is_utf8(const char *bytes, size_t length) {
    const unsigned char *p = (const unsigned char *)bytes;
    for (size_t i = 0, n; i < length; i += n)
        if (!(n = plain_text_character(p + i, length - i))) return false;
    return true;
}

/* One character as it may be shown; returns how many bytes it took. */
static size_t show_character(FILE *out, const unsigned char *p, size_t left) {
    size_t n = plain_text_character(p, left);
    if (n && !plain_text_is_control(p, n)) return fwrite(p, 1, n, out);
    if (*p == '\n') fputs("\\n", out);
    else if (*p == '\t') fputs("\\t", out);
    else if (*p == '\r') fputs("\\r", out);
    else
        for (size_t i = 0; i < (n ? n : 1); i++) fprintf(out, "\\x%02x", p[i]);
    return n ? n : 1;
}

void plain_text_show(FILE *out, const char *bytes, size_t length) {
    for (size_t i = 0; i < length;)
        i += show_character(out, (const unsigned char *)bytes + i, length - i);
}

void plain_text_csv(FILE *out, const char *bytes, size_t length) {
    bool plain = true;
    for (size_t i = 0; i < length; i++) plain &= !strchr(",\"\r\n", bytes[i]) || !bytes[i];
    if (plain) {
        fwrite(bytes, 1, length, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] == '"') fputc('"', out);
        fputc(bytes[i], out);
    }
    fputc('"', out);
}
