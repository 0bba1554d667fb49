/*
 * chrome_v8 — the pieces of V8's profiles, put together.
 */
#ifndef CHROME_V8_H
#define CHROME_V8_H

#include "ingest/chrome/chrome_stacks.h"

void chrome_v8_finish(struct chrome_stacks *stacks);

#endif
