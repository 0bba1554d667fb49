/*
 * Any bytes as records of the kernel: they are taken apart, mappings and threads follow them, and
 * samples are unwound by the tables of this very program. The first byte chooses what samples have.
 */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "capture/native/perfframes.h"
#include "capture/native/perfthreads.h"
#include "capture/native/unwind.h"
#include "capture/recorder/partvalues.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct target {
    struct perfmaps *maps;
    struct perfframes *frames;
    struct perfthreads *threads;
    struct unwind *unwind;
};

/* All of this program's code is where the record says that something lies. */
static void take_map(struct target *target, const struct perf_record *record)
{
    struct perfmaps_process *process = perfmaps_process(target->maps, record->pid);
    struct perfmaps_mapping mapping = {record->start, record->start + record->len,
                                       record->file_offset, 0};
    const char *path = record->id_len ? record->text : "/proc/self/exe";
    mapping.module = perfmaps_module(target->maps, path, record->id, record->id_len);
    if (process)
        perfmaps_map(target->maps, process, &mapping);
}

static void take_sample(struct target *target, const struct perf_record *record)
{
    uint64_t addresses[64];
    bool cut = false;
    struct perfmaps_process *process = perfmaps_process(target->maps, record->pid);
    if (!process)
        return;
    size_t count = unwind_stack(target->unwind, process, record, addresses, 64, &cut);
    if (count > 64)
        abort();
    for (size_t i = 0; i < count; i++)
        if (perfframes_text(target->frames, process, addresses[i])[0] != '@')
            abort();
}

static void take(struct target *target, const struct perf_record *record)
{
    struct part_run run;
    switch (record->kind) {
    case PERF_RECORD_KIND_SAMPLE: take_sample(target, record); break;
    case PERF_RECORD_KIND_MAP: take_map(target, record); break;
    case PERF_RECORD_KIND_FORK: perfmaps_fork(target->maps, record->pid, record->parent); break;
    case PERF_RECORD_KIND_EXIT:
        perfmaps_end(target->maps, record->pid);
        perfthreads_end(target->threads, record->tid);
        break;
    case PERF_RECORD_KIND_SWITCH:
        if (!record->out)
            perfthreads_in(target->threads, record->tid, (int64_t)(record->time >> 1));
        else if (perfthreads_out(target->threads, record, 0, &run) && run.end < run.begin)
            abort();
        break;
    case PERF_RECORD_KIND_LOST: perfthreads_forget(target->threads); break;
    default: break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target target = {.maps = perfmaps_new(), .threads = perfthreads_new()};
    struct perf_record_layout layout = {PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                                            PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD,
                                        unwind_registers()};
    target.frames = perfframes_new(target.maps);
    target.unwind = unwind_new(target.maps);
    if (size && data[0] & 1)
        layout.sample_type |= PERF_SAMPLE_CALLCHAIN;
    if (size && data[0] & 2)
        layout.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    for (size_t at = 8; at < size;) {
        struct perf_event_header head;
        struct perf_record record;
        if (size - at < sizeof head)
            break;
        memcpy(&head, data + at, sizeof head);
        size_t len = head.size < sizeof head ? sizeof head : head.size;
        len = len < size - at ? len : size - at;
        unsigned char *copy = nl_alloc(len); /* its end is the record's */
        memcpy(copy, data + at, len);
        if (perf_record_read(&layout, copy, len, &record))
            take(&target, &record);
        nl_free(copy);
        at += len;
    }
    unwind_free(target.unwind);
    perfframes_free(target.frames);
    perfthreads_free(target.threads);
    perfmaps_free(target.maps);
    return 0;
}
