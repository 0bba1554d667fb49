/*
 * workmodel — what one operator call has to do: floating-point operations, the least bytes it must
 * move, and the element type that it computes in, from its name and inputs.
 *
 *     const struct work_model *model = work_model_find(name);
 *     if (model && work_model_cost(model, &call, &cost)) ...
 *
 * workmodels.def has a row per operator: its family, the function that knows the family's formula
 * (gemmwork.c, convwork.c, attentionwork.c, memorywork.c, …) and where its inputs stand. A
 * multiply-add counts as two. Formulas are those of torch.utils.flop_counter for matrix products,
 * convolutions and attention; biases and activations add nothing there. Bytes are the least
 * traffic: each input read once, each output written once. What inputs do not give is unknown
 * (NaN), never 0.
 */
#ifndef NL_WORKMODEL_H
#define NL_WORKMODEL_H

#include <math.h>

#include "work/workargs.h"

enum work_family {
    WORK_NO_FAMILY,
    WORK_GEMM,
    WORK_CONVOLUTION,
    WORK_ATTENTION,
    WORK_MOE,
    WORK_RNN,
    WORK_NORM,
    WORK_SOFTMAX,
    WORK_ELEMENTWISE,
    WORK_REDUCTION,
    WORK_GATHER,
    WORK_LOSS,
    WORK_OPTIMIZER,
    WORK_COPY,
    WORK_FILL,
    WORK_POOLING,
    WORK_SORT,
    WORK_COMPILED, /* kernels that a compiler made: bytes alone are known */
    WORK_COUNTED,  /* counted by hardware, or given by the compiler: no model */
    WORK_FAMILIES
};

/* How an FP8 product accumulates, by its inputs. */
enum work_accumulation { WORK_ACCUMULATES_UNKNOWN, WORK_ACCUMULATES_FULL, WORK_ACCUMULATES_FAST };

struct work_cost {
    double flops;        /* as torch.utils.flop_counter: causal attention in full; NaN unknown */
    double flops_needed; /* with the half that causal attention masks left out */
    double bytes;        /* least traffic; NaN unknown */
    /* of a product with a matrix of weights: rows of the other factor (tokens); else NaN */
    double rows;
    double queries;      /* of attention forward: queries of a sequence; else NaN */
    enum work_type type; /* that it computes in */
    bool matrix;         /* matrix products: the peaks of tensor cores bound it */
    bool misaligned;     /* sizes of a product are no multiples of 16 bytes */
    enum work_accumulation accumulation;
    bool estimated; /* an assumption stands in for something not recorded */
};

static inline struct work_cost nl_no_work_cost(void)
{
    return (struct work_cost){
        .flops = NAN, .flops_needed = NAN, .bytes = NAN, .rows = NAN, .queries = NAN};
}

struct work_call {
    const struct work_args *args, *parent; /* parent: inputs of the operator around it, or NULL */
    enum work_type hint;                   /* element type in its kernel's name */
    const struct work_model *model;
};

struct work_model {
    const char *name; /* without "aten::"; a * at its end stands for any rest */
    enum work_family family;
    bool (*cost)(const struct work_call *call,
                 struct work_cost *cost); /* NULL: known by name only */
    signed char at[6];                    /* where inputs stand, and switches: see the function */
};

/* "gemm", "attention", …; NULL for WORK_NO_FAMILY. */
const char *work_family_name(enum work_family family);

/* Whether its operations are matrix products, which decide the compute bound. */
static inline bool work_family_is_matrix(enum work_family family)
{
    return family >= WORK_GEMM && family <= WORK_RNN;
}

/* By operator name ("aten::mm", "add_", "triton_poi_fused_add_0"); NULL when none knows it. */
const struct work_model *work_model_find(struct nl_str name);

/* False if the inputs do not suffice; *cost is then not changed in a meaningful way. */
bool work_model_cost(const struct work_model *model, const struct work_call *call,
                     struct work_cost *cost);

/* Functions of the families; `at` is explained at each. */
bool work_gemm(const struct work_call *call, struct work_cost *cost);
bool work_packed_gemm(const struct work_call *call, struct work_cost *cost);
bool work_fp4_gemm(const struct work_call *call, struct work_cost *cost);
bool work_grouped_gemm(const struct work_call *call, struct work_cost *cost);
bool work_fused_experts(const struct work_call *call, struct work_cost *cost);
bool work_rnn(const struct work_call *call, struct work_cost *cost);
bool work_convolution(const struct work_call *call, struct work_cost *cost);
bool work_convolution_backward(const struct work_call *call, struct work_cost *cost);
bool work_convolution_part(const struct work_call *call, struct work_cost *cost);
bool work_attention(const struct work_call *call, struct work_cost *cost);
bool work_batch_prefill(const struct work_call *call, struct work_cost *cost);
bool work_memory(const struct work_call *call, struct work_cost *cost);
bool work_resized(const struct work_call *call, struct work_cost *cost);
bool work_rotary(const struct work_call *call, struct work_cost *cost);
bool work_store_cache(const struct work_call *call, struct work_cost *cost);
bool work_rows(const struct work_call *call, struct work_cost *cost);
bool work_lists(const struct work_call *call, struct work_cost *cost);
bool work_compiled(const struct work_call *call, struct work_cost *cost);

#endif
