/*
 * Functions whose calls were not all recorded (tables/leftout.c): which limit coverage tells, who
 * reached it, and whose times are bounds. Times in microseconds, worked out by hand.
 */
#include "check.h"
#include "gputrace.h"

#include "base/mem.h"
#include "tables/leftout.h"

struct call {
    int process; /* 0 or 1 */
    const char *name;
    int64_t start, end;
};

struct told {
    const char *item, *detail;
};

static void add_calls(struct gputrace *make, const struct call *calls)
{
    uint32_t other = nl_builder_process(make->builder, make->source, 2);
    uint32_t lanes[2];
    for (int i = 0; i < 2; i++) {
        uint32_t process = i ? other : make->process;
        struct nl_lane_key key = {.kind = NL_LANE_PYTHON,
                                  .process = process,
                                  .thread = nl_builder_thread(make->builder, process, 10 + i),
                                  .device = NL_NULL_ROW,
                                  .context = NL_NULL_I64,
                                  .stream = NL_NULL_I64};
        lanes[i] = nl_builder_lane(make->builder, &key);
    }
    for (const struct call *call = calls; call->name; call++) {
        struct nl_slice_row slice = nl_slice_row();
        struct nl_python_row row = nl_python_row();
        slice.kind = NL_KIND_PYTHON;
        slice.lane = lanes[call->process];
        slice.name = nl_stage_name(make->stage, nl_str(call->name));
        slice.ts = call->start * 1000;
        slice.dur = (call->end - call->start) * 1000;
        row.slice = nl_stage_slice(make->stage, &slice);
        nl_stage_python(make->stage, &row);
    }
}

static struct nl_trace *trace_of(const struct call *calls, const struct told *told)
{
    struct gputrace make;
    gputrace_open(&make);
    for (; told->item; told++)
        nl_builder_coverage(make.builder, make.source, told->item, 1, told->detail);
    add_calls(&make, calls);
    return gputrace_close(&make);
}

/* "a at least;b at most;": of names with a bound, in the order of `names`. */
static void say(const struct nl_trace *trace, const uint8_t *bounds, const char *names, char *text)
{
    *text = '\0';
    for (; *names; names++)
        for (uint32_t id = 0; id < trace->names.count; id++) {
            char name[2] = {*names, '\0'};
            if (!nl_str_is(nl_trace_name(trace, id), name) || bounds[id] == NL_LEFT_NONE)
                continue;
            const char *bound = nl_left_text((enum nl_left)bounds[id]);
            text += sprintf(text, "%s %s;", name, bound);
        }
}

#define THREE                                                                                      \
    {                                                                                              \
        {                                                                                          \
            "not recorded: Python calls", "of a beyond its first 3"                                \
        }                                                                                          \
    }
#define A_THREE                                                                                    \
    {0, "a", 10, 15}, {0, "a", 20, 25},                                                            \
    {                                                                                              \
        0, "a", 30, 35                                                                             \
    }

static const struct {
    const char *what;
    struct call calls[12];
    struct told told[3];
    const char *want; /* NULL: no limit was reached */
} cases[] = {
    {"nothing is told", {A_THREE}, {{NULL, NULL}}, NULL},
    {"something else is told", {A_THREE}, {{"dropped", "beyond its first 3"}}, NULL},
    {"no number", {A_THREE}, {{"Python calls", "beyond its first x"}}, NULL},
    {"the third call reaches it", {A_THREE}, THREE, "a at least;"},
    {"two calls do not", {{0, "a", 10, 15}, {0, "a", 20, 25}}, THREE, ""},
    {"four do", {A_THREE, {0, "a", 40, 45}}, THREE, "a at least;"},
    {"in the words of the other way",
     {A_THREE},
     {{"x", "Python calls of functions called more than 3 times"}},
     "a at least;"},
    {"of two limits the least",
     {{0, "a", 10, 15}, {0, "a", 20, 25}},
     {{"Python calls", "beyond its first 3"}, {"other Python calls", "beyond its first 2"}},
     "a at least;"},
    {"in any order",
     {{0, "a", 10, 15}, {0, "a", 20, 25}},
     {{"other Python calls", "beyond its first 2"}, {"Python calls", "called more than 3"}},
     "a at least;"},
    /* a is cut from 30 on: what ended by then holds none that is missing */
    {"calls around it",
     {A_THREE, {0, "b", 0, 100}, {0, "c", 0, 30}, {0, "d", 0, 31}, {0, "e", 32, 33}},
     THREE,
     "a at least;b at most;d at most;e at most;"},
    {"one of several calls",
     {A_THREE, {0, "b", 0, 5}, {0, "b", 6, 90}},
     THREE,
     "a at least;b at most;"},
    {"another process", {A_THREE, {1, "b", 0, 100}, {1, "a", 40, 50}}, THREE, "a at least;"},
    {"both processes",
     {A_THREE, {1, "b", 1, 2}, {1, "b", 3, 4}, {1, "b", 5, 6}, {1, "c", 0, 6}, {1, "d", 0, 5}},
     THREE,
     "a at least;b at least;c at most;"},
    /* f is cut from 50 on, behind a: all its later calls may hold a's; a's
     * may hold f's from 50 on */
    {"two that reach it",
     {A_THREE, {0, "f", 40, 41}, {0, "f", 45, 46}, {0, "f", 50, 51}},
     THREE,
     "a at least;f first calls;"},
    {"two that hold each other",
     {{0, "a", 10, 15},
      {0, "a", 20, 25},
      {0, "a", 30, 60},
      {0, "f", 40, 41},
      {0, "f", 45, 46},
      {0, "f", 50, 51}},
     THREE,
     "a first calls;f first calls;"},
    {"two, the first over by then",
     {{0, "a", 10, 15},
      {0, "a", 20, 25},
      {0, "a", 30, 50},
      {0, "f", 40, 41},
      {0, "f", 45, 46},
      {0, "f", 50, 51}},
     THREE,
     "a at least;f first calls;"},
    {"the one told last reaches it first",
     {{0, "f", 40, 41}, {0, "f", 45, 46}, {0, "f", 50, 51}, A_THREE, {0, "b", 0, 40}},
     THREE,
     "a at least;b at most;f first calls;"},
};

static void who_is_bounded(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_trace *trace = trace_of(cases[i].calls, cases[i].told);
        char said[256] = "";
        check_case(cases[i].what);
        REQUIRE(trace);
        uint8_t *bounds = nl_left_out(trace);
        CHECK_INT(bounds != NULL, cases[i].want != NULL);
        if (bounds)
            say(trace, bounds, "abcdef", said);
        CHECK_TEXT(said, cases[i].want ? cases[i].want : "");
        nl_free(bounds);
        nl_trace_free(trace);
    }
}

CHECK_MAIN("leftout", {"whose times are bounds", who_is_bounded})
