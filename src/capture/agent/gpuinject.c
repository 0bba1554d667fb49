/*
 * What CUDA's driver calls when a program starts CUDA, CUPTI's callbacks, the thread that empties
 * buffers, and the end. Nothing here prints, and nothing that goes wrong is reported to the
 * program: it is in the recording instead, and the run goes on with the CPU's side.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "capture/agent/cuptistate.h"
#include "capture/agent/gpucells.h"

#define EXPORTED      __attribute__((visibility("default")))
#define BUFFERS       64u /* 64 MiB; the consumer needs a fraction of it */
#define FLUSH_MS      500u
#define END_SECONDS   5
#define NOT_RECORDED  "GPU work not recorded"
#define SCRATCH_BYTES GPUPOOL_BYTES

static bool is_live(const struct gpu *gpu)
{
    return gpu && __atomic_load_n(&gpu->state, __ATOMIC_ACQUIRE) != GPU_DEAD;
}

/* ---- CUPTI's callbacks, in the program's threads: no lock, no allocation, no call of CUPTI ---- */

static void request(uint8_t **buffer, size_t *bytes, size_t *records)
{
    struct gpu *gpu = nl_agent.gpu;
    *records = 0;
    *buffer = is_live(gpu) ? gpupool_take(&gpu->pool) : NULL;
    *bytes = *buffer ? GPUPOOL_BYTES : 0;
    if (*buffer || gpu->version >= CUPTI_CUDA_12_9)
        return;
    /* Older versions may crash without a buffer: several may write to this one, none reads it. */
    __atomic_fetch_add(&gpu->scratched, 1, __ATOMIC_RELAXED);
    *buffer = gpu->scratch;
    *bytes = SCRATCH_BYTES;
}

static void complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    struct gpu *gpu = nl_agent.gpu;
    (void)bytes;
    if (is_live(gpu) && buffer)
        (void)gpupool_done(&gpu->pool, buffer, valid, context, stream);
}

static uint64_t monotonic(void)
{
    return (uint64_t)ticks_clock_ns(CLOCK_MONOTONIC);
}

/* What a context did is handed over before it goes; after a fatal error CUPTI has ended itself. */
static void notice(void *user, uint32_t domain, uint32_t id, const void *data)
{
    struct gpu *gpu = nl_agent.gpu;
    (void)user;
    (void)data;
    if (!is_live(gpu))
        return;
    if (domain == CUPTI_DOMAIN_STATE && id == CUPTI_FATAL_ERROR) {
        __atomic_store_n(&gpu->fatal, 1, __ATOMIC_RELEASE);
        gpupool_wake(&gpu->pool);
    } else if (domain == CUPTI_DOMAIN_RESOURCE && id == CUPTI_CONTEXT_DESTROY_STARTING &&
               !__atomic_load_n(&gpu->fatal, __ATOMIC_ACQUIRE)) {
        (void)gpu->cupti.flush_all(0);
    }
}

/* ---- the consumer ---- */

static void drain(struct gpu *gpu, uint32_t number)
{
    const struct gpupool_buffer *buffer = &gpu->pool.buffers[number];
    struct cupti_record *record = NULL;
    size_t dropped = 0;
    int result = CUPTI_NO_MORE;
    gpu_anchor(gpu);
    while (buffer->valid && (result = gpu->cupti.next_record(gpupool_bytes(&gpu->pool, number),
                                                             buffer->valid, &record)) == CUPTI_OK)
        gpu_record(gpu, record);
    gpu->damaged += result != CUPTI_NO_MORE;
    if (gpu->cupti.dropped(buffer->context, buffer->stream, &dropped) == CUPTI_OK)
        gpu_write_note(gpu->thread, "dropped: GPU records", dropped,
                       "CUPTI found no room for them");
}

static void drain_all(struct gpu *gpu)
{
    for (uint32_t link = gpupool_completed(&gpu->pool); link;) {
        uint32_t next = gpu->pool.buffers[link - 1].next;
        if (__atomic_load_n(&gpu->fatal, __ATOMIC_ACQUIRE))
            gpu->damaged++;
        else
            drain(gpu, link - 1);
        gpupool_give(&gpu->pool, link - 1);
        link = next;
    }
}

/* What was not written yet: after every round, so that a killed process has written all but the
 * last. */
static void write_totals(struct gpu *gpu)
{
    gpu_write_note(gpu->thread, "skipped: GPU records of unknown kinds", gpu->unknown, NULL);
    gpu_write_note(gpu->thread, "skipped: GPU buffers damaged from some record on", gpu->damaged,
                   NULL);
    gpu->unknown = gpu->damaged = 0;
    gpu_write_note(gpu->thread, "dropped: GPU buffers refused",
                   __atomic_exchange_n(&gpu->pool.refused, 0, __ATOMIC_RELAXED),
                   "all were full; the records lost are counted where CUPTI tells");
    gpu_write_note(gpu->thread, "dropped: GPU buffers of an unknown number of records",
                   __atomic_exchange_n(&gpu->scratched, 0, __ATOMIC_RELAXED),
                   "all were full, and this CUPTI cannot be refused one");
}

/* All that reading records costs the program happens on this thread; what
 * CUPTI does in calls does not. */
static void tell_cost(struct gpu *gpu)
{
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, (int64_t)ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    gpu_write_fact(gpu->thread, NL_REC_GPU_COST, text);
}

static void finish_cupti(struct gpu *gpu)
{
    bool fatal = __atomic_load_n(&gpu->fatal, __ATOMIC_ACQUIRE) != 0;
    /* Where nothing was recorded there is nothing to flush; CUPTI may then wait for ever. */
    if (!fatal && __atomic_load_n(&gpu->pool.taken, __ATOMIC_RELAXED) &&
        gpu->cupti.flush_all(CUPTI_FLUSH_FORCED) != CUPTI_OK)
        gpu_write_note(gpu->thread, "GPU records that CUPTI could not flush", 1, NULL);
    drain_all(gpu);
    write_totals(gpu);
    uint64_t out = __atomic_load_n(&gpu->pool.taken, __ATOMIC_RELAXED) -
                   __atomic_load_n(&gpu->pool.done, __ATOMIC_RELAXED);
    gpu_write_note(gpu->thread, "GPU buffers that CUPTI kept", out, "what is in them is missing");
    gpu_write_note(gpu->thread, "GPU recording ended by a fatal error of CUPTI", fatal,
                   "what came later is missing");
    gpu_write_shift(gpu->thread, &gpu->shift);
    tell_cost(gpu);
    gpu_write_fact(gpu->thread, NL_REC_GPU_STATE, "ended");
}

static void *consume(void *context)
{
    struct gpu *gpu = context;
    (void)prctl(PR_SET_NAME, "neurolens-gpu");
    gpu->thread = agent_enter();
    if (!gpu->thread) {
        __atomic_store_n(&gpu->state, GPU_DEAD, __ATOMIC_RELEASE);
        sem_post(&gpu->ended);
        return NULL;
    }
    gpu->thread->number = NL_REC_DRIVER;
    gpu_write_fact(gpu->thread, NL_REC_GPU_STATE, "begun");
    for (bool ending = false; !ending;) {
        gpupool_wait(&gpu->pool);
        ending = __atomic_load_n(&gpu->state, __ATOMIC_ACQUIRE) == GPU_ENDING;
        drain_all(gpu);
        write_totals(gpu);
    }
    finish_cupti(gpu);
    agent_leave(gpu->thread);
    sem_post(&gpu->ended);
    return NULL;
}

/* With no signal of the program's: its handlers expect its threads. */
static bool start_consumer(struct gpu *gpu)
{
    sigset_t all, before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0)
        return false;
    pthread_t consumer;
    bool done = pthread_create(&consumer, NULL, consume, gpu) == 0 && pthread_detach(consumer) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done;
}

/* ---- the end ---- */

/* CUPTI may hang in its flush: the consumer does it, and the program's end
 * waits a few seconds at most. */
static void at_exit(void)
{
    struct gpu *gpu = nl_agent.gpu;
    uint32_t live = GPU_LIVE;
    if (!gpu || gpu->pid != (uint32_t)getpid() ||
        !__atomic_compare_exchange_n(&gpu->state, &live, GPU_ENDING, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_RELAXED))
        return;
    gpupool_wake(&gpu->pool);
    (void)gpu_wait(&gpu->ended, (int64_t)END_SECONDS * 1000000000);
    __atomic_store_n(&gpu->state, GPU_DEAD, __ATOMIC_RELEASE); /* nobody empties buffers any more */
}

static void in_child(void)
{
    if (nl_agent.gpu)
        __atomic_store_n(&nl_agent.gpu->state, GPU_DEAD, __ATOMIC_RELEASE);
}

/* ---- the start ---- */

/* Not known to every driver and device; it costs time at each fault. */
static bool enable_unified_memory(struct gpu *gpu)
{
    struct cupti_unified_wish wishes[CUPTI_PAGINGS - 1];
    for (uint32_t i = 0; i < CUPTI_PAGINGS - 1; i++)
        wishes[i] = (struct cupti_unified_wish){CUPTI_ALL_DEVICES, i + 1, 0, 1};
    return gpu->cupti.unified_memory &&
           gpu->cupti.unified_memory(wishes, CUPTI_PAGINGS - 1) == CUPTI_OK &&
           gpu->cupti.activity_enable(CUPTI_UNIFIED_MEMORY) == CUPTI_OK;
}

/* Functions that only ask are left out, of the driver's all but launches, where this CUPTI can. */
static void choose_calls(struct gpu *gpu)
{
    const struct cupti_calls *cupti = &gpu->cupti;
    for (uint32_t i = 1; i < GPU_MAX_CALLS; i++) {
        if (cupti->enable_runtime_call && gpu->functions[0][i].skip)
            (void)cupti->enable_runtime_call(i, 0);
        if (cupti->enable_driver_call && gpu->functions[1][i].launch)
            (void)cupti->enable_driver_call(i, 1);
    }
}

static void enable_kinds(struct gpu *gpu)
{
    static const uint32_t all[] = {CUPTI_DEVICE,  CUPTI_CONTEXT,    CUPTI_STREAM,
                                   CUPTI_MEMCPY,  CUPTI_MEMCPY2,    CUPTI_MEMSET,
                                   CUPTI_RUNTIME, CUPTI_OVERHEAD,   CUPTI_SYNCHRONIZATION,
                                   CUPTI_MEMORY2, CUPTI_MEMORY_POOL};
    const struct cupti_calls *cupti = &gpu->cupti;
    bool wanted = true;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        wanted = cupti->activity_enable(all[i]) == CUPTI_OK && wanted;
    if (nl_agent.control->whole_graphs)
        wanted = cupti->activity_enable(CUPTI_GRAPH_TRACE) == CUPTI_OK && wanted;
    wanted = cupti->activity_enable(CUPTI_CONCURRENT_KERNEL) == CUPTI_OK && wanted;
    if (!cupti->enable_driver_call)
        wanted = cupti->activity_enable(CUPTI_DRIVER) == CUPTI_OK && wanted;
    choose_calls(gpu);
    (void)cupti->activity_enable(CUPTI_JIT); /* CUDA 11.8 has it not */
    if (nl_agent.control->unified_memory && !enable_unified_memory(gpu))
        gpu_tell_now("unified memory not recorded", "CUPTI cannot, with this driver or device");
    if (!wanted)
        gpu_tell_now("GPU work recorded in part", "CUPTI refused some kinds of records");
}

static void configure(struct gpu *gpu, void *subscriber)
{
    const struct cupti_calls *cupti = &gpu->cupti;
    uint8_t yes = 1;
    size_t bytes = sizeof yes;
    if (cupti->set_thread_ids)
        (void)cupti->set_thread_ids(CUPTI_THREAD_IDS_OF_THE_SYSTEM);
    if (gpu->version >= CUPTI_CUDA_12_3)
        (void)cupti->set_attribute(CUPTI_PER_THREAD_BUFFER, &bytes, &yes);
    gpu->wall_clock = !cupti->register_time || cupti->register_time(monotonic) != CUPTI_OK;
    gpu_anchor(gpu);
    (void)cupti->enable_callback(1, subscriber, CUPTI_DOMAIN_RESOURCE,
                                 CUPTI_CONTEXT_DESTROY_STARTING);
    (void)cupti->enable_domain(1, subscriber, CUPTI_DOMAIN_STATE);
}

/* Who holds CUPTI, by CUPTI's answer if it has one, else by the libraries of the process. */
static void tell_holder(struct gpu *gpu, char *why, size_t room)
{
    char holder[80] = "";
    struct cupti_subscriber wish = {
        .size = sizeof wish, .name = "neurolens", .holder = holder, .holder_bytes = sizeof holder};
    void *subscriber = NULL;
    if (gpu->cupti.subscribe_named && gpu->cupti.unsubscribe &&
        gpu->cupti.subscribe_named(&subscriber, notice, NULL, &wish) == CUPTI_OK)
        (void)gpu->cupti.unsubscribe(subscriber); /* it has just gone: too late for us */
    holder[sizeof holder - 1] = '\0';
    (void)snprintf(why, room, "CUPTI is in use by another tool: %s",
                   holder[0] ? holder : cupti_holder());
}

/* The library, the right to use it. False: why not. */
static bool reach_cupti(struct gpu *gpu, void **subscriber, char *why, size_t room)
{
    if (!cupti_open(&gpu->cupti, why, room))
        return false;
    if (gpu->cupti.get_version(&gpu->version) != CUPTI_OK || gpu->version < CUPTI_CUDA_11_8) {
        (void)snprintf(why, room, "CUPTI of version %u; CUDA 11.8 or newer is needed",
                       gpu->version);
        return false;
    }
    /* First: without a driver, or with another tool, this says so, and nothing else does. */
    int result = gpu->cupti.subscribe(subscriber, notice, NULL);
    if (result == CUPTI_HELD)
        tell_holder(gpu, why, room);
    else if (result != CUPTI_OK)
        (void)snprintf(why, room, "CUPTI cannot be used here (error %d)", result);
    return result == CUPTI_OK;
}

static bool make_buffers(struct gpu *gpu)
{
    uint32_t most = gpu->version >= CUPTI_CUDA_12_9 ? BUFFERS : MAX_GPUPOOL;
    void *scratch = mmap(NULL, SCRATCH_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    gpu->scratch = scratch;
    return scratch != MAP_FAILED && sem_init(&gpu->ended, 0, 0) == 0 &&
           gpupool_init(&gpu->pool, most);
}

/* NULL: it works; else why not. */
static const char *start_cupti(struct gpu *gpu, char *text, size_t room)
{
    void *subscriber = NULL;
    if (!reach_cupti(gpu, &subscriber, text, room))
        return text;
    if (!make_buffers(gpu))
        return "no memory for buffers";
    gpu_learn_functions(gpu);
    configure(gpu, subscriber);
    nl_agent.gpu = gpu;
    if (atexit(at_exit) != 0 || pthread_atfork(NULL, NULL, in_child) != 0)
        return "the end of the program cannot be observed";
    gpu->state = GPU_LIVE;
    if (!start_consumer(gpu)) {
        gpu->state = GPU_DEAD;
        return "no thread can be made";
    }
    if (gpu->cupti.register_callbacks(request, complete) != CUPTI_OK)
        return "CUPTI takes no buffers";
    if (gpu->cupti.flush_period)
        (void)gpu->cupti.flush_period(FLUSH_MS);
    enable_kinds(gpu);
    if (gpu->version >= CUPTI_CUDA_14)
        gpu_tell_now("GPU work recorded with a CUPTI newer than is known", "check its numbers");
    return NULL;
}

EXPORTED int InitializeInjection(void);

/* Always 1: the program goes on. */
EXPORTED int InitializeInjection(void)
{
    char text[256] = "";
    uint32_t pid = (uint32_t)getpid();
    agent_start(NULL);
    if (!agent_ready() || (nl_agent.gpu && nl_agent.gpu->pid == pid))
        return 1;
    void *memory =
        mmap(NULL, sizeof(struct gpu), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return 1;
    struct gpu *gpu = memory;
    gpu->pid = pid;
    const char *why = start_cupti(gpu, text, sizeof text);
    if (why)
        gpu_tell_now(NOT_RECORDED, why);
    if (!nl_agent.gpu)
        munmap(gpu, sizeof *gpu);
    return 1;
}
