/*
 * briefparts — what brief.c, briefbars.c and brieffindings.c share: the page under construction and
 * its blocks. Private to view.
 */
#ifndef NL_BRIEFPARTS_H
#define NL_BRIEFPARTS_H

#include "view/brief.h"

#define PLAIN   "\033[0m"
#define BOLD    "\033[1m"
#define DIM     "\033[2m"
#define RED     "\033[31m"
#define GREEN   "\033[32m"
#define YELLOW  "\033[33m"
#define BLUE    "\033[34m"
#define MAGENTA "\033[35m"
#define CYAN    "\033[36m"

struct brief {
    const struct nl_profile *profile;
    const struct nl_report *report;
    const struct nl_view_options *options;
    size_t width;
    struct nl_buf *out, line;
    /* of a finding above, which said that it is that from first to last work; 0 none did */
    int64_t explained_wall_ns;
};

/* Adds a colour where there are colours. */
void nl_brief_style(struct brief *brief, struct nl_buf *out, const char *code);
/* The collected line, wrapped; further lines stand `indent` columns in. */
void nl_brief_line(struct brief *brief, const char *code, size_t indent);

/* A bar per device, of the whole that the answer is about; how good the compute is. */
void nl_brief_devices(struct brief *brief);
/* The first `most` findings, numbered as in the section findings. */
void nl_brief_findings(struct brief *brief, size_t most);

#endif
