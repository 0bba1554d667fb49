/*
 * memory — allocations and frees: peaks as the allocator reported them, and of the running sum.
 */
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "base/sum.h"
#include "base/sort.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device_type, NULL, INTEGER)                                                                  \
    C(device_type_name, "type", TEXT)                                                              \
    C(device, NULL, INTEGER)                                                                       \
    C(kind, NULL, TEXT)                                                                            \
    C(allocations, NULL, COUNT)                                                                    \
    C(frees, NULL, COUNT)                                                                          \
    C(allocated_bytes, "allocated", BYTES)                                                         \
    C(freed_bytes, "freed", BYTES)                                                                 \
    C(peak_net_bytes, "peak net", BYTES)                                                           \
    C(peak_allocated_bytes, "peak allocated", BYTES)                                               \
    C(peak_reserved_bytes, "peak reserved", BYTES)
NL_COLUMNS(COLUMNS);

struct pool {
    int64_t rank, device_type, device;
    uint32_t kind;
    uint64_t allocations, frees;
    int64_t allocated, freed, net, peak_net, peak_allocated, peak_reserved;
};

struct pools {
    struct pool *items;
    size_t count, cap;
};

static struct pool *pool_of(struct pools *pools, const struct nl_trace *trace, uint32_t row)
{
    const struct nl_memory_table *memory = &trace->memory;
    uint32_t lane = memory->lane[row];
    int64_t rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(trace, lane);
    for (size_t i = 0; i < pools->count; i++) {
        struct pool *pool = &pools->items[i];
        if (pool->rank == rank && pool->device_type == memory->device_type[row] &&
            pool->device == memory->device[row] && pool->kind == memory->kind[row])
            return pool;
    }
    nl_grow(&pools->items, &pools->cap, pools->count + 1);
    pools->items[pools->count] = (struct pool){.rank = rank,
                                               .device_type = memory->device_type[row],
                                               .device = memory->device[row],
                                               .kind = memory->kind[row],
                                               .peak_allocated = NL_NULL_I64,
                                               .peak_reserved = NL_NULL_I64};
    return &pools->items[pools->count++];
}

static void raise_peak(int64_t *peak, uint64_t value)
{
    if (value != NL_NULL_U64 && (int64_t)value > *peak)
        *peak = (int64_t)value;
}

/* PyTorch names and numbers them so (c10::DeviceType); NULL for kinds that no profiler records. */
static const char *type_name(int64_t type)
{
    static const char *const names[] = {[0] = "CPU",  [1] = "CUDA", [6] = "HIP",  [9] = "XLA",
                                        [12] = "XPU", [13] = "MPS", [15] = "HPU", [19] = "MTIA"};
    return type >= 0 && type < (int64_t)(sizeof names / sizeof names[0]) ? names[type] : NULL;
}

static void add_event(struct pool *pool, const struct nl_memory_table *memory, uint32_t row)
{
    int64_t bytes = memory->bytes[row];
    raise_peak(&pool->peak_allocated, memory->total_allocated[row]);
    raise_peak(&pool->peak_reserved, memory->total_reserved[row]);
    if (bytes == NL_NULL_I64)
        return;
    if (bytes < 0) {
        pool->frees++;
        nl_sum_add(&pool->freed, -bytes);
    } else {
        pool->allocations++;
        nl_sum_add(&pool->allocated, bytes);
    }
    nl_sum_add(&pool->net, bytes);
    if (pool->net > pool->peak_net)
        pool->peak_net = pool->net;
}

/* Events in order of time: the running sum needs it, tables are in order of the source. */
static void add_memory_events(struct pools *pools, const struct nl_scope *scope)
{
    const struct nl_memory_table *memory = &scope->trace->memory;
    struct nl_keyed *order = nl_alloc((memory->rows + (size_t)1) * 2 * sizeof *order);
    size_t count = 0;
    for (uint32_t row = 0; row < memory->rows; row++)
        if (nl_scope_moment(scope, memory->lane[row], memory->ts[row]))
            order[count++] = (struct nl_keyed){nl_sort_key(memory->ts[row]), row};
    nl_sort_keyed(order, order + memory->rows + 1, count);
    for (size_t i = 0; i < count; i++)
        add_event(pool_of(pools, scope->trace, order[i].row), memory, order[i].row);
    nl_free(order);
}

static struct nl_result *memory_run(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct pools pools = {0};
    nl_scope_init(&scope, trace, &options->window);
    add_memory_events(&pools, &scope);
    struct nl_result *result = NL_ANSWER_NEW("memory", NULL, columns);
    for (size_t i = 0; i < pools.count; i++) {
        const struct pool *pool = &pools.items[i];
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_rank] = nl_cell_i64(pool->rank);
        cells[AT_device_type] = nl_cell_i64(pool->device_type);
        cells[AT_device_type_name] = nl_cell_static(type_name(pool->device_type));
        cells[AT_device] = nl_cell_i64(pool->device);
        cells[AT_kind] = nl_cell_name(result, trace, pool->kind);
        cells[AT_allocations] = nl_cell_count(pool->allocations);
        cells[AT_frees] = nl_cell_count(pool->frees);
        cells[AT_allocated_bytes] = nl_cell_i64(pool->allocated);
        cells[AT_freed_bytes] = nl_cell_i64(pool->freed);
        cells[AT_peak_net_bytes] = nl_cell_i64(pool->peak_net);
        cells[AT_peak_allocated_bytes] = nl_cell_i64(pool->peak_allocated);
        cells[AT_peak_reserved_bytes] = nl_cell_i64(pool->peak_reserved);
    }
    nl_free(pools.items);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_memory = {
    .name = "memory",
    .key = "memory",
    .title = "Memory",
    .needs = {{NL_T_memory, NULL}},
    .need_count = 1,
    .run = memory_run,
    .doc = "Per rank, device and kind of memory: allocations and frees while recording. Peak net "
           "is the highest running sum since the profile's start (without what was allocated "
           "before); peak allocated and reserved are the allocator's own totals, if recorded. "
           "Device types are the framework's numbers, with PyTorch's names: 0 CPU, 1 CUDA.",
};
