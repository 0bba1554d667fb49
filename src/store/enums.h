/*
 * enums — the enumerations of enums.def as C enums. One list is read once per enumeration; the
 * NL_ENUM_<name> selectors below pick the rows of the one being defined.
 */
#ifndef NL_ENUMS_H
#define NL_ENUMS_H

#define NL_ENUM(enumeration, identifier, text) NL_ROW_##enumeration(identifier)

#define NL_ROW_class(i)
#define NL_ROW_category(i)
#define NL_ROW_tensorcore(i)
#define NL_ROW_copykind(i)
#define NL_ROW_memory(i)
#define NL_ROW_synckind(i)
#define NL_ROW_rangestyle(i)
#define NL_ROW_flowkind(i)
#define NL_ROW_lanekind(i)
#define NL_ROW_kind(i) NL_KIND_##i,
enum nl_kind {
#include "store/enums.def"
    NL_KIND_COUNT
};
#undef NL_ROW_kind
#define NL_ROW_kind(i)

#undef NL_ROW_class
#define NL_ROW_class(i) NL_CLASS_##i,
enum nl_class {
#include "store/enums.def"
    NL_CLASS_COUNT
};
#undef NL_ROW_class
#define NL_ROW_class(i)

#undef NL_ROW_category
#define NL_ROW_category(i) NL_CATEGORY_##i,
enum nl_category {
#include "store/enums.def"
    NL_CATEGORY_COUNT
};
#undef NL_ROW_category
#define NL_ROW_category(i)

#undef NL_ROW_tensorcore
#define NL_ROW_tensorcore(i) NL_TENSORCORE_##i,
enum nl_tensorcore {
#include "store/enums.def"
    NL_TENSORCORE_COUNT
};
#undef NL_ROW_tensorcore
#define NL_ROW_tensorcore(i)

#undef NL_ROW_copykind
#define NL_ROW_copykind(i) NL_COPY_##i,
enum nl_copykind {
#include "store/enums.def"
    NL_COPY_COUNT
};
#undef NL_ROW_copykind
#define NL_ROW_copykind(i)

#undef NL_ROW_memory
#define NL_ROW_memory(i) NL_MEMORY_##i,
enum nl_memory {
#include "store/enums.def"
    NL_MEMORY_COUNT
};
#undef NL_ROW_memory
#define NL_ROW_memory(i)

#undef NL_ROW_synckind
#define NL_ROW_synckind(i) NL_SYNC_##i,
enum nl_synckind {
#include "store/enums.def"
    NL_SYNC_COUNT
};
#undef NL_ROW_synckind
#define NL_ROW_synckind(i)

#undef NL_ROW_rangestyle
#define NL_ROW_rangestyle(i) NL_RANGE_##i,
enum nl_rangestyle {
#include "store/enums.def"
    NL_RANGE_COUNT
};
#undef NL_ROW_rangestyle
#define NL_ROW_rangestyle(i)

#undef NL_ROW_flowkind
#define NL_ROW_flowkind(i) NL_FLOW_##i,
enum nl_flowkind {
#include "store/enums.def"
    NL_FLOW_COUNT
};
#undef NL_ROW_flowkind
#define NL_ROW_flowkind(i)

#undef NL_ROW_lanekind
#define NL_ROW_lanekind(i) NL_LANE_##i,
enum nl_lanekind {
#include "store/enums.def"
    NL_LANE_COUNT
};
#undef NL_ROW_lanekind
#define NL_ROW_lanekind(i)
#undef NL_ENUM

#endif
