/*
 * Which processes of a profile without device work are judged: those with the longest account, at
 * most so many, none that was there for under a tenth of the longest.
 */
#include "check.h"
#include "gputrace.h"

#include "base/mem.h"
#include "findings/scene.h"
#include "tables/memo.h"

#define MOST 64 /* processes */

/* A process per length, in µs, each an operator on a thread of its own. */
static struct nl_trace *processes(const int64_t *lengths, size_t count)
{
    struct gputrace make = {.builder = nl_builder_new(NULL)};
    make.source = nl_builder_source(make.builder, "made-up.json", "made-up");
    make.stage = nl_stage_new(make.builder);
    nl_stage_begin(make.stage, make.source, 0);
    for (size_t i = 0; i < count; i++) {
        make.process = nl_builder_process(make.builder, make.source, (int64_t)i + 1);
        make.thread = nl_builder_thread(make.builder, make.process, (int64_t)i + 1);
        make.calls = gputrace_lane(&make, NL_LANE_THREAD, -1);
        gputrace_op(&make, "work", 10, lengths[i]);
    }
    return gputrace_close(&make);
}

/* `want`: lengths of the processes that are judged, in µs, in the order of the processes. */
static void judges(const char *what, const int64_t *lengths, size_t count, const int64_t *want,
                   size_t wanted)
{
    struct nl_trace *trace = processes(lengths, count);
    struct nl_analyze_options options = {0};
    struct nl_scenes scenes = {0};
    struct nl_arena arena;
    check_case(what);
    REQUIRE(trace);
    nl_arena_init(&arena);
    options.memo = nl_memo_new(trace, &options.window);
    nl_scenes_init_cpu(&scenes, trace, &options, &arena);
    CHECK_INT(scenes.count, wanted);
    for (size_t i = 0; i < scenes.count && i < wanted; i++)
        CHECK_INT(scenes.items[i].wall_ns, want[i] * 1000);
    nl_scenes_release(&scenes);
    nl_memo_free(options.memo);
    nl_arena_free(&arena);
    nl_trace_free(trace);
}

static void judges_the_longest(void)
{
    static const int64_t tenth[] = {99, 1000, 100, 500}, of_tenth[] = {1000, 100, 500};
    judges("a tenth of the longest is judged", tenth, 4, of_tenth, 3);
    int64_t many[MOST + 2], longest[MOST + 2];
    size_t kept = 0;
    for (size_t i = 0; i < MOST + 2; i++) /* the two shortest are the last but one, and the first */
        many[i] = i == 0 ? 901 : i == MOST ? 900 : 910 + (int64_t)i;
    for (size_t i = 0; i < MOST + 2; i++)
        if (i != 0 && i != MOST)
            longest[kept++] = many[i];
    judges("so many", many, MOST + 2, longest, kept);
}

CHECK_MAIN("cpuscene", {"judges the longest", judges_the_longest})
