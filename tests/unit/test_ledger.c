/* The ledger's parts: opening and migrating, names of runs, artefacts, neurolens.yaml,
 * tags. What happens when processes die is in tests/ledger.py. */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "ledger/artefact.h"
#include "ledger/ledgerdb.h"
#include "ledger/ledgerschema.h"
#include "ledger/ledgergc.h"
#include "ledger/runedit.h"
#include "ledger/runyaml.h"

static char folder[] = "/tmp/neurolens-ledger-XXXXXX";
static struct nl_err err;

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *walk)
{
    (void)info, (void)type, (void)walk;
    return remove(path);
}

/* A fresh folder for every test. */
static const char *fresh(void)
{
    nl_err_clear(&err);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    mkdir(folder, 0700);
    return folder;
}

static void write_file(const char *name, const char *text)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static int64_t number(struct nl_ledger *ledger, const char *sql)
{
    int64_t value = -1;
    CHECK(nl_ledgerdb_number(ledger, &value, -1, &err, sql, ""));
    return value;
}

static void add_run(struct nl_ledger *ledger, const char *id, const char *tag)
{
    CHECK(nl_ledgerdb_do(ledger, &err,
                         "INSERT INTO runs(id, name, form, input, added_ns) "
                         "VALUES(?1, 'x', 'profile', '', 0)",
                         "t", id));
    int64_t run = sqlite3_last_insert_rowid(ledger->db);
    if (tag)
        CHECK(nl_ledgerdb_do(ledger, &err, "INSERT INTO tags(tag, run) VALUES(?1, ?2)", "ti", tag,
                             run));
}

/* ---- opening, migrating ---- */

static void opens_what_is_not_there(void)
{
    struct nl_ledger *ledger = nl_ledger_open(fresh(), NL_LEDGER_READ, &err);
    REQUIRE(ledger);
    CHECK_INT(number(ledger, "SELECT count(*) FROM runs"), 0);
    nl_ledger_close(ledger);
    CHECK(!nl_ledger_exists(folder));
    /* An empty file is a database of version 0. */
    write_file("ledger.db", "");
    ledger = nl_ledger_open(folder, NL_LEDGER_READ, &err);
    REQUIRE(ledger);
    CHECK_INT(number(ledger, "PRAGMA user_version"), nl_ledger_schema.version);
    nl_ledger_close(ledger);
    write_file("ledger.db", "no database, but long enough to be looked at as one");
    CHECK(!nl_ledger_open(folder, NL_LEDGER_WRITE, &err));
    CHECK_INT(err.code, NL_FORMAT);
}

#define FIRST_STEP  "CREATE TABLE a(x); INSERT INTO a VALUES(1)"
#define SECOND_STEP "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1"
static const char *const three_steps[] = {FIRST_STEP, SECOND_STEP,
                                          "CREATE TABLE b AS SELECT y FROM a; UPDATE a SET x = 10"};
static const char *const broken_steps[] = {FIRST_STEP, SECOND_STEP,
                                           "UPDATE a SET x = 77; SELECT no_such_thing"};

/* A bare connection, without the ledger's own schema. */
static struct nl_ledger *bare(void)
{
    char path[200];
    struct nl_ledger *ledger = nl_zalloc(sizeof *ledger);
    snprintf(path, sizeof path, "%s/ledger.db", folder);
    ledger->folder = nl_strdup(folder);
    CHECK_INT(sqlite3_open(path, &ledger->db), SQLITE_OK);
    return ledger;
}

static void migrates_from_every_version(void)
{
    for (int from = 0; from <= 3; from++) {
        const struct nl_ledger_schema old = {three_steps, from}, now = {three_steps, 3};
        fresh();
        struct nl_ledger *ledger = bare();
        CHECK(nl_ledger_migrate(ledger, &old, true, &err));
        CHECK_INT(number(ledger, "PRAGMA user_version"), from);
        CHECK(nl_ledger_migrate(ledger, &now, false, &err) == (from == 3));
        CHECK_INT(err.code, from == 3 ? NL_OK : NL_ENVIRONMENT);
        CHECK(nl_ledger_migrate(ledger, &now, true, &err));
        CHECK_INT(number(ledger, "PRAGMA user_version"), 3);
        CHECK_INT(number(ledger, "SELECT x * 100 + y FROM a"), 1002);
        CHECK_INT(number(ledger, "SELECT y FROM b"), 2);
        nl_ledger_close(ledger);
    }
}

static void a_failed_step_changes_nothing(void)
{
    const struct nl_ledger_schema old = {broken_steps, 1}, now = {broken_steps, 3};
    fresh();
    struct nl_ledger *ledger = bare();
    CHECK(nl_ledger_migrate(ledger, &old, true, &err));
    CHECK(!nl_ledger_migrate(ledger, &now, true, &err));
    CHECK_INT(number(ledger, "PRAGMA user_version"), 1);
    CHECK_INT(number(ledger, "SELECT x FROM a"), 1);
    CHECK_INT(number(ledger, "SELECT count(*) FROM pragma_table_info('a')"), 1);
    nl_ledger_close(ledger);
}

static void refuses_what_is_newer_or_foreign(void)
{
    const struct nl_ledger_schema newer = {three_steps, 3}, now = {three_steps, 2};
    fresh();
    struct nl_ledger *ledger = bare();
    CHECK(nl_ledger_migrate(ledger, &newer, true, &err));
    CHECK(!nl_ledger_migrate(ledger, &now, true, &err));
    CHECK_INT(err.code, NL_ENVIRONMENT);
    nl_ledger_close(ledger);
    fresh();
    ledger = bare();
    CHECK(nl_ledgerdb_script(ledger, "CREATE TABLE mine(x)", &err));
    CHECK(!nl_ledger_migrate(ledger, &now, true, &err));
    CHECK_INT(err.code, NL_FORMAT);
    nl_ledger_close(ledger);
}

/* ---- names ---- */

static void finds_runs_by_name(void)
{
    static const struct {
        const char *word;
        int64_t run; /* 0 = none */
        enum nl_code code;
    } cases[] = {
        {"@", 4, NL_OK},
        {"@~1", 3, NL_OK},
        {"@~3", 1, NL_OK},
        {"@~4", 0, NL_IO},
        {"@~", 0, NL_USAGE},
        {"@~-1", 0, NL_USAGE},
        {"aaaaaa1", 1, NL_OK},
        {"AAAAAA2", 2, NL_OK},
        {"aaaaaa", 0, NL_USAGE}, /* two begin so */
        {"aaaaa", 0, NL_IO},     /* too short */
        {"bbbbbb", 3, NL_OK},
        {"base", 3, NL_OK}, /* two have the tag: the newer */
        {"bas", 0, NL_IO},
        {"cafebabe", 4, NL_OK}, /* a tag that looks like an id; none can be given, old ones count */
        {"bbbbbb00000000000000000000000000", 3, NL_OK},
        {"bbbbbb000000000000000000000000000", 0, NL_IO},
    };
    struct nl_ledger *ledger = nl_ledger_open(fresh(), NL_LEDGER_WRITE, &err);
    REQUIRE(ledger);
    add_run(ledger, "aaaaaa10000000000000000000000000", "base");
    add_run(ledger, "aaaaaa20000000000000000000000000", NULL);
    add_run(ledger, "bbbbbb00000000000000000000000000", "base");
    add_run(ledger, "cccccc00000000000000000000000000", "cafebabe");
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_ledger_run run = {0};
        check_case(cases[i].word);
        nl_err_clear(&err);
        bool found = nl_ledger_find(ledger, cases[i].word, false, &run, &err);
        CHECK_INT(found ? run.run : 0, cases[i].run);
        CHECK_INT(err.code, cases[i].code);
    }
    char text[NL_RUNDOC_ID];
    CHECK(nl_ledger_short_id(ledger, "aaaaaa10000000000000000000000000", text, &err));
    CHECK_TEXT(text, "aaaaaa10");
    add_run(ledger, "aaaaaa10000000000100000000000000", NULL);
    CHECK(nl_ledger_short_id(ledger, "aaaaaa10000000000000000000000000", text, &err));
    CHECK_TEXT(text, "aaaaaa10000000000"
                     "0");
    nl_ledger_close(ledger);
}

static void the_trash_hides_runs(void)
{
    struct nl_ledger_run run = {0};
    struct nl_ledger_sweep sweep;
    struct nl_ledger *ledger = nl_ledger_open(fresh(), NL_LEDGER_WRITE, &err);
    REQUIRE(ledger);
    add_run(ledger, "aaaaaa10000000000000000000000000", "base");
    CHECK(nl_ledger_find(ledger, "base", false, &run, &err));
    CHECK(nl_ledger_trash(ledger, &run, 1, false, "rm", &err));
    CHECK(!nl_ledger_find(ledger, "base", false, &run, &err));
    CHECK(nl_ledger_find(ledger, "base", true, &run, &err) && run.in_trash);
    CHECK(nl_ledger_trash(ledger, &run, 1, true, "rm --restore", &err));
    CHECK(nl_ledger_find(ledger, "@", false, &run, &err) && !run.in_trash);
    CHECK_INT(number(ledger, "SELECT count(*) FROM provenance"), 2);
    CHECK(nl_ledger_trash(ledger, &run, 1, false, "rm", &err));
    CHECK(nl_ledger_sweep(ledger, &(struct nl_ledger_sweep_options){.dry = true}, &sweep, &err));
    CHECK_INT(sweep.runs, 1);
    CHECK_INT(number(ledger, "SELECT count(*) FROM runs"), 1);
    CHECK(nl_ledger_sweep(ledger, &(struct nl_ledger_sweep_options){.dry = false}, &sweep, &err));
    CHECK_INT(number(ledger, "SELECT count(*) FROM runs"), 0);
    CHECK_INT(number(ledger, "SELECT count(*) FROM tags"), 0);
    nl_ledger_close(ledger);
}

/* ---- artefacts ---- */

static void keeps_artefacts(void)
{
    static const size_t sizes[] = {0, 1, 1000, 1 << 20, (1 << 20) + 1, 3 << 20};
    fresh();
    for (size_t i = 0; i < CHECK_LENGTH(sizes); i++) {
        struct nl_artefact artefact, again;
        struct nl_buf out;
        char *bytes = nl_alloc(sizes[i] + 1);
        for (size_t at = 0; at < sizes[i]; at++)
            bytes[at] = (char)(at * 2654435761u >> 13);
        nl_buf_init(&out, (size_t)4 << 20);
        CHECK(nl_artefact_keep_bytes(&artefact, folder, bytes, sizes[i], NULL, &err));
        CHECK(nl_artefact_keep_bytes(&again, folder, bytes, sizes[i], NULL, &err));
        CHECK_TEXT(again.sha256, artefact.sha256);
        CHECK_INT(artefact.bytes, sizes[i]);
        CHECK(nl_artefact_read(folder, artefact.sha256, &out, &err));
        CHECK_INT(out.len, sizes[i]);
        CHECK(!sizes[i] || memcmp(out.ptr, bytes, sizes[i]) == 0);
        nl_buf_release(&out);
        nl_free(bytes);
    }
}

static void refuses_damaged_artefacts(void)
{
    struct nl_artefact artefact;
    struct nl_buf out;
    fresh();
    REQUIRE(nl_artefact_keep_bytes(&artefact, folder, "some content", 12, NULL, &err));
    char *path = nl_artefact_path(folder, artefact.sha256);
    for (int at = 0; at < 20; at++) {
        FILE *file = fopen(path, "r+");
        fseek(file, at, SEEK_SET);
        int old = getc(file);
        fseek(file, at, SEEK_SET);
        putc(old ^ 0x55, file);
        fclose(file);
        nl_buf_init(&out, 1 << 20);
        nl_err_clear(&err);
        bool read = nl_artefact_read(folder, artefact.sha256, &out, &err);
        CHECK(!read || (out.len == 12 && memcmp(out.ptr, "some content", 12) == 0));
        CHECK(read || err.text[0]);
        nl_buf_release(&out);
        file = fopen(path, "r+");
        fseek(file, at, SEEK_SET);
        putc(old, file);
        fclose(file);
    }
    unlink(path);
    nl_buf_init(&out, 1 << 20);
    CHECK(!nl_artefact_read(folder, artefact.sha256, &out, &err));
    CHECK_INT(err.code, NL_IO);
    CHECK(!nl_artefact_touch(folder, artefact.sha256));
    nl_buf_release(&out);
    nl_free(path);
}

/* What belongs to no run stays unless it is asked for by name; young ones stay in any case:
 * somebody may be about to write their rows. */
static void sweeps_old_artefacts_only(void)
{
    struct nl_artefact old, young;
    struct nl_ledger_sweep sweep;
    struct nl_ledger *ledger = nl_ledger_open(fresh(), NL_LEDGER_WRITE, &err);
    REQUIRE(ledger);
    CHECK(nl_artefact_keep_bytes(&old, folder, "old", 3, NULL, &err));
    CHECK(nl_artefact_keep_bytes(&young, folder, "young", 5, NULL, &err));
    char *path = nl_artefact_path(folder, old.sha256);
    struct timespec times[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    utimensat(AT_FDCWD, path, times, 0);
    write_file("artefacts/mine.txt", "not the ledger's");
    CHECK(nl_ledger_sweep(ledger, &(struct nl_ledger_sweep_options){.dry = false}, &sweep, &err));
    CHECK_INT(sweep.artefacts, 0);
    CHECK_INT(sweep.orphans, 1);
    CHECK(
        nl_ledger_sweep(ledger, &(struct nl_ledger_sweep_options){.orphans = true}, &sweep, &err));
    CHECK_INT(sweep.artefacts, 1);
    CHECK_INT(sweep.kept, 1);
    CHECK(access(path, F_OK) != 0);
    CHECK(nl_artefact_touch(folder, young.sha256));
    nl_free(path);
    nl_ledger_close(ledger);
}

/* ---- neurolens.yaml ---- */

static void reads_yaml(void)
{
    static const struct {
        const char *text, *wanted; /* "key=value;…", or what the error contains */
        enum nl_code code;
    } cases[] = {
        {"", "", NL_OK},
        {"# nothing\n", "", NL_OK},
        {"workload.batch_size: 32\n", "workload.batch_size=32;", NL_OK},
        {"workload:\n  batch_size: 32\n  model: 'a b'\nrun: {name: x}\n",
         "workload.batch_size=32;workload.model=a b;run.name=x;", NL_OK},
        {"workload.model: ~\nworkload.task:\n", "workload.model=null;workload.task=null;", NL_OK},
        {"workload.model: a\nworkload: {model: b}\n", "line 2: this name was given", NL_FORMAT},
        {"workload:\n  batch_size: many\n", "line 2: workload.batch_size", NL_FORMAT},
        {"- a\n", "line 1: a list", NL_FORMAT},
        {"just text\n", "line 1: NAME: VALUE", NL_FORMAT},
        {"workload.model: a\n---\nworkload.task: b\n", "line 2: only one document", NL_FORMAT},
        {"run.name: &a b\nworkload.model: *a\n", "line 2: aliases", NL_FORMAT},
        {"a: {b: {c: {d: {e: {f: {g: {h: {i: 1}}}}}}}}\n", "line 1: mappings are nested",
         NL_FORMAT},
        {"\"unclosed\n", "no YAML", NL_FORMAT},
        {"\x01\x02\xff", "no YAML", NL_FORMAT},
        {"{a: b}: c\n", "line 1: ", NL_FORMAT},
    };
    char path[200];
    fresh();
    snprintf(path, sizeof path, "%s/neurolens.yaml", folder);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_runyaml yaml;
        char got[400] = "";
        check_case(cases[i].text);
        write_file("neurolens.yaml", cases[i].text);
        nl_err_clear(&err);
        bool read = nl_runyaml_read(&yaml, path, &err);
        CHECK_INT(err.code, cases[i].code);
        for (size_t k = 0; read && k < yaml.count; k++)
            snprintf(got + strlen(got), sizeof got - strlen(got), "%s=%s;", yaml.items[k].key,
                     yaml.items[k].value);
        if (read)
            CHECK_TEXT(got, cases[i].wanted);
        else if (!strstr(err.text, cases[i].wanted))
            CHECK_TEXT(err.text, cases[i].wanted);
        nl_runyaml_release(&yaml);
    }
    unlink(path);
    struct nl_runyaml none;
    CHECK(nl_runyaml_read(&none, path, &err) && none.count == 0);
    nl_runyaml_release(&none);
}

static void checks_tags(void)
{
    static const struct {
        const char *tag;
        bool fits;
    } cases[] = {{"baseline", true}, {"v1.2+x:y_z-1", true},
                 {"", false},        {"1st", true},
                 {"a b", false},     {"@x", false},
                 {"abcdef", false},  {"abcde", true},
                 {"a/b", true},      {"fee1deadg", true},
                 {"a/", false},      {"/a", false},
                 {"a..b", false},    {"gr\xc3\xb6\xc3\x9f", true},
                 {"\xff", false}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].tag);
        CHECK(nl_ledger_tag_check(cases[i].tag, &err) == cases[i].fits);
    }
    char tag[103];
    memset(tag, 'x', 102);
    tag[100] = '\0';
    CHECK(nl_ledger_tag_check(tag, &err));
    tag[100] = 'x';
    tag[101] = '\0';
    CHECK(!nl_ledger_tag_check(tag, &err));
}

/* A run that another command removed after it was looked up, its number taken by another one. */
static void tells_of_runs_that_went(void)
{
    static const char *const tags[] = {"x"};
    struct nl_ledger_run run;
    struct nl_tag_change change;
    struct nl_ledger *ledger = nl_ledger_open(fresh(), NL_LEDGER_WRITE, &err);
    REQUIRE(ledger);
    add_run(ledger, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL);
    REQUIRE(nl_ledger_find(ledger, "@", false, &run, &err));
    CHECK(nl_ledgerdb_do(ledger, &err, "DELETE FROM runs", ""));
    for (int again = 0; again < 2; again++) {
        CHECK(!nl_ledger_trash(ledger, &run, 1, false, "test", &err));
        CHECK_INT(err.code, NL_IO);
        nl_err_clear(&err);
        CHECK(!nl_ledger_tag(ledger, &run, tags, 1, NL_TAG_ADD, "test", &change, &err));
        CHECK_INT(err.code, NL_IO);
        nl_err_clear(&err);
        CHECK(!nl_ledger_note(ledger, &run, "text", 0, 0, "test", &err));
        CHECK_INT(err.code, NL_IO);
        nl_err_clear(&err);
        if (!again)
            add_run(ledger, "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", NULL);
    }
    nl_ledger_close(ledger);
}

static void refuses_names_that_lead_elsewhere(void)
{
    static const char *const bad[] = {"", ".", "..", "/", "a/b", "../x"};
    for (size_t i = 0; i < CHECK_LENGTH(bad); i++)
        CHECK(!nl_file_is_name(bad[i]));
    CHECK(!nl_file_is_name(NULL) && nl_file_is_name("...") && nl_file_is_name("rank 0.json"));
    const char *digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    CHECK(nl_digest_is_text(digest) && !nl_digest_is_text(digest + 1) && !nl_digest_is_text(NULL));
    CHECK(!nl_digest_is_text("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"));
    CHECK(!nl_digest_is_text("../3456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0"));
    CHECK(!nl_digest_is_text("0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef"));
}

static int in_a_folder(int argc, char **argv)
{
    static const struct check_test tests[] = {
        {"opens what is not there", opens_what_is_not_there},
        {"migrates from every version", migrates_from_every_version},
        {"a failed step changes nothing", a_failed_step_changes_nothing},
        {"refuses what is newer or foreign", refuses_what_is_newer_or_foreign},
        {"finds runs by name", finds_runs_by_name},
        {"the trash hides runs", the_trash_hides_runs},
        {"keeps artefacts", keeps_artefacts},
        {"refuses damaged artefacts", refuses_damaged_artefacts},
        {"sweeps old artefacts only", sweeps_old_artefacts_only},
        {"reads yaml", reads_yaml},
        {"checks tags", checks_tags},
        {"tells of runs that went", tells_of_runs_that_went},
        {"refuses names that lead elsewhere", refuses_names_that_lead_elsewhere},
    };
    (void)check_folder;
    if (!mkdtemp(folder))
        return 1;
    int status = check_run("ledger", tests, CHECK_LENGTH(tests), argc > 1 ? argv[1] : NULL);
    nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return status;
}

CHECK_PROGRAM(in_a_folder)
