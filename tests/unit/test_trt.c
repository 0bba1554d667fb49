/* TensorRT files that belong together: layers get their times and their details. */
#include <unistd.h>

#include "base/units.h"
#include "tables/analyze.h"
#include "corpus.h"

static const struct {
    const char *folder, *name, *tactic;
    int64_t total;
} layers[] = {
    {"two_engines", "Conv_0", "fp16_kernel_0", 1000000},
    {"two_engines", "Conv_1", "fp16_kernel_1", 400000},
    {"two_engines", "Conv_0", "fp32_kernel_0", 2000000},
    {"two_engines", "Conv_1", "fp32_kernel_1", 400000},
    {"engine", "only in the graph", "0x0000000000000000", NL_NULL_I64},
    {"engine", "Conv_0 + Relu_1", "kernel_one", 3200000},
    {"engine", "Conv_2", "kernel_two", 1500000},
    {"engine", "Reshape_7", "0x0000000000000000", 0},
};

static void layers_are_joined(void)
{
    static const char *const folders[] = {"two_engines", "engine"};
    size_t at = 0;
    for (size_t f = 0; f < CHECK_LENGTH(folders); f++) {
        struct nl_trace *trace = corpus_ingest("tensorrt", folders[f]);
        REQUIRE(trace);
        check_case(folders[f]);
        CHECK_INT(trace->node.rows, 4);
        for (uint32_t row = 0; row < trace->node.rows; row++, at++) {
            CHECK_STR(nl_trace_name(trace, trace->node.name[row]), layers[at].name);
            CHECK_STR(nl_trace_name(trace, trace->node.tactic[row]), layers[at].tactic);
            CHECK_INT(trace->node.total_ns[row], layers[at].total);
        }
        nl_trace_free(trace);
    }
}

/* More layers than files of one engine may lie apart: rows of one file are
 * one part, not a part each. */
static void large_engines_are_joined(void)
{
    enum { LAYERS = 150 };
    char folder[] = "/tmp/trt-layers-XXXXXX", times[64], details[64];
    REQUIRE(mkdtemp(folder));
    snprintf(times, sizeof times, "%s/net.profile.json", folder);
    snprintf(details, sizeof details, "%s/net.graph.json", folder);
    FILE *profile = fopen(times, "w"), *graph = fopen(details, "w");
    REQUIRE(profile && graph);
    fprintf(profile, "[{\"count\": 10}\n");
    fprintf(graph, "{\"Layers\": [");
    for (int i = 0; i < LAYERS; i++) {
        fprintf(
            profile,
            ",{\"name\": \"Conv_%d\", \"timeMs\": %d, \"averageMs\": %d.0, \"percentage\": 1}\n", i,
            10 * (i + 1), i + 1);
        fprintf(graph,
                "%s{\"Name\": \"Conv_%d\", \"LayerType\": \"CaskConvolution\", \"TacticName\": "
                "\"kernel_%d\"}\n",
                i ? "," : "", i, i);
    }
    fprintf(profile, "]\n");
    fprintf(graph, "]}\n");
    REQUIRE(fclose(profile) == 0 && fclose(graph) == 0);
    struct nl_trace *trace = corpus_ingest_path(folder);
    unlink(times);
    unlink(details);
    rmdir(folder);
    REQUIRE(trace);
    CHECK_INT(trace->node.rows, LAYERS);
    for (uint32_t row = 0; row < trace->node.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->node.name[row]);
        struct nl_str tactic = nl_trace_name(trace, trace->node.tactic[row]);
        int64_t number = -1, other = -2;
        CHECK(nl_parse_i64((struct nl_str){name.ptr + 5, name.len - 5}, &number));
        CHECK(tactic.len > 7 &&
              nl_parse_i64((struct nl_str){tactic.ptr + 7, tactic.len - 7}, &other));
        CHECK_INT(other, number);
        CHECK_INT(trace->node.total_ns[row], 10000000 * (number + 1));
    }
    nl_trace_free(trace);
}

/* The words of TensorRT's inspector, and the element type that a layer
 * without weights has by them. */
static void words_of_types(void)
{
    static const char *const words[][2] = {
        {"Row major linear FP32", "FP32"},
        {"Channel major FP16 format where channel % 8 == 0", "FP16"},
        {"Row major linear BF16 format", "BF16"},
        {"Four wide channel vectorized row major Int8 format", "INT8"},
        {"Row major INT8 format", "INT8"},
        {"Row major linear UINT8 format", "UINT8"},
        {"Row major linear FP8 format", "FP8"},
        {"Row major linear FP4 format", "FP4"},
        {"Row major linear INT4 format", "INT4"},
        {"Row major linear Int4 format", "INT4"},
        {"Row major linear INT64 format", "INT64"},
        {"Row major Int64 format", "INT64"},
        {"Row major INT32 format", "INT32"},
        {"Row major Int32 format", "INT32"},
        {"Row major linear BOOL", "BOOL"},
        {"Row major Bool", "BOOL"},
        {"Half", "FP16"},
        {"Float", "FP32"},
    };
    char folder[] = "/tmp/trt-types-XXXXXX", path[64];
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/net.graph.json", folder);
    FILE *graph = fopen(path, "w");
    REQUIRE(graph);
    fprintf(graph, "{\"Layers\": [");
    for (size_t i = 0; i < CHECK_LENGTH(words); i++)
        fprintf(graph,
                "%s{\"Name\": \"%s\", \"LayerType\": \"NoOp\", \"Inputs\": [{\"Name\": \"x\", "
                "\"Dimensions\": [1], \"Format/Datatype\": \"%s\"}]}\n",
                i ? "," : "", words[i][0], words[i][0]);
    fprintf(graph, "]}\n");
    REQUIRE(fclose(graph) == 0);
    struct nl_trace *trace = corpus_ingest_path(folder);
    unlink(path);
    rmdir(folder);
    REQUIRE(trace);
    CHECK_INT(trace->node.rows, CHECK_LENGTH(words));
    for (uint32_t row = 0; row < trace->node.rows; row++) {
        size_t i = 0;
        while (i < CHECK_LENGTH(words) &&
               !nl_str_is(nl_trace_name(trace, trace->node.name[row]), words[i][0]))
            i++;
        REQUIRE(i < CHECK_LENGTH(words));
        check_case(words[i][0]);
        CHECK_STR(nl_trace_name(trace, trace->node.precision[row]), words[i][1]);
    }
    nl_trace_free(trace);
}

static void one_file_is_not_joined(void)
{
    struct nl_trace *trace = corpus_ingest("tensorrt", "profile_without_median.json");
    REQUIRE(trace);
    CHECK_INT(trace->node.rows, 4); /* two layers of one name stay two */
    CHECK_INT(trace->node.median_ns[0], NL_NULL_I64);
    CHECK_STR(nl_trace_name(trace, trace->node.name[1]), "say \"hi\" layer");
    nl_trace_free(trace);
}

static void inferences_are_steps(void)
{
    struct nl_trace *trace = corpus_ingest("tensorrt", "engine/net.engine.timing.json");
    REQUIRE(trace);
    CHECK_INT(trace->step.rows, 12);
    CHECK_INT(trace->step.dur[1], 531000); /* 0.02 + 0.501 + 0.01 ms */
    CHECK_INT(trace->graph.rows, 12);
    CHECK_INT(trace->copy.rows, 24);
    CHECK_INT(trace->api.rows, 12);
    nl_trace_free(trace);
}

/* engine: layers of 3.2, 1.5 and 0 ms over 10 executions, two of them convolutions. */
static void layers_are_answered(void)
{
    struct nl_trace *trace = corpus_ingest("tensorrt", "engine");
    REQUIRE(trace);
    struct nl_analyze_options options = {.limit = 0};
    struct nl_err err;
    struct nl_result *rows =
        nl_analysis_run(nl_analysis_find("model_layers"), trace, &options, NULL, &err);
    REQUIRE(rows);
    CHECK_INT(rows->rows, 3);
    CHECK_STR(nl_result_cell(rows, 0, 0)->text, "Conv_0 + Relu_1");
    CHECK_INT(nl_result_cell(rows, 0, 4)->i64, 3200000);
    CHECK_NEAR(nl_result_cell(rows, 0, 5)->f64, 3.2 / 4.7, 1e-12);
    nl_result_free(rows);
    rows = nl_analysis_run(nl_analysis_find("node_types"), trace, &options, NULL, &err);
    REQUIRE(rows);
    CHECK_INT(rows->rows, 2);
    CHECK_STR(nl_result_cell(rows, 0, 0)->text, "CaskConvolution");
    CHECK_INT(nl_result_cell(rows, 0, 2)->i64, 2);
    CHECK_INT(nl_result_cell(rows, 0, 3)->i64, 20);
    CHECK_INT(nl_result_cell(rows, 0, 4)->i64, 4700000);
    nl_result_free(rows);
    nl_trace_free(trace);
}

CHECK_MAIN("trt", {"layers are joined", layers_are_joined},
           {"large engines are joined", large_engines_are_joined},
           {"words of types", words_of_types}, {"one file is not joined", one_file_is_not_joined},
           {"inferences are steps", inferences_are_steps},
           {"layers are answered", layers_are_answered})
