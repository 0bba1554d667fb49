/* The preamble: clock, tracks, and the texts that events refer to. */
#include "export/kindwords.h"
#include "export/perfettowrite.h"

#define INTERNED_BYTES ((size_t)256 << 10) /* of a packet, about */
#define CLOCK_BOOTTIME 6
#define CLOCK_REALTIME 1
#define ORDER_EXPLICIT 3

/* Fields of InternedData. */
enum { CATEGORIES = 1, NAMES = 2, ARGUMENTS = 3, TEXTS = 29 };

struct head {
    struct perfetto_writer *writer;
    struct bytes body, inner, one, out;
    bool begun; /* a packet was written: the sequence is known */
};

uint64_t perfetto_series_uuid(const struct perfetto_writer *writer, uint32_t series)
{
    return (uint64_t)writer->tracks.count + 1 + series;
}

uint64_t perfetto_memory_uuid(const struct perfetto_writer *writer, uint32_t pair, bool reserved)
{
    return perfetto_series_uuid(writer, writer->trace->series.rows) + 2 * (uint64_t)pair + reserved;
}

void perfetto_packet(struct bytes *out, const struct bytes *body, unsigned flags)
{
    unsigned char extra[4] = {PACKET_SEQUENCE << 3, 1, PACKET_FLAGS << 3, (unsigned char)flags};
    bytes_u8(out, 1 << 3 | 2);
    bytes_varint(out, body->len + sizeof extra);
    bytes_add(out, extra, sizeof extra);
    bytes_add(out, body->at, body->len);
}

/* Writes the body as a packet and begins a new one. */
static void flush_packet(struct head *head)
{
    bytes_clear(&head->out);
    perfetto_packet(&head->out, &head->body, head->begun ? 2 : 3);
    fwrite(head->out.at, 1, head->out.len, head->writer->export->out);
    head->begun = true;
    bytes_clear(&head->body);
}

/* ---- the clock ---- */

static void add_clock(struct head *head, uint64_t clock, int64_t ts)
{
    bytes_clear(&head->one);
    bytes_tag_varint(&head->one, 1, clock);
    bytes_tag_varint(&head->one, 2, (uint64_t)ts);
    bytes_tag_message(&head->inner, 1, &head->one);
}

/* Times are of boot time, which is the default; where UTC is known, it is stated. */
static void write_clock(struct head *head)
{
    int64_t utc = nl_export_epoch(head->writer->trace);
    int64_t first = head->writer->trace->first_ts + head->writer->shift;
    if (utc == NL_NULL_I64 || utc <= 0)
        return;
    bytes_clear(&head->inner);
    add_clock(head, CLOCK_BOOTTIME, first);
    add_clock(head, CLOCK_REALTIME, utc);
    bytes_tag_varint(&head->inner, 2, CLOCK_BOOTTIME);
    bytes_tag_varint(&head->body, PACKET_TIMESTAMP, (uint64_t)first);
    bytes_tag_message(&head->body, PACKET_CLOCKS, &head->inner);
    flush_packet(head);
}

/* ---- tracks ---- */

static void begin_track(struct head *head, uint64_t uuid, uint64_t parent, struct nl_str name)
{
    bytes_clear(&head->inner);
    bytes_tag_varint(&head->inner, 1, uuid);
    if (parent)
        bytes_tag_varint(&head->inner, 5, parent);
    if (name.len)
        bytes_tag_text(&head->inner, 2, name);
}

static void end_track(struct head *head)
{
    bytes_tag_message(&head->body, PACKET_TRACK, &head->inner);
    flush_packet(head);
}

static void write_track(struct head *head, uint32_t number)
{
    const struct nl_track *track = &head->writer->tracks.items[number];
    bool process = track->kind == NL_TRACK_PROCESS, thread = track->kind == NL_TRACK_THREAD;
    uint64_t parent = track->parent == NL_NO_TRACK || thread ? 0 : perfetto_uuid(track->parent);
    struct nl_str none = {"", 0};
    begin_track(head, perfetto_uuid(number), parent, process || thread ? none : track->name);
    bytes_clear(&head->one);
    bytes_tag_varint(&head->one, 1, (uint64_t)track->pid);
    if (thread)
        bytes_tag_varint(&head->one, 2, (uint64_t)track->tid);
    if ((process || thread) && track->name.len)
        bytes_tag_text(&head->one, process ? 6 : 5, track->name);
    if (process || thread)
        bytes_tag_message(&head->inner, process ? 3 : 4, &head->one);
    bytes_tag_varint(&head->inner, 11, ORDER_EXPLICIT);
    int64_t order = track->order < INT32_MIN || track->order > INT32_MAX ? INT32_MAX : track->order;
    bytes_tag_varint(&head->inner, 12, (uint64_t)order);
    end_track(head);
}

/* The track that counters of a lane hang below: that of its process. */
static uint64_t counter_parent(const struct perfetto_writer *writer, uint32_t lane)
{
    uint32_t process = lane == NL_NULL_ROW ? NL_NULL_ROW : writer->trace->lane.process[lane];
    uint32_t track = process == NL_NULL_ROW ? NL_NO_TRACK : writer->tracks.of_process[process];
    if (lane != NL_NULL_ROW && writer->tracks.of_lane[lane] != NL_NO_TRACK &&
        writer->trace->lane.device[lane] != NL_NULL_ROW)
        track = writer->tracks.of_lane[lane];
    return track == NL_NO_TRACK ? 0 : perfetto_uuid(track);
}

static void write_counter_track(struct head *head, uint64_t uuid, uint64_t parent,
                                struct nl_str name, struct nl_str unit)
{
    begin_track(head, uuid, parent, name);
    bytes_clear(&head->one);
    if (nl_str_is(unit, "bytes"))
        bytes_tag_varint(&head->one, 3, 3);
    else if (nl_str_is(unit, "ns"))
        bytes_tag_varint(&head->one, 3, 1);
    else if (unit.len)
        bytes_tag_text(&head->one, 6, unit);
    bytes_tag_message(&head->inner, 8, &head->one);
    end_track(head);
}

static void write_series(struct head *head)
{
    const struct perfetto_writer *writer = head->writer;
    const struct nl_trace *trace = writer->trace;
    for (uint32_t i = 0; i < trace->series.rows; i++) {
        uint32_t lane = trace->series.lane[i];
        if (lane != NL_NULL_ROW && !nl_scope_lane(&writer->export->scope, lane))
            continue;
        write_counter_track(head, perfetto_series_uuid(writer, i), counter_parent(writer, lane),
                            nl_trace_name(trace, trace->series.name[i]),
                            nl_trace_name(trace, trace->series.unit[i]));
    }
}

static void write_memory_tracks(struct head *head)
{
    const struct perfetto_writer *writer = head->writer;
    const struct nl_memory_table *table = &writer->trace->memory;
    uint8_t *known = nl_zalloc(writer->memory_pairs + 1u);
    for (uint32_t i = 0; i < table->rows; i++) {
        uint32_t pair = writer->memory_tracks[i];
        if (pair == NL_NULL_ROW || known[pair] ||
            !nl_export_picks_moment(writer->export, table->lane[i], table->ts[i]))
            continue;
        known[pair] = 1;
        char name[96], device[32] = "";
        if (table->device_type[i] == 0)
            snprintf(device, sizeof device, "CPU");
        else if (table->device[i] != NL_NULL_I64)
            snprintf(device, sizeof device, "GPU %lld", (long long)table->device[i]);
        for (int reserved = 0; reserved < 2; reserved++) {
            snprintf(name, sizeof name, "memory %s%s%s", reserved ? "reserved" : "allocated",
                     device[0] ? ", " : "", device);
            write_counter_track(head, perfetto_memory_uuid(writer, pair, reserved != 0),
                                counter_parent(writer, table->lane[i]), nl_str(name),
                                nl_str("bytes"));
        }
    }
    nl_free(known);
}

/* ---- texts ---- */

static void intern(struct head *head, uint32_t field, uint64_t id, struct nl_str text)
{
    bytes_clear(&head->one);
    bytes_tag_varint(&head->one, 1, id);
    bytes_tag_text(&head->one, 2, text);
    bytes_tag_message(&head->inner, field, &head->one);
}

static void flush_interned(struct head *head, size_t over)
{
    if (head->inner.len <= over)
        return;
    bytes_tag_message(&head->body, PACKET_INTERNED, &head->inner);
    flush_packet(head);
    bytes_clear(&head->inner);
}

static void intern_marked(struct head *head, const uint8_t *bits, uint32_t field)
{
    const struct nl_trace *trace = head->writer->trace;
    for (uint32_t id = 1; id < trace->names.count; id++)
        if (bits[id / 8] >> id % 8 & 1) {
            intern(head, field, id, nl_trace_name(trace, id));
            flush_interned(head, INTERNED_BYTES);
        }
}

static void write_texts(struct head *head)
{
    const struct nl_attributes *attributes = &head->writer->attributes;
    bytes_clear(&head->inner);
    for (unsigned kind = 0; kind < NL_KIND_COUNT; kind++)
        intern(head, CATEGORIES, kind + 1u, nl_str(nl_kind_category(kind)));
    for (unsigned i = 0; i < attributes->count; i++)
        intern(head, ARGUMENTS, i + 1u, nl_str(attributes->items[i].name));
    intern(head, ARGUMENTS, attributes->count + 1u, nl_str("args"));
    intern_marked(head, head->writer->names, NAMES);
    intern_marked(head, head->writer->texts, TEXTS);
    flush_interned(head, 0);
}

bool perfetto_write_head(struct perfetto_writer *writer, struct nl_err *err)
{
    struct head head = {.writer = writer};
    write_clock(&head);
    write_texts(&head);
    for (uint32_t i = 0; i < writer->tracks.count; i++)
        write_track(&head, i);
    write_series(&head);
    write_memory_tracks(&head);
    bytes_release(&head.body);
    bytes_release(&head.inner);
    bytes_release(&head.one);
    bytes_release(&head.out);
    return nl_export_goes_on(writer->export, err);
}
