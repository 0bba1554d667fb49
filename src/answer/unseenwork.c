/* unseenwork — see unseenwork.h. */
#include "answer/unseenwork.h"

#include "timeline/apirole.h"
#include "timeline/unseengpu.h"

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
    uint64_t count = nl_has_device_work(trace) ? 0 : nl_count_launches(trace, &most);
    if (!count)
        return false;
    nl_tell_number(out, "GPU work was launched in ", (int64_t)count, "call", "calls");
    nl_tell_name(out, " (", nl_trace_name(trace, most));
    judged->verdict->says_cut = nl_trace_is_cut(trace);
    nl_buf_format(out, "), but its kernels are not in the %s%s. ",
                  trace->source.rows > 1 ? "files" : "file",
                  judged->verdict->says_cut ? ", of which the end is missing" : "");
    return true;
}

void nl_unseen_put_head(const struct nl_judged *judged, struct nl_buf *out)
{
    const struct nl_trace *trace = judged->trace;
    bool none = !nl_has_device_work(trace);
    struct nl_str name = none ? nl_gpu_name(trace) : (struct nl_str){0};
    judged->verdict->says_cut =
        none && nl_trace_is_cut(trace) && (name.len || names_gpu(trace) || is_kineto(trace));
    if (judged->verdict->says_cut)
        nl_buf_text(out, "The end of the file is missing, and GPU work with it if there was any: ");
    else if (name.len)
        nl_tell_name(out, "No GPU work was recorded, but a GPU was used (", name);
    else
        nl_buf_text(out,
                    none && names_gpu(trace) ? "No GPU work was recorded, " : "CPU-only profile, ");
    if (name.len)
        nl_buf_text(out, nl_trace_is_cut(trace) ? "" : "): ");
}
