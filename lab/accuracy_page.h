/* accuracy_page.h - docs/accuracy.md: what weir-accuracy --page prints, part by part. */
#ifndef LAB_ACCURACY_PAGE_H
#define LAB_ACCURACY_PAGE_H

#include "accuracy_surprise.h"

void accuracy_page_head(const accuracy_setup *setup);
/* The table of the reference streams and the sum over all cells; does it hold? */
bool accuracy_page_table(const accuracy_setup *setup, const accuracy_row *rows, size_t count);
/* The head of the table of draws, a row for each seed, and the worst streams of one. */
void accuracy_page_draws(size_t count);
void accuracy_page_draw(const accuracy_drawing *drawing, const accuracy_drawn_sum *sum);
void accuracy_page_worst(const accuracy_drawing *drawing, accuracy_drawn *rows, size_t count);
void accuracy_page_surprises(const accuracy_surprise *cells, size_t count);
void accuracy_page_end(double seconds);

#endif
