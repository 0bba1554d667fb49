/* Names to files. */
#define _GNU_SOURCE
#include "ingest/inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/chars.h"
#include "base/str.h"
#include "base/units.h"
#include "ingest/meet.h"

#define MAX_FILES 100000u

/* What a person wrote about the files of a folder (ledger/runyaml.h) is none of them. */
#define ABOUT_FILES "neurolens.yaml"

static const struct nl_path *find_path(const struct nl_inputs *inputs, const char *path)
{
    uint32_t row = nl_idmap_get(&inputs->by_path, nl_hash(path, strlen(path)));
    if (row == NL_NO_ROW || strcmp(inputs->items[row].where, path) != 0)
        return NULL;
    return &inputs->items[row];
}

static void add_path(struct nl_inputs *inputs, const char *path, bool from_folder)
{
    if (find_path(inputs, path))
        return;
    nl_grow(&inputs->items, &inputs->cap, inputs->count + 1);
    const char *copy = nl_arena_text(&inputs->arena, path, strlen(path));
    const char *slash = strrchr(copy, '/');
    nl_idmap_put(&inputs->by_path, nl_hash(path, strlen(path)), (uint32_t)inputs->count);
    inputs->items[inputs->count++] = (struct nl_path){
        .path = copy, .where = copy, .name = slash ? slash + 1 : copy, .from_folder = from_folder};
}

/* rocprofv3 --output-format with several: a file per kind of record next to the file with all. */
#define ROCPROFV3(csv)                                                                             \
    {"_" csv ".csv", "_results.db"},                                                               \
    {                                                                                              \
        "_" csv ".csv", "_results.json"                                                            \
    }

/* Ends of names of files with the same events; the second holds all that the first does. */
static const struct {
    const char *copy, *whole;
} twins[] = {
    {".trace.json.gz", ".xplane.pb"}, /* JAX, TensorFlow: at most a million events */
    {".nsys-rep", ".sqlite"},         /* nsys export, nsys stats */
    {".qdrep", ".sqlite"},
    {"_results.json", "_results.db"},
    {"_results.pftrace", "_results.db"},
    {"_results.pftrace", "_results.json"},
    ROCPROFV3("agent_info"),
    ROCPROFV3("kernel_trace"),
    ROCPROFV3("memory_copy_trace"),
    ROCPROFV3("hip_api_trace"),
    ROCPROFV3("hsa_api_trace"),
    ROCPROFV3("marker_api_trace"),
    ROCPROFV3("rccl_api_trace"),
    ROCPROFV3("memory_allocation_trace"),
    ROCPROFV3("scratch_memory_trace"),
    ROCPROFV3("counter_collection"),
    {".run.json", ""}, /* the run document of a profile, under its name */
    {".gz", ""},
    {".zst", ""},
};

const struct nl_path *nl_inputs_twin(const struct nl_inputs *inputs, size_t item)
{
    const char *path = inputs->items[item].where;
    size_t len = strlen(path);
    const struct nl_path *found = NULL;
    for (size_t i = 0; !found && i < sizeof twins / sizeof twins[0]; i++) {
        size_t end = strlen(twins[i].copy);
        if (!inputs->items[item].from_folder || len <= end ||
            strcmp(path + len - end, twins[i].copy) != 0)
            continue;
        char *other = nl_alloc(len - end + strlen(twins[i].whole) + 1);
        memcpy(other, path, len - end);
        strcpy(other + len - end, twins[i].whole);
        found = find_path(inputs, other);
        nl_free(other);
    }
    return found;
}

static bool is_regular(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode);
}

static bool add_folder(struct nl_inputs *inputs, const char *folder, struct nl_err *err)
{
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, versionsort);
    if (count < 0) {
        nl_err_at(err, folder, -1);
        return nl_fail(err, NL_IO, "cannot open this folder: %s", strerror(errno));
    }
    size_t before = inputs->count;
    bool folders = false;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        folders = folders || (name[0] != '.' && entries[i]->d_type == DT_DIR);
        char *path = nl_arena_format(&inputs->arena, "%s/%s", folder, name);
        if (name[0] != '.' && strcmp(name, ABOUT_FILES) != 0 && inputs->count < MAX_FILES &&
            is_regular(path))
            add_path(inputs, path, true);
        nl_free(entries[i]); /* scandir's memory is malloc's, as ours */
    }
    nl_free(entries);
    if (inputs->count > before)
        return true;
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_IO, "this folder holds no files%s",
                   folders ? "; those of the folders in it are not looked at: name one of them"
                           : "");
}

static bool is_about_files(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strcmp(slash ? slash + 1 : path, ABOUT_FILES) == 0;
}

static int by_version(const void *a, const void *b)
{
    return strverscmp(*(char *const *)a, *(char *const *)b);
}

static bool add_glob(struct nl_inputs *inputs, const char *pattern, struct nl_err *err)
{
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) {
        nl_err_at(err, pattern, -1);
        return nl_fail(err, NL_IO, "no file matches");
    }
    qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, by_version);
    for (size_t i = 0; i < found.gl_pathc && inputs->count < MAX_FILES; i++)
        if (is_regular(found.gl_pathv[i]) && !is_about_files(found.gl_pathv[i]))
            add_path(inputs, found.gl_pathv[i], true);
    globfree(&found);
    return true;
}

static bool copy_all(int from, int to)
{
    char bytes[65536];
    for (;;) {
        ssize_t got = read(from, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got == 0;
        for (ssize_t at = 0; at < got;) {
            ssize_t put = write(to, bytes + at, (size_t)(got - at));
            if (put < 0)
                return false;
            at += put;
        }
    }
}

/* What `from` gives until it ends, as a file that can be read again. */
static bool add_copy(struct nl_inputs *inputs, int from, const char *name, struct nl_err *err)
{
    int to = nl_archive_spool(NULL);
    if (to >= 0) {
        nl_grow(&inputs->spools, &inputs->spool_cap, inputs->spool_count + 1);
        inputs->spools[inputs->spool_count++] = to;
    }
    if (to < 0 || !copy_all(from, to))
        return nl_fail(err, NL_IO, "cannot copy it to a temporary file: %s; set TMPDIR",
                       strerror(errno));
    add_path(inputs, nl_arena_format(&inputs->arena, "/proc/self/fd/%d", to), false);
    inputs->items[inputs->count - 1].name = nl_arena_text(&inputs->arena, name, strlen(name));
    return true;
}

static bool add_standard_input(struct nl_inputs *inputs, struct nl_err *err)
{
    nl_err_at(err, "standard input", -1);
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->items[i].name, "stdin") == 0)
            return nl_fail(err, NL_USAGE, "\"-\" was given twice");
    return add_copy(inputs, STDIN_FILENO, "stdin", err);
}

/* A pipe with a name: mkfifo, /dev/stdin, and what shells make of <(command). */
static bool add_pipe(struct nl_inputs *inputs, const char *path, struct nl_err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    bool numbered = strncmp(path, "/dev/fd/", 8) == 0 || strncmp(path, "/proc/", 6) == 0;
    nl_err_at(err, path, -1);
    int from = open(path, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return nl_fail(err, NL_IO, "cannot open: %s", strerror(errno));
    bool fine = add_copy(inputs, from, numbered ? "pipe" : name, err);
    close(from);
    return fine;
}

/* "a.zip/folder/rank0.json": the first part that is an archive, and a member of
 * it. False: there is none. */
static bool add_member(struct nl_inputs *inputs, const char *path)
{
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *archive = nl_arena_text(&inputs->arena, path, (size_t)(slash - path));
        if (is_regular(archive) && slash[1] && nl_archive_is(archive)) {
            add_path(inputs, path, false);
            inputs->items[inputs->count - 1].path = archive;
            inputs->items[inputs->count - 1].member =
                nl_arena_text(&inputs->arena, slash + 1, strlen(slash + 1));
            return true;
        }
    }
    return false;
}

static bool add_name(struct nl_inputs *inputs, const char *path, struct nl_err *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0)
        return add_standard_input(inputs, err);
    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return add_folder(inputs, path, err);
        if (S_ISFIFO(info.st_mode))
            return add_pipe(inputs, path, err);
        add_path(inputs, path, false);
        return true;
    }
    if (errno == ENOENT && strstr(path, "://")) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_IO,
                       "this is an address, and only files are read; fetch it first, or "
                       "pipe it: curl -L ADDRESS | neurolens analyze -");
    }
    if (errno == ENOENT && strpbrk(path, "*?["))
        return add_glob(inputs, path, err);
    int reason = errno;
    if (!*path)
        return nl_fail(err, NL_IO, "cannot open '': the name is empty");
    if (reason == ENOTDIR && add_member(inputs, path))
        return true;
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_IO, "cannot open: %s", strerror(reason));
}

bool nl_inputs_expand(struct nl_inputs *inputs, const char *const *paths, size_t count,
                      struct nl_err *err)
{
    *inputs = (struct nl_inputs){0};
    nl_arena_init(&inputs->arena);
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++)
        fine = add_name(inputs, paths[i], err);
    if (fine && inputs->count == 0)
        fine = nl_fail(err, NL_IO, "no input file");
    if (!fine)
        nl_inputs_free(inputs);
    return fine;
}

void nl_inputs_free(struct nl_inputs *inputs)
{
    for (size_t i = 0; i < inputs->spool_count; i++)
        close(inputs->spools[i]);
    nl_free(inputs->spools);
    nl_free(inputs->items);
    nl_idmap_release(&inputs->by_path);
    nl_arena_free(&inputs->arena);
    *inputs = (struct nl_inputs){0};
}

/* ---- Archives ---- */

bool nl_inputs_packed(const struct nl_inputs *inputs)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (inputs->items[i].member || nl_archive_is(inputs->items[i].path))
            return true;
    return false;
}

struct unpacking {
    struct nl_inputs *to;
    const struct nl_path *archive;
};

void nl_inputs_add_member(struct nl_inputs *to, const struct nl_path *archive, struct nl_str name,
                          int fd)
{
    char path[64];
    nl_grow(&to->spools, &to->spool_cap, to->spool_count + 1);
    to->spools[to->spool_count++] = fd;
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    char *where =
        nl_arena_format(&to->arena, "%s/%.*s", nl_meet_place(archive->where, archive->name),
                        (int)name.len, name.ptr);
    size_t before = to->count;
    add_path(to, where, true);
    if (to->count > before) /* a name that comes twice is the first file of it */
        to->items[before].path = nl_arena_text(&to->arena, path, strlen(path));
}

static bool take_member(struct nl_unpack *unpack, struct nl_str name, int fd, struct nl_err *err)
{
    const struct unpacking *self = unpack->context;
    (void)err;
    nl_inputs_add_member(self->to, self->archive, name, fd);
    return true;
}

static int by_place(const void *a, const void *b)
{
    const struct nl_path *first = a, *second = b;
    return strverscmp(first->where, second->where);
}

/* In the order of a folder, whatever order they were packed in. */
static void put_in_order(struct nl_inputs *inputs, size_t from)
{
    if (inputs->count - from > 1)
        qsort(inputs->items + from, inputs->count - from, sizeof *inputs->items, by_place);
    for (size_t i = from; i < inputs->count; i++) {
        const char *where = inputs->items[i].where;
        nl_idmap_put(&inputs->by_path, nl_hash(where, strlen(where)), (uint32_t)i);
    }
}

/* A spool's name and path are not its place. */
void nl_inputs_add_plain(struct nl_inputs *to, const struct nl_path *item)
{
    size_t before = to->count;
    add_path(to, item->where, item->from_folder);
    if (to->count > before) {
        to->items[before].path = nl_arena_text(&to->arena, item->path, strlen(item->path));
        to->items[before].name = nl_arena_text(&to->arena, item->name, strlen(item->name));
    }
}

static bool unpack_one(struct nl_unpack *unpack, struct nl_inputs *to, const struct nl_path *item,
                       struct nl_err *err)
{
    size_t before = to->count;
    const char *place = nl_meet_place(item->where, item->name);
    struct unpacking self = {to, item};
    unpack->context = &self;
    unpack->only = item->member;
    nl_err_at(err, place, -1);
    if (!nl_archive_unpack(unpack, item->path, err)) {
        bool alone = to->count == before && item->from_folder && err->code == NL_FORMAT;
        if (alone) { /* of a folder, the others are read: recognition decides what this one is */
            nl_err_clear(err);
            nl_inputs_add_plain(to, item);
        }
        return alone;
    }
    put_in_order(to, before);
    if (to->count > before)
        return true;
    nl_err_at(err, place, -1);
    if (item->member)
        return nl_fail(err, NL_IO, "the archive holds no file %s", item->member);
    return nl_fail(err, NL_FORMAT, "this archive holds no files%s",
                   unpack->told.locked ? " that are not encrypted" : "");
}

bool nl_inputs_unpack(struct nl_inputs *unpacked, const struct nl_inputs *inputs,
                      const char *folder, struct nl_job *job, struct nl_err *err)
{
    struct nl_unpack unpack = {.member = take_member, .job = job, .folder = folder};
    bool done = true;
    *unpacked = (struct nl_inputs){0};
    nl_arena_init(&unpacked->arena);
    for (size_t i = 0; i < inputs->count && done; i++) {
        const struct nl_path *item = &inputs->items[i];
        if (item->member || nl_archive_is(item->path)) {
            done = unpack_one(&unpack, unpacked, item, err);
            continue;
        }
        nl_inputs_add_plain(unpacked, item);
    }
    unpacked->told = unpack.told;
    if (!done)
        nl_inputs_free(unpacked);
    return done;
}

int64_t nl_rank_in_name(const char *name)
{
    static const char *const words[] = {"rank", "worker"};
    struct nl_str text = nl_str(name);
    for (size_t w = 0; w < sizeof words / sizeof words[0]; w++) {
        ptrdiff_t at = nl_str_find_nocase(text, words[w]);
        if (at < 0)
            continue;
        size_t i = (size_t)at + strlen(words[w]);
        while (i < text.len && (text.ptr[i] == '-' || text.ptr[i] == '_' || text.ptr[i] == '='))
            i++;
        size_t end = i;
        while (end < text.len && nl_is_digit(text.ptr[end]))
            end++;
        int64_t rank;
        if (end > i && nl_parse_i64((struct nl_str){text.ptr + i, end - i}, &rank))
            return rank;
    }
    return INT64_MIN;
}

uint64_t nl_file_bytes(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
}

bool nl_file_size(const char *path, uint64_t *bytes, struct nl_err *err)
{
    struct stat info;
    *bytes = 0;
    if (strcmp(path, "-") == 0)
        return true;
    if (stat(path, &info) != 0) {
        nl_err_at(err, path, -1);
        return nl_fail(err, NL_IO, "cannot read: %s", strerror(errno));
    }
    *bytes = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    return true;
}

size_t nl_file_start(const char *path, void *bytes, size_t room)
{
    if (!is_regular(path))
        return 0;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return 0;
    size_t got = fread(bytes, 1, room, file);
    fclose(file);
    return got;
}
