/*
 * What nvbandwidth prints (ingest/telemetry/gputelemetry_bandwidth.c), as text and as JSON:
 * matrices become values of the column's GPU, named by the test and, where rows are GPUs too, by
 * the row. Small logs, read by hand.
 */
#include "check.h"

#include <stdlib.h>

#include "loadtext.h"
#include "ingest/telemetry/gputelemetry.h"
#include "ingest/formats.h"

#define LOG                                                                                        \
    "nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 12080\n"     \
    "CUDA Driver Version: 12090\nDriver Version: 572.83\n\nsomehost\n"
#define TO_GPU  "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
#define BETWEEN "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
#define HEAD    "           0         1\n"

#define JSON                                                                                       \
    "{\"nvbandwidth\": {\"CUDA Runtime Version\": 12080, \"CUDA Driver Version\": 12090, "         \
    "\"Driver Version\": \"572.83\", \"Version\": \"v0.8\", "
#define J_TO_GPU "\"bandwidth_description\": \"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\""
#define J_BETWEEN                                                                                  \
    "\"bandwidth_description\": \"memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\""

#define N64  "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
#define N128 N64 N64

static struct nl_trace *load(const char *text)
{
    struct nl_err err;
    struct nl_trace *trace = loadtext(&nl_format_gputelemetry, text, strlen(text), 1, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

/* "0 test=26.03@0;" of all values in the order of the file; behind @ the tests
 * before it that have values. */
static const char *say(const struct nl_trace *t)
{
    static char text[4000];
    size_t at = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < t->counter.rows; i++) {
        uint32_t series = t->counter.series[i], lane = t->series.lane[series];
        struct nl_str name = nl_trace_name(t, t->series.name[series]);
        CHECK(nl_str_is(nl_trace_name(t, t->series.unit[series]), "GB/s"));
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%d %.*s=%g@%d;",
                             (int)t->device.ordinal[t->lane.device[lane]], (int)name.len, name.ptr,
                             t->counter.value[i], (int)(t->counter.ts[i] - t->counter.ts[0]));
    }
    return text;
}

static const struct {
    const char *what, *text, *want;
} logs[] = {
    {"to the GPUs", LOG "Running h2d.\n" TO_GPU HEAD " 0     26.03     25.94\n",
     "0 h2d=26.03@0;1 h2d=25.94@0;"},
    {"between them, where a GPU and itself has none",
     LOG "Running d2d.\n" BETWEEN HEAD " 0  N/A  276.07\n 1  276.19  0.00\n",
     "1 d2d: GPU 0=276.07@0;0 d2d: GPU 1=276.19@0;"},
    {"a GPU and itself, measured", LOG "Running d2d.\n" BETWEEN HEAD " 0  5  0.00\n 1  0  7\n",
     "0 d2d: GPU 0=5@0;1 d2d: GPU 0=0@0;0 d2d: GPU 1=0@0;1 d2d: GPU 1=7@0;"},
    {"zero to a GPU is a value", LOG "Running h2d.\n" TO_GPU HEAD " 0  0.00  1\n",
     "0 h2d=0@0;1 h2d=1@0;"},
    {"two tests",
     LOG "Running a.\n" TO_GPU HEAD " 0 1 2\n\nSUM a 3\n\nRunning b.\n" TO_GPU HEAD " 0 3 4\n",
     "0 a=1@0;1 a=2@0;0 b=3@1;1 b=4@1;"},
    {"the second of which is not between GPUs",
     LOG "Running a.\n" BETWEEN HEAD " 0 N/A 2\n\nRunning b.\n" HEAD " 0 3 4\n",
     "1 a: GPU 0=2@0;0 b=3@1;1 b=4@1;"},
    {"an empty line ends a matrix", LOG "Running a.\n" TO_GPU HEAD " 0 1 2\n\n 0 3 4\n 1 5 6\n",
     "0 a=1@0;1 a=2@0;0 a=5@0;1 a=6@0;"}, /* and a line of numbers begins one */
    {"a word ends it", LOG "Running a.\n" TO_GPU HEAD " 0 1 2\nSUM a 3\n 0 3 4\n",
     "0 a=1@0;1 a=2@0;"},
    {"rows below zero", LOG "Running a.\n" TO_GPU HEAD " -1 1 2\n" HEAD " 1024 3\n 1025 4\n",
     "0 a=3@0;"},
    {"numbers before a test", LOG HEAD " 0 9 9\n\nRunning a.\n" TO_GPU HEAD " 0 1\n", "0 a=1@0;"},
    {"a long name", LOG "Running " N128 "z.\n" TO_GPU HEAD " 0 1\n", "0 " N128 "=1@0;"},
    {"a long name between GPUs", LOG "Running " N128 "z.\n" BETWEEN HEAD " 1024 1\n",
     "0 " N128 ": GPU 1024=1@0;"},
    {"JSON",
     JSON "\"testcases\": [{\"name\": \"a\", " J_TO_GPU
          ", \"bandwidth_matrix\": [[\"1\", 2.5]]}]}}",
     "0 a=1@0;1 a=2.5@0;"},
    {"JSON whose matrix stands first",
     JSON "\"testcases\": [{\"bandwidth_matrix\": [[\"N/A\", 2], [3, 0.0]], " J_BETWEEN
          ", \"name\": \"a\"}]}}",
     "1 a: GPU 0=2@0;0 a: GPU 1=3@0;"},
    {"two tests of JSON, the second without a name",
     JSON "\"testcases\": [{\"name\": \"a\", " J_BETWEEN
          ", \"bandwidth_matrix\": [[0, 2]]}, 7, {\"x\": [1], "
          "\"bandwidth_matrix\": [[5]]}]}}",
     "1 a: GPU 0=2@0;0 =5@1;"},
    {"what is no number in a matrix",
     JSON "\"testcases\": [{\"name\": \"a\", \"bandwidth_matrix\": [[null, [1], {\"b\": 2}, 4], 5, "
          "[6]]}]}}",
     "3 a=4@0;0 a=6@0;"},
    {"a test without a matrix",
     JSON "\"testcases\": [{\"name\": \"w\", \"status\": \"Waived\"}, {\"name\": \"a\", "
          "\"bandwidth_matrix\": [[1]]}, {\"name\": \"b\", \"bandwidth_matrix\": [[2]]}]}}",
     "0 a=1@0;0 b=2@1;"},
    {"a long name of JSON",
     JSON "\"testcases\": [{\"name\": \"" N128 "z\", \"bandwidth_matrix\": [[1]]}]}}",
     "0 " N128 "=1@0;"},
    {"members beside",
     "{\"a\": {\"b\": [1]}, \"nvbandwidth\": {\"Version\": \"v0.8\", \"x\": {\"testcases\": []}, "
     "\"testcases\": [{\"name\": \"a\", \"bandwidth_matrix\": [[1]]}]}, \"c\": 2}",
     "0 a=1@0;"},
};

static void values_of_logs(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(logs); i++) {
        check_case(logs[i].what);
        struct nl_trace *t = load(logs[i].text);
        REQUIRE(t);
        CHECK_TEXT(say(t), logs[i].want);
        nl_trace_free(t);
    }
}

/* Names of GPUs end before their bus; facts of both forms are the same. */
static void facts(void)
{
    static const char *const texts[] = {
        LOG "Device 0: NVIDIA A (00000000:01:00)\nDevice 1: B (c)\nDevice 2: C:d\nDevice 4097: "
            "F\nDevice x: G\n"
            "Running a.\n" TO_GPU HEAD " 0 1\n",
        JSON "\"GPU Device list\": [\"0: NVIDIA A (00000000:01:00)\", \"1: B (c)\", \"2: C:d\", "
             "\"4097: F\", \"x: G\", "
             "\"no colon\", 5], \"testcases\": [{\"name\": \"a\", \"bandwidth_matrix\": [[1]]}]}}"};
    static const char *const names[] = {"NVIDIA A", "B (c)", "C:d"};
    static const char *const known[][2] = {{"CUDA Runtime Version", "12080"},
                                           {"CUDA Driver Version", "12090"},
                                           {"Driver Version", "572.83"}};
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++) {
        check_case(i ? "JSON" : "text");
        struct nl_trace *t = load(texts[i]);
        REQUIRE(t);
        CHECK_INT(t->device.rows, 3);
        for (uint32_t d = 0; d < t->device.rows; d++) {
            CHECK(t->device.ordinal[d] < 3 &&
                  nl_str_is(nl_trace_name(t, t->device.name[d]), names[t->device.ordinal[d]]));
            CHECK(nl_str_is(nl_trace_name(t, t->device.vendor[d]), "nvidia"));
        }
        for (size_t k = 0; k < CHECK_LENGTH(known); k++) {
            bool found = false;
            for (uint32_t m = 0; m < t->meta.rows; m++)
                found |= nl_str_is(nl_trace_name(t, t->meta.key[m]), known[k][0]) &&
                         nl_str_is(nl_trace_name(t, t->meta.value[m]), known[k][1]);
            CHECK(found);
        }
        CHECK(nl_str_is(nl_trace_name(t, t->source.tool[0]), "nvbandwidth v0.8"));
        nl_trace_free(t);
    }
}

CHECK_MAIN("bandwidthlog", {"values of logs", values_of_logs}, {"facts", facts})
