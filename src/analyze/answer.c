/* answer — see answer.h. */
#include "analyze/answer.h"

#include "query/quantile.h"

struct nl_cell nl_answer_static(const char *text)
{
    if (!text)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return (struct nl_cell){.type = NL_CELL_TEXT, .text = nl_str(text)};
}

struct nl_cell nl_answer_name(struct nl_result *result, const struct nl_trace *trace, uint32_t id)
{
    if (id == NL_NO_NAME)
        return (struct nl_cell){.type = NL_CELL_NULL};
    return nl_cell_text(result, nl_trace_name(trace, id));
}

struct nl_cell nl_answer_enum(enum nl_enum_id id, unsigned value)
{
    return nl_answer_static(nl_enum_text(id, value));
}

struct nl_cell nl_answer_count(uint64_t value)
{
    return nl_cell_i64(value == NL_NULL_U64 ? NL_NULL_I64 : (int64_t)value);
}

struct nl_cell nl_answer_u32(uint32_t value)
{
    return nl_cell_i64(value == NL_NULL_U32 ? NL_NULL_I64 : (int64_t)value);
}

struct nl_cell nl_answer_share(int64_t part, int64_t whole)
{
    return nl_cell_f64(whole ? (double)part / (double)whole : NL_NULL_F64);
}

void nl_answer_stats(struct nl_cell *cells, const struct nl_group_stats *stats, int64_t whole)
{
    cells[0] = nl_answer_count(stats->count);
    cells[1] = nl_cell_i64(stats->total_ns);
    cells[2] = nl_answer_share(stats->total_ns, whole);
    cells[3] = nl_cell_i64(stats->min_ns);
    cells[4] = nl_cell_f64(stats->median_ns);
    cells[5] = nl_cell_f64(stats->p95_ns);
    cells[6] = nl_cell_i64(stats->max_ns);
    cells[7] = nl_cell_f64(stats->stddev_ns);
}

struct nl_cell nl_answer_percentile(const int64_t *sorted, size_t count, unsigned percent)
{
    return nl_cell_f64(nl_quantile_sorted(sorted, nl_quantile_at(count, percent)));
}

struct nl_window nl_answer_host_window(const struct nl_analyze_options *options)
{
    struct nl_window window = options->window;
    window.has_device = false;
    return window;
}
