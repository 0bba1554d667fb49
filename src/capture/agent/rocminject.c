/*
 * What AMD's runtime calls when a program starts it, rocprofiler-sdk's callbacks, and the end.
 * Nothing here prints, and nothing that goes wrong is reported to the program: it is in the
 * recording instead, and the run goes on with the CPU's side.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/nvtxinject.h"
#include "capture/agent/rocmstate.h"
#include "capture/agent/rocmcells.h"

#define EXPORTED      __attribute__((visibility("default")))
#define BUFFER_BYTES  ((size_t)16 << 20) /* some 80,000 records */
#define WATERMARK     ((size_t)1 << 20)
#define FLUSH_NS      500000000
#define END_SECONDS   5
#define NOT_RECORDED  "GPU work not recorded"
#define RANGE_OF_ROCM ((uint64_t)1 << 62) /* agent_range counts from 1 */

static bool is_live(const struct rocm *rocm)
{
    return rocm && __atomic_load_n(&rocm->state, __ATOMIC_ACQUIRE) != ROCM_DEAD &&
           rocm->pid == (uint32_t)getpid();
}

/* ---- the clock ---- */

/* rocprofiler counts suspended time, too (CLOCK_BOOTTIME): the difference to ours, from the closest
 * of a few readings. False: it does not give its time. */
static bool anchor(struct rocm *rocm)
{
    int64_t closest = INT64_MAX, shift = 0;
    for (int i = 0; i < 5; i++) {
        uint64_t stamp = 0;
        int64_t before = ticks_clock_ns(CLOCK_MONOTONIC);
        if (rocm->calls.timestamp(&stamp) != ROCM_OK)
            return rocm->shift.known;
        int64_t width = ticks_clock_ns(CLOCK_MONOTONIC) - before;
        if (width >= 0 && width < closest) {
            closest = width;
            shift = (int64_t)stamp - (before + width / 2);
        }
    }
    gpu_shift_found(&rocm->shift, shift, closest);
    return true;
}

/* ---- callbacks ---- */

/* Who writes cells of the driver; NULL: the thread is a recorded one of the
 * program's, or is busy. */
static struct thread *enter(void)
{
    struct thread *thread = agent_enter();
    if (thread && !thread->number)
        thread->number = NL_REC_DRIVER;
    if (thread && thread->number != NL_REC_DRIVER) {
        agent_leave(thread);
        return NULL;
    }
    return thread;
}

/* The buffer's, in a thread of rocprofiler's. */
static void take_buffer(uint64_t context, uint64_t buffer, struct rocm_header **headers,
                        size_t count, void *user, uint64_t dropped)
{
    struct rocm *rocm = user;
    (void)context;
    (void)buffer;
    if (!is_live(rocm))
        return;
    pthread_mutex_lock(&rocm->lock);
    rocm->thread = enter();
    if (rocm->thread) {
        bool timed = anchor(rocm);
        for (size_t i = 0; timed && i < count; i++)
            rocm_record(rocm, headers[i]);
        if (!timed)
            gpu_write_note(rocm->thread, "dropped: GPU records without a clock", count,
                           "rocprofiler does not tell its time");
        /* It counts from the beginning. */
        if (dropped > rocm->dropped)
            gpu_write_note(rocm->thread, "dropped: GPU records", dropped - rocm->dropped,
                           "rocprofiler's buffer had no room for them");
        gpu_write_note(rocm->thread, "skipped: GPU records of unknown kinds", rocm->unknown, NULL);
        gpu_write_note(rocm->thread, "kernels of which the queue is not known", rocm->queueless,
                       "there were too many queues");
        rocm->dropped = dropped > rocm->dropped ? dropped : rocm->dropped;
        rocm->unknown = rocm->queueless = 0;
        agent_leave(rocm->thread);
    } else {
        gpu_tell_now("dropped: GPU buffers handed over in a thread of the program", NULL);
    }
    pthread_mutex_unlock(&rocm->lock);
}

static void on_code_object(struct rocm_notice notice, uint64_t *data, void *user)
{
    struct rocm *rocm = user;
    (void)data;
    if (is_live(rocm) && notice.operation == ROCM_KERNEL_SYMBOL && notice.phase == ROCM_ENTER &&
        notice.payload)
        rocm_learn_kernel(rocm, notice.payload);
}

/* roctx: as NVTX, its ranges are the program's own words. */
static void on_marker(struct rocm_notice notice, uint64_t *data, void *user)
{
    const struct rocm_marker_data *marker = notice.payload;
    (void)data;
    if (!is_live(user) || !marker)
        return;
    if (notice.operation == ROCM_START) {
        if (notice.phase == ROCM_EXIT)
            nvtx_start_text(marker->args.message, RANGE_OF_ROCM | marker->result);
        return;
    }
    if (notice.phase != ROCM_ENTER)
        return;
    switch (notice.operation) {
    case ROCM_MARK: nvtx_mark_text(marker->args.message); break;
    case ROCM_PUSH: (void)nvtx_push_text(marker->args.message); break;
    case ROCM_POP: (void)nvtx_pop(); break;
    case ROCM_STOP: nvtx_end_range(RANGE_OF_ROCM | marker->args.range); break;
    default: break;
    }
}

/* ---- the thread that flushes: a killed process has written all but the last half second ---- */

static void finish_rocprofiler(struct rocm *rocm)
{
    (void)rocm->calls.stop_context(rocm->context);
    bool flushed = rocm->calls.flush_buffer(rocm->buffer) == ROCM_OK;
    pthread_mutex_lock(&rocm->lock);
    struct thread *thread = enter();
    if (thread) {
        gpu_write_note(thread, "GPU records that could not be flushed", !flushed, NULL);
        gpu_write_note(thread, "kernels without a name",
                       __atomic_load_n(&rocm->unnamed, __ATOMIC_RELAXED), "too many were loaded");
        gpu_write_shift(thread, &rocm->shift);
        gpu_write_fact(thread, NL_REC_GPU_STATE, "ended");
        agent_leave(thread);
    }
    pthread_mutex_unlock(&rocm->lock);
}

static void *flush(void *user)
{
    struct rocm *rocm = user;
    (void)prctl(PR_SET_NAME, "neurolens-gpu");
    pthread_mutex_lock(&rocm->lock);
    rocm->thread = enter();
    if (rocm->thread) {
        gpu_write_fact(rocm->thread, NL_REC_GPU_STATE, "begun");
        rocm_devices(rocm);
        agent_leave(rocm->thread);
    }
    pthread_mutex_unlock(&rocm->lock);
    while (!gpu_wait(&rocm->wake, FLUSH_NS))
        (void)rocm->calls.flush_buffer(rocm->buffer);
    finish_rocprofiler(rocm);
    sem_post(&rocm->ended);
    return NULL;
}

/* With no signal of the program's: its handlers expect its threads. */
static bool start_flushing(struct rocm *rocm)
{
    sigset_t all, before;
    pthread_t thread;
    sigfillset(&all);
    if (sem_init(&rocm->wake, 0, 0) != 0 || sem_init(&rocm->ended, 0, 0) != 0 ||
        pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    bool done = pthread_create(&thread, NULL, flush, rocm) == 0 && pthread_detach(thread) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

/* ---- the end ---- */

/* rocprofiler may hang in its flush: the thread does it, and the program's end
 * waits a few seconds at most. */
static void finalize(void *user)
{
    struct rocm *rocm = user;
    uint32_t live = ROCM_LIVE;
    if (rocm->pid != (uint32_t)getpid() ||
        !__atomic_compare_exchange_n(&rocm->state, &live, ROCM_ENDING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    sem_post(&rocm->wake);
    (void)gpu_wait(&rocm->ended, (int64_t)END_SECONDS * 1000000000);
    __atomic_store_n(&rocm->state, ROCM_DEAD, __ATOMIC_RELEASE);
}

/* ---- the start ---- */

static int take_agents(int version, const void **agents, size_t count, void *user)
{
    struct rocm *rocm = user;
    (void)version;
    for (size_t i = 0; i < count && rocm->agent_count < ROCM_MAX_AGENTS; i++) {
        struct rocm_agent *agent = &rocm->agents[rocm->agent_count++];
        memcpy(agent, agents[i], sizeof *agent);
    }
    return ROCM_OK;
}

/* They ask, change nothing, and are called between any two launches. */
static bool only_asks(const char *name)
{
    static const char *const asking[] = {"hipGetDevice",          "hipSetDevice",
                                         "hipGetLastError",       "hipPeekAtLastError",
                                         "hipEventQuery",         "hipStreamQuery",
                                         "hipDeviceGetAttribute", "hipStreamIsCapturing",
                                         "hipGetDeviceCount",     "hipPointerGetAttributes"};
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++)
        if (strcmp(name, asking[i]) == 0)
            return true;
    return false;
}

/* The calls that are recorded; 0: names cannot be had. */
static size_t choose_calls(const struct rocm *rocm, int32_t *operations)
{
    size_t count = 0;
    for (int32_t i = 0; i < (int32_t)ROCM_MAX_OPERATIONS; i++) {
        const char *name = NULL;
        uint64_t length = 0;
        if (rocm->calls.operation_name(ROCM_HIP_CALL, i, &name, &length) == ROCM_OK && name &&
            !only_asks(name))
            operations[count++] = i;
    }
    return count;
}

static bool trace(struct rocm *rocm)
{
    static const int kinds[] = {ROCM_KERNEL, ROCM_COPY, ROCM_ALLOCATION};
    const struct rocm_calls *calls = &rocm->calls;
    int32_t operations[ROCM_MAX_OPERATIONS];
    size_t count = choose_calls(rocm, operations);
    bool all = calls->trace_buffer(rocm->context, ROCM_HIP_CALL, count ? operations : NULL, count,
                                   rocm->buffer) == ROCM_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        all = calls->trace_buffer(rocm->context, kinds[i], NULL, 0, rocm->buffer) == ROCM_OK && all;
    all = calls->trace_callback(rocm->context, ROCM_ON_CODE_OBJECT, NULL, 0, on_code_object,
                                rocm) == ROCM_OK &&
          all;
    return calls->trace_callback(rocm->context, ROCM_ON_MARKER, NULL, 0, on_marker, rocm) ==
               ROCM_OK &&
           all;
}

/* NULL: it works; else why not. */
static const char *start_rocprofiler(struct rocm *rocm)
{
    const struct rocm_calls *calls = &rocm->calls;
    if (calls->agents(ROCM_AGENTS_VERSION, take_agents, sizeof(struct rocm_agent), rocm) != ROCM_OK)
        return "rocprofiler does not tell its devices";
    if (calls->create_context(&rocm->context) != ROCM_OK ||
        calls->create_buffer(rocm->context, BUFFER_BYTES, WATERMARK, ROCM_DISCARD, take_buffer,
                             rocm, &rocm->buffer) != ROCM_OK)
        return "rocprofiler makes no buffer";
    bool all = trace(rocm);
    (void)anchor(rocm); /* so that the first buffer has what changed since */
    __atomic_store_n(&rocm->state, ROCM_LIVE, __ATOMIC_RELEASE);
    if (calls->start_context(rocm->context) != ROCM_OK)
        return "rocprofiler does not start; another tool may be using it";
    if (!start_flushing(rocm)) {
        (void)calls->stop_context(rocm->context);
        return "no thread can be made";
    }
    if (!all)
        gpu_tell_now("GPU work recorded in part", "rocprofiler refused some kinds of records");
    return NULL;
}

/* Always 0: the program goes on. */
static int initialize(void (*end)(struct rocm_client), void *user)
{
    struct rocm *rocm = user;
    (void)end;
    const char *why = start_rocprofiler(rocm);
    if (!why)
        return 0;
    __atomic_store_n(&rocm->state, ROCM_DEAD, __ATOMIC_RELEASE);
    gpu_tell_now(NOT_RECORDED, why);
    return 0;
}

static bool load_symbols(struct rocm_calls *calls, char *why, size_t room)
{
    void *library = dlopen("librocprofiler-sdk.so.1", RTLD_NOLOAD | RTLD_LAZY);
    void *found;
    if (!library)
        library = dlopen("librocprofiler-sdk.so", RTLD_NOLOAD | RTLD_LAZY);
#define ROCM_CALL(member, symbol, parameters)                                                      \
    found = library ? dlsym(library, #symbol) : NULL;                                              \
    if (!found)                                                                                    \
        found = dlsym(RTLD_DEFAULT, #symbol);                                                      \
    if (!found) {                                                                                  \
        (void)snprintf(why, room, "rocprofiler-sdk has no %s", #symbol);                           \
        return false;                                                                              \
    }                                                                                              \
    memcpy(&calls->member, &found, sizeof found);
#include "capture/agent/rocmcalls.def"
#undef ROCM_CALL
    return true;
}

static struct rocm *make(uint32_t version, char *why, size_t room)
{
    const size_t kernels = ROCM_MAX_SYMBOLS * sizeof(struct rocm_known);
    void *memory = mmap(NULL, sizeof(struct rocm) + kernels, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        (void)snprintf(why, room, "no memory for buffers");
        return NULL;
    }
    struct rocm *rocm = memory;
    rocm->pid = (uint32_t)getpid();
    rocm->kernels = (struct rocm_known *)(rocm + 1);
    if (version < ROCM_VERSION_FIRST)
        (void)snprintf(why, room, "rocprofiler-sdk %u.%u; 1.0 (ROCm 7) or newer is needed",
                       version / 10000, version / 100 % 100);
    else if (pthread_mutex_init(&rocm->lock, NULL) == 0 && load_symbols(&rocm->calls, why, room))
        return rocm;
    munmap(memory, sizeof(struct rocm) + kernels);
    return NULL;
}

EXPORTED struct rocm_tool *rocprofiler_configure(uint32_t version, const char *runtime,
                                                 uint32_t priority, struct rocm_client *client);

/* NULL: we want nothing. Called once per process, before its first use of a GPU. */
EXPORTED struct rocm_tool *rocprofiler_configure(uint32_t version, const char *runtime,
                                                 uint32_t priority, struct rocm_client *client)
{
    char why[256] = "";
    (void)runtime;
    (void)priority;
    agent_start(NULL);
    if (!agent_ready() || (nl_agent.rocm && nl_agent.rocm->pid == (uint32_t)getpid()))
        return NULL;
    struct rocm *rocm = make(version, why, sizeof why);
    if (!rocm) {
        gpu_tell_now(NOT_RECORDED, why);
        return NULL;
    }
    if (version >= ROCM_VERSION_NEW)
        gpu_tell_now("GPU work recorded with a rocprofiler newer than is known",
                     "check its numbers");
    if (client)
        client->name = "neurolens";
    nl_agent.rocm = rocm;
    rocm->tool = (struct rocm_tool){sizeof rocm->tool, initialize, finalize, rocm};
    return &rocm->tool;
}
