/* otherswork — see otherswork.h. */
#include "answer/otherswork.h"

#include "tables/scope.h"
#include "timeline/interval.h"
#include "timeline/waitname.h"

/* Times of one thread; of all of them the waits for `name` and the work. */
struct times {
    struct nl_scope scope;
    struct nl_wait_names waits;
    uint32_t name;
    struct nl_intervals there, waiting, named, work;
};

static void add_lane(struct times *times, uint32_t lane)
{
    const struct nl_trace *trace = times->scope.trace;
    uint32_t first = trace->lane.first[lane];
    for (uint32_t row = first; row < first + trace->lane.count[lane]; row++) {
        int64_t start, end;
        if (!nl_scope_slice(&times->scope, row, &start, &end))
            continue;
        if (trace->slice.depth[row] == 0)
            nl_intervals_add(&times->there, start, end);
        if (nl_wait_names_has(&times->waits, trace->slice.name[row]))
            nl_intervals_add(&times->waiting, start, end);
        if (trace->slice.name[row] == times->name)
            nl_intervals_add(&times->named, start, end);
    }
}

static void add_thread(struct times *times, uint32_t thread)
{
    const struct nl_trace *trace = times->scope.trace;
    struct nl_intervals worked;
    times->there.count = times->waiting.count = 0;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        if (trace->lane.thread[lane] == thread && trace->lane.kind[lane] != NL_LANE_ASYNC)
            add_lane(times, lane);
    nl_intervals_normalise(&times->there);
    nl_intervals_normalise(&times->waiting);
    nl_intervals_init(&worked);
    nl_intervals_subtract(&times->there, &times->waiting, &worked);
    for (size_t i = 0; i < worked.count; i++)
        nl_intervals_add(&times->work, worked.items[i].start, worked.items[i].end);
    nl_intervals_release(&worked);
}

int64_t nl_others_work(const struct nl_trace *trace, const struct nl_window *window, uint32_t name)
{
    struct times times = {.name = name};
    struct nl_intervals *sets[] = {&times.there, &times.waiting, &times.named, &times.work};
    nl_scope_init(&times.scope, trace, window);
    nl_wait_names_init(&times.waits, trace);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        nl_intervals_init(sets[i]);
    for (uint32_t thread = 0; thread < trace->thread.rows; thread++)
        add_thread(&times, thread);
    nl_intervals_normalise(&times.named);
    nl_intervals_normalise(&times.work);
    int64_t both = nl_intervals_overlap(&times.named, &times.work);
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        nl_intervals_release(sets[i]);
    nl_wait_names_release(&times.waits);
    nl_scope_release(&times.scope);
    return both;
}
