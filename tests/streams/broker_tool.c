/* broker_tool.c - what the tests of streams need besides weir: messages put and fetched, streams
 * made, and a cluster of Kafka that is librdkafka's own mock of one.
 *
 *   broker_tool put URL            each line of standard input is a message
 *   broker_tool get URL            the messages of a source, a line each, until its end; settled
 *   broker_tool hold URL N         fetch N messages and die with them, as a killed consumer does
 *   broker_tool stream URL NAME SUBJECT    make a stream of NATS, with acks by each message
 *   broker_tool mock TOPIC:N...    serve Kafka until standard input ends; prints HOST:PORT. The
 * mock makes any topic that it is asked for, but those with N = 0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "broker.h"

#ifdef HAVE_NATS
#include <nats/nats.h>
#endif
#ifdef HAVE_RDKAFKA
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>
#endif

static int say(const char *text) {
    fprintf(stderr, "broker_tool: %s\n", text);
    return 2;
}

static int put(const char *text) {
    broker_url url;
    broker_sink *sink = NULL;
    stream_error err;
    char *line = NULL;
    size_t room = 0;
    uint64_t number = 0;
    const broker_sink_options options = {0};
    if (broker_url_parse(&url, text, BROKER_SINK, &err) ||
        broker_sink_open(&sink, &url, &options, &err))
        return say(err.message);
    for (ssize_t n; (n = getline(&line, &room, stdin)) > 0;) {
        if (line[n - 1] == '\n') n--;
        broker_message m = {.id = {0, ++number}, .value = line, .length = (size_t)n};
        if (broker_sink_send(sink, &m, NULL, &err)) return say(err.message);
    }
    if (broker_sink_flush(sink, &err)) return say(err.message);
    broker_sink_close(sink);
    broker_url_release(&url);
    free(line);
    return 0;
}

static int get(const char *text, size_t most) {
    broker_url url;
    broker_source *source = NULL;
    stream_error err;
    const broker_message *m;
    size_t count, all = 0;
    const broker_source_options options = {.until_end = most == SIZE_MAX};
    if (broker_url_parse(&url, text, BROKER_SOURCE, &err) ||
        broker_source_open(&source, &url, &options, &err))
        return say(err.message);
    for (stream_status s; (s = broker_source_poll(source, 100, &m, &count, &err)) != STREAM_END;) {
        if (s == STREAM_FAILED) return say(err.message);
        if (s != STREAM_BATCH) continue;
        for (size_t i = 0; i < count && all < most; i++, all++) {
            fwrite(m[i].value, 1, m[i].length, stdout);
            putchar('\n');
        }
        fflush(stdout);
        if (all >= most) _exit(0);
        if (most == SIZE_MAX && broker_source_settle(source, SIZE_MAX, &err))
            return say(err.message);
    }
    broker_source_close(source);
    broker_url_release(&url);
    return 0;
}

#ifdef HAVE_NATS
static int make_stream(const char *url, const char *name, const char *subject) {
    natsConnection *connection = NULL;
    jsCtx *js = NULL;
    jsStreamConfig config;
    jsErrCode code = 0;
    natsStatus s = natsConnection_ConnectTo(&connection, url);
    if (s == NATS_OK) s = natsConnection_JetStream(&js, connection, NULL);
    if (s == NATS_OK) s = jsStreamConfig_Init(&config);
    if (s == NATS_OK) {
        config.Name = name;
        config.Subjects = &subject;
        config.SubjectsLen = 1;
        s = js_AddStream(NULL, js, &config, NULL, &code);
    }
    jsCtx_Destroy(js);
    natsConnection_Destroy(connection);
    return s == NATS_OK ? 0 : say(natsStatus_GetText(s));
}
#endif

#ifdef HAVE_RDKAFKA
static int serve(int count, char **topics) {
    char reason[256];
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    rd_kafka_t *rk = rd_kafka_new(RD_KAFKA_PRODUCER, conf, reason, sizeof reason);
    rd_kafka_mock_cluster_t *cluster = rk ? rd_kafka_mock_cluster_new(rk, 1) : NULL;
    if (!cluster) return say("no mock cluster");
    for (int i = 0; i < count; i++) {
        char *partitions = strchr(topics[i], ':');
        if (!partitions) return say("TOPIC:PARTITIONS");
        *partitions = 0;
        int number = atoi(partitions + 1);
        if (number) rd_kafka_mock_topic_create(cluster, topics[i], number, 1);
        else
            rd_kafka_mock_topic_set_error(cluster, topics[i],
                                          RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART);
    }
    puts(rd_kafka_mock_cluster_bootstraps(cluster));
    fflush(stdout);
    while (getchar() != EOF) {
    }
    rd_kafka_mock_cluster_destroy(cluster);
    rd_kafka_destroy(rk);
    return 0;
}
#endif

int main(int argc, char **argv) {
    if (argc == 3 && !strcmp(argv[1], "put")) return put(argv[2]);
    if (argc == 3 && !strcmp(argv[1], "get")) return get(argv[2], SIZE_MAX);
    if (argc == 4 && !strcmp(argv[1], "hold")) return get(argv[2], strtoul(argv[3], NULL, 10));
#ifdef HAVE_NATS
    if (argc == 5 && !strcmp(argv[1], "stream")) return make_stream(argv[2], argv[3], argv[4]);
#endif
#ifdef HAVE_RDKAFKA
    if (argc >= 3 && !strcmp(argv[1], "mock")) return serve(argc - 2, argv + 2);
#endif
    return say("put|get|hold|stream|mock, see the file");
}
