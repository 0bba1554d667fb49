/*
 * devices — GPUs and other accelerators as the source describes them.
 */
#include "tables/resultcells.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(name, NULL, TEXT)                                                                            \
    C(vendor, NULL, TEXT)                                                                          \
    C(compute_capability, "cc", TEXT)                                                              \
    C(sm_count, "SMs", INTEGER)                                                                    \
    C(memory_bytes, "memory", BYTES)                                                               \
    C(bandwidth_bytes_per_s, "bandwidth", RATE)                                                    \
    C(clock_hz, "clock", HERTZ)                                                                    \
    C(bus, NULL, TEXT)                                                                             \
    C(file, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static struct nl_result *devices_run(const struct nl_trace *trace,
                                     const struct nl_analyze_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    const struct nl_device_table *device = &trace->device;
    struct nl_result *result = NL_ANSWER_NEW("devices", NULL, columns);
    for (uint32_t row = 0; row < device->rows; row++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(device->rank[row]);
        cells[AT_device] = nl_cell_i64(device->ordinal[row]);
        cells[AT_name] = nl_cell_name(result, trace, device->name[row]);
        cells[AT_vendor] = nl_cell_name(result, trace, device->vendor[row]);
        if (device->compute_major[row] != NL_NULL_U32)
            cells[AT_compute_capability] = nl_cell_static(nl_arena_format(
                &result->arena, "%u.%u", device->compute_major[row],
                device->compute_minor[row] == NL_NULL_U32 ? 0 : device->compute_minor[row]));
        cells[AT_sm_count] = nl_cell_u32(device->sm_count[row]);
        cells[AT_memory_bytes] = nl_cell_count(device->memory_bytes[row]);
        if (device->bandwidth_bytes_per_s[row] != NL_NULL_U64)
            cells[AT_bandwidth_bytes_per_s] =
                nl_cell_f64((double)device->bandwidth_bytes_per_s[row]);
        cells[AT_clock_hz] = nl_cell_count(device->clock_hz[row]);
        cells[AT_bus] = nl_cell_name(result, trace, device->bus[row]);
        /* Which of several files; of one it goes without saying. */
        if (trace->source.rows > 1 && device->source[row] < trace->source.rows)
            cells[AT_file] = nl_cell_name(result, trace, trace->source.file[device->source[row]]);
    }
    return result;
}

const struct nl_analysis nl_analysis_devices = {
    .name = "devices",
    .key = "devices",
    .title = "Devices",
    .needs = {{NL_T_device, NULL}},
    .need_count = 1,
    .run = devices_run,
    .doc = "Every device that the source describes, with the properties it gives.",
};
