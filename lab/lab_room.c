/* lab_room.c - how much memory is free, before an experiment starts. */
#include "lab_room.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* A number of KiB after a name in a file of /proc, in bytes; 0 if it is not there. */
static uint64_t proc_value(const char *path, const char *name) {
    char line[256];
    uint64_t kib = 0;
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        if (!strncmp(line, name, strlen(name)) && sscanf(line + strlen(name), "%" SCNu64, &kib))
            break;
    if (in) fclose(in);
    return kib * 1024;
}

uint64_t lab_free_memory(void) {
    uint64_t room = proc_value("/proc/meminfo", "MemAvailable:");
    struct rlimit limit;
    if (!room) room = UINT64_MAX;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return room;
    uint64_t used = proc_value("/proc/self/status", "VmSize:");
    uint64_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    return left < room ? left : room;
}
