/*
 * shortname — the part of a kernel's name that distinguishes it from others: without return type
 * and parameter list. For eyes only; numbers are always grouped by the whole name.
 */
#ifndef NL_SHORTNAME_H
#define NL_SHORTNAME_H

#include "base/str.h"

/* "void cub::Reduce<float>(float*, int)" → "cub::Reduce<float>". A view into `name`; all of it when
 * it does not look like a function's signature. */
struct nl_str nl_short_kernel(struct nl_str name);

/* A name on one line, its middle left out when it is longer than `width` bytes; never cut inside a
 * UTF-8 sequence. */
void nl_elide_name(struct nl_buf *out, struct nl_str name, size_t width);

/* A function's name without the address of an object in it (" at 0x7f…"), and one of C++ or Rust as
 * its source has it, without parameters: "_ZN4core3ptr4read17h0123456789abcdefE" →
 * "core::ptr::read". Others as they are. Appended to `out`. */
void nl_plain_name(struct nl_buf *out, struct nl_str name);

#endif
