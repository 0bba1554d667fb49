/* Any bytes as a memory timeline of PyTorch. */
#include "loadfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    loadfile_run(&nl_format_torchtimeline, data, size);
    return 0;
}
