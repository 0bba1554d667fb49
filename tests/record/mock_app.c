/*
 * A program that "uses CUDA": loads what $CUDA_INJECTION64_PATH names as the driver would,
 * and has mock_cupti.c record work. What it did goes to FILE.PID, a line of
 * comma-separated values for each record.
 *
 *   mock_app LIBRARY FILE THREADS ROUNDS [WORD…]
 *
 *   gpus=N  devices (1)            zero=N  every Nth kernel has no times     huge   names of 9,000 bytes
 *   fork    a child that forks after CUDA began, works on in vain, and exits with 3
 *   procs=N children that begin CUDA themselves, likewise all
 *   jit     the driver compiles kernels now and then
 *   exit=N  status at the end      _exit   without handlers                  kill   SIGKILL at the end
 *   pause=US  every 16th round sleeps so long before it goes on
 *   idle    CUDA is begun, nothing is done                                   twice  it is begun twice
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/agent/cuptiabi.h"
#include "mock_cupti.h"
#include "mockwords.h"

static int (*put)(const void *record, size_t bytes);
static int (*wants_call)(int driver, uint32_t id);
static uint64_t (*now)(void);
static void (*destroy_context)(void);
static int rounds, gpus;
static uint32_t correlations;
static char huge[9001];

struct worker {
    uint32_t device, context;
    uint64_t busy;  /* until when the device's stream is */
    uint64_t start; /* of the work that the last call launched */
    uint64_t kernels;
};

/* Until when devices have work of calls that have returned. */
static uint64_t device_busy[64];

static uint64_t *busy_of(const struct worker *worker)
{
    return &device_busy[worker->device % 64];
}

/* The device's clock may be off ours by `skew`; its time for work that takes `ns`. */
static void reserve(struct worker *worker, uint64_t ns)
{
    uint64_t start = now() + 2000 + (uint64_t)option("skew", 0);
    worker->start = start > worker->busy ? start : worker->busy;
    worker->busy = worker->start + ns;
    uint64_t until = __atomic_load_n(busy_of(worker), __ATOMIC_ACQUIRE);
    while (until < worker->busy &&
           !__atomic_compare_exchange_n(busy_of(worker), &until, worker->busy, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
        ;
}

static void wait_until_idle(const struct worker *worker)
{
    uint64_t until = __atomic_load_n(busy_of(worker), __ATOMIC_ACQUIRE);
    while (now() + (uint64_t)option("skew", 0) < until)
        ;
}

/* A call that takes from now to now; returns its correlation. With `ns` it launches work that takes
 * so long, with 0 it waits for all work of the device; without a worker it does neither. */
static uint32_t call_for(struct worker *worker, uint64_t ns, int driver, uint32_t id,
                         uint32_t correlation)
{
    static const char *const names[2][10] = {{MOCK_RUNTIME_CALLS}, {MOCK_DRIVER_CALLS}};
    struct cupti_call record = {.kind = driver ? CUPTI_DRIVER : CUPTI_RUNTIME,
                                .cbid = id,
                                .start = now(),
                                .process_id = (uint32_t)getpid(),
                                .thread_id = (uint32_t)gettid(),
                                .correlation_id = correlation};
    if (worker && ns)
        reserve(worker, ns);
    else if (worker)
        wait_until_idle(worker);
    record.end = now();
    if (wants_call(driver, id))
        put(&record, sizeof record);
    TELL("call,%s,%lu,%lu,%u,%u\n", names[driver][id], LONG(record.start), LONG(record.end),
         record.thread_id, correlation);
    return correlation;
}

static uint32_t call(int driver, uint32_t id, uint32_t correlation)
{
    return call_for(NULL, 0, driver, id, correlation);
}

static uint32_t next(void)
{
    return __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
}

static uint64_t length_of(int i)
{
    return 1000 + (uint64_t)i % 7 * 100;
}

static void kernel(struct worker *worker, const char *name, uint32_t correlation, int i,
                   uint32_t graph, uint64_t node)
{
    uint64_t ns = length_of(i), start = worker->start;
    worker->start += ns;
    struct cupti_kernel record = {.kind = CUPTI_CONCURRENT_KERNEL,
                                  .registers_per_thread = (uint16_t)(32 + i % 5),
                                  .start = start,
                                  .end = start + ns,
                                  .device_id = worker->device,
                                  .context_id = worker->context,
                                  .stream_id = 7 + (uint32_t)i % 3,
                                  .grid_x = 128 + i % 11,
                                  .grid_y = 2,
                                  .grid_z = 3,
                                  .block_x = 256,
                                  .block_y = 1 + i % 2,
                                  .block_z = 1,
                                  .static_shared_memory = 1024,
                                  .dynamic_shared_memory = 16 * (i % 4),
                                  .correlation_id = correlation,
                                  .name = name,
                                  .graph_node_id = node,
                                  .graph_id = graph};
    long zero = option("zero", 0);
    if (zero && ++worker->kernels % (uint64_t)zero == 0)
        record.start = record.end = 0;
    put(&record, sizeof record);
    TELL("kernel,%s,%lu,%lu,%u,%u,%u,%u,%d,%d,%d,%d,%d,%d,%u,%d,%d,%u,%lu\n", name,
         LONG(record.start), LONG(record.end), record.device_id, record.context_id,
         record.stream_id, correlation, record.grid_x, record.grid_y, record.grid_z, record.block_x,
         record.block_y, record.block_z, record.registers_per_thread, record.static_shared_memory,
         record.dynamic_shared_memory, graph, LONG(node));
}

static void copies(struct worker *worker, int i)
{
    uint32_t correlation = call_for(worker, 500, 0, MOCK_MEMCPY, next());
    uint64_t start = worker->start;
    struct cupti_copy copy = {.kind = CUPTI_MEMCPY,
                              .copy_kind = (uint8_t)(1 + i % 2),
                              .src_kind = i % 2 ? 3 : 2,
                              .dst_kind = i % 2 ? 1 : 3,
                              .bytes = 4096u + (uint64_t)i,
                              .start = start,
                              .end = start + 500,
                              .device_id = worker->device,
                              .context_id = worker->context,
                              .stream_id = 7,
                              .correlation_id = correlation};
    put(&copy, sizeof copy);
    TELL("copy,%s,%lu,%lu,%u,%u,%u,%u,%lu,%s,%s,,\n", i % 2 ? "DtoH" : "HtoD", LONG(start),
         LONG(copy.end), worker->device, worker->context, 7u, copy.correlation_id, LONG(copy.bytes),
         i % 2 ? "device" : "pinned", i % 2 ? "pageable" : "device");
    correlation = call_for(worker, 300, 0, MOCK_PEER, next());
    start = worker->start;
    struct cupti_peer_copy peer = {.kind = CUPTI_MEMCPY2,
                                   .copy_kind = 10,
                                   .src_kind = 3,
                                   .dst_kind = 3,
                                   .bytes = 1u << 20,
                                   .start = start,
                                   .end = start + 300,
                                   .device_id = worker->device,
                                   .context_id = worker->context,
                                   .stream_id = 8,
                                   .src_device_id = worker->device,
                                   .dst_device_id = worker->device + 1,
                                   .correlation_id = correlation};
    put(&peer, sizeof peer);
    TELL("copy,PtoP,%lu,%lu,%u,%u,%u,%u,%lu,device,device,%u,%u\n", LONG(start), LONG(peer.end),
         worker->device, worker->context, 8u, peer.correlation_id, LONG(peer.bytes), worker->device,
         worker->device + 1);
}

static void fill(struct worker *worker, int i)
{
    uint32_t correlation = call_for(worker, 200, 0, MOCK_MEMSET, next());
    uint64_t start = worker->start;
    struct cupti_fill record = {.kind = CUPTI_MEMSET,
                                .value = (uint32_t)i & 0xff,
                                .bytes = 64u * (uint64_t)i,
                                .start = start,
                                .end = start + 200,
                                .device_id = worker->device,
                                .context_id = worker->context,
                                .stream_id = 9,
                                .memory_kind = 3,
                                .correlation_id = correlation};
    put(&record, sizeof record);
    TELL("memset,%u,%lu,%lu,%u,%u,%u,%u,%lu\n", record.value, LONG(start), LONG(record.end),
         worker->device, worker->context, 9u, record.correlation_id, LONG(record.bytes));
}

static void wait_for(struct worker *worker, int i)
{
    struct cupti_wait record = {.kind = CUPTI_SYNCHRONIZATION,
                                .type = i % 2 ? 3 : 4,
                                .start = now(),
                                .correlation_id = call_for(worker, 0, 0, MOCK_SYNC, next()),
                                .context_id = worker->context,
                                .stream_id = i % 2 ? 7 : UINT32_MAX,
                                .cuda_event_id = UINT32_MAX};
    record.end = now();
    put(&record, sizeof record);
    TELL("sync,%s,%lu,%lu,%u,%s,%u\n", i % 2 ? "stream" : "context", LONG(record.start),
         LONG(record.end), worker->device, i % 2 ? "7" : "", record.correlation_id);
}

static void allocate(const struct worker *worker, int i)
{
    struct cupti_memory record = {.kind = CUPTI_MEMORY2,
                                  .memory_operation_type = 1,
                                  .memory_kind = 3,
                                  .correlation_id = call(0, MOCK_MALLOC, next()),
                                  .address = 0x7f0000000000u + (uint64_t)i * 4096,
                                  .bytes = 512u * (uint64_t)(i + 1),
                                  .timestamp = now(),
                                  .process_id = (uint32_t)getpid(),
                                  .device_id = worker->device,
                                  .context_id = worker->context,
                                  .stream_id = UINT32_MAX};
    put(&record, sizeof record);
    TELL("memory,alloc,%lu,%lu,%ld,%u\n", LONG(record.timestamp), LONG(record.address),
         (long)record.bytes, worker->device);
    record.memory_operation_type = 2;
    record.correlation_id = call(0, MOCK_FREE, next());
    record.timestamp = now();
    put(&record, sizeof record);
    TELL("memory,free,%lu,%lu,%ld,%u\n", LONG(record.timestamp), LONG(record.address),
         -(long)record.bytes, worker->device);
}

static void graph(struct worker *worker, int i)
{
    uint32_t correlation = call_for(worker, 5000, 0, MOCK_GRAPH_LAUNCH, next());
    uint64_t start = worker->start;
    struct cupti_whole_graph record = {.kind = CUPTI_GRAPH_TRACE,
                                       .correlation_id = correlation,
                                       .start = start,
                                       .end = start + 5000,
                                       .device_id = worker->device,
                                       .graph_id = 5,
                                       .context_id = worker->context,
                                       .stream_id = 7};
    if (put(&record, sizeof record)) {
        TELL("graph,5,%lu,%lu,%u,%u\n", LONG(start), LONG(record.end), worker->device, correlation);
        return;
    }
    for (uint64_t node = 1; node <= 3; node++)
        kernel(worker, "graph_node", correlation, i, 5, 100 + node);
}

/* Pages that move count as copies; what else happens to them, and compilations, as slices. */
static void pages(const struct worker *worker, int i)
{
    static const struct {
        const char *copy, *name;
    } pagings[CUPTI_PAGINGS] = {{NULL, NULL},
                                {"UVM HtoD", NULL},
                                {"UVM DtoH", NULL},
                                {NULL, "page fault on the CPU"},
                                {NULL, "page fault on the GPU"},
                                {NULL, "pages thrash"},
                                {NULL, "accesses throttled"},
                                {NULL, "pages mapped remotely"},
                                {"UVM DtoD", NULL}};
    uint32_t counter = (uint32_t)i % (CUPTI_PAGINGS - 1) + 1;
    bool at_once =
        counter == CUPTI_FAULT_ON_HOST || counter == CUPTI_THRASHING || counter == CUPTI_REMOTE_MAP;
    bool nowhere = counter == CUPTI_FAULT_ON_HOST || counter == CUPTI_THRASHING;
    struct cupti_unified record = {.kind = CUPTI_UNIFIED_MEMORY,
                                   .counter = counter,
                                   .value = 65536u * (uint64_t)(i + 1),
                                   .start = now(),
                                   .address = 0x7fff0000u,
                                   .from = worker->device,
                                   .to = worker->device};
    record.end = at_once ? 0 : record.start + 700;
    if (!put(&record, sizeof record))
        return;
    if (pagings[counter].copy)
        TELL("migration,%s,%lu,%lu,%u,%lu\n", pagings[counter].copy, LONG(record.start),
             LONG(record.end), worker->device, LONG(record.value));
    else if (nowhere)
        TELL("paging,%s,%lu,%lu,\n", pagings[counter].name, LONG(record.start), LONG(record.start));
    else
        TELL("paging,%s,%lu,%lu,%u\n", pagings[counter].name, LONG(record.start),
             LONG(at_once ? record.start : record.end), worker->device);
}

static void jit(int i)
{
    static const char *const names[] = {"CUDA JIT: PTX to machine code had from the cache",
                                        "CUDA JIT: PTX to machine code put into the cache",
                                        "CUDA JIT: PTX to machine code compiled"};
    struct cupti_jit record = {
        .kind = CUPTI_JIT, .entry = 1, .operation = (uint32_t)i % 3 + 1, .start = now()};
    record.end = record.start + 20000;
    if (put(&record, sizeof record))
        TELL("jit,%s,%lu,%lu\n", names[i % 3], LONG(record.start), LONG(record.end));
}

static void *work(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < rounds; i++) {
        const char *name = option("huge", 0) && i % 3 == 0 ? huge : i % 2 ? "gemm<float>" : "relu";
        (void)call(0, MOCK_GET_DEVICE, next());
        bool by_driver = i % 5 == 4;
        kernel(worker, name,
               call_for(worker, length_of(i), by_driver,
                        by_driver ? MOCK_DRIVER_LAUNCH : MOCK_LAUNCH, next()),
               i, 0, 0);
        if (i % 4 == 1)
            copies(worker, i);
        if (i % 4 == 2)
            fill(worker, i);
        if (i % 8 == 3)
            wait_for(worker, i);
        if (i % 8 == 6)
            wait_for(worker, i);
        if (i % 16 == 5)
            allocate(worker, i);
        if (i % 16 == 9)
            graph(worker, i);
        pages(worker, i);
        if (option("jit", 0) && i % 32 == 0)
            jit(i / 32);
        if (i % 64 == 3)
            (void)call(1, MOCK_CTX_GET, next());
        if (i % 16 == 15)
            usleep((useconds_t)option("pause", 0));
    }
    return NULL;
}

static void describe_devices(void)
{
    struct cupti_stream stream = {
        .kind = CUPTI_STREAM, .context_id = 1, .stream_id = 7, .priority = (uint32_t)-5};
    struct cupti_overhead overhead = {.kind = CUPTI_OVERHEAD,
                                      .overhead_kind = 1 << 16,
                                      .object_kind = CUPTI_OBJECT_THREAD,
                                      .object_id = {(uint32_t)getpid(), (uint32_t)gettid()},
                                      .start = now()};
    struct cupti_memory_pool pool = {.kind = CUPTI_MEMORY_POOL,
                                     .memory_pool_operation_type = 1,
                                     .memory_pool_type = 1,
                                     .address = 0x1234,
                                     .size = 1u << 25,
                                     .timestamp = now()};
    for (uint32_t i = 0; i < (uint32_t)gpus; i++) {
        struct cupti_device device = {.kind = CUPTI_DEVICE,
                                      .global_memory_bandwidth = 4800000000u / 1000,
                                      .global_memory_size = (uint64_t)141 << 30,
                                      .num_threads_per_warp = 32,
                                      .core_clock_rate = 1980000,
                                      .num_multiprocessors = 132,
                                      .max_warps_per_multiprocessor = 64,
                                      .compute_capability_major = 9,
                                      .id = i,
                                      .uuid = {1, 2, 3, (unsigned char)i},
                                      .name = "Mock GPU"};
        struct cupti_context context = {
            .kind = CUPTI_CONTEXT, .context_id = 1 + i, .device_id = i, .null_stream_id = 7};
        put(&device, sizeof device);
        put(&context, sizeof context);
    }
    put(&stream, sizeof stream);
    overhead.end = now() + 100;
    put(&overhead, sizeof overhead);
    put(&pool, sizeof pool);
}

/* As the driver does when CUDA begins. */
static void begin_cuda(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_NOW) : NULL;
    int (*begin)(void) = NULL;
    void *symbol = library ? dlsym(library, "InitializeInjection") : NULL;
    memcpy(&begin, &symbol, sizeof symbol);
    for (int i = begin ? (option("twice", 0) ? 2 : 1) : 0; i > 0; i--)
        if (begin() != 1)
            _exit(99);
}

static void work_all(int threads)
{
    pthread_t thread[64];
    static struct worker workers[64];
    describe_devices();
    for (int i = 0; i < threads; i++) {
        uint32_t device = (uint32_t)(i % gpus);
        workers[i] = (struct worker){.device = device, .context = device + 1};
        pthread_create(&thread[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    destroy_context();
}

static int wait_child(void)
{
    int status;
    wait(&status);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}

static void find(void *library, const char *name, void *to)
{
    void *symbol = dlsym(library, name);
    memcpy(to, &symbol, sizeof symbol);
    if (!symbol)
        _exit(96);
}

int main(int count, char **argument)
{
    if (count < 5)
        return 95;
    int threads = atoi(argument[3]), children;
    rounds = atoi(argument[4]);
    word = argument + 5;
    words = count - 5;
    gpus = (int)option("gpus", 1);
    memset(huge, 'h', sizeof huge - 1);
    void *library = dlopen(argument[1], RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return 94;
    find(library, "mock_put", &put);
    find(library, "mock_wants_call", &wants_call);
    find(library, "mock_now", &now);
    find(library, "mock_destroy_context", &destroy_context);
    for (children = (int)option("procs", 0); children > 0; children--)
        if (fork() == 0) {
            words = 0;
            break;
        }
    open_truth(argument[2]);
    begin_cuda();
    if (!option("idle", 0))
        work_all(threads);
    fflush(truth);
    if (option("fork", 0) && fork() == 0) {
        truth = fopen("/dev/null", "w");
        work_all(threads);
        exit(3);
    }
    if (option("fork", 0) && wait_child() != 3)
        return 93;
    for (children = (int)option("procs", 0); children > 0; children--)
        if (wait_child() != 0)
            return 92;
    fclose(truth);
    if (option("_exit", 0) || option("kill", 0))
        usleep(300000); /* what was handed over is written by then */
    if (option("_exit", 0))
        _exit((int)option("exit", 0));
    if (option("kill", 0))
        raise(SIGKILL);
    return (int)option("exit", 0);
}
