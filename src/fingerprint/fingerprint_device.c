/*
 * Device work: kernels with what was measured of them, copies by direction, fills. Kernels go under
 * their function's own name, which is all that some tools write, and its template arguments.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "timeline/fold.h"
#include "base/mem.h"
#include "fingerprint/fingerprint_gather.h"
#include "derive/kernelname.h"

#define MAX_NAME_BYTES ((size_t)1 << 20)

/* CUTLASS launches every kernel through one of these: what runs is its first template argument. */
static bool is_wrapper(struct nl_str base)
{
    static const char *const wrappers[] = {"Kernel", "Kernel2", "device_kernel"};
    for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++)
        if (nl_str_is(base, wrappers[i]))
            return true;
    return false;
}

/* The first template argument of the function `base`; empty when there is none. */
static struct nl_str first_argument(struct nl_str name, struct nl_str base)
{
    for (size_t at = 0; at + base.len < name.len; at++) {
        size_t start = at + base.len + 1, end = start;
        bool word = at == 0 || name.ptr[at - 1] == ':' || name.ptr[at - 1] == ' ';
        if (!word || memcmp(name.ptr + at, base.ptr, base.len) != 0 || name.ptr[start - 1] != '<')
            continue;
        for (int depth = 0; end < name.len; end++) {
            char c = name.ptr[end];
            if (depth == 0 && (c == ',' || c == '>'))
                break;
            depth += (c == '<' || c == '(') - (c == '>' || c == ')');
        }
        return (struct nl_str){name.ptr + start, end - start};
    }
    return (struct nl_str){"", 0};
}

static void fold_into(struct nl_buf *out, const struct nl_buf *text)
{
    nl_buf_clear(out);
    if (text->len)
        nl_fold_name((struct nl_str){text->ptr, text->len}, NL_FOLD_EYES, out);
}

void fingerprint_kernel_signature(struct nl_buf *out, struct nl_buf *family, struct nl_str name)
{
    struct nl_buf form;
    nl_buf_init(&form, MAX_NAME_BYTES);
    nl_kernel_name_form(&form, name, NL_NAME_BASE);
    if (form.len && is_wrapper((struct nl_str){form.ptr, form.len})) {
        struct nl_str inner = first_argument(name, (struct nl_str){form.ptr, form.len});
        if (inner.len)
            nl_kernel_name_form(&form, inner, NL_NAME_BASE);
    }
    fold_into(family, &form);
    if (!nl_kernel_name_is_base(name))
        nl_kernel_name_form(&form, name, NL_NAME_ARGUMENTS);
    fold_into(out, &form);
    nl_buf_release(&form);
}

/* Items of kernels by their whole names. */
struct kernels {
    const struct fingerprint_gather *gather;
    struct fingerprint_tally *tally;
    uint32_t *items; /* per name: item, 0 = not met yet */
    struct nl_counted_flops *flops;
    struct nl_buf text, family;
};

static struct nl_str buffer_text(const struct nl_buf *text)
{
    return (struct nl_str){text->ptr ? text->ptr : "", text->len};
}

static uint32_t item_of(struct kernels *k, uint32_t name)
{
    if (!k->items[name]) {
        fingerprint_kernel_signature(&k->text, &k->family, nl_trace_name(k->gather->trace, name));
        k->items[name] =
            fingerprint_tally_item(k->tally, buffer_text(&k->text), buffer_text(&k->family));
    }
    return k->items[name];
}

static const struct fingerprint_peaks *peaks_of(const struct fingerprint_gather *gather,
                                                uint32_t slice)
{
    uint32_t device = nl_slice_device(gather->trace, slice);
    return device == NL_NULL_ROW ? &gather->unknown : &gather->peaks[device];
}

/* Time at the peaks for one second of the kernel: operations add up, memory works in parallel. */
static double roofline(const struct nl_counted_flops *flops, double dram,
                       const struct fingerprint_peaks *peaks)
{
    double compute = 0;
    const double rates[] = {flops->fp64, flops->fp32, flops->fp16};
    static const enum gpu_figure figures[] = {GPU_FP64, GPU_FP32, GPU_FP16};
    for (int i = 0; i < 3; i++)
        compute += rates[i] > 0 ? rates[i] / peaks->figures[figures[i]] : rates[i];
    return isnan(compute) || isnan(dram) || compute > dram ? compute : dram;
}

static void add_measured(struct kernels *k, uint32_t item, uint32_t m, uint32_t slice, double ns)
{
    const struct nl_measurement_table *table = &k->gather->trace->measurement;
    const struct fingerprint_peaks *peaks = peaks_of(k->gather, slice);
    const struct nl_counted_flops *flops = &k->flops[m];
    double rate = table->dram_bytes_per_s[m], dram = table->dram_throughput[m];
    double operations = flops->fp64 + flops->fp32 + flops->fp16;
    if (isnan(dram))
        dram = rate / peaks->figures[GPU_MEMORY];
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_OCCUPANCY, table->achieved_occupancy[m],
                            ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_WARPS, table->warp_efficiency[m], ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_L2_HITS, table->l2_hit_rate[m], ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_DRAM_RATE, rate, ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_DRAM_SHARE, dram, ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_FLOP_RATE, operations, ns);
    if (rate > 0)
        fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_INTENSITY, operations / rate, ns);
    fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_ROOFLINE, roofline(flops, dram, peaks),
                            ns);
}

static void add_kernels(struct kernels *k)
{
    const struct nl_trace *trace = k->gather->trace;
    const struct nl_kernel_table *kernel = &trace->kernel;
    for (uint32_t row = 0; row < kernel->rows; row++) {
        uint32_t slice = kernel->slice[row];
        int64_t ns = slice == NL_NULL_ROW ? -1 : fingerprint_device_length(k->gather, slice);
        if (ns < 0)
            continue;
        uint32_t item = item_of(k, trace->slice.name[slice]);
        const char *category = nl_enum_text(NL_ENUM_category, kernel->category[row]);
        fingerprint_tally_add(k->tally, item, nl_str(category), ns);
        uint32_t measurement = kernel->measurement[row];
        if (measurement != NL_NULL_ROW)
            add_measured(k, item, measurement, slice, (double)ns);
        /* A kernel profiler's own report estimates nothing: its occupancy is the measured one. */
        if (measurement == NL_NULL_ROW || trace->measurement.source[measurement] != NL_NULL_ROW)
            fingerprint_tally_value(k->tally, item, NL_FINGERPRINT_ESTIMATED,
                                    kernel->occupancy[row], (double)ns);
    }
}

static void add_copies(const struct fingerprint_gather *gather, struct fingerprint_tally *tally)
{
    const struct nl_copy_table *copy = &gather->trace->copy;
    char name[64];
    for (uint32_t row = 0; row < copy->rows; row++) {
        uint32_t slice = copy->slice[row];
        int64_t ns = slice == NL_NULL_ROW ? -1 : fingerprint_device_length(gather, slice);
        const char *kind = nl_enum_text(NL_ENUM_copykind, copy->kind[row]);
        if (ns < 0)
            continue;
        snprintf(name, sizeof name, "[copy %s]", kind ? kind : "?");
        fingerprint_tally_add(tally, fingerprint_tally_item(tally, nl_str(name), nl_str(name)),
                              nl_str("copy"), ns);
    }
}

static void add_fills(const struct fingerprint_gather *gather, struct fingerprint_tally *tally)
{
    const struct nl_memset_table *fill = &gather->trace->memset;
    const struct nl_str memset = nl_str("[memset]");
    for (uint32_t row = 0; row < fill->rows; row++) {
        uint32_t slice = fill->slice[row];
        int64_t ns = slice == NL_NULL_ROW ? -1 : fingerprint_device_length(gather, slice);
        if (ns >= 0)
            fingerprint_tally_add(tally, fingerprint_tally_item(tally, memset, memset),
                                  nl_str("fill"), ns);
    }
}

void fingerprint_gather_device(const struct fingerprint_gather *gather,
                               struct fingerprint_tally *tally)
{
    const struct nl_trace *trace = gather->trace;
    struct kernels k = {.gather = gather, .tally = tally};
    k.items = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *k.items);
    k.flops = nl_counted_flops_find(trace);
    nl_buf_init(&k.text, MAX_NAME_BYTES);
    nl_buf_init(&k.family, MAX_NAME_BYTES);
    add_kernels(&k);
    add_copies(gather, tally);
    add_fills(gather, tally);
    nl_buf_release(&k.text);
    nl_buf_release(&k.family);
    nl_free(k.items);
    nl_free(k.flops);
}
