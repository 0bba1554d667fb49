/*
 * perfframes — texts of places in machine code, as recordings hold them: "@file\tbuild
 * id\t0xoffset" (the offset in the file), of code outside files the address in place of the
 * offset. Each is made once.
 */
#ifndef NL_PERFFRAMES_H
#define NL_PERFFRAMES_H

#include "capture/native/perfmaps.h"

#define PERFFRAMES_KERNEL "@[kernel]\t\t0x0" /* what it does there is not recorded */

struct perfframes;

struct perfframes *perfframes_new(const struct perfmaps *maps); /* borrows them */
void perfframes_free(struct perfframes *frames);

/* Valid until the free. Over 4,194,304 texts further ones share one. */
const char *perfframes_text(struct perfframes *frames, const struct perfmaps_process *process,
                            uint64_t address);

#endif
