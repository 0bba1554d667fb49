/* What to do next: a table of commands. */
#include <stdlib.h>
#include <string.h>

#include "base/chars.h"
#include "tables/resultcells.h"
#include "base/mem.h"
#include "base/sum.h"
#include "compare/diffwords.h"

#define NEXT_LIST(C, P)                                                                            \
    C(P, do, NULL, TEXT)                                                                           \
    C(P, why, NULL, TEXT)                                                                          \
    C(P, verify, NULL, TEXT)
NL_TABLE_COLUMNS(next_columns, NEXT, NEXT_LIST);

/* A word as a shell takes it. */
static const char *quoted(struct nl_arena *arena, const char *word)
{
    struct nl_buf text;
    bool plain = word[0] != '\0';
    for (const char *c = word; *c && plain; c++)
        plain = nl_is_alnum(*c) || strchr("@~./_-+:%,", *c);
    if (plain)
        return word;
    nl_buf_init(&text, DIFF_SENTENCE * 4);
    nl_buf_char(&text, '\'');
    for (const char *c = word; *c; c++)
        nl_buf_text(&text, *c == '\'' ? "'\\''" : (char[]){*c, '\0'});
    nl_buf_char(&text, '\'');
    const char *out = nl_arena_text(arena, text.ptr, text.len);
    nl_buf_release(&text);
    return out;
}

static void put_next(struct nl_result *result, const char *action, const char *why,
                     const char *verify)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[NEXT_do] = nl_cell_text(result, nl_str(action));
    cells[NEXT_why] = nl_cell_text(result, nl_str(why));
    cells[NEXT_verify] = nl_cell_text(result, nl_str(verify));
}

/* The same with the window of a range. */
static const char *windowed(struct nl_arena *arena, const char *word, struct nl_str range)
{
    return quoted(arena,
                  nl_arena_format(arena, "%s[nvtx=\"%.*s\"]", word, (int)range.len, range.ptr));
}

/* Without steps and with unequal amounts of work. */
static void next_for_work(const struct diff_doc *doc, struct nl_result *result, const char *a,
                          const char *b)
{
    struct nl_arena *arena = &result->arena;
    struct nl_str range = diff_common_range(doc);
    if (range.len)
        put_next(result, "compare windows of the same work, or mark steps on both sides",
                 "one side did less of the same work",
                 nl_arena_format(arena, "neurolens diff %s %s",
                                 windowed(arena, doc->base_word, range),
                                 windowed(arena, doc->changed_word, range)));
    else
        put_next(result, "mark steps on both sides, or give windows of the same work",
                 "one side did less of the same work",
                 nl_arena_format(arena,
                                 "neurolens analyze %s --section step_summary && "
                                 "neurolens analyze %s --section step_summary",
                                 a, b));
}

static const char *host_section(enum nl_kind kind)
{
    return kind == NL_KIND_OP           ? "ops"
           : kind == NL_KIND_NVTX       ? "nvtx"
           : kind == NL_KIND_LAYER      ? "layers"
           : kind == NL_KIND_PYTHON     ? "python"
           : kind == NL_KIND_COLLECTIVE ? "collectives"
                                        : NULL;
}

/* Which of `analyze`'s sections shows more of a part. */
static const char *section_of(const struct diff_doc *doc, const struct diff_row *row)
{
    static const char *const sections[DIFF_GROUPS] = {[DIFF_COMPUTE] = "kernels",
                                                      [DIFF_COMM] = "collectives",
                                                      [DIFF_COPY] = "copies",
                                                      [DIFF_IDLE] = "idle_causes"};
    switch (doc->base.unit) {
    case DIFF_BY_HOST: return host_section(doc->base.host_kind);
    case DIFF_BY_LAYER: return "model_layers";
    case DIFF_BY_FUNCTION:
        return doc->base.functions && !strcmp(doc->base.functions->name, "cpu_samples")
                   ? "cpu_samples"
                   : "call_sums";
    default: return sections[row->group];
    }
}

static const char *words_of(const struct diff_doc *doc, struct nl_arena *arena,
                            const struct diff_row *row)
{
    struct nl_buf text;
    nl_buf_init(&text, DIFF_SENTENCE);
    diff_put_name(doc, &text, row);
    nl_buf_char(&text, ' ');
    diff_put_change(doc, &text, nl_whole_i64(diff_told_change(doc, row->base_ns, row->changed_ns)));
    if (diff_tells_pieces(doc))
        nl_buf_text(&text, " per operation");
    diff_put_what(doc, &text, row);
    const char *out = nl_arena_text(arena, text.ptr, text.len);
    nl_buf_release(&text);
    return out;
}

static void next_for_rows(const struct diff_doc *doc, struct nl_result *result, const char *a,
                          const char *b)
{
    bool seen[DIFF_GROUPS] = {false};
    const struct diff_row **rows = diff_rows_to_tell(doc);
    for (size_t i = 0; i < doc->rows.count && result->rows < DIFF_TOP_ROWS; i++) {
        const struct diff_row *row = rows[i];
        const char *section = section_of(doc, row);
        if (row->base_ns == row->changed_ns || seen[row->group] || !section)
            continue;
        seen[row->group] = true;
        put_next(
            result,
            nl_arena_format(&result->arena, "look at %s on both sides",
                            doc->base.unit > DIFF_BY_WORK ? section : diff_group_text(row->group)),
            words_of(doc, &result->arena, row),
            nl_arena_format(&result->arena,
                            "neurolens analyze %s --section %s && "
                            "neurolens analyze %s --section %s",
                            a, section, b, section));
    }
    nl_free(rows);
}

static void next_for_incomparable(const struct diff_doc *doc, struct nl_result *result,
                                  const char *a, const char *b)
{
    struct nl_arena *arena = &result->arena;
    const char *reason = doc->sureness.reason;
    if (doc->sureness.verdict != DIFF_INCOMPARABLE)
        return;
    put_next(result, "see what was recorded on each side", reason ? reason : "",
             nl_arena_format(arena, "neurolens info %s && neurolens info %s", a, b));
    if (doc->base.unit < DIFF_UNITS)
        put_next(result, "rank them, if they are candidates for one workload",
                 "backends, GPUs and settings may differ there",
                 nl_arena_format(arena, "neurolens rank %s %s", a, b));
}

static void next_for_captures(const struct diff_doc *doc, struct nl_result *result)
{
    const char *reason = doc->sureness.reason;
    struct nl_arena *arena = &result->arena;
    if (diff_is_other_work(doc) || doc->base.sum == doc->changed.sum)
        return;
    put_next(result, "record more captures of both (A2, B2 … are the new ones)",
             reason ? reason : "",
             nl_arena_format(arena, "neurolens diff %s,A2,A3 : %s,B2,B3",
                             quoted(arena, doc->base_all), quoted(arena, doc->changed_all)));
}

struct nl_result *diff_next_table(const struct diff_doc *doc, bool open)
{
    struct nl_result *result = NL_ANSWER_NEW("next", "What to do next", next_columns);
    struct nl_arena *arena = &result->arena;
    const char *a = quoted(arena, doc->base_word), *b = quoted(arena, doc->changed_word);
    const struct diff_sureness *s = &doc->sureness;
    next_for_incomparable(doc, result, a, b);
    if (diff_is_other_work(doc) && s->verdict != DIFF_INCOMPARABLE)
        next_for_work(doc, result, a, b);
    bool first = open || s->verdict == DIFF_UNTOLD; /* captures may vary by as much */
    if (first)
        next_for_captures(doc, result);
    next_for_rows(doc, result, a, b);
    if (!first && s->verdict == DIFF_UNKNOWN)
        next_for_captures(doc, result);
    if (!first && (s->verdict == DIFF_SLOWER || s->verdict == DIFF_FASTER) &&
        !(doc->base.captures && doc->changed.captures))
        put_next(result, "repeat both captures (A2, B2 … are the new ones)",
                 "captures of one program differ by a percent or more for reasons no step shows",
                 nl_arena_format(arena, "neurolens diff %s,A2,A3 : %s,B2,B3",
                                 quoted(arena, doc->base_all), quoted(arena, doc->changed_all)));
    return result;
}
