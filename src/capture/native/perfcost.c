/* Work with samples, and without. */
#define _GNU_SOURCE
#include "capture/native/perfcost.h"

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/shared/ticks.h"

#define ROUNDS        6
#define WORK          200000u /* some 0.3 ms */
#define PERIOD_NS     25000u
#define PERIOD_CYCLES 75000u
#define RING_PAGES    64u /* room for the samples of a round, with copies of 8 KiB */
#define SAMPLES_LEAST 4u  /* in a round, for a difference that can be seen */

struct bench {
    int event;
    struct perf_event_mmap_page *ring;
};

/* Processor time of the work. */
static int64_t work_ns(void)
{
    volatile uint64_t sum = 0;
    int64_t before = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < WORK; i++)
        sum += i;
    (void)sum; /* read, for clang 14 */
    return ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

/* Samples that came since the ring was at `from`: all are of one size. 0: other records are among them, or too many. */
static uint64_t samples_since(const struct bench *bench, uint64_t from)
{
    uint64_t head = __atomic_load_n(&bench->ring->data_head, __ATOMIC_ACQUIRE), count = 0;
    const char *data = (const char *)bench->ring + bench->ring->data_offset;
    uint64_t size = bench->ring->data_size;
    while (from < head) {
        const struct perf_event_header *record = (const void *)(data + (from & (size - 1)));
        if (record->type != PERF_RECORD_SAMPLE || !record->size)
            return 0;
        from += record->size;
        count++;
    }
    return count;
}

/* Processor time of the work with samples; -1: there were too few. */
static int64_t sampled_ns(const struct bench *bench, uint64_t *samples)
{
    uint64_t from = __atomic_load_n(&bench->ring->data_head, __ATOMIC_ACQUIRE);
    __atomic_store_n(&bench->ring->data_tail, from, __ATOMIC_RELEASE);
    if (ioctl(bench->event, PERF_EVENT_IOC_ENABLE, 0) != 0)
        return -1;
    int64_t took = work_ns();
    if (ioctl(bench->event, PERF_EVENT_IOC_DISABLE, 0) != 0)
        return -1;
    *samples = samples_since(bench, from);
    return *samples >= SAMPLES_LEAST ? took : -1;
}

static uint64_t measure(const struct bench *bench)
{
    int64_t bare = INT64_MAX, took[ROUNDS];
    uint64_t samples[ROUNDS], least = UINT64_MAX;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t ns = work_ns();
        bare = ns < bare ? ns : bare;
        took[i] = sampled_ns(bench, &samples[i]);
    }
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t each = took[i] > bare ? (uint64_t)(took[i] - bare) * 1000 / samples[i] : 0;
        least = each && each < least ? each : least;
    }
    return least < UINT64_MAX ? least : 0;
}

uint64_t perfcost_sample_ps(const struct perf_event_attr *like)
{
    struct perf_event_attr attr = *like;
    size_t bytes = (RING_PAGES + 1) * (size_t)sysconf(_SC_PAGESIZE);
    uint64_t cost = 0;
    attr.freq = 0;
    attr.sample_period = attr.type == PERF_TYPE_HARDWARE ? PERIOD_CYCLES : PERIOD_NS;
    attr.inherit = attr.enable_on_exec = 0;
    attr.disabled = 1;
    struct bench bench = {
        .event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)};
    if (bench.event < 0)
        return 0;
    void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bench.event, 0);
    if (ring != MAP_FAILED) {
        bench.ring = ring;
        cost = measure(&bench);
        munmap(ring, bytes);
    }
    close(bench.event);
    return cost;
}
