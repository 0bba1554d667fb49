/* llm_steps: llmsteps.h as a table. */
#include "account/devicesteps.h"
#include "base/mem.h"
#include "sql/tablecells.h"
#include "work/llmsteps.h"

static bool open_steps(struct nl_tf_call *call, sqlite3_value **args)
{
    const struct nl_trace *trace = call->db->trace;
    struct nl_window window = nl_argument_window(call, args, false);
    struct nl_work_scope all = {INT64_MIN, INT64_MAX, NULL};
    struct nl_work_scope scope = {.start = window.start, .end = window.end};
    struct nl_llm_steps *steps = nl_zalloc(sizeof *steps);
    struct nl_owners owners;
    struct nl_rangetree ops, ranges;
    struct nl_op_works works;
    struct nl_found_steps found;
    struct nl_device_peaks *peaks = nl_device_peaks_new(trace);
    nl_owners_init(&owners, trace);
    nl_rangetree_init(&ops, trace, NL_KIND_OP);
    nl_rangetree_init(&ranges, trace, NL_KIND_NVTX);
    nl_steps_find_run(trace, &found);
    uint32_t *owner_of = nl_owners_op(&owners, &ops);
    uint32_t *range_of = nl_owners_find(&owners, &ranges);
    nl_op_works_init(&works, trace, &owners, &ops, owner_of, window.has_time ? &scope : NULL);
    nl_llm_steps_init(steps, &(struct nl_llm_sources){.trace = trace,
                                                      .owners = &owners,
                                                      .ranges = &ranges,
                                                      .range_of = range_of,
                                                      .works = &works,
                                                      .peaks = peaks,
                                                      .found = &found,
                                                      .scope = window.has_time ? scope : all});
    nl_free(range_of);
    nl_free(owner_of);
    nl_op_works_release(&works);
    nl_steps_release(&found);
    nl_rangetree_release(&ranges);
    nl_rangetree_release(&ops);
    nl_owners_release(&owners);
    nl_device_peaks_free(peaks);
    call->state = steps;
    call->rows = steps->count;
    return true;
}

static void close_steps(struct nl_tf_call *call)
{
    nl_llm_steps_release(call->state);
    nl_free(call->state);
}

/* Counts in a name; -1: it does not. */
static void show_told(sqlite3_context *context, int64_t value)
{
    nl_show_int(context, value < 0 ? NL_NULL_I64 : value);
}

#define LLM_COLUMNS(C, P)                                                                          \
    C(P, rank, "INTEGER", "rank")                                                                  \
    C(P, device, "INTEGER", "device number within its rank")                                       \
    C(P, phase, "TEXT", "prefill, decode or mixed")                                                \
    C(P, ts, "INTEGER NS", "start of its first device work")                                       \
    C(P, dur, "INTEGER NS", "from its first to its last device work")                              \
    C(P, kernel_ns, "INTEGER NS", "sum of its kernels")                                            \
    C(P, graph_ns, "INTEGER NS", "of that: kernels of replayed graphs")                            \
    C(P, tokens, "INTEGER", "computed, as its name tells")                                         \
    C(P, requests, "INTEGER", "in it, as its name tells")                                          \
    C(P, rows, "REAL", "that most of its products multiply by weights: tokens with padding")       \
    C(P, weight_bytes, "REAL", "read by products with known sizes: weights and activations")       \
    C(P, weights_ns, "REAL", "the least time that takes at memory's peak")                         \
    C(P, compute_ns, "REAL", "the least time that their arithmetic takes")                         \
    C(P, product_ns, "INTEGER NS", "of kernel_ns: products with weights, experts")                 \
    C(P, known_ns, "INTEGER NS", "of product_ns: products with known sizes")                       \
    C(P, gap_ns, "INTEGER NS", "to the first work of the next step")                               \
    C(P, source, "TEXT", "what tells that it is a step of this phase")                             \
    C(P, confidence, "REAL", "0..1")
NL_TF_COLUMNS(llm_columns, LLM, LLM_COLUMNS);

static void show_sizes(const struct nl_llm_work *step, int column, sqlite3_context *context)
{
    bool sizes = step->weight_bytes > 0;
    switch (column) {
    case LLM_rows: nl_show_real(context, step->rows); break;
    case LLM_weight_bytes: nl_show_real(context, sizes ? step->weight_bytes : NAN); break;
    case LLM_weights_ns:
        nl_show_real(context, sizes ? step->weight_bytes / step->memory_rate * 1e9 : NAN);
        break;
    case LLM_compute_ns: nl_show_real(context, sizes ? step->compute_s * 1e9 : NAN); break;
    case LLM_product_ns: nl_show_int(context, step->product_ns); break;
    case LLM_known_ns: nl_show_int(context, step->known_ns); break;
    case LLM_gap_ns: nl_show_int(context, step->gap_ns); break;
    case LLM_source: nl_show_text(context, step->told.source); break;
    default: nl_show_real(context, step->confidence); break;
    }
}

static void step_column(const struct nl_tf_call *call, size_t index, int column,
                        sqlite3_context *context)
{
    const struct nl_llm_work *step = &((const struct nl_llm_steps *)call->state)->items[index];
    const struct nl_trace *trace = call->db->trace;
    bool ran = nl_llm_step_ns(step) != NL_NULL_I64;
    switch (column) {
    case LLM_rank: nl_show_int(context, step->rank); break;
    case LLM_device:
        nl_show_int(context, step->device == NL_NULL_ROW ? NL_NULL_I64
                                                         : trace->device.ordinal[step->device]);
        break;
    case LLM_phase: nl_show_text(context, nl_llm_phase_text(step->told.phase)); break;
    case LLM_ts: nl_show_int(context, ran ? step->first - call->db->origin : NL_NULL_I64); break;
    case LLM_dur: nl_show_int(context, nl_llm_step_ns(step)); break;
    case LLM_kernel_ns: nl_show_int(context, step->kernel_ns); break;
    case LLM_graph_ns: nl_show_int(context, step->graph_ns); break;
    case LLM_tokens: show_told(context, step->told.tokens); break;
    case LLM_requests: show_told(context, step->told.requests); break;
    default: show_sizes(step, column, context); break;
    }
}

static const struct nl_tf_column time_arguments[] = {
    {"window_start", "INTEGER", "first ns to look at"},
    {"window_end", "INTEGER", "end of what to look at, not included"},
    {0}};

const struct nl_table_function nl_tf_llm_steps = {
    .name = "llm_steps",
    .signature = "llm_steps(window_start, window_end)",
    .doc = "Steps of LLM inference: prefill, decode or both, recognised by the names that serving "
           "engines give them, else by attention kernels, queries per sequence or a pattern of "
           "steps (source, confidence). weights_ns is the minimum time for reading their weights: "
           "decode cannot be faster.",
    .example = "SELECT phase, count(*), avg(dur), avg(weights_ns), avg(tokens) FROM llm_steps "
               "GROUP BY phase",
    .columns = llm_columns,
    .arguments = time_arguments,
    .listed = true,
    .open = open_steps,
    .column = step_column,
    .close = close_steps};
