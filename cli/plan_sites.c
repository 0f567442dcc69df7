/* plan_sites.c - weir plan --sites: by keys or by places, and what a failure costs.
 *
 * The command that it prints tries the plan: a stream that is drawn, of as many keys as fit,
 * each twice on average, with as many sites lost from the middle on, and an audit that says
 * what it cost.
 */
#include <math.h>
#include <stdio.h>

#include "cli.h"
#include "json_out.h"
#include "plan_show.h"
#include "report.h"
#include "weir_sites.h"
#include "weir_text.h"

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

/* Keys of which each comes twice on average; the sites are lost in the second half. */
static void show_trial(const weir_sites_question *q, const char *size, const char *rate,
                       const char *spec, double keys) {
    printf("\nto try it, with so many keys and %.0f %s lost in the second half:\n\n", q->lost,
           q->lost == 1 ? "site" : "sites");
    printf("    weir lab stream uniform:n=%.0f,universe=%.0f |\n", 2 * floor(keys), floor(keys));
    printf("        weir dedup --memory %s --fpr %s --audit --lose 0", size, rate);
    if (q->lost > 1) printf("-%.0f", q->lost - 1);
    printf("@%.0f \\\n            --filter '%s' > /dev/null\n", floor(keys) + 1, spec);
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
    weir_print_size(size, q->memory);
    weir_print_rate(rate, q->fpr);
    printf("\n\n    weir dedup --memory %s --fpr %s --filter '%s'\n", size, rate, spec);
    if (best->keys >= 1) show_trial(q, size, rate, spec, best->keys);
}

static void show_choice(json_out *j, const char *name, const weir_sites_question *q,
                        const weir_sites_choice *c) {
    char spec[128];
    print_spec(q, c, spec, sizeof spec);
    json_open(j, name, '{');
    json_flag(j, "best", c->best);
    json_text(j, "spec", spec);
    json_number(j, "keys", c->keys);
    json_number(j, "messages", c->messages);
    json_number(j, "fpr", c->fpr);
    json_number(j, "fpr_lost", c->fpr_lost);
    json_number(j, "fnr_lost", c->fnr_lost);
    json_close(j, '}');
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
        json_out j = json_begin(stdout);
        json_open(&j, NULL, '{');
        json_print(&j, "sites", "%.0f", q.sites);
        json_print(&j, "lost", "%.0f", q.lost);
        show_choice(&j, "horizontal", &q, &across);
        if (down.k) show_choice(&j, "vertical", &q, &down);
        json_close(&j, '}');
        putchar('\n');
    } else {
        show_text(&q, &across, &down);
    }
    return cli_finish_stdout();
}

/* --- servers ------------------------------------------------------------------------------- */

static void servers_json(const weir_servers_question *q, const weir_servers_plan *p) {
    json_out j = json_begin(stdout);
    json_open(&j, NULL, '{');
    json_print(&j, "nodes", "%.0f", q->nodes);
    json_print(&j, "slices", "%.0f", p->slices);
    json_print(&j, "slice_memory", "%.0f", p->slice_memory);
    json_print(&j, "replicas", "%.0f", p->replicas);
    json_text(&j, "durability", p->wait ? "wait:1" : "async");
    json_print(&j, "lost", "%.0f", p->lost);
    json_number(&j, "keys", p->keys);
    json_number(&j, "passes", p->passes);
    json_number(&j, "node_keys", p->node_keys);
    json_number(&j, "node_bytes", p->node_bytes);
    json_number(&j, "forgotten", p->forgotten);
    json_number(&j, "forgotten_part", p->forgotten_part);
    json_close(&j, '}');
    putchar('\n');
}

static void say_durability(const weir_servers_question *q, const weir_servers_plan *p) {
    char keys[32], part[32], fnr[32];
    printf("durability   %s", p->wait ? "wait:1" : "async");
    if (p->replicas < 1) puts(", as there is no replica to wait for");
    else if (!(q->rate > 0)) puts("; --rate says whether a failover would forget too much");
    else
        printf(": a replica that is a second behind lacks %s keys, %s of what a node remembers,\n"
               "             which is %s --fnr %s\n",
               weir_print_count(keys, p->forgotten), weir_print_rate(part, p->forgotten_part),
               p->wait ? "more than" : "within", weir_print_rate(fnr, q->fnr));
}

static void servers_text(const weir_servers_question *q, const weir_servers_plan *p) {
    char size[32], a[32], b[32], c[32];
    printf("%.0f servers with %s in all, each gone %s of the time\n\n", q->nodes,
           report_size(size, q->memory), weir_print_rate(a, q->gone));
    printf("slices       %.0f of %s, %.0f on each server\n", p->slices,
           report_size(size, (uint64_t)p->slice_memory), p->slices / q->nodes);
    printf("replicas     %.0f for each server: a slice has no copy %s of the time, and so many of "
           "the\n"
           "             repeats pass\n",
           p->replicas, weir_print_rate(a, p->passes));
    printf(
        "lost         at most %.0f of %.0f are without a copy at once, but for a thousandth of the "
        "time\n",
        p->lost, q->nodes);
    say_durability(q, p);
    printf("keys         %s are remembered at an fpr of %s\n", weir_print_count(a, p->keys),
           weir_print_rate(b, q->fpr));
    if (q->rate > 0)
        printf("a server     %s keys and %s a second\n", weir_print_count(a, p->node_keys),
               report_size(c, (uint64_t)p->node_bytes));
    weir_print_size(size, q->memory);
    printf("\n    weir dedup --at redis+cluster://HOST/NAME --memory %s --fpr %s --slices %.0f "
           "--durability %s\n",
           size, weir_print_rate(b, q->fpr), p->slices, p->wait ? "wait:1" : "async");
}

int plan_servers(const plan_settings *s) {
    weir_servers_question q = {.nodes = s->sites,
                               .rate = s->question.rate,
                               .gone = s->gone,
                               .memory = s->question.memory,
                               .fpr = s->question.fpr,
                               .fnr = s->fnr > 0 ? s->fnr : FNR_STANDARD};
    weir_servers_plan plan;
    weir_error err;
    if (weir_plan_servers(&q, &plan, &err) != WEIR_OK) return cli_error("%s", err.message);
    if (s->json) servers_json(&q, &plan);
    else servers_text(&q, &plan);
    return cli_finish_stdout();
}

/* k of a filter that is half full when it gives the rate. */
int plan_least_sites(const plan_settings *s) {
    double across, down, fpr = s->question.fpr;
    unsigned k = (unsigned)fmax(1, round(-log2(fpr)));
    char rate[32], lost[32];
    weir_error err;
    if (weir_plan_least_sites(s->fail, fpr, s->fpr_lost, k, &across, &down, &err) != WEIR_OK)
        return cli_error("%s", err.message);
    if (s->json) {
        json_out j = json_begin(stdout);
        json_open(&j, NULL, '{');
        json_print(&j, "lost", "%.0f", s->fail);
        json_number(&j, "fpr", fpr);
        json_number(&j, "fpr_lost", s->fpr_lost);
        json_print(&j, "sites_horizontal", "%.0f", across);
        json_print(&j, "sites_vertical", "%.0f", down);
        json_count(&j, "k", k);
        json_close(&j, '}');
        putchar('\n');
        return cli_finish_stdout();
    }
    printf("a rate of %s stays below %s with %.0f lost, if lost sites count as seen, from\n\n",
           weir_print_rate(rate, fpr), weir_print_rate(lost, s->fpr_lost), s->fail);
    printf("horizontal %8.0f sites on\nvertical   %8.0f sites on (k=%u)\n", across, down, k);
    return cli_finish_stdout();
}
