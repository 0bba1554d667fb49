/*
 * terminal — a screen of cells on a terminal, and its keys. One at a time: ncurses knows only one.
 *
 * With NO_COLOR in the environment, `color` false, or a terminal without colours, styles show as
 * bold, dim or reversed. In a locale that is not UTF-8 screens are ASCII.
 */
#ifndef NL_TERMINAL_H
#define NL_TERMINAL_H

#include <stdio.h>

#include "base/err.h"
#include "tui/cells.h"

struct terminal;

/* Keys that are no character. */
enum terminal_key {
    KEY_NOTHING = -1,
    KEY_RESIZED = 0x10000,
    KEY_GO_UP,
    KEY_GO_DOWN,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN
};

/* Fails with NL_ENVIRONMENT when `in` and `out` are no terminal that is known. */
struct terminal *terminal_open(FILE *in, FILE *out, bool color, struct nl_err *err);
void terminal_size(const struct terminal *terminal, unsigned *rows, unsigned *columns);
bool terminal_is_ascii(const struct terminal *terminal);
/* Shows what changed. */
void terminal_show(struct terminal *terminal, const struct cells *cells);
/* A character, an enum terminal_key, or KEY_NOTHING after `wait_ms`. */
int terminal_key(struct terminal *terminal, int wait_ms);
void terminal_close(struct terminal *terminal);

#endif
