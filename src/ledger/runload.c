/* From a word to a document. */
#define _GNU_SOURCE
#include "ledger/runload.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/stream.h"
#include "ingest/ingest.h"
#include "ledger/runpatch.h"
#include "ledger/runrows.h"
#include "redact/redact.h"

#define MAX_SETTING ((size_t)1 << 20)

/* ---- files ---- */

/* neurolens.yaml in the folder of the first file. */
static bool read_yaml(struct nl_runload *load, struct nl_err *err)
{
    const char *path = load->inputs.items[0].path, *slash = strrchr(path, '/');
    int len = slash ? (int)(slash - path + 1) : 0;
    if (load->inputs.spool_count > 0)
        return nl_runyaml_read(&load->yaml, "", err);
    char *beside = nl_arena_format(&load->inputs.arena, "%.*sneurolens.yaml", len, path);
    return nl_runyaml_read(&load->yaml, beside, err);
}

static bool expand(struct nl_runload *load, const struct nl_add_options *options,
                   struct nl_err *err)
{
    const char **words = nl_alloc((options->join_count + 1) * sizeof *words);
    words[0] = load->word;
    for (size_t i = 0; i < options->join_count; i++)
        words[i + 1] = options->join[i];
    bool done = nl_inputs_expand(&load->inputs, words, options->join_count + 1, err);
    nl_free(words);
    return done;
}

bool nl_runload_identify(struct nl_runload *load, const char *word,
                         const struct nl_add_options *options, struct nl_job *job,
                         struct nl_err *err)
{
    *load = (struct nl_runload){.word = word};
    nl_buf_init(&load->text, NL_MAX_DOCUMENT);
    nl_ledger_fingerprint_init(&load->print, 0);
    nl_arena_init(&load->yaml.arena);
    if (!expand(load, options, err))
        return false;
    size_t count = load->inputs.count;
    load->sources = nl_zalloc(count * sizeof *load->sources);
    struct nl_digest *all = nl_digest_new(err);
    bool done = all != NULL;
    for (size_t i = 0; done && i < count; i++) {
        struct nl_rundoc_source *source = &load->sources[i];
        source->name = load->inputs.items[i].name;
        done = nl_digest_file(source->sha256, &source->bytes, load->inputs.items[i].path, job, err);
        nl_digest_add(all, source->sha256, sizeof source->sha256);
    }
    if (all)
        nl_digest_end(all, load->input);
    load->is_document = done && count == 1 && nl_rundoc_recognise(load->inputs.items[0].path);
    return done && read_yaml(load, err);
}

/* ---- settings ---- */

static void add_setting(struct nl_runload *load, const char *key, const char *value,
                        const char *origin)
{
    struct nl_buf safe;
    nl_buf_init(&safe, MAX_SETTING);
    nl_redact_text(&safe, nl_str(value));
    size_t at = 0;
    while (at < load->setting_count && strcmp(load->settings[at].key, key) != 0)
        at++;
    load->settings[at].key = key;
    load->settings[at].value =
        nl_arena_text(&load->inputs.arena, safe.ptr ? safe.ptr : "", safe.len);
    load->origins[at] = origin;
    load->setting_count += at == load->setting_count;
    nl_buf_release(&safe);
}

static void gather_settings(struct nl_runload *load, const struct nl_add_options *options,
                            const struct nl_rundoc_setting *known, size_t known_count)
{
    size_t most = known_count + options->setting_count + load->yaml.count + 1;
    load->settings = nl_zalloc(most * sizeof *load->settings);
    load->origins = nl_zalloc(most * sizeof *load->origins);
    for (size_t i = 0; i < known_count; i++)
        add_setting(load, known[i].key, known[i].value, "--set");
    for (size_t i = 0; i < options->setting_count; i++)
        add_setting(load, options->settings[i].key, options->settings[i].value, "--set");
}

/* What only neurolens.yaml says is taken from there. True when there is something. */
/* Those that are the document's: all but labels. The array is nl_free'd by the caller. */
static struct nl_rundoc_setting *without_labels(const struct nl_runload *load, size_t *count)
{
    struct nl_rundoc_setting *settings = nl_alloc((load->setting_count + 1) * sizeof *settings);
    *count = 0;
    for (size_t i = 0; i < load->setting_count; i++)
        if (!nl_rundoc_is_label(load->settings[i].key))
            settings[(*count)++] = load->settings[i];
    return settings;
}

static bool add_yaml(struct nl_runload *load)
{
    size_t before = load->setting_count;
    for (size_t i = 0; i < load->yaml.count; i++)
        if (strcmp(load->yaml.items[i].value, "null") != 0 &&
            !nl_runrows_value(load->document, load->yaml.items[i].key))
            add_setting(load, load->yaml.items[i].key, load->yaml.items[i].value, "neurolens.yaml");
    return load->setting_count > before;
}

static bool parse_text(struct nl_runload *load, struct nl_err *err)
{
    json_decref(load->document);
    load->document = nl_runrows_parse(load->text.ptr ? load->text.ptr : "", load->text.len, err);
    return load->document != NULL;
}

/* ---- a profile ---- */

/* Parses a document that was just written, but for the events of its timeline: they become no rows,
 * and are most of it. They come last, and the writer's line breaks (a text cannot hold one) show
 * where. */
static bool parse_written(struct nl_runload *load, struct nl_err *err)
{
    static const char timeline[] = "\n \"timeline\": {", events[] = "\n  \"events\": [";
    const char *end = load->text.ptr + load->text.len, *at = NULL;
    const char *begin = memmem(load->text.ptr, load->text.len, timeline, strlen(timeline));
    if (begin)
        at = memmem(begin, (size_t)(end - begin), events, strlen(events));
    if (!at)
        return parse_text(load, err);
    struct nl_buf head;
    nl_buf_init(&head, load->text.max);
    nl_buf_add(&head, load->text.ptr, (size_t)(at - load->text.ptr) + strlen(events));
    nl_buf_text(&head, "]}}");
    json_decref(load->document);
    load->document = nl_runrows_parse(head.ptr, head.len, err);
    nl_buf_release(&head);
    return load->document != NULL;
}

static struct nl_trace *load_trace(const struct nl_runload *load,
                                   const struct nl_add_options *options, struct nl_job *job,
                                   struct nl_err *err)
{
    struct nl_ingest_options ingest = {.cache_folder = options->cache_folder,
                                       .cache_bytes = options->cache_bytes,
                                       .rank = options->rank,
                                       .verify = true,
                                       .join = options->join,
                                       .join_count = options->join_count};
    if (!options->join_count)
        return nl_ingest_inputs(&load->inputs, &ingest, job, err);
    /* Standard input was read already. */
    const char *path = load->inputs.spool_count > 0 ? load->inputs.items[0].path : load->word;
    return nl_ingest(&path, 1, &ingest, job, err);
}

/* The input of that name from place `at` on, or from the first; their number when there is none. */
static size_t find_input(const struct nl_runload *load, struct nl_str name, size_t at)
{
    for (size_t tried = 0; tried < load->inputs.count; tried++, at++) {
        at = at < load->inputs.count ? at : 0;
        if (nl_str_is(name, load->sources[at].name))
            return at;
    }
    return load->inputs.count;
}

/* Of a folder, files of no known format were left out: the run is what was read. The trace lists
 * its sources in the order of the inputs, reports of kernel profilers after the others. */
static void find_used(struct nl_runload *load)
{
    const struct nl_trace *trace = load->trace;
    load->used = nl_alloc((load->inputs.count + 1) * sizeof *load->used);
    size_t at = 0;
    for (uint32_t row = 0; trace && row < trace->source.rows; row++) {
        struct nl_str file = nl_trace_name(trace, trace->source.file[row]);
        size_t found = find_input(load, file, at);
        if (found < load->inputs.count && load->used_count < load->inputs.count) {
            load->used[load->used_count++] = found;
            at = found + 1;
        }
    }
    if (load->used_count == (trace ? trace->source.rows : 0) && load->used_count)
        return;
    for (load->used_count = 0; load->used_count < load->inputs.count; load->used_count++)
        load->used[load->used_count] = load->used_count;
}

static bool write_document(struct nl_runload *load, const struct nl_runfingerprint *print,
                           struct nl_job *job, struct nl_err *err)
{
    struct nl_rundoc_source *sources = nl_alloc(load->used_count * sizeof *sources);
    for (size_t i = 0; i < load->used_count; i++)
        sources[i] = load->sources[load->used[i]];
    size_t setting_count;
    struct nl_rundoc_setting *settings = without_labels(load, &setting_count);
    struct nl_rundoc_options options = {.sources = sources,
                                        .source_count = load->used_count,
                                        .settings = settings,
                                        .setting_count = setting_count,
                                        .findings = load->findings,
                                        .print = print};
    nl_buf_clear(&load->text);
    bool done = nl_rundoc_id(load->id, sources, load->used_count, err) &&
                nl_rundoc_write(load->trace, &options, job, &load->text, err) &&
                parse_written(load, err);
    nl_free(settings);
    nl_free(sources);
    return done;
}

static bool make_findings(struct nl_runload *load, struct nl_job *job, struct nl_err *err)
{
    struct nl_analyze_options options = {0};
    load->findings = nl_findings_new(load->trace, &options, job, err);
    return load->findings != NULL;
}

static bool read_profile(struct nl_runload *load, const struct nl_add_options *options,
                         struct nl_job *job, struct nl_err *err)
{
    load->trace = load_trace(load, options, job, err);
    if (!load->trace)
        return false;
    find_used(load);
    struct nl_runfingerprint *print =
        make_findings(load, job, err) ? nl_runfingerprint_new(load->trace, NULL, job, err) : NULL;
    bool done = print && write_document(load, print, job, err) &&
                (!add_yaml(load) || write_document(load, print, job, err));
    if (done)
        nl_ledger_fingerprint_pack(&load->print, print);
    nl_runfingerprint_free(print);
    return done;
}

/* ---- a document ---- */

/* Redacts with the same rules as event names, so that a document from `export` re-imports
 * unchanged. */
static bool read_text(struct nl_runload *load, struct nl_err *err)
{
    struct nl_buf raw;
    nl_buf_init(&raw, NL_MAX_DOCUMENT);
    bool done = nl_stream_read_all(&raw, load->inputs.items[0].path, err);
    load->redacted = done && nl_redact_name(&load->text, (struct nl_str){raw.ptr, raw.len}) > 0;
    if (done && !load->redacted) {
        nl_buf_release(&load->text);
        load->text = raw;
        return true;
    }
    nl_buf_release(&raw);
    return done;
}

/* Findings need every event: a document that lists some of them is not judged. One that held
 * secrets is opened from what was kept of it, which does not. */
static bool read_document_trace(struct nl_runload *load, const struct nl_add_options *options,
                                struct nl_job *job, struct nl_err *err)
{
    if (load->redacted ||
        !json_is_true(nl_runrows_value(load->document, "coverage.timeline_complete")))
        return true;
    load->trace = load_trace(load, options, job, err);
    return load->trace && make_findings(load, job, err) &&
           nl_ledger_fingerprint_make(&load->print, load->trace, job, err);
}

static bool read_document(struct nl_runload *load, const struct nl_add_options *options,
                          struct nl_job *job, struct nl_err *err)
{
    nl_err_at(err, load->word, -1);
    if (!read_text(load, err) || !nl_runpatch_check(load->text.ptr, load->text.len, err) ||
        !parse_text(load, err))
        return false;
    const json_t *id = nl_runrows_value(load->document, "run.id");
    snprintf(load->id, sizeof load->id, "%s", json_string_value(id));
    size_t count;
    (void)add_yaml(load);
    struct nl_rundoc_setting *settings = without_labels(load, &count);
    bool done = !count || (nl_runpatch(load->document, settings, count, &load->text, err) &&
                           parse_text(load, err));
    nl_free(settings);
    if (!done)
        return false;
    nl_err_at(err, "", -1);
    find_used(load);
    return read_document_trace(load, options, job, err);
}

bool nl_runload_read(struct nl_runload *load, const struct nl_add_options *options,
                     const struct nl_rundoc_setting *known, size_t known_count, struct nl_job *job,
                     struct nl_err *err)
{
    gather_settings(load, options, known, known_count);
    return load->is_document ? read_document(load, options, job, err)
                             : read_profile(load, options, job, err);
}

void nl_runload_release(struct nl_runload *load)
{
    nl_runyaml_release(&load->yaml);
    nl_free(load->sources);
    nl_free(load->used);
    nl_free(load->settings);
    nl_free(load->origins);
    nl_buf_release(&load->text);
    json_decref(load->document);
    if (load->trace)
        nl_trace_free(load->trace);
    nl_findings_free(load->findings);
    nl_ledger_fingerprint_release(&load->print);
    nl_inputs_free(&load->inputs);
}
