/*
 * ortwords — what a person says about a model's inputs: --input NAME=2x3xf32 and --dim NAME=8.
 *
 * A shape is sizes joined with x, with or without an element type at the end; "f32" alone
 * is a scalar. Behind a colon, LOW..HIGH are the least and greatest whole number to fill
 * in: ids=1x16xi64:0..999.
 */
#ifndef ORTWORDS_H
#define ORTWORDS_H

#include "base/err.h"
#include "base/mem.h"

#define ORT_MAX_RANK 16

/* Element types by their ONNX numbers (onnx.proto, TensorProto.DataType, which
 * OrtTensorElementDataType follows). */
enum ort_type_number {
    ORT_F32 = 1,
    ORT_U8,
    ORT_I8,
    ORT_U16,
    ORT_I16,
    ORT_I32,
    ORT_I64,
    ORT_STRING,
    ORT_BOOL,
    ORT_F16,
    ORT_F64,
    ORT_U32,
    ORT_U64,
    ORT_BF16 = 16,
    ORT_TYPES
};

/* "f32"; NULL for a type that inputs are not made of. */
const char *ort_type_name(int type);
size_t ort_type_bytes(int type); /* 0 for strings and unknown ones */
bool ort_type_whole(int type);   /* whole numbers, not bool */

struct ort_input_word {
    const char *name;
    int type; /* 0 = not said */
    size_t rank;
    int64_t size[ORT_MAX_RANK];
    bool has_range;
    int64_t low, high;
};

struct ort_dim_word {
    const char *name;
    int64_t size;
};

struct ort_words {
    struct ort_input_word *inputs;
    size_t input_count;
    struct ort_dim_word *dims;
    size_t dim_count;
};

/* Reads the words into the arena. NL_USAGE for what cannot be understood, or is given twice. */
NL_MUST_CHECK bool ort_words_read(struct ort_words *words, const char *const *inputs,
                                  size_t input_count, const char *const *dims, size_t dim_count,
                                  struct nl_arena *arena, struct nl_err *err);

#endif
