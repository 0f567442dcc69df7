/* audit.h - what a snapshot needs of an audit. */
#ifndef WEIR_FILTER_AUDIT_H
#define WEIR_FILTER_AUDIT_H

#include "weir.h"

size_t weir__audit_saved_size(const weir_audit *audit);
void weir__audit_save(const weir_audit *audit, uint8_t *bytes);

/* Fully checked: an audit that is safe to use, or an error. */
weir_status weir__audit_load(weir_audit **out, const uint8_t *bytes, size_t length,
                             weir_error *err);

#endif
