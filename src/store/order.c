/*
 * Final numbers of the builder's entities, and one time axis for several sources.
 *
 * Threads race for entities, so the numbers differ from run to run. Sorting the entities by their
 * identity (source, pid, kind, stream, …) makes equal inputs give equal bytes.
 */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/mem.h"
#include "base/units.h"
#include "store/build.h"

struct order_context {
    const struct nl_builder *b;
    const struct nl_remaps *remaps;
};

static int by_i64(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_text(const struct nl_builder *b, uint32_t x, uint32_t y)
{
    return nl_str_order(nl_dict_text(&b->names, x & ~NL_SHARED_NAME),
                        nl_dict_text(&b->names, y & ~NL_SHARED_NAME));
}

static uint32_t mapped(const struct nl_remaps *remaps, enum nl_table_id table, uint32_t row)
{
    return row == NL_NULL_ROW ? row : remaps->map[table][row];
}

static int by_process(const void *x, const void *y, void *context)
{
    const struct order_context *c = context;
    const struct nl_process_row *a = &c->b->processes[*(const uint32_t *)x];
    const struct nl_process_row *b = &c->b->processes[*(const uint32_t *)y];
    int order = by_i64(a->source, b->source);
    return order ? order : by_i64(a->pid, b->pid);
}

static int by_thread(const void *x, const void *y, void *context)
{
    const struct order_context *c = context;
    const struct nl_thread_row *a = &c->b->threads[*(const uint32_t *)x];
    const struct nl_thread_row *b = &c->b->threads[*(const uint32_t *)y];
    int order = by_i64(mapped(c->remaps, NL_T_process, a->process),
                       mapped(c->remaps, NL_T_process, b->process));
    return order ? order : by_i64(a->tid, b->tid);
}

static int by_device(const void *x, const void *y, void *context)
{
    const struct order_context *c = context;
    const struct nl_entity_key *a = &c->b->device_keys.keys[*(const uint32_t *)x];
    const struct nl_entity_key *b = &c->b->device_keys.keys[*(const uint32_t *)y];
    int order = by_i64(a->part[0], b->part[0]);
    return order ? order : by_i64(a->part[1], b->part[1]);
}

static int by_lane(const void *x, const void *y, void *context)
{
    const struct order_context *c = context;
    const struct nl_lane_row *a = &c->b->lanes[*(const uint32_t *)x];
    const struct nl_lane_row *b = &c->b->lanes[*(const uint32_t *)y];
    const int64_t keys[][2] = {
        {mapped(c->remaps, NL_T_process, a->process), mapped(c->remaps, NL_T_process, b->process)},
        {a->kind, b->kind},
        {mapped(c->remaps, NL_T_device, a->device), mapped(c->remaps, NL_T_device, b->device)},
        {a->context, b->context},
        {a->stream, b->stream},
        {mapped(c->remaps, NL_T_thread, a->thread), mapped(c->remaps, NL_T_thread, b->thread)},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        int order = by_i64(keys[i][0], keys[i][1]);
        if (order)
            return order;
    }
    return by_text(c->b, a->domain, b->domain);
}

static int by_series(const void *x, const void *y, void *context)
{
    const struct order_context *c = context;
    const struct nl_series_row *a = &c->b->series[*(const uint32_t *)x];
    const struct nl_series_row *b = &c->b->series[*(const uint32_t *)y];
    int order =
        by_i64(mapped(c->remaps, NL_T_lane, a->lane), mapped(c->remaps, NL_T_lane, b->lane));
    return order ? order : by_text(c->b, a->name, b->name);
}

void nl_entities_order(struct nl_builder *b, struct nl_remaps *remaps,
                       uint32_t *sequence[NL_TABLE_COUNT])
{
    const struct {
        enum nl_table_id table;
        uint32_t count;
        int (*compare)(const void *, const void *, void *);
    } entities[] = {{NL_T_process, b->process_keys.count, by_process},
                    {NL_T_thread, b->thread_keys.count, by_thread},
                    {NL_T_device, b->device_keys.count, by_device},
                    {NL_T_lane, b->lane_keys.count, by_lane},
                    {NL_T_series, b->series_keys.count, by_series}};
    struct order_context context = {b, remaps};
    for (size_t e = 0; e < sizeof entities / sizeof entities[0]; e++) {
        uint32_t count = entities[e].count;
        uint32_t *order = nl_alloc(count * sizeof *order);
        uint32_t *map = nl_alloc(count * sizeof *map);
        for (uint32_t i = 0; i < count; i++)
            order[i] = i;
        if (count)
            qsort_r(order, count, sizeof *order, entities[e].compare, &context);
        for (uint32_t i = 0; i < count; i++)
            map[order[i]] = i;
        remaps->map[entities[e].table] = map;
        remaps->count[entities[e].table] = count;
        sequence[entities[e].table] = order;
    }
}

/* Files of one run start within minutes of each other; a folder of several runs is mostly time
 * without events. */
static void tell_days(struct nl_builder *b, int64_t earliest, int64_t latest)
{
    int64_t apart;
    if (latest <= earliest || __builtin_sub_overflow(latest, earliest, &apart) || apart < NL_DAY_NS)
        return;
    nl_builder_coverage(b, NL_NULL_ROW, "days between the first events of files", apart / NL_DAY_NS,
                        "they are hardly from one run, and the time between them counts as "
                        "recorded; give the files of one run");
}

struct beginning {
    int64_t start;
    uint64_t bytes;
    uint32_t format;
};

static int by_beginning(const void *x, const void *y)
{
    const struct beginning *a = x, *b = y;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? -1 : 1;
    return (a->format > b->format) - (a->format < b->format);
}

/* Reports copies: two different files of a run never share format, size and first nanosecond since
 * 1970. */
static void tell_copies(struct nl_builder *b, const int64_t *first_ts)
{
    struct beginning *files = nl_alloc((b->source_count + (size_t)1) * sizeof *files);
    size_t count = 0;
    int64_t copies = 0;
    for (uint32_t s = 0; s < b->source_count; s++) {
        const struct nl_source_row *source = &b->sources[s];
        struct beginning file = {.bytes = source->bytes, .format = source->format};
        if (first_ts[s] == INT64_MAX || source->epoch_ns == NL_NULL_I64 ||
            source->bytes == NL_NULL_U64 || !source->bytes ||
            __builtin_add_overflow(first_ts[s], source->epoch_ns, &file.start))
            continue;
        files[count++] = file;
    }
    qsort(files, count, sizeof *files, by_beginning);
    for (size_t i = 1; i < count; i++)
        copies += by_beginning(&files[i - 1], &files[i]) == 0;
    nl_free(files);
    if (copies)
        nl_builder_coverage(b, NL_NULL_ROW, "files that look like copies of another", copies,
                            "same format, size and first moment: what is in them counts more than "
                            "once; give each file once");
}

/* Counts sources with events: files that only describe events of another have no axis to align. */
static uint32_t count_timed(const int64_t *first_ts, uint32_t sources)
{
    uint32_t timed = 0;
    for (uint32_t s = 0; s < sources; s++)
        timed += first_ts[s] != INT64_MAX;
    return timed;
}

/* Sources with a known epoch are shifted onto the axis of the first such source. One without is
 * shifted to start with the earliest of the others, and coverage reports it. */
void nl_align_sources(struct nl_builder *b, const int64_t *first_ts)
{
    if (count_timed(first_ts, b->source_count) < 2)
        return;
    int64_t base = NL_NULL_I64, earliest = INT64_MAX, latest = INT64_MIN;
    for (uint32_t s = 0; s < b->source_count; s++) {
        struct nl_source_row *source = &b->sources[s];
        if (source->epoch_ns == NL_NULL_I64)
            continue;
        if (base == NL_NULL_I64)
            base = source->epoch_ns;
        if (__builtin_sub_overflow(source->epoch_ns, base, &source->offset_ns))
            source->offset_ns = 0;
        int64_t start;
        if (first_ts[s] == INT64_MAX ||
            __builtin_add_overflow(first_ts[s], source->offset_ns, &start))
            continue;
        earliest = start < earliest ? start : earliest;
        latest = start > latest ? start : latest;
    }
    tell_days(b, earliest, latest);
    tell_copies(b, first_ts);
    for (uint32_t s = 0; s < b->source_count; s++) {
        if (b->sources[s].epoch_ns != NL_NULL_I64 || first_ts[s] == INT64_MAX)
            continue;
        if (earliest == INT64_MAX)
            earliest = first_ts[s];
        if (__builtin_sub_overflow(earliest, first_ts[s], &b->sources[s].offset_ns))
            b->sources[s].offset_ns = 0;
        nl_builder_coverage(b, s, "clock not known", 1,
                            "the file does not say when it was recorded; it was moved to start "
                            "with the first of the others, so times across files do not compare");
    }
}
