/*
 * plainlocale — numbers with a point, whatever language the process speaks: printf and strtod
 * follow the thread's locale, and a program that uses this one as a library may have set another.
 *
 *     locale_t theirs = nl_locale_enter();
 *     ...
 *     nl_locale_leave(theirs);
 *
 * For the thread that calls. Threads start with the locale of their process, so each that reads or
 * writes numbers enters, too.
 */
#ifndef NL_PLAINLOCALE_H
#define NL_PLAINLOCALE_H

#include <locale.h>

/* The C locale from now on; gives the one that the thread had. */
locale_t nl_locale_enter(void);
void nl_locale_leave(locale_t theirs);

#endif
