/* Does what its words say: "threads" N threads that work for the same time each; "sleep" works,
 * then sleeps for MS; "fork", a child works; "exec" becomes another program; "plugin" loads PATH
 * and lets it work; "short" N threads of some 100 µs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile double sink;

static long long now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

__attribute__((noinline, noclone)) void work(double seconds)
{
    for (long long end = now(CLOCK_THREAD_CPUTIME_ID) + (long long)(seconds * 1e9);
         now(CLOCK_THREAD_CPUTIME_ID) < end;)
        for (int i = 0; i < 10000; i++)
            sink = sink + i * 0.5;
}

__attribute__((noinline, noclone)) void work_in_child(double seconds)
{
    work(seconds);
    sink = sink + 1;
}

static void *thread_main(void *context)
{
    work(*(double *)context);
    return NULL;
}

static void threads(int count, double seconds)
{
    pthread_t *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++)
        pthread_create(&all[i], NULL, thread_main, &seconds);
    for (int i = 0; i < count; i++)
        pthread_join(all[i], NULL);
    free(all);
}

static void in_turn(int count, double seconds)
{
    for (int i = 0; i < count; i++) {
        pthread_t one;
        pthread_create(&one, NULL, thread_main, &seconds);
        pthread_join(one, NULL);
    }
}

static void plugin(const char *path, double seconds)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*run)(double) = NULL;
    void *found = library ? dlsym(library, "plugin_work") : NULL;
    memcpy(&run, &found, sizeof run);
    if (!run)
        exit(9);
    run(seconds);
    dlclose(library);
}

/* Prints the thread, and CLOCK_MONOTONIC around the sleep. */
static void sleeping(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    long long before = now(CLOCK_MONOTONIC);
    nanosleep(&time, NULL);
    printf("%ld %lld %lld\n", (long)syscall(SYS_gettid), before, now(CLOCK_MONOTONIC));
    fflush(stdout);
}

int main(int count, char **words)
{
    for (int i = 1; i + 1 < count; i += 2) {
        const char *word = words[i], *value = words[i + 1];
        if (strcmp(word, "threads") == 0)
            threads(atoi(value), 0.3);
        else if (strcmp(word, "short") == 0)
            in_turn(atoi(value), 0.0001);
        else if (strcmp(word, "work") == 0)
            work(atof(value));
        else if (strcmp(word, "sleep") == 0)
            sleeping(atof(value));
        else if (strcmp(word, "plugin") == 0)
            plugin(value, 0.3);
        else if (strcmp(word, "fork") == 0 && fork() == 0) {
            work_in_child(atof(value));
            _exit(0);
        } else if (strcmp(word, "exec") == 0)
            execl(words[0], words[0], "work", value, (char *)NULL);
    }
    while (wait(NULL) > 0)
        ;
    return 0;
}
