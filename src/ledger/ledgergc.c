/* The sweep: first the trash, then artefacts by what the rows say. */
#define _GNU_SOURCE
#include "ledger/ledgergc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledgerdb.h"
#include "ledger/runcard.h"

#define AT_A_TIME 256 /* artefacts per transaction, so that writers need not wait long */

struct broom {
    struct nl_ledger *ledger;
    const struct nl_ledger_sweep_options *options;
    struct nl_ledger_sweep *sweep;
    int64_t now_s;
    unsigned looked; /* since the transaction began */
};

enum standing { NEEDED, RELEASED, ORPHAN };

/* In a dry sweep the trash is still full: what only runs in it need counts as released. */
static bool standing_of(struct broom *broom, const char *sha256, enum standing *standing,
                        struct nl_err *err)
{
    int64_t needed, released;
    if (!nl_ledgerdb_number(broom->ledger, &needed, 0, err,
                            "SELECT EXISTS (SELECT 1 FROM artefacts JOIN runs USING (run) "
                            "WHERE sha256 = ?1 AND removed_ns IS NULL)",
                            "t", sha256) ||
        !nl_ledgerdb_number(broom->ledger, &released, 0, err,
                            "SELECT EXISTS (SELECT 1 FROM released WHERE sha256 = ?1) OR "
                            "EXISTS (SELECT 1 FROM artefacts WHERE sha256 = ?1)",
                            "t", sha256))
        return false;
    *standing = needed ? NEEDED : released ? RELEASED : ORPHAN;
    return true;
}

static bool remove_artefact(struct broom *broom, const struct nl_artefact_file *file,
                            struct nl_err *err)
{
    if (broom->options->dry)
        return true;
    return unlinkat(file->folder, file->name, 0) != 0 ||
           nl_ledgerdb_do(broom->ledger, err, "DELETE FROM released WHERE sha256 = ?1", "t",
                          file->sha256);
}

/* Lets waiting writers in now and then. */
static bool breathe(struct broom *broom, struct nl_err *err)
{
    if (broom->options->dry || ++broom->looked % AT_A_TIME)
        return true;
    return nl_ledgerdb_end(broom->ledger, true, err) && nl_ledgerdb_begin(broom->ledger, err);
}

static bool sweep_artefact(void *context, const struct nl_artefact_file *file, struct nl_err *err)
{
    struct broom *broom = context;
    uint64_t bytes = (uint64_t)file->info.st_size;
    enum standing standing;
    if (!breathe(broom, err) || !standing_of(broom, file->sha256, &standing, err))
        return false;
    bool young = broom->now_s - (int64_t)file->info.st_mtim.tv_sec < NL_LEDGER_GRACE_S;
    if (standing == RELEASED || (standing == ORPHAN && broom->options->orphans && !young)) {
        broom->sweep->artefacts++;
        broom->sweep->artefact_bytes += bytes;
        return remove_artefact(broom, file, err);
    }
    broom->sweep->kept++;
    broom->sweep->kept_bytes += bytes;
    if (standing == ORPHAN && !young) {
        broom->sweep->orphans++;
        broom->sweep->orphan_bytes += bytes;
    }
    return true;
}

/* new.XXXXXX, and the trace file's own temporary new.XXXXXX.YYYYYY. */
static void sweep_temporary(struct broom *broom, int folder, const char *name)
{
    struct stat info;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode) ||
        broom->now_s - (int64_t)info.st_mtim.tv_sec < NL_LEDGER_GRACE_S)
        return;
    if (broom->options->dry || unlinkat(folder, name, 0) == 0) {
        broom->sweep->artefacts++;
        broom->sweep->artefact_bytes += (uint64_t)info.st_size;
    }
}

static void sweep_temporaries(struct broom *broom)
{
    size_t room = strlen(broom->ledger->folder) + 16;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/artefacts", broom->ledger->folder);
    DIR *folder = opendir(path);
    nl_free(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, "new.", 4) == 0)
            sweep_temporary(broom, dirfd(folder), entry->d_name);
    if (folder)
        closedir(folder);
}

/* Their cards go first, and for good: what is left of a lost ledger must not bring them back, and a
 * card that comes back when power is lost would miss its artefacts. */
static bool remove_cards(struct nl_ledger *ledger, struct nl_err *err)
{
    bool ok = true, some = false;
    sqlite3_stmt *rows =
        nl_ledgerdb_ask(ledger, err, "SELECT id FROM runs WHERE removed_ns IS NOT NULL", "");
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        nl_runcard_remove(ledger->folder, (const char *)sqlite3_column_text(rows, 0));
        some = true;
    }
    if (some)
        nl_runcard_sync(ledger->folder);
    return rows && ok;
}

/* Remembers what the runs in the trash keep, then lets go of them. Rows go before artefacts: a run
 * that can be taken back from the trash is whole at any moment. */
static bool empty_trash(struct nl_ledger *ledger, struct nl_err *err)
{
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    bool done = remove_cards(ledger, err) &&
                nl_ledgerdb_do(ledger, err,
                               "INSERT OR IGNORE INTO released SELECT sha256 FROM artefacts "
                               "JOIN runs USING (run) WHERE removed_ns IS NOT NULL",
                               "") &&
                nl_ledgerdb_do(ledger, err, "DELETE FROM runs WHERE removed_ns IS NOT NULL", "");
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_ledger_sweep(struct nl_ledger *ledger, const struct nl_ledger_sweep_options *options,
                     struct nl_ledger_sweep *sweep, struct nl_err *err)
{
    int64_t runs;
    struct broom broom = {.ledger = ledger,
                          .options = options,
                          .sweep = sweep,
                          .now_s = nl_calendar_ns() / 1000000000};
    *sweep = (struct nl_ledger_sweep){0};
    if (!nl_ledgerdb_number(ledger, &runs, 0, err,
                            "SELECT count(*) FROM runs WHERE removed_ns IS NOT NULL", "") ||
        (!options->dry && !empty_trash(ledger, err)))
        return false;
    sweep->runs = (uint64_t)runs;
    sweep_temporaries(&broom);
    if (options->dry)
        return nl_artefact_walk(ledger->folder, sweep_artefact, &broom, err);
    return nl_ledgerdb_begin(ledger, err) &&
           nl_ledgerdb_end(ledger, nl_artefact_walk(ledger->folder, sweep_artefact, &broom, err),
                           err);
}
