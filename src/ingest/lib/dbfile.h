/*
 * dbfile — a SQLite database of a profiler, as its reader sees it: tables by name, columns by any
 * of their names, rows as arrays of cells. Rows come from the pages of the mapped file
 * (sqlitepages.h), or, where that cannot be right, from sqlite3_step on a read-only connection;
 * both give the same rows in the same order. Nothing is ever written next to the input: a database
 * with a hot journal or a write-ahead log is copied to a private folder first and recovered there
 * by SQLite.
 *
 * Everything lives as long as the struct dbfile. One thread opens and prepares readers; any number
 * may then read, each with its own scratch and damage.
 */
#ifndef DBFILE_H
#define DBFILE_H

#include "base/err.h"
#include "base/file.h"
#include "base/mem.h"
#include "parse/sqlitepages.h"

struct sqlite3;

/* The cells of one row, in the order of the columns asked for. */
typedef const struct sqlitepages_cell *dbfile_cells;

struct dbfile_column {
    const char *name;
    int stored; /* place in the record; -1: the rowid */
    bool real;  /* REAL affinity */
};

struct dbfile_table {
    const char *name, *sql;
    uint32_t root;
    const struct dbfile_column *columns;
    unsigned column_count;
    bool parsed, fast;
    struct sqlitepages_leaves leaves; /* when fast */
    uint64_t rows;                    /* as the pages' headers or SQLite count them */
};

enum dbfile_way { DBFILE_FASTEST, DBFILE_STEP };

struct dbfile {
    const char *path;  /* as given, for messages */
    struct nl_map map; /* of the input */
    struct sqlitepages pages;
    bool fast;              /* pages may be read */
    uint64_t *seen;         /* pages met in any tree */
    struct sqlite3 *sql;    /* NULL until a table needs it */
    struct sqlite3 *parser; /* in memory: understands CREATE TABLE */
    char *folder, *copy;    /* private copy, or NULL */
    struct nl_arena arena;
    struct dbfile_table *tables;
    size_t count, cap;
    struct sqlitepages_damage damage; /* met while opening and walking */
};

/* Opens a plain database file. NL_FORMAT: no database, or nothing readable in it. */
NL_MUST_CHECK bool dbfile_open(struct dbfile *db, const char *path, enum dbfile_way way,
                               struct nl_err *err);
void dbfile_close(struct dbfile *db);

/* Table by name (ASCII case ignored), with its columns and pages found; NULL when there is none. */
struct dbfile_table *dbfile_find(struct dbfile *db, const char *name);

/* Column by name or by alternatives "a|b|c"; NULL when there is none. */
const struct dbfile_column *dbfile_table_column(const struct dbfile_table *table,
                                                const char *names);

/* A reading of chosen columns. Cell i shows column names[i] ("a|b"), NULL for a missing one. */
struct dbfile_reader {
    struct dbfile *db;
    struct dbfile_table *table;
    struct sqlitepages_plan plan;
    const struct dbfile_column *columns[SQLITEPAGES_COLUMNS];
};
void dbfile_reader_init(struct dbfile_reader *reader, struct dbfile *db, struct dbfile_table *table,
                        const char *const *names, unsigned count);
/* The same in separate memory, for names that end with NULL; nl_free it. */
struct dbfile_reader *dbfile_reader_new(struct dbfile *db, struct dbfile_table *table,
                                        const char *const *names);

/* Leaves first..first+count of a fast table. */
void dbfile_reader_leaves(const struct dbfile_reader *reader, size_t first, size_t count,
                          struct sqlitepages_scratch *scratch, sqlitepages_row_fn *row,
                          void *context, struct sqlitepages_damage *damage);

/* All rows, whatever the way. */
void dbfile_reader_all(const struct dbfile_reader *reader, struct sqlitepages_scratch *scratch,
                       sqlitepages_row_fn *row, void *context, struct sqlitepages_damage *damage);

#endif
