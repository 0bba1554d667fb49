/*
 * api — runtime and driver calls by name, and the device work that they launched.
 */
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "timeline/groupstats.h"

#define COLUMNS(C)                                                                                 \
    C(name, "call", TEXT)                                                                          \
    NL_STATS_LIST(C)                                                                               \
    C(launched, NULL, COUNT)                                                                       \
    C(launched_ns, "device time", NS)
NL_COLUMNS(COLUMNS);

struct launched {
    uint64_t count;
    int64_t ns;
};

/* Adds the work of one side table to the calls (by name) that launched it. */
static void add_launched(struct launched *launched, const struct nl_scope *scope,
                         const uint32_t *slices, uint32_t rows)
{
    const struct nl_slice_table *table = &scope->trace->slice;
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t launch = table->link[slices[row]];
        int64_t length = nl_scope_length(scope, slices[row]);
        if (launch == NL_NULL_ROW || length < 0 || table->kind[launch] != NL_KIND_API)
            continue;
        launched[table->name[launch]].count++;
        nl_sum_add(&launched[table->name[launch]].ns, length);
    }
}

static struct nl_result *api_run(const struct nl_trace *trace,
                                 const struct nl_analyze_options *options, struct nl_job *job,
                                 struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    nl_scope_init(&scope, trace, &options->window);
    struct launched *launched = nl_zalloc((trace->names.count + 1) * sizeof *launched);
    add_launched(launched, &scope, trace->kernel.slice, trace->kernel.rows);
    add_launched(launched, &scope, trace->copy.slice, trace->copy.rows);
    add_launched(launched, &scope, trace->memset.slice, trace->memset.rows);
    add_launched(launched, &scope, trace->graph.slice, trace->graph.rows);
    const struct nl_window window = nl_analyze_host_window(options);
    size_t count;
    struct nl_group_stats *stats = nl_name_stats(trace, &window, NL_KIND_API, &count);
    struct nl_result *result = NL_ANSWER_NEW("api", NULL, columns);
    int64_t whole = 0;
    for (size_t i = 0; i < count; i++)
        nl_sum_add(&whole, stats[i].total_ns);
    for (size_t i = 0; i < count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_name(result, trace, stats[i].name);
        nl_cells_stats(&cells[AT_count], &stats[i], whole);
        cells[1 + NL_STATS_COUNT] = nl_cell_count(launched[stats[i].name].count);
        cells[2 + NL_STATS_COUNT] = nl_cell_i64(launched[stats[i].name].ns);
    }
    nl_result_settle(result, "total_ns");
    nl_free(stats);
    nl_free(launched);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_api = {
    .name = "api",
    .key = "api",
    .title = "CUDA/HIP calls by total time",
    .needs = {{NL_T_api, NULL}},
    .need_count = 1,
    .run = api_run,
    .doc = "Per function of the runtime or driver: statistics of time on the CPU, how many device "
           "operations its calls launched (several per call for graphs), and their time.",
};
