/*
 * schema — what schema.def and enums.def say, as C types and as tables that code can walk.
 *
 * For every table T there is `struct nl_T_table` (rows + one array per stored column) inside
 * struct nl_trace, `struct nl_T_row` (one row, for staging) and nl_T_row() which gives a row with
 * everything unknown. nl_tables[] and nl_columns[] describe the same at run time.
 *
 * Unknown values: each type has one sentinel instead of a bit vector: a read is one load, and no
 * real value collides (times are at most 2^61, sizes below 2^63). NULL in SQL, null in JSON.
 */
#ifndef NL_SCHEMA_H
#define NL_SCHEMA_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NL_MAX_TIME ((int64_t)1 << 61) /* times are within +- this (73 years): twice a span fits */
#define NL_NULL_I64 INT64_MIN
#define NL_NULL_U64 UINT64_MAX
#define NL_NULL_U32 UINT32_MAX
#define NL_NULL_F64 ((double)NAN)
#define NL_NULL_ROW UINT32_MAX /* a reference to no row */
#define NL_NO_NAME  0u         /* dictionary id of "unknown" */

/* Flags of a slice. */
#define NL_SLICE_CLAMPED  1u  /* end never recorded; clamped to the end of the trace */
#define NL_SLICE_INSTANT  2u  /* a mark: no length by nature */
#define NL_SLICE_OVERFLOW 4u  /* overlaps too many others; kept on the last sub-lane un-nested */
#define NL_SLICE_READY    8u  /* sched: then left the processor though it could go on */
#define NL_SLICE_WAITS    16u /* sched: then left the processor to wait */

/* Enumerations: enum nl_kind { NL_KIND_UNKNOWN, NL_KIND_KERNEL, ... } and so on. */
enum nl_enum_id {
    NL_ENUM_kind,
    NL_ENUM_class,
    NL_ENUM_category,
    NL_ENUM_tensorcore,
    NL_ENUM_copykind,
    NL_ENUM_memory,
    NL_ENUM_synckind,
    NL_ENUM_rangestyle,
    NL_ENUM_flowkind,
    NL_ENUM_lanekind,
    NL_ENUM_COUNT
};
#include "store/enums.h"
/* Text of a value of an enumeration; NULL for unknown or out of range. */
const char *nl_enum_text(enum nl_enum_id id, unsigned value);
/* Value for a text, -1 when there is none. */
int nl_enum_value(enum nl_enum_id id, const char *text, size_t len);
unsigned nl_enum_count(enum nl_enum_id id);

enum nl_type {
    NL_TYPE_TIME, /* int64 ns; shifted by the source's offset, shown relative to the first event */
    NL_TYPE_DUR,  /* int64 ns */
    NL_TYPE_I64,
    NL_TYPE_U64,
    NL_TYPE_F64,
    NL_TYPE_U32,
    NL_TYPE_U16,
    NL_TYPE_U8,
    NL_TYPE_NAME, /* u32 dictionary id */
    NL_TYPE_REF,  /* u32 row in another table */
    NL_TYPE_ENUM  /* u8 */
};

enum nl_table_id {
#define NL_TABLE(table, sql, doc) NL_T_##table,
#define NL_COLUMN(table, column, type, unit, doc)
#define NL_REF(table, column, target, doc)
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)
#include "store/schema.def"
    NL_TABLE_COUNT
};

/* How an SQL-only column is reached from its row. */
enum nl_hop {
    NL_HOP_NONE, /* stored in the table itself */
    NL_HOP_SLICE,
    NL_HOP_LANE,
    NL_HOP_LANE_PROCESS,
    NL_HOP_LANE_THREAD,
    NL_HOP_LANE_DEVICE,
    NL_HOP_OWNLANE_PROCESS,
    NL_HOP_OWN_PROCESS,
    NL_HOP_OWN_THREAD,
    NL_HOP_SERIES,
    NL_HOP_MEASUREMENT
};

#define NL_CTYPE_TIME       int64_t
#define NL_CTYPE_DUR        int64_t
#define NL_CTYPE_I64        int64_t
#define NL_CTYPE_U64        uint64_t
#define NL_CTYPE_F64        double
#define NL_CTYPE_U32        uint32_t
#define NL_CTYPE_U16        uint16_t
#define NL_CTYPE_U8         uint8_t
#define NL_CTYPE_NAME       uint32_t
#define NL_CTYPE_kind       uint8_t
#define NL_CTYPE_class      uint8_t
#define NL_CTYPE_category   uint8_t
#define NL_CTYPE_tensorcore uint8_t
#define NL_CTYPE_copykind   uint8_t
#define NL_CTYPE_memory     uint8_t
#define NL_CTYPE_synckind   uint8_t
#define NL_CTYPE_rangestyle uint8_t
#define NL_CTYPE_flowkind   uint8_t
#define NL_CTYPE_lanekind   uint8_t

/* struct nl_T_table: columns of a finished table. */
#define NL_TABLE(table, sql, doc)                                                                  \
    struct nl_##table##_table {                                                                    \
        uint32_t rows;
#define NL_COLUMN(table, column, type, unit, doc) NL_CTYPE_##type *column;
#define NL_REF(table, column, target, doc)        uint32_t *column;
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)                                                                        \
    }                                                                                              \
    ;
#include "store/schema.def"

/* struct nl_T_row: one row, for staging. */
#define NL_TABLE(table, sql, doc)                 struct nl_##table##_row {
#define NL_COLUMN(table, column, type, unit, doc) NL_CTYPE_##type column;
#define NL_REF(table, column, target, doc)        uint32_t column;
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)                                                                        \
    }                                                                                              \
    ;
#include "store/schema.def"

#define NL_UNKNOWN_TIME       NL_NULL_I64
#define NL_UNKNOWN_DUR        NL_NULL_I64
#define NL_UNKNOWN_I64        NL_NULL_I64
#define NL_UNKNOWN_U64        NL_NULL_U64
#define NL_UNKNOWN_F64        NL_NULL_F64
#define NL_UNKNOWN_U32        NL_NULL_U32
#define NL_UNKNOWN_U16        0
#define NL_UNKNOWN_U8         0
#define NL_UNKNOWN_NAME       NL_NO_NAME
#define NL_UNKNOWN_kind       0
#define NL_UNKNOWN_class      0
#define NL_UNKNOWN_category   0
#define NL_UNKNOWN_tensorcore 0
#define NL_UNKNOWN_copykind   0
#define NL_UNKNOWN_memory     0
#define NL_UNKNOWN_synckind   0
#define NL_UNKNOWN_rangestyle 0
#define NL_UNKNOWN_flowkind   0
#define NL_UNKNOWN_lanekind   0

/* nl_T_row(): a row with every column unknown. */
#define NL_TABLE(table, sql, doc)                                                                  \
    static inline struct nl_##table##_row nl_##table##_row(void)                                   \
    {                                                                                              \
        return (struct nl_##table##_row)                                                           \
        {
#define NL_COLUMN(table, column, type, unit, doc) .column = NL_UNKNOWN_##type,
#define NL_REF(table, column, target, doc)        .column = NL_NULL_ROW,
#define NL_VIA(table, column, hop, target, target_column, unit, doc)
#define NL_TABLE_END(table)                                                                        \
    }                                                                                              \
    ;                                                                                              \
    }
#include "store/schema.def"

struct nl_column_def {
    const char *name, *unit, *doc;
    enum nl_type type;           /* of the value the column shows */
    enum nl_enum_id enumeration; /* when type is NL_TYPE_ENUM */
    enum nl_table_id table;      /* SQL table it shows in */
    enum nl_table_id target;     /* REF (also through NL_VIA): table referred to */
    enum nl_table_id storage;    /* table that stores the value: `table`, or NL_VIA's target */
    enum nl_hop hop;             /* NL_HOP_NONE = stored in `table` */
    size_t array;                /* offset of the array pointer in struct nl_<storage>_table */
    size_t field;                /* offset in struct nl_<table>_row (stored columns only) */
    unsigned size;               /* bytes of a value */
    bool key;                    /* REF: never unknown */
};

struct nl_table_def {
    const char *name, *sql, *doc;
    size_t offset;         /* of the struct nl_T_table in struct nl_trace */
    size_t row_size;       /* sizeof(struct nl_T_row) */
    unsigned first, count; /* its columns in nl_columns[], stored and SQL-only, in SQL order */
};
extern const struct nl_table_def nl_tables[NL_TABLE_COUNT];
extern const struct nl_column_def nl_columns[];
extern const unsigned nl_column_count;
/* The side table that slice.detail of that kind leads to, or NL_TABLE_COUNT. */
enum nl_table_id nl_detail_table(unsigned kind);
/* Version of the schema; changes whenever a stored table or column does. */
uint64_t nl_schema_hash(void);

#endif
