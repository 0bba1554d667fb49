/*
 * Rows of the tables that nsys exports are read by: kinds of copies, memories, waits and overhead
 * by their numbers and by the names that a file gives other numbers to; types of NVTX payloads. The
 * lists here are of their own: from CUPTI's and NVTX's headers.
 */
#include "check.h"
#include "nsysmake.h"

#define P5 "83886080"
#define T5 "83886085"

#define COPIES                                                                                     \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, \"end\", deviceId, contextId, streamId,"       \
    " correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
#define WAITS                                                                                      \
    "CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, \"end\", deviceId, contextId,"        \
    " streamId, correlationId, globalPid, syncType);"

static struct nl_trace *load_sql(const char *sql)
{
    struct nl_err err;
    const char *path = nsysmake("tables.sqlite", sql);
    struct nl_trace *trace = nsysmake_load(path, DBFILE_FASTEST, 2, &err);
    if (!trace)
        printf("    %s\n", err.text);
    return trace;
}

static const struct row {
    const char *symbol, *shown; /* shown: in the name of the slice */
    uint8_t value;
} copies[] = {{"UNKNOWN", "Unknown", NL_COPY_UNKNOWN},
              {"HTOD", "Host-to-Device", NL_COPY_HTOD},
              {"DTOH", "Device-to-Host", NL_COPY_DTOH},
              {"HTOA", "Host-to-Array", NL_COPY_HTOA},
              {"ATOH", "Array-to-Host", NL_COPY_ATOH},
              {"ATOA", "Array-to-Array", NL_COPY_ATOA},
              {"ATOD", "Array-to-Device", NL_COPY_ATOD},
              {"DTOA", "Device-to-Array", NL_COPY_DTOA},
              {"DTOD", "Device-to-Device", NL_COPY_DTOD},
              {"HTOH", "Host-to-Host", NL_COPY_HTOH},
              {"PTOP", "Peer-to-Peer", NL_COPY_PTOP},
              {"UVM_HTOD", "Unified Host-to-Device", NL_COPY_UVM_HTOD},
              {"UVM_DTOH", "Unified Device-to-Host", NL_COPY_UVM_DTOH},
              {"UVM_DTOD", "Unified Device-to-Device", NL_COPY_UVM_DTOD},
              {NULL, "", NL_COPY_UNKNOWN}},
  memories[] = {{"PAGEABLE", "", NL_MEMORY_PAGEABLE},
                {"PINNED", "", NL_MEMORY_PINNED},
                {"DEVICE", "", NL_MEMORY_DEVICE},
                {"ARRAY", "", NL_MEMORY_ARRAY},
                {"MANAGED", "", NL_MEMORY_MANAGED},
                {"DEVICE_STATIC", "", NL_MEMORY_DEVICE_STATIC},
                {"MANAGED_STATIC", "", NL_MEMORY_MANAGED_STATIC},
                {"UNKNOWN", "", NL_MEMORY_UNKNOWN},
                {NULL, "", NL_MEMORY_UNKNOWN}},
  waits[] = {{"UNKNOWN", "Unknown", NL_SYNC_UNKNOWN},
             {"EVENT_SYNCHRONIZE", "Event sync", NL_SYNC_EVENT},
             {"STREAM_WAIT_EVENT", "Stream wait sync", NL_SYNC_STREAM_WAIT_EVENT},
             {"STREAM_SYNCHRONIZE", "Stream sync", NL_SYNC_STREAM},
             {"CONTEXT_SYNCHRONIZE", "Context sync", NL_SYNC_CONTEXT},
             {NULL, "", NL_SYNC_UNKNOWN}};

/* A table of names in which every number is `more` larger than the driver's. */
static void name_them(struct nl_buf *sql, const char *table, const char *prefix,
                      const struct row *rows, int more)
{
    nl_buf_format(sql, "CREATE TABLE %s(id INTEGER PRIMARY KEY, name, label);", table);
    for (int i = 0; rows[i].symbol; i++)
        nl_buf_format(sql, "INSERT INTO %s VALUES(%d,'%s%s','%s');", table, i + more, prefix,
                      rows[i].symbol, rows[i].shown);
}

static void kinds_of_copies(int more)
{
    struct nl_buf sql;
    nl_buf_init(&sql, 1 << 20);
    nl_buf_text(&sql, COPIES);
    for (int i = 0; i < 15; i++)
        nl_buf_format(&sql,
                      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(%d,%d,0,1,7,%d," P5
                      ",4096,%d,%d,%d);",
                      10 * i, 10 * i + 5, i, i + more, i % 9 + more, (i + 4) % 9 + more);
    if (more) {
        name_them(&sql, "ENUM_CUDA_MEMCPY_OPER", "CUDA_MEMCPY_KIND_", copies, more);
        name_them(&sql, "ENUM_CUDA_MEM_KIND", "CUDA_MEMOPR_MEMORY_KIND_", memories, more);
    }
    nl_buf_char(&sql, '\0');
    struct nl_trace *t = load_sql(sql.ptr);
    nl_buf_release(&sql);
    REQUIRE(t && t->copy.rows == 15);
    for (int i = 0; i < 15; i++) {
        char shown[64];
        check_case(copies[i].symbol ? copies[i].symbol : "a number that nobody knows");
        CHECK_INT(t->copy.kind[i], copies[i].value);
        CHECK_INT(t->copy.src_memory[i], memories[i % 9].value);
        CHECK_INT(t->copy.dst_memory[i], memories[(i + 4) % 9].value);
        snprintf(shown, sizeof shown, "[CUDA memcpy %s]", copies[i].shown);
        if (copies[i].symbol)
            CHECK_STR(nl_trace_name(t, t->slice.name[t->copy.slice[i]]), shown);
    }
    nl_trace_free(t);
}

static void kinds_of_waits(int more)
{
    struct nl_buf sql;
    nl_buf_init(&sql, 1 << 20);
    nl_buf_text(&sql, WAITS);
    for (int i = 0; i < 6; i++)
        nl_buf_format(&sql,
                      "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(%d,%d,0,1,7,%d," P5
                      ",%d);",
                      10 * i, 10 * i + 5, i, i + more);
    if (more)
        name_them(&sql, "ENUM_CUPTI_SYNC_TYPE", "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_", waits,
                  more);
    nl_buf_char(&sql, '\0');
    struct nl_trace *t = load_sql(sql.ptr);
    nl_buf_release(&sql);
    REQUIRE(t && t->sync.rows == 6);
    for (int i = 0; i < 6; i++) {
        check_case(waits[i].symbol ? waits[i].symbol : "a number that nobody knows");
        CHECK_INT(t->sync.kind[i], waits[i].value);
        if (waits[i].symbol)
            CHECK_STR(nl_trace_name(t, t->slice.name[t->sync.slice[i]]), waits[i].shown);
    }
    nl_trace_free(t);
}

static void kinds(void)
{
    kinds_of_copies(0);
    kinds_of_copies(40);
    kinds_of_waits(0);
    kinds_of_waits(40);
}

/* Bytes 81 82 83 84 85 86 87 3f, as each type that is a number reads them. */
static void types_of_payloads(void)
{
    static const unsigned char bytes[] = {0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x3f};
    static const struct {
        int type, bits; /* bits: 0 no number */
        char kind;      /* signed, unsigned, floating point */
    } types[] = {{1, 8, 's'},   {2, 8, 'u'},   {3, 16, 's'},  {4, 16, 'u'},  {5, 32, 's'},
                 {6, 32, 'u'},  {7, 64, 's'},  {8, 64, 'u'},  {9, 64, 's'},  {10, 64, 'u'},
                 {11, 8, 's'},  {12, 8, 'u'},  {13, 16, 's'}, {14, 16, 'u'}, {15, 32, 's'},
                 {16, 32, 'u'}, {17, 64, 's'}, {18, 64, 'u'}, {19, 32, 'f'}, {20, 64, 'f'},
                 {21, 0, '-'},  {22, 64, 'u'}, {23, 64, 'u'}, {24, 0, '-'},  {0, 0, '-'}};
    struct nl_buf sql, want;
    uint64_t whole = 0;
    nl_buf_init(&sql, 1 << 20);
    nl_buf_init(&want, 1 << 20);
    nl_buf_text(&sql, "CREATE TABLE NVTX_EVENTS(start INTEGER, end INTEGER, eventType INTEGER,"
                      " text TEXT, globalTid INTEGER, domainId INTEGER, binaryData TEXT);"
                      "CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId INTEGER, schemaId INTEGER,"
                      " idx INTEGER, type INTEGER, name TEXT, offset INTEGER);"
                      "INSERT INTO NVTX_EVENTS VALUES(1,5,59,'it'," T5 ",1,"
                      "x'0100000000000000050000000000000008000000000000002800000000000000"
                      "818283848586873f');");
    for (size_t i = sizeof bytes; i-- > 0;)
        whole = whole << 8 | bytes[i];
    for (size_t i = 0; i < CHECK_LENGTH(types); i++) {
        int bits = types[i].bits;
        nl_buf_format(&sql, "INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES(1,5,%zu,%d,'t%d',0);",
                      i, types[i].type, types[i].type);
        uint64_t value = bits == 64 ? whole : whole & (((uint64_t)1 << bits) - 1);
        int64_t below = bits && bits < 64 ? (int64_t)1 << bits : 0;
        bool minus = bits && bits < 64 && value >> (bits - 1);
        if (types[i].kind == 's')
            nl_buf_format(&want, ",\"t%d\":%" PRId64, types[i].type,
                          minus ? (int64_t)value - below : (int64_t)value);
        if (types[i].kind == 'u')
            nl_buf_format(&want, ",\"t%d\":%" PRIu64, types[i].type, value);
    }
    nl_buf_char(&sql, '\0');
    nl_buf_char(&want, '\0');
    struct nl_trace *t = load_sql(sql.ptr);
    REQUIRE(t && t->nvtx.rows == 1);
    char got[2048];
    struct nl_str text = nl_trace_name(t, t->nvtx.payload[0]);
    snprintf(got, sizeof got, "%.*s", (int)text.len, text.ptr);
    /* floating point stands between t18 and t22, as the shortest digits that give it */
    char *single = strstr(got, ",\"t19\":"), *twice = strstr(got, ",\"t20\":");
    char *after = strstr(got, ",\"t22\":");
    REQUIRE(single && twice && after);
    float f;
    double d;
    memcpy(&f, bytes, sizeof f);
    memcpy(&d, bytes, sizeof d);
    CHECK_NEAR(strtod(single + 7, NULL), (double)f, fabs((double)f) * 1e-6);
    CHECK_NEAR(strtod(twice + 7, NULL), d, fabs(d) * 1e-15);
    memmove(single, after, strlen(after) + 1);
    got[strlen(got) - 1] = '\0'; /* the bracket */
    CHECK_TEXT(got + 1, want.ptr + 1);
    nl_buf_release(&sql);
    nl_buf_release(&want);
    nl_trace_free(t);
}

CHECK_MAIN("nsystables", {"kinds by number and by name", kinds},
           {"types of payloads", types_of_payloads})
