/* topk_list.h - the list of a `top` sketch as TOPK.* saw it last.
 *
 * TOPK.ADD names the item that another one pushes out, so it has to know the list before and after.
 * To list the candidates of a sketch takes longer than to count a thousand items: so the list is
 * kept beside the sketch, with the lowest count in it, and is made anew where an item rises above
 * that, or where the sketch was changed by other commands. It is no part of what the value is.
 */
#ifndef WEIR_MODULE_TOPK_LIST_H
#define WEIR_MODULE_TOPK_LIST_H

#include "module.h"

typedef struct {
    uint64_t hash;
    double count;
    size_t at, length; /* of its name */
} topk_entry;

typedef struct topk_list {
    topk_entry *entries; /* room for k, most frequent first when it is made */
    size_t count, room;
    value_buffer names;
    double least;     /* an item that is not listed and has no more changes nothing */
    uint64_t updates; /* of the sketch */
    bool exact;       /* nothing was counted since it was made */
} topk_list;

/* The list as it is now, made anew where it may have changed; kept at the value. NULL: no memory.
 */
topk_list *topk_list_now(weir_value *value);
/* The same, but for changes that were told with topk_list_counted(). */
topk_list *topk_list_known(weir_value *value);

const topk_entry *topk_list_find(const topk_list *list, uint64_t hash);
const char *topk_list_name(const topk_list *list, const topk_entry *entry);

/* An item was counted, of a list that is known. Returns the item that left the list, for the caller
 * to free, or NULL. */
RedisModuleString *topk_list_counted(weir_value *value, const RedisModuleString *item,
                                     uint64_t hash);

size_t topk_list_memory(const topk_list *list); /* NULL is allowed, here and below */
void topk_list_free(topk_list *list);

#endif
