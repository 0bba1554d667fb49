/*
 * findingsums — all that a finding says, as text. For readeach and edgesays, whose words are kept.
 */
#ifndef FINDINGSUMS_H
#define FINDINGSUMS_H

#include "base/str.h"
#include "findings/finding.h"

/* All that a finding says, of times what is not the same on every machine left
 * out: they are whole numbers. */
static inline void add_finding(struct nl_buf *text, const struct nl_finding *finding)
{
    nl_buf_format(text, "%s %s %.6g %.6g %lld %lld %s %s\n", finding->title,
                  finding->culprit ? finding->culprit : "", finding->confidence,
                  finding->cost_share, (long long)finding->net_cost_ns,
                  (long long)finding->claims_ns, finding->explained_by ? finding->explained_by : "",
                  finding->not_this_if);
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct nl_evidence *it = &finding->evidence[i];
        nl_buf_format(text, "%s %s %s %s %.6g\n", it->metric, it->says,
                      it->threshold ? it->threshold : "", it->query, it->value);
        for (size_t k = 0; k < it->example_count; k++)
            nl_buf_format(text, "%s %s %lld %lld\n", it->examples[k].lane, it->examples[k].name,
                          (long long)it->examples[k].start_ns, (long long)it->examples[k].dur_ns);
    }
    for (const struct nl_suggestion *it = finding->suggestions; it->action; it++)
        nl_buf_format(text, "%s %s %s\n", it->action, it->why, it->verify);
    for (size_t i = 0; i < finding->need_count; i++)
        nl_buf_format(text, "%s %s %s\n", finding->needs[i].missing, finding->needs[i].why,
                      finding->needs[i].record);
    for (size_t i = 0; i < NL_FINDING_ALSO && finding->also[i]; i++)
        nl_buf_format(text, "also %s\n", finding->also[i]);
    for (size_t i = 0; i < NL_FINDING_ALTERNATIVES && finding->alternatives[i]; i++)
        nl_buf_format(text, "explains %s\n", finding->alternatives[i]);
}

#endif
