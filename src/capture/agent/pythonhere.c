/* The interpreter's options as it reads them itself: letters together, -c and -m end
 * them, -W and -X take a word. */
#define _GNU_SOURCE
#include "capture/agent/pythonhere.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nlrec/recpython.h"

#define MAX_COMMAND 4096

/* Of CPython, where the process has one; dlsym would set up the heap of those that have none. */
extern const char *Py_GetVersion(void) __attribute__((weak, visibility("default")));

/* Letters of one word; *rest: 1 = the next word is the value of the last
 * one, 2 = no options follow. */
static uint32_t letters(const char *word, int *rest)
{
    uint32_t found = 0;
    for (const char *at = word + 1; *at && !*rest; at++) {
        found |= *at == 'I'           ? NL_REC_PYTHON_ISOLATED
                 : *at == 'E'         ? NL_REC_PYTHON_NO_ENV
                 : *at == 'S'         ? NL_REC_PYTHON_NO_SITE
                 : strchr("Vh?", *at) ? NL_REC_PYTHON_RUNS_NONE
                                      : 0;
        if (*at == 'c' || *at == 'm')
            *rest = 2;
        if (*at == 'W' || *at == 'X') {
            *rest = at[1] ? 0 : 1;
            break;
        }
    }
    return found;
}

uint32_t pythonhere_options(const char *words, uint64_t bytes)
{
    uint32_t found = 0;
    int rest = 1; /* the program's own name */
    for (const char *word = words; word < words + bytes; word += strlen(word) + 1) {
        if (rest == 1) {
            rest = 0;
            continue;
        }
        if (rest == 2 || word[0] != '-' || !word[1])
            break;
        if (word[1] != '-') {
            found |= letters(word, &rest);
        } else if (strcmp(word, "--check-hash-based-pycs") == 0) {
            rest = 1;
        } else {
            bool aside = strcmp(word, "--version") == 0 || strncmp(word, "--help", 6) == 0;
            return aside ? found | NL_REC_PYTHON_RUNS_NONE : found;
        }
    }
    return found;
}

/* In a separate function: room on the stack is memory that other programs have not touched yet. */
static __attribute__((noinline)) uint32_t look_at_words(void)
{
    char words[MAX_COMMAND];
    int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, words, sizeof words - 1) : 0;
    if (file >= 0)
        close(file);
    got = got > 0 ? got : 0;
    words[got] = '\0';
    return pythonhere_options(words, (uint64_t)got);
}

uint32_t pythonhere_look(void)
{
    if (!Py_GetVersion)
        return 0;
    const char *path = getenv("PYTHONPATH");
    uint32_t place = path && strstr(path, "/nlens/hook") ? 0 : NL_REC_PYTHON_NO_PATH;
    return NL_REC_PYTHON_HERE | place | look_at_words();
}
