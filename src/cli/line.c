/*
 * Lines through libedit. Ctrl-C is read as a key (the terminal's own signal is off while a line is
 * edited), because libedit goes on reading after a signal; while a statement runs the signal is on
 * again.
 */
#define _GNU_SOURCE
#include "cli/line.h"
#include "base/chars.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef NL_HAVE_LIBEDIT

#include <histedit.h>

#define HISTORY_LINES 2000

struct nl_line {
    EditLine *edit;
    History *history;
    const char *file, *prompt;
    nl_line_complete *complete;
    void *context;
    bool cancelled;
};

static struct nl_line *line_of(EditLine *edit)
{
    void *line = NULL;
    el_get(edit, EL_CLIENTDATA, &line);
    return line;
}

static char *prompt_of(EditLine *edit)
{
    return (char *)(uintptr_t)line_of(edit)->prompt; /* libedit only reads it */
}

static unsigned char on_cancel(EditLine *edit, int key)
{
    (void)key;
    line_of(edit)->cancelled = true;
    fputs("^C\n", stdout);
    return CC_NEWLINE;
}

/* What all candidates begin with. */
static size_t common_length(const char **candidates, size_t count)
{
    size_t len = strlen(candidates[0]);
    for (size_t i = 1; i < count; i++) {
        size_t k = 0;
        while (k < len && candidates[0][k] == candidates[i][k])
            k++;
        len = k;
    }
    return len;
}

static void list_candidates(const char **candidates, size_t count)
{
    size_t column = 0;
    fputc('\n', stdout);
    for (size_t i = 0; i < count; i++) {
        column += strlen(candidates[i]) + 2;
        if (column > 78) {
            fputc('\n', stdout);
            column = strlen(candidates[i]) + 2;
        }
        printf("%s  ", candidates[i]);
    }
    fputc('\n', stdout);
}

static unsigned char on_complete(EditLine *edit, int key)
{
    struct nl_line *line = line_of(edit);
    const LineInfo *info = el_line(edit);
    const char *start = info->cursor;
    struct nl_arena arena;
    const char **candidates;
    unsigned char answer = CC_ERROR;
    (void)key;
    while (start > info->buffer && (nl_is_word(start[-1]) || start[-1] == '.'))
        start--;
    nl_arena_init(&arena);
    size_t len = (size_t)(info->cursor - start);
    size_t count =
        line->complete(line->context, nl_arena_text(&arena, start, len), &arena, &candidates);
    if (count) {
        size_t common = common_length(candidates, count);
        char *rest = common > len ? nl_arena_format(&arena, "%.*s%s", (int)(common - len),
                                                    candidates[0] + len, count == 1 ? " " : "")
                                  : NULL;
        if (!rest && count > 1)
            list_candidates(candidates, count);
        bool inserted = rest && el_insertstr(edit, rest) == 0;
        answer = inserted ? CC_REFRESH : count > 1 ? CC_REDISPLAY : CC_ERROR;
    }
    nl_arena_free(&arena);
    return answer;
}

struct nl_line *nl_line_new(const char *file, nl_line_complete *complete, void *context)
{
    struct nl_line *line = nl_zalloc(sizeof *line);
    HistEvent event;
    *line = (struct nl_line){.file = file, .complete = complete, .context = context};
    line->prompt = "";
    line->edit = el_init("neurolens", stdin, stdout, stderr);
    line->history = history_init();
    if (!line->edit || !line->history) {
        nl_line_free(line);
        return NULL;
    }
    history(line->history, &event, H_SETSIZE, HISTORY_LINES);
    history(line->history, &event, H_SETUNIQUE, 1);
    if (file)
        history(line->history, &event, H_LOAD, line->file);
    el_set(line->edit, EL_CLIENTDATA, line);
    el_set(line->edit, EL_PROMPT, prompt_of);
    el_set(line->edit, EL_EDITOR, "emacs");
    el_set(line->edit, EL_HIST, history, line->history);
    el_set(line->edit, EL_SIGNAL, 0);
    el_set(line->edit, EL_SETTY, "-d", "-isig", NULL);
    el_set(line->edit, EL_ADDFN, "nl-cancel", "drop the line", on_cancel);
    el_set(line->edit, EL_BIND, "^C", "nl-cancel", NULL);
    el_set(line->edit, EL_ADDFN, "nl-complete", "complete a word", on_complete);
    el_set(line->edit, EL_BIND, "^I", "nl-complete", NULL);
    el_set(line->edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    return line;
}

void nl_line_free(struct nl_line *line)
{
    HistEvent event;
    if (!line)
        return;
    if (line->history && line->file)
        history(line->history, &event, H_SAVE, line->file);
    if (line->edit)
        el_end(line->edit);
    if (line->history)
        history_end(line->history);
    nl_free(line);
}

enum nl_line_what nl_line_read(struct nl_line *line, const char *prompt, char **text)
{
    int count = 0;
    line->prompt = prompt;
    line->cancelled = false;
    const char *read = el_gets(line->edit, &count);
    if (line->cancelled)
        return NL_LINE_CANCELLED;
    if (!read || count <= 0)
        return NL_LINE_END;
    *text = nl_strdup(read);
    (*text)[strcspn(*text, "\r\n")] = '\0';
    return NL_LINE_TEXT;
}

void nl_line_remember(struct nl_line *line, const char *text)
{
    HistEvent event;
    history(line->history, &event, H_ENTER, text);
}

#else

struct nl_line {
    char *text;
    size_t room;
};

struct nl_line *nl_line_new(const char *history, nl_line_complete *complete, void *context)
{
    (void)history, (void)complete, (void)context;
    return nl_zalloc(sizeof(struct nl_line));
}

void nl_line_free(struct nl_line *line)
{
    if (line)
        nl_free(line->text);
    nl_free(line);
}

enum nl_line_what nl_line_read(struct nl_line *line, const char *prompt, char **text)
{
    fputs(prompt, stdout);
    fflush(stdout);
    if (getline(&line->text, &line->room, stdin) < 0)
        return NL_LINE_END;
    *text = nl_strdup(line->text);
    (*text)[strcspn(*text, "\r\n")] = '\0';
    return NL_LINE_TEXT;
}

void nl_line_remember(struct nl_line *line, const char *text)
{
    (void)line, (void)text;
}

#endif
