/*
 * programfile — the file of the program that a process runs, by what the kernel says.
 */
#ifndef NL_PROGRAMFILE_H
#define NL_PROGRAMFILE_H

#include <stdint.h>

#define PROGRAMFILE_PATH 4096

/* Fills `path`, "" when it is not known, and returns its last part. */
const char *programfile_of(int64_t pid, char path[PROGRAMFILE_PATH]);

#endif
