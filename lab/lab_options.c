/* lab_options.c - the options and the manual of weir-lab. */
#include "lab_options.h"

#include "reading.h"

static const opt_entry lab_table[] = {
    {LAB_FULL, "full", 0, OPT_FLAG, NULL, NULL, NULL, "Running", true,
     "Run at the papers' sizes, up to a billion records, not at the quick ones.", NULL},
    {LAB_SEEDS, "seeds", 0, OPT_VALUE, "N", NULL, NULL, "Running", true,
     "Repeat each case with the seeds 1 to N.",
     "Means and 95% intervals are over the seeds. Without it each experiment has a number of its "
     "own, mostly 3."},
    {LAB_JOBS, "jobs", 'j', OPT_VALUE, "N", NULL, "the cores", "Running", true,
     "Work on so many cases at a time.",
     "Fewer are used where the memory would not hold them. Experiments that measure time run one "
     "by one, after the others."},
    {LAB_OUT, "out", 0, OPT_VALUE, "DIR", NULL, "lab-results", "Results", true,
     "Keep results, tables, figures and the page in this folder.", NULL},
    {LAB_JSON, "json", 0, OPT_FLAG, NULL, NULL, NULL, "Results", true,
     "Print the list, or the results of a run, as JSON.", NULL},
    {LAB_SEED, "seed", 0, OPT_VALUE, "N", NULL, "1", "Streams", true,
     "The seed of the stream: the same seed gives the same stream on every machine.", NULL},
    {LAB_COUNT, "count", 'n', OPT_VALUE, "N", NULL, "all", "Streams", true,
     "Write only the first N records.", NULL},
    {LAB_TRUTH, "truth", 0, OPT_FLAG, NULL, NULL, NULL, "Streams", true,
     "Write 1 and a tab before a record that comes for the first time, else 0.", NULL},
    {LAB_MEMORY, "memory", 0, OPT_VALUE, "SIZE", NULL, "256M", "Streams", false,
     "The most that finding the truth may take, besides one bit a record.",
     "What does not fit is sorted on disk, in `$TMPDIR` or /tmp: 16 bytes a record."},
    READ_RECORD_ROWS("", "", 0),
    READ_KEY_ROWS,
    READ_UNJUDGED_ROWS("What passes is left out of the stream, as what is dropped."),
    {LAB_PROGRESS, "progress", 0, OPT_FLAG, NULL, NULL, NULL, "Messages", false,
     "Show progress even if standard error is not a terminal.", NULL},
    {LAB_QUIET, "quiet", 'q', OPT_FLAG, NULL, NULL, NULL, "Messages", true,
     "Say nothing but errors.", NULL},
    {0},
};

static const opt_section lab_sections[] = {
    {"ACTIONS",
     "= list\nName the experiments, and the paper's table or figure that each repeats.\n\n"
     "= run [NAME...]\nRun experiments: all, or those named; `*` and `?` match. Every unit of "
     "work (a case with a seed) is kept in DIR/results as soon as it is done, with the code that "
     "made it: a run that was interrupted goes on where it was, and nothing is run twice by the "
     "same code. Writes NAME.csv, NAME.md and NAME-1.svg ... for each, and prints the "
     "verdicts.\n\n"
     "= report\nMake tables and figures of all that the folder has, report.md, and report.html: "
     "one page with everything in it.\n\n"
     "= stream SPEC\nWrite a stream to standard output, a record a line."},
    {"STREAMS",
     "Counts take K, M, G; shares a % sign.\n\n"
     "= uniform:n=,universe=\nEvery id below the universe alike. `distinct=30%` in place of "
     "`universe=` finds the universe in which that share of the records is distinct.\n\n"
     "= zipf:n=,s=,domain=\nRank k with a probability proportional to k^-s.\n\n"
     "= poisson:n=,lambda=,u=\nThe thesis's streams (3.5.1): a share `lambda` of the records have "
     "ids whose probability falls exponentially, with a mean of `u`; the others come once.\n\n"
     "= bmodel:n=,b=,l=,v=,u=,order=\nThe same with a share `v`, in bursts: of two halves of a "
     "stretch one has a share `b` of what the stretch has, `l` times over; which, is drawn, or "
     "always the first (`order=first`).\n\n"
     "= importance:n=,repeat=,law=,levels=\nWith an importance from 1 to 50 (or `levels`) before "
     "each id; `law` is how often an id comes by its importance: uniform, proportional or "
     "inverse.\n\n"
     "= burst:n=,universe=,rate=,factor=\nWith the time slot before each id: `rate` records a "
     "slot, `factor` times as many in the middle third.\n\n"
     "= producers:n=,universe=,producers=,fanout=,local=\nWith the producer before each id; a "
     "share `local` of its records are ids of its own, the others of its neighbours.\n\n"
     "= mix:n=,parts=\nSeveral streams at once and one after another, as in "
     "`mix:n=300K,parts=3*zipf;0.9;50K+1*loop;20K/2*scan`: weights before `*`, "
     "parts joined by `+`, regimes of equal length by `/`. Parts: `zipf;S;DOMAIN`, "
     "`uniform;UNIVERSE`, `loop;LENGTH`, `scan` (every id once), `fashion;MEAN;EVERY` (a new id "
     "each EVERY records, drawn by an age of MEAN ids), `again;SHARE;FAR` (that share repeats one "
     "of the last FAR ids, near ones as often as far ones), `burst;TIMES` (ids that come so often "
     "in a row). `~P` after a part: on for P records, off for P.\n\n"
     "= records:n=,d=,least=,share=\nRecords of d attributes; a share of them are near-copies of "
     "another, in `least` to d attributes. Says how many pairs agree in how many.\n\n"
     "= file:path=,columns=,split=\nThe hashes of the lines of a file or of columns (4, 2-5, 1+7), "
     "split by tab or space. Or, with `--format`, `--key` and the other options of records and "
     "keys, the hashes of the keys that `weir dedup` would compare.\n\n"
     "= weblog, repo_urls, ...\nThe real streams, from `WEIR_DATA`, or the bundled beginnings of "
     "some: also trending, recommendations, block_trace, flows, package_titles; block_requests and "
     "weblog_sizes, tagged with sizes."},
    {"VERDICTS",
     "A verdict is computed. `reproduced`: every printed number of the paper is within tolerance "
     "of ours (three standard deviations of one more run, and what rounding leaves open), and "
     "every claim holds. `same shape`: order and trend agree, not all values, or the limit of a "
     "claim was set after a look at results. `differs`: they do not."},
    {"EXAMPLES", "Table 2 of the paper on reservoir sampling, with ten seeds:\n"
                 "\n"
                 "    weir lab run rsbf-table-2 --seeds 10\n"
                 "\n"
                 "All experiments of one paper, then the page:\n"
                 "\n"
                 "    weir lab run 'rsbf-*' && weir lab report\n"
                 "\n"
                 "A stream to try a filter on:\n"
                 "\n"
                 "    weir lab stream zipf:n=1M,s=1,domain=100K | weir dedup --stats > once"},
    {"ENVIRONMENT", "= WEIR_DATA\nThe folder of the real streams; if it is not set, a folder "
                    "`shared/data` beside that of the program or up to four above. Experiments on "
                    "a stream that is not there are left out, with a word."},
    {"EXIT STATUS", "= 0\nDone.\n\n"
                    "= 1\nDone, and a verdict is worse than expected.\n\n"
                    "= 2\nTrouble: one line on standard error says what.\n\n"
                    "= 128+N\nStopped by signal N; the same command goes on from there."},
    {0},
};

const opt_command cmd_lab = {
    .name = "lab",
    .operands = LAB_ACTIONS " [NAME...]",
    .actions = LAB_ACTIONS,
    .operand_glob = "",
    .summary = "repeat the papers' experiments on this code",
    .description = "Every table and figure of the papers behind weir is an experiment: it is run "
                   "against the exact truth, over several seeds, and judged by the numbers and "
                   "claims that the paper prints.",
    .options = lab_table,
    .sections = lab_sections,
    .see_also = "`weir(1)`, `weir-dedup(1)`, `weir-filters(7)`",
    .run = run_lab,
};
