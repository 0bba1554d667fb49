/* What NVIDIA's driver sampled: what is asked for, what is believed, and when the wall
 * clock was set meanwhile. */
#include <time.h>

#include "base/mem.h"
#include "capture/gpu/nvml.h"
#include "capture/shared/ticks.h"
#include "check.h"

#define SECOND_US UINT64_C(1000000)

static struct {
    unsigned long long asked_from;
    struct nvml_sample sample[4];
    unsigned count;
} driver;

static int give(nvml_handle device, int which, unsigned long long last_seen, unsigned *type,
                unsigned *count, struct nvml_sample *samples)
{
    (void)device;
    (void)which;
    driver.asked_from = last_seen;
    *type = NVML_TYPE_U32;
    *count = driver.count;
    for (unsigned i = 0; i < driver.count; i++)
        samples[i] = driver.sample[i];
    return NVML_OK;
}

static uint64_t wall_us(void)
{
    return (uint64_t)ticks_clock_ns(CLOCK_REALTIME) / 1000;
}

static void times_are_ours(void)
{
    const struct nvml nvml = {.samples = give};
    struct nvml_device device = {.handle = NULL};
    struct gpu_reading *out = nl_zalloc(sizeof *out);
    uint64_t now = wall_us();
    driver.count = 3;
    driver.sample[0] = (struct nvml_sample){now - 40000, {.u32 = 600500}};
    driver.sample[1] = (struct nvml_sample){now - 60000, {.u32 = 1}}; /* before the one before it */
    driver.sample[2] = (struct nvml_sample){now - 20000, {.u32 = 700000}};
    CHECK_INT(nvml_read_samples(&nvml, &device, 0, GPU_POWER_SAMPLED, out), NVML_OK);
    CHECK(driver.asked_from > now - 2 * SECOND_US && driver.asked_from < now);
    CHECK_INT(out->count, 2);
    CHECK_INT(out->unsampled, 1);
    CHECK(out->values[0].value == 600.5 && out->values[1].value == 700);
    CHECK_INT(out->values[1].ns - out->values[0].ns, 20000000);
    int64_t ago = ticks_clock_ns(CLOCK_MONOTONIC) - out->values[1].ns;
    CHECK(ago >= 20000000 - 2000 && ago < 2000000000);
    CHECK_INT(device.sampled[0].seen_us, now - 20000);
    CHECK_INT(nvml_read_samples(&nvml, &device, 0, GPU_POWER_SAMPLED, out), NVML_OK); /* again */
    CHECK_INT(driver.asked_from, now - 20000);
    CHECK_INT(out->count, 2);
    CHECK_INT(out->unsampled, 1);
    nl_free(out);
}

/* What the clock told before, and what it tells now, are not one time: samples begin anew. */
static void clock_was_set(void)
{
    static const int64_t moves_us[] = {3600 * (int64_t)SECOND_US, -3600 * (int64_t)SECOND_US};
    const struct nvml nvml = {.samples = give};
    for (size_t i = 0; i < CHECK_LENGTH(moves_us); i++) {
        struct nvml_device device = {.handle = NULL};
        struct gpu_reading *out = nl_zalloc(sizeof *out);
        driver.count = 0;
        CHECK_INT(nvml_read_samples(&nvml, &device, 0, GPU_POWER_SAMPLED, out), NVML_OK);
        /* As if the clock had told that much more until now. */
        device.sampled[0].shift_ns -= moves_us[i] * 1000;
        device.sampled[0].seen_us += (uint64_t)moves_us[i];
        uint64_t now = wall_us();
        driver.count = 1;
        driver.sample[0] = (struct nvml_sample){now - 5000, {.u32 = 1}};
        CHECK_INT(nvml_read_samples(&nvml, &device, 0, GPU_POWER_SAMPLED, out), NVML_OK);
        CHECK(driver.asked_from >= now && driver.asked_from < now + 10 * SECOND_US);
        CHECK_INT(out->count, 0);
        CHECK_INT(out->unsampled, 1);
        driver.sample[0].time = device.sampled[0].seen_us + 1;
        CHECK_INT(nvml_read_samples(&nvml, &device, 0, GPU_POWER_SAMPLED, out), NVML_OK);
        CHECK_INT(out->count, 1);
        CHECK_INT(out->unsampled, 1);
        nl_free(out);
    }
}

CHECK_MAIN("nvmlsamples", {"times are ours", times_are_ours}, {"the clock was set", clock_was_set})
