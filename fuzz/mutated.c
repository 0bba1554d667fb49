/* What libFuzzer asks for a mutation, in all targets but those of databases. */
#include "mutate.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return seed % 2 ? mutate_form(data, size, max_size, seed)
                    : mutate_any(data, size, max_size, seed);
}
