#define _GNU_SOURCE
#include "base/plainlocale.h"

#include <stddef.h>

locale_t nl_locale_enter(void)
{
    /* glibc has a static object for "C": nothing is allocated, and nothing need be freed. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return plain ? uselocale(plain) : (locale_t)0;
}

void nl_locale_leave(locale_t theirs)
{
    if (theirs)
        uselocale(theirs);
}
