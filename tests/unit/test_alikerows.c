/* Rows of idle causes that differ in a column that is left out are one row; other tables are left as they are. */
#include "view/alikerows.h"
#include "check.h"

static const struct nl_result_column columns[] = {{"class", NULL, NL_MEANS_TEXT},
                                                  {"activity", NULL, NL_MEANS_TEXT},
                                                  {"gaps", NULL, NL_MEANS_COUNT},
                                                  {"total_ns", NULL, NL_MEANS_NS},
                                                  {"wall_share", NULL, NL_MEANS_SHARE}};

static void add(struct nl_result *result, const char *class, const char *activity, int64_t gaps,
                int64_t ns, double share)
{
    struct nl_cell *row = nl_result_row(result);
    row[0] = nl_cell_text(result, nl_str(class));
    row[1] = nl_cell_text(result, nl_str(activity));
    row[2] = nl_cell_i64(gaps);
    row[3] = nl_cell_i64(ns);
    row[4] = nl_cell_f64(share);
}

static struct nl_result *causes_as(const char *name)
{
    struct nl_result *result = nl_result_new(name, "What the CPU did", columns, 5);
    add(result, "queued", "operator", 9, 600, 0.6);
    add(result, "queued", "queued", 2, 500, 0.25);
    add(result, "host_late", "queued", 3, 400, 0.5);
    add(result, "host_late", "copy call", 1, 100, 0.125);
    return result;
}

static void adds_up(void)
{
    bool skip[5] = {true};
    struct nl_alikerows alike;
    struct nl_result *result = causes_as("idle_causes");
    nl_alikerows_init(&alike, result, skip);
    CHECK_INT((int64_t)alike.shown.rows, 3);
    CHECK(nl_str_eq(nl_result_cell(&alike.shown, 0, 1)->text, nl_str("queued")));
    CHECK_INT(nl_result_cell(&alike.shown, 0, 2)->i64, 5);
    CHECK_INT(nl_result_cell(&alike.shown, 0, 3)->i64, 900);
    CHECK(nl_result_cell(&alike.shown, 0, 4)->f64 == 0.75);
    CHECK_INT(nl_result_cell(&alike.shown, 1, 3)->i64, 600);
    CHECK_INT(nl_result_cell(&alike.shown, 2, 3)->i64, 100);
    CHECK_INT(nl_result_cell(result, 1, 3)->i64, 500); /* the table itself is as it was */
    nl_alikerows_release(&alike);
    nl_result_free(result);
}

static void keeps_apart(void)
{
    bool none[5] = {false}, skip[5] = {true};
    struct nl_alikerows alike;
    struct nl_result *result = causes_as("idle_causes"), *other = causes_as("kernels");
    nl_alikerows_init(&alike, result, none); /* the class is shown: nothing looks alike */
    CHECK_INT((int64_t)alike.shown.rows, 4);
    nl_alikerows_release(&alike);
    nl_alikerows_init(&alike, other, skip); /* its numbers may be no sums */
    CHECK_INT((int64_t)alike.shown.rows, 4);
    nl_alikerows_release(&alike);
    nl_result_free(result);
    nl_result_free(other);
}

CHECK_MAIN("alikerows", {"rows that look alike add up", adds_up},
           {"rows that are told apart stay", keeps_apart})
