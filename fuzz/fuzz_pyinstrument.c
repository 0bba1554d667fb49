/* Any bytes as a pyinstrument session. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_pyinstrument, data, size);
}
