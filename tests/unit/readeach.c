/*
 * readeach — what the readers make of many files, in one process. Standard input holds each as a
 * line "NAME BYTES" and then its bytes; it is written to the current folder, read, and told:
 *
 *     =
 *     refused CODE: TEXT            where it cannot be read, or a line for each column that holds something:
 *     TABLE.COLUMN COUNT LEAST..GREATEST ~CHECKSUM      of numbers, in order of rows
 *     TABLE.COLUMN COUNT FIRST ~CHECKSUM                of texts
 *     coverage COUNT ITEM: DETAIL
 *     WRONG: TEXT                   what may not be in a trace (tracecheck.h)
 *     answers.TABLE ROWS ~CHECKSUM  of the line "NAME BYTES analyze": of every table of `analyze --all`,
 *     answers.page FIRST LINE ~CHECKSUM                 and the short page
 *     answers.evidence FINDINGS ~CHECKSUM    of "NAME BYTES first" and "NAME BYTES beside", besides: all that is said of causes,
 *     beside.TABLE ROWS ~CHECKSUM            and of the latter what `diff`, `fingerprint` and `rank` say of it and the first
 *
 * tests/altered/run.py says which files.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "answersums.h"
#include "compare/diff.h"
#include "compare/rank.h"
#include "findingsums.h"
#include "fingerprint/fingerprint.h"
#include "ingest/ingest.h"
#include "store/tracecheck.h"

struct column {
    const struct nl_trace *trace;
    const struct nl_column_def *def;
    struct nl_buf text; /* all values */
    size_t count;
    char least[80], greatest[80];
    double low, high;
};

static void add_number(struct column *column, double value, const char *shown)
{
    if (!column->count || value < column->low)
        column->low = value, snprintf(column->least, sizeof column->least, "%s", shown);
    if (!column->count || value > column->high)
        column->high = value, snprintf(column->greatest, sizeof column->greatest, "%s", shown);
    column->count++;
    nl_buf_format(&column->text, "%s\n", shown);
}

static void add_text(struct column *column, struct nl_str text)
{
    if (!column->count)
        snprintf(column->least, sizeof column->least, "%.*s", text.len < 40 ? (int)text.len : 40,
                 text.ptr);
    column->count++;
    nl_buf_add(&column->text, text.ptr, text.len);
    nl_buf_add(&column->text, "\n", 1);
}

static void add_integer(struct column *column, int64_t value)
{
    char shown[32];
    snprintf(shown, sizeof shown, "%" PRId64, value);
    add_number(column, (double)value, shown);
}

static void add_named(struct column *column, uint32_t id)
{
    struct nl_buf room;
    if (id == NL_NO_NAME)
        return;
    nl_buf_init(&room, NL_MAX_FILLED + 1024);
    add_text(column, nl_trace_text(column->trace, id, &room));
    nl_buf_release(&room);
}

/* The value of a row, where it is known; a gap stands in the checksum all the same. */
static void add_cell(struct column *column, uint32_t row)
{
    const void *cells = nl_trace_column(column->trace, column->def);
    char shown[40];
    switch (column->def->type) {
    case NL_TYPE_TIME:
    case NL_TYPE_DUR:
    case NL_TYPE_I64:
        if (((const int64_t *)cells)[row] != NL_NULL_I64)
            add_integer(column, ((const int64_t *)cells)[row]);
        break;
    case NL_TYPE_U64:
        if (((const uint64_t *)cells)[row] != NL_NULL_U64)
            add_integer(column, (int64_t)((const uint64_t *)cells)[row]);
        break;
    case NL_TYPE_F64:
        snprintf(shown, sizeof shown, "%.6g", ((const double *)cells)[row]);
        if (!isnan(((const double *)cells)[row]))
            add_number(column, ((const double *)cells)[row], shown);
        break;
    case NL_TYPE_U32:
    case NL_TYPE_REF:
        if (((const uint32_t *)cells)[row] != NL_NULL_U32)
            add_integer(column, ((const uint32_t *)cells)[row]);
        break;
    case NL_TYPE_U16: add_integer(column, ((const uint16_t *)cells)[row]); break;
    case NL_TYPE_U8: add_integer(column, ((const uint8_t *)cells)[row]); break;
    case NL_TYPE_NAME: add_named(column, ((const uint32_t *)cells)[row]); break;
    case NL_TYPE_ENUM: {
        const char *text = nl_enum_text(column->def->enumeration, ((const uint8_t *)cells)[row]);
        if (text)
            add_text(column, nl_str(text));
    }
    }
    nl_buf_add(&column->text, ";", 1);
}

static void tell_column(const struct nl_trace *trace, const struct nl_column_def *def,
                        uint32_t rows)
{
    struct column column = {.trace = trace, .def = def};
    nl_buf_init(&column.text, (size_t)1 << 30);
    for (uint32_t row = 0; row < rows; row++)
        add_cell(&column, row);
    if (column.count) {
        printf("%s.%s %zu ", nl_tables[def->table].sql, def->name, column.count);
        for (const char *at = column.least; *at; at++) /* one line whatever a text holds */
            putchar((unsigned char)*at < ' ' ? '?' : *at);
        printf("%s%s ~%08x\n", *column.greatest ? ".." : "", column.greatest,
               nl_crc32c(column.text.ptr, column.text.len));
    }
    nl_buf_release(&column.text);
}

static void tell(const struct nl_trace *trace)
{
    char what[NL_TRACECHECK_TEXT] = "";
    if (!nl_tracecheck(trace, 1, what))
        printf("WRONG: %s\n", what);
    for (int table = 0; table < NL_TABLE_COUNT; table++) {
        const struct nl_table_def *def = &nl_tables[table];
        for (unsigned i = 0; i < def->count && table != NL_T_coverage; i++)
            if (nl_columns[def->first + i].hop == NL_HOP_NONE)
                tell_column(trace, &nl_columns[def->first + i],
                            nl_trace_rows(trace, (enum nl_table_id)table));
    }
    for (uint32_t row = 0; row < trace->coverage.rows; row++) {
        struct nl_str item = nl_trace_name(trace, trace->coverage.item[row]),
                      detail = nl_trace_name(trace, trace->coverage.detail[row]);
        printf("coverage %" PRId64 " %.*s: %.*s\n", (int64_t)trace->coverage.count[row],
               (int)item.len, item.ptr, (int)detail.len, detail.ptr);
    }
}

enum asked { READ, ANALYZE, FIRST, BESIDE };

static void tell_evidence(const struct nl_findings *findings)
{
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 24);
    for (size_t i = 0; i < findings->count; i++)
        add_finding(&text, &findings->items[i]);
    printf("answers.evidence %zu ~%08x\n", findings->count, nl_crc32c(text.ptr, text.len));
    nl_buf_release(&text);
}

/* Frees the report; NULL: nothing is told. */
static void tell_beside(struct nl_report *report)
{
    for (size_t i = 0; report && i < report->result_count; i++) {
        struct table_sum sum = table_sum(report->results[i]);
        if (sum.rows)
            printf("beside.%s %zu ~%08x\n", report->results[i]->name, sum.rows, sum.sum);
    }
    for (size_t i = 0; report && i < report->headline_count; i++)
        printf("beside.headline %zu ~%08x\n", i + 1,
               nl_crc32c(report->headlines[i], strlen(report->headlines[i])));
    nl_report_free(report);
}

static void tell_comparisons(const struct nl_trace *first, const struct nl_trace *trace)
{
    struct nl_err err = {0};
    bool comparable;
    const struct nl_diff_input inputs[] = {{.trace = first, .word = "a"},
                                           {.trace = trace, .word = "b"}};
    tell_beside(nl_diff_new(&inputs[0], &inputs[1], NULL, &comparable, NULL, &err));
    tell_beside(nl_rank_new(inputs, 2, &(struct nl_rank_options){0}, &comparable, NULL, &err));
    struct nl_runfingerprint *print =
        nl_runfingerprint_new(trace, &(struct nl_window){0}, NULL, &err);
    tell_beside(print ? nl_runfingerprint_report(print) : NULL);
    nl_runfingerprint_free(print);
}

/* All tables but that of what could be recorded, whose words have tests of their own. */
static void tell_answers(const struct nl_trace *trace, enum asked asked)
{
    const struct nl_analyze_options options = {.all = true, .fold = true};
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_profile *profile = nl_profile_new(trace, &options.window);
    struct nl_report *report = nl_report_new(trace, "analyze", &options, NULL, &err);
    for (size_t i = 0; report && i < report->result_count; i++) {
        struct table_sum sum = table_sum(report->results[i]);
        if (sum.rows && strcmp(report->results[i]->name, "record") != 0)
            printf("answers.%s %zu ~%08x\n", report->results[i]->name, sum.rows, sum.sum);
    }
    if (report) {
        printf("answers.page ");
        tell_page(profile, report);
        if (asked >= FIRST && report->findings)
            tell_evidence(report->findings);
    } else {
        printf("answers.none %s\n", err.text);
    }
    nl_report_free(report);
    nl_profile_free(profile);
}

static const char *const asked_words[] = {
    [READ] = "", [ANALYZE] = " analyze", [FIRST] = " first", [BESIDE] = " beside"};

/* The next file of standard input, written to the current folder under its name. */
static bool next_file(char name[1024], enum asked *asked)
{
    static char before[1024];
    char what[16] = "";
    size_t size;
    int end;
    if (scanf("%1023s %zu", name, &size) != 2)
        return false;
    while ((end = getchar()) != '\n' && end != EOF)
        if (strlen(what) + 1 < sizeof what)
            strncat(what, &(char){(char)end}, 1);
    *asked = READ;
    for (enum asked i = ANALYZE; i <= BESIDE; i++)
        if (strcmp(what, asked_words[i]) == 0)
            *asked = i;
    char *bytes = nl_alloc(size + 1);
    bool whole = fread(bytes, 1, size, stdin) == size;
    if (*before && strcmp(before, name) != 0)
        unlink(before);
    snprintf(before, sizeof before, "%s", name);
    FILE *file = whole ? fopen(name, "wb") : NULL;
    whole = file && fwrite(bytes, 1, size, file) == size;
    whole = file && !fclose(file) && whole;
    nl_free(bytes);
    return whole;
}

int main(void)
{
    char name[1024];
    enum asked asked;
    struct nl_trace *first = NULL;
    while (next_file(name, &asked)) {
        const struct nl_ingest_options options = {.rank = NL_NULL_I64};
        const char *const paths[] = {name};
        struct nl_err err;
        nl_err_clear(&err);
        struct nl_trace *trace = nl_ingest(paths, 1, &options, NULL, &err);
        printf("=\n");
        if (trace)
            tell(trace);
        else
            printf("refused %s: %s\n", nl_err_name(err.code), err.text);
        if (trace && asked != READ)
            tell_answers(trace, asked);
        if (trace && first && asked == BESIDE)
            tell_comparisons(first, trace);
        fflush(stdout);
        if (asked == FIRST) {
            nl_trace_free(first);
            first = trace;
        } else {
            nl_trace_free(trace);
        }
    }
    nl_trace_free(first);
    return 0;
}
