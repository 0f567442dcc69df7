/* run_shared.c - a run over streams whose filter stands on servers.
 *
 * The note is lines of `name=value`, and behind them the ticket:
 *
 *     token=16 hex digits   the process that wrote it
 *     id=16 hex digits      whose marks its messages in the sink have
 *     from=, to=            the streams
 *     position=             where the sink ended before the batch
 *     doubts=5-0:n,5-1:s    what is known of messages that have not come again
 *     messages=6-0,6-1      those of the ticket, in its order
 *     ticket=BYTES
 */
#include "run_shared.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "cli.h"
#include "note_lines.h"
#include "stopping.h"

#ifdef HAVE_REMOTE

#define DOUBT_NS (INT64_C(600) * 1000000000) /* the least time in which a message comes again */
#define NS_OF_MS 1000000

static int fail(const weir_error *err) { return cli_error("%s", err->message); }
static int no_memory(void) { return cli_error("out of memory"); }

/* --- doubts -------------------------------------------------------------------------------- */

static int compare_ids(broker_id a, broker_id b) {
    if (a.hi != b.hi) return a.hi < b.hi ? -1 : 1;
    return a.lo < b.lo ? -1 : a.lo > b.lo;
}

/* Where a doubt about a message is, or would be. */
static size_t place_of(const run_shared *s, broker_id id, bool *there) {
    size_t low = 0, high = s->doubt_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_ids(s->doubts[middle].id, id) < 0) low = middle + 1;
        else high = middle;
    }
    *there = low < s->doubt_count && !compare_ids(s->doubts[low].id, id);
    return low;
}

/* Note the verdict on a message in doubt; SENT, as the sink told, is final. */
static bool add_doubt(run_shared *s, broker_id id, doubt_verdict verdict) {
    const stream_array arrays[] = {{&s->doubts, sizeof *s->doubts}};
    bool there;
    size_t at = place_of(s, id, &there);
    if (there) {
        if (s->doubts[at].verdict != DOUBT_SENT) s->doubts[at].verdict = verdict;
        return true;
    }
    if (!stream_make_room(&s->doubt_room, s->doubt_count + 1, arrays, 1)) return false;
    memmove(s->doubts + at + 1, s->doubts + at, (s->doubt_count - at) * sizeof *s->doubts);
    s->doubts[at] = (run_doubt){.id = id, .verdict = verdict};
    s->doubt_count++;
    return true;
}

/* Messages that came are no longer in doubt; after a time none is, as the rest will not come. */
static void drop_doubts(run_shared *s) {
    size_t kept = 0;
    if (s->doubt_count && clock_now(CLOCK_MONOTONIC) > s->until) s->doubt_count = 0;
    for (size_t i = 0; i < s->doubt_count; i++)
        if (!s->doubts[i].used) s->doubts[kept++] = s->doubts[i];
    s->doubt_count = kept;
}

/* --- notes --------------------------------------------------------------------------------- */

static const char letters[] = "nsx"; /* by doubt_verdict */

/* The note of another process, or of an earlier run. */
typedef struct {
    char *bytes;
    size_t length; /* of the lines */
    const char *ticket;
    size_t ticket_length;
    char id[RUN_STREAMS_ID], token[RUN_STREAMS_ID];
    char *position; /* or NULL */
    bool same_from, same_to;
    broker_id *messages;
    size_t message_count;
} left_note;

static void release_note(left_note *n) {
    free(n->bytes);
    free(n->position);
    free(n->messages);
    *n = (left_note){0};
}

static bool is_value(const left_note *n, const char *name, const char *wanted) {
    note_line line;
    return note_find(n->bytes, n->length, name, &line) && line.value_length == strlen(wanted) &&
           !memcmp(line.value, wanted, line.value_length);
}

static bool take_word(const left_note *n, const char *name, char word[RUN_STREAMS_ID]) {
    note_line line;
    if (!note_find(n->bytes, n->length, name, &line) || line.value_length != RUN_STREAMS_ID - 1)
        return false;
    memcpy(word, line.value, line.value_length);
    word[line.value_length] = 0;
    return true;
}

/* "HI-LO" at *at, which is then behind it. */
static bool take_id(const char **at, broker_id *id) {
    char *end;
    if (**at < '0' || **at > '9') return false;
    id->hi = strtoull(*at, &end, 10);
    if (*end != '-' || end[1] < '0' || end[1] > '9') return false;
    id->lo = strtoull(end + 1, &end, 10);
    *at = end;
    return true;
}

static bool take_messages(left_note *n) {
    size_t room = 0;
    note_line line;
    const stream_array arrays[] = {{&n->messages, sizeof *n->messages}};
    if (!note_find(n->bytes, n->length, "messages", &line)) return false;
    for (const char *at = line.value, *end = at + line.value_length; at < end; at += *at == ',') {
        if (!stream_make_room(&room, n->message_count + 1, arrays, 1)) return false;
        if (!take_id(&at, &n->messages[n->message_count++])) return false;
        if (at < end && *at != ',') return false;
    }
    return true;
}

/* The lines end with that of the ticket, which is behind them. */
static bool split_note(left_note *n, size_t length) {
    static const char last[] = "\nticket=";
    const char *at = memmem(n->bytes, length, last, sizeof last - 1);
    if (!at) return false;
    char *end;
    unsigned long long size = strtoull(at + sizeof last - 1, &end, 10);
    if (*end != '\n') return false;
    n->length = (size_t)(end + 1 - n->bytes);
    n->ticket = end + 1;
    n->ticket_length = length - n->length;
    return n->ticket_length == size;
}

/* Takes the bytes over. */
static int read_note(const run_shared *s, left_note *n, void *bytes, size_t length,
                     const char *name) {
    note_line line;
    *n = (left_note){.bytes = bytes};
    if (!split_note(n, length) || !take_word(n, "id", n->id) || !take_word(n, "token", n->token) ||
        !take_messages(n))
        return cli_error("the note '%s' on the servers is not one of this version of weir", name);
    n->same_from = is_value(n, "from", s->from);
    n->same_to = is_value(n, "to", s->to);
    if (note_find(n->bytes, n->length, "position", &line) &&
        !(n->position = strndup(line.value, line.value_length)))
        return no_memory();
    return EXIT_DONE;
}

static bool write_ids(FILE *out, run_shared *s, const broker_id *ids, size_t count) {
    const char *comma = "";
    fputs("doubts=", out);
    for (size_t i = 0; i < s->doubt_count; i++, comma = ",")
        fprintf(out, "%s%" PRIu64 "-%" PRIu64 ":%c", comma, s->doubts[i].id.hi, s->doubts[i].id.lo,
                letters[s->doubts[i].verdict]);
    fputs("\nmessages=", out);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "%s%" PRIu64 "-%" PRIu64, i ? "," : "", ids[i].hi, ids[i].lo);
    return fputc('\n', out) != EOF;
}

/* Somebody else who has our name has written it since we did. */
static int check_alone(const run_shared *s, const void *before, size_t length) {
    const left_note n = {.bytes = (char *)(uintptr_t)before, .length = length};
    if (!before || !*s->expected || is_value(&n, "token", s->expected)) return EXIT_DONE;
    return cli_error("another run reads '%s' as the same consumer; give each a name: consumer=NAME "
                     "in the URL of --from",
                     s->streams->from.text);
}

static int put_note(run_shared *s, const broker_id *ids, size_t count, const void *ticket,
                    size_t ticket_length) {
    char *bytes = NULL, *position = NULL;
    size_t length, before_length;
    void *before;
    stream_error failure;
    weir_error err;
    if (s->streams->sink && !(position = broker_sink_position(s->streams->sink, &failure)))
        return cli_stream_error(&failure);
    FILE *out = open_memstream(&bytes, &length);
    if (out) {
        fprintf(out, "weir run 1\ntoken=%s\nid=%s\nfrom=%s\nto=%s\n", s->token, s->streams->id,
                s->from, s->to);
        if (position) fprintf(out, "position=%s\n", position);
        write_ids(out, s, ids, count);
        fprintf(out, "ticket=%zu\n", ticket_length);
        if (ticket_length) fwrite(ticket, 1, ticket_length, out);
    }
    free(position);
    if (!out || fclose(out)) {
        free(bytes);
        return no_memory();
    }
    weir_status status =
        weir_remote_put_note(s->remote, s->name, bytes, length, &before, &before_length, &err);
    free(bytes);
    if (status != WEIR_OK) {
        free(before);
        return fail(&err);
    }
    int code = check_alone(s, before, before_length);
    free(before);
    memcpy(s->expected, s->token, sizeof s->expected);
    return code;
}

/* --- what was left open -------------------------------------------------------------------- */

static bool take_doubts(run_shared *s, const left_note *n) {
    broker_id id;
    note_line line;
    if (!note_find(n->bytes, n->length, "doubts", &line)) return true;
    for (const char *at = line.value, *end = at + line.value_length; at < end; at += *at == ',') {
        if (!take_id(&at, &id) || *at != ':' || !strchr(letters, at[1])) return false;
        if (!add_doubt(s, id, (doubt_verdict)(strchr(letters, at[1]) - letters))) return false;
        at += 2;
    }
    return true;
}

/* Messages whose mark is in the sink were sent. */
static int read_tail(run_shared *s, broker_sink *sink, const char *position) {
    const broker_message *messages;
    size_t count;
    stream_error err;
    stream_status status = broker_sink_tail(sink, position, &err);
    while (status != STREAM_FAILED && status != STREAM_END) {
        status = broker_sink_poll_tail(sink, 100, &messages, &count, &err);
        for (size_t i = 0; status == STREAM_BATCH && i < count; i++)
            if (!add_doubt(s, messages[i].id, DOUBT_SENT)) return no_memory();
    }
    return status == STREAM_END ? EXIT_DONE : cli_stream_error(&err);
}

/* The verdicts on their last batch, as it was answered or is answered now. */
static int ask_again(run_shared *s, const left_note *n) {
    size_t count = 0, seen;
    weir_error err;
    if (!n->ticket_length || !n->message_count) return EXIT_DONE;
    weir_status status =
        weir_remote_submit_ticket(s->remote, n->ticket, n->ticket_length, &count, &err);
    if (status == WEIR_ERR_MISMATCH) return EXIT_DONE; /* another filter: it knows none of them */
    if (status != WEIR_OK) return fail(&err);
    uint64_t *verdicts = calloc(WEIR_VERDICT_WORDS(count) + 1, sizeof *verdicts);
    if (!verdicts) return no_memory();
    status = weir_remote_collect(s->remote, verdicts, &seen, &err);
    int code = status == WEIR_OK ? EXIT_DONE : fail(&err);
    if (code == EXIT_DONE && count != n->message_count)
        code = cli_error("a note on the servers has %zu messages and a ticket for %zu",
                         n->message_count, count);
    for (size_t i = 0; i < n->message_count && code == EXIT_DONE; i++) {
        bool is_seen = verdicts[i / 64] >> (i % 64) & 1;
        if (!add_doubt(s, n->messages[i], is_seen ? DOUBT_SEEN : DOUBT_NEW)) code = no_memory();
    }
    free(verdicts);
    return code;
}

static int settle_doubts(run_shared *s, const left_note *n, broker_sink *sink) {
    if (!take_doubts(s, n)) return cli_error("a note on the servers has doubts that are not read");
    int code = ask_again(s, n);
    if (code == EXIT_DONE && sink && n->position && n->same_to)
        code = read_tail(s, sink, n->position);
    return code;
}

/* --- others of the group ------------------------------------------------------------------- */

static bool is_in_question(const left_note *n, const run_streams *streams) {
    broker_ids theirs = {0};
    bool found = false;
    broker_id id;
    note_line line;
    bool any = note_find(n->bytes, n->length, "doubts", &line);
    const char *end = any ? line.value + line.value_length : NULL;
    for (const char *at = any ? line.value : NULL; at < end; at += *at == ',')
        if (!take_id(&at, &id) || !broker_ids_add(&theirs, id)) break;
        else at += 2;
    for (size_t i = 0; i < n->message_count; i++) broker_ids_add(&theirs, n->messages[i]);
    for (size_t i = 0; i < streams->count && !found; i++)
        found = broker_ids_has(&theirs, streams->messages[i].id);
    broker_ids_release(&theirs);
    return found;
}

/* By their name: that they are gone is then sure, as far as the broker can make it so. */
static int take_over(run_shared *s, const left_note *n) {
    broker_sink *sink = NULL;
    stream_error err;
    if (s->streams->sink && run_streams_open_as(s->streams, n->id, &sink, &err) != STREAM_OK)
        return cli_stream_error(&err);
    int code = settle_doubts(s, n, sink);
    broker_sink_close(sink);
    return code;
}

typedef struct {
    char **names;
    size_t count, room;
} name_list;

static bool take_name(void *context, const char *name) {
    name_list *list = context;
    const stream_array arrays[] = {{&list->names, sizeof *list->names}};
    char *copy = strdup(name);
    if (!copy || !stream_make_room(&list->room, list->count + 1, arrays, 1)) {
        free(copy);
        return false;
    }
    list->names[list->count++] = copy;
    return true;
}

static int look_at_note(run_shared *s, const char *name) {
    left_note n = {0};
    weir_error err;
    void *bytes;
    size_t length;
    if (!strcmp(name, s->name)) return EXIT_DONE;
    if (weir_remote_get_note(s->remote, name, &bytes, &length, &err) != WEIR_OK) return fail(&err);
    if (!bytes) return EXIT_DONE;
    int code = read_note(s, &n, bytes, length, name);
    if (code == EXIT_DONE && n.same_from && is_in_question(&n, s->streams)) code = take_over(s, &n);
    release_note(&n);
    return code;
}

static int look_at_others(run_shared *s) {
    name_list list = {0};
    weir_error err;
    int code = EXIT_DONE;
    if (weir_remote_each_note(s->remote, take_name, &list, &err) != WEIR_OK) code = fail(&err);
    for (size_t i = 0; i < list.count; i++) {
        if (code == EXIT_DONE) code = look_at_note(s, list.names[i]);
        free(list.names[i]);
    }
    free(list.names);
    return code;
}

/* --- a batch ------------------------------------------------------------------------------- */

static bool room_for(run_shared *s, size_t count) {
    const stream_array arrays[] = {{&s->hashes, sizeof *s->hashes},
                                   {&s->verdicts, sizeof *s->verdicts},
                                   {&s->times, sizeof *s->times},
                                   {&s->importances, sizeof *s->importances},
                                   {&s->from_at, sizeof *s->from_at}};
    return stream_make_room(&s->room, count + 1, arrays, sizeof arrays / sizeof *arrays);
}

static broker_id id_of(const run_shared *s, const stream_selection *chosen, size_t i) {
    return s->streams->messages[chosen->whole ? i : chosen->places[i]].id;
}

/* Of messages in doubt what is known; the others side by side, to be offered. */
static weir_batch sort_out(run_shared *s, const stream_selection *chosen, const weir_batch *keys,
                           bool sends_seen, uint64_t *verdicts) {
    weir_batch open = {.hashes = s->hashes,
                       .times = keys->times ? s->times : NULL,
                       .importances = keys->importances ? s->importances : NULL};
    for (size_t i = 0; i < keys->count; i++) {
        bool there;
        size_t at = place_of(s, id_of(s, chosen, i), &there);
        if (there) {
            run_doubt *d = &s->doubts[at];
            bool as_seen = d->verdict == DOUBT_SENT ? !sends_seen : d->verdict == DOUBT_SEEN;
            d->used = true;
            if (as_seen) verdicts[i / 64] |= UINT64_C(1) << (i % 64);
            continue;
        }
        s->hashes[open.count] = keys->hashes[i];
        if (keys->times) s->times[open.count] = keys->times[i];
        if (keys->importances) s->importances[open.count] = keys->importances[i];
        s->from_at[open.count++] = (uint32_t)i;
    }
    return open;
}

static int put_open(run_shared *s, const stream_selection *chosen, const weir_batch *open,
                    void **ticket, size_t *length) {
    weir_error err;
    broker_id *ids = calloc(open->count, sizeof *ids);
    int code = EXIT_DONE;
    *ticket = NULL;
    if (!ids) return no_memory();
    for (size_t i = 0; i < open->count; i++) ids[i] = id_of(s, chosen, s->from_at[i]);
    if (weir_remote_prepare(s->remote, open, ticket, length, &err) != WEIR_OK) code = fail(&err);
    if (code == EXIT_DONE) code = put_note(s, ids, open->count, *ticket, *length);
    free(ids);
    return code;
}

/* Put the note, then offer. */
static engine_outcome offer(run_shared *s, const stream_selection *chosen, const weir_batch *open,
                            uint64_t *verdicts) {
    void *ticket;
    size_t length = 0, count = 0, seen = 0;
    weir_error err;
    int code = put_open(s, chosen, open, &ticket, &length);
    if (code == EXIT_DONE &&
        weir_remote_submit_ticket(s->remote, ticket, length, &count, &err) != WEIR_OK)
        code = fail(&err);
    free(ticket);
    if (code != EXIT_DONE) return at_gave_up() ? ENGINE_STOPPED : ENGINE_TROUBLE;
    if (weir_remote_collect(s->remote, s->verdicts, &seen, &err) != WEIR_OK) {
        fail(&err);
        return ENGINE_TROUBLE;
    }
    if (at_gave_up()) return ENGINE_STOPPED;
    for (size_t i = 0; i < open->count; i++) {
        uint64_t bit = s->verdicts[i / 64] >> (i % 64) & 1;
        verdicts[s->from_at[i] / 64] |= bit << (s->from_at[i] % 64);
    }
    return ENGINE_GO_ON;
}

engine_outcome run_shared_judge(run_shared *s, const stream_selection *chosen,
                                const weir_batch *keys, bool sends_seen, uint64_t *verdicts,
                                size_t *seen) {
    size_t words = WEIR_VERDICT_WORDS(keys->count);
    if (!room_for(s, keys->count)) return engine_no_memory();
    drop_doubts(s);
    if (broker_source_given_before(s->streams->source) && look_at_others(s) != EXIT_DONE)
        return ENGINE_TROUBLE;
    memset(verdicts, 0, words * sizeof *verdicts);
    weir_batch open = sort_out(s, chosen, keys, sends_seen, verdicts);
    engine_outcome so_far = open.count ? offer(s, chosen, &open, verdicts) : ENGINE_GO_ON;
    *seen = 0;
    for (size_t i = 0; i < words; i++) *seen += (size_t)__builtin_popcountll(verdicts[i]);
    return so_far;
}

/* --- beginning and ending ------------------------------------------------------------------ */

static int name_run(run_shared *s) {
    char host[64] = "weir";
    uint64_t number;
    gethostname(host, sizeof host - 1);
    s->from = run_streams_name(&s->streams->from);
    s->to = run_streams_name(&s->streams->to);
    if (!s->from || !s->to) return no_memory();
    int length = snprintf(s->name, sizeof s->name, "%s&consumer=%s", s->from,
                          broker_url_get(&s->streams->from, "consumer", host));
    if (length < 0 || (size_t)length >= sizeof s->name)
        return cli_error("the names of servers, stream, group and consumer in --from are longer "
                         "than %d bytes",
                         RUN_SHARED_NAME);
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return cli_error("the system gives no random numbers");
    snprintf(s->token, sizeof s->token, "%016" PRIx64, number);
    return EXIT_DONE;
}

/* How long a message that was given to us, or to another, may stay away. */
static int64_t patience(const run_streams *streams) {
    static const char *const waits[] = {"claim", "ack-wait"};
    int64_t most = DOUBT_NS;
    for (size_t i = 0; i < 2; i++) {
        uint64_t ms;
        stream_error err;
        if (broker_url_ms(&streams->from, waits[i], 0, &ms, &err) == STREAM_OK &&
            (int64_t)ms * 3 * NS_OF_MS > most)
            most = (int64_t)ms * 3 * NS_OF_MS;
    }
    return most;
}

static int open_as_before(run_shared *s, const left_note *n) {
    stream_error err;
    bool tail;
    if (*n->id) memcpy(s->streams->id, n->id, sizeof n->id);
    else memcpy(s->streams->id, s->token, sizeof s->token);
    memcpy(s->expected, n->token, sizeof s->expected);
    if (run_streams_open_sink(s->streams, &tail, &err) != STREAM_OK) return cli_stream_error(&err);
    return n->bytes ? settle_doubts(s, n, s->streams->sink) : EXIT_DONE;
}

int run_shared_open(run_shared *s, const at_filter *filter, run_streams *streams) {
    left_note n = {0};
    weir_error err;
    void *bytes, *ticket;
    size_t length;
    if (filter->live)
        return cli_error(
            "trees and places that are timers answer no batch a second time, so --from "
            "would lose records in a crash; take another filter");
    s->remote = filter->remote;
    s->streams = streams;
    s->until = clock_now(CLOCK_MONOTONIC) + patience(streams);
    int code = name_run(s);
    if (code != EXIT_DONE) return code;
    const weir_batch nothing = {0};
    if (weir_remote_prepare(s->remote, &nothing, &ticket, &length, &err) != WEIR_OK)
        return fail(&err);
    free(ticket);
    if (weir_remote_get_note(s->remote, s->name, &bytes, &length, &err) != WEIR_OK)
        return fail(&err);
    if (bytes) code = read_note(s, &n, bytes, length, s->name);
    if (code == EXIT_DONE) code = open_as_before(s, &n);
    release_note(&n);
    return code;
}

int run_shared_end(run_shared *s) {
    drop_doubts(s);
    return s->doubt_count || !*s->expected ? EXIT_DONE : put_note(s, NULL, 0, NULL, 0);
}

void run_shared_release(run_shared *s) {
    free(s->from);
    free(s->to);
    free(s->doubts);
    free(s->hashes);
    free(s->verdicts);
    free(s->times);
    free(s->importances);
    free(s->from_at);
    *s = (run_shared){0};
}

#else

/* There is no remote filter. */
int run_shared_open(run_shared *s, const at_filter *filter, run_streams *streams) {
    (void)s, (void)filter, (void)streams;
    return EXIT_TROUBLE;
}
engine_outcome run_shared_judge(run_shared *s, const stream_selection *chosen,
                                const weir_batch *keys, bool sends_seen, uint64_t *verdicts,
                                size_t *seen) {
    (void)s, (void)chosen, (void)keys, (void)sends_seen, (void)verdicts, (void)seen;
    return ENGINE_TROUBLE;
}
int run_shared_end(run_shared *s) {
    (void)s;
    return EXIT_DONE;
}
void run_shared_release(run_shared *s) { (void)s; }

#endif
