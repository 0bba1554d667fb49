/* Whether two sides can be compared (compare/diffsure.h): how alike their work is and how much of
 * it there is, and the words for what is compared; on sides that are made by hand. */
#include "difffound.h"

static void words(void)
{
    static const struct {
        enum diff_unit unit;
        const char *text, *words;
    } units[] = {{DIFF_BY_STEP, "step", "a steady step of a device"},
                 {DIFF_BY_WALL, "wall", "first to last GPU operation"},
                 {DIFF_BY_WORK, "work", "the work of a device, added up"},
                 {DIFF_BY_LAYER, "layer", "the layers of the model"},
                 {DIFF_BY_FUNCTION, "function", "weight of functions"}};
    static const struct {
        enum nl_kind kind;
        const char *words, *step;
    } kinds[] = {
        {NL_KIND_OP, "self time of operators on threads", " in a steady step"},
        {NL_KIND_LAYER, "self time of modules on threads", " in a steady step"},
        {NL_KIND_PYTHON, "self time of Python functions on threads", " in a steady step"},
        {NL_KIND_NVTX, "self time of ranges on threads", " in a steady step"},
        {NL_KIND_COLLECTIVE, "time of communication operations", " in a steady step"},
        {NL_KIND_OSRT, "self time of operating system calls, waits included", ", in a steady step"},
        {NL_KIND_API, "self time on threads", " in a steady step"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(units); i++) {
        struct diff_side side = {.unit = units[i].unit, .units = 1, .weight = nl_str("count")};
        CHECK_TEXT(diff_unit_text(units[i].unit), units[i].text);
        CHECK_TEXT(diff_unit_words(&side), units[i].words);
    }
    CHECK_TEXT(diff_unit_text(DIFF_BY_HOST), "host");
    CHECK(!diff_unit_text(DIFF_UNITS));
    CHECK_TEXT(diff_unit_words(&(struct diff_side){.unit = DIFF_UNITS}), "nothing");
    CHECK_TEXT(diff_unit_words(&(struct diff_side){.unit = DIFF_BY_LAYER, .units = 2}),
               "the layers of an execution");
    CHECK_TEXT(
        diff_unit_words(&(struct diff_side){.unit = DIFF_BY_FUNCTION, .weight = nl_str("ns")}),
        "self time of functions");
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++) {
        struct diff_side side = {.unit = DIFF_BY_HOST, .host_kind = kinds[i].kind};
        char step[100];
        CHECK_TEXT(diff_unit_words(&side), kinds[i].words);
        side.by_step = true;
        snprintf(step, sizeof step, "%s%s", kinds[i].words, kinds[i].step);
        CHECK_TEXT(diff_unit_words(&side), step);
    }
}

/* ---- facts about the work ---- */

/* Names that both have of those that either has: `least` of them, or more. */
static void likeness(void)
{
    static const struct {
        const char *base, *changed;
        double least;
        const char *count, *text, *agrees;
    } cases[] = {
        {"abc", "abc", 1, "3", "3, 3 in both (100 %)", "yes"},
        {"ab", "a", 0.5, "2", "1, 1 in both (50 %)", "yes"},
        {"ab", "a", 0.51, "2", "1, 1 in both (50 %)", "no"},
        {"abc", "cde", 0.5, "3", "3, 1 in both (20 %)", "no"},
        {"abc", "cde", 0.2, "3", "3, 1 in both (20 %)", "yes"},
        {"aabb", "ba", 1, "2", "2, 2 in both (100 %)", "yes"},
        {"ace", "bdf", 0.5, "3", "3, 0 in both (0 %)", "no"},
        {"bdf", "abc", 0.5, "3", "3, 1 in both (20 %)", "no"},
        {"", "a", 0.5, "0", "1, 0 in both (0 %)", "no"},
        {"", "", 1, "0", "0, 0 in both (100 %)", "yes"},
    };
    static const enum diff_group groups[] = {DIFF_COMPUTE, DIFF_COMM, DIFF_HOST};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_side side = {.unit = DIFF_BY_STEP, .units = 1};
        struct diff_parts base, changed;
        struct diff_judged a = {.side = &side, .parts = &base}, b = {.side = &side, &changed};
        struct found found = found_start();
        parts_fill(&base, cases[i].base, groups[i % 3]);
        parts_fill(&changed, cases[i].changed, groups[i % 3]);
        diff_find_work_facts(&found.sureness, &a, &b, cases[i].least, &found.against);
        check_fact(&found, "names of kernels", cases[i].count, cases[i].text, cases[i].agrees,
                   "yes");
        diff_parts_release(&base);
        diff_parts_release(&changed);
        found_release(&found);
    }
}

/* Copies, idle time and what nobody launched have no names that count. */
static void parts_without_names(void)
{
    struct diff_side side = {.unit = DIFF_BY_WORK, .units = 1};
    struct diff_parts base, changed;
    struct diff_judged a = {.side = &side, .parts = &base}, b = {.side = &side, .parts = &changed};
    struct found found = found_start();
    parts_fill(&base, "abc", DIFF_COMPUTE);
    parts_fill(&changed, "abcd", DIFF_COMPUTE);
    base.items[0].group = DIFF_COPY;
    base.items[1].group = DIFF_IDLE;
    changed.items[3].nobody = true;
    diff_find_work_facts(&found.sureness, &a, &b, 0.3, &found.against);
    check_fact(&found, "names of kernels", "1", "3, 1 in both (33 %)", "yes", "yes");
    check_fact(&found, "GPU operations", "2", "4", "yes", "yes");
    diff_parts_release(&base);
    diff_parts_release(&changed);
    found_release(&found);
}

/* Where operators are recorded on both sides their names decide, not those of kernels. */
static void operators_decide(void)
{
    for (int with = 0; with < 4; with++) {
        struct diff_side side = {.unit = DIFF_BY_STEP, .units = 1};
        struct diff_parts base, changed, base_ops, changed_ops;
        struct diff_judged a = {.side = &side, .parts = &base, with & 1 ? &base_ops : NULL},
                           b = {.side = &side, .parts = &changed, with & 2 ? &changed_ops : NULL};
        struct found found = found_start();
        parts_fill(&base, "a", DIFF_COMPUTE);
        parts_fill(&changed, "b", DIFF_COMPUTE);
        parts_fill(&base_ops, "xy", DIFF_COMPUTE);
        parts_fill(&changed_ops, "z", DIFF_COMPUTE);
        diff_find_work_facts(&found.sureness, &a, &b, 0.5, &found.against);
        CHECK_INT(found_row(&found, "names of operators") != SIZE_MAX, with == 3);
        if (with == 3)
            check_fact(&found, "names of operators", "2", "1, 0 in both (0 %)", "no", "yes");
        check_fact(&found, "names of kernels", "1", "1, 0 in both (0 %)", "no",
                   with & 1 ? "no" : "yes");
        const char *against = with == 3   ? "names of operators: A has 2, B has 1, 0 in both (0 %)"
                              : with == 1 ? ""
                                          : "names of kernels: A has 1, B has 1, 0 in both (0 %)";
        CHECK_STR(((struct nl_str){found.against.len ? found.against.ptr : "", found.against.len}),
                  against);
        diff_parts_release(&base);
        diff_parts_release(&changed);
        diff_parts_release(&base_ops);
        diff_parts_release(&changed_ops);
        found_release(&found);
    }
}

static void what_names_are_of(void)
{
    static const struct {
        enum diff_unit unit;
        enum nl_kind kind;
        const char *fact;
    } cases[] = {{DIFF_BY_STEP, NL_KIND_OP, "names of kernels"},
                 {DIFF_BY_WALL, NL_KIND_OP, "names of kernels"},
                 {DIFF_BY_WORK, NL_KIND_OP, "names of kernels"},
                 {DIFF_BY_LAYER, NL_KIND_OP, "names of layers"},
                 {DIFF_BY_FUNCTION, NL_KIND_OP, "names of functions"},
                 {DIFF_BY_HOST, NL_KIND_OP, "names of operators"},
                 {DIFF_BY_HOST, NL_KIND_LAYER, "names of modules"},
                 {DIFF_BY_HOST, NL_KIND_COLLECTIVE, "operations and their sizes"},
                 {DIFF_BY_HOST, NL_KIND_NVTX, "names of ranges"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_side side = {.unit = cases[i].unit, .host_kind = cases[i].kind, .units = 1};
        struct diff_parts parts;
        struct diff_judged judged = {.side = &side, .parts = &parts};
        struct found found = found_start();
        parts_fill(&parts, "ab", DIFF_COMPUTE);
        diff_find_work_facts(&found.sureness, &judged, &judged, 0.5, &found.against);
        CHECK_INT(found.sureness.facts->rows, 2);
        check_fact(&found, cases[i].fact, "2", "2, 2 in both (100 %)", "yes", "yes");
        diff_parts_release(&parts);
        found_release(&found);
    }
}

/* Half as much work, or more, whichever side has it. */
static void amounts(void)
{
    static const struct {
        uint64_t base, changed, base_units, changed_units;
        const char *base_text, *changed_text, *agrees, *decides;
    } cases[] = {
        {10, 10, 1, 1, "10", "10", "yes", "yes"},
        {10, 5, 1, 1, "10", "5", "yes", "yes"},
        {5, 10, 1, 1, "5", "10", "yes", "yes"},
        {100, 49, 1, 1, "100", "49", "no", "yes"},
        {49, 100, 1, 1, "49", "100", "no", "yes"},
        {100, 50, 2, 2, "50", "25", "yes", "yes"},
        {100, 50, 4, 1, "25", "50", "yes", "yes"},
        {100, 49, 1, 2, "100", "24.5", "no", "yes"},
        {0, 0, 1, 1, "0", "0", "yes", "yes"},
        {0, 1, 1, 1, "0", "1", "no", "yes"},
        {1, 0, 1, 1, "1", "0", "no", "yes"},
        {NL_NULL_U64, 10, 1, 1, NULL, "10", "unknown", "no"},
        {10, NL_NULL_U64, 1, 1, "10", NULL, "unknown", "no"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_side a_side = {.unit = DIFF_BY_STEP, .units = cases[i].base_units},
                         b_side = {.unit = DIFF_BY_STEP, .units = cases[i].changed_units};
        struct diff_parts base, changed;
        struct diff_judged a = {.side = &a_side, .parts = &base},
                           b = {.side = &b_side, .parts = &changed};
        struct found found = found_start();
        parts_fill(&base, "ab", DIFF_COMPUTE);
        parts_fill(&changed, "ab", DIFF_COPY);
        base.items[0].count = cases[i].base;
        base.items[1].group = DIFF_IDLE; /* is no work */
        base.items[1].count = NL_NULL_U64;
        changed.items[0].count = cases[i].changed;
        changed.items[1].count = 0;
        diff_find_work_facts(&found.sureness, &a, &b, 0, &found.against);
        check_fact(&found, "GPU operations", cases[i].base_text, cases[i].changed_text,
                   cases[i].agrees, cases[i].decides);
        diff_parts_release(&base);
        diff_parts_release(&changed);
        found_release(&found);
    }
}

static void what_amounts_are_of(void)
{
    static const struct {
        enum diff_unit unit;
        bool by_step;
        size_t base_devices, changed_devices;
        const char *fact;
    } cases[] = {{DIFF_BY_STEP, true, 1, 1, "GPU operations in a step"},
                 {DIFF_BY_STEP, true, 4, 4, "GPU operations in a step"},
                 {DIFF_BY_WALL, false, 1, 1, "GPU operations"},
                 {DIFF_BY_WORK, false, 1, 1, "GPU operations"},
                 {DIFF_BY_WALL, false, 1, 2, "GPU operations of a device"},
                 {DIFF_BY_WALL, false, 2, 1, "GPU operations of a device"},
                 {DIFF_BY_HOST, true, 1, 1, "calls in a step"},
                 {DIFF_BY_HOST, false, 2, 2, "calls"},
                 {DIFF_BY_LAYER, false, 1, 1, "calls"}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct diff_side a_side = {.unit = cases[i].unit,
                                   .by_step = cases[i].by_step,
                                   .device_count = cases[i].base_devices,
                                   .units = 1},
                         b_side = a_side;
        struct diff_parts parts;
        struct diff_judged a = {.side = &a_side, .parts = &parts},
                           b = {.side = &b_side, .parts = &parts};
        struct found found = found_start();
        b_side.device_count = cases[i].changed_devices;
        parts_fill(&parts, "ab", DIFF_COMPUTE);
        diff_find_work_facts(&found.sureness, &a, &b, 0, &found.against);
        check_fact(&found, cases[i].fact, "2", "2", "yes", "yes");
        diff_parts_release(&parts);
        found_release(&found);
    }
}

CHECK_MAIN("diffsure", {"words", words}, {"likeness", likeness},
           {"parts without names", parts_without_names}, {"operators decide", operators_decide},
           {"what names are of", what_names_are_of}, {"amounts", amounts},
           {"what amounts are of", what_amounts_are_of})
