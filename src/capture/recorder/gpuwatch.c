/* The thread that reads GPUs. */
#define _GNU_SOURCE
#include "capture/recorder/gpuwatch.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "capture/shared/ticks.h"

#define RING       8192u
#define ROUND_NS   ((int64_t)GPUWATCH_ROUND_MS * 1000000)
#define PATIENCE_S 1 /* timeout for an in-flight call at the end */
#define VENDORS    2u

struct device {
    const struct gpu_vendor *vendor;
    void *state;
    unsigned number; /* of the vendor's */
    struct gpu_info info;
    uint64_t absent;
    size_t process_count;
    struct gpu_process process[GPU_MAX_PROCESSES];
    uint64_t lists;
};

struct gpuwatch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    unsigned clock;
    struct nl_rec_pair first; /* both clocks, when all began */
    bool stop, abandoned, ended;
    int64_t round_ns; /* when the round under way was due */
    struct gpuwatch_state state;
    struct device *devices; /* the thread's until state.opened */
    void *vendor_state[VENDORS];
    struct gpu_value ring[RING];
    size_t head, count;
    char root[256];
};

static void free_watch(struct gpuwatch *watch)
{
    pthread_mutex_destroy(&watch->lock);
    pthread_cond_destroy(&watch->wake);
    nl_free(watch->devices);
    nl_free(watch);
}

/* ---- in the thread ---- */

static void add_reason(char all[GPU_WHY], const char *why)
{
    size_t at = strlen(all);
    (void)snprintf(all + at, GPU_WHY - at, "%s%s", at ? "; " : "", why);
}

static void open_all(struct gpuwatch *watch)
{
    char all[GPU_WHY] = "";
    struct device *devices = nl_zalloc(GPU_MAX_DEVICES * sizeof *devices);
    unsigned count = 0;
    for (size_t i = 0; i < VENDORS && gpu_vendors[i]; i++) {
        const struct gpu_vendor *vendor = gpu_vendors[i];
        char why[GPU_WHY] = "";
        void *state = watch->vendor_state[i] = vendor->open(watch->root, why);
        if (!state)
            add_reason(all, why);
        for (unsigned n = 0; state && n < vendor->count(state) && count < GPU_MAX_DEVICES; n++) {
            devices[count].vendor = vendor;
            devices[count].state = state;
            devices[count].number = n;
            vendor->describe(state, n, &devices[count++].info);
        }
    }
    pthread_mutex_lock(&watch->lock);
    watch->devices = devices;
    watch->state.devices = count;
    watch->state.opened = true;
    memcpy(watch->state.why, all, sizeof all);
    pthread_mutex_unlock(&watch->lock);
}

/* A moment of up to seconds before `now`, by the rate of the ticks so far. */
static uint64_t ticks_at(const struct gpuwatch *watch, const struct nl_rec_pair *now, int64_t ns)
{
    double ago = (double)(now->monotonic_ns - ns) * 1e-9;
    return now->ticks - (uint64_t)(int64_t)(ago * (double)ticks_rate(&watch->first, now));
}

/* Under the lock. */
static void keep_reading(struct gpuwatch *watch, unsigned number, const struct nl_rec_pair *now,
                         const struct gpu_reading *reading)
{
    struct gpu_losses *losses = &watch->state.losses;
    struct device *device = &watch->devices[number];
    for (size_t i = 0; i < reading->count; i++) {
        const struct gpu_at *at = &reading->values[i];
        if (watch->count == RING) {
            losses->dropped++;
            continue;
        }
        watch->ring[(watch->head + watch->count++) % RING] =
            (struct gpu_value){ticks_at(watch, now, at->ns), at->ns, number, at->metric, at->value};
    }
    losses->unsampled += reading->unsampled;
    losses->errors += reading->errors;
    losses->slow += reading->slow;
    losses->unlisted += reading->unlisted;
    device->absent = device->vendor->absent(device->state, device->number);
    if (reading->listed) {
        memcpy(device->process, reading->process,
               reading->process_count * sizeof reading->process[0]);
        device->process_count = reading->process_count;
        device->lists++;
    }
}

static bool is_stopped(struct gpuwatch *watch)
{
    pthread_mutex_lock(&watch->lock);
    bool stopped = watch->stop;
    pthread_mutex_unlock(&watch->lock);
    return stopped;
}

static void round_of(struct gpuwatch *watch, int64_t now)
{
    struct gpu_reading reading;
    pthread_mutex_lock(&watch->lock);
    watch->round_ns = now;
    pthread_mutex_unlock(&watch->lock);
    for (unsigned i = 0; i < watch->state.devices && !is_stopped(watch); i++) {
        struct device *device = &watch->devices[i];
        struct nl_rec_pair now_pair = ticks_pair(watch->clock, 3);
        memset(&reading, 0, sizeof reading);
        reading.begun_ns = now_pair.monotonic_ns;
        device->vendor->read(device->state, device->number, now, &reading);
        pthread_mutex_lock(&watch->lock);
        keep_reading(watch, i, &now_pair, &reading);
        pthread_mutex_unlock(&watch->lock);
    }
}

/* Sleeps to `next`; false when all ends. */
static bool sleep_to(struct gpuwatch *watch, int64_t next)
{
    struct timespec until = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
    pthread_mutex_lock(&watch->lock);
    while (!watch->stop && pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == 0)
        ;
    bool stopped = watch->stop;
    pthread_mutex_unlock(&watch->lock);
    return !stopped;
}

static void *work(void *context)
{
    struct gpuwatch *watch = context;
    open_all(watch);
    int64_t next = ticks_clock_ns(CLOCK_MONOTONIC);
    while (watch->state.devices && sleep_to(watch, next)) {
        round_of(watch, next);
        next += ROUND_NS;
        int64_t late = ticks_clock_ns(CLOCK_MONOTONIC) - next;
        if (late > 0) {
            pthread_mutex_lock(&watch->lock);
            watch->state.losses.missed += (uint64_t)(late / ROUND_NS);
            pthread_mutex_unlock(&watch->lock);
            next += late / ROUND_NS * ROUND_NS;
        }
    }
    for (size_t i = 0; i < VENDORS && gpu_vendors[i]; i++)
        if (watch->vendor_state[i])
            gpu_vendors[i]->close(watch->vendor_state[i]);
    pthread_mutex_lock(&watch->lock);
    bool abandoned = watch->abandoned;
    watch->ended = true;
    pthread_cond_broadcast(&watch->wake);
    pthread_mutex_unlock(&watch->lock);
    if (abandoned)
        free_watch(watch);
    return NULL;
}

/* ---- outside it ---- */

struct gpuwatch *gpuwatch_start(const char *root, unsigned clock)
{
    sigset_t all, before;
    struct gpuwatch *watch = nl_zalloc(sizeof *watch);
    pthread_mutex_init(&watch->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    watch->clock = clock;
    watch->first = ticks_pair(clock, 3);
    (void)snprintf(watch->root, sizeof watch->root, "%s", root);
    sigfillset(&all); /* signals are for the main thread */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failure = pthread_create(&watch->thread, NULL, work, watch);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure) {
        watch->ended = watch->state.opened = watch->abandoned = true;
        (void)snprintf(watch->state.why, GPU_WHY, "no thread to read GPUs with: %s",
                       strerror(failure));
    }
    return watch;
}

void gpuwatch_state(struct gpuwatch *watch, struct gpuwatch_state *state)
{
    pthread_mutex_lock(&watch->lock);
    *state = watch->state;
    pthread_mutex_unlock(&watch->lock);
}

void gpuwatch_info(struct gpuwatch *watch, unsigned device, struct gpu_info *info, uint64_t *absent)
{
    pthread_mutex_lock(&watch->lock);
    *info = watch->devices[device].info;
    *absent = watch->devices[device].absent;
    pthread_mutex_unlock(&watch->lock);
}

size_t gpuwatch_take(struct gpuwatch *watch, struct gpu_value *values, size_t room)
{
    size_t count = 0;
    pthread_mutex_lock(&watch->lock);
    for (; count < room && watch->count; count++, watch->count--) {
        values[count] = watch->ring[watch->head];
        watch->head = (watch->head + 1) % RING;
    }
    pthread_mutex_unlock(&watch->lock);
    return count;
}

size_t gpuwatch_processes(struct gpuwatch *watch, unsigned device,
                          struct gpu_process list[GPU_MAX_PROCESSES], uint64_t *rounds)
{
    pthread_mutex_lock(&watch->lock);
    const struct device *of = &watch->devices[device];
    size_t count = of->process_count;
    memcpy(list, of->process, count * sizeof *list);
    *rounds = of->lists;
    pthread_mutex_unlock(&watch->lock);
    return count;
}

void gpuwatch_stop(struct gpuwatch *watch, struct gpuwatch_state *state)
{
    struct timespec until;
    bool threadless = watch->abandoned;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    pthread_mutex_lock(&watch->lock);
    watch->stop = true;
    pthread_cond_broadcast(&watch->wake);
    while (!watch->ended && pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == 0)
        ;
    bool ended = watch->ended;
    if (!ended && watch->round_ns) { /* a call has not come back */
        int64_t late = ticks_clock_ns(CLOCK_MONOTONIC) - watch->round_ns;
        watch->state.losses.missed += (uint64_t)(late / ROUND_NS);
        watch->state.losses.hung = 1;
    }
    if (state)
        *state = watch->state;
    watch->abandoned = true;
    pthread_mutex_unlock(&watch->lock);
    if (threadless) {
        free_watch(watch);
    } else if (ended) {
        pthread_join(watch->thread, NULL);
        free_watch(watch);
    } else {
        pthread_detach(watch->thread); /* it frees everything when the call comes back */
    }
}
