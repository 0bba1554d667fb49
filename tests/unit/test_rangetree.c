/* Ranges as every thread saw them (timeline/rangetree.h), held against the definition: random
 * ranges on several lanes of two threads, in order of start, each in the last before it that
 * contains it whole; and which is open at every moment. Then what is left out, on paper. */
#include "base/mem.h"
#include "check.h"
#include "gputrace.h"
#include "timeline/rangetree.h"

#define THREADS 2
#define LANES   5 /* of a thread at most */
#define MOST    24
#define LENGTH  20 /* us that ranges lie in */

static uint64_t seed = 88172645463325252u;

static int64_t below(int64_t bound)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)((seed >> 33) % (uint64_t)bound);
}

/* A thread's lane of one domain of ranges. */
static uint32_t domain_lane(struct gputrace *make, int64_t thread, int64_t domain)
{
    char name[16];
    snprintf(name, sizeof name, "domain %d", (int)domain);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = make->process,
                              .thread =
                                  nl_builder_thread(make->builder, make->process, 10 + thread),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64,
                              .domain = domain ? nl_builder_name(make->builder, nl_str(name)) : 0};
    return nl_builder_lane(make->builder, &key);
}

struct range {
    int64_t start, end; /* us */
    int64_t thread;
};

/* In order of thread, start, and length descending. */
static int by_start(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

/* The last before it that contains it; SIZE_MAX none. */
static size_t parent_of(const struct range *ranges, size_t i)
{
    for (size_t k = i; k-- > 0;)
        if (ranges[k].thread == ranges[i].thread && ranges[k].end > ranges[i].start &&
            ranges[k].end >= ranges[i].end)
            return k;
    return SIZE_MAX;
}

static bool any_crossed(const struct range *ranges, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (ranges[k].thread == ranges[i].thread && ranges[k].end > ranges[i].start &&
                ranges[k].end < ranges[i].end)
                return true;
    return false;
}

/* The last that begins by then and is not over; SIZE_MAX none. */
static size_t open_at(const struct range *ranges, size_t count, int64_t thread, int64_t us)
{
    for (size_t i = count; i-- > 0;)
        if (ranges[i].thread == thread && ranges[i].start <= us && us < ranges[i].end)
            return i;
    return SIZE_MAX;
}

/* Every microsecond of both threads, and one moment of none. */
static void check_moments(const struct nl_rangetree *tree, const struct range *ranges, size_t count,
                          const uint32_t *threads)
{
    struct nl_moment items[THREADS * LENGTH + 1];
    uint32_t answer[THREADS * LENGTH + 1];
    size_t made = 0;
    for (int64_t us = LENGTH - 1; us >= 0; us--)
        for (int64_t thread = 0; thread < THREADS; thread++) {
            items[made] = (struct nl_moment){1000 * us, threads[thread], (uint32_t)made};
            made++;
        }
    items[made] = (struct nl_moment){1000, NL_NULL_ROW, (uint32_t)made};
    for (size_t i = 0; i <= made; i++)
        answer[i] = 77777;
    struct nl_moments moments;
    nl_moments_init(&moments, items, made + 1, tree->trace->thread.rows);
    nl_rangetree_find(tree, &moments, answer);
    for (size_t i = 0; i < made; i++) {
        int64_t thread = (int64_t)i % THREADS, us = LENGTH - 1 - (int64_t)i / THREADS;
        size_t expected = open_at(ranges, count, thread, us);
        CHECK_INT(answer[i], expected == SIZE_MAX ? 77777 : expected);
    }
    CHECK_INT(answer[made], 77777);
    nl_moments_release(&moments);
}

static void check_tree(const struct nl_rangetree *tree, const struct range *ranges, size_t count)
{
    const struct nl_slice_table *slice = &tree->trace->slice;
    uint32_t threads[THREADS] = {0}, *places = nl_rangetree_places(tree);
    size_t in_tree = 0;
    REQUIRE(tree->count == count && tree->captured == count);
    for (size_t i = 0; i < count; i++) {
        size_t parent = parent_of(ranges, i);
        uint32_t row = tree->slices[i];
        threads[ranges[i].thread] = tree->trace->lane.thread[slice->lane[row]];
        CHECK_INT(slice->ts[row], 1000 * ranges[i].start);
        CHECK_INT(slice->ts[row] + slice->dur[row], 1000 * ranges[i].end);
        CHECK_INT(nl_rangetree_end(tree, (uint32_t)i), 1000 * ranges[i].end);
        CHECK_INT(tree->parents[i], parent == SIZE_MAX ? NL_NULL_ROW : parent);
        CHECK_INT(places[row], i);
        CHECK(i < tree->thread_first[threads[ranges[i].thread] + 1]);
        CHECK(i >= tree->thread_first[threads[ranges[i].thread]]);
    }
    for (uint32_t row = 0; row < slice->rows; row++)
        in_tree += places[row] != NL_NULL_ROW;
    CHECK_INT(in_tree, count);
    CHECK_INT(tree->thread_first[tree->trace->thread.rows], count);
    CHECK_INT(tree->crossed, any_crossed(ranges, count));
    nl_free(places);
    check_moments(tree, ranges, count, threads);
}

static void random_ranges(void)
{
    int draws = check_draws(400);
    for (int draw = 0; draw < draws; draw++) {
        struct range ranges[MOST];
        struct gputrace make;
        size_t count = THREADS + (size_t)below(MOST - THREADS + 1);
        int64_t lanes = 1 + draw % LANES;
        gputrace_open(&make);
        for (size_t i = 0; i < count; i++) {
            struct range *range = &ranges[i];
            range->thread = i < THREADS ? (int64_t)i : below(THREADS);
            range->start = below(LENGTH - 1);
            range->end = range->start + 1 + below(LENGTH - 1 - range->start);
            gputrace_slice(&make, NL_KIND_NVTX, domain_lane(&make, range->thread, below(lanes)),
                           "range", range->start, range->end - range->start);
            if (!below(3)) /* of another kind, on the same lanes */
                gputrace_slice(&make, NL_KIND_OP, domain_lane(&make, range->thread, 0), "op",
                               below(LENGTH), 1 + below(5));
        }
        struct nl_trace *trace = gputrace_close(&make);
        struct nl_rangetree tree;
        char label[32];
        snprintf(label, sizeof label, "draw %d", draw);
        check_case(label);
        REQUIRE(trace);
        qsort(ranges, count, sizeof *ranges, by_start);
        nl_rangetree_init(&tree, trace, NL_KIND_NVTX);
        check_tree(&tree, ranges, count);
        nl_rangetree_release(&tree);
        nl_trace_free(trace);
    }
}

/* More that cross at a time than there are sub-lanes, so that order is lost on the last one. */
static void too_many_that_cross(void)
{
    enum { COUNT = 300 };
    static struct range ranges[COUNT];
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < COUNT; i++) {
        ranges[i] = (struct range){i / 2, 400 + i - 20 * (i % 7), 0};
        gputrace_slice(&make, NL_KIND_NVTX, make.calls, "range", ranges[i].start,
                       ranges[i].end - ranges[i].start);
    }
    struct nl_trace *trace = gputrace_close(&make);
    struct nl_rangetree tree;
    REQUIRE(trace);
    qsort(ranges, COUNT, sizeof *ranges, by_start);
    nl_rangetree_init(&tree, trace, NL_KIND_NVTX);
    REQUIRE(tree.count == COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        size_t parent = parent_of(ranges, i);
        CHECK_INT(trace->slice.ts[tree.slices[i]], 1000 * ranges[i].start);
        CHECK_INT(nl_rangetree_end(&tree, (uint32_t)i), 1000 * ranges[i].end);
        CHECK_INT(tree.parents[i], parent == SIZE_MAX ? NL_NULL_ROW : parent);
    }
    CHECK(tree.crossed);
    nl_rangetree_release(&tree);
    nl_trace_free(trace);
}

/* Marks and ranges of no thread are no part of it, but are of their kind. */
static void what_is_left_out(void)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "outer", 0, 100);
    struct nl_slice_row mark = nl_slice_row();
    mark.kind = NL_KIND_NVTX;
    mark.lane = make.calls;
    mark.name = nl_stage_name(make.stage, nl_str("mark"));
    mark.ts = 10000;
    mark.dur = 0;
    mark.flags = NL_SLICE_INSTANT;
    nl_stage_slice(make.stage, &mark);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "inner", 20, 30);
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "empty", 60, 0);
    gputrace_slice(&make, NL_KIND_NVTX, gputrace_lane(&make, NL_LANE_STREAM, 7), "device", 5, 10);
    gputrace_slice(&make, NL_KIND_LAYER, gputrace_lane(&make, NL_LANE_STREAM, 7), "device", 5, 10);
    struct nl_trace *trace = gputrace_close(&make);
    struct nl_rangetree tree;
    REQUIRE(trace);
    nl_rangetree_init(&tree, trace, NL_KIND_NVTX);
    REQUIRE(tree.count == 3);
    CHECK_INT(trace->slice.ts[tree.slices[0]], 0);
    CHECK_INT(trace->slice.ts[tree.slices[1]], 20000);
    CHECK_INT(trace->slice.ts[tree.slices[2]], 60000);
    CHECK_INT(tree.parents[0], NL_NULL_ROW);
    CHECK_INT(tree.parents[1], 0);
    CHECK_INT(tree.parents[2], 0);
    CHECK(!tree.crossed);
    nl_rangetree_release(&tree);
    static const struct {
        enum nl_kind kind;
        bool any;
        uint32_t ranges;
    } kinds[] = {{NL_KIND_NVTX, true, 3}, {NL_KIND_LAYER, true, 0}, {NL_KIND_OP, false, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++) {
        CHECK_INT(nl_rangetree_any(trace, kinds[i].kind), kinds[i].any);
        nl_rangetree_init(&tree, trace, kinds[i].kind);
        CHECK_INT(tree.count, kinds[i].ranges);
        CHECK_INT(tree.thread_first[trace->thread.rows], kinds[i].ranges);
        nl_rangetree_release(&tree);
    }
    nl_trace_free(trace);
}

/* What an operator was given; nothing of other slices. */
static void inputs(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < 2; i++) {
        struct nl_op_row row = nl_op_row();
        row.slice = gputrace_slice(&make, NL_KIND_OP, make.calls, "aten::mm", 10 * i, 5);
        row.shapes = nl_stage_name(make.stage, nl_str(i ? "[[2, 3]]" : "[[4, 5]]"));
        row.dtypes = nl_stage_name(make.stage, nl_str("['float']"));
        row.strides = nl_stage_name(make.stage, nl_str("[[3, 1]]"));
        row.concrete_inputs = nl_stage_name(make.stage, nl_str("['7']"));
        nl_stage_op(make.stage, &row);
    }
    gputrace_slice(&make, NL_KIND_NVTX, make.calls, "range", 30, 5);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        struct nl_op_inputs inputs;
        bool op = trace->slice.kind[slice] == NL_KIND_OP;
        REQUIRE(nl_rangetree_inputs(trace, slice, &inputs) == op);
        if (!op)
            continue;
        CHECK_STR(nl_trace_name(trace, inputs.shapes),
                  trace->slice.ts[slice] ? "[[2, 3]]" : "[[4, 5]]");
        CHECK_STR(nl_trace_name(trace, inputs.dtypes), "['float']");
        CHECK_STR(nl_trace_name(trace, inputs.strides), "[[3, 1]]");
        CHECK_STR(nl_trace_name(trace, inputs.values), "['7']");
    }
    nl_trace_free(trace);
}

static void no_rows(void)
{
    for (size_t count = 0; count < 9; count++) {
        uint32_t *rows = nl_no_rows(count);
        for (size_t i = 0; i <= count; i++)
            CHECK_INT(rows[i], NL_NULL_ROW);
        nl_free(rows);
    }
}

CHECK_MAIN("rangetree", {"random ranges", random_ranges},
           {"too many that cross", too_many_that_cross}, {"what is left out", what_is_left_out},
           {"inputs", inputs}, {"no rows", no_rows})
