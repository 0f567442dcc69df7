/* crashing.c - weir as it is, but it kills itself at a place that the test chooses.
 *
 * WEIR_CRASH=PLACE:N, where PLACE is before-send, after-send, before-flush, after-flush,
 * before-save, after-save, before-settle, after-settle, before-note, after-note, before-ticket,
 * after-ticket, before-collect or after-collect: at the N-th time that it comes there. The
 * functions are wrapped when the program is linked. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "broker.h"
#ifdef HAVE_REMOTE
#include "weir_remote.h"
#endif

static void come_to(const char *place) {
    static unsigned long times;
    const char *wanted = getenv("WEIR_CRASH");
    size_t length = strlen(place);
    if (!wanted || strncmp(wanted, place, length) != 0 || wanted[length] != ':') return;
    if (++times == strtoul(wanted + length + 1, NULL, 10)) raise(SIGKILL);
}

stream_status __real_broker_sink_send(broker_sink *s, const broker_message *m, const char *origin,
                                      stream_error *err);
stream_status __wrap_broker_sink_send(broker_sink *s, const broker_message *m, const char *origin,
                                      stream_error *err);
stream_status __real_broker_sink_flush(broker_sink *s, stream_error *err);
stream_status __wrap_broker_sink_flush(broker_sink *s, stream_error *err);
stream_status __real_broker_source_settle(broker_source *s, size_t taken, stream_error *err);
stream_status __wrap_broker_source_settle(broker_source *s, size_t taken, stream_error *err);
weir_status __real_weir_snapshot_write(const weir_snapshot *s, const char *path, weir_error *err);
weir_status __wrap_weir_snapshot_write(const weir_snapshot *s, const char *path, weir_error *err);

stream_status __wrap_broker_sink_send(broker_sink *s, const broker_message *m, const char *origin,
                                      stream_error *err) {
    come_to("before-send");
    stream_status status = __real_broker_sink_send(s, m, origin, err);
    come_to("after-send");
    return status;
}

stream_status __wrap_broker_sink_flush(broker_sink *s, stream_error *err) {
    come_to("before-flush");
    stream_status status = __real_broker_sink_flush(s, err);
    come_to("after-flush");
    return status;
}

stream_status __wrap_broker_source_settle(broker_source *s, size_t taken, stream_error *err) {
    come_to("before-settle");
    stream_status status = __real_broker_source_settle(s, taken, err);
    come_to("after-settle");
    return status;
}

weir_status __wrap_weir_snapshot_write(const weir_snapshot *s, const char *path, weir_error *err) {
    come_to("before-save");
    weir_status status = __real_weir_snapshot_write(s, path, err);
    come_to("after-save");
    return status;
}

#ifdef HAVE_REMOTE
weir_status __real_weir_remote_put_note(weir_remote *r, const char *name, const void *bytes,
                                        size_t length, void **before, size_t *before_length,
                                        weir_error *err);
weir_status __wrap_weir_remote_put_note(weir_remote *r, const char *name, const void *bytes,
                                        size_t length, void **before, size_t *before_length,
                                        weir_error *err);
weir_status __real_weir_remote_submit_ticket(weir_remote *r, const void *ticket, size_t length,
                                             size_t *count, weir_error *err);
weir_status __wrap_weir_remote_submit_ticket(weir_remote *r, const void *ticket, size_t length,
                                             size_t *count, weir_error *err);
weir_status __real_weir_remote_collect(weir_remote *r, uint64_t *verdicts, size_t *seen,
                                       weir_error *err);
weir_status __wrap_weir_remote_collect(weir_remote *r, uint64_t *verdicts, size_t *seen,
                                       weir_error *err);

weir_status __wrap_weir_remote_put_note(weir_remote *r, const char *name, const void *bytes,
                                        size_t length, void **before, size_t *before_length,
                                        weir_error *err) {
    come_to("before-note");
    weir_status status =
        __real_weir_remote_put_note(r, name, bytes, length, before, before_length, err);
    come_to("after-note");
    return status;
}

weir_status __wrap_weir_remote_submit_ticket(weir_remote *r, const void *ticket, size_t length,
                                             size_t *count, weir_error *err) {
    come_to("before-ticket");
    weir_status status = __real_weir_remote_submit_ticket(r, ticket, length, count, err);
    come_to("after-ticket");
    return status;
}

weir_status __wrap_weir_remote_collect(weir_remote *r, uint64_t *verdicts, size_t *seen,
                                       weir_error *err) {
    come_to("before-collect");
    weir_status status = __real_weir_remote_collect(r, verdicts, seen, err);
    come_to("after-collect");
    return status;
}
#endif
