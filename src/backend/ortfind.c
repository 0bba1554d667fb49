/* Patterns of files, expanded in order. */
#define _GNU_SOURCE
#include "backend/ortfind.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __aarch64__
#define NPM_MACHINE "arm64"
#else
#define NPM_MACHINE "x64"
#endif
#define MAX_FOLDERS_UP 64 /* folders above this one */

static bool is_known_path(const struct ort_places *places, const char *path)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->items[i].path, path) == 0)
            return true;
    return false;
}

/* Links are followed, so that libonnxruntime.so and .so.1.20.1 are one. */
static void offer(struct ort_places *places, const char *path, const char *from)
{
    char real[PATH_MAX];
    struct stat info;
    if (!realpath(path, real) || stat(real, &info) != 0 || !S_ISREG(info.st_mode) ||
        is_known_path(places, real))
        return;
    nl_grow(&places->items, &places->cap, places->count + 1);
    places->items[places->count++] =
        (struct ort_place){nl_arena_text(&places->arena, real, strlen(real)), from};
}

/* Newest names last in a pattern's order, so backwards. */
static size_t expand(struct ort_places *places, const char *pattern, const char *from)
{
    glob_t found;
    size_t count = 0;
    if (glob(pattern, 0, NULL, &found) != 0)
        return 0;
    count = found.gl_pathc;
    for (size_t i = count; from && i-- > 0;)
        offer(places, found.gl_pathv[i], from);
    if (!from && !places->useless)
        places->useless =
            nl_arena_text(&places->arena, found.gl_pathv[0], strlen(found.gl_pathv[0]));
    globfree(&found);
    return count;
}

/* `root`/lib/python3.x with its packages. */
static void find_python(struct ort_places *places, const char *root)
{
    static const char *const folders[] = {"site-packages", "dist-packages"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *capi = nl_arena_format(&places->arena, "%s/lib/python3*/%s/onnxruntime/capi",
                                           root, folders[i]);
        if (!expand(places, nl_arena_format(&places->arena, "%s/libonnxruntime.so*", capi),
                    "Python package"))
            expand(places, nl_arena_format(&places->arena, "%s/onnxruntime_pybind11_state*", capi),
                   NULL);
    }
}

/* Calls `visit` with every part of a list joined by colons. */
static void each_part(struct ort_places *places, const char *list,
                      void (*visit)(struct ort_places *places, const char *part))
{
    while (list && *list) {
        size_t len = strcspn(list, ":");
        if (len)
            visit(places, nl_arena_text(&places->arena, list, len));
        list += len + (list[len] == ':');
    }
}

static void visit_libraries(struct ort_places *places, const char *folder)
{
    expand(places, nl_arena_format(&places->arena, "%s/libonnxruntime.so*", folder),
           "library path");
}

/* …/bin on PATH: the packages of a Python in that folder. pyenv puts …/shims there, and its Pythons
 * next to that folder. */
static void visit_program_folder(struct ort_places *places, const char *folder)
{
    const char *python = nl_arena_format(&places->arena, "%s/python3", folder);
    const char *slash = strrchr(folder, '/');
    if (!slash || slash == folder || access(python, X_OK) != 0)
        return;
    const char *root = nl_arena_text(&places->arena, folder, (size_t)(slash - folder));
    find_python(places, strcmp(slash, "/shims") == 0
                            ? nl_arena_format(&places->arena, "%s/versions/*", root)
                            : root);
}

static void visit_modules(struct ort_places *places, const char *folder)
{
    expand(places,
           nl_arena_format(
               &places->arena,
               "%s/onnxruntime-node/bin/napi-v*/linux/" NPM_MACHINE "/libonnxruntime.so*", folder),
           "npm package");
}

static void find_modules_above(struct ort_places *places)
{
    char folder[PATH_MAX];
    if (!getcwd(folder, sizeof folder))
        return;
    for (int i = 0; i < MAX_FOLDERS_UP; i++) {
        visit_modules(places, nl_arena_format(&places->arena, "%s/node_modules", folder));
        char *slash = strrchr(folder, '/');
        if (!slash || slash == folder)
            return;
        *slash = '\0';
    }
}

static void find_system(struct ort_places *places)
{
    static const char *const folders[] = {
        "/usr/local/lib", "/usr/local/lib/*-linux-gnu", "/usr/lib/*-linux-gnu", "/usr/lib64",
        "/usr/lib",       "/opt/onnxruntime*/lib"};
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        expand(places, nl_arena_format(&places->arena, "%s/libonnxruntime.so*", folders[i]),
               "system library");
}

void ort_places_find(struct ort_places *places)
{
    *places = (struct ort_places){0};
    nl_arena_init(&places->arena);
    const char *given = getenv("NEUROLENS_ONNXRUNTIME"), *home = getenv("HOME");
    const char *environment = getenv("VIRTUAL_ENV");
    if (given && *given)
        offer(places, given, "$NEUROLENS_ONNXRUNTIME");
    each_part(places, getenv("LD_LIBRARY_PATH"), visit_libraries);
    if (environment && *environment)
        find_python(places, environment);
    each_part(places, getenv("PATH"), visit_program_folder);
    if (home && *home)
        find_python(places, nl_arena_format(&places->arena, "%s/.local", home));
    find_modules_above(places);
    each_part(places, getenv("NODE_PATH"), visit_modules);
    visit_modules(places, "/usr/local/lib/node_modules");
    visit_modules(places, "/usr/lib/node_modules");
    find_system(places);
}

void ort_places_release(struct ort_places *places)
{
    nl_free(places->items);
    nl_arena_free(&places->arena);
}
