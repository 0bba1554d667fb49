/*
 * Strings are looked up by the million, so that ids go through an array where they are dense (they
 * are, in every export as written) and through binary search where somebody cut a file down.
 * Names reach the builder only once used: StringIds also holds the captured output of programs and
 * whole files, which have no place in a trace. Lanes are cached per worker, because asking the
 * builder takes a lock.
 */
#include "ingest/nsys/nsysids.h"

#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "base/search.h"
#include "ingest/nsys/nsys.h"

#define MAX_DIRECT ((int64_t)1 << 24) /* ids up to here may be looked up by array */

/* ---- Strings ---- */

enum { STRING_ID, STRING_VALUE };
static const char *const string_columns[] = {[STRING_ID] = "id", [STRING_VALUE] = "value", NULL};

static void keep_string(void *context, const struct sqlitepages_cell *cells)
{
    struct nsys_load *load = context;
    struct nsys_strings *strings = &load->strings;
    if (cells[STRING_ID].type != SQLITEPAGES_INTEGER ||
        cells[STRING_VALUE].type != SQLITEPAGES_TEXT)
        return;
    const unsigned char *map = load->db.map.bytes, *text = cells[STRING_VALUE].bytes;
    bool lasting = load->db.fast && text >= map && text < map + load->db.map.size;
    nl_grow(&strings->list, &strings->cap, strings->count + 1);
    struct nsys_string *string = &strings->list[strings->count++];
    string->id = cells[STRING_ID].integer;
    string->len = cells[STRING_VALUE].len;
    string->text = lasting ? (const char *)text
                           : nl_arena_text(&load->db.arena, (const char *)text, string->len);
    atomic_init(&string->name, 0);
    atomic_init(&string->api, 0);
}

static int by_id(const void *a, const void *b)
{
    int64_t x = ((const struct nsys_string *)a)->id, y = ((const struct nsys_string *)b)->id;
    return x < y ? -1 : x > y;
}

void nsys_strings_load(struct nsys_load *load)
{
    struct nsys_strings *strings = &load->strings;
    nsys_each(load, "StringIds", string_columns, keep_string, load);
    bool sorted = true;
    for (size_t i = 1; i < strings->count && sorted; i++)
        sorted = strings->list[i - 1].id < strings->list[i].id;
    if (!sorted)
        qsort(strings->list, strings->count, sizeof *strings->list, by_id);
    if (strings->count == 0 || strings->list[0].id < 0 ||
        strings->list[strings->count - 1].id >= MAX_DIRECT)
        return;
    strings->direct_count = (size_t)strings->list[strings->count - 1].id + 1;
    strings->direct = nl_zalloc(strings->direct_count * sizeof *strings->direct);
    for (size_t i = 0; i < strings->count; i++)
        strings->direct[strings->list[i].id] = (uint32_t)i + 1;
}

void nsys_strings_release(struct nsys_strings *strings)
{
    nl_free(strings->list);
    nl_free(strings->direct);
    *strings = (struct nsys_strings){0};
}

struct nsys_string *nsys_string_find(const struct nsys_strings *strings, int64_t id)
{
    if (strings->direct) {
        uint64_t at = (uint64_t)id;
        uint32_t place = at < strings->direct_count ? strings->direct[at] : 0;
        return place ? &strings->list[place - 1] : NULL;
    }
    size_t low = NL_FIRST(i, 0, strings->count, strings->list[i].id >= id);
    return low < strings->count && strings->list[low].id == id ? &strings->list[low] : NULL;
}

static bool ends_with(struct nl_str text, const char *end)
{
    size_t len = strlen(end);
    return text.len > len && memcmp(text.ptr + text.len - len, end, len) == 0;
}

struct nl_str nsys_api_text(struct nl_str text)
{
    bool version = false;
    for (int i = 0; i < 2; i++) {
        if (ends_with(text, "_ptsz") || ends_with(text, "_ptds"))
            text.len -= 5;
        size_t digits = 0;
        while (digits < text.len && nl_is_digit(text.ptr[text.len - 1 - digits]))
            digits++;
        if (!version && digits > 0 && text.len > digits + 2 &&
            memcmp(text.ptr + text.len - digits - 2, "_v", 2) == 0) {
            text.len -= digits + 2;
            version = true;
        }
    }
    return text;
}

/* The builder's name of a string, asked for once; two threads that ask at once get the same. */
static uint32_t cached_name(struct nsys_worker *worker, struct nsys_string *string, bool api)
{
    _Atomic uint32_t *cache = api ? &string->api : &string->name;
    uint32_t name = atomic_load_explicit(cache, memory_order_relaxed);
    if (name == 0 && string->len > 0) {
        struct nl_str text = {string->text, string->len};
        name = nl_builder_name(worker->load->builder, api ? nsys_api_text(text) : text);
        atomic_store_explicit(cache, name, memory_order_relaxed);
    }
    return name;
}

static uint32_t name_in_cell(struct nsys_worker *worker, dbfile_cells cell, bool api)
{
    if (cell->type == SQLITEPAGES_INTEGER) {
        struct nsys_string *string = nsys_string_find(&worker->load->strings, cell->integer);
        if (string)
            return cached_name(worker, string, api);
        worker->odd[NSYS_ODD_NO_STRING]++;
        return NL_NO_NAME;
    }
    if (cell->type != SQLITEPAGES_TEXT)
        return NL_NO_NAME;
    struct nl_str text = {(const char *)cell->bytes, cell->len};
    return nl_stage_name(worker->stage, api ? nsys_api_text(text) : text);
}

uint32_t nsys_name(struct nsys_worker *worker, dbfile_cells cell)
{
    return name_in_cell(worker, cell, false);
}

uint32_t nsys_api_name(struct nsys_worker *worker, dbfile_cells cell)
{
    return name_in_cell(worker, cell, true);
}

struct nl_str nsys_text(const struct nsys_load *load, dbfile_cells cell)
{
    if (cell->type == SQLITEPAGES_TEXT)
        return (struct nl_str){(const char *)cell->bytes, cell->len};
    const struct nsys_string *string = NULL;
    if (cell->type == SQLITEPAGES_INTEGER)
        string = nsys_string_find(&load->strings, cell->integer);
    return string ? (struct nl_str){string->text, string->len} : (struct nl_str){"", 0};
}

/* ---- Lists sorted by (process, a, b) ---- */

static int named_order(const struct nsys_named *x, uint64_t process, int64_t a, int64_t b)
{
    if (x->process != process)
        return x->process < process ? -1 : 1;
    if (x->a != a)
        return x->a < a ? -1 : 1;
    return x->b < b ? -1 : x->b > b;
}

/* `order` keeps equal keys in the order they were added. */
static int by_key(const void *left, const void *right)
{
    const struct nsys_named *x = left, *y = right;
    int order = named_order(x, y->process, y->a, y->b);
    return order ? order : (x->order < y->order ? -1 : x->order > y->order);
}

void nsys_named_add(struct nsys_named_list *list, struct nsys_named named)
{
    nl_grow(&list->list, &list->cap, list->count + 1);
    named.order = (uint32_t)list->count;
    list->list[list->count++] = named;
}

void nsys_named_sort(struct nsys_named_list *list)
{
    if (list->count > 0)
        qsort(list->list, list->count, sizeof *list->list, by_key);
}

const struct nsys_named *nsys_named_find(const struct nsys_named_list *list, uint64_t process,
                                         int64_t a, int64_t b)
{
    size_t low = NL_FIRST(i, 0, list->count, named_order(&list->list[i], process, a, b) >= 0);
    bool found = low < list->count && named_order(&list->list[low], process, a, b) == 0;
    return found ? &list->list[low] : NULL;
}

/* ---- Devices and lanes ---- */

uint32_t nsys_device(struct nsys_load *load, uint64_t global, int64_t cuda)
{
    if (cuda == NL_NULL_I64)
        return NL_NULL_ROW;
    int64_t pid = nsys_pid(global), key = cuda;
    for (size_t i = 0; i < load->gpu_count; i++) {
        const struct nsys_gpu *gpu = &load->gpus[i];
        if (gpu->cuda == cuda && (gpu->pid == pid || gpu->pid < 0)) {
            key = gpu->gpu;
            break;
        }
    }
    return nl_builder_device(load->builder, load->source, key, cuda);
}

static uint64_t hash_of(const struct nsys_known_lane *key)
{
    uint64_t hash = nl_hash_pair(key->who, (uint64_t)key->stream + ((uint64_t)key->context << 20) +
                                               ((uint64_t)key->device << 40));
    return hash ^ nl_hash_number((uint64_t)key->domain << 8 | (uint64_t)key->kind << 1 |
                                 (key->thread ^ key->gpu));
}

static bool is_key(const struct nsys_known_lane *lane, const struct nsys_known_lane *key)
{
    return lane->who == key->who && lane->stream == key->stream && lane->context == key->context &&
           lane->device == key->device && lane->domain == key->domain && lane->kind == key->kind &&
           lane->thread == key->thread && lane->gpu == key->gpu;
}

/* Asks the builder for the lane of a key. */
static uint32_t make_lane(struct nsys_load *load, const struct nsys_known_lane *key)
{
    struct nl_lane_key lane = {.kind = (enum nl_lanekind)key->kind,
                               .thread = NL_NULL_ROW,
                               .context = key->context,
                               .stream = key->stream,
                               .domain = key->domain};
    lane.process = NL_NULL_ROW;
    if (!key->gpu || key->who != NSYS_NOBODY)
        lane.process = nl_builder_process(load->builder, load->source, nsys_pid(key->who));
    if (key->thread && key->who != NSYS_NOBODY)
        lane.thread = nl_builder_thread(load->builder, lane.process, nsys_tid(key->who));
    int64_t cuda = key->device;
    if (key->kind == NL_LANE_SYNC) {
        /* Waits are recorded with device 0 whatever their context's device is. */
        const struct nsys_named *known =
            nsys_named_find(&load->contexts, nsys_process_of(key->who), key->context, 0);
        cuda = known ? known->device : cuda;
    }
    if (!key->gpu)
        lane.device = nsys_device(load, key->who, cuda);
    else
        lane.device = key->device == NL_NULL_I64 ? NL_NULL_ROW : nsys_gpu(load, key->device);
    return nl_builder_lane(load->builder, &lane);
}

static uint32_t lane_of(struct nsys_worker *worker, const struct nsys_known_lane *key)
{
    if (worker->last_lane < worker->lane_count && is_key(&worker->lanes[worker->last_lane], key))
        return worker->lanes[worker->last_lane].lane;
    uint64_t hash = hash_of(key);
    uint32_t row = NL_LOOKUP(&worker->by_key, hash, i, is_key(&worker->lanes[i], key));
    worker->last_lane = row != NL_NO_ROW ? row : worker->lane_count;
    if (row != NL_NO_ROW)
        return worker->lanes[row].lane;
    nl_grow(&worker->lanes, &worker->lane_cap, worker->lane_count + 1);
    nl_lookup_add(&worker->by_key, hash, (uint32_t)worker->lane_count);
    struct nsys_known_lane *lane = &worker->lanes[worker->lane_count++];
    *lane = *key;
    lane->lane = make_lane(worker->load, key);
    return lane->lane;
}

/* nsys writes -1 as an unsigned 32-bit number. */
static int64_t small_id(dbfile_cells cell)
{
    int64_t id = dbcell_i64(cell);
    return id == UINT32_MAX || id < 0 ? NL_NULL_I64 : id;
}

uint32_t nsys_stream_lane(struct nsys_worker *worker, enum nl_lanekind kind, dbfile_cells process,
                          dbfile_cells device, dbfile_cells context, dbfile_cells stream)
{
    struct nsys_known_lane key = {.kind = (uint8_t)kind,
                                  .who = nsys_process_of(nsys_global(process)),
                                  .device = small_id(device),
                                  .context = small_id(context),
                                  .stream = small_id(stream)};
    return lane_of(worker, &key);
}

uint32_t nsys_gpu_lane(struct nsys_worker *worker, uint64_t process, uint32_t gpu, uint32_t context)
{
    struct nsys_known_lane key = {.kind = NL_LANE_DEVICE,
                                  .who = process,
                                  .device = gpu == NL_NULL_U32 ? NL_NULL_I64 : gpu,
                                  .context = context == NL_NULL_U32 ? NL_NULL_I64 : context,
                                  .stream = NL_NULL_I64,
                                  .domain = worker->domain,
                                  .gpu = true};
    return lane_of(worker, &key);
}

uint32_t nsys_thread_lane(struct nsys_worker *worker, enum nl_lanekind kind, dbfile_cells who,
                          bool thread, uint32_t domain)
{
    uint64_t global = nsys_global(who);
    struct nsys_known_lane key = {.kind = (uint8_t)kind,
                                  .who = thread ? global : nsys_process_of(global),
                                  .device = NL_NULL_I64,
                                  .context = NL_NULL_I64,
                                  .stream = NL_NULL_I64,
                                  .domain = domain,
                                  .thread = thread};
    return lane_of(worker, &key);
}

/* ---- Times ---- */

#define MAX_TIME NL_MAX_TIME

bool nsys_times(struct nsys_worker *worker, dbfile_cells start, dbfile_cells end,
                struct nl_slice_row *slice)
{
    int64_t from = dbcell_i64(start), to = dbcell_i64(end);
    if (from == NL_NULL_I64) {
        worker->odd[NSYS_ODD_NO_START]++;
        return false;
    }
    if (from > MAX_TIME || from < -MAX_TIME ||
        (to != NL_NULL_I64 && (to > MAX_TIME || to < -MAX_TIME))) {
        worker->odd[NSYS_ODD_TIME_RANGE]++;
        return false;
    }
    slice->ts = from;
    slice->dur = NL_NULL_I64;
    if (to == NL_NULL_I64)
        return true;
    slice->dur = to - from;
    if (to < from) {
        worker->odd[NSYS_ODD_NEGATIVE]++;
        slice->dur = 0;
    }
    return true;
}
