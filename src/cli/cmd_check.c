/* check: rules over new captures, against a baseline or budgets; what CI stops at. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/capturenoise.h"
#include "cli/captures.h"
#include "cli/ledgercall.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "compare/gate.h"
#include "compare/gatenoise.h"
#include "pages/page.h"
#include "view/gatefiles.h"
#include "compare/rulesread.h"

struct check_options {
    struct nl_texts baseline, fail_on, allow;
    const char *rules, *junit, *sarif, *markdown;
    bool self_test;
};

static const struct check_options *check_own(const struct nl_call *call)
{
    return call->own;
}

#define RULES_FILE "neurolens-check.yaml"
#define MAX_FILE   ((size_t)64 << 20)

static const struct nl_option check_options[] = {
    {"baseline", 'b', NL_OPTION_LIST, NL_OWN(check_options, baseline), "REF",
     "the baseline: files, runs, tag:NAME~5, comma-separated (repeatable)", NULL},
    {"rules", 0, NL_OPTION_TEXT, NL_OWN(check_options, rules), "FILE",
     "rules file (default: " RULES_FILE " here, if there is one)", NULL},
    {"fail-on", 0, NL_OPTION_LIST, NL_OWN(check_options, fail_on), "RULE",
     "a rule, such as 'step.p50 > +3%' or 'mfu < 40%' (repeatable)", NULL},
    {"allow", 0, NL_OPTION_LIST, NL_OWN(check_options, allow), "FACT",
     "metadata that may differ, such as driver, or all (repeatable)", NULL},
    {"junit", 0, NL_OPTION_TEXT, NL_OWN(check_options, junit), "FILE", "also write JUnit XML",
     NULL},
    {"sarif", 0, NL_OPTION_TEXT, NL_OWN(check_options, sarif), "FILE", "also write SARIF", NULL},
    {"markdown", 0, NL_OPTION_TEXT, NL_OWN(check_options, markdown), "FILE",
     "also write Markdown for a pull request", NULL},
    {"self-test", 0, NL_OPTION_FLAG, NL_OWN(check_options, self_test), NULL,
     "simulate how often the gate fails with and without a change, for the baseline's noise", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME", "only this table, such as rules",
     nl_gate_sections},
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

/* ---- rules ---- */

static bool read_rules_file(struct nl_rules *rules, const char *path, struct nl_err *err)
{
    struct nl_map map;
    if (!nl_map_open(&map, path, err))
        return false;
    nl_err_at(err, path, -1);
    bool done = nl_rules_read(rules, map.size ? (const char *)map.bytes : "", map.size, err);
    nl_map_close(&map);
    if (done)
        nl_err_at(err, "", -1);
    return done;
}

static bool read_rules(struct nl_rules *rules, const struct nl_call *call, struct nl_err *err)
{
    const struct check_options *own = check_own(call);
    const char *file = own->rules ? own->rules : access(RULES_FILE, F_OK) == 0 ? RULES_FILE : NULL;
    if (file && !read_rules_file(rules, file, err))
        return false;
    for (size_t i = 0; i < own->fail_on.count; i++)
        if (!nl_rules_add(rules, own->fail_on.items[i], err))
            return false;
    for (size_t i = 0; i < own->allow.count; i++)
        if (!nl_rules_allow(rules, own->allow.items[i], err))
            return false;
    return true;
}

/* ---- answers ---- */

static bool write_file(const char *path, const struct nl_buf *text, struct nl_err *err)
{
    struct nl_out out;
    if (!nl_out_open(&out, path, err))
        return false;
    fwrite(text->ptr, 1, text->len, out.stream);
    return nl_out_commit(&out, err);
}

static bool write_files(const struct nl_call *call, const struct nl_report *report,
                        struct nl_err *err)
{
    const struct check_options *own = check_own(call);
    const char *rules = own->rules ? own->rules : RULES_FILE;
    struct nl_buf text;
    bool done = true;
    nl_buf_init(&text, MAX_FILE);
    if (own->junit) {
        nl_gate_junit(&text, report);
        done = write_file(own->junit, &text, err);
    }
    nl_buf_clear(&text);
    if (done && own->sarif) {
        nl_gate_sarif(&text, report, rules);
        done = write_file(own->sarif, &text, err);
    }
    nl_buf_clear(&text);
    if (done && own->markdown) {
        nl_gate_markdown(&text, report);
        done = write_file(own->markdown, &text, err);
    }
    nl_buf_release(&text);
    return done;
}

static bool show_gate(const struct nl_call *call, struct nl_output *output,
                      struct nl_report *report, const struct nl_profile *base,
                      const struct nl_profile *changed, struct nl_err *err)
{
    const struct nl_settings *s = &call->settings;
    struct nl_view_options options = {.section = s->section,
                                      .width = output->width,
                                      .color = output->color,
                                      .ascii = output->ascii,
                                      .all = s->all,
                                      .rows = (size_t)s->limit,
                                      .base = base};
    if (strcmp(output->view->name, "md") == 0 && !s->section) {
        struct nl_buf text;
        nl_buf_init(&text, MAX_FILE);
        nl_gate_markdown(&text, report);
        fwrite(text.ptr, 1, text.len, output->stream);
        nl_buf_release(&text);
        return true;
    }
    if (strcmp(output->view->name, "csv") == 0 && !s->section)
        options.section = "rules";
    if (s->section)
        nl_report_keep(report, s->section);
    nl_report_cut(report, (size_t)s->limit);
    return output->view->render_report(output->stream, changed, report, &options, err);
}

/* ---- one check ---- */

struct check {
    struct nl_captures base, changed;
    struct nl_rules rules;
    bool has_base;
};

static bool load_sides(struct check *check, const struct nl_call *call, struct nl_err *err)
{
    const struct check_options *own = check_own(call);
    check->has_base = own->baseline.count > 0;
    if (check->has_base && !nl_captures_load(&check->base, (char *const *)own->baseline.items,
                                             own->baseline.count, call, err))
        return false;
    if (!nl_captures_load(&check->changed, call->argument, (size_t)call->count, call, err))
        return false;
    struct nl_captures *both[] = {&check->changed, &check->base};
    nl_capture_noise(both, check->has_base ? 2 : 1, call);
    if (check->rules.count)
        return true;
    if (!check->has_base)
        return nl_fail(err, NL_USAGE,
                       "no --baseline and no rules: name runs to compare with, or a budget such as "
                       "--fail-on 'step.p50 > 120ms'");
    return nl_rules_default(&check->rules, nl_gate_has_steps(&check->changed.input), err);
}

/* The page has pictures of both sides. */
static bool show_page(const struct nl_call *call, struct nl_output *output,
                      struct nl_report *report, const struct nl_diff_input *a,
                      const struct nl_diff_input *b, const struct nl_profile *base,
                      const struct nl_profile *changed, struct nl_err *err)
{
    const char *title = nl_arena_format(&report->arena, "Gate: %s against %s",
                                        nl_page_title(changed, &report->arena),
                                        nl_page_title(base, &report->arena));
    struct nl_page page = {.kind = "check", .title = title, .command = call->line};
    struct nl_view_options options = {.all = call->settings.all, .base = base};
    const struct nl_trace *traces[] = {a->trace, b->trace};
    nl_report_cut(report, (size_t)call->settings.limit);
    return nl_page_diff(output->stream, &page, traces, changed, report, &options, err);
}

static bool judge_gate(struct check *check, struct nl_call *call, struct nl_output *output,
                       struct nl_err *err)
{
    nl_job_phase(call->job, "comparing", 0);
    struct nl_report *report =
        nl_gate_new(check->has_base ? &check->base.input : NULL, &check->changed.input,
                    &check->rules, &call->status, call->job, err);
    nl_progress_quiet(call->progress);
    if (!report)
        return false;
    const struct nl_diff_input *b = &check->changed.input, *a = &check->base.input;
    struct nl_profile *changed = nl_profile_new(b->trace, &b->window);
    struct nl_profile *base = check->has_base ? nl_profile_new(a->trace, &a->window) : NULL;
    bool pair = base && output->view == &nl_view_html && !call->settings.section;
    bool done = write_files(call, report, err) &&
                (pair ? show_page(call, output, report, a, b, base, changed, err)
                      : show_gate(call, output, report, base, changed, err));
    nl_profile_free(changed);
    if (base)
        nl_profile_free(base);
    nl_report_free(report);
    return done;
}

static bool self_test(struct check *check, const struct nl_call *call, struct nl_err *err)
{
    struct nl_captures *base_alone[] = {&check->base};
    nl_capture_noise(base_alone, check->has_base ? 1 : 0, call);
    struct nl_noise noise = check->base.input.noise;
    size_t base = check->has_base ? check->base.count : 3;
    size_t changed = check->changed.count ? check->changed.count : 3;
    double sd = check->has_base ? nl_gate_noise(&check->base.input) : NAN;
    const char *from = "as the baseline's do";
    if (noise.sd > 0) {
        sd = noise.sd;
        from = "as earlier runs in the ledger do";
    } else if (isnan(sd)) {
        sd = NL_NOISE_SEVERAL;
        from = "assumed: no baseline of two captures or more";
    }
    nl_message_note(call, "captures differ by %.2f %% (%s); %zu and %zu captures", 100 * sd, from,
                    base, changed);
    struct nl_result *result = nl_gate_simulate(sd, base, changed, check->rules.tolerance, &noise);
    bool done = nl_ledgercall_print(call, result, NULL, err);
    nl_result_free(result);
    return done;
}

static bool write_template(const struct nl_call *call, struct nl_err *err)
{
    const char *path = call->count > 1 ? call->argument[1] : RULES_FILE;
    struct nl_buf text;
    if (access(path, F_OK) == 0) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_USAGE, "it already exists; edit it, or name another file");
    }
    nl_buf_init(&text, MAX_FILE);
    nl_buf_text(&text, nl_rules_template);
    bool done = write_file(path, &text, err);
    nl_buf_release(&text);
    if (done)
        nl_message_note(call, "wrote %s; `neurolens check NEW --baseline REF` reads it", path);
    return done;
}

static bool run_check(struct check *check, struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    if (!read_rules(&check->rules, call, err))
        return false;
    if (check_own(call)->self_test && !call->count && !check_own(call)->baseline.count)
        return self_test(check, call, err);
    if (check_own(call)->self_test) {
        const struct check_options *own = check_own(call);
        check->has_base = own->baseline.count > 0;
        if (check->has_base && !nl_captures_load(&check->base, (char *const *)own->baseline.items,
                                                 own->baseline.count, call, err))
            return false;
        if (call->count &&
            !nl_captures_load(&check->changed, call->argument, (size_t)call->count, call, err))
            return false;
        return self_test(check, call, err);
    }
    if (!call->count)
        return nl_fail(err, NL_USAGE, "which captures? as in `neurolens check NEW --baseline REF`");
    if (!nl_output_open(&output, call, (const char *const *)call->argument, (size_t)call->count,
                        err))
        return false;
    bool done = load_sides(check, call, err) && judge_gate(check, call, &output, err);
    return nl_output_close(&output, call, done, err);
}

static bool check_run(struct nl_call *call, struct nl_err *err)
{
    struct check check = {0};
    if (call->count && call->count <= 2 && strcmp(call->argument[0], "init") == 0 &&
        access("init", F_OK) != 0)
        return write_template(call, err);
    nl_rules_init(&check.rules);
    bool done = run_check(&check, call, err);
    nl_rules_release(&check.rules);
    nl_captures_release(&check.base);
    nl_captures_release(&check.changed);
    return done;
}

const struct nl_command nl_command_check = {
    .name = "check",
    .group = "Compare",
    .summary = "CI gate: fail when new captures regress against a baseline",
    .usage = "NEW[,NEW…] | init [FILE]",
    .least = 0,
    .most = -1,
    NL_DEFAULTS(check_options, 0),
    .tables = NL_TABLES(check_options, nl_profile_options, nl_common_options),
    .help =
        "Compares new captures with a baseline: pass (exit 0), regression (1), or inconclusive or\n"
        "not comparable (3), with the reason. Rules are metrics with limits: 'step.p50 > +3%' "
        "(with\n"
        "a sign: relative to the baseline), 'step.p95 > 120ms' (a budget), counts such as\n"
        "kernels.count, op[\"aten::mm\"].p95, or a column of any table. Without rules, the "
        "typical\n"
        "step may be 2 % slower with 3 captures per side, 5 % with fewer. Timed metrics fail only\n"
        "when they exceed the noise between captures; counts are compared exactly. A different "
        "GPU,\n"
        "driver, framework or batch size makes the comparison invalid unless --allow names it.\n"
        "`check init` writes a commented rules file; --self-test simulates how often this gate is\n"
        "wrong. --format md writes a comment for a pull request.",
    .examples =
        "neurolens check new1.json,new2.json,new3.json --baseline old1.json,old2.json,old3.json\n"
        "neurolens check @ --baseline tag:main~5 --fail-on 'step.p50 > +3%'\n"
        "neurolens check @ --fail-on 'step.p95 > 120ms' --fail-on 'mfu < 40%'  # budgets\n"
        "neurolens check @ -b main --junit check.xml --markdown \"$GITHUB_STEP_SUMMARY\"\n"
        "neurolens check --self-test --baseline tag:main~10",
    .run = check_run,
};
