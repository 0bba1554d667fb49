/*
 * The ledger's tables, as steps from one schema version to the next. A step is never changed once a
 * program with it was handed out: what comes later is a new step, so that every older ledger goes
 * the same way. PRAGMA user_version holds the version, application_id says the file is ours.
 */
#include "ledger/ledgerschema.h"

#define APPLICATION_ID 0x4e4c656e /* "NLen" */

static const char *const steps[] = {
    /* 0 → 1 */
    "CREATE TABLE runs("
    "  run INTEGER PRIMARY KEY AUTOINCREMENT," /* order of adding; never used again */
    "  id TEXT NOT NULL UNIQUE CHECK(length(id) = 32),"
    "  name TEXT NOT NULL," /* the file, or the first of how many */
    "  form TEXT NOT NULL CHECK(form IN ('profile', 'document'))," /* as which it came */
    "  input TEXT NOT NULL," /* SHA-256 over all files of the word that was added */
    "  added_ns INTEGER NOT NULL,"
    "  removed_ns INTEGER);" /* when it went to the trash; NULL = it did not */
    "CREATE INDEX runs_by_input ON runs(input);"
    "CREATE INDEX runs_in_bin ON runs(removed_ns) WHERE removed_ns IS NOT NULL;"
    /* Names of facts are few and facts are many. */
    "CREATE TABLE keys(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, unit TEXT);"
    /* Metadata and metrics: every single value of the document by its dotted place. Numbers stand
     * in `number`, exact for integers; everything stands in `text`. */
    "CREATE TABLE facts("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  key INTEGER NOT NULL REFERENCES keys,"
    "  number, text TEXT NOT NULL,"
    "  PRIMARY KEY(run, key)) WITHOUT ROWID;"
    "CREATE INDEX facts_by_number ON facts(key, number, run) WHERE number IS NOT NULL;"
    "CREATE INDEX facts_by_text ON facts(key, text, run);"
    /* What a person said, in addition to what the file says. */
    "CREATE TABLE settings("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  key TEXT NOT NULL, value TEXT NOT NULL, origin TEXT NOT NULL,"
    "  PRIMARY KEY(run, key)) WITHOUT ROWID;"
    "CREATE TABLE tags("
    "  tag TEXT NOT NULL, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  PRIMARY KEY(tag, run)) WITHOUT ROWID;"
    "CREATE INDEX tags_by_run ON tags(run);"
    "CREATE TABLE notes("
    "  note INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  made_ns INTEGER NOT NULL, start_ns INTEGER, end_ns INTEGER, text TEXT NOT NULL);"
    "CREATE INDEX notes_by_run ON notes(run);"
    "CREATE TABLE steps("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  ordinal INTEGER NOT NULL, rank INTEGER, number INTEGER, name TEXT, phase TEXT,"
    "  start_ns INTEGER, dur_ns INTEGER, PRIMARY KEY(run, ordinal)) WITHOUT ROWID;"
    "CREATE TABLE ops("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  ordinal INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT, count INTEGER, total_ns INTEGER,"
    "  mean_ns, p50_ns, PRIMARY KEY(run, ordinal)) WITHOUT ROWID;"
    "CREATE INDEX ops_by_name ON ops(name, run);"
    "CREATE TABLE findings("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  ordinal INTEGER NOT NULL, id TEXT, cause TEXT, severity TEXT, title TEXT,"
    "  confidence, cost_ns INTEGER, cost_share, PRIMARY KEY(run, ordinal)) WITHOUT ROWID;"
    "CREATE INDEX findings_by_cause ON findings(cause, run);"
    "CREATE TABLE sources("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  ordinal INTEGER NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL,"
    "  path TEXT, PRIMARY KEY(run, ordinal)) WITHOUT ROWID;" /* where it was when it was added */
    "CREATE TABLE artefacts("
    "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  role TEXT NOT NULL, ordinal INTEGER NOT NULL, sha256 TEXT NOT NULL, bytes INTEGER NOT NULL,"
    "  PRIMARY KEY(run, role, ordinal)) WITHOUT ROWID;"
    "CREATE INDEX artefacts_by_content ON artefacts(sha256);"
    /* What was done to the run, when, by which command of which program. */
    "CREATE TABLE provenance("
    "  event INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
    "  made_ns INTEGER NOT NULL, command TEXT NOT NULL, version TEXT NOT NULL);"
    "CREATE INDEX provenance_by_run ON provenance(run);",
    /* 1 → 2 */
    "CREATE TABLE fingerprints("
    "  run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,"
    "  form INTEGER NOT NULL," /* the way it was made and packed */
    "  items BLOB NOT NULL,"   /* what is compared; before the names, so that these are not read */
    "  names BLOB NOT NULL);",
    /* 2 → 3 */
    /* Of several runs with one tag the tag means the one that it was given last. */
    ("ALTER TABLE tags ADD COLUMN given INTEGER NOT NULL DEFAULT 0;"
     /* Artefacts that a command let go of: gc removes these and no others. */
     "CREATE TABLE released(sha256 TEXT PRIMARY KEY) WITHOUT ROWID;"),
    /* 3 → 4 */
    /* How many earlier runs of its workload and host a run was compared with (runhistory.h), */
    ("CREATE TABLE histories("
     "  run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,"
     "  runs INTEGER NOT NULL, workload TEXT, host TEXT);"
     /* and what was unusual (runanomaly.h): the median of those and how they spread. */
     "CREATE TABLE anomalies("
     "  run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,"
     "  ordinal INTEGER NOT NULL, metric TEXT NOT NULL, value, usual, spread, change_share, z,"
     "  PRIMARY KEY(run, ordinal)) WITHOUT ROWID;"
     "CREATE INDEX anomalies_by_metric ON anomalies(metric, run);"),
    /* 4 → 5 */
    /* What the earlier runs have in common besides (runseason.h). */
    "ALTER TABLE histories ADD COLUMN season TEXT;",
    /* 5 → 6 */
    /* What machines were measured to do at most (roofkeep.h); not of a run. */
    "CREATE TABLE roofs("
    "  host TEXT NOT NULL, cpu TEXT NOT NULL, processors INTEGER NOT NULL," /* '' and 0 unknown */
    "  device TEXT NOT NULL," /* product of a GPU; '' the processors */
    "  type TEXT NOT NULL, threads INTEGER NOT NULL, flops_per_s, bytes_per_s, made_with TEXT,"
    "  measured_ns INTEGER NOT NULL,"
    "  PRIMARY KEY(host, cpu, processors, device, type, threads)) WITHOUT ROWID;",
};

const struct nl_ledger_schema nl_ledger_schema = {steps, sizeof steps / sizeof *steps};

static bool version_of(struct nl_ledger *ledger, int64_t *version, int64_t *application,
                       struct nl_err *err)
{
    return nl_ledgerdb_number(ledger, version, 0, err, "PRAGMA user_version", "") &&
           nl_ledgerdb_number(ledger, application, 0, err, "PRAGMA application_id", "");
}

/* Ours and of a version this program knows? */
static bool check(struct nl_ledger *ledger, int newest, int64_t *version, struct nl_err *err)
{
    int64_t application, tables;
    if (!version_of(ledger, version, &application, err) ||
        !nl_ledgerdb_number(ledger, &tables, 0, err, "SELECT count(*) FROM sqlite_schema", ""))
        return false;
    if (application != APPLICATION_ID && (application || tables)) {
        nl_err_at(err, ledger->folder, -1);
        return nl_fail(err, NL_FORMAT,
                       "ledger.db is another program's database; move it away or "
                       "choose another folder with --ledger");
    }
    if (*version > newest) {
        nl_err_at(err, ledger->folder, -1);
        return nl_fail(
            err, NL_ENVIRONMENT,
            "this ledger is of a newer NeuroLens (its schema is %lld, this program knows "
            "%d); update NeuroLens, or choose another ledger with --ledger",
            (long long)*version, newest);
    }
    return true;
}

/* All steps in one transaction: a ledger is never between two versions. */
static bool climb(struct nl_ledger *ledger, const struct nl_ledger_schema *schema,
                  struct nl_err *err)
{
    int64_t version;
    if (!nl_ledgerdb_begin(ledger, err))
        return false;
    /* Somebody else may have been here while we waited. */
    bool done = check(ledger, schema->version, &version, err);
    char stamp[96];
    sqlite3_snprintf(sizeof stamp, stamp, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                     APPLICATION_ID, schema->version);
    for (int64_t i = version; done && i < schema->version; i++)
        done = nl_ledgerdb_script(ledger, schema->steps[i], err);
    done = done && nl_ledgerdb_script(ledger, stamp, err);
    return nl_ledgerdb_end(ledger, done, err);
}

bool nl_ledger_migrate(struct nl_ledger *ledger, const struct nl_ledger_schema *schema,
                       bool writable, struct nl_err *err)
{
    int64_t version;
    /* Of one moment: another process may make the tables between two questions. */
    if (!nl_ledgerdb_script(ledger, "BEGIN", err))
        return false;
    bool known = check(ledger, schema->version, &version, err);
    if (!nl_ledgerdb_script(ledger, "COMMIT", known ? err : NULL) || !known)
        return false;
    if (version == schema->version)
        return true;
    if (writable)
        return climb(ledger, schema, err);
    nl_err_at(err, ledger->folder, -1);
    return nl_fail(err, NL_ENVIRONMENT,
                   "this ledger is of an older version (schema %lld, now %d) and cannot be brought "
                   "up to date without permission to write; run `neurolens ls` once as its owner",
                   (long long)version, schema->version);
}
