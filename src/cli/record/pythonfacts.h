/*
 * pythonfacts — which Python a program runs under, and which ML packages that has, without running
 * it: from the path of the interpreter (or the first line of a script), pyvenv.cfg, patchlevel.h
 * and the names of installed packages.
 */
#ifndef NL_PYTHONFACTS_H
#define NL_PYTHONFACTS_H

#include <stdio.h>

/* Lines "software.python_version\t3.11.7" and "package torch\t2.5.1"; none when the program is not
 * Python's. */
void nl_python_facts(FILE *out, const char *program);

#endif
