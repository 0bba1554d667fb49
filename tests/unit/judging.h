/*
 * judging — what one judge of the room answer says of a made-up profile: class, sentence, culprit
 * and notes as one text, a line each. For judges that ask for no other result than the trace.
 *
 *     judge_check(nl_judge_hang, trace, "class: hang\n…");     takes the trace
 */
#ifndef JUDGING_H
#define JUDGING_H

#include "answer/judge.h"
#include "check.h"
#include "gputrace.h"

static inline void judge_put(struct nl_buf *out, const struct nl_verdict_words *verdict)
{
    nl_buf_format(out, "%s: %s\n", nl_verdict_class_name(verdict->class),
                  verdict->sentence ? verdict->sentence : "(nothing)");
    nl_buf_format(out, "culprit: %s\n", verdict->culprit ? verdict->culprit : "(none)");
    for (size_t i = 0; i < verdict->note_count; i++)
        nl_buf_format(out, "%s\n", verdict->notes[i]);
}

/* Where the text that is wanted ends with "…", what follows does not matter. */
static inline void judge_compare(struct nl_buf *out, const char *want)
{
    size_t length = strlen(want), dots = strlen("…");
    nl_buf_char(out, '\0');
    if (length >= dots && !strcmp(want + length - dots, "…")) {
        bool begins = strncmp(out->ptr, want, length - dots) == 0;
        CHECK_TEXT(begins ? want : out->ptr, want);
    } else {
        CHECK_TEXT(out->ptr, want);
    }
}

static inline void judge_check(nl_judge *judge, struct nl_trace *trace, const char *want)
{
    static const struct nl_analyze_options options;
    struct nl_report report = {0};
    struct nl_verdict_words verdict = {0};
    struct nl_judged judged = {
        .report = &report, .trace = trace, .options = &options, .verdict = &verdict};
    struct nl_buf out;
    REQUIRE(trace);
    nl_arena_init(&report.arena);
    nl_buf_init(&judged.out, 1);
    nl_buf_init(&out, 1 << 16);
    if (judge(&judged))
        judge_put(&out, &verdict);
    judge_compare(&out, want);
    nl_buf_release(&out);
    nl_buf_release(&judged.out);
    nl_arena_free(&report.arena);
    nl_trace_free(trace);
}

#endif
