/* Opening a ledger, and which run a word names. */
#define _GNU_SOURCE
#include "ledger/ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/chars.h"
#include "base/file.h"
#include "base/units.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledgerdb.h"
#include "ledger/ledgerschema.h"
#include "ledger/ledgerours.h"
#include "ledger/ledgershare.h"

#define MIN_HEX     6
#define SHORT_ID    8
#define CANDIDATES  6
#define RETRY_NS    (20 * 1000 * 1000)
#define RETRY_TIMES (NL_LEDGER_PATIENCE_MS / 20)

static char *database_path(const char *folder, const char *ending)
{
    size_t room = strlen(folder) + strlen(ending) + 16;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/ledger.db%s", folder, ending);
    return path;
}

bool nl_ledger_exists(const char *folder)
{
    char *path = database_path(folder, "");
    bool there = access(path, F_OK) == 0;
    nl_free(path);
    return there;
}

/* "file:PATH?immutable=1", with what a URI cannot hold escaped. */
static char *immutable_uri(const char *path)
{
    struct nl_buf uri;
    nl_buf_init(&uri, strlen(path) * 3 + 64);
    nl_buf_text(&uri, "file:");
    for (const char *c = path; *c; c++) {
        if (nl_is_alnum(*c) || strchr("/._-~", *c))
            nl_buf_char(&uri, *c);
        else
            nl_buf_format(&uri, "%%%02X", (unsigned char)*c);
    }
    nl_buf_text(&uri, "?immutable=1");
    return uri.ptr;
}

/* A ledger in a folder that cannot be written has no -shm file to share: as no one here can change
 * it, SQLite may read the database in place, unless a log waits to be read in. */
static int open_unwritable(struct nl_ledger *ledger, const char *path)
{
    char *wal = database_path(ledger->folder, "-wal");
    struct stat info;
    bool has_log = stat(wal, &info) == 0 && info.st_size > 0;
    nl_free(wal);
    if (has_log)
        return sqlite3_open_v2(path, &ledger->db, SQLITE_OPEN_READONLY, NULL);
    char *uri = immutable_uri(path);
    int code = sqlite3_open_v2(uri, &ledger->db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
    nl_free(uri);
    return code;
}

/* Turning WAL on needs the file for itself, and SQLite does not wait for that by itself. */
static bool set_wal(struct nl_ledger *ledger, struct nl_err *err)
{
    int code = SQLITE_BUSY;
    for (int i = 0; i < RETRY_TIMES && (code & 0xff) == SQLITE_BUSY; i++) {
        code = sqlite3_exec(ledger->db, "PRAGMA journal_mode = WAL", NULL, NULL, NULL);
        if ((code & 0xff) == SQLITE_BUSY)
            nanosleep(&(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    }
    return code == SQLITE_OK || nl_ledgerdb_fail(err, ledger, code);
}

static const struct {
    int option, value;
} settings[] = {
    {SQLITE_DBCONFIG_DEFENSIVE, 1},      {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
    {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}, {SQLITE_DBCONFIG_ENABLE_FKEY, 1},
    {SQLITE_DBCONFIG_DQS_DML, 0},        {SQLITE_DBCONFIG_DQS_DDL, 0},
};

/* What is left of a ledger whose database is gone is no empty ledger. */
static bool database_lost(const char *folder, const char *how, struct nl_err *err)
{
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_FORMAT,
                   "ledger.db is %s, but artefacts of runs are here: `neurolens ledger rebuild` "
                   "restores it from them",
                   how);
}

static bool check_tables(struct nl_ledger *ledger, struct nl_err *err)
{
    int64_t tables;
    if (!nl_ledgerdb_number(ledger, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", ""))
        return false;
    return tables || !nl_artefact_any(ledger->folder) ||
           database_lost(ledger->folder, "empty", err);
}

static bool set_up(struct nl_ledger *ledger, bool writable, enum nl_ledger_mode mode,
                   struct nl_err *err)
{
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        sqlite3_db_config(ledger->db, settings[i].option, settings[i].value, NULL);
    sqlite3_extended_result_codes(ledger->db, 1);
    sqlite3_busy_timeout(ledger->db, NL_LEDGER_PATIENCE_MS);
    if (mode != NL_LEDGER_REBUILD && !check_tables(ledger, err))
        return false;
    if (writable && !set_wal(ledger, err))
        return false;
    /* FULL: a run that was reported as added survives a loss of power. */
    return nl_ledgerdb_script(ledger, "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY",
                              err) &&
           nl_ledger_migrate(ledger, &nl_ledger_schema, writable, err) &&
           nl_ledger_schema_ours(ledger, err);
}

/* What is in a ledger is its user's alone; SQLite gives -wal and -shm the mode of the database. */
static void make_private(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* Which way to the database, by what is there and what may be done with it. */
static int open_database(struct nl_ledger *ledger, const char *path, bool there, bool writable,
                         enum nl_ledger_mode mode)
{
    if (!there && mode == NL_LEDGER_READ)
        return sqlite3_open(":memory:", &ledger->db);
    if (there && !writable && mode == NL_LEDGER_READ)
        return open_unwritable(ledger, path);
    if (!there)
        make_private(path);
    int code = sqlite3_open_v2(path, &ledger->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (!there)
        nl_ledger_share_path(ledger->folder, path); /* its log and shared memory follow it */
    return code;
}

static bool open_file(struct nl_ledger *ledger, enum nl_ledger_mode mode, struct nl_err *err)
{
    char *path = database_path(ledger->folder, "");
    bool there = access(path, F_OK) == 0;
    bool writable = there && access(path, W_OK) == 0 && access(ledger->folder, W_OK) == 0;
    bool lost = !there && mode != NL_LEDGER_REBUILD && nl_artefact_any(ledger->folder);
    if (!nl_ledger_files_ours(ledger->folder, err)) {
        nl_free(path);
        return false;
    }
    int code = lost ? SQLITE_OK : open_database(ledger, path, there, writable, mode);
    nl_free(path);
    if (lost)
        return database_lost(ledger->folder, "missing", err);
    if (code != SQLITE_OK)
        return nl_ledgerdb_fail(err, ledger, code);
    return set_up(ledger, !there || writable || mode != NL_LEDGER_READ, mode, err);
}

/* "alice", or the number of a user without a name. */
static const char *owner_name(uid_t user, char text[64])
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(user, &entry, buffer, sizeof buffer, &found) == 0 && found)
        snprintf(text, 64, "%.60s", found->pw_name);
    else
        snprintf(text, 64, "%lu", (unsigned long)user);
    return text;
}

/* A ledger that cannot be inspected is not an empty one. */
static bool check_folder(const char *folder, enum nl_ledger_mode mode, struct nl_err *err)
{
    struct stat info;
    char owner[64];
    if (stat(folder, &info) != 0) {
        if (errno == ENOENT && mode == NL_LEDGER_READ)
            return true;
        nl_err_at(err, folder, -1);
        return nl_fail(
            err, NL_ENVIRONMENT,
            "this ledger cannot be opened: %s; ask for permission or choose another with "
            "--ledger",
            strerror(errno));
    }
    char *database = database_path(folder, "");
    bool is_folder = S_ISDIR(info.st_mode), readable = access(folder, R_OK | X_OK) == 0;
    bool closed = readable && access(database, F_OK) == 0 && access(database, R_OK) != 0;
    nl_free(database);
    if (is_folder && readable && !closed)
        return true;
    nl_err_at(err, folder, -1);
    if (!is_folder)
        return nl_fail(err, NL_ENVIRONMENT,
                       "this is a file, but a ledger is a folder; name one with --ledger or "
                       "$NEUROLENS_LEDGER");
    return nl_fail(
        err, NL_ENVIRONMENT,
        "you may not read this ledger of user %s (mode %04o); ask for access, choose another "
        "with --ledger, or let its owner share it (`neurolens init --shared`)",
        owner_name(info.st_uid, owner), (unsigned)info.st_mode & 07777);
}

struct nl_ledger *nl_ledger_open(const char *folder, enum nl_ledger_mode mode, struct nl_err *err)
{
    if (mode != NL_LEDGER_READ && access(folder, F_OK) != 0 &&
        !nl_make_folders_lasting(folder, err))
        return NULL;
    if (!check_folder(folder, mode, err))
        return NULL;
    struct nl_ledger *ledger = nl_zalloc(sizeof *ledger);
    ledger->folder = nl_strdup(folder);
    if (open_file(ledger, mode, err))
        return ledger;
    nl_ledger_close(ledger);
    return NULL;
}

bool nl_ledger_sync(const char *folder, struct nl_err *err)
{
    /* What left the log for the database was synced on the way. */
    char *path = database_path(folder, "-wal");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool done = fd >= 0 ? fsync(fd) == 0 : errno == ENOENT;
    int failure = errno;
    if (fd >= 0)
        close(fd);
    if (!done)
        nl_err_at(err, path, -1);
    nl_free(path);
    return done || nl_fail(err, NL_WRITE, "cannot write: %s", strerror(failure));
}

void nl_ledger_close(struct nl_ledger *ledger)
{
    if (!ledger)
        return;
    for (size_t i = 0; i < ledger->cached_count; i++)
        sqlite3_finalize(ledger->cached[i].statement);
    sqlite3_close(ledger->db);
    nl_free(ledger->touched);
    nl_free(ledger->folder);
    nl_free(ledger);
}

/* ---- names of runs ---- */

bool nl_ledger_may_name(const char *word)
{
    return word[0] == '@' || (word[0] && word[0] != '-' && word[0] != '/' && word[0] != '.');
}

bool nl_ledger_begins_id(const char *word)
{
    size_t len = strspn(word, "0123456789abcdefABCDEF");
    return word[len] == '\0' && len >= MIN_HEX && len < NL_RUNDOC_ID;
}

/* Takes the row (run, id, in the trash) when there is one. */
static bool read_run_row(struct nl_ledger *ledger, sqlite3_stmt *rows, struct nl_ledger_run *run,
                         bool *found, struct nl_err *err)
{
    bool ok = rows != NULL;
    *found = rows && nl_ledgerdb_next(err, ledger, rows, &ok);
    if (*found) {
        run->run = sqlite3_column_int64(rows, 0);
        snprintf(run->id, sizeof run->id, "%s", (const char *)sqlite3_column_text(rows, 1));
        run->in_trash = sqlite3_column_int(rows, 2) != 0;
    }
    if (rows)
        sqlite3_reset(rows);
    return ok;
}

static bool find_by_age(struct nl_ledger *ledger, const char *word, bool in_trash,
                        struct nl_ledger_run *run, bool *found, struct nl_err *err)
{
    int64_t back = 0;
    if (word[1] &&
        !(word[1] == '~' && nl_is_digit(word[2]) && nl_parse_i64(nl_str(word + 2), &back)))
        return nl_fail(err, NL_USAGE,
                       "'%s' names no run; write @ for the newest, @~3 for three "
                       "before it",
                       word);
    return read_run_row(ledger,
                        nl_ledgerdb_ask(ledger, err,
                                        "SELECT run, id, removed_ns IS NOT NULL FROM runs "
                                        "WHERE (removed_ns IS NOT NULL) = ?1 "
                                        "ORDER BY run DESC LIMIT 1 OFFSET ?2",
                                        "ii", (int64_t)in_trash, back),
                        run, found, err);
}

static bool find_by_tag(struct nl_ledger *ledger, const char *word, bool in_trash,
                        struct nl_ledger_run *run, bool *found, struct nl_err *err)
{
    return read_run_row(ledger,
                        nl_ledgerdb_ask(ledger, err,
                                        "SELECT run, id, removed_ns IS NOT NULL FROM runs "
                                        "JOIN tags USING (run) WHERE tag = ?1 "
                                        "AND (removed_ns IS NOT NULL) = ?2 "
                                        "ORDER BY given DESC, run DESC LIMIT 1",
                                        "ti", word, (int64_t)in_trash),
                        run, found, err);
}

/* Ids that begin so, at most CANDIDATES, as a list for a message. */
static bool list_candidates(struct nl_ledger *ledger, const char *low, const char *high,
                            struct nl_buf *list, struct nl_err *err)
{
    bool ok = true;
    int count = 0;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(ledger, err,
                        "SELECT substr(id, 1, 12), name FROM runs WHERE id >= ?1 AND id < ?2 "
                        "ORDER BY id LIMIT 7",
                        "tt", low, high);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        if (count == CANDIDATES) {
            nl_buf_text(list, ", …");
            sqlite3_reset(rows);
            break;
        }
        nl_buf_format(list, "%s%s (%.40s)", count++ ? ", " : "", sqlite3_column_text(rows, 0),
                      sqlite3_column_text(rows, 1));
    }
    return rows && ok;
}

static bool find_by_id(struct nl_ledger *ledger, const char *word, bool in_trash,
                       struct nl_ledger_run *run, bool *found, struct nl_err *err)
{
    char low[NL_RUNDOC_ID], high[NL_RUNDOC_ID + 1];
    size_t len = strlen(word);
    for (size_t i = 0; i <= len; i++)
        low[i] = nl_lower(word[i]);
    snprintf(high, sizeof high, "%sg", low); /* after every id that begins so */
    int64_t count;
    if (!nl_ledgerdb_number(ledger, &count, 0, err,
                            "SELECT count(*) FROM (SELECT 1 FROM runs WHERE id >= ?1 AND id < ?2 "
                            "AND (removed_ns IS NOT NULL) = ?3 LIMIT 2)",
                            "tti", low, high, (int64_t)in_trash))
        return false;
    if (count > 1) {
        struct nl_buf list;
        nl_buf_init(&list, 400);
        if (list_candidates(ledger, low, high, &list, err))
            (void)nl_fail(err, NL_USAGE, "'%s' begins several runs: %s", word, list.ptr);
        nl_buf_release(&list);
        return false;
    }
    return read_run_row(
        ledger,
        nl_ledgerdb_ask(ledger, err,
                        "SELECT run, id, removed_ns IS NOT NULL FROM runs "
                        "WHERE id >= ?1 AND id < ?2 AND (removed_ns IS NOT NULL) = ?3",
                        "tti", low, high, (int64_t)in_trash),
        run, found, err);
}

/* Why nothing was found, with the next step. */
static bool not_found(struct nl_ledger *ledger, const char *word, bool in_trash, struct nl_err *err)
{
    int64_t count;
    if (!nl_ledgerdb_number(ledger, &count, 0, err,
                            "SELECT count(*) FROM runs WHERE (removed_ns IS NOT NULL) = ?1", "i",
                            (int64_t)in_trash))
        return false;
    nl_err_at(err, ledger->folder, -1);
    if (in_trash)
        return nl_fail(err, NL_IO, "no run '%s' in the trash; `neurolens ls --trash` lists it",
                       word);
    if (count == 0)
        return nl_fail(err, NL_IO,
                       "no run '%s': this ledger is empty; `neurolens add PROFILE` puts a run in",
                       word);
    if (word[0] == '@')
        return nl_fail(err, NL_IO, "no run '%s': there are %lld; `neurolens ls` lists them", word,
                       (long long)count);
    return nl_fail(err, NL_IO,
                   "no run '%s': neither a tag nor the first 6 or more digits of an id; `neurolens "
                   "ls` lists the runs",
                   word);
}

bool nl_ledger_find(struct nl_ledger *ledger, const char *word, bool in_trash,
                    struct nl_ledger_run *run, struct nl_err *err)
{
    bool found = false;
    if (word[0] == '@') {
        if (!find_by_age(ledger, word, in_trash, run, &found, err))
            return false;
    } else {
        if (!find_by_tag(ledger, word, in_trash, run, &found, err))
            return false;
        if (!found && nl_ledger_begins_id(word) &&
            !find_by_id(ledger, word, in_trash, run, &found, err))
            return false;
    }
    return found || not_found(ledger, word, in_trash, err);
}

bool nl_ledger_short_id(struct nl_ledger *ledger, const char *id, char text[NL_RUNDOC_ID],
                        struct nl_err *err)
{
    /* The neighbours in order of ids share the longest beginnings with it. */
    size_t need = SHORT_ID;
    bool ok = true;
    id = id ? id : ""; /* a damaged database may lack it */
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err,
                                         "SELECT max(id) FROM runs WHERE id < ?1 UNION ALL "
                                         "SELECT min(id) FROM runs WHERE id > ?1",
                                         "t", id);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        const char *other = (const char *)sqlite3_column_text(rows, 0);
        size_t same = 0;
        while (other && other[same] && other[same] == id[same])
            same++;
        if (same + 1 > need)
            need = same + 1;
    }
    snprintf(text, NL_RUNDOC_ID, "%.*s", (int)need, id);
    return rows && ok;
}
