/* collectivesizes — see collectivesizes.h. */
#include "findings/collectivesizes.h"

#include "base/mem.h"
#include "base/sort.h"
#include "base/sum.h"
#include "tables/scope.h"

static bool collective_counts(const struct nl_scene *scene, uint32_t row)
{
    const struct nl_trace *trace = scene->trace;
    const struct nl_collective_table *table = &trace->collective;
    const struct nl_window *window = scene->window;
    uint32_t slice = table->slice[row];
    if (trace->slice.kind[slice] != NL_KIND_KERNEL || trace->slice.dur[slice] <= 0 ||
        trace->slice.flags[slice] & NL_SLICE_CLAMPED || table->bytes[row] == NL_NULL_U64 ||
        !table->bytes[row] || table->ranks[row] == 1)
        return false;
    uint32_t lane = trace->slice.lane[slice];
    int64_t ts = trace->slice.ts[slice];
    return trace->lane.device[lane] == scene->device->device &&
           nl_lane_rank(trace, lane) == scene->device->rank &&
           (!window->has_time || (ts >= window->start && ts < window->end));
}

static bool same(const struct nl_collective_table *table, uint32_t a, uint32_t b)
{
    return table->operation[a] == table->operation[b] && table->bytes[a] == table->bytes[b] &&
           table->group_name[a] == table->group_name[b];
}

static void add_collective(struct nl_collective_size *size, int64_t ts, int64_t ns)
{
    size->count++;
    nl_sum_add(&size->total_ns, ns);
    size->shortest_ns = ns < size->shortest_ns ? ns : size->shortest_ns;
    if (ts < size->first_ts || (ts == size->first_ts && ns < size->first_ns)) {
        size->first_ts = ts;
        size->first_ns = ns;
    }
}

struct nl_collective_size *nl_collective_sizes(const struct nl_scene *scene, size_t *count)
{
    const struct nl_collective_table *table = &scene->trace->collective;
    struct nl_keyed *rows = nl_alloc(((size_t)table->rows + 1) * sizeof *rows);
    struct nl_collective_size *sizes = NULL;
    size_t kept = 0, cap = 0;
    *count = 0;
    for (uint32_t row = 0; row < table->rows; row++) {
        if (!collective_counts(scene, row))
            continue;
        uint64_t hash = ((uint64_t)table->operation[row] << 40) ^
                        ((uint64_t)table->group_name[row] << 20) ^ table->bytes[row];
        rows[kept++] = (struct nl_keyed){hash * 0x9E3779B97F4A7C15u, row};
    }
    struct nl_keyed *scratch = nl_alloc((kept + 1) * sizeof *scratch);
    nl_sort_keyed(rows, scratch, kept);
    nl_free(scratch);
    for (size_t i = 0; i < kept; i++) {
        uint32_t row = rows[i].row;
        uint32_t slice = table->slice[row];
        int64_t ns = scene->trace->slice.dur[slice];
        if (!*count || !same(table, sizes[*count - 1].row, row)) {
            nl_grow(&sizes, &cap, *count + 1);
            sizes[(*count)++] = (struct nl_collective_size){
                .row = row, .shortest_ns = INT64_MAX, .first_ts = INT64_MAX};
        }
        add_collective(&sizes[*count - 1], scene->trace->slice.ts[slice], ns);
    }
    for (size_t i = 0; i < *count; i++) {
        sizes[i].count--;
        sizes[i].total_ns -= sizes[i].first_ns;
    }
    nl_free(rows);
    return sizes;
}

const char *nl_collectives_sql(const struct nl_scene *scene)
{
    return nl_say(scene, "kind = 'kernel' AND dur > 0 AND bytes > 0 AND ranks IS NOT 1 AND %s",
                  nl_scene_on(scene, ""));
}

const char *nl_collective_calls_sql(const struct nl_scene *scene, const char *where)
{
    return nl_say(
        scene,
        "WITH every AS (SELECT *, row_number() OVER (PARTITION BY operation, bytes, group_name "
        "ORDER BY ts, dur) AS place, min(dur) OVER (PARTITION BY operation, bytes, "
        "group_name) AS shortest FROM collectives WHERE %s), calls AS (SELECT * FROM "
        "every WHERE place > 1)",
        where);
}

const char *nl_collective_size_sql(const struct nl_scene *scene, uint32_t row)
{
    const struct nl_collective_table *table = &scene->trace->collective;
    struct nl_str operation = nl_trace_name(scene->trace, table->operation[row]);
    struct nl_str group = nl_trace_name(scene->trace, table->group_name[row]);
    return nl_say(
        scene, "%s AND operation IS %s AND bytes = %llu AND group_name IS %s",
        nl_collectives_sql(scene), operation.len ? nl_say_quoted(scene, operation) : "NULL",
        (unsigned long long)table->bytes[row], group.len ? nl_say_quoted(scene, group) : "NULL");
}
