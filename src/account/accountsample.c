/*
 * Accounts of profiles without a timeline of slices: CPU samples whose weights are nanoseconds, else
 * functions with the sums of their own time. All of it is one steady phase.
 */
#include "account/accountmake.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/worksweep.h"

/* What a function does that only waits, by its name alone: a stack says where a thread was, not whether it
 * ran. Names with a module or class in front count by what stands last. */
static const char *const waits[] = {"wait",     "join",           "acquire",     "sleep", "poll",
                                    "select",   "epoll_wait",     "epoll_pwait", "ppoll", "pselect",
                                    "accept",   "recv",           "nanosleep",   "futex", "lock",
                                    "sem_wait", "clock_nanosleep"};

static bool is_name_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The last word of "threading.Thread.join", "wait (threading.py:320)", "<method 'acquire' of 'lock'>". */
static struct nl_str plain_name(struct nl_str name)
{
    size_t end = 0, start = 0;
    if (nl_str_starts(name, "<method '")) {
        start = strlen("<method '");
        for (end = start; end < name.len && is_name_char(name.ptr[end]); end++)
            ;
        return (struct nl_str){name.ptr + start, end - start};
    }
    while (end < name.len && (is_name_char(name.ptr[end]) || strchr(".:", name.ptr[end])))
        end++;
    for (start = end; start > 0 && is_name_char(name.ptr[start - 1]); start--)
        ;
    return (struct nl_str){name.ptr + start, end - start};
}

static bool is_wait(struct nl_str name)
{
    struct nl_str plain = plain_name(name);
    while (plain.len && plain.ptr[0] == '_')
        plain = (struct nl_str){plain.ptr + 1, plain.len - 1};
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
        if (nl_str_is(plain, waits[i]))
            return true;
    return false;
}

/* ---- Which samples ---- */

struct choice {
    uint32_t event, lane;
    int64_t ns;
};

static bool counts(const struct nl_trace *trace, const struct nl_window *window, uint32_t row,
                   uint32_t unit)
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
    choices[*count] = (struct choice){event, lane, 0};
    return &choices[(*count)++];
}

#define MOST_CHOICES 1024 /* of later ones none is taken */

/* The event and thread with most time: the main thread of a sampled program. */
static struct choice heaviest(const struct nl_trace *trace, const struct nl_window *window,
                              uint32_t unit)
{
    const struct nl_sample_table *sample = &trace->sample;
    struct choice *choices = nl_alloc((MOST_CHOICES + 1) * sizeof *choices), best = {0};
    size_t count = 0;
    for (uint32_t row = 0; row < sample->rows && count < MOST_CHOICES; row++)
        if (counts(trace, window, row, unit))
            nl_sum_add(&find_choice(choices, &count, sample->event[row], sample->lane[row])->ns,
                       sample->weight[row]);
    for (size_t i = 0; i < count; i++)
        if (choices[i].ns > best.ns)
            best = choices[i];
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

/* Books a function's own time, which lies nowhere on the timeline. */
static void book_function(struct nl_account_maker *maker, size_t group, uint32_t stack,
                          uint64_t count, int64_t ns)
{
    const struct nl_stack_table *table = &maker->trace->stack;
    /* "[native]" and "[system]" are what a line of the program did, not where. */
    if (nl_str_starts(nl_trace_name(maker->trace, table->name[stack]), "[") &&
        table->parent[stack] != NL_NULL_ROW)
        stack = table->parent[stack];
    bool idle = is_wait(nl_trace_name(maker->trace, table->name[stack]));
    struct nl_account_row key = nl_account_key(group, idle ? NL_BOOKED_IDLE : NL_BOOKED_COMPUTE);
    key.activity = idle ? NL_DID_WAITING : NL_DID_FUNCTION;
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
                      call->count[row] > 0 ? (uint64_t)call->count[row] : 1, call->self_ns[row]);
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
        if (counts(maker->trace, &maker->window, row, unit) && sample->event[row] == choice.event &&
            sample->lane[row] == choice.lane)
            book_function(maker, group, sample->stack[row], 1, sample->weight[row]);
}
