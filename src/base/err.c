/* Errors as values: filling, naming, and the one way to die (nl_bug). */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int exit_status;
} codes[] = {
#define NL_ERROR(code, status, text) {"NL_" #code, status},
#include "base/errors.def"
#undef NL_ERROR
};

bool nl_fail(struct nl_err *err, enum nl_code code, const char *format, ...)
{
    if (!err)
        return false;
    err->code = code;
    va_list args;
    va_start(args, format);
    vsnprintf(err->text, sizeof err->text, format, args);
    va_end(args);
    return false;
}

void nl_err_at(struct nl_err *err, const char *file, int64_t offset)
{
    if (!err)
        return;
    if (file)
        snprintf(err->file, sizeof err->file, "%s", file);
    err->offset = offset;
}

void nl_err_clear(struct nl_err *err)
{
    err->code = NL_OK;
    err->text[0] = '\0';
    err->file[0] = '\0';
    err->offset = -1;
}

int nl_err_exit_status(enum nl_code code)
{
    return codes[code].exit_status;
}

const char *nl_err_name(enum nl_code code)
{
    return codes[code].name;
}

_Noreturn void nl_bug(const char *file, int line, const char *what)
{
    fprintf(stderr, "neurolens: bug at %s:%d: %s\nPlease report this with the command you ran.\n",
            file, line, what);
    abort();
}
