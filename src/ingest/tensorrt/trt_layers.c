/*
 * Layers: their summed times (--exportProfile) and what they are (--exportLayerInfo). Both become
 * rows of table nodes without a slice; finishing joins the rows of two files of one engine by name.
 */
#include "base/json.h"
#include "ingest/tensorrt/trt.h"

#define UNIT_ROWS 65536

static struct nl_node_row new_node(struct trt_load *load)
{
    struct nl_node_row node = nl_node_row();
    node.source = load->source;
    node.provider = nl_builder_name(load->builder, nl_str("TensorRT"));
    node.index = (int64_t)load->rows;
    return node;
}

static void stage_node(struct trt_load *load, const struct nl_node_row *node)
{
    if (load->rows && load->rows % UNIT_ROWS == 0)
        nl_stage_begin(load->stage, load->source, load->rows / UNIT_ROWS);
    nl_stage_node(load->stage, node);
    load->rows++;
}

/* ---- Profile: [{"count": 11}, {"name", "timeMs", "averageMs", "medianMs", "percentage"}, ...] ---- */

struct profile_row {
    struct nl_node_row node;
    int64_t count; /* in place of a layer */
};

static void read_profile_member(struct trt_load *load, struct profile_row *row)
{
    struct jsonpull *json = load->json;
    double share;
    if (nl_str_is(json->text, "name")) {
        if (jsonpull_next(json) == JSONPULL_STRING)
            row->node.name = nl_stage_name(load->stage, json->text);
    } else if (nl_str_is(json->text, "timeMs")) {
        jsonpull_next(json);
        jsonpull_ns(json, 6, &row->node.total_ns);
    } else if (nl_str_is(json->text, "averageMs")) {
        jsonpull_next(json);
        jsonpull_ns(json, 6, &row->node.mean_ns);
    } else if (nl_str_is(json->text, "medianMs")) {
        jsonpull_next(json);
        jsonpull_ns(json, 6, &row->node.median_ns);
    } else if (nl_str_is(json->text, "percentage")) {
        jsonpull_next(json);
        if (jsonpull_f64(json, &share))
            row->node.share = share / 100;
    } else if (nl_str_is(json->text, "count")) {
        jsonpull_next(json);
        jsonpull_i64(json, &row->count);
    } else {
        trt_keep_member(load, &load->text);
        return;
    }
    jsonpull_skip(json);
}

void trt_read_profile(struct trt_load *load)
{
    struct jsonpull *json = load->json;
    int64_t count = NL_NULL_I64;
    jsonpull_next(json);
    while (trt_item(load, "{ \"name\"") && !trt_stop(load)) {
        struct profile_row row = {.node = new_node(load), .count = NL_NULL_I64};
        nl_buf_clear(&load->text);
        if (json->type == JSONPULL_OBJECT)
            while (jsonpull_member(json))
                read_profile_member(load, &row);
        else
            jsonpull_skip(json);
        if (json->problem)
            continue;
        if (row.count != NL_NULL_I64)
            count = row.count;
        if (!row.node.name)
            continue;
        row.node.count = count;
        row.node.detail = trt_members_name(load, &load->text);
        stage_node(load, &row.node);
    }
    if (load->rows)
        nl_builder_coverage(load->builder, load->source, "layer times are sums",
                            (int64_t)load->rows,
                            "no timeline: table nodes holds them; profiling slows an engine down");
}

/* ---- Layer info: {"Layers": ["name", ...] or [{"Name", "LayerType", ...}], "Bindings": [...]} ---- */

struct layer {
    struct nl_node_row node;
    struct nl_buf *shapes, *types; /* of the tensors being read */
    uint32_t weights, input;       /* names of element types */
    int64_t weight_bytes;          /* NL_NULL_I64 unknown */
    bool weights_unknown;
    uint32_t tactic_value;
};

/* Words in "Format/Datatype", which is prose: the first of them that occurs is the type, so that a
 * word stands before those that are part of it. */
static const struct {
    const char *word, *type;
} types[] = {{"UINT8", "UINT8"}, {"FP32", "FP32"},   {"FP16", "FP16"},   {"BF16", "BF16"},
             {"Int8", "INT8"},   {"INT8", "INT8"},   {"FP8", "FP8"},     {"FP4", "FP4"},
             {"INT4", "INT4"},   {"Int4", "INT4"},   {"INT64", "INT64"}, {"Int64", "INT64"},
             {"INT32", "INT32"}, {"Int32", "INT32"}, {"BOOL", "BOOL"},   {"Bool", "BOOL"},
             {"Half", "FP16"},   {"Float", "FP32"}};

static const char *type_in(struct nl_str text)
{
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (nl_str_contains(text, types[i].word))
            return types[i].type;
    return NULL;
}

static int64_t bits_of(const char *type)
{
    static const struct {
        const char *type;
        int64_t bits;
    } sizes[] = {{"FP32", 32}, {"FP16", 16},  {"BF16", 16},  {"INT8", 8},  {"FP8", 8}, {"FP4", 4},
                 {"INT4", 4},  {"INT64", 64}, {"INT32", 32}, {"UINT8", 8}, {"BOOL", 8}};
    for (size_t i = 0; type && i < sizeof sizes / sizeof sizes[0]; i++)
        if (strcmp(type, sizes[i].type) == 0)
            return sizes[i].bits;
    return 0;
}

/* The rest of an array of numbers, without spaces. */
static void add_dimensions(struct trt_load *load, struct nl_buf *shapes)
{
    const char *comma = "[";
    bool any = false;
    while (jsonpull_item(load->json)) {
        nl_buf_format(shapes, "%s%.*s", comma, (int)load->json->text.len, load->json->text.ptr);
        jsonpull_skip(load->json);
        comma = ",";
        any = true;
    }
    nl_buf_text(shapes, any ? "]" : "[]");
}

/* A tensor of Inputs or Outputs: {"Name", "Location", "Dimensions": [..], "Format/Datatype"}. */
static void read_tensor(struct trt_load *load, struct layer *layer, bool input)
{
    struct jsonpull *json = load->json;
    bool dimensions = false, format = false;
    if (layer->shapes->len > 1) {
        nl_buf_char(layer->shapes, ',');
        nl_buf_char(layer->types, ',');
    }
    while (jsonpull_member(json)) {
        if (nl_str_is(json->text, "Dimensions") && !dimensions) {
            dimensions = jsonpull_next(json) == JSONPULL_ARRAY;
            if (dimensions)
                add_dimensions(load, layer->shapes);
            jsonpull_skip(json);
        } else if (nl_str_is(json->text, "Format/Datatype") && !format) {
            format = jsonpull_next(json) == JSONPULL_STRING;
            struct nl_json out;
            nl_json_to_buf(&out, layer->types, 0);
            if (format)
                nl_json_str(&out, json->text);
            const char *type = format ? type_in(json->text) : NULL;
            if (input && type && !layer->input)
                layer->input = nl_builder_name(load->builder, nl_str(type));
            jsonpull_skip(json);
        } else {
            jsonpull_skip(json);
        }
    }
    if (!dimensions)
        nl_buf_text(layer->shapes, "null");
    if (!format)
        nl_buf_text(layer->types, "null");
}

static void read_tensors(struct trt_load *load, struct layer *layer, bool input)
{
    struct jsonpull *json = load->json;
    if (jsonpull_next(json) != JSONPULL_ARRAY) {
        jsonpull_skip(json);
        return;
    }
    nl_buf_clear(layer->shapes);
    nl_buf_clear(layer->types);
    nl_buf_char(layer->shapes, '[');
    nl_buf_char(layer->types, '[');
    while (jsonpull_item(json))
        if (json->type == JSONPULL_OBJECT)
            read_tensor(load, layer, input);
        else
            jsonpull_skip(json);
    nl_buf_char(layer->shapes, ']');
    nl_buf_char(layer->types, ']');
    if (json->problem || layer->shapes->overflow || layer->types->overflow)
        return;
    struct nl_node_row *node = &layer->node;
    uint32_t shapes =
        nl_stage_name(load->stage, (struct nl_str){layer->shapes->ptr, layer->shapes->len});
    uint32_t kinds =
        nl_stage_name(load->stage, (struct nl_str){layer->types->ptr, layer->types->len});
    *(input ? &node->input_shapes : &node->output_shapes) = shapes;
    *(input ? &node->input_types : &node->output_types) = kinds;
}

/* Weights or Bias: {"Type": "Half", "Count": 9408}. */
static void read_weights(struct trt_load *load, struct layer *layer, bool bias)
{
    struct jsonpull *json = load->json;
    const char *type = NULL;
    int64_t count = -1, bits;
    if (jsonpull_next(json) != JSONPULL_OBJECT) {
        jsonpull_skip(json);
        return;
    }
    while (jsonpull_member(json)) {
        bool is_type = nl_str_is(json->text, "Type"), is_count = nl_str_is(json->text, "Count");
        jsonpull_next(json);
        if (is_type && json->type == JSONPULL_STRING)
            type = type_in(json->text);
        else if (is_count)
            jsonpull_i64(json, &count);
        jsonpull_skip(json);
    }
    if (type && !bias)
        layer->weights = nl_builder_name(load->builder, nl_str(type));
    if (!type || count < 0 || __builtin_mul_overflow(count, bits_of(type), &bits) ||
        __builtin_add_overflow(layer->weight_bytes, bits / 8, &layer->weight_bytes))
        layer->weights_unknown = count != 0;
}

static void read_layer_member(struct trt_load *load, struct layer *layer)
{
    struct jsonpull *json = load->json;
    struct nl_str key = json->text;
    uint32_t *name = nl_str_is(key, "Name")          ? &layer->node.name
                     : nl_str_is(key, "LayerType")   ? &layer->node.type
                     : nl_str_is(key, "TacticName")  ? &layer->node.tactic
                     : nl_str_is(key, "TacticValue") ? &layer->tactic_value
                                                     : NULL;
    if (name) {
        if (jsonpull_next(json) == JSONPULL_STRING && json->text.len)
            *name = nl_stage_name(load->stage, json->text);
        jsonpull_skip(json);
    } else if (nl_str_is(key, "Inputs") || nl_str_is(key, "Outputs")) {
        read_tensors(load, layer, *key.ptr == 'I');
    } else if (nl_str_is(key, "Weights") || nl_str_is(key, "Bias")) {
        layer->weight_bytes = layer->weight_bytes == NL_NULL_I64 ? 0 : layer->weight_bytes;
        read_weights(load, layer, *key.ptr == 'B');
    } else {
        trt_keep_member(load, &load->text);
    }
}

static void read_layer(struct trt_load *load, struct nl_buf *shapes, struct nl_buf *kinds)
{
    struct jsonpull *json = load->json;
    struct layer layer = {
        .node = new_node(load), .shapes = shapes, .types = kinds, .weight_bytes = NL_NULL_I64};
    nl_buf_clear(&load->text);
    if (json->type == JSONPULL_OBJECT)
        while (jsonpull_member(json))
            read_layer_member(load, &layer);
    else if (json->type == JSONPULL_STRING)
        layer.node.name = nl_stage_name(load->stage, json->text);
    else
        jsonpull_skip(json);
    if (json->problem || !layer.node.name)
        return;
    layer.node.precision = layer.weights ? layer.weights : layer.input;
    if (!layer.node.tactic)
        layer.node.tactic = layer.tactic_value;
    if (layer.weight_bytes != NL_NULL_I64 && !layer.weights_unknown)
        layer.node.parameter_bytes = (uint64_t)layer.weight_bytes;
    layer.node.detail = trt_members_name(load, &load->text);
    stage_node(load, &layer.node);
}

static void read_bindings(struct trt_load *load)
{
    struct nl_str raw;
    if (jsonpull_raw(load->json, &raw))
        nl_builder_meta(load->builder, load->source, "bindings", raw);
}

void trt_read_layers(struct trt_load *load)
{
    struct jsonpull *json = load->json;
    struct nl_buf shapes, kinds;
    nl_buf_init(&shapes, 1 << 20);
    nl_buf_init(&kinds, 1 << 20);
    jsonpull_next(json);
    while (jsonpull_member(json) && !trt_stop(load)) {
        if (nl_str_is(json->text, "Layers") && jsonpull_next(json) == JSONPULL_ARRAY)
            while (jsonpull_item(json) && !trt_stop(load))
                read_layer(load, &shapes, &kinds);
        else if (json->type == JSONPULL_KEY && nl_str_is(json->text, "Bindings"))
            read_bindings(load);
        else
            jsonpull_skip(json);
    }
    nl_buf_release(&shapes);
    nl_buf_release(&kinds);
}
