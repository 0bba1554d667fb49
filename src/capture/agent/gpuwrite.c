/* See gpuwrite.h. */
#define _GNU_SOURCE
#include "capture/agent/gpuwrite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint32_t gpu_text(const char *text)
{
    return text && *text ? agent_name(text, strlen(text)) : 0;
}

void gpu_write(struct thread *thread, struct nl_rec_cell cell, const void *one, size_t one_bytes,
               const void *two, size_t two_bytes)
{
    uint32_t count = 1 + (uint32_t)((one_bytes + two_bytes) / NL_REC_CELL);
    cell.cells = (uint8_t)count;
    struct nl_rec_cell *to = agent_cells(thread, count);
    if (!to)
        return;
    memcpy(to, &cell, sizeof cell);
    memcpy(to + 1, one, one_bytes);
    if (two_bytes)
        memcpy((char *)(to + 1) + one_bytes, two, two_bytes);
    agent_commit(thread, count);
}

static void write_text(struct thread *thread, uint8_t kind, const char *key, uint64_t count,
                       const char *text)
{
    struct nl_rec_more more = {.value = count, .a = gpu_text(text)};
    gpu_write(thread, (struct nl_rec_cell){.kind = kind, .id = gpu_text(key)}, &more, sizeof more,
              NULL, 0);
}

void gpu_write_note(struct thread *thread, const char *item, uint64_t count, const char *detail)
{
    if (count)
        write_text(thread, NL_REC_GPU_NOTE, item, count, detail);
}

void gpu_write_fact(struct thread *thread, const char *key, const char *value)
{
    write_text(thread, NL_REC_GPU_FACT, key, 0, value);
}

void gpu_shift_found(struct gpu_shift *shift, int64_t ns, int64_t width_ns)
{
    /* Times in a buffer are moved by what held when it came: by all that the shift has
     * changed since the one before they may be off, whether the clock was set or
     * steered, or the machine slept. */
    int64_t moved = shift->known ? ns - shift->ns : 0;
    int64_t error = (moved < 0 ? -moved : moved) + width_ns / 2 + 1;
    shift->error_ns = error > shift->error_ns ? error : shift->error_ns;
    shift->ns = ns;
    shift->known = true;
}

void gpu_write_shift(struct thread *thread, const struct gpu_shift *shift)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)shift->error_ns);
    if (shift->known)
        gpu_write_fact(thread, "GPU clock error (ns)", text);
}

/* New in glibc 2.30. On older ones the wait follows the clock of the day, and is
 * off by what that is set. */
#pragma weak sem_clockwait

static int wait_until(sem_t *sem, bool monotonic, const struct timespec *until)
{
    return monotonic ? sem_clockwait(sem, CLOCK_MONOTONIC, until) : sem_timedwait(sem, until);
}

bool gpu_wait(sem_t *sem, int64_t ns)
{
    bool monotonic = sem_clockwait != NULL;
    int64_t at = ticks_clock_ns(monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME) + ns;
    struct timespec until = {.tv_sec = at / 1000000000, .tv_nsec = at % 1000000000};
    int result;
    while ((result = wait_until(sem, monotonic, &until)) != 0 && errno == EINTR)
        ;
    return result == 0;
}

void gpu_tell_now(const char *item, const char *detail)
{
    struct thread *thread = agent_enter();
    if (!thread)
        return;
    gpu_write_note(thread, item, 1, detail);
    agent_leave(thread);
}
