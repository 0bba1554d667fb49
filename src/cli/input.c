/* Parses PROFILE[window] arguments and loads them from the ledger, the cache or files. */
#define _GNU_SOURCE
#include "cli/input.h"

#include <glob.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/spill.h"
#include "base/units.h"
#include "cli/cachewriter.h"
#include "cli/folders.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "cli/roofsof.h"
#include "ingest/ingest.h"
#include "ledger/runopen.h"
#include "ledger/runsaid.h"

static bool on_disk(const char *path)
{
    glob_t found;
    if (access(path, F_OK) == 0)
        return true;
    bool hit = glob(path, GLOB_NOSORT, NULL, &found) == 0;
    if (hit)
        globfree(&found);
    return hit;
}

bool nl_input_plausible(const char *word)
{
    struct nl_str window;
    struct nl_arena arena;
    if (strcmp(word, "-") == 0 || word[0] == '@' || on_disk(word))
        return true;
    nl_arena_init(&arena);
    size_t len = nl_window_split(word, &window);
    bool hit = window.ptr && on_disk(nl_arena_text(&arena, word, len));
    nl_arena_free(&arena);
    return hit;
}

static bool read_word(struct nl_input_words *input, const char *word, struct nl_err *err)
{
    struct nl_str text = {NULL, 0};
    size_t len = on_disk(word) ? strlen(word) : nl_window_split(word, &text);
    const char *path = nl_arena_text(&input->arena, word, len);
    input->paths[input->count++] = path;
    if (!text.ptr)
        return true;
    struct nl_window_words window, none = {0};
    if (!nl_window_parse(text, &window, &input->arena, err))
        return false;
    bool other = memcmp(&input->window, &none, sizeof none) != 0;
    if (other && memcmp(&input->window, &window, sizeof window) != 0)
        return nl_fail(err, NL_USAGE, "two different windows; one window applies to all files");
    input->window = window;
    return true;
}

bool nl_input_read(struct nl_input_words *input, char *const *words, size_t count,
                   struct nl_err *err)
{
    *input = (struct nl_input_words){0};
    nl_arena_init(&input->arena);
    input->paths = nl_arena_alloc(&input->arena, count * sizeof *input->paths);
    for (size_t i = 0; i < count; i++)
        if (!read_word(input, words[i], err))
            return false;
    return true;
}

void nl_input_release(struct nl_input_words *input)
{
    nl_cache_later_drop(&input->later);
    nl_arena_free(&input->arena);
    input->paths = NULL;
    input->count = 0;
}

static double seconds_now(void)
{
    return (double)nl_monotonic_ns() / 1e9;
}

static void tell_cost(const struct nl_call *call, const struct nl_trace *trace, double seconds)
{
    char events[NL_UNIT_TEXT], store[NL_UNIT_TEXT], peak[NL_UNIT_TEXT];
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    nl_message_detail(call, "loaded %s events (%s) in %.3f s; peak memory %s",
                      nl_format_count(events, trace->slice.rows),
                      nl_format_bytes(store, nl_trace_bytes(trace)), seconds,
                      nl_format_bytes(peak, (uint64_t)usage.ru_maxrss * 1024));
}

/* The run of the ledger that a single word names when it is no file. False with err when it was
 * meant to be one and is not; *ledger stays NULL when it is something else. */
static bool find_run(const struct nl_input_words *input, const struct nl_call *call,
                     struct nl_ledger **ledger, struct nl_ledger_run *run, struct nl_err *err)
{
    const char *word = input->paths[0];
    struct nl_err wrong;
    *ledger = NULL;
    if (input->count != 1 || on_disk(word) || !nl_ledger_may_name(word))
        return true;
    nl_err_clear(&wrong);
    struct nl_ledger *opened = nl_ledgercall_open(call, NL_LEDGER_READ, &wrong);
    if (opened && nl_ledger_find(opened, word, false, run, &wrong)) {
        *ledger = opened;
        return true;
    }
    nl_ledger_close(opened);
    if (word[0] != '@' && wrong.code != NL_USAGE)
        return true; /* a file that is not there, most likely */
    *err = wrong;
    return false;
}

bool nl_input_names_run(const struct nl_call *call, const char *word)
{
    struct nl_input_words input;
    struct nl_ledger *ledger = NULL;
    struct nl_ledger_run run;
    struct nl_err ignored;
    char *words[] = {nl_strdup(word)};
    nl_err_clear(&ignored);
    bool found = nl_input_read(&input, words, 1, &ignored) &&
                 find_run(&input, call, &ledger, &run, &ignored) && ledger;
    nl_ledger_close(ledger);
    nl_input_release(&input);
    nl_free(words[0]);
    return found;
}

bool nl_input_run(const struct nl_input_words *input, const struct nl_call *call,
                  struct nl_ledger_run *run, bool *is_run, struct nl_err *err)
{
    struct nl_ledger *ledger;
    if (!find_run(input, call, &ledger, run, err))
        return false;
    *is_run = ledger != NULL;
    nl_ledger_close(ledger);
    return true;
}

bool nl_input_document(const struct nl_input_words *input, const struct nl_call *call,
                       struct nl_buf *out, bool *is_run, struct nl_err *err)
{
    struct nl_ledger *ledger;
    struct nl_ledger_run run;
    if (!find_run(input, call, &ledger, &run, err))
        return false;
    *is_run = ledger != NULL;
    bool done = !ledger || nl_ledger_document_said(ledger, &run, out, err);
    nl_ledger_close(ledger);
    return done;
}

/* Runs stand alone: several would be taken for ranks of one profile. */
static bool refuse_runs_among_files(const struct nl_input_words *input, struct nl_err *err)
{
    for (size_t i = 0; i < input->count && input->count > 1; i++)
        if (input->paths[i][0] == '@' && !on_disk(input->paths[i]))
            return nl_fail(err, NL_USAGE,
                           "%s: a run of the ledger is a whole profile; name one at a time",
                           input->paths[i]);
    return true;
}

static struct nl_trace *load_trace(const struct nl_input_words *input, const struct nl_call *call,
                                   const struct nl_ingest_options *options, struct nl_err *err)
{
    struct nl_open_options open = {options->cache_folder, options->cache_bytes};
    struct nl_ledger *ledger;
    struct nl_ledger_run run;
    if (!refuse_runs_among_files(input, err) || !find_run(input, call, &ledger, &run, err))
        return NULL;
    if (ledger && options->join_count) {
        nl_ledger_close(ledger);
        nl_err_at(err, input->paths[0], -1);
        (void)nl_fail(err, NL_USAGE,
                      "a run of the ledger accepts no report; add its files again with --join");
        return NULL;
    }
    struct nl_trace *trace = ledger
                                 ? nl_ledger_trace(ledger, &run, &open, call->job, err)
                                 : nl_ingest(input->paths, input->count, options, call->job, err);
    if (trace)
        nl_roofs_of(trace, ledger, ledger ? &run : NULL, call);
    nl_ledger_close(ledger);
    return trace;
}

/* What a report takes besides so many bytes of columns: 0.7 of them where most are ranges, as much
 * again where the device waits for every kernel. */
#define BESIDE(bytes) ((bytes) / 4 * 5)

/* Where there is no room for what will be computed, that goes to a disk; the mapped file of a
 * cached trace is taken out of memory with it. */
static void make_room(struct nl_trace *trace, const struct nl_job *job)
{
    uint64_t need = BESIDE(nl_trace_bytes(trace));
    if (!job->spill || !job->memory_bytes)
        return;
    if (nl_memory_held() + need > job->memory_bytes)
        (void)nl_spill_start(job->spill, need);
    if (!trace->map || trace->spill || !nl_spill_started(job->spill))
        return;
    trace->spill = job->spill;
    nl_spill_watch(job->spill, (void *)(uintptr_t)trace->map, trace->map_size);
}

struct nl_trace *nl_input_load(struct nl_input_words *input, const struct nl_call *call,
                               struct nl_err *err)
{
    const struct nl_settings *settings = &call->settings;
    struct nl_ingest_options options = {.rank = settings->rank,
                                        .verify = true,
                                        .unchecked = input->unchecked,
                                        .join = settings->join.items,
                                        .join_count = settings->join.count,
                                        .cached_as = &input->cached_as};
    char *cache = NULL;
    if (!call->settings.no_cache) {
        struct nl_err no_place;
        nl_err_clear(&no_place);
        cache = nl_cache_folder(call->settings.ledger, &no_place);
        if (!cache && call->settings.ledger) {
            *err = no_place;
            return NULL;
        }
        if (!cache)
            nl_message_detail(call, "no cache: %s", no_place.text);
    }
    options.cache_folder = cache;
    options.cache_bytes = cache ? nl_cache_bound(cache) : 0;
    if (input->background) {
        input->later.least = nl_cachewriter_least();
        options.later = &input->later;
    }
    double start = seconds_now();
    nl_progress_profile(call->progress, input->paths[0]);
    struct nl_trace *trace = load_trace(input, call, &options, err);
    if (trace)
        tell_cost(call, trace, seconds_now() - start);
    if (trace)
        make_room(trace, call->job);
    if (input->cached_as)
        input->cache = nl_arena_text(&input->arena, cache, strlen(cache));
    nl_free(cache);
    return trace;
}

void nl_input_keep(struct nl_input_words *input, const struct nl_trace *trace,
                   const struct nl_call *call)
{
    if (nl_job_cancelled(call->job))
        nl_cache_later_drop(&input->later);
    else
        nl_cachewriter_start(&input->later, trace);
}

bool nl_input_window(const struct nl_input_words *input, const struct nl_trace *trace,
                     const struct nl_call *call, struct nl_window *window, struct nl_err *err)
{
    char note[NL_WINDOW_NOTE];
    if (!nl_window_resolve(&input->window, trace, call->settings.absolute, window, note, err))
        return false;
    if (note[0])
        nl_message_note(call, "%s", note);
    return true;
}
