/*
 * rundoc — the run document: run.json, the strict interchange form of one run.
 *
 * nl_rundoc_write makes it from a trace; nl_rundoc_check validates any text against the schema of
 * its version (schema/run.schema.json, JSON Schema draft 2020-12, built into the program). Nothing
 * is handed out that the check refuses. Equal inputs give equal bytes: the document holds no time
 * of its making and no path of this machine. Unknown is null, never 0; times are whole ns.
 *
 * The identity of a run is the content it was read from (nl_rundoc_id), not its metadata: two
 * people who import the same files get the same id.
 */
#ifndef NL_RUNDOC_H
#define NL_RUNDOC_H

#include "findings/finding.h"
#include "fingerprint/fingerprint.h"
#include "tables/analyze.h"
#include "base/digest.h"

#define NL_RUNDOC_ID 33 /* 32 lower-case hex digits and the NUL */

/* A file the run was read from. */
struct nl_rundoc_source {
    const char *name; /* without its folder */
    char sha256[NL_DIGEST_TEXT];
    uint64_t bytes;
};

/* Metadata given by a person: `key` is a member of the document's hardware, software, workload or
 * run object in dotted form ("workload.batch_size"), `value` its text ("32", "bf16", "null"). */
#define NL_LABELS                                                                                  \
    "labels." /* keys that begin so are anybody's own; a ledger keeps them, no document does */
struct nl_rundoc_setting {
    const char *key, *value;
};

struct nl_rundoc_options {
    const struct nl_rundoc_source *sources;
    size_t source_count;
    const struct nl_rundoc_setting *settings; /* later ones win */
    size_t setting_count;
    uint64_t event_limit; /* events listed in the timeline; 0 = default, UINT64_MAX = all */
    /* Of the whole trace, borrowed, from who has them already; made when NULL. */
    const struct nl_findings *findings;
    const struct nl_runfingerprint *print;
    bool brief; /* without both: null */
};

/* What is wrong and where: `pointer` is a JSON pointer ("/timeline/events/3/dur_ns"), `keyword` the
 * violated schema keyword, "syntax" or "duplicate". */
struct nl_rundoc_fault {
    const char *pointer, *keyword, *says;
};

struct nl_rundoc_faults {
    struct nl_rundoc_fault *items;
    size_t count, cap;
    bool more; /* the list was cut at its ceiling */
    struct nl_arena arena;
};

/* The id that runs read from these sources have; their order does not matter. */
NL_MUST_CHECK bool nl_rundoc_id(char id[NL_RUNDOC_ID], const struct nl_rundoc_source *sources,
                                size_t count, struct nl_err *err);

/* The whole key of a member named alone: "batch_size" is "workload.batch_size" (no
 * two objects share a name). `word` itself when it is whole already or names nothing;
 * else it lives in the arena. */
const char *nl_rundoc_setting_key(const char *word, struct nl_arena *arena);

/* Is `key` one that may be set, and `value` one that it can have? NL_USAGE with the nearest key or
 * the values it takes otherwise. */
NL_MUST_CHECK bool nl_rundoc_setting_check(const struct nl_rundoc_setting *setting,
                                           struct nl_err *err);

/* Is the key "labels.NAME", with letters, digits and . _ - in the name? */
bool nl_rundoc_is_label(const char *key);

/* Writes the document of `trace` into `out` (an initialised buffer whose max bounds it: NL_LIMIT),
 * checked. `job` may be NULL. */
NL_MUST_CHECK bool nl_rundoc_write(const struct nl_trace *trace,
                                   const struct nl_rundoc_options *options, struct nl_job *job,
                                   struct nl_buf *out, struct nl_err *err);

/* Checks a text against the schema of its version (the newest, if it names none): true when nothing
 * is wrong with it. False with an empty list never happens. `faults` is filled in document order;
 * release it in any case. */
bool nl_rundoc_check(const char *text, size_t size, struct nl_rundoc_faults *faults);
void nl_rundoc_faults_release(struct nl_rundoc_faults *faults);

/* Is this file a run document, packed or not? It says so in its first line or two. */
bool nl_rundoc_recognise(const char *path);

/* A schema as text: "run", the one that is written, or "run-1" to "run-3" of older documents; NULL
 * when there is none of that name. */
const char *nl_rundoc_schema(const char *name);

/* The Markdown page of metrics and fields (docs/metrics.md). */
void nl_rundoc_document(struct nl_buf *out);

#endif
