/* options, windows and statements: how the words of a call are understood. */
#include "check.h"

#include "cli/command.h"
#include "cli/options.h"
#include "cli/statement.h"
#include "derive/derive.h"
#include "timeline/window.h"

#include "store/builder.h"

struct settings {
    bool flag;
    unsigned count;
    const char *text;
    int choice;
    int64_t number, time;
    uint64_t size;
};

static const char *const colors[] = {"red", "green", NULL};

#define TARGET(member)                                                                             \
    {                                                                                              \
        false, offsetof(struct settings, member)                                                   \
    }
static const struct nl_option table[] = {
    {"flag", 'f', NL_OPTION_FLAG, TARGET(flag), NULL, "a flag", NULL},
    {"verbose", 'v', NL_OPTION_COUNT, TARGET(count), NULL, "more", NULL},
    {"text", 't', NL_OPTION_TEXT, TARGET(text), "TEXT", "a text", NULL},
    {"color", 'c', NL_OPTION_CHOICE, TARGET(choice), "COLOR", "a colour", colors},
    {"number", 'n', NL_OPTION_NUMBER, TARGET(number), "N", "a number", NULL},
    {"size", 's', NL_OPTION_SIZE, TARGET(size), "SIZE", "a size", NULL},
    {"time", 0, NL_OPTION_TIME, TARGET(time), "TIME", "a time", NULL},
    {.name = NULL},
};
static const struct nl_option *const tables[] = {table, NULL};

/* Parses a line of blank-separated words. */
static bool parse(const char *line, bool leading, struct settings *settings, char *rest,
                  struct nl_err *err)
{
    static char copy[256];
    char *word[32];
    struct nl_words words = {word, 0};
    snprintf(copy, sizeof copy, "%s", line);
    for (char *at = strtok(copy, " "); at; at = strtok(NULL, " "))
        word[words.count++] = at;
    memset(settings, 0, sizeof *settings);
    nl_err_clear(err);
    bool good = nl_options_parse(tables, &words, leading, settings, NULL, err);
    rest[0] = '\0';
    for (int i = 0; good && i < words.count; i++) {
        strcat(rest, i ? " " : "");
        strcat(rest, word[i]);
    }
    return good;
}

static void reads_options(void)
{
    struct settings got;
    struct nl_err err;
    char rest[256];
    CHECK(parse("a --flag b -vv --text=x --color green -n12 --size 2k --time 3", false, &got, rest,
                &err));
    CHECK_TEXT(rest, "a b");
    CHECK(got.flag);
    CHECK_INT(got.count, 2);
    CHECK_TEXT(got.text, "x");
    CHECK_INT(got.choice, 1);
    CHECK_INT(got.number, 12);
    CHECK_INT(got.size, 2048);
    CHECK_INT(got.time, 3000000000);
    CHECK(parse("-fvt x --time 50ms", false, &got, rest, &err));
    CHECK(got.flag && got.count == 1 && got.time == 50000000);
    CHECK_TEXT(got.text, "x");
    CHECK_TEXT(rest, "");
}

static void dashes_end_options(void)
{
    struct settings got;
    struct nl_err err;
    char rest[256];
    CHECK(parse("- -- --flag -x", false, &got, rest, &err));
    CHECK_TEXT(rest, "- --flag -x");
    CHECK(!got.flag);
    CHECK(parse("--text -- --flag", false, &got, rest, &err));
    CHECK_TEXT(got.text, "--");
    CHECK(got.flag);
    CHECK(parse("-f word --unknown", true, &got, rest, &err));
    CHECK_TEXT(rest, "word --unknown");
}

static void refuses_options(void)
{
    static const struct {
        const char *line, *says;
    } cases[] = {
        {"--fleg", "--flag"},           {"--txet", "--text"},           {"--zzz", "-h lists"},
        {"-x", "unknown option"},       {"--text", "needs a value"},    {"-t", "needs a value"},
        {"--flag=1", "takes no value"}, {"--color blue", "red, green"}, {"-n x", "whole number"},
        {"-n -3", "whole number"},      {"--size big", "size"},         {"--time never", "time"},
    };
    struct settings got;
    struct nl_err err;
    char rest[256];
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].line);
        CHECK(!parse(cases[i].line, false, &got, rest, &err));
        CHECK_INT(err.code, NL_USAGE);
        CHECK(strstr(err.text, cases[i].says) != NULL);
    }
}

/* What one command alone has goes into its own struct; without one it is skipped with its value. */
static void reads_own_options(void)
{
    struct own {
        struct nl_texts list;
        const char *text;
    } own = {.text = "default"};
    static const struct nl_option rows[] = {
        {"add", 0, NL_OPTION_LIST, NL_OWN(own, list), "TEXT", "texts", NULL},
        {"of", 0, NL_OPTION_TEXT, NL_OWN(own, text), "TEXT", "a text", NULL},
        NL_OPTIONS_END,
    };
    const struct nl_option *const both[] = {rows, table, NULL};
    struct nl_err err;
    for (int has_own = 0; has_own < 2; has_own++) {
        char *word[] = {"--add", "a", "rest", "--of=x", "--add=b", "-n", "7"};
        struct nl_words words = {word, CHECK_LENGTH(word)};
        struct settings got = {0};
        nl_err_clear(&err);
        CHECK(nl_options_parse(both, &words, false, &got, has_own ? &own : NULL, &err));
        CHECK_INT(words.count, 1);
        CHECK_TEXT(words.word[0], "rest");
        CHECK_INT(got.number, 7);
        CHECK_TEXT(own.text, has_own ? "x" : "default");
        REQUIRE(own.list.count == (has_own ? 2u : 0u));
        if (has_own) {
            CHECK_TEXT(own.list.items[0], "a");
            CHECK_TEXT(own.list.items[1], "b");
        }
        nl_options_release(both, &got, has_own ? &own : NULL);
    }
    CHECK(!own.list.items && !own.list.count);
}

static void finds_nearest(void)
{
    static const struct {
        const char *word, *best;
    } cases[] = {{"analize", "analyze"}, {"inof", "info"}, {"sqll", "sql"}, {"qqqq", NULL}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_nearest nearest;
        nl_nearest_init(&nearest, cases[i].word);
        for (const struct nl_command *const *at = nl_commands; *at; at++)
            nl_nearest_offer(&nearest, (*at)->name);
        check_case(cases[i].word);
        CHECK_TEXT(nl_nearest_best(&nearest), cases[i].best);
    }
}

/* Every row of the command table is complete and no option is there twice. */
static void commands_are_complete(void)
{
    for (const struct nl_command *const *at = nl_commands; *at; at++) {
        const struct nl_command *c = *at;
        check_case(c->name);
        CHECK(c->group && c->summary && c->usage && c->help && c->examples && c->run && c->tables);
        CHECK(nl_command_find(c->name) == c);
        bool grouped = false;
        for (size_t g = 0; nl_command_groups[g]; g++)
            grouped |= strcmp(nl_command_groups[g], c->group) == 0;
        CHECK(grouped);
        bool letters[256] = {false};
        for (size_t t = 0; c->tables[t]; t++) {
            for (const struct nl_option *o = c->tables[t]; o->name; o++) {
                CHECK(!o->letter || !letters[(unsigned char)o->letter]);
                letters[(unsigned char)o->letter] = true;
                CHECK((o->type <= NL_OPTION_COUNT) == (o->argument == NULL));
                CHECK(o->type != NL_OPTION_CHOICE || o->choices);
                CHECK(!o->choices || o->type == NL_OPTION_CHOICE || o->type == NL_OPTION_TEXT ||
                      o->type == NL_OPTION_ONE);
            }
        }
    }
}

static void splits_windows(void)
{
    static const struct {
        const char *text, *name, *words;
    } cases[] = {
        {"a.json", "a.json", NULL},
        {"a.json[1s:2s]", "a.json", "1s:2s"},
        {"a[0].json", "a[0].json", NULL},
        {"a[0].json[gpu=0]", "a[0].json", "gpu=0"},
        {"a[nvtx=\"x[1]\"]", "a", "nvtx=\"x[1]\""},
        {"[x]", "[x]", NULL},
        {"a[]", "a", ""},
        {"]", "]", NULL},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_str words;
        check_case(cases[i].text);
        size_t len = nl_window_split(cases[i].text, &words);
        CHECK_STR(((struct nl_str){cases[i].text, len}), cases[i].name);
        CHECK_STR(words, cases[i].words);
    }
}

static void parses_windows(void)
{
    struct nl_window_words words;
    struct nl_arena arena;
    struct nl_err err;
    nl_arena_init(&arena);
    nl_err_clear(&err);
    CHECK(nl_window_parse(nl_str("1.2s:1500ms, rank=3,gpu=0,step=10:20,nvtx=\"a,b*\""), &words,
                          &arena, &err));
    CHECK(words.has_time && words.start == 1200000000 && words.end == 1500000000);
    CHECK(words.has_rank && words.rank == 3 && words.has_device && words.device == 0);
    CHECK(words.has_steps && words.first_step == 10 && words.end_step == 20);
    CHECK_TEXT(words.nvtx, "a,b*");
    CHECK(nl_window_parse(nl_str(":5us"), &words, &arena, &err));
    CHECK(words.start == INT64_MIN && words.end == 5000);
    CHECK(nl_window_parse(nl_str("5us:"), &words, &arena, &err));
    CHECK(words.start == 5000 && words.end == INT64_MAX);
    CHECK(nl_window_parse(nl_str("step=7"), &words, &arena, &err));
    CHECK(words.first_step == 7 && words.end_step == 8);
    CHECK(nl_window_parse(nl_str("nvtx=forward"), &words, &arena, &err));
    CHECK_TEXT(words.nvtx, "forward");
    CHECK(nl_window_parse(nl_str("step=10:20,step=15:,1s:3s,rank=2,2s:,rank=2,step=:18"), &words,
                          &arena, &err)); /* all hold */
    CHECK(words.first_step == 15 && words.end_step == 18 && words.rank == 2);
    CHECK(words.start == 2000000000 && words.end == 3000000000);
    nl_arena_free(&arena);
}

static void refuses_windows(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "missing"},
        {",", "missing"},
        {"1s", "1.2s:1.5s"},
        {"1s:x", "1.2s:1.5s"},
        {"2s:1s", "empty"},
        {"1s:1s", "empty"},
        {":", "time range"},
        {"rnak=1", "rank"},
        {"rank=x", "rank"},
        {"gpu=-1", "device"},
        {"foo=1", "there are"},
        {"step=a:b", "10:20"},
        {"nvtx=", "needs a text"},
        {"step=5:5", "empty"},
        {"rank=1,rank=2", "name one"},
        {"gpu=0,gpu=1", "of device 0 and of device 1"},
        {"nvtx=a,nvtx=b", "twice"},
    };
    struct nl_window_words words;
    struct nl_arena arena;
    struct nl_err err;
    nl_arena_init(&arena);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        nl_err_clear(&err);
        CHECK(!nl_window_parse(nl_str(cases[i].text), &words, &arena, &err));
        CHECK_INT(err.code, NL_USAGE);
        CHECK(strstr(err.text, cases[i].says) != NULL);
    }
    nl_arena_free(&arena);
}

/* A trace with ranges "fwd 0..2" of 100 ns at 1000, 2000, 3000 on rank 3, and work until 5000. */
static struct nl_trace *trace_with_ranges(struct nl_err *err)
{
    struct nl_builder *builder = nl_builder_new(NULL);
    uint32_t source = nl_builder_source(builder, "test", "test");
    nl_builder_rank(builder, source, 3);
    uint32_t process = nl_builder_process(builder, source, 1);
    uint32_t thread = nl_builder_thread(builder, process, 1);
    struct nl_lane_key key = {.kind = NL_LANE_THREAD,
                              .process = process,
                              .thread = thread,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    uint32_t lane = nl_builder_lane(builder, &key);
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, source, 0);
    struct nl_slice_row row = nl_slice_row();
    row.lane = lane;
    row.kind = NL_KIND_OP;
    row.ts = 500;
    row.dur = 4500;
    row.name = nl_stage_name(stage, nl_str("all"));
    nl_stage_slice(stage, &row);
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "fwd %d", i);
        row.kind = NL_KIND_NVTX;
        row.ts = 1000 * (i + 1);
        row.dur = 100;
        row.name = nl_stage_name(stage, nl_str(name));
        struct nl_nvtx_row range = nl_nvtx_row();
        range.slice = nl_stage_slice(stage, &row);
        nl_stage_nvtx(stage, &range);
        struct nl_step_row step = nl_step_row();
        step.index = 10 + i;
        step.ts = row.ts;
        step.dur = 900;
        step.lane = lane;
        nl_stage_step(stage, &step);
    }
    return nl_builder_finish(builder, err);
}

static void resolves_windows(void)
{
    static const struct {
        const char *text;
        bool good;
        int64_t start, end; /* absolute */
        const char *says;   /* note or error */
    } cases[] = {
        {"0ns:100ns", true, 500, 600, ""},
        {"1us:", true, 1500, 5000, ""},
        {"step=11", true, 2000, 2900, ""},
        {"step=10:12", true, 1000, 2900, ""},
        {"step=11:", true, 2000, 3900, ""},
        {"nvtx=\"fwd 1\"", true, 2000, 2100, ""},
        {"nvtx=\"fwd*\"", true, 1000, 3100, "3 ranges"},
        {"nvtx=\"fwd*\",step=12", true, 3000, 3100, "3 ranges"},
        {"step=99", false, 0, 0, "10 to 12"},
        {"nvtx=none", false, 0, 0, "no range"},
        {"rank=4", false, 0, 0, "no rank 4"},
        {"gpu=0", false, 0, 0, "no device"},
        {"9us:10us", false, 0, 0, "it contains nothing"},
    };
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_trace *trace = trace_with_ranges(&err);
    REQUIRE(trace != NULL);
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_window_words words;
        struct nl_window window;
        struct nl_arena arena;
        char note[NL_WINDOW_NOTE];
        nl_arena_init(&arena);
        nl_err_clear(&err);
        check_case(cases[i].text);
        CHECK(nl_window_parse(nl_str(cases[i].text), &words, &arena, &err));
        bool good = nl_window_resolve(&words, trace, false, &window, note, &err);
        CHECK_INT(good, cases[i].good);
        CHECK(strstr(good ? note : err.text, cases[i].says) != NULL);
        if (good) {
            CHECK_INT(window.start, cases[i].start);
            CHECK_INT(window.end, cases[i].end);
        }
        nl_arena_free(&arena);
    }
    nl_trace_free(trace);
}

static void statements_end(void)
{
    static const struct {
        const char *text;
        size_t len;
    } cases[] = {
        {"SELECT 1;", 9},
        {"SELECT 1", 0},
        {"SELECT ';' ; x", 12},
        {"SELECT 'it''s;';", 16},
        {"SELECT \"a;b\";", 13},
        {"-- no;\nSELECT 1;", 16},
        {"/* ; */;", 8},
        {"SELECT [a;b];", 13},
        {"SELECT 'open;", 0},
        {"", 0},
        {";", 1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        CHECK_INT(nl_statement_length(cases[i].text), cases[i].len);
    }
    CHECK(nl_statement_empty(" ; -- note\n /* x */ ;", 21));
    CHECK(!nl_statement_empty("SELECT", 6));
}

CHECK_MAIN("options", {"reads options", reads_options}, {"dashes end options", dashes_end_options},
           {"refuses options", refuses_options}, {"reads own options", reads_own_options},
           {"finds the nearest word", finds_nearest},
           {"commands are complete", commands_are_complete}, {"splits windows", splits_windows},
           {"parses windows", parses_windows}, {"refuses windows", refuses_windows},
           {"resolves windows", resolves_windows}, {"statements end", statements_end})
