/*
 * Accounts of profiles without a timeline of slices: CPU samples whose weights are nanoseconds,
 * else functions with their total self time. All of it is one steady phase.
 */
#include "account/accountmake.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/feeder.h"
#include "timeline/waitname.h"

/* Whether the innermost frame of a stack only waits; `event`: a name,
 * NL_NO_NAME for sums of calls. */
static bool is_waiting(const struct nl_trace *trace, uint32_t event, uint32_t stack)
{
    return !nl_is_on_cpu(nl_trace_name(trace, event)) &&
           nl_is_wait_frame(nl_trace_name(trace, trace->stack.name[stack]),
                            nl_trace_name(trace, trace->stack.file[stack]));
}

/* ---- Which samples ---- */

struct choice {
    uint32_t event, lane;
    int64_t ns, waits_ns; /* waits_ns: of it, in functions that only wait */
};

static bool sample_counts(const struct nl_trace *trace, const struct nl_window *window,
                          uint32_t row, uint32_t unit)
{
    const struct nl_sample_table *sample = &trace->sample;
    if (sample->unit[row] != unit || sample->weight[row] == NL_NULL_I64 ||
        sample->weight[row] <= 0 || sample->stack[row] == NL_NULL_ROW)
        return false;
    if (window->has_rank && (sample->lane[row] == NL_NULL_ROW ||
                             nl_lane_rank(trace, sample->lane[row]) != window->rank))
        return false;
    return !window->has_time || (sample->ts[row] != NL_NULL_I64 &&
                                 sample->ts[row] >= window->start && sample->ts[row] < window->end);
}

static struct choice *find_choice(struct choice *choices, size_t *count, uint32_t event,
                                  uint32_t lane)
{
    for (size_t i = 0; i < *count; i++)
        if (choices[i].event == event && choices[i].lane == lane)
            return &choices[i];
    choices[*count] = (struct choice){event, lane, 0, 0};
    return &choices[(*count)++];
}

#define MAX_CHOICES 1024 /* of later ones none is taken */

/* In samples of the wall clock all threads are there equally long: then the main thread by its
 * name, else not one that mostly waits. */
static struct choice choose_lane(const struct nl_trace *trace, const struct choice *choices,
                                 size_t count)
{
    struct choice best = {0}, most;
    for (size_t i = 0; i < count; i++)
        if (choices[i].ns > best.ns)
            best = choices[i];
    most = best;
    for (size_t i = 0; i < count; i++)
        if (nl_lane_says_main(trace, choices[i].lane) && choices[i].ns >= most.ns - most.ns / 10)
            return choices[i];
    for (size_t i = 0; i < count && most.waits_ns > most.ns / 2; i++)
        if (choices[i].event == most.event &&
            choices[i].ns - choices[i].waits_ns > best.ns - best.waits_ns)
            best = choices[i];
    return best;
}

/* The event and thread with most time: the main thread of a sampled program. */
static struct choice heaviest(const struct nl_trace *trace, const struct nl_window *window,
                              uint32_t unit)
{
    const struct nl_sample_table *sample = &trace->sample;
    struct choice *choices = nl_alloc((MAX_CHOICES + 1) * sizeof *choices);
    uint8_t *waits = nl_zalloc((size_t)trace->stack.rows + 1);
    size_t count = 0;
    for (uint32_t row = 0; row < sample->rows && count < MAX_CHOICES; row++) {
        if (!sample_counts(trace, window, row, unit))
            continue;
        struct choice *it = find_choice(choices, &count, sample->event[row], sample->lane[row]);
        uint8_t *known = &waits[sample->stack[row]];
        if (!*known)
            *known = is_waiting(trace, sample->event[row], sample->stack[row]) ? 2 : 1;
        nl_sum_add(&it->ns, sample->weight[row]);
        nl_sum_add(&it->waits_ns, *known == 2 ? sample->weight[row] : 0);
    }
    for (size_t i = 0; i < count; i++) /* waits of all threads: hours of them in a second */
        if (nl_is_lock_event(nl_trace_name(trace, choices[i].event)))
            choices[i].ns = choices[i].waits_ns = 0;
    struct choice best = choose_lane(trace, choices, count);
    nl_free(waits);
    nl_free(choices);
    return best;
}

bool nl_account_sampled(const struct nl_trace *trace, const struct nl_window *window,
                        uint32_t *event, uint32_t *lane)
{
    uint32_t unit = nl_dict_find(&trace->names, nl_str("ns"));
    if (unit == UINT32_MAX || unit == NL_NO_NAME)
        return false;
    struct choice choice = heaviest(trace, window, unit);
    *event = choice.event;
    *lane = choice.lane;
    return choice.ns > 0;
}

/* ---- Booking ---- */

static size_t add_group(struct nl_account_maker *maker, uint32_t lane)
{
    nl_grow(&maker->groups, &maker->group_cap, maker->group_count + 1);
    uint32_t process = lane == NL_NULL_ROW ? NL_NULL_ROW : maker->trace->lane.process[lane];
    int64_t rank = lane == NL_NULL_ROW ? NL_NULL_I64 : nl_lane_rank(maker->trace, lane);
    maker->groups[maker->group_count] = (struct nl_account_group){
        .device = {.device = NL_NULL_ROW, .process = process, .rank = rank, .ordinal = NL_NULL_I64},
        .phases = nl_phases_of(&maker->phases, rank)};
    return maker->group_count++;
}

/* Books a function's self time, which has no place on the timeline. */
static void book_function(struct nl_account_maker *maker, size_t group, uint32_t stack,
                          uint64_t count, int64_t ns, uint32_t event)
{
    const struct nl_stack_table *table = &maker->trace->stack;
    /* "[native]" and "[system]" are what a line of the program did, not where. */
    if (nl_str_starts(nl_trace_name(maker->trace, table->name[stack]), "[") &&
        table->parent[stack] != NL_NULL_ROW)
        stack = table->parent[stack];
    bool idle = is_waiting(maker->trace, event, stack);
    struct nl_account_row key = nl_account_key(group, idle ? NL_BOOKED_IDLE : NL_BOOKED_COMPUTE);
    key.activity = idle ? NL_ACTIVITY_WAITING : NL_ACTIVITY_FUNCTION;
    key.name = table->name[stack];
    key.phase = NL_STEADY;
    struct nl_account_row *row = nl_account_rows_at(&maker->rows, &key);
    struct nl_account_device *device = &maker->groups[group].device;
    nl_sum_add(&row->ns, ns);
    row->count += count;
    nl_sum_add(&device->phase_ns[NL_STEADY], ns);
    nl_sum_add(&device->wall_ns, ns);
    device->end = device->wall_ns;
}

static void book_calls(struct nl_account_maker *maker)
{
    const struct nl_call_table *call = &maker->trace->call;
    size_t group = SIZE_MAX;
    for (uint32_t row = 0; row < call->rows && !maker->window.has_time; row++) {
        if (call->caller[row] != NL_NULL_ROW || call->stack[row] == NL_NULL_ROW ||
            call->self_ns[row] == NL_NULL_I64 || call->self_ns[row] <= 0)
            continue;
        if (group == SIZE_MAX)
            group = add_group(maker, NL_NULL_ROW);
        book_function(maker, group, call->stack[row],
                      call->count[row] > 0 ? (uint64_t)call->count[row] : 1, call->self_ns[row],
                      NL_NO_NAME);
    }
}

void nl_account_samples(struct nl_account_maker *maker)
{
    const struct nl_sample_table *sample = &maker->trace->sample;
    uint32_t unit = nl_dict_find(&maker->trace->names, nl_str("ns"));
    struct choice choice = {0};
    if (maker->group_count || maker->window.has_device)
        return;
    if (unit != UINT32_MAX && unit != NL_NO_NAME)
        choice = heaviest(maker->trace, &maker->window, unit);
    if (!choice.ns) {
        book_calls(maker);
        return;
    }
    size_t group = add_group(maker, choice.lane);
    for (uint32_t row = 0; row < sample->rows; row++)
        if (sample_counts(maker->trace, &maker->window, row, unit) &&
            sample->event[row] == choice.event && sample->lane[row] == choice.lane)
            book_function(maker, group, sample->stack[row], 1, sample->weight[row], choice.event);
}
