/*
 * One thread and poll: a handful of connections, each one request, one answer, closed. Browsers
 * open connections ahead of need, so a silent one must not hold up the others; those that stay
 * silent end after a while.
 */
#define _GNU_SOURCE
#include "cli/loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

#define CONNECTIONS 32
#define MAX_HEAD    8192
#define POLL_MS     100
#define SILENT_MS   15000
#define MAX_SEND    ((size_t)1 << 20)

struct connection {
    int socket; /* -1 = free */
    int64_t since;
    char request[MAX_HEAD + 1];
    size_t got;
    char head[1024]; /* of the answer */
    size_t head_len, head_sent;
    const struct nl_loopback_item *item; /* its content follows; NULL = nothing */
    uint64_t sent;
    bool answering, ends;
};

struct serving {
    const struct nl_loopback *server;
    const struct nl_loopback_item *items;
    size_t count;
    struct connection *connections;
    bool ended;
};

static int64_t now_ms(void)
{
    return nl_monotonic_ns() / 1000000;
}

bool nl_loopback_open(struct nl_loopback *server, struct nl_err *err)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    unsigned char random[16];
    *server = (struct nl_loopback){.socket = -1};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return nl_fail(err, NL_ENVIRONMENT, "no random numbers from the system");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(server->token + 2 * i, 3, "%02x", random[i]);
    server->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->socket < 0 ||
        bind(server->socket, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->socket, CONNECTIONS) != 0 ||
        getsockname(server->socket, (struct sockaddr *)&address, &size) != 0)
        return nl_fail(err, NL_ENVIRONMENT, "cannot listen on 127.0.0.1: %s", strerror(errno));
    server->port = ntohs(address.sin_port);
    snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/%s/", server->port,
             server->token);
    return true;
}

void nl_loopback_close(struct nl_loopback *server)
{
    if (server->socket >= 0)
        close(server->socket);
    server->socket = -1;
}

/* ---- answers ---- */

static void answer_request(struct connection *connection, const char *status,
                           const struct nl_loopback_item *item, bool body)
{
    int len = snprintf(connection->head, sizeof connection->head,
                       "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %llu\r\n"
                       "Content-Security-Policy: %s\r\nX-Content-Type-Options: nosniff\r\n"
                       "Referrer-Policy: no-referrer\r\nX-Frame-Options: DENY\r\n"
                       "Cross-Origin-Resource-Policy: same-origin\r\n"
                       "Cache-Control: no-store\r\nConnection: close\r\n\r\n",
                       status, item ? item->type : "text/plain",
                       item ? (unsigned long long)item->size : 0ULL,
                       item && item->policy ? item->policy : "default-src 'none'");
    connection->head_len = len > 0 ? (size_t)len : 0;
    connection->item = body ? item : NULL;
    connection->answering = true;
}

/* The value of a header, as a copy; "" when it is not there. */
static void header(const char *request, const char *name, char *value, size_t room)
{
    size_t len = strlen(name);
    value[0] = '\0';
    for (const char *line = strstr(request, "\r\n"); line; line = strstr(line + 2, "\r\n")) {
        const char *at = line + 2;
        if (strncasecmp(at, name, len) != 0 || at[len] != ':')
            continue;
        at += len + 1;
        at += strspn(at, " \t");
        snprintf(value, room, "%.*s", (int)strcspn(at, "\r\n"), at);
        return;
    }
}

/* Is it this machine that the browser meant to ask? Through a tunnel the port may be another. */
static bool right_host(const char *request)
{
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    char host[128], wanted[64];
    header(request, "Host", host, sizeof host);
    for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++) {
        size_t len = strlen(hosts[i]);
        snprintf(wanted, sizeof wanted, "%s:", hosts[i]);
        if (strcasecmp(host, hosts[i]) == 0 ||
            (strncasecmp(host, wanted, len + 1) == 0 &&
             strspn(host + len + 1, "0123456789") == strlen(host + len + 1)))
            return true;
    }
    return false;
}

static const struct nl_loopback_item *find_item(const struct serving *serving, const char *path)
{
    size_t len = strlen(serving->server->token);
    if (path[0] != '/' || strlen(path) < len + 2 || path[len + 1] != '/')
        return NULL;
    unsigned char differs = 0; /* all of it is compared, whatever the first difference */
    for (size_t i = 0; i < len; i++)
        differs |= (unsigned char)(path[1 + i] ^ serving->server->token[i]);
    for (size_t i = 0; i < serving->count && !differs; i++)
        if (strcmp(path + len + 2, serving->items[i].path) == 0)
            return &serving->items[i];
    return NULL;
}

static void understand(struct serving *serving, struct connection *connection)
{
    char method[8], path[256];
    if (sscanf(connection->request, "%7s %255s HTTP/1.", method, path) != 2) {
        answer_request(connection, "400 Bad Request", NULL, false);
        return;
    }
    const struct nl_loopback_item *item = find_item(serving, path);
    bool get = strcmp(method, "GET") == 0, post = strcmp(method, "POST") == 0;
    if (!right_host(connection->request) || !item) {
        answer_request(connection, "404 Not Found", NULL, false);
    } else if (item->ends ? !post : !get && strcmp(method, "HEAD") != 0) {
        answer_request(connection, "405 Method Not Allowed", NULL, false);
    } else {
        answer_request(connection, "200 OK", item, get);
        connection->ends = item->ends;
    }
}

/* ---- connections ---- */

static void hang_up(struct serving *serving, struct connection *connection)
{
    close(connection->socket);
    connection->socket = -1;
    serving->ended = serving->ended || connection->ends;
}

static void take_in(struct serving *serving, struct connection *connection)
{
    ssize_t got = recv(connection->socket, connection->request + connection->got,
                       MAX_HEAD - connection->got, 0);
    if (got <= 0) {
        if (got == 0 || (errno != EAGAIN && errno != EINTR))
            hang_up(serving, connection);
        return;
    }
    connection->got += (size_t)got;
    connection->request[connection->got] = '\0';
    if (strstr(connection->request, "\r\n\r\n"))
        understand(serving, connection);
    else if (connection->got == MAX_HEAD)
        answer_request(connection, "431 Request Header Fields Too Large", NULL, false);
}

/* One piece of the answer; <= 0 as send does. */
static ssize_t give_piece(struct connection *connection)
{
    const struct nl_loopback_item *item = connection->item;
    if (connection->head_sent < connection->head_len)
        return send(connection->socket, connection->head + connection->head_sent,
                    connection->head_len - connection->head_sent, MSG_NOSIGNAL);
    uint64_t left = item->size - connection->sent;
    size_t some = left < MAX_SEND ? (size_t)left : MAX_SEND;
    if (item->file < 0)
        return send(connection->socket, (const char *)item->bytes + connection->sent, some,
                    MSG_NOSIGNAL);
    off_t at = (off_t)connection->sent;
    return sendfile(connection->socket, item->file, &at, some);
}

static void give_out(struct serving *serving, struct connection *connection)
{
    ssize_t sent = give_piece(connection);
    if (sent <= 0) {
        if (sent == 0 || (errno != EAGAIN && errno != EINTR))
            hang_up(serving, connection);
        return;
    }
    connection->since = now_ms();
    if (connection->head_sent < connection->head_len)
        connection->head_sent += (size_t)sent;
    else
        connection->sent += (uint64_t)sent;
    if (connection->head_sent == connection->head_len &&
        (!connection->item || connection->sent == connection->item->size)) {
        shutdown(connection->socket, SHUT_WR);
        hang_up(serving, connection);
    }
}

static void welcome(struct serving *serving)
{
    int socket = accept4(serving->server->socket, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    for (size_t i = 0; socket >= 0 && i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->socket >= 0)
            continue;
        memset(connection, 0, sizeof *connection);
        connection->socket = socket;
        connection->since = now_ms();
        return;
    }
    if (socket >= 0)
        close(socket);
}

static void turn(struct serving *serving)
{
    struct pollfd polled[CONNECTIONS + 1] = {{serving->server->socket, POLLIN, 0}};
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        polled[i + 1] =
            (struct pollfd){connection->socket, connection->answering ? POLLOUT : POLLIN, 0};
    }
    if (poll(polled, CONNECTIONS + 1, POLL_MS) < 0)
        return;
    for (size_t i = 0; i < CONNECTIONS; i++) {
        struct connection *connection = &serving->connections[i];
        if (connection->socket < 0)
            continue;
        if (polled[i + 1].revents && connection->answering)
            give_out(serving, connection);
        else if (polled[i + 1].revents)
            take_in(serving, connection);
        else if (now_ms() - connection->since > SILENT_MS)
            hang_up(serving, connection);
    }
    if (polled[0].revents & POLLIN)
        welcome(serving);
}

bool nl_loopback_serve(struct nl_loopback *server, const struct nl_loopback_item *items,
                       size_t count, struct nl_job *job, struct nl_err *err)
{
    struct serving serving = {.server = server, .items = items, .count = count};
    serving.connections = nl_zalloc(CONNECTIONS * sizeof *serving.connections);
    for (size_t i = 0; i < CONNECTIONS; i++)
        serving.connections[i].socket = -1;
    while (!serving.ended && !nl_job_cancelled(job))
        turn(&serving);
    for (size_t i = 0; i < CONNECTIONS; i++)
        if (serving.connections[i].socket >= 0)
            close(serving.connections[i].socket);
    nl_free(serving.connections);
    return serving.ended || nl_fail(err, NL_INTERRUPTED, "stopped");
}
