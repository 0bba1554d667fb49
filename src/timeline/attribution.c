/* Self time is one walk over the rows, in which parents come before their children; launch ranges
 * are the owners of one kind. */
#include "timeline/attribution.h"

#include "base/mem.h"
#include "timeline/owner.h"

int64_t *nl_self_times(const struct nl_trace *trace, uint32_t first, uint32_t last)
{
    int64_t *self = nl_alloc(((size_t)(last - first) + 1) * sizeof *self);
    const int64_t *dur = trace->slice.dur, *ts = trace->slice.ts;
    for (uint32_t row = first; row < last; row++) {
        self[row - first] = dur[row];
        uint32_t parent = trace->slice.parent[row];
        if (parent == NL_NULL_ROW || parent < first || parent >= last || dur[parent] == NL_NULL_I64)
            continue;
        int64_t start = ts[row] > ts[parent] ? ts[row] : ts[parent];
        int64_t end = nl_slice_end(trace, row), stop = nl_slice_end(trace, parent);
        int64_t covered = (end < stop ? end : stop) - start;
        int64_t rest = self[parent - first] - (covered > 0 ? covered : 0);
        self[parent - first] = rest > 0 ? rest : 0;
    }
    return self;
}

struct nl_launch_range *nl_launch_ranges(const struct nl_trace *trace, unsigned kind, size_t *count)
{
    struct nl_rangetree tree;
    struct nl_owners owners;
    nl_rangetree_init(&tree, trace, kind);
    nl_owners_init(&owners, trace);
    uint32_t *range = nl_owners_find(&owners, &tree);
    struct nl_launch_range *answer = nl_alloc((owners.count + (size_t)1) * sizeof *answer);
    for (uint32_t i = 0; i < owners.count; i++) {
        bool known = owners.launch[i] != NL_NULL_ROW && range[i] != NL_NULL_ROW;
        answer[i] =
            (struct nl_launch_range){owners.work[i], known ? tree.slices[range[i]] : NL_NULL_ROW};
    }
    *count = owners.count;
    nl_free(range);
    nl_owners_release(&owners);
    nl_rangetree_release(&tree);
    return answer;
}
