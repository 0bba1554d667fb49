/*
 * Any text as SQL over a small profile: it ends with an answer or with an error of the expected
 * kinds, within its limits, and leaves the profile and the connection as they were.
 *
 * A text that begins with a digit picks one of the built-in statements and is put into its place
 * for a literal, so that constraints on every kind of column are reached soon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/devicetrace.h"

#include "sql/db.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const frames[] = {
    "SELECT * FROM kernels WHERE %s",
    "SELECT * FROM slices WHERE ts %s",
    "SELECT count(*) FROM kernels k JOIN api a ON a.correlation = k.correlation AND %s",
    "SELECT name, median(dur) FROM slices WHERE %s GROUP BY name",
    "SELECT * FROM counters WHERE value %s ORDER BY 1, 3 DESC",
    "SELECT * FROM interval_gaps((SELECT intervals(ts, dur) FROM slices WHERE %s))",
    "SELECT * FROM time_breakdown(%s)",
    "SELECT * FROM name_stats(%s)",
    "SELECT DISTINCT %s FROM kernels, lanes ORDER BY 1",
    "SELECT percentile(dur, %s), stddev(ts) FROM copies",
};

/* The data is what it was. */
static void count_rows(struct nl_db *db, uint32_t rows)
{
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_result *result = nl_db_query(db, "SELECT count(*) FROM slices", &err);
    bool late = !result && err.code == NL_TIMEOUT; /* the machine does something else meanwhile */
    if (!late && (!result || result->rows != 1 || nl_result_cell(result, 0, 0)->i64 != rows))
        abort();
    nl_result_free(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nl_trace *trace;
    static struct nl_db *db;
    static uint32_t rows;
    struct nl_err err;
    char text[4096], sql[sizeof text + 200];
    nl_err_clear(&err);
    if (!trace) {
        const struct nl_db_options options = {.time_limit_ms = 300, .row_limit = 100};
        trace = devicetrace(2, 300, 100000, &err);
        db = trace ? nl_db_open(trace, &options, NULL, &err) : NULL;
        if (!db)
            abort();
        rows = trace->slice.rows;
    }
    if (size >= sizeof text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    snprintf(sql, sizeof sql, "%s", text);
    if (text[0] >= '0' && text[0] <= '9') {
        const char *frame = frames[text[0] - '0'], *place = strstr(frame, "%s");
        snprintf(sql, sizeof sql, "%.*s%s%s", (int)(place - frame), frame, text + 1, place + 2);
    }
    struct nl_result *result = nl_db_query(db, sql, &err);
    if (!result && err.code != NL_OK && err.code != NL_QUERY && err.code != NL_TIMEOUT &&
        err.code != NL_MEMORY)
        abort();
    nl_result_free(result);
    count_rows(db, rows);
    return 0;
}
