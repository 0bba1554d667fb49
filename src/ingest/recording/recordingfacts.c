/*
 * What `run` wrote next to the parts (NL_REC_FACTS): a line "key<TAB>value" for each fact of the
 * run. It belongs to all parts, so the first of the folder by name carries it.
 */
#include "ingest/recording/recording.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"

#define MAX_FACTS ((size_t)1 << 20) /* bytes of the file */
#define MAX_LINES 200

static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), end = strlen(ending);
    return len > end && strcmp(name + len - end, ending) == 0;
}

static bool is_first(const char *folder, const char *name)
{
    DIR *parts = opendir(folder);
    struct dirent *entry;
    bool first = parts != NULL;
    while (parts && first && (entry = readdir(parts)))
        if (ends_with(entry->d_name, ".nlrec"))
            first = strcmp(entry->d_name, name) >= 0;
    if (parts)
        closedir(parts);
    return first;
}

static void tell_line(const struct rec_load *load, struct nl_str line)
{
    const char *tab = memchr(line.ptr, '\t', line.len);
    char key[64];
    if (!tab || tab == line.ptr || (size_t)(tab - line.ptr) >= sizeof key)
        return;
    (void)snprintf(key, sizeof key, "%.*s", (int)(tab - line.ptr), line.ptr);
    struct nl_str value = {tab + 1, line.len - (size_t)(tab + 1 - line.ptr)};
    if (value.len)
        nl_builder_meta(load->builder, load->source, key, value);
}

void rec_facts_tell(struct rec_load *load, const char *path)
{
    struct nl_err ignored;
    struct nl_map map;
    const char *slash = strrchr(path, '/');
    const char *folder =
        slash ? nl_arena_text(&load->arena, path, (size_t)(slash - path) + 1) : "./";
    nl_err_clear(&ignored);
    if (!is_first(folder, slash ? slash + 1 : path) ||
        !nl_map_open(&map, nl_arena_format(&load->arena, "%s%s", folder, NL_REC_FACTS), &ignored))
        return;
    const char *at = (const char *)map.bytes;
    size_t left = map.size < MAX_FACTS ? map.size : MAX_FACTS;
    for (int line = 0; left && line < MAX_LINES; line++) {
        const char *end = memchr(at, '\n', left);
        size_t len = end ? (size_t)(end - at) : left;
        tell_line(load, (struct nl_str){at, len});
        len += end != NULL;
        at += len;
        left -= len;
    }
    nl_map_close(&map);
}
