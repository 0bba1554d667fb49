/*
 * An entry of a flight recorder dump: its slice, its collective, and as JSON what no column takes.
 */
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/json.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ingest/lib/torchtypes.h"
#include "ingest/torch/flightrec_rows.h"
#include "store/filled.h"

#define TEXT(text)                                                                                 \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }
static const struct nl_str keys[FR_FIELDS] = {
    [FR_RECORD_ID] = TEXT("record_id"),
    [FR_PG_ID] = TEXT("pg_id"),
    [FR_STATE] = TEXT("state"),
    [FR_COLLECTIVE_SEQ_ID] = TEXT("collective_seq_id"),
    [FR_SEQ_ID] = TEXT("seq_id"),
    [FR_P2P_SEQ_ID] = TEXT("p2p_seq_id"),
    [FR_OP_ID] = TEXT("op_id"),
    [FR_IS_P2P] = TEXT("is_p2p"),
    [FR_RETIRED] = TEXT("retired"),
    [FR_TIMEOUT_MS] = TEXT("timeout_ms"),
    [FR_DURATION_MS] = TEXT("duration_ms"),
    [FR_THREAD_NAME] = TEXT("thread_name"),
    [FR_THREAD_ID] = TEXT("thread_id"),
    [FR_PROCESS_GROUP] = TEXT("process_group"),
    [FR_PROFILING_NAME] = TEXT("profiling_name"),
    [FR_TIME_CREATED] = TEXT("time_created_ns"),
    [FR_TIME_COMPLETED] = TEXT("time_discovered_completed_ns"),
    [FR_INPUT_SIZES] = TEXT("input_sizes"),
    [FR_INPUT_DTYPES] = TEXT("input_dtypes"),
    [FR_OUTPUT_SIZES] = TEXT("output_sizes"),
    [FR_OUTPUT_DTYPES] = TEXT("output_dtypes"),
};

static size_t slot_of(uint64_t bits)
{
    return (bits * 0x9e3779b97f4a7c15u >> 32) % FLIGHTREC_KNOWN;
}

static int64_t i64_of(const struct flightrec_rows *rows, enum flightrec_field field)
{
    return pickle_i64(rows->pickle, rows->fields[field]);
}

static struct nl_str field_text(const struct flightrec_rows *rows, enum flightrec_field field)
{
    return pickle_text(rows->pickle, rows->fields[field]);
}

/* What pickle_item gives for 0 to count - 1, without a look at the container for each. */
struct run {
    const struct pickle_value *values;
    uint32_t count, step;
};

static inline struct run run_of(const struct pickle *pickle, struct pickle_value value)
{
    uint32_t count = pickle_count(pickle, value);
    if (!count)
        return (struct run){NULL, 0, 1};
    bool dict = pickle_type(value) == PICKLE_DICT;
    return (struct run){pickle_container(pickle, value)->values + dict, count, dict ? 2 : 1};
}

static inline struct pickle_value item_of(struct run run, uint32_t i)
{
    return i < run.count ? run.values[(size_t)i * run.step] : (struct pickle_value){PICKLE_NONE};
}

static void read_dtype(struct flightrec_rows *rows, struct pickle_value value,
                       struct flightrec_dtype *dtype)
{
    struct nl_str text = pickle_text(rows->pickle, value);
    *dtype = (struct flightrec_dtype){value.bits, nl_stage_name(rows->stage, text),
                                      torchtypes_bytes(text)};
}

static inline const struct flightrec_dtype *dtype_of(struct flightrec_rows *rows,
                                                     struct pickle_value value)
{
    struct flightrec_dtype *known = &rows->dtypes[slot_of(value.bits)];
    if (known->bits != value.bits)
        read_dtype(rows, value, known);
    return known;
}

/* The product of a shape's extents; false when it is unknown or beyond all memory. */
static bool elements_of(const struct flightrec_rows *rows, struct pickle_value shape,
                        uint64_t *elements)
{
    struct run extents = run_of(rows->pickle, shape);
    *elements = 1;
    if (!pickle_spend(rows->pickle, extents.count + (uint64_t)1) ||
        (extents.count && pickle_type(shape) == PICKLE_DICT))
        return false;
    for (uint32_t d = 0; d < extents.count; d++) {
        int64_t extent = pickle_i64(rows->pickle, item_of(extents, d));
        if (extent < 0 || __builtin_mul_overflow(*elements, (uint64_t)extent, elements))
            return false;
    }
    return *elements < UINT64_MAX / 64;
}

/* Elements and bytes of a list of shapes with their types: the larger side's bytes stay. Unknown
 * where one of them is. */
static void sum_shapes(struct flightrec_rows *rows, struct pickle_value shapes,
                       struct pickle_value dtypes, uint64_t *elements, uint64_t *bytes)
{
    struct run shape = run_of(rows->pickle, shapes), dtype = run_of(rows->pickle, dtypes);
    uint64_t all = 0, size = 0, part;
    bool sized = true;
    for (uint32_t i = 0; i < shape.count; i++) {
        unsigned element = dtype_of(rows, item_of(dtype, i))->bytes;
        if (!elements_of(rows, item_of(shape, i), &part) || all > UINT64_MAX / 64)
            return;
        all += part;
        size += part * element;
        sized = sized && element;
    }
    if (!shape.count)
        return;
    *elements = all;
    if (sized && (*bytes == NL_NULL_U64 || size > *bytes))
        *bytes = size;
}

/* ---- names and groups ---- */

/* "nccl:send 0->3" → operation "send", peer 3. */
static void name_operation(struct nl_stage *stage, struct nl_str name, struct flightrec_name *out)
{
    const char *colon = name.len ? memchr(name.ptr, ':', name.len) : NULL;
    size_t at = colon ? (size_t)(colon - name.ptr) + 1 : 0, end = at;
    while (end < name.len && name.ptr[end] != ' ')
        end++;
    out->operation = nl_stage_name(stage, (struct nl_str){name.ptr + at, end - at});
    for (size_t i = end; i + 2 < name.len; i++) { /* "send 0->3", "recv 0<-3": itself, the peer */
        int64_t peer;
        bool arrow = (name.ptr[i] == '-' && name.ptr[i + 1] == '>') ||
                     (name.ptr[i] == '<' && name.ptr[i + 1] == '-');
        if (arrow && nl_parse_i64((struct nl_str){name.ptr + i + 2, name.len - i - 2}, &peer))
            out->peer = peer;
    }
}

static const struct flightrec_name *operation_of(struct flightrec_rows *rows,
                                                 struct pickle_value value)
{
    struct flightrec_name *known = &rows->names[slot_of(value.bits)];
    if (known->bits != value.bits) {
        struct nl_str text = pickle_text(rows->pickle, value);
        *known = (struct flightrec_name){
            .bits = value.bits, .name = nl_stage_name(rows->stage, text), .peer = NL_NULL_I64};
        name_operation(rows->stage, text, known);
    }
    return known;
}

/* Ranks in "[0, 1, 12]". */
static uint32_t count_ranks(struct nl_str text)
{
    uint32_t count = 0;
    bool digits = false;
    for (size_t i = 0; i < text.len; i++) {
        bool digit = nl_is_digit(text.ptr[i]);
        count += digit && !digits;
        digits = digit;
    }
    return count ? count : NL_NULL_U32;
}

static uint32_t group_lane(struct flightrec_rows *rows, struct nl_str name,
                           struct nl_str description)
{
    char title[200];
    int len = snprintf(title, sizeof title, "group %.*s %.*s", NL_UP_TO(80, name),
                       NL_UP_TO(100, description));
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = rows->process,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64,
                              .domain = nl_builder_name(rows->builder, name)};
    uint32_t lane = nl_builder_lane(rows->builder, &key);
    nl_builder_lane_name(rows->builder, lane, (struct nl_str){title, (size_t)len});
    return lane;
}

/* The ranks of a group are in pg_config, as is its description when the entry has none. */
static void read_group(struct flightrec_rows *rows, struct flightrec_group *group)
{
    const struct pickle *p = rows->pickle;
    struct nl_str name = pickle_text(p, (struct pickle_value){group->name_bits}), ranks = {"", 0};
    struct pickle_value description = {group->description_bits};
    for (uint32_t i = 0; i < pickle_count(p, rows->groups) && i < 4096; i++)
        if (name.len && nl_str_eq(pickle_text(p, pickle_key(p, rows->groups, i)), name)) {
            struct pickle_value config = pickle_item(p, rows->groups, i);
            ranks = pickle_text(p, pickle_get(p, config, "ranks"));
            if (!pickle_text(p, description).len)
                description = pickle_get(p, config, "desc");
        }
    group->description =
        pickle_text(p, description).len ? description : (struct pickle_value){PICKLE_NONE};
    group->name = nl_stage_name(rows->stage, name);
    group->ranks_name = nl_stage_name(rows->stage, ranks);
    group->ranks = count_ranks(ranks);
    group->lane = group_lane(rows, name, pickle_text(p, group->description));
}

/* The group of an entry: ('43', 'PIPELINE…') since 2.0, a name or nothing before. */
static const struct flightrec_group *group_of(struct flightrec_rows *rows)
{
    struct pickle_value value = rows->fields[FR_PROCESS_GROUP], description = {PICKLE_NONE};
    if (pickle_type(value) != PICKLE_TEXT) {
        description = pickle_item(rows->pickle, value, 1);
        value = pickle_item(rows->pickle, value, 0);
    }
    struct flightrec_group *known =
        &rows->known_groups[slot_of(value.bits ^ description.bits << 20)];
    if (known->name_bits != value.bits || known->description_bits != description.bits) {
        known->name_bits = value.bits;
        known->description_bits = description.bits;
        read_group(rows, known);
    }
    return known;
}

/* ---- args ---- */

static void add_text(struct flightrec_rows *rows, const char *bytes, size_t len)
{
    if (rows->text_len <= FLIGHTREC_TEXT && len <= FLIGHTREC_TEXT - rows->text_len) {
        memcpy(rows->text + rows->text_len, bytes, len);
        rows->text_len += len;
    } else {
        rows->text_len = FLIGHTREC_TEXT + 1;
    }
}

/* What is no number, by way of the JSON writer: not even a text, null. */
static void put_other(struct flightrec_rows *rows, struct pickle_value value)
{
    struct nl_json json;
    nl_buf_clear(&rows->scratch);
    nl_json_to_buf(&json, &rows->scratch, 0);
    if (pickle_type(value) == PICKLE_TEXT)
        nl_json_str(&json, pickle_text(rows->pickle, value));
    else if (pickle_type(value) == PICKLE_BOOL)
        nl_json_bool(&json, pickle_bool(value));
    else
        nl_json_null(&json);
    add_text(rows, rows->scratch.ptr,
             rows->scratch.overflow ? FLIGHTREC_TEXT + 1 : rows->scratch.len);
}

/* What stands in the pattern for a value, in place of a value's bits; no value has such bits. */
enum stand_in { ABSENT = PICKLE_NONE, WHOLE = 1 << 4, REAL = 2 << 4, NOTHING = 3 << 4 };

static void pack_i64(struct flightrec_rows *rows, int64_t value)
{
    rows->packed_len += nl_filled_put_i64(rows->packed + rows->packed_len, value);
    rows->numbers++;
}

/* A field's word of the entry's shape; a number is packed. */
static uint64_t shape_of(struct flightrec_rows *rows, struct pickle_value value)
{
    enum pickle_type type = pickle_type(value);
    if (type == PICKLE_TEXT || type == PICKLE_BOOL || type == PICKLE_NONE)
        return value.bits; /* of NONE: ABSENT */
    int64_t whole = pickle_i64(rows->pickle, value);
    if (whole != NL_NULL_I64) {
        pack_i64(rows, whole);
        return WHOLE;
    }
    if (type != PICKLE_FLOAT)
        return NOTHING;
    rows->packed_len +=
        nl_filled_put_f64(rows->packed + rows->packed_len, pickle_f64(rows->pickle, value));
    rows->numbers++;
    return REAL;
}

/* The extents are packed; how many each shape has belongs to the entry's own shape. */
static void read_shapes(struct flightrec_rows *rows, struct pickle_value shapes)
{
    struct run shape = run_of(rows->pickle, shapes);
    for (uint32_t i = 0; i < shape.count && i < FLIGHTREC_SHAPES; i++) {
        struct run extents = run_of(rows->pickle, item_of(shape, i));
        uint32_t count = extents.count < FLIGHTREC_EXTENTS ? extents.count : FLIGHTREC_EXTENTS;
        for (uint32_t d = 0; d < count; d++)
            pack_i64(rows, pickle_i64(rows->pickle, item_of(extents, d)));
        rows->words[rows->word_count++] = count;
    }
}

static void write_field(struct flightrec_rows *rows, struct nl_str key, uint64_t word)
{
    const char whole = NL_FILLED_I64, real = NL_FILLED_F64;
    if (word == ABSENT)
        return;
    add_text(rows, "\"", 1);
    add_text(rows, key.ptr, key.len);
    add_text(rows, "\":", 2);
    if (word == WHOLE || word == REAL)
        add_text(rows, word == WHOLE ? &whole : &real, 1);
    else
        put_other(rows, (struct pickle_value){word});
    add_text(rows, ",", 1);
}

/* The text that all entries of this shape have, but for their numbers. */
static void write_pattern(struct flightrec_rows *rows)
{
    static const struct nl_str description = TEXT("description");
    const char whole = NL_FILLED_I64;
    rows->text_len = 0;
    add_text(rows, "{", 1);
    for (unsigned field = 0; field <= FR_KEPT; field++)
        write_field(rows, field < FR_KEPT ? keys[field] : description, rows->words[field]);
    add_text(rows, "\"input_sizes\":[", 15);
    for (unsigned i = FR_KEPT + 1; i < rows->word_count; i++) {
        add_text(rows, i > FR_KEPT + 1 ? ",[" : "[", i > FR_KEPT + 1 ? 2 : 1);
        for (uint64_t d = 0; d < rows->words[i]; d++) {
            if (d)
                add_text(rows, ",", 1);
            add_text(rows, &whole, 1);
        }
        add_text(rows, "]", 1);
    }
    add_text(rows, "]}", 2);
}

static bool is_shape(const struct flightrec_rows *rows, const struct flightrec_pattern *pattern)
{
    return pattern->word_count == rows->word_count &&
           memcmp(pattern->words, rows->words, rows->word_count * sizeof *rows->words) == 0;
}

/* The pattern of the shape in rows->words: kept from an entry before, or made. */
static const struct flightrec_pattern *pattern_of(struct flightrec_rows *rows)
{
    size_t bytes = rows->word_count * sizeof *rows->words;
    struct flightrec_pattern *set = rows->patterns[nl_hash(rows->words, bytes) % FLIGHTREC_SETS];
    for (unsigned i = 0; i < FLIGHTREC_WAYS; i++)
        if (is_shape(rows, &set[i]))
            return &set[i];
    struct flightrec_pattern *made = &set[rows->patterns_made++ % FLIGHTREC_WAYS];
    write_pattern(rows);
    made->word_count = rows->word_count;
    memcpy(made->words, rows->words, bytes);
    made->len = rows->text_len;
    made->name = rows->text_len > FLIGHTREC_TEXT
                     ? NL_NO_NAME
                     : nl_stage_name(rows->stage, (struct nl_str){rows->text, rows->text_len});
    return made;
}

/* An entry's args are at most so long; most are far below. */
static bool pattern_fits(struct flightrec_rows *rows, const struct flightrec_pattern *pattern)
{
    if (pattern->len > FLIGHTREC_TEXT)
        return false;
    if (pattern->len + (size_t)rows->numbers * NL_FILLED_DIGITS <= FLIGHTREC_TEXT)
        return true;
    write_pattern(rows);
    nl_buf_clear(&rows->scratch);
    nl_filled_write(&rows->scratch, (struct nl_str){rows->text, rows->text_len},
                    (struct nl_str){(const char *)rows->packed, rows->packed_len});
    return !rows->scratch.overflow && rows->scratch.len <= FLIGHTREC_TEXT;
}

/* What no column takes, as JSON: the state above all. */
static void keep_rest(struct flightrec_rows *rows, uint32_t slice,
                      const struct flightrec_group *group)
{
    rows->packed_len = rows->numbers = rows->word_count = 0;
    for (unsigned field = 0; field < FR_KEPT; field++)
        rows->words[rows->word_count++] = shape_of(rows, rows->fields[field]);
    rows->words[rows->word_count++] = group->description.bits;
    read_shapes(rows, rows->fields[FR_INPUT_SIZES]);
    const struct flightrec_pattern *pattern = pattern_of(rows);
    if (!pattern_fits(rows, pattern))
        return;
    struct nl_arg_row arg = nl_arg_row();
    arg.slice = slice;
    arg.text = nl_stage_filled(rows->stage, pattern->name, rows->packed, rows->packed_len);
    nl_stage_arg(rows->stage, &arg);
}

/* ---- entries ---- */

void flightrec_rows_init(struct flightrec_rows *rows, struct pickle *pickle,
                         struct nl_builder *builder, struct nl_stage *stage, uint32_t process)
{
    memset(rows, 0, sizeof *rows);
    rows->pickle = pickle;
    rows->builder = builder;
    rows->stage = stage;
    rows->process = process;
    rows->layout.keys = keys;
    rows->layout.count = FR_FIELDS;
    nl_buf_init(&rows->scratch, FLIGHTREC_TEXT + 64);
    for (size_t i = 0; i < FLIGHTREC_KNOWN; i++)
        rows->names[i].bits = rows->dtypes[i].bits = rows->known_groups[i].name_bits = UINT64_MAX;
}

void flightrec_rows_release(struct flightrec_rows *rows)
{
    nl_buf_release(&rows->scratch);
}

/* Start, length and flags. False when the entry has no time at all. */
static bool set_times(struct flightrec_rows *rows, struct nl_slice_row *slice)
{
    int64_t created = i64_of(rows, FR_TIME_CREATED), completed = i64_of(rows, FR_TIME_COMPLETED);
    if (rows->state_bits != rows->fields[FR_STATE].bits) {
        rows->state_bits = rows->fields[FR_STATE].bits;
        rows->completed = nl_str_is(field_text(rows, FR_STATE), "completed");
    }
    bool done = rows->completed || pickle_bool(rows->fields[FR_RETIRED]);
    if (created < 0 || created >= INT64_MAX / 2)
        return false;
    slice->ts = created;
    if (completed > created) {
        slice->dur = completed - created;
    } else if (done) { /* over, but when was not recorded */
        slice->dur = 0;
        slice->flags |= NL_SLICE_INSTANT;
        rows->untimed++;
    } else {
        slice->dur = NL_NULL_I64;
        rows->pending++;
    }
    return true;
}

static void set_collective(struct flightrec_rows *rows, const struct flightrec_group *group,
                           struct nl_collective_row *row)
{
    struct pickle_value in = rows->fields[FR_INPUT_DTYPES], out = rows->fields[FR_OUTPUT_DTYPES];
    bool p2p = pickle_bool(rows->fields[FR_IS_P2P]);
    sum_shapes(rows, rows->fields[FR_INPUT_SIZES], in, &row->in_elements, &row->bytes);
    sum_shapes(rows, rows->fields[FR_OUTPUT_SIZES], out, &row->out_elements, &row->bytes);
    row->dtype = dtype_of(rows, pickle_item(rows->pickle, in, 0))->name;
    row->group_name = group->name;
    row->group_ranks = group->ranks_name;
    row->ranks = group->ranks;
    row->sequence = i64_of(rows, p2p ? FR_P2P_SEQ_ID : FR_COLLECTIVE_SEQ_ID);
    if (row->sequence == NL_NULL_I64)
        row->sequence = i64_of(rows, FR_SEQ_ID);
}

bool flightrec_rows_take(struct flightrec_rows *rows, const struct pickle_value *pairs,
                         size_t count)
{
    struct nl_slice_row slice = nl_slice_row();
    struct nl_collective_row row = nl_collective_row();
    if (!pickle_spend(rows->pickle, 64 + pickle_count(rows->pickle, rows->groups) + count / 2))
        return false;
    pickle_fields(rows->pickle, &rows->layout, pairs, count, rows->fields);
    if (!set_times(rows, &slice)) {
        rows->odd++;
        return true;
    }
    const struct flightrec_group *group = group_of(rows);
    const struct flightrec_name *name = operation_of(rows, rows->fields[FR_PROFILING_NAME]);
    slice.kind = NL_KIND_COLLECTIVE;
    slice.name = name->name;
    slice.lane = group->lane;
    row.slice = nl_stage_slice(rows->stage, &slice);
    row.operation = name->operation;
    row.peer = name->peer;
    set_collective(rows, group, &row);
    nl_stage_collective(rows->stage, &row);
    keep_rest(rows, row.slice, group);
    return true;
}
