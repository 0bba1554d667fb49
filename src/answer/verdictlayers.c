/*
 * verdictlayers — the answer for the layers of a compiled model (TensorRT's --exportProfile): what a run takes, which
 * layers have most of it, and what the layers' kinds and types leave to win. A profile holds sums over its runs; a run
 * is what a reader compares, so sums are divided where all layers ran equally often.
 */
#include "answer/judge.h"
#include "answer/namesums.h"
#include "base/sum.h"
#include "tables/lookup.h"

#define LAYER_NAMES   64
#define MUCH_REFORMAT 0.03
#define MUCH_FP32     0.5
#define LAUNCH_NS     10000 /* a launch takes 2 to 10 µs of the CPU */

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

static struct layers look(const struct nl_result *rows)
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

static void tell_mean(struct nl_judged *judged, const struct layers *layers)
{
    struct nl_buf *out = nl_tell_begin(judged);
    int64_t runs = layers->runs ? layers->runs : 1;
    nl_tell_time(out, layers->runs ? "A layer takes " : "The runs of a layer take ",
                 layers->whole / runs / (int64_t)layers->rows->rows);
    nl_tell_ratio(out, " on average, the longest ", nl_lookup_i64(layers->rows, 0, "total_ns"),
                  layers->whole);
    nl_buf_text(out, "; what ran when, and gaps between layers, are not in the file.");
    if (layers->runs == 1)
        nl_buf_text(out, " One run was measured: what happens only on first use is in it.");
    nl_tell_note(judged);
}

/* What the data show that another build of the engine would win; nothing where they show nothing. */
static void tell_build(struct nl_judged *judged, const struct layers *layers)
{
    struct nl_buf *out = nl_tell_begin(judged);
    double whole = (double)layers->whole;
    const char *before = "";
    if (layers->typed && (double)layers->fp32 > MUCH_FP32 * whole) {
        nl_tell_ratio(out, "Layers in FP32 take ", layers->fp32, layers->whole);
        nl_buf_text(out, ": convert the model to 16 bits (python -m modelopt.onnx.autocast; before "
                         "TensorRT 11 also trtexec --fp16) or quantise it.");
        before = " ";
    }
    if ((double)layers->reformat > MUCH_REFORMAT * whole) {
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

bool nl_judge_layers(struct nl_judged *judged)
{
    const struct nl_result *rows = nl_judged_part(judged, "model_layers");
    struct layers layers = rows ? look(rows) : (struct layers){0};
    if (layers.whole <= 0)
        return false;
    struct nl_buf *out = nl_tell_begin(judged);
    nl_tell_number(out, "Computing, by sums per layer: ", (int64_t)rows->rows, "layer", "layers");
    if (layers.runs > 1) {
        nl_tell_time(out, ", ", layers.whole / layers.runs);
        nl_tell_number(out, " a run (mean of ", layers.runs, "run)", "runs)");
    } else {
        nl_tell_time(out, ", ", layers.whole);
        nl_buf_text(out, layers.runs ? " in one run" : "");
    }
    struct nl_name_sum sums[LAYER_NAMES];
    size_t names = nl_sum_by_name(rows, "layer", "total_ns", sums, LAYER_NAMES);
    for (size_t i = 0; i < names && i < 3; i++) {
        nl_tell_kernel(out, i ? ", " : "; the longest ", sums[i].name);
        nl_tell_ratio(out, " ", sums[i].ns, layers.whole);
        if (sums[i].count > 1)
            nl_tell_number(out, " (", (int64_t)sums[i].count, "layer)", "layers)");
    }
    nl_buf_char(out, '.');
    nl_tell_end(judged, &judged->verdict->sentence);
    judged->verdict->class = NL_VERDICT_COMPUTE;
    judged->verdict->culprit = nl_keep_kernel(judged, sums[0].name);
    tell_mean(judged, &layers);
    tell_build(judged, &layers);
    return true;
}
