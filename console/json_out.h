/* json_out.h - JSON on its way out: names, commas and quotes.
 *
 * Each call writes one member of the object that is open, or with the name NULL one element of the
 * array:
 *
 *     json_out j = json_begin(stdout);
 *     json_open(&j, NULL, '{');
 *     json_count(&j, "records", 3);
 *     json_open(&j, "keys", '[');
 *     json_text(&j, NULL, "a");
 *     json_close(&j, ']');
 *     json_close(&j, '}');            {"records":3,"keys":["a"]}
 */
#ifndef WEIR_JSON_OUT_H
#define WEIR_JSON_OUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    bool comma; /* something stands before in what is open */
} json_out;

json_out json_begin(FILE *out);

void json_open(json_out *j, const char *name, char bracket); /* '{' or '[' */
void json_close(json_out *j, char bracket);

void json_text(json_out *j, const char *name, const char *text);
void json_count(json_out *j, const char *name, uint64_t value);
void json_flag(json_out *j, const char *name, bool value);
void json_null(json_out *j, const char *name);

/* Nine digits; null for what is not finite. */
void json_number(json_out *j, const char *name, double value);

/* A value that is JSON already, as printf() makes it. */
void json_print(json_out *j, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Bytes that may be no UTF-8: what is none is replaced. */
void json_bytes(json_out *j, const char *name, const char *bytes, size_t length);

/* A key of a stream: the same, and where it is no UTF-8 its bytes in hexadecimal as NAME_hex. */
void json_key(json_out *j, const char *name, const char *bytes, size_t length);

#endif
