/* Reads of another process's memory. */
#define _GNU_SOURCE
#include "capture/python/pymem.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "base/mem.h"

#define MAX_PIECES 256u
#define MAX_USER   ((uint64_t)1 << 56)

void pymem_init(struct pymem *mem, int64_t pid)
{
    *mem = (struct pymem){.pid = pid, .round = 1};
    mem->lines = nl_zalloc(PYMEM_LINES * sizeof *mem->lines);
}

void pymem_release(struct pymem *mem)
{
    nl_free(mem->lines);
    mem->lines = NULL;
}

/* Whole pieces from the first on; returns how many. */
static size_t read_some(struct pymem *mem, struct pymem_piece *pieces, size_t count)
{
    struct iovec here[MAX_PIECES], there[MAX_PIECES];
    size_t used = count < MAX_PIECES ? count : MAX_PIECES, done = 0;
    for (size_t i = 0; i < used; i++) {
        here[i] = (struct iovec){pieces[i].to, pieces[i].bytes};
        there[i] = (struct iovec){(void *)(uintptr_t)pieces[i].address, pieces[i].bytes};
    }
    mem->calls++;
    ssize_t got = process_vm_readv((pid_t)mem->pid, here, used, there, used, 0);
    if (got < 0)
        mem->failure = errno;
    for (size_t left = got > 0 ? (size_t)got : 0; done < used && left >= pieces[done].bytes;
         done++) {
        left -= pieces[done].bytes;
        pieces[done].done = true;
    }
    return done;
}

void pymem_read_all(struct pymem *mem, struct pymem_piece *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pieces[i].done = false;
    for (size_t at = 0; at < count;) {
        size_t done = read_some(mem, pieces + at, count - at);
        if (done < MAX_PIECES && at + done < count)
            done++; /* the one that cannot be read is left out */
        at += done;
    }
}

bool pymem_read(struct pymem *mem, uint64_t address, void *to, size_t bytes)
{
    struct pymem_piece piece = {address, to, bytes, false};
    if (!address || address > MAX_USER) {
        mem->failure = EFAULT;
        return false;
    }
    (void)read_some(mem, &piece, 1);
    return piece.done;
}

/* ---- lines ---- */

static struct pymem_line *line_slot(struct pymem *mem, uint64_t address)
{
    return &mem->lines[address / PYMEM_LINE & (PYMEM_LINES - 1)];
}

void pymem_round(struct pymem *mem)
{
    mem->round++;
}

void pymem_expect(struct pymem *mem, const uint64_t *lines, size_t count)
{
    struct pymem_piece pieces[PYMEM_LINES];
    size_t used = 0;
    for (size_t i = 0; i < count && i < PYMEM_LINES; i++) {
        struct pymem_line *line = line_slot(mem, lines[i]);
        if (line->round == mem->round)
            continue;
        line->address = lines[i];
        line->round = mem->round;
        pieces[used++] = (struct pymem_piece){lines[i], line->bytes, PYMEM_LINE, false};
    }
    pymem_read_all(mem, pieces, used);
    for (size_t i = 0; i < used; i++)
        if (!pieces[i].done)
            line_slot(mem, pieces[i].address)->round = 0;
}

static const unsigned char *line_bytes(struct pymem *mem, uint64_t address)
{
    struct pymem_line *line = line_slot(mem, address);
    uint64_t begin = address & ~(uint64_t)(PYMEM_LINE - 1);
    if (line->round == mem->round && line->address == begin)
        return line->bytes;
    line->round = 0;
    if (!pymem_read(mem, begin, line->bytes, PYMEM_LINE))
        return NULL;
    line->address = begin;
    line->round = mem->round;
    return line->bytes;
}

bool pymem_get(struct pymem *mem, uint64_t address, void *to, size_t bytes)
{
    char *out = to;
    if (address > MAX_USER) {
        mem->failure = EFAULT;
        return false;
    }
    while (bytes) {
        size_t within = address & (PYMEM_LINE - 1), room = PYMEM_LINE - within;
        size_t part = bytes < room ? bytes : room;
        const unsigned char *line = line_bytes(mem, address);
        if (!line)
            return false;
        memcpy(out, line + within, part);
        out += part;
        address += part;
        bytes -= part;
    }
    return true;
}
