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

static bool worth(const struct nl_input_words *input, const struct nl_trace *trace)
{
    return input->cache && nl_trace_bytes(trace) >= WORTH_BYTES;
}

/* What is kept is about all rows. */
static struct nl_analyze_options whole(const struct nl_analyze_options *options)
{
    struct nl_analyze_options all = *options;
    all.limit = 0;
    return all;
}

/* The question's text, nl_buf_release it, and the path of its answer, nl_free it. */
static char *name_answer(struct nl_buf *question, const struct nl_input_words *input,
                         const struct nl_trace *trace, const char *plan,
                         const struct nl_analyze_options *options)
{
    nl_buf_init(question, QUESTION_BYTES);
    nl_report_question(question, input->cached_as, plan, options, trace->roofs);
    return nl_cache_beside(input->cached_as, input->cache, nl_hash(question->ptr, question->len));
}

static bool find_kept(const struct nl_input_words *input, const struct nl_trace *trace,
                      const char *plan, const struct nl_analyze_options *options,
                      const struct nl_call *call, struct nl_kept *answer)
{
    struct nl_buf question;
    struct nl_analyze_options all = whole(options);
    char *path = name_answer(&question, input, trace, plan, &all);
    struct nl_str asked = {question.ptr, question.len};
    bool there = access(path, R_OK) == 0;
    if (there)
        answer->report = nl_report_open(path, asked, &answer->profile, NULL);
    if (answer->report) {
        nl_cache_used(path);
        nl_message_detail(call, "the report is from the cache");
        nl_report_cut(answer->report, options->limit);
    } else if (there) {
        unlink(path);
    }
    nl_free(path);
    nl_buf_release(&question);
    return answer->report != NULL;
}

/* A whole report also answers a brief question. */
bool nl_kept_find(const struct nl_input_words *input, const struct nl_trace *trace,
                  const char *plan, const struct nl_analyze_options *options,
                  const struct nl_call *call, struct nl_kept *answer)
{
    struct nl_analyze_options longer = *options;
    *answer = (struct nl_kept){0};
    longer.brief = false;
    return worth(input, trace) &&
           (find_kept(input, trace, plan, options, call, answer) ||
            (options->brief && find_kept(input, trace, plan, &longer, call, answer)));
}

/* Write failures are ignored, as in the whole cache. */
static void save_answer(const struct nl_input_words *input, const struct nl_trace *trace,
                        const char *plan, const struct nl_analyze_options *options,
                        const struct nl_kept *answer)
{
    struct nl_buf question;
    char *path = name_answer(&question, input, trace, plan, options);
    struct nl_str asked = {question.ptr, question.len};
    if (nl_report_save(answer->report, answer->profile, asked, path, NULL)) {
        nl_cache_share(input->cache, path);
        nl_cache_sweep(input->cache, nl_cache_bound(input->cache), false);
    }
    nl_free(path);
    nl_buf_release(&question);
}

bool nl_kept_make(const struct nl_input_words *input, const struct nl_trace *trace,
                  const char *plan, const struct nl_analyze_options *options,
                  const struct nl_call *call, struct nl_kept *answer, struct nl_err *err)
{
    bool keeps = worth(input, trace);
    struct nl_analyze_options all = whole(options);
    *answer = (struct nl_kept){
        .report = nl_report_new(trace, plan, keeps ? &all : options, call->job, err)};
    if (!answer->report)
        return false;
    answer->profile = nl_profile_new(trace, &options->window);
    if (keeps && !nl_job_cancelled(call->job))
        save_answer(input, trace, plan, &all, answer);
    if (keeps)
        nl_report_cut(answer->report, options->limit);
    return true;
}

void nl_kept_release(struct nl_kept *answer)
{
    nl_profile_free(answer->profile);
    nl_report_free(answer->report);
    *answer = (struct nl_kept){0};
}
