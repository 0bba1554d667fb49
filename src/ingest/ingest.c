/*
 * From names to a trace: expand folders and globs, recognise each file by content, take it from the
 * cache or load it, and put all of them into one profile.
 */
#define _GNU_SOURCE
#include "ingest/ingest.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/stream.h"
#include "ingest/cache.h"
#include "ingest/inputs.h"
#include "store/tracefile.h"

const struct nl_format *const nl_formats[] = {
#define NL_FORMAT_ROW(name) &nl_format_##name,
#include "ingest/formats.def"
#undef NL_FORMAT_ROW
    NULL,
};

/* Reads the first bytes, decompressed, and fills an nl_input. */
static bool look(struct nl_input *input, const struct nl_path *from, unsigned char *head,
                 struct nl_err *err)
{
    const char *path = from->path;
    nl_err_at(err, path, -1);
    struct nl_stream *stream = nl_stream_open(path, NULL, err);
    if (!stream)
        return false;
    ssize_t got = nl_stream_read(stream, head, NL_SNIFF_BYTES, err);
    *input = (struct nl_input){.path = path,
                               .name = from->name,
                               .encoding = nl_stream_encoding(stream),
                               .head = head,
                               .head_len = got > 0 ? (size_t)got : 0,
                               .rank = nl_rank_in_name(from->name)};
    nl_stream_close(stream);
    if (got < 0)
        return false;
    if (got == 0) {
        nl_err_at(err, path, 0);
        return nl_fail(err, NL_FORMAT, "the file is empty");
    }
    return true;
}

/* What a file is that no reader takes, when it is one of those that people often give. */
static const struct stranger {
    size_t offset, length;
    const char *bytes, *what, *advice;
} strangers[] = {
#define NL_STRANGER(offset, bytes, what, advice) {offset, sizeof bytes - 1, bytes, what, advice},
#include "ingest/strangers.def"
#undef NL_STRANGER
};

static const struct stranger *stranger_of(const struct nl_input *input)
{
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        const struct stranger *it = &strangers[i];
        if (input->head_len >= it->offset + it->length &&
            memcmp(input->head + it->offset, it->bytes, it->length) == 0)
            return it;
    }
    return NULL;
}

static const struct nl_format *recognise(const struct nl_input *input, struct nl_err *err)
{
    const struct nl_format *best = NULL, *nearest = NULL;
    const char *reason = NULL;
    int best_score = 50, nearest_score = -1;
    for (size_t i = 0; nl_formats[i]; i++) {
        const char *why = NULL;
        int score = nl_formats[i]->sniff(input, &why);
        if (score > best_score) {
            best = nl_formats[i];
            best_score = score;
        } else if (why && score > nearest_score) {
            nearest_score = score;
            nearest = nl_formats[i];
            reason = why;
        }
    }
    if (best)
        return best;
    nl_err_at(err, input->path, 0);
    const struct stranger *stranger = stranger_of(input);
    if (stranger)
        (void)nl_fail(err, NL_FORMAT, "of no known format: this is %s; %s", stranger->what,
                      stranger->advice);
    else if (reason)
        (void)nl_fail(err, NL_FORMAT, "of no known format; nearest is %s, but it is %s",
                      nearest->title, reason);
    else
        (void)nl_fail(err, NL_FORMAT,
                      "of no known format; `neurolens help inputs` lists what is read");
    return NULL;
}

/* Whether a file that failed may be left out: one of many inside a folder that is of no format. */
static bool may_skip(const struct nl_inputs *inputs, size_t i, const struct nl_err *err)
{
    return inputs->items[i].from_folder && (err->code == NL_FORMAT || err->code == NL_ENVIRONMENT);
}

struct load {
    struct nl_builder *builder;
    const struct nl_ingest_options *options;
    struct nl_job *job;
    unsigned char *head;
    bool *done; /* per input: loaded with another of its recording */
    size_t loaded;
    char *skipped;         /* text of the first file left out */
    int64_t skips, failed; /* left out; those of them whose format is known */
    struct nl_err last;
};

/* Looks at the file; what it is, or NULL. */
static const struct nl_format *meet(struct load *load, const struct nl_path *path,
                                    struct nl_input *input, struct nl_err *err)
{
    if (!look(input, path, load->head, err))
        return NULL;
    if (load->options->rank != NL_NULL_I64)
        input->rank = load->options->rank;
    input->bytes = nl_file_bytes(path->path);
    return recognise(input, err);
}

static bool load_one(struct load *load, const struct nl_format *format,
                     const struct nl_input *input, struct nl_err *err)
{
    uint32_t source = nl_builder_source(load->builder, input->name, format->name);
    nl_builder_source_bytes(load->builder, source, input->bytes);
    if (input->rank != NL_NULL_I64)
        nl_builder_rank(load->builder, source, input->rank);
    nl_err_at(err, input->path, -1);
    if (format->load(load->builder, source, input, load->job, err))
        return true;
    /* Of a folder the others are read: what this one lacks is told beside its name. */
    nl_builder_coverage(load->builder, source, "failed: file not loaded", 1, err->text);
    load->failed++;
    return false;
}

/* All would count twice. */
static void tell_twin(struct load *load, const struct nl_path *path, const struct nl_path *twin)
{
    char detail[256];
    (void)snprintf(detail, sizeof detail, "%.110s beside %.110s", path->name, twin->name);
    nl_builder_coverage(load->builder, NL_NULL_ROW, "files left out: the same events as another", 1,
                        detail);
}

/* Counts a file that came to nothing, or fails for good. */
static bool settle(struct load *load, const struct nl_inputs *inputs, size_t i, bool done,
                   struct nl_err *err)
{
    if (done) {
        load->loaded++;
        return true;
    }
    if (!may_skip(inputs, i, err))
        return false;
    load->skips++;
    if (!load->skipped && load->skips > load->failed)
        load->skipped = nl_strdup(inputs->items[i].path);
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
    const char *stem = inputs->items[first].path;
    size_t count = 0;
    struct nl_err ignored;
    nl_err_clear(&ignored);
    for (size_t i = first; i < inputs->count; i++) {
        struct nl_input input;
        unsigned place = 0;
        if (load->done[i] || strncmp(inputs->items[i].path, stem, shared) != 0 ||
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
        done = settle(load, inputs, i, done && load_one(load, format, &input, err), err);
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
    return settle(load, inputs, i, format && load_one(load, format, &input, err), err);
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
            tell_twin(load, &inputs->items[i], twin);
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

static struct nl_trace *load_inputs(const struct nl_inputs *inputs,
                                    const struct nl_ingest_options *options, struct nl_job *job,
                                    struct nl_err *err)
{
    struct load load = {.builder = nl_builder_new(job),
                        .options = options,
                        .job = job,
                        .head = nl_alloc(NL_SNIFF_BYTES),
                        .done = nl_zalloc(inputs->count * sizeof *load.done)};
    bool done = load_all(&load, inputs, err);
    nl_free(load.head);
    nl_free(load.done);
    if (load.skips > load.failed) {
        const char *slash = strrchr(load.skipped, '/');
        nl_builder_coverage(load.builder, NL_NULL_ROW, "files of unknown format skipped",
                            load.skips - load.failed, slash ? slash + 1 : load.skipped);
    }
    nl_free(load.skipped);
    if (!done) {
        nl_builder_free(load.builder);
        return NULL;
    }
    nl_err_at(err, "", -1);
    return nl_builder_finish(load.builder, err);
}

/* A single .nlt file is a finished trace; it is opened as it is. */
static bool is_trace_file(const struct nl_inputs *inputs)
{
    unsigned char magic[8];
    return inputs->count == 1 && nl_file_start(inputs->items[0].path, magic, sizeof magic) == 8 &&
           nl_trace_recognise(magic, sizeof magic);
}

/* From the cache, or loaded and then kept there. */
static struct nl_trace *find_or_load(const struct nl_inputs *inputs,
                                     const struct nl_ingest_options *options, struct nl_job *job,
                                     struct nl_err *err)
{
    struct nl_cache_key key;
    bool may = options->cache_folder && nl_cache_key(&key, inputs, options->rank);
    struct nl_trace *trace =
        may ? nl_cache_find(&key, options->cache_folder, nl_job_threads(job)) : NULL;
    bool kept = trace != NULL;
    if (!trace) {
        trace = load_inputs(inputs, options, job, err);
        kept =
            trace && may && nl_cache_keep(&key, options->cache_folder, options->cache_bytes, trace);
    }
    if (kept && options->cached_as)
        *options->cached_as = key.hash;
    return trace;
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
    struct nl_trace *trace =
        is_trace_file(&inputs)
            ? nl_trace_open(inputs.items[0].path, options->verify, nl_job_threads(job), err)
            : find_or_load(&inputs, options, job, err);
    nl_inputs_free(&inputs);
    return trace;
}
