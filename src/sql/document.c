/* docs/sql.md from schema.def and the function tables, so that it cannot be out of date. */
#include "sql/functions.h"
#include "sql/vtab.h"

static const char introduction[] =
    "# SQL over a profile\n"
    "\n"
    "`neurolens sql PROFILE \"SELECT …\"` runs one query, `neurolens sql PROFILE` opens a shell. "
    "The language is SQLite's; the tables are the profile's own columns, read in place. This page "
    "is generated from `src/store/schema.def` and the function tables.\n"
    "\n"
    "- **Times** (`ts`, `dur`, everything that ends in `_ns`) are whole nanoseconds, counted from "
    "the profile's first event; with `--absolute` as recorded.\n"
    "- **Unknown is NULL**, never 0. `count(column)` counts the known values.\n"
    "- **Names are text.** `=`, `IN`, `GLOB` and `LIKE` on a name are evaluated once per distinct "
    "name, not per row.\n"
    "- **ids** (`slices.id`, and every column that says *id in …*) are row numbers of that table: "
    "join `kernels.slice = slices.id`. Every table has its row number as `rowid`.\n"
    "- 64-bit ids over 9223372036854775807 are returned as decimal text, because SQLite has no "
    "such integer.\n"
    "- Comparisons are pushed down to the columns; sorting and grouping by columns is done "
    "natively; repeated lookups (joins) create an index automatically.\n"
    "- **Read-only**: SELECT and WITH … SELECT work; writes, CREATE, ATTACH, PRAGMA (except "
    "`table_info` and the like) and extensions are refused. Time and row limits: see `neurolens "
    "sql --help`.\n"
    "- `steps.\"index\"` needs its quotes: INDEX is an SQL keyword.\n"
    "\n"
    "## Examples\n"
    "```sql\n"
    "SELECT * FROM time_breakdown;\n"
    "SELECT name, count, total_ns FROM kernel_summary LIMIT 10;\n"
    "SELECT kind, src_memory, count(*), sum(bytes) * 1.0 / sum(dur) AS gb_per_s FROM copies GROUP "
    "BY 1, 2;\n"
    "-- kernels with the call that launched them\n"
    "SELECT k.name, s.name AS call, k.ts - s.ts AS delay FROM kernels k JOIN slices s ON s.id = "
    "k.launch;\n"
    "-- exposed communication: not overlapped with compute\n"
    "SELECT sum(dur) FROM interval_subtract(\n"
    "  (SELECT intervals(ts, dur) FROM kernels WHERE class = 'communication'),\n"
    "  (SELECT intervals(ts, dur) FROM kernels WHERE class = 'compute'));\n"
    "```\n";

static const char *type_word(const struct nl_column_def *column)
{
    switch (column->type) {
    case NL_TYPE_NAME:
    case NL_TYPE_ENUM: return "text";
    case NL_TYPE_F64: return "real";
    default: return "integer";
    }
}

/* Text inside a table cell: a bar would end it. */
static void cell(struct nl_buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '|')
            nl_buf_char(out, '\\');
        nl_buf_char(out, *text);
    }
}

static void document_column(struct nl_buf *out, const struct nl_column_def *column)
{
    nl_buf_format(out, "| `%s` | %s | ", column->name, type_word(column));
    cell(out, column->unit);
    nl_buf_text(out, " | ");
    cell(out, column->doc);
    if (column->type == NL_TYPE_REF)
        nl_buf_format(out, " (id in %s)", nl_tables[column->target].sql);
    if (column->type == NL_TYPE_ENUM) {
        nl_buf_text(out, "; one of");
        for (unsigned i = 1; i < nl_enum_count(column->enumeration); i++)
            nl_buf_format(out, " `%s`", nl_enum_text(column->enumeration, i));
    }
    nl_buf_text(out, " |\n");
}

static void document_table(struct nl_buf *out, enum nl_table_id id)
{
    const struct nl_table_def *table = &nl_tables[id];
    nl_buf_format(out, "\n### %s\n%s\n\n| column | type | unit | meaning |\n|---|---|---|---|\n",
                  table->sql, table->doc);
    if (nl_table_has_id(id))
        nl_buf_text(out, "| `id` | integer |  | row number; what other tables refer to |\n");
    for (unsigned i = 0; i < table->count; i++)
        document_column(out, &nl_columns[table->first + i]);
}

static void document_table_function(struct nl_buf *out, const struct nl_table_function *function)
{
    nl_buf_format(out, "\n### %s\n%s\n\n", function->listed ? function->name : function->signature,
                  function->doc);
    if (function->listed)
        nl_buf_format(out, "Without arguments a table; with them `%s`.\n\n", function->signature);
    nl_buf_text(out, "| column | type | meaning |\n|---|---|---|\n");
    for (const struct nl_tf_column *column = function->columns; column->name; column++)
        nl_buf_format(out, "| `%s` | %s | %s |\n", column->name, column->type, column->doc);
    nl_buf_text(out, "\n");
    for (const struct nl_tf_column *argument = function->arguments; argument->name; argument++) {
        bool required = (unsigned)(argument - function->arguments) < function->required;
        nl_buf_format(out, "- `%s`%s: %s\n", argument->name, required ? "" : " (optional)",
                      argument->doc);
    }
    nl_buf_format(out, "\n```sql\n%s;\n```\n", function->example);
}

static void document_functions(struct nl_buf *out, const struct nl_function *functions)
{
    for (const struct nl_function *function = functions; function->name; function++) {
        nl_buf_format(out, "| `%s` | %s | `", function->signature, function->doc);
        cell(out, function->example);
        nl_buf_text(out, "` |\n");
    }
}

void nl_db_document(struct nl_buf *out)
{
    nl_buf_text(out, introduction);
    nl_buf_text(out, "\n## Tables\n");
    for (unsigned i = 0; i < NL_TABLE_COUNT; i++)
        document_table(out, (enum nl_table_id)i);
    nl_buf_text(out, "\n## Views and table functions\nArguments go in brackets; those left out or "
                     "NULL do not limit.\n");
    for (size_t i = 0; nl_table_functions[i]; i++)
        document_table_function(out, nl_table_functions[i]);
    nl_buf_text(out,
                "\n## Functions\nBesides [SQLite's own](https://sqlite.org/lang_corefunc.html):\n\n"
                "| function | what it does | example |\n|---|---|---|\n");
    document_functions(out, nl_statistic_functions);
    document_functions(out, nl_api_functions);
    document_functions(out, nl_interval_functions);
}
