/*
 * kernelrows — what the names of kernels say (kernelclass.h, kernelcategory.h), in the columns of
 * tables kernel and collective. Not for other rooms.
 */
#ifndef NL_KERNELROWS_H
#define NL_KERNELROWS_H

#include "store/columns.h"

/* Class, category, tensor-core use and element type of all kernels. */
void nl_kernel_rows_class(struct nl_trace *trace, unsigned threads);

/* Table collective: rows as staged, then one for each communication kernel that none of them
 * describes. After the above. */
NL_MUST_CHECK bool nl_kernel_rows_collectives(struct nl_finish *f, struct nl_err *err);

#endif
