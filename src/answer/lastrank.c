/* lastrank — see lastrank.h. */
#include "answer/lastrank.h"

#include "base/mem.h"
#include "base/units.h"
#include "tables/lookup.h"

/* Of the process that drives all lanes of devices; NL_NULL_ROW: there are several, or ranks. */
static uint32_t the_process(const struct nl_trace *trace)
{
    uint32_t process = NL_NULL_ROW;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        if (trace->lane.device[lane] == NL_NULL_ROW || !trace->lane.count[lane])
            continue;
        if (process != NL_NULL_ROW && trace->lane.process[lane] != process)
            return NL_NULL_ROW;
        process = trace->lane.process[lane];
    }
    return process != NL_NULL_ROW && trace->process.rank[process] == NL_NULL_I64 ? process
                                                                                 : NL_NULL_ROW;
}

static bool as_many_each(const struct nl_trace *trace)
{
    const struct nl_collective_table *table = &trace->collective;
    uint32_t *counts = nl_zalloc(((size_t)trace->device.rows + 1) * sizeof *counts), each = 0;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t device = nl_slice_device(trace, table->slice[row]);
        if (trace->slice.kind[table->slice[row]] == NL_KIND_KERNEL && device != NL_NULL_ROW)
            counts[device]++;
    }
    bool same = true;
    for (uint32_t device = 0; device < trace->device.rows; device++) {
        each = each ? each : counts[device];
        same &= !counts[device] || counts[device] == each;
    }
    nl_free(counts);
    return same && each;
}

bool nl_lastrank_one_process(const struct nl_trace *trace)
{
    return the_process(trace) != NL_NULL_ROW && as_many_each(trace);
}

/* Whether two rows are of two ranks. */
static bool are_two(const struct nl_result *rows, size_t a, size_t b, bool one_process)
{
    int64_t rank = nl_lookup_i64(rows, a, "rank");
    if (rank != nl_lookup_i64(rows, b, "rank"))
        return true; /* else several captures of one rank, or its devices */
    return one_process && rank == NL_NULL_I64 &&
           nl_lookup_i64(rows, a, "device") != nl_lookup_i64(rows, b, "device");
}

/* The row with the least time in collectives; rows->rows when they are not of one rank each. */
static size_t find_least(const struct nl_result *rows, bool one_process)
{
    size_t least = 0;
    for (size_t i = 1; i < rows->rows; i++) {
        if (!are_two(rows, i, i - 1, one_process))
            return rows->rows;
        if (nl_lookup_i64(rows, i, "comm_ns") < nl_lookup_i64(rows, least, "comm_ns"))
            least = i;
    }
    return least;
}

void nl_lastrank_put(struct nl_judged *judged, struct nl_buf *out, const char *before)
{
    const struct nl_result *rows = nl_judged_part(judged, "overlap");
    if (!rows || rows->rows < 2)
        return;
    bool one_process = nl_lastrank_one_process(judged->trace);
    size_t least = find_least(rows, one_process);
    if (least == rows->rows)
        return;
    int64_t own = nl_lookup_i64(rows, least, "comm_ns"), sum = nl_lookup_sum(rows, "comm_ns");
    int64_t rank = nl_lookup_i64(rows, least, "rank");
    int64_t device = nl_lookup_i64(rows, least, "device");
    int64_t others = (sum - own) / (int64_t)(rows->rows - 1);
    bool named = rank != NL_NULL_I64 || (one_process && device != NL_NULL_I64);
    if (!named || others <= 0 || own > others / 2)
        return;
    nl_buf_format(out, "%s%s %lld arrives last: ", before, rank == NL_NULL_I64 ? "GPU" : "rank",
                  (long long)(rank == NL_NULL_I64 ? device : rank));
    nl_tell_time(out, "its collectives take ", own);
    nl_tell_time(out, ", on the others ", others);
    nl_buf_text(out, " on average, which is waiting for it");
}
