/* count_shelf.c - sketches of `weir count` that stand on servers. */
#include "count_shelf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "weir_sketch.h"

#ifdef HAVE_REMOTE

struct count_shelf {
    weir_shelf *shelf;
};

static int fail(const weir_error *err) { return cli_error("%s", err->message); }

static bool stop(void *context) {
    (void)context;
    return at_gave_up();
}

int count_shelf_open(count_shelf **out, const char *url, const at_settings *at) {
    weir_error err;
    weir_remote_options options = at->options;
    count_shelf *s = *out = calloc(1, sizeof *s);
    if (!s) return cli_error("out of memory");
    options.stop = stop;
    if (weir_shelf_open(&s->shelf, url, &options, &err) == WEIR_OK) return EXIT_DONE;
    free(s);
    *out = NULL;
    return fail(&err);
}

void count_shelf_close(count_shelf *s) {
    if (s) weir_shelf_close(s->shelf);
    free(s);
}

bool count_shelf_exists(const count_shelf *s) { return weir_shelf_count(s->shelf) > 0; }

/* The sum of what was pushed to sketch i, or an empty one. */
static weir_status pull(count_shelf *s, size_t i, weir_sketch **out, const char **name,
                        weir_error *err) {
    const char *spec;
    char there[1024];
    weir_shelf_get(s->shelf, i, name, &spec);
    weir_status status = weir_shelf_pull(s->shelf, *name, out, err);
    if (status != WEIR_OK) return status;
    if (!*out) return weir_sketch_new(out, spec, err);
    if (weir_sketch_spec(*out, there, sizeof there) < sizeof there && !strcmp(there, spec))
        return WEIR_OK;
    snprintf(err->message, sizeof err->message,
             "the sketch '%s' on the servers is %.150s, not %.150s; take another name", *name,
             there, spec);
    weir_sketch_free(*out);
    return WEIR_ERR_MISMATCH;
}

static bool write_memory(void *context, const void *bytes, size_t length) {
    return fwrite(bytes, 1, length, context) == length;
}

/* From one that is being made to one that can be taken from. */
static weir_status snapshot_again(const weir_snapshot *made, weir_snapshot **out, weir_error *err) {
    char *bytes = NULL;
    size_t length;
    FILE *memory = open_memstream(&bytes, &length);
    weir_status status = WEIR_ERR_MEMORY;
    snprintf(err->message, sizeof err->message, "out of memory");
    if (memory) status = weir_snapshot_write_to(made, write_memory, memory, err);
    if (memory && fclose(memory) && status == WEIR_OK) status = WEIR_ERR_MEMORY;
    if (status == WEIR_OK) status = weir_snapshot_read_bytes(out, bytes, length, NULL, err);
    free(bytes);
    return status;
}

int count_shelf_read(count_shelf *s, weir_snapshot **out) {
    weir_error err;
    size_t length, count = weir_shelf_count(s->shelf);
    weir_sketch **sketches = calloc(count + 1, sizeof(void *));
    const void *note = weir_shelf_note(s->shelf, &length);
    weir_status status = sketches ? weir_snapshot_new(out, &err) : WEIR_ERR_MEMORY;
    if (!sketches) return cli_error("out of memory");
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        const char *name;
        status = pull(s, i, &sketches[i], &name, &err);
        if (status != WEIR_OK) sketches[i] = NULL;
        if (status == WEIR_OK) status = weir_snapshot_put_sketch(*out, name, sketches[i], &err);
    }
    if (status == WEIR_OK && length)
        status = weir_snapshot_put_note(*out, "run", note, length, &err);
    weir_snapshot *made = *out;
    *out = NULL;
    if (status == WEIR_OK) status = snapshot_again(made, out, &err);
    weir_snapshot_free(made);
    for (size_t i = 0; i < count; i++) weir_sketch_free(sketches[i]);
    free(sketches);
    return status == WEIR_OK ? EXIT_DONE : fail(&err);
}

int count_shelf_make(count_shelf *s, const weir_sketch *const *sketches, const char *const *names,
                     size_t count, const void *note, size_t length) {
    weir_error err;
    if (weir_shelf_begin(s->shelf, sketches, names, count, note, length, &err) == WEIR_OK)
        return EXIT_DONE;
    return fail(&err);
}

int count_shelf_push(count_shelf *s, const char *name, const weir_sketch *sketch) {
    weir_error err;
    if (weir_shelf_push(s->shelf, name, sketch, &err) == WEIR_OK) return EXIT_DONE;
    return fail(&err);
}

#else

int count_shelf_open(count_shelf **out, const char *url, const at_settings *at) {
    (void)at;
    *out = NULL;
    return cli_error("cannot reach '%s': this weir was built without hiredis; build it where "
                     "libhiredis-dev is installed",
                     url);
}

/* There is no shelf without count_shelf_open(). */
void count_shelf_close(count_shelf *s) { (void)s; }
bool count_shelf_exists(const count_shelf *s) { return (void)s, false; }
int count_shelf_read(count_shelf *s, weir_snapshot **out) {
    (void)s, (void)out;
    return EXIT_TROUBLE;
}
int count_shelf_make(count_shelf *s, const weir_sketch *const *sketches, const char *const *names,
                     size_t count, const void *note, size_t length) {
    (void)s, (void)sketches, (void)names, (void)count, (void)note, (void)length;
    return EXIT_TROUBLE;
}
int count_shelf_push(count_shelf *s, const char *name, const weir_sketch *sketch) {
    (void)s, (void)name, (void)sketch;
    return EXIT_TROUBLE;
}

#endif
