/*
 * secretoption — passwords that follow a command's option, recognised by the command's name: mysql
 * -p…, curl -u …, docker login -p … (secretshapes.def). Used by redact/redact.h alone.
 */
#ifndef NL_SECRETOPTION_H
#define NL_SECRETOPTION_H

#include "base/str.h"

/* The command whose options are being read; {0} at the start of a text. */
struct nl_secretoption {
    struct nl_str command;
    bool login; /* that word followed it */
};

/* Reads the word [at, end) of `text`. When it is such an option, *from is where its value begins,
 * else 0: the rest of the word, a text in quotes, or the next word unless that is an option. */
void nl_secretoption_read(struct nl_secretoption *reading, struct nl_str text, size_t at,
                          size_t end, size_t *from);

#endif
