/* workrows — see workrows.h. */
#include "tables/workrows.h"

#include "tables/lookup.h"

#include "base/mem.h"
#include "base/sum.h"
#include "base/utf8.h"
#include "tables/resultcells.h"
#include "tables/scope.h"
#include "timeline/unseengpu.h"

struct nl_cell nl_roof_name(struct nl_result *result, const struct nl_trace *trace,
                            const struct nl_roof *roof)
{
    if (roof->kind == NL_ROOF_OPERATOR || roof->kind == NL_ROOF_LAYER)
        return nl_cell_name(result, trace, roof->name);
    return roof->text ? nl_cell_text(result, nl_str(roof->text))
                      : (struct nl_cell){.type = NL_CELL_NULL};
}

int64_t nl_roof_ordinal(const struct nl_trace *trace, const struct nl_roof *roof)
{
    return roof->device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[roof->device];
}

#define MIN_REST 0.05 /* of the time: smaller ones are not worth a word */
#define MAX_NAME 60

struct shares {
    int64_t all, modelled, matrix, matrix_modelled;
};

static struct shares sum_work_shares(const struct nl_op_works *works)
{
    struct shares sums = {0};
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        int64_t ns = nl_op_work_ns(work);
        if (ns == NL_NULL_I64)
            continue;
        bool flops = work->flops == work->flops;
        nl_sum_add(&sums.all, ns - work->comm_ns);
        nl_sum_add(&sums.matrix, work->matrix_ns);
        if (flops || work->bytes == work->bytes)
            nl_sum_add(&sums.modelled, ns - work->comm_ns);
        if (flops)
            nl_sum_add(&sums.matrix_modelled, work->matrix_ns);
    }
    return sums;
}

/* Time of unknown work: of the operator that has most of it, and of kernels in none. */
struct rest {
    int64_t most_ns, alone_ns;
    uint32_t most; /* name; 0 none */
};

static struct rest find_rest(const struct nl_op_works *works)
{
    int64_t *sums = nl_zalloc((works->trace->names.count + (size_t)1) * sizeof *sums);
    struct rest rest = {0};
    for (size_t i = 0; i < works->count; i++) {
        const struct nl_op_work *work = &works->items[i];
        int64_t ns = nl_op_work_ns(work);
        if (ns == NL_NULL_I64 || work->flops == work->flops || work->bytes == work->bytes)
            continue;
        bool alone = work->slice == NL_NULL_ROW;
        int64_t *sum = alone ? &rest.alone_ns : &sums[work->name];
        nl_sum_add(sum, ns - work->comm_ns);
        if (!alone && *sum > rest.most_ns) {
            rest.most_ns = *sum;
            rest.most = work->name;
        }
    }
    nl_free(sums);
    return rest;
}

/* A half sentence about it; "" when it is little. */
static const char *rest_of(struct nl_result *result, const struct nl_op_works *works, int64_t all)
{
    struct rest rest = find_rest(works);
    double alone = (double)rest.alone_ns / (double)all, most = (double)rest.most_ns / (double)all;
    struct nl_str name = nl_trace_name(works->trace, rest.most);
    if (alone >= MIN_REST && alone >= most)
        return nl_arena_format(&result->arena,
                               "; %.1f %% is of kernels in no operator (graphs, or launches that "
                               "were not recorded)",
                               100 * alone);
    if (most < MIN_REST)
        return "";
    return nl_arena_format(&result->arena,
                           "; the largest operator of unknown work is %.*s (%.1f %%)",
                           NL_UP_TO(MAX_NAME, name), 100 * most);
}

const char *nl_work_coverage(struct nl_result *result, const struct nl_op_works *works)
{
    struct shares sums = sum_work_shares(works);
    if (!sums.all)
        return nl_gpu_is_unseen(works->trace)
                   ? "GPU work was not recorded, so how long operators computed is not known"
                   : NULL;
    double all = 100.0 * (double)sums.modelled / (double)sums.all;
    if (!sums.matrix)
        return nl_arena_format(&result->arena, "work is known for %.1f %% of the time%s", all,
                               rest_of(result, works, sums.all));
    return nl_arena_format(
        &result->arena,
        "work is known for %.1f %% of kernel time without communication, and for "
        "%.1f %% of the time in matrix products%s",
        all, 100.0 * (double)sums.matrix_modelled / (double)sums.matrix,
        rest_of(result, works, sums.all));
}

const char *nl_no_host_roofs(struct nl_result *result, const struct nl_trace *trace)
{
    const struct nl_host_roofs *roofs = trace->roofs;
    if (!roofs || !roofs->host[0])
        return "no roofs: the profile does not record its host; measure that machine with "
               "`neurolens roof`, then name it here with --host";
    return nl_arena_format(&result->arena,
                           "no roofs: none were measured on host %.60s; run `neurolens roof` there",
                           roofs->host);
}

void nl_roof_note(struct nl_result *result)
{
    const char *says =
        "over 100 % of the roof: a cache had the data, or the measurement or the peak "
        "is wrong";
    ptrdiff_t column = nl_lookup_column(result, "roof_share");
    for (size_t row = 0; column >= 0 && row < result->rows; row++) {
        const struct nl_cell *cell = nl_result_cell(result, row, (size_t)column);
        if (cell->type != NL_CELL_F64 || !(cell->f64 > 1))
            continue;
        result->note =
            result->note ? nl_arena_format(&result->arena, "%s; %s", result->note, says) : says;
        return;
    }
}
