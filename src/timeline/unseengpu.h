/*
 * unseengpu — whether a profile without any work of a device is of a program that used one: calls
 * launched work, or operators ran that there are for GPUs alone (unseengpu.def). The times of its
 * operators are those of launching and waiting then.
 */
#ifndef NL_UNSEENGPU_H
#define NL_UNSEENGPU_H

#include "store/trace.h"

/* How many calls launch work; *most: the name of most of them. */
uint64_t nl_count_launches(const struct nl_trace *trace, uint32_t *most);

/* The first slice's name that there is for GPUs alone; empty when there is none. */
struct nl_str nl_gpu_name(const struct nl_trace *trace);

/* No device work is there, and there was some. */
bool nl_gpu_is_unseen(const struct nl_trace *trace);

#endif
