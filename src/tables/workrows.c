/* workrows — see workrows.h. */
#include "tables/workrows.h"

#include "base/sum.h"
#include "tables/answer.h"
#include "tables/scope.h"

struct nl_cell nl_roof_name(struct nl_result *result, const struct nl_trace *trace,
                            const struct nl_roof *roof)
{
    if (roof->kind == NL_ROOF_OPERATOR || roof->kind == NL_ROOF_LAYER)
        return nl_answer_name(result, trace, roof->name);
    return roof->text ? nl_cell_text(result, nl_str(roof->text))
                      : (struct nl_cell){.type = NL_CELL_NULL};
}

int64_t nl_roof_ordinal(const struct nl_trace *trace, const struct nl_roof *roof)
{
    return roof->device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[roof->device];
}

struct shares {
    int64_t all, modelled, matrix, matrix_modelled;
};

static struct shares add_up(const struct nl_op_works *works)
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

const char *nl_work_coverage(struct nl_result *result, const struct nl_op_works *works)
{
    struct shares sums = add_up(works);
    if (!sums.all)
        return NULL;
    double all = 100.0 * (double)sums.modelled / (double)sums.all;
    if (!sums.matrix)
        return nl_arena_format(&result->arena, "work is known for %.1f %% of the time", all);
    return nl_arena_format(
        &result->arena,
        "work is known for %.1f %% of kernel time without communication, and for "
        "%.1f %% of the time in products of matrices",
        all, 100.0 * (double)sums.matrix_modelled / (double)sums.matrix);
}
