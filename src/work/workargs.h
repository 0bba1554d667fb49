/*
 * workargs — the inputs of one operator call as the profile wrote them: shapes, element
 * types and scalar values, from JSON-like texts ("[[32, 128], [], [[3, 4], [3]]]",
 * "[\"float\", \"Scalar\"]").
 *
 *     struct work_args args;
 *     work_args_read(&args, (struct work_texts){shapes, dtypes, strides, concrete});
 *     if (work_is_matrix(&args, 0)) ...
 *
 * An input is a tensor, a list of tensors (as one: its elements summed, and its members kept), a
 * scalar (its text in `value`), or unknown. Texts are borrowed. Foreign text of any shape is safe:
 * what is malformed or beyond the limits is unknown.
 */
#ifndef NL_WORKARGS_H
#define NL_WORKARGS_H

#include <stdint.h>

#include "work/worktype.h"

#define WORK_MAX_INPUTS  32
#define WORK_MAX_DIMS    8
#define WORK_MAX_MEMBERS 1024 /* tensors of lists, all inputs together */

struct work_tensor {
    int64_t dims[WORK_MAX_DIMS];
    int64_t strides[WORK_MAX_DIMS];
    unsigned rank;
    bool has_strides;
};

struct work_input {
    struct work_tensor tensor; /* of a list: its first */
    bool is_tensor, is_list;   /* of tensors; never both */
    enum work_type type;
    double elements;  /* all of a list's; 1 for a tensor of rank 0 */
    double matrices;  /* of a list: elements of its tensors with two dimensions or more */
    uint32_t members; /* of a list */
    struct nl_str value;
};

struct work_args {
    struct work_input inputs[WORK_MAX_INPUTS];
    unsigned count;
    bool has_values; /* scalars were recorded */
    bool has_types;
};

struct work_texts {
    struct nl_str shapes, types, strides, values;
};

void work_args_read(struct work_args *args, struct work_texts texts);

/* Input `index` if it is a tensor (not a list) of that many dimensions;
 * NULL else. `rank` 0: any. */
const struct work_tensor *work_tensor_at(const struct work_args *args, unsigned index,
                                         unsigned rank);

/* Whole number that scalar input `index` holds; false when there is none. */
bool work_integer_at(const struct work_args *args, unsigned index, int64_t *value);
bool work_true_at(const struct work_args *args, unsigned index); /* "True", "1" */
/* Whole numbers of a list ("[1, 2]", or "1"); how many, at most `room`; -1 when not recorded. */
int work_integers_at(const struct work_args *args, unsigned index, int64_t *values, int room);
/* The same of numbers that need not be whole ("[2., 0.5]"). */
int work_numbers_at(const struct work_args *args, unsigned index, double *values, int room);

double work_elements(const struct work_tensor *tensor);
/* Bytes of input `index`, lists whole; 0 when it is no tensor or its type is not known. */
double work_input_bytes(const struct work_args *args, unsigned index);

#endif
