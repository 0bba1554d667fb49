/* When a device held its clock down, and why (findings/heldclock.c): readings of two counters and
 * the time that it computes, by hand. Times in us. */
#include "findings/heldclock.h"
#include "check.h"
#include "gputrace.h"

struct reading {
    int64_t us;
    double value;
};

#define MOST 8

static void read_of(struct gputrace *make, const char *name, const struct reading *readings)
{
    struct nl_lane_key key = {.kind = NL_LANE_DEVICE,
                              .process = make->process,
                              .thread = NL_NULL_ROW,
                              .device = make->device,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    uint32_t lane = nl_builder_lane(make->builder, &key);
    uint32_t series = nl_builder_series(make->builder, lane, nl_str(name), nl_str(""));
    for (int i = 0; i < MOST && readings[i].us >= 0 && (readings[i].us || !i); i++) {
        struct nl_counter_row row = nl_counter_row();
        row.series = series;
        row.ts = readings[i].us * 1000;
        row.value = readings[i].value;
        nl_stage_counter(make->stage, &row);
    }
}

struct scene {
    struct nl_trace *trace;
    struct nl_window window;
    struct nl_idle_device device;
    struct nl_scene scene;
};

/* `told`: what the device can do, in MHz; 0 unknown. A kernel that is not looked at is at 0. */
static bool open_scene(struct scene *it, const struct reading *clocks,
                       const struct reading *reasons, uint64_t told)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", -1, 1, 0, 1);
    read_of(&make, "GPU clock", clocks);
    if (reasons)
        read_of(&make, "GPU throttle reasons", reasons);
    if (told)
        nl_builder_device_row(make.builder, make.device)->clock_hz = told * 1000000;
    *it = (struct scene){.trace = gputrace_close(&make)};
    it->scene = (struct nl_scene){.trace = it->trace, .window = &it->window, .device = &it->device};
    return it->trace != NULL;
}

static void release_scene(struct scene *it)
{
    nl_intervals_release(&it->scene.compute);
    nl_trace_free(it->trace);
}

/* Each bit of the driver's; of several reasons the first. */
static void reasons(void)
{
    static const struct {
        double bits;
        enum nl_clock_reason reason;
    } cases[] = {
        {0, NL_CLOCK_REASONS},     {0x01, NL_CLOCK_REASONS},   {0x02, NL_CLOCK_SETTING},
        {0x04, NL_CLOCK_POWER},    {0x08, NL_CLOCK_HEAT},      {0x10, NL_CLOCK_REASONS},
        {0x20, NL_CLOCK_HEAT},     {0x40, NL_CLOCK_HEAT},      {0x80, NL_CLOCK_POWER},
        {0x100, NL_CLOCK_REASONS}, {0x06, NL_CLOCK_POWER},     {0x4c, NL_CLOCK_HEAT},
        {-8, NL_CLOCK_REASONS},    {0x1p53, NL_CLOCK_REASONS}, {0x1p52 + 8, NL_CLOCK_HEAT}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct scene it;
        const struct reading clocks[MOST] = {{0, 1000}, {1000, 1000}},
                             bits[MOST] = {{0, cases[i].bits}, {1000, cases[i].bits}};
        struct nl_intervals where;
        nl_intervals_init(&where);
        REQUIRE(open_scene(&it, clocks, bits, 2000));
        nl_intervals_add(&it.scene.compute, 100000, 300000);
        struct nl_held_clock held = nl_held_clock(&it.scene, cases[i].reason, &where);
        CHECK_NEAR(held.top_mhz, 2000, 0);
        CHECK_INT(held.computing_ns, 200000);
        for (int r = 0; r < NL_CLOCK_REASONS; r++) {
            bool is = r == (int)cases[i].reason;
            CHECK_INT(held.by[r].held_ns, is ? 200000 : 0);
            CHECK_NEAR(held.by[r].lost_ns, is ? 100000 : 0, 1e-6);
        }
        /* without a reason nothing is lost: those are asked for nowhere */
        if (cases[i].reason != NL_CLOCK_REASONS)
            CHECK_INT(nl_intervals_length(&where), 200000);
        nl_intervals_release(&where);
        release_scene(&it);
    }
}

/* Readings change within the work, and hold for five times their distance. */
static void walks(void)
{
    static const struct {
        const char *what;
        struct reading clocks[MOST], bits[MOST];
        uint64_t told;
        struct {
            int64_t start, end;
        } work[3];
        int64_t computing, held;
        double lost, top;
    } cases[] = {
        {"the reason begins",
         {{0, 500}, {100, 500}, {200, 500}},
         {{0, 0}, {100, 8}, {200, 8}},
         1000,
         {{50, 150}},
         100,
         50,
         25,
         1000},
        {"the reason ends",
         {{0, 500}, {100, 500}, {200, 500}},
         {{0, 8}, {100, 0}, {200, 8}},
         1000,
         {{50, 150}},
         100,
         50,
         25,
         1000},
        {"the clock changes",
         {{0, 500}, {100, 750}, {200, 750}},
         {{0, 8}, {100, 8}, {200, 8}},
         1000,
         {{50, 150}},
         100,
         100,
         37.5,
         1000},
        {"at its highest nothing is held",
         {{0, 1000}, {100, 500}, {200, 500}},
         {{0, 8}, {100, 8}, {200, 8}},
         0,
         {{0, 200}},
         200,
         100,
         50,
         1000},
        {"the highest reading, above what is told",
         {{0, 2000}, {100, 500}, {200, 500}},
         {{0, 8}, {100, 8}, {200, 8}},
         1000,
         {{100, 200}},
         100,
         100,
         75,
         2000},
        {"a clock of 0 is none",
         {{0, 0}, {100, 500}, {200, 500}},
         {{0, 8}, {100, 8}, {200, 8}},
         1000,
         {{0, 200}},
         200,
         100,
         50,
         1000},
        {"before the first reading nothing is known",
         {{100, 500}, {200, 500}},
         {{0, 8}, {100, 8}, {200, 8}},
         1000,
         {{50, 150}},
         50,
         50,
         25,
         1000},
        {"nor before the first reason",
         {{0, 500}, {100, 500}},
         {{100, 8}, {200, 8}},
         1000,
         {{50, 150}},
         50,
         50,
         25,
         1000},
        {"nor five distances after the last",
         {{0, 500}, {100, 500}},
         {{0, 8}, {100, 8}},
         1000,
         {{550, 650}},
         50,
         50,
         25,
         1000},
        {"nor where readings stop for longer",
         {{0, 500}, {100, 500}, {200, 500}, {1000, 500}},
         {{0, 8}, {200, 8}, {400, 8}, {600, 8}, {800, 8}, {1000, 8}},
         1000,
         {{650, 1050}},
         100,
         100,
         50,
         1000},
        {"several pieces of work",
         {{0, 500}, {100, 500}, {200, 500}},
         {{0, 8}, {100, 0}, {200, 4}},
         1000,
         {{0, 10}, {90, 110}, {190, 200}},
         40,
         20,
         10,
         1000},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct scene it;
        struct nl_intervals where;
        check_case(cases[i].what);
        nl_intervals_init(&where);
        REQUIRE(open_scene(&it, cases[i].clocks, cases[i].bits, cases[i].told));
        for (int k = 0; k < 3 && cases[i].work[k].end; k++)
            nl_intervals_add(&it.scene.compute, cases[i].work[k].start * 1000,
                             cases[i].work[k].end * 1000);
        struct nl_held_clock held = nl_held_clock(&it.scene, NL_CLOCK_HEAT, &where);
        CHECK_INT(held.computing_ns, 1000 * cases[i].computing);
        CHECK_INT(held.by[NL_CLOCK_HEAT].held_ns, 1000 * cases[i].held);
        CHECK_NEAR(held.by[NL_CLOCK_HEAT].lost_ns, 1000 * cases[i].lost, 1e-6);
        CHECK_NEAR(held.top_mhz, cases[i].top, 0);
        CHECK_INT(nl_intervals_length(&where), 1000 * cases[i].held);
        nl_intervals_release(&where);
        release_scene(&it);
    }
    check_case(NULL);
}

static void not_recorded(void)
{
    static const struct reading clocks[MOST] = {{0, 500}, {100, 500}};
    struct scene it;
    REQUIRE(open_scene(&it, clocks, NULL, 1000));
    nl_intervals_add(&it.scene.compute, 0, 100000);
    struct nl_held_clock held = nl_held_clock(&it.scene, NL_CLOCK_HEAT, NULL);
    CHECK_INT(held.reasons, NL_NULL_ROW);
    CHECK_INT(held.computing_ns, 0);
    release_scene(&it);
}

/* A reason that is read at the moment of a clock holds for that. */
static void counts_readings(void)
{
    static const struct reading clocks[MOST] = {{0, 100},   {50, 200},   {100, 400},
                                                {150, 800}, {200, 1600}, {250, 3200}},
                                bits[MOST] = {{0, 16}, {100, 8}, {200, 12}, {220, 4}};
    static const struct {
        uint64_t bits;
        int64_t start, end; /* of the window; 0 and 0: none */
        uint64_t reasons, with_bits, clocks;
        double sum;
    } cases[] = {{8, 0, 0, 4, 2, 3, 400 + 800 + 1600},
                 {4, 0, 0, 4, 2, 2, 1600 + 3200},
                 {1, 0, 0, 4, 0, 0, 0},
                 {16, 0, 0, 4, 1, 2, 100 + 200},
                 {8, 100, 200, 1, 1, 2, 400 + 800},
                 {8, 101, 201, 1, 1, 1, 1600},
                 {8, 100, 201, 2, 2, 3, 2800}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct scene it;
        REQUIRE(open_scene(&it, clocks, bits, 1000));
        if (cases[i].end)
            it.window = (struct nl_window){
                .has_time = true, .start = 1000 * cases[i].start, .end = 1000 * cases[i].end};
        struct nl_held_clock held = nl_held_clock(&it.scene, NL_CLOCK_HEAT, NULL);
        struct nl_held_readings out = nl_held_readings(&it.scene, &held, cases[i].bits);
        CHECK_INT(out.reasons, cases[i].reasons);
        CHECK_INT(out.with_bits, cases[i].with_bits);
        CHECK_INT(out.clocks, cases[i].clocks);
        CHECK_NEAR(out.sum_mhz, cases[i].sum, 0);
        release_scene(&it);
    }
}

CHECK_MAIN("heldclock", {"reasons", reasons}, {"walks", walks}, {"not recorded", not_recorded},
           {"counts readings", counts_readings})
