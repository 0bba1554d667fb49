/*
 * llmphase — what the name of a range says about a step of LLM inference: prefill, decode or both,
 * with its requests and tokens. Serving engines name their steps:
 *
 *   vLLM          execute_context_2(510)_generation_30(30); newer: execute_540_context_2(sq510sk510…)_…
 *   TensorRT-LLM  [Executor] _forward_step 12: 2 ctx reqs, 510 ctx tokens, 30 gen reqs
 *   SGLang        step[DECODE bs=30 toks=30], forward_extend, forward_decode
 *   others        a name with the word prefill or decode: an LLM's if attention runs in it
 */
#ifndef NL_LLMPHASE_H
#define NL_LLMPHASE_H

#include <stdint.h>

#include "base/str.h"

enum nl_llm_phase { NL_LLM_NONE, NL_LLM_PREFILL, NL_LLM_DECODE, NL_LLM_MIXED, NL_LLM_PHASES };

struct nl_llm_step {
    enum nl_llm_phase phase;
    const char *source;  /* "vLLM", …; static */
    int64_t requests;    /* in the step; -1 unknown */
    int64_t tokens;      /* computed in the step; -1 unknown */
    int64_t generated;   /* requests that generate: one token each; -1 unknown */
    int64_t kv_tokens;   /* keys that attention reads, all requests; -1 unknown */
    double pairs;        /* Σ queries × keys over requests; 0 unknown */
    double prompt_pairs; /* of that: Σ queries² of prompts, half of which a causal mask hides */
    bool word; /* a word alone gives the phase: also of an image or a file that is decoded */
};

/* NL_LLM_NONE if the name does not say. */
struct nl_llm_step nl_llm_step_of(struct nl_str name);

/* What the kernels of attention say: those made for one query per sequence (decode), or for many
 * (prefill). NL_LLM_NONE: nothing. */
enum nl_llm_phase nl_llm_phase_of_kernel(struct nl_str name);

const char *nl_llm_phase_text(enum nl_llm_phase phase); /* "prefill"; NULL for none */

#endif
