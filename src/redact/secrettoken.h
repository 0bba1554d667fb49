/*
 * secrettoken — words that are secrets by themselves: tokens as well-known services make them
 * (secretshapes.def), and some that are recognised by their whole shape; and whether a word is
 * random, as keys are. Used by redact/redact.h alone.
 */
#ifndef NL_SECRETTOKEN_H
#define NL_SECRETTOKEN_H

#include "base/str.h"

/* Of names; and of tokens, which may have some more. */
bool nl_token_is_word(char c);
bool nl_token_has_char(char c);

/* Length of the token that `text` begins with, 0 = it begins with none. `name`: text is the name of
 * an event, where some starts of tokens are too common to be looked for. */
size_t nl_token_length(struct nl_str text, bool name);

/* As keys are: 20 letters of tokens or more, with capitals, small letters and digits; ten of them,
 * and a quarter, are different ones. A digest (small letters and digits) or a name is not. */
bool nl_token_is_random(struct nl_str text);

/* 16 characters or more with a digit, and no path: a secret where a name before it says so. */
bool nl_token_may_be_secret(struct nl_str text);

#endif
