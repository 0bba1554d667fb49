/*
 * Events of a part. The body of a track event is made in a separate buffer, because its length
 * comes first; then the packet is written in one piece.
 */
#include "export/perfettowrite.h"

enum { EVENT_BEGIN = 1, EVENT_END = 2, EVENT_INSTANT = 3, EVENT_COUNTER = 4 };

/* Fields of TrackEvent. */
enum {
    EVENT_CATEGORY = 3,
    EVENT_ARGUMENT = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_DOUBLE = 44,
    EVENT_FLOW = 47,
    EVENT_FLOW_END = 48
};

/* Fields of DebugAnnotation. */
enum {
    ARG_NAME = 1,
    ARG_U64 = 3,
    ARG_I64 = 4,
    ARG_F64 = 5,
    ARG_TEXT = 6,
    ARG_JSON = 9,
    ARG_IID = 17
};

struct render {
    const struct perfetto_writer *writer;
    struct bytes event, argument;
    struct nl_buf text;
};

static void put_event(struct bytes *out, int64_t ts, const struct bytes *event)
{
    unsigned char head[32], *at = head;
    *at++ = PACKET_TIMESTAMP << 3;
    at = bytes_put_varint(at, (uint64_t)ts);
    *at++ = PACKET_SEQUENCE << 3;
    *at++ = 1;
    *at++ = PACKET_FLAGS << 3;
    *at++ = 2;
    *at++ = PACKET_TRACK_EVENT << 3 | 2;
    at = bytes_put_varint(at, event->len);
    size_t len = (size_t)(at - head);
    unsigned char *start = bytes_room(out, len + event->len + 12), *to = start;
    *to++ = 1 << 3 | 2;
    to = bytes_put_varint(to, len + event->len);
    memcpy(to, head, len);
    memcpy(to + len, event->at, event->len);
    out->len += (size_t)(to + len + event->len - start);
}

/* An argument whose value is a number below field 16. */
static void put_number(struct bytes *event, unsigned name, unsigned field, uint64_t value)
{
    unsigned char *start = bytes_room(event, 24), *to = start + 2;
    *to++ = ARG_NAME << 3;
    *to++ = (unsigned char)name;
    *to++ = (unsigned char)(field << 3);
    to = bytes_put_varint(to, value);
    start[0] = EVENT_ARGUMENT << 3 | 2;
    start[1] = (unsigned char)(to - start - 2);
    event->len += (size_t)(to - start);
}

static void put_argument(struct render *render, unsigned name, enum nl_type type,
                         const union nl_value *value)
{
    struct bytes *argument = &render->argument;
    if (type == NL_TYPE_TIME || type == NL_TYPE_DUR || type == NL_TYPE_I64) {
        put_number(&render->event, name, ARG_I64, (uint64_t)value->i64);
        return;
    }
    if (type == NL_TYPE_U64 || type == NL_TYPE_U32 || type == NL_TYPE_U16 || type == NL_TYPE_U8) {
        put_number(&render->event, name, ARG_U64, value->u64);
        return;
    }
    bytes_clear(argument);
    bytes_tag_varint(argument, ARG_NAME, name);
    if (type == NL_TYPE_F64)
        bytes_tag_f64(argument, ARG_F64, value->f64);
    else if (type == NL_TYPE_NAME)
        bytes_tag_varint(argument, ARG_IID, value->name);
    else
        bytes_tag_text(argument, ARG_TEXT, nl_str(value->text));
    bytes_tag_message(&render->event, EVENT_ARGUMENT, argument);
}

_Static_assert(NL_MAX_ATTRIBUTES < 127, "names of arguments take a byte");

static void put_attributes(struct render *render, unsigned first, unsigned last, uint32_t row)
{
    const struct nl_attributes *attributes = &render->writer->attributes;
    union nl_value value;
    for (unsigned a = first; a < last; a++)
        if (nl_attribute_value(&attributes->items[a], row, &value))
            put_argument(render, a + 1, attributes->items[a].type, &value);
}

static void put_arguments(struct render *render, uint32_t slice)
{
    const struct nl_trace *trace = render->writer->trace;
    const struct nl_attributes *attributes = &render->writer->attributes;
    unsigned kind = trace->slice.kind[slice];
    if (kind && kind < NL_KIND_COUNT)
        put_attributes(render, attributes->first[kind], attributes->first[kind + 1],
                       trace->slice.detail[slice]);
    uint32_t collective = nl_attributes_collective(attributes, slice);
    if (collective != NL_NULL_ROW)
        put_attributes(render, attributes->collective_first, attributes->collective_last,
                       collective);
    uint32_t text = nl_attributes_text(attributes, slice);
    if (text == NL_NO_NAME)
        return;
    nl_buf_clear(&render->text);
    struct nl_str json = nl_trace_text(trace, text, &render->text);
    bytes_clear(&render->argument);
    bytes_tag_varint(&render->argument, ARG_NAME, attributes->count + 1u);
    bytes_tag_text(&render->argument, json.len && json.ptr[0] == '{' ? ARG_JSON : ARG_TEXT, json);
    bytes_tag_message(&render->event, EVENT_ARGUMENT, &render->argument);
}

static void put_flow(struct bytes *event, const struct nl_arrow_end *end)
{
    bytes_tag_u64(event, end->incoming ? EVENT_FLOW_END : EVENT_FLOW, end->id);
}

static void put_flows(struct render *render, uint32_t slice)
{
    const struct nl_arrow_end *ends;
    struct nl_arrow_end own;
    if (nl_arrows_own(&render->writer->arrows, slice, &own))
        put_flow(&render->event, &own);
    size_t count = nl_arrows_more(&render->writer->arrows, slice, &ends);
    for (size_t i = 0; i < count; i++)
        put_flow(&render->event, &ends[i]);
}

static void begin_event(struct render *render, unsigned type, uint64_t uuid)
{
    bytes_clear(&render->event);
    bytes_tag_varint(&render->event, EVENT_TYPE, type);
    bytes_tag_varint(&render->event, EVENT_TRACK, uuid);
}

static void put_begin(struct render *render, struct bytes *out, uint64_t uuid, uint32_t slice)
{
    const struct nl_slice_table *table = &render->writer->trace->slice;
    bool instant = table->flags[slice] & NL_SLICE_INSTANT;
    begin_event(render, instant ? EVENT_INSTANT : EVENT_BEGIN, uuid);
    bytes_tag_varint(&render->event, EVENT_CATEGORY, table->kind[slice] + 1u);
    if (table->name[slice] != NL_NO_NAME)
        bytes_tag_varint(&render->event, EVENT_NAME, table->name[slice]);
    put_arguments(render, slice);
    put_flows(render, slice);
    put_event(out, table->ts[slice] + render->writer->shift, &render->event);
}

static void render_slices(struct render *render, const struct perfetto_part *part,
                          struct bytes *out)
{
    const struct nl_slice_table *table = &render->writer->trace->slice;
    uint64_t uuid = perfetto_uuid(part->track);
    struct nl_walk walk;
    uint32_t slice;
    enum nl_walk_what what;
    nl_walk_open(&walk, render->writer->trace, part->walk);
    while ((what = nl_walk_next(&walk, &slice)) != NL_WALK_DONE) {
        if (!nl_export_picks(render->writer->export, slice))
            continue;
        if (what == NL_WALK_BEGIN) {
            put_begin(render, out, uuid, slice);
        } else if (!(table->flags[slice] & NL_SLICE_INSTANT)) {
            begin_event(render, EVENT_END, uuid);
            put_event(out, nl_slice_end(render->writer->trace, slice) + render->writer->shift,
                      &render->event);
        }
    }
    nl_walk_close(&walk);
}

static void put_counter(struct render *render, struct bytes *out, uint64_t uuid, int64_t ts,
                        double value)
{
    begin_event(render, EVENT_COUNTER, uuid);
    bytes_tag_f64(&render->event, EVENT_DOUBLE, value);
    put_event(out, ts + render->writer->shift, &render->event);
}

static void render_counters(struct render *render, const struct perfetto_part *part,
                            struct bytes *out)
{
    const struct nl_trace *trace = render->writer->trace;
    const struct nl_counter_table *table = &trace->counter;
    for (uint32_t i = part->from; i < part->to; i++) {
        uint32_t series = table->series[i];
        if (series == NL_NULL_ROW || table->ts[i] == NL_NULL_I64 ||
            table->value[i] != table->value[i] ||
            !nl_export_picks_moment(render->writer->export, trace->series.lane[series],
                                    table->ts[i]))
            continue;
        put_counter(render, out, perfetto_series_uuid(render->writer, series), table->ts[i],
                    table->value[i]);
    }
}

static void render_memory(struct render *render, const struct perfetto_part *part,
                          struct bytes *out)
{
    const struct perfetto_writer *writer = render->writer;
    const struct nl_memory_table *table = &writer->trace->memory;
    for (uint32_t i = part->from; i < part->to; i++) {
        uint32_t pair = writer->memory_tracks[i];
        if (pair == NL_NULL_ROW || table->ts[i] == NL_NULL_I64 ||
            !nl_export_picks_moment(writer->export, table->lane[i], table->ts[i]))
            continue;
        if (table->total_allocated[i] != NL_NULL_U64)
            put_counter(render, out, perfetto_memory_uuid(writer, pair, false), table->ts[i],
                        (double)table->total_allocated[i]);
        if (table->total_reserved[i] != NL_NULL_U64)
            put_counter(render, out, perfetto_memory_uuid(writer, pair, true), table->ts[i],
                        (double)table->total_reserved[i]);
    }
}

void perfetto_render(const struct perfetto_writer *writer, const struct perfetto_part *part,
                     struct bytes *out)
{
    struct render render = {.writer = writer};
    nl_buf_init(&render.text, NL_MAX_FILLED);
    switch (part->kind) {
    case PERFETTO_PART_SLICES: render_slices(&render, part, out); break;
    case PERFETTO_PART_COUNTERS: render_counters(&render, part, out); break;
    case PERFETTO_PART_MEMORY: render_memory(&render, part, out); break;
    }
    bytes_release(&render.event);
    bytes_release(&render.argument);
    nl_buf_release(&render.text);
}
