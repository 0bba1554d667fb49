/*
 * What names of steps of language models tell (work/llmphase.c): phase, requests, tokens, keys.
 * Forms as serving engines write them; numbers are worked out by hand from the names. And the
 * kernels that tell a phase, each by a name of its maker.
 */
#include "check.h"

#include "work/llmphase.h"

static const struct {
    const char *name;
    enum nl_llm_phase phase;
    const char *source;
    int64_t requests, tokens, generated, keys;
    double pairs, prompt_pairs;
} steps[] = {
    /* vLLM */
    {"execute_context_2(510)_generation_30(30)", NL_LLM_MIXED, "vLLM", 32, 540, 30, -1, 0, 0},
    {"execute_context_1(8)_generation_0(0)", NL_LLM_PREFILL, "vLLM", 1, 8, 0, -1, 0, 0},
    {"execute_context_0(0)_generation_1(1)", NL_LLM_DECODE, "vLLM", 1, 1, 1, -1, 0, 0},
    {"execute_context_0(0)_generation_0(0)", NL_LLM_NONE, "vLLM", 0, 0, 0, -1, 0, 0},
    {"execute_context_0(sq0sk0sqsq0sqsk0)_generation_0(sq0sk0sqsq0sqsk0)", NL_LLM_NONE, "vLLM", 0,
     0, 0, 0, 0, 0},
    {"execute_context_3_generation_4", NL_LLM_MIXED, "vLLM", 7, -1, 4, -1, 0, 0},
    {"execute_540_context_2(sq510sk510sqsq130050sqsk130050)_generation_30(sq30sk900sqsq30sqsk900)",
     NL_LLM_MIXED, "vLLM", 32, 540, 30, 1410, 130950, 130050},
    {"execute_8_context_1(sq8sk100sqsq64sqsk800)_generation_0(sq0sk0sqsq0sqsk0)", NL_LLM_PREFILL,
     "vLLM", 1, 8, 0, 100, 800, 64},
    /* squares over the pairs cannot be: they are not believed */
    {"execute_8_context_1(sq8sk8sqsq65sqsk64)_generation_0(sq0sk0sqsq0sqsk0)", NL_LLM_PREFILL,
     "vLLM", 1, 8, 0, 8, 64, 0},
    {"execute_8_context_1(sq8sk8sqsq64sqsk64)_generation_0(sq0sk0sqsq0sqsk0)", NL_LLM_PREFILL,
     "vLLM", 1, 8, 0, 8, 64, 64},
    {"execute_4_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk40sqsq4sqsk40)", NL_LLM_DECODE,
     "vLLM", 4, 4, 4, 40, 40, 0},
    {"execute_context_x(1)_generation_1(1)", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"execute_context_1(1)_generation_", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"my_context_2(510)_generation_30(30)", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"execute_model", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    /* TensorRT-LLM: a step that generates may compute several tokens for a request */
    {"[Executor] _forward_step 12: 2 ctx reqs, 510 ctx tokens, 30 gen reqs", NL_LLM_MIXED,
     "TensorRT-LLM", 32, -1, 30, -1, 0, 0},
    {"[Executor] _forward_step 1: 2 ctx reqs, 510 ctx tokens, 0 gen reqs", NL_LLM_PREFILL,
     "TensorRT-LLM", 2, 510, 0, -1, 0, 0},
    {"[Executor] _forward_step 1: 0 ctx reqs, 0 ctx tokens, 7 gen reqs", NL_LLM_DECODE,
     "TensorRT-LLM", 7, -1, 7, -1, 0, 0},
    {"0 ctx reqs, 10 gen reqs", NL_LLM_DECODE, "TensorRT-LLM", 10, -1, 10, -1, 0, 0},
    {"1234 ctx reqs, 0 gen reqs", NL_LLM_PREFILL, "TensorRT-LLM", 1234, -1, 0, -1, 0, 0},
    {" ctx reqs, 10 gen reqs", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"x ctx reqs, 10 gen reqs", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"2 ctx reqs, - gen reqs", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    /* SGLang */
    {"step[DECODE bs=30 toks=30]", NL_LLM_DECODE, "SGLang", 30, 30, 30, -1, 0, 0},
    {"step[EXTEND bs=2 toks=99]", NL_LLM_PREFILL, "SGLang", 2, 99, -1, -1, 0, 0},
    {"step[MIXED bs=5 toks=70]", NL_LLM_MIXED, "SGLang", 5, 70, -1, -1, 0, 0},
    {"step[IDLE bs=0 toks=0]", NL_LLM_NONE, "SGLang", 0, 0, -1, -1, 0, 0},
    {"step[DECODE]", NL_LLM_DECODE, "SGLang", -1, -1, -1, -1, 0, 0},
    {"forward_extend", NL_LLM_PREFILL, "SGLang", -1, -1, -1, -1, 0, 0},
    {"forward_decode", NL_LLM_DECODE, "SGLang", -1, -1, -1, -1, 0, 0},
    {"forward_mixed", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"step DECODE bs=3", NL_LLM_DECODE, "name of the range", -1, -1, -1, -1, 0, 0},
    /* others */
    {"prefill", NL_LLM_PREFILL, "name of the range", -1, -1, -1, -1, 0, 0},
    {"my Decode step", NL_LLM_DECODE, "name of the range", -1, -1, -1, -1, 0, 0},
    {"prefill and decode", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"decoder layer", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"prefill decoder", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"ns::decode", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"::prefill", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"train", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    /* numbers at the limits of what a group may say */
    {"execute_context_1_generation_0", NL_LLM_PREFILL, "vLLM", 1, -1, 0, -1, 0, 0},
    {"execute_context_1(sq1sk0sqsq1sqsk1)_generation_0(0)", NL_LLM_PREFILL, "vLLM", 1, 1, 0, 0, 1,
     1},
    {"execute_context_1(sq0sk1sqsq0sqsk0)_generation_1(sq1sk1sqsq1sqsk1)", NL_LLM_MIXED, "vLLM", 2,
     1, 1, 2, 1, 0},
    {"execute_context_1(8", NL_LLM_NONE, NULL, -1, -1, -1, -1, 0, 0},
    {"execute_context_1(8)_generation_1(9", NL_LLM_MIXED, "vLLM", 2, 17, 1, -1, 0, 0},
    {"execute_context_0(sq4sk4sqsq16sqsk16)_generation_1(1)", NL_LLM_DECODE, "vLLM", 1, 5, 1, 4, 16,
     0},
    {"1 ctx reqs, 0 ctx tokens, 0 gen reqs", NL_LLM_PREFILL, "TensorRT-LLM", 1, 0, 0, -1, 0, 0},
    {"decode", NL_LLM_DECODE, "name of the range", -1, -1, -1, -1, 0, 0},
    /* numbers of fifteen digits at most are read */
    {"step[DECODE bs=123456789012345 toks=1]", NL_LLM_DECODE, "SGLang", 123456789012345, 1,
     123456789012345, -1, 0, 0},
    {"step[DECODE bs=1234567890123456 toks=1]", NL_LLM_DECODE, "SGLang", 123456789012345, 1,
     123456789012345, -1, 0, 0},
    {"123456789012345 ctx reqs, 0 gen reqs", NL_LLM_PREFILL, "TensorRT-LLM", 123456789012345, -1, 0,
     -1, 0, 0},
    {"9123456789012345 ctx reqs, 0 gen reqs", NL_LLM_PREFILL, "TensorRT-LLM", 123456789012345, -1,
     0, -1, 0, 0},
};

/* A name as it stands in a file: something follows that must not matter. */
static struct nl_str cut_out(const char *name, const char *more)
{
    static char room[256];
    snprintf(room, sizeof room, "%s%s", name, more);
    return (struct nl_str){room, strlen(name)};
}

static void names_of_steps(void)
{
    static const char *const more[] = {"", "5", ")", "(7)", " gen reqs", "decode", "sq9"};
    for (size_t k = 0; k < CHECK_LENGTH(steps) * CHECK_LENGTH(more); k++) {
        size_t i = k / CHECK_LENGTH(more);
        struct nl_str name = cut_out(steps[i].name, more[k % CHECK_LENGTH(more)]);
        struct nl_llm_step step = nl_llm_step_of(name);
        check_case(steps[i].name);
        CHECK_INT(step.phase, steps[i].phase);
        CHECK_TEXT(step.source ? step.source : "none", steps[i].source ? steps[i].source : "none");
        CHECK_INT(step.requests, steps[i].requests);
        CHECK_INT(step.tokens, steps[i].tokens);
        CHECK_INT(step.generated, steps[i].generated);
        CHECK_INT(step.kv_tokens, steps[i].keys);
        CHECK_NEAR(step.pairs, steps[i].pairs, 0);
        CHECK_NEAR(step.prompt_pairs, steps[i].prompt_pairs, 0);
        CHECK_INT(step.word, steps[i].source && strcmp(steps[i].source, "name of the range") == 0);
    }
}

static void names_of_kernels(void)
{
    static const struct {
        const char *name;
        enum nl_llm_phase phase;
    } kernels[] = {
        {"void vllm::paged_attention_v1_kernel<unsigned short, 128>", NL_LLM_DECODE},
        {"void vllm::paged_attention_v2_kernel<unsigned short, 128>", NL_LLM_DECODE},
        {"paged_attention_ll4mi_QKV_mfma16_kernel", NL_LLM_DECODE},
        {"kernel_unified_attention_3d", NL_LLM_DECODE},
        {"kernel_unified_attention_2d", NL_LLM_NONE},
        {"void flashinfer::BatchDecodeWithPagedKVCacheKernel<>", NL_LLM_DECODE},
        {"void flashinfer::BatchPrefillWithPagedKVCacheKernel<>", NL_LLM_NONE},
        {"void flashinfer::SingleDecodeWithKVCacheKernel<>", NL_LLM_DECODE},
        {"masked_multihead_attention_kernel", NL_LLM_DECODE},
        {"aiter::mla_decode_stage1", NL_LLM_DECODE},
        {"flash_fwd_mla_kernel", NL_LLM_DECODE},
        {"flash_mla_fwd_splitkv_kernel", NL_LLM_DECODE},
        {"_decode_attention_kernel", NL_LLM_DECODE},
        {"_fwd_grouped_kernel_stage1", NL_LLM_DECODE},
        {"pa_decode_v2", NL_LLM_DECODE},
        {"flash_decode_kernel", NL_LLM_DECODE},
        {"context_attention_fwd", NL_LLM_PREFILL},
        {"_fwd_extend_attention", NL_LLM_PREFILL},
        {"prefill_attention_kernel", NL_LLM_PREFILL},
        {"flash_fwd_kernel", NL_LLM_NONE},
        {"", NL_LLM_NONE},
    };
    static const char *const texts[] = {NULL, "prefill", "decode", "mixed"};
    for (size_t i = 0; i < CHECK_LENGTH(kernels); i++) {
        check_case(kernels[i].name);
        CHECK_INT(nl_llm_phase_of_kernel(nl_str(kernels[i].name)), kernels[i].phase);
    }
    for (int i = 0; i < NL_LLM_PHASES; i++) {
        const char *text = nl_llm_phase_text((enum nl_llm_phase)i);
        CHECK_TEXT(text ? text : "none", texts[i] ? texts[i] : "none");
    }
}

CHECK_MAIN("llmphase", {"names of steps", names_of_steps}, {"names of kernels", names_of_kernels})
