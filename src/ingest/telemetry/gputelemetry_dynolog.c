/*
 * The log of dynolog: `… time = 2024-10-29T19:00:23.123Z data =
 * {"device":0,"sm_active_ratio":"0.5",…}` among other lines. Its times are local ones although they
 * end in Z, and numbers with a fraction are texts; samples without a device are of the machine.
 */
#define _GNU_SOURCE
#include <string.h>

#include "parse/csvread.h"
#include "ingest/telemetry/gputelemetry.h"
#include "parse/jsonpull.h"
#include "parse/textlines.h"

#define TIME_MARK "time = "
#define DATA_MARK " data = "

/* Where what a mark announces begins; NULL when the mark is not there. */
static const char *after_mark(struct nl_str line, const char *mark)
{
    size_t len = strlen(mark);
    const char *found = line.len ? memmem(line.ptr, line.len, mark, len) : NULL;
    return found ? found + len : NULL;
}

/* Units in the names of metrics (docs/Metrics.md of dynolog). */
static const char *unit_of(struct nl_str name)
{
    static const struct {
        const char *end, *unit;
    } units[] = {{"_mhz", "MHz"},     {"_ratio", "0..1"},       {"_active", "0..1"},
                 {"_ms", "ms"},       {"_tx_bytes", "bytes/s"}, {"_rx_bytes", "bytes/s"},
                 {"power_draw", "W"}, {"sm_occupancy", "0..1"}, {"bw_util", "0..1"}};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t len = strlen(units[i].end);
        if (name.len >= len && memcmp(name.ptr + name.len - len, units[i].end, len) == 0)
            return units[i].unit;
    }
    return "";
}

/* The number of the device in a sample, NL_NULL_I64 = of the machine. False when it is no JSON. */
static bool device_in(struct nl_str json, int64_t *device)
{
    struct jsonpull reader;
    *device = NL_NULL_I64;
    jsonpull_memory(&reader, json.ptr, json.len, 0);
    bool object = jsonpull_next(&reader) == JSONPULL_OBJECT;
    while (object && jsonpull_member(&reader)) {
        bool named = nl_str_is(reader.text, "device");
        (void)jsonpull_next(&reader);
        if (!named || !jsonpull_i64(&reader, device) || !telemetry_is_device(*device))
            jsonpull_skip(&reader);
    }
    bool whole = object && !reader.problem;
    jsonpull_release(&reader);
    if (!telemetry_is_device(*device))
        *device = NL_NULL_I64;
    return whole;
}

static void take_sample(struct telemetry *t, int64_t ts, struct nl_str json)
{
    struct jsonpull reader;
    int64_t device;
    char room[128];
    if (!device_in(json, &device)) {
        t->strange++;
        return;
    }
    jsonpull_memory(&reader, json.ptr, json.len, 0);
    (void)jsonpull_next(&reader);
    while (jsonpull_member(&reader)) {
        struct nl_str name = {room, reader.text.len < sizeof room ? reader.text.len : sizeof room};
        memcpy(room, reader.text.ptr, name.len);
        enum jsonpull_type type = jsonpull_next(&reader);
        bool identity = nl_str_is(name, "device") || nl_str_is(name, "minor_id");
        if (type != JSONPULL_NUMBER && type != JSONPULL_STRING)
            jsonpull_skip(&reader);
        else if (!identity)
            telemetry_cell(t, ts, device, nl_str(""), name, nl_str(unit_of(name)), reader.text);
    }
    jsonpull_release(&reader);
}

bool telemetry_is_dynolog(struct nl_str line)
{
    const char *data = after_mark(line, DATA_MARK);
    return data && data < line.ptr + line.len && *data == '{' && after_mark(line, TIME_MARK);
}

bool telemetry_dynolog(struct telemetry *t, struct nl_stream *stream, struct nl_err *err)
{
    struct textlines lines;
    struct nl_str line;
    textlines_init(&lines, stream);
    while (textlines_next(&lines, &line, err) && !nl_builder_over_budget(t->builder)) {
        if (lines.count % 4096 == 0 && nl_job_cancelled(t->job))
            break;
        if (!telemetry_is_dynolog(line))
            continue;
        const char *time = after_mark(line, TIME_MARK), *data = after_mark(line, DATA_MARK);
        struct nl_str clock = {time, data > time ? (size_t)(data - time) : 0};
        int64_t ts;
        if (clock.len > 23)
            clock.len = 23; /* without the Z, which is not true */
        if (telemetry_time(t, clock, &ts))
            take_sample(t, ts, (struct nl_str){data, (size_t)(line.ptr + line.len - data)});
        else
            t->strange++;
    }
    bool failed = lines.failed;
    t->strange += (int64_t)lines.cut;
    textlines_release(&lines);
    if (nl_job_cancelled(t->job))
        return nl_fail(err, NL_INTERRUPTED, "interrupted");
    return !failed;
}
