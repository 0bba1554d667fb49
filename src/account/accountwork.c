/*
 * Busy time of a device, by whom. One pass over its work in order of start, as breakdown.c, but
 * with a queue per sort of work instead of one latest end: the first to begin gets a stretch that
 * several share, the next one the rest after it. Between two starts nothing begins, so what covers
 * that stretch follows from the heads of the queues, sorts in their order: compute, communication,
 * copies, unified memory, memsets. The sums per class are those of time_breakdown by construction.
 */
#include <string.h>

#include "account/accountmake.h"
#include "base/mem.h"
#include "base/search.h"
#include "store/copykind.h"

enum sort { COMPUTE, COMM, COPY, MIGRATION, MEMSET, SORTS };

static const uint8_t part_of[SORTS] = {[COMPUTE] = NL_BOOKED_COMPUTE,
                                       [COMM] = NL_BOOKED_COMM,
                                       [COPY] = NL_BOOKED_COPY,
                                       [MIGRATION] = NL_BOOKED_MIGRATION,
                                       [MEMSET] = NL_BOOKED_MEMSET};

struct waiting {
    int64_t end;
    uint32_t slice;
    bool booked; /* was counted */
};

struct queue {
    struct waiting *items;
    size_t head, count, cap; /* items[head .. count) */
};

struct booker {
    struct nl_account_maker *maker;
    const struct nl_trace *trace;
    const struct nl_account_owners *owners;
    size_t group;
    int64_t now;
    struct queue queues[SORTS];
    uint32_t lane, lane_base; /* of the last look-up: where its work is among the owners' */
};

static enum sort sort_of(const struct nl_trace *trace, const struct nl_work *work)
{
    uint8_t kind = trace->slice.kind[work->slice];
    uint32_t detail = trace->slice.detail[work->slice];
    if (work->class == NL_IS_COMPUTE)
        return COMPUTE;
    if (work->class == NL_IS_COMM)
        return COMM;
    if (kind == NL_KIND_MEMSET ||
        (kind == NL_KIND_KERNEL && trace->kernel.class[detail] == NL_CLASS_MEMSET))
        return MEMSET;
    if (kind != NL_KIND_MEMCPY || detail >= trace->copy.rows)
        return COPY;
    return nl_copykind_moves_pages(trace->copy.kind[detail]) ? MIGRATION : COPY;
}

/* ---- Whose work ---- */

/* Index of a slice among the owners' work, which is ascending; a lane's
 * work is mostly in one piece. */
static uint32_t work_index(struct booker *booker, uint32_t slice)
{
    const struct nl_owners *owners = booker->owners->owners;
    const struct nl_trace *trace = booker->trace;
    uint32_t lane = trace->slice.lane[slice];
    if (lane != booker->lane) {
        booker->lane = lane;
        booker->lane_base = nl_lower_u32(owners->work, owners->count, trace->lane.first[lane]);
    }
    uint32_t at = booker->lane_base + (slice - trace->lane.first[lane]);
    if (at < owners->count && owners->work[at] == slice)
        return at;
    uint32_t low = NL_FIRST(i, booker->lane_base, at < owners->count ? at : owners->count,
                            owners->work[i] >= slice);
    return low < owners->count && owners->work[low] == slice ? low : NL_NULL_ROW;
}

static uint32_t name_in(const struct booker *booker, const struct nl_rangetree *tree,
                        const uint32_t *owner, uint32_t place)
{
    if (!tree || !owner || owner[place] == NL_NULL_ROW)
        return NL_NO_NAME;
    uint32_t name = booker->trace->slice.name[tree->slices[owner[place]]];
    return booker->maker->is_step[name] ? NL_NO_NAME : nl_account_plain(booker->maker, name);
}

static void set_owner(struct booker *booker, uint32_t slice, struct nl_account_row *key)
{
    const struct nl_account_owners *owners = booker->owners;
    if (!owners || !owners->owners)
        return;
    uint32_t place = work_index(booker, slice);
    if (place == NL_NULL_ROW)
        return;
    key->op = name_in(booker, owners->ops, owners->op, place);
    key->module_or_range = name_in(booker, owners->layers, owners->layer, place);
    if (key->module_or_range == NL_NO_NAME)
        key->module_or_range = name_in(booker, owners->ranges, owners->range, place);
}

static void set_kind(const struct nl_trace *trace, uint32_t slice, struct nl_account_row *key)
{
    uint32_t detail = trace->slice.detail[slice];
    switch (trace->slice.kind[slice]) {
    case NL_KIND_KERNEL:
        if (detail < trace->kernel.rows)
            key->category_or_copy = trace->kernel.category[detail];
        break;
    case NL_KIND_MEMCPY:
        if (detail < trace->copy.rows) {
            key->category_or_copy = (uint16_t)(trace->copy.kind[detail] << 8 |
                                               (trace->copy.src_memory[detail] & 15) << 4 |
                                               (trace->copy.dst_memory[detail] & 15));
            key->bytes = trace->copy.bytes[detail];
        }
        break;
    case NL_KIND_MEMSET:
        if (detail < trace->memset.rows)
            key->bytes = trace->memset.bytes[detail];
        break;
    default: break;
    }
}

/* ---- The sweep ---- */

/* What a collective is called, and where waiting for the last member ends. */
static int64_t set_collective(const struct booker *booker, uint32_t slice,
                              struct nl_account_row *key)
{
    const struct nl_account_comm *comm = &booker->maker->comm;
    uint32_t kernel = booker->trace->slice.detail[slice];
    if (!comm->row || booker->trace->slice.kind[slice] != NL_KIND_KERNEL ||
        comm->row[kernel] == NL_NULL_ROW)
        return NL_NULL_I64;
    const struct nl_collective_table *table = &booker->trace->collective;
    uint32_t row = comm->row[kernel];
    key->group = table->group_name[row];
    if (table->operation[row])
        key->name = table->operation[row];
    key->bytes = table->bytes[row];
    if (!comm->transfer || comm->transfer[kernel] == NL_NULL_I64)
        return NL_NULL_I64;
    key->late = comm->late[kernel];
    return nl_slice_end(booker->trace, slice) - comm->transfer[kernel];
}

/* Waiting for the last member, then the transfer. */
static void book_collective(struct booker *booker, uint32_t slice, struct nl_account_row key,
                            int64_t from, int64_t to)
{
    int64_t split = set_collective(booker, slice, &key);
    if (!key.count)
        key.bytes = NL_NULL_U64;
    if (split == NL_NULL_I64) {
        nl_account_book(booker->maker, booker->group, key, from, to);
        return;
    }
    struct nl_account_row wait = key;
    wait.part = NL_BOOKED_COMM_WAIT;
    wait.bytes = NL_NULL_U64;
    key.part = NL_BOOKED_COMM_TRANSFER;
    key.late = NL_NULL_ROW;
    nl_account_book(booker->maker, booker->group, wait, from, split < to ? split : to);
    nl_account_book(booker->maker, booker->group, key, split > from ? split : from, to);
}

static void book(struct booker *booker, enum sort sort, struct waiting *item, int64_t from,
                 int64_t to)
{
    struct nl_account_row key = nl_account_key(booker->group, (enum nl_account_part)part_of[sort]);
    key.name = booker->trace->slice.name[item->slice];
    set_kind(booker->trace, item->slice, &key);
    set_owner(booker, item->slice, &key);
    key.count = item->booked ? 0 : 1;
    if (item->booked)
        key.bytes = NL_NULL_U64;
    item->booked = true;
    if (sort == COMM) {
        book_collective(booker, item->slice, key, from, to);
        return;
    }
    nl_account_book(booker->maker, booker->group, key, from, to);
}

/* Books [booker->now, until). */
static void advance(struct booker *booker, int64_t until)
{
    int64_t at = booker->now;
    if (until <= at)
        return;
    for (enum sort sort = COMPUTE; sort < SORTS && at < until; sort++) {
        struct queue *queue = &booker->queues[sort];
        while (queue->head < queue->count && at < until) {
            struct waiting *item = &queue->items[queue->head];
            int64_t to = item->end < until ? item->end : until;
            if (to > at) {
                book(booker, sort, item, at, to);
                at = to;
            }
            if (item->end > at)
                break;
            queue->head++;
        }
    }
    booker->now = until;
}

/* Only work that ends after all that wait already can ever hold time. */
static void queue_work(struct queue *queue, const struct nl_work *work)
{
    if (queue->head == queue->count)
        queue->head = queue->count = 0;
    if (queue->head < queue->count && queue->items[queue->count - 1].end >= work->end)
        return;
    if (queue->head > 64 && queue->head * 2 > queue->count) {
        memmove(queue->items, queue->items + queue->head,
                (queue->count - queue->head) * sizeof *queue->items);
        queue->count -= queue->head;
        queue->head = 0;
    }
    nl_grow(&queue->items, &queue->cap, queue->count + 1);
    queue->items[queue->count++] = (struct waiting){work->end, work->slice, false};
}

/* The device's time, as time_breakdown has it: at the window's edges where
 * it worked beyond them. */
static void set_span(const struct nl_account_maker *maker, struct nl_account_group *it, int64_t end)
{
    uint32_t before, after;
    struct nl_account_device *device = &it->device;
    nl_work_beyond(maker->trace, &maker->window, maker->lanes + it->lane_first, it->lane_count,
                   &before, &after);
    if (device->work_start == INT64_MIN && (before == NL_NULL_ROW || after == NL_NULL_ROW))
        return;
    if (before != NL_NULL_ROW)
        device->work_start = maker->window.start;
    if (after != NL_NULL_ROW)
        end = maker->window.end;
    device->wall_ns = end - device->work_start;
}

void nl_account_work(struct nl_account_maker *maker, size_t group,
                     const struct nl_account_owners *owners)
{
    struct nl_account_group *it = &maker->groups[group];
    struct booker booker = {.maker = maker,
                            .trace = maker->trace,
                            .owners = owners,
                            .group = group,
                            .now = INT64_MIN,
                            .lane = NL_NULL_ROW};
    struct nl_sweep sweep;
    struct nl_work batch[NL_SWEEP_BATCH];
    int64_t end = INT64_MIN;
    nl_sweep_open(&sweep, maker->trace, &maker->window, maker->lanes + it->lane_first,
                  it->lane_count);
    for (size_t got; (got = nl_sweep_next(&sweep, batch, NL_SWEEP_BATCH)) > 0;)
        for (size_t i = 0; i < got; i++) {
            if (booker.now == INT64_MIN)
                it->device.work_start = booker.now = batch[i].start;
            advance(&booker, batch[i].start);
            queue_work(&booker.queues[sort_of(maker->trace, &batch[i])], &batch[i]);
            end = batch[i].end > end ? batch[i].end : end;
        }
    nl_sweep_close(&sweep);
    if (end != INT64_MIN)
        advance(&booker, end);
    set_span(maker, it, end);
    for (enum sort sort = COMPUTE; sort < SORTS; sort++)
        nl_free(booker.queues[sort].items);
}
