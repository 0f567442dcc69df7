/* fuzz_spec.c - any text as a spec: refused with a message, or a filter whose
 * printed spec makes the same filter again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
    char text[2048], spec[1024], again[1024];
    weir_filter *filter, *twin;
    weir_error err = {0};
    if (length >= sizeof text) length = sizeof text - 1;
    memcpy(text, bytes, length);
    text[length] = 0;
    if (weir_filter_new(&filter, text, &err) != WEIR_OK) {
        if (filter || !err.message[0]) abort();
        return 0;
    }
    weir_filter_offer(filter, "key", 3);
    weir_filter_spec(filter, spec, sizeof spec);
    if (weir_filter_new(&twin, spec, &err) != WEIR_OK) {
        fprintf(stderr, "%s: %s\n", spec, err.message);
        abort();
    }
    weir_filter_spec(twin, again, sizeof again);
    if (strcmp(spec, again) != 0) abort();
    weir_filter_free(filter);
    weir_filter_free(twin);
    return 0;
}
