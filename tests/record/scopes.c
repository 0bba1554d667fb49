/*
 * scopes THREADS ROUNDS: each thread runs ROUNDS rounds of a layer with a leaf inside; prints the
 * times of a scope around all of it as the program's own clock has them.
 */
#include <neurolens.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rounds;

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static void leaf(int i)
{
    NL_FUNCTION();
    nl_counter("round", i);
}

static void *work(void *context)
{
    nl_thread_name("worker");
    for (int i = 0; i < rounds; i++) {
        NL_LAYER("layer");
        leaf(i);
    }
    return context;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[1]) : 1;
    rounds = argc > 2 ? atoi(argv[2]) : 1;
    pthread_t *threads = calloc((size_t)count, sizeof *threads);
    {
        NL_SCOPE("warm");
    }
    int64_t before = now();
    uint64_t scope = nl_scope_begin("all");
    int64_t after = now();
    uint64_t range = nl_range_start("range", "lane");
    for (int i = 0; i < count; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) {
        NL_STEP(i);
        nl_mark_event("mark", "kind");
        nl_flow_out((uint64_t)i, "arrow");
        NL_SCOPE_CATEGORY("target", "kind");
        nl_flow_in((uint64_t)i, "arrow");
    }
    nl_range_end(range);
    int64_t end_before = now();
    nl_scope_end(scope);
    int64_t end_after = now();
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", before, after, end_before,
           end_after);
    return 0;
}
