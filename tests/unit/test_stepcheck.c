/*
 * Iterations or layers (timeline/stepcheck.c): which names count layers, shares of the segments,
 * launches and ranges of servers, each limit from both sides. Times in microseconds: segment i
 * begins with a launch at 1000 i.
 */
#include "check.h"
#include "gputrace.h"

#include "base/mem.h"
#include "timeline/stepcheck.h"

#define SEGMENTS 10

static uint32_t kernel_of(struct gputrace *make, int64_t us, uint64_t correlation)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.correlation = correlation;
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7),
                               "begins", us, 100);
    nl_stage_kernel(make->stage, &row);
    return row.slice;
}

static void range(struct gputrace *make, enum nl_kind kind, const char *name, int64_t us,
                  int64_t dur)
{
    uint32_t slice = gputrace_slice(
        make, kind, gputrace_lane(make, kind == NL_KIND_NVTX ? NL_LANE_NVTX : NL_LANE_PYTHON, -1),
        name, us, dur);
    if (kind == NL_KIND_NVTX) {
        struct nl_nvtx_row row = nl_nvtx_row();
        row.slice = slice;
        nl_stage_nvtx(make->stage, &row);
    }
}

static void segments(struct gputrace *make)
{
    gputrace_open(make);
    for (int64_t i = 0; i < SEGMENTS; i++) {
        gputrace_call_as(make, "cudaLaunchKernel", i * 1000, 5, (uint64_t)i + 1);
        kernel_of(make, i * 1000 + 10, (uint64_t)i + 1);
    }
}

static enum nl_step_verdict verdict(struct gputrace *make, int64_t rank, size_t most)
{
    struct nl_trace *trace = gputrace_close(make);
    uint32_t markers[64];
    size_t count = 0;
    if (!check_true(trace != NULL, "trace", __FILE__, __LINE__))
        return NL_STEPS_NOT_TOLD;
    for (uint32_t row = 0; row < trace->slice.rows && count < most; row++)
        if (trace->slice.kind[row] == NL_KIND_KERNEL)
            markers[count++] = row;
    enum nl_step_verdict told = nl_steps_check(trace, rank, markers, count);
    nl_trace_free(trace);
    return told;
}

/* ---- Names: three of a form, each in one segment ---- */

static const struct {
    enum nl_kind kind;
    const char *names[3];
    bool layers; /* three names that number layers; else nothing is told */
} forms[] = {
    {NL_KIND_NVTX, {"blocks.0", "blocks.1", "blocks.2"}, true},
    {NL_KIND_NVTX, {"x.0", "x.1", "x.9"}, true},
    {NL_KIND_NVTX, {".0", ".1", ".9"}, true},
    {NL_KIND_NVTX, {"layer 0", "layer 1", "layer 2"}, true},
    {NL_KIND_NVTX, {"0_LAYER", "1_LAYER", "9_LAYER"}, true},
    {NL_KIND_NVTX, {"Block10", "Block11", "Block12"}, true},
    {NL_KIND_NVTX, {"my block 1", "my block 2", "my block 3"}, true},
    {NL_KIND_NVTX, {"Compute 10", "Compute 11", "Compute 12"}, false},
    {NL_KIND_NVTX, {"0", "1", "2"}, false},
    {NL_KIND_NVTX, {"0.x", "1.x", "2.x"}, false},
    {NL_KIND_NVTX, {"x./", "x.:", "x.a"}, false},
    {NL_KIND_NVTX, {"layer a", "layer b", "layer c"}, false},
    {NL_KIND_NVTX, {"layer1", "layer2", "layer2"}, false},
    {NL_KIND_NVTX, {"v1 block", "v2 block", "block"}, false},
    {NL_KIND_LAYER, {"Linear_0", "Linear_1", "Linear_2"}, true},
    {NL_KIND_NVTX, {"Linear_0", "Linear_1", "Linear_2"}, false},
    {NL_KIND_LAYER, {"Linear", "Conv", "Norm"}, false},
    {NL_KIND_OP, {"blocks.0", "blocks.1", "blocks.2"}, false},
    /* the running number of PyTorch is no part of a name */
    {NL_KIND_NVTX, {"blocks.1, op_id = 3", "blocks.2, op_id = 3", "blocks.3, op_id = 3"}, true},
    {NL_KIND_NVTX, {"layer, op_id = 1", "layer, op_id = 2", "layer, op_id = 3"}, false},
    {NL_KIND_NVTX, {"layer1, op_id = 1", "layer1, op_id = 2", "layer2, op_id = 3"}, false},
    {NL_KIND_NVTX, {"layer1, op_id = ", "layer1", "layer2"}, false},
    {NL_KIND_NVTX, {"layer1, op_id =", "layer1", "layer2"}, true},
    {NL_KIND_NVTX, {", op_id = 1.1", ", op_id = 1.2", ", op_id = 1.3"}, false},
};

static void names_of_layers(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(forms); i++) {
        struct gputrace make;
        segments(&make);
        for (int64_t k = 0; k < 3; k++)
            range(&make, forms[i].kind, forms[i].names[k], 1000 * k + 100, 50);
        check_case(forms[i].names[0]);
        CHECK_INT(verdict(&make, 0, 64), forms[i].layers ? NL_STEPS_ARE_LAYERS : NL_STEPS_NOT_TOLD);
    }
}

/* ---- In how many of ten segments the names of three layers are ---- */

static void shares(void)
{
    static const struct {
        int in[4]; /* segments with the name, the first ones */
        enum nl_step_verdict want;
    } cases[] = {{{1, 1, 1}, NL_STEPS_ARE_LAYERS},       {{5, 5, 5}, NL_STEPS_ARE_STEPS},
                 {{5, 5, 4}, NL_STEPS_NOT_TOLD},         {{10, 4, 1}, NL_STEPS_ARE_STEPS},
                 {{10, 3, 1}, NL_STEPS_NOT_TOLD},        {{4, 4, 2}, NL_STEPS_ARE_LAYERS},
                 {{4, 4, 3}, NL_STEPS_NOT_TOLD},         {{10, 10, 0}, NL_STEPS_NOT_TOLD},
                 {{10, 10, 10, 10}, NL_STEPS_ARE_STEPS}, {{3, 3, 3, 4}, NL_STEPS_ARE_LAYERS},
                 {{3, 3, 4, 4}, NL_STEPS_NOT_TOLD}};
    static const char *const names[] = {"blocks.0", "blocks.1", "blocks.2", "blocks.3"};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        segments(&make);
        for (int k = 0; k < 4; k++)
            for (int at = 0; at < cases[i].in[k]; at++) {
                range(&make, NL_KIND_NVTX, names[k], 1000 * at + 100 * k, 20);
                range(&make, NL_KIND_NVTX, names[k], 1000 * at + 100 * k + 50,
                      20); /* once counts */
            }
        char label[40];
        snprintf(label, sizeof label, "%d %d %d %d", cases[i].in[0], cases[i].in[1], cases[i].in[2],
                 cases[i].in[3]);
        check_case(label);
        CHECK_INT(verdict(&make, 0, 64), cases[i].want);
    }
}

/* Names count from the first launch on, of the rank alone; one segment tells nothing. */
static void where_names_count(void)
{
    static const struct {
        int64_t at, rank;
        size_t most;
        enum nl_step_verdict want;
    } cases[] = {{0, 0, 64, NL_STEPS_ARE_LAYERS},
                 {-1, 0, 64, NL_STEPS_NOT_TOLD},
                 {0, 1, 64, NL_STEPS_NOT_TOLD},
                 {0, 0, 1, NL_STEPS_NOT_TOLD},
                 {0, 0, 2, NL_STEPS_ARE_STEPS}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        segments(&make);
        range(&make, NL_KIND_NVTX, "blocks.0", cases[i].at, 1);
        range(&make, NL_KIND_NVTX, "blocks.1", 4000, 1);
        range(&make, NL_KIND_NVTX, "blocks.2", 5000, 1);
        CHECK_INT(verdict(&make, cases[i].rank, cases[i].most), cases[i].want);
    }
}

/* ---- Launches, and steps of servers ---- */

/* Five segments: more than two of the four later ones begin with the launch of the one before. */
static void one_launch_of_many(void)
{
    for (uint64_t same = 2; same <= 3; same++) {
        struct gputrace make;
        gputrace_open(&make);
        for (int64_t i = 0; i < 5; i++) {
            uint64_t launch = (uint64_t)i <= same ? 1 : (uint64_t)i + 1;
            if ((uint64_t)i > same || !i)
                gputrace_call_as(&make, "cudaGraphLaunch", i * 1000, 5, launch);
            kernel_of(&make, i * 1000 + 10, launch);
        }
        CHECK_INT(verdict(&make, 0, 64), same == 3 ? NL_STEPS_ARE_LAYERS : NL_STEPS_NOT_TOLD);
    }
    struct gputrace make; /* launches that nobody knows are not one */
    gputrace_open(&make);
    for (int64_t i = 0; i < 5; i++)
        kernel_of(&make, i * 1000 + 10, NL_NULL_U64);
    CHECK_INT(verdict(&make, 0, 64), NL_STEPS_NOT_TOLD);
}

/* More than half of ten launches in one step of a server. */
static void steps_of_servers(void)
{
    static const struct {
        const char *name;
        int64_t start, end, rank;
        bool step;
    } cases[] = {{"step[DECODE bs=8]", 0, 5001, 0, true},
                 {"step[DECODE bs=8]", 0, 5000, 0, false},
                 {"step[DECODE bs=8]", 4000, 9900, 0, true},
                 {"step[DECODE bs=8]", 4001, 9900, 0, false},
                 {"step[DECODE bs=8]", 0, 9900, 3, false},
                 {"execute_context_1(8)_generation_0(0)", 0, 9900, 0, true},
                 {"[Executor] _forward_step 12: 1 ctx reqs, 0 gen reqs", 0, 9900, 0, true},
                 {"execute_model", 0, 9900, 0, false},
                 {"my own range", 0, 9900, 0, false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        segments(&make);
        range(&make, NL_KIND_NVTX, "before all", 0, 1);
        range(&make, NL_KIND_NVTX, cases[i].name, cases[i].start, cases[i].end - cases[i].start);
        check_case(cases[i].name);
        CHECK_INT(verdict(&make, cases[i].rank, 64),
                  cases[i].step ? NL_STEPS_ARE_LAYERS : NL_STEPS_NOT_TOLD);
    }
}

CHECK_MAIN("stepcheck", {"names of layers", names_of_layers}, {"shares of the segments", shares},
           {"where names count", where_names_count}, {"segments of one launch", one_launch_of_many},
           {"steps of servers", steps_of_servers})
