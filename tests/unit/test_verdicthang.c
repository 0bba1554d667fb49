/* Dumps of a flight recorder: who is blamed for a hang (answer/verdicthang.c). A dump is a list of
 * entries, one to a line, worked out by hand. */
#include "judging.h"

#define GROUPS 4

/* "RANK GROUP SEQUENCE OPERATION BYTES TS [open|done] PEER\n" each; a rank alone is one whose dump
 * has no entry. Peer -1: none. */
struct dumps {
    const char *entries;
    const char *ranks[GROUPS]; /* of groups g0, g1, …, as the dumps have them */
    const char *description;   /* of group g0 */
};

struct maker {
    struct nl_builder *builder;
    struct nl_stage *stage;
    const struct dumps *dumps;
    int64_t ranks[16]; /* of the dumps so far, */
    uint32_t sources[16];
    size_t count;
};

/* The dump of a rank. */
static uint32_t source_of(struct maker *make, int64_t rank)
{
    char file[32];
    for (size_t i = 0; i < make->count; i++)
        if (make->ranks[i] == rank)
            return make->sources[i];
    snprintf(file, sizeof file, "flight_%" PRId64, rank);
    uint32_t source = nl_builder_source(make->builder, file, "flight-recorder");
    nl_builder_rank(make->builder, source, rank);
    nl_builder_clock(make->builder, source, "utc", 0);
    if (make->dumps->description)
        nl_builder_meta(make->builder, source, "process group g0",
                        nl_str(make->dumps->description));
    make->ranks[make->count] = rank;
    return make->sources[make->count++] = source;
}

static void add_entry(struct maker *make, const char *line)
{
    char group[8] = "", operation[32] = "", state[8] = "";
    long long rank = 0, sequence = 0, bytes = 0, ts = 0, peer = -1;
    int read = sscanf(line, "%lld %7s %lld %31s %lld %lld %7s %lld", &rank, group, &sequence,
                      operation, &bytes, &ts, state, &peer);
    /* a rank alone: the next line's are read after it */
    read = strcspn(line, " ") < strcspn(line, "\n") ? read : 1;
    uint32_t source = source_of(make, rank);
    uint32_t process = nl_builder_process(make->builder, source, 1);
    nl_stage_begin(make->stage, source, make->count);
    if (read < 7)
        return;
    struct nl_lane_key key = {.kind = NL_LANE_ASYNC,
                              .process = process,
                              .thread = NL_NULL_ROW,
                              .device = NL_NULL_ROW,
                              .context = NL_NULL_I64,
                              .stream = NL_NULL_I64,
                              .domain = nl_builder_name(make->builder, nl_str(group))};
    struct nl_slice_row slice = nl_slice_row();
    slice.kind = NL_KIND_GENERIC;
    slice.lane = nl_builder_lane(make->builder, &key);
    slice.name = nl_stage_name(make->stage, nl_str(operation));
    slice.ts = 1000000 + ts;
    slice.dur = 1;
    slice.flags = !strcmp(state, "open");
    struct nl_collective_row row = nl_collective_row();
    const char *ranks = make->dumps->ranks[group[1] - '0'];
    row.slice = nl_stage_slice(make->stage, &slice);
    row.operation = slice.name;
    row.bytes = (uint64_t)bytes;
    row.group_name = nl_stage_name(make->stage, nl_str(group));
    row.group_ranks = ranks ? nl_stage_name(make->stage, nl_str(ranks)) : 0;
    row.sequence = sequence < 0 ? NL_NULL_I64 : sequence;
    row.peer = peer < 0 ? NL_NULL_I64 : peer;
    nl_stage_collective(make->stage, &row);
}

static void says(const char *what, struct dumps dumps, const char *want)
{
    struct nl_err err = {0};
    struct maker make = {.builder = nl_builder_new(NULL), .dumps = &dumps};
    make.stage = nl_stage_new(make.builder);
    for (const char *line = dumps.entries; *line; line = strchr(line, '\n') + 1)
        add_entry(&make, line);
    check_case(what);
    judge_check(nl_judge_hang, nl_builder_finish(make.builder, &err), want);
    check_case(NULL);
}

#define STACKS                                                                                     \
    " (py-spy dump --pid): a lock, the GIL, the data loader, an exception; GPUs and network did "  \
    "their part.\n"
#define STOPPED " stopped on the CPU: everything enqueued there has completed, and "
#define WAIT    " when the dumps were written; how long they would have taken is unknown.\n"
#define LOGS                                                                                       \
    " and of their GPUs: errors of NCCL (NCCL_DEBUG=INFO in the next run), Xid in dmesg, a link "  \
    "or node that is down.\n"

static void one_never_came(void)
{
    says("one of three",
         (struct dumps){.entries = "0 g0 6 all_reduce 8 10 done\n0 g0 7 all_reduce 8 20 open\n"
                                   "1 g0 6 all_reduce 8 11 done\n1 g0 7 all_reduce 8 21 open\n"
                                   "2 g0 6 all_reduce 8 12 done\n",
                        .ranks = {"[0, 1, 2]"}},
         "hang: Hang: rank 2" STOPPED
         "it never issued all_reduce 7 of group g0, in which the others wait.\n"
         "culprit: rank 2\nLook at the Python stacks of rank 2" STACKS
         "3 ranks, 2 operations not completed" WAIT);
    says("a dump without entries, a group with a description",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1\n",
                        .ranks = {"[0, 1]"},
                        .description = "EP_GROUP [0, 1]"},
         "hang: Hang: rank 1" STOPPED
         "it never issued all_reduce 7 of EP_GROUP g0, in which the others wait.\n"
         "culprit: rank 1\nLook at the Python stacks of rank 1" STACKS
         "2 ranks, 1 operation not completed" WAIT);
    says("none waits where it is missing",
         (struct dumps){.entries = "0 g0 6 all_reduce 8 10 done\n0 g0 7 all_reduce 8 20 open\n"
                                   "1 g0 7 all_reduce 8 21 open\n",
                        .ranks = {"[0, 1]"}},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n…");
    says("one of which there is no dump",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 21 open\n",
                        .ranks = {"[0, 1, 2]"}},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n"
         "culprit: all_reduce\nNo rank is missing: all of them are in the operation, so look at "
         "the device and the network: NCCL_DEBUG=INFO in the next run names transport and errors."
         "\n2 ranks, 2 operations not completed" WAIT);
    says("ranks of the group unknown",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1\n"},
         "hang: Hang: 1 operation has not completed; the first is all_reduce 7 of group g0.\n…");
    says("the first that it missed",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n0 g0 8 all_gather 8 30 open\n1\n",
                        .ranks = {"[0, 1]"}},
         "hang: Hang: rank 1" STOPPED
         "it never issued all_reduce 7 of group g0, in which the others wait.\n…");
    says("without its number an entry says nothing",
         (struct dumps){.entries = "0 g0 -1 all_reduce 8 20 open\n1\n", .ranks = {"[0, 1]"}},
         "none: Nothing is outstanding in these dumps: everything that was enqueued had "
         "completed. "
         "A rank that is stuck on the CPU looks the same.\nculprit: (none)\n"
         "Load the dumps of all ranks together to see whether others wait for this one.\n");
}

/* Numbers of ranks: eight are named; up to 4095 they are looked at. */
static void many_never_came(void)
{
    static const char *const ranks[] = {"rank 1",
                                        "ranks 1 and 2",
                                        "ranks 1, 2 and 3",
                                        NULL,
                                        NULL,
                                        NULL,
                                        "ranks 1, 2, 3, 4, 5, 6 and 7",
                                        "ranks 1, 2, 3, 4, 5, 6, 7 and 8",
                                        "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 1 more",
                                        "ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 more"};
    for (int count = 1; count <= (int)CHECK_LENGTH(ranks); count++) {
        char entries[200] = "0 g0 7 all_reduce 8 20 open\n", want[200];
        if (!ranks[count - 1])
            continue;
        for (int i = 1; i <= count; i++)
            snprintf(entries + strlen(entries), 10, "%d\n", i);
        snprintf(want, sizeof want, "hang: Hang: %s" STOPPED "%s never issued…", ranks[count - 1],
                 count == 1 ? "it" : "they");
        says(ranks[count - 1],
             (struct dumps){.entries = entries, .ranks = {"[0,1,2,3,4,5,6,7,8,9,10]"}}, want);
    }
    says("the last that is looked at",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n4095\n", .ranks = {"[0,4095]"}},
         "hang: Hang: rank 4095" STOPPED "it never issued…");
    says("the first that is not",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n4096\n", .ranks = {"[0,4096]"}},
         "hang: Hang: 1 operation has not completed; the first is all_reduce 7 of group g0.\n…");
    says("the last of which operations count",
         (struct dumps){.entries = "4095 g0 7 all_reduce 8 20 open\n0\n", .ranks = {"[0,4095]"}},
         "hang: Hang: rank 0" STOPPED "it never issued…");
    says("the first of which they do not",
         (struct dumps){.entries = "4096 g0 7 all_reduce 8 20 open\n0\n", .ranks = {"[0,4096]"}},
         "none: Nothing is outstanding in this dump: …");
    says("a rank of a larger number is none of the others",
         (struct dumps){.entries = "1 g0 7 all_reduce 8 20 open\n0\n5\n",
                        .ranks = {"[1, 4097, 50005, 12345678901234567890]"}},
         "hang: Hang: 1 operation has not completed; the first is all_reduce 7 of group g0.\n…");
}

/* Missing ranks that still have something to do. */
static void missing_but_busy(void)
{
    says("waits elsewhere",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g1 3 broadcast 8 30 open\n"
                                   "2 g1 3 broadcast 8 31 open\n",
                        .ranks = {"[0, 1]", "[1, 2]"}},
         "hang: Hang: rank 1 never issued all_reduce 7 of group g0, in which the others wait.\n"
         "culprit: rank 1\nLook at the Python stacks of rank 1 (py-spy dump --pid): it did not get "
         "as far as this call.\n3 ranks, 3 operations not completed" WAIT);
    says("two of them, in two groups",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g1 7 all_reduce 8 19 open\n"
                                   "2 g2 3 broadcast 8 30 open\n3 g2 3 broadcast 8 31 open\n",
                        .ranks = {"[0, 2]", "[1, 3]", "[2, 3]"}},
         "hang: Hang: ranks 2 and 3 never issued all_reduce 7 of group g1 (rank 2: of group g0), "
         "in which the others wait.\nculprit: ranks 2 and 3\nLook at the Python stacks of ranks 2 "
         "and 3 (py-spy dump --pid): they did not get as far as this call.\n…");
    says("those alone that have nothing to do stopped",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g1 3 broadcast 8 30 open\n"
                                   "2 g2 3 broadcast 8 30 open\n3\n4\n",
                        .ranks = {"[0, 1, 3]", "[1, 4]", "[2, 4]"}},
         "hang: Hang: ranks 3 and 4" STOPPED
         "they never issued all_reduce 7 of group g0 (rank 4: broadcast 3 of group g1), in which "
         "the others wait.\nculprit: ranks 3 and 4\n…");
    says("another number in the other group",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g1 8 all_reduce 8 30 open\n"
                                   "3\n4\n",
                        .ranks = {"[0, 3]", "[1, 4]"}},
         "hang: Hang: ranks 3 and 4" STOPPED
         "they never issued all_reduce 7 of group g0 (rank 4: all_reduce 8 of group g1), in…");
    says("three groups",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g1 7 all_reduce 8 30 open\n"
                                   "2 g2 7 all_reduce 8 40 open\n3\n4\n5\n",
                        .ranks = {"[0, 3]", "[1, 4]", "[2, 5]"}},
         "hang: Hang: ranks 3, 4 and 5" STOPPED
         "they never issued all_reduce 7 of group g0 (rank 4: of group g1; rank 5: of group g2), "
         "in…");
}

static void stuck_on_a_device(void)
{
    says("a peer is past it",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 8 all_reduce 8 30 open\n"},
         "hang: Hang: rank 0 stopped first: it is still in all_reduce 7 of group g0, which a peer "
         "has completed.\nculprit: rank 0\nLook at the logs of rank 0" LOGS
         "2 ranks, 2 operations not completed" WAIT);
    says("a peer has it as well",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 21 done\n"
                                   "1 g0 8 all_reduce 8 30 open\n"},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n…");
    says("a peer is before it",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 6 all_reduce 8 21 open\n"},
         "hang: Hang: rank 1 stopped first: it is still in all_reduce 6 of group g0, which a peer "
         "has completed.\n…");
    says("itself is no peer",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n0 g0 8 all_reduce 8 30 open\n"},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n"
         "culprit: all_reduce\nOne dump does not show who the others wait for: load the dumps of "
         "all ranks together, the folder.\n1 rank, 2 operations not completed" WAIT);
    says("complete",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 done\n1 g0 8 all_reduce 8 30 open\n"},
         "hang: Hang: 1 operation has not completed; the first is all_reduce 8 of group g0.\n…");
    says("two, the earlier first",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 19 open\n"
                                   "2 g0 8 all_reduce 8 30 open\n"},
         "hang: Hang: ranks 0 and 1 stopped first: still in all_reduce 7 of group g0, which a peer "
         "has completed.\n…");
    says(
        "and missing elsewhere: the first cause, whoever is stuck besides is the next suspect",
        (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 8 all_reduce 8 30 open\n"
                                  "2 g0 7 all_reduce 8 25 open\n3 g1 2 all_reduce 8 40 open\n",
                       .ranks = {"", "[2, 3]"}},
        "hang: Hang: rank 2 stopped first: it is still in all_reduce 7 of group g0, which its peer "
        "has completed, and is missing from later collectives.\nculprit: rank 2\n"
        "Look at the logs of rank 2" LOGS
        "Next suspect: rank 0, whose device still holds operations that a peer has completed. The "
        "GPU or its links failed there: look for Xid errors.\n"
        "4 ranks, 4 operations not completed" WAIT);
    says("stuck, missing or both: those that are both, then those that are stuck alone",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 8 all_reduce 8 30 open\n"
                                   "2 g0 7 all_reduce 8 25 open\n3 g1 2 all_reduce 8 40 open\n"
                                   "4 g2 9 all_reduce 8 50 open\n5 g0 7 all_reduce 8 26 open\n",
                        .ranks = {"", "[2, 3, 4, 5]"}},
         "hang: Hang: ranks 2 and 5 stopped first: still in all_reduce 7 of group g0, which its "
         "peer has completed, and is missing from later collectives.\nculprit: ranks 2 and 5\n"
         "Look at the logs of ranks 2 and 5" LOGS
         "Next suspect: rank 0, whose device still holds operations that a peer has completed. The "
         "GPU or its links failed there: look for Xid errors.\n…");
    says("stuck and missing are not the same ranks",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 8 all_reduce 8 30 open\n"
                                   "3 g1 2 all_reduce 8 10 open\n",
                        .ranks = {"", "[1, 3]"}},
         "hang: Hang: rank 0 stopped first: it is still in all_reduce 7 of group g0, which a peer "
         "has completed.\nculprit: rank 0\n…");
    says(
        "in both at once: the place that it is in, not the one that it misses",
        (struct dumps){.entries = "2 g0 7 all_reduce 8 20 open\n1 g0 8 all_reduce 8 30 open\n"
                                  "3 g1 2 all_reduce 8 10 open\n",
                       .ranks = {"", "[2, 3]"}},
        "hang: Hang: rank 2 stopped first: it is still in all_reduce 7 of group g0, which its peer "
        "has completed, and is missing from later collectives.\nculprit: rank 2\nLook at the logs "
        "of rank 2" LOGS "3 ranks, 3 operations not completed" WAIT);
}

/* A dump has what collectives do; sends and receives where nothing else can be said. */
static void sends_and_receives(void)
{
    static const char *const ranks[] = {"[4, 7]", NULL};
    says("to whom", (struct dumps){.entries = "4 g0 3 send 8 20 open 1\n", .ranks = {ranks[0]}},
         "hang: Hang: 1 operation has not completed; the first is send 3 of group g0, to rank 7.\n"
         "culprit: send\nOne dump does not show…");
    says("from whom", (struct dumps){.entries = "7 g0 3 recv 8 20 open 0\n", .ranks = {ranks[0]}},
         "hang: Hang: 1 operation has not completed; the first is recv 3 of group g0, from rank 4."
         "\n…");
    says("to rank 0", (struct dumps){.entries = "4 g0 3 send 8 20 open 0\n", .ranks = {"[0, 4]"}},
         "hang: Hang: 1 operation has not completed; the first is send 3 of group g0, to rank 0.\n"
         "…");
    says("of no member",
         (struct dumps){.entries = "7 g0 3 Recv 8 20 open 2\n", .ranks = {ranks[0]}},
         "hang: Hang: 1 operation has not completed; the first is Recv 3 of group g0.\n…");
    says(
        "unknown",
        (struct dumps){.entries = "7 g0 3 coalesced_Send 8 20 open\n", .ranks = {ranks[0]}},
        "hang: Hang: 1 operation has not completed; the first is coalesced_Send 3 of group g0.\n…");
    says("the first of them, of rank 0",
         (struct dumps){.entries = "0 g0 3 send 8 20 open\n1 g0 4 send 8 21 open\n"
                                   "2 g0 2 send 8 10 done\n"},
         "hang: Hang: 2 operations have not completed; the first is send 3 of group g0.\n"
         "culprit: send\nOnly sends and receives are open: find the peer that never posted the "
         "matching half, on the CPU (py-spy dump --pid) or on the device.\n…");
    says("the first of them, of another rank",
         (struct dumps){.entries = "0 g0 3 send 8 21 open\n1 g0 4 send 8 20 open\n"},
         "hang: Hang: 2 operations have not completed; the first is send 4 of group g0.\n…");
    says("before a collective of the same dump",
         (struct dumps){.entries = "0 g0 3 all_reduce 8 21 open\n0 g0 4 send 8 20 open\n"},
         "hang: Hang: 2 operations have not completed; the first is send 4 of group g0.\n…");
    says("at the time of a collective",
         (struct dumps){.entries = "0 g0 3 all_reduce 8 20 open\n0 g0 4 send 8 20 open\n"},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 3 of group g0.\n…");
    says("before a collective of two dumps",
         (struct dumps){.entries = "0 g0 3 all_reduce 8 21 open\n1 g0 4 send 8 20 open\n"},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 3 of group g0.\n"
         "culprit: all_reduce\nNo rank is missing…");
    says("no rank is missing from them",
         (struct dumps){.entries = "0 g0 3 send 8 20 open 1\n1\n", .ranks = {"[0, 1]"}},
         "hang: Hang: 1 operation has not completed; the first is send 3 of group g0, to rank 1.\n"
         "…");
    says("of collectives the earliest",
         (struct dumps){.entries = "0 g0 3 all_reduce 8 21 open\n0 g1 4 broadcast 8 20 open\n"
                                   "0 g2 5 reduce 8 20 open\n"},
         "hang: Hang: 3 operations have not completed; the first is broadcast 4 of group g1.\n…");
    says("all complete", (struct dumps){.entries = "0 g0 3 all_reduce 8 20 done\n"},
         "none: Nothing is outstanding in this dump: …");
}

/* Ranks that are in the same place with something else. */
static void disagreements(void)
{
#define FIRST                                                                                      \
    "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n"        \
    "culprit: all_reduce\nNo rank is missing: all of them are in the operation, so look at the "   \
    "device and the network: NCCL_DEBUG=INFO in the next run names transport and errors.\n"
#define REST "): another operation or another size.\n"
    says("another size",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 9 21 open\n"},
         FIRST "Ranks disagree about all_reduce 7 of group g0 (1 collective" REST
               "2 ranks, 2 operations not completed" WAIT);
    says("another operation",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n1 g0 7 reduce 8 21 open\n"},
         FIRST "Ranks disagree about reduce 7 of group g0 (1 collective" REST
               "2 ranks, 2 operations not completed" WAIT);
    says("two, the first of them",
         (struct dumps){.entries = "0 g0 5 all_reduce 8 10 done\n1 g0 5 all_reduce 9 11 done\n"
                                   "0 g0 6 broadcast 8 10 done\n1 g0 6 broadcast 9 11 done\n"
                                   "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 21 open\n"},
         FIRST "Ranks disagree about all_reduce 5 of group g0 (2 collectives" REST
               "2 ranks, 2 operations not completed" WAIT);
    says("the third of three",
         (struct dumps){.entries = "0 g0 5 all_reduce 8 10 done\n1 g0 5 all_reduce 8 11 done\n"
                                   "2 g0 5 all_reduce 9 12 done\n"
                                   "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 21 open\n"},
         FIRST "Ranks disagree about all_reduce 5 of group g0 (1 collective" REST
               "3 ranks, 2 operations not completed" WAIT);
    says("each gets what it gets",
         (struct dumps){.entries = "0 g0 5 all_to_all 8 10 done\n1 g0 5 all_to_all 9 11 done\n"
                                   "0 g0 6 ALLTOALL_BASE 8 10 done\n"
                                   "1 g0 6 ALLTOALL_BASE 9 11 done\n"
                                   "0 g0 7 all_reduce 8 20 open\n1 g0 7 all_reduce 8 21 open\n"},
         FIRST "2 ranks, 2 operations not completed" WAIT);
    says("the same number in two groups",
         (struct dumps){.entries = "0 g0 7 all_reduce 8 20 open\n0 g1 7 reduce 9 21 open\n"},
         "hang: Hang: 2 operations have not completed; the first is all_reduce 7 of group g0.\n"
         "culprit: all_reduce\nOne dump does not show who the others wait for: load the dumps of "
         "all ranks together, the folder.\n1 rank, 2 operations not completed" WAIT);
}

CHECK_MAIN("verdicthang", {"one rank never came", one_never_came},
           {"many ranks never came", many_never_came}, {"missing but busy", missing_but_busy},
           {"stuck on a device", stuck_on_a_device}, {"sends and receives", sends_and_receives},
           {"disagreements", disagreements})
