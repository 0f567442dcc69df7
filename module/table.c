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
    {"WEIR.EXPORT", "key cursor [BYTES bytes]", cmd_export, FACE_WEIR, KEYS_ONE, READS,
     "readonly deny-oom",
     "O(m) for the first chunk of m bytes in all, then O(n), n bytes of the chunk",
     "Gives a value as the bytes of a snapshot file, in chunks.",
     "an array of the next cursor, 0 after the last chunk, and a chunk"},
    {"WEIR.IMPORT", "key cursor chunk [LAST] [EPOCH epoch]", cmd_import, FACE_WEIR, KEYS_ONE,
     CREATES, "write deny-oom", "O(n), n bytes of the chunk; O(m) for the last one, m bytes in all",
     "Makes a value of the chunks of a snapshot.", "the cursor of the next chunk; after LAST, OK"},
    {"WEIR.ABSORB", "key snapshot [EPOCH epoch] [BATCH producer number]", cmd_absorb, FACE_WEIR,
     KEYS_ONE, CHANGES, "write deny-oom", "O(m), m bytes of the value",
     "Merges a snapshot into a value, or makes it where there is none.",
     "how many keys or updates the value was given in its life"},
    {"WEIR.MERGE", "dest source [source ...]", cmd_merge, FACE_WEIR, KEYS_MERGE, CHANGES,
     "write deny-oom", "O(m), m bytes of all values",
     "Merges values into one, all of them or none.", "OK"},
    {"WEIR.COUNT", "key item weight [item weight ...]", cmd_count, FACE_WEIR, KEYS_ONE, CHANGES,
     "write deny-oom fast", "O(n), n items", "Counts items in a sketch, with weights.", "OK"},
    {"WEIR.COUNTWITH", "key [TIME time] ITEMS item weight [item weight ...]", cmd_count_with,
     FACE_WEIR, KEYS_ONE, CHANGES, "write deny-oom fast", "O(n), n items",
     "WEIR.COUNT for items that have a time.", "OK"},
    {"WEIR.ESTIMATE", "key [BY auto|cm|cmm|mean|agms] item [item ...]", cmd_estimate, FACE_WEIR,
     KEYS_ONE, READS, "readonly fast", "O(n), n items", "Says how often items came by.",
     "an estimate, or an array of estimates: value, lower and upper end of the interval of 99%"},
    {"WEIR.TOP", "key [number] [BY auto|cm|cmm|mean|agms]", cmd_top, FACE_WEIR, KEYS_ONE, READS,
     "readonly", "O(k log k), k items that the sketch keeps", "Lists the most frequent items.",
     "an array of items, most frequent first: item, value, lower and upper end"},
    {"WEIR.DISTINCT", "key", cmd_distinct, FACE_WEIR, KEYS_ONE, READS, "readonly",
     "O(m), m bytes of the sketch", "Says how many different items there were.", "an estimate"},
    {"WEIR.QUANTILE", "key share [share ...]", cmd_quantile, FACE_WEIR, KEYS_ONE, READS, "readonly",
     "O(m), m bytes of the sketch", "Gives quantiles of items that are numbers.",
     "a quantile, or an array of them: value, lower and upper end"},
    {"WEIR.SELFJOIN", "key [BY auto|cm|cmm|mean|agms]", cmd_self_join, FACE_WEIR, KEYS_ONE, READS,
     "readonly", "O(m), m bytes of the sketch", "Gives the sum of the squares of all counts.",
     "an estimate"},
    {"WEIR.JOIN", "key other [BY auto|cm|cmm|mean|agms]", cmd_join, FACE_WEIR, KEYS_TWO, READS,
     "readonly", "O(m), m bytes of the sketches",
     "Gives the sum of the products of the counts in two sketches.", "an estimate"},
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
     "of a batch of that producer: one that was applied is answered again, not applied again; of "
     "items, how many are listed (10)"},
    {"cursor", REDISMODULE_ARG_TYPE_INTEGER, "0, then what the last reply said"},
    {"bytes", REDISMODULE_ARG_TYPE_INTEGER, "the most that a chunk may have: 1M"},
    {"chunk", REDISMODULE_ARG_TYPE_STRING, "the next bytes of a snapshot"},
    {"snapshot", REDISMODULE_ARG_TYPE_STRING, "a snapshot with one filter or one sketch"},
    {"dest", REDISMODULE_ARG_TYPE_KEY, "the key that is changed or made"},
    {"source", REDISMODULE_ARG_TYPE_KEY, "a key that is read"},
    {"other", REDISMODULE_ARG_TYPE_KEY, "a second key that is read"},
    {"weight", REDISMODULE_ARG_TYPE_DOUBLE,
     "how often the item came by; negative to take it back, where the sketch can"},
    {"share", REDISMODULE_ARG_TYPE_DOUBLE, "of the weight, from 0 to 1"},
    {0},
};

const argument_kind *argument_find(const char *name, size_t length) {
    for (const argument_kind *k = argument_kinds; k->name; k++)
        if (strlen(k->name) == length && !memcmp(k->name, name, length)) return k;
    return NULL;
}
