/*
 * kindwords — categories of events as PyTorch's profiler names them: viewers, scripts and our own
 * readers know what a `kernel`, a `cuda_runtime` call or a `cpu_op` is.
 */
#ifndef NL_KINDWORDS_H
#define NL_KINDWORDS_H

#include "store/schema.h"

/* Never NULL; `kind` may be any byte. */
const char *nl_kind_category(unsigned kind);

#endif
