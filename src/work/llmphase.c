/* llmphase — see llmphase.h. Numbers are read after words; what is missing stays unknown. */
#include "work/llmphase.h"
#include "base/chars.h"

const char *nl_llm_phase_text(enum nl_llm_phase phase)
{
    static const char *const texts[NL_LLM_PHASES] = {NULL, "prefill", "decode", "mixed"};
    return texts[phase];
}

/* The number right after `word`; -1 when there is none. *rest is what follows it. */
static int64_t number_after(struct nl_str text, const char *word, struct nl_str *rest)
{
    ptrdiff_t at = nl_str_find_nocase(text, word);
    if (at < 0)
        return -1;
    size_t i = (size_t)at + strlen(word);
    int64_t value = 0;
    int digits = 0;
    for (; i < text.len && nl_is_digit(text.ptr[i]) && digits < 15; i++, digits++)
        value = value * 10 + (text.ptr[i] - '0');
    if (rest)
        *rest = (struct nl_str){text.ptr + i, text.len - i};
    return digits ? value : -1;
}

/* The number right before `word` ("510 ctx tokens"); -1 when there is none. */
static int64_t number_before(struct nl_str text, const char *word)
{
    ptrdiff_t at = nl_str_find_nocase(text, word);
    int64_t value = 0, scale = 1;
    if (at <= 0)
        return -1;
    ptrdiff_t i = at - 1;
    for (; i >= 0 && nl_is_digit(text.ptr[i]) && scale < 1000000000000000; i--) {
        value += (text.ptr[i] - '0') * scale;
        scale *= 10;
    }
    return scale > 1 ? value : -1;
}

static void set_phase(struct nl_llm_step *step, int64_t context, int64_t generating)
{
    step->requests = context + generating;
    step->generated = generating;
    step->phase = !context && !generating ? NL_LLM_NONE
                  : !generating           ? NL_LLM_PREFILL
                  : !context              ? NL_LLM_DECODE
                                          : NL_LLM_MIXED;
}

/* "(510)" or "(sq510sk510sqsq…sqsk…)" after a count of requests. */
static void add_group(struct nl_llm_step *step, struct nl_str rest)
{
    if (!rest.len || *rest.ptr != '(')
        return;
    size_t end = 0;
    while (end < rest.len && rest.ptr[end] != ')')
        end++;
    struct nl_str inside = {rest.ptr, end};
    int64_t tokens = number_after(inside, "(sq", NULL), keys = number_after(inside, "sk", NULL);
    int64_t pairs = number_after(inside, "sqsk", NULL);
    if (tokens < 0)
        tokens = number_after(inside, "(", NULL);
    if (tokens >= 0)
        step->tokens = (step->tokens < 0 ? 0 : step->tokens) + tokens;
    if (keys >= 0)
        step->kv_tokens = (step->kv_tokens < 0 ? 0 : step->kv_tokens) + keys;
    if (pairs > 0)
        step->pairs += (double)pairs;
}

static bool read_vllm(struct nl_str name, struct nl_llm_step *step)
{
    struct nl_str context_rest, generation_rest;
    int64_t context = number_after(name, "context_", &context_rest);
    int64_t generating = number_after(name, "generation_", &generation_rest);
    if (!nl_str_starts(name, "execute_") || context < 0 || generating < 0)
        return false;
    step->source = "vLLM";
    set_phase(step, context, generating);
    add_group(step, context_rest);
    double squares = (double)number_after(context_rest, "sqsq", NULL);
    if (context > 0 && squares > 0 && squares <= step->pairs)
        step->prompt_pairs = squares;
    add_group(step, generation_rest);
    return true;
}

static bool read_tensorrt(struct nl_str name, struct nl_llm_step *step)
{
    int64_t context = number_before(name, " ctx reqs"),
            generating = number_before(name, " gen reqs");
    if (context < 0 || generating < 0)
        return false;
    step->source = "TensorRT-LLM";
    set_phase(step, context, generating);
    int64_t tokens = number_before(name, " ctx tokens");
    if (tokens >= 0 &&
        !generating) /* a request may generate several tokens in a step: speculation */
        step->tokens = tokens;
    return true;
}

static bool read_sglang(struct nl_str name, struct nl_llm_step *step)
{
    bool marked = nl_str_starts(name, "step[");
    if (!marked && !nl_str_is(name, "forward_extend") && !nl_str_is(name, "forward_decode"))
        return false;
    step->source = "SGLang";
    step->phase = nl_str_find_nocase(name, "mixed") >= 0    ? NL_LLM_MIXED
                  : nl_str_find_nocase(name, "extend") >= 0 ? NL_LLM_PREFILL
                  : nl_str_find_nocase(name, "decode") >= 0 ? NL_LLM_DECODE
                                                            : NL_LLM_NONE;
    step->requests = number_after(name, "bs=", NULL);
    step->tokens = number_after(name, "toks=", NULL);
    if (step->phase == NL_LLM_DECODE)
        step->generated = step->requests;
    return true;
}

struct nl_llm_step nl_llm_step_of(struct nl_str name)
{
    struct nl_llm_step step = {.requests = -1, .tokens = -1, .generated = -1, .kv_tokens = -1};
    if (read_vllm(name, &step) || read_tensorrt(name, &step) || read_sglang(name, &step))
        return step;
    bool prefill = nl_str_find_nocase(name, "prefill") >= 0;
    bool decode = nl_str_find_nocase(name, "decode") >= 0;
    if (prefill == decode || nl_str_find_nocase(name, "decoder") >= 0 ||
        nl_str_find_nocase(name, "::") >= 0)
        return step;
    step.source = "name of the range";
    step.word = true;
    step.phase = prefill ? NL_LLM_PREFILL : NL_LLM_DECODE;
    return step;
}

enum nl_llm_phase nl_llm_phase_of_kernel(struct nl_str name)
{
    /* vLLM, FlashInfer, SGLang, FasterTransformer and TensorRT-LLM, AITER. FlashInfer's prefill
     * kernels also run decode on tensor cores, so they say nothing. */
    static const struct {
        const char *part;
        enum nl_llm_phase phase;
    } parts[] = {
        {"paged_attention_v1", NL_LLM_DECODE},
        {"paged_attention_v2", NL_LLM_DECODE},
        {"paged_attention_ll4mi", NL_LLM_DECODE},
        {"unified_attention_3d", NL_LLM_DECODE},
        {"BatchDecodeWith", NL_LLM_DECODE},
        {"SingleDecodeWith", NL_LLM_DECODE},
        {"masked_multihead_attention", NL_LLM_DECODE},
        {"mla_decode", NL_LLM_DECODE},
        {"flash_fwd_mla", NL_LLM_DECODE},
        {"flash_mla_fwd_splitkv", NL_LLM_DECODE},
        {"decode_attention", NL_LLM_DECODE},
        {"fwd_grouped_kernel_stage1", NL_LLM_DECODE},
        {"pa_decode", NL_LLM_DECODE},
        {"flash_decode", NL_LLM_DECODE},
        {"context_attention_fwd", NL_LLM_PREFILL},
        {"extend_attention", NL_LLM_PREFILL},
        {"prefill_attention", NL_LLM_PREFILL},
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        if (nl_str_find_nocase(name, parts[i].part) >= 0)
            return parts[i].phase;
    return NL_LLM_NONE;
}
