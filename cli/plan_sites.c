/* plan_sites.c - weir plan --sites: by keys or by places, and what a failure costs. */
#include <stdio.h>

#include "cli.h"
#include "plan_show.h"
#include "report.h"
#include "weir_sites.h"

#define FNR_STANDARD 0.01

static void print_spec(const weir_sites_question *q, const weir_sites_choice *c, char *spec,
                       size_t size) {
    if (!c->vertical) {
        snprintf(spec, size, "horizontal:slices=%.0f,of=(recent)", q->sites);
        return;
    }
    snprintf(spec, size,
             "vertical:slices=%.0f,live=%u,of=(bloom:layout=classic,k=%u,capacity=%.0f)", q->sites,
             c->live, c->k, c->keys > 1 ? c->keys : 1);
}

static void show_row(const weir_sites_question *q, const weir_sites_choice *c) {
    char spec[128], keys[32], fpr[32], lost_fpr[32], lost_fnr[32];
    print_spec(q, c, spec, sizeof spec);
    printf("%-10s %8s %8.2f %10s %12s %12s\n", c->vertical ? "vertical" : "horizontal",
           weir_print_count(keys, c->keys), c->messages, weir_print_rate(fpr, c->fpr),
           weir_print_rate(lost_fpr, c->fpr_lost), weir_print_rate(lost_fnr, c->fnr_lost));
}

static void show_text(const weir_sites_question *q, const weir_sites_choice *across,
                      const weir_sites_choice *down) {
    char spec[128], size[32], rate[32];
    const weir_sites_choice *best = across->best ? across : down;
    printf("%.0f sites with %s in all, of which %.0f may be lost at once\n\n", q->sites,
           report_size(size, q->memory), q->lost);
    printf("%-10s %8s %8s %10s %12s %12s\n", "way", "keys", "messages", "fpr", "fpr, lost",
           "fnr, lost");
    show_row(q, across);
    if (down->k) show_row(q, down);
    print_spec(q, best, spec, sizeof spec);
    printf("\nuse %s: while %.0f are lost it calls at most %s of the new records seen", spec,
           q->lost, weir_print_rate(rate, best->fpr_lost));
    printf(" and lets %s of the repeats pass", weir_print_rate(rate, best->fnr_lost));
    printf("\n\n    weir dedup --memory %s", weir_print_size(size, q->memory));
    printf(" --fpr %s --filter '%s'\n", weir_print_rate(rate, q->fpr), spec);
}

static void show_choice(const char *name, const weir_sites_question *q,
                        const weir_sites_choice *c) {
    char spec[128];
    print_spec(q, c, spec, sizeof spec);
    printf("\"%s\":{\"best\":%s,\"spec\":", name, c->best ? "true" : "false");
    report_json_string(stdout, spec);
    static const char *const names[] = {"keys", "messages", "fpr", "fpr_lost", "fnr_lost"};
    const double values[] = {c->keys, c->messages, c->fpr, c->fpr_lost, c->fnr_lost};
    for (size_t i = 0; i < 5; i++) {
        printf(",\"%s\":", names[i]);
        report_json_number(stdout, values[i]);
    }
    putchar('}');
}

int plan_sites(const plan_settings *s) {
    weir_sites_question q = {.sites = s->sites,
                             .lost = s->fail,
                             .memory = s->question.memory,
                             .fpr = s->question.fpr,
                             .fnr = s->fnr > 0 ? s->fnr : FNR_STANDARD};
    weir_sites_choice across, down;
    weir_error err;
    if (weir_plan_sites(&q, &across, &down, &err) != WEIR_OK) return cli_error("%s", err.message);
    if (s->json) {
        printf("{\"sites\":%.0f,\"lost\":%.0f,", q.sites, q.lost);
        show_choice("horizontal", &q, &across);
        if (down.k) putchar(',');
        if (down.k) show_choice("vertical", &q, &down);
        puts("}");
    } else {
        show_text(&q, &across, &down);
    }
    return cli_finish_stdout();
}
