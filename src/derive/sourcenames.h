/*
 * sourcenames — functions of call stacks and kernels by the names that their source has, also where
 * calls name kernels. Profilers without debug information write what linkers call them; whoever
 * reads answers knows the source.
 */
#ifndef NL_SOURCENAMES_H
#define NL_SOURCENAMES_H

#include "store/trace.h"

/* Rows stay as many: two functions that differ by their mangled names alone (a template for one
 * type in two libraries) are two rows of one name. */
void nl_name_by_source(struct nl_trace *trace);

#endif
