/* Writes code into memory, tells its name in /tmp/perf-PID.map as JITs do, and
 * runs it for a while. x86-64. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* push rbp; mov rbp, rsp; mov ecx, edi; loop: dec ecx; jnz loop; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x89, 0xf9,
                                     0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

int main(void)
{
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void (*run)(int);
    char path[64];
    if (memory == MAP_FAILED)
        return 1;
    memcpy(memory, code, sizeof code);
    if (mprotect(memory, 4096, PROT_READ | PROT_EXEC) != 0)
        return 2;
    memcpy(&run, &memory, sizeof run);
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file)
        return 3;
    fprintf(file, "%lx %zx made::loop(int)\n", (unsigned long)memory, sizeof code);
    fclose(file);
    for (clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;)
        run(1000000);
    printf("%s\n", path);
    return 0;
}
