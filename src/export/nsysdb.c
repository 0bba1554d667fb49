/* SQLite without a journal: a database that is not finished is thrown away. */
#define _GNU_SOURCE
#include "export/nsysdb.h"
#include "base/chars.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COPY ((size_t)1 << 20)

static void note_result(struct nsys_db *db, int code)
{
    db->failed = db->failed || (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW);
}

static void run_sql(struct nsys_db *db, const char *sql)
{
    if (!db->failed)
        note_result(db, sqlite3_exec(db->handle, sql, NULL, NULL, NULL));
}

bool nsysdb_open(struct nsys_db *db, const struct nl_trace *trace, struct nl_err *err)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    *db = (struct nsys_db){.trace = trace, .descriptor = -1};
    int len =
        snprintf(path, sizeof path, "%s/neurolens-XXXXXX", folder && *folder ? folder : "/tmp");
    if (len < 0 || (size_t)len >= sizeof path)
        return nl_fail(err, NL_WRITE, "the path in TMPDIR is too long");
    db->descriptor = mkostemp(path, O_CLOEXEC);
    if (db->descriptor < 0)
        return nl_fail(err, NL_WRITE, "cannot make a file in %s: %s", path, strerror(errno));
    note_result(
        db, sqlite3_open_v2(path, &db->handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL));
    run_sql(
        db,
        "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN");
    unlink(path); /* it is gone with us, however we end */
    db->used = nl_zalloc(trace->names.count / 8 + (size_t)1);
    db->versioned = nl_zalloc(trace->names.count / 8 + (size_t)1);
    nl_buf_init(&db->room, (size_t)64 << 20);
    return true;
}

/* ---- tables ---- */

void nsysdb_table(struct nsys_db *db, const char *name, const char *columns)
{
    int count = 1;
    sqlite3_str *sql = sqlite3_str_new(db->handle);
    for (const char *at = columns; *at; at++)
        count += *at == ',';
    sqlite3_str_appendf(sql, "CREATE TABLE %s (%s)", name, columns);
    note_result(db, sqlite3_str_errcode(sql));
    char *text = sqlite3_str_finish(sql);
    if (text)
        run_sql(db, text);
    sqlite3_free(text);
    sql = sqlite3_str_new(db->handle);
    sqlite3_str_appendf(sql, "INSERT INTO %s VALUES (?", name);
    for (int i = 1; i < count; i++)
        sqlite3_str_appendall(sql, ",?");
    sqlite3_str_appendall(sql, ")");
    text = sqlite3_str_finish(sql);
    sqlite3_finalize(db->insert);
    db->insert = NULL;
    if (text && !db->failed)
        note_result(db, sqlite3_prepare_v2(db->handle, text, -1, &db->insert, NULL));
    sqlite3_free(text);
    db->at = 0;
}

void nsysdb_row(struct nsys_db *db)
{
    if (db->failed)
        return;
    if (db->at != sqlite3_bind_parameter_count(db->insert))
        NL_BUG("a row of a SQLite table with too few or many values");
    note_result(db, sqlite3_step(db->insert));
    note_result(db, sqlite3_reset(db->insert));
    db->at = 0;
}

/* ---- values ---- */

void nsysdb_none(struct nsys_db *db)
{
    if (!db->failed)
        note_result(db, sqlite3_bind_null(db->insert, ++db->at));
}

void nsysdb_number(struct nsys_db *db, int64_t value)
{
    if (!db->failed)
        note_result(db, sqlite3_bind_int64(db->insert, ++db->at, value));
}

void nsysdb_known(struct nsys_db *db, int64_t value)
{
    if (value == NL_NULL_I64)
        nsysdb_none(db);
    else
        nsysdb_number(db, value);
}

void nsysdb_known_u64(struct nsys_db *db, uint64_t value)
{
    if (value == NL_NULL_U64)
        nsysdb_none(db);
    else
        nsysdb_number(db, (int64_t)value);
}

void nsysdb_known_u32(struct nsys_db *db, uint32_t value)
{
    if (value == NL_NULL_U32)
        nsysdb_none(db);
    else
        nsysdb_number(db, value);
}

void nsysdb_text(struct nsys_db *db, struct nl_str text)
{
    if (!db->failed)
        note_result(db, sqlite3_bind_text64(db->insert, ++db->at, text.len ? text.ptr : "",
                                            text.len, SQLITE_TRANSIENT, SQLITE_UTF8));
}

void nsysdb_name_text(struct nsys_db *db, uint32_t name)
{
    nl_buf_clear(&db->room);
    if (name == NL_NO_NAME)
        nsysdb_none(db);
    else
        nsysdb_text(db, nl_trace_text(db->trace, name, &db->room));
}

void nsysdb_name_id(struct nsys_db *db, uint32_t name)
{
    if (name == NL_NO_NAME || name >= db->trace->names.count) {
        nsysdb_none(db);
        return;
    }
    db->used[name / 8] = (unsigned char)(db->used[name / 8] | 1u << name % 8);
    nsysdb_number(db, name);
}

static bool ends_with(struct nl_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len > len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

/* Readers take the version of the ABI off names of API calls (`cudaMalloc_v3020`). */
static bool ends_like_version(struct nl_str text)
{
    size_t at = text.len;
    while (at > 0 && nl_is_digit(text.ptr[at - 1]))
        at--;
    return (at < text.len && at > 2 && memcmp(text.ptr + at - 2, "_v", 2) == 0) ||
           ends_with(text, "_ptsz") || ends_with(text, "_ptds");
}

void nsysdb_call_id(struct nsys_db *db, uint32_t name)
{
    bool plain = name == NL_NO_NAME || name >= db->trace->names.count ||
                 !ends_like_version(nl_trace_name(db->trace, name));
    if (plain) {
        nsysdb_name_id(db, name);
        return;
    }
    db->versioned[name / 8] = (unsigned char)(db->versioned[name / 8] | 1u << name % 8);
    nsysdb_number(db, (int64_t)db->trace->names.count + name);
}

/* ---- the end ---- */

static void write_strings(struct nsys_db *db)
{
    nsysdb_table(db, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL");
    for (uint32_t i = 0; i < db->trace->names.count; i++)
        if (db->used[i / 8] >> i % 8 & 1) {
            nsysdb_number(db, i);
            nsysdb_text(db, nl_trace_name(db->trace, i));
            nsysdb_row(db);
        }
    for (uint32_t i = 0; i < db->trace->names.count; i++)
        if (db->versioned[i / 8] >> i % 8 & 1) {
            nl_buf_clear(&db->room);
            struct nl_str name = nl_trace_name(db->trace, i);
            nl_buf_add(&db->room, name.ptr, name.len);
            nl_buf_text(&db->room, "_v3020");
            nsysdb_number(db, (int64_t)db->trace->names.count + i);
            nsysdb_text(db, (struct nl_str){db->room.ptr, db->room.len});
            nsysdb_row(db);
        }
}

static bool copy_file(int descriptor, FILE *out)
{
    char *room = nl_alloc(COPY);
    ssize_t got;
    off_t at = 0;
    while ((got = pread(descriptor, room, COPY, at)) > 0 &&
           fwrite(room, 1, (size_t)got, out) == (size_t)got)
        at += got;
    nl_free(room);
    return got == 0;
}

bool nsysdb_close(struct nsys_db *db, bool good, FILE *out, struct nl_err *err)
{
    if (good)
        write_strings(db);
    sqlite3_finalize(db->insert);
    if (good)
        run_sql(db, "COMMIT");
    if (good && db->failed)
        good = nl_fail(err, NL_WRITE, "the database could not be written: %s",
                       db->handle ? sqlite3_errmsg(db->handle) : "no memory");
    sqlite3_close(db->handle);
    if (good && !copy_file(db->descriptor, out))
        good = nl_fail(err, NL_WRITE, "cannot copy the database: %s", strerror(errno));
    if (db->descriptor >= 0)
        close(db->descriptor);
    nl_free(db->used);
    nl_free(db->versioned);
    nl_buf_release(&db->room);
    *db = (struct nsys_db){.descriptor = -1};
    return good;
}
