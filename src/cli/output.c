/* Output: which stream, is it safe, did every byte arrive. */
#define _GNU_SOURCE
#include "cli/output.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "cli/progress.h"
#include "cli/shown.h"
#include "pages/page.h"

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is the existing file `target` in folder `parent` what `input` names? */
static bool is_input(const struct stat *target, const struct stat *parent, const char *input)
{
    struct stat info;
    if (stat(input, &info) != 0)
        return false;
    return same_file(target, &info) || (S_ISDIR(info.st_mode) && same_file(parent, &info));
}

static bool matches_input(const struct stat *target, const struct stat *parent, const char *input)
{
    glob_t found;
    bool hit = is_input(target, parent, input);
    if (hit || glob(input, GLOB_NOSORT, NULL, &found) != 0)
        return hit;
    for (size_t i = 0; i < found.gl_pathc && !hit; i++)
        hit = is_input(target, parent, found.gl_pathv[i]);
    globfree(&found);
    return hit;
}

static bool is_among(const struct stat *target, const struct stat *parent,
                     const char *const *inputs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (matches_input(target, parent, inputs[i]))
            return true;
    return false;
}

/* Opens the file of -o; `path` has its links followed. */
static bool open_file(struct nl_output *output, const char *path, const struct nl_call *call,
                      const char *const *inputs, size_t count, struct nl_err *err)
{
    struct stat target, parent = {0};
    nl_err_at(err, path, -1);
    if (stat(path, &target) == 0) {
        char *folder = nl_strdup(path);
        char *slash = strrchr(folder, '/');
        if (slash)
            slash[slash == folder] = '\0';
        if (stat(slash ? folder : ".", &parent) != 0)
            parent = (struct stat){0};
        nl_free(folder);
        if (is_among(&target, &parent, inputs, count) ||
            is_among(&target, &parent, call->settings.join.items, call->settings.join.count))
            return nl_fail(err, NL_USAGE, "is an input; give -o another name");
        if (S_ISDIR(target.st_mode))
            return nl_fail(err, NL_WRITE, "is a folder; -o needs the name of a file");
        output->direct = !S_ISREG(target.st_mode);
    }
    if (!output->direct) {
        output->atomic = nl_out_open(&output->file, path, err);
        output->stream = output->file.stream;
        return output->atomic;
    }
    output->stream = fopen(path, "we");
    if (!output->stream)
        return nl_fail(err, NL_WRITE, "cannot write here: %s", strerror(errno));
    return true;
}

static bool wants_color(const struct nl_call *call)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    if (call->settings.color != NL_COLOR_AUTO)
        return call->settings.color == NL_COLOR_ALWAYS;
    return !call->settings.output && isatty(STDOUT_FILENO) && !(no_color && *no_color) &&
           !(term && strcmp(term, "dumb") == 0);
}

static unsigned terminal_width(void)
{
    struct winsize size;
    int64_t columns = 0;
    const char *given = getenv("COLUMNS");
    if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        columns = size.ws_col;
    else if (!given || !nl_parse_i64(nl_str(given), &columns))
        columns = 0;
    return columns >= 20 && columns <= 1000 ? (unsigned)columns : 0;
}

static unsigned terminal_height(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_row;
}

/* The locale is named, and not as one of UTF-8. */
static bool is_ascii(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return nl_str_find_nocase(nl_str(value), "utf-8") < 0 &&
                   nl_str_find_nocase(nl_str(value), "utf8") < 0;
    }
    return false;
}

bool nl_output_is_page(const struct nl_call *call)
{
    const char *path = call->settings.output;
    size_t len = path ? strlen(path) : 0;
    return call->settings.format == NL_FORMAT_TEXT && len > 5 && !strcmp(path + len - 5, ".html");
}

const struct nl_view *nl_output_view(const struct nl_call *call, const char *format)
{
    const struct nl_view *view = nl_view_find(format);
    if (view != &nl_view_csv)
        return view;
    bool shown = !call->settings.output && isatty(STDOUT_FILENO);
    return call->settings.csv_safe ? &nl_view_csv_sheet : shown ? &nl_view_csv_terminal : view;
}

bool nl_output_open(struct nl_output *output, const struct nl_call *call, const char *const *inputs,
                    size_t count, struct nl_err *err)
{
    *output =
        (struct nl_output){.stream = stdout,
                           .view = nl_output_view(call, nl_format_names[call->settings.format]),
                           .color = wants_color(call),
                           .width = terminal_width(),
                           .height = terminal_height(),
                           .ascii = is_ascii()};
    const char *given = call->settings.output;
    if (nl_output_is_page(call))
        output->view = &nl_view_html;
    if (!given || strcmp(given, "-") == 0) {
        if (isatty(STDOUT_FILENO) && (output->shown = nl_shown_open(STDOUT_FILENO)))
            output->stream = output->shown;
        return true;
    }
    char *path = realpath(given, NULL); /* NULL: not there yet, or a link to nowhere */
    bool done = open_file(output, path ? path : given, call, inputs, count, err);
    nl_free(path);
    if (done && output->atomic)
        nl_progress_temporary(call->progress, output->file.temporary);
    if (done)
        nl_err_clear(err);
    return done;
}

/* Writes what is buffered; `close` ends the stream too. */
static bool finish_stream(FILE *stream, bool close, const char *name, struct nl_err *err)
{
    bool bad = fflush(stream) != 0 || ferror(stream);
    int failure = errno;
    if (close && fclose(stream) != 0 && !bad) {
        bad = true;
        failure = errno;
    }
    if (!bad)
        return true;
    nl_err_at(err, name, -1);
    return nl_fail(err, NL_WRITE, "cannot write: %s", strerror(failure));
}

void nl_output_page(struct nl_output *output, const struct nl_call *call)
{
    const char *pager = getenv("PAGER");
    if (call->settings.no_pager || call->settings.output || output->stream != output->shown ||
        output->view != &nl_view_text || !isatty(STDOUT_FILENO) || (pager && !*pager))
        return;
    fflush(stdout);
    output->pager = popen(pager ? pager : "less -FRX", "we");
    if (output->pager)
        output->stream = output->pager;
}

bool nl_output_close(struct nl_output *output, const struct nl_call *call, bool done,
                     struct nl_err *err)
{
    nl_progress_temporary(call->progress, NULL);
    if (output->pager) {
        pclose(output->pager);
        (void)fclose(output->shown);
        return done;
    }
    if (output->atomic) {
        if (done)
            return nl_out_commit(&output->file, err);
        nl_out_abort(&output->file);
        return false;
    }
    if (output->direct) {
        bool written =
            finish_stream(output->stream, true, call->settings.output, done ? err : NULL);
        return done && written;
    }
    if (output->shown) {
        bool written = finish_stream(output->shown, true, "standard output", done ? err : NULL);
        return done && written;
    }
    return done && finish_stream(stdout, false, "standard output", err);
}
