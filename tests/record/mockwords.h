/* What mock_app.c and mock_rocm_app.c share: the words of their command line, and the file
 * that tells what they did. */
#ifndef MOCKWORDS_H
#define MOCKWORDS_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *truth;
static pthread_mutex_t truth_lock = PTHREAD_MUTEX_INITIALIZER;
static int words;
static char **word;

/* The number behind NAME=, 1 for NAME alone. */
static long option(const char *name, long otherwise)
{
    size_t len = strlen(name);
    for (int i = 0; i < words; i++)
        if (strncmp(word[i], name, len) == 0 && (!word[i][len] || word[i][len] == '='))
            return word[i][len] ? atol(word[i] + len + 1) : 1;
    return otherwise;
}

static void open_truth(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, (int)getpid());
    truth = fopen(name, "w");
    if (!truth)
        _exit(98);
}

#define TELL(...)                                                                                  \
    do {                                                                                           \
        pthread_mutex_lock(&truth_lock);                                                           \
        fprintf(truth, __VA_ARGS__);                                                               \
        pthread_mutex_unlock(&truth_lock);                                                         \
    } while (0)
#define LONG(x) ((unsigned long)(x))

#endif
