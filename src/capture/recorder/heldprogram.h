/*
 * heldprogram — a program that is there as a process, but has not begun: it waits in front of exec
 * until it is let go. In between events of the kernel can be opened on it.
 *
 *     struct heldprogram held;
 *     failure = heldprogram_start(&held, argv, variables);      // held.pid
 *     ... open events on held.pid ...
 *     failure = heldprogram_release(&held);                     // 0: it runs
 *
 * If whoever holds it dies, it ends without having begun.
 */
#ifndef NL_HELDPROGRAM_H
#define NL_HELDPROGRAM_H

#include <sys/types.h>

struct heldprogram {
    pid_t pid;
    int link; /* a socket to it */
};

/* 0 or errno. argv[0] is looked for along PATH; `variables` is its environment. */
int heldprogram_start(struct heldprogram *held, char *const *argv, char *const *variables);

/* 0, or the errno of the exec that failed; then the process is gone. */
int heldprogram_release(struct heldprogram *held);

#endif
