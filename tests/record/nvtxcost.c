/* What a range of NVTX costs as the program itself measures it: ns of processor time of a push and
 * a pop, the least of many rounds. */
#include <time.h>

#include "nvtxclient.h"

#define ROUNDS 40
#define TIMES  500

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

int main(void)
{
    int64_t least = INT64_MAX;
    if (!nvtx_initialize())
        return 3;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t before = now();
        for (int i = 0; i < TIMES; i++) {
            PUSH("a range of the program");
            POP();
        }
        int64_t took = now() - before;
        least = took < least ? took : least;
    }
    printf("%.3f\n", (double)least / TIMES);
    return 0;
}
