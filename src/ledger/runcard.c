/* Rows ↔ card: each list of a card is a row of `lists`. */
#define _GNU_SOURCE
#include "ledger/runcard.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "ledger/artefactwalk.h"
#include "ledger/ledgerdb.h"
#include "ledger/ledgershare.h"

#define MAX_CARD ((size_t)64 << 20)
#define HEX      "0123456789abcdef"
#define ENDING   ".json"

/* Columns of `select` are the members of a list's objects; `insert` takes the run as ?1 and them
 * from ?2 on. `joins`: they are given to a run that is there, too. */
static const struct list {
    const char *member, *select, *insert;
    bool joins;
    bool later; /* cards of older versions have none */
} lists[] = {
    {"tags", "SELECT tag, given FROM tags WHERE run = ?1 ORDER BY tag",
     "INSERT OR IGNORE INTO tags(run, tag, given) VALUES(?1, ?2, ?3)", true, false},
    {"notes", "SELECT made_ns, start_ns, end_ns, text FROM notes WHERE run = ?1 ORDER BY note",
     "INSERT INTO notes(run, made_ns, start_ns, end_ns, text) SELECT ?1, ?2, ?3, ?4, ?5 "
     "WHERE NOT EXISTS (SELECT 1 FROM notes WHERE run = ?1 AND made_ns = ?2 AND text = ?5)",
     true, false},
    {"provenance", "SELECT made_ns, command, version FROM provenance WHERE run = ?1 ORDER BY event",
     "INSERT INTO provenance(run, made_ns, command, version) SELECT ?1, ?2, ?3, ?4 "
     "WHERE NOT EXISTS (SELECT 1 FROM provenance WHERE run = ?1 AND made_ns = ?2)",
     true, false},
    {"settings", "SELECT key, value, origin FROM settings WHERE run = ?1 ORDER BY key",
     "INSERT OR REPLACE INTO settings(run, key, value, origin) VALUES(?1, ?2, ?3, ?4)", false,
     false},
    {"sources",
     "SELECT ordinal, name, sha256, bytes, path FROM sources WHERE run = ?1 "
     "ORDER BY ordinal",
     "INSERT OR REPLACE INTO sources(run, ordinal, name, sha256, bytes, path) "
     "VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
     false, false},
    {"artefacts",
     "SELECT role, ordinal, sha256, bytes FROM artefacts WHERE run = ?1 "
     "ORDER BY role, ordinal",
     "INSERT OR REPLACE INTO artefacts(run, role, ordinal, sha256, bytes) "
     "VALUES(?1, ?2, ?3, ?4, ?5)",
     false, false},
    {"findings",
     "SELECT ordinal, id, cause, severity, title, confidence, cost_ns, cost_share "
     "FROM findings WHERE run = ?1 ORDER BY ordinal",
     "INSERT OR REPLACE INTO findings(run, ordinal, id, cause, severity, title, confidence, "
     "cost_ns, cost_share) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
     false, false},
    /* As it was found when the run was added: what came before it is not what there is later. */
    {"histories", "SELECT runs, workload, host, season FROM histories WHERE run = ?1",
     "INSERT OR REPLACE INTO histories(run, runs, workload, host, season) VALUES(?1, ?2, ?3, ?4, "
     "?5)",
     false, true},
    {"anomalies",
     "SELECT ordinal, metric, value, usual, spread, change_share, z FROM anomalies "
     "WHERE run = ?1 ORDER BY ordinal",
     "INSERT OR REPLACE INTO anomalies(run, ordinal, metric, value, usual, spread, change_share, "
     "z) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
     false, true},
};
#define LISTS (sizeof lists / sizeof lists[0])

/* ---- rows → card ---- */

static json_t *cell(sqlite3_stmt *rows, int column)
{
    switch (sqlite3_column_type(rows, column)) {
    case SQLITE_INTEGER: return json_integer(sqlite3_column_int64(rows, column));
    case SQLITE_FLOAT: return json_real(sqlite3_column_double(rows, column));
    case SQLITE_TEXT:
        return json_stringn((const char *)sqlite3_column_text(rows, column),
                            (size_t)sqlite3_column_bytes(rows, column));
    default: return json_null();
    }
}

/* Members that are no UTF-8 cannot be written; they become null. */
static void put_cells(json_t *object, sqlite3_stmt *rows)
{
    for (int i = 0; i < sqlite3_column_count(rows); i++) {
        json_t *value = cell(rows, i);
        json_object_set_new(object, sqlite3_column_name(rows, i), value ? value : json_null());
    }
}

static bool put_list(struct nl_ledger *ledger, int64_t run, const struct list *list, json_t *card,
                     struct nl_err *err)
{
    bool ok = true;
    json_t *array = json_array();
    json_object_set_new(card, list->member, array);
    sqlite3_stmt *rows = nl_ledgerdb_ask(ledger, err, list->select, "i", run);
    while (rows && nl_ledgerdb_next(err, ledger, rows, &ok)) {
        json_t *object = json_object();
        put_cells(object, rows);
        json_array_append_new(array, object);
    }
    return rows && ok;
}

json_t *nl_runcard_make(struct nl_ledger *ledger, int64_t run, struct nl_err *err)
{
    json_t *card = json_pack("{ss}", "schema", NL_CARD_SCHEMA);
    bool ok = true;
    sqlite3_stmt *rows = nl_ledgerdb_ask(
        ledger, err, "SELECT id, name, form, input, added_ns, removed_ns FROM runs WHERE run = ?1",
        "i", run);
    bool there = rows && nl_ledgerdb_next(err, ledger, rows, &ok);
    if (there) {
        put_cells(card, rows);
        sqlite3_reset(rows);
    } else if (rows && ok) {
        (void)nl_fail(err, NL_IO, "the run is no longer there");
    }
    for (size_t i = 0; there && i < LISTS; i++)
        there = put_list(ledger, run, &lists[i], card, err);
    if (there)
        return card;
    json_decref(card);
    return NULL;
}

/* ---- files ---- */

static char *path_of(const char *folder, const char *id, const char *ending)
{
    size_t room = strlen(folder) + strlen(id) + 24;
    char *path = nl_alloc(room);
    snprintf(path, room, "%s/runs%s%s%s", folder, *id ? "/" : "", id, ending);
    return path;
}

static bool is_id(const char *text)
{
    return text && strlen(text) == NL_RUNDOC_ID - 1 && strspn(text, HEX) == NL_RUNDOC_ID - 1;
}

bool nl_runcard_save(struct nl_ledger *ledger, int64_t run, struct nl_err *err)
{
    struct nl_out out;
    json_t *card = nl_runcard_make(ledger, run, err);
    if (!card)
        return false;
    char *above = path_of(ledger->folder, "", "");
    char *path = path_of(ledger->folder, json_string_value(json_object_get(card, "id")), ENDING);
    bool done = nl_make_folders(above, err) && nl_out_open(&out, path, err);
    if (done) {
        bool good =
            json_dumpf(card, out.stream, JSON_INDENT(1)) == 0 && fputc('\n', out.stream) != EOF;
        done = good && nl_out_commit(&out, err);
        if (!good)
            nl_out_abort(&out);
        else if (done)
            nl_ledger_share_path(ledger->folder, path);
    }
    json_decref(card);
    nl_free(above);
    nl_free(path);
    return done;
}

void nl_runcard_remove(const char *folder, const char *id)
{
    char *path = path_of(folder, id, ENDING);
    if (is_id(id))
        unlink(path);
    nl_free(path);
}

void nl_runcard_sync(const char *folder)
{
    char *path = path_of(folder, "", "");
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        (void)fsync(fd);
        close(fd);
    }
    nl_free(path);
}

json_t *nl_runcard_read(const char *folder, const char *id, struct nl_err *err)
{
    struct nl_map map;
    json_error_t wrong;
    json_t *card = NULL;
    char *path = path_of(folder, id, ENDING);
    if (nl_map_open(&map, path, err)) {
        if (map.size && map.size <= MAX_CARD)
            card = json_loadb((const char *)map.bytes, map.size, JSON_REJECT_DUPLICATES, &wrong);
        nl_err_at(err, path, -1);
        bool good = card && nl_runcard_check(card, err) &&
                    strcmp(json_string_value(json_object_get(card, "id")), id) == 0;
        if (!good) {
            json_decref(card);
            card = NULL;
            (void)nl_fail(err, NL_FORMAT, "this card of a run is damaged");
        }
        nl_map_close(&map);
    }
    nl_free(path);
    return card;
}

bool nl_runcard_walk(const char *folder, nl_runcard_see *see, void *context, struct nl_err *err)
{
    char *path = path_of(folder, "", ""), id[NL_RUNDOC_ID];
    DIR *cards = opendir(path);
    struct dirent *entry;
    bool done = true;
    nl_free(path);
    while (done && cards && (entry = readdir(cards))) {
        snprintf(id, sizeof id, "%.32s", entry->d_name);
        if (is_id(id) && strcmp(entry->d_name + NL_RUNDOC_ID - 1, ENDING) == 0)
            done = see(context, id, err);
    }
    if (cards)
        closedir(cards);
    return done;
}

/* ---- card → rows ---- */

/* Texts that become paths must be what they are meant to be: a card may
 * have been written by others. */
static bool is_safe(const char *key, const json_t *value)
{
    const char *text = json_string_value(value);
    if (strcmp(key, "sha256") == 0 || strcmp(key, "input") == 0)
        return text && nl_digest_is_text(text);
    if (strcmp(key, "id") == 0)
        return text != NULL || json_is_null(value);
    return !json_is_object(value) && !json_is_array(value);
}

static bool check_object(const json_t *object)
{
    const char *key;
    json_t *value;
    bool good = json_is_object(object);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) good = good && is_safe(key, value);
    return good;
}

static bool check_list(const json_t *card, const char *member)
{
    const json_t *array = json_object_get(card, member);
    bool good = json_is_array(array);
    for (size_t i = 0; good && i < json_array_size(array); i++)
        good = check_object(json_array_get(array, i));
    return good;
}

/* Names of sources are names of files, without a folder. */
static bool check_names(const json_t *card)
{
    const json_t *sources = json_object_get(card, "sources");
    for (size_t i = 0; i < json_array_size(sources); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(sources, i), "name"));
        if (!name || !*name || strchr(name, '/') || strcmp(name, ".") == 0 ||
            strcmp(name, "..") == 0)
            return false;
    }
    return true;
}

bool nl_runcard_check(const json_t *card, struct nl_err *err)
{
    static const char *const texts[] = {"schema", "id", "name", "form", "input"};
    bool good = json_is_object(card);
    for (size_t i = 0; good && i < sizeof texts / sizeof texts[0]; i++)
        good = json_is_string(json_object_get(card, texts[i]));
    good = good &&
           strcmp(json_string_value(json_object_get(card, "schema")), NL_CARD_SCHEMA) == 0 &&
           is_id(json_string_value(json_object_get(card, "id"))) &&
           is_safe("input", json_object_get(card, "input")) &&
           json_is_integer(json_object_get(card, "added_ns"));
    for (size_t i = 0; good && i < LISTS; i++)
        good = (lists[i].later && !json_object_get(card, lists[i].member)) ||
               check_list(card, lists[i].member);
    return (good && check_names(card)) || nl_fail(err, NL_FORMAT, "this is not the card of a run");
}

static void bind_value(sqlite3_stmt *statement, int place, const json_t *value)
{
    if (json_is_integer(value))
        sqlite3_bind_int64(statement, place, json_integer_value(value));
    else if (json_is_real(value))
        sqlite3_bind_double(statement, place, json_real_value(value));
    else if (json_is_string(value))
        sqlite3_bind_text(statement, place, json_string_value(value),
                          (int)json_string_length(value), SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(statement, place);
}

static bool apply_list(struct nl_ledger *ledger, int64_t run, const struct list *list,
                       const json_t *card, struct nl_err *err)
{
    bool ok = true;
    const json_t *array = json_object_get(card, list->member);
    sqlite3_stmt *names = nl_ledgerdb_ask(ledger, err, list->select, "i", run);
    for (size_t i = 0; names && ok && i < json_array_size(array); i++) {
        const json_t *object = json_array_get(array, i);
        sqlite3_stmt *insert = nl_ledgerdb_ask(ledger, err, list->insert, "i", run);
        if (!insert)
            return false;
        for (int column = 0; column < sqlite3_column_count(names); column++)
            bind_value(insert, column + 2,
                       json_object_get(object, sqlite3_column_name(names, column)));
        while (nl_ledgerdb_next(err, ledger, insert, &ok))
            ;
    }
    return names && ok;
}

static const char *card_text(const json_t *card, const char *member)
{
    return json_string_value(json_object_get(card, member));
}

bool nl_runcard_apply(struct nl_ledger *ledger, const json_t *card, int64_t *run,
                      struct nl_err *err)
{
    const json_t *removed = json_object_get(card, "removed_ns");
    bool done = nl_ledgerdb_do(
        ledger, err,
        "INSERT INTO runs(id, name, form, input, added_ns, removed_ns, run) "
        "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        "ttttiii", card_text(card, "id"), card_text(card, "name"), card_text(card, "form"),
        card_text(card, "input"), (int64_t)json_integer_value(json_object_get(card, "added_ns")),
        json_is_integer(removed) ? (int64_t)json_integer_value(removed) : INT64_MIN,
        *run ? *run : INT64_MIN);
    *run = sqlite3_last_insert_rowid(ledger->db);
    for (size_t i = 0; done && i < LISTS; i++)
        done = apply_list(ledger, *run, &lists[i], card, err);
    return done;
}

bool nl_runcard_join(struct nl_ledger *ledger, const json_t *card, int64_t run, struct nl_err *err)
{
    bool done = true;
    for (size_t i = 0; done && i < LISTS; i++)
        if (lists[i].joins)
            done = apply_list(ledger, run, &lists[i], card, err);
    return done;
}
