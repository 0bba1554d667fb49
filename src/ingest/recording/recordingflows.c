/* Arrows: arrivals find the latest departure with their id that is not after them. */
#include <stdlib.h>

#include "ingest/recording/recording.h"

#include "base/search.h"

static int by_id(const void *a, const void *b)
{
    const struct rec_half *one = a, *other = b;
    if (one->id != other->id)
        return one->id < other->id ? -1 : 1;
    if (one->ts != other->ts)
        return one->ts < other->ts ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

void rec_flows_sort(struct rec_half *outs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        outs[i].order = (uint32_t)i;
    if (count)
        qsort(outs, count, sizeof *outs, by_id);
}

static const struct rec_half *departure(const struct rec_half *outs, size_t count,
                                        const struct rec_half *in)
{
    size_t low =
        NL_FIRST(i, 0, count, outs[i].id > in->id || (outs[i].id == in->id && outs[i].ts > in->ts));
    return low && outs[low - 1].id == in->id ? &outs[low - 1] : NULL;
}

bool rec_flow_join(struct rec_load *load, const struct rec_half *outs, size_t count,
                   const struct rec_half *in)
{
    const struct rec_half *out = departure(outs, count, in);
    struct nl_flow_row row = nl_flow_row();
    if (!out)
        return false;
    row.kind = NL_FLOW_GENERIC;
    row.id = in->id;
    row.src_lane = out->lane;
    row.src_ts = out->ts;
    row.dst_lane = in->lane;
    row.dst_ts = in->ts;
    row.name = rec_name_id(load, out->name);
    nl_stage_flow(load->stage, &row);
    return true;
}
