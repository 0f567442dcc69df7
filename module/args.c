/* args.c - reads the arguments of commands. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "module.h"

const char *text_of(const RedisModuleString *string, size_t *length) {
    return RedisModule_StringPtrLen(string, length);
}

bool word_is(const RedisModuleString *string, const char *word) {
    size_t length;
    const char *text = text_of(string, &length);
    return length == strlen(word) && !strncasecmp(text, word, length);
}

bool take_word(arguments *args, const char *word) {
    if (args->at >= args->argc || !word_is(args->argv[args->at], word)) return false;
    args->at++;
    return true;
}

RedisModuleString *take_after(arguments *args, const char *word) {
    if (args->at + 1 >= args->argc || !take_word(args, word)) return NULL;
    return args->argv[args->at++];
}

static bool number_of(const RedisModuleString *string, int base, size_t most, uint64_t *number) {
    size_t length;
    const char *text = text_of(string, &length);
    char copy[24], *end;
    if (length < 1 || length > most) return false;
    memcpy(copy, text, length);
    copy[length] = 0;
    if (strspn(copy, base == 10 ? "0123456789" : "0123456789abcdefABCDEF") != length) return false;
    errno = 0;
    *number = strtoull(copy, &end, base);
    return errno == 0;
}

bool whole_of(const RedisModuleString *string, uint64_t *number) {
    return number_of(string, 10, 20, number);
}

bool hex_of(const RedisModuleString *string, uint64_t *number) {
    return number_of(string, 16, 16, number);
}

bool integer_of(const RedisModuleString *string, int64_t *number) {
    long long value;
    if (RedisModule_StringToLongLong(string, &value) != REDISMODULE_OK) return false;
    *number = value;
    return true;
}

const char *spec_of(const RedisModuleString *string, char *buffer, size_t size) {
    size_t length;
    const char *text = text_of(string, &length);
    if (length >= size || memchr(text, 0, length)) return NULL;
    memcpy(buffer, text, length);
    buffer[length] = 0;
    return buffer;
}

int reply_unknown_word(arguments *args) {
    size_t length;
    const char *text = text_of(args->argv[args->at], &length);
    return reply_error(args->ctx, "ERR syntax error at '%.*s'", length > 64 ? 64 : (int)length,
                       text);
}
