/*
 * pagekernels — distributions: how long the instances of each of the kernels took that take most
 * time. Bins grow by 2^(1/4), 19 %, so that fast and slow modes of one kernel are distinct wherever
 * they are.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/sum.h"
#include "pages/pagepart.h"
#include "tables/scope.h"
#include "tables/shortname.h"
#include "timeline/groupstats.h"

#define MAX_KERNELS  40
#define BINS         256 /* 2^64 ns */
#define PER_DOUBLING 4

static unsigned bin_of(int64_t dur)
{
    double place = dur > 1 ? log2((double)dur) * PER_DOUBLING : 0;
    return place < BINS - 1 ? (unsigned)place : BINS - 1;
}

static void put_kernel(struct nl_json *json, const struct nl_trace *trace,
                       const struct nl_group_stats *stats, const uint32_t *bins)
{
    struct nl_buf name;
    unsigned first = bin_of(stats->min_ns), last = bin_of(stats->max_ns);
    nl_buf_init(&name, 4096);
    nl_elide_name(&name, nl_short_kernel(nl_trace_name(trace, stats->name)), NL_MAX_PAGE_NAME);
    nl_json_open(json, '{');
    nl_json_key(json, "name");
    nl_json_str(json, (struct nl_str){name.ptr ? name.ptr : "", name.len});
    nl_json_put_u64(json, "count", stats->count, true);
    nl_json_put_i64(json, "total_ns", stats->total_ns, true);
    nl_json_put_i64(json, "min_ns", stats->min_ns, true);
    nl_json_put_i64(json, "median_ns", nl_whole_i64(stats->median_ns), true);
    nl_json_put_i64(json, "p95_ns", nl_whole_i64(stats->p95_ns), true);
    nl_json_put_i64(json, "max_ns", stats->max_ns, true);
    nl_json_put_u64(json, "first_bin", first, true);
    nl_json_key(json, "bins");
    nl_json_open(json, '[');
    for (unsigned bin = first; bin <= last; bin++)
        nl_json_u64(json, bins[bin]);
    nl_json_close(json, ']');
    nl_json_close(json, '}');
    nl_buf_release(&name);
}

void nl_page_kernels(struct nl_json *json, const struct nl_page_source *source)
{
    const struct nl_trace *trace = source->trace;
    size_t count = 0;
    struct nl_group_stats *stats = nl_name_stats(trace, source->window, NL_KIND_KERNEL, &count);
    size_t shown = count < MAX_KERNELS ? count : MAX_KERNELS;
    uint32_t *places = nl_zalloc((trace->names.count + (size_t)1) * sizeof *places);
    uint32_t *bins = nl_zalloc((shown * BINS + 1) * sizeof *bins);
    struct nl_scope scope;
    nl_scope_init(&scope, trace, source->window);
    for (size_t i = 0; i < shown; i++)
        places[stats[i].name] = (uint32_t)i + 1;
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        uint32_t place = slice == NL_NULL_ROW ? 0 : places[trace->slice.name[slice]];
        int64_t dur = place ? nl_scope_length(&scope, slice) : -1;
        if (dur >= 0)
            bins[(place - 1) * BINS + bin_of(dur)]++;
    }
    nl_json_key(json, "kernels");
    nl_json_open(json, '[');
    for (size_t i = 0; i < shown; i++)
        put_kernel(json, trace, &stats[i], &bins[i * BINS]);
    nl_json_close(json, ']');
    nl_scope_release(&scope);
    nl_free(stats);
    nl_free(places);
    nl_free(bins);
}
