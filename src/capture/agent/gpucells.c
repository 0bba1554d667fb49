/* Records of CUPTI to cells of the recording. */
#include <stdio.h>
#include <string.h>

#include "capture/agent/gpucells.h"

/* ---- cells ---- */

#define PUT(gpu, cell, one) gpu_write((gpu)->thread, (cell), &(one), sizeof(one), NULL, 0)

/* ---- times ---- */

void gpu_anchor(struct gpu *gpu)
{
    if (!gpu->wall_clock)
        return;
    int64_t shift = 0, width = INT64_MAX;
    for (unsigned i = 0; i < 8; i++) {
        int64_t before = ticks_clock_ns(CLOCK_MONOTONIC), real = ticks_clock_ns(CLOCK_REALTIME);
        int64_t between = ticks_clock_ns(CLOCK_MONOTONIC) - before;
        if (between < width) {
            width = between;
            shift = real - before - between / 2;
        }
    }
    gpu_shift_found(&gpu->shift, shift, width);
}

static uint64_t time_of(const struct gpu *gpu, uint64_t stamp)
{
    return gpu_shifted(&gpu->shift, stamp);
}

static uint16_t small(uint32_t value)
{
    return value < UINT16_MAX ? (uint16_t)value : UINT16_MAX;
}

/* ---- work of devices ---- */

/* What records of all kinds of work have. */
#define WORK(record)                                                                               \
    .end = time_of(gpu, (record)->end), .correlation = (record)->correlation_id,                   \
    .device = (record)->device_id, .context = (record)->context_id, .stream = (record)->stream_id, \
    .graph = (record)->graph_id

static void kernel(struct gpu *gpu, const void *record)
{
    const struct cupti_kernel *k = record;
    struct nl_rec_work work = {WORK(k), .detail = k->registers_per_thread,
                               .node = k->graph_node_id};
    struct nl_rec_shape shape = {
        .grid = {(uint32_t)k->grid_x, (uint32_t)k->grid_y, (uint32_t)k->grid_z},
        .block = {(uint32_t)k->block_x, (uint32_t)k->block_y, (uint32_t)k->block_z},
        .static_shared = (uint32_t)k->static_shared_memory,
        .dynamic_shared = (uint32_t)k->dynamic_shared_memory};
    struct nl_rec_cell cell = {
        .time = time_of(gpu, k->start), .id = gpu_text(k->name), .kind = NL_REC_GPU_KERNEL};
    gpu_write(gpu->thread, cell, &work, sizeof work, &shape, sizeof shape);
}

static void copy(struct gpu *gpu, const void *record)
{
    const struct cupti_copy *c = record;
    struct nl_rec_work work = {WORK(c), .detail = c->src_kind | (uint32_t)c->dst_kind << 8,
                               .node = c->graph_node_id, .bytes = c->bytes};
    PUT(gpu,
        ((struct nl_rec_cell){
            .time = time_of(gpu, c->start), .kind = NL_REC_GPU_COPY, .depth = c->copy_kind}),
        work);
}

static void peer_copy(struct gpu *gpu, const void *record)
{
    const struct cupti_peer_copy *c = record;
    struct nl_rec_work work = {WORK(c), .detail = c->src_kind | (uint32_t)c->dst_kind << 8,
                               .node = c->graph_node_id, .bytes = c->bytes};
    struct nl_rec_peers peers = {.from = c->src_device_id, .to = c->dst_device_id};
    struct nl_rec_cell cell = {
        .time = time_of(gpu, c->start), .kind = NL_REC_GPU_PEER_COPY, .depth = c->copy_kind};
    gpu_write(gpu->thread, cell, &work, sizeof work, &peers, sizeof peers);
}

static void device_memset(struct gpu *gpu, const void *record)
{
    const struct cupti_fill *f = record;
    struct nl_rec_work work = {WORK(f), .detail = f->value, .node = f->graph_node_id,
                               .bytes = f->bytes};
    PUT(gpu,
        ((struct nl_rec_cell){
            .time = time_of(gpu, f->start), .kind = NL_REC_GPU_MEMSET, .depth = f->memory_kind}),
        work);
}

static void whole_graph(struct gpu *gpu, const void *record)
{
    const struct cupti_whole_graph *g = record;
    struct nl_rec_work work = {WORK(g)};
    PUT(gpu, ((struct nl_rec_cell){.time = time_of(gpu, g->start), .kind = NL_REC_GPU_GRAPH}),
        work);
}

/* ---- the host's side ---- */

static void wait_for(struct gpu *gpu, const void *record)
{
    const struct cupti_wait *w = record;
    struct nl_rec_work work = {.end = time_of(gpu, w->end),
                               .correlation = w->correlation_id,
                               .device = NL_REC_GPU_NUMBER,
                               .context = w->context_id,
                               .stream = w->stream_id,
                               .detail = w->cuda_event_id};
    PUT(gpu,
        ((struct nl_rec_cell){
            .time = time_of(gpu, w->start), .kind = NL_REC_GPU_SYNC, .depth = small(w->type)}),
        work);
}

/* "cudaMemcpyAsync_v3020", "cuLaunchKernel_ptsz": without what follows the function's name. */
static uint32_t function_name(const char *text)
{
    size_t len = strlen(text);
    const char *bar = strrchr(text, '_');
    if (bar && bar[1] == 'v' && strlen(bar + 2) >= 4 &&
        strspn(bar + 2, "0123456789") == strlen(bar + 2))
        len = (size_t)(bar - text);
    static const char *const endings[] = {"_ptsz", "_ptds"};
    for (size_t i = 0; i < 2; i++)
        if (len > 5 && memcmp(text + len - 5, endings[i], 5) == 0)
            len -= 5;
    return agent_name(text, len);
}

static void call(struct gpu *gpu, const void *record)
{
    const struct cupti_call *c = record;
    bool driver = c->kind == CUPTI_DRIVER;
    uint32_t name = 0;
    if (c->cbid < GPU_MAX_CALLS) {
        struct gpu_function *function = &gpu->functions[driver][c->cbid];
        const char *text = NULL;
        if (driver ? !function->launch : function->skip)
            return;
        if (!function->name &&
            gpu->cupti.get_callback_name(driver ? CUPTI_DOMAIN_DRIVER : CUPTI_DOMAIN_RUNTIME,
                                         c->cbid, &text) == CUPTI_OK &&
            text)
            function->name = function_name(text);
        name = function->name;
    }
    struct nl_rec_call more = {
        .end = time_of(gpu, c->end), .correlation = c->correlation_id, .thread = c->thread_id};
    PUT(gpu,
        ((struct nl_rec_cell){.time = time_of(gpu, c->start),
                              .id = name,
                              .kind = NL_REC_GPU_CALL,
                              .depth = small(c->return_value)}),
        more);
}

static void overhead(struct gpu *gpu, const void *record)
{
    static const char *const kinds[] = {"CUPTI: flushing a buffer",
                                        "CUPTI: instrumentation",
                                        "CUPTI: resources",
                                        "modules loaded by a call of the runtime",
                                        "functions loaded at their first use",
                                        "command buffer full",
                                        "CUPTI: asking for a buffer",
                                        "CUPTI: start of unified memory records"};
    const struct cupti_overhead *o = record;
    uint32_t kind = o->overhead_kind >> 16;
    char text[40];
    (void)snprintf(text, sizeof text, "overhead of kind %u", o->overhead_kind);
    const char *name = o->overhead_kind == 1 ? "driver: compiling" : text;
    if (kind >= 1 && kind <= sizeof kinds / sizeof kinds[0])
        name = kinds[kind - 1];
    struct nl_rec_call more = {.end = time_of(gpu, o->end),
                               .thread =
                                   o->object_kind == CUPTI_OBJECT_THREAD ? o->object_id[1] : 0};
    PUT(gpu,
        ((struct nl_rec_cell){
            .time = time_of(gpu, o->start), .id = gpu_text(name), .kind = NL_REC_GPU_OVERHEAD}),
        more);
}

/* The record does not name its thread in all versions; the call that it belongs to does. */
static void jit(struct gpu *gpu, const void *record)
{
    static const char *const entries[] = {"code", "PTX to machine code", "NVVM IR to PTX"};
    static const char *const operations[] = {"handled", "had from the cache", "put into the cache",
                                             "compiled"};
    const struct cupti_jit *j = record;
    char text[80];
    (void)snprintf(text, sizeof text, "CUDA JIT: %s %s", entries[j->entry < 3 ? j->entry : 0],
                   operations[j->operation < 4 ? j->operation : 0]);
    struct nl_rec_call more = {.end = time_of(gpu, j->end), .correlation = j->correlation_id};
    PUT(gpu,
        ((struct nl_rec_cell){
            .time = time_of(gpu, j->start), .id = gpu_text(text), .kind = NL_REC_GPU_COMPILE}),
        more);
}

static void unified(struct gpu *gpu, const void *record)
{
    enum { MANAGED = 5 };
    static const struct {
        const char *name;
        uint8_t copy; /* number of the kind of copies, beyond CUPTI's own */
        bool at_once, of_target;
    } pagings[CUPTI_PAGINGS] = {
        [CUPTI_PAGES_TO_DEVICE] = {.copy = NL_REC_GPU_PAGES_TO_DEVICE, .of_target = true},
        [CUPTI_PAGES_TO_HOST] = {.copy = NL_REC_GPU_PAGES_TO_HOST},
        [CUPTI_PAGES_BETWEEN_DEVICES] = {.copy = NL_REC_GPU_PAGES_BETWEEN, .of_target = true},
        [CUPTI_FAULT_ON_HOST] = {.name = "page fault on the CPU", .at_once = true},
        [CUPTI_FAULT_ON_DEVICE] = {.name = "page fault on the GPU"},
        [CUPTI_THRASHING] = {.name = "pages thrash", .at_once = true},
        [CUPTI_THROTTLING] = {.name = "accesses throttled"},
        [CUPTI_REMOTE_MAP] = {.name = "pages mapped remotely", .at_once = true, .of_target = true}};
    const struct cupti_unified *u = record;
    if (!u->counter || u->counter >= CUPTI_PAGINGS) {
        gpu->unknown++;
        return;
    }
    bool nowhere = u->counter == CUPTI_FAULT_ON_HOST || u->counter == CUPTI_THRASHING;
    uint32_t device = pagings[u->counter].of_target ? u->to : u->from;
    struct nl_rec_work work = {.end = time_of(gpu, u->end),
                               .device = nowhere ? NL_REC_GPU_NUMBER : device,
                               .context = NL_REC_GPU_NUMBER,
                               .stream = NL_REC_GPU_NUMBER,
                               .node = u->address,
                               .bytes = u->value};
    struct nl_rec_cell cell = {.time = time_of(gpu, u->start)};
    if (pagings[u->counter].copy) {
        cell.kind = NL_REC_GPU_COPY;
        cell.depth = pagings[u->counter].copy;
        work.detail = MANAGED | MANAGED << 8;
        work.node = 0; /* of a graph, in copies */
    } else {
        cell.kind = NL_REC_GPU_PAGING;
        cell.depth = pagings[u->counter].at_once;
        cell.id = gpu_text(pagings[u->counter].name);
    }
    PUT(gpu, cell, work);
}

static void memory(struct gpu *gpu, const void *record)
{
    const struct cupti_memory *m = record;
    struct nl_rec_work work = {.correlation = m->correlation_id,
                               .device = m->device_id,
                               .context = m->context_id,
                               .stream = m->stream_id,
                               .detail = m->memory_kind,
                               .node = m->address,
                               .bytes = m->bytes};
    PUT(gpu,
        ((struct nl_rec_cell){.time = time_of(gpu, m->timestamp),
                              .id = gpu_text(m->name),
                              .kind = NL_REC_GPU_MEMORY,
                              .depth = small(m->memory_operation_type)}),
        work);
}

static void memory_pool(struct gpu *gpu, const void *record)
{
    const struct cupti_memory_pool *m = record;
    struct nl_rec_work work = {.correlation = m->correlation_id,
                               .device = m->device_id,
                               .context = NL_REC_GPU_NUMBER,
                               .stream = NL_REC_GPU_NUMBER,
                               .detail = m->memory_pool_type,
                               .node = m->address,
                               .bytes = m->size};
    PUT(gpu,
        ((struct nl_rec_cell){.time = time_of(gpu, m->timestamp),
                              .kind = NL_REC_GPU_POOL,
                              .depth = small(m->memory_pool_operation_type)}),
        work);
}

/* ---- devices, contexts, streams ---- */

static void device(struct gpu *gpu, const void *record)
{
    const struct cupti_device *d = record;
    struct nl_rec_device more = {.memory_bytes = d->global_memory_size,
                                 .bandwidth = d->global_memory_bandwidth * 1000,
                                 .clock_hz = (uint64_t)d->core_clock_rate * 1000,
                                 .number = d->id,
                                 .processors = d->num_multiprocessors,
                                 .major = d->compute_capability_major,
                                 .minor = d->compute_capability_minor,
                                 .warps = d->max_warps_per_multiprocessor,
                                 .warp_size = d->num_threads_per_warp};
    memcpy(more.uuid, d->uuid, sizeof more.uuid);
    PUT(gpu, ((struct nl_rec_cell){.id = gpu_text(d->name), .kind = NL_REC_GPU_DEVICE}), more);
}

static void context(struct gpu *gpu, const void *record)
{
    const struct cupti_context *c = record;
    struct nl_rec_work work = {
        .device = c->device_id, .context = c->context_id, .stream = c->null_stream_id};
    PUT(gpu, ((struct nl_rec_cell){.kind = NL_REC_GPU_CONTEXT}), work);
}

static void stream(struct gpu *gpu, const void *record)
{
    const struct cupti_stream *s = record;
    struct nl_rec_work work = {.device = NL_REC_GPU_NUMBER,
                               .context = s->context_id,
                               .stream = s->stream_id,
                               .detail = s->priority};
    PUT(gpu, ((struct nl_rec_cell){.kind = NL_REC_GPU_STREAM}), work);
}

/* ---- all ---- */

/* `start`: position of its time in a record, 0 = it has none. */
static const struct {
    void (*write)(struct gpu *gpu, const void *record);
    size_t start;
} kinds[CUPTI_KINDS] = {
    [CUPTI_MEMCPY] = {copy, offsetof(struct cupti_copy, start)},
    [CUPTI_MEMCPY2] = {peer_copy, offsetof(struct cupti_peer_copy, start)},
    [CUPTI_MEMSET] = {device_memset, offsetof(struct cupti_fill, start)},
    [CUPTI_KERNEL] = {kernel, offsetof(struct cupti_kernel, start)},
    [CUPTI_CONCURRENT_KERNEL] = {kernel, offsetof(struct cupti_kernel, start)},
    [CUPTI_DRIVER] = {call, offsetof(struct cupti_call, start)},
    [CUPTI_RUNTIME] = {call, offsetof(struct cupti_call, start)},
    [CUPTI_OVERHEAD] = {overhead, offsetof(struct cupti_overhead, start)},
    [CUPTI_SYNCHRONIZATION] = {wait_for, offsetof(struct cupti_wait, start)},
    [CUPTI_MEMORY2] = {memory, offsetof(struct cupti_memory, timestamp)},
    [CUPTI_MEMORY_POOL] = {memory_pool, offsetof(struct cupti_memory_pool, timestamp)},
    [CUPTI_UNIFIED_MEMORY] = {unified, offsetof(struct cupti_unified, start)},
    [CUPTI_JIT] = {jit, offsetof(struct cupti_jit, start)},
    [CUPTI_GRAPH_TRACE] = {whole_graph, offsetof(struct cupti_whole_graph, start)},
    [CUPTI_DEVICE] = {device, 0},
    [CUPTI_CONTEXT] = {context, 0},
    [CUPTI_STREAM] = {stream, 0},
};

/* Inside the window of recording? What has no time is. */
static bool is_wanted(const struct gpu *gpu, const void *record, size_t at)
{
    uint64_t start = 0;
    if (at)
        memcpy(&start, (const char *)record + at, sizeof start);
    return !start || control_was_open(nl_agent.control, (int64_t)time_of(gpu, start));
}

void gpu_record(struct gpu *gpu, const struct cupti_record *record)
{
    uint32_t kind = record->kind;
    if (kind >= CUPTI_KINDS || !kinds[kind].write)
        gpu->unknown++;
    else if (is_wanted(gpu, record, kinds[kind].start))
        kinds[kind].write(gpu, record);
}

/* ---- functions ---- */

static bool is_one(const char *name, const char *const *list)
{
    for (; *list; list++) {
        size_t len = strlen(*list);
        if (strncmp(name, *list, len) == 0 && (!name[len] || name[len] == '_'))
            return true;
    }
    return false;
}

void gpu_learn_functions(struct gpu *gpu)
{
    /* They ask, change nothing, and are called between any two launches. */
    static const char *const asking[] = {"cudaGetDevice",
                                         "cudaSetDevice",
                                         "cudaGetLastError",
                                         "cudaPeekAtLastError",
                                         "cudaEventQuery",
                                         "cudaStreamQuery",
                                         "cudaDeviceGetAttribute",
                                         "cudaStreamIsCapturing",
                                         "cudaStreamGetCaptureInfo",
                                         "cudaPointerGetAttributes",
                                         "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                                         "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                                         NULL};
    /* Of the driver only launches: Triton, NCCL and compiled models start their work so. */
    static const char *const launches[] = {"cuLaunchKernel", "cuLaunchKernelEx",
                                           "cuLaunchCooperativeKernel", "cuGraphLaunch", NULL};
    const char *name;
    for (uint32_t i = 1; i < GPU_MAX_CALLS; i++) {
        name = NULL;
        if (gpu->cupti.get_callback_name(CUPTI_DOMAIN_RUNTIME, i, &name) == CUPTI_OK && name)
            gpu->functions[0][i].skip = is_one(name, asking);
        name = NULL;
        if (gpu->cupti.get_callback_name(CUPTI_DOMAIN_DRIVER, i, &name) == CUPTI_OK && name)
            gpu->functions[1][i].launch = is_one(name, launches);
    }
}
