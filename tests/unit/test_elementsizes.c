/* Sizes of messages of collectives: every element type that NCCL and PyTorch have, as each reader
 * gets its name, with the size that their headers give it. Messages have three elements. */
#include "corpus.h"

#define UNKNOWN (-1)

struct type {
    const char *name;
    int64_t bytes; /* of an element */
};

/* enum ncclDataType_t of nccl.h, older names included. */
static const struct type nccl_types[] = {
    {"ncclInt8", 1},       {"ncclChar", 1},          {"ncclUint8", 1},    {"ncclInt32", 4},
    {"ncclInt", 4},        {"ncclUint32", 4},        {"ncclInt64", 8},    {"ncclUint64", 8},
    {"ncclFloat16", 2},    {"ncclHalf", 2},          {"ncclFloat32", 4},  {"ncclFloat", 4},
    {"ncclFloat64", 8},    {"ncclDouble", 8},        {"ncclBfloat16", 2}, {"ncclFloat8e4m3", 1},
    {"ncclFloat8e5m2", 1}, {"ncclUnknown", UNKNOWN}, {"", UNKNOWN}};

/* The same by number, with the names that PyTorch has for them. */
static const struct type nccl_numbers[] = {
    {"int8", 1},     {"uint8", 1},    {"int32", 4}, {"uint32", 4}, {"int64", 8},
    {"uint64", 8},   {"half", 2},     {"float", 4}, {"double", 8}, {"bfloat16", 2},
    {"fp8_e4m3", 1}, {"fp8_e5m2", 1}, {"", UNKNOWN}};

/* c10::ScalarType: toString() of each. */
static const struct type torch_types[] = {
    {"Byte", 1},           {"Char", 1},           {"Short", 2},           {"Int", 4},
    {"Long", 8},           {"Half", 2},           {"Float", 4},           {"Double", 8},
    {"ComplexHalf", 4},    {"ComplexFloat", 8},   {"ComplexDouble", 16},  {"Bool", 1},
    {"BFloat16", 2},       {"UInt16", 2},         {"UInt32", 4},          {"UInt64", 8},
    {"Float8_e5m2", 1},    {"Float8_e4m3fn", 1},  {"Float8_e5m2fnuz", 1}, {"Float8_e4m3fnuz", 1},
    {"Float8_e8m0fnu", 1}, {"Undefined", UNKNOWN}};

/* Reads the text and compares; rows are in order of time, which is that of the types. */
static void compare(struct nl_buf *text, const struct type *types, size_t count, bool named)
{
    struct nl_trace *trace = corpus_ingest_bytes(text->ptr, text->len);
    nl_buf_release(text);
    REQUIRE(trace);
    CHECK_INT(trace->collective.rows, count);
    for (uint32_t i = 0; i < trace->collective.rows && i < count; i++) {
        uint64_t bytes = trace->collective.bytes[i];
        check_case(types[i].name);
        if (types[i].bytes == UNKNOWN)
            CHECK(bytes == NL_NULL_U64);
        else
            CHECK_INT(bytes, 3 * types[i].bytes);
        if (named && types[i].name[0])
            CHECK_STR(nl_trace_name(trace, trace->collective.dtype[i]), types[i].name);
    }
    nl_trace_free(trace);
}

static void of_the_nccl_plug_in(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 1 << 20);
    for (size_t i = 0; i < CHECK_LENGTH(nccl_types); i++)
        nl_buf_format(
            &text,
            "{\"recordType\": \"event\", \"type\": \"ncclProfileColl\", \"gpuUuid\": \"g\", "
            "\"commId\": 5, \"rank\": 0, "
            "\"start\": {\"ts\": %zu.0, \"pid\": 50, \"tid\": 51}, \"stop\": {\"ts\": %zu.5, "
            "\"pid\": "
            "50, \"tid\": 52}, \"duration\": 0.5, \"parentObj\": \"null\", \"eventAddr\": \"0x7\", "
            "\"details\": {\"func\": \"AllReduce\", \"seq\": 0, \"count\": 3, \"root\": 0, "
            "\"dtype\": \"%s\"}}\n",
            31 + i, 31 + i, nccl_types[i].name);
    compare(&text, nccl_types, CHECK_LENGTH(nccl_types), true);
}

static void of_logs_of_nccl(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 1 << 20);
    nl_buf_text(&text, "host1:100:101 [0] NCCL INFO NCCL version 2.27.7+cuda13.0\n");
    for (size_t i = 0; i < CHECK_LENGTH(nccl_numbers); i++)
        nl_buf_format(
            &text,
            "host1:100:101 [0] NCCL INFO AllReduce: opCount %zx sendbuff 0x1 recvbuff 0x2 "
            "count 3 datatype %zu op 0 root 0 comm 0x55aa [nranks=2] stream 0x3\n",
            i, i);
    compare(&text, nccl_numbers, CHECK_LENGTH(nccl_numbers), true);
}

static void of_flight_records(void)
{
    struct nl_buf text;
    nl_buf_init(&text, 1 << 20);
    nl_buf_text(&text, "{\"version\": \"2.9\", \"nccl_version\": \"2.27.3\", \"pg_config\": {}, "
                       "\"pg_status\": {}, \"entries\": [");
    for (size_t i = 0; i < CHECK_LENGTH(torch_types); i++)
        nl_buf_format(
            &text,
            "%s{\"record_id\": %zu, \"pg_id\": 1, \"process_group\": [\"7\", \"DP\"], "
            "\"collective_seq_id\": %zu, \"op_id\": %zu, \"profiling_name\": \"nccl:all_reduce\", "
            "\"time_created_ns\": 17000000000000%05zu, \"input_sizes\": [[3]], \"input_dtypes\": "
            "[\"%s\"], \"output_sizes\": [[3]], \"output_dtypes\": [\"%s\"], "
            "\"state\": \"completed\", \"retired\": true, \"is_p2p\": false}",
            i ? ", " : "", i, i, i, 100 * i, torch_types[i].name, torch_types[i].name);
    nl_buf_text(&text, "]}");
    compare(&text, torch_types, CHECK_LENGTH(torch_types), true);
}

/* Kernels of NCCL tell the type with and without "c10::". */
static void of_traces_of_pytorch(void)
{
    for (int with = 0; with < 2; with++) {
        struct nl_buf text;
        nl_buf_init(&text, 1 << 20);
        nl_buf_text(&text, "{\"schemaVersion\": 1, \"traceEvents\": [");
        for (size_t i = 0; i < CHECK_LENGTH(torch_types); i++)
            nl_buf_format(
                &text,
                "%s{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"ncclDevKernel_AllReduce\", "
                "\"pid\": 0, "
                "\"tid\": 7, \"ts\": %zu, \"dur\": 5, \"args\": {\"device\": 0, \"stream\": 7, "
                "\"correlation\": %zu, \"Collective name\": \"allreduce\", \"In msg nelems\": 3, "
                "\"Out msg nelems\": 3, \"Group size\": 2, \"dtype\": \"%s%s\"}}",
                i ? ", " : "", 100 + 10 * i, i + 1, with ? "c10::" : "", torch_types[i].name);
        nl_buf_text(&text, "]}");
        compare(&text, torch_types, CHECK_LENGTH(torch_types), !with);
    }
}

CHECK_MAIN("element sizes", {"of the NCCL plug-in", of_the_nccl_plug_in},
           {"of logs of NCCL", of_logs_of_nccl}, {"of flight records", of_flight_records},
           {"of traces of PyTorch", of_traces_of_pytorch})
