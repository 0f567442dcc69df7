/* places.h - slices of places on plain strings: for servers that have not loaded weir's module.
 *
 * The filter is `vertical:slices=S,of=(bloom:...)`: the places of one Bloom filter in S equal
 * ranges, each at a master of its own where there are so many. Slice s is a string under
 * `NAME:{TAG}:s`:
 *
 *   - bits 0 to 63: its epoch, a number other than 0 drawn by who made it, but for the lowest 24
 *     bits, which stand for the filter: places, those of this slice, k, seed, hash
 *   - bits 64 to 127: how many places it was told to set, ever
 *   - bit 128 + i: place first(s) + i of the filter, first(s) = ceil(s * places / S)
 *   - behind these: claims of 64 bits, which producer took which key
 *
 * Bits are counted as SETBIT counts them. The places of a key are those of the filter `vertical`
 * in one process (weir_filter_find_places()), so with one producer the verdicts are the same, bit
 * for bit. The commands are BITFIELD, SETRANGE, SET NX, STRLEN and BITCOUNT, which servers from
 * 3.2 on know. A BITFIELD is atomic: it stands for all keys of a batch in one slice.
 *
 * A batch goes through three stages, each of which may be sent again without harm:
 *
 *   - ask: the places of each key, all at once (probe=parallel), or slice by slice until one is
 *     off (probe=pipeline)
 *   - set: the places of NEW keys that are off, but for the lowest of each key
 *   - decide: that lowest one, with a claim
 *
 * A key is SEEN if all places that live are on and at least `live` live: the rule of x live bits
 * decides when slices are lost. A key that was NEW when it asked becomes SEEN if it then finds its
 * lowest place on and the claim of another producer on this key: of several with the same key one
 * switches the place on. Without such a claim the place may have been set for another key, or by
 * this very request, whose reply was lost: the key stays NEW, so that no record is lost. Claims
 * that fall to the same place replace each other; only then may a key be NEW to two producers who
 * offer it at the same time: of such keys about twice as many as a batch has keys for each claim
 * of a slice.
 *
 * A slice that came back empty, or without its last writes, holds places that are off although
 * they were on. Under on-lost=seen and live=x a place that is off there counts as lost; it is set
 * with the others of a NEW key all the same.
 *
 * With primitive=test-and-set there is one stage. It costs the least messages, but a batch that
 * is sent again is NEW all of it, and of two producers at once both may be told NEW.
 */
#ifndef WEIR_PLACES_H
#define WEIR_PLACES_H

#include "remote_state.h"

/* The name of a producer in its claims: a part of its own. */
uint64_t places_claimant(uint64_t who);

/* An epoch of slice i from a random word; and whether one is of this filter: WEIR_ERR_MISMATCH. */
uint64_t places_epoch(const weir_remote *r, size_t i, uint64_t word, bool again);
weir_status places_check_epoch(const weir_remote *r, size_t i, uint64_t epoch, weir_error *err);

/* What a flight of places is made of beside its requests. */
typedef struct places_flight places_flight;

void places_release(places_flight *v); /* NULL is allowed */

/* Take a batch; keys whose verdict is SEEN already are not asked. False: out of memory. */
bool places_take_batch(weir_remote *r, flight *f, const weir_batch *batch);

/* Has nothing been asked of the batch yet? */
bool places_is_new(const flight *f);

/* Make the requests of the next stage, when all of the one before are done, or of the
 * first. False: there is none, and the verdicts are there. */
bool places_next(weir_remote *r, flight *f);

/* Append the command of a request, or the one that makes its slice. */
wire_outcome places_append(weir_remote *r, const flight *f, fleet_node *node, const request *q,
                           weir_error *err);
wire_outcome places_append_create(fleet_node *node, const slice *s, weir_error *err);

/* Is the reply one to such a request? *epoch and *count are what it says of the slice, *added how
 * many places the request has added to the count. */
bool places_check(weir_remote *r, const flight *f, const request *q, const wire_reply *reply,
                  uint64_t *epoch, uint64_t *count, uint64_t *added);

/* Take what a reply says of the places; or nothing, as the slice is lost. */
void places_take(weir_remote *r, flight *f, const request *q, const wire_reply *reply);
void places_lost(flight *f, const request *q);

/* Keys that have no verdict yet. */
size_t places_open(const flight *f);

/* Slice i when a filter is opened: make it unless it is there, and learn its epoch. `found`: it
 * should be there; *made says whether it was not. */
weir_status places_open_slice(weir_remote *r, size_t i, bool *made, weir_error *err);

/* The numbers of weir_remote_get_slice(). */
weir_status places_get_slice(weir_remote *r, size_t i, weir_remote_slice *out, weir_error *err);

#endif
