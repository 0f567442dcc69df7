/* filter_classes.c - the list of all filters, of src/filter/ and of src/slice/.
 *
 * Filters are found by name through this list (weir__filter_find), so filter.c need not know the
 * folders below it. The order is that of the help: the default first.
 */
#include "filter/filter.h"

/* A new filter is its file and a line here. */
#define WEIR__FILTERS(X)                                                                           \
    X(recent)                                                                                      \
    X(bloom)                                                                                       \
    X(stable)                                                                                      \
    X(reservoir)                                                                                   \
    X(counting)                                                                                    \
    X(spectral)                                                                                    \
    X(apbf)                                                                                        \
    X(qht)                                                                                         \
    X(window)                                                                                      \
    X(growing)                                                                                     \
    X(importance)                                                                                  \
    X(buffer)                                                                                      \
    X(horizontal)                                                                                  \
    X(vertical)                                                                                    \
    X(tree)

#define WEIR__DECLARE(name) extern const weir__filter_class weir__##name##_class;
WEIR__FILTERS(WEIR__DECLARE)

#define WEIR__LIST(name) &weir__##name##_class,
const weir__filter_class *const weir__filter_classes[] = {WEIR__FILTERS(WEIR__LIST) NULL};
