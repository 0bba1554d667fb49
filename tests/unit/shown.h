/*
 * shown — a report as every view prints it, one after the other, with few rows and with all: what
 * must be equal when two reports are.
 */
#ifndef SHOWN_H
#define SHOWN_H

#include <stdio_ext.h>
#include <stdlib.h>

#include "view/view.h"

/* free() it. */
static inline char *shown(const struct nl_profile *profile, const struct nl_report *report)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    __fsetlocking(out, FSETLOCKING_BYCALLER); /* no other thread has it */
    struct nl_err err;
    nl_err_clear(&err);
    for (size_t i = 0; nl_views[i]; i++)
        for (int all = 0; all < 2; all++) {
            const struct nl_view_options options = {.all = all != 0};
            if (!nl_views[i]->render_report(out, profile, report, &options, &err))
                fprintf(out, "%s failed: %s\n", nl_views[i]->name, err.text);
        }
    for (size_t i = 0; i < report->result_count; i++) {
        const struct nl_view_options options = {.section = report->results[i]->name};
        if (!nl_view_csv.render_report(out, profile, report, &options, &err))
            fprintf(out, "csv failed: %s\n", err.text);
    }
    fclose(out);
    return text;
}

#endif
