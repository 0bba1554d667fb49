/* Any bytes as speedscope JSON. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_speedscope, data, size);
}
