/* cpuroof — see cpuroof.h. A loop per width of vectors; which one runs is
 * asked of the processor. */
#include "work/cpuroof.h"

#include <pthread.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/mem.h"

#define CHAINS      10         /* independent: hides the latency of a multiply-add */
#define BATCH       2000       /* multiply-adds per chain between looks at the clock */
#define MAX_DOUBLES (1u << 21) /* per array and thread: 16 MiB */
#define MIN_DOUBLES (1u << 19) /* with many threads, whose arrays fill memory together */
#define ROUNDS      3

static double now(void)
{
    return (double)nl_monotonic_ns() / 1e9;
}

/* A batch of multiply-adds on vectors of BYTES; returns something that depends on all of them. */
#define FMA_LOOP(name, type, bytes, attributes)                                                    \
    attributes static type name(type seed)                                                         \
    {                                                                                              \
        typedef type vector __attribute__((vector_size(bytes)));                                   \
        vector sum[CHAINS], scale = {0}, shift = {0};                                              \
        scale += (type)0.999;                                                                      \
        shift += seed;                                                                             \
        for (int i = 0; i < CHAINS; i++)                                                           \
            sum[i] = shift * (type)(i + 1);                                                        \
        for (int k = 0; k < BATCH; k++)                                                            \
            for (int i = 0; i < CHAINS; i++)                                                       \
                sum[i] = sum[i] * scale + shift;                                                   \
        type all = 0;                                                                              \
        for (int i = 0; i < CHAINS; i++)                                                           \
            all += sum[i][0];                                                                      \
        return all;                                                                                \
    }

#if defined(__x86_64__)
FMA_LOOP(fma_512, float, 64, __attribute__((target("avx512f,fma"), noinline)))
FMA_LOOP(fma_256, float, 32, __attribute__((target("avx2,fma"), noinline)))
FMA_LOOP(fma64_512, double, 64, __attribute__((target("avx512f,fma"), noinline)))
FMA_LOOP(fma64_256, double, 32, __attribute__((target("avx2,fma"), noinline)))
#endif
FMA_LOOP(fma_base, float, 16, __attribute__((noinline)))
FMA_LOOP(fma64_base, double, 16, __attribute__((noinline)))

struct loop {
    float (*run)(float seed);
    double (*run64)(double seed);
    unsigned lanes; /* floats of a vector; half as many doubles */
    const char *name;
};

static struct loop choose_loop(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f"))
        return (struct loop){fma_512, fma64_512, 16, "AVX-512"};
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return (struct loop){fma_256, fma64_256, 8, "AVX2"};
#endif
#if defined(__aarch64__)
    return (struct loop){fma_base, fma64_base, 4, "NEON"};
#else
    return (struct loop){fma_base, fma64_base, 4, "baseline"};
#endif
}

/* Closed until every thread runs; `leave`: one could not be started, so all go home. */
struct gate {
    pthread_mutex_t lock;
    pthread_barrier_t start;
    bool leave;
};

struct worker {
    pthread_t thread;
    struct gate *gate;
    struct loop loop;
    double seconds;               /* of a loop and round */
    double flops, flops64, bytes; /* per second, the best of the rounds */
    double *arrays;               /* a, b, c, of `doubles` each */
    uint32_t doubles;
    volatile float result;
};

static double run_fma(struct worker *worker)
{
    uint64_t batches = 0;
    double begin = now(), end = begin;
    float value = 0.001f;
    for (; end - begin < worker->seconds; end = now()) {
        for (int i = 0; i < 16; i++)
            value = worker->loop.run(value * 1e-9f + 0.001f);
        batches += 16;
    }
    worker->result = value;
    return 2.0 * CHAINS * BATCH * worker->loop.lanes * (double)batches / (end - begin);
}

static double run_fma64(struct worker *worker)
{
    uint64_t batches = 0;
    double begin = now(), end = begin, value = 0.001;
    for (; end - begin < worker->seconds; end = now()) {
        for (int i = 0; i < 16; i++)
            value = worker->loop.run64(value * 1e-9 + 0.001);
        batches += 16;
    }
    worker->result = (float)value;
    return 2.0 * CHAINS * BATCH * (worker->loop.lanes / 2) * (double)batches / (end - begin);
}

__attribute__((noinline)) static void triad(double *restrict a, const double *restrict b,
                                            const double *restrict c, double scale,
                                            uint32_t doubles)
{
    for (uint32_t i = 0; i < doubles; i++)
        a[i] = b[i] + scale * c[i];
}

static double run_triad(struct worker *worker)
{
    double *a = worker->arrays, *b = a + worker->doubles, *c = b + worker->doubles;
    uint64_t passes = 0;
    double begin = now(), end = begin;
    for (; end - begin < worker->seconds; end = now()) {
        triad(a, b, c, 1.0 + (double)passes, worker->doubles);
        passes++;
    }
    worker->result = (float)a[passes % worker->doubles];
    return 3.0 * sizeof(double) * worker->doubles * (double)passes / (end - begin);
}

static void *work(void *context)
{
    struct worker *worker = context;
    pthread_mutex_lock(&worker->gate->lock);
    bool leave = worker->gate->leave;
    pthread_mutex_unlock(&worker->gate->lock);
    if (leave)
        return NULL;
    for (size_t i = 0; i < (size_t)3 * worker->doubles; i++)
        worker->arrays[i] = 1.0; /* touched here, so that its pages are near */
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_wait(&worker->gate->start);
        double flops = run_fma(worker);
        worker->flops = flops > worker->flops ? flops : worker->flops;
        pthread_barrier_wait(&worker->gate->start);
        double flops64 = run_fma64(worker);
        worker->flops64 = flops64 > worker->flops64 ? flops64 : worker->flops64;
        pthread_barrier_wait(&worker->gate->start);
        double bytes = run_triad(worker);
        worker->bytes = bytes > worker->bytes ? bytes : worker->bytes;
    }
    return NULL;
}

/* Starts all but the first, which is the caller. */
static bool start_others(struct worker *workers, unsigned threads)
{
    struct gate *gate = workers->gate;
    unsigned started = 1;
    pthread_mutex_lock(&gate->lock);
    while (started < threads &&
           !pthread_create(&workers[started].thread, NULL, work, &workers[started]))
        started++;
    gate->leave = started < threads;
    pthread_mutex_unlock(&gate->lock);
    if (!gate->leave)
        return true;
    while (started-- > 1)
        pthread_join(workers[started].thread, NULL);
    return false;
}

bool nl_cpu_roof_measure(unsigned threads, unsigned milliseconds, struct nl_cpu_roof *roof)
{
    struct worker *workers = nl_zalloc(threads * sizeof *workers);
    struct gate gate = {.leave = false};
    uint32_t doubles = threads > 8 ? MAX_DOUBLES / threads * 8 : MAX_DOUBLES;
    doubles = doubles < MIN_DOUBLES ? MIN_DOUBLES : doubles;
    *roof = (struct nl_cpu_roof){.threads = threads, .instructions = choose_loop().name};
    pthread_mutex_init(&gate.lock, NULL);
    pthread_barrier_init(&gate.start, NULL, threads);
    for (unsigned i = 0; i < threads; i++)
        workers[i] =
            (struct worker){.gate = &gate,
                            .loop = choose_loop(),
                            .seconds = milliseconds / 1e3,
                            .doubles = doubles,
                            .arrays = nl_alloc((size_t)3 * doubles * sizeof *workers[i].arrays)};
    bool all = start_others(workers, threads);
    if (all) {
        work(&workers[0]);
        for (unsigned i = 1; i < threads; i++)
            pthread_join(workers[i].thread, NULL);
    }
    for (unsigned i = 0; i < threads; i++) {
        roof->flops_per_s += workers[i].flops;
        roof->fp64_flops_per_s += workers[i].flops64;
        roof->bytes_per_s += workers[i].bytes;
        nl_free(workers[i].arrays);
    }
    pthread_barrier_destroy(&gate.start);
    pthread_mutex_destroy(&gate.lock);
    nl_free(workers);
    return all;
}
