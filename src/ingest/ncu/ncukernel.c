/*
 * Kernels of Nsight Compute with their metrics, whatever page they came from. Metrics wait in
 * `pending` until the kernel is whole, because its length is one of them.
 */
#include "ingest/ncu/ncu.h"

#include <string.h>

#include "base/mem.h"

/* Metrics that are columns, too; the second name is how the details page calls it. */
enum fact {
    NO_FACT,
    DURATION,
    REGISTERS,
    STATIC_SHARED,
    DYNAMIC_SHARED,
    OCCUPANCY,
    CODE,
    DEVICE_INDEX,
    DEVICE_NAME,
    DEVICE_MAJOR,
    DEVICE_MINOR,
    DEVICE_SMS,
    DEVICE_WARP,
    DEVICE_MEMORY,
    DEVICE_THREADS
};
static const struct {
    const char *name;
    enum fact fact;
} facts[] = {
    {"gpu__time_duration.sum", DURATION},
    {"Duration", DURATION},
    {"launch__registers_per_thread", REGISTERS},
    {"Registers Per Thread", REGISTERS},
    {"launch__shared_mem_per_block_static", STATIC_SHARED},
    {"Static Shared Memory Per Block", STATIC_SHARED},
    {"launch__shared_mem_per_block_dynamic", DYNAMIC_SHARED},
    {"Dynamic Shared Memory Per Block", DYNAMIC_SHARED},
    {"sm__warps_active.avg.pct_of_peak_sustained_active", OCCUPANCY},
    {"Achieved Occupancy", OCCUPANCY},
    {"launch__function_pcs", CODE},
    {"device__attribute_device_index", DEVICE_INDEX},
    {"device__attribute_display_name", DEVICE_NAME},
    {"device__attribute_compute_capability_major", DEVICE_MAJOR},
    {"device__attribute_compute_capability_minor", DEVICE_MINOR},
    {"device__attribute_multiprocessor_count", DEVICE_SMS},
    {"device__attribute_warp_size", DEVICE_WARP},
    {"device__attribute_total_memory", DEVICE_MEMORY},
    {"device__attribute_max_threads_per_multiprocessor", DEVICE_THREADS},
};

static void forget(struct ncu_load *load)
{
    load->count = 0;
    load->dur = load->device_index = load->code = NL_NULL_I64;
    load->facts = nl_kernel_row();
    load->device = nl_device_row();
}

void ncu_begin(struct ncu_load *load, struct nl_builder *builder, uint32_t source,
               struct nl_job *job)
{
    *load = (struct ncu_load){
        .builder = builder, .stage = nl_stage_new(builder), .job = job, .source = source};
    nl_stage_begin(load->stage, source, 0);
    forget(load);
}

struct ncu_name ncu_name(struct ncu_load *load, struct nl_str text)
{
    struct ncu_name name = {.id = nl_stage_name(load->stage, text), .fact = NO_FACT};
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++)
        if (nl_str_is(text, facts[i].name))
            name.fact = facts[i].fact;
    return name;
}

static uint32_t small(int64_t whole)
{
    return whole >= 0 && whole < UINT32_MAX ? (uint32_t)whole : NL_NULL_U32;
}

static void keep_device_fact(struct ncu_load *load, uint32_t fact, const struct ncu_value *value)
{
    struct nl_device_row *device = &load->device;
    switch (fact) {
    case DEVICE_MAJOR: device->compute_major = small(value->whole); break;
    case DEVICE_MINOR: device->compute_minor = small(value->whole); break;
    case DEVICE_SMS: device->sm_count = small(value->whole); break;
    case DEVICE_WARP: device->warp_size = small(value->whole); break;
    case DEVICE_THREADS: device->max_warps_per_sm = small(value->whole / 32); break;
    case DEVICE_MEMORY:
        if (value->whole > 0)
            device->memory_bytes = (uint64_t)value->whole;
        break;
    default: break;
    }
}

static void keep_fact(struct ncu_load *load, uint32_t fact, const struct ncu_value *value)
{
    if (fact == DEVICE_NAME && value->kind == NCU_TEXT)
        load->device.name = nl_builder_name(load->builder, value->text);
    if (value->kind != NCU_NUMBER)
        return;
    switch (fact) {
    case DURATION:
        if (load->dur == NL_NULL_I64 && value->whole >= 0)
            load->dur = value->whole;
        break;
    case REGISTERS: load->facts.registers = small(value->whole); break;
    case STATIC_SHARED: load->facts.static_shared_bytes = small(value->whole); break;
    case DYNAMIC_SHARED: load->facts.dynamic_shared_bytes = small(value->whole); break;
    case CODE: load->code = value->whole > 0 ? value->whole : NL_NULL_I64; break;
    case DEVICE_INDEX: load->device_index = value->whole; break;
    case OCCUPANCY: /* passes of a replay differ: 100.4 % of the warps were active */
        load->facts.occupancy = value->number > 100 ? 1 : value->number / 100;
        break;
    default: keep_device_fact(load, fact, value); break;
    }
}

void ncu_metric(struct ncu_load *load, struct ncu_name name, uint32_t unit, uint32_t section,
                const struct ncu_value *value)
{
    if (nl_builder_over_budget(load->builder))
        return;
    struct nl_metric_row row = nl_metric_row();
    row.name = name.id;
    row.unit = unit;
    row.section = section;
    if (value->kind == NCU_NUMBER)
        row.value = value->number;
    if (value->text.len)
        row.text = nl_stage_name(load->stage, value->text);
    load->without_value += value->kind == NCU_NO_DATA;
    if (name.fact != NO_FACT)
        keep_fact(load, name.fact, value);
    nl_grow(&load->pending, &load->cap, load->count + 1);
    load->pending[load->count++] = row;
}

void ncu_instance(struct ncu_load *load, const struct ncu_value *key, const struct ncu_value *value)
{
    struct nl_instance_row row = nl_instance_row();
    if (key->kind == NCU_NUMBER)
        row.number = key->whole;
    else if (key->text.len)
        row.key = nl_stage_name(load->stage, key->text);
    if (value->kind == NCU_NUMBER)
        row.value = value->number;
    if (value->text.len)
        row.text = nl_stage_name(load->stage, value->text);
    if (row.key | row.text)
        ncu_instances_row(&load->instances, &row);
    else
        ncu_instances_number(&load->instances, row.number, row.value);
}

void ncu_instances_done(struct ncu_load *load, struct ncu_name name)
{
    if (nl_builder_over_budget(load->builder))
        ncu_instances_drop(&load->instances);
    else
        ncu_instances_end(&load->instances, name.id);
}

static void stage_instances(struct ncu_load *load, const struct ncu_kernel *kernel, uint32_t slice)
{
    struct ncu_code code = {.first = load->code, .lines = kernel->lines};
    if (kernel->lines)
        code.function = cubinlines_find(kernel->lines, kernel->code, kernel->mangled);
    code.programs = kernel->programs;
    if (kernel->programs)
        code.body = cubincode_find(kernel->programs, kernel->code, kernel->mangled);
    ncu_instances_stage(&load->instances, load->stage, slice, &code);
}

/* Fills what is known now and was not before. */
void ncu_device_done(struct ncu_load *load, int64_t ordinal)
{
    uint32_t device = nl_builder_device(load->builder, load->source, ordinal, ordinal);
    struct nl_device_row *row = nl_builder_device_row(load->builder, device);
    const struct nl_device_row *from = &load->device;
    row->vendor = nl_builder_name(load->builder, nl_str("nvidia"));
    if (from->name != NL_NO_NAME)
        row->name = from->name;
    if (from->compute_major != NL_NULL_U32)
        row->compute_major = from->compute_major;
    if (from->compute_minor != NL_NULL_U32)
        row->compute_minor = from->compute_minor;
    if (from->sm_count != NL_NULL_U32)
        row->sm_count = from->sm_count;
    if (from->warp_size != NL_NULL_U32)
        row->warp_size = from->warp_size;
    if (from->max_warps_per_sm != NL_NULL_U32)
        row->max_warps_per_sm = from->max_warps_per_sm;
    if (from->memory_bytes != NL_NULL_U64)
        row->memory_bytes = from->memory_bytes;
    load->device = nl_device_row();
}

void ncu_device_attribute(struct ncu_load *load, struct nl_str name, const struct ncu_value *value)
{
    struct ncu_name known = ncu_name(load, name);
    if (known.fact >= DEVICE_NAME)
        keep_fact(load, known.fact, value);
}

static uint32_t lane_of(struct ncu_load *load, const struct ncu_kernel *kernel)
{
    struct nl_lane_key key = {.kind = NL_LANE_STREAM,
                              .process =
                                  nl_builder_process(load->builder, load->source, kernel->pid),
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = kernel->context,
                              .stream = kernel->stream};
    if (kernel->process_name.len)
        nl_builder_process_name(load->builder, key.process, kernel->process_name);
    if (kernel->device != NL_NULL_I64) {
        key.device = nl_builder_device(load->builder, load->source, kernel->device, kernel->device);
        ncu_device_done(load, kernel->device);
    }
    return nl_builder_lane(load->builder, &key);
}

void ncu_kernel(struct ncu_load *load, const struct ncu_kernel *kernel)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.kind = NL_KIND_KERNEL;
    slice.lane = lane_of(load, kernel);
    slice.name = nl_stage_name(load->stage, kernel->name);
    slice.ts = load->next_ts;
    slice.dur = load->dur == NL_NULL_I64 ? 0 : load->dur;
    load->without_duration += load->dur == NL_NULL_I64;
    if (load->dur == NL_NULL_I64)
        slice.flags |= NL_SLICE_INSTANT;
    if (slice.dur < INT64_MAX / 4 - load->next_ts)
        load->next_ts += slice.dur;
    struct nl_kernel_row row = load->facts;
    row.slice = nl_stage_slice(load->stage, &slice);
    row.grid_x = kernel->grid[0], row.grid_y = kernel->grid[1], row.grid_z = kernel->grid[2];
    row.block_x = kernel->block[0], row.block_y = kernel->block[1], row.block_z = kernel->block[2];
    if (kernel->short_name.len)
        row.short_name = nl_stage_name(load->stage, kernel->short_name);
    nl_stage_kernel(load->stage, &row);
    for (size_t i = 0; i < load->count; i++) {
        load->pending[i].slice = row.slice;
        nl_stage_metric(load->stage, &load->pending[i]);
    }
    stage_instances(load, kernel, row.slice);
    load->kernels++;
    forget(load);
}

void ncu_end(struct ncu_load *load)
{
    struct nl_builder *builder = load->builder;
    nl_builder_coverage(
        builder, load->source, NL_COVERS_NO_STARTS, load->kernels,
        "each kernel was replayed alone; kernels are placed end to end in report order");
    if (load->without_duration)
        nl_builder_coverage(builder, load->source, "not recorded: length of kernels",
                            load->without_duration,
                            "collect gpu__time_duration.sum, or the section SpeedOfLight");
    if (load->without_value)
        nl_builder_coverage(builder, load->source, "metrics without a value", load->without_value,
                            "the profiler had no data (n/a)");
    nl_free(load->pending);
    load->pending = NULL;
    ncu_instances_release(&load->instances);
}
