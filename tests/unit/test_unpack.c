/*
 * Archives opened in a process of their own: the same list of files as here, whose files are plain
 * and unnamed; and whatever a child sends that is not that, is refused and leaves nothing open.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/mem.h"
#include "ingest/sandbox.h"
#include "ingest/unpack.h"
#include "check.h"

#define PLAIN CHECK_FOLDER "/corpus/chrome/kineto.json"
#define BLOCK 512
#define MANY  300

static char place[] = "/tmp/neurolens-unpack-XXXXXX";
static char archive[sizeof place + 16];

static struct nl_job job_of(enum nl_job_sandbox sandbox)
{
    return (struct nl_job){.threads = 1, .memory_bytes = (uint64_t)1 << 30, .sandbox = sandbox};
}

/* A tar of MANY small files, in an order that is none. */
static bool make_archive(void)
{
    if (!mkdtemp(place))
        return false;
    snprintf(archive, sizeof archive, "%s/files.tar", place);
    FILE *out = fopen(archive, "we");
    for (int i = 0; out && i < MANY; i++) {
        char block[2 * BLOCK] = {0}, *head = block;
        unsigned sum = 0;
        snprintf(head, 100, "ranks/rank%d.txt", (i * 7) % MANY);
        snprintf(head + 100, 8, "0000600");
        snprintf(head + 124, 12, "%011o", 10);
        head[156] = '0';
        memcpy(head + 257,
               "ustar\0"
               "00",
               8);
        memset(head + 148, ' ', 8);
        for (int k = 0; k < BLOCK; k++)
            sum += (unsigned char)head[k];
        snprintf(head + 148, 8, "%06o", sum);
        snprintf(block + BLOCK, 11, "content%03d", (i * 7) % MANY);
        fwrite(block, 1, sizeof block, out);
    }
    char end[2 * BLOCK] = {0};
    if (out)
        fwrite(end, 1, sizeof end, out);
    return out && fclose(out) == 0;
}

static size_t open_files(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    while (dir && readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static bool expand(struct nl_inputs *inputs, const char *second)
{
    const char *const names[] = {archive, second};
    struct nl_err err;
    nl_err_clear(&err);
    return nl_inputs_expand(inputs, names, second ? 2 : 1, &err);
}

/* Do two lists hold the same? Places of `there` are two folders deep: made by a
 * child in a folder of its own. */
static void compare(const struct nl_inputs *here, const struct nl_inputs *there)
{
    CHECK_INT(there->count, here->count);
    CHECK_INT(there->spool_count, MANY);
    for (size_t i = 0; i < here->count && i < there->count; i++) {
        char first[32] = "", second[32] = "", made[200] = "";
        CHECK_TEXT(there->items[i].where, here->items[i].where);
        CHECK_TEXT(there->items[i].name, here->items[i].name);
        CHECK_INT(there->items[i].from_folder, here->items[i].from_folder);
        size_t got = nl_file_start(there->items[i].path, first, sizeof first);
        CHECK_INT(got, nl_file_start(here->items[i].path, second, sizeof second));
        CHECK(memcmp(first, second, sizeof first) == 0);
        if (strncmp(there->items[i].path, "/proc/", 6) != 0)
            continue;
        CHECK(readlink(there->items[i].path, made, sizeof made - 1) > 0);
        const char *once = strstr(made, "/neurolens-");
        CHECK(once && strstr(once + 1, "/neurolens-") != NULL);
        CHECK(strstr(made, "(deleted)") != NULL);
    }
}

static void gives_the_same_files(void)
{
    struct nl_inputs inputs, here, there;
    struct nl_err err;
    struct nl_job never = job_of(NL_SANDBOX_NEVER), job = job_of(NL_SANDBOX_RISKY);
    nl_err_clear(&err);
    REQUIRE(expand(&inputs, PLAIN));
    size_t before = open_files();
    REQUIRE(nl_unpack(&here, &inputs, &never, &err));
    REQUIRE(nl_unpack(&there, &inputs, &job, &err));
    CHECK_INT(here.count, MANY + 1);
    compare(&here, &there);
    nl_inputs_free(&here);
    nl_inputs_free(&there);
    CHECK_INT(open_files(), before);
    nl_inputs_free(&inputs);
}

/* ---- children that are under attack ---- */

static bool sends(int to, uint32_t kind, uint32_t item, const void *rest, size_t len, int fd)
{
    char bytes[APART_MESSAGE];
    struct unpack_message head = {kind, item};
    memcpy(bytes, &head, sizeof head);
    memcpy(bytes + sizeof head, rest, len);
    return sandbox_send(to, bytes, sizeof head + len, fd);
}

static int a_file(const char *folder)
{
    return nl_archive_spool(folder);
}

enum lie {
    NONE,
    NO_KIND,
    NO_ITEM,
    SHORT,
    A_FOLDER,
    A_DEVICE,
    NO_FILE,
    NO_NAME,
    A_ZERO,
    TOO_LONG,
    PLAIN_WITH_FILE,
    TOLD_TWICE,
    TOLD_SHORT,
    TOLD_LIES,
    NOT_TOLD,
    TOO_MANY,
    LIES
};

static bool send_lie(enum lie lie, int to, const char *folder)
{
    static char long_name[APART_MESSAGE - sizeof(struct unpack_message)];
    const struct nl_archive_told none = {0}, negative = {.cut = -1};
    int fd = a_file(folder);
    memset(long_name, 'x', sizeof long_name);
    switch (lie) {
    case NO_KIND: return sends(to, 77, 0, "name", 4, fd);
    case NO_ITEM: return sends(to, UNPACK_MEMBER, 5, "name", 4, fd);
    case SHORT: return sandbox_send(to, "abc", 3, fd);
    case A_FOLDER: return sends(to, UNPACK_MEMBER, 0, "name", 4, open(folder, O_RDONLY));
    case A_DEVICE: return sends(to, UNPACK_MEMBER, 0, "name", 4, open("/dev/urandom", O_RDONLY));
    case NO_FILE: return sends(to, UNPACK_MEMBER, 0, "name", 4, -1);
    case NO_NAME: return sends(to, UNPACK_MEMBER, 0, "", 0, fd);
    case A_ZERO: return sends(to, UNPACK_MEMBER, 0, "a\0b", 3, fd);
    case TOO_LONG: return sends(to, UNPACK_MEMBER, 0, long_name, sizeof long_name, fd);
    case PLAIN_WITH_FILE: return sends(to, UNPACK_PLAIN, 0, "", 0, fd);
    case TOLD_TWICE:
        return sends(to, UNPACK_TOLD, 0, &none, sizeof none, -1) &&
               sends(to, UNPACK_TOLD, 0, &none, sizeof none, -1);
    case TOLD_SHORT: return sends(to, UNPACK_TOLD, 0, &none, 8, -1);
    case TOLD_LIES: return sends(to, UNPACK_TOLD, 0, &negative, sizeof negative, -1);
    case TOO_MANY:
        for (size_t i = 0; i <= NL_ARCHIVE_MEMBERS; i++)
            if (!sends(to, UNPACK_MEMBER, 0, "name", 4, fd))
                return false;
        return true;
    default: return true;
    }
}

static bool lies(void *context, int to, const char *folder, struct nl_job *job, struct nl_err *err)
{
    const struct unpack_taking *taking = context;
    (void)job;
    if (!send_lie((enum lie)taking->members, to, folder))
        return nl_fail(err, NL_FORMAT, "not sent: %s", strerror(errno));
    return true;
}

static bool takes(void *context, const void *bytes, size_t len, int fd, struct nl_err *err)
{
    struct unpack_taking *taking = context;
    size_t lie = taking->members;
    taking->members = taking->to->spool_count;
    bool taken = nl_unpack_take(context, bytes, len, fd, err);
    taking->members = lie;
    return taken;
}

static void believes_no_child(void)
{
    struct nl_inputs inputs;
    REQUIRE(expand(&inputs, NULL));
    nl_archive_allow_files();
    for (size_t lie = NO_KIND; lie < LIES; lie++) {
        struct nl_inputs to = {0};
        struct nl_err err;
        struct nl_job job = job_of(NL_SANDBOX_RISKY);
        struct unpack_taking taking = {.to = &to, .inputs = &inputs, .members = lie};
        const struct sandbox sandbox = {
            .work = lies, .take = takes, .context = &taking, .inputs = &inputs};
        char label[32];
        bool ran = false;
        snprintf(label, sizeof label, "lie %zu", lie);
        check_case(label);
        size_t before = open_files();
        nl_arena_init(&to.arena);
        nl_err_clear(&err);
        bool done = sandbox_exchange(&sandbox, &ran, &job, &err);
        CHECK(ran);
        if (lie == NOT_TOLD)
            CHECK(done && !taking.told); /* nl_unpack refuses what was not told */
        else
            CHECK(!done && (err.code == NL_INTERNAL || err.code == NL_LIMIT));
        if (err.code == NL_LIMIT)
            CHECK(lie == TOO_MANY); /* or as many as this process may open */
        nl_inputs_free(&to);
        CHECK_INT(open_files(), before);
        CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
    }
    nl_inputs_free(&inputs);
}

static bool looks_around(void *context, int to, const char *folder, struct nl_job *job,
                         struct nl_err *err)
{
    (void)context;
    (void)job;
    char byte;
    int fd = open(archive, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || read(fd, &byte, 1) != 1)
        return nl_fail(err, NL_FORMAT, "the archive cannot be read");
    if (open(archive, O_WRONLY | O_CLOEXEC) >= 0)
        return nl_fail(err, NL_FORMAT, "the archive can be written to");
    if (nl_archive_spool(NULL) >= 0)
        return nl_fail(err, NL_FORMAT, "made a file beside its folder");
    if ((nl_confine_available() & NL_CONFINE_FILES) && open(PLAIN, O_RDONLY | O_CLOEXEC) >= 0)
        return nl_fail(err, NL_FORMAT, "another file can be read");
    if ((nl_confine_available() & NL_CONFINE_FILES) && nl_archive_spool(folder) < 0)
        return nl_fail(err, NL_FORMAT, "no file for a member");
    if (unlink(archive) == 0)
        return nl_fail(err, NL_FORMAT, "the archive can be removed");
    const struct nl_archive_told none = {0};
    return sends(to, UNPACK_TOLD, 0, &none, sizeof none, -1);
}

static void lets_nobody_out(void)
{
    struct nl_inputs inputs, to = {0};
    struct nl_err err;
    struct nl_job job = job_of(NL_SANDBOX_RISKY);
    struct unpack_taking taking = {.to = &to, .inputs = &inputs};
    const struct sandbox sandbox = {
        .work = looks_around, .take = nl_unpack_take, .context = &taking, .inputs = &inputs};
    bool ran = false;
    nl_err_clear(&err);
    REQUIRE(expand(&inputs, NULL));
    nl_arena_init(&to.arena);
    CHECK(sandbox_exchange(&sandbox, &ran, &job, &err));
    CHECK_TEXT(err.text, "");
    CHECK(ran && taking.told);
    nl_inputs_free(&to);
    nl_inputs_free(&inputs);
}

static bool dies(void *context, int to, const char *folder, struct nl_job *job, struct nl_err *err)
{
    (void)context;
    (void)job;
    (void)err;
    (void)sends(to, UNPACK_MEMBER, 0, "name", 4, a_file(folder));
    (void)raise(SIGSEGV);
    return true;
}

static void survives_crashes(void)
{
    struct nl_inputs inputs, to = {0};
    struct nl_err err;
    struct nl_job job = job_of(NL_SANDBOX_RISKY);
    struct unpack_taking taking = {.to = &to, .inputs = &inputs};
    const struct sandbox sandbox = {
        .work = dies, .take = nl_unpack_take, .context = &taking, .inputs = &inputs};
    bool ran = false;
    nl_err_clear(&err);
    REQUIRE(expand(&inputs, NULL));
    size_t before = open_files();
    nl_arena_init(&to.arena);
    CHECK(!sandbox_exchange(&sandbox, &ran, &job, &err));
    CHECK_INT(err.code, NL_INTERNAL);
    CHECK(strstr(err.text, "crashed (SIGSEGV)") != NULL);
    nl_inputs_free(&to);
    CHECK_INT(open_files(), before);
    nl_inputs_free(&inputs);
}

#define WHEN_POSSIBLE(name)                                                                        \
    static void possible_##name(void)                                                              \
    {                                                                                              \
        if (!sandbox_possible()) {                                                                 \
            check_skip("nothing can be confined here");                                            \
            return;                                                                                \
        }                                                                                          \
        bool made = archive[0] || make_archive();                                                  \
        REQUIRE(made);                                                                             \
        name();                                                                                    \
    }
WHEN_POSSIBLE(gives_the_same_files)
WHEN_POSSIBLE(believes_no_child)
WHEN_POSSIBLE(lets_nobody_out)
WHEN_POSSIBLE(survives_crashes)

static void cleans_up(void)
{
    if (archive[0])
        CHECK(unlink(archive) == 0 && rmdir(place) == 0);
}

CHECK_MAIN("unpack", {"gives the same files", possible_gives_the_same_files},
           {"believes no child", possible_believes_no_child},
           {"lets nobody out", possible_lets_nobody_out},
           {"survives crashes", possible_survives_crashes}, {"cleans up", cleans_up})
