/*
 * often — what most files read, read once per room where sanitizers are built in (meson.build). No
 * file may lean on it: the other build has it not.
 */
#ifndef NL_TESTS_OFTEN_H
#define NL_TESTS_OFTEN_H

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/sort.h"
#include "base/str.h"
#include "base/sum.h"
#include "store/trace.h"
#include "tables/resultcells.h"

#endif
