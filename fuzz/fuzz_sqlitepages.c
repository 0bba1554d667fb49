/*
 * Any bytes as a SQLite database: the page reader alone, on every page as if it were the root of a
 * table; then the whole reader of Nsight Systems exports up to a finished trace that answers what
 * is asked of it. The bytes may be a whole database, or, when they begin with 'P', patches {offset,
 * value} for a sound small one.
 */
#define _GNU_SOURCE
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "answers.h"
#include "base/mem.h"
#include "derive/derive.h"
#include "ingest/nsys/nsys.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file = -1;
static char path[64];
static unsigned char *sound, *patched;
static size_t sound_size;

static const char *const sound_sql =
    "PRAGMA page_size=512;"
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,"
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"
    " demangledName INTEGER, shortName INTEGER, gridX INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, globalTid INTEGER,"
    " correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
    " globalTid INTEGER, domainId INTEGER, doubleValue REAL, category INTEGER, binaryData);"
    "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER, idx INTEGER,"
    " type INTEGER, name TEXT, offset INTEGER);"
    "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(1,5,0,18,'Message size',0),(1,5,1,19,'x',8);"
    "CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER, isSchedIn INTEGER, globalTid INTEGER);"
    "CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER,"
    " globalTid INTEGER, cpuCycles INTEGER);"
    "CREATE TABLE SAMPLING_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER,"
    " stackDepth INTEGER);"
    "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<40)"
    " INSERT INTO StringIds SELECT i, 'name ' || i || substr(hex(zeroblob(900)),1,i*i) FROM n;"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<40)"
    " INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i*1000, i*1000+500, i%2, 1, 7, i, 4294967296,"
    " i%7, i%5, 80 FROM n;"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start-400, start-100, globalPid+1,"
    " correlationId, 3, 0 FROM CUPTI_ACTIVITY_KIND_KERNEL;"
    "INSERT INTO NVTX_EVENTS SELECT start, end, CASE correlationId%6 WHEN 0 THEN 60 WHEN 1 THEN 34"
    " WHEN 2 THEN 75 WHEN 3 THEN 33 ELSE 59 END, 'range', globalPid+1, correlationId%3, 0.5, 2,"
    " x'0100000000000000050000000000000010000000000000003000000000000000"
    "0000100000000000feffffff0000003f'"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL;"
    "INSERT INTO SCHED_EVENTS SELECT start, 1, correlationId%2, globalPid+1"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL;"
    "INSERT INTO COMPOSITE_EVENTS SELECT correlationId, start, 1, globalPid+1, 5"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL;"
    "INSERT INTO SAMPLING_CALLCHAINS SELECT correlationId%9, correlationId%4, 1, correlationId/9"
    " FROM CUPTI_ACTIVITY_KIND_KERNEL;"
    "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','1.2');";

static void prepare(void)
{
    file = memfd_create("database", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    sqlite3 *db;
    sqlite3_int64 bytes;
    if (sqlite3_open(":memory:", &db) != SQLITE_OK ||
        sqlite3_exec(db, sound_sql, NULL, NULL, NULL) != SQLITE_OK)
        abort();
    sound = sqlite3_serialize(db, "main", &bytes, 0);
    sound_size = (size_t)bytes;
    patched = malloc(sound_size);
    if (!sound || !patched)
        abort();
    sqlite3_close(db);
}

static void on_row(void *context, const struct sqlitepages_cell *cells)
{
    uint64_t *sum = context;
    for (unsigned i = 0; i < 8; i++) {
        if (cells[i].type >= SQLITEPAGES_TEXT)
            for (uint32_t k = 0; k < cells[i].len; k++)
                *sum += cells[i].bytes[k];
        else if (cells[i].type == SQLITEPAGES_INTEGER)
            *sum += (uint64_t)cells[i].integer;
    }
}

static void read_pages(const unsigned char *bytes, size_t size)
{
    struct sqlitepages pages;
    const char *why;
    if (!sqlitepages_open(&pages, bytes, size, &why))
        return;
    static struct sqlitepages_scratch scratch;
    struct sqlitepages_plan plan = {.columns = 7, .cells = 8, .rowid_cell = 7};
    for (unsigned i = 0; i < SQLITEPAGES_COLUMNS; i++)
        plan.cell[i] = i < 7 ? (uint8_t)i : SQLITEPAGES_SKIP;
    plan.real[3] = true;
    uint64_t *seen = sqlitepages_seen_new(&pages);
    uint64_t sum = 0;
    struct sqlitepages_damage damage = {0};
    for (uint32_t root = 0; root <= pages.count && root < 64; root++) {
        struct sqlitepages_leaves leaves = {0};
        sqlitepages_leaves(&pages, root, seen, &leaves, &damage);
        for (size_t i = 0; i < leaves.count; i++)
            sqlitepages_read(&pages, leaves.page[i], &plan, &scratch, on_row, &sum, &damage);
        sqlitepages_leaves_release(&leaves);
    }
    nl_free(seen);
    sqlitepages_scratch_release(&scratch);
    scratch.gathered = 0;
}

static void load_all(const unsigned char *bytes, size_t size)
{
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, size, 0) != (ssize_t)size)
        abort();
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_job job = {.threads = 1, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "fuzz", "nsys");
    struct nl_input input = {
        .path = path, .name = "fuzz", .encoding = "plain", .rank = NL_NULL_I64};
    struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
    if (!nsys_load_way(&reading, DBFILE_FASTEST, &err)) {
        nl_builder_free(builder);
        return;
    }
    struct nl_trace *trace = nl_builder_finish(builder, &err);
    if (trace) {
        if (answers_deep())
            answers_ask(trace, answers_variant(bytes, size));
        nl_trace_free(trace);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (file < 0)
        prepare();
    if (size > 0 && data[0] == 'P') {
        memcpy(patched, sound, sound_size);
        for (size_t at = 1; at + 3 <= size; at += 3)
            patched[(data[at] | (size_t)data[at + 1] << 8) % sound_size] = data[at + 2];
        data = patched;
        size = sound_size;
    }
    read_pages(data, size);
    load_all(data, size);
    return 0;
}
