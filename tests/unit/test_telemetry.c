/*
 * What watches GPUs from outside (ingest/telemetry): times against the C library's calendar,
 * the kinds of files by their first lines as the tools write them, and the values of small
 * tables, worked out by hand.
 */
#include "check.h"

#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "loadtext.h"
#include "ingest/telemetry/gputelemetry.h"
#include "ingest/formats.h"

/* ---- Times ---- */

static const struct {
    const char *text;
    int year, month, day, hour, minute, second; /* year 0: it is no time */
    int64_t ns;                                 /* beyond the second */
    int east;                                   /* minutes of its zone */
    bool zoned;
} times[] = {
    {"2024/10/29 19:00:23.123", 2024, 10, 29, 19, 0, 23, 123000000, 0, false},
    {"2024-10-29T19:00:23", 2024, 10, 29, 19, 0, 23, 0, 0, false},
    {"2024-10-29_19:00:23,5", 2024, 10, 29, 19, 0, 23, 500000000, 0, false},
    {" 2024/10/29 19:00:23 ", 2024, 10, 29, 19, 0, 23, 0, 0, false},
    {"2024-10-29T19:00:23Z", 2024, 10, 29, 19, 0, 23, 0, 0, true},
    {"2024-10-29T19:00:23.25z", 2024, 10, 29, 19, 0, 23, 250000000, 0, true},
    {"2024-10-29T19:00:23+08:30", 2024, 10, 29, 19, 0, 23, 0, 510, true},
    {"2024-10-29T19:00:23-0530", 2024, 10, 29, 19, 0, 23, 0, -330, true},
    {"2024-10-29T19:00:23+02", 2024, 10, 29, 19, 0, 23, 0, 120, true},
    {"2024-10-29T19:00:23+2", 2024, 10, 29, 19, 0, 23, 0, 0, false},
    {"2024-02-29 00:00:00", 2024, 2, 29, 0, 0, 0, 0, 0, false},
    {"2024-03-01 00:00:00", 2024, 3, 1, 0, 0, 0, 0, 0, false},
    {"2023-02-28 23:59:59", 2023, 2, 28, 23, 59, 59, 0, 0, false},
    {"2000-02-29 12:00:00", 2000, 2, 29, 12, 0, 0, 0, 0, false},
    {"2000-03-01 12:00:00", 2000, 3, 1, 12, 0, 0, 0, 0, false},
    {"1999-12-31 12:00:00", 1999, 12, 31, 12, 0, 0, 0, 0, false},
    {"2100-02-28 12:00:00", 2100, 2, 28, 12, 0, 0, 0, 0, false},
    {"2100-03-01 12:00:00", 2100, 3, 1, 12, 0, 0, 0, 0, false},
    {"1971-01-01 00:00:00", 1971, 1, 1, 0, 0, 0, 0, 0, false},
    {"2200-12-31 00:00:00", 2200, 12, 31, 0, 0, 0, 0, 0, false},
    {"2024-01-31 00:00:00.123456789", 2024, 1, 31, 0, 0, 0, 123456789, 0, false},
    {"2024-01-31 00:00:00.1234567899", 2024, 1, 31, 0, 0, 0, 123456789, 0, false},
    {"600000000", 1989, 1, 5, 10, 40, 0, 0, 0, false},
    {"600000001", 1989, 1, 5, 10, 40, 1, 0, 0, true},
    {"1700000000.25", 2023, 11, 14, 22, 13, 20, 250000000, 0, true},
    {"2201-01-01 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"1970-01-01 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024-00-10 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024-13-10 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024-10-00 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024-10-32 00:00:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024.10.29 19:00:23", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024/10/29x19:00:23", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"2024/10/29 19:00", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"24/10/29 19:00:23", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"-1", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"timestamp", 0, 0, 0, 0, 0, 0, 0, 0, false},
    {"", 0, 0, 0, 0, 0, 0, 0, 0, false},
};

static void all_times(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(times); i++) {
        struct telemetry t = {.source = 0};
        int64_t ns = -1;
        struct tm civil = {.tm_year = times[i].year - 1900,
                           .tm_mon = times[i].month - 1,
                           .tm_mday = times[i].day,
                           .tm_hour = times[i].hour,
                           .tm_min = times[i].minute,
                           .tm_sec = times[i].second};
        bool told = telemetry_time(&t, nl_str(times[i].text), &ns);
        check_case(times[i].text);
        CHECK_INT(told, times[i].year != 0);
        if (!times[i].year)
            continue;
        int64_t seconds = (int64_t)timegm(&civil) - 60 * times[i].east;
        CHECK_INT(ns, seconds * 1000000000 + times[i].ns);
        CHECK_INT(t.zoned, times[i].zoned);
        CHECK(t.dated);
    }
}

/* ---- Kinds ---- */

static void kinds(void)
{
    static const struct {
        const char *head;
        enum telemetry_kind kind;
    } heads[] = {
        {"# gpu   pwr\n", TELEMETRY_DMON},
        {"#gpu   pwr\n", TELEMETRY_DMON},
        {"#Date       Time        gpu\n", TELEMETRY_DMON},
        {"# Date       Time        gpu\n", TELEMETRY_DMON},
        {"#Time        gpu\n", TELEMETRY_DMON},
        {"# Time        gpu\n", TELEMETRY_DMON},
        {"#Date       Time        cpu\n", TELEMETRY_NONE},
        {"# Time        x\n", TELEMETRY_NONE},
        {"# Entity  GRACT\n", TELEMETRY_DCGM},
        {"#Entity  GRACT\n", TELEMETRY_DCGM},
        {"\n==============NVSMI LOG==============\n", TELEMETRY_REPORT},
        {"nvbandwidth Version: v0.5\n", TELEMETRY_BANDWIDTH},
        {"<nvidia_smi_log>\n", TELEMETRY_XML},
        {"<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"x\">\n", TELEMETRY_XML},
        {"DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 139\n", TELEMETRY_EXPORTER},
        {"# HELP DCGM_FI_DEV_SM_CLOCK x\n", TELEMETRY_EXPORTER},
        {"# HELP other x\n", TELEMETRY_NONE},
        {"{\n\"nvbandwidth\" : {\n", TELEMETRY_BANDWIDTH_JSON},
        {"{\n\n\n\"nvbandwidth\" : {\n", TELEMETRY_NONE},
        {"timestamp, utilization.gpu [%]\n", TELEMETRY_QUERY},
        {"index, memory.used [MiB]\n", TELEMETRY_QUERY},
        {"uuid, power.draw [W]\n", TELEMETRY_QUERY},
        {"temperature.gpu, clocks.sm\n", TELEMETRY_QUERY},
        {"pstate, pcie.link.gen.max\n", TELEMETRY_QUERY},
        {"fan.speed [%], index\n", TELEMETRY_QUERY},
        {"fan.speed [%], x\n", TELEMETRY_NONE},
        {"timestamp, index, uuid\n", TELEMETRY_NONE},
        {"timestamp utilization.gpu\n", TELEMETRY_NONE},
        {"2024/10/29 19:00:23.123, 5 %\n", TELEMETRY_QUERY},
        {"2024/10/29 19:00:23.123 5\n", TELEMETRY_NONE},
        {"2024-10-29 19:00:23.123, 5\n", TELEMETRY_NONE},
        {"a\nb\ntimestamp, utilization.gpu [%]\n", TELEMETRY_QUERY},
        {"a\nb\nc\ntimestamp, utilization.gpu [%]\n", TELEMETRY_NONE},
        {"a\nb\nc\nd\n# gpu   pwr", TELEMETRY_DMON},
        {"", TELEMETRY_NONE},
    };
    for (size_t i = 0; i < CHECK_LENGTH(heads); i++) {
        check_case(heads[i].head);
        CHECK_INT(telemetry_kind(nl_str(heads[i].head)), heads[i].kind);
    }
    /* what may come after words is looked for in 400 lines */
    for (size_t lines = 399; lines <= 400; lines++) {
        char text[500] = "";
        memset(text, '\n', lines);
        strcpy(text + lines, "# gpu pwr");
        CHECK_INT(telemetry_kind(nl_str(text)), lines < 400 ? TELEMETRY_DMON : TELEMETRY_NONE);
    }
}

/* ---- Values ---- */

static struct nl_trace *load(const char *text)
{
    struct nl_err err;
    struct nl_trace *trace = loadtext(&nl_format_gputelemetry, text, strlen(text), 1, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "gpu0 pwr[W] 0s 50; …" of all values, sorted; seconds since the first. */
static void say(const struct nl_trace *t, char *text, size_t size)
{
    char lines[64][80];
    size_t count = 0;
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < t->counter.rows; i++)
        first = t->counter.ts[i] < first ? t->counter.ts[i] : first;
    for (uint32_t i = 0; i < t->counter.rows && count < 64; i++) {
        uint32_t series = t->counter.series[i], lane = t->series.lane[series];
        uint32_t device = lane == NL_NULL_ROW ? NL_NULL_ROW : t->lane.device[lane];
        struct nl_str name = nl_trace_name(t, t->series.name[series]);
        struct nl_str unit = nl_trace_name(t, t->series.unit[series]);
        snprintf(lines[count++], sizeof lines[0], "%d %.*s[%.*s] %g %g;",
                 device == NL_NULL_ROW ? -1 : (int)t->device.ordinal[device], (int)name.len,
                 name.ptr, (int)unit.len, unit.ptr, (double)(t->counter.ts[i] - first) / 1e9,
                 t->counter.value[i]);
    }
    qsort(lines, count, sizeof lines[0], by_text);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s", lines[i]);
}

static const struct {
    const char *what, *text, *want;
} tables[] = {
    {"a query",
     "timestamp, index, utilization.gpu [%], power.draw [W]\n"
     "2024/10/29 19:00:23.000, 0, 5 %, 60.5 W\n"
     "2024/10/29 19:00:24.500, 1, 7 %, [N/A]\n",
     "0 power.draw[W] 0 60.5;0 utilization.gpu[%] 0 5;1 utilization.gpu[%] 1.5 7;"},
    {"devices by their UUIDs",
     "timestamp, uuid, memory.used [MiB]\n"
     "2024/10/29 19:00:23.000, GPU-b, 5\n"
     "2024/10/29 19:00:23.000, GPU-a, 6\n"
     "2024/10/29 19:00:24.000, GPU-b, 7\n",
     "0 memory.used[MiB] 0 5;0 memory.used[MiB] 1 7;1 memory.used[MiB] 0 6;"},
    {"dmon", "# gpu   pwr  gtemp\n# Idx     W      C\n    0    50     30\n    1    60      -\n",
     "0 gtemp[C] 0 30;0 pwr[W] 0 50;1 pwr[W] 0 60;"},
    {"dmon past midnight",
     "#Time     gpu   pwr\n#HH:MM:SS Idx     W\n"
     " 23:59:58 0 50\n 00:00:01 0 60\n 00:00:02 0 61\n",
     "0 pwr[W] 0 50;0 pwr[W] 3 60;0 pwr[W] 4 61;"},
    {"a little back is the same day",
     "#Time     gpu   pwr\n#HH:MM:SS Idx     W\n"
     " 13:00:00 0 50\n 01:00:00 0 60\n",
     "0 pwr[W] 0 60;0 pwr[W] 43200 50;"},
    {"over half a day back is the next",
     "#Time     gpu   pwr\n#HH:MM:SS Idx     W\n"
     " 13:00:01 0 50\n 01:00:00 0 60\n",
     "0 pwr[W] 0 50;0 pwr[W] 43199 60;"},
    {"dmon with dates",
     "#Date Time     gpu   pwr\n#YYYYMMDD HH:MM:SS Idx     W\n"
     " 20241231 23:59:59 0 50\n 20250101 01:01:01 0 60\n",
     "0 pwr[W] 0 50;0 pwr[W] 3662 60;"},
    {"rows of other lengths are none", "# gpu   pwr\n# Idx     W\n 0 50 1\n 0\n 0 51\n x 52\n",
     "0 pwr[W] 0 51;"},
    {"numbers, words and hex",
     "timestamp, index, a [x], b [x], c [x], utilization.gpu [%]\n"
     "2024/10/29 19:00:23.000, 0, 0x1f, Default, 16x, -2.5e1\n",
     "0 c[x] 0 16;0 utilization.gpu[%] 0 -25;"},
    /* behind a number sixteen letters are a unit, with the space */
    {"units of the cells",
     "timestamp, index, utilization.gpu, power.draw\n"
     "2024/10/29 19:00:23.000, 0, 5 %, 1234 fifteen_letters\n"
     "2024/10/29 19:00:24.000, 0, 6 %, 1234 sixteen_letters_\n",
     "0 power.draw[fifteen_letters] 0 1234;0 utilization.gpu[%] 0 5;0 utilization.gpu[%] 1 6;"},
};

static void values(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(tables); i++) {
        struct nl_trace *t = load(tables[i].text);
        char said[4096];
        check_case(tables[i].what);
        REQUIRE(t);
        say(t, said, sizeof said);
        CHECK_TEXT(said, tables[i].want);
        nl_trace_free(t);
    }
}

/* Numbers of devices end at the same one in all layouts. */
static void last_device(void)
{
    static const char *const texts[] = {
        "timestamp, index, utilization.gpu [%]\n"
        "2024/10/29 19:00:23.000, 4095, 5 %\n2024/10/29 19:00:23.000, 4096, 6 %\n",
        "# gpu   pwr\n# Idx     W\n 4095 50\n 4096 51\n",
        "DCGM_FI_DEV_SM_CLOCK{gpu=\"4095\"} 1\nDCGM_FI_DEV_SM_CLOCK{gpu=\"4096\"} 2\n",
        "I20250810 12:00:10.000002 78 Logger.cpp:52] time = 2025-08-10T12:00:10.250Z data = "
        "{\"device\":4095,\"gpu_frequency_mhz\":1410}\n"
        "I20250810 12:00:10.000002 78 Logger.cpp:52] time = 2025-08-10T12:00:10.250Z data = "
        "{\"device\":4096,\"gpu_frequency_mhz\":1411}\n",
        "nvbandwidth Version: v0.5\n\nDevice 4095: A\nDevice 4096: B\n\nRunning a.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     26.03\n"};
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++) {
        struct nl_trace *t = load(texts[i]);
        int64_t last = -1;
        check_case(texts[i]);
        REQUIRE(t);
        for (uint32_t row = 0; row < t->device.rows; row++)
            last = t->device.ordinal[row] > last ? t->device.ordinal[row] : last;
        CHECK_INT(last, TELEMETRY_MAX_DEVICES - 1);
        nl_trace_free(t);
    }
}

CHECK_MAIN("telemetry", {"times", all_times}, {"kinds of files", kinds},
           {"values of small tables", values}, {"the last device", last_device})
