/* site_losses.h - sites of a filter that are lost and come back while a run goes on: --lose. */
#ifndef WEIR_SITE_LOSSES_H
#define WEIR_SITE_LOSSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

enum { LOSSES_MOST = 1024 };

typedef struct {
    uint64_t site;
    uint64_t first, last; /* of the records judged, from 1 up: those that it does not see */
} site_loss;

typedef struct {
    site_loss list[LOSSES_MOST];
    size_t count;
} site_losses;

/* "3@1000-2000,4-7@5K": add to the list. EXIT_DONE, or EXIT_TROUBLE after a message. */
int site_losses_add(site_losses *losses, const char *text);

/* Can the filter lose them? on_lost_waits: a key would wait for ever. */
int site_losses_check(const site_losses *losses, const weir_filter *filter);

/* Set the sites as they are when record number `next` is judged. Returns how many records from
 * there on find them so: UINT64_MAX if nothing changes any more. */
uint64_t site_losses_apply(const site_losses *losses, weir_filter *filter, uint64_t next);

#endif
