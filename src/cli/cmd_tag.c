/* tag, note, rm: what people do with a run that is there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "cli/ledgercall.h"
#include "ledger/runedit.h"

struct rm_options {
    bool restore;
};

static const struct rm_options *rm_own(const struct nl_call *call)
{
    return call->own;
}

struct note_options {
    const char *at;
};

static const struct note_options *note_own(const struct nl_call *call)
{
    return call->own;
}

struct tag_options {
    bool remove, move;
};

static const struct tag_options *tag_own(const struct nl_call *call)
{
    return call->own;
}

/* One row: which run, what was done, how many times. */
static bool show_change(const struct nl_call *call, const char *id, const char *did, size_t count,
                        const char *line, struct nl_err *err)
{
    static const struct nl_result_column columns[] = {{"id", "Run", NL_MEANS_TEXT},
                                                      {"did", "Did", NL_MEANS_TEXT},
                                                      {"count", "Count", NL_MEANS_COUNT}};
    struct nl_result *result = nl_result_new(call->command->name, "", columns, 3);
    struct nl_cell *cell = nl_result_row(result);
    cell[0] = nl_cell_text(result, nl_str(id));
    cell[1] = nl_cell_text(result, nl_str(did));
    cell[2] = nl_cell_i64((int64_t)count);
    bool done = nl_ledgercall_print(call, result, line, err);
    nl_result_free(result);
    return done;
}

static const char *const tag_words[] = {
    [NL_TAG_ADD] = "added", [NL_TAG_MOVE] = "moved here", [NL_TAG_REMOVE] = "removed"};

/* "1a2b3c4d: 2 tags added", and for a tag that meant another run before, which one it means now. */
static bool tag_lines(const struct nl_call *call, struct nl_ledger *ledger, const char *id,
                      enum nl_tag_how how, const struct nl_tag_change *changes, size_t *changed,
                      struct nl_buf *line, struct nl_err *err)
{
    char before[NL_RUNDOC_ID], now[NL_RUNDOC_ID];
    size_t count = (size_t)call->count - 1;
    *changed = 0;
    for (size_t i = 0; i < count; i++)
        *changed += changes[i].changed;
    nl_buf_format(line, "%s: %zu tag%s %s", id, *changed, *changed == 1 ? "" : "s", tag_words[how]);
    for (size_t i = 0; i < count; i++) {
        if (!changes[i].means_other)
            continue;
        if (!nl_ledger_short_id(ledger, changes[i].before, before, err) ||
            (changes[i].now[0] && !nl_ledger_short_id(ledger, changes[i].now, now, err)))
            return false;
        nl_buf_format(line, "\n%s now means %s (it meant %s%s)", call->argument[i + 1],
                      changes[i].now[0] ? now : "no run", before,
                      how == NL_TAG_ADD ? ", which keeps it; --move takes it away" : "");
    }
    return true;
}

static bool tag(const struct nl_call *call, struct nl_ledger *ledger,
                const struct nl_ledger_run *run, struct nl_tag_change *changes, struct nl_err *err)
{
    char id[NL_RUNDOC_ID];
    size_t changed;
    struct nl_buf line;
    enum nl_tag_how how = tag_own(call)->remove ? NL_TAG_REMOVE
                          : tag_own(call)->move ? NL_TAG_MOVE
                                                : NL_TAG_ADD;
    if (tag_own(call)->remove && tag_own(call)->move)
        return nl_fail(err, NL_USAGE, "--remove and --move exclude each other");
    nl_buf_init(&line, (size_t)1 << 20);
    bool done = nl_ledger_tag(ledger, run, (const char *const *)call->argument + 1,
                              (size_t)call->count - 1, how, call->line, changes, err) &&
                nl_ledger_short_id(ledger, run->id, id, err) &&
                tag_lines(call, ledger, id, how, changes, &changed, &line, err) &&
                show_change(call, run->id, how == NL_TAG_REMOVE ? "removed" : "added", changed,
                            line.ptr, err);
    nl_buf_release(&line);
    return done;
}

static bool tag_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_run run;
    struct nl_ledger *ledger = nl_ledgercall_edit(call, &run, err);
    struct nl_tag_change *changes = nl_zalloc((size_t)call->count * sizeof *changes);
    bool done = ledger && tag(call, ledger, &run, changes, err);
    nl_free(changes);
    nl_ledger_close(ledger);
    return done;
}

/* "1.2s" or "1.2s:1.5s", from the first event. */
static bool parse_times(const char *text, int64_t *start, int64_t *end, struct nl_err *err)
{
    *start = *end = INT64_MIN;
    if (!text)
        return true;
    size_t len = strcspn(text, ":");
    bool good = nl_parse_ns((struct nl_str){text, len}, start);
    if (good && text[len] == ':')
        good = nl_parse_ns(nl_str(text + len + 1), end) && *end >= *start;
    return good || nl_fail(err, NL_USAGE,
                           "--at: '%s' is neither a time such as 1.2s nor a range such as "
                           "1.2s:1.5s",
                           text);
}

static bool note_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_ledger_run run;
    char line[120], id[NL_RUNDOC_ID];
    int64_t start, end;
    struct nl_ledger *ledger = NULL;
    bool done = parse_times(note_own(call)->at, &start, &end, err) &&
                (ledger = nl_ledgercall_edit(call, &run, err)) &&
                nl_ledger_note(ledger, &run, call->argument[1], start, end, call->line, err) &&
                nl_ledger_short_id(ledger, run.id, id, err);
    nl_ledger_close(ledger);
    if (!done)
        return false;
    snprintf(line, sizeof line, "%s: noted", id);
    return show_change(call, run.id, "noted", 1, line, err);
}

/* All of them are found before any is touched. */
static bool find_all(const struct nl_call *call, struct nl_ledger *ledger,
                     struct nl_ledger_run *runs, struct nl_err *err)
{
    for (int i = 0; i < call->count; i++)
        if (!nl_ledger_find(ledger, call->argument[i], rm_own(call)->restore, &runs[i], err))
            return false;
    return true;
}

static bool rm_run(struct nl_call *call, struct nl_err *err)
{
    char line[160];
    bool restore = rm_own(call)->restore;
    size_t count = (size_t)call->count;
    struct nl_ledger_run *runs = nl_zalloc(count * sizeof *runs);
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_WRITE, err);
    bool done = ledger && find_all(call, ledger, runs, err) &&
                nl_ledger_trash(ledger, runs, count, restore, call->line, err);
    nl_ledger_close(ledger);
    if (done) {
        snprintf(line, sizeof line, "%zu run%s %s the trash%s", count, count == 1 ? "" : "s",
                 restore ? "restored from" : "moved to",
                 restore ? "" : "; `neurolens gc` removes them for good");
        done = show_change(call, runs[0].id, restore ? "restored" : "trashed", count, line, err);
    }
    nl_free(runs);
    return done;
}

static const struct nl_option tag_options[] = {
    {"remove", 0, NL_OPTION_FLAG, NL_OWN(tag_options, remove), NULL, "remove the tags", NULL},
    {"move", 0, NL_OPTION_FLAG, NL_OWN(tag_options, move), NULL,
     "remove the tags from all other runs", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_tag = {
    .name = "tag",
    .group = "Ledger",
    .summary = "name a run",
    .usage = "RUN NAME…",
    .least = 2,
    .most = -1,
    NL_DEFAULTS(tag_options, 0),
    .tables = NL_TABLES(tag_options, nl_common_options),
    .help =
        "A tag names its run wherever a PROFILE is expected. Several runs can share a tag, as in\n"
        "`ls tag=nightly`; used as a name, it means the run tagged last. --move takes it from "
        "the\n"
        "other runs. A tag may look like a branch: feature/x. A file with the same name takes\n"
        "precedence.",
    .examples = "neurolens tag @ baseline nightly\n"
                "neurolens tag @~5 baseline --move        # back to an older run\n"
                "neurolens tag 1a2b3c4d --remove nightly",
    .run = tag_run,
};

static const struct nl_option note_options[] = {
    {"at", 0, NL_OPTION_TEXT, NL_OWN(note_options, at), "TIMES",
     "a time such as 1.2s, or a range such as 1.2s:1.5s, from the first event", NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_note = {
    .name = "note",
    .group = "Ledger",
    .summary = "attach a note to a run or to a time in it",
    .usage = "RUN TEXT",
    .least = 2,
    .most = 2,
    NL_DEFAULTS(note_options, 0),
    .tables = NL_TABLES(note_options, nl_common_options),
    .help = "Notes appear in `show`. With --at, a note belongs to a time within the run.",
    .examples = "neurolens note @ 'first run with the new data loader'\n"
                "neurolens note baseline 'the stall' --at 1.2s:1.5s",
    .run = note_run,
};

static const struct nl_option rm_options[] = {
    {"restore", 0, NL_OPTION_FLAG, NL_OWN(rm_options, restore), NULL, "restore them from the trash",
     NULL},
    NL_OPTIONS_END,
};

const struct nl_command nl_command_rm = {
    .name = "rm",
    .group = "Ledger",
    .summary = "move runs to the trash",
    .usage = "RUN…",
    .least = 1,
    .most = -1,
    NL_DEFAULTS(rm_options, 0),
    .tables = NL_TABLES(rm_options, nl_common_options),
    .help = "Runs in the trash are not listed; `ls --trash` shows them, --restore brings them\n"
            "back, and `gc` deletes them for good.",
    .examples = "neurolens rm @\n"
                "neurolens rm --restore 1a2b3c4d",
    .run = rm_run,
};
