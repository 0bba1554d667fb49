/*
 * forever FILE: makes numbered counters until it is killed; FILE (8 bytes, mapped) always says how
 * many were made. So whoever kills it knows how many must be found.
 */
#include <neurolens.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int file = argc > 1 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0 || ftruncate(file, 8) != 0)
        return 2;
    volatile uint64_t *made = mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (made == MAP_FAILED)
        return 2;
    for (uint64_t i = 0;; i++) {
        nl_counter("number", (double)i);
        *made = i + 1;
        for (volatile int wait = 0; wait < 100; wait++)
            ;
    }
}
