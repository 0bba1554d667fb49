/* Inputs: brackets off, brackets understood, then nl_ingest with the cache of the ledger. */
#define _GNU_SOURCE
#include "cli/input.h"

#include <glob.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/units.h"
#include "cli/folders.h"
#include "cli/message.h"
#include "ingest/ingest.h"

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
    if (path[0] == '@') {
        nl_err_at(err, word, -1);
        return nl_fail(err, NL_ENVIRONMENT,
                       "runs of the ledger come with `add`, which is not built yet; name a file");
    }
    input->paths[input->count++] = path;
    if (!text.ptr)
        return true;
    struct nl_window_words window, none = {0};
    if (!nl_window_parse(text, &window, &input->arena, err))
        return false;
    bool other = memcmp(&input->window, &none, sizeof none) != 0;
    if (other && memcmp(&input->window, &window, sizeof window) != 0)
        return nl_fail(err, NL_USAGE, "two different windows; one window holds for all files");
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
    nl_arena_free(&input->arena);
    input->paths = NULL;
    input->count = 0;
}

static double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void tell_cost(const struct nl_call *call, const struct nl_trace *trace, double seconds)
{
    char slices[NL_UNIT_TEXT], store[NL_UNIT_TEXT], peak[NL_UNIT_TEXT];
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    nl_message_detail(call, "loaded %s slices (%s) in %.3f s; peak memory %s",
                      nl_format_count(slices, trace->slice.rows),
                      nl_format_bytes(store, nl_trace_bytes(trace)), seconds,
                      nl_format_bytes(peak, (uint64_t)usage.ru_maxrss * 1024));
}

struct nl_trace *nl_input_load(const struct nl_input_words *input, const struct nl_call *call,
                               struct nl_err *err)
{
    const struct nl_settings *settings = &call->settings;
    struct nl_ingest_options options = {.rank = settings->rank,
                                        .verify = true,
                                        .join = settings->join.text,
                                        .join_count = settings->join.count};
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
    double start = seconds_now();
    struct nl_trace *trace = nl_ingest(input->paths, input->count, &options, call->job, err);
    if (trace)
        tell_cost(call, trace, seconds_now() - start);
    nl_free(cache);
    return trace;
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
