/* What version of CPython this is, and where things lie in it. */
#include "pyinside.h"

#include <string.h>

#define WORDS    64
#define WORD(n)  (1000000 + (n))
#define NONE     (-1)
#define OLDEST   9
#define VERSIONS 6

/* The description of itself that CPython has from 3.13 on: words at the beginning of its state. */
struct description {
    uint64_t words[WORDS];
};
PYINSIDE_WEAK const struct description _PyRuntime;

struct pyinside nl_inside = {
    .minor = -1, .thread_frame = -1, .cframe_frame = -1, .frame_code = -1, .frame_owner = -1};

enum place {
#define PYFIELD(name, ...) AT_##name,
#include "pylayout.def"
#undef PYFIELD
    PLACES
};

static const int32_t places[PLACES][VERSIONS] = {
#define PYFIELD(name, ...) [AT_##name] = {__VA_ARGS__},
#include "pylayout.def"
#undef PYFIELD
};

/* 3.13 and later: is it the description that the table was written for? */
static bool describes_itself(int minor)
{
    const struct description *told = &_PyRuntime;
    return told && memcmp(told, "xdebugpy", 8) == 0 &&
           told->words[1] >> 16 == (uint64_t)(0x0300 | minor);
}

static int offset_of(enum place place, int minor)
{
    int32_t told =
        minor >= OLDEST && minor < OLDEST + VERSIONS ? places[place][minor - OLDEST] : NONE;
    if (told < WORD(0))
        return told;
    if (!describes_itself(minor))
        return NONE;
    uint64_t offset = _PyRuntime.words[told - WORD(0)];
    return offset < 4096 ? (int)offset : NONE;
}

void pyinside_learn(void)
{
    PyObject *version = PySys_GetObject("hexversion"); /* borrowed */
    long number = version ? PyLong_AsLong(version) : -1;
    PyErr_Clear();
    int minor = number >> 24 == 3 ? (int)(number >> 16 & 0xff) : -1;
    nl_inside = (struct pyinside){.minor = minor,
                                  .thread_frame = offset_of(AT_thread_frame, minor),
                                  .cframe_frame = offset_of(AT_cframe_frame, minor),
                                  .frame_code = offset_of(AT_frame_code, minor),
                                  .frame_owner = offset_of(AT_frame_owner, minor)};
    if (minor < 12)
        nl_inside.has_evaluation = _PyEval_EvalFrameDefault &&
                                   _PyInterpreterState_GetEvalFrameFunc &&
                                   _PyInterpreterState_SetEvalFrameFunc &&
                                   _PyEval_RequestCodeExtraIndex && nl_inside.frame_code >= 0;
    else
        nl_inside.has_monitoring =
            PyUnstable_Eval_RequestCodeExtraIndex && nl_inside.thread_frame >= 0;
}
