/* Finding and opening libcupti. */
#define _GNU_SOURCE
#include "capture/agent/cuptilib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUPTI_RECORD(type, version, bytes)                                                         \
    _Static_assert(sizeof(struct cupti_##type) <= (bytes), #version " is longer");
#define CUPTI_FIELD(type, version, member, offset, bytes)                                          \
    _Static_assert(offsetof(struct cupti_##type, member) == (offset) &&                            \
                       sizeof(((struct cupti_##type *)0)->member) == (bytes),                      \
                   #version "." #member);
#include "capture/agent/cuptifields.def"

#define CUPTI_MAX_MAJOR 19

/* By soname, newest first; CUDA 11 has it per minor version. */
static const char *const names[] = {"libcupti.so.14", "libcupti.so.13", "libcupti.so.12",
                                    "libcupti.so.11.8", "libcupti.so"};
#define NAMES (sizeof names / sizeof names[0])

static void *open_loaded(void)
{
    void *library = NULL;
    for (size_t i = 0; i < NAMES && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_NOLOAD);
    return library;
}

/* The one that belongs to the driver's CUDA version. */
static void *open_like_driver(void)
{
    char name[32];
    int version = 0;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    int (*get_version)(int *) = NULL;
    void *symbol = driver ? dlsym(driver, "cuDriverGetVersion") : NULL;
    memcpy(&get_version, &symbol, sizeof symbol);
    if (!get_version || get_version(&version) != 0 || version < 12000 ||
        version / 1000 > CUPTI_MAX_MAJOR)
        return NULL;
    (void)snprintf(name, sizeof name, "libcupti.so.%d", version / 1000);
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

static void *open_named(void)
{
    void *library = NULL;
    for (size_t i = 0; i < NAMES && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static void *open_under(const char *folder, const char *const *places, size_t count)
{
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; i < count && !library; i++) {
        int len = snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (len > 0 && (size_t)len < sizeof path)
            library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

static void *open_toolkit(void)
{
    static const char *const places[] = {"extras/CUPTI/lib64/libcupti.so", "lib64/libcupti.so"};
    const char *const folders[] = {getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda",
                                   "/opt/cuda"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && !library; i++)
        if (folders[i] && *folders[i])
            library = open_under(folders[i], places, 2);
    return library;
}

/* Calls `take` for every line of /proc/self/maps until it says true. */
static bool each_mapping(bool (*take)(char *line, void *context), void *context)
{
    char line[4608];
    FILE *maps = fopen("/proc/self/maps", "re");
    bool done = false;
    while (maps && !done && fgets(line, sizeof line, maps))
        done = take(line, context);
    if (maps)
        fclose(maps);
    return done;
}

/* Python wheels keep CUDA libraries in adjacent folders. */
static bool try_wheel(char *line, void *context)
{
    static const char *const places[] = {"cu13/lib/libcupti.so.13", "cuda_cupti/lib/libcupti.so.12",
                                         "cuda_cupti/lib/libcupti.so.11.8"};
    char *path = strchr(line, '/'), *end = strstr(line, "/site-packages/nvidia/");
    void **library = context;
    if (!path || !end)
        return false;
    end[sizeof "/site-packages/nvidia" - 1] = '\0';
    *library = open_under(path, places, 3);
    return *library != NULL;
}

static void *open_wheel(void)
{
    void *library = NULL;
    (void)each_mapping(try_wheel, &library);
    return library;
}

static void *find_library(void)
{
    static void *(*const ways[])(void) = {open_loaded, open_like_driver, open_named, open_toolkit,
                                          open_wheel};
    const char *given = getenv("NEUROLENS_CUPTI");
    void *library = NULL;
    if (given && *given)
        return dlopen(given, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !library; i++)
        library = ways[i]();
    return library;
}

static bool load_symbol(void *library, const char *symbol, bool needed, void *to, char *why,
                        size_t room)
{
    void *found = dlsym(library, symbol);
    memcpy(to, &found, sizeof found);
    if (found || !needed)
        return true;
    (void)snprintf(why, room, "libcupti has no %s", symbol);
    return false;
}

bool cupti_open(struct cupti_calls *calls, char *why, size_t room)
{
    void *library = find_library();
    if (!library) {
        (void)snprintf(why, room,
                       "libcupti was not found; install it (cuda-cupti) or name it in "
                       "NEUROLENS_CUPTI");
        return false;
    }
#define CUPTI_CALL(member, symbol, needed, parameters)                                             \
    if (!load_symbol(library, #symbol, needed, &calls->member, why, room))                         \
        return false;
#include "capture/agent/cupticalls.def"
    return true;
}

/* ---- who holds it ---- */

/* The surest first: PyTorch is often there next to another tool. */
static const struct {
    const char *library, *tool;
} tools[] = {
    {"libToolsInjection", "Nsight Systems"}, {"libnsys", "Nsight Systems"},
    {"libcuda-injection", "Nsight Compute"}, {"libsanitizer-collection", "compute-sanitizer"},
    {"libcudadebugger", "cuda-gdb"},         {"libtorch_cpu", "PyTorch's profiler"}};
#define TOOLS (sizeof tools / sizeof tools[0])

static bool find_tool(char *line, void *context)
{
    size_t *found = context;
    const char *slash = strrchr(line, '/');
    for (size_t i = 0; slash && i < *found; i++)
        if (strstr(slash, tools[i].library))
            *found = i;
    return false;
}

const char *cupti_holder(void)
{
    size_t found = TOOLS;
    (void)each_mapping(find_tool, &found);
    return found < TOOLS ? tools[found].tool : "which one is not known";
}
