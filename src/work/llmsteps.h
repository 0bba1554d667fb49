/*
 * llmsteps — the steps of LLM inference in a trace: prefill, decode or both, what each ran on its
 * device, and the least time that its weights take to read.
 *
 *     struct nl_llm_steps steps;
 *     nl_llm_steps_init(&steps, &(struct nl_llm_sources){...});
 *     for (size_t i = 0; i < steps.count; i++) ... steps.items[i] ...
 *     nl_llm_steps_release(&steps);
 *
 * How a step and its phase are known, the first that answers, with the confidence
 * that stands in each step:
 *
 *   names      ranges that serving engines name (llmphase.h): 1; a name with the word prefill or decode: 0.9,
 *              if attention runs in it.
 *              Device work launched in the range is the step's.
 *   kernels    steps as stepfind.h knows them, by attention kernels that are made for one phase: 0.9
 *   shapes     the same steps, by queries per sequence of attention: one is decode; more are prefill where other
 *              steps of the rank have one: 0.9
 *   pattern    the same steps: the first runs as many kernels as the others, but three times as long or more,
 *              and the others are alike: prefill, then decode: 0.6
 *
 * The last three are not asked where a backward pass was recorded; their confidence is
 * times that of the steps.
 */
#ifndef NL_LLMSTEPS_H
#define NL_LLMSTEPS_H

#include "timeline/stepfind.h"
#include "work/llmphase.h"
#include "work/roofline.h"

struct nl_llm_sources {
    const struct nl_trace *trace;
    const struct nl_owners *owners;
    const struct nl_rangetree *ranges; /* NVTX ranges and annotations */
    const uint32_t *range_of; /* per work of the owners: index in ranges, NL_NULL_ROW none */
    const struct nl_op_works *works;
    const struct nl_device_peaks *peaks;
    const struct nl_found_steps *found;
    struct nl_work_scope scope; /* ranges and steps that start in it */
};

struct nl_llm_work {
    struct nl_llm_step told;
    double confidence; /* 0..1 */
    int64_t rank;
    uint32_t device;     /* row; the step is its work on this device alone; NL_NULL_ROW without */
    int64_t first, last; /* from the first to the last work; INT64_MAX, INT64_MIN without */
    int64_t gap_ns;      /* to the next step's first work of the rank; NL_NULL_I64 unknown */
    int64_t kernel_ns, graph_ns;
    int64_t work_ns; /* kernels, copies and fills; those at the same time count twice */
    uint64_t kernels;
    int64_t product_ns;     /* of kernel_ns: GEMM and MoE kernels, or operators */
    int64_t known_ns;       /* of that: whose bytes are known */
    double weight_bytes;    /* read by products with weights and by experts, if known */
    double compute_s;       /* their least time by arithmetic */
    double operand_bytes;   /* all products and attention */
    double attention_bytes; /* of that: attention, in decode the KV cache */
    double memory_rate;     /* bytes per second of its device; NaN unknown */
    double rows;            /* that most of its products have; NaN unknown */
};

struct nl_llm_steps {
    struct nl_llm_work *items; /* by rank, then time */
    size_t count, cap;
};

void nl_llm_steps_init(struct nl_llm_steps *steps, const struct nl_llm_sources *sources);
void nl_llm_steps_release(struct nl_llm_steps *steps);

/* Length on the device; NL_NULL_I64 without work. */
int64_t nl_llm_step_ns(const struct nl_llm_work *step);

/* Tokens that it computed, by name, else by rows of its products; NaN unknown. */
double nl_llm_step_tokens(const struct nl_llm_work *step);

#endif
