/* accountcomm — see accountcomm.h. */
#include "account/accountcomm.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/sort.h"
#include "timeline/worksweep.h"

#define MOST_SPREAD 0.5 /* of the median length: between the quartiles of differences of ends */

/* One kernel of a collective; alike: operation, group and sequence are. */
struct part {
    uint32_t operation, group, kernel;
    int64_t sequence, rank, start, dur;
};

static int by_rank(const void *left, const void *right)
{
    const struct part *a = left, *b = right;
    if (a->operation != b->operation)
        return a->operation < b->operation ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
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
    return a->rank < b->rank ? -1 : a->rank > b->rank;
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

static size_t list_parts(const struct nl_trace *trace, struct nl_account_comm *comm,
                         struct part *parts)
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
        int64_t rank = nl_lane_rank(trace, trace->slice.lane[slice]);
        if (trace->slice.dur[slice] == NL_NULL_I64 || rank == NL_NULL_I64 ||
            is_pairwise(nl_trace_name(trace, operation)))
            continue;
        uint32_t group = table->group_ranks[row] ? table->group_ranks[row] : table->group_name[row];
        parts[count++] = (struct part){.operation = operation,
                                       .group = group,
                                       .kernel = kernel,
                                       .sequence = table->sequence[row],
                                       .rank = rank,
                                       .start = trace->slice.ts[slice],
                                       .dur = trace->slice.dur[slice]};
    }
    return count;
}

static bool same_group(const struct part *a, const struct part *b)
{
    return a->operation == b->operation && a->group == b->group;
}

/* Parts [first, last) of one operation and group, by rank and start: numbers them by their place where the
 * recorded numbers are no use. False when ranks have different counts. */
static bool number(struct part *parts, size_t count, bool *recorded)
{
    size_t per_rank = 0;
    bool numbered = true;
    for (size_t i = 0; i < count; i++)
        numbered &= parts[i].sequence != NL_NULL_I64;
    *recorded = numbered;
    if (numbered)
        return true;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i; next < count && parts[next].rank == parts[i].rank; next++)
            parts[next].sequence = (int64_t)(next - i);
        if (per_rank && per_rank != next - i)
            return false;
        per_rank = next - i;
    }
    return true;
}

/* Parts of one collective. A rank that has several (devices of one process, channels) is not understood. */
static void match(struct nl_account_comm *comm, const struct part *parts, size_t count)
{
    const struct part *least = &parts[0];
    for (size_t i = 1; i < count; i++) {
        if (parts[i].rank == parts[i - 1].rank)
            return;
        if (parts[i].dur < least->dur)
            least = &parts[i];
    }
    for (size_t i = 0; i < count && count > 1; i++) {
        comm->transfer[parts[i].kernel] = least->dur;
        comm->late[parts[i].kernel] = least->rank;
    }
}

/* Whether parts that were matched by their place alone end together: between the clocks of two ranks lies
 * one offset, so the differences of their ends hardly vary. `parts` in order of sequence. */
static bool end_together(const struct part *parts, size_t count)
{
    int64_t *differences = nl_alloc(count * sizeof *differences);
    int64_t *lengths = nl_alloc(count * sizeof *lengths);
    size_t ranks = 0;
    while (ranks < count && parts[ranks].sequence == parts[0].sequence)
        ranks++;
    bool together = true;
    for (size_t rank = 1; rank < ranks && together; rank++) {
        size_t pairs = 0;
        for (size_t i = 0; i + rank < count; i += ranks) {
            const struct part *a = &parts[i], *b = &parts[i + rank];
            lengths[pairs] = a->dur < b->dur ? a->dur : b->dur;
            differences[pairs++] = (b->start + b->dur) - (a->start + a->dur);
        }
        nl_sort_i64(differences, pairs);
        nl_sort_i64(lengths, pairs);
        int64_t spread = differences[pairs * 3 / 4] - differences[pairs / 4];
        together = (double)spread <= MOST_SPREAD * (double)lengths[pairs / 2];
    }
    nl_free(differences);
    nl_free(lengths);
    return together;
}

static void match_group(struct nl_account_comm *comm, struct part *parts, size_t count)
{
    bool recorded;
    if (parts[0].rank == parts[count - 1].rank || !number(parts, count, &recorded))
        return;
    if (count)
        qsort(parts, count, sizeof *parts, by_sequence);
    if (!recorded && !end_together(parts, count))
        return;
    for (size_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && parts[next].sequence == parts[i].sequence; next++)
            ;
        match(comm, parts + i, next - i);
    }
}

static bool has_several_ranks(const struct part *parts, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (parts[i].rank != parts[0].rank)
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
    struct part *parts = nl_alloc(((size_t)trace->collective.rows + 1) * sizeof *parts);
    size_t count = list_parts(trace, comm, parts);
    if (has_several_ranks(parts, count)) {
        comm->transfer = nl_alloc(kernels * sizeof *comm->transfer);
        comm->late = nl_alloc(kernels * sizeof *comm->late);
        for (size_t i = 0; i < kernels; i++)
            comm->transfer[i] = comm->late[i] = NL_NULL_I64;
        qsort(parts, count, sizeof *parts, by_rank);
        for (size_t i = 0, next; i < count; i = next) {
            for (next = i + 1; next < count && same_group(&parts[i], &parts[next]); next++)
                ;
            match_group(comm, parts + i, next - i);
        }
    }
    nl_free(parts);
}

void nl_account_comm_release(struct nl_account_comm *comm)
{
    nl_free(comm->row);
    nl_free(comm->transfer);
    nl_free(comm->late);
    *comm = (struct nl_account_comm){0};
}
