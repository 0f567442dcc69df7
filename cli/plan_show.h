/* plan_show.h - what `weir plan` was asked, what it found, and how that is shown. */
#ifndef WEIR_PLAN_SHOW_H
#define WEIR_PLAN_SHOW_H

#include "reading.h"
#include "weir.h"
#include "weir_plan.h"

enum { PLAN_CHOICES = 64, PLAN_POINTS = 9, PLAN_CURVES = 3, PLAN_WORDS = 2048 };
#define PLAN_LONGER 1.05 /* times a sample: by less it is the whole stream */

typedef struct {
    reading from;
    const char *sample; /* or NULL: only numbers are known */
    const char *plot;   /* SVG to write, or NULL */
    bool json;

    weir_plan_question question;
    const char *memory, *window; /* as given, or NULL */
    double fnr;                  /* the most that is allowed, or 0 */
    bool ask_memory, ask_window; /* the inverse questions */
    double sites, fail;          /* how to spread it; 0: not asked */
    double gone;                 /* share of the time in which a node is not there; 0: not asked */
    double fpr_lost;             /* how many sites keep this rate with `fail` lost; 0: not asked */

    char words[PLAN_WORDS]; /* for the dedup line: the options of records and keys as given */
} plan_settings;

typedef struct {
    weir_plan_question asked;    /* as the user put it */
    weir_plan_question question; /* with what was assumed or found */
    bool has_report;
    weir_profile_report report; /* of the sample */
    size_t count;
    weir_plan_choice choices[PLAN_CHOICES]; /* best first */

    size_t curves; /* of the best kinds */
    double memories[PLAN_POINTS];
    double curve[PLAN_CURVES][PLAN_POINTS];
} plan_answer;

/* Answers --sites with --chance; returns the exit code. */
int plan_servers(const plan_settings *settings);

/* Answers --sites; returns the exit code. */
int plan_sites(const plan_settings *settings);

/* Answers --fpr-lost. */
int plan_least_sites(const plan_settings *settings);

void plan_show_text(const plan_settings *settings, const plan_answer *answer);
void plan_show_json(const plan_settings *settings, const plan_answer *answer);
int plan_show_svg(const plan_settings *settings, const plan_answer *answer);

#endif
