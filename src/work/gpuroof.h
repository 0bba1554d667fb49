/*
 * gpuroof — what this machine's GPUs can do at most, measured: matrix products per element
 * type through the maker's BLAS library, and copies within the device's memory (bytes read
 * and written both count).
 *
 * Of several GPUs of one product the first stands for all. Products are of up to 8192 rows, fewer
 * where the GPU is slow or its memory small; matrices hold random values, as zeros would let it
 * clock higher than real work does. The best of three rounds counts. What cannot be measured is
 * reported in a line each, and the rest goes on.
 */
#ifndef NL_GPUROOF_H
#define NL_GPUROOF_H

#include <stdbool.h>

struct nl_gpu_roof {
    const char *device;  /* product name, as recorders write it */
    const char *type;    /* "bf16"; NULL: memory */
    const char *library; /* "cuBLAS", "rocBLAS" */
    double flops_per_s;  /* of a type */
    double bytes_per_s;  /* of memory */
};

struct nl_gpu_roof_sink {
    void *context;
    void (*add)(void *context, const struct nl_gpu_roof *roof);
    void (*say)(void *context, const char *line); /* why something was not measured */
    bool (*stop)(void *context);                  /* asked between rounds */
};

void nl_gpu_roofs_measure(const struct nl_gpu_roof_sink *sink);

#endif
