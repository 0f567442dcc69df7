/* module.h - what the commands of the module share. */
#ifndef WEIR_MODULE_MODULE_H
#define WEIR_MODULE_MODULE_H

#include "redis_api.h"
#include "value.h"

/* The types of keys, and what can be configured: set when the module is loaded. */
typedef struct {
    RedisModuleType *filter, *sketch, *import;
    bool face[3]; /* which of BF.*, CMS.*, TOPK.* are ours */
} module_state;
extern module_state module;

int types_register(RedisModuleCtx *ctx);
RedisModuleType *type_of(const weir_value *value);

/* --- replies (reply.c) ---------------------------------------------------------------
 *
 * Each returns REDISMODULE_OK, which is what a command returns. */
int reply_error(RedisModuleCtx *ctx, const char *format, ...) __attribute__((format(printf, 2, 3)));
int reply_failure(RedisModuleCtx *ctx, const weir_error *err);
int reply_no_memory(RedisModuleCtx *ctx);
void reply_field(RedisModuleCtx *ctx, const char *name, const char *text);
void reply_field_whole(RedisModuleCtx *ctx, const char *name, uint64_t number);
void reply_field_number(RedisModuleCtx *ctx, const char *name, double number);
void reply_whole(RedisModuleCtx *ctx, uint64_t number); /* as text beyond 2^63 */

/* The bytes that the server's maxmemory leaves to a new value. */
size_t memory_left(RedisModuleCtx *ctx);

/* Is this a change that comes from the primary or a file, and was decided already? */
bool is_decided(RedisModuleCtx *ctx);

/* Nanoseconds since 1970. */
int64_t time_now(void);

/* --- keys (open_key.c) ------------------------------------------------------------------------ */

typedef enum { KEY_FOUND, KEY_ABSENT, KEY_REFUSED /* the reply was given */ } key_state;
typedef struct {
    RedisModuleKey *key;
    weir_value *value;
} key_handle;

/* kinds: bits of value_kind that will do; anything else at the key is WRONGTYPE. */
key_state key_open(RedisModuleCtx *ctx, RedisModuleString *name, unsigned kinds, int mode,
                   key_handle *out);
void key_close(key_handle *handle);

/* The object of a key, if it is of one of these kinds; NULL: the key is NULL, or holds another. */
weir_value *key_value(RedisModuleKey *key, unsigned kinds);

/* As key_open(); an absent key is the error WEIRMISSING. */
bool key_need(RedisModuleCtx *ctx, RedisModuleString *name, unsigned kinds, int mode,
              key_handle *out);

/* For a value that is to be made: whatever is there is the error `taken`. */
bool key_vacant(RedisModuleCtx *ctx, RedisModuleString *name, const char *taken, key_handle *out);

/* Make a value at a key that was opened for writing and is absent; the value is the key's then.
 * And delete it, here and on replicas. */
void key_set(key_handle *handle, weir_value *value);
void key_drop(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle);

/* To be called by every command that changed what is at the key, and by no other: the server is not
 * told of a change by a key that was opened for writing. */
void key_changed(RedisModuleCtx *ctx, RedisModuleString *name, const char *event);

/* Make a value; NULL: the reply is given. Then put it where an absent key was opened for writing,
 * and replicate that with its resolved spec and epoch. */
weir_value *create_value(RedisModuleCtx *ctx, const char *spec, unsigned kinds);
void create_at(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle, weir_value *value);

/* --- arguments (args.c) ----------------------------------------------------------------------- */

typedef struct {
    RedisModuleCtx *ctx;
    RedisModuleString **argv;
    int argc, at;
} arguments;

const char *text_of(const RedisModuleString *string, size_t *length);
bool word_is(const RedisModuleString *string, const char *word);  /* in any case */
bool take_word(arguments *args, const char *word);                /* the next one is it: skip it */
RedisModuleString *take_after(arguments *args, const char *word); /* `word` and what follows it */

/* Whole texts only; false: not such a number. */
bool whole_of(const RedisModuleString *string, uint64_t *number);
bool hex_of(const RedisModuleString *string, uint64_t *number);
bool integer_of(const RedisModuleString *string, int64_t *number);

/* A spec without a NUL in it, ended by one; NULL: it has one, or is too long. */
const char *spec_of(const RedisModuleString *string, char *buffer, size_t size);

/* Reply that an argument is none of the options. */
int reply_unknown_word(arguments *args);

enum { SPEC_SIZE = 2048, EPOCH_SIZE = 17 };

/* --- the commands (cmd_*.c, face_*.c) --------------------------------------------------------- */

#define COMMAND(name) int name(RedisModuleCtx *ctx, RedisModuleString **argv, int argc)
COMMAND(cmd_create);
COMMAND(cmd_add);
COMMAND(cmd_test);
COMMAND(cmd_add_with);
COMMAND(cmd_test_with);
COMMAND(cmd_remove);
COMMAND(cmd_add_hash);
COMMAND(cmd_test_hash);
COMMAND(cmd_info);
COMMAND(cmd_export);
COMMAND(cmd_import);
COMMAND(cmd_absorb);
COMMAND(cmd_merge);
COMMAND(cmd_count);
COMMAND(cmd_count_with);
COMMAND(cmd_estimate);
COMMAND(cmd_top);
COMMAND(cmd_distinct);
COMMAND(cmd_quantile);
COMMAND(cmd_self_join);
COMMAND(cmd_join);

COMMAND(bf_reserve);
COMMAND(bf_add);
COMMAND(bf_madd);
COMMAND(bf_insert);
COMMAND(bf_exists);
COMMAND(bf_mexists);
COMMAND(bf_card);
COMMAND(bf_info);
COMMAND(bf_scandump);
COMMAND(bf_loadchunk);
COMMAND(cms_initbydim);
COMMAND(cms_initbyprob);
COMMAND(cms_incrby);
COMMAND(cms_query);
COMMAND(cms_merge);
COMMAND(cms_info);
COMMAND(topk_reserve);
COMMAND(topk_add);
COMMAND(topk_incrby);
COMMAND(topk_query);
COMMAND(topk_count);
COMMAND(topk_items);
COMMAND(topk_info);

/* The number behind `name=` in a resolved spec; 0: it has none. */
double spec_number(const weir_value *value, const char *name);

/* --- exports and imports in chunks (cmd_state.c): also of BF.SCANDUMP and BF.LOADCHUNK -------- */
bool export_chunk(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, uint64_t cursor,
                  uint64_t most);
void dump_chunk(RedisModuleCtx *ctx, RedisModuleString *key, weir_value *value, uint64_t cursor,
                size_t most, uint64_t flag);

/* A chunk for an import at a key, which it begins if the cursor is 0. NULL: nothing has changed and
 * the reply is given. */
weir_value *import_chunk(RedisModuleCtx *ctx, RedisModuleString *name, uint64_t cursor,
                         const RedisModuleString *chunk, key_handle *handle);
/* All are there, `chunk` the last: the import becomes what they say. NULL: the reply is given; the
 * key is gone, but where memory was wanting. */
weir_value *import_end(RedisModuleCtx *ctx, RedisModuleString *name, key_handle *handle,
                       const RedisModuleString *chunk, unsigned kinds);

#endif
