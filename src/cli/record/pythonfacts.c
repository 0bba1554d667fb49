/* The interpreter's folder gives the rest. */
#define _GNU_SOURCE
#include "cli/record/pythonfacts.h"

#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/chars.h"
#include "base/mem.h"

#define LINE 4096

/* Where exec would find it. */
static const char *find_program(const char *word, struct nl_arena *arena)
{
    const char *path = getenv("PATH");
    if (strchr(word, '/'))
        return word;
    while (path && *path) {
        size_t len = strcspn(path, ":");
        const char *file = nl_arena_format(arena, "%.*s/%s", (int)len, path, word);
        if (len && access(file, X_OK) == 0)
            return file;
        path += len + (path[len] == ':');
    }
    return NULL;
}

static bool is_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strncmp(slash ? slash + 1 : path, "python", 6) == 0;
}

/* "#!/usr/bin/env python3" or "#!/venv/bin/python" of a script. */
static const char *interpreter_of(const char *script, struct nl_arena *arena)
{
    char line[LINE] = "";
    FILE *file = fopen(script, "re");
    bool got = file && fgets(line, sizeof line, file) && strncmp(line, "#!", 2) == 0;
    if (file)
        fclose(file);
    if (!got)
        return NULL;
    char *word = line + 2 + strspn(line + 2, " ");
    word[strcspn(word, "\r\n")] = '\0';
    char *space = strchr(word, ' ');
    if (space && strncmp(space - 3, "env", 3) == 0)
        word = space + 1;
    word[strcspn(word, " ")] = '\0';
    return is_python(word) ? find_program(nl_arena_text(arena, word, strlen(word)), arena) : NULL;
}

/* The value after KEY in the first line that begins with it, without quotes and spaces. */
static const char *value_in(const char *path, const char *key, struct nl_arena *arena)
{
    char line[LINE];
    const char *value = NULL;
    FILE *file = fopen(path, "re");
    while (file && !value && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *at = line + strlen(key);
        at += strspn(at, " \t=\"");
        value = nl_arena_text(arena, at, strcspn(at, " \t\"\r\n"));
    }
    if (file)
        fclose(file);
    return value && nl_is_digit(value[0]) ? value : NULL;
}

static const char *version_of(const char *prefix, struct nl_arena *arena)
{
    glob_t found;
    const char *version =
        value_in(nl_arena_format(arena, "%s/pyvenv.cfg", prefix), "version", arena);
    if (!version && glob(nl_arena_format(arena, "%s/include/python3*/patchlevel.h", prefix), 0,
                         NULL, &found) == 0) {
        if (found.gl_pathc == 1)
            version = value_in(found.gl_pathv[0], "#define PY_VERSION ", arena);
        globfree(&found);
    }
    return version;
}

/* "…/torch-2.5.1.dist-info" → "package torch\t2.5.1" */
static void put_packages(FILE *out, const char *prefix, struct nl_arena *arena)
{
    glob_t found;
    const char *pattern = nl_arena_format(arena,
                                          "%s/{lib,lib64}/python3*/{site,dist}-packages/"
                                          "{torch,tensorflow,jax,jaxlib,onnxruntime,onnxruntime_"
                                          "gpu,numpy,vllm,triton}-[0-9]*.dist-info",
                                          prefix);
    if (glob(pattern, GLOB_BRACE, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *name = strrchr(found.gl_pathv[i], '/') + 1, *dash = strchr(name, '-');
        size_t version = strlen(dash + 1) - strlen(".dist-info");
        fprintf(out, "package %.*s\t%.*s\n", (int)(dash - name), name, (int)version, dash + 1);
    }
    globfree(&found);
}

/* "/venv/bin/python3" → "/venv" */
static const char *prefix_of(const char *path, struct nl_arena *arena)
{
    char *prefix = nl_arena_text(arena, path, strlen(path));
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(prefix, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
    }
    return prefix;
}

/* pyenv puts scripts of the interpreters' names before them on PATH; its
 * version file says which. */
static const char *behind_shim(const char *path, struct nl_arena *arena)
{
    char line[LINE] = "";
    const char *shims = strstr(path, "/shims/"), *version = getenv("PYENV_VERSION");
    if (!shims)
        return path;
    const char *root = nl_arena_text(arena, path, (size_t)(shims - path));
    FILE *file = fopen(nl_arena_format(arena, "%s/version", root), "re");
    if (file && fgets(line, sizeof line, file) && !(version && *version))
        version = line;
    if (file)
        fclose(file);
    if (!version || strstr(version, ".."))
        return path;
    return nl_arena_format(arena, "%s/versions/%.*s/bin/%s", root, (int)strcspn(version, ":\r\n"),
                           version, shims + strlen("/shims/"));
}

void nl_python_facts(FILE *out, const char *program)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    const char *path = find_program(program, &arena);
    if (path && !is_python(path))
        path = interpreter_of(path, &arena);
    path = path ? behind_shim(path, &arena) : NULL;
    const char *prefix = path ? prefix_of(path, &arena) : NULL;
    const char *version = prefix ? version_of(prefix, &arena) : NULL;
    if (prefix)
        put_packages(out, prefix, &arena);
    /* A link (python3 → python3.11, a virtual environment) leads to the installation. */
    char *real = path && !version ? realpath(path, NULL) : NULL;
    if (real)
        version = version_of(prefix_of(real, &arena), &arena);
    if (version)
        fprintf(out, "software.python_version\t%s\n", version);
    nl_free(real);
    nl_arena_free(&arena);
}
