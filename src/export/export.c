/* The table of formats, and the list of what one cannot hold. */
#include "export/export.h"

#include <string.h>

#include "export/absent.h"

const struct nl_exporter nl_exporters[] = {
#define NL_EXPORTER(identifier, name, ending, shape, lacks, doc)                                   \
    {name, ending, NL_EXPORT_##shape, lacks, nl_export_##identifier, doc},
#include "export/exporters.def"
#undef NL_EXPORTER
    {NULL, NULL, NL_EXPORT_FILE, 0, NULL, NULL}};

const struct nl_exporter *nl_exporter_find(const char *name)
{
    for (const struct nl_exporter *exporter = nl_exporters; exporter->name; exporter++)
        if (strcmp(exporter->name, name) == 0)
            return exporter;
    return NULL;
}

void nl_export_init(struct nl_export *export, const struct nl_trace *trace,
                    const struct nl_window *window, struct nl_job *job)
{
    *export = (struct nl_export){.trace = trace, .window = *window, .job = job};
    nl_scope_init(&export->scope, trace, &export->window);
    nl_arena_init(&export->arena);
}

void nl_export_release(struct nl_export *export)
{
    nl_scope_release(&export->scope);
    nl_free(export->lost);
    nl_arena_free(&export->arena);
    *export = (struct nl_export){0};
}

void nl_export_lost(struct nl_export *export, uint64_t count, const char *what)
{
    if (!count)
        return;
    for (size_t i = 0; i < export->lost_count; i++)
        if (strcmp(export->lost[i].what, what) == 0) {
            export->lost[i].count += count;
            return;
        }
    nl_grow(&export->lost, &export->lost_cap, export->lost_count + 1);
    export->lost[export->lost_count++] =
        (struct nl_lost){nl_arena_text(&export->arena, what, strlen(what)), count};
}

struct nl_result *nl_export_ask(const struct nl_export *export, const char *analysis,
                                struct nl_err *err)
{
    const struct nl_analyze_options options = {.window = export->window};
    return nl_analysis_run(nl_analysis_find(analysis), export->trace, &options, export->job, err);
}

int64_t nl_export_epoch(const struct nl_trace *trace)
{
    int64_t utc;
    for (uint32_t i = 0; i < trace->source.rows; i++) {
        int64_t epoch = trace->source.epoch_ns[i], offset = trace->source.offset_ns[i];
        if (epoch == NL_NULL_I64 || __builtin_add_overflow(epoch, trace->first_ts, &utc) ||
            __builtin_sub_overflow(utc, offset == NL_NULL_I64 ? 0 : offset, &utc))
            continue;
        return utc;
    }
    return NL_NULL_I64;
}

bool nl_export_goes_on(const struct nl_export *export, struct nl_err *err)
{
    if (!nl_job_cancelled(export->job))
        return true;
    return nl_fail(err, NL_INTERRUPTED, "interrupted");
}
