/* lab_room.h - how much memory is free, before an experiment starts. */
#ifndef LAB_ROOM_H
#define LAB_ROOM_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system has free, or
 * what a limit (ulimit -v) leaves. */
uint64_t lab_free_memory(void);

#endif
