/* slice_info.h - what the module says of a slice (WEIR.INFO). */
#ifndef WEIR_SLICE_INFO_H
#define WEIR_SLICE_INFO_H

#include "weir_remote.h"
#include "wire.h"

/* Keys offered, memory, fill and epoch of the reply; *out keeps its key and its server. */
void slice_info_read(const wire_reply *info, weir_remote_slice *out);

#endif
