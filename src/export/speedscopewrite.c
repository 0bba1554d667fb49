/*
 * speedscope: a profile per lane with its slices as opens and closes in order of time, and one per
 * kind of sampled stacks. Format: https://www.speedscope.app/file-format-schema.json
 */
#include "base/sum.h"
#include "export/jsonbytes.h"
#include "export/lanewalk.h"
#include "export/ordered.h"
#include "export/stackfold.h"
#include "export/tracks.h"

struct writer {
    struct nl_export *export;
    const struct nl_trace *trace;
    struct nl_tracks tracks;
    struct nl_walk_parts walk;
    struct nl_stackfold fold;
    uint32_t *frame; /* per dictionary id: frame + 1 */
    uint32_t frames; /* of slices; those of stacks follow */
    struct bytes out;
    bool begun;
};

static void flush(struct writer *writer)
{
    fwrite(writer->out.at, 1, writer->out.len, writer->export->out);
    bytes_clear(&writer->out);
}

static void maybe_flush(struct writer *writer)
{
    if (writer->out.len > (size_t)1 << 20)
        flush(writer);
}

/* ---- frames ---- */

static void put_frames(struct writer *writer)
{
    const struct nl_trace *trace = writer->trace;
    struct bytes *out = &writer->out;
    json_raw(out, "\"shared\":{\"frames\":[");
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        uint32_t name = trace->slice.name[slice];
        if (writer->frame[name] || !nl_export_picks(writer->export, slice))
            continue;
        json_raw(out, writer->frames ? ",\n{\"name\":" : "\n{\"name\":");
        json_text(out, name == NL_NO_NAME ? nl_str("(no name)") : nl_trace_name(trace, name));
        bytes_u8(out, '}');
        writer->frame[name] = ++writer->frames;
        maybe_flush(writer);
    }
    for (uint32_t i = 0; i < writer->fold.frame_count; i++) {
        const struct nl_stackframe *frame = &writer->fold.frames[i];
        json_raw(out, writer->frames || i ? ",\n{\"name\":" : "\n{\"name\":");
        json_text(out, frame->name);
        if (frame->file.len) {
            json_raw(out, ",\"file\":");
            json_text(out, frame->file);
        }
        if (frame->line) {
            json_raw(out, ",\"line\":");
            json_u64(out, frame->line);
        }
        bytes_u8(out, '}');
        maybe_flush(writer);
    }
    json_raw(out, "]}");
}

/* ---- profiles ---- */

static void begin_profile(struct writer *writer, const char *type, struct nl_str name,
                          const char *unit, int64_t start, int64_t end)
{
    struct bytes *out = &writer->out;
    json_raw(out, writer->begun ? ",\n{\"type\":\"" : "\n{\"type\":\"");
    writer->begun = true;
    json_raw(out, type);
    json_raw(out, "\",\"name\":");
    json_text(out, name);
    json_raw(out, ",\"unit\":\"");
    json_raw(out, unit);
    json_raw(out, "\",\"startValue\":");
    json_i64(out, start);
    json_raw(out, ",\"endValue\":");
    json_i64(out, end);
}

static struct nl_str lane_title(struct writer *writer, const struct nl_walk_part *part)
{
    const struct nl_track *items = writer->tracks.items;
    uint32_t at = writer->tracks.of_lane[part->lane];
    struct nl_arena *arena = &writer->export->arena;
    char *title = nl_arena_text(arena, "", 0);
    for (; at != NL_NO_TRACK; at = items[at].parent) {
        struct nl_str name = items[at].name;
        char thread[40];
        if (!name.len && items[at].kind == NL_TRACK_THREAD) {
            snprintf(thread, sizeof thread, "thread %lld", (long long)items[at].tid);
            name = nl_str(thread);
        }
        title = nl_arena_format(arena, "%.*s%s%s", (int)name.len, name.ptr, title[0] ? " / " : "",
                                title);
    }
    return nl_str(part->row ? nl_arena_format(arena, "%s (%u)", title, part->row) : title);
}

/* Bounds of what is written of a part; false when that is nothing. */
static bool part_bounds(struct writer *writer, const struct nl_walk_part *part, int64_t *start,
                        int64_t *end)
{
    struct nl_walk walk;
    uint32_t slice;
    enum nl_walk_what what;
    *start = INT64_MAX;
    *end = INT64_MIN;
    nl_walk_open(&walk, writer->trace, part);
    while ((what = nl_walk_next(&walk, &slice)) != NL_WALK_DONE) {
        if (what != NL_WALK_BEGIN || !nl_export_picks(writer->export, slice))
            continue;
        int64_t ts = writer->trace->slice.ts[slice], stop = nl_slice_end(writer->trace, slice);
        *start = ts < *start ? ts : *start;
        *end = stop > *end ? stop : *end;
    }
    nl_walk_close(&walk);
    return *start <= *end;
}

static void put_events(struct writer *writer, const struct nl_walk_part *part)
{
    const struct nl_trace *trace = writer->trace;
    struct bytes *out = &writer->out;
    struct nl_walk walk;
    uint32_t slice;
    enum nl_walk_what what;
    bool begun = false;
    json_raw(out, ",\"events\":[");
    nl_walk_open(&walk, trace, part);
    while ((what = nl_walk_next(&walk, &slice)) != NL_WALK_DONE) {
        if (!nl_export_picks(writer->export, slice))
            continue;
        bool open = what == NL_WALK_BEGIN;
        int64_t at = open ? trace->slice.ts[slice] : nl_slice_end(trace, slice);
        if (begun)
            bytes_u8(out, ',');
        begun = true;
        json_raw(out, open ? "{\"type\":\"O\",\"frame\":" : "{\"type\":\"C\",\"frame\":");
        json_u64(out, writer->frame[trace->slice.name[slice]] - 1);
        json_raw(out, ",\"at\":");
        json_i64(out, at - trace->first_ts);
        bytes_u8(out, '}');
        maybe_flush(writer);
    }
    nl_walk_close(&walk);
    json_raw(out, "]}");
}

static void put_lane(struct writer *writer, const struct nl_walk_part *part)
{
    int64_t start, end;
    if (!part_bounds(writer, part, &start, &end))
        return;
    begin_profile(writer, "evented", lane_title(writer, part), "nanoseconds",
                  start - writer->trace->first_ts, end - writer->trace->first_ts);
    put_events(writer, part);
}

static const char *unit_word(struct nl_str unit)
{
    return nl_str_is(unit, "ns") ? "nanoseconds" : nl_str_is(unit, "bytes") ? "bytes" : "none";
}

static void put_stacks(struct writer *writer, const struct nl_stacktree *tree)
{
    struct bytes *out = &writer->out;
    int64_t total = 0;
    bool begun = false;
    for (uint32_t node = 1; node < tree->count; node++)
        nl_sum_add(&total, tree->nodes[node].self);
    begin_profile(writer, "sampled", tree->event, unit_word(tree->unit), 0, total);
    json_raw(out, ",\"samples\":[");
    for (uint32_t node = 1; node < tree->count; node++) {
        if (!tree->nodes[node].self)
            continue;
        uint32_t depth, *path = nl_stackfold_path(tree, node, &depth);
        json_raw(out, begun ? ",\n[" : "\n[");
        begun = true;
        for (uint32_t i = 0; i < depth; i++) {
            if (i)
                bytes_u8(out, ',');
            json_u64(out, writer->frames + path[i]);
        }
        bytes_u8(out, ']');
        nl_free(path);
        maybe_flush(writer);
    }
    begun = false;
    json_raw(out, "],\"weights\":[");
    for (uint32_t node = 1; node < tree->count; node++) {
        if (!tree->nodes[node].self)
            continue;
        if (begun)
            bytes_u8(out, ',');
        begun = true;
        json_i64(out, tree->nodes[node].self);
    }
    json_raw(out, "]}");
}

bool nl_export_speedscope(struct nl_export *export, struct nl_err *err)
{
    struct writer writer = {.export = export, .trace = export->trace};
    bool done = true;
    nl_stackfold_make(&writer.fold, export, false);
    nl_tracks_make(&writer.tracks, export);
    nl_walk_cut(&writer.walk, export->trace, &export->scope, UINT32_MAX);
    writer.frame = nl_zalloc((export->trace->names.count + (size_t)1) * sizeof *writer.frame);
    json_raw(&writer.out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                          "\"exporter\":\"neurolens " NL_VERSION "\",\"name\":");
    json_text(&writer.out, nl_str(export->title ? export->title : "profile"));
    json_raw(&writer.out, ",\n");
    put_frames(&writer);
    json_raw(&writer.out, ",\n\"profiles\":[");
    for (size_t i = 0; i < writer.fold.count; i++)
        put_stacks(&writer, &writer.fold.trees[i]);
    nl_job_phase(export->job, "writing", writer.walk.count);
    for (size_t i = 0; done && i < writer.walk.count; i++) {
        put_lane(&writer, &writer.walk.items[i]);
        nl_job_add(export->job, 1);
        done = nl_export_goes_on(export, err);
    }
    json_raw(&writer.out, "]}\n");
    flush(&writer);
    nl_stackfold_release(&writer.fold);
    nl_tracks_release(&writer.tracks);
    nl_walk_parts_release(&writer.walk);
    nl_free(writer.frame);
    bytes_release(&writer.out);
    return done;
}
