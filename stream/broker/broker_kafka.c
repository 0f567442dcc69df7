/* broker_kafka.c - Kafka by librdkafka.
 *
 * kafka://HOST[:PORT][,HOST...]/TOPIC?group=GROUP to read, kafka://HOST/TOPIC to write.
 * config=FILE has further properties of librdkafka, one NAME=VALUE a line: passwords and
 * certificates stand there.
 *
 * Reading   A consumer group. Offsets are committed by hand, when messages are settled; the next
 *           to have a partition begins after what was committed.
 * Writing   An idempotent producer. With a state it is transactional too: all between two flushes
 *           is one transaction. Its id is the state's, so that a run that takes the place of a
 *           killed one ends that one's transaction before it reads anything.
 * Position  The offset after our last message in each partition. The tail is read as committed
 *           transactions show it, up to the ends of the partitions.
 */
#include "broker_internal.h"

#ifdef HAVE_RDKAFKA

#include <errno.h>
#include <inttypes.h>
#include <librdkafka/rdkafka.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_MS = 10000,   /* for the first answer of a cluster */
    REQUEST_MS = 10000, /* for further ones */
    FLUSH_MS = 60000,   /* for the acknowledgement of what was sent */
    TRIES = 5,          /* of a step of a transaction */
    TAIL_WAIT_MS = 30000
};

/* What is said of a cluster by the library's threads, for messages. */
typedef struct {
    char last[256];
} kafka_words;

static void on_error(rd_kafka_t *rk, int code, const char *reason, void *opaque) {
    kafka_words *words = opaque;
    (void)rk, (void)code;
    snprintf(words->last, sizeof words->last, "%s", reason);
}

static void on_log(const rd_kafka_t *rk, int level, const char *facility, const char *text) {
    (void)rk, (void)level, (void)facility, (void)text;
}

static stream_status fail(stream_error *err, const broker_url *url, const char *what,
                          rd_kafka_resp_err_t code, const kafka_words *words) {
    bool vague = code == RD_KAFKA_RESP_ERR__TRANSPORT || code == RD_KAFKA_RESP_ERR__TIMED_OUT ||
                 code == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN;
    if (code == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART || code == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
        return broker__fail(err, "there is no topic '%s' at '%s'; make it first", url->name,
                            url->text);
    return broker__fail(err, "%s '%s': %s", what, url->text,
                        vague && *words->last ? words->last : rd_kafka_err2str(code));
}

/* ------------------------------------------------------------------------
 * Configuration
 * ------------------------------------------------------------------------ */

static stream_status set(rd_kafka_conf_t *conf, const char *name, const char *value,
                         stream_error *err) {
    char reason[256];
    if (rd_kafka_conf_set(conf, name, value, reason, sizeof reason) == RD_KAFKA_CONF_OK)
        return STREAM_OK;
    return broker__fail(err, "kafka: %s", reason);
}

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    size_t n = strlen(text);
    while (n && strchr(" \t\r\n", text[n - 1])) text[--n] = 0;
    return text;
}

/* The properties of a file. The names of those that decide what is promised are ours. */
static stream_status set_file(rd_kafka_conf_t *conf, const char *path, stream_error *err) {
    static const char *const ours[] = {"group.id", "enable.auto.commit", "enable.idempotence",
                                       "transactional.id", "enable.auto.offset.store"};
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    stream_status status = STREAM_OK;
    if (!file) return broker__fail(err, "cannot open '%s': %s", path, strerror(errno));
    while (status == STREAM_OK && getline(&line, &room, file) > 0) {
        char *name = trimmed(line), *value = strchr(name, '=');
        if (!*name || *name == '#') continue;
        if (!value) {
            status = broker__fail(err, "'%s' has a line without =: a property is NAME=VALUE", path);
            break;
        }
        *value++ = 0;
        name = trimmed(name);
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            if (!strcmp(name, ours[i]))
                status = broker__fail(err, "'%s' sets %s, which weir sets itself", path, name);
        if (status == STREAM_OK) status = set(conf, name, trimmed(value), err);
    }
    free(line);
    fclose(file);
    return status;
}

static stream_status set_common(rd_kafka_conf_t *conf, const broker_url *url, stream_error *err) {
    const char *path = broker_url_get(url, "config", NULL);
    rd_kafka_conf_set_log_cb(conf, on_log);
    rd_kafka_conf_set_error_cb(conf, on_error);
    if (set(conf, "bootstrap.servers", url->hosts, err) != STREAM_OK ||
        set(conf, "client.id", "weir", err) != STREAM_OK)
        return STREAM_FAILED;
    return path ? set_file(conf, path, err) : STREAM_OK;
}

/* Is the topic there? Partitions get their number. */
static stream_status look_at_topic(rd_kafka_t *rk, const broker_url *url, const kafka_words *words,
                                   int32_t *partitions, stream_error *err) {
    const struct rd_kafka_metadata *about = NULL;
    rd_kafka_topic_t *topic = rd_kafka_topic_new(rk, url->name, NULL);
    if (!topic) return fail(err, url, "cannot read", rd_kafka_last_error(), words);
    rd_kafka_resp_err_t code = rd_kafka_metadata(rk, 0, topic, &about, FIRST_MS);
    if (!code && about->topic_cnt == 1) {
        code = about->topics[0].err;
        *partitions = about->topics[0].partition_cnt;
    }
    if (about) rd_kafka_metadata_destroy(about);
    rd_kafka_topic_destroy(topic);
    if (!code && *partitions) return STREAM_OK;
    rd_kafka_poll(rk, 0); /* what there is to say about it */
    return fail(err, url, "cannot reach", code ? code : RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART,
                words);
}

/* ------------------------------------------------------------------------
 * Consumers: of a group, and of a tail
 * ------------------------------------------------------------------------ */

typedef struct {
    const broker_url *url;
    kafka_words words;
    rd_kafka_t *rk;
    rd_kafka_message_t *received[BROKER_BATCH];
    size_t received_count;
    broker_message messages[BROKER_BATCH];
    broker_field *fields;
    size_t field_count, field_room;
    bool *at_end; /* by partition: nothing more is there */
    size_t partition_count;
} kafka_reading;

static void drop_received(kafka_reading *r) {
    for (size_t i = 0; i < r->received_count; i++) rd_kafka_message_destroy(r->received[i]);
    r->received_count = r->field_count = 0;
}

static void reading_release(kafka_reading *r) {
    drop_received(r);
    if (r->rk) {
        rd_kafka_consumer_close(r->rk);
        rd_kafka_destroy(r->rk);
    }
    free(r->fields);
    free(r->at_end);
    *r = (kafka_reading){0};
}

static stream_status reading_open(kafka_reading *r, const broker_url *url, const char *group,
                                  bool until_end, stream_error *err) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    int32_t partitions = 0;
    const char *start = broker_url_get(url, "start", "first");
    r->url = url;
    rd_kafka_conf_set_opaque(conf, &r->words);
    if (set_common(conf, url, err) != STREAM_OK || set(conf, "group.id", group, err) != STREAM_OK ||
        set(conf, "enable.auto.commit", "false", err) != STREAM_OK ||
        set(conf, "auto.offset.reset", strcmp(start, "new") ? "earliest" : "latest", err) !=
            STREAM_OK ||
        set(conf, "enable.partition.eof", until_end ? "true" : "false", err) != STREAM_OK) {
        rd_kafka_conf_destroy(conf);
        return STREAM_FAILED;
    }
    r->rk = rd_kafka_new(RD_KAFKA_CONSUMER, conf, reason, sizeof reason);
    if (!r->rk) {
        rd_kafka_conf_destroy(conf);
        return broker__fail(err, "cannot read '%s': %s", url->text, reason);
    }
    if (look_at_topic(r->rk, url, &r->words, &partitions, err) != STREAM_OK) return STREAM_FAILED;
    rd_kafka_poll_set_consumer(r->rk);
    r->partition_count = (size_t)partitions;
    r->at_end = calloc(r->partition_count + 1, sizeof *r->at_end);
    return r->at_end ? STREAM_OK : broker__no_memory(err);
}

static void note_end(kafka_reading *r, int32_t partition, bool end) {
    if (partition >= 0 && (size_t)partition < r->partition_count) r->at_end[partition] = end;
}

/* Nothing more is in any partition that is ours. */
static bool is_at_end(const kafka_reading *r) {
    rd_kafka_topic_partition_list_t *ours = NULL;
    if (rd_kafka_assignment(r->rk, &ours) || !ours) return false;
    bool end = ours->cnt > 0;
    for (int i = 0; i < ours->cnt && end; i++) {
        size_t p = (size_t)ours->elems[i].partition;
        end = p < r->partition_count && r->at_end[p];
    }
    rd_kafka_topic_partition_list_destroy(ours);
    return end;
}

static bool take_headers(kafka_reading *r, const rd_kafka_message_t *m, size_t *count) {
    rd_kafka_headers_t *headers = NULL;
    const char *name;
    const void *value;
    size_t size;
    *count = 0;
    if (rd_kafka_message_headers(m, &headers)) return true;
    while (!rd_kafka_header_get_all(headers, *count, &name, &value, &size)) {
        if (!broker__room(&r->fields, &r->field_room, r->field_count + 1, sizeof *r->fields))
            return false;
        r->fields[r->field_count++] = (broker_field){name, strlen(name), value, value ? size : 0};
        ++*count;
    }
    return true;
}

static bool take_message(kafka_reading *r, rd_kafka_message_t *m) {
    broker_message *out = &r->messages[r->received_count];
    *out = (broker_message){.id = {(uint64_t)m->partition, (uint64_t)m->offset},
                            .value = m->payload,
                            .length = m->len,
                            .null = !m->payload,
                            .key = m->key,
                            .key_length = m->key_len};
    r->received[r->received_count++] = m;
    note_end(r, m->partition, false);
    return take_headers(r, m, &out->field_count);
}

static stream_status heard(kafka_reading *r, rd_kafka_message_t *m, stream_error *err) {
    rd_kafka_resp_err_t code = m->err;
    if (code == RD_KAFKA_RESP_ERR__PARTITION_EOF) note_end(r, m->partition, true);
    rd_kafka_message_destroy(m);
    switch (code) {
    case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET:
    case RD_KAFKA_RESP_ERR__MAX_POLL_EXCEEDED:
        return fail(err, r->url, "cannot read", code, &r->words);
    default: /* the library tries again by itself */
        return STREAM_OK;
    }
}

/* The first message is waited for, others are taken if they are there. */
static stream_status reading_poll(kafka_reading *r, int timeout_ms, const broker_message **messages,
                                  size_t *count, stream_error *err) {
    size_t bytes = 0;
    drop_received(r);
    while (r->received_count < BROKER_BATCH && bytes < BROKER_BATCH_BYTES) {
        rd_kafka_message_t *m = rd_kafka_consumer_poll(r->rk, r->received_count ? 0 : timeout_ms);
        if (!m) break;
        if (m->err) {
            if (heard(r, m, err) != STREAM_OK) return STREAM_FAILED;
            timeout_ms = 0;
            continue;
        }
        bytes += m->len;
        if (!take_message(r, m)) return broker__no_memory(err);
    }
    if (!r->received_count) return STREAM_IDLE;
    size_t at = 0; /* the fields are one array, which has moved while it grew */
    for (size_t i = 0; i < r->received_count; i++) {
        r->messages[i].fields = r->fields + at;
        at += r->messages[i].field_count;
    }
    *messages = r->messages;
    *count = r->received_count;
    return STREAM_BATCH;
}

/* ------------------------------------------------------------------------
 * Reading
 * ------------------------------------------------------------------------ */

typedef struct {
    broker_url url;
    kafka_reading reading;
    bool until_end;
    uint64_t assignment; /* which partitions are ours, mixed into a word; 0: none */
    uint64_t *given;     /* by partition: messages since it changed */
    bool given_before;   /* the last batch may have been somebody else's */
} kafka_source;

static void source_close(void *self) {
    kafka_source *s = self;
    reading_release(&s->reading);
    free(s->given);
    free(s);
}

static stream_status source_open(void **self, const broker_url *url,
                                 const broker_source_options *options, broker_habits *habits,
                                 stream_error *err) {
    kafka_source *s = calloc(1, sizeof *s);
    const char *group = broker_url_get(url, "group", NULL);
    (void)habits; /* what was handed out does not come again while we have the partition */
    if (!s) return broker__no_memory(err);
    *self = s;
    s->url = *url;
    s->until_end = options->until_end;
    if (!group)
        return broker__fail(err,
                            "'%s' does not say which consumer group it reads by; add "
                            "?group=NAME",
                            url->text);
    if (reading_open(&s->reading, &s->url, group, s->until_end, err) != STREAM_OK)
        return STREAM_FAILED;
    s->given = calloc(s->reading.partition_count, sizeof *s->given);
    if (!s->given) return broker__no_memory(err);
    rd_kafka_topic_partition_list_t *topics = rd_kafka_topic_partition_list_new(1);
    rd_kafka_topic_partition_list_add(topics, url->name, RD_KAFKA_PARTITION_UA);
    rd_kafka_resp_err_t code = rd_kafka_subscribe(s->reading.rk, topics);
    rd_kafka_topic_partition_list_destroy(topics);
    return code ? fail(err, url, "cannot read", code, &s->reading.words) : STREAM_OK;
}

/* Which partitions are ours. */
static uint64_t mix_assignment(const kafka_source *s) {
    rd_kafka_topic_partition_list_t *ours = NULL;
    uint64_t mix = 0;
    if (rd_kafka_assignment(s->reading.rk, &ours) || !ours) return 0;
    for (int i = 0; i < ours->cnt; i++)
        mix += ((uint64_t)ours->elems[i].partition + 1) * UINT64_C(0x9e3779b97f4a7c15);
    rd_kafka_topic_partition_list_destroy(ours);
    return mix;
}

/* Whoever had a partition before us had at most a batch of it that was not committed. */
static void look_at_assignment(kafka_source *s) {
    uint64_t now = mix_assignment(s);
    if (now != s->assignment) memset(s->given, 0, s->reading.partition_count * sizeof *s->given);
    s->assignment = now;
    s->given_before = false;
    for (size_t i = 0; i < s->reading.received_count; i++) {
        uint64_t partition = s->reading.messages[i].id.hi;
        if (partition >= s->reading.partition_count) s->given_before = true;
        else s->given_before |= s->given[partition]++ < BROKER_BATCH;
    }
}

static bool source_given_before(const void *self) {
    return ((const kafka_source *)self)->given_before;
}

static stream_status source_poll(void *self, int timeout_ms, const broker_message **messages,
                                 size_t *count, stream_error *err) {
    kafka_source *s = self;
    *count = 0;
    stream_status status = reading_poll(&s->reading, timeout_ms, messages, count, err);
    if (status == STREAM_BATCH) look_at_assignment(s);
    return status == STREAM_IDLE && s->until_end && is_at_end(&s->reading) ? STREAM_END : status;
}

/* Commit the offset after the last one of each partition. Somebody else may have got the
 * partition meanwhile: it begins after what was committed before, and nothing is lost. */
static stream_status source_settle(void *self, const broker_ids *ids, stream_error *err) {
    kafka_source *s = self;
    rd_kafka_topic_partition_list_t *list = rd_kafka_topic_partition_list_new((int)ids->count);
    for (size_t i = 0; i < ids->count; i++) {
        const broker_range *r = &ids->ranges[i];
        rd_kafka_topic_partition_t *p =
            rd_kafka_topic_partition_list_find(list, s->url.name, (int32_t)r->hi);
        if (!p) p = rd_kafka_topic_partition_list_add(list, s->url.name, (int32_t)r->hi);
        p->offset = (int64_t)r->last + 1;
    }
    rd_kafka_resp_err_t code = rd_kafka_commit(s->reading.rk, list, 0);
    rd_kafka_topic_partition_list_destroy(list);
    switch (code) {
    case RD_KAFKA_RESP_ERR_NO_ERROR:
    case RD_KAFKA_RESP_ERR__NO_OFFSET:
    case RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS:
    case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION:
    case RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID:
        return STREAM_OK;
    default:
        return fail(err, &s->url, "cannot commit to", code, &s->reading.words);
    }
}

static int64_t source_lag(void *self) {
    kafka_source *s = self;
    rd_kafka_topic_partition_list_t *ours = NULL;
    int64_t lag = 0, low, high;
    if (rd_kafka_assignment(s->reading.rk, &ours) || !ours) return -1;
    rd_kafka_position(s->reading.rk, ours);
    for (int i = 0; i < ours->cnt; i++) {
        const rd_kafka_topic_partition_t *p = &ours->elems[i];
        if (rd_kafka_get_watermark_offsets(s->reading.rk, p->topic, p->partition, &low, &high) ||
            high < 0)
            continue;
        lag += high - (p->offset >= 0 ? p->offset : low);
    }
    rd_kafka_topic_partition_list_destroy(ours);
    return lag;
}

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

typedef struct {
    broker_url url;
    kafka_words words;
    rd_kafka_t *rk;
    char *producer;
    bool transactional, begun; /* begun: a transaction is open */
    rd_kafka_resp_err_t lost;  /* why a message was not taken */
    int64_t *ends;             /* by partition: the offset after our last message, or where it ended
                                * when we came */
    int32_t partition_count;
    kafka_reading tail;
} kafka_sink;

static void on_delivery(rd_kafka_t *rk, const rd_kafka_message_t *m, void *opaque) {
    kafka_sink *s = m->_private;
    (void)rk, (void)opaque;
    if (m->err && !s->lost) s->lost = m->err;
    if (!m->err && m->partition < s->partition_count && m->offset >= s->ends[m->partition])
        s->ends[m->partition] = m->offset + 1;
}

static void sink_close(void *self) {
    kafka_sink *s = self;
    reading_release(&s->tail);
    if (s->rk) {
        rd_kafka_purge(s->rk, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        if (s->begun) rd_kafka_error_destroy(rd_kafka_abort_transaction(s->rk, REQUEST_MS));
        rd_kafka_destroy(s->rk);
    }
    free(s->ends);
    free(s->producer);
    free(s);
}

/* What a step of a transaction said. Those that may be tried again are, by the caller. */
static stream_status said(const kafka_sink *s, rd_kafka_error_t *error, bool *again,
                          stream_error *err) {
    *again = false;
    if (!error) return STREAM_OK;
    *again = rd_kafka_error_is_retriable(error);
    if (rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR__FENCED ||
        rd_kafka_error_code(error) == RD_KAFKA_RESP_ERR_PRODUCER_FENCED)
        broker__fail(err, "another weir has taken over the state that writes to '%s'", s->url.text);
    else broker__fail(err, "cannot write to '%s': %s", s->url.text, rd_kafka_error_string(error));
    rd_kafka_error_destroy(error);
    return STREAM_FAILED;
}

static stream_status begin_transactions(kafka_sink *s, stream_error *err) {
    bool again = true;
    stream_status status = STREAM_FAILED;
    for (int i = 0; i < TRIES && again && status != STREAM_OK; i++)
        status = said(s, rd_kafka_init_transactions(s->rk, FIRST_MS), &again, err);
    return status;
}

static stream_status look_at_ends(kafka_sink *s, stream_error *err) {
    int64_t low, high;
    s->ends = calloc((size_t)s->partition_count, sizeof *s->ends);
    if (!s->ends) return broker__no_memory(err);
    for (int32_t p = 0; p < s->partition_count; p++) {
        rd_kafka_resp_err_t code =
            rd_kafka_query_watermark_offsets(s->rk, s->url.name, p, &low, &high, REQUEST_MS);
        if (code) return fail(err, &s->url, "cannot ask about", code, &s->words);
        s->ends[p] = high;
    }
    return STREAM_OK;
}

static stream_status configure(const kafka_sink *s, rd_kafka_conf_t *conf, stream_error *err) {
    char id[64];
    snprintf(id, sizeof id, "weir-%s", s->producer ? s->producer : "");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    if (set_common(conf, &s->url, err) != STREAM_OK ||
        set(conf, "enable.idempotence", "true", err) != STREAM_OK)
        return STREAM_FAILED;
    return s->transactional ? set(conf, "transactional.id", id, err) : STREAM_OK;
}

static stream_status sink_open(void **self, const broker_url *url,
                               const broker_sink_options *options, stream_error *err) {
    kafka_sink *s = calloc(1, sizeof *s);
    char reason[256];
    if (!s) return broker__no_memory(err);
    *self = s;
    s->url = *url;
    if (options->producer && !(s->producer = strdup(options->producer)))
        return broker__no_memory(err);
    s->transactional = s->producer && strcmp(broker_url_get(url, "transactions", "yes"), "no") != 0;
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_conf_set_opaque(conf, &s->words);
    if (configure(s, conf, err) != STREAM_OK) {
        rd_kafka_conf_destroy(conf);
        return STREAM_FAILED;
    }
    s->rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    if (!s->rk) {
        rd_kafka_conf_destroy(conf);
        return broker__fail(err, "cannot write to '%s': %s", url->text, reason);
    }
    if (look_at_topic(s->rk, url, &s->words, &s->partition_count, err) != STREAM_OK)
        return STREAM_FAILED;
    if (s->transactional && begin_transactions(s, err) != STREAM_OK) return STREAM_FAILED;
    return look_at_ends(s, err);
}

static rd_kafka_headers_t *make_headers(const broker_message *m, const char *mark) {
    rd_kafka_headers_t *headers = rd_kafka_headers_new(m->field_count + 1);
    for (size_t i = 0; i < m->field_count && !m->entry; i++) {
        const broker_field *f = &m->fields[i];
        if (strcasecmp(f->name, BROKER_MARK) != 0)
            rd_kafka_header_add(headers, f->name, (ssize_t)f->name_length, f->value,
                                (ssize_t)f->length);
    }
    if (mark) rd_kafka_header_add(headers, BROKER_MARK, -1, mark, -1);
    return headers;
}

static stream_status was_lost(const kafka_sink *s, stream_error *err) {
    return s->lost ? fail(err, &s->url, "cannot write to", s->lost, &s->words) : STREAM_OK;
}

static stream_status sink_send(void *self, const broker_message *m, const char *mark,
                               const char *unique, stream_error *err) {
    kafka_sink *s = self;
    bool again;
    (void)unique;
    if (s->transactional && !s->begun) {
        if (said(s, rd_kafka_begin_transaction(s->rk), &again, err) != STREAM_OK)
            return STREAM_FAILED;
        s->begun = true;
    }
    const char *value = m->null ? NULL : m->length ? m->value : "";
    for (;;) {
        rd_kafka_headers_t *headers = make_headers(m, mark);
        rd_kafka_resp_err_t code = rd_kafka_producev(
            s->rk, RD_KAFKA_V_TOPIC(s->url.name), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
            RD_KAFKA_V_VALUE((void *)value, m->length),
            RD_KAFKA_V_KEY((void *)m->key, m->key_length), RD_KAFKA_V_HEADERS(headers),
            RD_KAFKA_V_OPAQUE(s), RD_KAFKA_V_END);
        if (code) rd_kafka_headers_destroy(headers);
        if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
            rd_kafka_poll(s->rk, 0);
            return code ? fail(err, &s->url, "cannot write to", code, &s->words) : was_lost(s, err);
        }
        rd_kafka_poll(s->rk, 100);
        if (was_lost(s, err) != STREAM_OK) return STREAM_FAILED;
    }
}

static stream_status sink_flush(void *self, stream_error *err) {
    kafka_sink *s = self;
    bool again = true;
    rd_kafka_resp_err_t code = rd_kafka_flush(s->rk, FLUSH_MS);
    if (was_lost(s, err) != STREAM_OK) return STREAM_FAILED;
    if (code) return fail(err, &s->url, "cannot write to", code, &s->words);
    if (!s->begun) return STREAM_OK;
    stream_status status = STREAM_FAILED;
    for (int i = 0; i < TRIES && again && status != STREAM_OK; i++)
        status = said(s, rd_kafka_commit_transaction(s->rk, FLUSH_MS), &again, err);
    if (status == STREAM_OK) s->begun = false;
    return status;
}

/* "0:17,1:20": the next offset of each partition. */
static char *sink_position(void *self, stream_error *err) {
    kafka_sink *s = self;
    broker_text text = {0};
    char one[48];
    for (int32_t p = 0; p < s->partition_count; p++) {
        int n = snprintf(one, sizeof one, "%s%" PRId32 ":%" PRId64, p ? "," : "", p, s->ends[p]);
        if (!broker__append(&text, one, (size_t)n)) {
            free(text.bytes);
            broker__no_memory(err);
            return NULL;
        }
    }
    return text.bytes;
}

/* The offset that a position has for a partition; one that it does not know is new. */
static int64_t offset_in(const char *position, int32_t partition) {
    while (*position) {
        char *end;
        long p = strtol(position, &end, 10);
        long long offset = *end == ':' ? strtoll(end + 1, &end, 10) : 0;
        if (p == partition) return offset;
        position = *end == ',' ? end + 1 : "";
    }
    return 0;
}

static stream_status sink_tail(void *self, const char *position, stream_error *err) {
    kafka_sink *s = self;
    bool any = false;
    if (reading_open(&s->tail, &s->url, "weir-tail", true, err) != STREAM_OK) return STREAM_FAILED;
    rd_kafka_topic_partition_list_t *list =
        rd_kafka_topic_partition_list_new((int)s->tail.partition_count);
    for (int32_t p = 0; p < s->partition_count; p++) {
        int64_t from = offset_in(position, p);
        note_end(&s->tail, p, true);
        if (from >= s->ends[p]) continue;
        rd_kafka_topic_partition_list_add(list, s->url.name, p)->offset = from;
        note_end(&s->tail, p, false);
        any = true;
    }
    rd_kafka_resp_err_t code = any ? rd_kafka_assign(s->tail.rk, list) : 0;
    rd_kafka_topic_partition_list_destroy(list);
    if (!any) reading_release(&s->tail);
    return code ? fail(err, &s->url, "cannot read back from", code, &s->tail.words) : STREAM_OK;
}

/* Keep those with our mark. */
static size_t ours(kafka_sink *s, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        broker_message m = s->tail.messages[i];
        for (size_t f = 0; f < m.field_count; f++)
            if (!strcmp(m.fields[f].name, BROKER_MARK) &&
                broker__read_mark(s->producer, m.fields[f].value, m.fields[f].length, &m.id)) {
                s->tail.messages[kept++] = m;
                break;
            }
    }
    return kept;
}

static stream_status sink_poll_tail(void *self, int timeout_ms, const broker_message **messages,
                                    size_t *count, stream_error *err) {
    kafka_sink *s = self;
    int64_t until = broker__now_ms() + TAIL_WAIT_MS;
    (void)timeout_ms;
    while (s->tail.rk && !is_at_end(&s->tail)) {
        stream_status status = reading_poll(&s->tail, 100, messages, count, err);
        if (status == STREAM_BATCH && (*count = ours(s, *count))) return STREAM_BATCH;
        if (status == STREAM_BATCH) until = broker__now_ms() + TAIL_WAIT_MS;
        if (status == STREAM_FAILED) return status;
        if (broker__now_ms() > until)
            return fail(err, &s->url, "cannot read back from", RD_KAFKA_RESP_ERR__TIMED_OUT,
                        &s->tail.words);
    }
    reading_release(&s->tail);
    return STREAM_END;
}

BROKER_CLASSES
#endif

const broker_kind broker__kafka = {
    .schemes = "kafka",
    .library = "librdkafka",
    .source_parameters = "group|consumer|start|config",
    .sink_parameters = "transactions|config",
#ifdef HAVE_RDKAFKA
    .source = &source_class,
    .sink = &sink_class,
#endif
};
