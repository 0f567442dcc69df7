/* dedup_watch.c - what a person should know while `weir dedup` runs, said once.
 *
 * A filter that begins to forget, one with more keys than it was made for, a key that no
 * record has: each is a warning with what would help.
 */
#include "dedup_watch.h"

#include <stdio.h>

#include "cli.h"

#define LOOK_EVERY (100 * 1000000LL) /* ns between looks at whether the filter is full */
#define FULL_LEAST 0.25              /* fill below which keys go for other reasons than room */
#define MORE_MEMORY 4                /* times the memory asked for: what a warning suggests */
#define ROOM_FOR_ALL 0.5 /* share of all slots: with more keys some lines have too many of them */

static void warn_over_capacity(const dedup_watch *w, const weir_filter_info *info) {
    char now[32], capacity[32];
    bool planned = !weir_spec_get(w->settings->spec, "capacity", capacity, sizeof capacity);
    cli_warn("more keys came than the filter was made for: new records are now lost at a rate "
             "of %s; give it %s",
             weir_print_rate(now, info->fpr_now), planned ? "more --memory" : "a higher capacity");
}

/* Of a window of records `recent` takes a line for each record, and no more memory than that. */
static void warn_window(const weir_filter_info *info, uint64_t memory) {
    char more[32];
    if (info->memory < memory)
        cli_warn("some keys of the window had to go before their time, as a few do by chance: "
                 "repeats may pass; more --memory would change nothing");
    else
        cli_warn("some keys of the window had to go before their time: repeats may pass; "
                 "--memory %s would keep more of them",
                 weir_print_size(more, memory * MORE_MEMORY));
}

static void warn_full(const dedup_watch *w, uint64_t memory) {
    char now[32], more[32], keys[32], room[48] = "hold more";
    if (w->keys_room > 0)
        snprintf(room, sizeof room, "do for about %s",
                 weir_print_count(keys, w->keys_room * MORE_MEMORY * ROOM_FOR_ALL));
    cli_warn("the keys no longer fit %s: repeats may pass; --memory %s would %s",
             weir_print_size(now, memory), weir_print_size(more, memory * MORE_MEMORY), room);
}

static void warn_forgetting(const dedup_watch *w, const weir_filter_info *info) {
    if (info->window) warn_window(info, info->memory_asked);
    else if (info->fill >= FULL_LEAST) warn_full(w, info->memory_asked);
    else
        cli_warn("the filter '%s' has begun to forget, as it does long before it is full: repeats "
                 "may pass; 'recent' forgets nothing while the keys fit",
                 info->name);
}

static bool is_beyond(const weir_filter_info *info) {
    return info->overfull && info->fpr_now > info->fpr_bound * 1.01;
}

/* Say once that the filter has begun to forget, or is beyond its bound, and what would help. One
 * that forgets nothing is no worse for having more keys until it is beyond. */
static void look_at_fill(dedup_watch *w, const weir_filter *filter) {
    weir_filter_info info;
    if (w->was_beyond) return;
    weir_filter_get_info(filter, &info);
    bool forgets = info.overfull && !info.keeps_all;
    if (is_beyond(&info)) warn_over_capacity(w, &info);
    else if (forgets && !w->was_overfull) warn_forgetting(w, &info);
    w->was_overfull = info.overfull;
    w->was_beyond = is_beyond(&info);
}

/* A key that no record has is most likely misspelled. */
static void look_at_missing(const dedup_watch *w, const run_counts *c) {
    const char *key = w->settings->from.in.key;
    char records[32];
    if (!key || !c->records || c->missing < c->records) return;
    cli_warn("nothing was compared: of %s record%s none has the key '%s'; look at --key, or at "
             "--on-missing",
             weir_print_count(records, (double)c->records), c->records == 1 ? "" : "s", key);
}

/* Late records are said when they begin, and at the end with their number. */
static void look_at_late(dedup_watch *w, const run_counts *c) {
    char late[32], behind[32];
    const dedup_settings *s = w->settings;
    if (c->late <= w->late) return;
    w->late = c->late;
    cli_warn("%s record%s of %llu so far came more than --lateness %s behind the latest time and "
             "%s; see --lateness, --on-late and --max-leap",
             weir_print_count(late, (double)c->late), c->late == 1 ? "" : "s",
             (unsigned long long)c->records, weir_print_duration(behind, s->lateness),
             s->on_late == STREAM_DROP ? "are left out" : "pass unjudged");
}

void dedup_watch_begin(dedup_watch *w, const dedup_settings *settings, const weir_filter *filter,
                       const run_counts *counts) {
    weir_filter_info info;
    weir_filter_get_info(filter, &info);
    *w = (dedup_watch){.settings = settings,
                       .was_overfull = info.overfull,
                       .was_beyond = is_beyond(&info),
                       .late = counts->late,
                       .keys_room = info.room};
}

void dedup_watch_look(dedup_watch *w, const weir_filter *filter, const run_counts *counts,
                      int64_t now) {
    if (now - w->looked < LOOK_EVERY) return;
    w->looked = now;
    look_at_fill(w, filter);
    if (!w->late_said && counts->late > w->late) {
        w->late_said = true;
        look_at_late(w, counts);
    }
}

void dedup_watch_end(dedup_watch *w, const weir_filter *filter, const run_counts *counts) {
    look_at_fill(w, filter);
    look_at_missing(w, counts);
    look_at_late(w, counts);
}
