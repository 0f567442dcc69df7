/* lab_room.h - how much memory and disk there is, before something starts. */
#ifndef LAB_ROOM_H
#define LAB_ROOM_H

#include <stdint.h>

/* Bytes of memory that this process may still take: what the system has free, or
 * what a limit (ulimit -v) leaves. */
uint64_t lab_free_memory(void);

/* Bytes free where a path is, or would be; UINT64_MAX if that cannot be told. */
uint64_t lab_free_disk(const char *path);

#endif
