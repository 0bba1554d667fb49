/* Accounts of processes without device work: what their main thread did. */
#include "account/accountmake.h"
#include "base/mem.h"
#include "timeline/feeder.h"

/* Whether a thread works while it does that; else it waits, or nothing is known. */
static bool is_work_of_thread(uint8_t activity)
{
    switch (activity) {
    case NL_ACTIVITY_NOTHING:
    case NL_ACTIVITY_SYNC:
    case NL_ACTIVITY_OFF:
    case NL_ACTIVITY_WAITING:
    case NL_ACTIVITY_READY:
    case NL_ACTIVITY_UNKNOWN: return false;
    default: return true;
    }
}

/* Per process: does it have device work? nl_free it. */
static uint8_t *processes_with_work(const struct nl_account_maker *maker)
{
    uint8_t *works = nl_zalloc((size_t)maker->trace->process.rows + 1);
    for (size_t i = 0; i < maker->lane_count; i++)
        if (maker->lanes[i].process != NL_NULL_ROW)
            works[maker->lanes[i].process] = 1;
    for (size_t i = 0; i < maker->group_count; i++)
        if (maker->groups[i].lane_count && maker->groups[i].host != NL_NULL_ROW)
            works[maker->groups[i].host] = 1;
    return works;
}

static void book_thread(struct nl_account_maker *maker, struct nl_hostdid *host, size_t group,
                        uint32_t thread)
{
    int64_t now = maker->groups[group].device.start, end = maker->groups[group].device.end;
    for (int64_t until; now < end; now = until) {
        struct nl_did did = nl_hostdid_at(host, thread, now, &until);
        until = until < end ? until : end;
        struct nl_account_row key = nl_account_key(
            group, is_work_of_thread(did.activity) ? NL_BOOKED_COMPUTE : NL_BOOKED_IDLE);
        key.activity = did.activity;
        key.elsewhere = did.elsewhere;
        key.name = nl_account_plain(maker, did.name);
        key.module_or_range = nl_account_range(maker, &did);
        key.count = 1;
        nl_account_book(maker, group, key, now, until);
    }
}

static void add_process(struct nl_account_maker *maker, struct nl_hostdid *host, uint32_t process)
{
    bool others;
    int64_t start, end, rank = maker->trace->process.rank[process];
    uint32_t thread = nl_main_thread(maker->trace, &maker->lanes_of, process, &others);
    if (maker->window.has_rank && rank != maker->window.rank)
        return;
    if (thread == NL_NULL_ROW || !nl_account_host_span(maker, process, &start, &end))
        return;
    nl_grow(&maker->groups, &maker->group_cap, maker->group_count + 1);
    size_t group = maker->group_count++;
    maker->groups[group] = (struct nl_account_group){.device = {.device = NL_NULL_ROW,
                                                                .process = process,
                                                                .rank = rank,
                                                                .ordinal = NL_NULL_I64,
                                                                .start = start,
                                                                .end = end,
                                                                .work_start = start,
                                                                .wall_ns = end - start},
                                                     .phases = nl_phases_of(&maker->phases, rank)};
    book_thread(maker, host, group, thread);
}

void nl_account_cpu(struct nl_account_maker *maker)
{
    struct nl_hostdid host;
    if (maker->window.has_device)
        return;
    uint8_t *works = processes_with_work(maker);
    nl_hostdid_init(&host, maker->trace, maker->roles);
    for (uint32_t process = 0; process < maker->trace->process.rows; process++)
        if (!works[process])
            add_process(maker, &host, process);
    nl_hostdid_release(&host);
    nl_free(works);
}
