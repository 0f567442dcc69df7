/* values.c - the values of options. */
#include "values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "opts.h"

enum { COUNT_EXAMPLE = 10000000 }; /* that which the parser of counts gives */

int value_bad(const char *flag, const weir_error *err) {
    return cli_error("%s: %s", flag, err->message);
}

int value_number(const char *flag, const char *text, uint64_t low, uint64_t high, bool is_size,
                 uint64_t *value) {
    weir_error err;
    weir_status status =
        is_size ? weir_parse_size(text, value, &err) : weir_parse_count(text, value, &err);
    bool small = !is_size && high < COUNT_EXAMPLE; /* then its example would be wrong, too */
    if (status != WEIR_OK && !small) return value_bad(flag, &err);
    if (status == WEIR_OK && *value >= low && *value <= high) return EXIT_DONE;
    char a[32], b[32];
    if (is_size) weir_print_size(a, low), weir_print_size(b, high);
    else weir_print_count(a, (double)low), weir_print_count(b, (double)high);
    return cli_error("%s cannot be '%s'; it goes from %s to %s", flag, text, a, b);
}

int value_seed(const char *flag, const char *text, uint64_t *value) {
    weir_error err;
    return weir_parse_seed(text, value, &err) == WEIR_OK ? EXIT_DONE : value_bad(flag, &err);
}

int value_rate(const char *flag, const char *text, double *value) {
    weir_error err;
    if (weir_parse_rate(text, value, &err) != WEIR_OK) return value_bad(flag, &err);
    if (*value > 0 && *value < 1) return EXIT_DONE;
    return cli_error("%s cannot be '%s'; it is a rate between 0 and 1, such as 0.01%%", flag, text);
}

int value_span(const char *flag, const char *text, int64_t low, int64_t *value) {
    weir_error err;
    if (weir_parse_duration(text, value, &err) != WEIR_OK) return value_bad(flag, &err);
    char least[32];
    if (*value >= low) return EXIT_DONE;
    return cli_error("%s cannot be '%s'; it is at least %s", flag, text,
                     weir_print_duration(least, low));
}

bool value_is_duration(const char *text) {
    return *text && strchr("dhms", text[strlen(text) - 1]) != NULL;
}

int value_window(const char *flag, const char *text, int64_t least, int64_t *value, bool *is_time) {
    uint64_t records;
    weir_error err;
    *is_time = value_is_duration(text);
    if (*is_time) return value_span(flag, text, least, value);
    if (weir_parse_count(text, &records, &err) != WEIR_OK)
        return cli_error("%s: '%s' is neither a number of records such as 10M nor a time such as "
                         "10m",
                         flag, text);
    int code = value_number(flag, text, 1, UINT64_C(1) << 60, false, &records);
    *value = (int64_t)records;
    return code;
}

int value_folder(const char *flag, const char *path) {
    struct stat there;
    bool good = !stat(path, &there);
    if (good && !S_ISDIR(there.st_mode)) errno = ENOTDIR, good = false;
    if (good && !access(path, W_OK | X_OK)) return EXIT_DONE;
    return cli_error("%s: cannot make files in '%s': %s; make that folder, or name another", flag,
                     path, strerror(errno));
}

enum { LINKS = 40 }; /* links that are followed, as Linux does */

/* Where a link leads: *path becomes its target. false if it is no link. */
static bool follow(char path[PATH_MAX]) {
    char target[PATH_MAX], whole[2 * PATH_MAX];
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return false;
    target[n] = 0;
    char *slash = *target == '/' ? NULL : strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    int length = snprintf(whole, sizeof whole, "%.*s%s", folder, path, target);
    if (length >= PATH_MAX) return false;
    memcpy(path, whole, (size_t)length + 1);
    return true;
}

/* Names that last as long as the process, as those of the command line do. */
typedef struct lasting_name {
    struct lasting_name *next;
    char text[];
} lasting_name;
static lasting_name *lasting;

const char *value_path(const char *path) {
    struct stat there;
    char at[PATH_MAX];
    if (strlen(path) >= sizeof at || lstat(path, &there) || !S_ISLNK(there.st_mode) ||
        !stat(path, &there) || errno != ENOENT)
        return path;
    strcpy(at, path);
    for (int links = 0; links < LINKS && follow(at); links++) {
    }
    lasting_name *name = malloc(sizeof *name + strlen(at) + 1);
    if (!name) return path;
    name->next = lasting;
    lasting = name;
    return strcpy(name->text, at);
}

/* As value_descriptor(), links apart. */
static int descriptor_named(const char *path) {
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    char *end;
    if (!strcmp(path, "/dev/stdout")) return STDOUT_FILENO;
    if (!strcmp(path, "/dev/stderr")) return STDERR_FILENO;
    for (size_t i = 0; i < 2; i++) {
        size_t length = strlen(folders[i]);
        if (strncmp(path, folders[i], length) != 0 || !path[length]) continue;
        long fd = strtol(path + length, &end, 10);
        if (!*end && fd >= 0 && fd < INT_MAX) return (int)fd;
    }
    return -1;
}

int value_descriptor(const char *path) {
    char at[PATH_MAX];
    if (strlen(path) >= sizeof at) return -1;
    strcpy(at, path);
    int fd = descriptor_named(at);
    for (int links = 0; fd < 0 && links < LINKS && follow(at); links++) fd = descriptor_named(at);
    return fd;
}

int value_choice(const char *names, const char *value) {
    int index = 0;
    opt_is_choice(value, names, &index);
    return index;
}
