/* llmsteps — see llmsteps.h. Steps by name follow the launches; the others hold the
 * kernels that start in them. */
#include "work/llmsteps.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "base/median.h"

#define ROWS_SEEN    4
#define DEVICES_SEEN 8

#define CONFIDENCE_WORD    0.9
#define CONFIDENCE_KERNELS 0.9
#define CONFIDENCE_SHAPES  0.9
#define CONFIDENCE_PATTERN 0.6

#define PATTERN_STEPS  8    /* that make a pattern */
#define PATTERN_TIMES  3    /* the first is as many times as long as the median */
#define PATTERN_SPREAD 1.25 /* others, and numbers of kernels: within this factor of the median */

/* What is known of a step while its work is gone through. */
struct draft {
    int64_t decode_ns, prefill_ns; /* kernels made for one phase */
    int64_t attention_ns;
    bool one_query, many_queries; /* by shapes */
    struct {
        double rows, bytes;
    } seen[ROWS_SEEN]; /* products by their rows */
    double bytes;      /* of all of them */
    struct {
        uint32_t device;
        int64_t ns;
    } on[DEVICES_SEEN]; /* work by its device; the first that are seen */
    size_t devices;
};

struct run {
    const struct nl_llm_sources *from;
    const struct nl_trace *trace;
    struct nl_llm_steps *steps;
    struct draft *drafts;
    uint32_t *step_of;                 /* per range: step + 1; NULL: none has a name that says it */
    uint32_t *of_found;                /* per found step: step + 1 */
    const struct nl_step_group *group; /* last asked for, of that rank; NULL: it has none */
    int64_t rank;
    bool asked;
    uint8_t *replays;  /* per name of a call: 2 replays a graph, 1 does not; 0 = not asked */
    uint8_t *phase_of; /* per name of a kernel: enum nl_llm_phase + 1; 0 = not asked */
};

int64_t nl_llm_step_ns(const struct nl_llm_work *step)
{
    int64_t ns;
    if (step->last < step->first || __builtin_sub_overflow(step->last, step->first, &ns))
        return NL_NULL_I64;
    return ns;
}

double nl_llm_step_tokens(const struct nl_llm_work *step)
{
    return step->told.tokens >= 0 ? (double)step->told.tokens : step->rows;
}

static bool in_scope(const struct run *run, int64_t ts, uint32_t lane)
{
    const struct nl_work_scope *scope = &run->from->scope;
    return ts >= scope->start && ts < scope->end &&
           (lane == NL_NULL_ROW || !scope->lanes || scope->lanes[lane]);
}

static struct nl_llm_work *new_step(struct run *run, int64_t rank, struct nl_llm_step told,
                                    double confidence)
{
    struct nl_llm_steps *steps = run->steps;
    nl_grow(&steps->items, &steps->cap, steps->count + 1);
    steps->items[steps->count] = (struct nl_llm_work){.told = told,
                                                      .confidence = confidence,
                                                      .rank = rank,
                                                      .device = NL_NULL_ROW,
                                                      .first = INT64_MAX,
                                                      .last = INT64_MIN,
                                                      .gap_ns = NL_NULL_I64,
                                                      .memory_rate = NAN,
                                                      .rows = NAN};
    return &steps->items[steps->count++];
}

/* Steps by the names of ranges. */
static void find_named(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_rangetree *tree = run->from->ranges;
    uint8_t *asked = nl_zalloc(trace->names.count + (size_t)1); /* 1: says nothing */
    for (uint32_t r = 0; r < tree->count; r++) {
        uint32_t parent = tree->parents[r], slice = tree->slices[r];
        uint32_t name = trace->slice.name[slice];
        if (parent != NL_NULL_ROW && run->step_of && run->step_of[parent]) {
            run->step_of[r] = run->step_of[parent];
            continue;
        }
        if (asked[name])
            continue;
        struct nl_llm_step told = nl_llm_step_of(nl_trace_name(trace, name));
        asked[name] = told.phase == NL_LLM_NONE;
        if (told.phase == NL_LLM_NONE || trace->slice.dur[slice] == NL_NULL_I64 ||
            !in_scope(run, trace->slice.ts[slice], trace->slice.lane[slice]))
            continue;
        bool word = told.requests < 0 && told.tokens < 0;
        if (!run->step_of)
            run->step_of = nl_zalloc((tree->count + (size_t)1) * sizeof *run->step_of);
        (void)new_step(run, nl_slice_rank(trace, slice), told, word ? CONFIDENCE_WORD : 1);
        run->step_of[r] = (uint32_t)run->steps->count;
    }
    nl_free(asked);
}

/* The steps that were found, still without a phase. */
static void take_found(struct run *run)
{
    const struct nl_found_steps *found = run->from->found;
    nl_free(run->step_of);
    run->step_of = NULL;
    run->of_found = nl_zalloc((found->count + 1) * sizeof *run->of_found);
    for (size_t g = 0; g < found->group_count; g++) {
        const struct nl_step_group *group = &found->groups[g];
        for (size_t i = group->first; i < group->first + group->count; i++) {
            if (!in_scope(run, found->items[i].marked_start, NL_NULL_ROW))
                continue;
            (void)new_step(run, group->rank,
                           (struct nl_llm_step){
                               .requests = -1, .tokens = -1, .generated = -1, .kv_tokens = -1},
                           group->confidence);
            run->of_found[i] = (uint32_t)run->steps->count;
        }
    }
}

/* The group of a rank; work of one rank is adjacent. */
static const struct nl_step_group *group_of(struct run *run, int64_t rank)
{
    const struct nl_found_steps *found = run->from->found;
    if (run->asked && run->rank == rank)
        return run->group;
    run->group = NULL;
    for (size_t g = 0; g < found->group_count && !run->group; g++) {
        int64_t marked = found->groups[g].rank;
        bool unknown = marked == NL_NULL_I64 || rank == NL_NULL_I64;
        if (marked == rank || (unknown && found->group_count == 1))
            run->group = &found->groups[g];
    }
    run->rank = rank;
    run->asked = true;
    return run->group;
}

/* Step + 1 that an operation of the device belongs to; 0: none. */
static uint32_t step_at(struct run *run, uint32_t work, uint32_t slice)
{
    if (run->step_of) {
        uint32_t range = run->from->range_of[work];
        return range == NL_NULL_ROW ? 0 : run->step_of[range];
    }
    const struct nl_step_group *group = group_of(run, nl_slice_rank(run->trace, slice));
    const struct nl_found_step *items = run->from->found->items;
    int64_t ts = run->trace->slice.ts[slice];
    if (!group)
        return 0;
    size_t next = NL_FIRST(i, group->first, group->first + group->count, items[i].start > ts);
    return next > group->first && ts < items[next - 1].end ? run->of_found[next - 1] : 0;
}

static enum nl_llm_phase phase_of(struct run *run, uint32_t name)
{
    if (!run->phase_of[name])
        run->phase_of[name] =
            (uint8_t)(nl_llm_phase_of_kernel(nl_trace_name(run->trace, name)) + 1);
    return (enum nl_llm_phase)(run->phase_of[name] - 1);
}

/* Whether the call that launched an operation replays a graph: ROCm's kernels do not say theirs. */
static bool is_replayed(struct run *run, uint32_t launch)
{
    if (launch == NL_NULL_ROW)
        return false;
    uint8_t *asked = &run->replays[run->trace->slice.name[launch]];
    if (!*asked)
        *asked = nl_str_find_nocase(nl_trace_name(run->trace, run->trace->slice.name[launch]),
                                    "GraphLaunch") >= 0
                     ? 2
                     : 1;
    return *asked == 2;
}

static void add_kernel(struct run *run, uint32_t at, uint32_t slice, uint32_t launch)
{
    const struct nl_trace *trace = run->trace;
    struct nl_llm_work *step = &run->steps->items[at];
    uint32_t kernel = trace->slice.detail[slice];
    int64_t ns = trace->slice.dur[slice];
    nl_sum_add(&step->kernel_ns, ns);
    step->kernels++;
    if (kernel == NL_NULL_U32)
        return;
    if (trace->kernel.graph[kernel] != NL_NULL_U64 || is_replayed(run, launch))
        nl_sum_add(&step->graph_ns, ns);
    if (trace->kernel.category[kernel] == NL_CATEGORY_GEMM ||
        trace->kernel.category[kernel] == NL_CATEGORY_MOE)
        nl_sum_add(&step->product_ns, ns);
    if (trace->kernel.category[kernel] != NL_CATEGORY_ATTENTION)
        return;
    struct draft *draft = &run->drafts[at];
    enum nl_llm_phase phase = phase_of(run, trace->slice.name[slice]);
    nl_sum_add(&draft->attention_ns, ns);
    if (phase == NL_LLM_DECODE)
        nl_sum_add(&draft->decode_ns, ns);
    else if (phase == NL_LLM_PREFILL)
        nl_sum_add(&draft->prefill_ns, ns);
}

static void note_device(struct draft *draft, uint32_t device, int64_t ns)
{
    size_t i = 0;
    while (i < draft->devices && draft->on[i].device != device)
        i++;
    if (i == DEVICES_SEEN)
        return;
    if (i == draft->devices)
        draft->on[draft->devices++].device = device;
    nl_sum_add(&draft->on[i].ns, ns);
}

/* One process may drive several devices in a step (tensor parallelism): their bytes and times do
 * not add up. The step is that of the first device with half as much work as any, or more: the same
 * one in steps that are alike. */
static void choose_device(struct nl_llm_work *step, const struct draft *draft)
{
    int64_t most = 0;
    for (size_t i = 0; i < draft->devices; i++)
        most = draft->on[i].ns > most ? draft->on[i].ns : most;
    for (size_t i = 0; i < draft->devices; i++)
        if (draft->on[i].ns >= most / 2 && draft->on[i].device < step->device)
            step->device = draft->on[i].device;
}

static void choose_devices(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_owners *owners = run->from->owners;
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t slice = owners->work[i];
        uint32_t at = trace->slice.dur[slice] == NL_NULL_I64 ? 0 : step_at(run, i, slice);
        if (at)
            note_device(&run->drafts[at - 1], nl_slice_device(trace, slice),
                        trace->slice.dur[slice]);
    }
    for (size_t i = 0; i < run->steps->count; i++)
        choose_device(&run->steps->items[i], &run->drafts[i]);
}

static void add_device_work(struct run *run)
{
    const struct nl_trace *trace = run->trace;
    const struct nl_owners *owners = run->from->owners;
    for (uint32_t i = 0; i < owners->count; i++) {
        uint32_t slice = owners->work[i];
        uint32_t at = trace->slice.dur[slice] == NL_NULL_I64 ? 0 : step_at(run, i, slice);
        if (!at || run->steps->items[at - 1].device != nl_slice_device(trace, slice))
            continue;
        struct nl_llm_work *step = &run->steps->items[at - 1];
        int64_t start = trace->slice.ts[slice], end = nl_slice_end(trace, slice);
        step->first = start < step->first ? start : step->first;
        step->last = end > step->last ? end : step->last;
        nl_sum_add(&step->work_ns, trace->slice.dur[slice]);
        if (trace->slice.kind[slice] == NL_KIND_KERNEL)
            add_kernel(run, at - 1, slice, owners->launch[i]);
    }
}

/* Those with most bytes are kept: a fifth number of rows takes the place of the least. */
static void add_rows(struct draft *draft, double rows, double bytes)
{
    size_t least = 0, i = 0;
    draft->bytes += bytes;
    for (; i < ROWS_SEEN && draft->seen[i].bytes > 0 && draft->seen[i].rows != rows; i++)
        least = draft->seen[i].bytes < draft->seen[least].bytes ? i : least;
    if (i == ROWS_SEEN) {
        i = least;
        draft->seen[i].bytes = 0;
    }
    draft->seen[i].rows = rows;
    draft->seen[i].bytes += bytes;
}

static void add_work(struct run *run, const struct nl_op_work *work, uint32_t at)
{
    struct nl_llm_work *step = &run->steps->items[at];
    struct draft *draft = &run->drafts[at];
    if (work->queries == work->queries) {
        draft->one_query |= work->queries <= 1;
        draft->many_queries |= work->queries > 1;
    }
    bool weights = work->rows == work->rows || work->family == WORK_MOE;
    if (!work->matrix || isnan(work->bytes) || work->inside)
        return;
    step->operand_bytes += work->bytes;
    step->attention_bytes += work->family == WORK_ATTENTION ? work->bytes : 0;
    if (!weights)
        return;
    uint32_t device = work->device;
    struct nl_least_time least =
        nl_least_time(work, device == NL_NULL_ROW ? NULL : &run->from->peaks[device]);
    step->compute_s += least.compute == least.compute ? least.compute : 0;
    step->weight_bytes += work->bytes;
    nl_sum_add(&step->known_ns, work->matrix_ns > 0 ? work->matrix_ns : work->kernel_ns);
    if (work->matrix_ns <= 0) /* its kernels' names say nothing: not yet counted */
        nl_sum_add(&step->product_ns, work->kernel_ns);
    if (work->rows == work->rows)
        add_rows(draft, work->rows, work->bytes);
}

static void add_works(struct run *run)
{
    const struct nl_op_works *works = run->from->works;
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        if (work->slice == NL_NULL_ROW || work->place == NL_NULL_ROW)
            continue;
        uint32_t at = step_at(run, work->place, work->first);
        if (at && run->steps->items[at - 1].device == work->device)
            add_work(run, work, at - 1);
    }
}

static void finish_steps(struct run *run)
{
    for (size_t i = 0; i < run->steps->count; i++) {
        struct nl_llm_work *step = &run->steps->items[i];
        const struct draft *draft = &run->drafts[i];
        if (step->known_ns > step->product_ns) /* an operator's kernels may be in two steps */
            step->product_ns = step->known_ns;
        for (size_t k = 0; k < ROWS_SEEN; k++)
            if (draft->seen[k].bytes > draft->bytes / 2)
                step->rows = draft->seen[k].rows;
        if (step->device != NL_NULL_ROW)
            step->memory_rate = run->from->peaks[step->device].nominal[GPU_MEMORY];
    }
}

static bool is_llm(const struct nl_llm_work *step, const struct draft *draft)
{
    if (!step->told.word)
        return true;
    bool one = draft->one_query || draft->decode_ns;
    if (step->told.phase == NL_LLM_DECODE && draft->many_queries && !one)
        return false;
    return draft->attention_ns || draft->one_query || draft->many_queries;
}

/* Steps by a word alone that are no LLM's: of images, files, predictions. */
static void drop_words(struct run *run)
{
    struct nl_llm_steps *steps = run->steps;
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (is_llm(&steps->items[i], &run->drafts[i]))
            steps->items[kept++] = steps->items[i];
    steps->count = kept;
}

/* ---- Phases of steps that no name gives. ---- */

static void set_phase(struct nl_llm_work *step, enum nl_llm_phase phase, const char *source,
                      double confidence)
{
    step->told.phase = phase;
    step->told.source = source;
    step->confidence *= confidence;
}

/* By kernels and shapes; returns whether any step got a phase. */
static bool by_attention(struct run *run, size_t first, size_t end)
{
    bool any = false, decodes = false;
    for (size_t i = first; i < end; i++)
        decodes |= run->drafts[i].one_query;
    for (size_t i = first; i < end; i++) {
        const struct draft *draft = &run->drafts[i];
        struct nl_llm_work *step = &run->steps->items[i];
        if (draft->decode_ns || draft->prefill_ns)
            set_phase(step,
                      !draft->prefill_ns  ? NL_LLM_DECODE
                      : !draft->decode_ns ? NL_LLM_PREFILL
                                          : NL_LLM_MIXED,
                      "attention kernels", CONFIDENCE_KERNELS);
        else if (decodes && (draft->one_query || draft->many_queries))
            set_phase(step,
                      !draft->many_queries ? NL_LLM_DECODE
                      : !draft->one_query  ? NL_LLM_PREFILL
                                           : NL_LLM_MIXED,
                      "queries of attention", CONFIDENCE_SHAPES);
        any |= step->told.phase != NL_LLM_NONE;
    }
    return any;
}

static bool is_near(double value, double median)
{
    return value <= median * PATTERN_SPREAD && median <= value * PATTERN_SPREAD;
}

/* A long first step, then many that are alike, with as many kernels. */
static void by_pattern(struct run *run, size_t first, size_t end)
{
    struct nl_llm_work *steps = run->steps->items;
    if (end - first < PATTERN_STEPS || !run->drafts[first].attention_ns)
        return;
    size_t count = end - first - 1, alike = 0;
    int64_t *values = nl_alloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = steps[first + 1 + i].kernel_ns;
    double median = (double)nl_median_upper(values, count),
           kernels = (double)steps[first + 1].kernels;
    nl_free(values);
    for (size_t i = first + 1; i < end; i++)
        alike += is_near((double)steps[i].kernel_ns, median) &&
                 is_near((double)steps[i].kernels, kernels) && run->drafts[i].attention_ns;
    if (median <= 0 || alike * 10 < count * 9 || !is_near((double)steps[first].kernels, kernels) ||
        (double)steps[first].kernel_ns < PATTERN_TIMES * median)
        return;
    for (size_t i = first; i < end; i++)
        set_phase(&steps[i], i == first ? NL_LLM_PREFILL : NL_LLM_DECODE, "pattern of steps",
                  CONFIDENCE_PATTERN);
}

static void find_phases(struct run *run)
{
    struct nl_llm_steps *steps = run->steps;
    for (size_t first = 0, end; first < steps->count; first = end) {
        for (end = first + 1;
             end < steps->count && steps->items[end].rank == steps->items[first].rank;)
            end++;
        if (!by_attention(run, first, end))
            by_pattern(run, first, end);
    }
    size_t kept = 0;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->items[i].told.phase != NL_LLM_NONE)
            steps->items[kept++] = steps->items[i];
    steps->count = kept;
}

/* Whether kernels of attention run, and nothing is trained. */
static bool may_infer(const struct nl_trace *trace, const struct nl_op_works *works)
{
    bool attention = false;
    for (uint32_t name = 1; name < trace->names.count; name++)
        if (nl_str_starts(nl_trace_name(trace, name), "autograd::engine::evaluate_function"))
            return false;
    for (uint32_t k = 0; k < trace->kernel.rows && !attention; k++)
        attention = trace->kernel.category[k] == NL_CATEGORY_ATTENTION;
    for (size_t i = 0; i < works->count && !attention; i++)
        attention = works->items[i].queries == works->items[i].queries;
    return attention;
}

static int by_time(const void *a, const void *b)
{
    const struct nl_llm_work *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static void find_gaps(struct nl_llm_steps *steps)
{
    if (steps->count)
        qsort(steps->items, steps->count, sizeof *steps->items, by_time);
    for (size_t i = 0; i + 1 < steps->count; i++) {
        struct nl_llm_work *step = &steps->items[i], *next = step + 1;
        int64_t gap;
        if (next->rank != step->rank || next->first == INT64_MAX || step->last == INT64_MIN ||
            __builtin_sub_overflow(next->first, step->last, &gap))
            continue;
        step->gap_ns = gap < 0 ? 0 : gap;
    }
}

/* What ran in the steps that are known so far. */
static void fill_steps(struct run *run)
{
    if (!run->steps->count)
        return;
    nl_free(run->drafts);
    run->drafts = nl_zalloc((run->steps->count + 1) * sizeof *run->drafts);
    choose_devices(run);
    add_device_work(run);
    add_works(run);
    finish_steps(run);
}

void nl_llm_steps_init(struct nl_llm_steps *steps, const struct nl_llm_sources *sources)
{
    struct run run = {.from = sources, .trace = sources->trace, .steps = steps};
    *steps = (struct nl_llm_steps){0};
    run.phase_of = nl_zalloc(sources->trace->names.count + (size_t)1);
    run.replays = nl_zalloc(sources->trace->names.count + (size_t)1);
    find_named(&run);
    fill_steps(&run);
    drop_words(&run);
    if (!steps->count && may_infer(sources->trace, sources->works)) {
        take_found(&run);
        fill_steps(&run);
        find_phases(&run);
    }
    find_gaps(steps);
    nl_free(run.drafts);
    nl_free(run.phase_of);
    nl_free(run.replays);
    nl_free(run.of_found);
    nl_free(run.step_of);
}

void nl_llm_steps_release(struct nl_llm_steps *steps)
{
    nl_free(steps->items);
    *steps = (struct nl_llm_steps){0};
}
