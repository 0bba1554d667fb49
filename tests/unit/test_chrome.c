/* The Chrome/Kineto reader: values, columns, pairing, repairs, top level, blocks. */
#include "chrometext.h"

#include "base/mem.h"

#define EVENT(ts, dur)                                                                             \
    "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":" ts ",\"dur\":" dur "}]"

static void times_are_exact(void)
{
    static const struct {
        const char *text;
        int64_t ts, dur;
    } cases[] = {
        {EVENT("1365627887021.673", "3.167"), 1365627887021673, 3167},
        {EVENT("1740461679482752", "753"), 1740461679482752000, 753000},
        {EVENT("1712170311000000.25", "0.5"), 1712170311000000250, 500},
        {EVENT("\"3497798450324\"", "\"7.5\""), 3497798450324000, 7500},
        {EVENT("1.5e3", "2E0"), 1500000, 2000},
        {EVENT("0.0004", "0.0005"), 0, 1},
        {EVENT("-5.001", "0"), -5001, 0},
        {EVENT("123456789012345.999", "99999999.9"), 123456789012345999, 99999999900},
        {EVENT("2007199254740993", "1"), 2007199254740993000, 1000},
        {EVENT("1669783688140967.000", "10.5"), 1669783688140967000, 10500},
        {EVENT("1669783688140967.1", "234567890123456.78"), 1669783688140967100,
         234567890123456780},
        {EVENT("16697836881.25", "16697836881409671.5e-9"), 16697836881250, 16697836881},
        {EVENT("12.3456", "00.10"), 12346, 100},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].text);
        struct nl_trace *t = load(cases[i].text);
        REQUIRE(t);
        REQUIRE(t->slice.rows == 1);
        CHECK_INT(t->slice.ts[0], cases[i].ts);
        CHECK_INT(t->slice.dur[0], cases[i].dur);
        nl_trace_free(t);
    }
}

static const char kineto[] =
    "{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA "
    "H100\",\"totalGlobalMem\":85045477376,"
    "\"computeMajor\":9,\"computeMinor\":0,\"maxThreadsPerMultiprocessor\":2048,\"warpSize\":32,"
    "\"numSms\":132}],"
    "\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8},"
    "\"environ\":{\"HF_TOKEN\":\"hf_secret\"},\"traceEvents\":[\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#7\",\"pid\":6583,\"tid\":"
    "6583,\"ts\":90,\"dur\":100},"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::fill_\",\"pid\":6583,\"tid\":6583,\"ts\":"
    "100.919,\"dur\":14.62,"
    "\"args\":{\"External id\":834,\"Record function id\":0,\"Sequence number\":12,\"Fwd thread "
    "id\":1,"
    "\"Concrete Inputs\":[\"\",\"0.\"],\"Input type\":[\"c10::BFloat16\",\"Scalar\"],"
    "\"Input Strides\":[[3072,1],[]],\"Input Dims\":[[888,3072],[]],\"Ev Idx\":833}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":6583,\"tid\":"
    "6583,\"ts\":103,\"dur\":6.252,"
    "\"args\":{\"External id\":834,\"cbid\":211,\"correlation\":2215}},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllGather_RING_LL(x)\",\"pid\":0,"
    "\"tid\":7,\"ts\":112.5,\"dur\":3.167,"
    "\"args\":{\"External "
    "id\":834,\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":2215,"
    "\"registers per thread\":16,\"shared memory\":64,\"grid\":[2664,2,1],\"block\":[128,1,1],"
    "\"est. achieved occupancy %\":50,\"Collective name\":\"_allgather_base\",\"In msg "
    "nelems\":25136,"
    "\"Out msg nelems\":201088,\"Group size\":8,\"dtype\":\"BFloat16\",\"Process Group "
    "Name\":\"3\"}},"
    "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"Memcpy HtoD (Pinned -> "
    "Device)\",\"pid\":0,\"tid\":7,\"ts\":120,\"dur\":0,"
    "\"args\":{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":2216,\"bytes\":4096,"
    "\"memory bandwidth (GB/s)\":inf}},"
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"Context "
    "Sync\",\"pid\":0,\"tid\":4294967295,\"ts\":121,\"dur\":1,"
    "\"args\":{\"cuda_sync_kind\":\"Context "
    "Sync\",\"stream\":-1,\"device\":0,\"context\":1,\"correlation\":9}},"
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"nn.Module: "
    "Linear_0\",\"pid\":6583,\"tid\":6583,\"ts\":95,\"dur\":50,"
    "\"args\":{\"Python id\":5,\"Python parent id\":null,\"Python module id\":0}},"
    "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"[memory]\",\"pid\":6583,"
    "\"tid\":6583,\"ts\":101,"
    "\"args\":{\"Total Allocated\":1003059712,\"Bytes\":-512,\"Addr\":137877174353920,\"Device "
    "Id\":0,\"Device Type\":1}},"
    "{\"ph\":\"X\",\"cat\":\"Trace\",\"ts\":1,\"dur\":500,\"pid\":\"Spans\",\"tid\":\"PyTorch "
    "Profiler\",\"name\":\"PyTorch Profiler (0)\"},"
    "{\"ph\":\"s\",\"id\":2215,\"pid\":6583,\"tid\":6583,\"ts\":103,\"cat\":\"ac2g\",\"name\":"
    "\"ac2g\"},"
    "{\"ph\":\"s\",\"id\":1,\"pid\":6583,\"tid\":6583,\"ts\":101,\"cat\":\"fwdbwd\",\"name\":"
    "\"fwdbwd\"},"
    "{\"ph\":\"f\",\"id\":1,\"pid\":6583,\"tid\":6600,\"ts\":130,\"cat\":\"fwdbwd\",\"name\":"
    "\"fwdbwd\",\"bp\":\"e\"},"
    "{\"name\":\"process_name\",\"ph\":\"M\",\"ts\":0,\"pid\":6583,\"tid\":0,\"args\":{\"name\":"
    "\"python3\"}},"
    "{\"name\":\"process_labels\",\"ph\":\"M\",\"ts\":0,\"pid\":5,\"tid\":0,\"args\":{\"labels\":"
    "\"GPU 5\"}}"
    "],\"baseTimeNanoseconds\":1759300074000000000,\"traceName\":\"x\"}";

static void kineto_columns(void)
{
    struct nl_trace *t = load(kineto);
    REQUIRE(t);
    REQUIRE(t->kernel.rows == 1 && t->copy.rows == 1 && t->op.rows == 1 && t->api.rows == 1);
    CHECK_INT(t->kernel.correlation[0], 2215);
    CHECK_INT(t->kernel.grid_x[0], 2664);
    CHECK_INT(t->kernel.grid_y[0], 2);
    CHECK_INT(t->kernel.block_x[0], 128);
    CHECK_INT(t->kernel.registers[0], 16);
    CHECK_NEAR(t->kernel.occupancy[0], 0.5, 0);
    CHECK_INT(t->kernel.external_id[0], 834);
    CHECK_INT(t->copy.kind[0], NL_COPY_HTOD);
    CHECK_INT(t->copy.src_memory[0], NL_MEMORY_PINNED);
    CHECK_INT(t->copy.dst_memory[0], NL_MEMORY_DEVICE);
    CHECK_INT(t->copy.bytes[0], 4096);
    CHECK_STR(nl_trace_name(t, t->op.shapes[0]), "[[888,3072],[]]");
    CHECK_STR(nl_trace_name(t, t->op.dtypes[0]), "[\"c10::BFloat16\",\"Scalar\"]");
    CHECK_STR(nl_trace_name(t, t->op.concrete_inputs[0]), "[\"\",\"0.\"]");
    CHECK_INT(t->op.sequence[0], 12);
    REQUIRE(t->collective.rows == 1);
    CHECK_INT(t->collective.bytes[0], 201088 * 2);
    CHECK_INT(t->collective.ranks[0], 8);
    REQUIRE(t->sync.rows == 1);
    CHECK_INT(t->sync.kind[0], NL_SYNC_CONTEXT);
    CHECK(t->lane.stream[t->slice.lane[t->sync.slice[0]]] == NL_NULL_I64);
    CHECK_INT(t->layer.rows, 1);
    CHECK_INT(t->layer.module_id[0], 0);
    REQUIRE(t->memory.rows == 1);
    CHECK_INT(t->memory.bytes[0], -512);
    REQUIRE(t->step.rows == 1);
    CHECK_INT(t->step.index[0], 7);
    REQUIRE(t->flow.rows == 1);
    CHECK_INT(t->flow.kind[0], NL_FLOW_FORWARD_BACKWARD);
    CHECK_INT(t->slice.link[t->kernel.slice[0]], t->api.slice[0]);
    CHECK_INT(covered(t, "repaired: bare word instead of a value"), 1);
    CHECK_INT(covered(t, "not stored: launch flows (ac2g)"), 1);
    nl_trace_free(t);
}

static void kineto_facts(void)
{
    struct nl_trace *t = load(kineto);
    REQUIRE(t);
    CHECK_INT(t->source.rank[0], 3);
    CHECK_INT(t->source.epoch_ns[0], 1759300074000000000);
    CHECK_STR(nl_trace_name(t, t->source.format[0]), "kineto");
    REQUIRE(t->device.rows == 1);
    CHECK_STR(nl_trace_name(t, t->device.name[0]), "NVIDIA H100");
    CHECK_STR(nl_trace_name(t, t->device.vendor[0]), "nvidia");
    CHECK_INT(t->device.sm_count[0], 132);
    CHECK_INT(t->device.compute_major[0], 9);
    CHECK_INT(t->device.compute_minor[0], 0); /* 0 is a number, too */
    CHECK_INT(t->device.max_warps_per_sm[0], 64);
    CHECK_INT(t->process.rows, 1); /* device 5's label and "Spans" make no process */
    CHECK_INT(t->process.pid[0], 6583);
    CHECK_STR(nl_trace_name(t, t->process.name[0]), "python3");
    CHECK_INT(t->slice.kind[find(t, "PyTorch Profiler (0)")], NL_KIND_MARK);
    CHECK_INT(covered(t, "not stored: top-level key environ"), 1);
    for (uint32_t i = 0; i < t->names.count; i++)
        CHECK(!nl_str_contains(nl_dict_text(&t->names, i), "hf_secret"));
    nl_trace_free(t);
}

#define LAUNCH(id, correlation)                                                                    \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":1,\"dur\":1,"      \
    "\"args\":{\"External id\":" id ",\"device\":0,\"stream\":7,\"correlation\":" correlation "}}"

static void external_ids_by_era(void)
{
    struct nl_trace *t = load("[" LAUNCH("5", "5") "," LAUNCH("6", "6") "," LAUNCH("7", "9") "]");
    REQUIRE(t && t->kernel.rows == 3);
    for (uint32_t i = 0; i < 3; i++)
        CHECK(t->kernel.external_id[i] == NL_NULL_I64);
    CHECK_INT(covered(t, "external ids that repeat the correlation"), 2);
    nl_trace_free(t);
    t = load("[" LAUNCH("5", "5") "," LAUNCH("1", "6") "," LAUNCH("1", "9") "]");
    REQUIRE(t && t->kernel.rows == 3);
    CHECK_INT(t->kernel.external_id[0], 5);
    CHECK_INT(t->kernel.external_id[1], 1);
    nl_trace_free(t);
}

#define HALF(ph, name, ts)                                                                         \
    "{\"ph\":\"" ph "\",\"name\":\"" name "\",\"pid\":0,\"tid\":0,\"ts\":" ts "}"

static void begins_and_ends(void)
{
    static const struct {
        const char *label, *text, *name;
        int64_t ts, dur;
        const char *item;
        int64_t count;
    } cases[] = {
        {"pair", "[" HALF("B", "a", "1") "," HALF("E", "a", "4") "]", "a", 1000, 3000, "", 0},
        {"out of order", "[" HALF("E", "a", "9") "," HALF("B", "a", "2") "]", "a", 2000, 7000, "",
         0},
        {"end of another name", "[" HALF("B", "a", "1") "," HALF("E", "b", "4") "]", "a", 1000,
         3000, "end with another name than its begin", 1},
        {"end too many",
         "[" HALF("B", "a", "1") "," HALF("E", "a", "4") "," HALF("E", "x", "5") "]", "a", 1000,
         3000, "skipped: end without begin", 1},
        {"never ended", "[" HALF("B", "a", "1") "," HALF("X", "x", "9") "]", "a", 1000, 8000,
         "unfinished: begin without end", 1},
        {"length zero, end first",
         "[" HALF("B", "o", "0") "," HALF("E", "a", "2") "," HALF("B", "a", "2") "," HALF("E", "o",
                                                                                          "9") "]",
         "a", 2000, 0, "", 0},
        {"end before begin of its time",
         "[" HALF("B", "a", "1") "," HALF("B", "x", "7") "," HALF("E", "a", "7") "," HALF("E", "x",
                                                                                          "9") "]",
         "a", 1000, 6000, "", 0},
        {"async",
         "[" HALF("b", "a", "1") "," HALF("b", "i", "2") "," HALF("e", "i", "3") "," HALF("e", "a",
                                                                                          "5") "]",
         "a", 1000, 4000, "", 0},
        {"old async", "[" HALF("S", "a", "1") "," HALF("T", "a", "2") "," HALF("F", "a", "3") "]",
         "a", 1000, 2000, "", 0},
        {"async never ended", "[" HALF("b", "a", "1") "," HALF("X", "x", "4") "]", "a", 1000, 3000,
         "unfinished: async begin without end", 1},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].label);
        for (unsigned threads = 1; threads <= 2; threads++) {
            struct nl_trace *t = load_bytes(cases[i].text, strlen(cases[i].text), threads);
            REQUIRE(t);
            uint32_t row = find(t, cases[i].name);
            REQUIRE(row != NL_NULL_ROW);
            CHECK_INT(t->slice.ts[row], cases[i].ts);
            CHECK_INT(t->slice.dur[row], cases[i].dur);
            CHECK_INT(covered(t, cases[i].item), cases[i].count);
            CHECK_INT(t->coverage.rows > 0, cases[i].count > 0);
            nl_trace_free(t);
        }
    }
}

#define NAMED(name) "{\"ph\":\"X\",\"name\":" name ",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}"

static void repairs(void)
{
    static const struct {
        const char *label, *text, *name, *item;
    } cases[] = {
        {"escapes", "[" NAMED("\"a\\u00e9\\ud83d\\ude00\\n\\/\"") "]",
         "a\xC3\xA9\xF0\x9F\x98\x80\n/", ""},
        {"lone surrogate", "[" NAMED("\"a\\ud83dz\"") "]", "a\xEF\xBF\xBDz",
         "repaired: bad escape"},
        {"Windows path", "[" NAMED("\"C:\\Users\\x\"") "]", "C:\\Users\\x", "repaired: bad escape"},
        {"unescaped quotes", "[" NAMED("\"say \"hi\" now\"") "]", "say \"hi\" now",
         "repaired: unescaped quote"},
        {"raw newline", "[" NAMED("\"a\nb\"") "]", "a\nb",
         "repaired: name with raw control characters"},
        {"invalid UTF-8", "[" NAMED("\"a\xFFz\"") "]", "a\xEF\xBF\xBDz",
         "repaired: name with invalid UTF-8"},
        {"NUL in a name", "[" NAMED("\"a\\u0000b\"") "]", NULL, ""},
        {"trailing commas",
         "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,},]", "a",
         "repaired: trailing comma"},
        {"no comma between members",
         "[{\"ph\":\"X\" \"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]", "a",
         "repaired: missing comma"},
        {"no comma between events", "[" NAMED("\"a\"") "\n" NAMED("\"b\"") "]", "b",
         "repaired: missing comma"},
        {"NaN",
         "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1,\"args\":{\"v\":NaN,"
         "\"w\":-nan(ind)}}]",
         "a", "repaired: bare word instead of a value"},
        {"N/A and hex",
         "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":0x10,\"tid\":N/A,\"ts\":1,\"dur\":1}]", "a",
         "repaired: bare word instead of a value"},
        {"key twice",
         "[{\"ph\":\"X\",\"name\":\"z\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}]",
         "a", "repaired: key twice in one event"},
        {"negative length",
         "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":-5}]", "a",
         "repaired: negative duration"},
        {"no length", "[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1}]", "a",
         "unfinished: event without a duration"},
        {"time out of range",
         "[" NAMED(
             "\"a\"") ",{\"ph\":\"X\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":1e19,\"dur\":1}]",
         "a", "skipped: event with a time out of range"},
        {"garbage event", "[{\"ph\":\"X\",:::},{\"ph\":\"B\"]," NAMED("\"a\"") "]", "a",
         "skipped: malformed event"},
        {"stray brackets", "[" NAMED("\"b\"") "}," NAMED("\"c\"") "]," NAMED("\"a\"") "]", "a",
         "repaired: stray text between events"},
        {"elements that are no events", "[1,\"x\",[2]," NAMED("\"a\"") "]", "a",
         "skipped: list element that is not an event"},
        {"cut",
         "{\"schemaVersion\":1,\"traceEvents\":[" NAMED("\"a\"") ",{\"ph\":\"X\",\"name\":\"b", "a",
         "truncated: the file ends inside an event"},
        {"not closed", "{\"traceEvents\":[" NAMED("\"a\"") ",", "a",
         "truncated: the list of events is not closed"},
        {"a bare list, not closed", "[" NAMED("\"a\"") ",\n", "a",
         "list of events without its closing bracket"},
        {"unknown phase", "[" NAMED("\"a\"") ",{\"ph\":\"?\",\"ts\":1}]", "a",
         "skipped: event of an unknown phase"},
        {"memory dump of all", "[" NAMED("\"a\"") ",{\"ph\":\"V\",\"ts\":1}]", "a",
         "not loaded: memory dump of all (V)"},
        {"maps of a memory dump",
         "[" NAMED("\"a\"") ",{\"ph\":\"v\",\"ts\":1,\"args\":{\"dumps\":{\"process_mmaps\":{}}}}]",
         "a", "not loaded: part of a memory dump"},
        {"object without an id", "[" NAMED("\"a\"") ",{\"ph\":\"N\",\"ts\":1}]", "a",
         "skipped: object without an id"},
        {"frames in a circle",
         "{\"stackFrames\":{\"1\":{\"name\":\"x\",\"parent\":2},\"2\":{\"name\":\"y\",\"parent\":1}"
         "},"
         "\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"sf\":1}]}",
         "a", "cut: call stack over 1024 frames, or in a circle"},
        {"frame that is not there", "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"sf\":1}]",
         "a", "unknown: frame of a stack"},
        {"stack of an operator",
         "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"dur\":1,\"sf\":1}]", "a",
         "not stored: call stack of an event of a known category"},
        {"stack of an end",
         "[{\"ph\":\"B\",\"name\":\"a\",\"ts\":1},{\"ph\":\"E\",\"ts\":2,\"stack\":[\"x\"]}]", "a",
         "not stored: call stack of a slice's end"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].label);
        for (unsigned threads = 1; threads <= 2; threads++) {
            struct nl_trace *t = load_bytes(cases[i].text, strlen(cases[i].text), threads);
            REQUIRE(t);
            if (cases[i].name)
                CHECK(find(t, cases[i].name) != NL_NULL_ROW);
            if (cases[i].item[0])
                CHECK(covered(t, cases[i].item) > 0);
            nl_trace_free(t);
        }
    }
    struct nl_trace *t = load("[" NAMED("\"a\\u0000b\"") "]");
    REQUIRE(t && t->slice.rows == 1);
    CHECK_INT(nl_trace_name(t, t->slice.name[0]).len, 3);
    nl_trace_free(t);
}

static void containers(void)
{
    static const struct {
        const char *label, *text;
        unsigned slices;
        const char *refusal;
    } cases[] = {
        {"array", " \n[" NAMED("\"a\"") "]", 1, NULL},
        {"byte order mark", "\xEF\xBB\xBF[" NAMED("\"a\"") "]", 1, NULL},
        {"empty objects around", "[{}," NAMED("\"a\"") ",{}]", 1, NULL},
        {"lines", NAMED("\"a\"") "\n" NAMED("\"b\"") "\n", 2, NULL},
        {"lines with commas", NAMED("\"a\"") ",\n" NAMED("\"b\"") ",\n", 2, NULL},
        {"two documents",
         "{\"traceEvents\":[" NAMED("\"a\"") "]}\n{\"traceEvents\":[" NAMED("\"b\"") "]}", 2, NULL},
        {"two arrays", "[" NAMED("\"a\"") "]\n[" NAMED("\"b\"") "]", 2, NULL},
        {"keys around",
         "{\"a\":{\"b\":[1,{\"c\":\"]}\"}]},\"traceEvents\":[" NAMED(
             "\"a\"") "],\"z\":\"}\\\"\",\"n\":-1.5}",
         1, NULL},
        {"empty", "", 0, "empty"},
        {"white space", " \n\t ", 0, "empty"},
        {"no JSON", "hello", 0, "must begin"},
        {"no events key", "{\"name\":\"MI300X\",\"mem_bw\":5300}", 0, "without traceEvents"},
        {"no events", "{\"traceEvents\":[]}", 0, "no event in it"},
        {"objects that are no events", "[{\"op\":1},{\"op\":2}]", 0, "no event in it"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        check_case(cases[i].label);
        for (unsigned threads = 1; threads <= 2; threads++) {
            struct nl_trace *t = load_bytes(cases[i].text, strlen(cases[i].text), threads);
            CHECK(!t == !!cases[i].refusal);
            if (t)
                CHECK_INT(t->slice.rows, cases[i].slices);
            else if (cases[i].refusal)
                CHECK(nl_str_contains(nl_str(err.text), cases[i].refusal));
            nl_trace_free(t);
        }
    }
}

static void counters_and_names(void)
{
    struct nl_trace *t = load("[{\"ph\":\"C\",\"name\":\"mem\",\"pid\":4,\"ts\":1,\"args\":{"
                              "\"used\":5,\"free\":\"2.5\",\"x\":null}},"
                              "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":4,\"tid\":9,\"args\":"
                              "{\"name\":\"w\\u00f6rker\"}},"
                              "{\"ph\":\"X\",\"name\":\"a\",\"pid\":4,\"tid\":9,\"ts\":1,\"dur\":1,"
                              "\"args\":{\"k\":[1,2]}},"
                              "{\"ph\":\"X\",\"name\":\"b\",\"pid\":\"CPU "
                              "functions\",\"tid\":\"9\",\"ts\":1,\"dur\":1}]");
    REQUIRE(t);
    CHECK_INT(t->counter.rows, 2);
    CHECK_INT(t->series.rows, 2);
    CHECK_STR(nl_trace_name(t, t->series.name[t->counter.series[0]]), "mem: used");
    CHECK_INT(covered(t, "skipped: counter value that is not a number"), 1);
    REQUIRE(t->arg.rows == 1);
    CHECK_STR(nl_trace_name(t, t->arg.text[0]), "{\"k\":[1,2]}");
    uint32_t thread = t->lane.thread[t->slice.lane[find(t, "a")]];
    CHECK_STR(nl_trace_name(t, t->thread.name[thread]), "w\xC3\xB6rker");
    uint32_t process = t->lane.process[t->slice.lane[find(t, "b")]];
    CHECK_STR(nl_trace_name(t, t->process.name[process]), "CPU functions");
    CHECK_INT(t->thread.tid[t->lane.thread[t->slice.lane[find(t, "b")]]], 9);
    nl_trace_free(t);
}

/* Streams 1 to `count` of device 0, each with a kernel and a name, and a name of stream 0, which
 * ran nothing: whatever the number, as the array of streams is full at some. */
static void check_names_of_streams(unsigned count)
{
    struct nl_buf text;
    nl_buf_init(&text, 1 << 20);
    nl_buf_text(&text, "[");
    for (unsigned i = 0; i <= count; i++) {
        if (i)
            nl_buf_format(&text,
                          "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":%u,"
                          "\"ts\":%u,\"dur\":1,\"args\":{\"device\":0,\"stream\":%u}},",
                          i, 2 * i, i);
        nl_buf_format(&text,
                      "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":%u,"
                      "\"args\":{\"name\":\"queue %u\"}}%s",
                      i, i, i < count ? "," : "]");
    }
    struct nl_trace *t = load_bytes(text.ptr, text.len, 1);
    REQUIRE(t);
    CHECK_INT(t->kernel.rows, count);
    for (uint32_t row = 0; row < t->slice.rows; row++) {
        char name[20];
        uint32_t lane = t->slice.lane[row];
        snprintf(name, sizeof name, "queue %d", (int)t->lane.stream[lane]);
        CHECK_STR(nl_trace_name(t, t->lane.name[lane]), name);
    }
    CHECK_INT(nl_dict_find(&t->names, nl_str("queue 0")), UINT32_MAX);
    nl_trace_free(t);
    nl_buf_release(&text);
}

static void names_of_streams(void)
{
    for (unsigned count = 1; count <= 33; count++)
        check_names_of_streams(count);
}

/* Many events over many blocks, with texts that look like structure, and
 * one larger than a block. */
static struct nl_buf big_text(unsigned events)
{
    struct nl_buf buf;
    nl_buf_init(&buf, (size_t)64 << 20);
    nl_buf_text(&buf, "{\"traceEvents\":[\n");
    for (unsigned i = 0; i < events; i++) {
        nl_buf_format(
            &buf,
            "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op%u%s "
            "\\\"}],{\\\\\",\"pid\":1,\"tid\":%u,"
            "\"ts\":%u.%03u,\"dur\":0.5,\"args\":{\"External id\":%u,\"Input Dims\":[[%u,2],[]]}}",
            i ? ",\n  " : "", i % 100, i % 100 < 2 ? "\xFF" : "", i % 3, i, i % 1000, i, i % 50);
        nl_buf_format(&buf, /* three halves of an arrow, not always in order of time */
                      ",{\"ph\":\"%c\",\"name\":\"go\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"id\":%u}",
                      "stf"[i % 3], i % 3, i ^ i % 7, i / 3);
        if (i == events / 2) {
            nl_buf_text(&buf, ",{\"ph\":\"X\",\"name\":\"giant\",\"pid\":1,\"tid\":1,\"ts\":1,"
                              "\"dur\":1,\"args\":{\"x\":\"");
            for (unsigned k = 0; k < 300000; k++)
                nl_buf_text(&buf, "\\\"}],{");
            nl_buf_text(&buf, "\"}}");
        }
        if (i == events / 4 * 3) /* an arrow without an id, and one that ends nowhere */
            nl_buf_text(&buf, ",{\"ph\":\"s\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},"
                              "{\"ph\":\"s\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,"
                              "\"id\":7}");
    }
    nl_buf_text(&buf, "]}");
    return buf;
}

static void threads_agree(void)
{
    enum { EVENTS = 40000 };
    struct nl_buf text = big_text(EVENTS);
    struct nl_trace *one = load_bytes(text.ptr, text.len, 1);
    REQUIRE(one);
    CHECK_INT(one->slice.rows, EVENTS + 1);
    CHECK(one->flow.rows > EVENTS / 2);
    REQUIRE(one->coverage.rows == 3); /* the giant's arguments are cut, arrows have one end */
    int64_t repaired = 0;             /* names with a bad byte, each once */
    for (uint32_t i = 0; i < one->coverage.rows; i++)
        if (nl_str_is(nl_trace_name(one, one->coverage.item[i]),
                      "repaired: name with invalid UTF-8"))
            repaired = one->coverage.count[i];
    CHECK_INT(repaired, 2);
    for (unsigned threads = 2; threads <= 5; threads++) {
        struct nl_trace *many = load_bytes(text.ptr, text.len, threads);
        REQUIRE(many);
        REQUIRE(many->slice.rows == one->slice.rows && many->op.rows == one->op.rows);
        REQUIRE(many->coverage.rows == one->coverage.rows);
        int64_t differ = 0;
        for (uint32_t i = 0; i < one->coverage.rows; i++)
            differ += one->coverage.count[i] != many->coverage.count[i] ||
                      !nl_str_eq(nl_trace_name(one, one->coverage.detail[i]),
                                 nl_trace_name(many, many->coverage.detail[i]));
        for (uint32_t i = 0; i < one->slice.rows; i++)
            differ += one->slice.ts[i] != many->slice.ts[i] ||
                      one->slice.dur[i] != many->slice.dur[i] ||
                      !nl_str_eq(nl_trace_name(one, one->slice.name[i]),
                                 nl_trace_name(many, many->slice.name[i]));
        REQUIRE(many->names.count == one->names.count); /* in the same order, too */
        for (uint32_t name = 0; name < one->names.count; name++)
            differ += !nl_str_eq(nl_trace_name(one, name), nl_trace_name(many, name));
        REQUIRE(many->flow.rows == one->flow.rows);
        for (uint32_t i = 0; i < one->flow.rows; i++)
            differ += one->flow.src[i] != many->flow.src[i] ||
                      one->flow.dst[i] != many->flow.dst[i] || one->flow.id[i] != many->flow.id[i];
        CHECK_INT(differ, 0);
        nl_trace_free(many);
    }
    nl_trace_free(one);
    nl_buf_release(&text);
}

static void every_prefix_loads_or_is_refused(void)
{
    size_t len = strlen(kineto);
    for (size_t cut = 0; cut < len; cut += 7) {
        struct nl_trace *t = load_bytes(kineto, cut, 1 + cut % 2);
        if (!t)
            CHECK(err.code == NL_FORMAT);
        else if (cut + 60 < len)
            CHECK(covered(t, "truncated: the list of events is not closed") > 0);
        nl_trace_free(t);
    }
}

/* The reader expects that texts come again: here they do, but often another one comes, too, which
 * begins or ends in the same way. */
static void what_repeats_may_change(void)
{
    static const char *const heads[] = {
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":%d,\"tid\":7,\"ts\":%u,",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%s\",\"pid\":%d,\"tid\":7, \"ts\":%u,",
        "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"tid\": 7, \"pid\": %d, \"ts\": "
        "%u,",
        "{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":7,\"cat\":\"cpu_op\",\"ts\":%u,",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"ph\":\"X\",\"name\":\"%s\",\"pid\":%d,\"tid\":7,\"ts\":"
        "%u,"};
    static const char *const arrays[] = {"[]",      "[[]]",      "[[1]]",          "[[1],[2]]",
                                         "[[1,2]]", "[\"[1]\"]", "[\"a]\",\"b\"]", "[[1], [2]]"};
    static const char *const names[] = {"aten::add", "aten::addmm", "aten::mul"};
    enum { EVENTS = 3000 };
    static unsigned array[EVENTS], type[EVENTS], name[EVENTS];
    static int pid[EVENTS];
    unsigned duplicates = 0;
    uint32_t state = 3;
    struct nl_buf text;
    nl_buf_init(&text, (size_t)1 << 24);
    nl_buf_text(&text, "[");
    for (unsigned i = 0; i < EVENTS; i++) {
        state = state * 1664525u + 1013904223u;
        unsigned any = state >> 8, head = i % 7 ? 0 : any % CHECK_LENGTH(heads);
        name[i] = i % 3;
        array[i] = i % 5 ? i % 3 : any / 8 % CHECK_LENGTH(arrays);
        type[i] = any % 11 ? array[i] : any / 16 % CHECK_LENGTH(arrays);
        pid[i] = any % 13 ? 1 : 11;
        duplicates += head == 4;
        char event[512];
        int len = snprintf(event, sizeof event, heads[head], names[name[i]], pid[i], i + 1);
        snprintf(event + len, sizeof event - (size_t)len,
                 "\"dur\":0,\"args\":{\"Input Dims\":%s,\"Input type\":%s}}%s", arrays[array[i]],
                 arrays[type[i]], i + 1 < EVENTS ? "," : "]");
        nl_buf_text(&text, event);
    }
    struct nl_trace *t = load_bytes(text.ptr, text.len, 1);
    REQUIRE(t);
    CHECK_INT(t->op.rows, EVENTS);
    CHECK_INT(covered(t, "repaired: key twice in one event"), duplicates);
    for (uint32_t row = 0; row < t->op.rows; row++) {
        uint32_t slice = t->op.slice[row], i = (uint32_t)(t->slice.ts[slice] / 1000 - 1);
        REQUIRE(i < EVENTS);
        CHECK(nl_str_is(nl_trace_name(t, t->op.shapes[row]), arrays[array[i]]));
        CHECK(nl_str_is(nl_trace_name(t, t->op.dtypes[row]), arrays[type[i]]));
        CHECK(nl_str_is(nl_trace_name(t, t->slice.name[slice]), names[name[i]]));
        CHECK_INT(t->process.pid[nl_slice_process(t, slice)], pid[i]);
    }
    nl_trace_free(t);
    nl_buf_release(&text);
}

CHECK_MAIN("chrome", {"times are exact", times_are_exact}, {"Kineto columns", kineto_columns},
           {"Kineto facts", kineto_facts}, {"external ids by era", external_ids_by_era},
           {"begins and ends", begins_and_ends}, {"repairs", repairs}, {"containers", containers},
           {"counters and names", counters_and_names}, {"names of streams", names_of_streams},
           {"threads agree", threads_agree},
           {"every prefix loads or is refused", every_prefix_loads_or_is_refused},
           {"what repeats may change", what_repeats_may_change})
