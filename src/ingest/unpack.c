/* The child sends the items of the list that it made, in their order; the parent
 * makes the same list of them. */
#define _GNU_SOURCE
#include "ingest/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ingest/sandbox.h"

#define MAX_NAME 65535u

/* ---- in the child ---- */

static bool cannot_send(struct nl_err *err)
{
    return nl_fail(err, NL_ENVIRONMENT, "cannot hand over what was unpacked: %s", strerror(errno));
}

/* The archive whose place the item's begins with; by_path has plain items under their own. */
static size_t item_of(const struct nl_inputs *inputs, const struct nl_path *item, size_t from)
{
    for (size_t k = 0; k < inputs->count; k++) {
        size_t i = (from + k) % inputs->count, len = strlen(inputs->items[i].path);
        if (strcmp(inputs->items[i].where, item->where) == 0 ||
            (strncmp(inputs->items[i].path, item->where, len) == 0 && item->where[len] == '/'))
            return i;
    }
    return 0;
}

/* The descriptor of a member, -1 of a file that was there before. */
static int spool_of(const struct nl_inputs *unpacked, const struct nl_path *item)
{
    int fd = -1;
    if (sscanf(item->path, "/proc/self/fd/%d", &fd) != 1)
        return -1;
    for (size_t i = 0; i < unpacked->spool_count; i++)
        if (unpacked->spools[i] == fd)
            return fd;
    return -1;
}

static bool send_item(int to, char *bytes, const struct nl_path *item, const struct nl_path *from,
                      size_t index, int fd)
{
    struct unpack_message head = {fd >= 0 ? UNPACK_MEMBER : UNPACK_PLAIN, (uint32_t)index};
    size_t len = 0;
    if (fd >= 0) {
        const char *name = item->where + strlen(from->path) + 1;
        len = strlen(name) < MAX_NAME ? strlen(name) : MAX_NAME;
        memcpy(bytes + sizeof head, name, len);
    }
    memcpy(bytes, &head, sizeof head);
    return sandbox_send(to, bytes, sizeof head + len, fd);
}

static bool send_told(int to, char *bytes, const struct nl_archive_told *told)
{
    const struct unpack_message head = {UNPACK_TOLD, 0};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, told, sizeof *told);
    return sandbox_send(to, bytes, sizeof head + sizeof *told, -1);
}

static bool work(void *context, int to, const char *folder, struct nl_job *job, struct nl_err *err)
{
    const struct unpack_taking *taking = context;
    const struct nl_inputs *inputs = taking->inputs;
    struct nl_inputs unpacked;
    if (!nl_inputs_unpack(&unpacked, inputs, folder, job, err))
        return false;
    char *bytes = nl_alloc(APART_MESSAGE);
    size_t from = 0;
    bool sent = true;
    for (size_t i = 0; i < unpacked.count && sent; i++) {
        const struct nl_path *item = &unpacked.items[i];
        from = item_of(inputs, item, from);
        sent = send_item(to, bytes, item, &inputs->items[from], from, spool_of(&unpacked, item));
    }
    sent = sent && send_told(to, bytes, &unpacked.told);
    return sent || cannot_send(err); /* the process ends: nothing is freed */
}

/* ---- in the parent ---- */

static bool refuse_answer(int fd, struct nl_err *err)
{
    if (fd >= 0)
        (void)close(fd);
    return nl_fail(err, NL_INTERNAL,
                   "what unpacked the archive sent nonsense; the archive may be "
                   "an attack: report it as SECURITY.md says");
}

static bool take_told(struct unpack_taking *taking, struct nl_str rest)
{
    struct nl_archive_told *told = &taking->to->told;
    if (rest.len != sizeof *told)
        return false;
    memcpy(told, rest.ptr, sizeof *told);
    taking->told = true;
    return told->others >= 0 && told->locked >= 0 && told->unpacked >= 0 && told->damaged >= 0 &&
           told->cut >= 0 && told->deep >= 0;
}

/* A plain file, and a name without an end within it. */
static bool is_member(const struct unpack_taking *taking, struct nl_str name, int fd)
{
    struct stat info;
    return fd >= 0 && name.len && name.len <= MAX_NAME && !memchr(name.ptr, 0, name.len) &&
           fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && taking->members < NL_ARCHIVE_MEMBERS;
}

bool nl_unpack_take(void *context, const void *bytes, size_t len, int fd, struct nl_err *err)
{
    struct unpack_taking *taking = context;
    const struct nl_inputs *inputs = taking->inputs;
    struct unpack_message head;
    if (len < sizeof head || taking->told)
        return refuse_answer(fd, err);
    memcpy(&head, bytes, sizeof head);
    struct nl_str rest = {(const char *)bytes + sizeof head, len - sizeof head};
    if (head.kind == UNPACK_TOLD)
        return (fd < 0 && take_told(taking, rest)) || refuse_answer(fd, err);
    if (head.item >= inputs->count)
        return refuse_answer(fd, err);
    const struct nl_path *item = &inputs->items[head.item];
    if (head.kind == UNPACK_PLAIN && fd < 0 && rest.len == 0 && !item->member) {
        nl_inputs_add_plain(taking->to, item);
        return true;
    }
    if (head.kind != UNPACK_MEMBER || !is_member(taking, rest, fd))
        return refuse_answer(fd, err);
    taking->members++;
    nl_inputs_add_member(taking->to, item, rest, fd);
    return true;
}

static bool unpack_apart(struct nl_inputs *unpacked, const struct nl_inputs *inputs, bool *ran,
                         struct nl_job *job, struct nl_err *err)
{
    struct unpack_taking taking = {.to = unpacked, .inputs = inputs};
    const struct sandbox sandbox = {
        .work = work, .take = nl_unpack_take, .context = &taking, .inputs = inputs};
    *unpacked = (struct nl_inputs){0};
    nl_arena_init(&unpacked->arena);
    nl_archive_allow_files();
    bool done =
        sandbox_exchange(&sandbox, ran, job, err) && (taking.told || refuse_answer(-1, err));
    if (!done)
        nl_inputs_free(unpacked);
    return done;
}

bool nl_unpack(struct nl_inputs *unpacked, const struct nl_inputs *inputs, struct nl_job *job,
               struct nl_err *err)
{
    bool ran = false;
    if (job && job->sandbox != NL_SANDBOX_NEVER && nl_inputs_packed(inputs) && sandbox_possible()) {
        bool done = unpack_apart(unpacked, inputs, &ran, job, err);
        if (ran)
            return done;
    }
    return nl_inputs_unpack(unpacked, inputs, NULL, job, err);
}
