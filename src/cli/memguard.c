/* The budget, compared with what the kernel says. */
#include "cli/memguard.h"

#include "base/mem.h"
#include "base/spill.h"
#include "base/units.h"

/* What the program has before it reads anything, and what it may have when it is ended by force. */
#define PROGRAM_BYTES ((uint64_t)4 << 20)
#define OVERRUN_BYTES ((uint64_t)12 << 20)

/* With less room than this, those who work look themselves: a thread that only looks may have to
 * wait for a processor, longer than they need to fill it. */
#define NEAR_LIMIT_BYTES ((uint64_t)64 << 20)

/* More than a processor can fill: touching fresh memory costs it 0.3 s per GB at the least. */
#define FILL_BYTES_PER_MS ((uint64_t)4 << 20)
#define MS_NS             ((int64_t)1000 * 1000)

/* Less of files than this in memory is not worth taking out. */
#define MIN_TRIMMED ((uint64_t)8 << 20)

/* What was spilled leaves memory when it and the rest of the process come near the budget. Returns
 * what is in memory then, files and all. */
static uint64_t trim(struct nl_job *job, uint64_t held, uint64_t mapped, uint64_t most)
{
    if (held + mapped <= most - most / 4 || mapped < MIN_TRIMMED)
        return held + mapped;
    nl_spill_trim(job->spill);
    held = nl_memory_resident(&mapped);
    return held + (mapped < MIN_TRIMMED ? mapped : MIN_TRIMMED);
}

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
    uint64_t mapped, held = nl_memory_resident(&mapped), most = job->memory_bytes + PROGRAM_BYTES;
    if (held > most - most / 4) /* what is still to come goes to a disk */
        (void)nl_spill_start(job->spill, most);
    uint64_t counted = nl_spill_started(job->spill) ? trim(job, held, mapped, most) : held;
    atomic_store(&job->look, counted + NEAR_LIMIT_BYTES > most ? look_at_work : NULL);
    if (held > most) {
        atomic_store(&job->out_of_memory, true);
        atomic_store(&job->cancelled, true);
        *wait_ns = MS_NS;
        return held > job->memory_bytes + OVERRUN_BYTES ? NL_MEMGUARD_LEAVE : NL_MEMGUARD_STOP;
    }
    uint64_t ms = counted < most ? (most - counted) / FILL_BYTES_PER_MS : 0;
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
    char budget[NL_UNIT_TEXT], full[NL_SPILL_TEXT];
    if (!atomic_load(&job->out_of_memory))
        return;
    nl_err_at(err, err->file[0] ? NULL : profile, -1);
    (void)nl_fail(err, NL_MEMORY,
                  "%s needs more than the memory limit of %s%s; raise it with --memory",
                  atomic_load(&job->phase), nl_format_bytes(budget, job->memory_bytes),
                  nl_spill_full(job->spill) ? nl_spill_said(job->spill, full) : "");
}
