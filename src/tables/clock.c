/*
 * clock — do the clocks of CPU and devices fit? Cause and effect per device (store/clockcheck.h), and the
 * error that the recorder tells of its own clock beside the median kernel.
 */
#include "tables/answer.h"
#include "tables/clockerror.h"
#include "tables/memo.h"
#include "base/sort.h"
#include "store/clockcheck.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"launches", NULL, NL_MEANS_COUNT},
    {"early", "before launch", NL_MEANS_COUNT},
    {"worst_early_ns", "by up to", NL_MEANS_NS},
    {"waits", NULL, NL_MEANS_COUNT},
    {"late", "after wait", NL_MEANS_COUNT},
    {"worst_late_ns", "by up to", NL_MEANS_NS},
    {"least_ns", "offset from", NL_MEANS_NS},
    {"most_ns", "offset to", NL_MEANS_NS},
    {"shift_ns", "repaired by", NL_MEANS_NS},
    {"drift", NULL, NL_MEANS_NUMBER},
    {"error_ns", "clock error", NL_MEANS_NS},
    {"median_kernel_ns", "median kernel", NL_MEANS_NS},
};

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
    nl_sort_i64(lengths, count);
    struct nl_cell cell = count ? nl_cell_i64(lengths[(count - 1) / 2]) : nl_cell_i64(NL_NULL_I64);
    nl_free(lengths);
    return cell;
}

static int64_t bound_or_null(int64_t value)
{
    return value == INT64_MIN || value == INT64_MAX ? NL_NULL_I64 : value;
}

static void add_row(struct nl_result *result, const struct nl_trace *trace,
                    const struct nl_clock_check *check)
{
    uint32_t device = check->device;
    struct nl_cell *cells = nl_result_row(result);
    if (device != NL_NULL_ROW) {
        cells[0] = nl_cell_i64(trace->device.rank[device]);
        cells[1] = nl_cell_i64(trace->device.ordinal[device]);
    }
    cells[2] = nl_answer_count(check->launches);
    cells[3] = nl_answer_count(check->early);
    cells[4] = nl_cell_i64(check->early ? check->worst_early : NL_NULL_I64);
    cells[5] = nl_answer_count(check->waits);
    cells[6] = nl_answer_count(check->late);
    cells[7] = nl_cell_i64(check->late ? check->worst_late : NL_NULL_I64);
    cells[8] = nl_cell_i64(bound_or_null(check->least));
    cells[9] = nl_cell_i64(bound_or_null(check->most));
    if (check->early || check->late)
        cells[10] = nl_cell_i64(check->shift);
    if (check->drift != 0)
        cells[11] = nl_cell_f64(check->drift);
    cells[12] = nl_cell_i64(nl_clock_error(trace, check->source));
    cells[13] = median_kernel(trace, device);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("clock", NULL, columns);
    const struct nl_clock_checks *checks = nl_memo_clocks(options->memo);
    for (size_t i = 0; i < checks->count; i++)
        add_row(result, trace, &checks->items[i]);
    return result;
}

const struct nl_analysis nl_analysis_clock = {
    .name = "clock",
    .key = "clock",
    .title = "Clocks of CPU and devices",
    .needs = {{NL_T_api, NULL}, {NL_T_kernel, "correlation"}},
    .need_count = 2,
    .run = run,
    .doc =
        "Per device: starts compared with the begin of their launch and how many lie before it; "
        "ends "
        "compared with the return of a wait for their stream or context (or of a synchronous copy "
        "to "
        "the host) and how many lie behind it; by how much at worst. What could be added to the "
        "device's times without breaking either lies between least_ns and most_ns; shift_ns is the "
        "least that repairs what is broken, null where no single number does (drift where a "
        "changing "
        "one does). Nothing is moved. error_ns: what the recorder tells of its own clocks. Windows "
        "do not apply.",
};
