/* kept — see kept.h. */
#define _GNU_SOURCE
#include "cli/kept.h"

#include <unistd.h>

#include "answer/reportfile.h"
#include "cli/folders.h"
#include "cli/message.h"
#include "ingest/cache.h"

#define WORTH_BYTES    ((uint64_t)8 << 20) /* of the trace */
#define QUESTION_BYTES 4096

static struct nl_report *find(const char *path, struct nl_str question, const struct nl_call *call)
{
    if (access(path, R_OK) != 0)
        return NULL;
    struct nl_report *report = nl_report_open(path, question, NULL);
    if (report) {
        nl_cache_used(path);
        nl_message_detail(call, "the report is from the cache");
    } else {
        unlink(path);
    }
    return report;
}

/* Like the cache as a whole: what cannot be written is not kept, and nobody minds. */
static void keep(const struct nl_input_words *input, const struct nl_report *report,
                 struct nl_str question, const char *path)
{
    if (!nl_report_save(report, question, path, NULL))
        return;
    nl_cache_share(input->cache, path);
    nl_cache_sweep(input->cache, nl_cache_bound(input->cache), false);
}

static struct nl_report *find_or_make(const struct nl_input_words *input,
                                      const struct nl_trace *trace, const char *plan,
                                      const struct nl_analyze_options *options,
                                      const struct nl_call *call, struct nl_err *err)
{
    struct nl_buf question;
    nl_buf_init(&question, QUESTION_BYTES);
    nl_report_question(&question, input->cached_as, plan, options);
    struct nl_str asked = {question.ptr, question.len};
    char *path =
        nl_cache_beside(input->cached_as, input->cache, nl_hash(question.ptr, question.len));
    struct nl_report *report = find(path, asked, call);
    if (!report) {
        report = nl_report_new(trace, plan, options, call->job, err);
        if (report && !nl_job_cancelled(call->job))
            keep(input, report, asked, path);
    }
    nl_free(path);
    nl_buf_release(&question);
    return report;
}

struct nl_report *nl_kept_report(const struct nl_input_words *input, const struct nl_trace *trace,
                                 const char *plan, const struct nl_analyze_options *options,
                                 const struct nl_call *call, struct nl_err *err)
{
    if (!input->cache || nl_trace_bytes(trace) < WORTH_BYTES)
        return nl_report_new(trace, plan, options, call->job, err);
    struct nl_analyze_options whole = *options;
    whole.limit = 0;
    struct nl_report *report = find_or_make(input, trace, plan, &whole, call, err);
    if (report)
        nl_report_cut(report, options->limit);
    return report;
}
