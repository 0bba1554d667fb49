/*
 * gzout — a gzip file as it is written (RFC 1952), by ISA-L.
 */
#ifndef NL_GZOUT_H
#define NL_GZOUT_H

#include <stdio.h>

#include "export/bytes.h"

/* Writes all of `bytes` as one gzip member. */
void nl_gzip_write(FILE *out, const struct bytes *bytes);

#endif
