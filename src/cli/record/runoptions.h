/* runoptions — the options of `neurolens run`. */
#ifndef NL_RUNOPTIONS_H
#define NL_RUNOPTIONS_H

#include "cli/options.h"

extern const struct nl_option nl_run_options[];

#endif
