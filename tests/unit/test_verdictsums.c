/* What an answer says of sums without a timeline (answer/verdictsums.c), and of kernels whose
 * counters were read (answer/verdictcounters.c), over tables that were written by hand. */
#include "judging.h"

static struct nl_trace *from_tool(const char *format)
{
    struct nl_err err = {0};
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    nl_stage_begin(stage, nl_builder_source(builder, "made-up", format), 0);
    return nl_builder_finish(builder, &err);
}

static void says(const char *what, nl_judge *judge, const char *format, const char *table,
                 const char *lines, const char *want)
{
    struct nl_result *rows = judge_table(table, lines);
    check_case(what);
    judge_check_with(judge, from_tool(format), &rows, 1, want);
    check_case(NULL);
}

static void names_copies(void)
{
#define SUMS "name place self_ns share\n"
    says("kernels first", nl_judge_sums, "rocprof", "call_sums",
         SUMS "gemm - 3000000 0.75\nCopyHostToDevice - 1000000 0.25\n",
         "compute: Kernel sums: most time in gemm 3.000 ms (75 %), CopyHostToDevice 1.000 ms (25 "
         "%).…");
    says("copies first", nl_judge_sums, "rocprof", "call_sums",
         SUMS "CopyHostToDevice - 3000000 0.75\ngemm - 1000000 0.25\n",
         "copy: Sums of device work: most time in CopyHostToDevice 3.000 ms (75 %), gemm 1.000 ms "
         "(25 %).…");
    says("of the CPU", nl_judge_sums, "speedscope", "call_sums", SUMS "copy - 3000000 1.0\n",
         "cpu-only: CPU-only profile, sums per function: most time in copy 3.000 ms (100 %).…");
}

static void adds_grids(void)
{
#define COUNTERS "name grid total_ns sm_throughput memory_throughput achieved_occupancy limiter\n"
    says("one grid a kernel", nl_judge_counters, "ncu", "kernel_counters",
         COUNTERS "a 1x1x1 3000000 0.2 0.3 0.9 latency\nb 2x1x1 1000000 0.4 0.1 0.5 compute\n",
         "counters: Kernel counters: a takes 3.000 ms of 4.000 ms (75 %): SM 20 %, memory 30 % of "
         "peak, limited by latency, occupancy 90 %.\nculprit: a\nb: 1.000 ms: SM 40 %, memory 10 "
         "% of peak, limited by compute, occupancy 50 %.\n");
    says("a kernel of several grids takes most together", nl_judge_counters, "ncu",
         "kernel_counters",
         COUNTERS "a 1x1x1 3000000 0.2 0.3 0.9 latency\nb 2x1x1 2000000 0.4 0.1 0.5 compute\n"
                  "b 3x1x1 2000001 0.5 0.1 0.5 compute\nc 1x1x1 500000 0.5 0.1 - -\n"
                  "d 1x1x1 600000 0.5 0.1 - -\n",
         "counters: Kernel counters: b takes 4.000 ms of 8.100 ms (49 %), 2.000 ms of it with a "
         "grid of 3x1x1: SM 50 %, memory 10 % of peak, limited by compute, occupancy 50 "
         "%.\nculprit: b\n"
         "a: 3.000 ms: SM 20 %, memory 30 % of peak, limited by latency, occupancy 90 %.\n"
         "d: 600.0 µs: SM 50 %, memory 10 % of peak.\n");
    says("of one grid, or of unknown ones", nl_judge_counters, "ncu", "kernel_counters",
         COUNTERS "a 1x1x1 3000000 0.2 0.3 - -\na 1x1x1 1000000 0.4 0.1 - -\n"
                  "b - 2000000 0.4 0.1 - -\nb 2x1x1 500000 0.4 0.1 - -\n"
                  "c 1x1x1 300000 - - - -\nc 2x1x1 100000 - - - -\n",
         "counters: Kernel counters: a takes 4.000 ms of 6.900 ms (58 %), 3.000 ms of it in "
         "launches of one kind: SM 20 %, memory 30 % of peak.\nculprit: a\nb: 2.500 ms, 2.000 ms "
         "of it in launches of one kind: SM 40 %, memory 10 % of peak.\nc: 400.0 µs.\n");
}

CHECK_MAIN("verdictsums", {"names copies", names_copies}, {"adds grids", adds_grids})
