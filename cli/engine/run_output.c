/* run_output.c - the output of a run, whole or as it was.
 *
 * A file is written under a temporary name in its own directory and takes its
 * real name at the first commit: at the end of a run, or with --state before
 * the first save of the state. What is committed is kept from when the state that
 * speaks of it is on the disk. A failure before anything is kept puts the old
 * file back, a later one cuts the file to what is kept. So the file always
 * holds exactly the records that the state on disk knows of.
 *
 * Pipes and devices are written directly: there is nothing to rename or cut.
 */
#include "run_output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "values.h"

#define MARK ".weir-" /* between the name of the output and six letters of chance */

/* The one temporary file of the process, for run_output_remove_temporary(). */
static char pending[PATH_MAX];
static volatile bool is_pending;

void run_output_remove_temporary(void) {
    if (is_pending) unlink(pending);
}

/* The output may be named by a link: what is replaced is the file behind it. */
static char *resolve(const char *path) {
    char real[PATH_MAX];
    return strdup(realpath(path, real) ? real : path);
}

/* Make a file under a name that ends in six X, which become letters of chance: as mkostemp(),
 * but with the mode of a file made by open(), which the umask cuts. */
static int make_named(char *name, mode_t mode) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz012345"; /* 32 of them: 5 bits */
    char *last = name + strlen(name) - 6;
    unsigned char chance[6];
    for (int tries = 0; tries < 100; tries++) {
        if (getrandom(chance, sizeof chance, 0) != sizeof chance) return -1;
        for (size_t i = 0; i < sizeof chance; i++) last[i] = letters[chance[i] % 32];
        int fd = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* A run holds a lock on its temporary file, which ends with the process. */
static void guard(run_output *output, const char *path) {
    if (output->guard_count == sizeof output->guards / sizeof *output->guards) return;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return;
    flock(fd, LOCK_EX | LOCK_NB);
    output->guards[output->guard_count++] = fd;
}

static bool is_temporary(const char *entry, const char *name) {
    size_t length = strlen(name), mark = strlen(MARK);
    return *entry == '.' && !strncmp(entry + 1, name, length) &&
           !strncmp(entry + 1 + length, MARK, mark) && strlen(entry) == 1 + length + mark + 6;
}

/* Remove the temporary files of runs with this output that were killed. */
static void remove_leftovers(const char *directory, const char *name) {
    DIR *entries = opendir(directory);
    for (struct dirent *e; entries && (e = readdir(entries));) {
        if (!is_temporary(e->d_name, name)) continue;
        int fd = openat(dirfd(entries), e->d_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (fd < 0) continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) unlinkat(dirfd(entries), e->d_name, 0);
        close(fd);
    }
    if (entries) closedir(entries);
}

static int make_temporary(run_output *output) {
    char *directory = strdup(output->path), *name = strdup(output->path);
    int code = EXIT_DONE, n = -1;
    if (directory && name) {
        const char *folder = dirname(directory), *own = basename(name);
        remove_leftovers(folder, own);
        n = asprintf(&output->temporary, "%s/.%s" MARK "XXXXXX", folder, own);
    }
    free(directory);
    free(name);
    if (n < 0) {
        output->temporary = NULL;
        return cli_error("out of memory");
    }
    struct stat old;
    bool replaces = !stat(output->path, &old);
    int fd = make_named(output->temporary, replaces ? 0600 : 0666);
    if (fd < 0) {
        code = cli_error("cannot create '%s': %s", output->name, strerror(errno));
        free(output->temporary);
        output->temporary = NULL;
        return code;
    }
    if (replaces && fchmod(fd, old.st_mode & 07777)) {
        /* a file system without modes: nothing to keep */
    }
    close(fd);
    guard(output, output->temporary);
    snprintf(pending, sizeof pending, "%s", output->temporary);
    is_pending = true;
    return code;
}

bool run_output_is_file(const char *path) {
    struct stat now;
    return path && value_descriptor(path) < 0 && (stat(path, &now) || S_ISREG(now.st_mode));
}

/* True if `path` is, or would become, a regular file of its own. */
static int classify(const char *path, bool *regular) {
    struct stat now;
    *regular = value_descriptor(path) < 0;
    if (!*regular) return EXIT_DONE;
    if (stat(path, &now))
        return errno == ENOENT ? EXIT_DONE
                               : cli_error("cannot create '%s': %s", path, strerror(errno));
    if (S_ISDIR(now.st_mode)) return cli_error("cannot write to '%s': it is a directory", path);
    *regular = S_ISREG(now.st_mode);
    return EXIT_DONE;
}

/* Reading and writing one file at a time ends badly; with a temporary file it
 * does not, but a run that is to be resumed would then read its own output. */
static int check_inputs(const dedup_settings *settings) {
    struct stat out, in;
    bool to_file = settings->output && value_descriptor(settings->output) < 0;
    int fd = settings->output ? value_descriptor(settings->output) : STDOUT_FILENO;
    if (to_file ? stat(settings->output, &out) : fstat(fd, &out)) return EXIT_DONE;
    if (!S_ISREG(out.st_mode) || (to_file && !settings->state)) return EXIT_DONE;
    for (size_t i = 0; i < settings->from.file_count; i++) {
        bool is_stdin = !strcmp(settings->from.files[i], "-");
        if (is_stdin ? fstat(STDIN_FILENO, &in) : stat(settings->from.files[i], &in)) continue;
        if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return cli_error("'%s' is both input and output; write to another file",
                             is_stdin ? "standard input" : settings->from.files[i]);
    }
    return EXIT_DONE;
}

int run_output_open(run_output *output, const dedup_settings *settings, bool background,
                    const stream_mark *resume) {
    *output = (run_output){.name = settings->output};
    stream_writer_options options = stream_writer_options_defaults();
    options.name = settings->output; /* not that of the temporary file */
    options.compression = settings->compression;
    options.background = background;
    bool regular = false;
    int code = check_inputs(settings);
    if (code == EXIT_DONE && settings->output) code = classify(settings->output, &regular);
    if (code != EXIT_DONE) return code;
    int fd = settings->output ? value_descriptor(settings->output) : STDOUT_FILENO;
    options.path = fd < 0 ? settings->output : NULL;
    if (fd >= 0) options.fd = fd;
    if (regular && !(output->path = resolve(settings->output))) return cli_error("out of memory");
    if (resume && resume->offset && output->path && access(output->path, F_OK))
        code = cli_error("cannot resume in '%s': it is gone; remove the state file '%s' to start "
                         "over",
                         output->name, settings->state);
    if (resume) {
        options.mark = resume;
        options.path = output->path;
        output->mark = output->stays = *resume;
        output->kept = true;
    } else if (regular) {
        code = make_temporary(output);
        options.path = output->temporary;
    }
    stream_error err;
    if (code == EXIT_DONE && stream_writer_open(&output->writer, &options, &err) != STREAM_OK) {
        code = resume ? cli_error("%s; remove the state file '%s' to start over",
                                  cli_stream_words(&err), settings->state)
                      : cli_stream_error(&err);
    }
    output->active = code == EXIT_DONE && output->path;
    if (code == EXIT_DONE && !resume) output->before = stream_writer_offset(output->writer);
    if (code != EXIT_DONE) run_output_abandon(output);
    return code;
}

static void sync_directory(const char *path) {
    char *copy = strdup(path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (fd < 0) return;
    fsync(fd);
    close(fd);
}

/* Give the file its name. The old one, if any, changes places with it where the
 * file system can do that, and is lost at once where it cannot. */
static stream_status put_in_place(run_output *output, bool sync, stream_error *err) {
    if (!output->temporary) return STREAM_OK;
    if (!renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->path, RENAME_EXCHANGE)) {
        output->previous = output->temporary;
        guard(output, output->previous);
    } else if (!rename(output->temporary, output->path)) {
        free(output->temporary);
        is_pending = false;
    } else {
        *err = (stream_error){.os_error = errno};
        snprintf(err->message, sizeof err->message, "cannot replace '%s': %s", output->name,
                 strerror(errno));
        return STREAM_FAILED;
    }
    output->temporary = NULL;
    if (sync) sync_directory(output->path); /* before a state speaks of it */
    return STREAM_OK;
}

stream_status run_output_commit(run_output *output, bool sync, stream_error *err) {
    stream_mark mark;
    stream_status status = stream_writer_mark(output->writer, sync, &mark, err);
    if (status == STREAM_OK) status = put_in_place(output, sync, err);
    if (status == STREAM_OK) output->mark = mark;
    return status;
}

static void remove_file(char **path) {
    if (!*path) return;
    unlink(*path);
    free(*path);
    *path = NULL;
    is_pending = false;
}

void run_output_keep(run_output *output) {
    remove_file(&output->previous);
    output->stays = output->mark;
    output->kept = true;
}

static void drop_guards(run_output *output) {
    while (output->guard_count) close(output->guards[--output->guard_count]);
}

stream_status run_output_close(run_output *output, stream_error *err) {
    stream_status status = stream_writer_close(output->writer, err);
    output->writer = NULL;
    if (status == STREAM_OK) {
        run_output_keep(output);
        drop_guards(output);
        free(output->path);
        *output = (run_output){0};
    }
    return status;
}

/* Remove output that was written but not kept. */
static void undo(run_output *output) {
    if (output->temporary) {
        remove_file(&output->temporary);
    } else if (output->previous) {
        if (!rename(output->previous, output->path)) is_pending = false;
        free(output->previous);
    } else if (!output->kept) {
        unlink(output->path);
    } else if (truncate(output->path, (off_t)output->stays.offset)) {
        cli_error("cannot cut '%s' back to its last saved point, byte %llu: %s", output->name,
                  (unsigned long long)output->stays.offset, strerror(errno));
    }
}

void run_output_abandon(run_output *output) {
    stream_error err;
    if (output->writer) stream_writer_close(output->writer, &err);
    if (output->active) undo(output);
    remove_file(&output->temporary);
    drop_guards(output);
    free(output->path);
    *output = (run_output){0};
}
