/*
 * Answers about counters of devices (answer/verdictcounters.c): when they say that devices had no
 * work, from tables by hand.
 */
#include "judging.h"

static void check(const char *lines, const char *want)
{
    struct nl_err err = {0};
    struct nl_builder *builder = nl_builder_new(NULL);
    struct nl_stage *stage = nl_stage_new(builder);
    struct nl_result *table = judge_table("counters", lines);
    nl_stage_begin(stage, nl_builder_source(builder, "made-up", "gpu-telemetry"), 0);
    judge_check_with(nl_judge_counters, nl_builder_finish(builder, &err), &table, 1, want);
}

#define HEAD   "name unit device count min mean max\n"
#define BEGINS "counters: Telemetry: "

static void no_work(void)
{
    check(HEAD "gpu_util % 0 3 0.0 0.0 0.0\n",
          BEGINS "1 counter at one moment: gpu_util always 0 %.\nculprit: gpu_util\n"
                 "The device had no work: gpu_util is 0 in all values.\n");
    check(HEAD "gpu_util % 0 3 0.0 0.0 0.0\ngpu_util % 1 3 0.0 0.0 0.0\n",
          BEGINS "2 counters at one moment: gpu_util (2 devices) always 0 %.\nculprit: gpu_util\n"
                 "None of 2 devices had work: gpu_util is 0 in all values.\n");
    check(HEAD "gpu_util % 0 3 0.0 0.0 0.0\ngpu_util % 1 3 0.0 0.2 1.0\n", BEGINS
          "2 counters at one moment: gpu_util (2 devices) 0–1, mean 0.1 %.\n"
          "culprit: gpu_util\n1 of 2 devices had no work: gpu_util is 0 in all their values.\n");
    check(HEAD "gpu_util % 0 3 0.0 0.2 1.0\n",
          BEGINS "1 counter at one moment: gpu_util 0–1, mean 0.2 %.\nculprit: gpu_util\n");
    /* The surest of them decides; others say nothing of it. */
    check(HEAD "gr_engine - 0 3 0.0 0.0 0.0\nutilization.gpu % 0 3 0.0 1.0 2.0\n",
          BEGINS "2 counters at one moment: utilization.gpu 0–2, mean 1 %; gr_engine always 0.\n"
                 "culprit: gr_engine\n");
    check(HEAD "enc_util % 0 3 0.0 0.0 0.0\npower W 0 3 9.0 9.0 9.0\n",
          BEGINS "2 counters at one moment: power always 9 W; enc_util always 0 %.\n"
                 "culprit: enc_util\n");
}

static void no_program(void)
{
    check(HEAD "memory.used - 0 3 4.0 4.0 25.0\nmemory.total - 0 3 10000.0 10000.0 10000.0\n",
          BEGINS "2 counters at one moment: memory.used 4–25, mean 4; memory.total always 10000.\n"
                 "culprit: memory.used\n"
                 "No program seems to use the device: memory.used is at most 25 of 10000.\n");
    check(HEAD "memory.used - 0 3 4.0 4.0 26.0\nmemory.total - 0 3 10000.0 10000.0 10000.0\n",
          BEGINS "2 counters at one moment: memory.used 4–26, mean 4; memory.total always 10000.\n"
                 "culprit: memory.used\n");
    check(HEAD "memory.used - 0 3 4.0 4.0 4.0\nmemory.used - 1 3 5.0 5.0 5.0\n"
               "memory.total - 1 3 9000.0 9000.0 9000.0\nmemory.total - 0 3 8000.0 8000.0 8000.0\n",
          BEGINS "4 counters at one moment: memory.used (2 devices) 4–5, mean 4.5; memory.total (2 "
                 "devices) 8000–9000, mean 8500.\nculprit: memory.used\n"
                 "No program seems to use any of 2 devices: memory.used is at most 5 of 9000.\n");
    check(HEAD "memory.used - 0 3 4.0 4.0 4.0\nmemory.used - 1 3 500.0 500.0 500.0\n"
               "memory.total - 1 3 9000.0 9000.0 9000.0\nmemory.total - 0 3 8000.0 8000.0 8000.0\n",
          BEGINS
          "4 counters at one moment: memory.used (2 devices) 4–500, mean 252; memory.total (2 "
          "devices) 8000–9000, mean 8500.\nculprit: memory.used\n");
    check(HEAD "memory.used - 0 3 4.0 4.0 4.0\n",
          BEGINS "1 counter at one moment: memory.used always 4.\nculprit: memory.used\n");
}

CHECK_MAIN("verdictcounters", {"no work", no_work}, {"no program", no_program})
