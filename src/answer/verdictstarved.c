/* verdictstarved — the note about programs of the CPU that could run but have no processor:
 * function names do not show it, because nothing of them is recorded meanwhile. */
#include "answer/judge.h"

void nl_judge_starved(struct nl_judged *judged)
{
    const struct nl_findings *findings = judged->report->findings;
    for (size_t i = 0; findings && i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (strcmp(finding->cause, "cpu_starved") != 0 ||
            finding->severity != NL_SEVERITY_CRITICAL || finding->device != NL_NULL_I64 ||
            finding->explained_by)
            continue;
        struct nl_buf *out = nl_tell_begin(judged);
        nl_tell_share(out, "CPU-starved: the working thread is ready to run, but has no CPU for ",
                      finding->cost_share);
        nl_buf_text(out, " of the time.");
        nl_tell_note(judged);
        return;
    }
}
