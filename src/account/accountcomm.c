/* accountcomm — see accountcomm.h. */
#include "account/accountcomm.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "base/median.h"

#define MAX_SPREAD 0.5 /* of the median length: between the quartiles of differences of ends */

/* One kernel of a collective; alike: operation, group and sequence are. */
struct part {
    uint32_t operation, group, kernel, member;
    int64_t sequence, start, dur;
};

static int by_member(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->member != b->member)
        return a->member < b->member ? -1 : 1;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->kernel < b->kernel ? -1 : a->kernel > b->kernel;
}

static int by_sequence(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->member < b->member ? -1 : a->member > b->member;
}

static bool is_pairwise(struct nl_str operation)
{
    return nl_str_contains(operation, "send") || nl_str_contains(operation, "recv") ||
           nl_str_contains(operation, "Send") || nl_str_contains(operation, "Recv");
}

/* Kernel row of a collective, NL_NULL_ROW when it is none of a kernel. */
static uint32_t kernel_of(const struct nl_trace *trace, uint32_t row)
{
    uint32_t slice = trace->collective.slice[row];
    if (slice == NL_NULL_ROW || trace->slice.kind[slice] != NL_KIND_KERNEL ||
        trace->slice.detail[slice] >= trace->kernel.rows)
        return NL_NULL_ROW;
    return trace->slice.detail[slice];
}

/* ---- members ---- */

struct member {
    int64_t rank, ordinal;
    uint32_t device, lane;
};

static int by_place(const void *left, const void *right)
{
    const struct member *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->ordinal != b->ordinal)
        return a->ordinal < b->ordinal ? -1 : 1;
    return a->device < b->device ? -1 : a->device > b->device;
}

/* Lanes whose rank or device is known, of those that hold kernels of collectives. */
static size_t list_lanes(const struct nl_trace *trace, struct member *lanes)
{
    size_t count = 0;
    uint8_t *seen = nl_zalloc((size_t)trace->lane.rows + 1);
    for (uint32_t row = 0; row < trace->collective.rows; row++) {
        if (kernel_of(trace, row) == NL_NULL_ROW)
            continue;
        uint32_t lane = trace->slice.lane[trace->collective.slice[row]];
        uint32_t device = trace->lane.device[lane];
        int64_t rank = nl_lane_rank(trace, lane);
        if (seen[lane] || (rank == NL_NULL_I64 && device == NL_NULL_ROW))
            continue;
        seen[lane] = 1;
        lanes[count++] = (struct member){
            .rank = rank,
            .ordinal = device == NL_NULL_ROW ? NL_NULL_I64 : trace->device.ordinal[device],
            .device = device,
            .lane = lane};
    }
    nl_free(seen);
    return count;
}

/* Two devices of one number and no rank are those of two files: who is meant could not be said. */
static bool are_told_apart(const struct member *a, const struct member *b)
{
    return a->rank != b->rank || a->rank != NL_NULL_I64 || a->ordinal != b->ordinal;
}

/* The members, and who a lane is; NL_NULL_ROW where that is not known. */
static uint32_t *find_members(const struct nl_trace *trace, struct nl_account_comm *comm)
{
    uint32_t *member_of = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *member_of);
    struct member *lanes = nl_alloc(((size_t)trace->lane.rows + 1) * sizeof *lanes);
    size_t count = list_lanes(trace, lanes);
    bool known = true;
    for (uint32_t lane = 0; lane < trace->lane.rows; lane++)
        member_of[lane] = NL_NULL_ROW;
    if (count)
        qsort(lanes, count, sizeof *lanes, by_place);
    comm->members = nl_alloc((count + 1) * sizeof *comm->members);
    for (size_t i = 0; i < count; i++) {
        if (!i || by_place(&lanes[i], &lanes[i - 1]) != 0) {
            known &= !i || are_told_apart(&lanes[i], &lanes[i - 1]);
            comm->members[comm->member_count++] =
                (struct nl_account_member){lanes[i].rank, lanes[i].device, true};
        }
        member_of[lanes[i].lane] = (uint32_t)comm->member_count - 1;
    }
    for (size_t i = 1; i < comm->member_count; i++)
        if (comm->members[i].rank == comm->members[i - 1].rank)
            comm->members[i].alone = comm->members[i - 1].alone = false;
    for (size_t i = 0; i < count && !known; i++)
        if (lanes[i].rank == NL_NULL_I64)
            member_of[lanes[i].lane] = NL_NULL_ROW;
    nl_free(lanes);
    return member_of;
}

static size_t list_parts(const struct nl_trace *trace, struct nl_account_comm *comm,
                         const uint32_t *member_of, struct part *parts)
{
    const struct nl_collective_table *table = &trace->collective;
    size_t count = 0;
    for (uint32_t row = 0; row < table->rows; row++) {
        uint32_t kernel = kernel_of(trace, row), slice = table->slice[row];
        if (kernel == NL_NULL_ROW)
            continue;
        comm->row[kernel] = row;
        uint32_t operation =
            table->operation[row] ? table->operation[row] : trace->slice.name[slice];
        uint32_t member = member_of[trace->slice.lane[slice]];
        if (trace->slice.dur[slice] == NL_NULL_I64 || member == NL_NULL_ROW ||
            is_pairwise(nl_trace_name(trace, operation)))
            continue;
        uint32_t group = table->group_ranks[row] ? table->group_ranks[row] : table->group_name[row];
        parts[count++] = (struct part){.operation = operation,
                                       .group = group,
                                       .kernel = kernel,
                                       .member = member,
                                       .sequence = table->sequence[row],
                                       .start = trace->slice.ts[slice],
                                       .dur = trace->slice.dur[slice]};
    }
    return count;
}

/* ---- collectives ---- */

static bool same_group(const struct part *a, const struct part *b)
{
    return a->operation == b->operation && a->group == b->group;
}

/* Parts [first, last) of one operation and group, by member and start: numbers them by their place
 * where the recorded numbers are no use. False when members have different counts. */
static bool number(struct part *parts, size_t count, bool *recorded)
{
    size_t each = 0;
    bool numbered = true;
    for (size_t i = 0; i < count; i++)
        numbered &= parts[i].sequence != NL_NULL_I64;
    *recorded = numbered;
    if (numbered)
        return true;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && parts[next].member == parts[i].member; next++)
            parts[next].sequence = (int64_t)(next - i);
        if (each && each != next - i)
            return false;
        each = next - i;
    }
    return true;
}

/* Devices of one rank, or of a recording without ranks, have one clock. */
static bool one_clock(const struct nl_account_comm *comm, const struct part *a,
                      const struct part *b)
{
    return comm->members[a->member].rank == comm->members[b->member].rank;
}

/* Parts of one collective. A member that has several (channels) is not understood, nor what
 * did not run at one time. */
static void match(struct nl_account_comm *comm, const struct part *parts, size_t count)
{
    const struct part *least = &parts[0];
    for (size_t i = 1; i < count; i++) {
        const struct part *a = &parts[i - 1], *b = &parts[i];
        if (a->member == b->member || (one_clock(comm, a, b) && (a->start + a->dur < b->start ||
                                                                 b->start + b->dur < a->start)))
            return;
        if (parts[i].dur < least->dur)
            least = &parts[i];
    }
    for (size_t i = 0; i < count && count > 1; i++) {
        comm->transfer[parts[i].kernel] = least->dur;
        comm->late[parts[i].kernel] = least->member;
    }
}

/* Whether the ends of two members' parts, `stride` apart in `parts`, hardly vary against each
 * other; of one clock: are the same. */
static bool two_end_together(const struct nl_account_comm *comm, const struct part *parts,
                             size_t count, size_t stride, size_t first, size_t second)
{
    int64_t *differences = nl_alloc(count * sizeof *differences);
    int64_t *lengths = nl_alloc(count * sizeof *lengths);
    size_t pairs = 0;
    for (size_t i = 0; i + second < count; i += stride) {
        const struct part *a = &parts[i + first], *b = &parts[i + second];
        lengths[pairs] = a->dur < b->dur ? a->dur : b->dur;
        differences[pairs++] = (b->start + b->dur) - (a->start + a->dur);
    }
    nl_sort_i64(differences, pairs);
    int64_t low = differences[pairs / 4], high = differences[pairs * 3 / 4];
    int64_t spread = high - low;
    if (one_clock(comm, &parts[first], &parts[second]))
        spread = high > -low ? high : -low;
    bool together = (double)spread <= MAX_SPREAD * (double)nl_median_upper(lengths, pairs);
    nl_free(differences);
    nl_free(lengths);
    return together;
}

/* Whether parts that were matched by their place alone end together: the clocks of two ranks differ
 * by one offset, so the differences of their ends hardly vary. `parts` in order of sequence. */
static bool end_together(const struct nl_account_comm *comm, const struct part *parts, size_t count)
{
    size_t members = 0;
    while (members < count && parts[members].sequence == parts[0].sequence)
        members++;
    for (size_t at = 1; at < members; at++) {
        size_t other = one_clock(comm, &parts[at], &parts[at - 1]) ? at - 1 : 0;
        if (!two_end_together(comm, parts, count, members, other, at))
            return false;
    }
    return true;
}

static void match_group(struct nl_account_comm *comm, struct part *parts, size_t count)
{
    bool recorded;
    if (parts[0].member == parts[count - 1].member || !number(parts, count, &recorded))
        return;
    if (count)
        qsort(parts, count, sizeof *parts, by_sequence);
    if (!recorded && !end_together(comm, parts, count))
        return;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && parts[next].sequence == parts[i].sequence; next++)
            ;
        match(comm, parts + i, next - i);
    }
}

static bool has_several_members(const struct part *parts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (parts[i].member != parts[0].member)
            return true;
    return false;
}

void nl_account_comm_init(struct nl_account_comm *comm, const struct nl_trace *trace)
{
    size_t kernels = trace->kernel.rows;
    *comm = (struct nl_account_comm){0};
    if (!trace->collective.rows || !kernels)
        return;
    comm->row = nl_alloc(kernels * sizeof *comm->row);
    for (size_t i = 0; i < kernels; i++)
        comm->row[i] = NL_NULL_ROW;
    uint32_t *member_of = find_members(trace, comm);
    struct part *parts = nl_alloc(((size_t)trace->collective.rows + 1) * sizeof *parts);
    size_t count = list_parts(trace, comm, member_of, parts);
    if (has_several_members(parts, count)) {
        comm->transfer = nl_alloc(kernels * sizeof *comm->transfer);
        comm->late = nl_alloc(kernels * sizeof *comm->late);
        for (size_t i = 0; i < kernels; i++) {
            comm->transfer[i] = NL_NULL_I64;
            comm->late[i] = NL_NULL_ROW;
        }
        qsort(parts, count, sizeof *parts, by_member);
        for (size_t i = 0, next; i < count; i = next) {
            for (next = i + 1; next < count && same_group(&parts[i], &parts[next]); next++)
                ;
            match_group(comm, parts + i, next - i);
        }
    }
    nl_free(parts);
    nl_free(member_of);
}

void nl_account_comm_release(struct nl_account_comm *comm)
{
    nl_free(comm->row);
    nl_free(comm->transfer);
    nl_free(comm->late);
    nl_free(comm->members);
    *comm = (struct nl_account_comm){0};
}
