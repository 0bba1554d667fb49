/* apirole — see apirole.h. */
#include "timeline/apirole.h"

#include "base/chars.h"
#include "base/mem.h"

enum how { PREFIX, CONTAINS };

static const struct {
    enum how how;
    const char *text;
    uint8_t role, blocks;
} rules[] = {
#define NL_API_ROLE(how, text, role, blocks) {how, text, NL_API_##role, blocks},
#include "timeline/apirole.def"
};

/* "cudaLaunchKernel", "cuLaunchKernel", "hipLaunchKernel" → "LaunchKernel". */
static struct nl_str without_family(struct nl_str name)
{
    static const char *const families[] = {"cuda", "hip", "cu"};
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        size_t len = strlen(families[i]);
        if (nl_str_starts(name, families[i]) && name.len > len && nl_is_upper(name.ptr[len]))
            return (struct nl_str){name.ptr + len, name.len - len};
    }
    return name;
}

enum nl_api_role nl_api_role_of(struct nl_str name, bool *blocks)
{
    struct nl_str plain = without_family(name);
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        bool hit = rules[i].how == PREFIX ? nl_str_starts(plain, rules[i].text)
                                          : nl_str_contains(plain, rules[i].text);
        if (!hit)
            continue;
        /* A name of no family ("MemcpyD2H" of XPlane) is a profiler's own,
         * for all calls of a sort. */
        if (blocks)
            *blocks = rules[i].blocks && plain.len < name.len;
        return (enum nl_api_role)rules[i].role;
    }
    if (blocks)
        *blocks = false;
    return NL_API_OTHER;
}

void nl_api_roles_init(struct nl_api_roles *roles, const struct nl_trace *trace)
{
    uint32_t names = trace->names.count;
    uint8_t *seen = nl_zalloc((size_t)names + 1);
    roles->by_name = nl_zalloc((size_t)names + 1);
    for (uint32_t row = 0; row < trace->api.rows; row++) {
        uint32_t id = trace->slice.name[trace->api.slice[row]];
        if (seen[id])
            continue;
        bool blocks;
        seen[id] = 1;
        roles->by_name[id] = (uint8_t)nl_api_role_of(nl_trace_name(trace, id), &blocks);
        if (blocks)
            roles->by_name[id] |= NL_API_BLOCKS;
    }
    nl_free(seen);
}

void nl_api_roles_release(struct nl_api_roles *roles)
{
    nl_free(roles->by_name);
    roles->by_name = NULL;
}
