/*
 * plantedclocks — made-up profiles of a device that computes all the time, with readings of its
 * clock and of the driver's reasons every millisecond. For test_findings.
 */
#ifndef PLANTEDCLOCKS_H
#define PLANTEDCLOCKS_H

#include "planted.h"

#define HEAT  0x40
#define POWER 0x04
#define SET   0x02
#define IDLE  0x01

static inline void read_counter(struct gputrace *make, const char *name, int64_t us, double value)
{
    uint32_t lane = gputrace_lane(make, NL_LANE_DEVICE, 0);
    struct nl_counter_row row = nl_counter_row();
    row.series = nl_builder_series(make->builder, lane, nl_str(name), nl_str(""));
    row.ts = gputrace_ns(make, us);
    row.value = value;
    nl_stage_counter(make->stage, &row);
}

/* From 20 ms on the reason holds and the clock reads `low`, until `until` ms. */
static inline void read_clocks(struct gputrace *make, int reason, double low, int64_t until)
{
    for (int64_t ms = 0; ms <= ROUNDS; ms++) {
        bool held = ms >= 20 && ms < until;
        read_counter(make, "GPU throttle reasons", ms * 1000, held ? reason : 0);
        read_counter(make, "GPU clock", ms * 1000 + 1, held ? low : 1980);
    }
}

static inline void clocks_hot(struct gputrace *make)
{
    busy(make);
    read_clocks(make, HEAT | POWER, 1095, 50);
}

static inline void clocks_at_power_limit(struct gputrace *make)
{
    busy(make);
    read_clocks(make, POWER, 1500, 60);
}

static inline void clocks_set(struct gputrace *make)
{
    busy(make);
    read_clocks(make, SET, 1200, 60);
}

/* The limit is named, and takes 1 % of the clock. */
static inline void clocks_hardly_down(struct gputrace *make)
{
    busy(make);
    read_clocks(make, POWER, 1960, 60);
}

/* Low clocks without work: that is how a device rests. */
static inline void clocks_down_at_rest(struct gputrace *make)
{
    for (int64_t i = 0; i < 19; i++)
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 4, 100 + i * 1000, 1000);
    gputrace_kernel(make, 7, "h16816gemm", 59990, 4, 60500, 1000);
    read_clocks(make, HEAT, 300, 60);
}

/* The clock varies, and no reason is named. */
static inline void clocks_vary(struct gputrace *make)
{
    busy(make);
    read_clocks(make, 0, 1200, 60);
}

/* Readings end before the work begins: nothing is known of it. */
static inline void clocks_read_before(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "h16816gemm", i * 5, 4, 1000000 + i * 1000, 1000);
    read_clocks(make, HEAT, 1095, 61);
}

#endif
