/* slice_info.c - what the module says of a slice (WEIR.INFO). */
#include "slice_info.h"

#include <stdlib.h>

static double number_field(const wire_reply *info, const char *name) {
    const wire_reply *field = wire_reply_field(info, name);
    if (field && field->type == WIRE_INTEGER) return (double)field->integer;
    return field && field->text ? strtod(field->text, NULL) : 0;
}

void slice_info_read(const wire_reply *info, weir_remote_slice *out) {
    out->offered = (uint64_t)number_field(info, "offered");
    out->seen = (uint64_t)number_field(info, "seen");
    out->memory = (uint64_t)number_field(info, "memory");
    out->fill = number_field(info, "fill");
    out->fpr_now = number_field(info, "fpr_now");
    out->overfull = number_field(info, "overfull") != 0;
    const wire_reply *epoch = wire_reply_field(info, "epoch");
    if (epoch && epoch->text) out->epoch = strtoull(epoch->text, NULL, 16);
}
