/*
 * Spans. Tracing back ends are made for thousands of spans, not millions: kinds of slices
 * are taken in an order of worth (ranges and layers, operators, device work, API calls, the
 * rest) as long as they are fewer than MAX_SPANS together; of the first kind that does not
 * fit, the outermost depths. A window leaves room for more. Parents are the enclosing spans;
 * of device work, the launch's.
 */
#include "export/attributes.h"
#include "export/otlp.h"

#define MAX_SPANS 200000u
#define GROUP     2048 /* spans of one message */
#define DEPTHS    1024
#define INTERNAL  1

enum level { RANGES, OPERATORS, DEVICE, CALLS, OTHERS, LEVELS };

static const uint8_t levels[NL_KIND_COUNT] = {[NL_KIND_UNKNOWN] = OTHERS,
                                              [NL_KIND_KERNEL] = DEVICE,
                                              [NL_KIND_MEMCPY] = DEVICE,
                                              [NL_KIND_MEMSET] = DEVICE,
                                              [NL_KIND_SYNC] = CALLS,
                                              [NL_KIND_API] = CALLS,
                                              [NL_KIND_OP] = OPERATORS,
                                              [NL_KIND_LAYER] = RANGES,
                                              [NL_KIND_PYTHON] = OTHERS,
                                              [NL_KIND_NVTX] = RANGES,
                                              [NL_KIND_GPU_ANNOTATION] = DEVICE,
                                              [NL_KIND_COLLECTIVE] = RANGES,
                                              [NL_KIND_GRAPH] = DEVICE,
                                              [NL_KIND_GC] = OTHERS,
                                              [NL_KIND_COMPILE] = OTHERS,
                                              [NL_KIND_ALLOC] = OTHERS,
                                              [NL_KIND_OVERHEAD] = OTHERS,
                                              [NL_KIND_OSRT] = OTHERS,
                                              [NL_KIND_LIBRARY] = OTHERS,
                                              [NL_KIND_SCHED] = OTHERS,
                                              [NL_KIND_DEVICE_OTHER] = OTHERS,
                                              [NL_KIND_MARK] = OTHERS,
                                              [NL_KIND_GENERIC] = OTHERS};

struct spans {
    struct otlp_writer *writer;
    const struct nl_trace *trace;
    struct nl_attributes attributes;
    unsigned level;       /* this and those before it are taken */
    uint16_t depths;      /* … of this one, depths below this number */
    unsigned char id[16]; /* of the trace */
    uint64_t seed;
    uint64_t lost[LEVELS];
    struct nl_buf room;
    uint32_t process; /* whose spans are open; NL_NULL_ROW: of none */
    uint32_t count;   /* spans in the open message; 0 = none is open */
};

/* ---- which slices ---- */

static bool takes(const struct spans *spans, uint32_t slice)
{
    unsigned level = levels[spans->trace->slice.kind[slice]];
    return (level < spans->level ||
            (level == spans->level && spans->trace->slice.depth[slice] < spans->depths)) &&
           nl_export_picks(spans->writer->export, slice);
}

static void choose_depths(struct spans *spans)
{
    const struct nl_trace *trace = spans->trace;
    uint64_t(*counts)[DEPTHS] = nl_zalloc(LEVELS * sizeof *counts), total = 0;
    for (uint32_t i = 0; i < trace->slice.rows; i++) {
        uint16_t depth = trace->slice.depth[i];
        if (nl_export_picks(spans->writer->export, i))
            counts[levels[trace->slice.kind[i]]][depth < DEPTHS ? depth : DEPTHS - 1]++;
    }
    for (unsigned level = 0; level < LEVELS; level++)
        for (unsigned depth = 0; depth < DEPTHS; depth++) {
            uint64_t count = counts[level][depth];
            /* once something was left out, so is everything after it */
            bool fits = total + count <= MAX_SPANS && total <= MAX_SPANS;
            total = fits ? total + count : MAX_SPANS + (uint64_t)1;
            spans->lost[level] += fits ? 0 : count;
            if (fits) {
                spans->level = level;
                spans->depths = depth + 1 < DEPTHS ? (uint16_t)(depth + 1) : UINT16_MAX;
            }
        }
    nl_free(counts);
}

/* ---- ids ---- */

static uint64_t mix(uint64_t value)
{
    value =
        (value ^ value >> 30) * 0xbf58476d1ce4e5b9u; /* splitmix64: different in, different out */
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

static uint64_t hash(struct nl_str text, uint64_t value)
{
    for (size_t i = 0; i < text.len; i++)
        value = (value ^ (unsigned char)text.ptr[i]) * 0x100000001b3u;
    return value;
}

/* The same profile has the same ids each time. */
static void make_ids(struct spans *spans)
{
    const struct nl_export *export = spans->writer->export;
    const struct nl_trace *trace = spans->trace;
    struct nl_str title = nl_str(export->title ? export->title : "");
    uint64_t facts = mix((uint64_t)trace->first_ts) ^ mix((uint64_t)trace->last_ts + 1) ^
                     mix(trace->slice.rows + (uint64_t)2) ^ mix((uint64_t)spans->writer->epoch + 3);
    uint64_t halves[2] = {mix(hash(title, facts)) | 1,
                          mix(hash(title, facts ^ 0x9e3779b97f4a7c15u))};
    memcpy(spans->id, halves, sizeof spans->id);
    spans->seed = halves[1];
}

/* Of a slice; of the whole profile for NL_NULL_ROW. */
static void put_span_id(struct spans *spans, uint32_t number, const char *name, uint32_t slice)
{
    uint64_t id = mix(spans->seed + 1 + (slice == NL_NULL_ROW ? 0 : slice + (uint64_t)1));
    id = id ? id : 1;
    otlp_id(&spans->writer->out, number, name, (const unsigned char *)&id, sizeof id);
}

/* ---- a span ---- */

static uint32_t parent_of(const struct spans *spans, uint32_t slice)
{
    const struct nl_slice_table *table = &spans->trace->slice;
    bool device = spans->trace->lane.device[table->lane[slice]] != NL_NULL_ROW;
    uint32_t at =
        device && table->link[slice] != NL_NULL_ROW ? table->link[slice] : table->parent[slice];
    while (at != NL_NULL_ROW && !takes(spans, at))
        at = table->parent[at];
    return at;
}

static void put_times(struct spans *spans, int64_t ts, int64_t dur)
{
    struct otlp_out *out = &spans->writer->out;
    uint64_t start = otlp_time(spans->writer, ts);
    otlp_word(out, 6, "kind", INTERNAL);
    otlp_fixed(out, 7, "startTimeUnixNano", start);
    otlp_fixed(out, 8, "endTimeUnixNano", start + (dur > 0 ? (uint64_t)dur : 0));
}

static void put_attribute(struct spans *spans, const struct nl_attribute *attribute, uint32_t row)
{
    struct otlp_out *out = &spans->writer->out;
    union nl_value value;
    char key[64];
    if (!nl_attribute_value(attribute, row, &value))
        return;
    snprintf(key, sizeof key, "neurolens.%s", attribute->name);
    if (attribute->type == NL_TYPE_F64)
        otlp_attribute_double(out, 9, key, value.f64);
    else if (attribute->type == NL_TYPE_NAME)
        otlp_attribute_text(out, 9, key, nl_trace_name(spans->trace, value.name));
    else if (attribute->type == NL_TYPE_ENUM)
        otlp_attribute_text(out, 9, key, nl_str(value.text));
    else
        otlp_attribute_number(out, 9, key, value.i64);
}

static void put_lane(struct spans *spans, uint32_t lane)
{
    const struct nl_trace *trace = spans->trace;
    struct otlp_out *out = &spans->writer->out;
    uint32_t thread = trace->lane.thread[lane], device = trace->lane.device[lane];
    if (thread != NL_NULL_ROW && trace->thread.tid[thread] != NL_NULL_I64)
        otlp_attribute_number(out, 9, "thread.id", trace->thread.tid[thread]);
    if (device != NL_NULL_ROW && trace->device.ordinal[device] != NL_NULL_I64)
        otlp_attribute_number(out, 9, "neurolens.device", trace->device.ordinal[device]);
    if (trace->lane.stream[lane] != NL_NULL_I64)
        otlp_attribute_number(out, 9, "neurolens.stream", trace->lane.stream[lane]);
    if (trace->lane.name[lane] != NL_NO_NAME)
        otlp_attribute_text(out, 9, "neurolens.lane", nl_trace_name(trace, trace->lane.name[lane]));
}

static void put_attributes(struct spans *spans, uint32_t slice)
{
    const struct nl_trace *trace = spans->trace;
    const struct nl_attributes *attributes = &spans->attributes;
    struct otlp_out *out = &spans->writer->out;
    unsigned kind = trace->slice.kind[slice];
    const char *word = nl_enum_text(NL_ENUM_kind, kind);
    otlp_list(out, "attributes");
    if (word)
        otlp_attribute_text(out, 9, "neurolens.slice_kind", nl_str(word));
    put_lane(spans, trace->slice.lane[slice]);
    for (unsigned i = attributes->first[kind]; i < attributes->first[kind + 1]; i++)
        put_attribute(spans, &attributes->items[i], trace->slice.detail[slice]);
    uint32_t collective = nl_attributes_collective(attributes, slice);
    if (collective != NL_NULL_ROW)
        for (unsigned i = attributes->collective_first; i < attributes->collective_last; i++)
            put_attribute(spans, &attributes->items[i], collective);
    uint32_t text = nl_attributes_text(attributes, slice);
    nl_buf_clear(&spans->room);
    if (text != NL_NO_NAME)
        otlp_attribute_text(out, 9, "neurolens.args", nl_trace_text(trace, text, &spans->room));
    if (trace->slice.flags[slice] & NL_SLICE_CLAMPED || trace->slice.dur[slice] == NL_NULL_I64)
        otlp_attribute_true(out, 9, "neurolens.unfinished");
    otlp_list_end(out);
}

static void put_span(struct spans *spans, uint32_t slice)
{
    const struct nl_slice_table *table = &spans->trace->slice;
    struct otlp_out *out = &spans->writer->out;
    otlp_open(out, 2, NULL);
    otlp_id(out, 1, "traceId", spans->id, sizeof spans->id);
    put_span_id(spans, 2, "spanId", slice);
    put_span_id(spans, 4, "parentSpanId", parent_of(spans, slice));
    otlp_text(out, 5, "name", nl_trace_name(spans->trace, table->name[slice]));
    put_times(spans, table->ts[slice], table->dur[slice]);
    put_attributes(spans, slice);
    otlp_close(out);
}

/* The span that contains all others. */
static void put_root(struct spans *spans)
{
    const struct nl_trace *trace = spans->trace;
    struct otlp_out *out = &spans->writer->out;
    int64_t length;
    if (__builtin_sub_overflow(trace->last_ts, trace->first_ts, &length))
        length = INT64_MAX;
    otlp_open(out, 2, NULL);
    otlp_id(out, 1, "traceId", spans->id, sizeof spans->id);
    put_span_id(spans, 2, "spanId", NL_NULL_ROW);
    otlp_text(out, 5, "name",
              nl_str(spans->writer->export->title ? spans->writer->export->title : "profile"));
    put_times(spans, trace->first_ts, length);
    otlp_close(out);
}

/* ---- messages ---- */

static void open_group(struct spans *spans, uint32_t process)
{
    struct otlp_out *out = &spans->writer->out;
    spans->process = process;
    otlp_open(out, 1, "resourceSpans");
    otlp_resource(spans->writer, process);
    otlp_list(out, "scopeSpans");
    otlp_open(out, 2, NULL);
    otlp_scope(spans->writer);
    otlp_list(out, "spans");
}

static void close_group(struct spans *spans)
{
    struct otlp_out *out = &spans->writer->out;
    otlp_list_end(out);
    otlp_close(out);
    otlp_list_end(out);
    otlp_close(out);
    otlp_flush(out, spans->writer->export->out);
    spans->count = 0;
}

static void add_span(struct spans *spans, uint32_t slice, uint32_t process)
{
    if (spans->count && (process != spans->process || spans->count >= GROUP))
        close_group(spans);
    if (!spans->count)
        open_group(spans, process);
    put_span(spans, slice);
    spans->count++;
}

static bool add_lanes(struct spans *spans, struct nl_err *err)
{
    const struct nl_trace *trace = spans->trace;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++) {
        uint32_t first = trace->lane.first[lane], count = trace->lane.count[lane];
        for (uint32_t i = 0; i < count; i++)
            if (takes(spans, first + i))
                add_span(spans, first + i, trace->lane.process[lane]);
        if (!nl_export_goes_on(spans->writer->export, err))
            return false;
    }
    if (spans->count)
        close_group(spans);
    return true;
}

static void tell_lost(const struct spans *spans)
{
    static const char *const names[LEVELS] = {"ranges and layers", "operators", "GPU operations",
                                              "API calls", "other slices"};
    struct nl_export *export = spans->writer->export;
    for (unsigned level = 0; level < LEVELS; level++)
        nl_export_lost(export, spans->lost[level],
                       nl_arena_format(&export->arena,
                                       "%s beyond %u spans (a window has room for more)",
                                       names[level], MAX_SPANS));
}

bool otlp_spans(struct otlp_writer *writer, struct nl_err *err)
{
    struct spans spans = {.writer = writer, .trace = writer->export->trace};
    nl_job_phase(writer->export->job, "writing", 0);
    nl_attributes_make(&spans.attributes, spans.trace);
    nl_buf_init(&spans.room, (size_t)64 << 20);
    choose_depths(&spans);
    make_ids(&spans);
    open_group(&spans, NL_NULL_ROW);
    put_root(&spans);
    close_group(&spans);
    bool done = add_lanes(&spans, err);
    tell_lost(&spans);
    nl_attributes_release(&spans.attributes);
    nl_buf_release(&spans.room);
    return done;
}
