/* What all vendors share. */
#include "capture/gpu/gpu.h"

#include <stdio.h>
#include <string.h>

const struct gpu_metric_row gpu_metrics[GPU_METRICS] = {
#define NL_GPU_METRIC(identifier, key, name, unit, per_unit) {key, name, unit, per_unit},
#include "capture/gpu/gpumetrics.def"
#undef NL_GPU_METRIC
};

const struct gpu_vendor *const gpu_vendors[] = {&gpu_nvml, &gpu_amd, NULL};

static const struct {
    enum gpu_throttle bit;
    const char *word;
} throttles[] = {{GPU_THROTTLE_POWER_CAP, "power cap"},
                 {GPU_THROTTLE_SLOWDOWN, "hardware slowdown"},
                 {GPU_THROTTLE_SYNC_BOOST, "sync boost"},
                 {GPU_THROTTLE_THERMAL, "thermal"},
                 {GPU_THROTTLE_HARDWARE_THERMAL, "hardware thermal"},
                 {GPU_THROTTLE_POWER_BRAKE, "power brake"}};

void gpu_throttle_words(uint64_t bits, char *out, size_t room)
{
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; i < sizeof throttles / sizeof throttles[0]; i++) {
        if (!(bits & throttles[i].bit))
            continue;
        int put = snprintf(out + at, room - at, "%s%s", at ? ", " : "", throttles[i].word);
        if (put < 0 || (size_t)put >= room - at)
            return;
        at += (size_t)put;
    }
}

int64_t gpu_next(int64_t now_ns, unsigned period_ms, int64_t spent_ns)
{
    int64_t period = (int64_t)period_ms * 1000000;
    return now_ns + (period > spent_ns * 10 ? period : spent_ns * 10);
}
