/* A look at a ledger's files before they are opened, and at its schema before it is asked. */
#define _GNU_SOURCE
#include "ledger/ledgerours.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/ledgerdb.h"

static const struct {
    const char *name;
    mode_t type;
} parts[] = {{"ledger.db", S_IFREG},     {"ledger.db-wal", S_IFREG},
             {"ledger.db-shm", S_IFREG}, {"ledger.db-journal", S_IFREG},
             {"artefacts", S_IFDIR},     {"cache", S_IFDIR},
             {"runs", S_IFDIR}};

/* The last bytes of a journal with the name of a super-journal (SQLite's file format, section 4.4:
 * transactions over several databases, which a ledger never has). */
static const unsigned char super_magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static bool names_another(int folder, const char *name)
{
    unsigned char end[sizeof super_magic];
    struct stat info;
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool names = fd >= 0 && fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof end &&
                 pread(fd, end, sizeof end, info.st_size - (off_t)sizeof end) == sizeof end &&
                 memcmp(end, super_magic, sizeof end) == 0;
    if (fd >= 0)
        close(fd);
    return names;
}

static bool refuse_entry(const char *folder, const char *name, const char *why, struct nl_err *err)
{
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_FORMAT,
                   "%s in this ledger %s, which this program never makes; move it away or choose "
                   "another folder with --ledger",
                   name, why);
}

bool nl_ledger_files_ours(const char *folder, struct nl_err *err)
{
    struct stat info;
    bool done = true;
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; done && fd >= 0 && i < sizeof parts / sizeof *parts; i++) {
        const char *name = parts[i].name;
        if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISLNK(info.st_mode))
            done = refuse_entry(folder, name, "is a symbolic link", err);
        else if ((info.st_mode & S_IFMT) != parts[i].type)
            done = refuse_entry(
                folder, name, parts[i].type == S_IFDIR ? "is not a folder" : "is not a file", err);
        else if (strstr(name, "-journal") && names_another(fd, name))
            done = refuse_entry(folder, name, "names another file", err);
    }
    if (fd >= 0)
        close(fd);
    return done;
}

/* ---- the schema ---- */

#define OBJECTS                                                                                    \
    "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE " \
    "'\\' ORDER BY type, name"

static bool same_text(sqlite3_stmt *a, sqlite3_stmt *b, int column)
{
    const char *x = (const char *)sqlite3_column_text(a, column);
    const char *y = (const char *)sqlite3_column_text(b, column);
    return x && y ? strcmp(x, y) == 0 : x == y;
}

/* Steps through both at once; 1 same, 0 different, -1 when SQLite fails. */
static int compare_rows(sqlite3_stmt *a, sqlite3_stmt *b)
{
    for (;;) {
        int x = sqlite3_step(a), y = sqlite3_step(b);
        if (x == SQLITE_DONE && y == SQLITE_DONE)
            return 1;
        if ((x != SQLITE_ROW && x != SQLITE_DONE) || (y != SQLITE_ROW && y != SQLITE_DONE))
            return -1;
        if (x != y)
            return 0;
        for (int column = 0; column < 4; column++)
            if (!same_text(a, b, column))
                return 0;
    }
}

/* A database in memory with the schema as it should be. */
static bool make_model(sqlite3 **model)
{
    if (sqlite3_open(":memory:", model) != SQLITE_OK)
        return false;
    for (int i = 0; i < nl_ledger_schema.version; i++)
        if (sqlite3_exec(*model, nl_ledger_schema.steps[i], NULL, NULL, NULL) != SQLITE_OK)
            return false;
    return true;
}

bool nl_ledger_schema_ours(struct nl_ledger *ledger, struct nl_err *err)
{
    sqlite3 *model = NULL;
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    int same = -1;
    if (make_model(&model) && sqlite3_prepare_v2(model, OBJECTS, -1, &ours, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(ledger->db, OBJECTS, -1, &theirs, NULL) == SQLITE_OK)
        same = compare_rows(ours, theirs);
    sqlite3_finalize(ours);
    sqlite3_finalize(theirs);
    sqlite3_close(model);
    if (same < 0)
        return nl_ledgerdb_fail(err, ledger, model ? sqlite3_errcode(ledger->db) : SQLITE_NOMEM);
    if (same)
        return true;
    nl_err_at(err, ledger->folder, -1);
    return nl_fail(err, NL_FORMAT,
                   "the tables of ledger.db are not those that this program makes; restore it, or "
                   "move it away and add the runs again");
}
