/* The commands that only print what the program knows: help, version, completion, schema. */
#include <stdio.h>
#include <string.h>

#include "cli/help.h"
#include "cli/output.h"
#include "query/db.h"

bool nl_cmd_help(struct nl_call *call, struct nl_err *err)
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

bool nl_cmd_version(struct nl_call *call, struct nl_err *err)
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

bool nl_cmd_completion(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    const char *shell = call->argument[0];
    for (size_t i = 0; call->command->words[i]; i++) {
        if (strcmp(call->command->words[i], shell) != 0)
            continue;
        if (!nl_output_open(&output, call, NULL, 0, err))
            return false;
        nl_completion(output.stream, shell);
        return nl_output_close(&output, call, true, err);
    }
    return nl_fail(err, NL_USAGE, "no completion for '%s'; there are bash, zsh and fish", shell);
}

bool nl_cmd_schema(struct nl_call *call, struct nl_err *err)
{
    struct nl_output output;
    struct nl_buf text;
    const char *name = call->count ? call->argument[0] : NULL;
    if (name && strcmp(name, "sql") != 0)
        return nl_fail(err, NL_USAGE, "no schema '%s'; there is sql", name);
    if (!nl_output_open(&output, call, NULL, 0, err))
        return false;
    nl_buf_init(&text, (size_t)16 << 20);
    if (name)
        nl_db_document(&text);
    else
        nl_buf_text(&text, "sql  tables, columns and functions of `neurolens sql` (Markdown)\n");
    if (text.len)
        fwrite(text.ptr, 1, text.len, output.stream);
    nl_buf_release(&text);
    return nl_output_close(&output, call, true, err);
}
