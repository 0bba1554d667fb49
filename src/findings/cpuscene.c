/*
 * cpuscene — scenes of profiles without device work: one per process that has an account of its
 * CPU, the main thread of a timeline or what was sampled. A profile with nothing but memory events
 * gets one as long as it is.
 */
#include "base/mem.h"
#include "base/sort.h"
#include "findings/scene.h"
#include "tables/memo.h"

static void add_scene(struct nl_scenes *scenes, const struct nl_scene *like,
                      const struct nl_account_device *booked)
{
    struct nl_idle_device *device = &scenes->stand_ins[scenes->count];
    *device = (struct nl_idle_device){
        .device = NL_NULL_ROW, .process = NL_NULL_ROW, .rank = NL_NULL_I64, .ordinal = NL_NULL_I64};
    device->start_ns = like->trace->first_ts;
    device->wall_ns = like->trace->last_ts - like->trace->first_ts;
    if (booked) {
        device->process = booked->process;
        device->rank = booked->rank;
        device->start_ns = booked->start;
        device->wall_ns = booked->wall_ns;
    }
    struct nl_scene *scene = &scenes->items[scenes->count];
    *scene = *like;
    scene->device = device;
    scene->parts = &scenes->no_parts[scenes->count++];
    scene->booked = booked;
    scene->wall_ns = device->wall_ns;
}

/* Every cause looks at every scene, and at all of the account: of very many processes those with
 * the longest account are judged, and none that was there for a small part of the time: what it
 * lost is little of the whole. */
#define MAX_SCENES    64
#define LONGEST_SHARE 10 /* of the longest account, one in so many at least */

/* Numbers of the account's processes to judge, ascending; nl_free them. */
static size_t *choose_processes(const struct nl_account *account, size_t *count)
{
    size_t all = account->device_count;
    struct nl_keyed *order = nl_alloc((2 * all + 1) * sizeof *order);
    uint8_t *chosen = nl_zalloc(all + 1);
    size_t *numbers = nl_alloc((MAX_SCENES + 1) * sizeof *numbers), found = 0;
    for (size_t i = 0; i < all; i++)
        if (account->devices[i].device == NL_NULL_ROW && account->devices[i].wall_ns > 0)
            order[found++] =
                (struct nl_keyed){UINT64_MAX - (uint64_t)account->devices[i].wall_ns, (uint32_t)i};
    nl_sort_keyed(order, order + all, found);
    for (size_t i = 0; i < found && i < MAX_SCENES; i++) {
        int64_t longest = account->devices[order[0].row].wall_ns;
        if (account->devices[order[i].row].wall_ns < longest / LONGEST_SHARE)
            break;
        chosen[order[i].row] = 1;
    }
    *count = 0;
    for (size_t i = 0; i < all; i++)
        if (chosen[i])
            numbers[(*count)++] = i;
    nl_free(order);
    nl_free(chosen);
    return numbers;
}

/* Sums of a GPU's profiler without a timeline: its functions are kernels and calls of the runtime,
 * and no time of a thread. */
static bool is_sums_of_gpu(const struct nl_trace *trace)
{
    static const char *const of_gpus[] = {"nsys", "rocprof", "nvprof"};
    if (!trace->call.rows || trace->slice.rows || trace->sample.rows)
        return false;
    for (uint32_t i = 0; i < trace->source.rows; i++)
        for (size_t k = 0; k < sizeof of_gpus / sizeof *of_gpus; k++)
            if (nl_str_starts(nl_trace_name(trace, trace->source.format[i]), of_gpus[k]))
                return true;
    return false;
}

void nl_scenes_init_cpu(struct nl_scenes *scenes, const struct nl_trace *trace,
                        const struct nl_analyze_options *options, struct nl_arena *arena)
{
    if (is_sums_of_gpu(trace))
        return;
    const struct nl_account *account = nl_memo_account(options->memo);
    const struct nl_found_steps *found = nl_memo_steps(options->memo);
    size_t chosen;
    scenes->locks = NL_SCENE_LOCKS;
    size_t *numbers = choose_processes(account, &chosen), most = chosen + 1;
    struct nl_scene like = {.trace = trace,
                            .window = &options->window,
                            .idle = nl_memo_idle(options->memo),
                            .roles = nl_memo_roles(options->memo),
                            .memo = options->memo,
                            .account = account,
                            .arena = arena,
                            .locks = &scenes->locks,
                            .compiled = &scenes->compiled,
                            .late = &scenes->late,
                            .cpu_busy = NL_NULL_I64,
                            .cpu = true};
    scenes->items = nl_zalloc(most * sizeof *scenes->items);
    scenes->stand_ins = nl_zalloc(most * sizeof *scenes->stand_ins);
    scenes->no_parts = nl_zalloc(most * sizeof *scenes->no_parts);
    for (size_t i = 0; i < chosen; i++)
        add_scene(scenes, &like, &account->devices[numbers[i]]);
    nl_free(numbers);
    if (!scenes->count && trace->memory.rows && trace->last_ts > trace->first_ts)
        add_scene(scenes, &like, NULL);
    for (size_t i = 0; i < scenes->count; i++)
        nl_scene_find_steps(&scenes->items[i], found);
}
