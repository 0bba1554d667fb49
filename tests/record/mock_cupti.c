/*
 * A libcupti without a GPU: the functions that the recorder uses, and functions with which
 * mock_app.c does "GPU work". What it hands out is decided by $MOCK:
 *
 *   version=N      what cuptiGetVersion says (28)
 *   held           cuptiSubscribe: another tool has it        nodriver   … answers 999
 *   small=N        only N records fit into a buffer           wall       times of CLOCK_REALTIME
 *   reverse        records of a buffer come last first        droppy=N   every Nth record is dropped and counted
 *   hang           cuptiActivityFlushAll(1) never returns
 *   fatal=N        after N records CUPTI reports a fatal error and ends
 *   strange=N      every Nth record is followed by one of a kind that nobody knows
 *   broken=N       every Nth buffer ends in bytes that are no record
 *
 * Records are as long as in CUDA 13.0, or 11.8 for versions below 19.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture/agent/cuptiabi.h"
#include "mock_cupti.h"

#define SHOWN __attribute__((visibility("default")))
#define MOST  4096

static cupti_request_fn request;
static cupti_complete_fn complete;
static cupti_time_fn clock_of;
static cupti_callback_fn callback;
static uint64_t kinds, dropped, made, buffers;
static int finalized, driver_filtered;
static unsigned char skip_runtime[MOST], only_driver[MOST];

struct buffer {
    uint8_t *bytes;
    size_t room, used;
    unsigned records;
    struct buffer *next;
};
static _Thread_local struct buffer *own;
static struct buffer *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static long option(const char *name, long otherwise)
{
    const char *text = getenv("MOCK"), *at = text ? strstr(text, name) : NULL;
    if (!at)
        return otherwise;
    at += strlen(name);
    return *at == '=' ? atol(at + 1) : 1;
}

static uint64_t now(void)
{
    struct timespec time;
    if (clock_of)
        return clock_of();
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

SHOWN uint64_t mock_now(void)
{
    return now();
}

static size_t bytes_of(uint32_t kind)
{
    int old = option("version", 28) < 19;
    switch (kind) {
    case CUPTI_CONCURRENT_KERNEL: return old ? 200 : 216;
    case CUPTI_MEMCPY: return old ? 88 : 96;
    case CUPTI_MEMCPY2: return 96;
    case CUPTI_MEMSET: return 88;
    case CUPTI_RUNTIME:
    case CUPTI_DRIVER: return 40;
    case CUPTI_SYNCHRONIZATION: return old ? 40 : 56;
    case CUPTI_OVERHEAD: return old ? 40 : 56;
    case CUPTI_MEMORY2: return old ? 120 : 128;
    case CUPTI_MEMORY_POOL: return old ? 72 : 80;
    case CUPTI_GRAPH_TRACE: return old ? 48 : 56;
    case CUPTI_DEVICE: return old ? 176 : 184;
    case CUPTI_UNIFIED_MEMORY: return old ? 64 : 104;
    case CUPTI_JIT: return old ? 64 : 72;
    case CUPTI_CONTEXT: return old ? 24 : 32;
    case CUPTI_STREAM: return 24;
    case MOCK_STRANGE_KIND: return 48;
    default: return 0;
    }
}

/* ---- buffers ---- */

/* The records of a buffer, last first. */
static void reverse(struct buffer *buffer)
{
    uint8_t *turned = malloc(buffer->used);
    size_t at = 0;
    while (at < buffer->used) {
        uint32_t kind;
        memcpy(&kind, buffer->bytes + at, sizeof kind);
        size_t bytes = bytes_of(kind);
        memcpy(turned + buffer->used - at - bytes, buffer->bytes + at, bytes);
        at += bytes;
    }
    memcpy(buffer->bytes, turned, buffer->used);
    free(turned);
}

static void hand_over(struct buffer *buffer)
{
    if (!buffer->bytes)
        return;
    if (option("reverse", 0))
        reverse(buffer);
    long broken = option("broken", 0);
    if (broken && ++buffers % (uint64_t)broken == 0 && buffer->used + 40 <= buffer->room) {
        memset(buffer->bytes + buffer->used, 0xee, 40);
        buffer->used += 40;
    }
    complete(NULL, 0, buffer->bytes, buffer->room, buffer->used);
    buffer->bytes = NULL;
}

static int has_room(struct buffer *buffer, size_t bytes)
{
    size_t records;
    if (buffer->bytes && (buffer->used + bytes + 40 > buffer->room ||
                          buffer->records >= (unsigned long)option("small", 1 << 30)))
        hand_over(buffer);
    if (!buffer->bytes) {
        request(&buffer->bytes, &buffer->room, &records);
        buffer->used = buffer->records = 0;
    }
    return buffer->bytes != NULL;
}

static struct buffer *own_buffer(void)
{
    if (!own) {
        own = calloc(1, sizeof *own);
        pthread_mutex_lock(&lock);
        own->next = all;
        all = own;
        pthread_mutex_unlock(&lock);
    }
    return own;
}

static void put_any(const void *record, uint32_t kind, size_t own_bytes)
{
    struct buffer *buffer = own_buffer();
    size_t bytes = bytes_of(kind);
    pthread_mutex_lock(&lock);
    if (has_room(buffer, bytes)) {
        memset(buffer->bytes + buffer->used, 0, bytes);
        memcpy(buffer->bytes + buffer->used, record, own_bytes < bytes ? own_bytes : bytes);
        buffer->used += bytes;
        buffer->records++;
    } else {
        __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&lock);
}

/* 1: its kind is asked for. */
SHOWN int mock_put(const void *record, size_t bytes)
{
    uint32_t kind;
    memcpy(&kind, record, sizeof kind);
    bool filtered = kind == CUPTI_DRIVER && driver_filtered;
    if (!request || finalized || !(kinds >> kind & 1 || filtered))
        return 0;
    uint64_t number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
    long every = option("droppy", 0), strange = option("strange", 0), fatal = option("fatal", 0);
    if (every && number % (uint64_t)every == 0)
        __atomic_fetch_add(&dropped, 1, __ATOMIC_RELAXED);
    else
        put_any(record, kind, bytes);
    if (strange && number % (uint64_t)strange == 0)
        put_any(&(uint32_t){MOCK_STRANGE_KIND}, MOCK_STRANGE_KIND, 4);
    if (fatal && number == (uint64_t)fatal && callback) {
        finalized = 1;
        callback(NULL, CUPTI_DOMAIN_STATE, CUPTI_FATAL_ERROR, NULL);
    }
    return 1;
}

SHOWN int mock_wants_call(int driver, uint32_t id)
{
    if (!driver)
        return kinds >> CUPTI_RUNTIME & 1 && !skip_runtime[id % MOST];
    return kinds >> CUPTI_DRIVER & 1 || (driver_filtered && only_driver[id % MOST]);
}

SHOWN void mock_destroy_context(void)
{
    if (callback)
        callback(NULL, CUPTI_DOMAIN_RESOURCE, CUPTI_CONTEXT_DESTROY_STARTING, NULL);
}

/* ---- CUPTI ---- */

SHOWN int cuptiGetVersion(uint32_t *version)
{
    *version = (uint32_t)option("version", 28);
    return 0;
}

SHOWN int cuptiSubscribe(void **subscriber, cupti_callback_fn function, void *user)
{
    (void)user;
    if (option("held", 0))
        return CUPTI_HELD;
    if (option("nodriver", 0))
        return 999;
    *subscriber = &callback;
    callback = function;
    return 0;
}

SHOWN int cuptiEnableCallback(uint32_t on, void *subscriber, uint32_t domain, uint32_t id)
{
    return on && subscriber && domain && id ? 0 : 1;
}

SHOWN int cuptiEnableDomain(uint32_t on, void *subscriber, uint32_t domain)
{
    return on && subscriber && domain ? 0 : 1;
}

SHOWN int cuptiGetCallbackName(uint32_t domain, uint32_t id, const char **name)
{
    static const char *const runtime[] = {MOCK_RUNTIME_CALLS}, *const driver[] = {
                                                                   MOCK_DRIVER_CALLS};
    if (domain == CUPTI_DOMAIN_RUNTIME && id < sizeof runtime / sizeof runtime[0])
        *name = runtime[id];
    else if (domain == CUPTI_DOMAIN_DRIVER && id < sizeof driver / sizeof driver[0])
        *name = driver[id];
    else
        return 1;
    return 0;
}

SHOWN int cuptiActivityEnable(uint32_t kind)
{
    kinds |= (uint64_t)1 << kind;
    return 0;
}

SHOWN int cuptiActivityConfigureUnifiedMemoryCounter(struct cupti_unified_wish *wishes,
                                                     uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (wishes[i].scope != CUPTI_ALL_DEVICES || !wishes[i].enable || wishes[i].counter != i + 1)
            return 1;
    return option("nounified", 0) || count != 8 ? 29 : 0;
}

SHOWN int cuptiSubscribe_v2(void **subscriber, cupti_callback_fn function, void *user,
                            struct cupti_subscriber *wish)
{
    (void)user;
    if (wish->size != sizeof *wish || wish->holder_bytes < 64 || wish->several)
        return 1;
    if (option("named", 0)) {
        strcpy(wish->holder, "CUPTI for another profiler");
        return CUPTI_HELD;
    }
    *subscriber = (void *)(uintptr_t)function;
    return option("held", 0) ? CUPTI_HELD : 0;
}

SHOWN int cuptiUnsubscribe(void *subscriber)
{
    return subscriber ? 0 : 1;
}

SHOWN int cuptiActivityRegisterCallbacks(cupti_request_fn asks, cupti_complete_fn done)
{
    request = asks;
    complete = done;
    return 0;
}

SHOWN int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, struct cupti_record **record)
{
    uint8_t *at = *record ? (uint8_t *)*record + bytes_of((*record)->kind) : buffer;
    if (at >= buffer + valid)
        return CUPTI_NO_MORE;
    if (!bytes_of(((struct cupti_record *)(void *)at)->kind))
        return 21;
    *record = (void *)at;
    return 0;
}

SHOWN int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *count)
{
    (void)context;
    (void)stream;
    *count = __atomic_exchange_n(&dropped, 0, __ATOMIC_RELAXED);
    return 0;
}

/* The program's threads have ended, or do nothing just now. */
SHOWN int cuptiActivityFlushAll(uint32_t flag)
{
    while (flag && option("hang", 0))
        sleep(1);
    pthread_mutex_lock(&lock);
    for (struct buffer *buffer = all; buffer; buffer = buffer->next)
        hand_over(buffer);
    pthread_mutex_unlock(&lock);
    return 0;
}

SHOWN int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    return attribute == CUPTI_PER_THREAD_BUFFER && *bytes == 1 && *(uint8_t *)value == 1 ? 0 : 1;
}

SHOWN int cuptiSetThreadIdType(uint32_t type)
{
    return type == CUPTI_THREAD_IDS_OF_THE_SYSTEM ? 0 : 1;
}

SHOWN int cuptiActivityFlushPeriod(uint32_t ms)
{
    return ms ? 0 : 1;
}

SHOWN int cuptiActivityRegisterTimestampCallback(cupti_time_fn function)
{
    if (option("wall", 0))
        return 1;
    clock_of = function;
    return 0;
}

SHOWN int cuptiActivityEnableRuntimeApi(uint32_t id, uint8_t enable)
{
    skip_runtime[id % MOST] = !enable;
    return 0;
}

SHOWN int cuptiActivityEnableDriverApi(uint32_t id, uint8_t enable)
{
    driver_filtered = 1;
    only_driver[id % MOST] = enable;
    return 0;
}
