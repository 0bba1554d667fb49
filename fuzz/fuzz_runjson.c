/* Any bytes as a run document that is read as a profile. */
#include "loadfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    loadfile_run(&nl_format_runjson, data, size);
    return 0;
}
