/*
 * What the numbers of an export's enumerations mean: types of NVTX rows, kinds of overhead,
 * operations on memory, tags of context switches, states of threads; by number and by the names
 * that a file gives other numbers to. The lists are those of the ENUM_ tables that Nsight Systems
 * 2025.5 writes; what each does is worked out by hand.
 */
#include "check.h"
#include "nsysmake.h"

#define P5 "83886080"
#define T5 "83886085"

static struct nl_trace *load_sql(struct nl_buf *sql)
{
    struct nl_err err;
    nl_buf_char(sql, '\0');
    const char *path = nsysmake("enums.sqlite", sql->ptr);
    struct nl_trace *trace = nsysmake_load(path, DBFILE_FASTEST, 2, &err);
    if (!trace)
        printf("    %s\n", err.text);
    nl_buf_release(sql);
    return trace;
}

/* A file's own table: every number is `more` larger than the driver's. */
static void begin(struct nl_buf *sql, const char *table, int more)
{
    nl_buf_init(sql, 1 << 20);
    if (more)
        nl_buf_format(sql, "CREATE TABLE %s(id INTEGER PRIMARY KEY, name, label);", table);
}
static void name_it(struct nl_buf *sql, const char *table, int more, int number, const char *symbol)
{
    if (more)
        nl_buf_format(sql, "INSERT INTO %s VALUES(%d,'%s',NULL);", table, number + more, symbol);
}

/* ---- NVTX: a row of each type beside a range of domain 3 and category 4 ---- */

enum effect { OTHER, NOTHING, PUSHED, STARTED, MARK, CATEGORY, DOMAIN, THREAD };

static const struct event_type {
    int number;
    const char *symbol;
    enum effect effect;
} event_types[] = {{0, "Unknown", OTHER},
                   {25, "SchedSwitch", OTHER},
                   {32, "NvtxEvents", OTHER},
                   {33, "NvtxCategory", CATEGORY},
                   {34, "NvtxMark", MARK},
                   {35, "NvtxPushRange", OTHER},
                   {38, "NvtxEndRange", OTHER},
                   {39, "NvtxThread", THREAD},
                   {40, "PowerRate", OTHER},
                   {58, "GpuCtxsw", OTHER},
                   {59, "NvtxPushPopRange", PUSHED},
                   {60, "NvtxStartEndRange", STARTED},
                   {61, "ProfTime", OTHER},
                   {63, "KhrDebugGpuPushPopRange", OTHER},
                   {64, "NvtxtCategory", CATEGORY},
                   {65, "NvtxtMark", MARK},
                   {66, "NvtxtPushRange", OTHER},
                   {69, "NvtxtEndRange", OTHER},
                   {70, "NvtxtPushPopRange", PUSHED},
                   {71, "NvtxtStartEndRange", STARTED},
                   {72, "NvtxtMetaThread", THREAD},
                   {73, "NvtxtMetaProcess", OTHER},
                   {74, "NvtxtMetaFileDisplay", OTHER},
                   {75, "NvtxDomainCreate", DOMAIN},
                   {76, "NvtxDomainDestroy", NOTHING},
                   {77, "NvtxDomainHandle", OTHER},
                   {96, "NvtxDomainUnknown", OTHER},
                   {97, "NvtxNameCudaDevice", NOTHING},
                   {98, "NvtxNameCudaContext", NOTHING},
                   {99, "NvtxNameCudaStream", NOTHING},
                   {100, "NvtxAfterThat", OTHER}};

static void check_event(const struct nl_trace *t, enum effect effect)
{
    uint32_t witness = NL_NULL_ROW, it = NL_NULL_ROW;
    for (uint32_t row = 0; row < t->nvtx.rows; row++)
        *(t->slice.ts[t->nvtx.slice[row]] == 10 ? &witness : &it) = row;
    REQUIRE(witness != NL_NULL_ROW);
    uint32_t lane = t->slice.lane[t->nvtx.slice[witness]];
    CHECK_STR(nl_trace_name(t, t->nvtx.domain[witness]), effect == DOMAIN ? "it" : "domain 3");
    CHECK_STR(nl_trace_name(t, t->nvtx.category[witness]),
              effect == CATEGORY ? "it" : "category 4");
    struct nl_str thread = nl_trace_name(t, t->thread.name[t->lane.thread[lane]]);
    CHECK(nl_str_is(thread, "it") == (effect == THREAD));
    CHECK_INT(nsysmake_coverage(t, "NVTX rows of an unknown type"), effect == OTHER ? 1 : -1);
    bool is_row = effect == PUSHED || effect == STARTED || effect == MARK;
    CHECK_INT(t->nvtx.rows, is_row ? 2 : 1);
    if (it == NL_NULL_ROW)
        return;
    uint32_t slice = t->nvtx.slice[it];
    CHECK_INT(t->nvtx.style[it], effect == PUSHED    ? NL_RANGE_PUSH_POP
                                 : effect == STARTED ? NL_RANGE_START_END
                                                     : NL_RANGE_MARK);
    CHECK_INT(t->slice.dur[slice], effect == MARK ? 0 : 4);
    CHECK_INT(t->slice.flags[slice], effect == MARK ? NL_SLICE_INSTANT : 0);
    CHECK_INT(t->lane.kind[t->slice.lane[slice]], effect == STARTED ? NL_LANE_ASYNC : NL_LANE_NVTX);
}

static void event(const struct event_type *type, int more)
{
    static const char table[] = "ENUM_NSYS_EVENT_TYPE";
    struct nl_buf sql;
    begin(&sql, table, more);
    for (size_t i = 0; i < CHECK_LENGTH(event_types); i++)
        name_it(&sql, table, more, event_types[i].number, event_types[i].symbol);
    nl_buf_format(&sql,
                  "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER,"
                  " text TEXT, globalTid INTEGER, domainId INTEGER, category INTEGER);"
                  "INSERT INTO NVTX_EVENTS VALUES(1,5,%d,'it'," T5 ",3,4),"
                  "(10,20,%d,'witness'," T5 ",3,4);",
                  type->number + more, 59 + more);
    struct nl_trace *t = load_sql(&sql);
    REQUIRE(t);
    check_event(t, type->effect);
    nl_trace_free(t);
}

static void event_rows(void)
{
    for (size_t i = 0; i < CHECK_LENGTH(event_types); i++) {
        check_case(event_types[i].symbol);
        event(&event_types[i], 0);
        event(&event_types[i], 30);
    }
}

/* ---- Overhead ---- */

static const struct {
    const char *symbol, *shown;
} overheads[] = {{"OVERHEAD_UNDEFINED", "Undefined"},
                 {"OVERHEAD_UNKNOWN", "Unknown"},
                 {"OVERHEAD_DRIVER_COMPILER", "Driver JIT compiler (CUDA)"},
                 {"OVERHEAD_CUPTI_BUFFER_FLUSH", "Buffer flush (Profiler)"},
                 {"OVERHEAD_CUPTI_INSTRUMENTATION", "Instrumentation (Profiler)"},
                 {"OVERHEAD_CUPTI_RESOURCE", "Resource creation/destruction (Profiler)"},
                 {"OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING", "Runtime module loading (CUDA)"},
                 {"OVERHEAD_LAZY_FUNCTION_LOADING", "Lazy function loading (CUDA)"},
                 {"OVERHEAD_COMMAND_BUFFER_FULL", "Command buffer full (CUDA)"}};

static void kinds_of_overhead(int more)
{
    static const char table[] = "ENUM_CUPTI_OVERHEAD_TYPE";
    int count = (int)CHECK_LENGTH(overheads);
    struct nl_buf sql;
    begin(&sql, table, more);
    nl_buf_text(&sql, "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start INTEGER, end INTEGER,"
                      " globalTid INTEGER, overheadType INTEGER);");
    for (int i = 0; i <= count; i++) {
        name_it(&sql, table, more, i, i < count ? overheads[i].symbol : "OVERHEAD_NEW");
        nl_buf_format(&sql, "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES(%d,%d," T5 ",%d);",
                      10 * i, 10 * i + 5, i + more);
    }
    struct nl_trace *t = load_sql(&sql);
    REQUIRE(t && t->slice.rows == (uint32_t)count + 1);
    for (int i = 0; i <= count; i++) {
        struct nl_str name = nl_trace_name(t, t->slice.name[i]);
        check_case(i < count ? overheads[i].symbol : "of a newer version");
        CHECK_INT(t->slice.kind[i], NL_KIND_OVERHEAD);
        CHECK_STR(name, i < count ? overheads[i].shown : more ? "OVERHEAD_NEW" : "");
    }
    nl_trace_free(t);
}

/* ---- Memory ---- */

static void operations_on_memory(int more)
{
    static const char table[] = "ENUM_CUDA_DEV_MEM_EVENT_OPER";
    static const char *const symbols[] = {"CUDA_DEV_MEM_EVENT_OPR_ALLOCATION",
                                          "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION",
                                          "CUDA_DEV_MEM_EVENT_OPR_NEW"};
    static const int64_t bytes[] = {512, -512, 512};
    static const char *const kinds[] = {"Pageable",       "Pinned",  "Device",
                                        "Array",          "Managed", "Device Static",
                                        "Managed Static", "Unknown", ""};
    struct nl_buf sql;
    begin(&sql, table, more);
    nl_buf_text(&sql, "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start INTEGER, globalPid INTEGER,"
                      " deviceId INTEGER, address INTEGER, bytes INTEGER, memKind INTEGER,"
                      " memoryOperationType INTEGER);");
    for (int i = 0; i < 3; i++)
        name_it(&sql, table, more, i, symbols[i]);
    for (int i = 0; i < 9; i++)
        nl_buf_format(&sql,
                      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES(%d," P5 ",0,4096,512,%d,"
                      "%d);",
                      10 * i, i, i % 3 + more);
    struct nl_trace *t = load_sql(&sql);
    REQUIRE(t && t->memory.rows == 9);
    for (int i = 0; i < 9; i++) {
        check_case(symbols[i % 3]);
        CHECK_INT(t->memory.bytes[i], bytes[i % 3]);
        CHECK_STR(nl_trace_name(t, t->memory.kind[i]), kinds[i]);
    }
    nl_trace_free(t);
}

/* ---- Contexts: restored at 10, the tag at 20, saved at 30 ---- */

static const struct tag {
    const char *symbol;
    int64_t first, second; /* how long it has the GPU from 10 and from 20 on; 0: it has not */
    int64_t stages, odd, no_time;
    bool reset;
} tags[] = {{"SOF", 20, 0, 1, -1, -1, false},
            {"REQ_BY_HOST", 20, 0, 1, -1, -1, false},
            {"FE_ACK", 20, 0, 1, -1, -1, false},
            {"FE_ACK_WFI", 20, 0, 1, -1, -1, false},
            {"FE_ACK_GFXP", 20, 0, 1, -1, -1, false},
            {"FE_ACK_CTAP", 20, 0, 1, -1, -1, false},
            {"FE_ACK_CILP", 20, 0, 1, -1, -1, false},
            {"SAVE_END", 10, 0, -1, 1, -1, false},
            {"RESTORE_START", 10, 10, -1, 1, -1, false},
            {"CONTEXT_START", 20, 0, -1, -1, -1, false},
            {"INVALID_TIMESTAMP", 20, 0, -1, -1, 1, false},
            {"ENGINE_RESET", 10, 0, -1, 1, -1, true},
            {"NEW", 20, 0, 1, -1, -1, false}};

static void tag_of_context(int number, int more)
{
    static const char table[] = "ENUM_GPU_CTX_SWITCH";
    const struct tag *tag = &tags[number];
    int64_t first = 0, second = 0;
    bool reset = false;
    struct nl_buf sql;
    begin(&sql, table, more);
    for (size_t i = 0; i < CHECK_LENGTH(tags); i++)
        name_it(&sql, table, more, (int)i, tags[i].symbol);
    nl_buf_format(&sql,
                  "CREATE TABLE GPU_CONTEXT_SWITCH_EVENTS(tag INTEGER, seqNo INTEGER,"
                  " contextId INTEGER, timestamp INTEGER, globalPid INTEGER, gpuId INTEGER);"
                  "INSERT INTO GPU_CONTEXT_SWITCH_EVENTS VALUES(%d,1,4,10," P5 ",3),"
                  "(%d,2,4,20," P5 ",3),(%d,3,4,30," P5 ",3);",
                  8 + more, number + more, 7 + more);
    struct nl_trace *t = load_sql(&sql);
    REQUIRE(t);
    for (uint32_t i = 0; i < t->slice.rows; i++) {
        if (t->slice.kind[i] == NL_KIND_MARK)
            reset = t->slice.ts[i] == 20;
        else
            *(t->slice.ts[i] == 10 ? &first : &second) += t->slice.dur[i];
    }
    check_case(tag->symbol);
    CHECK_INT(first, tag->first);
    CHECK_INT(second, tag->second);
    CHECK_INT(reset, tag->reset);
    CHECK_INT(nsysmake_coverage(t, "GPU context switches without"), tag->odd);
    CHECK_INT(nsysmake_coverage(t, "stages of GPU context switches"), tag->stages);
    CHECK_INT(nsysmake_coverage(t, "events with impossible times"), tag->no_time);
    nl_trace_free(t);
}

/* ---- States of threads that are switched out ---- */

static void states_of_threads(void)
{
    static const struct {
        const char *name;
        uint8_t flags;
    } states[] = {{"Unknown", 0},
                  {"Running", NL_SLICE_READY},
                  {"Interruptible", NL_SLICE_WAITS},
                  {"Uninterruptible", NL_SLICE_WAITS},
                  {"Stopped", 0},
                  {"Terminated", 0},
                  {"Unscheduled", 0},
                  {"Waiting", NL_SLICE_WAITS},
                  {"OSRuntime", 0},
                  {"Initialized", 0},
                  {"Transition", 0}};
    struct nl_buf sql;
    begin(&sql, "", 0);
    nl_buf_text(&sql, "CREATE TABLE SCHED_EVENTS(start INTEGER, cpu INTEGER, isSchedIn INTEGER,"
                      " globalTid INTEGER, threadState INTEGER);");
    for (int i = 0; i < (int)CHECK_LENGTH(states); i++)
        nl_buf_format(&sql, "INSERT INTO SCHED_EVENTS VALUES(%d,2,1," T5 ",0),(%d,2,0," T5 ",%d);",
                      10 * i, 10 * i + 5, i);
    struct nl_trace *t = load_sql(&sql);
    REQUIRE(t && t->slice.rows == CHECK_LENGTH(states));
    for (size_t i = 0; i < CHECK_LENGTH(states); i++) {
        check_case(states[i].name);
        CHECK_INT(t->slice.kind[i], NL_KIND_SCHED);
        CHECK_INT(t->slice.dur[i], 5);
        CHECK_INT(t->slice.flags[i], states[i].flags);
    }
    nl_trace_free(t);
}

static void others(void)
{
    for (int more = 0; more <= 20; more += 20) {
        kinds_of_overhead(more);
        operations_on_memory(more);
        for (int i = 0; i < (int)CHECK_LENGTH(tags); i++)
            tag_of_context(i, more);
    }
}

/* A file's own label stands in the name of a copy, up to 127 characters of that. */
static void long_labels(void)
{
    for (int length = 112; length <= 115; length++) {
        struct nl_buf sql;
        char label[120] = "", shown[140];
        memset(label, 'x', (size_t)length);
        begin(&sql, "ENUM_CUDA_MEMCPY_OPER", 1);
        nl_buf_format(&sql,
                      "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES(1,'CUDA_MEMCPY_KIND_HTOD','%s');"
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, \"end\", deviceId, contextId,"
                      " streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(0,5,0,1,7,1," P5
                      ",4096,1,1,2);",
                      label);
        struct nl_trace *t = load_sql(&sql);
        REQUIRE(t && t->copy.rows == 1);
        snprintf(shown, sizeof shown, length <= 113 ? "[CUDA memcpy %s]" : "%s", label);
        CHECK_STR(nl_trace_name(t, t->slice.name[t->copy.slice[0]]), shown);
        CHECK_INT(t->copy.kind[0], NL_COPY_HTOD);
        nl_trace_free(t);
    }
}

/* Numbers are kept up to 254; 255 and more have no name. */
static void numbers_at_the_limit(void)
{
    static const struct {
        int number;
        const char *shown;
    } limits[] = {{254, "Buffer flush (Profiler)"}, {255, ""}, {256, ""}, {-1, ""}};
    for (size_t i = 0; i < CHECK_LENGTH(limits); i++) {
        struct nl_buf sql;
        begin(&sql, "ENUM_CUPTI_OVERHEAD_TYPE", 1);
        nl_buf_format(&sql,
                      "INSERT INTO ENUM_CUPTI_OVERHEAD_TYPE VALUES(%d,"
                      "'OVERHEAD_CUPTI_BUFFER_FLUSH',NULL);"
                      "CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD(start INTEGER, end INTEGER,"
                      " globalTid INTEGER, overheadType INTEGER);"
                      "INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES(1,5," T5 ",%d);",
                      limits[i].number, limits[i].number);
        struct nl_trace *t = load_sql(&sql);
        REQUIRE(t && t->slice.rows == 1);
        CHECK_STR(nl_trace_name(t, t->slice.name[0]), limits[i].shown);
        nl_trace_free(t);
    }
}

CHECK_MAIN("nsysenums", {"types of NVTX rows", event_rows}, {"overhead, memory, contexts", others},
           {"states of threads", states_of_threads}, {"long labels", long_labels},
           {"numbers at the limit", numbers_at_the_limit})
