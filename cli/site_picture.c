/* site_picture.c - a picture of a filter that is spread over sites. */
#include "site_picture.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "report.h"
#include "weir_sites.h"

#define SHOWN_MOST 64 /* sites in the picture; the rest are counted */
#define BAR 20        /* width of the bar of the busiest site */

typedef struct {
    weir_site_info *sites; /* what a site says costs a look at its memory: asked once */
    size_t count, shown;
    uint64_t most; /* asked of the busiest site */
} picture;

/* False: a filter in one piece. */
static bool ask_sites(const weir_filter *filter, picture *p, weir_traffic *traffic) {
    *p = (picture){.count = weir_filter_sites(filter)};
    if (p->count == 0 || weir_filter_get_traffic(filter, traffic, NULL) != WEIR_OK) return false;
    p->sites = calloc(p->count, sizeof *p->sites);
    for (size_t i = 0; p->sites && i < p->count; i++) {
        weir_filter_get_site(filter, i, &p->sites[i], NULL);
        if (p->sites[i].asked > p->most) p->most = p->sites[i].asked;
    }
    return p->sites != NULL;
}

static void draw_site(picture *p, size_t i, size_t depth) {
    weir_site_info s = p->sites[i];
    char bar[BAR + 1], size[32];
    int length = p->most ? (int)((double)s.asked * BAR / (double)p->most + 0.5) : 0;
    for (int j = 0; j < BAR; j++) bar[j] = j < length ? '#' : ' ';
    bar[BAR] = 0;
    printf("  %*s%-*zu %s %12llu asked %6.2f%% seen %6.1f%% of %s%s\n", (int)(2 * depth), "",
           (int)(12 - 2 * depth), i, bar, (unsigned long long)s.asked,
           s.asked ? 100.0 * (double)s.seen / (double)s.asked : 0, 100 * s.fill,
           report_size(size, s.memory), s.alive ? "" : "  LOST");
    p->shown++;
}

/* A site and, in a tree, those under it. */
static void draw_from(picture *p, size_t top, size_t depth) {
    if (p->shown >= SHOWN_MOST) return;
    draw_site(p, top, depth);
    for (size_t i = top + 1; i < p->count && p->shown < SHOWN_MOST; i++)
        if (p->sites[i].parent == top) draw_from(p, i, depth + 1);
}

void sites_text(const weir_filter *filter) {
    picture p;
    weir_traffic t;
    if (!ask_sites(filter, &p, &t)) return;
    printf("\nsites (%zu, %zu lost): %.2f messages and %.1f bytes a key, fairness %.4f, busiest "
           "%.2f%%\n",
           t.sites, t.lost, t.keys ? (double)t.messages / (double)t.keys : 0,
           t.keys ? (double)t.bytes / (double)t.keys : 0, t.fairness, 100 * t.greatest);
    for (size_t i = 0; i < p.count && p.shown < SHOWN_MOST; i++)
        if (p.sites[i].parent == SIZE_MAX) draw_from(&p, i, 0);
    if (p.shown < p.count) printf("  ... and %zu more\n", p.count - p.shown);
    free(p.sites);
}

void sites_json(json_out *j, const weir_filter *filter) {
    picture p;
    weir_traffic t;
    if (!ask_sites(filter, &p, &t)) return;
    json_open(j, "sites", '[');
    for (size_t i = 0; i < p.count; i++) {
        weir_site_info s = p.sites[i];
        json_open(j, NULL, '{');
        json_flag(j, "alive", s.alive);
        json_count(j, "level", s.level);
        if (s.parent == SIZE_MAX) json_null(j, "parent");
        else json_count(j, "parent", s.parent);
        json_count(j, "asked", s.asked);
        json_count(j, "seen", s.seen);
        json_count(j, "memory", s.memory);
        json_number(j, "fill", s.fill);
        json_close(j, '}');
    }
    json_close(j, ']');
    json_open(j, "traffic", '{');
    json_count(j, "keys", t.keys);
    json_count(j, "messages", t.messages);
    json_count(j, "bytes", t.bytes);
    json_count(j, "lost", t.lost);
    json_number(j, "fairness", t.fairness);
    json_number(j, "greatest", t.greatest);
    json_close(j, '}');
    free(p.sites);
}
