/*
 * demangle — names of functions as their source has them, from the names that compilers give to
 * linkers: of C++ ("_ZN4shop3addEii" is "shop::add(int, int)"), and of Rust, old and new
 * ("_RNvCs1_4shop3add" is "shop::add"), without the hash of the crate. libiberty does it, as for
 * c++filt.
 */
#ifndef NL_DEMANGLE_H
#define NL_DEMANGLE_H

#include "base/str.h"

enum { NL_MAX_DEMANGLED = 16384 };

/* Might this be such a name? Cheap: by its first letters. */
bool nl_is_mangled(struct nl_str symbol);

/* Into `name`, which is cleared first and has room for NL_MAX_DEMANGLED bytes. False where the
 * symbol is no such name, or its name would be longer: a damaged one can ask for any length. */
bool nl_demangle(struct nl_str symbol, struct nl_buf *name);

#endif
