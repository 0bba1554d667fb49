/*
 * nvtxinject — NVTX's default domain for others who mark ranges in the program's words: AMD's roctx
 * (rocminject.c). Texts may be NULL.
 */
#ifndef NL_NVTXINJECT_H
#define NL_NVTXINJECT_H

#include <stdint.h>

/* Depth of the range, or negative: not recorded. */
int nvtx_push_text(const char *text);
int nvtx_pop(void);
void nvtx_mark_text(const char *text);
/* A range that ends on any thread, by a number of the caller's. */
void nvtx_start_text(const char *text, uint64_t range);
void nvtx_end_range(uint64_t range);

#endif
