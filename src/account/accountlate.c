/* accountlate — see accountlate.h. */
#include "account/accountlate.h"

#include "base/mem.h"
#include "base/search.h"
#include "base/sum.h"

#define MOST_OF  0.5 /* of all waiting, for this rank */
#define OWN_MOST 0.5 /* of what can be won: what the rank itself waits for others */

/* Of what the others wait on average: each of them; else another is late, too. */
#define ALL_LEAST 0.25

struct ranks {
    const struct nl_account *account;
    enum nl_phase phase;
    size_t *devices; /* with work, one a rank, in order of rank */
    size_t count;
    int64_t *waits; /* per rank: what is waited for it */
    int64_t *own;   /* per rank: what it waits for any */
};

/* False when a rank is unknown or has several devices. */
static bool list_devices(struct ranks *ranks)
{
    const struct nl_account_device *devices = ranks->account->devices;
    for (size_t i = 0; i < ranks->account->device_count; i++) {
        if (devices[i].device == NL_NULL_ROW || devices[i].work_start == INT64_MIN)
            continue;
        size_t before = ranks->count;
        if (devices[i].rank == NL_NULL_I64 || devices[i].starts_unknown ||
            (before && devices[i].rank == devices[ranks->devices[before - 1]].rank))
            return false;
        ranks->devices[ranks->count++] = i;
    }
    return ranks->count > 1;
}

static int64_t rank_of(const struct ranks *ranks, size_t at)
{
    return ranks->account->devices[ranks->devices[at]].rank;
}

/* Rows of waiting of the rank at `at`: the next from *row on, which is moved behind it; NULL when there is none. */
static const struct nl_account_row *next_wait(const struct ranks *ranks, size_t at, size_t *row)
{
    const struct nl_account_device *device = &ranks->account->devices[ranks->devices[at]];
    while (*row < device->rows) {
        const struct nl_account_row *it = &ranks->account->rows[device->first_row + (*row)++];
        if (it->part == NL_BOOKED_COMM_WAIT &&
            (ranks->phase == NL_PHASES || it->phase == ranks->phase))
            return it;
    }
    return NULL;
}

/* What is waited for each rank, and what each waits; of all. */
static int64_t sum_waits(struct ranks *ranks)
{
    int64_t all = 0;
    for (size_t i = 0; i < ranks->count; i++) {
        const struct nl_account_row *row;
        for (size_t at = 0; (row = next_wait(ranks, i, &at));) {
            nl_sum_add(&all, row->ns);
            nl_sum_add(&ranks->own[i], row->ns);
            if (row->late == NL_NULL_I64)
                continue;
            size_t late = NL_FIRST(r, (size_t)0, ranks->count, rank_of(ranks, r) >= row->late);
            if (late < ranks->count && rank_of(ranks, late) == row->late)
                nl_sum_add(&ranks->waits[late], row->ns);
        }
    }
    return all;
}

/* A rank that does not wait for the late one (it is in other groups) waits for ranks that do. */
static int64_t least_wait(const struct ranks *ranks, size_t late)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < ranks->count; i++) {
        int64_t sum = 0;
        const struct nl_account_row *row;
        for (size_t at = 0; i != late && (row = next_wait(ranks, i, &at));)
            if (row->late == rank_of(ranks, late))
                nl_sum_add(&sum, row->ns);
        sum = sum ? sum : ranks->own[i];
        if (i != late && sum < least)
            least = sum;
    }
    return least;
}

static void find(struct ranks *ranks, struct nl_account_late *late)
{
    int64_t all = sum_waits(ranks), most = 0, least;
    size_t at = 0;
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->waits[i] > most) {
            most = ranks->waits[i];
            at = i;
        }
    if (!most || (double)most < MOST_OF * (double)all)
        return;
    least = least_wait(ranks, at);
    if ((double)ranks->own[at] > OWN_MOST * (double)least ||
        (double)least * (double)(ranks->count - 1) < ALL_LEAST * (double)most)
        return;
    *late = (struct nl_account_late){.others = ranks->count - 1,
                                     .rank = rank_of(ranks, at),
                                     .device = ranks->devices[at],
                                     .waits_ns = most,
                                     .wins_ns = least};
}

struct nl_account_late nl_account_late(const struct nl_account *account, enum nl_phase phase)
{
    struct nl_account_late late = {.rank = NL_NULL_I64};
    size_t most = account->device_count + 1;
    struct ranks ranks = {.account = account,
                          .phase = phase,
                          .devices = nl_alloc(most * sizeof *ranks.devices),
                          .waits = nl_zalloc(most * sizeof *ranks.waits),
                          .own = nl_zalloc(most * sizeof *ranks.own)};
    if (list_devices(&ranks))
        find(&ranks, &late);
    nl_free(ranks.devices);
    nl_free(ranks.waits);
    nl_free(ranks.own);
    return late;
}
