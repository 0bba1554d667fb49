/* Messages: put together in one buffer and written at once, so that lines do not mix. */
#include "cli/message.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/str.h"
#include "cli/progress.h"
#include "view/celltext.h"

#define MAX_MESSAGE 2048

static void write_line(struct nl_buf *line)
{
    struct nl_buf safe; /* names of files and kernels stand in it: three bytes at most for one */
    nl_buf_init(&safe, 3 * MAX_MESSAGE + 8);
    nl_celltext_safe(&safe, (struct nl_str){line->ptr, line->len});
    fprintf(stderr, "neurolens: %s\n", safe.ptr ? safe.ptr : "");
    nl_buf_release(&safe);
    nl_buf_release(line);
}

void nl_message_error(const struct nl_err *err, unsigned verbose)
{
    struct nl_buf line;
    if (err->code == NL_INTERRUPTED && !verbose)
        return;
    nl_buf_init(&line, MAX_MESSAGE);
    if (err->file[0])
        nl_buf_format(&line, "%s: ", err->file);
    if (err->offset >= 0)
        nl_buf_format(&line, "at byte %" PRId64 ": ", err->offset);
    nl_buf_text(&line, err->text[0] ? err->text : "failed without a reason");
    write_line(&line);
    if (verbose)
        fprintf(stderr, "neurolens: (%s, exit %d)\n", nl_err_name(err->code),
                nl_err_exit_status(err->code));
}

static void print_message(const struct nl_call *call, const char *format, va_list args)
{
    char text[MAX_MESSAGE];
    struct nl_buf line;
    vsnprintf(text, sizeof text, format, args);
    nl_progress_clear(call->progress);
    nl_buf_init(&line, MAX_MESSAGE);
    nl_buf_text(&line, text);
    write_line(&line);
}

void nl_message_note(const struct nl_call *call, const char *format, ...)
{
    va_list args;
    if (call->settings.quiet)
        return;
    va_start(args, format);
    print_message(call, format, args);
    va_end(args);
}

void nl_message_detail(const struct nl_call *call, const char *format, ...)
{
    va_list args;
    if (!call->settings.verbose)
        return;
    va_start(args, format);
    print_message(call, format, args);
    va_end(args);
}
