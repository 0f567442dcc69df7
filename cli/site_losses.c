/* site_losses.c - sites that are lost and come back while a run goes on: a plan tried out.
 *
 * A loss is a stretch of records, so that a run can be repeated. A site that comes back holds
 * what it held; what was offered meanwhile it does not know.
 */
#include "site_losses.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "values.h"
#include "weir_sites.h"

static int bad_loss(const char *text) {
    return cli_error("--lose: '%s' is not SITE@RECORD or SITES@RECORDS, such as 3@1000 or "
                     "0-7@1000-2000",
                     text);
}

/* "3" or "3-5"; without a second number *last stays. */
static bool parse_range(char *text, uint64_t *first, uint64_t *last) {
    weir_error err;
    char *to = strchr(text, '-');
    if (to) *to++ = 0;
    if (weir_parse_count(text, first, &err) != WEIR_OK) return false;
    return !to || (weir_parse_count(to, last, &err) == WEIR_OK && *first <= *last);
}

static int add_one(site_losses *losses, char *text) {
    uint64_t first_site, last_site = UINT64_MAX;
    site_loss loss = {.last = UINT64_MAX};
    char whole[80];
    snprintf(whole, sizeof whole, "%s", text);
    char *at = strchr(text, '@');
    if (!at) return bad_loss(whole);
    *at++ = 0;
    if (!parse_range(text, &first_site, &last_site) || !parse_range(at, &loss.first, &loss.last) ||
        loss.first == 0)
        return bad_loss(whole);
    if (last_site == UINT64_MAX) last_site = first_site;
    for (loss.site = first_site; loss.site <= last_site; loss.site++) {
        if (losses->count == LOSSES_MOST)
            return cli_error("--lose: more than %d losses of sites", LOSSES_MOST);
        losses->list[losses->count++] = loss;
    }
    return EXIT_DONE;
}

int site_losses_add(site_losses *losses, const char *text) {
    char *copy = strdup(text), *rest = copy;
    int code = copy ? EXIT_DONE : cli_error("out of memory");
    for (char *one; code == EXIT_DONE && (one = strsep(&rest, ",")) != NULL;)
        code = add_one(losses, one);
    free(copy);
    return code;
}

int site_losses_check(const site_losses *losses, const weir_filter *filter) {
    weir_filter_info info;
    size_t sites = weir_filter_sites(filter);
    if (!losses->count) return EXIT_DONE;
    weir_filter_get_info(filter, &info);
    if (!sites)
        return cli_error("--lose goes with a filter that has sites (horizontal, vertical or tree); "
                         "'%s' is in one piece",
                         info.name);
    for (size_t i = 0; i < losses->count; i++)
        if (losses->list[i].site >= sites)
            return cli_error("--lose: there is no site %llu; they go from 0 to %zu",
                             (unsigned long long)losses->list[i].site, sites - 1);
    if (info.waits)
        return cli_error("--lose: with on-lost=wait the run would wait for ever for a site that "
                         "comes back by the records that go on; take on-lost=new, seen or stop");
    return EXIT_DONE;
}

uint64_t site_losses_apply(const site_losses *losses, weir_filter *filter, uint64_t next) {
    uint64_t until = UINT64_MAX;
    for (size_t i = 0; i < losses->count; i++) {
        const site_loss *l = &losses->list[i];
        bool lost = false; /* by any of the losses of this site */
        for (size_t j = 0; j < losses->count; j++) {
            const site_loss *o = &losses->list[j];
            lost |= o->site == l->site && o->first <= next && next <= o->last;
        }
        weir_filter_set_site(filter, l->site, lost ? WEIR_SITE_LOST : WEIR_SITE_ALIVE, NULL);
        if (next < l->first && l->first - next < until) until = l->first - next;
        if (l->first <= next && next <= l->last && l->last != UINT64_MAX &&
            l->last - next + 1 < until)
            until = l->last - next + 1;
    }
    return until;
}
