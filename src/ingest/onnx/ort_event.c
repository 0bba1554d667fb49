/*
 * One event of an ONNX Runtime profile. Members may stand in any order, those of "args" do in every
 * release; numbers in them are text. What has no column is kept as text in table args.
 */
#include "ingest/onnx/ort_event.h"

#define MAX_REST 4096 /* bytes of other arguments kept of an event */

static const struct {
    const char *key;
    size_t len;
    enum ort_number number;
} number_keys[] = {
#define KEY(text, number)                                                                          \
    {                                                                                              \
        text, sizeof(text) - 1, number                                                             \
    }
    KEY("parameter_size", ORT_PARAMETER_SIZE),
    KEY("activation_size", ORT_ACTIVATION_SIZE),
    KEY("output_size", ORT_OUTPUT_SIZE),
    KEY("node_index", ORT_NODE_INDEX),
    KEY("exec_plan_index", ORT_NODE_INDEX), /* before 1.12 */
    KEY("stream", ORT_STREAM),
    KEY("grid_x", ORT_GRID_X),
    KEY("grid_y", ORT_GRID_Y),
    KEY("grid_z", ORT_GRID_Z),
    KEY("block_x", ORT_BLOCK_X),
    KEY("block_y", ORT_BLOCK_Y),
    KEY("block_z", ORT_BLOCK_Z),
#undef KEY
};

const struct ort_counter ort_counters[ORT_COUNTERS] = {
    {"mem_bytes_in_use", "memory in use"},
    {"mem_bytes_requested_in_use", "memory in use, as requested"},
    {"mem_in_use_peak", "memory in use, peak"},
    {"mem_arena_held", "memory held by the arena"},
};

static void clear_event(struct ort_event *event)
{
    struct nl_buf rest = event->rest;
    *event = (struct ort_event){.pid = NL_NULL_I64,
                                .tid = NL_NULL_I64,
                                .ts = NL_NULL_I64,
                                .dur = NL_NULL_I64,
                                .phase = 'X',
                                .rest = rest};
    for (size_t i = 0; i < ORT_NUMBERS; i++)
        event->number[i] = NL_NULL_I64;
    for (size_t i = 0; i < ORT_COUNTERS; i++)
        event->counter[i] = NL_NULL_I64;
    nl_buf_clear(&event->rest);
}

/* ---- Shapes: [{"float":[1,16,28,28]},{"int64":[]}] ---- */

static void add_dimensions(struct ort_load *load)
{
    struct jsonpull *json = load->json;
    size_t before = load->shapes.len;
    nl_buf_char(&load->shapes, '[');
    while (jsonpull_item(json)) {
        if (load->shapes.len > before + 1)
            nl_buf_char(&load->shapes, ',');
        nl_buf_add(&load->shapes, json->text.ptr, json->text.len);
        jsonpull_skip(json);
    }
    nl_buf_char(&load->shapes, ']');
}

/* A tensor: its type and dimensions; null for what is none. */
static void add_tensor(struct ort_load *load)
{
    struct jsonpull *json = load->json;
    if (load->types.len > 1) {
        nl_buf_char(&load->types, ',');
        nl_buf_char(&load->shapes, ',');
    }
    bool told = false;
    if (json->type == JSONPULL_OBJECT) {
        while (jsonpull_member(json)) {
            if (!told)
                nl_buf_format(&load->types, "\"%.*s\"", (int)json->text.len, json->text.ptr);
            if (!told && jsonpull_next(json) == JSONPULL_ARRAY)
                add_dimensions(load);
            else
                jsonpull_skip(json);
            told = true;
        }
    } else {
        jsonpull_skip(json);
    }
    if (!told) {
        nl_buf_text(&load->types, "null");
        nl_buf_text(&load->shapes, "null");
    }
}

static void read_shapes(struct ort_load *load, enum ort_name shapes, enum ort_name types)
{
    struct jsonpull *json = load->json;
    if (jsonpull_next(json) != JSONPULL_ARRAY) {
        jsonpull_skip(json);
        return;
    }
    nl_buf_clear(&load->shapes);
    nl_buf_clear(&load->types);
    nl_buf_char(&load->shapes, '[');
    nl_buf_char(&load->types, '[');
    while (jsonpull_item(json))
        add_tensor(load);
    nl_buf_char(&load->shapes, ']');
    nl_buf_char(&load->types, ']');
    if (json->problem || load->shapes.overflow || load->types.overflow)
        return;
    load->event.names[shapes] =
        nl_stage_name(load->stage, (struct nl_str){load->shapes.ptr, load->shapes.len});
    load->event.names[types] =
        nl_stage_name(load->stage, (struct nl_str){load->types.ptr, load->types.len});
}

/* ---- Arguments ---- */

static bool is_key(struct nl_str key, const char *text, size_t len)
{
    return key.len == len && memcmp(key.ptr, text, len) == 0;
}

#define IS(key, text) is_key(key, text, sizeof(text) - 1)

/* Where the number of an argument goes; NULL when it is none of those. */
static int64_t *number_place(struct ort_event *event, struct nl_str key)
{
    for (size_t i = 0; i < sizeof number_keys / sizeof number_keys[0]; i++)
        if (is_key(key, number_keys[i].key, number_keys[i].len))
            return &event->number[number_keys[i].number];
    for (size_t i = 0; i < ORT_COUNTERS; i++)
        if (nl_str_is(key, ort_counters[i].key))
            return &event->counter[i];
    return NULL;
}

/* Keeps a member that has no column: ,"key":value */
static void keep_rest(struct ort_load *load)
{
    struct nl_buf *rest = &load->event.rest;
    struct nl_str raw;
    size_t before = rest->len;
    if (before)
        nl_buf_char(rest, ',');
    nl_buf_format(rest, "\"%.*s\":", (int)load->json->text.len, load->json->text.ptr);
    if (!jsonpull_raw(load->json, &raw))
        return;
    bool empty = nl_str_is(raw, "\"\"");
    if (!empty && raw.len < MAX_REST)
        nl_buf_add(rest, raw.ptr, raw.len);
    bool kept = !empty && raw.len < MAX_REST && !rest->overflow && rest->len < MAX_REST;
    if (!kept && !empty)
        ort_odd(load, ORT_ODD_ARGS_CUT);
    if (!kept)
        rest->len = before;
    rest->overflow = false;
}

/* Lists the provider, once. */
static void note_provider(struct ort_load *load, struct nl_str text, uint32_t name)
{
    size_t most = sizeof load->providers / sizeof load->providers[0], i = 0;
    while (i < most && load->providers[i] && load->providers[i] != name)
        i++;
    if (i == most || load->providers[i])
        return;
    load->providers[i] = name;
    nl_buf_format(&load->provider_list, "%s%.*s", i ? ", " : "", (int)text.len, text.ptr);
}

static void read_word_argument(struct ort_load *load, enum ort_name name)
{
    struct jsonpull *json = load->json;
    if (jsonpull_next(json) == JSONPULL_STRING && json->text.len) {
        load->event.names[name] = nl_stage_name(load->stage, json->text);
        if (name == ORT_PROVIDER)
            note_provider(load, json->text, load->event.names[name]);
    }
    jsonpull_skip(json);
}

static void read_argument(struct ort_load *load)
{
    struct jsonpull *json = load->json;
    struct ort_event *event = &load->event;
    int64_t *place = number_place(event, json->text);
    if (place) {
        jsonpull_next(json);
        jsonpull_i64(json, place);
        jsonpull_skip(json);
    } else if (IS(json->text, "input_type_shape")) {
        read_shapes(load, ORT_INPUT_SHAPES, ORT_INPUT_TYPES);
    } else if (IS(json->text, "output_type_shape")) {
        read_shapes(load, ORT_OUTPUT_SHAPES, ORT_OUTPUT_TYPES);
    } else if (IS(json->text, "op_name") || IS(json->text, "provider")) {
        read_word_argument(load, *json->text.ptr == 'o' ? ORT_OP_NAME : ORT_PROVIDER);
    } else if (IS(json->text, "parent_name")) {
        if (jsonpull_next(json) == JSONPULL_STRING)
            event->parent = nl_hash(json->text.ptr, json->text.len);
        jsonpull_skip(json);
    } else {
        keep_rest(load);
    }
}

static void read_arguments(struct ort_load *load)
{
    if (jsonpull_next(load->json) == JSONPULL_OBJECT)
        while (jsonpull_member(load->json))
            read_argument(load);
    else
        jsonpull_skip(load->json);
}

/* ---- Members ---- */

static bool cut_suffix(struct nl_str *text, const char *suffix)
{
    size_t len = strlen(suffix);
    if (text->len < len || memcmp(text->ptr + text->len - len, suffix, len) != 0)
        return false;
    text->len -= len;
    return true;
}

static void read_name(struct ort_load *load)
{
    struct ort_event *event = &load->event;
    if (jsonpull_next(load->json) != JSONPULL_STRING) {
        jsonpull_skip(load->json);
        return;
    }
    struct nl_str text = load->json->text;
    event->full = nl_hash(text.ptr, text.len);
    size_t len = text.len < sizeof event->copy ? text.len : sizeof event->copy - 1;
    memcpy(event->copy, text.ptr, len);
    event->copy[len] = '\0';
    struct nl_str whole = text;
    event->fence = cut_suffix(&whole, "_fence_before") || cut_suffix(&whole, "_fence_after");
    event->node = cut_suffix(&text, "_kernel_time");
    event->name = text.len ? nl_stage_name(load->stage, text) : NL_NO_NAME;
}

/* A number of µs, exact. */
static void read_time(struct ort_load *load, int64_t *ns)
{
    if (jsonpull_next(load->json) == JSONPULL_NULL)
        return;
    if (!jsonpull_ns(load->json, 3, ns))
        load->event.time_is_odd = true;
    jsonpull_skip(load->json);
}

static void read_number(struct ort_load *load, int64_t *number)
{
    jsonpull_next(load->json);
    jsonpull_i64(load->json, number);
    jsonpull_skip(load->json);
}

/* A short word: the category, the phase. */
static void read_word(struct ort_load *load, char *word, size_t room)
{
    if (jsonpull_next(load->json) == JSONPULL_STRING) {
        size_t len = load->json->text.len < room ? load->json->text.len : room - 1;
        memcpy(word, load->json->text.ptr, len);
        word[len] = '\0';
    } else {
        jsonpull_skip(load->json);
    }
}

bool ort_read_event(struct ort_load *load)
{
    struct ort_event *event = &load->event;
    struct jsonpull *json = load->json;
    char phase[2] = "X";
    clear_event(event);
    while (jsonpull_member(json)) {
        if (IS(json->text, "cat"))
            read_word(load, event->cat, sizeof event->cat);
        else if (IS(json->text, "ph"))
            read_word(load, phase, sizeof phase);
        else if (IS(json->text, "pid"))
            read_number(load, &event->pid);
        else if (IS(json->text, "tid"))
            read_number(load, &event->tid);
        else if (IS(json->text, "ts"))
            read_time(load, &event->ts);
        else if (IS(json->text, "dur"))
            read_time(load, &event->dur);
        else if (IS(json->text, "name"))
            read_name(load);
        else if (IS(json->text, "args"))
            read_arguments(load);
        else
            keep_rest(load);
    }
    event->phase = phase[0];
    return !json->problem;
}
