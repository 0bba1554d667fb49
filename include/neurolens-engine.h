/*
 * neurolens-engine.h — reads profiles inside your program: libneurolens.
 *
 *     struct nlens_error *error = NULL;
 *     const char *files[] = {"run.sqlite"};
 *     struct nlens_profile *profile = nlens_open(files, 1, NULL, &error);
 *     struct nlens_answer *answer =
 *         profile ? nlens_sql(profile, "SELECT name, dur FROM kernels", NULL, &error) : NULL;
 *     if (answer) {
 *         struct ArrowArrayStream stream;
 *         nlens_answer_stream(answer, &stream);
 *         ... stream.get_next(&stream, &array) ...
 *     } else {
 *         fprintf(stderr, "%s\n", nlens_error_text(error));
 *     }
 *     nlens_error_free(error);
 *     nlens_answer_free(answer);
 *     nlens_close(profile);
 *
 * C11 and C++11; link with -lneurolens (`pkg-config --libs neurolens-engine`).
 * Symbols are versioned: a program that was linked with an older library runs with
 * every newer one of the same soname.
 *
 * Any thread may call anything at any time; one profile may be asked by several threads at once.
 * Functions that can fail take `struct nlens_error **error` last: on failure they make one there
 * (unless `error` is NULL), on success they leave it alone. Times are nanoseconds.
 *
 * What the library cannot promise: when the system itself gives no more memory, the process ends
 * with a message, as the command does; and a profile must not be cut by others while it is open
 * (SIGBUS), since it is mapped.
 */
#ifndef NEUROLENS_ENGINE_H
#define NEUROLENS_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Arrow's C data and C stream interfaces (https://arrow.apache.org/docs/format/CDataInterface.html); the guards are
 * those that every header with these structures uses ---- */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE           2
#define ARROW_FLAG_MAP_KEYS_SORTED    4

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

struct nlens_profile;
struct nlens_task;
struct nlens_error;

/* "0.1.0": of the library that runs, not of this header. */
const char *nlens_version(void);

/* ---- Errors ---- */

/* One line for people: file, place, what is wrong, what to do next. */
const char *nlens_error_text(const struct nlens_error *error);
/* The exit status that the command has for it: 2 wrong use, 4 input, 5 surroundings,
 * 70 a bug, 130 cancelled. */
int nlens_error_status(const struct nlens_error *error);
/* "NL_FORMAT" and so on. */
const char *nlens_error_name(const struct nlens_error *error);
/* The file that it is about, "" when there is none; and the byte there, -1
 * when that is not known. */
const char *nlens_error_file(const struct nlens_error *error);
int64_t nlens_error_offset(const struct nlens_error *error);
void nlens_error_free(struct nlens_error *error); /* NULL is fine */

/* ---- Tasks: to cancel a call from another thread, and to see how far it is ---- */

struct nlens_task *nlens_task_new(void);
/* The call that was given the task fails soon, with status 130; so does every later one.
 * Safe in a signal handler. */
void nlens_task_cancel(struct nlens_task *task);
/* After every call that was given it. */
void nlens_task_free(struct nlens_task *task);

/* ---- Profiles ---- */

struct nlens_options {
    size_t size; /* sizeof(struct nlens_options): members are only ever appended */
    /* that each call may take beyond what the process has when it begins; 0 = half of what is free
     * then. Over it a call fails with status 5 */
    uint64_t memory_bytes;
    uint32_t threads; /* 0 = one per processor */
    /* a folder for imported profiles, so that the next reading takes milliseconds; NULL = none */
    const char *cache;
    struct nlens_task *task;
    /* a ledger's folder: "@", "@~1", an id or a tag then open its runs; NULL = files alone */
    const char *ledger;
};

/* Reads files, folders and globs of any supported format as one profile, or a run of a ledger.
 * `options` may be NULL. NULL when it fails. */
struct nlens_profile *nlens_open(const char *const *paths, size_t count,
                                 const struct nlens_options *options, struct nlens_error **error);
/* A part of a profile, in the words that the command takes in brackets: "step=10:20" (10 to 19),
 * "1.2s:1.5s", "nvtx=forward*", "rank=3", "gpu=0", joined with commas: all must hold, and so must
 * those of a profile that is a part itself. It shares the profile's memory and is closed like one,
 * before it or after. Reports and exports are of the part; nlens_sql reads whole profiles and
 * refuses, with the WHERE to write instead. NULL when it fails: status 2 where no such step,
 * range, rank or device is. */
struct nlens_profile *nlens_window(struct nlens_profile *profile, const char *window,
                                   struct nlens_error **error);

/* Streams that were made from it, and its windows, stay valid. NULL is fine. */
void nlens_close(struct nlens_profile *profile);

/*
 * What `neurolens analyze` or `neurolens info` print: `what` is "analyze" or "info", `section` one
 * analysis ("kernels") or NULL for all, `format` "json", "text", "md" or "csv". The text ends with
 * NUL, is nlens_free'd by the caller, and *length (may be NULL) gets its bytes. NULL when it fails.
 */
char *nlens_report(struct nlens_profile *profile, const char *what, const char *section,
                   const char *format, struct nlens_task *task, size_t *length,
                   struct nlens_error **error);

/*
 * One SELECT (tables: docs/sql.md); NULL when it fails. Of several statements the last that
 * returns columns is the answer.
 *
 * Its columns are int64, float64 or large_utf8, all nullable; a column without any value is of type
 * null, and one that mixes numbers and texts is large_utf8. Where a column's unit is known ("ns",
 * "bytes", …) its metadata has it under "unit".
 */
struct nlens_answer;
struct nlens_answer *nlens_sql(struct nlens_profile *profile, const char *query,
                               struct nlens_task *task, struct nlens_error **error);
int64_t nlens_answer_rows(const struct nlens_answer *answer);
/* A stream of Arrow over the answer's own memory: who takes it copies nothing. It may be asked for
 * any number of times, and what was taken outlives the answer. */
void nlens_answer_stream(const struct nlens_answer *answer, struct ArrowArrayStream *stream);
void nlens_answer_free(struct nlens_answer *answer); /* NULL is fine */

/* Writes the profile in another format ("perfetto", "chrome", "speedscope", … as `neurolens export
 * --help` lists those that are one file) to a file that is made or replaced. False when it fails;
 * then there may be a part of the file. */
bool nlens_export(struct nlens_profile *profile, const char *format, const char *path,
                  struct nlens_task *task, struct nlens_error **error);

void nlens_free(void *memory); /* what nlens_report gave */

#ifdef __cplusplus
}
#endif
#endif
