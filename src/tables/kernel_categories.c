/*
 * kernel_categories — per rank, device and category of kernel: how many, their summed time, the
 * time at least one ran, and how much of it ran on tensor cores. Kernels whose name gives no
 * category have a separate row ("unclassified"); they are never spread over the others.
 */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/places.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "derive/kernelcategory.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(category, NULL, TEXT)                                                                        \
    C(count, NULL, COUNT)                                                                          \
    C(sum_ns, "sum", NS)                                                                           \
    C(share, NULL, SHARE)                                                                          \
    C(union_ns, "union", NS)                                                                       \
    C(tensor_core_share, "tensor cores", SHARE)                                                    \
    C(tensor_core_unknown_share, "not known", SHARE)
NL_COLUMNS(COLUMNS);

struct tally {
    uint64_t count;
    int64_t sum, tensor, unknown; /* of sum: on tensor cores, not known whether */
    struct nl_intervals busy;
    unsigned category;
};

/* Longest first; equal ones by category. */
static int by_sum(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->sum != b->sum)
        return a->sum > b->sum ? -1 : 1;
    return a->category < b->category ? -1 : a->category > b->category;
}

static void kernel_categories_add_row(struct nl_result *result, const struct nl_place *place,
                                      struct tally *tally, int64_t whole)
{
    const char *name = nl_enum_text(NL_ENUM_category, tally->category);
    nl_intervals_normalise(&tally->busy);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(place->rank);
    cells[AT_device] = nl_cell_i64(place->ordinal);
    cells[AT_category] = nl_cell_static(name ? name : "unclassified");
    cells[AT_count] = nl_cell_count(tally->count);
    cells[AT_sum_ns] = nl_cell_i64(tally->sum);
    cells[AT_share] = nl_cell_share(tally->sum, whole);
    cells[AT_union_ns] = nl_cell_i64(nl_intervals_length(&tally->busy));
    if (nl_category_is_matrix(tally->category)) {
        cells[AT_tensor_core_share] = nl_cell_share(tally->tensor, tally->sum);
        cells[AT_tensor_core_unknown_share] = nl_cell_share(tally->unknown, tally->sum);
    }
}

static void kernel_categories_add_rows(struct nl_result *result, const struct nl_place *place,
                                       struct tally *tallies)
{
    int64_t whole = 0;
    for (unsigned category = 0; category < NL_CATEGORY_COUNT; category++) {
        tallies[category].category = category;
        nl_sum_add(&whole, tallies[category].sum);
    }
    qsort(tallies, NL_CATEGORY_COUNT, sizeof *tallies, by_sum);
    for (unsigned i = 0; i < NL_CATEGORY_COUNT; i++)
        if (tallies[i].count || tallies[i].busy.count)
            kernel_categories_add_row(result, place, &tallies[i], whole);
}

static void count_kernel(const struct nl_scope *scope, uint32_t row, struct tally *tally)
{
    const struct nl_kernel_table *kernel = &scope->trace->kernel;
    int64_t start, end, length = nl_scope_length(scope, kernel->slice[row]);
    if (length >= 0) {
        tally->count++;
        nl_sum_add(&tally->sum, length);
        nl_sum_add(&tally->tensor, kernel->tensor_core[row] == NL_TENSORCORE_YES ? length : 0);
        nl_sum_add(&tally->unknown, kernel->tensor_core[row] == NL_TENSORCORE_UNKNOWN ? length : 0);
    }
    if (nl_scope_slice(scope, kernel->slice[row], &start, &end))
        nl_intervals_add(&tally->busy, start, end);
}

static void add_note(struct nl_result *result, const struct tally *tallies, size_t count)
{
    int64_t matrix = 0, tensor = 0, unknown = 0, whole = 0, unclassified = 0;
    for (size_t i = 0; i < count; i++) {
        bool eligible = nl_category_is_matrix(tallies[i].category);
        nl_sum_add(&matrix, eligible ? tallies[i].sum : 0);
        nl_sum_add(&tensor, eligible ? tallies[i].tensor : 0);
        nl_sum_add(&unknown, eligible ? tallies[i].unknown : 0);
        nl_sum_add(&whole, tallies[i].sum);
        nl_sum_add(&unclassified, tallies[i].category == NL_CATEGORY_UNKNOWN ? tallies[i].sum : 0);
    }
    if (whole == 0)
        return;
    double missed = 100.0 * (double)unclassified / (double)whole;
    if (matrix == 0)
        result->note =
            nl_arena_format(&result->arena, "unclassified: %.1f %% of kernel time", missed);
    else
        result->note = nl_arena_format(
            &result->arena,
            "of the time of matrix products (GEMM, convolution, attention, MoE, RNN) %.1f %% ran "
            "on "
            "tensor cores, of %.1f %% the names do not tell; unclassified: %.1f %% of kernel time",
            100.0 * (double)tensor / (double)matrix, 100.0 * (double)unknown / (double)matrix,
            missed);
}

static struct nl_result *kernel_categories_run(const struct nl_trace *trace,
                                               const struct nl_analyze_options *options,
                                               struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    size_t count = places.count * NL_CATEGORY_COUNT;
    struct tally *tallies = nl_zalloc((count + 1) * sizeof *tallies);
    for (uint32_t row = 0; row < trace->kernel.rows; row++) {
        uint32_t place = places.lane_place[trace->slice.lane[trace->kernel.slice[row]]];
        if (place != NL_NULL_ROW && trace->kernel.class[row] != NL_CLASS_WAIT)
            count_kernel(&scope, row,
                         &tallies[place * NL_CATEGORY_COUNT + trace->kernel.category[row]]);
    }
    struct nl_result *result = NL_ANSWER_NEW("kernel_categories", NULL, columns);
    for (size_t place = 0; place < places.count; place++)
        kernel_categories_add_rows(result, &places.items[place],
                                   &tallies[place * NL_CATEGORY_COUNT]);
    add_note(result, tallies, count);
    for (size_t i = 0; i < count; i++)
        nl_intervals_release(&tallies[i].busy);
    nl_free(tallies);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_kernel_categories = {
    .name = "kernel_categories",
    .key = "kernel_categories",
    .title = "Kernel time by category",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = kernel_categories_run,
    .doc =
        "Per rank, device and category of kernel (by its name: docs/kernels.md): count, sum of "
        "durations, its share of the device's kernel time, and union (time with at least one "
        "running; waits among the kernels of accelerators are left out). For matrix products: the "
        "part of the sum that ran on tensor cores, and the part for which the names do not say.",
};
