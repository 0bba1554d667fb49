/*
 * gpu — what is read of GPUs while something runs, whatever their vendor: a row of gpumetrics.def
 * per value, a struct gpu_vendor per way to get at them (NVML, sysfs).
 *
 * A value that is not in `have` is unknown: never 0. A vendor reads what is due and no more; a call
 * that is slow is made less often, one that fails is made again a second later, one that the device
 * does not know is never made again. All of that is counted.
 *
 * A reading is a list of values with a time each: most are of the moment, but a driver that samples
 * by itself returns several of one metric, from moments since the last reading.
 */
#ifndef NL_GPU_H
#define NL_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpu_metric {
#define NL_GPU_METRIC(identifier, key, name, unit, per_unit) GPU_##identifier,
#include "capture/gpu/gpumetrics.def"
#undef NL_GPU_METRIC
    GPU_METRICS
};
#define GPU_BIT(metric) (UINT64_C(1) << (metric))

struct gpu_metric_row {
    const char *key, *name, *unit;
    double per_unit;
};
extern const struct gpu_metric_row gpu_metrics[GPU_METRICS];

#define GPU_MAX_DEVICES   64u
#define GPU_MAX_PROCESSES 256u
#define GPU_WHY           160u

struct gpu_info {
    char name[96], uuid[96], bus[32]; /* "" = unknown */
    const char *vendor;               /* "nvidia", "amd" */
};

struct gpu_process {
    int64_t pid;
    uint64_t bytes; /* UINT64_MAX = unknown */
};

struct gpu_at {
    int64_t ns; /* CLOCK_MONOTONIC */
    unsigned metric;
    double value;
};
#define GPU_MAX_VALUES 1024u

/* One reading of one device; zeroed by the caller, but `begun_ns`. */
struct gpu_reading {
    int64_t begun_ns; /* CLOCK_MONOTONIC */
    uint64_t have;    /* GPU_BITs of what was read this time */
    size_t count;
    struct gpu_at values[GPU_MAX_VALUES];
    bool listed; /* the processes were read */
    size_t process_count;
    struct gpu_process process[GPU_MAX_PROCESSES];
    /* since the last reading; `unsampled`: samples of the driver's that are not among the values */
    uint64_t errors, slow, unlisted, unsampled;
};

/* A value of an earlier moment. */
static inline void gpu_put_at(struct gpu_reading *reading, enum gpu_metric metric, double value,
                              int64_t ns)
{
    if (reading->count == GPU_MAX_VALUES) {
        reading->unsampled++;
        return;
    }
    reading->values[reading->count++] = (struct gpu_at){ns, metric, value};
    reading->have |= GPU_BIT(metric);
}

static inline void gpu_put(struct gpu_reading *reading, enum gpu_metric metric, double value)
{
    gpu_put_at(reading, metric, value, reading->begun_ns);
}

struct gpu_vendor {
    const char *name;
    /* NULL: there is none here, with the reason. `root` stands before /sys ("" usually). */
    void *(*open)(const char *root, char why[GPU_WHY]);
    unsigned (*count)(const void *state);
    void (*describe)(const void *state, unsigned device, struct gpu_info *info);
    void (*read)(void *state, unsigned device, int64_t now_ns, struct gpu_reading *out);
    uint64_t (*absent)(const void *state, unsigned device); /* GPU_BITs that the device lacks */
    void (*close)(void *state);
};

extern const struct gpu_vendor gpu_nvml, gpu_amd;
extern const struct gpu_vendor *const gpu_vendors[]; /* NULL-terminated */

/* Bits of GPU_THROTTLE, as in nvmlClocksEventReasons of nvml.h. */
enum gpu_throttle {
    GPU_THROTTLE_IDLE = 0x01,
    GPU_THROTTLE_POWER_CAP = 0x04,
    GPU_THROTTLE_SLOWDOWN = 0x08, /* of the hardware, for whatever reason */
    GPU_THROTTLE_SYNC_BOOST = 0x10,
    GPU_THROTTLE_THERMAL = 0x20,
    GPU_THROTTLE_HARDWARE_THERMAL = 0x40,
    GPU_THROTTLE_POWER_BRAKE = 0x80
};

/* Words for the bits of GPU_THROTTLE that slow work down: "power cap, thermal"; "" = none. */
void gpu_throttle_words(uint64_t bits, char *out, size_t room);

/* When a call that is made every `period_ms` is made: `next` is its state. A call took `spent_ns`;
 * it may take a tenth of the time, no more. */
#define GPU_SLOW_NS  ((int64_t)50000000)
#define GPU_RETRY_NS ((int64_t)1000000000)
int64_t gpu_next(int64_t now_ns, unsigned period_ms, int64_t spent_ns);

#endif
