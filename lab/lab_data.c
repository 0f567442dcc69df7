/* lab_data.c - where the real streams are.
 *
 * $WEIR_DATA names their folder. Without it they are looked for at run time, as
 * `shared/data` in one of the folders above the program, and then as `lab/samples`, where
 * the sources have the beginnings of some of them: so a build finds those beside its
 * sources wherever it was moved to, and no path of the machine that made it is kept.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lab_stream.h"

enum { ABOVE_MOST = 4, PATH_SIZE = 1024 };

static const char whole[] = "/shared/data", samples[] = "/lab/samples";
static char near_program[PATH_SIZE]; /* "": not there */
static bool sampled;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool look_above(const char *under) {
    char path[PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof whole);
    if (length < 0) return false;
    path[length] = 0;
    for (int above = 0; above <= ABOVE_MOST; above++) {
        char *slash = strrchr(path, '/');
        if (!slash) return false;
        strcpy(slash, under);
        if (access(path, F_OK) == 0) {
            strcpy(near_program, path);
            return true;
        }
        *slash = 0;
    }
    return false;
}

static void look_near_program(void) {
    if (!look_above(whole)) sampled = look_above(samples);
}

bool lab_data_sampled(void) {
    const char *dir = getenv("WEIR_DATA");
    if (dir && *dir) return false;
    pthread_once(&once, look_near_program);
    return sampled;
}

weir_status lab_data_path(char *path, size_t size, const char *file, weir_error *err) {
    const char *dir = getenv("WEIR_DATA");
    if (!dir || !*dir) {
        pthread_once(&once, look_near_program);
        dir = near_program;
    }
    snprintf(path, size, "%s/%s", dir, file);
    if (*dir && access(dir, F_OK) == 0) return WEIR_OK;
    if (!err) return WEIR_ERR_IO;
    err->code = WEIR_ERR_IO;
    err->offset = -1;
    if (*dir)
        snprintf(err->message, sizeof err->message,
                 "there is no folder '%.200s', which WEIR_DATA names for the real streams", dir);
    else
        snprintf(err->message, sizeof err->message,
                 "the real streams are not here; let WEIR_DATA name their folder");
    return WEIR_ERR_IO;
}
