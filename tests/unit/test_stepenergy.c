/*
 * Energy of steps beside a second implementation that adds it up microsecond by microsecond, over
 * readings at any times: power and counters of energy, in W, mW, J and mJ, with readings missing,
 * of one moment, and counters that begin anew.
 */
#include <math.h>

#include "check.h"
#include "compare/rank.h"
#include "gputrace.h"

#define TRIALS   400
#define STEPS    5
#define LENGTH   100 /* us of a step */
#define READINGS 60

struct trial {
    uint64_t dice;
    const char *name, *unit;
    double scale;
    bool energy;
    int64_t at[READINGS]; /* us, ascending */
    int64_t later;        /* ns, of the last reading */
    double value[READINGS];
    int count;
};

static int64_t roll(struct trial *it, int64_t most)
{
    it->dice = it->dice * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((it->dice >> 33) % (uint64_t)most);
}

static void draw(struct trial *it)
{
    static const struct {
        const char *name, *unit;
        double scale;
        bool energy;
    } kinds[] = {
        {"GPU power", "W", 1, false},       {"GPU power, sampled by the driver", "W", 1, false},
        {"my POWER of all", "W", 1, false}, {"socket power", "mW", 1e-3, false},
        {"GPU energy", "J", 1, true},       {"Total Energy", "mJ", 1e-3, true}};
    int64_t kind = roll(it, 6), now = -50 + roll(it, 3) * 40, apart = 5 + roll(it, 30);
    double total = 7;
    it->name = kinds[kind].name;
    it->unit = kinds[kind].unit;
    it->scale = kinds[kind].scale;
    it->energy = kinds[kind].energy;
    while (it->count < READINGS && now < STEPS * LENGTH + 60) {
        double power = (double)roll(it, 300);
        total = roll(it, 25) ? total + power : 0;
        it->at[it->count] = now;
        it->value[it->count++] = it->energy ? total : power;
        int64_t longer = roll(it, 12) ? 1 : 4 + roll(it, 3);
        now += roll(it, 9) ? apart * longer : 0;
    }
}

static struct nl_trace *build(const struct trial *it)
{
    struct gputrace make;
    gputrace_open(&make);
    for (int64_t i = 0; i < STEPS; i++) {
        gputrace_step(&make, i * LENGTH, LENGTH);
        gputrace_kernel(&make, 7, "softmax", i * LENGTH, 1, i * LENGTH, LENGTH);
    }
    for (int i = 0; i < it->count; i++) {
        uint32_t lane = gputrace_lane(&make, NL_LANE_DEVICE, 0);
        struct nl_counter_row row = nl_counter_row();
        row.series = nl_builder_series(make.builder, lane, nl_str(it->name), nl_str(it->unit));
        row.ts = it->at[i] * 1000 + (i == it->count - 1 ? it->later : 0);
        row.value = it->value[i];
        nl_stage_counter(make.stage, &row);
    }
    return gputrace_close(&make);
}

/* Five times the upper median distance of readings, without those of one moment. */
static int64_t hold_of(const struct trial *it)
{
    int count = 0;
    for (int i = 1; i < it->count; i++)
        count += it->at[i] > it->at[i - 1];
    for (int i = 1; i < it->count; i++) {
        int64_t apart = it->at[i] - it->at[i - 1];
        int below = 0, most = 0;
        for (int k = 1; k < it->count; k++) {
            int64_t other = it->at[k] - it->at[k - 1];
            below += other > 0 && other < apart;
            most += other > 0 && other <= apart;
        }
        if (apart > 0 && below <= count / 2 && most > count / 2)
            return 5 * apart;
    }
    return 0;
}

/* J a step, and of how much of the steps it is known. */
static double add_up(const struct trial *it, double *share)
{
    double joules = 0;
    int64_t known = 0, hold = hold_of(it);
    for (int64_t us = 0; us < STEPS * LENGTH; us++)
        for (int k = 1; k < it->count; k++) {
            int64_t from = it->at[k - 1], to = it->at[k];
            if (from > us || to <= us || to - from > hold ||
                (it->energy && it->value[k] < it->value[k - 1]))
                continue;
            double rise = (it->value[k] - it->value[k - 1]) / (double)(to - from) * it->scale;
            double middle = it->value[k - 1] * it->scale + rise * ((double)(us - from) + 0.5);
            joules += it->energy ? rise : middle * 1e-6;
            known++;
        }
    *share = (double)known / (STEPS * LENGTH);
    return joules / *share / STEPS;
}

static double number(const struct nl_report *report, const char *column)
{
    for (size_t i = 0; i < report->result_count; i++)
        for (size_t c = 0; c < report->results[i]->column_count; c++)
            for (size_t row = 0; row < report->results[i]->rows; row++) {
                const struct nl_cell *word = nl_result_cell(report->results[i], row, 0);
                const struct nl_cell *cell = nl_result_cell(report->results[i], row, c);
                if (!strcmp(report->results[i]->columns[c].name, column) &&
                    nl_str_is(word->text, "b"))
                    return cell->type == NL_CELL_F64 ? cell->f64 : NAN;
            }
    return NAN;
}

static void compare(const struct trial *it, const struct nl_trace *plain,
                    const struct nl_trace *trace, int *known)
{
    struct nl_err err = {0};
    bool comparable;
    double share, joules = add_up(it, &share);
    struct nl_diff_input inputs[] = {{.trace = plain, .word = "a"}, {.trace = trace, .word = "b"}};
    struct nl_report *report = nl_rank_new(inputs, 2, &(struct nl_rank_options){.section = "cost"},
                                           &comparable, NULL, &err);
    REQUIRE(report);
    *known += share >= 0.8;
    if (share > 0)
        CHECK_NEAR(number(report, "energy_known_share"), share, 1e-12);
    CHECK_NEAR(number(report, "energy_j"), share >= 0.8 ? joules : NAN, 1e-9 * joules);
    CHECK_NEAR(number(report, "power_w"), share >= 0.8 ? joules / (LENGTH * 1e-6) : NAN,
               1e-9 * joules / (LENGTH * 1e-6));
    nl_report_free(report);
}

static void as_defined(void)
{
    struct trial none = {.name = "", .unit = ""};
    struct nl_trace *plain = build(&none);
    int known = 0, trials = check_draws(TRIALS);
    for (unsigned i = 0; i < (unsigned)trials && !check_state.failures; i++) {
        struct trial trial = {.dice = i * 104729u + 3};
        char label[32];
        snprintf(label, sizeof label, "trial %u", i);
        check_case(label);
        draw(&trial);
        struct nl_trace *trace = build(&trial);
        REQUIRE(trace);
        compare(&trial, plain, trace, &known);
        nl_trace_free(trace);
    }
    nl_trace_free(plain);
    CHECK(known > trials / 4 && known < trials);
}

/* How much is known is told even where it is the least that there can be. */
static void of_one_nanosecond(void)
{
    struct trial none = {.name = "", .unit = ""};
    struct trial trial = {.name = "GPU power", .unit = "W", .scale = 1, .later = 1, .count = 2};
    trial.at[0] = trial.at[1] = 10;
    trial.value[0] = trial.value[1] = 5;
    struct nl_trace *plain = build(&none), *trace = build(&trial);
    struct nl_diff_input inputs[] = {{.trace = plain, .word = "a"}, {.trace = trace, .word = "b"}};
    struct nl_err err = {0};
    bool comparable;
    struct nl_report *report = nl_rank_new(inputs, 2, &(struct nl_rank_options){.section = "cost"},
                                           &comparable, NULL, &err);
    REQUIRE(report);
    CHECK_NEAR(number(report, "energy_known_share"), 1.0 / (STEPS * LENGTH * 1000), 1e-15);
    CHECK(isnan(number(report, "energy_j")));
    nl_report_free(report);
    nl_trace_free(plain);
    nl_trace_free(trace);
}

CHECK_MAIN("stepenergy", {"energy is added up as it is defined", as_defined},
           {"readings of one nanosecond", of_one_nanosecond})
