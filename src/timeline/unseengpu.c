/* unseengpu — see unseengpu.h. */
#include "timeline/unseengpu.h"

#include <string.h>

#include "base/mem.h"
#include "timeline/apirole.h"

static const char *const for_gpus[] = {
#define NL_GPU_NAME(name) name,
#include "timeline/unseengpu.def"
#undef NL_GPU_NAME
};

uint64_t nl_count_launches(const struct nl_trace *trace, uint32_t *most)
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

static bool is_for_gpus(struct nl_str name)
{
    for (size_t i = 0; i < sizeof for_gpus / sizeof for_gpus[0]; i++) {
        struct nl_str known = nl_str(for_gpus[i]);
        bool start = known.ptr[known.len - 1] == '*';
        size_t len = start ? known.len - 1 : known.len;
        if ((start ? name.len >= len : name.len == len) && memcmp(name.ptr, known.ptr, len) == 0)
            return true;
    }
    return false;
}

struct nl_str nl_gpu_name(const struct nl_trace *trace)
{
    bool any = false;
    uint8_t *marked = nl_zalloc((size_t)trace->names.count + 1);
    uint32_t row = 0;
    for (uint32_t id = 1; id < trace->names.count; id++) {
        marked[id] = is_for_gpus(nl_trace_name(trace, id));
        any |= marked[id];
    }
    while (any && row < trace->slice.rows && !marked[trace->slice.name[row]])
        row++;
    nl_free(marked);
    return any && row < trace->slice.rows ? nl_trace_name(trace, trace->slice.name[row])
                                          : (struct nl_str){0};
}

bool nl_gpu_is_unseen(const struct nl_trace *trace)
{
    uint32_t most;
    return !nl_has_device_work(trace) &&
           (nl_count_launches(trace, &most) || nl_gpu_name(trace).len);
}
