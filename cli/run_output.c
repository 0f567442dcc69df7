/* run_output.c - the output of a run, whole or as it was.
 *
 * A file is written under a temporary name in its own directory and takes its
 * real name at the first commit: at the end of a run, or with --state before
 * the first save of the state. Until then a failure leaves the old file
 * untouched; after it, a failure cuts the file back to the last commit. So the
 * file always holds exactly the records that the state on disk knows of.
 *
 * Pipes and devices are written directly: there is nothing to rename or cut.
 */
#include "run_output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

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

static mode_t wanted_mode(const char *path) {
    struct stat old;
    if (!stat(path, &old)) return old.st_mode & 07777;
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static int make_temporary(run_output *output) {
    char *directory = strdup(output->path), *name = strdup(output->path);
    int code = EXIT_DONE, n = -1;
    if (directory && name)
        n = asprintf(&output->temporary, "%s/.%s.weir-XXXXXX", dirname(directory), basename(name));
    free(directory);
    free(name);
    if (n < 0) {
        output->temporary = NULL;
        return cli_error("out of memory");
    }
    int fd = mkostemp(output->temporary, O_CLOEXEC);
    if (fd < 0) {
        code = cli_error("cannot create '%s': %s", output->name, strerror(errno));
        free(output->temporary);
        output->temporary = NULL;
        return code;
    }
    if (fchmod(fd, wanted_mode(output->path))) {
        /* a file system without modes: nothing to keep */
    }
    close(fd);
    snprintf(pending, sizeof pending, "%s", output->temporary);
    is_pending = true;
    return code;
}

/* True if `path` is, or would become, a regular file. */
static int classify(const char *path, bool *regular) {
    struct stat now;
    *regular = true;
    if (stat(path, &now)) return EXIT_DONE;
    if (S_ISDIR(now.st_mode)) return cli_error("cannot write to '%s': it is a directory", path);
    *regular = S_ISREG(now.st_mode);
    return EXIT_DONE;
}

/* Reading and writing one file at a time ends badly; with a temporary file it
 * does not, but a run that is to be resumed would then read its own output. */
static int check_inputs(const dedup_settings *settings) {
    struct stat out, in;
    bool to_file = settings->output != NULL;
    if (to_file ? stat(settings->output, &out) : fstat(STDOUT_FILENO, &out)) return EXIT_DONE;
    if (!S_ISREG(out.st_mode) || (to_file && !settings->state)) return EXIT_DONE;
    for (size_t i = 0; i < settings->file_count; i++) {
        bool is_stdin = !strcmp(settings->files[i], "-");
        if (is_stdin ? fstat(STDIN_FILENO, &in) : stat(settings->files[i], &in)) continue;
        if (in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            return cli_error("'%s' is both input and output; write to another file",
                             is_stdin ? "standard input" : settings->files[i]);
    }
    return EXIT_DONE;
}

static void forget(run_output *output) {
    is_pending = false;
    free(output->temporary);
    output->temporary = NULL;
}

int run_output_open(run_output *output, const dedup_settings *settings, bool background,
                    const stream_mark *resume) {
    *output = (run_output){.name = settings->output};
    stream_writer_options options = stream_writer_options_defaults();
    options.compression = settings->compression;
    options.background = background;
    bool regular = false;
    int code = check_inputs(settings);
    if (code == EXIT_DONE && settings->output) code = classify(settings->output, &regular);
    if (code != EXIT_DONE) return code;
    options.path = settings->output;
    if (regular && !(output->path = resolve(settings->output))) return cli_error("out of memory");
    if (resume) {
        options.mark = resume;
        options.path = output->path;
        output->mark = *resume;
    } else if (regular) {
        code = make_temporary(output);
        options.path = output->temporary;
    }
    stream_error err;
    if (code == EXIT_DONE && stream_writer_open(&output->writer, &options, &err) != STREAM_OK)
        code = cli_error("%s", err.message);
    if (code != EXIT_DONE) run_output_abandon(output);
    return code;
}

void run_output_rename_error(const run_output *output, stream_error *err) {
    char *at = output->temporary ? strstr(err->message, output->temporary) : NULL;
    if (!at) return;
    char rest[sizeof err->message];
    snprintf(rest, sizeof rest, "%s", at + strlen(output->temporary));
    snprintf(at, sizeof err->message - (size_t)(at - err->message), "%s%s", output->name, rest);
}

static stream_status put_in_place(run_output *output, bool sync, stream_error *err) {
    if (!output->temporary) return STREAM_OK;
    if (rename(output->temporary, output->path)) {
        *err = (stream_error){.os_error = errno};
        snprintf(err->message, sizeof err->message, "cannot replace '%s': %s", output->name,
                 strerror(errno));
        return STREAM_FAILED;
    }
    forget(output);
    if (!sync) return STREAM_OK;
    /* The new name must be on the disk before a state speaks of it. */
    char *copy = strdup(output->path);
    int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    free(copy);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    return STREAM_OK;
}

stream_status run_output_commit(run_output *output, bool sync, stream_error *err) {
    stream_mark mark;
    stream_status status = stream_writer_mark(output->writer, sync, &mark, err);
    if (status == STREAM_OK) status = put_in_place(output, sync, err);
    if (status == STREAM_OK) output->mark = mark;
    return status;
}

stream_status run_output_close(run_output *output, stream_error *err) {
    stream_status status = stream_writer_close(output->writer, err);
    output->writer = NULL;
    if (status == STREAM_OK) status = put_in_place(output, false, err);
    run_output_abandon(output);
    return status;
}

void run_output_abandon(run_output *output) {
    stream_error err;
    bool unfinished = output->writer != NULL;
    if (unfinished) stream_writer_close(output->writer, &err);
    if (output->temporary) {
        unlink(output->temporary);
        forget(output);
    } else if (unfinished && output->path) {
        if (truncate(output->path, (off_t)output->mark.offset))
            cli_error("cannot cut '%s' back to its last saved point, byte %llu: %s", output->name,
                      (unsigned long long)output->mark.offset, strerror(errno));
    }
    free(output->path);
    *output = (run_output){0};
}
