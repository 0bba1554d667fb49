/*
 * What the reader knows only when all blocks are read: names of processes and threads, and
 * coverage. Kineto names devices and streams like processes and threads; those are left out, the
 * store names lanes of devices itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ingest/chrome/chrome_work.h"

static const struct {
    const char *item, *advice;
} note_texts[] = {
#define CHROME_NOTE(id, item, advice) {item, advice},
#include "ingest/chrome/chrome_notes.def"
#undef CHROME_NOTE
};

/* Phases that are not loaded, with what to do about it. */
static const struct {
    char phase;
    const char *item, *advice;
} phase_texts[] = {
    {'V', "not loaded: memory dump of all (V)", "those of each process are loaded"},
    {'c', "not loaded: clock synchronisation (c)", "the file's own clock is kept"},
    {'(', "not loaded: context begin", ""},
    {')', "not loaded: context end", ""},
    {'=', "not loaded: linked id", ""},
};

/* ---- Labels. ---- */

static int labels_by_order(const void *x, const void *y)
{
    const struct chrome_label *a = x, *b = y;
    return (a->order > b->order) - (a->order < b->order);
}

static bool is_device(const struct chrome_worker *workers, unsigned count, int64_t pid)
{
    for (unsigned w = 0; w < count; w++)
        for (size_t i = 0; i < workers[w].device_lane_count; i++)
            if (workers[w].device_lanes[i].device == pid)
                return true;
    return false;
}

/* Names the streams that a thread label of a device means, unless it only says "stream 7". */
static void label_stream(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                         const struct chrome_label *label)
{
    struct nl_str text = {label->text, label->len};
    if (nl_str_starts(text, "stream ") || nl_str_starts(text, "thread "))
        return;
    for (unsigned w = 0; w < count; w++)
        for (size_t i = 0; i < workers[w].device_lane_count; i++) {
            const struct chrome_device_lane *lane = &workers[w].device_lanes[i];
            if (lane->device == label->pid && lane->stream == label->tid)
                nl_builder_lane_name(load->builder, lane->lane, text);
        }
}

static void apply_label(struct chrome_load *load, struct chrome_worker *workers, unsigned count,
                        const struct chrome_label *label)
{
    struct nl_builder *builder = load->builder;
    struct nl_str text = {label->text, label->len};
    if (!chrome_pid_seen(workers, count, label->pid)) {
        if (label->kind == CHROME_THREAD_NAME && is_device(workers, count, label->pid))
            label_stream(load, workers, count, label);
        if (load->kineto || chrome_rpd_is_gpu(load, label->pid))
            return;
    }
    uint32_t process = nl_builder_process(builder, load->source, label->pid);
    switch (label->kind) {
    case CHROME_PROCESS_NAME: nl_builder_process_name(builder, process, text); break;
    case CHROME_PROCESS_LABEL:
        if (!load->kineto || !nl_str_starts(text, "GPU "))
            nl_builder_process_label(builder, process, text);
        break;
    case CHROME_THREAD_NAME:
        if (label->tid != NL_NULL_I64)
            nl_builder_thread_name(builder, nl_builder_thread(builder, process, label->tid), text);
        break;
    }
}

static void apply_labels(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    size_t total = 0, at = 0;
    for (unsigned w = 0; w < count; w++)
        total += workers[w].label_count;
    struct chrome_label *all = nl_alloc(total * sizeof *all);
    for (unsigned w = 0; w < count; w++)
        for (size_t i = 0; i < workers[w].label_count; i++)
            all[at++] = workers[w].labels[i];
    if (total)
        qsort(all, total, sizeof *all, labels_by_order);
    for (size_t i = 0; i < total; i++)
        apply_label(load, workers, count, &all[i]);
    nl_free(all);
}

/* ---- Coverage. ---- */

static void report_notes(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    for (unsigned n = 0; n < CHROME_NOTE_COUNT; n++) {
        uint64_t total = 0, first = UINT64_MAX;
        for (unsigned w = 0; w < count; w++) {
            total += workers[w].notes[n];
            if (workers[w].note_offset[n] < first)
                first = workers[w].note_offset[n];
        }
        if (!total)
            continue;
        char detail[256];
        const char *advice = note_texts[n].advice;
        if (first && first < UINT64_MAX)
            snprintf(detail, sizeof detail, "first at byte %llu%s%s", (unsigned long long)first,
                     *advice ? "; " : "", advice);
        else
            snprintf(detail, sizeof detail, "%s", advice);
        nl_builder_coverage(load->builder, load->source, note_texts[n].item, (int64_t)total,
                            detail);
    }
}

static void report_phases(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    uint64_t unknown = 0;
    for (unsigned phase = 0; phase < 128; phase++) {
        uint64_t total = 0;
        for (unsigned w = 0; w < count; w++)
            total += workers[w].phases[phase];
        if (!total || chrome_phase_loaded((unsigned char)phase))
            continue;
        size_t i = 0;
        while (i < sizeof phase_texts / sizeof phase_texts[0] &&
               phase_texts[i].phase != (char)phase)
            i++;
        if (i < sizeof phase_texts / sizeof phase_texts[0])
            nl_builder_coverage(load->builder, load->source, phase_texts[i].item, (int64_t)total,
                                phase_texts[i].advice);
        else
            unknown += total;
    }
    for (unsigned w = 0; w < count; w++)
        unknown += workers[w].other_phases;
    if (unknown)
        nl_builder_coverage(load->builder, load->source, "skipped: event of an unknown phase",
                            (int64_t)unknown, "");
}

/* Argument keys by name; few, since each worker keeps CHROME_MAX_KEYS at most. */
static void report_keys(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    for (unsigned w = 0; w < count; w++)
        for (unsigned k = 0; k < workers[w].key_count; k++) {
            const struct chrome_key_count *key = &workers[w].keys[k];
            char item[128];
            int at = snprintf(item, sizeof item, "not stored: argument ");
            for (uint32_t i = 0; i < key->len && at < (int)sizeof item - 1; i++)
                item[at++] = key->text[i] >= ' ' && key->text[i] < 127 ? key->text[i] : '?';
            item[at] = '\0';
            nl_builder_coverage(load->builder, load->source, item, (int64_t)key->count, "");
        }
}

/* Names that were repaired, each once, whichever workers met it. */
static void note_names(struct chrome_worker *workers, unsigned count)
{
    uint64_t counts[CHROME_NAME_FAULTS] = {0};
    struct nl_idmap seen = {0};
    for (unsigned w = 0; w < count; w++) {
        chrome_names_count(&workers[w].names, &seen, counts);
        chrome_names_count(&workers[w].shared, &seen, counts);
    }
    nl_idmap_release(&seen);
    workers[0].notes[CHROME_NOTE_UTF8] += counts[CHROME_BAD_UTF8];
    workers[0].notes[CHROME_NOTE_CONTROL] += counts[CHROME_CONTROLS];
    workers[0].notes[CHROME_NOTE_ESCAPES] += counts[CHROME_BAD_ESCAPES];
}

void chrome_report(struct chrome_load *load, struct chrome_worker *workers, unsigned count)
{
    note_names(workers, count);
    apply_labels(load, workers, count);
    report_notes(load, workers, count);
    report_phases(load, workers, count);
    report_keys(load, workers, count);
}
