/* lab_stream_internal.h - the parts of lab_stream.c, lab_stream_tagged.c, lab_stream_mix.c. */
#ifndef LAB_STREAM_INTERNAL_H
#define LAB_STREAM_INTERNAL_H

#include "lab_file.h"
#include "lab_stream.h"
#include "lab_zipf.h"

enum { STREAM_MOST_LEVELS = 256 };

typedef enum { STREAM_COUNT, STREAM_REAL, STREAM_WORD, STREAM_TEXT } stream_option_type;

typedef struct {
    const char *name;
    stream_option_type type;
    size_t field;        /* offset in the stream's settings */
    double low, high;    /* range of a COUNT or REAL */
    const char *choices; /* of a WORD: "random|first" */
} stream_option;

typedef struct {
    uint64_t n, universe, domain, u, l;
    double distinct, s, lambda, b, v;
    uint64_t order, split;
    uint64_t levels, law; /* importance */
    double repeat;
    uint64_t rate; /* burst */
    double factor;
    uint64_t producers, fanout;
    double local;
    char path[512], columns[32];
    char parts[512]; /* mix */
} stream_settings;

typedef struct {
    const char *name;
    weir_status (*open)(lab_stream *, weir_error *);
    size_t (*next)(lab_stream *, uint64_t *, size_t); /* writes s->tags too, unless NULL */
    const stream_option *options;
    const char *tag; /* what its tags are; NULL: it has none */
} stream_kind;

struct lab_stream {
    const stream_kind *kind;
    stream_settings set;
    uint64_t seed, drawn, universe;
    uint64_t *tags;         /* of the call under way, or NULL */
    lab_rng places, labels; /* which positions; which ids */
    lab_zipf zipf;
    uint64_t block[LAB_ZIPF_BLOCK]; /* zipf: ranks drawn ahead */
    size_t block_at, block_end;
    uint64_t arrive;                    /* poisson: an arrival if a word is below; 0 if always */
    uint64_t bias;                      /* bmodel: b in 32 binary places */
    uint64_t leaf, left, due;           /* finest interval: number, positions and arrivals left */
    uint64_t below[STREAM_MOST_LEVELS]; /* importance: sum of the weights of levels 1..i */
    struct stream_mix *mix;             /* mix: its parts */
    lab_file *file;
    lab_keys *keys;
    const lab_reading *reading; /* NULL: files are read by columns and split */
};

/* Ends with a name of NULL. */
extern const stream_kind lab_tagged_kinds[];

extern const stream_kind lab_mix_kind;

/* The share of distinct ids expected in n draws of a universe. */
double lab_expected_share(double universe, double n);

#endif
