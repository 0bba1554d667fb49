/* Files of the inputs that the trace's table of sources knows, by name and size. */
#include "cli/record/runsources.h"

static bool was_read(const struct nl_trace *trace, const struct nl_path *path)
{
    uint64_t bytes = nl_file_bytes(path->path);
    for (uint32_t row = 0; row < trace->source.rows; row++)
        if (nl_str_is(nl_trace_name(trace, trace->source.file[row]), path->name) &&
            trace->source.bytes[row] == bytes)
            return true;
    return false;
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
    size_t known = 0;
    *sources = (struct nl_run_sources){0};
    if (!nl_inputs_expand(&sources->inputs, paths, count, err))
        return false;
    const struct nl_inputs *inputs = &sources->inputs;
    if (inputs->spool_count > 0)
        return nl_fail(err, NL_USAGE, "a run is known by its file; save the profile first");
    sources->items = nl_zalloc((inputs->count + 1) * sizeof *sources->items);
    for (size_t i = 0; i < inputs->count; i++)
        known += was_read(trace, &inputs->items[i]);
    for (size_t i = 0; i < inputs->count; i++)
        if ((!known || was_read(trace, &inputs->items[i])) &&
            !digest(sources, &inputs->items[i], job, err))
            return false;
    return true;
}

void nl_run_sources_release(struct nl_run_sources *sources)
{
    nl_free(sources->items);
    nl_inputs_free(&sources->inputs);
}
