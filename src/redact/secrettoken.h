/*
 * secrettoken — words that are secrets by themselves: tokens as well-known services make them
 * (secretshapes.def), and some that are recognised by their whole shape; and whether a word is
 * random, as keys are. Used by redact/redact.h alone.
 */
#ifndef NL_SECRETTOKEN_H
#define NL_SECRETTOKEN_H

#include "base/str.h"

/* Letters of names, and those that tokens may also have. */
bool nl_token_is_word(char c);
bool nl_token_is_letter(char c);

/* Length of the token that `text` begins with, 0 = it begins with none. `name`: text is the name of
 * an event, where some starts of tokens are too common to be looked for. */
size_t nl_token_length(struct nl_str text, bool name);

/* As keys are: 20 letters of tokens or more, with capitals, small letters and digits; ten of them,
 * and a quarter, are different ones. A digest (small letters and digits) or a name is not. */
bool nl_token_is_random(struct nl_str text);

/* 16 letters of tokens or more with a digit, and no path. */
bool nl_token_is_long(struct nl_str text);

#endif
