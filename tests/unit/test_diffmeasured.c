/* The sentence of a diff on what was measured and how sure it is (compare/difftext.c), and what is
 * said where runs without the profiler are judged. */
#include "difftextmade.h"

static void how_sure(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    struct diff_doc *doc = &made.doc;
    CHECK_TEXT(
        sentence(&made, "Measured"),
        "Measured: 1 and 1 capture, 12 and 13 steady steps; one capture per side: captures of "
        "one program differ by a percent or more.");
    doc->base.warm_up = 2;
    doc->changed.compile = 1;
    doc->noise = (struct nl_noise){.sd = 0.03, .df = 4, .runs = 5, .host = "node1"};
    CHECK_TEXT(sentence(&made, "Measured"),
               "Measured: 1 and 1 capture, 12 and 13 steady steps (2 and 1 excluded as warm-up or "
               "compile); captures of this program differ by 3.0 % on node1 (5 runs in the "
               "ledger).");
    doc->base.warm_up = doc->changed.compile = 0;
    doc->base.compile = doc->changed.warm_up = 3;
    doc->noise.host = NULL;
    doc->sureness.outlying = "a2.json";
    CHECK_TEXT(sentence(&made, "Measured"),
               "Measured: 1 and 1 capture, 12 and 13 steady steps (3 and 3 excluded as warm-up or "
               "compile); captures of this program differ by 3.0 % (5 runs in the ledger); far "
               "from the others of its side: a2.json.");
    doc->base.compile = doc->changed.warm_up = 0;
    doc->sureness.outlying = NULL;
    doc->changed.mean = 130000;
    CHECK_TEXT(sentence(&made, "Measured"),
               "Measured: 1 and 1 capture, 12 and 13 steady steps; single steps weigh much: the "
               "typical step changes by +20.0 %, the mean by +30.0 %; captures of this program "
               "differ by 3.0 % (5 runs in the ledger).");
    doc->changed.mean = 120000;
    doc->base.by_step = false;
    CHECK_TEXT(sentence(&made, "Measured"),
               "Measured: 1 and 1 capture; captures of this program differ by 3.0 % (5 runs in "
               "the ledger).");
    doc->sureness.verdict = DIFF_INCOMPARABLE;
    CHECK_TEXT(sentence(&made, "Measured"), "");
    doc->sureness.verdict = DIFF_UNKNOWN;
    doc->sureness.low = NAN;
    CHECK_TEXT(sentence(&made, "Measured"), "");
    difftext_release(&made);
}

/* One capture per side, on either, does not show how captures differ. */
static void captures(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    struct diff_doc *doc = &made.doc;
    struct diff_side several[2][2] = {{doc->base, doc->base}, {doc->changed, doc->changed}};
    for (size_t n = 1; n <= 2; n++)
        for (size_t m = 1; m <= 2; m++) {
            char want[80];
            doc->base.captures = n > 1 ? several[0] : NULL;
            doc->changed.captures = m > 1 ? several[1] : NULL;
            doc->base.capture_count = n > 1 ? n : 0;
            doc->changed.capture_count = m > 1 ? m : 0;
            snprintf(want, sizeof want, "Measured: %zu and %zu capture%s, 12 and 13 steady steps",
                     n, m, n + m > 2 ? "s" : "");
            const char *text = sentence(&made, "Measured");
            CHECK(!strncmp(text, want, strlen(want)));
            CHECK_INT(strstr(text, "one capture per side") != NULL, n + m < 4);
        }
    doc->base.captures = doc->changed.captures = NULL;
    doc->base.capture_count = doc->changed.capture_count = 0;
    difftext_release(&made);
}

static void excluded_steps(void)
{
    static const struct {
        size_t warm_up[2], compile[2];
        const char *text;
    } cases[] = {{{0, 0}, {0, 0}, NULL},
                 {{1, 0}, {0, 0}, "(1 and 0 excluded"},
                 {{0, 0}, {0, 1}, "(0 and 1 excluded"},
                 {{1, 0}, {1, 0}, "(2 and 0 excluded"},
                 {{0, 1}, {0, 1}, "(0 and 2 excluded"},
                 {{1, 1}, {0, 0}, "(1 and 1 excluded"},
                 {{0, 0}, {3, 3}, "(3 and 3 excluded"}};
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        made.doc.base.warm_up = cases[i].warm_up[0];
        made.doc.changed.warm_up = cases[i].warm_up[1];
        made.doc.base.compile = cases[i].compile[0];
        made.doc.changed.compile = cases[i].compile[1];
        const char *text = strstr(sentence(&made, "Measured"), "(");
        CHECK_INT(text != NULL, cases[i].text != NULL);
        CHECK(!text || !strncmp(text, cases[i].text, strlen(cases[i].text)));
    }
    difftext_release(&made);
}

static void what_would_decide(void)
{
    static const struct {
        size_t more;
        double ratio;
        enum diff_verdict verdict;
        const char *text;
    } cases[] = {
        {1, 1.03, DIFF_UNTOLD, "; 1 more capture per side would decide a change of 3.0 %"},
        {2, 0.96, DIFF_UNTOLD, "; 2 more captures per side would decide a change of 4.0 %"},
        {2, 1.015, DIFF_UNTOLD, "; 2 more captures per side would decide a change of 2.0 %"},
        {2, 0.985, DIFF_UNTOLD, "; 2 more captures per side would decide a change of 2.0 %"},
        {0, 1.03, DIFF_UNTOLD, ""},
        {SIZE_MAX, 1.03, DIFF_UNTOLD,
         "; more captures would not decide soon: find out why they differ so"},
        {2, 1.03, DIFF_NO_CHANGE, ""},
    };
    struct difftext made;
    REQUIRE(difftext_make(&made));
    made.doc.base.length_count = made.doc.changed.length_count = 0;
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char want[300];
        made.doc.sureness.verdict = cases[i].verdict;
        made.doc.sureness.more = cases[i].more;
        made.doc.sureness.ratio = cases[i].ratio;
        made.doc.changed.mean = (int64_t)(100000 * cases[i].ratio);
        snprintf(
            want, sizeof want,
            "Measured: 1 and 1 capture; one capture per side: captures of one program differ by "
            "a percent or more%s.",
            cases[i].text);
        CHECK_TEXT(sentence(&made, "Measured"), want);
    }
    difftext_release(&made);
}

/* What other programs took is said from 1 % of either side on. */
static void what_others_took(void)
{
    static const struct {
        int64_t base, changed; /* of 99 us each */
        const char *shares;
    } cases[] = {
        {0, 0, NULL}, {999, 999, NULL}, {1000, 0, "1.0 % and 0.0 %"}, {0, 1000, "0.0 % and 1.0 %"}};
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char want[200] = "";
        made.doc.base.kept_ns = cases[i].base;
        made.doc.changed.kept_ns = cases[i].changed;
        made.doc.base.sum = made.doc.changed.sum = 99000;
        made.doc.base.unit = made.doc.changed.unit = DIFF_BY_HOST;
        made.doc.base.preempt = made.doc.changed.preempt = (struct nl_preempt *)&made;
        if (cases[i].shares)
            snprintf(want, sizeof want,
                     "; other programs had the processor for %s of the time, which is left out;",
                     cases[i].shares);
        const char *text = sentence(&made, "Measured");
        CHECK_INT(strstr(text, "other programs had") != NULL, cases[i].shares != NULL);
        CHECK(strstr(text, want) != NULL);
        made.doc.base.preempt = made.doc.changed.preempt = NULL;
    }
    difftext_release(&made);
}

/* Runs without the profiler are judged in place of steps; parts are of what ran under it. */
static void plain_runs(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    struct diff_doc *doc = &made.doc;
    for (size_t i = 0; i < 3; i++) {
        made.plain[0][i] = 70e3 + 1000 * (double)i;
        made.plain[1][i] = 84e3 + 1000 * (double)i;
    }
    doc->base.plain = made.plain[0];
    doc->changed.plain = made.plain[1];
    doc->base.plain_count = doc->changed.plain_count = 3;
    doc->base.warm_up = 1;
    doc->sureness.ratio = 85.0 / 71;
    CHECK_TEXT(sentence(&made, NULL), "Slower by 19.7 % (95 %: +15.0 % to +25.0 %): typical run "
                                      "without the profiler 71.00 µs → 85.00 µs.");
    CHECK_TEXT(sentence(&made, "Parts"), "Parts are of what ran under the profiler: a steady step "
                                         "of a device 100.0 µs → 120.0 µs (+20.0 %).");
    CHECK_TEXT(
        sentence(&made, "Measured"),
        "Measured: 1 and 1 capture, 3 and 3 runs without the profiler; one capture per side: "
        "captures of one program differ by a percent or more.");
    doc->pace.other_work = true; /* runs are of one amount each */
    CHECK_TEXT(sentence(&made, "Parts"),
               "Parts are of what ran under the profiler: a steady step of a device 100.0 µs → "
               "120.0 µs (+20.0 %), of unequal amounts of work.");
    doc->sureness.mean_ratio = 1.3;
    CHECK_TEXT(sentence(&made, NULL),
               "Slower by 19.7 % (95 %: +15.0 % to +25.0 %) in the typical run, the mean by +30.0 "
               "%: typical run without the profiler 71.00 µs → 85.00 µs (+19.7 %).");
    doc->sureness.basis = DIFF_BY_TAIL;
    CHECK_TEXT(
        sentence(&made, NULL),
        "Slower by 30.0 % on average: 1 of 12 runs in A and 2 of 13 in B take over 1.1 times "
        "the typical run, which changes by +19.7 %.");
    doc->base.plain = doc->changed.plain = NULL;
    difftext_release(&made);
}

CHECK_MAIN("diffmeasured", {"how sure", how_sure}, {"captures", captures},
           {"excluded steps", excluded_steps}, {"what would decide", what_would_decide},
           {"what others took", what_others_took}, {"plain runs", plain_runs})
