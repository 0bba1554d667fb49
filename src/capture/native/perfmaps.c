/* Processes and modules are found by maps, a process's mappings in a sorted array: some hundred,
 * that change seldom and are searched for every frame. */
#define _GNU_SOURCE
#include "capture/native/perfmaps.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/search.h"

#define MAX_PROCESSES ((size_t)1 << 20)
#define MAX_MODULES   ((size_t)1 << 20)
#define MAX_MAPPINGS  ((size_t)1 << 18) /* of a process; the kernel's own limit is 65,530 */

struct perfmaps {
    struct perfmaps_process *processes;
    struct nl_idmap process_rows; /* by pid */
    uint32_t count;
    size_t cap;
    struct perfmaps_module *modules;
    struct nl_lookup module_rows;
    size_t module_count, module_cap;
};

struct perfmaps *perfmaps_new(void)
{
    return nl_zalloc(sizeof(struct perfmaps));
}

void perfmaps_free(struct perfmaps *maps)
{
    if (!maps)
        return;
    for (size_t i = 0; i < maps->count; i++)
        nl_free(maps->processes[i].mapping);
    for (size_t i = 0; i < maps->module_count; i++)
        nl_free(maps->modules[i].path);
    nl_free(maps->processes);
    nl_idmap_release(&maps->process_rows);
    nl_free(maps->modules);
    nl_lookup_release(&maps->module_rows);
    nl_free(maps);
}

/* ---- processes ---- */

struct perfmaps_process *perfmaps_find(const struct perfmaps *maps, int64_t pid)
{
    uint32_t row = pid > 0 ? nl_idmap_get(&maps->process_rows, (uint64_t)pid) : NL_NO_ROW;
    return row == NL_NO_ROW ? NULL : &maps->processes[row];
}

struct perfmaps_process *perfmaps_process(struct perfmaps *maps, int64_t pid)
{
    struct perfmaps_process *process = perfmaps_find(maps, pid);
    if (process || pid <= 0 || maps->count >= MAX_PROCESSES)
        return process;
    nl_grow(&maps->processes, &maps->cap, maps->count + 1u);
    nl_idmap_put(&maps->process_rows, (uint64_t)pid, maps->count);
    process = &maps->processes[maps->count++];
    *process = (struct perfmaps_process){.pid = pid};
    return process;
}

struct perfmaps_process *perfmaps_first(struct perfmaps *maps, size_t *count)
{
    *count = maps->count;
    return maps->processes;
}

void perfmaps_end(struct perfmaps *maps, int64_t pid)
{
    struct perfmaps_process *process = perfmaps_find(maps, pid);
    if (!process)
        return;
    nl_free(process->mapping);
    nl_idmap_remove(&maps->process_rows, (uint64_t)pid);
    const struct perfmaps_process *last = &maps->processes[--maps->count];
    if (process == last)
        return;
    *process = *last;
    nl_idmap_put(&maps->process_rows, (uint64_t)process->pid,
                 (uint32_t)(process - maps->processes));
}

void perfmaps_clear(struct perfmaps_process *process)
{
    process->count = 0;
    process->changes++;
}

void perfmaps_fork(struct perfmaps *maps, int64_t pid, int64_t parent)
{
    struct perfmaps_process *child = pid == parent ? NULL : perfmaps_process(maps, pid);
    const struct perfmaps_process *from = perfmaps_find(maps, parent);
    if (!child || !from)
        return;
    nl_grow(&child->mapping, &child->cap, from->count);
    if (from->count)
        memcpy(child->mapping, from->mapping, from->count * sizeof *from->mapping);
    child->count = from->count;
    child->changes++;
    memcpy(child->program, from->program, sizeof child->program);
}

/* ---- modules ---- */

static uint64_t hash_module(const char *path, const char *id)
{
    return nl_hash_pair(nl_hash_keyed(path, strlen(path)), nl_hash_keyed(id, strlen(id)));
}

/* Programs without a build id are distinguished by their size and when they were written. */
static void write_id(char *text, const char *path, bool is_file, const unsigned char *id,
                     size_t id_len)
{
    struct stat info;
    text[0] = '\0';
    for (size_t i = 0; i < id_len && i * 2 + 3 < PERFMAPS_ID_TEXT; i++)
        (void)snprintf(text + i * 2, 3, "%02x", id[i]);
    if (!text[0] && is_file && stat(path, &info) == 0)
        (void)snprintf(text, PERFMAPS_ID_TEXT, "~%llx-%llx", (unsigned long long)info.st_size,
                       (unsigned long long)info.st_mtim.tv_sec * 1000000000u +
                           (unsigned long long)info.st_mtim.tv_nsec);
}

uint32_t perfmaps_module(struct perfmaps *maps, const char *path, const unsigned char *id,
                         size_t id_len)
{
    char text[PERFMAPS_ID_TEXT];
    bool is_file = path[0] == '/' && path[1] != '/' && strncmp(path, "/memfd:", 7) != 0 &&
                   strncmp(path, "/dev/zero", 9) != 0 && strncmp(path, "/SYSV", 5) != 0;
    if (maps->module_count >= MAX_MODULES) { /* one for all further ones */
        path = "(too many modules)";
        is_file = false;
    }
    write_id(text, path, is_file, id, is_file ? id_len : 0);
    uint64_t hash = hash_module(path, text);
    uint32_t row = NL_LOOKUP(&maps->module_rows, hash, i,
                             strcmp(maps->modules[i].path, path) == 0 &&
                                 strcmp(maps->modules[i].id, text) == 0);
    if (row == NL_NO_ROW) {
        row = (uint32_t)maps->module_count;
        nl_grow(&maps->modules, &maps->module_cap, maps->module_count + 1);
        struct perfmaps_module *module = &maps->modules[maps->module_count++];
        *module = (struct perfmaps_module){.path = nl_strdup(path), .is_file = is_file};
        memcpy(module->id, text, sizeof module->id);
        nl_lookup_add(&maps->module_rows, hash, row);
    }
    return row;
}

const struct perfmaps_module *perfmaps_module_at(const struct perfmaps *maps, uint32_t module)
{
    return &maps->modules[module];
}

/* ---- mappings ---- */

/* The first mapping that ends after `address`. */
static size_t first_behind(const struct perfmaps_process *process, uint64_t address)
{
    return NL_FIRST(i, 0, process->count, process->mapping[i].end > address);
}

const struct perfmaps_mapping *perfmaps_at(const struct perfmaps_process *process, uint64_t address)
{
    size_t at = first_behind(process, address);
    bool inside = at < process->count && process->mapping[at].start <= address;
    return inside ? &process->mapping[at] : NULL;
}

/* Replaces `gone` mappings from `at` on by `count` others. */
static void splice(struct perfmaps_process *process, size_t at, size_t gone,
                   const struct perfmaps_mapping *others, size_t count)
{
    size_t behind = process->count - at - gone;
    nl_grow(&process->mapping, &process->cap, process->count - gone + count);
    memmove(process->mapping + at + count, process->mapping + at + gone,
            behind * sizeof *process->mapping);
    memcpy(process->mapping + at, others, count * sizeof *others);
    process->count += count - gone;
}

void perfmaps_map(struct perfmaps *maps, struct perfmaps_process *process,
                  const struct perfmaps_mapping *mapping)
{
    struct perfmaps_mapping pieces[3];
    size_t count = 0, at = first_behind(process, mapping->start), last = at;
    if (mapping->end <= mapping->start || process->count + 2 > MAX_MAPPINGS ||
        mapping->module >= maps->module_count)
        return;
    while (last < process->count && process->mapping[last].start < mapping->end)
        last++;
    if (at < last && process->mapping[at].start < mapping->start) {
        pieces[count] = process->mapping[at];
        pieces[count++].end = mapping->start;
    }
    pieces[count++] = *mapping;
    if (at < last && process->mapping[last - 1].end > mapping->end) {
        pieces[count] = process->mapping[last - 1];
        pieces[count].file_offset += mapping->end - pieces[count].start;
        pieces[count++].start = mapping->end;
    }
    splice(process, at, last - at, pieces, count);
    process->changes++;
}

/* "7f00-7f01 r-xp 00002000 08:01 1234   /lib/libc.so.6" */
static bool read_line(char *line, struct perfmaps_mapping *mapping, const char **path)
{
    unsigned long long start, end, offset;
    char access[5] = "";
    int at = 0;
    if (sscanf(line, "%llx-%llx %4s %llx %*s %*s %n", &start, &end, access, &offset, &at) < 4 ||
        access[2] != 'x' || !at)
        return false;
    line[strcspn(line, "\n")] = '\0';
    *mapping = (struct perfmaps_mapping){start, end, offset, 0};
    *path = line[at] ? line + at : "//anon";
    return true;
}

void perfmaps_look(struct perfmaps *maps, struct perfmaps_process *process)
{
    char name[64], line[4400];
    const char *path;
    struct perfmaps_mapping mapping;
    (void)snprintf(name, sizeof name, "/proc/%lld/maps", (long long)process->pid);
    FILE *file = fopen(name, "re");
    while (file && fgets(line, sizeof line, file)) {
        if (!read_line(line, &mapping, &path))
            continue;
        const struct perfmaps_mapping *known = perfmaps_at(process, mapping.start);
        if (known && known->end == mapping.end &&
            strcmp(maps->modules[known->module].path, path) == 0)
            continue; /* with its build id */
        mapping.module = perfmaps_module(maps, path, NULL, 0);
        perfmaps_map(maps, process, &mapping);
    }
    if (file)
        fclose(file);
}
