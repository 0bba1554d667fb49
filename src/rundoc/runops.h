/*
 * runops — what the document says of operators besides statistics: their kind, and their calls by
 * shapes and types of inputs.
 *
 *     struct run_ops ops;
 *     run_ops_init(&ops, trace);
 *     run_op_type(&ops, row);   run_write_shapes(parts, &ops, rows, count);
 *     run_ops_release(&ops);
 */
#ifndef NL_RUNOPS_H
#define NL_RUNOPS_H

#include "rundoc/runparts.h"

#define RUN_SHAPES 32 /* listed of one operator */

struct run_ops {
    const struct nl_trace *trace;
    uint32_t *nodes; /* per row of ops the row of nodes that is about it, or NL_NULL_ROW */
};

void run_ops_init(struct run_ops *ops, const struct nl_trace *trace);
void run_ops_release(struct run_ops *ops);

/* Type of its node, else its name without the namespace; empty where there is neither. Borrowed
 * from the trace's dictionary. */
struct nl_str run_op_type(const struct run_ops *ops, uint32_t row);

/* The members "shape_count" and "shapes" of the operator whose calls these rows of ops are. All
 * have a slice with a length. */
void run_write_shapes(struct run_parts *parts, const struct run_ops *ops, const uint32_t *rows,
                      size_t count);

#endif
