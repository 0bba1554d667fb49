/* small_kernels — how many kernels, and how much kernel time, are under 10
 * µs (nsys-ai, TraceLens). */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "timeline/groupstats.h"

#define SMALL_NS 10000

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(kernels, NULL, COUNT)                                                                        \
    C(small, "under 10 µs", COUNT)                                                                 \
    C(small_share, "of kernels", SHARE)                                                            \
    C(small_ns, "their time", NS)                                                                  \
    C(small_time_share, "of time", SHARE)                                                          \
    C(median_ns, "median kernel", NS)                                                              \
    C(shorter_than_launch, "shorter than their launch call", COUNT)
NL_COLUMNS(COLUMNS);

struct tally {
    int64_t *durations;
    size_t count, cap;
    uint64_t small, shorter;
    int64_t small_ns, total_ns;
};

static void tally_kernels(struct tally *tallies, const struct nl_scope *scope,
                          const struct nl_places *places)
{
    const struct nl_trace *trace = scope->trace;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row], launch = trace->slice.link[slice];
        uint32_t place = places->lane_place[trace->slice.lane[slice]];
        int64_t dur = nl_scope_length(scope, slice);
        if (dur < 0 || place == NL_NULL_ROW)
            continue;
        struct tally *tally = &tallies[place];
        nl_grow(&tally->durations, &tally->cap, tally->count + 1);
        tally->durations[tally->count++] = dur;
        nl_sum_add(&tally->total_ns, dur);
        tally->small += dur < SMALL_NS;
        nl_sum_add(&tally->small_ns, dur < SMALL_NS ? dur : 0);
        tally->shorter += launch != NL_NULL_ROW && trace->slice.kind[launch] == NL_KIND_API &&
                          dur < trace->slice.dur[launch];
    }
}

static struct nl_result *small_kernels_run(const struct nl_trace *trace,
                                           const struct nl_analyze_options *options,
                                           struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct tally *tallies = nl_zalloc((places.count + 1) * sizeof *tallies);
    tally_kernels(tallies, &scope, &places);
    struct nl_result *result = NL_ANSWER_NEW("small_kernels", NULL, columns);
    for (size_t i = 0; i < places.count; i++) {
        struct tally *tally = &tallies[i];
        if (tally->count) {
            struct nl_cell *cells = nl_result_row(result);
            cells[AT_rank] = nl_cell_i64(places.items[i].rank);
            cells[AT_device] = nl_cell_i64(places.items[i].ordinal);
            cells[AT_kernels] = nl_cell_count(tally->count);
            cells[AT_small] = nl_cell_count(tally->small);
            cells[AT_small_share] = nl_cell_share((int64_t)tally->small, (int64_t)tally->count);
            cells[AT_small_ns] = nl_cell_i64(tally->small_ns);
            cells[AT_small_time_share] = nl_cell_share(tally->small_ns, tally->total_ns);
            cells[AT_median_ns] =
                nl_cell_f64(nl_stats_of(tally->durations, tally->count).median_ns);
            cells[AT_shorter_than_launch] = nl_cell_count(tally->shorter);
        }
        nl_free(tally->durations);
    }
    nl_free(tallies);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_small_kernels = {
    .name = "small_kernels",
    .key = "small_kernels",
    .title = "Small kernels",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = small_kernels_run,
    .doc = "Per rank and device: kernels under 10 µs, their share of all kernels and of all kernel "
           "time, the median kernel, and kernels shorter than the call that launched them. Small "
           "kernels cost something only where the queue runs empty: see idle and queue.",
};
