/* table.c - every command. table.h says how it is read. */
#include "table.h"

#include <string.h>

#include "module.h"

#define CREATES (REDISMODULE_CMD_KEY_OW | REDISMODULE_CMD_KEY_INSERT)
#define CHANGES (REDISMODULE_CMD_KEY_RW | REDISMODULE_CMD_KEY_UPDATE | REDISMODULE_CMD_KEY_ACCESS)
#define READS (REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS)

#define HASH_OPTIONS                                                                               \
    "[SEED seed] [HASHVERSION version] [EPOCH epoch] [TIME time] [TIMES times] [PRODUCERS "        \
    "producers]"

const module_command module_commands[] = {
    {"WEIR.CREATE", "key spec [SKETCH] [IFABSENT] [EPOCH epoch]", cmd_create, FACE_WEIR, KEYS_ONE,
     CREATES, "write deny-oom", "O(1), but for clearing the memory",
     "Makes a filter or a sketch of a spec.",
     "OK; with IFABSENT, null where the key has a value of weir already"},
    {"WEIR.ADD", "key item [item ...]", cmd_add, FACE_WEIR, KEYS_ONE, CHANGES,
     "write deny-oom fast", "O(n), n items", "Gives verdicts on items and remembers them.",
     "1 for new, 0 for seen; an array where there are several items"},
    {"WEIR.TEST", "key item [item ...]", cmd_test, FACE_WEIR, KEYS_ONE, READS, "readonly fast",
     "O(n), n items", "Gives verdicts on items without remembering them.",
     "1 for new, 0 for seen, as WEIR.ADD answers; an array where there are several items"},
    {"WEIR.ADDWITH",
     "key [TIME time] [IMPORTANCE importance] [PRODUCER producer] ITEMS item [item ...]",
     cmd_add_with, FACE_WEIR, KEYS_ONE, CHANGES, "write deny-oom fast", "O(n), n items",
     "WEIR.ADD for items that have a time, an importance or a producer.", "as WEIR.ADD"},
    {"WEIR.TESTWITH", "key [TIME time] [PRODUCER producer] ITEMS item [item ...]", cmd_test_with,
     FACE_WEIR, KEYS_ONE, READS, "readonly fast", "O(n), n items",
     "WEIR.TEST for items that have a time or a producer.", "as WEIR.TEST"},
    {"WEIR.REMOVE", "key item [item ...]", cmd_remove, FACE_WEIR, KEYS_ONE, CHANGES, "write fast",
     "O(n), n items", "Takes back one offer of each item, where the filter can.",
     "1 for taken back, 0 for an item that was not there; an array where there are several items"},
    {"WEIR.ADDHASH",
     "key hashes " HASH_OPTIONS " [IMPORTANCES importances] [BATCH producer number]", cmd_add_hash,
     FACE_WEIR, KEYS_ONE, CHANGES, "write deny-oom", "O(n), n hashes",
     "Gives verdicts on keys by their hashes and remembers them.",
     "the verdicts as bits, 1 for new, the least significant bit of a byte first; with BATCH an "
     "array of these and of how many keys the value was offered in its life"},
    {"WEIR.TESTHASH", "key hashes " HASH_OPTIONS, cmd_test_hash, FACE_WEIR, KEYS_ONE, READS,
     "readonly", "O(n), n hashes",
     "Gives verdicts on keys by their hashes without remembering them.",
     "the verdicts as bits, as WEIR.ADDHASH answers"},
    {"WEIR.INFO", "key", cmd_info, FACE_WEIR, KEYS_ONE, READS, "readonly",
     "O(m) for filters of m bytes that count what is set",
     "Says what a value is and how it stands.", "a map of names and values"},
    {0},
};

const argument_kind argument_kinds[] = {
    {"key", REDISMODULE_ARG_TYPE_KEY, "the key of a filter or sketch"},
    {"spec", REDISMODULE_ARG_TYPE_STRING,
     "a filter or sketch, as on the command line: `recent:memory=64M,fpr=0.01%`"},
    {"epoch", REDISMODULE_ARG_TYPE_STRING,
     "16 hexadecimal digits, drawn when a value is made: tells it from another of the same name"},
    {"item", REDISMODULE_ARG_TYPE_STRING, "any bytes"},
    {"hashes", REDISMODULE_ARG_TYPE_STRING, "hashes of 8 bytes each, little-endian"},
    {"seed", REDISMODULE_ARG_TYPE_STRING, "the seed of the value, a whole number"},
    {"version", REDISMODULE_ARG_TYPE_INTEGER, "the version of the hash functions"},
    {"time", REDISMODULE_ARG_TYPE_INTEGER, "nanoseconds since 1970, the same for all items"},
    {"times", REDISMODULE_ARG_TYPE_STRING, "a signed number of 8 bytes for each hash: nanoseconds"},
    {"importance", REDISMODULE_ARG_TYPE_DOUBLE, "a number, larger for what matters more"},
    {"importances", REDISMODULE_ARG_TYPE_STRING, "a double of 8 bytes for each hash"},
    {"producers", REDISMODULE_ARG_TYPE_STRING, "a number of 8 bytes for each hash"},
    {"producer", REDISMODULE_ARG_TYPE_STRING,
     "who sends: a number, or with BATCH a name of up to 64 bytes"},
    {"number", REDISMODULE_ARG_TYPE_INTEGER,
     "of a batch of that producer: one that was applied is answered again, not applied again"},
    {0},
};

const argument_kind *argument_find(const char *name, size_t length) {
    for (const argument_kind *k = argument_kinds; k->name; k++)
        if (strlen(k->name) == length && !memcmp(k->name, name, length)) return k;
    return NULL;
}
