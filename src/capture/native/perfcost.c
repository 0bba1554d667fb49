/* What a sample of the kernel's costs here: the same loop with samples and without. */
#define _GNU_SOURCE
#include "capture/native/perfcost.h"

#include <stdbool.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "capture/shared/ticks.h"

#define ROUNDS        5
#define MIN_ROUNDS    3      /* of them that may be used */
#define SAMPLES       12u    /* about, in a round */
#define MIN_SAMPLES   4u     /* in a round, for a difference that can be seen */
#define PERIOD_NS     25000u /* without a copy of the stack */
#define PERIOD_CYCLES 75000u /* the same at 3 GHz */
#define COPY_BYTES    16384u /* copies of so much: a period more, or there is more copying than work */
#define RECORD_BYTES  2048u        /* of a sample at most, without the copy of the stack */
#define MAX_RING      (512u << 10) /* all that kernel.perf_event_mlock_kb allows usually */
#define MIN_RING      (64u << 10)
#define MIN_WORK      (1u << 12)
#define MAX_WORK      (1u << 28)

struct bench {
    int event;
    uint32_t work; /* turns of the loop in a round */
    struct perf_event_mmap_page *ring;
};

/* Processor time of the work: the same instructions wherever it is called, and no memory, whose
 * pace varies twofold with the stack's address. */
static __attribute__((noinline)) int64_t work_ns(uint32_t work)
{
    uint64_t value = work;
    int64_t before = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (uint32_t i = 0; i < work; i++)
        value = value * 6364136223846793005u + 1442695040888963407u;
    volatile uint64_t kept = value;
    (void)kept; /* read, for clang 14 */
    return ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

/* Work that takes about so long on this processor, as this was compiled. */
static uint32_t work_of(uint64_t ns)
{
    uint32_t work = MIN_WORK;
    int64_t took = work_ns(work);
    while (work < MAX_WORK && (took <= 0 || (uint64_t)took < ns / 4)) {
        work *= 2;
        took = work_ns(work);
    }
    uint64_t fit = took > 0 ? work * ns / (uint64_t)took : work;
    return fit < MAX_WORK ? (uint32_t)fit : MAX_WORK;
}

/* Samples that came since the ring was at `from`. 0: other records are among them, or some
 * may be missing: those cost time, too, and are not counted. A record of those that an
 * earlier round lost comes first. */
static uint64_t samples_since(const struct bench *bench, uint64_t from)
{
    uint64_t head = __atomic_load_n(&bench->ring->data_head, __ATOMIC_ACQUIRE), count = 0;
    const char *data = (const char *)bench->ring + bench->ring->data_offset;
    uint64_t size = bench->ring->data_size, used = head - from, largest = 0;
    while (from < head) {
        const struct perf_event_header *record = (const void *)(data + (from & (size - 1)));
        bool before = record->type == PERF_RECORD_LOST && !count;
        if ((record->type != PERF_RECORD_SAMPLE && !before) || !record->size)
            return 0;
        from += record->size;
        largest = record->size > largest ? record->size : largest;
        count += !before;
    }
    return used + largest <= size ? count : 0;
}

/* Processor time of the work with samples; -1: there were too few. */
static int64_t sampled_ns(const struct bench *bench, uint64_t *samples)
{
    uint64_t from = __atomic_load_n(&bench->ring->data_head, __ATOMIC_ACQUIRE);
    __atomic_store_n(&bench->ring->data_tail, from, __ATOMIC_RELEASE);
    if (ioctl(bench->event, PERF_EVENT_IOC_ENABLE, 0) != 0)
        return -1;
    int64_t took = work_ns(bench->work);
    if (ioctl(bench->event, PERF_EVENT_IOC_DISABLE, 0) != 0)
        return -1;
    *samples = samples_since(bench, from);
    return *samples >= MIN_SAMPLES ? took : -1;
}

static void put_sorted(uint64_t *list, size_t count, uint64_t value)
{
    size_t at = count;
    for (; at && list[at - 1] > value; at--)
        list[at] = list[at - 1];
    list[at] = value;
}

/* The time of each round beyond the slower of the adjacent rounds without samples: a loop that is
 * slower for a while is no cost. Of these the second smallest: one slow round without samples makes
 * its own difference too small, and does not decide. */
static uint64_t measure_sample_cost(const struct bench *bench)
{
    uint64_t each[ROUNDS];
    size_t used = 0;
    int64_t before = work_ns(bench->work);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t samples = 0;
        int64_t took = sampled_ns(bench, &samples), after = work_ns(bench->work);
        int64_t bare = before > after ? before : after;
        before = after;
        if (took < 0)
            continue;
        put_sorted(each, used++, took > bare ? (uint64_t)(took - bare) * 1000 / samples : 0);
    }
    return used >= MIN_ROUNDS ? each[1] : 0;
}

/* As many samples a round as fit the ring: what they cost makes the round longer,
 * so that more of them come. */
static uint64_t samples_of(const struct perf_event_attr *attr, size_t ring)
{
    uint64_t fit = ring / (RECORD_BYTES + attr->sample_stack_user) * 5 / 8;
    return fit < SAMPLES ? fit : SAMPLES;
}

static uint64_t with_copy(uint64_t period, const struct perf_event_attr *attr)
{
    return period + period * attr->sample_stack_user / COPY_BYTES;
}

/* The largest ring to be had, as bytes of its data; 0: none. */
static size_t map_ring(struct bench *bench, size_t page)
{
    for (size_t bytes = MAX_RING; bytes >= MIN_RING; bytes /= 2) {
        void *ring = mmap(NULL, page + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bench->event, 0);
        if (ring != MAP_FAILED) {
            bench->ring = ring;
            return bytes;
        }
    }
    return 0;
}

uint64_t perfcost_sample_ps(const struct perf_event_attr *like)
{
    struct perf_event_attr attr = *like;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint64_t cost = 0;
    attr.freq = 0;
    attr.sample_period =
        with_copy(attr.type == PERF_TYPE_HARDWARE ? PERIOD_CYCLES : PERIOD_NS, &attr);
    attr.inherit = attr.enable_on_exec = 0;
    attr.disabled = 1;
    struct bench bench = {
        .event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)};
    if (bench.event < 0)
        return 0;
    size_t ring = map_ring(&bench, page);
    uint64_t samples = samples_of(&attr, ring);
    if (samples >= MIN_SAMPLES) {
        bench.work = work_of((2 * samples + 1) * with_copy(PERIOD_NS, &attr) / 2);
        cost = measure_sample_cost(&bench);
    }
    if (ring)
        munmap(bench.ring, page + ring);
    close(bench.event);
    return cost;
}
