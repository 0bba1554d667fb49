/* outermost — see outermost.h. A slice's parent has a smaller row (store order: lane, depth, time),
 * so one walk hands down to each slice which of the names contain it, a bit each. */
#include "answer/outermost.h"

#include "base/mem.h"
#include "base/sum.h"
#include "tables/scope.h"

void nl_outermost_sums(const struct nl_trace *trace, const struct nl_window *window,
                       const uint32_t *names, size_t count, int64_t *sums)
{
    const struct nl_slice_table *slice = &trace->slice;
    uint8_t *number = nl_zalloc(trace->names.count + (size_t)1); /* of a wanted name, from 1 */
    uint32_t *inside = nl_zalloc((slice->rows + (size_t)1) * sizeof *inside);
    struct nl_scope scope;
    nl_scope_init(&scope, trace, window);
    for (size_t i = 0; i < count; i++) {
        sums[i] = 0;
        number[names[i]] = (uint8_t)(i + 1);
    }
    for (uint32_t row = 0; row < slice->rows; row++) {
        uint32_t parent = slice->parent[row], own = number[slice->name[row]];
        if (parent != NL_NULL_ROW) {
            uint32_t above = number[slice->name[parent]];
            inside[row] = inside[parent] | (above ? UINT32_C(1) << (above - 1) : 0);
        }
        int64_t length = own && !(inside[row] >> (own - 1) & 1) ? nl_scope_length(&scope, row) : -1;
        if (length >= 0)
            nl_sum_add(&sums[own - 1], length);
    }
    nl_scope_release(&scope);
    nl_free(number);
    nl_free(inside);
}
