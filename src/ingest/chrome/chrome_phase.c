/*
 * Events by their phase: complete ones are staged at once. Halves (begins, ends, flows) wait for
 * chrome_pair.c, names of processes and threads for chrome_report.c, because their other parts may
 * be in blocks that another thread reads.
 */
#include "ingest/chrome/chrome_rows.h"
#include "ingest/chrome/chrome_value.h"

typedef void phase_fn(struct chrome_worker *worker);

/* Names and arguments of halves get ids that hold in every stage: the first
 * worker stages them all. */
static struct chrome_half *add_half(struct chrome_worker *worker, struct chrome_halves *halves,
                                    int64_t ts, uint32_t lane)
{
    const struct chrome_event *event = &worker->event;
    nl_grow(&halves->items, &halves->cap, halves->count + 1);
    struct chrome_half *half = &halves->items[halves->count++];
    *half = (struct chrome_half){.ts = ts,
                                 .order = chrome_event_order(worker),
                                 .lane = lane,
                                 .phase = (uint8_t)*event->field[CHROME_F_PH].ptr};
    if (chrome_has(event, CHROME_F_NAME) && event->field[CHROME_F_NAME].type != CHROME_NULL)
        half->name = chrome_names_id(&worker->shared, chrome_text(&event->field[CHROME_F_NAME]),
                                     event->field[CHROME_F_NAME].type == CHROME_STRING);
    if (event->seen & CHROME_STACK_FIELDS)
        half->stack = chrome_stack_of_event(worker);
    return half;
}

void chrome_set_aside(struct chrome_worker *worker, enum nl_kind kind, uint32_t lane, int64_t ts,
                      int64_t dur)
{
    struct chrome_half *half = add_half(worker, &worker->spans, ts, lane);
    half->phase = 'X';
    half->kind = (uint8_t)kind;
    half->dur = dur;
    half->args = chrome_args_text(worker, &worker->shared);
}

static uint32_t category_id(struct chrome_worker *worker)
{
    const struct chrome_value *cat = &worker->event.field[CHROME_F_CAT];
    if (!chrome_has(&worker->event, CHROME_F_CAT) || cat->type != CHROME_STRING)
        return 0;
    return chrome_names_id(&worker->shared, chrome_text(cat), true);
}

/* "id" (a number, decimal or hex text, any text) or "id2" {"local"|"global": …}; local ones hold
 * within their process only. */
bool chrome_event_id(struct chrome_worker *worker, uint64_t *id)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *value = NULL;
    struct chrome_value inner;
    struct nl_str key;
    uint64_t salt = 0;
    if (chrome_has(event, CHROME_F_ID)) {
        value = &event->field[CHROME_F_ID];
    } else if (chrome_has(event, CHROME_F_ID2)) {
        const struct chrome_value *id2 = &event->field[CHROME_F_ID2];
        const char *p = id2->ptr;
        if (id2->type == CHROME_OBJECT && chrome_member(&p, id2->ptr + id2->len, &key, &inner)) {
            value = &inner;
            int64_t pid = chrome_actor(event, CHROME_F_PID).number;
            if (nl_str_is(key, "local"))
                salt = nl_hash(&pid, sizeof pid);
        }
    }
    int64_t number = 0;
    if (!value)
        return false;
    if (!chrome_integer(value, &number))
        number = (int64_t)nl_hash(value->ptr, value->len);
    *id = (uint64_t)number ^ salt;
    return true;
}

static void take_begin_end(struct chrome_worker *worker)
{
    int64_t ts;
    if (!chrome_event_time(worker, &ts))
        return;
    struct chrome_half *half =
        add_half(worker, &worker->spans, ts, chrome_thread_lane(worker, NL_LANE_THREAD, 0));
    half->args = chrome_args_text(worker, &worker->shared);
}

/* The same id in another scope is another id. */
static uint64_t scoped_id(const struct chrome_event *event, uint64_t id)
{
    struct nl_str scope = chrome_field_text(event, CHROME_F_SCOPE);
    return chrome_has(event, CHROME_F_SCOPE) ? id ^ nl_hash(scope.ptr, scope.len) << 1 : id;
}

static void take_async(struct chrome_worker *worker)
{
    int64_t ts;
    uint64_t id = 0;
    if (!chrome_event_time(worker, &ts))
        return;
    chrome_event_id(worker, &id);
    uint32_t cat = category_id(worker);
    struct chrome_half *half =
        add_half(worker, &worker->asyncs, ts, chrome_process_lane(worker, NL_LANE_ASYNC, cat));
    half->cat = cat;
    half->id = scoped_id(&worker->event, id);
    half->args = chrome_args_text(worker, &worker->shared);
}

/* Objects: created (N), described (O), deleted (D). Halves like async ones, on separate lanes.
 * Their ids hold within their process, whatever they look like. */
static void take_object(struct chrome_worker *worker)
{
    static const char padded[] = "        objects        "; /* as chrome_names_id wants it */
    const struct nl_str objects = {padded + 8, 7};
    int64_t ts, pid = chrome_actor(&worker->event, CHROME_F_PID).number;
    uint64_t id;
    if (!chrome_event_time(worker, &ts))
        return;
    if (!chrome_event_id(worker, &id)) {
        chrome_note(worker, CHROME_NOTE_NO_OBJECT_ID);
        return;
    }
    uint32_t domain = chrome_names_id(&worker->shared, objects, false);
    struct chrome_half *half =
        add_half(worker, &worker->asyncs, ts, chrome_process_lane(worker, NL_LANE_ASYNC, domain));
    half->cat = category_id(worker);
    half->id = scoped_id(&worker->event, id) ^ nl_hash(&pid, sizeof pid) * 3;
    half->args = chrome_args_text(worker, &worker->shared);
}

/* Flows. Those that only repeat the correlation ids are counted, not kept. */
static void take_flow(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    struct nl_str cat = chrome_field_text(event, CHROME_F_CAT);
    struct nl_str name = chrome_field_text(event, CHROME_F_NAME);
    if (nl_str_is(cat, "ac2g") || (nl_str_is(cat, "async") && nl_str_is(name, "launch"))) {
        chrome_note(worker, CHROME_NOTE_LAUNCH_FLOWS);
        return;
    }
    int64_t ts;
    uint64_t id;
    if (!chrome_event_time(worker, &ts))
        return;
    if (!chrome_event_id(worker, &id)) {
        chrome_note(worker, CHROME_NOTE_LONE_FLOW);
        return;
    }
    struct chrome_half *half = add_half(worker, &worker->flows, ts, NL_NULL_ROW);
    nl_grow(&worker->flow_ends, &worker->flow_end_cap, worker->flows.count);
    worker->flow_ends[worker->flows.count - 1] = (struct chrome_flow_end){
        chrome_actor(event, CHROME_F_PID).number, chrome_actor(event, CHROME_F_TID).number};
    half->cat = category_id(worker);
    half->id = id;
    bool launch = worker->load->rpd.on && nl_str_is(cat, "api_op");
    half->kind = launch                     ? NL_FLOW_LAUNCH
                 : nl_str_is(cat, "fwdbwd") ? NL_FLOW_FORWARD_BACKWARD
                                            : NL_FLOW_GENERIC;
}

static void take_memory(struct chrome_worker *worker, int64_t ts)
{
    struct nl_memory_row row = nl_memory_row();
    row.ts = ts;
    row.lane = chrome_thread_lane(worker, NL_LANE_THREAD, 0);
    row.address = chrome_arg_unsigned(worker, CHROME_ARG_ADDRESS);
    row.bytes = chrome_arg_integer(worker, CHROME_ARG_MEMORY_BYTES);
    row.device_type = chrome_arg_integer(worker, CHROME_ARG_DEVICE_TYPE);
    row.device = chrome_arg_integer(worker, CHROME_ARG_DEVICE_ID);
    row.total_allocated = chrome_arg_unsigned(worker, CHROME_ARG_ALLOCATED);
    row.total_reserved = chrome_arg_unsigned(worker, CHROME_ARG_RESERVED);
    nl_stage_memory(worker->stage, &row);
}

static void take_instant(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    int64_t ts;
    if (!chrome_event_time(worker, &ts))
        return;
    if (nl_str_is(chrome_field_text(event, CHROME_F_NAME), "[memory]") &&
        chrome_arg(event, CHROME_ARG_MEMORY_BYTES)) {
        take_memory(worker, ts);
        return;
    }
    if (chrome_take_profile(worker))
        return;
    const struct chrome_value *scope = &event->field[CHROME_F_S];
    bool wide = chrome_has(event, CHROME_F_S) && scope->len == 1 &&
                (*scope->ptr == 'g' || *scope->ptr == 'p');
    uint32_t lane = wide ? chrome_process_lane(worker, NL_LANE_GENERIC, 0)
                         : chrome_thread_lane(worker, NL_LANE_GENERIC, 0);
    if (event->seen & CHROME_STACK_FIELDS) {
        chrome_set_aside(worker, NL_KIND_MARK, lane, ts, 0);
        return;
    }
    struct nl_slice_row row = nl_slice_row();
    row.ts = ts;
    row.dur = 0;
    row.kind = NL_KIND_MARK;
    row.flags = NL_SLICE_INSTANT;
    row.lane = lane;
    row.name = chrome_event_name(worker);
    chrome_keep_args(worker, nl_stage_slice(worker->stage, &row));
}

/* A counter: every argument is a series, named "counter" or "counter: argument". */
static void take_counter(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *args = &event->field[CHROME_F_ARGS];
    struct nl_counter_row row = nl_counter_row();
    if (!chrome_event_time(worker, &row.ts))
        return;
    if (!chrome_has(event, CHROME_F_ARGS) || args->type != CHROME_OBJECT) {
        chrome_note(worker, CHROME_NOTE_BAD_COUNTER);
        return;
    }
    bool of_device = worker->load->rpd.on &&
                     chrome_rpd_is_gpu(worker->load, chrome_actor(event, CHROME_F_PID).number);
    uint32_t lane = of_device ? chrome_device_lane(worker, NL_LANE_DEVICE)
                              : chrome_process_lane(worker, NL_LANE_PROCESS, 0);
    const char *p = args->ptr;
    struct nl_str key;
    struct chrome_value value;
    while (chrome_member(&p, args->ptr + args->len, &key, &value)) {
        if (!chrome_number(&value, &row.value)) {
            chrome_note(worker, CHROME_NOTE_BAD_COUNTER);
            continue;
        }
        struct nl_buf *buf = &worker->text;
        nl_buf_clear(buf);
        if (chrome_has(event, CHROME_F_NAME)) {
            const struct chrome_value *name = &event->field[CHROME_F_NAME];
            struct nl_str text = chrome_names_decode(&worker->names, chrome_text(name), true);
            nl_buf_add(buf, text.ptr, text.len);
        }
        if (!nl_str_is(key, "value") && !nl_str_is(key, "")) {
            nl_buf_text(buf, buf->len ? ": " : "");
            struct nl_str text = chrome_names_decode(&worker->names, key, true);
            nl_buf_add(buf, text.ptr, text.len);
        }
        row.series = nl_builder_series(worker->load->builder, lane,
                                       (struct nl_str){buf->ptr, buf->len}, nl_str(""));
        nl_stage_counter(worker->stage, &row);
    }
}

/* Appends a label unless the last one of the same process or thread says the same: some files
 * repeat each a thousand times. */
static void add_label(struct chrome_worker *worker, struct chrome_label label, struct nl_str text)
{
    int64_t place[] = {label.kind, label.pid, label.kind == CHROME_THREAD_NAME ? label.tid : 0};
    uint64_t *slot = &worker->label_hashes[nl_hash(place, sizeof place) % CHROME_LABEL_SLOTS];
    uint64_t hash = nl_hash(place, sizeof place) * 3 ^ nl_hash(text.ptr, text.len);
    if (*slot == hash)
        return;
    *slot = hash;
    label.text = nl_arena_text(&worker->texts, text.ptr, text.len);
    label.len = text.len;
    nl_grow(&worker->labels, &worker->label_cap, worker->label_count + 1);
    worker->labels[worker->label_count++] = label;
}

/* Names of processes and threads; other metadata events are hints for drawing. */
static void take_metadata(struct chrome_worker *worker)
{
    static const struct {
        const char *name;
        enum chrome_label_kind kind;
        enum chrome_arg arg;
    } kinds[] = {{"process_name", CHROME_PROCESS_NAME, CHROME_ARG_NAME},
                 {"process_labels", CHROME_PROCESS_LABEL, CHROME_ARG_LABELS},
                 {"thread_name", CHROME_THREAD_NAME, CHROME_ARG_NAME}};
    const struct chrome_event *event = &worker->event;
    if (!chrome_has(event, CHROME_F_NAME))
        return;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const struct chrome_value *text = chrome_arg(event, kinds[i].arg);
        if (!nl_str_is(chrome_text(&event->field[CHROME_F_NAME]), kinds[i].name) || !text ||
            text->type != CHROME_STRING)
            continue;
        struct nl_str decoded = chrome_names_decode(&worker->names, chrome_text(text), true);
        struct chrome_label label = {.kind = kinds[i].kind,
                                     .pid = chrome_actor(event, CHROME_F_PID).number,
                                     .tid = chrome_actor(event, CHROME_F_TID).number,
                                     .order = chrome_event_order(worker)};
        add_label(worker, label, decoded);
        return;
    }
}

static phase_fn *const phases[128] = {
    ['X'] = chrome_take_complete,
    ['B'] = take_begin_end,
    ['E'] = take_begin_end,
    ['i'] = take_instant,
    ['I'] = take_instant,
    ['R'] = take_instant,
    ['C'] = take_counter,
    ['s'] = take_flow,
    ['t'] = take_flow,
    ['f'] = take_flow,
    ['b'] = take_async,
    ['n'] = take_async,
    ['e'] = take_async,
    ['S'] = take_async,
    ['T'] = take_async,
    ['p'] = take_async,
    ['F'] = take_async,
    ['N'] = take_object,
    ['O'] = take_object,
    ['D'] = take_object,
    ['P'] = chrome_take_sample_event,
    ['M'] = take_metadata,
    ['v'] = chrome_take_memory_dump,
};

void chrome_take_event(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *ph = &event->field[CHROME_F_PH];
    worker->number++;
    if (event->duplicate)
        chrome_note(worker, CHROME_NOTE_DUPLICATE);
    if (event->trailing_comma)
        chrome_note(worker, CHROME_NOTE_TRAILING_COMMA);
    if (!chrome_has(event, CHROME_F_PH) || ph->type != CHROME_STRING || ph->len == 0) {
        if (event->seen || event->args[0]) /* an empty object as first or last item is usual */
            chrome_note(worker, CHROME_NOTE_NO_PHASE);
        return;
    }
    worker->events++;
    unsigned char phase = (unsigned char)*ph->ptr;
    if (ph->len != 1 || phase >= 128) {
        worker->other_phases++;
        return;
    }
    worker->phases[phase]++;
    if (phases[phase])
        phases[phase](worker);
}

bool chrome_phase_loaded(unsigned char phase)
{
    return phase < 128 && phases[phase] != NULL;
}
