/*
 * Rows of devices: kernels, copies, memsets, synchronisation and ranges on
 * streams, and collectives.
 *
 * Every launch-shape argument is optional: ROCm leaves most of them out.
 */
#include "base/chars.h"
#include "derive/kernelclass.h"
#include "ingest/chrome/chrome_rows.h"
#include "store/copykind.h"
#include "ingest/chrome/chrome_value.h"
#include "ingest/lib/torchtypes.h"

/* "External id" of device work; how often it repeats the correlation id shows the file's era. */
static int64_t device_external_id(struct chrome_worker *worker, uint64_t correlation)
{
    int64_t id = chrome_external_id(worker);
    if (id != NL_NULL_I64) {
        worker->device_ids++;
        worker->device_ids_equal += (uint64_t)id == correlation;
    }
    return id;
}

/* "[x, y, z]" into three columns. */
static void dimensions(const struct chrome_value *value, uint32_t *x, uint32_t *y, uint32_t *z)
{
    uint32_t *const to[] = {x, y, z};
    if (!value || value->type != CHROME_ARRAY)
        return;
    const char *p = value->ptr, *end = p + value->len;
    for (size_t i = 0; i < 3; i++) {
        while (p < end && !nl_is_digit(*p))
            p++;
        if (p == end)
            return;
        uint64_t sum = 0;
        for (; p < end && nl_is_digit(*p); p++)
            sum = sum * 10 + (uint64_t)(*p - '0');
        *to[i] = sum < NL_NULL_U32 ? (uint32_t)sum : NL_NULL_U32;
    }
}

void chrome_row_kernel(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                       int64_t dur)
{
    const struct chrome_event *event = &worker->event;
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = chrome_slice(worker, cat, chrome_device_lane(worker, cat->lane), ts, dur);
    row.correlation = chrome_correlation(worker);
    row.external_id = device_external_id(worker, row.correlation);
    dimensions(chrome_arg(event, CHROME_ARG_GRID), &row.grid_x, &row.grid_y, &row.grid_z);
    dimensions(chrome_arg(event, CHROME_ARG_BLOCK), &row.block_x, &row.block_y, &row.block_z);
    row.registers = chrome_arg_u32(worker, CHROME_ARG_REGISTERS);
    row.static_shared_bytes = chrome_arg_u32(worker, CHROME_ARG_SHARED);
    const struct chrome_value *occupancy = chrome_arg(event, CHROME_ARG_OCCUPANCY);
    double percent;
    if (occupancy && chrome_number(occupancy, &percent))
        row.occupancy = percent >= 0 ? percent / 100 : NL_NULL_F64;
    uint64_t graph = chrome_arg_unsigned(worker, CHROME_ARG_GRAPH);
    if (graph != 0 && graph != NL_NULL_U64) { /* graph 0: outside graphs */
        row.graph = graph;
        row.graph_node = chrome_arg_unsigned(worker, CHROME_ARG_GRAPH_NODE);
    }
    nl_stage_kernel(worker->stage, &row);
    if (chrome_arg(event, CHROME_ARG_COLLECTIVE))
        chrome_collective(worker, row.slice);
}

/* ---- Copies and memsets. ---- */

static const struct {
    const char *text;
    enum nl_memory memory;
} memories[] = {
    {"Pageable", NL_MEMORY_PAGEABLE},
    {"Pinned", NL_MEMORY_PINNED},
    {"Device Static", NL_MEMORY_DEVICE_STATIC},
    {"Managed Static", NL_MEMORY_MANAGED_STATIC},
    {"Device", NL_MEMORY_DEVICE},
    {"Managed", NL_MEMORY_MANAGED},
    {"Array", NL_MEMORY_ARRAY},
    {"Unified", NL_MEMORY_MANAGED},
};

static enum nl_memory memory_kind(struct nl_str text)
{
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
        if (nl_str_contains(text, memories[i].text))
            return memories[i].memory;
    return NL_MEMORY_UNKNOWN;
}

/* What is inside the parentheses of "Memcpy HtoD (Pinned -> Device)". */
static struct nl_str in_parentheses(struct nl_str text)
{
    const char *open = text.len ? memchr(text.ptr, '(', text.len) : NULL;
    if (!open)
        return (struct nl_str){"", 0};
    return (struct nl_str){open + 1, (size_t)(text.ptr + text.len - open - 1)};
}

static void copy_memories(struct nl_str name, struct nl_copy_row *row)
{
    struct nl_str inside = in_parentheses(name), from = inside, to = {"", 0};
    for (size_t i = 0; i + 1 < inside.len; i++) {
        if (inside.ptr[i] == '-' && inside.ptr[i + 1] == '>') {
            from.len = i;
            to = (struct nl_str){inside.ptr + i + 2, inside.len - i - 2};
            break;
        }
    }
    row->src_memory = (uint8_t)memory_kind(from);
    row->dst_memory = (uint8_t)memory_kind(to);
}

/* The copy's kind from its arguments, else from its name. */
static enum nl_copykind event_copy_kind(const struct chrome_event *event)
{
    static const enum chrome_arg keys[] = {CHROME_ARG_KIND, CHROME_ARG_DIRECTION};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const struct chrome_value *value = chrome_arg(event, keys[i]);
        enum nl_copykind kind = value ? nl_copykind_of_text(chrome_text(value)) : NL_COPY_UNKNOWN;
        if (kind)
            return kind;
    }
    return nl_copykind_of_text(chrome_field_text(event, CHROME_F_NAME));
}

/* Kineto writes node 0 for operations outside graphs. */
static uint64_t graph_node(struct chrome_worker *worker)
{
    uint64_t node = chrome_arg_unsigned(worker, CHROME_ARG_GRAPH_NODE);
    return node ? node : NL_NULL_U64;
}

void chrome_row_copy(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                     int64_t dur)
{
    const struct chrome_event *event = &worker->event;
    struct nl_copy_row row = nl_copy_row();
    row.slice = chrome_slice(worker, cat, chrome_device_lane(worker, cat->lane), ts, dur);
    row.correlation = chrome_correlation(worker);
    row.external_id = device_external_id(worker, row.correlation);
    row.bytes = chrome_arg_amount(worker, CHROME_ARG_BYTES);
    row.kind = (uint8_t)event_copy_kind(event);
    row.graph_node = graph_node(worker);
    copy_memories(chrome_field_text(event, CHROME_F_NAME), &row);
    nl_stage_copy(worker->stage, &row);
}

void chrome_row_memset(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                       int64_t dur)
{
    struct nl_memset_row row = nl_memset_row();
    row.slice = chrome_slice(worker, cat, chrome_device_lane(worker, cat->lane), ts, dur);
    row.correlation = chrome_correlation(worker);
    row.external_id = device_external_id(worker, row.correlation);
    row.bytes = chrome_arg_amount(worker, CHROME_ARG_BYTES);
    row.memory =
        (uint8_t)memory_kind(in_parentheses(chrome_field_text(&worker->event, CHROME_F_NAME)));
    row.graph_node = graph_node(worker);
    nl_stage_memset(worker->stage, &row);
}

/* MTIA's command processor: requests with a direction are copies, the rest is work. */
void chrome_row_mtia(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                     int64_t dur)
{
    if (!chrome_arg(&worker->event, CHROME_ARG_DIRECTION)) {
        chrome_row_kernel(worker, cat, ts, dur);
        return;
    }
    struct chrome_cat copy = *cat;
    copy.kind = NL_KIND_MEMCPY;
    struct nl_copy_row row = nl_copy_row();
    row.slice = chrome_slice(worker, &copy, chrome_device_lane(worker, cat->lane), ts, dur);
    row.correlation = chrome_correlation(worker);
    row.bytes = chrome_arg_amount(worker, CHROME_ARG_SIZE);
    row.kind = (uint8_t)event_copy_kind(&worker->event);
    nl_stage_copy(worker->stage, &row);
}

/* ---- Synchronisation and ranges. ---- */

static const struct {
    const char *text;
    enum nl_synckind kind;
} sync_kinds[] = {
    {"Stream Wait Event", NL_SYNC_STREAM_WAIT_EVENT},
    {"Stream Sync", NL_SYNC_STREAM},
    {"Context Sync", NL_SYNC_CONTEXT},
    {"Event Sync", NL_SYNC_EVENT},
};

void chrome_row_sync(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                     int64_t dur)
{
    const struct chrome_event *event = &worker->event;
    struct nl_sync_row row = nl_sync_row();
    row.slice = chrome_slice(worker, cat, chrome_device_lane(worker, cat->lane), ts, dur);
    row.correlation = chrome_correlation(worker);
    const struct chrome_value *kind = chrome_arg(event, CHROME_ARG_SYNC_KIND);
    struct nl_str text = kind ? chrome_text(kind) : chrome_field_text(event, CHROME_F_NAME);
    for (size_t i = 0; i < sizeof sync_kinds / sizeof sync_kinds[0]; i++)
        if (!row.kind && nl_str_starts(text, sync_kinds[i].text))
            row.kind = (uint8_t)sync_kinds[i].kind;
    row.event_id = chrome_arg_integer(worker, CHROME_ARG_WAIT_EVENT);
    int64_t stream = chrome_arg_integer(worker, CHROME_ARG_WAIT_STREAM);
    if (stream != -1 && stream != CHROME_NO_STREAM)
        row.wait_stream = stream;
    int64_t record = chrome_arg_integer(worker, CHROME_ARG_WAIT_CORRELATION);
    if (record > 0)
        row.wait_correlation = (uint64_t)record;
    nl_stage_sync(worker->stage, &row);
}

void chrome_row_range(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                      int64_t dur)
{
    uint32_t slice = chrome_slice(worker, cat, chrome_device_lane(worker, cat->lane), ts, dur);
    if (cat->kind == NL_KIND_DEVICE_OTHER)
        chrome_keep_args(worker, slice);
}

/* ---- Collectives: NCCL's arguments on kernels and on record_param_comms. ---- */

/* The usual word for a recorded operation ("allreduce" → "all_reduce"), else as recorded. */
static uint32_t operation_name(struct chrome_worker *worker)
{
    const struct chrome_value *value = chrome_arg(&worker->event, CHROME_ARG_COLLECTIVE);
    const char *usual =
        value->type == CHROME_STRING ? nl_collective_operation(chrome_text(value)) : NULL;
    if (usual)
        return nl_stage_name(worker->stage, nl_str(usual));
    return chrome_arg_name(worker, CHROME_ARG_COLLECTIVE);
}

/* The other side of a send or receive, or the root. */
static int64_t peer_rank(struct chrome_worker *worker)
{
    const struct chrome_value *name = chrome_arg(&worker->event, CHROME_ARG_COLLECTIVE);
    bool receive = nl_str_contains(chrome_text(name), "recv");
    const enum chrome_arg keys[] = {receive ? CHROME_ARG_SRC_RANK : CHROME_ARG_DST_RANK,
                                    CHROME_ARG_SRC_RANK, CHROME_ARG_ROOT_RANK};
    int64_t peer = NL_NULL_I64;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && peer == NL_NULL_I64; i++)
        peer = chrome_arg_integer(worker, keys[i]);
    return peer;
}

void chrome_collective(struct chrome_worker *worker, uint32_t slice)
{
    struct nl_collective_row row = nl_collective_row();
    row.slice = slice;
    row.operation = operation_name(worker);
    row.dtype = chrome_arg_name(worker, CHROME_ARG_DTYPE);
    row.ranks = chrome_arg_u32(worker, CHROME_ARG_GROUP_SIZE);
    row.in_elements = chrome_arg_unsigned(worker, CHROME_ARG_IN_ELEMENTS);
    row.out_elements = chrome_arg_unsigned(worker, CHROME_ARG_OUT_ELEMENTS);
    row.group_name = chrome_arg_name(worker, CHROME_ARG_GROUP_NAME);
    row.group_ranks = chrome_arg_name(worker, CHROME_ARG_GROUP_RANKS);
    row.sequence = chrome_arg_integer(worker, CHROME_ARG_COMM_SEQUENCE);
    row.peer = peer_rank(worker);
    const struct chrome_value *type = chrome_arg(&worker->event, CHROME_ARG_DTYPE);
    unsigned size = type ? torchtypes_bytes(chrome_text(type)) : 0;
    uint64_t in = row.in_elements == NL_NULL_U64 ? 0 : row.in_elements;
    uint64_t out = row.out_elements == NL_NULL_U64 ? 0 : row.out_elements;
    bool known = row.in_elements != NL_NULL_U64 || row.out_elements != NL_NULL_U64;
    uint64_t bytes;
    if (size && known && !__builtin_mul_overflow(in > out ? in : out, (uint64_t)size, &bytes))
        row.bytes = bytes;
    nl_stage_collective(worker->stage, &row);
}
