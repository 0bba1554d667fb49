/*
 * thinned — see thinned.h. CUPTI numbers every call of the runtime and the driver, one after the
 * other, also those that profilers leave out (cudaGetDevice, cudaGetLastError, …). Of 45 whole
 * public recordings of PyTorch and Nsight Systems the file has 5.6 to 33 % of the numbers between
 * its first and last; of two that a tool had sampled, 0.45 %.
 */
#include "timeline/thinned.h"

#include <math.h>

#include "base/mem.h"
#include "base/str.h"

#define MIN_CALLS 500
#define MAX_SHARE 0.01

struct numbers {
    uint64_t count, first, last;
};

double nl_thinned(const struct nl_trace *trace)
{
    struct numbers *of = nl_zalloc(((size_t)trace->process.rows + 1) * sizeof *of);
    const struct numbers *most = of;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t slice = trace->api.slice[row];
        uint64_t number = trace->api.correlation[row];
        uint32_t process = trace->lane.process[trace->slice.lane[slice]];
        if (number == NL_NULL_U64 || !number || process == NL_NULL_ROW ||
            !nl_str_starts(nl_trace_name(trace, trace->slice.name[slice]), "cu"))
            continue;
        struct numbers *its = &of[process];
        its->first = !its->count || number < its->first ? number : its->first;
        its->last = number > its->last ? number : its->last;
        its->count++;
        most = its->count > most->count ? its : most;
    }
    double share = most->count < MIN_CALLS
                       ? NAN
                       : (double)most->count / ((double)(most->last - most->first) + 1);
    nl_free(of);
    return share < MAX_SHARE ? share : (double)NAN;
}
