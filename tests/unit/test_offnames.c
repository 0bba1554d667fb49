/* In which slices threads are off the processors (timeline/offnames.h), on one thread whose runs
 * on a processor are written down in µs. */
#include "base/mem.h"
#include "check.h"
#include "gputrace.h"
#include "timeline/offnames.h"

#define MAX_RUNS   4
#define MAX_SLICES 4

struct piece {
    const char *name; /* NULL: no more */
    int64_t us, dur_us;
    int what; /* of a run: flags; of a slice: kind */
};

struct off_case {
    const char *says;
    struct piece runs[MAX_RUNS + 1], slices[MAX_SLICES + 1];
    const char *off; /* names that are marked, with blanks between */
};

#define WAITS   NL_SLICE_WAITS
#define READY   NL_SLICE_READY
#define GENERIC NL_KIND_GENERIC

static struct nl_trace *make_trace(const struct off_case *it)
{
    struct gputrace make;
    gputrace_open(&make);
    uint32_t lane = gputrace_lane(&make, NL_LANE_SCHED, -1);
    for (const struct piece *slice = it->slices; slice->name; slice++)
        gputrace_slice(&make, (enum nl_kind)slice->what, make.calls, slice->name, slice->us,
                       slice->dur_us);
    for (const struct piece *run = it->runs; run->name; run++) {
        struct nl_slice_row row = nl_slice_row();
        row.kind = NL_KIND_SCHED;
        row.lane = lane;
        row.name = nl_stage_name(make.stage, nl_str(run->name));
        row.ts = run->us * 1000;
        row.dur = run->dur_us * 1000;
        row.flags = (uint8_t)run->what;
        nl_stage_slice(make.stage, &row);
    }
    return gputrace_close(&make);
}

static void put_marked(char *out, size_t room, const struct nl_trace *trace)
{
    uint8_t *marks = nl_zalloc((size_t)trace->names.count + 1);
    nl_mark_off_names(trace, marks, 7);
    out[0] = '\0';
    for (uint32_t i = 0; i < trace->names.count; i++) {
        struct nl_str name = nl_trace_name(trace, i);
        size_t length = strlen(out);
        if (marks[i])
            snprintf(out + length, room - length, "%s%.*s%s", length ? " " : "", (int)name.len,
                     name.ptr, marks[i] == 7 ? "" : "?");
    }
    nl_free(marks);
}

static void marks_what_waits(void)
{
    static const struct off_case cases[] = {
        {"nine tenths of its time",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 55, 100, GENERIC}, {"b", 160, 40, GENERIC}},
         "a"},
        {"less",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 54, 101, GENERIC}, {"b", 160, 40, GENERIC}},
         ""},
        {"why it left is not known",
         {{"CPU 0", 0, 60, 0}, {"CPU 1", 150, 60, 0}},
         {{"a", 55, 100, GENERIC}, {"b", 160, 40, GENERIC}},
         "a"},
        {"ready to run",
         {{"CPU 0", 0, 60, READY}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 55, 100, GENERIC}, {"b", 160, 40, GENERIC}},
         ""},
        {"before the first run and after the last nothing is known",
         {{"CPU 0", 100, 50, WAITS}, {"CPU 1", 200, 10, WAITS}},
         {{"a", 0, 90, GENERIC}, {"b", 110, 30, GENERIC}, {"c", 215, 90, GENERIC}},
         ""},
        {"the caller's wait is its own, the work inside is not",
         {{"CPU 0", 0, 10, WAITS}, {"CPU 1", 100, 100, WAITS}, {"CPU 1", 300, 10, WAITS}},
         {{"caller", 10, 290, GENERIC}, {"work", 100, 100, GENERIC}},
         "caller"},
        {"a wait inside is not the caller's",
         {{"CPU 0", 0, 100, WAITS}, {"CPU 1", 200, 100, WAITS}},
         {{"caller", 10, 280, GENERIC}, {"inside", 100, 100, GENERIC}},
         "inside"},
        {"several gaps",
         {{"CPU 0", 0, 10, WAITS}, {"CPU 0", 50, 5, WAITS}, {"CPU 0", 100, 60, WAITS}},
         {{"a", 5, 100, GENERIC}, {"b", 110, 40, GENERIC}},
         ""},
        {"several gaps, fewer runs",
         {{"CPU 0", 0, 10, WAITS}, {"CPU 0", 50, 5, WAITS}, {"CPU 0", 100, 60, WAITS}},
         {{"a", 10, 90, GENERIC}, {"b", 110, 40, GENERIC}},
         "a"},
        {"names that say so are judged by their name",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"time.sleep", 60, 90, GENERIC}, {"b", 160, 40, GENERIC}},
         ""},
        {"operators are not meant",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 60, 90, NL_KIND_OP}, {"b", 160, 40, GENERIC}},
         ""},
        {"nor names that are of operators, too",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 60, 90, GENERIC}, {"a", 155, 5, NL_KIND_OP}, {"b", 160, 40, GENERIC}},
         ""},
        {"nothing else would be left",
         {{"CPU 0", 0, 60, WAITS}, {"CPU 1", 150, 60, WAITS}},
         {{"a", 60, 90, GENERIC}},
         ""},
        {"no switches", {{0}}, {{"a", 60, 90, GENERIC}, {"b", 160, 40, GENERIC}}, ""},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char marked[200];
        check_case(cases[i].says);
        struct nl_trace *trace = make_trace(&cases[i]);
        REQUIRE(trace);
        put_marked(marked, sizeof marked, trace);
        CHECK_TEXT(marked, cases[i].off);
        nl_trace_free(trace);
    }
    check_case(NULL);
}

CHECK_MAIN("offnames", {"marks what waits", marks_what_waits})
