/* ledger check, rebuild, merge: the ledger as a whole. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/folders.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/progress.h"
#include "ledger/ledgercheck.h"
#include "ledger/ledgermerge.h"
#include "ledger/ledgerrebuild.h"

struct ledger_options {
    bool quick;
};

static const struct ledger_options *ledger_own(const struct nl_call *call)
{
    return call->own;
}

static const char *const verb_names[] = {"check", "rebuild", "merge", NULL};

static const struct nl_option ledger_options[] = {
    {"quick", 0, NL_OPTION_FLAG, NL_OWN(ledger_options, quick), NULL,
     "check: compare sizes of artefacts, not their contents", NULL},
    NL_OPTIONS_END,
};

/* ---- check ---- */

static void print_faults(FILE *out, const struct nl_result *result)
{
    for (size_t row = 0; row < result->rows; row++) {
        const struct nl_cell *cell = nl_result_cell(result, row, 0);
        fprintf(out, "%.*s: ", (int)cell[0].text.len, cell[0].text.ptr);
        if (cell[1].type == NL_CELL_TEXT)
            fprintf(out, "run %.8s: ", cell[1].text.ptr);
        fprintf(out, "%.*s\n  → %.*s\n", (int)cell[2].text.len, cell[2].text.ptr,
                (int)cell[3].text.len, cell[3].text.ptr);
    }
    fprintf(out, "%s\n", result->note);
}

static bool check(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_check_options options = {.quick = ledger_own(call)->quick};
    struct nl_output output;
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    struct nl_result *result = ledger ? nl_ledger_check(ledger, &options, call->job, err) : NULL;
    nl_ledger_close(ledger);
    nl_progress_quiet(call->progress);
    if (!result)
        return false;
    bool done = nl_output_open(&output, call, NULL, 0, err);
    if (done) {
        struct nl_view_options view = {.width = output.width, .color = output.color, .all = true};
        if (strcmp(output.view->name, "text") == 0)
            print_faults(output.stream, result);
        else
            done = output.view->render_result(output.stream, NULL, result, &view, err);
        done = nl_output_close(&output, call, done, err);
    }
    call->status = result->rows ? 1 : 0;
    nl_result_free(result);
    return done;
}

/* ---- tables of one row, and lines for eyes ---- */

struct figure {
    const char *name;
    uint64_t value;
    enum nl_meaning meaning;
};

static bool print_figures(const struct nl_call *call, const struct figure *figures, size_t count,
                          const char *line, struct nl_err *err)
{
    struct nl_result_column columns[8];
    for (size_t i = 0; i < count; i++)
        columns[i] = (struct nl_result_column){figures[i].name, NULL, figures[i].meaning};
    struct nl_result *result = nl_result_new("ledger", "", columns, count);
    struct nl_cell *cell = nl_result_row(result);
    for (size_t i = 0; i < count; i++)
        cell[i] = nl_cell_i64((int64_t)figures[i].value);
    bool done = nl_ledgercall_print(call, result, line, err);
    nl_result_free(result);
    return done;
}

static void put_rebuilt(struct nl_buf *line, const struct nl_ledger_rebuilt *rebuilt)
{
    if (rebuilt->aside[0])
        nl_buf_format(line, "ledger.db was damaged and is now %s\n", rebuilt->aside);
    nl_buf_format(line, "%llu runs were there; %llu came back from their cards",
                  (unsigned long long)rebuilt->before, (unsigned long long)rebuilt->from_cards);
    if (rebuilt->from_documents)
        nl_buf_format(line,
                      "; %llu from their documents alone, without tags and notes (%llu without "
                      "a trace)",
                      (unsigned long long)rebuilt->from_documents,
                      (unsigned long long)rebuilt->without_trace);
    if (rebuilt->cards)
        nl_buf_format(line, "; %llu cards written", (unsigned long long)rebuilt->cards);
    if (rebuilt->spare_documents)
        nl_buf_format(line, "; %llu older documents of runs that are there stay as they are",
                      (unsigned long long)rebuilt->spare_documents);
    if (rebuilt->failed)
        nl_buf_format(line, "\n%llu could not be taken back; the first: %s",
                      (unsigned long long)rebuilt->failed, rebuilt->failure);
}

static bool rebuild(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_rebuilt rebuilt;
    struct nl_buf line;
    char *folder = nl_ledger_folder(call->settings.ledger, err);
    bool done = folder && nl_ledger_rebuild(folder, &rebuilt, call->job, err);
    nl_free(folder);
    nl_progress_quiet(call->progress);
    if (!done)
        return false;
    const struct figure figures[] = {
        {"runs_before", rebuilt.before, NL_MEANS_COUNT},
        {"runs_from_cards", rebuilt.from_cards, NL_MEANS_COUNT},
        {"runs_from_documents", rebuilt.from_documents, NL_MEANS_COUNT},
        {"runs_without_trace", rebuilt.without_trace, NL_MEANS_COUNT},
        {"cards_written", rebuilt.cards, NL_MEANS_COUNT},
        {"spare_documents", rebuilt.spare_documents, NL_MEANS_COUNT},
        {"failed", rebuilt.failed, NL_MEANS_COUNT}};
    nl_buf_init(&line, (size_t)1 << 16);
    put_rebuilt(&line, &rebuilt);
    done = print_figures(call, figures, sizeof figures / sizeof figures[0], line.ptr, err);
    nl_buf_release(&line);
    call->status = rebuilt.failed ? 1 : 0;
    return done;
}

/* ---- merge ---- */

/* A ledger by its folder, or by the folder it was made in. */
static struct nl_ledger *open_named(const char *word, enum nl_ledger_mode mode, struct nl_err *err)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    const char *inside = nl_arena_format(&arena, "%s/.neurolens", word);
    const char *folder = !nl_ledger_exists(word) && nl_is_folder(inside) ? inside : word;
    struct nl_ledger *ledger = NULL;
    if (mode == NL_LEDGER_READ && !nl_ledger_exists(folder)) {
        nl_err_at(err, folder, -1);
        (void)nl_fail(err, NL_IO, "no ledger found here");
    } else {
        ledger = nl_ledger_open(folder, mode, err);
    }
    nl_arena_free(&arena);
    return ledger;
}

static bool merge_ledgers(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_merged merged = {0};
    char line[200], bytes[NL_UNIT_TEXT];
    if (call->count != 3)
        return nl_fail(err, NL_USAGE, "ledger merge takes two ledgers: FROM and INTO");
    struct nl_ledger *from = open_named(call->argument[1], NL_LEDGER_READ, err);
    struct nl_ledger *into = from ? open_named(call->argument[2], NL_LEDGER_WRITE, err) : NULL;
    bool done = into && nl_ledger_merge(from, into, call->line, &merged, call->job, err);
    nl_ledger_close(from);
    nl_ledger_close(into);
    nl_progress_quiet(call->progress);
    if (!done)
        return false;
    const struct figure figures[] = {{"runs_copied", merged.runs, NL_MEANS_COUNT},
                                     {"runs_joined", merged.joined, NL_MEANS_COUNT},
                                     {"runs_same", merged.same, NL_MEANS_COUNT},
                                     {"artefacts_bytes", merged.artefact_bytes, NL_MEANS_BYTES}};
    snprintf(line, sizeof line,
             "%llu runs copied (%s); of those that both have, %llu got tags or notes and %llu had "
             "nothing new",
             (unsigned long long)merged.runs, nl_format_bytes(bytes, merged.artefact_bytes),
             (unsigned long long)merged.joined, (unsigned long long)merged.same);
    return print_figures(call, figures, sizeof figures / sizeof figures[0], line, err);
}

static bool ledger_run(struct nl_call *call, struct nl_err *err)
{
    static const struct {
        const char *name;
        bool (*run)(struct nl_call *call, struct nl_err *err);
        int most;
    } verbs[] = {{"check", check, 1}, {"rebuild", rebuild, 1}, {"merge", merge_ledgers, 3}};
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(call->argument[0], verbs[i].name) != 0)
            continue;
        if (call->count > verbs[i].most)
            return nl_fail(err, NL_USAGE,
                           "ledger %s takes no more arguments; --ledger names the ledger",
                           verbs[i].name);
        return verbs[i].run(call, err);
    }
    return nl_fail(err, NL_USAGE, "'%s' is not one of check, rebuild, merge", call->argument[0]);
}

const struct nl_command nl_command_ledger = {
    .name = "ledger",
    .group = "Ledger",
    .summary = "check, rebuild or merge ledgers",
    .usage = "check|rebuild|merge [FROM INTO]",
    .least = 1,
    .most = 3,
    NL_DEFAULTS(ledger_options, 0),
    .tables = NL_TABLES(ledger_options, nl_common_options),
    .help =
        "check verifies everything: database pages and references, the content of every artefact,\n"
        "artefacts without a run, and the cards (a small file per run that holds its row). It\n"
        "changes nothing and exits with 1 if it finds a problem.\n"
        "rebuild recreates the database from cards and artefacts after it was lost, emptied or\n"
        "damaged; a damaged database is renamed, never deleted. merge copies the runs of the "
        "ledger\n"
        "FROM into the ledger INTO, with traces, tags and notes; runs that both have are kept "
        "once.",
    .examples = "neurolens ledger check\n"
                "neurolens ledger check --quick --format json\n"
                "neurolens ledger rebuild --ledger /srv/perf/.neurolens\n"
                "neurolens ledger merge ~/laptop/.neurolens /srv/perf/.neurolens",
    .words = verb_names,
    .run = ledger_run,
};
