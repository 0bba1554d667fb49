/*
 * runyaml — what neurolens.yaml next to a profile says about it: a mapping of the names that --set
 * takes ("workload.batch_size: 32"), nested mappings being the same as dots.
 *
 * Values are checked by nl_rundoc_setting_check. Lists, aliases, several documents, names given
 * twice and files over 1 MiB are refused with the line they stand in.
 */
#ifndef NL_RUNYAML_H
#define NL_RUNYAML_H

#include "rundoc/rundoc.h"

struct nl_runyaml {
    struct nl_rundoc_setting *items; /* texts live in the arena */
    size_t count, cap;
    struct nl_arena arena;
};

/* Reads the file; one that is not there gives no settings. NL_FORMAT says file and line. */
NL_MUST_CHECK bool nl_runyaml_read(struct nl_runyaml *yaml, const char *path, struct nl_err *err);
void nl_runyaml_release(struct nl_runyaml *yaml);

#endif
