/*
 * others — slices that no other analysis covers, by name: what generic Chrome traces consist of,
 * and garbage collection, compilation, library calls and overhead of the rest.
 */
#include "tables/resultcells.h"
#include "tables/memo.h"
#include "tables/groups.h"
#include "tables/scope.h"
#include "tables/selftime.h"
#include "base/sum.h"

#define COLUMNS(C)                                                                                 \
    C(name, NULL, TEXT)                                                                            \
    C(kind, NULL, TEXT)                                                                            \
    NL_SELF_LIST(C)
NL_COLUMNS(COLUMNS);

#define OTHER_KINDS                                                                                \
    (1u << NL_KIND_UNKNOWN | 1u << NL_KIND_GPU_ANNOTATION | 1u << NL_KIND_GC |                     \
     1u << NL_KIND_COMPILE | 1u << NL_KIND_ALLOC | 1u << NL_KIND_OVERHEAD |                        \
     1u << NL_KIND_LIBRARY | 1u << NL_KIND_DEVICE_OTHER | 1u << NL_KIND_GENERIC)

static struct nl_result *others_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_groups_init(&groups);
    const int64_t *self = NULL;
    const uint8_t *no_work = NULL;
    int64_t whole = 0;
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        unsigned kind = trace->slice.kind[slice];
        int64_t length = OTHER_KINDS >> kind & 1u ? nl_scope_length(&scope, slice) : -1;
        if (length < 0)
            continue;
        if (!self) {
            self = nl_memo_self_times(options->memo);
            no_work = nl_memo_no_work(options->memo);
        }
        nl_sum_add(&nl_groups_add(&groups, trace->slice.name[slice], kind, length)->sums[0],
                   self[slice]);
        if (!no_work[trace->slice.name[slice]])
            nl_sum_add(&whole, self[slice]);
    }
    nl_groups_finish(&groups);
    nl_groups_by_self(&groups);
    struct nl_result *result = NL_ANSWER_NEW("others", NULL, columns);
    for (size_t i = 0; i < groups.count; i++) {
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_name] = nl_cell_name(result, trace, (uint32_t)groups.items[i].a);
        cells[AT_kind] = nl_cell_enum(NL_ENUM_kind, (unsigned)groups.items[i].b);
        nl_self_cells(cells + AT_count, &groups.items[i], no_work[groups.items[i].a] ? 0 : whole);
    }
    nl_result_settle(result, "self_ns");
    nl_groups_release(&groups);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_others = {
    .name = "others",
    .key = "others",
    .title = "Other slices by self time",
    .run = others_run,
    .doc = "Per name and kind, for slices that no other analysis lists (generic events of Chrome "
           "traces, library calls, garbage collection, compilation, overhead, GPU annotations): "
           "count, total and self time, share, statistics of the total. The share is of the self "
           "time in which a thread works. States (of a process, asynchronous events) and waits of "
           "helper threads have none, nor have generic slices during which, according to the "
           "scheduler's switches, the thread is off-CPU for 90 % of their self time or more.",
};
