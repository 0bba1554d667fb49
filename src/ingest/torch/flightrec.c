/*
 * NCCL flight recorder dumps of PyTorch: what each rank had enqueued when it hung or died.
 *
 * An entry is a collective or a send/receive. It becomes a slice on the lane of its process group,
 * from its creation to its completion as the watchdog saw it; what had not completed lasts to the
 * end of the trace, with the flag that says so. All keys but the name are optional: they came and
 * went with versions 1 to 2.10.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "base/chars.h"
#include "base/units.h"
#include "base/utf8.h"
#include "ingest/ingest.h"
#include "ingest/lib/wholefile.h"
#include "ingest/torch/pickle.h"
#include "ingest/torch/flightrec_rows.h"
#include "ingest/torch/picklewatch.h"
#include "base/mem.h"

struct dump {
    struct pickle *pickle;
    struct nl_builder *builder;
    struct nl_job *job;
    uint32_t source;
    struct flightrec_rows rows;
    bool stopped;
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

static int flightrec_sniff(const struct nl_input *input, const char **why)
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

static struct nl_str member_text(const struct dump *dump, struct pickle_value dict, const char *key)
{
    return pickle_text(dump->pickle, get(dump, dict, key));
}

static int64_t i64_of(const struct dump *dump, struct pickle_value dict, const char *key)
{
    return pickle_i64(dump->pickle, get(dump, dict, key));
}

static void tell_groups(struct dump *dump)
{
    const struct pickle *p = dump->pickle;
    for (uint32_t i = 0; i < pickle_count(p, dump->rows.groups) && i < 4096; i++) {
        char key[100], value[1200];
        struct pickle_value config = pickle_item(p, dump->rows.groups, i);
        struct nl_str name = pickle_text(p, pickle_key(p, dump->rows.groups, i));
        struct nl_str description = member_text(dump, config, "desc");
        struct nl_str ranks = member_text(dump, config, "ranks");
        snprintf(key, sizeof key, "process group %.*s", NL_UP_TO(60, name));
        int len = snprintf(value, sizeof value, "%.*s %.*s", NL_UP_TO(150, description),
                           NL_UP_TO(1000, ranks));
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
        snprintf(key, sizeof key, "process group id %.*s", NL_UP_TO(60, id));
        int len = snprintf(value, sizeof value, "enqueued %lld, started %lld, completed %lld",
                           (long long)last[0], (long long)last[1], (long long)last[2]);
        nl_builder_meta(dump->builder, dump->source, key, (struct nl_str){value, (size_t)len});
    }
}

static void report_coverage(struct dump *dump)
{
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"not completed: collectives when the dump was written", dump->rows.pending,
         "they last to the end of the trace"},
        {"not recorded: when collectives completed", dump->rows.untimed,
         "record with TORCH_NCCL_ENABLE_TIMING=1"},
        {"skipped: entries without a time", dump->rows.odd, NULL},
        {"truncated: the dump ends early", dump->pickle->cut,
         "everything before the cut is loaded"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(dump->builder, dump->source, rows[i].item, rows[i].count,
                                rows[i].detail);
}

/* False when no more are to be taken. */
static bool take_entry(struct dump *dump, const struct pickle_value *pairs, size_t count)
{
    dump->stopped = dump->stopped || nl_builder_over_budget(dump->builder) ||
                    !flightrec_rows_take(&dump->rows, pairs, count);
    return !dump->stopped;
}

/* Groups come before the entries in pickles, after them in JSON. */
static bool groups_are_read(void *context, const struct pickle *pickle)
{
    struct dump *dump = context;
    dump->rows.groups = pickle_so_far(pickle, "pg_config");
    return pickle_type(dump->rows.groups) == PICKLE_DICT;
}

static void take_while_reading(void *context, size_t list, const struct pickle_value *pairs,
                               size_t count)
{
    (void)list;
    (void)take_entry(context, pairs, count);
}

/* The entries that were not taken while the pickle was read. */
static bool take_rest(struct dump *dump, struct nl_err *err)
{
    const struct pickle *p = dump->pickle;
    struct pickle_value entries = get(dump, p->root, "entries");
    dump->rows.groups = get(dump, p->root, "pg_config");
    if (pickle_type(entries) != PICKLE_LIST)
        return nl_fail(err, NL_FORMAT, "no list of entries in this dump%s",
                       p->cut ? "; it is cut, copy it again" : "");
    for (size_t i = p->lost ? p->taken : 0; i < pickle_count(p, entries); i++) {
        size_t count;
        if (i % 1024 == 0 && nl_job_cancelled(dump->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        const struct pickle_value *pairs =
            pickle_pairs(p, pickle_item(p, entries, (uint32_t)i), &count);
        if (!take_entry(dump, pairs, count))
            break;
    }
    return true;
}

/* The rank is nowhere but at the end of the file's name. */
static int64_t rank_of(const struct nl_input *input)
{
    size_t end = strlen(input->name);
    for (const char *dot; (dot = memrchr(input->name, '.', end)) != NULL && dot > input->name &&
                          !nl_is_digit(dot[1]);)
        end = (size_t)(dot - input->name);
    size_t start = end;
    while (start > 0 && nl_is_digit(input->name[start - 1]))
        start--;
    int64_t rank;
    bool after_mark = start > 0 && (input->name[start - 1] == '_' || input->name[start - 1] == '-');
    if (after_mark && nl_parse_i64((struct nl_str){input->name + start, end - start}, &rank))
        return rank;
    return NL_NULL_I64;
}

static void begin_dump(struct dump *dump, const struct nl_input *input)
{
    struct nl_builder *builder = dump->builder;
    struct nl_stage *stage = nl_stage_new(builder);
    int64_t rank = input->rank != NL_NULL_I64 ? input->rank : rank_of(input);
    if (rank != NL_NULL_I64)
        nl_builder_rank(builder, dump->source, rank);
    nl_stage_begin(stage, dump->source, 0);
    nl_builder_clock(builder, dump->source, "unix", 0);
    flightrec_rows_init(&dump->rows, dump->pickle, builder, stage,
                        nl_builder_process(builder, dump->source, NL_NULL_I64));
}

static bool finish_dump(struct dump *dump, struct nl_err *err)
{
    static const char *const versions[] = {"version", "nccl_version", "comm_lib_version"};
    bool done = take_rest(dump, err);
    for (size_t i = 0; i < sizeof versions / sizeof versions[0]; i++) {
        struct nl_str version = member_text(dump, dump->pickle->root, versions[i]);
        if (version.len)
            nl_builder_meta(dump->builder, dump->source, versions[i], version);
    }
    tell_groups(dump);
    tell_status(dump, get(dump, dump->pickle->root, "pg_status"));
    report_coverage(dump);
    return done;
}

static bool flightrec_load(struct nl_reading *reading, struct nl_err *err)
{
    const void *bytes = reading->file->bytes;
    size_t len = reading->file->size;
    struct pickle pickle = {.len = 0};
    struct dump *dump = nl_zalloc(sizeof *dump);
    const struct pickle_watch watch = {
        .key = "entries", .ready = groups_are_read, .take = take_while_reading, .context = dump};
    struct nl_buf program;
    bool done = true, cut = false;
    *dump = (struct dump){.pickle = &pickle,
                          .builder = reading->builder,
                          .job = reading->job,
                          .source = reading->source};
    nl_buf_init(&program, len * 12 + 64); /* the shortest text, "", becomes ten bytes */
    if (is_json(bytes, len)) {
        done = pickle_from_json(&program, bytes, len, &cut, err);
        bytes = program.ptr;
        len = program.len;
    }
    if (done) {
        begin_dump(dump, reading->input);
        done = pickle_read_watched(&pickle, bytes, len, &watch, reading->job, err);
        pickle.cut |= cut;
        done = done && finish_dump(dump, err);
        if (!done)
            nl_stage_drop(dump->rows.stage);
        flightrec_rows_release(&dump->rows);
        pickle_free(&pickle);
    }
    nl_buf_release(&program);
    nl_free(dump);
    return done;
}

/* A pickle is a program; the same as JSON is not. */
static bool flightrec_risky(const struct nl_input *input)
{
    return input->head_len > 0 && input->head[0] == 0x80;
}

const struct nl_format nl_format_flightrec = {
    .name = "flight-recorder",
    .title = "PyTorch NCCL flight recorder dump",
    .sniff = flightrec_sniff,
    .load = flightrec_load,
    .feed = NL_FEED_WHOLE,
    .risky = flightrec_risky,
    .doc = "docs/formats/flightrec.md",
};
