/* gc: lets the cache sweep itself, and says what came of it. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/units.h"
#include "cli/folders.h"
#include "cli/output.h"
#include "ingest/cache.h"

static void print_json(FILE *out, const char *folder, const struct nl_cache_sweep *sweep,
                       bool dry_run)
{
    const struct {
        const char *key;
        uint64_t value;
    } members[] = {{"removed", sweep->removed},
                   {"removed_bytes", sweep->removed_bytes},
                   {"kept", sweep->kept},
                   {"kept_bytes", sweep->kept_bytes}};
    struct nl_json json;
    nl_json_to_stream(&json, out, 2);
    nl_json_open(&json, '{');
    nl_json_key(&json, "schema");
    nl_json_text(&json, "neurolens.gc/1");
    nl_json_key(&json, "profile");
    nl_json_null(&json);
    nl_json_key(&json, "coverage");
    nl_json_null(&json);
    nl_json_key(&json, "result");
    nl_json_open(&json, '{');
    nl_json_key(&json, "folder");
    nl_json_text(&json, folder);
    nl_json_key(&json, "dry_run");
    nl_json_bool(&json, dry_run);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        nl_json_key(&json, members[i].key);
        nl_json_u64(&json, members[i].value);
    }
    nl_json_close(&json, '}');
    nl_json_close(&json, '}');
}

static void print_text(FILE *out, const char *folder, const struct nl_cache_sweep *sweep,
                       bool dry_run)
{
    char gone[NL_UNIT_TEXT], kept[NL_UNIT_TEXT];
    fprintf(out, "%s: %s %llu, %s; kept %llu, %s\n", folder, dry_run ? "would remove" : "removed",
            (unsigned long long)sweep->removed, nl_format_bytes(gone, sweep->removed_bytes),
            (unsigned long long)sweep->kept, nl_format_bytes(kept, sweep->kept_bytes));
}

/* The same as a table of one row, for csv and md. */
static struct nl_result *as_table(const struct nl_cache_sweep *sweep)
{
    static const struct nl_result_column columns[] = {
        {"removed", "Removed", NL_MEANS_COUNT},
        {"removed_bytes", "Bytes removed", NL_MEANS_BYTES},
        {"kept", "Kept", NL_MEANS_COUNT},
        {"kept_bytes", "Bytes kept", NL_MEANS_BYTES},
    };
    struct nl_result *result = nl_result_new("gc", "Cache", columns, 4);
    struct nl_cell *cell = nl_result_row(result);
    cell[0] = nl_cell_i64((int64_t)sweep->removed);
    cell[1] = nl_cell_i64((int64_t)sweep->removed_bytes);
    cell[2] = nl_cell_i64((int64_t)sweep->kept);
    cell[3] = nl_cell_i64((int64_t)sweep->kept_bytes);
    return result;
}

static bool print(const struct nl_call *call, const char *folder,
                  const struct nl_cache_sweep *sweep, struct nl_err *err)
{
    struct nl_output output;
    bool dry_run = call->settings.dry_run, done = true;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    if (strcmp(output.view->name, "json") == 0) {
        print_json(output.stream, folder, sweep, dry_run);
    } else if (strcmp(output.view->name, "text") == 0) {
        print_text(output.stream, folder, sweep, dry_run);
    } else {
        struct nl_result *result = as_table(sweep);
        struct nl_view_options options = {0};
        done = output.view->render_result(output.stream, NULL, result, &options, err);
        nl_result_free(result);
    }
    return nl_output_close(&output, call, done, err);
}

bool nl_cmd_gc(struct nl_call *call, struct nl_err *err)
{
    char *folder = nl_cache_folder(call->settings.ledger, err);
    if (!folder)
        return false;
    bool done = true;
    if (access(folder, R_OK | W_OK | X_OK) != 0 && errno != ENOENT) {
        nl_err_at(err, folder, -1);
        done = nl_fail(err, NL_ENVIRONMENT, "cannot use the cache: %s", strerror(errno));
    }
    if (done) {
        uint64_t bound = call->settings.max_bytes;
        if (bound == UINT64_MAX)
            bound = nl_cache_bound(folder);
        struct nl_cache_sweep sweep =
            nl_cache_sweep(folder, call->settings.all ? 0 : bound, call->settings.dry_run);
        done = print(call, folder, &sweep, err);
    }
    nl_free(folder);
    return done;
}
