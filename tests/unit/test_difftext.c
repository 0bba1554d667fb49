/* The sentences on top of a diff (compare/difftext.c) about a comparison whose numbers are made by
 * hand: every verdict, every limit from which on something is said. */
#include "difftextmade.h"

/* ---- the verdict ---- */

static void typical_step(void)
{
    static const struct {
        int64_t base, changed;
        const char *text;
    } cases[] = {
        {100000, 120000, ": mean step 100.0 µs → 120.0 µs."},
        {100000, 120199, ": mean step 100.0 µs → 120.2 µs."}, /* 0.2 % of what was said */
        {100000, 120201, ": mean step 100.0 µs → 120.2 µs (+20.2 %)."},
        {100000, 119799, ": mean step 100.0 µs → 119.8 µs (+19.8 %)."},
        {100000, 125999, ": mean step 100.0 µs → 126.0 µs (+26.0 %)."}, /* 5 % of the ratio */
        {100000, 126001,
         " in the typical step, the mean by +26.0 %: mean step 100.0 µs → 126.0 µs."},
        {100000, 113999,
         " in the typical step, the mean by +14.0 %: mean step 100.0 µs → 114.0 µs."},
        {100000, 100000, " in the typical step, the mean by 0.0 %: mean step 100.0 µs."},
    };
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        char want[200];
        made.doc.base.mean = cases[i].base;
        made.doc.changed.mean = cases[i].changed;
        snprintf(want, sizeof want, "Slower by 20.0 %% (95 %%: +15.0 %% to +25.0 %%)%s",
                 cases[i].text);
        CHECK_TEXT(sentence(&made, NULL), want);
    }
    made.doc.sureness.verdict = DIFF_FASTER;
    made.doc.sureness.ratio = 0.9;
    made.doc.sureness.low = 0.85;
    made.doc.sureness.high = 0.95;
    made.doc.changed.mean = 90000;
    CHECK_TEXT(sentence(&made, NULL), "Faster by 10.0 % (95 %: -15.0 % to -5.0 %): mean step "
                                      "100.0 µs → 90.00 µs.");
    made.doc.changed.mean = 100000;
    made.doc.base.by_step = false; /* of what is no step there is no typical one */
    CHECK_TEXT(sentence(&made, NULL), "Faster by 10.0 % (95 %: -15.0 % to -5.0 %): a steady step "
                                      "of a device 100.0 µs.");
    difftext_release(&made);
}

static void other_verdicts(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    struct diff_sureness *s = &made.doc.sureness;
    s->basis = DIFF_BY_MEAN;
    s->ratio = 0.99;
    CHECK_TEXT(sentence(&made, NULL),
               "Slower by 20.0 % on average (95 %: +10.0 % to +30.0 %): 1 of 12 steps in A and 2 "
               "of 13 in B take over 1.1 times the typical step, which changes by -1.0 %.");
    s->basis = DIFF_BY_TAIL;
    CHECK_TEXT(sentence(&made, NULL),
               "Slower by 20.0 % on average: 1 of 12 steps in A and 2 of 13 in B take over 1.1 "
               "times the typical step, which changes by -1.0 %.");
    s->basis = DIFF_BY_TYPICAL;
    s->ratio = 1.2;
    s->verdict = DIFF_NO_CHANGE;
    CHECK_TEXT(sentence(&made, NULL), "No significant change: +20.0 % (95 %: +15.0 % to +25.0 %): "
                                      "mean step 100.0 µs → 120.0 µs.");
    s->ratio = 1;
    CHECK_TEXT(sentence(&made, NULL),
               "No significant change: the typical step 0.0 % (95 %: +15.0 % to +25.0 %), the mean "
               "+20.0 %: mean step 100.0 µs → 120.0 µs.");
    s->verdict = DIFF_UNTOLD;
    s->ratio = 11;
    made.doc.changed.mean = 1100000;
    CHECK_TEXT(sentence(&made, NULL), "Inconclusive: ×11 (95 %: +15.0 % to +25.0 %): mean step "
                                      "100.0 µs → 1.100 ms.");
    s->verdict = DIFF_UNKNOWN;
    s->low = s->high = NAN;
    CHECK_TEXT(sentence(&made, NULL),
               "Slower by 1000.0 %, but not certain: mean step 100.0 µs → 1.100 ms; REASON.");
    s->verdict = DIFF_INCOMPARABLE;
    CHECK_TEXT(sentence(&made, NULL),
               "Cannot compare: REASON. As they are, mean step 100.0 µs → 1.100 ms.");
    made.doc.base.unit = made.doc.changed.unit = DIFF_UNITS;
    CHECK_TEXT(sentence(&made, NULL), "Cannot compare: REASON.");
    difftext_release(&made);
}

/* What is a quarter apart is called slower or faster, though that is not certain. */
static void far_apart(void)
{
    static const struct {
        double ratio;
        int64_t changed;
        enum diff_unit unit;
        const char *text;
    } cases[] = {
        {1.2501, 125010, DIFF_BY_STEP, "Slower by 25.0 %, but not certain: "},
        {1.25, 125000, DIFF_BY_STEP, "Slower by 25.0 %, but not certain: "},
        {1.2499, 124990, DIFF_BY_STEP, "Inconclusive: +25.0 %: "},
        {0.7999, 79990, DIFF_BY_STEP, "Faster by 20.0 %, but not certain: "},
        {0.8001, 80010, DIFF_BY_STEP, "Inconclusive: -20.0 %: "},
        {1.3, 130000, DIFF_BY_FUNCTION, "Inconclusive: +30.0 %: "},
        {1.3, 110000, DIFF_BY_STEP, "Inconclusive: the typical step +30.0 %, the mean +10.0 %: "},
    };
    struct difftext made;
    REQUIRE(difftext_make(&made));
    made.doc.sureness.low = made.doc.sureness.high = NAN;
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        made.doc.base.unit = made.doc.changed.unit = cases[i].unit;
        made.doc.changed.mean = cases[i].changed;
        made.doc.sureness.ratio = cases[i].ratio;
        made.doc.sureness.verdict = DIFF_UNKNOWN;
        const char *text = sentence(&made, NULL);
        CHECK_STR(((struct nl_str){text, strnlen(text, strlen(cases[i].text))}), cases[i].text);
        made.doc.sureness.verdict = DIFF_UNTOLD;
        CHECK(!strstr(sentence(&made, NULL), "not certain"));
    }
    difftext_release(&made);
}

/* Equal times and equal parts: no difference, whatever the verdict. */
static void no_difference(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    made.doc.changed.mean = 100000;
    for (size_t i = 0; i < 3; i++)
        made.rows[i].changed_ns = made.rows[i].base_ns;
    CHECK(diff_is_same(&made.doc));
    CHECK_TEXT(sentence(&made, NULL),
               "No difference: mean step 100.0 µs, and every part is the same.");
    CHECK_INT(made.report.headline_count, 1);
    made.doc.changed.mean++;
    CHECK(!diff_is_same(&made.doc));
    made.doc.changed.mean--;
    made.rows[2].changed_ns++;
    CHECK(!diff_is_same(&made.doc));
    made.rows[2].changed_ns--;
    made.rows[0].match = DIFF_RENAMED;
    CHECK(!diff_is_same(&made.doc));
    made.rows[0].match = DIFF_SAME;
    made.doc.base.plain = made.plain[0];
    made.doc.changed.plain = made.plain[1];
    made.doc.base.plain_count = made.doc.changed.plain_count = 1;
    made.plain[0][0] = made.plain[1][0] = 70000;
    CHECK(diff_is_same(&made.doc));
    made.plain[1][0] = 70001;
    CHECK(!diff_is_same(&made.doc));
    made.doc.base.plain = made.doc.changed.plain = NULL;
    difftext_release(&made);
}

/* Noise is where no verdict is, and every part that changed is known to vary by itself. */
static void noise(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < 3; i++)
        made.rows[i].p = 0.5;
    for (unsigned verdict = 0; verdict < DIFF_VERDICTS; verdict++) {
        made.doc.sureness.verdict = (enum diff_verdict)verdict;
        CHECK_INT(diff_is_noise(&made.doc), verdict == DIFF_UNTOLD || verdict == DIFF_NO_CHANGE);
    }
    made.doc.sureness.verdict = DIFF_UNTOLD;
    CHECK_TEXT(sentence(&made, "Because"), "Because: +20.00 µs = compute +15.00 µs, idle +5.000 "
                                           "µs; none of it is beyond noise.");
    CHECK_TEXT(sentence(&made, "Most"), "");
    made.rows[1].flagged = true;
    CHECK(!diff_is_noise(&made.doc));
    CHECK_TEXT(sentence(&made, "Because"),
               "Because: +20.00 µs = compute +15.00 µs, idle +5.000 µs.");
    made.rows[1].flagged = false;
    made.rows[1].p = NAN;
    CHECK(!diff_is_noise(&made.doc));
    made.rows[1].changed_ns = made.rows[1].base_ns;
    CHECK(diff_is_noise(&made.doc));
    made.rows[0].match = DIFF_ADDED;
    CHECK(!diff_is_noise(&made.doc));
    made.rows[0].match = DIFF_SAME;
    made.rows[2].match = DIFF_ADDED; /* of idle time there is always something */
    CHECK(diff_is_noise(&made.doc));
    difftext_release(&made);
}

/* ---- less of the same work ---- */

static void other_work(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    struct diff_pace *pace = &made.doc.pace;
    *pace = (struct diff_pace){200, 150, 500, 600, true, true};
    made.doc.base.by_step = made.doc.changed.by_step = false;
    made.doc.base.unit = made.doc.changed.unit = DIFF_BY_WALL;
    made.doc.base.device_count = 1;
    made.doc.sureness.verdict = DIFF_UNTOLD;
    CHECK_TEXT(sentence(&made, NULL),
               "Inconclusive without steps: per operation, B takes 20.0 % longer (500 ns → 600 "
               "ns); both captures span the same time (first to last GPU operation 100.0 µs → "
               "120.0 µs), and B did 25.0 % less of the same work: 200 and 150 operations, 2000000 "
               "and 1666667 a second. Mark steps, or give windows of the same work.");
    pace->same_length = false;
    pace->changed_pieces = 300;
    pace->base_piece_ns = 2000000;
    pace->changed_piece_ns = 1000001;
    made.doc.base.device_count = 2;
    CHECK_TEXT(sentence(&made, NULL),
               "Inconclusive without steps: per operation, B takes 50.0 % less (2.000 ms → 1.000 "
               "ms); the times are of unequal amounts of work (first to last GPU operation 100.0 "
               "µs → 120.0 µs), and B did 50.0 % more of the same work: 200 and 300 operations a "
               "device, 500 and 1000 a second. Mark steps, or give windows of the same work.");
    pace->changed_piece_ns = 100003; /* four digits would say 1e+04 */
    CHECK(strstr(sentence(&made, NULL), ", 500 and 10000 a second"));
    pace->same_length = true;
    pace->base_piece_ns = 100;
    pace->changed_piece_ns = 1000;
    made.doc.base.unit = made.doc.changed.unit = DIFF_BY_HOST;
    made.doc.base.window.has_time = true;
    CHECK_TEXT(sentence(&made, NULL),
               "Inconclusive without steps: per operation, B takes 900.0 % longer (100 ns → 1.000 "
               "µs); both windows span the same time (self time on threads 100.0 µs → 120.0 µs), "
               "and B did 50.0 % more of the same work: 200 and 300 operations. Mark steps, or "
               "give windows of the same work.");
    pace->changed_piece_ns = 1001;
    made.doc.base.window.has_time = false;
    made.doc.changed.window.has_time = true;
    made.doc.sureness.verdict = DIFF_NO_CHANGE;
    CHECK_TEXT(sentence(&made, NULL),
               "No significant change: +20.0 % (95 %: +15.0 % to +25.0 %): self time on threads "
               "100.0 µs → 120.0 µs. Without steps, by work: per operation, B takes 10 times as "
               "long (100 ns → 1.001 µs); both windows span the same time (self time on threads "
               "100.0 µs → 120.0 µs), and B did 50.0 % more of the same work: 200 and 300 "
               "operations. Mark steps, or give windows of the same work.");
    for (unsigned verdict = 0; verdict < DIFF_VERDICTS; verdict++) {
        bool besides =
            verdict == DIFF_SLOWER || verdict == DIFF_FASTER || verdict == DIFF_NO_CHANGE;
        made.doc.sureness.verdict = (enum diff_verdict)verdict;
        CHECK_INT(strstr(sentence(&made, NULL), " Without steps, by work: ") != NULL, besides);
    }
    pace->other_work = false;
    CHECK(!strstr(sentence(&made, NULL), "by work"));
    difftext_release(&made);
}

/* ---- whole steps ---- */

/* Self times of operators say nothing of the time between them. */
static void whole_steps(void)
{
    static const struct {
        int64_t changed;
        bool by_step, said;
    } cases[] = {{720000, true, true},   {300001, true, true},  {299999, true, false},
                 {191999, true, true},   {192001, true, false}, {240000, true, false},
                 {720000, false, false}, {2400000, true, true}};
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_span a[3] = {{.start = 10, .end = 200010}, {.end = 1}, {.end = 900000}};
        struct diff_span b[1] = {{.start = 7, .end = 7 + cases[i].changed}};
        made.doc.base.unit = made.doc.changed.unit = DIFF_BY_HOST;
        made.doc.changed.by_step = cases[i].by_step;
        made.doc.base.spans = a;
        made.doc.base.span_count = 3;
        made.doc.changed.spans = b;
        made.doc.changed.span_count = 1;
        const char *said = strstr(sentence(&made, NULL), " Whole steps");
        CHECK_INT(said != NULL, cases[i].said);
        if (i == 0)
            CHECK_TEXT(said ? said : "",
                       " Whole steps, with waits and what was not recorded: median 200.0 µs → "
                       "720.0 µs (+260.0 %).");
        made.doc.base.unit = made.doc.changed.unit = DIFF_BY_STEP;
        CHECK(!strstr(sentence(&made, NULL), " Whole steps"));
        made.doc.base.unit = made.doc.changed.unit = DIFF_BY_HOST;
        made.doc.sureness.verdict = DIFF_INCOMPARABLE;
        CHECK(!strstr(sentence(&made, NULL), " Whole steps"));
        made.doc.sureness.verdict = DIFF_SLOWER;
        made.doc.base.spans = made.doc.changed.spans = NULL;
        made.doc.base.span_count = made.doc.changed.span_count = 0;
    }
    difftext_release(&made);
}

/* ---- because of what ---- */

static void parts(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    CHECK_TEXT(sentence(&made, "Because"),
               "Because: +20.00 µs = compute +15.00 µs, idle +5.000 µs.");
    made.rows[3] = difftext_row(DIFF_COMM, "ncclAllReduce", 4000, 3000);
    made.rows[4] = difftext_row(DIFF_COPY, "copy HtoD", 1000, 1001);
    made.rows[2].changed_ns = made.rows[2].base_ns;
    made.doc.rows.count = 5;
    CHECK_TEXT(sentence(&made, "Because"),
               "Because: +20.00 µs = compute +15.00 µs, exposed communication -1.000 µs, exposed "
               "copies +1 ns.");
    made.doc.base.unit = made.doc.changed.unit = DIFF_BY_WORK;
    CHECK(*sentence(&made, "Because"));
    made.doc.base.unit = made.doc.changed.unit = DIFF_BY_HOST;
    CHECK_TEXT(sentence(&made, "Because"), "");
    difftext_release(&made);
}

/* Where all kernels, or nearly all, take as much longer, one of them is named. */
static void clocks(void)
{
    static const struct {
        double longer[4];
        const char *text, *most;
    } cases[] = {
        {{1.2, 1.2, 1.2, 1.2},
         " Every kernel takes 20.0 % longer: clocks or power of the GPU, not the code (4 of 4 "
         "kernels alike).",
         "Most: a +8.000 µs, a call 4.000 µs → 4.800 µs (+20.0 %)."},
        {{0.8, 0.8, 0.8, 1},
         " Nearly every kernel takes 20.0 % less: clocks or power of the GPU, not the code (3 of 4 "
         "kernels alike).",
         "Most: a -8.000 µs, a call 4.000 µs → 3.200 µs (-20.0 %)."},
        {{1.2, 1.2, 1, 1},
         NULL,
         "Most: a +8.000 µs, a call 4.000 µs → 4.800 µs (+20.0 %); b +4.000 µs, a call 2.000 µs → "
         "2.400 µs (+20.0 %)."},
    };
    static const char *const names[] = {"a", "b", "c", "d"};
    static const int64_t lengths[] = {40000, 20000, 20000, 10000};
    struct difftext made;
    REQUIRE(difftext_make(&made));
    made.doc.rows.count = 4;
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        for (size_t k = 0; k < 4; k++) {
            int64_t changed = llround((double)lengths[k] * cases[i].longer[k]);
            made.rows[k] = difftext_row(DIFF_COMPUTE, names[k], lengths[k], changed);
            made.rows[k].base_gross = lengths[k];
            made.rows[k].changed_gross = changed;
        }
        const char *because = sentence(&made, "Because");
        CHECK_INT(strstr(because, "clocks") != NULL, cases[i].text != NULL);
        if (cases[i].text)
            CHECK_TEXT(strstr(because, ". ") ? strstr(because, ". ") + 1 : "", cases[i].text);
        CHECK_TEXT(sentence(&made, "Most"), cases[i].most);
    }
    difftext_release(&made);
}

/* The largest three; after the first none that varies as much by itself. */
static void rows(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    CHECK_TEXT(sentence(&made, "Most"),
               "Most: gemm +16.00 µs, by time per call; gelu -1.000 µs, by time per call; idle, "
               "launch +5.000 µs.");
    made.rows[3] = difftext_row(DIFF_COMPUTE, "tanh", 4000, 3500);
    made.doc.rows.count = 4;
    CHECK(!strstr(sentence(&made, "Most"), "tanh"));
    made.rows[1].changed_ns = made.rows[1].base_ns; /* did not change */
    CHECK_TEXT(sentence(&made, "Most"), "Most: gemm +16.00 µs, by time per call; idle, launch "
                                        "+5.000 µs; tanh -500 ns, by time per call.");
    made.rows[2].p = made.rows[3].p = 0.5;
    CHECK_TEXT(sentence(&made, "Most"), "Most: gemm +16.00 µs, by time per call.");
    made.rows[0].p = 0.5;
    CHECK_TEXT(sentence(&made, "Most"), "Most: gemm +16.00 µs, by time per call.");
    made.rows[3].flagged = true;
    CHECK_TEXT(sentence(&made, "Beyond"), "Beyond noise: tanh -500 ns, by time per call.");
    CHECK_TEXT(sentence(&made, "Most"), "");
    difftext_release(&made);
}

/* From half a percent of the time on. */
static void renamed(void)
{
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < 2; i++) {
        made.rows[i].match = DIFF_RENAMED;
        made.rows[i].changed = nl_str(i ? "gelu_v2" : "gemm_v2");
    }
    made.rows[0].base_ns = made.rows[0].changed_ns = 500;
    made.rows[1].base_ns = made.rows[1].changed_ns = 499;
    CHECK_TEXT(sentence(&made, "Most"),
               "Most: idle, launch +5.000 µs. Renamed, same time a call: gemm → gemm_v2.");
    made.rows[1].base_ns = 500;
    CHECK_TEXT(sentence(&made, "Most"), "Most: idle, launch +5.000 µs. Renamed, same time a call: "
                                        "gemm → gemm_v2 and 1 more.");
    made.rows[2].changed_ns = made.rows[2].base_ns;
    made.rows[1].changed = made.rows[1].base;
    CHECK_TEXT(sentence(&made, "Renamed"), "Renamed, same time a call: gemm → gemm_v2.");
    made.rows[0].group = DIFF_IDLE;
    CHECK_TEXT(sentence(&made, "Renamed"), "");
    made.rows[0].group = DIFF_COMPUTE;
    made.rows[0].changed_ns = 5000;
    made.rows[0].flagged = true; /* as any that changed */
    CHECK_TEXT(sentence(&made, "Most"), "Most: gemm_v2 (renamed) +4.500 µs, by time per call. "
                                        "Renamed, same time a call: gemm → gemm_v2.");
    difftext_release(&made);
}

/* A command that is longer than a line is in the table alone. */
static void next_step(void)
{
    struct difftext made;
    char command[513] = "";
    REQUIRE(difftext_make(&made));
    CHECK_TEXT(sentence(&made, "Next"), "");
    made.verify = "neurolens info a";
    CHECK_TEXT(sentence(&made, "Next"), "Next: look: neurolens info a");
    memset(command, 'x', 512);
    made.verify = command;
    CHECK_TEXT(sentence(&made, "Next"), "Next: look");
    command[511] = 0;
    CHECK(strlen(sentence(&made, "Next")) == strlen("Next: look: ") + 511);
    difftext_release(&made);
}

/* Tables that one side has and the other has not. */
static void lacks(void)
{
    struct difftext made;
    struct gputrace make;
    gputrace_open(&make);
    gputrace_op(&make, "aten::mm", 0, 5);
    gputrace_wait(&make, 7, 10, 5);
    struct nl_trace *other = gputrace_close(&make);
    REQUIRE(other && difftext_make(&made));
    made.doc.changed.trace = other;
    CHECK_TEXT(sentence(&made, "Not"), "Not in A: syncs, ops. Not in B: kernels, api.");
    made.doc.changed.trace = made.trace;
    CHECK_TEXT(sentence(&made, "Not"), "");
    made.doc.base.trace = other;
    CHECK_TEXT(sentence(&made, "Not"), "Not in A: kernels, api. Not in B: syncs, ops.");
    made.doc.base.trace = made.trace;
    difftext_release(&made);
    nl_trace_free(other);
}

/* Samples of a clock are sums that grow with the recording. */
static void samples(void)
{
    static const struct {
        const char *table, *weight;
        enum diff_unit unit;
        int64_t changed;
        bool said;
    } cases[] = {{"cpu_samples", "ns", DIFF_BY_FUNCTION, 120000, true},
                 {"cpu_samples", "samples", DIFF_BY_FUNCTION, 120000, true},
                 {"cpu_samples", "bytes", DIFF_BY_FUNCTION, 120000, false},
                 {"cpu_samples", "ns", DIFF_BY_FUNCTION, 100000, false},
                 {"functions", "ns", DIFF_BY_FUNCTION, 120000, false},
                 {"cpu_samples", "ns", DIFF_BY_LAYER, 120000, false},
                 {NULL, "ns", DIFF_BY_FUNCTION, 120000, false}};
    struct difftext made;
    REQUIRE(difftext_make(&made));
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_side *a = &made.doc.base;
        a->functions = cases[i].table ? nl_result_new(cases[i].table, "", count_columns, 4) : NULL;
        a->weight = nl_str(cases[i].weight);
        a->unit = made.doc.changed.unit = cases[i].unit;
        made.doc.changed.mean = cases[i].changed;
        CHECK_INT(strstr(sentence(&made, NULL), " Samples add up to more the longer was recorded: "
                                                "compare shares, not sums.") != NULL,
                  cases[i].said);
        nl_result_free(a->functions);
        a->functions = NULL;
    }
    difftext_release(&made);
}

CHECK_MAIN("difftext", {"typical step", typical_step}, {"other verdicts", other_verdicts},
           {"far apart", far_apart}, {"no difference", no_difference}, {"noise", noise},
           {"other work", other_work}, {"whole steps", whole_steps}, {"parts", parts},
           {"clocks", clocks}, {"rows", rows}, {"renamed", renamed}, {"next step", next_step},
           {"lacks", lacks}, {"samples", samples})
