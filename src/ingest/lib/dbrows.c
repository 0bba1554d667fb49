/*
 * Tables are read some leaves at a time, so that a cancelled job or a full
 * memory budget stops a big one.
 */
#include "ingest/lib/dbrows.h"

#include <stdio.h>

#include "base/utf8.h"
#include "ingest/lib/dbspool.h"

#define LEAVES 64 /* read before looking whether to stop */

/* ---- Recognition ---- */

static unsigned marks_in_head(struct nl_str head, const char *const *words, unsigned count)
{
    unsigned found = 0;
    for (unsigned i = 0; i < count; i++)
        found += nl_str_contains(head, words[i]);
    return found;
}

static unsigned marks_in_tables(const struct nl_input *input, const char *const *words,
                                unsigned count)
{
    struct dbfile db;
    unsigned found = 0;
    if (strcmp(input->path, "-") == 0 ||
        (input->encoding && strcmp(input->encoding, "plain") != 0) ||
        !dbfile_open(&db, input->path, DBFILE_FASTEST, NULL))
        return 0;
    for (unsigned i = 0; i < count; i++)
        for (size_t t = 0; t < db.count; t++)
            if (nl_str_starts(nl_str(db.tables[t].name), words[i])) {
                found++;
                break;
            }
    dbfile_close(&db);
    return found;
}

unsigned dbrows_marks(const struct nl_input *input, const char *const *words, unsigned count)
{
    if (input->head_len < 16 || memcmp(input->head, "SQLite format 3", 16) != 0)
        return 0;
    unsigned found =
        marks_in_head((struct nl_str){(const char *)input->head, input->head_len}, words, count);
    return found == count ? found : marks_in_tables(input, words, count);
}

/* ---- Opening ---- */

static bool open_file(struct dbrows *db, struct nl_job *job, struct nl_err *err)
{
    const struct nl_input *input = db->input;
    bool plain = !input->encoding || strcmp(input->encoding, "plain") == 0;
    if (plain && strcmp(input->path, "-") != 0)
        return dbfile_open(&db->db, input->path, DBFILE_FASTEST, err);
    if (!dbspool_folder(&db->folder, err))
        return false;
    struct nl_buf name;
    nl_buf_init(&name, 8192);
    nl_buf_format(&name, "%s/export.sqlite", db->folder);
    bool done = dbspool_stream(input->path, name.ptr, job, &db->cut, err) &&
                dbfile_open(&db->db, name.ptr, DBFILE_FASTEST, err);
    nl_buf_release(&name);
    return done;
}

bool dbrows_open(struct dbrows *db, const struct nl_reading *reading, struct nl_err *err)
{
    *db = (struct dbrows){.input = reading->input};
    gpurows_begin(&db->rows, reading->builder, reading->source, reading->job);
    if (!open_file(db, reading->job, err)) {
        if (db->folder)
            dbspool_remove(db->folder);
        if (err)
            nl_err_at(err, reading->input->place, err->offset);
        return false;
    }
    db->scratch = nl_zalloc(sizeof *db->scratch);
    return true;
}

static void report_count(struct dbrows *db, const char *item, uint64_t count, const char *detail)
{
    if (count > 0)
        nl_builder_coverage(db->rows.builder, db->rows.source, item, (int64_t)count, detail);
}

bool dbrows_close(struct dbrows *db, struct nl_err *err)
{
    sqlitepages_damage_merge(&db->damage, &db->db.damage);
    char place[160];
    (void)snprintf(place, sizeof place, "first at byte %llu: %s",
                   (unsigned long long)db->damage.offset, db->damage.what ? db->damage.what : "");
    report_count(db, "damaged: pages of the database", db->damage.pages, place);
    report_count(db, "damaged: rows of the database", db->damage.rows, place);
    report_count(db, "truncated: compressed data", db->cut != NULL, db->cut);
    gpurows_end(&db->rows);
    bool done = true;
    if (nl_job_cancelled(db->rows.job)) {
        done = nl_fail(err, NL_INTERRUPTED, "interrupted");
    } else if (db->read == 0 && db->damage.what) {
        nl_err_at(err, db->input->place, (int64_t)db->damage.offset);
        done = nl_fail(err, NL_FORMAT, "nothing in the database can be read: %s", db->damage.what);
    }
    sqlitepages_scratch_release(db->scratch);
    nl_free(db->scratch);
    dbfile_close(&db->db);
    if (db->folder)
        dbspool_remove(db->folder);
    *db = (struct dbrows){0};
    return done;
}

/* ---- Tables ---- */

bool dbrows_each(struct dbrows *db, const char *name, const char *const *columns,
                 sqlitepages_row_fn *row, void *context)
{
    struct dbfile_table *table = dbfile_find(&db->db, name);
    if (!table)
        return false;
    struct dbfile_reader *reader = dbfile_reader_new(&db->db, table, columns);
    if (!table->fast)
        dbfile_reader_all(reader, db->scratch, row, context, &db->damage);
    size_t leaves = table->fast ? table->leaves.count : 0;
    for (size_t first = 0; first < leaves && !gpurows_stop(&db->rows); first += LEAVES)
        dbfile_reader_leaves(reader, first, leaves - first < LEAVES ? leaves - first : LEAVES,
                             db->scratch, row, context, &db->damage);
    db->read += table->rows;
    nl_job_add(db->rows.job, table->rows);
    nl_free(reader);
    return true;
}

uint64_t dbrows_count(struct dbrows *db, const char *name)
{
    struct dbfile_table *table = dbfile_find(&db->db, name);
    return table ? table->rows : 0;
}

void dbrows_tell_others(struct dbrows *db, const char *prefix, const char *const *known)
{
    for (size_t t = 0; t < db->db.count; t++) {
        const char *name = db->db.tables[t].name;
        bool is_known = !nl_str_starts(nl_str(name), prefix);
        for (size_t i = 0; known[i] && !is_known; i++) {
            size_t len = strlen(known[i]);
            /* "rocpd_string_<uuid of the run>" is known as "rocpd_string". */
            is_known = strncmp(name, known[i], len) == 0 &&
                       (name[len] == 0 || (name[len] == '_' && strlen(name + len) > 24));
        }
        uint64_t rows = is_known ? 0 : dbrows_count(db, name);
        char item[160];
        size_t len = strlen(name), uuid = 37;
        if (len > uuid && name[len - uuid] == '_' && name[len - uuid + 9] == '_')
            len -= uuid; /* the run's id */
        (void)snprintf(item, sizeof item, "not loaded: %.*s", (int)nl_utf8_cut(name, len, 100),
                       name);
        report_count(db, item, rows, "rows of a table that this reader does not use");
    }
}

/* ---- Strings ---- */

enum { STRING_ID, STRING_TEXT };

static void keep_string(void *context, dbfile_cells cells)
{
    struct dbrows_strings *strings = context;
    struct nl_str text = dbrows_text(&cells[STRING_TEXT]);
    if (cells[STRING_ID].type != SQLITEPAGES_INTEGER || cells[STRING_TEXT].type != SQLITEPAGES_TEXT)
        return;
    uint64_t tag = strings->tag ? strings->tag(text) : 0;
    uint32_t name = nl_stage_name(strings->rows->stage, gpurows_kernel_name(text));
    (void)gpurows_map_put(&strings->map, (uint64_t)cells[STRING_ID].integer, name | tag << 32,
                          NULL);
}

void dbrows_strings_load(struct dbrows *db, struct dbrows_strings *strings, const char *table,
                         const char *id, const char *text)
{
    strings->rows = &db->rows;
    const char *const columns[] = {[STRING_ID] = id, [STRING_TEXT] = text, NULL};
    (void)dbrows_each(db, table, columns, keep_string, strings);
}

static uint64_t look_up_string(const struct dbrows_strings *strings, dbfile_cells id)
{
    const uint64_t *found = id->type == SQLITEPAGES_INTEGER
                                ? gpurows_map_find(&strings->map, (uint64_t)id->integer)
                                : NULL;
    return found ? *found : 0;
}

uint32_t dbrows_name(const struct dbrows_strings *strings, dbfile_cells id)
{
    return (uint32_t)look_up_string(strings, id);
}

uint32_t dbrows_tag(const struct dbrows_strings *strings, dbfile_cells id)
{
    return (uint32_t)(look_up_string(strings, id) >> 32);
}
