/* Members are looked up in a table; the dozens of others are skipped. */
#include "ingest/amd/rocagent.h"

#include <stddef.h>

static const struct {
    const char *key;
    size_t at;
} numbers[] = {
    {"node_id", offsetof(struct rocagent, node)},
    {"logical_node_type_id", offsetof(struct rocagent, gpu_number)},
    {"type", offsetof(struct rocagent, type)},
    {"cu_count", offsetof(struct rocagent, units)},
    {"wave_front_size", offsetof(struct rocagent, wave)},
    {"max_engine_clk_fcompute", offsetof(struct rocagent, clock_mhz)},
    {"max_waves_per_cu", offsetof(struct rocagent, waves_per_unit)},
};

/* {"handle": 37944} */
static void read_handle(struct jsonpull *reader, int64_t *handle)
{
    if (jsonpull_next(reader) != JSONPULL_OBJECT)
        return;
    while (jsonpull_member(reader)) {
        bool mine = nl_str_is(reader->text, "handle");
        (void)jsonpull_next(reader);
        if (mine)
            (void)jsonpull_i64(reader, handle);
        jsonpull_skip(reader);
    }
}

/* [{"size_in_bytes": …}, …] */
static void read_banks(struct jsonpull *reader, uint64_t *bytes)
{
    int64_t size;
    if (jsonpull_next(reader) != JSONPULL_ARRAY)
        return;
    while (jsonpull_item(reader)) {
        if (reader->type != JSONPULL_OBJECT)
            continue;
        while (jsonpull_member(reader)) {
            bool mine = nl_str_is(reader->text, "size_in_bytes");
            (void)jsonpull_next(reader);
            if (mine && jsonpull_i64(reader, &size) && size > 0)
                *bytes += (uint64_t)size;
            jsonpull_skip(reader);
        }
    }
}

static bool read_number(struct jsonpull *reader, struct rocagent *agent)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (nl_str_is(reader->text, numbers[i].key)) {
            (void)jsonpull_next(reader);
            (void)jsonpull_i64(reader, (int64_t *)(void *)((char *)agent + numbers[i].at));
            jsonpull_skip(reader);
            return true;
        }
    return false;
}

static bool read_name(struct jsonpull *reader, struct nl_builder *builder, struct rocagent *agent)
{
    bool name = nl_str_is(reader->text, "name");
    if (!name && !nl_str_is(reader->text, "product_name"))
        return false;
    if (jsonpull_next(reader) == JSONPULL_STRING && reader->text.len > 0)
        *(name ? &agent->name : &agent->product) = nl_builder_name(builder, reader->text);
    jsonpull_skip(reader);
    return true;
}

void rocagent_read(struct jsonpull *reader, struct nl_builder *builder, struct rocagent *agent)
{
    *agent =
        (struct rocagent){.handle = NL_NULL_I64, .node = NL_NULL_I64, .gpu_number = NL_NULL_I64};
    while (jsonpull_member(reader)) {
        if (nl_str_is(reader->text, "id"))
            read_handle(reader, &agent->handle);
        else if (nl_str_is(reader->text, "mem_banks"))
            read_banks(reader, &agent->memory_bytes);
        else if (!read_number(reader, agent) && !read_name(reader, builder, agent))
            jsonpull_skip(reader);
    }
}

static uint32_t positive(int64_t value)
{
    return value > 0 ? gpurows_u32(value) : NL_NULL_U32;
}

void rocagent_device(struct gpurows *rows, int64_t key, const struct rocagent *agent)
{
    if (agent->type != 2)
        return;
    uint32_t device = nl_builder_device(rows->builder, rows->source, key, agent->gpu_number);
    struct nl_device_row *row = nl_builder_device_row(rows->builder, device);
    row->name = agent->product ? agent->product : agent->name;
    row->vendor = nl_builder_name(rows->builder, nl_str("amd"));
    row->sm_count = positive(agent->units);
    row->warp_size = positive(agent->wave);
    row->max_warps_per_sm = positive(agent->waves_per_unit);
    (void)gpurows_map_put(&rows->ordinals, (uint64_t)key, (uint64_t)agent->gpu_number, NULL);
    if (agent->memory_bytes > 0)
        row->memory_bytes = agent->memory_bytes;
    if (agent->clock_mhz > 0 && agent->clock_mhz < 100000)
        row->clock_hz = (uint64_t)agent->clock_mhz * 1000000;
}
