/*
 * compiled_regions — device time by the torch.compile region it was launched from.
 *
 * Dynamo marks a compiled region's forward pass by an operator ("Torch-Compiled Region: 0/0":
 * number of the frame and of its recompilation). Its backward pass runs in
 * "CompiledFunctionBackward" on autograd's thread and is found through its forward operator.
 * Versions and exports without the first mark still have autograd's function or Inductor's range
 * ("## Call CompiledFxGraph …"), so these stand in, in that order.
 */
#include <stdlib.h>

#include "tables/resultcells.h"
#include "tables/gputime.h"
#include "tables/memo.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/forward.h"

/* What a name stands for; the larger the less it says about the region. */
enum mark { NOT_A_MARK, REGION, FUNCTION, GRAPH, MARKS };

static const struct {
    const char *prefix;
    enum mark mark;
} marks[] = {
    {"Torch-Compiled Region", REGION},
    {"CompiledFunction", FUNCTION},
    {"## Call CompiledFxGraph", GRAPH},
};

struct tally {
    uint64_t count, works;
    int64_t cpu_ns, gpu_ns, backward_ns, generated_ns;
    uint32_t name;
};

struct regions {
    struct nl_gputime gpu;               /* over operators */
    const struct nl_memo_ranges *graphs; /* Inductor's ranges */
    /* per work: operator around its launch; of kernels of replays the captured one is the owner */
    uint32_t *launched;
    uint32_t *forward;   /* per operator: its forward operator */
    uint8_t *mark;       /* per name of the trace */
    struct tally *items; /* per name of the trace */
    struct tally outside[NL_UNOWNED];
};

/* The mark of every name; false when there is none. */
static bool find_marks(struct regions *regions, const struct nl_trace *trace)
{
    bool any = false;
    regions->mark = nl_zalloc((size_t)trace->names.count + 1);
    for (uint32_t name = 0; name < trace->names.count; name++) {
        struct nl_str text = nl_trace_name(trace, name);
        for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
            if (nl_str_starts(text, marks[i].prefix))
                regions->mark[name] = (uint8_t)marks[i].mark;
        any |= regions->mark[name] != NOT_A_MARK;
    }
    return any;
}

static uint32_t range_name(const struct nl_rangetree *tree, uint32_t range)
{
    return tree->trace->slice.name[tree->slices[range]];
}

/* Name of the innermost range from `range` outwards that is marked so; NL_NO_NAME none. */
static uint32_t climb(const struct regions *regions, const struct nl_rangetree *tree,
                      uint32_t range, enum mark mark)
{
    for (; range != NL_NULL_ROW; range = tree->parents[range])
        if (regions->mark[range_name(tree, range)] == mark)
            return range_name(tree, range);
    return NL_NO_NAME;
}

/* The region of an operation, and whether it belongs to the backward pass. */
static uint32_t region_of(const struct regions *regions, uint32_t work, bool *backward)
{
    const struct nl_rangetree *ops = regions->gpu.tree;
    uint32_t op = regions->gpu.owner[work], name = climb(regions, ops, op, REGION);
    uint32_t forward = op == NL_NULL_ROW ? NL_NULL_ROW : regions->forward[op];
    *backward = forward != NL_NULL_ROW;
    if (name == NL_NO_NAME)
        name = climb(regions, ops, forward, REGION);
    if (name == NL_NO_NAME)
        name = climb(regions, ops, regions->launched[work], REGION);
    if (name == NL_NO_NAME)
        name = climb(regions, ops, op, FUNCTION);
    if (name == NL_NO_NAME)
        name = climb(regions, ops, regions->launched[work], FUNCTION);
    if (name == NL_NO_NAME)
        name = climb(regions, &regions->graphs->tree, regions->graphs->owner[work], GRAPH);
    return name;
}

static void add_work(struct regions *regions)
{
    const struct nl_gputime *gpu = &regions->gpu;
    for (uint32_t work = 0; work < gpu->owners->count; work++) {
        uint32_t slice = gpu->owners->work[work];
        int64_t length = nl_scope_length(&gpu->device, slice);
        bool backward = false;
        if (length < 0)
            continue;
        uint32_t name = region_of(regions, work, &backward);
        struct tally *item = name == NL_NO_NAME ? &regions->outside[nl_gputime_unowned(gpu, work)]
                                                : &regions->items[name];
        item->works++;
        nl_sum_add(&item->gpu_ns, length);
        nl_sum_add(&item->backward_ns, backward ? length : 0);
        if (nl_str_starts(nl_trace_name(gpu->trace, gpu->trace->slice.name[slice]), "triton_"))
            nl_sum_add(&item->generated_ns, length);
    }
}

static void add_ranges(struct regions *regions, const struct nl_rangetree *tree)
{
    for (uint32_t range = 0; range < tree->count; range++) {
        uint32_t name = range_name(tree, range);
        int64_t length = nl_scope_length(&regions->gpu.host, tree->slices[range]);
        if (!regions->mark[name] || length < 0)
            continue;
        regions->items[name].count++;
        nl_sum_add(&regions->items[name].cpu_ns, length);
    }
}

#define COLUMNS(C)                                                                                 \
    C(region, NULL, TEXT)                                                                          \
    C(count, NULL, COUNT)                                                                          \
    C(cpu_ns, "CPU total", NS)                                                                     \
    C(gpu_ops, "GPU ops", COUNT)                                                                   \
    C(gpu_ns, "GPU", NS)                                                                           \
    C(share, NULL, SHARE)                                                                          \
    C(backward_ns, "backward", NS)                                                                 \
    C(generated_ns, "Triton", NS)
NL_COLUMNS(COLUMNS);

/* Without any device work in the recording, device times are not 0 but unknown. */
static void compiled_regions_add_row(struct nl_result *result, const struct tally *item,
                                     struct nl_cell name, bool region, int64_t whole)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_region] = name;
    if (region) {
        cells[AT_count] = nl_cell_count(item->count);
        cells[AT_cpu_ns] = nl_cell_i64(item->cpu_ns);
    }
    if (whole < 0)
        return;
    cells[AT_gpu_ops] = nl_cell_count(item->works);
    cells[AT_gpu_ns] = nl_cell_i64(item->gpu_ns);
    cells[AT_share] = nl_cell_share(item->gpu_ns, whole);
    cells[AT_backward_ns] = nl_cell_i64(item->backward_ns);
    cells[AT_generated_ns] = nl_cell_i64(item->generated_ns);
}

static int by_gpu(const void *left, const void *right)
{
    const struct tally *a = left, *b = right;
    if (a->gpu_ns != b->gpu_ns)
        return a->gpu_ns > b->gpu_ns ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Rows of marks that own work, and of regions that launched none. */
static void compiled_regions_add_rows(struct nl_result *result, struct regions *regions,
                                      uint32_t names)
{
    static const char *const outside[NL_UNOWNED] = {
        [NL_OUTSIDE] = "[outside compiled regions]", [NL_NOT_LAUNCHED] = "[launch not recorded]"};
    int64_t whole = 0;
    size_t kept = 0;
    for (uint32_t name = 0; name < names; name++) {
        struct tally item = regions->items[name];
        item.name = name;
        nl_sum_add(&whole, item.gpu_ns);
        if (item.works || (item.count && regions->mark[name] == REGION))
            regions->items[kept++] = item;
    }
    for (unsigned i = 0; i < NL_UNOWNED; i++)
        nl_sum_add(&whole, regions->outside[i].gpu_ns);
    if (!regions->gpu.owners->count)
        whole = -1;
    if (kept)
        qsort(regions->items, kept, sizeof *regions->items, by_gpu);
    for (size_t i = 0; i < kept; i++)
        compiled_regions_add_row(result, &regions->items[i],
                                 nl_cell_name(result, regions->gpu.trace, regions->items[i].name),
                                 true, whole);
    nl_result_settle(result, "gpu_ns");
    for (unsigned i = 0; kept && i < NL_UNOWNED; i++)
        if (regions->outside[i].works)
            compiled_regions_add_row(result, &regions->outside[i], nl_cell_static(outside[i]),
                                     false, whole);
}

static struct nl_result *compiled_regions_run(const struct nl_trace *trace,
                                              const struct nl_analyze_options *options,
                                              struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_result *result = NL_ANSWER_NEW("compiled_regions", NULL, columns);
    struct regions regions = {.mark = NULL};
    if (find_marks(&regions, trace)) {
        nl_gputime_init(&regions.gpu, trace, options, NL_KIND_OP);
        regions.graphs = nl_memo_ranges(options->memo, NL_KIND_NVTX);
        regions.forward = nl_forward_ops(regions.gpu.tree);
        regions.launched = nl_owners_at_launch(regions.gpu.owners, regions.gpu.tree);
        regions.items = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *regions.items);
        add_ranges(&regions, regions.gpu.tree);
        add_ranges(&regions, &regions.graphs->tree);
        add_work(&regions);
        compiled_regions_add_rows(result, &regions, trace->names.count);
        nl_free(regions.items);
        nl_free(regions.forward);
        nl_free(regions.launched);
        nl_gputime_release(&regions.gpu);
    }
    nl_free(regions.mark);
    return result;
}

const struct nl_analysis nl_analysis_compiled_regions = {
    .name = "compiled_regions",
    .key = "compiled_regions",
    .title = "Compiled regions by the device time they launched",
    .run = compiled_regions_run,
    .doc =
        "Per region compiled by torch.compile (frame number / recompilation number): calls, time "
        "on the CPU, time of the device work launched from it, including backward passes (by their "
        "forward operator), and how much of that is in generated Triton kernels. If regions are "
        "not marked, autograd's CompiledFunction or Inductor's graph stands for them. Together "
        "with the rows for work outside of regions, GPU adds up to all device work.",
};
