/* A library that is loaded, works and goes. */
#include <time.h>

void plugin_work(double seconds);

static volatile double sink;

void plugin_work(double seconds)
{
    struct timespec time;
    double begin = 0, at;
    do {
        for (int i = 0; i < 10000; i++)
            sink = sink + i * 0.5;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        at = (double)time.tv_sec + (double)time.tv_nsec / 1e9;
        begin = begin > 0 ? begin : at;
    } while (at - begin < seconds);
}
