/*
 * nodes — what the nodes of a graph are: layers of a compiled model (TensorRT, ONNX Runtime), or
 * operators, kernels and messages of one program (execution traces of PyTorch and Chakra).
 */
#ifndef NL_NODES_H
#define NL_NODES_H

#include "store/trace.h"

bool nl_nodes_are_a_program(const struct nl_trace *trace);

#endif
