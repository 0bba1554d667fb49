/*
 * xplane_text — the small languages inside texts of XPlane files: "regs:38 shm:0 grid:160,1,1 …",
 * "kind:Unknown size:8 dest:4 async:1", and result shapes of HLO instructions.
 */
#ifndef NL_XPLANE_TEXT_H
#define NL_XPLANE_TEXT_H

#include "base/str.h"
#include "store/schema.h"

/* Fills what the details give; numbers that no device has (old plugins write memory that was never
 * set) leave their columns unknown and give false. */
bool xplane_kernel_details(struct nl_str text, struct nl_kernel_row *kernel);

/* Bytes and kinds of memory of a copy or fill. NL_NULL_U64 when there is no size. */
uint64_t xplane_copy_details(struct nl_str text, uint8_t *src_memory, uint8_t *dst_memory);

/* HtoD and the like from "MemcpyH2D", "CopyDeviceToHost", "hipMemcpyDtoDAsync". */
enum nl_copykind xplane_copy_kind(struct nl_str name);

/* Of "f32[5,1024]{1,0:T(8,128)} all-reduce(": element type and bytes of the result. False for
 * tuples and unknown types. `text` may start with "%name = ". */
bool xplane_hlo_shape(struct nl_str text, struct nl_str *dtype, uint64_t *bytes);

/* HtoD or DtoH of a copy-start whose result tuple has one side in host memory (space S(5)). */
enum nl_copykind xplane_hlo_copy_kind(struct nl_str layout);

/* "all-reduce-start" → "all_reduce"; NULL when the category is no communication. */
const char *xplane_hlo_operation(struct nl_str category);
bool xplane_hlo_is_copy(struct nl_str category);

#endif
