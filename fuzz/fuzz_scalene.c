/* Any bytes as a Scalene profile. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_scalene, data, size);
}
