/*
 * Tests of two samples, distributions and change points, against SciPy and Apache Otava where their
 * answers are at hand, and against values from tables and from paper everywhere.
 */
#include <jansson.h>

#include "base/mem.h"
#include "check.h"
#include "compare/changepoint.h"
#include "base/median.h"
#include "compare/statdist.h"
#include "compare/stattest.h"

#define CLOSE 1e-9

static json_t *oracle(const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/../../shared/oracles/%s", check_folder, name);
    json_t *document = json_load_file(path, 0, NULL);
    if (!document)
        check_skip("no ../shared");
    return document;
}

static double *numbers(const json_t *list, size_t *count)
{
    *count = json_array_size(list);
    double *values = nl_alloc((*count + 1) * sizeof *values);
    for (size_t i = 0; i < *count; i++)
        values[i] = json_number_value(json_array_get(list, i));
    return values;
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* To 1e-9 of the value, too: probabilities far below it must not pass as 0. */
static void check_close(const char *what, double got, double want)
{
    check_case(what);
    CHECK_NEAR(got, want, CLOSE * fmin(1, fabs(want)) + 1e-300);
}

static void check_sample(const json_t *row)
{
    size_t n, m;
    double *a = numbers(json_object_get(row, "a"), &n), *b = numbers(json_object_get(row, "b"), &m);
    struct nl_welch welch = nl_welch(a, n, b, m);
    struct nl_mann_whitney rank = nl_mann_whitney(a, n, b, m);
    struct nl_kolmogorov ks = nl_kolmogorov(a, n, b, m);
    check_close("U", rank.u, number(row, "U"));
    check_close("p", rank.p, number(row, "p"));
    check_close("p_less", rank.less, number(row, "p_less"));
    check_close("p_asymptotic", rank.asymptotic, number(row, "p_asymptotic"));
    check_close("welch_t", welch.t, number(row, "welch_t"));
    check_close("welch_p", welch.p, number(row, "welch_p"));
    check_close("ks", ks.d, number(row, "ks"));
    check_case("ks_p");
    CHECK_NEAR(ks.p, number(row, "ks_p"), CLOSE);
    check_close("median_a", nl_median_f64(a, n), number(row, "median_a"));
    check_close("median_b", nl_median_f64(b, m), number(row, "median_b"));
    check_close("mad_a", nl_mad(a, n), number(row, "mad_a"));
    nl_free(a);
    nl_free(b);
}

static void tests_agree_with_scipy(void)
{
    json_t *rows = oracle("stats_expected.json");
    if (!rows)
        return;
    CHECK_INT(json_array_size(rows), 8);
    for (size_t i = 0; i < json_array_size(rows); i++)
        check_sample(json_array_get(rows, i));
    json_decref(rows);
}

static void check_changes(const json_t *series, const json_t *row)
{
    const char *name = json_string_value(json_object_get(row, "case"));
    const json_t *set = json_object_get(row, "kw"), *want = json_object_get(row, "change_points");
    struct nl_change_options options = NL_CHANGE_DEFAULTS;
    if (json_object_get(set, "window_len"))
        options.window = (size_t)number(set, "window_len");
    if (json_object_get(set, "min_magnitude"))
        options.magnitude = number(set, "min_magnitude");
    if (json_object_get(set, "max_pvalue"))
        options.p = number(set, "max_pvalue");
    size_t count;
    double *values = numbers(json_object_get(series, name), &count);
    struct nl_change *changes;
    size_t found = nl_change_points(values, count, &options, &changes);
    check_case(name);
    CHECK_INT(found, json_array_size(want));
    for (size_t i = 0; i < found && i < json_array_size(want); i++) {
        const json_t *point = json_array_get(want, i);
        CHECK_INT(changes[i].index, json_integer_value(json_object_get(point, "index")));
        check_close(name, changes[i].p, number(point, "p"));
        check_close(name, changes[i].before, number(point, "mean1"));
        check_close(name, changes[i].after, number(point, "mean2"));
        check_close(name, changes[i].after / changes[i].before - 1, number(point, "rel"));
    }
    nl_free(changes);
    nl_free(values);
}

static void changes_agree_with_otava(void)
{
    json_t *document = oracle("otava_expected.json");
    if (!document)
        return;
    const json_t *results = json_object_get(document, "results");
    CHECK_INT(json_array_size(results), 24);
    for (size_t i = 0; i < json_array_size(results); i++)
        check_changes(json_object_get(document, "series"), json_array_get(results, i));
    json_decref(document);
}

/* Where no oracle is: values of printed tables. */
static void knows_the_distributions(void)
{
    CHECK_NEAR(nl_normal_above(1.959963984540054), 0.025, 1e-12);
    CHECK_NEAR(nl_normal_above(-1), 0.8413447460685429, 1e-12);
    CHECK_NEAR(nl_student_quantile(0.025, 4), 2.7764451051977987, 1e-9);
    CHECK_NEAR(nl_student_quantile(0.01, 8), 2.8964594477096224, 1e-9);
    CHECK_NEAR(nl_student_above(1, 1), 0.25, 1e-12); /* Cauchy: 1/2 - atan(1)/π */
    CHECK_NEAR(nl_student_above(-1, 1), 0.75, 1e-12);
    CHECK_NEAR(nl_incomplete_beta(2, 3, 0.4), 0.5248, 1e-12); /* a polynomial */
    CHECK_NEAR(nl_incomplete_beta(5, 5, 0.5), 0.5, 1e-12);
    for (int i = 1; i < 100; i++)
        CHECK_NEAR(nl_student_above(nl_student_quantile(i / 200.0 - 0.0025 + 0.004, 7), 7),
                   i / 200.0 - 0.0025 + 0.004 < 0.5 ? i / 200.0 - 0.0025 + 0.004 : 0.5, 1e-9);
}

/* Of {1, 2} and {3, 4}: 1 of 6 orders; of {1, 3} and {2, 4}: U = 1, of
 * which 2 orders are at most. */
static void counts_orders_on_paper(void)
{
    double a[] = {2, 1}, b[] = {4, 3}, c[] = {1, 3}, d[] = {2, 4};
    CHECK_NEAR(nl_mann_whitney(a, 2, b, 2).less, 1.0 / 6, 1e-15);
    CHECK_NEAR(nl_mann_whitney(c, 2, d, 2).less, 2.0 / 6, 1e-15);
    CHECK_NEAR(nl_mann_whitney(a, 2, b, 2).p, 2.0 / 6, 1e-15);
    CHECK_NEAR(nl_kolmogorov(a, 2, b, 2).p, 2.0 / 6, 1e-15);
    /* tea tasting: 4 of 4 right by chance once in 70 */
    CHECK_NEAR(nl_fisher_more(0, 4, 4, 4), 1.0 / 70, 1e-12);
    CHECK_NEAR(nl_fisher_more(1, 4, 3, 4), 17.0 / 70, 1e-12);
    CHECK_NEAR(nl_fisher_more(0, 10, 0, 10), 1, 1e-12);
}

/* The example of Benjamini and Hochberg (1995), section 4: 4 of 15 at q = 0.05. */
static void keeps_false_discoveries_low(void)
{
    double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                  0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000, NAN};
    bool flagged[CHECK_LENGTH(p)];
    CHECK_INT(nl_benjamini_hochberg(p, CHECK_LENGTH(p), 0.05, flagged), 4);
    for (size_t i = 0; i < CHECK_LENGTH(p); i++)
        CHECK_INT(flagged[i], i < 4);
}

static void finds_a_step_and_nothing_else(void)
{
    double values[200];
    struct nl_change *changes;
    struct nl_change_options options = NL_CHANGE_DEFAULTS;
    for (int i = 0; i < 200; i++)
        values[i] = (i < 120 ? 100 : 110) + (i * 7 % 11 - 5) / 5.0;
    REQUIRE(nl_change_points(values, 200, &options, &changes) == 1);
    CHECK_INT(changes[0].index, 120);
    CHECK_INT(changes[0].before_count, 120);
    CHECK_NEAR(nl_change_magnitude(&changes[0]), 0.1, 0.002);
    nl_free(changes);
    options.magnitude = 0.2;
    CHECK_INT(nl_change_points(values, 200, &options, &changes), 0);
    nl_free(changes);
    CHECK_INT(nl_change_points(values, 0, &options, &changes), 0);
    nl_free(changes);
}

CHECK_MAIN("stats", {"tests agree with SciPy", tests_agree_with_scipy},
           {"changes agree with Otava", changes_agree_with_otava},
           {"knows the distributions", knows_the_distributions},
           {"counts orders on paper", counts_orders_on_paper},
           {"keeps false discoveries low", keeps_false_discoveries_low},
           {"finds a step and nothing else", finds_a_step_and_nothing_else})
