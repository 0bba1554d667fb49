/* The names are glibc's own, where it has them. */
#define _GNU_SOURCE
#include <signal.h>

#include "base/signalname.h"
#include "check.h"

static void same_as_glibc(void)
{
    for (int number = 1; number < 32; number++) {
        CHECK(nl_signal_name(number) != NULL);
#if __GLIBC_PREREQ(2, 32)
        CHECK_TEXT(nl_signal_name(number), sigabbrev_np(number));
#endif
    }
    CHECK(!nl_signal_name(0) && !nl_signal_name(64) && !nl_signal_name(-1));
}

CHECK_MAIN("signalname", {"same as glibc", same_as_glibc})
