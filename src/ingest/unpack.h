/*
 * unpack — archives among the files of a profile, opened in a separate process.
 *
 * What inflates and walks an archive sees bytes that somebody else chose. A child that is confined
 * (sandbox.h) does it: it can read the archives, and make files in its own folder. Each member
 * comes to the parent as the descriptor of an unnamed file, with its name; the parent checks that
 * it is a plain file and a name, and believes nothing else. Where nothing can be confined, and with
 * NEUROLENS_SANDBOX=off, archives are unpacked here. The result and the errors are the same.
 */
#ifndef NL_UNPACK_H
#define NL_UNPACK_H

#include "ingest/inputs.h"

/* As nl_inputs_unpack; without a job (NULL) in this process. */
NL_MUST_CHECK bool nl_unpack(struct nl_inputs *unpacked, const struct nl_inputs *inputs,
                             struct nl_job *job, struct nl_err *err);

/* ---- Within unpack.c, and for its tests ---- */

enum unpack_kind { UNPACK_PLAIN, UNPACK_MEMBER, UNPACK_TOLD };

/* A message of the child: this, then the name of a member, or a struct nl_archive_told. */
struct unpack_message {
    uint32_t kind, item; /* of the inputs */
};

struct unpack_taking {
    struct nl_inputs *to;
    const struct nl_inputs *inputs;
    size_t members;
    bool told;
};

/* The parent's side: an sandbox_take_fn, with a struct unpack_taking. */
NL_MUST_CHECK bool nl_unpack_take(void *context, const void *bytes, size_t len, int fd,
                                  struct nl_err *err);

#endif
