/* The references that each hop of schema.def follows: a column of the row's
 * own table, then of lane. */
#include "store/columnpath.h"

static const struct {
    const char *own;
    bool slice_lane;  /* then slice → lane */
    const char *lane; /* then lane → */
} hops[] = {
    [NL_HOP_NONE] = {NULL, false, NULL},
    [NL_HOP_SLICE] = {"slice", false, NULL},
    [NL_HOP_LANE] = {"slice", true, NULL},
    [NL_HOP_LANE_PROCESS] = {"slice", true, "process"},
    [NL_HOP_LANE_THREAD] = {"slice", true, "thread"},
    [NL_HOP_LANE_DEVICE] = {"slice", true, "device"},
    [NL_HOP_OWNLANE_PROCESS] = {"lane", false, "process"},
    [NL_HOP_OWN_PROCESS] = {"process", false, NULL},
    [NL_HOP_OWN_THREAD] = {"thread", false, NULL},
    [NL_HOP_SERIES] = {"series", false, NULL},
    [NL_HOP_MEASUREMENT] = {"measurement", false, NULL},
};

static void add_hop(struct nl_column_path *path, const struct nl_trace *trace,
                    enum nl_table_id table, const char *name)
{
    const struct nl_column_def *def = nl_table_column(table, name);
    if (!def || path->hop_count == NL_MAX_HOPS)
        NL_BUG("schema.def has a hop that columnpath does not know");
    path->hops[path->hop_count++] = nl_trace_column(trace, def);
}

struct nl_column_path nl_column_path_of(const struct nl_trace *trace, enum nl_table_id table,
                                        const struct nl_column_def *def)
{
    struct nl_column_path path = {.def = def, .array = nl_trace_column(trace, def)};
    if (hops[def->hop].own && !(table == NL_T_slice && hops[def->hop].slice_lane))
        add_hop(&path, trace, table, hops[def->hop].own);
    if (hops[def->hop].slice_lane)
        add_hop(&path, trace, NL_T_slice, "lane");
    if (hops[def->hop].lane)
        add_hop(&path, trace, NL_T_lane, hops[def->hop].lane);
    return path;
}

bool nl_table_has_id(enum nl_table_id table)
{
    for (unsigned i = 0; i < nl_column_count; i++)
        if (nl_columns[i].hop == NL_HOP_NONE && nl_columns[i].type == NL_TYPE_REF &&
            nl_columns[i].target == table)
            return true;
    return false;
}
