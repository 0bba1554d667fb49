/* The sweep: first the bin, then artefacts by what the rows say. */
#define _GNU_SOURCE
#include "ledger/ledgergc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ledger/artefact.h"
#include "ledger/ledgerdb.h"

#define HEX        "0123456789abcdef"
#define SHA256_HEX 64
#define AT_A_TIME  256 /* artefacts per transaction, so that writers need not wait long */

struct broom {
    struct nl_ledger *ledger;
    struct nl_ledger_sweep *sweep;
    bool dry;
    int64_t now_s;
    unsigned looked; /* since the transaction began */
};

/* Does a run that stays need it? In a dry sweep the bin is still full. */
static bool is_needed(struct broom *broom, const char *sha256, bool *needed, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(broom->ledger, &count, 0, err,
                                   "SELECT count(*) FROM artefacts JOIN runs USING (run) "
                                   "WHERE sha256 = ?1 AND removed_ns IS NULL",
                                   "t", sha256);
    *needed = count > 0;
    return done;
}

/* Of runs that were in the bin: their artefacts may go at once, whatever their age. */
static bool was_binned(struct broom *broom, const char *sha256, bool *binned, struct nl_err *err)
{
    int64_t count;
    bool done = nl_ledgerdb_number(broom->ledger, &count, 0, err,
                                   "SELECT count(*) FROM doomed WHERE sha256 = ?1", "t", sha256);
    *binned = count > 0;
    return done;
}

static bool sweep_artefact(struct broom *broom, int folder, const char *name, struct nl_err *err)
{
    char sha256[NL_DIGEST_TEXT];
    struct stat info;
    bool needed, binned;
    snprintf(sha256, sizeof sha256, "%.64s", name);
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode))
        return true;
    if (!is_needed(broom, sha256, &needed, err) || !was_binned(broom, sha256, &binned, err))
        return false;
    bool young = broom->now_s - (int64_t)info.st_mtim.tv_sec < NL_LEDGER_GRACE_S;
    bool goes = !needed && (binned || !young);
    if (goes && (broom->dry || unlinkat(folder, name, 0) == 0)) {
        broom->sweep->artefacts++;
        broom->sweep->artefact_bytes += (uint64_t)info.st_size;
    } else {
        broom->sweep->kept++;
        broom->sweep->kept_bytes += (uint64_t)info.st_size;
    }
    return true;
}

/* "ab/<sha256>.zst" is ours; anything else in the folder is not touched. */
static bool is_artefact(const char *two, const char *name)
{
    return strspn(name, HEX) == SHA256_HEX && strcmp(name + SHA256_HEX, ".zst") == 0 &&
           strncmp(two, name, 2) == 0;
}

/* Lets waiting writers in now and then. */
static bool breathe(struct broom *broom, struct nl_err *err)
{
    if (broom->dry || ++broom->looked % AT_A_TIME)
        return true;
    return nl_ledgerdb_end(broom->ledger, true, err) && nl_ledgerdb_begin(broom->ledger, err);
}

static bool sweep_folder(struct broom *broom, int above, const char *two, struct nl_err *err)
{
    int fd = openat(above, two, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *folder = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    bool done = true;
    while (done && folder && (entry = readdir(folder)))
        if (is_artefact(two, entry->d_name))
            done = breathe(broom, err) && sweep_artefact(broom, fd, entry->d_name, err);
    if (folder)
        closedir(folder);
    return done;
}

/* new.XXXXXX, and the trace file's own temporary new.XXXXXX.YYYYYY. */
static void sweep_temporary(struct broom *broom, int folder, const char *name)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
        broom->now_s - (int64_t)info.st_mtim.tv_sec < NL_LEDGER_GRACE_S)
        return;
    if (broom->dry || unlinkat(folder, name, 0) == 0) {
        broom->sweep->artefacts++;
        broom->sweep->artefact_bytes += (uint64_t)info.st_size;
    }
}

static bool sweep_artefacts(struct broom *broom, struct nl_err *err)
{
    size_t room = strlen(broom->ledger->folder) + 16;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/artefacts", broom->ledger->folder);
    DIR *folder = opendir(path);
    nl_free(path);
    struct dirent *entry;
    bool done = true;
    while (done && folder && (entry = readdir(folder))) {
        const char *name = entry->d_name;
        if (strncmp(name, "new.", 4) == 0)
            sweep_temporary(broom, dirfd(folder), name);
        else if (strlen(name) == 2 && strspn(name, HEX) == 2)
            done = sweep_folder(broom, dirfd(folder), name, err);
    }
    if (folder)
        closedir(folder);
    return done;
}

/* Remembers what the runs in the bin keep, then lets go of them. Rows go before artefacts: a run that
 * can be taken back from the bin is whole at any moment. */
static bool empty_bin(struct nl_ledger *ledger, bool dry, struct nl_err *err)
{
    if (!dry && !nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = nl_ledgerdb_do(ledger, err,
                               "INSERT OR IGNORE INTO doomed SELECT sha256 FROM artefacts "
                               "JOIN runs USING (run) WHERE removed_ns IS NOT NULL",
                               "");
    if (dry)
        return done;
    done = done && nl_ledgerdb_do(ledger, err, "DELETE FROM runs WHERE removed_ns IS NOT NULL", "");
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_ledger_sweep(struct nl_ledger *ledger, bool dry, struct nl_ledger_sweep *sweep,
                     struct nl_err *err)
{
    int64_t binned;
    struct broom broom = {
        .ledger = ledger, .sweep = sweep, .dry = dry, .now_s = nl_ledger_now_ns() / 1000000000};
    *sweep = (struct nl_ledger_sweep){0};
    if (!nl_ledgerdb_number(ledger, &binned, 0, err,
                            "SELECT count(*) FROM runs WHERE removed_ns IS NOT NULL", "") ||
        !nl_ledgerdb_script(
            ledger, "CREATE TEMP TABLE IF NOT EXISTS doomed(sha256 TEXT PRIMARY KEY)", err) ||
        !empty_bin(ledger, dry, err))
        return false;
    sweep->runs = (uint64_t)binned;
    if (dry)
        return sweep_artefacts(&broom, err);
    return nl_ledgerdb_begin(ledger, err) &&
           nl_ledgerdb_end(ledger, sweep_artefacts(&broom, err), err);
}
