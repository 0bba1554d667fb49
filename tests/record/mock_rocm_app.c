/*
 * A program that "uses an AMD GPU": loads mock_rocm.c's library, which asks whoever wants to
 * record, and has it record work. What it did goes to FILE.PID, a line of comma-separated values
 * for each record; times are those of the library.
 *
 *   rocm_app LIBRARY FILE THREADS ROUNDS [WORD…]
 *
 *   unknown  records of unknown kinds, and ones that are too short     zero=N  every Nth kernel has no times
 *   huge     a kernel's name of 9,000 bytes      fork   a child that works on in vain, and exits with 3
 *   queues   a queue for each kernel      pause=US  between rounds
 *   exit=N   status at the end     _exit  without handlers     kill  SIGKILL at the end     linger  0.8 s before the end
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

#include "capture/agent/rocmabi.h"
#include "mock_rocm.h"
#include "mockwords.h"

static int (*begin)(void), (*wants_call)(int32_t), (*now)(uint64_t *);
static void (*end)(void), (*put)(const void *, size_t), (*symbol)(const struct rocm_symbol *);
static void (*marker)(int, uint32_t, const struct rocm_marker_data *);
static int rounds;
static uint64_t correlations;

static uint64_t clock_now(void)
{
    uint64_t stamp = 0;
    now(&stamp);
    return stamp;
}

static uint64_t call(int operation)
{
    static const char *const names[] = {MOCK_HIP_CALLS};
    uint64_t id = __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);
    struct rocm_call record = {.size = sizeof record,
                               .kind = ROCM_HIP_CALL,
                               .operation = operation,
                               .correlation = id,
                               .start = clock_now(),
                               .thread = (uint64_t)gettid()};
    record.end = clock_now();
    if (wants_call(operation))
        put(&record, sizeof record);
    TELL("call,%s,%lu,%lu,%lu,%lu\n", names[operation], LONG(record.start), LONG(record.end),
         LONG(record.thread), LONG(id));
    return id;
}

static void copy(int gpu, int operation, uint64_t id)
{
    uint64_t device = 201 + (uint64_t)gpu,
             other = operation == ROCM_DEVICE_TO_DEVICE ? 403 - device : 100;
    struct rocm_copy record = {.size = sizeof record,
                               .kind = ROCM_COPY,
                               .operation = (uint32_t)operation,
                               .correlation = id,
                               .thread = (uint64_t)gettid(),
                               .start = clock_now(),
                               .bytes = 4096 + id,
                               .to_agent = operation == ROCM_DEVICE_TO_HOST ? 100 : device,
                               .from_agent = operation == ROCM_DEVICE_TO_HOST ? device : other};
    record.end = record.start + 900;
    put(&record, sizeof record);
    static const char *const kinds[] = {"", "HtoH", "HtoD", "DtoH", "PtoP"};
    TELL("copy,%s,%lu,%lu,%d,%lu,%lu\n", kinds[operation], LONG(record.start), LONG(record.end),
         gpu, LONG(id), LONG(record.bytes));
}

static void launch(int gpu, uint64_t busy, int number)
{
    uint64_t id = call(MOCK_LAUNCH);
    uint64_t start = clock_now() + 2000;
    start = start > busy ? start : busy;
    struct rocm_kernel record = {.size = sizeof record,
                                 .kind = ROCM_KERNEL,
                                 .operation = 2,
                                 .correlation = id,
                                 .thread = (uint64_t)gettid(),
                                 .start = start,
                                 .end = start + 5000,
                                 .dispatch_size = 128,
                                 .agent = 201 + (uint64_t)gpu,
                                 .queue =
                                     0x7f0000000000 + (option("queues", 0) ? id : (uint64_t)gpu),
                                 .kernel = (uint64_t)(number % 3) + 1,
                                 .dispatch = id,
                                 .group_bytes = 3072,
                                 .workgroup = {256, 1, 1},
                                 .grid = {1000, 3, 1}};
    bool zero = option("zero", 0) && number % option("zero", 0) == 0;
    static const char *const names[] = {"_Z3addPf", "_Z3mulPf", "softmax"};
    if (zero)
        record.start = record.end = 0;
    put(&record, sizeof record);
    if (!zero)
        TELL("kernel,%s,%lu,%lu,%d,%lu,4,3,1,256,1,1,%d,1024,2048\n", names[number % 3],
             LONG(record.start), LONG(record.end), gpu, LONG(id), 40 + number % 3);
}

static void memory(int gpu, int operation, uint64_t id, uint64_t address)
{
    struct rocm_allocated record = {.size = sizeof record,
                                    .kind = ROCM_ALLOCATION,
                                    .operation = (uint32_t)operation,
                                    .correlation = id,
                                    .start = clock_now(),
                                    .agent = 201 + (uint64_t)gpu,
                                    .address = address,
                                    .bytes = operation == ROCM_FREE ? 0 : 65536};
    record.end = record.start + 100;
    put(&record, sizeof record);
    TELL("memory,%s,%lu,%lu,%d\n", operation == ROCM_FREE ? "free" : "alloc", LONG(record.start),
         LONG(address), gpu);
}

static void odd_records(void)
{
    struct rocm_call strange = {
        .size = sizeof strange, .kind = MOCK_UNKNOWN_KIND, .start = clock_now()};
    struct rocm_call brief = {.size = 24, .kind = ROCM_HIP_CALL, .start = clock_now()};
    put(&strange, sizeof strange);
    put(&brief, 24);
}

static void *work(void *context)
{
    int gpu = (int)(intptr_t)context & 1;
    uint64_t address = 0x100000 * ((uint64_t)(intptr_t)context + 1);
    struct rocm_marker_data text = {.size = sizeof text, .args.message = "a round"};
    struct rocm_marker_data range = {.size = sizeof range,
                                     .args.message = "all rounds",
                                     .result = (uint64_t)(intptr_t)context + 1};
    marker(ROCM_START, ROCM_ENTER, &range);
    marker(ROCM_START, ROCM_EXIT, &range);
    for (int i = 0; i < rounds; i++) {
        marker(ROCM_PUSH, ROCM_ENTER, &text);
        marker(ROCM_PUSH, ROCM_EXIT, &text);
        memory(gpu, ROCM_ALLOCATE, call(MOCK_MALLOC), address);
        copy(gpu, ROCM_HOST_TO_DEVICE, call(MOCK_MEMCPY));
        (void)call(MOCK_GET_DEVICE);
        launch(gpu, 0, i);
        copy(gpu, i % 2 ? ROCM_DEVICE_TO_HOST : ROCM_DEVICE_TO_DEVICE, call(MOCK_MEMCPY));
        (void)call(MOCK_WAIT);
        memory(gpu, ROCM_FREE, call(MOCK_FREE), address);
        if (option("unknown", 0))
            odd_records();
        marker(ROCM_POP, ROCM_ENTER, &text);
        marker(ROCM_MARK, ROCM_ENTER, &text);
        usleep((useconds_t)option("pause", 0));
    }
    range.args.range = range.result;
    marker(ROCM_STOP, ROCM_ENTER, &range);
    return NULL;
}

static void load_kernels(void)
{
    static char huge[9001];
    memset(huge, 'k', sizeof huge - 1);
    const char *names[] = {"_Z3addPf.kd", "_Z3mulPf.kd", option("huge", 0) ? huge : "softmax"};
    for (unsigned i = 0; i < 3; i++)
        symbol(&(struct rocm_symbol){.size = sizeof(struct rocm_symbol),
                                     .kernel = i + 1,
                                     .name = names[i],
                                     .group_bytes = 1024,
                                     .vector_registers = 40 + i});
}

/* A child cannot use the GPU; ours is recorded by nobody. */
static void fork_child(void)
{
    pid_t child = fork();
    if (child == 0) {
        work(NULL);
        end();
        _exit(3);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
        abort();
}

static void *get(void *library, const char *name)
{
    void *found = dlsym(library, name);
    if (!found)
        exit(99);
    return found;
}

int main(int argc, char **argv)
{
    pthread_t threads[64];
    if (argc < 5)
        return 98;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library)
        return 97;
    *(void **)&begin = get(library, "mock_begin");
    *(void **)&end = get(library, "mock_end");
    *(void **)&put = get(library, "mock_put");
    *(void **)&symbol = get(library, "mock_symbol");
    *(void **)&marker = get(library, "mock_marker");
    *(void **)&wants_call = get(library, "mock_wants_call");
    *(void **)&now = get(library, "rocprofiler_get_timestamp");
    open_truth(argv[2]);
    rounds = atoi(argv[4]);
    words = argc - 5;
    word = argv + 5;
    (void)begin();
    load_kernels();
    int count = atoi(argv[3]);
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, (void *)(intptr_t)i);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    fclose(truth);
    truth = fopen("/dev/null", "w");
    if (option("fork", 0))
        fork_child();
    if (option("linger", 0))
        usleep(1200000);
    if (option("kill", 0))
        raise(SIGKILL);
    if (option("_exit", 0))
        _exit((int)option("exit", 0));
    end();
    return (int)option("exit", 0);
}
