/*
 * Mutations of SQLite databases for libFuzzer, linked to format.c for the formats that are such:
 * what changes is the content of tables (cells of any type, rows, columns, whole tables), while the
 * file around it stays sound, which flipped bytes of it hardly ever achieve. An input is a database
 * as users give it, so that a finding can be opened with any tool. Every eighth mutation flips
 * bytes all the same, as does every mutation of what SQLite cannot open.
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

/* Steps of SQLite's machine that one statement may take: tables of a
 * damaged file may be circles. */
#define MAX_STEPS 200000

struct mutation {
    sqlite3 *db;
    uint64_t random;
    char *table, *column; /* at hand, or NULL */
};

static unsigned below(struct mutation *mutation, unsigned limit)
{
    uint64_t x = mutation->random;
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    mutation->random = x;
    return (unsigned)((x * 0x2545F4914F6CDD1Du >> 33) % limit);
}

/* The text in the first column of a random row of a query, which is freed; NULL: no row. */
static char *any_name(struct mutation *mutation, char *query)
{
    char *name = NULL;
    sqlite3_stmt *stmt = NULL;
    if (query && sqlite3_prepare_v2(mutation->db, query, -1, &stmt, NULL) == SQLITE_OK)
        for (unsigned met = 1; sqlite3_step(stmt) == SQLITE_ROW; met++)
            if (below(mutation, met) == 0) { /* each of `met` rows with the same chance */
                sqlite3_free(name);
                name = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 0));
            }
    sqlite3_finalize(stmt);
    sqlite3_free(query);
    return name;
}

static char *any_table(struct mutation *mutation)
{
    return any_name(mutation, sqlite3_mprintf("SELECT name FROM sqlite_schema WHERE type = 'table'"
                                              " AND name NOT LIKE 'sqlite%%'"));
}

static char *any_column(struct mutation *mutation, const char *table)
{
    return any_name(mutation, sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", table));
}

/* Values at the edges of what readers expect; the others are made of what is there. */
static const char *const values[] = {
    "NULL",
    "0",
    "1",
    "-1",
    "2",
    "255",
    "256",
    "65535",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "2305843009213693952",
    "2305843009213693953",
    "4611686018427387904",
    "9223372036854775806",
    "9223372036854775807",
    "-9223372036854775807 - 1",
    "-2305843009213693953",
    "281474976710656",
    "0.5",
    "-0.0",
    "1e300",
    "9e999",
    "-9e999",
    "9.3e18",
    "''",
    "'0'",
    "'name'",
    "'-1'",
    "x''",
    "x'00'",
    "x'0100000000000000050000000000000010000000000000003000000000000000'",
    "zeroblob(40)",
    "'{\"message\": \"text\"}'",
    "'[{'",
    "char(0, 65, 0)",
    "char(1114111, 27, 10, 9)",
    "CAST(x'fffe80' AS TEXT)",
    "substr(hex(zeroblob(3000)), 1, 5000)",
};
#define VALUES (sizeof values / sizeof values[0])

/* A value as SQL, to be freed; `column` is the one that it is for. */
static char *any_value(struct mutation *mutation)
{
    char *value = NULL, *table, *column;
    switch (below(mutation, 8)) {
    case 0: return sqlite3_mprintf("%d", (int)below(mutation, 400) - 100);
    case 1:
        return sqlite3_mprintf("\"%w\" + %d", mutation->column, (int)below(mutation, 2001) - 1000);
    case 2: return sqlite3_mprintf("CAST(\"%w\" AS TEXT)", mutation->column);
    case 3: return sqlite3_mprintf("\"%w\" + 0.25", mutation->column);
    case 4: /* of another column or table: ids that now refer to something else */
        table = any_table(mutation);
        column = any_column(mutation, table);
        if (column)
            value = sqlite3_mprintf("(SELECT \"%w\" FROM \"%w\" LIMIT 1 OFFSET %u)", column, table,
                                    below(mutation, 20));
        sqlite3_free(table);
        sqlite3_free(column);
        if (value)
            return value;
        /* fall through */
    default: return sqlite3_mprintf("%s", values[below(mutation, VALUES)]);
    }
}

/* Some rows of the table at hand: one, or one in n, or all. */
static char *some_rows(struct mutation *mutation)
{
    unsigned number = below(mutation, 40);
    if (below(mutation, 4) == 0)
        return sqlite3_mprintf("rowid %% %u = 0", 1 + number / 8);
    return sqlite3_mprintf("rowid IN (SELECT rowid FROM \"%w\" LIMIT 1 OFFSET %u)", mutation->table,
                           number);
}

static char *statement(struct mutation *mutation)
{
    const char *table = mutation->table, *column = mutation->column;
    char *rows = some_rows(mutation), *value = any_value(mutation), *text = NULL;
    unsigned kind = below(mutation, 32);
    if (kind == 0)
        text = sqlite3_mprintf("ALTER TABLE \"%w\" DROP COLUMN \"%w\"", table, column);
    else if (kind == 1)
        text = sqlite3_mprintf("ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO c%u", table, column,
                               below(mutation, 1000));
    else if (kind == 2)
        text = sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN c%u DEFAULT 5", table,
                               below(mutation, 1000));
    else if (kind == 3)
        text = sqlite3_mprintf("DROP TABLE \"%w\"", table);
    else if (kind == 4)
        text = sqlite3_mprintf("ALTER TABLE \"%w\" RENAME TO t%u", table, below(mutation, 1000));
    else if (kind < 8)
        text = sqlite3_mprintf("DELETE FROM \"%w\" WHERE %s", table, rows);
    else if (kind < 12)
        text = sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\" SELECT * FROM \"%w\" WHERE %s", table,
                               table, rows);
    else if (kind < 13)
        text = sqlite3_mprintf("INSERT OR IGNORE INTO \"%w\"(\"%w\") VALUES(%s)", table, column,
                               values[below(mutation, VALUES)]);
    else
        text = sqlite3_mprintf("UPDATE OR IGNORE \"%w\" SET \"%w\" = %s WHERE %s", table, column,
                               value, rows);
    sqlite3_free(rows);
    sqlite3_free(value);
    return text;
}

static void mutate_tables(struct mutation *mutation)
{
    for (unsigned left = 1 + below(mutation, 4); left > 0; left--) {
        mutation->table = any_table(mutation);
        if (mutation->table)
            mutation->column = any_column(mutation, mutation->table);
        char *text = mutation->column ? statement(mutation) : NULL;
        if (text)
            (void)sqlite3_exec(mutation->db, text, NULL, NULL, NULL);
        sqlite3_free(text);
        sqlite3_free(mutation->table);
        sqlite3_free(mutation->column);
        mutation->table = mutation->column = NULL;
    }
}

static int too_long(void *context)
{
    (void)context;
    return 1;
}

/* NOT NULL would keep the most frequent surprise out. */
static const char relax[] =
    "PRAGMA writable_schema=ON;"
    "UPDATE sqlite_schema SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table';"
    "PRAGMA writable_schema=RESET";

/* The database after some changes, to be freed with sqlite3_free; NULL when it cannot be one. */
static unsigned char *changed(const uint8_t *data, size_t size, unsigned seed, sqlite3_int64 *bytes)
{
    struct mutation mutation = {.random = seed * 0x9E3779B97F4A7C15u | 1};
    unsigned char *made = NULL, *copy = sqlite3_malloc64(size);
    unsigned flags = SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE;
    if (copy && sqlite3_open(":memory:", &mutation.db) == SQLITE_OK) {
        memcpy(copy, data, size);
        sqlite3_progress_handler(mutation.db, MAX_STEPS, too_long, NULL);
        if (sqlite3_deserialize(mutation.db, "main", copy, (sqlite3_int64)size, (sqlite3_int64)size,
                                flags) == SQLITE_OK &&
            sqlite3_exec(mutation.db, relax, NULL, NULL, NULL) == SQLITE_OK) {
            mutate_tables(&mutation);
            if (below(&mutation, 4) == 0) /* pages that nothing uses any more */
                (void)sqlite3_exec(mutation.db, "VACUUM", NULL, NULL, NULL);
            made = sqlite3_serialize(mutation.db, "main", bytes, 0);
        }
        copy = NULL; /* the connection's own by now, whether that went well or not */
    }
    sqlite3_free(copy);
    sqlite3_close(mutation.db);
    return made;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    sqlite3_int64 bytes = 0;
    unsigned char *made = NULL;
    if (seed % 8 != 0 && size > 512 && memcmp(data, "SQLite format 3", 16) == 0)
        made = changed(data, size, seed, &bytes);
    if (made && bytes > 0 && (size_t)bytes <= max_size) {
        memcpy(data, made, (size_t)bytes);
        size = (size_t)bytes;
    } else {
        size = mutate_any(data, size, max_size, seed);
    }
    sqlite3_free(made);
    return size;
}
