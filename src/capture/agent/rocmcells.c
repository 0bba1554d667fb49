/* Records of rocprofiler-sdk to cells of the recording. Kinds of copies and memory
 * are numbered as CUPTI does. */
#include <string.h>

#include "capture/agent/rocmcells.h"

enum { COPY_H2D = 1, COPY_D2H = 2, COPY_D2D = 8, COPY_H2H = 9, COPY_PEER = 10 };
enum { MEMORY_UNKNOWN, MEMORY_PINNED = 2, MEMORY_DEVICE = 3 };
enum { DONE_ALLOCATED = 1, DONE_FREED = 2 };

#define NO_RESULT UINT16_MAX

static uint64_t time_of(const struct rocm *rocm, uint64_t stamp)
{
    return gpu_shifted(&rocm->shift, stamp);
}

/* ---- agents and queues ---- */

static const struct rocm_agent *agent_of(const struct rocm *rocm, uint64_t id)
{
    for (uint32_t i = 0; i < rocm->agent_count; i++)
        if (rocm->agents[i].id == id)
            return &rocm->agents[i];
    return NULL;
}

static uint32_t gpu_number(const struct rocm_agent *agent)
{
    return agent && agent->type == ROCM_AGENT_GPU ? (uint32_t)agent->number : NL_REC_GPU_NUMBER;
}

/* Queues are known by their addresses; a number each, as they appear. */
static uint32_t queue_of(struct rocm *rocm, uint64_t handle)
{
    uint32_t at = 0;
    while (at < rocm->queue_count && rocm->queues[at] != handle)
        at++;
    if (at == ROCM_MAX_QUEUES) {
        rocm->queueless++;
        return NL_REC_GPU_NUMBER;
    }
    rocm->queues[at] = handle;
    rocm->queue_count = at < rocm->queue_count ? rocm->queue_count : at + 1;
    return at + 1;
}

static uint64_t own_memory(const struct rocm_agent *agent)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; agent->banks && i < agent->bank_count; i++)
        if (agent->banks[i].heap == 1 || agent->banks[i].heap == 2)
            bytes += agent->banks[i].bytes;
    return bytes;
}

void rocm_devices(struct rocm *rocm)
{
    for (uint32_t i = 0; i < rocm->agent_count; i++) {
        const struct rocm_agent *agent = &rocm->agents[i];
        if (agent->type != ROCM_AGENT_GPU)
            continue;
        struct nl_rec_device more = {.memory_bytes = own_memory(agent),
                                     .clock_hz = (uint64_t)agent->clock_mhz * 1000000,
                                     .number = (uint32_t)agent->number,
                                     .processors = agent->compute_units,
                                     .major = agent->target / 10000,
                                     .minor = agent->target / 100 % 100,
                                     .warps = agent->waves_per_unit,
                                     .warp_size = agent->wave_lanes};
        const char *name = agent->product && *agent->product ? agent->product : agent->name;
        struct nl_rec_cell cell = {
            .id = gpu_text(name), .kind = NL_REC_GPU_DEVICE, .depth = NL_REC_GPU_AMD};
        gpu_write(rocm->thread, cell, &more, sizeof more, NULL, 0);
    }
}

/* ---- kernels ---- */

void rocm_learn_kernel(struct rocm *rocm, const struct rocm_symbol *symbol)
{
    if (symbol->kernel >= ROCM_MAX_SYMBOLS) {
        __atomic_fetch_add(&rocm->unnamed, 1, __ATOMIC_RELAXED);
        return;
    }
    struct rocm_known *known = &rocm->kernels[symbol->kernel];
    size_t len = symbol->name ? strlen(symbol->name) : 0;
    if (len > 3 && memcmp(symbol->name + len - 3, ".kd", 3) == 0)
        len -= 3; /* of the descriptor, as the linker names it */
    known->registers = symbol->vector_registers;
    known->group_bytes = symbol->group_bytes;
    __atomic_store_n(&known->name, len ? agent_name(symbol->name, len) : 0, __ATOMIC_RELEASE);
}

static void kernel(struct rocm *rocm, const void *record)
{
    static const struct rocm_known none;
    const struct rocm_kernel *k = record;
    const struct rocm_known *known =
        k->kernel < ROCM_MAX_SYMBOLS ? &rocm->kernels[k->kernel] : &none;
    uint32_t name = __atomic_load_n(&known->name, __ATOMIC_ACQUIRE);
    struct nl_rec_work work = {.end = time_of(rocm, k->end),
                               .correlation = (uint32_t)k->correlation,
                               .device = gpu_number(agent_of(rocm, k->agent)),
                               .context = NL_REC_GPU_NUMBER,
                               .stream = queue_of(rocm, k->queue),
                               .detail = known->registers};
    bool told = known->group_bytes <= k->group_bytes;
    struct nl_rec_shape shape = {.static_shared = told ? known->group_bytes : k->group_bytes,
                                 .dynamic_shared = told ? k->group_bytes - known->group_bytes : 0};
    for (unsigned i = 0; i < 3; i++) {
        uint32_t items = k->workgroup[i] ? k->workgroup[i] : 1;
        shape.block[i] = k->workgroup[i];
        shape.grid[i] = k->grid[i] / items + (k->grid[i] % items != 0);
    }
    struct nl_rec_cell cell = {
        .time = time_of(rocm, k->start), .id = name, .kind = NL_REC_GPU_KERNEL};
    gpu_write(rocm->thread, cell, &work, sizeof work, &shape, sizeof shape);
}

/* ---- copies, memory ---- */

static uint32_t memory_of(const struct rocm_agent *agent)
{
    if (!agent)
        return MEMORY_UNKNOWN;
    return agent->type == ROCM_AGENT_GPU ? MEMORY_DEVICE : MEMORY_PINNED;
}

static void copy(struct rocm *rocm, const void *record)
{
    static const uint8_t kinds[] = {0, COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D};
    const struct rocm_copy *c = record;
    const struct rocm_agent *from = agent_of(rocm, c->from_agent),
                            *to = agent_of(rocm, c->to_agent);
    struct nl_rec_peers peers = {.from = gpu_number(from), .to = gpu_number(to)};
    bool peer = c->operation == ROCM_DEVICE_TO_DEVICE && from != to;
    uint16_t kind = c->operation < sizeof kinds ? kinds[c->operation] : 0;
    struct nl_rec_work work = {.end = time_of(rocm, c->end),
                               .correlation = (uint32_t)c->correlation,
                               .device = peers.to == NL_REC_GPU_NUMBER ? peers.from : peers.to,
                               .context = NL_REC_GPU_NUMBER,
                               .stream = NL_REC_GPU_NUMBER,
                               .bytes = c->bytes};
    /* Memory of the host may be pageable or pinned: the agent alone does not say. */
    work.detail = (peers.from == NL_REC_GPU_NUMBER ? MEMORY_UNKNOWN : MEMORY_DEVICE) |
                  (peers.to == NL_REC_GPU_NUMBER ? MEMORY_UNKNOWN : MEMORY_DEVICE) << 8;
    struct nl_rec_cell cell = {.time = time_of(rocm, c->start),
                               .kind = peer ? NL_REC_GPU_PEER_COPY : NL_REC_GPU_COPY,
                               .depth = peer ? COPY_PEER : kind};
    gpu_write(rocm->thread, cell, &work, sizeof work, &peers, peer ? sizeof peers : 0);
}

static void allocation(struct rocm *rocm, const void *record)
{
    const struct rocm_allocated *a = record;
    const struct rocm_agent *agent = agent_of(rocm, a->agent);
    bool freed = a->operation == ROCM_FREE || a->operation == ROCM_VIRTUAL_FREE;
    struct nl_rec_work work = {.correlation = (uint32_t)a->correlation,
                               .device = gpu_number(agent),
                               .context = NL_REC_GPU_NUMBER,
                               .stream = NL_REC_GPU_NUMBER,
                               .detail = memory_of(agent),
                               .node = a->address,
                               .bytes = a->bytes};
    struct nl_rec_cell cell = {.time = time_of(rocm, a->start),
                               .kind = NL_REC_GPU_MEMORY,
                               .depth = freed ? DONE_FREED : DONE_ALLOCATED};
    gpu_write(rocm->thread, cell, &work, sizeof work, NULL, 0);
}

/* ---- calls ---- */

static uint32_t function_of(struct rocm *rocm, int32_t operation)
{
    const char *name = NULL;
    uint64_t length = 0;
    if (operation < 0 || operation >= (int32_t)ROCM_MAX_OPERATIONS)
        return 0;
    uint32_t *known = &rocm->functions[operation];
    if (!*known &&
        rocm->calls.operation_name(ROCM_HIP_CALL, operation, &name, &length) == ROCM_OK && name)
        *known = gpu_text(name);
    return *known;
}

static void call(struct rocm *rocm, const void *record)
{
    const struct rocm_call *c = record;
    struct nl_rec_call more = {.end = time_of(rocm, c->end),
                               .correlation = (uint32_t)c->correlation,
                               .thread = (uint32_t)c->thread};
    struct nl_rec_cell cell = {.time = time_of(rocm, c->start),
                               .id = function_of(rocm, c->operation),
                               .kind = NL_REC_GPU_CALL,
                               .depth = NO_RESULT};
    gpu_write(rocm->thread, cell, &more, sizeof more, NULL, 0);
}

/* ---- all ---- */

static const struct {
    uint32_t kind;
    void (*write)(struct rocm *rocm, const void *record);
    size_t bytes, start;
} kinds[] = {
    {ROCM_HIP_CALL, call, sizeof(struct rocm_call), offsetof(struct rocm_call, start)},
    {ROCM_COPY, copy, sizeof(struct rocm_copy), offsetof(struct rocm_copy, start)},
    {ROCM_KERNEL, kernel, sizeof(struct rocm_kernel), offsetof(struct rocm_kernel, start)},
    {ROCM_ALLOCATION, allocation, sizeof(struct rocm_allocated),
     offsetof(struct rocm_allocated, start)},
};

void rocm_record(struct rocm *rocm, const struct rocm_header *header)
{
    uint64_t bytes = 0, start = 0;
    size_t at = 0;
    if (!header) {
        rocm->unknown++;
        return;
    }
    while (at < sizeof kinds / sizeof kinds[0] && kinds[at].kind != header->kind)
        at++;
    if (header->payload)
        memcpy(&bytes, header->payload, sizeof bytes);
    if (header->category != ROCM_CATEGORY_TRACING || at == sizeof kinds / sizeof kinds[0] ||
        bytes < kinds[at].bytes) {
        rocm->unknown++;
        return;
    }
    memcpy(&start, (const char *)header->payload + kinds[at].start, sizeof start);
    if (!start || control_was_open(nl_agent.control, (int64_t)time_of(rocm, start)))
        kinds[at].write(rocm, header->payload);
}
