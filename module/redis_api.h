/* redis_api.h - the part of the server's module interface that weir uses.
 *
 * Redis 7 and Valkey give a module one pointer, at the start of the context that it is loaded
 * with: GetApi, which finds a function by its name. So nothing of the server is linked, and no
 * header of it is needed: the functions that weir calls are listed here, once, with their types.
 * REQUIRED ones are there since Redis 7.0 and loading fails without them; OPTIONAL ones came
 * later, and are NULL where the server does not have them.
 *
 * Numbers and structures are part of that interface and fixed by it.
 */
#ifndef WEIR_MODULE_REDIS_API_H
#define WEIR_MODULE_REDIS_API_H

#include <stddef.h>
#include <stdint.h>

enum { REDISMODULE_OK = 0, REDISMODULE_ERR = 1, REDISMODULE_APIVER_1 = 1 };

/* OpenKey, KeyType. */
enum { REDISMODULE_READ = 1, REDISMODULE_WRITE = 2, REDISMODULE_KEYTYPE_EMPTY = 0 };

enum { REDISMODULE_POSTPONED_LEN = -1 };

/* CallReplyType. */
enum { REDISMODULE_REPLY_NULL = 4 };

/* GetContextFlags. */
enum {
    REDISMODULE_CTX_FLAGS_SLAVE = 1 << 3,
    REDISMODULE_CTX_FLAGS_EVICT = 1 << 9,
    REDISMODULE_CTX_FLAGS_REPLICATED = 1 << 12,
    REDISMODULE_CTX_FLAGS_LOADING = 1 << 13,
    REDISMODULE_CTX_FLAGS_IS_CHILD = 1 << 20,
    REDISMODULE_CTX_FLAGS_DENY_BLOCKING = 1 << 21
};

/* SetModuleOptions. */
enum {
    REDISMODULE_OPTIONS_HANDLE_IO_ERRORS = 1 << 0,
    REDISMODULE_OPTION_NO_IMPLICIT_SIGNAL_MODIFIED = 1 << 1
};

/* Register*Config. */
enum { REDISMODULE_CONFIG_DEFAULT = 0, REDISMODULE_CONFIG_IMMUTABLE = 1 << 0 };

/* NotifyKeyspaceEvent. */
enum { REDISMODULE_NOTIFY_GENERIC = 1 << 2, REDISMODULE_NOTIFY_MODULE = 1 << 13 };

#define REDISMODULE_ERRORMSG_WRONGTYPE                                                             \
    "WRONGTYPE Operation against a key holding the wrong kind of value"

typedef struct RedisModuleCtx RedisModuleCtx;
typedef struct RedisModuleKey RedisModuleKey;
typedef struct RedisModuleString RedisModuleString;
typedef struct RedisModuleCommand RedisModuleCommand;
typedef struct RedisModuleCallReply RedisModuleCallReply;
typedef struct RedisModuleType RedisModuleType;
typedef struct RedisModuleIO RedisModuleIO;
typedef struct RedisModuleDigest RedisModuleDigest;
typedef struct RedisModuleInfoCtx RedisModuleInfoCtx;
typedef struct RedisModuleDefragCtx RedisModuleDefragCtx;
typedef struct RedisModuleKeyOptCtx RedisModuleKeyOptCtx;
typedef struct RedisModuleBlockedClient RedisModuleBlockedClient;
typedef struct RedisModuleServerInfoData RedisModuleServerInfoData;

typedef int (*RedisModuleCmdFunc)(RedisModuleCtx *ctx, RedisModuleString **argv, int argc);
typedef void (*RedisModuleTimerProc)(RedisModuleCtx *ctx, void *data);
typedef void (*RedisModuleInfoFunc)(RedisModuleInfoCtx *ctx, int for_crash_report);
typedef RedisModuleString *(*RedisModuleConfigGetStringFunc)(const char *name, void *data);
typedef int (*RedisModuleConfigSetStringFunc)(const char *name, RedisModuleString *value,
                                              void *data, RedisModuleString **err);
typedef long long (*RedisModuleConfigGetNumericFunc)(const char *name, void *data);
typedef int (*RedisModuleConfigSetNumericFunc)(const char *name, long long value, void *data,
                                               RedisModuleString **err);
typedef int (*RedisModuleConfigGetBoolFunc)(const char *name, void *data);
typedef int (*RedisModuleConfigSetBoolFunc)(const char *name, int value, void *data,
                                            RedisModuleString **err);
typedef int (*RedisModuleConfigApplyFunc)(RedisModuleCtx *ctx, void *data, RedisModuleString **err);

/* The functions of a type. Version 4 is that of Redis 7.0. */
enum { REDISMODULE_TYPE_METHOD_VERSION = 4 };
typedef struct {
    uint64_t version;
    void *(*rdb_load)(RedisModuleIO *io, int encver);
    void (*rdb_save)(RedisModuleIO *io, void *value);
    void (*aof_rewrite)(RedisModuleIO *io, RedisModuleString *key, void *value);
    size_t (*mem_usage)(const void *value);
    void (*digest)(RedisModuleDigest *digest, void *value);
    void (*free)(void *value);
    int (*aux_load)(RedisModuleIO *io, int encver, int when);
    void (*aux_save)(RedisModuleIO *io, int when);
    int aux_save_triggers;
    size_t (*free_effort)(RedisModuleString *key, const void *value);
    void (*unlink)(RedisModuleString *key, const void *value);
    void *(*copy)(RedisModuleString *from, RedisModuleString *to, const void *value);
    int (*defrag)(RedisModuleDefragCtx *ctx, RedisModuleString *key, void **value);
    size_t (*mem_usage2)(RedisModuleKeyOptCtx *ctx, const void *value, size_t sample_size);
    size_t (*free_effort2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void (*unlink2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void *(*copy2)(RedisModuleKeyOptCtx *ctx, const void *value);
    void (*aux_save2)(RedisModuleIO *io, int when);
} RedisModuleTypeMethods;

/* Documentation and key positions of a command, for COMMAND DOCS and cluster clients. */
typedef enum {
    REDISMODULE_ARG_TYPE_STRING,
    REDISMODULE_ARG_TYPE_INTEGER,
    REDISMODULE_ARG_TYPE_DOUBLE,
    REDISMODULE_ARG_TYPE_KEY,
    REDISMODULE_ARG_TYPE_PATTERN,
    REDISMODULE_ARG_TYPE_UNIX_TIME,
    REDISMODULE_ARG_TYPE_PURE_TOKEN,
    REDISMODULE_ARG_TYPE_ONEOF,
    REDISMODULE_ARG_TYPE_BLOCK
} RedisModuleCommandArgType;

enum { REDISMODULE_CMD_ARG_OPTIONAL = 1 << 0, REDISMODULE_CMD_ARG_MULTIPLE = 1 << 1 };

typedef struct RedisModuleCommandArg {
    const char *name;
    RedisModuleCommandArgType type;
    int key_spec_index; /* -1 unless it is a key */
    const char *token;
    const char *summary, *since;
    int flags;
    const char *deprecated_since;
    struct RedisModuleCommandArg *subargs;
    const char *display_text;
} RedisModuleCommandArg;

enum {
    REDISMODULE_CMD_KEY_RO = 1 << 0,
    REDISMODULE_CMD_KEY_RW = 1 << 1,
    REDISMODULE_CMD_KEY_OW = 1 << 2,
    REDISMODULE_CMD_KEY_ACCESS = 1 << 4,
    REDISMODULE_CMD_KEY_UPDATE = 1 << 5,
    REDISMODULE_CMD_KEY_INSERT = 1 << 6
};

typedef enum {
    REDISMODULE_KSPEC_BS_INVALID,
    REDISMODULE_KSPEC_BS_UNKNOWN,
    REDISMODULE_KSPEC_BS_INDEX
} RedisModuleBeginSearch;
typedef enum {
    REDISMODULE_KSPEC_FK_OMITTED,
    REDISMODULE_KSPEC_FK_UNKNOWN,
    REDISMODULE_KSPEC_FK_RANGE,
    REDISMODULE_KSPEC_FK_KEYNUM
} RedisModuleFindKeys;

typedef struct {
    const char *notes;
    uint64_t flags;
    RedisModuleBeginSearch begin_search_type;
    union {
        struct {
            int pos;
        } index;
        struct {
            const char *keyword;
            int startfrom;
        } keyword;
    } bs;
    RedisModuleFindKeys find_keys_type;
    union {
        struct {
            int lastkey, keystep, limit;
        } range;
        struct {
            int keynumidx, firstkey, keystep;
        } keynum;
    } fk;
} RedisModuleCommandKeySpec;

typedef struct {
    const char *since, *changes;
} RedisModuleCommandHistoryEntry;

typedef struct {
    int version;
    size_t sizeof_historyentry, sizeof_keyspec, sizeof_arg;
} RedisModuleCommandInfoVersion;

typedef struct {
    const RedisModuleCommandInfoVersion *version;
    const char *summary, *complexity, *since;
    RedisModuleCommandHistoryEntry *history;
    const char *tips;
    int arity;
    RedisModuleCommandKeySpec *key_specs;
    RedisModuleCommandArg *args;
} RedisModuleCommandInfo;

/* X(result, name, arguments) */
#define REDIS_API_REQUIRED(X)                                                                      \
    X(void *, TryAlloc, (size_t bytes))                                                            \
    X(void *, Calloc, (size_t count, size_t size))                                                 \
    X(void, Free, (void *memory))                                                                  \
    X(size_t, MallocSize, (void *memory))                                                          \
    X(int, CreateCommand,                                                                          \
      (RedisModuleCtx * ctx, const char *name, RedisModuleCmdFunc run, const char *flags,          \
       int first, int last, int step))                                                             \
    X(RedisModuleCommand *, GetCommand, (RedisModuleCtx * ctx, const char *name))                  \
    X(int, SetCommandInfo, (RedisModuleCommand * command, const RedisModuleCommandInfo *info))     \
    X(void, SetModuleAttribs, (RedisModuleCtx * ctx, const char *name, int version, int api))      \
    X(int, IsModuleNameBusy, (const char *name))                                                   \
    X(void, SetModuleOptions, (RedisModuleCtx * ctx, int options))                                 \
    X(int, GetContextFlags, (RedisModuleCtx * ctx))                                                \
    X(int, WrongArity, (RedisModuleCtx * ctx))                                                     \
    X(int, GetSelectedDb, (RedisModuleCtx * ctx))                                                  \
    X(int, SelectDb, (RedisModuleCtx * ctx, int number))                                           \
    X(RedisModuleKey *, OpenKey, (RedisModuleCtx * ctx, RedisModuleString * name, int mode))       \
    X(void, CloseKey, (RedisModuleKey * key))                                                      \
    X(int, KeyType, (RedisModuleKey * key))                                                        \
    X(int, DeleteKey, (RedisModuleKey * key))                                                      \
    X(RedisModuleType *, ModuleTypeGetType, (RedisModuleKey * key))                                \
    X(void *, ModuleTypeGetValue, (RedisModuleKey * key))                                          \
    X(int, ModuleTypeSetValue, (RedisModuleKey * key, RedisModuleType * type, void *value))        \
    X(RedisModuleType *, CreateDataType,                                                           \
      (RedisModuleCtx * ctx, const char *name, int encver, RedisModuleTypeMethods *methods))       \
    X(RedisModuleString *, CreateString, (RedisModuleCtx * ctx, const char *text, size_t length))  \
    X(void, FreeString, (RedisModuleCtx * ctx, RedisModuleString * string))                        \
    X(void, RetainString, (RedisModuleCtx * ctx, RedisModuleString * string))                      \
    X(const char *, StringPtrLen, (const RedisModuleString *string, size_t *length))               \
    X(int, StringToLongLong, (const RedisModuleString *string, long long *number))                 \
    X(int, StringToDouble, (const RedisModuleString *string, double *number))                      \
    X(int, ReplyWithError, (RedisModuleCtx * ctx, const char *message))                            \
    X(int, ReplyWithSimpleString, (RedisModuleCtx * ctx, const char *text))                        \
    X(int, ReplyWithStringBuffer, (RedisModuleCtx * ctx, const char *bytes, size_t length))        \
    X(int, ReplyWithCString, (RedisModuleCtx * ctx, const char *text))                             \
    X(int, ReplyWithLongLong, (RedisModuleCtx * ctx, long long number))                            \
    X(int, ReplyWithDouble, (RedisModuleCtx * ctx, double number))                                 \
    X(int, ReplyWithBool, (RedisModuleCtx * ctx, int yes))                                         \
    X(int, ReplyWithNull, (RedisModuleCtx * ctx))                                                  \
    X(int, ReplyWithArray, (RedisModuleCtx * ctx, long length))                                    \
    X(int, ReplyWithMap, (RedisModuleCtx * ctx, long pairs))                                       \
    X(void, ReplySetMapLength, (RedisModuleCtx * ctx, long pairs))                                 \
    X(int, Replicate, (RedisModuleCtx * ctx, const char *command, const char *format, ...))        \
    X(int, ReplicateVerbatim, (RedisModuleCtx * ctx))                                              \
    X(RedisModuleCallReply *, Call,                                                                \
      (RedisModuleCtx * ctx, const char *command, const char *format, ...))                        \
    X(int, CallReplyType, (RedisModuleCallReply * reply))                                          \
    X(RedisModuleCallReply *, CallReplyArrayElement, (RedisModuleCallReply * reply, size_t place)) \
    X(void, FreeCallReply, (RedisModuleCallReply * reply))                                         \
    X(int, NotifyKeyspaceEvent,                                                                    \
      (RedisModuleCtx * ctx, int type, const char *event, RedisModuleString *key))                 \
    X(int, SignalModifiedKey, (RedisModuleCtx * ctx, RedisModuleString * key))                     \
    X(long long, Milliseconds, (void))                                                             \
    X(void, GetRandomBytes, (unsigned char *bytes, size_t length))                                 \
    X(void, SaveStringBuffer, (RedisModuleIO * io, const char *bytes, size_t length))              \
    X(char *, LoadStringBuffer, (RedisModuleIO * io, size_t * length))                             \
    X(RedisModuleCtx *, GetContextFromIO, (RedisModuleIO * io))                                    \
    X(int, IsIOError, (RedisModuleIO * io))                                                        \
    X(void, EmitAOF, (RedisModuleIO * io, const char *command, const char *format, ...))           \
    X(void, LogIOError, (RedisModuleIO * io, const char *level, const char *format, ...))          \
    X(void, Log, (RedisModuleCtx * ctx, const char *level, const char *format, ...))               \
    X(void, DigestAddStringBuffer, (RedisModuleDigest * digest, const char *bytes, size_t length)) \
    X(void, DigestEndSequence, (RedisModuleDigest * digest))                                       \
    X(int, RegisterInfoFunc, (RedisModuleCtx * ctx, RedisModuleInfoFunc function))                 \
    X(int, InfoAddSection, (RedisModuleInfoCtx * ctx, const char *name))                           \
    X(int, InfoAddFieldCString, (RedisModuleInfoCtx * ctx, const char *field, const char *text))   \
    X(int, InfoAddFieldULongLong,                                                                  \
      (RedisModuleInfoCtx * ctx, const char *field, unsigned long long number))                    \
    X(RedisModuleServerInfoData *, GetServerInfo, (RedisModuleCtx * ctx, const char *section))     \
    X(void, FreeServerInfo, (RedisModuleCtx * ctx, RedisModuleServerInfoData * data))              \
    X(unsigned long long, ServerInfoGetFieldUnsigned,                                              \
      (RedisModuleServerInfoData * data, const char *field, int *failed))                          \
    X(int, RegisterStringConfig,                                                                   \
      (RedisModuleCtx * ctx, const char *name, const char *standard, unsigned flags,               \
       RedisModuleConfigGetStringFunc get, RedisModuleConfigSetStringFunc set,                     \
       RedisModuleConfigApplyFunc apply, void *data))                                              \
    X(int, RegisterNumericConfig,                                                                  \
      (RedisModuleCtx * ctx, const char *name, long long standard, unsigned flags, long long low,  \
       long long high, RedisModuleConfigGetNumericFunc get, RedisModuleConfigSetNumericFunc set,   \
       RedisModuleConfigApplyFunc apply, void *data))                                              \
    X(int, RegisterBoolConfig,                                                                     \
      (RedisModuleCtx * ctx, const char *name, int standard, unsigned flags,                       \
       RedisModuleConfigGetBoolFunc get, RedisModuleConfigSetBoolFunc set,                         \
       RedisModuleConfigApplyFunc apply, void *data))                                              \
    X(int, LoadConfigs, (RedisModuleCtx * ctx))                                                    \
    X(RedisModuleBlockedClient *, BlockClient,                                                     \
      (RedisModuleCtx * ctx, RedisModuleCmdFunc reply, RedisModuleCmdFunc timeout,                 \
       void (*release)(RedisModuleCtx *, void *), long long milliseconds))                         \
    X(int, UnblockClient, (RedisModuleBlockedClient * blocked, void *data))                        \
    X(void *, GetBlockedClientPrivateData, (RedisModuleCtx * ctx))                                 \
    X(RedisModuleCtx *, GetThreadSafeContext, (RedisModuleBlockedClient * blocked))                \
    X(void, FreeThreadSafeContext, (RedisModuleCtx * ctx))                                         \
    X(uint64_t, CreateTimer,                                                                       \
      (RedisModuleCtx * ctx, long long milliseconds, RedisModuleTimerProc function, void *data))   \
    X(int, AvoidReplicaTraffic, (void))                                                            \
    X(void *, DefragAlloc, (RedisModuleDefragCtx * ctx, void *memory))

#define REDIS_API_OPTIONAL(X)                                                                      \
    X(void *, TryCalloc, (size_t count, size_t size))                                              \
    X(int, SetCommandACLCategories, (RedisModuleCommand * command, const char *categories))        \
    X(int, AddACLCategory, (RedisModuleCtx * ctx, const char *category))

#define REDIS_API_DECLARE(result, name, arguments) extern result(*RedisModule_##name) arguments;
REDIS_API_REQUIRED(REDIS_API_DECLARE)
REDIS_API_OPTIONAL(REDIS_API_DECLARE)
#undef REDIS_API_DECLARE

/* Find them all. Returns the name of the first required one that the server does not have, or
 * NULL. */
const char *redis_api_find(RedisModuleCtx *ctx);

#endif
