/* What a call is for, as SQL functions on its name: apirole.h. */
#include "timeline/apirole.h"
#include "sql/functions.h"

static struct nl_str argument_text(sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    return text ? (struct nl_str){text, (size_t)sqlite3_value_bytes(value)}
                : (struct nl_str){"", 0};
}

static void role(sqlite3_context *context, int count, sqlite3_value **args)
{
    static const char *const names[] = {
        [NL_API_OTHER] = "other",
        [NL_API_LAUNCH] = "launch",
        [NL_API_GRAPH_LAUNCH] = "graph_launch",
        [NL_API_GRAPH_BUILD] = "graph_build",
        [NL_API_COPY] = "copy",
        [NL_API_FILL] = "fill",
        [NL_API_SYNC] = "sync",
        [NL_API_STREAM_WAIT] = "stream_wait",
        [NL_API_ALLOCATE] = "allocate",
        [NL_API_HOST_ALLOCATE] = "host_allocate",
        [NL_API_MODULE] = "module",
    };
    (void)count;
    if (sqlite3_value_type(args[0]) != SQLITE_NULL)
        sqlite3_result_text(context, names[nl_api_role_of(argument_text(args[0]), NULL)], -1,
                            SQLITE_STATIC);
}

static void blocks(sqlite3_context *context, int count, sqlite3_value **args)
{
    bool answer;
    (void)count;
    if (sqlite3_value_type(args[0]) == SQLITE_NULL)
        return;
    nl_api_role_of(argument_text(args[0]), &answer);
    sqlite3_result_int(context, answer);
}

const struct nl_function nl_api_functions[] = {
    {.name = "api_role",
     .signature = "api_role(name)",
     .doc = "What a call of the CUDA/HIP runtime or driver is for: launch, graph_launch, "
            "graph_build, copy, fill, sync, stream_wait, allocate, host_allocate, module or other.",
     .example = "SELECT api_role(name), count(*), sum(dur) FROM api GROUP BY 1",
     .args = 1,
     .scalar = role},
    {.name = "api_blocks",
     .signature = "api_blocks(name)",
     .doc = "1 for calls that return only when the device has done its part (synchronisation, "
            "synchronous copies, frees), else 0.",
     .example = "SELECT sum(dur) FROM api WHERE api_blocks(name)",
     .args = 1,
     .scalar = blocks},
    {0}};
