/* spend N: N scopes around a little work; prints the processor time of the process in seconds. */
#include <neurolens.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static double seconds(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
}

int main(int count, char **words)
{
    long scopes = count > 1 ? atol(words[1]) : 0;
    volatile double sum = 0;
    for (long i = 0; i < scopes; i++) {
        NL_SCOPE("work");
        for (int k = 0; k < 40; k++)
            sum += k;
    }
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 1;
    printf("%.6f\n", seconds(usage.ru_utime) + seconds(usage.ru_stime));
    return 0;
}
