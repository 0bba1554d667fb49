/* owner — see owner.h. Everything is a look-up in a rangetree; ids go through one hash table. */
#include "timeline/owner.h"
#include "timeline/forward.h"

#include "base/map.h"
#include "base/mem.h"

bool nl_is_device_work(unsigned kind)
{
    return kind == NL_KIND_KERNEL || kind == NL_KIND_MEMCPY || kind == NL_KIND_MEMSET ||
           kind == NL_KIND_GRAPH;
}

/* ---- Operators by id: unique within a process. ---- */

struct op_ids {
    bool made;
    struct nl_lookup rows; /* of table op */
};

static uint64_t hash_id(uint32_t process, int64_t id)
{
    return nl_hash_number((uint64_t)id + ((uint64_t)process << 40));
}

static uint32_t find_id(const struct op_ids *ids, const struct nl_trace *trace, uint32_t process,
                        int64_t id)
{
    const struct nl_op_table *op = &trace->op;
    return NL_LOOKUP(&ids->rows, hash_id(process, id), i,
                     op->external_id[i] == id && nl_slice_process(trace, op->slice[i]) == process);
}

/* Of operators with one id (parts of one call) the first in the table stays. */
static void index_ids(struct op_ids *ids, const struct nl_trace *trace)
{
    const struct nl_op_table *op = &trace->op;
    ids->made = true;
    for (uint32_t row = 0; row < op->rows; row++) {
        if (op->external_id[row] == NL_NULL_I64 || op->slice[row] == NL_NULL_ROW)
            continue;
        uint32_t process = nl_slice_process(trace, op->slice[row]);
        if (find_id(ids, trace, process, op->external_id[row]) == NL_NO_ROW)
            nl_lookup_add(&ids->rows, hash_id(process, op->external_id[row]), row);
    }
}

/* The id that the work, or else its call, carries. Kineto on ROCm repeats the correlation id in
 * work whose call it does not know: that is no operator's. */
static int64_t id_of(const struct nl_trace *trace, uint32_t work, uint32_t launch)
{
    uint32_t row = trace->slice.detail[work];
    int64_t id = NL_NULL_I64;
    uint64_t correlation = NL_NULL_U64;
    if (row != NL_NULL_U32)
        switch (trace->slice.kind[work]) {
        case NL_KIND_KERNEL:
            id = trace->kernel.external_id[row];
            correlation = trace->kernel.correlation[row];
            break;
        case NL_KIND_MEMCPY:
            id = trace->copy.external_id[row];
            correlation = trace->copy.correlation[row];
            break;
        case NL_KIND_MEMSET:
            id = trace->memset.external_id[row];
            correlation = trace->memset.correlation[row];
            break;
        default: break;
        }
    if (launch == NL_NULL_ROW && id >= 0 && (uint64_t)id == correlation)
        return NL_NULL_I64;
    bool ask_call = id == NL_NULL_I64 && launch != NL_NULL_ROW &&
                    trace->slice.kind[launch] == NL_KIND_API &&
                    trace->slice.detail[launch] != NL_NULL_U32;
    return ask_call ? trace->api.external_id[trace->slice.detail[launch]] : id;
}

static void read_ids(struct nl_owners *owners)
{
    if (!owners->trace->op.rows)
        return;
    owners->ids = nl_alloc((owners->count + (size_t)1) * sizeof *owners->ids);
    bool any = false;
    for (uint32_t i = 0; i < owners->count; i++) {
        owners->ids[i] = id_of(owners->trace, owners->work[i], owners->launch[i]);
        if (owners->ids[i] == 0)
            owners->ids[i] = NL_NULL_I64;
        any |= owners->ids[i] != NL_NULL_I64;
    }
    if (any)
        return;
    nl_free(owners->ids);
    owners->ids = NULL;
}

/* Slice of the operator that the id names, NL_NULL_ROW none. The table is made when first needed:
 * mostly containment has the answer, and a comparison of ids confirms it. */
static uint32_t look_up_operator(struct op_ids *ids, const struct nl_owners *owners, uint32_t work)
{
    uint32_t launch = owners->launch[work];
    uint32_t near = launch != NL_NULL_ROW ? launch : owners->work[work];
    const struct nl_trace *trace = owners->trace;
    if (!ids->made)
        index_ids(ids, trace);
    uint32_t row = find_id(ids, trace, nl_slice_process(trace, near), owners->ids[work]);
    return row == NL_NO_ROW ? NL_NULL_ROW : trace->op.slice[row];
}

static void name_ops(struct nl_owners *owners)
{
    struct op_ids ids = {0};
    if (!owners->ids)
        return;
    owners->named_op = nl_no_rows(owners->count);
    for (uint32_t i = 0; i < owners->count; i++)
        if (owners->launch[i] == NL_NULL_ROW && owners->ids[i] != NL_NULL_I64)
            owners->named_op[i] = look_up_operator(&ids, owners, i);
    nl_lookup_release(&ids.rows);
}

static void set_moments(struct nl_owners *owners)
{
    const struct nl_trace *trace = owners->trace;
    struct nl_moment *moments = nl_alloc((owners->count + (size_t)1) * sizeof *moments);
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t where = owners->launch[i];
        if (where == NL_NULL_ROW && owners->named_op)
            where = owners->named_op[i];
        moments[i] = (struct nl_moment){.thread = NL_NULL_ROW, .item = i};
        if (where != NL_NULL_ROW) {
            moments[i].ts = trace->slice.ts[where];
            moments[i].thread = trace->lane.thread[trace->slice.lane[where]];
        }
    }
    nl_moments_init(&owners->moments, moments, owners->count, trace->thread.rows);
    nl_free(moments);
}

void nl_owners_init(struct nl_owners *owners, const struct nl_trace *trace)
{
    *owners = (struct nl_owners){.trace = trace};
    size_t count = 0;
    for (uint32_t row = 0; row < trace->slice.rows; row++)
        count += nl_is_device_work(trace->slice.kind[row]);
    owners->work = nl_alloc((count + 1) * sizeof *owners->work);
    owners->launch = nl_alloc((count + 1) * sizeof *owners->launch);
    for (uint32_t row = 0; row < trace->slice.rows; row++) {
        if (!nl_is_device_work(trace->slice.kind[row]))
            continue;
        owners->work[owners->count] = row;
        owners->launch[owners->count++] = trace->slice.link[row];
    }
    read_ids(owners);
    name_ops(owners);
    set_moments(owners);
}

void nl_owners_release(struct nl_owners *owners)
{
    nl_moments_release(&owners->moments);
    nl_free(owners->work);
    nl_free(owners->launch);
    nl_free(owners->ids);
    nl_free(owners->named_op);
    *owners = (struct nl_owners){0};
}

/* Slice of the range in which the work was captured into its graph, NL_NULL_ROW not known. */
static uint32_t captured_in(const struct nl_owners *owners, uint32_t work)
{
    const struct nl_trace *trace = owners->trace;
    uint32_t slice = owners->work[work], row = trace->slice.detail[slice];
    return trace->slice.kind[slice] == NL_KIND_KERNEL && row != NL_NULL_U32
               ? trace->kernel.captured[row]
               : NL_NULL_ROW;
}

uint32_t *nl_owners_at_launch(const struct nl_owners *owners, const struct nl_rangetree *tree)
{
    uint32_t *answer = nl_no_rows(owners->count);
    nl_rangetree_find(tree, &owners->moments, answer);
    return answer;
}

uint32_t *nl_owners_find(const struct nl_owners *owners, const struct nl_rangetree *tree)
{
    uint32_t *answer = nl_owners_at_launch(owners, tree);
    for (uint32_t i = 0; tree->captured < tree->count && i < owners->count; i++) {
        uint32_t range = nl_rangetree_captured(tree, captured_in(owners, i));
        if (range != NL_NULL_ROW)
            answer[i] = range;
    }
    return answer;
}

static bool has_id(const struct nl_rangetree *ops, uint32_t range, int64_t id)
{
    uint32_t row = range == NL_NULL_ROW || range >= ops->captured
                       ? NL_NULL_U32
                       : ops->trace->slice.detail[ops->slices[range]];
    return row != NL_NULL_U32 && ops->trace->op.external_id[row] == id;
}

uint32_t *nl_owners_op(const struct nl_owners *owners, const struct nl_rangetree *ops)
{
    uint32_t *answer = nl_owners_find(owners, ops), *places = NULL;
    struct op_ids ids = {0};
    for (uint32_t i = 0; owners->ids && i < owners->count; i++) {
        bool captured = answer[i] != NL_NULL_ROW && answer[i] >= ops->captured;
        if (owners->ids[i] == NL_NULL_I64 || captured || has_id(ops, answer[i], owners->ids[i]))
            continue;
        uint32_t op = look_up_operator(&ids, owners, i);
        if (op == NL_NULL_ROW)
            continue;
        if (!places)
            places = nl_rangetree_places(ops);
        if (places[op] != NL_NULL_ROW)
            answer[i] = places[op];
    }
    nl_lookup_release(&ids.rows);
    nl_free(places);
    return answer;
}

uint32_t *nl_owners_layer(const struct nl_owners *owners, const struct nl_rangetree *layers,
                          const struct nl_rangetree *ops, const uint32_t *op)
{
    const struct nl_trace *trace = owners->trace;
    uint32_t *answer = nl_owners_find(owners, layers);
    if (!layers->count || !ops->count)
        return answer;
    uint32_t *forward = nl_forward_ops(ops);
    struct nl_moment *items = nl_alloc((owners->count + (size_t)1) * sizeof *items);
    struct nl_moments moments;
    size_t count = 0;
    for (uint32_t i = 0; i < owners->count; i++) {
        if (answer[i] != NL_NULL_ROW || op[i] == NL_NULL_ROW || forward[op[i]] == NL_NULL_ROW)
            continue;
        uint32_t slice = ops->slices[forward[op[i]]];
        items[count++] = (struct nl_moment){.ts = trace->slice.ts[slice],
                                            .thread = trace->lane.thread[trace->slice.lane[slice]],
                                            .item = i};
    }
    nl_moments_init(&moments, items, count, trace->thread.rows);
    nl_rangetree_find(layers, &moments, answer);
    nl_moments_release(&moments);
    nl_free(items);
    nl_free(forward);
    return answer;
}
