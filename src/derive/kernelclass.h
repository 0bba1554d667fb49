/*
 * kernelclass — what a kernel's name says: compute, communication, copy, memset or wait; and which
 * collective. The rules are rows of kernelclass.def, tried in order, first hit wins; every row has
 * a test. Names alone decide, so a user's own kernel called "nccl…" would be communication.
 */
#ifndef NL_KERNELCLASS_H
#define NL_KERNELCLASS_H

#include "base/str.h"
#include "store/schema.h"

enum nl_class nl_kernel_class(struct nl_str name);

/* "all_reduce", "all_gather", … of a communication kernel or call; NULL if the name does not
 * say. */
const char *nl_collective_operation(struct nl_str name);

#endif
