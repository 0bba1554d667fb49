/*
 * phases_llm — steps of LLM inference by prefill and decode, and the passes of training: how long,
 * for how many tokens, how far from what reading the weights takes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/sum.h"
#include "derive/kernelcategory.h"
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "tables/workrows.h"

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(phase, NULL, TEXT)                                                                           \
    C(steps, NULL, COUNT)                                                                          \
    C(step_ns, "GPU per step", NS)                                                                 \
    C(weights_ns, "weights at peak", NS)                                                           \
    C(bound, "bound by", TEXT)                                                                     \
    C(tokens_per_step, "tokens", NUMBER)                                                           \
    C(requests_per_step, "requests", NUMBER)                                                       \
    C(ns_per_token, "per token", NS)                                                               \
    C(gap_ns, "gap to next", NS)                                                                   \
    C(kv_tokens_per_step, "KV tokens", NUMBER)                                                     \
    C(graph_share, "in graphs", SHARE)                                                             \
    C(kernel_ns, "kernels", NS)                                                                    \
    C(source, NULL, TEXT)                                                                          \
    C(limit_share, "weights of step", SHARE)                                                       \
    C(known_share, "products with sizes", SHARE)                                                   \
    C(padding_share, "padding", SHARE)                                                             \
    C(confidence, NULL, SHARE)                                                                     \
    C(micro_batches, "micro-batches per step", NUMBER)                                             \
    C(micro_batch_ns, "per micro-batch", NS)
NL_COLUMNS(COLUMNS);

#define MIN_BOUND 0.5 /* of a step's length: what takes that much bounds it */

struct run {
    const struct nl_trace *trace;
    struct nl_memo *memo;
    struct nl_scope scope;
    const struct nl_memo_ranges *ranges;
};

static int by_phase(const void *a, const void *b)
{
    const struct nl_llm_work *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->told.phase != y->told.phase)
        return x->told.phase < y->told.phase ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Mean over the steps that give it; NaN when none does. */
static double mean(const struct nl_llm_work *steps, size_t count, size_t member)
{
    double sum = 0;
    size_t told = 0;
    for (size_t i = 0; i < count; i++) {
        int64_t value;
        memcpy(&value, (const char *)&steps[i].told + member, sizeof value);
        sum += value >= 0 ? (double)value : 0;
        told += value >= 0;
    }
    return told ? sum / (double)told : NAN;
}

static struct nl_cell median(int64_t *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, by_value);
    return count ? nl_cell_percentile(values, count, 50) : nl_cell_i64(NL_NULL_I64);
}

/* What the steps of a phase add up to. */
struct sums {
    int64_t kernels, graphs, spans, products, known, gaps, waits; /* waits: within steps, no work */
    double weights_s, operands_s, compute_s, tokens, padded, rows;
    double weight_bytes, attention_bytes, operand_bytes;
    size_t ran, tokened;
    double confidence;
};

static struct sums sum_steps(const struct nl_llm_work *steps, size_t count)
{
    struct sums sums = {.confidence = 1};
    for (size_t i = 0; i < count; i++) {
        const struct nl_llm_work *step = &steps[i];
        int64_t ns = nl_llm_step_ns(step);
        double tokens = nl_llm_step_tokens(step);
        nl_sum_add(&sums.kernels, step->kernel_ns);
        nl_sum_add(&sums.graphs, step->graph_ns);
        nl_sum_add(&sums.products, step->product_ns);
        nl_sum_add(&sums.known, step->known_ns);
        nl_sum_add(&sums.gaps, step->gap_ns == NL_NULL_I64 ? 0 : step->gap_ns);
        if (step->operand_bytes > 0)
            sums.operands_s += step->operand_bytes / step->memory_rate;
        if (step->weight_bytes > 0)
            sums.weights_s += step->weight_bytes / step->memory_rate;
        sums.operand_bytes += step->operand_bytes;
        sums.weight_bytes += step->weight_bytes;
        sums.attention_bytes += step->attention_bytes;
        sums.compute_s += step->compute_s;
        sums.confidence = step->confidence < sums.confidence ? step->confidence : sums.confidence;
        if (ns != NL_NULL_I64) {
            sums.ran++;
            nl_sum_add(&sums.spans, ns);
            nl_sum_add(&sums.waits, ns > step->work_ns ? ns - step->work_ns : 0);
        }
        if (tokens == tokens) {
            sums.tokens += tokens;
            sums.tokened++;
        }
        if (step->told.tokens > 0 && step->rows >= (double)step->told.tokens) {
            sums.padded += step->rows - (double)step->told.tokens;
            sums.rows += step->rows;
        }
    }
    return sums;
}

/* Whether the products with known sizes represent all. */
static bool is_sized(const struct sums *sums)
{
    return sums->products > 0 && sums->known >= sums->products / 2;
}

/* What is read for longest, where reading takes most of the steps. */
static const char *read_most(const struct sums *sums)
{
    if (sums->attention_bytes > sums->operand_bytes / 2)
        return "reading the KV cache";
    return sums->weight_bytes >= sums->operand_bytes / 2 ? "reading weights" : "reading operands";
}

/* What makes the steps as long as they are; NULL unknown. */
static const char *bound_of(const struct sums *sums)
{
    double span = (double)sums->spans / 1e9, gaps = (double)sums->gaps / 1e9;
    double waits = (double)sums->waits / 1e9;
    if (gaps + waits > MIN_BOUND * (span + gaps))
        return gaps >= waits ? "gaps between steps" : "gaps within steps";
    if (span <= 0 || sums->operands_s > NL_ROOF_BROKEN * span ||
        sums->compute_s > NL_ROOF_BROKEN * span)
        return NULL;
    if (sums->compute_s >= MIN_BOUND * span && !(sums->operands_s > sums->compute_s))
        return "arithmetic";
    if (sums->operands_s >= MIN_BOUND * span)
        return read_most(sums);
    return sums->operands_s >= 0 && is_sized(sums) ? "kernels below their roofs" : NULL;
}

static void show_weights(struct nl_result *result, struct nl_cell *cells, const struct sums *sums,
                         size_t count)
{
    if (!(sums->weights_s > 0) || !is_sized(sums))
        return;
    cells[AT_weights_ns] = nl_cell_i64(nl_sum_near(sums->weights_s / (double)count * 1e9));
    if (sums->spans > 0 && sums->weights_s * 1e9 <= NL_ROOF_BROKEN * (double)sums->spans)
        cells[AT_limit_share] = nl_cell_f64(sums->weights_s * 1e9 / (double)sums->spans);
    else if (sums->spans > 0)
        result->note = "reading weights at memory's peak would take longer than the steps: a cache "
                       "holds them, or sizes, product or bandwidth are wrong";
}

static void add_phase(struct nl_result *result, const struct nl_llm_work *steps, size_t count)
{
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    struct sums sums = sum_steps(steps, count);
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (nl_llm_step_ns(&steps[i]) != NL_NULL_I64)
            values[known++] = nl_llm_step_ns(&steps[i]);
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(steps->rank);
    cells[AT_phase] = nl_cell_static(nl_llm_phase_text(steps->told.phase));
    cells[AT_steps] = nl_cell_count(count);
    cells[AT_step_ns] = median(values, known);
    cells[AT_tokens_per_step] =
        nl_cell_f64(sums.tokened ? sums.tokens / (double)sums.tokened : NAN);
    cells[AT_requests_per_step] =
        nl_cell_f64(mean(steps, count, offsetof(struct nl_llm_step, requests)));
    if (sums.ran && sums.tokens > 0 && sums.tokened)
        cells[AT_ns_per_token] = nl_cell_f64((double)sums.spans / (double)sums.ran /
                                             (sums.tokens / (double)sums.tokened));
    known = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].gap_ns != NL_NULL_I64)
            values[known++] = steps[i].gap_ns;
    cells[AT_gap_ns] = median(values, known);
    show_weights(result, cells, &sums, count);
    cells[AT_bound] = nl_cell_static(bound_of(&sums));
    cells[AT_kv_tokens_per_step] =
        nl_cell_f64(mean(steps, count, offsetof(struct nl_llm_step, kv_tokens)));
    cells[AT_graph_share] = nl_cell_share(sums.graphs, sums.kernels);
    cells[AT_kernel_ns] = nl_cell_i64(sums.kernels);
    cells[AT_source] = nl_cell_static(steps->told.source);
    cells[AT_known_share] = nl_cell_share(sums.known, sums.products);
    cells[AT_padding_share] = nl_cell_f64(sums.rows > 0 ? sums.padded / sums.rows : NAN);
    cells[AT_confidence] = nl_cell_f64(sums.confidence);
    nl_free(values);
}

static void add_phases(const struct nl_llm_steps *steps, struct nl_result *result)
{
    size_t count = steps->count;
    struct nl_llm_work *items = nl_alloc((count + 1) * sizeof *items);
    if (count) {
        memcpy(items, steps->items, count * sizeof *items);
        qsort(items, count, sizeof *items, by_phase);
    }
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && items[next].rank == items[first].rank &&
                               items[next].told.phase == items[first].told.phase;)
            next++;
        add_phase(result, &items[first], next - first);
    }
    nl_free(items);
}

/* ---- Training: kernels by the pass that launched them. ---- */

enum pass { FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION, DATA, PASSES };

static const char *const pass_names[PASSES] = {"forward", "backward", "optimizer", "communication",
                                               "data"};

/* "MulBackward0": nodes of PyTorch's autograd. */
static bool is_autograd_node(struct nl_str name)
{
    size_t len = name.len;
    while (len && nl_is_digit(name.ptr[len - 1]))
        len--;
    return len > 8 && !memcmp(name.ptr + len - 8, "Backward", 8) &&
           nl_str_find_nocase(name, "::") < 0;
}

/* The pass that a name stands for; FORWARD: none in particular. */
static enum pass pass_of(struct nl_str name)
{
    if (nl_str_starts(name, "autograd::engine::evaluate_function") ||
        nl_str_starts(name, "torch::autograd::") || is_autograd_node(name))
        return BACKWARD;
    if (nl_str_starts(name, "Optimizer.step") || nl_str_starts(name, "Optimizer.zero_grad"))
        return OPTIMIZER;
    return nl_str_starts(name, "enumerate(DataLoader)") ? DATA : FORWARD;
}

/* Per range of a tree: its pass, or that of what is around it. */
static uint8_t *passes_of(const struct nl_rangetree *tree)
{
    const struct nl_trace *trace = tree->trace;
    uint8_t *known = nl_zalloc(trace->names.count + (size_t)1); /* pass + 1 */
    uint8_t *passes = nl_zalloc(tree->count + (size_t)1);
    for (uint32_t r = 0; r < tree->count; r++) {
        uint32_t name = trace->slice.name[tree->slices[r]], parent = tree->parents[r];
        if (!known[name])
            known[name] = (uint8_t)(pass_of(nl_trace_name(trace, name)) + 1);
        passes[r] = (uint8_t)(known[name] - 1);
        if (passes[r] == FORWARD && parent != NL_NULL_ROW)
            passes[r] = passes[parent];
    }
    nl_free(known);
    return passes;
}

/*
 * Micro-batches: with gradient accumulation several forward and backward passes alternate before
 * the optimizer runs. On a stream, a forward pass and the backward pass after it are one; each of
 * them counts only with a product of matrices in it, as what adds up or scales gradients runs
 * outside of autograd's nodes, too. Several forward passes before the first backward pass (pipeline
 * parallelism) count as one.
 */
struct cycles {
    uint32_t lane;
    bool forward, backward, optimizer; /* since the last micro-batch; the optimizer ran last */
    uint64_t of_lane, optimizers;      /* of this stream */
    uint64_t all, steps;               /* of streams that the optimizer runs on */
};

static void end_lane(struct cycles *cycles, uint32_t lane)
{
    cycles->of_lane += cycles->forward && cycles->backward;
    if (cycles->optimizers) {
        cycles->all += cycles->of_lane;
        cycles->steps += cycles->optimizers;
    }
    *cycles = (struct cycles){.lane = lane, .all = cycles->all, .steps = cycles->steps};
}

/* Kernels of a stream come in order of their start. */
static void add_to_cycle(struct cycles *cycles, uint32_t lane, enum pass pass, bool product)
{
    if (lane != cycles->lane)
        end_lane(cycles, lane);
    if (pass == OPTIMIZER) {
        cycles->optimizers += !cycles->optimizer;
        cycles->optimizer = true;
    }
    if (!product || (pass != FORWARD && pass != BACKWARD))
        return;
    cycles->optimizer = false;
    if (pass == BACKWARD) {
        cycles->backward = cycles->forward;
    } else {
        cycles->of_lane += cycles->backward;
        cycles->backward = false;
        cycles->forward = true;
    }
}

static void add_up_passes(const struct run *run, const struct nl_memo_ranges *ops, int64_t *sums,
                          struct cycles *cycles)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_owners *owners = nl_memo_owners(run->memo);
    uint8_t *by_op = passes_of(&ops->tree), *by_range = passes_of(&run->ranges->tree);
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t slice = owners->work[i], kernel = trace->slice.detail[slice];
        int64_t ns = nl_scope_length(&run->scope, slice);
        if (trace->slice.kind[slice] != NL_KIND_KERNEL || ns < 0 || kernel == NL_NULL_U32 ||
            ops->owner[i] == NL_NULL_ROW)
            continue;
        enum pass pass = (enum pass)by_op[ops->owner[i]];
        if (pass == FORWARD && run->ranges->owner[i] != NL_NULL_ROW)
            pass = (enum pass)by_range[run->ranges->owner[i]];
        if (trace->kernel.class[kernel] == NL_CLASS_COMMUNICATION)
            pass = COMMUNICATION;
        nl_sum_add(&sums[pass], ns);
        add_to_cycle(cycles, trace->slice.lane[slice], pass,
                     nl_category_is_matrix(trace->kernel.category[kernel]));
    }
    end_lane(cycles, NL_NULL_ROW);
    nl_free(by_op);
    nl_free(by_range);
}

/* Rows of training, when there is a backward pass. Steps: those found, steady or not. */
static void add_training(const struct run *run, struct nl_result *result)
{
    int64_t sums[PASSES] = {0};
    size_t steps = nl_memo_step_times(run->memo)->count;
    struct cycles cycles = {.lane = NL_NULL_ROW};
    add_up_passes(run, nl_memo_ranges(run->memo, NL_KIND_OP), sums, &cycles);
    double micro = cycles.steps ? (double)cycles.all / (double)cycles.steps : NAN;
    for (unsigned pass = 0; pass < PASSES && sums[BACKWARD]; pass++) {
        if (!sums[pass])
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_phase] = nl_cell_static(pass_names[pass]);
        if (steps) {
            cells[AT_steps] = nl_cell_count(steps);
            cells[AT_step_ns] = nl_cell_i64(sums[pass] / (int64_t)steps);
        }
        if (micro > 1 && pass != OPTIMIZER) {
            cells[AT_micro_batches] = nl_cell_f64(micro);
            cells[AT_micro_batch_ns] = nl_cell_i64(sums[pass] / (int64_t)cycles.all);
        }
        cells[AT_kernel_ns] = nl_cell_i64(sums[pass]);
        cells[AT_source] = nl_cell_static("PyTorch operators");
    }
}

static struct nl_result *run_phases(const struct nl_trace *trace,
                                    const struct nl_analyze_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    (void)job;
    (void)err;
    struct run run = {.trace = trace, .memo = options->memo};
    nl_scope_init(&run.scope, trace, &options->window);
    run.ranges = nl_memo_ranges(run.memo, NL_KIND_NVTX);
    struct nl_result *result = NL_ANSWER_NEW("phases_llm", NULL, columns);
    add_phases(nl_memo_llm_steps(run.memo), result);
    add_training(&run, result);
    if (!result->rows)
        result->note =
            "no step is named as prefill or decode (vLLM, SGLang and TensorRT-LLM name "
            "theirs) or tells by its attention what it is, and there is no backward pass";
    nl_scope_release(&run.scope);
    return result;
}

const struct nl_analysis nl_analysis_phases_llm = {
    .name = "phases_llm",
    .key = "phases_llm",
    .title = "Phases: prefill and decode, or the passes of training",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = run_phases,
    .doc =
        "Inference: steps are classified by the name of their range (vLLM, SGLang, TensorRT-LLM, "
        "or the word prefill or decode), else by their attention (phase-specific kernels, queries "
        "per sequence) or a long first step before many similar ones, with a confidence. Per "
        "phase: steps, median time from a step's first to last device work, the time that reading "
        "the weights of its matrix products takes at peak memory bandwidth (the limit of decode, "
        "if operators have shapes) and its share, what bounds the steps (half of their duration or "
        "more), mean tokens and requests (by name, else rows of products), GPU time per token, "
        "median gap to the next step's work, the share of kernel time in graphs, and rows of "
        "products that are not tokens (padding). Training: kernel time of forward and backward "
        "pass, optimizer, communication and data loading, by the operators that launched it; per "
        "step if steps are known, and per micro-batch if several forward and backward passes "
        "alternate before the optimizer runs (gradient accumulation).",
};
