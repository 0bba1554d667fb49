/* One side of a diff: its steps, the tenths they stand in and their lengths, worked out by hand. */
#include "base/mem.h"
#include "check.h"
#include "compare/diffinner.h"
#include "compare/diffparts.h"
#include "gpuranks.h"

#define STEPS   12
#define SPACING 1000 /* us from step to step */

static void rounds_half_up(void)
{
    for (int64_t sum = 0; sum < 200; sum++)
        for (int64_t units = 1; units < 25; units++)
            CHECK_INT(diff_mean(sum, (uint64_t)units), (2 * sum + units) / (2 * units));
    CHECK_INT(diff_mean(7, 0), 0);
    CHECK_INT(diff_mean(INT64_MAX, 1), INT64_MAX);
    CHECK_INT(diff_mean(INT64_MAX, 2), INT64_MAX / 2 + 1);
}

static void stays_at_the_largest_sum(void)
{
    CHECK_INT(diff_sum(3, -5), -2);
    CHECK_INT(diff_sum(INT64_MAX - 1, 1), INT64_MAX);
    CHECK_INT(diff_sum(INT64_MAX, 1), INT64_MAX);
    CHECK_INT(diff_sum(-INT64_MAX, -2), -INT64_MAX);
}

/* Two devices: [10, 20) [20, 30) [40, 50) and [5, 45). */
static void finds_the_span_of_a_moment(void)
{
    struct diff_span spans[] = {{.start = 10, .end = 20},
                                {.start = 20, .end = 30},
                                {.start = 40, .end = 50},
                                {.start = 5, .end = 45}};
    struct diff_device first = {.first_span = 0, .spans = 3},
                       second = {.first_span = 3, .spans = 1};
    struct diff_side side = {.spans = spans, .span_count = CHECK_LENGTH(spans)};
    for (int64_t ts = 0; ts < 60; ts++) {
        size_t expected = SIZE_MAX;
        for (size_t i = 0; i < 3; i++)
            if (ts >= spans[i].start && ts < spans[i].end)
                expected = i;
        CHECK_INT(diff_span_at(&side, &first, ts), expected);
        CHECK_INT(diff_span_at(&side, &second, ts), ts >= 5 && ts < 45 ? 3 : SIZE_MAX);
    }
}

static void finds_the_first_device_of_a_rank(void)
{
    static const int64_t devices[][2] = {{4, 0}, {4, 1}, {7, 0}, {4, 0}, {NL_NULL_I64, 0}};
    struct diff_side side = {.devices = nl_alloc(8 * sizeof *side.devices)};
    for (size_t i = 0; i < CHECK_LENGTH(devices); i++) {
        struct diff_device device = {.rank = devices[i][0], .ordinal = devices[i][1], .spans = i};
        const struct diff_device *kept = diff_device_keep(&side, &device);
        CHECK_INT(kept - side.devices, i);
        CHECK_INT(kept->spans, i);
    }
    CHECK_INT(side.device_count, CHECK_LENGTH(devices));
    CHECK(diff_device_of_rank(&side, 4) == &side.devices[0]);
    CHECK(diff_device_of_rank(&side, 7) == &side.devices[2]);
    CHECK(diff_device_of_rank(&side, NL_NULL_I64) == &side.devices[4]);
    CHECK(!diff_device_of_rank(&side, 0));
    CHECK(diff_device_at(&side, 4, 0) == &side.devices[0]);
    CHECK(diff_device_at(&side, 4, 1) == &side.devices[1]);
    CHECK(diff_device_at(&side, 7, 0) == &side.devices[2]);
    CHECK(diff_device_at(&side, NL_NULL_I64, 0) == &side.devices[4]);
    CHECK(!diff_device_at(&side, 7, 1));
    diff_side_release(&side);
}

/* us of a step: no two are equal, and none is far from the others. */
static int64_t length_of(int64_t rank, int64_t step)
{
    return 100 + (1 + 2 * rank) * step;
}

/* Two ranks of twelve steps: a kernel from 10 us after the start to 20 us before the end of each.
 * The sixth and the seventh carry one number, on both ranks. */
static struct nl_trace *two_ranks(void)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t rank = 0; rank < 2; rank++) {
        if (rank)
            gputrace_rank(&make, rank);
        for (int64_t i = 0; i < STEPS; i++) {
            int64_t at = i * SPACING;
            make.step -= i == 6;
            gputrace_step(&make, at, length_of(rank, i));
            gputrace_kernel(&make, 7, "gemm", at, 2, at + 10, length_of(rank, i) - 30);
        }
    }
    return gputrace_close(&make);
}

static void measures_steps_of_two_ranks(void)
{
    /* step i of twelve is in tenth ⌊10 i / 12⌋, on each of two ranks */
    static const uint64_t in_tenth[DIFF_BLOCKS] = {4, 2, 2, 2, 2, 4, 2, 2, 2, 2};
    struct nl_trace *trace = two_ranks();
    struct nl_window window = {0};
    struct diff_parts parts = {0};
    struct diff_side side;
    int64_t sum = 0;
    REQUIRE(trace);
    diff_side_open(&side, trace, &window);
    side.unit = DIFF_BY_STEP;
    diff_capture_measure(&side, &parts);
    REQUIRE(side.device_count == 2 && side.span_count == 2 * STEPS);
    for (size_t i = 0; i < side.span_count; i++) {
        int64_t rank = (int64_t)i / STEPS, step = (int64_t)i % STEPS;
        const struct diff_span *span = &side.spans[i];
        sum += 1000 * length_of(rank, step);
        CHECK_INT(span->device, rank);
        CHECK_INT(span->start, 1000 * SPACING * step);
        CHECK_INT(span->end - span->start, 1000 * length_of(rank, step));
        CHECK_INT(span->index, step - (step >= 6));
        CHECK_INT(span->block, 10 * step / STEPS);
        CHECK_INT(span->groups[DIFF_COMPUTE], 1000 * (length_of(rank, step) - 30));
        CHECK_INT(span->groups[DIFF_IDLE], 30000);
    }
    CHECK_INT(side.units, 2 * STEPS);
    CHECK_INT(side.sum, sum);
    CHECK_INT(side.mean, (2 * sum + side.units) / (2 * side.units));
    REQUIRE(side.blocks.count == DIFF_BLOCKS);
    for (size_t i = 0; i < DIFF_BLOCKS; i++)
        CHECK_INT(side.blocks.units[i], in_tenth[i]);
    REQUIRE(side.length_count == STEPS);
    for (int64_t i = 0; i < STEPS; i++) {
        double mean = 500.0 * (double)(length_of(0, i) + length_of(1, i));
        CHECK_NEAR(side.lengths[i], mean, 1e-6);
        CHECK_NEAR(side.part_lengths[DIFF_COMPUTE][i], mean - 30000, 1e-6);
        CHECK_NEAR(side.part_lengths[DIFF_IDLE][i], 30000, 1e-6);
        CHECK_NEAR(side.part_lengths[DIFF_COMM][i], 0, 1e-6);
    }
    diff_parts_release(&parts);
    diff_side_release(&side);
    nl_trace_free(trace);
}

/* Steps of which no operator was recorded are no steps of 0 ns. */
static void leaves_out_steps_without_operators(void)
{
    for (int64_t filled = 0; filled <= STEPS; filled += 6) {
        struct gputrace make;
        struct nl_window window = {0};
        struct diff_parts parts = {0};
        struct diff_side side;
        gputrace_open(&make);
        for (int64_t i = 0; i < STEPS; i++) {
            gputrace_step(&make, i * SPACING, 100);
            if (i < filled)
                gputrace_op(&make, "aten::mm", i * SPACING + 10, 40);
        }
        gputrace_op(&make, "aten::mm", STEPS * SPACING + 10, 40); /* in no step */
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        diff_side_open(&side, trace, &window);
        side.unit = DIFF_BY_HOST;
        side.host_kind = NL_KIND_OP;
        diff_capture_measure(&side, &parts);
        CHECK_INT(side.mean, filled ? 40000 : 0);
        CHECK_INT(side.units, filled ? filled : STEPS);
        CHECK_INT(side.length_count, filled);
        diff_parts_release(&parts);
        diff_side_release(&side);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("diff side", {"rounds half up", rounds_half_up},
           {"stays at the largest sum", stays_at_the_largest_sum},
           {"finds the span of a moment", finds_the_span_of_a_moment},
           {"finds the first device of a rank", finds_the_first_device_of_a_rank},
           {"measures steps of two ranks", measures_steps_of_two_ranks},
           {"leaves out steps without operators", leaves_out_steps_without_operators})
