/* What a format has no place for: a row per bit, and how its rows are counted. */
#include "export/absent.h"

#include "export/tableview.h"

static const struct {
    unsigned bit;
    enum nl_table_id table;
    const char *what;
} tables[] = {
    {NL_LACKS_SLICES, NL_T_slice, "slices one by one: the file has sums"},
    {NL_LACKS_FLOWS, NL_T_flow, "flows other than launches"},
    {NL_LACKS_COUNTERS, NL_T_counter, "values of counters"},
    {NL_LACKS_MEMORY, NL_T_memory, "allocations"},
    {NL_LACKS_SAMPLES, NL_T_sample, "samples of call stacks (--to folded and pprof have them)"},
    {NL_LACKS_SLICESTACKS, NL_T_slicestack, "call stacks of slices"},
    {NL_LACKS_METRICS, NL_T_metric, "hardware metrics of kernels"},
    {NL_LACKS_CALLS, NL_T_call, "sums of function calls"},
    {NL_LACKS_SHAPES, NL_T_op, "shapes and types of operators"},
    {NL_LACKS_SIZES, NL_T_collective, "sizes of collectives"},
};

static bool on_device(const struct nl_trace *trace, uint32_t slice)
{
    return trace->lane.device[trace->slice.lane[slice]] != NL_NULL_ROW;
}

static bool on_thread(const struct nl_trace *trace, uint32_t slice)
{
    return !on_device(trace, slice);
}

static bool has_detail(const struct nl_trace *trace, uint32_t slice)
{
    return trace->slice.detail[slice] != NL_NULL_ROW;
}

static bool was_launched(const struct nl_trace *trace, uint32_t slice)
{
    return trace->slice.link[slice] != NL_NULL_ROW && on_device(trace, slice);
}

static const struct {
    unsigned bit;
    bool (*holds)(const struct nl_trace *trace, uint32_t slice);
    const char *what;
} properties[] = {
    {NL_LACKS_HOST, on_thread, "slices of threads, but for the names of those that launched work"},
    {NL_LACKS_DETAILS, has_detail, "slices' grids, bytes, shapes and other arguments"},
    {NL_LACKS_LINKS, was_launched, "links from launches to their work"},
};

void nl_export_count_absent(struct nl_export *export, unsigned lacks)
{
    const struct nl_trace *trace = export->trace;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (lacks & tables[i].bit)
            nl_export_lost(export, nl_table_view_count(export, tables[i].table), tables[i].what);
    for (size_t i = 0; i < sizeof properties / sizeof properties[0]; i++) {
        uint64_t count = 0;
        for (uint32_t slice = 0; lacks & properties[i].bit && slice < trace->slice.rows; slice++)
            count += properties[i].holds(trace, slice) && nl_export_picks(export, slice);
        nl_export_lost(export, count, properties[i].what);
    }
}
