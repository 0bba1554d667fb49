/* What an answer says of branches (answer/verdictbranches.c), over tables that were written by
 * hand. */
#include "judging.h"

#define HEAD "event unit function samples share total_share\n"
#define NOTE                                                                                       \
    "\nculprit: (none)\nHow often a function returns says nothing of how long it takes; for "      \
    "times "                                                                                       \
    "let the decoder make samples: perf script --itrace=i10us.\n"

static struct nl_trace *program(int64_t dur_us)
{
    struct gputrace make;
    gputrace_open(&make);
    if (dur_us)
        gputrace_slice(&make, NL_KIND_GENERIC, make.calls, "x", 0, dur_us);
    return gputrace_close(&make);
}

static void says(const char *what, int64_t dur_us, const char *table, const char *want)
{
    struct nl_result *rows = judge_table("cpu_samples", table);
    check_case(what);
    judge_check_with(nl_judge_branches, program(dur_us), &rows, 1, want);
    check_case(NULL);
}

static void counts_returns(void)
{
    says("three functions, as the table has them; of all branches", 4603,
         HEAD "call branches f 6 0.6 0.6\ncall branches g 4 0.4 0.4\n"
              "return branches f 5 0.5 0.5\nreturn branches [unknown] 3 0.3 0.3\n"
              "return branches g 2 0.2 0.2\nreturn branches h 1 0.1 0.1\n"
              "return branches i 1 0.1 0.1\n",
         "none: Branch trace, no samples of time: 22 branches in 4.603 ms; of 12 returns most are "
         "from f 42 %, g 17 %, h 8.3 %." NOTE);
    says("one", 0, HEAD "return branches f 1 1.0 1.0\n",
         "none: Branch trace, no samples of time: 1 branch; of 1 return most are from f 100 "
         "%." NOTE);
    says("no return", 0, HEAD "call branches f 2 1.0 1.0\n",
         "none: Branch trace, no samples of time: 2 branches." NOTE);
    says("a function that others return to", 0,
         HEAD "return branches f 0 0.0 0.5\nreturn branches g 2 1.0 1.0\n",
         "none: Branch trace, no samples of time: 2 branches; of 2 returns most are from g 100 "
         "%." NOTE);
}

static void leaves_samples_alone(void)
{
    says("samples", 0, HEAD "return samples f 2 1.0 1.0\n", "");
    says("samples before branches", 0,
         HEAD "cycles events f 2 1.0 1.0\nreturn branches f 2 1.0 1.0\n", "");
    says("none", 0, HEAD "return branches f 0 0.0 0.0\n", "");
    check_case("no table");
    judge_check_with(nl_judge_branches, program(1), NULL, 0, "");
    check_case(NULL);
}

CHECK_MAIN("verdictbranches", {"counts returns", counts_returns},
           {"leaves samples alone", leaves_samples_alone})
