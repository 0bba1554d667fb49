/*
 * kernel_classes — per rank, device and class of kernel: how many, their summed time, and the time
 * at least one of them ran (union).
 */
#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(class, NULL, TEXT)                                                                           \
    C(count, NULL, COUNT)                                                                          \
    C(sum_ns, "sum", NS)                                                                           \
    C(share, NULL, SHARE)                                                                          \
    C(union_ns, "union", NS)
NL_COLUMNS(COLUMNS);

struct tally {
    uint64_t count;
    int64_t sum;
    struct nl_intervals busy;
};

static void kernel_classes_add_rows(struct nl_result *result, const struct nl_place *place,
                                    struct tally *tallies)
{
    int64_t whole = 0;
    for (unsigned class = 0; class < NL_CLASS_COUNT; class ++)
        nl_sum_add(&whole, tallies[class].sum);
    for (unsigned class = 0; class < NL_CLASS_COUNT; class ++) {
        struct tally *tally = &tallies[class];
        if (!tally->count && !tally->busy.count)
            continue;
        nl_intervals_normalise(&tally->busy);
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(place->rank);
        cells[AT_device] = nl_cell_i64(place->ordinal);
        cells[AT_class] = nl_cell_enum(NL_ENUM_class, class);
        cells[AT_count] = nl_cell_count(tally->count);
        cells[AT_sum_ns] = nl_cell_i64(tally->sum);
        cells[AT_share] = nl_cell_share(tally->sum, whole);
        cells[AT_union_ns] = nl_cell_i64(nl_intervals_length(&tally->busy));
    }
}

static struct nl_result *kernel_classes_run(const struct nl_trace *trace,
                                            const struct nl_analyze_options *options,
                                            struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    struct tally *tallies = nl_zalloc((places.count + 1) * NL_CLASS_COUNT * sizeof *tallies);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t slice = trace->kernel.slice[row];
        uint32_t place = places.lane_place[trace->slice.lane[slice]];
        int64_t start, end, length = nl_scope_length(&scope, slice);
        if (place == NL_NULL_ROW)
            continue;
        struct tally *tally = &tallies[place * NL_CLASS_COUNT + trace->kernel.class[row]];
        tally->count += length >= 0;
        nl_sum_add(&tally->sum, length >= 0 ? length : 0);
        if (nl_scope_slice(&scope, slice, &start, &end))
            nl_intervals_add(&tally->busy, start, end);
    }
    struct nl_result *result = NL_ANSWER_NEW("kernel_classes", NULL, columns);
    for (size_t place = 0; place < places.count; place++)
        kernel_classes_add_rows(result, &places.items[place], &tallies[place * NL_CLASS_COUNT]);
    for (size_t i = 0; i < places.count * NL_CLASS_COUNT; i++)
        nl_intervals_release(&tallies[i].busy);
    nl_free(tallies);
    nl_places_release(&places);
    nl_scope_release(&scope);
    if (options->window.has_time)
        result->note =
            "kernels that begin in the window, with their whole duration; the union is what "
            "lies inside, of kernels that began before, too";
    return result;
}

const struct nl_analysis nl_analysis_kernel_classes = {
    .name = "kernel_classes",
    .key = "kernel_classes",
    .title = "Kernel time by class",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = kernel_classes_run,
    .doc = "Per rank, device and class of kernel (compute, communication, copy, memset): count, "
           "sum of durations, its share of the device's kernel time, and union (time with at "
           "least one running).",
};
