/* nodejoin — layers whose times and details came from two files become one row
 * each. Not for other rooms. */
#ifndef NL_NODEJOIN_H
#define NL_NODEJOIN_H

#include "store/trace.h"

void nl_join_nodes(struct nl_trace *trace);

#endif
