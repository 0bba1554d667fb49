/*
 * judge — what the files verdict*.c are made of: the case they look at, and verbs to write
 * sentences. Private to the room.
 *
 *     struct nl_buf *out = nl_tell_begin(judged);
 *     nl_tell_time(out, "GPU 0 computes ", ns);
 *     nl_tell_end(judged, &judged->verdict->sentence);
 */
#ifndef NL_JUDGE_H
#define NL_JUDGE_H

#include "answer/report.h"
#include "answer/verdict.h"

struct nl_judged {
    struct nl_report *report;
    const struct nl_trace *trace;
    const struct nl_analyze_options *options; /* with a memo */
    struct nl_verdict_words *verdict;
    struct nl_buf out;
};

/* Each says whether the profile is of its kind; then the verdict has a class and a sentence. */
typedef bool nl_judge(struct nl_judged *judged);
nl_judge nl_judge_hang, nl_judge_memory, nl_judge_counters, nl_judge_device, nl_judge_cpu,
    nl_judge_sums, nl_judge_samples, nl_judge_branches, nl_judge_layers, nl_judge_rates,
    nl_judge_energy, nl_judge_nothing;
/* Of a timeline with too few events to judge, asked by the judges of devices and of the CPU. */
nl_judge nl_judge_few;

/* "Most time: a 5 ms in 3 calls, b 2 ms." of whatever was recorded; nothing without durations. */
void nl_tell_longest(struct nl_judged *judged, struct nl_buf *out);

/* Of several files: what is to be said first about them, as the first note. */
void nl_judge_files(struct nl_judged *judged);
/* Of a profile whose end is missing, as a note, unless the sentence says so. */
void nl_judge_cut(struct nl_judged *judged);
/* Of a recording that took much of the program's processor time, as a note. */
void nl_judge_recording(struct nl_judged *judged);

/* Of a CPU-only program that was ready to run for much of the time, but had
 * no processor, as a note. */
void nl_judge_starved(struct nl_judged *judged);

/* Of runs of a compiled model on the CPU: ends the sentence that stands in `out`, and adds notes.
 * False, with nothing written, when no runs were marked or the question is about a window. `span`:
 * length of the profile in ns. */
bool nl_judge_runs(struct nl_judged *judged, struct nl_buf *out, int64_t span);

/* Whether the question is about a part of the profile: a time, a rank or a device. */
bool nl_judged_in_window(const struct nl_judged *judged);

/* A result of the report with rows, or NULL. */
const struct nl_result *nl_judged_part(const struct nl_judged *judged, const char *name);

/* ---- sentences ---- */

struct nl_buf *nl_tell_begin(struct nl_judged *judged);
/* What was written, kept for as long as the report, in *text; nothing when it was empty. */
void nl_tell_end(struct nl_judged *judged, const char **text);
/* The same as one more note; dropped when there are enough. */
void nl_tell_note(struct nl_judged *judged);
void nl_tell_time(struct nl_buf *out, const char *before, int64_t ns);
void nl_tell_share(struct nl_buf *out, const char *before, double share);
void nl_tell_ratio(struct nl_buf *out, const char *before, int64_t part, int64_t whole);
/* "630 ms of 1.01 s (63 %)". */
void nl_tell_of(struct nl_buf *out, const char *before, int64_t ns, int64_t whole);
void nl_tell_number(struct nl_buf *out, const char *before, int64_t count, const char *one,
                    const char *many);
void nl_tell_size(struct nl_buf *out, const char *before, uint64_t bytes);
/* A name from the profile on one line, shortened to about 72 characters. */
void nl_tell_name(struct nl_buf *out, const char *before, struct nl_str name);
void nl_tell_kernel(struct nl_buf *out, const char *before, struct nl_str name);
/* The same as a text of the report's arena: culprits. */
const char *nl_keep_name(struct nl_judged *judged, struct nl_str name);
const char *nl_keep_kernel(struct nl_judged *judged, struct nl_str name);

#endif
