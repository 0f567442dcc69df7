/* cmd_lab.c - weir lab: runs the program weir-lab, which is installed beside weir or on the PATH.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "lab_options.h"

#define PROGRAM "weir-lab"

/* The path of weir-lab in the folder of this program; false if that folder is not known. */
static bool beside(char *path, size_t size) {
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    if (length <= 0) return false;
    path[length] = 0;
    char *slash = strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash + 1 - path) : 0;
    if (!folder || folder + sizeof PROGRAM > size) return false;
    memcpy(slash + 1, PROGRAM, sizeof PROGRAM);
    return true;
}

int run_lab(int argc, char **argv) {
    char path[4096];
    (void)argc;
    argv[0] = (char[]){PROGRAM};
    errno = ENOENT;
    if (beside(path, sizeof path)) execv(path, argv);
    if (errno == ENOENT) execvp(PROGRAM, argv);
    if (errno == ENOENT)
        return cli_error("the program " PROGRAM " is neither beside weir nor on the PATH; "
                         "'make install' puts it beside weir");
    return cli_error("cannot run " PROGRAM ": %s", strerror(errno));
}
