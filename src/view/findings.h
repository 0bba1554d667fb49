/*
 * findings — what costs time and what to do about it, on paper: as a note for eyes, as Markdown,
 * and as the JSON of the command line's contract.
 */
#ifndef NL_FINDINGS_H
#define NL_FINDINGS_H

#include "findings/finding.h"
#include "base/json.h"
#include "view/view.h"

/* Commands in the texts have the user's own words for the profile (nl_view_options.input, bare).
 *
 * Members "findings" and "abstained" of an open object. */
void nl_findings_json(struct nl_json *json, const struct nl_findings *findings,
                      const struct nl_view_options *options);

/* Nothing is added when there is nothing to say. `all`: also abstentions and examples. */
void nl_findings_text(struct nl_buf *out, const struct nl_findings *findings, size_t width,
                      bool all, const struct nl_view_options *options);
void nl_findings_markdown(struct nl_buf *out, const struct nl_findings *findings, bool all,
                          const struct nl_view_options *options);

/* Adds a text of advice, PROFILE replaced by what the user called the profile. */
void nl_findings_command(struct nl_buf *out, const char *text,
                         const struct nl_view_options *options);

/* Whether values of that meaning are whole numbers. */
bool nl_findings_is_whole(enum nl_meaning meaning);

/* The statement that gives the finding's first number; false where it has none. */
bool nl_findings_check(struct nl_buf *out, const struct nl_finding *finding,
                       const struct nl_view_options *options);

#endif
