/*
 * Events as rows.
 *
 *     Node      op and node, on the thread's lane; `_fence_` markers are counted
 *     Session   range on the thread's annotation lane; model_run is a step as well
 *     Kernel    kernel or copy on a stream of the one device, with its node's number as external id
 *     Api       call on the thread's lane
 *
 * Session ranges and nodes get different lanes: times are whole microseconds, so that a node may
 * end one after the run that it belongs to.
 */
#include "ingest/onnx/ort_event.h"

static uint32_t make_lane(struct ort_load *load, enum nl_lanekind kind, int64_t pid, int64_t tid)
{
    struct nl_lane_key key = {
        .kind = kind, .device = NL_NULL_ROW, .context = NL_NULL_I64, .stream = NL_NULL_I64};
    key.process = nl_builder_process(load->builder, load->source, pid);
    key.thread = nl_builder_thread(load->builder, key.process, tid);
    return nl_builder_lane(load->builder, &key);
}

/* The process: GPU events carry -1. */
static int64_t process_of(struct ort_load *load)
{
    if (load->event.pid != NL_NULL_I64 && load->event.pid != -1)
        load->pid = load->event.pid;
    return load->pid;
}

static struct ort_thread *thread_of(struct ort_load *load)
{
    int64_t pid = process_of(load), tid = load->event.tid;
    struct ort_thread *thread =
        &load->threads[((uint64_t)tid * 0x9E3779B97F4A7C15u >> 32) % ORT_THREADS];
    if (thread->pid != pid || thread->tid != tid)
        *thread = (struct ort_thread){.pid = pid, .tid = tid};
    return thread;
}

static uint32_t op_lane(struct ort_load *load, struct ort_thread *thread)
{
    if (!thread->ops)
        thread->ops = make_lane(load, NL_LANE_THREAD, thread->pid, thread->tid) + 1;
    return thread->ops - 1;
}

static uint32_t note_lane(struct ort_load *load, struct ort_thread *thread)
{
    if (!thread->notes)
        thread->notes = make_lane(load, NL_LANE_ANNOTATION, thread->pid, thread->tid) + 1;
    return thread->notes - 1;
}

/* GPU events do not name the device; a session uses one. */
static uint32_t stream_lane(struct ort_load *load)
{
    struct nl_lane_key key = {
        .kind = NL_LANE_STREAM, .thread = NL_NULL_ROW, .context = NL_NULL_I64};
    key.process = nl_builder_process(load->builder, load->source, process_of(load));
    key.device = nl_builder_device(load->builder, load->source, 0, NL_NULL_I64);
    key.stream = load->event.number[ORT_STREAM];
    return nl_builder_lane(load->builder, &key);
}

static struct nl_slice_row new_slice(const struct ort_event *event, enum nl_kind kind,
                                     uint32_t lane)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = event->ts;
    slice.dur = event->dur;
    slice.name = event->name;
    slice.kind = (uint8_t)kind;
    slice.lane = lane;
    return slice;
}

/* Arguments without a column, as a JSON object. */
static void stage_rest(struct ort_load *load, uint32_t slice)
{
    const struct nl_buf *rest = &load->event.rest;
    if (!rest->len)
        return;
    struct nl_arg_row arg = nl_arg_row();
    nl_buf_clear(&load->shapes);
    nl_buf_char(&load->shapes, '{');
    nl_buf_add(&load->shapes, rest->ptr, rest->len);
    nl_buf_char(&load->shapes, '}');
    arg.slice = slice;
    arg.text = nl_stage_name(load->stage, (struct nl_str){load->shapes.ptr, load->shapes.len});
    nl_stage_arg(load->stage, &arg);
}

/* ---- Node ---- */

static uint64_t size_of(int64_t number)
{
    return number >= 0 ? (uint64_t)number : NL_NULL_U64;
}

/* Memory counters stand at the node's end. */
static void stage_counters(struct ort_load *load, struct ort_thread *thread)
{
    const struct ort_event *event = &load->event;
    for (size_t i = 0; i < ORT_COUNTERS; i++) {
        if (event->counter[i] == NL_NULL_I64)
            continue;
        if (!thread->series[i])
            thread->series[i] =
                1 + nl_builder_series(load->builder, op_lane(load, thread),
                                      nl_str(ort_counters[i].name), nl_str("bytes"));
        struct nl_counter_row counter = nl_counter_row();
        counter.ts = event->ts + (event->dur == NL_NULL_I64 ? 0 : event->dur);
        counter.value = (double)event->counter[i];
        counter.series = thread->series[i] - 1;
        nl_stage_counter(load->stage, &counter);
    }
}

static void take_node(struct ort_load *load)
{
    struct ort_event *event = &load->event;
    struct ort_thread *thread = thread_of(load);
    if (event->fence) {
        ort_odd(load, ORT_ODD_FENCE);
        return;
    }
    if (!event->name)
        event->name = event->names[ORT_OP_NAME];
    load->parent = event->full;
    struct nl_slice_row slice = new_slice(event, NL_KIND_OP, op_lane(load, thread));
    struct nl_op_row op = nl_op_row();
    op.slice = nl_stage_slice(load->stage, &slice);
    op.shapes = event->names[ORT_INPUT_SHAPES];
    op.dtypes = event->names[ORT_INPUT_TYPES];
    op.external_id = ++load->nodes;
    nl_stage_op(load->stage, &op);
    struct nl_node_row node = nl_node_row();
    node.slice = op.slice;
    node.source = load->source;
    node.name = event->name;
    node.type = event->names[ORT_OP_NAME];
    node.provider = event->names[ORT_PROVIDER];
    node.index = event->number[ORT_NODE_INDEX];
    node.input_shapes = event->names[ORT_INPUT_SHAPES];
    node.input_types = event->names[ORT_INPUT_TYPES];
    node.output_shapes = event->names[ORT_OUTPUT_SHAPES];
    node.output_types = event->names[ORT_OUTPUT_TYPES];
    node.parameter_bytes = size_of(event->number[ORT_PARAMETER_SIZE]);
    node.activation_bytes = size_of(event->number[ORT_ACTIVATION_SIZE]);
    node.output_bytes = size_of(event->number[ORT_OUTPUT_SIZE]);
    nl_stage_node(load->stage, &node);
    stage_counters(load, thread);
    stage_rest(load, op.slice);
}

/* ---- Session ---- */

static void take_session(struct ort_load *load)
{
    const struct ort_event *event = &load->event;
    uint32_t lane = note_lane(load, thread_of(load));
    struct nl_slice_row slice = new_slice(event, NL_KIND_NVTX, lane);
    struct nl_nvtx_row range = nl_nvtx_row();
    range.slice = nl_stage_slice(load->stage, &slice);
    range.style = NL_RANGE_ANNOTATION;
    nl_stage_nvtx(load->stage, &range);
    stage_rest(load, range.slice);
    if (strcmp(event->copy, "model_run") != 0)
        return;
    struct nl_step_row step = nl_step_row();
    step.index = load->runs++;
    step.ts = event->ts;
    step.dur = event->dur;
    step.name = event->name;
    step.lane = lane;
    nl_stage_step(load->stage, &step);
}

/* ---- Kernel ---- */

static const struct {
    const char *name;
    enum nl_copykind kind;
} copies[] = {
    {"MemcpyHostToDevice", NL_COPY_HTOD},   {"MemcpyDeviceToHost", NL_COPY_DTOH},
    {"MemcpyDeviceToDevice", NL_COPY_DTOD}, {"MemcpyHostToHost", NL_COPY_HTOH},
    {"MemcpyPeerToPeer", NL_COPY_PTOP},     {"MemcpyHostToArray", NL_COPY_HTOA},
    {"MemcpyArrayToHost", NL_COPY_ATOH},    {"MemcpyArrayToArray", NL_COPY_ATOA},
    {"MemcpyArrayToDevice", NL_COPY_ATOD},  {"MemcpyDeviceToArray", NL_COPY_DTOA},
    {"CopyHostToDevice", NL_COPY_HTOD},     {"CopyDeviceToHost", NL_COPY_DTOH},
    {"CopyDeviceToDevice", NL_COPY_DTOD},   {"Memcpy", NL_COPY_UNKNOWN},
};

/* The row in copies[] for an event's name, -1 for none. */
static int copy_kind(const char *name)
{
    for (size_t i = 0; i < sizeof copies / sizeof copies[0]; i++)
        if (strncmp(name, copies[i].name, strlen(copies[i].name)) == 0)
            return (int)copies[i].kind;
    return -1;
}

/* Kernels come after their node and name it; what does not, stays without one. */
static int64_t parent_of(struct ort_load *load)
{
    if (load->nodes && load->event.parent && load->event.parent == load->parent)
        return load->nodes;
    ort_odd(load, ORT_ODD_NO_PARENT);
    return NL_NULL_I64;
}

static uint32_t count_of(int64_t number)
{
    return number > 0 && number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
}

static void take_kernel(struct ort_load *load)
{
    const struct ort_event *event = &load->event;
    int kind = copy_kind(event->copy);
    struct nl_slice_row slice =
        new_slice(event, kind < 0 ? NL_KIND_KERNEL : NL_KIND_MEMCPY, stream_lane(load));
    uint32_t row = nl_stage_slice(load->stage, &slice);
    if (kind >= 0) {
        struct nl_copy_row copy = nl_copy_row();
        copy.slice = row;
        copy.kind = (uint8_t)kind;
        copy.external_id = parent_of(load);
        nl_stage_copy(load->stage, &copy);
    } else {
        struct nl_kernel_row kernel = nl_kernel_row();
        kernel.slice = row;
        kernel.external_id = parent_of(load);
        kernel.grid_x = count_of(event->number[ORT_GRID_X]);
        kernel.grid_y = count_of(event->number[ORT_GRID_Y]);
        kernel.grid_z = count_of(event->number[ORT_GRID_Z]);
        kernel.block_x = count_of(event->number[ORT_BLOCK_X]);
        kernel.block_y = count_of(event->number[ORT_BLOCK_Y]);
        kernel.block_z = count_of(event->number[ORT_BLOCK_Z]);
        nl_stage_kernel(load->stage, &kernel);
    }
    stage_rest(load, row);
}

static void take_api(struct ort_load *load)
{
    struct nl_slice_row slice =
        new_slice(&load->event, NL_KIND_API, op_lane(load, thread_of(load)));
    struct nl_api_row api = nl_api_row();
    api.slice = nl_stage_slice(load->stage, &slice);
    api.external_id = parent_of(load);
    nl_stage_api(load->stage, &api);
    stage_rest(load, api.slice);
}

static void take_other(struct ort_load *load)
{
    struct nl_slice_row slice =
        new_slice(&load->event, NL_KIND_GENERIC, op_lane(load, thread_of(load)));
    stage_rest(load, nl_stage_slice(load->stage, &slice));
}

void ort_take_event(struct ort_load *load)
{
    static const struct {
        const char *cat;
        void (*take)(struct ort_load *);
    } cats[] = {
        {"Node", take_node}, {"Session", take_session}, {"Kernel", take_kernel}, {"Api", take_api}};
    struct ort_event *event = &load->event;
    if (event->phase != 'X') {
        ort_odd(load, ORT_ODD_PHASE);
        return;
    }
    if (event->ts == NL_NULL_I64 || event->time_is_odd) {
        ort_odd(load, ORT_ODD_NO_TIME);
        return;
    }
    if (event->dur != NL_NULL_I64 && event->dur < 0) {
        ort_odd(load, ORT_ODD_NEGATIVE);
        event->dur = 0;
    }
    load->events++;
    for (size_t i = 0; i < sizeof cats / sizeof cats[0]; i++)
        if (strcmp(event->cat, cats[i].cat) == 0) {
            cats[i].take(load);
            return;
        }
    take_other(load);
}
