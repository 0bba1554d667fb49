/*
 * The format row of XSpace files: recognising one, its planes in order, and what coverage says.
 * Planes of the host come first, because steps that the program marked count before those that the
 * profiler derived for a device.
 */
#include "base/utf8.h"
#include "ingest/xplane/xplanefields.h"
#include "ingest/xplane/xplane.h"
#include "ingest/xplane/xplane_nodes.h"

#include <stdio.h>

#include "base/mem.h"
#include "ingest/lib/wholefile.h"

#define MAX_PLANES 65536
#define MAX_TEXT   65536

/* ---- recognising ---- */

static bool is_plane_name(struct nl_str name)
{
    static const char *const starts[] = {"/host:", "/device:", "Task Environment", "#Chip"};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(name, starts[i]))
            return true;
    return false;
}

/* The name of the first plane of a head that may be cut; NULL ptr when there is none. */
static struct nl_str first_plane_name(const unsigned char *head, size_t len)
{
    struct wire space = wire_over(head, len);
    struct wire_field field;
    while (wire_next(&space, &field) || wire_clip(&space, &field)) {
        if (field.number != XSPACE_PLANES || !wire_is_text(&field)) {
            if (field.number > XSPACE_HOSTNAMES)
                break;
            continue;
        }
        struct wire plane = wire_inside(&field);
        while (wire_next(&plane, &field) || wire_clip(&plane, &field))
            if (field.number == XPLANE_FIELD_NAME && wire_is_text(&field))
                return wire_str(&field);
            else if (field.number != XPLANE_FIELD_ID)
                break;
        break;
    }
    return (struct nl_str){NULL, 0};
}

/* A binary file that a program took for text: every byte that is no UTF-8 became EF BF BD. */
static bool is_mangled(struct nl_str head)
{
    unsigned count = 0;
    for (size_t at = 0; at + 3 <= head.len && count < 16; at++)
        count += memcmp(head.ptr + at, "\xef\xbf\xbd", 3) == 0;
    return count >= 16 && (nl_str_contains(head, "/device:") || nl_str_contains(head, "/host:"));
}

static int xplane_sniff(const struct nl_input *input, const char **why)
{
    if (input->head_len < 4 || (input->head[0] & 7) != WIRE_BYTES || input->head[0] >> 3 > 4)
        return 0;
    struct nl_str head = {(const char *)input->head, input->head_len};
    if (is_mangled(head)) {
        *why = "a binary file that was saved as text, which destroyed it; fetch the original";
        return 0;
    }
    struct nl_str name = first_plane_name(input->head, input->head_len);
    return name.ptr && is_plane_name(name) ? 95 : 0;
}

/* ---- loading ---- */

static bool name_plane(const struct wire_field *bytes, struct xplane_plane *plane)
{
    *plane = (struct xplane_plane){.bytes = wire_inside(bytes), .name = {"", 0}};
    struct wire wire = plane->bytes;
    struct wire_field field;
    bool any = false;
    while (xplane_again(&wire, &field)) {
        any = true;
        if (field.number != XPLANE_FIELD_NAME)
            continue;
        plane->name = wire_str(&field);
        break;
    }
    return any;
}

/* When the session was, which is its time 0. */
static void read_environment(struct xplane_load *load, const struct xplane_plane *plane)
{
    xplane_stats_read(load, plane, &plane->bytes, XPLANE_FIELD_STATS, &load->stats);
    int64_t start = xplane_i64(&load->stats, XPLANE_START_TIME);
    if (start != NL_NULL_I64 && start > 0)
        nl_builder_clock(load->builder, load->source, "session", start);
}

static bool load_plane(struct xplane_load *load, struct xplane_plane *plane, uint64_t sequence)
{
    bool done = true;
    nl_stage_begin(load->stage, load->source, sequence);
    xplane_tables_read(load, plane);
    if (nl_str_is(plane->name, "Task Environment"))
        read_environment(load, plane);
    else if (nl_str_starts(plane->name, "/device:"))
        done = xplane_device(load, plane);
    else
        done = xplane_host(load, plane);
    xplane_nodes_stage(load);
    xplane_tables_release(plane);
    return done;
}

static bool is_device(const struct xplane_plane *plane)
{
    return nl_str_starts(plane->name, "/device:");
}

/* Programs come before the events that ran them, wherever they are in the file. */
static void find_programs(struct xplane_load *load, struct xplane_plane *planes, size_t count)
{
    uint64_t damage[XPLANE_NOTES];
    memcpy(damage, load->notes, sizeof damage);
    for (size_t i = 0; i < count; i++) {
        bool device = nl_str_starts(planes[i].name, "/device:GPU:") ||
                      nl_str_starts(planes[i].name, "/device:TPU:");
        if (nl_str_is(planes[i].name, "/host:metadata"))
            xplane_programs(load, &planes[i]);
        else if (device && hlo_inside(&planes[i].bytes, XPLANE_FIELD_LINES).at)
            load->device_work = true;
    }
    memcpy(load->notes, damage, sizeof damage); /* the plane is walked again, and notes it */
}

static bool load_planes(struct xplane_load *load, struct xplane_plane *planes, size_t count)
{
    find_programs(load, planes, count);
    for (int devices = 0; devices <= 1; devices++)
        for (size_t i = 0; i < count; i++)
            if (is_device(&planes[i]) == devices && !load_plane(load, &planes[i], i))
                return false;
    return true;
}

static const struct {
    const char *item, *detail;
} note_texts[XPLANE_NOTES] = {
    [XPLANE_NOTE_CUT] = {"truncated: the file ends early", "everything before the cut is loaded"},
    [XPLANE_NOTE_DAMAGED] = {"skipped: rest of a damaged message", "bytes that are not protobuf"},
    [XPLANE_NOTE_NAMELESS] = {"events without a name", "their metadata are not in the file"},
    [XPLANE_NOTE_AGGREGATE] = {"not loaded: aggregated events", "sums without a time"},
    [XPLANE_NOTE_TIME] = {"skipped: events with impossible times", NULL},
    [XPLANE_NOTE_STATS] = {"not loaded: statistics without a column", NULL},
    [XPLANE_NOTE_DETAILS] = {"kernel details with impossible numbers",
                             "written by profilers that left memory unset; unknown here"},
    [XPLANE_NOTE_LINKS] = {"consumers of what nobody produced", "the other end is not in the file"},
    [XPLANE_NOTE_MARKS] = {"not loaded: marks of roots and asynchronous events", NULL},
    [XPLANE_NOTE_PROGRAMS] = {"not loaded: HLO programs that no event names",
                              "compiled, but nothing of them ran in the profile"},
    [XPLANE_NOTE_UNREADABLE] = {"not loaded: HLO programs that are damaged", NULL},
    [XPLANE_NOTE_INSTRUCTIONS] = {"events of instructions that no HLO program of the file has",
                                  "their shapes and costs are not known"},
    [XPLANE_NOTE_STEPS] = {"steps of devices kept as annotations only",
                           "steps come from the host's marks, or else from the first device"},
    [XPLANE_NOTE_CUT_ARGS] = {"shortened: long arguments", "cut at 4096 bytes"},
};

static void report_coverage(struct xplane_load *load)
{
    if (load->notes[XPLANE_NOTE_CUT])
        load->notes[XPLANE_NOTE_CUT] = 1; /* every message around the place was cut */
    char first[96] = "their names are not in the file";
    if (load->first_stat.len)
        (void)snprintf(first, sizeof first, "the first is %.*s", NL_UP_TO(64, load->first_stat));
    for (int i = 0; i < XPLANE_NOTES; i++)
        if (load->notes[i])
            nl_builder_coverage(load->builder, load->source, note_texts[i].item,
                                (int64_t)load->notes[i],
                                i == XPLANE_NOTE_STATS ? first : note_texts[i].detail);
    if (!load->events)
        nl_builder_coverage(load->builder, load->source, "no events", 1,
                            "no plane has a line with events");
}

/* Errors and warnings of the profiler; the host. */
static void take_message(struct xplane_load *load, const struct wire_field *field, bool *named)
{
    struct nl_str text = wire_str(field);
    char detail[200];
    (void)snprintf(detail, sizeof detail, "%.*s", NL_UP_TO(sizeof detail - 1, text));
    if (field->number == XSPACE_ERRORS)
        nl_builder_coverage(load->builder, load->source, "errors of the profiler", 1, detail);
    else if (field->number == XSPACE_WARNINGS)
        nl_builder_coverage(load->builder, load->source, "warnings of the profiler", 1, detail);
    else if (field->number == XSPACE_HOSTNAMES && !*named) {
        nl_builder_process_name(load->builder, load->process, text);
        nl_builder_meta(load->builder, load->source, "hostname", text);
        *named = true;
    }
}

/* The planes of the space, named. False when it is no XSpace. */
static size_t find_planes(struct xplane_load *load, const void *bytes, size_t len,
                          struct xplane_plane **planes)
{
    struct wire space = wire_over(bytes, len);
    struct wire_field field;
    size_t count = 0, cap = 0;
    bool named = false;
    while (xplane_next(load, &space, &field)) {
        if (!wire_is_text(&field))
            continue;
        if (field.number != XSPACE_PLANES) {
            take_message(load, &field, &named);
        } else if (count < MAX_PLANES) {
            nl_grow(planes, &cap, count + 1);
            count += name_plane(&field, &(*planes)[count]);
        } else {
            nl_builder_coverage(load->builder, load->source, "not loaded: further planes", 1, NULL);
        }
    }
    return count;
}

static bool load_found(struct xplane_load *load, struct xplane_plane *planes, size_t count,
                       struct nl_err *err)
{
    if (!load_planes(load, planes, count) && nl_job_cancelled(load->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    nl_stage_begin(load->stage, load->source, MAX_PLANES);
    xplane_links_join(load);
    xplane_programs_note(load);
    report_coverage(load);
    uint64_t damage = load->notes[XPLANE_NOTE_CUT] + load->notes[XPLANE_NOTE_DAMAGED];
    if (count == 0 || (damage && !load->events))
        return nl_fail(err, NL_FORMAT,
                       damage ? "the file is damaged before its first event"
                              : "the file has no planes");
    return true;
}

/* The whole message; fails only when nothing in it is an XSpace. */
static bool xplane_load(struct nl_reading *reading, struct nl_err *err)
{
    struct xplane_load *load = nl_zalloc(sizeof *load);
    struct xplane_plane *planes = NULL;
    load->builder = reading->builder;
    load->source = reading->source;
    load->job = reading->job;
    load->steps_of = NL_NULL_I64;
    load->stage = nl_stage_new(reading->builder);
    load->process = nl_builder_process(reading->builder, reading->source, NL_NULL_I64);
    nl_buf_init(&load->text, MAX_TEXT);
    size_t count = find_planes(load, reading->file->bytes, reading->file->size, &planes);
    bool done = load_found(load, planes, count, err);
    xplane_programs_release(load);
    nl_free(planes);
    nl_free(load->producers.rows);
    nl_free(load->consumers.rows);
    nl_buf_release(&load->text);
    nl_free(load);
    return done;
}

const struct nl_format nl_format_xplane = {.name = "xplane",
                                           .title = "XPlane profile (TensorFlow, JAX, XLA)",
                                           .sniff = xplane_sniff,
                                           .load = xplane_load,
                                           .feed = NL_FEED_WHOLE,
                                           .doc = "formats/xplane.md"};
