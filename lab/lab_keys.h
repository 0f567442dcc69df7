/* lab_keys.h - the keys of a file's records as ids: any format and key that dedup reads. */
#ifndef LAB_KEYS_H
#define LAB_KEYS_H

#include "stream.h"

/* How to read a file, as the options of dedup say it. */
typedef struct {
    stream_options in;             /* without filter and hash */
    bool missing_fails, bad_fails; /* else records without a key, malformed ones are left out */
} lab_reading;

typedef struct lab_keys lab_keys;

/* Not standard input: where the truth is wanted a stream is read twice, so "-" is a file of
 * that name. The reading and what it points to must outlive the keys. */
weir_status lab_keys_new(lab_keys **out, const char *path, const lab_reading *reading,
                         weir_error *err);
void lab_keys_free(lab_keys *keys);

/* Write the next ids, at most n; 0 at the end, and when lab_keys_check() has the reason. */
size_t lab_keys_next(lab_keys *keys, uint64_t *ids, size_t n);
weir_status lab_keys_check(const lab_keys *keys, weir_error *err);

#endif
