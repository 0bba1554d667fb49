/*
 * What NVIDIA's driver samples by itself, every 20 ms or so, and keeps for some seconds: peaks
 * between two readings are seen so. Its times are of the wall clock, which may be set meanwhile; so
 * a time is believed only where it can be: later than the sample before it, and not in the future.
 * What is not believed is counted.
 */
#include <string.h>
#include <time.h>

#include "capture/gpu/nvml.h"
#include "capture/shared/ticks.h"

#define MAX_SAMPLES 256u                /* drivers are known to keep 120 */
#define FIRST_US    1000000             /* how far back the first call looks */
#define FUTURE_US   1000                /* rounding, and a clock that is being steered */
#define STEP_NS     ((int64_t)10000000) /* more than steering does between two calls */

/* µs of the wall clock now, and what takes a time of it to CLOCK_MONOTONIC: the
 * closest of a few readings. */
static int64_t wall_clock_us(int64_t *shift_ns)
{
    int64_t closest = INT64_MAX, real = 0;
    for (unsigned i = 0; i < 3; i++) {
        int64_t before = ticks_clock_ns(CLOCK_MONOTONIC);
        real = ticks_clock_ns(CLOCK_REALTIME);
        int64_t width = ticks_clock_ns(CLOCK_MONOTONIC) - before;
        if (width < closest) {
            closest = width;
            *shift_ns = before + width / 2 - real;
        }
    }
    return real / 1000;
}

/* Where to go on; false when the clock was set since: times from before and after it
 * cannot be distinguished. */
static bool goes_on(struct nvml_sampled *sampled)
{
    int64_t shift_ns = 0, now_us = wall_clock_us(&shift_ns);
    int64_t moved = shift_ns - sampled->shift_ns;
    bool first = !sampled->seen_us, stepped = !first && (moved > STEP_NS || moved < -STEP_NS);
    if (first || stepped)
        sampled->seen_us = (uint64_t)(first ? now_us - FIRST_US : now_us);
    sampled->shift_ns = shift_ns;
    return !stepped;
}

int nvml_read_samples(const struct nvml *nvml, struct nvml_device *device, unsigned kind,
                      enum gpu_metric metric, struct gpu_reading *out)
{
    struct nvml_sample samples[MAX_SAMPLES];
    struct nvml_sampled *sampled = &device->sampled[kind];
    unsigned type = 0, count = MAX_SAMPLES;
    int64_t shift_ns = 0;
    if (!nvml->samples)
        return NVML_FUNCTION_NOT_FOUND;
    out->unsampled += !goes_on(sampled);
    uint64_t before = sampled->seen_us;
    memset(samples, 0, sizeof samples);
    int result = nvml->samples(device->handle, (int)kind, before, &type, &count, samples);
    uint64_t now_us = (uint64_t)wall_clock_us(&shift_ns);
    if (result == NVML_NOT_FOUND) /* none since */
        return NVML_OK;
    if (result == NVML_INSUFFICIENT_SIZE) { /* `count` is what there are; none was given */
        sampled->seen_us = now_us;
        out->unsampled += count;
        return NVML_OK;
    }
    for (unsigned i = 0; result == NVML_OK && i < count && i < MAX_SAMPLES; i++) {
        uint64_t time = samples[i].time;
        if (time && time <= before)
            continue; /* had already: not all drivers heed what was seen */
        if (time <= sampled->seen_us || time > now_us + FUTURE_US) {
            out->unsampled++;
            continue;
        }
        sampled->seen_us = time;
        gpu_put_at(out, metric, nvml_number(type, &samples[i].value) / gpu_metrics[metric].per_unit,
                   (int64_t)time * 1000 + shift_ns);
    }
    if (result == NVML_OK && count > MAX_SAMPLES)
        out->unsampled += count - MAX_SAMPLES;
    return result;
}
