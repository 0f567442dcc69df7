/* bench_redis.c - how many keys a second a server decides over one connection.
 *
 *   weir-bench-redis PORT WHAT KEYS [ITEMS]
 *
 * WHAT is `blob` (WEIR.ADDHASH f, ITEMS hashes a command), `items` (WEIR.ADD f, ITEMS items a
 * command), `set` (SET key "" NX EX 3600) or `sadd` (SADD s key). KEYS keys are sent, 16 commands
 * on their way at a time; all are new. Prints keys a second.
 */
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PIPELINE = 16, ITEMS_MOST = 10000, ITEM_SIZE = 17 };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* splitmix64: different numbers for different counts. */
static uint64_t number_of(uint64_t count) {
    uint64_t z = (count + 1) * UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static uint64_t hashes[ITEMS_MOST];
static char items[ITEMS_MOST][ITEM_SIZE];
static const char *argv[ITEMS_MOST + 8];
static size_t lengths[ITEMS_MOST + 8];

static void put(int place, const char *text, size_t length) {
    argv[place] = text;
    lengths[place] = length;
}

static void send_command(redisContext *c, const char *what, uint64_t first, int count) {
    int used = 2;
    bool blob = !strcmp(what, "blob"), set = !strcmp(what, "set");
    for (int i = 0; i < count; i++) hashes[i] = number_of(first + (uint64_t)i);
    for (int i = 0; i < count && !blob; i++) {
        snprintf(items[i], ITEM_SIZE, "%016llx", (unsigned long long)hashes[i]);
        put(set ? 1 : 2 + i, items[i], ITEM_SIZE - 1);
    }
    if (set) {
        put(0, "SET", 3);
        put(2, "", 0);
        put(3, "NX", 2);
        put(4, "EX", 2);
        put(5, "3600", 4);
        used = 6;
    } else if (blob) {
        put(0, "WEIR.ADDHASH", 12);
        put(1, "f", 1);
        put(2, (const char *)hashes, (size_t)count * sizeof *hashes);
        used = 3;
    } else {
        bool sadd = !strcmp(what, "sadd");
        put(0, sadd ? "SADD" : "WEIR.ADD", sadd ? 4 : 8);
        put(1, sadd ? "s" : "f", 1);
        used = 2 + count;
    }
    redisAppendCommandArgv(c, used, argv, lengths);
}

static void receive(redisContext *c) {
    redisReply *reply;
    if (redisGetReply(c, (void **)&reply) != REDIS_OK || reply->type == REDIS_REPLY_ERROR) {
        fprintf(stderr, "weir-bench-redis: %s\n", c->err ? c->errstr : reply->str);
        exit(1);
    }
    freeReplyObject(reply);
}

int main(int argc, char **args) {
    if (argc < 4) {
        fprintf(stderr, "weir-bench-redis PORT blob|items|set|sadd KEYS [ITEMS]\n");
        return 2;
    }
    uint64_t keys = strtoull(args[3], NULL, 10), sent = 0, back = 0;
    int each = argc > 4 ? atoi(args[4]) : 1;
    if (each < 1 || each > ITEMS_MOST) return 2;
    redisContext *c = redisConnect("127.0.0.1", atoi(args[1]));
    if (!c || c->err) {
        fprintf(stderr, "weir-bench-redis: no server at port %s\n", args[1]);
        return 1;
    }
    uint64_t commands = keys / (uint64_t)each;
    double start = seconds();
    while (back < commands) {
        for (; sent < commands && sent - back < PIPELINE; sent++)
            send_command(c, args[2], sent * (uint64_t)each, each);
        for (; back < sent; back++) receive(c);
    }
    double took = seconds() - start;
    printf("%.0f\n", (double)(commands * (uint64_t)each) / took);
    redisFree(c);
    return 0;
}
