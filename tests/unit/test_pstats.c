/* Saved profiles of cProfile (ingest/stacks/pstats.c): times and lines at their limits, what is no
 * function or has no numbers, the profiler's own calls, and more functions and callers than wait at
 * once. Marshalled data is written here byte by byte. */
#include "check.h"
#include "derive/derive.h"
#include "ingest/formats.h"
#include "ingest/lib/wholefile.h"

static unsigned char file[1 << 20];
static size_t length;

static void byte(unsigned value)
{
    file[length++] = (unsigned char)value;
}

static void number(char code, const void *value, size_t size)
{
    byte((unsigned char)code);
    memcpy(file + length, value, size);
    length += size;
}

static void whole(int32_t value)
{
    number('i', &value, 4);
}

static void large(int64_t value)
{
    number('I', &value, 8);
}

static void real(double value)
{
    number('g', &value, 8);
}

static void tuple(unsigned count)
{
    byte(')');
    byte(count);
}

static void text(const char *value)
{
    byte('z');
    byte((unsigned)strlen(value));
    memcpy(file + length, value, strlen(value));
    length += strlen(value);
}

static void begin(void)
{
    length = 0;
    byte('{');
}

static void function(const char *from, int64_t line, const char *name)
{
    tuple(3);
    text(from);
    large(line);
    text(name);
}

/* Of a function the calls come second, of a caller first. */
static void numbers(int32_t first, int32_t second, double self, double total)
{
    whole(first);
    whole(second);
    real(self);
    real(total);
}

/* A whole entry: calls, and a second each. */
static void entry(const char *from, int64_t line, const char *name, int32_t calls)
{
    function(from, line, name);
    tuple(5);
    numbers(calls, calls, 1, 1);
    byte('{');
    byte('0');
}

static struct nl_trace *load(struct nl_err *err)
{
    struct nl_job job = {.threads = 1};
    struct nl_input input = {.path = "-",
                             .name = "t.prof",
                             .encoding = "plain",
                             .rank = NL_NULL_I64,
                             .head = file,
                             .head_len = length};
    nl_err_clear(err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "t.prof", "pstats");
    struct whole_file all = {.bytes = file, .size = length};
    struct nl_reading reading = {builder, source, &input, &job, NULL, &all};
    bool ok = nl_format_pstats.load(&reading, err);
    if (ok)
        return nl_builder_finish(builder, err);
    nl_builder_free(builder);
    return NULL;
}

static struct nl_trace *end(void)
{
    struct nl_err err;
    byte('0');
    return load(&err);
}

static int64_t covered(const struct nl_trace *trace, const char *item)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        if (nl_str_starts(nl_trace_name(trace, trace->coverage.item[i]), item))
            return trace->coverage.count[i];
    return 0;
}

static const char *problem(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->coverage.rows; i++)
        if (nl_str_starts(nl_trace_name(trace, trace->coverage.item[i]), "truncated"))
            return nl_trace_name(trace, trace->coverage.detail[i]).ptr;
    return NULL;
}

static void function_and_caller(void)
{
    begin();
    function("a.py", 3, "f");
    tuple(5);
    numbers(2, 5, 0.5, 1.5);
    byte('{');
    function("b.py", 7, "g");
    tuple(4);
    numbers(4, 1, 0.25, 0.75);
    byte('0');
    struct nl_trace *t = end();
    REQUIRE(t && t->call.rows == 2 && t->stack.rows == 2 && t->sample.rows == 1);
    for (uint32_t i = 0; i < 2; i++) {
        bool all = t->call.caller[i] == NL_NULL_ROW;
        CHECK_STR(nl_trace_name(t, t->stack.name[t->call.stack[i]]), "f");
        CHECK_INT(t->stack.line[t->call.stack[i]], 3);
        CHECK_INT(t->call.count[i], all ? 5 : 4);
        CHECK_INT(t->call.primitive[i], all ? 2 : 1);
        CHECK_INT(t->call.self_ns[i], all ? 500000000 : 250000000);
        CHECK_INT(t->call.total_ns[i], all ? 1500000000 : 750000000);
        if (!all)
            CHECK_STR(nl_trace_name(t, t->stack.name[t->call.caller[i]]), "g");
    }
    CHECK_INT(t->sample.weight[0], 500000000);
    CHECK_INT(covered(t, "truncated"), 0);
    nl_trace_free(t);
}

/* To the nearest ns, halves away from 0; no more than 4e9 s either way. */
static void times(void)
{
    static const struct {
        double seconds;
        int64_t ns;
    } cases[] = {{0, 0},
                 {0.4e-9, 0},
                 {0.5e-9, 1},
                 {1.5e-9, 2},
                 {-0.4e-9, 0},
                 {-0.5e-9, -1},
                 {-1.5e-9, -2},
                 {2, 2000000000},
                 {4e9, 4000000000000000000},
                 {4000000000.0000005, NL_NULL_I64},
                 {-4e9, -4000000000000000000},
                 {-4000000000.0000005, NL_NULL_I64},
                 {NAN, NL_NULL_I64},
                 {INFINITY, NL_NULL_I64}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        begin();
        function("a.py", 3, "f");
        tuple(5);
        numbers(1, 1, 0, cases[i].seconds);
        byte('{');
        byte('0');
        struct nl_trace *t = end();
        REQUIRE(t && t->call.rows == 1);
        CHECK_INT(t->call.total_ns[0], cases[i].ns);
        CHECK_INT(covered(t, "times that are not numbers"), cases[i].ns == NL_NULL_I64);
        nl_trace_free(t);
    }
}

/* Whole seconds, and what is no number at all; counts that are no whole numbers. */
static void other_numbers(void)
{
    begin();
    function("a.py", 3, "f");
    tuple(5);
    real(1);
    byte('N');
    whole(3);
    byte('N');
    byte('N');
    struct nl_trace *t = end();
    REQUIRE(t && t->call.rows == 1);
    CHECK_INT(t->call.count[0], NL_NULL_I64);
    CHECK_INT(t->call.primitive[0], NL_NULL_I64);
    CHECK_INT(t->call.self_ns[0], 3000000000);
    CHECK_INT(t->call.total_ns[0], NL_NULL_I64);
    CHECK_INT(covered(t, "times that are not numbers"), 1);
    CHECK_INT(covered(t, "functions without callers"), 1);
    nl_trace_free(t);
}

static void lines(void)
{
    static const struct {
        const char *from;
        int64_t line;
        uint32_t kept;
    } cases[] = {{"a.py", 0, 0},
                 {"a.py", 9, 9},
                 {"a.py", -1, NL_NULL_U32},
                 {"a.py", NL_NULL_U32 - 1, NL_NULL_U32 - 1},
                 {"a.py", NL_NULL_U32, NL_NULL_U32},
                 {"~", 9, NL_NULL_U32}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        begin();
        entry(cases[i].from, cases[i].line, "f", 1);
        struct nl_trace *t = end();
        REQUIRE(t && t->stack.rows == 1);
        CHECK_INT(t->stack.line[0], cases[i].kept);
        CHECK_STR(nl_trace_name(t, t->stack.file[0]), *cases[i].from == '~' ? "" : "a.py");
        nl_trace_free(t);
    }
}

/* Calls that switch the profiler on or off, where they have no file, and what they call. */
static void own_calls(void)
{
    static const char *const names[] = {"<method 'enable' of '_lsprof.Profiler' objects>",
                                        "<method 'disable' of '_lsprof.Profiler' objects>"};
    begin();
    for (size_t i = 0; i < 2; i++)
        entry("~", 0, names[i], 3);
    entry("a.py", 1, names[0], 1);
    function("a.py", 2, "f");
    tuple(5);
    numbers(1, 1, 1, 1);
    byte('{');
    function("~", 0, names[1]);
    tuple(4);
    numbers(1, 1, 1, 1);
    byte('0');
    entry("b.py", 1, "g", 1);
    struct nl_trace *t = end();
    REQUIRE(t);
    CHECK_INT(t->call.rows, 3);
    CHECK_INT(covered(t, "calls of the profiler itself"), 6);
    nl_trace_free(t);
    begin();
    entry("~", 0, names[0], 0);
    entry("b.py", 1, "g", 1);
    t = end();
    REQUIRE(t);
    CHECK_INT(t->call.rows, 1);
    CHECK_INT(covered(t, "calls of the profiler itself"), 0);
    nl_trace_free(t);
}

/* What stands in place of a key, a name or numbers; reading ends there, with what came before. */
static void no_function(int what)
{
    switch (what) {
    case 0: whole(1); break;
    case 1: tuple(2); break;
    case 2: tuple(4); break;
    case 3: tuple(3), whole(1), whole(1), text("f"); break;
    case 4: tuple(3), text("a.py"), whole(1), whole(1); break;
    case 5: function("a.py", 1, "f"), whole(1); break;
    case 6: function("a.py", 1, "f"), tuple(4); break;
    case 7: function("a.py", 1, "f"), tuple(6); break;
    default:
        function("a.py", 1, "f");
        tuple(5);
        numbers(1, 1, 1, 1);
        byte('{');
        function("b.py", 1, "g");
        tuple(what == 8 ? 3 : 5);
    }
}

static void problems(void)
{
    static const char *const said[] = {"a key is no function",      "a key is no function",
                                       "a key is no function",      "a function has no name",
                                       "a function has no name",    "a function has no numbers",
                                       "a function has no numbers", "a function has no numbers",
                                       "a caller has no numbers",   "a caller has no numbers"};
    for (int i = 0; i < (int)CHECK_LENGTH(said); i++) {
        struct nl_err err;
        begin();
        entry("first.py", 1, "first", 1);
        no_function(i);
        for (int k = 0; k < 40; k++)
            byte('N');
        struct nl_trace *t = load(&err);
        REQUIRE(t);
        check_case(said[i]);
        CHECK_INT(t->call.rows, i < 8 ? 1 : 2);
        CHECK_INT(covered(t, "truncated: marshalled data"), 1);
        CHECK(problem(t) && strncmp(problem(t), said[i], strlen(said[i])) == 0);
        nl_trace_free(t);
        begin();
        no_function(i < 8 ? i : 0);
        byte('N');
        CHECK(!load(&err));
        CHECK(strstr(err.text, "no function can be read: ") != NULL);
    }
    check_case(NULL);
}

/* `count` functions, of which every third was there before, each with `callers` of the first. */
static void many(int count, int callers)
{
    char name[32];
    int64_t rows = 0;
    begin();
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "f%d", i % 3 == 2 ? i - 2 : i);
        function("a.py", 1, name);
        tuple(5);
        numbers(i, i, i, i);
        byte('{');
        for (int k = 0; k < callers; k++) {
            function("a.py", 1, "f0");
            whole(1000 * i + k); /* as profile.py has them */
        }
        byte('0');
    }
    struct nl_trace *t = end();
    REQUIRE(t);
    CHECK_INT(t->call.rows, count * (1 + callers));
    CHECK_INT(t->sample.rows, count);
    for (uint32_t row = 0; row < t->call.rows; row++) {
        bool all = t->call.caller[row] == NL_NULL_ROW;
        int64_t i = all ? t->call.count[row] : t->call.count[row] / 1000;
        snprintf(name, sizeof name, "f%d", (int)(i % 3 == 2 ? i - 2 : i));
        CHECK_STR(nl_trace_name(t, t->stack.name[t->call.stack[row]]), name);
        if (!all)
            CHECK_STR(nl_trace_name(t, t->stack.name[t->call.caller[row]]), "f0");
        rows += all;
    }
    CHECK_INT(rows, count);
    nl_trace_free(t);
}

/* 16 functions and 256 rows wait at once. */
static void more_than_wait(void)
{
    static const int counts[] = {1, 2, 3, 15, 16, 17, 31, 32, 33, 100};
    for (size_t i = 0; i < CHECK_LENGTH(counts); i++)
        many(counts[i], 0);
    for (int callers = 253; callers <= 258; callers++)
        many(1, callers);
    for (int callers = 84; callers <= 87; callers++)
        many(6, callers);
}

/* A dict of which the first key is a tuple of three that begins with a text. */
static void scores(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        int score;
    } cases[] = {
        {"{)\3z\1a00", 8, 92},
        {"{)\3z\1a0", 7, 0},
        {"\xfb\xa9\3\xfa\1a00", 8, 92},
        {"{(\3\0\0\0u0", 8, 92},
        {"{(\3\0\0\0\xf4"
         "0",
         8, 92},
        {"{(\3\1\0\0u0", 8, 0},
        {"{(\3\0\1\0u0", 8, 0},
        {"{(\3\0\0\1u0", 8, 0},
        {"{)\2z\1a00", 8, 0},
        {"{)\4z\1a00", 8, 0},
        {"{(\4\0\0\0u0", 8, 0},
        {"{[\3z\1a00", 8, 0},
        {"[)\3z\1a00", 8, 0},
        {"{)\3i\1a00", 8, 0},
        {"{)\3\0\1a00", 8, 0},
        {"{)\3\x80\1a00", 8, 0},
        {"{)\3Z\1a00", 8, 92},
        {"{)\3a\1a00", 8, 92},
        {"{)\3A\1a00", 8, 92},
        {"{)\3t\1a00", 8, 92},
        {"{)\3s\1a00", 8, 92},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_input input = {.name = "t.prof",
                                 .head = (const unsigned char *)cases[i].bytes,
                                 .head_len = cases[i].len};
        const char *why = NULL;
        check_case(cases[i].bytes);
        CHECK_INT(nl_format_pstats.sniff(&input, &why), cases[i].score);
        CHECK((why != NULL) == (cases[i].len == 8 && (cases[i].bytes[0] & 0x7f) == '{' &&
                                ((cases[i].bytes[0] | cases[i].bytes[1]) & 0x80)));
    }
    check_case(NULL);
}

CHECK_MAIN("pstats", {"a function and its caller", function_and_caller}, {"times", times},
           {"other numbers", other_numbers}, {"lines", lines}, {"the profiler's own", own_calls},
           {"problems", problems}, {"more than wait at once", more_than_wait}, {"scores", scores})
