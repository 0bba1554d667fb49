/*
 * Lanes are asked for row by row; a direct-mapped cache answers nearly always, because neighbouring
 * rows belong to few streams and threads.
 */
#include "ingest/lib/gpurows.h"

#include "base/mem.h"

#define MAX_TIME            NL_MAX_TIME
#define ARRAY_SLOTS_PER_KEY 8

void gpurows_begin(struct gpurows *rows, struct nl_builder *builder, uint32_t source,
                   struct nl_job *job)
{
    *rows = (struct gpurows){.builder = builder, .source = source, .job = job};
    rows->stage = nl_stage_new(builder);
    nl_stage_begin(rows->stage, source, 0);
}

void gpurows_source(struct gpurows *rows, uint32_t source)
{
    gpurows_map_release(&rows->live);
    gpurows_map_release(&rows->ordinals);
    memset(rows->cache, 0, sizeof rows->cache);
    rows->source = source;
    nl_stage_begin(rows->stage, source, ++rows->units);
}

void gpurows_end(struct gpurows *rows)
{
    gpurows_map_release(&rows->live);
    gpurows_map_release(&rows->ordinals);
    const struct {
        const char *item;
        uint64_t count;
        const char *detail;
    } notes[] = {
        {"skipped: row without a start time", rows->no_start, "its time is empty or no number"},
        {"repaired: end before its start", rows->negative, "length 0"},
        {"repaired: no end", rows->no_end, "ends with the trace"},
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        if (notes[i].count > 0)
            nl_builder_coverage(rows->builder, rows->source, notes[i].item, (int64_t)notes[i].count,
                                notes[i].detail);
}

int64_t gpurows_ordinal(const struct gpurows *rows, int64_t key)
{
    const uint64_t *number = gpurows_map_find(&rows->ordinals, (uint64_t)key);
    return number ? (int64_t)*number : key;
}

/* Bytes below 2^48, device above; device 0xffff is "not given". */
void gpurows_allocation(struct gpurows *rows, struct nl_memory_row *row, int64_t bytes, bool freed)
{
    const uint64_t mask = ((uint64_t)1 << 48) - 1;
    if (!freed) {
        row->bytes = bytes > 0 ? bytes : NL_NULL_I64;
        bool small = row->device >= 0 && row->device < 0xffff;
        if (row->address != NL_NULL_U64 && bytes > 0 && (uint64_t)bytes <= mask)
            *gpurows_map_put(&rows->live, row->address, 0, NULL) =
                (uint64_t)bytes | (small ? (uint64_t)row->device : 0xffff) << 48;
        return;
    }
    const uint64_t *made =
        row->address == NL_NULL_U64 ? NULL : gpurows_map_find(&rows->live, row->address);
    row->bytes = bytes > 0 ? -bytes : made ? -(int64_t)(*made & mask) : NL_NULL_I64;
    if (made && *made >> 48 != 0xffff)
        row->device = (int64_t)(*made >> 48);
}

bool gpurows_stop(const struct gpurows *rows)
{
    return nl_job_cancelled(rows->job) || nl_builder_over_budget(rows->builder);
}

bool gpurows_times(struct gpurows *rows, int64_t start, int64_t end, struct nl_slice_row *slice)
{
    if (start == NL_NULL_I64 || start > MAX_TIME || start < -MAX_TIME) {
        rows->no_start++;
        return false;
    }
    rows->rows++;
    slice->ts = start;
    if (end == NL_NULL_I64 || end > MAX_TIME || end < -MAX_TIME) {
        rows->no_end++;
        return true;
    }
    rows->negative += end < start;
    slice->dur = end < start ? 0 : end - start;
    return true;
}

/* ---- Lanes ---- */

static uint32_t make_lane(struct gpurows *rows, const struct gpurows_slot *want)
{
    bool stream =
        want->kind == NL_LANE_STREAM || want->kind == NL_LANE_SYNC || want->kind == NL_LANE_DEVICE;
    struct nl_lane_key key = {.kind = want->kind,
                              .process = nl_builder_process(rows->builder, rows->source, want->pid),
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = want->context,
                              .stream = want->stream,
                              .domain = want->domain};
    if (stream && want->who != NL_NULL_I64)
        key.device = nl_builder_device(rows->builder, rows->source, want->who, want->who);
    if (!stream && want->who != NL_NULL_I64)
        key.thread = nl_builder_thread(rows->builder, key.process, want->who);
    return nl_builder_lane(rows->builder, &key);
}

static uint32_t find_lane(struct gpurows *rows, struct gpurows_slot want)
{
    uint64_t hash = (uint64_t)want.pid * 31 + (uint64_t)want.who;
    hash = (hash * 31 + (uint64_t)want.context) * 31 + (uint64_t)want.stream;
    hash = (hash * 31 + want.kind * 7u + want.domain) * 0x9e3779b97f4a7c15u;
    struct gpurows_slot *slot = &rows->cache[hash >> 56];
    if (slot->used && slot->kind == want.kind && slot->domain == want.domain &&
        slot->pid == want.pid && slot->who == want.who && slot->context == want.context &&
        slot->stream == want.stream)
        return slot->lane;
    want.lane = make_lane(rows, &want);
    want.used = true;
    *slot = want;
    return want.lane;
}

uint32_t gpurows_stream(struct gpurows *rows, int64_t pid, int64_t device, int64_t context,
                        int64_t stream)
{
    return find_lane(rows, (struct gpurows_slot){.kind = NL_LANE_STREAM,
                                                 .pid = pid,
                                                 .who = device,
                                                 .context = context,
                                                 .stream = stream});
}

uint32_t gpurows_device(struct gpurows *rows, enum nl_lanekind kind, int64_t pid, int64_t device,
                        int64_t context, int64_t stream)
{
    return find_lane(rows, (struct gpurows_slot){.kind = (uint8_t)kind,
                                                 .pid = pid,
                                                 .who = device,
                                                 .context = context,
                                                 .stream = stream});
}

uint32_t gpurows_thread(struct gpurows *rows, enum nl_lanekind kind, int64_t pid, int64_t tid,
                        uint32_t domain)
{
    return find_lane(rows, (struct gpurows_slot){.kind = (uint8_t)kind,
                                                 .pid = pid,
                                                 .who = tid,
                                                 .context = NL_NULL_I64,
                                                 .stream = NL_NULL_I64,
                                                 .domain = domain});
}

/* ---- Words ---- */

static uint32_t blocks(uint32_t items, uint32_t block)
{
    if (items == NL_NULL_U32 || block == NL_NULL_U32 || block == 0)
        return NL_NULL_U32;
    return items / block + (items % block != 0);
}

void gpurows_work_items(struct nl_kernel_row *kernel, const uint32_t items[3],
                        const uint32_t block[3])
{
    kernel->grid_x = blocks(items[0], block[0]);
    kernel->grid_y = blocks(items[1], block[1]);
    kernel->grid_z = blocks(items[2], block[2]);
    kernel->block_x = block[0];
    kernel->block_y = block[1];
    kernel->block_z = block[2];
}

struct nl_str gpurows_kernel_name(struct nl_str name)
{
    static const char *const endings[] = {" [clone .kd]", " (.kd)", ".kd"};
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t len = strlen(endings[i]);
        if (name.len > len && memcmp(name.ptr + name.len - len, endings[i], len) == 0)
            return (struct nl_str){name.ptr, name.len - len};
    }
    return name;
}

/* ---- CUPTI's numbers ---- */

static uint8_t mapped(int64_t number, const uint8_t *map, size_t count)
{
    return number >= 0 && number < (int64_t)count ? map[number] : 0;
}

uint8_t gpurows_cupti_memory(int64_t number)
{
    static const uint8_t kinds[] = {
        NL_MEMORY_UNKNOWN, NL_MEMORY_PAGEABLE, NL_MEMORY_PINNED,        NL_MEMORY_DEVICE,
        NL_MEMORY_ARRAY,   NL_MEMORY_MANAGED,  NL_MEMORY_DEVICE_STATIC, NL_MEMORY_MANAGED_STATIC};
    return mapped(number, kinds, sizeof kinds);
}

uint8_t gpurows_cupti_sync(int64_t number)
{
    static const uint8_t kinds[] = {NL_SYNC_UNKNOWN, NL_SYNC_EVENT, NL_SYNC_STREAM_WAIT_EVENT,
                                    NL_SYNC_STREAM, NL_SYNC_CONTEXT};
    return mapped(number, kinds, sizeof kinds);
}

uint32_t gpurows_copy_name(const struct gpurows *rows, uint8_t kind)
{
    const char *text = nl_enum_text(NL_ENUM_copykind, kind);
    struct nl_buf name;
    nl_buf_init(&name, 64);
    nl_buf_format(&name, "[CUDA memcpy%s%s]", text ? " " : "", text ? text : "");
    uint32_t id = nl_stage_name(rows->stage, (struct nl_str){name.ptr, name.len});
    nl_buf_release(&name);
    return id;
}

uint32_t gpurows_sync_name(const struct gpurows *rows, uint8_t kind)
{
    static const char *const names[] = {"Synchronization", "Event synchronization",
                                        "Stream wait event", "Stream synchronization",
                                        "Context synchronization"};
    bool known = kind < sizeof names / sizeof names[0];
    return nl_stage_name(rows->stage, nl_str(names[known ? kind : 0]));
}

/* ---- Numbers by id ---- */

static size_t place(const struct gpurows_map *map, uint64_t key)
{
    /* Ids are nearly consecutive: runs of 64 stay neighbours. */
    uint64_t run = (key >> 6) * 0x9e3779b97f4a7c15u;
    size_t at = ((run ^ run >> 29) << 6 ^ (key & 63)) & (map->size - 1);
    while (map->pairs[at].used && map->pairs[at].key != key)
        at = (at + 1) & (map->size - 1);
    return at;
}

static void grow(struct gpurows_map *map)
{
    struct gpurows_map old = *map;
    map->size = old.size ? old.size * 2 : 1024;
    map->pairs = nl_zalloc(map->size * sizeof *map->pairs);
    for (size_t i = 0; i < old.size; i++)
        if (old.pairs[i].used)
            map->pairs[place(map, old.pairs[i].key)] = old.pairs[i];
    nl_free(old.pairs);
}

/* Whether the array has a place for the key; grows it up to ARRAY_SLOTS_PER_KEY places per key. */
static bool has_place(struct gpurows_map *map, uint64_t key)
{
    if (key < map->small_size)
        return true;
    if (key >= (map->small_count + map->pair_count + 16) * ARRAY_SLOTS_PER_KEY)
        return false;
    size_t size = map->small_size ? map->small_size * 2 : 64;
    size = size > key ? size : (size_t)key + 1;
    map->small = nl_realloc(map->small, size * sizeof *map->small);
    map->small_used = nl_realloc(map->small_used, size);
    memset(map->small_used + map->small_size, 0, size - map->small_size);
    map->small_size = size;
    return true;
}

/* The place of a key's value; *known: it was there before. A key stays where it was put first. */
static uint64_t *place_for(struct gpurows_map *map, uint64_t key, bool *known)
{
    size_t at = map->pair_count ? place(map, key) : 0;
    *known = map->pair_count && map->pairs[at].used;
    if (*known)
        return &map->pairs[at].value;
    if (has_place(map, key)) {
        *known = map->small_used[key];
        map->small_used[key] = 1;
        map->small_count += !*known;
        return &map->small[key];
    }
    if (map->pair_count * 2 >= map->size)
        grow(map);
    at = place(map, key);
    map->pairs[at] = (struct gpurows_pair){.key = key, .used = true};
    map->pair_count++;
    return &map->pairs[at].value;
}

uint64_t *gpurows_map_put(struct gpurows_map *map, uint64_t key, uint64_t value, bool *made)
{
    bool known;
    uint64_t *to = place_for(map, key, &known);
    if (made)
        *made = !known;
    if (!known) {
        *to = value;
        map->count++;
    }
    return to;
}

const uint64_t *gpurows_map_find_pair(const struct gpurows_map *map, uint64_t key)
{
    size_t at = place(map, key);
    return map->pairs[at].used ? &map->pairs[at].value : NULL;
}

void gpurows_map_release(struct gpurows_map *map)
{
    nl_free(map->pairs);
    nl_free(map->small);
    nl_free(map->small_used);
    *map = (struct gpurows_map){0};
}
