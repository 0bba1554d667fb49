/* flame: stacks of a profile as a picture, by the ending of -o. */
#include <stddef.h>

#include "base/mem.h"
#include "cli/output.h"
#include "cli/pagecall.h"
#include "cli/progress.h"
#include "pages/flame.h"
#include "pages/page.h"

struct flame_options {
    const char *by, *base;
};

static const struct flame_options *flame_own(const struct nl_call *call)
{
    return call->own;
}

static const char *const source_names[] = {"device", "samples", "host", "waiting", "memory", NULL};

static const struct nl_option flame_options[] = {
    {"by", 0, NL_OPTION_TEXT, NL_OWN(flame_options, by), "WHAT",
     "device, samples, host, waiting or memory (default: the first that the profile has)",
     source_names},
    {"base", 0, NL_OPTION_TEXT, NL_OWN(flame_options, base), "PROFILE",
     "baseline: colour what takes a larger or smaller share than in PROFILE", NULL},
    NL_OPTIONS_END,
};

static const struct nl_flame_source *choose_source(const struct nl_call *call,
                                                   const struct nl_trace *trace, struct nl_err *err)
{
    const char *by = flame_own(call)->by;
    for (const struct nl_flame_source *source = nl_flame_sources; source->name; source++)
        if ((!by || !strcmp(by, source->name)) && source->has(trace))
            return source;
    if (!by)
        (void)nl_fail(err, NL_INCOMPARABLE,
                      "the profile has no stacks, ranges or device work to draw");
    else if (!nl_flame_source(by))
        (void)nl_fail(
            err, NL_USAGE,
            "--by: unknown kind of stack '%s'; choose device, samples, host, waiting or memory",
            by);
    else
        (void)nl_fail(err, NL_INCOMPARABLE,
                      "the profile cannot be drawn by '%s': %s were not recorded", by,
                      nl_flame_source(by)->doc);
    return NULL;
}

/* Adds the profile of --base. */
static bool add_base(struct nl_flame *flame, const struct nl_call *call, struct nl_err *err)
{
    struct nl_input_words input;
    struct nl_window window = {0};
    char *words[] = {nl_strdup(flame_own(call)->base)};
    struct nl_trace *trace = NULL;
    bool done = nl_input_read(&input, words, 1, err);
    if (done) {
        trace = nl_input_load(&input, call, err);
        done = trace && nl_input_window(&input, trace, call, &window, err);
    }
    if (done)
        nl_flame_add(flame, trace, &window, true);
    if (trace)
        nl_trace_free(trace);
    nl_input_release(&input);
    nl_free(words[0]);
    return done;
}

static bool write_flame(const struct nl_call *call, const struct nl_input_words *input,
                        const struct nl_trace *trace, struct nl_output *output, struct nl_err *err)
{
    struct nl_window window = {0};
    struct nl_flame flame;
    struct nl_arena arena;
    const struct nl_flame_source *source = choose_source(call, trace, err);
    if (!source || !nl_input_window(input, trace, call, &window, err))
        return false;
    nl_job_phase(call->job, "drawing", 0);
    nl_flame_init(&flame, source);
    if (flame_own(call)->base && !add_base(&flame, call, err)) {
        nl_flame_release(&flame);
        return false;
    }
    nl_flame_add(&flame, trace, &window, false);
    nl_flame_finish(&flame);
    nl_arena_init(&arena);
    struct nl_profile *profile = nl_profile_new(trace, &window);
    struct nl_page page = {
        .kind = "flame", .title = nl_page_title(profile, &arena), .command = call->line};
    const char *heading = nl_arena_format(&arena, "%s · %s", source->title, page.title);
    nl_progress_quiet(call->progress);
    bool done = true;
    switch (nl_page_ending_of(call->settings.output)) {
    case NL_ENDING_SVG: nl_flame_svg(output->stream, &flame, heading); break;
    case NL_ENDING_HTML: done = nl_page_flame(output->stream, &page, &flame, err); break;
    default: nl_flame_folded(output->stream, &flame); break;
    }
    nl_profile_free(profile);
    nl_arena_free(&arena);
    nl_flame_release(&flame);
    return done;
}

static bool flame_run(struct nl_call *call, struct nl_err *err)
{
    enum nl_page_ending ending = nl_page_ending_of(call->settings.output);
    bool stdout_too = !call->settings.output || !strcmp(call->settings.output, "-");
    if (!stdout_too &&
        (ending == NL_ENDING_OTHER || ending == NL_ENDING_MD || ending == NL_ENDING_JSON))
        return nl_fail(err, NL_USAGE, "unknown file type '%s'; use .html, .svg or .folded",
                       call->settings.output);
    return nl_page_call(call, write_flame, err);
}

const struct nl_command nl_command_flame = {
    .name = "flame",
    .group = "Look",
    .summary = "draw a flame graph of call stacks, GPU time or memory",
    .usage = "PROFILE…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(flame_options, 0),
    .tables = NL_TABLES(flame_options, nl_profile_options, nl_common_options),
    .help =
        "Draws stacks as a flame graph (icicle: callers on top). F.html can be searched and "
        "zoomed,\n"
        "F.svg is a picture, F.folded has one line per stack for other tools; without -o, folded\n"
        "lines are printed. --by selects what is drawn: device (GPU time under the ranges, "
        "modules\n"
        "and operators that launched it), samples (CPU samples by call stack), host (CPU "
        "activity),\n"
        "waiting (off-CPU time) or memory (bytes allocated by call stack). With --base, colours "
        "show\n"
        "what takes a larger or smaller share of the time than in another profile.",
    .examples = "neurolens flame trace.json.gz -o flame.html\n"
                "neurolens flame run.nlt --by samples -o cpu.svg\n"
                "neurolens flame after.json --base before.json -o change.html\n"
                "neurolens flame perf.script | head                   # folded lines",
    .run = flame_run,
};
