/* Any bytes as collapsed call stacks. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_collapsed, data, size);
}
