/*
 * shown — standard output as a terminal gets it, whatever is written: characters that steer it,
 * reorder text or hide in it become U+FFFD. Line ends, tabs and the colours of our own tables (ESC
 * [ … m) pass. Views clean the cells of their tables already; this is for exports without -o,
 * headings that a query names, names of files in sentences, and what is forgotten.
 */
#ifndef NL_SHOWN_H
#define NL_SHOWN_H

#include <stdio.h>

/* A stream in front of the descriptor, which stays open when it is closed. NULL: no memory. */
FILE *nl_shown_open(int descriptor);

#endif
