/* Table functions on idletime.h: the gaps of devices, and idle time by what the host did. */
#include "base/mem.h"
#include "timeline/idletime.h"
#include "sql/tablecells.h"

struct idle_rows {
    struct nl_idle *idle;
    uint32_t *device_of; /* per row */
};

static void close_idle(struct nl_tf_call *call)
{
    struct idle_rows *state = call->state;
    nl_idle_free(state->idle);
    nl_free(state->device_of);
    nl_free(state);
}

static void open_idle(struct nl_tf_call *call, sqlite3_value **args, bool sums)
{
    struct nl_window window = nl_argument_window(call, args, false);
    struct idle_rows *state = nl_zalloc(sizeof *state);
    state->idle = nl_idle_new(call->db->trace, &window);
    const struct nl_idle *idle = state->idle;
    call->rows = sums ? idle->sum_count : idle->gap_count;
    state->device_of = nl_alloc((call->rows + 1) * sizeof *state->device_of);
    for (uint32_t i = 0; i < idle->device_count; i++) {
        const struct nl_idle_device *device = &idle->devices[i];
        size_t first = sums ? device->first_sum : device->first_gap;
        size_t count = sums ? device->sums : device->gaps;
        for (size_t row = first; row < first + count; row++)
            state->device_of[row] = i;
    }
    call->state = state;
}

static bool open_gaps(struct nl_tf_call *call, sqlite3_value **args)
{
    open_idle(call, args, false);
    return true;
}

static bool open_causes(struct nl_tf_call *call, sqlite3_value **args)
{
    open_idle(call, args, true);
    return true;
}

#define GAP_COLUMNS(C, P)                                                                          \
    C(P, rank, "INTEGER", "rank, where only one used the device")                                  \
    C(P, device, "INTEGER", "device number within its rank")                                       \
    C(P, ts, "INTEGER NS", "start: the work before it has ended")                                  \
    C(P, dur, "INTEGER NS", "duration")                                                            \
    C(P, class, "TEXT", "host_late, dependency, launch_latency, queued or unknown")                \
    C(P, activity, "TEXT", "what the launching thread did most")                                   \
    C(P, activity_name, "TEXT", "name of that operator, call, function or range")                  \
    C(P, activity_ns, "INTEGER NS", "for how long")                                                \
    C(P, before, "INTEGER", "work that ended last (id in slices)")                                 \
    C(P, after, "INTEGER", "work that ends the gap (id in slices)")                                \
    C(P, launch, "INTEGER", "its launch (id in slices)")                                           \
    C(P, sync, "INTEGER", "blocking call that was open when the gap began (id in slices)")         \
    C(P, sync_ns, "INTEGER NS", "of the gap, after that call had returned")                        \
    C(P, thread, "TEXT", "who did activity: launching, or other, a thread it waited for")
NL_TF_COLUMNS(gap_columns, GAP, GAP_COLUMNS);

static void gap_column(const struct nl_tf_call *call, size_t row, int column,
                       sqlite3_context *context)
{
    const struct idle_rows *state = call->state;
    const struct nl_idle_gap *gap = &state->idle->gaps[row];
    const struct nl_idle_device *device = &state->idle->devices[state->device_of[row]];
    switch (column) {
    case GAP_rank: nl_show_int(context, device->rank); break;
    case GAP_device: nl_show_int(context, device->ordinal); break;
    case GAP_ts: nl_show_int(context, gap->start - call->db->origin); break;
    case GAP_dur: nl_show_int(context, gap->end - gap->start); break;
    case GAP_class:
        nl_show_text(context, nl_idle_class_name((enum nl_idle_class)gap->class));
        break;
    case GAP_activity:
        nl_show_text(context, nl_activity_name((enum nl_activity)gap->activity));
        break;
    case GAP_activity_name: nl_show_name(context, call, gap->name); break;
    case GAP_activity_ns: nl_show_int(context, gap->activity_ns); break;
    case GAP_before: nl_show_row(context, gap->before); break;
    case GAP_after: nl_show_row(context, gap->after); break;
    case GAP_launch: nl_show_row(context, gap->launch); break;
    case GAP_sync: nl_show_row(context, gap->sync); break;
    case GAP_thread:
        nl_show_text(context, nl_idle_thread_name(gap->activity, gap->elsewhere));
        break;
    default: nl_show_int(context, nl_idle_sync_cost(call->db->trace, gap)); break;
    }
}

#define CAUSE_COLUMNS(C, P)                                                                        \
    C(P, rank, "INTEGER", "rank, where only one used the device")                                  \
    C(P, device, "INTEGER", "device number within its rank")                                       \
    C(P, class, "TEXT", "host_late, dependency, launch_latency, queued, unknown or short")         \
    C(P, activity, "TEXT",                                                                         \
      "operator, python, synchronisation, off-CPU (waiting), nothing recorded, …")                 \
    C(P, name, "TEXT", "name of the operator, call, function or range")                            \
    C(P, gaps, "INTEGER", "gaps in which it occurs")                                               \
    C(P, total_ns, "INTEGER NS", "idle time spent so")                                             \
    C(P, thread, "TEXT", "who did it: launching, or other, a thread it waited for")
NL_TF_COLUMNS(cause_columns, CAUSE, CAUSE_COLUMNS);

static void cause_column(const struct nl_tf_call *call, size_t row, int column,
                         sqlite3_context *context)
{
    const struct idle_rows *state = call->state;
    const struct nl_idle_sum *sum = &state->idle->sums[row];
    const struct nl_idle_device *device = &state->idle->devices[state->device_of[row]];
    switch (column) {
    case CAUSE_rank: nl_show_int(context, device->rank); break;
    case CAUSE_device: nl_show_int(context, device->ordinal); break;
    case CAUSE_class:
        nl_show_text(context, nl_idle_class_name((enum nl_idle_class)sum->class));
        break;
    case CAUSE_activity:
        nl_show_text(context, nl_activity_name((enum nl_activity)sum->activity));
        break;
    case CAUSE_name: nl_show_name(context, call, sum->name); break;
    case CAUSE_gaps: nl_show_int(context, (int64_t)sum->gaps); break;
    case CAUSE_thread:
        nl_show_text(context, nl_idle_thread_name(sum->activity, sum->elsewhere));
        break;
    default: nl_show_int(context, sum->total_ns); break;
    }
}

static const struct nl_tf_column time_arguments[] = {
    {"window_start", "INTEGER", "first ns to look at"},
    {"window_end", "INTEGER", "end of what to look at, not included"},
    {0}};

const struct nl_table_function nl_tf_idle_gaps = {
    .name = "idle_gaps",
    .signature = "idle_gaps(window_start, window_end)",
    .doc = "Stretches of at least 1 µs without any work on a device, between its first and last "
           "work. class: host_late (the launch of the work after the gap began inside the gap), "
           "dependency (launched before, its stream had to wait for an event), launch_latency "
           "(launched before, no wait known, up to 30 µs), queued (the same, but longer), unknown "
           "(its "
           "launch was not recorded). activity and activity_name: what the launching thread, or "
           "one that it waited for, did for the largest "
           "part of the gap.",
    .example = "SELECT class, count(*), sum(dur) FROM idle_gaps GROUP BY class",
    .columns = gap_columns,
    .arguments = time_arguments,
    .listed = true,
    .open = open_gaps,
    .column = gap_column,
    .close = close_idle};

const struct nl_table_function nl_tf_idle_causes = {
    .name = "idle_causes",
    .signature = "idle_causes(window_start, window_end)",
    .doc = "Idle time of each device, divided exactly by class of gap and by what the launching "
           "thread, or one that it waited for, did, gaps under 1 µs (class short) included: adds "
           "up to idle_ns of "
           "time_breakdown.",
    .example = "SELECT activity, sum(total_ns) FROM idle_causes GROUP BY 1 ORDER BY 2 DESC",
    .columns = cause_columns,
    .arguments = time_arguments,
    .listed = true,
    .open = open_causes,
    .column = cause_column,
    .close = close_idle};
