/* The commands that only print what the program knows: help, version, completion, schema. */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/completion.h"
#include "cli/ledgercall.h"
#include "cli/output.h"
#include "findings/causebook.h"
#include "ledger/runnames.h"
#include "sql/db.h"
#include "tables/analyze.h"
#include "rundoc/rundoc.h"

#define MAX_NAMES ((size_t)1 << 20)
#define NEWEST    200 /* runs that are offered by their ids */

static bool help_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    const char *topic = call->count ? call->argument[0] : NULL;
    const struct nl_command *command = topic ? nl_command_find(topic) : NULL;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    bool done = true;
    if (!topic)
        nl_help_program(output.stream, true);
    else if (command)
        nl_help_long(output.stream, command);
    else if (!nl_help_topic(output.stream, topic)) {
        struct nl_nearest nearest;
        nl_nearest_init(&nearest, topic);
        nl_help_offer(&nearest);
        const char *best = nl_nearest_best(&nearest);
        done = nl_fail(err, NL_USAGE, "no help on '%s'; %s%s%s", topic,
                       best ? "did you mean " : "`neurolens help` lists commands and topics",
                       best ? best : "", best ? "?" : "");
    }
    return nl_output_close(&output, call, done, err);
}

static bool version_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    fprintf(output.stream, "neurolens %s\n", NL_VERSION);
    if (call->settings.verbose) {
        fprintf(output.stream, "schema %016llx\n", (unsigned long long)nl_schema_hash());
        fprintf(output.stream, "built with %s\n", __VERSION__);
    }
    return nl_output_close(&output, call, true, err);
}

/* Asked for by the scripts; where there is no ledger there are no runs. */
static bool run_names(const struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    struct nl_buf text;
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    nl_buf_init(&text, MAX_NAMES);
    struct nl_ledger *ledger = nl_ledgercall_open(call, NL_LEDGER_READ, err);
    bool done = ledger && nl_ledger_names(ledger, NEWEST, &text, err);
    if (done && text.len)
        fwrite(text.ptr, 1, text.len, output.stream);
    nl_ledger_close(ledger);
    nl_buf_release(&text);
    return nl_output_close(&output, call, done, err);
}

static bool completion_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    const char *shell = call->argument[0];
    if (strcmp(shell, "runs") == 0)
        return run_names(call, err);
    for (size_t i = 0; call->command->words[i]; i++) {
        if (strcmp(call->command->words[i], shell) != 0)
            continue;
        if (!nl_output_open(&output, call, NULL, 0, err))
            return false;
        nl_completion(output.stream, shell);
        return nl_output_close(&output, call, true, err);
    }
    return nl_fail(err, NL_USAGE, "no completion for '%s'; there are bash, zsh, fish and man",
                   shell);
}

static void run_schema(struct nl_buf *out)
{
    nl_buf_text(out, nl_rundoc_schema("run"));
}

static void run_schema_3(struct nl_buf *out)
{
    nl_buf_text(out, nl_rundoc_schema("run-3"));
}

static void run_schema_2(struct nl_buf *out)
{
    nl_buf_text(out, nl_rundoc_schema("run-2"));
}

static void run_schema_1(struct nl_buf *out)
{
    nl_buf_text(out, nl_rundoc_schema("run-1"));
}

static const struct {
    const char *name, *summary;
    void (*write)(struct nl_buf *out);
} schemas[] = {
    {"sql", "tables, columns and functions of `neurolens sql` (Markdown)", nl_db_document},
    {"run", "the run document, run.json (JSON Schema)", run_schema},
    {"run-3", "run documents of version 3 (JSON Schema)", run_schema_3},
    {"run-2", "run documents of version 2 (JSON Schema)", run_schema_2},
    {"run-1", "run documents of version 1 (JSON Schema)", run_schema_1},
    {"metrics", "metrics and fields of the run document (Markdown)", nl_rundoc_document},
    {"analyses", "what every section of `analyze` needs and answers (Markdown)",
     nl_analyze_document},
    {"causes", "every cause of `analyze`: how it is judged (Markdown)", nl_causebook_document},
};
#define SCHEMA_COUNT (sizeof schemas / sizeof schemas[0])

static bool schema_run(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    struct nl_buf text;
    const char *name = call->count ? call->argument[0] : NULL;
    size_t wanted = 0;
    while (name && wanted < SCHEMA_COUNT && strcmp(schemas[wanted].name, name) != 0)
        wanted++;
    if (wanted == SCHEMA_COUNT)
        return nl_fail(
            err, NL_USAGE,
            "no schema '%s'; there are sql, run, run-3, run-2, run-1, metrics, analyses and causes",
            name);
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    nl_buf_init(&text, (size_t)16 << 20);
    if (name)
        schemas[wanted].write(&text);
    for (size_t i = 0; !name && i < SCHEMA_COUNT; i++)
        nl_buf_format(&text, "%-8s %s\n", schemas[i].name, schemas[i].summary);
    if (text.len)
        fwrite(text.ptr, 1, text.len, output.stream);
    nl_buf_release(&text);
    return nl_output_close(&output, call, true, err);
}

static const char *const schema_names[] = {"sql",     "run",      "run-3",  "run-2", "run-1",
                                           "metrics", "analyses", "causes", NULL};

const struct nl_command nl_command_schema = {
    .name = "schema",
    .group = "Tools",
    .summary = "print a schema: sql, run (JSON Schema), metrics",
    .usage = "[NAME]",
    .least = 0,
    .most = 1,
    .tables = NL_TABLES(nl_common_options),
    .help = "Without NAME, lists the schemas there are.",
    .examples = "neurolens schema sql\nneurolens schema run > run.schema.json",
    .words = schema_names,
    .run = schema_run,
};

static const char *const shell_names[] = {"bash", "zsh", "fish", "man", NULL};

const struct nl_command nl_command_completion = {
    .name = "completion",
    .group = "Tools",
    .summary = "print a shell completion script or the man page",
    .usage = "bash|zsh|fish|man",
    .least = 1,
    .most = 1,
    .tables = NL_TABLES(nl_common_options),
    .help = "Put the script where your shell looks for completions, or source it at start-up. It "
            "asks\n"
            "`neurolens completion runs` for the tags and runs of the ledger. `make install` "
            "installs\n"
            "the scripts and the man page.",
    .examples = "source <(neurolens completion bash)\n"
                "neurolens completion fish > ~/.config/fish/completions/neurolens.fish",
    .words = shell_names,
    .run = completion_run,
};

const struct nl_command nl_command_help = {
    .name = "help",
    .group = "Tools",
    .summary = "explain a command or a topic",
    .usage = "[TOPIC]",
    .least = 0,
    .most = 1,
    .tables = NL_TABLES(nl_common_options),
    .help = "TOPIC is a command, or one of the topics that `neurolens help` lists.",
    .examples = "neurolens help analyze\nneurolens help names",
    .run = help_run,
};

const struct nl_command nl_command_version = {
    .name = "version",
    .group = "Tools",
    .summary = "print the version",
    .usage = "",
    .least = 0,
    .most = 0,
    .tables = NL_TABLES(nl_common_options),
    .help = "Prints the program's version; with -v, that of the schema and the compiler.",
    .examples = "neurolens version",
    .run = version_run,
};
