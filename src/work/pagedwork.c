/*
 * pagedwork — see pagedwork.h. Queries [T, heads, D] (or [T, heads·D]), keys and values (those of
 * the new tokens, or the cache) and the output give the widths; the step's name Σ queries × keys
 * and Σ keys over its requests. Every layer attends to all keys then: 2·pairs·(width of queries +
 * width of the output); least bytes are the keys and values of all requests, queries and output. A
 * prompt needs no masked pairs: half of its queries squared. MLA decodes in the latent space: q [T,
 * heads, …], latent [T, L], rope [T, 1, R]: 2·pairs·heads·(2·L + R), and one latent with its rope
 * per key.
 *
 * Layers with a window attend to fewer keys, and no input says so. Of the calls of a step with
 * equal inputs those that take less than half as long as the longest get nothing.
 */
#include "work/pagedwork.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "work/llmphase.h"

struct step {
    uint32_t thread;
    int64_t start, end;
    struct nl_llm_step told;
};

struct steps {
    struct step *items;
    size_t count, cap;
};

struct call {
    size_t row, step;
    uint32_t shapes;
    int64_t ns;
    const struct operator_inputs *inputs;
};

struct calls {
    struct call *items;
    size_t count, cap;
};

/* The layout of keys and values: [T, …] of the new tokens; [slots, heads, D] or [pages, 1, heads,
 * D]; [pages, tokens, heads, D]; as the last, or [pages, heads, tokens, D] where a scalar says
 * 1. */
enum layout { NEW_TOKENS, LATENT, SLOTS, PAGES, PAGES_BY_CODE };

static const struct operator_inputs {
    const char *begins;
    enum layout layout;
    signed char q, k, v, out, code; /* out -1: as wide as the queries */
} operators[] = {
    {"vllm::unified_mla_attention", LATENT, 0, 1, 2, 3, -1},
    {"vllm::unified_attention", NEW_TOKENS, 0, 1, 2, 3, -1},
    {"sglang::unified_attention", NEW_TOKENS, 0, 1, 2, 3, -1},
    {"_vllm_fa2_C::varlen_fwd", PAGES, 0, 1, 2, 3, -1},
    {"_vllm_fa3_C::fwd", PAGES, 0, 1, 2, 6, -1},
    {"sgl_kernel::fwd", PAGES, 0, 1, 2, 6, -1},
    {"aiter::mha_batch_prefill", SLOTS, 0, 1, 2, -1, -1},
    {"aiter::paged_attention_ragged", SLOTS, 2, 3, 4, 0, -1},
    /* SGLang with shapes of its Python functions: a number follows */
    {"sglang_profiler::attention_paged_attention_ragged_", SLOTS, 2, 3, 4, 0, -1},
    {"flashinfer::batch_decode_with_kv_cache", PAGES_BY_CODE, 3, 4, 5, 9, 11},
    {"flashinfer::batch_prefill_with_kv_cache", PAGES_BY_CODE, 3, 4, 5, 10, 13},
};

static const struct operator_inputs *operator_of(struct nl_str name)
{
    bool ragged = nl_str_contains(name, "_ragged_run"); /* FlashInfer's, without a cache */
    for (size_t i = 0; !ragged && i < sizeof operators / sizeof operators[0]; i++)
        if (nl_str_starts(name, operators[i].begins))
            return &operators[i];
    return NULL;
}

/* ---- Steps. ---- */

static int by_start(const void *left, const void *right)
{
    const struct step *a = left, *b = right;
    if (a->thread != b->thread)
        return a->thread < b->thread ? -1 : 1;
    return a->start < b->start ? -1 : a->start > b->start;
}

static void list_steps(struct steps *steps, const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->nvtx.rows; row++) {
        uint32_t slice = trace->nvtx.slice[row];
        struct nl_str name = slice == NL_NULL_ROW ? (struct nl_str){0}
                                                  : nl_trace_name(trace, trace->slice.name[slice]);
        if (!nl_str_starts(name, "execute_"))
            continue;
        struct step step = {trace->lane.thread[trace->slice.lane[slice]], trace->slice.ts[slice],
                            nl_slice_end(trace, slice), nl_llm_step_of(name)};
        if (step.thread == NL_NULL_ROW || !(step.told.pairs > 0) || step.told.kv_tokens < 0)
            continue;
        nl_grow(&steps->items, &steps->cap, steps->count + 1);
        steps->items[steps->count++] = step;
    }
    if (steps->count)
        qsort(steps->items, steps->count, sizeof *steps->items, by_start);
}

/* Number + 1 of the step that contains a call of the thread; 0 none. */
static size_t step_at(const struct steps *steps, uint32_t thread, int64_t ts)
{
    size_t after = NL_FIRST(i, (size_t)0, steps->count,
                            steps->items[i].thread > thread ||
                                (steps->items[i].thread == thread && steps->items[i].start > ts));
    const struct step *step = after ? &steps->items[after - 1] : NULL;
    return step && step->thread == thread && step->end > ts ? after : 0;
}

/* ---- Calls. ---- */

static void list_calls(struct calls *calls, const struct nl_op_works *works,
                       const struct nl_owners *owners, const struct steps *steps)
{
    const struct nl_trace *trace = works->trace;
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        struct nl_op_inputs inputs;
        struct call call = {.row = i, .ns = work->kernel_ns};
        call.inputs = operator_of(nl_trace_name(trace, work->name));
        if (work->family != WORK_ATTENTION || work->flops == work->flops || work->inside ||
            work->place == NL_NULL_ROW || work->slice == NL_NULL_ROW || !call.inputs ||
            !nl_rangetree_inputs(trace, work->slice, &inputs))
            continue;
        uint32_t launch = owners->launch[work->place];
        uint32_t thread =
            launch == NL_NULL_ROW ? NL_NULL_ROW : trace->lane.thread[trace->slice.lane[launch]];
        call.step = thread == NL_NULL_ROW ? 0 : step_at(steps, thread, trace->slice.ts[launch]);
        call.shapes = inputs.shapes;
        if (!call.step)
            continue;
        nl_grow(&calls->items, &calls->cap, calls->count + 1);
        calls->items[calls->count++] = call;
    }
}

/* Alike ones side by side, the longest first. */
static int by_likeness(const void *left, const void *right)
{
    const struct call *a = left, *b = right;
    if (a->step != b->step)
        return a->step < b->step ? -1 : 1;
    if (a->inputs != b->inputs)
        return a->inputs < b->inputs ? -1 : 1;
    if (a->shapes != b->shapes)
        return a->shapes < b->shapes ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

/* ---- Work. ---- */

static double width(const struct work_args *args, int index)
{
    const struct work_tensor *tensor = index < 0 ? NULL : work_tensor_at(args, (unsigned)index, 0);
    return tensor && tensor->rank >= 2 && tensor->dims[0] > 0
               ? work_elements(tensor) / (double)tensor->dims[0]
               : NAN;
}

/* Elements of keys or values per token; NaN when their layout is not known. */
static double token_width(const struct work_args *args, const struct operator_inputs *at, int index)
{
    const struct work_tensor *cache = work_tensor_at(args, (unsigned)index, 0);
    int64_t code = 0;
    if (at->layout == NEW_TOKENS || at->layout == LATENT)
        return width(args, index);
    if (cache && at->layout == SLOTS && cache->rank == 3)
        return (double)cache->dims[1] * (double)cache->dims[2];
    if (!cache || cache->rank != 4 || (at->layout == SLOTS && cache->dims[1] != 1))
        return NAN;
    if (at->code >= 0 &&
        (!work_integer_at(args, (unsigned)at->code, &code) || code < 0 || code > 1))
        return NAN;
    return (double)cache->dims[code ? 1 : 2] * (double)cache->dims[3];
}

/* Of a cached element: the cache itself says it, or of new tokens the narrower of theirs and the
 * queries' (caches of 8 bits). */
static double kept_bits(const struct work_args *args, const struct operator_inputs *at)
{
    double own = work_type_bits(args->inputs[at->k].type);
    double queries = work_type_bits(args->inputs[at->q].type);
    bool told = at->layout != NEW_TOKENS && at->layout != LATENT;
    return told || own < queries ? own : queries;
}

static bool cost_of(const struct work_args *args, const struct nl_llm_step *told,
                    const struct operator_inputs *at, struct work_cost *cost)
{
    bool latent = at->layout == LATENT;
    double q = width(args, at->q), out = width(args, at->out);
    double k = token_width(args, at, at->k), v = token_width(args, at, at->v);
    const struct work_tensor *queries = work_tensor_at(args, (unsigned)at->q, latent ? 3 : 0);
    if (!queries || k != k || v != v || (latent && told->phase != NL_LLM_DECODE))
        return false;
    enum work_type type = args->inputs[at->q].type;
    double bits = work_type_bits(type), kept = kept_bits(args, at);
    double tokens = (double)queries->dims[0];
    if (latent)
        out = (double)queries->dims[1] * k; /* before it leaves the latent space */
    else if (out != out)
        out = q;
    double each = latent ? 2 * (double)queries->dims[1] * (2 * k + v) : 2 * (q + out);
    cost->flops = told->pairs * each;
    cost->flops_needed = (told->pairs - told->prompt_pairs / 2) * each;
    cost->type = type;
    cost->matrix = cost->estimated = true;
    if (bits > 0 && kept > 0)
        cost->bytes = ((double)told->kv_tokens * (k + v) * kept + tokens * (q + out) * bits) / 8;
    return cost->flops > 0;
}

static void give(struct nl_op_works *works, const struct call *call, const struct step *step)
{
    const struct nl_trace *trace = works->trace;
    struct nl_op_work *work = &works->items[call->row];
    struct nl_op_inputs inputs;
    struct work_args args;
    struct work_cost cost = nl_no_work_cost();
    if (!nl_rangetree_inputs(trace, work->slice, &inputs))
        return;
    work_args_read(&args, (struct work_texts){.shapes = nl_trace_name(trace, inputs.shapes),
                                              .types = nl_trace_name(trace, inputs.dtypes),
                                              .values = nl_trace_name(trace, inputs.values)});
    if (!cost_of(&args, &step->told, call->inputs, &cost))
        return;
    work->flops = cost.flops;
    work->flops_needed = cost.flops_needed;
    work->bytes = cost.bytes;
    work->type = (uint8_t)cost.type;
    work->matrix = work->estimated = true;
}

static bool any_call(const struct nl_op_works *works)
{
    for (size_t i = 0; i < works->count; i++)
        if (works->items[i].family == WORK_ATTENTION &&
            works->items[i].flops != works->items[i].flops &&
            operator_of(nl_trace_name(works->trace, works->items[i].name)))
            return true;
    return false;
}

void nl_paged_works(struct nl_op_works *works, const struct nl_owners *owners)
{
    struct steps steps = {0};
    struct calls calls = {0};
    if (!any_call(works))
        return;
    list_steps(&steps, works->trace);
    if (steps.count)
        list_calls(&calls, works, owners, &steps);
    if (calls.count)
        qsort(calls.items, calls.count, sizeof *calls.items, by_likeness);
    int64_t longest = 0;
    for (size_t i = 0; i < calls.count; i++) {
        const struct call *call = &calls.items[i];
        if (!i || call[-1].step != call->step || call[-1].inputs != call->inputs ||
            call[-1].shapes != call->shapes)
            longest = call->ns;
        if (call->ns >= longest / 2)
            give(works, call, &steps.items[call->step - 1]);
    }
    nl_free(steps.items);
    nl_free(calls.items);
}
