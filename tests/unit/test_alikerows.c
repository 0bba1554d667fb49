/* Rows of idle causes that differ in a column that is left out are one row; other tables get the
 * column that tells them apart. */
#include "view/alikerows.h"
#include "check.h"
#include "tables/resultcells.h"

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

/* Captures of one device have one label: what is added up over them is a share of them all. */
static void shares_of_captures(void)
{
    static const struct nl_result_column of[] = {{"rank", NULL, NL_MEANS_INTEGER},
                                                 {"device", NULL, NL_MEANS_INTEGER},
                                                 {"total_ns", NULL, NL_MEANS_NS},
                                                 {"wall_share", NULL, NL_MEANS_SHARE}},
                                         walls[] = {{"rank", NULL, NL_MEANS_INTEGER},
                                                    {"device", NULL, NL_MEANS_INTEGER},
                                                    {"wall_ns", NULL, NL_MEANS_NS}};
    static const int64_t rows[][3] = {{0, 90, 100}, {0, 60, 100}, {1, 30, 40}}; /* device, of it */
    bool none[4] = {false};
    struct nl_result *causes = nl_result_new("idle_causes", "What the CPU did", of, 4),
                     *devices = nl_result_new("breakdown", "Devices", walls, 3);
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_cell *row = nl_result_row(causes), *device = nl_result_row(devices);
        row[1] = device[1] = nl_cell_i64(rows[i][0]);
        row[2] = nl_cell_i64(rows[i][1]);
        row[3] = nl_cell_share(rows[i][1], rows[i][2]);
        device[2] = nl_cell_i64(rows[i][2]);
    }
    struct nl_alikerows alike;
    nl_alikerows_init(&alike, causes, none);
    nl_alikerows_share(&alike, devices);
    CHECK_INT((int64_t)alike.shown.rows, 2);
    CHECK_INT(nl_result_cell(&alike.shown, 0, 2)->i64, 150);
    CHECK(nl_result_cell(&alike.shown, 0, 3)->f64 == 0.75); /* not 1.5 */
    CHECK(nl_result_cell(&alike.shown, 1, 3)->f64 == 0.75);
    nl_alikerows_share(&alike, NULL);
    nl_alikerows_release(&alike);
    nl_result_free(causes);
    nl_result_free(devices);
}

/* all_reduce and AllReduce are one word to a reader; numbers tell nothing apart. */
static void takes_in_columns(void)
{
    static const struct nl_result_column of[] = {{"side", NULL, NL_MEANS_TEXT},
                                                 {"operation", NULL, NL_MEANS_TEXT},
                                                 {"group", NULL, NL_MEANS_TEXT},
                                                 {"bytes", NULL, NL_MEANS_BYTES}};
    static const char *const rows[][3] = {{"device", "all_reduce", "1"},
                                          {"device", "broadcast", "1"},
                                          {"host", "AllReduce", "1"},
                                          {"host", "AllReduce", "2"}};
    struct nl_result *result = nl_result_new("collectives", "Communication", of, 4);
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        struct nl_cell *row = nl_result_row(result);
        for (size_t k = 0; k < 3; k++)
            row[k] = nl_cell_text(result, nl_str(rows[i][k]));
        row[3] = nl_cell_i64((int64_t)i);
    }
    bool two[4] = {true, false, true, false}, three[4] = {true, false, true, false},
         all[4] = {true, false, true, false};
    nl_alikerows_tell(result, 2, two);
    CHECK(two[0] && two[2]);
    nl_alikerows_tell(result, 3, three);
    CHECK(!three[0] && three[2]);
    nl_alikerows_tell(result, 9, all); /* more rows than there are */
    CHECK(!all[0] && !all[2] && !all[1] && !all[3]);
    nl_result_free(result);
}

CHECK_MAIN("alikerows", {"columns that tell rows apart are taken in", takes_in_columns},
           {"rows that look alike add up", adds_up},
           {"shares of captures are of all captures", shares_of_captures},
           {"rows that are told apart stay", keeps_apart})
