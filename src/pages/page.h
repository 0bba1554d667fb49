/*
 * page — an answer as one HTML file that needs nothing else: no network, no other file, no server.
 *
 * The file holds the answer twice: as plain HTML (headline and findings: what a mail preview or
 * a browser without scripts shows) and as two JSON documents that the script draws from. The
 * first, id "answer", is to the byte what `--format json` prints, with tables cut to what a page
 * can show; the second, id "page", has what only pictures need (pagepart.h). Script and style
 * are the bundle of web/, named by hash in the Content-Security-Policy: nothing else runs,
 * whatever a profile's names say.
 */
#ifndef NL_PAGE_H
#define NL_PAGE_H

#include "pages/template.h"
#include "view/view.h"

struct nl_page {
    const char *kind;    /* "analyze", "diff", "flame", …: what the script draws */
    const char *title;   /* of the window; untrusted text */
    const char *command; /* the command line that makes it again */
    /* The profile in commands to paste, with and without a window of time
     * (nl_view_options); NULL = PROFILE. */
    const char *input, *bare;
    const struct nl_template *template; /* what the user adds; NULL = nothing */
};

/* "trace.json.gz", "rank-*.json (8 files)": what a page about the profile is called. */
const char *nl_page_title(const struct nl_profile *profile, struct nl_arena *arena);

/* The page of a report of plan "analyze", with pictures. */
NL_MUST_CHECK bool nl_page_report(FILE *out, const struct nl_page *page,
                                  const struct nl_trace *trace, const struct nl_profile *profile,
                                  const struct nl_report *report, struct nl_err *err);

/* The page of a comparison: its report, `profile` being B and `options->base`
 * A, and pictures of both. */
NL_MUST_CHECK bool nl_page_diff(FILE *out, const struct nl_page *page,
                                const struct nl_trace *const traces[2],
                                const struct nl_profile *profile, const struct nl_report *report,
                                const struct nl_view_options *options, struct nl_err *err);

/* Sentences and tables about no single profile. In a column `page`, names of files in the same
 * folder are links. */
NL_MUST_CHECK bool nl_page_tables(FILE *out, const struct nl_page *page,
                                  const struct nl_report *report, struct nl_err *err);

/* A view like those of view.h: sentences, findings and tables of any answer as a page. */
extern const struct nl_view nl_view_html;

struct nl_flame;
/* A page with one flame graph. */
NL_MUST_CHECK bool nl_page_flame(FILE *out, const struct nl_page *page,
                                 const struct nl_flame *flame, struct nl_err *err);

/* The same report as Markdown with plots as text; `view`: rows of each table, words for commands.
 * `template`: what the user adds; NULL = nothing. */
NL_MUST_CHECK bool nl_page_markdown(FILE *out, const struct nl_trace *trace,
                                    const struct nl_profile *profile,
                                    const struct nl_report *report,
                                    const struct nl_view_options *view,
                                    const struct nl_template *template, struct nl_err *err);

#endif
