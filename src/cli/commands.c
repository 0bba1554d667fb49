/* The commands and their options, a row each. Help, completion and parsing follow from here. */
#include "cli/command.h"

#include <stddef.h>
#include <string.h>

#include "analyze/analyze.h"

#define TARGET(member) offsetof(struct nl_settings, member)
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

const char *const nl_format_names[] = {"text", "json", "csv", "md", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const progress_names[] = {"auto", "json", "never", NULL};
static const char *const shell_names[] = {"bash", "zsh", "fish", NULL};
static const char *const schema_names[] = {"sql", NULL};

const struct nl_option nl_common_options[] = {
    {"format", 'f', NL_OPTION_CHOICE, TARGET(format), "FORMAT",
     "text (for eyes, may change), json, csv or md", nl_format_names},
    {"output", 'o', NL_OPTION_TEXT, TARGET(output), "FILE",
     "write the answer to FILE, all at once or not at all", NULL},
    {"color", 0, NL_OPTION_CHOICE, TARGET(color), "WHEN", "auto, always or never", color_names},
    {"progress", 0, NL_OPTION_CHOICE, TARGET(progress), "HOW",
     "auto (a bar on a terminal), json (lines on stderr) or never", progress_names},
    {"quiet", 'q', NL_OPTION_FLAG, TARGET(quiet), NULL, "no notes and no progress", NULL},
    {"verbose", 'v', NL_OPTION_COUNT, TARGET(verbose), NULL, "say more about what is done", NULL},
    {"ledger", 0, NL_OPTION_TEXT, TARGET(ledger), "FOLDER",
     "keep cached profiles there instead of the usual place", NULL},
    {"help", 0, NL_OPTION_FLAG, TARGET(help), NULL, "all about the command (-h: in short)", NULL},
    {"short-help", 'h', NL_OPTION_FLAG, TARGET(short_help), NULL, NULL, NULL},
    {"version", 0, NL_OPTION_FLAG, TARGET(version), NULL, NULL, NULL},
    END,
};

static const struct nl_option profile_options[] = {
    {"memory", 0, NL_OPTION_SIZE, TARGET(memory_bytes), "SIZE",
     "budget, such as 4GiB (default: half of what is free)", NULL},
    {"threads", 'j', NL_OPTION_NUMBER, TARGET(threads), "N", "workers (default: one per processor)",
     NULL},
    {"no-cache", 0, NL_OPTION_FLAG, TARGET(no_cache), NULL,
     "neither read nor write the cache of imported profiles", NULL},
    {"rank", 0, NL_OPTION_NUMBER, TARGET(rank), "N", "rank of a file that does not name its own",
     NULL},
    {"join", 0, NL_OPTION_TEXTS, TARGET(join), "REPORT",
     "give the kernels what Nsight Compute measured of them (may be repeated)", NULL},
    END,
};

/* Names that --section takes, for completion. */
static const char *const section_names[] = {
#define NL_ANALYSIS(name) #name,
#include "analyze/analyses.def"
#undef NL_ANALYSIS
    NL_SECTION_FINDINGS, NULL};

static const struct nl_option report_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_TEXT, TARGET(section), "NAME",
     "only this analysis, such as kernels (help sections)", section_names},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "every row and every empty table", NULL},
    END,
};

static const struct nl_option sql_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows of each answer", NULL},
    {"timeout", 0, NL_OPTION_TIME, TARGET(timeout_ns), "TIME", "stop a statement after, say, 30s",
     NULL},
    {"absolute", 0, NL_OPTION_FLAG, TARGET(absolute), NULL,
     "times as recorded instead of from the first event", NULL},
    END,
};

static const struct nl_option gc_options[] = {
    {"max", 0, NL_OPTION_SIZE, TARGET(max_bytes), "SIZE",
     "keep at most that much (default: the cache's own bound)", NULL},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "remove every cached profile", NULL},
    {"dry-run", 0, NL_OPTION_FLAG, TARGET(dry_run), NULL, "only say what would go", NULL},
    END,
};

static const struct nl_option *const plain_tables[] = {nl_common_options, NULL};
static const struct nl_option *const report_tables[] = {report_options, profile_options,
                                                        nl_common_options, NULL};
static const struct nl_option *const sql_tables[] = {sql_options, profile_options,
                                                     nl_common_options, NULL};
static const struct nl_option *const gc_tables[] = {gc_options, nl_common_options, NULL};
const struct nl_option *const nl_every_option[] = {report_options,  sql_options,       gc_options,
                                                   profile_options, nl_common_options, NULL};

const char *const nl_command_groups[] = {"Understand", "Ledger", "Tools", NULL};

const struct nl_command nl_commands[] = {
    {.name = "info",
     .group = "Understand",
     .summary = "what is in a profile and what is missing",
     .usage = "PROFILE…",
     .least = 1,
     .most = -1,
     .tables = report_tables,
     .help = "Shows the files, tools, ranks and devices of a profile, how many events of which\n"
             "kind it holds, and its coverage: what the source did not contain, what was dropped,\n"
             "cut or repaired. `neurolens PROFILE` alone does the same.",
     .examples = "neurolens info trace.json.gz            # one profile\n"
                 "neurolens info 'ranks/*.json.gz'        # many files: one multi-rank profile\n"
                 "neurolens info --format json run.sqlite # for a script",
     .run = nl_cmd_info},
    {.name = "analyze",
     .group = "Understand",
     .summary = "where the time goes, with the evidence",
     .usage = "PROFILE…",
     .least = 1,
     .most = -1,
     .tables = report_tables,
     .help = "Breaks the time of every device and rank into compute, exposed communication,\n"
             "exposed copies and idle (they add up to the wall time exactly), and lists the\n"
             "kernels, copies, operators, ranges, launches and steps behind it. What was not\n"
             "recorded is named, with the way to record it.",
     .examples = "neurolens analyze trace.json.gz\n"
                 "neurolens analyze 'run.sqlite[1.2s:1.5s]'     # a window of time\n"
                 "neurolens analyze 'ranks/[step=10:20,rank=3]' # some steps of one rank\n"
                 "neurolens analyze run.sqlite --format json -o run.json\n"
                 "neurolens analyze run.sqlite --section idle_causes    # one question",
     .run = nl_cmd_analyze},
    {.name = "sql",
     .group = "Understand",
     .summary = "ask anything in SQL",
     .usage = "PROFILE… [QUERY]",
     .least = 1,
     .most = -1,
     .tables = sql_tables,
     .help = "Runs QUERY over the profile. Without QUERY it opens a shell on a terminal, and\n"
             "reads statements from the standard input otherwise. The profile cannot be changed.\n"
             "`neurolens schema sql` lists the tables, columns and functions; in the shell,\n"
             ".tables and .schema do.",
     .examples = "neurolens sql trace.json.gz 'SELECT * FROM kernel_summary LIMIT 10'\n"
                 "neurolens sql run.sqlite --format csv < question.sql\n"
                 "neurolens sql run.sqlite                      # a shell",
     .run = nl_cmd_sql},
    {.name = "init",
     .group = "Ledger",
     .summary = "make a ledger folder here",
     .usage = "[FOLDER]",
     .least = 0,
     .most = 1,
     .tables = plain_tables,
     .help = "Makes .neurolens/ in FOLDER (default: the current one). Commands run there or\n"
             "below keep their cached profiles in it.",
     .examples = "neurolens init",
     .run = nl_cmd_init},
    {.name = "gc",
     .group = "Ledger",
     .summary = "remove cached profiles that were not used for long",
     .usage = "",
     .least = 0,
     .most = 0,
     .tables = gc_tables,
     .help = "Removes the least recently used cached profiles until the rest fits, and temporary\n"
             "files that an interrupted run left more than a day ago. Only copies are removed: a\n"
             "profile that is asked about again is imported again.",
     .examples = "neurolens gc --dry-run\n"
                 "neurolens gc --max 2GiB",
     .run = nl_cmd_gc},
    {.name = "schema",
     .group = "Tools",
     .summary = "print a schema: sql = tables, columns and functions",
     .usage = "[NAME]",
     .least = 0,
     .most = 1,
     .tables = plain_tables,
     .help = "Without NAME, lists the schemas there are.",
     .examples = "neurolens schema sql",
     .words = schema_names,
     .run = nl_cmd_schema},
    {.name = "completion",
     .group = "Tools",
     .summary = "print the completion script of a shell",
     .usage = "bash|zsh|fish",
     .least = 1,
     .most = 1,
     .tables = plain_tables,
     .help = "The script goes where the shell looks for completions, or is read at start-up.",
     .examples = "source <(neurolens completion bash)\n"
                 "neurolens completion fish > ~/.config/fish/completions/neurolens.fish",
     .words = shell_names,
     .run = nl_cmd_completion},
    {.name = "help",
     .group = "Tools",
     .summary = "explain a command or a topic",
     .usage = "[TOPIC]",
     .least = 0,
     .most = 1,
     .tables = plain_tables,
     .help = "TOPIC is a command, or one of the topics that `neurolens help` lists.",
     .examples = "neurolens help analyze\nneurolens help profile",
     .run = nl_cmd_help},
    {.name = "version",
     .group = "Tools",
     .summary = "print the version",
     .usage = "",
     .least = 0,
     .most = 0,
     .tables = plain_tables,
     .help = "Prints the program's version; with -v, that of the schema and the compiler.",
     .examples = "neurolens version",
     .run = nl_cmd_version},
    END,
};

const struct nl_command *nl_command_find(const char *name)
{
    for (const struct nl_command *command = nl_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}
