/* batch.c - drop repeated lines, by the batch, and say how well it went.
 *
 * Reads lines from standard input; writes each once. Compared with offering
 * keys one by one, batches let the filter fetch the memory of many keys at once.
 *
 *     cc batch.c -o batch $(pkg-config --cflags --libs weir)
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weir.h>

enum { BATCH = 256 };

typedef struct {
    char *text[BATCH];
    size_t room[BATCH], length[BATCH];
    uint64_t hashes[BATCH];
} lines;

static size_t read_lines(lines *l, const weir_filter *filter) {
    size_t n = 0;
    for (; n < BATCH; n++) {
        ssize_t length = getline(&l->text[n], &l->room[n], stdin);
        if (length < 0) break;
        l->length[n] = (size_t)length;
        l->hashes[n] = weir_filter_hash(filter, l->text[n], l->length[n]);
    }
    return n;
}

int main(void) {
    static lines l;
    uint64_t verdicts[WEIR_VERDICT_WORDS(BATCH)];
    weir_filter *seen;
    weir_audit *audit;
    weir_error err;
    size_t n;

    if (weir_filter_new(&seen, "recent:memory=64M", &err) ||
        weir_audit_new(&audit, 1 << 20, 64, 0, false, false, &err)) {
        fprintf(stderr, "batch: %s\n", err.message);
        return 2;
    }
    while ((n = read_lines(&l, seen)) > 0) {
        const weir_batch batch = {.count = n, .hashes = l.hashes};
        weir_filter_offer_batch(seen, &batch, verdicts);
        weir_audit_observe(audit, &batch, verdicts);
        for (size_t i = 0; i < n; i++)
            if (!(verdicts[i / 64] >> (i % 64) & 1)) fwrite(l.text[i], 1, l.length[i], stdout);
    }

    weir_audit_report report;
    weir_audit_get_report(audit, &report);
    fprintf(stderr, "batch: false positives %g, false negatives %g\n", report.fpr, report.fnr);
    weir_audit_free(audit);
    weir_filter_free(seen);
    for (int i = 0; i < BATCH; i++) free(l.text[i]);
    return 0;
}
