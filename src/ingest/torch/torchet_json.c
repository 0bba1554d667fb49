/*
 * Execution traces as JSON: flat nodes (schema 1.0.1), nodes with inputs, outputs and attributes
 * (1.0.2 and later), and the graph of Chakra's JSON converters.
 */
#include <string.h>

#include "base/units.h"
#include "base/utf8.h"
#include "parse/jsonpull.h"
#include "ingest/torch/torchet.h"

struct reading {
    struct torchet *et;
    struct jsonpull json;
};

/* The value of the member read last, as it stands. */
static struct nl_str raw(struct reading *r)
{
    struct nl_str text = {"", 0};
    if (!jsonpull_raw(&r->json, &text))
        return (struct nl_str){"", 0};
    return text;
}

static int64_t whole(struct reading *r)
{
    int64_t value;
    return nl_parse_i64(raw(r), &value) ? value : NL_NULL_I64;
}

/* A copy of the key: its text goes with the next read. */
static struct nl_str copy_key(const struct reading *r, char room[64])
{
    size_t len = nl_utf8_cut(r->json.text.ptr, r->json.text.len, 63);
    if (len)
        memcpy(room, r->json.text.ptr, len);
    return (struct nl_str){room, len};
}

static uint32_t string_name(struct reading *r)
{
    return jsonpull_next(&r->json) == JSONPULL_STRING ? torchet_text(r->et, r->json.text)
                                                      : NL_NO_NAME;
}

/* Values of inputs or outputs: an array of them, or {values, shapes, types, strides}. */
static void read_side(struct reading *r, bool input)
{
    struct torchet *et = r->et;
    struct nl_node_row *node = &et->node;
    struct nl_str side = nl_str(input ? "inputs" : "outputs");
    enum jsonpull_type type = jsonpull_next(&r->json);
    if (type != JSONPULL_OBJECT) {
        torchet_fact(et, side, raw(r), false);
        return;
    }
    while (jsonpull_member(&r->json)) {
        char room[64];
        struct nl_str key = copy_key(r, room), value = raw(r);
        if (nl_str_is(key, "shapes"))
            *(input ? &node->input_shapes : &node->output_shapes) = torchet_text(et, value);
        else if (nl_str_is(key, "types"))
            *(input ? &node->input_types : &node->output_types) = torchet_text(et, value);
        else if (nl_str_is(key, "values"))
            torchet_fact(et, side, value, false);
        else if (nl_str_is(key, "strides"))
            torchet_fact(et, nl_str(input ? "input_strides" : "output_strides"), value, false);
        else
            et->others++;
    }
}

/* attrs: [{"name": …, "type": …, "value": …}, …]; the name stands before the value in all files. */
static void read_attributes(struct reading *r)
{
    if (jsonpull_next(&r->json) != JSONPULL_ARRAY) {
        jsonpull_skip(&r->json);
        return;
    }
    while (jsonpull_item(&r->json)) {
        char name_room[64], room[64];
        struct nl_str name = {"", 0};
        if (r->json.type != JSONPULL_OBJECT) {
            jsonpull_skip(&r->json);
            continue;
        }
        while (jsonpull_member(&r->json)) {
            struct nl_str key = copy_key(r, room);
            if (nl_str_is(key, "name") && jsonpull_next(&r->json) == JSONPULL_STRING)
                name = copy_key(r, name_room);
            else if (nl_str_is(key, "value"))
                torchet_fact(r->et, name, raw(r), false);
            else
                jsonpull_skip(&r->json);
        }
    }
}

static const char *const chakra_types[] = {NULL,   "METADATA",  "MEM_LOAD",  "MEM_STORE",
                                           "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL"};

static void read_node_number(struct reading *r, char column)
{
    struct nl_node_row *node = &r->et->node;
    int64_t value = whole(r);
    if (column == 'i') {
        node->index = value;
    } else if (column == 'p') {
        node->parent = value;
    } else if (column == 't') {
        if (value > 0 && value < (int64_t)(sizeof chakra_types / sizeof chakra_types[0]))
            node->type = nl_stage_name(r->et->stage, nl_str(chakra_types[value]));
    } else if (value >= 0 && value < INT64_MAX / 1000) {
        node->total_ns = value * 1000;
        node->count = 1;
    }
}

/* Members that are columns. False for others. */
static bool read_column(struct reading *r, struct nl_str key)
{
    static const struct {
        const char *key;
        char column;
    } numbers[] = {{"id", 'i'}, {"Id", 'i'}, {"parent", 'p'}, {"NodeType", 't'}, {"runtime", 'd'}};
    const struct {
        const char *key;
        uint32_t *name;
    } texts[] = {{"input_shapes", &r->et->node.input_shapes},
                 {"input_types", &r->et->node.input_types},
                 {"output_shapes", &r->et->node.output_shapes},
                 {"output_types", &r->et->node.output_types}};
    if (nl_str_is(key, "name") || nl_str_is(key, "Name")) {
        r->et->node.name = string_name(r);
        return true;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (nl_str_is(key, numbers[i].key)) {
            read_node_number(r, numbers[i].column);
            return true;
        }
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (nl_str_is(key, texts[i].key)) {
            *texts[i].name = torchet_text(r->et, raw(r));
            return true;
        }
    return false;
}

static void read_node(struct reading *r)
{
    torchet_begin(r->et);
    while (jsonpull_member(&r->json)) {
        char room[64];
        struct nl_str key = copy_key(r, room);
        if (read_column(r, key))
            continue;
        if (nl_str_is(key, "inputs")) {
            read_side(r, true);
        } else if (nl_str_is(key, "outputs")) {
            read_side(r, false);
        } else if (nl_str_is(key, "attrs")) {
            read_attributes(r);
        } else if (nl_str_is(key, "ctrl_deps") || nl_str_is(key, "ctrlDeps")) {
            struct nl_str value = raw(r); /* a number is the caller */
            if (!nl_parse_i64(value, &r->et->node.parent))
                torchet_fact(r->et, nl_str("ctrl_deps"), value, false);
        } else {
            torchet_fact(r->et, key, raw(r), false);
        }
    }
    if (!r->json.problem)
        torchet_keep(r->et);
}

static bool read_nodes(struct reading *r, struct nl_err *err)
{
    if (jsonpull_next(&r->json) != JSONPULL_ARRAY) {
        jsonpull_skip(&r->json);
        return true;
    }
    while (jsonpull_item(&r->json)) {
        if (r->json.type == JSONPULL_OBJECT)
            read_node(r);
        else
            jsonpull_skip(&r->json);
        if (nl_builder_over_budget(r->et->builder))
            return true;
        if (r->et->nodes % 4096 == 0 && nl_job_cancelled(r->et->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
    }
    return true;
}

bool torchet_json(struct torchet *et, const void *bytes, size_t len, struct nl_err *err)
{
    struct reading r = {.et = et};
    bool done = true;
    jsonpull_memory(&r.json, bytes, len, 0);
    if (jsonpull_next(&r.json) == JSONPULL_OBJECT) {
        while (done && jsonpull_member(&r.json)) {
            char room[64];
            struct nl_str key = copy_key(&r, room);
            if (nl_str_is(key, "nodes") || nl_str_is(key, "workload_graph")) {
                done = read_nodes(&r, err);
                continue;
            }
            enum jsonpull_type type = jsonpull_next(&r.json);
            if (type == JSONPULL_STRING || type == JSONPULL_NUMBER)
                torchet_global(et, key, r.json.text);
            else
                jsonpull_skip(&r.json);
        }
    }
    if (r.json.cut)
        et->cut++;
    else if (r.json.problem)
        et->damaged++;
    jsonpull_release(&r.json);
    return done;
}
