/*
 * What readers say that they skipped, repaired or cut: so many faults in a text, such a count; and
 * limits of lengths, from both sides.
 */
#include "corpus.h"

#include "base/str.h"

#define X(more) "{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1" more "},"

/* The text is head, the fault none to three times, and tail. Each fault counts `each`; `most`:
 * of how many can there be. */
static const struct {
    const char *head, *fault, *tail, *item;
    int each, most;
} faults[] = {
    /* Chrome */
    {"[" X(""), "{\"name\":\"b\",\"ts\":1},", "]", "skipped: event without a phase", 1, 3},
    {"[" X(""), "{\"ph\":\"XX\",\"name\":\"b\",\"ts\":1},", "]",
     "skipped: event of an unknown phase", 1, 3},
    {"[" X(""), "{\"ph\":\"?\",\"name\":\"b\",\"ts\":1},", "]",
     "skipped: event of an unknown phase", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\"},", "]", "skipped: event without a time", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":null,\"dur\":1},", "]",
     "skipped: event without a time", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":\"x\",\"dur\":1},", "]",
     "skipped: event with a time out of range", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":9223372036854000,\"dur\":9e14},", "]",
     "skipped: event with a time out of range", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1},", "]",
     "unfinished: event without a duration", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":null},", "]",
     "unfinished: event without a duration", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":\"x\"},", "]",
     "repaired: duration that is not a number", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":-1},", "]",
     "repaired: negative duration", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",\"name\":\"b\",\"ts\":1,\"dur\":\"2\"},", "]",
     "repaired: number as text", 1, 3},
    {"[" X(""), "{\"ph\":\"C\",\"name\":\"b\",\"ts\":1,\"args\":{\"v\":\"x\"}},", "]",
     "skipped: counter value that is not a number", 1, 3},
    {"[" X(""), "{\"ph\":\"e\",\"cat\":\"c\",\"id\":1,\"name\":\"b\",\"ts\":1},", "]",
     "skipped: async end without begin", 1, 3},
    /* one without an id is not that of the number 1 */
    {"[" X(""),
     "{\"ph\":\"b\",\"cat\":\"c\",\"name\":\"b\",\"ts\":1},"
     "{\"ph\":\"e\",\"cat\":\"c\",\"name\":\"b\",\"id\":1,\"ts\":2},",
     "]", "skipped: async end without begin", 1, 3},
    {"[" X(""), "{\"ph\":\"b\",\"cat\":\"c\",\"id\":1,\"name\":\"b\",\"ts\":1},", "]",
     "unfinished: async begin without end", 1, 3},
    {"[" X(""), "{\"ph\":\"E\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "skipped: end without begin", 1, 3},
    {"[" X(""), "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "unfinished: begin without end", 1, 3},
    {"[" X(""),
     "{\"ph\":\"B\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":5},"
     "{\"ph\":\"E\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":6},",
     "]", "end with another name than its begin", 1, 3},
    {"[" X(""),
     "{\"ph\":\"s\",\"cat\":\"c\",\"id\":1,\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "skipped: flow with one end only", 1, 3},
    {"[" X(""),
     "{\"ph\":\"f\",\"cat\":\"c\",\"id\":1,\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "skipped: flow with one end only", 1, 3},
    {"[" X(""),
     "{\"ph\":\"t\",\"cat\":\"c\",\"id\":1,\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "skipped: flow with one end only", 1, 3},
    {"[" X(""), "{\"ph\":\"s\",\"cat\":\"c\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1},", "]",
     "skipped: flow with one end only", 1, 3},
    {"[" X(""), "{\"ph\":\"N\",\"name\":\"b\",\"ts\":1},", "]", "skipped: object without an id", 1,
     3},
    {"[" X(""), "{\"ph\":\"D\",\"name\":\"b\",\"id\":7,\"ts\":1},", "]",
     "skipped: object deleted that was not created", 1, 3},
    {"[" X(""), "{\"ph\":\"N\",\"name\":\"b\",\"id\":7,\"ts\":1},", "]",
     "object that was not deleted", 1, 3},
    {"[" X(""), "{\"ph\":\"V\",\"ts\":1},", "]", "not loaded: memory dump of all (V)", 1, 3},
    {"[" X(""), "{\"ph\":\"v\",\"ts\":1,\"args\":{\"dumps\":{\"process_mmaps\":{}}}},", "]",
     "not loaded: part of a memory dump", 1, 3},
    {"[" X(""), X(",\"cat\":\"cpu_op\",\"stack\":[\"x\"]"), "]",
     "not stored: call stack of an event of a known category", 1, 3},
    {"[" X(""), "{\"ph\":\"B\",\"name\":\"b\",\"ts\":2},{\"ph\":\"E\",\"ts\":3,\"stack\":[\"x\"]},",
     "]", "not stored: call stack of a slice's end", 1, 3},
    {"[" X(""), "{\"ph\":\"X\",:::},", X("") "{}]", "skipped: malformed event", 1, 3},
    {"[" X(""), "1,", "]", "skipped: list element that is not an event", 1, 3},
    {"[" X(""), "\"x\",", "]", "skipped: list element that is not an event", 1, 3},
    {"[" X(""), X(","), "]", "repaired: trailing comma", 1, 3},
    {"[" X(""), X(",\"args\":{\"k\":NaN}"), "]", "repaired: bare word instead of a value", 1, 3},
    {"[" X(""), X(",\"args\":{\"k\":1 \"l\":2}"), "]", "repaired: missing comma", 1, 3},
    {"[" X(""), X(",\"pid\":1"), "]", "repaired: key twice in one event", 1, 3},
    {"{", "5,", "\"traceEvents\":[" X("") "{}]}", "skipped: malformed top-level value", 1, 1},
    {"{", "5", "\"traceEvents\":[" X("") "{}]}", "skipped: malformed top-level value", 1, 1},
    /* arguments by their names, in letters that any terminal shows */
    {"[" X(""), X(",\"cat\":\"cpu_op\",\"args\":{\"a\x7f~ z\":1}"), "]",
     "not stored: argument a?~ z", 1, 3},
    {"[" X(""), X(",\"cat\":\"cpu_op\",\"args\":{\"\xC3\xA9\":1}"), "]", "not stored: argument ??",
     1, 3},
    {"[" X(""), X(",\"cat\":\"cpu_op\",\"args\":{\"\t\":1}"), "]", "not stored: argument \\t", 0,
     3},
    /* twelve are kept of an event, the others counted together */
    {"[" X(""),
     X(",\"cat\":\"cpu_op\",\"args\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,"
       "\"h\":1,\"i\":1,"
       "\"j\":1,\"k\":1,\"l\":1}"),
     "]", "not stored: argument under another key", 0, 3},
    {"[" X(""),
     X(",\"cat\":\"cpu_op\",\"args\":{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,"
       "\"h\":1,\"i\":1,"
       "\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1}"),
     "]", "not stored: argument under another key", 2, 3},
    /* JSON of others: a comma behind the last, a number that is none */
    {"{\"start_time\":1,\"duration\":2,\"sample_count\":3,\"cpu_time\":1,"
     "\"root_frame\":{\"children\":[],\"function\":\"main\",\"file_path_short\":\"m.py\","
     "\"line_no\":1,\"time\":2}",
     ",", "}", "repaired: JSON", 1, 1},
    {"{\"start_time\":1,\"duration\":2,\"sample_count\":3,\"cpu_time\":1,", "\"x\":NaN,",
     "\"root_frame\":{\"children\":[],\"function\":\"main\",\"file_path_short\":\"m.py\","
     "\"line_no\":1,\"time\":2}}",
     "repaired: JSON", 1, 3},
    {"{\"elapsed_time_sec\":2,", "\"x\":NaN,",
     "\"files\":{\"/a.py\":{\"functions\":[],\"lines\":[{\"line\":\"x\",\"lineno\":1,"
     "\"n_cpu_percent_python\":50,\"n_cpu_percent_c\":0,\"n_sys_percent\":0}]}}}",
     "repaired: JSON", 1, 3},
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",", "\"x\":NaN,",
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[{\"type\":\"sampled\","
     "\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,\"samples\":[[0]],"
     "\"weights\":[1]}]}",
     "repaired: JSON", 1, 3},
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[",
     "{\"type\":\"other\",\"name\":\"t\",\"unit\":\"seconds\"},",
     "{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,"
     "\"samples\":[[0]],\"weights\":[1]}]}",
     "skipped: profiles of unknown type", 1, 3},
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[{\"type\":\"evented\","
     "\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,\"events\":[",
     "{\"type\":\"C\",\"frame\":0,\"at\":0},",
     "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"C\",\"frame\":0,\"at\":1}]}]}",
     "skipped: ends of frames that are not open", 1, 3},
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[{\"type\":\"evented\","
     "\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,\"events\":[",
     "{\"type\":\"O\",\"frame\":0},",
     "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"C\",\"frame\":0,\"at\":1}]}]}",
     "skipped: events without a time", 1, 3},
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[{\"type\":\"evented\","
     "\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,\"events\":[",
     "{\"type\":\"O\",\"frame\":1,\"at\":0},",
     "{\"type\":\"O\",\"frame\":0,\"at\":0},{\"type\":\"C\",\"frame\":0,\"at\":1}]}]}",
     "skipped: frames that are not in the list", 1, 3},
    {"{\"schema\":\"1.0.1\",\"pid\":12,\"start_ts\":100,\"finish_ts\":200,\"nodes\":[",
     "{\"ctrl_deps\":1},",
     "{\"name\":\"aten::add\",\"id\":14,\"rf_id\":5,\"parent\":1,\"scope\":0,\"tid\":1,"
     "\"inputs\":[],\"input_shapes\":[],\"input_types\":[]}]}",
     "skipped: nodes without id and name", 1, 3},
    {"[{\"startEnqMs\":0.5,\"endEnqMs\":0.6,\"startH2dMs\":1,\"endH2dMs\":1,\"startComputeMs\":1,"
     "\"endComputeMs\":2,\"startD2hMs\":2,"
     "\"endD2hMs\":2,\"computeMs\":1,\"latencyMs\":1}\n",
     ",{\"startH2dMs\":1,\"endH2dMs\":1,\"latencyMs\":1}\n", "]",
     "skipped: inferences without a time", 1, 3},
    /* lines */
    {"train 1/1 [0] 1.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 2.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 3.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n",
     "noise between\n", "", "skipped: lines that are neither header nor frame", 1, 2},
    {"main;load;read 3\nmain;load;parse 5\nmain;train;matmul 40\nmain;train 1\n",
     "a line without a weight\n", "", "skipped: lines without a stack and a weight", 1, 1},
    {"==1== Profiling result:\n\"Type\",\"Time(%)\",\"Time\",\"Calls\",\"Avg\",\"Min\",\"Max\","
     "\"Name\"\n,%,ms,,us,us,us,\n\"GPU activities\",90.5,542.36,45,12052.4,1.2,99.0,\"k(int)\"\n",
     "\"GPU activities\",90.5,542.36,x,12052.4,1.2,99.0,\"k(int)\"\n", "", "skipped: damaged row",
     1, 3},
    {"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
     "\"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",1,1,3,\"fill.kd\",1,100,300\n",
     "\"KERNEL_DISPATCH\",1,1\n", "", "skipped: damaged row", 1, 3},
    {"\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Kernel_Id\",\"Kernel_Name\",\"Correlation_Id\","
     "\"Start_Timestamp\",\"End_Timestamp\"\n\"KERNEL_DISPATCH\",1,1,3,\"fill.kd\",1,100,300\n",
     "\"KERNEL_DISPATCH\",1,1,3,\"fill.kd", "", "repaired: quote never closed", 1, 1},
    {"PeriodType: cpu nanoseconds\nPeriod: 10000000\nSamples:\nsamples/count cpu/nanoseconds\n"
     "          3   30000000: 1\n",
     "nonsense\n", "Locations\n     1: 0x401000 M=1 main /src/main.go:12:3 s=10\nMappings\n",
     "skipped: lines that are neither samples nor locations", 1, 3},
};

static void each_is_counted(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 1 << 16);
    for (size_t i = 0; i < CHECK_LENGTH(faults); i++)
        for (int count = 0; count <= faults[i].most; count++) {
            check_case(faults[i].fault);
            nl_buf_clear(&text);
            nl_buf_text(&text, faults[i].head);
            for (int k = 0; k < count; k++)
                nl_buf_text(&text, faults[i].fault);
            nl_buf_text(&text, faults[i].tail);
            struct nl_trace *trace = corpus_ingest_bytes(text.ptr, text.len);
            CHECK(trace);
            if (trace)
                CHECK_INT(corpus_coverage(trace, faults[i].item), count * faults[i].each);
            nl_trace_free(trace);
        }
    nl_buf_release(&text);
}

/* The text is head, letters, and tail. So many letters are taken whole, more are cut once. */
static const struct {
    const char *head, *tail, *item;
    size_t most, more;
} lengths[] = {
    {"{\"schema\":\"1.0.1\",\"pid\":12,\"start_ts\":100,\"finish_ts\":200,\"nodes\":["
     "{\"name\":\"aten::add\",\"id\":14,\"rf_id\":5,\"parent\":1,\"scope\":0,\"tid\":1,"
     "\"inputs\":[],\"input_shapes\":[],\"input_types\":[]},{\"id\":15,\"parent\":1,\"name\":\"",
     "\"}]}", "not loaded: texts of nodes that are too long", 65536, 1},
    /* an object of arguments with its quotes and braces: {"k":"…"} */
    {"[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"k\":\"",
     "\"}}]", "cut: arguments over 4 KiB", 4096 - 8, 1},
    {"main;load;read 3\nmain;load;parse 5\nmain;train;matmul 40\nmain;", " 1\n",
     "cut: lines over 4 MiB", (4 << 20) - 7, 1 << 24},
    {"train 1/1 [0] 1.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 2.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 3.5: 250000 cpu-clock:u: \n\t401b97 ",
     "+0x1f (/usr/bin/train)\n\n", "cut: lines over 4 MiB", (4 << 20) - 31, 1 << 24},
};

static void the_longest_is_whole(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 32 << 20);
    for (size_t i = 0; i < CHECK_LENGTH(lengths); i++)
        for (size_t more = 0; more <= 1; more++) {
            check_case(lengths[i].item);
            nl_buf_clear(&text);
            nl_buf_text(&text, lengths[i].head);
            for (size_t k = 0; k < lengths[i].most + more * lengths[i].more; k++)
                nl_buf_char(&text, 'a');
            nl_buf_text(&text, lengths[i].tail);
            struct nl_trace *trace = corpus_ingest_bytes(text.ptr, text.len);
            CHECK(trace);
            if (trace)
                CHECK_INT(corpus_coverage(trace, lengths[i].item), more);
            nl_trace_free(trace);
        }
    nl_buf_release(&text);
}

/* Of stacks that are one frame deeper, and three, so many frames are left out. */
static const struct {
    const char *head, *frame, *tail, *item;
    unsigned most;
} depths[] = {
    {"{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
     "\"shared\":{\"frames\":[{\"name\":\"main\"}]},\"profiles\":[{\"type\":\"evented\","
     "\"name\":\"t\",\"unit\":\"seconds\",\"startValue\":0,\"endValue\":1,\"events\":[",
     "{\"type\":\"O\",\"frame\":0,\"at\":0},", "{\"type\":\"C\",\"frame\":0,\"at\":1}]}]}",
     "skipped: calls over 4096 deep", 4096},
    {"train 1/1 [0] 1.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 2.5: 250000 cpu-clock:u: \n\t401b97 inner+0x1f (/usr/bin/train)\n\n"
     "train 1/1 [0] 3.5: 250000 cpu-clock:u: \n",
     "\t401b97 a (/b)\n", "\n", "skipped: frames of stacks over 65,536 deep", 65536},
};

static void the_deepest_is_whole(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 4 << 20);
    for (size_t i = 0; i < CHECK_LENGTH(depths); i++)
        for (unsigned more = 0; more <= 3; more += more + 1) {
            check_case(depths[i].item);
            nl_buf_clear(&text);
            nl_buf_text(&text, depths[i].head);
            for (size_t k = 0; k < depths[i].most + more; k++)
                nl_buf_text(&text, depths[i].frame);
            nl_buf_text(&text, depths[i].tail);
            struct nl_trace *trace = corpus_ingest_bytes(text.ptr, text.len);
            CHECK(trace && !text.overflow);
            if (trace)
                CHECK_INT(corpus_coverage(trace, depths[i].item), more);
            nl_trace_free(trace);
        }
    nl_buf_release(&text);
}

static void text_of_pickle(struct nl_buf *out, const char *text)
{
    nl_buf_char(out, 'X');
    for (unsigned i = 0; i < 4; i++)
        nl_buf_char(out, (char)(strlen(text) >> 8 * i));
    nl_buf_text(out, text);
}

/* Allocations of one byte, each from a stack of so many frames, which are one by the memo. */
static void snapshot(struct nl_buf *out, const unsigned *frames, size_t count)
{
    nl_buf_add(out, "\x80\x02}(", 4);
    static const char *const more[] = {"allocated_size", "segment_type", "blocks"};
    for (size_t i = 0; i < CHECK_LENGTH(more); i++) {
        text_of_pickle(out, more[i]);
        nl_buf_char(out, 'N');
    }
    text_of_pickle(out, "segments");
    nl_buf_text(out, "]");
    text_of_pickle(out, "device_traces");
    nl_buf_text(out, "](](");
    for (size_t i = 0; i < count; i++) {
        nl_buf_text(out, "}(");
        text_of_pickle(out, "action");
        text_of_pickle(out, "alloc");
        static const char *const numbers[] = {"addr", "size", "stream", "time_us"};
        for (size_t k = 0; k < CHECK_LENGTH(numbers); k++) {
            text_of_pickle(out, numbers[k]);
            nl_buf_add(out, "K\1", 2);
        }
        text_of_pickle(out, "frames");
        nl_buf_text(out, "](}(");
        text_of_pickle(out, "name");
        text_of_pickle(out, "f");
        nl_buf_add(out, "uq\0", 3);
        for (unsigned k = 1; k < frames[i]; k++)
            nl_buf_add(out, "h\0", 2);
        nl_buf_text(out, "eu");
    }
    nl_buf_text(out, "eeu.");
}

static void stacks_of_snapshots(void)
{
    static const unsigned frames[] = {1, 1023, 1024, 1025, 1026, 5000};
    struct nl_buf out;
    nl_buf_init(&out, 1 << 20);
    for (size_t count = 1; count <= CHECK_LENGTH(frames); count++) {
        nl_buf_clear(&out);
        snapshot(&out, frames, count);
        struct nl_trace *trace = corpus_ingest_bytes(out.ptr, out.len);
        REQUIRE(trace);
        CHECK_INT(corpus_coverage(trace, "cut: stacks of more than 1024 frames"),
                  count > 3 ? count - 3 : 0);
        CHECK_INT(trace->stack.rows, frames[count - 1] < 1024 ? frames[count - 1] : 1024);
        nl_trace_free(trace);
    }
    nl_buf_release(&out);
}

CHECK_MAIN("tallies", {"stacks of snapshots", stacks_of_snapshots},
           {"the deepest is taken whole", the_deepest_is_whole},
           {"each fault is counted", each_is_counted},
           {"the longest is taken whole", the_longest_is_whole})
