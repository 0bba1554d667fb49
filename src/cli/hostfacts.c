/* From /proc, uname and sysconf. */
#define _GNU_SOURCE
#include "cli/hostfacts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* "model name\t: AMD EPYC …" of the first processor, or NULL. */
static const char *cpu_model(struct nl_arena *arena)
{
    char line[512];
    const char *model = NULL;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && !model && fgets(line, sizeof line, file)) {
        const char *colon = strstr(line, ": ");
        if (colon && strncmp(line, "model name", 10) == 0)
            model = nl_arena_text(arena, colon + 2, strcspn(colon + 2, "\n"));
    }
    if (file)
        fclose(file);
    return model;
}

/* "Debian GNU/Linux 12 (bookworm)" of /etc/os-release, or NULL. */
static const char *system_name(struct nl_arena *arena)
{
    static const char key[] = "PRETTY_NAME=";
    char line[512];
    const char *name = NULL;
    FILE *file = fopen("/etc/os-release", "r");
    while (file && !name && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, sizeof key - 1) != 0)
            continue;
        const char *value = line + sizeof key - 1;
        value += *value == '"';
        name = nl_arena_text(arena, value, strcspn(value, "\"\n"));
    }
    if (file)
        fclose(file);
    return name;
}

size_t nl_host_facts(struct nl_rundoc_setting settings[NL_HOST_FACTS], struct nl_arena *arena)
{
    const char *model = cpu_model(arena);
    long processors = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    struct utsname system;
    size_t count = 0;
    if (model && *model)
        settings[count++] = (struct nl_rundoc_setting){"hardware.cpu_model", model};
    if (processors > 0)
        settings[count++] = (struct nl_rundoc_setting){"hardware.cpu_count",
                                                       nl_arena_format(arena, "%ld", processors)};
    if (pages > 0)
        settings[count++] = (struct nl_rundoc_setting){
            "hardware.host_memory_bytes",
            nl_arena_format(arena, "%lld", (long long)pages * sysconf(_SC_PAGESIZE))};
    if (uname(&system) == 0)
        settings[count++] = (struct nl_rundoc_setting){
            "hardware.kernel",
            nl_arena_format(arena, "%s %s %s", system.sysname, system.release, system.machine)};
    const char *name = system_name(arena);
    if (name && *name)
        settings[count++] = (struct nl_rundoc_setting){"hardware.os", name};
    return count;
}
