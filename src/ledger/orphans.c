/* Which orphans there are, and which belong together. */
#define _GNU_SOURCE
#include "ledger/orphans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "ledger/ledgerdb.h"
#include "ledger/runcard.h"
#include "ledger/runrows.h"
#include "store/tracefile.h"

#define MAX_FILES ((size_t)1 << 20)

static bool see(void *context, const struct nl_artefact_file *file, struct nl_err *err)
{
    struct nl_orphans *orphans = context;
    int64_t known;
    if (nl_job_cancelled(orphans->job))
        return nl_fail(err, NL_INTERRUPTED, "stopped on request");
    if (!nl_ledgerdb_number(orphans->ledger, &known, 0, err,
                            "SELECT EXISTS (SELECT 1 FROM artefacts WHERE sha256 = ?1) OR "
                            "EXISTS (SELECT 1 FROM released WHERE sha256 = ?1)",
                            "t", file->sha256))
        return false;
    enum nl_artefact_kind kind =
        known ? NL_ARTEFACT_SOURCE : nl_artefact_kind_of(orphans->ledger->folder, file->sha256);
    if (kind != NL_ARTEFACT_DOCUMENT && kind != NL_ARTEFACT_TRACE)
        return true;
    struct nl_orphan_list *list =
        kind == NL_ARTEFACT_DOCUMENT ? &orphans->documents : &orphans->traces;
    nl_grow(&list->items, &list->cap, list->count + 1);
    struct nl_orphan *orphan = &list->items[list->count++];
    *orphan = (struct nl_orphan){.written_ns = (int64_t)file->info.st_mtim.tv_sec * 1000000000 +
                                               file->info.st_mtim.tv_nsec};
    snprintf(orphan->sha256, sizeof orphan->sha256, "%s", file->sha256);
    return true;
}

static int newest_first(const void *left, const void *right)
{
    const struct nl_orphan *a = left, *b = right;
    if (a->written_ns != b->written_ns)
        return a->written_ns > b->written_ns ? -1 : 1;
    return strcmp(a->sha256, b->sha256);
}

/* What shows which document a trace belongs to. */
static void describe(struct nl_orphans *orphans, struct nl_orphan *orphan,
                     const struct nl_trace *trace)
{
    struct nl_buf files;
    nl_buf_init(&files, MAX_FILES);
    for (uint32_t row = 0; row < trace->source.rows; row++) {
        struct nl_str name = nl_trace_name(trace, trace->source.file[row]);
        nl_buf_add(&files, name.ptr, name.len);
        nl_buf_char(&files, '\n');
    }
    bool timed = trace->last_ts >= trace->first_ts;
    orphan->files = nl_arena_text(&orphans->arena, files.len ? files.ptr : "", files.len);
    orphan->origin_ns = timed ? trace->first_ts : NL_NULL_I64;
    orphan->duration_ns = timed ? trace->last_ts - trace->first_ts : NL_NULL_I64;
    nl_buf_release(&files);
}

/* A trace of another version of the program cannot be opened, and stays an orphan. */
static void open_trace(struct nl_orphans *orphans, struct nl_orphan *orphan)
{
    struct nl_err ignored;
    struct nl_map map;
    const char *folder = orphans->ledger->folder;
    char *path = nl_arena_format(&orphans->arena, "%s/artefacts/new.XXXXXX", folder);
    int fd = mkostemp(path, 0);
    nl_err_clear(&ignored);
    if (fd < 0)
        return;
    close(fd);
    if (nl_artefact_unpack(folder, orphan->sha256, path, orphans->job, &ignored)) {
        if (nl_map_open(&map, path, &ignored)) {
            orphan->bytes = map.size;
            nl_map_close(&map);
        }
        struct nl_trace *trace = nl_trace_open(path, false, nl_job_threads(orphans->job), &ignored);
        if (trace) {
            describe(orphans, orphan, trace);
            nl_trace_free(trace);
        }
    }
    unlink(path);
}

bool nl_orphans_find(struct nl_orphans *orphans, struct nl_ledger *ledger, struct nl_job *job,
                     struct nl_err *err)
{
    *orphans = (struct nl_orphans){.ledger = ledger, .job = job};
    nl_arena_init(&orphans->arena);
    if (!nl_artefact_walk(ledger->folder, see, orphans, err))
        return false;
    if (orphans->documents.count)
        qsort(orphans->documents.items, orphans->documents.count, sizeof(struct nl_orphan),
              newest_first);
    for (size_t i = 0; orphans->documents.count && i < orphans->traces.count; i++) {
        if (nl_job_cancelled(job))
            return nl_fail(err, NL_INTERRUPTED, "stopped on request");
        open_trace(orphans, &orphans->traces.items[i]);
    }
    return true;
}

void nl_orphans_release(struct nl_orphans *orphans)
{
    nl_free(orphans->documents.items);
    nl_free(orphans->traces.items);
    nl_arena_free(&orphans->arena);
}

/* ---- a card of a document ---- */

static int64_t number_at(const json_t *document, const char *place)
{
    const json_t *value = nl_runrows_value(document, place);
    return json_is_integer(value) ? (int64_t)json_integer_value(value) : NL_NULL_I64;
}

static struct nl_orphan *find_trace(struct nl_orphans *orphans, const json_t *document)
{
    const json_t *sources = nl_runrows_value(document, "run.sources");
    struct nl_orphan *found = NULL;
    struct nl_buf files;
    nl_buf_init(&files, MAX_FILES);
    for (size_t i = 0; i < json_array_size(sources); i++)
        nl_buf_format(&files, "%s\n",
                      json_string_value(json_object_get(json_array_get(sources, i), "name")));
    for (size_t i = 0; !found && files.len && i < orphans->traces.count; i++) {
        struct nl_orphan *trace = &orphans->traces.items[i];
        if (trace->files && !trace->taken && strcmp(trace->files, files.ptr) == 0 &&
            trace->origin_ns == number_at(document, "timeline.origin_ns") &&
            trace->duration_ns == number_at(document, "timeline.duration_ns"))
            found = trace;
    }
    nl_buf_release(&files);
    return found;
}

static void put_artefact(json_t *card, const char *role, size_t ordinal, const char *sha256,
                         int64_t bytes)
{
    json_array_append_new(json_object_get(card, "artefacts"),
                          json_pack("{sssIsssI}", "role", role, "ordinal", (json_int_t)ordinal,
                                    "sha256", sha256, "bytes", (json_int_t)bytes));
}

/* The files that the document names, as sources, and as artefacts when all of them were kept. */
static bool put_sources(struct nl_orphans *orphans, json_t *card, const json_t *sources,
                        struct nl_err *err)
{
    char input[NL_DIGEST_TEXT];
    bool kept = json_array_size(sources) > 0;
    struct nl_digest *digest = nl_digest_new(err);
    if (!digest)
        return false;
    for (size_t i = 0; i < json_array_size(sources); i++) {
        char sha256[NL_DIGEST_TEXT] = "";
        const json_t *source = json_array_get(sources, i);
        const char *text = json_string_value(json_object_get(source, "sha256"));
        snprintf(sha256, sizeof sha256, "%s", text ? text : "");
        nl_digest_add(digest, sha256, sizeof sha256);
        kept =
            kept && nl_digest_is_text(sha256) && nl_artefact_touch(orphans->ledger->folder, sha256);
        json_array_append_new(json_object_get(card, "sources"),
                              json_pack("{sIsOsOsOsn}", "ordinal", (json_int_t)i, "name",
                                        json_object_get(source, "name"), "sha256",
                                        json_object_get(source, "sha256"), "bytes",
                                        json_object_get(source, "bytes"), "path"));
    }
    nl_digest_end(digest, input);
    json_object_set_new(card, "input", json_string(input));
    for (size_t i = 0; kept && i < json_array_size(sources); i++) {
        const json_t *source = json_array_get(sources, i);
        put_artefact(card, "source", i, json_string_value(json_object_get(source, "sha256")),
                     (int64_t)json_integer_value(json_object_get(source, "bytes")));
    }
    return true;
}

static json_t *empty_card(const json_t *document, const json_t *sources, int64_t written_ns,
                          const char *form)
{
    char name[300];
    const char *first = json_string_value(json_object_get(json_array_get(sources, 0), "name"));
    size_t count = json_array_size(sources);
    if (count > 1)
        snprintf(name, sizeof name, "%.200s and %zu more", first ? first : "", count - 1);
    else
        snprintf(name, sizeof name, "%.255s", first ? first : "");
    return json_pack("{sssssssssIsns[]s[]s[]s[]s[]s[]s[]}", "schema", NL_CARD_SCHEMA, "id",
                     json_string_value(nl_runrows_value(document, "run.id")), "name", name, "form",
                     form, "added_ns", (json_int_t)written_ns, "removed_ns", "tags", "notes",
                     "provenance", "settings", "sources", "artefacts", "findings");
}

json_t *nl_orphans_card(struct nl_orphans *orphans, size_t i, const json_t *document, size_t bytes,
                        struct nl_err *err)
{
    const struct nl_orphan *orphan = &orphans->documents.items[i];
    const json_t *sources = nl_runrows_value(document, "run.sources");
    struct nl_orphan *trace = find_trace(orphans, document);
    json_t *card =
        empty_card(document, sources, orphan->written_ns, trace ? "profile" : "document");
    if (!card || !put_sources(orphans, card, sources, err)) {
        json_decref(card);
        (void)nl_fail(err, NL_FORMAT, "this run document cannot be restored");
        return NULL;
    }
    put_artefact(card, "document", 0, orphan->sha256, (int64_t)bytes);
    if (trace) {
        put_artefact(card, "trace", 0, trace->sha256, (int64_t)trace->bytes);
        trace->taken = true;
    }
    if (nl_runcard_check(card, err))
        return card;
    json_decref(card);
    return NULL;
}
