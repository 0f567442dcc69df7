/* topk_list.c - the list of a `top` sketch beside it. topk_list.h says what for. */
#include "topk_list.h"

static topk_list *make_empty(size_t k) {
    topk_list *list = RedisModule_TryAlloc(sizeof *list);
    topk_entry *entries = RedisModule_TryAlloc(k * sizeof *entries);
    if (!list || !entries) {
        RedisModule_Free(list);
        RedisModule_Free(entries);
        return NULL;
    }
    *list = (topk_list){.entries = entries, .room = k, .exact = true};
    return list;
}

static bool append(topk_list *list, uint64_t hash, double count, const void *name, size_t length) {
    size_t at = list->names.length;
    if (!buffer_append(&list->names, name, length)) return false;
    list->entries[list->count++] = (topk_entry){hash, count, at, length};
    return true;
}

static bool is_full(const topk_list *list) { return list->count == list->room; }

static void find_least(topk_list *list) {
    list->least = list->entries[0].count;
    for (size_t i = 1; i < list->count; i++)
        if (list->entries[i].count < list->least) list->least = list->entries[i].count;
}

/* A copy of the sketch's list. */
static topk_list *read_list(weir_value *value) {
    size_t k = value->list ? value->list->room : (size_t)spec_number(value, "k");
    weir_items top = {.items = RedisModule_TryAlloc(k * sizeof *top.items), .room = k};
    topk_list *list = top.items ? make_empty(k) : NULL;
    bool good = list && weir_sketch_top(value->sketch, WEIR_BY_CM, &top, NULL) == WEIR_OK;
    for (size_t i = 0; good && i < top.found; i++) {
        const weir_item *item = &top.items[i];
        good = append(list, item->hash, item->count.value, item->key, item->length);
    }
    RedisModule_Free(top.items);
    if (!good) {
        topk_list_free(list);
        return NULL;
    }
    list->updates = value_offered(value);
    list->least = top.floor;
    if (is_full(list)) find_least(list);
    return list;
}

static topk_list *renew(weir_value *value) {
    topk_list *list = read_list(value);
    if (!list) return NULL;
    topk_list_free(value->list);
    return value->list = list;
}

/* Counts that fade with the time are other ones each time. */
topk_list *topk_list_known(weir_value *value) {
    bool known = value->list && !value->timed && value->list->updates == value_offered(value);
    return known ? value->list : renew(value);
}

topk_list *topk_list_now(weir_value *value) {
    topk_list *list = topk_list_known(value);
    return list && list->exact ? list : renew(value);
}

const topk_entry *topk_list_find(const topk_list *list, uint64_t hash) {
    for (size_t i = 0; i < list->count; i++)
        if (list->entries[i].hash == hash) return &list->entries[i];
    return NULL;
}

const char *topk_list_name(const topk_list *list, const topk_entry *entry) {
    return entry->length ? (const char *)list->names.bytes + entry->at : "";
}

static void raise_entry(topk_list *list, topk_entry *entry, double count) {
    bool was_least = entry->count <= list->least;
    entry->count = count;
    if (was_least && is_full(list)) find_least(list);
}

/* The list is another one now: returns the name that is not in it any more, which is most often the
 * last. Where there is no memory the name is not told, and the list is looked at again. */
static RedisModuleString *renew_dropped(weir_value *value) {
    topk_list *before = value->list, *now = read_list(value);
    const topk_entry *gone = NULL;
    for (size_t i = before->count; now && !gone && i-- > 0;)
        if (!topk_list_find(now, before->entries[i].hash)) gone = &before->entries[i];
    if (!now) return NULL;
    RedisModuleString *name =
        gone ? RedisModule_CreateString(NULL, topk_list_name(before, gone), gone->length) : NULL;
    value->list = now;
    topk_list_free(before);
    return name;
}

RedisModuleString *topk_list_counted(weir_value *value, const RedisModuleString *item,
                                     uint64_t hash) {
    topk_list *list = value->list;
    size_t length;
    const char *name = text_of(item, &length);
    weir_estimate e = {0};
    weir_sketch_estimate_hash(value->sketch, hash, WEIR_BY_CM, &e, NULL);
    topk_entry *entry = (topk_entry *)topk_list_find(list, hash);
    list->updates++;
    list->exact = false;
    bool rises = !entry && e.value > list->least;
    if (entry) raise_entry(list, entry, e.value);
    if (rises && (list->least > 0 || !append(list, hash, e.value, name, length)))
        return renew_dropped(value);
    if (rises && is_full(list)) find_least(list);
    return NULL;
}

size_t topk_list_memory(const topk_list *list) {
    return list ? sizeof *list + list->room * sizeof *list->entries + list->names.room : 0;
}

void topk_list_free(topk_list *list) {
    if (!list) return;
    RedisModule_Free(list->entries);
    buffer_free(&list->names);
    RedisModule_Free(list);
}
