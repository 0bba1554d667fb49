/*
 * run: records a program and everything it starts.
 *
 * The parts (a file per process) are in OUT.parts while the program runs and are joined to OUT when
 * it has ended; whatever happens to us meanwhile, `neurolens analyze OUT.parts` reads them. Our
 * exit status is the program's; when a signal ended it, the same signal ends us.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/record/provenance.h"
#include "cli/record/recordjson.h"
#include "cli/record/runoptions.h"
#include "cli/record/runpython.h"
#include "cli/record/runreport.h"
#include "cli/record/runsignals.h"
#include "ingest/inputs.h"
#include "ingest/ingest.h"
#include "store/tracefile.h"

#define LIBRARY       "libneurolens-capture.so"
#define DEFAULT_BYTES ((uint64_t)1 << 30)
#define NATIVE_OFF    1 /* of the words of --native */
#define MIN_BYTES     ((uint64_t)1 << 20)
#define MAX_BYTES     ((uint64_t)1 << 36)
#define NATIVE_HZ     99u /* out of step with what programs do 100 times a second */
#define STACK_BYTES   8192
#define MIN_STACK     512
#define MAX_STACK     65528
#define MAX_HZ        20000

/* ---- where things are ---- */

/* Beside the program, in the build tree, in the package of a wheel, or where it was installed. */
static char *find_library(struct nl_arena *arena)
{
    static const char *const places[] = {"/" LIBRARY, "/src/capture/" LIBRARY,
                                         "/../lib/neurolens/" LIBRARY,
                                         "/../lib64/neurolens/" LIBRARY};
    char *given = getenv("NEUROLENS_CAPTURE_LIBRARY"), *own = realpath("/proc/self/exe", NULL);
    char *found = NULL;
    if (given && given[0] == '/') {
        nl_free(own);
        return nl_arena_text(arena, given, strlen(given));
    }
    char *slash = own ? strrchr(own, '/') : NULL;
    if (slash)
        *slash = '\0';
    for (size_t i = 0; slash && !found && i < sizeof places / sizeof places[0]; i++) {
        char *path = nl_arena_format(arena, "%s%s", own, places[i]);
        if (access(path, R_OK) == 0)
            found = path;
    }
    if (slash && !found)
        found = nl_run_find_in_wheel(arena, own, LIBRARY);
    nl_free(own);
    return found ? found : nl_arena_format(arena, "%s/neurolens/%s", NL_LIBRARY_FOLDER, LIBRARY);
}

/* "python3 train.py" is called train, "./a.out" a.out. */
static char *recording_name(struct nl_arena *arena, char *const *argv, int count)
{
    const char *word = argv[0], *slash = strrchr(word, '/');
    size_t len = count > 1 ? strlen(argv[1]) : 0;
    bool script = strncmp(slash ? slash + 1 : word, "python", 6) == 0 && len > 3 &&
                  strcmp(argv[1] + len - 3, ".py") == 0;
    word = script ? argv[1] : word;
    slash = strrchr(word, '/');
    char *name = nl_arena_text(arena, slash ? slash + 1 : word, strlen(slash ? slash + 1 : word));
    if (script)
        name[strlen(name) - 3] = '\0';
    return *name ? name : nl_arena_text(arena, "run", 3);
}

static bool is_taken(struct nl_arena *arena, const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 || lstat(nl_arena_format(arena, "%s.parts", path), &info) == 0;
}

static const char *output_path(const struct nl_call *call, struct nl_arena *arena)
{
    char date[32] = "";
    struct tm fields;
    time_t now = time(NULL);
    if (call->settings.output)
        return call->settings.output;
    if (localtime_r(&now, &fields))
        (void)strftime(date, sizeof date, "%Y%m%d-%H%M%S", &fields);
    const char *name = nl_run_own(call)->pid
                           ? nl_arena_format(arena, "pid%" PRId64, nl_run_own(call)->pid)
                           : recording_name(arena, call->argument, call->count);
    char *path = nl_arena_format(arena, "%s-%s.nlt", name, date);
    for (unsigned i = 2; is_taken(arena, path) && i < 1000; i++)
        path = nl_arena_format(arena, "%s-%s-%u.nlt", name, date, i);
    return path;
}

/* ---- options ---- */

/* "N:M": from step N to before step M. */
static bool read_steps(const char *text, struct nl_recorder_options *options, struct nl_err *err)
{
    if (!text)
        return true;
    const char *colon = strchr(text, ':');
    struct nl_str first = {text, colon ? (size_t)(colon - text) : 0};
    if (colon && nl_parse_i64(first, &options->first_step) &&
        nl_parse_i64(nl_str(colon + 1), &options->last_step) && options->first_step >= 0 &&
        options->last_step > options->first_step)
        return true;
    return nl_fail(err, NL_USAGE, "--steps: '%s' is not N:M with M over N, such as 10:20", text);
}

/* One rate for both kinds of samples; without it each has its own. */
static bool read_rates(const struct nl_run_options *own, struct source_options *asked,
                       struct nl_err *err)
{
    int64_t rate = own->sample_rate;
    bool given = rate != NL_NULL_I64;
    if (given && (rate < 0 || rate > MAX_HZ))
        return nl_fail(err, NL_USAGE, "--sample-rate: from 0 (none) to %d a second", MAX_HZ);
    asked->stacks = (enum perf_stacks)own->stacks;
    asked->stack_bytes = (uint32_t)(own->stack_bytes ? own->stack_bytes : STACK_BYTES);
    if (own->stack_bytes > MAX_STACK || asked->stack_bytes < MIN_STACK)
        return nl_fail(err, NL_USAGE, "--stack-size: from %d to %d bytes", MIN_STACK, MAX_STACK);
    asked->stack_bytes &= ~7u; /* as the kernel wants it */
    asked->switches = (enum nl_switches)own->switches;
    asked->cpu_hz = given ? (uint32_t)rate : NATIVE_HZ;
    asked->sample_ns = nl_run_python_period((enum nl_run_python)own->python, rate);
    asked->python_hooks = own->python != NL_RUN_PYTHON_SAMPLE && own->python != NL_RUN_PYTHON_OFF;
    if (own->native == NATIVE_OFF)
        asked->cpu_hz = 0;
    return true;
}

static bool read_options(const struct nl_call *call, struct nl_recorder_options *options,
                         struct nl_err *err)
{
    const struct nl_run_options *own = nl_run_own(call);
    options->policy = (enum nl_rec_policy)own->policy;
    options->whole_graphs = own->graphs == 1;
    options->unified_memory = own->unified_memory;
    options->cap_bytes = own->buffer_bytes ? own->buffer_bytes : DEFAULT_BYTES;
    options->delay_ns = own->delay_ns;
    options->duration_ns = own->duration_ns;
    options->trigger = own->trigger;
    options->paused = own->paused || own->on_signal;
    if (call->settings.format > NL_FORMAT_JSON)
        return nl_fail(err, NL_USAGE, "run reports as text or json, not as %s",
                       nl_format_names[call->settings.format]);
    if (options->cap_bytes < MIN_BYTES || options->cap_bytes > MAX_BYTES)
        return nl_fail(err, NL_USAGE, "--buffer: from 1MiB to 64GiB");
    if (own->trigger && strlen(own->trigger) > 255)
        return nl_fail(err, NL_USAGE, "--trigger: a name of at most 255 bytes");
    if (own->on_signal && !nl_run_signal_number(own->on_signal))
        return nl_fail(err, NL_USAGE, "--on-signal: '%s' is not one of USR1, USR2, HUP, ALRM",
                       own->on_signal);
    return read_rates(own, &options->asked, err) && read_steps(own->steps, options, err);
}

/* A recording may be replaced by a newer one; nothing else is: it may be
 * the program's own source. */
static bool may_replace(const char *path, struct nl_err *err)
{
    char head[8] = "";
    struct stat info;
    if (stat(path, &info) != 0)
        return true;
    nl_err_at(err, path, -1);
    if (S_ISDIR(info.st_mode))
        return nl_fail(err, NL_WRITE, "is a folder; name a file with -o");
    if (!S_ISREG(info.st_mode) || info.st_size == 0)
        return true;
    return (nl_file_start(path, head, sizeof head) == sizeof head &&
            nl_trace_recognise(head, sizeof head)) ||
           nl_fail(err, NL_WRITE,
                   "is not a recording, so it is not replaced; name another file with -o");
}

/* Parts that a killed recorder left get out of the way, and stay readable. */
static bool set_parts_aside(const struct nl_call *call, const char *folder, struct nl_arena *arena,
                            struct nl_err *err)
{
    struct stat info;
    char *aside = NULL;
    if (lstat(folder, &info) != 0)
        return true;
    if (nl_provenance_busy(folder)) {
        nl_err_at(err, folder, -1);
        return nl_fail(err, NL_USAGE,
                       "another `neurolens run` is recording there; name another file with -o");
    }
    for (unsigned i = 1; i < 1000; i++) {
        aside = nl_arena_format(arena, "%s.%u", folder, i);
        if (lstat(aside, &info) != 0)
            break;
    }
    if (rename(folder, aside) != 0) {
        nl_err_at(err, folder, -1);
        return nl_fail(err, NL_WRITE, "parts of an earlier recording are in the way: %s",
                       strerror(errno));
    }
    nl_message_note(call,
                    "an earlier recording was not finished; its parts are in %s now, which "
                    "`neurolens analyze` reads",
                    aside);
    return true;
}

/* The folder of the output must be there before the program runs. */
static bool check_folder(const char *path, struct nl_err *err)
{
    char *folder = nl_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    bool fine = access(slash ? folder : ".", W_OK | X_OK) == 0;
    int failure = errno;
    nl_free(folder);
    nl_err_at(err, path, -1);
    return fine || nl_fail(err, NL_WRITE, "cannot write there: %s; choose a place with -o",
                           strerror(failure));
}

/* ---- the run ---- */

/* To the program; of one that is not ours what would end it ends the recording. */
static void pass_signals(const struct nl_call *call, struct nl_recorder *recorder)
{
    int window =
        nl_run_own(call)->on_signal ? nl_run_signal_number(nl_run_own(call)->on_signal) : 0;
    for (int number = nl_run_signals_next(); number; number = nl_run_signals_next()) {
        if (number == window)
            nl_recorder_toggle(recorder);
        else if (nl_run_own(call)->pid &&
                 (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT))
            nl_recorder_end(recorder);
        else
            nl_recorder_signal(recorder, number);
    }
}

/* As env, nohup and the shells answer. */
static int start_status(int failure)
{
    return failure == ENOENT ? 127 : 126;
}

static bool run_program(struct nl_call *call, struct nl_recorder *recorder, char *const *argv,
                        struct nl_recorder_report *report, struct nl_err *err)
{
    int wake, failure = 0;
    if (!nl_run_signals_take(false, &wake, err))
        return false;
    if (call->pipe_ignored)
        signal(SIGPIPE, SIG_IGN);
    bool done = nl_recorder_spawn(recorder, argv, &failure, err);
    signal(SIGPIPE, SIG_IGN); /* who does not read our report does not change the exit status */
    while (done && nl_recorder_wait(recorder, wake))
        pass_signals(call, recorder);
    nl_run_signals_give_back();
    if (done) {
        nl_recorder_finish(recorder, report);
        return true;
    }
    nl_message_error(err, call->settings.verbose);
    nl_err_clear(err);
    call->status = start_status(failure);
    return false;
}

/* A process that runs already, until it ends, the time is over, or we are asked to end. */
static bool run_attached(struct nl_call *call, struct nl_recorder *recorder,
                         struct nl_recorder_report *report, struct nl_err *err)
{
    int wake;
    if (!nl_run_signals_take(true, &wake, err)) /* first: what ends us must not leave parts */
        return false;
    if (!nl_recorder_attach(recorder, nl_run_own(call)->pid, err)) {
        nl_run_signals_give_back();
        return false;
    }
    while (nl_recorder_wait(recorder, wake))
        pass_signals(call, recorder);
    nl_run_signals_give_back();
    nl_recorder_finish(recorder, report);
    return true;
}

static struct nl_trace *join_parts(const struct nl_call *call, const char *folder,
                                   struct nl_err *err)
{
    struct nl_ingest_options options = {.rank = NL_NULL_I64};
    return nl_ingest(&folder, 1, &options, call->job, err);
}

/* Joins the parts to the file that was asked for. On failure they stay. */
static bool save_recording(const struct nl_call *call, const struct nl_recorder_report *report,
                           const char *folder, const char *path, struct nl_err *err)
{
    bool json = call->settings.format == NL_FORMAT_JSON;
    if (!report->attached) {
        const char *why = report->refused
                              ? "no process could make a file to record to"
                              : "the program did not load the recording library (is it linked "
                                "statically, or set-user-ID?)";
        if (json)
            nl_record_json(stderr, report, NULL, NULL, why);
        else
            fprintf(stderr, "neurolens: nothing was recorded: %s\n", why);
        parts_remove(folder);
        return true;
    }
    struct nl_trace *trace = join_parts(call, folder, err);
    bool done = trace && nl_trace_save(trace, path, err);
    nl_progress_quiet(call->progress);
    if (done) {
        parts_remove(folder);
        if (json)
            nl_record_json(stderr, report, trace, path, NULL);
        else
            nl_run_report(call, report, trace, path);
    } else {
        fprintf(stderr, "neurolens: the recording is in %s; `neurolens analyze` reads it\n",
                folder);
    }
    if (trace)
        nl_trace_free(trace);
    return done;
}

/* The program's end becomes ours. */
static int end_like(int wait_status)
{
    if (!WIFSIGNALED(wait_status))
        return WEXITSTATUS(wait_status);
    struct rlimit none = {0, 0};
    int number = WTERMSIG(wait_status);
    fflush(NULL);
    (void)setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    (void)raise(number);
    return 128 + number;
}

/* A program, or a process that runs already; of that only samples can be had. */
static bool check_words(const struct nl_call *call, struct nl_err *err)
{
    const struct nl_run_options *own = nl_run_own(call);
    if (!own->pid && !call->count)
        return nl_fail(err, NL_USAGE,
                       "run: too few arguments; usage: neurolens run [options] [--] PROGRAM "
                       "[ARGUMENT…], or --pid PID");
    if (!own->pid)
        return true;
    if (call->count)
        return nl_fail(err, NL_USAGE, "run: either a PROGRAM or --pid, not both");
    if (own->pid > INT32_MAX)
        return nl_fail(err, NL_USAGE, "--pid: there is no process %" PRId64, own->pid);
    if (own->steps || own->trigger || own->paused)
        return nl_fail(err, NL_USAGE,
                       "--steps, --trigger and --paused need a program that neurolens "
                       "starts; with --pid there are --delay, --duration and "
                       "--on-signal");
    if (!nl_run_python_period((enum nl_run_python)own->python, own->sample_rate) ||
        own->python == NL_RUN_PYTHON_TRACE)
        return nl_fail(err, NL_USAGE,
                       "--pid records samples alone: leave out --python and "
                       "--sample-rate 0");
    return true;
}

static bool record(struct nl_call *call, struct nl_arena *arena, struct nl_err *err)
{
    struct nl_recorder_options options = {.first_step = NL_REC_UNKNOWN,
                                          .last_step = NL_REC_UNKNOWN};
    struct nl_recorder_report report;
    if (!check_words(call, err))
        return false;
    const char *path = output_path(call, arena);
    const char *folder = nl_arena_format(arena, "%s.parts", path);
    options.folder = folder;
    const struct nl_run_python_options python = {.mode =
                                                     (enum nl_run_python)nl_run_own(call)->python,
                                                 .shapes = nl_run_own(call)->shapes,
                                                 .heap = nl_run_own(call)->python_heap};
    options.library = nl_run_own(call)->pid ? NULL : find_library(arena);
    options.variables = nl_run_python_variables(arena, &python);
    if (!read_options(call, &options, err) || !check_folder(path, err) || !may_replace(path, err) ||
        !set_parts_aside(call, folder, arena, err))
        return false;
    struct nl_recorder *recorder = nl_recorder_new(&options, err);
    if (!recorder)
        return false;
    nl_err_at(err, "", -1);
    int held = nl_provenance_begin(folder, call->argument, call->count);
    char **argv = nl_arena_alloc(arena, ((size_t)call->count + 1) * sizeof *argv);
    memcpy(argv, call->argument, (size_t)call->count * sizeof *argv);
    bool ran = nl_run_own(call)->pid ? run_attached(call, recorder, &report, err)
                                     : run_program(call, recorder, argv, &report, err);
    nl_recorder_free(recorder);
    if (held >= 0)
        close(held);
    if (!ran) {
        parts_remove(folder);
        return err->code == NL_OK; /* reported already, with its status */
    }
    if (!nl_run_own(call)->pid)
        nl_provenance_end(folder, &report);
    if (!save_recording(call, &report, folder, path, err)) {
        nl_message_error(err, call->settings.verbose);
        nl_err_clear(err);
    } else {
        nl_run_end(call, &report, path);
    }
    call->status = nl_run_own(call)->pid ? 0 : end_like(report.wait_status);
    return true;
}

static bool run_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    bool done = record(call, &arena, err);
    nl_arena_free(&arena);
    return done;
}

const struct nl_command nl_command_run = {
    .name = "run",
    .group = "Record",
    .summary = "record a program and every process it starts",
    .usage = "[--] PROGRAM [ARGUMENT…]",
    .leading = true,
    .least = 0,
    .most = -1,
    NL_DEFAULTS(nl_run_options, .sample_rate = NL_NULL_I64),
    .tables = NL_TABLES(nl_run_options, nl_common_options),
    .help =
        "Runs PROGRAM and records it and every process it starts, on one clock: scopes, layers,\n"
        "steps and counters of include/neurolens.h, NVTX ranges, NVIDIA GPU activity, call stacks "
        "of\n"
        "Python and native code, waits, memory, page faults and CPU time. --pid samples a "
        "running\n"
        "Python process until it exits, --duration is over, or Ctrl-C. -o names the recording\n"
        "(default: PROGRAM-DATE.nlt here), which is a profile like any other. The exit status is "
        "the\n"
        "program's. While it runs, the data is in FILE.parts: after a crash,\n"
        "`neurolens analyze FILE.parts` reads it. At the end it prints the events per source, "
        "what\n"
        "was dropped, and the overhead.",
    .examples = "neurolens run -- python infer.py\n"
                "neurolens run -o run.nlt --steps 10:20 -- torchrun --nproc-per-node 2 train.py\n"
                "neurolens run --pid 4711 --duration 30s               # where is it now?\n"
                "neurolens run --policy wrap --buffer 64MiB -- ./server  # keep the newest",
    .run = run_run,
};
