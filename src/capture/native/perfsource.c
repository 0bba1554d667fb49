/*
 * Where threads spend processor time, and when they have no processor: samples and switches of the
 * kernel (perfring.h) go to the recordings of the processes they are of. Frames are recorded as
 * places in files (perfmaps.h, perfframes.h); the reader finds their names.
 *
 * A process gets its recording a moment after it begins, or never when it does not load our
 * library. Reports about it meanwhile wait (perfheld.h).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/native/perfframes.h"
#include "capture/native/perfheld.h"
#include "capture/native/perfthreads.h"
#include "capture/recorder/source.h"
#include "capture/shared/ticks.h"
#include "capture/native/unwind.h"
#include "capture/recorder/partvalues.h"

#define MAX_FRAMES 512u
/* A switch costs the program about 1 µs: 5,000 a second of a processor are
 * half a percent of its time. */
#define MAX_SWITCHES 10000u /* records a second of a processor; a switch has two */

struct sampler {
    struct source_run *run;
    struct perfring *ring;
    struct perfmaps *maps;
    struct perfframes *frames;
    struct perfthreads *threads;
    struct unwind *unwind; /* NULL: the kernel follows the stacks */
    uint64_t samples, lost, lost_seen, throttled, unknown_runs, homeless;
    int64_t next_look, own; /* pid of the recorder */
    /* the switches' rate */
    int64_t second_began, switches_ended; /* 0 = they are recorded */
    uint64_t switches;
    uint32_t processors;
    bool open; /* sampling, as of the last round */
};

static struct perfheld *held_of(struct perfmaps_process *process)
{
    if (!process->owner)
        process->owner = perfheld_new();
    return process->owner;
}

/* ---- samples ---- */

/* Addresses of a sample, innermost first. */
static size_t addresses_of(struct sampler *sampler, const struct perfmaps_process *process,
                           const struct perf_record *record, uint64_t *addresses, bool *cut)
{
    size_t count = 0;
    if (sampler->unwind)
        return unwind_stack(sampler->unwind, process, record, addresses, MAX_FRAMES, cut);
    for (size_t i = 0; i < record->chain_count && count < MAX_FRAMES; i++) {
        uint64_t address = perf_record_u64(record->chain, i);
        if (address < (uint64_t)-4095) /* else a mark: which of the stacks follows */
            addresses[count++] = address;
    }
    if (!record->chain_count && !record->in_kernel)
        addresses[count++] = record->ip;
    return count;
}

static void take_sample(struct sampler *sampler, const struct perf_record *record)
{
    uint64_t addresses[MAX_FRAMES];
    const char *frames[MAX_FRAMES + 1];
    size_t count = 0;
    bool cut = false;
    struct perfmaps_process *process = perfmaps_process(sampler->maps, record->pid);
    if (!process || !control_was_open(parts_control(sampler->run->parts), (int64_t)record->time))
        return;
    if (record->in_kernel)
        frames[count++] = PERFFRAMES_KERNEL;
    size_t depth = addresses_of(sampler, process, record, addresses, &cut);
    for (size_t i = 0; i < depth; i++) {
        /* What called is the instruction before the address to return to. */
        uint64_t address = addresses[i] - ((i || record->in_kernel) && addresses[i]);
        if (i && !perfmaps_at(process,
                              address)) { /* no code: what was followed were no frame pointers */
            cut = true;
            break;
        }
        frames[count++] = perfframes_text(sampler->frames, process, address);
    }
    struct part_sample sample = {.ns = (int64_t)record->time,
                                 .thread = (uint32_t)record->tid,
                                 .cpu = (uint32_t)record->cpu,
                                 .event = perfring_event(sampler->ring),
                                 .unit = perfring_unit(sampler->ring),
                                 .weight = record->period,
                                 .frames = frames,
                                 .frame_count = count,
                                 .cut = cut};
    perfheld_sample(held_of(process), &sample);
    sampler->samples++;
}

/* ---- switches ---- */

static void put_run(struct sampler *sampler, int64_t pid, const struct part_run *run)
{
    struct perfmaps_process *process = perfmaps_process(sampler->maps, pid);
    if (process && control_was_open(parts_control(sampler->run->parts), run->end))
        perfheld_run(held_of(process), run);
}

static void take_switch(struct sampler *sampler, const struct perf_record *record)
{
    struct part_run run;
    uint16_t how = record->preempted ? NL_REC_RAN_READY : NL_REC_RAN_WAITS;
    sampler->switches++;
    if (!record->out)
        perfthreads_in(sampler->threads, record->tid, (int64_t)record->time);
    else if (perfthreads_out(sampler->threads, record, how, &run))
        put_run(sampler, record->pid, &run);
    else
        sampler->unknown_runs++;
}

/* AUTO: they end for good when there are too many. A pause would look like threads that wait. */
static void watch_switches(struct sampler *sampler, int64_t now)
{
    int64_t passed = now - sampler->second_began;
    if (sampler->run->options->switches != NL_SWITCHES_AUTO || sampler->switches_ended ||
        passed < NL_SECOND_NS / 2)
        return;
    uint64_t most = (uint64_t)MAX_SWITCHES * sampler->processors / 2;
    if (sampler->switches > most * (uint64_t)passed / (NL_SECOND_NS / 2)) {
        perfring_no_switches(sampler->ring);
        sampler->switches_ended = now;
    }
    sampler->switches = 0;
    sampler->second_began = now;
}

/* ---- processes ---- */

static void take_map(struct sampler *sampler, const struct perf_record *record)
{
    struct perfmaps_process *process = perfmaps_process(sampler->maps, record->pid);
    if (!process)
        return;
    struct perfmaps_mapping mapping = {
        .start = record->start,
        .end = record->start + record->len,
        .file_offset = record->file_offset,
        .module = perfmaps_module(sampler->maps, record->text, record->id, record->id_len)};
    perfmaps_map(sampler->maps, process, &mapping);
}

static void take_comm(struct sampler *sampler, const struct perf_record *record)
{
    struct perfmaps_process *process = perfmaps_process(sampler->maps, record->pid);
    if (!process)
        return;
    if (record->exec) {
        perfmaps_clear(process);
        held_of(process)->since = (int64_t)record->time;
        if (!sampler->switches_ended && sampler->run->options->switches != NL_SWITCHES_OFF)
            perfthreads_in(sampler->threads, record->tid, (int64_t)record->time);
    }
    if (record->pid == record->tid)
        (void)snprintf(process->program, sizeof process->program, "%s", record->text);
}

static void take_fork(struct sampler *sampler, const struct perf_record *record)
{
    if (record->pid == record->parent) /* a thread */
        return;
    perfmaps_fork(sampler->maps, record->pid, record->parent);
    struct perfmaps_process *process = perfmaps_process(sampler->maps, record->pid);
    if (process)
        held_of(process)->since = (int64_t)record->time;
}

static void take_exit(struct sampler *sampler, const struct perf_record *record)
{
    struct part_run run;
    if (perfthreads_out(sampler->threads, record, 0, &run))
        put_run(sampler, record->pid, &run);
    perfthreads_end(sampler->threads, record->tid);
    struct perfmaps_process *process = perfmaps_find(sampler->maps, record->pid);
    if (process && record->pid == record->tid)
        held_of(process)->ended = true;
}

static void take_record(struct sampler *sampler, const struct perf_record *record)
{
    /* What switches the events on for the program's threads does so for ours,
     * which they descend from. */
    bool ours = record->pid == sampler->own && record->kind != PERF_RECORD_KIND_LOST;
    switch (ours ? PERF_RECORD_KIND_OTHER : record->kind) {
    case PERF_RECORD_KIND_SAMPLE: take_sample(sampler, record); break;
    case PERF_RECORD_KIND_MAP: take_map(sampler, record); break;
    case PERF_RECORD_KIND_COMM: take_comm(sampler, record); break;
    case PERF_RECORD_KIND_FORK: take_fork(sampler, record); break;
    case PERF_RECORD_KIND_EXIT: take_exit(sampler, record); break;
    case PERF_RECORD_KIND_SWITCH: take_switch(sampler, record); break;
    case PERF_RECORD_KIND_LOST:
        sampler->lost += record->lost;
        perfthreads_forget(sampler->threads);
        break;
    case PERF_RECORD_KIND_THROTTLE: sampler->throttled++; break;
    default: break;
    }
}

/* ---- recordings ---- */

/* "NSpid:" of /proc/PID/status has the numbers of a process in its namespaces, ours first. */
static int64_t inner_number(int64_t pid)
{
    char path[64], line[256];
    long long ours, last;
    int64_t inner = 0;
    (void)snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *tab = strrchr(line, '\t');
        if (sscanf(line, "NSpid: %lld", &ours) != 1)
            continue;
        if (tab && sscanf(tab, "%lld", &last) == 1 && strchr(line, '\t') != tab)
            inner = last;
        break;
    }
    if (file)
        fclose(file);
    return inner;
}

static bool is_of(const struct part *part, const struct perfmaps_process *process)
{
    struct perfheld *held = process->owner;
    if (part->head->pairs[0].monotonic_ns < held->since)
        return false;
    if (part->pid != PART_FOREIGN)
        return part->pid == process->pid;
    if (held->inner < 0)
        held->inner = inner_number(process->pid);
    return held->inner && part->head->pid == held->inner;
}

/* The recording of what the process is now: begun after it was. */
static struct part *part_of(struct sampler *sampler, const struct perfmaps_process *process)
{
    struct part *found = NULL;
    size_t count;
    struct part *part = parts_first(sampler->run->parts, &count);
    for (; count; count--, part++)
        if (is_of(part, process) && (!found || part->number > found->number))
            found = part;
    return found;
}

static void hand_over(struct sampler *sampler, struct perfmaps_process *process, bool last)
{
    struct perfheld *held = process->owner;
    if (!held || perfheld_is_empty(held))
        return;
    struct part *part = part_of(sampler, process);
    /* A few runs are not worth a file: children that do next to nothing come by the thousand. */
    bool full = perfheld_is_full(held), end = last || held->ended;
    bool due = end || full || perfheld_waits(held, sampler->run->now_ns);
    if (!part && due && (full || perfheld_has_samples(held)) &&
        parts_make_for(sampler->run->parts, process->pid, process->program))
        part = part_of(sampler, process);
    if (part) {
        perfheld_hand_over(held, part, ticks_now(parts_control(sampler->run->parts)->clock));
    } else if (end || full) {
        sampler->homeless += held->sample_count;
        perfheld_clear(held);
    }
}

static void hand_over_all(struct sampler *sampler, bool last)
{
    size_t count;
    struct perfmaps_process *process = perfmaps_first(sampler->maps, &count);
    for (size_t i = 0; i < count; i++)
        hand_over(sampler, &process[i], last);
    for (size_t i = count; i-- > 0;) { /* what takes the place of one that ended was looked at */
        struct perfheld *held = process[i].owner;
        if (!held || !held->ended)
            continue;
        perfheld_free(held);
        perfmaps_end(sampler->maps, process[i].pid);
    }
}

/* Records were lost: of mappings and ends of processes perhaps, too. They are looked up. */
static void look_again(struct sampler *sampler)
{
    size_t count;
    struct perfmaps_process *process = perfmaps_first(sampler->maps, &count);
    for (size_t i = 0; i < count; i++) {
        if (kill((pid_t)process[i].pid, 0) != 0 && errno == ESRCH)
            held_of(&process[i])->ended = true;
        else
            perfmaps_look(sampler->maps, &process[i]);
    }
    sampler->lost_seen = sampler->lost;
    sampler->next_look = sampler->run->now_ns + NL_SECOND_NS;
}

static void drain(struct sampler *sampler, bool last)
{
    struct perf_record record;
    parts_look(sampler->run->parts);
    perfring_fill(sampler->ring, ticks_clock_ns(CLOCK_MONOTONIC), last);
    while (perfring_next(sampler->ring, &record))
        take_record(sampler, &record);
    if (sampler->lost != sampler->lost_seen && sampler->run->now_ns >= sampler->next_look)
        look_again(sampler);
    hand_over_all(sampler, last);
}

/* ---- the source ---- */

static bool start(struct source_run *run)
{
    const struct source_options *options = run->options;
    if (!options->cpu_hz && options->switches == NL_SWITCHES_OFF)
        return false;  /* not asked for: no news */
    if (!run->library) /* the kernel's events reach what we start */
        (void)snprintf(run->why, sizeof run->why, "only in programs that neurolens starts");
    return run->library;
}

static bool meet(struct source_run *run, pid_t program)
{
    const struct source_options *options = run->options;
    struct perfring_options asked = {.pid = program,
                                     .hz = options->cpu_hz,
                                     .stacks = options->stacks,
                                     .stack_bytes = options->stack_bytes,
                                     .switches = options->switches != NL_SWITCHES_OFF,
                                     .asleep = !parts_control(run->parts)->gate};
    if (asked.stacks == PERF_STACKS_DWARF && !unwind_registers())
        asked.stacks = PERF_STACKS_FP;
    struct perfring *ring = perfring_open(&asked, run->why, sizeof run->why);
    if (!ring)
        return false;
    struct sampler *sampler = run->state = nl_zalloc(sizeof *sampler);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    sampler->run = run;
    sampler->own = getpid();
    sampler->ring = ring;
    sampler->maps = perfmaps_new();
    sampler->frames = perfframes_new(sampler->maps);
    sampler->threads = perfthreads_new();
    if (asked.stacks == PERF_STACKS_DWARF)
        sampler->unwind = unwind_new(sampler->maps);
    sampler->second_began = ticks_clock_ns(CLOCK_MONOTONIC);
    sampler->processors = processors > 0 ? (uint32_t)processors : 1;
    sampler->open = !asked.asleep;
    return true;
}

static void poll_ring(struct source_run *run)
{
    struct sampler *sampler = run->state;
    bool open = __atomic_load_n(&parts_control(run->parts)->gate, __ATOMIC_RELAXED);
    if (open != sampler->open)
        perfring_gate(sampler->ring, open);
    sampler->open = open;
    drain(sampler, false);
    watch_switches(sampler, run->now_ns);
}

static void note_sampler_state(struct sampler *sampler, struct part *part)
{
    char text[160];
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"lost: records of samples and switches", sampler->lost,
         "the kernel's rings were full: the recorder got no processor; sample less often "
         "(--sample-rate)"},
        {"samples throttled by the kernel", sampler->throttled,
         "they came too often; kernel.perf_event_max_sample_rate"},
        {"skipped: damaged records of the kernel", perfring_damaged(sampler->ring), NULL},
        {"times on a processor that are not known", sampler->unknown_runs,
         "the switch to the thread was not recorded"},
        {"dropped: samples of processes that no recording could be made of", sampler->homeless,
         NULL},
        {"processor time in the kernel is not sampled",
         sampler->run->options->cpu_hz && !perfring_sees_kernel(sampler->ring),
         "perf_event_paranoid is over 1; sysctl kernel.perf_event_paranoid=1 allows it"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count)
            part_note(sampler->run->parts, part, notes[i].item, notes[i].count, notes[i].detail);
    if (!sampler->switches_ended)
        return;
    (void)snprintf(text, sizeof text,
                   "over %u a second and processor, which costs the program over 0.5 %%; "
                   "--switches on records them all the same",
                   MAX_SWITCHES / 2);
    part_note(sampler->run->parts, part,
              "context switches are recorded for the first moments alone", 1, text);
}

static void stop(struct source_run *run)
{
    struct sampler *sampler = run->state;
    size_t count;
    if (!sampler)
        return;
    perfring_gate(sampler->ring, false);
    run->now_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    drain(sampler, true);
    struct part *part = parts_first(run->parts, &count);
    if (count)
        note_sampler_state(sampler, part);
    run->lost = sampler->lost;
    run->samples = sampler->samples;
    run->sample_ps = perfring_sample_ps(sampler->ring);
    run->sample_ns = run->options->cpu_hz ? NL_SECOND_NS / (int64_t)run->options->cpu_hz : 0;
    struct perfmaps_process *process = perfmaps_first(sampler->maps, &count);
    for (size_t i = 0; i < count; i++)
        perfheld_free(process[i].owner);
    unwind_free(sampler->unwind);
    perfthreads_free(sampler->threads);
    perfframes_free(sampler->frames);
    perfmaps_free(sampler->maps);
    perfring_close(sampler->ring);
    nl_free(sampler);
    run->state = NULL;
}

const struct nl_source nl_source_cpu = {
    .name = "CPU samples",
    .doc = "samples of native code, and when threads have a processor",
    .period_ns = 1,
    .always = true,
    .missed = true,
    .start = start,
    .meet = meet,
    .poll = poll_ring,
    .stop = stop};
