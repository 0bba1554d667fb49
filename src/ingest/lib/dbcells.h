/*
 * dbcells — cells of a profiler's database as values of the store: unknown when NULL, of another
 * type, or out of range. Never an error: what cannot be read as asked is unknown.
 */
#ifndef DBCELLS_H
#define DBCELLS_H

#include "ingest/lib/dbfile.h"
#include "store/schema.h"

static inline int64_t dbcell_i64(dbfile_cells cell)
{
    if (cell->type == SQLITEPAGES_INTEGER)
        return cell->integer;
    if (cell->type == SQLITEPAGES_REAL && cell->real > -9e18 && cell->real < 9e18)
        return (int64_t)cell->real;
    return NL_NULL_I64;
}

static inline uint64_t dbcell_u64(dbfile_cells cell)
{
    return cell->type == SQLITEPAGES_INTEGER ? (uint64_t)cell->integer : NL_NULL_U64;
}

static inline uint32_t dbcell_u32(dbfile_cells cell)
{
    int64_t value = dbcell_i64(cell);
    return value < 0 || value > UINT32_MAX ? NL_NULL_U32 : (uint32_t)value;
}

/* Ids for which 0 means "none". */
static inline uint64_t dbcell_id(dbfile_cells cell)
{
    return cell->type == SQLITEPAGES_INTEGER && cell->integer != 0 ? (uint64_t)cell->integer
                                                                   : NL_NULL_U64;
}

#endif
