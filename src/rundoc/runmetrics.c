/* Each metric is a function here and a row of metrics.def; one that needs another calls it. Only
 * what follows exactly from known inputs is given. */
#include <math.h>

#include "tables/lookup.h"
#include "tables/plainruns.h"
#include "tables/steptime.h"
#include "base/mem.h"
#include "base/search.h"
#include "rundoc/runparts.h"

/* A number, or NaN and what is not known. */
struct metric {
    double value;
    const char *missing;
};

static struct metric known_value(double value)
{
    return (struct metric){value, NULL};
}

static struct metric unknown(const char *missing)
{
    return (struct metric){NL_NULL_F64, missing};
}

static struct metric fact(const struct run_parts *parts, const char *key)
{
    double value = run_fact_number(&parts->facts, key);
    return isnan(value) ? unknown(key) : known_value(value);
}

static struct metric product(struct metric a, struct metric b)
{
    return a.missing ? a : b.missing ? b : known_value(a.value * b.value);
}

/* ---- devices ---- */

enum part { WALL, COMPUTE, EXPOSED_COMM, EXPOSED_COPY, IDLE, COMM, OVERLAP };

static double sum_of(const struct run_parts *parts, enum part part)
{
    double sum = 0;
    for (size_t i = 0; i < parts->device_count; i++) {
        const struct nl_device_breakdown *device = &parts->devices[i];
        const int64_t values[] = {
            device->wall_ns, device->compute_ns, device->exposed_comm_ns, device->exposed_copy_ns,
            device->idle_ns, device->comm_ns,    device->overlap_ns};
        sum += (double)values[part];
    }
    return sum;
}

/* Files with only durations of kernels say nothing about when work ran. */
static bool starts_are_unknown(const struct run_parts *parts)
{
    bool any = false;
    for (size_t i = 0; i < parts->device_count; i++)
        any |= parts->devices[i].starts_unknown;
    return any;
}

#define NO_STARTS "start times of kernels"

static struct metric share(const struct run_parts *parts, enum part part, enum part whole,
                           const char *missing)
{
    double all = sum_of(parts, whole);
    if (all > 0 && starts_are_unknown(parts))
        return unknown(NO_STARTS);
    return all > 0 ? known_value(sum_of(parts, part) / all) : unknown(missing);
}

static struct metric metric_wall_ns(const struct run_parts *parts)
{
    if (starts_are_unknown(parts))
        return unknown(NO_STARTS);
    return parts->device_count ? known_value(sum_of(parts, WALL)) : unknown("device work");
}

static struct metric metric_compute_share(const struct run_parts *parts)
{
    return share(parts, COMPUTE, WALL, "device work");
}

static struct metric metric_exposed_comm_share(const struct run_parts *parts)
{
    return share(parts, EXPOSED_COMM, WALL, "device work");
}

static struct metric metric_exposed_copy_share(const struct run_parts *parts)
{
    return share(parts, EXPOSED_COPY, WALL, "device work");
}

static struct metric metric_idle_share(const struct run_parts *parts)
{
    return share(parts, IDLE, WALL, "device work");
}

static struct metric metric_gpu_busy_share(const struct run_parts *parts)
{
    struct metric idle = metric_idle_share(parts);
    return idle.missing ? idle : known_value(1 - idle.value);
}

static struct metric metric_comm_overlap_share(const struct run_parts *parts)
{
    return share(parts, OVERLAP, COMM, "communication on devices");
}

static struct metric metric_kernel_count(const struct run_parts *parts)
{
    double count = 0;
    for (size_t i = 0; i < parts->device_count; i++)
        count += (double)parts->devices[i].kernels;
    return parts->device_count ? known_value(count) : unknown("device work");
}

/* ---- steps ---- */

/* Steady step of the group that holds the moment? Steps are in order of time and disjoint. */
static bool in_steady_step(const struct run_parts *parts, const struct nl_step_group *group,
                           int64_t ts)
{
    size_t low =
        NL_FIRST(i, group->first, group->first + group->count, parts->steps.items[i].end > ts);
    if (low == group->first + group->count)
        return false;
    const struct nl_found_step *step = &parts->steps.items[low];
    return step->start <= ts && step->phase == NL_STEP_STEADY;
}

static size_t steady_steps(const struct run_parts *parts, const struct nl_step_group *group)
{
    size_t count = 0;
    for (size_t i = group->first; i < group->first + group->count; i++)
        count += nl_step_is_steady(&parts->steps.items[i]);
    return count;
}

static struct metric metric_kernels_per_step(const struct run_parts *parts)
{
    const struct nl_trace *trace = parts->trace;
    double kernels = 0;
    size_t steps = 0;
    if (!trace->kernel.rows)
        return unknown("kernels");
    for (size_t g = 0; g < parts->steps.group_count; g++) {
        const struct nl_step_group *group = &parts->steps.groups[g];
        steps += steady_steps(parts, group);
        for (uint32_t row = 0; row < trace->kernel.rows; row++) {
            uint32_t slice = trace->kernel.slice[row];
            if (slice != NL_NULL_ROW && nl_slice_rank(trace, slice) == group->rank)
                kernels += in_steady_step(parts, group, trace->slice.ts[slice]);
        }
    }
    return steps ? known_value(kernels / (double)steps) : unknown("steady steps");
}

/* Takes the lengths. */
static struct metric mean_of(double *lengths, size_t count, const char *missing)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += lengths[i];
    nl_free(lengths);
    return count ? known_value(sum / (double)count) : unknown(missing);
}

/* Of several ranks a step is the mean of their n-th steps, as in rules of check. */
static struct metric mean_marked_step(const struct run_parts *parts)
{
    const struct nl_window everything = {0};
    size_t count;
    double *lengths = nl_step_lengths(&parts->steps, &everything, NULL, NULL, &count);
    return mean_of(lengths, count, "steady steps");
}

static struct metric metric_mean_step_ns(const struct run_parts *parts)
{
    size_t count;
    double *lengths = nl_plain_run_lengths(parts->trace, NULL, &count);
    return count ? mean_of(lengths, count, NULL) : mean_marked_step(parts);
}

static struct metric metric_profiled_step_ns(const struct run_parts *parts)
{
    size_t count;
    nl_free(nl_plain_runs(parts->trace, NULL, &count));
    return count ? mean_marked_step(parts) : unknown("runs without the profiler");
}

static struct metric metric_steps_per_s(const struct run_parts *parts)
{
    struct metric mean = metric_mean_step_ns(parts);
    return mean.value > 0 ? known_value(1e9 / mean.value) : unknown("steady steps");
}

static struct metric step_share(const struct run_parts *parts, enum nl_step_part part)
{
    double all = parts->step_parts[NL_PART_WALL];
    if (all > 0 && starts_are_unknown(parts))
        return unknown(NO_STARTS);
    return all > 0 ? known_value(parts->step_parts[part] / all)
                   : unknown("steady steps of devices");
}

static struct metric metric_step_compute_share(const struct run_parts *parts)
{
    return step_share(parts, NL_PART_COMPUTE);
}

static struct metric metric_step_exposed_comm_share(const struct run_parts *parts)
{
    return step_share(parts, NL_PART_COMM);
}

static struct metric metric_step_exposed_copy_share(const struct run_parts *parts)
{
    return step_share(parts, NL_PART_COPY);
}

static struct metric metric_step_idle_share(const struct run_parts *parts)
{
    return step_share(parts, NL_PART_IDLE);
}

static struct metric metric_samples_per_s(const struct run_parts *parts)
{
    return product(fact(parts, "workload.batch_size"), metric_steps_per_s(parts));
}

static struct metric metric_tokens_per_s(const struct run_parts *parts)
{
    return product(metric_samples_per_s(parts), fact(parts, "workload.sequence_length"));
}

/* ---- arithmetic ---- */

static struct metric metric_model_flops_per_s(const struct run_parts *parts)
{
    return product(fact(parts, "workload.model_flops_per_step"), metric_steps_per_s(parts));
}

static struct metric peak_of_precision(const struct run_parts *parts)
{
    char key[80];
    const char *precision = run_fact(&parts->facts, "workload.precision");
    if (!precision)
        return unknown("workload.precision");
    bool whole = strcmp(precision, "int8") == 0;
    snprintf(key, sizeof key, "hardware.peak_%s_%s_per_s", precision, whole ? "ops" : "flops");
    double peak = run_fact_number(&parts->facts, key);
    return isnan(peak) ? unknown("hardware.peak of that precision") : known_value(peak);
}

static struct metric metric_mfu(const struct run_parts *parts)
{
    struct metric done = metric_model_flops_per_s(parts);
    struct metric peak = product(fact(parts, "hardware.device_count"), peak_of_precision(parts));
    if (done.missing || peak.missing)
        return done.missing ? done : peak;
    return peak.value > 0 ? known_value(done.value / peak.value) : unknown("hardware.device_count");
}

static struct metric part_of(double part, double whole, const char *missing)
{
    return part == part && whole > 0 ? known_value(part / whole) : unknown(missing);
}

#define NO_PEAKS "shapes of operators, or the devices' peaks"

static struct metric metric_hfu(const struct run_parts *parts)
{
    return part_of(parts->work.hfu_s, parts->work.wall_s, NO_PEAKS);
}

static struct metric metric_operator_mfu(const struct run_parts *parts)
{
    return part_of(parts->work.mfu_s, parts->work.wall_s, NO_PEAKS);
}

static struct metric metric_achieved_flops_per_s(const struct run_parts *parts)
{
    return part_of(parts->work.flops, (double)parts->work.flops_ns / 1e9, "shapes of operators");
}

static struct metric metric_achieved_bytes_per_s(const struct run_parts *parts)
{
    return part_of(parts->work.bytes, (double)parts->work.bytes_ns / 1e9, "shapes of operators");
}

static struct metric metric_roof_share(const struct run_parts *parts)
{
    return part_of(parts->work.least_s, (double)parts->work.judged_ns / 1e9, NO_PEAKS);
}

static struct metric metric_headroom_share(const struct run_parts *parts)
{
    bool judged = parts->work.judged_ns > 0;
    return part_of(judged ? (double)parts->work.headroom_ns : NL_NULL_F64, (double)parts->work.ns,
                   NO_PEAKS);
}

static struct metric metric_op_flops(const struct run_parts *parts)
{
    const struct nl_op_table *op = &parts->trace->op;
    double sum = 0;
    bool told = false;
    for (uint32_t row = 0; row < op->rows; row++)
        if (op->flops[row] != NL_NULL_U64) {
            sum += (double)op->flops[row];
            told = true;
        }
    return told ? known_value(sum) : unknown("flops of operators");
}

static struct metric metric_copied_bytes(const struct run_parts *parts)
{
    const struct nl_copy_table *copy = &parts->trace->copy;
    double sum = 0;
    for (uint32_t row = 0; row < copy->rows; row++) {
        if (copy->bytes[row] == NL_NULL_U64)
            return unknown("bytes of all copies");
        sum += (double)copy->bytes[row];
    }
    return copy->rows ? known_value(sum) : unknown("copies");
}

static struct metric metric_peak_memory_bytes(const struct run_parts *parts)
{
    int64_t accelerators = NL_NULL_I64, any = NL_NULL_I64;
    for (size_t row = 0; row < parts->memory->rows; row++) {
        int64_t type = nl_lookup_i64(parts->memory, row, "device_type");
        int64_t value = nl_lookup_i64(parts->memory, row, "peak_allocated_bytes");
        if (type != NL_NULL_I64 && type != 0 && value > accelerators)
            accelerators = value;
        any = value > any ? value : any;
    }
    int64_t peak = accelerators != NL_NULL_I64 ? accelerators : any;
    return peak == NL_NULL_I64 ? unknown("totals of allocators") : known_value((double)peak);
}

/* ---- the table ---- */

static const struct {
    const char *name, *unit, *formula, *inputs, *source;
    struct metric (*compute)(const struct run_parts *parts);
} metrics[] = {
#define METRIC(name, unit, formula, inputs, source)                                                \
    {#name, unit, formula, inputs, source, metric_##name},
#include "rundoc/metrics.def"
#undef METRIC
};
#define METRIC_COUNT (sizeof metrics / sizeof metrics[0])

void run_write_metrics(struct run_parts *parts)
{
    nl_json_open(&parts->json, '[');
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        struct metric metric = metrics[i].compute(parts);
        run_row(parts);
        run_static(parts, "name", metrics[i].name);
        run_static(parts, "unit", metrics[i].unit);
        run_f64(parts, "value", metric.value);
        run_static(parts, "missing", metric.missing);
        run_row_end(parts);
    }
    nl_json_close(&parts->json, ']');
}

/* ---- docs/metrics.md ---- */

static void field_rows(struct nl_buf *out, const struct doc_node *node, const char *path)
{
    char types[64], inner[256];
    for (size_t i = 0; i < node->member_count; i++) {
        const struct doc_node *member = node->members[i].node;
        snprintf(inner, sizeof inner, "%s%s%s", path, path[0] ? "." : "", node->members[i].name);
        if (member->types & DOC_ARRAY && member->items)
            nl_buf_format(out, "| `%s[]` | %s | %s |\n", inner,
                          member->items->members ? "rows"
                                                 : doc_types_text(types, member->items->types),
                          member->description ? member->description : "");
        else
            nl_buf_format(out, "| `%s` | %s | %s |\n", inner,
                          member->choices ? "one of a list" : doc_types_text(types, member->types),
                          member->description ? member->description : "");
        if (member->members)
            field_rows(out, member, inner);
        if (member->items && member->items->members) {
            snprintf(inner, sizeof inner, "%s%s%s[]", path, path[0] ? "." : "",
                     node->members[i].name);
            field_rows(out, member->items, inner);
        }
    }
}

void nl_rundoc_document(struct nl_buf *out)
{
    struct doc_schema schema;
    doc_schema_open(&schema);
    nl_buf_text(
        out,
        "# Metrics and fields of the run document\n\n"
        "Made by `make docs` from `src/rundoc/metrics.def` and "
        "`schema/run.schema.json`. [src/rundoc](../src/rundoc/README.md) says how the document is "
        "made and used.\n\n"
        "## Derived metrics\n\n"
        "Rows of `metrics`. A value is null when an input is not known; `missing` then "
        "names it.\n\n"
        "| metric | unit | formula | inputs | source |\n|---|---|---|---|---|\n");
    for (size_t i = 0; i < METRIC_COUNT; i++)
        nl_buf_format(out, "| `%s` | %s | %s | %s | %s |\n", metrics[i].name, metrics[i].unit,
                      metrics[i].formula, metrics[i].inputs, metrics[i].source);
    nl_buf_text(out, "\n## Fields\n\n"
                     "Units stand in the names: `_ns` whole nanoseconds, `_bytes`, `_share` 0..1, "
                     "`_hz`, `_per_s`. \"or null\" means: null when it is not known.\n\n"
                     "Quantiles: of n values in ascending order the one at position p·(n - 1), "
                     "counted from 0, interpolated linearly between its two neighbours (numpy's "
                     "and Excel's default). `std` divides by n - 1. Steps count as steady when "
                     "they are not warm-up ([steps](steps.md)); metrics per step are of "
                     "steady ones.\n\n"
                     "| field | type | meaning |\n|---|---|---|\n");
    field_rows(out, schema.root, "");
    doc_schema_release(&schema);
}
