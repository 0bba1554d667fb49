/*
 * Finding iterations on hand-made profiles: marked ones, ranges by their text, launch sequences
 * that repeat (with noise, warm-up, layers inside), and profiles that have none.
 *
 * The model of these profiles is one step = embed, LAYERS × (attn, mlp), head, adam; the device
 * idles before embed.
 */
#include "tables/lookup.h"
#include "answer/profile.h"
#include "check.h"
#include "derive/derive.h"
#include "timeline/stepdetect.h"
#include "timeline/stepfind.h"
#include "timeline/stepphase.h"
#include "timeline/stepname.h"
#include "store/builder.h"

#define LAYERS  6
#define KERNELS (LAYERS * 2 + 3) /* per step */

struct site {
    struct nl_builder *builder;
    struct nl_stage *stage;
    uint32_t process, calls, ranges, stream;
    uint64_t state, correlation;
    int64_t now;
};

static uint64_t dice(struct site *site, uint64_t below)
{
    site->state ^= site->state << 13;
    site->state ^= site->state >> 7;
    site->state ^= site->state << 17;
    return (site->state >> 11) % below;
}

static void open_site(struct site *site)
{
    *site = (struct site){.builder = nl_builder_new(NULL), .state = 88172645463325252u};
    uint32_t source = nl_builder_source(site->builder, "trace.json", "made up");
    nl_builder_rank(site->builder, source, 0);
    site->process = nl_builder_process(site->builder, source, 1);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = site->process,
                              .thread = nl_builder_thread(site->builder, site->process, 10),
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    site->calls = nl_builder_lane(site->builder, &key);
    key.kind = NL_LANE_NVTX;
    site->ranges = nl_builder_lane(site->builder, &key);
    key.kind = NL_LANE_STREAM;
    key.thread = NL_NULL_ROW;
    key.device = nl_builder_device(site->builder, source, 0, 0);
    key.context = 1;
    key.stream = 7;
    site->stream = nl_builder_lane(site->builder, &key);
    site->stage = nl_stage_new(site->builder);
    nl_stage_begin(site->stage, source, 0);
}

static uint32_t add_slice(struct site *site, enum nl_kind kind, uint32_t lane, const char *name,
                          int64_t ts, int64_t dur)
{
    struct nl_slice_row row = nl_slice_row();
    row.kind = (uint8_t)kind;
    row.lane = lane;
    row.name = nl_stage_name(site->stage, nl_str(name));
    row.ts = ts;
    row.dur = dur;
    return nl_stage_slice(site->stage, &row);
}

static void add_call(struct site *site, const char *name, int64_t ts, int64_t dur)
{
    struct nl_api_row row = nl_api_row();
    row.slice = add_slice(site, NL_KIND_API, site->calls, name, ts, dur);
    row.correlation = ++site->correlation;
    nl_stage_api(site->stage, &row);
}

static void add_range(struct site *site, const char *name, int64_t ts, int64_t dur)
{
    struct nl_nvtx_row row = nl_nvtx_row();
    row.slice = add_slice(site, NL_KIND_NVTX, site->ranges, name, ts, dur);
    row.style = NL_RANGE_PUSH_POP;
    nl_stage_nvtx(site->stage, &row);
}

/* A kernel now, launched a little before; the device idles `pause` first. */
static void add_kernel(struct site *site, const char *name, int64_t dur, int64_t pause)
{
    site->now += pause + 5;
    add_call(site, "cudaLaunchKernel", site->now - 5, 4);
    struct nl_kernel_row row = nl_kernel_row();
    row.slice = add_slice(site, NL_KIND_KERNEL, site->stream, name, site->now, dur);
    row.correlation = site->correlation;
    nl_stage_kernel(site->stage, &row);
    site->now += dur;
}

/* One step; `noise` in 100 kernels is followed by one of another name, lengths vary by `vary`. */
static void add_step(struct site *site, int64_t dur, unsigned noise, int64_t vary, bool modules)
{
    add_kernel(site, "embed", dur, 500);
    for (int layer = 0; layer < LAYERS; layer++) {
        char name[32];
        snprintf(name, sizeof name, "blocks.%d", layer);
        if (modules)
            add_range(site, name, site->now, 2 * dur + 5);
        for (int k = 0; k < 2; k++) {
            add_kernel(site, k ? "mlp" : "attn",
                       dur + (vary ? (int64_t)dice(site, (uint64_t)vary) : 0), 0);
            if (dice(site, 100) < noise) {
                snprintf(name, sizeof name, "noise %u", (unsigned)dice(site, 40));
                add_kernel(site, name, dur, 0);
            }
        }
    }
    add_kernel(site, "head", dur, 0);
    add_kernel(site, "adam", dur, 0);
}

static struct nl_trace *close_site(struct site *site)
{
    struct nl_err err = {0};
    struct nl_trace *trace = nl_builder_finish(site->builder, &err);
    CHECK_TEXT(err.text, "");
    return trace;
}

static void takes_marked_steps(void)
{
    struct site site;
    struct nl_found_steps found;
    open_site(&site);
    for (int i = 0; i < 3; i++) {
        struct nl_step_row row = nl_step_row();
        row.index = 7 + i;
        row.ts = site.now;
        row.lane = site.calls;
        add_step(&site, 100, 0, 0, false);
        row.dur = site.now - row.ts;
        nl_stage_step(site.stage, &row);
    }
    struct nl_trace *trace = close_site(&site);
    nl_steps_find(trace, &found);
    REQUIRE(found.group_count == 1);
    CHECK_INT(found.groups[0].method, NL_STEPS_MARKED);
    CHECK_INT(found.groups[0].rank, 0);
    CHECK_INT(found.count, 3);
    CHECK_INT(found.items[2].index, 9);
    nl_steps_release(&found);
    nl_trace_free(trace);
}

/* Numbered ranges; modules are loaded in the first. One range of a surer
 * text alone says nothing. */
static void takes_ranges_by_their_text(void)
{
    struct site site;
    struct nl_found_steps found;
    char name[32];
    open_site(&site);
    add_range(&site, "iteration 99", -100, 10);
    for (int i = 0; i < 8; i++) {
        int64_t from = site.now;
        if (i == 0)
            add_call(&site, "cuModuleLoadData", from, 3000);
        add_step(&site, i ? 100 : 400, 0, 0, true);
        snprintf(name, sizeof name, "Step %d to %d", 10 * i, 10 * i + 10);
        add_range(&site, name, from, site.now - from);
    }
    struct nl_trace *trace = close_site(&site);
    nl_steps_find(trace, &found);
    REQUIRE(found.group_count == 1 && found.count == 8);
    CHECK_INT(found.groups[0].method, NL_STEPS_RANGES);
    CHECK_TEXT(found.groups[0].pattern, "step # to #");
    CHECK_NEAR(found.groups[0].confidence, 0.95, 1e-9);
    CHECK_INT(found.items[3].index, 30);
    CHECK_INT(found.items[0].phase, NL_STEP_COMPILE);
    CHECK_INT(found.items[0].load_ns, 3000);
    for (size_t i = 1; i < 8; i++)
        CHECK_INT(found.items[i].phase, NL_STEP_STEADY);
    nl_steps_release(&found);
    nl_trace_free(trace);
}

/* Nobody marks the loop, but its parts come round; a layer loop inside device work is none. */
static void takes_parts_that_come_round(void)
{
    for (int device = 0; device < 2; device++) {
        struct site site;
        struct nl_found_steps found;
        open_site(&site);
        add_range(&site, "setup", 0, 50);
        for (int i = 0; i < 6; i++) {
            int64_t from = 1000 + 1000 * i;
            add_range(&site, "read", from, 300);
            add_range(&site, "backbone", from + 310, 400);
            add_range(&site, "head", from + 720, 100);
        }
        add_range(&site, "read", 7000, 300);
        for (int i = 0; i < 3 * device; i++)
            add_kernel(&site, "kernel", 10, 700);
        struct nl_trace *trace = close_site(&site);
        nl_steps_find(trace, &found);
        REQUIRE(device ? found.count == 0 : found.count == 6);
        for (size_t i = 0; i < found.count; i++)
            CHECK_INT(found.items[i].start, 1000 + 1000 * (int64_t)i);
        for (size_t i = 0; i < found.count; i++)
            CHECK_INT(found.items[i].end, 2000 + 1000 * (int64_t)i);
        nl_steps_release(&found);
        nl_trace_free(trace);
    }
}

/* Cases of repeating launches: how many steps, and how sure at least. */
static void detects_repeating_launches(void)
{
    static const struct {
        const char *label;
        unsigned steps, warm, noise;
        int64_t vary;
        bool modules;
        double least, most;
    } cases[] = {
        {"plain", 10, 0, 0, 0, false, 0.6, 0.75},
        {"modules recur in every step", 10, 0, 0, 0, true, 0.8, 0.9},
        {"lengths vary", 12, 0, 0, 60, false, 0.6, 0.75},
        {"noise", 12, 0, 10, 40, true, 0.5, 0.9},
        {"warm-up", 12, 2, 0, 4, true, 0.8, 0.9},
        {"few", 3, 0, 0, 0, true, 0.6, 0.9},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct site site;
        struct nl_found_steps found;
        check_case(cases[i].label);
        open_site(&site);
        for (unsigned step = 0; step < cases[i].steps; step++)
            add_step(&site, step < cases[i].warm ? 1000 : 100, cases[i].noise, cases[i].vary,
                     cases[i].modules);
        struct nl_trace *trace = close_site(&site);
        nl_steps_find(trace, &found);
        CHECK_INT(found.count, cases[i].steps);
        REQUIRE(found.group_count == 1);
        CHECK_INT(found.groups[0].method, NL_STEPS_LAUNCHES);
        CHECK(found.groups[0].confidence >= cases[i].least);
        CHECK(found.groups[0].confidence <= cases[i].most);
        for (size_t step = 0; step < found.count; step++) {
            CHECK_STR(nl_trace_name(trace, found.items[step].name), "embed");
            CHECK_INT(found.items[step].phase, step < cases[i].warm     ? NL_STEP_WARM_UP
                                               : step + 1 < found.count ? NL_STEP_STEADY
                                                                        : NL_STEP_LAST);
            if (step)
                CHECK_INT(found.items[step].start, found.items[step - 1].end);
        }
        nl_steps_release(&found);
        nl_trace_free(trace);
    }
}

static size_t steps_in(struct site *site)
{
    struct nl_found_steps found;
    struct nl_trace *trace = close_site(site);
    nl_steps_find(trace, &found);
    size_t count = found.count;
    nl_steps_release(&found);
    nl_trace_free(trace);
    return count;
}

static void add_rounds_kernels(struct site *site)
{
    add_kernel(site, "norm", 100, 0);
    add_kernel(site, "attn", 100, 0);
    add_kernel(site, "mlp", 100, 0);
    add_kernel(site, "add", 100, 0);
}

/* Rounds whose ranges are numbered on and on: layers of one step where the name says so,
 * else perhaps iterations. */
static void numbered_rounds(void)
{
    static const struct {
        const char *format;
        bool layers;
    } cases[] = {{"blocks.%d, op_id = 1000", true},
                 {"layer_%d", true},
                 {"Decoder Block %d", true},
                 {"Compute %d", false},
                 {"round, %d.", false}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct site site;
        char name[32];
        check_case(cases[c].format);
        open_site(&site);
        for (int i = 0; i < 40; i++) {
            snprintf(name, sizeof name, cases[c].format, i);
            add_range(&site, name, site.now, 500);
            add_rounds_kernels(&site);
        }
        CHECK_INT(steps_in(&site) == 0, cases[c].layers);
    }
}

/* Three names of layers, in `held` of the rounds all together, from the second on: what marks a
 * round begins in the first. */
static size_t steps_with_layers(int rounds, int held)
{
    static const char *const names[] = {"layer_0", "layer_1", "layer_2"};
    struct site site;
    open_site(&site);
    for (int i = 0; i < rounds; i++) {
        for (int n = 0; n < 3; n++)
            if (i > 0 && (i - 1) * 3 + n < held)
                add_range(&site, names[n], site.now, 500);
        add_rounds_kernels(&site);
    }
    return steps_in(&site);
}

/* A layer comes in every step: names that are in fewer than 34 % of the rounds are of layers,
 * that are rounds of one step. */
static void names_in_few_rounds(void)
{
    check_case("50 of 150");
    CHECK_INT(steps_with_layers(50, 50), 0);
    check_case("51 of 150");
    CHECK(steps_with_layers(50, 51) > 0);
}

static void finds_none(void)
{
    struct site site;
    char name[32];
    check_case("random names");
    open_site(&site);
    for (int i = 0; i < 600; i++) {
        snprintf(name, sizeof name, "kernel %u", (unsigned)dice(&site, 30));
        add_kernel(&site, name, 100, 0);
    }
    CHECK_INT(steps_in(&site), 0);
    check_case("one kernel over and over");
    open_site(&site);
    for (int i = 0; i < 600; i++)
        add_kernel(&site, "gemm", 100, 0);
    CHECK_INT(steps_in(&site), 0);
    check_case("two steps");
    open_site(&site);
    add_step(&site, 100, 0, 0, true);
    add_step(&site, 100, 0, 0, true);
    CHECK_INT(steps_in(&site), 0);
    check_case("nothing");
    open_site(&site);
    CHECK_INT(steps_in(&site), 0);
}

static void reads_texts(void)
{
    static const struct {
        const char *text, *pattern;
        int64_t number;
    } cases[] = {
        {"ProfilerStep#12", "profilerstep*#", 12},
        {"Step 190 to 200", "step # to #", 190},
        {"iteration 5", "iteration #", 5},
        {"Iteration: 17", "iteration: #", 17},
        {"iter 5", "iter #", 5},
        {"iter_00042", "iter_#", 42},
        {"train 3", "train #", 3},
        {"step 7", "step #", 7},
        {"step_7", "step_#", 7},
        {"STEP=7", "step=#", 7},
        {"batch 9", "batch #", 9},
        {"sample_0", "sample_#", 0},
        {"train_step", "*train_step", NL_NULL_I64},
        {"megatron.training.train_step", "*train_step", NL_NULL_I64},
        {"[pl][profile]run_training_batch", "[pl][profile]run_training_batch", NL_NULL_I64},
        {"[pl][module]MyModel.training_step", "*training_step", NL_NULL_I64},
        {"execute_model", "*execute_model", NL_NULL_I64},
        {"execute_32_context_0(sq0)_generation_32(sq32)", "execute_*context*generation*",
         NL_NULL_I64},
        {"step[DECODE bs=32]", "step[*", NL_NULL_I64},
        {"[Executor] _forward_step 12: 0 ctx reqs, 3 gen reqs", "[executor] _forward_step #*", 12},
        {"ExecutionContext::execute", "executioncontext::execute", NL_NULL_I64},
        {"step 99999999999999999999", "step #", NL_NULL_I64},
        {"stepping", NULL, NL_NULL_I64},
        {"step ", NULL, NL_NULL_I64},
        {"Optimizer.step#SGD.step", NULL, NL_NULL_I64},
        {"epoch 3", NULL, NL_NULL_I64},
        {"", NULL, NL_NULL_I64},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        int64_t number;
        check_case(cases[i].text);
        int rule = nl_step_rule_of(nl_str(cases[i].text), &number);
        CHECK_TEXT(rule < 0 ? NULL : nl_step_rules[rule].pattern, cases[i].pattern);
        CHECK_INT(number, cases[i].number);
    }
}

static void tells_phases(void)
{
    static const struct {
        const char *label;
        int64_t lengths[10], loads[10];
        const char *phases; /* w, c, or . for steady */
    } cases[] = {
        {"steady", {100, 101, 99, 100, 100, 102, 98, 100, 100, 100}, {0}, ".........."},
        {"two long ones first",
         {900, 300, 99, 100, 100, 102, 98, 100, 100, 100},
         {0},
         "ww........"},
        {"short ones first", {30, 70, 99, 100, 100, 101, 99, 100, 100, 100}, {0}, "ww........"},
        {"a long one later", {100, 101, 900, 100, 100, 102, 98, 100, 100, 100}, {0}, ".........."},
        {"compiles",
         {400, 101, 99, 100, 100, 300, 98, 100, 100, 100},
         {350, 1, 0, 0, 0, 200},
         "c....c...."},
        {"loads in every step",
         {100, 100, 100, 100, 100, 100, 100, 100, 100, 100},
         {50, 50, 50, 50, 50, 50, 50, 50, 50, 50},
         ".........."},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_found_step steps[10] = {{0}};
        char phases[11] = "";
        int64_t now = 0;
        for (size_t k = 0; k < 10; k++) {
            steps[k].start = now;
            steps[k].end = now += cases[i].lengths[k];
            steps[k].load_ns = cases[i].loads[k];
        }
        nl_steps_set_phases(steps, 10);
        for (size_t k = 0; k < 10; k++)
            phases[k] = ".wc"[steps[k].phase];
        check_case(cases[i].label);
        CHECK_TEXT(phases, cases[i].phases);
    }
}

static struct nl_result *ask(const struct nl_trace *trace, const char *name)
{
    const struct nl_analyze_options options = {0};
    struct nl_err err = {0};
    struct nl_result *result = nl_analysis_run(nl_analysis_find(name), trace, &options, NULL, &err);
    CHECK(result != NULL);
    return result;
}

/* Five ranges of 1,000 ns; in each a kernel of 300 ns that a copy of 400 ns follows, overlapping by
 * 100: 300 compute + 300 exposed copies + 400 idle. The last one's kernel leaves the step by 50. */
static void breaks_steps_down(void)
{
    struct site site;
    open_site(&site);
    for (int i = 0; i < 5; i++) {
        char name[32];
        int64_t at = 1000 * i, late = i == 4 ? 750 : 100;
        snprintf(name, sizeof name, "iteration %d", i);
        add_range(&site, name, at, 1000);
        struct nl_kernel_row row = nl_kernel_row();
        row.slice = add_slice(&site, NL_KIND_KERNEL, site.stream, "gemm", at + late, 300);
        nl_stage_kernel(site.stage, &row);
        if (i == 4)
            break;
        struct nl_copy_row copy = nl_copy_row();
        copy.slice = add_slice(&site, NL_KIND_MEMCPY, site.stream, "HtoD", at + 300, 400);
        nl_stage_copy(site.stage, &copy);
    }
    struct nl_trace *trace = close_site(&site);
    struct nl_result *result = ask(trace, "step_breakdown");
    REQUIRE(result->rows == 5);
    for (size_t row = 0; row < 5; row++) {
        CHECK_INT(nl_lookup_i64(result, row, "index"), row);
        CHECK_INT(nl_lookup_i64(result, row, "wall_ns"), 1000);
        CHECK_INT(nl_lookup_i64(result, row, "compute_ns"), row == 4 ? 250 : 300);
        CHECK_INT(nl_lookup_i64(result, row, "exposed_copy_ns"), row == 4 ? 0 : 300);
        CHECK_INT(nl_lookup_i64(result, row, "idle_ns"), row == 4 ? 750 : 400);
    }
    nl_result_free(result);
    result = ask(trace, "step_parts");
    REQUIRE(result->rows == 5);
    CHECK_STR(nl_lookup_text(result, 4, "part"), "idle");
    CHECK_NEAR(nl_lookup_f64(result, 4, "mean_ns"), 470, 1e-9);
    CHECK_NEAR(nl_lookup_f64(result, 4, "p50_ns"), 400, 1e-9);
    nl_result_free(result);
    result = ask(trace, "step_summary");
    REQUIRE(result->rows == 1);
    CHECK_STR(nl_lookup_text(result, 0, "method"), "ranges");
    nl_result_free(result);
    nl_trace_free(trace);
}

/* A period stays the same when the sequence is long; the cost is n log n (a second is far off). */
static void scales(void)
{
    size_t count = 300000, period = 300;
    uint32_t *names = calloc(count, sizeof *names);
    REQUIRE(names != NULL);
    for (size_t i = 0; i < count; i++) {
        size_t at = i % period;
        names[i] = (uint32_t)(at < 20 ? at : 20 + at % 8);
    }
    double idle[28] = {5};
    struct nl_step_sequence sequence = {names, count, CHECK_LENGTH(idle), idle};
    struct nl_step_cuts cuts = nl_step_detect(&sequence);
    CHECK_INT(cuts.count, count / period);
    CHECK_INT(cuts.name, 0);
    nl_free(cuts.items);
    free(names);
}

CHECK_MAIN("stepfind", {"takes marked steps", takes_marked_steps},
           {"takes parts that come round", takes_parts_that_come_round},
           {"takes ranges by their text", takes_ranges_by_their_text},
           {"detects repeating launches", detects_repeating_launches}, {"finds none", finds_none},
           {"numbered rounds", numbered_rounds}, {"names in few rounds", names_in_few_rounds},
           {"reads texts", reads_texts}, {"tells phases", tells_phases},
           {"breaks steps down", breaks_steps_down}, {"scales", scales})
