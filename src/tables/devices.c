/*
 * devices — GPUs and other accelerators as the source describes them.
 */
#include "tables/answer.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"name", NULL, NL_MEANS_TEXT},
    {"vendor", NULL, NL_MEANS_TEXT},
    {"compute_capability", "cc", NL_MEANS_TEXT},
    {"sm_count", "SMs", NL_MEANS_INTEGER},
    {"memory_bytes", "memory", NL_MEANS_BYTES},
    {"bandwidth_bytes_per_s", "bandwidth", NL_MEANS_RATE},
    {"clock_hz", "clock", NL_MEANS_HERTZ},
    {"bus", NULL, NL_MEANS_TEXT},
    {"file", NULL, NL_MEANS_TEXT},
};

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)options;
    (void)job;
    (void)err;
    const struct nl_device_table *device = &trace->device;
    struct nl_result *result = NL_ANSWER_NEW("devices", NULL, columns);
    for (uint32_t row = 0; row < device->rows; row++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[0] = nl_cell_i64(device->rank[row]);
        cells[1] = nl_cell_i64(device->ordinal[row]);
        cells[2] = nl_answer_name(result, trace, device->name[row]);
        cells[3] = nl_answer_name(result, trace, device->vendor[row]);
        if (device->compute_major[row] != NL_NULL_U32)
            cells[4] = nl_answer_static(nl_arena_format(
                &result->arena, "%u.%u", device->compute_major[row],
                device->compute_minor[row] == NL_NULL_U32 ? 0 : device->compute_minor[row]));
        cells[5] = nl_answer_u32(device->sm_count[row]);
        cells[6] = nl_answer_count(device->memory_bytes[row]);
        if (device->bandwidth_bytes_per_s[row] != NL_NULL_U64)
            cells[7] = nl_cell_f64((double)device->bandwidth_bytes_per_s[row]);
        cells[8] = nl_answer_count(device->clock_hz[row]);
        cells[9] = nl_answer_name(result, trace, device->bus[row]);
        /* Which of several files; of one it goes without saying. */
        if (trace->source.rows > 1 && device->source[row] < trace->source.rows)
            cells[10] = nl_answer_name(result, trace, trace->source.file[device->source[row]]);
    }
    return result;
}

const struct nl_analysis nl_analysis_devices = {
    .name = "devices",
    .key = "devices",
    .title = "Devices",
    .needs = {{NL_T_device, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Every device the source describes, with what it tells about it.",
};
