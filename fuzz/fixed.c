/*
 * Fuzzing by which a change is judged: no input is chosen by chance or time.
 *
 *     fuzz_NAME --fixed=N [--seconds=S] [--found=FOLDER] FILE|FOLDER...
 *
 * Each file is given to the target; then N inputs made of the files in turn, each by its bytes and
 * the number of the turn alone (mutate.h), so that neither code nor other files, the clock nor the
 * machine decide what is tried. After S seconds (0: never) it stops and says how far it came: the
 * same inputs, fewer of them. What ends the program lies in FOLDER.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mutate.h"

/* Another number: other inputs. It changes when somebody has time to look at what they find. */
#define FIXED_ROUND 1u

#define MAX_INPUT_BYTES 65536u
#define INPUT_SECONDS   20
#define MAX_RSS_KB      (3l << 20)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

struct input {
    uint8_t *data;
    size_t size;
};

static struct {
    struct input *items;
    size_t count, cap;
} inputs;
static uint8_t now[MAX_INPUT_BYTES];
static size_t now_size;
static const char *found = ".";

static unsigned sum_of(const uint8_t *data, size_t size)
{
    unsigned sum = 2166136261u;
    for (size_t i = 0; i < size; i++)
        sum = (sum ^ data[i]) * 16777619u;
    return sum;
}

/* What was tried last, for who has to look at it. */
static void keep(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/fixed-%08x", found, sum_of(now, now_size));
    int file = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0644);
    if (file >= 0 && write(file, now, now_size) == (ssize_t)now_size)
        fprintf(stderr, "the input is %s (%zu bytes)\n", path, now_size);
    if (file >= 0)
        close(file);
}

static void on_signal(int number)
{
    fprintf(stderr, number == SIGALRM ? "fixed: one input took %d s\n" : "fixed: aborted\n",
            INPUT_SECONDS);
    keep();
    _exit(1);
}

static void give(const uint8_t *data, size_t size)
{
    struct rusage usage;
    memmove(now, data, size);
    now_size = size;
    /* As libFuzzer does: what reads over the end is seen only where the allocation ends there. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        abort();
    memcpy(copy, now, size);
    alarm(INPUT_SECONDS);
    (void)LLVMFuzzerTestOneInput(copy, size);
    alarm(0);
    free(copy);
    getrusage(RUSAGE_SELF, &usage);
    if (usage.ru_maxrss > MAX_RSS_KB) {
        fprintf(stderr, "fixed: %ld KiB of memory\n", usage.ru_maxrss);
        abort();
    }
}

static void add_file(const char *path, size_t size)
{
    struct input input = {.data = malloc(MAX_INPUT_BYTES)};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (inputs.count == inputs.cap) {
        inputs.cap = inputs.cap * 2 + 16;
        inputs.items = realloc(inputs.items, inputs.cap * sizeof *inputs.items);
    }
    if (file < 0 || !input.data || !inputs.items)
        abort();
    size = size < MAX_INPUT_BYTES ? size : MAX_INPUT_BYTES;
    ssize_t got = read(file, input.data, size);
    close(file);
    input.size = got > 0 ? (size_t)got : 0;
    inputs.items[inputs.count++] = input;
}

static void add(const char *path)
{
    struct stat stat_of;
    struct dirent **names;
    if (stat(path, &stat_of) != 0)
        abort();
    if (S_ISREG(stat_of.st_mode))
        add_file(path, (size_t)stat_of.st_size);
    if (!S_ISDIR(stat_of.st_mode))
        return;
    int count = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char inner[4096];
        snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            add(inner);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
}

static double seconds(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* Input number `made` of those that are made. */
static void give_made(unsigned made)
{
    static uint8_t room[MAX_INPUT_BYTES];
    static const struct input nothing;
    const struct input *from = inputs.count ? &inputs.items[made % inputs.count] : &nothing;
    unsigned turn = inputs.count ? made / (unsigned)inputs.count : made;
    if (from->size)
        memcpy(room, from->data, from->size);
    unsigned seed = sum_of(from->data, from->size) ^ (turn + FIXED_ROUND * 1000003u) * 2654435761u;
    give(room, LLVMFuzzerCustomMutator(room, from->size, MAX_INPUT_BYTES, seed));
}

static void run(unsigned count, double limit)
{
    double begin = seconds();
    unsigned made = 0;
    setenv("FUZZ_EVERY", "1", 1); /* these are few and chosen (answers.h) */
    for (size_t i = 0; i < inputs.count; i++)
        give(inputs.items[i].data, inputs.items[i].size);
    unsetenv("FUZZ_EVERY");
    double replayed = seconds() - begin;
    for (; made < count && (!(limit > 0) || seconds() - begin < limit); made++)
        give_made(made);
    for (size_t i = 0; i < inputs.count; i++)
        free(inputs.items[i].data);
    free(inputs.items);
    fprintf(stderr, "fixed: %zu kept inputs in %.1f s, %u of %u made of them, %.1f s\n",
            inputs.count, replayed, made, count, seconds() - begin);
    fflush(NULL);
    exit(0); /* where leaks are looked for */
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    unsigned count = 0;
    double limit = 0;
    if (*argc < 2 || strncmp((*argv)[1], "--fixed=", 8) != 0)
        return 0;
    mutate_alone = true;
    count = (unsigned)strtoul((*argv)[1] + 8, NULL, 10);
    for (int i = 2; i < *argc; i++) {
        const char *word = (*argv)[i];
        if (strncmp(word, "--seconds=", 10) == 0)
            limit = strtod(word + 10, NULL);
        else if (strncmp(word, "--found=", 8) == 0)
            found = word + 8;
        else
            add(word);
    }
    signal(SIGABRT, on_signal);
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(keep);
    run(count, limit);
    return 0;
}
