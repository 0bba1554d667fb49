/*
 * Kineto's categories, of every era, and what becomes of their events: a table. Events without a
 * known category are generic slices on their thread with their arguments kept as text.
 *
 * "External id" on device work and runtime calls means the operator in old (2020-21) and new
 * (2024-) files, but repeats the correlation id in those between. Which of them a file is
 * shows only when all of it was read, so ids are stored and counted here, and
 * settle_external_ids (chrome.c) decides.
 */
#include "base/utf8.h"
#include "ingest/chrome/chrome_nsys.h"
#include "ingest/chrome/chrome_rows.h"
#include "ingest/chrome/chrome_value.h"

#define STEP_PREFIX   "ProfilerStep#" /* before the step's number */
#define MODULE_PREFIX "nn.Module: "

static chrome_row_fn row_op, row_api, row_python, row_of_process;
static chrome_row_fn row_generic, row_viztracer_call;

const struct chrome_cat chrome_cats[] = {
    {"cpu_op", NL_KIND_OP, NL_LANE_THREAD, row_op, -1},
    {"hpu_op", NL_KIND_OP, NL_LANE_THREAD, row_op, -1},
    {"python_function", NL_KIND_PYTHON, NL_LANE_PYTHON, row_python, -1},
    {"user_annotation", NL_KIND_NVTX, NL_LANE_ANNOTATION, chrome_row_annotation, -1},
    {"cuda_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"cuda_driver", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"hip_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"hip_driver", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"xpu_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"xpu_driver", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"mtia_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"glow_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"privateuse1_runtime", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"privateuse1_driver", NL_KIND_API, NL_LANE_THREAD, row_api, -1},
    {"kernel", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_kernel, -1},
    {"privateuse1_kernel", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_kernel, -1},
    {"gpu_memcpy", NL_KIND_MEMCPY, NL_LANE_STREAM, chrome_row_copy, -1},
    {"privateuse1_memcpy", NL_KIND_MEMCPY, NL_LANE_STREAM, chrome_row_copy, -1},
    {"gpu_memset", NL_KIND_MEMSET, NL_LANE_STREAM, chrome_row_memset, -1},
    {"privateuse1_memset", NL_KIND_MEMSET, NL_LANE_STREAM, chrome_row_memset, -1},
    {"mtia_ccp_events", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_mtia, -1},
    {"mtia_insight", NL_KIND_DEVICE_OTHER, NL_LANE_DEVICE, chrome_row_range, -1},
    {"mtia_workloadd", NL_KIND_DEVICE_OTHER, NL_LANE_DEVICE, chrome_row_range, -1},
    {"cuda_profiler_range", NL_KIND_DEVICE_OTHER, NL_LANE_DEVICE, chrome_row_range, -1},
    {"gpu_pm_counter", NL_KIND_DEVICE_OTHER, NL_LANE_DEVICE, chrome_row_range, -1},
    {"cuda_sync", NL_KIND_SYNC, NL_LANE_SYNC, chrome_row_sync, -1},
    {"cuda_event", NL_KIND_SYNC, NL_LANE_SYNC, chrome_row_sync, -1},
    {"gpu_user_annotation", NL_KIND_GPU_ANNOTATION, NL_LANE_GPU_ANNOTATION, chrome_row_range, -1},
    {"collective_comm", NL_KIND_COLLECTIVE, NL_LANE_THREAD, row_generic, -1},
    {"overhead", NL_KIND_OVERHEAD, NL_LANE_OVERHEAD, row_of_process, -1},
    {"Trace", NL_KIND_MARK, NL_LANE_PROCESS, row_of_process, -1},
    /* VizTracer: function entry to exit. */
    {"FEE", NL_KIND_PYTHON, NL_LANE_PYTHON, row_viztracer_call, CHROME_CAT_NOT_KINETO},
    {"fee", NL_KIND_PYTHON, NL_LANE_PYTHON, row_viztracer_call, CHROME_CAT_NOT_KINETO},
    /* Only where Kineto's arguments are there too: other tools use these words. */
    {"Operator", NL_KIND_OP, NL_LANE_THREAD, row_op, CHROME_ARG_EXTERNAL},
    {"Runtime", NL_KIND_API, NL_LANE_THREAD, row_api, CHROME_ARG_CORRELATION},
    {"Kernel", NL_KIND_KERNEL, NL_LANE_STREAM, chrome_row_kernel, CHROME_ARG_CORRELATION},
    {"Memcpy", NL_KIND_MEMCPY, NL_LANE_STREAM, chrome_row_copy, CHROME_ARG_CORRELATION},
    {"Memset", NL_KIND_MEMSET, NL_LANE_STREAM, chrome_row_memset, CHROME_ARG_CORRELATION},
};
const size_t chrome_cat_count = sizeof chrome_cats / sizeof chrome_cats[0];

static const struct chrome_cat generic = {NULL, NL_KIND_GENERIC, NL_LANE_THREAD, row_generic, -1};

void chrome_cats_init(struct chrome_words *words)
{
    const char *text[CHROME_MAX_WORDS];
    for (size_t i = 0; i < chrome_cat_count; i++)
        text[i] = chrome_cats[i].text;
    chrome_words_init(words, text, chrome_cat_count);
}

const struct chrome_cat *chrome_category(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    if (!chrome_has(event, CHROME_F_CAT))
        return NULL;
    const struct chrome_value *cat = &event->field[CHROME_F_CAT];
    unsigned word = chrome_words_find(&worker->load->cats, cat->ptr, cat->len);
    if (word == CHROME_NO_WORD || cat->type != CHROME_STRING)
        return NULL;
    const struct chrome_cat *known = &chrome_cats[word];
    if (known->needs >= 0 && !chrome_arg(event, (enum chrome_arg)known->needs))
        return NULL;
    return known;
}

bool chrome_event_time(struct chrome_worker *worker, int64_t *ts)
{
    const struct chrome_event *event = &worker->event;
    if (!chrome_has(event, CHROME_F_TS)) {
        chrome_note(worker, CHROME_NOTE_NO_TIME);
        return false;
    }
    const struct chrome_value *value = &event->field[CHROME_F_TS];
    if (value->type == CHROME_STRING)
        chrome_note(worker, CHROME_NOTE_TEXT_NUMBER);
    if (!chrome_time(value, ts) || *ts == NL_NULL_I64) {
        chrome_note(worker,
                    value->type == CHROME_NULL ? CHROME_NOTE_NO_TIME : CHROME_NOTE_BAD_TIME);
        return false;
    }
    if (*ts < worker->first_ts)
        worker->first_ts = *ts;
    return true;
}

uint32_t chrome_event_name(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    if (!chrome_has(event, CHROME_F_NAME))
        return NL_NO_NAME;
    const struct chrome_value *name = &event->field[CHROME_F_NAME];
    if (name->type == CHROME_NULL)
        return NL_NO_NAME;
    return chrome_names_id(&worker->names, chrome_text(name), name->type == CHROME_STRING);
}

uint32_t chrome_args_text(struct chrome_worker *worker, struct chrome_names *names)
{
    const struct chrome_event *event = &worker->event;
    if (!chrome_has(event, CHROME_F_ARGS))
        return NL_NO_NAME;
    struct nl_str text = chrome_text(&event->field[CHROME_F_ARGS]);
    if (text.len <= 2)
        return NL_NO_NAME;
    if (text.len > CHROME_MAX_ARGS) {
        text.len = nl_utf8_cut(text.ptr, text.len, CHROME_MAX_ARGS);
        chrome_note(worker, CHROME_NOTE_ARGS_CUT);
    }
    return chrome_names_id(names, text, false);
}

void chrome_keep_args(struct chrome_worker *worker, uint32_t slice)
{
    struct nl_arg_row row = nl_arg_row();
    row.slice = slice;
    row.text = chrome_args_text(worker, &worker->names);
    if (row.text)
        nl_stage_arg(worker->stage, &row);
}

uint32_t chrome_slice(struct chrome_worker *worker, const struct chrome_cat *cat, uint32_t lane,
                      int64_t ts, int64_t dur)
{
    struct nl_slice_row row = nl_slice_row();
    row.ts = ts;
    row.dur = dur == NL_NULL_I64 ? 0 : dur;
    row.flags = dur == NL_NULL_I64 ? NL_SLICE_CLAMPED : 0;
    row.name = chrome_event_name(worker);
    row.kind = (uint8_t)cat->kind;
    row.lane = lane;
    return nl_stage_slice(worker->stage, &row);
}

/* The event's length; NL_NULL_I64 (noted) when it has none. False when the end is out of range. */
static bool event_length(struct chrome_worker *worker, int64_t ts, int64_t *dur)
{
    const struct chrome_event *event = &worker->event;
    const struct chrome_value *value = &event->field[CHROME_F_DUR];
    int64_t end;
    *dur = NL_NULL_I64;
    if (!chrome_has(event, CHROME_F_DUR) || value->type == CHROME_NULL) {
        chrome_note(worker, CHROME_NOTE_NO_DUR);
        return true;
    }
    if (value->type == CHROME_STRING)
        chrome_note(worker, CHROME_NOTE_TEXT_NUMBER);
    if (!chrome_time(value, dur)) {
        *dur = NL_NULL_I64;
        chrome_note(worker, CHROME_NOTE_BAD_DUR);
    } else if (*dur < 0) {
        *dur = 0;
        chrome_note(worker, CHROME_NOTE_NEGATIVE_DUR);
    } else if (__builtin_add_overflow(ts, *dur, &end)) {
        chrome_note(worker, CHROME_NOTE_BAD_TIME);
        return false;
    }
    return true;
}

/* Keys of arguments that the category has no column for. */
static void count_unknown(struct chrome_worker *worker)
{
    const struct chrome_event *event = &worker->event;
    for (unsigned i = 0; i < event->unknown; i++) {
        if (i == CHROME_MAX_UNKNOWN) {
            worker->notes[CHROME_NOTE_ARG_UNKNOWN] += event->unknown - i;
            return;
        }
        struct nl_str key = event->unknown_key[i];
        unsigned k = 0;
        while (k < worker->key_count && !(worker->keys[k].len == key.len &&
                                          memcmp(worker->keys[k].text, key.ptr, key.len) == 0))
            k++;
        if (k == worker->key_count) {
            if (k == CHROME_MAX_KEYS || key.len > sizeof worker->keys[k].text) {
                chrome_note(worker, CHROME_NOTE_ARG_UNKNOWN);
                continue;
            }
            worker->keys[k].len = (uint32_t)key.len;
            memcpy(worker->keys[k].text, key.ptr, key.len);
            worker->key_count++;
        }
        worker->keys[k].count++;
    }
}

/* Only generic slices wait for their stack: rows of side tables stay in their unit. */
static void take_with_stack(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                            int64_t dur)
{
    bool stack = worker->event.seen & CHROME_STACK_FIELDS;
    if (worker->event.seen & CHROME_END_FIELDS)
        chrome_note(worker, CHROME_NOTE_END_STACK);
    if (stack && cat == &generic) {
        chrome_set_aside(worker, cat->kind, chrome_thread_lane(worker, cat->lane, 0), ts, dur);
        return;
    }
    if (stack)
        chrome_note(worker, CHROME_NOTE_STACK_LOST);
    cat->row(worker, cat, ts, dur);
}

void chrome_take_complete(struct chrome_worker *worker)
{
    int64_t ts, dur;
    if (!chrome_event_time(worker, &ts) || !event_length(worker, ts, &dur))
        return;
    const struct chrome_cat *cat = chrome_category(worker);
    if (!cat && worker->load->rpd.on && chrome_rpd_take(worker, ts, dur))
        return;
    if (!cat && chrome_nsys_take(worker, ts, dur))
        return;
    if (!cat)
        cat = &generic;
    else if (worker->event.unknown && cat->row != row_generic && cat->row != row_viztracer_call)
        count_unknown(worker);
    if (worker->event.seen & (CHROME_STACK_FIELDS | CHROME_END_FIELDS))
        take_with_stack(worker, cat, ts, dur);
    else
        cat->row(worker, cat, ts, dur);
}

/* ---- Values of arguments. ---- */

int64_t chrome_arg_integer(struct chrome_worker *worker, enum chrome_arg arg)
{
    const struct chrome_value *value = chrome_arg(&worker->event, arg);
    int64_t number;
    if (!value || !chrome_integer(value, &number))
        return NL_NULL_I64;
    return number;
}

uint64_t chrome_arg_unsigned(struct chrome_worker *worker, enum chrome_arg arg)
{
    const struct chrome_value *value = chrome_arg(&worker->event, arg);
    int64_t number;
    if (!value || !chrome_integer(value, &number) || (number < 0 && *value->ptr == '-'))
        return NL_NULL_U64;
    return (uint64_t)number;
}

uint64_t chrome_arg_amount(struct chrome_worker *worker, enum chrome_arg arg)
{
    uint64_t number = chrome_arg_unsigned(worker, arg);
    return number == NL_NULL_U64 || number <= INT64_MAX ? number : INT64_MAX;
}

uint32_t chrome_arg_u32(struct chrome_worker *worker, enum chrome_arg arg)
{
    uint64_t number = chrome_arg_unsigned(worker, arg);
    return number < NL_NULL_U32 ? (uint32_t)number : NL_NULL_U32;
}

uint32_t chrome_arg_name(struct chrome_worker *worker, enum chrome_arg arg)
{
    const struct chrome_value *value = chrome_arg(&worker->event, arg);
    if (!value || value->type == CHROME_NULL)
        return NL_NO_NAME;
    if (value->seen)
        return chrome_names_seen(&worker->names, chrome_value_slot(value),
                                 chrome_value_serial(value), chrome_text(value));
    return chrome_names_id(&worker->names, chrome_text(value), value->type == CHROME_STRING);
}

uint64_t chrome_correlation(struct chrome_worker *worker)
{
    const struct chrome_value *value = chrome_arg(&worker->event, CHROME_ARG_CORRELATION);
    int64_t number;
    if (!value || !chrome_integer(value, &number))
        return NL_NULL_U64;
    if (number == 0 || number == -1) {
        chrome_note(worker, CHROME_NOTE_ZERO_CORRELATION);
        return NL_NULL_U64;
    }
    return (uint64_t)number;
}

int64_t chrome_external_id(struct chrome_worker *worker)
{
    int64_t id = chrome_arg_integer(worker, CHROME_ARG_EXTERNAL);
    return id != NL_NULL_I64 ? id : chrome_arg_integer(worker, CHROME_ARG_EXTERNAL_A);
}

/* ---- Rows of the host. ---- */

/* Does the event's name begin with these `len` bytes, and go on? */
static inline bool name_continues(const struct chrome_event *event, const char *prefix, size_t len)
{
    const struct chrome_value *name = &event->field[CHROME_F_NAME];
    return chrome_has(event, CHROME_F_NAME) && name->len > len &&
           memcmp(name->ptr, prefix, len) == 0;
}

static bool is_step(const struct chrome_event *event)
{
    return name_continues(event, STEP_PREFIX, sizeof STEP_PREFIX - 1);
}

/* "ProfilerStep#12" → a row of table step. */
static void stage_step(struct chrome_worker *worker, uint32_t lane, int64_t ts, int64_t dur)
{
    if (!is_step(&worker->event))
        return;
    struct chrome_value number = worker->event.field[CHROME_F_NAME];
    number.ptr += sizeof STEP_PREFIX - 1;
    number.len -= (uint32_t)(sizeof STEP_PREFIX - 1);
    struct nl_step_row row = nl_step_row();
    if (!chrome_integer(&number, &row.index))
        row.index = NL_NULL_I64;
    row.ts = ts;
    row.dur = dur;
    row.lane = lane;
    row.name = chrome_event_name(worker);
    nl_stage_step(worker->stage, &row);
}

/* The argument under the key that PyTorch uses now, else under the one of 2020-21. */
static uint32_t either_name(struct chrome_worker *worker, enum chrome_arg now, enum chrome_arg old)
{
    return chrome_arg_name(worker, chrome_arg(&worker->event, now) ? now : old);
}

static uint64_t flops(struct chrome_worker *worker)
{
    static const enum chrome_arg keys[] = {CHROME_ARG_FLOPS, CHROME_ARG_FLOPS_A,
                                           CHROME_ARG_FLOPS_B};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (chrome_arg(&worker->event, keys[i]))
            return chrome_arg_amount(worker, keys[i]);
    return NL_NULL_U64;
}

void chrome_row_annotation(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                           int64_t dur)
{
    uint32_t lane = chrome_thread_lane(worker, cat->lane, 0);
    struct nl_nvtx_row row = nl_nvtx_row();
    row.slice = chrome_slice(worker, cat, lane, ts, dur);
    row.style = NL_RANGE_ANNOTATION;
    nl_stage_nvtx(worker->stage, &row);
    stage_step(worker, lane, ts, dur);
}

static void row_op(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                   int64_t dur)
{
    if (is_step(&worker->event)) { /* PyTorch of 2021 calls its steps operators */
        struct chrome_cat step = *cat;
        step.kind = NL_KIND_NVTX;
        chrome_row_annotation(worker, &step, ts, dur);
        return;
    }
    uint32_t lane = chrome_thread_lane(worker, cat->lane, 0);
    struct nl_op_row row = nl_op_row();
    row.slice = chrome_slice(worker, cat, lane, ts, dur);
    row.external_id = chrome_arg_integer(worker, CHROME_ARG_EXTERNAL);
    row.sequence = chrome_arg_integer(worker, CHROME_ARG_SEQUENCE);
    row.forward_thread = chrome_arg_integer(worker, CHROME_ARG_FORWARD_THREAD);
    row.shapes = either_name(worker, CHROME_ARG_SHAPES, CHROME_ARG_SHAPES_A);
    row.dtypes = chrome_arg_name(worker, CHROME_ARG_DTYPES);
    row.strides = chrome_arg_name(worker, CHROME_ARG_STRIDES);
    row.concrete_inputs = chrome_arg_name(worker, CHROME_ARG_CONCRETE);
    row.call_stack = chrome_arg_name(worker, CHROME_ARG_CALL_STACK);
    row.flops = flops(worker);
    row.bytes = chrome_arg_amount(worker, CHROME_ARG_BYTES);
    nl_stage_op(worker->stage, &row);
    if (chrome_arg(&worker->event, CHROME_ARG_COLLECTIVE))
        chrome_collective(worker, row.slice);
}

static void row_api(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                    int64_t dur)
{
    struct nl_api_row row = nl_api_row();
    row.slice = chrome_slice(worker, cat, chrome_thread_lane(worker, cat->lane, 0), ts, dur);
    row.correlation = chrome_correlation(worker);
    row.external_id = chrome_external_id(worker);
    row.kernel = chrome_arg_name(worker, CHROME_ARG_KERNEL);
    row.result = chrome_arg_integer(worker, CHROME_ARG_RESULT);
    nl_stage_api(worker->stage, &row);
}

static void row_python(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                       int64_t dur)
{
    bool module = name_continues(&worker->event, MODULE_PREFIX, sizeof MODULE_PREFIX - 1);
    struct chrome_cat kind = *cat;
    if (module)
        kind.kind = NL_KIND_LAYER;
    uint32_t slice = chrome_slice(worker, &kind, chrome_thread_lane(worker, cat->lane, 0), ts, dur);
    if (module) {
        struct nl_layer_row row = nl_layer_row();
        row.slice = slice;
        row.python_id = chrome_arg_integer(worker, CHROME_ARG_PYTHON_ID);
        row.python_parent = chrome_arg_integer(worker, CHROME_ARG_PYTHON_PARENT);
        row.module_id = chrome_arg_integer(worker, CHROME_ARG_PYTHON_MODULE);
        nl_stage_layer(worker->stage, &row);
        return;
    }
    struct nl_python_row row = nl_python_row();
    row.slice = slice;
    row.python_id = chrome_arg_integer(worker, CHROME_ARG_PYTHON_ID);
    row.python_parent = chrome_arg_integer(worker, CHROME_ARG_PYTHON_PARENT);
    nl_stage_python(worker->stage, &row);
}

/* The whole trace, and the profiler's overhead: of a process, not of one of its threads. */
static void row_of_process(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                           int64_t dur)
{
    chrome_slice(worker, cat, chrome_process_lane(worker, cat->lane, 0), ts, dur);
}

/* VizTracer's calls: "name (file.py:12)", with arguments and result where it had to keep them. */
static void row_viztracer_call(struct chrome_worker *worker, const struct chrome_cat *cat,
                               int64_t ts, int64_t dur)
{
    struct nl_python_row row = nl_python_row();
    row.slice = chrome_slice(worker, cat, chrome_thread_lane(worker, cat->lane, 0), ts, dur);
    nl_stage_python(worker->stage, &row);
    chrome_keep_args(worker, row.slice);
}

static void row_generic(struct chrome_worker *worker, const struct chrome_cat *cat, int64_t ts,
                        int64_t dur)
{
    chrome_keep_args(worker,
                     chrome_slice(worker, cat, chrome_thread_lane(worker, cat->lane, 0), ts, dur));
}
