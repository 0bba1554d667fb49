/*
 * dbrows — SQLite databases of profilers other than Nsight Systems, read on one thread: dbfile's
 * tables and cells, gpurows' lanes and times, and names by the id of a table of strings.
 *
 *     if (!dbrows_open(&db, reading, err)) return false;
 *     dbrows_strings(&db, &strings, "StringTable", "_id_", "value");
 *     dbrows_each(&db, "TABLE", columns, on_row, context);     // false: no such table
 *     return dbrows_close(&db, err);                           // coverage; cancelled, empty wrecks
 *
 * Compressed and piped input is copied to a private file first. Nothing is written next to the
 * input.
 */
#ifndef DBROWS_H
#define DBROWS_H

#include "ingest/lib/gpurows.h"
#include "ingest/ingest.h"
#include "ingest/lib/dbcells.h"

struct dbrows {
    struct gpurows rows;
    struct dbfile db;
    const struct nl_input *input;
    struct sqlitepages_scratch *scratch;
    struct sqlitepages_damage damage;
    uint64_t read; /* rows of all tables */
    char *folder;  /* of a private copy, or NULL */
    const char *cut;
};

/* How many of the words (of `count`) begin the name of a table of the input; 0 for what is no
 * SQLite database. Words that the head shows count without opening the file. */
unsigned dbrows_marks(const struct nl_input *input, const char *const *words, unsigned count);

NL_MUST_CHECK bool dbrows_open(struct dbrows *db, const struct nl_reading *reading,
                               struct nl_err *err);
/* Also after a failure of what came in between. False, with the reason: cancelled, or nothing in a
 * damaged file could be read. */
NL_MUST_CHECK bool dbrows_close(struct dbrows *db, struct nl_err *err);

/* Calls `row` for each row; columns "a|b" end with NULL, cells of missing ones are NULL. */
bool dbrows_each(struct dbrows *db, const char *table, const char *const *columns,
                 sqlitepages_row_fn *row, void *context);

/* Rows of a table; 0 when there is none. */
uint64_t dbrows_count(struct dbrows *db, const char *table);

/* Coverage line for every table with rows whose name begins with `prefix` and is not in `known`
 * (NULL ends; a word matches the table's name up to the `suffix` all of them carry). */
void dbrows_tell_others(struct dbrows *db, const char *prefix, const char *const *known);

/* Texts by id, as names of the stage. What an id's text means to the reader goes into `tag`. */
struct dbrows_strings {
    struct gpurows_map map; /* id → name | tag << 32 */
    struct gpurows *rows;
    uint32_t (*tag)(struct nl_str text); /* or NULL */
};
void dbrows_strings_load(struct dbrows *db, struct dbrows_strings *strings, const char *table,
                         const char *id, const char *text);
/* NL_NO_NAME when there is none. */
uint32_t dbrows_name(const struct dbrows_strings *strings, dbfile_cells id);
uint32_t dbrows_tag(const struct dbrows_strings *strings, dbfile_cells id);

/* Text of a cell, empty when it is none. */
static inline struct nl_str dbrows_text(dbfile_cells cell)
{
    if (cell->type != SQLITEPAGES_TEXT)
        return (struct nl_str){"", 0};
    return (struct nl_str){(const char *)cell->bytes, cell->len};
}

#endif
