/*
 * NCCL flight recorder dumps of PyTorch: what each rank had enqueued when it hung or died.
 *
 * An entry is a collective or a send/receive. It becomes a slice on the lane of its process group,
 * from its creation to its completion as the watchdog saw it; what had not completed lasts to the
 * end of the trace, with the flag that says so. All keys but the name are optional: they came and
 * went with versions 1 to 2.10.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/units.h"
#include "ingest/flightrec.h"

struct dump {
    struct pickle *pickle;
    struct nl_builder *builder;
    struct nl_stage *stage;
    struct nl_job *job;
    uint32_t source, process;
    struct pickle_value groups;
    int64_t entries, pending, untimed, odd;
    struct nl_buf text;
    uint32_t lane; /* of the group last seen */
    struct nl_str lane_group;
};

static const char *const marks[] = {"pg_config",       "pg_status",         "nccl_version",
                                    "profiling_name",  "collective_seq_id", "time_created_ns",
                                    "comm_lib_version"};

/* The JSON variant has the same keys (dump_nccl_trace_json). */
static bool is_json(const unsigned char *bytes, size_t len)
{
    size_t at = 0;
    while (at < len && strchr(" \t\r\n", bytes[at]) && bytes[at])
        at++;
    return at < len && bytes[at] == '{';
}

/* Kineto traces say "pg_config" too, of the job they are from. */
static bool is_dump(struct nl_str head)
{
    bool entries = nl_str_contains(head, "\"profiling_name\"") ||
                   (nl_str_contains(head, "\"pg_status\"") && nl_str_contains(head, "\"entries\""));
    return entries && !nl_str_contains(head, "\"traceEvents\"") &&
           !nl_str_contains(head, "\"schemaVersion\"");
}

static int sniff(const struct nl_input *input, const char **why)
{
    struct nl_str head = {(const char *)input->head, input->head_len};
    bool json = is_json(input->head, input->head_len);
    bool pickle = input->head_len >= 4 && input->head[0] == 0x80 && input->head[1] >= 2 &&
                  input->head[1] <= 5;
    unsigned found = 0;
    if (!json && !pickle)
        return 0;
    if (json && !is_dump(head))
        return 0;
    for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++)
        found += nl_str_contains(head, marks[i]);
    if (found >= 2)
        return 95;
    *why = "a pickle of something else";
    return 0;
}

static struct pickle_value get(const struct dump *dump, struct pickle_value dict, const char *key)
{
    return pickle_get(dump->pickle, dict, key);
}

static struct nl_str text_of(const struct dump *dump, struct pickle_value dict, const char *key)
{
    return pickle_text(dump->pickle, get(dump, dict, key));
}

static int64_t i64_of(const struct dump *dump, struct pickle_value dict, const char *key)
{
    return pickle_i64(dump->pickle, get(dump, dict, key));
}

static unsigned element_bytes(struct nl_str dtype)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } sizes[] = {{"Float8", 1},      {"Float4", 0},        {"Float", 4},  {"BFloat16", 2},
                 {"Half", 2},        {"Double", 8},        {"Long", 8},   {"Int", 4},
                 {"Short", 2},       {"Char", 1},          {"Byte", 1},   {"Bool", 1},
                 {"UInt16", 2},      {"UInt32", 4},        {"UInt64", 8}, {"ComplexFloat", 8},
                 {"ComplexHalf", 4}, {"ComplexDouble", 16}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (nl_str_starts(dtype, sizes[i].name))
            return sizes[i].bytes;
    return 0;
}

/* The product of a shape's extents; false when it is unknown or beyond all memory. */
static bool elements_of(const struct dump *dump, struct pickle_value shape, uint64_t *elements)
{
    uint32_t count = pickle_count(dump->pickle, shape);
    *elements = 1;
    if (!pickle_spend(dump->pickle, count + (uint64_t)1))
        return false;
    for (uint32_t d = 0; d < count; d++) {
        int64_t extent = pickle_i64(dump->pickle, pickle_item(dump->pickle, shape, d));
        if (extent < 0 || __builtin_mul_overflow(*elements, (uint64_t)extent, elements))
            return false;
    }
    return *elements < UINT64_MAX / 64;
}

/* Elements and bytes of a list of shapes with their types: the larger side's bytes stay. Unknown
 * where one of them is. */
static void add_up(const struct dump *dump, struct pickle_value shapes, struct pickle_value dtypes,
                   uint64_t *elements, uint64_t *bytes)
{
    const struct pickle *p = dump->pickle;
    uint64_t all = 0, size = 0, part;
    bool sized = true;
    for (uint32_t i = 0; i < pickle_count(p, shapes); i++) {
        unsigned element = element_bytes(pickle_text(p, pickle_item(p, dtypes, i)));
        if (!elements_of(dump, pickle_item(p, shapes, i), &part) || all > UINT64_MAX / 64)
            return;
        all += part;
        size += part * element;
        sized = sized && element;
    }
    if (!pickle_count(p, shapes))
        return;
    *elements = all;
    if (sized && (*bytes == NL_NULL_U64 || size > *bytes))
        *bytes = size;
}

/* Ranks in "[0, 1, 12]". */
static uint32_t count_ranks(struct nl_str text)
{
    uint32_t count = 0;
    bool digits = false;
    for (size_t i = 0; i < text.len; i++) {
        bool digit = isdigit((unsigned char)text.ptr[i]);
        count += digit && !digits;
        digits = digit;
    }
    return count ? count : NL_NULL_U32;
}

/* "nccl:send 0->3" → operation "send", peer 3. */
static void name_operation(struct dump *dump, struct nl_str name, struct nl_collective_row *row)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    size_t at = colon ? (size_t)(colon - name.ptr) + 1 : 0, end = at;
    while (end < name.len && name.ptr[end] != ' ')
        end++;
    row->operation = nl_stage_name(dump->stage, (struct nl_str){name.ptr + at, end - at});
    for (size_t i = end; i + 2 < name.len; i++) { /* "send 0->3", "recv 0<-3": itself, the peer */
        int64_t peer;
        bool arrow = (name.ptr[i] == '-' && name.ptr[i + 1] == '>') ||
                     (name.ptr[i] == '<' && name.ptr[i + 1] == '-');
        if (arrow && nl_parse_i64((struct nl_str){name.ptr + i + 2, name.len - i - 2}, &peer))
            row->peer = peer;
    }
}

struct group {
    struct nl_str name, description, ranks;
};

/* The group of an entry: ('43', 'PIPELINE…') since 2.0, a name or nothing before. */
static struct group group_of(const struct dump *dump, struct pickle_value entry)
{
    const struct pickle *p = dump->pickle;
    struct group group = {{"", 0}, {"", 0}, {"", 0}};
    struct pickle_value value = get(dump, entry, "process_group");
    if (pickle_type(value) == PICKLE_TEXT) {
        group.name = pickle_text(p, value);
    } else {
        group.name = pickle_text(p, pickle_item(p, value, 0));
        group.description = pickle_text(p, pickle_item(p, value, 1));
    }
    for (uint32_t i = 0; i < pickle_count(p, dump->groups) && i < 4096; i++)
        if (group.name.len &&
            nl_str_eq(pickle_text(p, pickle_key(p, dump->groups, i)), group.name)) {
            struct pickle_value config = pickle_item(p, dump->groups, i);
            group.ranks = text_of(dump, config, "ranks");
            if (!group.description.len)
                group.description = text_of(dump, config, "desc");
        }
    return group;
}

static uint32_t lane_of(struct dump *dump, const struct group *group)
{
    if (dump->lane != NL_NULL_ROW && nl_str_eq(group->name, dump->lane_group))
        return dump->lane;
    char title[200];
    int len = snprintf(title, sizeof title, "group %.*s %.*s",
                       (int)(group->name.len < 80 ? group->name.len : 80), group->name.ptr,
                       (int)(group->description.len < 100 ? group->description.len : 100),
                       group->description.ptr);
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = dump->process,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64,
                              .domain = nl_builder_name(dump->builder, group->name)};
    dump->lane = nl_builder_lane(dump->builder, &key);
    dump->lane_group = group->name;
    nl_builder_lane_name(dump->builder, dump->lane, (struct nl_str){title, (size_t)len});
    return dump->lane;
}

static void json_value(struct dump *dump, struct nl_json *json, const char *key,
                       struct pickle_value value)
{
    if (pickle_type(value) == PICKLE_NONE)
        return;
    int64_t number = pickle_i64(dump->pickle, value);
    nl_json_key(json, key);
    if (pickle_type(value) == PICKLE_BOOL)
        nl_json_bool(json, pickle_bool(value));
    else if (number != NL_NULL_I64)
        nl_json_i64(json, number);
    else if (pickle_type(value) == PICKLE_TEXT)
        nl_json_str(json, pickle_text(dump->pickle, value));
    else
        nl_json_f64(json, pickle_f64(dump->pickle, value));
}

/* What no column takes, as JSON: the state above all. */
static void keep_rest(struct dump *dump, uint32_t slice, struct pickle_value entry,
                      const struct group *group)
{
    static const char *const keys[] = {
        "record_id",   "pg_id",       "state",    "collective_seq_id", "seq_id",
        "p2p_seq_id",  "op_id",       "is_p2p",   "retired",           "timeout_ms",
        "duration_ms", "thread_name", "thread_id"};
    struct nl_json json;
    nl_buf_clear(&dump->text);
    nl_json_to_buf(&json, &dump->text, 0);
    nl_json_open(&json, '{');
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        json_value(dump, &json, keys[i], get(dump, entry, keys[i]));
    if (group->description.len) {
        nl_json_key(&json, "description");
        nl_json_str(&json, group->description);
    }
    struct pickle_value sizes = get(dump, entry, "input_sizes");
    nl_json_key(&json, "input_sizes");
    nl_json_open(&json, '[');
    for (uint32_t i = 0; i < pickle_count(dump->pickle, sizes) && i < 64; i++) {
        struct pickle_value shape = pickle_item(dump->pickle, sizes, i);
        nl_json_open(&json, '[');
        for (uint32_t d = 0; d < pickle_count(dump->pickle, shape) && d < 16; d++)
            nl_json_i64(&json, pickle_i64(dump->pickle, pickle_item(dump->pickle, shape, d)));
        nl_json_close(&json, ']');
    }
    nl_json_close(&json, ']');
    nl_json_close(&json, '}');
    if (dump->text.overflow)
        return;
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = slice;
    arg.text = nl_stage_name(dump->stage, (struct nl_str){dump->text.ptr, dump->text.len});
    nl_stage_arg(dump->stage, &arg);
}

/* Start, length and flags. False when the entry has no time at all. */
static bool set_times(struct dump *dump, struct pickle_value entry, struct nl_slice_row *slice)
{
    int64_t created = i64_of(dump, entry, "time_created_ns");
    int64_t completed = i64_of(dump, entry, "time_discovered_completed_ns");
    bool done = nl_str_is(text_of(dump, entry, "state"), "completed") ||
                pickle_bool(get(dump, entry, "retired"));
    if (created < 0 || created >= INT64_MAX / 2)
        return false;
    slice->ts = created;
    if (completed > created) {
        slice->dur = completed - created;
    } else if (done) { /* over, but when was not recorded */
        slice->dur = 0;
        slice->flags |= NL_SLICE_INSTANT;
        dump->untimed++;
    } else {
        slice->dur = NL_NULL_I64;
        dump->pending++;
    }
    return true;
}

static void take_entry(struct dump *dump, struct pickle_value entry)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_collective_row row = nl_collective_row();
    struct group group = group_of(dump, entry);
    struct nl_str name = text_of(dump, entry, "profiling_name");
    if (pickle_type(entry) != PICKLE_DICT || !set_times(dump, entry, &slice)) {
        dump->odd++;
        return;
    }
    slice.kind = NL_KIND_COLLECTIVE;
    slice.name = nl_stage_name(dump->stage, name);
    slice.lane = lane_of(dump, &group);
    row.slice = nl_stage_slice(dump->stage, &slice);
    name_operation(dump, name, &row);
    struct pickle_value in = get(dump, entry, "input_dtypes");
    struct pickle_value out = get(dump, entry, "output_dtypes");
    add_up(dump, get(dump, entry, "input_sizes"), in, &row.in_elements, &row.bytes);
    add_up(dump, get(dump, entry, "output_sizes"), out, &row.out_elements, &row.bytes);
    struct nl_str dtype = pickle_text(dump->pickle, pickle_item(dump->pickle, in, 0));
    if (dtype.len)
        row.dtype = nl_stage_name(dump->stage, dtype);
    if (group.name.len)
        row.group_name = nl_stage_name(dump->stage, group.name);
    if (group.ranks.len)
        row.group_ranks = nl_stage_name(dump->stage, group.ranks);
    row.ranks = count_ranks(group.ranks);
    bool p2p = pickle_bool(get(dump, entry, "is_p2p"));
    row.sequence = i64_of(dump, entry, p2p ? "p2p_seq_id" : "collective_seq_id");
    if (row.sequence == NL_NULL_I64)
        row.sequence = i64_of(dump, entry, "seq_id");
    nl_stage_collective(dump->stage, &row);
    keep_rest(dump, row.slice, entry, &group);
    dump->entries++;
}

static void tell_groups(struct dump *dump)
{
    const struct pickle *p = dump->pickle;
    for (uint32_t i = 0; i < pickle_count(p, dump->groups) && i < 4096; i++) {
        char key[100], value[1200];
        struct pickle_value config = pickle_item(p, dump->groups, i);
        struct nl_str name = pickle_text(p, pickle_key(p, dump->groups, i));
        struct nl_str description = text_of(dump, config, "desc");
        struct nl_str ranks = text_of(dump, config, "ranks");
        snprintf(key, sizeof key, "process group %.*s", (int)(name.len < 60 ? name.len : 60),
                 name.ptr);
        int len = snprintf(value, sizeof value, "%.*s %.*s",
                           (int)(description.len < 150 ? description.len : 150), description.ptr,
                           (int)(ranks.len < 1000 ? ranks.len : 1000), ranks.ptr);
        nl_builder_meta(dump->builder, dump->source, key, (struct nl_str){value, (size_t)len});
    }
}

static void tell_status(struct dump *dump, struct pickle_value status)
{
    static const char *const keys[] = {"last_enqueued_collective", "last_started_collective",
                                       "last_completed_collective"};
    const struct pickle *p = dump->pickle;
    for (uint32_t i = 0; i < pickle_count(p, status) && i < 4096; i++) {
        char key[100], value[200];
        int64_t last[3];
        struct nl_str id = pickle_text(p, pickle_key(p, status, i));
        for (int k = 0; k < 3; k++)
            last[k] = i64_of(dump, pickle_item(p, status, i), keys[k]);
        snprintf(key, sizeof key, "process group id %.*s", (int)(id.len < 60 ? id.len : 60),
                 id.ptr);
        int len = snprintf(value, sizeof value, "enqueued %lld, started %lld, completed %lld",
                           (long long)last[0], (long long)last[1], (long long)last[2]);
        nl_builder_meta(dump->builder, dump->source, key, (struct nl_str){value, (size_t)len});
    }
}

static void tell(struct dump *dump)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not completed: collectives when the dump was written", dump->pending,
         "they last to the end of the trace"},
        {"not recorded: when collectives completed", dump->untimed,
         "record with TORCH_NCCL_ENABLE_TIMING=1"},
        {"skipped: entries without a time", dump->odd, NULL},
        {"truncated: the dump ends early", dump->pickle->cut, "what was whole is loaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(dump->builder, dump->source, rows[i].item, rows[i].count,
                                rows[i].detail);
}

static bool take_all(struct dump *dump, struct nl_err *err)
{
    const struct pickle *p = dump->pickle;
    struct pickle_value entries = get(dump, p->root, "entries");
    if (pickle_type(entries) != PICKLE_LIST)
        return nl_fail(err, NL_FORMAT, "no list of entries in this dump%s",
                       p->cut ? "; it is cut, copy it again" : "");
    for (uint32_t i = 0; i < pickle_count(p, entries); i++) {
        if (i % 1024 == 0 && nl_job_cancelled(dump->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (nl_builder_over_budget(dump->builder) ||
            !pickle_spend(dump->pickle, pickle_count(p, dump->groups) + (uint64_t)64))
            break;
        take_entry(dump, pickle_item(p, entries, i));
    }
    return true;
}

/* The rank is nowhere but at the end of the file's name. */
static int64_t rank_of(const struct nl_input *input)
{
    size_t end = strlen(input->name);
    for (const char *dot; (dot = memrchr(input->name, '.', end)) != NULL && dot > input->name &&
                          !isdigit((unsigned char)dot[1]);)
        end = (size_t)(dot - input->name);
    size_t start = end;
    while (start > 0 && isdigit((unsigned char)input->name[start - 1]))
        start--;
    int64_t rank;
    bool after_mark = start > 0 && (input->name[start - 1] == '_' || input->name[start - 1] == '-');
    if (after_mark && nl_parse_i64((struct nl_str){input->name + start, end - start}, &rank))
        return rank;
    return NL_NULL_I64;
}

bool flightrec_load(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                    struct pickle *pickle, struct nl_job *job, struct nl_err *err)
{
    struct dump dump = {.pickle = pickle,
                        .builder = builder,
                        .stage = nl_stage_new(builder),
                        .job = job,
                        .source = source,
                        .lane = NL_NULL_ROW};
    int64_t rank = input->rank != NL_NULL_I64 ? input->rank : rank_of(input);
    if (rank != NL_NULL_I64)
        nl_builder_rank(builder, source, rank);
    nl_stage_begin(dump.stage, source, 0);
    nl_builder_clock(builder, source, "unix", 0);
    dump.process = nl_builder_process(builder, source, NL_NULL_I64);
    dump.groups = get(&dump, pickle->root, "pg_config");
    nl_buf_init(&dump.text, 4096);
    bool done = take_all(&dump, err);
    static const char *const versions[] = {"version", "nccl_version", "comm_lib_version"};
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct nl_str version = text_of(&dump, pickle->root, versions[i]);
        if (version.len)
            nl_builder_meta(builder, source, versions[i], version);
    }
    tell_groups(&dump);
    tell_status(&dump, get(&dump, pickle->root, "pg_status"));
    tell(&dump);
    nl_buf_release(&dump.text);
    return done;
}

bool flightrec_load_bytes(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                          const void *bytes, size_t len, struct nl_job *job, struct nl_err *err)
{
    struct pickle pickle;
    struct nl_buf program;
    bool done = true, cut = false;
    nl_buf_init(&program, len * 12 + 64); /* a digit and its comma become ten bytes and an opcode */
    if (is_json(bytes, len)) {
        done = pickle_from_json(&program, bytes, len, &cut, err);
        bytes = program.ptr;
        len = program.len;
    }
    done = done && pickle_read(&pickle, bytes, len, job, err);
    if (done) {
        pickle.cut |= cut;
        done = flightrec_load(builder, source, input, &pickle, job, err);
        pickle_free(&pickle);
    }
    nl_buf_release(&program);
    return done;
}

static bool load(struct nl_builder *builder, uint32_t source, const struct nl_input *input,
                 struct nl_job *job, struct nl_err *err)
{
    struct whole_file file;
    if (!whole_file_open(&file, input, job, err))
        return false;
    bool done = flightrec_load_bytes(builder, source, input, file.bytes, file.size, job, err);
    whole_file_close(&file);
    return done;
}

const struct nl_format nl_format_flightrec = {
    .name = "flight-recorder",
    .title = "PyTorch NCCL flight recorder dump",
    .sniff = sniff,
    .load = load,
    .doc = "docs/formats/flightrec.md",
};
