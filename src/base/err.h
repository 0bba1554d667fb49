/*
 * err — errors as values.
 *
 * A fallible function returns bool (true = done) or a pointer (NULL = failed), takes `struct nl_err
 * *err` last and fills it on failure. No room below cli/ prints or exits. The error says which
 * file, at which byte (or in which table), what is wrong there and what to do next. errors.def
 * lists the codes with the exit status of each.
 */
#ifndef NL_ERR_H
#define NL_ERR_H

#include <stdbool.h>
#include <stdint.h>

enum nl_code {
#define NL_ERROR(code, exit_status, text) NL_##code,
#include "base/errors.def"
#undef NL_ERROR
};

struct nl_err {
    enum nl_code code;
    char text[480];  /* cause and next step, one line, no trailing full stop needed */
    char file[1024]; /* the file it is about, or "" */
    int64_t offset;  /* byte offset in that file (decompressed text for gz/zst), or -1 */
};

#define NL_MUST_CHECK        __attribute__((warn_unused_result))
#define NL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* Fills err and returns false, so that `return nl_fail(err, NL_IO, "...")` reads well. The file
 * and offset that err already carries are kept. err may be NULL. */
bool nl_fail(struct nl_err *err, enum nl_code code, const char *format, ...) NL_PRINTF(3, 4);

/* Names the file (borrowed, copied) and byte offset (-1 = none) an error is about. */
void nl_err_at(struct nl_err *err, const char *file, int64_t offset);

void nl_err_clear(struct nl_err *err);

/* The process's exit status for a code, as the command line's contract lists them. */
int nl_err_exit_status(enum nl_code code);

/* "NL_FORMAT" for NL_FORMAT, for machine output. */
const char *nl_err_name(enum nl_code code);

/* An impossible state: prints where to stderr and aborts. Ours to fix, never the input's fault. */
_Noreturn void nl_bug(const char *file, int line, const char *what);
#define NL_BUG(what) nl_bug(__FILE__, __LINE__, what)

#endif
