/* report.c - the totals of a run, for people and for machines.
 *
 * Both forms say the same; the JSON form is one object on one line whose keys
 * do not change from version to version (new ones may be added).
 */
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "metrics.h"
#include "spec_text.h"

char *report_spec(const weir_filter *filter) {
    size_t length = weir_filter_spec(filter, NULL, 0);
    char *spec = malloc(length + 1);
    if (spec) weir_filter_spec(filter, spec, length + 1);
    return spec;
}

char *report_sketch_spec(const weir_sketch *sketch) {
    size_t length = weir_sketch_spec(sketch, NULL, 0);
    char *spec = malloc(length + 1);
    if (spec) weir_sketch_spec(sketch, spec, length + 1);
    return spec;
}

char *report_size(char *buffer, uint64_t bytes) {
    weir_print_size(buffer, bytes);
    if (bytes < 1024) strcat(buffer, bytes == 1 ? " byte" : " bytes");
    return buffer;
}

const char *report_fullness(const weir_filter_info *info) {
    if (!info->overfull) return ", nothing forgotten";
    return info->keeps_all ? ", over capacity" : ", forgetting";
}

void report_spec_line(FILE *out, const char *label, const weir_filter *filter) {
    char *spec = report_spec(filter), shown[SPEC_SIZE] = "";
    if (spec) weir_spec_pretty(spec, shown, sizeof shown);
    fprintf(out, "%s%s\n", label, shown);
    free(spec);
}

/* --- for people ---------------------------------------------------------------- */

/* 12345678 as 12,345,678. */
static const char *grouped(char buffer[32], uint64_t n) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n), used = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) buffer[used++] = ',';
        buffer[used++] = digits[i];
    }
    buffer[used] = 0;
    return buffer;
}

static void count_line(FILE *out, const char *label, uint64_t n, uint64_t of) {
    char text[32];
    fprintf(out, "%-16s %15s", label, grouped(text, n));
    if (of) fprintf(out, "   %.2f%%", 100.0 * (double)n / (double)of);
    fputc('\n', out);
}

static void count_lines(FILE *out, const run_counts *c) {
    count_line(out, "new", c->new_records, c->records);
    count_line(out, "seen", c->seen, c->records);
    if (c->missing) count_line(out, "without key", c->missing, c->records);
    if (c->bad) count_line(out, "malformed", c->bad, c->records);
    if (c->late) count_line(out, "late", c->late, c->records);
    if (c->missing + c->bad + c->late) count_line(out, "passed unjudged", c->passed, c->records);
}

static void rate_with_interval(FILE *out, const char *what, uint64_t cases, double rate, double low,
                               double high, double confidence) {
    char a[32], b[32], c[32];
    if (!cases) {
        fprintf(out, "%s unknown (nothing to judge by)", what);
        return;
    }
    fprintf(out, "%s %s (%g%% interval %s - %s)", what, weir_print_rate(a, rate), 100 * confidence,
            weir_print_rate(b, low), weir_print_rate(c, high));
}

void report_audit_line(FILE *out, const weir_audit *audit) {
    weir_audit_report r;
    weir_audit_get_report(audit, &r);
    rate_with_interval(out, "false positives", r.firsts, r.fpr, r.fpr_low, r.fpr_high,
                       r.confidence);
    fputs(", ", out);
    rate_with_interval(out, "false negatives", r.repeats, r.fnr, r.fnr_low, r.fnr_high,
                       r.confidence);
    fprintf(out, ", from 1 key in %llu", (unsigned long long)r.one_in);
}

static weir_filter_info facts(const run_report *r) {
    weir_filter_info info = {0};
    if (r->filter) weir_filter_get_info(r->filter, &info);
    else info = *r->table;
    return info;
}

void report_text(FILE *out, const run_report *r) {
    const run_counts *c = &r->counts;
    weir_filter_info info = facts(r);
    char a[32], b[32];
    double speed = r->seconds > 0 ? (double)r->fresh / r->seconds : 0;
    fprintf(out, "%-16s %15s   %s a second\n", "records", grouped(a, c->records),
            weir_print_count(b, speed));
    count_lines(out, c);
    fprintf(out, "%-16s %15s\n", "read", report_size(a, c->bytes_in));
    fprintf(out, "%-16s %15s\n", "written", report_size(a, r->bytes_out));
    fprintf(out, "%-16s %15s%s\n", "time",
            weir_print_duration(a, (int64_t)(r->seconds * 1000 + 0.5) * 1000000),
            r->resumed ? "   since it was resumed" : "");
    if (r->remote) {
        at_report_text(out, r->remote, c->bytes_in, r->bytes_out);
        return;
    }
    fprintf(out, "%-16s %15s   %.1f%% full%s\n", "memory", report_size(a, info.memory),
            100 * info.fill, r->filter ? report_fullness(&info) : "");
    if (!r->filter) {
        fprintf(out, "%-16s %15u   times, exactly\n", "input read", r->readings);
        return;
    }
    report_spec_line(out, "filter           ", r->filter);
    fprintf(out, "%-16s at most %s%s; by the fill %s now\n", "false positives",
            weir_print_rate(a, info.fpr_bound), info.fpr_implied ? " by its settings" : "",
            weir_print_rate(b, info.fpr_now));
    if (r->audit) {
        fprintf(out, "%-16s ", "audit");
        report_audit_line(out, r->audit);
        fputc('\n', out);
    }
}

/* --- for machines ---------------------------------------------------------------- */

void report_json_string(FILE *out, const char *text) {
    json_out j = json_begin(out);
    json_text(&j, NULL, text);
}

void report_json_number(FILE *out, double value) {
    json_out j = json_begin(out);
    json_number(&j, NULL, value);
}

void report_audit_json(json_out *j, const char *name, const weir_audit *audit) {
    weir_audit_report r;
    weir_audit_get_report(audit, &r);
    json_open(j, name, '{');
    json_count(j, "one_in", r.one_in);
    json_count(j, "keys", r.keys);
    json_count(j, "firsts", r.firsts);
    json_count(j, "repeats", r.repeats);
    json_count(j, "false_seen", r.false_seen);
    json_count(j, "false_new", r.false_new);
    json_number(j, "confidence", r.confidence);
    json_number(j, "fpr", r.firsts ? r.fpr : NAN);
    json_number(j, "fpr_low", r.firsts ? r.fpr_low : NAN);
    json_number(j, "fpr_high", r.firsts ? r.fpr_high : NAN);
    json_number(j, "fnr", r.repeats ? r.fnr : NAN);
    json_number(j, "fnr_low", r.repeats ? r.fnr_low : NAN);
    json_number(j, "fnr_high", r.repeats ? r.fnr_high : NAN);
    json_close(j, '}');
}

void report_json(FILE *out, const run_report *r) {
    const run_counts *c = &r->counts;
    weir_filter_info info = facts(r);
    json_out j = json_begin(out);
    char *spec = r->remote   ? at_spec(r->remote)
                 : r->filter ? report_spec(r->filter)
                             : strdup("exact");
    json_open(&j, NULL, '{');
    json_text(&j, "version", weir_version());
    json_text(&j, "filter", spec ? spec : "");
    free(spec);
    json_count(&j, "readings", r->filter ? 1 : r->readings);
    json_count(&j, "records", c->records);
    json_count(&j, "new", c->new_records);
    json_count(&j, "seen", c->seen);
    json_count(&j, "missing", c->missing);
    json_count(&j, "bad", c->bad);
    json_count(&j, "late", c->late);
    json_count(&j, "passed", c->passed);
    json_count(&j, "bytes_in", c->bytes_in);
    json_count(&j, "bytes_out", r->bytes_out);
    json_number(&j, "seconds", r->seconds);
    json_number(&j, "records_per_second", r->seconds > 0 ? (double)r->fresh / r->seconds : 0);
    json_flag(&j, "resumed", r->resumed);
    if (!r->remote) {
        json_count(&j, "memory", info.memory);
        json_number(&j, "fill", info.fill);
        json_flag(&j, "overfull", info.overfull);
    }
    json_number(&j, "fpr_bound", info.fpr_bound);
    json_flag(&j, "fpr_implied", info.fpr_implied);
    if (!r->remote) json_number(&j, "fpr_now", info.fpr_now);
    if (r->audit) report_audit_json(&j, "audit", r->audit);
    else json_null(&j, "audit");
    if (r->remote) at_report_json(out, r->remote, c->bytes_in, r->bytes_out);
    json_close(&j, '}');
    fputc('\n', out);
}

/* --- for Prometheus ----------------------------------------------------------------- */

void report_metrics(FILE *out, const run_counts *c, const weir_filter *filter,
                    const weir_audit *audit) {
    weir_filter_info i;
    weir_audit_report a;
    weir_filter_get_info(filter, &i);
    const struct {
        const char *name, *type, *help;
        double value;
    } samples[] = {
        {"weir_new_total", "counter", "Records called new.", (double)c->new_records},
        {"weir_seen_total", "counter", "Records called seen.", (double)c->seen},
        {"weir_missing_total", "counter", "Records without the key.", (double)c->missing},
        {"weir_bad_total", "counter", "Malformed records.", (double)c->bad},
        {"weir_late_total", "counter", "Late records.", (double)c->late},
        {"weir_filter_memory_bytes", "gauge", "Memory of the filter.", (double)i.memory},
        {"weir_filter_fill_ratio", "gauge", "Share of the filter in use.", i.fill},
        {"weir_filter_forgetting", "gauge", "1 if keys were forgotten, or came beyond capacity.",
         i.overfull},
        {"weir_filter_fpr_bound", "gauge", "Bound on false positives.", i.fpr_bound},
        {"weir_filter_fpr_now", "gauge", "False positive rate of the next new key.", i.fpr_now},
    };
    for (size_t n = 0; n < sizeof samples / sizeof *samples; n++)
        metrics_put(out, samples[n].name, samples[n].type, samples[n].help, samples[n].value);
    if (!audit) return;
    weir_audit_get_report(audit, &a);
    metrics_put(out, "weir_audit_fpr", "gauge", "False positives measured by the audit.",
                a.firsts ? a.fpr : NAN);
    metrics_put(out, "weir_audit_fnr", "gauge", "False negatives measured by the audit.",
                a.repeats ? a.fnr : NAN);
}
