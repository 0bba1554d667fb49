/*
 * Records, when all are read: sorted by track and time (at equal times in the order of
 * the file), ends paired with the innermost open begin of their track, arrows with the
 * next record of their id.
 */
#include "base/sort.h"
#include "ingest/perfetto/perfetto.h"

/* Records that are fetched before they are looked at: those of a track are spread over the file. */
#define PREFETCH_RECORDS 12

struct pairing {
    struct perfetto_load *load;
    uint32_t *open; /* records begun on the track at hand */
    size_t depth, cap;
};

static const enum nl_kind kinds[] = {
    [ROLE_SLICE] = NL_KIND_GENERIC,     [ROLE_KERNEL] = NL_KIND_KERNEL,
    [ROLE_COPY] = NL_KIND_MEMCPY,       [ROLE_CALL] = NL_KIND_API,
    [ROLE_RANGE] = NL_KIND_NVTX,        [ROLE_OPERATOR] = NL_KIND_OP,
    [ROLE_FILL] = NL_KIND_MEMSET,       [ROLE_WAIT] = NL_KIND_SYNC,
    [ROLE_GRAPH] = NL_KIND_GRAPH,       [ROLE_PYTHON] = NL_KIND_PYTHON,
    [ROLE_LAYER] = NL_KIND_LAYER,       [ROLE_DEVICE_RANGE] = NL_KIND_GPU_ANNOTATION,
    [ROLE_OVERHEAD] = NL_KIND_OVERHEAD, [ROLE_MARK] = NL_KIND_MARK};

/* Lanes of events that are not on a thread's or process's own track, or on a stream. */
static const enum nl_lanekind lane_kinds[] = {[ROLE_RANGE] = NL_LANE_ANNOTATION,
                                              [ROLE_WAIT] = NL_LANE_SYNC,
                                              [ROLE_DEVICE_RANGE] = NL_LANE_GPU_ANNOTATION,
                                              [ROLE_PYTHON] = NL_LANE_PYTHON,
                                              [ROLE_LAYER] = NL_LANE_PYTHON,
                                              [ROLE_OVERHEAD] = NL_LANE_OVERHEAD};

void perfetto_add(struct perfetto_load *load, const struct perfetto_record *record)
{
    if (load->record_count >= UINT32_MAX - 1) {
        load->notes[PERFETTO_NOTE_FULL]++;
        return;
    }
    nl_grow(&load->records, &load->record_cap, load->record_count + 1);
    load->records[load->record_count++] = *record;
}

/* ---- slices ---- */

static void add_kernel(struct perfetto_load *load, uint32_t slice,
                       const struct perfetto_launch *launch)
{
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = slice;
    row.correlation = launch->correlation;
    if (launch->grid[0]) {
        row.grid_x = launch->grid[0];
        row.grid_y = launch->grid[1];
        row.grid_z = launch->grid[2];
    }
    if (launch->block[0]) {
        row.block_x = launch->block[0];
        row.block_y = launch->block[1];
        row.block_z = launch->block[2];
    }
    if (launch->group_items != NL_NULL_U32 && !launch->block[0])
        gpurows_work_items(&row, (uint32_t[]){launch->grid_items, NL_NULL_U32, NL_NULL_U32},
                           (uint32_t[]){launch->group_items, NL_NULL_U32, NL_NULL_U32});
    row.static_shared_bytes = launch->shared_bytes;
    row.dynamic_shared_bytes = launch->dynamic_shared_bytes;
    row.registers = launch->registers;
    row.graph = launch->graph;
    row.graph_node = launch->graph_node;
    row.occupancy = launch->occupancy;
    nl_stage_kernel(load->stage, &row);
}

static void add_copy(struct perfetto_load *load, uint32_t slice,
                     const struct perfetto_launch *launch)
{
    struct nl_copy_row row = nl_copy_row();
    row.slice = slice;
    row.correlation = launch->correlation;
    row.bytes = launch->bytes;
    row.kind = launch->direction;
    row.graph_node = launch->graph_node;
    nl_stage_copy(load->stage, &row);
}

/* Rows that hold the slice and the id of its call. */
#define ADD_ROW(load, table, slice_, correlation_)                                                 \
    do {                                                                                           \
        struct nl_##table##_row row_ = nl_##table##_row();                                         \
        row_.slice = slice_;                                                                       \
        row_.correlation = correlation_;                                                           \
        nl_stage_##table((load)->stage, &row_);                                                    \
    } while (0)

static void add_side_row(struct perfetto_load *load, const struct perfetto_record *record,
                         uint32_t slice)
{
    const struct perfetto_launch none = perfetto_no_launch();
    const struct perfetto_launch *launch =
        record->launch ? &load->launches[record->launch - 1] : &none;
    struct nl_nvtx_row range = nl_nvtx_row();
    struct nl_op_row op = nl_op_row();
    struct nl_memset_row fill = nl_memset_row();
    switch ((enum perfetto_role)record->role) {
    case ROLE_KERNEL: add_kernel(load, slice, launch); break;
    case ROLE_COPY: add_copy(load, slice, launch); break;
    case ROLE_CALL: ADD_ROW(load, api, slice, launch->correlation); break;
    case ROLE_WAIT: ADD_ROW(load, sync, slice, launch->correlation); break;
    case ROLE_GRAPH: ADD_ROW(load, graph, slice, launch->correlation); break;
    case ROLE_FILL:
        fill.slice = slice;
        fill.correlation = launch->correlation;
        fill.bytes = launch->bytes;
        nl_stage_memset(load->stage, &fill);
        break;
    case ROLE_RANGE:
        range.slice = slice;
        range.style = NL_RANGE_PUSH_POP;
        nl_stage_nvtx(load->stage, &range);
        break;
    case ROLE_OPERATOR:
        op.slice = slice;
        nl_stage_op(load->stage, &op);
        break;
    default: break;
    }
}

static void add_arg(struct perfetto_load *load, uint32_t slice, uint32_t text)
{
    struct nl_arg_row row = nl_arg_row();
    if (text == NL_NO_NAME)
        return;
    row.slice = slice;
    row.text = text;
    nl_stage_arg(load->stage, &row);
}

/* dur NL_NULL_I64: the end was never recorded. */
static void add_slice(struct perfetto_load *load, const struct perfetto_record *record, int64_t dur,
                      uint32_t end_args)
{
    struct perfetto_track *track = &load->tracks[record->track];
    struct nl_slice_row row = nl_slice_row();
    static const bool device_roles[ROLE_MARK + 1] = {
        [ROLE_KERNEL] = true, [ROLE_COPY] = true,         [ROLE_FILL] = true,
        [ROLE_WAIT] = true,   [ROLE_DEVICE_RANGE] = true, [ROLE_GRAPH] = true};
    if (device_roles[record->role] && !track->on_device) {
        perfetto_find_device(load, track);
        track->on_device = track->device != NL_NULL_I64;
    }
    if (record->role < sizeof lane_kinds / sizeof lane_kinds[0] && !track->lane_kind)
        track->lane_kind = (uint8_t)lane_kinds[record->role];
    row.ts = record->ts;
    row.dur = dur;
    row.name = record->name;
    row.lane = perfetto_lane(load, record->track);
    row.kind = (uint8_t)kinds[record->role];
    if (record->role == ROLE_SLICE && track->on_device)
        row.kind = NL_KIND_DEVICE_OTHER;
    if (record->type == PERFETTO_SCHED)
        row.kind = NL_KIND_SCHED;
    row.flags = record->flags;
    if (record->type == PERFETTO_INSTANT)
        row.flags = NL_SLICE_INSTANT;
    uint32_t slice = nl_stage_slice(load->stage, &row);
    add_side_row(load, record, slice);
    if (record->stack) {
        struct nl_slicestack_row stack = nl_slicestack_row();
        stack.slice = slice;
        stack.stack = record->stack - 1;
        nl_stage_slicestack(load->stage, &stack);
    }
    add_arg(load, slice, record->args);
    add_arg(load, slice, end_args);
}

static void add_counter(struct perfetto_load *load, const struct perfetto_record *record)
{
    struct perfetto_track *track = &load->tracks[record->track];
    if (track->series == NL_NULL_ROW) {
        uint32_t parent =
            track->parent ? nl_idmap_get(&load->track_index, track->parent) : NL_NO_ROW;
        uint32_t lane = perfetto_lane(load, parent == NL_NO_ROW ? record->track : parent);
        track = &load->tracks[record->track];
        track->series = nl_builder_series(load->builder, lane, track->text, track->unit_text);
    }
    struct nl_counter_row row = nl_counter_row();
    row.ts = record->ts;
    row.value = record->real;
    row.series = track->series;
    nl_stage_counter(load->stage, &row);
}

static void push_open_slice(struct pairing *pairing, uint32_t record)
{
    nl_grow(&pairing->open, &pairing->cap, pairing->depth + 1);
    pairing->open[pairing->depth++] = record;
}

/* The innermost open record of the track, if it is a state. */
static const struct perfetto_record *open_state(const struct pairing *pairing)
{
    if (!pairing->depth)
        return NULL;
    const struct perfetto_record *top = &pairing->load->records[pairing->open[pairing->depth - 1]];
    return top->type == PERFETTO_STATE ? top : NULL;
}

static void end(struct pairing *pairing, const struct perfetto_record *record)
{
    struct perfetto_load *load = pairing->load;
    if (!pairing->depth || open_state(pairing)) {
        load->notes[PERFETTO_NOTE_LONE_END]++;
        return;
    }
    const struct perfetto_record *start = &load->records[pairing->open[--pairing->depth]];
    int64_t dur;
    if (__builtin_sub_overflow(record->ts, start->ts, &dur))
        load->notes[PERFETTO_NOTE_TIME]++;
    else
        add_slice(load, start, dur, record->args);
}

static void change_state(struct pairing *pairing, uint32_t row)
{
    const struct perfetto_record *record = &pairing->load->records[row];
    const struct perfetto_record *before = open_state(pairing);
    int64_t dur;
    if (before) {
        pairing->depth--;
        if (__builtin_sub_overflow(record->ts, before->ts, &dur))
            pairing->load->notes[PERFETTO_NOTE_TIME]++;
        else
            add_slice(pairing->load, before, dur, NL_NO_NAME);
    }
    if (record->name)
        push_open_slice(pairing, row);
}

static void close_track(struct pairing *pairing)
{
    while (pairing->depth) {
        pairing->load->notes[PERFETTO_NOTE_OPEN] += open_state(pairing) == NULL;
        add_slice(pairing->load, &pairing->load->records[pairing->open[--pairing->depth]],
                  NL_NULL_I64, NL_NO_NAME);
    }
}

static void take_half(struct pairing *pairing, uint32_t row)
{
    struct perfetto_load *load = pairing->load;
    const struct perfetto_record *record = &load->records[row];
    switch ((enum perfetto_type)record->type) {
    case PERFETTO_BEGIN: push_open_slice(pairing, row); break;
    case PERFETTO_END: end(pairing, record); break;
    case PERFETTO_INSTANT: add_slice(load, record, 0, NL_NO_NAME); break;
    case PERFETTO_COUNTER: add_counter(load, record); break;
    case PERFETTO_STATE: change_state(pairing, row); break;
    case PERFETTO_COMPLETE:
    case PERFETTO_SCHED:
        if (record->dur >= 0)
            add_slice(load, record, record->dur, NL_NO_NAME);
        else
            load->notes[PERFETTO_NOTE_TIME]++;
        break;
    default: break;
    }
}

/* ---- arrows ---- */

static bool is_flow(const struct perfetto_record *record)
{
    return record->type == PERFETTO_FLOW || record->type == PERFETTO_FLOW_END;
}

static void add_flows(struct perfetto_load *load, const struct nl_keyed *order, size_t count)
{
    for (size_t i = 0; i + 1 < count; i++) {
        const struct perfetto_record *from = &load->records[order[i].row];
        const struct perfetto_record *to = &load->records[order[i + 1].row];
        if (from->dur != to->dur || from->type == PERFETTO_FLOW_END)
            continue;
        struct nl_flow_row row = nl_flow_row();
        row.kind = NL_FLOW_GENERIC;
        row.id = (uint64_t)from->dur;
        row.name = from->name;
        row.src_lane = perfetto_lane(load, from->track);
        row.src_ts = from->ts;
        row.dst_lane = perfetto_lane(load, to->track);
        row.dst_ts = to->ts;
        nl_stage_flow(load->stage, &row);
    }
}

/* Records in the order of the file, with their track as the key; or flows, with their id. */
static size_t select_records(const struct perfetto_load *load, struct nl_keyed *order, bool flows)
{
    size_t count = 0;
    for (size_t i = 0; i < load->record_count; i++) {
        const struct perfetto_record *record = &load->records[i];
        if (is_flow(record) == flows)
            order[count++] =
                (struct nl_keyed){flows ? (uint64_t)record->dur : record->track, (uint32_t)i};
    }
    return count;
}

/* Sorts items by key, those of one key by time. Most tracks ascend in the file already. */
static void sort_records(const struct perfetto_load *load, struct nl_keyed *order, size_t count)
{
    struct nl_keyed *scratch = nl_alloc((count + 1) * sizeof *scratch);
    nl_sort_keyed(order, scratch, count);
    for (size_t first = 0, i = 0; first < count; first = i) {
        uint64_t key = order[first].key, last = 0;
        bool ascends = true;
        for (i = first; i < count && order[i].key == key; i++) {
            if (i + PREFETCH_RECORDS < count)
                __builtin_prefetch(&load->records[order[i + PREFETCH_RECORDS].row]);
            order[i].key = nl_sort_key(load->records[order[i].row].ts);
            ascends = ascends && last <= order[i].key;
            last = order[i].key;
        }
        if (!ascends)
            nl_sort_keyed(order + first, scratch, i - first);
    }
    nl_free(scratch);
}

bool perfetto_finish(struct perfetto_load *load)
{
    struct nl_keyed *order = nl_alloc((load->record_count + 1) * sizeof *order);
    struct pairing pairing = {.load = load};
    size_t count = select_records(load, order, false);
    bool going = true;
    sort_records(load, order, count);
    for (size_t i = 0; i < count && going; i++) {
        if (i + PREFETCH_RECORDS < count)
            __builtin_prefetch(&load->records[order[i + PREFETCH_RECORDS].row]);
        uint32_t track = load->records[order[i].row].track;
        if (i && track != load->records[order[i - 1].row].track)
            close_track(&pairing);
        take_half(&pairing, order[i].row);
        going =
            (i & 4095) || !(nl_job_cancelled(load->job) || nl_builder_over_budget(load->builder));
    }
    close_track(&pairing);
    count = select_records(load, order, true);
    sort_records(load, order, count);
    add_flows(load, order, count);
    nl_free(pairing.open);
    nl_free(order);
    return going;
}
