/*
 * Three events a processor: one of the kernel's "dummy" kind, which reports mappings, forks and
 * ends and owns the ring, one that reports switches, and the sampling one. The last two write into
 * the same ring and can rest. The first one's descriptor is closed once the ring is mapped.
 */
#define _GNU_SOURCE
#include "capture/native/perfring.h"

#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sort.h"
#include "capture/native/perfcost.h"
#include "capture/native/unwind.h"

/* Of a ring. Everybody may have 128 and the head for each processor (perf_event_mlock_kb); who may
 * lock more gets more, but not on large machines. */
#define MAX_PAGES   1024u
#define PAGES_ALL   16384u /* of all rings together */
#define PAGES_USUAL 128u
#define MIN_PAGES   8u
#define SLACK_NS    1000000 /* between a record's time and when it can be seen in the ring */
#define PARANOID    "/proc/sys/kernel/perf_event_paranoid"

struct ring {
    struct perf_event_mmap_page *page; /* NULL = none: a processor that is off */
    size_t bytes;
    int sampler, switches; /* descriptors, -1 = none */
};

struct perfring {
    struct ring *rings;
    size_t ring_count;
    struct perf_record_layout layout;
    unsigned char *bytes; /* records taken out of the rings */
    size_t used, cap;
    struct nl_keyed *order, *scratch; /* by time; rows of `at` */
    size_t *at;                       /* of each record in `bytes` */
    size_t count, at_cap, order_cap, scratch_cap, next, ready;
    uint64_t damaged;
    pid_t pid;          /* of the program */
    uint64_t sample_ps; /* what a sample costs at least; 0 = not known */
    bool cycles, kernel;
};

/* ---- opening ---- */

static int open_event(const struct perfring *ring, const struct perf_event_attr *attr,
                      int processor)
{
    return (int)syscall(SYS_perf_event_open, attr, ring->pid, processor, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct perf_event_attr common(const struct perfring *ring)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .sample_type = ring->layout.sample_type,
                                   .disabled = 1,
                                   .inherit = 1,
                                   .enable_on_exec = 1,
                                   .exclude_hv = 1,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC};
    return attr;
}

/* Without samples. */
static struct perf_event_attr dummy(const struct perfring *ring)
{
    struct perf_event_attr attr = common(ring);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    attr.sample_type &= PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
    return attr;
}

static struct perf_event_attr teller(const struct perfring *ring, bool build_ids)
{
    struct perf_event_attr attr = dummy(ring);
    attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
    attr.build_id = build_ids;
    return attr;
}

static struct perf_event_attr sampler(const struct perfring *ring,
                                      const struct perfring_options *options)
{
    struct perf_event_attr attr = common(ring);
    attr.type = ring->cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
    attr.config = ring->cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK;
    attr.freq = 1;
    attr.sample_freq = options->hz;
    attr.exclude_kernel = !ring->kernel;
    attr.exclude_callchain_kernel = 1;
    attr.enable_on_exec = !options->asleep;
    attr.sample_regs_user = ring->layout.registers;
    if (options->stacks == PERF_STACKS_DWARF)
        attr.sample_stack_user = options->stack_bytes;
    return attr;
}

static bool can_open(const struct perfring *ring, const struct perf_event_attr *attr)
{
    int event = open_event(ring, attr, -1);
    if (event >= 0)
        close(event);
    return event >= 0;
}

/* Cycles where a processor counts them, and the kernel's part of a thread's
 * time where that may be seen. */
static bool choose_sampler(struct perfring *ring, const struct perfring_options *options)
{
    for (int choice = 3; choice >= 0; choice--) {
        ring->cycles = choice & 2;
        ring->kernel = choice & 1;
        struct perf_event_attr attr = sampler(ring, options);
        if (can_open(ring, &attr))
            return true;
    }
    return false;
}

static bool map_ring(struct ring *one, int event, size_t rings)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t most = MAX_PAGES;
    while (most > PAGES_USUAL && most * rings > PAGES_ALL)
        most /= 2;
    for (size_t pages = most; pages >= MIN_PAGES; pages /= 2) {
        one->bytes = (pages + 1) * page;
        void *memory = mmap(NULL, one->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
        if (memory != MAP_FAILED) {
            one->page = memory;
            return true;
        }
        if (errno != EPERM && errno != ENOMEM)
            return false;
    }
    errno = ENOMEM;
    return false;
}

/* One more event that writes into the ring of `owner`; -1 with errno. */
static int join_ring(const struct perfring *ring, const struct perf_event_attr *attr, int number,
                     int owner)
{
    int event = open_event(ring, attr, number);
    if (event >= 0 && ioctl(event, PERF_EVENT_IOC_SET_OUTPUT, owner) != 0) {
        int failure = errno;
        close(event);
        errno = failure;
        return -1;
    }
    return event;
}

static bool fill_ring(const struct perfring *ring, struct ring *one, int number, int owner,
                      const struct perfring_options *options)
{
    struct perf_event_attr attr = sampler(ring, options);
    if (options->hz && (one->sampler = join_ring(ring, &attr, number, owner)) < 0)
        return false;
    attr = dummy(ring);
    attr.context_switch = 1;
    return !options->switches || (one->switches = join_ring(ring, &attr, number, owner)) >= 0;
}

/* False with errno. A processor that is off has no ring. */
static bool open_processor(struct perfring *ring, struct ring *one, int number,
                           const struct perfring_options *options)
{
    struct perf_event_attr attr = teller(ring, true);
    int owner = open_event(ring, &attr, number);
    if (owner < 0 && errno == EINVAL) { /* before Linux 5.12 */
        attr = teller(ring, false);
        owner = open_event(ring, &attr, number);
    }
    if (owner < 0)
        return errno == ENODEV;
    bool done =
        map_ring(one, owner, ring->ring_count) && fill_ring(ring, one, number, owner, options);
    int failure = errno;
    close(owner);
    errno = failure;
    return done;
}

static bool open_all(struct perfring *ring, const struct perfring_options *options)
{
    long processors = sysconf(_SC_NPROCESSORS_CONF);
    ring->ring_count = processors > 0 ? (size_t)processors : 1;
    ring->rings = nl_zalloc(ring->ring_count * sizeof *ring->rings);
    for (size_t i = 0; i < ring->ring_count; i++)
        ring->rings[i].sampler = ring->rings[i].switches = -1;
    for (size_t i = 0; i < ring->ring_count; i++)
        if (!open_processor(ring, &ring->rings[i], (int)i, options))
            return false;
    return true;
}

static long paranoid(void)
{
    char text[32] = "";
    FILE *file = fopen(PARANOID, "re");
    if (!file)
        return LONG_MIN;
    bool got = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    return got ? strtol(text, NULL, 10) : LONG_MIN;
}

static void tell_why(int failure, char *why, size_t room)
{
    long level = paranoid();
    if (level == LONG_MIN || failure == ENOSYS)
        (void)snprintf(why, room, "this kernel has no perf events");
    else if ((failure == EACCES || failure == EPERM) && level > 2)
        (void)snprintf(why, room,
                       "perf_event_paranoid is %ld; sysctl kernel.perf_event_paranoid=2 allows it",
                       level);
    else if (failure == EACCES || failure == EPERM)
        (void)snprintf(why, room,
                       "perf_event_open is not permitted: a container's seccomp profile? "
                       "CAP_PERFMON or a profile with it allows it");
    else if (failure == EMFILE)
        (void)snprintf(why, room,
                       "a descriptor per processor is needed; raise the limit (ulimit -n)");
    else if (failure == ENOMEM)
        (void)snprintf(why, room,
                       "no memory for the kernel's rings: another recording has what "
                       "kernel.perf_event_mlock_kb allows; raise it");
    else if (failure == EINVAL)
        (void)snprintf(
            why, room,
            "the kernel refused: --sample-rate is over kernel.perf_event_max_sample_rate, "
            "or it is older than 4.3");
    else if (failure == ENOENT || failure == EOPNOTSUPP)
        (void)snprintf(why, room, "no clock or counter of this kernel can sample");
    else
        (void)snprintf(why, room, "perf_event_open: %s", strerror(failure));
}

static uint64_t sample_type(const struct perfring_options *options)
{
    uint64_t type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD;
    if (options->stacks == PERF_STACKS_FP)
        type |= PERF_SAMPLE_CALLCHAIN;
    if (options->stacks == PERF_STACKS_DWARF)
        type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    return type;
}

struct perfring *perfring_open(const struct perfring_options *options, char *why, size_t room)
{
    struct perfring *ring = nl_zalloc(sizeof *ring);
    ring->pid = options->pid;
    ring->layout.sample_type = sample_type(options);
    ring->layout.registers = options->stacks == PERF_STACKS_DWARF ? unwind_registers() : 0;
    bool done = !options->hz || choose_sampler(ring, options);
    if (done && options->hz) { /* before the rings: the kernel locks so much memory and no more */
        struct perf_event_attr attr = sampler(ring, options);
        ring->sample_ps = perfcost_sample_ps(&attr);
    }
    if (done && open_all(ring, options))
        return ring;
    tell_why(errno, why, room);
    perfring_close(ring);
    return NULL;
}

void perfring_close(struct perfring *ring)
{
    if (!ring)
        return;
    for (size_t i = 0; i < ring->ring_count; i++) {
        if (ring->rings[i].page)
            munmap(ring->rings[i].page, ring->rings[i].bytes);
        if (ring->rings[i].sampler >= 0)
            close(ring->rings[i].sampler);
        if (ring->rings[i].switches >= 0)
            close(ring->rings[i].switches);
    }
    nl_free(ring->rings);
    nl_free(ring->bytes);
    nl_free(ring->order);
    nl_free(ring->scratch);
    nl_free(ring->at);
    nl_free(ring);
}

void perfring_gate(struct perfring *ring, bool open)
{
    for (size_t i = 0; i < ring->ring_count; i++)
        if (ring->rings[i].sampler >= 0)
            (void)ioctl(ring->rings[i].sampler,
                        open ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void perfring_no_switches(struct perfring *ring)
{
    for (size_t i = 0; i < ring->ring_count; i++)
        if (ring->rings[i].switches >= 0)
            (void)ioctl(ring->rings[i].switches, PERF_EVENT_IOC_DISABLE, 0);
}

/* ---- reading ---- */

/* Copies data that wraps around the end of the ring. */
static void copy_out(struct perfring *ring, const struct ring *one, uint64_t from, size_t bytes)
{
    const unsigned char *data = (const unsigned char *)one->page + one->page->data_offset;
    size_t size = (size_t)one->page->data_size, start = (size_t)(from & (size - 1));
    size_t first = size - start < bytes ? size - start : bytes;
    nl_grow(&ring->bytes, &ring->cap, ring->used + bytes);
    memcpy(ring->bytes + ring->used, data + start, first);
    memcpy(ring->bytes + ring->used + first, data, bytes - first);
    ring->used += bytes;
}

static void take_ring(struct perfring *ring, const struct ring *one)
{
    uint64_t head = __atomic_load_n(&one->page->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = one->page->data_tail;
    if (head - tail <= one->page->data_size)
        copy_out(ring, one, tail, (size_t)(head - tail));
    else
        ring->damaged++;
    __atomic_store_n(&one->page->data_tail, head, __ATOMIC_RELEASE);
}

/* Notes the records from `from` on. */
static void list_records(struct perfring *ring, size_t from)
{
    struct perf_event_header head;
    struct perf_record record;
    for (; ring->used - from >= sizeof head; from += head.size) {
        memcpy(&head, ring->bytes + from, sizeof head);
        if (head.size < sizeof head || head.size > ring->used - from) {
            ring->damaged++;
            break;
        }
        if (!perf_record_read(&ring->layout, ring->bytes + from, head.size, &record)) {
            ring->damaged++;
            continue;
        }
        nl_grow(&ring->at, &ring->at_cap, ring->count + 1);
        nl_grow(&ring->order, &ring->order_cap, ring->count + 1);
        ring->at[ring->count] = from;
        ring->order[ring->count] = (struct nl_keyed){record.time, (uint32_t)ring->count};
        ring->count++;
    }
    ring->used = from;
}

/* Forgets what was handed out; the rest, which is little, moves to the front. */
static void keep_rest(struct perfring *ring)
{
    size_t left = ring->count - ring->next, used = 0;
    unsigned char *room = nl_alloc(ring->used + 1);
    for (size_t i = 0; i < left; i++) {
        struct perf_event_header head;
        const unsigned char *from = ring->bytes + ring->at[ring->order[ring->next + i].row];
        memcpy(&head, from, sizeof head);
        memcpy(room + used, from, head.size);
        used += head.size;
    }
    memcpy(ring->bytes, room, used);
    nl_free(room);
    ring->used = used;
    ring->count = ring->next = ring->ready = 0;
    list_records(ring, 0);
}

void perfring_fill(struct perfring *ring, int64_t now, bool last)
{
    nl_grow(&ring->bytes, &ring->cap, 1);
    keep_rest(ring);
    for (size_t i = 0; i < ring->ring_count; i++) {
        size_t from = ring->used;
        if (!ring->rings[i].page)
            continue;
        take_ring(ring, &ring->rings[i]);
        list_records(ring, from);
    }
    nl_grow(&ring->scratch, &ring->scratch_cap, ring->count + 1);
    nl_sort_keyed(ring->order, ring->scratch, ring->count);
    uint64_t until = last ? UINT64_MAX : (uint64_t)(now - SLACK_NS);
    while (ring->ready < ring->count && ring->order[ring->ready].key <= until)
        ring->ready++;
}

bool perfring_next(struct perfring *ring, struct perf_record *record)
{
    struct perf_event_header head;
    if (ring->next >= ring->ready)
        return false;
    const unsigned char *bytes = ring->bytes + ring->at[ring->order[ring->next++].row];
    memcpy(&head, bytes, sizeof head);
    return perf_record_read(&ring->layout, bytes, head.size, record);
}

uint64_t perfring_damaged(const struct perfring *ring)
{
    return ring->damaged;
}

const char *perfring_event(const struct perfring *ring)
{
    return ring->cycles ? "cycles" : "cpu-clock";
}

const char *perfring_unit(const struct perfring *ring)
{
    return ring->cycles ? "cycles" : "ns";
}

uint64_t perfring_sample_ps(const struct perfring *ring)
{
    return ring->sample_ps;
}

bool perfring_sees_kernel(const struct perfring *ring)
{
    return ring->kernel;
}

bool perfring_probe(char *text, size_t room)
{
    struct perfring ring = {.layout = {.sample_type = PERF_SAMPLE_IP}};
    struct perfring_options options = {.hz = 100, .asleep = true};
    if (!choose_sampler(&ring, &options)) {
        tell_why(errno, text, room);
        return false;
    }
    (void)snprintf(text, room, "samples by %s, of %s",
                   ring.cycles ? "cycles" : "the processor's clock (no cycle counter here)",
                   ring.kernel ? "programs and the kernel" : "programs, not of the kernel");
    return true;
}
