/* replays — see replays.h. */
#include "timeline/replays.h"

#include "base/mem.h"
#include "timeline/nametest.h"

#define MIN_LAUNCHES 3    /* the work of the last may be after the end of the recording */
#define MAX_UNLINKED 0.05 /* of the kernels: more without a launch may well be those of graphs */

/* Of one process: its launches of graphs, and kernels by what launched them. */
struct feed {
    uint64_t launches, of_graphs, linked, unlinked;
};

/* The last one is of launches whose process is not known. */
static struct feed *feed_of(const struct nl_trace *trace, struct feed *feeds, uint32_t slice)
{
    uint32_t process = nl_slice_process(trace, slice);
    return &feeds[process < trace->process.rows ? process : trace->process.rows];
}

static bool count_launches(const struct nl_trace *trace, struct nl_name_test *launches,
                           struct feed *feeds)
{
    bool enough = false;
    for (uint32_t row = 0; row < trace->api.rows; row++)
        if (nl_name_has(launches, trace->slice.name[trace->api.slice[row]]))
            enough |= ++feed_of(trace, feeds, trace->api.slice[row])->launches >= MIN_LAUNCHES;
    return enough;
}

/* A kernel without a launch may be that of any process of its rank. */
static void count_unlinked(const struct nl_trace *trace, struct feed *feeds, uint32_t slice)
{
    int64_t rank = nl_slice_rank(trace, slice);
    for (uint32_t process = 0; process <= trace->process.rows; process++)
        if (feeds[process].launches &&
            (process == trace->process.rows || rank == NL_NULL_I64 ||
             trace->process.rank[process] == NL_NULL_I64 || trace->process.rank[process] == rank))
            feeds[process].unlinked++;
}

static void count_kernels(const struct nl_trace *trace, struct nl_name_test *launches,
                          struct feed *feeds)
{
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row], launch = trace->slice.link[slice];
        if (launch == NL_NULL_ROW || trace->slice.kind[launch] != NL_KIND_API) {
            count_unlinked(trace, feeds, slice);
            continue;
        }
        struct feed *feed = feed_of(trace, feeds, launch);
        feed->linked++;
        feed->of_graphs += trace->kernel.graph[row] != NL_NULL_U64 ||
                           nl_name_has(launches, trace->slice.name[launch]);
    }
}

static uint64_t unrecorded(const struct feed *feed)
{
    double all = (double)feed->linked + (double)feed->unlinked;
    bool missing = feed->launches >= MIN_LAUNCHES && feed->linked && !feed->of_graphs &&
                   (double)feed->unlinked <= MAX_UNLINKED * all;
    return missing ? feed->launches : 0;
}

uint64_t *nl_replays_by_process(const struct nl_trace *trace)
{
    if (trace->graph.rows || !trace->api.rows || !trace->kernel.rows)
        return NULL;
    struct feed *feeds = nl_zalloc(((size_t)trace->process.rows + 1) * sizeof *feeds);
    struct nl_name_test launches;
    uint64_t *counts = NULL, all = 0;
    nl_name_test_init(&launches, trace, "GraphLaunch");
    if (count_launches(trace, &launches, feeds)) {
        counts = nl_alloc(((size_t)trace->process.rows + 1) * sizeof *counts);
        count_kernels(trace, &launches, feeds);
        for (uint32_t row = 0; row <= trace->process.rows; row++)
            all += counts[row] = unrecorded(&feeds[row]);
    }
    nl_name_test_release(&launches);
    nl_free(feeds);
    if (all)
        return counts;
    nl_free(counts);
    return NULL;
}

uint64_t nl_replays_unrecorded(const struct nl_trace *trace, uint32_t process)
{
    uint64_t *counts = nl_replays_by_process(trace), count = 0;
    for (uint32_t row = 0; counts && row <= trace->process.rows; row++)
        if (process == NL_NULL_ROW || row == process)
            count += counts[row];
    nl_free(counts);
    return count;
}
