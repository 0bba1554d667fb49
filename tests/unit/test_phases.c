/*
 * Phases of a run (account/phase.c), steps unlike the rest (timeline/stepphase.c) and where
 * start-up ends without steps (account/startup.c): every limit from both sides. Lengths, medians
 * and shares are worked out by hand; times in microseconds.
 */
#include "check.h"
#include "gputrace.h"

#include "account/phase.h"
#include "account/startup.h"
#include "base/mem.h"
#include "timeline/stepphase.h"

/* ---- Phases from steps ---- */

struct step {
    int64_t start, length;
    char phase; /* as stepfind calls it: s steady, w warm-up, c compile */
};

/* Steps of 100 one after another but for what a case is about. The work ends with the last step
 * unless `end` says otherwise. */
static const struct phase_case {
    const char *what;
    struct step steps[12];
    int64_t end;
    const char *want; /* phases with their starts */
} phase_cases[] = {
    /* median 100, all alike but one: 1.5 times it is the limit */
    {"151 of four steps is an outlier",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 151, 's'}, {400, 100, 's'}},
     0,
     "startup steady@0 outlier@200 steady@400 tail@500"},
    {"150 is not",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 150, 's'}, {400, 100, 's'}},
     0,
     "startup steady@0 tail@500"},
    {"of three steps none is an outlier",
     {{0, 100, 's'}, {100, 151, 's'}, {300, 100, 's'}},
     0,
     "startup steady@0 tail@400"},
    {"nor of three steady ones and one of warming up",
     {{0, 300, 'w'}, {300, 100, 's'}, {400, 151, 's'}, {600, 100, 's'}},
     0,
     "startup warmup@0 steady@300 tail@700"},
    /* median 100, median deviation 20: 100 + 3.5 * 1.4826 * 20 = 203.78 */
    {"203 where steps differ by 20",
     {{0, 80, 's'},
      {100, 80, 's'},
      {200, 100, 's'},
      {300, 100, 's'},
      {400, 120, 's'},
      {600, 120, 's'},
      {800, 203, 's'},
      {1100, 100, 's'},
      {1200, 100, 's'}},
     0,
     "startup steady@0 tail@1300"},
    {"204",
     {{0, 80, 's'},
      {100, 80, 's'},
      {200, 100, 's'},
      {300, 100, 's'},
      {400, 120, 's'},
      {600, 120, 's'},
      {800, 204, 's'},
      {1100, 100, 's'},
      {1200, 100, 's'}},
     0,
     "startup steady@0 outlier@800 steady@1100 tail@1300"},
    /* more than one and a tenth of the steps are no outliers */
    {"two long ones of ten",
     {{0, 100, 's'},
      {100, 300, 's'},
      {400, 100, 's'},
      {500, 100, 's'},
      {600, 300, 's'},
      {900, 100, 's'},
      {1000, 100, 's'},
      {1100, 100, 's'},
      {1200, 100, 's'},
      {1300, 100, 's'}},
     0,
     "startup steady@0 outlier@100 steady@400 outlier@600 steady@900 tail@1400"},
    {"two long ones of nine",
     {{0, 100, 's'},
      {100, 300, 's'},
      {400, 100, 's'},
      {500, 100, 's'},
      {600, 300, 's'},
      {900, 100, 's'},
      {1000, 100, 's'},
      {1100, 100, 's'},
      {1200, 100, 's'}},
     0,
     "startup steady@0 tail@1300"},
    /* a fifth from the median is alike */
    {"a first step of 121",
     {{0, 121, 'w'}, {130, 100, 's'}, {230, 100, 's'}},
     0,
     "startup warmup@0 steady@130 tail@330"},
    {"a first step of 120",
     {{0, 120, 'w'}, {130, 100, 's'}, {230, 100, 's'}},
     0,
     "startup steady@0 tail@330"},
    {"a first step of 80",
     {{0, 80, 'w'}, {130, 100, 's'}, {230, 100, 's'}},
     0,
     "startup steady@0 tail@330"},
    {"a first step of 79",
     {{0, 79, 'w'}, {130, 100, 's'}, {230, 100, 's'}},
     0,
     "startup warmup@0 steady@130 tail@330"},
    {"one that compiles, however alike",
     {{0, 100, 'c'}, {100, 100, 's'}, {200, 100, 's'}},
     0,
     "startup warmup@0 steady@100 tail@300"},
    {"one that compiles later",
     {{0, 100, 's'}, {100, 100, 'c'}, {200, 100, 's'}},
     0,
     "startup steady@0 outlier@100 steady@200 tail@300"},
    /* from step to step 100: a pause over 200 belongs to none */
    {"a pause of 201",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 100, 's'}, {501, 100, 's'}, {601, 100, 's'}},
     0,
     "startup steady@0 outlier@300 steady@501 tail@701"},
    {"a pause of 200",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 100, 's'}, {500, 100, 's'}, {600, 100, 's'}},
     0,
     "startup steady@0 tail@700"},
    {"one step", {{0, 100, 's'}}, 0, "startup steady@0 tail@100"},
    /* over half of the work after the last step: they are not its steps */
    {"work up to 600",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 100, 's'}},
     600,
     "startup steady@0 tail@300"},
    {"work up to 601",
     {{0, 100, 's'}, {100, 100, 's'}, {200, 100, 's'}},
     601,
     "startup steady@0 tail@601"},
};

/* A trace with one kernel from 0 to `end`. */
static struct nl_trace *worked(int64_t end)
{
    struct gputrace make;
    gputrace_open(&make);
    gputrace_kernel(&make, 7, "gemm", -1, 0, 0, end);
    return gputrace_close(&make);
}

static size_t fill_steps(const struct step *steps, struct nl_found_step *items)
{
    size_t count = 0;
    for (; count < 12 && steps[count].phase; count++)
        items[count] =
            (struct nl_found_step){.index = (int64_t)count,
                                   .start = steps[count].start * 1000,
                                   .end = (steps[count].start + steps[count].length) * 1000,
                                   .phase = steps[count].phase == 'w'   ? NL_STEP_WARM_UP
                                            : steps[count].phase == 'c' ? NL_STEP_COMPILE
                                                                        : NL_STEP_STEADY};
    return count;
}

/* Every moment from every hint, against looking at all cuts. */
static void check_finding(const struct nl_phases *phases, const struct nl_phase_group *group,
                          int64_t until)
{
    for (int64_t ts = -1; ts <= until; ts += 50000) {
        size_t want = group->first;
        for (size_t i = group->first; i < group->first + group->count; i++)
            want = phases->cuts[i].start <= ts ? i : want;
        for (size_t hint = 0; hint <= phases->cut_count; hint++)
            CHECK_INT(nl_phase_find(phases, group, ts, hint), want);
    }
}

static void say_cuts(const struct nl_phases *phases, const struct nl_phase_group *group,
                     struct nl_buf *out)
{
    nl_buf_text(out, nl_phase_name(phases->cuts[group->first].phase));
    CHECK_INT(phases->cuts[group->first].start, INT64_MIN);
    for (size_t i = group->first + 1; i < group->first + group->count; i++) {
        const struct nl_phase_cut *cut = &phases->cuts[i];
        CHECK_INT(cut->start % 1000, 0);
        CHECK_INT(nl_phase_end(phases, group, i - 1), cut->start);
        nl_buf_format(out, " %s@%lld", nl_phase_name(cut->phase), (long long)cut->start / 1000);
    }
    CHECK_INT(nl_phase_end(phases, group, group->first + group->count - 1), INT64_MAX);
    nl_buf_char(out, '\0');
}

/* Behind the steps stands one of another rank, `other` long, which is not to count. */
static void check_phases(const struct phase_case *it, int64_t other)
{
    struct nl_found_step items[13];
    size_t count = fill_steps(it->steps, items);
    int64_t after = items[count - 1].end;
    items[count] = (struct nl_found_step){
        .start = after, .end = after + other * 1000, .phase = NL_STEP_STEADY};
    struct nl_step_group groups[] = {
        {.rank = 0, .confidence = 1, .count = count},
        {.rank = 1, .confidence = 1, .first = count, .count = 1},
    };
    struct nl_found_steps found = {
        .items = items, .count = count + 1, .groups = groups, .group_count = 2};
    struct nl_trace *trace = worked(it->end ? it->end : items[count - 1].end / 1000);
    REQUIRE(trace);
    struct nl_api_roles roles;
    struct nl_phases phases;
    struct nl_buf said;
    nl_api_roles_init(&roles, trace);
    nl_phases_init(&phases, trace, &found, &roles);
    nl_buf_init(&said, 1000);
    const struct nl_phase_group *group = nl_phases_of(&phases, 0);
    say_cuts(&phases, group, &said);
    CHECK_TEXT(said.ptr, it->want);
    check_finding(&phases, group, 1500000);
    nl_buf_release(&said);
    nl_phases_release(&phases);
    nl_api_roles_release(&roles);
    nl_trace_free(trace);
}

static void limits_of_phases(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(phase_cases); i++) {
        check_case(phase_cases[i].what);
        check_phases(&phase_cases[i], 100);
        check_phases(&phase_cases[i], 5000);
    }
}

/* ---- Start-up without steps ---- */

struct piece {
    char kind; /* k kernel, c copy, or a call: l loads, b begins a capture, e ends one */
    int64_t start, length;
};

static const struct start_case {
    const char *what;
    struct piece pieces[5];
    int64_t steady; /* where start-up is over */
} start_cases[] = {
    {"a copy before the first kernel", {{'c', 0, 10}, {'k', 30, 970}}, 30},
    {"copies alone", {{'c', 5, 10}, {'c', 30, 970}}, 5},
    /* loading takes three tenths of the time since the first work */
    {"30 of 100", {{'k', 0, 10}, {'l', 70, 30}, {'k', 100, 900}}, 100},
    {"29 of 100", {{'k', 0, 10}, {'l', 71, 29}, {'k', 100, 900}}, 0},
    {"30 of 100, half of it twice",
     {{'k', 0, 10}, {'l', 70, 20}, {'l', 80, 20}, {'k', 100, 900}},
     100},
    {"before the first work it is not counted",
     {{'k', 100, 10}, {'l', 60, 60}, {'k', 200, 900}},
     120},
    {"nor behind the last", {{'k', 0, 20}, {'l', 20, 900}}, 0},
    /* from the call that begins a capture to the end of the one that ends it */
    {"a capture", {{'k', 0, 10}, {'b', 20, 1}, {'e', 99, 1}, {'k', 100, 900}}, 100},
    {"one that does not end", {{'k', 0, 10}, {'b', 20, 1}, {'k', 100, 900}}, 0},
    {"one that did not begin", {{'k', 0, 10}, {'e', 99, 1}, {'k', 100, 900}}, 0},
    /* gaps of a tenth of all, four fifths of the time so far, half of all */
    {"500 of the first 625", {{'k', 0, 125}, {'k', 625, 375}}, 625},
    {"500 of the first 626", {{'k', 0, 126}, {'k', 626, 374}}, 0},
    {"499 of 1000", {{'k', 0, 124}, {'k', 623, 377}}, 0},
    {"100 and 480", {{'k', 0, 10}, {'k', 110, 10}, {'k', 600, 400}}, 600},
    {"99 and 480", {{'k', 0, 10}, {'k', 109, 11}, {'k', 600, 400}}, 0},
};

static void make_piece(struct gputrace *make, const struct piece *it)
{
    static const struct gputrace_copy copy = {NL_COPY_HTOD, NL_MEMORY_PINNED, 4096, NULL};
    if (it->kind == 'k')
        gputrace_kernel(make, 7, "gemm", -1, 0, it->start, it->length);
    else if (it->kind == 'c')
        gputrace_copy(make, 7, copy, 0, 1, it->start, it->length);
    else
        gputrace_call(make,
                      it->kind == 'l'   ? "cuModuleLoadData"
                      : it->kind == 'b' ? "cudaStreamBeginCapture_v10000"
                                        : "cudaStreamEndCapture_v10000",
                      it->start, it->length);
}

static void limits_of_startup(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(start_cases); i++) {
        struct gputrace make;
        size_t count;
        int64_t steady = -1;
        gputrace_open(&make);
        for (size_t k = 0; k < 5 && start_cases[i].pieces[k].kind; k++)
            make_piece(&make, &start_cases[i].pieces[k]);
        struct nl_trace *trace = gputrace_close(&make);
        REQUIRE(trace);
        struct nl_api_roles roles;
        nl_api_roles_init(&roles, trace);
        struct nl_startup *spans = nl_startups(trace, &roles, &count);
        for (size_t k = 0; k < count; k++)
            if (spans[k].rank == 0)
                steady = spans[k].steady;
        check_case(start_cases[i].what);
        CHECK_INT(steady, start_cases[i].steady * 1000);
        nl_free(spans);
        nl_api_roles_release(&roles);
        nl_trace_free(trace);
    }
}

/* ---- Steps unlike the rest (timeline/stepphase.c) ---- */

/* Lengths in ns with what is loaded in them; phases before and after: s
 * steady, w warm-up, c compile. */
static const struct {
    const char *what;
    int64_t lengths[9], loads[9];
    const char *before, *after;
} unlike[] = {
    {"of three steps none", {500000, 100000, 100000}, {0}, "sss", "sss"},
    {"the first of four", {500000, 100000, 100000, 100000}, {0}, "ssss", "wsss"},
    /* 1 % of the median counts as what steps differ by: 3.5 % is the limit, to both sides */
    {"3.5 % longer", {103500, 100000, 100000, 100000, 100000}, {0}, "sssss", "sssss"},
    {"a little more", {103501, 100000, 100000, 100000, 100000}, {0}, "sssss", "wssss"},
    {"3.5 % shorter", {96500, 100000, 100000, 100000, 100000}, {0}, "sssss", "sssss"},
    {"a little less", {96499, 100000, 100000, 100000, 100000}, {0}, "sssss", "wssss"},
    /* median 100, median deviation 20: 3.5 * 1.4826 * 20 = 103.782 */
    {"203.781 where steps differ by 20",
     {203781, 80000, 80000, 100000, 100000, 100000, 120000, 120000},
     {0},
     "ssssssss",
     "ssssssss"},
    {"203.783 where steps differ by 20",
     {203783, 80000, 80000, 100000, 100000, 100000, 120000, 120000},
     {0},
     "ssssssss",
     "wsssssss"},
    {"three of seven", {900, 800, 700, 100, 100, 100, 100}, {0}, "sssssss", "wwwssss"},
    {"up to the first that is alike",
     {500, 100, 500, 100, 100, 100, 100},
     {0},
     "sssssss",
     "wssssss"},
    {"what is warm-up already is not looked at", {100, 500, 100, 100, 100}, {0}, "wssss", "wwsss"},
    {"of four with one of warming up none", {100, 500, 100, 100}, {0}, "wsss", "wsss"},
    /* a twentieth in loading */
    {"5 % of it", {100000, 100000, 100000, 100000}, {0, 5000, 0, 0}, "ssss", "scss"},
    {"less", {100000, 100000, 100000, 100000}, {0, 4999, 0, 0}, "ssss", "ssss"},
    {"in two of four", {100, 100, 100, 100}, {50, 50, 0, 0}, "ssss", "ccss"},
    {"in three of four: then every step does",
     {100, 100, 100, 100},
     {50, 50, 50, 0},
     "ssss",
     "ssss"},
    {"in one of warming up", {900, 100, 100, 100}, {450, 0, 0, 0}, "ssss", "csss"},
};

static enum nl_step_phase phase_told(char letter)
{
    return letter == 'w' ? NL_STEP_WARM_UP : letter == 'c' ? NL_STEP_COMPILE : NL_STEP_STEADY;
}

static void steps_unlike_the_rest(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(unlike); i++) {
        struct nl_found_step steps[9] = {0};
        size_t count = strlen(unlike[i].before);
        int64_t at = 1000;
        for (size_t k = 0; k < count; k++) {
            steps[k] = (struct nl_found_step){.start = at,
                                              .end = at + unlike[i].lengths[k],
                                              .load_ns = unlike[i].loads[k],
                                              .phase = phase_told(unlike[i].before[k])};
            at = steps[k].end + 10;
        }
        nl_steps_set_phases(steps, count);
        check_case(unlike[i].what);
        for (size_t k = 0; k < count; k++)
            CHECK_INT(steps[k].phase, phase_told(unlike[i].after[k]));
    }
}

CHECK_MAIN("phases", {"phases from steps", limits_of_phases},
           {"start-up without steps", limits_of_startup},
           {"steps unlike the rest", steps_unlike_the_rest})
