/*
 * Collapsed stacks (ingest/stacks/collapsed.c): what each way to write a line becomes, weights at
 * their limits, and how sure the reader is of a file; worked out by hand.
 */
#include "check.h"

#include <stdlib.h>

#include "loadtext.h"
#include "ingest/formats.h"

static struct nl_trace *load(const char *text)
{
    struct nl_err err;
    return loadtext(&nl_format_collapsed, text, strlen(text), 1, &err);
}

static int64_t covered(const struct nl_trace *t, const char *item)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < t->coverage.rows; i++)
        if (nl_str_starts(nl_trace_name(t, t->coverage.item[i]), item))
            sum += t->coverage.count[i];
    return sum;
}

/* "a;file:b:7=weight", with the event and the process and thread where they are told. */
static void say_sample(const struct nl_trace *t, uint32_t row, char *text, size_t size)
{
    uint32_t nodes[32], count = 0, lane = t->sample.lane[row];
    *text = '\0';
    for (uint32_t at = t->sample.stack[row]; at != NL_NULL_ROW && count < 32;
         at = t->stack.parent[at])
        nodes[count++] = at;
    for (uint32_t i = count; i-- > 0;) {
        struct nl_str name = nl_trace_name(t, t->stack.name[nodes[i]]);
        struct nl_str file = nl_trace_name(t, t->stack.file[nodes[i]]);
        size_t len = strlen(text);
        snprintf(text + len, size - len, "%.*s%s%.*s%s", (int)file.len, file.ptr,
                 file.len ? ":" : "", (int)name.len, name.ptr, i ? ";" : "");
        len = strlen(text);
        if (t->stack.line[nodes[i]] != NL_NULL_U32 && !i)
            snprintf(text + len, size - len, ":%u", t->stack.line[nodes[i]]);
    }
    size_t len = strlen(text);
    if (t->sample.weight[row] == NL_NULL_I64)
        snprintf(text + len, size - len, "=?");
    else
        snprintf(text + len, size - len, "=%lld", (long long)t->sample.weight[row]);
    struct nl_str event = nl_trace_name(t, t->sample.event[row]);
    len = strlen(text);
    snprintf(text + len, size - len, "%s%.*s", event.len ? " " : "", (int)event.len, event.ptr);
    uint32_t process = t->lane.process[lane], thread = t->lane.thread[lane];
    len = strlen(text);
    if (process != NL_NULL_ROW && t->process.pid[process] != NL_NULL_I64)
        snprintf(text + len, size - len, " P%lld", (long long)t->process.pid[process]);
    len = strlen(text);
    if (thread != NL_NULL_ROW && t->thread.tid[thread] != NL_NULL_I64)
        snprintf(text + len, size - len, " T%lld", (long long)t->thread.tid[thread]);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void say(const struct nl_trace *t, char *text, size_t size)
{
    static char lines[32][200];
    size_t count = t->sample.rows < 32 ? t->sample.rows : 32;
    for (uint32_t i = 0; i < count; i++)
        say_sample(t, i, lines[i], sizeof lines[i]);
    qsort(lines, count, sizeof lines[0], by_text);
    *text = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(text + strlen(text), size - strlen(text), "%s%s", i ? "|" : "", lines[i]);
}

static const struct {
    const char *text, *want, *unit;
    const char *item; /* of coverage, */
    int64_t count;    /* and what it counts */
} files[] = {
    {"a;b 5\na;c 6\n", "a;b=5|a;c=6", "", "skipped", 0},
    {"  a;b   7 \t\na;c\t8\n\n", "a;b=7|a;c=8", "", "skipped", 0},
    {"a;b 5", "a;b=5", "", "skipped", 0},
    {"# x;y 1\n// x;y 2\na;b 5\n", "a;b=5", "", "skipped", 0},
    {"a;b 5\nwords alone\n7\n-5\na;c -5\na;d 1.2.3\na;e .\n 9\n", "a;b=5", "", "skipped", 7},
    /* what a line has in common with the one before */
    {"a;b;c 1\na;b 2\na;bc 3\na;b;c;d 4\na 5\nab 6\na;b;c 7\n",
     "a;b;c;d=4|a;b;c=1|a;b;c=7|a;b=2|a;bc=3|a=5|ab=6", "", "skipped", 0},
    {"ab;c 1\na;c 2\nab;c;d 3\nab;cd 4\n", "a;c=2|ab;c;d=3|ab;c=1|ab;cd=4", "", "skipped", 0},
    {"a;b 1\na;b 2\n", "a;b=1|a;b=2", "", "skipped", 0},
    {";a;;b 3\na;b; 4\n", "a;b=3|a;b=4", "", "samples without", 0},
    {"; 3\na;b 4\n", "=3|a;b=4", "", "samples without", 1},
    {"f(int, int);g h 3\n", "f(int, int);g h=3", "", "skipped", 0},
    /* weights */
    {"a;b 1.5\na;c 2\n", "a;b=1500000|a;c=2000000", "millionths", "weights with", 1},
    {"a;b .5\na;c 5.\n", "a;b=500000|a;c=5000000", "millionths", "weights with", 1},
    {"a;b 5.\na;c 2.0\n", "a;b=5|a;c=2", "", "weights with", 0},
    {"a;b 0.000001\n", "a;b=1", "millionths", "weights rounded", 0},
    {"a;b 0.0000010\n", "a;b=1", "millionths", "weights rounded", 0},
    {"a;b 3.0000001\n", "a;b=3000000", "millionths", "weights rounded", 1},
    {"a;b 9223372036854775807\n", "a;b=9223372036854775807", "", "weights too", 0},
    {"a;b 9223372036854775808\n", "a;b=?", "", "weights too", 1},
    {"a;b 9223372036854.5\n", "a;b=9223372036854500000", "millionths", "weights too", 0},
    {"a;b 9223372036855.5\n", "a;b=?", "millionths", "weights too", 1},
    {"a;b 9223372036854.9\n", "a;b=?", "millionths", "weights too", 1},
    /* two weights: before and after */
    {"a;b 1 2\na;c 3 4\n", "a;b=1 before|a;b=2 after|a;c=3 before|a;c=4 after", "", "skipped", 0},
    {"a;b 1 2\na;c 4\n", "a;b 1=2|a;c=4", "", "skipped", 0},
    /* processes and threads */
    {"process 12:\"python --token x\";a 3\nprocess 13:\"python\";a 4\n",
     "process 12;a=3 P12|process 13;a=4 P13", "", "command lines", 2},
    {"process 12;a 3\nprocess x:1;a 4\n", "process 12;a=3|process x:1;a=4", "", "command lines", 0},
    {"# austin: 3.0\n# mode: wall\nP12;T34;f.py:main:5;g.py:run:7 100\n",
     "f.py:main;g.py:run:7=100000 P12 T34", "ns", "unit of", 0},
    {"# austin: 3.0\n# mode: cpu\nP12;T0:34;f.py:main:5 100\nP12;T0:35;f.py:main:5 1.5\n",
     "f.py:main:5=100000 P12 T34|f.py:main:5=1500 P12 T35", "ns", "weights with", 0},
    {"# austin: 3.0\n# mode: memory\nP1;T2;f.py:main:5 100\n", "f.py:main:5=100 P1 T2", "",
     "unit of", 1},
    {"# mode: wall\nP12;T34;a 100\n", "P12;T34;a=100", "", "unit of", 1},
    {"# austin: 3.0\nP12x;T34;:5;a:6 1\n", "P12x;:5;a:6=1 T34", "", "skipped", 0},
};

static void lines(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(files); i++) {
        struct nl_trace *t = load(files[i].text);
        char said[2000];
        check_case(files[i].text);
        REQUIRE(t);
        say(t, said, sizeof said);
        CHECK_TEXT(said, files[i].want);
        CHECK_STR(nl_trace_name(t, t->sample.unit[0]), files[i].unit);
        CHECK_INT(covered(t, files[i].item), files[i].count);
        nl_trace_free(t);
    }
    CHECK(!load("no weight\n"));
    CHECK(!load("# a;b 5\n"));
}

/* ---- How sure it is ---- */

static void scores(void)
{
    static const struct {
        const char *text;
        int score;
        bool why;
    } heads[] = {
        {"a;b 1\n", 80, false},
        {"a;b 1\nx\n", 0, true},
        {"a;b 1\na;b 1\nx\n", 60, false},
        {"a;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\nx\n", 80, false},
        {"a;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\na;b 1\nx\n", 60, false},
        {"a 1\nb 2\nc;d 3\n", 80, false},
        {"a 1\nb 2\nc 3\n", 0, true},
        {"a 1\nb 2\n", 0, false},
        {"a 1\nb 2\nc 3\nx\n", 0, false},
        {"# x\n\n// y\na;b 1\n", 80, false},
        {"a;b 1\n\001\n", 0, false},
        {"a;b 1\n\033[0m;c 2\r\n", 80, false},
        {"", 0, false},
    };
    for (size_t i = 0; i < CHECK_LENGTH(heads); i++) {
        struct nl_input input = {.name = "t.txt",
                                 .head = (const unsigned char *)heads[i].text,
                                 .head_len = strlen(heads[i].text)};
        const char *why = NULL;
        check_case(heads[i].text);
        CHECK_INT(nl_format_collapsed.sniff(&input, &why), heads[i].score);
        CHECK_INT(why != NULL, heads[i].why);
    }
}

CHECK_MAIN("collapsed", {"what lines become", lines}, {"how sure the reader is", scores})
