/*
 * The sampling thread. One lock, held while one process is sampled or handed over: both are short.
 *
 * A thread that sleeps is recognised by the kernel's state of it, and its stack is not read again
 * until it has run: schedstat counts how often it was given a processor.
 */
#define _GNU_SOURCE
#include "capture/python/pysampler.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "capture/shared/ticks.h"

#define MAX_QUEUE     ((size_t)8 << 20)
#define MAX_PERIOD    ((int64_t)1000000000)
#define LOOK_FIRST_NS ((int64_t)5000000) /* between looks for an interpreter; doubled each time */
#define LOOK_LAST_NS  ((int64_t)5000000000)
#define MAX_SHARE     10 /* a round takes at most this part of the period */
#define MIN_SHARE     50 /* and when it takes less than this the rate goes up again */
#define AVERAGE_OF    16
#define MAX_TORN      32u

struct pysampler_process {
    int64_t pid;
    struct pystack *stack;
    enum pyfind_state found;
    int64_t look_ns, pause_ns, last_ns;
    struct nl_buf queue;
    /* Samples whose stack could not be read: reported when one can be read again, else the process
     * was about to end or to become another program. */
    struct pysampler_sample torn[MAX_TORN];
    size_t torn_count;
    uint64_t samples, dropped, torn_told;
};

struct pysampler {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    const uint32_t *gate;
    int64_t wanted_ns, period_ns, longest_ns, cost_ns;
    struct pysampler_process **processes;
    size_t count, cap;
    uint64_t random, samples, rounds, missed;
    int64_t spent_ns;
    bool ends, kicked; /* kicked: there is a new process to look at */
};

/* ---- what the kernel says of a thread ---- */

static bool slurp(int64_t pid, uint32_t tid, const char *name, char *text, size_t room)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%lld/task/%u/%s", (long long)pid, tid, name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t got = read(file, text, room - 1);
    close(file);
    text[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* How often it was given a processor, and for how long in all; false = not known. */
static bool read_schedstat(int64_t pid, uint32_t tid, uint64_t *turns, uint64_t *run_ns)
{
    char text[128];
    unsigned long long run, times;
    if (!tid || !slurp(pid, tid, "schedstat", text, sizeof text) ||
        sscanf(text, "%llu %*u %llu", &run, &times) != 2)
        return false;
    *turns = times;
    *run_ns = run;
    return times > 0;
}

/* Of the time since the last sample, what the thread spent on a processor. The scheduler
 * counts a running thread at its ticks: what it counts too late belongs to the next
 * sample, so that sums are right. */
static uint64_t ran_since(struct pystack_note *note, uint64_t run_ns, uint64_t since)
{
    if (!note->met) {
        note->met = true;
        note->run_ns = run_ns > since ? run_ns - since : 0;
    }
    uint64_t ran = run_ns > note->run_ns ? run_ns - note->run_ns : 0;
    ran = ran < since ? ran : since;
    note->run_ns += ran;
    return ran;
}

/* Running or about to; false when it sleeps. Where the kernel does not say, it runs. */
static bool is_running(int64_t pid, uint32_t tid)
{
    char text[256];
    if (!tid || !slurp(pid, tid, "stat", text, sizeof text))
        return true;
    const char *end = strrchr(text, ')');
    return !end || end[1] != ' ' || end[2] == 'R';
}

/* ---- samples ---- */

static void queue(struct pysampler *sampler, struct pysampler_process *process,
                  const struct pysampler_sample *sample, const char *const *frames)
{
    size_t bytes = sample->count * sizeof *frames;
    if (process->queue.len + sizeof *sample + bytes > MAX_QUEUE) {
        process->dropped++;
        return;
    }
    nl_buf_add(&process->queue, (const char *)sample, sizeof *sample);
    if (bytes)
        nl_buf_add(&process->queue, (const char *)frames, bytes);
    process->samples++;
    sampler->samples++;
}

static void tell_torn(struct pysampler *sampler, struct pysampler_process *process)
{
    for (size_t i = 0; i < process->torn_count; i++)
        queue(sampler, process, &process->torn[i], NULL);
    process->torn_told += process->torn_count;
    process->torn_count = 0;
}

static void keep_torn(struct pysampler *sampler, struct pysampler_process *process,
                      const struct pysampler_sample *sample)
{
    if (process->torn_count == MAX_TORN)
        tell_torn(sampler, process);
    process->torn[process->torn_count++] = *sample;
}

/* The part of a sample that ran, and the part that waited. */
static void queue_parts(struct pysampler *sampler, struct pysampler_process *process,
                        const struct pysampler_sample *sample, uint64_t ran,
                        const char *const *frames)
{
    struct pysampler_sample part = *sample;
    part.weight = ran;
    part.waiting = false;
    if (ran)
        queue(sampler, process, &part, frames);
    part.weight = sample->weight - ran;
    part.waiting = true;
    if (part.weight)
        queue(sampler, process, &part, frames);
}

/* False: the stack could not be read. It is not read again of a thread that has not run since. */
static bool read_frames(struct pysampler_process *process, struct pystack_thread *thread,
                        uint64_t turns, struct pysampler_sample *sample,
                        struct pystack_frames *frames)
{
    struct pystack_note *note = pystack_note(thread);
    if (turns && note->turns == (turns << 1 | 1)) {
        pystack_again(thread, frames);
        sample->waiting = true;
        return true;
    }
    sample->waiting = !is_running(process->pid, sample->thread);
    bool done = pystack_read(process->stack, thread, frames);
    note->turns = done ? turns << 1 | sample->waiting : 0;
    return done;
}

static void sample_thread(struct pysampler *sampler, struct pysampler_process *process,
                          struct pystack_thread *thread, struct pysampler_sample *sample)
{
    struct pystack_frames frames;
    uint64_t turns = 0, run_ns = 0;
    sample->thread = pystack_tid(thread);
    bool counted = read_schedstat(process->pid, sample->thread, &turns, &run_ns);
    bool done = read_frames(process, thread, turns, sample, &frames);
    uint64_t ran = counted ? ran_since(pystack_note(thread), run_ns, sample->weight)
                           : (sample->waiting ? 0 : sample->weight);
    if (!done) {
        struct pysampler_sample torn = *sample;
        torn.count = 0;
        torn.cut = false;
        torn.weight = torn.waiting ? sample->weight : ran;
        keep_torn(sampler, process, &torn);
        return;
    }
    sample->count = frames.count;
    sample->cut = frames.cut;
    if (!frames.count)
        return; /* no Python runs there */
    tell_torn(sampler, process);
    queue_parts(sampler, process, sample, ran, frames.texts);
}

static void look_for_python(struct pysampler_process *process, int64_t now)
{
    if (process->found == PYFIND_REFUSED || process->found == PYFIND_GONE || now < process->look_ns)
        return;
    process->found = pystack_look(process->stack);
    process->look_ns = now + process->pause_ns;
    if (process->pause_ns < LOOK_LAST_NS)
        process->pause_ns *= 2;
}

static void sample_process(struct pysampler *sampler, struct pysampler_process *process)
{
    struct pystack_thread *const *threads;
    size_t count;
    int64_t now = ticks_clock_ns(CLOCK_MONOTONIC);
    if (process->found != PYFIND_READY)
        look_for_python(process, now);
    if (process->found != PYFIND_READY)
        return;
    if (!pystack_list(process->stack, &threads, &count)) {
        process->found = PYFIND_GONE;
        return;
    }
    struct pysampler_sample sample = {.ns = now};
    int64_t since = process->last_ns ? now - process->last_ns : sampler->period_ns;
    sample.weight = (uint64_t)since;
    process->last_ns = now;
    for (size_t i = 0; i < count; i++)
        sample_thread(sampler, process, threads[i], &sample);
}

/* ---- the thread ---- */

static uint64_t next_random(struct pysampler *sampler)
{
    uint64_t x = sampler->random; /* xorshift */
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return sampler->random = x;
}

/* Waits until that moment; called and left with the lock. */
static void wait_until(struct pysampler *sampler, int64_t moment)
{
    struct timespec time = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000};
    while (!sampler->ends && !sampler->kicked && ticks_clock_ns(CLOCK_MONOTONIC) < moment)
        (void)pthread_cond_timedwait(&sampler->wake, &sampler->lock, &time);
}

static void adapt(struct pysampler *sampler, int64_t cost)
{
    sampler->cost_ns += (cost - sampler->cost_ns) / AVERAGE_OF;
    if (sampler->cost_ns > sampler->period_ns / MAX_SHARE && sampler->period_ns < MAX_PERIOD)
        sampler->period_ns *= 2;
    else if (sampler->cost_ns < sampler->period_ns / MIN_SHARE &&
             sampler->period_ns > sampler->wanted_ns)
        sampler->period_ns /= 2;
    if (sampler->period_ns > sampler->longest_ns)
        sampler->longest_ns = sampler->period_ns;
}

/* One round; the lock is released between processes, so that no thread waits long. */
static void round_of(struct pysampler *sampler)
{
    bool open = __atomic_load_n(sampler->gate, __ATOMIC_RELAXED) != 0;
    for (size_t i = 0; i < sampler->count && !sampler->ends; i++) {
        if (open)
            sample_process(sampler, sampler->processes[i]);
        else
            sampler->processes[i]->last_ns = 0;
        pthread_mutex_unlock(&sampler->lock);
        pthread_mutex_lock(&sampler->lock);
    }
}

/* When nothing is sampled: the next look for an interpreter. False: there
 * is something to sample. */
static bool is_idle(const struct pysampler *sampler, int64_t *look)
{
    int64_t next = ticks_clock_ns(CLOCK_MONOTONIC) + sampler->period_ns;
    *look = next + LOOK_LAST_NS;
    for (size_t i = 0; i < sampler->count; i++) {
        const struct pysampler_process *process = sampler->processes[i];
        if (process->found == PYFIND_READY)
            return false;
        if ((process->found == PYFIND_NONE || process->found == PYFIND_NOT_YET) &&
            process->look_ns < *look)
            *look = process->look_ns;
    }
    *look = *look > next ? *look : next; /* while the window is closed no look is taken */
    return true;
}

/* Programs that are not Python do not wake us at each moment. */
static void wait_idle(struct pysampler *sampler, int64_t *slot)
{
    int64_t look;
    while (!sampler->ends && is_idle(sampler, &look)) {
        wait_until(sampler, look);
        sampler->kicked = false;
        round_of(sampler);
        *slot = ticks_clock_ns(CLOCK_MONOTONIC);
    }
}

static void *run_sampler(void *context)
{
    struct pysampler *sampler = context;
    int64_t slot = ticks_clock_ns(CLOCK_MONOTONIC);
    pthread_mutex_lock(&sampler->lock);
    while (!sampler->ends) {
        wait_idle(sampler, &slot);
        sampler->kicked = false;
        int64_t spread = (int64_t)(next_random(sampler) % (uint64_t)sampler->period_ns);
        wait_until(sampler, slot + spread);
        int64_t before = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        round_of(sampler);
        int64_t after = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        sampler->spent_ns = after;
        adapt(sampler, after - before);
        int64_t late = ticks_clock_ns(CLOCK_MONOTONIC) - slot;
        sampler->rounds++;
        slot += sampler->period_ns;
        if (late < 2 * sampler->period_ns)
            continue;
        /* Moments that have passed are not made up for. */
        sampler->missed += (uint64_t)(late / sampler->period_ns - 1);
        slot += late - sampler->period_ns;
    }
    pthread_mutex_unlock(&sampler->lock);
    return NULL;
}

struct pysampler *pysampler_start(int64_t period_ns, const uint32_t *gate)
{
    struct pysampler *sampler = nl_zalloc(sizeof *sampler);
    pthread_condattr_t monotonic;
    sampler->gate = gate;
    sampler->wanted_ns = sampler->period_ns = sampler->longest_ns = period_ns;
    sampler->random = (uint64_t)ticks_clock_ns(CLOCK_MONOTONIC) | 1;
    pthread_mutex_init(&sampler->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&sampler->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pthread_create(&sampler->thread, NULL, run_sampler, sampler) == 0)
        return sampler;
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->lock);
    nl_free(sampler);
    return NULL;
}

void pysampler_free(struct pysampler_process *process)
{
    pystack_free(process->stack);
    nl_buf_release(&process->queue);
    nl_free(process);
}

void pysampler_stop(struct pysampler *sampler, struct pysampler_sums *sums)
{
    pthread_mutex_lock(&sampler->lock);
    sampler->ends = true;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    pthread_join(sampler->thread, NULL);
    *sums = (struct pysampler_sums){.samples = sampler->samples,
                                    .rounds = sampler->rounds,
                                    .missed = sampler->missed,
                                    .spent_ns = sampler->spent_ns,
                                    .period_ns = sampler->wanted_ns,
                                    .longest_period_ns = sampler->longest_ns};
    for (size_t i = 0; i < sampler->count; i++)
        pysampler_free(sampler->processes[i]);
    nl_free(sampler->processes);
    pthread_cond_destroy(&sampler->wake);
    pthread_mutex_destroy(&sampler->lock);
    nl_free(sampler);
}

/* ---- processes ---- */

struct pysampler_process *pysampler_add(struct pysampler *sampler, int64_t pid)
{
    struct pysampler_process *process = nl_zalloc(sizeof *process);
    process->pid = pid;
    process->stack = pystack_new(pid);
    process->found = PYFIND_NOT_YET;
    process->pause_ns = LOOK_FIRST_NS;
    nl_buf_init(&process->queue, MAX_QUEUE);
    pthread_mutex_lock(&sampler->lock);
    nl_grow(&sampler->processes, &sampler->cap, sampler->count + 1);
    sampler->processes[sampler->count++] = process;
    sampler->kicked = true;
    pthread_cond_signal(&sampler->wake);
    pthread_mutex_unlock(&sampler->lock);
    return process;
}

void pysampler_end(struct pysampler *sampler, struct pysampler_process *process)
{
    pthread_mutex_lock(&sampler->lock);
    for (size_t i = 0; i < sampler->count; i++)
        if (sampler->processes[i] == process) {
            sampler->processes[i] = sampler->processes[--sampler->count];
            break;
        }
    pthread_mutex_unlock(&sampler->lock);
}

void pysampler_take(struct pysampler *sampler, struct pysampler_process *process,
                    pysampler_each *each, void *context)
{
    struct pysampler_sample sample;
    pthread_mutex_lock(&sampler->lock);
    struct nl_buf queue = process->queue;
    nl_buf_init(&process->queue, MAX_QUEUE);
    pthread_mutex_unlock(&sampler->lock);
    for (size_t at = 0; at < queue.len;) {
        memcpy(&sample, queue.ptr + at, sizeof sample);
        at += sizeof sample;
        each(context, &sample, (const char *const *)(const void *)(queue.ptr + at));
        at += sample.count * sizeof(const char *);
    }
    nl_buf_release(&queue);
}

bool pysampler_is_ready(struct pysampler *sampler, const struct pysampler_process *process)
{
    pthread_mutex_lock(&sampler->lock);
    bool ready = process->found == PYFIND_READY;
    pthread_mutex_unlock(&sampler->lock);
    return ready;
}

void pysampler_state(struct pysampler *sampler, struct pysampler_process *process,
                     struct pysampler_state *state)
{
    pthread_mutex_lock(&sampler->lock);
    *state = (struct pysampler_state){.found = process->found,
                                      .version = pystack_version(process->stack),
                                      .samples = process->samples,
                                      .dropped = process->dropped,
                                      .torn = process->torn_told,
                                      .losses = *pystack_losses(process->stack)};
    (void)snprintf(state->why, sizeof state->why, "%s", pystack_why(process->stack));
    pthread_mutex_unlock(&sampler->lock);
}
