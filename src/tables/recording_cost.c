/*
 * recording_cost — what recording cost the program, of recordings by `run`: events, hooks
 * around what the program does, samples of the kernel's, starts of processes. Counts are
 * exact, what one costs was measured on that machine while it was recorded (derive/reccost.h),
 * so the sum is the least.
 */
#include <math.h>

#include "base/sum.h"
#include "base/units.h"
#include "derive/reccost.h"
#include "tables/resultcells.h"

#define COLUMNS(C)                                                                                 \
    C(part, NULL, TEXT)                                                                            \
    C(count, NULL, COUNT)                                                                          \
    C(each_ns, "each", NS)                                                                         \
    C(total_ns, "total", NS)                                                                       \
    C(share, "of processor time", SHARE)
NL_COLUMNS(COLUMNS);

/* Counts of a damaged recording may be beyond all numbers. */
static struct nl_cell whole(double value)
{
    return nl_cell_i64(value >= 0 && value < 9e18 ? nl_whole_i64(value) : NL_NULL_I64);
}

static struct nl_cell real(double value)
{
    return nl_cell_f64(isnan(value) ? NL_NULL_F64 : value);
}

static void put_cost_row(struct nl_result *result, const struct nl_reccost *cost, const char *part,
                         double count, double each_ns, double total_ns)
{
    if (!(count > 0 || total_ns > 0))
        return;
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_part] = nl_cell_static(part);
    cells[AT_count] = whole(count);
    cells[AT_each_ns] = real(each_ns);
    cells[AT_total_ns] = whole(total_ns);
    cells[AT_share] = real(cost->program_ns > 0 ? total_ns / cost->program_ns : NAN);
}

static struct nl_result *recording_cost_run(const struct nl_trace *trace,
                                            const struct nl_analyze_options *options,
                                            struct nl_job *job, struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("recording_cost", NULL, columns);
    struct nl_reccost cost;
    char total[NL_UNIT_TEXT], program[NL_UNIT_TEXT], share[NL_UNIT_TEXT];
    if (!nl_reccost(trace, &cost))
        return result;
    put_cost_row(result, &cost, "events", cost.events, cost.event_ns, cost.events * cost.event_ns);
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++) {
        const struct nl_reccost_hook *hook = &cost.hooks[i];
        const char *part = nl_arena_format(&result->arena, "hooks of %s", hook->what);
        put_cost_row(result, &cost, part, hook->count, hook->each_ns, hook->count * hook->each_ns);
    }
    put_cost_row(result, &cost, "installing Python's hooks", NAN, NAN, cost.python_ns);
    put_cost_row(result, &cost, "CPU samples by the kernel", NAN, NAN, cost.samples_ns);
    put_cost_row(result, &cost, "starts of processes", cost.starts, cost.start_ns,
                 cost.starts * cost.start_ns);
    put_cost_row(result, &cost, "reading records of GPU work", NAN, NAN, cost.gpu_ns);
    if (!isnan(cost.share) && cost.program_ns < 9e18)
        result->note = nl_arena_format(&result->arena,
                                       "at least %s of the program's %s of processor time (%s)",
                                       nl_format_ns(total, nl_whole_i64(cost.total_ns)),
                                       nl_format_ns(program, nl_whole_i64(cost.program_ns)),
                                       nl_format_percent(share, cost.share));
    return result;
}

const struct nl_analysis nl_analysis_recording_cost = {
    .name = "recording_cost",
    .key = "recording_cost",
    .title = "What recording cost the program",
    .run = recording_cost_run,
    .doc = "For recordings by `neurolens run`: events; hooks around layers, operators, tasks and "
           "functions (on top of their events); installing the Python hooks; kernel (perf) "
           "samples; process starts; reading records of GPU work. For each: how many, the cost of "
           "one as measured on that machine during the recording, and the share of the program's "
           "CPU time. These are lower bounds; an unknown cost was not measured.",
};
