/* Help pages from the tables of commands. */
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

#include "tables/analyze.h"
#include "findings/causebook.h"
#include "ingest/ingest.h"
#include "view/notes.h"

#define MAX_PAGE     ((size_t)1 << 20)
#define HELP_COLUMNS 96
#define OPTION_WIDTH 26 /* columns of an option before what it does */

static const struct {
    const char *name, *summary, *text;
} topics[] = {
    {"names", "how to name a profile and a window of it",
     "PROFILE is a file of any supported format, recognised by its content and never by its name;\n"
     "gzip and zstd files are decompressed, `-` is the standard input. A folder, a tar or ZIP\n"
     "archive, a quoted pattern or several files are one profile with a rank per file;\n"
     "`a.zip/rank0.json` is one file of an archive.\n"
     "\n"
     "A run of the ledger is named by @ (the newest), @~3 (three before it), the first 6 or more\n"
     "digits of its id, or a tag. A file of that name takes precedence.\n"
     "\n"
     "A window in brackets limits the answer to a part of the profile; several limits are joined\n"
     "with commas:\n"
     "\n"
     "  'PROFILE[1.2s:1.5s]'        from 1.2 s to 1.5 s after the first event; an end may be "
     "empty\n"
     "  'PROFILE[step=10:20]'       steps 10 to 19, as Python counts; step=10 is one\n"
     "  'PROFILE[nvtx=\"forward*\"]'  from the first to the last range whose text matches\n"
     "  'PROFILE[rank=3]'           one rank\n"
     "  'PROFILE[gpu=0]'            one device of each rank\n"
     "  'PROFILE[rank=3,step=10:20]'\n"
     "\n"
     "Quote it: the shell expands [ and *. A file whose name ends in ] is still found by that "
     "name.\n"},
    {"exit", "the exit statuses", ""},
    {"environment", "the environment variables that are read", ""},
    {"format", "the output formats",
     "  text  for people; may change from version to version\n"
     "  json  one object {schema, profile, coverage, result}; names ending in _ns are integer\n"
     "        nanoseconds, _bytes bytes, _share 0 to 1; unknown is null\n"
     "  csv   one table with a header row; --section picks which (help sections). --csv-safe is\n"
     "        for spreadsheets: it quotes texts that they would run as formulas\n"
     "  md    Markdown, to paste\n"},
    {"inputs", "the formats that are read",
     "Recognised by content, plain or compressed with gzip or zstd; docs/formats/ says what is "
     "read\n"
     "of each:\n\n"},
    {"causes", "the causes that findings name",
     "`neurolens help CAUSE` explains how it is judged, what rules it out, and what helps:\n"
     "\n"},
    {"sections", "the analyses that --section takes",
     "`neurolens analyze PROFILE --section NAME` runs one of them alone, in every format:\n\n"},
};
#define TOPICS (sizeof topics / sizeof topics[0])

/* "  -o, --output FILE" */
static void option_words(char *text, size_t room, const struct nl_option *option)
{
    char letter[8] = "    ";
    if (option->letter)
        snprintf(letter, sizeof letter, "-%c, ", option->letter);
    snprintf(text, room, "  %s--%s%s%s", letter, option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
}

/* "words   what it means", broken into lines that are indented alike; words that are too long have
 * a separate line. */
static void put_row(FILE *out, const char *words, size_t wide, const char *meaning)
{
    struct nl_buf row, text;
    nl_buf_init(&row, MAX_PAGE);
    nl_buf_init(&text, MAX_PAGE);
    size_t length = strlen(words);
    nl_buf_format(&row, "%-*s %s", (int)wide, words, meaning);
    if (length > wide) {
        fprintf(out, "%s\n%*s", words, (int)wide + 1, "");
        nl_notes_wrap(&text, nl_str(meaning), HELP_COLUMNS - wide - 1, wide + 1);
    } else {
        nl_notes_wrap(&text, (struct nl_str){row.ptr, row.len}, HELP_COLUMNS, wide + 1);
    }
    fwrite(text.ptr ? text.ptr : "", 1, text.len, out);
    nl_buf_release(&text);
    nl_buf_release(&row);
}

static void options_of(FILE *out, const struct nl_option *table)
{
    for (; table->name; table++) {
        char words[64];
        if (!table->help)
            continue;
        option_words(words, sizeof words, table);
        put_row(out, words, OPTION_WIDTH, table->help);
    }
}

static void usage_line(FILE *out, const struct nl_command *command)
{
    fprintf(out, "usage: neurolens %s [options]%s%s\n", command->name, *command->usage ? " " : "",
            command->usage);
}

static void all_options(FILE *out, const struct nl_command *command)
{
    for (size_t t = 0; command->tables[t]; t++) {
        bool common = command->tables[t] == nl_common_options;
        if (t == 0 || common)
            fprintf(out, "\n%soptions:\n", common ? "common " : "");
        options_of(out, command->tables[t]);
    }
}

void nl_help_short(FILE *out, const struct nl_command *command)
{
    usage_line(out, command);
    fprintf(out, "%s\n", command->summary);
    all_options(out, command);
}

void nl_help_long(FILE *out, const struct nl_command *command)
{
    fprintf(out, "neurolens %s: %s\n\n", command->name, command->summary);
    usage_line(out, command);
    fprintf(out, "\n%s\n", command->help);
    all_options(out, command);
    fprintf(out, "\nexamples:\n");
    for (const char *line = command->examples; *line;) {
        size_t len = strcspn(line, "\n");
        fprintf(out, "  %.*s\n", (int)len, line);
        line += len + (line[len] == '\n');
    }
    if (strstr(command->usage, "PROFILE"))
        fprintf(out, "\nSee also: neurolens help names, neurolens help exit\n");
}

void nl_help_program(FILE *out, bool full)
{
    fprintf(out, "usage: neurolens COMMAND [options] [arguments]\n"
                 "       neurolens PROFILE\n");
    for (size_t g = 0; nl_command_groups[g]; g++) {
        fprintf(out, "\n%s\n", nl_command_groups[g]);
        for (const struct nl_command *const *at = nl_commands; *at; at++)
            if (strcmp((*at)->group, nl_command_groups[g]) == 0)
                fprintf(out, "  %-12s %s\n", (*at)->name, (*at)->summary);
    }
    if (full) {
        fprintf(out, "\ncommon options:\n");
        options_of(out, nl_common_options);
        fprintf(out, "\ntopics:\n");
        for (size_t i = 0; i < TOPICS; i++)
            fprintf(out, "  %-12s %s\n", topics[i].name, topics[i].summary);
    }
    fprintf(out, "\n`neurolens COMMAND -h` shows a command's options, `neurolens help COMMAND` "
                 "all about it.\n");
}

static void sections(FILE *out)
{
    fprintf(out, "  %-18s %s\n", NL_SECTION_FINDINGS, "What costs time, why, and what to do");
    for (size_t i = 0; nl_analyses[i]; i++)
        fprintf(out, "  %-18s %s\n", nl_analyses[i]->name, nl_analyses[i]->title);
}

static void causes(FILE *out)
{
    const char *id;
    for (size_t i = 0; (id = nl_causebook_id(i)) != NULL; i++)
        fprintf(out, "  %-26s  %s\n", id, nl_causebook_title(id));
}

static void statuses(FILE *out)
{
#define NL_EXIT_STATUS(number, meaning) fprintf(out, "  %-3d  %s\n", number, meaning);
#include "cli/helpwords.def"
#undef NL_EXIT_STATUS
}

static void variables(FILE *out)
{
#define NL_VARIABLE(name, meaning) put_row(out, "  " name, OPTION_WIDTH + 1, meaning);
#include "cli/helpwords.def"
#undef NL_VARIABLE
}

static void formats(FILE *out)
{
    for (size_t i = 0; nl_formats[i]; i++)
        fprintf(out, "  %-16s %s\n", nl_formats[i]->name, nl_formats[i]->title);
}

/* Lists that follow the text of a topic. */
static const struct {
    const char *topic;
    void (*put)(FILE *out);
} lists[] = {{"exit", statuses},
             {"environment", variables},
             {"inputs", formats},
             {"causes", causes},
             {"sections", sections}};

static bool cause_page(FILE *out, const char *id)
{
    struct nl_buf page, wrapped;
    nl_buf_init(&page, MAX_PAGE);
    nl_buf_init(&wrapped, MAX_PAGE);
    bool known = nl_causebook_page(&page, id);
    struct nl_str left = {page.ptr ? page.ptr : "", page.len};
    while (left.len > 0) {
        const char *end = memchr(left.ptr, '\n', left.len);
        size_t len = end ? (size_t)(end - left.ptr) : left.len;
        struct nl_str line = {left.ptr, len};
        if (len && !nl_str_starts(line, "  Check:")) /* commands can be pasted as they are */
            nl_notes_wrap(&wrapped, line, HELP_COLUMNS, line.ptr[0] == '-' ? 2 : 0);
        else
            nl_buf_format(&wrapped, "%.*s\n", (int)len, line.ptr);
        len += end != NULL;
        left = (struct nl_str){left.ptr + len, left.len - len};
    }
    while (wrapped.len > 1 && wrapped.ptr[wrapped.len - 2] == '\n')
        wrapped.len--;
    fwrite(wrapped.ptr ? wrapped.ptr : "", 1, wrapped.len, out);
    nl_buf_release(&wrapped);
    nl_buf_release(&page);
    return known;
}

bool nl_help_topic(FILE *out, const char *name)
{
    for (size_t i = 0; i < TOPICS; i++) {
        if (strcmp(topics[i].name, name) == 0) {
            fprintf(out, "%s: %s\n\n%s", topics[i].name, topics[i].summary, topics[i].text);
            for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++)
                if (strcmp(lists[list].topic, name) == 0)
                    lists[list].put(out);
            return true;
        }
    }
    return cause_page(out, name);
}

void nl_help_offer(struct nl_nearest *nearest)
{
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        nl_nearest_offer(nearest, (*at)->name);
    for (size_t i = 0; i < TOPICS; i++)
        nl_nearest_offer(nearest, topics[i].name);
    const char *id;
    for (size_t i = 0; (id = nl_causebook_id(i)) != NULL; i++)
        nl_nearest_offer(nearest, id);
}
