/* Findings that are views of one problem, joined (findings/joined.c): times, titles, evidence and
 * advice, by hand. */
#include "findings/joined.h"
#include "check.h"

static const struct nl_suggestion down[] = {{"pin", "w", "v"}, {NULL, NULL, NULL}},
                                  memory[] = {{"register", "w", "v"},
                                              {"never first", "w", "v"},
                                              {NULL, NULL, NULL}};

/* A finding of one stretch of time, of which it costs all; 1000 is all the time there is. */
static struct nl_finding of(const char *cause, int64_t start, int64_t end)
{
    struct nl_finding it = {.cause = cause,
                            .id = cause,
                            .cost_ns = end - start,
                            .cost_share = (double)(end - start) / 1000,
                            .saving_ns = {10, end - start - 50},
                            .culprit = "aten::copy_",
                            .place = "rank 0 GPU 0",
                            .of_devices = 1,
                            .evidence = {{.metric = "a"}, {.metric = "b"}, {.metric = "c"}},
                            .evidence_count = 3};
    nl_intervals_init(&it.where);
    nl_intervals_add(&it.where, start, end);
    return it;
}

/* Joins `count` of them; what is left. Free with nl_release_all. */
static struct nl_findings join(struct nl_finding *items, size_t count)
{
    struct nl_findings findings = {.items = items, .count = count};
    nl_arena_init(&findings.arena);
    nl_findings_join(&findings);
    return findings;
}

static void release_all(struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++)
        nl_intervals_release(&findings->items[i].where);
    nl_arena_free(&findings->arena);
}

#define TO   "h2d_in_critical_path"
#define BACK "d2h_in_critical_path"

static void directions(void)
{
    for (int way = 0; way < 4; way++) {
        const char *first = way & 1 ? BACK : TO, *second = way & 1 ? TO : BACK;
        struct nl_finding items[] = {of("before", 0, 10), of(first, 100, 300),
                                     of(second, 250, 250 + (way & 2 ? 300 : 100)),
                                     of("after", 0, 10)};
        struct nl_findings left = join(items, 4);
        struct nl_finding *it = &left.items[1];
        REQUIRE(left.count == 3);
        CHECK_TEXT(left.items[0].cause, "before");
        CHECK_TEXT(left.items[2].cause, "after");
        CHECK_TEXT(it->cause, way & 2 ? second : first);
        CHECK_TEXT(it->also[0], way & 2 ? first : second);
        CHECK(!it->also[1]);
        CHECK_INT(it->cost_ns, way & 2 ? 450 : 250);
        CHECK_NEAR(it->cost_share, way & 2 ? 0.45 : 0.25, 1e-9);
        CHECK_INT(it->saving_ns[0], 20);
        CHECK_INT(it->saving_ns[1], way & 2 ? 150 + 250 : 150 + 50);
        CHECK_INT(it->evidence_count, 5);
        CHECK_TEXT(it->evidence[3].metric, "a");
        CHECK_TEXT(it->evidence[4].metric, "b");
        int64_t later = way & 2 ? 300 : 100, device = way & 1 ? later : 200;
        char title[300];
        snprintf(title, sizeof title,
                 "Copies between host and device are exposed (not overlapped with compute): %d ns, "
                 "%s of the time; %d ns to the device, %d ns to the host, copied by aten::copy_",
                 way & 2 ? 450 : 250, way & 2 ? "45.0 %" : "25.0 %", (int)device,
                 (int)(200 + later - device));
        CHECK_TEXT(it->title, title);
        release_all(&left);
    }
}

/* Of equal ones that to the device stays; what is saved is no more than what it costs; of several
 * devices the title names the place; a share that is not known stays so. */
static void directions_at_limits(void)
{
    struct nl_finding items[] = {of(BACK, 0, 100), of(TO, 0, 100)};
    items[1].saving_ns[1] = 60;
    items[1].of_devices = 2;
    items[1].culprit = NULL;
    items[1].cost_share = NAN;
    items[1].evidence_count = NL_FINDING_EVIDENCE - 1;
    struct nl_findings left = join(items, 2);
    struct nl_finding *it = &left.items[0];
    REQUIRE(left.count == 1);
    CHECK_TEXT(it->cause, TO);
    CHECK_INT(it->cost_ns, 100);
    CHECK(isnan(it->cost_share));
    CHECK_INT(it->saving_ns[0], 20);
    CHECK_INT(it->saving_ns[1], 100);
    CHECK_INT(it->evidence_count, NL_FINDING_EVIDENCE);
    CHECK(strstr(it->title, " compute) on rank 0 GPU 0: 100 ns, ") != NULL);
    CHECK(!strstr(it->title, "copied by"));
    release_all(&left);
}

/* Of another rank or device it is another problem. */
static void other_places(void)
{
    static const char *const pairs[][2] = {
        {TO, BACK}, {"decode_weight_bound", "gemm_memory_bound"}, {TO, "pageable_memcpy"}};
    for (size_t i = 0; i < CHECK_LENGTH(pairs); i++)
        for (int way = 0; way < 3; way++) {
            struct nl_finding items[] = {of(pairs[i][0], 0, 100), of(pairs[i][1], 0, 100)};
            items[1].rank = way == 1;
            items[1].device = way == 2;
            struct nl_findings left = join(items, 2);
            check_case(pairs[i][1]);
            CHECK_INT(left.count, way ? 2 : 1);
            release_all(&left);
        }
    check_case(NULL);
}

/* Half of the time of a part is that of the whole. */
static void parts(void)
{
    static const struct {
        const char *whole, *part;
        size_t evidence;
    } pairs[] = {{"decode_weight_bound", "gemm_memory_bound", 5},
                 {TO, "pageable_memcpy", 4},
                 {BACK, "pageable_memcpy", 4}};
    for (size_t i = 0; i < CHECK_LENGTH(pairs); i++)
        for (int64_t end = 199; end <= 200; end++) {
            struct nl_finding items[] = {of(pairs[i].part, 150, 250), of(pairs[i].whole, 0, end)};
            struct nl_findings left = join(items, 2);
            check_case(pairs[i].whole);
            CHECK_INT(left.count, end == 200 ? 1 : 2);
            CHECK_TEXT(left.items[left.count - 1].cause, pairs[i].whole);
            CHECK_INT(left.items[left.count - 1].evidence_count,
                      end == 200 ? pairs[i].evidence : 3);
            CHECK_INT(left.items[left.count - 1].cost_ns, end);
            if (end == 200)
                CHECK_TEXT(left.items[0].also[0], pairs[i].part);
            release_all(&left);
        }
    check_case(NULL);
}

/* The first advice about memory stands before that about copies, each once. */
static void advice(void)
{
    static const struct nl_suggestion both[] = {
        {"pin", "w", "v"}, {"register", "w", "v"}, {"last", "w", "v"}, {NULL, NULL, NULL}};
    static const struct {
        const struct nl_suggestion *copies, *memory;
        const char *said[4];
    } cases[] = {{down, memory, {"register", "pin"}},
                 {both, memory, {"register", "pin", "last"}},
                 {NULL, memory, {"register"}},
                 {down, NULL, {"pin"}}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_finding items[] = {of(TO, 0, 100), of("pageable_memcpy", 0, 100)};
        items[0].suggestions = cases[i].copies;
        items[1].suggestions = cases[i].memory;
        struct nl_findings left = join(items, 2);
        REQUIRE(left.count == 1);
        for (size_t k = 0; k < 4; k++) {
            const char *said = left.items[0].suggestions[k].action;
            CHECK_TEXT(said ? said : "-", cases[i].said[k] ? cases[i].said[k] : "-");
            if (!said)
                break;
        }
        release_all(&left);
    }
}

CHECK_MAIN("joined", {"both directions", directions},
           {"both directions, at the limits", directions_at_limits}, {"other places", other_places},
           {"parts of a whole", parts}, {"advice", advice})
