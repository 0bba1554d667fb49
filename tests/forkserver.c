/*
 * forkserver — for LD_PRELOAD: the program, loaded and linked once, is forked for
 * each run that is asked for.
 *
 * To start the program takes 2 of the 5 ms of a run on a small file: loading and relocations.
 * tests/harness.py asks for thousands of such runs, each of which begins at main() in a
 * process of its own, as always.
 *
 * It listens on the socket whose number FORKSERVER_SOCKET holds. A request is a message of the
 * words' number as 32 bits and of texts that end with 0: the folder to run in, the words of the
 * command line, the variables of the environment; with it come the three descriptors that are
 * stdin, stdout and stderr of the run. The answer is two numbers of 32 bits: the process, and when
 * it has ended its status as waitpid has it. The end of the socket ends the server.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define REQUEST_MAX ((size_t)256 << 10)
#define WORDS_MAX   4096

typedef int (*main_function)(int, char **, char **);
typedef int (*start_function)(main_function, int, char **, void (*)(void), void (*)(void),
                              void (*)(void), void *);

__attribute__((visibility("default"))) int __libc_start_main(main_function, int, char **,
                                                             void (*)(void), void (*)(void),
                                                             void (*)(void), void *);

extern char **environ;
static main_function program;
static char request[REQUEST_MAX + 1];

static void must(int good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "forkserver: %s: %s\n", what, strerror(errno));
    _exit(125);
}

/* The length of the next request and its three descriptors; 0 when there are no more. */
static size_t receive(int link, int files[3])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec text = {request, REQUEST_MAX};
    struct msghdr message = {.msg_iov = &text,
                             .msg_iovlen = 1,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    ssize_t got = recvmsg(link, &message, 0);
    if (got <= 0)
        return 0;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    must(header && header->cmsg_len == CMSG_LEN(3 * sizeof(int)), "no descriptors");
    must(!(message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)), "a request is too long");
    memcpy(files, CMSG_DATA(header), 3 * sizeof(int));
    request[got] = '\0';
    return (size_t)got;
}

/* In the child: what the request says is where and with what main() runs. */
static int begin(size_t length, const int files[3])
{
    static char *words[WORDS_MAX];
    uint32_t count;
    memcpy(&count, request, sizeof count);
    const char *folder = request + sizeof count;
    size_t texts = 0;
    for (char *at = request + sizeof count + strlen(folder) + 1; at < request + length;
         at += strlen(at) + 1) {
        texts += texts == count; /* a NULL behind the command line */
        must(texts + 1 < WORDS_MAX, "too many words");
        words[texts++] = at;
    }
    for (int i = 0; i < 3; i++)
        must(dup2(files[i], i) == i && close(files[i]) == 0, "dup2");
    must(chdir(folder) == 0, folder);
    environ = words + count + 1;
    return program((int)count, words, environ);
}

/* As main() is called: returns in the children alone, with what the program's main() returned. */
static int serve(int argc, char **argv, char **variables)
{
    const char *number = getenv("FORKSERVER_SOCKET");
    if (!number)
        return program(argc, argv, variables);
    int link = atoi(number), files[3];
    for (size_t length; (length = receive(link, files)) > 0;) {
        pid_t child = fork();
        must(child >= 0, "fork");
        if (child == 0) {
            must(close(link) == 0, "close");
            return begin(length, files);
        }
        for (int i = 0; i < 3; i++)
            must(close(files[i]) == 0, "close");
        int32_t said = child, status;
        must(send(link, &said, sizeof said, MSG_NOSIGNAL) == sizeof said, "send");
        must(waitpid(child, &status, 0) == child, "waitpid");
        must(send(link, &status, sizeof status, MSG_NOSIGNAL) == sizeof status, "send");
    }
    _exit(0);
}

int __libc_start_main(main_function from, int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end)
{
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    start_function start;
    memcpy(&start, &symbol, sizeof start); /* ISO C has no cast between them */
    program = from;
    return start(serve, argc, argv, init, fini, loader_fini, stack_end);
}
