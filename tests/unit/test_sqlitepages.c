/* The page reader against SQLite itself, on sound and on damaged databases. */
#define _GNU_SOURCE
#include "check.h"
#include "nsysmake.h"

/* Rows as text, so that two readings can be compared and shown. */
struct digest {
    struct nl_buf text;
    unsigned cells;
    uint64_t rows;
};

static void digest_row(void *context, const struct sqlitepages_cell *cells)
{
    struct digest *digest = context;
    digest->rows++;
    for (unsigned i = 0; i < digest->cells; i++) {
        switch ((enum sqlitepages_type)cells[i].type) {
        case SQLITEPAGES_NULL: nl_buf_text(&digest->text, "-"); break;
        case SQLITEPAGES_INTEGER: nl_buf_format(&digest->text, "%" PRId64, cells[i].integer); break;
        case SQLITEPAGES_REAL: nl_buf_format(&digest->text, "%.17gr", cells[i].real); break;
        case SQLITEPAGES_TEXT:
        case SQLITEPAGES_BLOB:
            nl_buf_format(&digest->text, "%c%u:%016" PRIx64,
                          cells[i].type == SQLITEPAGES_TEXT ? 't' : 'b', cells[i].len,
                          nl_hash(cells[i].bytes, cells[i].len));
            break;
        }
        nl_buf_char(&digest->text, i + 1 < digest->cells ? ' ' : '\n');
    }
}

static const char *const wanted[] = {"c", "id", "missing", "a", "e", "f"};

static struct digest read_table(const char *path, enum dbfile_way way, const char *name, bool *fast)
{
    struct digest digest = {.cells = CHECK_LENGTH(wanted)};
    nl_buf_init(&digest.text, (size_t)1 << 28);
    struct dbfile db;
    struct nl_err err;
    nl_err_clear(&err);
    if (!dbfile_open(&db, path, way, &err))
        return digest;
    struct dbfile_table *table = dbfile_find(&db, name);
    if (table) {
        struct dbfile_reader *reader = nl_zalloc(sizeof *reader);
        struct sqlitepages_scratch *scratch = nl_zalloc(sizeof *scratch);
        struct sqlitepages_damage damage = {0};
        dbfile_reader_init(reader, &db, table, wanted, CHECK_LENGTH(wanted));
        dbfile_reader_all(reader, scratch, digest_row, &digest, &damage);
        *fast = table->fast;
        CHECK_INT(table->rows, digest.rows);
        sqlitepages_scratch_release(scratch);
        nl_free(scratch);
        nl_free(reader);
    }
    dbfile_close(&db);
    return digest;
}

/* Every size of integer, both constants, reals, whole reals, texts up to several overflow pages,
 * blobs, NULLs, gaps in and negative rowids. */
#define ROWS                                                                                       \
    "WITH RECURSIVE n(i) AS (SELECT -30 UNION ALL SELECT i+1 FROM n WHERE i<400) INSERT INTO t "   \
    "SELECT i*3, CASE i%9 WHEN 0 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN NULL WHEN 3 THEN -129 "          \
    "WHEN 4 THEN 40000 WHEN 5 THEN -9000000 WHEN 6 THEN 1<<40 WHEN 7 THEN -(1<<60) "               \
    "ELSE 9223372036854775807 END, "                                                               \
    "CASE i%7 WHEN 0 THEN NULL WHEN 1 THEN '' ELSE substr(hex(zeroblob(i*i)), 1, (i*37)%5000) || " \
    "'ü' END, CASE i%4 WHEN 0 THEN 3 WHEN 1 THEN 0.1*i WHEN 2 THEN NULL ELSE 1e300 END, "         \
    "CASE i%3 WHEN 0 THEN zeroblob(i*11 % 3000 + 1) ELSE -i END FROM n;"
#define COLUMNS "id INTEGER PRIMARY KEY, a INTEGER, c TEXT, e REAL, f"

static const struct {
    const char *name, *sql;
    bool fast;
    uint64_t rows;
} sound[] = {
    {"page 512", "PRAGMA page_size=512; CREATE TABLE t(" COLUMNS ");" ROWS, true, 431},
    {"page 1024", "PRAGMA page_size=1024; CREATE TABLE t(" COLUMNS ");" ROWS, true, 431},
    {"page 4096", "PRAGMA page_size=4096; CREATE TABLE t(" COLUMNS ");" ROWS, true, 431},
    {"page 65536", "PRAGMA page_size=65536; CREATE TABLE t(" COLUMNS ");" ROWS, true, 431},
    {"auto_vacuum",
     "PRAGMA page_size=1024; PRAGMA auto_vacuum=FULL; CREATE TABLE t(" COLUMNS ");" ROWS, true,
     431},
    {"deleted rows",
     "PRAGMA page_size=512; CREATE TABLE t(" COLUMNS ");" ROWS "DELETE FROM t WHERE id%5=0;", true,
     344},
    {"no rows", "CREATE TABLE t(" COLUMNS ");", true, 0},
    {"added column",
     "PRAGMA page_size=1024; CREATE TABLE t(id INTEGER PRIMARY KEY, a, c); INSERT INTO t "
     "VALUES(1,2,"
     "'x'); ALTER TABLE t ADD COLUMN e REAL; INSERT INTO t VALUES(7,8,'y',9);",
     true, 2},
    {"added column with a default",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, a, c); INSERT INTO t VALUES(1,2,'x');"
     "ALTER TABLE t ADD COLUMN e REAL DEFAULT 5;",
     false, 1},
    {"key that is not the rowid",
     "CREATE TABLE t(id INT PRIMARY KEY, a, c, e, f); INSERT INTO t VALUES(9,1,2,3,4),(3,1,2,3,4);",
     true, 2},
    {"descending key",
     "CREATE TABLE t(id INTEGER PRIMARY KEY DESC, a, c); INSERT INTO t VALUES(9,1,2),(3,4,5);",
     true, 2},
    {"without rowid",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, a, c, e, f) WITHOUT ROWID;"
     "INSERT INTO t VALUES(9,1,2,3,4),(3,1,2,3,4);",
     false, 2},
    {"generated column",
     "CREATE TABLE t(id INTEGER PRIMARY KEY, a, c AS (a+1)); INSERT INTO t(a) VALUES(5);", false,
     1},
    {"UTF-16", "PRAGMA encoding='UTF-16be'; CREATE TABLE t(" COLUMNS ");" ROWS, false, 431},
    {"two keys",
     "CREATE TABLE t(id INTEGER, a INTEGER, c, e, f, PRIMARY KEY(id, a));"
     "INSERT INTO t VALUES(9,1,2,3,4),(3,1,2,3,4);",
     true, 2},
};

static void reads_as_sqlite_does(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(sound); i++) {
        check_case(sound[i].name);
        const char *path = nsysmake("sound.sqlite", sound[i].sql);
        bool fast = false, slow = false;
        struct digest ours = read_table(path, DBFILE_FASTEST, "T", &fast);
        struct digest theirs = read_table(path, DBFILE_STEP, "t", &slow);
        CHECK_INT(fast, sound[i].fast);
        CHECK_INT(slow, false);
        CHECK_INT(ours.rows, sound[i].rows);
        CHECK(nl_str_eq((struct nl_str){ours.text.ptr, ours.text.len},
                        (struct nl_str){theirs.text.ptr, theirs.text.len}));
        nl_buf_release(&ours.text);
        nl_buf_release(&theirs.text);
    }
}

static void reserved_bytes_at_page_ends(void)
{
    const char *path = nsysmake_path("reserved.sqlite");
    sqlite3 *db;
    int reserved = 32;
    REQUIRE(sqlite3_open(path, &db) == SQLITE_OK);
    sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    REQUIRE(sqlite3_exec(db, "PRAGMA page_size=512; CREATE TABLE t(" COLUMNS ");" ROWS, NULL, NULL,
                         NULL) == SQLITE_OK);
    sqlite3_close(db);
    bool fast = false, slow = false;
    struct digest ours = read_table(path, DBFILE_FASTEST, "t", &fast);
    struct digest theirs = read_table(path, DBFILE_STEP, "t", &slow);
    struct nl_map map = nsysmake_bytes(path);
    CHECK_INT(map.bytes[20], 32);
    nl_map_close(&map);
    CHECK(fast);
    CHECK_INT(ours.rows, 431);
    CHECK(ours.text.len == theirs.text.len &&
          memcmp(ours.text.ptr, theirs.text.ptr, ours.text.len) == 0);
    nl_buf_release(&ours.text);
    nl_buf_release(&theirs.text);
}

static void refuses_what_it_cannot_read(void)
{
    unsigned char page[1024] = "SQLite format 3";
    struct sqlitepages pages;
    const char *why = NULL;
    page[16] = 4, page[21] = 64, page[22] = 32, page[23] = 32, page[47] = 4, page[59] = 1;
    CHECK(sqlitepages_open(&pages, page, sizeof page, &why));
    CHECK_INT(pages.count, 1);
    static const struct {
        const char *name;
        size_t at;
        unsigned char value;
    } wrong[] = {{"magic", 3, 'x'},     {"page size", 16, 5}, {"page size 256", 16, 1},
                 {"fractions", 22, 33}, {"UTF-16", 59, 2},    {"format 9", 47, 9}};
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        check_case(wrong[i].name);
        unsigned char changed[sizeof page];
        memcpy(changed, page, sizeof page);
        changed[wrong[i].at] = wrong[i].value;
        why = NULL;
        CHECK(!sqlitepages_open(&pages, changed, sizeof changed, &why));
        CHECK(why != NULL);
    }
    check_case("short");
    for (size_t len = 0; len < sizeof page; len += 33)
        CHECK(!sqlitepages_open(&pages, page, len, &why));
}

static void count_row(void *context, const struct sqlitepages_cell *cells)
{
    (void)cells;
    ++*(uint64_t *)context;
}

/* All rows that can be had from all tables of a database in memory, and pages
 * that were taken for leaves. */
static uint64_t rows_by(const unsigned char *bytes, size_t size, unsigned threads,
                        struct sqlitepages_damage *damage, uint64_t *taken)
{
    struct sqlitepages pages;
    const char *why;
    uint64_t rows = 0;
    if (!sqlitepages_open(&pages, bytes, size, &why))
        return 0;
    pages.threads = threads;
    uint64_t *seen = sqlitepages_seen_new(&pages);
    struct sqlitepages_scratch *scratch = nl_zalloc(sizeof *scratch);
    struct sqlitepages_plan plan = {.columns = 5, .cells = 5, .rowid_cell = -1};
    memset(plan.cell, SQLITEPAGES_SKIP, sizeof plan.cell);
    for (uint8_t i = 0; i < 5; i++)
        plan.cell[i] = i;
    struct sqlitepages_leaves leaves = {0};
    sqlitepages_leaves(&pages, 2, seen, &leaves, damage);
    *taken = leaves.rows;
    for (size_t i = 0; i < leaves.count; i++) {
        sqlitepages_read(&pages, leaves.page[i], &plan, scratch, count_row, &rows, damage);
        *taken = *taken * 31 + leaves.page[i];
    }
    for (uint32_t page = 0; page <= pages.count; page++)
        *taken = *taken * 31 + (seen[page / 64] >> page % 64 & 1);
    sqlitepages_leaves_release(&leaves);
    sqlitepages_scratch_release(scratch);
    nl_free(scratch);
    nl_free(seen);
    return rows;
}

/* However many threads look for leaves. */
static uint64_t rows_in(const unsigned char *bytes, size_t size, struct sqlitepages_damage *damage)
{
    struct sqlitepages_damage other = {0};
    uint64_t taken = 0, taken_too = 0, rows = rows_by(bytes, size, 1, damage, &taken);
    CHECK_INT(rows_by(bytes, size, 2, &other, &taken_too), rows);
    CHECK(taken == taken_too);
    CHECK(other.pages == damage->pages && other.rows == damage->rows);
    CHECK(other.what == damage->what && other.offset == damage->offset);
    return rows;
}

static void survives_cuts_and_flips(void)
{
    const char *path =
        nsysmake("cut.sqlite", "PRAGMA page_size=512; CREATE TABLE t(" COLUMNS ");" ROWS);
    struct nl_map map = nsysmake_bytes(path);
    uint64_t before = 0;
    for (size_t len = 0; len <= map.size; len += 512) {
        struct sqlitepages_damage damage = {0};
        uint64_t rows = rows_in(map.bytes, len, &damage);
        CHECK(rows <= 431 && (rows == 431) == (damage.what == NULL && len > 512));
        CHECK(!damage.what || damage.offset <= map.size);
        before = rows > before ? rows : before;
    }
    CHECK_INT(before, 431);
    unsigned char *copy = nl_alloc(map.size);
    uint64_t state = 7;
    for (int i = 0; i < check_draws(3000); i++) {
        memcpy(copy, map.bytes, map.size);
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t at = (state >> 20) % map.size;
        copy[at] ^= (unsigned char)(1 << (state >> 60 & 7));
        struct sqlitepages_damage damage = {0};
        (void)rows_in(copy, map.size, &damage);
    }
    nl_free(copy);
    nl_map_close(&map);
}

static void circles_end(void)
{
    const char *path =
        nsysmake("circle.sqlite", "PRAGMA page_size=512; CREATE TABLE t(" COLUMNS ");" ROWS);
    struct nl_map map = nsysmake_bytes(path);
    unsigned char *copy = nl_alloc(map.size);
    memcpy(copy, map.bytes, map.size);
    /* The root of `t` is page 2, an interior page: its last child becomes itself, then page 1. */
    for (unsigned char child = 2; child >= 1; child--) {
        CHECK_INT(copy[512], 5);
        memcpy(copy + 512 + 8, (unsigned char[]){0, 0, 0, child}, 4);
        struct sqlitepages_damage damage = {0};
        uint64_t rows = rows_in(copy, map.size, &damage);
        CHECK(rows < 440);
        if (child == 2) {
            CHECK_INT(damage.pages, 1);
            CHECK_INT(damage.offset, 512);
            CHECK_TEXT(damage.what, "a page is referred to twice");
        }
    }
    nl_free(copy);
    nl_map_close(&map);
}

/* Every row of a leaf claims to be as long as the file, over one chain that goes in a circle. */
static void long_chains_are_bounded(void)
{
    enum { PAGE = 4096, PAGES = 1000 };
    unsigned char *bytes = nl_zalloc((size_t)PAGE * PAGES);
    memcpy(bytes, "SQLite format 3", 16);
    bytes[16] = PAGE >> 8, bytes[21] = 64, bytes[22] = 32, bytes[23] = 32, bytes[47] = 4;
    bytes[59] = 1;
    unsigned char *leaf = bytes + PAGE;
    leaf[0] = 0x0d;
    leaf[4] = 200; /* cells, all the same */
    for (int i = 0; i < 200; i++)
        leaf[8 + 2 * i] = 0x04; /* at 1024 */
    /* payload 4,000,000 as a varint, rowid 1, a record whose header is empty; then, behind the
     * local part, the overflow page, which names itself. */
    memcpy(leaf + 1024, (unsigned char[]){0x81, 0xf4, 0x92, 0x00, 1, 1}, 6);
    for (int at = 1030; at + 4 < PAGE; at++)
        leaf[at] = at % 4 == 0 ? 3 : 0;
    memcpy(bytes + 2 * PAGE, (unsigned char[]){0, 0, 0, 3}, 4);
    struct sqlitepages_damage damage = {0};
    (void)rows_in(bytes, (size_t)PAGE * PAGES, &damage);
    CHECK(damage.rows > 0);
    nl_free(bytes);
}

CHECK_MAIN("sqlitepages", {"reads as SQLite does", reads_as_sqlite_does},
           {"reserved bytes at page ends", reserved_bytes_at_page_ends},
           {"refuses what it cannot read", refuses_what_it_cannot_read},
           {"survives cuts and flips", survives_cuts_and_flips}, {"circles end", circles_end},
           {"long chains are bounded", long_chains_are_bounded})
