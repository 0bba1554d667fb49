/* Which columns go with which kind of slice. */
#include "export/attributes.h"

#include <string.h>

#include "base/mem.h"

static const struct {
    enum nl_kind kind; /* NL_KIND_UNKNOWN: rows of table collective */
    enum nl_table_id table;
    const char *columns;
} shown[] = {
    {NL_KIND_KERNEL, NL_T_kernel,
     "correlation grid_x grid_y grid_z block_x block_y block_z registers static_shared_bytes "
     "dynamic_shared_bytes occupancy graph graph_node external_id"},
    {NL_KIND_MEMCPY, NL_T_copy,
     "correlation bytes kind src_memory dst_memory src_device dst_device graph_node external_id"},
    {NL_KIND_MEMSET, NL_T_memset, "correlation bytes value memory graph_node external_id"},
    {NL_KIND_SYNC, NL_T_sync, "correlation kind event_id wait_stream wait_correlation"},
    {NL_KIND_API, NL_T_api, "correlation result external_id kernel"},
    {NL_KIND_OP, NL_T_op,
     "shapes dtypes strides concrete_inputs flops bytes external_id sequence forward_thread"},
    {NL_KIND_LAYER, NL_T_layer, "python_id python_parent module_id"},
    {NL_KIND_PYTHON, NL_T_python, "python_id python_parent"},
    {NL_KIND_NVTX, NL_T_nvtx, "domain category payload end_thread"},
    {NL_KIND_GRAPH, NL_T_graph, "correlation graph exec"},
    {NL_KIND_UNKNOWN, NL_T_collective,
     "operation bytes dtype ranks in_elements out_elements group_name sequence peer"},
};

static void add_columns(struct nl_attributes *attributes, enum nl_table_id table,
                        const char *columns)
{
    char name[64];
    for (const char *at = columns; *at;) {
        size_t len = strcspn(at, " ");
        memcpy(name, at, len);
        name[len] = '\0';
        at += len + (at[len] == ' ');
        const struct nl_column_def *column = nl_table_column(table, name);
        if (!column || column->hop != NL_HOP_NONE || attributes->count == NL_MAX_ATTRIBUTES)
            NL_BUG("an attribute is not a stored column");
        attributes->items[attributes->count++] = (struct nl_attribute){
            column->name, column->type, column->enumeration,
            nl_trace_column(attributes->trace, column), nl_trace_rows(attributes->trace, table)};
    }
}

/* Row per slice of a table that refers to slices, the first of several; NULL without rows. */
static uint32_t *rows_by_slice(const struct nl_trace *trace, const uint32_t *slices, uint32_t rows)
{
    if (!rows)
        return NULL;
    uint32_t *by_slice = nl_alloc(((size_t)trace->slice.rows + 1) * sizeof *by_slice);
    memset(by_slice, 0xff, ((size_t)trace->slice.rows + 1) * sizeof *by_slice);
    for (uint32_t i = rows; i-- > 0;)
        if (slices[i] != NL_NULL_ROW)
            by_slice[slices[i]] = i;
    return by_slice;
}

void nl_attributes_make(struct nl_attributes *attributes, const struct nl_trace *trace)
{
    *attributes = (struct nl_attributes){.trace = trace};
    for (unsigned kind = 1; kind < NL_KIND_COUNT; kind++) {
        attributes->first[kind] = (uint8_t)attributes->count;
        for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
            if (shown[i].kind == kind)
                add_columns(attributes, shown[i].table, shown[i].columns);
    }
    attributes->first[NL_KIND_COUNT] = attributes->collective_first = (uint8_t)attributes->count;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (shown[i].kind == NL_KIND_UNKNOWN)
            add_columns(attributes, shown[i].table, shown[i].columns);
    attributes->collective_last = (uint8_t)attributes->count;
    attributes->args = rows_by_slice(trace, trace->arg.slice, trace->arg.rows);
    attributes->collectives = rows_by_slice(trace, trace->collective.slice, trace->collective.rows);
}

void nl_attributes_release(struct nl_attributes *attributes)
{
    nl_free(attributes->args);
    nl_free(attributes->collectives);
    *attributes = (struct nl_attributes){0};
}
