/* table.h - the commands, in one table.
 *
 * What is registered, the number of arguments, key specifications, flags, COMMAND DOCS, the list of
 * commands in docs/redis.md and the man page weir-module(7) all come from it. The syntax is written
 * as it is read: `key spec [IFABSENT] [EPOCH epoch]`, capitals for what is typed as it stands,
 * small letters for what stands for something, brackets for what may be left out, `item [item ...]`
 * for what may be repeated, and `a|b` for a choice.
 */
#ifndef WEIR_MODULE_TABLE_H
#define WEIR_MODULE_TABLE_H

#include "redis_api.h"

/* Where a command has its keys. */
typedef enum {
    KEYS_ONE,      /* the first argument */
    KEYS_TWO,      /* the first two */
    KEYS_MERGE,    /* the first is written, all others are read */
    KEYS_NUMBERED, /* the first is written, the second says how many follow that are read */
} key_places;

/* The names that weir brings, and those of others that it can take over. */
typedef enum { FACE_BF, FACE_CMS, FACE_TOPK, FACE_WEIR } command_face;

typedef struct {
    const char *name, *syntax;
    RedisModuleCmdFunc run;
    command_face face;
    key_places keys;
    uint64_t key_flags; /* of the first */
    const char *flags;  /* "write deny-oom" */
    const char *cost;   /* "O(n), n items" */
    const char *summary;
    const char *reply; /* what comes back */
} module_command;

/* Ends with a name of NULL. */
extern const module_command module_commands[];

/* Type and description of an argument, by its name. */
typedef struct {
    const char *name;
    RedisModuleCommandArgType type;
    const char *meaning;
} argument_kind;
extern const argument_kind argument_kinds[];
const argument_kind *argument_find(const char *name, size_t length);

/* -N: N or more, the name of the command included. */
int command_arity(const char *syntax);

/* Register those of a face. */
int commands_register(RedisModuleCtx *ctx, command_face face);

#endif
