/*
 * Call stacks of Python threads as the sampler reads them from the memory of the recorded
 * processes: the program does nothing for it, and nothing in it is changed. Threads that run are
 * sampled as "python", those that sleep (input and output, locks, the GIL) as "python (waiting)".
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "capture/python/pychildren.h"
#include "capture/python/pysampler.h"
#include "capture/recorder/source.h"
#include "capture/shared/ticks.h"
#include "nlrec/recpython.h"
#include "capture/recorder/partvalues.h"

struct samples {
    struct pysampler *sampler;
    struct pychildren *children;
};

struct sampled {
    struct pysampler_process *process;
};

struct target {
    struct parts *parts;
    struct part *part;
};

static bool start(struct source_run *run)
{
    if (!run->options || !run->options->sample_ns)
        return false; /* not asked for: nothing to report */
    if (access("/proc/self/maps", R_OK) != 0) {
        (void)snprintf(run->why, sizeof run->why, "/proc cannot be read here");
        return false;
    }
    struct pysampler *sampler =
        pysampler_start(run->options->sample_ns, &parts_control(run->parts)->gate);
    if (!sampler) {
        (void)snprintf(run->why, sizeof run->why, "no thread could be made");
        return false;
    }
    struct samples *samples = run->state = nl_zalloc(sizeof *samples);
    samples->sampler = sampler;
    samples->children = pychildren_new();
    return true;
}

static void record(void *context, const struct pysampler_sample *sample, const char *const *frames)
{
    const struct target *target = context;
    struct part_sample row = {.ns = sample->ns,
                              .thread = sample->thread,
                              .cpu = NL_REC_NO_CPU,
                              .event = sample->waiting ? "python (waiting)" : "python",
                              .unit = "ns",
                              .weight = sample->weight,
                              .frames = frames,
                              .frame_count = sample->count,
                              .cut = sample->cut};
    part_sample(target->part, ticks_now(parts_control(target->parts)->clock), &row);
}

static void write_sample(struct source_run *run, struct part *part, const struct sampled *sampled)
{
    struct target target = {run->parts, part};
    const struct samples *samples = run->state;
    pysampler_take(samples->sampler, sampled->process, record, &target);
}

static void poll_parts(struct source_run *run)
{
    const struct samples *samples = run->state;
    size_t count;
    struct part *part = parts_first(run->parts, &count);
    for (; count; count--, part++) {
        struct sampled *sampled = part->private[run->place];
        if (part->pid == PART_FOREIGN)
            continue;
        if (!sampled) {
            sampled = part->private[run->place] = nl_zalloc(sizeof *sampled);
            sampled->process = pysampler_add(samples->sampler, part->pid);
        }
        write_sample(run, part, sampled);
        if (pysampler_is_ready(samples->sampler, sampled->process))
            pychildren_see(samples->children, part->pid);
    }
    pychildren_settle(samples->children, run->parts);
}

/* ---- the end of a process ---- */

static void note_count(struct source_run *run, struct part *part, const char *item, uint64_t count,
                       const char *detail)
{
    if (count)
        part_note(run->parts, part, item, count, detail);
}

static void note_sampler_state(struct source_run *run, struct part *part,
                               const struct pysampler_state *state)
{
    if (state->found == PYFIND_REFUSED)
        part_note(run->parts, part, "not recorded: Python samples", 1, state->why);
    run->lost += state->dropped;
    note_count(run, part, "dropped: Python samples", state->dropped,
               "sampled faster than recorded");
    note_count(run, part, "Python samples whose stack could not be read", state->torn,
               "the program changed it in each of three readings; they count, without a stack");
    note_count(run, part, "Python samples of threads without a number", state->losses.anonymous,
               NULL);
    note_count(run, part, "lost: Python threads that were not sampled", state->losses.unlisted,
               "more than 4,096");
    note_count(run, part, "Python frames without a name", state->losses.overflow,
               "more than 64 MiB of names");
}

static void leave(struct source_run *run, struct part *part)
{
    const struct samples *samples = run->state;
    struct sampled *sampled = part->private[run->place];
    struct pysampler_state state;
    if (part->pid == PART_FOREIGN && (part->head->python & NL_REC_PYTHON_HERE))
        part_note(run->parts, part, "not recorded: Python samples", 1,
                  "the process is in another PID namespace and cannot be found from outside of it: "
                  "start `neurolens run` inside (unshare … neurolens run …)");
    if (!sampled || !samples)
        return;
    pysampler_end(samples->sampler, sampled->process);
    write_sample(run, part, sampled);
    pysampler_state(samples->sampler, sampled->process, &state);
    note_sampler_state(run, part, &state);
    pysampler_free(sampled->process);
    nl_free(sampled);
    part->private[run->place] = NULL;
}

static void stop(struct source_run *run)
{
    struct samples *samples = run->state;
    struct pysampler_sums sums;
    size_t count;
    struct part *part = parts_first(run->parts, &count);
    for (size_t i = 0; i < count; i++)
        leave(run, &part[i]);
    pysampler_stop(samples->sampler, &sums);
    if (count)
        note_count(run, part, "lost: Python processes that could not be given a recording",
                   pychildren_refused(samples->children), NULL);
    pychildren_free(samples->children);
    nl_free(samples);
    run->state = NULL;
    run->samples = sums.samples;
    run->rounds = sums.rounds;
    run->missed = sums.missed;
    run->spent_ns += sums.spent_ns;
    run->sample_ns = sums.period_ns;
    run->slowest_ns = sums.longest_period_ns;
    if (count && sums.longest_period_ns > sums.period_ns) {
        char text[96];
        (void)snprintf(text, sizeof text,
                       "down to %.1f a second: a round took over a tenth of its time",
                       1e9 / (double)sums.longest_period_ns);
        part_note(run->parts, part, "Python samples taken less often", 1, text);
    }
}

const struct nl_source nl_source_python = {.name = "Python samples",
                                           .doc =
                                               "call stacks of Python threads, read from outside",
                                           .period_ns = 20000000,
                                           .missed = true,
                                           .start = start,
                                           .poll = poll_parts,
                                           .leave = leave,
                                           .stop = stop};
