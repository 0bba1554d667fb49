/* Three functions whose processor times are about 1 : 2 : 5, below different callers; at random
 * around that, since samples come in even steps. Prints what each took (ns of the thread's clock).
 * Argument: seconds in all. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static volatile double sink;

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void spin(long rounds)
{
    for (long i = 0; i < rounds; i++)
        sink = sink + (double)i * 0.5;
}

#define WORK(name, rounds)                                                                         \
    __attribute__((noinline, noclone)) long name(void)                                             \
    {                                                                                              \
        spin(rounds *(50 + rand() % 100) / 100);                                                   \
        return (long)sink;                                                                         \
    }
WORK(one, 20000)
WORK(two, 40000)
WORK(five, 100000)

__attribute__((noinline, noclone)) long inner(int which)
{
    return (which ? two() : one()) + 1;
}

__attribute__((noinline, noclone)) long outer(int which)
{
    return inner(which) + 1;
}

int main(int count, char **words)
{
    long long took[3] = {0}, end = now() + (long long)(atof(count > 1 ? words[1] : "1") * 1e9);
    long sum = 0;
    while (now() < end) {
        long long a = now();
        sum += outer(0);
        long long b = now();
        sum += outer(1);
        long long c = now();
        sum += five();
        took[0] += b - a;
        took[1] += c - b;
        took[2] += now() - c;
    }
    printf("%lld %lld %lld\n", took[0], took[1], took[2]);
    return sum == 42;
}
