/* programfile — see programfile.h. */
#define _GNU_SOURCE
#include "capture/recorder/programfile.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *programfile_of(int64_t pid, char path[PROGRAMFILE_PATH])
{
    char link[64];
    (void)snprintf(link, sizeof link, "/proc/%lld/exe", (long long)pid);
    ssize_t len = readlink(link, path, PROGRAMFILE_PATH - 1);
    path[len > 0 ? len : 0] = '\0';
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
