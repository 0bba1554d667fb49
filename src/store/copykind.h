/*
 * copykind — kinds of copies: what CUPTI numbers them, what tools call them, which of them the
 * program did not ask for.
 */
#ifndef NL_COPYKIND_H
#define NL_COPYKIND_H

#include "base/str.h"
#include "store/enums.h"

/* By CUPTI's number, which Nsight Systems has, too; NL_COPY_UNKNOWN for
 * numbers that there are not. */
enum nl_copykind nl_copykind_of_cupti(int64_t number);

/* What a text says, in whatever spelling: "Memcpy HtoD (Pinned -> Device)", "HOST_TO_DEVICE". */
enum nl_copykind nl_copykind_of_text(struct nl_str text);

/* Pages of unified memory that the driver moves: no call asks for such a copy. */
bool nl_copykind_moves_pages(enum nl_copykind kind);

#endif
