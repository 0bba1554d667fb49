/*
 * Profiles from before profile.proto (ingest/pprof/pproflegacy.c): the four shapes of words,
 * records, maps, symbols and the lines of text profiles, written here and worked out by hand.
 */
#include "check.h"

#include <stdlib.h>

#include "derive/derive.h"
#include "ingest/formats.h"
#include "ingest/lib/wholefile.h"

static unsigned char file[4096];
static size_t length;

static void word(unsigned bytes, bool big, uint64_t value)
{
    for (unsigned i = 0; i < bytes; i++)
        file[length++] = (unsigned char)(value >> 8 * (big ? bytes - 1 - i : i));
}
static void words(unsigned bytes, bool big, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        word(bytes, big, values[i]);
}
static void text(const char *more)
{
    memcpy(file + length, more, strlen(more));
    length += strlen(more);
}

static int score(void)
{
    struct nl_input input = {.name = "t.prof", .head = file, .head_len = length};
    const char *why = NULL;
    return nl_format_pprof.sniff(&input, &why);
}

static struct nl_trace *load(void)
{
    struct nl_job job = {.threads = 1};
    struct nl_err err;
    struct nl_input input = {.path = "-",
                             .name = "t.prof",
                             .encoding = "plain",
                             .rank = NL_NULL_I64,
                             .head = file,
                             .head_len = length};
    nl_err_clear(&err);
    struct nl_builder *builder = nl_builder_new(&job);
    uint32_t source = nl_builder_source(builder, "t.prof", "pprof");
    struct whole_file whole = {.bytes = file, .size = length};
    struct nl_reading reading = {builder, source, &input, &job, NULL, &whole};
    bool ok = nl_format_pprof.load(&reading, &err);
    if (ok)
        return nl_builder_finish(builder, &err);
    nl_builder_free(builder);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* "outer@module;inner:line event=weight unit|…", sorted. */
static void say(const struct nl_trace *t, char *out, size_t size)
{
    static char lines[32][200];
    size_t count = t->sample.rows < 32 ? t->sample.rows : 32;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t nodes[16], depth = 0;
        char *line = lines[i];
        *line = '\0';
        for (uint32_t at = t->sample.stack[i]; at != NL_NULL_ROW && depth < 16;
             at = t->stack.parent[at])
            nodes[depth++] = at;
        for (uint32_t k = depth; k-- > 0;) {
            struct nl_str name = nl_trace_name(t, t->stack.name[nodes[k]]);
            struct nl_str module = nl_trace_name(t, t->stack.module[nodes[k]]);
            struct nl_str from = nl_trace_name(t, t->stack.file[nodes[k]]);
            line += sprintf(line, "%.*s%s%.*s", (int)name.len, name.ptr, module.len ? "@" : "",
                            (int)module.len, module.ptr);
            if (from.len)
                line +=
                    sprintf(line, "(%.*s:%u)", (int)from.len, from.ptr, t->stack.line[nodes[k]]);
            line += sprintf(line, "%s", k ? ";" : "");
        }
        struct nl_str event = nl_trace_name(t, t->sample.event[i]);
        struct nl_str unit = nl_trace_name(t, t->sample.unit[i]);
        sprintf(line, " %.*s=%lld %.*s", (int)event.len, event.ptr, (long long)t->sample.weight[i],
                (int)unit.len, unit.ptr);
    }
    qsort(lines, count, sizeof lines[0], by_text);
    *out = '\0';
    for (size_t i = 0; i < count; i++)
        snprintf(out + strlen(out), size - strlen(out), "%s%s", i ? "|" : "", lines[i]);
}

static void expect(const char *want)
{
    char said[4000] = "nothing";
    struct nl_trace *t = load();
    if (t)
        say(t, said, sizeof said);
    CHECK_TEXT(said, want);
    nl_trace_free(t);
}

/* ---- Binary profiles of CPUs ---- */

/* A header of `extra` words more, 2 stacks of 10 ms, the trailer; then text. */
static void cpu(unsigned bytes, bool big, unsigned extra, const char *tail)
{
    const uint64_t head[] = {0, 3 + extra, 0, 10000, 0, 7, 7};
    const uint64_t records[] = {5, 2, 0x401010, 0x402020, 3, 1, 0x7f0010, 0, 1, 0};
    length = 0;
    words(bytes, big, head, 5 + extra);
    words(bytes, big, records, CHECK_LENGTH(records));
    text(tail);
}

static void shapes_of_words(void)
{
    static const char want[] =
        "0x402020;0x401010 cpu=50000000 ns|0x402020;0x401010 samples=5 samples|"
        "0x7f0010 cpu=30000000 ns|0x7f0010 samples=3 samples";
    for (unsigned bytes = 4; bytes <= 8; bytes += 4)
        for (int big = 0; big < 2; big++)
            for (unsigned extra = 0; extra <= 2; extra++) {
                cpu(bytes, big, extra, "");
                CHECK_INT(score(), 85);
                expect(want);
            }
}

static void maps_and_symbols(void)
{
    cpu(8, false, 0,
        "400000-402000 r-xp 00000000 fc:00 123   /bin/my program\n"
        "402020-402021 r-xp 00000000 00:00 0    [vdso]\n"
        "7f0011-7f0012 r-xp 00000000 fc:00 1   /lib/x.so\n");
    expect("0x402020@[vdso];0x401010@/bin/my program cpu=50000000 ns|"
           "0x402020@[vdso];0x401010@/bin/my program samples=5 samples|"
           "0x7f0010 cpu=30000000 ns|0x7f0010 samples=3 samples");
    cpu(8, false, 0,
        "400000-401010 r-xp 00000000 fc:00 1 /before\n"
        "401010-401010 r-xp 00000000 fc:00 1 /empty\n"
        "402020-402020\n7f0010-7f0010 x /empty\n7f0000-7f0011 r-xp 0 0 0 /last\n");
    expect("0x402020;0x401010 cpu=50000000 ns|0x402020;0x401010 samples=5 samples|"
           "0x7f0010@/last cpu=30000000 ns|0x7f0010@/last samples=3 samples");
    cpu(8, false, 0, "0x401010 a.b (A.java:12)\n0x402020  c.d (C.java:3)\n0x7f0010\nx\n");
    expect("0x7f0010 cpu=30000000 ns|0x7f0010 samples=3 samples|"
           "c.d(C.java:3);a.b(A.java:12) cpu=50000000 ns|"
           "c.d(C.java:3);a.b(A.java:12) samples=5 samples");
}

/* What a header must be: numbers from both sides. */
static void headers(void)
{
    static const struct {
        uint64_t head[5];
        int score;
    } heads[] = {
        {{0, 3, 0, 10000, 0}, 85},  {{1, 3, 0, 10000, 0}, 0},     {{0, 2, 0, 10000, 0}, 0},
        {{0, 3, 1, 10000, 0}, 85},  {{0, 3, 2, 10000, 0}, 0},     {{0, 3, 0, 0, 0}, 0},
        {{0, 3, 0, 1, 0}, 85},      {{0, 3, 0, 60000000, 0}, 85}, {{0, 3, 0, 60000001, 0}, 0},
        {{0, 16, 0, 10000, 0}, 85}, {{0, 17, 0, 10000, 0}, 0}};
    for (size_t i = 0; i < CHECK_LENGTH(heads); i++) {
        char label[40];
        length = 0;
        words(8, false, heads[i].head, 5);
        for (int k = 0; k < 20; k++)
            word(8, false, 1);
        snprintf(label, sizeof label, "header %zu", i);
        check_case(label);
        CHECK_INT(score(), heads[i].score);
    }
    length = 0;
    words(8, false, heads[0].head, 5);
    CHECK_INT(score(), 85);
    length--;
    check_case("a byte less");
    CHECK_INT(score(), 0);
}

/* ---- Text ---- */

static const struct {
    const char *text, *want;
} texts[] = {
    {"heap profile: 3: 9216 [5: 11000] @ heapprofile\n"
     "  1: 4096 [2: 5000] @ 0x10 0x20\n 2: 5120 [ 3: 6000] @ 0x30\n0: 0 [7: 8] @ 0x40\n",
     "0x20;0x10 alloc_objects=2 count|0x20;0x10 alloc_space=5000 bytes|"
     "0x20;0x10 inuse_objects=1 count|0x20;0x10 inuse_space=4096 bytes|"
     "0x30 alloc_objects=3 count|0x30 alloc_space=6000 bytes|0x30 inuse_objects=2 count|"
     "0x30 inuse_space=5120 bytes|0x40 alloc_objects=7 count|0x40 alloc_space=8 bytes"},
    /* 4 KiB of 8 KiB sampled each: of 1 - exp(-1/2) */
    {"heap profile: 3: 9216 [5: 11000] @ heap_v2/8192\n"
     "  10: 40960 [20: 81920] @ 0x10\n 2: 0 [ 0: 8] @ 0x30\n",
     "0x10 alloc_objects=50 count|0x10 alloc_space=208199 bytes|0x10 inuse_objects=25 count|"
     "0x10 inuse_space=104099 bytes|0x30 alloc_space=8 bytes|0x30 inuse_objects=2 count"},
    {"heap profile: 3: 9216 [5: 11000] @ heap/16384\n 10: 40960 [0: 0] @ 0x10\n",
     "0x10 inuse_objects=25 count|0x10 inuse_space=104099 bytes"},
    {"heap profile: 3: 9216 [5: 11000] @ heapz_v2/1\n 10: 40960 [0: 0] @ 0x10\n",
     "0x10 inuse_objects=10 count|0x10 inuse_space=40960 bytes"},
    {"heap profile: 1: 1 [0: 0] @ heapz_v2/1000000000000000\n 100000: 100000 [0: 0] @ 0x10\n"
     " 0: 0 [1: 8] @ 0x20\n",
     "0x20 alloc_objects=125099989649180 count|0x20 alloc_space=1000799917193443 bytes"},
    {"--- contentionz 1 ---\ncycles/second=1000000000\n14 2 @ 0xa 0xB\n15 @ 0xc\n",
     "0xb;0xa contentions=2 count|0xb;0xa delay=14 cycles"},
    {"--- mutex:\ncycles/second=1000000000\n14 1 @ 0xa\n",
     "0xa contentions=1 count|0xa delay=14 cycles"},
    {"goroutine profile: total 5\n3 @ 0x11 0x22\n2 @ 0x33\n",
     "0x22;0x11 goroutine=3 count|0x33 goroutine=2 count"},
    {"threadcreate profile: total 1\n1 @ 0x11\n", "0x11 threadcreate=1 count"},
    {"goroutine profile: total 3\n3 @ 0x12 0x23\n#\t0x11\tmain.work+0x1\t\t/go/m.go:7\n"
     "#\t0x22\tmain.main+0x2\t\t/go/m.go:9\n",
     "main.main(/go/m.go:9);main.work(/go/m.go:7) goroutine=3 count"},
    /* one address twice: the second is the caller that it was inlined into */
    {"goroutine profile: total 3\n3 @ 0x12\n#\t0x11\tmain.leaf+0x1\t\t/go/m.go:7\n"
     "#\t0x11\tmain.outer+0x1\t\t/go/m.go:8\n",
     "main.outer(/go/m.go:8);main.leaf(/go/m.go:7) goroutine=3 count"},
};

static void text_profiles(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(texts); i++) {
        length = 0;
        text(texts[i].text);
        check_case(texts[i].text);
        CHECK_INT(score(), 90);
        expect(texts[i].want);
    }
}

CHECK_MAIN("pproflegacy", {"shapes of words", shapes_of_words},
           {"maps and symbols", maps_and_symbols}, {"headers", headers},
           {"text profiles", text_profiles})
