/* Looks for a GPU among the rows of data/gpus.yaml. */
#include "work/gpupeaks.h"

#include <math.h>
#include <strings.h>

#define MEMORY_TOLERANCE 0.04 /* drivers keep some for themselves, and say so in bytes */

const char *const gpu_figure_members[GPU_FIGURES] = {
    [GPU_FP64] = "peak_fp64_flops_per_s",     [GPU_FP32] = "peak_fp32_flops_per_s",
    [GPU_TF32] = "peak_tf32_flops_per_s",     [GPU_FP16] = "peak_fp16_flops_per_s",
    [GPU_BF16] = "peak_bf16_flops_per_s",     [GPU_FP8] = "peak_fp8_flops_per_s",
    [GPU_INT8] = "peak_int8_ops_per_s",       [GPU_FP4] = "peak_fp4_flops_per_s",
    [GPU_MEMORY] = "peak_memory_bytes_per_s",
};

void gpu_peaks_init(struct gpu_peaks *peaks)
{
    *peaks = (struct gpu_peaks){.items = gpu_peak_rows, .count = gpu_peak_count};
    nl_arena_init(&peaks->arena);
}

void gpu_peaks_release(struct gpu_peaks *peaks)
{
    nl_arena_free(&peaks->arena);
}

static const char *without_brand(const char *name)
{
    static const char *const brands[] = {"NVIDIA ", "AMD ", "Tesla ", "GeForce "};
    for (size_t i = 0; i < sizeof brands / sizeof brands[0]; i++)
        if (strncasecmp(name, brands[i], strlen(brands[i])) == 0)
            return without_brand(name + strlen(brands[i]));
    return name;
}

const struct gpu_peak *gpu_peaks_find(const struct gpu_peaks *peaks, const char *name, double sms)
{
    const char *plain = without_brand(name);
    for (size_t i = 0; i < peaks->count; i++) {
        const struct gpu_peak *peak = &peaks->items[i];
        if (peak->sms > 0 && sms > 0 && sms != peak->sms)
            continue;
        for (size_t k = 0; k < peak->name_count; k++)
            if (strcasecmp(plain, peak->names[k]) == 0)
                return peak;
    }
    return NULL;
}

static bool is_like(const struct gpu_chip *row, const struct gpu_chip *chip)
{
    return row->multiprocessors > 0 && row->major == chip->major && row->minor == chip->minor &&
           row->multiprocessors == chip->multiprocessors &&
           fabs(chip->memory_gib - row->memory_gib) <= MEMORY_TOLERANCE * row->memory_gib;
}

static double figure_of(const struct gpu_peak *peak, size_t figure)
{
    for (size_t i = 0; i < peak->count; i++)
        if (peak->figures[i].figure == (enum gpu_figure)figure)
            return peak->figures[i].value;
    return NAN;
}

bool gpu_peaks_recognise(struct gpu_peaks *peaks, const struct gpu_chip *chip,
                         struct gpu_likeness *like)
{
    const struct gpu_peak *first = NULL;
    struct nl_buf names;
    *like = (struct gpu_likeness){0};
    nl_buf_init(&names, 4096);
    for (size_t i = 0; i < peaks->count; i++) {
        const struct gpu_peak *peak = &peaks->items[i];
        if (!is_like(&peak->chip, chip))
            continue;
        for (size_t k = 0; k < GPU_FIGURES; k++) {
            double value = figure_of(peak, k);
            if (!first)
                like->figures[k] = value;
            else if (like->figures[k] != value)
                like->figures[k] = NAN;
        }
        nl_buf_format(&names, "%s%s", first ? " or " : "", peak->names[0]);
        first = first ? first : peak;
    }
    if (first) {
        like->products = nl_arena_text(&peaks->arena, names.ptr, names.len);
        like->source = first->source;
    }
    nl_buf_release(&names);
    return first != NULL;
}
