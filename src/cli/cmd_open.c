/*
 * open: the best viewer at hand: on a desktop the page of `report`, served on loopback to the
 * browser; elsewhere the answer as text. With --perfetto the trace goes to the Perfetto UI by its
 * own handshake: a page of ours, served on loopback, opens the UI's window and posts the trace to
 * it. The UI fetches nothing from here, so no fixed port, no CORS and no permission prompt is
 * needed, and nothing leaves the machine.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/input.h"
#include "cli/loopback.h"
#include "cli/message.h"
#include "cli/pagecall.h"
#include "cli/cmd_report.h"
#include "cli/progress.h"
#include "export/export.h"

struct open_options {
    bool perfetto, no_browser, page;
    const char *ui;
};

static const struct open_options *open_own(const struct nl_call *call)
{
    return call->own;
}

#define PERFETTO_UI "https://ui.perfetto.dev/"
#define MAX_UI      2000000000 /* bytes of a trace */
#define MAX_PAGE    ((size_t)1 << 20)

extern const char nl_handover_page[];
extern char **environ;

static const struct nl_option open_options[] = {
    {"perfetto", 0, NL_OPTION_FLAG, NL_OWN(open_options, perfetto), NULL,
     "show the timeline in the Perfetto UI, in your browser", NULL},
    {"ui", 0, NL_OPTION_TEXT, NL_OWN(open_options, ui), "URL",
     "with --perfetto: another Perfetto UI than https://ui.perfetto.dev/", NULL},
    {"page", 0, NL_OPTION_FLAG, NL_OWN(open_options, page), NULL,
     "show the page of `report` in your browser, even without a desktop session", NULL},
    {"no-browser", 0, NL_OPTION_FLAG, NL_OWN(open_options, no_browser), NULL,
     "with --page and --perfetto: only print the address", NULL},
    NL_OPTIONS_END,
};

/* ---- the page ---- */

static void put_escaped(struct nl_buf *out, const char *text)
{
    for (; *text; text++) {
        const char *word = *text == '&'    ? "&amp;"
                           : *text == '<'  ? "&lt;"
                           : *text == '>'  ? "&gt;"
                           : *text == '"'  ? "&quot;"
                           : *text == '\'' ? "&#39;"
                                           : NULL;
        if (word)
            nl_buf_text(out, word);
        else if ((unsigned char)*text >= 0x20)
            nl_buf_char(out, *text);
    }
}

struct page_value {
    const char *name, *value;
};

/* The page with {{NAME}} replaced by escaped values. */
static void fill_page(struct nl_buf *out, const struct page_value *values)
{
    const char *at = nl_handover_page;
    for (const char *open; (open = strstr(at, "{{"));) {
        const char *close = strstr(open, "}}");
        nl_buf_add(out, at, (size_t)(open - at));
        for (const struct page_value *value = values; close && value->name; value++)
            if (strlen(value->name) == (size_t)(close - open - 2) &&
                memcmp(open + 2, value->name, strlen(value->name)) == 0)
                put_escaped(out, value->value);
        at = close ? close + 2 : open + 2;
    }
    nl_buf_text(out, at);
}

/* ---- messages ---- */

static bool has_desktop(void)
{
    const char *display = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");
    return (display && *display) || (wayland && *wayland);
}

/* Starts the desktop's browser; false when there is no desktop, or it did not start. */
static bool start_browser(const char *url)
{
    char *arguments[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    if (!has_desktop())
        return false;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    int failure = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0)
        return false;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void tell_address(const struct nl_call *call, const struct nl_loopback *server)
{
    char host[256] = "this-machine";
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "this-machine");
    printf("%s\n", server->url);
    fflush(stdout);
    bool started = !open_own(call)->no_browser && start_browser(server->url);
    nl_message_note(call, started ? "your browser has the page; Ctrl-C ends it"
                                  : "open this address in your browser; Ctrl-C ends it");
    nl_message_note(call, "from another machine, first: ssh -L %d:127.0.0.1:%d %s", server->port,
                    server->port, host);
}

/* ---- the trace ---- */

/* A file that has no name: it is gone with us, however we end. */
static FILE *nameless_file(struct nl_err *err)
{
    FILE *file = tmpfile();
    if (!file)
        (void)nl_fail(err, NL_WRITE, "cannot create a temporary file: %s", strerror(errno));
    return file;
}

static bool write_perfetto(const struct nl_call *call, struct nl_input_words *input,
                           const struct nl_trace *trace, FILE *out, struct nl_err *err)
{
    struct nl_window window;
    struct nl_export export;
    if (!nl_input_window(input, trace, call, &window, err))
        return false;
    nl_export_init(&export, trace, &window, call->job);
    export.out = out;
    bool done = nl_export_perfetto(&export, err);
    nl_export_release(&export);
    return done;
}

/* The profile as the viewer wants it: a page, or a trace for Perfetto. */
static bool write_view(const struct nl_call *call, struct nl_input_words *input, FILE *out,
                       struct nl_err *err)
{
    struct nl_trace *trace = nl_input_load(input, call, err);
    if (!trace)
        return false;
    bool done = open_own(call)->perfetto ? write_perfetto(call, input, trace, out, err)
                                         : nl_page_write(call, input, trace, out, err);
    nl_trace_free(trace);
    if (done && (fflush(out) != 0 || ferror(out)))
        done = nl_fail(err, NL_WRITE, "cannot write the page to show: %s", strerror(errno));
    return done;
}

/* The profile's name as a file name. */
static void trace_name(const char *path, char *title, char *file, size_t room)
{
    const char *slash = strrchr(path, '/');
    snprintf(title, room, "%s", slash && slash[1] ? slash + 1 : path);
    snprintf(file, room, "%.*s.pftrace", (int)strcspn(title, "\"\\/"), title);
}

static bool serve_trace(const struct nl_call *call, const char *path, FILE *trace,
                        struct nl_err *err)
{
    struct nl_loopback server;
    struct stat info;
    struct nl_buf page;
    char nonce[33] = "", policy[512], title[512], file[512];
    unsigned char random[16];
    const char *ui = open_own(call)->ui ? open_own(call)->ui : PERFETTO_UI;
    if (fstat(fileno(trace), &info) != 0 || getrandom(random, sizeof random, 0) < 0)
        return nl_fail(err, NL_ENVIRONMENT, "%s", strerror(errno));
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(nonce + 2 * i, 3, "%02x", random[i]);
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'nonce-%s'; style-src 'nonce-%s'; connect-src 'self'; "
             "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
             nonce, nonce);
    trace_name(path, title, file, sizeof title);
    nl_buf_init(&page, MAX_PAGE);
    fill_page(&page, (struct page_value[]){{"TITLE", title},
                                           {"FILE", file},
                                           {"UI", ui},
                                           {"HASH", "#!/"},
                                           {"NONCE", nonce},
                                           {NULL, NULL}});
    struct nl_loopback_item items[] = {
        {"", "text/html; charset=utf-8", policy, page.ptr, page.len, -1, false},
        {"trace", "application/octet-stream", NULL, NULL, (uint64_t)info.st_size, fileno(trace),
         false},
        {"done", "text/plain", NULL, "", 0, -1, true}};
    bool done = nl_loopback_open(&server, err);
    if (done) {
        nl_progress_quiet(call->progress);
        if (info.st_size > MAX_UI)
            nl_message_note(call,
                            "the trace has %.1f GB, browsers take about 2; limit it with a "
                            "window, such as '%s[step=10:20]'",
                            (double)info.st_size / 1e9, path);
        tell_address(call, &server);
        done = nl_loopback_serve(&server, items, sizeof items / sizeof items[0], call->job, err);
    }
    nl_loopback_close(&server);
    nl_buf_release(&page);
    return done;
}

/* The page has its own policy; this one adds what only a header can say. */
static bool serve_page(const struct nl_call *call, FILE *page, struct nl_err *err)
{
    struct nl_loopback server;
    struct stat info;
    if (fstat(fileno(page), &info) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "%s", strerror(errno));
    struct nl_loopback_item item = {"",   "text/html; charset=utf-8", "frame-ancestors 'none'",
                                    NULL, (uint64_t)info.st_size,     fileno(page),
                                    false};
    bool done = nl_loopback_open(&server, err);
    if (done) {
        nl_progress_quiet(call->progress);
        tell_address(call, &server);
        done = nl_loopback_serve(&server, &item, 1, call->job, err);
    }
    nl_loopback_close(&server);
    return done;
}

static bool open_served(struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    FILE *file = NULL;
    bool done = nl_input_read(&input, call->argument, (size_t)call->count, err);
    if (done)
        file = nameless_file(err);
    done = file && write_view(call, &input, file, err) &&
           (open_own(call)->perfetto ? serve_trace(call, input.paths[0], file, err)
                                     : serve_page(call, file, err));
    if (file)
        fclose(file);
    nl_input_release(&input);
    return done;
}

/* On a terminal of a desktop a page is better than text; a pipe gets text. */
static bool wants_page(const struct nl_call *call)
{
    return open_own(call)->page ||
           (!call->settings.output && call->settings.format == NL_FORMAT_TEXT &&
            isatty(STDOUT_FILENO) && has_desktop());
}

static bool open_run(struct nl_call *call, struct nl_err *err)
{
    if (open_own(call)->page && open_own(call)->perfetto)
        return nl_fail(err, NL_USAGE, "--page and --perfetto are two viewers: give one");
    if (open_own(call)->ui && !open_own(call)->perfetto)
        return nl_fail(err, NL_USAGE, "--ui is for --perfetto");
    if (open_own(call)->no_browser && !open_own(call)->perfetto && !open_own(call)->page)
        return nl_fail(err, NL_USAGE, "--no-browser is for --page and --perfetto");
    if (open_own(call)->perfetto || wants_page(call))
        return open_served(call, err);
    return nl_command_instead(&nl_command_analyze, call, err);
}

const struct nl_command nl_command_open = {
    .name = "open",
    .group = "Look",
    .summary = "open a profile in the best viewer available",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(open_options, 0),
    .tables = NL_TABLES(open_options, nl_report_options, nl_profile_options, nl_common_options),
    .help =
        "On a desktop, shows the page of `report` in your browser; elsewhere, prints where the "
        "time\n"
        "goes, as `analyze` does. With --perfetto, shows the timeline: a local page hands the "
        "trace\n"
        "to the Perfetto UI in your browser, directly between the two windows. Nothing is "
        "uploaded,\n"
        "no fixed port is used, and the address works through the `ssh -L` command printed with "
        "it.\n"
        "The command exits once the trace has been handed over, or with Ctrl-C.\n"
        "`neurolens PROFILE` means `neurolens open PROFILE` on a terminal, and `neurolens info\n"
        "PROFILE` in a pipe.",
    .examples = "neurolens open trace.json.gz\n"
                "neurolens open run.sqlite --perfetto\n"
                "neurolens open 'run.sqlite[step=10:20]' --perfetto  # a part of a large one",
    .run = open_run,
};
