/* A fixed amount of work at some depth of calls; prints what it took of its processor's time, s. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

__attribute__((noinline)) int deeper(int depth)
{
    for (int i = 0; !depth && i < 400000; i++)
        sink = sink + i * 0.5;
    return depth ? deeper(depth - 1) + (int)sink : 0;
}

int main(int count, char **words)
{
    double begin = now();
    for (int i = 0; i < atoi(count > 1 ? words[1] : "100"); i++)
        deeper(20);
    printf("%.6f\n", now() - begin);
    return 0;
}
