/*
 * kernelcategory — what a kernel's name says beyond its class (kernelclass.h): what it computes,
 * whether it runs on tensor (matrix) cores, and the element type of its inputs. The rules are rows
 * of kernelcategory.def, tried in order, first hit wins. Only names decide; what they do not say is
 * unknown, never guessed: a Triton kernel called "attn_fwd" is attention with unknown tensor-core
 * use.
 */
#ifndef NL_KERNELCATEGORY_H
#define NL_KERNELCATEGORY_H

#include "base/str.h"
#include "store/schema.h"

struct nl_kernel_facts {
    enum nl_category category;      /* UNKNOWN: no rule knows the name */
    enum nl_tensorcore tensor_core; /* NO for categories that multiply no matrices */
    const char *dtype;              /* "bf16", "tf32", …; NULL if the name does not say */
};

/* `class` as nl_kernel_class gives it: communication, copies and memsets are decided there. */
struct nl_kernel_facts nl_kernel_facts(struct nl_str name, enum nl_class class);

/* Whether kernels of the category are made of matrix products, so that tensor cores could do the
 * work: GEMM, convolution, attention, MoE and recurrence. */
bool nl_category_is_matrix(unsigned category);

#endif
