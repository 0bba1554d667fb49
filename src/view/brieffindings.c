/* brieffindings — findings of the first screen: see briefparts.h. */
#include "base/chars.h"
#include "view/briefparts.h"

#include <math.h>
#include <string.h>

#include "base/sum.h"
#include "base/units.h"
#include "findings/causebook.h"
#include "view/findings.h"

#define MAX_SAME_DIFFERENCE 0.005 /* shares of wholes that differ by less are of one whole */

static const char *severity_color(enum nl_severity severity)
{
    return severity == NL_SEVERITY_CRITICAL ? RED : severity == NL_SEVERITY_WARNING ? YELLOW : DIM;
}

/* Whether the text has a time already, as it would be printed. */
static bool has_time(const char *text, double ns)
{
    char time[NL_UNIT_TEXT];
    if (!(fabs(ns) < 0x1p63))
        return false;
    nl_format_ns(time, (int64_t)ns);
    const char *at = strstr(text, time);
    return at && (at == text || !nl_is_digit(at[-1]));
}

/* The percentage of the time that a finding is of: of what, where that is not
 * the whole of the answer. */
static void put_share(struct brief *brief, const struct nl_finding *finding, int64_t saving)
{
    char text[NL_UNIT_TEXT];
    const struct nl_verdict_words *verdict = brief->report->verdict;
    if (finding->cost_ns <= 0 || isnan(finding->cost_share) || !(finding->cost_share > 0))
        return;
    double wall = (double)finding->cost_ns / finding->cost_share;
    nl_buf_format(&brief->line, " (%s", nl_format_percent(text, (double)saving / wall));
    if (!verdict->whole || fabs(wall - (double)verdict->whole_ns) > MAX_SAME_DIFFERENCE * wall) {
        nl_buf_format(&brief->line, " of %s", nl_format_ns(text, nl_sum_near(wall)));
        if (finding->device != NL_NULL_I64 && brief->explained_wall_ns != nl_sum_near(wall) &&
            !has_time(finding->title, wall))
            nl_buf_text(&brief->line, " from first to last work");
        brief->explained_wall_ns = nl_sum_near(wall);
    }
    nl_buf_char(&brief->line, ')');
}

static const char *one_of(const struct nl_finding *finding)
{
    return finding->rank == NL_NULL_I64 ? "device" : "rank";
}

/* ", done on all 4 ranks": what is won where a rank is late, and every one
 * must be quicker for it. */
static void put_where_done(struct nl_buf *line, const struct nl_finding *finding)
{
    if (finding->alone_ns == NL_NULL_I64)
        return;
    if (finding->devices == finding->of_devices) {
        nl_buf_text(line, ", done on ");
        if (finding->devices == 2)
            nl_buf_text(line, "both");
        else
            nl_buf_format(line, "all %zu", finding->devices);
        nl_buf_format(line, " %ss", one_of(finding));
    } else if (finding->alone_ns > finding->saving_ns[1]) {
        nl_buf_format(line, ", then another %s is the last", one_of(finding));
    }
}

/* " · saves up to 3.963 s (26.2 % of 15.12 s)". What other findings save already is promised once:
 * " · saves up to 1.2 s (8.0 %) besides the others, 3.963 s alone". */
static void put_saving(struct brief *brief, const struct nl_finding *finding, bool titled)
{
    char text[NL_UNIT_TEXT];
    struct nl_buf *line = &brief->line;
    int64_t alone = finding->saving_ns[1], wins = finding->net_saving_ns;
    if (alone <= 0 && finding->alone_ns != NL_NULL_I64)
        nl_buf_format(line, " · saves nothing while another %s is late", one_of(finding));
    if (alone <= 0 || finding->validity)
        return;
    if (wins >= 0 && (double)wins < (1 - MAX_SAME_DIFFERENCE) * (double)alone) {
        nl_buf_format(line, " · saves up to %s", nl_format_ns(text, wins));
        put_share(brief, finding, wins);
        nl_buf_format(line, " besides the others, %s alone", nl_format_ns(text, alone));
        put_where_done(line, finding);
        return;
    }
    bool all = titled && has_time(finding->title, (double)alone);
    nl_buf_format(line, " · saves up to %s", all ? "all of it" : nl_format_ns(text, alone));
    put_share(brief, finding, alone);
    put_where_done(line, finding);
}

/* Whether the title says where: "Rank 3 GPU 1 …" of "rank 3 GPU 1", and not of "rank 3 GPU 10". */
static bool says_place(const struct nl_finding *finding)
{
    if (!finding->place || !finding->place[0])
        return true;
    const char *rest = finding->place + 1;
    for (const char *at = strstr(finding->title, rest); at; at = strstr(at + 1, rest))
        if (at[strlen(rest)] < '0' || at[strlen(rest)] > '9')
            return true;
    return false;
}

/* Where it is about another device than the sentence above: on how many it holds. Who waits
 * for a late one names both. */
static void put_place(struct brief *brief, const struct nl_finding *finding)
{
    const struct nl_verdict_words *verdict = brief->report->verdict;
    bool is_above = finding->rank == verdict->rank && finding->device == verdict->device;
    if (!verdict->whole || is_above || finding->of_devices < 2 || finding->device == NL_NULL_I64 ||
        !strcmp(finding->cause, "collective_skew"))
        return;
    bool named = says_place(finding);
    if (finding->devices == 1)
        nl_buf_format(&brief->line, " · on %s alone, not the one above",
                      named ? "this device" : finding->place);
    else
        nl_buf_format(&brief->line, " · on %zu of %zu devices, most on %s", finding->devices,
                      finding->of_devices, named ? "this one" : finding->place);
}

/* Whether it is the share of 100 % that the title has in words. */
static bool says_all(const char *title, const struct nl_evidence *evidence)
{
    return evidence->meaning == NL_MEANS_SHARE && evidence->value > 0.9995 &&
           strstr(title, "all of their time");
}

/* The first piece of evidence with a number that is not in the title. */
static void put_evidence(struct brief *brief, const struct nl_finding *finding)
{
    for (size_t i = 0; i < finding->evidence_count; i++) {
        const struct nl_evidence *evidence = &finding->evidence[i];
        if ((evidence->meaning == NL_MEANS_NS && has_time(finding->title, evidence->value)) ||
            says_all(finding->title, evidence))
            continue;
        nl_buf_format(&brief->line, " · %s", evidence->says);
        return;
    }
}

/* What the answer has said already: the finding then adds its weight and what to do. */
static const struct {
    const char *cause;
    unsigned classes;
} repeated[] = {
#define OF(class) (1u << NL_VERDICT_##class)
    {"gpu_idle", OF(LAUNCH) | OF(INPUT) | OF(SYNC) | OF(STARTUP) | OF(HOST) | OF(IDLE)},
    {"exposed_communication", OF(COMMUNICATION)},
    {"startup_dominated", OF(STARTUP)},
    {"kernel_hotspot", OF(COMPUTE)},
    {"launch_bound_small_kernels", OF(LAUNCH)},
    {"cpu_dispatch_overhead", OF(LAUNCH)},
    {"dataloader_stall", OF(INPUT)},
#undef OF
};

static bool repeats(const struct brief *brief, const struct nl_finding *finding)
{
    if (!has_time(brief->report->verdict->sentence, (double)finding->cost_ns))
        return false; /* another number is another fact */
    for (size_t i = 0; i < sizeof repeated / sizeof repeated[0]; i++)
        if (!strcmp(finding->cause, repeated[i].cause))
            return repeated[i].classes >> brief->report->verdict->class & 1;
    return false;
}

/* What is wrong in the words of `neurolens help`: "The GPU waits for input data". */
static void put_known(struct nl_buf *line, const char *cause)
{
    const char *title = nl_causebook_title(cause);
    size_t start = line->len;
    nl_buf_text(line, title ? title : cause);
    if (title && line->len > start && nl_is_lower(line->ptr[start]))
        line->ptr[start] = (char)(line->ptr[start] - 'a' + 'A');
}

static void put_finding(struct brief *brief, const struct nl_finding *finding, size_t number)
{
    struct nl_buf *line = &brief->line;
    bool titled = !repeats(brief, finding);
    if (titled) {
        nl_buf_format(line, "%zu. %s", number, finding->title);
        nl_brief_line(brief, severity_color(finding->severity), 3);
        nl_buf_format(line, "   %s", nl_severity_name(finding->severity));
    } else {
        nl_buf_format(line, "%zu. ", number);
        put_known(line, finding->cause);
        nl_buf_format(line, ", see above: %s", nl_severity_name(finding->severity));
    }
    put_place(brief, finding);
    put_saving(brief, finding, titled);
    if (titled)
        put_evidence(brief, finding);
    nl_brief_line(brief, titled ? "" : severity_color(finding->severity), 3);
    if (finding->suggestions && finding->suggestions[0].action) {
        nl_buf_text(line, "   → ");
        nl_findings_command(line, finding->suggestions[0].action, brief->options);
        nl_brief_line(brief, "", 5);
    }
}

void nl_brief_findings(struct brief *brief, size_t most)
{
    const struct nl_findings *findings = brief->report->findings;
    size_t shown = 0;
    brief->explained_wall_ns = 0;
    for (; findings && shown < findings->count && shown < most; shown++) {
        if (findings->items[shown].explained_by)
            break; /* the last ones: others account for their time */
        put_finding(brief, &findings->items[shown], shown + 1);
    }
    if (findings && findings->count > shown) {
        nl_buf_format(&brief->line, "… %zu more finding%s (--section findings)",
                      findings->count - shown, findings->count - shown == 1 ? "" : "s");
        nl_brief_line(brief, DIM, 2);
    }
}
