/*
 * The format row of Nsight Systems SQLite exports: recognising one, and the order of a load.
 */
#include "ingest/nsys/nsys.h"

#include <string.h>

#include "ingest/lib/dbspool.h"

/* Names that are in the first pages of every export, but in no other program's database. */
static const char *const marks[] = {"StringIds", "META_DATA_EXPORT", "EXPORT_META_DATA",
                                    "TARGET_INFO_SESSION_START_TIME", "CUPTI_ACTIVITY_KIND_"};

static int score(unsigned found, bool strings)
{
    if (found > 1)
        return strings ? 95 : 70;
    return strings ? 80 : 0;
}

/* The names are on pages beyond the head, or in a write-ahead log. */
static int sniff_tables(const struct nl_input *input, const char **why)
{
    struct dbfile db;
    unsigned found = 0;
    *why = "a SQLite file that is damaged or cut short";
    if (strcmp(input->path, "-") == 0 ||
        (input->encoding && strcmp(input->encoding, "plain") != 0) ||
        !dbfile_open(&db, input->path, DBFILE_FASTEST, NULL))
        return 0;
    bool strings = dbfile_find(&db, marks[0]) != NULL;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        for (size_t t = 0; t < db.count; t++)
            if (nl_str_starts(nl_str(db.tables[t].name), marks[i])) {
                found++;
                break;
            }
    dbfile_close(&db);
    *why = "a SQLite file without the tables of Nsight Systems";
    return score(found, strings);
}

static int nsys_sniff(const struct nl_input *input, const char **why)
{
    if (input->head_len < 16 || memcmp(input->head, "SQLite format 3", 16) != 0)
        return 0;
    struct nl_str head = {(const char *)input->head, input->head_len};
    unsigned found = 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        found += nl_str_contains(head, marks[i]);
    int sure = score(found, nl_str_contains(head, marks[0]));
    return sure ? sure : sniff_tables(input, why);
}

static void start_workers(struct nsys_load *load)
{
    load->worker_count = nl_job_threads(load->job);
    load->workers = nl_zalloc(load->worker_count * sizeof *load->workers);
    for (unsigned i = 0; i < load->worker_count; i++) {
        load->workers[i].load = load;
        load->workers[i].stage = nl_stage_new(load->builder);
    }
}

static void release_load(struct nsys_load *load)
{
    for (unsigned i = 0; i < load->worker_count; i++) {
        sqlitepages_scratch_release(&load->workers[i].scratch);
        struct nsys_chain_rows *rows = &load->workers[i].chain_rows;
        nl_free(rows->row);
        nl_free(rows->stamps);
        nl_free(rows->path);
        nl_free(load->workers[i].lanes);
        nl_lookup_release(&load->workers[i].by_key);
    }
    nl_free(load->workers);
    nsys_strings_release(&load->strings);
    struct nsys_named_list *lists[] = {&load->domains, &load->categories,  &load->nvtx_threads,
                                       &load->metrics, &load->nic_metrics, &load->contexts};
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        nl_free(lists[i]->list);
    nsys_chains_release(&load->cuda_chains);
    nsys_chains_release(&load->osrt_chains);
    nl_free(load->gpus);
    nl_free(load->fields);
    dbfile_close(&load->db);
}

/* A damaged file of which nothing at all could be had is refused rather than shown as empty. */
static bool has_something(const struct nsys_load *load, struct nl_err *err)
{
    uint64_t rows = load->strings.count;
    for (unsigned i = 0; i < load->worker_count; i++)
        rows += load->workers[i].rows;
    if (rows > 0 || !load->db.damage.what)
        return true;
    nl_err_at(err, load->input->place, (int64_t)load->db.damage.offset);
    return nl_fail(err, NL_FORMAT, "nothing in the database can be read: %s", load->db.damage.what);
}

static bool load_from(struct nsys_load *load, const char *path, enum dbfile_way way,
                      struct nl_err *err)
{
    if (!dbfile_open(&load->db, path, way, err))
        return false;
    load->db.pages.threads = nl_job_threads(load->job);
    start_workers(load);
    nl_builder_source_bytes(load->builder, load->source,
                            load->input->bytes ? load->input->bytes : load->db.map.size);
    nsys_info_load(load);
    if (!nsys_tables_load(load))
        return nl_fail(err, NL_INTERRUPTED, "stopped");
    nsys_names_load(load);
    nsys_coverage_load(load);
    return has_something(load, err);
}

static bool load_path(const struct nl_reading *reading, const char *path, enum dbfile_way way,
                      struct nl_err *err)
{
    struct nsys_load *load = nl_zalloc(sizeof *load);
    load->builder = reading->builder;
    load->source = reading->source;
    load->job = reading->job;
    load->input = reading->input;
    bool done = load_from(load, path, way, err);
    release_load(load);
    nl_free(load);
    if (!done && err)
        nl_err_at(err, reading->input->place, err->offset);
    return done;
}

bool nsys_load_copy(const struct nl_reading *reading, const char *path, struct nl_err *err)
{
    return load_path(reading, path, DBFILE_FASTEST, err);
}

bool nsys_load_way(const struct nl_reading *reading, enum dbfile_way way, struct nl_err *err)
{
    bool plain = !reading->input->encoding || strcmp(reading->input->encoding, "plain") == 0;
    if (plain && strcmp(reading->input->path, "-") != 0)
        return load_path(reading, reading->input->path, way, err);
    /* Pages are read at random: what is compressed or piped in goes to a file first. */
    char *folder;
    const char *damage = NULL;
    if (!dbspool_folder(&folder, err))
        return false;
    struct nl_buf name;
    nl_buf_init(&name, 8192);
    nl_buf_format(&name, "%s/export.sqlite", folder);
    bool done = dbspool_stream(reading->input->path, name.ptr, reading->job, &damage, err) &&
                load_path(reading, name.ptr, way, err);
    if (done && damage)
        nl_builder_coverage(reading->builder, reading->source, "truncated: compressed data", 1,
                            damage);
    nl_buf_release(&name);
    dbspool_remove(folder);
    return done;
}

static bool nsys_load(struct nl_reading *reading, struct nl_err *err)
{
    return nsys_load_way(reading, DBFILE_FASTEST, err);
}

const struct nl_format nl_format_nsys = {.name = "nsys",
                                         .title = "Nsight Systems SQLite export",
                                         .sniff = nsys_sniff,
                                         .load = nsys_load,
                                         .reach = NL_REACH_COPIES,
                                         .doc = "formats/nsys.md"};
