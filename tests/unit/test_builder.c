/* builder: sorting, nesting, sub-lanes, links, flows, and independence of order and threads. */
#include "check.h"

#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/tracefile.h"

#include "fabricate.h"

struct one_lane {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t source, lane;
};

static struct one_lane open_lane(void)
{
    struct one_lane l = {.builder = nl_builder_new(NULL)};
    l.source = nl_builder_source(l.builder, "test", "test");
    l.lane = fabricate_lane(l.builder, l.source, 0);
    l.stage = nl_stage_new(l.builder);
    nl_stage_begin(l.stage, l.source, 0);
    return l;
}

static uint32_t add(struct one_lane *l, const char *name, int64_t ts, int64_t dur)
{
    struct nl_slice_row row = nl_slice_row();
    row.name = nl_stage_name(l->stage, nl_str(name));
    row.lane = l->lane;
    row.kind = NL_KIND_OP;
    row.ts = ts;
    row.dur = dur;
    return nl_stage_slice(l->stage, &row);
}

static struct nl_trace *finish(struct nl_builder *builder)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = nl_builder_finish(builder, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

/* Row of the only slice with this name. */
static uint32_t row_of(const struct nl_trace *trace, const char *name)
{
    for (uint32_t i = 0; i < trace->slice.rows; i++)
        if (nl_str_is(nl_trace_name(trace, trace->slice.name[i]), name))
            return i;
    return NL_NULL_ROW;
}

static void empty_trace(void)
{
    struct nl_trace *trace = finish(nl_builder_new(NULL));
    REQUIRE(trace != NULL);
    CHECK_INT(trace->slice.rows, 0);
    CHECK_INT(trace->first_ts, 0);
    CHECK_INT(trace->last_ts, 0);
    nl_trace_free(trace);
}

static void nests_by_time(void)
{
    struct one_lane l = open_lane();
    add(&l, "inner", 120, 10); /* out of order on purpose */
    add(&l, "same start", 100, 50);
    add(&l, "outer", 100, 100);
    add(&l, "next", 200, 5); /* touches outer's end: not inside */
    add(&l, "leaf", 121, 0);
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    static const struct {
        const char *name, *parent;
        int depth;
    } want[] = {{"outer", NULL, 0},
                {"same start", "outer", 1},
                {"inner", "same start", 2},
                {"leaf", "inner", 3},
                {"next", NULL, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(want); i++) {
        uint32_t row = row_of(t, want[i].name);
        check_case(want[i].name);
        REQUIRE(row != NL_NULL_ROW);
        CHECK_INT(t->slice.depth[row], want[i].depth);
        uint32_t parent = want[i].parent ? row_of(t, want[i].parent) : NL_NULL_ROW;
        CHECK_INT(t->slice.parent[row], parent);
    }
    CHECK_INT(t->lane.rows, 1);
    CHECK_INT(t->lane.depth[0], 4);
    CHECK_INT(t->first_ts, 100);
    CHECK_INT(t->last_ts, 205);
    struct nl_lane_cursor cursor = {0};
    CHECK_INT(nl_lane_slice_at(t, &cursor, 0, 125), row_of(t, "inner"));
    CHECK_INT(nl_lane_slice_at(t, &cursor, 0, 205), NL_NULL_ROW);
    CHECK_INT(nl_lane_slice_at(t, &cursor, 0, 125), row_of(t, "inner")); /* backwards */
    nl_trace_free(t);
}

static void overlaps_go_to_sub_lanes(void)
{
    struct one_lane l = open_lane();
    add(&l, "a", 0, 100);
    add(&l, "b", 50, 100); /* crosses a */
    add(&l, "c", 75, 100); /* crosses both */
    add(&l, "in b", 110, 10);
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    CHECK_INT(t->slice.rows, 4);
    CHECK_INT(t->lane.rows, 3);
    for (uint32_t i = 0; i < t->lane.rows; i++)
        CHECK_INT(t->lane.sub[i], i);
    CHECK_INT(t->lane.sub[t->slice.lane[row_of(t, "a")]], 0);
    CHECK_INT(t->lane.sub[t->slice.lane[row_of(t, "b")]], 1);
    CHECK_INT(t->lane.sub[t->slice.lane[row_of(t, "c")]], 2);
    int64_t sum = 0;
    for (uint32_t i = 0; i < t->slice.rows; i++)
        sum += t->slice.dur[i];
    CHECK_INT(sum, 310);
    nl_trace_free(t);
}

static void too_many_overlaps_stay_bounded(void)
{
    enum { MANY = 500 };
    struct one_lane l = open_lane();
    for (int i = 0; i < MANY; i++)
        add(&l, "crossing", i, MANY);
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    CHECK_INT(t->slice.rows, MANY);
    uint32_t flagged = 0;
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        flagged += (t->slice.flags[i] & NL_SLICE_OVERFLOW) != 0;
        CHECK_INT(t->slice.dur[i], MANY);
    }
    CHECK_INT(flagged, MANY - 64);
    CHECK_INT(t->lane.rows, 64);
    nl_trace_free(t);
}

static void odd_times_are_settled(void)
{
    struct one_lane l = open_lane();
    add(&l, "open", 10, NL_NULL_I64);
    add(&l, "negative", 20, -5);
    add(&l, "huge", INT64_MAX - 1, 10);
    add(&l, "early", INT64_MIN + 1, 10);
    add(&l, "plain", 30, 70);
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    CHECK_INT(t->slice.rows, 5);
    CHECK(t->slice.flags[row_of(t, "open")] & NL_SLICE_CLAMPED);
    CHECK_INT(t->slice.dur[row_of(t, "negative")], 0);
    CHECK_INT(t->slice.dur[row_of(t, "plain")], 70);
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        CHECK(t->slice.dur[i] >= 0);
        CHECK(t->slice.ts[i] <= (int64_t)1 << 62 && t->slice.ts[i] >= -((int64_t)1 << 62));
    }
    CHECK(t->coverage.rows >= 3);
    nl_trace_free(t);
}

/* API calls on a thread, device work on a stream; per file or per process. */
static void links_launches(void)
{
    struct one_lane l = open_lane();
    uint32_t stream = fabricate_lane(l.builder, l.source, FABRICATE_LANES - 1);
    struct nl_slice_row row = nl_slice_row();
    row.lane = l.lane;
    row.kind = NL_KIND_API;
    row.ts = 10;
    row.dur = 5;
    row.name = nl_stage_name(l.stage, nl_str("cudaGraphLaunch"));
    struct nl_api_row api = nl_api_row();
    api.slice = nl_stage_slice(l.stage, &row);
    api.correlation = 42;
    nl_stage_api(l.stage, &api);
    for (int i = 2; i >= 0; i--) { /* two belong to the call, the last to nothing */
        row.lane = stream;
        row.kind = NL_KIND_KERNEL;
        row.ts = 100 + 10 * i;
        row.dur = 10;
        row.name = nl_stage_name(l.stage, nl_str(i == 0 ? "first" : i == 1 ? "second" : "lost"));
        struct nl_kernel_row kernel = nl_kernel_row();
        kernel.slice = nl_stage_slice(l.stage, &row);
        kernel.correlation = i == 2 ? 43 : 42;
        nl_stage_kernel(l.stage, &kernel);
    }
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    uint32_t launch = row_of(t, "cudaGraphLaunch");
    CHECK_INT(t->slice.link[row_of(t, "first")], launch);
    CHECK_INT(t->slice.link[row_of(t, "second")], launch);
    CHECK_INT(t->slice.link[row_of(t, "lost")], NL_NULL_ROW);
    CHECK_INT(t->slice.link[launch], row_of(t, "first"));
    CHECK_INT(t->slice.detail[launch], 0);
    nl_trace_free(t);
}

static void resolves_flows(void)
{
    struct one_lane l = open_lane();
    uint32_t other = fabricate_lane(l.builder, l.source, 1);
    add(&l, "forward", 0, 100);
    add(&l, "inside", 40, 20);
    struct nl_slice_row row = nl_slice_row();
    row.lane = other;
    row.kind = NL_KIND_OP;
    row.ts = 200;
    row.dur = 50;
    row.name = nl_stage_name(l.stage, nl_str("backward"));
    nl_stage_slice(l.stage, &row);
    struct nl_flow_row flow = nl_flow_row();
    flow.kind = NL_FLOW_FORWARD_BACKWARD;
    flow.src_lane = l.lane;
    flow.src_ts = 45;
    flow.dst_lane = other;
    flow.dst_ts = 200;
    nl_stage_flow(l.stage, &flow);
    flow.dst_ts = 1000; /* into nowhere */
    nl_stage_flow(l.stage, &flow);
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL);
    CHECK_INT(t->flow.rows, 2);
    CHECK_INT(t->flow.src[0], row_of(t, "inside"));
    CHECK_INT(t->flow.dst[0], row_of(t, "backward"));
    CHECK_INT(t->flow.dst[1], NL_NULL_ROW);
    nl_trace_free(t);
}

/* What nesting promises, for any input. */
static void check_nesting(const struct nl_trace *t)
{
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        uint32_t parent = t->slice.parent[i], lane = t->slice.lane[i];
        if (i) {
            bool ordered =
                lane > t->slice.lane[i - 1] ||
                (lane == t->slice.lane[i - 1] && (t->slice.depth[i] > t->slice.depth[i - 1] ||
                                                  (t->slice.depth[i] == t->slice.depth[i - 1] &&
                                                   t->slice.ts[i] >= nl_slice_end(t, i - 1))));
            CHECK(ordered);
        }
        CHECK(i >= t->lane.first[lane] && i - t->lane.first[lane] < t->lane.count[lane]);
        if (parent == NL_NULL_ROW) {
            CHECK_INT(t->slice.depth[i], 0);
            continue;
        }
        CHECK_INT(t->slice.lane[parent], lane);
        CHECK_INT(t->slice.depth[parent] + 1, t->slice.depth[i]);
        CHECK(t->slice.ts[parent] <= t->slice.ts[i]);
        CHECK(nl_slice_end(t, parent) >= nl_slice_end(t, i));
    }
}

static void random_slices_nest(void)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *t = fabricate(20, 1000, 2, NULL, &err);
    REQUIRE(t != NULL);
    CHECK_INT(t->slice.rows, 20000);
    CHECK_INT(t->kernel.rows + t->api.rows, 20000);
    check_nesting(t);
    nl_trace_free(t);
}

/* A lane of 6,000 slices that come as so many ascending runs; equal starts among them. */
static void runs_of_a_lane_are_merged(void)
{
    static const unsigned runs[] = {1, 2, 3, 15, 16, 17, 100};
    struct nl_trace *t[CHECK_LENGTH(runs)];
    for (size_t k = 0; k < CHECK_LENGTH(runs); k++) {
        struct one_lane l = open_lane();
        for (unsigned run = 0; run < runs[k]; run++)
            for (unsigned i = run; i < 6000; i += runs[k])
                add(&l, "slice", i / 3 * 10, i % 3 == 0 ? 9 : i % 3 == 1 ? 6 : 2);
        t[k] = finish(l.builder);
        REQUIRE(t[k] && t[k]->slice.rows == 6000);
        check_nesting(t[k]);
        CHECK(memcmp(t[k]->slice.ts, t[0]->slice.ts, 6000 * sizeof *t[0]->slice.ts) == 0);
        CHECK(memcmp(t[k]->slice.dur, t[0]->slice.dur, 6000 * sizeof *t[0]->slice.dur) == 0);
    }
    for (size_t k = 0; k < CHECK_LENGTH(runs); k++)
        nl_trace_free(t[k]);
}

static bool same_files(const char *a, const char *b)
{
    struct nl_map x, y;
    if (!nl_map_open(&x, a, NULL) || !nl_map_open(&y, b, NULL))
        return false;
    bool same = x.size == y.size && memcmp(x.bytes, y.bytes, x.size) == 0;
    nl_map_close(&x);
    nl_map_close(&y);
    return same;
}

static void order_and_threads_do_not_matter(void)
{
    enum { UNITS = 48 };
    char folder[] = "/tmp/neurolens-builder-XXXXXX", first[64], other[64];
    struct nl_err err;
    REQUIRE(mkdtemp(folder) != NULL);
    snprintf(first, sizeof first, "%s/first.nlt", folder);
    snprintf(other, sizeof other, "%s/other.nlt", folder);
    for (unsigned round = 0; round < 8; round++) {
        uint32_t order[UNITS];
        uint64_t state = round * 77 + 1;
        for (uint32_t i = 0; i < UNITS; i++)
            order[i] = i;
        for (uint32_t i = UNITS - 1; round && i > 0; i--) {
            uint32_t k = (uint32_t)(fabricate_random(&state) % (i + 1)), keep = order[i];
            order[i] = order[k];
            order[k] = keep;
        }
        nl_err_clear(&err);
        struct nl_trace *t = fabricate(UNITS, 200, 1 + round % 5, order, &err);
        REQUIRE(t != NULL);
        CHECK(nl_trace_save(t, round ? other : first, &err));
        if (round)
            CHECK(same_files(first, other));
        nl_trace_free(t);
    }
    unlink(first);
    unlink(other);
    rmdir(folder);
}

/* A table of several batches: rows in order, and names numbered column after column. */
static void large_tables_are_whole(void)
{
    enum { ROWS = 700000 };
    static struct nl_job job = {.threads = 3}; /* outlives the builder */
    struct nl_builder *b = nl_builder_new(&job);
    uint32_t source = nl_builder_source(b, "test", "test");
    for (unsigned unit = 0; unit < 2; unit++) {
        struct nl_stage *stage = nl_stage_new(b);
        nl_stage_begin(stage, source, 1 - unit);
        for (uint32_t i = 0; i < ROWS / 2; i++) {
            char text[32];
            uint32_t row = i + (1 - unit) * (ROWS / 2);
            struct nl_metric_row metric = nl_metric_row();
            snprintf(text, sizeof text, "name %u", row / 1000);
            metric.name = nl_stage_name(stage, nl_str(text));
            snprintf(text, sizeof text, "unit %u", row / 100000);
            metric.unit = nl_stage_name(stage, nl_str(text));
            metric.value = row;
            nl_stage_metric(stage, &metric);
        }
    }
    struct nl_trace *t = finish(b);
    REQUIRE(t != NULL);
    REQUIRE(t->metric.rows == ROWS);
    unsigned wrong = 0;
    uint32_t first_name = t->metric.name[0], first_unit = t->metric.unit[0];
    for (uint32_t i = 0; i < ROWS; i++)
        wrong += t->metric.value[i] != i || t->metric.name[i] != first_name + i / 1000 ||
                 t->metric.unit[i] != first_unit + i / 100000 || t->metric.slice[i] != NL_NULL_ROW;
    CHECK_INT(wrong, 0);
    CHECK(nl_str_is(nl_trace_name(t, t->metric.name[ROWS - 1]), "name 699"));
    CHECK(nl_str_is(nl_trace_name(t, t->metric.unit[ROWS - 1]), "unit 6"));
    CHECK_INT(first_unit, first_name + 700);
    nl_trace_free(t);
}

/* Metrics that are a number alone, then some with names, then numbers again, in one unit and across
 * batches; and a column of names of which none is known. */
static void names_of_metrics_are_kept(void)
{
    enum { ROWS = 300000, FROM = 140000, TO = 150000 };
    struct one_lane l = open_lane();
    uint32_t slice = add(&l, "kernel", 0, 10), name = nl_stage_name(l.stage, nl_str("cycles"));
    uint32_t unit = nl_stage_name(l.stage, nl_str("ns"));
    for (uint32_t i = 0; i < ROWS; i++) {
        struct nl_metric_row metric = nl_metric_row();
        metric.slice = slice;
        metric.name = name;
        metric.value = i;
        if (i >= FROM && i < TO && i % 3 == 0)
            metric.unit = unit;
        if (i == FROM + 1)
            metric.text = nl_stage_name(l.stage, nl_str("a text"));
        nl_stage_metric(l.stage, &metric);
    }
    struct nl_trace *t = finish(l.builder);
    REQUIRE(t != NULL && t->metric.rows == ROWS);
    unsigned wrong = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        bool has_unit = i >= FROM && i < TO && i % 3 == 0;
        const char *text = i == FROM + 1 ? "a text" : "";
        wrong += t->metric.value[i] != i || t->metric.slice[i] != 0 ||
                 !nl_str_is(nl_trace_name(t, t->metric.name[i]), "cycles") ||
                 !nl_str_is(nl_trace_name(t, t->metric.unit[i]), has_unit ? "ns" : "") ||
                 !nl_str_is(nl_trace_name(t, t->metric.text[i]), text) ||
                 t->metric.section[i] != NL_NO_NAME;
    }
    CHECK_INT(wrong, 0);
    nl_trace_free(t);
}

/* Kernels with and without what only some sources tell, in one unit; and every kernel finds its
 * launch, whether ids are consecutive, far apart, or all alike in their low bits. */
static void kernels_are_kept_and_linked(void)
{
    enum { ROWS = 30000 };
    static const uint64_t strides[] = {1, 3, 64, 65, 4096, 1000003, (uint64_t)1 << 40};
    for (size_t s = 0; s < CHECK_LENGTH(strides); s++) {
        struct one_lane l = open_lane();
        for (uint32_t i = 0; i < ROWS; i++) {
            struct nl_api_row call = nl_api_row();
            call.slice = add(&l, "launch", 100 * (int64_t)i, 10);
            call.correlation = 7 + i * strides[s];
            nl_stage_api(l.stage, &call);
            struct nl_kernel_row kernel = nl_kernel_row();
            kernel.slice = add(&l, "kernel", 100 * (int64_t)i + 50, 10);
            kernel.correlation = call.correlation;
            kernel.grid_x = i;
            if (i % 7000 > 6990)
                kernel.external_id = i;
            nl_stage_kernel(l.stage, &kernel);
        }
        struct nl_trace *t = finish(l.builder);
        REQUIRE(t != NULL && t->kernel.rows == ROWS);
        unsigned wrong = 0;
        for (uint32_t i = 0; i < ROWS; i++) {
            uint32_t slice = t->kernel.slice[i];
            wrong += t->kernel.grid_x[i] != i || t->slice.link[slice] != slice - 1 ||
                     t->kernel.external_id[i] != (i % 7000 > 6990 ? (int64_t)i : NL_NULL_I64) ||
                     t->kernel.dtype[i] != NL_NO_NAME || t->kernel.measurement[i] != NL_NULL_ROW;
        }
        CHECK_INT(wrong, 0);
        nl_trace_free(t);
    }
}

/* Values of instances: stretch k is of a metric, of numbers or texts, with or without places. */
enum { MAX_STRETCH = 3000 };

static uint32_t stretch_length(unsigned k)
{
    return k % 11 == 3 ? 1 + k % 5 : 16 + k * 7919 % (MAX_STRETCH - 100);
}

struct value {
    struct nl_instance_row row; /* numbers of it */
    char metric[32], file[32], key[32], opcode[32], ptx[32];
};

static struct value stretch_value(unsigned k, uint32_t i)
{
    struct value value = {.row = nl_instance_row()};
    snprintf(value.metric, sizeof value.metric, "metric %u", k % 37);
    value.row.value = k * 1000.0 + i;
    if (k % 3)
        value.row.number = (int64_t)i * 16;
    if (k % 3 == 1)
        value.row.offset = (int64_t)i;
    if (k % 6 == 1) {
        snprintf(value.file, sizeof value.file, "%u.cu", i / 700);
        value.row.line = i;
    }
    if (k % 4 == 1) {
        snprintf(value.opcode, sizeof value.opcode, "OP%u", i % 9);
        snprintf(value.ptx, sizeof value.ptx, "add.f32 %%f%u", i);
    }
    if (k % 11 == 3)
        snprintf(value.key, sizeof value.key, "opcode %u", i);
    return value;
}

static void stage_stretch(struct one_lane *l, unsigned k, uint32_t slice)
{
    static int64_t number[MAX_STRETCH], offset[MAX_STRETCH];
    static uint32_t file[MAX_STRETCH], line[MAX_STRETCH], key[MAX_STRETCH];
    static uint32_t opcode[MAX_STRETCH], ptx[MAX_STRETCH];
    static double value[MAX_STRETCH];
    struct value one;
    uint32_t count = stretch_length(k);
    for (uint32_t i = 0; i < count; i++) {
        one = stretch_value(k, i);
        number[i] = one.row.number, offset[i] = one.row.offset, line[i] = one.row.line;
        file[i] = nl_stage_name(l->stage, nl_str(one.file));
        key[i] = nl_stage_name(l->stage, nl_str(one.key));
        opcode[i] = nl_stage_name(l->stage, nl_str(one.opcode));
        ptx[i] = nl_stage_name(l->stage, nl_str(one.ptx));
        value[i] = one.row.value;
    }
    const struct nl_instance_keys keys = {.count = count,
                                          .number = k % 3 ? number : NULL,
                                          .offset = k % 3 == 1 ? offset : NULL,
                                          .file = k % 6 == 1 ? file : NULL,
                                          .line = k % 6 == 1 ? line : NULL,
                                          .opcode = k % 4 == 1 ? opcode : NULL,
                                          .ptx = k % 4 == 1 ? ptx : NULL};
    struct nl_staged_keys *staged = nl_stage_keys(l->stage, &keys);
    struct nl_instance_values values = {value, nl_stage_name(l->stage, nl_str(one.metric)), NULL,
                                        k % 11 == 3 ? key : NULL, NULL};
    REQUIRE(staged != NULL);
    nl_stage_instances(l->stage, slice, staged, &values);
    for (uint32_t i = 0; i < count; i++)
        value[i] = -value[i];
    if (k % 5 == 0) /* other values of the same */
        nl_stage_instances(l->stage, slice, staged, &values);
}

/* Row `at` is the one that was staged. */
static bool is_value(const struct nl_trace *t, uint32_t at, const struct value *value)
{
    const struct nl_instance_table *has = &t->instance;
    const struct nl_instance_row *row = &value->row;
    return has->slice[at] == row->slice && has->number[at] == row->number &&
           has->offset[at] == row->offset && has->line[at] == row->line &&
           !(has->value[at] < row->value) && !(has->value[at] > row->value) &&
           nl_str_is(nl_trace_name(t, has->metric[at]), value->metric) &&
           nl_str_is(nl_trace_name(t, has->key[at]), value->key) &&
           nl_str_is(nl_trace_name(t, has->file[at]), value->file) &&
           nl_str_is(nl_trace_name(t, has->opcode[at]), value->opcode) &&
           nl_str_is(nl_trace_name(t, has->ptx[at]), value->ptx) && has->text[at] == NL_NO_NAME;
}

/* Runs become rows, in one batch and in several, where texts are few and where there are none. */
static void runs_become_rows(void)
{
    static const unsigned sizes[] = {2, 20, 500};
    for (size_t n = 0; n < CHECK_LENGTH(sizes); n++) {
        struct one_lane l = open_lane();
        for (unsigned k = 0; k < sizes[n]; k++) {
            if (k % 50 == 0)
                add(&l, "kernel", (int64_t)k * 100, 10);
            stage_stretch(&l, k, k / 50);
        }
        struct nl_trace *t = finish(l.builder);
        REQUIRE(t != NULL);
        uint32_t at = 0, wrong = 0;
        for (unsigned k = 0; k < sizes[n]; k++)
            for (int sign = 1; sign >= (k % 5 ? 1 : -1); sign -= 2)
                for (uint32_t i = 0; i < stretch_length(k) && at < t->instance.rows; i++) {
                    struct value value = stretch_value(k, i);
                    value.row.slice = k / 50;
                    value.row.value *= sign;
                    wrong += !is_value(t, at++, &value);
                }
        CHECK_INT(wrong, 0);
        CHECK_INT(t->instance.rows, at);
        nl_trace_free(t);
    }
}

static void secrets_are_redacted(void)
{
    struct nl_builder *b = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(b, "test", "test");
    static const char *const keys[] = {"API_KEY", "password", "auth_token", "hostname"};
    for (size_t i = 0; i < CHECK_LENGTH(keys); i++)
        nl_builder_meta(b, source, keys[i], nl_str("hunter2"));
    struct nl_trace *t = finish(b);
    REQUIRE(t != NULL);
    uint32_t shown = 0;
    for (uint32_t i = 0; i < t->names.count; i++)
        shown += nl_str_is(nl_trace_name(t, i), "hunter2");
    CHECK_INT(shown, 1); /* hostname is no secret */
    nl_trace_free(t);
}

static void cancelled_builds_end(void)
{
    struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_builder *b = nl_builder_new(&job);
    uint32_t source = nl_builder_source(b, "test", "test");
    struct nl_stage *stage = nl_stage_new(b);
    struct fabricate make = {.builder = b, .stages = &stage, .source = source};
    make.units = 1;
    make.slices = 1000;
    fabricate_unit(&make, 0, 0);
    atomic_store(&job.cancelled, true);
    nl_err_clear(&err);
    CHECK(nl_builder_finish(b, &err) == NULL);
    CHECK_INT(err.code, NL_INTERRUPTED);
}

CHECK_MAIN("builder", {"an empty trace", empty_trace}, {"nests by time", nests_by_time},
           {"runs of a lane are merged", runs_of_a_lane_are_merged},
           {"overlaps go to sub-lanes", overlaps_go_to_sub_lanes},
           {"too many overlaps stay bounded", too_many_overlaps_stay_bounded},
           {"odd times are settled", odd_times_are_settled}, {"links launches", links_launches},
           {"resolves flows", resolves_flows}, {"random slices nest", random_slices_nest},
           {"order and threads do not matter", order_and_threads_do_not_matter},
           {"large tables are whole", large_tables_are_whole},
           {"names of metrics are kept", names_of_metrics_are_kept},
           {"kernels are kept and linked", kernels_are_kept_and_linked},
           {"runs become rows", runs_become_rows}, {"secrets are redacted", secrets_are_redacted},
           {"cancelled builds end", cancelled_builds_end})
