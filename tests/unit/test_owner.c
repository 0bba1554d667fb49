/*
 * Attribution on a hand-made profile:
 *
 *   thread 10   aten::linear [0,100) id 1 seq 5 > aten::addmm [10,90) id 2 seq 5; calls 1 [20,30),
 *               2 [50,60) (a graph: two kernels), 4 [100,110) (at the operator's end: outside)
 *               python f [0,200) > g [40,60); module Net [0,100), on one lane, module Lin [10,95)
 *   ranges      domain a: outer [0,50) and later [60,70); domain b: crossing [15,80)
 *   thread 11   Backward [300,400) fwd 1 seq 5 > aten::mm [310,390); call 3 [320,330)
 *   stream      k1 [100,110) call 1; g1 [200,210), g2 [210,220) call 2; b1 [400,440) call 3;
 *               o1 [500,505) call 4; lost [600,700) call 99; named [800,803) no call, id 2
 */
#include "tables/lookup.h"
#include "answer/report.h"
#include "check.h"
#include "devicetrace.h"
#include "derive/derive.h"
#include "timeline/attribution.h"
#include "timeline/owner.h"
#include "timeline/forward.h"
#include "store/builder.h"

struct scene {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t forward, backward, python, domain_a, domain_b, stream;
};

static uint32_t add(struct scene *scene, enum nl_kind kind, uint32_t lane, const char *name,
                    int64_t ts, int64_t end)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.name = nl_stage_name(scene->stage, nl_str(name));
    row.ts = ts;
    row.dur = end - ts;
    return nl_stage_slice(scene->stage, &row);
}

static void add_op(struct scene *scene, uint32_t lane, const char *name, int64_t ts, int64_t end,
                   int64_t id, int64_t sequence, int64_t forward_thread)
{
    struct nl_op_row row = nl_op_row();
    row.slice = add(scene, NL_KIND_OP, lane, name, ts, end);
    row.external_id = id;
    row.sequence = sequence;
    row.forward_thread = forward_thread;
    nl_stage_op(scene->stage, &row);
}

static void add_call(struct scene *scene, uint32_t lane, int64_t ts, int64_t end, uint64_t id)
{
    struct nl_api_row row = nl_api_row();
    row.slice = add(scene, NL_KIND_API, lane, "cudaLaunchKernel", ts, end);
    row.correlation = id;
    nl_stage_api(scene->stage, &row);
}

static void add_kernel(struct scene *scene, const char *name, int64_t ts, int64_t end,
                       uint64_t correlation, int64_t id)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = add(scene, NL_KIND_KERNEL, scene->stream, name, ts, end);
    row.correlation = correlation;
    row.external_id = id;
    nl_stage_kernel(scene->stage, &row);
}

static void add_frame(struct scene *scene, const char *name, int64_t ts, int64_t end)
{
    struct nl_python_row row = nl_python_row();
    row.slice = add(scene, NL_KIND_PYTHON, scene->python, name, ts, end);
    nl_stage_python(scene->stage, &row);
}

static void add_module(struct scene *scene, const char *name, int64_t ts, int64_t end)
{
    struct nl_layer_row row = nl_layer_row();
    row.slice = add(scene, NL_KIND_LAYER, scene->python, name, ts, end);
    nl_stage_layer(scene->stage, &row);
}

static void add_range(struct scene *scene, uint32_t lane, const char *name, int64_t ts, int64_t end)
{
    struct nl_nvtx_row row = nl_nvtx_row();
    row.slice = add(scene, NL_KIND_NVTX, lane, name, ts, end);
    row.style = NL_RANGE_PUSH_POP;
    nl_stage_nvtx(scene->stage, &row);
}

static void open_scene(struct scene *scene)
{
    scene->builder = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(scene->builder, "trace.json", "kineto");
    uint32_t process = nl_builder_process(scene->builder, source, 1);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = nl_builder_thread(scene->builder, process, 10),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    scene->forward = nl_builder_lane(scene->builder, &key);
    key.kind = NL_LANE_PYTHON;
    scene->python = nl_builder_lane(scene->builder, &key);
    key.kind = NL_LANE_NVTX;
    key.domain = nl_builder_name(scene->builder, nl_str("a"));
    scene->domain_a = nl_builder_lane(scene->builder, &key);
    key.domain = nl_builder_name(scene->builder, nl_str("b"));
    scene->domain_b = nl_builder_lane(scene->builder, &key);
    key.kind = NL_LANE_THREAD;
    key.domain = NL_NO_NAME;
    key.thread = nl_builder_thread(scene->builder, process, 11);
    scene->backward = nl_builder_lane(scene->builder, &key);
    key.kind = NL_LANE_STREAM;
    key.thread = NL_NULL_ROW;
    key.device = nl_builder_device(scene->builder, source, 0, 0);
    key.stream = 7;
    scene->stream = nl_builder_lane(scene->builder, &key);
    scene->stage = nl_stage_new(scene->builder);
    nl_stage_begin(scene->stage, source, 0);
}

static void add_host(struct scene *scene)
{
    add_op(scene, scene->forward, "aten::linear", 0, 100, 1, 5, 0);
    add_op(scene, scene->forward, "aten::addmm", 10, 90, 2, 5, 0);
    add_op(scene, scene->backward, "Backward", 300, 400, 3, 5, 1);
    add_op(scene, scene->backward, "aten::mm", 310, 390, 4, NL_NULL_I64, 0);
    add_call(scene, scene->forward, 20, 30, 1);
    add_call(scene, scene->forward, 50, 60, 2);
    add_call(scene, scene->backward, 320, 330, 3);
    add_call(scene, scene->forward, 100, 110, 4);
    add_frame(scene, "f", 0, 200);
    add_frame(scene, "g", 40, 60);
    add_module(scene, "nn.Module: Net_0", 0, 100);
    add_module(scene, "nn.Module: Lin_0", 10, 95);
    add_range(scene, scene->domain_a, "outer", 0, 50);
    add_range(scene, scene->domain_a, "later", 60, 70);
    add_range(scene, scene->domain_b, "crossing", 15, 80);
}

static struct nl_trace *scene_trace(void)
{
    struct scene scene;
    struct nl_err err = {0};
    open_scene(&scene);
    add_host(&scene);
    add_kernel(&scene, "k1", 100, 110, 1, NL_NULL_I64);
    add_kernel(&scene, "g1", 200, 210, 2, NL_NULL_I64);
    add_kernel(&scene, "g2", 210, 220, 2, NL_NULL_I64);
    add_kernel(&scene, "b1", 400, 440, 3, NL_NULL_I64);
    add_kernel(&scene, "o1", 500, 505, 4, NL_NULL_I64);
    add_kernel(&scene, "lost", 600, 700, 99, NL_NULL_I64);
    add_kernel(&scene, "named", 800, 803, NL_NULL_U64, 2);
    struct nl_trace *trace = nl_builder_finish(scene.builder, &err);
    CHECK_TEXT(err.text, "");
    return trace;
}

static const char *text_of(const struct nl_trace *trace, uint32_t slice)
{
    static char text[64];
    if (slice == NL_NULL_ROW)
        return "-";
    struct nl_str name = nl_trace_name(trace, trace->slice.name[slice]);
    snprintf(text, sizeof text, "%.*s", (int)name.len, name.ptr);
    return text;
}

/* Checks owners of the work in order of rows, which is order of time here. */
static void check_owners(const struct nl_rangetree *tree, uint32_t *owner,
                         const struct nl_owners *owners, const char *const *want, size_t count)
{
    REQUIRE(owners->count == count);
    for (size_t i = 0; i < count; i++) {
        uint32_t range = owner[i];
        check_case(want[i]);
        CHECK_TEXT(text_of(tree->trace, range == NL_NULL_ROW ? range : tree->slices[range]),
                   want[i]);
    }
    check_case(NULL);
    nl_free(owner);
}

static void finds_owners(void)
{
    static const char *const ops[] = {"aten::addmm", "aten::addmm", "aten::addmm", "aten::mm",
                                      "-",           "-",           "aten::addmm"};
    static const char *const ranges[] = {"crossing", "crossing", "crossing", "-",
                                         "-",        "-",        "outer"};
    static const char *const frames[] = {"f", "g", "g", "-", "f", "-", "f"};
    static const char *const modules[] = {
        "nn.Module: Lin_0", "nn.Module: Lin_0", "nn.Module: Lin_0", "nn.Module: Lin_0", "-", "-",
        "nn.Module: Lin_0"};
    struct nl_trace *trace = scene_trace();
    struct nl_owners owners;
    struct nl_rangetree op, range, frame, module;
    nl_owners_init(&owners, trace);
    nl_rangetree_init(&op, trace, NL_KIND_OP);
    nl_rangetree_init(&range, trace, NL_KIND_NVTX);
    nl_rangetree_init(&frame, trace, NL_KIND_PYTHON);
    nl_rangetree_init(&module, trace, NL_KIND_LAYER);
    uint32_t *op_of = nl_owners_op(&owners, &op);
    check_owners(&module, nl_owners_layer(&owners, &module, &op, op_of), &owners, modules, 7);
    check_owners(&op, op_of, &owners, ops, 7);
    check_owners(&range, nl_owners_find(&owners, &range), &owners, ranges, 7);
    check_owners(&frame, nl_owners_find(&owners, &frame), &owners, frames, 7);
    nl_rangetree_release(&module);
    nl_rangetree_release(&frame);
    nl_rangetree_release(&range);
    nl_rangetree_release(&op);
    nl_owners_release(&owners);
    nl_trace_free(trace);
}

/* Operators in order of threads and starts: linear, addmm, Backward, mm. */
static void finds_forward(void)
{
    struct nl_trace *trace = scene_trace();
    struct nl_rangetree op;
    nl_rangetree_init(&op, trace, NL_KIND_OP);
    uint32_t *forward = nl_forward_ops(&op);
    REQUIRE(op.count == 4);
    CHECK_INT(forward[0], NL_NULL_ROW);
    CHECK_INT(forward[1], NL_NULL_ROW);
    CHECK_INT(forward[2], 1); /* the last to begin of the two with number 5 */
    CHECK_INT(forward[3], 1);
    nl_free(forward);
    nl_rangetree_release(&op);
    nl_trace_free(trace);
}

/* "crossing" begins in "outer" and ends after it: neither contains the other. */
static void knows_parents(void)
{
    struct nl_trace *trace = scene_trace();
    struct nl_rangetree range;
    nl_rangetree_init(&range, trace, NL_KIND_NVTX);
    REQUIRE(range.count == 3);
    CHECK_TEXT(text_of(trace, range.slices[0]), "outer");
    CHECK_TEXT(text_of(trace, range.slices[1]), "crossing");
    CHECK_TEXT(text_of(trace, range.slices[2]), "later");
    CHECK_INT(range.parents[0], NL_NULL_ROW);
    CHECK_INT(range.parents[1], NL_NULL_ROW);
    CHECK_INT(range.parents[2], 1);
    nl_rangetree_release(&range);
    nl_trace_free(trace);
}

/* Work without a call whose id only repeats its correlation id belongs to nobody. */
static void distrusts_repeated_ids(void)
{
    static const char *const ops[] = {"-", "aten::addmm"};
    struct scene scene;
    struct nl_err err = {0};
    open_scene(&scene);
    add_host(&scene);
    add_kernel(&scene, "repeats", 900, 910, 2000, 2000);
    add_kernel(&scene, "named", 920, 930, 3000, 2);
    add_op(&scene, scene.forward, "aten::resize_", 500, 510, 2000, NL_NULL_I64, 0);
    struct nl_trace *trace = nl_builder_finish(scene.builder, &err);
    REQUIRE(trace);
    struct nl_owners owners;
    struct nl_rangetree op;
    nl_owners_init(&owners, trace);
    nl_rangetree_init(&op, trace, NL_KIND_OP);
    check_owners(&op, nl_owners_op(&owners, &op), &owners, ops, 2);
    nl_rangetree_release(&op);
    nl_owners_release(&owners);
    nl_trace_free(trace);
}

static struct nl_result *ask(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {.fold = true};
    struct nl_err err = {0};
    struct nl_result *result = nl_analysis_run(nl_analysis_find(name), trace, &options, NULL, &err);
    CHECK(result != NULL);
    return result;
}

struct want {
    const char *name;
    int64_t self, total; /* of device time */
};

static void check_rows(const struct nl_trace *trace, const char *analysis, const char *name,
                       const char *self, const char *total, const struct want *want, size_t count)
{
    struct nl_result *result = ask(trace, analysis);
    CHECK_INT(result->rows, count);
    for (size_t i = 0; i < count && i < result->rows; i++) {
        check_case(want[i].name);
        CHECK_STR(nl_lookup_text(result, i, name), want[i].name);
        CHECK_INT(nl_lookup_i64(result, i, self), want[i].self);
        CHECK_INT(nl_lookup_i64(result, i, total), want[i].total);
    }
    check_case(NULL);
    CHECK_INT(nl_lookup_sum(result, self), 10 + 20 + 40 + 5 + 100 + 3);
    nl_result_free(result);
}

static void adds_device_time(void)
{
    static const struct want ops[] = {{"aten::mm", 40, 40},
                                      {"aten::addmm", 33, 33},
                                      {"Backward", 0, 40},
                                      {"aten::linear", 0, 33},
                                      {"[launched outside any]", 5, 5},
                                      {"[launch not recorded]", 100, 100}};
    static const struct want layers[] = {{"nn.Module: Lin_*", 73, 73},
                                         {"nn.Module: Net_*", 0, 73},
                                         {"[launched outside any]", 5, 5},
                                         {"[launch not recorded]", 100, 100}};
    static const struct want tree[] = {{"Backward", 0, 40},
                                       {"Backward > aten::mm", 40, 40},
                                       {"aten::linear", 0, 33},
                                       {"aten::linear > aten::addmm", 33, 33},
                                       {"[launched outside any]", 5, 5},
                                       {"[launch not recorded]", 100, 100}};
    struct nl_trace *trace = scene_trace();
    check_rows(trace, "op_gpu", "name", "gpu_ns", "gpu_total_ns", ops, CHECK_LENGTH(ops));
    check_rows(trace, "layer_gpu", "name", "gpu_ns", "gpu_total_ns", layers, CHECK_LENGTH(layers));
    check_rows(trace, "op_tree", "path", "gpu_self_ns", "gpu_ns", tree, CHECK_LENGTH(tree));
    nl_trace_free(trace);
}

/* A region with one inside it and its backward pass, one that launches nothing, a graph without a
 * region around it, work outside and work without a launch. */
static struct nl_trace *compiled_trace(void)
{
    struct scene scene;
    struct nl_err err = {0};
    open_scene(&scene);
    add_op(&scene, scene.forward, "Torch-Compiled Region: 0/0", 0, 100, 1, NL_NULL_I64, 0);
    add_op(&scene, scene.forward, "CompiledFunction", 10, 90, 2, 9, 0);
    add_op(&scene, scene.forward, "Torch-Compiled Region: 1/0", 40, 60, 3, NL_NULL_I64, 0);
    add_op(&scene, scene.forward, "Torch-Compiled Region: 0/1", 200, 300, 4, NL_NULL_I64, 0);
    add_op(&scene, scene.backward, "CompiledFunctionBackward", 400, 500, 5, 9, 1);
    add_range(&scene, scene.domain_a, "## Call CompiledFxGraph fabc ##", 600, 700);
    for (uint64_t call = 0; call < 5; call++) {
        static const int64_t starts[] = {20, 45, 420, 610, 800};
        add_call(&scene, call == 2 ? scene.backward : scene.forward, starts[call],
                 starts[call] + 10, call + 1);
    }
    add_kernel(&scene, "triton_poi_fused_add_0", 1000, 1010, 1, NL_NULL_I64);
    add_kernel(&scene, "gemm", 1010, 1030, 2, NL_NULL_I64);
    add_kernel(&scene, "triton_red_fused_1", 1030, 1070, 3, NL_NULL_I64);
    add_kernel(&scene, "gemm", 1070, 1150, 4, NL_NULL_I64);
    add_kernel(&scene, "gemm", 1150, 1310, 5, NL_NULL_I64);
    add_kernel(&scene, "gemm", 1310, 1630, 99, NL_NULL_I64);
    struct nl_trace *trace = nl_builder_finish(scene.builder, &err);
    CHECK_TEXT(err.text, "");
    return trace;
}

static void knows_compiled_regions(void)
{
    static const struct {
        const char *region;
        int64_t count, gpu, backward, generated;
    } want[] = {{"## Call CompiledFxGraph fabc ##", 1, 80, 0, 0},
                {"Torch-Compiled Region: 0/0", 1, 50, 40, 50},
                {"Torch-Compiled Region: 1/0", 1, 20, 0, 0},
                {"Torch-Compiled Region: 0/1", 1, 0, 0, 0},
                {"[outside compiled regions]", NL_NULL_I64, 160, 0, 0},
                {"[launch not recorded]", NL_NULL_I64, 320, 0, 0}};
    struct nl_trace *trace = compiled_trace(), *other = scene_trace();
    struct nl_result *result = ask(trace, "compiled_regions"),
                     *none = ask(other, "compiled_regions");
    CHECK_INT(none->rows, 0);
    CHECK_INT(result->rows, CHECK_LENGTH(want));
    for (size_t i = 0; i < CHECK_LENGTH(want) && i < result->rows; i++) {
        check_case(want[i].region);
        CHECK_STR(nl_lookup_text(result, i, "region"), want[i].region);
        CHECK_INT(nl_lookup_i64(result, i, "count"), want[i].count);
        CHECK_INT(nl_lookup_i64(result, i, "gpu_ns"), want[i].gpu);
        CHECK_INT(nl_lookup_i64(result, i, "backward_ns"), want[i].backward);
        CHECK_INT(nl_lookup_i64(result, i, "generated_ns"), want[i].generated);
    }
    check_case(NULL);
    nl_result_free(none);
    nl_result_free(result);
    nl_trace_free(other);
    nl_trace_free(trace);
}

/* Call 1 [20,30) lies in outer and crossing, call 2 [50,60) in crossing alone. */
static void projects_ranges(void)
{
    struct nl_trace *trace = scene_trace();
    struct nl_result *result = ask(trace, "nvtx_gpu");
    REQUIRE(result->rows == 2);
    CHECK_STR(nl_lookup_text(result, 0, "name"), "crossing");
    CHECK_INT(nl_lookup_i64(result, 0, "projected_ns"), 120);
    CHECK_INT(nl_lookup_i64(result, 0, "range_ns"), 65);
    CHECK_INT(nl_lookup_i64(result, 0, "gpu_ops"), 3);
    CHECK_STR(nl_lookup_text(result, 1, "name"), "outer");
    CHECK_INT(nl_lookup_i64(result, 1, "projected_ns"), 10);
    CHECK_INT(nl_lookup_i64(result, 1, "gpu_ops"), 1);
    nl_result_free(result);
    nl_trace_free(trace);
}

/* ---- Against looking at everything. ---- */

static bool is_range(const struct nl_trace *trace, uint32_t row, unsigned kind, uint32_t thread)
{
    return trace->slice.kind[row] == kind && trace->slice.dur[row] != NL_NULL_I64 &&
           !(trace->slice.flags[row] & NL_SLICE_INSTANT) &&
           trace->lane.thread[trace->slice.lane[row]] == thread;
}

/* The last to begin, of those the shortest, that covers [start, end] and is not `but`; as (ts,
 * dur), since several may be equal. */
static bool cover_of(const struct nl_trace *trace, unsigned kind, uint32_t thread, uint32_t but,
                     int64_t start, int64_t end, int64_t best[2])
{
    bool found = false;
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        int64_t ts = trace->slice.ts[row], dur = trace->slice.dur[row];
        if (row == but || !is_range(trace, row, kind, thread) || ts > start || ts + dur <= start ||
            ts + dur < end)
            continue;
        if (found && (ts < best[0] || (ts == best[0] && dur > best[1])))
            continue;
        best[0] = ts;
        best[1] = dur;
        found = true;
    }
    return found;
}

static void check_found(const struct nl_rangetree *tree, uint32_t range, bool found,
                        const int64_t best[2])
{
    CHECK_INT(range != NL_NULL_ROW, found);
    if (range == NL_NULL_ROW || !found)
        return;
    CHECK_INT(tree->trace->slice.ts[tree->slices[range]], best[0]);
    CHECK_INT(tree->trace->slice.dur[tree->slices[range]], best[1]);
}

/* Of ranges with equal starts either may be the outer one when they are equally long. */
static void check_parent(const struct nl_rangetree *tree, uint32_t range, unsigned kind)
{
    const struct nl_trace *trace = tree->trace;
    uint32_t row = tree->slices[range], thread = trace->lane.thread[trace->slice.lane[row]];
    int64_t ts = trace->slice.ts[row], end = nl_slice_end(trace, row), best[2] = {0, 0};
    bool first = tree->thread_first[thread] == range;
    CHECK(first || trace->slice.ts[tree->slices[range - 1]] <= ts);
    bool found = cover_of(trace, kind, thread, row, ts, end, best);
    if (!found || best[0] != ts || best[1] != end - ts)
        check_found(tree, tree->parents[range], found, best);
}

static void check_trace(const struct nl_trace *trace, unsigned kind)
{
    struct nl_rangetree tree;
    struct nl_owners owners;
    int64_t best[2] = {0, 0};
    nl_rangetree_init(&tree, trace, kind);
    nl_owners_init(&owners, trace);
    uint32_t *owner = nl_owners_find(&owners, &tree), expected = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        uint32_t thread = trace->lane.thread[trace->slice.lane[row]];
        expected += thread != NL_NULL_ROW && is_range(trace, row, kind, thread);
    }
    CHECK_INT(tree.count, expected);
    for (uint32_t i = 0; i < owners.count; i++) {
        uint32_t launch = owners.launch[i];
        if (launch == NL_NULL_ROW)
            continue;
        int64_t ts = trace->slice.ts[launch];
        uint32_t thread = trace->lane.thread[trace->slice.lane[launch]];
        check_found(&tree, owner[i], cover_of(trace, kind, thread, NL_NULL_ROW, ts, ts, best),
                    best);
    }
    for (uint32_t range = 0; range < tree.count; range++)
        check_parent(&tree, range, kind);
    nl_free(owner);
    nl_owners_release(&owners);
    nl_rangetree_release(&tree);
}

/* Sparse, dense, and so dense that slices do not fit on sub-lanes. */
static void agrees_with_all_pairs(void)
{
    static const struct {
        const char *name;
        unsigned events;
        int64_t span;
    } kinds[] = {{"sparse", 120, 200000}, {"dense", 150, 20000}, {"crowded", 200, 600}};
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++)
        for (uint64_t seed = 1; seed <= 5; seed++) {
            struct nl_err err = {0};
            check_case(kinds[i].name);
            struct nl_trace *trace = devicetrace(seed, kinds[i].events, kinds[i].span, &err);
            REQUIRE(trace != NULL);
            check_trace(trace, NL_KIND_NVTX);
            check_trace(trace, NL_KIND_OP);
            check_trace(trace, NL_KIND_API);
            nl_trace_free(trace);
        }
}

CHECK_MAIN("owner", {"agrees with all pairs", agrees_with_all_pairs},
           {"finds owners", finds_owners}, {"finds forward operators", finds_forward},
           {"distrusts repeated ids", distrusts_repeated_ids}, {"knows parents", knows_parents},
           {"adds device time", adds_device_time}, {"projects ranges", projects_ranges},
           {"knows compiled regions", knows_compiled_regions})
