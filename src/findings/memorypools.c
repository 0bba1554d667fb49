/* memorypools — see memorypools.h. */
#include "findings/memorypools.h"

#include <math.h>

#include "tables/scope.h"

#define MAX_POOLS 64

static bool is_of_scene(const struct nl_scene *scene, uint32_t row)
{
    const struct nl_memory_table *memory = &scene->trace->memory;
    const struct nl_window *window = scene->window;
    if (memory->total_allocated[row] == NL_NULL_U64 || memory->ts[row] == NL_NULL_I64 ||
        (window->has_time && (memory->ts[row] < window->start || memory->ts[row] >= window->end)))
        return false;
    return scene->device->rank == NL_NULL_I64 || memory->lane[row] == NL_NULL_ROW ||
           nl_lane_rank(scene->trace, memory->lane[row]) == scene->device->rank;
}

bool nl_memory_in_pool(const struct nl_scene *scene, const struct nl_memory_pool *pool,
                       uint32_t row)
{
    const struct nl_memory_table *memory = &scene->trace->memory;
    return memory->device_type[row] == pool->device_type && memory->device[row] == pool->device &&
           is_of_scene(scene, row);
}

static void add_memory_row(struct nl_memory_pool *pool, const struct nl_memory_table *memory,
                           uint32_t row)
{
    uint64_t allocated = memory->total_allocated[row], reserved = memory->total_reserved[row];
    pool->first_ts = memory->ts[row] < pool->first_ts ? memory->ts[row] : pool->first_ts;
    pool->last_ts = memory->ts[row] > pool->last_ts ? memory->ts[row] : pool->last_ts;
    pool->peak_allocated = allocated > pool->peak_allocated ? allocated : pool->peak_allocated;
    if (reserved != NL_NULL_U64 && reserved > pool->peak_reserved)
        pool->peak_reserved = reserved;
}

bool nl_memory_pool(const struct nl_scene *scene, struct nl_memory_pool *pool)
{
    const struct nl_memory_table *memory = &scene->trace->memory;
    struct nl_memory_pool pools[MAX_POOLS];
    size_t count = 0, at, best = 0;
    for (uint32_t row = 0; row < memory->rows; row++) {
        if (!is_of_scene(scene, row))
            continue;
        for (at = 0; at < count; at++)
            if (pools[at].device_type == memory->device_type[row] &&
                pools[at].device == memory->device[row])
                break;
        if (at == MAX_POOLS)
            continue;
        if (at == count)
            pools[count++] = (struct nl_memory_pool){.device_type = memory->device_type[row],
                                                     .device = memory->device[row],
                                                     .first_ts = INT64_MAX,
                                                     .last_ts = INT64_MIN};
        add_memory_row(&pools[at], memory, row);
    }
    for (at = 1; at < count; at++)
        if (pools[at].peak_allocated > pools[best].peak_allocated)
            best = at;
    if (count)
        *pool = pools[best];
    return count > 0;
}

const char *nl_memory_pool_sql(const struct nl_scene *scene, const struct nl_memory_pool *pool)
{
    const char *number = pool->device == NL_NULL_I64
                             ? "device IS NULL"
                             : nl_say(scene, "device = %lld", (long long)pool->device);
    const char *kind = pool->device_type == NL_NULL_I64
                           ? "device_type IS NULL"
                           : nl_say(scene, "device_type = %lld", (long long)pool->device_type);
    const char *rank =
        scene->device->rank == NL_NULL_I64
            ? ""
            : nl_say(scene, " AND (lane IS NULL OR rank = %lld)", (long long)scene->device->rank);
    return nl_say(scene, "%s AND %s%s%s AND total_allocated IS NOT NULL", kind, number, rank,
                  nl_scene_during(scene, ""));
}

const char *nl_memory_pool_name(const struct nl_scene *scene, const struct nl_memory_pool *pool)
{
    if (pool->device_type == 0)
        return "the CPU";
    return pool->device == NL_NULL_I64 ? "the device"
                                       : nl_say(scene, "device %lld", (long long)pool->device);
}

void nl_find_bytes(struct nl_finding *finding)
{
    finding->timeless = true;
    finding->severity = NL_SEVERITY_WARNING;
    finding->confidence = 1;
    finding->cost_ns = finding->saving_ns[0] = finding->saving_ns[1] = 0;
    finding->cost_share = (double)NAN;
}
