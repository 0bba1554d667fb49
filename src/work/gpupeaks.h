/*
 * gpupeaks — what a GPU can do at most, by its product name: the rows of data/gpus.yaml, which is
 * built into the program. A device that is not in it has no peaks; nothing is estimated.
 */
#ifndef NL_GPUPEAKS_H
#define NL_GPUPEAKS_H

#include "base/mem.h"
#include "base/str.h"

enum gpu_figure {
    GPU_FP64,
    GPU_FP32,
    GPU_TF32,
    GPU_FP16,
    GPU_BF16,
    GPU_FP8,
    GPU_INT8,
    GPU_FP4,
    GPU_MEMORY,
    GPU_LINK, /* to the other devices of its node, one direction; no member of run documents */
    GPU_FIGURES
};

/* The member of a run document's hardware that holds a figure; NULL where none does. */
extern const char *const gpu_figure_members[GPU_FIGURES];

/* What a driver says of a device besides its name; 0 = not given. */
struct gpu_chip {
    double major, minor; /* compute capability */
    double multiprocessors, memory_gib;
};

struct gpu_peak {
    const char *const *names;
    size_t name_count;
    double sms; /* 0 = any */
    struct gpu_chip chip;
    const char *source;
    struct {
        enum gpu_figure figure;
        double value; /* operations or bytes per second */
    } figures[GPU_FIGURES];
    size_t count;
};

/* Made of data/gpus.yaml by tools/gpus.py when the program is built. */
extern const struct gpu_peak gpu_peak_rows[];
extern const size_t gpu_peak_count;

struct gpu_peaks {
    const struct gpu_peak *items;
    size_t count;
    struct nl_arena arena;
};

void gpu_peaks_init(struct gpu_peaks *peaks);
void gpu_peaks_release(struct gpu_peaks *peaks);

/* The row of a product; NULL when there is none. `sms`: NaN when not known. */
const struct gpu_peak *gpu_peaks_find(const struct gpu_peaks *peaks, const char *name, double sms);

/* A device without a known product name, by what its driver reports. Figures: NaN where products
 * that are alike in these differ. False when none is like that. `products`: their names, in the
 * arena of `peaks`; `source` as theirs. */
struct gpu_likeness {
    double figures[GPU_FIGURES];
    const char *products, *source;
};
__attribute__((warn_unused_result)) bool gpu_peaks_recognise(struct gpu_peaks *peaks,
                                                             const struct gpu_chip *chip,
                                                             struct gpu_likeness *like);

#endif
