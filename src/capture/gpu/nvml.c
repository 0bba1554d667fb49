/* Opening NVIDIA's library and finding its devices. */
#include "capture/gpu/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const struct {
    size_t member;
    const char *symbol, *other;
} calls[] = {
#define NVML_CALL(member, symbol, other, arguments) {offsetof(struct nvml, member), symbol, other},
#include "capture/gpu/nvmlcalls.def"
#undef NVML_CALL
};

/* The functions of a library, by name: pointers to functions are copied, since
 * C does not convert them. */
static void load_symbols(struct nvml *nvml)
{
    void *found = dlsym(nvml->library, "nvmlErrorString");
    memcpy(&nvml->error_text, &found, sizeof found);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        found = dlsym(nvml->library, calls[i].symbol);
        if (!found && calls[i].other)
            found = dlsym(nvml->library, calls[i].other);
        memcpy((char *)nvml + calls[i].member, &found, sizeof found);
    }
}

static const char *nvml_error_text(const struct nvml *nvml, int result)
{
    const char *text = nvml->error_text ? nvml->error_text(result) : NULL;
    return text ? text : "unknown error";
}

static void copy_info(const struct nvml *nvml, struct nvml_device *device)
{
    struct gpu_info *info = &device->info;
    struct nvml_pci pci = {.bus_id = ""};
    info->vendor = "nvidia";
    if (!nvml->name || nvml->name(device->handle, info->name, sizeof info->name - 1) != NVML_OK)
        info->name[0] = '\0';
    if (!nvml->uuid || nvml->uuid(device->handle, info->uuid, sizeof info->uuid - 1) != NVML_OK)
        info->uuid[0] = '\0';
    if (nvml->pci && nvml->pci(device->handle, &pci) == NVML_OK)
        memcpy(info->bus, pci.bus_id, sizeof info->bus - 1);
}

/* True with no device at all, too: a driver without a card. */
static bool find_devices(struct nvml *nvml, char why[GPU_WHY])
{
    unsigned count = 0;
    int result = nvml->count(&count);
    if (result != NVML_OK) {
        (void)snprintf(why, GPU_WHY, "NVML does not count its GPUs: %s",
                       nvml_error_text(nvml, result));
        return false;
    }
    count = count < GPU_MAX_DEVICES ? count : GPU_MAX_DEVICES;
    nvml->devices = nl_zalloc((count + 1) * sizeof *nvml->devices);
    for (unsigned i = 0; i < count; i++) {
        struct nvml_device *device = &nvml->devices[nvml->count_found];
        result = nvml->handle(i, &device->handle);
        if (result == NVML_OK) {
            copy_info(nvml, device);
            nvml->count_found++;
        } else {
            (void)snprintf(why, GPU_WHY, "NVML does not give GPU %u: %s", i,
                           nvml_error_text(nvml, result));
        }
    }
    if (!count)
        (void)snprintf(why, GPU_WHY, "NVML knows no GPU here");
    return nvml->count_found > 0;
}

static void nvml_close(void *state)
{
    struct nvml *nvml = state;
    for (unsigned i = 0; i < nvml->count_found; i++)
        nvml_read_end(nvml, &nvml->devices[i]);
    if (nvml->shutdown)
        (void)nvml->shutdown();
    dlclose(nvml->library);
    nl_free(nvml->devices);
    nl_free(nvml);
}

/* What the loader says of a library that is not there is three sentences; one will do. */
static void tell_missing(const char *name, const char *text, char why[GPU_WHY])
{
    if (text && strstr(text, "No such file"))
        (void)snprintf(why, GPU_WHY, "no NVIDIA driver: %s is not there", name);
    else
        (void)snprintf(why, GPU_WHY, "no NVIDIA driver: %s", text ? text : "cannot be loaded");
}

/* NEUROLENS_NVML names another library: tests have one that answers as they like. */
static void *nvml_open(const char *root, char why[GPU_WHY])
{
    const char *named = getenv("NEUROLENS_NVML");
    const char *name = named && *named ? named : "libnvidia-ml.so.1";
    (void)root;
    (void)dlerror();
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        tell_missing(name, dlerror(), why);
        return NULL;
    }
    struct nvml *nvml = nl_zalloc(sizeof *nvml);
    nvml->library = library;
    load_symbols(nvml);
    int result = NVML_FUNCTION_NOT_FOUND;
    if (nvml->init && nvml->count && nvml->handle)
        result = nvml->init();
    else
        (void)snprintf(why, GPU_WHY, "NVML lacks functions that every version has");
    if (result == NVML_OK && find_devices(nvml, why))
        return nvml;
    if (result != NVML_OK && result != NVML_FUNCTION_NOT_FOUND)
        (void)snprintf(why, GPU_WHY, "NVML does not start: %s", nvml_error_text(nvml, result));
    if (result != NVML_OK)
        nvml->shutdown = NULL;
    nvml_close(nvml);
    return NULL;
}

static unsigned nvml_count(const void *state)
{
    return ((const struct nvml *)state)->count_found;
}

static void nvml_describe(const void *state, unsigned device, struct gpu_info *info)
{
    *info = ((const struct nvml *)state)->devices[device].info;
}

static uint64_t nvml_absent(const void *state, unsigned device)
{
    const struct nvml_device *of = &((const struct nvml *)state)->devices[device];
    return of->refused & ~of->seen;
}

const struct gpu_vendor gpu_nvml = {.name = "NVML",
                                    .open = nvml_open,
                                    .count = nvml_count,
                                    .describe = nvml_describe,
                                    .read = nvml_read,
                                    .absent = nvml_absent,
                                    .close = nvml_close};
