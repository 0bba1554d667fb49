/*
 * Help with SQL texts: what an error of SQLite means here and the nearest name that exists, and
 * completion for the shell. All names come from the schema and the function tables.
 */
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "sql/functions.h"
#include "sql/vtab.h"

#define MAX_NAMES 800

struct names {
    const char *items[MAX_NAMES];
    size_t count;
};

static void add_name(struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return;
    if (names->count < MAX_NAMES)
        names->items[names->count++] = name;
}

static void add_tables(struct names *names)
{
    for (unsigned i = 0; i < NL_TABLE_COUNT; i++)
        add_name(names, nl_tables[i].sql);
    for (size_t i = 0; nl_table_functions[i]; i++)
        add_name(names, nl_table_functions[i]->name);
}

static void add_columns_of(struct names *names, const char *table)
{
    for (unsigned i = 0; i < nl_column_count; i++)
        if (!table || sqlite3_stricmp(nl_tables[nl_columns[i].table].sql, table) == 0)
            add_name(names, nl_columns[i].name);
    for (size_t i = 0; nl_table_functions[i]; i++)
        if (!table || sqlite3_stricmp(nl_table_functions[i]->name, table) == 0)
            for (const struct nl_tf_column *column = nl_table_functions[i]->columns; column->name;
                 column++)
                add_name(names, column->name);
}

static void add_functions(struct names *names)
{
    static const char *const own[] = {"count", "sum",    "avg",      "min",    "max",   "total",
                                      "round", "length", "coalesce", "substr", "lower", "upper",
                                      "abs",   "printf", "iif",      "ifnull", NULL};
    for (const struct nl_function *function = nl_interval_functions; function->name; function++)
        add_name(names, function->name);
    for (const struct nl_function *function = nl_statistic_functions; function->name; function++)
        add_name(names, function->name);
    for (const struct nl_function *function = nl_api_functions; function->name; function++)
        add_name(names, function->name);
    for (size_t i = 0; own[i]; i++)
        add_name(names, own[i]);
}

/* Edits (insert, delete, replace) between two words, letters' case ignored. */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[64];
    size_t a_len = strlen(a), b_len = strlen(b);
    if (a_len >= 64 || b_len >= 64)
        return 64;
    for (unsigned j = 0; j <= b_len; j++)
        row[j] = j;
    for (unsigned i = 1; i <= a_len; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned j = 1; j <= b_len; j++) {
            bool same = nl_lower(a[i - 1]) == nl_lower(b[j - 1]);
            unsigned best = diagonal + !same;
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[b_len];
}

static const char *nearest(const struct names *names, const char *word)
{
    const char *best = NULL;
    unsigned least = (unsigned)strlen(word) / 3 + 2;
    for (size_t i = 0; i < names->count; i++) {
        unsigned edits = distance(names->items[i], word);
        if (edits < least) {
            least = edits;
            best = names->items[i];
        }
    }
    return best;
}

/* Tables of the exports that people know, and where the same is here. */
static const struct {
    const char *theirs, *ours;
} known_tables[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL", "kernels"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY", "copies"},
    {"CUPTI_ACTIVITY_KIND_MEMSET", "memsets"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "syncs"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME", "api"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graph_launches"},
    {"NVTX_EVENTS", "nvtx"},
    {"TARGET_INFO_GPU", "devices"},
    {"ThreadNames", "threads"},
    {"META_DATA_CAPTURE", "metadata"},
    {"slice", "slices"},
    {"counter", "counters"},
    {"thread_track", "lanes"},
    {"track", "lanes"},
    {"StringIds", "slices (names are text here)"},
};

/* Columns of theirs. */
static const struct {
    const char *theirs, *ours;
} known_columns[] = {
    {"duration", "dur"},     {"start", "ts"},           {"end", "ts + dur"},
    {"shortName", "name"},   {"demangledName", "name"}, {"correlationId", "correlation"},
    {"text", "name"},        {"deviceId", "device"},    {"streamId", "stream"},
    {"globalTid", "thread"}, {"gridX", "grid_x"},       {"blockX", "block_x"},
};

static const char *known_column(const char *word)
{
    for (size_t i = 0; i < sizeof known_columns / sizeof *known_columns; i++)
        if (sqlite3_stricmp(known_columns[i].theirs, word) == 0)
            return known_columns[i].ours;
    return NULL;
}

static const char *known_table(const char *word)
{
    for (size_t i = 0; i < sizeof known_tables / sizeof *known_tables; i++)
        if (sqlite3_stricmp(known_tables[i].theirs, word) == 0)
            return known_tables[i].ours;
    return NULL;
}

/* Does the text name this table, as a whole word? */
static bool mentions(const char *sql, const char *table)
{
    size_t len = strlen(table);
    for (const char *p = sql; *p; p++) {
        bool begins = p == sql || !nl_is_word(p[-1]);
        if (begins && sqlite3_strnicmp(p, table, (int)len) == 0 && !nl_is_word(p[len]))
            return true;
    }
    return false;
}

/* Which tables have a column that those of the query lack: "; it is a column
 * of slices, lanes", or "". */
static void tables_with(const char *column, char hint[160])
{
    struct names tables = {.count = 0};
    for (unsigned i = 0; i < nl_column_count; i++)
        if (sqlite3_stricmp(nl_columns[i].name, column) == 0)
            add_name(&tables, nl_tables[nl_columns[i].table].sql);
    if (tables.count == 1)
        sqlite3_snprintf(160, hint, "; it is a column of %s", tables.items[0]);
    else if (tables.count)
        sqlite3_snprintf(160, hint, "; it is a column of %s and %s%s", tables.items[0],
                         tables.items[1], tables.count > 2 ? ", among others" : "");
}

/* The columns of the tables that the query names; of all when it names none. */
static void add_columns_in(struct names *names, const char *sql)
{
    struct names tables = {.count = 0};
    add_tables(&tables);
    for (size_t i = 0; i < tables.count; i++)
        if (mentions(sql, tables.items[i]))
            add_columns_of(names, tables.items[i]);
    if (!names->count)
        add_columns_of(names, NULL);
}

/* The hint to a message of SQLite, or "". */
static void hint_for(const char *message, const char *sql, char hint[160])
{
    struct names names = {.count = 0};
    const char *word = strchr(message, ':'), *name = NULL;
    hint[0] = '\0';
    if (strncmp(message, "near \"index\"", 12) == 0) {
        sqlite3_snprintf(160, hint, "; the column needs quotes: \"index\"");
        return;
    }
    if (!word)
        return;
    for (word++; *word == ' '; word++)
        ;
    if (strncmp(message, "no such table", 13) == 0) {
        add_tables(&names);
        name = known_table(word);
    } else if (strncmp(message, "no such column", 14) == 0) {
        const char *dot = strrchr(word, '.');
        word = dot ? dot + 1 : word;
        add_columns_in(&names, sql);
        name = known_column(word);
    } else if (strncmp(message, "no such function", 16) == 0) {
        add_functions(&names);
    }
    if (!name)
        name = nearest(&names, word);
    if (name)
        sqlite3_snprintf(160, hint, "; did you mean %s?", name);
    else if (strncmp(message, "no such column", 14) == 0)
        tables_with(word, hint);
}

static bool stopped(struct nl_db *db, struct nl_err *err)
{
    if (db->interrupted)
        return nl_fail(err, NL_INTERRUPTED, "the query was stopped");
    return nl_fail(err, NL_TIMEOUT,
                   "the query took longer than its limit of %lld ms; narrow it, or raise the limit",
                   (long long)db->options.time_limit_ms);
}

bool nl_db_explain(struct nl_db *db, const char *sql, size_t at, int code, struct nl_err *err)
{
    char hint[160], place[80] = "";
    const char *message = sqlite3_errmsg(db->sqlite);
    int offset = -1;
    if (db->interrupted || db->timed_out)
        return stopped(db, err);
    if (db->refused[0])
        return nl_fail(err, NL_QUERY,
                       "not allowed: %s; a profile is read with SELECT (or WITH … SELECT) only",
                       db->refused);
#if NL_SQLITE_338
    offset = sqlite3_error_offset(db->sqlite);
#endif
    if (db->too_large)
        return nl_fail(err, NL_MEMORY,
                       "the query takes more memory than --memory allows; ask for fewer rows or "
                       "columns, or raise it");
    if (code == SQLITE_NOMEM)
        return nl_fail(err, NL_MEMORY, "SQLite has no memory left for this query");
    hint_for(message, sql, hint);
    if (offset >= 0) {
        size_t position = at + (size_t)offset, line = 1, start = 0;
        for (size_t i = 0; i < position && sql[i]; i++)
            if (sql[i] == '\n') {
                line++;
                start = i + 1;
            }
        sqlite3_snprintf(sizeof place, place, " (line %d, column %d)", (int)line,
                         (int)(position - start + 1));
    }
    return nl_fail(err, NL_QUERY, "%s%s%s", message, place, hint);
}

/* ---- Completion ---- */

static int by_name(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void add_keywords(struct names *names)
{
    static const char *const keywords[] = {"SELECT",   "FROM",
                                           "WHERE",    "GROUP BY",
                                           "ORDER BY", "LIMIT",
                                           "JOIN",     "LEFT JOIN",
                                           "ON",       "AND",
                                           "OR",       "NOT",
                                           "LIKE",     "GLOB",
                                           "IN",       "IS",
                                           "NULL",     "AS",
                                           "DESC",     "ASC",
                                           "HAVING",   "DISTINCT",
                                           "WITH",     "CASE",
                                           "WHEN",     "THEN",
                                           "ELSE",     "END",
                                           "UNION",    "EXISTS",
                                           "BETWEEN",  "USING",
                                           "OVER",     "EXPLAIN QUERY PLAN",
                                           NULL};
    for (size_t i = 0; keywords[i]; i++)
        add_name(names, keywords[i]);
}

size_t nl_db_complete(struct nl_db *db, const char *prefix, struct nl_arena *arena,
                      const char ***candidates)
{
    struct names names = {.count = 0};
    const char *dot = strrchr(prefix, '.'), *word = dot ? dot + 1 : prefix;
    size_t kept = 0, len = strlen(word);
    (void)db;
    if (dot) {
        char *table = nl_arena_text(arena, prefix, (size_t)(dot - prefix));
        add_columns_of(&names, table);
        if (names.count == 0) /* an alias */
            add_columns_of(&names, NULL);
    } else {
        add_tables(&names);
        add_columns_of(&names, NULL);
        add_functions(&names);
        add_keywords(&names);
    }
    const char **list = nl_arena_alloc(arena, (names.count + 1) * sizeof *list);
    for (size_t i = 0; i < names.count; i++)
        if (sqlite3_strnicmp(names.items[i], word, (int)len) == 0)
            list[kept++] =
                dot ? nl_arena_format(arena, "%.*s%s", (int)(word - prefix), prefix, names.items[i])
                    : names.items[i];
    qsort(list, kept, sizeof *list, by_name);
    *candidates = list;
    return kept;
}
