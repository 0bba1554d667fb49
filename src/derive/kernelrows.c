/* See kernelrows.h. */
#include "derive/kernelrows.h"

#include "base/mem.h"
#include "base/pool.h"
#include "derive/kernelcategory.h"
#include "derive/kernelclass.h"

/* What the name of a kernel says. */
struct kernel_name {
    uint8_t class, category, tensor_core; /* class: 0 not looked at yet */
    uint32_t dtype;
};

struct classing {
    struct nl_trace *trace;
    struct kernel_name *known; /* per name */
    uint32_t part_rows;
};

static struct kernel_name tell_kernel(struct nl_trace *t, uint32_t name)
{
    struct nl_str text = nl_trace_name(t, name);
    enum nl_class class = nl_kernel_class(text);
    struct nl_kernel_facts facts = nl_kernel_facts(text, class);
    return (struct kernel_name){
        (uint8_t) class, (uint8_t)facts.category, (uint8_t)facts.tensor_core,
        facts.dtype ? nl_dict_add(&t->names, nl_str(facts.dtype)) : NL_NO_NAME};
}

static void class_part(void *context, size_t part, unsigned worker)
{
    const struct classing *classing = context;
    struct nl_kernel_table *kernel = &classing->trace->kernel;
    uint32_t from = (uint32_t)part * classing->part_rows, left = kernel->rows - from;
    uint32_t to = from + (left < classing->part_rows ? left : classing->part_rows);
    (void)worker;
    for (uint32_t i = from; i < to; i++) {
        if (kernel->slice[i] == NL_NULL_ROW)
            continue;
        struct kernel_name it = classing->known[classing->trace->slice.name[kernel->slice[i]]];
        if (!kernel->class[i])
            kernel->class[i] = it.class;
        kernel->category[i] = it.category;
        kernel->tensor_core[i] = it.tensor_core;
        kernel->dtype[i] = it.dtype;
    }
}

/* Class, category, tensor-core use and element type of kernels: names in order, by one thread, as
 * that gives new names their numbers, then the columns by all. */
void nl_kernel_rows_class(struct nl_trace *t, unsigned threads)
{
    struct classing classing = {t, nl_zalloc(t->names.count * sizeof *classing.known), NL_FEW_ROWS};
    for (uint32_t i = 0; i < t->kernel.rows; i++) {
        uint32_t slice = t->kernel.slice[i];
        uint32_t name = slice == NL_NULL_ROW ? NL_NO_NAME : t->slice.name[slice];
        if (slice != NL_NULL_ROW && !classing.known[name].class)
            classing.known[name] = tell_kernel(t, name);
    }
    size_t parts = ((size_t)t->kernel.rows + NL_FEW_ROWS - 1) / NL_FEW_ROWS;
    nl_parallel(threads, parts, class_part, &classing);
    nl_free(classing.known);
}

/* Fills the rows from `at` on: the operation by the kernel's name, decided once per name. */
static void name_collectives(struct nl_trace *t, const uint8_t *has, uint32_t at)
{
    uint32_t names = t->names.count;
    uint32_t *known = nl_alloc(names * sizeof *known);
    memset(known, 0xff, names * sizeof *known);
    for (uint32_t i = 0; i < t->kernel.rows; i++) {
        if (t->kernel.class[i] != NL_CLASS_COMMUNICATION || has[i])
            continue;
        uint32_t name = t->slice.name[t->kernel.slice[i]];
        if (known[name] == NL_NULL_ROW)
            known[name] =
                nl_dict_add(&t->names, nl_str(nl_collective_operation(nl_trace_name(t, name))));
        t->collective.slice[at] = t->kernel.slice[i];
        t->collective.operation[at++] = known[name];
    }
    nl_free(known);
}

/* Communication kernels that no staged collective describes get a row from their name. */
bool nl_kernel_rows_collectives(struct nl_finish *f, struct nl_err *err)
{
    struct nl_trace *t = f->trace;
    size_t count;
    uint64_t staged_rows, extra = 0;
    struct nl_segment *segments = nl_gather_segments(f->b, NL_T_collective, &count, &staged_rows);
    uint8_t *has = nl_zalloc((size_t)t->kernel.rows + 1);
    uint32_t *slices = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < count; i++) {
        nl_grow(&slices, &cap, segments[i].count);
        nl_read_staged(&segments[i], NL_T_collective, offsetof(struct nl_collective_row, slice),
                       slices);
        for (uint32_t k = 0; k < segments[i].count; k++) {
            uint32_t slice = nl_final_reference(f, segments[i].unit, NL_T_slice, slices[k]);
            if (slice != NL_NULL_ROW && t->slice.kind[slice] == NL_KIND_KERNEL &&
                t->slice.detail[slice] < t->kernel.rows)
                has[t->slice.detail[slice]] = 1;
        }
    }
    nl_free(slices);
    nl_free(segments);
    for (uint32_t i = 0; i < t->kernel.rows; i++)
        extra += t->kernel.class[i] == NL_CLASS_COMMUNICATION && !has[i];
    if (!nl_build_table(f, NL_T_collective, extra, err)) {
        nl_free(has);
        return false;
    }
    name_collectives(t, has, (uint32_t)staged_rows);
    nl_free(has);
    return true;
}
