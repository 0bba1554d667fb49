/* The man page in roff, from the same tables as --help. */
#include <string.h>

#include "base/err.h"
#include "cli/manpage.h"
#include "cli/help.h"

/* Text with what roff takes for its own made plain: backslashes, dots and quotes at the
 * start of a line, minus signs. */
static void put_roff_text(FILE *out, const char *text)
{
    bool start = true;
    for (; *text; text++) {
        if (start && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else
            fputc(*text, out);
        start = *text == '\n';
    }
}

static void put_option(FILE *out, const struct nl_option *option)
{
    if (!option->help)
        return;
    fputs(".TP\n\\fB", out);
    if (option->letter)
        fprintf(out, "\\-%c\\fR, \\fB", option->letter);
    fputs("\\-\\-", out);
    put_roff_text(out, option->name);
    fputs("\\fR", out);
    if (option->argument) {
        fputs(" \\fI", out);
        put_roff_text(out, option->argument);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_roff_text(out, option->help);
    for (size_t i = 0; option->choices && option->choices[i]; i++)
        fprintf(out, "%s%s", i ? ", " : " (", option->choices[i]);
    fputs(option->choices ? ")\n" : "\n", out);
}

static void put_options(FILE *out, const struct nl_option *table)
{
    for (const struct nl_option *option = table; option->name; option++)
        put_option(out, option);
}

static void put_command(FILE *out, const struct nl_command *command)
{
    fprintf(out, ".SS \"neurolens %s\"\n\\fBneurolens %s\\fR [options]%s", command->name,
            command->name, *command->usage ? " " : "");
    put_roff_text(out, command->usage);
    fputs("\n.PP\n", out);
    put_roff_text(out, command->help);
    fputc('\n', out);
    for (size_t i = 0; command->tables[i]; i++)
        if (command->tables[i] != nl_common_options)
            put_options(out, command->tables[i]);
    if (!command->examples)
        return;
    fputs(".PP\nExamples:\n.PP\n.nf\n.RS\n", out);
    put_roff_text(out, command->examples);
    fputs("\n.RE\n.fi\n", out);
}

static void put_pair(FILE *out, const char *word, const char *meaning)
{
    fprintf(out, ".TP\n%s\n", word);
    put_roff_text(out, meaning);
    fputc('\n', out);
}

void nl_man_page(FILE *out)
{
    fprintf(
        out,
        ".TH NEUROLENS 1 \"\" \"NeuroLens %s\" \"User Commands\"\n.SH NAME\nneurolens \\- record, "
        "read, explain and compare ML profiles\n.SH SYNOPSIS\n\\fBneurolens\\fR "
        "\\fICOMMAND\\fR [options] [arguments]\n.br\n\\fBneurolens\\fR \\fIPROFILE\\fR\n"
        ".SH DESCRIPTION\nA \\fIPROFILE\\fR is a file of any supported format, a folder, a quoted "
        "pattern of files, or a run of the ledger: @ is the newest. \\fBneurolens help\\fR lists "
        "topics.\n.SH COMMANDS\n",
        NL_VERSION);
    for (const struct nl_command *const *at = nl_commands; *at; at++)
        put_command(out, *at);
    fputs(".SH \"COMMON OPTIONS\"\n", out);
    put_options(out, nl_common_options);
    fputs(".SH \"EXIT STATUS\"\n", out);
#define NL_EXIT_STATUS(number, meaning) put_pair(out, #number, meaning);
#include "cli/helpwords.def"
#undef NL_EXIT_STATUS
    fputs(".SH ENVIRONMENT\n", out);
#define NL_VARIABLE(name, meaning) put_pair(out, name, meaning);
#include "cli/helpwords.def"
#undef NL_VARIABLE
}
