/*
 * redact — what must never be echoed or kept: tokens, passwords, environments. Readers ask by key
 * (nl_is_secret_key); free text such as a command line, a note or a value that a person gave goes
 * through nl_redact_text. Both err on the side of silence. Names of events are looked through when
 * a trace is finished (nl_redact_name), so that no reader has to.
 */
#ifndef NL_REDACT_H
#define NL_REDACT_H

#include "base/str.h"

/* True when a metadata key or environment variable looks like it holds a secret. */
bool nl_is_secret_key(struct nl_str key);

/* Adds `text` to `out` with "(redacted)" instead of
 *   - the value after a name that ends like a secret's: HF_TOKEN=…, "api_key": "…", --password …, DB_PASS=…
 *   - what follows Bearer, Basic or Authorization:, cookies, the user part of a URL (https://user:word@host,
 *     https://TOKEN@host), the path of a webhook, the signature of a signed URL
 *   - words that begin as the tokens of well-known services do (hf_…, ghp_…, AKIA…, …), private keys
 *   - passwords in options of commands: mysql -p…, sshpass -p …, curl -u …, docker login -p …
 *   - 20 and more random characters after a name with "key", "token", "pass" … in it.
 * secretshapes.def lists them all. Returns how many were replaced. JSON stays JSON. */
size_t nl_redact_text(struct nl_buf *out, struct nl_str text);

/* The same for the name or an argument of an event, where `n_token=128` is no secret: values that
 * are numbers, have brackets, or are short words stay. Adds nothing to `out` when it returns 0. */
size_t nl_redact_name(struct nl_buf *out, struct nl_str text);

#endif
