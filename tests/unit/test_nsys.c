/*
 * The reader of nsys exports: what each oddity of real files turns into, on databases of a few rows
 * made here, each read in both ways.
 */
#include "check.h"
#include "nsysmake.h"
#include "derive/derive.h"
#include "ingest/formats.h"

/* Process 5, its threads 5 and 6; process 9, thread 9. */
#define P5 "83886080"
#define T5 "83886085"
#define T6 "83886086"
#define P9 "150994944"
#define T9 "150994953"

#define STRINGS                                                                                    \
    "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT NOT NULL);"                         \
    "INSERT INTO StringIds VALUES(1,'gemm<float>(int)'),(2,'gemm'),(3,'cudaLaunchKernel_v7000'),"  \
    "(4,'range by id'),(5,'main thread'),(6,'first name'),(7,'SECRET program output');"
#define KERNEL                                                                                     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, deviceId INTEGER,"        \
    " contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER,"              \
    " demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER, gridX INTEGER,"        \
    " graphNodeId INTEGER, graphId INTEGER);"
#define RUNTIME                                                                                    \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER, eventClass INTEGER,"     \
    " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, returnValue INTEGER);"
#define NVTX                                                                                       \
    "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, category INTEGER,"    \
    " color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER,"          \
    " domainId INTEGER, uint64Value INTEGER, doubleValue REAL, jsonText TEXT);"

static struct nl_trace *load_sql(const char *sql)
{
    struct nl_err err;
    const char *path = nsysmake("made.sqlite", sql);
    struct nl_trace *trace = nsysmake_load(path, DBFILE_FASTEST, 2, &err);
    struct nl_trace *stepped = nsysmake_load(path, DBFILE_STEP, 1, &err);
    if (!trace)
        printf("    %s\n", err.text);
    CHECK(trace && stepped && !nsysmake_difference(trace, stepped));
    if (stepped)
        nl_trace_free(stepped);
    return trace;
}

static struct nl_str slice_name(const struct nl_trace *t, uint32_t slice)
{
    return nl_trace_name(t, t->slice.name[slice]);
}

static void api_names(void)
{
    static const struct {
        const char *in, *out;
    } cases[] = {{"cudaLaunchKernel_v7000", "cudaLaunchKernel"},
                 {"cudaLaunchKernel_ptsz_v7000", "cudaLaunchKernel"},
                 {"cuMemcpyAsync_v2_ptsz", "cuMemcpyAsync"},
                 {"cudaStreamGetCaptureInfo_v2_v11030", "cudaStreamGetCaptureInfo_v2"},
                 {"cuLaunchKernel", "cuLaunchKernel"},
                 {"_v1", "_v1"},
                 {"x_v", "x_v"},
                 {"", ""}};
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++)
        CHECK_STR(nsys_api_text(nl_str(cases[i].in)), cases[i].out);
}

static void kernels_and_their_launches(void)
{
    struct nl_trace *t =
        load_sql(STRINGS KERNEL RUNTIME
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1000,1500,0,1,7,11," P5
                 ",1,2,40,80,NULL,NULL),"
                 "(1000,1600,1,1,7,11," P9 ",1,2,40,80,0,0),(2000,2100,0,1,7,12," P5
                 ",1,2,40,80,4294967297,1);"
                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(900,950,0," T5 ",11,3,0),"
                 "(800,850,0," T9 ",11,3,0),(1900,1950,1," T5 ",12,3,1);");
    REQUIRE(t);
    CHECK_INT(t->kernel.rows, 3);
    CHECK_INT(t->api.rows, 3);
    for (uint32_t i = 0; i < t->kernel.rows; i++) {
        uint32_t slice = t->kernel.slice[i], launch = t->slice.link[slice];
        REQUIRE(launch != NL_NULL_ROW);
        CHECK_INT(nl_slice_process(t, slice), nl_slice_process(t, launch));
        CHECK_STR(slice_name(t, launch), "cudaLaunchKernel");
        CHECK_STR(slice_name(t, slice), "gemm<float>(int)");
        CHECK_STR(nl_trace_name(t, t->kernel.short_name[i]), "gemm");
        CHECK_INT(t->kernel.grid_x[i], 80);
        CHECK_INT(t->kernel.block_x[i], NL_NULL_U32);
    }
    CHECK_INT(t->kernel.graph_node[0], NL_NULL_U64);
    CHECK_INT(t->kernel.graph_node[1], NL_NULL_U64);
    CHECK_INT(t->kernel.graph_node[2], 4294967297);
    CHECK_INT(t->kernel.graph[2], 1);
    CHECK_INT(t->device.rows, 2);
    CHECK_INT(t->process.rows, 2);
    nl_trace_free(t);
}

static void files_without_processes_link_by_correlation_alone(void)
{
    struct nl_trace *t = load_sql(
        STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, \"end\", deviceId, streamId,"
                " correlationId, shortName, demangledName);" RUNTIME
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1000,1500,0,7,11,2,1);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(-900,-850,0," T5 ",11,3,0);");
    REQUIRE(t);
    CHECK(t->slice.link[t->kernel.slice[0]] != NL_NULL_ROW);
    CHECK_INT(t->first_ts, -900);
    nl_trace_free(t);
}

static void text_where_ids_belong(void)
{
    struct nl_trace *t =
        load_sql(KERNEL RUNTIME "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,5,0,1,7,11," P5
                                ",'inline name','short',1,1,"
                                "NULL,NULL);"
                                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,1,0," T5
                                ",11,'cuLaunchKernel_v4000',0);");
    REQUIRE(t);
    CHECK_STR(slice_name(t, t->kernel.slice[0]), "inline name");
    CHECK_STR(slice_name(t, t->api.slice[0]), "cuLaunchKernel");
    nl_trace_free(t);
}

static void enumerations_come_from_the_file(void)
{
    static const char *const copies =
        "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, \"end\", deviceId, contextId, streamId,"
        " correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(1,5,0,1,7,1," P5 ",4096,1,0,2),"
        "(6,9,0,1,7,2," P5 ",4096,70,1,2),(10,12,0,1,7,3," P5 ",NULL,99,NULL,NULL);";
    char sql[2048];
    snprintf(sql, sizeof sql, STRINGS "%s", copies);
    struct nl_trace *t = load_sql(sql);
    REQUIRE(t);
    CHECK_INT(t->copy.kind[0], NL_COPY_HTOD);
    CHECK_INT(t->copy.kind[1], NL_COPY_UNKNOWN);
    CHECK_INT(t->copy.src_memory[0], NL_MEMORY_PAGEABLE);
    CHECK_INT(t->copy.bytes[2], NL_NULL_U64);
    CHECK_INT(t->copy.src_memory[2], NL_MEMORY_UNKNOWN);
    CHECK_STR(slice_name(t, t->copy.slice[0]), "[CUDA memcpy Host-to-Device]");
    nl_trace_free(t);
    snprintf(sql, sizeof sql,
             STRINGS "CREATE TABLE ENUM_CUDA_MEMCPY_OPER(id INTEGER PRIMARY KEY, name, label);"
                     "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES(1,'CUDA_MEMCPY_KIND_DTOH','Down'),"
                     "(70,'CUDA_MEMCPY_KIND_HTOD','Up'),(99,'CUDA_MEMCPY_KIND_NEW','Sideways');%s",
             copies);
    t = load_sql(sql);
    REQUIRE(t);
    CHECK_INT(t->copy.kind[0], NL_COPY_DTOH);
    CHECK_INT(t->copy.kind[1], NL_COPY_HTOD);
    CHECK_INT(t->copy.kind[2], NL_COPY_UNKNOWN);
    CHECK_STR(slice_name(t, t->copy.slice[2]), "[CUDA memcpy Sideways]");
    nl_trace_free(t);
}

static void nvtx_ranges(void)
{
    struct nl_trace *t = load_sql(
        STRINGS NVTX "INSERT INTO NVTX_EVENTS VALUES"
                     "(100,900,59,NULL,NULL,'outer'," T5
                     ",NULL,NULL,NULL,18446744073709551615,NULL,NULL),"
                     "(200,300,59,NULL,NULL,NULL," T5 ",NULL,4,0,NULL,0.5,NULL),"
                     "(250,950,60,3,-16711936,'async'," T5 "," T6 ",NULL,1,NULL,NULL,'{\"x\":1}'),"
                     "(260,950,60,4,NULL,'async 2'," T5 "," T5 ",NULL,1,-1,NULL,NULL),"
                     "(400,NULL,34,NULL,NULL,'mark'," T5 ",NULL,NULL,NULL,NULL,NULL,NULL),"
                     "(500,NULL,59,NULL,NULL,'open'," T6 ",NULL,NULL,NULL,NULL,NULL,NULL),"
                     "(0,NULL,75,NULL,NULL,'Library'," T5 ",NULL,NULL,1,NULL,NULL,NULL),"
                     "(0,NULL,33,3,NULL,'category three'," T5 ",NULL,NULL,1,NULL,NULL,NULL),"
                     "(0,NULL,39,NULL,NULL,'named by NVTX'," T6 ",NULL,NULL,NULL,NULL,NULL,NULL),"
                     "(600,700,59,NULL,NULL,'elsewhere'," T9 ",NULL,NULL,1,NULL,NULL,NULL),"
                     "(1,NULL,200,NULL,NULL,'what'," T5 ",NULL,NULL,NULL,NULL,NULL,NULL);");
    REQUIRE(t);
    static const struct {
        const char *name, *domain, *category, *payload;
        int64_t dur;
        uint32_t color;
        enum nl_rangestyle style;
        enum nl_lanekind lane;
        unsigned flags;
    } want[] = {
        {"outer", "", "", "", 800, NL_NULL_U32, NL_RANGE_PUSH_POP, NL_LANE_NVTX, 0},
        {"range by id", "", "", "0.5", 100, NL_NULL_U32, NL_RANGE_PUSH_POP, NL_LANE_NVTX, 0},
        {"async", "Library", "category three", "{\"x\":1}", 700, 0xFF00FF00, NL_RANGE_START_END,
         NL_LANE_ASYNC, 0},
        {"async 2", "Library", "category 4", "18446744073709551615", 690, NL_NULL_U32,
         NL_RANGE_START_END, NL_LANE_ASYNC, 0},
        {"mark", "", "", "", 0, NL_NULL_U32, NL_RANGE_MARK, NL_LANE_NVTX, NL_SLICE_INSTANT},
        {"open", "", "", "", 450, NL_NULL_U32, NL_RANGE_PUSH_POP, NL_LANE_NVTX, NL_SLICE_CLAMPED},
        {"elsewhere", "domain 1", "", "", 100, NL_NULL_U32, NL_RANGE_PUSH_POP, NL_LANE_NVTX, 0},
    };
    CHECK_INT(t->nvtx.rows, CHECK_LENGTH(want));
    REQUIRE(t->nvtx.rows == CHECK_LENGTH(want));
    for (uint32_t i = 0; i < t->nvtx.rows; i++) {
        uint32_t slice = t->nvtx.slice[i];
        check_case(want[i].name);
        CHECK_STR(slice_name(t, slice), want[i].name);
        CHECK_STR(nl_trace_name(t, t->nvtx.domain[i]), want[i].domain);
        CHECK_STR(nl_trace_name(t, t->nvtx.category[i]), want[i].category);
        if (i > 0) /* 2^64 - 1 is no integer of SQLite: the literal became a real number */
            CHECK_STR(nl_trace_name(t, t->nvtx.payload[i]), want[i].payload);
        CHECK_INT(t->slice.dur[slice], want[i].dur);
        CHECK_INT(t->nvtx.color[i], want[i].color);
        CHECK_INT(t->nvtx.style[i], want[i].style);
        CHECK_INT(t->lane.kind[t->slice.lane[slice]], want[i].lane);
        CHECK_INT(t->slice.flags[slice], want[i].flags);
    }
    CHECK_INT(t->nvtx.end_thread[2], 6);
    CHECK_INT(t->nvtx.end_thread[3], NL_NULL_I64);
    CHECK_INT(t->slice.parent[t->nvtx.slice[1]], t->nvtx.slice[0]);
    CHECK_INT(nsysmake_coverage(t, "NVTX rows of an unknown type"), 1);
    bool named = false;
    for (uint32_t i = 0; i < t->thread.rows; i++)
        named |= t->thread.tid[i] == 6 &&
                 nl_str_is(nl_trace_name(t, t->thread.name[i]), "named by NVTX");
    CHECK(named);
    nl_trace_free(t);
}

/* NCCL's all-reduce of 1 MiB, as a blob and as hexadecimal text, and undescribed structures. */
static void structured_payloads(void)
{
#define HEAD(schema, size) "0100000000000000" schema "00000000000000" size "00000000000000"
#define TAIL               "3800000000000000ffffffffffffffff0000100000000000feffffff0000003f"
#define ALL_REDUCE         HEAD("05", "18") TAIL
#define OTHER              HEAD("06", "01") "210000000000000007"
    struct nl_trace *t = load_sql(
        "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER, text TEXT,"
        " globalTid INTEGER, domainId INTEGER, binaryData TEXT);"
        "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER,"
        " idx INTEGER, type INTEGER, name TEXT, offset INTEGER);"
        "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(1,5,1,22,'Message size [bytes]',8),"
        "(1,5,0,18,'NCCL communicator ID',0),(1,5,2,5,'Root',16),(1,5,3,19,'x',20),"
        "(1,5,4,20,'outside',9000),(1,5,5,99,'odd type',0);"
        "INSERT INTO NVTX_EVENTS VALUES(1,5,59,'ncclAllReduce',83886085,1,x'" ALL_REDUCE "'),"
        "(6,9,59,'ncclAllReduce',83886085,1,'" ALL_REDUCE "'),"
        "(10,11,59,'other',83886085,1,x'" OTHER "'),(12,13,59,'cut',83886085,1,x'0100');");
#undef HEAD
#undef TAIL
#undef ALL_REDUCE
#undef OTHER
    REQUIRE(t && t->nvtx.rows == 4);
    for (uint32_t i = 0; i < 2; i++)
        CHECK_STR(nl_trace_name(t, t->nvtx.payload[i]),
                  "{\"NCCL communicator ID\":18446744073709551615,\"Message size [bytes]\":1048576,"
                  "\"Root\":-2,\"x\":0.5}");
    CHECK_STR(nl_trace_name(t, t->nvtx.payload[2]), "{\"schema\":6,\"bytes\":1}");
    CHECK_INT(t->nvtx.payload[3], NL_NO_NAME);
    CHECK_INT(t->collective.rows, 2);
    CHECK_INT(t->collective.bytes[0], 1048576);
    CHECK_INT(t->collective.peer[0], -2);
    CHECK_STR(nl_trace_name(t, t->collective.operation[0]), "all_reduce");
    nl_trace_free(t);
}

static void threads_processes_and_secrets(void)
{
    struct nl_trace *t = load_sql(
        STRINGS KERNEL RUNTIME
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,5,0,1,7,11," P5 ",1,2,1,1,NULL,NULL);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(0,1,0," T5 ",11,3,0);"
        "CREATE TABLE ThreadNames(nameId INTEGER, priority INTEGER, globalTid INTEGER);"
        "INSERT INTO ThreadNames VALUES(5,30," T5 "),(6,20," T5 "),(6,20," T9 ");"
        "CREATE TABLE PROCESSES(globalPid INTEGER, pid INTEGER, name TEXT);"
        "INSERT INTO PROCESSES VALUES(" P5 ",5,'python'),(" P9 ",9,'unrelated');"
        "CREATE TABLE ProcessStreams(globalPid INTEGER, filenameId INTEGER, contentId INTEGER);"
        "INSERT INTO ProcessStreams VALUES(" P5 ",7,7);"
        "CREATE TABLE META_DATA_CAPTURE(name TEXT, value TEXT);"
        "INSERT INTO META_DATA_CAPTURE VALUES('PROCESS_0:ENVIRONMENT_VARIABLE','TOKEN=\"SECRET\"'),"
        "('PROCESS_0:ENVIRONMENT_VARIABLE','RANK=\"3\"'),('PROCESS_0:USER_NAME','SECRET'),"
        "('CAPTURE_EVENT_TYPE','Cuda');"
        "CREATE TABLE META_DATA_EXPORT(name TEXT, value TEXT);"
        "INSERT INTO META_DATA_EXPORT VALUES('EXPORT_PRODUCT_VERSION','2025.1'),"
        "('EXPORT_HOST','SECRET'),('EXPORT_PARAM_TIME_SHIFT','100');"
        "CREATE TABLE TARGET_INFO_SYSTEM_ENV(globalVid, devStateName, name, nameEnum, value);"
        "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES(1,'x','Hostname',0,'node7'),"
        "(1,'x','OsDescription',0,'Linux');"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME(utcEpochNs INTEGER);"
        "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES(1700000000000000000);");
    REQUIRE(t);
    for (uint32_t i = 0; i < t->names.count; i++)
        if (nl_str_contains(nl_dict_text(&t->names, i), "SECRET"))
            CHECK_STR(nl_dict_text(&t->names, i), "no secret");
    bool host =
        false; /* where measured roofs are kept by: the one name of a machine that is read */
    for (uint32_t row = 0; row < t->meta.rows; row++)
        host |= nl_str_is(nl_trace_name(t, t->meta.key[row]), "Hostname") &&
                nl_str_is(nl_trace_name(t, t->meta.value[row]), "node7");
    CHECK(host);
    CHECK_INT(t->process.rows, 1);
    CHECK_STR(nl_trace_name(t, t->process.name[0]), "python");
    CHECK_INT(t->process.rank[0], 3);
    CHECK_STR(nl_trace_name(t, t->thread.name[0]), "main thread");
    CHECK_STR(nl_trace_name(t, t->source.tool[0]), "Nsight Systems 2025.1");
    CHECK_INT(t->source.epoch_ns[0], 1699999999999999900);
    CHECK_INT(nsysmake_coverage(t, "environment variables left out"), 2);
    nl_trace_free(t);
}

static void physical_devices(void)
{
    struct nl_trace *t = load_sql(
        STRINGS KERNEL
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(1,5,0,1,7,11," P5 ",1,2,1,1,NULL,NULL),"
        "(1,5,0,2,7,11," P9 ",1,2,1,1,NULL,NULL);"
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(2,0,5),(3,0,9);"
        "CREATE TABLE TARGET_INFO_GPU(vmId, id, name, totalMemory, smCount, cuDevice, computeMajor,"
        " computeMinor);"
        "INSERT INTO TARGET_INFO_GPU VALUES(1,2,'GPU two',80000000000,132,2,9,0),"
        "(1,3,'GPU three',80000000000,132,3,9,0);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start INTEGER, end INTEGER,"
        " deviceId INTEGER, contextId INTEGER, streamId INTEGER, globalPid INTEGER,"
        " syncType INTEGER, eventId INTEGER);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(1,9,0,2,4294967295," P9
        ",4,4294967295);");
    REQUIRE(t);
    CHECK_INT(t->device.rows, 2);
    uint32_t first = nl_slice_device(t, t->kernel.slice[0]);
    uint32_t second = nl_slice_device(t, t->kernel.slice[1]);
    CHECK_STR(nl_trace_name(t, t->device.name[first]), "GPU two");
    CHECK_STR(nl_trace_name(t, t->device.name[second]), "GPU three");
    CHECK_INT(t->device.ordinal[first], 0);
    CHECK_INT(t->device.ordinal[second], 0);
    CHECK_INT(t->device.sm_count[first], 132);
    CHECK_INT(t->device.compute_minor[first], 0);
    CHECK_INT(t->device.clock_hz[first], NL_NULL_U64);
    uint32_t wait = t->sync.slice[0];
    CHECK_INT(t->lane.stream[t->slice.lane[wait]], NL_NULL_I64);
    CHECK_INT(nl_slice_device(t, wait), second);
    CHECK_INT(t->sync.kind[0], NL_SYNC_CONTEXT);
    CHECK_INT(t->sync.event_id[0], NL_NULL_I64);
    nl_trace_free(t);
}

/* The GPU and the process are the machine's: GPU 3 is device 0 of process 9. At equal times the
 * recorder's numbers decide; a start without a restore counts; what lost its other half is told. */
static void switches_of_contexts(void)
{
    struct nl_trace *t = load_sql(
        STRINGS KERNEL
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(50,900,0,1,7,11," P9 ",1,2,1,1,NULL,NULL);"
        "CREATE TABLE TARGET_INFO_CUDA_DEVICE(gpuId INTEGER, cudaId INTEGER, pid INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(3,0,9);"
        "CREATE TABLE GPU_CONTEXT_SWITCH_EVENTS(tag INTEGER, vmId INTEGER, seqNo INTEGER,"
        " contextId INTEGER, timestamp INTEGER, globalPid INTEGER, gpuId INTEGER);"
        "INSERT INTO GPU_CONTEXT_SWITCH_EVENTS VALUES(7,0,1,8,60," P5 ",3),"
        "(8,0,2,4,100," P9 ",3),(9,0,3,4,110," P9 ",3),(2,0,4,4,190," P9 ",3),"
        "(8,0,6,8,200," P5 ",3),(7,0,5,4,200," P9 ",3),(7,0,7,8,300," P5 ",3),"
        "(10,0,8,8,0," P5 ",3),(9,0,9,4,320,NULL,NULL),(11,0,10,4,400,NULL,NULL),"
        "(8,0,11,4,500," P9 ",3);");
    static const struct {
        int64_t ts, dur, context, pid;
        uint8_t flags;
        const char *name;
    } want[] = {{100, 100, 4, 9, 0, "GPU context 4"},
                {200, 100, 8, 5, 0, "GPU context 8"},
                {320, 80, 4, NL_NULL_I64, 0, "GPU context 4"},
                {400, 0, 4, NL_NULL_I64, NL_SLICE_INSTANT, "GPU engine reset"},
                {500, 400, 4, 9, NL_SLICE_CLAMPED, "GPU context 4"}};
    REQUIRE(t);
    CHECK_INT(t->device.rows, 1);
    CHECK_INT(t->slice.rows, 1 + CHECK_LENGTH(want));
    unsigned met = 0;
    for (uint32_t i = 0; i < t->slice.rows; i++)
        for (size_t k = 0; k < CHECK_LENGTH(want); k++) {
            uint32_t lane = t->slice.lane[i], process = t->lane.process[lane];
            if (t->lane.kind[lane] != NL_LANE_DEVICE || t->slice.ts[i] != want[k].ts)
                continue;
            met++;
            CHECK_INT(t->slice.dur[i], want[k].dur);
            CHECK_INT(t->lane.context[lane], want[k].context);
            CHECK_INT(process == NL_NULL_ROW ? NL_NULL_I64 : t->process.pid[process], want[k].pid);
            CHECK_INT(t->lane.device[lane], process == NL_NULL_ROW ? NL_NULL_ROW : 0);
            CHECK_INT(t->slice.flags[i], want[k].flags);
            CHECK_STR(nl_trace_name(t, t->slice.name[i]), want[k].name);
        }
    CHECK_INT(met, CHECK_LENGTH(want));
    CHECK_INT(nsysmake_coverage(t, "GPU context switches without"), 1);
    CHECK_INT(nsysmake_coverage(t, "stages of GPU context switches"), 1);
    CHECK_INT(nsysmake_coverage(t, "events with impossible times"), 1);
    nl_trace_free(t);
}

/* Left ready to run, to wait, and for a reason that is not known. */
static void states_of_threads(void)
{
    struct nl_trace *t =
        load_sql(STRINGS "CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER, isSchedIn INTEGER,"
                         " globalTid INTEGER, threadState INTEGER, threadBlock INTEGER);"
                         "INSERT INTO SCHED_EVENTS VALUES(100,2,1," T5 ",1,0),(200,2,0," T5 ",1,0),"
                         "(300,2,1," T5 ",2,0),(400,2,0," T5 ",2,0),(500,2,1," T5 ",3,0),"
                         "(600,2,0," T5 ",0,0);");
    REQUIRE(t);
    REQUIRE(t->slice.rows == 3);
    CHECK_INT(t->slice.flags[0], NL_SLICE_READY);
    CHECK_INT(t->slice.flags[1], NL_SLICE_WAITS);
    CHECK_INT(t->slice.flags[2], 0);
    nl_trace_free(t);
}

/* Calls name their stacks by id; frames may be in any order, and stacks share their callers. */
static void call_chains(void)
{
    struct nl_trace *t = load_sql(
        STRINGS "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER,"
                " globalTid INTEGER, correlationId INTEGER, nameId INTEGER, callchainId INTEGER);"
                "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(100,110," T5 ",1,3,7),"
                "(200,210," T5 ",2,3,8),(300,310," T5 ",3,3,0),(400,410," T5 ",4,3,99);"
                "CREATE TABLE CUDA_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER,"
                " stackDepth INTEGER);"
                "INSERT INTO CUDA_CALLCHAINS VALUES(8,4,6,0),(7,1,6,0),(7,5,6,1),(8,5,6,1);"
                "CREATE TABLE OSRT_API(start INTEGER, end INTEGER, globalTid INTEGER,"
                " nameId INTEGER, callchainId INTEGER);"
                "INSERT INTO OSRT_API VALUES(150,160," T5 ",2,7);"
                "CREATE TABLE OSRT_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER,"
                " stackDepth INTEGER);"
                "INSERT INTO OSRT_CALLCHAINS VALUES(7,2,6,0);");
    REQUIRE(t);
    CHECK_INT(t->slicestack.rows, 3);
    CHECK_INT(t->stack.rows, 4);
    const struct {
        int64_t ts;
        const char *innermost, *caller;
    } expected[] = {{100, "gemm<float>(int)", "main thread"},
                    {150, "gemm", NULL},
                    {200, "range by id", "main thread"}};
    unsigned met = 0;
    for (uint32_t i = 0; i < t->slicestack.rows; i++)
        for (size_t e = 0; e < sizeof expected / sizeof expected[0]; e++) {
            uint32_t stack = t->slicestack.stack[i];
            if (t->slice.ts[t->slicestack.slice[i]] - t->slice.ts[0] + 100 != expected[e].ts)
                continue;
            met++;
            CHECK_STR(nl_trace_name(t, t->stack.name[stack]), expected[e].innermost);
            uint32_t caller = t->stack.parent[stack];
            CHECK_INT(caller == NL_NULL_ROW, expected[e].caller == NULL);
            if (caller != NL_NULL_ROW && expected[e].caller)
                CHECK_STR(nl_trace_name(t, t->stack.name[caller]), expected[e].caller);
        }
    CHECK_INT(met, 3);
    nl_trace_free(t);
}

static void scheduling_and_samples(void)
{
    struct nl_trace *t = load_sql(
        STRINGS "CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER, isSchedIn INTEGER,"
                " globalTid INTEGER);"
                "INSERT INTO SCHED_EVENTS VALUES(50,1,0," T5 "),(300,2,0," T5 "),(100,2,1," T5 "),"
                "(400,3,1," T5 "),(350,1,1," T9 "),(600,1,0," T9 ");"
                "CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER,"
                " globalTid INTEGER, cpuCycles INTEGER);"
                "INSERT INTO COMPOSITE_EVENTS VALUES(1,120,2," T5 ",10),(2,130,2," T5 ",11),"
                "(3,140,2," T5 ",12);"
                "CREATE TABLE SAMPLING_CALLCHAINS(id INTEGER, symbol INTEGER, module INTEGER,"
                " stackDepth INTEGER, PRIMARY KEY(id, stackDepth));"
                "INSERT INTO SAMPLING_CALLCHAINS VALUES(2,1,6,0),(1,1,6,0),(1,2,6,1),(1,5,6,2),"
                "(2,2,6,1),(2,5,6,2);");
    REQUIRE(t);
    CHECK_INT(t->slice.rows, 3);
    CHECK_INT(nsysmake_coverage(t, "thread switches without"), 1);
    CHECK_INT(nsysmake_coverage(t, "CPU samples without a stack"), 1);
    CHECK_INT(t->stack.rows, 3);
    CHECK_INT(t->sample.rows, 3);
    uint32_t frame = t->sample.stack[0];
    CHECK_INT(t->sample.stack[1], frame);
    CHECK_INT(t->sample.stack[2], NL_NULL_ROW);
    REQUIRE(frame != NL_NULL_ROW);
    CHECK_STR(nl_trace_name(t, t->stack.name[frame]), "gemm<float>(int)");
    frame = t->stack.parent[t->stack.parent[frame]];
    CHECK_STR(nl_trace_name(t, t->stack.name[frame]), "main thread");
    CHECK_INT(t->stack.parent[frame], NL_NULL_ROW);
    for (uint32_t i = 0; i < t->slice.rows; i++)
        if (t->slice.ts[i] == 400)
            CHECK_INT(t->slice.flags[i], NL_SLICE_CLAMPED);
        else
            CHECK_INT(t->slice.dur[i], t->slice.ts[i] == 100 ? 200 : 250);
    nl_trace_free(t);
}

/* Two exports with stacks in one profile: each sample keeps its own. */
static void stacks_of_several_files(void)
{
    static const char *const files[] = {"first", "second"};
    struct nl_err err;
    nl_err_clear(&err);
    struct nl_job job = {.threads = 2, .memory_bytes = (uint64_t)1 << 30};
    struct nl_builder *builder = nl_builder_new(&job);
    for (int i = 0; i < 2; i++) {
        char sql[1024];
        snprintf(sql, sizeof sql,
                 "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
                 "INSERT INTO StringIds VALUES(1,'%s leaf'),(2,'%s root');"
                 "CREATE TABLE COMPOSITE_EVENTS(id INTEGER PRIMARY KEY, start INTEGER, cpu INTEGER,"
                 " globalTid INTEGER, cpuCycles INTEGER);"
                 "INSERT INTO COMPOSITE_EVENTS VALUES(1,120,2," T5 ",10);"
                 "CREATE TABLE SAMPLING_CALLCHAINS(id, symbol, module, stackDepth);"
                 "INSERT INTO SAMPLING_CALLCHAINS VALUES(1,1,2,0),(1,2,2,1);",
                 files[i], files[i]);
        struct nl_input input = {.path = nsysmake("stacks.sqlite", sql),
                                 .name = files[i],
                                 .encoding = "plain",
                                 .rank = NL_NULL_I64};
        uint32_t source = nl_builder_source(builder, files[i], "nsys");
        struct nl_reading reading = {builder, source, &input, &job, NULL, NULL};
        CHECK(nl_reading_load(&reading, &nl_format_nsys, &err));
    }
    struct nl_trace *t = nl_builder_finish(builder, &err);
    REQUIRE(t && t->sample.rows == 2);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t leaf = t->sample.stack[i];
        struct nl_str name = nl_trace_name(t, t->stack.name[leaf]);
        struct nl_str root = nl_trace_name(t, t->stack.name[t->stack.parent[leaf]]);
        CHECK(nl_str_starts(name, files[i]) && nl_str_starts(root, files[i]));
    }
    nl_trace_free(t);
}

static void odd_times_and_unknown_tables(void)
{
    struct nl_trace *t = load_sql(
        STRINGS KERNEL
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(NULL,5,0,1,7,1," P5 ",1,2,1,1,NULL,NULL),"
        "(9223372036854775807,5,0,1,7,1," P5 ",1,2,1,1,NULL,NULL),"
        "(-9223372036854775808,5,0,1,7,1," P5 ",1,2,1,1,NULL,NULL),"
        "(100,50,0,1,7,1," P5 ",1,2,1,1,NULL,NULL),(100,150,0,1,7,1," P5 ",999,2,1,1,NULL,NULL);"
        "CREATE TABLE VULKAN_API(start INTEGER, end INTEGER, globalTid INTEGER, nameId INTEGER);"
        "INSERT INTO VULKAN_API VALUES(1,2," T5 ",2);"
        "CREATE TABLE SOMETHING_NEW(x INTEGER); INSERT INTO SOMETHING_NEW VALUES(1),(2);"
        "CREATE TABLE EMPTY_AND_NEW(x INTEGER);"
        "CREATE TABLE DIAGNOSTIC_EVENT(severity INTEGER, text TEXT);"
        "INSERT INTO DIAGNOSTIC_EVENT VALUES(2,'lost'),(2,'lost'),(1,'fine'),(3,'broken');");
    REQUIRE(t);
    CHECK_INT(t->kernel.rows, 2);
    CHECK_STR(slice_name(t, t->kernel.slice[1]), "gemm");
    static const struct {
        const char *item;
        int64_t count;
    } want[] = {{"events without a start time", 2},
                {"events with impossible times", 1},
                {"events that end before they start", 1},
                {"names missing in StringIds", 1},
                {"not loaded: SOMETHING_NEW", 2},
                {"not loaded: EMPTY_AND_NEW", -1},
                {"not loaded: VULKAN_API", -1},
                {"nsys warning: lost", 2},
                {"nsys error: broken", 1},
                {"nsys warning: fine", -1},
                {"not recorded: NVTX_EVENTS", 0},
                {"not recorded: CUPTI_ACTIVITY_KIND_KERNEL", -1}};
    for (size_t i = 0; i < CHECK_LENGTH(want); i++) {
        check_case(want[i].item);
        CHECK_INT(nsysmake_coverage(t, want[i].item), want[i].count);
    }
    CHECK_INT(t->slice.rows, 3);
    nl_trace_free(t);
}

/* A hundred are listed, the others counted together. */
static void many_warnings(void)
{
    for (int count = 100; count <= 103; count += 3) {
        char sql[2000];
        snprintf(sql, sizeof sql,
                 STRINGS KERNEL
                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(100,150,0,1,7,1," P5
                 ",1,2,1,1,NULL,NULL);"
                 "CREATE TABLE DIAGNOSTIC_EVENT(severity INTEGER, text TEXT);"
                 "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)"
                 " INSERT INTO DIAGNOSTIC_EVENT SELECT 2, 'warning ' || i || '.' FROM n;"
                 "INSERT INTO DIAGNOSTIC_EVENT VALUES(1, 'x'), (4, 'x'), (3, '');",
                 count);
        struct nl_trace *t = load_sql(sql);
        REQUIRE(t);
        CHECK_INT(nsysmake_coverage(t, "nsys warning: warning 1."), 1);
        CHECK_INT(nsysmake_coverage(t, "nsys warning: warning 100."), 1);
        CHECK_INT(nsysmake_coverage(t, "nsys warning: warning 101."), -1);
        CHECK_INT(nsysmake_coverage(t, "nsys warning: x"), -1);
        CHECK_INT(nsysmake_coverage(t, "nsys error"), -1);
        CHECK_INT(nsysmake_coverage(t, "more warnings of nsys"), count == 100 ? -1 : 3);
        nl_trace_free(t);
    }
}

CHECK_MAIN("nsys", {"many warnings", many_warnings}, {"API names", api_names},
           {"kernels and launches", kernels_and_their_launches},
           {"files without processes", files_without_processes_link_by_correlation_alone},
           {"text where ids belong", text_where_ids_belong},
           {"enumerations", enumerations_come_from_the_file}, {"NVTX", nvtx_ranges},
           {"structured payloads", structured_payloads},
           {"threads, processes, secrets", threads_processes_and_secrets},
           {"physical devices", physical_devices}, {"call chains", call_chains},
           {"scheduling and samples", scheduling_and_samples},
           {"states of threads", states_of_threads}, {"switches of contexts", switches_of_contexts},
           {"stacks of several files", stacks_of_several_files},
           {"odd times, unknown tables", odd_times_and_unknown_tables})
