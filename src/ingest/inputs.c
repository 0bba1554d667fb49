/* Names to files. */
#define _GNU_SOURCE
#include "ingest/inputs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "base/units.h"

#define MAX_FILES 100000u

static void add(struct nl_inputs *inputs, const char *path, bool from_folder)
{
    for (size_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->items[i].path, path) == 0)
            return;
    nl_grow(&inputs->items, &inputs->cap, inputs->count + 1);
    inputs->items[inputs->count++] =
        (struct nl_path){nl_arena_text(&inputs->arena, path, strlen(path)), from_folder};
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
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char *path = nl_arena_format(&inputs->arena, "%s/%s", folder, name);
        if (name[0] != '.' && inputs->count < MAX_FILES && is_regular(path))
            add(inputs, path, true);
        nl_free(entries[i]); /* scandir's memory is malloc's, as ours */
    }
    nl_free(entries);
    if (inputs->count > before)
        return true;
    nl_err_at(err, folder, -1);
    return nl_fail(err, NL_IO, "this folder holds no files");
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
        if (is_regular(found.gl_pathv[i]))
            add(inputs, found.gl_pathv[i], true);
    globfree(&found);
    return true;
}

static bool add_name(struct nl_inputs *inputs, const char *path, struct nl_err *err)
{
    struct stat info;
    if (strcmp(path, "-") == 0 || stat(path, &info) == 0) {
        if (strcmp(path, "-") != 0 && S_ISDIR(info.st_mode))
            return add_folder(inputs, path, err);
        add(inputs, path, false);
        return true;
    }
    if (errno == ENOENT && strpbrk(path, "*?["))
        return add_glob(inputs, path, err);
    nl_err_at(err, path, -1);
    return nl_fail(err, NL_IO, "cannot open: %s", strerror(errno));
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
    nl_free(inputs->items);
    nl_arena_free(&inputs->arena);
    *inputs = (struct nl_inputs){0};
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
        while (end < text.len && isdigit((unsigned char)text.ptr[end]))
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
