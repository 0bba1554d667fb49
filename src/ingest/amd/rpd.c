/*
 * RPD databases (rocmProfileData): rocpd_api has the calls, rocpd_op the device work, and
 * rocpd_api_ops says which call issued which; ids have 64 bits. The call's id serves as
 * correlation. The text of its type says what an operation is; launches and copies have tables of
 * their arguments, by call. Views of the database are not used: `top` folds equal rows.
 */
#include "ingest/lib/dbrows.h"
#include "store/copykind.h"

#include <stdlib.h>

enum tag {
    TAG_NONE,
    TAG_EMPTY,
    TAG_KERNEL,
    TAG_COPY,
    TAG_FILL = TAG_COPY + 32, /* TAG_COPY + kind of the copy */
    TAG_MARKER,
    TAG_ITEMS /* a launch that counts work-items */
};

static uint32_t tag_of(struct nl_str text)
{
    if (text.len == 0)
        return TAG_EMPTY;
    if (nl_str_is(text, "KernelExecution"))
        return TAG_KERNEL;
    if (nl_str_is(text, "FillBuffer"))
        return TAG_FILL;
    if (nl_str_is(text, "UserMarker"))
        return TAG_MARKER;
    if (nl_str_starts(text, "hipExt") || nl_str_starts(text, "hipHcc"))
        return TAG_ITEMS;
    if (nl_str_starts(text, "Copy"))
        return TAG_COPY + (uint32_t)nl_copykind_of_text(text);
    return TAG_NONE;
}

#define SERIES_KNOWN 64 /* a power of two */

struct launch {
    uint32_t grid[3], block[3], shared;
};

struct rpd {
    struct dbrows db;
    struct dbrows_strings strings;
    struct gpurows_map call_of;  /* operation → call */
    struct gpurows_map launches; /* call → place in `launch` */
    struct gpurows_map sizes;    /* call → bytes of a copy */
    struct gpurows_map pids;     /* call → process << 1 | counts work-items */
    struct launch *launch;
    size_t launch_count, launch_cap;
    uint64_t unknown_names, no_value;
    uint32_t roctx; /* name id */
    struct rpd_series {
        int64_t device;
        uint32_t name, series; /* name of the stage; 0 = free */
    } series[SERIES_KNOWN];    /* of the counters last met */
    int64_t pid;               /* of all calls; unknown when there are several */
    bool called;
};

/* ---- Tables that are only looked up ---- */

enum { X_API, X_OP };
static const char *const api_ops_columns[] = {[X_API] = "api_id", [X_OP] = "op_id", NULL};

static void api_ops_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    uint64_t call = dbcell_id(&cells[X_API]), op = dbcell_id(&cells[X_OP]);
    if (call != NL_NULL_U64 && op != NL_NULL_U64)
        (void)gpurows_map_put(&rpd->call_of, op, call, NULL);
}

enum { L_API, L_GRID, L_BLOCK = L_GRID + 3, L_SHARED = L_BLOCK + 3 };
static const char *const kernelapi_columns[] = {[L_API] = "api_ptr_id",
                                                [L_GRID] = "gridX",
                                                "gridY",
                                                "gridZ",
                                                [L_BLOCK] = "workgroupX",
                                                "workgroupY",
                                                "workgroupZ",
                                                [L_SHARED] = "groupSegmentSize",
                                                NULL};

static void kernelapi_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    uint64_t call = dbcell_id(&cells[L_API]);
    if (call == NL_NULL_U64)
        return;
    nl_grow(&rpd->launch, &rpd->launch_cap, rpd->launch_count + 1);
    struct launch *launch = &rpd->launch[rpd->launch_count];
    for (int i = 0; i < 3; i++) {
        launch->grid[i] = dbcell_u32(&cells[L_GRID + i]);
        launch->block[i] = dbcell_u32(&cells[L_BLOCK + i]);
    }
    launch->shared = dbcell_u32(&cells[L_SHARED]);
    (void)gpurows_map_put(&rpd->launches, call, rpd->launch_count++, NULL);
}

enum { S_API, S_SIZE };
static const char *const copyapi_columns[] = {[S_API] = "api_ptr_id", [S_SIZE] = "size", NULL};

static void copyapi_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    uint64_t call = dbcell_id(&cells[S_API]);
    if (call != NL_NULL_U64 && cells[S_SIZE].type == SQLITEPAGES_INTEGER &&
        cells[S_SIZE].integer >= 0)
        (void)gpurows_map_put(&rpd->sizes, call, (uint64_t)cells[S_SIZE].integer, NULL);
}

/* ---- Calls ---- */

enum { A_ID, A_PID, A_TID, A_START, A_END, A_NAME, A_ARGS };
static const char *const api_columns[] = {
    [A_ID] = "id",   [A_PID] = "pid",         [A_TID] = "tid",      [A_START] = "start",
    [A_END] = "end", [A_NAME] = "apiName_id", [A_ARGS] = "args_id", NULL};

/* roctx ranges come as a call with their text as arguments. */
static void marker_row(struct rpd *rpd, dbfile_cells cells, struct nl_slice_row *slice)
{
    struct gpurows *rows = &rpd->db.rows;
    struct nl_nvtx_row range = nl_nvtx_row();
    bool mark = slice->dur == 0;
    slice->kind = NL_KIND_NVTX;
    slice->name = dbrows_name(&rpd->strings, &cells[A_ARGS]);
    slice->lane = gpurows_thread(rows, NL_LANE_NVTX, dbcell_i64(&cells[A_PID]),
                                 dbcell_i64(&cells[A_TID]), rpd->roctx);
    slice->flags |= mark ? NL_SLICE_INSTANT : 0;
    range.style = mark ? NL_RANGE_MARK : NL_RANGE_PUSH_POP;
    range.domain = rpd->roctx;
    range.slice = nl_stage_slice(rows->stage, slice);
    nl_stage_nvtx(rows->stage, &range);
}

static void api_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    struct gpurows *rows = &rpd->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    uint64_t id = dbcell_id(&cells[A_ID]);
    uint32_t tag = dbrows_tag(&rpd->strings, &cells[A_NAME]);
    int64_t pid = dbcell_i64(&cells[A_PID]);
    if (!rpd->called)
        rpd->pid = pid;
    else if (rpd->pid != pid)
        rpd->pid = NL_NULL_I64;
    rpd->called = true;
    if (id != NL_NULL_U64 && pid >= 0)
        (void)gpurows_map_put(&rpd->pids, id, (uint64_t)pid << 1 | (tag == TAG_ITEMS), NULL);
    if (!gpurows_times(rows, dbcell_i64(&cells[A_START]), dbcell_i64(&cells[A_END]), &slice))
        return;
    if (tag == TAG_MARKER) {
        marker_row(rpd, cells, &slice);
        return;
    }
    struct nl_api_row api = nl_api_row();
    slice.kind = NL_KIND_API;
    slice.name = dbrows_name(&rpd->strings, &cells[A_NAME]);
    rpd->unknown_names += slice.name == NL_NO_NAME;
    slice.lane = gpurows_thread(rows, NL_LANE_THREAD, pid, dbcell_i64(&cells[A_TID]), 0);
    api.slice = nl_stage_slice(rows->stage, &slice);
    api.correlation = id;
    nl_stage_api(rows->stage, &api);
    uint32_t text = dbrows_name(&rpd->strings, &cells[A_ARGS]);
    if (text == NL_NO_NAME || dbrows_tag(&rpd->strings, &cells[A_ARGS]) == TAG_EMPTY)
        return;
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = api.slice;
    arg.text = text;
    nl_stage_arg(rows->stage, &arg);
}

/* ---- Device work ---- */

enum { O_ID, O_DEVICE, O_QUEUE, O_START, O_END, O_NAME, O_TYPE };
static const char *const op_columns[] = {
    [O_ID] = "id",   [O_DEVICE] = "gpuId",        [O_QUEUE] = "queueId",  [O_START] = "start",
    [O_END] = "end", [O_NAME] = "description_id", [O_TYPE] = "opType_id", NULL};

static void stage_kernel(struct rpd *rpd, uint32_t slice, uint64_t call, bool items)
{
    struct nl_kernel_row kernel = nl_kernel_row();
    const uint64_t *place = call == NL_NULL_U64 ? NULL : gpurows_map_find(&rpd->launches, call);
    kernel.slice = slice;
    kernel.correlation = call;
    if (place) {
        static const uint32_t one[3] = {1, 1, 1};
        const struct launch *launch = &rpd->launch[*place];
        gpurows_work_items(&kernel, launch->grid, items ? launch->block : one);
        kernel.block_x = launch->block[0];
        kernel.block_y = launch->block[1];
        kernel.block_z = launch->block[2];
        kernel.dynamic_shared_bytes = launch->shared;
    }
    nl_stage_kernel(rpd->db.rows.stage, &kernel);
}

static void stage_copy(struct rpd *rpd, uint32_t slice, uint64_t call, enum nl_copykind kind)
{
    struct nl_copy_row copy = nl_copy_row();
    const uint64_t *bytes = call == NL_NULL_U64 ? NULL : gpurows_map_find(&rpd->sizes, call);
    copy.slice = slice;
    copy.correlation = call;
    copy.kind = (uint8_t)kind;
    if (bytes)
        copy.bytes = *bytes;
    nl_stage_copy(rpd->db.rows.stage, &copy);
}

static void stage_fill(struct rpd *rpd, uint32_t slice, uint64_t call)
{
    struct nl_memset_row fill = nl_memset_row();
    fill.slice = slice;
    fill.correlation = call;
    nl_stage_memset(rpd->db.rows.stage, &fill);
}

static enum nl_kind kind_of(uint32_t tag)
{
    if (tag == TAG_KERNEL)
        return NL_KIND_KERNEL;
    if (tag == TAG_FILL)
        return NL_KIND_MEMSET;
    return tag >= TAG_COPY && tag < TAG_FILL ? NL_KIND_MEMCPY : NL_KIND_DEVICE_OTHER;
}

static void op_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    struct gpurows *rows = &rpd->db.rows;
    struct nl_slice_row slice = nl_slice_row();
    if (!gpurows_times(rows, dbcell_i64(&cells[O_START]), dbcell_i64(&cells[O_END]), &slice))
        return;
    uint64_t id = dbcell_id(&cells[O_ID]);
    const uint64_t *found = id == NL_NULL_U64 ? NULL : gpurows_map_find(&rpd->call_of, id);
    uint64_t call = found ? *found : NL_NULL_U64;
    const uint64_t *from = found ? gpurows_map_find(&rpd->pids, call) : NULL;
    uint32_t tag = dbrows_tag(&rpd->strings, &cells[O_TYPE]);
    bool named = dbrows_tag(&rpd->strings, &cells[O_NAME]) != TAG_EMPTY;
    slice.name = dbrows_name(&rpd->strings, &cells[named ? O_NAME : O_TYPE]);
    rpd->unknown_names += slice.name == NL_NO_NAME;
    slice.kind = (uint8_t)kind_of(tag);
    slice.lane =
        gpurows_stream(rows, from ? (int64_t)(*from >> 1) : rpd->pid, dbcell_i64(&cells[O_DEVICE]),
                       NL_NULL_I64, dbcell_i64(&cells[O_QUEUE]));
    uint32_t row = nl_stage_slice(rows->stage, &slice);
    if (slice.kind == NL_KIND_KERNEL)
        stage_kernel(rpd, row, call, from && (*from & 1));
    else if (slice.kind == NL_KIND_MEMCPY)
        stage_copy(rpd, row, call, (enum nl_copykind)(tag - TAG_COPY));
    else if (slice.kind == NL_KIND_MEMSET)
        stage_fill(rpd, row, call);
}

/* ---- Clocks and other values over time ---- */

static uint32_t new_series(struct rpd *rpd, int64_t device, struct nl_str name)
{
    struct gpurows *rows = &rpd->db.rows;
    struct nl_lane_key key = {.kind = NL_LANE_DEVICE,
                              .process = NL_NULL_ROW,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64};
    if (device != NL_NULL_I64)
        key.device = nl_builder_device(rows->builder, rows->source, device, device);
    return nl_builder_series(rows->builder, nl_builder_lane(rows->builder, &key), name,
                             (struct nl_str){"", 0});
}

static uint32_t series_of(struct rpd *rpd, int64_t device, struct nl_str name)
{
    uint32_t id = nl_stage_name(rpd->db.rows.stage, name);
    struct rpd_series *known = &rpd->series[(id + (uint64_t)device * 7) % SERIES_KNOWN];
    if (!id)
        return new_series(rpd, device, name);
    if (known->name != id || known->device != device)
        *known = (struct rpd_series){device, id, new_series(rpd, device, name)};
    return known->series;
}

enum { V_DEVICE_TYPE, V_DEVICE, V_NAME, V_START, V_VALUE };
static const char *const monitor_columns[] = {[V_DEVICE_TYPE] = "deviceType",
                                              [V_DEVICE] = "deviceId",
                                              [V_NAME] = "monitorType",
                                              [V_START] = "start",
                                              [V_VALUE] = "value",
                                              NULL};

static void monitor_row(void *context, dbfile_cells cells)
{
    struct rpd *rpd = context;
    struct gpurows *rows = &rpd->db.rows;
    struct nl_slice_row when = nl_slice_row();
    struct nl_counter_row counter = nl_counter_row();
    struct nl_str text = dbrows_text(&cells[V_VALUE]);
    char *end = NULL, copy[40] = "";
    if (text.len < sizeof copy)
        memcpy(copy, text.ptr, text.len);
    counter.value = strtod(copy, &end);
    int64_t start = dbcell_i64(&cells[V_START]), device = dbcell_i64(&cells[V_DEVICE]);
    if (end == copy)
        rpd->no_value++;
    if (end == copy || !gpurows_times(rows, start, start, &when))
        return;
    counter.ts = when.ts;
    counter.series = series_of(rpd, device, dbrows_text(&cells[V_NAME]));
    nl_stage_counter(rows->stage, &counter);
}

enum { M_TAG, M_VALUE };
static const char *const metadata_columns[] = {[M_TAG] = "tag", [M_VALUE] = "value", NULL};

static void metadata_row(void *context, dbfile_cells cells)
{
    static const char *const shown[] = {"schema_version", "session_count"};
    struct rpd *rpd = context;
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
        if (nl_str_is(dbrows_text(&cells[M_TAG]), shown[i]))
            nl_builder_meta(rpd->db.rows.builder, rpd->db.rows.source, shown[i],
                            dbrows_text(&cells[M_VALUE]));
}

/* ---- The load ---- */

static const char *const known[] = {
    "rocpd_string",    "rocpd_api",     "rocpd_op",       "rocpd_api_ops",          "rocpd_copyapi",
    "rocpd_kernelapi", "rocpd_monitor", "rocpd_metadata", "rocpd_kernelcodeobject", NULL};

static void load_tables(struct rpd *rpd)
{
    struct dbrows *db = &rpd->db;
    rpd->strings.tag = tag_of;
    dbrows_strings_load(db, &rpd->strings, "rocpd_string", "id", "string");
    (void)dbrows_each(db, "rocpd_metadata", metadata_columns, metadata_row, rpd);
    (void)dbrows_each(db, "rocpd_api_ops", api_ops_columns, api_ops_row, rpd);
    (void)dbrows_each(db, "rocpd_kernelapi", kernelapi_columns, kernelapi_row, rpd);
    (void)dbrows_each(db, "rocpd_copyapi", copyapi_columns, copyapi_row, rpd);
    (void)dbrows_each(db, "rocpd_api", api_columns, api_row, rpd);
    (void)dbrows_each(db, "rocpd_op", op_columns, op_row, rpd);
    (void)dbrows_each(db, "rocpd_monitor", monitor_columns, monitor_row, rpd);
    dbrows_tell_others(db, "rocpd_", known);
    dbrows_tell_others(db, "ext_", known);
    if (rpd->no_value > 0)
        nl_builder_coverage(db->rows.builder, db->rows.source, "counters without a value",
                            (int64_t)rpd->no_value, "the text is not a number");
    if (rpd->unknown_names > 0)
        nl_builder_coverage(db->rows.builder, db->rows.source, "names not in the table of strings",
                            (int64_t)rpd->unknown_names, NULL);
}

static bool rpd_load(struct nl_reading *reading, struct nl_err *err)
{
    struct rpd *rpd = nl_zalloc(sizeof *rpd);
    bool done = dbrows_open(&rpd->db, reading, err);
    if (done) {
        nl_builder_clock(reading->builder, reading->source, "boot", NL_NULL_I64);
        nl_builder_tool(reading->builder, reading->source, nl_str("rocmProfileData"));
        rpd->pid = NL_NULL_I64;
        rpd->roctx = nl_builder_name(reading->builder, nl_str("roctx"));
        load_tables(rpd);
        done = dbrows_close(&rpd->db, err);
    }
    gpurows_map_release(&rpd->strings.map);
    gpurows_map_release(&rpd->call_of);
    gpurows_map_release(&rpd->launches);
    gpurows_map_release(&rpd->sizes);
    gpurows_map_release(&rpd->pids);
    nl_free(rpd->launch);
    nl_free(rpd);
    return done;
}

static int rpd_sniff(const struct nl_input *input, const char **why)
{
    static const char *const marks[] = {"rocpd_string", "rocpd_api", "rocpd_op"};
    (void)why;
    return dbrows_marks(input, marks, 3) == 3 ? 92 : 0;
}

const struct nl_format nl_format_rpd = {.name = "rpd",
                                        .title = "ROCm profile database (RPD)",
                                        .sniff = rpd_sniff,
                                        .load = rpd_load,
                                        .reach = NL_REACH_COPIES,
                                        .doc = "formats/rocpd.md"};
