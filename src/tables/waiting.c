/* The line in front of a stream, see waiting.h. */
#include "tables/waiting.h"

#include "base/mem.h"
#include "base/sort.h"

void nl_waiting_add(struct nl_waiting *line, const struct nl_trace *trace, uint32_t slice,
                    uint32_t launch)
{
    int64_t called = trace->slice.ts[launch], started = trace->slice.ts[slice];
    nl_grow(&line->enters, &line->enter_cap, line->count + 1);
    nl_grow(&line->leaves, &line->leave_cap, line->count + 1);
    line->enters[line->count] = called < started ? called : started;
    line->leaves[line->count++] = started;
}

void nl_waiting_begin(struct nl_waiting *line, struct nl_waiting_walk *walk)
{
    nl_sort_i64(line->enters, line->count);
    nl_sort_i64(line->leaves, line->count);
    *walk = (struct nl_waiting_walk){.now = line->count ? line->enters[0] : 0};
}

bool nl_waiting_next(const struct nl_waiting *line, struct nl_waiting_walk *walk)
{
    if (walk->out == line->count)
        return false;
    bool enters = walk->in < line->count &&
                  (walk->in == walk->out || line->enters[walk->in] < line->leaves[walk->out]);
    int64_t now = enters ? line->enters[walk->in] : line->leaves[walk->out];
    walk->length = walk->in - walk->out;
    walk->ns = now - walk->now;
    walk->now = now;
    walk->in += enters;
    walk->out += !enters;
    return true;
}

void nl_waiting_release(struct nl_waiting *line)
{
    nl_free(line->enters);
    nl_free(line->leaves);
}
