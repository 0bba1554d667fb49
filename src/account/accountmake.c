/* account — see account.h: setting up, taking idle time in, putting rows in order. */
#include <stdlib.h>
#include <string.h>

#include "account/accountmake.h"
#include "account/devicesteps.h"
#include "base/mem.h"
#include "base/sum.h"
#include "timeline/capturewindow.h"
#include "timeline/profilercalls.h"
#include "timeline/feeder.h"
#include "timeline/idleclass.h"

#define MAX_DEPTH 64

/* ---- Idle time comes in through the sink ---- */

/* Gaps come device by device. */
static size_t group_of(struct nl_account_maker *maker, const struct nl_work_lane *lanes)
{
    for (size_t tries = 0; tries < maker->group_count; tries++) {
        size_t group = (maker->last_group + tries) % maker->group_count;
        if (maker->lanes[maker->groups[group].lane_first].lane == lanes->lane) {
            maker->last_group = group;
            return group;
        }
    }
    NL_BUG("idle time of a device that the account does not have");
}

uint32_t nl_account_plain(struct nl_account_maker *maker, uint32_t name)
{
    if (name == NL_NO_NAME)
        return NL_NO_NAME;
    uint32_t id = nl_fold_id(&maker->fold, name);
    if (id >= maker->first_cap) {
        size_t before = maker->first_cap;
        nl_grow(&maker->first_of, &maker->first_cap, (size_t)id + 1);
        for (size_t i = before; i < maker->first_cap; i++)
            maker->first_of[i] = NL_NO_NAME;
    }
    if (maker->first_of[id] == NL_NO_NAME)
        maker->first_of[id] = name;
    return maker->first_of[id];
}

uint32_t nl_account_range(struct nl_account_maker *maker, const struct nl_did *did)
{
    if (did->range == NL_NULL_ROW || did->range == did->slice)
        return NL_NO_NAME;
    uint32_t name = maker->trace->slice.name[did->range];
    return maker->is_step[name] ? NL_NO_NAME : nl_account_plain(maker, name);
}

/* The operator in which the thread calls the device's API; other activities name themselves. */
static uint32_t operator_around(struct nl_account_maker *maker, const struct nl_did *did)
{
    const struct nl_trace *trace = maker->trace;
    if (did->elsewhere || !nl_is_call(trace, did->slice))
        return NL_NO_NAME;
    uint32_t at = trace->slice.parent[did->slice];
    for (unsigned deep = 0; at != NL_NULL_ROW && deep < MAX_DEPTH; deep++) {
        if (trace->slice.kind[at] == NL_KIND_OP)
            return nl_account_plain(maker, trace->slice.name[at]);
        at = trace->slice.parent[at];
    }
    return NL_NO_NAME;
}

/* Whether the feeding thread has not been seen at work yet. */
static bool leads(struct nl_account_group *group, const struct nl_trace *trace,
                  const struct nl_did *did)
{
    switch (did->activity) {
    case NL_ACTIVITY_NOTHING:
    case NL_ACTIVITY_UNKNOWN:
    case NL_ACTIVITY_SYSTEM:
    case NL_ACTIVITY_OVERHEAD:
    case NL_ACTIVITY_OFF:
    case NL_ACTIVITY_WAITING:
    case NL_ACTIVITY_READY: break;
    default:
        if (!nl_in_profiler_call(trace, did->slice) &&
            !nl_is_profiler_call(nl_trace_name(trace, did->name)))
            group->begun = true;
    }
    return !group->begun;
}

static void take_idle(void *context, const struct nl_idle_segment *segment)
{
    static const uint8_t parts[] = {[NL_IDLE_INSIDE] = NL_BOOKED_IDLE,
                                    [NL_IDLE_BEFORE] = NL_BOOKED_BEFORE,
                                    [NL_IDLE_AFTER] = NL_BOOKED_AFTER};
    struct nl_account_maker *maker = context;
    size_t group = group_of(maker, segment->lanes);
    struct nl_account_row key = nl_account_key(group, (enum nl_account_part)parts[segment->where]);
    key.activity = segment->did.activity;
    key.elsewhere = segment->did.elsewhere;
    key.name = nl_account_plain(maker, segment->did.name);
    key.module_or_range = nl_account_range(maker, &segment->did);
    key.count = 1;
    if (segment->where == NL_IDLE_INSIDE)
        key.class = segment->gap ? segment->gap->class : NL_IDLE_SHORT;
    if (segment->where == NL_IDLE_BEFORE)
        key.not_program = leads(&maker->groups[group], maker->trace, &segment->did) ||
                          nl_in_profiler_call(maker->trace, segment->did.slice);
    if (segment->where == NL_IDLE_AFTER)
        key.not_program = nl_in_profiler_call(maker->trace, segment->did.slice);
    key.op = operator_around(maker, &segment->did);
    if (segment->gap)
        key.open_start = segment->gap->start;
    if (segment->wait != NL_NULL_ROW)
        key.wait = maker->trace->slice.name[segment->wait];
    nl_account_book(maker, group, key, segment->start, segment->end);
}

static void tell_span(void *context, const struct nl_work_lane *lanes, size_t count, int64_t *start,
                      int64_t *end)
{
    struct nl_account_maker *maker = context;
    size_t group = group_of(maker, lanes);
    nl_account_span(maker, lanes, count, start, end);
    int64_t from, to;
    if (maker->groups[group].host != NL_NULL_ROW &&
        nl_account_host_span(maker, maker->groups[group].host, &from, &to)) {
        *start = from < *start ? from : *start;
        *end = to > *end ? to : *end;
    }
    maker->groups[group].device.start = *start;
    maker->groups[group].device.end = *end;
}

/* ---- Making ---- */

/* Some files do not say whose a device's work is, or say it differently from whose the calls are;
 * launches decide. */
static uint32_t feeding_process(const struct nl_account_maker *maker, uint32_t thread, size_t first,
                                size_t count)
{
    uint32_t process = thread == NL_NULL_ROW ? NL_NULL_ROW : maker->trace->thread.process[thread];
    for (size_t i = first; i < first + count; i++)
        if (maker->lanes[i].process == process)
            return NL_NULL_ROW;
    return process;
}

static void add_groups(struct nl_account_maker *maker)
{
    const struct nl_trace *trace = maker->trace;
    for (size_t i = 0, next; i < maker->lane_count; i = next) {
        const struct nl_work_lane *lanes = maker->lanes + i;
        next = i + nl_work_device_lanes(lanes, maker->lane_count - i);
        struct nl_work_device device = nl_work_device(trace, lanes, next - i);
        uint32_t feeder = nl_feeder(trace, &maker->lanes_of, maker->lanes + i, next - i);
        nl_grow(&maker->groups, &maker->group_cap, maker->group_count + 1);
        maker->groups[maker->group_count++] =
            (struct nl_account_group){.device = {.device = device.device,
                                                 .process = device.process,
                                                 .feeder = feeder,
                                                 .rank = device.rank,
                                                 .ordinal = device.ordinal,
                                                 .start = INT64_MAX,
                                                 .end = INT64_MIN,
                                                 .work_start = INT64_MIN},
                                      .phases = nl_phases_of(&maker->phases, device.rank),
                                      .lane_first = i,
                                      .lane_count = next - i,
                                      .host = feeding_process(maker, feeder, i, next - i)};
    }
}

struct nl_account_maker *nl_account_begin(const struct nl_trace *trace,
                                          const struct nl_window *window,
                                          const struct nl_found_steps *steps,
                                          const struct nl_api_roles *roles)
{
    struct nl_account_maker *maker = nl_zalloc(sizeof *maker);
    maker->trace = trace;
    maker->roles = roles;
    if (window)
        maker->window = *window;
    nl_phases_init(&maker->phases, trace, steps, roles);
    maker->lane_count = nl_work_lanes(trace, window, &maker->lanes);
    nl_lanes_of_init(&maker->lanes_of, trace);
    maker->is_step = nl_zalloc((size_t)trace->names.count + 1);
    for (size_t i = 0; i < steps->count; i++)
        maker->is_step[steps->items[i].name] = 1;
    for (uint32_t row = 0; row < trace->step.rows; row++)
        maker->is_step[trace->step.name[row]] = 1;
    nl_account_comm_init(&maker->comm, trace);
    nl_fold_init(&maker->fold, trace, NL_FOLD_INSTANCES);
    nl_account_rows_init(&maker->rows, trace->names.count);
    add_groups(maker);
    maker->sink = (struct nl_idle_sink){maker, take_idle, tell_span};
    return maker;
}

const struct nl_idle_sink *nl_account_sink(struct nl_account_maker *maker)
{
    return &maker->sink;
}

void nl_account_abandon(struct nl_account_maker *maker)
{
    if (!maker)
        return;
    nl_phases_release(&maker->phases);
    nl_account_rows_release(&maker->rows);
    nl_free(maker->lanes);
    nl_lanes_of_release(&maker->lanes_of);
    nl_free(maker->groups);
    nl_free(maker->is_step);
    nl_free(maker->first_of);
    nl_fold_release(&maker->fold);
    nl_account_comm_release(&maker->comm);
    nl_free(maker);
}

/* ---- In order ---- */

static int by_rank(const void *left, const void *right)
{
    const struct nl_account_group *a = left, *b = right;
    const struct nl_account_device *x = &a->device, *y = &b->device;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if ((x->ordinal == NL_NULL_I64) != (y->ordinal == NL_NULL_I64))
        return x->ordinal == NL_NULL_I64 ? 1 : -1;
    if (x->ordinal != y->ordinal)
        return x->ordinal < y->ordinal ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static int by_names(const struct nl_account_row *a, const struct nl_account_row *b)
{
    const uint32_t x[] = {a->name, a->op, a->module_or_range, a->wait, a->group};
    const uint32_t y[] = {b->name, b->op, b->module_or_range, b->wait, b->group};
    for (size_t i = 0; i < 5; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

static int by_time(const void *left, const void *right)
{
    const struct nl_account_row *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    const int64_t x[] = {a->phase,     a->part, a->class,      a->activity, a->category_or_copy,
                         a->elsewhere, a->late, a->not_program};
    const int64_t y[] = {b->phase,     b->part, b->class,      b->activity, b->category_or_copy,
                         b->elsewhere, b->late, b->not_program};
    for (size_t i = 0; i < sizeof x / sizeof x[0]; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return by_names(a, b);
}

/* Takes out what has nothing to do in the window: lanes of nothing but waits, or outside it. */
static void drop_empty(struct nl_account_maker *maker)
{
    size_t kept = 0;
    for (size_t i = 0; i < maker->group_count; i++) {
        maker->groups[i].cut = i; /* from here on: its number while rows were booked */
        if (maker->groups[i].device.work_start != INT64_MIN)
            maker->groups[kept++] = maker->groups[i];
    }
    maker->group_count = kept;
}

/* Steps of the device's rank in each phase; of several captures of the device, its own. */
static void count_steps(const struct nl_account_maker *maker,
                        const struct nl_capture_window *captures,
                        const struct nl_phase_group *group, struct nl_account_device *device)
{
    memcpy(device->steps, group->steps, sizeof device->steps);
    if (!captures || device->device == NL_NULL_ROW)
        return;
    memset(device->steps, 0, sizeof device->steps);
    size_t cut = group->first;
    for (size_t i = group->step_first; i < group->step_first + group->step_count; i++) {
        const struct nl_found_step *step = &maker->phases.steps->items[i];
        cut = nl_phase_find(&maker->phases, group, step->start, cut);
        if (nl_capture_holds(captures, device->device, step))
            device->steps[maker->phases.cuts[cut].phase]++;
    }
}

/* Hands devices and rows over, in order. */
static void fill_account(struct nl_account_maker *maker, struct nl_account *account)
{
    uint32_t *place = nl_alloc((maker->group_count + 1) * sizeof *place);
    struct nl_capture_window *captures = nl_capture_windows(maker->trace);
    drop_empty(maker);
    if (maker->group_count)
        qsort(maker->groups, maker->group_count, sizeof *maker->groups, by_rank);
    account->devices = nl_zalloc((maker->group_count + 1) * sizeof *account->devices);
    account->device_count = maker->group_count;
    for (size_t i = 0; i < maker->group_count; i++) {
        place[maker->groups[i].cut] = (uint32_t)i;
        account->devices[i] = maker->groups[i].device;
        account->devices[i].startup_end =
            nl_phase_startup_end(&maker->phases, maker->groups[i].phases);
        count_steps(maker, captures, maker->groups[i].phases, &account->devices[i]);
    }
    nl_free(captures);
    account->members = maker->comm.members;
    account->member_count = maker->comm.member_count;
    maker->comm.members = NULL;
    account->rows = maker->rows.items;
    account->row_count = maker->rows.count;
    maker->rows.items = NULL;
    for (size_t i = 0; i < account->row_count; i++)
        nl_account_close(&account->rows[i]);
    for (size_t i = 0; i < account->row_count; i++)
        account->rows[i].device = place[account->rows[i].device];
    if (account->row_count)
        qsort(account->rows, account->row_count, sizeof *account->rows, by_time);
    for (size_t i = account->row_count; i-- > 0;) {
        account->devices[account->rows[i].device].first_row = i;
        account->devices[account->rows[i].device].rows++;
    }
    nl_free(place);
}

static void mark_starts_unknown(const struct nl_trace *trace, const struct nl_window *window,
                                struct nl_account *account)
{
    if (nl_dict_find(&trace->names, nl_str(NL_COVERS_NO_STARTS)) == UINT32_MAX)
        return;
    size_t count;
    struct nl_device_breakdown *rows = nl_time_breakdown(trace, window, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < account->device_count; j++)
            if (account->devices[j].device == rows[i].device &&
                account->devices[j].process == rows[i].process)
                account->devices[j].starts_unknown = rows[i].starts_unknown;
    nl_free(rows);
}

struct nl_account *nl_account_finish(struct nl_account_maker *maker,
                                     const struct nl_account_owners *owners)
{
    struct nl_account *account = nl_zalloc(sizeof *account);
    account->trace = maker->trace;
    size_t devices = maker->group_count;
    for (size_t i = 0; i < devices; i++)
        nl_account_work(maker, i, owners);
    nl_account_cpu(maker);
    nl_account_samples(maker);
    fill_account(maker, account);
    account->fold = maker->fold;
    maker->fold = (struct nl_fold){0};
    mark_starts_unknown(maker->trace, &maker->window, account);
    nl_account_abandon(maker);
    return account;
}

struct nl_account *nl_account_new(const struct nl_trace *trace, const struct nl_window *window)
{
    struct nl_found_steps steps;
    nl_steps_find_run(trace, &steps);
    struct nl_api_roles roles;
    nl_api_roles_init(&roles, trace);
    struct nl_account_maker *maker = nl_account_begin(trace, window, &steps, &roles);
    nl_idle_free(nl_idle_new_with_sink(trace, window, &roles, nl_account_sink(maker)));
    struct nl_owners owners;
    struct nl_rangetree trees[3];
    nl_owners_init(&owners, trace);
    nl_rangetree_init(&trees[0], trace, NL_KIND_OP);
    nl_rangetree_init(&trees[1], trace, NL_KIND_LAYER);
    nl_rangetree_init(&trees[2], trace, NL_KIND_NVTX);
    uint32_t *op = nl_owners_op(&owners, &trees[0]);
    uint32_t *layer = nl_owners_layer(&owners, &trees[1], &trees[0], op);
    uint32_t *range = nl_owners_find(&owners, &trees[2]);
    struct nl_account *account =
        nl_account_finish(maker, &(struct nl_account_owners){&owners, &trees[0], &trees[1],
                                                             &trees[2], op, layer, range});
    nl_free(op);
    nl_free(layer);
    nl_free(range);
    for (size_t i = 0; i < 3; i++)
        nl_rangetree_release(&trees[i]);
    nl_owners_release(&owners);
    nl_steps_release(&steps);
    nl_api_roles_release(&roles);
    return account;
}

void nl_account_free(struct nl_account *account)
{
    if (!account)
        return;
    nl_free(account->devices);
    nl_free(account->rows);
    nl_free(account->members);
    nl_fold_release(&account->fold);
    nl_free(account);
}

int64_t nl_account_per_step(const struct nl_account *account, const struct nl_account_row *row)
{
    uint64_t steps = account->devices[row->device].steps[row->phase];
    return steps ? row->ns / (int64_t)steps : NL_NULL_I64;
}

int64_t nl_account_total(const struct nl_account_device *device)
{
    int64_t sum = 0;
    for (size_t phase = 0; phase < NL_PHASES; phase++)
        nl_sum_add(&sum, device->phase_ns[phase]);
    return sum;
}
