/* The folder of parts: finding, relieving and closing recordings. */
#define _GNU_SOURCE
#include "capture/recorder/parts.h"
#include "capture/recorder/partannounced.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "capture/recorder/pack.h"
#include "capture/shared/recfile.h"
#include "capture/shared/ticks.h"

#define ENDING ".nlrec"

struct parts {
    char *folder;
    struct nl_control *control;
    int lock; /* of its file; -1: none */
    struct part *live;
    size_t count, cap;
    struct nl_idmap seen; /* pid << 20 | number of every file met */
    uint32_t attached;    /* as of the last look */
    void (*leave)(void *context, struct part *part);
    void *context;
    struct parts_sums sums;
};

struct parts *parts_make(const char *folder, struct nl_err *err)
{
    nl_err_at(err, folder, -1);
    if (mkdir(folder, 0700) != 0) {
        if (errno == EEXIST)
            (void)nl_fail(err, NL_USAGE,
                          "already exists, perhaps from an interrupted recording: "
                          "`neurolens analyze` reads it; remove it or choose another -o");
        else
            (void)nl_fail(err, NL_WRITE, "cannot create this folder: %s; choose a place with -o",
                          strerror(errno));
        return NULL;
    }
    struct parts *parts = nl_zalloc(sizeof *parts);
    parts->lock = -1;
    parts->folder = realpath(folder, NULL);
    if (parts->folder && control_make(&parts->control, &parts->lock, parts->folder, err))
        return parts;
    if (!parts->folder)
        (void)nl_fail(err, NL_WRITE, "cannot find it again: %s", strerror(errno));
    parts_free(parts);
    parts_remove(folder);
    return NULL;
}

struct nl_control *parts_control(struct parts *parts)
{
    return parts->control;
}

const char *parts_folder(const struct parts *parts)
{
    return parts->folder;
}

void parts_free(struct parts *parts)
{
    if (!parts)
        return;
    control_unmap(parts->control);
    if (parts->lock >= 0)
        close(parts->lock);
    nl_free(parts->folder);
    nl_free(parts->live);
    nl_idmap_release(&parts->seen);
    nl_free(parts);
}

void parts_remove(const char *folder)
{
    DIR *entries = opendir(folder);
    if (!entries)
        return;
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        size_t len = strlen(entry->d_name), tail = sizeof ENDING - 1;
        if (strcmp(entry->d_name, ".control") == 0 || strcmp(entry->d_name, NL_REC_FACTS) == 0 ||
            (len > tail && strcmp(entry->d_name + len - tail, ENDING) == 0))
            (void)unlinkat(dirfd(entries), entry->d_name, 0);
    }
    closedir(entries);
    (void)rmdir(folder);
}

/* ---- files already met ---- */

static bool is_seen(const struct parts *parts, uint64_t key)
{
    return nl_idmap_get(&parts->seen, key) != NL_NO_ROW;
}

static void add_seen(struct parts *parts, uint64_t key)
{
    nl_idmap_put(&parts->seen, key, 0);
}

/* ---- a process's recording ---- */

void part_write(struct part *part)
{
    struct pack pack;
    if (!part->cells.len)
        return;
    pack_begin(&pack, part->file, part->head);
    struct nl_buf names;
    nl_buf_init(&names, (size_t)1 << 20);
    for (; part->names_written < part->name_count; part->names_written++) {
        const char *text = part->names[part->names_written];
        struct nl_rec_name name = {UINT32_MAX - (uint32_t)part->names_written,
                                   (uint32_t)strlen(text)};
        nl_buf_add(&names, (const char *)&name, sizeof name);
        nl_buf_add(&names, text, name.bytes);
        nl_buf_add(&names, "\0\0\0\0\0\0\0", -name.bytes & 7);
    }
    if (names.len)
        pack_own(&pack, NL_REC_NAMES, names.ptr, names.len);
    pack_own(&pack, NL_REC_EVENTS, part->cells.ptr, part->cells.len);
    pack_write(&pack, 0, PACK_REUSE);
    pack_end(&pack);
    nl_buf_release(&names);
    nl_buf_clear(&part->cells);
}

static void take_full(struct parts *parts, struct part *part)
{
    struct nl_rec_head *head = part->head;
    uint64_t top = __atomic_load_n(&head->full_stack, __ATOMIC_ACQUIRE);
    while ((uint32_t)top &&
           !__atomic_compare_exchange_n(&head->full_stack, &top, ((top >> 32) + 1) << 32, true,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    struct pack pack;
    struct nl_rec_block header;
    uint64_t left = __atomic_load_n(&head->mapped, __ATOMIC_RELAXED);
    pack_begin(&pack, part->file, head);
    for (uint32_t link = (uint32_t)top; link && left; left--) {
        if (!pack_block(&pack, link - 1, &header))
            break;
        link = header.next;
        pack_write(&pack, PACK_BYTES, PACK_REUSE);
    }
    pack_write(&pack, 0, PACK_REUSE);
    parts->sums.spilled_blocks += pack.packed;
    pack_end(&pack);
}

/* Everything that is still in blocks of the process, which has ended. */
static void take_rest(struct part *part)
{
    struct pack pack;
    struct nl_rec_block header;
    uint64_t blocks = __atomic_load_n(&part->head->blocks, __ATOMIC_RELAXED), span;
    pack_begin(&pack, part->file, part->head);
    for (uint64_t number = 0; number < blocks && number < UINT32_MAX; number += span) {
        header.magic = 0;
        (void)pack_block(&pack, (uint32_t)number, &header);
        bool packed = header.magic == NL_REC_BLOCK_MAGIC && header.kind == NL_REC_PACKED;
        span = packed && header.span ? header.span : 1;
        pack_write(&pack, PACK_BYTES, PACK_PUNCH);
    }
    pack_write(&pack, 0, PACK_PUNCH);
    pack_end(&pack);
}

static void add_part_sums(struct parts *parts, const struct part *part)
{
    struct parts_sums *sums = &parts->sums;
    sums->processes++;
    sums->started += part->head->ticket != 0;
    sums->threads += part->head->threads;
    sums->spill_errors += part->head->spill_errors;
    for (unsigned i = 0; i < NL_REC_DROPS; i++)
        sums->drops[i] += part->head->drops[i];
}

/* `ended`: the process is gone; its memory is given back to the others. */
static void close_part(struct parts *parts, struct part *part, bool ended, enum nl_rec_end how)
{
    uint32_t open = NL_REC_OPEN;
    parts_leave_place(parts, part);
    if (parts->leave)
        parts->leave(parts->context, part);
    take_full(parts, part);
    part_write(part);
    if (ended) {
        uint64_t bytes = part->head->mapped * NL_REC_BLOCK_BYTES;
        take_rest(part);
        __atomic_fetch_sub(&parts->control->used_bytes, bytes, __ATOMIC_RELAXED);
        if (how != NL_REC_OPEN)
            __atomic_compare_exchange_n(&part->head->end, &open, (uint32_t)how, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    part->head->window_moves = parts->control->gate_changes;
    part->head->closed = 1;
    add_part_sums(parts, part);
    munmap(part->head, NL_REC_HEAD_BYTES);
    close(part->file);
    if (part->process >= 0)
        close(part->process);
    nl_buf_release(&part->cells);
    for (size_t i = 0; i < part->name_count; i++)
        nl_free(part->names[i]);
    nl_free(part->names);
    nl_lookup_release(&part->name_rows);
    for (size_t i = 0; i < sizeof part->private / sizeof part->private[0]; i++)
        nl_free(part->private[i]);
}

static struct nl_rec_head *map_head(int file)
{
    struct stat info;
    if (fstat(file, &info) != 0 || info.st_size < (off_t)NL_REC_HEAD_BYTES)
        return NULL;
    void *memory = mmap(NULL, NL_REC_HEAD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct nl_rec_head *head = memory;
    if (memcmp(head->magic, NL_REC_MAGIC, sizeof head->magic) == 0)
        return head;
    munmap(memory, NL_REC_HEAD_BYTES);
    return NULL;
}

/* False: not ready yet, look again. */
static bool open_part(struct parts *parts, const char *name, int64_t pid, uint32_t number)
{
    char path[4600];
    (void)snprintf(path, sizeof path, "%s/%s", parts->folder, name);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0)
        return errno != EMFILE && errno != ENFILE;
    struct nl_rec_head *head = map_head(file);
    if (!head) {
        close(file);
        return false;
    }
    nl_grow(&parts->live, &parts->cap, parts->count + 1);
    struct part *part = &parts->live[parts->count++];
    bool foreign = head->foreign != 0;
    *part = (struct part){.pid = foreign ? PART_FOREIGN : pid,
                          .number = number,
                          .file = file,
                          .head = head,
                          .process = foreign ? -1 : (int)syscall(SYS_pidfd_open, (pid_t)pid, 0)};
    nl_buf_init(&part->cells, PART_CELLS * 2);
    return true;
}

/* ---- a round ---- */

/* "123-0.nlrec" */
static bool read_name(const char *name, int64_t *pid, uint32_t *number)
{
    char *end;
    if (*name < '1' || *name > '9')
        return false;
    *pid = strtoll(name, &end, 10);
    if (*end != '-' || *pid > INT32_MAX)
        return false;
    unsigned long value = strtoul(end + 1, &end, 10);
    *number = (uint32_t)value;
    return value < 1u << 20 && strcmp(end, ENDING) == 0;
}

/* New files, when there are more than were looked at. */
void parts_look(struct parts *parts)
{
    parts_announced(parts);
    uint32_t attached = __atomic_load_n(&parts->control->attached, __ATOMIC_ACQUIRE);
    DIR *entries = attached == parts->attached ? NULL : opendir(parts->folder);
    if (!entries)
        return;
    bool all = true;
    for (struct dirent *entry = readdir(entries); entry; entry = readdir(entries)) {
        int64_t pid;
        uint32_t number;
        if (!read_name(entry->d_name, &pid, &number))
            continue;
        uint64_t key = (uint64_t)pid << 20 | number;
        if (is_seen(parts, key))
            continue;
        if (open_part(parts, entry->d_name, pid, number))
            add_seen(parts, key);
        else
            all = false;
    }
    closedir(entries);
    if (all)
        parts->attached = attached;
}

bool parts_make_for(struct parts *parts, int64_t pid, const char *program)
{
    struct recfile file;
    char host[64] = "";
    (void)gethostname(host, sizeof host - 1);
    struct recfile_facts facts = {.program = program,
                                  .host = host,
                                  .pid = pid,
                                  .parent = NL_REC_UNKNOWN,
                                  .rank = NL_REC_UNKNOWN,
                                  .local_rank = NL_REC_UNKNOWN,
                                  .world = NL_REC_UNKNOWN};
    if (!recfile_make(&file, parts->folder, parts->control, &facts))
        return false;
    recfile_forget(&file);
    __atomic_fetch_add(&parts->control->attached, 1, __ATOMIC_RELAXED);
    parts_look(parts);
    return true;
}

/* Kernels before 5.3 and some sandboxes have no pidfds, and there may be too many open. */
static bool is_gone(const struct part *part)
{
    struct pollfd process = {.fd = part->process, .events = POLLIN};
    if (part->process < 0)
        return kill((pid_t)part->pid, 0) != 0 && errno == ESRCH;
    return poll(&process, 1, 0) > 0;
}

/* Of two programs of one process. A file may be made after the one of the
 * program that came next. */
static bool is_later(const struct part *other, const struct part *part)
{
    if (other->head->ticket && part->head->ticket)
        return other->head->ticket > part->head->ticket;
    return other->number > part->number;
}

/* Gone, or another program by now? For processes in other PID namespaces only the run's end can
 * show it. */
static bool has_ended(const struct parts *parts, const struct part *part, enum nl_rec_end *how)
{
    *how = NL_REC_OPEN;
    if (part->pid == PART_FOREIGN)
        return false;
    *how = NL_REC_VANISHED;
    if (is_gone(part))
        return true;
    *how = part->adopted ? NL_REC_OPEN : NL_REC_EXECED; /* its process records itself now */
    for (size_t i = 0; i < parts->count; i++)
        if (parts->live[i].pid == part->pid && is_later(&parts->live[i], part))
            return true;
    return false;
}

void parts_poll(struct parts *parts)
{
    parts_look(parts);
    for (size_t i = 0; i < parts->count; i++)
        take_full(parts, &parts->live[i]);
    for (size_t i = 0; i < parts->count;) {
        enum nl_rec_end how;
        struct part *part = &parts->live[i];
        bool ending = part->ending;
        part->ending = has_ended(parts, part, &how);
        if (!part->ending || !ending) {
            i++;
            continue;
        }
        close_part(parts, &parts->live[i], true, how);
        parts->live[i] = parts->live[--parts->count];
    }
}

/* When the room for pairs is used up every second one goes: the run is long by then. */
static void thin_out(struct nl_rec_head *head)
{
    uint32_t kept = 1;
    for (uint32_t i = 2; i < head->pair_count; i += 2)
        head->pairs[kept++] = head->pairs[i];
    head->pair_count = kept;
}

void parts_clock(struct parts *parts)
{
    struct nl_rec_pair pair = ticks_pair(parts->control->clock, 8);
    for (size_t i = 0; i < parts->count; i++) {
        struct nl_rec_head *head = parts->live[i].head;
        if (head->pair_count >= NL_REC_PAIRS)
            thin_out(head);
        head->pairs[head->pair_count] = pair;
        __atomic_store_n(&head->pair_count, head->pair_count + 1, __ATOMIC_RELEASE);
    }
}

void parts_on_close(struct parts *parts, void (*leave)(void *context, struct part *part),
                    void *context)
{
    parts->leave = leave;
    parts->context = context;
}

struct part *parts_first(struct parts *parts, size_t *count)
{
    *count = parts->count;
    return parts->live;
}

static void close_all(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++) {
        enum nl_rec_end how;
        bool ended = has_ended(parts, &parts->live[i], &how);
        close_part(parts, &parts->live[i], ended, how);
    }
    parts->count = 0;
}

void parts_finish(struct parts *parts, struct parts_sums *sums)
{
    uint64_t most = __atomic_load_n(&parts->control->attached, __ATOMIC_RELAXED), closed = 0;
    parts->attached = 0;
    parts_look(parts);
    /* Again while there were no descriptors for all; not for those that still begin. */
    while (parts->count) {
        closed += parts->count;
        close_all(parts);
        if (closed < most)
            parts_look(parts);
    }
    if (sums)
        *sums = parts->sums;
}
