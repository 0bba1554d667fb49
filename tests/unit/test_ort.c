/* ONNX Runtime profiles: what the corpus files hold, worked out by hand. */
#include "corpus.h"

static const struct {
    const char *file;
    uint32_t ops, ranges, steps, kernels, copies;
    int64_t damaged, no_time;
} files[] = {
    {"cuda.json", 3, 4, 1, 4, 1, 0, 0},
    {"tensorrt_fused.json", 1, 4, 1, 0, 0, 0, 0},
    {"unescaped.json", 5, 4, 1, 0, 0, 0, 0},
    {"release_1.3.json", 1, 4, 1, 0, 0, 0, 0},
    {"parallel_and_subgraph.json", 4, 6, 2, 0, 0, 0, 0},
    {"cut_in_event.json", 1, 4, 1, 0, 0, 0, 0},
    {"damaged_lines.json", 3, 4, 1, 0, 0, 2, 1},
    {"more_arguments.json", 1, 4, 1, 0, 0, 0, 0},
};

static void counts_of_files(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        check_case(files[i].file);
        struct nl_trace *trace = corpus_ingest("ort", files[i].file);
        REQUIRE(trace);
        CHECK_INT(trace->op.rows, files[i].ops);
        CHECK_INT(trace->node.rows, files[i].ops);
        CHECK_INT(trace->nvtx.rows, files[i].ranges);
        CHECK_INT(trace->step.rows, files[i].steps);
        CHECK_INT(trace->kernel.rows, files[i].kernels);
        CHECK_INT(trace->copy.rows, files[i].copies);
        CHECK_INT(corpus_coverage(trace, "skipped: damaged events"), files[i].damaged);
        CHECK_INT(corpus_coverage(trace, "skipped: events without a time"), files[i].no_time);
        nl_trace_free(trace);
    }
}

/* Kernels have the number of their node; one has none. */
static void kernels_know_their_node(void)
{
    static const char *const owners[] = {"conv1", "conv1", "conv2", NULL};
    struct nl_trace *trace = corpus_ingest("ort", "cuda.json");
    REQUIRE(trace);
    REQUIRE(trace->kernel.rows == 4);
    for (uint32_t i = 0; i < 4; i++) {
        const char *owner = NULL;
        for (uint32_t o = 0; o < trace->op.rows; o++)
            if (trace->op.external_id[o] == trace->kernel.external_id[i])
                owner = nl_trace_name(trace, trace->node.name[o]).ptr;
        check_case(owners[i] ? owners[i] : "none");
        CHECK((owner == NULL) == (owners[i] == NULL));
        if (owner && owners[i])
            CHECK(strncmp(owner, owners[i], strlen(owners[i])) == 0);
    }
    CHECK_INT(trace->kernel.grid_y[1], 2);
    CHECK_INT(trace->copy.kind[0], NL_COPY_HTOD);
    CHECK_INT(corpus_coverage(trace, "GPU events without a node"), 2);
    nl_trace_free(trace);
}

static void names_are_as_written(void)
{
    static const char *const names[] = {"say \"hi\", conv", "C:\\new\\table\\conv", "α/卷积",
                                        "ends with \"quotes\"", "Conv"};
    struct nl_trace *trace = corpus_ingest("ort", "unescaped.json");
    REQUIRE(trace);
    REQUIRE(trace->node.rows == CHECK_LENGTH(names));
    for (uint32_t i = 0; i < trace->node.rows; i++)
        CHECK_STR(nl_trace_name(trace, trace->node.name[i]), names[i]);
    CHECK_STR(nl_trace_name(trace, trace->op.shapes[0]), "[[1,3,8,8],[4,3,3,3]]");
    CHECK_STR(nl_trace_name(trace, trace->op.dtypes[0]), "[\"float\",\"float\"]");
    CHECK_INT(trace->node.parameter_bytes[0], 432);
    CHECK_INT(trace->node.output_bytes[0], 576);
    nl_trace_free(trace);
}

/* A run without sizes and without node_index. */
static void old_releases_know_less(void)
{
    struct nl_trace *trace = corpus_ingest("ort", "release_1.3.json");
    REQUIRE(trace);
    CHECK_INT(trace->node.index[0], 3);
    CHECK(trace->node.parameter_bytes[0] == NL_NULL_U64);
    CHECK_INT(trace->node.input_shapes[0], NL_NO_NAME);
    CHECK_INT(corpus_coverage(trace, "not loaded: fence markers"), 2);
    nl_trace_free(trace);
}

CHECK_MAIN("ort", {"counts of files", counts_of_files},
           {"kernels know their node", kernels_know_their_node},
           {"names are as written", names_are_as_written},
           {"old releases know less", old_releases_know_less})
