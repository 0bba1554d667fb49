/* replays — see replays.h. */
#include "timeline/replays.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/str.h"

#define LEAST_LAUNCHES 3 /* the work of the last may lie behind the end of the recording */

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static bool has(const uint64_t *numbers, size_t count, uint64_t number)
{
    return number != NL_NULL_U64 && count &&
           bsearch(&number, numbers, count, sizeof number, by_number);
}

/* Numbers of launches of graphs, sorted. */
static size_t graph_numbers(const struct nl_trace *trace, uint64_t *numbers)
{
    size_t count = 0;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->slice.name[trace->api.slice[row]]);
        if (trace->api.correlation[row] != NL_NULL_U64 && nl_str_contains(name, "GraphLaunch"))
            numbers[count++] = trace->api.correlation[row];
    }
    if (count)
        qsort(numbers, count, sizeof *numbers, by_number);
    return count;
}

uint64_t nl_replays_unrecorded(const struct nl_trace *trace)
{
    if (trace->graph.rows || !trace->api.rows || !trace->kernel.rows)
        return 0;
    uint64_t *numbers = nl_alloc((size_t)trace->api.rows * sizeof *numbers);
    size_t count = graph_numbers(trace, numbers);
    bool recorded = count < LEAST_LAUNCHES, joined = false;
    for (uint32_t row = 0; row < trace->kernel.rows && !recorded; row++) {
        recorded = has(numbers, count, trace->kernel.correlation[row]) ||
                   trace->kernel.graph[row] != NL_NULL_U64;
        joined = joined || trace->kernel.correlation[row] != NL_NULL_U64;
    }
    nl_free(numbers);
    return recorded || !joined ? 0 : count;
}
