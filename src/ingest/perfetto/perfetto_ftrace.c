/*
 * Events of the kernel: context switches on a processor become slices of the thread that ran,
 * atrace marks ("B|pid|name", "E", "C|pid|name|value") slices and counters of the thread that wrote
 * them, frequencies counters of the processor. The rest is counted.
 */
#include <stdio.h>

#include "base/units.h"
#include "ingest/perfetto/perfetto.h"
#include "ingest/perfetto/perfettoprofile.h"

#define MAX_CPUS 4096

/* The kernel's state of a thread that is switched out: 0 could go on, bits 0 and 1 sleeps. */
static uint8_t state_flag(int64_t state)
{
    if (state == NL_NULL_I64)
        return 0;
    return (state & 0xFF) == 0 ? NL_SLICE_READY : state & 3 ? NL_SLICE_WAITS : 0;
}

/* `state` is that of the thread that ran before; NL_NULL_I64 unknown. */
static void switch_in(struct perfetto_load *load, uint64_t cpu, int64_t ts, int64_t next,
                      int64_t state)
{
    while (load->cpu_count <= cpu) {
        nl_grow(&load->cpus, &load->cpu_cap, load->cpu_count + 1);
        load->cpus[load->cpu_count++] = (struct perfetto_running){0};
    }
    struct perfetto_running *running = &load->cpus[cpu];
    if (running->tid && ts >= running->since) {
        char text[24];
        struct perfetto_record record = {.ts = running->since, .type = PERFETTO_SCHED};
        record.dur = ts - running->since;
        record.flags = state_flag(state);
        record.track = perfetto_thread_track(load, NL_NULL_I64, running->tid, true);
        (void)snprintf(text, sizeof text, "CPU %u", (unsigned)cpu);
        record.name = nl_stage_name(load->stage, nl_str(text));
        perfetto_add(load, &record);
    }
    *running = (struct perfetto_running){ts, next};
}

static void name_thread(struct perfetto_load *load, int64_t tid, struct nl_str comm)
{
    if (tid == 0 || !comm.len)
        return;
    uint32_t row = perfetto_thread_track(load, NL_NULL_I64, tid, true);
    struct perfetto_track *track = &load->tracks[row];
    if (!track->thread_name.len)
        track->thread_name = perfetto_keep(load, comm);
}

static void read_switch(struct perfetto_load *load, uint64_t cpu, int64_t ts,
                        const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t next = 0, state = NL_NULL_I64;
    struct nl_str comm = {"", 0};
    while (wire_next(&wire, &field)) {
        if (field.number == SWITCH_NEXT_PID)
            next = wire_i64(&field);
        else if (field.number == SWITCH_PREV_STATE)
            state = wire_i64(&field);
        else if (field.number == SWITCH_NEXT_COMM)
            comm = wire_str(&field);
    }
    switch_in(load, cpu, ts, next, state);
    name_thread(load, next, comm);
}

/* CompactSched: columns instead of rows; times are deltas. */
static void read_compact(struct perfetto_load *load, uint64_t cpu, const struct wire_field *data)
{
    struct wire wire = wire_inside(data), times = {0}, states = {0}, nexts = {0}, comms = {0};
    struct wire_field field;
    struct nl_str names[256];
    unsigned count = 0;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case COMPACT_SWITCH_TIMESTAMP: times = wire_inside(&field); break;
        case COMPACT_SWITCH_PREV_STATE: states = wire_inside(&field); break;
        case COMPACT_SWITCH_NEXT_PID: nexts = wire_inside(&field); break;
        case COMPACT_SWITCH_NEXT_COMM_INDEX: comms = wire_inside(&field); break;
        case COMPACT_INTERN_TABLE:
            if (count < 256)
                names[count++] = wire_str(&field);
            break;
        default: break;
        }
    }
    uint64_t delta, next, comm, state;
    int64_t ts = 0;
    while (wire_varint(&times, &delta) && wire_varint(&nexts, &next)) {
        if (delta > INT64_MAX || __builtin_add_overflow(ts, (int64_t)delta, &ts)) {
            load->notes[PERFETTO_NOTE_TIME]++;
            return;
        }
        bool told = wire_varint(&states, &state);
        switch_in(load, cpu, ts, (int64_t)next, told ? (int64_t)state : NL_NULL_I64);
        if (wire_varint(&comms, &comm) && comm < count)
            name_thread(load, (int64_t)next, names[comm]);
    }
    load->notes[PERFETTO_NOTE_DAMAGED] += times.damaged || nexts.damaged;
}

/* ---- atrace ---- */

/* The part up to the next '|', taken off the text. */
static struct nl_str take_part(struct nl_str *text)
{
    size_t len = 0;
    while (len < text->len && text->ptr[len] != '|')
        len++;
    struct nl_str part = {text->ptr, len};
    size_t gone = len < text->len ? len + 1 : len;
    text->ptr += gone;
    text->len -= gone;
    return part;
}

static bool mark_counter(struct perfetto_load *load, int64_t ts, int64_t pid, struct nl_str rest)
{
    int64_t value;
    struct nl_str name = take_part(&rest);
    if (!nl_parse_i64(take_part(&rest), &value))
        return false;
    struct perfetto_record record = {.ts = ts, .real = (double)value, .type = PERFETTO_COUNTER};
    record.track = perfetto_named_track(load, "atrace counter", (uint64_t)pid, name);
    load->tracks[record.track].pid = pid;
    perfetto_add(load, &record);
    return true;
}

static void mark_slice(struct perfetto_load *load, int64_t ts, int64_t tid, int64_t pid,
                       struct nl_str name, bool begins)
{
    struct perfetto_record record = {.ts = ts, .type = begins ? PERFETTO_BEGIN : PERFETTO_END};
    record.track = perfetto_thread_track(load, NL_NULL_I64, tid, false);
    if (begins) {
        record.name = nl_stage_name(load->stage, name);
        load->tracks[record.track].pid = pid;
    }
    perfetto_add(load, &record);
}

static bool mark_async(struct perfetto_load *load, int64_t ts, int64_t pid, struct nl_str rest,
                       bool begins)
{
    struct perfetto_record record = {.ts = ts, .type = begins ? PERFETTO_BEGIN : PERFETTO_END};
    int64_t cookie;
    struct nl_str name = take_part(&rest);
    if (!nl_parse_i64(take_part(&rest), &cookie))
        return false;
    uint64_t key = (uint64_t)cookie ^ (uint64_t)pid << 32;
    record.track = perfetto_named_track(load, "atrace async", key, name);
    load->tracks[record.track].pid = pid;
    record.name = nl_stage_name(load->stage, name);
    perfetto_add(load, &record);
    return true;
}

static bool read_mark(struct perfetto_load *load, int64_t ts, int64_t tid, struct nl_str text)
{
    int64_t pid = NL_NULL_I64;
    while (text.len && (text.ptr[text.len - 1] == '\n' || text.ptr[text.len - 1] == '\0'))
        text.len--;
    struct nl_str rest = text;
    if (take_part(&rest).len != 1)
        return false;
    struct nl_str owner = take_part(&rest);
    if (owner.len && !nl_parse_i64(owner, &pid))
        return false;
    switch (text.ptr[0]) {
    case 'C': return mark_counter(load, ts, pid, rest);
    case 'S':
    case 'F': return mark_async(load, ts, pid, rest, text.ptr[0] == 'S');
    case 'B':
    case 'E': mark_slice(load, ts, tid, pid, rest, text.ptr[0] == 'B'); return true;
    default: return false;
    }
}

static bool read_print(struct perfetto_load *load, int64_t ts, int64_t tid,
                       const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number == PRINT_BUF && wire_is_text(&field))
            return read_mark(load, ts, tid, wire_str(&field));
    return false;
}

static void read_frequency(struct perfetto_load *load, int64_t ts, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    uint64_t khz = 0, cpu = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == FREQUENCY_STATE)
            khz = field.value;
        else if (field.number == FREQUENCY_CPU_ID)
            cpu = field.value;
    }
    char name[40];
    (void)snprintf(name, sizeof name, "CPU %llu frequency", (unsigned long long)cpu);
    struct perfetto_record record = {
        .ts = ts, .real = (double)khz * 1000, .type = PERFETTO_COUNTER};
    record.track = perfetto_named_track(load, "frequency", cpu, nl_str(name));
    load->tracks[record.track].unit_text = nl_str("Hz");
    perfetto_add(load, &record);
}

/* ---- bundles ---- */

static void read_event(struct perfetto_load *load, uint64_t cpu, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field, what = {0};
    uint64_t time = 0, tid = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == FTRACE_TIMESTAMP)
            time = field.value;
        else if (field.number == FTRACE_PID)
            tid = field.value;
        else if (wire_is_text(&field))
            what = field;
    }
    bool done = false;
    if (time > INT64_MAX)
        load->notes[PERFETTO_NOTE_TIME]++;
    else if (what.number == FTRACE_SCHED_SWITCH) {
        read_switch(load, cpu, (int64_t)time, &what);
        done = true;
    } else if (what.number == FTRACE_PRINT) {
        done = read_print(load, (int64_t)time, (int64_t)(int32_t)tid, &what);
    } else if (what.number == FTRACE_CPU_FREQUENCY) {
        read_frequency(load, (int64_t)time, &what);
        done = true;
    }
    load->notes[PERFETTO_NOTE_FTRACE] += !done;
}

void perfetto_ftrace(struct perfetto_load *load, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    uint64_t cpu = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == BUNDLE_CPU)
            cpu = field.value;
        else if (field.number == BUNDLE_LOST_EVENTS)
            load->notes[PERFETTO_NOTE_LOST] += field.value != 0;
    }
    if (cpu >= MAX_CPUS)
        return;
    wire = wire_inside(data);
    while (wire_next(&wire, &field)) {
        if (field.number == BUNDLE_EVENT && wire_is_text(&field))
            read_event(load, cpu, &field);
        else if (field.number == BUNDLE_COMPACT_SCHED && wire_is_text(&field))
            read_compact(load, cpu, &field);
    }
    load->notes[PERFETTO_NOTE_DAMAGED] += wire.damaged;
}
