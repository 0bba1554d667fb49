/* Loaded and unloaded by loader.c: its sites go away with it, what they recorded stays. */
#include <neurolens.h>

void plugin_run(void);

void plugin_run(void)
{
    NL_SCOPE("in a plugin");
}
