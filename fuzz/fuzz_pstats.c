/* Any bytes as cProfile statistics. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_pstats, data, size);
}
