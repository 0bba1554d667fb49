/* The schema as run-time tables: schema.def read four times. */
#include "store/schema.h"

#include <string.h>

#include "base/str.h"
#include "store/trace.h"

static const char *const kind_text[] = {
#define NL_ENUM(enumeration, identifier, text) NL_TEXT_##enumeration(text)
#define NL_TEXT_kind(t)                        t,
#define NL_TEXT_class(t)
#define NL_TEXT_category(t)
#define NL_TEXT_tensorcore(t)
#define NL_TEXT_copykind(t)
#define NL_TEXT_memory(t)
#define NL_TEXT_synckind(t)
#define NL_TEXT_rangestyle(t)
#define NL_TEXT_flowkind(t)
#define NL_TEXT_lanekind(t)
#include "store/enums.def"
};
#undef NL_TEXT_kind
#define NL_TEXT_kind(t)

#undef NL_TEXT_class
#define NL_TEXT_class(t) t,
static const char *const class_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_class
#define NL_TEXT_class(t)

#undef NL_TEXT_category
#define NL_TEXT_category(t) t,
static const char *const category_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_category
#define NL_TEXT_category(t)

#undef NL_TEXT_tensorcore
#define NL_TEXT_tensorcore(t) t,
static const char *const tensorcore_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_tensorcore
#define NL_TEXT_tensorcore(t)

#undef NL_TEXT_copykind
#define NL_TEXT_copykind(t) t,
static const char *const copykind_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_copykind
#define NL_TEXT_copykind(t)

#undef NL_TEXT_memory
#define NL_TEXT_memory(t) t,
static const char *const memory_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_memory
#define NL_TEXT_memory(t)

#undef NL_TEXT_synckind
#define NL_TEXT_synckind(t) t,
static const char *const synckind_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_synckind
#define NL_TEXT_synckind(t)

#undef NL_TEXT_rangestyle
#define NL_TEXT_rangestyle(t) t,
static const char *const rangestyle_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_rangestyle
#define NL_TEXT_rangestyle(t)

#undef NL_TEXT_flowkind
#define NL_TEXT_flowkind(t) t,
static const char *const flowkind_text[] = {
#include "store/enums.def"
};
#undef NL_TEXT_flowkind
#define NL_TEXT_flowkind(t)

#undef NL_TEXT_lanekind
#define NL_TEXT_lanekind(t) t,
static const char *const lanekind_text[] = {
#include "store/enums.def"
};
#undef NL_ENUM

#define LENGTH(array) (unsigned)(sizeof(array) / sizeof(array)[0])
static const struct {
    const char *const *text;
    unsigned count;
} enums[NL_ENUM_COUNT] = {
    [NL_ENUM_kind] = {kind_text, LENGTH(kind_text)},
    [NL_ENUM_class] = {class_text, LENGTH(class_text)},
    [NL_ENUM_category] = {category_text, LENGTH(category_text)},
    [NL_ENUM_tensorcore] = {tensorcore_text, LENGTH(tensorcore_text)},
    [NL_ENUM_copykind] = {copykind_text, LENGTH(copykind_text)},
    [NL_ENUM_memory] = {memory_text, LENGTH(memory_text)},
    [NL_ENUM_synckind] = {synckind_text, LENGTH(synckind_text)},
    [NL_ENUM_rangestyle] = {rangestyle_text, LENGTH(rangestyle_text)},
    [NL_ENUM_flowkind] = {flowkind_text, LENGTH(flowkind_text)},
    [NL_ENUM_lanekind] = {lanekind_text, LENGTH(lanekind_text)},
};

const char *nl_enum_text(enum nl_enum_id id, unsigned value)
{
    return value < enums[id].count ? enums[id].text[value] : NULL;
}

int nl_enum_value(enum nl_enum_id id, const char *text, size_t len)
{
    for (unsigned i = 1; i < enums[id].count; i++)
        if (strlen(enums[id].text[i]) == len && memcmp(enums[id].text[i], text, len) == 0)
            return (int)i;
    return -1;
}

unsigned nl_enum_count(enum nl_enum_id id)
{
    return enums[id].count;
}

#define TYPE_TIME       NL_TYPE_TIME, 0
#define TYPE_DUR        NL_TYPE_DUR, 0
#define TYPE_I64        NL_TYPE_I64, 0
#define TYPE_U64        NL_TYPE_U64, 0
#define TYPE_F64        NL_TYPE_F64, 0
#define TYPE_U32        NL_TYPE_U32, 0
#define TYPE_U16        NL_TYPE_U16, 0
#define TYPE_U8         NL_TYPE_U8, 0
#define TYPE_NAME       NL_TYPE_NAME, 0
#define TYPE_kind       NL_TYPE_ENUM, NL_ENUM_kind
#define TYPE_class      NL_TYPE_ENUM, NL_ENUM_class
#define TYPE_category   NL_TYPE_ENUM, NL_ENUM_category
#define TYPE_tensorcore NL_TYPE_ENUM, NL_ENUM_tensorcore
#define TYPE_copykind   NL_TYPE_ENUM, NL_ENUM_copykind
#define TYPE_memory     NL_TYPE_ENUM, NL_ENUM_memory
#define TYPE_synckind   NL_TYPE_ENUM, NL_ENUM_synckind
#define TYPE_rangestyle NL_TYPE_ENUM, NL_ENUM_rangestyle
#define TYPE_flowkind   NL_TYPE_ENUM, NL_ENUM_flowkind
#define TYPE_lanekind   NL_TYPE_ENUM, NL_ENUM_lanekind

/* Type and enumeration of each stored column, found by name for the NL_VIA rows: an NL_VIA names
 * its target column, whose type macros are generated here as TYPEOF_<table>_<column> constants. */
enum {
#define NL_TABLE(table, sql, doc)
#define FIRST_OF2(...)  FIRST_OF_(__VA_ARGS__)
#define FIRST_OF_(a, b) a
#define NL_COLUMN(table, column, type, unit, doc)                                                  \
    TYPE_OF_##table##_##column = FIRST_OF2(TYPE_##type),
#define NL_REF(table, column, target, doc) TYPE_OF_##table##_##column = NL_TYPE_REF,
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
};
enum {
#define NL_TABLE(table, sql, doc)
#define SECOND_OF2(...)  SECOND_OF_(__VA_ARGS__)
#define SECOND_OF_(a, b) b
#define NL_COLUMN(table, column, type, unit, doc)                                                  \
    ENUM_OF_##table##_##column = (int)SECOND_OF2(TYPE_##type),
#define NL_REF(table, column, target, doc) ENUM_OF_##table##_##column = 0,
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
};

enum {
#define NL_TABLE(table, sql, doc)
#define NL_COLUMN(table, column, type, unit, doc) TARGET_OF_##table##_##column = NL_T_##table,
#define NL_REF(table, column, target, doc)        TARGET_OF_##table##_##column = NL_T_##target,
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
};

const struct nl_column_def nl_columns[] = {
#define NL_TABLE(table, sql, doc)
#define NL_COLUMN(t, c, ty, u, d)                                                                  \
    {.name = #c,                                                                                   \
     .unit = u,                                                                                    \
     .doc = d,                                                                                     \
     .type = (enum nl_type)TYPE_OF_##t##_##c,                                                      \
     .enumeration = (enum nl_enum_id)ENUM_OF_##t##_##c,                                            \
     .table = NL_T_##t,                                                                            \
     .storage = NL_T_##t,                                                                          \
     .array = offsetof(struct nl_##t##_table, c),                                                  \
     .field = offsetof(struct nl_##t##_row, c),                                                    \
     .size = sizeof(((struct nl_##t##_row *)0)->c)},
#define NL_REF(t, c, ta, d)                                                                        \
    {.name = #c,                                                                                   \
     .unit = "",                                                                                   \
     .doc = d,                                                                                     \
     .type = NL_TYPE_REF,                                                                          \
     .table = NL_T_##t,                                                                            \
     .target = NL_T_##ta,                                                                          \
     .storage = NL_T_##t,                                                                          \
     .array = offsetof(struct nl_##t##_table, c),                                                  \
     .field = offsetof(struct nl_##t##_row, c),                                                    \
     .size = sizeof(uint32_t)},
#define NL_KEY(t, c, ta, d)                                                                        \
    {.name = #c,                                                                                   \
     .unit = "",                                                                                   \
     .doc = d,                                                                                     \
     .type = NL_TYPE_REF,                                                                          \
     .key = true,                                                                                  \
     .table = NL_T_##t,                                                                            \
     .target = NL_T_##ta,                                                                          \
     .storage = NL_T_##t,                                                                          \
     .array = offsetof(struct nl_##t##_table, c),                                                  \
     .field = offsetof(struct nl_##t##_row, c),                                                    \
     .size = sizeof(uint32_t)},
#define NL_VIA(t, c, h, ta, tc, u, d)                                                              \
    {.name = #c,                                                                                   \
     .unit = u,                                                                                    \
     .doc = d,                                                                                     \
     .type = (enum nl_type)TYPE_OF_##ta##_##tc,                                                    \
     .enumeration = (enum nl_enum_id)ENUM_OF_##ta##_##tc,                                          \
     .table = NL_T_##t,                                                                            \
     .target = (enum nl_table_id)TARGET_OF_##ta##_##tc,                                            \
     .storage = NL_T_##ta,                                                                         \
     .hop = NL_HOP_##h,                                                                            \
     .array = offsetof(struct nl_##ta##_table, tc),                                                \
     .size = sizeof(((struct nl_##ta##_row *)0)->tc)},
#define NL_TABLE_END(table)
#include "store/schema.def"
};
const unsigned nl_column_count = LENGTH(nl_columns);

/* Position of each table's first column, as enumeration constants. */
enum {
#define NL_TABLE(table, sql, doc)                                    FIRST_##table, BEFORE_##table = FIRST_##table - 1,
#define NL_COLUMN(table, column, type, unit, doc)                    AT_##table##_##column,
#define NL_REF(table, column, target, doc)                           AT_##table##_##column,
#define NL_VIA(table, column, hop, target, target_column, unit, doc) AT_##table##_##column,
#define NL_TABLE_END(table)                                          END_##table, LAST_##table = END_##table - 1,
#include "store/schema.def"
};

const struct nl_table_def nl_tables[NL_TABLE_COUNT] = {
#define NL_TABLE(t, s, d)                                                                          \
    [NL_T_##t] = {.name = #t,                                                                      \
                  .sql = s,                                                                        \
                  .doc = d,                                                                        \
                  .offset = offsetof(struct nl_trace, t),                                          \
                  .row_size = sizeof(struct nl_##t##_row),                                         \
                  .first = FIRST_##t,                                                              \
                  .count = END_##t - FIRST_##t},
#define NL_COLUMN(table, column, type, unit, doc)
#define NL_REF(table, column, target, doc)
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
};

enum nl_table_id nl_detail_table(unsigned kind)
{
    switch (kind) {
    case NL_KIND_KERNEL: return NL_T_kernel;
    case NL_KIND_MEMCPY: return NL_T_copy;
    case NL_KIND_MEMSET: return NL_T_memset;
    case NL_KIND_SYNC: return NL_T_sync;
    case NL_KIND_API: return NL_T_api;
    case NL_KIND_OP: return NL_T_op;
    case NL_KIND_LAYER: return NL_T_layer;
    case NL_KIND_PYTHON: return NL_T_python;
    case NL_KIND_NVTX: return NL_T_nvtx;
    case NL_KIND_GRAPH: return NL_T_graph;
    case NL_KIND_CAPTURED: return NL_T_captured;
    default: return NL_TABLE_COUNT;
    }
}

uint64_t nl_schema_hash(void)
{
    uint64_t hash = 1;
    for (unsigned i = 0; i < nl_column_count; i++) {
        const struct nl_column_def *column = &nl_columns[i];
        if (column->hop != NL_HOP_NONE)
            continue;
        uint64_t part = nl_hash(column->name, strlen(column->name)) + column->table * 64u +
                        column->type * 8u + column->target + (column->key ? 4096u : 0u);
        hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
    }
    for (unsigned e = 0; e < NL_ENUM_COUNT; e++)
        hash = (hash ^ enums[e].count) * 0x9e3779b97f4a7c15u;
    return hash;
}
