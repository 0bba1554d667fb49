/*
 * template — what a user adds to the pages of `report`: a title, a logo, a front page of plain
 * paragraphs, and sections, each answered by SQL or by one of our analyses; also which of our parts
 * to leave out. A YAML file of at most 1 MiB:
 *
 *     title: Nightly training
 *     logo: logo.svg                # next to this file; svg, png, jpeg, gif or webp of at most 256 KiB
 *     front: |
 *       Paragraphs, separated by empty lines.
 *     sections:
 *       - title: Attention
 *         text: What it is about.
 *         draw: bars                # or table; bars need a column of text and one of numbers
 *         sql: SELECT name, sum(dur) AS total_ns FROM kernels GROUP BY 1 ORDER BY 2 DESC
 *       - title: Slowest kernels
 *         analysis: kernels         # as in `analyze --section`
 *         rows: 5
 *     hide: [flame, roofline]
 *
 *     struct nl_template template;
 *     if (nl_template_open(&template, "nightly.yaml", err)) {
 *         done = nl_template_answer(&template, report, &asked, err);  // its sections are results of the report now
 *         ...
 *     }
 *     nl_template_release(&template);
 */
#ifndef NL_TEMPLATE_H
#define NL_TEMPLATE_H

#include "answer/report.h"

#define NL_TEMPLATE_SECTIONS 32
#define NL_TEMPLATE_HIDES    16

struct nl_db;

struct nl_template_section {
    const char *title, *text;           /* text may be NULL */
    const char *sql;                    /* or NULL, and then: */
    const struct nl_analysis *analysis; /* one of ours */
    size_t rows;                        /* of the analysis, at most; 0 = all */
    size_t line;                        /* of the SQL or of its name, from 1 */
    bool bars;
};

struct nl_template {
    const char *path;
    const char *title, *front, *logo; /* NULL = none; logo as a data: address */
    struct nl_template_section sections[NL_TEMPLATE_SECTIONS];
    size_t section_count;
    const char *hide[NL_TEMPLATE_HIDES];
    size_t hide_count;
    struct nl_arena arena;
};

/* Reads the text of a template; `logo` stays the name of a file. NL_USAGE with line and column. */
NL_MUST_CHECK bool nl_template_read(struct nl_template *template, const char *text, size_t size,
                                    struct nl_err *err);

/* Reads a file, and the logo next to it. Release it whatever comes back. */
NL_MUST_CHECK bool nl_template_open(struct nl_template *template, const char *path,
                                    struct nl_err *err);
void nl_template_release(struct nl_template *template);

/* What the sections are answered from: SQL sees the whole profile, analyses
 * the window of `options`. */
struct nl_template_asked {
    struct nl_db *db;
    const struct nl_trace *trace;
    const struct nl_analyze_options *options;
    struct nl_job *job;
};

/* Asks the sections and adds their answers to the report as results "section_1", "section_2", …. */
NL_MUST_CHECK bool nl_template_answer(const struct nl_template *template, struct nl_report *report,
                                      const struct nl_template_asked *asked, struct nl_err *err);

/* The section that a result answers; NULL: it is a result of ours, or there is no template. */
const struct nl_template_section *nl_template_section(const struct nl_template *template,
                                                      const struct nl_result *result);

/* Whether the part of a page, or table, of that name is to be left out. `template` may be NULL. */
bool nl_template_hides(const struct nl_template *template, const char *name);

#endif
