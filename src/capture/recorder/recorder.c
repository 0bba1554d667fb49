/* The recorder's side of a run. */
#define _GNU_SOURCE
#include "capture/recorder/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/units.h"
#include "capture/python/pystack.h"
#include "capture/recorder/heldprogram.h"
#include "capture/recorder/startcost.h"
#include "capture/shared/ticks.h"
#include "capture/recorder/partadopt.h"
#include "capture/recorder/partvalues.h"

#define ROUND_MS 20
#define CLOCK_NS ((int64_t)1000000000)
#define RATE_NS  ((int64_t)5000000) /* between the two readings that give the first rate */

extern char **environ;

struct nl_recorder {
    struct nl_recorder_options options;
    struct parts *parts;
    struct nl_control *control;
    struct source_run runs[NL_MAX_SOURCES];
    const struct nl_source *sources[NL_MAX_SOURCES];
    size_t source_count;
    pid_t program;
    int program_fd, wait_status;
    bool running, attached, ends, stopped;
    int64_t started_ns, ended_ns, next_clock_ns;
    int64_t children_ns;       /* processor time of those that ended before the program began */
    int64_t open_ns, close_ns; /* when the window opens and closes; 0 = not by time */
    uint64_t peak_bytes;
    struct nl_arena arena;
};

/* The run's clock: one epoch for all processes, so that their times need no shifting, and the
 * counter's rate, for recordings that end too soon to have two readings. */
static void set_clock(struct nl_control *control)
{
    struct timespec pause = {.tv_nsec = RATE_NS};
    control->clock = ticks_choose();
    struct nl_rec_pair first = ticks_pair(control->clock, 16);
    (void)nanosleep(&pause, NULL);
    struct nl_rec_pair second = ticks_pair(control->clock, 16);
    control->epoch_ns = first.real_ns - first.monotonic_ns;
    control->ticks_per_second = ticks_rate(&first, &second);
}

static void set_control(struct nl_control *control, const struct nl_recorder_options *options)
{
    bool closed = options->paused || options->delay_ns || options->trigger ||
                  options->first_step != NL_REC_UNKNOWN;
    set_clock(control);
    control->pid_namespace = control_pid_namespace();
    control->policy = options->policy;
    control->cap_bytes = options->cap_bytes;
    control->first_step = options->first_step;
    control->last_step = options->last_step;
    if (options->trigger)
        (void)snprintf(control->trigger, sizeof control->trigger, "%s", options->trigger);
    control->gate = control->begins_open = !closed;
    control->whole_graphs = options->whole_graphs;
    control->unified_memory = options->unified_memory;
    __atomic_store_n(&control->magic, NL_CONTROL_MAGIC, __ATOMIC_RELEASE);
}

static bool check_library(const char *library, struct nl_err *err)
{
    nl_err_at(err, library, -1);
    if (access(library, R_OK) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "the recording library is missing: %s",
                       strerror(errno));
    if (strpbrk(library, " :\t\n"))
        return nl_fail(err, NL_ENVIRONMENT,
                       "the recording library cannot be loaded from a path with spaces or colons; "
                       "install neurolens elsewhere");
    return true;
}

/* Right before the program: the kernel's events are inherited by whatever we start, and a helper
 * (git, for the facts of the run) that executes and ends while the scheduler has given it our
 * events takes them along. */
static void start_sources(struct nl_recorder *recorder)
{
    const struct nl_source *const *table =
        recorder->options.sources ? recorder->options.sources : nl_sources;
    for (unsigned i = 0; table[i] && i < NL_MAX_SOURCES; i++) {
        struct source_run *run = &recorder->runs[i];
        *run = (struct source_run){.parts = recorder->parts,
                                   .options = &recorder->options.asked,
                                   .library = recorder->options.library,
                                   .place = i};
        recorder->sources[i] = table[i];
        run->available = !table[i]->start || table[i]->start(run);
        recorder->source_count = i + 1;
    }
}

static void tell_missed(struct nl_recorder *recorder, size_t i, struct part *part)
{
    char item[96];
    (void)snprintf(item, sizeof item, "not recorded: %s", recorder->sources[i]->name);
    part_note(recorder->parts, part, item, 1, recorder->runs[i].why);
}

static void leave_part(void *context, struct part *part)
{
    struct nl_recorder *recorder = context;
    for (size_t i = 0; i < recorder->source_count; i++) {
        if (recorder->runs[i].available && recorder->sources[i]->leave)
            recorder->sources[i]->leave(&recorder->runs[i], part);
        else if (!recorder->runs[i].available && recorder->runs[i].why[0] &&
                 recorder->sources[i]->missed)
            tell_missed(recorder, i, part);
    }
}

struct nl_recorder *nl_recorder_new(const struct nl_recorder_options *options, struct nl_err *err)
{
    if (options->library && !check_library(options->library, err))
        return NULL;
    struct parts *parts = parts_make(options->folder, err);
    if (!parts)
        return NULL;
    struct nl_recorder *recorder = nl_zalloc(sizeof *recorder);
    recorder->options = *options;
    recorder->parts = parts;
    recorder->control = parts_control(parts);
    recorder->program_fd = -1;
    nl_arena_init(&recorder->arena);
    set_control(recorder->control, options);
    parts_on_close(parts, leave_part, recorder);
    return recorder;
}

static int64_t processor_ns(int whose)
{
    struct rusage usage;
    if (getrusage(whose, &usage) != 0)
        return 0;
    return ((int64_t)usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * NL_SECOND_NS +
           ((int64_t)usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* ---- the program ---- */

/* Our environment with `name=value` in the place of any other `name`. */
static char **with_variable(struct nl_recorder *recorder, char **variables, const char *name,
                            const char *value)
{
    size_t count = 0, len = strlen(name), kept = 0;
    while (variables[count])
        count++;
    char **all = nl_arena_alloc(&recorder->arena, (count + 2) * sizeof *all);
    for (size_t i = 0; i < count; i++)
        if (strncmp(variables[i], name, len) != 0 || variables[i][len] != '=')
            all[kept++] = variables[i];
    all[kept++] = nl_arena_format(&recorder->arena, "%s=%s", name, value);
    all[kept] = NULL;
    return all;
}

static char **environment(struct nl_recorder *recorder)
{
    const char *library = recorder->options.library, *preload = getenv("LD_PRELOAD");
    if (preload && *preload && !strstr(preload, library))
        library = nl_arena_format(&recorder->arena, "%s:%s", library, preload);
    else if (preload && *preload)
        library = preload;
    char **all = with_variable(recorder, environ, "LD_PRELOAD", library);
    all = with_variable(recorder, all, NL_CONTROL_VARIABLE, parts_folder(recorder->parts));
    for (const struct nl_variable *more = recorder->options.variables; more && more->name; more++)
        all = with_variable(recorder, all, more->name, more->value);
    for (size_t i = 0; i < recorder->source_count; i++) {
        const char *variable = recorder->sources[i]->variable;
        const char *set = variable ? getenv(variable) : NULL;
        if (variable && (!set || strcmp(set, recorder->options.library) == 0)) {
            all = with_variable(recorder, all, variable, recorder->options.library);
        } else if (variable) {
            struct source_run *run = &recorder->runs[i];
            run->available = false;
            (void)snprintf(run->why, sizeof run->why, "%s names another tool's library", variable);
        }
    }
    return all;
}

/* When the window opens and closes by time. */
static void set_window(struct nl_recorder *recorder)
{
    const struct nl_recorder_options *options = &recorder->options;
    if (options->delay_ns)
        recorder->open_ns = recorder->started_ns + options->delay_ns;
    if (options->duration_ns)
        recorder->close_ns = recorder->started_ns + options->delay_ns + options->duration_ns;
}

static void introduce(struct nl_recorder *recorder, pid_t program)
{
    for (size_t i = 0; i < recorder->source_count; i++) {
        struct source_run *run = &recorder->runs[i];
        if (run->available && recorder->sources[i]->meet)
            run->available = recorder->sources[i]->meet(run, program);
    }
}

bool nl_recorder_spawn(struct nl_recorder *recorder, char *const *argv, int *failure,
                       struct nl_err *err)
{
    start_sources(recorder);
    char **variables = environment(recorder);
    recorder->started_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    recorder->children_ns = processor_ns(RUSAGE_CHILDREN);
    struct heldprogram held;
    *failure = heldprogram_start(&held, argv, variables);
    if (!*failure) {
        introduce(recorder, held.pid);
        *failure = heldprogram_release(&held);
    }
    if (*failure) {
        nl_err_at(err, argv[0], -1);
        return nl_fail(err, NL_ENVIRONMENT, "cannot start this program: %s", strerror(*failure));
    }
    recorder->program = held.pid;
    recorder->running = true;
    recorder->program_fd = (int)syscall(SYS_pidfd_open, recorder->program, 0);
    set_window(recorder);
    return true;
}

/* ---- attached to a process that runs already ---- */

static const char *const no_interpreter =
    "has no Python interpreter (CPython 3.9 to 3.14); processes that run already can only be "
    "sampled when they are "
    "Python "
    "programs: start this one with `neurolens run -- PROGRAM`";

static bool check_python(int64_t pid, struct nl_err *err)
{
    struct pystack *stack = pystack_new(pid);
    enum pyfind_state found = pystack_look(stack);
    bool done = found == PYFIND_READY || found == PYFIND_NOT_YET;
    if (!done)
        (void)nl_fail(err, NL_ENVIRONMENT, "process %" PRId64 " %s%s", pid,
                      found == PYFIND_REFUSED ? "cannot be sampled: "
                      : found == PYFIND_GONE  ? "is not there"
                                              : no_interpreter,
                      found == PYFIND_REFUSED ? pystack_why(stack) : "");
    pystack_free(stack);
    return done;
}

bool nl_recorder_attach(struct nl_recorder *recorder, int64_t pid, struct nl_err *err)
{
    nl_err_at(err, "", -1);
    if (!check_python(pid, err) || !parts_adopt(recorder->parts, pid, err))
        return false;
    start_sources(recorder);
    for (size_t i = 0; i < recorder->source_count; i++)
        if (!recorder->sources[i]->poll && recorder->runs[i].available) {
            recorder->runs[i].available = false;
            (void)snprintf(recorder->runs[i].why, sizeof recorder->runs[i].why,
                           "only in programs that neurolens starts");
        }
    recorder->program = (pid_t)pid;
    recorder->program_fd = (int)syscall(SYS_pidfd_open, recorder->program, 0);
    recorder->attached = recorder->running = true;
    recorder->started_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    set_window(recorder);
    return true;
}

void nl_recorder_end(struct nl_recorder *recorder)
{
    recorder->ends = true;
}

/* Has the recording of a process that is not ours come to its end? */
static bool is_over(struct nl_recorder *recorder)
{
    struct pollfd process = {.fd = recorder->program_fd, .events = POLLIN};
    bool gone = recorder->program_fd >= 0 ? poll(&process, 1, 0) > 0
                                          : kill(recorder->program, 0) != 0 && errno == ESRCH;
    return gone || recorder->ends;
}

void nl_recorder_signal(const struct nl_recorder *recorder, int number)
{
    if (recorder->running && !recorder->attached)
        (void)kill(recorder->program, number);
}

void nl_recorder_toggle(struct nl_recorder *recorder)
{
    if (!control_gate(recorder->control, 1))
        (void)control_gate(recorder->control, 0);
}

/* ---- rounds ---- */

static void move_window(struct nl_recorder *recorder, int64_t now)
{
    if (recorder->open_ns && now >= recorder->open_ns) {
        (void)control_gate(recorder->control, 1);
        recorder->open_ns = 0;
    }
    if (recorder->close_ns && now >= recorder->close_ns) {
        if (recorder->attached)
            recorder->ends = true;
        else
            (void)control_gate(recorder->control, 0);
        recorder->close_ns = 0;
    }
}

static void poll_sources(struct nl_recorder *recorder, int64_t now)
{
    bool open = __atomic_load_n(&recorder->control->gate, __ATOMIC_RELAXED);
    for (size_t i = 0; i < recorder->source_count; i++) {
        const struct nl_source *source = recorder->sources[i];
        struct source_run *run = &recorder->runs[i];
        if (!run->available || !source->poll || now < run->next_ns || !(open || source->always))
            continue;
        int64_t before = ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        run->now_ns = now;
        source->poll(run);
        run->next_ns = now + source->period_ns;
        run->spent_ns += ticks_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    }
}

static void look_at_memory(struct nl_recorder *recorder)
{
    uint64_t used = __atomic_load_n(&recorder->control->used_bytes, __ATOMIC_RELAXED);
    if (used > recorder->peak_bytes)
        recorder->peak_bytes = used;
}

static void keep_house(struct nl_recorder *recorder)
{
    int64_t now = ticks_clock_ns(CLOCK_MONOTONIC);
    look_at_memory(recorder);
    move_window(recorder, now);
    parts_poll(recorder->parts);
    poll_sources(recorder, now);
    if (now >= recorder->next_clock_ns) {
        parts_clock(recorder->parts);
        recorder->next_clock_ns = now + CLOCK_NS;
    }
}

bool nl_recorder_wait(struct nl_recorder *recorder, int wake)
{
    struct pollfd waits[2] = {{.fd = wake, .events = POLLIN},
                              {.fd = recorder->program_fd, .events = POLLIN}};
    (void)poll(waits, 2, ROUND_MS);
    pid_t ended = 0;
    if (recorder->attached)
        ended = is_over(recorder);
    else
        do
            ended = waitpid(recorder->program, &recorder->wait_status, WNOHANG);
        while (ended < 0 && errno == EINTR);
    if (ended == 0) {
        keep_house(recorder);
        return true;
    }
    recorder->running = false;
    recorder->ended_ns = ticks_clock_ns(CLOCK_MONOTONIC);
    return false;
}

/* ---- the end ---- */

static void stop_sources(struct nl_recorder *recorder)
{
    for (size_t i = 0; i < recorder->source_count && !recorder->stopped; i++)
        if (recorder->sources[i]->stop && recorder->runs[i].available)
            recorder->sources[i]->stop(&recorder->runs[i]);
    recorder->stopped = true;
}

/* Of a hook, what it takes besides the writing of its two events; ps. */
static uint64_t beside_events(const struct nl_control *control, size_t hook)
{
    uint64_t ps = __atomic_load_n(&control->hook_ps[hook], __ATOMIC_RELAXED);
    uint64_t events = hook == NL_REC_HOOK_PASSED ? 0 : 2 * control->event_ps;
    return ps <= NL_CONTROL_UNMEASURED ? 0 : ps > events ? ps - events : 1;
}

void nl_recorder_finish(struct nl_recorder *recorder, struct nl_recorder_report *report)
{
    const struct nl_control *control = recorder->control;
    size_t alive = 0, count;
    look_at_memory(recorder); /* before what ended gives its memory back */
    parts_look(recorder->parts);
    parts_clock(recorder->parts);
    stop_sources(recorder);
    parts_poll(recorder->parts); /* sees who has ended, */
    parts_poll(recorder->parts); /* closes their recordings */
    const struct part *part = parts_first(recorder->parts, &count);
    for (size_t i = 0; i < count; i++)
        alive += part[i].pid != PART_FOREIGN;
    *report = (struct nl_recorder_report){.wait_status = recorder->wait_status,
                                          .wall_ns = recorder->ended_ns - recorder->started_ns,
                                          .attached = control->attached,
                                          .refused = control->refused,
                                          .gate_changes = control->gate_changes,
                                          .event_ps = control->event_ps,
                                          .others_alive = alive > 0 && !recorder->attached,
                                          .clock = (enum nl_rec_clock)control->clock,
                                          .source_count = recorder->source_count};
    for (size_t i = 0; i < recorder->source_count; i++) {
        const struct source_run *run = &recorder->runs[i];
        struct nl_recorder_source *source = &report->sources[i];
        source->name = recorder->sources[i]->name;
        source->doc = recorder->sources[i]->doc;
        source->available = run->available;
        source->spent_ns = run->spent_ns;
        source->lost = run->lost;
        source->samples = run->samples;
        source->sample_ps = run->sample_ps;
        source->rounds = run->rounds;
        source->missed = run->missed;
        source->sample_ns = run->sample_ns;
        source->slowest_ns = run->slowest_ns;
        (void)snprintf(source->why, sizeof source->why, "%s", run->why);
    }
    __atomic_store_n(&recorder->control->gate, 0, __ATOMIC_RELEASE); /* not a move of the window */
    parts_finish(recorder->parts, &report->sums);
    report->peak_bytes = recorder->peak_bytes;
    report->recorder_cpu_ns = processor_ns(RUSAGE_SELF);
    report->program_cpu_ns =
        recorder->attached ? -1 : processor_ns(RUSAGE_CHILDREN) - recorder->children_ns;
    for (size_t i = 0; i < NL_REC_HOOK_COUNT; i++)
        report->hook_ps[i] = beside_events(control, i);
    if (!recorder->attached && recorder->started_ns)
        report->start_ns = startcost_ns(report->sums.started, environment(recorder), environ);
}

void nl_recorder_free(struct nl_recorder *recorder)
{
    if (!recorder)
        return;
    stop_sources(recorder); /* their threads, when nothing was run */
    if (recorder->program_fd >= 0)
        close(recorder->program_fd);
    parts_free(recorder->parts);
    nl_arena_free(&recorder->arena);
    nl_free(recorder);
}
