/* Recursion of a known depth with frames of a known size, busy at the bottom for so many
 * seconds of processor time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

__attribute__((noinline)) static unsigned bottom(double until)
{
    unsigned sum = 0;
    while (now() < until)
        for (unsigned i = 0; i < 20000; i++)
            sum = sum * 31 + i;
    return sum;
}

__attribute__((noinline)) static unsigned rec(int depth, double until)
{
    volatile char room[80];
    room[0] = (char)depth;
    unsigned sum = depth ? rec(depth - 1, until) : bottom(until);
    return sum + (unsigned)room[0];
}

int main(int count, char **words)
{
    int depth = count > 1 ? atoi(words[1]) : 300;
    double seconds = count > 2 ? atof(words[2]) : 1;
    printf("%u\n", rec(depth, now() + seconds));
    return 0;
}
