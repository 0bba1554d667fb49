/* One mark, then it stays for as many milliseconds as it is told; with a second word it takes as
 * many MiB of memory after a fifth of that. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "neurolens.h"

int main(int count, char **word)
{
    useconds_t all = count > 1 ? (useconds_t)atoi(word[1]) * 1000 : 1000;
    size_t bytes = count > 2 ? (size_t)atoi(word[2]) << 20 : 0;
    nl_mark("mark");
    usleep(all / 5);
    char *memory = bytes ? malloc(bytes) : NULL;
    if (memory)
        memset(memory, 1, bytes);
    usleep(all - all / 5);
    return memory && memory[bytes - 1] != 1;
}
