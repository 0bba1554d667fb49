/*
 * bench: records one command several times, or two in turn, until it is known what they take.
 *
 * Each capture is a separate `neurolens run`, so that nothing of one is left for the next. Two
 * commands take turns (A B, B A, A B, …): what the machine does meanwhile meets both alike. It ends
 * when the 95 % interval is as narrow as --precision asks, not when there is a difference: who
 * looks until there is one finds one.
 */
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/sum.h"
#include "base/units.h"
#include "cli/benchrun.h"
#include "cli/captures.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "compare/gatenoise.h"
#include "tables/resultcells.h"
#include "tables/lookup.h"

#define MIN_CAPTURES      3
#define MAX_CAPTURES      20
#define DEFAULT_PRECISION 0.01
#define MAX_LINE          400 /* of names of captures in a sentence */

static const struct nl_option bench_options[] = {
    {"min-captures", 0, NL_OPTION_NUMBER, NL_OWN(nl_bench_options, least), "N",
     "at least N captures per side (default 3)", NULL},
    {"max-captures", 0, NL_OPTION_NUMBER, NL_OWN(nl_bench_options, most), "N",
     "at most N captures per side (default 20)", NULL},
    {"precision", 0, NL_OPTION_TEXT, NL_OWN(nl_bench_options, within), "PERCENT",
     "stop when the 95 % interval is within this share of the median (default 1%)", NULL},
    {"max-time", 0, NL_OPTION_TIME, NL_OWN(nl_bench_options, max_time_ns), "TIME",
     "start no further round after this time, such as 10m", NULL},
    {"commit", 0, NL_OPTION_LIST, NL_OWN(nl_bench_options, commits), "REF",
     "run the command in a checkout of this git commit; given twice, the two alternate", NULL},
    {"build", 0, NL_OPTION_TEXT, NL_OWN(nl_bench_options, build), "COMMAND",
     "shell command that builds each checkout of --commit first", NULL},
    {"least", 0, NL_OPTION_NUMBER, NL_OWN(nl_bench_options, least), "N", NULL,
     NULL}, /* former names */
    {"most", 0, NL_OPTION_NUMBER, NL_OWN(nl_bench_options, most), "N", NULL, NULL},
    {"within", 0, NL_OPTION_TEXT, NL_OWN(nl_bench_options, within), "PERCENT", NULL, NULL},
    NL_OPTIONS_END,
};

/* ---- what is asked for ---- */

static bool read_limits(const struct nl_bench_options *own, struct nl_bench *bench,
                        struct nl_err *err)
{
    char *end = NULL;
    bench->least = own->least ? (size_t)own->least : MIN_CAPTURES;
    bench->most = own->most                     ? (size_t)own->most
                  : bench->least > MAX_CAPTURES ? bench->least
                                                : MAX_CAPTURES;
    if (own->least < 0 || own->most < 0 || bench->most > NL_MAX_CAPTURES ||
        bench->least > bench->most)
        return nl_fail(err, NL_USAGE,
                       "--min-captures and --max-captures: 1 to %d, and the minimum may not exceed "
                       "the maximum",
                       NL_MAX_CAPTURES);
    bench->within = DEFAULT_PRECISION;
    if (!own->within)
        return true;
    bench->within = strtod(own->within, &end) / 100;
    while (*end == ' ')
        end++;
    if (end != own->within && strcmp(end, "%") == 0 && bench->within > 0 && bench->within < 1)
        return true;
    return nl_fail(err, NL_USAGE, "--precision: '%s' is not a share such as 1%%", own->within);
}

static void give_words(const struct nl_call *call, int colon, size_t i, struct nl_bench_side *side)
{
    const struct nl_texts *commits = &nl_bench_own(call)->commits;
    bool second = i && colon >= 0;
    side->words = call->argument + (second ? colon + 1 : 0);
    side->count = second ? call->count - colon - 1 : colon >= 0 ? colon : call->count;
    side->commit = i < commits->count ? commits->items[i] : NULL;
}

/* The words of the command, or of two with a lone ":" between them; of two
 * commits the same command. */
static bool read_commands(const struct nl_call *call, struct nl_bench *bench, struct nl_err *err)
{
    const struct nl_texts *commits = &nl_bench_own(call)->commits;
    int colon = -1;
    for (int i = 0; i < call->count && colon < 0; i++)
        if (strcmp(call->argument[i], ":") == 0)
            colon = i;
    if (commits->count > 2 || (commits->count && colon >= 0))
        return nl_fail(err, NL_USAGE,
                       "give two commands with : between them, or one with --commit once or twice");
    if (nl_bench_own(call)->build && !commits->count)
        return nl_fail(err, NL_USAGE, "--build builds the checkouts of --commit; name one");
    bench->sides = colon >= 0 || commits->count == 2 ? 2 : 1;
    for (size_t i = 0; i < bench->sides; i++) {
        give_words(call, colon, i, &bench->side[i]);
        if (!bench->side[i].count)
            return nl_fail(err, NL_USAGE, "give a command on each side of :");
    }
    return true;
}

static bool make_folder(const struct nl_call *call, struct nl_bench *bench, struct nl_err *err)
{
    char name[64] = "";
    struct tm fields;
    struct stat info;
    time_t now = time(NULL);
    if (localtime_r(&now, &fields))
        (void)strftime(name, sizeof name, "bench-%Y%m%d-%H%M%S", &fields);
    bench->folder = call->settings.output ? call->settings.output
                                          : nl_arena_text(&bench->arena, name, strlen(name));
    for (unsigned i = 2; !call->settings.output && lstat(bench->folder, &info) == 0; i++)
        bench->folder = nl_arena_format(&bench->arena, "%s-%u", name, i);
    if (lstat(bench->folder, &info) == 0 && rmdir(bench->folder) != 0) {
        nl_err_at(err, bench->folder, -1);
        return nl_fail(err, NL_USAGE, "already exists; name a new folder with -o");
    }
    return nl_make_folders(bench->folder, err);
}

/* ---- how well it is known ---- */

static bool load_captures(struct nl_bench *bench, size_t side, struct nl_captures *captures,
                          const struct nl_call *call, struct nl_err *err)
{
    return nl_captures_load(captures, &bench->side[side].all, 1, call, err);
}

/* Half of the interval of what a side takes, or of the ratio of two, as a
 * logarithm; NaN not known. */
static bool find_width(struct nl_bench *bench, const struct nl_call *call, double *half,
                       struct nl_err *err)
{
    struct nl_captures captures[2] = {0};
    bool comparable, done = true;
    *half = NAN;
    for (size_t i = 0; i < bench->sides && done; i++)
        done = load_captures(bench, i, &captures[i], call, err);
    if (done && bench->sides == 1) {
        struct nl_gate_typical typical = nl_gate_typical_of(&captures[0].input);
        *half = log(typical.high / typical.low) / 2;
    } else if (done) {
        struct nl_report *report = nl_diff_new(&captures[0].input, &captures[1].input, "verdict",
                                               &comparable, call->job, err);
        done = report != NULL;
        if (report && report->result_count)
            *half = log(nl_lookup_f64(report->results[0], 0, "ratio_high") /
                        nl_lookup_f64(report->results[0], 0, "ratio_low")) /
                    2;
        if (report)
            nl_report_free(report);
    }
    for (size_t i = 0; i < bench->sides; i++)
        nl_captures_release(&captures[i]);
    return done;
}

static bool take_captures(struct nl_bench *bench, const struct nl_call *call, struct nl_err *err)
{
    int64_t began = nl_monotonic_ns(), longest = nl_bench_own(call)->max_time_ns;
    double half = NAN;
    char share[NL_UNIT_TEXT];
    nl_job_phase(call->job, "recording", bench->most * bench->sides);
    for (size_t round = 0; round < bench->most; round++) {
        for (size_t i = 0; i < bench->sides; i++)
            if (!nl_bench_capture(bench, (round + i) % bench->sides, round + 1, call, err))
                return false;
        if (round + 1 < bench->least)
            continue;
        if (!find_width(bench, call, &half, err))
            return false;
        nl_message_detail(call, "after %zu captures per side: within %s", round + 1,
                          isnan(half) ? "an unknown range" : nl_format_percent(share, half));
        if (half <= bench->within || (longest && nl_monotonic_ns() - began >= longest))
            break;
    }
    if (!(half <= bench->within))
        nl_message_note(call, "the 95 %% interval is still wider than ±%s: %s",
                        nl_format_percent(share, bench->within),
                        longest ? "--max-time and --max-captures give it longer"
                                : "--max-captures allows more");
    return true;
}

/* ---- the answer ---- */

#define COLUMNS(C)                                                                                 \
    C(metric, NULL, TEXT)                                                                          \
    C(typical_ns, "typical", NS)                                                                   \
    C(low_ns, "at least", NS)                                                                      \
    C(high_ns, "at most", NS)                                                                      \
    C(captures, NULL, COUNT)                                                                       \
    C(differ_share, "captures differ by", SHARE)                                                   \
    C(preempted_share, "preempted", SHARE)                                                         \
    C(folder, NULL, TEXT)
NL_COLUMNS(COLUMNS);

static struct nl_cell ns_cell(double ns)
{
    return isnan(ns) ? (struct nl_cell){0} : nl_cell_i64(nl_whole_i64(ns));
}

/* "step.p50 3.012 ms ± 0.3 % (95 %), 5 captures that differ by 0.2 %; …" */
static const char *sentence(struct nl_bench *bench, const struct nl_gate_typical *t)
{
    char text[NL_UNIT_TEXT];
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    nl_buf_format(&out, "%s %s", t->metric, nl_format_ns(text, nl_whole_i64(t->ns)));
    if (!isnan(t->sd)) {
        nl_buf_format(&out, " ± %s (95 %%)", nl_format_percent(text, log(t->high / t->low) / 2));
        nl_buf_format(&out, ", %zu captures that differ by %s", t->captures,
                      nl_format_percent(text, t->sd));
    }
    if (t->kept >= 0.01)
        nl_buf_format(&out,
                      "; other programs had the processor for %s of the time, which is left out",
                      nl_format_percent(text, t->kept));
    nl_buf_format(&out, ".\nNext: neurolens analyze %s/A1.nlt", bench->folder);
    if (strlen(bench->side[0].all) < MAX_LINE)
        nl_buf_format(&out, "; compare new captures with these: neurolens check NEW --baseline %s",
                      bench->side[0].all);
    const char *said = nl_arena_text(&bench->arena, out.ptr, out.len);
    nl_buf_release(&out);
    return said;
}

static bool answer_one(struct nl_bench *bench, const struct nl_call *call, struct nl_err *err)
{
    struct nl_captures captures = {0};
    bool done = load_captures(bench, 0, &captures, call, err);
    if (done) {
        struct nl_gate_typical t = nl_gate_typical_of(&captures.input);
        struct nl_result *result = NL_ANSWER_NEW("bench", "What the command takes", columns);
        struct nl_cell *cells = nl_result_row(result);
        cells[AT_metric] = nl_cell_static(t.metric);
        cells[AT_typical_ns] = ns_cell(t.ns);
        cells[AT_low_ns] = ns_cell(t.low);
        cells[AT_high_ns] = ns_cell(t.high);
        cells[AT_captures] = nl_cell_count(t.captures);
        cells[AT_differ_share] = nl_cell_f64(t.sd);
        cells[AT_preempted_share] = nl_cell_f64(t.kept);
        cells[AT_folder] = nl_cell_text(result, nl_str(bench->folder));
        done = nl_ledgercall_print(call, result, sentence(bench, &t), err);
        nl_result_free(result);
    }
    nl_captures_release(&captures);
    return done;
}

/* That of diff, on the captures. */
static bool answer_two(struct nl_bench *bench, struct nl_call *call, struct nl_err *err)
{
    char *words[] = {bench->side[0].all, bench->side[1].all};
    struct nl_call diff = *call;
    diff.argument = words;
    diff.count = 2;
    bool done = nl_command_instead(&nl_command_diff, &diff, err);
    call->status = diff.status;
    return done;
}

static bool run_bench(struct nl_bench *bench, struct nl_call *call, struct nl_err *err)
{
    if (!read_limits(nl_bench_own(call), bench, err) || !read_commands(call, bench, err) ||
        !make_folder(call, bench, err))
        return false;
    call->settings.output = NULL; /* it was the folder */
    bool done = nl_bench_prepare(bench, call, err) && take_captures(bench, call, err);
    nl_bench_clear(bench);
    nl_progress_quiet(call->progress);
    if (!done)
        return false;
    nl_message_note(call, "the captures are in %s", bench->folder);
    return bench->sides == 1 ? answer_one(bench, call, err) : answer_two(bench, call, err);
}

static bool bench_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_bench bench = {0};
    nl_arena_init(&bench.arena);
    bool done = run_bench(&bench, call, err);
    nl_arena_free(&bench.arena);
    return done;
}

const struct nl_command nl_command_bench = {
    .name = "bench",
    .group = "Compare",
    .summary = "measure a command, or two in turn, until the result is stable",
    .usage = "[--] COMMAND… [: COMMAND…]",
    .leading = true,
    .least = 1,
    .most = -1,
    NL_DEFAULTS(nl_bench_options, 0),
    .tables = NL_TABLES(bench_options, nl_diff_options, nl_common_options),
    .help =
        "Records COMMAND repeatedly, each time in a new process, until the 95 % interval of its\n"
        "typical step (or of the whole run, without steps) is within 1 %, or after 20 captures. "
        "Two\n"
        "commands, separated by a lone :, take turns, so that other load on the machine affects "
        "both\n"
        "equally; the answer is that of `diff`. --commit, given twice, compares two commits: each "
        "is\n"
        "checked out with git worktree beside the captures, built with --build, and removed at "
        "the\n"
        "end. The captures stay in the folder that -o names.",
    .examples = "neurolens bench -- python train.py --steps 50\n"
                "neurolens bench -- python serve.py --batch 8 : python serve.py --batch 16\n"
                "neurolens bench --commit main --commit HEAD --build 'make -j' -- ./bench\n"
                "neurolens bench --precision 0.5% --max-captures 40 -o captures -- ./a.out",
    .run = bench_run,
};
