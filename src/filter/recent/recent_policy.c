/* recent_policy.c - which key a full line of `recent` lets go: a pure function of what was
 * observed.
 *
 * Question   the keys press; how should full lines choose who goes?
 * Idea       Marks pay where a key that was hit is likelier to come again than another, places
 *            pay where keys are alike, and marks have to be wiped where keys are in fashion for
 *            a while. The first row that holds decides; "from" is the policy in use.
 *
 *     from     observed                                   to
 *     keep     clocked lines there, keys not alike        sweep if fresh, else keep
 *     sweep    clocked lines there, keys not alike        sweep if fresh or spent, else keep
 *     any      spent: a hit key is done, or hits rare     sweep
 *     any      skew not known, keys come back often       keep from BLIND on, else fill
 *     any      fresh: the latest keys are hit             sweep from SOON on, else fill
 *     any      alike: skew < SKEWED                       any; fill if keys are short
 *     any      skewed, and a mark is worth its bit        keep
 *     any      skewed                                     any if that holds more, else fill
 *
 * Error      A wrong choice costs places or marks, never the bound. On streams of the reference
 *            table at 1/32 to 1/2 of the memory that exactness needs, keep alone is within a point
 * of the best policy in two of three cells, so that is where doubt leads; the others are for alike
 * keys (any) and for keys in fashion (sweep).
 */
#include "filter/recent/recent_policy.h"

#include <math.h>

const char *const weir__recent_policies[POLICIES] = {"fill", "any", "keep", "sweep"};

/* All are measured: `weir-accuracy --filters recent` shows what another value does. */
#define RARE 8.0       /* verdicts for each hit from which on hits are rare, */
#define VERY_RARE 32.0 /* and from which on they do not count for much */
#define ONCE_MORE                                                                                  \
    2.5 /* hits for each key that is hit, up to which keys come once more and no oftener */
#define SPENT 0.5       /* skew of a stream in which a key that was hit is done, */
#define SKEWED 1.5      /* and of one whose keys are no longer alike */
#define FRESH 0.08      /* freshness of a stream whose latest keys are hit, */
#define FRESH_SURE 2.0  /* and standard deviations from which on that is believed */
#define FRESH_SKEW 3.0  /* skew from which on freshness counts less than the skew */
#define WIDE 5u         /* bits of a key in a line with marks, for a mark to be worth one */
#define SOON 0.8        /* keys for each place from which on marks may be worth wiping, */
#define BLIND 2.3       /* and from which on they are worth having where little is known */
#define MARK_COST 800.0 /* over the bits of a key and the third power of the skew: likewise */
#define AGED_ENOUGH 64u /* hits from which on the freshness is known */

double weir__recent_skew(const recent_counts *counts, double enough) {
    double again = (double)counts->hit_again, first = (double)counts->hit_first;
    return again + first > enough ? again / (first + 1) : 0;
}

double weir__recent_freshness(const recent_counts *counts) {
    if (counts->aged < AGED_ENOUGH) return 0;
    return (double)(int64_t)counts->age / AGE_ONE / (double)counts->aged;
}

/* Places are spread evenly over 2 if they mean nothing. */
double weir__recent_sure(const recent_counts *counts) {
    return weir__recent_freshness(counts) * sqrt(3 * (double)counts->aged);
}

static bool is_fresh(const recent_stream *s) {
    return s->freshness > FRESH && s->sure > FRESH_SURE && s->skew < FRESH_SKEW;
}

/* Whether a key that was hit is done. Where hits are very rare they are not what counts before keys
 * press. */
static bool is_spent(const recent_stream *s) {
    if (s->crowd < BLIND && s->rate * VERY_RARE <= 1) return true;
    return s->skew > 0 ? s->skew <= SPENT : s->again <= ONCE_MORE && s->rate * RARE <= 1;
}

recent_policy weir__recent_choose(recent_policy now, const recent_stream *s) {
    bool alike = s->skew > 0 && s->skew < SKEWED, clocked = now == KEEP || now == SWEEP;
    if (clocked && s->in_use && !alike)
        return is_fresh(s) || (now == SWEEP && is_spent(s)) ? SWEEP : KEEP;
    if (is_spent(s)) return SWEEP;
    if (s->skew == 0 && s->again > ONCE_MORE) return s->crowd > BLIND ? KEEP : FILL;
    if (is_fresh(s)) return s->crowd < SOON ? FILL : SWEEP;
    if (s->skew < SKEWED) return s->width < WIDE && s->crowd < BLIND ? FILL : ANY;
    double from = fmin(fmax(SOON, MARK_COST / (s->width * pow(s->skew, 3))), BLIND);
    return s->crowd > from ? KEEP : s->spread_more ? ANY : FILL;
}
