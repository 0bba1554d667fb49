/*
 * kernelname — forms of a kernel's name that two tools write alike.
 *
 * Tools spell one kernel differently: `void at::native::fill<4, float>(float*, int)` (c++filt),
 * `void fill<(int)4, float>(T2 *, int)` (Nsight Compute), `fill` (function names),
 * `_ZN2at6native4fillILi4EfEEvPT0_i` (mangled). Each level keeps less of the name, so that names
 * which are equal at one level are equal at all later ones.
 */
#ifndef NL_KERNELNAME_H
#define NL_KERNELNAME_H

#include "base/str.h"

enum nl_name_level {
    NL_NAME_WHOLE,     /* without blanks, namespaces, return type, casts of template arguments */
    NL_NAME_ARGUMENTS, /* and without the list of parameters */
    NL_NAME_BASE,      /* the function's name alone; of mangled names, too */
    NL_NAME_LEVELS
};

/* Replaces the contents of `out` by the name at that level. */
void nl_kernel_name_form(struct nl_buf *out, struct nl_str name, enum nl_name_level level);

/* Is the name its base alone, as it was written or once demangled? Then nothing but the base is
 * known of it. */
bool nl_kernel_name_is_base(struct nl_str name);

#endif
