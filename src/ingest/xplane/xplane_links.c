/*
 * Arrows of XPlane files: an event with `_p` (and its kind, `_pt`) made what events with the same
 * `_c` and `_ct` carry on with, on another thread or on a device. All planes are read before they
 * are joined; ends are reported to the store by lane and time.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "ingest/xplane/xplane.h"

#define NO_ID UINT64_MAX /* written where there is no context to speak of */

/* Ids are sent as either sign; both mean the same 64 bits. */
static bool bits_of(const struct xplane_stats *stats, enum xplane_stat stat, uint64_t *bits)
{
    const struct xplane_value *value = &stats->value[stat];
    if (!xplane_has(stats, stat) || (value->type != XPLANE_INT && value->type != XPLANE_UINT))
        return false;
    *bits = value->type == XPLANE_INT ? (uint64_t)value->number.i : value->number.u;
    return *bits != NO_ID;
}

static void add_link(struct xplane_links *links, const struct xplane_link *link)
{
    nl_grow(&links->rows, &links->cap, links->count + 1);
    links->rows[links->count++] = *link;
}

void xplane_link(struct xplane_load *load, const struct xplane_event *event, uint32_t lane,
                 bool on_device)
{
    const struct xplane_stats *stats = &load->stats;
    struct xplane_link link = {.ts = event->ts, .lane = lane, .on_device = on_device};
    if (bits_of(stats, XPLANE_PRODUCER, &link.id)) {
        (void)bits_of(stats, XPLANE_PRODUCER_TYPE, &link.type);
        add_link(&load->producers, &link);
    }
    link.type = 0;
    if (bits_of(stats, XPLANE_CONSUMER, &link.id)) {
        (void)bits_of(stats, XPLANE_CONSUMER_TYPE, &link.type);
        add_link(&load->consumers, &link);
    }
}

static int by_id(const struct xplane_link *a, const struct xplane_link *b)
{
    if (a->type != b->type)
        return a->type < b->type ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static int by_id_and_time(const void *x, const void *y)
{
    const struct xplane_link *a = x, *b = y;
    int order = by_id(a, b);
    if (order)
        return order;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    return (a->lane > b->lane) - (a->lane < b->lane);
}

static bool is_behind(const struct xplane_link *row, const struct xplane_link *consumer)
{
    int order = by_id(row, consumer);
    return order > 0 || (order == 0 && row->ts > consumer->ts);
}

/* The last producer of the id that began no later than the consumer, else its first one: ids are
 * used again. NULL if it has no producer. */
static const struct xplane_link *producer_of(const struct xplane_links *producers,
                                             const struct xplane_link *consumer)
{
    size_t low = NL_FIRST(i, 0, producers->count, is_behind(&producers->rows[i], consumer));
    if (low > 0 && by_id(&producers->rows[low - 1], consumer) == 0)
        return &producers->rows[low - 1];
    if (low < producers->count && by_id(&producers->rows[low], consumer) == 0)
        return &producers->rows[low];
    return NULL;
}

void xplane_links_join(struct xplane_load *load)
{
    struct xplane_links *producers = &load->producers, *consumers = &load->consumers;
    if (producers->count)
        qsort(producers->rows, producers->count, sizeof *producers->rows, by_id_and_time);
    if (consumers->count)
        qsort(consumers->rows, consumers->count, sizeof *consumers->rows, by_id_and_time);
    for (size_t i = 0; i < consumers->count; i++) {
        const struct xplane_link *to = &consumers->rows[i], *from = producer_of(producers, to);
        if (!from) {
            load->notes[XPLANE_NOTE_LINKS]++;
            continue;
        }
        struct nl_flow_row row = nl_flow_row();
        row.kind = to->on_device && !from->on_device ? NL_FLOW_LAUNCH : NL_FLOW_GENERIC;
        row.id = to->id;
        row.src_lane = from->lane;
        row.src_ts = from->ts;
        row.dst_lane = to->lane;
        row.dst_ts = to->ts;
        nl_stage_flow(load->stage, &row);
    }
    nl_free(producers->rows);
    nl_free(consumers->rows);
    *producers = *consumers = (struct xplane_links){0};
}
