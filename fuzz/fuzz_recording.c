/* Any bytes as a raw recording. */
#include "fuzzfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzzfile(&nl_format_recording, data, size);
}
