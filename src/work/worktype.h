/*
 * worktype — element types as frameworks write them ("c10::BFloat16", "float", "f32", "FLOAT16"),
 * what one element takes, and which peak of a device bounds arithmetic on it.
 */
#ifndef NL_WORKTYPE_H
#define NL_WORKTYPE_H

#include "base/str.h"

enum work_type {
    WORK_TYPE_UNKNOWN,
    WORK_FP64,
    WORK_FP32,
    WORK_FP16,
    WORK_BF16,
    WORK_FP8,
    WORK_FP4,
    WORK_FP4X2, /* two in a byte: shapes count bytes */
    WORK_INT64,
    WORK_INT32,
    WORK_INT16,
    WORK_INT8,
    WORK_INT4,
    WORK_BOOL,
    WORK_COMPLEX64,
    WORK_COMPLEX128,
    WORK_TF32, /* never of a tensor: fp32 as tensor cores multiply it */
    WORK_TYPES
};

/* Whole text, as a reader found it; WORK_TYPE_UNKNOWN when nothing is known by it. */
enum work_type work_type_of(struct nl_str text);

/* Bits of one element; 0 for WORK_TYPE_UNKNOWN. */
unsigned work_type_bits(enum work_type type);

/* "bf16"; NULL for WORK_TYPE_UNKNOWN. */
const char *work_type_name(enum work_type type);

#endif
