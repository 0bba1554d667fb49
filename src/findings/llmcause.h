/*
 * llmcause — what causes about steps of LLM inference have in common: sums over the steps of
 * one phase on the scene's device (work/llmsteps.h), and the SQL that gives them (table
 * llm_steps). Private to findings.
 */
#ifndef NL_LLMCAUSE_H
#define NL_LLMCAUSE_H

#include "findings/cause.h"
#include "work/llmsteps.h"

struct nl_llm_sum {
    uint64_t steps, with_rows;
    int64_t span_ns, kernel_ns, graph_ns, product_ns, known_ns;
    double weight_bytes, weights_s, compute_s; /* steps with known sizes of products */
    double rows;                               /* summed over `with_rows` steps */
    double memory_rate;                        /* bytes per second; NaN unknown */
    double confidence;                         /* the least */
};

/* Steps of that phase (NL_LLM_NONE: of any); those with work go into `where` (may be NULL). */
struct nl_llm_sum nl_llm_add_up(struct nl_scene *scene, enum nl_llm_phase phase,
                                struct nl_intervals *where);

/* Whether a step is one of the scene's device with work. */
bool nl_llm_is_here(const struct nl_scene *scene, const struct nl_llm_work *step);

/* "SELECT <what> FROM llm_steps<window> WHERE dur IS NOT NULL AND phase = … AND <place>" */
const char *nl_llm_sql(const struct nl_scene *scene, const char *what, enum nl_llm_phase phase);

#endif
