/*
 * main: from the words of the command line to a command's run function and an exit status.
 *
 * The only global state of the program is here: the job that a signal handler cancels.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/pool.h"
#include "base/spill.h"
#include "base/str.h"
#include "cli/busguard.h"
#include "cli/sqlmemory.h"
#include "cli/help.h"
#include "cli/input.h"
#include "cli/memguard.h"
#include "cli/message.h"
#include "cli/progress.h"

#define MAX_LINE_BYTES ((size_t)64 << 10)

/* A worker's windows on the input, and blocks for its rows. Fewer work when the budget is small. */
#define BYTES_PER_THREAD ((uint64_t)16 << 20)

/* With less, the reader alone takes what there is. */
#define MIN_SPILL ((uint64_t)24 << 20)

static struct nl_job the_job;
static volatile sig_atomic_t the_signal;

struct nl_spill *nl_process_spill(void)
{
    return the_job.spill;
}

static void on_signal(int number)
{
    the_signal = number;
    atomic_store(&the_job.cancelled, true);
}

/* From when somebody watches: until then a signal ends us at once, whatever we wait for (a locked
 * ledger, when a word may name a run). What is ignored (nohup, a background job) stays so, for us
 * and for programs we start. */
static void heed_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGXCPU};
    struct sigaction action = {.sa_handler = on_signal}, before;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

/* What people type who know other tools, and the command that does it. */
static const struct {
    const char *word, *command;
} likely[] = {
#define LIKELY(word, command) {word, command},
#include "cli/likely.def"
#undef LIKELY
};

static bool unknown_command(const char *word, struct nl_err *err)
{
    for (size_t i = 0; i < sizeof likely / sizeof likely[0]; i++)
        if (strcmp(likely[i].word, word) == 0)
            return nl_fail(err, NL_USAGE, "unknown command '%s'; use `neurolens %s`", word,
                           likely[i].command);
    struct nl_nearest nearest;
    nl_nearest_init(&nearest, word);
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        nl_nearest_offer(&nearest, (*at)->name);
    const char *best = nl_nearest_best(&nearest);
    if (strpbrk(word, "./["))
        return nl_fail(err, NL_USAGE, "'%s' is neither a command nor an existing file", word);
    if (best)
        return nl_fail(err, NL_USAGE, "unknown command '%s'; did you mean %s?", word, best);
    return nl_fail(err, NL_USAGE, "unknown command '%s'; `neurolens help` lists them", word);
}

static bool right_count(const struct nl_call *call, struct nl_err *err)
{
    const struct nl_command *command = call->command;
    bool few = call->count < command->least;
    if (!few && (command->most < 0 || call->count <= command->most))
        return true;
    return nl_fail(err, NL_USAGE, "%s: %s arguments; usage: neurolens %s [options]%s%s",
                   command->name, few ? "too few" : "too many", command->name,
                   *command->usage ? " " : "", command->usage);
}

static void set_job(struct nl_call *call)
{
    unsigned processors = nl_processors();
    int64_t threads = call->settings.threads;
    call->job = &the_job;
    the_job.memory_bytes =
        call->settings.memory_bytes ? call->settings.memory_bytes : nl_memory_available() / 2;
    const char *sandbox = getenv("NEUROLENS_SANDBOX");
    the_job.sandbox = sandbox && strcmp(sandbox, "off") == 0   ? NL_SANDBOX_NEVER
                      : sandbox && strcmp(sandbox, "all") == 0 ? NL_SANDBOX_ALL
                                                               : NL_SANDBOX_RISKY;
    the_job.spill = the_job.memory_bytes < MIN_SPILL ? NULL : nl_spill_new();
    the_job.guard = nl_memguard_alone;
    uint64_t fitting = the_job.memory_bytes / BYTES_PER_THREAD;
    if (processors > fitting)
        processors = fitting ? (unsigned)fitting : 1;
    the_job.threads = threads > 0 && threads <= 1024 ? (unsigned)threads : processors;
}

/* The command's own help, or its work. */
static bool run_command(struct nl_call *call, struct nl_err *err)
{
    if (call->settings.help || call->settings.short_help) {
        (call->settings.help ? nl_help_long : nl_help_short)(stdout, call->command);
        return true;
    }
    if (!right_count(call, err))
        return false;
    set_job(call);
    heed_signals();
    call->progress = nl_progress_start(call);
    bool done = call->command->run(call, err);
    if (!done)
        nl_progress_explain(call->progress, err);
    nl_progress_stop(call->progress);
    return done;
}

/* Neither a command nor a profile: a call for help, or a mistake. */
static bool run_nothing(struct nl_call *call, struct nl_err *err)
{
    if (call->settings.version)
        return nl_command_version.run(call, err);
    bool asked = call->settings.help || call->settings.short_help;
    nl_help_program(asked ? stdout : stderr, call->settings.help);
    call->status = asked ? 0 : nl_err_exit_status(NL_USAGE);
    return true;
}

/* Takes `word` out of the words. */
static void remove_word(struct nl_words *words, const char *word)
{
    int kept = 0;
    for (int i = 0; i < words->count; i++)
        if (words->word[i] != word)
            words->word[kept++] = words->word[i];
    words->count = kept;
}

static struct nl_words copy_of(const struct nl_words *words)
{
    struct nl_words copy = {nl_alloc(((size_t)words->count + 1) * sizeof *copy.word), words->count};
    memcpy(copy.word, words->word, (size_t)words->count * sizeof *copy.word);
    return copy;
}

/* Whether a word names a run; of which ledger, an option after it may say. */
static bool names_run(const struct nl_call *call, const struct nl_words *words, const char *word)
{
    const struct nl_option *const *all = nl_command_all_options();
    struct nl_call scratch = *call;
    struct nl_words copy = copy_of(words);
    struct nl_err wrong;
    nl_err_clear(&wrong);
    if (!nl_options_parse(all, &copy, false, &scratch.settings, NULL, &wrong))
        nl_err_clear(&wrong); /* the strict reading that follows reports what is wrong with them */
    bool found = nl_input_names_run(&scratch, word);
    nl_free(copy.word);
    nl_options_release(all, &scratch.settings, NULL);
    return found;
}

/* The first word that is no option names the command, or is a profile to look at. It is found by
 * reading the options of all commands; then the command's own are read strictly. */
static bool run_words(struct nl_call *call, struct nl_words *words, struct nl_err *err)
{
    const struct nl_option *const *all = nl_command_all_options();
    struct nl_call scratch = *call;
    struct nl_words copy = copy_of(words);
    bool done = nl_options_parse(all, &copy, true, &scratch.settings, NULL, err);
    const char *first = done && copy.count ? copy.word[0] : NULL;
    nl_free(copy.word);
    /* Lists of options before the command: they are read again. */
    nl_options_release(all, &scratch.settings, NULL);
    if (!done)
        return false;
    if (!first) {
        done = run_nothing(&scratch, err);
        call->status = scratch.status;
        return done;
    }
    call->command = nl_command_find(first);
    if (call->command)
        remove_word(words, first);
    else if (nl_input_plausible(first) || names_run(call, words, first))
        call->command = nl_command_find(isatty(STDOUT_FILENO) ? "open" : "info");
    else
        return unknown_command(first, err);
    bool leading = call->command->leading;
    call->own = nl_command_defaults(call->command);
    done = nl_options_parse(call->command->tables, words, leading, &call->settings, call->own, err);
    call->argument = words->word;
    call->count = words->count;
    done = done && run_command(call, err);
    nl_options_release(call->command->tables, &call->settings, call->own);
    nl_free(call->own);
    return done;
}

/* The words as they were given, before options are taken out of them. */
static char *whole_line(const struct nl_words *words)
{
    struct nl_buf line;
    nl_buf_init(&line, MAX_LINE_BYTES);
    nl_buf_text(&line, "neurolens");
    for (int i = 0; i < words->count; i++)
        nl_buf_format(&line, " %s", words->word[i]);
    return line.ptr;
}

/* Standard output may hold the end of an answer; it counts only when it arrived. */
static bool flush_output(struct nl_err *err)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return true;
    return nl_fail(err, NL_WRITE, "cannot write to standard output");
}

/* Streams that were closed stay so for reading and writing, but no file that we open gets their
 * numbers: messages would be written into it. Programs that we start do not see them. */
static void hold_closed_streams(void)
{
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) < 0 && errno == EBADF)
            (void)open("/", O_PATH | O_CLOEXEC);
}

static void on_file_limit(int number)
{
    (void)number;
}

/* A limit of file sizes: writing fails instead of ending us, and is reported. No SIG_IGN, which
 * programs that we start would have, too. */
static void survive_file_limit(void)
{
    struct sigaction action = {.sa_handler = on_file_limit, .sa_flags = SA_RESTART}, before;
    sigemptyset(&action.sa_mask);
    if (sigaction(SIGXFSZ, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
    struct nl_call call = {.settings = {.rank = NL_NULL_I64}};
    struct nl_words words = {argv + 1, argc > 0 ? argc - 1 : 0};
    struct nl_err err;
    nl_err_clear(&err);
    hold_closed_streams();
    survive_file_limit();
    nl_hash_choose_key();
    json_set_alloc_funcs(nl_alloc, nl_free); /* without memory it ends as all else: with status 5 */
    nl_sqlmemory_install();
    /* A reader that has seen enough (| head) ends us without a word. */
    call.pipe_ignored = signal(SIGPIPE, SIG_DFL) == SIG_IGN;
    nl_busguard_install();
    char *line = whole_line(&words);
    call.line = line;
    bool done = run_words(&call, &words, &err) && flush_output(&err);
    nl_free(line);
    if (done)
        return call.status;
    if (nl_job_cancelled(&the_job) && err.code != NL_INTERNAL && err.code != NL_MEMORY)
        err.code = NL_INTERRUPTED;
    nl_message_error(&err, call.settings.verbose);
    return err.code == NL_INTERRUPTED && the_signal ? 128 + the_signal
                                                    : nl_err_exit_status(err.code);
}
