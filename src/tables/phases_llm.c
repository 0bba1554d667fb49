/*
 * phases_llm — steps of LLM inference by prefill and decode, and the passes of training: how long, for
 * how many tokens, how far from what reading the weights takes.
 */
#include <stdlib.h>

#include "base/sum.h"
#include "tables/answer.h"
#include "tables/scope.h"
#include "tables/workrows.h"
#include "work/llmphase.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"phase", NULL, NL_MEANS_TEXT},
    {"steps", NULL, NL_MEANS_COUNT},
    {"step_ns", "GPU per step", NL_MEANS_NS},
    {"tokens_per_step", "tokens", NL_MEANS_NUMBER},
    {"requests_per_step", "requests", NL_MEANS_NUMBER},
    {"ns_per_token", "per token", NL_MEANS_NUMBER},
    {"gap_ns", "gap to next", NL_MEANS_NS},
    {"weights_ns", "weights at peak", NL_MEANS_NS},
    {"kv_tokens_per_step", "KV tokens", NL_MEANS_NUMBER},
    {"graph_share", "in graphs", NL_MEANS_SHARE},
    {"kernel_ns", "kernels", NL_MEANS_NS},
    {"source", NULL, NL_MEANS_TEXT},
};
enum {
    RANK,
    PHASE,
    STEPS,
    STEP,
    TOKENS,
    REQUESTS,
    PER_TOKEN,
    GAP,
    WEIGHTS,
    KV,
    GRAPHS,
    KERNELS,
    SOURCE
};

/* One step: a range with a name of a phase, and the device work launched in it. */
struct step {
    uint32_t slice;
    int64_t rank;
    struct nl_llm_step told;
    int64_t first, last, kernel_ns, graph_ns;
    int64_t gap_ns; /* to the next step's first work; NL_NULL_I64 without a next one */
    double weights_s;
};

struct steps {
    struct step *items;
    size_t count, cap;
};

struct run {
    const struct nl_trace *trace;
    struct nl_memo *memo;
    struct nl_scope scope;
    const struct nl_memo_ranges *ranges;
    uint32_t *step_of; /* per range: step + 1, of itself or what is around it */
    struct steps steps;
};

static void find_steps(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_rangetree *tree = &run->ranges->tree;
    uint8_t *asked = nl_zalloc(trace->names.count + (size_t)1); /* 1: tells nothing */
    run->step_of = nl_zalloc((tree->count + (size_t)1) * sizeof *run->step_of);
    for (uint32_t r = 0; r < tree->count; r++) {
        uint32_t parent = tree->parents[r], name = trace->slice.name[tree->slices[r]];
        if (parent != NL_NULL_ROW && run->step_of[parent]) {
            run->step_of[r] = run->step_of[parent];
            continue;
        }
        if (asked[name])
            continue;
        struct nl_llm_step told = nl_llm_step_of(nl_trace_name(trace, name));
        asked[name] = told.phase == NL_LLM_NONE;
        if (told.phase == NL_LLM_NONE || nl_scope_length(&run->scope, tree->slices[r]) < 0)
            continue;
        nl_grow(&run->steps.items, &run->steps.cap, run->steps.count + 1);
        run->steps.items[run->steps.count++] =
            (struct step){.slice = tree->slices[r],
                          .rank = nl_slice_rank(trace, tree->slices[r]),
                          .told = told,
                          .first = INT64_MAX,
                          .last = INT64_MIN};
        run->step_of[r] = (uint32_t)run->steps.count;
    }
    nl_free(asked);
}

static void add_device_work(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_owners *owners = nl_memo_owners(run->memo);
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t range = run->ranges->owner[i], slice = owners->work[i];
        if (range == NL_NULL_ROW || !run->step_of[range] || trace->slice.dur[slice] == NL_NULL_I64)
            continue;
        struct step *step = &run->steps.items[run->step_of[range] - 1];
        int64_t start = trace->slice.ts[slice], end = nl_slice_end(trace, slice);
        step->first = start < step->first ? start : step->first;
        step->last = end > step->last ? end : step->last;
        if (trace->slice.kind[slice] != NL_KIND_KERNEL)
            continue;
        nl_sum_add(&step->kernel_ns, trace->slice.dur[slice]);
        uint32_t kernel = trace->slice.detail[slice];
        if (kernel != NL_NULL_U32 && trace->kernel.graph[kernel] != NL_NULL_U64)
            nl_sum_add(&step->graph_ns, trace->slice.dur[slice]);
    }
}

/* Time that reading what products of matrices must read takes at memory's peak, where operators tell. */
static void add_weights(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_op_works *works = nl_memo_works(run->memo);
    const struct nl_device_peaks *peaks = nl_memo_peaks(run->memo);
    struct nl_moment *moments = nl_alloc((works->count + 1) * sizeof *moments);
    size_t count = 0;
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        if (work->slice == NL_NULL_ROW || !work->matrix || isnan(work->bytes) ||
            trace->slice.kind[work->slice] != NL_KIND_OP)
            continue;
        uint32_t thread = trace->lane.thread[trace->slice.lane[work->slice]];
        if (thread != NL_NULL_ROW)
            moments[count++] =
                (struct nl_moment){trace->slice.ts[work->slice], thread, (uint32_t)i};
    }
    struct nl_moments order;
    uint32_t *found = nl_no_rows(works->count);
    nl_moments_init(&order, moments, count, trace->thread.rows);
    nl_rangetree_find(&run->ranges->tree, &order, found);
    for (size_t i = 0; i < works->count; i++) {
        if (found[i] == NL_NULL_ROW || !run->step_of[found[i]])
            continue;
        uint32_t device = nl_slice_device(trace, works->items[i].first);
        double rate = device == NL_NULL_ROW ? NAN : peaks[device].figures[GPU_MEMORY];
        run->steps.items[run->step_of[found[i]] - 1].weights_s += works->items[i].bytes / rate;
    }
    nl_moments_release(&order);
    nl_free(found);
    nl_free(moments);
}

static int by_phase(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->told.phase != y->told.phase)
        return x->told.phase < y->told.phase ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_time(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Mean of what steps tell; NaN when none does. */
static double mean(const struct step *steps, size_t count, size_t member)
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
    qsort(values, count, sizeof *values, by_value);
    return count ? nl_answer_percentile(values, count, 50) : nl_cell_i64(NL_NULL_I64);
}

static void add_phase(struct nl_result *result, const struct step *steps, size_t count)
{
    int64_t *values = nl_alloc((count + 1) * sizeof *values);
    int64_t kernels = 0, graphs = 0, spans = 0;
    double tokens = mean(steps, count, offsetof(struct nl_llm_step, tokens)), weights = 0;
    size_t ran = 0;
    for (size_t i = 0; i < count; i++) {
        nl_sum_add(&kernels, steps[i].kernel_ns);
        nl_sum_add(&graphs, steps[i].graph_ns);
        weights += steps[i].weights_s;
        if (steps[i].last > steps[i].first) {
            values[ran++] = steps[i].last - steps[i].first;
            nl_sum_add(&spans, values[ran - 1]);
        }
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[RANK] = nl_cell_i64(steps->rank);
    cells[PHASE] = nl_answer_static(nl_llm_phase_text(steps->told.phase));
    cells[STEPS] = nl_answer_count(count);
    cells[STEP] = median(values, ran);
    cells[TOKENS] = nl_cell_f64(tokens);
    cells[REQUESTS] = nl_cell_f64(mean(steps, count, offsetof(struct nl_llm_step, requests)));
    cells[PER_TOKEN] = nl_cell_f64(ran && tokens > 0 ? (double)spans / (double)ran / tokens : NAN);
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (steps[i].gap_ns != NL_NULL_I64)
            values[known++] = steps[i].gap_ns;
    cells[GAP] = median(values, known);
    if (weights > 0)
        cells[WEIGHTS] = nl_cell_i64((int64_t)(weights / (double)count * 1e9));
    cells[KV] = nl_cell_f64(mean(steps, count, offsetof(struct nl_llm_step, kv_tokens)));
    cells[GRAPHS] = nl_answer_share(graphs, kernels);
    cells[KERNELS] = nl_cell_i64(kernels);
    cells[SOURCE] = nl_answer_static(steps->told.source);
    nl_free(values);
}

static void add_phases(struct run *run, struct nl_result *result)
{
    struct step *items = run->steps.items;
    size_t count = run->steps.count;
    qsort(items, count, sizeof *items, by_time);
    for (size_t i = 0; i < count; i++) {
        bool next = i + 1 < count && items[i + 1].rank == items[i].rank &&
                    items[i + 1].first != INT64_MAX && items[i].last != INT64_MIN;
        int64_t gap = next ? items[i + 1].first - items[i].last : NL_NULL_I64;
        items[i].gap_ns = next && gap < 0 ? 0 : gap;
    }
    qsort(items, count, sizeof *items, by_phase);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && items[next].rank == items[first].rank &&
                               items[next].told.phase == items[first].told.phase;)
            next++;
        add_phase(result, &items[first], next - first);
    }
}

/* ---- Training: kernels by the pass that launched them. ---- */

enum pass { FORWARD, BACKWARD, OPTIMIZER, COMMUNICATION, DATA, PASSES };

static const char *const pass_names[PASSES] = {"forward", "backward", "optimizer", "communication",
                                               "data"};

/* "MulBackward0": nodes of PyTorch's autograd. */
static bool is_autograd_node(struct nl_str name)
{
    size_t len = name.len;
    while (len && name.ptr[len - 1] >= '0' && name.ptr[len - 1] <= '9')
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

static void add_up_passes(const struct run *run, const struct nl_memo_ranges *ops, int64_t *sums)
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
    }
    nl_free(by_op);
    nl_free(by_range);
}

/* Rows of training, when there is a backward pass. Steps: those found, steady or not. */
static void add_training(const struct run *run, struct nl_result *result)
{
    int64_t sums[PASSES] = {0};
    size_t steps = nl_memo_step_times(run->memo)->count;
    add_up_passes(run, nl_memo_ranges(run->memo, NL_KIND_OP), sums);
    for (unsigned pass = 0; pass < PASSES && sums[BACKWARD]; pass++) {
        if (!sums[pass])
            continue;
        struct nl_cell *cells = nl_result_row(result);
        cells[PHASE] = nl_answer_static(pass_names[pass]);
        if (steps) {
            cells[STEPS] = nl_answer_count(steps);
            cells[STEP] = nl_cell_i64(sums[pass] / (int64_t)steps);
        }
        cells[KERNELS] = nl_cell_i64(sums[pass]);
        cells[SOURCE] = nl_answer_static("PyTorch operators");
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
    find_steps(&run);
    struct nl_result *result = NL_ANSWER_NEW("phases_llm", NULL, columns);
    if (run.steps.count) {
        add_device_work(&run);
        add_weights(&run);
        add_phases(&run, result);
    }
    add_training(&run, result);
    if (!result->rows)
        result->note = "no step is named as prefill or decode (vLLM, SGLang and TensorRT-LLM name "
                       "theirs), and there is no backward pass";
    nl_free(run.steps.items);
    nl_free(run.step_of);
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
        "Inference, by steps whose range is named (vLLM, SGLang, TensorRT-LLM, or the word prefill "
        "or "
        "decode): steps, median time from a step's first to last device work, mean tokens and "
        "requests where the name tells them, GPU time per token, median gap to the next step's "
        "work, the time that reading the operands of its matrix products takes at memory's peak "
        "(the limit of decode, where operators have shapes), and the share of kernel time in "
        "graphs. Training: kernel time of the forward and backward pass, optimizer, communication "
        "and data loading, by the operators that launched it; per step where steps are known.",
};
