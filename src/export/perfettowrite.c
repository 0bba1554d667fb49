/*
 * Perfetto's protobuf traces (TracePacket, TrackEvent): what is written, and
 * what has no place there.
 */
#include "export/perfettowrite.h"

#include "export/ordered.h"

#define PART_SLICES 32768
#define PART_ROWS   65536

/* ---- parts ---- */

static void add_part(struct perfetto_writer *writer, const struct perfetto_part *part)
{
    nl_grow(&writer->parts, &writer->part_cap, writer->part_count + 1);
    writer->parts[writer->part_count++] = *part;
}

static void add_rows(struct perfetto_writer *writer, enum perfetto_part_kind kind, uint32_t rows)
{
    for (uint32_t from = 0; from < rows; from += PART_ROWS) {
        uint32_t to = rows - from > PART_ROWS ? from + PART_ROWS : rows;
        add_part(writer, &(struct perfetto_part){.kind = kind, .from = from, .to = to});
    }
}

static void find_parts(struct perfetto_writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    nl_walk_cut(&writer->walk, trace, &writer->export->scope, PART_SLICES);
    for (size_t i = 0; i < writer->walk.count; i++) {
        const struct nl_walk_part *walk = &writer->walk.items[i];
        uint32_t track = walk->row ? nl_tracks_add_row(&writer->tracks, walk->lane)
                                   : writer->tracks.of_lane[walk->lane];
        add_part(writer, &(struct perfetto_part){.walk = walk, .track = track});
    }
    add_rows(writer, PERFETTO_PART_COUNTERS, trace->counter.rows);
    add_rows(writer, PERFETTO_PART_MEMORY, trace->memory.rows);
}

/* ---- which counters of memory there are ---- */

struct memory_key {
    uint32_t process;
    int64_t type, device;
};

/* Allocators are distinguished by process, kind of device and device. */
static void find_memory(struct perfetto_writer *writer)
{
    const struct nl_memory_table *table = &writer->trace->memory;
    struct memory_key *keys = NULL;
    size_t count = 0, cap = 0;
    uint64_t without = 0;
    writer->memory_tracks = nl_alloc((table->rows + 1) * sizeof *writer->memory_tracks);
    for (uint32_t i = 0; i < table->rows; i++) {
        uint32_t lane = table->lane[i];
        struct memory_key key = {lane == NL_NULL_ROW ? NL_NULL_ROW
                                                     : writer->trace->lane.process[lane],
                                 table->device_type[i], table->device[i]};
        size_t k = 0;
        while (k < count && (keys[k].process != key.process || keys[k].type != key.type ||
                             keys[k].device != key.device))
            k++;
        if (k == count && count < 1024) {
            nl_grow(&keys, &cap, count + 1);
            keys[count++] = key;
        }
        writer->memory_tracks[i] = k < count ? (uint32_t)k : NL_NULL_ROW;
        without += table->total_allocated[i] == NL_NULL_U64 &&
                   table->total_reserved[i] == NL_NULL_U64 &&
                   nl_export_picks_moment(writer->export, lane, table->ts[i]);
    }
    writer->memory_pairs = (uint32_t)count;
    nl_free(keys);
    nl_export_lost(writer->export, without, "allocations without the allocator's total");
}

/* ---- which texts are used ---- */

static void mark(uint8_t *bits, uint32_t name)
{
    bits[name / 8] |= (uint8_t)(1u << name % 8);
}

static void mark_values(struct perfetto_writer *writer, unsigned first, unsigned last, uint32_t row)
{
    union nl_value value;
    for (unsigned a = first; a < last; a++)
        if (writer->attributes.items[a].type == NL_TYPE_NAME &&
            nl_attribute_value(&writer->attributes.items[a], row, &value))
            mark(writer->texts, value.name);
}

/* Kinds whose attributes hold texts at all. */
static void find_texts(struct perfetto_writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    const struct nl_attributes *attributes = &writer->attributes;
    bool has_text[NL_KIND_COUNT] = {false};
    size_t bytes = trace->names.count / 8 + 1;
    writer->names = nl_zalloc(bytes);
    writer->texts = nl_zalloc(bytes);
    for (unsigned kind = 1; kind < NL_KIND_COUNT; kind++)
        for (unsigned a = attributes->first[kind]; a < attributes->first[kind + 1]; a++)
            has_text[kind] |= attributes->items[a].type == NL_TYPE_NAME;
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        unsigned kind = trace->slice.kind[slice];
        if (!nl_export_picks(writer->export, slice))
            continue;
        mark(writer->names, trace->slice.name[slice]);
        if (kind && kind < NL_KIND_COUNT && has_text[kind])
            mark_values(writer, attributes->first[kind], attributes->first[kind + 1],
                        trace->slice.detail[slice]);
        uint32_t collective = nl_attributes_collective(attributes, slice);
        if (collective != NL_NULL_ROW)
            mark_values(writer, attributes->collective_first, attributes->collective_last,
                        collective);
    }
}

/* ---- writing ---- */

static void render_part(const void *context, size_t piece, struct bytes *out)
{
    const struct perfetto_writer *writer = context;
    perfetto_render(writer, &writer->parts[piece], out);
}

static bool write_parts(struct perfetto_writer *writer, struct nl_err *err)
{
    nl_job_phase(writer->export->job, "writing", writer->part_count);
    return nl_write_ordered(writer->export, writer->export->out, writer->part_count, render_part,
                            writer, err);
}

bool nl_export_perfetto(struct nl_export *export, struct nl_err *err)
{
    struct perfetto_writer writer = {.export = export, .trace = export->trace};
    if (export->trace->first_ts < 0)
        writer.shift = -export->trace->first_ts;
    nl_job_phase(export->job, "preparing", 0);
    nl_tracks_make(&writer.tracks, export);
    nl_arrows_make(&writer.arrows, export);
    nl_attributes_make(&writer.attributes, export->trace);
    find_texts(&writer);
    find_memory(&writer);
    find_parts(&writer);
    bool done = perfetto_write_head(&writer, err) && write_parts(&writer, err);
    nl_walk_parts_release(&writer.walk);
    nl_attributes_release(&writer.attributes);
    nl_arrows_release(&writer.arrows);
    nl_tracks_release(&writer.tracks);
    nl_free(writer.parts);
    nl_free(writer.names);
    nl_free(writer.texts);
    nl_free(writer.memory_tracks);
    return done;
}
