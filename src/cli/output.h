/*
 * output — where an answer goes: standard output, or the file of -o, which appears at once when all
 * is written. Devices and pipes named by -o are written to directly. An input is never overwritten.
 */
#ifndef NL_OUTPUT_H
#define NL_OUTPUT_H

#include "base/file.h"
#include "cli/command.h"
#include "view/view.h"

struct nl_output {
    FILE *stream;
    const struct nl_view *view; /* of --format */
    bool color;
    unsigned width, height; /* of the terminal, 0 = not known */
    bool ascii;             /* the locale names another character set than UTF-8 */
    /* private */
    struct nl_out file;
    bool atomic, direct;
    FILE *pager, *shown; /* `shown`: a terminal, in front of standard output */
};

/* Whether the answer is to be a page: -o ends in .html, and --format says nothing else. */
bool nl_output_is_page(const struct nl_call *call);

/* Long text on a terminal goes through $PAGER, else `less -FRX`, which ends by itself when all fits
 * one screen. Nothing happens with another format, with -o, in a pipe, or with an empty $PAGER. */
void nl_output_page(struct nl_output *output, const struct nl_call *call);

/* The view of a format, where the answer goes: names in csv do not act on a
 * terminal. NULL: no such format. */
const struct nl_view *nl_output_view(const struct nl_call *call, const char *format);

/* `inputs` are the files, folders and patterns that are read. NL_USAGE when -o names one of them,
 * NL_WRITE when it cannot be written. */
NL_MUST_CHECK bool nl_output_open(struct nl_output *output, const struct nl_call *call,
                                  const char *const *inputs, size_t count, struct nl_err *err);

/* Ends it: with `done` the file is put in place, without it nothing is left. False when the last
 * bytes could not be written. Passes `done` on. */
NL_MUST_CHECK bool nl_output_close(struct nl_output *output, const struct nl_call *call, bool done,
                                   struct nl_err *err);

#endif
