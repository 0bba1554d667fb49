/*
 * The whole report of a cached trace, and each of its parts alone, beside reading every column of
 * the trace once, which is what any answer about all of it costs at least.
 *
 *     build/bench/bench_report TRACE.nlt [TIMES [THREADS [PART]]]     default 5 2, all parts; `report` is the whole alone
 *
 * Milliseconds of processor time, of all threads, the least of TIMES. Parts alone share nothing, so
 * their sum is more than the report.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answer/report.h"
#include "store/tracefile.h"

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

/* Milliseconds of adding up all words of the stored columns. */
static double time_reading(const struct nl_trace *trace, uint64_t *sum)
{
    double start = now();
    for (unsigned c = 0; c < nl_column_count; c++) {
        const struct nl_column_def *column = &nl_columns[c];
        size_t words = (size_t)nl_trace_rows(trace, column->table) * column->size / sizeof *sum;
        const uint64_t *cells = nl_trace_column(trace, column);
        for (size_t i = 0; column->hop == NL_HOP_NONE && i < words; i++)
            *sum += cells[i];
    }
    return now() - start;
}

static double time_report(const struct nl_trace *trace, struct nl_job *job)
{
    struct nl_analyze_options options = {.fold = true};
    struct nl_err err = {0};
    double start = now();
    struct nl_report *report = nl_report_new(trace, "analyze", &options, job, &err);
    double took = now() - start;
    nl_report_free(report);
    return took;
}

static double time_findings(const struct nl_trace *trace)
{
    struct nl_err err = {0};
    double start = now();
    nl_findings_free(nl_findings_new(trace, &(struct nl_analyze_options){0}, NULL, &err));
    return now() - start;
}

static double time_part(const struct nl_trace *trace, const char *name)
{
    struct nl_analyze_options options = {.fold = true};
    struct nl_err err = {0};
    double start = now();
    nl_result_free(nl_analysis_run(nl_analysis_find(name), trace, &options, NULL, &err));
    return now() - start;
}

#define LEAST(times, expression)                                                                   \
    __extension__({                                                                                \
        double least = expression;                                                                 \
        for (unsigned nth = 1; nth < (times); nth++) {                                             \
            double again = expression;                                                             \
            least = again < least ? again : least;                                                 \
        }                                                                                          \
        least;                                                                                     \
    })

int main(int argc, char **argv)
{
    unsigned times = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
    struct nl_job job = {.threads = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 2};
    struct nl_err err = {0};
    uint64_t sum = 0;
    double start = now();
    struct nl_trace *trace = argc > 1 ? nl_trace_open(argv[1], false, job.threads, &err) : NULL;
    if (!trace)
        return 1;
    printf("%8.2f open\n", now() - start);
    if (argc > 4) {
        bool whole = !strcmp(argv[4], "report");
        double took = whole ? LEAST(times, time_report(trace, &job))
                            : LEAST(times, time_part(trace, argv[4]));
        printf("%8.2f %s\n", took, argv[4]);
        nl_trace_free(trace);
        return 0;
    }
    printf("%8.2f first report\n", time_report(trace, &job));
    double reading = LEAST(times, time_reading(trace, &sum));
    double whole = LEAST(times, time_report(trace, &job));
    printf("%8.2f report, %u threads; reading all columns %.2f (%llx); ratio %.2f\n", whole,
           job.threads, reading, (unsigned long long)sum, whole / reading);
    const struct nl_report_plan *plan = nl_report_plans;
    double all = LEAST(times, time_findings(trace));
    printf("%8.2f findings\n", all);
    for (size_t a = 0; plan->analyses[a]; a++) {
        double took = LEAST(times, time_part(trace, plan->analyses[a]));
        printf("%8.2f %s\n", took, plan->analyses[a]);
        all += took;
    }
    printf("%8.2f all parts\n", all);
    nl_trace_free(trace);
    return 0;
}
