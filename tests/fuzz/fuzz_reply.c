/* fuzz_reply.c - any bytes as what a server sends: parsed within bounds, or refused. */
#include <stdint.h>
#include <stdlib.h>

#include "reply_pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    bool wrong;
    size_t replies = replies_in_pieces(bytes, length, 1 << 16, &wrong);
    if (replies > length) abort();
    return 0;
}
