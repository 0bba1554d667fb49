/* The Chrome reader: call stacks, samples, profiles of V8, objects. */
#include "chrometext.h"

/* Names of a stack, outermost first, with '/' between them. */
static const char *stack_text(const struct nl_trace *t, uint32_t row)
{
    static char text[256];
    size_t at = sizeof text - 1;
    text[at] = '\0';
    for (; row != NL_NULL_ROW; row = t->stack.parent[row]) {
        struct nl_str name = nl_trace_name(t, t->stack.name[row]);
        at -= name.len + 1;
        memcpy(text + at, name.ptr, name.len);
        text[at + name.len] = '/';
    }
    return text + at;
}

#define FRAMES                                                                                     \
    "\"stackFrames\":{\"7\":{\"name\":\"main\",\"category\":\"app\"},"                             \
    "\"8\":{\"name\":\"work\",\"parent\":\"7\"}}"
#define STACKED                                                                                    \
    "\"traceEvents\":["                                                                            \
    "{\"ph\":\"X\",\"name\":\"whole\",\"pid\":1,\"tid\":2,\"ts\":1,\"dur\":5,\"sf\":8},"           \
    "{\"ph\":\"B\",\"name\":\"begun\",\"pid\":1,\"tid\":2,\"ts\":2,\"stack\":[\"a\",\"b\"]},"      \
    "{\"ph\":\"E\",\"pid\":1,\"tid\":2,\"ts\":3},"                                                 \
    "{\"ph\":\"i\",\"name\":\"mark\",\"pid\":1,\"tid\":2,\"ts\":4,\"sf\":\"7\"},"                  \
    "{\"ph\":\"P\",\"name\":\"cycles\",\"pid\":1,\"tid\":2,\"ts\":5,\"sf\":8},"                    \
    "{\"ph\":\"P\",\"name\":\"leaf\",\"pid\":1,\"tid\":2,\"ts\":6},"                               \
    "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":2,\"args\":{\"name\":\"t\"}}]"
#define SAMPLED                                                                                    \
    "\"samples\":[{\"ts\":\"7.5\",\"tid\":2,\"cpu\":3,\"sf\":7,\"weight\":1.5,\"name\":\"c\"},"    \
    "{\"tid\":2},{\"ts\":8,\"pid\":9,\"tid\":9,\"cpu\":-1,\"sf\":\"8\"}]"

/* The dictionary may stand before or behind what names its frames. */
static void stacks(void)
{
    static const char *const texts[] = {"{" FRAMES "," STACKED "," SAMPLED "}",
                                        "{" SAMPLED "," STACKED "," FRAMES "}"};
    static const char *const of_samples[] = {"main/work/", "leaf/", "main/", "main/work/"};
    for (size_t i = 0; i < 2; i++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            struct nl_trace *t = load_bytes(texts[i], strlen(texts[i]), threads);
            REQUIRE(t && t->slice.rows == 3 && t->slicestack.rows == 3 && t->sample.rows == 4);
            static const struct {
                const char *slice, *stack;
                int64_t dur;
            } rows[] = {
                {"whole", "main/work/", 5000}, {"begun", "a/b/", 1000}, {"mark", "main/", 0}};
            for (size_t k = 0; k < 3; k++) {
                uint32_t slice = find(t, rows[k].slice), s = 0;
                REQUIRE(slice != NL_NULL_ROW);
                while (s < 2 && t->slicestack.slice[s] != slice)
                    s++;
                CHECK_STR(nl_str(stack_text(t, t->slicestack.stack[s])), rows[k].stack);
                CHECK_INT(t->slice.dur[slice], rows[k].dur);
            }
            for (uint32_t s = 0; s < 4; s++)
                CHECK_STR(nl_str(stack_text(t, t->sample.stack[s])), of_samples[s]);
            CHECK_INT(t->sample.ts[2] - t->sample.ts[1], 1500);
            CHECK_INT(t->sample.cpu[2], 3);
            CHECK_INT(t->sample.weight[2], 2);
            CHECK(t->sample.cpu[3] == NL_NULL_I64 && t->sample.weight[3] == NL_NULL_I64);
            CHECK_INT(t->sample.lane[2], t->sample.lane[0]); /* by its thread's name */
            CHECK_STR(nl_trace_name(t, t->sample.event[0]), "cycles");
            CHECK_INT(covered(t, "skipped: sample without a time"), 1);
            nl_trace_free(t);
        }
}

#define CHUNK(ts, data)                                                                            \
    "{\"ph\":\"P\",\"name\":\"ProfileChunk\",\"id\":\"0x1\",\"pid\":1,\"tid\":5,\"ts\":" ts        \
    ",\"args\":{\"data\":" data "}}"

/* Chunks name nodes of earlier ones, by parents or by children; times are sums of steps. */
static void profiles_of_v8(void)
{
    struct nl_trace *t = load(
        "[{\"ph\":\"P\",\"name\":\"Profile\",\"id\":1,\"pid\":1,\"tid\":2,\"ts\":99,\"args\":{"
        "\"data\":{"
        "\"startTime\":100}}}," CHUNK(
            "110",
            "{\"timeDeltas\":[5,-1.5],\"cpuProfile\":{\"samples\":[2,1],\"nodes\":["
            "{\"id\":1,\"callFrame\":{\"functionName\":\"(root)\",\"lineNumber\":-1}},"
            "{\"id\":2,\"parent\":1,\"callFrame\":{\"functionName\":\"\",\"url\":\"f.js\","
            "\"lineNumber\":6}}]}}") "," CHUNK("120",
                                               "{\"cpuProfile\":{\"samples\":[2,3],\"nodes\":["
                                               "{\"id\":3,\"parent\":2,\"callFrame\":{"
                                               "\"functionName\":\"in\"}}]},"
                                               "\"timeDeltas\":[10,10,1]}") ","
                                                                            "{\"ph\":\"I\","
                                                                            "\"name\":"
                                                                            "\"CpuProfile\","
                                                                            "\"pid\":1,\"tid\":7,"
                                                                            "\"ts\":300,\"args\":{"
                                                                            "\"data\":{"
                                                                            "\"cpuProfile\":{"
                                                                            "\"startTime\":200,"
                                                                            "\"timeDeltas\":[1],"
                                                                            "\"samples\":[2,2],"
                                                                            "\"nodes\":["
                                                                            "{\"id\":1,"
                                                                            "\"children\":[2],"
                                                                            "\"callFrame\":{"
                                                                            "\"functionName\":"
                                                                            "\"old\"}},"
                                                                            "{\"id\":2,"
                                                                            "\"callFrame\":{"
                                                                            "\"functionName\":"
                                                                            "\"x\"}}]}}}}]");
    REQUIRE(t && t->sample.rows == 5 && t->slice.rows == 0);
    static const struct {
        int64_t ts, tid;
        const char *stack;
    } rows[] = {{105000, 2, "(root)/(anonymous)/"},
                {103500, 2, "(root)/"},
                {113500, 2, "(root)/(anonymous)/"},
                {123500, 2, "(root)/(anonymous)/in/"},
                {201000, 7, "old/x/"}};
    int64_t first = t->sample.ts[0];
    for (uint32_t s = 0; s < 5; s++)
        first = t->sample.ts[s] < first ? t->sample.ts[s] : first;
    for (size_t i = 0; i < CHECK_LENGTH(rows); i++) {
        uint32_t s = 0; /* the order of profiles is not promised */
        while (s < 5 && t->sample.ts[s] - first != rows[i].ts - 103500)
            s++;
        REQUIRE(s < 5);
        CHECK_STR(nl_str(stack_text(t, t->sample.stack[s])), rows[i].stack);
        CHECK_INT(t->thread.tid[t->lane.thread[t->sample.lane[s]]], rows[i].tid);
    }
    CHECK_INT(covered(t, "skipped: sample of a V8 profile without a time"), 1);
    nl_trace_free(t);
}

/* Objects live from N to D in their process; what is told of them are marks. */
static void objects(void)
{
    struct nl_trace *t =
        load("[{\"ph\":\"N\",\"name\":\"tree\",\"id\":\"0x1\",\"pid\":1,\"tid\":1,\"ts\":1},"
             "{\"ph\":\"N\",\"name\":\"other\",\"id\":\"0x1\",\"pid\":2,\"tid\":1,\"ts\":2},"
             "{\"ph\":\"O\",\"name\":\"tree\",\"id\":1,\"pid\":1,\"tid\":1,\"ts\":3,"
             "\"args\":{\"snapshot\":{\"leaves\":4}}},"
             "{\"ph\":\"D\",\"name\":\"tree\",\"id\":\"0x1\",\"pid\":1,\"tid\":3,\"ts\":5},"
             "{\"ph\":\"D\",\"name\":\"tree\",\"id\":\"0x9\",\"pid\":1,\"tid\":1,\"ts\":9}]");
    REQUIRE(t && t->slice.rows == 3 && t->arg.rows == 1);
    CHECK_INT(t->slice.dur[find(t, "tree")], 4000);
    CHECK_INT(t->slice.kind[t->arg.slice[0]], NL_KIND_MARK);
    CHECK_STR(nl_trace_name(t, t->arg.text[0]), "{\"snapshot\":{\"leaves\":4}}");
    CHECK(t->slice.flags[find(t, "other")] & NL_SLICE_CLAMPED);
    CHECK_INT(covered(t, "object that was not deleted"), 1);
    CHECK_INT(covered(t, "skipped: object deleted that was not created"), 1);
    nl_trace_free(t);
}

CHECK_MAIN("chrome stacks", {"call stacks", stacks}, {"profiles of V8", profiles_of_v8},
           {"objects", objects})
