/* lanelabel — see lanelabel.h. */
#include "tables/lanelabel.h"

#include <inttypes.h>

#include "tables/shortname.h"

void nl_lane_label(struct nl_buf *out, const struct nl_trace *trace, uint32_t lane)
{
    const char *kind = nl_enum_text(NL_ENUM_lanekind, trace->lane.kind[lane]);
    struct nl_str name = nl_trace_name(trace, trace->lane.name[lane]);
    uint32_t thread = trace->lane.thread[lane];
    bool plain = trace->lane.kind[lane] == NL_LANE_THREAD;
    if (!name.len && thread != NL_NULL_ROW)
        name = nl_trace_name(trace, trace->thread.name[thread]);
    if (name.len)
        nl_elide_name(out, name, 80);
    else if (trace->lane.stream[lane] != NL_NULL_I64)
        nl_buf_format(out, "stream %" PRId64, trace->lane.stream[lane]);
    else if (thread != NL_NULL_ROW && trace->thread.tid[thread] != NL_NULL_I64)
        nl_buf_format(out, "thread %" PRId64, trace->thread.tid[thread]);
    else
        plain = true;
    if (!out->len)
        nl_buf_text(out, kind ? kind : "lane");
    else if (!plain && kind && trace->lane.kind[lane] != NL_LANE_STREAM &&
             !nl_str_contains((struct nl_str){out->ptr, out->len}, kind))
        nl_buf_format(out, " · %s", kind);
    if (trace->lane.sub[lane] && trace->lane.sub[lane] != NL_NULL_U32)
        nl_buf_format(out, " (%u)", trace->lane.sub[lane] + 1);
}
