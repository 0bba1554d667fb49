/* Names as in libkineto's output_json.cpp, where a column has one there; else the column's own. */
#include "export/chromeargs.h"

#include "base/jsoncheck.h"
#include "base/units.h"

#define CORRELATION_BITS 33

static const struct {
    const char *column, *name;
} renamed[] = {{"external_id", "External id"},
               {"registers", "registers per thread"},
               {"graph", "graph id"},
               {"graph_node", "graph node id"},
               {"shapes", "Input Dims"},
               {"dtypes", "Input type"},
               {"strides", "Input Strides"},
               {"concrete_inputs", "Concrete Inputs"},
               {"flops", "Flops"},
               {"sequence", "Sequence number"},
               {"forward_thread", "Fwd thread id"},
               {"python_id", "Python id"},
               {"python_parent", "Python parent id"},
               {"module_id", "Python module id"},
               {"wait_stream", "wait_on_stream"},
               {"wait_correlation", "wait_on_cuda_event_record_corr_id"},
               {"event_id", "wait_on_cuda_event_id"}};

/* Of rows of table collective. */
static const struct {
    const char *column, *name;
} collective[] = {{"operation", "Collective name"},     {"ranks", "Group size"},
                  {"in_elements", "In msg nelems"},     {"out_elements", "Out msg nelems"},
                  {"group_name", "Process Group Name"}, {"sequence", "Seq"}};

static const char *argument_name(const struct nl_attribute *attribute, bool of_collective)
{
    if (of_collective) {
        for (size_t i = 0; i < sizeof collective / sizeof collective[0]; i++)
            if (strcmp(attribute->name, collective[i].column) == 0)
                return collective[i].name;
        return attribute->name;
    }
    for (size_t i = 0; i < sizeof renamed / sizeof renamed[0]; i++)
        if (strcmp(attribute->name, renamed[i].column) == 0)
            return renamed[i].name;
    return attribute->name;
}

/* ---- which texts are JSON ---- */

static bool is_json(struct nl_str text)
{
    struct nl_json_problem problem;
    return text.len && (text.ptr[0] == '[' || text.ptr[0] == '{') &&
           nl_json_check(text.ptr, text.len, &problem);
}

static void check_column(struct chrome_args *args, const uint32_t *names, uint32_t rows,
                         uint8_t *asked)
{
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t id = names[i];
        if (id >= args->trace->names.count || asked[id / 8] >> id % 8 & 1)
            continue;
        asked[id / 8] |= (uint8_t)(1u << id % 8);
        if (is_json(nl_trace_name(args->trace, id)))
            args->json[id / 8] |= (uint8_t)(1u << id % 8);
    }
}

static bool several_callers(const struct nl_trace *trace)
{
    uint32_t first = NL_NULL_ROW;
    for (uint32_t i = 0; i < trace->api.rows; i++) {
        uint32_t slice = trace->api.slice[i];
        uint32_t process = slice == NL_NULL_ROW ? NL_NULL_ROW : nl_slice_process(trace, slice);
        if (process != NL_NULL_ROW && first != NL_NULL_ROW && process != first)
            return true;
        first = process == NL_NULL_ROW ? first : process;
    }
    return false;
}

void chrome_args_make(struct chrome_args *args, const struct nl_trace *trace)
{
    *args = (struct chrome_args){.trace = trace};
    nl_attributes_make(&args->attributes, trace);
    args->json = nl_zalloc(trace->names.count / 8 + 1);
    uint8_t *asked = nl_zalloc(trace->names.count / 8 + 1);
    const struct nl_op_table *op = &trace->op;
    const uint32_t *columns[] = {op->shapes, op->dtypes, op->strides, op->concrete_inputs};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        check_column(args, columns[i], op->rows, asked);
    check_column(args, trace->arg.text, trace->arg.rows, asked);
    nl_free(asked);
    args->many = several_callers(trace);
}

void chrome_args_release(struct chrome_args *args)
{
    nl_attributes_release(&args->attributes);
    nl_free(args->json);
}

/* ---- writing ---- */

struct put {
    const struct chrome_args *args;
    struct bytes *out;
    uint32_t process;
    bool begun;
};

static void put_name(struct put *put, const char *name)
{
    json_raw(put->out, put->begun ? "," : ",\"args\":{");
    put->begun = true;
    json_text(put->out, nl_str(name));
    bytes_u8(put->out, ':');
}

static void put_value(struct put *put, const struct nl_attribute *attribute,
                      const union nl_value *value)
{
    const struct chrome_args *args = put->args;
    switch (attribute->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64: json_i64(put->out, value->i64); break;
    case NL_TYPE_F64: json_f64(put->out, value->f64); break;
    case NL_TYPE_NAME: {
        struct nl_str text = nl_trace_name(args->trace, value->name);
        if (value->name < args->trace->names.count &&
            args->json[value->name / 8] >> value->name % 8 & 1)
            bytes_add(put->out, text.ptr, text.len);
        else
            json_text(put->out, text);
        break;
    }
    case NL_TYPE_ENUM: json_text(put->out, nl_str(value->text)); break;
    default: json_u64(put->out, value->u64); break;
    }
}

/* Correlation ids join in the whole file, so those of several processes are kept apart:
 * the lower 33 bits are the id, and with the process's number above them they are below
 * 2^53, as JSON's readers want. */
static void tell_apart(const struct put *put, const struct nl_attribute *attribute,
                       union nl_value *value)
{
    const char *name = attribute->name;
    if (!put->args->many || put->process == NL_NULL_ROW || value->u64 >> CORRELATION_BITS ||
        put->process >> (53 - CORRELATION_BITS))
        return;
    if (strcmp(name, "correlation") == 0 || strcmp(name, "wait_correlation") == 0)
        value->u64 |= (uint64_t)put->process << CORRELATION_BITS;
}

static void put_attributes(struct put *put, unsigned first, unsigned last, uint32_t row,
                           bool of_collective)
{
    union nl_value value;
    for (unsigned a = first; a < last; a++) {
        const struct nl_attribute *attribute = &put->args->attributes.items[a];
        if (!nl_attribute_value(attribute, row, &value))
            continue;
        tell_apart(put, attribute, &value);
        put_name(put, argument_name(attribute, of_collective));
        put_value(put, attribute, &value);
    }
}

static void put_number(struct put *put, const char *name, int64_t value)
{
    if (value == NL_NULL_I64)
        return;
    put_name(put, name);
    json_i64(put->out, value);
}

static void put_sizes(struct put *put, const char *name, uint32_t x, uint32_t y, uint32_t z)
{
    if (x == NL_NULL_U32)
        return;
    put_name(put, name);
    bytes_u8(put->out, '[');
    json_u64(put->out, x);
    bytes_u8(put->out, ',');
    json_u64(put->out, y == NL_NULL_U32 ? 1 : y);
    bytes_u8(put->out, ',');
    json_u64(put->out, z == NL_NULL_U32 ? 1 : z);
    bytes_u8(put->out, ']');
}

/* What kineto says of kernels in another form than columns. */
static void put_kernel(struct put *put, uint32_t row)
{
    const struct nl_kernel_table *table = &put->args->trace->kernel;
    if (row >= table->rows)
        return;
    put_sizes(put, "grid", table->grid_x[row], table->grid_y[row], table->grid_z[row]);
    put_sizes(put, "block", table->block_x[row], table->block_y[row], table->block_z[row]);
    uint32_t fixed = table->static_shared_bytes[row], dynamic = table->dynamic_shared_bytes[row];
    if (fixed != NL_NULL_U32 || dynamic != NL_NULL_U32)
        put_number(put, "shared memory",
                   (int64_t)(fixed == NL_NULL_U32 ? 0 : fixed) +
                       (dynamic == NL_NULL_U32 ? 0 : dynamic));
    if (table->occupancy[row] == table->occupancy[row]) {
        put_name(put, "est. achieved occupancy %");
        json_f64(put->out, table->occupancy[row] * 100);
    }
}

/* What PyTorch's profiler calls `stream` makes an event device work to readers such as HTA, so
 * ranges say it by another name. */
static void put_place(struct put *put, uint32_t lane)
{
    const struct nl_lane_table *table = &put->args->trace->lane;
    if (table->device[lane] == NL_NULL_ROW)
        return;
    put_number(put, "device", nl_lane_ordinal(put->args->trace, lane));
    put_number(put, "context", table->context[lane]);
    put_number(put, table->kind[lane] == NL_LANE_GPU_ANNOTATION ? "annotated stream" : "stream",
               table->stream[lane]);
}

/* Arguments that are an object are written among the others, without their braces. */
static void put_raw(struct put *put, uint32_t slice, struct nl_buf *room)
{
    uint32_t id = nl_attributes_text(&put->args->attributes, slice);
    if (id == NL_NO_NAME)
        return;
    nl_buf_clear(room);
    struct nl_str text = nl_trace_text(put->args->trace, id, room);
    bool good =
        id < put->args->trace->names.count ? put->args->json[id / 8] >> id % 8 & 1 : is_json(text);
    if (!good || text.ptr[0] != '{') {
        put_name(put, "args");
        json_text(put->out, text);
        return;
    }
    struct nl_str inside = {text.ptr + 1, text.len - 1};
    while (inside.len && inside.ptr[inside.len - 1] != '}')
        inside.len--;
    inside.len -= inside.len > 0;
    for (size_t i = 0; i <= inside.len; i++) {
        if (i == inside.len)
            return; /* an empty object */
        if (!strchr(" \t\r\n", inside.ptr[i]))
            break;
    }
    json_raw(put->out, put->begun ? "," : ",\"args\":{");
    put->begun = true;
    bytes_add(put->out, inside.ptr, inside.len);
}

/* Columns of a kernel that put_kernel writes in another form. */
static bool is_launch_size(const char *column)
{
    return strncmp(column, "grid_", 5) == 0 || strncmp(column, "block_", 6) == 0 ||
           strcmp(column, "static_shared_bytes") == 0 ||
           strcmp(column, "dynamic_shared_bytes") == 0 || strcmp(column, "occupancy") == 0;
}

static void put_kind(struct put *put, unsigned kind, uint32_t row)
{
    const struct nl_attributes *attributes = &put->args->attributes;
    for (unsigned a = attributes->first[kind]; a < attributes->first[kind + 1]; a++) {
        if (kind == NL_KIND_KERNEL && is_launch_size(attributes->items[a].name))
            continue;
        put_attributes(put, a, a + 1, row, false);
    }
}

void chrome_args_put(const struct chrome_args *args, struct bytes *out, uint32_t slice,
                     struct nl_buf *room)
{
    const struct nl_slice_table *table = &args->trace->slice;
    struct put put = {
        .args = args, .out = out, .process = args->trace->lane.process[table->lane[slice]]};
    unsigned kind = table->kind[slice];
    put_place(&put, table->lane[slice]);
    if (kind && kind < NL_KIND_COUNT)
        put_kind(&put, kind, table->detail[slice]);
    if (kind == NL_KIND_KERNEL)
        put_kernel(&put, table->detail[slice]);
    uint32_t collected = nl_attributes_collective(&args->attributes, slice);
    if (collected != NL_NULL_ROW)
        put_attributes(&put, args->attributes.collective_first, args->attributes.collective_last,
                       collected, true);
    put_raw(&put, slice, room);
    if (put.begun)
        bytes_u8(out, '}');
}
