/*
 * All programs of test_*.c in one: to link each with every room took longer than to run it.
 * Under the name of a test (there is a hard link for each), or with that as its first argument,
 * it is that test's program.
 */
#include <stdio.h>
#include <string.h>

#include "check.h"

extern const struct check_program *const __start_check_programs[], *const __stop_check_programs[];

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const struct check_program *find(const char *name)
{
    size_t length = strlen(name);
    for (const struct check_program *const *at = __start_check_programs; at < __stop_check_programs;
         at++) {
        const char *file = last_part((*at)->file);
        if (strncmp(file, name, length) == 0 && strcmp(file + length, ".c") == 0)
            return *at;
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const struct check_program *program = argc > 0 ? find(last_part(argv[0])) : NULL;
    if (program)
        return program->run(argc, argv);
    program = argc > 1 ? find(argv[1]) : NULL;
    if (program)
        return program->run(argc - 1, argv + 1);
    fprintf(stderr, "alltests test_NAME [WORD]: runs the tests of tests/unit/test_NAME.c\n");
    return 2;
}
