/*
 * osrt — calls into the operating system's libraries (pthread, file, poll, ...) by name.
 */
#include "tables/resultcells.h"
#include "base/sum.h"
#include "timeline/groupstats.h"

#define COLUMNS(C)                                                                                 \
    C(name, "call", TEXT)                                                                          \
    NL_STATS_LIST(C)
NL_COLUMNS(COLUMNS);

static struct nl_result *osrt_run(const struct nl_trace *trace,
                                  const struct nl_analyze_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_window window = nl_analyze_host_window(options);
    size_t count;
    struct nl_group_stats *stats = nl_name_stats(trace, &window, NL_KIND_OSRT, &count);
    struct nl_result *result = NL_ANSWER_NEW("osrt", NULL, columns);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        nl_sum_add(&whole, stats[i].total_ns);
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_name(result, trace, stats[i].name);
        nl_cells_stats(&cells[AT_count], &stats[i], whole);
    }
    nl_result_settle(result, "total_ns");
    nl_free(stats);
    return result;
}

const struct nl_analysis nl_analysis_osrt = {
    .name = "osrt",
    .key = "osrt",
    .title = "Operating system calls by total time",
    .need_count = 0,
    .run = osrt_run,
    .doc = "Per function of the operating system's libraries: statistics of time. Most of it is "
           "waiting by design.",
};
