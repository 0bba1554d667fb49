/*
 * GPU work of a recording as rows. Waits name no device, only their context; those whose context is
 * not known yet wait until the end, since CUPTI's records come in no order.
 */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "ingest/lib/gpurows.h"
#include "ingest/recording/recording.h"
#include "nlrec/recgpu.h"
#include "store/copykind.h"

#define MAX_WORDS 256u /* kinds of notes, and facts: what writes recordings has a dozen */

struct rec_wait {
    struct nl_rec_cell cell;
    struct nl_rec_work work;
};

struct rec_gpu {
    struct rec_load *load;
    struct gpurows rows;
    int64_t pid;
    struct gpurows_map contexts; /* → device */
    struct gpurows_map notes;    /* names of kinds of notes given so far */
    size_t facts;
    uint64_t more_words; /* beyond MAX_WORDS */
    struct rec_wait *waits;
    size_t wait_count, wait_cap;
    uint64_t work, calls, no_time, begun, ended;
};

struct rec_gpu *rec_gpu_new(struct rec_load *load)
{
    struct rec_gpu *gpu = nl_zalloc(sizeof *gpu);
    gpu->load = load;
    gpu->pid = load->head.pid;
    gpu->rows.builder = load->builder;
    gpu->rows.stage = load->stage;
    gpu->rows.source = load->source;
    gpu->rows.job = load->job;
    return gpu;
}

void rec_gpu_free(struct rec_gpu *gpu)
{
    if (!gpu)
        return;
    gpurows_map_release(&gpu->contexts);
    gpurows_map_release(&gpu->notes);
    gpurows_map_release(&gpu->rows.live);
    gpurows_map_release(&gpu->rows.ordinals);
    nl_free(gpu->waits);
    nl_free(gpu);
}

/* ---- numbers ---- */

static int64_t time_of(uint64_t ns)
{
    return ns && ns <= INT64_MAX ? (int64_t)ns : NL_NULL_I64;
}

static uint64_t id_of(uint64_t number)
{
    return number ? number : NL_NULL_U64;
}

static int64_t told(uint32_t number)
{
    return number == NL_REC_GPU_NUMBER ? NL_NULL_I64 : (int64_t)number;
}

/* Times of a row; false (counted): it has no start. */
static bool times(struct rec_gpu *gpu, const struct nl_rec_cell *cell, uint64_t end,
                  struct nl_slice_row *slice)
{
    int64_t start = time_of(cell->time);
    *slice = nl_slice_row();
    if (start == NL_NULL_I64) {
        gpu->no_time++;
        return false;
    }
    return gpurows_times(&gpu->rows, start, time_of(end), slice);
}

static bool on_stream(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                      const struct nl_rec_work *work, enum nl_kind kind, struct nl_slice_row *slice)
{
    gpu->work++;
    if (!times(gpu, cell, work->end, slice))
        return false;
    slice->kind = (uint8_t)kind;
    slice->lane = gpurows_stream(&gpu->rows, gpu->pid, told(work->device), told(work->context),
                                 told(work->stream));
    if (work->device != NL_REC_GPU_NUMBER)
        (void)gpurows_map_put(&gpu->contexts, work->context, work->device, NULL);
    return true;
}

/* ---- device work ---- */

static void kernel(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_work work;
    struct nl_rec_shape shape;
    struct nl_slice_row slice;
    struct nl_kernel_row row = nl_kernel_row();
    memcpy(&work, more, sizeof work);
    memcpy(&shape, more + sizeof work, sizeof shape);
    if (!on_stream(gpu, cell, &work, NL_KIND_KERNEL, &slice))
        return;
    slice.name = rec_name_id(gpu->load, cell->id);
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.correlation = id_of(work.correlation);
    row.graph = id_of(work.graph);
    row.graph_node = id_of(work.node);
    row.registers = work.detail;
    row.grid_x = shape.grid[0];
    row.grid_y = shape.grid[1];
    row.grid_z = shape.grid[2];
    row.block_x = shape.block[0];
    row.block_y = shape.block[1];
    row.block_z = shape.block[2];
    row.static_shared_bytes = shape.static_shared;
    row.dynamic_shared_bytes = shape.dynamic_shared;
    nl_stage_kernel(gpu->rows.stage, &row);
}

static void stage_copy(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                       const struct nl_rec_work *work, const struct nl_rec_peers *peers)
{
    struct nl_slice_row slice;
    struct nl_copy_row row = nl_copy_row();
    if (!on_stream(gpu, cell, work, NL_KIND_MEMCPY, &slice))
        return;
    row.kind = (uint8_t)nl_copykind_of_cupti(cell->depth);
    slice.name = gpurows_copy_name(&gpu->rows, row.kind);
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.correlation = id_of(work->correlation);
    row.bytes = work->bytes;
    row.src_memory = gpurows_cupti_memory(work->detail & 0xff);
    row.dst_memory = gpurows_cupti_memory(work->detail >> 8 & 0xff);
    row.graph_node = id_of(work->node);
    if (peers) {
        row.src_device = told(peers->from);
        row.dst_device = told(peers->to);
    }
    nl_stage_copy(gpu->rows.stage, &row);
}

static void copy(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_work work;
    memcpy(&work, more, sizeof work);
    stage_copy(gpu, cell, &work, NULL);
}

static void peer_copy(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                      const unsigned char *more)
{
    struct nl_rec_work work;
    struct nl_rec_peers peers;
    memcpy(&work, more, sizeof work);
    memcpy(&peers, more + sizeof work, sizeof peers);
    stage_copy(gpu, cell, &work, &peers);
}

static void device_memset(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                          const unsigned char *more)
{
    struct nl_rec_work work;
    struct nl_slice_row slice;
    struct nl_memset_row row = nl_memset_row();
    memcpy(&work, more, sizeof work);
    if (!on_stream(gpu, cell, &work, NL_KIND_MEMSET, &slice))
        return;
    slice.name = nl_stage_name(gpu->rows.stage, nl_str("[CUDA memset]"));
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.correlation = id_of(work.correlation);
    row.value = work.detail;
    row.bytes = work.bytes;
    row.memory = gpurows_cupti_memory(cell->depth);
    row.graph_node = id_of(work.node);
    nl_stage_memset(gpu->rows.stage, &row);
}

static void whole_graph(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                        const unsigned char *more)
{
    struct nl_rec_work work;
    struct nl_slice_row slice;
    struct nl_graph_row row = nl_graph_row();
    char name[32];
    memcpy(&work, more, sizeof work);
    if (!on_stream(gpu, cell, &work, NL_KIND_GRAPH, &slice))
        return;
    (void)snprintf(name, sizeof name, "CUDA graph %u", work.graph);
    slice.name = nl_stage_name(gpu->rows.stage, nl_str(work.graph ? name : "CUDA graph"));
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.graph = id_of(work.graph);
    row.correlation = id_of(work.correlation);
    nl_stage_graph(gpu->rows.stage, &row);
}

/* ---- the host's side ---- */

static void stage_wait(struct rec_gpu *gpu, const struct rec_wait *wait, int64_t device)
{
    struct nl_slice_row slice;
    struct nl_sync_row row = nl_sync_row();
    if (!times(gpu, &wait->cell, wait->work.end, &slice))
        return;
    row.kind = gpurows_cupti_sync(wait->cell.depth);
    slice.kind = NL_KIND_SYNC;
    slice.name = gpurows_sync_name(&gpu->rows, row.kind);
    slice.lane = gpurows_device(&gpu->rows, NL_LANE_SYNC, gpu->pid, device,
                                told(wait->work.context), told(wait->work.stream));
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.correlation = id_of(wait->work.correlation);
    row.event_id = told(wait->work.detail);
    nl_stage_sync(gpu->rows.stage, &row);
}

static void wait_for(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct rec_wait wait = {.cell = *cell};
    memcpy(&wait.work, more, sizeof wait.work);
    gpu->work++;
    const uint64_t *device = gpurows_map_find(&gpu->contexts, wait.work.context);
    if (device) {
        stage_wait(gpu, &wait, (int64_t)*device);
        return;
    }
    nl_grow(&gpu->waits, &gpu->wait_cap, gpu->wait_count + 1);
    gpu->waits[gpu->wait_count++] = wait;
}

static void call(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_call call;
    struct nl_slice_row slice;
    struct nl_api_row row = nl_api_row();
    memcpy(&call, more, sizeof call);
    gpu->calls++;
    if (!times(gpu, cell, call.end, &slice))
        return;
    slice.kind = NL_KIND_API;
    slice.name = rec_name_id(gpu->load, cell->id);
    slice.lane = gpurows_thread(&gpu->rows, NL_LANE_THREAD, gpu->pid,
                                call.thread ? (int64_t)call.thread : NL_NULL_I64, 0);
    row.slice = nl_stage_slice(gpu->rows.stage, &slice);
    row.correlation = id_of(call.correlation);
    if (cell->depth != UINT16_MAX)
        row.result = cell->depth;
    nl_stage_api(gpu->rows.stage, &row);
}

static void overhead(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_call call;
    struct nl_slice_row slice;
    memcpy(&call, more, sizeof call);
    if (!times(gpu, cell, call.end, &slice))
        return;
    slice.kind = NL_KIND_OVERHEAD;
    slice.name = rec_name_id(gpu->load, cell->id);
    slice.lane = gpurows_thread(&gpu->rows, NL_LANE_OVERHEAD, gpu->pid,
                                call.thread ? (int64_t)call.thread : NL_NULL_I64, 0);
    (void)nl_stage_slice(gpu->rows.stage, &slice);
}

static void compile(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_call call;
    struct nl_slice_row slice;
    memcpy(&call, more, sizeof call);
    if (!times(gpu, cell, call.end, &slice))
        return;
    slice.kind = NL_KIND_COMPILE;
    slice.name = rec_name_id(gpu->load, cell->id);
    slice.lane = gpurows_thread(&gpu->rows, NL_LANE_THREAD, gpu->pid,
                                call.thread ? (int64_t)call.thread : NL_NULL_I64, 0);
    (void)nl_stage_slice(gpu->rows.stage, &slice);
}

/* ---- memory ---- */

static void paging(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_work work;
    struct nl_slice_row slice;
    memcpy(&work, more, sizeof work);
    if (!times(gpu, cell, cell->depth ? cell->time : work.end, &slice))
        return;
    slice.kind = NL_KIND_OVERHEAD;
    slice.flags = cell->depth ? NL_SLICE_INSTANT : 0;
    slice.name = rec_name_id(gpu->load, cell->id);
    slice.lane = gpurows_device(&gpu->rows, NL_LANE_DEVICE, gpu->pid, told(work.device),
                                NL_NULL_I64, NL_NULL_I64);
    (void)nl_stage_slice(gpu->rows.stage, &slice);
}

static bool memory_row(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                       const struct nl_rec_work *work, struct nl_memory_row *row)
{
    *row = nl_memory_row();
    row->ts = time_of(cell->time);
    row->lane = gpurows_thread(&gpu->rows, NL_LANE_PROCESS, gpu->pid, NL_NULL_I64, 0);
    row->address = id_of(work->node);
    row->device_type = 1; /* CUDA, as PyTorch numbers kinds of devices */
    row->device = told(work->device);
    gpu->no_time += row->ts == NL_NULL_I64;
    return row->ts != NL_NULL_I64;
}

static void memory(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    static const char *const actions[] = {NULL, "alloc", "free"};
    struct nl_rec_work work;
    struct nl_memory_row row;
    memcpy(&work, more, sizeof work);
    if (!memory_row(gpu, cell, &work, &row))
        return;
    const char *kind = nl_enum_text(NL_ENUM_memory, gpurows_cupti_memory(work.detail));
    int64_t bytes = work.bytes <= INT64_MAX ? (int64_t)work.bytes : 0;
    gpurows_allocation(&gpu->rows, &row, bytes, cell->depth == 2);
    if (kind)
        row.kind = nl_stage_name(gpu->rows.stage, nl_str(kind));
    if (cell->depth == 1 || cell->depth == 2)
        row.action = nl_stage_name(gpu->rows.stage, nl_str(actions[cell->depth]));
    nl_stage_memory(gpu->rows.stage, &row);
}

static void memory_pool(struct rec_gpu *gpu, const struct nl_rec_cell *cell,
                        const unsigned char *more)
{
    static const char *const actions[] = {NULL, "pool_created", "pool_destroyed", "pool_trimmed"};
    struct nl_rec_work work;
    struct nl_memory_row row;
    memcpy(&work, more, sizeof work);
    if (!memory_row(gpu, cell, &work, &row))
        return;
    if (work.bytes <= INT64_MAX)
        row.total_reserved = work.bytes;
    row.kind = nl_stage_name(gpu->rows.stage,
                             nl_str(work.detail == 2 ? "imported memory pool" : "memory pool"));
    if (cell->depth >= 1 && cell->depth <= 3)
        row.action = nl_stage_name(gpu->rows.stage, nl_str(actions[cell->depth]));
    nl_stage_memory(gpu->rows.stage, &row);
}

/* ---- devices, contexts, streams ---- */

static void set_uuid(struct rec_gpu *gpu, struct nl_device_row *row, const unsigned char uuid[16])
{
    char text[48] = "GPU-";
    static const unsigned char untold[16];
    size_t at = 4;
    if (memcmp(uuid, untold, sizeof untold) == 0)
        return;
    for (unsigned i = 0; i < 16; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
    row->uuid = nl_builder_name(gpu->load->builder, (struct nl_str){text, at});
}

static void device(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_device info;
    struct nl_builder *builder = gpu->load->builder;
    memcpy(&info, more, sizeof info);
    uint32_t number = nl_builder_device(builder, gpu->load->source, info.number, info.number);
    struct nl_device_row *row = nl_builder_device_row(builder, number);
    struct nl_str name = rec_name(gpu->load, cell->id);
    if (name.len)
        row->name = nl_builder_name(builder, name);
    row->vendor =
        nl_builder_name(builder, nl_str(cell->depth == NL_REC_GPU_AMD ? "amd" : "nvidia"));
    row->sm_count = info.processors;
    row->memory_bytes = info.memory_bytes ? info.memory_bytes : NL_NULL_U64;
    row->bandwidth_bytes_per_s = info.bandwidth ? info.bandwidth : NL_NULL_U64;
    row->clock_hz = info.clock_hz ? info.clock_hz : NL_NULL_U64;
    row->compute_major = info.major;
    row->compute_minor = info.minor;
    row->max_warps_per_sm = info.warps;
    row->warp_size = info.warp_size;
    set_uuid(gpu, row, info.uuid);
}

static void context(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_work work;
    (void)cell;
    memcpy(&work, more, sizeof work);
    if (work.device != NL_REC_GPU_NUMBER)
        (void)gpurows_map_put(&gpu->contexts, work.context, work.device, NULL);
}

/* One more row of metadata? A damaged file may have millions. */
static bool may_tell(struct rec_gpu *gpu)
{
    bool may = gpu->facts < MAX_WORDS;
    gpu->facts += may;
    gpu->more_words += !may;
    return may;
}

/* Only what is not usual is worth a word. */
static void stream(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_work work;
    char key[64], value[32];
    (void)cell;
    memcpy(&work, more, sizeof work);
    if (!work.detail || !may_tell(gpu))
        return;
    (void)snprintf(key, sizeof key, "priority of stream %u (context %u)", work.stream,
                   work.context);
    (void)snprintf(value, sizeof value, "%d", (int32_t)work.detail);
    nl_builder_meta(gpu->load->builder, gpu->load->source, key, nl_str(value));
}

/* ---- words of the recording library ---- */

static void note(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_more words;
    char item[256], detail[256];
    if (!gpurows_map_find(&gpu->notes, cell->id) && gpu->notes.count >= MAX_WORDS) {
        gpu->more_words++;
        return;
    }
    (void)gpurows_map_put(&gpu->notes, cell->id, 1, NULL);
    memcpy(&words, more, sizeof words);
    struct nl_str name = rec_name(gpu->load, cell->id), text = rec_name(gpu->load, words.a);
    (void)snprintf(item, sizeof item, "%.*s", NL_UP_TO(255, name));
    (void)snprintf(detail, sizeof detail, "%.*s", NL_UP_TO(255, text));
    rec_cover(gpu->load, name.len ? item : "a note without its words",
              words.value <= INT64_MAX ? words.value : INT64_MAX, text.len ? detail : NULL);
}

static void fact(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more)
{
    struct nl_rec_more words;
    char key[256];
    memcpy(&words, more, sizeof words);
    struct nl_str name = rec_name(gpu->load, cell->id), value = rec_name(gpu->load, words.a);
    (void)snprintf(key, sizeof key, "%.*s", NL_UP_TO(255, name));
    if (!name.len)
        return;
    if (strcmp(key, NL_REC_GPU_STATE) != 0) {
        if (may_tell(gpu))
            nl_builder_meta(gpu->load->builder, gpu->load->source, key, value);
        return;
    }
    gpu->begun += nl_str_is(value, "begun");
    gpu->ended += nl_str_is(value, "ended");
}

/* ---- all ---- */

static const struct {
    void (*take)(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more);
    size_t bytes;
} kinds[NL_REC_GPU_BEHIND - NL_REC_GPU_KERNEL] = {
#define KIND(kind, take, bytes) [kind - NL_REC_GPU_KERNEL] = {take, bytes}
    KIND(NL_REC_GPU_KERNEL, kernel, sizeof(struct nl_rec_work) + sizeof(struct nl_rec_shape)),
    KIND(NL_REC_GPU_COPY, copy, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_PEER_COPY, peer_copy, sizeof(struct nl_rec_work) + sizeof(struct nl_rec_peers)),
    KIND(NL_REC_GPU_MEMSET, device_memset, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_GRAPH, whole_graph, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_SYNC, wait_for, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_CALL, call, sizeof(struct nl_rec_call)),
    KIND(NL_REC_GPU_OVERHEAD, overhead, sizeof(struct nl_rec_call)),
    KIND(NL_REC_GPU_MEMORY, memory, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_POOL, memory_pool, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_DEVICE, device, sizeof(struct nl_rec_device)),
    KIND(NL_REC_GPU_CONTEXT, context, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_STREAM, stream, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_COMPILE, compile, sizeof(struct nl_rec_call)),
    KIND(NL_REC_GPU_PAGING, paging, sizeof(struct nl_rec_work)),
    KIND(NL_REC_GPU_NOTE, note, sizeof(struct nl_rec_more)),
    KIND(NL_REC_GPU_FACT, fact, sizeof(struct nl_rec_more)),
#undef KIND
};

bool rec_gpu_take(struct rec_gpu *gpu, const struct nl_rec_cell *cell, const unsigned char *more,
                  size_t bytes)
{
    unsigned row = cell->kind - NL_REC_GPU_KERNEL;
    if (bytes < kinds[row].bytes)
        return false;
    kinds[row].take(gpu, cell, more);
    return true;
}

void rec_gpu_finish(struct rec_gpu *gpu)
{
    const struct {
        const char *key;
        uint64_t count;
    } facts[] = {{"recorded events: GPU work", gpu->work},
                 {"recorded events: GPU API calls", gpu->calls}};
    char text[32];
    for (size_t i = 0; i < gpu->wait_count; i++) {
        const uint64_t *device = gpurows_map_find(&gpu->contexts, gpu->waits[i].work.context);
        stage_wait(gpu, &gpu->waits[i], device ? (int64_t)*device : NL_NULL_I64);
    }
    for (size_t i = 0; i < sizeof facts / sizeof facts[0]; i++) {
        (void)snprintf(text, sizeof text, "%llu", (unsigned long long)facts[i].count);
        if (facts[i].count)
            nl_builder_meta(gpu->load->builder, gpu->load->source, facts[i].key, nl_str(text));
    }
    gpurows_end(&gpu->rows);
    rec_cover(gpu->load, "skipped: notes and facts of GPU work over 256", gpu->more_words, NULL);
    rec_cover(gpu->load, "skipped: GPU work without a time", gpu->no_time,
              "the GPU's profiler gave it none: its buffers on the device were full");
    rec_cover(
        gpu->load, "GPU recording cut short", gpu->begun > gpu->ended,
        "the process ended before the GPU's profiler handed everything over; its last work is "
        "missing");
}
