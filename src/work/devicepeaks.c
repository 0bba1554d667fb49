/*
 * devicepeaks — see devicepeaks.h. Estimates: dense operations per multiprocessor and clock of a
 * compute capability, as NVIDIA's and AMD's architecture papers give them and as the table of xprof
 * has them. They meet the data sheets: H100 132 · 1.83 GHz · 4096 = 989·10^12 in FP16.
 */
#include "work/devicepeaks.h"

#include <math.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/mem.h"

static const struct architecture {
    const char *vendor; /* "amd", or NULL: NVIDIA */
    uint32_t major, minor;
    double half, single; /* operations per multiprocessor and clock: FP16 products, FP32 */
    double boost_hz;     /* if the clock is not given: that of its largest product */
    bool bf16, tf32;
} architectures[] = {
    {NULL, 7, 0, 1024, 128, 1.53e9, false, false}, {NULL, 7, 5, 1024, 128, 1.59e9, false, false},
    {NULL, 8, 0, 2048, 128, 1.41e9, true, true},   {NULL, 8, 6, 1024, 256, 1.695e9, true, true},
    {NULL, 8, 9, 1024, 256, 2.52e9, true, true},   {NULL, 9, 0, 4096, 256, 1.83e9, true, true},
    {NULL, 10, 0, 8192, 256, 1.85e9, true, true},  {NULL, 10, 3, 8192, 256, 1.85e9, true, true},
    {NULL, 12, 0, 1024, 256, 2.4e9, true, true},   {"amd", 9, 0, 1024, 256, 1.7e9, true, false},
    {"amd", 9, 4, 2048, 256, 2.1e9, true, true},   {"amd", 9, 5, 4096, 256, 2.4e9, true, false},
};

struct held {
    struct nl_arena arena;
    struct nl_device_peaks peaks[]; /* after the arena, so that one pointer frees both */
};

static bool is_amd(const struct nl_trace *trace, uint32_t device)
{
    struct nl_str vendor = nl_trace_name(trace, trace->device.vendor[device]);
    struct nl_str name = nl_trace_name(trace, trace->device.name[device]);
    return nl_str_find_nocase(vendor, "amd") >= 0 || nl_str_find_nocase(name, "instinct") >= 0 ||
           nl_str_find_nocase(name, "radeon") >= 0;
}

/* Matrix units of GeForce products accumulate in FP32, as frameworks do, at half the rate of the
 * same chips in others (NVIDIA's whitepapers of Turing, GA102 and Ada state both). */
static bool is_geforce(const struct nl_trace *trace, uint32_t device)
{
    return nl_str_find_nocase(nl_trace_name(trace, trace->device.name[device]), "geforce") >= 0;
}

static const struct architecture *architecture_of(const struct nl_trace *trace, uint32_t device)
{
    uint32_t major = trace->device.compute_major[device];
    uint32_t minor = trace->device.compute_minor[device];
    bool amd = is_amd(trace, device) || (major == 9 && minor > 0 && minor != NL_NULL_U32);
    for (size_t i = 0; i < sizeof architectures / sizeof architectures[0]; i++)
        if (architectures[i].major == major && architectures[i].minor == minor &&
            (architectures[i].vendor != NULL) == amd)
            return &architectures[i];
    return NULL;
}

/* Recorders report 2 · memory clock · bus width. HIP states the clock of HBM3 so that this is half
 * of what the chip has: 2.66 TB/s for MI300X (data sheet: 5.3), 4.1 TB/s for MI355X (8.0); for
 * MI210 it is right. */
static double told_bandwidth(const struct nl_trace *trace, uint32_t device)
{
    const struct architecture *a = architecture_of(trace, device);
    bool hbm3 = a && a->vendor && (a->minor == 4 || a->minor == 5);
    return (hbm3 ? 2 : 1) * (double)trace->device.bandwidth_bytes_per_s[device];
}

static void estimate(struct nl_device_peaks *peaks, const struct nl_trace *trace, uint32_t device,
                     struct nl_arena *arena)
{
    const struct architecture *a = architecture_of(trace, device);
    uint32_t sms = trace->device.sm_count[device];
    uint64_t told = trace->device.clock_hz[device];
    if (!a || sms == NL_NULL_U32 || !sms)
        return;
    double clock = told != NL_NULL_U64 && told > 0 ? (double)told : a->boost_hz;
    peaks->figures[GPU_FP16] = sms * clock * a->half / (is_geforce(trace, device) ? 2 : 1);
    if (isnan(peaks->figures[GPU_FP32]))
        peaks->figures[GPU_FP32] = sms * clock * a->single;
    if (a->bf16)
        peaks->figures[GPU_BF16] = peaks->figures[GPU_FP16];
    if (a->tf32)
        peaks->figures[GPU_TF32] = peaks->figures[GPU_FP16] / 2;
    peaks->estimated = peaks->known = true;
    peaks->source = nl_arena_format(
        arena,
        "estimated: %u multiprocessors × %.0f MHz%s × operations per clock of compute "
        "capability %u.%u",
        sms, clock / 1e6, told != NL_NULL_U64 && told > 0 ? "" : " (usual boost clock)", a->major,
        a->minor);
}

/* A device without a product that is known, by its capability, multiprocessors and memory. */
static void recognise(struct nl_device_peaks *peaks, struct gpu_peaks *table,
                      const struct nl_trace *trace, uint32_t device, struct nl_arena *arena)
{
    const struct nl_device_table *d = &trace->device;
    struct gpu_likeness like;
    if (d->sm_count[device] == NL_NULL_U32 || d->memory_bytes[device] == NL_NULL_U64 ||
        d->compute_major[device] == NL_NULL_U32 || d->compute_minor[device] == NL_NULL_U32)
        return;
    const struct gpu_chip chip = {.major = d->compute_major[device],
                                  .minor = d->compute_minor[device],
                                  .multiprocessors = d->sm_count[device],
                                  .memory_gib =
                                      (double)d->memory_bytes[device] / (double)(1 << 30)};
    if (!gpu_peaks_recognise(table, &chip, &like))
        return;
    memcpy(peaks->figures, like.figures, sizeof like.figures);
    peaks->known = true;
    if (!peaks->product)
        peaks->product = nl_arena_text(arena, like.products, strlen(like.products));
    peaks->source = nl_arena_format(
        arena, "recognised as %s by %.0f multiprocessors, capability %.0f.%.0f and %.0f GiB; %s",
        like.products, chip.multiprocessors, chip.major, chip.minor, chip.memory_gib, like.source);
}

static void find_peaks(struct nl_device_peaks *peaks, struct gpu_peaks *table,
                       const struct nl_trace *trace, uint32_t device, struct nl_arena *arena)
{
    uint32_t sms = trace->device.sm_count[device];
    uint64_t told = trace->device.bandwidth_bytes_per_s[device];
    struct nl_str name = nl_trace_name(trace, trace->device.name[device]);
    for (size_t i = 0; i < GPU_FIGURES; i++)
        peaks->figures[i] = NL_NULL_F64;
    peaks->product = name.len ? nl_arena_text(arena, name.ptr, name.len) : NULL;
    const struct gpu_peak *row =
        name.len ? gpu_peaks_find(table, peaks->product, sms == NL_NULL_U32 ? NL_NULL_F64 : sms)
                 : NULL;
    for (size_t i = 0; row && i < row->count; i++)
        peaks->figures[row->figures[i].figure] = row->figures[i].value;
    if (row) {
        peaks->known = true;
        peaks->source = nl_arena_text(arena, row->source, strlen(row->source));
    } else {
        recognise(peaks, table, trace, device, arena);
        if (told != NL_NULL_U64 &&
            told > 0) /* what the profile says of the device beats its likeness */
            peaks->figures[GPU_MEMORY] = NL_NULL_F64;
    }
    if (isnan(peaks->figures[GPU_FP16]) && isnan(peaks->figures[GPU_BF16]))
        estimate(peaks, trace, device, arena);
    if (isnan(peaks->figures[GPU_MEMORY]) && told != NL_NULL_U64 && told > 0) {
        peaks->figures[GPU_MEMORY] = told_bandwidth(trace, device);
        peaks->known = true;
    }
}

/* ---- what was measured ---- */

static const struct {
    const char *type;
    enum gpu_figure figure;
} measured_types[] = {{"fp64", GPU_FP64}, {"fp32", GPU_FP32}, {"tf32", GPU_TF32},
                      {"fp16", GPU_FP16}, {"bf16", GPU_BF16}, {"fp8", GPU_FP8},
                      {"int8", GPU_INT8}, {"fp4", GPU_FP4}};

/* A product of GPUs as makers and drivers write it: "NVIDIA H100 80GB HBM3". Without one
 * there is nothing to compare. */
static bool is_product(const struct nl_host_roof *roof, const char *product)
{
    return product && roof->device[0] && strcasecmp(roof->device, product) == 0;
}

/* The largest of what was measured becomes the figure: with fewer threads, or next to other
 * programs, it is less. */
static void lift(double *figure, double value, bool replace)
{
    if (!isnan(value) && (replace || isnan(*figure) || value > *figure))
        *figure = value;
}

/* Of the rows of that product, or of the processors; most of each figure. */
static const struct nl_host_roof *take_measured(struct nl_device_peaks *peaks,
                                                const struct nl_host_roofs *roofs,
                                                const char *product, bool processors)
{
    double found[GPU_FIGURES];
    const struct nl_host_roof *last = NULL;
    for (size_t i = 0; i < GPU_FIGURES; i++)
        found[i] = NL_NULL_F64;
    for (size_t i = 0; roofs && i < roofs->count; i++) {
        const struct nl_host_roof *roof = &roofs->items[i];
        if (processors ? roof->device[0] != '\0' : !is_product(roof, product))
            continue;
        lift(&found[GPU_MEMORY], roof->bytes_per_s, false);
        for (size_t t = 0; t < sizeof measured_types / sizeof measured_types[0]; t++)
            if (strcmp(roof->type, measured_types[t].type) == 0)
                lift(&found[measured_types[t].figure], roof->flops_per_s, false);
        if (!last || roof->threads > last->threads)
            last = roof;
    }
    for (size_t i = 0; i < GPU_FIGURES; i++)
        lift(&peaks->figures[i], found[i], true);
    return last;
}

/* "2026-08-01" */
static const char *day_of(int64_t ns, struct nl_arena *arena)
{
    struct tm day;
    char text[32];
    time_t seconds = (time_t)(ns / 1000000000);
    if (!gmtime_r(&seconds, &day) || !strftime(text, sizeof text, "%Y-%m-%d", &day))
        return "an unknown day";
    return nl_arena_text(arena, text, strlen(text));
}

static void prefer_measured(struct nl_device_peaks *peaks, const struct nl_host_roofs *roofs,
                            struct nl_arena *arena)
{
    memcpy(peaks->nominal, peaks->figures, sizeof peaks->nominal);
    const struct nl_host_roof *by = take_measured(peaks, roofs, peaks->product, false);
    if (!by)
        return;
    peaks->source =
        nl_arena_format(arena, "measured on %s with %s, %s%s%s", roofs->host, by->with,
                        day_of(by->measured_ns, arena), peaks->source ? "; other figures: " : "",
                        peaks->source ? peaks->source : "");
    peaks->known = peaks->measured = true;
}

/* The processors of the profile's host. */
static void find_host(struct nl_device_peaks *peaks, const struct nl_host_roofs *roofs,
                      struct nl_arena *arena)
{
    for (size_t i = 0; i < GPU_FIGURES; i++)
        peaks->figures[i] = peaks->nominal[i] = NL_NULL_F64;
    const struct nl_host_roof *by = take_measured(peaks, roofs, NULL, true);
    if (!by)
        return;
    peaks->known = peaks->measured = true;
    peaks->product = roofs->cpu[0] ? nl_arena_text(arena, roofs->cpu, strlen(roofs->cpu)) : NULL;
    peaks->source = nl_arena_format(arena, "measured on %s with up to %u thread%s (%s), %s",
                                    roofs->host, by->threads, by->threads == 1 ? "" : "s", by->with,
                                    day_of(by->measured_ns, arena));
}

double nl_clock_of_peak(const struct nl_trace *trace, uint32_t device,
                        const struct nl_device_peaks *peaks)
{
    const struct architecture *a = architecture_of(trace, device);
    uint32_t sms = trace->device.sm_count[device];
    double peak = peaks->nominal[GPU_FP16];
    if (!a || sms == NL_NULL_U32 || !sms)
        return NL_NULL_F64;
    return peak / (sms * a->half / (is_geforce(trace, device) ? 2 : 1));
}

struct nl_device_peaks *nl_device_peaks_new(const struct nl_trace *trace)
{
    struct held *held =
        nl_zalloc(sizeof *held + (trace->device.rows + (size_t)1) * sizeof held->peaks[0]);
    struct gpu_peaks table;
    nl_arena_init(&held->arena);
    find_host(&held->peaks[trace->device.rows], trace->roofs, &held->arena);
    if (!trace->device.rows)
        return held->peaks;
    gpu_peaks_init(&table);
    for (uint32_t device = 0; device < trace->device.rows; device++) {
        find_peaks(&held->peaks[device], &table, trace, device, &held->arena);
        prefer_measured(&held->peaks[device], trace->roofs, &held->arena);
    }
    gpu_peaks_release(&table);
    return held->peaks;
}

void nl_device_peaks_free(struct nl_device_peaks *peaks)
{
    if (!peaks)
        return;
    struct held *held = (struct held *)((char *)peaks - offsetof(struct held, peaks));
    nl_arena_free(&held->arena);
    nl_free(held);
}

static double figure_of(const double figures[GPU_FIGURES], enum work_type type, bool matrix)
{
    static const enum gpu_figure of_type[WORK_TYPES] = {
        [WORK_FP64] = GPU_FP64,      [WORK_FP32] = GPU_FP32,  [WORK_TF32] = GPU_TF32,
        [WORK_FP16] = GPU_FP16,      [WORK_BF16] = GPU_BF16,  [WORK_FP8] = GPU_FP8,
        [WORK_FP4] = GPU_FP4,        [WORK_FP4X2] = GPU_FP4,  [WORK_INT8] = GPU_INT8,
        [WORK_INT4] = GPU_INT8,      [WORK_INT16] = GPU_FP32, [WORK_INT32] = GPU_FP32,
        [WORK_INT64] = GPU_FP32,     [WORK_BOOL] = GPU_FP32,  [WORK_COMPLEX64] = GPU_FP32,
        [WORK_COMPLEX128] = GPU_FP64};
    if (type == WORK_TYPE_UNKNOWN)
        return NL_NULL_F64;
    if (!matrix && type != WORK_FP64)
        return figures[GPU_FP32];
    return figures[of_type[type]];
}

double nl_peak_flops(const struct nl_device_peaks *peaks, enum work_type type, bool matrix)
{
    return figure_of(peaks->figures, type, matrix);
}

double nl_nominal_flops(const struct nl_device_peaks *peaks, enum work_type type, bool matrix)
{
    return figure_of(peaks->nominal, type, matrix);
}
