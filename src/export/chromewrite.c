/*
 * Chrome's JSON, in the words of PyTorch's profiler. Times are µs from the first event with three
 * decimals, so that a double holds them exactly; the UTC time of the first event, where it is
 * known, stands in baseTimeNanoseconds. Slices that overlap get a separate thread id: viewers drop
 * complete events that overlap on one thread.
 */
#include "export/arrows.h"
#include "export/chromeargs.h"
#include "export/kindwords.h"
#include "export/lanewalk.h"
#include "export/ordered.h"
#include "export/tracks.h"

#define PART_SLICES 16384
#define PIECE_ROWS  16384
#define ROW_TIDS    ((int64_t)1 << 30) /* thread ids of rows that are no threads */

enum piece_kind { PIECE_SLICES, PIECE_COUNTERS, PIECE_MEMORY };

struct piece {
    enum piece_kind kind;
    const struct nl_walk_part *walk;
    uint32_t track, from, to;
};

struct writer {
    struct nl_export *export;
    const struct nl_trace *trace;
    struct nl_tracks tracks;
    struct nl_arrows arrows;
    struct chrome_args args;
    struct nl_walk_parts walk;
    struct piece *pieces;
    size_t count, cap;
    int64_t epoch; /* UTC time of the first event; NL_NULL_I64 = not known */
};

/* ---- pieces ---- */

static void add_piece(struct writer *writer, const struct piece *piece)
{
    nl_grow(&writer->pieces, &writer->cap, writer->count + 1);
    writer->pieces[writer->count++] = *piece;
}

static void add_rows(struct writer *writer, enum piece_kind kind, uint32_t rows)
{
    for (uint32_t from = 0; from < rows; from += PIECE_ROWS) {
        uint32_t to = rows - from > PIECE_ROWS ? from + PIECE_ROWS : rows;
        add_piece(writer, &(struct piece){.kind = kind, .from = from, .to = to});
    }
}

static void find_pieces(struct writer *writer)
{
    nl_walk_cut(&writer->walk, writer->trace, &writer->export->scope, PART_SLICES);
    for (size_t i = 0; i < writer->walk.count; i++) {
        const struct nl_walk_part *walk = &writer->walk.items[i];
        uint32_t track = walk->row ? nl_tracks_add_row(&writer->tracks, walk->lane)
                                   : writer->tracks.of_lane[walk->lane];
        add_piece(writer, &(struct piece){.walk = walk, .track = track});
    }
    add_rows(writer, PIECE_COUNTERS, writer->trace->counter.rows);
    add_rows(writer, PIECE_MEMORY, writer->trace->memory.rows);
}

/* ---- events ---- */

static int64_t tid_of(const struct writer *writer, uint32_t track)
{
    const struct nl_track *item = &writer->tracks.items[track];
    return item->kind == NL_TRACK_THREAD ? item->tid : ROW_TIDS + track;
}

static void put_place(const struct writer *writer, struct bytes *out, uint32_t track, int64_t ts)
{
    json_raw(out, ",\"pid\":");
    json_i64(out, writer->tracks.items[track].pid);
    json_raw(out, ",\"tid\":");
    json_i64(out, tid_of(writer, track));
    json_raw(out, ",\"ts\":");
    json_us(out, ts - writer->trace->first_ts);
}

/* An end of an arrow: s(tart) or f(inish). */
static void put_arrow(const struct writer *writer, struct bytes *out, uint32_t track,
                      uint32_t slice, const struct nl_arrow_end *end)
{
    uint64_t slices = writer->trace->slice.rows;
    const char *name = "ac2g";
    if (end->id > slices) {
        unsigned kind = writer->trace->flow.kind[end->id - slices - 1];
        name = kind == NL_FLOW_FORWARD_BACKWARD ? "fwdbwd"
               : kind == NL_FLOW_ASYNC          ? "async"
                                                : "flow";
    }
    json_raw(out,
             end->incoming ? ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":" : ",\n{\"ph\":\"s\",\"id\":");
    json_u64(out, end->id);
    put_place(writer, out, track, writer->trace->slice.ts[slice]);
    json_raw(out, ",\"cat\":\"");
    json_raw(out, name);
    json_raw(out, "\",\"name\":\"");
    json_raw(out, name);
    json_raw(out, "\"}");
}

static void put_arrows(const struct writer *writer, struct bytes *out, uint32_t track,
                       uint32_t slice)
{
    const struct nl_arrow_end *ends;
    struct nl_arrow_end own;
    if (nl_arrows_own(&writer->arrows, slice, &own))
        put_arrow(writer, out, track, slice, &own);
    size_t count = nl_arrows_more(&writer->arrows, slice, &ends);
    for (size_t i = 0; i < count; i++)
        put_arrow(writer, out, track, slice, &ends[i]);
}

static const char *category(const struct writer *writer, uint32_t slice)
{
    unsigned kind = writer->trace->slice.kind[slice];
    /* There, a module is a Python function of a certain name. */
    if (kind == NL_KIND_LAYER &&
        nl_str_starts(nl_trace_name(writer->trace, writer->trace->slice.name[slice]),
                      "nn.Module: "))
        kind = NL_KIND_PYTHON;
    if (kind == NL_KIND_MARK && !(writer->trace->slice.flags[slice] & NL_SLICE_INSTANT))
        return "Trace";
    return nl_kind_category(kind);
}

static void put_slice(const struct writer *writer, struct bytes *out, struct nl_buf *room,
                      uint32_t track, uint32_t slice)
{
    const struct nl_slice_table *table = &writer->trace->slice;
    bool instant = table->flags[slice] & NL_SLICE_INSTANT;
    json_raw(out,
             instant ? ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"" : ",\n{\"ph\":\"X\",\"cat\":\"");
    json_raw(out, category(writer, slice));
    json_raw(out, "\",\"name\":");
    json_text(out, nl_trace_name(writer->trace, table->name[slice]));
    put_place(writer, out, track, table->ts[slice]);
    if (!instant) {
        json_raw(out, ",\"dur\":");
        json_us(out, nl_slice_end(writer->trace, slice) - table->ts[slice]);
    }
    chrome_args_put(&writer->args, out, slice, room);
    bytes_u8(out, '}');
    put_arrows(writer, out, track, slice);
}

static void render_slices(const struct writer *writer, const struct piece *piece, struct bytes *out)
{
    struct nl_buf room;
    struct nl_walk walk;
    uint32_t slice;
    enum nl_walk_what what;
    nl_buf_init(&room, NL_MAX_FILLED);
    nl_walk_open(&walk, writer->trace, piece->walk);
    while ((what = nl_walk_next(&walk, &slice)) != NL_WALK_DONE)
        if (what == NL_WALK_BEGIN && nl_export_picks(writer->export, slice))
            put_slice(writer, out, &room, piece->track, slice);
    nl_walk_close(&walk);
    nl_buf_release(&room);
}

static int64_t pid_of_lane(const struct writer *writer, uint32_t lane)
{
    uint32_t process = lane == NL_NULL_ROW ? NL_NULL_ROW : writer->trace->lane.process[lane];
    uint32_t track = process == NL_NULL_ROW ? NL_NO_TRACK : writer->tracks.of_process[process];
    return track == NL_NO_TRACK ? 0 : writer->tracks.items[track].pid;
}

static void render_counters(const struct writer *writer, const struct piece *piece,
                            struct bytes *out)
{
    const struct nl_trace *trace = writer->trace;
    const struct nl_counter_table *table = &trace->counter;
    for (uint32_t i = piece->from; i < piece->to; i++) {
        uint32_t series = table->series[i];
        if (series == NL_NULL_ROW || table->ts[i] == NL_NULL_I64 ||
            table->value[i] != table->value[i] ||
            !nl_export_picks_moment(writer->export, trace->series.lane[series], table->ts[i]))
            continue;
        json_raw(out, ",\n{\"ph\":\"C\",\"name\":");
        json_text(out, nl_trace_name(trace, trace->series.name[series]));
        json_raw(out, ",\"pid\":");
        json_i64(out, pid_of_lane(writer, trace->series.lane[series]));
        json_raw(out, ",\"ts\":");
        json_us(out, table->ts[i] - trace->first_ts);
        json_raw(out, ",\"args\":{\"value\":");
        json_f64(out, table->value[i]);
        json_raw(out, "}}");
    }
}

static void put_member(struct bytes *out, const char *name, int64_t value, bool known)
{
    if (!known)
        return;
    json_raw(out, name);
    json_i64(out, value);
}

static void render_memory(const struct writer *writer, const struct piece *piece, struct bytes *out)
{
    const struct nl_memory_table *table = &writer->trace->memory;
    for (uint32_t i = piece->from; i < piece->to; i++) {
        uint32_t lane = table->lane[i];
        if (table->ts[i] == NL_NULL_I64 || lane == NL_NULL_ROW ||
            writer->tracks.of_lane[lane] == NL_NO_TRACK ||
            !nl_export_picks_moment(writer->export, lane, table->ts[i]))
            continue;
        json_raw(
            out,
            ",\n{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\"");
        put_place(writer, out, writer->tracks.of_lane[lane], table->ts[i]);
        json_raw(out, ",\"args\":{\"Bytes\":");
        json_i64(out, table->bytes[i] == NL_NULL_I64 ? 0 : table->bytes[i]);
        put_member(out, ",\"Addr\":", (int64_t)table->address[i], table->address[i] <= INT64_MAX);
        put_member(out, ",\"Device Type\":", table->device_type[i],
                   table->device_type[i] != NL_NULL_I64);
        put_member(out, ",\"Device Id\":", table->device[i], table->device[i] != NL_NULL_I64);
        put_member(out, ",\"Total Allocated\":", (int64_t)table->total_allocated[i],
                   table->total_allocated[i] <= INT64_MAX);
        put_member(out, ",\"Total Reserved\":", (int64_t)table->total_reserved[i],
                   table->total_reserved[i] <= INT64_MAX);
        json_raw(out, "}}");
    }
}

static void render(const void *context, size_t number, struct bytes *out)
{
    const struct writer *writer = context;
    const struct piece *piece = &writer->pieces[number];
    switch (piece->kind) {
    case PIECE_SLICES: render_slices(writer, piece, out); break;
    case PIECE_COUNTERS: render_counters(writer, piece, out); break;
    case PIECE_MEMORY: render_memory(writer, piece, out); break;
    }
}

/* ---- the head ---- */

static void put_meta(struct bytes *out, const char *name, int64_t pid, int64_t tid,
                     const char *member, struct nl_str text)
{
    json_raw(out, ",\n{\"ph\":\"M\",\"name\":\"");
    json_raw(out, name);
    json_raw(out, "\",\"pid\":");
    json_i64(out, pid);
    json_raw(out, ",\"tid\":");
    json_i64(out, tid);
    json_raw(out, ",\"ts\":0,\"args\":{\"");
    json_raw(out, member);
    json_raw(out, "\":");
    json_text(out, text);
    json_raw(out, "}}");
}

/* A row below a GPU has the GPU's name before its own: threads have no tree. */
static void put_row_name(const struct writer *writer, struct bytes *out, uint32_t number)
{
    const struct nl_track *track = &writer->tracks.items[number];
    struct nl_str name = track->name, parent = {"", 0};
    if (track->kind == NL_TRACK_ROW && track->parent != NL_NO_TRACK &&
        writer->tracks.items[track->parent].kind != NL_TRACK_PROCESS)
        parent = writer->tracks.items[track->parent].name;
    struct bytes text = {0};
    bytes_add(&text, parent.ptr, parent.len);
    if (parent.len)
        bytes_add(&text, " ", 1);
    bytes_add(&text, name.ptr, name.len);
    if (text.len)
        put_meta(out, "thread_name", track->pid, tid_of(writer, number), "name",
                 (struct nl_str){(const char *)text.at, text.len});
    bytes_release(&text);
}

static void put_tracks(const struct writer *writer, struct bytes *out)
{
    for (uint32_t i = 0; i < writer->tracks.count; i++) {
        const struct nl_track *track = &writer->tracks.items[i];
        if (track->kind == NL_TRACK_PROCESS)
            put_meta(out, "process_name", track->pid, 0, "name", track->name);
        else if (track->kind != NL_TRACK_GROUP)
            put_row_name(writer, out, i);
    }
}

/* One member of a device; nothing when it is not known. */
static void put_device_u64(struct bytes *out, const char *name, uint64_t value, bool known)
{
    if (!known)
        return;
    json_raw(out, name);
    json_u64(out, value);
}

static void put_devices(const struct writer *writer, struct bytes *out)
{
    const struct nl_device_table *table = &writer->trace->device;
    bool any = false;
    json_raw(out, ",\"deviceProperties\":[");
    for (uint32_t i = 0; i < table->rows; i++) {
        struct nl_str name = nl_trace_name(writer->trace, table->name[i]);
        if (table->ordinal[i] == NL_NULL_I64 || !name.len)
            continue;
        json_raw(out, any ? ",{\"id\":" : "{\"id\":");
        any = true;
        json_i64(out, table->ordinal[i]);
        json_raw(out, ",\"name\":");
        json_text(out, name);
        put_device_u64(out, ",\"totalGlobalMem\":", table->memory_bytes[i],
                       table->memory_bytes[i] != NL_NULL_U64);
        put_device_u64(out, ",\"numSms\":", table->sm_count[i], table->sm_count[i] != NL_NULL_U32);
        put_device_u64(out, ",\"computeMajor\":", table->compute_major[i],
                       table->compute_major[i] != NL_NULL_U32);
        put_device_u64(out, ",\"computeMinor\":", table->compute_minor[i],
                       table->compute_minor[i] != NL_NULL_U32);
        bytes_u8(out, '}');
    }
    bytes_u8(out, ']');
}

/* The rank, when there is one for all. */
static void put_rank(const struct writer *writer, struct bytes *out)
{
    const struct nl_process_table *table = &writer->trace->process;
    int64_t rank = NL_NULL_I64;
    for (uint32_t i = 0; i < table->rows; i++) {
        if (table->rank[i] == NL_NULL_I64 || table->rank[i] == rank)
            continue;
        if (rank != NL_NULL_I64)
            return;
        rank = table->rank[i];
    }
    if (rank == NL_NULL_I64)
        return;
    json_raw(out, ",\"distributedInfo\":{\"rank\":");
    json_i64(out, rank);
    bytes_u8(out, '}');
}

static void write_head(struct writer *writer)
{
    struct bytes out = {0};
    json_raw(&out, "{\"schemaVersion\":1,\"displayTimeUnit\":\"ns\"");
    if (writer->epoch != NL_NULL_I64) {
        json_raw(&out, ",\"baseTimeNanoseconds\":");
        json_i64(&out, writer->epoch);
    }
    put_rank(writer, &out);
    put_devices(writer, &out);
    json_raw(&out,
             ",\"traceEvents\":[\n{\"ph\":\"M\",\"name\":\"neurolens\",\"pid\":0,\"tid\":0,\"ts\":"
             "0,\"args\":{\"version\":\"" NL_VERSION "\"}}");
    put_tracks(writer, &out);
    fwrite(out.at, 1, out.len, writer->export->out);
    bytes_release(&out);
}

/* ---- all of it ---- */

static void count_lost(struct writer *writer)
{
    struct nl_export *export = writer->export;
    const struct nl_trace *trace = writer->trace;
    uint64_t open = 0, ranks = 0, frees = 0;
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        open += trace->slice.flags[i] & NL_SLICE_CLAMPED && nl_export_picks(export, i);
    for (uint32_t i = 0; i < trace->process.rows; i++)
        ranks += trace->process.rank[i] != NL_NULL_I64;
    for (uint32_t i = 0; i < trace->memory.rows; i++)
        frees += trace->memory.lane[i] == NL_NULL_ROW;
    nl_export_lost(export, open, "slices without an end: they end with the trace");
    nl_export_lost(export, ranks > 1 ? ranks : 0, "ranks, but for the names of processes");
    nl_export_lost(export, frees, "allocations of no thread");
}

bool nl_export_chrome(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {
        .export = export, .trace = export->trace, .epoch = nl_export_epoch(export->trace)};
    nl_job_phase(export->job, "preparing", 0);
    nl_tracks_make(&writer.tracks, export);
    nl_arrows_make(&writer.arrows, export);
    chrome_args_make(&writer.args, export->trace);
    find_pieces(&writer);
    count_lost(&writer);
    write_head(&writer);
    nl_job_phase(export->job, "writing", writer.count);
    bool done = nl_write_ordered(export, export->out, writer.count, render, &writer, err);
    fputs("\n]}\n", export->out);
    nl_walk_parts_release(&writer.walk);
    chrome_args_release(&writer.args);
    nl_arrows_release(&writer.arrows);
    nl_tracks_release(&writer.tracks);
    nl_free(writer.pieces);
    return done;
}
