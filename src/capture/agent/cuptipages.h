/*
 * cuptipages — what CUPTI reports of unified memory, and how to ask for it: the part of cuptiabi.h
 * about pages that the processor and the GPU share, which the driver moves between them.
 *
 * Source: CUpti_ActivityUnifiedMemoryCounter2 and 3,
 * CUpti_ActivityUnifiedMemoryCounterConfig of cupti_activity.h.
 */
#ifndef NL_CUPTIPAGES_H
#define NL_CUPTIPAGES_H

#include <stddef.h>
#include <stdint.h>

/* Kinds of `counter`: what the driver did with pages that both sides use. */
enum cupti_paging {
    CUPTI_PAGES_TO_DEVICE = 1,
    CUPTI_PAGES_TO_HOST,
    CUPTI_FAULT_ON_HOST,
    CUPTI_FAULT_ON_DEVICE,
    CUPTI_THRASHING,
    CUPTI_THROTTLING,
    CUPTI_REMOTE_MAP,
    CUPTI_PAGES_BETWEEN_DEVICES,
    CUPTI_PAGINGS
};

struct cupti_unified {
    uint32_t kind, counter;
    uint64_t value; /* bytes of pages that moved; else as `counter` has it */
    uint64_t start, end, address;
    uint32_t from, to, skip1, process_id;
};

/* What cuptiActivityConfigureUnifiedMemoryCounter takes. */
struct cupti_unified_wish {
    uint32_t scope, counter, device, enable;
};
#define CUPTI_ALL_DEVICES 2u

#endif
