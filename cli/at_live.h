/* at_live.h - the filters of `--at` that are asked a message at a time: trees, and places that are
 * timers. */
#ifndef WEIR_AT_LIVE_H
#define WEIR_AT_LIVE_H

#include "at.h"
#include "spec_text.h"

/* Is a filter of this spec asked a message at a time? */
bool at_live_is_for(const char *spec);

/* Open or join, and check what other options would mean. EXIT_TROUBLE after a message. */
int at_live_begin(at_filter *f, const at_settings *at, const char *spec);

/* Say why the servers failed for good, and keep it for --stats. Always false. */
bool at_failed(at_filter *f, const weir_error *why);

bool at_live_offer(at_filter *f, const weir_batch *batch, uint64_t *verdicts, size_t *seen);

/* The slices of what is there, for weir inspect; freed by the caller. NULL after a message. */
weir_remote_slice *at_live_look(const at_settings *at, const char *url, char spec[SPEC_SIZE],
                                weir_remote_stats *stats);

/* All that was sent for it. */
weir_live_stats at_live_stats(const at_filter *f);

void at_live_report_text(FILE *out, const at_filter *f);
void at_live_report_json(FILE *out, const at_filter *f);

#endif
