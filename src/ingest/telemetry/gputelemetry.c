/*
 * GPU telemetry: recognition, times, and values on their way to the store.
 */
#include "ingest/telemetry/gputelemetry.h"

#include <string.h>

#include "base/chars.h"
#include "base/mem.h"
#include "base/units.h"
#include "parse/csvread.h"

#define MAX_SERIES 65536u

/* A number of `len` digits at text[*at]; false when they are no digits. */
static bool digits(struct nl_str text, size_t *at, size_t len, int64_t *value)
{
    *value = 0;
    if (text.len - *at < len || *at > text.len)
        return false;
    for (size_t i = 0; i < len; i++, (*at)++) {
        if (!nl_is_digit(text.ptr[*at]))
            return false;
        *value = *value * 10 + (text.ptr[*at] - '0');
    }
    return true;
}

static bool one_of(struct nl_str text, size_t *at, const char *characters)
{
    if (*at >= text.len || !strchr(characters, text.ptr[*at]) || !text.ptr[*at])
        return false;
    (*at)++;
    return true;
}

/* Days since 1970 of a date of the Gregorian calendar (Howard Hinnant, days_from_civil). */
static int64_t days_from(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* ".123" → ns; what is not there is 0. */
static int64_t fraction(struct nl_str text, size_t *at)
{
    int64_t ns = 0, unit = NL_SECOND_NS / 10;
    if (!one_of(text, at, ".,"))
        return 0;
    for (; *at < text.len && nl_is_digit(text.ptr[*at]); (*at)++, unit /= 10)
        ns += (text.ptr[*at] - '0') * unit;
    return ns;
}

/* "Z", "+08:00" or nothing → seconds to take away. */
static int64_t zone(struct telemetry *t, struct nl_str text, size_t *at)
{
    int64_t hours, minutes = 0, sign;
    if (one_of(text, at, "Zz")) {
        t->zoned = true;
        return 0;
    }
    if (*at >= text.len || (text.ptr[*at] != '+' && text.ptr[*at] != '-'))
        return 0;
    sign = text.ptr[(*at)++] == '-' ? -1 : 1;
    if (!digits(text, at, 2, &hours))
        return 0;
    (void)one_of(text, at, ":");
    (void)digits(text, at, 2, &minutes);
    t->zoned = true;
    return sign * (hours * 3600 + minutes * 60);
}

/* Year, month, day, hour, minute, second, with what may stand after each. False when it is none. */
static bool civil(struct nl_str text, size_t *at, int64_t out[6])
{
    static const char *const after[6] = {"/-", "/-", " T_", ":", ":", NULL};
    for (size_t i = 0; i < 6; i++)
        if (!digits(text, at, i ? 2 : 4, &out[i]) || (after[i] && !one_of(text, at, after[i])))
            return false;
    return out[0] > 1970 && out[0] <= 2200 && out[1] >= 1 && out[1] <= 12 && out[2] >= 1 &&
           out[2] <= 31;
}

bool telemetry_time(struct telemetry *t, struct nl_str text, int64_t *ns)
{
    int64_t part[6];
    size_t at = 0;
    text = csvread_trimmed(text);
    if (civil(text, &at, part)) {
        int64_t seconds =
            days_from(part[0], part[1], part[2]) * 86400 + part[3] * 3600 + part[4] * 60 + part[5];
        int64_t below = fraction(text, &at);
        *ns = (seconds - zone(t, text, &at)) * NL_SECOND_NS + below;
        t->dated = true;
        return true;
    }
    if (!csvread_scaled(text, 9, ns) || *ns < 0)
        return false;
    t->dated = true;
    t->zoned = t->zoned || *ns > INT64_C(600000000) * NL_SECOND_NS; /* after 1989: an epoch */
    return true;
}

static bool is_unavailable(struct nl_str cell)
{
    static const char *const words[] = {"N/A",
                                        "[N/A]",
                                        "-",
                                        "[Not Supported]",
                                        "Not Supported",
                                        "[Unknown Error]",
                                        "ERR!",
                                        "[GPU requires reset]",
                                        "[Insufficient Permissions]",
                                        "nan",
                                        "inf"};
    if (nl_is_digit(cell.ptr[0]))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (nl_str_is(cell, words[i]))
            return true;
    return false;
}

/* Length of the number that a cell begins with. */
static size_t number_length(struct nl_str cell)
{
    size_t at = 0;
    while (at < cell.len && (nl_is_digit(cell.ptr[at]) || memchr("+-.eE", cell.ptr[at], 5)))
        at++;
    return at;
}

static uint32_t entity_lane(struct telemetry *t, int64_t device, struct nl_str entity)
{
    struct nl_lane_key key = {.kind = NL_LANE_DEVICE,
                              .process = t->process,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    if (device != NL_NULL_I64)
        key.device = nl_builder_device(t->builder, t->source, device, device);
    if (entity.len)
        key.domain = nl_builder_name(t->builder, entity);
    uint32_t lane = nl_builder_lane(t->builder, &key);
    if (entity.len)
        nl_builder_lane_name(t->builder, lane, entity);
    return lane;
}

static uint32_t series_of(struct telemetry *t, int64_t device, struct nl_str entity,
                          struct nl_str name, struct nl_str unit)
{
    uint64_t key =
        nl_hash_pair(nl_hash_keyed(entity.ptr, entity.len), nl_hash_keyed(name.ptr, name.len));
    key = nl_hash_pair(nl_hash_pair(key, (uint64_t)device), t->process);
    uint32_t series = nl_idmap_get(&t->series, key);
    if (series == NL_NO_ROW) {
        series = nl_builder_series(t->builder, entity_lane(t, device, entity), name, unit);
        nl_idmap_put(&t->series, key, series);
        t->series_count++;
    }
    return series;
}

void telemetry_cell(struct telemetry *t, int64_t ts, int64_t device, struct nl_str entity,
                    struct nl_str name, struct nl_str unit, struct nl_str cell)
{
    struct nl_counter_row row = nl_counter_row();
    cell = csvread_trimmed(cell);
    if (!cell.len || is_unavailable(cell)) {
        t->unavailable++;
        return;
    }
    size_t len = number_length(cell);
    struct nl_str rest = {cell.ptr + len, cell.len - len};
    bool hex = nl_str_starts(cell, "0x") && cell.len > 2; /* an id, not "16x" */
    bool longer = rest.len && *rest.ptr == ':';           /* a bus, a time of day */
    if (!len || hex || longer || !csvread_f64((struct nl_str){cell.ptr, len}, &row.value) ||
        rest.len > 16 || t->series_count >= MAX_SERIES) {
        t->words++;
        return;
    }
    row.ts = ts;
    row.series = series_of(t, device, entity, name, unit.len ? unit : csvread_trimmed(rest));
    nl_stage_counter(t->stage, &row);
    t->values++;
}

/* ---- what is it? ---- */

static bool starts_with_time(struct nl_str line)
{
    struct telemetry scratch = {.source = 0};
    int64_t ns;
    return line.len > 19 && nl_is_digit(line.ptr[0]) && line.ptr[4] == '/' &&
           memchr(line.ptr, ',', line.len) && telemetry_time(&scratch, line, &ns);
}

/* Does a line name columns of nvidia-smi? */
static bool names_fields(struct nl_str line)
{
    static const char *const fields[] = {"memory.", "utilization.", "power.draw", "temperature.",
                                         "clocks.", "pstate",       "pcie.",      "fan.speed"};
    static const char *const keys[] = {"timestamp", "index", "uuid"};
    unsigned found = 0, told = 0;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        found += nl_str_contains(line, fields[i]);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        told += nl_str_contains(line, keys[i]);
    return found && found + told > 1 && memchr(line.ptr, ',', line.len);
}

/* The kind that one line of a file speaks for. */
static enum telemetry_kind kind_of_line(struct nl_str line)
{
    static const struct {
        const char *start, *also;
        enum telemetry_kind kind;
    } starts[] = {{"# gpu", NULL, TELEMETRY_DMON},
                  {"#gpu", NULL, TELEMETRY_DMON},
                  {"#Date", " gpu", TELEMETRY_DMON},
                  {"# Date", " gpu", TELEMETRY_DMON},
                  {"#Time", " gpu", TELEMETRY_DMON},
                  {"# Time", " gpu", TELEMETRY_DMON},
                  {"# Entity", NULL, TELEMETRY_DCGM},
                  {"#Entity", NULL, TELEMETRY_DCGM},
                  {"==============NVSMI LOG", NULL, TELEMETRY_REPORT},
                  {"nvbandwidth Version:", NULL, TELEMETRY_BANDWIDTH},
                  {"<nvidia_smi_log", NULL, TELEMETRY_XML},
                  {"<!DOCTYPE nvidia_smi_log", NULL, TELEMETRY_XML},
                  {"DCGM_FI_", NULL, TELEMETRY_EXPORTER},
                  {"# HELP DCGM_FI_", NULL, TELEMETRY_EXPORTER}};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++)
        if (nl_str_starts(line, starts[i].start) &&
            (!starts[i].also || nl_str_contains(line, starts[i].also)))
            return starts[i].kind;
    if (telemetry_is_dynolog(line))
        return TELEMETRY_DYNOLOG;
    return starts_with_time(line) || names_fields(line) ? TELEMETRY_QUERY : TELEMETRY_NONE;
}

enum telemetry_kind telemetry_kind(struct nl_str head)
{
    size_t at = 0;
    for (int i = 0; at < head.len && i < 400; i++) {
        const char *end = memchr(head.ptr + at, '\n', head.len - at);
        struct nl_str line = {head.ptr + at, end ? (size_t)(end - head.ptr) - at : head.len - at};
        enum telemetry_kind kind = line.len ? kind_of_line(line) : TELEMETRY_NONE;
        /* a query's table and JSON begin the file; the others may come after words */
        if (i < 3 && nl_str_contains(line, "\"nvbandwidth\""))
            return TELEMETRY_BANDWIDTH_JSON;
        if (kind != TELEMETRY_NONE && (kind != TELEMETRY_QUERY || i < 3))
            return kind;
        at += line.len + 1;
    }
    return TELEMETRY_NONE;
}

static int gputelemetry_sniff(const struct nl_input *input, const char **why)
{
    static const int scores[] = {
        [TELEMETRY_QUERY] = 75,    [TELEMETRY_DMON] = 88,      [TELEMETRY_DCGM] = 88,
        [TELEMETRY_EXPORTER] = 80, [TELEMETRY_REPORT] = 88,    [TELEMETRY_XML] = 88,
        [TELEMETRY_DYNOLOG] = 80,  [TELEMETRY_BANDWIDTH] = 88, [TELEMETRY_BANDWIDTH_JSON] = 85};
    struct nl_str head = {(const char *)input->head, input->head_len};
    enum telemetry_kind kind = telemetry_kind(head);
    if (kind != TELEMETRY_NONE)
        return scores[kind];
    if (!nl_str_contains(head, "| NVIDIA-SMI "))
        return 0;
    *why = "the table that nvidia-smi draws; use nvidia-smi --query-gpu=… --format=csv";
    return NL_NEAR_MISS;
}

static void report_coverage(struct telemetry *t)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not recorded: times of samples", t->timeless, "their order counts as 1, 2, 3 ns"},
        {"not available: values", t->unavailable, "N/A, not supported, or empty"},
        {"not loaded: cells that are not numbers", t->words, NULL},
        {"skipped: lines that are not samples", t->strange, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(t->builder, t->source, rows[i].item, rows[i].count, rows[i].detail);
    if (t->zoned)
        nl_builder_clock(t->builder, t->source, "unix", 0);
    else if (t->dated)
        nl_builder_clock(t->builder, t->source, "local time, zone not recorded", NL_NULL_I64);
}

static bool gputelemetry_load(struct nl_reading *reading, struct nl_err *err)
{
    struct nl_str head = {(const char *)reading->input->head, reading->input->head_len};
    enum telemetry_kind kind = telemetry_kind(head);
    struct telemetry t = {.builder = reading->builder,
                          .stage = nl_stage_new(reading->builder),
                          .job = reading->job,
                          .source = reading->source};
    nl_stage_begin(t.stage, reading->source, 0);
    t.process = nl_builder_process(reading->builder, reading->source, NL_NULL_I64);
    bool done;
    switch (kind) {
    case TELEMETRY_QUERY: done = telemetry_query(&t, reading->stream, err); break;
    case TELEMETRY_REPORT:
    case TELEMETRY_XML: done = telemetry_report(&t, kind, reading->stream, err); break;
    case TELEMETRY_DYNOLOG: done = telemetry_dynolog(&t, reading->stream, err); break;
    case TELEMETRY_BANDWIDTH: done = telemetry_bandwidth(&t, reading->stream, err); break;
    case TELEMETRY_BANDWIDTH_JSON: done = telemetry_bandwidth_json(&t, reading->stream, err); break;
    default: done = telemetry_lines(&t, kind, reading->stream, err); break;
    }
    if (done && !t.values)
        done = nl_fail(err, NL_FORMAT, "this telemetry has no values");
    report_coverage(&t);
    nl_idmap_release(&t.series);
    return done;
}

const struct nl_format nl_format_gputelemetry = {
    .name = "gpu-telemetry",
    .title = "nvidia-smi or DCGM telemetry",
    .sniff = gputelemetry_sniff,
    .load = gputelemetry_load,
    .feed = NL_FEED_STREAM,
    .doc = "docs/formats/gputelemetry.md",
};
