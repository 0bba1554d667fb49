/*
 * line — lines typed at a terminal: editing, history and completion by libedit where it was found
 * when building, plain reading otherwise.
 */
#ifndef NL_LINE_H
#define NL_LINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

enum nl_line_what { NL_LINE_TEXT, NL_LINE_CANCELLED /* Ctrl-C */, NL_LINE_END /* Ctrl-D */ };

/* Candidates for the word before the cursor, in `arena`. */
typedef size_t nl_line_complete(void *context, const char *prefix, struct nl_arena *arena,
                                const char ***candidates);

struct nl_line;

/* The history is read from `file` (borrowed, may be NULL) now and written there at the end. */
struct nl_line *nl_line_new(const char *file, nl_line_complete *complete, void *context);
void nl_line_free(struct nl_line *line);

/* Reads a line; *text (without its end, nl_free'd by the caller) is set for NL_LINE_TEXT only. */
enum nl_line_what nl_line_read(struct nl_line *line, const char *prompt, char **text);

/* Adds to the history. */
void nl_line_remember(struct nl_line *line, const char *text);

#endif
