/* opwork — see opwork.h. Names are matched with the table of models once each, sets of inputs are
 * worked out once each; after that a call costs a look-up. */
#include "work/opwork.h"
#include "work/nodework.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "derive/kernelcategory.h"
#include "timeline/unseengpu.h"
#include "work/countedflops.h"
#include "work/pagedwork.h"
#include "work/workexperts.h"
#include "work/workfollow.h"

/* One set of inputs and what it costs. */
struct known {
    uint32_t name, shapes, types, values, parent;
    uint8_t hint;
    bool told;
    struct work_cost cost;
};

struct run {
    const struct nl_trace *trace;
    const struct nl_owners *owners;
    const struct nl_rangetree *ops;
    const struct nl_work_scope *scope;
    struct nl_op_works *works;
    const struct work_model **models; /* per name */
    uint8_t *asked;                   /* per name */
    uint8_t *types;                   /* per name: enum work_type + 1, 0 = not asked */
    struct known *known;
    size_t known_count, known_cap;
    struct nl_lookup by_key; /* of known */
    uint32_t *row_of;        /* per operator that was not captured: row of works + 1 */
    struct replayed {
        uint32_t range, launch, row; /* of works + 1 */
    } * replays;
    size_t replay_count, replay_cap;
    struct nl_lookup by_replay;
    uint32_t *node_of;         /* per slice: row of trace->node; NULL without nodes */
    struct nl_lookup by_alone; /* of works: kernels in no operator */
    struct nl_counted_flops *counted;
    struct work_args *args, *parent; /* room */
};

static const struct work_model *model_of(struct run *run, uint32_t name)
{
    if (!run->asked[name]) {
        run->models[name] = work_model_find(nl_trace_name(run->trace, name));
        run->asked[name] = 1;
    }
    return run->models[name];
}

static enum work_type type_of(struct run *run, uint32_t name)
{
    if (!run->types[name])
        run->types[name] = (uint8_t)(work_type_of(nl_trace_name(run->trace, name)) + 1);
    return (enum work_type)(run->types[name] - 1);
}

static uint64_t mix(const struct known *key)
{
    uint64_t hash = key->name;
    const uint32_t rest[] = {key->shapes, key->types, key->values, key->parent, key->hint};
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        hash = nl_hash_pair(hash, rest[i]);
    return hash;
}

static bool same(const struct known *a, const struct known *b)
{
    return a->name == b->name && a->shapes == b->shapes && a->types == b->types &&
           a->values == b->values && a->parent == b->parent && a->hint == b->hint;
}

static struct work_texts texts_of(const struct nl_trace *trace, const struct nl_op_inputs *inputs)
{
    return (struct work_texts){.shapes = nl_trace_name(trace, inputs->shapes),
                               .types = nl_trace_name(trace, inputs->dtypes),
                               .strides = nl_trace_name(trace, inputs->strides),
                               .values = nl_trace_name(trace, inputs->values)};
}

static struct known work_out(struct run *run, struct known key, const struct work_model *model,
                             const struct nl_op_inputs *inputs, const struct nl_op_inputs *parent)
{
    struct work_call call = {.args = run->args, .hint = (enum work_type)key.hint};
    work_args_read(run->args, texts_of(run->trace, inputs));
    if (parent) {
        work_args_read(run->parent, texts_of(run->trace, parent));
        call.parent = run->parent;
    }
    key.told = work_model_cost(model, &call, &key.cost);
    return key;
}

/* False when none were recorded. */
static bool read_inputs(const struct run *run, uint32_t range, struct nl_op_inputs *inputs)
{
    return range != NL_NULL_ROW && nl_rangetree_inputs(run->trace, run->ops->slices[range], inputs);
}

/* What the operator has to do; NULL if no model knows it or its inputs do not suffice. */
static const struct known *cost_of(struct run *run, uint32_t range, enum work_type hint)
{
    struct nl_op_inputs inputs, outer;
    uint32_t name = run->trace->slice.name[run->ops->slices[range]];
    const struct work_model *model = model_of(run, name);
    if (!model || !model->cost || !read_inputs(run, range, &inputs))
        return NULL;
    bool parent =
        model->cost == work_convolution_part && read_inputs(run, run->ops->parents[range], &outer);
    struct known key = {.name = name,
                        .shapes = inputs.shapes,
                        .types = inputs.dtypes,
                        .values = inputs.values,
                        .parent = parent ? outer.shapes : 0,
                        .hint = (uint8_t)hint};
    uint64_t hash = mix(&key);
    uint32_t at = NL_LOOKUP(&run->by_key, hash, i, same(&run->known[i], &key));
    if (at == NL_NO_ROW) {
        at = (uint32_t)run->known_count;
        nl_grow(&run->known, &run->known_cap, run->known_count + 1);
        run->known[run->known_count++] = work_out(run, key, model, &inputs, parent ? &outer : NULL);
        nl_lookup_add(&run->by_key, hash, at);
    }
    const struct known *found = &run->known[at];
    return found->told ? found : NULL;
}

static struct nl_op_work *new_row(struct run *run, uint32_t slice, uint32_t name, uint32_t first)
{
    struct nl_op_works *works = run->works;
    nl_grow(&works->items, &works->cap, works->count + 1);
    struct nl_op_work *row = &works->items[works->count++];
    *row = (struct nl_op_work){.slice = slice,
                               .name = name,
                               .first = first,
                               .device = nl_slice_device(run->trace, first),
                               .rank = nl_slice_rank(run->trace, first),
                               .ts = run->trace->slice.ts[first],
                               .place = NL_NULL_ROW,
                               .kernel_ns = NL_NULL_I64,
                               .host_ns = NL_NULL_I64,
                               .flops = NAN,
                               .flops_needed = NAN,
                               .bytes = NAN,
                               .rows = NAN,
                               .queries = NAN,
                               .counted_flops = NAN,
                               .counted_bytes = NAN};
    return row;
}

static void take_cost(struct nl_op_work *row, const struct work_cost *cost)
{
    row->flops = cost->flops;
    row->flops_needed = cost->flops_needed;
    row->bytes = cost->bytes;
    row->rows = cost->rows;
    row->queries = cost->queries;
    row->type = (uint8_t)cost->type;
    row->matrix = cost->matrix;
    row->estimated = cost->estimated;
    row->misaligned = cost->misaligned;
    row->accumulation = (uint8_t)cost->accumulation;
}

static void take_node(struct run *run, struct nl_op_work *row, uint32_t slice)
{
    struct work_cost cost;
    enum work_family family;
    uint32_t node = run->node_of ? run->node_of[slice] : NL_NULL_ROW;
    bool recorded;
    if (node == NL_NULL_ROW)
        return;
    if (run->trace->node.operation[node])
        row->name = run->trace->node.operation[node];
    bool told = work_node_cost(run->trace, node, &cost, &family, &recorded);
    row->family = (uint8_t)family;
    if (!told)
        return;
    take_cost(row, &cost);
    row->recorded = recorded;
}

/* Row + 1 of an operator; of one that was captured into a graph, for each
 * launch of the graph one. */
static uint32_t row_of(const struct run *run, uint32_t range, uint32_t launch)
{
    if (range < run->ops->captured)
        return run->row_of[range];
    uint32_t at = NL_LOOKUP(&run->by_replay, nl_hash_pair(range, launch), i,
                            run->replays[i].range == range && run->replays[i].launch == launch);
    return at == NL_NO_ROW ? 0 : run->replays[at].row;
}

static void set_row(struct run *run, uint32_t range, uint32_t launch)
{
    uint32_t row = (uint32_t)run->works->count;
    if (range < run->ops->captured) {
        run->row_of[range] = row;
        return;
    }
    nl_grow(&run->replays, &run->replay_cap, run->replay_count + 1);
    run->replays[run->replay_count] = (struct replayed){range, launch, row};
    nl_lookup_add(&run->by_replay, nl_hash_pair(range, launch), (uint32_t)run->replay_count++);
}

/* The row of an operator, made when first met. */
static struct nl_op_work *op_work(struct run *run, uint32_t range, uint32_t launch,
                                  enum work_type hint, uint32_t first)
{
    uint32_t found = row_of(run, range, launch);
    if (found)
        return &run->works->items[found - 1];
    uint32_t slice = run->ops->slices[range], name = run->trace->slice.name[slice];
    const struct known *known = cost_of(run, range, hint);
    struct nl_op_work *row = new_row(run, slice, name, first);
    set_row(run, range, launch);
    if (model_of(run, name))
        row->family = (uint8_t)model_of(run, name)->family;
    struct work_cost cost = nl_no_work_cost();
    if (known)
        take_cost(row, &known->cost);
    else if ((row->family == WORK_CONVOLUTION && work_follow(run->ops, range, &cost)) ||
             (row->family == WORK_MOE && work_experts(run->ops, range, &cost)))
        take_cost(row, &cost);
    else
        take_node(run, row, slice);
    return row;
}

static bool has_node(const struct run *run, uint32_t range)
{
    return run->node_of && run->node_of[run->ops->slices[range]] != NL_NULL_ROW;
}

/* The innermost operator from `range` outwards that can be judged, else `range`. */
static uint32_t judged(struct run *run, uint32_t range, enum work_type hint)
{
    for (uint32_t r = range; r != NL_NULL_ROW; r = run->ops->parents[r])
        if ((r < run->ops->captured && run->row_of[r]) || has_node(run, r) || cost_of(run, r, hint))
            return r;
    return range;
}

static struct nl_op_work *kernel_alone(struct run *run, uint32_t slice)
{
    uint32_t name = run->trace->slice.name[slice];
    if (run->node_of && run->node_of[slice] != NL_NULL_ROW) {
        struct nl_op_work *row = new_row(run, slice, name, slice);
        take_node(run, row, slice);
        return row;
    }
    if (run->trace->kernel.measurement[run->trace->slice.detail[slice]] != NL_NULL_ROW)
        return new_row(run, slice, name, slice);
    const struct nl_op_work *items = run->works->items;
    uint32_t device = nl_slice_device(run->trace, slice);
    int64_t rank = nl_slice_rank(run->trace, slice);
    uint64_t hash = nl_hash_pair(nl_hash_pair(name, device), (uint64_t)rank);
    uint32_t at =
        NL_LOOKUP(&run->by_alone, hash, i,
                  items[i].name == name && items[i].device == device && items[i].rank == rank);
    if (at != NL_NO_ROW)
        return &run->works->items[at];
    nl_lookup_add(&run->by_alone, hash, (uint32_t)run->works->count);
    return new_row(run, NL_NULL_ROW, name, slice);
}

static void add_known(double *sum, double value)
{
    if (value == value)
        *sum = *sum == *sum ? *sum + value : value;
}

/* What counters of this kernel show, for its length here. */
static void add_counted(struct run *run, struct nl_op_work *row, uint32_t kernel, int64_t ns)
{
    uint32_t m = run->trace->kernel.measurement[kernel];
    if (m == NL_NULL_ROW)
        return;
    const struct nl_counted_flops *rate = &run->counted[m];
    double seconds = (double)ns / 1e9;
    add_known(&row->counted_flops, (rate->fp64 + rate->fp32 + rate->fp16) * seconds);
    add_known(&row->counted_bytes, run->trace->measurement.dram_bytes_per_s[m] * seconds);
    if (row->type == WORK_TYPE_UNKNOWN && rate->fp32 == rate->fp32)
        row->type = rate->fp64 > rate->fp32 ? WORK_FP64 : WORK_FP32;
}

static void add_kernel(struct run *run, uint32_t work, const uint32_t *owner_of)
{
    const struct nl_trace *trace = run->trace;
    uint32_t slice = run->owners->work[work], kernel = trace->slice.detail[slice];
    int64_t ns = trace->slice.dur[slice];
    if (ns == NL_NULL_I64 || kernel == NL_NULL_U32)
        return;
    enum work_type hint = type_of(run, trace->kernel.dtype[kernel]);
    uint32_t range = owner_of[work];
    struct nl_op_work *row = range == NL_NULL_ROW ? kernel_alone(run, slice)
                                                  : op_work(run, judged(run, range, hint),
                                                            run->owners->launch[work], hint, slice);
    if (row->kernel_ns == NL_NULL_I64) {
        row->kernel_ns = 0;
        row->place = work;
    }
    nl_sum_add(&row->kernel_ns, ns);
    row->kernels++;
    if (nl_category_is_matrix(trace->kernel.category[kernel]))
        nl_sum_add(&row->matrix_ns, ns);
    if (trace->kernel.class[kernel] == NL_CLASS_COMMUNICATION)
        nl_sum_add(&row->comm_ns, ns);
    row->tensor_cores |= trace->kernel.tensor_core[kernel] == NL_TENSORCORE_YES;
    add_counted(run, row, kernel, ns);
}

static bool in_scope(const struct run *run, uint32_t slice)
{
    const struct nl_work_scope *scope = run->scope;
    if (!scope)
        return true;
    int64_t ts = run->trace->slice.ts[slice];
    return ts >= scope->start && ts < scope->end &&
           (!scope->lanes || scope->lanes[run->trace->slice.lane[slice]]);
}

static bool add_kernels(struct run *run, const uint32_t *owner_of)
{
    bool any = false;
    for (uint32_t i = 0; i < run->owners->count; i++) {
        uint32_t slice = run->owners->work[i];
        if (run->trace->slice.kind[slice] != NL_KIND_KERNEL)
            continue;
        any = true;
        if (in_scope(run, slice))
            add_kernel(run, i, owner_of);
    }
    return any;
}

static void drop_around(struct run *run, uint32_t range, uint32_t launch)
{
    uint32_t index = row_of(run, range, launch);
    if (!index || !run->works->items[index - 1].matrix)
        return;
    for (uint32_t r = run->ops->parents[range]; r != NL_NULL_ROW; r = run->ops->parents[r]) {
        uint32_t at = row_of(run, r, launch);
        struct nl_op_work *outer = at ? &run->works->items[at - 1] : NULL;
        if (!outer || outer->inside || !outer->matrix)
            continue;
        outer->inside = true;
        outer->flops = outer->flops_needed = outer->bytes = outer->rows = outer->queries = NAN;
    }
}

/* FLOPs of an operator around one that has its own are counted there. */
static void drop_outer(struct run *run)
{
    for (uint32_t range = 0; range < run->ops->captured; range++)
        drop_around(run, range, NL_NULL_ROW);
    for (size_t i = 0; i < run->replay_count; i++)
        drop_around(run, run->replays[i].range, run->replays[i].launch);
}

enum { BELOW_ANY = 1, BELOW_MATRIX = 2, WITHIN_MATRIX = 4, COUNTS = 8 };

/* Marks what is inside a product that counts. */
static void mark_within(struct run *run, uint8_t *marks)
{
    const struct nl_rangetree *ops = run->ops;
    for (uint32_t r = 0; r < ops->count; r++) {
        uint32_t parent = ops->parents[r];
        if (parent == NL_NULL_ROW)
            continue;
        const struct known *outer =
            marks[parent] & COUNTS ? cost_of(run, parent, WORK_TYPE_UNKNOWN) : NULL;
        if ((marks[parent] & WITHIN_MATRIX) || (outer && outer->cost.matrix))
            marks[r] |= WITHIN_MATRIX;
    }
}

/* Marks the operators of a trace without kernels that stand for their own work: of products the
 * innermost that can be judged, of others those in no product and around nothing that counts. */
static uint8_t *mark_host(struct run *run)
{
    const struct nl_rangetree *ops = run->ops;
    uint8_t *marks = nl_zalloc(ops->count + (size_t)1);
    for (uint32_t r = ops->count; r-- > 0;) {
        const struct known *known = cost_of(run, r, WORK_TYPE_UNKNOWN);
        bool judge = known || has_node(run, r);
        bool matrix = known && known->cost.matrix;
        if (judge && !(marks[r] & (matrix ? BELOW_MATRIX : BELOW_ANY)))
            marks[r] |= COUNTS;
        if (ops->parents[r] == NL_NULL_ROW)
            continue;
        uint8_t below = marks[r] & (BELOW_ANY | BELOW_MATRIX);
        if (marks[r] & COUNTS)
            below |= matrix ? BELOW_MATRIX | BELOW_ANY : BELOW_ANY;
        marks[ops->parents[r]] |= below;
    }
    mark_within(run, marks);
    return marks;
}

static void add_host(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    uint8_t *marks = mark_host(run);
    for (uint32_t r = 0; r < run->ops->count; r++) {
        uint32_t slice = run->ops->slices[r];
        const struct known *known = marks[r] & COUNTS ? cost_of(run, r, WORK_TYPE_UNKNOWN) : NULL;
        bool matrix = known && known->cost.matrix;
        if (!(marks[r] & COUNTS) || (!matrix && (marks[r] & WITHIN_MATRIX)) ||
            trace->slice.dur[slice] == NL_NULL_I64 || !in_scope(run, slice))
            continue;
        struct nl_op_work *work = op_work(run, r, NL_NULL_ROW, WORK_TYPE_UNKNOWN, slice);
        if (run->works->on_host)
            work->host_ns = trace->slice.dur[slice];
    }
    nl_free(marks);
}

static uint32_t *find_nodes(const struct nl_trace *trace)
{
    if (!trace->node.rows)
        return NULL;
    uint32_t *nodes = nl_no_rows(trace->slice.rows);
    for (uint32_t row = 0; row < trace->node.rows; row++)
        if (trace->node.slice[row] != NL_NULL_ROW && nodes[trace->node.slice[row]] == NL_NULL_ROW)
            nodes[trace->node.slice[row]] = row;
    return nodes;
}

/* Counted beats modelled where no model knows the operator. */
static void finish_works(struct nl_op_works *works)
{
    for (size_t i = 0; i < works->count; i++) {
        struct nl_op_work *row = &works->items[i];
        if (row->type == WORK_FP32 && row->matrix && row->tensor_cores)
            row->type = WORK_TF32;
        if (work_type_bits((enum work_type)row->type) > 16 && row->type != WORK_TF32)
            row->misaligned = false;
        if (row->flops == row->flops || row->bytes == row->bytes || row->inside)
            continue;
        row->flops = row->flops_needed = row->counted_flops;
        row->bytes = row->counted_bytes;
        row->measured = row->flops == row->flops || row->bytes == row->bytes;
        if (row->measured)
            row->family = WORK_COUNTED;
    }
}

static uint64_t order_key(const struct nl_op_work *row)
{
    return (uint64_t)row->slice << 32 | row->first;
}

/* Rows that take each other's places in turn, from `first` on; their keys then
 * say that they are there. */
static void move_round(struct nl_op_work *items, struct nl_keyed *keys, uint32_t first)
{
    struct nl_op_work kept = items[first];
    uint32_t at = first;
    while (keys[at].row != first) {
        uint32_t from = keys[at].row;
        items[at] = items[from];
        keys[at].row = at;
        at = from;
    }
    items[at] = kept;
    keys[at].row = at;
}

/* By slice, then by first kernel. Rows are large, so their numbers are
 * sorted and each is moved once. */
static void sort_rows(struct nl_op_works *works)
{
    size_t count = works->count, sorted = 1;
    while (sorted < count &&
           order_key(&works->items[sorted - 1]) <= order_key(&works->items[sorted]))
        sorted++;
    if (sorted >= count)
        return;
    struct nl_keyed *keys = nl_alloc(count * sizeof *keys);
    struct nl_keyed *scratch = nl_alloc(count * sizeof *scratch);
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct nl_keyed){order_key(&works->items[i]), (uint32_t)i};
    nl_sort_keyed(keys, scratch, count);
    nl_free(scratch);
    for (size_t i = 0; i < count; i++)
        if (keys[i].row != i)
            move_round(works->items, keys, (uint32_t)i);
    nl_free(keys);
}

void nl_op_works_init(struct nl_op_works *works, const struct nl_trace *trace,
                      const struct nl_owners *owners, const struct nl_rangetree *ops,
                      const uint32_t *owner_of, const struct nl_work_scope *scope)
{
    *works = (struct nl_op_works){.trace = trace};
    struct run run = {.trace = trace, .owners = owners, .ops = ops, .scope = scope, .works = works};
    run.models = nl_zalloc((trace->names.count + (size_t)1) * sizeof *run.models);
    run.asked = nl_zalloc(trace->names.count + (size_t)1);
    run.types = nl_zalloc(trace->names.count + (size_t)1);
    run.row_of = nl_zalloc((ops->count + (size_t)1) * sizeof *run.row_of);
    run.node_of = find_nodes(trace);
    run.counted = nl_counted_flops_find(trace);
    run.args = nl_alloc(sizeof *run.args);
    run.parent = nl_alloc(sizeof *run.parent);
    bool kernels = add_kernels(&run, owner_of);
    works->on_host = !kernels && !nl_gpu_is_unseen(trace);
    if (!kernels)
        add_host(&run);
    drop_outer(&run);
    finish_works(works);
    nl_paged_works(works, owners);
    sort_rows(works);
    if (works->count)
        nl_device_order_init(&works->order, &works->items->device, sizeof *works->items,
                             works->count);
    nl_free(run.models);
    nl_free(run.asked);
    nl_free(run.types);
    nl_free(run.row_of);
    nl_free(run.node_of);
    nl_free(run.counted);
    nl_free(run.args);
    nl_free(run.parent);
    nl_free(run.known);
    nl_free(run.replays);
    nl_lookup_release(&run.by_alone);
    nl_lookup_release(&run.by_replay);
    nl_lookup_release(&run.by_key);
}

double nl_op_work_again(const struct nl_trace *trace, const struct nl_op_work *work)
{
    /* Scores, D of the 3·D + 2·Dv that the pass counts. */
    bool backward = work->family == WORK_ATTENTION &&
                    nl_str_find_nocase(nl_trace_name(trace, work->name), "backward") >= 0;
    return backward ? work->flops_needed / 5 : 0;
}

void nl_op_works_release(struct nl_op_works *works)
{
    nl_free(works->items);
    nl_device_order_release(&works->order);
    *works = (struct nl_op_works){0};
}
