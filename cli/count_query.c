/* count_query.c - keys that are asked for, hashed as the keys of records are.
 *
 * A word of --query is a key, of --query-file the name of a file whose lines are keys. A
 * key is written as the record's parts would be: for one column its value, for several
 * a row of them (CSV or TSV); for JSON paths a value (what is no JSON is taken as a
 * string), or an array of them. The keys are made into records and read by the reader
 * that reads all others, so that they cannot be hashed otherwise.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "count.h"
#include "json_out.h"
#include "plain_text.h"

typedef struct {
    count_key *keys;
    size_t count, room;
} key_list;

static int add_key(key_list *list, const char *text, size_t length) {
    if (list->count == list->room) {
        size_t room = list->room ? 2 * list->room : 64;
        count_key *more = realloc(list->keys, room * sizeof *more);
        if (!more) return cli_error("out of memory");
        list->keys = more;
        list->room = room;
    }
    char *copy = malloc(length + 1);
    if (!copy) return cli_error("out of memory");
    memcpy(copy, text, length);
    copy[length] = 0;
    count_key *key = &list->keys[list->count++];
    key->text = copy;
    key->length = length;
    key->hash = 0;
    return EXIT_DONE;
}

void count_keys_free(count_key *keys, size_t count) {
    for (size_t i = 0; i < count; i++) free(keys[i].text);
    free(keys);
}

static int add_file(key_list *list, const char *path, char end) {
    FILE *in = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int code = EXIT_DONE;
    if (!in) return cli_error("cannot open '%s': %s", path, strerror(errno));
    while (code == EXIT_DONE && (n = getdelim(&line, &room, end, in)) > 0) {
        if (line[n - 1] == end) n--;
        code = add_key(list, line, (size_t)n);
    }
    if (ferror(in)) code = cli_error("cannot read '%s': %s", path, strerror(errno));
    free(line);
    fclose(in);
    return code;
}

/* --- as records ------------------------------------------------------------------------- */

/* Parts of a --key: commas outside of quotes, and one. */
static unsigned parts_of(const char *key) {
    unsigned parts = 1;
    bool quoted = false;
    for (; *key; key++) {
        quoted ^= *key == '"';
        parts += *key == ',' && !quoted;
    }
    return parts;
}

static void put_json(FILE *out, const char *text, bool as_string) {
    json_out j = json_begin(out);
    json_open(&j, NULL, '{');
    /* what is no UTF-8 stays as it is, and the reader refuses it */
    if (as_string && plain_text_is_utf8(text, strlen(text))) json_text(&j, "k", text);
    else json_print(&j, "k", "%s", text);
    json_close(&j, '}');
}

/* A key that was taken for a string and yet looks like a value is shown as the string it is. */
static int show_as_string(count_key *key) {
    char *text = NULL;
    size_t length = 0;
    if (!stream_reads_as_json(key->text, key->length)) return EXIT_DONE;
    FILE *out = open_memstream(&text, &length);
    if (!out) return cli_error("out of memory");
    json_out j = json_begin(out);
    json_text(&j, NULL, key->text);
    if (fclose(out) || !text) return cli_error("out of memory");
    free(key->text);
    key->text = text;
    key->length = length;
    return EXIT_DONE;
}

/* A single column is a value, not a row: quote it. */
static void put_value(FILE *out, const char *text, size_t length) {
    fputc('"', out);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"') fputc('"', out);
        fputc(text[i], out);
    }
    fputc('"', out);
}

static void put_record(FILE *out, const count_key *key, const stream_options *in, unsigned parts,
                       bool as_string) {
    if (in->format == STREAM_JSON && in->key) put_json(out, key->text, as_string);
    else if (in->format == STREAM_CSV && in->key && parts == 1)
        put_value(out, key->text, key->length);
    else fwrite(key->text, 1, key->length, out);
    fputc(in->terminator, out);
}

/* The key of those records: their parts in order. */
static void key_spec(char *spec, size_t size, const stream_options *in, unsigned parts) {
    size_t used = 0;
    bool json = in->format == STREAM_JSON;
    *spec = 0;
    for (unsigned i = 0; i < parts && used < size; i++) {
        const char *comma = i ? "," : "";
        int n = json && parts == 1 ? snprintf(spec, size, ".k")
                : json             ? snprintf(spec + used, size - used, "%s.k[%u]", comma, i)
                                   : snprintf(spec + used, size - used, "%s%u", comma, i + 1);
        used += (size_t)n;
    }
}

/* Read the records back; `bad` is set where a record could not be read as a key. */
static int read_back(const char *path, key_list *list, size_t first, size_t count,
                     const stream_options *options, bool *bad) {
    const stream_batch *b;
    stream_reader *reader;
    stream_error err;
    size_t n = 0;
    if (stream_open(&reader, options, &path, 1, &err) != STREAM_OK)
        return cli_error("--query: %s", cli_stream_words(&err));
    stream_status status;
    while ((status = stream_next(reader, -1, &b, &err)) == STREAM_BATCH)
        for (size_t i = 0; i < b->count && n < count; i++, n++) {
            *bad |= b->status && b->status[i] != STREAM_RECORD_OK;
            list->keys[first + n].hash = b->hashes[i];
        }
    stream_close(reader);
    if (status == STREAM_FAILED || n < count) *bad = true;
    return EXIT_DONE;
}

/* Hash one key or several, as records in a file that lives in memory. */
static int hash_as_records(key_list *list, size_t first, size_t count, const stream_options *from,
                           const weir_sketch *hasher, bool as_string, bool *bad) {
    char spec[512], path[64];
    unsigned parts = from->key ? parts_of(from->key) : 0;
    int fd = memfd_create("weir-query", MFD_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!out) return cli_error("cannot prepare --query: %s", strerror(errno));
    for (size_t i = 0; i < count; i++)
        put_record(out, &list->keys[first + i], from, parts, as_string);
    stream_options options = *from;
    key_spec(spec, sizeof spec, from, parts);
    options.key = from->key ? spec : NULL;
    options.header = false;
    options.key_skip_prefix = 0;
    options.time_field = options.number_field = NULL;
    options.sketch = hasher;
    options.threads = 1;
    options.plain = true;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    *bad = false;
    int code = fflush(out) ? cli_error("cannot prepare --query: %s", strerror(errno))
                           : read_back(path, list, first, count, &options, bad);
    fclose(out);
    return code;
}

static int hash_keys(key_list *list, const stream_options *from, const weir_sketch *hasher) {
    bool bad = false;
    if (from->format == STREAM_FIXED || from->format == STREAM_LEN32) {
        for (size_t i = 0; i < list->count; i++)
            list->keys[i].hash = weir_sketch_hash(hasher, list->keys[i].text, list->keys[i].length);
        return EXIT_DONE;
    }
    int code = hash_as_records(list, 0, list->count, from, hasher, false, &bad);
    for (size_t i = 0; bad && i < list->count && code == EXIT_DONE; i++) {
        bool alone_bad = false;
        bool json = from->format == STREAM_JSON && from->key;
        code = hash_as_records(list, i, 1, from, hasher, false, &alone_bad);
        if (code == EXIT_DONE && alone_bad && json && parts_of(from->key) == 1) {
            code = hash_as_records(list, i, 1, from, hasher, true, &alone_bad);
            if (code == EXIT_DONE && !alone_bad) code = show_as_string(&list->keys[i]);
        }
        if (code == EXIT_DONE && alone_bad)
            code = cli_error("--query: '%.200s' is not a key of this --format and --key",
                             list->keys[i].text);
    }
    return code;
}

int count_keys_read(count_key **keys, size_t *count, const count_settings *s,
                    const weir_sketch *hasher) {
    key_list list = {0};
    int code = EXIT_DONE;
    for (size_t i = 0; i < s->query_count && code == EXIT_DONE; i++) {
        code = s->query_is_file[i] ? add_file(&list, s->queries[i], s->from.in.terminator)
                                   : add_key(&list, s->queries[i], strlen(s->queries[i]));
    }
    if (code == EXIT_DONE && list.count) code = hash_keys(&list, &s->from.in, hasher);
    *keys = list.keys;
    *count = list.count;
    return code;
}
