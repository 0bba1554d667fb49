/*
 * torchrange — ranges that PyTorch's emit_nvtx(record_shapes=True) pushes: an operator
 * with its inputs' shapes.
 *
 *     aten::mm, seq = 7, op_id = 12, sizes = [[4, 8], [8, 16]], input_op_ids = [(3,0), (5,0)]
 *
 * What does not have sizes of that form is a range like any other.
 */
#ifndef TORCHRANGE_H
#define TORCHRANGE_H

#include "base/str.h"

struct torch_range {
    struct nl_str name, sizes; /* borrowed: "aten::mm", "[[4, 8], [8, 16]]" */
    int64_t sequence, op_id;   /* INT64_MIN if not given */
};

bool torch_range_read(struct nl_str text, struct torch_range *range);

#endif
