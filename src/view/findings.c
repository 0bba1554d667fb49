/* findings — see findings.h. Text and Markdown are one walk over a finding
 * with two sets of marks. */
#include "view/findings.h"

#include <math.h>

#include "base/sum.h"
#include "base/units.h"
#include "view/celltext.h"
#include "view/notes.h"

#define LINE_BYTES ((size_t)1 << 16)

/* ---- Commands that can be pasted ---- */

void nl_findings_command(struct nl_buf *out, const char *text,
                         const struct nl_view_options *options)
{
    const char *at, *input = options->input;
    while (input && (at = strstr(text, "PROFILE")) != NULL) {
        nl_buf_add(out, text, (size_t)(at - text));
        nl_buf_text(out, input);
        text = at + strlen("PROFILE");
    }
    nl_buf_text(out, text);
}

/* neurolens sql PROFILE "…": the finding's first number again. */
bool nl_findings_check(struct nl_buf *out, const struct nl_finding *finding,
                       const struct nl_view_options *options)
{
    const char *query = finding->evidence_count ? finding->evidence[0].query : NULL;
    if (!query)
        return false;
    nl_buf_format(out, "neurolens sql %s \"", options->bare ? options->bare : "PROFILE");
    for (; *query; query++) {
        if (strchr("\\\"$`", *query))
            nl_buf_char(out, '\\');
        nl_buf_char(out, *query);
    }
    nl_buf_char(out, '"');
    return true;
}

/* ---- Text and Markdown ---- */

bool nl_findings_is_whole(enum nl_meaning meaning)
{
    return meaning == NL_MEANS_NS || meaning == NL_MEANS_COUNT || meaning == NL_MEANS_BYTES ||
           meaning == NL_MEANS_INTEGER;
}

struct note {
    struct nl_buf *out;
    size_t width; /* 0 = Markdown, which wraps itself */
    const struct nl_view_options *options;
    struct nl_buf line;
};

static void note_open(struct note *note, struct nl_buf *out, size_t width,
                      const struct nl_view_options *options)
{
    *note = (struct note){.out = out, .width = width, .options = options};
    nl_buf_init(&note->line, LINE_BYTES);
}

/* Characters that could start markup are escaped. */
static void add_escaped(struct nl_buf *out, struct nl_str text)
{
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '<')
            nl_buf_text(out, "&lt;");
        else if (c == '>')
            nl_buf_text(out, "&gt;");
        else if (c == '&')
            nl_buf_text(out, "&amp;");
        else {
            if (strchr("|*_`[]#~\\", c))
                nl_buf_char(out, '\\');
            nl_buf_char(out, c);
        }
    }
}

/* Adds text that may hold names from the profile. */
static void put_safe_text(struct note *note, const char *text)
{
    struct nl_buf safe;
    nl_buf_init(&safe, LINE_BYTES);
    nl_celltext_safe(&safe, nl_str(text));
    struct nl_str clean = {safe.ptr ? safe.ptr : "", safe.len};
    if (note->width)
        nl_buf_add(&note->line, clean.ptr, clean.len);
    else
        add_escaped(&note->line, clean);
    nl_buf_release(&safe);
}

/* Ends the line as it is, whatever the width: what is there to be copied. */
static void end_whole_line(struct note *note)
{
    nl_buf_add(note->out, note->line.ptr ? note->line.ptr : "", note->line.len);
    nl_buf_char(note->out, '\n');
    nl_buf_clear(&note->line);
}

/* Ends the line; further lines of it stand `indent` columns in. */
static void end_line(struct note *note, size_t indent)
{
    if (!note->width) {
        end_whole_line(note);
        return;
    }
    struct nl_str line = {note->line.ptr ? note->line.ptr : "", note->line.len};
    nl_notes_wrap(note->out, line, note->width, indent);
    nl_buf_clear(&note->line);
}

/* " · saves 1 ms to 2 ms (1.5 ms besides the others): 3 ms on this device, but
 * then another is the last" */
static void put_savings(struct nl_buf *line, const struct nl_finding *finding)
{
    char low[NL_UNIT_TEXT], high[NL_UNIT_TEXT];
    int64_t most = finding->saving_ns[1];
    bool less = finding->alone_ns != NL_NULL_I64 && finding->alone_ns > most;
    if (most > 0)
        nl_buf_format(line, " · saves %s to %s", nl_format_ns(low, finding->saving_ns[0]),
                      nl_format_ns(high, most));
    else if (less)
        nl_buf_text(line, " · saves nothing while another is late");
    if (most > 0 && finding->net_saving_ns >= 0 && finding->net_saving_ns < most / 20 * 19)
        nl_buf_format(line, " (%s besides the others)", nl_format_ns(low, finding->net_saving_ns));
    if (less)
        nl_buf_format(line, ": %s on this device%s", nl_format_ns(low, finding->alone_ns),
                      most > 0 ? ", but then another is the last" : "");
}

/* " (21.5 % of 1.103 s)": what the share is of differs from cause to cause. */
static void put_share(struct nl_buf *line, const struct nl_finding *finding)
{
    char text[NL_UNIT_TEXT];
    nl_buf_format(line, " (%s of ", nl_format_percent(text, finding->cost_share));
    if (finding->cost_share > 0)
        nl_buf_format(
            line, "%s)",
            nl_format_ns(text, nl_whole_i64((double)finding->cost_ns / finding->cost_share)));
    else
        nl_buf_text(line, "wall)");
}

static void put_weight(struct note *note, const struct nl_finding *finding)
{
    char text[NL_UNIT_TEXT];
    struct nl_buf *line = &note->line;
    nl_buf_format(line, "%s%s", note->width ? "   " : "", nl_severity_name(finding->severity));
    bool timed = !finding->validity && !finding->timeless;
    if (timed)
        nl_buf_format(line, " · costs %s", nl_format_ns(text, finding->cost_ns));
    if (timed && !isnan(finding->cost_share))
        put_share(line, finding);
    if (timed && finding->net_cost_ns < finding->cost_ns / 20 * 19)
        nl_buf_format(line, ", %s of them not counted above",
                      nl_format_ns(text, finding->net_cost_ns));
    put_savings(line, finding);
    nl_buf_format(line, " · confidence %.2f", finding->confidence);
    if (finding->of_devices > 1)
        nl_buf_format(line, " · on %zu of %zu devices, numbers of this one", finding->devices,
                      finding->of_devices);
    end_line(note, 3);
}

static void put_examples(struct note *note, const struct nl_evidence *evidence)
{
    char text[NL_UNIT_TEXT];
    for (size_t i = 0; i < evidence->example_count; i++) {
        nl_buf_text(&note->line, i ? "; " : note->width ? "       e.g. " : "  e.g. ");
        nl_buf_text(&note->line, nl_format_ns(text, evidence->examples[i].dur_ns));
        nl_buf_format(&note->line, " at %s", nl_format_ns(text, evidence->examples[i].start_ns));
        if (evidence->examples[i].name && evidence->examples[i].name[0]) {
            struct nl_buf name;
            nl_buf_init(&name, LINE_BYTES);
            nl_celltext_elide(&name, nl_str(evidence->examples[i].name), 48);
            nl_buf_text(&note->line, " (");
            put_safe_text(note, name.ptr ? name.ptr : "");
            nl_buf_char(&note->line, ')');
            nl_buf_release(&name);
        }
    }
    end_line(note, 12);
}

static void put_proof(struct note *note, const struct nl_finding *finding, bool all)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct nl_evidence *evidence = &finding->evidence[i];
        nl_buf_text(&note->line, note->width ? "   • " : "- ");
        put_safe_text(note, evidence->says);
        if (evidence->threshold) {
            nl_buf_text(&note->line, " [");
            put_safe_text(note, evidence->threshold);
            nl_buf_char(&note->line, ']');
        }
        end_line(note, 5);
        if (evidence->example_count)
            put_examples(note, evidence);
        if (all && evidence->query) {
            nl_buf_text(&note->line, note->width ? "       SQL: " : "  SQL: `");
            nl_buf_text(&note->line, evidence->query);
            nl_buf_text(&note->line, note->width ? "" : "`");
            end_whole_line(note);
        }
    }
}

/* What the check asks anew now, as SQL prints it, and for eyes. */
static void put_value_now(struct note *note, const struct nl_evidence *evidence)
{
    char text[NL_UNIT_TEXT];
    bool fits = fabs(evidence->value) < 0x1p63; /* what takes longer has no other unit */
    if (nl_findings_is_whole(evidence->meaning))
        nl_buf_format(&note->line, " (now %.0f", evidence->value);
    else
        nl_buf_format(&note->line, " (now %.6g", evidence->value);
    if (evidence->meaning == NL_MEANS_NS && fits)
        nl_buf_format(&note->line, " ns, %s", nl_format_ns(text, (int64_t)evidence->value));
    if (evidence->meaning == NL_MEANS_BYTES && fits && evidence->value >= 0)
        nl_buf_format(&note->line, " bytes, %s", nl_format_bytes(text, (uint64_t)evidence->value));
    if (evidence->meaning == NL_MEANS_SHARE)
        nl_buf_format(&note->line, ", %s", nl_format_percent(text, evidence->value));
    nl_buf_char(&note->line, ')');
}

/* The command is on a separate line, whatever the width. */
static void put_pasteable(struct note *note, const struct nl_finding *finding)
{
    struct nl_buf line;
    nl_buf_init(&line, LINE_BYTES);
    if (nl_findings_check(&line, finding, note->options)) {
        struct nl_buf safe;
        nl_buf_init(&safe, LINE_BYTES);
        nl_celltext_safe(&safe, (struct nl_str){line.ptr, line.len});
        nl_buf_text(&note->line, note->width ? "   Check" : "\n*Check*");
        put_value_now(note, &finding->evidence[0]);
        nl_buf_text(&note->line, note->width ? ":\n     " : ": `");
        nl_buf_add(&note->line, safe.ptr, safe.len);
        nl_buf_release(&safe);
        nl_buf_text(&note->line, note->width ? "" : "`");
        end_whole_line(note);
    }
    nl_buf_release(&line);
}

/* What only asks for the finding's number again is printed once, by the
 * check of the finding itself. */
static bool says_more(const struct nl_suggestion *it)
{
    return strncmp(it->verify, "neurolens sql PROFILE", strlen("neurolens sql PROFILE")) != 0;
}

/* "neurolens analyze PROFILE: what is seen then": the colon, when the command needs no
 * other file than the user's. */
static const char *command_end(const char *verify)
{
    static const char *const places[] = {"BEFORE", "AFTER",   "OLD", "NEW",
                                         "RANKS",  "WITHOUT", "[",   " then"};
    const char *end = strstr(verify, ": ");
    if (strncmp(verify, "neurolens ", strlen("neurolens ")) != 0 || !strstr(verify, " PROFILE") ||
        !end)
        return NULL;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const char *at = strstr(verify, places[i]);
        if (at && at < end)
            return NULL;
    }
    return end;
}

/* How to verify that it helped; a command is on a separate line. */
static void put_verify(struct note *note, const char *verify)
{
    struct nl_buf line;
    nl_buf_init(&line, LINE_BYTES);
    nl_findings_command(&line, verify, note->options);
    const char *end = note->width ? command_end(verify) : NULL;
    nl_buf_text(&note->line, note->width ? ". To verify: " : ". *To verify:* ");
    if (!end) {
        put_safe_text(note, line.ptr ? line.ptr : "");
        end_line(note, 5);
        nl_buf_release(&line);
        return;
    }
    put_safe_text(note, end + 2);
    nl_buf_text(&note->line, ", in");
    end_line(note, 5);
    line.len -= strlen(end);
    struct nl_buf safe;
    nl_buf_init(&safe, LINE_BYTES);
    nl_celltext_safe(&safe, (struct nl_str){line.ptr, line.len});
    nl_buf_text(&note->line, "     ");
    nl_buf_add(&note->line, safe.ptr, safe.len);
    end_whole_line(note);
    nl_buf_release(&safe);
    nl_buf_release(&line);
}

static void put_advice(struct note *note, const struct nl_finding *finding)
{
    struct nl_buf verify;
    nl_buf_init(&verify, LINE_BYTES);
    for (const struct nl_suggestion *it = finding->suggestions; it && it->action; it++) {
        nl_buf_text(&note->line, note->width ? "   → " : "- **Do:** ");
        nl_buf_clear(&verify);
        nl_findings_command(&verify, it->action, note->options);
        put_safe_text(note, verify.ptr ? verify.ptr : "");
        nl_buf_text(&note->line, note->width ? " — " : ". *Why:* ");
        put_safe_text(note, it->why);
        if (says_more(it))
            put_verify(note, it->verify);
        else
            end_line(note, 5);
    }
    nl_buf_release(&verify);
    put_pasteable(note, finding);
}

/* Whether an earlier finding has the same need. */
static bool is_told(const struct nl_findings *findings, size_t number,
                    const struct nl_finding_need *need)
{
    for (size_t i = 0; i < number; i++)
        for (size_t n = 0; n < findings->items[i].need_count; n++)
            if (!strcmp(findings->items[i].needs[n].why, need->why))
                return true;
    return false;
}

/* What to record next, to know more. */
static void put_needs(struct note *note, const struct nl_findings *findings, size_t number)
{
    const struct nl_finding *finding = &findings->items[number];
    for (size_t i = 0; i < finding->need_count; i++) {
        if (is_told(findings, number, &finding->needs[i]))
            continue;
        nl_buf_text(&note->line, note->width ? "   ? to know " : "- **To know** ");
        put_safe_text(note, finding->needs[i].why);
        nl_buf_text(&note->line, ", record: ");
        put_safe_text(note, finding->needs[i].record);
        end_line(note, 5);
    }
}

static void put_note(struct note *note, const struct nl_finding *finding, size_t number, bool all)
{
    nl_buf_format(&note->line, note->width ? "%zu. " : "### %zu. ", number);
    put_safe_text(note, finding->title);
    end_line(note, 3);
    if (!note->width)
        nl_buf_char(note->out, '\n');
    put_weight(note, finding);
    if (!note->width)
        nl_buf_char(note->out, '\n');
    put_proof(note, finding, all);
    if (finding->not_this_if) {
        nl_buf_text(&note->line, note->width ? "   • rule out: " : "- rule out: ");
        put_safe_text(note, finding->not_this_if);
        end_line(note, 5);
    }
    put_advice(note, finding);
}

/* The finding with a number in which the time of this one is counted: that of
 * what explains it, and so on. */
static size_t told_in(const struct nl_findings *findings, size_t at)
{
    for (size_t steps = 0; findings->items[at].explained_by && steps < findings->count; steps++)
        for (size_t i = 0; i < findings->count; i++)
            if (!strcmp(findings->items[i].id, findings->items[at].explained_by)) {
                at = i;
                break;
            }
    size_t number = 0;
    for (size_t i = 0; i <= at; i++)
        number += !findings->items[i].explained_by;
    return number;
}

/* "also …": findings whose time others account for take one line. */
static void put_explained(struct note *note, const struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->count; i++) {
        const struct nl_finding *finding = &findings->items[i];
        if (!finding->explained_by)
            continue;
        nl_buf_text(&note->line, note->width ? "Also: " : "- Also: ");
        put_safe_text(note, finding->title);
        nl_buf_format(&note->line, " — counted already, most of it in finding %zu.",
                      told_in(findings, i));
        end_line(note, 6);
    }
}

/* Whether an abstention before this one has the same reason. */
static bool is_reason_told(const struct nl_findings *findings, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (!strcmp(findings->abstained[i].reason, findings->abstained[number].reason))
            return true;
    return false;
}

/* Causes that share a reason are listed together after it. */
static void put_reasons(struct note *note, const struct nl_findings *findings)
{
    for (size_t i = 0; i < findings->abstained_count; i++) {
        if (is_reason_told(findings, i))
            continue;
        nl_buf_text(&note->line, i ? "; " : "");
        put_safe_text(note, findings->abstained[i].reason);
        nl_buf_text(&note->line, ": ");
        for (size_t j = i; j < findings->abstained_count; j++) {
            if (strcmp(findings->abstained[j].reason, findings->abstained[i].reason) != 0)
                continue;
            nl_buf_text(&note->line, j > i ? ", " : "");
            put_safe_text(note, findings->abstained[j].cause);
        }
    }
}

static void put_abstained(struct note *note, const struct nl_findings *findings, bool all)
{
    if (!findings->abstained_count)
        return;
    nl_buf_text(&note->line, "Not judged: ");
    if (all)
        put_reasons(note, findings);
    for (size_t i = 0; i < findings->abstained_count && !all; i++) {
        nl_buf_text(&note->line, i ? ", " : "");
        put_safe_text(note, findings->abstained[i].cause);
    }
    nl_buf_text(&note->line, all ? "." : " (reasons: --all).");
    end_line(note, 2);
}

static void put_all(struct note *note, const struct nl_findings *findings, bool all)
{
    size_t number = 0;
    for (size_t i = 0; i < findings->count; i++) {
        if (findings->items[i].explained_by && !all)
            continue;
        if (number)
            nl_buf_char(note->out, '\n');
        put_note(note, &findings->items[i], ++number, all);
        put_needs(note, findings, i);
    }
    struct nl_buf *out = note->out;
    size_t before = out->len;
    if (number)
        nl_buf_char(out, '\n');
    if (!all)
        put_explained(note, findings);
    put_abstained(note, findings, all);
    if (number && out->len == before + 1)
        out->len = before;
}

void nl_findings_text(struct nl_buf *out, const struct nl_findings *findings, size_t width,
                      bool all, const struct nl_view_options *options)
{
    struct note note;
    if (!findings->count && !all)
        return;
    note_open(&note, out, width, options);
    put_all(&note, findings, all);
    nl_buf_release(&note.line);
}

void nl_findings_markdown(struct nl_buf *out, const struct nl_findings *findings, bool all,
                          const struct nl_view_options *options)
{
    struct note note;
    if (!findings->count && !all)
        return;
    nl_buf_text(out, "\n## Findings\n\n");
    note_open(&note, out, 0, options);
    put_all(&note, findings, all);
    nl_buf_release(&note.line);
}
