/* lab_book.c - the results of a folder, as lines of text.
 *
 *     weir-lab 2
 *     CODE EXPERIMENT quick|full CASE SEED SECONDS ROWS COLUMNS VALUE VALUE ...
 *
 * A line is appended with one write when its unit is done, so a run may end at
 * any instant: a last line that is not whole is passed over. CODE stands for the
 * source of the library, of the lab's streams and truth, and of the experiment's
 * own file (code.cmake makes it): a line with another code is kept, not used.
 * Numbers are printed with 17 digits and read back to the same bits.
 */
#include "lab_book.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lab_code.h"
#include "lab_error.h"
#include "lab_result.h"
#include "lab_rng.h"
#include "lab_stream.h"

static const char head[] = "weir-lab 2\n";

struct lab_book {
    int fd;
    lab_entry *entries;
    size_t count, room, stale;
};

/* --- which code ------------------------------------------------------------------ */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *lab_code_of(const lab_experiment *experiment, char code[17]) {
    static const struct { const char *file, *code; } files[] = {LAB_CODE_FILES};
    uint64_t own = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!strcmp(files[i].file, base_name(experiment->file)))
            own = strtoull(files[i].code, NULL, 16);
    if (lab_data_sampled() && lab_reads_real(experiment)) own = ~own; /* other numbers */
    snprintf(code, 17, "%016" PRIx64, lab_hash_id(own, strtoull(LAB_CODE, NULL, 16)));
    return code;
}

static const lab_experiment *find_experiment(const char *name) {
    for (size_t i = 0; lab_experiment_at(i); i++)
        if (!strcmp(lab_experiment_at(i)->name, name)) return lab_experiment_at(i);
    return NULL;
}

static bool is_current(const char *name, const char *code) {
    char now[17];
    const lab_experiment *experiment = find_experiment(name);
    return experiment && !strcmp(lab_code_of(experiment, now), code);
}

/* --- reading ---------------------------------------------------------------------- */

static lab_entry *new_entry(lab_book *book) {
    if (book->count == book->room) {
        size_t room = book->room ? 2 * book->room : 256;
        lab_entry *larger = realloc(book->entries, room * sizeof *larger);
        if (!larger) return NULL;
        book->entries = larger;
        book->room = room;
    }
    memset(&book->entries[book->count], 0, sizeof *book->entries);
    return &book->entries[book->count];
}

static bool parse_values(lab_entry *entry, const char *at) {
    size_t cells = entry->rows * entry->columns;
    entry->values = calloc(cells + 1, sizeof *entry->values);
    for (size_t i = 0; entry->values && i < cells; i++) {
        char *end;
        entry->values[i] = strtod(at, &end);
        if (end == at) break;
        at = end;
        if (i + 1 == cells && !*at) return true;
    }
    free(entry->values);
    entry->values = NULL;
    return false;
}

/* Take one line in; false if it is not one. */
static bool parse_line(lab_book *book, const char *line) {
    char code[17], size[6];
    int used = 0;
    lab_entry *entry = new_entry(book);
    if (!entry) return false;
    if (sscanf(line, "%16s %47s %5s %zu %" SCNu64 " %lf %zu %zu%n", code, entry->experiment, size,
               &entry->index, &entry->seed, &entry->seconds, &entry->rows, &entry->columns,
               &used) != 8)
        return false;
    if (entry->columns > LAB_MOST_COLUMNS || !entry->rows || entry->rows > 1000000) return false;
    if (!is_current(entry->experiment, code)) {
        book->stale++;
        return true;
    }
    entry->full = !strcmp(size, "full");
    if (!parse_values(entry, line + used)) return false;
    book->count++;
    return true;
}

static weir_status read_lines(lab_book *book, const char *path, FILE *in, weir_error *err) {
    char *line = NULL;
    size_t room = 0, number = 1;
    ssize_t length;
    weir_status status = WEIR_OK;
    while (!status && (length = getline(&line, &room, in)) > 0) {
        number++;
        if (line[length - 1] != '\n') break; /* cut off by the end of its run */
        line[length - 1] = 0;
        if (*line && !parse_line(book, line))
            status = lab_error(err, WEIR_ERR_CORRUPT, -1,
                               "'%s', line %zu is no result; remove the line, or the file", path,
                               number);
    }
    free(line);
    return status;
}

static weir_status read_book(lab_book *book, const char *path, weir_error *err) {
    char first[sizeof head] = "";
    FILE *in = fopen(path, "r");
    if (!in) return lab_error(err, WEIR_ERR_IO, -1, "cannot open '%s': %s", path, strerror(errno));
    weir_status status = WEIR_OK;
    if (fgets(first, sizeof first, in) && strcmp(first, head) != 0)
        status = lab_error(err, WEIR_ERR_VERSION, -1,
                           "'%s' was written by another version of weir lab; name another folder "
                           "with --out, or remove it",
                           path);
    else if (*first) status = read_lines(book, path, in, err);
    fclose(in);
    return status;
}

/* --- opening and writing ----------------------------------------------------------- */

/* A last line without its end is ended, so that the next one begins a line. */
static bool finish_last_line(int fd) {
    char last = '\n';
    off_t size = lseek(fd, 0, SEEK_END);
    if (size == 0) return write(fd, head, sizeof head - 1) == (ssize_t)sizeof head - 1;
    if (pread(fd, &last, 1, size - 1) != 1 || last == '\n') return true;
    off_t from = size;
    while (from > 0 && pread(fd, &last, 1, from - 1) == 1 && last != '\n') from--;
    return ftruncate(fd, from) == 0;
}

static weir_status open_file(lab_book *book, const char *dir, const char *path, bool make,
                             weir_error *err) {
    if (make && mkdir(dir, 0777) && errno != EEXIST)
        return lab_error(err, WEIR_ERR_IO, -1, "cannot make the folder '%s': %s", dir,
                         strerror(errno));
    if (!make && access(path, R_OK) && errno == ENOENT)
        return lab_error(err, WEIR_ERR_IO, -1, "'%s' has no results; run 'weir lab run' first",
                         dir);
    if (make) book->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (make && (book->fd < 0 || !finish_last_line(book->fd)))
        return lab_error(err, WEIR_ERR_IO, -1, "cannot write '%s': %s", path, strerror(errno));
    return read_book(book, path, err);
}

weir_status lab_book_open(lab_book **out, const char *dir, bool make, weir_error *err) {
    char path[1024];
    lab_book *book = calloc(1, sizeof *book);
    *out = NULL;
    if (!book) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    book->fd = -1;
    snprintf(path, sizeof path, "%s/results", dir);
    weir_status status = open_file(book, dir, path, make, err);
    if (status) lab_book_close(book);
    else *out = book;
    return status;
}

void lab_book_close(lab_book *book) {
    if (!book) return;
    for (size_t i = 0; i < book->count; i++) free(book->entries[i].values);
    free(book->entries);
    if (book->fd >= 0) close(book->fd);
    free(book);
}

const lab_entry *lab_book_find(const lab_book *book, const lab_experiment *experiment, bool full,
                               size_t index, uint64_t seed) {
    for (size_t i = book->count; i-- > 0;) {
        const lab_entry *e = &book->entries[i];
        if (e->index == index && e->seed == seed && e->full == full &&
            !strcmp(e->experiment, experiment->name))
            return e;
    }
    return NULL;
}

weir_status lab_book_add(lab_book *book, const lab_unit *unit, weir_error *err) {
    char *line = NULL, code[17];
    size_t length = 0, columns = lab_column_count(unit->experiment);
    FILE *text = open_memstream(&line, &length);
    if (!text) return lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    fprintf(text, "%s %s %s %zu %" PRIu64 " %.3f %zu %zu", lab_code_of(unit->experiment, code),
            unit->experiment->name, unit->full ? "full" : "quick", unit->index, unit->seed,
            unit->seconds, unit->rows, columns);
    for (size_t i = 0; i < unit->rows * columns; i++) fprintf(text, " %.17g", unit->values[i]);
    weir_status status = WEIR_OK;
    if (fclose(text) || !line) {
        status = lab_error(err, WEIR_ERR_MEMORY, -1, "out of memory");
    } else if (!parse_line(book, line)) {
        status = lab_error(err, WEIR_ERR_MEMORY, -1, "a result of %s could not be kept",
                           unit->experiment->name);
    } else {
        line[length] = '\n'; /* in place of the final NUL */
        if (write(book->fd, line, length + 1) != (ssize_t)length + 1)
            status =
                lab_error(err, WEIR_ERR_IO, -1, "cannot write the results: %s", strerror(errno));
    }
    free(line);
    return status;
}

size_t lab_book_stale(const lab_book *book) { return book->stale; }
