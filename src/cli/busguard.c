/* Everything the handler calls is async-signal-safe: open, read, write,
 * unlink, _exit and system calls. */
#define _GNU_SOURCE
#include "cli/busguard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "base/hex.h"

#define LINE_BYTES 4400 /* of /proc/self/maps: numbers and a path */

static const char *volatile unfinished;

void nl_busguard_temporary(const char *path)
{
    unfinished = path;
}

static const char *read_hex(const char *at, uintptr_t *value)
{
    *value = 0;
    for (; nl_hex_digit(*at) >= 0; at++)
        *value = *value << 4 | (uintptr_t)nl_hex_digit(*at);
    return at;
}

/* The path of "from-to perms offset dev inode   path" when `address` is in it; NULL otherwise. */
static char *path_in(char *line, uintptr_t address)
{
    uintptr_t from, to;
    const char *at = read_hex(line, &from);
    if (*at++ != '-')
        return NULL;
    at = read_hex(at, &to);
    if (address < from || address >= to)
        return NULL;
    return strchr(at, '/');
}

/* Reads the table of mappings line by line. */
static char *find_mapping(char room[LINE_BYTES], uintptr_t address)
{
    int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t got;
    while (fd >= 0 && (got = read(fd, room + len, LINE_BYTES - 1 - len)) > 0) {
        len += (size_t)got;
        room[len] = '\0';
        char *line = room;
        for (char *end; (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            char *path = path_in(line, address);
            if (path) {
                close(fd);
                return path;
            }
        }
        len -= (size_t)(line - room);
        memmove(room, line, len);
        if (len == LINE_BYTES - 1)
            len = 0; /* no path is that long */
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

/* Whether something was removed. The names come from the kernel's own records:
 * opendir would ask for memory. */
static bool empty_folder(const char *path)
{
    _Alignas(struct dirent64) char room[2048];
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool any = false;
    long got = 0;
    while (folder >= 0 && (got = syscall(SYS_getdents64, folder, room, sizeof room)) > 0) {
        bool removed = false;
        for (long at = 0; at < got;) {
            const struct dirent64 *entry = (const void *)(room + at);
            removed = unlinkat(folder, entry->d_name, 0) == 0 || removed;
            at += entry->d_reclen;
        }
        if (removed)
            (void)lseek(folder, 0, SEEK_SET);
        any = any || removed;
    }
    if (folder >= 0)
        close(folder);
    return any;
}

/* Other threads may still make files in it: what they make between a look and rmdir is
 * removed by the next look. */
static void remove_folder(const char *path)
{
    for (int idle = 0; idle < 2;) {
        bool removed = empty_folder(path);
        if (rmdir(path) == 0 || errno != ENOTEMPTY)
            return;
        idle = removed ? 0 : idle + 1;
    }
}

void nl_busguard_remove(void)
{
    /* It stays set: of two threads that end the process, whichever is first has removed all. */
    const char *path = unfinished;
    if (path && unlink(path) != 0 && errno != ENOENT)
        remove_folder(path);
}

static void write_stderr(const char *text)
{
    size_t len = strlen(text);
    while (len) {
        ssize_t done = write(STDERR_FILENO, text, len);
        if (done <= 0 && errno != EINTR)
            return;
        text += done > 0 ? done : 0;
        len -= done > 0 ? (size_t)done : 0;
    }
}

static void on_bus(int number, siginfo_t *info, void *context)
{
    char room[LINE_BYTES];
    (void)context;
    char *path = find_mapping(room, (uintptr_t)info->si_addr);
    if (!path) {
        signal(number, SIG_DFL); /* it comes again */
        return;
    }
    nl_busguard_remove();
    for (char *c = path; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
            *c = '?';
    write_stderr("neurolens: ");
    write_stderr(path);
    write_stderr(
        ": became shorter while it was read, or its disk failed; wait until it is written, or copy "
        "it, and run the command again\n");
    _exit(nl_err_exit_status(NL_IO));
}

void nl_busguard_install(void)
{
    /* When memory is exhausted (base/mem.h). */
    (void)at_quick_exit(nl_busguard_remove);
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
