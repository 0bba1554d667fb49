/*
 * copies — memory copies by direction, kinds of memory, rank and device, with the bandwidth they
 * reached and whether pageable host memory was involved.
 */
#include "analyze/answer.h"
#include "analyze/groups.h"
#include "analyze/places.h"
#include "analyze/scope.h"

static const struct nl_result_column columns[] = {
    {"rank", NULL, NL_MEANS_INTEGER},
    {"device", NULL, NL_MEANS_INTEGER},
    {"kind", NULL, NL_MEANS_TEXT},
    {"src_memory", "from", NL_MEANS_TEXT},
    {"dst_memory", "to", NL_MEANS_TEXT},
    {"count", NULL, NL_MEANS_COUNT},
    {"bytes", NULL, NL_MEANS_BYTES},
    {"total_ns", "total", NL_MEANS_NS},
    {"share", NULL, NL_MEANS_SHARE},
    {"min_ns", "min", NL_MEANS_NS},
    {"median_ns", "median", NL_MEANS_NS},
    {"max_ns", "max", NL_MEANS_NS},
    {"bandwidth_bytes_per_s", "bandwidth", NL_MEANS_RATE},
    {"pageable", NULL, NL_MEANS_INTEGER},
};

enum { SUM_BYTES, SUM_TIMED_NS, SUM_UNSIZED };

static void collect(struct nl_groups *groups, const struct nl_scope *scope,
                    const struct nl_places *places)
{
    const struct nl_trace *trace = scope->trace;
    const struct nl_copy_table *copy = &trace->copy;
    for (uint32_t row = 0; row < copy->rows; row++) {
        uint32_t slice = copy->slice[row];
        int64_t length = nl_scope_length(scope, slice);
        if (length < 0)
            continue;
        uint64_t way = (uint64_t)copy->kind[row] << 16 | (uint64_t)copy->src_memory[row] << 8 |
                       copy->dst_memory[row];
        struct nl_group *group =
            nl_groups_add(groups, way, places->lane_place[trace->slice.lane[slice]], length);
        if (copy->bytes[row] == NL_NULL_U64) {
            group->sums[SUM_UNSIZED]++;
            continue;
        }
        group->sums[SUM_BYTES] += (int64_t)copy->bytes[row];
        group->sums[SUM_TIMED_NS] += length;
    }
}

static struct nl_cell pageable(unsigned src, unsigned dst)
{
    if (src == NL_MEMORY_PAGEABLE || dst == NL_MEMORY_PAGEABLE)
        return nl_cell_i64(1);
    return nl_cell_i64(src && dst ? 0 : NL_NULL_I64);
}

static void add_row(struct nl_result *result, const struct nl_places *places,
                    const struct nl_group *group, int64_t whole)
{
    unsigned src = group->a >> 8 & 0xff, dst = group->a & 0xff;
    bool placed = group->b != NL_NULL_ROW,
         sized = group->stats.count > (uint64_t)group->sums[SUM_UNSIZED];
    const struct nl_place *place = placed ? &places->items[group->b] : NULL;
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_i64(placed ? place->rank : NL_NULL_I64);
    cells[1] = nl_cell_i64(placed ? place->ordinal : NL_NULL_I64);
    cells[2] = nl_answer_enum(NL_ENUM_copykind, group->a >> 16 & 0xff);
    cells[3] = nl_answer_enum(NL_ENUM_memory, src);
    cells[4] = nl_answer_enum(NL_ENUM_memory, dst);
    cells[5] = nl_answer_count(group->stats.count);
    cells[6] = nl_cell_i64(sized ? group->sums[SUM_BYTES] : NL_NULL_I64);
    cells[7] = nl_cell_i64(group->stats.total_ns);
    cells[8] = nl_answer_share(group->stats.total_ns, whole);
    cells[9] = nl_cell_i64(group->stats.min_ns);
    cells[10] = nl_cell_f64(group->stats.median_ns);
    cells[11] = nl_cell_i64(group->stats.max_ns);
    if (sized && group->sums[SUM_TIMED_NS] > 0)
        cells[12] =
            nl_cell_f64((double)group->sums[SUM_BYTES] * 1e9 / (double)group->sums[SUM_TIMED_NS]);
    cells[13] = pageable(src, dst);
}

static struct nl_result *run(const struct nl_trace *trace, const struct nl_analyze_options *options,
                             struct nl_job *job, struct nl_err *err)
{
    (void)job;
    (void)err;
    struct nl_scope scope;
    struct nl_places places;
    struct nl_groups groups;
    nl_scope_init(&scope, trace, &options->window);
    nl_places_init(&places, trace);
    nl_groups_init(&groups);
    collect(&groups, &scope, &places);
    nl_groups_finish(&groups);
    struct nl_result *result = NL_ANSWER_NEW("copies", NULL, columns);
    int64_t whole = nl_groups_total(&groups);
    for (size_t i = 0; i < groups.count; i++)
        add_row(result, &places, &groups.items[i], whole);
    nl_groups_release(&groups);
    nl_places_release(&places);
    nl_scope_release(&scope);
    return result;
}

const struct nl_analysis nl_analysis_copies = {
    .name = "copies",
    .key = "copies",
    .title = "Memory copies",
    .needs = {{NL_T_copy, NULL}},
    .need_count = 1,
    .run = run,
    .doc = "Per rank, device, direction and kinds of memory: count, bytes, time, and bandwidth = "
           "bytes / time of the copies whose size is known. pageable = 1 where pageable host "
           "memory is on either side, NULL where the kinds of memory were not recorded.",
};
