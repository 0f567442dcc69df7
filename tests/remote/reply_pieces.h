/* reply_pieces.h - replies of a server parsed from bytes that arrive in pieces. */
#ifndef REPLY_PIECES_H
#define REPLY_PIECES_H

#include "wire.h"
#include "wire_reply.h"

/* The number of replies in the bytes; *wrong: the parser refused them. */
static inline size_t replies_in_pieces(const void *bytes, size_t length, uint64_t reply_bytes,
                                       bool *wrong) {
    wire_parser p;
    wire_reply *reply;
    wire_parsed got = WIRE_PARSED_MORE;
    size_t count = 0;
    *wrong = false;
    if (!wire_parser_init(&p, reply_bytes)) return 0;
    /* In pieces of growing length, so that elements are cut anywhere. */
    for (size_t at = 0, step = 1; at < length && !*wrong; at += step, step = step * 2 % 61 + 1) {
        size_t piece = length - at < step ? length - at : step;
        wire_parser_feed(&p, (const char *)bytes + at, piece);
        while ((got = wire_parser_next(&p, &reply)) == WIRE_PARSED) {
            count++;
            wire_reply_free(reply);
        }
        *wrong = got != WIRE_PARSED_MORE;
    }
    wire_parser_release(&p);
    return count;
}

#endif
