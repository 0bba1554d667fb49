/* verdict — see verdict.h. The order of the judges: the surest kinds first. */
#include "answer/verdict.h"

#include "answer/judge.h"

const char *nl_verdict_class_name(enum nl_verdict_class class)
{
    static const char *const names[] = {
        [NL_VERDICT_NONE] = "none",         [NL_VERDICT_COMPUTE] = "compute",
        [NL_VERDICT_MEMORY] = "memory",     [NL_VERDICT_COMMUNICATION] = "communication",
        [NL_VERDICT_COPY] = "copy",         [NL_VERDICT_LAUNCH] = "launch",
        [NL_VERDICT_INPUT] = "input",       [NL_VERDICT_SYNC] = "sync",
        [NL_VERDICT_STARTUP] = "startup",   [NL_VERDICT_HOST] = "host",
        [NL_VERDICT_IDLE] = "idle",         [NL_VERDICT_CPU_ONLY] = "cpu-only",
        [NL_VERDICT_HANG] = "hang",         [NL_VERDICT_MEMORY_SNAPSHOT] = "memory-snapshot",
        [NL_VERDICT_COUNTERS] = "counters",
    };
    return names[class];
}

static nl_judge *const judges[] = {nl_judge_hang,     nl_judge_energy, nl_judge_memory,
                                   nl_judge_counters, nl_judge_device, nl_judge_cpu,
                                   nl_judge_sums,     nl_judge_rates,  nl_judge_nothing};

void nl_verdict_make(struct nl_report *report, const struct nl_trace *trace,
                     const struct nl_analyze_options *options)
{
    struct nl_verdict_words *verdict = nl_arena_alloc(&report->arena, sizeof *verdict);
    struct nl_judged judged = {
        .report = report, .trace = trace, .options = options, .verdict = verdict};
    verdict->saving_ns = verdict->saving_ns_per_step = NL_NULL_I64;
    nl_buf_init(&judged.out, 1);
    nl_judge_starved(&judged);
    for (size_t i = 0; i < sizeof judges / sizeof judges[0]; i++)
        if (judges[i](&judged))
            break;
    nl_judge_recording(&judged);
    nl_judge_cut(&judged);
    nl_judge_files(&judged);
    nl_buf_release(&judged.out);
    if (!verdict->sentence)
        NL_BUG("no judge had an answer");
    report->verdict = verdict;
}
