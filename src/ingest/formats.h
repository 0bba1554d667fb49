/* formats — every format by its name. Not in ingest.h: few files name one, and a new one would
 * compile all others again. */
#ifndef NL_FORMATS_H
#define NL_FORMATS_H

#include "ingest/ingest.h"

#define NL_FORMAT_ROW(name) extern const struct nl_format nl_format_##name;
#include "ingest/formats.def"
#undef NL_FORMAT_ROW

#endif
