/* The commands and their options, a row each. Help, completion and parsing follow from here. */
#include "cli/command.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "tables/analyze.h"

const char *const nl_format_names[] = {
#define NL_VIEW(name) #name,
#include "view/views.def"
#undef NL_VIEW
    NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const progress_names[] = {"auto", "json", "never", NULL};

const struct nl_option nl_common_options[] = {
    {"format", 'f', NL_OPTION_CHOICE, NL_SETTING(format), "FORMAT",
     "text (for people; may change), json, csv or md", nl_format_names},
    {"output", 'o', NL_OPTION_TEXT, NL_SETTING(output), "FILE",
     "write to FILE (complete or not at all); a name that ends in .html makes a page", NULL},
    {"csv-safe", 0, NL_OPTION_FLAG, NL_SETTING(csv_safe), NULL,
     "csv for spreadsheets: quote texts that would be formulas", NULL},
    {"color", 0, NL_OPTION_CHOICE, NL_SETTING(color), "WHEN", "auto, always or never", color_names},
    {"progress", 0, NL_OPTION_CHOICE, NL_SETTING(progress), "HOW",
     "auto (a bar on a terminal), json (lines on stderr) or never", progress_names},
    {"quiet", 'q', NL_OPTION_FLAG, NL_SETTING(quiet), NULL, "no notes and no progress", NULL},
    {"verbose", 'v', NL_OPTION_COUNT, NL_SETTING(verbose), NULL, "more detail", NULL},
    {"ledger", 0, NL_OPTION_TEXT, NL_SETTING(ledger), "FOLDER",
     "the ledger: runs and cached profiles (default: the usual place)", NULL},
    {"help", 0, NL_OPTION_FLAG, NL_SETTING(help), NULL, "full help of the command (-h: short)",
     NULL},
    {"short-help", 'h', NL_OPTION_FLAG, NL_SETTING(short_help), NULL, NULL, NULL},
    {"version", 0, NL_OPTION_FLAG, NL_SETTING(version), NULL, NULL, NULL},
    NL_OPTIONS_END,
};

const struct nl_option nl_profile_options[] = {
    {"memory", 0, NL_OPTION_SIZE, NL_SETTING(memory_bytes), "SIZE",
     "memory limit, such as 4GiB (default: half of the free memory)", NULL},
    {"threads", 'j', NL_OPTION_NUMBER, NL_SETTING(threads), "N",
     "threads (default: one per processor)", NULL},
    {"no-cache", 0, NL_OPTION_FLAG, NL_SETTING(no_cache), NULL,
     "neither read nor write the cache of imported profiles", NULL},
    {"rank", 0, NL_OPTION_NUMBER, NL_SETTING(rank), "N",
     "rank to take for a file that does not say (to choose one: 'PROFILE[rank=N]')", NULL},
    {"host", 0, NL_OPTION_TEXT, NL_SETTING(host), "NAME",
     "host to take for a file that does not say; its measured peaks (`roof`) are used", NULL},
    {"join", 0, NL_OPTION_LIST, NL_SETTING(join), "REPORT",
     "add kernel metrics from this Nsight Compute file (or a HIP graph capture)", NULL},
    NL_OPTIONS_END,
};

/* Names that --section takes, for completion. */
static const char *const section_names[] = {
#define NL_ANALYSIS(name) #name,
#include "tables/analyses.def"
#undef NL_ANALYSIS
    NL_SECTION_FINDINGS, NULL};

const struct nl_option nl_report_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, NL_SETTING(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_ONE, NL_SETTING(section), "NAME",
     "only this analysis, such as kernels (see `help sections`)", section_names},
    {"flops-per-step", 0, NL_OPTION_TEXT, NL_SETTING(flops_per_step), "FLOPS",
     "model FLOPs of a step on one device, such as 3.2e15, for MFU", NULL},
    {"tokens-per-step", 0, NL_OPTION_TEXT, NL_SETTING(tokens_per_step), "N",
     "tokens or samples of a step on one device, for tokens per second", NULL},
    {"all", 'a', NL_OPTION_FLAG, NL_SETTING(all), NULL, "every row and every empty table", NULL},
    NL_OPTIONS_END,
};

const char *const nl_command_groups[] = {"Record", "Understand", "Compare", "Look",
                                         "Ledger", "Share",      "Tools",   NULL};

const struct nl_command *const nl_commands[] = {
#define NL_COMMAND(name) &nl_command_##name,
#include "cli/commands.def"
#undef NL_COMMAND
    NULL};

static bool holds(const struct nl_option *const *tables, const struct nl_option *table)
{
    while (*tables && *tables != table)
        tables++;
    return *tables != NULL;
}

const struct nl_option *const *nl_command_all_options(void)
{
    enum { MAX_TABLES = 64 };
    static const struct nl_option *tables[MAX_TABLES + 1];
    size_t count = 0;
    if (tables[0])
        return tables;
    for (const struct nl_command *const *command = nl_commands; *command; command++)
        for (size_t i = 0; (*command)->tables[i]; i++) {
            if (holds(tables, (*command)->tables[i]))
                continue;
            if (count == MAX_TABLES)
                NL_BUG("more tables of options than there is room for");
            tables[count++] = (*command)->tables[i];
        }
    return tables;
}

const struct nl_command *nl_command_find(const char *name)
{
    for (const struct nl_command *const *command = nl_commands; *command; command++)
        if (strcmp((*command)->name, name) == 0)
            return *command;
    return NULL;
}

void *nl_command_defaults(const struct nl_command *command)
{
    if (!command->own_bytes)
        return NULL;
    return memcpy(nl_alloc(command->own_bytes), command->defaults, command->own_bytes);
}

bool nl_command_instead(const struct nl_command *command, struct nl_call *call, struct nl_err *err)
{
    void *own = call->own;
    call->own = nl_command_defaults(command);
    bool done = command->run(call, err);
    nl_free(call->own);
    call->own = own;
    return done;
}
