/*
 * Stand-ins for the libraries that `neurolens roof` opens on machines with GPUs: NVIDIA's driver
 * with cuBLAS and cuBLASLt, AMD's HIP runtime with rocBLAS. They check every argument as the real
 * libraries document them (order, leading dimensions, types, scalars, sizes of what pointers lead
 * to, a current context) and keep a clock that runs as fast as a device with known rates would, so
 * that a measurement has one right answer. What is wrong goes to $MOCK_LOG.
 *
 *     cc -shared -fPIC -DRUNTIME -DCUDA -o libcuda.so.1     ...    -DBLAS -DCUDA libcublas.so.12, -DLT -DCUDA libcublasLt.so.12
 *     cc -shared -fPIC -DRUNTIME -o libamdhip64.so.6        ...    -DBLAS librocblas.so.4
 *
 * $MOCK_GPU: none, init, full (no memory), small (64 MiB a piece), nofp8, nobf16, two (two
 * devices of one product).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD(text) (getenv("MOCK_GPU") && strcmp(getenv("MOCK_GPU"), text) == 0)

int mock_check(int holds, const char *what);
void mock_work(const char *kind, double seconds, double size);
int mock_holds(const void *memory, double bytes);
int mock_current(void);

#ifdef RUNTIME
#define PIECES 64
static struct {
    char *memory;
    size_t bytes;
} pieces[PIECES];
static struct event {
    double at;
    int alive;
} events[64];
static double now;
static int current, retained, made;
static char seen[64][48];

int mock_check(int holds, const char *what)
{
    FILE *log = !holds && getenv("MOCK_LOG") ? fopen(getenv("MOCK_LOG"), "a") : NULL;
    if (log) {
        fprintf(log, "%s\n", what);
        fclose(log);
    }
    return holds;
}

/* The first call of a kind and size takes a second longer: kernels are loaded then. */
void mock_work(const char *kind, double seconds, double size)
{
    char key[48];
    snprintf(key, sizeof key, "%s %.0f", kind, size);
    for (int i = 0; i < 64; i++) {
        if (strcmp(seen[i], key) == 0)
            break;
        if (!seen[i][0]) {
            strcpy(seen[i], key);
            now += 1;
            break;
        }
    }
    now += seconds;
}

int mock_current(void)
{
    return mock_check(current, "no context is current");
}

int mock_holds(const void *memory, double bytes)
{
    for (int i = 0; i < PIECES; i++)
        if (pieces[i].memory && (const char *)memory >= pieces[i].memory &&
            (double)((const char *)memory - pieces[i].memory) + bytes <= (double)pieces[i].bytes)
            return 1;
    return mock_check(0, "a pointer leads to less memory than is used");
}

__attribute__((destructor)) static void leave(void)
{
    for (int i = 0; i < PIECES; i++)
        mock_check(!pieces[i].memory, "memory was not freed");
    for (int i = 0; i < 64; i++)
        mock_check(!events[i].alive, "an event was not destroyed");
    mock_check(retained == 0, "a context was not released");
}

#ifdef CUDA
#define NAME(cuda, hip) cuda
#else
#define NAME(cuda, hip) hip
#endif
int NAME(cuInit, hipInit)(unsigned flags)
{
    mock_check(flags == 0, "init takes 0");
    return WORD("init") ? 100 : 0;
}
int NAME(cuDeviceGetCount, hipGetDeviceCount)(int *count)
{
    *count = WORD("none") ? 0 : WORD("two") ? 2 : 1;
    return 0;
}
int NAME(cuDeviceGet, hipDeviceGet)(int *device, int ordinal)
{
    *device = ordinal + 40;
    return 0;
}
int NAME(cuDeviceGetName, hipDeviceGetName)(char *text, int room, int device)
{
    mock_check(device >= 40 && room >= 64, "a device, and room for its name");
    snprintf(text, (size_t)room, "%s", NAME("NVIDIA Stand-in 9000", "AMD Instinct Stand-in"));
    return 0;
}
#ifdef CUDA
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    mock_check(device >= 40, "retain takes the device, not its ordinal");
    retained++;
    *context = &current;
    return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device)
{
    mock_check(device >= 40 && retained > 0, "release of a device that was retained");
    retained--;
    return 0;
}
int cuCtxSetCurrent(void *context)
{
    current = context == &current;
    return 0;
}
int cuGetErrorString(int code, const char **text)
{
    *text = code == 100 ? "no CUDA-capable device is detected"
            : code == 2 ? "out of memory"
                        : "unknown";
    return 0;
}
#else
int hipSetDevice(int ordinal)
{
    current = mock_check(ordinal >= 0 && ordinal < 40, "hipSetDevice takes the ordinal");
    return 0;
}
const char *hipGetErrorString(int code)
{
    return code == 100 ? "no ROCm-capable device is detected" : "unknown";
}
#endif
int NAME(cuMemAlloc_v2, hipMalloc)(void **memory, size_t bytes)
{
    if (!mock_current() || WORD("full") || (WORD("small") && bytes > (size_t)64 << 20))
        return 2;
    for (int i = 0; i < PIECES; i++)
        if (!pieces[i].memory) { /* an address alone: nobody may look at a device's memory */
            pieces[i].memory = (char *)(uintptr_t)(((uintptr_t)i + 1) << 40);
            pieces[i].bytes = bytes;
            *memory = pieces[i].memory;
            return 0;
        }
    return 2;
}
int NAME(cuMemFree_v2, hipFree)(void *memory)
{
    for (int i = 0; i < PIECES; i++)
        if (pieces[i].memory == memory) {
            pieces[i].memory = NULL;
            return 0;
        }
    mock_check(0, "free of memory that is none");
    return 1;
}
int NAME(cuMemcpyHtoD_v2, hipMemcpyHtoD)(void *to, const void *from, size_t bytes)
{
    return mock_holds(to, (double)bytes) && from ? 0 : 1;
}
int NAME(cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync)(void *to, const void *from, size_t bytes,
                                                   void *stream)
{
    mock_check(to != from && !stream, "a copy between two pieces on the default stream");
    if (!mock_holds(to, (double)bytes) || !mock_holds(from, (double)bytes))
        return 1;
    mock_work("copy", 2 * (double)bytes / 3e12, (double)bytes);
    return 0;
}
int NAME(cuEventCreate, hipEventCreateWithFlags)(void **event, unsigned flags)
{
    mock_check(flags == 0 && made < 64, "an event that takes the time");
    events[made].alive = 1;
    *event = &events[made++];
    return 0;
}
int NAME(cuEventRecord, hipEventRecord)(void *event, void *stream)
{
    mock_check(!stream, "the default stream");
    ((struct event *)event)->at = now;
    return 0;
}
int NAME(cuEventSynchronize, hipEventSynchronize)(void *event)
{
    return ((struct event *)event)->alive ? 0 : 1;
}
int NAME(cuEventElapsedTime, hipEventElapsedTime)(float *ms, void *from, void *to)
{
    *ms = (float)((((struct event *)to)->at - ((struct event *)from)->at) * 1e3);
    return 0;
}
int NAME(cuEventDestroy_v2, hipEventDestroy)(void *event)
{
    ((struct event *)event)->alive = 0;
    return 0;
}
#endif

#if defined(BLAS) || defined(LT)
static int handle;

/* A square product Aᵀ·B: the operands' elements take `in` and `out` bytes. */
static int product(const char *kind, double rate, double n, const void *a, const void *b,
                   const void *c, int in, int out)
{
    if (!mock_current() || !mock_holds(a, n * n * in) || !mock_holds(b, n * n * in) ||
        !mock_holds(c, n * n * out))
        return 7;
    mock_check(a != b && b != c && a != c, "three matrices");
    mock_work(kind, 2 * n * n * n / rate, n);
    return 0;
}

static int scalars(const void *alpha, const void *beta, int which)
{
    double one = which == 2   ? *(const double *)alpha
                 : which == 1 ? *(const int32_t *)alpha
                              : *(const float *)alpha;
    double zero = which == 2   ? *(const double *)beta
                  : which == 1 ? *(const int32_t *)beta
                               : *(const float *)beta;
    return mock_check(one == 1 && zero == 0, "alpha is 1 and beta 0, in the type of the scale");
}
#endif

#if defined(BLAS) && defined(CUDA)
int cublasCreate_v2(void **made_handle)
{
    *made_handle = &handle;
    return mock_current() ? 0 : 1;
}
int cublasDestroy_v2(void *old)
{
    return mock_check(old == &handle, "a handle of cuBLAS") ? 0 : 1;
}
const char *cublasGetStatusString(int code)
{
    return code == 15 ? "the requested functionality is not supported" : "unknown";
}
int cublasGemmEx(void *with, int flip_a, int flip_b, int m, int n, int k, const void *alpha,
                 const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                 const void *beta, void *c, int c_type, int ldc, int compute, int algorithm)
{
    static const struct {
        const char *name;
        int in, out, compute, bytes, out_bytes, scale;
        double rate;
    } types[] = {{"fp64", 1, 1, 70, 8, 8, 2, 5e13},   {"fp32", 0, 0, 69, 4, 4, 0, 4e13},
                 {"tf32", 0, 0, 77, 4, 4, 0, 3e14},   {"fp16", 2, 2, 68, 2, 2, 0, 7e14},
                 {"bf16", 14, 14, 68, 2, 2, 0, 8e14}, {"int8", 3, 10, 72, 1, 4, 1, 1.5e15}};
    mock_check(with == &handle && flip_a == 1 && flip_b == 0 && m == n && n == k && algorithm == -1,
               "square A^T B");
    mock_check(lda == k && ldb == k && ldc == m && n % 16 == 0, "leading dimensions");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (a_type == types[i].in && b_type == types[i].in && c_type == types[i].out &&
            compute == types[i].compute) {
            if (WORD("nobf16") && a_type == 14)
                return 15;
            scalars(alpha, beta, types[i].scale);
            return product(types[i].name, types[i].rate, n, a, b, c, types[i].bytes,
                           types[i].out_bytes);
        }
    mock_check(0, "cuBLAS has no such types");
    return 15;
}
#endif

#if defined(LT)
struct part {
    int kind, compute, scale, flips[2];
    int64_t type, rows, columns, ld;
};
int cublasLtCreate(void **made_handle)
{
    *made_handle = &handle;
    return 0;
}
int cublasLtDestroy(void *old)
{
    return mock_check(old == &handle, "a handle of cuBLASLt") ? 0 : 1;
}
int cublasLtMatmulDescCreate(void **made_product, int compute, int scale)
{
    struct part *part = calloc(1, sizeof *part);
    *part = (struct part){.kind = 1, .compute = compute, .scale = scale, .flips = {-1, -1}};
    *made_product = part;
    return 0;
}
int cublasLtMatmulDescDestroy(void *old)
{
    mock_check(((struct part *)old)->kind == 1, "a product");
    free(old);
    return 0;
}
int cublasLtMatmulDescSetAttribute(void *of, int attribute, const void *value, size_t bytes)
{
    mock_check((attribute == 3 || attribute == 4) && bytes == 4, "TRANSA or TRANSB, of 32 bits");
    ((struct part *)of)->flips[attribute - 3] = *(const int32_t *)value;
    return 0;
}
int cublasLtMatrixLayoutCreate(void **made_layout, int type, uint64_t rows, uint64_t columns,
                               int64_t ld)
{
    struct part *part = calloc(1, sizeof *part);
    *part = (struct part){
        .kind = 2, .type = type, .rows = (int64_t)rows, .columns = (int64_t)columns, .ld = ld};
    *made_layout = part;
    return 0;
}
int cublasLtMatrixLayoutDestroy(void *old)
{
    mock_check(((struct part *)old)->kind == 2, "a layout");
    free(old);
    return 0;
}
int cublasLtMatmul(void *with, void *of, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                   void *stream)
{
    const struct part *p = of, *la = a_layout, *lb = b_layout, *lc = c_layout, *ld = d_layout;
    mock_check(with == &handle && p->kind == 1 && p->compute == 68 && p->scale == 0,
               "FP32 compute and scale");
    mock_check(p->flips[0] == 1 && p->flips[1] == 0, "FP8 takes A^T B alone");
    mock_check(la->type == 28 && lb->type == 28 && lc->type == 14 && ld->type == 14,
               "E4M3 to BF16");
    mock_check(la->rows == la->ld && la->columns == lb->columns && lb->rows == la->rows &&
                   ld->rows == la->rows && ld->ld == ld->rows && la->rows % 16 == 0,
               "layouts");
    mock_check(c == d && !algorithm && !workspace && !bytes && !stream,
               "no workspace, default stream");
    scalars(alpha, beta, 0);
    if (WORD("nofp8"))
        return 15;
    return product("fp8", 1.6e15, (double)la->rows, a, b, d, 1, 2);
}
#endif

#if defined(BLAS) && !defined(CUDA)
int rocblas_create_handle(void **made_handle)
{
    *made_handle = &handle;
    return mock_current() ? 0 : 1;
}
int rocblas_destroy_handle(void *old)
{
    return mock_check(old == &handle, "a handle of rocBLAS") ? 0 : 1;
}
const char *rocblas_status_to_string(int code)
{
    return code == 2 ? "rocblas_status_not_implemented" : "unknown";
}
int rocblas_gemm_ex(void *with, int flip_a, int flip_b, int m, int n, int k, const void *alpha,
                    const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                    const void *beta, const void *c, int c_type, int ldc, void *d, int d_type,
                    int ldd, int compute, int algorithm, int32_t solution, uint32_t flags)
{
    static const struct {
        const char *name;
        int in, out, compute, bytes, out_bytes, scale;
        double rate;
    } types[] = {{"fp64", 152, 152, 152, 8, 8, 2, 1e14},
                 {"fp32", 151, 151, 151, 4, 4, 0, 1.2e14},
                 {"fp16", 150, 150, 151, 2, 2, 0, 9e14},
                 {"bf16", 168, 168, 151, 2, 2, 0, 1e15},
                 {"int8", 160, 162, 162, 1, 4, 1, 2e15}};
    mock_check(with == &handle && flip_a == 112 && flip_b == 111 && m == n && n == k,
               "square A^T B");
    mock_check(lda == k && ldb == k && ldc == m && ldd == m && c == d && c_type == d_type,
               "leading dimensions");
    mock_check(algorithm == 0 && solution == 0 && flags == 0, "the standard algorithm");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (a_type == types[i].in && b_type == types[i].in && c_type == types[i].out &&
            compute == types[i].compute) {
            scalars(alpha, beta, types[i].scale);
            return product(types[i].name, types[i].rate, n, a, b, d, types[i].bytes,
                           types[i].out_bytes);
        }
    mock_check(0, "rocBLAS has no such types");
    return 2;
}
#endif
