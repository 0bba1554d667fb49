/* "clock error (ns)" is that of ticks, "GPU clock error (ns)" that of GPU times
 * moved from another clock. */
#include "tables/clockerror.h"
#include "base/chars.h"

int64_t nl_clock_error(const struct nl_trace *trace, uint32_t source)
{
    int64_t worst = NL_NULL_I64;
    for (uint32_t row = 0; row < trace->meta.rows; row++) {
        struct nl_str key = nl_trace_name(trace, trace->meta.key[row]);
        struct nl_str text = nl_trace_name(trace, trace->meta.value[row]);
        if (source != NL_NULL_ROW && trace->meta.source[row] != source)
            continue;
        if (!nl_str_is(key, "clock error (ns)") && !nl_str_is(key, "GPU clock error (ns)"))
            continue;
        int64_t value = 0;
        bool number = text.len > 0 && text.len <= 18;
        for (size_t i = 0; i < text.len && number; i++) {
            number = nl_is_digit(text.ptr[i]);
            value = value * 10 + (text.ptr[i] - '0');
        }
        if (number && (worst == NL_NULL_I64 || value > worst))
            worst = value;
    }
    return worst;
}
