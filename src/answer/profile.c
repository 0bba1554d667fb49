/*
 * profile — see profile.h. Built from the analyses files, devices, events and coverage, so that
 * the envelope of an answer and `info` cannot disagree.
 */
#include "answer/profile.h"

#include "base/sort.h"
#include "base/units.h"
#include "tables/analyses.h"

static const char *copy_name(struct nl_profile *profile, const struct nl_trace *trace, uint32_t id)
{
    struct nl_str text = nl_trace_name(trace, id);
    return nl_arena_text(&profile->arena, text.ptr, text.len);
}

/* Distinct names of a column of the table of sources, unknown left out. */
static const char **distinct_names(struct nl_profile *profile, const struct nl_trace *trace,
                                   const uint32_t *ids, size_t *count)
{
    uint32_t rows = trace->source.rows;
    const char **names = nl_arena_alloc(&profile->arena, (rows + (size_t)1) * sizeof *names);
    *count = 0;
    for (uint32_t row = 0; row < rows; row++) {
        bool seen = ids[row] == NL_NO_NAME;
        for (uint32_t before = 0; before < row && !seen; before++)
            seen = ids[before] == ids[row];
        if (!seen)
            names[(*count)++] = copy_name(profile, trace, ids[row]);
    }
    return names;
}

static void find_ranks(struct nl_profile *profile, const struct nl_trace *trace)
{
    uint32_t rows = trace->process.rows;
    int64_t *ranks = nl_arena_alloc(&profile->arena, (rows + (size_t)1) * sizeof *ranks);
    size_t count = 0, kept = 0;
    for (uint32_t row = 0; row < rows; row++)
        if (trace->process.rank[row] != NL_NULL_I64)
            ranks[count++] = trace->process.rank[row];
    nl_sort_i64(ranks, count);
    for (size_t i = 0; i < count; i++)
        if (!kept || ranks[kept - 1] != ranks[i])
            ranks[kept++] = ranks[i];
    profile->ranks = ranks;
    profile->rank_count = kept;
}

/* These four read what is there and cannot fail. */
static struct nl_result *must_run(const struct nl_analysis *analysis, const struct nl_trace *trace)
{
    const struct nl_analyze_options everything = {0};
    struct nl_result *result = nl_analysis_run(analysis, trace, &everything, NULL, NULL);
    if (!result)
        NL_BUG("an analysis of the profile's facts failed");
    return result;
}

struct nl_profile *nl_profile_new(const struct nl_trace *trace, const struct nl_window *window)
{
    struct nl_profile *profile = nl_zalloc(sizeof *profile);
    nl_arena_init(&profile->arena);
    profile->files = must_run(&nl_analysis_files, trace);
    profile->devices = must_run(&nl_analysis_devices, trace);
    profile->events = must_run(&nl_analysis_events, trace);
    profile->coverage = must_run(&nl_analysis_coverage, trace);
    profile->formats = distinct_names(profile, trace, trace->source.format, &profile->format_count);
    profile->tools = distinct_names(profile, trace, trace->source.tool, &profile->tool_count);
    find_ranks(profile, trace);
    profile->file_count = trace->source.rows;
    profile->processes = trace->process.rows;
    profile->threads = trace->thread.rows;
    profile->first_ns = trace->first_ts;
    profile->last_ns = trace->last_ts;
    profile->duration_ns = trace->last_ts - trace->first_ts;
    profile->slices = nl_trace_timed(trace);
    profile->contents = nl_contents_of(trace);
    if (window)
        profile->window = *window;
    if (window && window->has_time) {
        profile->window_start_ns = window->start - trace->first_ts;
        profile->window_end_ns = window->end - trace->first_ts;
    }
    return profile;
}

void nl_profile_free(struct nl_profile *profile)
{
    if (!profile)
        return;
    nl_result_free(profile->files);
    nl_result_free(profile->devices);
    nl_result_free(profile->events);
    nl_result_free(profile->coverage);
    nl_arena_free(&profile->arena);
    nl_free(profile);
}

const char *nl_profile_files_word(const struct nl_profile *profile)
{
    bool recording = profile->format_count == 1 && strcmp(profile->formats[0], "recording") == 0;
    return recording ? "processes" : "files";
}

void nl_profile_put_window(const struct nl_profile *profile, struct nl_buf *out)
{
    const struct nl_window *window = &profile->window;
    const char *before = "limited to ";
    char text[NL_UNIT_TEXT];
    if (window->has_time) {
        nl_buf_format(out, "%s%s", before, nl_format_ns(text, profile->window_start_ns));
        nl_buf_format(out, " … %s", nl_format_ns(text, profile->window_end_ns));
        before = ", ";
    }
    if (window->has_rank) {
        nl_buf_format(out, "%srank %lld", before, (long long)window->rank);
        before = ", ";
    }
    if (window->has_device)
        nl_buf_format(out, "%sdevice %lld", before, (long long)window->device);
}
