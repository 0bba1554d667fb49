/*
 * torchtypes — element types as PyTorch names them: toString() of c10::ScalarType, and typeid names
 * of the same with "c10::" before them.
 */
#ifndef TORCHTYPES_H
#define TORCHTYPES_H

#include "base/str.h"

/* Bytes of an element of "Float", "c10::BFloat16", …; 0: unknown. Source: elementSize() of
 * PyTorch's c10::ScalarType. */
unsigned torchtypes_bytes(struct nl_str name);

#endif
