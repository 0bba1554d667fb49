/*
 * The format row of Perfetto traces: recognising one, packet after packet, and what coverage says.
 * A packet whose sequence has lost its state (a ring buffer that overwrote it) is dropped until the
 * next reset, as Perfetto itself does: its names would be wrong.
 */
#include "ingest/perfetto/perfettofields.h"
#include "ingest/perfetto/perfetto.h"

#include "base/stream.h"
#include "ingest/lib/wholefile.h"

#define MAX_TEXT         65536
#define MAX_INFLATED     ((size_t)64 << 20) /* of one packet */
#define BYTES_PER_RECORD 64 /* of a trace, or more: room for records is made at once */
#define STATE_CLEARED    1u
#define STATE_NEEDED     2u

/* ---- recognising ---- */

/* Numbers of TracePacket's fields that show up in the first packets of real traces. */
static bool is_packet(struct wire packet)
{
    struct wire_field field;
    unsigned known = 0, fields = 0;
    while (wire_next(&packet, &field)) {
        bool scalar = field.type == WIRE_VARINT;
        fields++;
        switch (field.number) {
        case PACKET_TRUSTED_UID:
        case PACKET_TIMESTAMP:
        case PACKET_SEQUENCE_ID:
        case PACKET_SEQUENCE_FLAGS:
        case PACKET_STATE_CLEARED:
        case PACKET_PREVIOUS_DROPPED:
        case PACKET_CLOCK_ID:
        case PACKET_TRUSTED_PID: known += scalar; break;
        case PACKET_FTRACE_EVENTS:
        case PACKET_PROCESS_TREE:
        case PACKET_CLOCK_SNAPSHOT:
        case PACKET_TRACK_EVENT:
        case PACKET_INTERNED_DATA:
        case PACKET_TRACE_CONFIG:
        case PACKET_TRACE_STATS:
        case PACKET_SYNCHRONIZATION_MARKER:
        case PACKET_PROFILE:
        case PACKET_PROCESS_DESCRIPTOR:
        case PACKET_THREAD_DESCRIPTOR:
        case PACKET_SYSTEM_INFO:
        case PACKET_COMPRESSED:
        case PACKET_GPU_COUNTERS:
        case PACKET_GPU_RENDER_STAGE:
        case PACKET_STREAMING_PROFILE:
        case PACKET_DEFAULTS:
        case PACKET_TRACK_DESCRIPTOR:
        case PACKET_PERF_SAMPLE:
        case PACKET_FRAME_TIMELINE:
        case PACKET_TRACE_UUID: known += field.type == WIRE_BYTES; break;
        default:
            if (field.number > PACKET_HIGHEST)
                return false;
        }
    }
    return !packet.damaged && fields && known * 2 > fields;
}

static int perfetto_sniff(const struct nl_input *input, const char **why)
{
    struct wire trace = wire_over(input->head, input->head_len);
    struct wire_field field;
    unsigned packets = 0, whole = 0;
    (void)why;
    while (wire_next(&trace, &field)) {
        if (field.number != TRACE_PACKET || field.type != WIRE_BYTES)
            return 0;
        packets++;
        whole += is_packet(wire_inside(&field));
    }
    if (trace.damaged && !wire_clip(&trace, &field))
        return 0;
    if (packets == 0) /* one packet that is longer than the head, or cut */
        return 0;
    return whole * 10 >= packets * 9 ? 85 : 0;
}

/* ---- packets ---- */

static void packet_head(struct perfetto_load *load, struct perfetto_packet *packet)
{
    struct wire wire = packet->bytes;
    struct wire_field field;
    uint64_t sequence = 0;
    while (wire_next(&wire, &field)) {
        if (field.number == PACKET_SEQUENCE_ID) {
            sequence = field.value;
        } else if (field.number == PACKET_TIMESTAMP) {
            packet->timestamp = field.value;
            packet->has_time = true;
        } else if (field.number == PACKET_CLOCK_ID) {
            packet->clock = field.value;
        }
    }
    load->notes[PERFETTO_NOTE_DAMAGED] += wire.damaged;
    packet->sequence = perfetto_sequence_of(load, sequence);
}

/* Resets and losses of the sequence's state. False when the packet cannot be understood. */
static bool packet_state(struct perfetto_load *load, struct perfetto_packet *packet)
{
    struct wire wire = packet->bytes;
    struct wire_field field;
    uint64_t flags = 0;
    bool cleared = false, lost = false;
    while (wire_next(&wire, &field)) {
        if (field.number == PACKET_SEQUENCE_FLAGS)
            flags = field.value;
        else if (field.number == PACKET_STATE_CLEARED)
            cleared = field.value != 0;
        else if (field.number == PACKET_PREVIOUS_DROPPED)
            lost = field.value != 0;
    }
    if (lost)
        packet->sequence->valid = false;
    if (cleared || flags & STATE_CLEARED)
        perfetto_sequence_clear(packet->sequence);
    if (!(flags & STATE_NEEDED) || packet->sequence->valid)
        return true;
    load->notes[PERFETTO_NOTE_STATE]++;
    return false;
}

/* What must be known before the packet's events. */
static void packet_tables(struct perfetto_load *load, struct perfetto_packet *packet)
{
    struct wire wire = packet->bytes;
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (!wire_is_text(&field))
            continue;
        switch (field.number) {
        case PACKET_INTERNED_DATA: perfetto_interned(load, packet->sequence, &field); break;
        case PACKET_DEFAULTS: perfetto_defaults(load, packet->sequence, &field); break;
        case PACKET_CLOCK_SNAPSHOT: perfetto_snapshot(load, packet, &field); break;
        case PACKET_TRACK_DESCRIPTOR: perfetto_descriptor(load, &field); break;
        case PACKET_THREAD_DESCRIPTOR:
            perfetto_thread_descriptor(load, packet->sequence, &field);
            break;
        case PACKET_PROCESS_TREE: perfetto_process_tree(load, &field); break;
        default: break;
        }
    }
}

static void read_compressed(struct perfetto_load *load, const struct wire_field *data);

static void packet_events(struct perfetto_load *load, struct perfetto_packet *packet, bool inner)
{
    struct wire wire = packet->bytes;
    struct wire_field field;
    uint64_t id = packet->sequence->id;
    while (wire_next(&wire, &field)) {
        if (!wire_is_text(&field))
            continue;
        switch (field.number) {
        case PACKET_TRACK_EVENT: perfetto_event(load, packet, &field); break;
        case PACKET_FTRACE_EVENTS: perfetto_ftrace(load, &field); break;
        case PACKET_GPU_COUNTERS: perfetto_gpu_counters(load, packet, &field); break;
        case PACKET_GPU_RENDER_STAGE: perfetto_stage_event(load, packet, &field); break;
        case PACKET_PERF_SAMPLE: perfetto_perf_sample(load, packet, &field); break;
        case PACKET_STREAMING_PROFILE: perfetto_streamed_samples(load, packet, &field); break;
        case PACKET_PROFILE: perfetto_heap(load, packet, &field); break;
        case PACKET_COMPRESSED:
            if (inner) {
                load->notes[PERFETTO_NOTE_COMPRESSED]++;
                break;
            }
            read_compressed(load, &field);
            packet->sequence = perfetto_sequence_of(load, id); /* the array may have moved */
            break;
        case PACKET_PROCESS_TREE:
        case PACKET_CLOCK_SNAPSHOT:
        case PACKET_INTERNED_DATA:
        case PACKET_THREAD_DESCRIPTOR:
        case PACKET_DEFAULTS:
        case PACKET_TRACK_DESCRIPTOR: break;
        default: load->notes[PERFETTO_NOTE_PACKETS]++; break;
        }
    }
}

/* Records are held until all are read and staged as well: at most half of the budget for them. */
static bool too_many(const struct perfetto_load *load)
{
    return load->job && load->job->memory_bytes &&
           load->record_count * sizeof *load->records > load->job->memory_bytes / 2;
}

static bool read_trace(struct perfetto_load *load, struct wire trace, bool inner)
{
    struct wire_field field;
    while (wire_next(&trace, &field)) {
        if (field.number != TRACE_PACKET || !wire_is_text(&field))
            continue;
        struct perfetto_packet packet = {.bytes = wire_inside(&field)};
        load->packets++;
        load->bytes += field.len;
        if ((load->packets & 1023) == 0)
            load->stopped = nl_job_cancelled(load->job) || nl_builder_over_budget(load->builder);
        if (load->stopped)
            return false;
        if (too_many(load))
            return false;
        packet_head(load, &packet);
        if (!packet_state(load, &packet))
            continue;
        packet_tables(load, &packet);
        packet_events(load, &packet, inner);
    }
    bool cut = trace.damaged && wire_clip(&trace, &field);
    load->notes[PERFETTO_NOTE_CUT] += cut;
    load->notes[PERFETTO_NOTE_DAMAGED] += trace.damaged && !cut;
    return true;
}

/* Packets deflated together (zlib). Its two bytes of header become those of gzip, which the streams
 * of base/ read; that the trailer is then missing is no loss, because lengths show what is
 * whole. */
static void read_compressed(struct perfetto_load *load, const struct wire_field *data)
{
    static const unsigned char gzip_head[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    struct nl_err err;
    size_t len = sizeof gzip_head + (data->len > 2 ? data->len - 2 : 0), size = 0, room = 0;
    if (data->len < 6 || (data->data[0] & 15) != 8) {
        load->notes[PERFETTO_NOTE_COMPRESSED]++;
        return;
    }
    unsigned char *packed = nl_alloc(len), *bytes = NULL;
    memcpy(packed, gzip_head, sizeof gzip_head);
    memcpy(packed + sizeof gzip_head, data->data + 2, data->len - 2);
    nl_err_clear(&err);
    struct nl_stream *stream = nl_stream_memory(packed, len, &err);
    ssize_t got = 0;
    while (stream && size < MAX_INFLATED) {
        nl_grow(&bytes, &room, size + 65536);
        got = nl_stream_read(stream, bytes + size, room - size, &err);
        if (got <= 0)
            break;
        size += (size_t)got;
    }
    nl_stream_close(stream);
    if (size)
        (void)read_trace(load, wire_over(bytes, size), true);
    else
        load->notes[PERFETTO_NOTE_COMPRESSED]++;
    nl_free(packed);
    nl_free(bytes);
}

/* ---- the whole ---- */

static const struct {
    const char *item, *detail;
} note_texts[PERFETTO_NOTES] = {
    [PERFETTO_NOTE_CUT] = {"truncated: the file ends within a packet",
                           "packets before it are loaded"},
    [PERFETTO_NOTE_DAMAGED] = {"skipped: damaged messages", "bytes that are not protobuf"},
    [PERFETTO_NOTE_STATE] = {"skipped: packets whose names were lost",
                             "the ring buffer overwrote what they refer to"},
    [PERFETTO_NOTE_CLOCK] =
        {"skipped: events of clocks that no snapshot relates to the trace clock", NULL},
    [PERFETTO_NOTE_NO_SNAPSHOT] = {"events of several clocks without a snapshot",
                                   "their times are used unconverted"},
    [PERFETTO_NOTE_INTERNED] = {"interned strings missing from the trace",
                                "names or arguments are unknown"},
    [PERFETTO_NOTE_OPEN] = {"slices without an end", "they end with the trace"},
    [PERFETTO_NOTE_LONE_END] = {"ends without a begin", NULL},
    [PERFETTO_NOTE_PACKETS] = {"not loaded: packets of other kinds",
                               "configuration, statistics, system information"},
    [PERFETTO_NOTE_FTRACE] = {"not loaded: kernel events of other kinds", NULL},
    [PERFETTO_NOTE_LOST] = {"kernel events were lost", "the ftrace buffer of a CPU overflowed"},
    [PERFETTO_NOTE_COMPRESSED] = {"skipped: compressed packets that do not inflate", NULL},
    [PERFETTO_NOTE_TIME] = {"skipped: events with impossible times", NULL},
    [PERFETTO_NOTE_DEEP] = {"shortened: arguments nested too deep", NULL},
    [PERFETTO_NOTE_LEGACY] = {"not loaded: events of unknown types", NULL},
    [PERFETTO_NOTE_FULL] = {"truncated: too many names or events", NULL},
    [PERFETTO_NOTE_NO_STACK] = {"samples without a call stack", NULL},
    [PERFETTO_NOTE_DEEP_STACK] = {"shortened: call stacks too deep", "1024 frames are kept"},
    [PERFETTO_NOTE_SAMPLES_LOST] = {"samples were lost", "the sample buffer of a CPU overflowed"},
    [PERFETTO_NOTE_SAMPLES_SKIPPED] = {"samples that the recorder skipped",
                                       "it was over its limits, or the process was not in scope"},
    [PERFETTO_NOTE_HEAP_PARTIAL] = {"incomplete heap dumps",
                                    "rejected, overrun or stopped by a limit while recording"},
    [PERFETTO_NOTE_TYPED] = {"not loaded: typed arguments of events", NULL},
};

static void report_coverage(struct perfetto_load *load)
{
    for (int i = 0; i < PERFETTO_NOTES; i++)
        if (load->notes[i])
            nl_builder_coverage(load->builder, load->source, note_texts[i].item,
                                (int64_t)load->notes[i], note_texts[i].detail);
    if (!load->record_count && !load->profile.samples)
        nl_builder_coverage(load->builder, load->source, "no events", 1,
                            "no packet holds a slice, a counter, a switch or a sample");
}

static void release_load(struct perfetto_load *load)
{
    for (size_t i = 0; i < load->sequence_count; i++) {
        nl_idmap_release(&load->sequences[i].interned);
        nl_free(load->sequences[i].texts);
    }
    nl_free(load->sequences);
    nl_free(load->clocks);
    nl_free(load->tracks);
    nl_free(load->records);
    nl_free(load->launches);
    nl_free(load->cpus);
    nl_free(load->thread_pids);
    nl_idmap_release(&load->sequence_index);
    nl_idmap_release(&load->clock_index);
    nl_idmap_release(&load->track_index);
    nl_idmap_release(&load->thread_index);
    nl_arena_free(&load->arena);
    gpurows_map_release(&load->heaps);
    nl_free(load->frames);
    cpuprofile_release(&load->profile);
    nl_buf_release(&load->text);
}

static bool load_trace(struct perfetto_load *load, const void *bytes, size_t len,
                       struct nl_err *err)
{
    nl_reserve(&load->records, &load->record_cap, len / BYTES_PER_RECORD);
    bool done = read_trace(load, wire_over(bytes, len), false) && perfetto_finish(load);
    if (!done && nl_job_cancelled(load->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    if (!done && too_many(load))
        return nl_fail(err, NL_MEMORY,
                       "its events exceed the memory limit; raise it with --memory");
    if (load->packets == 0)
        return nl_fail(err, NL_FORMAT, "the trace ends within its first packet");
    if (!load->record_count && !load->profile.samples && load->notes[PERFETTO_NOTE_DAMAGED])
        return nl_fail(err, NL_FORMAT, "the trace is damaged before its first event");
    report_coverage(load);
    return true;
}

static bool perfetto_load(struct nl_reading *reading, struct nl_err *err)
{
    struct perfetto_load *load = nl_zalloc(sizeof *load);
    load->builder = reading->builder;
    load->source = reading->source;
    load->job = reading->job;
    load->trace_clock = BUILTIN_CLOCK_BOOTTIME;
    load->stage = nl_stage_new(reading->builder);
    nl_stage_begin(load->stage, reading->source, 0);
    load->profile = (struct cpuprofile){.builder = reading->builder,
                                        .source = reading->source,
                                        .job = reading->job,
                                        .stage = load->stage};
    nl_arena_init(&load->arena);
    nl_buf_init(&load->text, MAX_TEXT);
    bool done = load_trace(load, reading->file->bytes, reading->file->size, err);
    release_load(load);
    nl_free(load);
    return done;
}

const struct nl_format nl_format_perfetto = {.name = "perfetto",
                                             .title = "Perfetto trace",
                                             .sniff = perfetto_sniff,
                                             .load = perfetto_load,
                                             .feed = NL_FEED_WHOLE,
                                             .doc = "formats/perfetto.md"};
