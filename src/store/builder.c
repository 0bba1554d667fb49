/*
 * The builder's front: entities under a lock, and stages that gather rows without one. A few
 * hundred rows of a table become a chunk (chunk.h) in a block. Blocks come from the pool of pages
 * and go back to it while the trace is finished, which keeps the peak near the size of the result.
 */
#include "store/builder.h"

#include <string.h>

#include "base/mem.h"
#include "redact/redact.h"
#include "store/build.h"

/* Blocks: small ones first, for small traces; once a table has MANY_BYTES, such as
 * cost a single page fault. */
#define FIRST_BLOCK ((size_t)64 << 10)
#define LAST_BLOCK  ((size_t)1 << 20)
#define HUGE_BLOCK  ((size_t)2 << 20)
#define MANY_BYTES  ((size_t)8 << 20)
#define META_BYTES  4096

/* Size of a table's staging buffer: two or three of them fit in the L1 cache. */
#define WAITING_BYTES ((size_t)16 << 10)

struct nl_builder *nl_builder_new(struct nl_job *job)
{
    struct nl_builder *b = nl_zalloc(sizeof *b);
    b->job = job;
    pthread_mutex_init(&b->lock, NULL);
    nl_dict_init(&b->names);
    nl_pagepool_init(&b->pages, job ? job->spill : NULL);
    b->own = nl_stage_new(b);
    return b;
}

void nl_segment_done(const struct nl_segment *segment, struct nl_pagepool *pool)
{
    struct nl_block *block = segment->block;
    if (--block->needed)
        return;
    nl_pagepool_give(pool, block->bytes, block->room);
    nl_free(block);
}

void nl_staged_release(struct nl_staged *staged, struct nl_pagepool *pool)
{
    for (size_t i = 0; i < staged->count; i++)
        nl_segment_done(&staged->segments[i], pool);
    nl_free(staged->segments);
    *staged = (struct nl_staged){0};
}

static void stage_free(struct nl_stage *stage)
{
    for (int t = 0; t < NL_TABLE_COUNT; t++) {
        nl_staged_release(&stage->tables[t], &stage->builder->pages);
        nl_free(stage->waiting[t].rows);
    }
    nl_runs_release(stage);
    nl_dict_release(&stage->names);
    nl_filled_release(&stage->filled);
    nl_free(stage->packed);
    nl_free(stage->remap);
    nl_free(stage);
}

void nl_builder_free(struct nl_builder *b)
{
    if (!b)
        return;
    while (b->stages) {
        struct nl_stage *next = b->stages->next;
        stage_free(b->stages);
        b->stages = next;
    }
    while (b->units) {
        struct nl_unit *next = b->units->next;
        nl_free(b->units);
        b->units = next;
    }
    struct nl_entities *sets[] = {&b->process_keys, &b->thread_keys, &b->device_keys, &b->lane_keys,
                                  &b->series_keys};
    for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
        nl_entities_release(sets[i]);
    void *rows[] = {b->sources, b->per_process, b->forget_ids, b->processes, b->threads,
                    b->devices, b->lanes,       b->series,     b->metas,     b->coverages};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        nl_free(rows[i]);
    nl_dict_release(&b->names);
    nl_free(b->shared_remap);
    nl_pagepool_release(&b->pages);
    if (b->report)
        nl_trace_free(b->report);
    pthread_mutex_destroy(&b->lock);
    nl_free(b);
}

static uint32_t shared(struct nl_builder *b, struct nl_str text)
{
    uint32_t id = nl_dict_add(&b->names, text);
    return id ? id | NL_SHARED_NAME : 0;
}

/* A text that people wrote or that a process was started with: without what looks like a secret. */
static uint32_t shared_safe(struct nl_builder *b, struct nl_str text)
{
    struct nl_buf safe;
    nl_buf_init(&safe, text.len * 2 + 64);
    bool found = nl_redact_text(&safe, text) > 0;
    uint32_t name = shared(b, found ? (struct nl_str){safe.ptr, safe.len} : text);
    nl_buf_release(&safe);
    return name;
}

uint32_t nl_builder_name(struct nl_builder *b, struct nl_str text)
{
    pthread_mutex_lock(&b->lock);
    uint32_t id = shared(b, text);
    pthread_mutex_unlock(&b->lock);
    return id;
}

/* ---- sources ---- */

uint32_t nl_builder_source(struct nl_builder *b, const char *file, const char *format)
{
    pthread_mutex_lock(&b->lock);
    uint32_t source = b->source_count++;
    nl_grow(&b->sources, &b->source_cap, b->source_count);
    nl_grow(&b->per_process, &b->per_process_cap, b->source_count);
    b->sources[source] = nl_source_row();
    b->sources[source].file = shared(b, nl_str(file));
    b->sources[source].format = shared(b, nl_str(format));
    b->sources[source].offset_ns = 0;
    b->per_process[source] = false;
    nl_grow(&b->forget_ids, &b->forget_cap, b->source_count);
    b->forget_ids[source] = false;
    pthread_mutex_unlock(&b->lock);
    return source;
}

void nl_builder_correlation_per_process(struct nl_builder *b, uint32_t source)
{
    b->per_process[source] = true;
}

void nl_builder_forget_external_ids(struct nl_builder *b, uint32_t source)
{
    b->forget_ids[source] = true;
}

void nl_builder_clock(struct nl_builder *b, uint32_t source, const char *clock, int64_t epoch_ns)
{
    b->sources[source].clock = nl_builder_name(b, nl_str(clock));
    b->sources[source].epoch_ns = epoch_ns;
}

void nl_builder_tool(struct nl_builder *b, uint32_t source, struct nl_str tool)
{
    b->sources[source].tool = nl_builder_name(b, tool);
}

void nl_builder_format(struct nl_builder *b, uint32_t source, const char *format)
{
    b->sources[source].format = nl_builder_name(b, nl_str(format));
}

void nl_builder_rank(struct nl_builder *b, uint32_t source, int64_t rank)
{
    b->sources[source].rank = rank;
}

void nl_builder_source_bytes(struct nl_builder *b, uint32_t source, uint64_t bytes)
{
    b->sources[source].bytes = bytes;
}

/* ---- entities ---- */

uint32_t nl_builder_process(struct nl_builder *b, uint32_t source, int64_t pid)
{
    struct nl_entity_key key = {{source, pid}};
    int added;
    pthread_mutex_lock(&b->lock);
    uint32_t row = nl_entities_get(&b->process_keys, &key, &added);
    if (added) {
        nl_grow(&b->processes, &b->process_cap, (size_t)row + 1);
        b->processes[row] = nl_process_row();
        b->processes[row].pid = pid;
        b->processes[row].source = source;
    }
    pthread_mutex_unlock(&b->lock);
    return row;
}

uint32_t nl_builder_thread(struct nl_builder *b, uint32_t process, int64_t tid)
{
    struct nl_entity_key key = {{process, tid}};
    int added;
    pthread_mutex_lock(&b->lock);
    uint32_t row = nl_entities_get(&b->thread_keys, &key, &added);
    if (added) {
        nl_grow(&b->threads, &b->thread_cap, (size_t)row + 1);
        b->threads[row] = nl_thread_row();
        b->threads[row].process = process;
        b->threads[row].tid = tid;
    }
    pthread_mutex_unlock(&b->lock);
    return row;
}

void nl_builder_process_name(struct nl_builder *b, uint32_t process, struct nl_str name)
{
    pthread_mutex_lock(&b->lock);
    b->processes[process].name = shared_safe(b, name);
    pthread_mutex_unlock(&b->lock);
}

void nl_builder_process_label(struct nl_builder *b, uint32_t process, struct nl_str label)
{
    pthread_mutex_lock(&b->lock);
    b->processes[process].label = shared_safe(b, label);
    pthread_mutex_unlock(&b->lock);
}

void nl_builder_process_rank(struct nl_builder *b, uint32_t process, int64_t rank)
{
    pthread_mutex_lock(&b->lock);
    b->processes[process].rank = rank;
    pthread_mutex_unlock(&b->lock);
}

void nl_builder_thread_name(struct nl_builder *b, uint32_t thread, struct nl_str name)
{
    pthread_mutex_lock(&b->lock);
    b->threads[thread].name = shared(b, name);
    pthread_mutex_unlock(&b->lock);
}

uint32_t nl_builder_device(struct nl_builder *b, uint32_t source, int64_t key, int64_t ordinal)
{
    struct nl_entity_key full = {{source, key}};
    int added;
    pthread_mutex_lock(&b->lock);
    uint32_t row = nl_entities_get(&b->device_keys, &full, &added);
    if (added) {
        nl_grow(&b->devices, &b->device_cap, (size_t)row + 1);
        b->devices[row] = nl_device_row();
        b->devices[row].ordinal = ordinal;
        b->devices[row].source = source;
    }
    pthread_mutex_unlock(&b->lock);
    return row;
}

struct nl_device_row *nl_builder_device_row(struct nl_builder *b, uint32_t device)
{
    return &b->devices[device];
}

uint32_t nl_builder_lane(struct nl_builder *b, const struct nl_lane_key *lane)
{
    struct nl_entity_key key = {{(int64_t)lane->kind, lane->process, lane->thread, lane->device,
                                 lane->context, lane->stream, lane->domain}};
    int added;
    pthread_mutex_lock(&b->lock);
    uint32_t row = nl_entities_get(&b->lane_keys, &key, &added);
    if (added) {
        nl_grow(&b->lanes, &b->lane_cap, (size_t)row + 1);
        b->lanes[row] = nl_lane_row();
        b->lanes[row].kind = (uint8_t)lane->kind;
        b->lanes[row].process = lane->process;
        b->lanes[row].thread = lane->thread;
        b->lanes[row].device = lane->device;
        b->lanes[row].context = lane->context;
        b->lanes[row].stream = lane->stream;
        b->lanes[row].domain = lane->domain;
    }
    pthread_mutex_unlock(&b->lock);
    return row;
}

void nl_builder_lane_name(struct nl_builder *b, uint32_t lane, struct nl_str name)
{
    pthread_mutex_lock(&b->lock);
    b->lanes[lane].name = shared(b, name);
    pthread_mutex_unlock(&b->lock);
}

uint32_t nl_builder_series(struct nl_builder *b, uint32_t lane, struct nl_str name,
                           struct nl_str unit)
{
    int added;
    pthread_mutex_lock(&b->lock);
    struct nl_entity_key key = {{lane, shared(b, name)}};
    uint32_t row = nl_entities_get(&b->series_keys, &key, &added);
    if (added) {
        nl_grow(&b->series, &b->series_cap, (size_t)row + 1);
        b->series[row] =
            (struct nl_series_row){.name = shared(b, name), .unit = shared(b, unit), .lane = lane};
    }
    pthread_mutex_unlock(&b->lock);
    return row;
}

/* ---- metadata and coverage ---- */

void nl_builder_coverage(struct nl_builder *b, uint32_t source, const char *item, int64_t count,
                         const char *detail)
{
    pthread_mutex_lock(&b->lock);
    uint32_t name = shared(b, nl_str(item));
    size_t i = 0;
    while (i < b->coverage_count &&
           !(b->coverages[i].item == name && b->coverages[i].source == source))
        i++;
    if (i == b->coverage_count) {
        nl_grow(&b->coverages, &b->coverage_cap, ++b->coverage_count);
        b->coverages[i] = (struct nl_coverage_row){
            .item = name, .detail = shared(b, nl_str(detail)), .source = source};
    }
    if (__builtin_add_overflow(b->coverages[i].count, count, &b->coverages[i].count))
        b->coverages[i].count = INT64_MAX;
    pthread_mutex_unlock(&b->lock);
}

void nl_builder_meta(struct nl_builder *b, uint32_t source, const char *key, struct nl_str value)
{
    bool secret = nl_is_secret_key(nl_str(key));
    if (secret)
        nl_builder_coverage(b, source, "metadata values redacted", 1,
                            "the key looks like a secret");
    if (value.len > META_BYTES)
        value.len = META_BYTES;
    pthread_mutex_lock(&b->lock);
    nl_grow(&b->metas, &b->meta_cap, ++b->meta_count);
    b->metas[b->meta_count - 1] = (struct nl_meta_row){
        .key = shared(b, nl_str(key)),
        .value = secret ? shared(b, nl_str("(redacted)")) : shared_safe(b, value),
        .source = source};
    pthread_mutex_unlock(&b->lock);
}

static struct nl_str copy_name_text(struct nl_arena *arena, const struct nl_trace *trace,
                                    uint32_t id)
{
    struct nl_str text = nl_trace_name(trace, id);
    return (struct nl_str){nl_arena_text(arena, text.ptr, text.len), text.len};
}

void nl_builder_join(struct nl_builder *b, struct nl_trace *report)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    b->report = report;
    b->report_source = b->source_count;
    for (uint32_t i = 0; i < report->source.rows; i++) {
        uint32_t source =
            nl_builder_source(b, copy_name_text(&arena, report, report->source.file[i]).ptr,
                              copy_name_text(&arena, report, report->source.format[i]).ptr);
        nl_builder_source_bytes(b, source, report->source.bytes[i]);
        nl_builder_tool(b, source, nl_trace_name(report, report->source.tool[i]));
    }
    for (uint32_t i = 0; i < report->meta.rows; i++)
        if (report->meta.source[i] != NL_NULL_ROW)
            nl_builder_meta(b, b->report_source + report->meta.source[i],
                            copy_name_text(&arena, report, report->meta.key[i]).ptr,
                            nl_trace_name(report, report->meta.value[i]));
    for (uint32_t i = 0; i < report->coverage.rows; i++) {
        uint32_t source = report->coverage.source[i];
        nl_builder_coverage(b, source == NL_NULL_ROW ? source : b->report_source + source,
                            copy_name_text(&arena, report, report->coverage.item[i]).ptr,
                            report->coverage.count[i],
                            copy_name_text(&arena, report, report->coverage.detail[i]).ptr);
    }
    nl_arena_free(&arena);
}

/* ---- stages ---- */

struct nl_stage *nl_stage_new(struct nl_builder *b)
{
    struct nl_stage *stage = nl_zalloc(sizeof *stage);
    stage->builder = b;
    nl_dict_init(&stage->names);
    pthread_mutex_lock(&b->lock);
    stage->next = b->stages;
    b->stages = stage;
    pthread_mutex_unlock(&b->lock);
    return stage;
}

char *nl_block_room(struct nl_block **block, struct nl_pagepool *pool, size_t bytes, size_t most)
{
    struct nl_block *last = *block;
    if (!last || last->room - last->used < bytes) {
        size_t room = last ? last->room * 2 : FIRST_BLOCK;
        room = room < most ? room : most;
        room = room < bytes ? bytes : room;
        *block = last = nl_alloc(sizeof *last);
        *last = (struct nl_block){.bytes = nl_pagepool_fresh(pool, room), .room = room};
    }
    last->used += bytes;
    return last->bytes + last->used - bytes;
}

static char *chunk_room(struct nl_staged *staged, struct nl_pagepool *pool, size_t bytes)
{
    const struct nl_block *before = staged->block;
    size_t most = staged->bytes < MANY_BYTES ? LAST_BLOCK : HUGE_BLOCK;
    char *chunk = nl_block_room(&staged->block, pool, bytes, most);
    if (staged->block != before)
        staged->bytes += staged->block->room;
    return chunk;
}

/* The rows that wait become a chunk. */
static void pack(struct nl_stage *stage, enum nl_table_id table)
{
    struct nl_waiting *waiting = &stage->waiting[table];
    struct nl_staged *staged = &stage->tables[table];
    const struct nl_table_def *def = &nl_tables[table];
    uint32_t count = waiting->used;
    if (!count)
        return;
    if (!stage->unit)
        NL_BUG("rows were staged before nl_stage_begin");
    if (table == NL_T_slice)
        stage->unit->slices += count;
    waiting->packed += count;
    waiting->used = 0;
    size_t bytes = nl_chunk_pack(stage->packed, def, waiting->rows, count);
    nl_budget_count(stage->builder, nl_chunk_values(def, stage->packed, count));
    if (nl_builder_over_budget(stage->builder))
        return;
    char *chunk = chunk_room(staged, &stage->builder->pages, bytes);
    memcpy(chunk, stage->packed, bytes);
    nl_grow(&staged->segments, &staged->cap, ++staged->count);
    staged->segments[staged->count - 1] = (struct nl_segment){
        .unit = stage->unit, .chunk = chunk, .block = staged->block, .count = count};
    staged->block->needed++;
}

void nl_stage_pack(struct nl_stage *stage, enum nl_table_id table)
{
    struct nl_waiting *waiting = &stage->waiting[table];
    pack(stage, table);
    if (!waiting->rows) {
        size_t room = WAITING_BYTES / nl_tables[table].row_size;
        waiting->room = (uint32_t)(room < NL_CHUNK_ROWS ? room : NL_CHUNK_ROWS);
        size_t packed = nl_chunk_room(&nl_tables[table], waiting->room);
        nl_grow(&stage->packed, &stage->packed_cap, packed);
        waiting->rows = nl_alloc(waiting->room * nl_tables[table].row_size);
    }
}

static void pack_all(struct nl_stage *stage)
{
    for (int t = 0; t < NL_TABLE_COUNT; t++)
        pack(stage, (enum nl_table_id)t);
}

void nl_stages_pack(struct nl_builder *b)
{
    for (struct nl_stage *stage = b->stages; stage; stage = stage->next)
        pack_all(stage);
}

void nl_stage_begin(struct nl_stage *stage, uint32_t source, uint64_t sequence)
{
    pack_all(stage);
    struct nl_unit *unit = nl_zalloc(sizeof *unit);
    unit->stage = stage;
    unit->source = source;
    unit->sequence = sequence;
    stage->unit = unit;
    for (int t = 0; t < NL_TABLE_COUNT; t++)
        stage->waiting[t].packed = 0;
    struct nl_builder *b = stage->builder;
    pthread_mutex_lock(&b->lock);
    unit->next = b->units;
    b->units = unit;
    b->unit_count++;
    pthread_mutex_unlock(&b->lock);
}

uint32_t nl_stage_name(struct nl_stage *stage, struct nl_str text)
{
    return nl_dict_add(&stage->names, text);
}
