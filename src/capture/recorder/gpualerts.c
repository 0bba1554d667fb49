/* Values of a GPU to what thresholds are about. */
#include "capture/recorder/gpualerts.h"
#include "base/sum.h"

uint32_t gpu_latest_see(struct gpu_latest *latest, unsigned metric, double value)
{
    latest->value[metric] = value;
    latest->have |= GPU_BIT(metric);
    double total = gpu_latest(latest, GPU_MEMORY_TOTAL);
    uint64_t bits = nl_whole_u64(gpu_latest(latest, GPU_THROTTLE));
    switch (metric) {
    case GPU_TEMPERATURE: return alerts_see(&latest->alerts, ALERT_TEMPERATURE, value);
    case GPU_MEMORY_TEMPERATURE:
        return alerts_see(&latest->alerts, ALERT_MEMORY_TEMPERATURE, value);
    case GPU_MEMORY_USED:
    case GPU_MEMORY_TOTAL:
        return total > 0 ? alerts_see(&latest->alerts, ALERT_MEMORY,
                                      gpu_latest(latest, GPU_MEMORY_USED) / total)
                         : 0;
    case GPU_POWER:
        return alerts_see(&latest->alerts, ALERT_CAPPED,
                          alert_is_capped(bits, value, gpu_latest(latest, GPU_POWER_LIMIT)));
    case GPU_THROTTLE:
        return alerts_see(&latest->alerts, ALERT_SLOWED, alert_is_slowed(bits)) |
               alerts_see(&latest->alerts, ALERT_CAPPED,
                          alert_is_capped(bits, gpu_latest(latest, GPU_POWER),
                                          gpu_latest(latest, GPU_POWER_LIMIT)));
    default: return 0;
    }
}
