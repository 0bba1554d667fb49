/* Steps of LLM inference that no name gives (work/llmsteps.c), and those of a word alone: limits of
 * the pattern, kernels of one phase, devices of a step, gaps. Worked out by hand. */
#include "check.h"
#include "gpuranks.h"
#include "tables/memo.h"

#define SPACING 10000 /* us from step to step */

/* One step of a made-up program. */
struct step {
    int64_t us;      /* of its kernels together */
    int64_t kernels; /* with the one of attention, which takes 10 us */
    const char *attention;
};

static void add_step(struct gputrace *make, int64_t at, const struct step *step)
{
    int64_t others = step->kernels - 1, us = at + 20;
    gputrace_step(make, at, SPACING - 100);
    gputrace_kernel(make, 7, step->attention, at, 2, us, 10);
    us += 10;
    for (int64_t i = 0; i < others; i++) {
        int64_t all = step->us - 10, length = all * (i + 1) / others - all * i / others;
        gputrace_kernel(make, 7, "softmax_kernel", at + 4 * (i + 1), 2, us, length);
        us += length;
    }
}

struct found {
    struct nl_trace *trace;
    struct nl_memo *memo;
    const struct nl_llm_steps *steps;
};

static struct found find_in(struct gputrace *make)
{
    static const struct nl_window whole;
    struct found found = {.trace = gputrace_close(make)};
    if (found.trace) {
        found.memo = nl_memo_new(found.trace, &whole);
        found.steps = nl_memo_llm_steps(found.memo);
    }
    return found;
}

static void release_found(struct found *found)
{
    nl_memo_free(found->memo);
    nl_trace_free(found->trace);
}

/* A first step, then `count` of which the last `unlike` differ. */
static struct found pattern_of(struct step first, int64_t count, int64_t unlike, struct step other)
{
    const struct step usual = {100, 8, "flash_fwd_kernel"};
    struct gputrace make;
    gputrace_open(&make);
    add_step(&make, 0, &first);
    for (int64_t i = 1; i <= count; i++)
        add_step(&make, i * SPACING, i > count - unlike ? &other : &usual);
    return find_in(&make);
}

static void long_first_step(void)
{
    static const struct step plain = {0};
    static const struct {
        const char *what;
        struct step first;
        int64_t count, unlike;
        struct step other;
        bool found;
    } cases[] = {
        {"three times as long", {300, 8, "flash_fwd_kernel"}, 9, 0, {0, 0, NULL}, true},
        {"less than that", {299, 8, "flash_fwd_kernel"}, 9, 0, {0, 0, NULL}, false},
        {"eight steps", {300, 8, "flash_fwd_kernel"}, 7, 0, {0, 0, NULL}, true},
        {"seven steps", {300, 8, "flash_fwd_kernel"}, 6, 0, {0, 0, NULL}, false},
        {"as many kernels, nearly", {300, 10, "flash_fwd_kernel"}, 9, 0, {0, 0, NULL}, true},
        {"more kernels", {300, 11, "flash_fwd_kernel"}, 9, 0, {0, 0, NULL}, false},
        {"fewer kernels", {300, 6, "flash_fwd_kernel"}, 9, 0, {0, 0, NULL}, false},
        {"no attention at first", {300, 8, "relu_kernel"}, 9, 0, {0, 0, NULL}, false},
        {"one of ten differs",
         {300, 8, "flash_fwd_kernel"},
         10,
         1,
         {126, 8, "flash_fwd_kernel"},
         true},
        {"two of ten differ",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {126, 8, "flash_fwd_kernel"},
         false},
        {"two take a quarter more",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {125, 8, "flash_fwd_kernel"},
         true},
        {"two take a fifth less",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {80, 8, "flash_fwd_kernel"},
         true},
        {"two take less than that",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {79, 8, "flash_fwd_kernel"},
         false},
        {"two have more kernels",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {100, 11, "flash_fwd_kernel"},
         false},
        {"two have no attention",
         {300, 8, "flash_fwd_kernel"},
         10,
         2,
         {100, 8, "relu_kernel"},
         false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct step other = cases[i].unlike ? cases[i].other : plain;
        struct found it = pattern_of(cases[i].first, cases[i].count, cases[i].unlike, other);
        check_case(cases[i].what);
        REQUIRE(it.steps);
        CHECK_INT(it.steps->count, cases[i].found ? cases[i].count + 1 : 0);
        for (size_t k = 0; k < it.steps->count; k++) {
            const struct nl_llm_work *step = &it.steps->items[k];
            CHECK_INT(step->told.phase, k ? NL_LLM_DECODE : NL_LLM_PREFILL);
            CHECK_TEXT(step->told.source, "pattern of steps");
            CHECK_NEAR(step->confidence, 0.6, 1e-9);
        }
        release_found(&it);
    }
}

/* From the first to the last work of a step, and from there to the next. */
static void lengths_and_gaps(void)
{
    struct found it = pattern_of((struct step){300, 8, "flash_fwd_kernel"}, 9, 0, (struct step){0});
    REQUIRE(it.steps && it.steps->count == 10);
    for (size_t i = 0; i < 10; i++) {
        const struct nl_llm_work *step = &it.steps->items[i];
        int64_t us = i ? 100 : 300, at = (int64_t)i * SPACING + 20;
        CHECK_INT(step->first, 1000 * at);
        CHECK_INT(step->last, 1000 * (at + us));
        CHECK_INT(nl_llm_step_ns(step), 1000 * us);
        CHECK_INT(step->kernel_ns, 1000 * us);
        CHECK_INT(step->work_ns, 1000 * us);
        CHECK_INT(step->kernels, 8);
        CHECK_INT(step->gap_ns, i == 9 ? NL_NULL_I64 : 1000 * (SPACING - us));
        CHECK(isnan(nl_llm_step_tokens(step)));
    }
    release_found(&it);
}

/* Kernels that are made for one phase say it, whatever is long. */
static void kernels_of_one_phase(void)
{
    static const struct {
        const char *first, *second;
        enum nl_llm_phase phase;
    } cases[] = {
        {"paged_attention_v2_kernel", "flash_fwd_kernel", NL_LLM_DECODE},
        {"context_attention_fwd", "flash_fwd_kernel", NL_LLM_PREFILL},
        {"context_attention_fwd", "paged_attention_v2_kernel", NL_LLM_MIXED},
        {"flash_fwd_kernel", "flash_fwd_kernel", NL_LLM_NONE},
        {"softmax_kernel", "softmax_kernel", NL_LLM_NONE},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        gputrace_open(&make);
        for (int64_t k = 0; k < 4; k++) {
            add_step(&make, k * SPACING, &(struct step){100, 4, cases[i].first});
            gputrace_kernel(&make, 7, cases[i].second, k * SPACING + 50, 2, k * SPACING + 200, 30);
        }
        struct found it = find_in(&make);
        check_case(cases[i].first);
        REQUIRE(it.steps);
        CHECK_INT(it.steps->count, cases[i].phase ? 4 : 0);
        for (size_t k = 0; k < it.steps->count; k++) {
            CHECK_INT(it.steps->items[k].told.phase, cases[i].phase);
            CHECK_TEXT(it.steps->items[k].told.source, "attention kernels");
            CHECK_NEAR(it.steps->items[k].confidence, 0.9, 1e-9);
        }
        release_found(&it);
    }
}

/* A range whose name is a word alone is a step where attention runs in it. */
static void words_need_attention(void)
{
    static const struct {
        const char *range, *kernel;
        size_t count;
    } cases[] = {{"decode step", "flash_fwd_kernel", 3},
                 {"decode image", "jpeg_kernel", 0},
                 {"prefill", "paged_attention_v2_kernel", 3},
                 {"prefill", "relu_kernel", 0},
                 {"execute_context_1(64)_generation_0(0)", "relu_kernel", 3}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct gputrace make;
        gputrace_open(&make);
        for (int64_t k = 0; k < 3; k++) {
            gputrace_slice(&make, NL_KIND_NVTX, make.calls, cases[i].range, k * SPACING, 500);
            gputrace_kernel(&make, 7, cases[i].kernel, k * SPACING + 10, 2, k * SPACING + 20, 30);
        }
        struct found it = find_in(&make);
        check_case(cases[i].range);
        REQUIRE(it.steps);
        CHECK_INT(it.steps->count, cases[i].count);
        for (size_t k = 0; k < it.steps->count; k++)
            CHECK_NEAR(it.steps->items[k].confidence, it.steps->items[k].told.word ? 0.9 : 1, 1e-9);
        release_found(&it);
    }
}

/* One process drives two devices: the step is that of the first with half as much work as the
 * other, or more. */
static void device_of_a_step(void)
{
    for (int64_t us = 48; us <= 52; us++) {
        struct gputrace make;
        gputrace_open(&make);
        uint32_t devices[] = {make.device, nl_builder_device(make.builder, make.source, 1, 1)};
        for (int64_t k = 0; k < 4; k++)
            for (int64_t d = 1; d >= 0; d--) {
                int64_t at = k * SPACING + 20;
                make.device = devices[d];
                if (d)
                    gputrace_step(&make, k * SPACING, 5000);
                gputrace_kernel(&make, 7, "paged_attention_v2_kernel", at + 10 * d, 2, at + 20,
                                d ? 100 : us);
            }
        struct found it = find_in(&make);
        REQUIRE(it.steps);
        CHECK_INT(it.steps->count, 4);
        for (size_t k = 0; k < it.steps->count; k++) {
            CHECK_INT(it.steps->items[k].device, us >= 50 ? devices[0] : devices[1]);
            CHECK_INT(it.steps->items[k].kernel_ns, 1000 * (us >= 50 ? us : 100));
        }
        release_found(&it);
    }
}

CHECK_MAIN("llmsteps", {"a long first step", long_first_step},
           {"lengths and gaps", lengths_and_gaps}, {"kernels of one phase", kernels_of_one_phase},
           {"words need attention", words_need_attention}, {"device of a step", device_of_a_step})
