/* What recording cost the program and how exact its times are: from the metadata that recordings by
 * `run` have. Other tools report neither, so all of it is null there. */
#include <math.h>

#include "rundoc/runparts.h"
#include "derive/reccost.h"
#include "nlrec/recgpu.h"
#include "base/sum.h"

/* Metadata of each process of a recording, and of the run as a whole (`run` writes these
 * when the program has ended). */
#define SOURCE_KEY "clock source"
#define ERROR_KEY  "clock error (ns)"
#define EVENTS_KEY "recorded events"
#define RUN_KEY    "recorder."

struct told {
    bool any;
    double sum, most;
};

/* Over all rows with that key. */
static struct told told_of(const struct run_parts *parts, const char *before, const char *key)
{
    const struct nl_meta_table *meta = &parts->trace->meta;
    struct told told = {0};
    for (uint32_t row = 0; row < meta->rows; row++) {
        struct nl_str name = nl_trace_name(parts->trace, meta->key[row]);
        size_t length = strlen(before);
        double number;
        if (name.len < length || memcmp(name.ptr, before, length) != 0 ||
            !nl_str_is((struct nl_str){name.ptr + length, name.len - length}, key) ||
            !nl_reccost_number(nl_trace_name(parts->trace, meta->value[row]), &number))
            continue;
        told.any = true;
        told.sum += number;
        told.most = number > told.most ? number : told.most;
    }
    return told;
}

static struct nl_str clock_of(const struct run_parts *parts)
{
    const struct nl_meta_table *meta = &parts->trace->meta;
    for (uint32_t row = 0; row < meta->rows; row++) {
        struct nl_str name = nl_trace_name(parts->trace, meta->key[row]);
        if (nl_str_is(name, SOURCE_KEY) || nl_str_is(name, RUN_KEY "clock_source"))
            return nl_trace_name(parts->trace, meta->value[row]);
    }
    return (struct nl_str){NULL, 0};
}

static void write_whole(struct run_parts *parts, const char *key, bool known, double value)
{
    run_i64(parts, key, known && value < 9e18 ? nl_whole_i64(value) : NL_NULL_I64);
}

/* The value of one process's rows, or of a document's own. */
static struct told either(const struct run_parts *parts, const char *rows, const char *member)
{
    struct told told = told_of(parts, "", rows);
    return told.any ? told : told_of(parts, RUN_KEY, member);
}

void run_write_recorder(struct run_parts *parts)
{
    struct told error = either(parts, ERROR_KEY, "clock_error_ns");
    struct told events = either(parts, EVENTS_KEY, "events");
    struct told event = told_of(parts, RUN_KEY, "event_ns");
    struct told program = told_of(parts, RUN_KEY, "program_cpu_ns");
    struct told recorder = told_of(parts, RUN_KEY, "recorder_cpu_ns");
    struct told gpu = either(parts, NL_REC_GPU_COST, "gpu_records_ns");
    struct told whole = told_of(parts, RUN_KEY, "overhead_ns"); /* of a document */
    struct nl_reccost cost;
    bool known = nl_reccost(parts->trace, &cost) || whole.any;
    double overhead = !known ? 0 : whole.any ? whole.sum : cost.total_ns;
    nl_json_open(&parts->json, '{');
    run_text(parts, "clock_source", clock_of(parts));
    write_whole(parts, "clock_error_ns", error.any, error.most);
    write_whole(parts, "events", events.any, events.sum);
    run_f64(parts, "event_ns", event.any ? event.sum : NL_NULL_F64);
    write_whole(parts, "gpu_records_ns", gpu.any, gpu.sum);
    write_whole(parts, "overhead_ns", known, overhead);
    run_f64(parts, "overhead_share",
            known && program.sum > 0 ? overhead / program.sum : NL_NULL_F64);
    write_whole(parts, "program_cpu_ns", program.any, program.sum);
    write_whole(parts, "recorder_cpu_ns", recorder.any, recorder.sum);
    nl_json_close(&parts->json, '}');
}
