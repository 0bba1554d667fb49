/*
 * nvtxclient — as much of an NVTX client as a test needs: the function pointers, and the look-up
 * that a program with the NVTX headers does at its first call. The table of each module has the
 * places of NVTX version 3.
 */
#ifndef NVTXCLIENT_H
#define NVTXCLIENT_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>

struct attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
    } payload;
    int32_t message_type;
    const void *message;
};

typedef void (*function)(void);

#define CORE  16
#define CORE2 16
static function core[CORE], core2[CORE2];
static function *core_rows[CORE], *core2_rows[CORE2];

static int module_table(int module, function ***table, unsigned *count)
{
    *table = module == 1 ? core_rows : core2_rows;
    *count = module == 1 ? CORE : CORE2;
    return module == 1 || module == 5;
}

static void injection_version(uint32_t version)
{
    if (version != 3)
        abort();
}

static const void *get_export(uint32_t id)
{
    static const struct {
        size_t size;
        int (*table)(int, function ***, unsigned *);
    } callbacks = {sizeof callbacks, module_table};
    static const struct {
        size_t size;
        uint32_t version, reserved;
        void (*set)(uint32_t);
    } version = {sizeof version, 3, 0, injection_version};
    return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}

/* Loads the library that the environment names; false: none, or it does not want to be called. */
static int nvtx_initialize(void)
{
    for (int i = 1; i < CORE; i++) {
        core_rows[i] = &core[i];
        core2_rows[i] = &core2[i];
    }
    const char *path = getenv("NVTX_INJECTION64_PATH");
    void *library = path ? dlopen(path, RTLD_LAZY) : NULL;
    int (*initialize)(const void *(*)(uint32_t)) = NULL;
    if (library)
        *(void **)&initialize = dlsym(library, "InitializeInjectionNvtx2");
    return initialize && initialize(get_export);
}

#define MARK(text)                  ((void (*)(const char *))core[2])(text)
#define START(text)                 ((uint64_t(*)(const char *))core[5])(text)
#define END(range)                  ((void (*)(uint64_t))core[7])(range)
#define PUSH_EX(a)                  ((int (*)(const struct attributes *))core[8])(a)
#define PUSH(text)                  ((int (*)(const char *))core[9])(text)
#define PUSH_W(text)                ((int (*)(const wchar_t *))core[10])(text)
#define POP()                       ((int (*)(void))core[11])()
#define CATEGORY(n, text)           ((void (*)(uint32_t, const char *))core[12])(n, text)
#define DOMAIN_PUSH(d, a)           ((int (*)(void *, const struct attributes *))core2[4])(d, a)
#define DOMAIN_POP(d)               ((int (*)(void *))core2[5])(d)
#define DOMAIN_CATEGORY(d, n, text) ((void (*)(void *, uint32_t, const char *))core2[8])(d, n, text)
#define REGISTER(d, text)           ((void *(*)(void *, const char *))core2[10])(d, text)
#define DOMAIN(text)                ((void *(*)(const char *))core2[12])(text)

#endif
