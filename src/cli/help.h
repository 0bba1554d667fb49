/*
 * help — what `-h`, `--help` and `help TOPIC` print, and the completion scripts: all made from the
 * tables of commands.c, so they cannot disagree with what is parsed.
 */
#ifndef NL_HELP_H
#define NL_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* One screen: usage, summary, options. */
void nl_help_short(FILE *out, const struct nl_command *command);
/* Everything: the paragraphs, options and examples too. */
void nl_help_long(FILE *out, const struct nl_command *command);
/* The commands by group; `full` adds the common options and the topics. */
void nl_help_program(FILE *out, bool full);
/* A page that is about no single command ("profile", "exit"); false when there is none. */
bool nl_help_topic(FILE *out, const char *name);
/* Offers the names of topics and commands as candidates for a mistyped one. */
void nl_help_offer(struct nl_nearest *nearest);

#endif
