/* See reccost.h. */
#include "derive/reccost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "nlrec/recgpu.h"

bool nl_reccost_number(struct nl_str text, double *number)
{
    char copy[40], *end;
    snprintf(copy, sizeof copy, "%.*s", NL_UP_TO(39, text));
    *number = strtod(copy, &end);
    return text.len && !*end && isfinite(*number) && *number >= 0 && *number < 9e18;
}

/* Over all rows with that key; NAN: there is none. */
static double sum_of(const struct nl_trace *trace, const char *before, const char *behind)
{
    size_t length = strlen(before);
    double sum = NAN, number;
    for (uint32_t row = 0; row < trace->meta.rows; row++) {
        struct nl_str key = nl_trace_name(trace, trace->meta.key[row]);
        if (key.len < length || memcmp(key.ptr, before, length) != 0 ||
            !nl_str_is((struct nl_str){key.ptr + length, key.len - length}, behind) ||
            !nl_reccost_number(nl_trace_name(trace, trace->meta.value[row]), &number))
            continue;
        sum = isnan(sum) ? number : sum + number;
    }
    return sum;
}

static double known_or_zero(double value)
{
    return isnan(value) ? 0 : value;
}

static void add_hooks(const struct nl_trace *trace, struct nl_reccost *cost)
{
#define NL_REC_HOOK(identifier, word, what) {word, what, 0, NAN},
    static const struct nl_reccost_hook hooks[] = {
#include "nlrec/rechooks.def"
    };
#undef NL_REC_HOOK
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++) {
        struct nl_reccost_hook *hook = &cost->hooks[i];
        *hook = hooks[i];
        hook->count = known_or_zero(sum_of(trace, NL_RECCOST_RAN, hook->what));
        hook->each_ns = sum_of(trace, NL_RECCOST_HOOK, hook->word);
        cost->hooks_ns += known_or_zero(hook->count * hook->each_ns);
    }
}

bool nl_reccost(const struct nl_trace *trace, struct nl_reccost *cost)
{
    *cost = (struct nl_reccost){.events = sum_of(trace, "", "recorded events"),
                                .event_ns = sum_of(trace, "", "recorder.event_ns"),
                                .python_ns = known_or_zero(sum_of(trace, "", NL_RECCOST_TOOK)),
                                .samples_ns = known_or_zero(sum_of(trace, "", NL_RECCOST_SAMPLES)),
                                .starts = known_or_zero(sum_of(trace, "", NL_RECCOST_STARTS)),
                                .start_ns = sum_of(trace, "", NL_RECCOST_START),
                                .gpu_ns = known_or_zero(sum_of(trace, "", NL_REC_GPU_COST)),
                                .program_ns = sum_of(trace, "", "recorder.program_cpu_ns"),
                                .total_ns = NAN,
                                .share = NAN};
    add_hooks(trace, cost);
    double events_ns = cost->events * cost->event_ns;
    if (isnan(events_ns))
        return false;
    double total = events_ns + cost->hooks_ns + cost->python_ns + cost->samples_ns +
                   known_or_zero(cost->starts * cost->start_ns) + cost->gpu_ns;
    cost->total_ns = total < 9e18 ? total : NAN;
    if (cost->program_ns > 0)
        cost->share = cost->total_ns / cost->program_ns;
    return !isnan(cost->total_ns);
}
