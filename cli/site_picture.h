/* site_picture.h - a picture of a filter that is spread over sites. */
#ifndef WEIR_SITE_PICTURE_H
#define WEIR_SITE_PICTURE_H

#include "json_out.h"
#include "weir.h"

/* Nothing for a filter in one piece. The text draws slices as a list and a tree
 * as a tree, with the load of each site; the JSON is an array `sites` and
 * an object `traffic`. */
void sites_text(const weir_filter *filter);
void sites_json(json_out *j, const weir_filter *filter);

#endif
