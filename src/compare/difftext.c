/* The sentences on top of a diff, and what to do next. Numbers come from the tables' own sources. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tables/answer.h"
#include "tables/shortname.h"
#include "base/mem.h"
#include "base/units.h"
#include "compare/diffdoc.h"

#define SENTENCE   ((size_t)1 << 12)
#define NAME_WIDTH 60
#define TOP_ROWS   3
#define MEAN_APART 0.05 /* of the typical step: the mean says something else */

/* ---- numbers ---- */

/* A number of what is compared: a time, or a weight in its unit. */
static void put_value(const struct diff_doc *doc, struct nl_buf *out, int64_t value)
{
    char text[NL_UNIT_TEXT];
    if (diff_doc_in_ns(doc)) {
        nl_buf_text(out, nl_format_ns(text, value));
        return;
    }
    nl_buf_format(out, "%s%s", value < 0 ? "-" : "",
                  nl_format_count(text, value < 0 ? 0 - (uint64_t)value : (uint64_t)value));
    if (doc->base.weight.len)
        nl_buf_format(out, " %.*s", (int)doc->base.weight.len, doc->base.weight.ptr);
}

static void put_change(const struct diff_doc *doc, struct nl_buf *out, int64_t change)
{
    if (change > 0)
        nl_buf_char(out, '+');
    put_value(doc, out, change);
}

static void put_percent(struct nl_buf *out, double share)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(out, "%s%s", share > 0 ? "+" : "", nl_format_percent(text, share));
}

static void add_headline(struct diff_doc *doc, struct nl_buf *text)
{
    struct nl_report *report = doc->report;
    if (report->headline_count < NL_HEADLINES_MAX && text->len)
        report->headlines[report->headline_count++] =
            nl_arena_text(&report->arena, text->ptr, text->len);
    nl_buf_clear(text);
}

/* ---- sentences ---- */

/* Without steps, and with less of the same work on one side, the times are not of the same thing. */
static void say_other_work(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_pace *pace = &doc->pace;
    if (!pace->other_work)
        return;
    double work = pace->changed_pieces / pace->base_pieces - 1;
    bool windows = doc->base.window.has_time || doc->changed.window.has_time;
    char share[NL_UNIT_TEXT];
    if (pace->same_length)
        nl_buf_format(text,
                      " Both %s are as long, so this time is theirs, not the program's: in it",
                      windows ? "windows" : "recordings");
    else
        nl_buf_text(text, " These times are of unequal amounts of work:");
    nl_buf_format(text, " B did %s %s of the same work", nl_format_percent(share, fabs(work)),
                  work < 0 ? "less" : "more");
    nl_buf_format(text, " (%.6g and %.6g pieces%s, of the names that both have). ",
                  pace->base_pieces, pace->changed_pieces,
                  doc->base.unit <= DIFF_BY_WORK && doc->base.device_count > 1 ? " a device" : "");
    nl_buf_text(text, "For each piece: ");
    put_value(doc, text, llround(pace->base_piece_ns));
    nl_buf_text(text, " in A, ");
    put_value(doc, text, llround(pace->changed_piece_ns));
    nl_buf_text(text, " in B (");
    put_percent(text, pace->changed_piece_ns / pace->base_piece_ns - 1);
    nl_buf_text(text, "). ");
    if (doc->base.unit == DIFF_BY_WALL)
        nl_buf_format(text, "A second: %.4g and %.4g pieces. ", 1e9 / pace->base_piece_ns,
                      1e9 / pace->changed_piece_ns);
    nl_buf_text(text,
                "No steps to compare by: mark steps, or give windows of the same work, such as "
                "'[nvtx=NAME]'.");
}

/* Sums of samples of a clock are as long as the recording is. */
static void say_samples(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_side *a = &doc->base;
    bool sampled =
        a->unit == DIFF_BY_FUNCTION && a->functions && !strcmp(a->functions->name, "cpu_samples");
    bool clock = nl_str_is(a->weight, "ns") || nl_str_is(a->weight, "samples");
    if (sampled && clock && a->mean != doc->changed.mean)
        nl_buf_text(text,
                    " Samples add up to more the longer was recorded: compare shares, not sums.");
}

static void say_change(struct diff_doc *doc, struct nl_buf *text)
{
    int64_t a = doc->base.mean, b = doc->changed.mean;
    if (doc->base.unit == DIFF_UNITS)
        return;
    const char *words = diff_unit_words(&doc->base);
    nl_buf_format(text, "%c%s: ", words[0] - 'a' + 'A', words + 1);
    put_value(doc, text, a);
    nl_buf_text(text, " in A, ");
    put_value(doc, text, b);
    nl_buf_text(text, " in B: ");
    if (a == b) {
        nl_buf_text(text, "no difference.");
    } else {
        put_change(doc, text, b - a);
        if (a) {
            nl_buf_text(text, " (");
            put_percent(text, (double)(b - a) / (double)a);
            nl_buf_char(text, ')');
        }
        nl_buf_char(text, '.');
    }
    say_other_work(doc, text);
    say_samples(doc, text);
    add_headline(doc, text);
}

static void say_apart(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_side *a = &doc->base, *b = &doc->changed;
    if (a->warm_up + a->compile + b->warm_up + b->compile)
        nl_buf_format(text, "; %zu and %zu warm-up or compile steps are left out",
                      a->warm_up + a->compile, b->warm_up + b->compile);
}

/* The mean follows single long steps, the shift does not: then the parts tell of those steps. */
static void say_outliers(const struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_sureness *s = &doc->sureness;
    if (!doc->base.by_step || !doc->changed.by_step || !doc->base.mean || !(s->ratio > 0))
        return;
    double mean = (double)doc->changed.mean / (double)doc->base.mean;
    if (fabs(mean - s->ratio) <= MEAN_APART * fabs(s->ratio))
        return;
    nl_buf_text(text, " A typical step changes by ");
    put_percent(text, s->ratio - 1);
    nl_buf_text(text, ", the mean, which the parts add up to, by ");
    put_percent(text, mean - 1);
    nl_buf_text(text, ": single steps weigh much.");
}

static void say_verdict(struct diff_doc *doc, struct nl_buf *text)
{
    const struct diff_sureness *s = &doc->sureness;
    const char *word = diff_verdict_text(s->verdict);
    if (s->verdict != DIFF_UNKNOWN)
        nl_buf_format(text, "%c%s", word[0] - 'a' + 'A', word + 1);
    else if (doc->base.mean == doc->changed.mean)
        nl_buf_text(text, "Whether another capture would differ cannot be told");
    else
        nl_buf_text(text, "Whether that is more than chance cannot be told");
    if (!isnan(s->low)) {
        nl_buf_text(text, s->verdict == DIFF_INCOMPARABLE ? "; " : ": ");
        nl_buf_text(text, doc->base.unit == DIFF_BY_HOST ? "self time of a step: " : "steps take ");
        put_percent(text, s->ratio - 1);
        nl_buf_text(text, " (95 %: ");
        put_percent(text, s->low - 1);
        nl_buf_text(text, " to ");
        put_percent(text, s->high - 1);
        nl_buf_format(text, "), from %zu and %zu steps of one capture a side",
                      doc->base.length_count, doc->changed.length_count);
        say_apart(doc, text);
    }
    if (s->reason)
        nl_buf_format(text, "%s %s", isnan(s->low) ? ":" : ";", s->reason);
    nl_buf_char(text, '.');
    say_outliers(doc, text);
    add_headline(doc, text);
}

static void say_parts(struct diff_doc *doc, struct nl_buf *text)
{
    int64_t change[DIFF_GROUPS] = {0}, whole = doc->changed.mean - doc->base.mean;
    size_t said = 0;
    for (size_t i = 0; i < doc->rows.count; i++)
        change[doc->rows.items[i].group] +=
            doc->rows.items[i].changed_ns - doc->rows.items[i].base_ns;
    if (doc->base.unit > DIFF_BY_WORK)
        return;
    for (size_t group = 0; group < DIFF_HOST; group++) {
        if (!change[group])
            continue;
        if (!said++) {
            put_change(doc, text, whole);
            nl_buf_text(text, " = ");
        } else {
            nl_buf_text(text, ", ");
        }
        nl_buf_format(text, "%s ", diff_group_text((enum diff_group)group));
        put_change(doc, text, change[group]);
    }
    if (said)
        nl_buf_char(text, '.');
    add_headline(doc, text);
}

static struct nl_str name_of(const struct diff_row *row)
{
    return row->changed.ptr ? row->changed : row->base;
}

static struct nl_str brief(struct nl_buf *out, const struct diff_row *row)
{
    struct nl_str name = name_of(row);
    nl_buf_clear(out);
    nl_elide_name(out, name.len ? nl_short_kernel(name) : nl_str("(no name)"), NAME_WIDTH);
    return (struct nl_str){out->ptr, out->len};
}

/* Whether another of the rows that sentences speak of would be called the same. */
static bool has_namesake(const struct diff_doc *doc, const struct diff_row *row, struct nl_str name)
{
    struct nl_buf other;
    bool found = false;
    nl_buf_init(&other, SENTENCE);
    for (size_t i = 0; i < doc->rows.count && i < TOP_ROWS && !found; i++) {
        const struct diff_row *top = &doc->rows.items[i];
        found = top != row && !nl_str_eq(name_of(top), name_of(row)) &&
                nl_str_eq(brief(&other, top), name);
    }
    nl_buf_release(&other);
    return found;
}

/* A short name, the whole one where the short one does not tell two apart. */
static void put_name(const struct diff_doc *doc, struct nl_buf *text, const struct diff_row *row)
{
    struct nl_buf short_name;
    nl_buf_init(&short_name, SENTENCE);
    struct nl_str name = brief(&short_name, row);
    if (row->group == DIFF_IDLE)
        nl_buf_text(text, "idle, ");
    nl_elide_name(text, has_namesake(doc, row, name) ? name_of(row) : name, SENTENCE / 4);
    nl_buf_release(&short_name);
    if (row->match != DIFF_SAME)
        nl_buf_format(text, " (%s)", diff_match_text(row->match));
}

/* Whether the count or the time per call did most of it. */
static const char *by_what(const struct diff_row *row)
{
    if (row->by_count == NL_NULL_I64 || row->group == DIFF_IDLE || !row->base.ptr ||
        !row->changed.ptr)
        return "";
    return llabs(row->by_count) > llabs(row->by_time) ? ", by count" : ", by time per call";
}

static void say_rows(struct diff_doc *doc, struct nl_buf *text)
{
    size_t said = 0;
    for (size_t i = 0; i < doc->rows.count && said < TOP_ROWS; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        if (row->base_ns == row->changed_ns)
            break;
        nl_buf_text(text, said++ ? "; " : "Most changed: ");
        put_name(doc, text, row);
        nl_buf_char(text, ' ');
        put_change(doc, text, row->changed_ns - row->base_ns);
        nl_buf_text(text, by_what(row));
    }
    if (said)
        nl_buf_char(text, '.');
    add_headline(doc, text);
}

/* Tables that only one side has: what cannot be told apart from "did not happen". */
static void say_lacks(struct diff_doc *doc, struct nl_buf *text)
{
    struct nl_result *recorded = diff_recorded_table(doc);
    for (int side = 1; side <= 2; side++) {
        size_t said = 0;
        for (size_t row = 0; row < recorded->rows; row++) {
            if (nl_result_cell(recorded, row, (size_t)side)->i64)
                continue;
            if (said)
                nl_buf_text(text, ", ");
            else
                nl_buf_format(text, "%sNot in %s: ", text->len ? " " : "", side == 1 ? "A" : "B");
            said++;
            struct nl_str what = nl_result_cell(recorded, row, 0)->text;
            nl_buf_add(text, what.ptr, what.len);
        }
        if (said)
            nl_buf_char(text, '.');
    }
    nl_result_free(recorded);
    add_headline(doc, text);
}

void diff_headlines(struct diff_doc *doc)
{
    struct nl_buf text;
    nl_buf_init(&text, SENTENCE);
    say_change(doc, &text);
    say_verdict(doc, &text);
    say_parts(doc, &text);
    say_rows(doc, &text);
    say_lacks(doc, &text);
    nl_buf_release(&text);
}

/* ---- what next ---- */

static const struct nl_result_column next_columns[] = {
    {"do", NULL, NL_MEANS_TEXT},
    {"why", NULL, NL_MEANS_TEXT},
    {"verify", NULL, NL_MEANS_TEXT},
};

/* A word as a shell takes it. */
static const char *quoted(struct nl_arena *arena, const char *word)
{
    struct nl_buf text;
    bool plain = word[0] != '\0';
    for (const char *c = word; *c && plain; c++)
        plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                strchr("@~./_-+:%,", *c);
    if (plain)
        return word;
    nl_buf_init(&text, SENTENCE * 4);
    nl_buf_char(&text, '\'');
    for (const char *c = word; *c; c++)
        nl_buf_text(&text, *c == '\'' ? "'\\''" : (char[]){*c, '\0'});
    nl_buf_char(&text, '\'');
    const char *out = nl_arena_text(arena, text.ptr, text.len);
    nl_buf_release(&text);
    return out;
}

/* The same with a window to be filled in, where it has none. */
static const char *windowed(struct nl_arena *arena, const char *word)
{
    size_t len = strlen(word);
    bool has = len && word[len - 1] == ']';
    return quoted(arena, has ? word : nl_arena_format(arena, "%s[nvtx=NAME]", word));
}

static void put_next(struct nl_result *result, const char *action, const char *why,
                     const char *verify)
{
    struct nl_cell *cells = nl_result_row(result);
    cells[0] = nl_cell_text(result, nl_str(action));
    cells[1] = nl_cell_text(result, nl_str(why));
    cells[2] = nl_cell_text(result, nl_str(verify));
}

/* Which of `analyze`'s sections shows more of a part. */
static const char *section_of(const struct diff_doc *doc, const struct diff_row *row)
{
    static const char *const sections[DIFF_GROUPS] = {[DIFF_COMPUTE] = "kernels",
                                                      [DIFF_COMM] = "collectives",
                                                      [DIFF_COPY] = "copies",
                                                      [DIFF_IDLE] = "idle_causes"};
    switch (doc->base.unit) {
    case DIFF_BY_HOST: return doc->base.host_kind == NL_KIND_OP ? "ops" : NULL;
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
    nl_buf_init(&text, SENTENCE);
    put_name(doc, &text, row);
    nl_buf_format(&text, " %s", row->match == DIFF_SAME ? "went" : "makes");
    nl_buf_char(&text, ' ');
    put_change(doc, &text, row->changed_ns - row->base_ns);
    nl_buf_text(&text, by_what(row));
    const char *out = nl_arena_text(arena, text.ptr, text.len);
    nl_buf_release(&text);
    return out;
}

static void next_for_rows(const struct diff_doc *doc, struct nl_result *result, const char *a,
                          const char *b)
{
    bool seen[DIFF_GROUPS] = {false};
    for (size_t i = 0; i < doc->rows.count && result->rows < TOP_ROWS; i++) {
        const struct diff_row *row = &doc->rows.items[i];
        const char *section = section_of(doc, row);
        if (row->base_ns == row->changed_ns)
            return;
        if (seen[row->group] || !section)
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
}

struct nl_result *diff_next_table(const struct diff_doc *doc)
{
    struct nl_result *result = NL_ANSWER_NEW("next", "What to do next", next_columns);
    struct nl_arena *arena = &result->arena;
    const char *a = quoted(arena, doc->base_word), *b = quoted(arena, doc->changed_word);
    const struct diff_sureness *s = &doc->sureness;
    if (s->verdict == DIFF_INCOMPARABLE)
        put_next(result, "record both sides alike", s->reason ? s->reason : "",
                 nl_arena_format(arena, "neurolens info %s && neurolens info %s", a, b));
    if (doc->pace.other_work && s->verdict != DIFF_INCOMPARABLE)
        put_next(result, "mark steps on both sides, or give windows of the same work",
                 "one side did less of the same work",
                 nl_arena_format(arena, "neurolens diff %s %s", windowed(arena, doc->base_word),
                                 windowed(arena, doc->changed_word)));
    next_for_rows(doc, result, a, b);
    if (s->verdict == DIFF_UNKNOWN && doc->pace.other_work)
        return result;
    if ((s->verdict == DIFF_UNTOLD || s->verdict == DIFF_UNKNOWN) &&
        doc->base.sum != doc->changed.sum)
        put_next(result, "record more steady steps, and more than one capture a side",
                 s->reason ? s->reason : "", nl_arena_format(arena, "neurolens diff %s NEW", a));
    else if (s->verdict == DIFF_SLOWER || s->verdict == DIFF_FASTER)
        put_next(result, "repeat both captures",
                 "captures of one program differ by about 1 % for reasons no step shows",
                 nl_arena_format(arena, "neurolens diff %s NEW", a));
    return result;
}
