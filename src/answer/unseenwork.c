/* unseenwork — see unseenwork.h. */
#include "answer/unseenwork.h"

#include "timeline/apirole.h"

static bool has_work(const struct nl_trace *trace)
{
    return trace->kernel.rows || trace->copy.rows || trace->graph.rows;
}

static bool names_gpu(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->device.rows; row++)
        if (nl_trace_name(trace, trace->device.vendor[row]).len)
            return true;
    return false;
}

/* Kineto writes what the GPU did after what the CPU did. */
static bool is_kineto(const struct nl_trace *trace)
{
    return trace->source.rows && nl_str_is(nl_trace_name(trace, trace->source.format[0]), "kineto");
}

/* How many calls launch, and the name of most of them. */
static uint64_t launches(const struct nl_trace *trace, uint32_t *most)
{
    struct nl_api_roles roles;
    uint64_t sum = 0, *counts = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *counts);
    nl_api_roles_init(&roles, trace);
    *most = 0;
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        enum nl_api_role role = nl_api_slice_role(&roles, trace, trace->api.slice[row]);
        if (role != NL_API_LAUNCH && role != NL_API_GRAPH_LAUNCH)
            continue;
        uint32_t name = trace->slice.name[trace->api.slice[row]];
        sum++;
        if (++counts[name] > counts[*most] || (counts[name] == counts[*most] && name < *most))
            *most = name;
    }
    nl_api_roles_release(&roles);
    nl_free(counts);
    return sum;
}

bool nl_unseen_unasked(const struct nl_trace *trace)
{
    struct nl_api_roles roles;
    bool asked = !trace->api.rows;
    nl_api_roles_init(&roles, trace);
    for (uint32_t row = 0; row < trace->api.rows && !asked; row++) {
        uint32_t slice = trace->api.slice[row];
        enum nl_api_role role = nl_api_slice_role(&roles, trace, slice);
        asked = role == NL_API_LAUNCH || role == NL_API_GRAPH_LAUNCH || role == NL_API_COPY ||
                role == NL_API_FILL ||
                !nl_str_starts(nl_trace_name(trace, trace->slice.name[slice]), "cu");
    }
    nl_api_roles_release(&roles);
    return !asked;
}

bool nl_unseen_launched(const struct nl_judged *judged, struct nl_buf *out)
{
    const struct nl_trace *trace = judged->trace;
    uint32_t most = 0;
    uint64_t count = has_work(trace) ? 0 : launches(trace, &most);
    if (!count)
        return false;
    nl_tell_number(out, "GPU work was launched in ", (int64_t)count, "call", "calls");
    nl_tell_name(out, " (", nl_trace_name(trace, most));
    nl_buf_format(out, "), but its kernels are not in the %s%s. ",
                  trace->source.rows > 1 ? "files" : "file",
                  nl_trace_is_cut(trace) ? ", of which the end is missing" : "");
    return true;
}

const char *nl_unseen_head(const struct nl_judged *judged)
{
    const struct nl_trace *trace = judged->trace;
    if (has_work(trace))
        return "CPU-only profile, ";
    if (nl_trace_is_cut(trace) && (names_gpu(trace) || is_kineto(trace)))
        return "The end of the file is missing, and GPU work with it if there was any: ";
    return names_gpu(trace) ? "No GPU work was recorded, " : "CPU-only profile, ";
}
