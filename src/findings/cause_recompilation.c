/*
 * recompilation — the same code is compiled again and again.
 *
 * Signal: slices that stand for compilation (by kind, or by the names of TorchInductor,
 * Dynamo, Triton and XLA) of one name come three times or more after the first fifth of the
 * time, and together cost over 1 % of wall: on a device its idle time meanwhile, in a
 * CPU-only profile all of it.
 */
#include "base/utf8.h"
#include "findings/bookcause.h"
#include "base/mem.h"

#include <string.h>

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.10
#define WARM_UP        5
#define MIN_TIMES      3

static const char *const marks[] = {"compile_fx",      "_compile.compile_inner", "triton.compile",
                                    "backend_compile", "inductor_compile",       "CompilePTX",
                                    "nvrtcCompile",    "hiprtcCompile",          "XlaCompile"};

struct again {
    uint32_t name;
    uint64_t times;
    struct nl_intervals all;
};

static int64_t since(const struct nl_scene *scene)
{
    return scene->device->start_ns + scene->wall_ns / WARM_UP;
}

/* Slices that stand for compilation, by kind or by name. */
static const struct nl_slices_found *compilations(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_slices_found *list = scene->compiled;
    if (list->made)
        return list;
    uint8_t *marked = nl_marks_names(trace, NL_MARKS(marks));
    bool any = memchr(marked, true, (size_t)trace->names.count + 1) != NULL;
    for (uint32_t slice = 0; slice < trace->slice.rows; slice++) {
        unsigned kind = trace->slice.kind[slice];
        if (kind != NL_KIND_COMPILE &&
            (!any || !marked[trace->slice.name[slice]] || kind == NL_KIND_KERNEL))
            continue;
        if (trace->slice.dur[slice] <= 0)
            continue;
        nl_grow(&list->rows, &list->cap, list->count + 1);
        list->rows[list->count++] = slice;
    }
    nl_free(marked);
    list->made = true;
    return list;
}

/* The name that is compiled most often, and the times of all of them; later than the warm-up. */
static struct again find_again(const struct nl_scene *scene, struct nl_evidence *longest)
{
    const struct nl_trace *trace = scene->trace;
    struct again again = {0};
    const struct nl_slices_found *list = compilations(scene);
    nl_intervals_init(&again.all);
    if (!list->count)
        return again;
    uint64_t *times = nl_zalloc(((size_t)trace->names.count + 1) * sizeof *times);
    int64_t from = since(scene);
    for (size_t i = 0; i < list->count; i++) {
        uint32_t slice = list->rows[i], name = trace->slice.name[slice];
        int64_t ts = trace->slice.ts[slice];
        if (ts < from || ts >= scene->device->start_ns + scene->wall_ns ||
            (scene->device->rank != NL_NULL_I64 &&
             nl_slice_rank(trace, slice) != scene->device->rank))
            continue;
        nl_intervals_add(&again.all, ts, nl_slice_end(trace, slice));
        nl_example_slice(scene, longest, slice);
        if (++times[name] > again.times) {
            again.times = times[name];
            again.name = name;
        }
    }
    nl_intervals_normalise(&again.all);
    nl_free(times);
    return again;
}

static const char *where(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    return nl_say(scene,
                  "FROM slices WHERE dur > 0 AND ts >= %lld AND ts < %lld AND (kind = 'compile' OR "
                  "(kind <> 'kernel' AND %s))%s",
                  (long long)(since(scene) - trace->first_ts),
                  (long long)(scene->device->start_ns + scene->wall_ns - trace->first_ts),
                  nl_marks_sql(scene, "name", NL_MARKS(marks)),
                  scene->device->rank == NL_NULL_I64
                      ? ""
                      : nl_say(scene, " AND rank = %lld", (long long)scene->device->rank));
}

static enum nl_verdict recompilation_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_evidence longest = {0};
    struct again again = find_again(scene, &longest);
    nl_scene_keep_idle(scene, &again.all, &finding->where);
    nl_intervals_release(&again.all);
    int64_t cost = nl_intervals_length(&finding->where);
    if (again.times < MIN_TIMES || nl_scene_share(scene, cost) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    struct nl_str name = nl_trace_name(scene->trace, again.name);
    finding->culprit = nl_say(scene, "%.*s", NL_UP_TO(60, name));
    nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Code is compiled again %s times in the loop: %s%s, %s",
             nl_say_count(scene, again.times), nl_say_ns(scene, cost),
             scene->cpu ? "" : " of idle time", finding->culprit);
    const char *from = where(scene);
    longest.metric = "recompile_ns";
    longest.threshold = "> 1 % of wall";
    longest.query =
        nl_scene_keep_idle_sql(scene, nl_say(scene, "(SELECT intervals(ts, dur) %s)", from));
    longest.meaning = NL_MEANS_NS;
    longest.value = (double)cost;
    nl_prove(scene, finding, longest, "%s (%s of the time) in compilation after the first fifth",
             nl_say_ns(scene, cost), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "recompilations",
                                  .threshold = "3 of one name",
                                  .query = nl_say(scene, "SELECT count(*) %s AND name = %s", from,
                                                  nl_say_quoted(scene, name)),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)again.times},
             "%s of them under one name", nl_say_count(scene, again.times));
    return NL_CAUSE_FOUND;
}

const struct nl_cause nl_cause_recompilation = {
    .id = "recompilation",
    .on = NL_ON_BOTH,
    .doc = "After the first fifth of the time, code is compiled three times or more under the same "
           "name (TorchInductor, Dynamo, Triton, XLA, nvrtc, by kind or name), at a cost of more "
           "than 1 % of wall. Cost: the device's idle time meanwhile; in a CPU-only profile, all "
           "of the compile time.",
    .evaluate = recompilation_evaluate,
    .not_this_if = "each name is compiled only once or twice (first calls; the first fifth is left "
                   "out), or the device works meanwhile",
};
