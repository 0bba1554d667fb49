/* Any bytes as an nvprof SQLite export. */
#include "loadfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    loadfile_run(&nl_format_nvprof, data, size);
    return 0;
}
