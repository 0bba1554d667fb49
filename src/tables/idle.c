/*
 * idle — why each device had nothing to do: its gaps by class, with the longest of each class.
 */
#include "tables/resultcells.h"
#include "tables/gaptext.h"
#include "tables/memo.h"

#define EXAMPLES      3
#define EXAMPLE_BYTES 4096

#define COLUMNS(C)                                                                                 \
    C(rank, NULL, INTEGER)                                                                         \
    C(device, NULL, INTEGER)                                                                       \
    C(class, NULL, TEXT)                                                                           \
    C(gaps, NULL, COUNT)                                                                           \
    C(total_ns, "total", NS)                                                                       \
    C(wall_share, "of wall", SHARE)                                                                \
    C(idle_share, "of idle", SHARE)                                                                \
    C(longest_ns, "longest", NS)                                                                   \
    C(examples, "longest gaps", TEXT)
NL_COLUMNS(COLUMNS);

/* The longest gaps of each class, longest first. */
struct longest {
    const struct nl_idle_gap *gaps[NL_IDLE_CLASSES][EXAMPLES];
};

static int64_t length_of(const struct nl_idle_gap *gap)
{
    return gap->end - gap->start;
}

static void keep_long_gap(struct longest *longest, const struct nl_idle_gap *gap)
{
    const struct nl_idle_gap **kept = longest->gaps[gap->class];
    for (size_t i = 0; i < EXAMPLES; i++) {
        if (kept[i] && length_of(kept[i]) >= length_of(gap))
            continue;
        for (size_t j = EXAMPLES - 1; j > i; j--)
            kept[j] = kept[j - 1];
        kept[i] = gap;
        return;
    }
}

static void idle_add_row(struct nl_result *result, const struct nl_trace *trace,
                         const struct nl_idle_device *device, enum nl_idle_class class,
                         const struct longest *longest)
{
    struct nl_buf text;
    nl_buf_init(&text, EXAMPLE_BYTES);
    for (size_t i = 0; i < EXAMPLES && longest->gaps[class][i]; i++) {
        nl_buf_text(&text, i ? "; " : "");
        nl_gap_tell(&text, trace, longest->gaps[class][i]);
    }
    struct nl_cell *cells = nl_result_row(result);
    cells[AT_rank] = nl_cell_i64(device->rank);
    cells[AT_device] = nl_cell_i64(device->ordinal);
    cells[AT_class] = nl_cell_static(nl_idle_class_name(class));
    cells[AT_gaps] = nl_cell_count(device->class_count[class]);
    cells[AT_total_ns] = nl_cell_i64(device->class_ns[class]);
    cells[AT_wall_share] = nl_cell_share(device->class_ns[class], device->wall_ns);
    cells[AT_idle_share] = nl_cell_share(device->class_ns[class], device->idle_ns);
    if (longest->gaps[class][0])
        cells[AT_longest_ns] = nl_cell_i64(length_of(longest->gaps[class][0]));
    if (text.len)
        cells[AT_examples] = nl_cell_text(result, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
}

static struct nl_result *idle_run(const struct nl_trace *trace,
                                  const struct nl_analyze_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    (void)job;
    (void)err;
    const struct nl_idle *idle = nl_memo_idle(options->memo);
    struct nl_result *result = NL_ANSWER_NEW("idle", NULL, columns);
    for (size_t i = 0; i < idle->device_count; i++) {
        const struct nl_idle_device *device = &idle->devices[i];
        struct longest longest = {0};
        for (size_t gap = 0; gap < device->gaps; gap++)
            keep_long_gap(&longest, &idle->gaps[device->first_gap + gap]);
        for (enum nl_idle_class class = 0; class < NL_IDLE_CLASSES; class ++)
            if (device->class_count[class])
                idle_add_row(result, trace, device, class, &longest);
    }
    return result;
}

const struct nl_analysis nl_analysis_idle = {
    .name = "idle",
    .key = "idle",
    .title = "Why devices were idle",
    .needs = {{NL_T_kernel, NULL}},
    .need_count = 1,
    .run = idle_run,
    .doc = "Per rank and device: gaps without any work on the whole device (copies and memsets are "
           "work), by class. host_late: the launch of the operation that ends the gap began inside "
           "it, so the device waited for the CPU. dependency: launched before the gap, but its "
           "stream had to wait for an event. launch_latency: launched before, no wait known, at "
           "most 30 µs. queued: the same, but longer: what it waited for was not recorded. "
           "unknown: the launch was not recorded. short: gaps under 1 µs. The classes add up to "
           "idle_ns of time_breakdown.",
};
