/* `neurolens top`: the loop of the live screen, and the one answer of --once. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/record/topjson.h"
#include "tui/terminal.h"

struct top_options {
    int64_t interval_ns;
    bool once;
    int sort; /* enum top_sort */
};

static const struct top_options *top_own(const struct nl_call *call)
{
    return call->own;
}

#define MS            ((int64_t)1000000)
#define PATIENCE_NS   (3000 * MS) /* for drivers, of --once */
#define DEFAULT_NS    (500 * MS)
#define DEFAULT_LIMIT 20
#define DEFAULT_WIDTH 120u

static const char *const top_sort_names[] = {"cpu", "memory", "gpu", "pid", NULL};

static const struct nl_option top_options[] = {
    {"interval", 0, NL_OPTION_TIME, NL_OWN(top_options, interval_ns), "TIME",
     "between refreshes: 100ms to 1s (default 500ms)", NULL},
    {"once", 0, NL_OPTION_FLAG, NL_OWN(top_options, once), NULL, "one answer, no terminal needed",
     NULL},
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N",
     "at most N processes with --once (default 20)", NULL},
    {"sort", 0, NL_OPTION_CHOICE, NL_OWN(top_options, sort), "KEY",
     "order of the processes: cpu (default), memory, gpu or pid", top_sort_names},
    NL_OPTIONS_END,
};

/* ---- once ---- */

/* The live screen on a page that is as long as it needs to be, without its bar of keys. */
static void write_page(const struct nl_output *output, const struct machine *machine,
                       enum top_sort sort, size_t limit)
{
    struct cells cells;
    struct nl_buf line;
    struct top_view view = {.sort = sort, .still = true};
    size_t shown = machine->process_count < limit ? machine->process_count : limit;
    unsigned rows = (unsigned)shown + machine->gpu_count + 16;
    unsigned last = rows - 1;
    cells_init(&cells, rows, output->width > 40 ? output->width : DEFAULT_WIDTH, false);
    top_draw(&cells, machine, &view);
    nl_buf_init(&line, SIZE_MAX);
    unsigned extra = (unsigned)(view.page > shown ? view.page - shown : 0);
    for (unsigned row = 0; row + extra < last; row++) {
        nl_buf_clear(&line);
        cells_row_text(&cells, row, &line);
        (void)fprintf(output->stream, "%.*s\n", (int)line.len, line.len ? line.ptr : "");
    }
    nl_buf_release(&line);
    cells_release(&cells);
}

static bool answer_once(const struct nl_call *call, struct machine *machine, int64_t interval,
                        struct nl_err *err)
{
    struct nl_output output;
    size_t limit = call->settings.limit ? (size_t)call->settings.limit : DEFAULT_LIMIT;
    const char *format = nl_format_names[call->settings.format];
    bool json = strcmp(format, "json") == 0;
    if (!json && strcmp(format, "text") != 0)
        return nl_fail(err, NL_USAGE, "top answers as text or json, not as %s", format);
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    machine_refresh(machine); /* shares of time need two looks */
    int64_t first = nl_monotonic_ns();
    machine_settle(machine, PATIENCE_NS);
    int64_t left = first + interval - nl_monotonic_ns();
    if (left > 0)
        (void)nanosleep(&(struct timespec){left / (1000 * MS), left % (1000 * MS)}, NULL);
    machine_refresh(machine);
    enum top_sort sort = (enum top_sort)top_own(call)->sort;
    if (json)
        nl_top_json(output.stream, machine, sort, limit);
    else
        write_page(&output, machine, sort, limit);
    return nl_output_close(&output, call, true, err);
}

/* ---- live ---- */

static void draw_machine(struct terminal *terminal, const struct machine *machine,
                         struct top_view *view)
{
    struct cells cells;
    unsigned rows, columns;
    terminal_size(terminal, &rows, &columns);
    cells_init(&cells, rows, columns, terminal_is_ascii(terminal));
    top_draw(&cells, machine, view);
    terminal_show(terminal, &cells);
    cells_release(&cells);
}

static bool live(const struct nl_call *call, struct machine *machine, int64_t interval,
                 struct nl_err *err)
{
    struct top_view view = {.sort = (enum top_sort)top_own(call)->sort};
    struct terminal *terminal =
        terminal_open(stdin, stdout, call->settings.color != NL_COLOR_NEVER, err);
    if (!terminal)
        return false;
    int64_t next = nl_monotonic_ns();
    for (bool on = true; on && !nl_job_cancelled(call->job);) {
        if (nl_monotonic_ns() >= next) {
            if (!view.paused)
                machine_refresh(machine);
            next = nl_monotonic_ns() + interval;
        }
        draw_machine(terminal, machine, &view);
        int64_t wait = (next - nl_monotonic_ns()) / MS + 1;
        int key = terminal_key(terminal, wait > 0 ? (int)wait : 1);
        on = top_key(&view, key);
        if (key == KEY_NOTHING && feof(stdin))
            on = false;
    }
    terminal_close(terminal);
    return true;
}

static bool top_run(struct nl_call *call, struct nl_err *err)
{
    const char *root = getenv("NEUROLENS_ROOT");
    int64_t interval = top_own(call)->interval_ns ? top_own(call)->interval_ns : DEFAULT_NS;
    if (interval < 100 * MS || interval > 1000 * MS)
        return nl_fail(err, NL_USAGE, "--interval is from 100ms to 1s");
    nl_progress_quiet(call->progress);
    struct machine *machine = machine_start(root ? root : "");
    bool done = top_own(call)->once ? answer_once(call, machine, interval, err)
                                    : live(call, machine, interval, err);
    machine_stop(machine);
    return done;
}

const struct nl_command nl_command_top = {
    .name = "top",
    .group = "Record",
    .summary = "live view of this machine's GPUs and processes",
    .usage = "",
    .least = 0,
    .most = 0,
    NL_DEFAULTS(top_options, 0),
    .tables = NL_TABLES(top_options, nl_common_options),
    .help =
        "Shows each GPU (utilization, memory, power, temperature, clocks, throttling reasons) "
        "with\n"
        "small plots, and processes with their CPU time, memory and GPU memory, until you press "
        "q;\n"
        "h lists the keys. Values over a threshold raise an alert. Secrets in command lines are\n"
        "hidden. --once prints one snapshot, as text or with --format json. Nothing is recorded:\n"
        "use `run` for that.",
    .examples = "neurolens top --interval 200ms\n"
                "neurolens top --once --format json",
    .run = top_run,
};
