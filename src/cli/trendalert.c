/* See trendalert.h. */
#define _GNU_SOURCE
#include "cli/trendalert.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/child.h"
#include "cli/folders.h"
#include "cli/message.h"

#define TOLD_FILE  "trend-alerts"
#define MAX_LINE   512
#define MAX_TEXT   ((size_t)1 << 16)
#define TIMEOUT_NS ((int64_t)30 * 1000000000)

/* ---- what was reported before ---- */

/* "METRIC RUN" without what would end the line. */
static void alert_line(const struct nl_trend_alert *alert, char line[MAX_LINE])
{
    (void)snprintf(line, MAX_LINE, "%.400s %.64s", alert->metric, alert->run);
    for (char *c = line; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
}

static bool was_told(const char *path, const char *line)
{
    char text[MAX_LINE + 2];
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(text, sizeof text, file)) {
        text[strcspn(text, "\n")] = '\0';
        found = strcmp(text, line) == 0;
    }
    if (file)
        fclose(file);
    return found;
}

static bool remember(const char *path, const char *line, struct nl_err *err)
{
    FILE *file = fopen(path, "ae");
    bool done = file && fprintf(file, "%s\n", line) > 0;
    done = file && fclose(file) == 0 && done;
    if (done)
        return true;
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_WRITE, "the alert was sent, but not recorded as sent: %s",
                   strerror(errno));
}

/* ---- sending ---- */

struct sending {
    const char *const *words;
    const char *sentence;
    int text; /* a descriptor of what to read */
};

static bool become(void *context, struct nl_err *err)
{
    const struct sending *sending = context;
    (void)setenv("NEUROLENS_ALERT", sending->sentence, 1);
    if (lseek(sending->text, 0, SEEK_SET) == 0 && dup2(sending->text, STDIN_FILENO) >= 0)
        execvp(sending->words[0], (char *const *)sending->words);
    return nl_fail(err, NL_ENVIRONMENT, "%s: %s", sending->words[0], strerror(errno));
}

static bool send_by(const struct sending *sending, const char *what, struct nl_job *job,
                    struct nl_err *err)
{
    struct nl_child child = {.work = become,
                             .context = (void *)sending,
                             .program = true,
                             .what = what,
                             .timeout_ns = TIMEOUT_NS};
    return nl_child_run(&child, job, err);
}

static void put_alert(struct nl_buf *out, const struct nl_trend_alert *alert)
{
    struct nl_json json;
    nl_json_to_buf(&json, out, 0);
    nl_json_open(&json, '{');
    nl_json_put_text(&json, "schema", "neurolens.alert/1");
    nl_json_put_text(&json, "text", alert->sentence);
    nl_json_put_text(&json, "metric", alert->metric);
    nl_json_put_text(&json, "run", alert->run);
    nl_json_put_text(&json, "commit_before", alert->commit_before);
    nl_json_put_text(&json, "commit", alert->commit);
    nl_json_put_f64(&json, "before", alert->before, true);
    nl_json_put_f64(&json, "after", alert->after, true);
    nl_json_put_text(&json, "unit", alert->unit);
    nl_json_close(&json, '}');
    nl_buf_char(out, '\n');
}

static bool send_all(const struct nl_trend_alert *alert, const struct nl_trend_listeners *to,
                     int text, struct nl_job *job, struct nl_err *err)
{
    const char *command[] = {"sh", "-c", to->command, NULL};
    const char *post[] = {"curl",          "--silent", "--fail",
                          "--max-time",    "20",       "--output",
                          "/dev/null",     "--header", "Content-Type: application/json",
                          "--data-binary", "@-",       "--",
                          to->webhook,     NULL};
    return (!to->command || send_by(&(struct sending){command, alert->sentence, text},
                                    "the command of --alert", job, err)) &&
           (!to->webhook || send_by(&(struct sending){post, alert->sentence, text},
                                    "curl, for --webhook,", job, err));
}

static bool send_text(const struct nl_trend_alert *alert, const struct nl_trend_listeners *to,
                      struct nl_job *job, struct nl_err *err)
{
    struct nl_buf out;
    nl_buf_init(&out, MAX_TEXT);
    put_alert(&out, alert);
    int text = memfd_create("alert", MFD_CLOEXEC);
    bool done = text >= 0 && write(text, out.ptr, out.len) == (ssize_t)out.len;
    if (!done)
        (void)nl_fail(err, NL_ENVIRONMENT, "no memory for an alert: %s", strerror(errno));
    done = done && send_all(alert, to, text, job, err);
    if (text >= 0)
        close(text);
    nl_buf_release(&out);
    return done;
}

bool nl_trend_alert_send(const struct nl_trend_alert *alert, const struct nl_trend_listeners *to,
                         const struct nl_call *call, struct nl_err *err)
{
    char line[MAX_LINE];
    const char *url = to->webhook;
    if (!to->command && !url)
        return true;
    if (url && strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0)
        return nl_fail(err, NL_USAGE, "--webhook: '%s' does not begin with https:// or http://",
                       url);
    char *folder = nl_ledger_folder(call->settings.ledger, err);
    if (!folder)
        return false;
    struct nl_arena arena;
    nl_arena_init(&arena);
    const char *path = nl_arena_format(&arena, "%s/" TOLD_FILE, folder);
    alert_line(alert, line);
    bool told = was_told(path, line);
    bool done = told || (send_text(alert, to, call->job, err) && remember(path, line, err));
    if (told)
        nl_message_detail(call, "this change was reported before");
    nl_arena_free(&arena);
    nl_free(folder);
    return done;
}
