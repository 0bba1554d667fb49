/*
 * Completion scripts. Each is a small function of its shell with the words of the tables
 * written into it: commands after the program's name, the command's options after a dash,
 * choices after an option that has them, else what the argument can be: names of runs, which
 * the program is asked for, or a file.
 */
#include <stdio.h>
#include <string.h>

#include "cli/completion.h"
#include "cli/help.h"
#include "cli/manpage.h"

/* Commands whose arguments may be runs, and whether they may be files, too. */
static const struct {
    const char *command;
    bool files;
} run_words[] = {{"show", false}, {"tag", false},        {"note", false},  {"rm", false},
                 {"info", true},  {"analyze", true},     {"sql", true},    {"export", true},
                 {"diff", true},  {"fingerprint", true}, {"similar", true}};

static void command_names(FILE *out)
{
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        fprintf(out, "%s%s", at == nl_commands ? "" : " ", (*at)->name);
}

/* The choices of a table's options: "    analyze:--format|analyze:-f) words='text json'" lines. */
static void bash_table_choices(FILE *out, const char *command, const struct nl_option *table)
{
    for (const struct nl_option *o = table; o->name; o++) {
        if (!o->choices)
            continue;
        fprintf(out, "    %s:--%s", command, o->name);
        if (o->letter)
            fprintf(out, "|%s:-%c", command, o->letter);
        fprintf(out, ") words='");
        for (size_t i = 0; o->choices[i]; i++)
            fprintf(out, "%s%s", i ? " " : "", o->choices[i]);
        fprintf(out, "' ;;\n");
    }
}

/* By command: --section of one is not that of another. */
static void bash_choices(FILE *out)
{
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        for (size_t t = 0; (*at)->tables[t]; t++)
            if ((*at)->tables[t] != nl_common_options)
                bash_table_choices(out, (*at)->name, (*at)->tables[t]);
    bash_table_choices(out, "*", nl_common_options);
}

static void bash_options(FILE *out, const struct nl_command *command)
{
    fprintf(out, "        %s) words='", command->name);
    const char *gap = "";
    for (size_t t = 0; command->tables[t]; t++) {
        for (const struct nl_option *o = command->tables[t]; o->name; o++) {
            if (o->help)
                fprintf(out, "%s--%s", gap, o->name);
            if (o->help)
                gap = " ";
        }
    }
    fprintf(out, "' ;;\n");
}

static void bash_arguments(FILE *out, const struct nl_command *command)
{
    bool topics = strcmp(command->name, "help") == 0;
    if (!command->words && !topics)
        return;
    fprintf(out, "        %s) words='", command->name);
    if (topics)
        command_names(out);
    for (size_t i = 0; command->words && command->words[i]; i++)
        fprintf(out, "%s%s", i ? " " : "", command->words[i]);
    fprintf(out, "' ;;\n");
}

static void bash_runs(FILE *out)
{
    for (size_t i = 0; i < sizeof run_words / sizeof run_words[0]; i++)
        fprintf(out, "        %s) runs=%s ;;\n", run_words[i].command,
                run_words[i].files ? "too" : "alone");
}

/* The body that bash and zsh (through bashcompinit) share. */
static void bash(FILE *out)
{
    fprintf(out, "_neurolens() {\n"
                 "  local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
                 "  local command=${COMP_WORDS[1]} words= runs=\n"
                 "  COMPREPLY=()\n"
                 "  case $command:$before in\n");
    bash_choices(out);
    fprintf(out, "  esac\n"
                 "  if [ -z \"$words\" ]; then\n"
                 "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                 "      words='");
    command_names(out);
    fprintf(out, "'\n"
                 "    elif [ \"${current#-}\" != \"$current\" ]; then\n"
                 "      case $command in\n");
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        bash_options(out, *at);
    fprintf(out, "      esac\n"
                 "    else\n"
                 "      case $command in\n");
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        bash_arguments(out, *at);
    bash_runs(out);
    fprintf(out, "      esac\n"
                 "    fi\n"
                 "  fi\n"
                 "  [ -n \"$runs\" ] && words=$(neurolens completion runs 2>/dev/null)\n"
                 "  [ -n \"$words\" ] && COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                 "  if [ \"$runs\" = too ] && [ ${#COMPREPLY[@]} -gt 0 ]; then\n"
                 "    local IFS=$'\\n'\n"
                 "    compopt -o filenames 2>/dev/null\n"
                 "    COMPREPLY+=($(compgen -f -- \"$current\"))\n"
                 "  fi\n"
                 "}\n"
                 "complete -o default -F _neurolens neurolens\n");
}

static void zsh(FILE *out)
{
    fprintf(out, "#compdef neurolens\n"
                 "autoload -U +X bashcompinit && bashcompinit\n");
    bash(out);
}

/* Text inside single quotes of fish. */
static void fish_text(FILE *out, const char *text)
{
    fputc('\'', out);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('\'', out);
}

static void fish_option(FILE *out, const char *condition, const struct nl_option *option)
{
    fprintf(out, "complete -c neurolens%s -l %s", condition, option->name);
    if (option->letter)
        fprintf(out, " -s %c", option->letter);
    if (option->choices) {
        fprintf(out, " -x -a '");
        for (size_t i = 0; option->choices[i]; i++)
            fprintf(out, "%s%s", i ? " " : "", option->choices[i]);
        fprintf(out, "'");
    } else if (option->argument) {
        fprintf(out, " -r");
    }
    fprintf(out, " -d ");
    fish_text(out, option->help);
    fputc('\n', out);
}

static void fish_command(FILE *out, const struct nl_command *command)
{
    char condition[96];
    fprintf(out, "complete -c neurolens -n __fish_use_subcommand -a %s -d ", command->name);
    fish_text(out, command->summary);
    fputc('\n', out);
    snprintf(condition, sizeof condition, " -n '__fish_seen_subcommand_from %s'", command->name);
    for (size_t i = 0; command->words && command->words[i]; i++)
        fprintf(out, "complete -c neurolens%s -f -a %s\n", condition, command->words[i]);
    for (size_t i = 0; i < sizeof run_words / sizeof run_words[0]; i++)
        if (strcmp(run_words[i].command, command->name) == 0)
            fprintf(out, "complete -c neurolens%s%s -a '(neurolens completion runs 2>/dev/null)'\n",
                    condition, run_words[i].files ? "" : " -f");
    for (size_t t = 0; command->tables[t]; t++)
        for (const struct nl_option *o = command->tables[t]; o->name; o++)
            if (o->help && command->tables[t] != nl_common_options)
                fish_option(out, condition, o);
}

static void fish(FILE *out)
{
    for (const struct nl_option *o = nl_common_options; o->name; o++)
        if (o->help)
            fish_option(out, "", o);
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        fish_command(out, *at);
}

static const struct {
    const char *name;
    void (*print)(FILE *out);
} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}, {"man", nl_man_page}};

void nl_completion(FILE *out, const char *shell)
{
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++)
        if (strcmp(shells[i].name, shell) == 0)
            shells[i].print(out);
}
