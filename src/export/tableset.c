/* All tables of a profile as files of a folder, or one of them as a file. */
#include <inttypes.h>
#include <string.h>

#include "base/file.h"
#include "base/nearest.h"
#include "base/sort.h"
#include "export/tableset.h"

/* Answers that are written in addition to the tables, under their names in SQL: they follow from
 * all of them. */
static const struct {
    const char *analysis, *name;
} answers[] = {
    {"time_breakdown", "time_breakdown"}, {"kernels", "kernel_summary"}, {"account", "account"}};

struct set {
    struct nl_export *export;
    const struct nl_table_format *format;
    bool ranked; /* tables with a rank are split by it */
    uint64_t files;
};

static bool write_to(const struct set *set, const struct nl_table_view *view, const char *path,
                     struct nl_err *err)
{
    struct nl_out out;
    if (!nl_out_open(&out, path, err))
        return false;
    if (set->format->write(set->export, view, out.stream, err))
        return nl_out_commit(&out, err);
    nl_out_abort(&out);
    return false;
}

/* ---- splitting by rank ---- */

/* The column with the rank, or -1. */
static int rank_column(const struct nl_table_view *view)
{
    for (unsigned i = 0; i < view->count; i++)
        if (strcmp(view->columns[i].name, "rank") == 0 && view->columns[i].form == NL_FORM_I64 &&
            !view->columns[i].result)
            return (int)i;
    return -1;
}

static bool write_partition(const struct set *set, struct nl_table_view *view, int64_t rank,
                            struct nl_err *err)
{
    char value[32] = "__HIVE_DEFAULT_PARTITION__";
    if (rank != NL_NULL_I64)
        snprintf(value, sizeof value, "%" PRId64, rank);
    char *path = nl_arena_format(&set->export->arena, "%s/%s/rank=%s/part%s", set->export->folder,
                                 view->name, value, set->format->ending);
    char *end = strrchr(path, '/');
    *end = '\0';
    bool done = nl_make_folders(path, err);
    *end = '/';
    return done && write_to(set, view, path, err);
}

/* The rows in order of rank; a file for each. The column itself is the name of the folder. */
static bool write_ranks(const struct set *set, struct nl_table_view *view, unsigned column,
                        struct nl_err *err)
{
    uint32_t count = view->row_count, *rows = nl_alloc((count + 1u) * sizeof *rows);
    struct nl_keyed *keyed = nl_alloc(2 * (count + (size_t)1) * sizeof *keyed);
    union nl_view_cell value;
    for (uint32_t i = 0; i < count; i++) {
        bool known = nl_view_value(view, &view->columns[column], i, &value);
        keyed[i] =
            (struct nl_keyed){nl_sort_key(known ? value.i64 : NL_NULL_I64), nl_view_row(view, i)};
    }
    nl_sort_keyed(keyed, keyed + count + 1, count);
    for (uint32_t i = 0; i < count; i++)
        rows[i] = keyed[i].row;
    view->count--;
    memmove(view->columns + column, view->columns + column + 1,
            (view->count - column) * sizeof *view->columns);
    bool done = true;
    for (uint32_t first = 0, i = 0; done && first < count; first = i) {
        while (i < count && keyed[i].key == keyed[first].key)
            i++;
        view->rows = rows + first;
        view->row_count = i - first;
        done = write_partition(set, view, (int64_t)(keyed[first].key ^ (uint64_t)1 << 63), err);
    }
    nl_free(keyed);
    nl_free(rows);
    return done;
}

static bool has_ranks(const struct nl_trace *trace)
{
    int64_t first = NL_NULL_I64;
    for (uint32_t i = 0; i < trace->process.rows; i++) {
        int64_t rank = trace->process.rank[i];
        if (rank != NL_NULL_I64 && first != NL_NULL_I64 && rank != first)
            return true;
        first = rank == NL_NULL_I64 ? first : rank;
    }
    return false;
}

/* ---- the set ---- */

static bool write_view(const struct set *set, struct nl_table_view *view, struct nl_err *err)
{
    struct nl_export *export = set->export;
    if (export->table)
        return set->format->write(export, view, export->out, err);
    if (!view->row_count)
        return true;
    int rank = set->ranked ? rank_column(view) : -1;
    if (rank >= 0)
        return write_ranks(set, view, (unsigned)rank, err);
    return write_to(
        set, view,
        nl_arena_format(&export->arena, "%s/%s%s", export->folder, view->name, set->format->ending),
        err);
}

static bool write_table(const struct set *set, enum nl_table_id table, struct nl_err *err)
{
    struct nl_table_view view;
    uint32_t *rows;
    nl_table_view_make(&view, set->export, table, &rows);
    bool done = write_view(set, &view, err);
    nl_table_view_release(&view);
    nl_free(rows);
    return done;
}

static bool write_answer(const struct set *set, size_t number, struct nl_err *err)
{
    struct nl_analyze_options options = {.window = set->export->window};
    struct nl_table_view view;
    struct nl_result *result = nl_analysis_run(nl_analysis_find(answers[number].analysis),
                                               set->export->trace, &options, set->export->job, err);
    if (!result)
        return false;
    nl_table_view_of_result(&view, set->export, result);
    view.name = answers[number].name;
    bool done = write_view(set, &view, err);
    nl_table_view_release(&view);
    return done;
}

static bool write_one(const struct set *set, struct nl_err *err)
{
    const char *wanted = set->export->table;
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, wanted);
    for (unsigned table = 0; table < NL_TABLE_COUNT; table++) {
        if (strcmp(nl_tables[table].sql, wanted) == 0)
            return write_table(set, (enum nl_table_id)table, err);
        nl_nearest_offer(&nearest, nl_tables[table].sql);
    }
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++)
        if (strcmp(wanted, answers[i].name) == 0)
            return write_answer(set, i, err);
    const char *best = nl_nearest_best(&nearest);
    return nl_fail(err, NL_USAGE, "--table: no table '%s'; %s%s%s", wanted,
                   best ? "did you mean " : "`neurolens schema sql` lists them", best ? best : "",
                   best ? "?" : "");
}

bool nl_write_tables(struct nl_export *export, const struct nl_table_format *format,
                     struct nl_err *err)
{
    struct set set = {.export = export, .format = format, .ranked = has_ranks(export->trace)};
    nl_job_phase(export->job, "writing", 0);
    if (export->table)
        return write_one(&set, err);
    bool done = true;
    for (unsigned table = 0; done && table < NL_TABLE_COUNT; table++)
        done = write_table(&set, (enum nl_table_id)table, err);
    for (size_t i = 0; done && i < sizeof answers / sizeof answers[0]; i++)
        done = write_answer(&set, i, err);
    return done;
}
