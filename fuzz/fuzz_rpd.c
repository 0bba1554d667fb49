/* Any bytes as an RPD database. */
#include "loadfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    loadfile_run(&nl_format_rpd, data, size);
    return 0;
}
