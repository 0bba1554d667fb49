/*
 * How sure findings are is measured here: every planted profile (plantedall.h) in many
 * variations, whole, without names, with launches lost, without launches. No finding may be
 * stated surer than it was right.
 *
 *     SURENESS=60 build/tests/unit/test_sureness      all variations; prints the counts (tools/sureness)
 */
#include "findings/sureness.h"

#include <stdlib.h>

#include "check.h"
#include "findings/scene.h"
#include "plantedall.h"
#include "tables/memo.h"

struct counts {
    unsigned hits, trials;
};

static const char *const causes[] = {
#define NL_CAUSE(name, level, title) #name,
#include "findings/causes.def"
};
#define CAUSES CHECK_LENGTH(causes)

static const struct {
    const char *cause;
    struct counts of[NL_SURE_KINDS];
} stated[] = {
#define NL_SURE(cause, named, named_of, launched, launched_of, device, device_of, cpu, cpu_of)     \
    {cause, {{named, named_of}, {launched, launched_of}, {device, device_of}, {cpu, cpu_of}}},
#include "findings/sureness.def"
};

static size_t cause_of(const char *name)
{
    size_t i = 0;
    while (i < CAUSES && strcmp(causes[i], name) != 0)
        i++;
    return i;
}

static const struct nl_finding *find(const struct nl_findings *findings, const char *cause)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        bool is = !strcmp(finding->cause, cause);
        for (size_t part = 0; part < NL_FINDING_ALSO && finding->also[part]; part++)
            is = is || !strcmp(finding->also[part], cause);
        if (is && nl_finding_weighs(finding))
            return finding;
    }
    return NULL;
}

static enum nl_sure_of recorded(const struct nl_trace *trace)
{
    struct nl_scenes scenes;
    struct nl_arena arena;
    nl_arena_init(&arena);
    struct nl_analyze_options options = {0};
    options.memo = nl_memo_new(trace, &options.window);
    nl_scenes_init(&scenes, trace, &options, &arena, 1);
    enum nl_sure_of of = scenes.count ? nl_sure_of(&scenes.items[0]) : NL_SURE_CPU;
    nl_scenes_release(&scenes);
    nl_memo_free(options.memo);
    nl_arena_free(&arena);
    return of;
}

/* Profiles that say nothing about sureness: variations are on either side of the
 * threshold, or plant the cause. */
static bool is_left_out(const struct planted_case *planted, enum gputrace_without without)
{
    if (!strcmp(planted->cause, "truncated_or_dropped"))
        return without == GPUTRACE_SOME_LOST || without == GPUTRACE_NO_LAUNCHES;
    return !strcmp(planted->cause, "kernel_hotspot") && !strncmp(planted->label, "half", 4);
}

/* One planted profile, varied: whether the finding of its cause, if one is printed, is right. */
static void try_one(const struct planted_case *planted, unsigned variation,
                    enum gputrace_without without, struct counts (*counts)[NL_SURE_KINDS])
{
    struct nl_err err = {0};
    struct gputrace make;
    gputrace_open_as(&make, variation, without);
    planted->build(&make);
    struct nl_trace *trace = gputrace_close(&make);
    REQUIRE(trace);
    struct nl_findings *findings =
        nl_findings_new(trace, &(struct nl_analyze_options){.all = true}, NULL, &err);
    REQUIRE(findings);
    const struct nl_finding *finding = find(findings, planted->cause);
    if (finding) {
        enum nl_sure_of of = recorded(trace);
        struct counts *count = &counts[cause_of(planted->cause)][of];
        count->trials++;
        count->hits += planted->printed;
        CHECK(finding->confidence <= nl_sureness(finding->cause, of));
    }
    nl_findings_free(findings);
    nl_trace_free(trace);
}

static unsigned variations(void)
{
    const char *asked = getenv("SURENESS");
    int count = asked ? atoi(asked) : 0;
    return count > 0 ? (unsigned)count : 0;
}

/* The first variation of each way where not all are asked for. */
static void is_earned(void)
{
    static struct counts counts[CAUSES][NL_SURE_KINDS];
    unsigned all = variations(), least = all ? all : 1;
    for (size_t i = 0; i < CHECK_LENGTH(planted_cases); i++)
        for (unsigned variation = 1; variation <= least; variation++)
            for (int without = 0; without < GPUTRACE_WAYS; without++) {
                check_case(planted_cases[i].label);
                if (!is_left_out(&planted_cases[i], (enum gputrace_without)without))
                    try_one(&planted_cases[i], variation, (enum gputrace_without)without, counts);
            }
    for (size_t i = 0; all && i < CAUSES; i++)
        printf("count %s %u %u %u %u %u %u %u %u\n", causes[i], counts[i][0].hits,
               counts[i][0].trials, counts[i][1].hits, counts[i][1].trials, counts[i][2].hits,
               counts[i][2].trials, counts[i][3].hits, counts[i][3].trials);
    for (size_t i = 0; i < CHECK_LENGTH(stated); i++) {
        size_t cause = cause_of(stated[i].cause);
        check_case(stated[i].cause);
        REQUIRE(cause < CAUSES);
        for (int of = 0; of < NL_SURE_KINDS; of++) {
            struct counts have = counts[cause][of], row = stated[i].of[of];
            CHECK(have.hits <= row.hits);
            CHECK(have.trials - have.hits <= row.trials - row.hits);
        }
    }
}

static const struct nl_sure_counts pool = {9000, 9000}, missed = {8900, 9000};

/* More hits at as many misses: never less sure. Without trials: no surer than
 * right, surer than wrong. */
static void more_hits(void)
{
    const struct nl_sure_counts none = {0, 0};
    CHECK_NEAR(nl_sure_joined(none, pool), 0.8809, 5e-4);
    CHECK_NEAR(nl_sure_joined((struct nl_sure_counts){3, 3}, pool), 0.8948, 5e-4);
    CHECK_NEAR(nl_sure_joined((struct nl_sure_counts){540, 540}, pool), 0.9568, 5e-4);
    CHECK_NEAR(nl_sure_joined(none, none), 0, 0);
    for (int i = 0; i < 2; i++) {
        const struct nl_sure_counts column = i ? missed : pool;
        double unmeasured = nl_sure_joined(none, column);
        for (unsigned misses = 0; misses < 6; misses++)
            for (unsigned hits = 0; hits < 150; hits++) {
                struct nl_sure_counts has = {hits, hits + misses},
                                      more = {hits + 1, hits + misses + 1};
                double sure = nl_sure_joined(has, column);
                CHECK(sure <= nl_sure_joined(more, column));
                CHECK(misses || sure >= unmeasured);
                CHECK(!misses || i || sure < unmeasured);
            }
    }
}

/* Of all counts from a small set: less recorded is never surer; likewise of
 * every cause that there is. */
static void less_recorded(void)
{
    static const struct nl_sure_counts some[] = {{0, 0},   {1, 1},   {3, 3},     {0, 3},
                                                 {19, 20}, {30, 60}, {540, 540}, {59, 60}};
    const struct nl_sure_counts columns[NL_SURE_KINDS] = {missed, pool, pool, pool};
    size_t count = CHECK_LENGTH(some);
    for (size_t i = 0; i < count * count * count; i++) {
        const struct nl_sure_counts cause[NL_SURE_KINDS] = {
            some[i % count], some[i / count % count], some[i / count / count], {0, 0}};
        double named = nl_sure_of_counts(cause, columns, NL_SURE_NAMED),
               launched = nl_sure_of_counts(cause, columns, NL_SURE_LAUNCHED);
        CHECK(launched <= named);
        CHECK(nl_sure_of_counts(cause, columns, NL_SURE_DEVICE) <= launched);
    }
    for (size_t i = 0; i < CAUSES; i++) {
        check_case(causes[i]);
        double launched = nl_sureness(causes[i], NL_SURE_LAUNCHED);
        CHECK(launched <= nl_sureness(causes[i], NL_SURE_NAMED));
        CHECK(nl_sureness(causes[i], NL_SURE_DEVICE) <= launched);
    }
}

/* A cause that was always right is printed with as much recorded. */
static void always_right(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(stated); i++)
        for (int of = 0; of < NL_SURE_KINDS; of++) {
            struct counts row = stated[i].of[of];
            check_case(stated[i].cause);
            CHECK(!row.trials || row.hits < row.trials ||
                  nl_sureness(stated[i].cause, (enum nl_sure_of)of) >= NL_FINDING_CONFIDENCE);
        }
}

/* Wilson's interval as others compute it: 0.9 of 20 and 100, all of 10, none. */
static void bounds(void)
{
    CHECK_NEAR(nl_sure_bound(18, 20), 0.7383, 5e-4);
    CHECK_NEAR(nl_sure_bound(10, 10), 0.7871, 5e-4);
    CHECK_NEAR(nl_sure_bound(0, 10), 0, 1e-12);
    CHECK_NEAR(nl_sure_bound(0, 0), 0, 0);
    CHECK(nl_sure_bound(600, 600) <= nl_sure_bound(60, 60) + 1e-12);
    CHECK(nl_sureness("nothing of that name", NL_SURE_NAMED) > 0);
}

CHECK_MAIN("sureness", {"is earned on planted profiles", is_earned}, {"bounds", bounds},
           {"more hits are surer", more_hits}, {"less recorded is never surer", less_recorded},
           {"what was always right is printed", always_right})
