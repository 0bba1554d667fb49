/* libneurolens: the C API, asked as a program would: answers equal those of SQL rows, every type an
 * answer can have, errors, cancelling, several threads, and what outlives what. */
#include "neurolens-engine.h"

#include <pthread.h>

#include "base/mem.h"
#include "check.h"

#define PROFILE CHECK_FOLDER "/fixtures/made_gpu_train.json.gz"
#define TWO_53  "9007199254740993"
#define COUNT   "7680" /* its slices */

static struct nlens_profile *opened(void)
{
    static const char *const files[] = {PROFILE};
    struct nlens_error *error = NULL;
    struct nlens_profile *profile = nlens_open(files, 1, NULL, &error);
    CHECK(profile && !error);
    nlens_error_free(error);
    return profile;
}

/* The only batch of an answer, and its schema. */
struct batch {
    struct ArrowSchema schema;
    struct ArrowArray array;
};

static bool ask(struct nlens_profile *profile, const char *query, struct batch *batch)
{
    struct ArrowArrayStream stream;
    struct nlens_error *error = NULL;
    struct nlens_answer *answer = nlens_sql(profile, query, NULL, &error);
    if (!answer) {
        CHECK_TEXT(nlens_error_text(error), "no error");
        nlens_error_free(error);
        return false;
    }
    nlens_answer_stream(answer, &stream);
    CHECK_INT(stream.get_schema(&stream, &batch->schema), 0);
    CHECK_INT(stream.get_next(&stream, &batch->array), 0);
    struct ArrowArray after;
    CHECK_INT(stream.get_next(&stream, &after), 0);
    CHECK(!after.release);
    stream.release(&stream);
    nlens_answer_free(answer); /* the batch stays */
    return true;
}

static void drop(struct batch *batch)
{
    if (batch->array.release)
        batch->array.release(&batch->array);
    batch->schema.release(&batch->schema);
}

static const char *format_of(const struct batch *batch, int column)
{
    return batch->schema.children[column]->format;
}

/* Row `row` of a column as text; "NULL" when unknown. */
static void shown(char text[80], const struct batch *batch, int column, int64_t row)
{
    const struct ArrowArray *array = batch->array.children[column];
    const uint8_t *known = array->n_buffers ? array->buffers[0] : NULL;
    const char *format = format_of(batch, column);
    snprintf(text, 80, "NULL");
    if (*format == 'n' || (known && !(known[row / 8] >> (row % 8) & 1)))
        return;
    if (*format == 'l')
        snprintf(text, 80, "%" PRId64, ((const int64_t *)array->buffers[1])[row]);
    else if (*format == 'g')
        snprintf(text, 80, "%g", ((const double *)array->buffers[1])[row]);
    else {
        const int64_t *ends = array->buffers[1];
        snprintf(text, 80, "%.*s", (int)(ends[row + 1] - ends[row]),
                 (const char *)array->buffers[2] + ends[row]);
    }
}

static void columns_have_the_type_that_holds_all_their_values(void)
{
    static const struct {
        const char *name, *query, *format, *values[4];
    } cases[] = {
        {"whole", "SELECT 1 UNION ALL SELECT NULL UNION ALL SELECT -7", "l", {"1", "NULL", "-7"}},
        {"nothing", "SELECT NULL UNION ALL SELECT NULL", "n", {"NULL", "NULL"}},
        {"real after whole", "SELECT 1 UNION ALL SELECT 2.5", "g", {"1", "2.5"}},
        {"whole after real", "SELECT 2.5 UNION ALL SELECT 3", "g", {"2.5", "3"}},
        {"nothing, then real", "SELECT NULL UNION ALL SELECT 0.5", "g", {"NULL", "0.5"}},
        {"nothing, then text", "SELECT NULL UNION ALL SELECT 'a'", "U", {"NULL", "a"}},
        {"text after numbers",
         "SELECT 1 UNION ALL SELECT NULL UNION ALL SELECT 'b' UNION ALL SELECT 0.1",
         "U",
         {"1", "NULL", "b", "0.1"}},
        {"large beside real", "SELECT " TWO_53 " UNION ALL SELECT 0.5", "U", {TWO_53, "0.5"}},
        {"real beside large", "SELECT 0.5 UNION ALL SELECT " TWO_53, "U", {"0.5", TWO_53}},
        {"bytes", "SELECT x'00fe' UNION ALL SELECT ''", "U", {"X'00FE'", ""}},
        {"no UTF-8",
         "SELECT CAST(x'61ff62' AS TEXT)",
         "U",
         {"a\xef\xbf\xbd"
          "b"}},
        {"the last statement", "SELECT 'a'; SELECT 2", "l", {"2"}},
    };
    struct nlens_profile *profile = opened();
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct batch batch;
        check_case(cases[i].name);
        if (!ask(profile, cases[i].query, &batch))
            continue;
        CHECK_TEXT(format_of(&batch, 0), cases[i].format);
        int64_t rows = 0, nulls = 0;
        for (; rows < 4 && cases[i].values[rows]; rows++) {
            char text[80];
            shown(text, &batch, 0, rows);
            CHECK_TEXT(text, cases[i].values[rows]);
            nulls += strcmp(text, "NULL") == 0;
        }
        CHECK_INT(batch.array.length, rows);
        CHECK_INT(batch.array.children[0]->length, rows);
        CHECK_INT(batch.array.children[0]->null_count, nulls);
        drop(&batch);
    }
    check_case(NULL);
    nlens_close(profile);
}

static void many_rows_keep_their_places(void)
{
    struct nlens_profile *profile = opened();
    struct batch batch;
    bool done = ask(
        profile,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) SELECT i, "
        "CASE WHEN i % 3 THEN i END, CASE WHEN i < 5000 THEN i ELSE 'x' || i END FROM n",
        &batch);
    nlens_close(profile);
    if (!done)
        return;
    unsigned wrong = 0;
    for (int64_t i = 0; i < 10000; i++) {
        char text[80], want[80];
        shown(text, &batch, 1, i);
        snprintf(want, sizeof want, "%" PRId64, i);
        wrong += strcmp(text, i % 3 ? want : "NULL") != 0;
        shown(text, &batch, 2, i);
        snprintf(want, sizeof want, "%s%" PRId64, i < 5000 ? "" : "x", i);
        wrong += strcmp(text, want) != 0;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(batch.array.length, 10000);
    drop(&batch);
}

static void columns_may_be_taken_one_by_one(void)
{
    struct nlens_profile *profile = opened();
    struct batch batch;
    if (ask(profile, "SELECT dur, name FROM kernels LIMIT 3", &batch)) {
        const char *metadata = batch.schema.children[0]->metadata;
        int32_t count = 0;
        if (metadata)
            memcpy(&count, metadata, sizeof count);
        CHECK_INT(count, 1);
        CHECK(metadata && memcmp(metadata + 8, "unit", 4) == 0 &&
              memcmp(metadata + 16, "ns", 2) == 0);
        CHECK(!batch.schema.children[1]->metadata);
        struct ArrowArray taken = *batch.array.children[1];
        batch.array.children[1]->release = NULL; /* as Arrow says: moved */
        nlens_close(profile);
        profile = NULL;
        drop(&batch);
        CHECK_INT(taken.length, 3);
        CHECK(((const int64_t *)taken.buffers[1])[3] > 0);
        taken.release(&taken);
    }
    nlens_close(profile);
}

static void an_answer_without_columns_is_empty(void)
{
    struct nlens_profile *profile = opened();
    struct batch batch;
    static const char *const queries[] = {"", "-- nothing", "SELECT 1 WHERE 0"};
    for (size_t i = 0; i < CHECK_LENGTH(queries); i++) {
        check_case(queries[i]);
        if (ask(profile, queries[i], &batch)) {
            CHECK(!batch.array.release);
            CHECK_INT(batch.schema.n_children, i == 2);
            drop(&batch);
        }
    }
    check_case(NULL);
    nlens_close(profile);
}

static void errors_say_what_is_wrong(void)
{
    static const char *const missing[] = {"/nowhere/at all"}, *const bad[] = {CHECK_FOLDER
                                                                              "/harness.py"};
    struct nlens_error *error = NULL;
    CHECK(!nlens_open(missing, 1, NULL, &error));
    CHECK_INT(nlens_error_status(error), 4);
    CHECK_TEXT(nlens_error_file(error), missing[0]);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_open(bad, 1, NULL, &error));
    CHECK_TEXT(nlens_error_name(error), "NL_FORMAT");
    CHECK(strstr(nlens_error_text(error), "harness.py: at byte 0: "));
    CHECK_INT(nlens_error_offset(error), 0);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_open(NULL, 0, NULL, &error));
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);
    CHECK(!nlens_open(missing, 1, NULL, NULL)); /* nobody asks why */
    struct nlens_options unsized = {.threads = 1};
    error = NULL;
    CHECK(!nlens_open(missing, 1, &unsized, &error));
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);

    struct nlens_profile *profile = opened();
    error = NULL;
    CHECK(!nlens_sql(profile, "SELECT nme FROM kernels", NULL, &error));
    CHECK(strstr(nlens_error_text(error), "did you mean name?"));
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_sql(profile, "DELETE FROM kernels", NULL, &error));
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_report(profile, "analyze", NULL, "yaml", NULL, NULL, &error));
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_export(profile, "csv", "/dev/null", NULL, &error)); /* a folder of tables */
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_export(profile, "chrome", NULL, NULL, &error));
    CHECK_INT(nlens_error_status(error), 2);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_export(profile, "chrome", "/nowhere/at all", NULL, &error));
    CHECK_INT(nlens_error_status(error), 5);
    nlens_error_free(error);
    nlens_close(profile);
    nlens_close(NULL);
    nlens_answer_free(NULL);
    nlens_error_free(NULL);
}

static void a_cancelled_task_ends_calls(void)
{
    static const char *const files[] = {PROFILE};
    struct nlens_profile *profile = opened();
    struct nlens_error *error = NULL;
    struct nlens_task *task = nlens_task_new();
    nlens_task_cancel(task);
    CHECK(!nlens_sql(
        profile,
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n",
        task, &error));
    CHECK_INT(nlens_error_status(error), 130);
    nlens_error_free(error);
    error = NULL;
    struct nlens_options options = {.size = sizeof options, .task = task};
    CHECK(!nlens_open(files, 1, &options, &error));
    CHECK_INT(nlens_error_status(error), 130);
    nlens_error_free(error);
    nlens_task_free(task);
    nlens_close(profile);
}

static void an_answer_over_the_budget_is_refused(void)
{
    static const char *const files[] = {PROFILE};
    struct nlens_options options = {
        .size = sizeof options, .memory_bytes = 64u << 20, .threads = 1};
    struct nlens_error *error = NULL;
    struct nlens_profile *profile = nlens_open(files, 1, &options, &error);
    REQUIRE(profile);
    CHECK(!nlens_sql(
        profile, "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
        NULL, &error));
    CHECK_INT(nlens_error_status(error), 5);
    nlens_error_free(error);
    nlens_close(profile);
}

/* A sum over all slices of a report's JSON would not show the window; its facts do. */
static bool report_has(struct nlens_profile *profile, const char *section, const char *wanted)
{
    struct nlens_error *error = NULL;
    char *text =
        nlens_report(profile, section ? "analyze" : "info", section, "json", NULL, NULL, &error);
    bool has = text && strstr(text, wanted);
    if (!text)
        CHECK_TEXT(nlens_error_text(error), "a report");
    nlens_error_free(error);
    nlens_free(text);
    return has;
}

static void a_window_is_a_profile_of_its_own(void)
{
    struct nlens_profile *profile = opened();
    struct nlens_error *error = NULL;
    struct nlens_profile *part = nlens_window(profile, "step=10:12", &error);
    REQUIRE(part && !error);
    CHECK(report_has(part, NULL, "\"window\""));
    struct nlens_profile *inner = nlens_window(part, "step=11:20", &error);
    REQUIRE(inner);
    nlens_close(profile); /* what is left keeps the memory */
    nlens_close(part);
    struct nlens_answer *answer = nlens_sql(inner, "SELECT 1", NULL, &error);
    CHECK(!answer && error);
    CHECK_INT(nlens_error_status(error), 2);
    CHECK(strstr(nlens_error_text(error), "WHERE ts < "));
    nlens_error_free(error);
    error = NULL;
    CHECK(nlens_export(inner, "collapsed", "/dev/null", NULL, NULL) ||
          nlens_export(inner, "chrome", "/dev/null", NULL, NULL));
    nlens_close(inner);
}

static void wrong_windows_say_what_there_is(void)
{
    static const char *const wrong[] = {"step=100:200",       "nosuch=1", "rank=1,rank=2", "",
                                        "step=10:11,step=12", "gpu=77",   "5s:6s"};
    struct nlens_profile *profile = opened();
    for (size_t i = 0; i < CHECK_LENGTH(wrong); i++) {
        struct nlens_error *error = NULL;
        CHECK(!nlens_window(profile, wrong[i], &error));
        CHECK(error);
        CHECK_INT(error ? nlens_error_status(error) : 0, 2);
        nlens_error_free(error);
    }
    nlens_close(profile);
}

/* Memory that no answer holds: SQLite's own, while it works. */
static void a_call_over_the_budget_fails(void)
{
    static const char *const files[] = {PROFILE};
    struct nlens_options options = {
        .size = sizeof options, .memory_bytes = 48u << 20, .threads = 1};
    struct nlens_error *error = NULL;
    struct nlens_profile *profile = nlens_open(files, 1, &options, &error);
    REQUIRE(profile);
    CHECK(!nlens_sql(profile,
                     "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT "
                     "length(group_concat(printf('%0900d', i))) FROM n",
                     NULL, &error));
    REQUIRE(error);
    CHECK_INT(nlens_error_status(error), 5);
    CHECK_TEXT(nlens_error_name(error), "NL_MEMORY");
    nlens_error_free(error);
    struct batch batch;
    if (ask(profile, "SELECT count(*) FROM slices", &batch)) /* the profile is as it was */
        drop(&batch);
    nlens_close(profile);
}

static void names_of_runs_need_a_ledger(void)
{
    static const char *const run[] = {"@"}, *const both[] = {"@", PROFILE};
    struct nlens_options options = {.size = sizeof options,
                                    .ledger = CHECK_FOLDER "/no/such/ledger"};
    struct nlens_error *error = NULL;
    CHECK(!nlens_open(run, 1, &options, &error));
    CHECK_INT(error ? nlens_error_status(error) : 0, 4);
    nlens_error_free(error);
    error = NULL;
    CHECK(!nlens_open(both, 2, &options, &error));
    CHECK_INT(error ? nlens_error_status(error) : 0, 2);
    nlens_error_free(error);
}

static void *ask_often(void *profile)
{
    intptr_t wrong = 0;
    for (int i = 0; i < 8; i++) {
        struct batch batch;
        char text[80];
        if (!ask(profile, "SELECT count(*), sum(dur) FROM slices", &batch))
            return (void *)1;
        shown(text, &batch, 0, 0);
        wrong += strcmp(text, COUNT) != 0;
        drop(&batch);
        size_t length = 0;
        char *report =
            nlens_report(profile, "analyze", i % 2 ? "kernels" : NULL, "json", NULL, &length, NULL);
        wrong += !report || strlen(report) != length || report[0] != '{';
        nlens_free(report);
    }
    return (void *)wrong;
}

static void threads_may_ask_at_once(void)
{
    struct nlens_profile *profile = opened();
    pthread_t threads[4];
    for (size_t i = 0; i < CHECK_LENGTH(threads); i++)
        REQUIRE(pthread_create(&threads[i], NULL, ask_often, profile) == 0);
    for (size_t i = 0; i < CHECK_LENGTH(threads); i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
    nlens_close(profile);
}

CHECK_MAIN("engine",
           {"columns have the type that holds all their values",
            columns_have_the_type_that_holds_all_their_values},
           {"many rows keep their places", many_rows_keep_their_places},
           {"columns may be taken one by one", columns_may_be_taken_one_by_one},
           {"an answer without columns is empty", an_answer_without_columns_is_empty},
           {"errors say what is wrong", errors_say_what_is_wrong},
           {"a cancelled task ends calls", a_cancelled_task_ends_calls},
           {"an answer over the budget is refused", an_answer_over_the_budget_is_refused},
           {"a window is a profile of its own", a_window_is_a_profile_of_its_own},
           {"wrong windows say what there is", wrong_windows_say_what_there_is},
           {"a call over the budget fails", a_call_over_the_budget_fails},
           {"names of runs need a ledger", names_of_runs_need_a_ledger},
           {"threads may ask at once", threads_may_ask_at_once})
