/*
 * gc_pause — the garbage collector stops the program.
 *
 * Signal: slices of the thread that feeds the device, or of the main thread, that stand for garbage
 * collection, by kind or name; on a device only where it is idle. Over 1 % of wall. Profiles of
 * sums and samples: functions of that name.
 */
#include "findings/bookcause.h"
#include "base/mem.h"

#define WARN_SHARE     0.01
#define CRITICAL_SHARE 0.10

static const char *const marks[] = {"gc.collect",         "gc_collect", "garbage collect",
                                    "Garbage Collection", "Python GC",  "GarbageCollect"};

static bool is_collection(const struct nl_scene *scene, const struct nl_account_row *row)
{
    return nl_marks_in(NL_MARKS(marks), nl_account_name(scene->account, row->name));
}

/* Sums and samples, which have no place in time. */
static enum nl_verdict judge_sums(struct nl_scene *scene, struct nl_finding *finding)
{
    struct nl_booked_by_name sum = nl_booked_by_name(scene, is_collection);
    if (nl_scene_share(scene, sum.ns) <= WARN_SHARE)
        return NL_CAUSE_ABSENT;
    nl_find(scene, finding, sum.ns, CRITICAL_SHARE, 1);
    nl_title(scene, finding, "Garbage collection takes %s (%s of the time)",
             nl_say_ns(scene, sum.ns), nl_say_share(scene, finding->cost_share));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "gc_ns",
                                  .threshold = "> 1 % of wall",
                                  .query = nl_booked_sql(scene, "sum(ns)", sum.condition),
                                  .meaning = NL_MEANS_NS,
                                  .value = (double)sum.ns},
             "%s in %s", nl_say_ns(scene, sum.ns), nl_booked_text(scene, sum.top));
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "gc_records",
                                  .query = nl_booked_sql(scene, "sum(count)", sum.condition),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)sum.count},
             "%s records of it", nl_say_count(scene, sum.count));
    return NL_CAUSE_FOUND;
}

static void prove(struct nl_scene *scene, struct nl_finding *finding, const char *set,
                  const struct nl_intervals *all, struct nl_evidence *longest, size_t count)
{
    longest->metric = "gc_ns";
    longest->threshold = "> 1 % of wall";
    longest->query = nl_scene_keep_idle_sql(scene, set);
    longest->meaning = NL_MEANS_NS;
    longest->value = (double)finding->cost_ns;
    nl_prove(scene, finding, *longest, "%s %s", nl_say_ns(scene, finding->cost_ns),
             scene->cpu ? "in garbage collection" : "idle while garbage is collected");
    nl_prove(scene, finding,
             (struct nl_evidence){.metric = "gc_pauses",
                                  .query = nl_say(scene, "SELECT interval_count(%s)", set),
                                  .meaning = NL_MEANS_COUNT,
                                  .value = (double)all->count},
             "%s pauses in %s calls, %s in all", nl_say_count(scene, all->count),
             nl_say_count(scene, count), nl_say_ns(scene, nl_intervals_length(all)));
}

static enum nl_verdict gc_pause_evaluate(struct nl_scene *scene, struct nl_finding *finding)
{
    const struct nl_trace *trace = scene->trace;
    uint32_t thread = nl_scene_thread(scene);
    struct nl_evidence longest = {0};
    struct nl_intervals all;
    if (thread == NL_NULL_ROW)
        return scene->cpu ? judge_sums(scene, finding) : NL_CAUSE_ABSENT;
    uint8_t *marked = nl_marks_names(trace, NL_MARKS(marks));
    nl_intervals_init(&all);
    size_t count = nl_scene_slices(scene, thread, marked, &all, &longest);
    nl_free(marked);
    nl_scene_keep_idle(scene, &all, &finding->where);
    int64_t cost = nl_intervals_length(&finding->where);
    bool found = nl_scene_share(scene, cost) > WARN_SHARE;
    if (found) {
        const char *set =
            nl_say(scene, "(SELECT intervals(ts, dur) FROM slices WHERE %s AND %s%s)",
                   nl_scene_thread_sql(scene, thread), nl_marks_sql(scene, "name", NL_MARKS(marks)),
                   nl_scene_during(scene, ""));
        nl_find(scene, finding, cost, CRITICAL_SHARE, 1);
        nl_title(scene, finding,
                 "Garbage collection stops the thread that %s for %s (%s of the time)",
                 scene->cpu ? "does the work" : "launches", nl_say_ns(scene, cost),
                 nl_say_share(scene, finding->cost_share));
        prove(scene, finding, set, &all, &longest, count);
    }
    nl_intervals_release(&all);
    return found ? NL_CAUSE_FOUND : NL_CAUSE_ABSENT;
}

const struct nl_cause nl_cause_gc_pause = {
    .id = "gc_pause",
    .on = NL_ON_BOTH,
    .doc = "Garbage collection (slices or functions with such names) takes more than 1 % of wall: "
           "on the launching thread while the device is idle, or on the main thread of a CPU-only "
           "profile.",
    .evaluate = gc_pause_evaluate,
    .not_this_if = "the collector runs on another thread, or while the device works",
};
