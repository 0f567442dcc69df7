#include "filter/recent/recent_policy.h"

#include <math.h>

const char *const weir__recent_policies[POLICIES] = {"fill", "any",   "hold",
                                                     "keep", "sweep", "order"};

#define RARE 8.0
#define VERY_RARE 32.0
#define ONCE_MORE 2.5
#define SPENT 0.5
#define SKEWED 1.5
#define AGED_ENOUGH 64u
#define LASTING (-0.08)
#define LASTING_SURE 4
#define HOLD_BITS 80
#define FRESH 0.08
#define FRESH_SURE 2
#define FRESH_LEAST 0.9
#define FRESH_SKEW 3
#define WIDE 5u
#define FRESH_SOON 0.8
#define FEW_WIDE_FROM 1.9
#define FRESH_FRONT 2.5
#define MARKED_BLIND 2.3
#define MARKED_SOON 0.5
#define MARKED_FROM 800

double weir__recent_skew(const recent_counts *counts, double enough) {
    double again = (double)counts->hit_again, first = (double)counts->hit_first;
    return again + first > enough ? again / (first + 1) : 0;
}
double weir__recent_freshness(const recent_counts *counts) {
    if (counts->aged < AGED_ENOUGH) return 0;
    return (double)(int64_t)counts->age / AGE_ONE / (double)counts->aged;
}
double weir__recent_sure(const recent_counts *counts) {
    return weir__recent_freshness(counts) * sqrt(3 * (double)counts->aged);
}

static bool is_fresh(recent_policy now, const recent_stream *s) {
    bool clocked = now >= KEEP;
    return s->freshness > FRESH && s->sure > FRESH_SURE && s->skew < FRESH_SKEW &&
           (s->skew == 0 || s->skew > FRESH_LEAST || clocked);
}

static recent_policy likely(recent_policy now, const recent_stream *s) {
    bool once = s->again <= ONCE_MORE;
    bool spent = s->skew > 0 ? s->skew <= SPENT : once && s->rate * RARE <= 1;
    spent |= s->crowd < FRESH_FRONT && s->rate * VERY_RARE <= 1;
    if (spent) return ORDER;
    if (s->skew == 0 && !once) return s->crowd > MARKED_BLIND ? KEEP : FILL;
    if (is_fresh(now, s))
        return s->crowd < FRESH_SOON ? FILL : s->crowd < FRESH_FRONT ? SWEEP : ORDER;
    if (s->skew < SKEWED) return s->width < WIDE && s->crowd < FEW_WIDE_FROM ? FILL : ANY;
    if (s->many && s->freshness < LASTING && s->sure < -LASTING_SURE &&
        s->width * s->skew < HOLD_BITS)
        return HOLD;
    double marked =
        fmin(fmax(MARKED_SOON, MARKED_FROM / (s->width * pow(s->skew, 3))), MARKED_BLIND);
    return s->crowd > marked ? KEEP : s->spread_more ? ANY : FILL;
}

recent_policy weir__recent_choose(recent_policy now, const recent_stream *s) {
    bool settled = s->in_use && (now == KEEP || now == SWEEP || now == HOLD) &&
                   !(s->skew > 0 && s->skew < SKEWED) && !is_fresh(now, s);
    return settled ? now : likely(now, s);
}
