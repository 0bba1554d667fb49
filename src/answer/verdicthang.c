/*
 * verdicthang — dumps of a flight recorder: who hangs. A collective that some ranks of a group
 * wait in and others never began is missing from those others; one that a rank still has open
 * although a peer has completed it is stuck on that rank's device. Sends and receives are left
 * out, because they wait for whoever the collectives stop, but where one dump alone, or no
 * collective, says what is open.
 */
#include <stdlib.h>

#include <stdio.h>

#include "answer/judge.h"
#include "base/chars.h"
#include "base/units.h"
#include "base/utf8.h"
#include "store/trace.h"

#define MAX_RANKS 4096
#define MAX_NAMED 8

struct entry {
    uint32_t group, operation;
    int64_t rank, sequence, ts;
    uint64_t bytes;
    bool open;
    int64_t peer; /* of a send or receive: place in the group */
};

struct hang {
    struct nl_judged *judged;
    struct entry *entries; /* collectives by (group, sequence, rank) */
    size_t count, cap, open;
    uint8_t *dumped; /* per rank: its dump is here */
    /* per rank: the earliest that it is missing from, or that it is stuck in; NULL: it is not */
    const struct entry **missing, **stuck;
    uint32_t *pending;
    int64_t ranks; /* highest rank of a dump + 1 */
    size_t dumps;
    size_t mismatches;
    const struct entry *mismatch;
    struct entry transfer; /* the first open send or receive; of no rank without one */
};

static bool is_flight(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->source.rows; i++)
        if (nl_str_is(nl_trace_name(trace, trace->source.format[i]), "flight-recorder"))
            return true;
    return false;
}

static bool is_transfer(struct nl_str operation)
{
    return nl_str_find_nocase(operation, "send") >= 0 || nl_str_find_nocase(operation, "recv") >= 0;
}

static int by_place(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (a->sequence != b->sequence)
        return a->sequence < b->sequence ? -1 : 1;
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static void gather_collectives(struct hang *hang)
{
    const struct nl_trace *trace = hang->judged->trace;
    for (uint32_t i = 0; i < trace->collective.rows; i++) {
        uint32_t slice = trace->collective.slice[i];
        int64_t rank = slice == NL_NULL_ROW ? NL_NULL_I64 : nl_slice_rank(trace, slice);
        if (rank < 0 || rank >= MAX_RANKS || trace->collective.sequence[i] == NL_NULL_I64)
            continue;
        bool open = trace->slice.flags[slice] & 1;
        hang->open += open;
        hang->pending[rank] += open;
        struct entry entry = {.group = trace->collective.group_name[i],
                              .operation = trace->collective.operation[i],
                              .rank = rank,
                              .sequence = trace->collective.sequence[i],
                              .ts = trace->slice.ts[slice],
                              .bytes = trace->collective.bytes[i],
                              .open = open,
                              .peer = trace->collective.peer[i]};
        if (is_transfer(nl_trace_name(trace, entry.operation))) {
            if (open && (hang->transfer.rank < 0 || entry.ts < hang->transfer.ts))
                hang->transfer = entry;
            continue;
        }
        nl_grow(&hang->entries, &hang->cap, hang->count + 1);
        hang->entries[hang->count++] = entry;
    }
    if (hang->count)
        qsort(hang->entries, hang->count, sizeof *hang->entries, by_place);
}

static void find_dumps(struct hang *hang)
{
    const struct nl_trace *trace = hang->judged->trace;
    for (uint32_t i = 0; i < trace->process.rows; i++) {
        int64_t rank = trace->process.rank[i];
        if (rank < 0 || rank >= MAX_RANKS || hang->dumped[rank])
            continue;
        hang->dumped[rank] = 1;
        hang->dumps++;
        hang->ranks = rank + 1 > hang->ranks ? rank + 1 : hang->ranks;
    }
}

/* Members of a group, from the text "[8, 9, 10, 11]" that its entries carry. */
static struct nl_str members_of(const struct nl_trace *trace, uint32_t group)
{
    for (uint32_t i = 0; i < trace->collective.rows; i++)
        if (trace->collective.group_name[i] == group && trace->collective.group_ranks[i])
            return nl_trace_name(trace, trace->collective.group_ranks[i]);
    return (struct nl_str){NULL, 0};
}

/* The next number of the list from *at on, at most MAX_RANKS; -1 at its end. */
static int64_t next_member(struct nl_str list, size_t *at)
{
    while (*at < list.len && !nl_is_digit(list.ptr[*at]))
        ++*at;
    if (*at >= list.len)
        return -1;
    int64_t rank = 0;
    for (; *at < list.len && nl_is_digit(list.ptr[*at]); ++*at) {
        rank = rank * 10 + (list.ptr[*at] - '0');
        rank = rank < MAX_RANKS ? rank : MAX_RANKS;
    }
    return rank;
}

static void blame(const struct entry **where, const struct entry *entry)
{
    if (!*where || entry->ts < (*where)->ts)
        *where = entry;
}

/* Ranks of the group without an entry where others wait. Only the first such place of a group
 * counts: whoever missed it cannot come to the next. */
static bool find_missing(struct hang *hang, const struct entry *run, size_t count)
{
    struct nl_str list = members_of(hang->judged->trace, run->group);
    bool found = false, any_open = false;
    for (size_t i = 0; i < count; i++)
        any_open |= run[i].open;
    for (size_t at = 0; any_open;) {
        int64_t rank = next_member(list, &at);
        if (rank < 0)
            break;
        bool here = rank == MAX_RANKS || !hang->dumped[rank];
        for (size_t i = 0; i < count && !here; i++)
            here = run[i].rank == rank;
        if (here)
            continue;
        blame(&hang->missing[rank], run);
        found = true;
    }
    return found;
}

/* Open on one rank, complete on a peer: everything that the peer has of the group comes later. */
static void find_stuck(struct hang *hang, const struct entry *group, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!group[i].open || hang->stuck[group[i].rank])
            continue;
        for (size_t other = 0; other < count; other++) {
            if (group[other].rank == group[i].rank || group[other].sequence <= group[i].sequence)
                continue;
            size_t same = 0;
            while (same < count && (group[same].rank != group[other].rank ||
                                    group[same].sequence > group[i].sequence))
                same++;
            if (same < count)
                continue;
            blame(&hang->stuck[group[i].rank], &group[i]);
            break;
        }
    }
}

static void find_mismatch(struct hang *hang, const struct entry *run, size_t count)
{
    const struct nl_trace *trace = hang->judged->trace;
    bool uneven = nl_str_contains(nl_trace_name(trace, run->operation), "all_to_all") ||
                  nl_str_contains(nl_trace_name(trace, run->operation), "ALLTOALL");
    for (size_t i = 1; i < count; i++)
        if (run[i].operation != run->operation || (!uneven && run[i].bytes != run->bytes)) {
            hang->mismatch = hang->mismatches++ ? hang->mismatch : &run[i];
            return;
        }
}

static void regard(struct hang *hang)
{
    for (size_t start = 0, end; start < hang->count; start = end) {
        bool found = false;
        end = start;
        while (end < hang->count && hang->entries[end].group == hang->entries[start].group) {
            size_t run = end;
            while (end < hang->count && hang->entries[end].group == hang->entries[start].group &&
                   hang->entries[end].sequence == hang->entries[run].sequence)
                end++;
            find_mismatch(hang, &hang->entries[run], end - run);
            found = found || find_missing(hang, &hang->entries[run], end - run);
        }
        find_stuck(hang, &hang->entries[start], end - start);
    }
}

/* ---- words ---- */

static const char *description(const struct hang *hang, uint32_t group, struct nl_buf *room)
{
    const struct nl_trace *trace = hang->judged->trace;
    struct nl_str name = nl_trace_name(trace, group);
    char key[100];
    snprintf(key, sizeof key, "process group %.*s", NL_UP_TO(60, name));
    nl_buf_clear(room);
    for (uint32_t i = 0; i < trace->meta.rows; i++) {
        if (!nl_str_is(nl_trace_name(trace, trace->meta.key[i]), key))
            continue;
        struct nl_str value = nl_trace_name(trace, trace->meta.value[i]);
        for (size_t at = 0; at < value.len && value.ptr[at] != ' '; at++)
            nl_buf_char(room, value.ptr[at]);
        break;
    }
    nl_buf_format(room, "%s%.*s", room->len ? " " : "group ", (int)name.len, name.ptr);
    return room->ptr;
}

/* "all_to_all 20947 of EXPERT_MODEL_PARALLEL_GROUP 73". */
static void put_entry(const struct hang *hang, struct nl_buf *out, const struct entry *entry)
{
    struct nl_buf room;
    nl_buf_init(&room, 400);
    nl_tell_name(out, "", nl_trace_name(hang->judged->trace, entry->operation));
    nl_buf_format(out, " %lld of %s", (long long)entry->sequence,
                  description(hang, entry->group, &room));
    nl_buf_release(&room);
}

/* `idle_only`: not those that have something left to do. */
static bool is_told(const struct hang *hang, const struct entry **blamed, int64_t rank,
                    bool idle_only)
{
    return blamed[rank] && (!idle_only || !hang->pending[rank]);
}

/* "rank 10", "ranks 10 and 15". */
static size_t put_ranks(const struct hang *hang, struct nl_buf *out, const struct entry **blamed,
                        bool idle_only)
{
    size_t count = 0, said = 0;
    for (int64_t rank = 0; rank < hang->ranks; rank++)
        count += is_told(hang, blamed, rank, idle_only);
    nl_buf_text(out, count == 1 ? "rank " : "ranks ");
    for (int64_t rank = 0; rank < hang->ranks && said < MAX_NAMED; rank++) {
        if (!is_told(hang, blamed, rank, idle_only))
            continue;
        nl_buf_format(out, "%s%lld",
                      !said               ? ""
                      : said + 1 == count ? " and "
                                          : ", ",
                      (long long)rank);
        said++;
    }
    if (said < count)
        nl_buf_format(out, " and %zu more", count - said);
    return count;
}

/* The first operation; of the blamed ranks that another one is about, that one: "all_to_all 7 of
 * EP_GROUP 73 (rank 15: of EP_GROUP 74)". */
static void put_places(const struct hang *hang, struct nl_buf *out, const struct entry **blamed,
                       bool idle_only)
{
    struct nl_buf room;
    size_t said = 0;
    const struct entry *first = NULL;
    for (int64_t rank = 0; rank < hang->ranks; rank++)
        if (is_told(hang, blamed, rank, idle_only))
            blame(&first, blamed[rank]);
    nl_buf_init(&room, 400);
    put_entry(hang, out, first);
    for (int64_t rank = 0; rank < hang->ranks && said < MAX_NAMED; rank++) {
        const struct entry *where = blamed[rank];
        if (!is_told(hang, blamed, rank, idle_only) || where->group == first->group)
            continue;
        nl_buf_format(out, "%srank %lld: ", said++ ? "; " : " (", (long long)rank);
        if (where->operation != first->operation || where->sequence != first->sequence)
            put_entry(hang, out, where);
        else
            nl_buf_format(out, "of %s", description(hang, where->group, &room));
    }
    nl_buf_text(out, said ? ")" : "");
    nl_buf_release(&room);
}

static size_t count_of(const struct hang *hang, const struct entry **blamed, bool idle_only)
{
    size_t count = 0;
    for (int64_t rank = 0; rank < hang->ranks; rank++)
        count += is_told(hang, blamed, rank, idle_only);
    return count;
}

static void keep_culprit(struct hang *hang, const struct entry **blamed, bool idle_only)
{
    struct nl_buf text;
    nl_buf_init(&text, 400);
    put_ranks(hang, &text, blamed, idle_only);
    hang->judged->verdict->culprit =
        nl_keep_name(hang->judged, (struct nl_str){text.ptr, text.len});
    nl_buf_release(&text);
}

/* Missing ranks that have nothing left to do stopped before the collective: on the host. */
static void tell_stopped(struct hang *hang)
{
    struct nl_buf *out = nl_tell_begin(hang->judged);
    nl_buf_text(out, "Hang: ");
    size_t count = put_ranks(hang, out, hang->missing, true);
    nl_buf_text(out, " stopped on the CPU: everything enqueued there has completed, and ");
    nl_buf_text(out, count == 1 ? "it never issued " : "they never issued ");
    put_places(hang, out, hang->missing, true);
    nl_buf_text(out, ", in which the others wait.");
    nl_tell_end(hang->judged, &hang->judged->verdict->sentence);
    keep_culprit(hang, hang->missing, true);
    out = nl_tell_begin(hang->judged);
    nl_buf_text(out, "Look at the Python stacks of ");
    put_ranks(hang, out, hang->missing, true);
    nl_buf_text(out, " (py-spy dump --pid): a lock, the GIL, the data loader, an exception; GPUs "
                     "and network did their part.");
    nl_tell_note(hang->judged);
}

/* What to look at next: where it stopped on the CPU, or on the device. */
static void tell_where_to_look(struct hang *hang, const struct entry **blamed)
{
    struct nl_buf *out = nl_tell_begin(hang->judged);
    bool cpu = blamed == hang->missing;
    nl_buf_text(out, cpu ? "Look at the Python stacks of " : "Look at the logs of ");
    size_t count = put_ranks(hang, out, blamed, false);
    nl_buf_text(out, cpu ? count == 1
                               ? " (py-spy dump --pid): it did not get as far as this call."
                               : " (py-spy dump --pid): they did not get as far as this call."
                         : " and of their GPUs: errors of NCCL (NCCL_DEBUG=INFO in the next run), "
                           "Xid in dmesg, a link or node that is down.");
    nl_tell_note(hang->judged);
}

static void tell_stuck(struct hang *hang)
{
    bool both = false;
    const struct entry **first = nl_zalloc((size_t)hang->ranks * sizeof *first);
    for (int64_t rank = 0; rank < hang->ranks; rank++) {
        first[rank] = hang->missing[rank] ? hang->stuck[rank] : NULL;
        both |= first[rank] != NULL;
    }
    const struct entry **blamed = both                                 ? first
                                  : count_of(hang, hang->stuck, false) ? hang->stuck
                                                                       : hang->missing;
    struct nl_buf *out = nl_tell_begin(hang->judged);
    nl_buf_text(out, "Hang: ");
    size_t count = put_ranks(hang, out, blamed, false);
    if (blamed == hang->missing)
        nl_buf_format(out, " never issued ");
    else
        nl_buf_text(out,
                    count == 1 ? " stopped first: it is still in " : " stopped first: still in ");
    put_places(hang, out, blamed, false);
    nl_buf_text(out, blamed == hang->missing ? ", in which the others wait."
                     : both
                         ? ", which its peer has completed, and is missing from later collectives."
                         : ", which a peer has completed.");
    nl_tell_end(hang->judged, &hang->judged->verdict->sentence);
    keep_culprit(hang, blamed, false);
    tell_where_to_look(hang, blamed);
    if (both && count_of(hang, hang->stuck, false) > count) {
        for (int64_t rank = 0; rank < hang->ranks; rank++)
            first[rank] = hang->missing[rank] ? NULL : hang->stuck[rank];
        out = nl_tell_begin(hang->judged);
        nl_buf_text(out, "Next suspect: ");
        put_ranks(hang, out, first, false);
        nl_buf_text(
            out, ", whose device still holds operations that a peer has completed. The GPU or its "
                 "links failed there: look for Xid errors.");
        nl_tell_note(hang->judged);
    }
    nl_free(first);
}

/* The open operation that says most: the earliest, a send or receive only of one dump alone or
 * without a collective. */
static const struct entry *first_open(const struct hang *hang)
{
    const struct entry *first = NULL, *transfer = &hang->transfer;
    for (size_t i = 0; i < hang->count; i++)
        if (hang->entries[i].open && (!first || hang->entries[i].ts < first->ts))
            first = &hang->entries[i];
    if (transfer->rank >= 0 && (!first || (hang->dumps < 2 && transfer->ts < first->ts)))
        return transfer;
    return first;
}

/* ", from rank 14". */
static void put_peer(const struct hang *hang, struct nl_buf *out, const struct entry *entry)
{
    const struct nl_trace *trace = hang->judged->trace;
    struct nl_str list = members_of(trace, entry->group);
    int64_t rank = -1;
    size_t at = 0;
    for (int64_t place = 0; place <= entry->peer; place++) {
        rank = next_member(list, &at);
        if (rank < 0)
            return;
    }
    if (rank < 0)
        return;
    bool sends = nl_str_find_nocase(nl_trace_name(trace, entry->operation), "send") >= 0;
    nl_buf_format(out, ", %s rank %lld", sends ? "to" : "from", (long long)rank);
}

static void tell_what_to_load(struct hang *hang, bool collective)
{
    struct nl_buf *out = nl_tell_begin(hang->judged);
    if (hang->dumps < 2)
        nl_buf_text(out,
                    "One dump does not show who the others wait for: load the dumps of all ranks "
                    "together, the folder.");
    else if (!collective)
        nl_buf_text(out, "Only sends and receives are open: find the peer that never posted the "
                         "matching half, on the CPU (py-spy dump --pid) or on the device.");
    else
        nl_buf_text(
            out, "No rank is missing: all of them are in the operation, so look at the device and "
                 "the network: NCCL_DEBUG=INFO in the next run names transport and errors.");
    nl_tell_note(hang->judged);
}

/* Everybody is in the same place, or there is one dump alone. */
static void tell_waiting(struct hang *hang)
{
    const struct entry *first = first_open(hang);
    struct nl_buf *out = nl_tell_begin(hang->judged);
    nl_tell_number(out, "Hang: ", (int64_t)hang->open, "operation has", "operations have");
    nl_buf_text(out, " not completed");
    if (first) {
        nl_buf_text(out, "; the first is ");
        put_entry(hang, out, first);
        if (first == &hang->transfer)
            put_peer(hang, out, first);
    }
    nl_buf_char(out, '.');
    nl_tell_end(hang->judged, &hang->judged->verdict->sentence);
    hang->judged->verdict->culprit =
        first ? nl_keep_name(hang->judged, nl_trace_name(hang->judged->trace, first->operation))
              : NULL;
    tell_what_to_load(hang, first && first != &hang->transfer);
}

static void tell_nothing(struct hang *hang)
{
    struct nl_buf *out = nl_tell_begin(hang->judged);
    nl_buf_text(out, "Nothing is outstanding in ");
    nl_buf_text(out, hang->dumps > 1 ? "these dumps" : "this dump");
    nl_buf_text(
        out,
        ": everything that was enqueued had completed. A rank that is stuck on the CPU looks the "
        "same.");
    nl_tell_end(hang->judged, &hang->judged->verdict->sentence);
    out = nl_tell_begin(hang->judged);
    nl_buf_text(out,
                "Load the dumps of all ranks together to see whether others wait for this one.");
    nl_tell_note(hang->judged);
    hang->judged->verdict->class = NL_VERDICT_NONE;
}

static void tell_more(struct hang *hang)
{
    struct nl_buf *out = nl_tell_begin(hang->judged);
    if (hang->mismatches) {
        nl_buf_text(out, "Ranks disagree about ");
        put_entry(hang, out, hang->mismatch);
        nl_tell_number(out, " (", (int64_t)hang->mismatches, "collective", "collectives");
        nl_buf_text(out, "): another operation or another size.");
        nl_tell_note(hang->judged);
    }
    out = nl_tell_begin(hang->judged);
    nl_tell_number(out, "", (int64_t)hang->dumps, "rank", "ranks");
    nl_tell_number(out, ", ", (int64_t)hang->open, "operation", "operations");
    nl_buf_text(
        out,
        " not completed when the dumps were written; how long they would have taken is unknown.");
    nl_tell_note(hang->judged);
}

bool nl_judge_hang(struct nl_judged *judged)
{
    if (!is_flight(judged->trace))
        return false;
    struct hang hang = {.judged = judged, .transfer = {.rank = -1}};
    hang.dumped = nl_zalloc(MAX_RANKS);
    hang.missing = nl_zalloc(MAX_RANKS * sizeof *hang.missing);
    hang.stuck = nl_zalloc(MAX_RANKS * sizeof *hang.stuck);
    hang.pending = nl_zalloc(MAX_RANKS * sizeof *hang.pending);
    gather_collectives(&hang);
    find_dumps(&hang);
    regard(&hang);
    judged->verdict->class = NL_VERDICT_HANG;
    if (!hang.open)
        tell_nothing(&hang);
    else if (count_of(&hang, hang.missing, true))
        tell_stopped(&hang);
    else if (count_of(&hang, hang.missing, false) || count_of(&hang, hang.stuck, false))
        tell_stuck(&hang);
    else
        tell_waiting(&hang);
    if (hang.open)
        tell_more(&hang);
    nl_free(hang.entries);
    nl_free(hang.dumped);
    nl_free(hang.missing);
    nl_free(hang.stuck);
    nl_free(hang.pending);
    return true;
}
