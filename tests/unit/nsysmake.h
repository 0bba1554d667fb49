/*
 * nsysmake — small databases made by SQLite for the tests of the nsys reader, in a folder of their
 * own that goes away with the test program.
 */
#ifndef NSYSMAKE_H
#define NSYSMAKE_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "derive/derive.h"
#include "ingest/nsys/nsys.h"

static char nsysmake_folder[64];

static inline void nsysmake_remove(void)
{
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", nsysmake_folder);
    if (nsysmake_folder[0] && system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", nsysmake_folder);
}

/* Path of a file called `name` in the folder; one of four rotating buffers. */
static inline const char *nsysmake_path(const char *name)
{
    static char paths[4][160];
    static unsigned next;
    if (!nsysmake_folder[0]) {
        strcpy(nsysmake_folder, "/tmp/neurolens-test-XXXXXX");
        if (!mkdtemp(nsysmake_folder))
            abort();
        atexit(nsysmake_remove);
    }
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", nsysmake_folder, name);
    return path;
}

/* Files that nobody needs after a crash: each statement else waits for the disk. */
#define NSYSMAKE_UNSAFE "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF;"

/* Runs SQL into a new database file; aborts the test program when the SQL is wrong. */
static inline const char *nsysmake(const char *name, const char *sql)
{
    const char *path = nsysmake_path(name);
    sqlite3 *db;
    char *text = NULL;
    unlink(path);
    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, NSYSMAKE_UNSAFE, NULL, NULL, &text) != SQLITE_OK ||
        sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK) {
        fprintf(stderr, "nsysmake %s: %s\n", name, text ? text : "cannot open");
        abort();
    }
    sqlite3_close(db);
    return path;
}

static inline struct nl_map nsysmake_bytes(const char *path)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, NULL))
        abort();
    return map;
}

static inline const char *nsysmake_write(const char *name, const void *bytes, size_t len)
{
    const char *path = nsysmake_path(name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, len, file) != len || fclose(file) != 0)
        abort();
    return path;
}

/* Loads a file; NULL with *err filled when it is refused. */
static inline struct nl_trace *nsysmake_load(const char *path, enum dbfile_way way,
                                             unsigned threads, struct nl_err *err)
{
    nl_err_clear(err);
    struct nl_job job = {.threads = threads, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "made.sqlite", "nsys");
    struct nl_input input = {
        .path = path, .name = "made", .encoding = "plain", .rank = NL_NULL_I64};
    struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
    if (nsys_load_way(&reading, way, err))
        return nl_builder_finish(builder, err);
    nl_builder_free(builder);
    return NULL;
}

/* Name of the first stored column in which two traces differ, or NULL. */
static inline const char *nsysmake_difference(const struct nl_trace *a, const struct nl_trace *b)
{
    for (unsigned i = 0; i < nl_column_count; i++) {
        const struct nl_column_def *column = &nl_columns[i];
        uint32_t rows = nl_trace_rows(a, column->table);
        if (column->hop != NL_HOP_NONE)
            continue;
        if (rows != nl_trace_rows(b, column->table))
            return column->name;
        const char *x = nl_trace_column(a, column), *y = nl_trace_column(b, column);
        for (uint32_t row = 0; row < rows; row++, x += column->size, y += column->size) {
            bool same = memcmp(x, y, column->size) == 0;
            if (column->type == NL_TYPE_NAME)
                same = nl_str_eq(nl_trace_name(a, *(const uint32_t *)(const void *)x),
                                 nl_trace_name(b, *(const uint32_t *)(const void *)y));
            if (!same)
                return column->name;
        }
    }
    return NULL;
}

/* What coverage counts for an item that begins with `item`; -1 when it says nothing. */
static inline int64_t nsysmake_coverage(const struct nl_trace *trace, const char *item)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        if (nl_str_starts(nl_trace_name(trace, trace->coverage.item[i]), item))
            return trace->coverage.count[i];
    return -1;
}

#endif
