/*
 * A program that looks like a Python interpreter from outside, and whose structures are rubbish
 * that changes all the time: pointers into themselves, lengths without bounds, cycles. Arguments:
 * version as PY_VERSION_HEX, milliseconds to live.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WORDS (1u << 15)

__attribute__((visibility("default"))) uint64_t _PyRuntime[WORDS];
__attribute__((visibility("default"))) uint64_t PyCode_Type[64];
__attribute__((visibility("default"))) unsigned long Py_Version;

static uint64_t pool[WORDS], state = 88172645463325252u;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static uint64_t rubbish(void)
{
    uint64_t at = (uint64_t)(uintptr_t)&pool[next() % (WORDS - 64)];
    switch (next() % 8) {
    case 0: return (uint64_t)(uintptr_t)PyCode_Type;
    case 1: return next() % 4096;
    case 2: return next();
    case 3: return 0x64 | next() % 8; /* state of a text */
    default: return at;
    }
}

/* Threads and interpreters hang together now and then: a word that points to
 * the pool's begin is both. */
static void make(void)
{
    for (unsigned i = 0; i < 64; i++)
        pool[i] = next() % 4 ? (uint64_t)(uintptr_t)pool : rubbish();
    for (unsigned i = 64; i < WORDS; i++)
        pool[i] = rubbish();
}

int main(int argc, char **argv)
{
    static const uint64_t told[] = {0, 0, 632, 0, 0}; /* where the first interpreter is */
    struct timespec now, begin;
    long long milliseconds = argc > 2 ? atoll(argv[2]) : 1000;
    Py_Version = strtoul(argc > 1 ? argv[1] : "0x030b07f0", NULL, 0);
    for (unsigned i = 0; i < 128; i++)
        _PyRuntime[i] = (uint64_t)(uintptr_t)pool;
    if (Py_Version >= 0x030d0000) {
        memcpy(&_PyRuntime[0], "xdebugpy", 8);
        _PyRuntime[1] = Py_Version;
        _PyRuntime[2] = 0;
        for (unsigned i = 3; i < 64; i++)
            _PyRuntime[i] = i < 8 ? told[i - 3] : 8 * (next() % 31);
        _PyRuntime[44] = _PyRuntime[50] = 16; /* an object, and where its type is */
        _PyRuntime[45] = _PyRuntime[51] = 8;
        _PyRuntime[Py_Version < 0x030e0000 ? 32 : 35] = 248; /* size of a frame */
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        make();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000LL + (now.tv_nsec - begin.tv_nsec) / 1000000 <
             milliseconds);
    return 9;
}
