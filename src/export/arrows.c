/*
 * Arrows: nearly every launch has one device operation and nothing else, which the slice's own link
 * tells without a list; the rest is a sorted list with a bit per slice that has rows in it.
 */
#include "export/arrows.h"

#include "base/search.h"
#include "base/sort.h"

static bool on_device(const struct nl_trace *trace, uint32_t slice)
{
    return trace->lane.device[trace->slice.lane[slice]] != NL_NULL_ROW;
}

/* Slices lie in the order in which they are written, so a tie is in order when the source's is. */
static bool in_order(const struct nl_trace *trace, uint32_t src, uint32_t dst)
{
    int64_t from = trace->slice.ts[src], to = trace->slice.ts[dst];
    return from < to || (from == to && src < dst);
}

/* The launch of device work, where its arrow is written; else NL_NULL_ROW. */
static inline uint32_t launch_of(const struct nl_arrows *arrows, uint32_t work)
{
    const struct nl_trace *trace = arrows->trace;
    uint32_t launch = trace->slice.link[work];
    if (launch == NL_NULL_ROW || !on_device(trace, work) || on_device(trace, launch) ||
        !in_order(trace, launch, work))
        return NL_NULL_ROW;
    return nl_export_picks(arrows->export, launch) ? launch : NL_NULL_ROW;
}

static void add_end(struct nl_arrows *arrows, uint32_t slice, uint64_t id, bool incoming)
{
    nl_grow(&arrows->ends, &arrows->cap, arrows->count + 1);
    arrows->ends[arrows->count++] = (struct nl_arrow_end){slice, incoming, id};
    arrows->many[slice / 8] |= (uint8_t)(1u << slice % 8);
}

static void find_links(struct nl_arrows *arrows, struct nl_export *export)
{
    const struct nl_slice_table *slice = &arrows->trace->slice;
    uint64_t reversed = 0;
    for (uint32_t work = 0; work < slice->rows; work++) {
        uint32_t launch = slice->link[work];
        if (launch == NL_NULL_ROW || !on_device(arrows->trace, work) ||
            on_device(arrows->trace, launch) || !nl_export_picks(export, work) ||
            !nl_export_picks(export, launch))
            continue;
        if (!in_order(arrows->trace, launch, work)) {
            reversed++;
            continue;
        }
        arrows->written++;
        if (slice->link[launch] != work) /* not the first work of its launch */
            add_end(arrows, launch, (uint64_t)work + 1, false);
    }
    nl_export_lost(export, reversed, "flows from a launch to work that starts before it");
}

static void find_flows(struct nl_arrows *arrows, struct nl_export *export)
{
    const struct nl_flow_table *flow = &arrows->trace->flow;
    uint64_t loose = 0, reversed = 0;
    for (uint32_t i = 0; i < flow->rows; i++) {
        uint32_t src = flow->src[i], dst = flow->dst[i];
        if (src == NL_NULL_ROW || dst == NL_NULL_ROW) {
            loose += nl_export_picks_moment(export, flow->src_lane[i], flow->src_ts[i]);
            continue;
        }
        if (!nl_export_picks(export, src) || !nl_export_picks(export, dst) ||
            arrows->trace->slice.link[dst] == src)
            continue;
        if (!in_order(arrows->trace, src, dst)) {
            reversed++;
            continue;
        }
        uint64_t id = (uint64_t)arrows->trace->slice.rows + 1 + i;
        add_end(arrows, src, id, false);
        add_end(arrows, dst, id, true);
        arrows->written++;
    }
    nl_export_lost(export, loose, "flows with an end outside every slice");
    nl_export_lost(export, reversed, "flows that end before they start");
}

void nl_arrows_make(struct nl_arrows *arrows, struct nl_export *export)
{
    const struct nl_trace *trace = export->trace;
    *arrows = (struct nl_arrows){.export = export, .trace = trace};
    arrows->many = nl_zalloc(trace->slice.rows / 8 + 1);
    find_links(arrows, export);
    find_flows(arrows, export);
    struct nl_keyed *order = nl_alloc(2 * (arrows->count + 1) * sizeof *order);
    for (size_t i = 0; i < arrows->count; i++)
        order[i] = (struct nl_keyed){arrows->ends[i].slice, (uint32_t)i};
    nl_sort_keyed(order, order + arrows->count + 1, arrows->count);
    struct nl_arrow_end *sorted = nl_alloc((arrows->count + 1) * sizeof *sorted);
    for (size_t i = 0; i < arrows->count; i++)
        sorted[i] = arrows->ends[order[i].row];
    nl_free(order);
    nl_free(arrows->ends);
    arrows->ends = sorted;
}

void nl_arrows_release(struct nl_arrows *arrows)
{
    nl_free(arrows->many);
    nl_free(arrows->ends);
    *arrows = (struct nl_arrows){0};
}

bool nl_arrows_own(const struct nl_arrows *arrows, uint32_t slice, struct nl_arrow_end *end)
{
    const struct nl_slice_table *table = &arrows->trace->slice;
    uint32_t other = table->link[slice];
    if (other == NL_NULL_ROW)
        return false;
    if (on_device(arrows->trace, slice)) {
        *end = (struct nl_arrow_end){slice, true, (uint64_t)slice + 1};
        return launch_of(arrows, slice) != NL_NULL_ROW;
    }
    *end = (struct nl_arrow_end){slice, false, (uint64_t)other + 1};
    return launch_of(arrows, other) == slice && nl_export_picks(arrows->export, other);
}

size_t nl_arrows_more(const struct nl_arrows *arrows, uint32_t slice,
                      const struct nl_arrow_end **ends)
{
    if (!(arrows->many[slice / 8] >> slice % 8 & 1))
        return 0;
    size_t low = NL_FIRST(i, 0, arrows->count, arrows->ends[i].slice >= slice);
    size_t high = low;
    *ends = arrows->ends + low;
    while (high < arrows->count && arrows->ends[high].slice == slice)
        high++;
    return high - low;
}
