/* memo — see memo.h. A lock per thing: what depends on another thing asks for it while it holds its
 * own lock, and nothing depends on itself. */
#include "tables/memo.h"

#include <pthread.h>

#include "account/devicesteps.h"
#include "base/mem.h"
#include "tables/scope.h"
#include "timeline/attribution.h"
#include "timeline/nowork.h"
#include "timeline/thinned.h"

#define KINDS (UINT8_MAX + 1)

struct once {
    pthread_mutex_t lock;
    bool made;
};

struct nl_memo {
    const struct nl_trace *trace;
    const struct nl_window *window;
    struct once idle_once, breakdown_once, steps_once, times_once, roles_once, self_once,
        owners_once, clocks_once, account_once, works_once, peaks_once, roofs_once, places_once,
        llm_once, thinned_once, no_work_once;
    struct nl_idle *idle;
    struct nl_account_maker *maker; /* idle time went into it; NULL once the account is made */
    struct nl_account *account;
    struct nl_device_breakdown *devices;
    size_t device_count;
    struct nl_found_steps steps;
    struct nl_step_times times;
    struct nl_api_roles roles;
    int64_t *self;
    uint8_t *no_work;
    struct nl_owners owners;
    struct nl_clock_checks clocks;
    double thinned;
    struct nl_op_works works;
    struct nl_device_peaks *peaks;
    struct nl_work_places places;
    struct nl_roofs roofs;
    struct nl_llm_steps llm;
    struct once ranges_once[KINDS];
    struct nl_memo_ranges ranges[KINDS];
};

/* True when the caller is the first and must make the thing before finish_once(). */
static bool begin_once(struct once *once)
{
    pthread_mutex_lock(&once->lock);
    return !once->made;
}

static void finish_once(struct once *once)
{
    once->made = true;
    pthread_mutex_unlock(&once->lock);
}

static void each_once(struct nl_memo *memo, void (*visit)(struct once *))
{
    struct once *all[] = {
        &memo->idle_once,    &memo->breakdown_once, &memo->steps_once,   &memo->times_once,
        &memo->roles_once,   &memo->self_once,      &memo->owners_once,  &memo->clocks_once,
        &memo->account_once, &memo->works_once,     &memo->peaks_once,   &memo->roofs_once,
        &memo->places_once,  &memo->llm_once,       &memo->thinned_once, &memo->no_work_once};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        visit(all[i]);
    for (size_t kind = 0; kind < KINDS; kind++)
        visit(&memo->ranges_once[kind]);
}

static void init_once(struct once *once)
{
    pthread_mutex_init(&once->lock, NULL);
}

static void destroy_once(struct once *once)
{
    pthread_mutex_destroy(&once->lock);
}

struct nl_memo *nl_memo_new(const struct nl_trace *trace, const struct nl_window *window)
{
    struct nl_memo *memo = nl_zalloc(sizeof *memo);
    memo->trace = trace;
    memo->window = window;
    each_once(memo, init_once);
    return memo;
}

void nl_memo_free(struct nl_memo *memo)
{
    if (!memo)
        return;
    nl_idle_free(memo->idle);
    nl_account_abandon(memo->maker);
    nl_account_free(memo->account);
    nl_free(memo->devices);
    nl_step_times_release(&memo->times);
    nl_steps_release(&memo->steps);
    nl_api_roles_release(&memo->roles);
    nl_clock_checks_release(&memo->clocks);
    nl_free(memo->self);
    nl_free(memo->no_work);
    nl_roofs_release(&memo->roofs);
    nl_llm_steps_release(&memo->llm);
    nl_work_places_release(&memo->places);
    nl_op_works_release(&memo->works);
    nl_device_peaks_free(memo->peaks);
    nl_owners_release(&memo->owners);
    for (size_t kind = 0; kind < KINDS; kind++) {
        nl_rangetree_release(&memo->ranges[kind].tree);
        nl_free(memo->ranges[kind].owner);
    }
    each_once(memo, destroy_once);
    nl_free(memo);
}

/* One pass over the gaps serves the table of idle time and the account. */
static void make_idle(struct nl_memo *memo)
{
    memo->maker =
        nl_account_begin(memo->trace, memo->window, nl_memo_steps(memo), nl_memo_roles(memo));
    memo->idle = nl_idle_new_with_sink(memo->trace, memo->window, nl_memo_roles(memo),
                                       nl_account_sink(memo->maker));
}

const struct nl_idle *nl_memo_idle(struct nl_memo *memo)
{
    if (begin_once(&memo->idle_once))
        make_idle(memo);
    finish_once(&memo->idle_once);
    return memo->idle;
}

static struct nl_account *make_account(struct nl_memo *memo)
{
    const struct nl_memo_ranges *ops = nl_memo_ranges(memo, NL_KIND_OP);
    const struct nl_memo_ranges *layers = nl_memo_ranges(memo, NL_KIND_LAYER);
    const struct nl_memo_ranges *ranges = nl_memo_ranges(memo, NL_KIND_NVTX);
    (void)nl_memo_idle(memo);
    struct nl_account_owners owners = {nl_memo_owners(memo), &ops->tree, &layers->tree,
                                       &ranges->tree,        ops->owner, layers->owner,
                                       ranges->owner};
    struct nl_account_maker *maker = memo->maker;
    memo->maker = NULL;
    return nl_account_finish(maker, &owners);
}

const struct nl_account *nl_memo_account(struct nl_memo *memo)
{
    if (begin_once(&memo->account_once))
        memo->account = make_account(memo);
    finish_once(&memo->account_once);
    return memo->account;
}

const struct nl_device_breakdown *nl_memo_breakdown(struct nl_memo *memo, size_t *count)
{
    if (begin_once(&memo->breakdown_once))
        memo->devices = nl_time_breakdown(memo->trace, memo->window, &memo->device_count);
    finish_once(&memo->breakdown_once);
    *count = memo->device_count;
    return memo->devices;
}

const struct nl_found_steps *nl_memo_steps(struct nl_memo *memo)
{
    if (begin_once(&memo->steps_once))
        nl_steps_find_run(memo->trace, &memo->steps);
    finish_once(&memo->steps_once);
    return &memo->steps;
}

const struct nl_step_times *nl_memo_step_times(struct nl_memo *memo)
{
    if (begin_once(&memo->times_once))
        nl_step_times_init(&memo->times, memo->trace, memo->window, nl_memo_steps(memo));
    finish_once(&memo->times_once);
    return &memo->times;
}

double nl_memo_thinned(struct nl_memo *memo)
{
    if (begin_once(&memo->thinned_once))
        memo->thinned = nl_thinned(memo->trace);
    finish_once(&memo->thinned_once);
    return memo->thinned;
}

const struct nl_clock_checks *nl_memo_clocks(struct nl_memo *memo)
{
    if (begin_once(&memo->clocks_once))
        nl_clock_checks_init(&memo->clocks, memo->trace);
    finish_once(&memo->clocks_once);
    return &memo->clocks;
}

const struct nl_api_roles *nl_memo_roles(struct nl_memo *memo)
{
    if (begin_once(&memo->roles_once))
        nl_api_roles_init(&memo->roles, memo->trace);
    finish_once(&memo->roles_once);
    return &memo->roles;
}

const int64_t *nl_memo_self_times(struct nl_memo *memo)
{
    if (begin_once(&memo->self_once))
        memo->self = nl_self_times(memo->trace, 0, memo->trace->slice.rows);
    finish_once(&memo->self_once);
    return memo->self;
}

const uint8_t *nl_memo_no_work(struct nl_memo *memo)
{
    if (begin_once(&memo->no_work_once))
        memo->no_work = nl_names_without_work(memo->trace);
    finish_once(&memo->no_work_once);
    return memo->no_work;
}

const struct nl_owners *nl_memo_owners(struct nl_memo *memo)
{
    if (begin_once(&memo->owners_once))
        nl_owners_init(&memo->owners, memo->trace);
    finish_once(&memo->owners_once);
    return &memo->owners;
}

static void make_ranges(struct nl_memo *memo, enum nl_kind kind, struct nl_memo_ranges *ranges)
{
    const struct nl_owners *owners = nl_memo_owners(memo);
    nl_rangetree_init(&ranges->tree, memo->trace, kind);
    if (kind == NL_KIND_OP) {
        ranges->owner = nl_owners_op(owners, &ranges->tree);
    } else if (kind == NL_KIND_LAYER) {
        const struct nl_memo_ranges *ops = nl_memo_ranges(memo, NL_KIND_OP);
        ranges->owner = nl_owners_layer(owners, &ranges->tree, &ops->tree, ops->owner);
    } else {
        ranges->owner = nl_owners_find(owners, &ranges->tree);
    }
}

const struct nl_memo_ranges *nl_memo_ranges(struct nl_memo *memo, enum nl_kind kind)
{
    struct nl_memo_ranges *ranges = &memo->ranges[kind];
    if (begin_once(&memo->ranges_once[kind]))
        make_ranges(memo, kind, ranges);
    finish_once(&memo->ranges_once[kind]);
    return ranges;
}

static void make_works(struct nl_memo *memo)
{
    struct nl_scope scope;
    const struct nl_memo_ranges *ops = nl_memo_ranges(memo, NL_KIND_OP);
    nl_scope_init(&scope, memo->trace, memo->window);
    struct nl_work_scope counts = {scope.start, scope.end, scope.lanes};
    nl_op_works_init(&memo->works, memo->trace, nl_memo_owners(memo), &ops->tree, ops->owner,
                     &counts);
    nl_scope_release(&scope);
}

const struct nl_op_works *nl_memo_works(struct nl_memo *memo)
{
    if (begin_once(&memo->works_once))
        make_works(memo);
    finish_once(&memo->works_once);
    return &memo->works;
}

const struct nl_device_peaks *nl_memo_peaks(struct nl_memo *memo)
{
    if (begin_once(&memo->peaks_once))
        memo->peaks = nl_device_peaks_new(memo->trace);
    finish_once(&memo->peaks_once);
    return memo->peaks;
}

const struct nl_work_places *nl_memo_places(struct nl_memo *memo)
{
    bool modules = nl_rangetree_any(memo->trace, NL_KIND_LAYER);
    if (begin_once(&memo->places_once)) {
        const struct nl_memo_ranges *layers =
            nl_memo_ranges(memo, modules ? NL_KIND_LAYER : NL_KIND_NVTX);
        nl_work_places_init(&memo->places, nl_memo_works(memo), &layers->tree, layers->owner,
                            nl_memo_steps(memo));
    }
    finish_once(&memo->places_once);
    return &memo->places;
}

static void make_roofs(struct nl_memo *memo)
{
    nl_roofs_init(&memo->roofs, nl_memo_works(memo), nl_memo_peaks(memo), nl_memo_places(memo),
                  NL_ROOF_TARGET);
}

const struct nl_roofs *nl_memo_roofs(struct nl_memo *memo)
{
    if (begin_once(&memo->roofs_once))
        make_roofs(memo);
    finish_once(&memo->roofs_once);
    return &memo->roofs;
}

static void make_llm_steps(struct nl_memo *memo)
{
    struct nl_scope scope;
    const struct nl_memo_ranges *ranges = nl_memo_ranges(memo, NL_KIND_NVTX);
    nl_scope_init(&scope, memo->trace, memo->window);
    nl_llm_steps_init(&memo->llm,
                      &(struct nl_llm_sources){.trace = memo->trace,
                                               .owners = nl_memo_owners(memo),
                                               .ranges = &ranges->tree,
                                               .range_of = ranges->owner,
                                               .works = nl_memo_works(memo),
                                               .peaks = nl_memo_peaks(memo),
                                               .found = nl_memo_steps(memo),
                                               .scope = {scope.start, scope.end, scope.lanes}});
    nl_scope_release(&scope);
}

const struct nl_llm_steps *nl_memo_llm_steps(struct nl_memo *memo)
{
    if (begin_once(&memo->llm_once))
        make_llm_steps(memo);
    finish_once(&memo->llm_once);
    return &memo->llm;
}
