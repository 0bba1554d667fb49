/* The commands and their options, a row each. Help, completion and parsing follow from here. */
#include "cli/command.h"

#include <stddef.h>
#include <string.h>

#include "tables/analyze.h"

#define TARGET(member) offsetof(struct nl_settings, member)
#define END                                                                                        \
    {                                                                                              \
        .name = NULL                                                                               \
    }

const char *const nl_format_names[] = {
#define NL_VIEW(name) #name,
#include "view/views.def"
#undef NL_VIEW
    NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const progress_names[] = {"auto", "json", "never", NULL};
static const char *const shell_names[] = {"bash", "zsh", "fish", "man", NULL};
static const char *const schema_names[] = {"sql",   "run",     "run-3",    "run-2",
                                           "run-1", "metrics", "analyses", NULL};

const struct nl_option nl_common_options[] = {
    {"format", 'f', NL_OPTION_CHOICE, TARGET(format), "FORMAT",
     "text (for people; may change), json, csv or md", nl_format_names},
    {"output", 'o', NL_OPTION_TEXT, TARGET(output), "FILE",
     "write to FILE (complete or not at all); a name that ends in .html makes a page", NULL},
    {"csv-safe", 0, NL_OPTION_FLAG, TARGET(csv_safe), NULL,
     "csv for spreadsheets: quote texts that would be formulas", NULL},
    {"color", 0, NL_OPTION_CHOICE, TARGET(color), "WHEN", "auto, always or never", color_names},
    {"progress", 0, NL_OPTION_CHOICE, TARGET(progress), "HOW",
     "auto (a bar on a terminal), json (lines on stderr) or never", progress_names},
    {"quiet", 'q', NL_OPTION_FLAG, TARGET(quiet), NULL, "no notes and no progress", NULL},
    {"verbose", 'v', NL_OPTION_COUNT, TARGET(verbose), NULL, "more detail", NULL},
    {"ledger", 0, NL_OPTION_TEXT, TARGET(ledger), "FOLDER",
     "the ledger: runs and cached profiles (default: the usual place)", NULL},
    {"help", 0, NL_OPTION_FLAG, TARGET(help), NULL, "full help of the command (-h: short)", NULL},
    {"short-help", 'h', NL_OPTION_FLAG, TARGET(short_help), NULL, NULL, NULL},
    {"version", 0, NL_OPTION_FLAG, TARGET(version), NULL, NULL, NULL},
    END,
};

static const struct nl_option profile_options[] = {
    {"memory", 0, NL_OPTION_SIZE, TARGET(memory_bytes), "SIZE",
     "memory limit, such as 4GiB (default: half of the free memory)", NULL},
    {"threads", 'j', NL_OPTION_NUMBER, TARGET(threads), "N", "threads (default: one per processor)",
     NULL},
    {"no-cache", 0, NL_OPTION_FLAG, TARGET(no_cache), NULL,
     "neither read nor write the cache of imported profiles", NULL},
    {"rank", 0, NL_OPTION_NUMBER, TARGET(rank), "N",
     "rank to take for a file that does not say (to choose one: 'PROFILE[rank=N]')", NULL},
    {"host", 0, NL_OPTION_TEXT, TARGET(host), "NAME",
     "host to take for a file that does not say; its measured peaks (`roof`) are used", NULL},
    {"join", 0, NL_OPTION_LIST, TARGET(join), "REPORT",
     "read this report of Nsight Compute, or HIP's captures of graphs, and add it to the kernels",
     NULL},
    END,
};

/* Names that --section takes, for completion. */
static const char *const section_names[] = {
#define NL_ANALYSIS(name) #name,
#include "tables/analyses.def"
#undef NL_ANALYSIS
    NL_SECTION_FINDINGS, NULL};

#include "cli/reportoptions.def"

static const struct nl_option page_options[] = {
    {"full", 0, NL_OPTION_FLAG, TARGET(analyze.full), NULL,
     "the whole report: every table and finding", NULL},
    {"no-pager", 0, NL_OPTION_FLAG, TARGET(analyze.no_pager), NULL,
     "do not pipe into $PAGER (default: less) on a terminal", NULL},
    END,
};

static const struct nl_option sql_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows of each answer", NULL},
    {"timeout", 0, NL_OPTION_TIME, TARGET(timeout_ns), "TIME",
     "stop a statement after this time, such as 30s", NULL},
    {"absolute", 0, NL_OPTION_FLAG, TARGET(absolute), NULL,
     "times as recorded instead of from the first event", NULL},
    END,
};

static const struct nl_option add_options[] = {
    {"set", 0, NL_OPTION_LIST, TARGET(set), "KEY=VALUE",
     "metadata of the runs, such as batch_size=32 (repeatable)", NULL},
    {"no-trace", 0, NL_OPTION_FLAG, TARGET(add.no_trace), NULL,
     "keep the document and its numbers, not the events", NULL},
    {"keep-source", 0, NL_OPTION_FLAG, TARGET(add.keep_source), NULL, "keep the source files, too",
     NULL},
    END,
};

static const struct nl_option ls_options[] = {
    {"sort", 0, NL_OPTION_TEXT, TARGET(ls.sort), "KEY",
     "order by KEY, -KEY the largest first (default: the newest)", NULL},
    {"columns", 'c', NL_OPTION_TEXT, TARGET(ls.columns), "KEYS",
     "columns, comma-separated; +KEYS adds to the default ones", NULL},
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N",
     "at most N runs (default: 50 in text and md)", NULL},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "every run, and columns without a value", NULL},
    {"bin", 0, NL_OPTION_FLAG, TARGET(ls.bin), NULL, "the runs in the trash", NULL},
    END,
};

static const struct nl_option show_options[] = {
    {"limit", 'n', NL_OPTION_NUMBER, TARGET(limit), "N", "at most N rows in each table", NULL},
    {"section", 0, NL_OPTION_ONE, TARGET(section), "NAME", "only this table, such as metrics",
     NULL},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "every row and every empty table", NULL},
    END,
};

static const struct nl_option tag_options[] = {
    {"remove", 0, NL_OPTION_FLAG, TARGET(remove), NULL, "remove the tags", NULL},
    {"move", 0, NL_OPTION_FLAG, TARGET(move), NULL, "remove the tags from all other runs", NULL},
    END,
};

static const struct nl_option trust_options[] = {
    {"list", 0, NL_OPTION_FLAG, TARGET(list), NULL, "list the trusted folders", NULL},
    {"remove", 0, NL_OPTION_FLAG, TARGET(remove), NULL, "stop trusting it", NULL},
    END,
};

static const struct nl_option note_options[] = {
    {"at", 0, NL_OPTION_TEXT, TARGET(at), "TIMES",
     "a time such as 1.2s, or a range such as 1.2s:1.5s, from the first event", NULL},
    END,
};

static const struct nl_option rm_options[] = {
    {"restore", 0, NL_OPTION_FLAG, TARGET(restore), NULL, "restore them from the trash", NULL},
    END,
};

static const struct nl_option gc_options[] = {
    {"max", 0, NL_OPTION_SIZE, TARGET(gc.max_bytes), "SIZE",
     "keep at most that much (default: the cache's own bound)", NULL},
    {"all", 'a', NL_OPTION_FLAG, TARGET(all), NULL, "remove every cached profile", NULL},
    {"orphans", 0, NL_OPTION_FLAG, TARGET(gc.orphans), NULL,
     "also artefacts that no run needs (`ledger check` lists them, `ledger rebuild` uses them)",
     NULL},
    {"dry-run", 0, NL_OPTION_FLAG, TARGET(gc.dry_run), NULL, "only print what would be deleted",
     NULL},
    END,
};

static const struct nl_option info_options[] = {
    {"estimate", 0, NL_OPTION_FLAG, TARGET(estimate), NULL,
     "only how many rows it has and what memory it needs, without loading it", NULL},
    END,
};

static const struct nl_option *const plain_tables[] = {nl_common_options, NULL};
static const struct nl_option *const roof_tables[] = {nl_roof_options, nl_common_options, NULL};
static const struct nl_option *const info_tables[] = {info_options, report_options, profile_options,
                                                      nl_common_options, NULL};
static const struct nl_option *const analyze_tables[] = {page_options, report_options,
                                                         profile_options, nl_common_options, NULL};
static const struct nl_option *const diff_tables[] = {nl_diff_options, profile_options,
                                                      nl_common_options, NULL};
static const struct nl_option *const check_tables[] = {nl_check_options, profile_options,
                                                       nl_common_options, NULL};
static const struct nl_option *const bench_tables[] = {nl_bench_options, nl_diff_options,
                                                       nl_common_options, NULL};
static const struct nl_option *const trend_tables[] = {nl_trend_options, nl_common_options, NULL};
static const struct nl_option *const rank_tables[] = {nl_rank_options, profile_options,
                                                      nl_common_options, NULL};
static const struct nl_option *const sql_tables[] = {sql_options, profile_options,
                                                     nl_common_options, NULL};
static const struct nl_option *const page_tables[] = {nl_page_options, profile_options,
                                                      nl_common_options, NULL};
static const struct nl_option *const flame_tables[] = {nl_flame_options, profile_options,
                                                       nl_common_options, NULL};
static const struct nl_option *const open_tables[] = {nl_open_options, report_options,
                                                      profile_options, nl_common_options, NULL};
static const struct nl_option *const export_tables[] = {nl_export_options, profile_options,
                                                        nl_common_options, NULL};
static const struct nl_option *const init_tables[] = {nl_init_options, nl_common_options, NULL};
static const struct nl_option *const ledger_tables[] = {nl_ledger_options, nl_common_options, NULL};
static const struct nl_option *const gc_tables[] = {gc_options, nl_common_options, NULL};
static const struct nl_option *const add_tables[] = {add_options, profile_options,
                                                     nl_common_options, NULL};
static const struct nl_option *const ls_tables[] = {ls_options, nl_common_options, NULL};
static const struct nl_option *const show_tables[] = {show_options, nl_common_options, NULL};
static const struct nl_option *const tag_tables[] = {tag_options, nl_common_options, NULL};
static const struct nl_option *const trust_tables[] = {trust_options, nl_common_options, NULL};
static const struct nl_option *const note_tables[] = {note_options, nl_common_options, NULL};
static const struct nl_option *const rm_tables[] = {rm_options, nl_common_options, NULL};
static const struct nl_option *const model_tables[] = {nl_model_options, nl_common_options, NULL};
static const struct nl_option *const run_tables[] = {nl_run_options, nl_common_options, NULL};
static const struct nl_option *const top_tables[] = {nl_top_options, nl_common_options, NULL};
static const struct nl_option *const fingerprint_tables[] = {
    nl_fingerprint_options, profile_options, nl_common_options, NULL};
static const struct nl_option *const similar_tables[] = {nl_similar_options, profile_options,
                                                         nl_common_options, NULL};
const char *const nl_command_groups[] = {"Record", "Understand", "Compare", "Look",
                                         "Ledger", "Share",      "Tools",   NULL};

const struct nl_command nl_commands[] = {
#include "cli/recordcommands.def"
#include "cli/understandcommands.def"
#include "cli/ledgercommands.def"
#include "cli/comparecommands.def"
#include "cli/lookcommands.def"
#include "cli/sharecommands.def"
#include "cli/toolcommands.def"
    END,
};

static bool holds(const struct nl_option *const *tables, const struct nl_option *table)
{
    while (*tables && *tables != table)
        tables++;
    return *tables != NULL;
}

const struct nl_option *const *nl_command_all_options(void)
{
    enum { MOST = 64 };
    static const struct nl_option *tables[MOST + 1];
    size_t count = 0;
    if (tables[0])
        return tables;
    for (const struct nl_command *command = nl_commands; command->name; command++)
        for (size_t i = 0; command->tables[i]; i++) {
            if (holds(tables, command->tables[i]))
                continue;
            if (count == MOST)
                NL_BUG("more tables of options than there is room for");
            tables[count++] = command->tables[i];
        }
    return tables;
}

const struct nl_command *nl_command_find(const char *name)
{
    for (const struct nl_command *command = nl_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}
