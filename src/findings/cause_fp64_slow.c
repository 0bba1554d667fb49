/*
 * fp64_slow — double precision on a GPU that has hardly any units for it.
 *
 * Signal: kernels whose names say double (dgemm, d884, templates of double) take over 5 % of busy
 * time on a device that does 1/32 or 1/64 of FP32's rate in FP64: compute capability 5, 6.1, 7.5,
 * 8.6, 8.7, 8.9 and 12 (CUDA Programming Guide, throughput of native arithmetic instructions).
 * Mostly a float literal or a NumPy array that was never converted.
 */
#include <math.h>

#include "findings/bookcause.h"
#include "findings/kernelkinds.h"
#include "base/mem.h"
#include "base/sum.h"

#define WARN_SHARE     0.05
#define CRITICAL_SHARE 0.30

static const char *const marks[] = {"dgemm",   "d884",    "<double", ", double",
                                    "double2", "_dgemv_", "double*", "double *",
                                    "double,", "_f64_",   "float64"};

/* Kernels that wait for memory: 32 bits halve their bytes, and their rate of arithmetic
 * is not what limits them. */
static const char *const by_bytes[] = {"gemv", "dot",    "axpy", "scal",        "nrm2",
                                       "copy", "reduce", "Copy", "elementwise", "Reduc"};

static bool is_slow_capability(uint32_t major, uint32_t minor)
{
    return major == 5 || (major == 6 && minor >= 1) || (major == 7 && minor == 5) ||
           (major == 8 && minor >= 6) || major == 12;
}

/* How busy the unit for FP64 was, and the busiest other unit or memory, where a kernel profiler
 * measured that of a kernel: per measurement, 0..1, NAN unknown. */
struct units {
    double *fp64, *others;
};

static void raise(double *most, double value)
{
    if (!(value <= *most))
        *most = value;
}

static struct units find_units(const struct nl_trace *trace)
{
    const struct nl_metric_table *metric = &trace->metric;
    size_t rows = (size_t)trace->measurement.rows + 1;
    struct units units = {nl_alloc(rows * sizeof(double)), nl_alloc(rows * sizeof(double))};
    for (size_t i = 0; i < rows; i++)
        units.fp64[i] = units.others[i] = NL_NULL_F64;
    for (uint32_t row = 0; row < metric->rows; row++) {
        struct nl_str name = nl_trace_name(trace, metric->name[row]);
        uint32_t of = metric->measurement[row];
        if (of == NL_NULL_ROW || isnan(metric->value[row]) ||
            !nl_str_contains(name, ".pct_of_peak"))
            continue;
        if (nl_str_contains(name, "pipe_fp64_cycles_active"))
            raise(&units.fp64[of], metric->value[row] / 100);
        else if (nl_str_contains(name, "_pipe_"))
            raise(&units.others[of], metric->value[row] / 100);
    }
    for (uint32_t of = 0; of < trace->measurement.rows; of++)
        if (!isnan(trace->measurement.memory_throughput[of]))
            raise(&units.others[of], trace->measurement.memory_throughput[of]);
    return units;
}

static void free_units(struct units *units)
{
    nl_free(units->fp64);
    nl_free(units->others);
}

/* The part of a kernel's time that FP32 can save at most: 31/32 of arithmetic, half of what
 * waits for memory. Where it was measured, no more than the unit for FP64 was busy, nor than
 * what no other unit needs. */
static double most_of(const struct nl_trace *trace, uint32_t kernel, bool by_bytes_alone,
                      const struct units *units)
{
    uint32_t of = trace->kernel.measurement[kernel];
    double most = by_bytes_alone ? 0.5 : 31.0 / 32;
    if (of == NL_NULL_ROW || isnan(units->fp64[of]))
        return most;
    double busy = units->fp64[of], left = isnan(units->others[of]) ? 1 : 1 - units->others[of];
    most = busy < most ? busy : most;
    most = left < most ? left : most;
    return most > 0 ? most : 0;
}

static enum nl_verdict fp64_slow_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t device = scene->device->device;
    struct nl_evidence longest = {0};
    int64_t cost = 0;
    double most = 0; /* ns that can be saved */
    uint64_t count = 0;
    if (device == NL_NULL_ROW || trace->device.compute_major[device] == NL_NULL_U32)
        return nl_abstain(finding, "the device's compute capability was not recorded");
    if (!is_slow_capability(trace->device.compute_major[device],
                            trace->device.compute_minor[device]))
        return NL_CAUSE_ABSENT;
    uint8_t *marked = nl_marks_names(trace, NL_MARKS(marks));
    struct units units = find_units(trace);
    for (size_t i = 0; i < scene->kernel_count; i++) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        if (!marked[trace->slice.name[slice]])
            continue;
        nl_sum_add(&cost, trace->slice.dur[slice]);
        bool waits =
            nl_marks_in(NL_MARKS(by_bytes), nl_trace_name(trace, trace->slice.name[slice]));
        most += (double)trace->slice.dur[slice] * most_of(trace, scene->kernels[i], waits, &units);
        nl_intervals_add(&finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
        nl_example_slice(scene, &longest, slice);
        count++;
    }
    nl_free(marked);
    free_units(&units);
    nl_intervals_normalise(&finding->where);
    int64_t busy = nl_kind_busy(scene), claimed = nl_intervals_length(&finding->where);
    if (busy <= 0 || (double)claimed <= WARN_SHARE * (double)busy)
        return NL_CAUSE_ABSENT;
    const char *from = nl_say(scene, "FROM kernels WHERE %s AND %s",
                              nl_marks_sql(scene, "name", NL_MARKS(marks)), nl_scene_on(scene, ""));
    nl_find(scene, finding, claimed, CRITICAL_SHARE, 1);
    if (cost > 0) /* kernels may overlap: `claimed` counts such time once */
        finding->saving_ns[1] = nl_sum_near((double)claimed * (most / (double)cost));
    if (finding->saving_ns[0] > finding->saving_ns[1])
        finding->saving_ns[0] = finding->saving_ns[1];
    nl_title(scene, finding,
             "Double precision on a GPU that has 1/32 of the FP32 rate for it: %s of %s on %s",
             nl_say_ns(scene, cost), nl_say_ns(scene, busy), nl_scene_name(scene));
    longest.metric = "fp64_kernel_ns";
    longest.threshold = "> 5 % of busy time";
    longest.query = nl_say(scene, "SELECT sum(dur) %s", from);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)cost;
    nl_prove(scene, finding, longest, "%s in kernels on doubles, compute capability %u.%u",
             nl_say_ns(scene, cost), trace->device.compute_major[device],
             trace->device.compute_minor[device]);
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "fp64_kernels",
                                  .query = nl_say(scene, "SELECT count(*) %s", from),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)count},
             "%s such kernels", nl_say_count(scene, count));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_fp64_slow = {
    .id = "fp64_slow",
    .doc = "Kernels that work on doubles, by their names, take more than 5 % of busy time on a "
           "device whose FP64 rate is at most 1/32 of its FP32 rate (compute capability 5, 6.1, "
           "7.5, 8.6 to 8.9, 12: CUDA Programming Guide). Saving: up to 31/32 of their time, or "
           "half where the name says that the kernel is memory-bound (gemv, dot, elementwise, "
           "reductions); where a kernel profiler measured it, at most the time the FP64 unit was "
           "busy, and at most the time the busiest other unit was not.",
    .needs = {{NL_T_device, "compute_major"}},
    .need_count = 1,
    .evaluate = fp64_slow_evaluate,
    .not_this_if = "the device is made for FP64 (V100, A100, H100: another compute capability), or "
                   "the results need double precision",
};
