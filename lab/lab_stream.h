/* lab_stream.h - streams of ids to try filters on: drawn, or read from files.
 *
 * A stream is described by a spec and a seed and gives 64-bit ids, each standing
 * for one key. The same spec and seed give the same ids on every machine, in
 * whatever portions they are asked for; memory does not grow with the length.
 *
 *     lab_stream *s;
 *     if (lab_stream_new(&s, "zipf:n=3M,s=0.9,domain=1500K", 1, &err)) ...
 *     while ((got = lab_stream_next(s, ids, 4096)) > 0) ...
 *     lab_stream_free(s);
 *
 * Specs (counts take K, M, G in powers of 1000; shares a % sign):
 *
 *     uniform:n=,universe=         every id below `universe` alike
 *     uniform:n=,distinct=         the universe in which n draws are expected to
 *                                  show that share of distinct ids
 *     zipf:n=,s=,domain=           id k-1 with probability ~ k^-s, k = 1..domain
 *     poisson:n=,lambda=,u=        the thesis, 3.5.1; see lab_stream.c
 *     bmodel:n=,b=,l=,v=,u=,order= likewise; order is random (default) or first
 *     importance:n=,repeat=,levels=,law=   ids with an importance of 1..levels
 *                                  (default 50); law is uniform (default),
 *                                  proportional or inverse; tagged with it
 *     burst:n=,universe=,rate=,factor=     uniform, tagged with its time slot
 *     producers:n=,universe=,producers=,fanout=,local=   tagged with its producer;
 *                                  lab_stream_tagged.c has these three
 *     mix:n=,parts=                several of these at once, loops, scans, fashions, repeats
 *                                  at every distance, changes of regime; lab_stream_mix.c
 *     file:path=,columns=,split=   the lines of a file or some columns of them
 *                                  (2-5, 1+7, or 0 for the whole line), split by
 *                                  tab (default) or space; zstd is recognised
 *     weblog, repo_urls, ...       the real streams by name, from lab_data_path();
 *                                  block_requests and weblog_sizes are tagged with sizes
 */
#ifndef LAB_STREAM_H
#define LAB_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "lab_keys.h"
#include "weir.h"

typedef struct lab_stream lab_stream;

/* Fails with WEIR_ERR_SPEC, WEIR_ERR_RANGE, WEIR_ERR_MEMORY, or WEIR_ERR_IO when
 * a file is absent; *out is then NULL. */
weir_status lab_stream_new(lab_stream **out, const char *spec, uint64_t seed, weir_error *err);

/* The same, but a file is read as dedup does (lab_keys.h), in place of columns and split.
 * Fails with WEIR_ERR_SPEC if the stream is no file. NULL: as lab_stream_new(). */
weir_status lab_stream_read(lab_stream **out, const char *spec, uint64_t seed,
                            const lab_reading *reading, weir_error *err);
void lab_stream_free(lab_stream *stream);

/* The file of a stream that does not begin again when it is opened again: a pipe, a
 * device. NULL if the stream can be read as often as one likes. */
const char *lab_stream_read_once(const lab_stream *stream);

/* Write the next ids, at most n; fewer only at the end, 0 past it. */
size_t lab_stream_next(lab_stream *stream, uint64_t *ids, size_t n);

/* The meaning of the tags of a stream, such as "importance"; NULL if it has none. */
const char *lab_stream_tag(const lab_stream *stream);

/* lab_stream_next() with the tag of each record; tags may be NULL. */
size_t lab_stream_next_tagged(lab_stream *stream, uint64_t *ids, uint64_t *tags, size_t n);

/* WEIR_OK, or why a file ended early: bad compression, a read error. */
weir_status lab_stream_check(const lab_stream *stream, weir_error *err);

/* How many ids it gives in all; 0 for a file (read it to know). */
uint64_t lab_stream_length(const lab_stream *stream);

/* Every id is below this, so that a bitmap can hold the truth; 0 for a file
 * and a mix, whose ids are hashes. */
uint64_t lab_stream_universe(const lab_stream *stream);

/* The path of a file among the real streams: in $WEIR_DATA, or in a folder shared/data
 * above that of the program. WEIR_ERR_IO if there is no such folder. */
weir_status lab_data_path(char *path, size_t size, const char *file, weir_error *err);

/* They are the bundled samples: the beginnings of some of them. */
bool lab_data_sampled(void);

/* Read a whole stream into one array; the caller frees it. */
weir_status lab_stream_collect(uint64_t **ids, size_t *count, const char *spec, uint64_t seed,
                               weir_error *err);

#endif
