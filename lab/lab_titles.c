/* lab_titles.c - titles made of random words, as min-hashes.
 *
 * Question   records like those of chapter 5 of the thesis: DBLP's titles without
 *            stop words, each turned into d values by min-wise hashing, which it does
 *            not hand down
 * Idea       a title has 2 to 10 different words, each length alike. A word of
 *            rank w is drawn with probability proportional to log(1 + 1/(w + 22)), that
 *            is Zipf's law without its 22 most frequent words, up to 30,000. 2.7% of
 *            the titles are another one's copies. Nothing else is planted: titles are
 *            alike because they share words, and the common words make groups of
 *            all sizes.
 * Measured   the four numbers were chosen for the pairs that they give: of 200,000
 *            titles about as many agree in k of 6 values as in table 5.1, for each k
 *            (`weir lab run pairs-table-5.1` prints both). Errors of estimates
 *            were not looked at.
 *
 * Everything about title i follows from the seed and i.
 */
#include "lab_titles.h"

#include "lab_math.h"
#include "lab_rng.h"

enum { VOCABULARY = 30000, STOP_WORDS = 22, LEAST_WORDS = 2 };
#define COPIES 0.054 /* of every second title: it is the one before it */

static uint32_t draw_word(lab_rng *rng) {
    double span = lab_log((double)(VOCABULARY + STOP_WORDS) / STOP_WORDS);
    return (uint32_t)(STOP_WORDS * lab_exp(lab_rng_unit(rng) * span));
}

unsigned lab_title_words(uint64_t seed, uint64_t i, uint32_t words[LAB_TITLE_WORDS]) {
    lab_rng copy = lab_rng_of(lab_hash_id(i, seed), 4);
    if (i % 2 && lab_rng_unit(&copy) < COPIES) i--;
    lab_rng rng = lab_rng_of(lab_hash_id(i, seed), 5);
    unsigned count = LEAST_WORDS + (unsigned)lab_rng_below(&rng, LAB_TITLE_WORDS - LEAST_WORDS + 1);
    for (unsigned n = 0, same; n < count;) {
        words[n] = draw_word(&rng);
        for (same = 0; words[same] != words[n]; same++) {
        }
        if (same == n) n++;
    }
    return count;
}

void lab_title_row(uint64_t seed, uint64_t i, unsigned d, uint64_t *row) {
    uint32_t words[LAB_TITLE_WORDS];
    unsigned count = lab_title_words(seed, i, words);
    for (unsigned c = 0; c < d; c++) {
        uint64_t key = lab_hash_id(c, seed);
        row[c] = UINT64_MAX;
        for (unsigned w = 0; w < count; w++) {
            uint64_t h = lab_mix(words[w] ^ key);
            if (h < row[c]) row[c] = h;
        }
    }
}
