/* laterank — see laterank.h. */
#include "answer/laterank.h"

#include "account/accountlate.h"
#include "base/mem.h"
#include "base/sum.h"
#include "tables/memo.h"

/* Of the late rank's time: what can be won; a scatter of arrivals is less. */
#define MIN_WINS            0.05
#define MIN_EXPLAINED_SHARE 0.5 /* of what the others wait: in one kind of the rank's own time */
#define MIN_NAME            0.1 /* of what it does longer */

#define KINDS 8

struct ranks {
    struct nl_judged *judged;
    const struct nl_account *account;
    const struct nl_device_breakdown *rows; /* by rank */
    size_t count;
    enum nl_phase phase;
};

static const struct nl_account_device *device_of(const struct ranks *ranks, size_t at)
{
    const struct nl_account *account = ranks->account;
    for (size_t i = 0; i < account->device_count; i++)
        if (account->devices[i].device == ranks->rows[at].device &&
            account->devices[i].rank == ranks->rows[at].rank &&
            account->devices[i].work_start != INT64_MIN)
            return &account->devices[i];
    return NULL;
}

static bool is_one_each(const struct ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->rows[i].rank == NL_NULL_I64 ||
            (i && ranks->rows[i].rank == ranks->rows[i - 1].rank))
            return false;
    return true;
}

static bool find_rank(const struct ranks *ranks, struct nl_late_rank *late)
{
    struct nl_account_late found = nl_account_late(ranks->account, ranks->phase);
    size_t at = 0;
    if (!found.others || found.others + 1 != ranks->count)
        return false;
    while (at < ranks->count && device_of(ranks, at) != &ranks->account->devices[found.device])
        at++;
    if (at == ranks->count)
        return false;
    late->device = at;
    late->by_rank = is_one_each(ranks);
    late->others = found.others;
    late->one_other = at ? 0 : 1;
    late->waits_ns = found.waits_ns / (int64_t)found.others;
    late->net_saving_ns = found.net_saving_ns;
    return true;
}

/* ---- what it does longer ---- */

static const struct kind {
    enum nl_verdict_class class;
    enum nl_time_what whats[3];
    size_t count;
} kinds[KINDS] = {
    {NL_VERDICT_COMPUTE, {NL_TIME_COMPUTE}, 1},
    {NL_VERDICT_COPY, {NL_TIME_COPY}, 1},
    {NL_VERDICT_LAUNCH, {NL_TIME_DISPATCH, NL_TIME_QUEUED}, 2},
    {NL_VERDICT_INPUT, {NL_TIME_INPUT}, 1},
    {NL_VERDICT_SYNC, {NL_TIME_SYNC}, 1},
    {NL_VERDICT_STARTUP, {NL_TIME_FIRST}, 1},
    {NL_VERDICT_HOST, {NL_TIME_HOST}, 1},
    {NL_VERDICT_IDLE, {NL_TIME_NOTHING, NL_TIME_UNKNOWN, NL_TIME_HELD}, 3},
};

static bool sums_of(const struct ranks *ranks, size_t at, int64_t sums[KINDS], int64_t *total)
{
    struct nl_time_parts parts;
    if (!nl_time_sums(ranks->judged, at, ranks->phase, &parts))
        return false;
    for (size_t kind = 0; kind < KINDS; kind++) {
        sums[kind] = 0;
        for (size_t i = 0; i < kinds[kind].count; i++)
            nl_sum_add(&sums[kind], parts.parts[kinds[kind].whats[i]].ns);
    }
    *total = parts.total;
    return true;
}

/* The kind of time of which the late rank has most more than the others. */
static bool find_kind(const struct ranks *ranks, struct nl_late_rank *late)
{
    int64_t own[KINDS], others[KINDS] = {0}, sums[KINDS], total;
    for (size_t i = 0; i < ranks->count; i++) {
        if (!sums_of(ranks, i, sums, &total))
            return false;
        for (size_t kind = 0; kind < KINDS; kind++)
            if (i == late->device)
                own[kind] = sums[kind];
            else
                nl_sum_add(&others[kind], sums[kind]);
        if (i == late->device)
            late->total_ns = total;
    }
    for (size_t kind = 0; kind < KINDS; kind++) {
        int64_t longer = own[kind] - others[kind] / (int64_t)late->others;
        if (longer <= late->longer_ns)
            continue;
        late->class = kinds[kind].class;
        late->ns = own[kind];
        late->longer_ns = longer;
    }
    return true;
}

/* ---- names ---- */

static bool is_of_class(const struct nl_account_row *row, enum nl_verdict_class class)
{
    switch ((enum nl_account_part)row->part) {
    case NL_BOOKED_COMPUTE: return class == NL_VERDICT_COMPUTE;
    case NL_BOOKED_IDLE: return class != NL_VERDICT_COMPUTE && class != NL_VERDICT_COPY;
    case NL_BOOKED_BEFORE:
    case NL_BOOKED_AFTER:
        return !row->not_program && class != NL_VERDICT_COMPUTE && class != NL_VERDICT_COPY;
    default: return false;
    }
}

/* Per name, ns of one rank in the rows of the class. */
static void sum_names(const struct ranks *ranks, size_t at, enum nl_verdict_class class,
                      int64_t *sums)
{
    const struct nl_account_device *device = device_of(ranks, at);
    for (size_t i = 0; device && i < device->rows; i++) {
        const struct nl_account_row *row = &ranks->account->rows[device->first_row + i];
        if (row->name != NL_NO_NAME && is_of_class(row, class) &&
            (ranks->phase == NL_PHASES || row->phase == ranks->phase))
            nl_sum_add(&sums[row->name], row->ns);
    }
}

static void put_name(const struct ranks *ranks, struct nl_late_rank *late, uint32_t name,
                     int64_t own, int64_t others)
{
    size_t place = NL_LATE_NAMES;
    while (place && own - others > late->names[place - 1].ns - late->names[place - 1].others_ns)
        place--;
    if (place == NL_LATE_NAMES)
        return;
    for (size_t i = NL_LATE_NAMES - 1; i > place; i--)
        late->names[i] = late->names[i - 1];
    late->names[place] = (struct nl_late_name){
        .name = late->class == NL_VERDICT_COMPUTE
                    ? nl_keep_kernel(ranks->judged, nl_trace_name(ranks->judged->trace, name))
                    : nl_time_name(ranks->judged, name),
        .ns = own,
        .others_ns = others};
}

static void find_names(const struct ranks *ranks, struct nl_late_rank *late)
{
    size_t names = ranks->judged->trace->names.count, folded = ranks->account->fold.texts.count;
    names = (names > folded ? names : folded) + 1;
    int64_t *own = nl_zalloc(names * sizeof *own), *others = nl_zalloc(names * sizeof *others);
    for (size_t i = 0; i < ranks->count; i++)
        sum_names(ranks, i, late->class, i == late->device ? own : others);
    for (uint32_t name = 0; name < names; name++) {
        int64_t mean = others[name] / (int64_t)late->others;
        if ((double)(own[name] - mean) >= MIN_NAME * (double)late->longer_ns)
            put_name(ranks, late, name, own[name], mean);
    }
    nl_free(own);
    nl_free(others);
}

bool nl_late_rank_find(struct nl_judged *judged, enum nl_phase phase, struct nl_late_rank *late)
{
    struct nl_memo *memo = judged->options->memo;
    struct ranks ranks = {.judged = judged, .phase = phase};
    *late = (struct nl_late_rank){0};
    if (!judged->trace->collective.rows)
        return false;
    ranks.account = nl_memo_account(memo);
    ranks.rows = nl_memo_breakdown(memo, &ranks.count);
    if (!find_rank(&ranks, late) || !find_kind(&ranks, late) ||
        (double)late->net_saving_ns < MIN_WINS * (double)late->total_ns ||
        (double)late->longer_ns < MIN_EXPLAINED_SHARE * (double)late->waits_ns)
        return false;
    if (late->class != NL_VERDICT_COPY && late->class != NL_VERDICT_IDLE)
        find_names(&ranks, late);
    return true;
}
