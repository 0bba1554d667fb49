/* The budget, held against what the kernel says. */
#include "cli/memguard.h"

#include "base/mem.h"
#include "base/units.h"

/* What the program has before it reads anything, and what it may have when it is ended by force. */
#define PROGRAM_BYTES ((uint64_t)4 << 20)
#define OVERRUN_BYTES ((uint64_t)12 << 20)

/* With less room than this, those who work look themselves: a thread that only looks may have to wait
 * for a processor, longer than they need to fill it. */
#define NEAR_LIMIT_BYTES ((uint64_t)64 << 20)

/* More than a processor can fill: touching fresh memory costs it 0.3 s per GB at the least. */
#define FILL_BYTES_PER_MS ((uint64_t)4 << 20)
#define MS_NS             ((int64_t)1000 * 1000)

static void look_at_work(struct nl_job *job)
{
    int64_t wait = 0;
    (void)nl_memguard_look(job, &wait);
}

enum nl_memguard_says nl_memguard_look(struct nl_job *job, int64_t *wait_ns)
{
    if (!job->memory_bytes)
        return NL_MEMGUARD_FITS;
    if (!atomic_load(
            &job->phase)) { /* nothing is read: a program is recorded, or the live view is up */
        atomic_store(&job->look, job->memory_bytes < NEAR_LIMIT_BYTES ? look_at_work : NULL);
        return NL_MEMGUARD_FITS;
    }
    uint64_t held = nl_memory_held(), most = job->memory_bytes + PROGRAM_BYTES;
    atomic_store(&job->look, held + NEAR_LIMIT_BYTES > most ? look_at_work : NULL);
    if (held > most) {
        atomic_store(&job->out_of_memory, true);
        atomic_store(&job->cancelled, true);
        *wait_ns = MS_NS;
        return held > job->memory_bytes + OVERRUN_BYTES ? NL_MEMGUARD_LEAVE : NL_MEMGUARD_STOP;
    }
    uint64_t ms = (most - held) / FILL_BYTES_PER_MS;
    if (ms < (uint64_t)(*wait_ns / MS_NS))
        *wait_ns = ms ? (int64_t)ms * MS_NS : MS_NS;
    return NL_MEMGUARD_FITS;
}

void nl_memguard_alone(struct nl_job *job)
{
    int64_t wait = 0;
    (void)nl_memguard_look(job, &wait);
    atomic_store(&job->look, nl_memguard_alone);
}

void nl_memguard_explain(const struct nl_job *job, const char *profile, struct nl_err *err)
{
    char budget[NL_UNIT_TEXT];
    if (!atomic_load(&job->out_of_memory))
        return;
    nl_err_at(err, err->file[0] ? NULL : profile, -1);
    (void)nl_fail(err, NL_MEMORY,
                  "%s needs more than the memory limit of %s; raise it with --memory",
                  atomic_load(&job->phase), nl_format_bytes(budget, job->memory_bytes));
}
