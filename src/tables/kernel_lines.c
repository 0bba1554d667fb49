/*
 * kernel_lines — where in their code kernels spend their time, as a kernel profiler sampled it: per
 * source line, or per instruction where the program has no line information, and what its warps
 * mostly waited for there.
 */
#include <stdlib.h>
#include <string.h>

#include "tables/resultcells.h"
#include "tables/scope.h"
#include "tables/workrows.h"
#include "base/mem.h"

#define SAMPLES "smsp__pcsamp_sample_count"
#define STALLED "smsp__pcsamp_warps_issue_stalled_"

#define COLUMNS(C)                                                                                 \
    C(name, "kernel", TEXT)                                                                        \
    C(file, NULL, TEXT)                                                                            \
    C(line, NULL, INTEGER)                                                                         \
    C(offset, NULL, INTEGER)                                                                       \
    C(samples, NULL, COUNT)                                                                        \
    C(share, NULL, SHARE)                                                                          \
    C(stall, "mostly", TEXT)                                                                       \
    C(stall_share, "of them", SHARE)
NL_COLUMNS(COLUMNS);

/* Samples of one metric at one place; sorted, the places of a kernel and their reasons meet. */
struct entry {
    uint32_t kernel, file, line, reason; /* reason: name of the metric, 0 = all samples */
    int64_t offset;                      /* NL_NULL_I64 if the line gives the place */
    double value;
};

/* What a metric counts: all samples (0), a reason (its name), or nothing of this. */
static bool reason_of(struct nl_str metric, uint32_t name, uint32_t *reason)
{
    static const char not_issued[] = "_not_issued";
    size_t end = sizeof not_issued - 1;
    *reason = 0;
    if (nl_str_is(metric, SAMPLES))
        return true;
    if (!nl_str_starts(metric, STALLED) ||
        (metric.len > end && memcmp(metric.ptr + metric.len - end, not_issued, end) == 0))
        return false; /* those that were not issued are among the others */
    *reason = name;
    return true;
}

static int by_place(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->kernel != b->kernel)
        return a->kernel < b->kernel ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    if (a->offset != b->offset)
        return a->offset < b->offset ? -1 : 1;
    return (a->reason > b->reason) - (a->reason < b->reason);
}

static bool same_place(const struct entry *a, const struct entry *b)
{
    return a->kernel == b->kernel && a->file == b->file && a->line == b->line &&
           a->offset == b->offset;
}

/* The entries of the window, sorted. */
static struct entry *collect_entries(const struct nl_scope *scope, size_t *count)
{
    const struct nl_trace *trace = scope->trace;
    const struct nl_instance_table *table = &trace->instance;
    struct entry *entries = NULL;
    size_t cap = 0;
    *count = 0;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t slice = table->slice[row], reason;
        struct nl_str metric = nl_trace_name(trace, table->metric[row]);
        if (table->offset[row] == NL_NULL_I64 || !(table->value[row] > 0) ||
            !reason_of(metric, table->metric[row], &reason) || nl_scope_length(scope, slice) < 0)
            continue;
        bool lined = table->file[row] && table->line[row] != NL_NULL_U32;
        nl_grow(&entries, &cap, *count + 1);
        entries[(*count)++] = (struct entry){.kernel = trace->slice.name[slice],
                                             .file = lined ? table->file[row] : NL_NO_NAME,
                                             .line = lined ? table->line[row] : NL_NULL_U32,
                                             .reason = reason,
                                             .offset = lined ? NL_NULL_I64 : table->offset[row],
                                             .value = table->value[row]};
    }
    if (*count)
        qsort(entries, *count, sizeof *entries, by_place);
    return entries;
}

/* A place: all its samples, and the reason that most of them have. */
struct place {
    const struct entry *entry;
    double samples, whole, most; /* whole: of the kernel */
    uint32_t reason;
};

static struct place sum_entries(const struct entry *entries, size_t count)
{
    struct place place = {.entry = entries};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum = i && entries[i].reason == entries[i - 1].reason ? sum + entries[i].value
                                                              : entries[i].value;
        if (!entries[i].reason)
            place.samples = sum;
        else if (sum > place.most) {
            place.most = sum;
            place.reason = entries[i].reason;
        }
    }
    return place;
}

static int by_samples(const void *x, const void *y)
{
    const struct place *a = x, *b = y;
    return (a->samples < b->samples) - (a->samples > b->samples);
}

static size_t list_places(const struct entry *entries, size_t count, struct place *places)
{
    size_t found = 0;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && same_place(&entries[first], &entries[end]); end++)
            ;
        places[found] = sum_entries(entries + first, end - first);
        found += places[found].samples > 0;
    }
    for (size_t first = 0, end; first < found; first = end) {
        double whole = 0;
        for (end = first; end < found && places[end].entry->kernel == places[first].entry->kernel;
             end++)
            whole += places[end].samples;
        for (size_t i = first; i < end; i++)
            places[i].whole = whole;
    }
    if (found)
        qsort(places, found, sizeof *places, by_samples);
    return found;
}

static void kernel_lines_add_row(struct nl_result *result, const struct nl_trace *trace,
                                 const struct place *place)
{
    struct nl_cell *cells = nl_result_row(result);
    const struct entry *entry = place->entry;
    struct nl_str reason = nl_trace_name(trace, place->reason);
    size_t prefix = sizeof STALLED - 1;
    cells[AT_name] = nl_cell_name(result, trace, entry->kernel);
    cells[AT_file] = nl_cell_name(result, trace, entry->file);
    cells[AT_line] = nl_cell_u32(entry->line);
    cells[AT_offset] = nl_cell_i64(entry->offset);
    cells[AT_samples] = nl_cell_whole(place->samples);
    cells[AT_share] = nl_cell_f64(place->samples / place->whole);
    if (place->reason)
        cells[AT_stall] =
            nl_cell_text(result, (struct nl_str){reason.ptr + prefix, reason.len - prefix});
    cells[AT_stall_share] = nl_cell_f64(place->reason ? place->most / place->samples : NL_NULL_F64);
}

static struct nl_result *kernel_lines_run(const struct nl_trace *trace,
                                          const struct nl_analyze_options *options,
                                          struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_result *result = NL_ANSWER_NEW("kernel_lines", NULL, columns);
    size_t count;
    nl_scope_init(&scope, trace, &options->window);
    struct entry *entries = collect_entries(&scope, &count);
    struct place *places = nl_alloc((count + 1) * sizeof *places);
    size_t found = list_places(entries, count, places);
    for (size_t i = 0; i < found; i++)
        kernel_lines_add_row(result, trace, &places[i]);
    nl_result_settle(result, "samples");
    nl_free(places);
    nl_free(entries);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_kernel_lines = {
    .name = "kernel_lines",
    .key = "kernel_lines",
    .title = "Hottest lines of kernels",
    .needs = {{NL_T_instance, "offset"}},
    .need_count = 1,
    .run = kernel_lines_run,
    .doc = "Per kernel name and source line (or code offset, if the program has no line "
           "information): warp samples that Nsight Compute took there, their share of the kernel's "
           "samples, and the most frequent stall reason (smsp__pcsamp_*; selected is not a stall).",
};
