/*
 * export — a profile in other people's formats.
 *
 * A format is one file here and one row of exporters.def. Its write function gets a struct
 * nl_export: the trace, the window, and where to write, which is a stream (`out`) or a folder
 * (`folder`, made by the caller). What the format cannot hold is counted with nl_export_lost, so
 * that the command can list it; nothing is left out silently.
 *
 * A slice is written when it overlaps the window, and then whole: lengths stay true. Rows that are
 * a moment are written if it is in the window.
 *
 *     struct nl_export export;
 *     nl_export_init(&export, trace, &window, job);
 *     export.out = stream;
 *     done = nl_exporter_find("perfetto")->write(&export, err);
 *     ... export.lost[0 .. export.lost_count) ...
 *     nl_export_release(&export);
 */
#ifndef NL_EXPORT_H
#define NL_EXPORT_H

#include <stdio.h>

#include "tables/scope.h"

struct nl_lost {
    const char *what; /* "call stacks of samples": in the arena */
    uint64_t count;
};

struct nl_export {
    const struct nl_trace *trace; /* borrowed */
    struct nl_window window;
    struct nl_scope scope; /* the window, ready for asking */
    struct nl_job *job;    /* may be NULL */
    FILE *out;             /* of formats that are one file */
    const char *folder;    /* of formats that are a folder of tables */
    const char *table;     /* one table of those, written to `out`; NULL = all */
    const char *of;        /* which stacks, by a part of their event; NULL = the first */
    const char *title;     /* name of the profile, for formats that have a place for it; or NULL */
    bool csv_safe;         /* texts that a spreadsheet takes for formulas get an apostrophe */
    struct nl_lost *lost;
    size_t lost_count, lost_cap;
    struct nl_arena arena;
};

enum nl_export_shape {
    NL_EXPORT_FILE,  /* one file */
    NL_EXPORT_TABLES /* a file per table in a folder; one table alone is one file */
};

struct nl_exporter {
    const char *name;   /* what --to takes */
    const char *ending; /* of file names: ".pftrace" */
    enum nl_export_shape shape;
    unsigned lacks; /* NL_LACKS_…: what it has no place for (absent.h) */
    bool (*write)(struct nl_export *export, struct nl_err *err);
    const char *doc; /* a line for help */
};

extern const struct nl_exporter nl_exporters[]; /* ends with a NULL name */
const struct nl_exporter *nl_exporter_find(const char *name);

#define NL_EXPORTER(identifier, name, ending, shape, lacks, doc)                                   \
    NL_MUST_CHECK bool nl_export_##identifier(struct nl_export *export, struct nl_err *err);
#include "export/exporters.def"
#undef NL_EXPORTER

void nl_export_init(struct nl_export *export, const struct nl_trace *trace,
                    const struct nl_window *window, struct nl_job *job);
void nl_export_release(struct nl_export *export);

/* What an analysis says of what is written; NULL with err as nl_analysis_run. */
NL_MUST_CHECK struct nl_result *nl_export_ask(const struct nl_export *export, const char *analysis,
                                              struct nl_err *err);

/* UTC time of the first event in ns; NL_NULL_I64 if no source says. */
int64_t nl_export_epoch(const struct nl_trace *trace);

/* Says that `count` things (0 = nothing happens) have no place in the format. */
void nl_export_lost(struct nl_export *export, uint64_t count, const char *what);

/* Is the slice written? */
static inline bool nl_export_picks(const struct nl_export *export, uint32_t slice)
{
    int64_t start, end;
    return export->scope.everything || nl_scope_slice(&export->scope, slice, &start, &end);
}

/* Is something that happens at one moment on a lane (NL_NULL_ROW: on none) written? */
static inline bool nl_export_picks_moment(const struct nl_export *export, uint32_t lane, int64_t ts)
{
    if (export->scope.everything)
        return true;
    return ts == NL_NULL_I64 ? lane == NL_NULL_ROW || nl_scope_lane(&export->scope, lane)
                             : nl_scope_moment(&export->scope, lane, ts);
}

/* False with NL_INTERRUPTED when the job was cancelled. */
NL_MUST_CHECK bool nl_export_goes_on(const struct nl_export *export, struct nl_err *err);

#endif
