/*
 * marks COUNT [WORD...]: COUNT marks, then what the words say, in order:
 *   exit=N      ends with that status             kill=N     ends by that signal
 *   threads=N   N threads, 50 at a time, one mark each
 *   forks=N     N children, one mark each (and every tenth has a child of its own with one)
 *   exec=N      becomes itself N times over, one mark each
 *   steps=N     N steps
 *   term        waits for SIGTERM, then ends with 5
 *   handler     a timer's signal handler makes marks while the program does; prints how many
 *   alarms=N    prints "ready", then makes marks for N ms
 */
#include <neurolens.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t terminated;
static volatile long handled;

static void on_term(int number)
{
    terminated = number;
}

static void on_alarm(int number)
{
    (void)number;
    handled++;
    nl_mark("handled");
}

static void *one_mark(void *context)
{
    nl_mark("thread");
    return context;
}

static void make_threads(int count)
{
    pthread_t threads[50];
    for (int i = 0; i < count; i += 50) {
        for (int k = 0; k < 50; k++)
            pthread_create(&threads[k], NULL, one_mark, NULL);
        for (int k = 0; k < 50; k++)
            pthread_join(threads[k], NULL);
    }
}

static void make_forks(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            nl_mark("child");
            if (i % 10 == 0 && fork() == 0) {
                nl_mark("grandchild");
                _exit(0);
            }
            while (wait(NULL) > 0)
                ;
            _exit(0);
        }
        if (i % 20 == 19)
            while (wait(NULL) > 0)
                ;
    }
    while (wait(NULL) > 0)
        ;
}

static void become(char **argv, int count)
{
    char word[32];
    nl_mark("exec");
    if (count <= 1)
        return;
    snprintf(word, sizeof word, "exec=%d", count - 1);
    execl("/proc/self/exe", argv[0], "0", word, (char *)NULL);
    _exit(99);
}

static void handle(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < 2000000; i++)
        nl_mark("main");
    setitimer(ITIMER_REAL, &never, NULL);
    printf("%ld\n", handled);
}

static void wait_for_term(void)
{
    sigset_t mask, none;
    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, &none);
    struct sigaction action = {.sa_handler = on_term};
    sigaction(SIGTERM, &action, NULL);
    printf("ready\n");
    fflush(stdout);
    while (!terminated)
        sigsuspend(&none);
    exit(5);
}

static void for_ms(long ms)
{
    struct timespec tick = {0, 1000000};
    printf("ready\n");
    fflush(stdout);
    for (long i = 0; i < ms; i++) {
        nl_mark("tick");
        nanosleep(&tick, NULL);
    }
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < count; i++)
        nl_mark("mark");
    for (int i = 2; i < argc; i++) {
        const char *equals = strchr(argv[i], '=');
        int value = equals ? atoi(equals + 1) : 0;
        switch (argv[i][0] == 'e' ? argv[i][2] : argv[i][0]) {
        case 'i': exit(value);
        case 'e': become(argv, value); break;
        case 'k': raise(value); break;
        case 'f': make_forks(value); break;
        case 'h': handle(); break;
        case 'a': for_ms(value); break;
        case 's':
            for (int k = 0; k < value; k++) {
                NL_STEP(k);
                nl_mark("in step");
            }
            break;
        default:
            if (equals)
                make_threads(value);
            else
                wait_for_term();
        }
    }
    return 0;
}
