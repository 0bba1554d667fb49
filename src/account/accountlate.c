/* accountlate — see accountlate.h. */
#include "account/accountlate.h"

#include "base/mem.h"
#include "base/sum.h"

#define MIN_LATE_SHARE 0.5 /* of all waiting, for this one */
#define MAX_OWN        0.5 /* of what can be won: what it waits itself for others */

/* Of what the others wait on average: each of them; else another is late, too. */
#define MIN_ALL_SHARE 0.25

/* Devices with work, and what they wait. */
struct crowd {
    const struct nl_account *account;
    enum nl_phase phase;
    size_t *devices, count;
    int64_t *waits; /* per member: what is waited for it */
    int64_t *own;   /* per device of the list: what it waits for any */
};

static bool list_devices(struct crowd *crowd)
{
    const struct nl_account_device *devices = crowd->account->devices;
    for (size_t i = 0; i < crowd->account->device_count; i++) {
        if (devices[i].device == NL_NULL_ROW || devices[i].work_start == INT64_MIN)
            continue;
        if (devices[i].starts_unknown)
            return false;
        crowd->devices[crowd->count++] = i;
    }
    return crowd->count > 1;
}

/* Rows of waiting of a device: the next from *row on, which is moved past it; NULL when there is
 * none. */
static const struct nl_account_row *next_wait(const struct nl_account *account, enum nl_phase phase,
                                              size_t device, size_t *row)
{
    const struct nl_account_device *of = &account->devices[device];
    while (*row < of->rows) {
        const struct nl_account_row *it = &account->rows[of->first_row + (*row)++];
        if (it->part == NL_BOOKED_COMM_WAIT && (phase == NL_PHASES || it->phase == phase))
            return it;
    }
    return NULL;
}

/* What is waited for each member, and what each device waits; of all. */
static int64_t sum_waits(struct crowd *crowd)
{
    int64_t all = 0;
    for (size_t i = 0; i < crowd->count; i++) {
        const struct nl_account_row *row;
        for (size_t at = 0;
             (row = next_wait(crowd->account, crowd->phase, crowd->devices[i], &at));) {
            nl_sum_add(&all, row->ns);
            nl_sum_add(&crowd->own[i], row->ns);
            if (row->late != NL_NULL_ROW)
                nl_sum_add(&crowd->waits[row->late], row->ns);
        }
    }
    return all;
}

int64_t nl_account_late_wait(const struct nl_account *account, enum nl_phase phase, uint32_t member,
                             size_t device)
{
    int64_t sum = 0, any = 0;
    const struct nl_account_row *row;
    for (size_t at = 0; (row = next_wait(account, phase, device, &at));) {
        nl_sum_add(&any, row->ns);
        if (row->late == member)
            nl_sum_add(&sum, row->ns);
    }
    return sum ? sum : any;
}

static int64_t least_wait(const struct crowd *crowd, size_t late, uint32_t member)
{
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < crowd->count; i++) {
        if (i == late)
            continue;
        int64_t sum = nl_account_late_wait(crowd->account, crowd->phase, member, crowd->devices[i]);
        least = sum < least ? sum : least;
    }
    return least;
}

static void find_late(struct crowd *crowd, struct nl_account_late *late)
{
    int64_t all = sum_waits(crowd), most = 0;
    uint32_t member = NL_NULL_ROW;
    for (uint32_t i = 0; i < crowd->account->member_count; i++)
        if (crowd->waits[i] > most) {
            most = crowd->waits[i];
            member = i;
        }
    if (!most || (double)most < MIN_LATE_SHARE * (double)all)
        return;
    const struct nl_account_device *device = nl_account_member_device(crowd->account, member);
    size_t at = 0;
    while (at < crowd->count && &crowd->account->devices[crowd->devices[at]] != device)
        at++;
    if (at == crowd->count)
        return;
    int64_t least = least_wait(crowd, at, member);
    if ((double)crowd->own[at] > MAX_OWN * (double)least ||
        (double)least * (double)(crowd->count - 1) < MIN_ALL_SHARE * (double)most)
        return;
    *late = (struct nl_account_late){.others = crowd->count - 1,
                                     .member = member,
                                     .device = crowd->devices[at],
                                     .waits_ns = most,
                                     .net_saving_ns = least};
}

struct nl_account_late nl_account_late(const struct nl_account *account, enum nl_phase phase)
{
    struct nl_account_late late = {.member = NL_NULL_ROW};
    size_t most = account->device_count + 1;
    struct crowd crowd = {.account = account,
                          .phase = phase,
                          .devices = nl_alloc(most * sizeof *crowd.devices),
                          .waits = nl_zalloc((account->member_count + 1) * sizeof *crowd.waits),
                          .own = nl_zalloc(most * sizeof *crowd.own)};
    if (list_devices(&crowd))
        find_late(&crowd, &late);
    nl_free(crowd.devices);
    nl_free(crowd.waits);
    nl_free(crowd.own);
    return late;
}
