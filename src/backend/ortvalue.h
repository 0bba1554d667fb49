/*
 * ortvalue — the tensors of a model's inputs, filled.
 */
#ifndef ORTVALUE_H
#define ORTVALUE_H

#include "backend/ortinput.h"

/* Makes the tensors. */
NL_MUST_CHECK bool ort_inputs_fill(struct ort_inputs *inputs, const struct ort_api *api,
                                   struct nl_arena *arena, struct nl_err *err);

#endif
