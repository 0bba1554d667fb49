/* lastrank — see lastrank.h. */
#include "answer/lastrank.h"

#include "base/mem.h"
#include "base/units.h"
#include "tables/lookup.h"
#include "tables/memo.h"

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

/* Whether two rows are of two ranks, or of two devices where no ranks are known. */
static bool are_two(const struct nl_result *rows, size_t a, size_t b)
{
    int64_t rank = nl_lookup_i64(rows, a, "rank");
    if (rank != nl_lookup_i64(rows, b, "rank"))
        return true; /* else several captures of one rank, or its devices */
    return rank == NL_NULL_I64 &&
           nl_lookup_i64(rows, a, "device") != nl_lookup_i64(rows, b, "device");
}

/* The row with the least time in collectives; rows->rows when they are not of
 * one rank or device each. */
static size_t find_least(const struct nl_result *rows)
{
    size_t least = 0;
    for (size_t i = 1; i < rows->rows; i++) {
        if (!are_two(rows, i, i - 1))
            return rows->rows;
        if (nl_lookup_i64(rows, i, "comm_ns") < nl_lookup_i64(rows, least, "comm_ns"))
            least = i;
    }
    return least;
}

/* Whether the account knows others that wait for the device of that number: then they
 * ran the same collectives. */
static bool is_waited_for(struct nl_judged *judged, int64_t ordinal)
{
    const struct nl_account *account = nl_memo_account(judged->options->memo);
    for (size_t i = 0; i < account->row_count; i++) {
        const struct nl_account_row *row = &account->rows[i];
        const struct nl_account_member *late =
            row->part == NL_BOOKED_COMM_WAIT && row->late != NL_NULL_ROW
                ? &account->members[row->late]
                : NULL;
        if (late && late->rank == NL_NULL_I64 &&
            judged->trace->device.ordinal[late->device] == ordinal)
            return true;
    }
    return false;
}

void nl_lastrank_put(struct nl_judged *judged, struct nl_buf *out, const char *before)
{
    const struct nl_result *rows = nl_judged_part(judged, "overlap");
    if (!rows || rows->rows < 2)
        return;
    size_t least = find_least(rows);
    if (least == rows->rows)
        return;
    int64_t own = nl_lookup_i64(rows, least, "comm_ns"), sum = nl_lookup_sum(rows, "comm_ns");
    if (own == NL_NULL_I64)
        return;
    int64_t rank = nl_lookup_i64(rows, least, "rank");
    int64_t device = nl_lookup_i64(rows, least, "device");
    int64_t others = (sum - own) / (int64_t)(rows->rows - 1);
    bool by_rank = rank != NL_NULL_I64;
    if (others <= 0 || own > others / 2 || (!by_rank && !is_waited_for(judged, device)))
        return;
    nl_buf_format(out, "%s%s %lld arrives last: ", before,
                  by_rank ? "rank" : nl_device_word(judged->trace, 0),
                  (long long)(by_rank ? rank : device));
    nl_tell_time(out, "its collectives take ", own);
    nl_tell_time(out, ", on the others ", others);
    nl_buf_text(out, " on average, which is waiting for it");
}
