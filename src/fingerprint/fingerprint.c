/* The parts of a fingerprint put together, and the peaks of the devices it is measured against. */
#include "fingerprint/fingerprint.h"

#include <math.h>

#include "tables/resultcells.h"
#include "base/mem.h"
#include "fingerprint/fingerprint_gather.h"

const struct nl_fingerprint_value_def nl_fingerprint_values[NL_FINGERPRINT_VALUES] = {
#define NL_FINGERPRINT_VALUE(id, column, heading, meaning, rule, doc)                              \
    {column, NL_MEANS_##meaning, NL_FINGERPRINT_##rule, doc},
#include "fingerprint/fingerprint.def"
#undef NL_FINGERPRINT_VALUE
};

const char *const nl_fingerprint_part_names[NL_FINGERPRINT_PARTS] = {"device", "op_device", "op",
                                                                     "layer"};

uint64_t nl_fingerprint_hash(struct nl_str text)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)text.ptr[i]) * 0x100000001b3u;
    return hash;
}

/* ---- devices ---- */

/* The first device of the one model which the trace describes; NL_NULL_ROW where it
 * describes none, or several. */
static uint32_t one_model(const struct nl_trace *trace)
{
    const uint32_t *names = trace->device.name;
    uint32_t first = NL_NULL_ROW;
    for (uint32_t row = 0; row < trace->device.rows; row++) {
        if (names[row] == NL_NO_NAME)
            continue;
        if (first != NL_NULL_ROW && names[row] != names[first])
            return NL_NULL_ROW;
        first = first == NL_NULL_ROW ? row : first;
    }
    return first;
}

/* The row that describes a device: its own, or that of the one model, where some tools number the
 * devices that worked otherwise. */
static uint32_t described(const struct nl_trace *trace, uint32_t device, uint32_t model)
{
    return trace->device.name[device] != NL_NO_NAME || model == NL_NULL_ROW ? device : model;
}

/* Those of data/gpus.yaml, else what the source says of the memory. */
static struct fingerprint_peaks peaks_of(const struct gpu_peaks *table,
                                         const struct nl_trace *trace, uint32_t device,
                                         struct nl_arena *arena, const char **source)
{
    struct fingerprint_peaks peaks;
    struct nl_str name = nl_trace_name(trace, trace->device.name[device]);
    const char *text = nl_arena_text(arena, name.ptr, name.len);
    uint32_t sms = trace->device.sm_count[device];
    uint64_t told = trace->device.bandwidth_bytes_per_s[device];
    const struct gpu_peak *row =
        gpu_peaks_find(table, text, sms == NL_NULL_U32 ? NL_NULL_F64 : sms);
    for (int i = 0; i < GPU_FIGURES; i++)
        peaks.figures[i] = NL_NULL_F64;
    for (size_t i = 0; row && i < row->count; i++)
        peaks.figures[row->figures[i].figure] = row->figures[i].value;
    *source = row ? nl_arena_text(arena, row->source, strlen(row->source)) : NULL;
    if (isnan(peaks.figures[GPU_MEMORY]) && told != NL_NULL_U64 && told > 0)
        peaks.figures[GPU_MEMORY] = (double)told;
    return peaks;
}

/* Devices that kernels ran on, when all have one name. */
static void find_common(struct fingerprint_gather *gather, uint32_t model, const char **sources,
                        struct nl_arena *arena)
{
    const struct nl_trace *trace = gather->trace;
    uint32_t first = NL_NULL_ROW;
    bool same = true;
    for (uint32_t row = 0; row < trace->kernel.rows && same; row++) {
        uint32_t slice = trace->kernel.slice[row];
        uint32_t device = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_device(trace, slice);
        if (device == NL_NULL_ROW)
            continue;
        first = first == NL_NULL_ROW ? device : first;
        uint32_t one = described(trace, device, model);
        uint32_t other = described(trace, first, model);
        same = trace->device.name[one] == trace->device.name[other] &&
               trace->device.sm_count[one] == trace->device.sm_count[other];
    }
    gather->common = &gather->unknown;
    if (first == NL_NULL_ROW || !same)
        return;
    struct nl_str name = nl_trace_name(trace, trace->device.name[described(trace, first, model)]);
    gather->common = &gather->peaks[first];
    gather->device_name = name.len ? nl_arena_text(arena, name.ptr, name.len) : NULL;
    gather->peak_source = sources[first];
}

void fingerprint_gather_init(struct fingerprint_gather *gather, const struct nl_trace *trace,
                             const struct nl_window *window, struct nl_memo *memo,
                             struct nl_arena *arena)
{
    struct gpu_peaks table;
    *gather = (struct fingerprint_gather){.trace = trace, .options = {.memo = memo}};
    if (window)
        gather->options.window = *window;
    struct nl_window host = nl_analyze_host_window(&gather->options);
    nl_scope_init(&gather->device, trace, &gather->options.window);
    nl_scope_init(&gather->host, trace, &host);
    for (int i = 0; i < GPU_FIGURES; i++)
        gather->unknown.figures[i] = NL_NULL_F64;
    gather->peaks = nl_alloc(((size_t)trace->device.rows + 1) * sizeof *gather->peaks);
    const char **sources = nl_zalloc(((size_t)trace->device.rows + 1) * sizeof *sources);
    if (trace->device.rows)
        gpu_peaks_init(&table);
    uint32_t model = one_model(trace);
    for (uint32_t i = 0; i < trace->device.rows; i++)
        gather->peaks[i] = peaks_of(&table, trace, described(trace, i, model), arena, &sources[i]);
    if (trace->device.rows)
        gpu_peaks_release(&table);
    find_common(gather, model, sources, arena);
    nl_free(sources);
    if (!gather->options.window.has_time)
        fingerprint_excluded_init(&gather->excluded, nl_memo_steps(memo));
}

void fingerprint_gather_release(struct fingerprint_gather *gather)
{
    nl_scope_release(&gather->device);
    nl_scope_release(&gather->host);
    nl_free(gather->peaks);
    fingerprint_excluded_release(&gather->excluded);
}

int64_t fingerprint_device_length(const struct fingerprint_gather *gather, uint32_t slice)
{
    int64_t ns = nl_scope_length(&gather->device, slice);
    return ns >= 0 && fingerprint_is_excluded(&gather->excluded, gather->trace, slice, true) ? -1
                                                                                             : ns;
}

int64_t fingerprint_host_length(const struct fingerprint_gather *gather, uint32_t slice)
{
    int64_t ns = nl_scope_length(&gather->host, slice);
    return ns >= 0 && fingerprint_is_excluded(&gather->excluded, gather->trace, slice, false) ? -1
                                                                                              : ns;
}

/* ---- the whole ---- */

static bool gather_all(struct nl_runfingerprint *print, struct fingerprint_gather *gather,
                       struct nl_job *job)
{
    struct fingerprint_tally tallies[NL_FINGERPRINT_PARTS];
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++)
        fingerprint_tally_init(&tallies[p]);
    fingerprint_gather_device(gather, &tallies[NL_FINGERPRINT_DEVICE]);
    if (!nl_job_cancelled(job))
        fingerprint_gather_ops(gather, &tallies[NL_FINGERPRINT_OP_DEVICE],
                               &tallies[NL_FINGERPRINT_OP]);
    if (!nl_job_cancelled(job))
        fingerprint_gather_layers(gather, &tallies[NL_FINGERPRINT_LAYER]);
    for (int p = 0; p < NL_FINGERPRINT_PARTS; p++) {
        fingerprint_tally_finish(&tallies[p], &print->parts[p], &print->arena);
        fingerprint_tally_release(&tallies[p]);
    }
    return !nl_job_cancelled(job);
}

struct nl_runfingerprint *nl_runfingerprint_new(const struct nl_trace *trace,
                                                const struct nl_window *window, struct nl_job *job,
                                                struct nl_err *err)
{
    struct nl_runfingerprint *print = nl_zalloc(sizeof *print);
    struct fingerprint_gather gather;
    struct nl_window whole = {0};
    struct nl_memo *memo = nl_memo_new(trace, window ? window : &whole);
    nl_arena_init(&print->arena);
    fingerprint_gather_init(&gather, trace, window, memo, &print->arena);
    bool done = gather_all(print, &gather, job);
    print->device = gather.device_name;
    print->peaks = gather.peak_source;
    print->excluded_steps = gather.excluded.steps;
    print->peak_bytes_per_s = gather.common->figures[GPU_MEMORY];
    fingerprint_gather_release(&gather);
    nl_memo_free(memo);
    if (done)
        return print;
    nl_runfingerprint_free(print);
    (void)nl_fail(err, NL_INTERRUPTED, "stopped on request");
    return NULL;
}

void nl_runfingerprint_free(struct nl_runfingerprint *print)
{
    if (!print)
        return;
    nl_arena_free(&print->arena);
    nl_free(print);
}
