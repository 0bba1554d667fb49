/*
 * Windows looked up in a profile (timeline/window.c): steps and ranges by their numbers and
 * names, from the first to the last, what is left when several hold, ends that are open, and what
 * is said where nothing is.
 */
#include "nsysmake.h"

#include "check.h"

#include "loadtext.h"
#include "timeline/window.h"
#include "ingest/formats.h"

#define STEP(number, ts, dur)                                                                      \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" #number                   \
    "\",\"pid\":1,\"tid\":1,\"ts\":" #ts ",\"dur\":" #dur "},"

/* From 10 µs to 100 µs; steps 3 to 5, of which 4 is there twice; rank 2; device 1. */
static const char steps[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":1,\"name\":\"G\"}],"
    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":2,\"world_size\":4},\"traceEvents\":["
    "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":1}," STEP(3, 20, 10)
        STEP(4, 30, 15) STEP(4, 60, 10) STEP(
            5, 70, 20) "{\"ph\":\"X\",\"name\":\"z\",\"pid\":1,\"tid\":1,\"ts\":95,\"dur\":5}]}";

static struct nl_err err;

static struct nl_trace *load(const char *text)
{
    return loadtext(&nl_format_kineto, text, strlen(text), 1, &err);
}

struct wanted {
    const char *words;
    int64_t start, end; /* µs since the first event; equal: the window has no time */
    const char *why;    /* NULL: it is a good one */
};

static void look_up(const struct nl_trace *trace, const struct wanted *want, bool absolute,
                    int64_t origin, char *note)
{
    struct nl_window_words words;
    struct nl_window window;
    struct nl_arena arena;
    nl_arena_init(&arena);
    nl_err_clear(&err);
    check_case(want->words);
    bool parsed = nl_window_parse(nl_str(want->words), &words, &arena, &err);
    CHECK(parsed);
    bool done = parsed && nl_window_resolve(&words, trace, absolute, &window, note, &err);
    CHECK_INT(done, want->why == NULL);
    if (want->why) {
        bool same = strncmp(err.text, want->why, strlen(want->why)) == 0;
        CHECK(same);
        if (!same)
            printf("    %s\n", err.text);
    } else if (done) {
        CHECK_INT(window.has_time, want->start != want->end);
        if (window.has_time) {
            CHECK_INT(window.start, origin + want->start * 1000);
            CHECK_INT(window.end, origin + want->end * 1000);
        }
    }
    nl_arena_free(&arena);
}

static void steps_and_times(void)
{
    static const struct wanted cases[] = {
        {"step=3", 10, 20, NULL},
        {"step=4", 20, 60, NULL}, /* from the first of that number to the last */
        {"step=5", 60, 80, NULL},
        {"step=3:5", 10, 60, NULL},
        {"step=3:6", 10, 80, NULL},
        {"step=4:", 20, 80, NULL},
        {"step=:4", 10, 20, NULL},
        {"step=0:100", 10, 80, NULL},
        {"step=2", 0, 0, "window: no such step; the profile has 3 to 5"},
        {"step=6", 0, 0, "window: no such step; the profile has 3 to 5"},
        {"step=6:", 0, 0, "window: no such step; the profile has 3 to 5"},
        {"step=:3", 0, 0, "window: no such step; the profile has 3 to 5"},
        {"0us:5us", 0, 5, NULL},
        {"5us:", 5, 90, NULL},
        {":5us", 0, 5, NULL},
        {"0us:90us", 0, 90, NULL},
        {"0us:900us", 0, 90, NULL},
        {"89us:", 89, 90, NULL},
        {"90us:", 0, 0, "window: it contains nothing; the profile is 90"},
        {"5us:15us,step=3", 10, 15, NULL},
        {"15us:500us,step=3", 15, 20, NULL},
        {"20us:30us,step=3", 0, 0, "window: it contains nothing"},
        {"0us:10us,step=3", 0, 0, "window: it contains nothing"},
        {"19us:30us,step=3", 19, 20, NULL},
        {"rank=2", 0, 0, NULL},
        {"rank=2,step=3", 10, 20, NULL},
        {"rank=1", 0, 0, "window: the profile has no rank 1; info lists the ranks"},
        {"gpu=1", 0, 0, NULL},
        {"gpu=0", 0, 0, "window: the profile has no device 0; info lists the devices"},
        {"nvtx=x", 0, 0, "window: no range matches nvtx=\"x\" (of 4)"},
        {"nvtx=ProfilerStep*", 10, 80, NULL},
    };
    struct nl_trace *trace = load(steps);
    REQUIRE(trace);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        look_up(trace, &cases[i], false, trace->first_ts, NULL);
    static const struct wanted absolute = {"15us:25us", 15, 25, NULL};
    if (trace->first_ts == 10000) /* as recorded */
        look_up(trace, &absolute, true, 0, NULL);
    nl_trace_free(trace);
    trace = load("[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":1}]");
    REQUIRE(trace);
    static const struct wanted none = {"step=0", 0, 0,
                                       "window: the profile has no steps, marked or detected"};
    look_up(trace, &none, false, trace->first_ts, NULL);
    nl_trace_free(trace);
}

static void ranges(void)
{
    static const struct wanted cases[] = {
        {"nvtx=forward", 0, 10, NULL},
        {"nvtx=\"forward\"", 0, 10, NULL},
        {"nvtx=back*", 20, 50, NULL},
        {"nvtx=backward 1", 20, 30, NULL},
        {"nvtx=*", 0, 60, NULL},
        {"nvtx=?orward", 0, 10, NULL},
        {"nvtx=back*,25us:", 25, 50, NULL},
        {"nvtx=backward", 0, 0, "window: no range matches"},
    };
    char note[NL_WINDOW_NOTE];
    struct nl_trace *trace = nsysmake_load(
        nsysmake(
            "window.sqlite",
            "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
            " globalTid INTEGER, domainId INTEGER);"
            "INSERT INTO NVTX_EVENTS VALUES(1000,11000,59,'forward',83886085,0),"
            "(21000,31000,59,'backward 1',83886085,0),(41000,51000,59,'backward 2',83886085,0),"
            "(60000,61000,59,'end',83886085,0);"),
        DBFILE_FASTEST, 1, &err);
    REQUIRE(trace);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        look_up(trace, &cases[i], false, trace->first_ts, note);
        bool several = cases[i].start != cases[i].end && strchr(cases[i].words, '*');
        CHECK_INT(note[0] != 0, several);
    }
    look_up(trace, &cases[2], false, trace->first_ts, note);
    CHECK_TEXT(note, "nvtx=\"back*\" matches 2 ranges; the window is from the first to the last");
    nl_trace_free(trace);
}

CHECK_MAIN("window", {"steps and times", steps_and_times}, {"ranges", ranges})
