/* What an answer says of sums without a timeline (answer/verdictsums.c), over tables that were
 * written by hand. */
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

CHECK_MAIN("verdictsums", {"names copies", names_copies})
