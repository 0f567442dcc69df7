/* wire_reply.h - the parser of replies, for wire.c and for its tests. */
#ifndef WEIR_WIRE_REPLY_H
#define WEIR_WIRE_REPLY_H

#include <hiredis/hiredis.h>

#include "wire.h"

enum { WIRE_LINE_MOST = 65536 }; /* bytes of a line: a status, an error, a number */

typedef struct {
    uint64_t most, used;
    bool exceeded;
} wire_budget;

typedef struct {
    redisReader *reader;
    wire_budget budget;
} wire_parser;

typedef enum {
    WIRE_PARSED,
    WIRE_PARSED_MORE, /* more bytes are needed */
    WIRE_PARSED_GARBAGE,
    WIRE_PARSED_TOO_LONG,
    WIRE_PARSED_NO_MEMORY
} wire_parsed;

/* The parser must not move in memory once bytes were fed. */
bool wire_parser_init(wire_parser *p, uint64_t reply_bytes);
void wire_parser_release(wire_parser *p);
bool wire_parser_feed(wire_parser *p, const void *bytes, size_t length);
wire_parsed wire_parser_next(wire_parser *p, wire_reply **out);

extern redisReplyObjectFunctions wire_reply_functions;

#endif
