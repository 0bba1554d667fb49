/* Words that mark a key as secret; matching ignores case and errs on the side of silence. */
#include "store/redact.h"

static const char *const secret_words[] = {
    "token",
    "secret",
    "password",
    "passwd",
    "credential",
    "api_key",
    "apikey",
    "access_key",
    "private_key",
    "auth",
    "cookie",
    "session_key",
    "environment_variable",
    "environ",
};

bool nl_is_secret_key(struct nl_str key)
{
    if (nl_str_is(key, "env"))
        return true;
    for (size_t i = 0; i < sizeof secret_words / sizeof secret_words[0]; i++)
        if (nl_str_find_nocase(key, secret_words[i]) >= 0)
            return true;
    return false;
}
