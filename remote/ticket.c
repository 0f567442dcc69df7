/* ticket.c - batches as bytes, by which another process asks for their verdicts.
 *
 * Question   a process is killed between the moment at which slices were offered a batch and the
 *            moment at which it has done what the verdicts ask for. How do its records still come
 *            out, and come out once?
 * Idea       the requests of a batch have numbers, and a slice answers a number that it has had
 *            with what it said then (requests.c). A ticket has all of that: the sender's name, the
 *            numbers, the hashes of each request, and what the local filter said. It is put in a
 *            safe place before the batch is sent. Whoever finds it there sends the same requests
 *            again: those that were applied are answered from memory, those that were not are
 *            applied now. The verdicts are the same either way.
 * Limits     a slice remembers one request of each sender, so a ticket is good until its sender
 *            has sent another. Slices of places have no numbers, and so there are no tickets.
 * Layout     magic, seed, sender, counts; verdict words of the local filter; for each request
 *            slice, count and number; hashes; times; importances; where each key is in the batch.
 *            Little-endian. Bytes that a server gives back are checked like any input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote_state.h"
#include "wire_error.h"

static const char magic[8] = "weirtk1";

typedef struct {
    char magic[8];
    uint64_t seed;
    char who[40];
    uint32_t slices, count, kept, requests;
    uint32_t times, importances; /* 0 or 1 */
} ticket_head;

typedef struct {
    uint32_t slice, count;
    uint64_t number;
} ticket_request;

/* --- written ------------------------------------------------------------------------------- */

static size_t length_of(const ticket_head *h) {
    size_t a_key = 8 + 8 * (size_t)h->times + 8 * (size_t)h->importances + 4;
    return sizeof *h + WEIR_VERDICT_WORDS((size_t)h->count) * 8 +
           h->requests * sizeof(ticket_request) + h->kept * a_key;
}

static char *put(char *at, const void *bytes, size_t length) {
    if (length) memcpy(at, bytes, length);
    return at + length;
}

static void write_ticket(char *at, const ticket_head *h, const flight *f) {
    at = put(at, h, sizeof *h);
    at = put(at, f->verdicts, WEIR_VERDICT_WORDS(f->count) * 8);
    for (size_t i = 0; i < f->request_count; i++) {
        const request *q = &f->requests[i];
        ticket_request one = {(uint32_t)q->slice, (uint32_t)q->count, q->number};
        at = put(at, &one, sizeof one);
    }
    at = put(at, f->hashes, h->kept * (size_t)8);
    if (h->times) at = put(at, f->times, h->kept * (size_t)8);
    if (h->importances) at = put(at, f->importances, h->kept * (size_t)8);
    put(at, f->from, h->kept * sizeof *f->from);
}

weir_status weir_remote_prepare(weir_remote *r, const weir_batch *batch, void **ticket,
                                size_t *length, weir_error *err) {
    *ticket = NULL;
    if (r->cut.k)
        return wire_fail(err, WEIR_ERR_UNSUPPORTED,
                         "slices of places answer no batch a second time; take a filter for which "
                         "the servers need weir's module");
    if (r->flight_count)
        return wire_fail(err, WEIR_ERR_RANGE, "batches are on their way: collect them first");
    flight *f = requests_next(r);
    weir_status status = requests_cut(r, f, batch, err);
    if (status != WEIR_OK) return status;
    ticket_head head = {.seed = r->seed,
                        .slices = (uint32_t)r->plan.slices,
                        .count = (uint32_t)batch->count,
                        .requests = (uint32_t)f->request_count,
                        .times = batch->times != NULL,
                        .importances = batch->importances != NULL};
    memcpy(head.magic, magic, sizeof magic);
    snprintf(head.who, sizeof head.who, "%s.t", r->who);
    for (size_t i = 0; i < f->request_count; i++) head.kept += (uint32_t)f->requests[i].count;
    *length = length_of(&head);
    if (!(*ticket = malloc(*length))) return wire_no_memory(err);
    write_ticket(*ticket, &head, f);
    return WEIR_OK;
}

/* --- read ---------------------------------------------------------------------------------- */

static const char *get(void *bytes, const char *from, size_t length) {
    if (length) memcpy(bytes, from, length);
    return from + length;
}

static bool head_is_good(const ticket_head *h, size_t length) {
    return !memcmp(h->magic, magic, sizeof magic) && h->count <= KEYS_MOST && h->kept <= h->count &&
           h->requests <= h->kept && h->times <= 1 && h->importances <= 1 &&
           memchr(h->who, 0, sizeof h->who) && length == length_of(h);
}

static bool take_requests(weir_remote *r, flight *f, const ticket_head *h, const char *at) {
    size_t begin = 0;
    for (size_t i = 0; i < h->requests; i++) {
        ticket_request one;
        at = get(&one, at, sizeof one);
        if (one.slice >= r->plan.slices || !one.count || one.count > h->kept - begin ||
            (i && one.slice <= f->requests[i - 1].slice))
            return false;
        f->requests[i] = (request){.slice = one.slice,
                                   .count = one.count,
                                   .number = one.number,
                                   .hashes = f->hashes + begin,
                                   .times = h->times ? f->times + begin : NULL,
                                   .importances = h->importances ? f->importances + begin : NULL,
                                   .from = f->from + begin,
                                   .deadline = slice_deadline(&r->slices[one.slice])};
        begin += one.count;
    }
    f->request_count = h->requests;
    return begin == h->kept;
}

static bool take_ticket(weir_remote *r, flight *f, const ticket_head *h, const char *at) {
    at = get(f->verdicts, at, WEIR_VERDICT_WORDS(f->count) * 8);
    const char *requests = at;
    at = get(f->hashes, at + h->requests * sizeof(ticket_request), h->kept * (size_t)8);
    if (h->times) at = get(f->times, at, h->kept * (size_t)8);
    if (h->importances) at = get(f->importances, at, h->kept * (size_t)8);
    get(f->from, at, h->kept * sizeof *f->from);
    for (size_t i = 0; i < h->kept; i++)
        if (f->from[i] >= h->count) return false;
    if (h->count % 64) f->verdicts[h->count / 64] &= (UINT64_C(1) << h->count % 64) - 1;
    return take_requests(r, f, h, requests);
}

/* Is it the first time that it is sent? What a slice counts is compared only then: an answer from
 * memory says what it counted before. */
static bool is_fresh(weir_remote *r, const flight *f) {
    size_t own = strlen(r->who);
    if (!f->request_count || strncmp(f->who, r->who, own) != 0 || f->who[own] != '.') return false;
    uint64_t last = f->requests[f->request_count - 1].number;
    bool fresh = last > r->ticketed;
    if (fresh) r->ticketed = last;
    return fresh;
}

weir_status weir_remote_submit_ticket(weir_remote *r, const void *ticket, size_t length,
                                      size_t *count, weir_error *err) {
    ticket_head head;
    if (r->flight_count)
        return wire_fail(err, WEIR_ERR_RANGE, "batches are on their way: collect them first");
    if (length < sizeof head)
        return wire_fail(err, WEIR_ERR_CORRUPT, "the ticket of a batch is damaged");
    memcpy(&head, ticket, sizeof head);
    if (!head_is_good(&head, length))
        return wire_fail(err, WEIR_ERR_CORRUPT, "the ticket of a batch is damaged");
    if (head.seed != r->seed || head.slices != r->plan.slices)
        return wire_fail(err, WEIR_ERR_MISMATCH, "the ticket is of another filter than '%s'",
                         r->name);
    flight *f = requests_next(r);
    weir_status status = requests_make_room(r, f, head.count, err);
    if (status != WEIR_OK) return status;
    if (!take_ticket(r, f, &head, (const char *)ticket + sizeof head))
        return wire_fail(err, WEIR_ERR_CORRUPT, "the ticket of a batch is damaged");
    memcpy(f->who, head.who, sizeof f->who);
    f->by_ticket = true;
    f->is_fresh = is_fresh(r, f);
    *count = head.count;
    requests_go(r, f);
    return WEIR_OK;
}
