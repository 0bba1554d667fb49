/*
 * nvtx — user ranges and marks by text, domain and style.
 */
#include "tables/resultcells.h"
#include "timeline/fold.h"
#include "tables/memo.h"
#include "tables/scope.h"
#include "tables/selftime.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(name, "range", TEXT)                                                                         \
    C(domain, NULL, TEXT)                                                                          \
    C(style, NULL, TEXT)                                                                           \
    NL_SELF_LIST(C)
NL_COLUMNS(COLUMNS);

enum {
    OWN_NS,
    WORKS
}; /* sums of groups: self time (nl_self_cells), and whether a thread works in any of it */

/* Length of a range; 0 for a mark, whose length may be unknown by nature. */
static int64_t length_of(const struct nl_scope *scope, uint32_t slice)
{
    const struct nl_slice_table *table = &scope->trace->slice;
    if (table->dur[slice] == NL_NULL_I64 && table->flags[slice] & NL_SLICE_INSTANT)
        return nl_scope_moment(scope, table->lane[slice], table->ts[slice]) ? 0 : -1;
    return nl_scope_length(scope, slice);
}

static struct nl_result *nvtx_run(const struct nl_trace *trace,
                                  const struct nl_analyze_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_nvtx_table *nvtx = &trace->nvtx;
    struct nl_scope scope;
    struct nl_groups groups;
    struct nl_fold fold;
    nl_fold_init(&fold, trace, options->fold ? NL_FOLD_EYES : NL_FOLD_NOTHING);
    nl_scope_init(&scope, trace, &options->window);
    nl_groups_init(&groups);
    const int64_t *self = nvtx->rows ? nl_memo_self_times(options->memo) : NULL;
    const uint8_t *no_work = nvtx->rows ? nl_memo_no_work(options->memo) : NULL;
    for (uint32_t row = 0; row < nvtx->rows; row++) {
        int64_t length = length_of(&scope, nvtx->slice[row]);
        if (length < 0)
            continue;
        uint64_t name = nl_fold_id(&fold, trace->slice.name[nvtx->slice[row]]);
        int64_t own = self[nvtx->slice[row]] > 0 ? self[nvtx->slice[row]] : 0;
        struct nl_group *group =
            nl_groups_add(&groups, name << 32 | nvtx->domain[row], nvtx->style[row], length);
        nl_sum_add(&group->sums[OWN_NS], own);
        group->sums[WORKS] |= !no_work[trace->slice.name[nvtx->slice[row]]];
    }
    nl_groups_finish(&groups);
    int64_t whole = 0;
    for (size_t i = 0; i < groups.count; i++)
        nl_sum_add(&whole, groups.items[i].sums[WORKS] ? groups.items[i].sums[OWN_NS] : 0);
    struct nl_result *result = NL_ANSWER_NEW("nvtx", NULL, columns);
    for (size_t i = 0; i < groups.count; i++) {
        const struct nl_group *group = &groups.items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_folded(&fold, result, (uint32_t)(group->a >> 32));
        cells[AT_domain] = nl_cell_name(result, trace, (uint32_t)group->a);
        cells[AT_style] = nl_cell_enum(NL_ENUM_rangestyle, (unsigned)group->b);
        nl_self_cells(cells + AT_count, group, group->sums[WORKS] ? whole : 0);
    }
    nl_result_settle(result, "total_ns");
    result->note = nl_fold_note(&fold, &result->arena);
    nl_fold_release(&fold);
    nl_groups_release(&groups);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_nvtx = {
    .name = "nvtx",
    .key = "nvtx",
    .title = "User ranges (NVTX, annotations)",
    .needs = {{NL_T_nvtx, NULL}},
    .need_count = 1,
    .run = nvtx_run,
    .doc = "Per text, domain and style: count, total time on the CPU, self time (without nested "
           "ranges of the same thread and domain), share, and statistics of the total. Ranges of "
           "other domains are not subtracted from the self time. The share is of the self time in "
           "which a thread works: start/end ranges have none, nor have ranges that wait on helper "
           "threads.",
};
