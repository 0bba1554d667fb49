/*
 * Planes of the host: a line is a thread. What an event is shows in its name and statistics: calls
 * that launched device work carry its correlation id, Python frames start with '$', operators are
 * "name:Type" or name their HLO instruction, steps have a step number, allocations an address.
 */
#include "base/chars.h"
#include "ingest/xplane/xplanefields.h"
#include "ingest/xplane/xplane.h"
#include "ingest/xplane/xplane_nodes.h"

struct host_line {
    struct xplane_load *load;
    const struct xplane_plane *plane;
    uint32_t thread;
    uint32_t lane, python_lane, step_lane; /* NL_NULL_ROW until needed */
};

static uint32_t lane_of(const struct host_line *line, enum nl_lanekind kind)
{
    struct nl_lane_key key = {.kind = kind,
                              .process = line->load->process,
                              .thread = line->thread,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    return nl_builder_lane(line->load->builder, &key);
}

static uint32_t lane_for(struct host_line *line, enum nl_lanekind kind)
{
    uint32_t *lane = kind == NL_LANE_PYTHON       ? &line->python_lane
                     : kind == NL_LANE_ANNOTATION ? &line->step_lane
                                                  : &line->lane;
    if (*lane == NL_NULL_ROW)
        *lane = lane_of(line, kind);
    return *lane;
}

static uint32_t add_slice(struct host_line *line, const struct xplane_event *event,
                          enum nl_kind kind, enum nl_lanekind lane)
{
    struct nl_slice_row row = nl_slice_row();
    row.ts = event->ts;
    row.dur = event->dur;
    row.name = xplane_name(line->load, event->meta);
    row.kind = (uint8_t)kind;
    row.lane = lane_for(line, lane);
    xplane_link(line->load, event, row.lane, false);
    return nl_stage_slice(line->load->stage, &row);
}

static void add_args(struct xplane_load *load, uint32_t slice)
{
    uint32_t text = xplane_args(load, &load->stats);
    if (text == NL_NO_NAME)
        return;
    struct nl_arg_row row = nl_arg_row();
    row.slice = slice;
    row.text = text;
    nl_stage_arg(load->stage, &row);
}

/* "GPU_4_bfc" → 1 and 4; "gpu_host_bfc", "cpu" → 0. */
static void allocator_device(struct nl_str name, struct nl_memory_row *row)
{
    if (nl_str_find_nocase(name, "host") >= 0 || nl_str_find_nocase(name, "cpu") >= 0) {
        row->device_type = 0;
    } else if (nl_str_starts(name, "GPU_") && name.len > 4 && nl_is_digit(name.ptr[4])) {
        int64_t number = 0;
        for (size_t i = 4; i < name.len && i < 10 && nl_is_digit(name.ptr[i]); i++)
            number = number * 10 + (name.ptr[i] - '0');
        row->device_type = 1;
        row->device = number;
    }
}

static void add_memory(struct host_line *line, const struct xplane_event *event, bool freed)
{
    struct xplane_load *load = line->load;
    struct nl_memory_row row = nl_memory_row();
    struct nl_str allocator = xplane_text(&load->stats, XPLANE_ALLOCATOR);
    int64_t bytes = xplane_i64(&load->stats, XPLANE_ALLOCATION_BYTES);
    row.ts = event->ts;
    row.lane = lane_for(line, NL_LANE_THREAD);
    row.address = xplane_u64(&load->stats, XPLANE_ADDRESS);
    row.bytes = bytes == NL_NULL_I64 || !freed ? bytes : -bytes;
    row.total_allocated = xplane_u64(&load->stats, XPLANE_BYTES_ALLOCATED);
    row.total_reserved = xplane_u64(&load->stats, XPLANE_BYTES_RESERVED);
    row.kind = nl_stage_name(load->stage, allocator);
    allocator_device(allocator, &row);
    nl_stage_memory(load->stage, &row);
}

static void add_step(struct host_line *line, const struct xplane_event *event)
{
    struct xplane_load *load = line->load;
    uint32_t slice = add_slice(line, event, NL_KIND_NVTX, NL_LANE_ANNOTATION);
    struct nl_nvtx_row range = nl_nvtx_row();
    range.slice = slice;
    range.style = NL_RANGE_ANNOTATION;
    nl_stage_nvtx(load->stage, &range);
    struct nl_step_row row = nl_step_row();
    row.index = xplane_i64(&load->stats, XPLANE_STEP_NUM);
    row.ts = event->ts;
    row.dur = event->dur;
    row.name = xplane_name(load, event->meta);
    row.lane = lane_for(line, NL_LANE_ANNOTATION);
    nl_stage_step(load->stage, &row);
    load->host_steps = true;
}

static void add_call(struct host_line *line, const struct xplane_event *event)
{
    struct nl_api_row row = nl_api_row();
    row.slice = add_slice(line, event, NL_KIND_API, NL_LANE_THREAD);
    row.correlation = xplane_u64(&line->load->stats, XPLANE_CORRELATION);
    nl_stage_api(line->load->stage, &row);
    add_args(line->load, row.slice);
}

static void add_op(struct host_line *line, const struct xplane_event *event)
{
    struct xplane_load *load = line->load;
    struct nl_op_row row = nl_op_row();
    row.slice = add_slice(line, event, NL_KIND_OP, NL_LANE_THREAD);
    if (!load->device_work && xplane_has(&load->stats, XPLANE_HLO_OP)) {
        uint32_t facts =
            xplane_instruction(load, &load->stats, xplane_text(&load->stats, XPLANE_HLO_OP));
        xplane_op_facts(load, facts, &row);
        xplane_ran(load, row.slice, event, facts);
    }
    if (xplane_has(&load->stats, XPLANE_SHAPE))
        row.shapes = nl_stage_name(load->stage, xplane_text(&load->stats, XPLANE_SHAPE));
    nl_stage_op(load->stage, &row);
    load->stats.has &= ~((uint64_t)1 << XPLANE_SHAPE);
    add_args(load, row.slice);
}

static void add_python(struct host_line *line, const struct xplane_event *event)
{
    struct nl_python_row row = nl_python_row();
    row.slice = add_slice(line, event, NL_KIND_PYTHON, NL_LANE_PYTHON);
    nl_stage_python(line->load->stage, &row);
}

/* "scope/name:Type" as TensorFlow names the execution of an operator. */
static bool is_op_name(struct nl_str name)
{
    size_t at = name.len;
    while (at && name.ptr[at - 1] != ':')
        if (name.ptr[--at] == ' ')
            return false;
    if (at < 2 || at == name.len || name.ptr[at - 2] == ':')
        return false;
    char first = name.ptr[at];
    return first == '_' || nl_is_upper(first);
}

static void take_host_event(void *context, struct xplane_event *event)
{
    struct host_line *line = context;
    struct xplane_load *load = line->load;
    struct nl_str name = event->meta ? event->meta->name : (struct nl_str){"", 0};
    xplane_stats_read(load, line->plane, &event->stats, XEVENT_STATS, &load->stats);
    if (name.len && name.ptr[0] == '$') {
        add_python(line, event);
    } else if (xplane_has(&load->stats, XPLANE_ADDRESS) && nl_str_starts(name, "Memory")) {
        add_memory(line, event, nl_str_is(name, "MemoryDeallocation"));
    } else if (xplane_has(&load->stats, XPLANE_CORRELATION)) {
        add_call(line, event);
    } else if (xplane_has(&load->stats, XPLANE_STEP_NUM)) {
        add_step(line, event);
    } else if (xplane_has(&load->stats, XPLANE_HLO_OP) || is_op_name(name)) {
        add_op(line, event);
    } else {
        add_args(load, add_slice(line, event, NL_KIND_GENERIC, NL_LANE_THREAD));
    }
}

static bool take_host_line(struct xplane_load *load, struct xplane_plane *plane,
                           struct xplane_line *line, void *context)
{
    (void)context;
    struct host_line host = {.load = load,
                             .plane = plane,
                             .lane = NL_NULL_ROW,
                             .python_lane = NL_NULL_ROW,
                             .step_lane = NL_NULL_ROW};
    host.thread = nl_builder_thread(load->builder, load->process, line->id);
    nl_builder_thread_name(load->builder, host.thread, line->name);
    return xplane_events(load, plane, line, take_host_event, &host);
}

bool xplane_host(struct xplane_load *load, struct xplane_plane *plane)
{
    return xplane_lines(load, plane, take_host_line, NULL);
}
