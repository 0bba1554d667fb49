/*
 * trtexec --exportTimes: one object per inference, times in ms from the start of the trace.
 *
 * The start columns and the length columns are printed with six digits each, so starts get coarse
 * in long traces (10 µs after 10 s) while lengths stay fine: slices have the start and the length
 * as printed, and neighbours may overlap by that much. Host times (enqueue) and GPU times come from
 * two clocks that agree at the start only; they are not linked.
 */
#include "ingest/tensorrt/trt.h"

#define UNIT_ROWS 65536

enum time {
    ENQUEUE,
    ENQUEUE_END,
    H2D,
    H2D_END,
    COMPUTE,
    COMPUTE_END,
    D2H,
    D2H_END,
    H2D_DUR,
    COMPUTE_DUR,
    D2H_DUR,
    LATENCY,
    TIMES
};

static const struct {
    const char *key;
    enum time time;
} keys[] = {
    {"startEnqMs", ENQUEUE},    {"endEnqMs", ENQUEUE_END},   {"startH2dMs", H2D},
    {"endH2dMs", H2D_END},      {"startComputeMs", COMPUTE}, {"endComputeMs", COMPUTE_END},
    {"startD2hMs", D2H},        {"endD2hMs", D2H_END},       {"h2dMs", H2D_DUR},
    {"computeMs", COMPUTE_DUR}, {"d2hMs", D2H_DUR},          {"latencyMs", LATENCY},
    {"startInMs", H2D},         {"endInMs", H2D_END}, /* TensorRT 6 */
    {"startOutMs", D2H},        {"endOutMs", D2H_END},       {"inMs", H2D_DUR},
    {"outMs", D2H_DUR},
};

struct lanes {
    uint32_t compute, h2d, d2h, host;
    uint32_t inference, enqueue, copy_in, copy_out; /* names */
};

static uint32_t stream_lane(struct trt_load *load, uint32_t process, const char *name)
{
    struct nl_lane_key key = {.kind = NL_LANE_STREAM,
                              .process = process,
                              .thread = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    key.device = nl_builder_device(load->builder, load->source, 0, NL_NULL_I64);
    key.domain = nl_builder_name(load->builder, nl_str(name));
    uint32_t lane = nl_builder_lane(load->builder, &key);
    nl_builder_lane_name(load->builder, lane, nl_str(name));
    return lane;
}

static struct lanes make_lanes(struct trt_load *load)
{
    struct lanes lanes;
    uint32_t process = nl_builder_process(load->builder, load->source, NL_NULL_I64);
    struct nl_lane_key host = {.kind = NL_LANE_THREAD,
                               .process = process,
                               .device = NL_NULL_ROW,
                               .context = NL_NULL_I64,
                               .stream = NL_NULL_I64};
    host.thread = nl_builder_thread(load->builder, process, NL_NULL_I64);
    lanes.host = nl_builder_lane(load->builder, &host);
    lanes.compute = stream_lane(load, process, "compute");
    lanes.h2d = stream_lane(load, process, "input copies");
    lanes.d2h = stream_lane(load, process, "output copies");
    lanes.inference = nl_builder_name(load->builder, nl_str("TensorRT inference"));
    lanes.enqueue = nl_builder_name(load->builder, nl_str("enqueue"));
    lanes.copy_in = nl_builder_name(load->builder, nl_str("copy inputs"));
    lanes.copy_out = nl_builder_name(load->builder, nl_str("copy outputs"));
    return lanes;
}

/* The members of one inference; what has no place goes to load->text. */
static void read_row(struct trt_load *load, int64_t *times)
{
    struct jsonpull *json = load->json;
    for (size_t i = 0; i < TIMES; i++)
        times[i] = NL_NULL_I64;
    nl_buf_clear(&load->text);
    while (jsonpull_member(json)) {
        size_t k = 0;
        while (k < sizeof keys / sizeof keys[0] && !nl_str_is(json->text, keys[k].key))
            k++;
        if (k == sizeof keys / sizeof keys[0]) {
            trt_keep_member(load, &load->text);
            continue;
        }
        jsonpull_next(json);
        jsonpull_ns(json, 6, &times[keys[k].time]);
        jsonpull_skip(json);
    }
}

/* Length: as printed, else from the end; unknown otherwise. */
static int64_t length(const int64_t *times, enum time start, enum time dur)
{
    int64_t end = times[start + 1];
    if (dur != TIMES && times[dur] != NL_NULL_I64)
        return times[dur];
    return end == NL_NULL_I64 || times[start] == NL_NULL_I64 ? NL_NULL_I64 : end - times[start];
}

static void stage_copy(struct trt_load *load, const int64_t *times, enum time start, enum time dur,
                       uint32_t lane, uint32_t name)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = times[start];
    slice.dur = length(times, start, dur);
    if (slice.ts == NL_NULL_I64 || slice.dur == NL_NULL_I64)
        return;
    if (slice.dur == 0) { /* --noDataTransfers */
        load->empty++;
        return;
    }
    slice.kind = NL_KIND_MEMCPY;
    slice.lane = lane;
    slice.name = name;
    struct nl_copy_row copy = nl_copy_row();
    copy.slice = nl_stage_slice(load->stage, &slice);
    copy.kind = (uint8_t)(start == H2D ? NL_COPY_HTOD : NL_COPY_DTOH);
    nl_stage_copy(load->stage, &copy);
}

static void stage_enqueue(struct trt_load *load, const int64_t *times, const struct lanes *lanes)
{
    struct nl_slice_row slice = nl_slice_row();
    if (times[ENQUEUE] == NL_NULL_I64)
        return;
    slice.ts = times[ENQUEUE];
    slice.dur = length(times, ENQUEUE, TIMES);
    slice.kind = NL_KIND_API;
    slice.lane = lanes->host;
    slice.name = lanes->enqueue;
    struct nl_api_row api = nl_api_row();
    api.slice = nl_stage_slice(load->stage, &slice);
    nl_stage_api(load->stage, &api);
}

static void stage_compute(struct trt_load *load, const int64_t *times, const struct lanes *lanes)
{
    struct nl_slice_row slice = nl_slice_row();
    slice.ts = times[COMPUTE];
    slice.dur = length(times, COMPUTE, COMPUTE_DUR);
    slice.kind = NL_KIND_GRAPH;
    slice.lane = lanes->compute;
    slice.name = lanes->inference;
    struct nl_graph_row graph = nl_graph_row();
    graph.slice = nl_stage_slice(load->stage, &slice);
    nl_stage_graph(load->stage, &graph);
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = graph.slice;
    arg.text = trt_members_name(load, &load->text);
    if (arg.text)
        nl_stage_arg(load->stage, &arg);
    struct nl_step_row step = nl_step_row();
    step.index = (int64_t)load->rows;
    step.ts = times[H2D] == NL_NULL_I64 ? times[COMPUTE] : times[H2D];
    step.dur = times[LATENCY] == NL_NULL_I64 ? slice.dur : times[LATENCY];
    step.name = lanes->inference;
    step.lane = lanes->compute;
    nl_stage_step(load->stage, &step);
}

static void take_row(struct trt_load *load, const struct lanes *lanes)
{
    int64_t times[TIMES];
    read_row(load, times);
    if (load->json->problem)
        return;
    if (times[COMPUTE] == NL_NULL_I64) {
        nl_builder_coverage(load->builder, load->source, "skipped: inferences without a time", 1,
                            "startComputeMs is missing or no number");
        return;
    }
    stage_enqueue(load, times, lanes);
    stage_copy(load, times, H2D, H2D_DUR, lanes->h2d, lanes->copy_in);
    stage_compute(load, times, lanes);
    stage_copy(load, times, D2H, D2H_DUR, lanes->d2h, lanes->copy_out);
    load->rows++;
}

void trt_read_times(struct trt_load *load)
{
    struct lanes lanes = make_lanes(load);
    jsonpull_next(load->json);
    while (trt_item(load, "{ \"start")) {
        if (load->rows % 1024 == 0 && trt_stop(load))
            return;
        if (load->rows && load->rows % UNIT_ROWS == 0)
            nl_stage_begin(load->stage, load->source, load->rows / UNIT_ROWS);
        if (load->json->type == JSONPULL_OBJECT)
            take_row(load, &lanes);
        else
            jsonpull_skip(load->json);
    }
    if (load->empty)
        nl_builder_coverage(load->builder, load->source, "not loaded: copies without length",
                            (int64_t)load->empty, "nothing was copied");
    nl_builder_clock(load->builder, load->source, "from the start of the trace", NL_NULL_I64);
    nl_builder_coverage(load->builder, load->source, "clocks of host and GPU", 2,
                        "they agree at the start of the trace only: enqueue and compute are not "
                        "linked");
}
