/* Any bytes as perf script text. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_perf, data, size);
}
