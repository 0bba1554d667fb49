/* Facts about two profiles that allow a comparison or forbid it (compare/diffsure.h): each with
 * what makes it agree, decide or stay unknown. */
#include "base/mem.h"
#include "compare/diffinner.h"
#include "difffound.h"
#include "gputrace.h"

/* A profile of one GPU for each name, a space being one without, and a kernel for each type: f for
 * fp16, b for bf16, others say none. */
static struct nl_trace *profile(const char *devices, const char *types, const char *format)
{
    struct gputrace make;
    gputrace_open(&make);
    nl_builder_source(make.builder, "another.json", format);
    for (int64_t i = 0; devices[i]; i++) {
        uint32_t device = nl_builder_device(make.builder, make.source, i, i);
        if (devices[i] != ' ')
            nl_builder_device_row(make.builder, device)->name =
                nl_builder_name(make.builder, (struct nl_str){devices + i, 1});
    }
    for (int64_t i = 0; types[i]; i++)
        gputrace_kernel(&make, 7,
                        types[i] == 'f'   ? "gemm_fp16"
                        : types[i] == 'b' ? "gemm_bf16"
                                          : "tail",
                        -1, 0, 100 * i, 50);
    return gputrace_close(&make);
}

/* A side of such a profile with a part and devices, whose ranks are 0, 1, … */
struct made {
    struct nl_trace *trace;
    struct diff_side side;
    struct diff_parts parts;
};

static void make_side(struct made *made, struct nl_trace *trace, enum diff_unit unit)
{
    struct nl_window window = {0};
    made->trace = trace;
    diff_side_open(&made->side, trace, &window);
    made->side.unit = unit;
    made->side.units = 1;
    made->side.devices = nl_alloc((trace->device.rows + (size_t)1) * sizeof *made->side.devices);
    for (uint32_t row = 0; row < trace->device.rows; row++)
        diff_device_keep(&made->side,
                         &(struct diff_device){.rank = row, .ordinal = row, .device = row});
    parts_fill(&made->parts, "a", DIFF_COMPUTE);
}

static void release_side(struct made *made)
{
    diff_parts_release(&made->parts);
    diff_side_release(&made->side);
    nl_trace_free(made->trace);
}

static struct found facts_of(struct made *a, struct made *b)
{
    struct found found = found_start();
    struct diff_judged base = {.side = &a->side, .parts = &a->parts},
                       changed = {.side = &b->side, .parts = &b->parts};
    diff_find_facts(&found.sureness, &base, &changed, &found.against);
    return found;
}

/* A device without a name is called as the others, where these have one name. */
static void devices_and_types(void)
{
    static const struct {
        const char *devices[2], *models[2], *agrees, *decides, *counts[2], *counts_agree;
        const char *types[2], *list[2], *types_agree;
    } cases[] = {
        {{"H", "H"},
         {"H", "H"},
         "yes",
         "yes",
         {"1", "1"},
         "yes",
         {"f", "f"},
         {"fp16", "fp16"},
         "yes"},
        {{"H", "A"},
         {"H", "A"},
         "no",
         "yes",
         {"1", "1"},
         "yes",
         {"f", "b"},
         {"fp16", "bf16"},
         "no"},
        {{"HA", "AH"},
         {"A, H", "A, H"},
         "yes",
         "yes",
         {"2", "2"},
         "yes",
         {"fbf", "bf"},
         {"bf16, fp16", "bf16, fp16"},
         "yes"},
        {{"H ", " H"},
         {"H", "H"},
         "yes",
         "yes",
         {"2", "2"},
         "yes",
         {"f ", " f"},
         {"fp16", "fp16"},
         "yes"},
        {{"HH", "H"},
         {"H", "H"},
         "yes",
         "yes",
         {"2", "1"},
         "no",
         {" ", "f"},
         {NULL, "fp16"},
         "unknown"},
        {{"H A", "A H"},
         {"A, H", "A, H"},
         "yes",
         "yes",
         {"3", "3"},
         "yes",
         {"f", ""},
         {"fp16", NULL},
         "unknown"},
        {{"H A ", "HAHA"},
         {"A, H", "A, H"},
         "yes",
         "yes",
         {"4", "4"},
         "yes",
         {"ff", "f"},
         {"fp16", "fp16"},
         "yes"},
        {{" ", "H"},
         {NULL, "H"},
         "unknown",
         "no",
         {"1", "1"},
         "yes",
         {"b", "b"},
         {"bf16", "bf16"},
         "yes"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct made a, b;
        struct nl_trace *x = profile(cases[i].devices[0], cases[i].types[0], "kineto"),
                        *y = profile(cases[i].devices[1], cases[i].types[1], i ? "kineto" : "nsys");
        bool one = !strcmp(cases[i].counts_agree, "yes");
        REQUIRE(x && y);
        make_side(&a, x, DIFF_BY_WORK);
        make_side(&b, y, DIFF_BY_WORK);
        struct found found = facts_of(&a, &b);
        check_fact(&found, "compared by", "work", "work", "yes", "yes");
        check_fact(&found, "device model", cases[i].models[0], cases[i].models[1], cases[i].agrees,
                   cases[i].decides);
        check_fact(&found, "devices with work", cases[i].counts[0], cases[i].counts[1],
                   cases[i].counts_agree, "yes");
        check_fact(&found, "ranks", cases[i].counts[0], cases[i].counts[1], one ? "yes" : "no",
                   "yes");
        check_fact(&found, "element types of kernels", cases[i].list[0], cases[i].list[1],
                   cases[i].types_agree, "no");
        check_fact(&found, "format", "kineto", i ? "kineto" : "kineto, nsys", i ? "yes" : "no",
                   "no");
        CHECK_INT(found_row(&found, "kernels") == SIZE_MAX, 1);
        found_release(&found);
        release_side(&a);
        release_side(&b);
    }
}

/* Each rank counts once, and what has none does not. */
static void ranks(void)
{
    static const int64_t kept[][2] = {{4, 0}, {4, 1}, {0, 0}, {NL_NULL_I64, 0}, {4, 0}};
    for (size_t count = 0; count <= CHECK_LENGTH(kept); count++) {
        static const char *const expected[] = {NULL, "1", "1", "2", "2", "2"};
        struct made a, b;
        struct nl_trace *x = profile("H", "f", "kineto"), *y = profile("H", "f", "kineto");
        REQUIRE(x && y);
        make_side(&a, x, DIFF_BY_HOST);
        make_side(&b, y, DIFF_BY_HOST);
        nl_free(b.side.devices);
        b.side.devices = nl_alloc(8 * sizeof *b.side.devices);
        b.side.device_count = 0;
        nl_idmap_release(&b.side.by_rank);
        nl_lookup_release(&b.side.by_ordinal);
        for (size_t i = 0; i < count; i++)
            diff_device_keep(&b.side, &(struct diff_device){
                                          .rank = kept[i][0], .ordinal = kept[i][1], .device = 0});
        struct found found = facts_of(&a, &b);
        check_fact(&found, "ranks", "1", expected[count],
                   !count      ? "unknown"
                   : count < 3 ? "yes"
                               : "no",
                   count ? "yes" : "no");
        CHECK(found_row(&found, "device model") == SIZE_MAX);
        CHECK(found_row(&found, "devices with work") == SIZE_MAX);
        CHECK(found_row(&found, "element types of kernels") == SIZE_MAX);
        found_release(&found);
        release_side(&a);
        release_side(&b);
    }
}

/* Of threads on both sides, but kernels on one: no comparison. */
static void kernels_on_one_side(void)
{
    static const char *const types[] = {"", "f", "ff"};
    static const char *const counts[] = {"none", "1", "2"};
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 3; k++)
            for (unsigned unit = DIFF_BY_WORK; unit <= DIFF_BY_LAYER; unit++) {
                struct made a, b;
                struct nl_trace *x = profile("H", types[i], "kineto"),
                                *y = profile("H", types[k], "kineto");
                bool apart = unit > DIFF_BY_WORK && !i != !k;
                REQUIRE(x && y);
                make_side(&a, x, (enum diff_unit)unit);
                make_side(&b, y, (enum diff_unit)unit);
                struct found found = facts_of(&a, &b);
                CHECK_INT(found_row(&found, "kernels") != SIZE_MAX, apart);
                CHECK_INT(found_row(&found, "ranks") != SIZE_MAX, unit <= DIFF_BY_HOST);
                if (apart)
                    check_fact(&found, "kernels", counts[i], counts[k], "no", "yes");
                found_release(&found);
                release_side(&a);
                release_side(&b);
            }
}

static void steps(void)
{
    static const struct {
        bool by_step[2];
        enum nl_step_method method[2];
        size_t lengths[2], stepless[2];
        const char *texts[2], *agrees, *decides;
        const char *left[2], *left_agrees;
    } cases[] = {
        {{true, true},
         {NL_STEPS_MARKED, NL_STEPS_MARKED},
         {9, 7},
         {0, 0},
         {"9, marked", "7, marked"},
         "yes",
         "no",
         {0},
         NULL},
        {{true, true},
         {NL_STEPS_MARKED, NL_STEPS_RANGES},
         {9, 7},
         {0, 1},
         {"9, marked", "7, ranges"},
         "no",
         "no",
         {"0", "1"},
         "no"},
        {{true, false},
         {NL_STEPS_LAUNCHES, NL_STEPS_MARKED},
         {9, 0},
         {2, 0},
         {"9, launches", "none"},
         "no",
         "yes",
         {"2", "0"},
         "no"},
        {{false, true},
         {NL_STEPS_MARKED, NL_STEPS_MARKED},
         {0, 8},
         {2, 2},
         {"none", "8, marked"},
         "no",
         "yes",
         {"2", "2"},
         "yes"},
        {{false, false},
         {NL_STEPS_MARKED, NL_STEPS_MARKED},
         {0, 0},
         {0, 0},
         {0},
         NULL,
         NULL,
         {0},
         NULL},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct made sides[2];
        for (size_t k = 0; k < 2; k++) {
            struct nl_trace *trace = profile("H", "f", "kineto");
            REQUIRE(trace);
            make_side(&sides[k], trace, DIFF_BY_STEP);
            sides[k].side.by_step = cases[i].by_step[k];
            sides[k].side.method = cases[i].method[k];
            sides[k].side.length_count = cases[i].lengths[k];
            sides[k].side.stepless = cases[i].stepless[k];
        }
        struct found found = facts_of(&sides[0], &sides[1]);
        CHECK_INT(found_row(&found, "steady steps") != SIZE_MAX, cases[i].agrees != NULL);
        if (cases[i].agrees)
            check_fact(&found, "steady steps", cases[i].texts[0], cases[i].texts[1],
                       cases[i].agrees, cases[i].decides);
        const char *left = "devices without steps, left out";
        CHECK_INT(found_row(&found, left) != SIZE_MAX, cases[i].left_agrees != NULL);
        if (cases[i].left_agrees)
            check_fact(&found, left, cases[i].left[0], cases[i].left[1], cases[i].left_agrees,
                       "no");
        found_release(&found);
        release_side(&sides[0]);
        release_side(&sides[1]);
    }
}

/* Some facts of the workload decide, some in the gate alone, some never; not those that are not
 * known on both sides. */
static void workload(void)
{
    static const struct nl_diff_fact base[] = {{"workload.batch_size", "8"},
                                               {"software.framework", "torch"},
                                               {"run.git_commit", "abc"},
                                               {"workload.model", "gpt"},
                                               {"workload.phase", "decode"}},
                                     changed[] = {{"workload.batch_size", "16"},
                                                  {"software.framework", "jax"},
                                                  {"run.git_commit", "abc"},
                                                  {"workload.precision", ""},
                                                  {"workload.phase", "decode"}};
    struct made a, b;
    struct nl_trace *x = profile("H", "f", "kineto"), *y = profile("H", "f", "kineto");
    REQUIRE(x && y);
    make_side(&a, x, DIFF_BY_WALL);
    make_side(&b, y, DIFF_BY_WALL);
    struct nl_diff_input first = {.facts = base, .fact_count = CHECK_LENGTH(base)},
                         second = {.facts = changed, .fact_count = CHECK_LENGTH(changed)};
    struct found found = found_start();
    struct diff_judged left = {.side = &a.side, .parts = &a.parts, .facts = &first},
                       right = {.side = &b.side, .parts = &b.parts, .facts = &second};
    diff_find_facts(&found.sureness, &left, &right, &found.against);
    check_fact(&found, "batch size", "8", "16", "no", "yes");
    check_fact(&found, "phase", "decode", "decode", "yes", "yes");
    check_fact(&found, "framework", "torch", "jax", "no", "in check");
    check_fact(&found, "commit", "abc", "abc", "yes", "no");
    check_fact(&found, "model", "gpt", NULL, "unknown", "no");
    check_fact(&found, "precision", NULL, NULL, "unknown", "no");
    CHECK_STR(((struct nl_str){found.against.ptr, found.against.len}),
              "batch size: A has 8, B has 16");
    found_release(&found);
    release_side(&a);
    release_side(&b);
}

/* Without a unit there is nothing to judge: why. All that decides is named otherwise. */
static void against(void)
{
    for (int way = 0; way < 5; way++) {
        static const char *const texts[] = {
            "nothing was recorded on both sides that takes time",
            "times are too long to be added up", "times are too long to be added up",
            "times are too long to be added up",
            "compared by: A has wall, B has work; device model: A has H, B has A"};
        struct made a, b;
        struct nl_trace *x = profile("H", "f", "kineto"), *y = profile("A", "f", "kineto");
        REQUIRE(x && y);
        make_side(&a, x, way == 4 ? DIFF_BY_WALL : DIFF_UNITS);
        make_side(&b, y, way == 4 ? DIFF_BY_WORK : DIFF_UNITS);
        a.side.too_long = way == 1 || way == 3;
        b.side.too_long = way == 2 || way == 3;
        struct found found = facts_of(&a, &b);
        CHECK_STR(((struct nl_str){found.against.ptr, found.against.len}), texts[way]);
        CHECK_INT(found.sureness.facts->rows > 0, way == 4);
        found_release(&found);
        release_side(&a);
        release_side(&b);
    }
}

CHECK_MAIN("difffacts", {"devices and types", devices_and_types}, {"ranks", ranks},
           {"kernels on one side", kernels_on_one_side}, {"steps", steps}, {"workload", workload},
           {"against", against})
