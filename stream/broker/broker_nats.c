/* broker_nats.c - NATS JetStream by libnats.
 *
 * nats://[USER@]HOST[:PORT][,HOST...]/STREAM?group=DURABLE to read, nats://HOST/SUBJECT to write.
 *
 * Reading   A durable pull consumer, made if it is not there. A message is acknowledged by a word
 *           to the address that came with it, so those addresses are kept until it is settled;
 *           what is not acknowledged within the consumer's ack wait comes again.
 * Writing   Published without waiting for each; flushing waits for all acknowledgements of the
 *           server. Every message has a Nats-Msg-Id, so that within the stream's window for
 *           duplicates (two minutes, if nobody changed it) the server itself drops a second copy.
 * Position  The sequence number at which the stream ended. The tail is read by a consumer of its
 *           own that the server forgets by itself.
 */
#include "broker_internal.h"

#ifdef HAVE_NATS

#include <inttypes.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    CONNECT_MS = 5000,
    REQUEST_MS = 5000,   /* for an answer of the server */
    PUBLISH_MS = 30000,  /* for the acknowledgements of a flush */
    LEAST_FETCH_MS = 20, /* an answer takes a while to come */
    MOST_AT_ONCE = 512,  /* messages of a fetch; the server allows a megabyte for each */
    MOST_ON_THE_WAY = 4000,
    TAIL_MS = 2000,       /* for a message that is there */
    ACK_WAIT_MS = 60000,  /* of a consumer that is made here */
    ACK_PENDING = 100000, /* likewise */
    SECOND_OF_MS = 1000000
};

/* ------------------------------------------------------------------------
 * Connections
 * ------------------------------------------------------------------------ */

static stream_status fail(stream_error *err, const broker_url *url, const char *what,
                          natsStatus status) {
    natsStatus last = NATS_OK;
    const char *more = nats_GetLastError(&last);
    const char *text = natsStatus_GetText(status);
    bool detailed = last == status && more && *more && strcmp(more, text) != 0;
    return broker__fail(err, "%s '%s': %s%s%s", what, url->text, text, detailed ? ": " : "",
                        detailed ? more : "");
}

static natsStatus set_secrets(natsOptions *options, const broker_url *url, const char *secret) {
    const char *creds = broker_url_get(url, "creds", NULL), *ca = broker_url_get(url, "ca", NULL);
    natsStatus s = NATS_OK;
    if (*url->user) s = natsOptions_SetUserInfo(options, url->user, secret ? secret : "");
    else if (secret) s = natsOptions_SetToken(options, secret);
    if (s == NATS_OK && creds) s = natsOptions_SetUserCredentialsFromFiles(options, creds, NULL);
    if (s == NATS_OK && (ca || !strcmp(url->scheme, "tls")))
        s = natsOptions_SetSecure(options, true);
    if (s == NATS_OK && ca) s = natsOptions_LoadCATrustedCertificates(options, ca);
    return s;
}

static natsStatus set_servers(natsOptions *options, const broker_url *url) {
    const char *servers[16];
    char *list = strdup(url->hosts), *rest = list;
    int count = 0;
    natsStatus s = list ? NATS_OK : NATS_NO_MEMORY;
    for (char *host; s == NATS_OK && count < 16 && (host = strsep(&rest, ","));)
        servers[count++] = host;
    if (s == NATS_OK) s = natsOptions_SetServers(options, servers, count);
    free(list);
    return s;
}

static stream_status connect_to(natsConnection **connection, jsCtx **js, const broker_url *url,
                                jsOptions *js_options, stream_error *err) {
    natsOptions *options = NULL;
    char *secret = NULL;
    if (broker_password(url, &secret, err) != STREAM_OK) return STREAM_FAILED;
    natsStatus s = natsOptions_Create(&options);
    if (s == NATS_OK) s = set_servers(options, url);
    if (s == NATS_OK) s = natsOptions_SetTimeout(options, CONNECT_MS);
    if (s == NATS_OK) s = natsOptions_SetName(options, "weir");
    if (s == NATS_OK) s = set_secrets(options, url, secret);
    if (s == NATS_OK) s = natsConnection_Connect(connection, options);
    if (secret) memset(secret, 0, strlen(secret));
    free(secret);
    natsOptions_Destroy(options);
    if (s == NATS_OK) s = natsConnection_JetStream(js, *connection, js_options);
    return s == NATS_OK ? STREAM_OK : fail(err, url, "cannot connect to", s);
}

static stream_status not_enabled(const broker_url *url, stream_error *err) {
    return broker__fail(err, "the server of '%s' has no JetStream; start it with -js", url->text);
}

/* ------------------------------------------------------------------------
 * Messages
 * ------------------------------------------------------------------------ */

/* Messages that were received, and what is handed out of them. */
typedef struct {
    natsMsgList list;
    broker_message messages[BROKER_BATCH];
    broker_field *fields;
    size_t field_count, field_room;
} nats_batch;

static void release_batch(nats_batch *b) {
    natsMsgList_Destroy(&b->list);
    b->list = (natsMsgList){0};
    b->field_count = 0;
}

static bool take_headers(nats_batch *b, natsMsg *msg, size_t *count) {
    const char **keys = NULL;
    int n = 0;
    *count = 0;
    if (natsMsgHeader_Keys(msg, &keys, &n) != NATS_OK) return true;
    for (int i = 0; i < n; i++) {
        const char *value = NULL;
        if (natsMsgHeader_Get(msg, keys[i], &value) != NATS_OK || !value) continue;
        if (!broker__room(&b->fields, &b->field_room, b->field_count + 1, sizeof *b->fields)) {
            free(keys);
            return false;
        }
        b->fields[b->field_count++] =
            (broker_field){keys[i], strlen(keys[i]), value, strlen(value)};
        ++*count;
    }
    free(keys);
    return true;
}

/* Fill in the messages; ids come later. The fields are one array, which may move while it grows. */
static bool take_messages(nats_batch *b) {
    for (int i = 0; i < b->list.Count; i++) {
        natsMsg *msg = b->list.Msgs[i];
        broker_message *m = &b->messages[i];
        *m = (broker_message){.value = natsMsg_GetData(msg),
                              .length = (size_t)natsMsg_GetDataLength(msg)};
        if (!take_headers(b, msg, &m->field_count)) return false;
    }
    size_t at = 0;
    for (int i = 0; i < b->list.Count; i++) {
        b->messages[i].fields = b->fields + at;
        at += b->messages[i].field_count;
    }
    return true;
}

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

typedef struct {
    uint64_t sequence;
    char *address;
} nats_receipt;

typedef struct {
    broker_url url; /* the caller's, which outlives this */
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *subscription;
    const char *group;
    bool until_end;
    bool given_before; /* of the last batch one had been delivered before */
    nats_batch batch;
    nats_receipt *receipts;
    size_t receipt_count, receipt_room;
} nats_source;

static stream_status check_consumer(const nats_source *s, const jsConsumerInfo *info,
                                    broker_habits *habits, stream_error *err) {
    const jsConsumerConfig *c = info->Config;
    if (c->DeliverSubject)
        return broker__fail(err, "the consumer '%s' of '%s' is a push consumer; take another group",
                            s->group, s->url.text);
    if (c->AckPolicy != js_AckExplicit)
        return broker__fail(err,
                            "the consumer '%s' of '%s' does not acknowledge each message; take "
                            "another group",
                            s->group, s->url.text);
    habits->again_ms = (uint64_t)c->AckWait / SECOND_OF_MS;
    if (c->MaxAckPending > 0) habits->most_held = (uint64_t)c->MaxAckPending;
    return STREAM_OK;
}

static stream_status no_stream(const nats_source *s, stream_error *err) {
    return broker__fail(err, "there is no stream '%s' at '%s'; make it first", s->url.name,
                        s->url.text);
}

/* Find the durable consumer, or make it. */
static stream_status get_consumer(nats_source *s, broker_habits *habits, stream_error *err) {
    jsConsumerInfo *info = NULL;
    jsConsumerConfig config;
    jsErrCode code = 0;
    uint64_t ack_wait;
    const char *start = broker_url_get(&s->url, "start", "first");
    if (broker_url_ms(&s->url, "ack-wait", ACK_WAIT_MS, &ack_wait, err) != STREAM_OK)
        return STREAM_FAILED;
    natsStatus status = js_GetConsumerInfo(&info, s->js, s->url.name, s->group, NULL, &code);
    if (code == JSConsumerNotFoundErr) {
        jsConsumerConfig_Init(&config);
        config.Durable = s->group;
        config.AckPolicy = js_AckExplicit;
        config.DeliverPolicy = strcmp(start, "new") ? js_DeliverAll : js_DeliverNew;
        config.AckWait = (int64_t)ack_wait * SECOND_OF_MS;
        config.MaxAckPending = ACK_PENDING;
        status = js_AddConsumer(&info, s->js, s->url.name, &config, NULL, &code);
    }
    if (code == JSStreamNotFoundErr) return no_stream(s, err);
    if (code == JSNotEnabledErr || code == JSNotEnabledForAccountErr ||
        status == NATS_NO_RESPONDERS)
        return not_enabled(&s->url, err);
    if (status != NATS_OK) return fail(err, &s->url, "cannot read", status);
    stream_status checked = check_consumer(s, info, habits, err);
    jsConsumerInfo_Destroy(info);
    return checked;
}

static void source_close(void *self) {
    nats_source *s = self;
    release_batch(&s->batch);
    free(s->batch.fields);
    for (size_t i = 0; i < s->receipt_count; i++) free(s->receipts[i].address);
    free(s->receipts);
    natsSubscription_Destroy(s->subscription);
    jsCtx_Destroy(s->js);
    natsConnection_Destroy(s->connection);
    free(s);
}

static stream_status source_open(void **self, const broker_url *url,
                                 const broker_source_options *options, broker_habits *habits,
                                 stream_error *err) {
    nats_source *s = calloc(1, sizeof *s);
    jsErrCode code = 0;
    if (!s) return broker__no_memory(err);
    *self = s;
    s->url = *url;
    s->until_end = options->until_end;
    s->group = broker_url_get(url, "group", NULL);
    if (!s->group)
        return broker__fail(err,
                            "'%s' does not say which durable consumer it reads by; add "
                            "?group=NAME",
                            url->text);
    if (strpbrk(s->group, ".*> \t/\\"))
        return broker__fail(err, "a durable consumer cannot be called '%s'; leave out . * > and /",
                            s->group);
    if (connect_to(&s->connection, &s->js, url, NULL, err) != STREAM_OK ||
        get_consumer(s, habits, err) != STREAM_OK)
        return STREAM_FAILED;
    jsSubOptions bind;
    jsSubOptions_Init(&bind);
    bind.Stream = url->name;
    bind.Consumer = s->group;
    natsStatus status =
        js_PullSubscribe(&s->subscription, s->js, NULL, s->group, NULL, &bind, &code);
    return status == NATS_OK ? STREAM_OK : fail(err, url, "cannot read", status);
}

/* Is nothing waiting? *given: messages that are with somebody. */
static bool is_at_end(nats_source *s, size_t *given) {
    jsConsumerInfo *info = NULL;
    natsConnection_FlushTimeout(s->connection, REQUEST_MS);
    if (js_GetConsumerInfo(&info, s->js, s->url.name, s->group, NULL, NULL) != NATS_OK)
        return false;
    bool end = info->NumPending == 0;
    *given = (size_t)info->NumAckPending;
    jsConsumerInfo_Destroy(info);
    return end;
}

static bool keep_receipt(nats_source *s, natsMsg *msg, uint64_t *sequence) {
    jsMsgMetaData *about = NULL;
    if (natsMsg_GetMetaData(&about, msg) != NATS_OK) return false;
    *sequence = about->Sequence.Stream;
    s->given_before |= about->NumDelivered > 1;
    jsMsgMetaData_Destroy(about);
    char *address = strdup(natsMsg_GetReply(msg));
    if (!address ||
        !broker__room(&s->receipts, &s->receipt_room, s->receipt_count + 1, sizeof *s->receipts)) {
        free(address);
        return false;
    }
    s->receipts[s->receipt_count++] = (nats_receipt){*sequence, address};
    return true;
}

static stream_status source_poll(void *self, int timeout_ms, const broker_message **messages,
                                 size_t *count, stream_error *err) {
    nats_source *s = self;
    jsErrCode code = 0;
    release_batch(&s->batch);
    s->given_before = false;
    int64_t wait = timeout_ms < LEAST_FETCH_MS ? LEAST_FETCH_MS : timeout_ms;
    natsStatus status =
        natsSubscription_Fetch(&s->batch.list, s->subscription, MOST_AT_ONCE, wait, &code);
    if (status == NATS_TIMEOUT || (status == NATS_OK && !s->batch.list.Count))
        return s->until_end && is_at_end(s, count) ? STREAM_END : STREAM_IDLE;
    if (status != NATS_OK) return fail(err, &s->url, "lost", status);
    if (!take_messages(&s->batch)) return broker__no_memory(err);
    for (int i = 0; i < s->batch.list.Count; i++)
        if (!keep_receipt(s, s->batch.list.Msgs[i], &s->batch.messages[i].id.lo))
            return broker__fail(err, "'%s' sent a message without a place in its stream",
                                s->url.text);
    *messages = s->batch.messages;
    *count = (size_t)s->batch.list.Count;
    return STREAM_BATCH;
}

static bool source_given_before(const void *self) {
    return ((const nats_source *)self)->given_before;
}

static stream_status source_settle(void *self, const broker_ids *ids, stream_error *err) {
    nats_source *s = self;
    natsStatus status = NATS_OK;
    size_t kept = 0;
    for (size_t i = 0; i < s->receipt_count; i++) {
        nats_receipt *r = &s->receipts[i];
        if (status == NATS_OK && broker_ids_has(ids, (broker_id){0, r->sequence})) {
            status = natsConnection_PublishString(s->connection, r->address, "+ACK");
            free(r->address);
        } else {
            s->receipts[kept++] = *r;
        }
    }
    s->receipt_count = kept;
    if (status == NATS_OK) status = natsConnection_FlushTimeout(s->connection, REQUEST_MS);
    return status == NATS_OK ? STREAM_OK : fail(err, &s->url, "cannot acknowledge to", status);
}

static int64_t source_lag(void *self) {
    nats_source *s = self;
    jsConsumerInfo *info = NULL;
    if (js_GetConsumerInfo(&info, s->js, s->url.name, s->group, NULL, NULL) != NATS_OK) return -1;
    int64_t lag = (int64_t)info->NumPending;
    jsConsumerInfo_Destroy(info);
    return lag;
}

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

typedef struct {
    broker_url url;
    natsConnection *connection;
    jsCtx *js;
    char *stream; /* the one that takes the subject */
    char *producer;
    pthread_mutex_t lock; /* guards what the library's thread writes: */
    char trouble[256];    /* the first failure; "": none */

    natsSubscription *tail;
    uint64_t tail_end; /* the last sequence to be read */
    bool tail_done;
    natsMsg *received[BROKER_BATCH]; /* with our mark, */
    size_t received_count;
    broker_message messages[BROKER_BATCH]; /* and what they are */
} nats_sink;

static void on_published(jsCtx *js, natsMsg *msg, jsPubAck *ack, jsPubAckErr *trouble,
                         void *closure) {
    nats_sink *s = closure;
    (void)js, (void)ack;
    if (trouble) {
        pthread_mutex_lock(&s->lock);
        if (!*s->trouble)
            snprintf(s->trouble, sizeof s->trouble, "%s",
                     trouble->ErrText && *trouble->ErrText ? trouble->ErrText
                                                           : natsStatus_GetText(trouble->Err));
        pthread_mutex_unlock(&s->lock);
    }
    natsMsg_Destroy(msg);
}

/* Let go of what was read back. */
static void drop_received(nats_sink *s) {
    for (size_t i = 0; i < s->received_count; i++) natsMsg_Destroy(s->received[i]);
    s->received_count = 0;
}

static void sink_close(void *self) {
    nats_sink *s = self;
    drop_received(s);
    natsSubscription_Destroy(s->tail);
    jsCtx_Destroy(s->js);
    natsConnection_Destroy(s->connection);
    pthread_mutex_destroy(&s->lock);
    free(s->stream);
    free(s->producer);
    free(s);
}

/* The stream that takes a subject. */
static stream_status find_stream(nats_sink *s, stream_error *err) {
    jsStreamNamesList *names = NULL;
    jsOptions options;
    jsErrCode code = 0;
    jsOptions_Init(&options);
    options.Stream.Info.SubjectsFilter = s->url.name;
    natsStatus status = js_StreamNames(&names, s->js, &options, &code);
    if (status == NATS_NO_RESPONDERS || code == JSNotEnabledErr ||
        code == JSNotEnabledForAccountErr)
        return not_enabled(&s->url, err);
    if (status != NATS_OK && status != NATS_NOT_FOUND)
        return fail(err, &s->url, "cannot write to", status);
    if (names && names->Count > 0) s->stream = strdup(names->List[0]);
    bool none = !names || !names->Count;
    jsStreamNamesList_Destroy(names);
    if (none)
        return broker__fail(err, "no stream at '%s' takes the subject '%s'; make one first",
                            s->url.text, s->url.name);
    return s->stream ? STREAM_OK : broker__no_memory(err);
}

static stream_status sink_open(void **self, const broker_url *url,
                               const broker_sink_options *options, stream_error *err) {
    nats_sink *s = calloc(1, sizeof *s);
    if (!s) return broker__no_memory(err);
    *self = s;
    s->url = *url;
    pthread_mutex_init(&s->lock, NULL);
    if (options->producer && !(s->producer = strdup(options->producer)))
        return broker__no_memory(err);
    jsOptions js;
    jsOptions_Init(&js);
    js.PublishAsync.MaxPending = MOST_ON_THE_WAY;
    js.PublishAsync.StallWait = PUBLISH_MS;
    js.PublishAsync.AckHandler = on_published;
    js.PublishAsync.AckHandlerClosure = s;
    if (connect_to(&s->connection, &s->js, url, &js, err) != STREAM_OK) return STREAM_FAILED;
    return find_stream(s, err);
}

static stream_status said(nats_sink *s, stream_error *err) {
    char trouble[sizeof s->trouble];
    pthread_mutex_lock(&s->lock);
    memcpy(trouble, s->trouble, sizeof trouble);
    pthread_mutex_unlock(&s->lock);
    if (!*trouble) return STREAM_OK;
    return broker__fail(err, "cannot write to '%s': %s", s->url.text, trouble);
}

/* May a header be passed on? Those of the server are about the old message; names and values must
 * not end the line that they stand in. */
static bool passes_on(const broker_field *f) {
    if (!f->name_length || !strncasecmp(f->name, "Nats-", 5)) return false;
    if (!strcasecmp(f->name, BROKER_MARK)) return false;
    for (size_t i = 0; i < f->name_length; i++)
        if (f->name[i] <= ' ' || f->name[i] == ':' || f->name[i] == 127) return false;
    for (size_t i = 0; i < f->length; i++)
        if (f->value[i] == '\r' || f->value[i] == '\n' || !f->value[i]) return false;
    return true;
}

static natsStatus add_headers(natsMsg *msg, const broker_message *m, const char *mark) {
    natsStatus s = mark ? natsMsgHeader_Set(msg, BROKER_MARK, mark) : NATS_OK;
    for (size_t i = 0; i < m->field_count && s == NATS_OK && !m->entry; i++) {
        char *value =
            passes_on(&m->fields[i]) ? strndup(m->fields[i].value, m->fields[i].length) : NULL;
        if (value) s = natsMsgHeader_Add(msg, m->fields[i].name, value);
        free(value);
    }
    return s;
}

static stream_status sink_send(void *self, const broker_message *m, const char *mark,
                               const char *unique, stream_error *err) {
    nats_sink *s = self;
    natsMsg *msg = NULL;
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MsgId = unique;
    options.ExpectStream = s->stream;
    if (m->length > INT32_MAX / 2)
        return broker__fail(err, "a record of %zu bytes is too long for '%s'", m->length,
                            s->url.text);
    natsStatus status = natsMsg_Create(&msg, s->url.name, NULL, m->value, (int)m->length);
    if (status == NATS_OK) status = add_headers(msg, m, mark);
    if (status == NATS_OK) status = js_PublishMsgAsync(s->js, &msg, &options);
    natsMsg_Destroy(msg);
    if (status != NATS_OK) return fail(err, &s->url, "cannot write to", status);
    return said(s, err);
}

static stream_status sink_flush(void *self, stream_error *err) {
    nats_sink *s = self;
    jsPubOptions options;
    jsPubOptions_Init(&options);
    options.MaxWait = PUBLISH_MS;
    natsStatus status = js_PublishAsyncComplete(s->js, &options);
    if (status != NATS_OK) return fail(err, &s->url, "cannot write to", status);
    return said(s, err);
}

static stream_status last_sequence(nats_sink *s, uint64_t *last, stream_error *err) {
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, s->js, s->stream, NULL, &code);
    if (status != NATS_OK) return fail(err, &s->url, "cannot ask about", status);
    *last = info->State.LastSeq;
    jsStreamInfo_Destroy(info);
    return STREAM_OK;
}

static char *sink_position(void *self, stream_error *err) {
    nats_sink *s = self;
    char text[32];
    uint64_t last = 0;
    if (last_sequence(s, &last, err) != STREAM_OK) return NULL;
    snprintf(text, sizeof text, "%" PRIu64, last);
    char *position = strdup(text);
    if (!position) broker__no_memory(err);
    return position;
}

static stream_status sink_tail(void *self, const char *position, stream_error *err) {
    nats_sink *s = self;
    uint64_t from = strtoull(position, NULL, 10);
    jsErrCode code = 0;
    jsSubOptions options;
    if (last_sequence(s, &s->tail_end, err) != STREAM_OK) return STREAM_FAILED;
    s->tail_done = s->tail_end <= from;
    if (s->tail_done) return STREAM_OK;
    jsSubOptions_Init(&options);
    options.Stream = s->stream;
    options.Ordered = true;
    options.Config.DeliverPolicy = js_DeliverByStartSequence;
    options.Config.OptStartSeq = from + 1;
    /* all subjects of the stream: the last of all is then sure to come */
    natsStatus status = js_SubscribeSync(&s->tail, s->js, ">", NULL, &options, &code);
    return status == NATS_OK ? STREAM_OK : fail(err, &s->url, "cannot read back from", status);
}

/* Keep a message if it has our mark. *last: the tail ends with it. */
static stream_status take_back(nats_sink *s, natsMsg *msg, bool *last, stream_error *err) {
    jsMsgMetaData *about = NULL;
    const char *mark = NULL;
    broker_id id;
    natsStatus status = natsMsg_GetMetaData(&about, msg);
    if (status != NATS_OK) {
        natsMsg_Destroy(msg);
        return fail(err, &s->url, "cannot read back from", status);
    }
    *last = about->Sequence.Stream >= s->tail_end || !about->NumPending;
    jsMsgMetaData_Destroy(about);
    if (natsMsgHeader_Get(msg, BROKER_MARK, &mark) != NATS_OK || !mark || !s->producer ||
        !broker__read_mark(s->producer, mark, strlen(mark), &id)) {
        natsMsg_Destroy(msg);
        return STREAM_OK;
    }
    s->messages[s->received_count] = (broker_message){
        .id = id, .value = natsMsg_GetData(msg), .length = (size_t)natsMsg_GetDataLength(msg)};
    s->received[s->received_count++] = msg;
    return STREAM_OK;
}

/* Is there really nothing more? The last messages of a stream may have been deleted. */
static bool tail_is_empty(nats_sink *s) {
    jsConsumerInfo *info = NULL;
    if (natsSubscription_GetConsumerInfo(&info, s->tail, NULL, NULL) != NATS_OK) return false;
    bool none = !info->NumPending;
    jsConsumerInfo_Destroy(info);
    return none;
}

static stream_status sink_poll_tail(void *self, int timeout_ms, const broker_message **messages,
                                    size_t *count, stream_error *err) {
    nats_sink *s = self;
    natsMsg *msg;
    (void)timeout_ms;
    drop_received(s);
    while (!s->tail_done && s->received_count < BROKER_BATCH) {
        natsStatus status = natsSubscription_NextMsg(&msg, s->tail, TAIL_MS);
        if (status == NATS_TIMEOUT && tail_is_empty(s)) break;
        if (status != NATS_OK) return fail(err, &s->url, "cannot read back from", status);
        if (take_back(s, msg, &s->tail_done, err) != STREAM_OK) return STREAM_FAILED;
    }
    *messages = s->messages;
    *count = s->received_count;
    return s->received_count ? STREAM_BATCH : STREAM_END;
}

BROKER_CLASSES
#endif

const broker_kind broker__nats = {
    .schemes = "nats",
    .library = "libnats",
    .source_parameters = "group|consumer|start|ack-wait|creds|ca|password-file",
    .sink_parameters = "creds|ca|password-file",
#ifdef HAVE_NATS
    .source = &source_class,
    .sink = &sink_class,
#endif
};
