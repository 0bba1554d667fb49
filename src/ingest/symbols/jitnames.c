/* The file is read whole: it has some 60 bytes per function. */
#define _GNU_SOURCE
#include "ingest/symbols/jitnames.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hex.h"
#include "base/mem.h"
#include "base/search.h"
#include "base/units.h"

#define MAX_BYTES ((size_t)256 << 20)

struct function {
    uint64_t begin, bytes;
    struct nl_str name;
    size_t order;
};

struct jitnames {
    char *text;
    struct function *rows;
    size_t count, cap;
};

static char *read_file(const char *path, int64_t begin, int64_t end, size_t *len)
{
    struct stat info;
    char *text = NULL;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (file < 0)
        return NULL;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && (size_t)info.st_size <= MAX_BYTES) {
        int64_t written = (int64_t)info.st_mtim.tv_sec * NL_SECOND_NS + info.st_mtim.tv_nsec;
        if (written >= begin - NL_SECOND_NS && written <= end + NL_SECOND_NS) {
            text = nl_alloc((size_t)info.st_size + 1);
            ssize_t got = pread(file, text, (size_t)info.st_size, 0);
            *len = got > 0 ? (size_t)got : 0;
        }
    }
    close(file);
    return text;
}

/* A number and the space after it. */
static bool take_hex(const char **at, const char *end, uint64_t *value)
{
    const char *from = *at;
    if (end - from > 2 && from[0] == '0' && from[1] == 'x')
        from += 2;
    const char *first = from;
    while (from < end && from - first < 16 && nl_hex_digit(*from) >= 0)
        from++;
    bool good = nl_hex_u64((struct nl_str){first, (size_t)(from - first)}, value) && from < end &&
                *from == ' ';
    *at = good ? from + 1 : from;
    return good;
}

static void take_line(struct jitnames *names, const char *at, const char *end)
{
    struct function row = {.order = names->count};
    if (!take_hex(&at, end, &row.begin) || !take_hex(&at, end, &row.bytes) || at == end)
        return;
    row.name = (struct nl_str){at, (size_t)(end - at)};
    nl_grow(&names->rows, &names->cap, names->count + 1);
    names->rows[names->count++] = row;
}

static int by_begin(const void *x, const void *y)
{
    const struct function *a = x, *b = y;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

struct jitnames *jitnames_open(int64_t pid, int64_t begin, int64_t end)
{
    char path[64];
    size_t len = 0;
    (void)snprintf(path, sizeof path, "/tmp/perf-%lld.map", (long long)pid);
    char *text = read_file(path, begin, end, &len);
    if (!text)
        return NULL;
    struct jitnames *names = nl_zalloc(sizeof *names);
    names->text = text;
    for (const char *at = text, *last = text + len; at < last;) {
        const char *stop = memchr(at, '\n', (size_t)(last - at));
        stop = stop ? stop : last;
        take_line(names, at, stop);
        at = stop + 1;
    }
    if (names->count)
        qsort(names->rows, names->count, sizeof *names->rows, by_begin);
    return names;
}

void jitnames_close(struct jitnames *names)
{
    if (!names)
        return;
    nl_free(names->text);
    nl_free(names->rows);
    nl_free(names);
}

struct nl_str jitnames_find(const struct jitnames *names, uint64_t address)
{
    size_t low = NL_FIRST(i, 0, names->count, names->rows[i].begin > address);
    const struct function *row = low ? &names->rows[low - 1] : NULL;
    bool inside = row && address - row->begin < row->bytes;
    return inside ? row->name : (struct nl_str){"", 0};
}
