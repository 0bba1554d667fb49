#include "cli/quotedprofile.h"

#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/mem.h"

/* Length of a word without the window at its end, "[10s:20s]"; a file may be called like that. */
static size_t without_window(const char *word)
{
    size_t len = strlen(word);
    const char *open = len && word[len - 1] == ']' ? strrchr(word, '[') : NULL;
    return open && open > word && access(word, F_OK) != 0 ? (size_t)(open - word) : len;
}

char *nl_quoted_profile(const struct nl_call *call, bool bare)
{
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    for (int i = 0; i < call->count && i < NL_MAX_QUOTED; i++) {
        const char *word = call->argument[i];
        size_t len = bare ? without_window(word) : strlen(word);
        nl_buf_text(&out, i ? " " : "");
        nl_buf_shell_word(&out, (struct nl_str){word, len});
    }
    nl_buf_text(&out, call->count > NL_MAX_QUOTED ? " …" : "");
    char *text = nl_strdup(out.len ? out.ptr : "");
    nl_buf_release(&out);
    return text;
}
