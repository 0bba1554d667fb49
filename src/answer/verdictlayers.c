/*
 * verdictlayers — the answer for the layers of a compiled model (TensorRT's --exportProfile): what
 * a run takes, which layers have most of it, and what the layers' kinds and types leave to win. A
 * profile holds sums over its runs; a run is what a reader compares, so sums are divided where all
 * layers ran equally often.
 */
#include "answer/judge.h"
#include "answer/namesums.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/lookup.h"
#include "tables/nodes.h"
#include "timeline/quantile.h"

#define LAYER_NAMES        64
#define MIN_REFORMAT_SHARE 0.03
#define MIN_FP32_SHARE     0.5
#define LAUNCH_NS          10000 /* a launch takes 2 to 10 µs of the CPU */

struct layers {
    const struct nl_result *rows;
    int64_t whole, runs; /* runs: of every layer; 0: not the same of all, or not known */
    int64_t reformat, fp32, timed, typed;
};

static int64_t common_runs(const struct nl_result *rows)
{
    int64_t runs = nl_lookup_i64(rows, 0, "count");
    for (size_t row = 1; row < rows->rows; row++)
        if (nl_lookup_i64(rows, row, "count") != runs)
            return 0;
    return runs > 0 ? runs : 0;
}

/* Layers that the builder puts in to change the type or layout of a tensor. */
static bool is_reformat(const struct nl_result *rows, size_t row)
{
    return nl_str_is(nl_lookup_text(rows, row, "type"), "Reformat") ||
           nl_str_starts(nl_lookup_text(rows, row, "layer"), "Reformatting CopyNode");
}

static struct layers sum_layers(const struct nl_result *rows)
{
    struct layers layers = {.rows = rows};
    for (size_t row = 0; row < rows->rows; row++) {
        int64_t ns = nl_lookup_i64(rows, row, "total_ns");
        struct nl_str precision = nl_lookup_text(rows, row, "precision");
        if (ns <= 0)
            continue;
        layers.timed++;
        nl_sum_add(&layers.whole, ns);
        if (is_reformat(rows, row))
            nl_sum_add(&layers.reformat, ns);
        if (precision.len)
            nl_sum_add(&layers.typed, ns);
        if (nl_str_is(precision, "FP32"))
            nl_sum_add(&layers.fp32, ns);
    }
    layers.runs = common_runs(rows);
    return layers;
}

/* Of the layers with a time; a mean would be that of the few long ones. */
static int64_t median_of(const struct layers *layers)
{
    int64_t *all = nl_alloc((layers->rows->rows + 1) * sizeof *all);
    size_t count = 0;
    for (size_t row = 0; row < layers->rows->rows; row++) {
        int64_t ns = nl_lookup_i64(layers->rows, row, "total_ns");
        if (ns > 0)
            all[count++] = ns;
    }
    int64_t median = nl_sum_near(nl_quantile_median(all, count));
    nl_free(all);
    return median;
}

static void tell_median(struct nl_judged *judged, const struct layers *layers)
{
    struct nl_buf *out = nl_tell_begin(judged);
    int64_t runs = layers->runs ? layers->runs : 1;
    nl_tell_time(out,
                 layers->runs ? "The median layer takes " : "The runs of the median layer take ",
                 median_of(layers) / runs);
    nl_tell_ratio(out, ", the longest ", nl_lookup_i64(layers->rows, 0, "total_ns"), layers->whole);
    nl_buf_text(out, "; what ran when, and gaps between layers, are not in the file.");
    if (layers->runs == 1)
        nl_buf_text(out, " One run was measured: what happens only on first use is in it.");
    nl_tell_note(judged);
}

/* What the data show that another build of the engine would win; nothing
 * where they show nothing. */
static void tell_build(struct nl_judged *judged, const struct layers *layers)
{
    struct nl_buf *out = nl_tell_begin(judged);
    double whole = (double)layers->whole;
    const char *before = "";
    if (layers->typed && (double)layers->fp32 > MIN_FP32_SHARE * whole) {
        nl_tell_ratio(out, "Layers in FP32 take ", layers->fp32, layers->whole);
        nl_buf_text(out, ": convert the model to 16 bits (python -m modelopt.onnx.autocast; before "
                         "TensorRT 11 also trtexec --fp16) or quantise it.");
        before = " ";
    }
    if ((double)layers->reformat > MIN_REFORMAT_SHARE * whole) {
        nl_buf_text(out, before);
        nl_tell_ratio(out, "Reformatting of tensors takes ", layers->reformat, layers->whole);
        nl_buf_text(out, "; where it is an input or output of the engine, give it the engine's "
                         "format (trtexec --inputIOFormats, --outputIOFormats).");
        before = " ";
    }
    if (layers->runs && layers->timed && layers->whole / layers->runs / layers->timed < LAUNCH_NS) {
        nl_buf_text(out, before);
        nl_buf_text(out, "Layers are about as short as a launch: use larger batches, and where "
                         "enqueueing is the limit a CUDA graph (trtexec --useCudaGraph).");
    }
    nl_tell_note(judged);
}

/* The three names with most of the time; `word` for several of one name. The
 * first of them is the culprit. */
static void put_longest(struct nl_judged *judged, struct nl_buf *out, const struct layers *layers,
                        const char *one, const char *many)
{
    struct nl_name_sum sums[LAYER_NAMES];
    size_t names = nl_sum_by_name(layers->rows, "layer", "total_ns", sums, LAYER_NAMES);
    for (size_t i = 0; i < names && i < 3; i++) {
        nl_tell_kernel(out, i ? ", " : "; the longest ", sums[i].name);
        nl_tell_ratio(out, " ", sums[i].ns, layers->whole);
        if (sums[i].count > 1)
            nl_tell_number(out, " (", (int64_t)sums[i].count, one, many);
    }
    nl_buf_char(out, '.');
    judged->verdict->culprit = nl_keep_kernel(judged, sums[0].name);
}

/* ---- execution traces ---- */

/* Nodes whose type begins so: COMP, COMM_COLL, COMM_SEND, MEM_LOAD … (Chakra's schema). */
static int64_t time_of(const struct nl_result *rows, const char *type)
{
    int64_t sum = 0;
    for (size_t row = 0; row < rows->rows; row++)
        if (nl_str_starts(nl_lookup_text(rows, row, "type"), type) &&
            nl_lookup_i64(rows, row, "total_ns") > 0)
            nl_sum_add(&sum, nl_lookup_i64(rows, row, "total_ns"));
    return sum;
}

/* Nodes are operators, kernels and messages of one program, not layers of an engine. */
static void judge_nodes(struct nl_judged *judged, const struct layers *layers)
{
    int64_t comm = time_of(layers->rows, "COMM"), memory = time_of(layers->rows, "MEM");
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Execution trace: ", layers->timed, "of", "of");
    nl_tell_number(out, " ", judged->trace->node.rows, "node has a duration",
                   "nodes have durations");
    nl_tell_time(out, ", ", layers->whole);
    nl_tell_ratio(out, " added up: ", layers->whole - comm - memory, layers->whole);
    nl_buf_text(out, " computing");
    if (comm)
        nl_tell_ratio(out, ", communication ", comm, layers->whole);
    if (memory)
        nl_tell_ratio(out, ", memory ", memory, layers->whole);
    put_longest(judged, out, layers, "node)", "nodes)");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class =
        comm > layers->whole / 2 ? NL_VERDICT_COMMUNICATION : NL_VERDICT_COMPUTE;
    out = nl_tell_begin(judged);
    nl_tell_time(out, "The median node takes ", median_of(layers));
    nl_buf_text(
        out, ". Nodes of the CPU and of devices are added up; what ran when, overlap and gaps are "
             "not in the file: load it together with the timeline of the same run.");
    nl_tell_note(judged);
}

bool nl_judge_layers(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "model_layers");
    struct layers layers = rows ? sum_layers(rows) : (struct layers){0};
    if (layers.whole <= 0)
        return false;
    if (nl_nodes_are_a_program(judged->trace)) {
        judge_nodes(judged, &layers);
        return true;
    }
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Computing, by sums per layer: ", (int64_t)rows->rows, "layer", "layers");
    if (layers.runs > 1) {
        nl_tell_time(out, ", ", layers.whole / layers.runs);
        nl_tell_number(out, " a run (mean of ", layers.runs, "run)", "runs)");
    } else {
        nl_tell_time(out, ", ", layers.whole);
        nl_buf_text(out, layers.runs ? " in one run" : "");
    }
    put_longest(judged, out, &layers, "layer)", "layers)");
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMPUTE;
    tell_median(judged, &layers);
    tell_build(judged, &layers);
    return true;
}
