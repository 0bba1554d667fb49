/*
 * cpu_hotspot — one function or operator has much of the time of the thread that works.
 *
 * Signal: of the account of a process without device work, rows that compute under one name take
 * over 40 % of wall. Ranges are not functions; waits and reads have separate causes. If no other
 * thread works meanwhile, this is where a second core would help. Saving: a quarter to three
 * quarters of it.
 */
#include "findings/bookcause.h"
#include "findings/cpunames.h"
#include "timeline/unseengpu.h"
#include "timeline/waitname.h"
#include "base/sum.h"

#define MIN_SHARE      0.40
#define CRITICAL_SHARE 0.80
#define MIN_COUNT      10 /* slices or samples in all: fewer are an example, not a profile */

static bool recorded_by(const struct nl_trace *trace, const char *const *tools)
{
    for (uint32_t i = 0; i < trace->source.rows; i++)
        for (const char *const *tool = tools; *tool; tool++)
            if (nl_str_starts(nl_trace_name(trace, trace->source.format[i]), *tool))
                return true;
    return false;
}

/* Where the program's own ranges are all that was recorded, they are its functions. Not those of a
 * GPU's profiler that left out the device: such a range may do nothing but wait for it. */
static bool only_ranges(const struct nl_trace *trace)
{
    static const char *const of_gpus[] = {"nsys", "rocprof", "roctx", "rpd", "nvprof", NULL};
    return !trace->op.rows && !trace->python.rows && !trace->sample.rows && !trace->call.rows &&
           !recorded_by(trace, of_gpus);
}

/* What to do depends on what the name is: a Python function, code of the machine, an address. */
static const char *advice(const struct nl_scene *scene, struct nl_str name)
{
    static const char *const python[] = {"pstats", "pyinstrument", "scalene", "viztracer", NULL};
    const struct nl_trace *trace = scene->trace;
    if (nl_str_starts(name, "0x"))
        return "cpu_hotspot:address";
    if (nl_is_builtin(name))
        return "cpu_hotspot:builtin";
    if (trace->python.rows || recorded_by(trace, python) || nl_str_contains(name, ".py"))
        return NULL;
    return trace->op.rows || trace->node.rows ? "cpu_hotspot:operator" : "cpu_hotspot:native";
}

static bool is_work(const struct nl_scene *scene, const struct nl_account_row *row)
{
    struct nl_str name = nl_account_name(scene->account, row->name);
    bool function = row->activity == NL_ACTIVITY_OP || row->activity == NL_ACTIVITY_PYTHON ||
                    row->activity == NL_ACTIVITY_LAYER || row->activity == NL_ACTIVITY_FUNCTION ||
                    (row->activity == NL_ACTIVITY_RANGE && only_ranges(scene->trace));
    return row->part == NL_BOOKED_COMPUTE && function && !nl_is_wait_name(name) &&
           !nl_is_file_io(scene->trace, name) && !nl_str_starts(name, "<module>") &&
           !nl_str_is(name, "[unknown]");
}

static bool any(const struct nl_scene *scene, const struct nl_account_row *row)
{
    (void)scene;
    return row->part == NL_BOOKED_COMPUTE;
}

/* Scalene samples lines: what the line's own calls into native code and the
 * system take is in its time. */
struct line {
    bool is;
    int64_t all, native; /* weights of samples */
};

static struct line line_weights(const struct nl_scene *scene, struct nl_str name)
{
    static const char *const by_line[] = {"scalene", NULL};
    const struct nl_trace *trace = scene->trace;
    struct line line = {.is = recorded_by(trace, by_line)};
    for (uint32_t row = 0; line.is && row < trace->sample.rows; row++) {
        uint32_t frame = trace->sample.stack[row];
        int64_t weight = trace->sample.weight[row];
        bool native = frame != NL_NULL_ROW &&
                      nl_str_is(nl_trace_name(trace, trace->stack.name[frame]), "[native]");
        bool part =
            native || (frame != NL_NULL_ROW &&
                       nl_str_is(nl_trace_name(trace, trace->stack.name[frame]), "[system]"));
        if (part)
            frame = trace->stack.parent[frame];
        if (frame == NL_NULL_ROW || weight <= 0 ||
            !nl_str_eq(nl_trace_name(trace, trace->stack.name[frame]), name))
            continue;
        nl_sum_add(&line.all, weight);
        nl_sum_add(&line.native, native ? weight : 0);
    }
    line.is &= line.all > 0;
    return line;
}

/* Sums per function may name the caller: the one for whom it worked longest. */
static void prove_caller(struct nl_scene *scene, struct nl_finding *finding, struct nl_str name)
{
    const struct nl_trace *trace = scene->trace;
    const struct nl_call_table *call = &trace->call;
    uint32_t most = NL_NULL_ROW;
    for (uint32_t row = 0; row < call->rows; row++)
        if (call->caller[row] != NL_NULL_ROW && call->stack[row] != NL_NULL_ROW &&
            call->self_ns[row] != NL_NULL_I64 &&
            nl_str_eq(nl_trace_name(trace, trace->stack.name[call->stack[row]]), name) &&
            (most == NL_NULL_ROW || call->self_ns[row] > call->self_ns[most]))
            most = row;
    if (most == NL_NULL_ROW || call->self_ns[most] <= 0)
        return;
    nl_prove(scene, finding,
             (struct nl_evidence){
                 .metric = "hotspot_caller_ns",
                 .query = nl_say(scene,
                                 "SELECT max(self_ns) FROM calls JOIN stacks ON stacks.id = "
                                 "calls.stack WHERE caller IS NOT NULL AND name = %s",
                                 nl_say_quoted(scene, name)),
                 .meaning = NL_MEANS_NS,
                 .value = (double)call->self_ns[most]},
             "%s of it for %s, which calls it most", nl_say_ns(scene, call->self_ns[most]),
             nl_booked_text(scene, trace->stack.name[call->caller[most]]));
}

static enum nl_verdict cpu_hotspot_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked_by_name work = nl_booked_by_name(scene, is_work);
    struct nl_booked all = nl_booked_sum(scene, any);
    if (!work.top || nl_scene_share(scene, work.top_ns) <= MIN_SHARE ||
        (uint64_t)scene->trace->slice.rows + scene->trace->sample.rows + scene->trace->call.rows <
            MIN_COUNT)
        return NL_CAUSE_ABSENT;
    if (scene->trace->op.rows && nl_gpu_is_unseen(scene->trace))
        return NL_CAUSE_ABSENT; /* its operators launch, and wait for what was not recorded */
    const char *name = nl_booked_text(scene, work.top);
    nl_find(scene, finding, work.top_ns, CRITICAL_SHARE, 1);
    finding->culprit = name;
    finding->saving_ns[0] = work.top_ns / 4;
    finding->saving_ns[1] = work.top_ns / 4 * 3;
    finding->modest = true;
    struct nl_str full = nl_account_name(scene->account, work.top);
    struct line line = line_weights(scene, full);
    double native = line.is ? (double)line.native / (double)line.all : 0;
    finding->remedies = native > 0.5 ? "cpu_hotspot:library" : advice(scene, full);
    nl_title(scene, finding,
             line.is ? "One thread spends %s of its time in the line %s"
                     : "One thread spends %s of its time in %s itself",
             nl_say_share(scene, finding->cost_share), name);
    nl_prove(
        scene, finding,
        (struct nl_evidence){.metric = "hotspot_ns",
                             .threshold = "> 40 % of wall",
                             .query = nl_booked_sql(scene, "sum(ns)",
                                                    nl_say(scene, "part = 'compute' AND name = %s",
                                                           nl_say_quoted(scene, full))),
                             .meaning = NL_MEANS_NS,
                             .value = (double)work.top_ns},
        "%s of %s in it, %s", nl_say_ns(scene, work.top_ns), nl_say_ns(scene, scene->wall_ns),
        line.is ? nl_say(scene, "%s of that in native code", nl_say_share(scene, native))
                : "without what it calls");
    prove_caller(scene, finding, full);
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "working_ns",
                                  .query = nl_booked_sql(scene, "sum(ns)", "part = 'compute'"),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)all.ns},
             "the thread works for %s; the rest it waits, or nothing was recorded",
             nl_say_ns(scene, all.ns));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_cpu_hotspot = {
    .id = "cpu_hotspot",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the self time of one function or operator is over 40 % of the time of the "
           "busy thread. Ranges (unless there is nothing else), waits and file reads do not count. "
           "Cost: its time; saving a quarter to three quarters.",
    .evaluate = cpu_hotspot_evaluate,
    .not_this_if = "the function is the program's purpose and runs at the speed of the processor "
                   "(neurolens roof measures it), or it is a library's kernel that uses all cores",
};
