/*
 * check — the whole test framework: one header, one program per module. They are one file under
 * many names (alltests.c), linked once.
 *
 *     #include "check.h"
 *
 *     static void adds_numbers(void)
 *     {
 *         CHECK(1 + 1 == 2);
 *         CHECK_INT(add(1, 1), 2);
 *         for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
 *             check_case(cases[i].name);          // named in failures until the next one
 *             CHECK_TEXT(shout(cases[i].in), cases[i].out);
 *         }
 *     }
 *
 *     CHECK_MAIN("sums", {"adds numbers", adds_numbers}, {"another", another})
 *
 * A failed check prints where and what, marks its test as failed and goes on; REQUIRE leaves the
 * test function. check_skip(reason) marks a test as skipped. Each test prints one line
 * `ok sums: adds numbers`, `FAIL …` or `skipped …: reason`; the program ends with
 * `N passed, N failed, N skipped` and exit 1 when any failed. `test_sums NAME` runs the tests whose
 * name contains NAME. The argument folder of fixtures is check_folder (tests/ in the source tree).
 */
#ifndef CHECK_H
#define CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/wide.h"

#define CHECK_LENGTH(array) (sizeof(array) / sizeof(array)[0])

#ifndef CHECK_FOLDER
#define CHECK_FOLDER "tests"
#endif

struct check_test {
    const char *name;
    void (*run)(void);
};

static struct {
    const char *label;  /* row of a table under test */
    const char *reason; /* of a skip */
    unsigned failures;  /* in the running test */
} check_state;

/* The tests/ folder: fixtures are CHECK_FOLDER "/fixtures/…". */
static const char *const check_folder = CHECK_FOLDER;

/* How many of `whole` draws of a randomised test are made: all of them in `make test`, a quarter
 * under sanitizers, where each takes five times as long, and in `make check`. */
static inline int check_draws(int whole)
{
#ifdef NL_SANITIZED
    return whole / 4;
#else
    return getenv("CHECK_BRIEF") ? whole / 4 : whole;
#endif
}

static inline void check_case(const char *label)
{
    check_state.label = label;
}

static inline void check_skip(const char *reason)
{
    check_state.reason = reason;
}

static inline void check_failed(const char *file, int line)
{
    check_state.failures++;
    printf("    %s:%d: ", file, line);
    if (check_state.label)
        printf("[%s] ", check_state.label);
}

static inline bool check_true(bool ok, const char *what, const char *file, int line)
{
    if (!ok) {
        check_failed(file, line);
        printf("%s is false\n", what);
    }
    return ok;
}

static inline bool check_int(int64_t got, int64_t want, const char *what, const char *file,
                             int line)
{
    if (got == want)
        return true;
    check_failed(file, line);
    printf("%s is %" PRId64 ", want %" PRId64 "\n", what, got, want);
    return false;
}

static inline bool check_near(double got, double want, double within, const char *what,
                              const char *file, int line)
{
    if ((isnan(got) && isnan(want)) || fabs(got - want) <= within)
        return true;
    check_failed(file, line);
    printf("%s is %.17g, want %.17g\n", what, got, want);
    return false;
}

static inline bool check_str(struct nl_str got, struct nl_str want, const char *what,
                             const char *file, int line)
{
    if ((got.ptr == NULL) == (want.ptr == NULL) && nl_str_eq(got, want))
        return true;
    check_failed(file, line);
    printf("%s is %s%.*s%s, want %s%.*s%s\n", what, got.ptr ? "\"" : "NULL", (int)got.len,
           got.ptr ? got.ptr : "", got.ptr ? "\"" : "", want.ptr ? "\"" : "NULL", (int)want.len,
           want.ptr ? want.ptr : "", want.ptr ? "\"" : "");
    return false;
}

#define CHECK(condition) (void)check_true((condition), #condition, __FILE__, __LINE__)
#define CHECK_INT(got, want)                                                                       \
    (void)check_int((int64_t)(got), (int64_t)(want), #got, __FILE__, __LINE__)
#define CHECK_TEXT(got, want) (void)check_str(nl_str(got), nl_str(want), #got, __FILE__, __LINE__)
#define CHECK_STR(got, want)  (void)check_str((got), nl_str(want), #got, __FILE__, __LINE__)
#define CHECK_NEAR(got, want, within)                                                              \
    (void)check_near((got), (want), (within), #got, __FILE__, __LINE__)
/* Leaves the test function (which returns void) when it does not hold. */
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!check_true((condition), #condition, __FILE__, __LINE__))                              \
            return;                                                                                \
    } while (0)

static inline int check_run(const char *module, const struct check_test *tests, size_t count,
                            const char *only)
{
    unsigned passed = 0, failed = 0, skipped = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < count; i++) {
        if (only && !strstr(tests[i].name, only))
            continue;
        memset(&check_state, 0, sizeof check_state);
        tests[i].run();
        if (check_state.failures) {
            failed++;
            printf("FAIL %s: %s\n", module, tests[i].name);
        } else if (check_state.reason) {
            skipped++;
            printf("skipped %s: %s: %s\n", module, tests[i].name, check_state.reason);
        } else {
            passed++;
            printf("ok %s: %s\n", module, tests[i].name);
        }
    }
    printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);
    return failed ? 1 : 0;
}

/* The program of a source: alltests.c finds it by the name of the file, among those that the
 * linker puts side by side. */
struct check_program {
    const char *file; /* …/test_sums.c */
    int (*run)(int argc, char **argv);
};

#define CHECK_PROGRAM(function)                                                                    \
    static const struct check_program check_program = {__FILE__, function};                        \
    __attribute__((                                                                                \
        used,                                                                                      \
        section("check_programs"))) static const struct check_program *const check_program_here =  \
        &check_program;

#define CHECK_MAIN(module, ...)                                                                    \
    static int check_main(int argc, char **argv)                                                   \
    {                                                                                              \
        static const struct check_test tests[] = {__VA_ARGS__};                                    \
        (void)check_folder;                                                                        \
        return check_run(module, tests, CHECK_LENGTH(tests), argc > 1 ? argv[1] : NULL);           \
    }                                                                                              \
    CHECK_PROGRAM(check_main)

#endif
