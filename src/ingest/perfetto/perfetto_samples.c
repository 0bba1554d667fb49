/*
 * Samples: call stacks of perf and Chrome's profiler at moments, and sums of heapprofd. Strings,
 * mappings, frames and stacks are interned apart from each other and in any order, so the messages
 * are kept as they are and a stack is put together when a sample first names it.
 */
#include "ingest/perfetto/perfetto.h"
#include "ingest/perfetto/perfettoprofile.h"
#include "ingest/perfetto/perfettofields.h"

#define MAX_FRAMES 1024

/* ---- call stacks ---- */

static struct nl_str interned_text(struct perfetto_load *load,
                                   const struct perfetto_sequence *sequence, uint32_t kind,
                                   uint64_t iid)
{
    return iid ? perfetto_text(load, sequence, kind, iid)->text : (struct nl_str){"", 0};
}

/* The path of a mapping, which comes in pieces; put together once. */
static uint32_t module_of(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                          uint64_t iid)
{
    struct perfetto_interned *mapping = perfetto_entry(load, sequence, PERFETTO_MAPPINGS, iid);
    struct wire_field field;
    if (!mapping)
        return NL_NO_NAME;
    if (mapping->category)
        return mapping->name;
    mapping->category = 1;
    struct wire wire = wire_over(mapping->text.ptr, mapping->text.len);
    nl_buf_clear(&load->text);
    while (wire_next(&wire, &field)) {
        struct wire packed = wire_inside(&field);
        uint64_t piece = field.value;
        bool more = field.number == MAPPING_PATH_STRING_IDS &&
                    (wire_is_varint(&field) || wire_varint(&packed, &piece));
        for (; more && !load->text.overflow; more = wire_varint(&packed, &piece)) {
            struct nl_str part = interned_text(load, sequence, PERFETTO_MAPPING_PATHS, piece);
            bool slash = part.len && part.ptr[0] == '/';
            nl_buf_add(&load->text, "/", !slash && load->text.len > 0);
            nl_buf_add(&load->text, part.ptr, part.len);
        }
    }
    if (load->text.len && !load->text.overflow)
        mapping->name = nl_stage_name(load->stage, (struct nl_str){load->text.ptr, load->text.len});
    return mapping->name;
}

static struct nl_stack_row read_frame(struct perfetto_load *load,
                                      const struct perfetto_sequence *sequence, struct nl_str bytes)
{
    struct wire wire = wire_over(bytes.ptr, bytes.len);
    struct wire_field field;
    struct nl_stack_row frame = nl_stack_row();
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case FRAME_FUNCTION_NAME_ID:
            frame.name = cpuprofile_name(
                &load->profile, interned_text(load, sequence, PERFETTO_FUNCTIONS, field.value));
            break;
        case FRAME_MAPPING_ID: frame.module = module_of(load, sequence, field.value); break;
        case FRAME_SOURCE_PATH_IID:
            frame.file = cpuprofile_name(
                &load->profile, interned_text(load, sequence, PERFETTO_SOURCES, field.value));
            break;
        case FRAME_LINE_NUMBER:
            frame.line = field.value < NL_NULL_U32 ? (uint32_t)field.value : frame.line;
            break;
        default: break;
        }
    }
    return frame;
}

/* Many stacks share a frame: its message is read once. */
static uint32_t add_frame(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                          uint32_t parent, uint64_t iid)
{
    struct perfetto_interned *entry = perfetto_entry(load, sequence, PERFETTO_FRAMES, iid);
    struct nl_stack_row unknown = nl_stack_row();
    if (!entry)
        return cpuprofile_frame(&load->profile, parent, &unknown);
    if (!entry->category) {
        nl_grow(&load->frames, &load->frame_cap, load->frame_count + 1);
        load->frames[load->frame_count] = read_frame(load, sequence, entry->text);
        entry->category = (uint32_t)++load->frame_count;
    }
    return cpuprofile_frame(&load->profile, parent, &load->frames[entry->category - 1]);
}

/* Innermost frame of an interned stack, whose frames are sent outermost first. */
static uint32_t stack_of(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                         uint64_t iid)
{
    struct perfetto_interned *stack = perfetto_entry(load, sequence, PERFETTO_STACKS, iid);
    struct wire_field field;
    uint32_t node = NL_NULL_ROW, depth = 0;
    if (!stack)
        return NL_NULL_ROW;
    if (stack->category)
        return stack->category - 1;
    struct wire wire = wire_over(stack->text.ptr, stack->text.len);
    while (wire_next(&wire, &field)) {
        struct wire packed = wire_inside(&field);
        uint64_t frame = field.value;
        bool more = field.number == CALLSTACK_FRAME_IDS &&
                    (wire_is_varint(&field) || wire_varint(&packed, &frame));
        for (; more; more = wire_varint(&packed, &frame)) {
            if (depth++ == MAX_FRAMES) {
                load->notes[PERFETTO_NOTE_DEEP_STACK]++;
                break;
            }
            node = add_frame(load, sequence, node, frame);
        }
    }
    stack->category = node == NL_NULL_ROW ? 0 : node + 1;
    return node;
}

static void add_sample(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                       uint64_t iid, struct nl_sample_row *row)
{
    row->stack = iid ? stack_of(load, sequence, iid) : NL_NULL_ROW;
    load->notes[PERFETTO_NOTE_NO_STACK] += row->stack == NL_NULL_ROW;
    cpuprofile_sample(&load->profile, row);
}

/* Frames within the message, outermost first. */
static uint32_t inline_stack(struct perfetto_load *load, struct wire wire)
{
    struct wire_field field, part;
    uint32_t node = NL_NULL_ROW, depth = 0;
    while (wire_next(&wire, &field)) {
        struct wire inner = wire_inside(&field);
        struct nl_stack_row frame = nl_stack_row();
        if (field.number != INLINE_CALLSTACK_FRAMES || !wire_is_text(&field))
            continue;
        if (depth++ == MAX_FRAMES) {
            load->notes[PERFETTO_NOTE_DEEP_STACK]++;
            break;
        }
        while (wire_next(&inner, &part)) {
            if (part.number == INLINE_FRAME_FUNCTION_NAME)
                frame.name = cpuprofile_name(&load->profile, wire_str(&part));
            else if (part.number == INLINE_FRAME_SOURCE_FILE)
                frame.file = cpuprofile_name(&load->profile, wire_str(&part));
            else if (part.number == INLINE_FRAME_LINE_NUMBER && part.value < NL_NULL_U32)
                frame.line = (uint32_t)part.value;
        }
        node = cpuprofile_frame(&load->profile, node, &frame);
    }
    return node;
}

uint32_t perfetto_event_stack(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                              const struct wire_field *data)
{
    uint32_t node = wire_is_text(data) ? inline_stack(load, wire_inside(data))
                                       : stack_of(load, sequence, data->value);
    return node == NL_NULL_ROW ? 0 : node + 1;
}

/* ---- perf ---- */

/* What a sample counts: the name that was given to it, else that of its counter, by number. */
static void read_timebase(struct perfetto_load *load, const struct wire_field *data,
                          struct perfetto_sequence *sequence)
{
    static const char *const counters[] = {NULL,
                                           "cpu-clock",
                                           "page-faults",
                                           "task-clock",
                                           "context-switches",
                                           "cpu-migrations",
                                           "minor-faults",
                                           "major-faults",
                                           "alignment-faults",
                                           "emulation-faults",
                                           "cycles",
                                           "instructions",
                                           "cache-references",
                                           "cache-misses",
                                           "branches",
                                           "branch-misses",
                                           "bus-cycles",
                                           "stalled-cycles-frontend",
                                           "stalled-cycles-backend",
                                           "ref-cycles",
                                           "dummy"};
    struct wire wire = wire_inside(data);
    struct wire_field field;
    sequence->sample_event = NL_NO_NAME;
    sequence->sample_period = 0;
    while (wire_next(&wire, &field)) {
        bool counter = field.number == TIMEBASE_COUNTER && !sequence->sample_event &&
                       field.value < sizeof counters / sizeof counters[0];
        if (field.number == TIMEBASE_PERIOD)
            sequence->sample_period = field.value < INT64_MAX ? wire_i64(&field) : 0;
        else if (field.number == TIMEBASE_NAME && field.len)
            sequence->sample_event = nl_stage_name(load->stage, wire_str(&field));
        else if (counter && counters[field.value])
            sequence->sample_event = nl_stage_name(load->stage, nl_str(counters[field.value]));
    }
}

void perfetto_sample_defaults(struct perfetto_load *load, struct perfetto_sequence *sequence,
                              const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field))
        if (field.number == SAMPLE_DEFAULTS_TIMEBASE && wire_is_text(&field))
            read_timebase(load, &field, sequence);
}

void perfetto_perf_sample(struct perfetto_load *load, const struct perfetto_packet *packet,
                          const struct wire_field *data)
{
    const struct perfetto_sequence *sequence = packet->sequence;
    struct nl_sample_row row = nl_sample_row();
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t pid = NL_NULL_I64, tid = NL_NULL_I64;
    uint64_t stack = 0;
    bool skipped = false;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case SAMPLE_CPU: row.cpu = wire_i64(&field); break;
        case SAMPLE_PID: pid = wire_i64(&field); break;
        case SAMPLE_TID: tid = wire_i64(&field); break;
        case SAMPLE_CALLSTACK_IID: stack = field.value; break;
        case SAMPLE_KERNEL_RECORDS_LOST:
            load->notes[PERFETTO_NOTE_SAMPLES_LOST] += field.value & UINT32_MAX;
            break;
        case SAMPLE_SKIPPED_REASON:
        case SAMPLE_PRODUCER_EVENT: skipped = true; break;
        default: break;
        }
    }
    load->notes[PERFETTO_NOTE_SAMPLES_SKIPPED] += skipped;
    if (skipped || !packet->has_time || !perfetto_time(load, packet, &row.ts))
        return;
    row.lane = cpuprofile_lane(&load->profile, pid, tid, (struct nl_str){"", 0});
    row.weight = sequence->sample_period ? sequence->sample_period : 1;
    row.unit = sequence->sample_period ? NL_NO_NAME : nl_stage_name(load->stage, nl_str("samples"));
    row.event = sequence->sample_event;
    add_sample(load, sequence, stack, &row);
}

/* ---- Chrome's profiler: stacks and the µs between them, on the thread of the sequence ---- */

void perfetto_streamed_samples(struct perfetto_load *load, const struct perfetto_packet *packet,
                               const struct wire_field *data)
{
    struct perfetto_sequence *sequence = packet->sequence;
    struct wire stacks = wire_inside(data), deltas = stacks;
    struct wire_field stack, delta;
    struct nl_sample_row row = nl_sample_row();
    row.lane =
        cpuprofile_lane(&load->profile, sequence->pid, sequence->tid, (struct nl_str){"", 0});
    row.weight = 1;
    row.unit = nl_stage_name(load->stage, nl_str("samples"));
    /* Two unpacked lists side by side: each cursor goes to its next item. */
    while (wire_next(&stacks, &stack)) {
        if (stack.number != STREAMING_CALLSTACK_IID || !wire_is_varint(&stack))
            continue;
        delta.number = 0;
        while (delta.number != STREAMING_TIMESTAMP_DELTA_US && wire_next(&deltas, &delta)) {
        }
        int64_t us = sequence->reference_us, ns;
        if (delta.number != STREAMING_TIMESTAMP_DELTA_US || us == NL_NULL_I64 ||
            __builtin_add_overflow(us, wire_i64(&delta), &us) || us < 0 ||
            __builtin_mul_overflow(us, 1000, &ns)) {
            load->notes[PERFETTO_NOTE_TIME]++;
            continue;
        }
        sequence->reference_us = us;
        if (perfetto_convert(load, sequence, BUILTIN_CLOCK_MONOTONIC, (uint64_t)ns, &row.ts))
            add_sample(load, sequence, stack.value, &row);
    }
}

/* ---- heapprofd ---- */

/* A dump has sums since the start. What is added to the dump before makes the samples of a process
 * add up to its last dump. */
static const struct heap_sum {
    const char *event, *unit;
    uint8_t plus, minus; /* fields of HeapSample */
} heap_sums[] = {{"alloc_space", "bytes", HEAP_SAMPLE_SELF_ALLOCATED, 0},
                 {"inuse_space", "bytes", HEAP_SAMPLE_SELF_ALLOCATED, HEAP_SAMPLE_SELF_FREED},
                 {"alloc_objects", "count", HEAP_SAMPLE_ALLOC_COUNT, 0},
                 {"inuse_objects", "count", HEAP_SAMPLE_ALLOC_COUNT, HEAP_SAMPLE_FREE_COUNT},
                 {"max_space", "bytes", HEAP_SAMPLE_SELF_MAX, 0},
                 {"max_objects", "count", HEAP_SAMPLE_SELF_MAX_COUNT, 0}};
#define HEAP_SUMS   (sizeof heap_sums / sizeof heap_sums[0])
#define HEAP_FIELDS (HEAP_SAMPLE_SELF_MAX_COUNT + 1)

static void heap_sample(struct perfetto_load *load, const struct perfetto_sequence *sequence,
                        struct nl_sample_row *row, uint64_t heap, const struct wire_field *data)
{
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t values[HEAP_FIELDS] = {0};
    uint64_t stack = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == HEAP_SAMPLE_CALLSTACK_ID)
            stack = field.value;
        else if (field.number < HEAP_FIELDS && field.value < (uint64_t)INT64_MAX)
            values[field.number] = wire_i64(&field);
    }
    row->stack = stack ? stack_of(load, sequence, stack) : NL_NULL_ROW;
    for (size_t i = 0; i < HEAP_SUMS; i++) {
        int64_t sum = values[heap_sums[i].plus] - values[heap_sums[i].minus];
        uint64_t key[4] = {heap, (uint64_t)row->lane, row->stack, i};
        uint64_t *before = gpurows_map_put(&load->heaps, nl_hash(key, sizeof key), 0, NULL);
        if (__builtin_sub_overflow(sum, (int64_t)*before, &row->weight) || row->weight == 0)
            continue;
        *before = (uint64_t)sum;
        row->event = nl_stage_name(load->stage, nl_str(heap_sums[i].event));
        row->unit = nl_stage_name(load->stage, nl_str(heap_sums[i].unit));
        cpuprofile_sample(&load->profile, row);
    }
}

static void heap_dump(struct perfetto_load *load, const struct perfetto_packet *packet,
                      const struct wire_field *data)
{
    struct nl_sample_row row = nl_sample_row();
    struct wire wire = wire_inside(data);
    struct wire_field field;
    int64_t pid = NL_NULL_I64;
    uint64_t heap = 0, time = 0;
    bool damaged = false, timed = false;
    while (wire_next(&wire, &field)) {
        switch (field.number) {
        case HEAP_DUMP_PID: pid = wire_i64(&field); break;
        case HEAP_DUMP_REJECTED_CONCURRENT:
        case HEAP_DUMP_BUFFER_OVERRAN:
        case HEAP_DUMP_BUFFER_CORRUPTED:
        case HEAP_DUMP_HIT_GUARDRAIL: damaged |= field.value != 0; break;
        case HEAP_DUMP_TIMESTAMP:
            time = field.value;
            timed = true;
            break;
        case HEAP_DUMP_HEAP_NAME: heap = nl_hash(field.data, field.len); break;
        default: break;
        }
    }
    load->notes[PERFETTO_NOTE_HEAP_PARTIAL] += damaged;
    if (timed ? !perfetto_convert(load, packet->sequence, BUILTIN_CLOCK_MONOTONIC_COARSE, time,
                                  &row.ts)
              : !packet->has_time || !perfetto_time(load, packet, &row.ts))
        return;
    row.lane = cpuprofile_lane(&load->profile, pid, NL_NULL_I64, (struct nl_str){"", 0});
    wire = wire_inside(data);
    while (wire_next(&wire, &field))
        if (field.number == HEAP_DUMP_SAMPLES && wire_is_text(&field))
            heap_sample(load, packet->sequence, &row, heap, &field);
}

void perfetto_heap(struct perfetto_load *load, const struct perfetto_packet *packet,
                   const struct wire_field *data)
{
    static const struct {
        uint32_t field, kind;
    } tables[] = {{PROFILE_STRINGS, PERFETTO_FUNCTIONS}, {PROFILE_STRINGS, PERFETTO_MAPPING_PATHS},
                  {PROFILE_STRINGS, PERFETTO_SOURCES},   {PROFILE_MAPPINGS, PERFETTO_MAPPINGS},
                  {PROFILE_FRAMES, PERFETTO_FRAMES},     {PROFILE_CALLSTACKS, PERFETTO_STACKS}};
    struct wire wire = wire_inside(data);
    struct wire_field field;
    while (wire_next(&wire, &field))
        for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
            if (field.number == tables[i].field && wire_is_text(&field))
                perfetto_intern(load, packet->sequence, tables[i].kind, &field);
    wire = wire_inside(data);
    while (wire_next(&wire, &field))
        if (field.number == PROFILE_PROCESS_DUMPS && wire_is_text(&field))
            heap_dump(load, packet, &field);
}
