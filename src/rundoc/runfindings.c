/* Findings as the document lists them: what was found, how sure it is, and what it costs.
 * Evidence, examples and advice are the report's (`analyze`): they follow from the
 * profile and the program. */
#include "findings/finding.h"
#include "rundoc/runparts.h"

static void write_finding(struct run_parts *parts, const struct nl_finding *finding)
{
    run_row(parts);
    run_static(parts, "id", finding->id);
    run_static(parts, "cause", finding->cause);
    run_static(parts, "severity", nl_severity_name(finding->severity));
    run_static(parts, "title", finding->title);
    run_static(parts, "culprit", finding->culprit);
    run_f64(parts, "confidence", finding->confidence);
    run_size(parts, "cost_ns", finding->cost_ns);
    run_f64(parts, "cost_share", finding->cost_share);
    run_size(parts, "saving_low_ns", finding->saving_ns[0]);
    run_size(parts, "saving_high_ns", finding->saving_ns[1]);
    run_i64(parts, "rank", finding->rank);
    run_i64(parts, "ordinal", finding->device);
    run_row_end(parts);
}

void run_write_findings(struct run_parts *parts)
{
    const struct nl_findings *findings = parts->findings;
    if (!findings) {
        nl_json_null(&parts->json);
        return;
    }
    nl_json_open(&parts->json, '[');
    for (size_t i = 0; i < findings->count; i++)
        write_finding(parts, &findings->items[i]);
    nl_json_close(&parts->json, ']');
}
