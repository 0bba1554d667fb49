/* What the machine itself needs for loading a file, whatever the reader does: the
 * least time of five runs each.
 *   bench_floor FILE [MB]
 * reading FILE from the page cache in windows of 128 KiB; that, and one look at each byte of it;
 * touching MB (default 100) megabytes of fresh memory, in small pages and, where the kernel gives
 * them, in huge ones. A reader that takes FILE into a store of MB needs the first and one of the
 * last two at least; docs/speed.md compares. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/wide.h"

enum { WINDOW = 128 << 10, TIMES = 5, PAGE = 4096 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Something that depends on every byte that structures a JSON text, in a loop of whole vectors. */
NL_WIDE static size_t looked_at(const unsigned char *at, size_t size)
{
    unsigned char seen[64] = {0};
    size_t found = 0;
    for (size_t i = 0; i + sizeof seen <= size; i += sizeof seen)
        for (size_t j = 0; j < sizeof seen; j++)
            seen[j] ^= (unsigned char)((at[i + j] == '"') | (at[i + j] == '{') |
                                       (at[i + j] == '}') | (at[i + j] == '\\'));
    for (size_t j = 0; j < sizeof seen; j++)
        found += seen[j];
    return found;
}

static double reading(const char *path, int look, size_t *bytes, size_t *found)
{
    static unsigned char window[WINDOW];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        perror(path);
        exit(1);
    }
    double start = now();
    *bytes = 0;
    for (ssize_t got; (got = read(file, window, WINDOW)) > 0; *bytes += (size_t)got)
        *found += look ? looked_at(window, (size_t)got) : window[0];
    close(file);
    return now() - start;
}

static double touching(size_t size, int advice)
{
    double start = now();
    unsigned char *at =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return 0;
    madvise(at, size, advice);
    for (size_t i = 0; i < size; i += PAGE)
        ((volatile unsigned char *)at)[i] = 1;
    double took = now() - start;
    munmap(at, size);
    return took;
}

static void least(double *best, double took)
{
    if (*best == 0 || took < *best)
        *best = took;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: bench_floor FILE [MB]\n");
        return 2;
    }
    size_t bytes = 0, found = 0, fresh = (argc > 2 ? strtoul(argv[2], NULL, 10) : 100) * 1000000;
    double read_it = 0, seen = 0, small = 0, huge = 0;
    for (int i = 0; i < TIMES; i++) {
        least(&read_it, reading(argv[1], 0, &bytes, &found));
        least(&seen, reading(argv[1], 1, &bytes, &found));
        least(&small, touching(fresh, MADV_NOHUGEPAGE));
        least(&huge, touching(fresh, MADV_HUGEPAGE));
    }
    printf("read                  %7.1f ms  %5.2f GB/s\n", read_it * 1e3,
           (double)bytes / read_it / 1e9);
    printf("read and looked at    %7.1f ms  %5.2f GB/s   %zu\n", seen * 1e3,
           (double)bytes / seen / 1e9, found & 1);
    printf("touched, small pages  %7.1f ms  %5.2f GB/s\n", small * 1e3,
           (double)fresh / small / 1e9);
    printf("touched, huge pages   %7.1f ms  %5.2f GB/s\n", huge * 1e3, (double)fresh / huge / 1e9);
    printf("%.1f MB cannot be loaded in less than %.1f ms: %.2f GB/s\n", (double)bytes / 1e6,
           (seen + huge) * 1e3, (double)bytes / (seen + huge) / 1e9);
}
