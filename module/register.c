/* register.c - from the table of commands to the server.
 *
 * The syntax text becomes the tree of arguments that COMMAND DOCS shows. Trees are small: the
 * longest command has a few dozen nodes, so they stand in one array that is made anew for each
 * command; the server copies what it is given.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "module.h"
#include "table.h"

/* --- the syntax ------------------------------------------------------------------------------- */

enum { NODES = 96, NAMES = 1024 };

typedef struct {
    const char *at;
    RedisModuleCommandArg nodes[NODES]; /* lists, each ended by one that is all zero */
    size_t used;
    char names[NAMES];
    size_t named;
} syntax_reader;

/* Words of the table end at a space, a bracket or a bar. */
static size_t word_length(const char *text) { return strcspn(text, " []|"); }

static char *keep(syntax_reader *r, const char *text, size_t length, bool lower) {
    char *name = r->names + r->named;
    if (r->named + length + 1 > NAMES) return "";
    for (size_t i = 0; i < length; i++)
        name[i] = lower ? (char)tolower((unsigned char)text[i]) : text[i];
    name[length] = 0;
    r->named += length + 1;
    return name;
}

static RedisModuleCommandArg *add_node(RedisModuleCommandArg *list, size_t *count, size_t most) {
    RedisModuleCommandArg *node = &list[*count];
    if (*count + 1 < most) ++*count; /* the last one stays zero */
    return node;
}

enum { LIST = 12 };

static RedisModuleCommandArg *new_list(syntax_reader *r) {
    RedisModuleCommandArg *list = r->nodes + r->used;
    if (r->used + LIST > NODES) return r->nodes + NODES - LIST;
    r->used += LIST;
    return list;
}

static void fill_word(syntax_reader *r, RedisModuleCommandArg *node, const char *word,
                      size_t length) {
    bool token = isupper((unsigned char)*word);
    const argument_kind *kind = argument_find(word, length);
    node->name = keep(r, word, length, true);
    node->key_spec_index = -1;
    if (token) {
        node->type = REDISMODULE_ARG_TYPE_PURE_TOKEN;
        node->token = keep(r, word, length, false);
    } else if (kind) {
        node->type = kind->type;
        if (kind->type == REDISMODULE_ARG_TYPE_KEY)
            node->key_spec_index =
                strcmp(kind->name, "source") && strcmp(kind->name, "other") ? 0 : 1;
    }
}

static void read_choice(syntax_reader *r, RedisModuleCommandArg *node) {
    RedisModuleCommandArg *list = new_list(r);
    size_t count = 0;
    node->type = REDISMODULE_ARG_TYPE_ONEOF;
    node->subargs = list;
    for (;;) {
        size_t length = word_length(r->at);
        RedisModuleCommandArg *choice = add_node(list, &count, LIST);
        fill_word(r, choice, r->at, length);
        choice->type = REDISMODULE_ARG_TYPE_PURE_TOKEN;
        choice->token = keep(r, r->at, length, false);
        r->at += length;
        if (*r->at != '|') return;
        r->at++;
    }
}

static void read_word(syntax_reader *r, RedisModuleCommandArg *node) {
    size_t length = word_length(r->at);
    fill_word(r, node, r->at, length);
    if (r->at[length] == '|') read_choice(r, node);
    else r->at += length;
}

/* [item ...] after item, [item weight ...] after item weight: those before may be repeated. */
static bool read_repeat(syntax_reader *r, RedisModuleCommandArg *list, size_t *count) {
    const char *end = strchr(r->at, ']');
    if (!end || end - r->at < 4 || memcmp(end - 4, " ...", 4)) return false;
    if (memchr(r->at, '[', (size_t)(end - r->at))) return false;
    size_t words = 0;
    for (const char *at = r->at; at < end - 4; at++) words += *at == ' ';
    words++;
    r->at = end + 1;
    if (words > *count) return true;
    RedisModuleCommandArg *first = &list[*count - words];
    if (words > 1) {
        RedisModuleCommandArg *inside = new_list(r);
        memcpy(inside, first, words * sizeof *inside);
        memset(first, 0, words * sizeof *first);
        *first = (RedisModuleCommandArg){.name = "pair",
                                         .type = REDISMODULE_ARG_TYPE_BLOCK,
                                         .key_spec_index = -1,
                                         .subargs = inside};
        *count -= words - 1;
    }
    first->flags |= REDISMODULE_CMD_ARG_MULTIPLE;
    return true;
}

static size_t read_list(syntax_reader *r, RedisModuleCommandArg *list, size_t most);

/* [TOKEN], [TOKEN argument], [TOKEN argument argument], [argument], [argument argument]. */
static void read_option(syntax_reader *r, RedisModuleCommandArg *node) {
    RedisModuleCommandArg *list = new_list(r);
    size_t count = read_list(r, list, LIST);
    if (*r->at == ']') r->at++;
    if (count >= 2 && list[0].type == REDISMODULE_ARG_TYPE_PURE_TOKEN) {
        const char *token = list[0].token, *name = list[0].name;
        if (count == 2) {
            *node = list[1];
        } else {
            memmove(list, list + 1, (count - 1) * sizeof *list);
            memset(list + count - 1, 0, sizeof *list);
            *node = (RedisModuleCommandArg){
                .type = REDISMODULE_ARG_TYPE_BLOCK, .key_spec_index = -1, .subargs = list};
        }
        node->name = name;
        node->token = token;
    } else if (count >= 2) {
        *node = (RedisModuleCommandArg){.name = "group",
                                        .type = REDISMODULE_ARG_TYPE_BLOCK,
                                        .key_spec_index = -1,
                                        .subargs = list};
    } else {
        *node = list[0];
    }
    node->flags |= REDISMODULE_CMD_ARG_OPTIONAL;
}

static size_t read_list(syntax_reader *r, RedisModuleCommandArg *list, size_t most) {
    size_t count = 0;
    while (*r->at && *r->at != ']') {
        if (*r->at == ' ') r->at++;
        else if (*r->at != '[') read_word(r, add_node(list, &count, most));
        else if (r->at++, !read_repeat(r, list, &count))
            read_option(r, add_node(list, &count, most));
    }
    return count;
}

/* A token before what it belongs to, outside brackets: ITEMS item [item ...]. */
static void join_tokens(RedisModuleCommandArg *list, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) {
        if (list[i].type != REDISMODULE_ARG_TYPE_PURE_TOKEN || list[i].flags || list[i + 1].token)
            continue;
        list[i + 1].token = list[i].token;
        memmove(list + i, list + i + 1, (count - i) * sizeof *list);
        count--;
    }
}

int command_arity(const char *syntax) {
    int words = 1, depth = 0;
    bool open = false;
    for (const char *at = syntax; *at; at++) {
        depth += (*at == '[') - (*at == ']');
        open |= *at == '[';
        words += depth == 0 && *at != ' ' && *at != ']' && (at == syntax || at[-1] == ' ');
    }
    return open ? -words : words;
}

/* --- the server ------------------------------------------------------------------------------- */

static const RedisModuleCommandInfoVersion info_version = {
    1, sizeof(RedisModuleCommandHistoryEntry), sizeof(RedisModuleCommandKeySpec),
    sizeof(RedisModuleCommandArg)};

#define SOURCE_FLAGS (REDISMODULE_CMD_KEY_RO | REDISMODULE_CMD_KEY_ACCESS)

static RedisModuleCommandKeySpec range_of_keys(int from, int last, uint64_t flags) {
    return (RedisModuleCommandKeySpec){.flags = flags,
                                       .begin_search_type = REDISMODULE_KSPEC_BS_INDEX,
                                       .bs.index.pos = from,
                                       .find_keys_type = REDISMODULE_KSPEC_FK_RANGE,
                                       .fk.range = {last, 1, 0}};
}

/* specs: three, all zero. Redis takes a range that is relative to where it begins. */
static void key_specs(const module_command *command, RedisModuleCommandKeySpec *specs) {
    specs[0] = range_of_keys(1, 0, command->key_flags);
    if (command->keys == KEYS_TWO) specs[1] = range_of_keys(2, 0, SOURCE_FLAGS);
    if (command->keys == KEYS_MERGE) specs[1] = range_of_keys(2, -1, SOURCE_FLAGS);
    if (command->keys == KEYS_NUMBERED) {
        specs[1] = range_of_keys(2, 0, SOURCE_FLAGS);
        specs[1].find_keys_type = REDISMODULE_KSPEC_FK_KEYNUM;
        specs[1].fk.keynum.keynumidx = 0;
        specs[1].fk.keynum.firstkey = 1;
        specs[1].fk.keynum.keystep = 1;
    }
}

static int describe(RedisModuleCtx *ctx, const module_command *command) {
    syntax_reader reader = {.at = command->syntax};
    RedisModuleCommandArg *args = new_list(&reader);
    join_tokens(args, read_list(&reader, args, LIST));
    RedisModuleCommandKeySpec specs[3] = {0};
    key_specs(command, specs);
    RedisModuleCommandInfo info = {.version = &info_version,
                                   .summary = command->summary,
                                   .complexity = command->cost,
                                   .since = WEIR_VERSION_STRING,
                                   .arity = command_arity(command->syntax),
                                   .key_specs = specs,
                                   .args = args};
    RedisModuleCommand *known = RedisModule_GetCommand(ctx, command->name);
    if (!known) return REDISMODULE_ERR;
    if (RedisModule_SetCommandACLCategories) {
        char categories[32]; /* of our own where the server lets a module make one */
        snprintf(categories, sizeof categories, "%s%s", RedisModule_AddACLCategory ? "weir " : "",
                 strstr(command->flags, "write") ? "write" : "read");
        RedisModule_SetCommandACLCategories(known, categories);
    }
    return RedisModule_SetCommandInfo(known, &info);
}

int commands_register(RedisModuleCtx *ctx, command_face face) {
    for (const module_command *c = module_commands; c->name; c++) {
        if (c->face != face) continue;
        int last = c->keys == KEYS_TWO ? 2 : c->keys == KEYS_MERGE ? -1 : 1;
        if (RedisModule_CreateCommand(ctx, c->name, c->run, c->flags, 1, last, 1) !=
                REDISMODULE_OK ||
            describe(ctx, c) != REDISMODULE_OK) {
            RedisModule_Log(ctx, "warning", "weir: the command %s cannot be registered", c->name);
            return REDISMODULE_ERR;
        }
    }
    return REDISMODULE_OK;
}
