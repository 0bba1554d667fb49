/*
 * Stands in for AMD's librocprofiler-sdk: the functions that src/capture/agent/rocmcalls.def lists,
 * a buffer that a thread of its own hands over, and put() for tests/record/mock_rocm_app.c, which
 * says what "the GPU" did. MOCK in the environment makes it misbehave:
 *
 *   version=N   of rocprofiler-sdk (10200)      ahead=NS  its clock is ahead of ours (7 s)
 *   room=N      bytes of the buffer             refuse=N  kind N cannot be traced
 *   nostart     contexts do not start           noagents  devices are not told
 *   own         buffers are handed over in the program's threads
 *   noclock     its time is not told            jump=NS   its clock jumps after 0.3 s
 *   hangflush   flushing never comes back
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/rocmabi.h"
#include "mock_rocm.h"

#define EXPORTED __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, handing = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static unsigned char *records;
static size_t used, room, watermark;
static uint64_t dropped;
static uint64_t begun; /* CLOCK_MONOTONIC; 0 = not yet */
static bool wanted[64], wanted_call[64], all_calls;
static _Atomic bool active;
static rocm_buffer_fn hand_over;
static rocm_notice_fn on_code, on_marker;
static void *hand_over_user, *code_user, *marker_user;
static struct rocm_tool *tool;

static long option(const char *name, long otherwise)
{
    const char *text = getenv("MOCK"), *at = text ? strstr(text, name) : NULL;
    if (!at)
        return otherwise;
    at += strlen(name);
    return *at == '=' ? atol(at + 1) : 1;
}

EXPORTED int rocprofiler_get_timestamp(uint64_t *stamp)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    *stamp = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec +
             (uint64_t)option("ahead", 7000000000);
    if (option("jump", 0) && begun &&
        *stamp - (uint64_t)option("ahead", 7000000000) > begun + 300000000)
        *stamp += (uint64_t)option("jump", 0);
    return option("noclock", 0) ? 1 : ROCM_OK;
}

/* Takes what there is and gives it away; one at a time. */
static void deliver(void)
{
    struct rocm_header headers[4096], *list[4096];
    pthread_mutex_lock(&handing);
    for (;;) {
        size_t count = 0;
        pthread_mutex_lock(&lock);
        size_t bytes = used;
        unsigned char *mine = malloc(bytes + 1);
        memcpy(mine, records, bytes);
        used = 0;
        uint64_t lost = dropped;
        pthread_mutex_unlock(&lock);
        size_t at = 0;
        while (at < bytes && count < 4096) {
            size_t step;
            memcpy(&step, mine + at, sizeof step);
            headers[count] =
                (struct rocm_header){ROCM_CATEGORY_TRACING, 0, mine + at + sizeof step};
            memcpy(&headers[count].kind, mine + at + sizeof step + 8, 4);
            list[count] = &headers[count];
            count++;
            at += sizeof step + step;
        }
        if (count)
            hand_over(1, 1, list, count, hand_over_user, lost);
        if (at < bytes) { /* more than fit into a list: the rest again */
            pthread_mutex_lock(&lock);
            memmove(records + (bytes - at), records, used);
            memcpy(records, mine + at, bytes - at);
            used += bytes - at;
            pthread_mutex_unlock(&lock);
        }
        free(mine);
        if (at >= bytes)
            break;
    }
    pthread_mutex_unlock(&handing);
}

static void *background(void *context)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (used < watermark)
            pthread_cond_wait(&filled, &lock);
        pthread_mutex_unlock(&lock);
        deliver();
        pthread_mutex_lock(&lock);
    }
    return context;
}

/* In a thread of the library's, as the real one does; waits for it. */
static void *flush_once(void *context)
{
    deliver();
    return context;
}

EXPORTED int rocprofiler_flush_buffer(uint64_t buffer)
{
    pthread_t thread;
    (void)buffer;
    while (option("hangflush", 0))
        sleep(1000);
    if (pthread_create(&thread, NULL, flush_once, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    return ROCM_OK;
}

EXPORTED int rocprofiler_create_context(uint64_t *context)
{
    *context = 1;
    return ROCM_OK;
}

EXPORTED int rocprofiler_start_context(uint64_t context)
{
    (void)context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    begun = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    active = !option("nostart", 0);
    return active ? ROCM_OK : 11;
}

EXPORTED int rocprofiler_stop_context(uint64_t context)
{
    (void)context;
    active = false;
    return ROCM_OK;
}

EXPORTED int rocprofiler_create_buffer(uint64_t context, size_t bytes, size_t mark, int policy,
                                       rocm_buffer_fn take, void *user, uint64_t *buffer)
{
    pthread_t thread;
    (void)context;
    if (policy != ROCM_DISCARD)
        return 1;
    room = (size_t)option("room", (long)bytes);
    watermark = mark < room ? mark : room;
    records = malloc(room * 2);
    hand_over = take;
    hand_over_user = user;
    *buffer = 1;
    return option("room", 0) ? ROCM_OK : pthread_create(&thread, NULL, background, NULL);
}

EXPORTED int rocprofiler_configure_buffer_tracing_service(uint64_t context, int kind,
                                                          const int32_t *operations, size_t count,
                                                          uint64_t buffer)
{
    (void)context;
    (void)buffer;
    if (kind < 0 || kind >= 64 || option("refuse", -1) == kind)
        return 4;
    wanted[kind] = true;
    all_calls = all_calls || (kind == ROCM_HIP_CALL && !count);
    for (size_t i = 0; kind == ROCM_HIP_CALL && i < count; i++)
        wanted_call[operations[i]] = true;
    return ROCM_OK;
}

EXPORTED int rocprofiler_configure_callback_tracing_service(uint64_t context, int kind,
                                                            const int32_t *operations, size_t count,
                                                            rocm_notice_fn take, void *user)
{
    (void)context;
    (void)operations;
    (void)count;
    if (kind == ROCM_ON_CODE_OBJECT) {
        on_code = take;
        code_user = user;
    } else if (kind == ROCM_ON_MARKER) {
        on_marker = take;
        marker_user = user;
    } else {
        return 4;
    }
    return ROCM_OK;
}

EXPORTED int rocprofiler_query_buffer_tracing_kind_operation_name(int kind, int32_t operation,
                                                                  const char **name,
                                                                  uint64_t *length)
{
    static const char *const names[] = {MOCK_HIP_CALLS};
    if (kind != ROCM_HIP_CALL || operation < 0 ||
        operation >= (int32_t)(sizeof names / sizeof names[0]))
        return 5;
    *name = names[operation];
    *length = strlen(*name);
    return ROCM_OK;
}

EXPORTED int rocprofiler_query_available_agents(int version, rocm_agents_fn take, size_t bytes,
                                                void *user)
{
    static const struct rocm_memory_bank banks[] = {{.heap = 0, .bytes = 99},
                                                    {.heap = 1, .bytes = 1ull << 36}};
    static const struct rocm_agent agents[] = {
        {.size = sizeof agents[0], .id = 100, .type = ROCM_AGENT_CPU, .name = "a CPU"},
        {.size = sizeof agents[0],
         .id = 201,
         .type = ROCM_AGENT_GPU,
         .wave_lanes = 64,
         .compute_units = 304,
         .target = 90402,
         .clock_mhz = 2100,
         .waves_per_unit = 32,
         .bank_count = 2,
         .banks = banks,
         .name = "gfx942",
         .product = "AMD Instinct MI300X",
         .number = 0},
        {.size = sizeof agents[0],
         .id = 202,
         .type = ROCM_AGENT_GPU,
         .wave_lanes = 64,
         .compute_units = 304,
         .target = 90402,
         .name = "gfx942",
         .number = 1}};
    const void *list[] = {&agents[0], &agents[1], &agents[2]};
    if (option("noagents", 0) || version != ROCM_AGENTS_VERSION || bytes > sizeof agents[0])
        return 1;
    return take(version, list, 3, user);
}

/* ---- for the program ---- */

EXPORTED int mock_begin(void)
{
    struct rocm_tool *(*configure)(uint32_t, const char *, uint32_t, struct rocm_client *);
    struct rocm_client client = {0};
    *(void **)&configure = dlsym(RTLD_DEFAULT, "rocprofiler_configure");
    if (!configure)
        return 0;
    tool = configure((uint32_t)option("version", 10200), "mock", 0, &client);
    return tool && tool->initialize(NULL, tool->user) == 0;
}

EXPORTED void mock_end(void)
{
    if (tool)
        tool->finalize(tool->user);
}

EXPORTED int mock_wants_call(int32_t operation)
{
    return active && wanted[ROCM_HIP_CALL] && (all_calls || wanted_call[operation]);
}

/* A record as it would be traced. `bytes` may be less than the record's. */
EXPORTED void mock_put(const void *record, size_t bytes)
{
    uint32_t kind;
    memcpy(&kind, (const char *)record + 8, sizeof kind);
    if (!active || (kind < 64 && kind != MOCK_UNKNOWN_KIND && !wanted[kind]))
        return;
    pthread_mutex_lock(&lock);
    if (used + bytes + sizeof bytes > room) {
        dropped++;
    } else {
        memcpy(records + used, &bytes, sizeof bytes);
        memcpy(records + used + sizeof bytes, record, bytes);
        used += bytes + sizeof bytes;
        pthread_cond_signal(&filled);
    }
    pthread_mutex_unlock(&lock);
    if (option("own", 0))
        deliver();
}

EXPORTED void mock_symbol(const struct rocm_symbol *symbol)
{
    struct rocm_notice notice = {.kind = ROCM_ON_CODE_OBJECT,
                                 .operation = ROCM_KERNEL_SYMBOL,
                                 .phase = ROCM_ENTER,
                                 .payload = symbol};
    if (on_code)
        on_code(notice, NULL, code_user);
}

EXPORTED void mock_marker(int operation, uint32_t phase, const struct rocm_marker_data *data)
{
    struct rocm_notice notice = {
        .kind = ROCM_ON_MARKER, .operation = operation, .phase = phase, .payload = data};
    if (on_marker && active)
        on_marker(notice, NULL, marker_user);
}
