/*
 * data_loading — a program without device work spends its time on fetching input.
 *
 * Signal: the main thread is inside a DataLoader's __next__ or another range or function that
 * fetches data for over 10 % of wall: slices of that name, else functions of that name or in a file
 * called so, with what they call (samples in ns and sums of profilers). Fetching by worker threads
 * and processes in parallel with the work does not count.
 */
#include "findings/bookcause.h"
#include "base/mem.h"
#include "base/sum.h"

#define WARN_SHARE     0.10
#define CRITICAL_SHARE 0.40

static const char *const marks[] = {"DataLoader", "dataloader", "data_load",   "data load",
                                    "_next_data", "next_batch", "fetch_batch", "get_batch"};

/* ---- timelines ---- */

static enum nl_verdict judge_slices(struct nl_scene *scene, struct nl_finding *finding,
                                    uint32_t thread)
{
    struct nl_evidence longest = {0};
    uint8_t *marked = nl_marks_names(scene->trace, NL_MARKS(marks));
    size_t count = nl_scene_slices(scene, thread, marked, &finding->where, &longest);
    nl_free(marked);
    int64_t cost = nl_intervals_length(&finding->where);
    if (nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    const char *from =
        nl_say(scene, "FROM slices WHERE %s AND %s%s", nl_scene_thread_sql(scene, thread),
               nl_marks_sql(scene, "name", NL_MARKS(marks)), nl_scene_during(scene, ""));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Fetching input takes %s of %s (%s) on the main thread",
             nl_say_ns(scene, cost), nl_say_ns(scene, scene->wall_ns),
             nl_say_share(scene, finding->cost_share));
    longest.metric = "data_loading_ns";
    longest.threshold = "> 10 % of wall";
    longest.query = nl_say(scene, "SELECT busy(ts, dur) %s", from);
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)cost;
    nl_prove(scene, finding, longest, "%s (%s of the time) inside ranges that fetch input",
             nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "data_loading_calls",
                                  .query = nl_say(scene, "SELECT count(dur) %s", from),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)count},
             "%s such slices", nl_say_count(scene, count));
    return NL_CAUSE_FOUND;
}

/* ---- samples ---- */

static bool is_loader(const struct nl_trace *trace, uint32_t frame)
{
    return nl_marks_in(NL_MARKS(marks), nl_trace_name(trace, trace->stack.name[frame])) ||
           nl_marks_in(NL_MARKS(marks), nl_trace_name(trace, trace->stack.file[frame]));
}

/* Per frame whether it, or a caller, fetches: callers may stand anywhere,
 * so until nothing changes. */
static uint8_t *find_inside(const struct nl_trace *trace, uint64_t *frames)
{
    uint8_t *inside = nl_zalloc((size_t)trace->stack.rows + 1);
    bool changed = true;
    for (uint32_t i = 0; i < trace->stack.rows; i++)
        *frames += inside[i] = is_loader(trace, i);
    for (size_t rounds = 0; changed && rounds < UINT16_MAX; rounds++) {
        changed = false;
        for (uint32_t i = 0; i < trace->stack.rows; i++) {
            uint32_t caller = trace->stack.parent[i];
            if (inside[i] || caller == NL_NULL_ROW || !inside[caller])
                continue;
            inside[i] = 1;
            changed = true;
        }
    }
    return inside;
}

static int64_t sum_samples(const struct nl_scene *scene, const uint8_t *inside, uint32_t event,
                           uint32_t lane)
{
    const struct nl_sample_table *sample = &scene->trace->sample;
    uint32_t unit = nl_dict_find(&scene->trace->names, nl_str("ns"));
    int64_t sum = 0;
    for (uint32_t row = 0; row < sample->rows; row++)
        if (sample->unit[row] == unit && sample->weight[row] > 0 && sample->event[row] == event &&
            sample->lane[row] == lane && sample->stack[row] != NL_NULL_ROW &&
            inside[sample->stack[row]])
            nl_sum_add(&sum, sample->weight[row]);
    return sum;
}

static const char *samples_sql(const struct nl_scene *scene, uint32_t event, uint32_t lane)
{
    struct nl_str name = nl_trace_name(scene->trace, event);
    return nl_say(
        scene,
        "WITH RECURSIVE inside(id) AS (SELECT id FROM stacks WHERE %s OR %s UNION SELECT s.id FROM "
        "inside i JOIN stacks s ON s.parent = i.id) SELECT sum(weight) FROM samples WHERE unit = "
        "'ns' AND weight > 0 AND event IS %s AND lane IS %s AND stack IN (SELECT id FROM inside)",
        nl_marks_sql(scene, "name", NL_MARKS(marks)), nl_marks_sql(scene, "file", NL_MARKS(marks)),
        event == NL_NO_NAME ? "NULL" : nl_say_quoted(scene, name),
        lane == NL_NULL_ROW ? "NULL" : nl_say(scene, "%u", lane));
}

static void write_down(struct nl_scene *scene, struct nl_finding *finding, int64_t cost,
                       uint64_t frames, const char *query, const char *frames_query)
{
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Fetching input takes %s of %s (%s)", nl_say_ns(scene, cost),
             nl_say_ns(scene, scene->wall_ns), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "data_loading_ns",
                                  .threshold = "> 10 % of wall",
                                  .query = query,
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)cost},
             "%s in functions that fetch input, with what they call", nl_say_ns(scene, cost));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "data_loading_functions",
                                  .query = frames_query,
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)frames},
             "%s frames or functions named so", nl_say_count(scene, frames));
}

static enum nl_verdict judge_samples(struct nl_scene *scene, struct nl_finding *finding,
                                     uint32_t event, uint32_t lane)
{
    uint64_t frames = 0;
    uint8_t *inside = find_inside(scene->trace, &frames);
    int64_t cost = frames ? sum_samples(scene, inside, event, lane) : 0;
    nl_free(inside);
    if (scene->window->has_time || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    write_down(scene, finding, cost, frames, samples_sql(scene, event, lane),
               nl_say(scene, "SELECT count(*) FROM stacks WHERE %s OR %s",
                      nl_marks_sql(scene, "name", NL_MARKS(marks)),
                      nl_marks_sql(scene, "file", NL_MARKS(marks))));
    return NL_CAUSE_FOUND;
}

/* ---- sums of functions ---- */

static enum nl_verdict judge_calls(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    int64_t most = 0;
    uint64_t functions = 0;
    for (uint32_t row = 0; row < trace->call.rows; row++) {
        if (trace->call.caller[row] != NL_NULL_ROW || trace->call.total_ns[row] == NL_NULL_I64 ||
            !is_loader(trace, trace->call.stack[row]))
            continue;
        functions++;
        most = trace->call.total_ns[row] > most ? trace->call.total_ns[row] : most;
    }
    if (nl_scene_share(scene, most) <= WARN_SHARE || most > scene->wall_ns)
        return NL_CAUSE_ABSENT;
    const char *where = nl_say(
        scene, "FROM calls c JOIN stacks f ON f.id = c.stack WHERE c.caller IS NULL AND (%s OR %s)",
        nl_marks_sql(scene, "f.name", NL_MARKS(marks)),
        nl_marks_sql(scene, "f.file", NL_MARKS(marks)));
    write_down(scene, finding, most, functions, nl_say(scene, "SELECT max(c.total_ns) %s", where),
               nl_say(scene, "SELECT count(c.total_ns) %s", where));
    return NL_CAUSE_FOUND;
}

static enum nl_verdict data_loading_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    uint32_t thread = nl_scene_thread(scene), event, lane;
    if (thread != NL_NULL_ROW)
        return judge_slices(scene, finding, thread);
    if (nl_account_sampled(scene->trace, scene->window, &event, &lane))
        return judge_samples(scene, finding, event, lane);
    return judge_calls(scene, finding);
}

const struct nl_cause nl_cause_data_loading = {
    .id = "data_loading",
    .on = NL_ON_CPU,
    .doc = "CPU-only: the main thread is inside a DataLoader's __next__, or another range or "
           "function that fetches input (including what it calls), for more than 10 % of wall.",
    .of_gaps = true,
    .evaluate = data_loading_evaluate,
    .not_this_if = "workers fetch in parallel (then the main thread does not wait for them), or "
                   "loading is the purpose of the program",
};
