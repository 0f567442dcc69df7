/* run_files.c - the files that a run reads, and how a later run knows them again.
 *
 * Question   a run goes on where another stopped: which of today's files are those of then, and
 *            from which byte is each to be read?
 * Idea       a file is known by device and inode, and by hashes of its first and last
 *            END_BYTES as far as it went then; where the inode is another (a copy, a file
 *            system without inodes) by its name and these hashes.
 * Rotation   a log is renamed, and a new file stands under its name. The old one is then searched
 *            in its folder by its inode, what was added to it is read first, and then the new
 *            one from its beginning. Later runs look for it in the same way, as its writer may
 *            still add to it, until it is gone or its name is no longer in the list. If it is
 *            gone (deleted, compressed) the run goes on only if all that it had at the last save
 *            was read, and says so when it was the newest of its name.
 * Files that were added to the list are read from their beginning, in their place. Files that
 * are no longer in the list were read to their end, or the run is refused.
 */
#include "run_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

enum { END_BYTES = 4096 };

/* --- what a file is ----------------------------------------------------------------------- */

/* Hash the first of `size` bytes, or the last. 0 if they cannot be read. */
static uint64_t end_hash(const char *path, uint64_t size, bool last, const weir_filter *filter) {
    char bytes[END_BYTES];
    size_t count = size < sizeof bytes ? (size_t)size : sizeof bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return 0;
    ssize_t n = pread(fd, bytes, count, last ? (off_t)(size - count) : 0);
    close(fd);
    return n > 0 ? weir_filter_hash(filter, bytes, (size_t)n) : 0;
}

static void look_at(run_file *file, const weir_filter *filter) {
    struct stat now;
    if (!strcmp(file->path, "-") || stat(file->path, &now) || !S_ISREG(now.st_mode)) return;
    file->device = (uint64_t)now.st_dev;
    file->inode = (uint64_t)now.st_ino;
    file->size = (uint64_t)now.st_size;
    file->head = end_hash(file->path, file->size, false, filter);
    file->tail = end_hash(file->path, file->size, true, filter);
}

static bool same_inode(const run_file *a, const run_file *b) {
    return a->inode && a->inode == b->inode && a->device == b->device;
}

static bool same_head(const run_file *now, const run_file *then, const weir_filter *filter) {
    return then->size && end_hash(now->path, then->size, false, filter) == then->head;
}

/* Is what the file had then still there, as far as its ends tell? It may have grown. */
static bool same_content(const run_file *now, const run_file *then, const weir_filter *filter) {
    if (now->size < then->size) return false;
    return !then->size || (same_head(now, then, filter) &&
                           end_hash(now->path, then->size, true, filter) == then->tail);
}

/* Is there something that was not read? Of compressed content `offset` says nothing of bytes on
 * the disk: a file that ends as before is then read once more at worst. */
static bool has_more(const run_file *now, const run_file *then) {
    return !then->ended || now->size != then->size || now->size > then->offset;
}

/* --- beginning ---------------------------------------------------------------------------- */

/* Insert a file at a place. The path is copied. */
static run_file *insert(run_files *files, size_t at, const char *path) {
    run_file *list = realloc(files->list, (files->count + 1) * sizeof *list);
    char *copy = strdup(path);
    if (list) files->list = list;
    if (!copy || !list) {
        free(copy);
        return NULL;
    }
    run_file *file = list + at;
    memmove(file + 1, file, (files->count - at) * sizeof *file);
    *file = (run_file){.path = copy};
    files->count++;
    return file;
}

static bool set_paths(run_files *files) {
    const char **paths = realloc(files->paths, (files->count + 1) * sizeof *paths);
    if (!paths) return false;
    files->paths = paths;
    for (size_t i = 0; i < files->count; i++) paths[i] = files->list[i].path;
    return true;
}

bool run_files_look(run_files *files, const reading *from, const weir_filter *filter) {
    *files = (run_files){0};
    for (size_t i = 0; i < from->file_count; i++) {
        run_file *file = insert(files, i, from->files[i]);
        if (!file) return false;
        look_at(file, filter);
    }
    return set_paths(files);
}

void run_files_release(run_files *files) {
    for (size_t i = 0; i < files->count; i++) {
        free(files->list[i].path);
        free(files->list[i].name);
    }
    free(files->list);
    free(files->paths);
    free(files->starts);
    *files = (run_files){0};
}

/* --- on the way --------------------------------------------------------------------------- */

void run_files_reach(run_files *files, const stream_position *place, bool open_end) {
    run_file *file = &files->list[place->file];
    for (size_t i = 0; i < place->file; i++) files->list[i].ended = true;
    file->offset = place->offset;
    file->record = place->record;
    file->open_end = open_end;
    file->ended = false;
}

void run_files_mark(run_files *files, bool complete, const weir_filter *filter) {
    for (size_t i = 0; i < files->count; i++) {
        run_file *file = &files->list[i];
        struct stat now;
        if (file->ended) continue;
        bool grown = !stat(file->path, &now) && (uint64_t)now.st_size > file->size &&
                     (uint64_t)now.st_ino == file->inode;
        if (grown && file->offset && !file->open_end) look_at(file, filter);
        file->ended = complete;
    }
}

/* --- going on ----------------------------------------------------------------------------- */

/* The file of now that is one of then: by inode first, then by name. A file that stands in the
 * list twice is two files. */
static run_file *find_again(const run_files *files, const run_file *then, const bool *taken,
                            const weir_filter *filter) {
    for (int by_name = 0; by_name < 2; by_name++)
        for (size_t i = 0; i < files->count; i++) {
            run_file *now = &files->list[i];
            if (taken[i]) continue;
            bool alike =
                by_name ? then->size && !strcmp(now->path, then->path) : same_inode(now, then);
            if (alike && same_content(now, then, filter)) return now;
        }
    return NULL;
}

static const run_file *find_name(const run_files *files, const char *path) {
    for (size_t i = 0; i < files->count; i++)
        if (!strcmp(files->list[i].path, path)) return &files->list[i];
    return NULL;
}

/* Where in its folder a file is that had another name. The caller frees it; NULL: nowhere. */
static char *find_renamed(const run_file *then, const weir_filter *filter) {
    char *copy = strdup(then->path), *found = NULL;
    const char *folder = copy ? dirname(copy) : ".";
    DIR *entries = copy ? opendir(folder) : NULL;
    for (struct dirent *e; entries && !found && (e = readdir(entries));) {
        run_file now = {0};
        if ((uint64_t)e->d_ino != then->inode) continue;
        if (asprintf(&now.path, "%s/%s", folder, e->d_name) < 0) break;
        look_at(&now, filter);
        if (same_inode(&now, then) && same_content(&now, then, filter)) found = now.path;
        else free(now.path);
    }
    if (entries) closedir(entries);
    free(copy);
    return found;
}

static bool refuse(char *difference, size_t size, const char *path, const char *why) {
    snprintf(difference, size, "its input '%.200s' %s", path, why);
    return false;
}

static bool take_over(run_file *now, const run_file *then, char *difference, size_t size) {
    now->offset = then->offset;
    now->record = then->record;
    now->open_end = then->open_end;
    now->ended = !has_more(now, then);
    if (then->open_end && now->size != then->size)
        return refuse(difference, size, now->path,
                      "ended in the middle of a line and has grown since; remove the state file to "
                      "start over");
    if (then->open_end && then->ended) now->ended = true;
    return true;
}

/* Is the file under its name the old one with other content, not a new one? */
static bool was_changed(const run_file *named, const run_file *then, const weir_filter *filter) {
    if (same_head(named, then, filter)) return true;
    return same_inode(named, then) && named->size >= then->size;
}

/* Put the old file of a log that was renamed before the files of the list. */
static bool follow(run_files *files, const char *path, const run_file *then, size_t *before,
                   const weir_filter *filter, char *difference, size_t size) {
    run_file *now = insert(files, *before, path);
    char *name = strdup(then->name ? then->name : then->path);
    if (!now || !name) {
        free(name);
        return refuse(difference, size, then->path, "needs more memory than there is");
    }
    now->name = name;
    look_at(now, filter);
    ++*before;
    return take_over(now, then, difference, size);
}

/* A file of then that is not in the list of now. */
static bool miss(run_files *files, const run_file *then, size_t *before, const weir_filter *filter,
                 char *difference, size_t size) {
    const run_file *named = find_name(files, then->name ? then->name : then->path);
    char *renamed = named ? find_renamed(then, filter) : NULL;
    if (renamed) {
        bool fine = follow(files, renamed, then, before, filter, difference, size);
        free(renamed);
        return fine;
    }
    if (named && !then->name && was_changed(named, then, filter))
        return refuse(difference, size, then->path, "has changed since");
    if (!then->ended)
        return refuse(difference, size, then->path,
                      "was not read to its end, and is not among the files now");
    if (named && !then->name)
        cli_warn("'%s' is another file now, and the one that was read is gone from its folder: if "
                 "anything was added to that after %llu bytes, it is not read",
                 then->path, (unsigned long long)then->size);
    return true;
}

/* Once something was read, a file begins where that ended; one with nothing more is left out. */
static bool set_starts(run_files *files) {
    files->starts = calloc(files->count, sizeof *files->starts);
    for (size_t i = 0; files->starts && i < files->count; i++) {
        const run_file *file = &files->list[i];
        files->starts[i] = (stream_start){file->offset, file->record, file->ended};
    }
    return files->starts && set_paths(files);
}

/* Other files altogether are a mistake, not a list that has changed. */
static bool some_known(const run_files *files, const run_files *then, const bool *found) {
    bool known = !then->count;
    for (size_t i = 0; i < then->count; i++)
        known = known || found[i] || find_name(files, then->list[i].path);
    return known;
}

bool run_files_continue(run_files *files, const run_files *then, const weir_filter *filter,
                        char *difference, size_t size) {
    size_t before = 0;
    bool fits = true, *taken = calloc(files->count + then->count, sizeof *taken);
    bool *found = calloc(then->count + 1, sizeof *found);
    for (size_t i = 0; taken && found && fits && i < then->count; i++) {
        run_file *now = find_again(files, &then->list[i], taken, filter);
        if (!now) continue;
        found[i] = taken[now - files->list] = true;
        fits = take_over(now, &then->list[i], difference, size);
    }
    if (fits && found && !some_known(files, then, found))
        fits = refuse(difference, size, then->list[0].path, "is not among the files now");
    for (size_t i = 0; found && fits && i < then->count; i++)
        if (!found[i]) fits = miss(files, &then->list[i], &before, filter, difference, size);
    bool memory = taken && found;
    free(taken);
    free(found);
    if (memory && fits) memory = set_starts(files);
    if (!memory) snprintf(difference, size, "there is not enough memory");
    return memory && fits;
}
