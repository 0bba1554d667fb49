/* See gpuroof.h. A round takes a fifth of a second by the rate that a
 * first, small product shows. */
#include "work/gpuroof.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "work/gpublas.h"

#define NAME_TEXT  128
#define PRODUCTS   16 /* different ones on a machine */
#define ROWS_FIRST 1024
#define MAX_ROWS   8192
#define MIN_ROWS   256
#define ROUND_S    0.2
#define ROUNDS     3
#define MAX_CALLS  2000 /* of a round */
#define PATTERN    ((size_t)1 << 20)
#define MAX_COPIED ((size_t)1 << 29)
#define MIN_COPIED                                                                                 \
    ((size_t)1 << 28) /* read and written: more than any cache (256 MiB on MI300) holds */

struct measuring {
    const struct nl_gpu_roof_sink *sink;
    struct gpu_blas blas;
    char name[NAME_TEXT];
    int ordinal;
    uint8_t *pattern;
};

/* The operands of a product, or both ends of a copy. */
struct operands {
    void *memory[3];
};

static void free_operands(struct measuring *m, struct operands *operands)
{
    for (size_t i = 0; i < 3; i++)
        gpu_blas_free(&m->blas, operands->memory[i]);
    *operands = (struct operands){{NULL}};
}

static bool reserve(struct measuring *m, struct operands *operands, const size_t bytes[3])
{
    *operands = (struct operands){{NULL}};
    for (size_t i = 0; i < 3; i++) {
        operands->memory[i] = bytes[i] ? gpu_blas_alloc(&m->blas, bytes[i]) : NULL;
        if (!bytes[i] || operands->memory[i])
            continue;
        free_operands(m, operands);
        return false;
    }
    return true;
}

/* ---- values ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Finite numbers around one of any sign in that type: random mantissas,
 * exponents of a small range. */
static void fill_pattern(uint8_t *pattern, enum gpu_roof_type type)
{
    uint64_t state = 88172645463325252u;
    unsigned bytes = gpu_roof_types[type].bytes;
    for (size_t at = 0; at < PATTERN; at += bytes) {
        uint64_t random = next_random(&state);
        double value = (double)(random >> 11) / (double)(1ull << 52) - 1;
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        uint16_t half = (uint16_t)((random & 0x83ff) | 0x3800);
        uint16_t brain = (uint16_t)(bits >> 16);
        uint8_t byte = type == GPU_ROOF_FP8 ? (uint8_t)((random & 0x87) | 0x30) : (uint8_t)random;
        const void *from = bytes == 8              ? (const void *)&value
                           : bytes == 4            ? (const void *)&single
                           : type == GPU_ROOF_FP16 ? (const void *)&half
                           : bytes == 2            ? (const void *)&brain
                                                   : (const void *)&byte;
        memcpy(pattern + at, from, bytes);
    }
}

static bool fill_operand(struct measuring *m, void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PATTERN)
        if (!gpu_blas_upload(&m->blas, (char *)memory + at, m->pattern,
                             bytes - at < PATTERN ? bytes - at : PATTERN))
            return false;
    return true;
}

/* ---- rates ---- */

struct task {
    int rows;                /* of a product; 0: a copy */
    enum gpu_roof_type type; /* of a product */
    size_t bytes;            /* of a copy */
    const struct operands *operands;
};

static bool queue(struct measuring *m, const struct task *task, char why[GPU_ROOF_WHY])
{
    void *const *memory = task->operands->memory;
    return task->rows ? gpu_blas_gemm(&m->blas, task->type, task->rows, memory[0], memory[1],
                                      memory[2], why)
                      : gpu_blas_copy(&m->blas, memory[0], memory[1], task->bytes, why);
}

/* Seconds of a call, the mean of `calls` in a row. */
static bool take_time(struct measuring *m, const struct task *task, unsigned calls, double *seconds,
                      char why[GPU_ROOF_WHY])
{
    if (!gpu_blas_begin(&m->blas, why))
        return false;
    for (unsigned i = 0; i < calls; i++)
        if (!queue(m, task, why))
            return false;
    if (!gpu_blas_end(&m->blas, seconds, why))
        return false;
    *seconds /= calls;
    if (*seconds > 0 && *seconds < 1e6)
        return true;
    snprintf(why, GPU_ROOF_WHY, "the GPU's clock told no time");
    return false;
}

/* The least of several rounds; the first call, which loads the kernel, counts in none. */
static bool best_time(struct measuring *m, const struct task *task, double *best,
                      char why[GPU_ROOF_WHY])
{
    double seconds = 0;
    if (!take_time(m, task, 1, &seconds, why) || !take_time(m, task, 1, &seconds, why))
        return false;
    double calls = ROUND_S / seconds;
    unsigned count = calls < 1 ? 1 : calls > MAX_CALLS ? MAX_CALLS : (unsigned)calls;
    *best = seconds;
    for (int round = 0; round < ROUNDS && !m->sink->stop(m->sink->context); round++) {
        if (!take_time(m, task, count, &seconds, why))
            return false;
        *best = seconds < *best ? seconds : *best;
    }
    return true;
}

static void not_measured(struct measuring *m, const char *what, const char *why)
{
    char line[2 * GPU_ROOF_WHY];
    snprintf(line, sizeof line, "GPU %d (%s): %s not measured: %s", m->ordinal, m->name, what, why);
    m->sink->say(m->sink->context, line);
}

/* A product of so many rows, fewer where memory does not hold them. */
static bool time_product(struct measuring *m, enum gpu_roof_type type, int *rows, double *seconds,
                         char why[GPU_ROOF_WHY])
{
    struct operands operands;
    for (; *rows >= MIN_ROWS; *rows /= 2) {
        size_t values = (size_t)*rows * (size_t)*rows;
        size_t in = values * gpu_roof_types[type].bytes;
        const size_t bytes[3] = {in, in, values * gpu_roof_types[type].out_bytes};
        if (!reserve(m, &operands, bytes))
            continue;
        struct task task = {.rows = *rows, .type = type, .operands = &operands};
        bool done =
            fill_operand(m, operands.memory[0], in) && fill_operand(m, operands.memory[1], in);
        if (!done)
            snprintf(why, GPU_ROOF_WHY, "values cannot be copied to the GPU");
        done = done && best_time(m, &task, seconds, why);
        free_operands(m, &operands);
        return done;
    }
    snprintf(why, GPU_ROOF_WHY, "the GPU's memory is full; end other programs there first");
    return false;
}

static void measure_type(struct measuring *m, enum gpu_roof_type type)
{
    char why[GPU_ROOF_WHY];
    const char *name = gpu_roof_types[type].name;
    double seconds = 0, rate = 0;
    int rows = ROWS_FIRST;
    fill_pattern(m->pattern, type);
    bool done = time_product(m, type, &rows, &seconds, why);
    if (done) {
        rate = 2 * pow(rows, 3) / seconds;
        while (rows < MAX_ROWS && 2 * pow(2.0 * rows, 3) / rate < ROUND_S)
            rows *= 2;
        done = rows <= ROWS_FIRST || time_product(m, type, &rows, &seconds, why);
    }
    if (!done) {
        not_measured(m, name, why);
        return;
    }
    rate = fmax(rate, 2 * pow(rows, 3) / seconds);
    struct nl_gpu_roof roof = {m->name, name, m->blas.name, rate, NAN};
    m->sink->add(m->sink->context, &roof);
}

static void measure_memory(struct measuring *m)
{
    char why[GPU_ROOF_WHY] = "the GPU's memory is full; end other programs there first";
    struct operands operands;
    for (size_t bytes = MAX_COPIED; bytes >= MIN_COPIED; bytes /= 2) {
        const size_t sizes[3] = {bytes, bytes, 0};
        double seconds = 0;
        if (!reserve(m, &operands, sizes))
            continue;
        struct task task = {.bytes = bytes, .operands = &operands};
        bool done = best_time(m, &task, &seconds, why);
        free_operands(m, &operands);
        if (!done)
            break;
        struct nl_gpu_roof roof = {m->name, NULL, m->blas.name, NAN, 2 * (double)bytes / seconds};
        m->sink->add(m->sink->context, &roof);
        return;
    }
    not_measured(m, "memory", why);
}

static void measure_device(struct measuring *m)
{
    measure_memory(m);
    for (enum gpu_roof_type type = 0; type < GPU_ROOF_TYPES; type++)
        if (!m->sink->stop(m->sink->context))
            measure_type(m, type);
}

/* Each product once. */
static void measure_all(struct measuring *m)
{
    char seen[PRODUCTS][NAME_TEXT], why[GPU_ROOF_WHY];
    size_t count = 0;
    for (m->ordinal = 0; m->ordinal < m->blas.devices && count < PRODUCTS; m->ordinal++) {
        bool known = false;
        if (m->sink->stop(m->sink->context))
            return;
        if (!gpu_blas_select(&m->blas, m->ordinal, m->name, sizeof m->name, why)) {
            not_measured(m, "roofs", why);
            gpu_blas_leave(&m->blas);
            continue;
        }
        for (size_t i = 0; i < count; i++)
            known |= strcmp(seen[i], m->name) == 0;
        if (!known) {
            memcpy(seen[count++], m->name, sizeof m->name);
            measure_device(m);
        }
        gpu_blas_leave(&m->blas);
    }
}

void nl_gpu_roofs_measure(const struct nl_gpu_roof_sink *sink)
{
    char why[2][GPU_ROOF_WHY], line[3 * GPU_ROOF_WHY];
    bool opened[2];
    struct measuring *m = nl_zalloc(sizeof *m);
    m->sink = sink;
    m->pattern = nl_alloc(PATTERN);
    for (int amd = 0; amd < 2; amd++) {
        opened[amd] = gpu_blas_open(&m->blas, amd == 1, why[amd]);
        if (!opened[amd])
            continue;
        measure_all(m);
        gpu_blas_close(&m->blas);
    }
    if (!opened[0] && !opened[1]) {
        snprintf(line, sizeof line, "no GPU was measured: %s; %s", why[0], why[1]);
        sink->say(sink->context, line);
    }
    nl_free(m->pattern);
    nl_free(m);
}
