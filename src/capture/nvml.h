/*
 * nvml — NVIDIA's management library, loaded when asked for: nvml.c opens it and finds the devices,
 * nvmlread.c reads them.
 */
#ifndef NL_NVML_H
#define NL_NVML_H

#include "capture/gpu.h"
#include "capture/nvmlabi.h"

#define NVML_READS 14u /* rows of the table in nvmlread.c */

struct nvml_device {
    nvml_handle handle;
    struct gpu_info info;
    int64_t next_ns[NVML_READS]; /* by row; INT64_MAX = never again */
    uint64_t refused, seen;  /* GPU_BITs: said to be unsupported by some call; read by some call */
    void *gpm[2];            /* samples, the older first; NULL = none taken yet */
    bool gpm_begun, instant; /* the field of the power at this moment is there */
};

struct nvml {
    void *library;
    struct nvml_device *devices;
    unsigned count_found;
    const char *(*error_text)(int result);
#define NVML_CALL(member, symbol, other, arguments) int(*member) arguments;
#include "capture/nvmlcalls.def"
#undef NVML_CALL
};

void nvml_read(void *state, unsigned device, int64_t now_ns, struct gpu_reading *out);
/* Gives back what nvml_read keeps of a device. */
void nvml_read_end(struct nvml *nvml, struct nvml_device *device);

#endif
