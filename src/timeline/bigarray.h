/*
 * bigarray — scratch memory of many MiB for one task. It comes straight from the kernel in
 * huge pages where it can (first touch of small pages costs more than most sorting), else, or when
 * large arrays go to files (base/spill.h), from nl_alloc.
 */
#ifndef NL_BIGARRAY_H
#define NL_BIGARRAY_H

#include "base/mem.h"
#include "base/spill.h"

struct nl_bigarray {
    void *memory;
    size_t paged; /* bytes when it came from nl_pages, else 0 */
};

static inline struct nl_bigarray nl_bigarray_take(size_t bytes)
{
    bool paged = bytes >= (size_t)1 << 20 && !nl_spill_started(nl_process_spill());
    void *memory = paged ? nl_pages(bytes) : NULL;
    if (memory)
        return (struct nl_bigarray){memory, bytes};
    return (struct nl_bigarray){nl_alloc(bytes), 0};
}

static inline void nl_bigarray_free(struct nl_bigarray *array)
{
    if (array->paged)
        nl_pages_free(array->memory, array->paged);
    else
        nl_free(array->memory);
    *array = (struct nl_bigarray){0};
}

#endif
