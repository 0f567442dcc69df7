/* detail.h - one line of what an object says about itself (weir_filter_details and its like). */
#ifndef WEIR_CORE_DETAIL_H
#define WEIR_CORE_DETAIL_H

#include "weir.h"

/* Call each() with the name, the value printed printf-style (at most 63 bytes), and its meaning. */
void weir__detail(weir_detail_fn *each, void *context, const char *name, const char *meaning,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

#endif
