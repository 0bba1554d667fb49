/*
 * nvml — NVIDIA's management library, loaded when asked for: nvml.c opens it and finds the devices,
 * nvmlread.c reads them, nvmlsamples.c what the driver sampled between readings.
 */
#ifndef NL_NVML_H
#define NL_NVML_H

#include "capture/gpu/gpu.h"
#include "capture/gpu/nvmlabi.h"

#define NVML_READS 17u /* rows of the table in nvmlread.c */

#define NVML_SAMPLES_KINDS 3u /* NVML_SAMPLES_… */

struct nvml_sampled {
    uint64_t seen_us; /* time of the last sample, of CLOCK_REALTIME; 0 = none asked for yet */
    int64_t shift_ns; /* from there to CLOCK_MONOTONIC, at the last call */
};

struct nvml_device {
    nvml_handle handle;
    struct gpu_info info;
    int64_t next_ns[NVML_READS]; /* by row; INT64_MAX = never again */
    uint64_t refused, seen; /* GPU_BITs: said to be unsupported by some call; read by some call */
    struct nvml_sampled sampled[NVML_SAMPLES_KINDS];
    void *gpm[2];            /* samples, the older first; NULL = none taken yet */
    bool gpm_begun, instant; /* the field of the power at this moment is there */
};

struct nvml {
    void *library;
    struct nvml_device *devices;
    unsigned count_found;
    const char *(*error_text)(int result);
#define NVML_CALL(member, symbol, other, arguments) int(*member) arguments;
#include "capture/gpu/nvmlcalls.def"
#undef NVML_CALL
};

void nvml_read(void *state, unsigned device, int64_t now_ns, struct gpu_reading *out);
double nvml_number(unsigned type, const union nvml_value *value);

/* What the driver sampled of a kind since the last call; the first asks for the last second's. */
int nvml_read_samples(const struct nvml *nvml, struct nvml_device *device, unsigned kind,
                      enum gpu_metric metric, struct gpu_reading *out);

/* Gives back what nvml_read keeps of a device. */
void nvml_read_end(struct nvml *nvml, struct nvml_device *device);

#endif
