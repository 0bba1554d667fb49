/*
 * clock — do the clocks of CPU and devices fit? Cause and effect per device (derive/clockcheck.h),
 * and the clock error that the recorder reports, next to the median kernel.
 */
#include "tables/resultcells.h"
#include "tables/clockerror.h"
#include "tables/memo.h"
#include "base/median.h"
#include "derive/clockcheck.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(launches, NULL, COUNT)                                                                       \
    C(early, "before launch", COUNT)                                                               \
    C(worst_early_ns, "by up to", NS)                                                              \
    C(waits, NULL, COUNT)                                                                          \
    C(late, "after wait", COUNT)                                                                   \
    C(worst_late_ns, "by up to", NS)                                                               \
    C(least_ns, "offset from", NS)                                                                 \
    C(most_ns, "offset to", NS)                                                                    \
    C(shift_ns, "repaired by", NS)                                                                 \
    C(drift, NULL, NUMBER)                                                                         \
    C(error_ns, "clock error", NS)                                                                 \
    C(median_kernel_ns, "median kernel", NS)
NL_COLUMNS(COLUMNS);

/* Median length of a device's kernels (the lower of the middle two); NULL without kernels. */
static struct nl_cell median_kernel(const struct nl_trace *trace, uint32_t device)
{
    int64_t *lengths = nl_alloc(((size_t)trace->kernel.rows + 1) * sizeof *lengths);
    size_t count = 0;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        if (slice != NL_NULL_ROW && nl_slice_device(trace, slice) == device)
            lengths[count++] = trace->slice.dur[slice];
    }
    struct nl_cell cell = nl_cell_i64(count ? nl_median_lower(lengths, count) : NL_NULL_I64);
    nl_free(lengths);
    return cell;
}

static int64_t bound_or_null(int64_t value)
{
    return value == INT64_MIN || value == INT64_MAX ? NL_NULL_I64 : value;
}

static void clock_add_row(struct nl_result *result, const struct nl_trace *trace,
                          const struct nl_clock_check *check)
{
    uint32_t device = check->device;
    struct nl_cell *cells = nl_result_row(result);
    if (device != NL_NULL_ROW) {
        cells[AT_rank] = nl_cell_i64(trace->device.rank[device]);
        cells[AT_device] = nl_cell_i64(trace->device.ordinal[device]);
    }
    cells[AT_launches] = nl_cell_count(check->launches);
    cells[AT_early] = nl_cell_count(check->early);
    cells[AT_worst_early_ns] = nl_cell_i64(check->early ? check->worst_early : NL_NULL_I64);
    cells[AT_waits] = nl_cell_count(check->waits);
    cells[AT_late] = nl_cell_count(check->late);
    cells[AT_worst_late_ns] = nl_cell_i64(check->late ? check->worst_late : NL_NULL_I64);
    cells[AT_least_ns] = nl_cell_i64(bound_or_null(check->least));
    cells[AT_most_ns] = nl_cell_i64(bound_or_null(check->most));
    if (check->early || check->late)
        cells[AT_shift_ns] = nl_cell_i64(check->shift);
    if (check->drift != 0)
        cells[AT_drift] = nl_cell_f64(check->drift);
    cells[AT_error_ns] = nl_cell_i64(nl_clock_error(trace, check->source));
    cells[AT_median_kernel_ns] = median_kernel(trace, device);
}

static struct nl_result *clock_run(const struct nl_trace *trace,
                                   const struct nl_analyze_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("clock", NULL, columns);
    const struct nl_clock_checks *checks = nl_memo_clocks(options->memo);
    for (size_t i = 0; i < checks->count; i++)
        clock_add_row(result, trace, &checks->items[i]);
    return result;
}

const struct nl_analysis nl_analysis_clock = {
    .name = "clock",
    .key = "clock",
    .title = "Clocks of CPU and devices",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .run = clock_run,
    .doc =
        "Per device: how many operations start before their launch call begins, how many end after "
        "a wait for their stream or context (or a synchronous copy to the host) has returned, and "
        "by how much at worst. An offset between least_ns and most_ns could be added to the "
        "device's times without breaking either rule; shift_ns is the smallest that repairs what "
        "is broken, null if no constant does (drift: a linear one does). No times are changed. "
        "error_ns: the clock error that the profiler reports. Windows do not apply.",
};
