/*
 * ortfind — where an ONNX Runtime library may be on this machine.
 *
 * Looked through in this order: $NEUROLENS_ONNXRUNTIME; LD_LIBRARY_PATH; the active virtual
 * environment and the Pythons on PATH with the user's own packages; node_modules of this
 * folder and those above it, and the global ones; the system's library folders. Only files are
 * looked at; nothing is loaded.
 *
 * Python wheels hold a separate library from 1.19 on; older ones keep it inside the Python module,
 * where no other program can use it.
 */
#ifndef ORTFIND_H
#define ORTFIND_H

#include "base/mem.h"

struct ort_place {
    const char *path;
    const char *from; /* "Python package", "npm package", … */
};

struct ort_places {
    struct ort_place *items;
    size_t count, cap;
    const char *useless; /* a Python module of an old wheel, or NULL */
    struct nl_arena arena;
};

/* The best first, each file once. Release in any case. */
void ort_places_find(struct ort_places *places);
void ort_places_release(struct ort_places *places);

#endif
