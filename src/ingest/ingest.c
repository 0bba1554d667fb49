/*
 * From names to a trace: expand folders and globs, recognise each file by content, take it from the
 * cache or load it, and put all of them into one profile.
 */
#define _GNU_SOURCE
#include "ingest/formats.h"

#include <stdio.h>
#include <string.h>

#include "base/confine.h"
#include "base/mem.h"
#include "derive/derive.h"
#include "derive/graphjoin.h"
#include "ingest/sandbox.h"
#include "ingest/cache.h"
#include "ingest/estimate.h"
#include "ingest/inputs.h"
#include "ingest/meet.h"
#include "ingest/symbols/symbols.h"
#include "ingest/unpack.h"
#include "store/tracefile.h"

const struct nl_format *const nl_formats[] = {
#define NL_FORMAT_ROW(name) &nl_format_##name,
#include "ingest/formats.def"
#undef NL_FORMAT_ROW
    NULL,
};

/* Whether a file that failed may be left out: one of many inside a folder that is of no format. */
static bool may_skip(const struct nl_inputs *inputs, size_t i, const struct nl_err *err)
{
    return inputs->items[i].from_folder && (err->code == NL_FORMAT || err->code == NL_ENVIRONMENT);
}

struct load {
    struct nl_builder *builder;
    struct nl_builder *reports; /* of kernel profilers; NULL = none so far */
    bool joining;               /* what is read now is to be joined, whatever it is */
    size_t timelines;           /* files that `builder` has */
    const struct nl_ingest_options *options;
    struct nl_job *job;
    struct symbols_files *symbols;
    unsigned char *head;
    bool *done; /* per input: loaded with another of its recording */
    size_t loaded;
    char *skipped;         /* text of the first file left out */
    int64_t twins;         /* files left out because another holds the same events */
    char twin[256];        /* the first of them */
    int64_t skips, failed; /* left out; those of them whose format is known */
    struct nl_err last;
};

/* Looks at the file; what it is, or NULL. */
static const struct nl_format *meet(struct load *load, const struct nl_path *path,
                                    struct nl_input *input, struct nl_err *err)
{
    const struct nl_format *format = nl_meet(input, path, load->head, err);
    if (load->options->rank != NL_NULL_I64)
        input->rank = load->options->rank;
    input->symbols = load->symbols;
    return format;
}

static bool load_one(struct load *load, const struct nl_format *format,
                     const struct nl_input *input, struct nl_err *err)
{
    bool measures = load->joining || format->measures;
    if (measures && !load->reports)
        load->reports = nl_builder_new(load->job);
    struct nl_builder *builder = measures ? load->reports : load->builder;
    struct nl_reading reading = nl_reading_begin(builder, format, input, load->job);
    nl_err_at(err, input->place, -1);
    if (nl_reading_load(&reading, format, err)) {
        load->timelines += !measures;
        return true;
    }
    /* Of a folder the others are read: what this one lacks is reported with its name. */
    nl_builder_coverage(builder, reading.source, "failed: file not loaded", 1, err->text);
    load->failed++;
    return false;
}

/* All would count twice. */
static void count_twin(struct load *load, const struct nl_path *path, const struct nl_path *twin)
{
    if (!load->twins++)
        (void)snprintf(load->twin, sizeof load->twin, "%.110s beside %.110s", path->name,
                       twin->name);
}

/* Counts a file that came to nothing, or fails for good. */
static bool count_file_outcome(struct load *load, const struct nl_inputs *inputs, size_t i,
                               bool done, struct nl_err *err)
{
    if (done) {
        load->loaded++;
        return true;
    }
    if (!may_skip(inputs, i, err))
        return false;
    load->skips++;
    if (!load->skipped && load->skips > load->failed)
        load->skipped = nl_strdup(inputs->items[i].where);
    load->last = *err;
    nl_err_clear(err);
    return true;
}

/* The files of one recording by place, then as they were given. */
struct part {
    size_t item;
    unsigned place;
};

static size_t find_parts(struct load *load, const struct nl_inputs *inputs, size_t first,
                         const struct nl_format *format, size_t shared, struct part *parts)
{
    const char *stem = inputs->items[first].where;
    size_t count = 0;
    struct nl_err ignored;
    nl_err_clear(&ignored);
    for (size_t i = first; i < inputs->count; i++) {
        struct nl_input input;
        unsigned place = 0;
        if (load->done[i] || strncmp(inputs->items[i].where, stem, shared) != 0 ||
            nl_inputs_twin(inputs, i) ||
            meet(load, &inputs->items[i], &input, &ignored) != format ||
            format->recording(&input, &place) != shared)
            continue;
        size_t at = count++;
        for (; at > 0 && parts[at - 1].place > place; at--)
            parts[at] = parts[at - 1];
        parts[at] = (struct part){i, place};
    }
    return count;
}

static bool load_recording(struct load *load, const struct nl_inputs *inputs, size_t first,
                           const struct nl_format *format, size_t shared, struct nl_err *err)
{
    struct part *parts = nl_alloc((inputs->count - first) * sizeof *parts);
    size_t count = find_parts(load, inputs, first, format, shared, parts);
    void *recording = NULL;
    bool done = true;
    for (size_t p = 0; p < count && done; p++) {
        struct nl_input input;
        size_t i = parts[p].item;
        load->done[i] = true;
        done = meet(load, &inputs->items[i], &input, err) != NULL;
        input.recording = &recording;
        done =
            count_file_outcome(load, inputs, i, done && load_one(load, format, &input, err), err);
    }
    if (recording)
        format->recording_end(recording);
    nl_free(parts);
    return done;
}

static bool load_item(struct load *load, const struct nl_inputs *inputs, size_t i,
                      struct nl_err *err)
{
    struct nl_input input;
    unsigned place;
    const struct nl_format *format = meet(load, &inputs->items[i], &input, err);
    size_t shared = format && format->recording ? format->recording(&input, &place) : 0;
    if (shared > 0)
        return load_recording(load, inputs, i, format, shared, err);
    return count_file_outcome(load, inputs, i, format && load_one(load, format, &input, err), err);
}

static bool load_all(struct load *load, const struct nl_inputs *inputs, struct nl_err *err)
{
    for (size_t i = 0; i < inputs->count; i++) {
        if (nl_job_cancelled(load->job))
            return nl_fail(err, NL_INTERRUPTED, "interrupted");
        if (load->done[i])
            continue;
        const struct nl_path *twin = nl_inputs_twin(inputs, i);
        if (twin)
            count_twin(load, &inputs->items[i], twin);
        else if (!load_item(load, inputs, i, err))
            return false;
    }
    if (load->loaded)
        return true;
    *err = load->last;
    if (load->skips > 1) {
        char last[sizeof err->text];
        (void)snprintf(last, sizeof last, "%s", err->text);
        (void)nl_fail(err, NL_FORMAT, "none of %lld files can be read; this one: %s",
                      (long long)load->skips, last);
    }
    return false;
}

static bool load_files(struct load *load, const struct nl_inputs *inputs, bool joining,
                       struct nl_err *err)
{
    load->joining = joining;
    load->loaded = 0;
    load->done = nl_zalloc(inputs->count * sizeof *load->done);
    bool done = load_all(load, inputs, err);
    nl_free(load->done);
    return done;
}

static bool has_measurements(const struct nl_trace *trace)
{
    for (uint32_t row = 0; row < trace->metric.rows; row++)
        if (trace->metric.slice[row] != NL_NULL_ROW &&
            trace->slice.kind[trace->metric.slice[row]] == NL_KIND_KERNEL)
            return true;
    return false;
}

static void tell_left_out(const struct load *load)
{
    if (load->twins)
        nl_builder_coverage(load->builder, NL_NULL_ROW,
                            "files left out: the same events as another", load->twins, load->twin);
    if (load->skips > load->failed) {
        const char *slash = strrchr(load->skipped, '/');
        nl_builder_coverage(load->builder, NL_NULL_ROW, "files of unknown format skipped",
                            load->skips - load->failed, slash ? slash + 1 : load->skipped);
    }
}

/* If only kernel reports were given, they are the profile. Files of other formats that failed to
 * load are still reported. */
static void take_reports_alone(struct load *load)
{
    nl_builder_free(load->builder);
    load->builder = load->reports;
    load->reports = NULL;
    if (load->failed)
        nl_builder_coverage(load->builder, NL_NULL_ROW, "failed: file not loaded", load->failed,
                            load->last.text);
}

/* `join` are the files that were to be joined, or NULL. */
static bool join_reports(struct load *load, const struct nl_inputs *join, struct nl_err *err)
{
    if (join && !load->timelines)
        return nl_fail(err, NL_USAGE,
                       "--join: the profile is itself a report of a kernel profiler; give a run to "
                       "join it to, such as one of nsys or torch.profiler");
    if (!load->timelines)
        take_reports_alone(load);
    struct nl_builder *reports = load->reports;
    load->reports = NULL;
    struct nl_trace *report = reports ? nl_builder_finish(reports, err) : NULL;
    if (reports && !report)
        return false;
    if (report && join && !has_measurements(report) && !nl_has_captures(report)) {
        nl_trace_free(report);
        nl_err_at(err, join->items[0].path, -1);
        return nl_fail(err, NL_USAGE,
                       "--join: no metrics of kernels in it, and no captured graph; give a report "
                       "of Nsight Compute (.ncu-rep, or a page of ncu --csv), or the profile in "
                       "which the graphs were captured");
    }
    if (report)
        nl_builder_join(load->builder, report);
    return true;
}

/* A single .nlt file is a finished trace; it is opened as it is. */
static bool is_trace_file(const struct nl_inputs *inputs)
{
    unsigned char magic[8];
    return inputs->count == 1 && nl_file_start(inputs->items[0].path, magic, sizeof magic) == 8 &&
           nl_trace_recognise(magic, sizeof magic);
}

static struct nl_trace *open_trace(const struct nl_path *item,
                                   const struct nl_ingest_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    const char *place = nl_meet_place(item->where, item->name);
    if (!options->join_count) {
        struct nl_trace *trace =
            nl_trace_open(item->path, options->verify, nl_job_threads(job), err);
        if (!trace && err)
            nl_err_at(err, place, err->offset);
        return trace;
    }
    nl_err_at(err, place, -1);
    (void)nl_fail(err, NL_USAGE,
                  "a finished trace accepts no report; use --join with its source files");
    return NULL;
}

/* What archives were not read of. */
static void tell_archives(const struct nl_inputs *inputs, struct nl_builder *builder)
{
    const struct nl_archive_told *told = &inputs->told;
    const struct {
        const char *item;
        int64_t count;
        const char *detail;
    } rows[] = {
        {"archive: links and devices left out", told->others, "only regular files are read"},
        {"archive: encrypted files left out", told->locked, "unpack them with their password"},
        {"archive: files packed by an unknown method left out", told->unpacked, "unpack it"},
        {"archive: damaged files", told->damaged, "the undamaged part is read; pack it again"},
        {"archive: cut short", told->cut, "it ends early; fetch it again"},
        {"archive: archives within archives left out", told->deep, "unpack the outer ones"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].count)
            nl_builder_coverage(builder, NL_NULL_ROW, rows[i].item, rows[i].count, rows[i].detail);
}

static struct nl_trace *load_here(const struct nl_inputs *inputs, const struct nl_inputs *join,
                                  const struct nl_ingest_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    struct load load = {.builder = nl_builder_new(job),
                        .options = options,
                        .job = job,
                        .symbols = symbols_files_new(),
                        .head = nl_alloc(NL_SNIFF_BYTES)};
    bool done =
        (!join || load_files(&load, join, true, err)) && load_files(&load, inputs, false, err);
    if (done)
        nl_err_at(err, "", -1);
    done = done && (!load.reports || join_reports(&load, join, err));
    if (done) {
        tell_left_out(&load);
        tell_archives(inputs, load.builder);
    }
    nl_free(load.head);
    symbols_files_free(load.symbols);
    nl_free(load.skipped);
    nl_builder_free(load.reports);
    if (!done) {
        nl_builder_free(load.builder);
        return NULL;
    }
    struct nl_trace *trace = nl_builder_finish(load.builder, err);
    if (!trace && inputs->count == 1)
        nl_err_at(err, nl_meet_place(inputs->items[0].where, inputs->items[0].name), -1);
    return trace;
}

/* ---- in a separate process ---- */

struct survey {
    bool risky;
    enum nl_reach reach;
};

static void survey_files(struct load *load, const struct nl_inputs *inputs, struct survey *survey)
{
    struct nl_err ignored;
    for (size_t i = 0; inputs && i < inputs->count && !nl_job_cancelled(load->job); i++) {
        struct nl_input input;
        nl_err_clear(&ignored);
        const struct nl_format *format = meet(load, &inputs->items[i], &input, &ignored);
        if (!format)
            continue;
        survey->risky |= format->risky && format->risky(&input);
        survey->reach = format->reach > survey->reach ? format->reach : survey->reach;
    }
}

/* Whether all of them are to be read apart. */
static bool reads_apart(const struct nl_inputs *inputs, const struct nl_inputs *join,
                        const struct nl_ingest_options *options, struct nl_job *job, bool *read_all)
{
    bool all = job->sandbox == NL_SANDBOX_ALL;
    if (job->sandbox == NL_SANDBOX_NEVER ||
        !(all || sandbox_worth(inputs) || sandbox_worth(join)) || !sandbox_possible())
        return false;
    struct survey survey = {.risky = all};
    struct load load = {.options = options, .job = job, .head = nl_alloc(NL_SNIFF_BYTES)};
    survey_files(&load, inputs, &survey);
    survey_files(&load, join, &survey);
    nl_free(load.head);
    *read_all = survey.reach == NL_REACH_FILES;
    bool copies = survey.reach == NL_REACH_COPIES && !(nl_confine_available() & NL_CONFINE_FILES);
    return survey.risky && survey.reach != NL_REACH_PROGRAMS && !copies;
}

struct loading {
    const struct nl_inputs *inputs, *join;
    const struct nl_ingest_options *options;
};

static struct nl_trace *load_in_child(void *context, struct nl_job *job, struct nl_err *err)
{
    const struct loading *loading = context;
    return load_here(loading->inputs, loading->join, loading->options, job, err);
}

static struct nl_trace *load_inputs(const struct nl_inputs *inputs, const struct nl_inputs *join,
                                    const struct nl_ingest_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    struct loading loading = {inputs, join, options};
    struct sandbox sandbox = {
        .load = load_in_child, .context = &loading, .inputs = inputs, .join = join};
    bool ran = false;
    if (job && reads_apart(inputs, join, options, job, &sandbox.read_all)) {
        nl_job_phase(job, "reading", 0);
        struct nl_trace *trace = sandbox_run(&sandbox, &ran, job, err);
        if (ran)
            return trace;
    }
    return load_here(inputs, join, options, job, err);
}

/* Now or later; false: never. */
static bool cache_trace(const struct nl_cache_key *key, const struct nl_ingest_options *options,
                        const struct nl_trace *trace)
{
    uint64_t bytes = nl_trace_bytes(trace);
    if (options->later && bytes >= options->later->least)
        return nl_cache_later(options->later, key, options->cache_folder, options->cache_bytes,
                              bytes);
    return nl_cache_keep(key, options->cache_folder, options->cache_bytes, trace);
}

/* What was read while files changed is of no state of them: it is the answer, and is not kept. */
static bool are_unchanged(const struct nl_cache_key *key, const struct nl_inputs *inputs,
                          const struct nl_inputs *join, int64_t rank)
{
    struct nl_cache_key now;
    return nl_cache_key(&now, inputs, join, rank) && now.hash == key->hash;
}

/* With archives opened. */
static struct nl_trace *unpack_and_load(const struct nl_inputs *inputs,
                                        const struct nl_inputs *join,
                                        const struct nl_ingest_options *options, struct nl_job *job,
                                        struct nl_err *err)
{
    struct nl_inputs files, joined;
    if (!nl_inputs_packed(inputs) && !(join && nl_inputs_packed(join)))
        return load_inputs(inputs, join, options, job, err);
    if (!nl_unpack(&files, inputs, job, err))
        return NULL;
    struct nl_trace *trace = NULL;
    if (is_trace_file(&files)) {
        trace = open_trace(&files.items[0], options, job, err);
    } else if (!join) {
        trace = load_inputs(&files, NULL, options, job, err);
    } else if (nl_unpack(&joined, join, job, err)) {
        trace = load_inputs(&files, &joined, options, job, err);
        nl_inputs_free(&joined);
    }
    nl_inputs_free(&files);
    return trace;
}

/* The profile with the files of `join` joined to it, when it is not NULL. */
static struct nl_trace *find_or_load(const struct nl_inputs *inputs, const struct nl_inputs *join,
                                     const struct nl_ingest_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    struct nl_cache_key key;
    bool may = options->cache_folder && nl_cache_key(&key, inputs, join, options->rank);
    struct nl_trace *trace =
        may ? nl_cache_find(&key, options->cache_folder, options->unchecked, nl_job_threads(job))
            : NULL;
    if (!trace && may)
        trace = nl_cache_await(&key, options->cache_folder, nl_job_threads(job), job);
    bool kept = trace != NULL;
    if (!trace && nl_estimate_check(inputs, job, err)) {
        trace = unpack_and_load(inputs, join, options, job, err);
        kept = trace && may && are_unchanged(&key, inputs, join, options->rank) &&
               cache_trace(&key, options, trace);
    }
    if (kept && options->cached_as)
        *options->cached_as = key.hash;
    return trace;
}

static struct nl_trace *ingest_files(const struct nl_inputs *inputs,
                                     const struct nl_ingest_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    struct nl_inputs join;
    if (!options->join_count)
        return find_or_load(inputs, NULL, options, job, err);
    if (!nl_inputs_expand(&join, options->join, options->join_count, err))
        return NULL;
    struct nl_trace *trace = find_or_load(inputs, &join, options, job, err);
    nl_inputs_free(&join);
    return trace;
}

struct nl_trace *nl_ingest_inputs(const struct nl_inputs *inputs,
                                  const struct nl_ingest_options *options, struct nl_job *job,
                                  struct nl_err *err)
{
    if (options->cached_as)
        *options->cached_as = 0;
    return is_trace_file(inputs) ? open_trace(&inputs->items[0], options, job, err)
                                 : ingest_files(inputs, options, job, err);
}

struct nl_trace *nl_ingest(const char *const *paths, size_t count,
                           const struct nl_ingest_options *options, struct nl_job *job,
                           struct nl_err *err)
{
    struct nl_inputs inputs;
    if (options->cached_as)
        *options->cached_as = 0;
    if (!nl_inputs_expand(&inputs, paths, count, err))
        return NULL;
    struct nl_trace *trace = nl_ingest_inputs(&inputs, options, job, err);
    nl_inputs_free(&inputs);
    return trace;
}
