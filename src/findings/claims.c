/* claims — see claims.h. Votes are kept by a key that says what sort of row they are for. */
#include "findings/claims.h"

#include <string.h>

#include "base/job.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"
#include "findings/bookcause.h"
#include "tables/memo.h"

#define SAMPLES 8192

enum sort { OF_GAP = 1, OF_CLASS, OF_WAIT, OF_KERNEL, OF_COMM, OF_COPY };

struct vote {
    int64_t in, all;
};

struct votes {
    struct nl_idmap rows; /* of items, by key */
    struct vote *items;
    uint32_t count;
    size_t cap;
    const struct nl_account *account;
    const struct nl_finding *finding;
    const struct nl_scene *scene;
    bool waits;  /* the finding is about blocking calls */
    bool before; /* the finding is about what precedes the first work, which is no gap */
};

/* Names of idle time are folded in the account. */
static uint32_t folded(const struct nl_account *account, uint32_t name)
{
    uint32_t id = account->fold.ids[name];
    return id ? id | 1u << 31 : name;
}

static uint64_t vote_key(enum sort sort, unsigned kind, uint32_t name)
{
    return (uint64_t)sort << 56 | (uint64_t)kind << 32 | name;
}

static void cast(struct votes *votes, uint64_t key, int64_t in, int64_t all)
{
    uint32_t row = nl_idmap_get_or_put(&votes->rows, key, votes->count);
    if (row == votes->count) {
        nl_grow(&votes->items, &votes->cap, row + 1u);
        votes->items[votes->count++] = (struct vote){0};
    }
    nl_sum_add(&votes->items[row].in, in);
    nl_sum_add(&votes->items[row].all, all);
}

static int64_t overlap(const struct nl_intervals *set, int64_t start, int64_t end)
{
    int64_t sum = 0;
    size_t first = NL_FIRST(i, (size_t)0, set->count, set->items[i].end > start);
    for (size_t i = first; i < set->count && set->items[i].start < end; i++) {
        int64_t from = set->items[i].start > start ? set->items[i].start : start;
        int64_t to = set->items[i].end < end ? set->items[i].end : end;
        sum += to - from;
    }
    return sum;
}

static size_t stride_of(size_t count)
{
    return count / SAMPLES + 1;
}

static void vote_gaps(struct votes *votes)
{
    size_t count;
    const struct nl_scene *scene = votes->scene;
    const struct nl_idle_gap *gaps = nl_scene_gaps(scene, &count);
    for (size_t i = 0; i < count; i += stride_of(count)) {
        const struct nl_idle_gap *gap = &gaps[i];
        int64_t all = gap->end - gap->start;
        int64_t in = overlap(&votes->finding->where, gap->start, gap->end);
        uint32_t name = folded(votes->account, gap->name);
        cast(votes, vote_key(OF_GAP, (unsigned)gap->class << 8 | gap->activity, name), in, all);
        cast(votes, vote_key(OF_CLASS, gap->class, 0), in, all);
        if (gap->sync != NL_NULL_ROW)
            cast(votes, vote_key(OF_WAIT, 0, scene->trace->slice.name[gap->sync]), in > 0 ? all : 0,
                 all);
    }
}

/* Of communication and copies only what sticks out is in a finding's time. */
static void vote_kernels(struct votes *votes)
{
    const struct nl_scene *scene = votes->scene;
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->kernel_count; i += stride_of(scene->kernel_count)) {
        uint32_t slice = trace->kernel.slice[scene->kernels[i]];
        int64_t all = trace->slice.dur[slice];
        int64_t in =
            overlap(&votes->finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
        if (trace->kernel.class[scene->kernels[i]] == NL_CLASS_COMMUNICATION)
            cast(votes, vote_key(OF_COMM, 0, 0), in > 0 ? all : 0, all);
        else
            cast(votes, vote_key(OF_KERNEL, 0, trace->slice.name[slice]), in, all);
    }
}

static unsigned copy_kind(const struct nl_trace *trace, uint32_t row)
{
    return (unsigned)trace->copy.kind[row] << 8 | (trace->copy.src_memory[row] & 15u) << 4 |
           (trace->copy.dst_memory[row] & 15u);
}

static void vote_copies(struct votes *votes)
{
    const struct nl_scene *scene = votes->scene;
    const struct nl_trace *trace = scene->trace;
    for (size_t i = 0; i < scene->copy_count; i += stride_of(scene->copy_count)) {
        uint32_t row = scene->copies[i], slice = trace->copy.slice[row];
        int64_t all = trace->slice.dur[slice];
        int64_t in =
            overlap(&votes->finding->where, trace->slice.ts[slice], nl_slice_end(trace, slice));
        cast(votes, vote_key(OF_COPY, copy_kind(trace, row), 0), in > 0 ? all : 0, all);
    }
}

static bool is_won(const struct votes *votes, uint64_t key)
{
    uint32_t row = nl_idmap_get(&votes->rows, key);
    if (row == NL_NO_ROW)
        return false;
    const struct vote *vote = &votes->items[row];
    return vote->in > 0 && vote->in >= vote->all - vote->in;
}

static bool is_idle_claimed(const struct votes *votes, const struct nl_account_row *row)
{
    if (votes->waits)
        return row->wait != NL_NO_NAME && is_won(votes, vote_key(OF_WAIT, 0, row->wait));
    uint64_t key = vote_key(OF_GAP, (unsigned)row->class << 8 | row->activity,
                            folded(votes->account, row->name));
    if (nl_idmap_get(&votes->rows, key) == NL_NO_ROW)
        key = vote_key(OF_CLASS, row->class, 0);
    return is_won(votes, key);
}

static bool is_claimed(const struct votes *votes, const struct nl_account_row *row)
{
    switch ((enum nl_account_part)row->part) {
    case NL_BOOKED_IDLE: return is_idle_claimed(votes, row);
    case NL_BOOKED_COMPUTE: return is_won(votes, vote_key(OF_KERNEL, 0, row->name));
    case NL_BOOKED_COMM_WAIT:
    case NL_BOOKED_COMM_TRANSFER:
    case NL_BOOKED_COMM: return is_won(votes, vote_key(OF_COMM, 0, 0));
    case NL_BOOKED_COPY:
    case NL_BOOKED_MIGRATION:
        return is_won(votes, row->category_or_copy > UINT8_MAX
                                 ? vote_key(OF_COPY, row->category_or_copy, 0)
                                 : vote_key(OF_KERNEL, 0, row->name));
    default: return false;
    }
}

static bool is_about_waits(const char *cause)
{
    return !strcmp(cause, "sync_calls") || !strcmp(cause, "sync_memcpy") ||
           !strcmp(cause, "item_scalar_readback");
}

/* The time before the first work is claimed by one cause alone. */
static bool is_here(const struct votes *votes, const struct nl_account_device *device,
                    const struct nl_account_row *row)
{
    if (votes->before)
        return nl_booked_own_before(device, row);
    return row->inside && is_claimed(votes, row);
}

static const struct nl_scene *scene_of(const struct nl_scenes *scenes,
                                       const struct nl_finding *finding)
{
    for (size_t i = 0; i < scenes->count; i++)
        if (scenes->items[i].device->rank == finding->rank &&
            scenes->items[i].device->ordinal == finding->device)
            return &scenes->items[i];
    return NULL;
}

static void claim_rows(struct nl_findings *findings, struct nl_finding *finding,
                       const struct votes *votes)
{
    const struct nl_account *account = votes->account;
    for (size_t i = 0; i < account->row_count; i++) {
        const struct nl_account_row *row = &account->rows[i];
        const struct nl_account_device *device = &account->devices[row->device];
        if (findings->claims[i] || device->device != votes->scene->device->device ||
            device->rank != finding->rank || !is_here(votes, device, row))
            continue;
        findings->claims[i] = finding->id;
        nl_sum_add(&finding->claims_ns, row->ns);
    }
}

void nl_findings_claim(struct nl_findings *findings, const struct nl_scenes *scenes,
                       const struct nl_account *account)
{
    findings->claim_count = account->row_count;
    findings->claims =
        nl_arena_alloc(&findings->arena, (account->row_count + 1) * sizeof *findings->claims);
    struct votes votes = {.account = account};
    for (size_t i = 0; i < findings->count; i++) {
        struct nl_finding *finding = &findings->items[i];
        votes.finding = finding;
        votes.scene = scene_of(scenes, finding);
        votes.waits = is_about_waits(finding->cause);
        votes.before = !strcmp(finding->cause, "cpu_before_work");
        if (!votes.scene || finding->validity || finding->explained_by ||
            (!finding->where.count && !votes.before) || finding->severity == NL_SEVERITY_INFO)
            continue;
        nl_idmap_clear(&votes.rows);
        votes.count = 0;
        vote_gaps(&votes);
        vote_kernels(&votes);
        vote_copies(&votes);
        claim_rows(findings, finding, &votes);
    }
    nl_idmap_release(&votes.rows);
    nl_free(votes.items);
}

const char **nl_claims_new(const struct nl_trace *trace, const struct nl_window *window,
                           struct nl_job *job, size_t *count)
{
    struct nl_err err = {0};
    struct nl_analyze_options options = {.window = *window};
    struct nl_findings *findings = nl_findings_new(trace, &options, job, &err);
    *count = 0;
    if (!findings)
        return NULL;
    *count = findings->claim_count;
    const char **claims = nl_alloc((findings->claim_count + 1) * sizeof *claims);
    if (findings->claim_count)
        memcpy(claims, findings->claims, findings->claim_count * sizeof *claims);
    nl_findings_free(findings);
    return claims;
}
