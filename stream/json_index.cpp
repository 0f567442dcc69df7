/* json_index.cpp - simdjson's first stage behind a C interface.
 *
 * simdjson finds the tokens of JSON text with vector instructions, and checks on
 * the way that it is UTF-8 and that strings are closed and hold no control
 * characters. It does so for a whole block of lines at once: the cost of a call
 * is then spread over a thousand records, where its parsers would pay it for
 * each. json.c walks the tokens, checks the grammar and finds the values.
 *
 * simdjson has versions of its own for each kind of processor; the vector level of weir_cpu.h
 * chooses among them.
 *
 * Nothing here throws, and no exception can leave: the calls are noexcept and
 * allocate with nothrow.
 */
#include <cstring>
#include <memory>
#include <new>
#include <simdjson.h>

#include <weir_cpu.h>

#include "stream_internal_json.h"

struct json_index {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> stage;
};

extern "C" json_index *stream__json_index_new(void) { return new (std::nothrow) json_index; }

extern "C" void stream__json_index_free(json_index *index) { delete index; }

/* The best version that is allowed and that the processor has. "fallback" is plain C++. */
static const simdjson::implementation *version() {
    static const char *const names[] = {"fallback", "westmere", "haswell", "icelake"};
    for (int level = weir_cpu_now(); level > WEIR_CPU_SCALAR; level--) {
        bool neon =
            level == WEIR_CPU_VECTOR128 && !simdjson::get_available_implementations()["westmere"];
        const simdjson::implementation *one =
            simdjson::get_available_implementations()[neon ? "arm64" : names[level]];
        if (one && one->supported_by_runtime_system()) return one;
    }
    return simdjson::get_available_implementations()[names[0]];
}

static bool make_room(json_index *index, size_t length) {
    const size_t least = 64 * 1024;
    if (index->stage && index->stage->capacity() >= length) return true;
    size_t capacity = length < least ? least : length + length / 4;
    if (index->stage) return !index->stage->allocate(capacity, 1024);
    const simdjson::implementation *chosen = version();
    return chosen && !chosen->create_dom_parser_implementation(capacity, 1024, index->stage);
}

extern "C" json_index_status stream__json_index(json_index *index, const unsigned char *text,
                                                size_t length, const uint32_t **tokens) {
    if (length == 0) return JSON_INDEX_EMPTY;
    if (!make_room(index, length)) return JSON_INDEX_MEMORY;
    simdjson::error_code error = index->stage->stage1(text, length, simdjson::stage1_mode::regular);
    switch (error) {
    case simdjson::SUCCESS:
        break;
    case simdjson::EMPTY:
        return JSON_INDEX_EMPTY;
    case simdjson::UTF8_ERROR:
        return JSON_INDEX_UTF8;
    case simdjson::MEMALLOC:
    case simdjson::CAPACITY:
        return JSON_INDEX_MEMORY;
    default:
        return JSON_INDEX_STRING;
    }
    uint32_t *found = index->stage->structural_indexes.get();
    found[index->stage->n_structural_indexes] = UINT32_MAX;
    *tokens = found;
    return JSON_INDEX_OK;
}
