/*
 * opwork — what the operators of a trace had to do: one row per operator call that launched
 * kernels, per node of a compiled model, per kernel with counters; and one per name and device of
 * kernels that belong to none of these. Kernel times of all rows add up to those of all kernels in
 * scope.
 *
 *     struct nl_op_works works;
 *     nl_op_works_init(&works, trace, &owners, &ops, owner_of, scope);
 *     for (size_t i = 0; i < works.count; i++) ... works.items[i] ...
 *     nl_op_works_release(&works);
 *
 * Whose work it is: each kernel goes to the innermost operator around its launch that a model knows
 * and can judge by its inputs, else to the innermost operator. FLOPs are counted once: an operator
 * around another that has its own matrix products keeps its kernels' time, but no FLOPs. In a trace
 * without kernels the operators themselves are the work, with their time on the host.
 *
 * Costs: a walk over kernels and a look-up per operator with a model; each different set of
 * inputs is worked out once.
 */
#ifndef NL_OPWORK_H
#define NL_OPWORK_H

#include "timeline/owner.h"
#include "work/deviceorder.h"
#include "work/workmodel.h"

/* Which slices count: those that start in [start, end) on lanes that are not 0. */
struct nl_work_scope {
    int64_t start, end;
    const uint8_t *lanes; /* per lane; NULL = all */
};

struct nl_op_work {
    uint32_t slice; /* operator, node or kernel; NL_NULL_ROW: those kernels of a device and name */
    uint32_t name;  /* dictionary id */
    uint32_t first; /* first kernel, else the slice itself */
    uint32_t place; /* of that kernel among the owners' work; NL_NULL_ROW without kernels */
    uint32_t kernels;                    /* launched by it */
    uint32_t device;                     /* row, of `first`; NL_NULL_ROW unknown */
    int64_t rank, ts;                    /* of `first` */
    int64_t kernel_ns;                   /* sum of its kernels; NL_NULL_I64 without */
    int64_t host_ns;                     /* where the CPU computed: the operator's length */
    int64_t matrix_ns;                   /* of kernel_ns: kernels whose names say matrix products */
    int64_t comm_ns;                     /* of kernel_ns: communication */
    double flops, flops_needed, bytes;   /* as work_cost; NaN unknown */
    double rows, queries;                /* as work_cost; NaN: not of this kind, or unknown */
    double counted_flops, counted_bytes; /* by hardware counters; NaN unknown */
    uint8_t type, family;                /* enum work_type, enum work_family */
    uint8_t accumulation;                /* enum work_accumulation */
    bool matrix, estimated, tensor_cores;
    bool recorded; /* FLOPs were reported by the source: a compiler's cost analysis */
    bool measured; /* FLOPs and bytes are those counted */
    /* a product of 16 bits or fewer, or TF32, with an N or K of no multiple of 16 bytes */
    bool misaligned;
    bool inside; /* FLOPs are counted in an operator inside it */
};

struct nl_op_works {
    const struct nl_trace *trace; /* borrowed */
    struct nl_op_work *items;     /* by slice, then kernels in no operator */
    size_t count, cap;
    struct nl_device_order order; /* of items */
    /* no kernels, and none that were not recorded: the CPU computed in the operators' own time */
    bool on_host;
};

/* `owners`, `ops` and `owner_of` as nl_owners_op gives them. `scope` NULL: everything. */
void nl_op_works_init(struct nl_op_works *works, const struct nl_trace *trace,
                      const struct nl_owners *owners, const struct nl_rangetree *ops,
                      const uint32_t *owner_of, const struct nl_work_scope *scope);
void nl_op_works_release(struct nl_op_works *works);

/* Time that its work took: kernels, else host; NL_NULL_I64 unknown. */
static inline int64_t nl_op_work_ns(const struct nl_op_work *work)
{
    return work->kernel_ns != NL_NULL_I64 ? work->kernel_ns : work->host_ns;
}

/* Of flops_needed: what attention's backward pass computes again, one product of five. */
double nl_op_work_again(const struct nl_trace *trace, const struct nl_op_work *work);

#endif
