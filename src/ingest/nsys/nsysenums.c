/*
 * Enumerations. A file's ENUM_ tables give symbol and label of each number; the symbol decides what
 * it means to us. Files without those tables (before 2022.4, or cut down) have the numbers of
 * `known`, which never changed in any release seen.
 */
#include <stdio.h>
#include <string.h>

#include "ingest/nsys/nsys.h"
#include "ingest/nsys/nsysids.h"

static const struct {
    const char *table;
    bool copy; /* the slice's name is "[CUDA memcpy LABEL]", not the label alone */
} sources[NSYS_ENUMS] = {
    [NSYS_COPY_KIND] = {"ENUM_CUDA_MEMCPY_OPER", true},
    [NSYS_MEMORY_KIND] = {"ENUM_CUDA_MEM_KIND", false},
    [NSYS_SYNC_KIND] = {"ENUM_CUPTI_SYNC_TYPE", false},
    [NSYS_EVENT_TYPE] = {"ENUM_NSYS_EVENT_TYPE", false},
    [NSYS_OVERHEAD_TYPE] = {"ENUM_CUPTI_OVERHEAD_TYPE", false},
    [NSYS_MEMORY_OPERATION] = {"ENUM_CUDA_DEV_MEM_EVENT_OPER", false},
    [NSYS_CONTEXT_TAG] = {"ENUM_GPU_CTX_SWITCH", false},
};

static const struct known {
    enum nsys_enum of;
    uint8_t number, value;
    const char *symbol, *label;
} known[] = {
#define NL_COPYKIND(identifier, text, number, label, pages)                                        \
    {NSYS_COPY_KIND, number, NL_COPY_##identifier, "CUDA_MEMCPY_KIND_" #identifier, label},
#include "store/copykind.def"

#define NL_MEMORYKIND(identifier, text, number, label)                                             \
    {NSYS_MEMORY_KIND, number, NL_MEMORY_##identifier, "CUDA_MEMOPR_MEMORY_KIND_" #identifier,     \
     label},
#include "store/memorykind.def"

#define NL_SYNCKIND(identifier, text, number, symbol, label)                                       \
    {NSYS_SYNC_KIND, number, NL_SYNC_##identifier, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_" symbol,  \
     label},
#include "store/synckind.def"

    {NSYS_EVENT_TYPE, 33, NSYS_NVTX_CATEGORY, "NvtxCategory", ""},
    {NSYS_EVENT_TYPE, 34, NSYS_NVTX_MARK, "NvtxMark", ""},
    {NSYS_EVENT_TYPE, 39, NSYS_NVTX_THREAD, "NvtxThread", ""},
    {NSYS_EVENT_TYPE, 59, NSYS_NVTX_PUSH_POP, "NvtxPushPopRange", ""},
    {NSYS_EVENT_TYPE, 60, NSYS_NVTX_START_END, "NvtxStartEndRange", ""},
    {NSYS_EVENT_TYPE, 64, NSYS_NVTX_CATEGORY, "NvtxtCategory", ""},
    {NSYS_EVENT_TYPE, 65, NSYS_NVTX_MARK, "NvtxtMark", ""},
    {NSYS_EVENT_TYPE, 70, NSYS_NVTX_PUSH_POP, "NvtxtPushPopRange", ""},
    {NSYS_EVENT_TYPE, 71, NSYS_NVTX_START_END, "NvtxtStartEndRange", ""},
    {NSYS_EVENT_TYPE, 72, NSYS_NVTX_THREAD, "NvtxtMetaThread", ""},
    {NSYS_EVENT_TYPE, 75, NSYS_NVTX_DOMAIN, "NvtxDomainCreate", ""},
    {NSYS_EVENT_TYPE, 76, NSYS_NVTX_IGNORED, "NvtxDomainDestroy", ""},
    {NSYS_EVENT_TYPE, 97, NSYS_NVTX_IGNORED, "NvtxNameCudaDevice", ""},
    {NSYS_EVENT_TYPE, 98, NSYS_NVTX_IGNORED, "NvtxNameCudaContext", ""},
    {NSYS_EVENT_TYPE, 99, NSYS_NVTX_IGNORED, "NvtxNameCudaStream", ""},

/* Of these the name alone is shown. */
#define OVERHEAD(number, symbol, label)                                                            \
    {                                                                                              \
        NSYS_OVERHEAD_TYPE, number, 0, "OVERHEAD_" symbol, label                                   \
    }
    OVERHEAD(0, "UNDEFINED", "Undefined"),
    OVERHEAD(1, "UNKNOWN", "Unknown"),
    OVERHEAD(2, "DRIVER_COMPILER", "Driver JIT compiler (CUDA)"),
    OVERHEAD(3, "CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"),
    OVERHEAD(4, "CUPTI_INSTRUMENTATION", "Instrumentation (Profiler)"),
    OVERHEAD(5, "CUPTI_RESOURCE", "Resource creation/destruction (Profiler)"),
    OVERHEAD(6, "RUNTIME_TRIGGERED_MODULE_LOADING", "Runtime module loading (CUDA)"),
    OVERHEAD(7, "LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"),
    OVERHEAD(8, "COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"),

    {NSYS_MEMORY_OPERATION, 0, NSYS_MEMORY_ALLOCATE, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION", ""},
    {NSYS_MEMORY_OPERATION, 1, NSYS_MEMORY_FREE, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION", ""},

    {NSYS_CONTEXT_TAG, 7, NSYS_CONTEXT_ENDS, "SAVE_END", ""},
    {NSYS_CONTEXT_TAG, 8, NSYS_CONTEXT_BEGINS, "RESTORE_START", ""},
    {NSYS_CONTEXT_TAG, 9, NSYS_CONTEXT_RUNS, "CONTEXT_START", ""},
    {NSYS_CONTEXT_TAG, 10, NSYS_CONTEXT_NO_TIME, "INVALID_TIMESTAMP", ""},
    {NSYS_CONTEXT_TAG, 11, NSYS_CONTEXT_RESET, "ENGINE_RESET", ""},
};
#define KNOWN (sizeof known / sizeof known[0])

static void set(struct nsys_load *load, enum nsys_enum which, int64_t number, uint8_t value,
                struct nl_str label)
{
    /* The last place stands for numbers that do not fit. */
    if (number < 0 || number >= NSYS_ENUM_VALUES - 1)
        return;
    struct nsys_enum_map *map = &load->enums[which];
    map->value[number] = value;
    if (which == NSYS_EVENT_TYPE || which == NSYS_CONTEXT_TAG)
        return; /* never shown */
    map->label[number] = nl_builder_name(load->builder, label);
    map->name[number] = map->label[number];
    if (sources[which].copy && label.len > 0) {
        char text[128];
        int len = snprintf(text, sizeof text, "[CUDA memcpy %.*s]", (int)label.len, label.ptr);
        if (len > 0 && (size_t)len < sizeof text)
            map->name[number] = nl_builder_name(load->builder, nl_str(text));
    }
}

struct reading {
    struct nsys_load *load;
    enum nsys_enum which;
};

enum { ENUM_NUMBER, ENUM_NAME, ENUM_LABEL };
static const char *const enum_columns[] = {
    [ENUM_NUMBER] = "id|number", [ENUM_NAME] = "name", [ENUM_LABEL] = "label", NULL};

static void keep_enum(void *context, const struct sqlitepages_cell *cells)
{
    struct reading *reading = context;
    struct nl_str symbol = nsys_text(reading->load, &cells[ENUM_NAME]);
    struct nl_str label = nsys_text(reading->load, &cells[ENUM_LABEL]);
    int64_t number = dbcell_i64(&cells[ENUM_NUMBER]);
    for (size_t i = 0; i < KNOWN; i++)
        if (known[i].of == reading->which && nl_str_is(symbol, known[i].symbol)) {
            if (label.len == 0)
                label = nl_str(known[i].label);
            set(reading->load, reading->which, number, known[i].value, label);
            return;
        }
    set(reading->load, reading->which, number, 0, label.len > 0 ? label : symbol);
}

void nsys_enums_load(struct nsys_load *load)
{
    for (unsigned which = 0; which < NSYS_ENUMS; which++) {
        struct reading reading = {load, (enum nsys_enum)which};
        const struct dbfile_table *table = dbfile_find(&load->db, sources[which].table);
        if (table && table->rows > 0) {
            nsys_each(load, sources[which].table, enum_columns, keep_enum, &reading);
            continue;
        }
        for (size_t i = 0; i < KNOWN; i++)
            if (known[i].of == reading.which)
                set(load, reading.which, known[i].number, known[i].value, nl_str(known[i].label));
    }
}
