/* foreigncalls — see foreigncalls.h. */
#include "timeline/foreigncalls.h"

#include "base/map.h"

/* The system's number of the process that a slice belongs to; NL_NULL_I64 unknown. */
static int64_t pid_of(const struct nl_trace *trace, uint32_t slice)
{
    uint32_t process = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_process(trace, slice);
    return process == NL_NULL_ROW ? NL_NULL_I64 : trace->process.pid[process];
}

bool nl_calls_are_foreign(const struct nl_trace *trace)
{
    struct nl_idmap pids = {0};
    bool foreign = trace->kernel.rows && trace->api.rows;
    for (uint32_t row = 0; row < trace->kernel.rows && foreign; row++) {
        uint32_t slice = trace->kernel.slice[row];
        int64_t pid = pid_of(trace, slice);
        foreign = pid != NL_NULL_I64 && trace->slice.link[slice] == NL_NULL_ROW;
        (void)nl_idmap_get_or_put(&pids, (uint64_t)pid, row);
    }
    for (uint32_t row = 0; row < trace->api.rows && foreign; row++) {
        int64_t pid = pid_of(trace, trace->api.slice[row]);
        foreign = pid != NL_NULL_I64 && nl_idmap_get(&pids, (uint64_t)pid) == NL_NO_ROW;
    }
    nl_idmap_release(&pids);
    return foreign;
}
