/* Cells on a terminal by ncursesw. */
#define _GNU_SOURCE
#include "tui/terminal.h"

#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

struct terminal {
    SCREEN *screen;
    bool ascii;
    attr_t style[CELL_STYLES];
};

static const struct {
    attr_t plain; /* without colours */
    short color;  /* −1 = none */
    attr_t with;
} styles[CELL_STYLES] = {
    [STYLE_PLAIN] = {A_NORMAL, -1, A_NORMAL},
    [STYLE_TITLE] = {A_REVERSE, -1, A_REVERSE},
    [STYLE_HEAD] = {A_BOLD, -1, A_BOLD},
    [STYLE_FAINT] = {A_DIM, -1, A_DIM},
    [STYLE_GOOD] = {A_NORMAL, COLOR_GREEN, A_NORMAL},
    [STYLE_BUSY] = {A_BOLD, COLOR_CYAN, A_NORMAL},
    [STYLE_ALERT] = {A_REVERSE, COLOR_RED, A_BOLD},
};

static void set_styles(struct terminal *terminal, bool color)
{
    const char *none = getenv("NO_COLOR");
    color = color && !(none && *none) && has_colors();
    if (color && (start_color() != OK || use_default_colors() != OK))
        color = false;
    for (short i = 0; i < CELL_STYLES; i++) {
        terminal->style[i] = styles[i].plain;
        if (!color)
            continue;
        terminal->style[i] = styles[i].with;
        if (styles[i].color >= 0 && init_pair((short)(i + 1), styles[i].color, -1) == OK)
            terminal->style[i] |= (attr_t)COLOR_PAIR(i + 1);
    }
}

struct terminal *terminal_open(FILE *in, FILE *out, bool color, struct nl_err *err)
{
    const char *name = getenv("TERM");
    nl_err_at(err, "", -1);
    if (!isatty(fileno(in)) || !isatty(fileno(out))) {
        (void)nl_fail(err, NL_ENVIRONMENT, "this needs a terminal; --once needs none");
        return NULL;
    }
    (void)setlocale(LC_CTYPE, "");
    SCREEN *screen = name && *name ? newterm(NULL, out, in) : NULL;
    if (!screen) {
        (void)nl_fail(err, NL_ENVIRONMENT,
                      "the terminal '%s' of TERM is not known here; set TERM, or use --once",
                      name ? name : "");
        return NULL;
    }
    struct terminal *terminal = nl_zalloc(sizeof *terminal);
    terminal->screen = screen;
    terminal->ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    set_styles(terminal, color);
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)curs_set(0);
    return terminal;
}

void terminal_size(const struct terminal *terminal, unsigned *rows, unsigned *columns)
{
    (void)terminal;
    *rows = LINES > 0 ? (unsigned)LINES : 1;
    *columns = COLS > 0 ? (unsigned)COLS : 1;
}

bool terminal_is_ascii(const struct terminal *terminal)
{
    return terminal->ascii;
}

void terminal_show(struct terminal *terminal, const struct cells *cells)
{
    (void)erase();
    for (unsigned row = 0; row < cells->rows; row++)
        for (unsigned column = 0; column < cells->columns; column++) {
            const struct cell *cell = &cells->cell[(size_t)row * cells->columns + column];
            (void)attrset((int)terminal->style[cell->style]);
            (void)mvaddstr((int)row, (int)column, cell->text);
        }
    (void)refresh();
}

int terminal_key(struct terminal *terminal, int wait_ms)
{
    (void)terminal;
    timeout(wait_ms);
    int key = getch();
    switch (key) {
    case ERR: return KEY_NOTHING;
    case KEY_RESIZE: return KEY_RESIZED;
    case KEY_UP: return KEY_GO_UP;
    case KEY_DOWN: return KEY_GO_DOWN;
    case KEY_PPAGE: return KEY_PAGE_UP;
    case KEY_NPAGE: return KEY_PAGE_DOWN;
    default: return key;
    }
}

void terminal_close(struct terminal *terminal)
{
    (void)endwin();
    delscreen(terminal->screen);
    nl_free(terminal);
}
