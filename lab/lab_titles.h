/* lab_titles.h - titles made of random words, as min-hashes. */
#ifndef LAB_TITLES_H
#define LAB_TITLES_H

#include <stdint.h>

enum { LAB_TITLE_WORDS = 10 }; /* most words of a title */

/* The words of title i, different ones; returns how many. */
unsigned lab_title_words(uint64_t seed, uint64_t i, uint32_t words[LAB_TITLE_WORDS]);

/* Title i as d values: the least hash of its words under each of d functions. */
void lab_title_row(uint64_t seed, uint64_t i, unsigned d, uint64_t *row);

#endif
