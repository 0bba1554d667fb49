/*
 * loopback — a web server for one user on this machine: a few paths below a random token, on a
 * random port of 127.0.0.1, until the job is cancelled or a path was asked for that ends it.
 *
 * Requests must name this server as their host, so that no page of the web can reach it by a name
 * that resolves to 127.0.0.1 (DNS rebinding), and must know the token. Answers are never cached,
 * never framed, and send no referrer to other sites.
 *
 *     struct nl_loopback_item items[] = {{"", "text/html; charset=utf-8", page, page_size, -1}, ...};
 *     if (nl_loopback_open(&server, err))
 *         ... server.url, "http://127.0.0.1:41207/8c1f…/" ...
 *         done = nl_loopback_serve(&server, items, 3, job, err);
 *     nl_loopback_close(&server);
 */
#ifndef NL_LOOPBACK_H
#define NL_LOOPBACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/job.h"

struct nl_loopback_item {
    const char *path;   /* below the token: "", "trace" */
    const char *type;   /* of the content */
    const char *policy; /* Content-Security-Policy, or NULL = nothing is allowed */
    const void *bytes;  /* or a file: */
    uint64_t size;
    int file;  /* descriptor, read from its start; -1 = `bytes` */
    bool ends; /* a POST to it ends the serving (once the answers are out) */
};

struct nl_loopback {
    int socket;
    int port;
    char token[33];
    char url[96];
};

/* NL_ENVIRONMENT when no port can be had. */
NL_MUST_CHECK bool nl_loopback_open(struct nl_loopback *server, struct nl_err *err);
/* Returns true when an item ended it; NL_INTERRUPTED when the job was cancelled. */
NL_MUST_CHECK bool nl_loopback_serve(struct nl_loopback *server,
                                     const struct nl_loopback_item *items, size_t count,
                                     struct nl_job *job, struct nl_err *err);
void nl_loopback_close(struct nl_loopback *server);

#endif
