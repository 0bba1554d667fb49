/* Table functions on breakdown.h and attribution.h: where time goes, and to whom it belongs. */
#include <string.h>

#include "base/mem.h"
#include "timeline/attribution.h"
#include "timeline/breakdown.h"
#include "timeline/groupstats.h"
#include "sql/tablecells.h"

/* Kind named by an argument; false when there is no such kind. Not given: `missing`. */
static bool kind_argument(struct nl_tf_call *call, sqlite3_value *value, unsigned missing,
                          unsigned *kind)
{
    *kind = missing;
    if (!nl_argument_given(value))
        return true;
    const char *text = (const char *)sqlite3_value_text(value);
    int found = nl_enum_value(NL_ENUM_kind, text ? text : "", text ? strlen(text) : 0);
    if (found < 0) {
        sqlite3_snprintf(
            sizeof call->message, call->message,
            "\"%s\" is not a kind of slice; SELECT DISTINCT kind FROM slices lists them",
            text ? text : "");
        return false;
    }
    *kind = (unsigned)found;
    return true;
}

static void free_state(struct nl_tf_call *call)
{
    nl_free(call->state);
}

#define WINDOW_ARGUMENTS                                                                           \
    {"window_start", "INTEGER", "first ns to look at"},                                            \
        {"window_end", "INTEGER", "end of what to look at, not included"},                         \
        {"window_rank", "INTEGER", "only this rank"},

/* ---- time_breakdown ---- */

static bool open_breakdown(struct nl_tf_call *call, sqlite3_value **args)
{
    struct nl_window window = nl_argument_window(call, args, true);
    call->state = nl_time_breakdown(call->db->trace, &window, &call->rows);
    return true;
}

static void breakdown_column(const struct nl_tf_call *call, size_t row, int column,
                             sqlite3_context *context)
{
    const struct nl_device_breakdown shown =
        nl_breakdown_shown((const struct nl_device_breakdown *)call->state + row);
    const struct nl_device_breakdown *it = &shown;
    const int64_t values[] = {it->rank,
                              it->ordinal,
                              it->wall_ns,
                              it->compute_ns,
                              it->exposed_comm_ns,
                              it->exposed_copy_ns,
                              it->idle_ns,
                              it->start_ns - call->db->origin,
                              it->comm_ns,
                              it->copy_ns,
                              it->overlap_ns,
                              (int64_t)it->kernels,
                              (int64_t)it->copies,
                              (int64_t)it->memsets,
                              it->device == NL_NULL_ROW ? NL_NULL_I64 : (int64_t)it->device};
    nl_show_int(context, values[column]);
}

const struct nl_table_function nl_tf_time_breakdown = {
    .name = "time_breakdown",
    .signature = "time_breakdown(window_start, window_end, window_rank)",
    .doc = "Where each device's time goes, one row per device (and rank). wall is the end of its "
           "last work minus the start of its first; compute + exposed_comm + exposed_copy + idle = "
           "wall, exactly. Time under several kinds of work counts once: as compute, else as "
           "communication, else as copy (copies and memsets). Waits and annotations are not work. "
           "With a window, work is clipped to it. If a file has no kernel start times, wall, "
           "exposed, idle and overlap are NULL.",
    .example = "SELECT rank, device, idle_ns * 1.0 / wall_ns AS idle_share FROM time_breakdown",
    .columns =
        (const struct nl_tf_column[]){
            {"rank", "INTEGER", "rank, where only one used the device"},
            {"device", "INTEGER", "device number within its rank"},
            {"wall_ns", "INTEGER NS", "first start to last end of work"},
            {"compute_ns", "INTEGER NS", "some compute kernel ran"},
            {"exposed_comm_ns", "INTEGER NS", "communication ran and no compute"},
            {"exposed_copy_ns", "INTEGER NS", "copies or memsets ran and neither of the above"},
            {"idle_ns", "INTEGER NS", "nothing ran"},
            {"start_ns", "INTEGER NS", "start of the first work"},
            {"comm_ns", "INTEGER NS", "communication ran"},
            {"copy_ns", "INTEGER NS", "copies or memsets ran"},
            {"overlap_ns", "INTEGER NS", "communication and compute ran at once"},
            {"kernels", "INTEGER", "kernels"},
            {"copies", "INTEGER", "copies"},
            {"memsets", "INTEGER", "memsets"},
            {"device_id", "INTEGER", "id in devices"},
            {0}},
    .arguments = (const struct nl_tf_column[]){WINDOW_ARGUMENTS{0}},
    .listed = true,
    .open = open_breakdown,
    .column = breakdown_column,
    .close = free_state};

/* ---- kernel_summary and name_stats ---- */

static bool open_summary(struct nl_tf_call *call, sqlite3_value **args)
{
    struct nl_window window = nl_argument_window(call, args, true);
    call->state = nl_name_stats(call->db->trace, &window, NL_KIND_KERNEL, &call->rows);
    return true;
}

static bool open_name_stats(struct nl_tf_call *call, sqlite3_value **args)
{
    struct nl_window window = nl_argument_window(call, args + 1, true);
    unsigned kind;
    if (!kind_argument(call, args[0], 0, &kind))
        return false;
    call->state = nl_name_stats(call->db->trace, &window, kind, &call->rows);
    return true;
}

#define STATS_COLUMNS(C, P)                                                                        \
    C(P, name, "TEXT", "name")                                                                     \
    C(P, count, "INTEGER", "how many, of known duration")                                          \
    C(P, total_ns, "INTEGER NS", "sum of their durations")                                         \
    C(P, min_ns, "INTEGER NS", "shortest")                                                         \
    C(P, median_ns, "REAL", "median, in ns (interpolated)")                                        \
    C(P, p95_ns, "REAL", "95th percentile, in ns (interpolated)")                                  \
    C(P, max_ns, "INTEGER NS", "longest")                                                          \
    C(P, stddev_ns, "REAL", "sample standard deviation, NULL for one")                             \
    C(P, mean_ns, "REAL", "mean")
NL_TF_COLUMNS(stats_columns, STATS, STATS_COLUMNS);

static void stats_column(const struct nl_tf_call *call, size_t row, int column,
                         sqlite3_context *context)
{
    const struct nl_group_stats *it = (const struct nl_group_stats *)call->state + row;
    switch (column) {
    case STATS_name: nl_show_name(context, call, it->name); break;
    case STATS_count: nl_show_int(context, (int64_t)it->count); break;
    case STATS_total_ns: nl_show_int(context, it->total_ns); break;
    case STATS_min_ns: nl_show_int(context, it->min_ns); break;
    case STATS_median_ns: nl_show_real(context, it->median_ns); break;
    case STATS_p95_ns: nl_show_real(context, it->p95_ns); break;
    case STATS_max_ns: nl_show_int(context, it->max_ns); break;
    case STATS_stddev_ns: nl_show_real(context, it->stddev_ns); break;
    default: nl_show_real(context, it->mean_ns); break;
    }
}

const struct nl_table_function nl_tf_kernel_summary = {
    .name = "kernel_summary",
    .signature = "kernel_summary(window_start, window_end, window_rank)",
    .doc =
        "Statistics of kernels by name, longest total first. With a window: kernels that start in "
        "it, with its full duration.",
    .example = "SELECT name, count, total_ns FROM kernel_summary LIMIT 10",
    .columns = stats_columns,
    .arguments = (const struct nl_tf_column[]){WINDOW_ARGUMENTS{0}},
    .listed = true,
    .open = open_summary,
    .column = stats_column,
    .close = free_state};

const struct nl_table_function nl_tf_name_stats = {
    .name = "name_stats",
    .signature = "name_stats(of_kind, window_start, window_end, window_rank)",
    .doc = "Like kernel_summary for slices of any kind; of all kinds together without `of_kind`.",
    .example = "SELECT * FROM name_stats('api') LIMIT 10",
    .columns = stats_columns,
    .arguments =
        (const struct nl_tf_column[]){{"of_kind", "TEXT", "kind of slice, as in slices.kind"},
                                      WINDOW_ARGUMENTS{0}},
    .open = open_name_stats,
    .column = stats_column,
    .close = free_state};

/* ---- self_time ---- */

struct self {
    int64_t *self;
    uint32_t first;
    uint32_t *rows; /* those of the wanted kind; NULL = all */
};

static void close_self(struct nl_tf_call *call)
{
    struct self *state = call->state;
    nl_free(state->self);
    nl_free(state->rows);
    nl_free(state);
}

static bool open_self(struct nl_tf_call *call, sqlite3_value **args)
{
    const struct nl_trace *trace = call->db->trace;
    unsigned kind;
    uint32_t first = 0, last = trace->slice.rows;
    if (!kind_argument(call, args[0], 0, &kind))
        return false;
    if (nl_argument_given(args[1])) {
        int64_t lane = sqlite3_value_int64(args[1]);
        bool exists = lane >= 0 && lane < trace->lane.rows;
        first = exists ? trace->lane.first[lane] : 0;
        last = exists ? first + trace->lane.count[lane] : 0;
    }
    struct self *state = nl_zalloc(sizeof *state);
    state->self = nl_self_times(trace, first, last);
    state->first = first;
    call->state = state;
    call->rows = last - first;
    if (kind == 0)
        return true;
    state->rows = nl_alloc(((size_t)(last - first) + 1) * sizeof *state->rows);
    call->rows = 0;
    for (uint32_t row = first; row < last; row++)
        if (trace->slice.kind[row] == kind)
            state->rows[call->rows++] = row;
    return true;
}

static void self_column(const struct nl_tf_call *call, size_t row, int column,
                        sqlite3_context *context)
{
    const struct self *state = call->state;
    uint32_t slice = state->rows ? state->rows[row] : state->first + (uint32_t)row;
    if (column == 0)
        sqlite3_result_int64(context, slice);
    else if (column == 1)
        nl_show_int(context, state->self[slice - state->first]);
    else
        nl_show_name(context, call, call->db->trace->slice.name[slice]);
}

const struct nl_table_function nl_tf_self_time = {
    .name = "self_time",
    .signature = "self_time(of_kind, of_lane)",
    .doc = "Per slice the time that no direct child on its lane covers. Without arguments: all "
           "slices.",
    .example =
        "SELECT name, sum(self_ns) AS self FROM self_time('op') GROUP BY name ORDER BY self DESC",
    .columns =
        (const struct nl_tf_column[]){{"slice", "INTEGER", "id in slices"},
                                      {"self_ns", "INTEGER NS", "duration minus its children's"},
                                      {"name", "TEXT", "the slice's name"},
                                      {0}},
    .arguments =
        (const struct nl_tf_column[]){{"of_kind", "TEXT", "only slices of this kind"},
                                      {"of_lane", "INTEGER", "only this lane (id in lanes)"},
                                      {0}},
    .open = open_self,
    .column = self_column,
    .close = close_self};

/* ---- launch_ranges ---- */

static bool open_ranges(struct nl_tf_call *call, sqlite3_value **args)
{
    unsigned kind;
    if (!kind_argument(call, args[0], NL_KIND_NVTX, &kind))
        return false;
    call->state = nl_launch_ranges(call->db->trace, kind, &call->rows);
    return true;
}

static void ranges_column(const struct nl_tf_call *call, size_t row, int column,
                          sqlite3_context *context)
{
    const struct nl_launch_range *it = (const struct nl_launch_range *)call->state + row;
    if (column < 2)
        nl_show_row(context, column ? it->range : it->slice);
    else if (it->range != NL_NULL_ROW)
        nl_show_name(context, call, call->db->trace->slice.name[it->range]);
}

const struct nl_table_function nl_tf_launch_ranges = {
    .name = "launch_ranges",
    .signature = "launch_ranges(of_kind)",
    .doc =
        "Device work and the range of the program that launched it: the innermost slice of the "
        "given kind (nvtx when not given; or op, layer, python, …) that was open on the launching "
        "thread when the launch began. range_slice is NULL when there was none or the launch is "
        "not known.",
    .example = "SELECT range_name, sum(s.dur) FROM launch_ranges('nvtx') r JOIN slices s ON s.id = "
               "r.slice GROUP BY range_name",
    .columns = (const struct nl_tf_column[]){{"slice", "INTEGER", "device work (id in slices)"},
                                             {"range_slice", "INTEGER", "its range (id in slices)"},
                                             {"range_name", "TEXT", "the range's name"},
                                             {0}},
    .arguments = (const struct nl_tf_column[]){{"of_kind", "TEXT", "kind of the ranges"}, {0}},
    .open = open_ranges,
    .column = ranges_column,
    .close = free_state};
