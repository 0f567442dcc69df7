/* exp_live_trees.c - the paper on distributed filtering, on servers: trees.
 *
 * Koloniari, Ntarmos, Pitoura, Souravlias, CIKM 2011, table 1 and figure 12, as in exp_trees.c. The
 * nodes of a tree stand on the servers of a cluster, and its leaves beside the producers, in this
 * process. What a level is asked is counted twice: by the filter, and on the wire.
 */
#include <stdio.h>
#include <string.h>

#include "lab_live.h"
#include "weir_sites.h"

enum {
    SERVERS = 4,
    MOST_LEVELS = 5,
    SLICED = 2,       /* place of that among a case's numbers */
    LEAST_BITS = 8704 /* a node has 1 KiB at least, and what it counts */
};

/* --- a tree, twice ---------------------------------------------------------------------------- */

/* Its spec, with the memory that gives each node bits for the keys at a rate. */
static weir_status tree_spec(lab_unit *unit, const lab_log *log, int levels, int fanout,
                             double rate, int down, char spec[512]) {
    char wanted[256], whole[512];
    double nodes = 0, width = 1;
    weir_filter *filter;
    for (int i = 0; i < levels; i++, width *= fanout) nodes += width;
    snprintf(wanted, sizeof wanted,
             "tree:fanout=%d,levels=%d,mode=%s,down=%d,fpr=5%%,of=(bloom:layout=classic,k=4)%s",
             fanout, levels, unit->c->filter, down,
             unit->c->p[SLICED] > 0 ? ",root=(vertical:slices=4,of=(bloom:layout=classic,k=4))"
                                    : "");
    double bits = fmax(LEAST_BITS, lab_bits_for((double)log->truth->distinct, rate));
    weir_status status = lab_make_of_bits(unit, wanted, true, nodes, nodes * bits, &filter);
    if (status) return status;
    weir_filter_spec(filter, whole, sizeof whole);
    weir_filter_free(filter);
    const char *memory = strstr(whole, "memory=");
    snprintf(spec, 512, "%s,%.*s", wanted, (int)strcspn(memory, ","), memory);
    return WEIR_OK;
}

typedef struct {
    lab_log log;
    lab_servers *servers;
    lab_twins twins;
} stage;

static weir_status set_up(lab_unit *unit, stage *s) {
    *s = (stage){0};
    weir_status status = lab_log_open_first(&s->log, unit, (size_t)unit->size);
    return status ? status : lab_servers_start(&s->servers, unit, SERVERS, false);
}

static void take_down(stage *s) {
    lab_twins_close(&s->twins);
    lab_servers_stop(s->servers);
    lab_log_close(&s->log);
}

/* --- table 1, figures 12a and 12b ---------------------------------------------------------------
 */

static const lab_column tree_columns[] = {
    {"level", "level", NULL, true, 0, 0},
    {"hits", "hits", "% of the records", false, 3, 0},
    {"accesses", "accesses", "% of the records", false, 3, 0},
    {"hits_one", "hits, one process", "% of the records", false, 0, 0},
    {"accesses_one", "accesses, one process", "% of the records", false, 0, 0},
    {"messages", "messages on the wire", "% of the records", false, 0, 0},
    {"us", "time of a message", "us", false, 0, 0},
    {"apart", "verdicts that differ", NULL, false, 0, 0},
    {"verdicts", "verdicts", NULL, false, 0, 0},
    {0}};

typedef struct {
    double hits[MOST_LEVELS], accesses[MOST_LEVELS];
} by_level;

static by_level count_levels(const weir_filter *filter) {
    by_level l = {0};
    weir_site_info site;
    for (size_t i = 0; i < weir_filter_sites(filter); i++) {
        if (weir_filter_get_site(filter, i, &site, NULL)) continue;
        l.hits[site.level] += (double)site.seen;
        l.accesses[site.level] += (double)site.asked;
    }
    return l;
}

static weir_status emit_levels(lab_unit *unit, const stage *s, int levels, double apart) {
    weir_live_stats sent;
    weir_live_get_stats(s->twins.live, &sent); /* before nodes are asked how they are */
    by_level there = count_levels(s->twins.there), here = count_levels(s->twins.here);
    double records = (double)s->log.count;
    weir_status status = WEIR_OK;
    for (int i = 0; !status && i < levels; i++) {
        double messages = (double)sent.messages[i];
        double row[] = {i,
                        lab_percent(there.hits[i], records),
                        lab_percent(there.accesses[i], records),
                        lab_percent(here.hits[i], records),
                        lab_percent(here.accesses[i], records),
                        lab_percent(messages, records),
                        messages > 0 ? (double)sent.nanoseconds[i] / 1000 / messages : 0,
                        i ? 0 : apart,
                        i ? 0 : records};
        status = lab_emit(unit, row);
    }
    return status;
}

static weir_status run_tree(lab_unit *unit) {
    char spec[512];
    stage s;
    lab_twin_errors e = {0};
    int levels = (int)unit->c->p[0];
    weir_status status = set_up(unit, &s);
    if (!status) status = tree_spec(unit, &s.log, levels, (int)unit->c->p[1], 0.02, 0, spec);
    if (!status) status = lab_twins_open(unit, &s.twins, s.servers, "tree", spec, false);
    bool going = !status && lab_twins_offer(unit, &s.twins, &s.log, 0, s.log.count, &e);
    if (!status)
        status =
            going ? emit_levels(unit, &s, levels, e.apart + e.there.false_new) : unit->error.code;
    take_down(&s);
    return status;
}

static bool never_apart(const lab_result *r, lab_words *found) {
    double apart = 0, verdicts = 0;
    for (size_t c = 0; c < lab_cases(r); c++)
        for (int row = 0; row < (int)lab_rows(r, c); row++) {
            apart += lab_mean(r, c, row, "apart");
            verdicts += lab_mean(r, c, row, "verdicts");
        }
    return lab_say(found, apart == 0 && verdicts > 0, "%.0f of %.0f verdicts differ.", apart,
                   verdicts);
}

/* Leaves are here, and a root in slices has more messages than accesses. */
static bool wire_has_what_is_counted(const lab_result *r, lab_words *found) {
    double worst = 0;
    size_t cells = 0;
    for (size_t c = 0; c < lab_cases(r); c++) {
        if (lab_case_at(r, c)->p[SLICED] > 0) continue;
        for (int row = 0; row + 1 < (int)lab_rows(r, c); row++, cells++)
            worst = fmax(
                worst, fabs(lab_mean(r, c, row, "messages") - lab_mean(r, c, row, "accesses_one")));
    }
    return lab_say(found, cells && worst == 0,
                   "Messages to a level and accesses in one process differ by at most %g%% of the "
                   "records.",
                   worst);
}

static double hits_above(const lab_result *r, size_t c) {
    double sum = 0;
    for (int row = 0; row + 1 < (int)lab_rows(r, c); row++) sum += lab_mean(r, c, row, "hits");
    return sum;
}

static bool only_dense_is_local(const lab_result *r, lab_words *found) {
    double dense = lab_mean(r, 0, -1, "hits"), above_dense = hits_above(r, 0);
    double sparse = lab_mean(r, 1, -1, "hits"), above_sparse = hits_above(r, 1);
    return lab_say(found, dense > above_dense && sparse < above_sparse,
                   "Dense: %.1f%% of the records at the leaves, %.1f%% above; sparse: %.1f%% and "
                   "%.1f%%.",
                   dense, above_dense, sparse, above_sparse);
}

static double on_the_wire(const lab_result *r, size_t c) {
    double sum = 0;
    for (int row = 0; row < (int)lab_rows(r, c); row++) sum += lab_mean(r, c, row, "messages");
    return sum;
}

static bool dense_sends_less(const lab_result *r, lab_words *found) {
    double dense = on_the_wire(r, 0), sparse = on_the_wire(r, 1);
    return lab_say(found, dense < sparse,
                   "%.2f messages for a record go to servers in the dense tree, %.2f in the sparse "
                   "one.",
                   dense / 100, sparse / 100);
}

#define TREE_CASE(mode, levels, fanout, ...)                                                       \
    { .label = mode, .stream = "weblog", .filter = mode, .p = {levels, fanout}, __VA_ARGS__ }

#define NONE NAN, NAN, NAN, NAN, NAN, NAN
#define TABLE(root_hits, root_accesses, leaf_hits, leaf_accesses)                                  \
    LAB_PAPER_ROWS({NAN, root_hits, root_accesses, NONE}, {NAN, leaf_hits, leaf_accesses, NONE})

static const lab_case table_cases[] = {
    TREE_CASE("dense", 2, LAB_LOG_LEAVES, .paper = TABLE(34, 50, 49, 100), .paper_rows = 2),
    TREE_CASE("sparse", 2, LAB_LOG_LEAVES, .paper = TABLE(77, 111, 5, 116), .paper_rows = 2),
    {.label = "dense, the root in 4 slices",
     .stream = "weblog",
     .filter = "dense",
     .p = {2, LAB_LOG_LEAVES, 1}},
    {0}};

static const lab_case deep_cases[] = {TREE_CASE("dense", 5, 4, ), TREE_CASE("sparse", 5, 4, ), {0}};

static const lab_claim tree_claims[] = {
    {true, "Where the nodes stand changes nothing of what is computed.", never_apart,
     "no verdict differs from those of one process", LAB_WORDS},
    {false, "A level is sent as many messages as its filters are accessed.",
     wire_has_what_is_counted, "equal, at each level above the leaves", LAB_WORDS},
    {true, "Dense trees find most duplicates at the leaves, sparse ones above.",
     only_dense_is_local, "dense: more at the leaves than above; sparse: fewer", LAB_WORDS},
    {true, "Dense trees access fewer filters.", dense_sends_less,
     "fewer messages to servers than the sparse tree", LAB_WORDS},
    {0}};

/* --- figure 12c: top-down requests as messages
 * ---------------------------------------------------- */

static const lab_column down_columns[] = {
    {"down", "ask below a hit down to level", NULL, true, 0, 0},
    {"fp", "false positives, on servers", "%", false, 0, 0},
    {"fn", "false negatives, on servers", "%", false, 0, 0},
    {"fp_one", "false positives, one process", "%", false, 0, 0},
    {"messages", "messages a record", NULL, false, 0, 0},
    {"apart", "verdicts that differ", NULL, false, 0, 0},
    {"verdicts", "verdicts", NULL, false, 0, 0},
    {0}};

static weir_status run_down(lab_unit *unit) {
    enum { DOWN_MOST = 3 }; /* level 4, of the leaves, would put 256 of them on the servers */
    stage s;
    weir_status status = set_up(unit, &s);
    bool going = true;
    for (int down = 0; !status && going && down <= DOWN_MOST; down++) {
        char spec[512], name[16];
        lab_twin_errors e = {0};
        weir_live_stats sent;
        snprintf(name, sizeof name, "d%d", down);
        status = tree_spec(unit, &s.log, MOST_LEVELS, 4, 0.08, down, spec);
        if (!status) status = lab_twins_open(unit, &s.twins, s.servers, name, spec, false);
        if (status) break;
        going = lab_twins_offer(unit, &s.twins, &s.log, 0, s.log.count, &e);
        weir_live_get_stats(s.twins.live, &sent);
        double messages = 0;
        for (int i = 0; i < MOST_LEVELS; i++) messages += (double)sent.messages[i];
        double row[] = {down,
                        lab_percent(e.there.false_seen, e.there.firsts),
                        lab_percent(e.there.false_new, e.there.repeats),
                        lab_percent(e.here.false_seen, e.here.firsts),
                        messages / (double)s.log.count,
                        e.apart + e.there.false_new, /* these filters forget nothing */
                        (double)s.log.count};
        status = going ? lab_emit(unit, row) : unit->error.code;
        lab_twins_close(&s.twins);
    }
    take_down(&s);
    return status;
}

static bool doubt_helps(const lab_result *r, lab_words *found) {
    bool holds = true;
    for (size_t c = 0; c < 2; c++) holds &= lab_mean(r, c, 2, "fp") < lab_mean(r, c, 0, "fp");
    return lab_say(found, holds,
                   "Dense: %.2f%% without, %.2f%% down to level 2, for %.2f and %.2f messages a "
                   "record; sparse: %.2f%% and %.2f%%, for %.2f and %.2f.",
                   lab_mean(r, 0, 0, "fp"), lab_mean(r, 0, 2, "fp"), lab_mean(r, 0, 0, "messages"),
                   lab_mean(r, 0, 2, "messages"), lab_mean(r, 1, 0, "fp"), lab_mean(r, 1, 2, "fp"),
                   lab_mean(r, 1, 0, "messages"), lab_mean(r, 1, 2, "messages"));
}

static const lab_case down_cases[] = {{.label = "dense", .stream = "weblog", .filter = "dense"},
                                      {.label = "sparse", .stream = "weblog", .filter = "sparse"},
                                      {0}};

static const lab_claim down_claims[] = {
    {true, "Where the nodes stand changes nothing of what is computed.", never_apart,
     "no verdict differs from those of one process", LAB_WORDS},
    {true, "Asking below a hit reduces false positives.", doubt_helps,
     "lower with level 2 than without, in both trees", LAB_WORDS},
    {0}};

/* --- the entries --- */

#define TREE_MANNER                                                                                \
    OTHER_LOG LIVE_MANNER "Four servers; the leaves are in this process, beside the producers. "   \
                          "Level 0 is the root. "

const lab_experiment lab_exp_live_trees[] = {
    {LAB_ENTRY("live-table-1", LOG_PAPER "table 1"), .ns = 100000,
     .title = "Local filters before servers: hits and messages of two levels",
     .claim = "Dense trees find most duplicates at the leaves, sparse ones at the root.",
     .method = TREE_MANNER "256 leaves, chosen by a hash of the client.",
     .reason = OTHER_LOG "How many leaves it had is not printed.", .columns = tree_columns,
     .cases = table_cases, .claims = tree_claims,
     .figures = {{.title = "Hits and messages by level",
                  .y_label = "% of the records",
                  .y = {"hits", "messages"},
                  .style = LAB_BARS,
                  .claim = 3}},
     LAB_SIZES(5000, 100000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_tree},
    {LAB_ENTRY("live-fig-12", LOG_PAPER "figures 12a and 12b"), .ns = 250000,
     .title = "Where a tree of five levels on servers decides",
     .claim = "The dense tree resolves most requests at the lower levels.",
     .method = TREE_MANNER "Five levels, fanout 4.", .reason = OTHER_LOG, .columns = tree_columns,
     .cases = deep_cases, .claims = tree_claims,
     .figures = {LINES("Hits by level", "level", "hits (% of records)", "level", 2, "hits"),
                 LINES("Messages by level", "level", "messages (% of records)", "level", 3,
                       "messages")},
     LAB_SIZES(5000, 100000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_tree},
    {LAB_ENTRY("live-fig-12c", LOG_PAPER "figure 12c"), .ns = 1200000,
     .title = "Asking below a hit, in messages",
     .claim = "Top-down testing to level 2 takes away false positives.",
     .method = TREE_MANNER "Five levels, fanout 4, nodes sized for 8%.", .reason = OTHER_LOG,
     .columns = down_columns, .cases = down_cases, .claims = down_claims,
     .figures = {LINES("False positives", "level down to which is asked", "false positives (%)",
                       "down", 1, "fp"),
                 LINES("Messages", "level down to which is asked", "messages a record", "down", 1,
                       "messages")},
     LAB_SIZES(4000, 50000), LAB_SEEDS(1, 1), LAB_EXPECT(LAB_SAME_SHAPE), .run = run_down},
    {0}};
