/* Files of the inputs that the trace's table of sources knows, by name and size. */
#include "cli/record/runsources.h"

static bool was_read(const struct nl_trace *trace, const struct nl_path *path, bool *read,
                     struct nl_err *err)
{
    uint64_t bytes;
    *read = false;
    if (!nl_file_size(path->path, &bytes, err))
        return false;
    for (uint32_t row = 0; row < trace->source.rows && !*read; row++)
        *read = nl_str_is(nl_trace_name(trace, trace->source.file[row]), path->name) &&
                trace->source.bytes[row] == bytes;
    return true;
}

static bool digest(struct nl_run_sources *sources, const struct nl_path *path, struct nl_job *job,
                   struct nl_err *err)
{
    struct nl_rundoc_source *source = &sources->items[sources->count];
    if (!nl_digest_file(source->sha256, &source->bytes, path->path, job, err))
        return false;
    source->name = path->name;
    sources->count++;
    return true;
}

bool nl_run_sources_find(struct nl_run_sources *sources, const char *const *paths, size_t count,
                         const struct nl_trace *trace, struct nl_job *job, struct nl_err *err)
{
    bool known = false;
    *sources = (struct nl_run_sources){0};
    if (!nl_inputs_expand(&sources->inputs, paths, count, err))
        return false;
    const struct nl_inputs *inputs = &sources->inputs;
    if (inputs->spool_count > 0)
        return nl_fail(err, NL_USAGE,
                       "a run document names its files; save the profile to a file first");
    sources->items = nl_zalloc((inputs->count + 1) * sizeof *sources->items);
    bool *read = nl_zalloc((inputs->count + 1) * sizeof *read), done = true;
    for (size_t i = 0; done && i < inputs->count; i++) {
        done = was_read(trace, &inputs->items[i], &read[i], err);
        known |= read[i];
    }
    for (size_t i = 0; done && i < inputs->count; i++)
        done = (known && !read[i]) || digest(sources, &inputs->items[i], job, err);
    nl_free(read);
    return done;
}

void nl_run_sources_release(struct nl_run_sources *sources)
{
    nl_free(sources->items);
    nl_inputs_free(&sources->inputs);
}
