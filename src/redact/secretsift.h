/*
 * secretsift — clears most names of events of secrets without reading their words: they have no
 * part of anything that is looked for (secretshapes.def). Used by redact/redact.h alone.
 */
#ifndef NL_SECRETSIFT_H
#define NL_SECRETSIFT_H

#include "base/str.h"

/* False: there is none in `text`, as the name of an event. */
bool nl_sift_may_hold(struct nl_str text);

/* `len` letters are equal but for the bit that letters of both cases differ in. Read from the
 * end, where words differ. */
bool nl_sift_is_folded(const char *text, const char *wanted, size_t len);

#endif
