/* gc: lets the ledger and its cache sweep themselves, and says what came of it. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/tempsweep.h"
#include "base/units.h"
#include "cli/folders.h"
#include "cli/ledgercall.h"
#include "ingest/cache.h"
#include "ledger/ledgergc.h"
#include "view/view.h"
#include "view/jsonview.h"

struct gc_options {
    bool dry_run, orphans;
    uint64_t max_bytes; /* UINT64_MAX = not given */
};

static const struct gc_options *gc_own(const struct nl_call *call)
{
    return call->own;
}

/* What was swept, of both. */
struct sweeps {
    struct nl_cache_sweep cache;
    struct nl_ledger_sweep ledger;
    struct nl_tempsweep temporary;
    bool dry;
};

/* Members of the answer in their order; the first four were there before the ledger had runs. */
#define MEMBERS 13
static void list_members(const struct sweeps *sweeps, uint64_t values[MEMBERS])
{
    const uint64_t all[MEMBERS] = {
        sweeps->cache.removed,          sweeps->cache.removed_bytes, sweeps->cache.kept,
        sweeps->cache.kept_bytes,       sweeps->ledger.runs,         sweeps->ledger.artefacts,
        sweeps->ledger.artefact_bytes,  sweeps->ledger.kept,         sweeps->ledger.kept_bytes,
        sweeps->ledger.orphans,         sweeps->ledger.orphan_bytes, sweeps->temporary.removed,
        sweeps->temporary.removed_bytes};
    memcpy(values, all, sizeof all);
}

static const struct nl_result_column members[MEMBERS] = {
    {"removed", "Removed", NL_MEANS_COUNT},
    {"removed_bytes", "Bytes removed", NL_MEANS_BYTES},
    {"kept", "Kept", NL_MEANS_COUNT},
    {"kept_bytes", "Bytes kept", NL_MEANS_BYTES},
    {"runs_removed", "Runs removed", NL_MEANS_COUNT},
    {"artefacts_removed", "Artefacts removed", NL_MEANS_COUNT},
    {"artefacts_removed_bytes", "Bytes removed", NL_MEANS_BYTES},
    {"artefacts_kept", "Artefacts kept", NL_MEANS_COUNT},
    {"artefacts_kept_bytes", "Bytes kept", NL_MEANS_BYTES},
    {"orphans", "Without a run", NL_MEANS_COUNT},
    {"orphans_bytes", "Bytes without a run", NL_MEANS_BYTES},
    {"temporary_removed", "Temporary files removed", NL_MEANS_COUNT},
    {"temporary_removed_bytes", "Bytes of temporary files", NL_MEANS_BYTES},
};

static void print_json(FILE *out, const char *folder, const struct sweeps *sweeps)
{
    uint64_t values[MEMBERS];
    struct nl_json json;
    list_members(sweeps, values);
    nl_view_json_begin(&json, out, "neurolens.gc/1");
    nl_json_open(&json, '{');
    nl_json_key(&json, "folder");
    nl_json_text(&json, folder);
    nl_json_key(&json, "dry_run");
    nl_json_bool(&json, sweeps->dry);
    for (size_t i = 0; i < MEMBERS; i++) {
        nl_json_key(&json, members[i].name);
        nl_json_u64(&json, values[i]);
    }
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
}

static void print_text(FILE *out, const char *folder, const struct sweeps *sweeps)
{
    char gone[NL_UNIT_TEXT], kept[NL_UNIT_TEXT];
    const char *would = sweeps->dry ? "would remove" : "removed";
    fprintf(out, "%s: %s %llu, %s; kept %llu, %s\n", folder, would,
            (unsigned long long)sweeps->cache.removed,
            nl_format_bytes(gone, sweeps->cache.removed_bytes),
            (unsigned long long)sweeps->cache.kept,
            nl_format_bytes(kept, sweeps->cache.kept_bytes));
    if (sweeps->temporary.removed)
        fprintf(out, "temporary files that killed commands left: %s %llu, %s\n", would,
                (unsigned long long)sweeps->temporary.removed,
                nl_format_bytes(gone, sweeps->temporary.removed_bytes));
    if (!sweeps->ledger.runs && !sweeps->ledger.artefacts && !sweeps->ledger.kept)
        return;
    fprintf(out, "runs: %s %llu from the trash; artefacts: %s %llu, %s; kept %llu, %s\n", would,
            (unsigned long long)sweeps->ledger.runs, would,
            (unsigned long long)sweeps->ledger.artefacts,
            nl_format_bytes(gone, sweeps->ledger.artefact_bytes),
            (unsigned long long)sweeps->ledger.kept,
            nl_format_bytes(kept, sweeps->ledger.kept_bytes));
    if (sweeps->ledger.orphans)
        fprintf(
            out,
            "%llu artefacts (%s) belong to no run and were kept: `neurolens ledger rebuild` makes "
            "runs of them, gc --orphans removes them\n",
            (unsigned long long)sweeps->ledger.orphans,
            nl_format_bytes(kept, sweeps->ledger.orphan_bytes));
}

/* The same as a table of one row, for csv and md. */
static struct nl_result *as_table(const struct sweeps *sweeps)
{
    uint64_t values[MEMBERS];
    struct nl_result *result = nl_result_new("gc", "Swept", members, MEMBERS);
    struct nl_cell *cell = nl_result_row(result);
    list_members(sweeps, values);
    for (size_t i = 0; i < MEMBERS; i++)
        cell[i] = nl_cell_i64((int64_t)values[i]);
    return result;
}

static bool print(const struct nl_call *call, const char *folder, const struct sweeps *sweeps,
                  struct nl_err *err)
{
    struct nl_output output;
    bool done = true;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    if (strcmp(output.view->name, "json") == 0) {
        print_json(output.stream, folder, sweeps);
    } else if (strcmp(output.view->name, "text") == 0) {
        print_text(output.stream, folder, sweeps);
    } else {
        struct nl_result *result = as_table(sweeps);
        struct nl_view_options options = {0};
        done = output.view->render_result(output.stream, NULL, result, &options, err);
        nl_result_free(result);
    }
    return nl_output_close(&output, call, done, err);
}

static bool sweep_cache(const struct nl_call *call, const char *folder, struct sweeps *sweeps,
                        struct nl_err *err)
{
    if (access(folder, R_OK | W_OK | X_OK) != 0 && errno != ENOENT) {
        nl_err_at(err, folder, -1);
        return nl_fail(
            err, NL_ENVIRONMENT,
            "cannot use the cache: %s; it must be readable and writable, or name another with "
            "--ledger",
            strerror(errno));
    }
    uint64_t bound = gc_own(call)->max_bytes;
    if (bound == UINT64_MAX)
        bound = nl_cache_bound(folder);
    sweeps->temporary = nl_tempsweep(sweeps->dry);
    sweeps->cache = nl_cache_sweep(folder, call->settings.all ? 0 : bound, sweeps->dry);
    return true;
}

/* Read first: a ledger that was never made is not made now. */
static bool sweep_ledger(const struct nl_call *call, struct sweeps *sweeps, struct nl_err *err)
{
    struct nl_ledger_sweep_options options = {.dry = sweeps->dry, .orphans = gc_own(call)->orphans};
    bool there;
    if (!nl_ledgercall_there(call, &there, err))
        return false;
    struct nl_ledger *ledger =
        nl_ledgercall_open(call, sweeps->dry || !there ? NL_LEDGER_READ : NL_LEDGER_WRITE, err);
    bool done = ledger && (!there || nl_ledger_sweep(ledger, &options, &sweeps->ledger, err));
    nl_ledger_close(ledger);
    return done;
}

static bool gc_run(struct nl_call *call, struct nl_err *err)
{
    struct sweeps sweeps = {.dry = gc_own(call)->dry_run};
    char *folder = nl_cache_folder(call->settings.ledger, err);
    bool done = folder && sweep_ledger(call, &sweeps, err) &&
                sweep_cache(call, folder, &sweeps, err) && print(call, folder, &sweeps, err);
    nl_free(folder);
    return done;
}

static const struct nl_option gc_options[] = {
    {"max", 0, NL_OPTION_SIZE, NL_OWN(gc_options, max_bytes), "SIZE",
     "shrink the cache to this size (default: its built-in limit)", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "remove every cached profile", NULL},
    {"orphans", 0, NL_OPTION_FLAG, NL_OWN(gc_options, orphans), NULL,
     "also delete artefacts that belong to no run (`ledger check` lists them, `ledger rebuild` "
     "uses them)",
     NULL},
    {"dry-run", 0, NL_OPTION_FLAG, NL_OWN(gc_options, dry_run), NULL,
     "only print what would be deleted", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_gc = {
    .name = "gc",
    .group = "Ledger",
    .summary = "empty the trash and shrink the cache",
    .usage = "",
    .least = 0,
    .most = 0,
    NL_DEFAULTS(gc_options, .max_bytes = UINT64_MAX),
    .tables = NL_TABLES(gc_options, nl_common_options),
    .help =
        "Deletes the runs in the trash for good, with everything the ledger keeps for them. Then "
        "it\n"
        "evicts the least recently used cached profiles and reports until the cache fits its "
        "limit,\n"
        "and removes temporary files that interrupted commands left behind, if older than a day.\n"
        "Cached data is rebuilt when needed. Artefacts that belong to no run are kept: they may "
        "be\n"
        "all that is left of a lost database. --orphans deletes those older than a day.",
    .examples = "neurolens gc --dry-run\n"
                "neurolens gc --max 2GiB",
    .run = gc_run,
};
