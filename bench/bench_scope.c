/*
 * What a scope costs, recording and not, beside clock_gettime as the yardstick:
 *
 *     build/bench/bench_scope                        not recording
 *     build/neurolens run -o /tmp/x.nlt -- build/bench/bench_scope
 *
 * Each figure is the fastest of many short rounds, so that other work on
 * the machine does not count.
 */
#include <neurolens.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 4000
#define PAIRS  500

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void literal(void)
{
    NL_SCOPE("scope");
}

static void text(void)
{
    NL_SCOPE_TEXT("scope of a text");
}

static void counter(void)
{
    nl_counter("counter", 1.0);
}

static void clock_pair(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    clock_gettime(CLOCK_MONOTONIC, &time);
}

static double fastest(void (*work)(void))
{
    double least = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        double before = now_ns();
        for (int k = 0; k < PAIRS; k++) {
            work();
            __asm__ volatile("" ::: "memory");
        }
        double ns = (now_ns() - before) / PAIRS;
        least = ns < least ? ns : least;
    }
    return least;
}

int main(void)
{
    static const struct {
        const char *what;
        void (*work)(void);
    } cases[] = {{"scope, literal name", literal},
                 {"scope, text looked up", text},
                 {"counter, text looked up", counter}};
    double yardstick = fastest(clock_pair);
    printf("two calls of clock_gettime  %7.2f ns\n", yardstick);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double ns = fastest(cases[i].work);
        printf("%-26s  %7.2f ns, %.2f of it\n", cases[i].what, ns, ns / yardstick);
    }
    return 0;
}
