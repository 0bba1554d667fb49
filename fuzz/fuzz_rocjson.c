/* Any bytes as a result file of rocprofv3. */
#include "loadfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    loadfile_run(&nl_format_rocjson, data, size);
    return 0;
}
