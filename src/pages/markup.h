/*
 * markup — text from profiles inside HTML, SVG and scripts' data, so that
 * no name can become markup.
 *
 * Two ways in, and no third: nl_markup_html for text and quoted attributes, and a stream for
 * JSON within a <script type="application/json">, which writes every '<' as \u003c (it occurs
 * in strings alone there).
 */
#ifndef NL_MARKUP_H
#define NL_MARKUP_H

#include <stdio.h>

#include "base/err.h"
#include "base/str.h"

/* & < > " ' as entities; what steers or reorders text becomes U+FFFD, as on terminals. */
void nl_markup_html(FILE *out, struct nl_str text);

/* A stream to `out` for JSON inside a script element. fclose it; what could not be written shows as
 * an error of `out`. NULL with err (NL_MEMORY). */
NL_MUST_CHECK FILE *nl_markup_json(FILE *out, struct nl_err *err);

/* 'sha256-…' of bytes, as a Content-Security-Policy names an inline script or style. */
#define NL_MARKUP_HASH 64
NL_MUST_CHECK bool nl_markup_hash(char text[NL_MARKUP_HASH], const void *bytes, size_t size,
                                  struct nl_err *err);

/* Adds bytes as base64 (RFC 4648, with padding). */
struct nl_buf;
void nl_markup_base64(struct nl_buf *out, const unsigned char *bytes, size_t size);

#endif
