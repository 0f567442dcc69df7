/* plain_text.h - bytes of somebody's choosing, as people and machines may read them. */
#ifndef WEIR_PLAIN_TEXT_H
#define WEIR_PLAIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* The length of the well-formed UTF-8 character at p, which has `left` bytes; 0 if it is none. */
size_t plain_text_character(const unsigned char *p, size_t left);

/* Is all of it UTF-8? */
bool plain_text_is_utf8(const char *bytes, size_t length);

/* Would the character move the cursor or hide others: C0, DEL, C1, and the marks that turn the
 * direction of writing? */
bool plain_text_is_control(const unsigned char *p, size_t length);

/* For a terminal: printable UTF-8 as it is, all else as \n, \t or \xHH. */
void plain_text_show(FILE *out, const char *bytes, size_t length);

/* A field of CSV: byte for byte, in quotes where need be. */
void plain_text_csv(FILE *out, const char *bytes, size_t length);

#endif
