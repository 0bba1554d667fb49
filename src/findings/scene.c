/*
 * scene — see scene.h and cause.h. Kernels and copies are dealt out to their devices in one pass,
 * so that a cause never walks over another device's work.
 */
#include "findings/scene.h"

#include <string.h>

#include "tables/memo.h"
#include "tables/scope.h"
#include "base/pool.h"
#include "base/sum.h"
#include "findings/workcause.h"
#include "timeline/worksweep.h"

struct dealer {
    struct nl_scenes *scenes;
    struct nl_scope scope;
    uint32_t *lane_scene; /* per lane; NL_NULL_ROW */
};

/* By device, and by process where the device is not known, what was put
 * there last; else NL_NULL_ROW. */
struct by_device {
    uint32_t *device, *process;
};

static void by_device_init(struct by_device *by, const struct nl_trace *trace)
{
    size_t devices = (size_t)trace->device.rows + 1, processes = (size_t)trace->process.rows + 1;
    by->device = nl_alloc(devices * sizeof *by->device);
    by->process = nl_alloc(processes * sizeof *by->process);
    memset(by->device, 0xff, devices * sizeof *by->device);
    memset(by->process, 0xff, processes * sizeof *by->process);
}

static void by_device_release(struct by_device *by)
{
    nl_free(by->device);
    nl_free(by->process);
}

static uint32_t *scene_slot(const struct by_device *by, const struct nl_trace *trace,
                            uint32_t device, uint32_t process)
{
    if (device != NL_NULL_ROW)
        return &by->device[device];
    return &by->process[process == NL_NULL_ROW ? trace->process.rows : process];
}

static void map_lanes(struct dealer *dealer, const struct nl_trace *trace)
{
    struct by_device by;
    by_device_init(&by, trace);
    for (uint32_t i = 0; i < dealer->scenes->count; i++) {
        const struct nl_idle_device *it = dealer->scenes->items[i].device;
        *scene_slot(&by, trace, it->device, it->process) = i;
    }
    dealer->lane_scene = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *dealer->lane_scene);
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        dealer->lane_scene[lane] =
            *scene_slot(&by, trace, trace->lane.device[lane], trace->lane.process[lane]);
    by_device_release(&by);
}

static uint32_t scene_of(const struct dealer *dealer, uint32_t slice)
{
    if (nl_scope_length(&dealer->scope, slice) < 0)
        return NL_NULL_ROW;
    return dealer->lane_scene[dealer->scope.trace->slice.lane[slice]];
}

/* Gives every scene its rows of a table, ascending; returns the first free place. */
static uint32_t *deal(const struct dealer *dealer, const uint32_t *slices, uint32_t rows,
                      uint32_t *place, bool kernels)
{
    struct nl_scenes *scenes = dealer->scenes;
    size_t *counts = nl_zalloc((scenes->count + 1) * sizeof *counts);
    uint32_t **next = nl_alloc((scenes->count + 1) * sizeof *next);
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t scene = scene_of(dealer, slices[row]);
        if (scene != NL_NULL_ROW)
            counts[scene]++;
    }
    for (size_t i = 0; i < scenes->count; i++) {
        struct nl_scene *scene = &scenes->items[i];
        next[i] = place;
        *(kernels ? &scene->kernels : &scene->copies) = place;
        *(kernels ? &scene->kernel_count : &scene->copy_count) = counts[i];
        place += counts[i];
    }
    for (uint32_t row = 0; row < rows; row++) {
        uint32_t scene = scene_of(dealer, slices[row]);
        if (scene != NL_NULL_ROW)
            *next[scene]++ = row;
    }
    nl_free(counts);
    nl_free(next);
    return place;
}

static void count_links(struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    size_t linked = 0, all = scene->kernel_count + scene->copy_count;
    for (size_t i = 0; i < scene->kernel_count; i++)
        linked += trace->slice.link[trace->kernel.slice[scene->kernels[i]]] != NL_NULL_ROW;
    for (size_t i = 0; i < scene->copy_count; i++)
        linked += trace->slice.link[trace->copy.slice[scene->copies[i]]] != NL_NULL_ROW;
    scene->linked = all ? (double)linked / (double)all : 0;
}

/* Steps are in order of time, so those of a window are neighbours. */
void nl_scene_find_steps(struct nl_scene *scene, const struct nl_found_steps *found)
{
    const struct nl_window *window = scene->window;
    scene->first_step = scene->last_step = NL_NULL_I64;
    for (size_t i = 0; i < found->group_count; i++) {
        const struct nl_step_group *group = &found->groups[i];
        if (group->rank != scene->device->rank)
            continue;
        scene->group = group;
        for (size_t j = 0; j < group->count; j++) {
            const struct nl_found_step *step = &found->items[group->first + j];
            if (window->has_time &&
                (step->marked_start < window->start || step->marked_start >= window->end))
                continue;
            if (!scene->steps++) {
                scene->found = step;
                scene->first_step = step->index;
            }
            scene->last_step = step->index;
        }
    }
}

/* Reading has seen whether the times of any device contradict those of the CPU. */
static bool clocks_contradict(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->coverage.rows; row++) {
        struct nl_str item = nl_trace_name(trace, trace->coverage.item[row]);
        if (nl_str_starts(item, NL_CLOCK_ITEMS))
            return true;
    }
    return false;
}

static void find_clocks(struct nl_scenes *scenes, const struct nl_trace *trace,
                        const struct nl_clock_checks *checks)
{
    size_t none = trace->device.rows; /* the place of those that are not known */
    const struct nl_clock_check **by = nl_zalloc((none + 1) * sizeof *by);
    for (size_t j = 0; j < checks->count; j++) {
        const struct nl_clock_check *check = &checks->items[j];
        if (check->early || check->late)
            by[check->device == NL_NULL_ROW ? none : check->device] = check;
    }
    for (size_t i = 0; i < scenes->count; i++) {
        uint32_t device = scenes->items[i].device->device;
        scenes->items[i].clock = by[device == NL_NULL_ROW ? none : device];
    }
    nl_free(by);
}

/* The account's part about the scene's device; NULL without. Both are in one order, so that it is
 * the one at *from or a little further. */
static const struct nl_account_device *booked_of(const struct nl_scene *scene, size_t *from)
{
    size_t count = scene->account->device_count;
    for (size_t k = 0; k < count; k++) {
        size_t i = (*from + k) % count;
        const struct nl_account_device *it = &scene->account->devices[i];
        if (it->device == scene->device->device && it->rank == scene->device->rank &&
            it->ordinal == scene->device->ordinal &&
            (it->device != NL_NULL_ROW || it->process == scene->device->process)) {
            *from = i + 1;
            return it;
        }
    }
    return NULL;
}

/* What a device needs that asks nothing of the account. */
static void fill_scene(struct nl_scene *scene, const struct nl_found_steps *found,
                       const struct nl_work_lane *lanes, size_t lane_count)
{
    struct nl_device_sets sets;
    nl_device_intervals_of(scene->trace, scene->window, lanes, lane_count, scene->device->device,
                           &sets);
    nl_intervals_union(&sets.compute, &sets.comm, &scene->hidden);
    scene->compute = sets.compute;
    nl_intervals_init(&sets.compute); /* it is the scene's now */
    nl_device_sets_release(&sets);
    count_links(scene);
    nl_scene_find_steps(scene, found);
}

struct filling {
    struct nl_scenes *scenes;
    struct nl_memo *memo;
    const struct nl_found_steps *found;
    struct nl_work_lane *lanes;
    size_t lane_count;
};

/* The account, which takes longest, in parallel with the scenes. */
static void fill_task(void *context, size_t index, unsigned worker)
{
    struct filling *filling = context;
    (void)worker;
    if (index == 0)
        (void)nl_memo_account(filling->memo);
    else
        fill_scene(&filling->scenes->items[index - 1], filling->found, filling->lanes,
                   filling->lane_count);
}

static void fill_all(struct nl_scenes *scenes, const struct nl_trace *trace,
                     const struct nl_analyze_options *options, unsigned threads)
{
    struct filling filling = {
        .scenes = scenes, .memo = options->memo, .found = nl_memo_steps(options->memo)};
    size_t booked = 0;
    filling.lane_count = nl_work_lanes(trace, &options->window, &filling.lanes);
    nl_parallel(threads, scenes->count + 1, fill_task, &filling);
    nl_free(filling.lanes);
    for (size_t i = 0; i < scenes->count; i++) {
        struct nl_scene *scene = &scenes->items[i];
        scene->account = nl_memo_account(options->memo);
        scene->booked = booked_of(scene, &booked);
        scene->peers = scenes->items;
        scene->peer_count = scenes->count;
    }
}

/* The late rank's, else the busiest. */
static size_t find_told(struct nl_scenes *scenes, struct nl_memo *memo,
                        const struct nl_device_breakdown *rows, size_t count)
{
    if (scenes->count < 2)
        return SIZE_MAX;
    const struct nl_account *account = nl_memo_account(memo);
    const struct nl_device_breakdown *busiest = &rows[nl_breakdown_busiest(rows, count)];
    scenes->late = nl_account_late(account, NL_PHASES);
    for (size_t i = 0; i < scenes->count; i++)
        if (scenes->late.others ? scenes->items[i].booked == &account->devices[scenes->late.device]
                                : scenes->items[i].parts == busiest)
            return i;
    return SIZE_MAX;
}

void nl_scenes_init(struct nl_scenes *scenes, const struct nl_trace *trace,
                    const struct nl_analyze_options *options, struct nl_arena *arena,
                    unsigned threads)
{
    size_t part_count;
    *scenes = (struct nl_scenes){.locks = NL_SCENE_LOCKS};
    const struct nl_idle *idle = nl_memo_idle(options->memo);
    const struct nl_device_breakdown *all = nl_memo_breakdown(options->memo, &part_count);
    scenes->items = nl_zalloc((idle->device_count + 1) * sizeof *scenes->items);
    struct by_device by;
    by_device_init(&by, trace);
    for (size_t j = 0; j < part_count; j++)
        *scene_slot(&by, trace, all[j].device, all[j].process) = (uint32_t)j;
    for (size_t i = 0; i < idle->device_count; i++) {
        const struct nl_idle_device *device = &idle->devices[i];
        uint32_t part = *scene_slot(&by, trace, device->device, device->process);
        const struct nl_device_breakdown *parts = part == NL_NULL_ROW ? NULL : &all[part];
        if (!parts || parts->wall_ns <= 0)
            continue;
        scenes->items[scenes->count++] = (struct nl_scene){.trace = trace,
                                                           .window = &options->window,
                                                           .idle = idle,
                                                           .device = device,
                                                           .parts = parts,
                                                           .roles = nl_memo_roles(options->memo),
                                                           .memo = options->memo,
                                                           .arena = arena,
                                                           .locks = &scenes->locks,
                                                           .compiled = &scenes->compiled,
                                                           .experts = &scenes->experts,
                                                           .late = &scenes->late,
                                                           .cpu_busy = NL_NULL_I64,
                                                           .wall_ns = parts->wall_ns};
    }
    by_device_release(&by);
    struct dealer dealer = {.scenes = scenes};
    nl_scope_init(&dealer.scope, trace, &options->window);
    map_lanes(&dealer, trace);
    scenes->rows =
        nl_alloc(((size_t)trace->kernel.rows + trace->copy.rows + 1) * sizeof *scenes->rows);
    uint32_t *place = deal(&dealer, trace->kernel.slice, trace->kernel.rows, scenes->rows, true);
    deal(&dealer, trace->copy.slice, trace->copy.rows, place, false);
    fill_all(scenes, trace, options, threads);
    scenes->told = find_told(scenes, options->memo, all, part_count);
    if (scenes->count && clocks_contradict(trace))
        find_clocks(scenes, trace, nl_memo_clocks(options->memo));
    nl_free(dealer.lane_scene);
    nl_scope_release(&dealer.scope);
}

void nl_scenes_release(struct nl_scenes *scenes)
{
    for (size_t i = 0; i < scenes->count; i++) {
        nl_intervals_release(&scenes->items[i].compute);
        nl_intervals_release(&scenes->items[i].hidden);
        nl_work_here_free(scenes->items[i].work);
    }
    nl_free(scenes->items);
    nl_free(scenes->rows);
    nl_free(scenes->compiled.rows);
    nl_free(scenes->experts.sums);
    nl_free(scenes->stand_ins);
    nl_free(scenes->no_parts);
    *scenes = (struct nl_scenes){0};
}

/* ---- Looking (cause.h) ---- */

double nl_scene_share(const struct nl_scene *scene, int64_t ns)
{
    return scene->wall_ns > 0 ? (double)ns / (double)scene->wall_ns : 0;
}

int64_t nl_scene_exposed(const struct nl_scene *scene, nl_copy_test *wanted,
                         struct nl_intervals *out)
{
    const struct nl_trace *trace = scene->trace;
    struct nl_intervals all;
    struct nl_scope scope;
    nl_intervals_init(&all);
    nl_scope_init(&scope, trace, scene->window);
    for (size_t i = 0; i < scene->copy_count; i++) {
        uint32_t row = scene->copies[i];
        int64_t start, end;
        if (wanted(trace, row) && nl_scope_slice(&scope, trace->copy.slice[row], &start, &end))
            nl_intervals_add(&all, start, end);
    }
    nl_scope_release(&scope);
    nl_intervals_normalise(&all);
    nl_intervals_subtract(&all, &scene->hidden, out);
    nl_intervals_release(&all);
    return nl_intervals_length(out);
}

int64_t nl_scene_sum_gaps(const struct nl_scene *scene, nl_gap_test *wanted, size_t *count,
                          struct nl_intervals *where)
{
    size_t gaps, passed = 0;
    int64_t sum = 0;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    for (size_t i = 0; i < gaps; i++, gap++) {
        if (!wanted(scene, gap))
            continue;
        nl_sum_add(&sum, gap->end - gap->start);
        passed++;
        if (where)
            nl_intervals_add(where, gap->start, gap->end);
    }
    if (count)
        *count = passed;
    return sum;
}

int64_t nl_scene_run_ahead(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    int64_t length = gap->end - gap->start;
    if (gap->sync == NL_NULL_ROW)
        return 0;
    int64_t waited = scene->trace->slice.dur[gap->sync];
    return waited >= 0 && waited < length ? waited : length;
}

int64_t nl_scene_waits(const struct nl_scene *scene, nl_gap_test *wanted,
                       struct nl_intervals *where)
{
    size_t gaps;
    int64_t sum = 0;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    for (size_t i = 0; i < gaps; i++, gap++) {
        int64_t ahead = wanted(scene, gap) ? nl_scene_run_ahead(scene, gap) : 0;
        nl_intervals_add(where, gap->start, gap->start + ahead);
        nl_sum_add(&sum, ahead);
    }
    return sum;
}

const char *nl_scene_waits_sql(const struct nl_scene *scene, const char *more)
{
    return nl_say(scene,
                  "SELECT sum(min(g.dur, coalesce(s.dur, g.dur))) FROM idle_gaps%s g JOIN slices s "
                  "ON s.id = g.sync WHERE %s%s",
                  nl_scene_args(scene), nl_scene_place(scene, "g."), more);
}

/* Keeps the longest examples, longest first. */
static void keep_example(struct nl_evidence *evidence, struct nl_example example)
{
    size_t at = evidence->example_count;
    while (at && evidence->examples[at - 1].dur_ns < example.dur_ns)
        at--;
    if (at == NL_FINDING_EXAMPLES)
        return;
    if (evidence->example_count < NL_FINDING_EXAMPLES)
        evidence->example_count++;
    for (size_t i = evidence->example_count - 1; i > at; i--)
        evidence->examples[i] = evidence->examples[i - 1];
    evidence->examples[at] = example;
}

/* Whether an example of this length would be kept: texts are made only for those. */
static bool is_wanted(const struct nl_evidence *evidence, int64_t dur)
{
    return evidence->example_count < NL_FINDING_EXAMPLES ||
           evidence->examples[NL_FINDING_EXAMPLES - 1].dur_ns < dur;
}

static const char *lane_text(const struct nl_scene *scene, uint32_t lane)
{
    return nl_scene_text(scene, nl_trace_name(scene->trace, scene->trace->lane.name[lane]));
}

void nl_example_slice(const struct nl_scene *scene, struct nl_evidence *evidence, uint32_t slice)
{
    const struct nl_trace *trace = scene->trace;
    int64_t dur = trace->slice.dur[slice];
    if (!is_wanted(evidence, dur))
        return;
    keep_example(evidence,
                 (struct nl_example){
                     .lane = lane_text(scene, trace->slice.lane[slice]),
                     .name = nl_scene_text(scene, nl_trace_name(trace, trace->slice.name[slice])),
                     .start_ns = trace->slice.ts[slice] - trace->first_ts,
                     .dur_ns = dur});
}

static const char *gap_text(const struct nl_scene *scene, const struct nl_idle_gap *gap)
{
    struct nl_str name = nl_trace_name(scene->trace, gap->name);
    const char *did = nl_activity_name((enum nl_activity)gap->activity);
    if (!name.len)
        return did;
    pthread_mutex_lock(&scene->locks->texts);
    const char *text = nl_arena_format(scene->arena, "%s: %.*s", did, (int)name.len, name.ptr);
    pthread_mutex_unlock(&scene->locks->texts);
    return text;
}

void nl_scene_gap_examples(const struct nl_scene *scene, nl_gap_test *wanted,
                           struct nl_evidence *evidence)
{
    size_t gaps;
    const struct nl_trace *trace = scene->trace;
    const struct nl_idle_gap *gap = nl_scene_gaps(scene, &gaps);
    for (size_t i = 0; i < gaps; i++, gap++) {
        int64_t dur = gap->end - gap->start;
        if (!wanted(scene, gap) || !is_wanted(evidence, dur))
            continue;
        keep_example(evidence,
                     (struct nl_example){.lane = lane_text(scene, trace->slice.lane[gap->after]),
                                         .name = gap_text(scene, gap),
                                         .start_ns = gap->start - trace->first_ts,
                                         .dur_ns = dur});
    }
}

bool nl_scene_only_kernels(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    bool rocm = false;
    for (uint32_t i = 0; i < trace->source.rows; i++)
        rocm |= nl_str_starts(nl_trace_name(trace, trace->source.format[i]), "roc");
    return rocm && !trace->copy.rows && !trace->graph.rows && !trace->api.rows &&
           !trace->memset.rows && !trace->op.rows;
}

bool nl_scene_was_counted(const struct nl_scene *scene)
{
    const struct nl_trace *trace = scene->trace;
    size_t counted = 0;
    uint32_t last = NL_NULL_ROW;
    for (uint32_t row = 0; row < trace->metric.rows; row++) {
        uint32_t slice = trace->metric.slice[row];
        if (slice == last || slice == NL_NULL_ROW || trace->metric.measured[row] != NL_NULL_U32 ||
            trace->slice.kind[slice] != NL_KIND_KERNEL)
            continue;
        last = slice;
        counted += nl_slice_device(trace, slice) == scene->device->device;
    }
    return counted * 2 > scene->kernel_count;
}
