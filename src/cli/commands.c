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

const char *const nl_format_names[] = {"text", "json", "csv", "md", NULL};
static const char *const color_names[] = {"auto", "always", "never", NULL};
static const char *const progress_names[] = {"auto", "json", "never", NULL};
static const char *const shell_names[] = {"bash", "zsh", "fish", "man", NULL};
static const char *const schema_names[] = {"sql",   "run",     "run-3",    "run-2",
                                           "run-1", "metrics", "analyses", NULL};

const struct nl_option nl_common_options[] = {
    {"format", 'f', NL_OPTION_CHOICE, TARGET(format), "FORMAT",
     "text (for people; may change), json, csv or md", nl_format_names},
    {"output", 'o', NL_OPTION_TEXT, TARGET(output), "FILE",
     "write to FILE (complete or not at all); F.html makes a page", NULL},
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
     "rank that was profiled, if the file does not say", NULL},
    {"host", 0, NL_OPTION_TEXT, TARGET(host), "NAME",
     "host that was profiled, if the file does not say; selects roofs measured there by `roof`",
     NULL},
    {"join", 0, NL_OPTION_LIST, TARGET(join), "REPORT",
     "add Nsight Compute's counters, or captures of graphs (HIP)", NULL},
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
const struct nl_option *const nl_every_option[] = {nl_check_options,
                                                   nl_trend_options,
                                                   nl_bench_options,
                                                   nl_run_options,
                                                   nl_top_options,
                                                   nl_model_options,
                                                   report_options,
                                                   nl_diff_options,
                                                   sql_options,
                                                   nl_export_options,
                                                   nl_open_options,
                                                   gc_options,
                                                   add_options,
                                                   ls_options,
                                                   tag_options,
                                                   note_options,
                                                   rm_options,
                                                   profile_options,
                                                   nl_fingerprint_options,
                                                   nl_similar_options,
                                                   nl_init_options,
                                                   nl_ledger_options,
                                                   trust_options,
                                                   nl_page_options,
                                                   nl_flame_options,
                                                   nl_common_options,
                                                   NULL};

const char *const nl_command_groups[] = {"Record", "Understand", "Compare", "Look",
                                         "Ledger", "Share",      "Tools",   NULL};

const struct nl_command nl_commands[] = {
    {.name = "run",
     .group = "Record",
     .summary = "record a program and every process it starts",
     .usage = "[--] PROGRAM [ARGUMENT…]",
     .leading = true,
     .least = 0,
     .most = -1,
     .tables = run_tables,
     .help =
         "Runs PROGRAM and records it and every process it starts, on one clock: scopes, layers,\n"
         "steps and counters of include/neurolens.h, NVTX ranges, NVIDIA GPU activity, call stacks "
         "of\n"
         "Python and native code, waits, memory, page faults and CPU time. --pid samples a "
         "running\n"
         "Python process until it exits, --duration is over, or Ctrl-C. -o names the recording\n"
         "(default: PROGRAM-DATE.nlt here), which is a profile like any other. The exit status is "
         "the\n"
         "program's. While it runs, the data is in FILE.parts: after a crash,\n"
         "`neurolens analyze FILE.parts` reads it. At the end it prints the events per source, "
         "what\n"
         "was dropped, and the overhead.",
     .examples = "neurolens run -- python infer.py\n"
                 "neurolens run -o run.nlt --steps 10:20 -- torchrun --nproc-per-node 2 train.py\n"
                 "neurolens run --pid 4711 --duration 30s               # where is it now?\n"
                 "neurolens run --policy wrap --buffer 64MiB -- ./server  # keep the newest",
     .run = nl_cmd_run},
    {.name = "profile",
     .group = "Record",
     .summary = "run a model file and time its operators",
     .usage = "MODEL",
     .least = 1,
     .most = 1,
     .tables = model_tables,
     .help =
         "Runs MODEL (an ONNX file) under ONNX Runtime with generated inputs; `neurolens doctor`\n"
         "shows which ONNX Runtime is used. Runs without the profiler are timed until the 95 %\n"
         "confidence interval of their median is within 1 %, or a limit is reached. Runs with the\n"
         "profiler in between give the time per operator; the difference is the profiler's "
         "overhead.\n"
         "The result is added to the ledger, as @.\n"
         "--backend tensorrt runs an ONNX file or an engine through trtexec. --backend torch runs "
         "a\n"
         "TorchScript file, an exported program (.pt2), or a script that defines `model` and its\n"
         "`inputs`, with your Python.",
     .examples = "neurolens profile model.onnx\n"
                 "neurolens profile bert.onnx --dim batch=8 --dim seq=128 --threads 1\n"
                 "neurolens profile model.onnx --provider cuda --format json\n"
                 "neurolens profile model.plan --backend tensorrt\n"
                 "neurolens profile model.pt2 --backend torch --dim s0=8\n"
                 "neurolens analyze @          # the events of that run",
     .run = nl_cmd_profile},
    {.name = "top",
     .group = "Record",
     .summary = "live view of this machine's GPUs and processes",
     .usage = "",
     .least = 0,
     .most = 0,
     .tables = top_tables,
     .help =
         "Shows each GPU (utilization, memory, power, temperature, clocks, throttling reasons) "
         "with\n"
         "small plots, and processes with their CPU time, memory and GPU memory, until you press "
         "q;\n"
         "h lists the keys. Values over a threshold raise an alert. Secrets in command lines are\n"
         "hidden. --once prints one snapshot, as text or with --format json. Nothing is recorded:\n"
         "use `run` for that.",
     .examples = "neurolens top --interval 200ms\n"
                 "neurolens top --once --format json",
     .run = nl_cmd_top},
    {.name = "info",
     .group = "Understand",
     .summary = "what a profile contains and what it lacks",
     .usage = "PROFILE…",
     .least = 1,
     .most = -1,
     .tables = info_tables,
     .help =
         "Shows the files, tools, ranks and devices of a profile, its event counts by kind, and "
         "its\n"
         "coverage: what the source did not record, and what was dropped, truncated or repaired.\n"
         "`neurolens PROFILE` does the same in a pipe.\n"
         "--estimate tells in about 0.1 s how many rows a profile has and what memory it needs,\n"
         "from its first part and its size, or from the rows of its tables; of many files\n"
         "it looks at eight.",
     .examples = "neurolens info trace.json.gz            # one profile\n"
                 "neurolens info 'ranks/*.json.gz'        # many files: one multi-rank profile\n"
                 "neurolens info --format json run.sqlite # for a script\n"
                 "neurolens info --estimate huge.json.gz  # before it is loaded",
     .run = nl_cmd_info},
    {.name = "analyze",
     .group = "Understand",
     .summary = "what limits the program, with evidence",
     .usage = "PROFILE…",
     .least = 1,
     .most = -1,
     .tables = analyze_tables,
     .help =
         "Prints, on one screen: in one sentence what limits the program, which operation causes "
         "it\n"
         "and how much time it could save; the time of every device; up to three findings; and "
         "the\n"
         "two tables behind the answer. --full prints everything: all findings with their "
         "evidence,\n"
         "and the tables of kernels, copies, operators, ranges, launches and steps. What was not\n"
         "recorded is listed, with how to record it.",
     .examples = "neurolens analyze trace.json.gz\n"
                 "neurolens analyze trace.json.gz --full        # everything, in a pager\n"
                 "neurolens analyze 'run.sqlite[1.2s:1.5s]'     # a window of time\n"
                 "neurolens analyze 'ranks/[step=10:20,rank=3]' # some steps of one rank\n"
                 "neurolens analyze run.sqlite --format json -o run.json\n"
                 "neurolens analyze run.sqlite --section idle_causes    # one question",
     .run = nl_cmd_analyze},
    {.name = "sql",
     .group = "Understand",
     .summary = "query a profile with SQL",
     .usage = "PROFILE… [QUERY]",
     .least = 1,
     .most = -1,
     .tables = sql_tables,
     .help =
         "Runs QUERY on the profile. Without QUERY it opens a shell on a terminal, and otherwise\n"
         "reads statements from standard input. The profile is read-only. `neurolens schema sql`\n"
         "lists the tables, columns and functions, as do .tables and .schema in the shell.",
     .examples = "neurolens sql trace.json.gz 'SELECT * FROM kernel_summary LIMIT 10'\n"
                 "neurolens sql run.sqlite --format csv < question.sql\n"
                 "neurolens sql run.sqlite                      # a shell",
     .run = nl_cmd_sql},
    {.name = "init",
     .group = "Ledger",
     .summary = "create a ledger folder",
     .usage = "[FOLDER]",
     .least = 0,
     .most = 1,
     .tables = init_tables,
     .help = "Creates .neurolens/ in FOLDER (default: the current one). Commands started there or "
             "in a\n"
             "folder below keep their runs and cached profiles in it. Only you can read it; with\n"
             "--shared, the group that owns FOLDER can read it and add runs.",
     .examples = "neurolens init\n"
                 "neurolens init --shared /srv/perf    # after chgrp perfteam /srv/perf",
     .run = nl_cmd_init},
    {.name = "trust",
     .group = "Ledger",
     .summary = "trust a ledger that someone else owns",
     .usage = "[FOLDER]",
     .least = 0,
     .most = 1,
     .tables = trust_tables,
     .help =
         "A .neurolens/ found in this folder or above it is used only if you (or root) own it and\n"
         "every folder above it, and nobody else can write to them. To use another one, trust its\n"
         "FOLDER once (default: the one found from here). A ledger named by --ledger or\n"
         "$NEUROLENS_LEDGER needs no trust. The list is in ~/.config/neurolens/trusted.",
     .examples = "neurolens trust /shared/project\n"
                 "neurolens trust --list\n"
                 "neurolens trust --remove /shared/project",
     .run = nl_cmd_trust},
    {.name = "add",
     .group = "Ledger",
     .summary = "add profiles to the ledger as runs",
     .usage = "PROFILE…",
     .least = 1,
     .most = -1,
     .tables = add_tables,
     .help = "Adds every PROFILE as a run: its document (run.json), events, metrics, steps, "
             "operators and\n"
             "findings. A folder or a quoted pattern is one multi-rank run. Identical content is "
             "added\n"
             "only once. Metadata comes from the file; --set overrides it, and neurolens.yaml "
             "beside the\n"
             "file supplies what is still missing. A run.json is validated and stored unchanged. "
             "The new\n"
             "run is then @, wherever a PROFILE is expected.",
     .examples = "neurolens add trace.json.gz\n"
                 "neurolens add night/*.json.gz --set model=llama-7b # a run each\n"
                 "neurolens add 'ranks/*.json.gz'                            # one run\n"
                 "neurolens analyze @",
     .run = nl_cmd_add},
    {.name = "ls",
     .group = "Ledger",
     .summary = "list runs",
     .usage = "[FILTER…]",
     .least = 0,
     .most = -1,
     .tables = ls_tables,
     .help =
         "Lists the runs, the newest first. FILTER is KEY=VALUE, or with != > >= < <= or ~\n"
         "(contains); all of them must hold. KEY is id, name, added, tag, finding, or a name\n"
         "that `neurolens show` lists, of which the last part is enough: batch_size=32. A value\n"
         "with * is a pattern; numbers take units: 'mean_step_ns>200ms'; 'a|b' is one of several,\n"
         "16..64 a range; `added` takes today and -7d. Quote > < and |.",
     .examples = "neurolens ls tag=nightly 'added>-7d' git_branch=main\n"
                 "neurolens ls 'model=llama*|qwen*' batch_size=16..64\n"
                 "neurolens ls 'device_name=*H100*' 'mean_step_ns>200ms' --sort -mean_step_ns\n"
                 "neurolens ls --columns id,name,idle_share --format csv",
     .run = nl_cmd_ls},
    {.name = "show",
     .group = "Ledger",
     .summary = "show one run in full",
     .usage = "RUN",
     .least = 1,
     .most = 1,
     .tables = show_tables,
     .help =
         "Shows metadata, metrics, steps, findings, notes, operators, the source files, what the\n"
         "ledger keeps of the run, and its history. RUN is @ (newest), @~3 (three before it), the\n"
         "first 6 or more digits of an id, or a tag.",
     .examples = "neurolens show @\n"
                 "neurolens show baseline --format csv --section metrics",
     .run = nl_cmd_show},
    {.name = "tag",
     .group = "Ledger",
     .summary = "name a run",
     .usage = "RUN NAME…",
     .least = 2,
     .most = -1,
     .tables = tag_tables,
     .help =
         "A tag names its run wherever a PROFILE is expected. Several runs can share a tag, as in\n"
         "`ls tag=nightly`; used as a name, it means the run tagged last. --move takes it from "
         "the\n"
         "other runs. A tag may look like a branch: feature/x. A file with the same name takes\n"
         "precedence.",
     .examples = "neurolens tag @ baseline nightly\n"
                 "neurolens tag @~5 baseline --move        # back to an older run\n"
                 "neurolens tag 1a2b3c4d --remove nightly",
     .run = nl_cmd_tag},
    {.name = "note",
     .group = "Ledger",
     .summary = "attach a note to a run or to a time in it",
     .usage = "RUN TEXT",
     .least = 2,
     .most = 2,
     .tables = note_tables,
     .help = "Notes appear in `show`. With --at, a note belongs to a time within the run.",
     .examples = "neurolens note @ 'first run with the new data loader'\n"
                 "neurolens note baseline 'the stall' --at 1.2s:1.5s",
     .run = nl_cmd_note},
    {.name = "rm",
     .group = "Ledger",
     .summary = "move runs to the trash",
     .usage = "RUN…",
     .least = 1,
     .most = -1,
     .tables = rm_tables,
     .help = "Runs in the trash are not listed; `ls --bin` shows them, --restore brings them back, "
             "and\n"
             "`gc` deletes them for good.",
     .examples = "neurolens rm @\n"
                 "neurolens rm --restore 1a2b3c4d",
     .run = nl_cmd_rm},
#include "cli/ledgercommands.def"
    {.name = "validate",
     .group = "Ledger",
     .summary = "validate run.json files",
     .usage = "FILE…",
     .least = 1,
     .most = -1,
     .tables = plain_tables,
     .help =
         "Validates each FILE (a run.json, compressed or not; - is standard input) and lists "
         "every\n"
         "error: its place as a JSON pointer, the schema keyword, and the reason. Works offline.\n"
         "Exits with 1 if any file is invalid.",
     .examples = "neurolens validate run.json\n"
                 "neurolens validate --format json runs/*.json",
     .run = nl_cmd_validate},
#include "cli/comparecommands.def"
#include "cli/pagecommands.def"
#include "cli/sharecommands.def"
    {.name = "doctor",
     .group = "Tools",
     .summary = "check what works on this machine, and how to get the rest",
     .usage = "",
     .least = 0,
     .most = 0,
     .tables = plain_tables,
     .help =
         "Checks the drivers, libraries, permissions and programs that recording needs, and the\n"
         "ledger with its free space, and says how to get what is missing. It changes nothing, "
         "and\n"
         "what is missing is not an error.",
     .examples = "neurolens doctor\n"
                 "neurolens doctor --format json",
     .run = nl_cmd_doctor},
    {.name = "roof",
     .group = "Tools",
     .summary = "measure the roofline of this machine",
     .usage = "",
     .least = 0,
     .most = 0,
     .tables = roof_tables,
     .help =
         "Measures multiply-add throughput (FP32, FP64) and memory bandwidth (triad) of the CPU "
         "with\n"
         "1, 2, 4, … threads, half a second each, and plots the roofline. GPUs: products of\n"
         "matrices per element type through cuBLAS, cuBLASLt or rocBLAS, and copies in memory;\n"
         "the libraries are opened where they are, and what is missing is reported. The ledger "
         "keeps\n"
         "what was measured, by host: profiles that record this host are judged against it. Of\n"
         "several measurements the highest counts.",
     .examples = "neurolens roof\n"
                 "neurolens analyze trace.json --host \"$(hostname)\" --section roofline",
     .run = nl_cmd_roof},
    {.name = "schema",
     .group = "Tools",
     .summary = "print a schema: sql, run (JSON Schema), metrics",
     .usage = "[NAME]",
     .least = 0,
     .most = 1,
     .tables = plain_tables,
     .help = "Without NAME, lists the schemas there are.",
     .examples = "neurolens schema sql\nneurolens schema run > run.schema.json",
     .words = schema_names,
     .run = nl_cmd_schema},
    {.name = "completion",
     .group = "Tools",
     .summary = "print a shell completion script or the man page",
     .usage = "bash|zsh|fish|man",
     .least = 1,
     .most = 1,
     .tables = plain_tables,
     .help = "Put the script where your shell looks for completions, or source it at start-up. It "
             "asks\n"
             "`neurolens completion runs` for the tags and runs of the ledger. `make install` "
             "installs\n"
             "the scripts and the man page.",
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
     .examples = "neurolens help analyze\nneurolens help names",
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
