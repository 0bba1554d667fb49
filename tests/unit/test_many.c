/*
 * Many of a kind, so that every table that readers keep has to grow several times: each item has a
 * number of its own, and comes back with that number and no other.
 */
#include "corpus.h"

#include "base/units.h"

#define MANY 5000

/* The number at the end of a text, -1: it has none. */
static int64_t number_of(struct nl_str text)
{
    size_t at = text.len;
    int64_t number = -1;
    while (at && text.ptr[at - 1] >= '0' && text.ptr[at - 1] <= '9')
        at--;
    (void)nl_parse_i64((struct nl_str){text.ptr + at, text.len - at}, &number);
    return number;
}

static struct nl_trace *read_text(const struct nl_buf *text)
{
    CHECK(!text->overflow);
    struct nl_trace *trace = corpus_ingest_bytes(text->ptr, text->len);
    CHECK(trace);
    return trace;
}

/* Sample i weighs i + 1 and lies on a frame "f<i>"; each once. */
static void each_sample(const struct nl_trace *trace, int64_t unit)
{
    static bool met[MANY];
    memset(met, 0, sizeof met);
    CHECK_INT(trace->sample.rows, MANY);
    for (uint32_t i = 0; i < trace->sample.rows; i++) {
        uint32_t stack = trace->sample.stack[i];
        int64_t number = number_of(nl_trace_name(trace, trace->stack.name[stack]));
        bool once_with_its_weight = number >= 0 && number < MANY && !met[number] &&
                                    trace->sample.weight[i] == (number + 1) * unit;
        CHECK(once_with_its_weight);
        if (!once_with_its_weight)
            return;
        met[number] = true;
    }
}

static void collapsed(struct nl_buf *text)
{
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, "main;outer%d;f%d %d\n", i % 700, i, i + 1);
    struct nl_trace *trace = read_text(text);
    if (trace)
        each_sample(trace, 1);
    nl_trace_free(trace);
}

static void perf(struct nl_buf *text)
{
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text,
                      "train 1/%d [0] %d.5: %d cpu-clock:u: \n\t%x f%d (/usr/bin/m%d)\n"
                      "\t%x outer%d (/usr/bin/train)\n\n",
                      i % 900, i, i + 1, 4096 + i, i, i % 600, 9000 + i % 300, i % 300);
    struct nl_trace *trace = read_text(text);
    if (trace) {
        each_sample(trace, 1);
        CHECK_INT(trace->thread.rows, 900);
    }
    nl_trace_free(trace);
}

static void pprof_raw(struct nl_buf *text)
{
    nl_buf_text(text, "PeriodType: cpu nanoseconds\nPeriod: 1\nSamples:\ncpu/nanoseconds\n");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, "          %d: %d %d\n", i + 1, i + 1, MANY + 1 + i % 50);
    nl_buf_text(text, "Locations\n");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, "     %d: 0x%x M=%d f%d /src/a%d.c:%d:0 s=0\n", i + 1, i + 1,
                      i % 400 + 1, i, i % 800, i + 1);
    for (int i = 0; i < 50; i++)
        nl_buf_format(text, "     %d: 0x%x M=1 outer%d /src/b.c:1:0 s=0\n", MANY + 1 + i, 99999 + i,
                      i);
    nl_buf_text(text, "Mappings\n");
    for (int i = 0; i < 400; i++)
        nl_buf_format(text, "%d: 0x0/0x5/0x0 /lib/m%d  \n", i + 1, i);
    struct nl_trace *trace = read_text(text);
    if (trace) {
        each_sample(trace, 1);
        for (uint32_t i = 0; i < trace->stack.rows; i++) {
            int64_t number = number_of(nl_trace_name(trace, trace->stack.name[i]));
            struct nl_str module = nl_trace_name(trace, trace->stack.module[i]);
            if (trace->stack.parent[i] != NL_NULL_ROW)
                CHECK_INT(number_of(module), number % 400);
        }
    }
    nl_trace_free(trace);
}

static void speedscope(struct nl_buf *text)
{
    nl_buf_text(text, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                      "\"shared\":{\"frames\":[{\"name\":\"main\"}");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, ",{\"name\":\"f%d\"}", i);
    nl_buf_text(text, "]},\"profiles\":[{\"type\":\"sampled\",\"name\":\"t\",\"unit\":\"none\","
                      "\"startValue\":0,\"endValue\":1,\"samples\":[[0,1]");
    for (int i = 1; i < MANY; i++)
        nl_buf_format(text, ",[0,%d]", i + 1);
    nl_buf_text(text, "],\"weights\":[1");
    for (int i = 1; i < MANY; i++)
        nl_buf_format(text, ",%d", i + 1);
    nl_buf_text(text, "]}]}");
    struct nl_trace *trace = read_text(text);
    if (trace)
        each_sample(trace, 1);
    nl_trace_free(trace);
}

/* Every GPU has ten columns; column k of GPU i is 10 i + k. */
static void telemetry(struct nl_buf *text)
{
    nl_buf_text(text, "# gpu");
    for (int k = 0; k < 10; k++)
        nl_buf_format(text, " c%d", k);
    nl_buf_text(text, "\n# Idx");
    for (int k = 0; k < 10; k++)
        nl_buf_text(text, " W");
    for (int i = 0; i < MANY / 10; i++)
        for (int k = 0; k < 11; k++)
            nl_buf_format(text, "%s%d", k ? " " : "\n", k ? 10 * i + k - 1 : i);
    nl_buf_text(text, "\n");
    struct nl_trace *trace = read_text(text);
    if (trace) {
        CHECK_INT(trace->counter.rows, MANY);
        CHECK_INT(trace->series.rows, MANY);
        for (uint32_t i = 0; i < trace->counter.rows; i++) {
            uint32_t series = trace->counter.series[i];
            uint32_t device = trace->lane.device[trace->series.lane[series]];
            int64_t column = number_of(nl_trace_name(trace, trace->series.name[series]));
            CHECK_INT((int64_t)trace->counter.value[i],
                      10 * trace->device.ordinal[device] + column);
        }
    }
    nl_trace_free(trace);
}

/* Threads, names, begins and ends, asynchronous ones, arrows and counters; each slice
 * lasts its number and one. */
static void chrome(struct nl_buf *text)
{
    nl_buf_text(text, "[");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(
            text,
            "{\"ph\":\"X\",\"name\":\"x%d\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d},\n"
            "{\"ph\":\"b\",\"cat\":\"c%d\",\"name\":\"b%d\",\"id\":%d,\"pid\":1,\"tid\":1,\"ts\":%"
            "d},\n"
            "{\"ph\":\"s\",\"cat\":\"c\",\"name\":\"s%d\",\"id\":%d,\"pid\":%d,\"tid\":%d,\"ts\":%"
            "d},\n"
            "{\"ph\":\"C\",\"name\":\"C\",\"pid\":1,\"ts\":%d,\"args\":{\"v%d\":%d}},\n",
            i, i % 70, i % 900, 10 * i, i + 1, i % 9, i, i, i, i, i, i % 70, i % 900, 10 * i, i, i,
            i);
    for (int i = MANY - 1; i >= 0; i--)
        nl_buf_format(text,
                      "{\"ph\":\"e\",\"cat\":\"c%d\",\"name\":\"b%d\",\"id\":%d,\"pid\":1,\"tid\":"
                      "1,\"ts\":%d},\n"
                      "{\"ph\":\"f\",\"cat\":\"c\",\"name\":\"s%d\",\"id\":%d,\"pid\":%d,\"tid\":%"
                      "d,\"ts\":%d,"
                      "\"bp\":\"e\"},\n",
                      i % 9, i, i, 2 * i + 1, i, i, i % 70, i % 900, 10 * i + 1);
    nl_buf_text(text, "{}]");
    struct nl_trace *trace = read_text(text);
    if (trace) {
        CHECK_INT(trace->slice.rows, 2 * MANY);
        for (uint32_t i = 0; i < trace->slice.rows; i++) {
            int64_t number = number_of(nl_trace_name(trace, trace->slice.name[i]));
            CHECK_INT(trace->slice.dur[i], (number + 1) * 1000);
        }
        CHECK_INT(trace->flow.rows, MANY);
        for (uint32_t i = 0; i < trace->flow.rows; i++)
            CHECK_INT(trace->flow.dst_ts[i] - trace->flow.src_ts[i], 1000);
        CHECK_INT(trace->counter.rows, MANY);
        for (uint32_t i = 0; i < trace->counter.rows; i++) {
            struct nl_str name = nl_trace_name(trace, trace->series.name[trace->counter.series[i]]);
            CHECK_INT((int64_t)trace->counter.value[i], number_of(name));
        }
    }
    nl_trace_free(trace);
}

/* A stream for each kernel, its length its number and one. */
static void nvprof(struct nl_buf *text)
{
    nl_buf_text(text,
                "==1== Profiling result:\n\"Start\",\"Duration\",\"Grid X\",\"Grid Y\",\"Grid Z\","
                "\"Block X\",\"Block Y\",\"Block Z\",\"Registers Per Thread\",\"Static SMem\","
                "\"Dynamic SMem\",\"Size\",\"Throughput\",\"SrcMemType\",\"DstMemType\","
                "\"Device\",\"Context\",\"Stream\",\"Name\"\n"
                "us,us,,,,,,,,KB,B,MB,GB/s,,,,,,\n");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, "%d,%d,1,1,1,1,1,1,16,0,0,,,,,\"V100 (%d)\",\"%d\",\"%d\",k%d\n", i,
                      i + 1, i % 8, i % 3, i, i);
    struct nl_trace *trace = read_text(text);
    if (trace) {
        CHECK_INT(trace->kernel.rows, MANY);
        CHECK_INT(trace->device.rows, 8);
        for (uint32_t i = 0; i < trace->slice.rows; i++) {
            int64_t number = number_of(nl_trace_name(trace, trace->slice.name[i]));
            uint32_t lane = trace->slice.lane[i];
            CHECK_INT(trace->slice.dur[i], (number + 1) * 1000);
            CHECK_INT(trace->lane.stream[lane], number);
            CHECK_INT(trace->lane.context[lane], number % 3);
            CHECK_INT(trace->device.ordinal[trace->lane.device[lane]], number % 8);
        }
    }
    nl_trace_free(trace);
}

/* A queue and a correlation for each kernel. */
static void rocprof(struct nl_buf *text)
{
    nl_buf_text(text,
                "\"Kind\",\"Agent_Id\",\"Queue_Id\",\"Process_Id\",\"Kernel_Id\",\"Kernel_Name\","
                "\"Correlation_Id\",\"Start_Timestamp\",\"End_Timestamp\"\n");
    for (int i = 0; i < MANY; i++)
        nl_buf_format(text, "\"KERNEL_DISPATCH\",%d,%d,%d,3,\"k%d\",%d,%d,%d\n", i % 8, i,
                      i % 5 + 1, i, i + 1, 1000 + i, 1001 + 2 * i);
    struct nl_trace *trace = read_text(text);
    if (trace) {
        CHECK_INT(trace->kernel.rows, MANY);
        CHECK_INT(trace->process.rows, 5);
        for (uint32_t i = 0; i < trace->kernel.rows; i++) {
            uint32_t slice = trace->kernel.slice[i], lane = trace->slice.lane[slice];
            int64_t number = number_of(nl_trace_name(trace, trace->slice.name[slice]));
            CHECK_INT(trace->slice.dur[slice], number + 1);
            CHECK_INT(trace->lane.stream[lane], number);
            CHECK_INT(trace->process.pid[trace->lane.process[lane]], number % 5 + 1);
        }
    }
    nl_trace_free(trace);
}

/* A communicator of three calls for each; as many ranks as its number and one. */
static void nccl(struct nl_buf *text)
{
    for (int i = 0; i < MANY / 5; i++)
        nl_buf_format(
            text,
            "host1:%d:101 [%d] NCCL INFO ncclCommInitRankConfig comm 0x%x rank 0 nranks %d "
            "cudaDev %d nvmlDev 0 busId 17000 commId 0x54fe282d32a87d85 - Init COMPLETE\n",
            100 + i % 7, i % 8, 4096 + i, i + 1, i % 8);
    for (int i = 0; i < MANY; i++)
        nl_buf_format(
            text,
            "host1:%d:101 [%d] NCCL INFO AllReduce: opCount %x sendbuff 0x1 recvbuff 0x2 count "
            "%d datatype 7 op 0 root 0 comm 0x%x [nranks=%d] stream 0x3\n",
            100 + i % (MANY / 5) % 7, i % (MANY / 5) % 8, i, i + 1, 4096 + i % (MANY / 5),
            i % (MANY / 5) + 1);
    struct nl_trace *trace = read_text(text);
    if (trace) {
        CHECK_INT(trace->collective.rows, MANY);
        for (uint32_t i = 0; i < trace->collective.rows; i++) {
            uint64_t number = trace->collective.in_elements[i] - 1;
            uint32_t lane = trace->slice.lane[trace->collective.slice[i]];
            CHECK_INT(trace->collective.bytes[i], 4 * (number + 1));
            CHECK_INT(trace->collective.ranks[i], number % (MANY / 5) + 1);
            CHECK_INT(trace->process.pid[trace->lane.process[lane]], 100 + number % (MANY / 5) % 7);
        }
    }
    nl_trace_free(trace);
}

static void all(void)
{
    static const struct {
        const char *name;
        void (*read)(struct nl_buf *text);
    } kinds[] = {{"collapsed", collapsed},   {"perf", perf},           {"pprof", pprof_raw},
                 {"speedscope", speedscope}, {"telemetry", telemetry}, {"chrome", chrome},
                 {"nvprof", nvprof},         {"rocprof", rocprof},     {"nccl", nccl}};
    for (size_t i = 0; i < CHECK_LENGTH(kinds); i++) {
        struct nl_buf text;
        check_case(kinds[i].name);
        nl_buf_init(&text, (size_t)16 << 20);
        kinds[i].read(&text);
        nl_buf_release(&text);
    }
}

CHECK_MAIN("many", {"each of many keeps its number", all})
