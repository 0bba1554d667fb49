/*
 * pyfind — the interpreter in a process: where its runtime structure is and which version it is.
 *
 * Found by the dynamic symbols of the program and of libpython in the process's memory, so that no
 * file is opened: programs in containers and files replaced since are no matter.
 */
#ifndef PYFIND_H
#define PYFIND_H

#include "capture/python/pylayout.h"
#include "capture/python/pymem.h"

#define PYFIND_WHY 240

enum pyfind_state {
    PYFIND_READY,
    PYFIND_NOT_YET, /* the interpreter is not set up yet */
    PYFIND_NONE,    /* the process has no interpreter (so far) */
    PYFIND_REFUSED, /* `why` it cannot be sampled, for good */
    PYFIND_GONE     /* the process has ended */
};

struct pyfind {
    uint64_t runtime, code_type; /* addresses */
    uint32_t version;            /* as PY_VERSION_HEX; of 3.9 and 3.10 without the patch level */
    struct pylayout layout;
    char why[PYFIND_WHY];
};

enum pyfind_state pyfind_look(struct pymem *mem, struct pyfind *found);

#endif
