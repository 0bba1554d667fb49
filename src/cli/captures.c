/* See captures.h. */
#include "cli/captures.h"
#include "cli/capturefacts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "ingest/inputs.h"
#include "ingest/unpack.h"
#include "ledger/runlist.h"
#include "tables/lookup.h"
#include "tables/memo.h"

/* ---- words ---- */

size_t nl_captures_split(struct nl_arena *arena, const char *word, char ***parts)
{
    size_t count = 1, at = 0, depth = 0;
    for (const char *c = word; *c; c++)
        count += *c == ',';
    *parts = nl_arena_alloc(arena, count * sizeof **parts);
    if (nl_input_plausible(word) && word[0] != '@') {
        (*parts)[0] = nl_arena_text(arena, word, strlen(word));
        return 1;
    }
    const char *from = word;
    for (const char *c = word;; c++) {
        depth += *c == '[';
        depth -= *c == ']' && depth;
        if (*c && (*c != ',' || depth))
            continue;
        if (c > from)
            (*parts)[at++] = nl_arena_text(arena, from, (size_t)(c - from));
        if (!*c)
            break;
        from = c + 1;
    }
    return at;
}

static struct nl_capture_input *new_item(struct nl_captures *captures, const char *name)
{
    nl_grow(&captures->items, &captures->cap, captures->count + 1);
    struct nl_capture_input *item = &captures->items[captures->count++];
    *item = (struct nl_capture_input){.name = nl_arena_text(&captures->arena, name, strlen(name))};
    return item;
}

/* ---- folders in which the files of one rank repeat ---- */

static bool has_clock(const struct nl_trace *trace)
{
    for (uint32_t i = 0; i < trace->source.rows; i++)
        if (trace->source.epoch_ns[i] == NL_NULL_I64)
            return false;
    return true;
}

/* Two devices of no rank and one number, one after the other, are not one capture; at the same time
 * they are two processes of one. Without times of day it is unknown: files named as one side are
 * repeats. */
static bool device_repeats(const struct nl_trace *trace)
{
    struct nl_window window = {0};
    size_t count;
    bool repeats = false, clock = has_clock(trace);
    struct nl_memo *memo = nl_memo_new(trace, &window);
    const struct nl_device_breakdown *rows = nl_memo_breakdown(memo, &count);
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i && !repeats; k++) {
            const struct nl_device_breakdown *a = &rows[i], *b = &rows[k];
            bool apart =
                a->start_ns >= b->start_ns + b->wall_ns || b->start_ns >= a->start_ns + a->wall_ns;
            repeats = a->rank == NL_NULL_I64 && b->rank == NL_NULL_I64 &&
                      a->ordinal == b->ordinal && a->ordinal != NL_NULL_I64 && (apart || !clock);
        }
    nl_memo_free(memo);
    return repeats;
}

/* Files of one rank and one format: what else was recorded of a rank (a
 * snapshot, a log) goes with it. */
static bool rank_repeats(const struct nl_trace *trace)
{
    const struct nl_source_table *source = &trace->source;
    bool one_format = true;
    for (uint32_t i = 0; i < source->rows; i++)
        for (uint32_t k = 0; k < i; k++) {
            bool same = source->format[i] == source->format[k];
            if (same && source->rank[i] == source->rank[k] && source->rank[i] != NL_NULL_I64)
                return true;
            one_format = one_format && same;
        }
    return one_format && source->rows > 1 && device_repeats(trace);
}

/* How many files of the same rank (NULL: of none) come before this one. */
static size_t turn_of(const struct nl_trace *trace, uint32_t source)
{
    size_t turn = 0;
    for (uint32_t i = 0; i < source; i++)
        turn += trace->source.rank[i] == trace->source.rank[source] &&
                trace->source.format[i] == trace->source.format[source];
    return turn;
}

static const char *path_of(const struct nl_inputs *inputs, struct nl_str name)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (nl_str_is(name, inputs->items[i].name))
            return inputs->items[i].where;
    return NULL;
}

/* Loads the n-th file of every rank as one capture; false without err when there are no more. */
static bool load_turn(struct nl_captures *captures, const struct nl_trace *all,
                      const struct nl_inputs *inputs, size_t turn, const struct nl_call *call,
                      struct nl_err *err)
{
    struct nl_input_words words = {0};
    nl_arena_init(&words.arena);
    words.paths =
        nl_arena_alloc(&words.arena, (all->source.rows + (size_t)1) * sizeof *words.paths);
    for (uint32_t i = 0; i < all->source.rows; i++) {
        const char *path = path_of(inputs, nl_trace_name(all, all->source.file[i]));
        if (path && turn_of(all, i) == turn)
            words.paths[words.count++] = nl_arena_text(&words.arena, path, strlen(path));
    }
    if (!words.count) {
        nl_input_release(&words);
        return false;
    }
    struct nl_capture_input *item = new_item(captures, words.paths[0]);
    item->words = words;
    item->trace = nl_input_load(&item->words, call, err);
    return item->trace != NULL;
}

/* The files of the words, those within archives by their places. */
static bool expand_all(struct nl_inputs *inputs, const char *const *paths, size_t count,
                       struct nl_job *job, struct nl_err *err)
{
    struct nl_inputs packed;
    if (!nl_inputs_expand(inputs, paths, count, err))
        return false;
    if (!nl_inputs_packed(inputs))
        return true;
    packed = *inputs;
    bool done = nl_unpack(inputs, &packed, job, err);
    nl_inputs_free(&packed);
    return done;
}

/* Takes a capture apart whose files repeat; it is replaced by those. */
static bool take_apart(struct nl_captures *captures, const struct nl_call *call, struct nl_err *err)
{
    struct nl_capture_input whole = captures->items[captures->count - 1];
    struct nl_inputs inputs;
    size_t turns = 0;
    captures->count--;
    nl_err_clear(err);
    bool done = expand_all(&inputs, whole.words.paths, whole.words.count, call->job, err);
    while (done && turns < NL_MAX_CAPTURES &&
           load_turn(captures, whole.trace, &inputs, turns, call, err))
        captures->items[captures->count - 1].words.window = whole.words.window, turns++;
    done = done && err->code == NL_OK;
    if (done && turns)
        nl_message_note(call, "%s holds %zu captures of the same ranks; each counts for itself",
                        whole.name, turns);
    nl_inputs_free(&inputs);
    if (done && !turns) { /* its files go under other names: leave it whole */
        nl_grow(&captures->items, &captures->cap, captures->count + 1);
        captures->items[captures->count++] = whole;
        return true;
    }
    nl_trace_free(whole.trace);
    nl_input_release(&whole.words);
    return done;
}

/* A recording of many processes is one file, and a run of the ledger is
 * none: neither is taken apart. */
static bool is_many_files(const struct nl_input_words *words)
{
    struct nl_inputs inputs;
    struct nl_err ignored;
    nl_err_clear(&ignored);
    if (strcmp(words->paths[0], "-") == 0 || access(words->paths[0], F_OK) != 0)
        return strpbrk(words->paths[0], "*?[") != NULL;
    bool many = nl_inputs_expand(&inputs, words->paths, words->count, &ignored) &&
                (inputs.count > 1 || nl_inputs_packed(&inputs));
    nl_inputs_free(&inputs);
    return many;
}

static bool load_word(struct nl_captures *captures, char *word, const struct nl_call *call,
                      struct nl_err *err)
{
    struct nl_capture_input *item = new_item(captures, word);
    if (!nl_input_read(&item->words, &word, 1, err))
        return false;
    item->trace = nl_input_load(&item->words, call, err);
    if (!item->trace)
        return false;
    if (item->trace->source.rows < 2 || !is_many_files(&item->words) || !rank_repeats(item->trace))
        return true;
    return take_apart(captures, call, err);
}

/* ---- runs of the ledger by tag or branch ---- */

static bool load_runs(struct nl_captures *captures, const char *key, const char *word,
                      const struct nl_call *call, struct nl_err *err)
{
    const char *cut = strrchr(word, '~');
    char *end = NULL;
    unsigned long most = cut ? strtoul(cut + 1, &end, 10) : NL_MAX_CAPTURES;
    if (cut && (!cut[1] || *end || !most || most > NL_MAX_CAPTURES))
        return nl_fail(err, NL_USAGE, "%s: after ~ comes how many of the newest runs, 1 to %d",
                       word, NL_MAX_CAPTURES);
    int len = cut ? (int)(cut - word) : (int)strlen(word);
    const char *filter = nl_arena_format(&captures->arena, "%s=%.*s", key, len, word);
    struct nl_list_options options = {
        .filters = &filter, .filter_count = 1, .columns = "id", .limit = most};
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    struct nl_result *runs = ledger ? nl_ledger_list(ledger, &options, err) : NULL;
    nl_ledger_close(ledger);
    bool done = runs != NULL;
    if (done && !runs->rows)
        done = nl_fail(err, NL_IO, "no run has %s; `neurolens ls` lists the runs", filter);
    for (size_t i = 0; done && i < runs->rows; i++) {
        struct nl_str id = nl_lookup_text(runs, i, "id");
        done = load_word(captures, nl_arena_text(&captures->arena, id.ptr, id.len), call, err);
    }
    if (runs)
        nl_result_free(runs);
    return done;
}

static bool load_part(struct nl_captures *captures, char *word, const struct nl_call *call,
                      struct nl_err *err)
{
    if (captures->count >= NL_MAX_CAPTURES)
        return nl_fail(err, NL_USAGE, "more than %d captures on a side", NL_MAX_CAPTURES);
    if (!nl_input_plausible(word) && !strncmp(word, "tag:", 4))
        return load_runs(captures, "tag", word + 4, call, err);
    if (!nl_input_plausible(word) && !strncmp(word, "branch:", 7))
        return load_runs(captures, "run.git_branch", word + 7, call, err);
    return load_word(captures, word, call, err);
}

/* ---- in all ---- */

static bool make_inputs(struct nl_captures *captures, const char *word, const struct nl_call *call,
                        struct nl_err *err)
{
    captures->others = nl_zalloc((captures->count + 1) * sizeof *captures->others);
    captures->paths = nl_zalloc((captures->count + 1) * sizeof *captures->paths);
    for (size_t i = 0; i < captures->count; i++) {
        const struct nl_capture_input *item = &captures->items[i];
        struct nl_diff_input *input = i ? &captures->others[i - 1] : &captures->input;
        input->trace = item->trace;
        input->word = item->name;
        captures->paths[i] = item->words.paths[0];
        if (!nl_capture_facts(&item->words, call, &captures->arena, input, err) ||
            !nl_input_window(&item->words, item->trace, call, &input->window, err))
            return false;
    }
    captures->input.all = word;
    captures->input.others = captures->others;
    captures->input.other_count = captures->count - 1;
    return true;
}

bool nl_captures_load(struct nl_captures *captures, char *const *words, size_t count,
                      const struct nl_call *call, struct nl_err *err)
{
    struct nl_buf whole;
    nl_arena_init(&captures->arena);
    nl_buf_init(&whole, (size_t)1 << 20);
    bool done = true;
    for (size_t i = 0; i < count && done; i++) {
        char **parts;
        size_t n = nl_captures_split(&captures->arena, words[i], &parts);
        nl_buf_format(&whole, "%s%s", whole.len ? "," : "", words[i]);
        for (size_t k = 0; k < n && done; k++)
            done = load_part(captures, parts[k], call, err);
    }
    if (done && !captures->count)
        done = nl_fail(err, NL_USAGE, "no profile on one side; name files, folders or runs");
    const char *word = nl_arena_text(&captures->arena, whole.len ? whole.ptr : "", whole.len);
    nl_buf_release(&whole);
    return done && make_inputs(captures, word, call, err);
}

void nl_captures_release(struct nl_captures *captures)
{
    for (size_t i = 0; i < captures->count; i++) {
        if (captures->items[i].trace)
            nl_trace_free(captures->items[i].trace);
        nl_input_release(&captures->items[i].words);
    }
    nl_free(captures->items);
    nl_free(captures->others);
    nl_free(captures->paths);
    nl_arena_free(&captures->arena);
}
