/* See gpublas.h. Numbers of types and operations are those of the libraries'
 * interfaces, which never change. */
#include "work/gpublas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const struct gpu_roof_type_def gpu_roof_types[GPU_ROOF_TYPES] = {
    [GPU_ROOF_FP64] = {"fp64", 8, 8}, [GPU_ROOF_FP32] = {"fp32", 4, 4},
    [GPU_ROOF_TF32] = {"tf32", 4, 4}, [GPU_ROOF_FP16] = {"fp16", 2, 2},
    [GPU_ROOF_BF16] = {"bf16", 2, 2}, [GPU_ROOF_INT8] = {"int8", 1, 4},
    [GPU_ROOF_FP8] = {"fp8", 1, 2}};

/* cudaDataType_t of inputs and output, and cublasComputeType_t. FP32 is "pedantic", or tensor cores
 * may compute it. FP8 goes through cuBLASLt: E4M3 to BF16. */
static const struct {
    int in, out, compute;
} cuda_types[GPU_ROOF_TYPES] = {
    [GPU_ROOF_FP64] = {1, 1, 70}, [GPU_ROOF_FP32] = {0, 0, 69},   [GPU_ROOF_TF32] = {0, 0, 77},
    [GPU_ROOF_FP16] = {2, 2, 68}, [GPU_ROOF_BF16] = {14, 14, 68}, [GPU_ROOF_INT8] = {3, 10, 72},
    [GPU_ROOF_FP8] = {28, 14, 68}};

/* rocblas_datatype; 0: rocBLAS has no such product. */
static const struct {
    int in, out, compute;
} rocm_types[GPU_ROOF_TYPES] = {[GPU_ROOF_FP64] = {152, 152, 152},
                                [GPU_ROOF_FP32] = {151, 151, 151},
                                [GPU_ROOF_FP16] = {150, 150, 151},
                                [GPU_ROOF_BF16] = {168, 168, 151},
                                [GPU_ROOF_INT8] = {160, 162, 162}};

enum { CUDA_NORMAL = 0, CUDA_FLIPPED = 1, CUDA_DEFAULT_ALGORITHM = -1 };
enum { ROCM_NORMAL = 111, ROCM_FLIPPED = 112, ROCM_STANDARD_ALGORITHM = 0 };
enum { LT_FLIP_A = 3, LT_FLIP_B = 4, LT_SCALE_FP32 = 0 };
enum { RUNTIME, BLAS, LT, LIBRARIES };

/* Files of each library, the newest first. */
static const char *const cuda_files[LIBRARIES][5] = {
    [RUNTIME] = {"libcuda.so.1"},
    [BLAS] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"},
    [LT] = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}};
static const char *const rocm_files[LIBRARIES][5] = {
    [RUNTIME] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
    [BLAS] = {"librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so"}};

#define AT(member) offsetof(struct gpu_blas_calls, member)
struct symbol {
    size_t member;
    int library;
    const char *cuda, *rocm; /* NULL: that maker has none */
    bool may_lack;
};
static const struct symbol symbols[] = {
    {AT(init), RUNTIME, "cuInit", "hipInit", false},
    {AT(count), RUNTIME, "cuDeviceGetCount", "hipGetDeviceCount", false},
    {AT(device), RUNTIME, "cuDeviceGet", "hipDeviceGet", false},
    {AT(name), RUNTIME, "cuDeviceGetName", "hipDeviceGetName", false},
    {AT(retain), RUNTIME, "cuDevicePrimaryCtxRetain", NULL, false},
    {AT(release), RUNTIME, "cuDevicePrimaryCtxRelease_v2", NULL, false},
    {AT(use), RUNTIME, "cuCtxSetCurrent", NULL, false},
    {AT(set), RUNTIME, NULL, "hipSetDevice", false},
    {AT(alloc), RUNTIME, "cuMemAlloc_v2", "hipMalloc", false},
    {AT(free), RUNTIME, "cuMemFree_v2", "hipFree", false},
    {AT(upload), RUNTIME, "cuMemcpyHtoD_v2", "hipMemcpyHtoD", false},
    {AT(copy), RUNTIME, "cuMemcpyDtoDAsync_v2", "hipMemcpyDtoDAsync", false},
    {AT(event), RUNTIME, "cuEventCreate", "hipEventCreateWithFlags", false},
    {AT(record), RUNTIME, "cuEventRecord", "hipEventRecord", false},
    {AT(wait), RUNTIME, "cuEventSynchronize", "hipEventSynchronize", false},
    {AT(elapsed), RUNTIME, "cuEventElapsedTime", "hipEventElapsedTime", false},
    {AT(drop), RUNTIME, "cuEventDestroy_v2", "hipEventDestroy", false},
    {AT(cuda_error), RUNTIME, "cuGetErrorString", NULL, true},
    {AT(hip_error), RUNTIME, NULL, "hipGetErrorString", true},
    {AT(create), BLAS, "cublasCreate_v2", "rocblas_create_handle", false},
    {AT(destroy), BLAS, "cublasDestroy_v2", "rocblas_destroy_handle", false},
    {AT(status), BLAS, "cublasGetStatusString", "rocblas_status_to_string", true},
    {AT(cuda_gemm), BLAS, "cublasGemmEx", NULL, false},
    {AT(rocm_gemm), BLAS, NULL, "rocblas_gemm_ex", false},
    {AT(lt_create), LT, "cublasLtCreate", NULL, true},
    {AT(lt_destroy), LT, "cublasLtDestroy", NULL, true},
    {AT(lt_product), LT, "cublasLtMatmulDescCreate", NULL, true},
    {AT(lt_product_drop), LT, "cublasLtMatmulDescDestroy", NULL, true},
    {AT(lt_set), LT, "cublasLtMatmulDescSetAttribute", NULL, true},
    {AT(lt_layout), LT, "cublasLtMatrixLayoutCreate", NULL, true},
    {AT(lt_layout_drop), LT, "cublasLtMatrixLayoutDestroy", NULL, true},
    {AT(lt_gemm), LT, "cublasLtMatmul", NULL, true},
};

/* ---- what went wrong ---- */

static bool say_failure(char why[GPU_ROOF_WHY], const char *call, const char *text, int code)
{
    snprintf(why, GPU_ROOF_WHY, "%s: %s (%d)", call, text ? text : "error", code);
    return false;
}

static bool runtime_done(const struct gpu_blas *blas, int code, const char *call,
                         char why[GPU_ROOF_WHY])
{
    const char *text = NULL;
    if (!code)
        return true;
    if (blas->calls.cuda_error && blas->calls.cuda_error(code, &text))
        text = NULL;
    if (blas->calls.hip_error)
        text = blas->calls.hip_error(code);
    return say_failure(why, call, text, code);
}

static bool blas_done(const struct gpu_blas *blas, int code, const char *call,
                      char why[GPU_ROOF_WHY])
{
    if (!code)
        return true;
    return say_failure(why, call, blas->calls.status ? blas->calls.status(code) : NULL, code);
}

/* ---- libraries ---- */

static bool open_library(struct gpu_blas *blas, int library, char why[GPU_ROOF_WHY])
{
    const char *const *files = blas->amd ? rocm_files[library] : cuda_files[library];
    for (size_t i = 0; files[i] && !blas->libraries[library]; i++)
        blas->libraries[library] = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    if (blas->libraries[library] || library == LT)
        return true;
    snprintf(why, GPU_ROOF_WHY, "no %s: %s is not there",
             library == BLAS ? blas->name
             : blas->amd     ? "AMD HIP runtime"
                             : "NVIDIA driver",
             files[0]);
    return false;
}

/* Pointers to functions are copied, since C does not convert them. */
static bool load_symbols(struct gpu_blas *blas, char why[GPU_ROOF_WHY])
{
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        const char *symbol = blas->amd ? symbols[i].rocm : symbols[i].cuda;
        void *library = blas->libraries[symbols[i].library];
        void *found = symbol && library ? dlsym(library, symbol) : NULL;
        memcpy((char *)&blas->calls + symbols[i].member, &found, sizeof found);
        if (found || !symbol || symbols[i].may_lack)
            continue;
        snprintf(why, GPU_ROOF_WHY, "%s is too old or too new: %s is missing",
                 symbols[i].library == BLAS ? blas->name : "the driver", symbol);
        return false;
    }
    return true;
}

bool gpu_blas_open(struct gpu_blas *blas, bool amd, char why[GPU_ROOF_WHY])
{
    *blas = (struct gpu_blas){.name = amd ? "rocBLAS" : "cuBLAS", .amd = amd, .device = -1};
    bool done = open_library(blas, RUNTIME, why) && open_library(blas, BLAS, why) &&
                (amd || open_library(blas, LT, why)) && load_symbols(blas, why) &&
                runtime_done(blas, blas->calls.init(0), amd ? "hipInit" : "cuInit", why) &&
                runtime_done(blas, blas->calls.count(&blas->devices), "counting GPUs", why);
    if (done && blas->devices > 0)
        return true;
    if (done)
        snprintf(why, GPU_ROOF_WHY, "the %s knows no GPU",
                 amd ? "AMD HIP runtime" : "NVIDIA driver");
    gpu_blas_close(blas);
    return false;
}

void gpu_blas_close(struct gpu_blas *blas)
{
    gpu_blas_leave(blas);
    for (size_t i = LIBRARIES; i-- > 0;)
        if (blas->libraries[i])
            dlclose(blas->libraries[i]);
    memset(blas->libraries, 0, sizeof blas->libraries);
}

/* ---- a device ---- */

static bool make_current(struct gpu_blas *blas, int ordinal, int device, char why[GPU_ROOF_WHY])
{
    void *context = NULL;
    if (blas->amd)
        return runtime_done(blas, blas->calls.set(ordinal), "hipSetDevice", why);
    if (!runtime_done(blas, blas->calls.retain(&context, device), "cuDevicePrimaryCtxRetain", why))
        return false;
    blas->device = device;
    return runtime_done(blas, blas->calls.use(context), "cuCtxSetCurrent", why);
}

bool gpu_blas_select(struct gpu_blas *blas, int ordinal, char *name, size_t room,
                     char why[GPU_ROOF_WHY])
{
    int device = 0;
    memset(name, 0, room);
    bool done =
        runtime_done(blas, blas->calls.device(&device, ordinal), "getting the GPU", why) &&
        runtime_done(blas, blas->calls.name(name, (int)room - 1, device), "naming the GPU", why) &&
        make_current(blas, ordinal, device, why);
    blas->device = done ? device : blas->device;
    done = done && blas_done(blas, blas->calls.create(&blas->handle), blas->name, why);
    for (size_t i = 0; done && i < 2; i++)
        done = runtime_done(blas, blas->calls.event(&blas->events[i], 0), "making an event", why);
    if (done && blas->calls.lt_create && blas->calls.lt_create(&blas->lt))
        blas->lt = NULL;
    return done;
}

void gpu_blas_leave(struct gpu_blas *blas)
{
    for (size_t i = 0; i < 2; i++)
        if (blas->events[i])
            (void)blas->calls.drop(blas->events[i]);
    if (blas->lt && blas->calls.lt_destroy)
        (void)blas->calls.lt_destroy(blas->lt);
    if (blas->handle)
        (void)blas->calls.destroy(blas->handle);
    if (blas->device >= 0 && !blas->amd)
        (void)blas->calls.release(blas->device);
    blas->events[0] = blas->events[1] = blas->lt = blas->handle = NULL;
    blas->device = -1;
}

void *gpu_blas_alloc(struct gpu_blas *blas, size_t bytes)
{
    void *memory = NULL;
    return blas->calls.alloc(&memory, bytes) ? NULL : memory;
}

void gpu_blas_free(struct gpu_blas *blas, void *memory)
{
    if (memory)
        (void)blas->calls.free(memory);
}

bool gpu_blas_upload(struct gpu_blas *blas, void *to, const void *from, size_t bytes)
{
    return !blas->calls.upload(to, from, bytes);
}

bool gpu_blas_copy(struct gpu_blas *blas, void *to, const void *from, size_t bytes,
                   char why[GPU_ROOF_WHY])
{
    return runtime_done(blas, blas->calls.copy(to, from, bytes, NULL), "copying", why);
}

bool gpu_blas_begin(struct gpu_blas *blas, char why[GPU_ROOF_WHY])
{
    return runtime_done(blas, blas->calls.record(blas->events[0], NULL), "recording an event", why);
}

bool gpu_blas_end(struct gpu_blas *blas, double *seconds, char why[GPU_ROOF_WHY])
{
    float milliseconds = 0;
    bool done =
        runtime_done(blas, blas->calls.record(blas->events[1], NULL), "recording an event", why) &&
        runtime_done(blas, blas->calls.wait(blas->events[1]), "waiting for the GPU", why) &&
        runtime_done(blas, blas->calls.elapsed(&milliseconds, blas->events[0], blas->events[1]),
                     "taking the time", why);
    *seconds = (double)milliseconds / 1e3;
    return done;
}

/* ---- products ---- */

/* All of its calls, or none is of use. */
static bool has_lt(const struct gpu_blas *blas)
{
    const struct gpu_blas_calls *calls = &blas->calls;
    return blas->lt && calls->lt_gemm && calls->lt_product && calls->lt_layout && calls->lt_set &&
           calls->lt_product_drop && calls->lt_layout_drop;
}

/* FP8 takes Aᵀ·B alone, scales of one where none are set, and an algorithm of the
 * library's own choice (NULL). */
static bool lt_gemm(struct gpu_blas *blas, int n, const void *a, const void *b, void *c,
                    char why[GPU_ROOF_WHY])
{
    static const float one = 1, zero = 0;
    const int flipped = CUDA_FLIPPED, normal = CUDA_NORMAL;
    const struct gpu_blas_calls *calls = &blas->calls;
    void *product = NULL, *in = NULL, *out = NULL;
    uint64_t size = (uint64_t)n;
    if (!has_lt(blas)) {
        snprintf(why, GPU_ROOF_WHY, "cuBLASLt is not there");
        return false;
    }
    bool done =
        blas_done(blas,
                  calls->lt_product(&product, cuda_types[GPU_ROOF_FP8].compute, LT_SCALE_FP32),
                  "cuBLASLt", why) &&
        blas_done(blas, calls->lt_set(product, LT_FLIP_A, &flipped, sizeof flipped), "cuBLASLt",
                  why) &&
        blas_done(blas, calls->lt_set(product, LT_FLIP_B, &normal, sizeof normal), "cuBLASLt",
                  why) &&
        blas_done(blas, calls->lt_layout(&in, cuda_types[GPU_ROOF_FP8].in, size, size, n),
                  "cuBLASLt", why) &&
        blas_done(blas, calls->lt_layout(&out, cuda_types[GPU_ROOF_FP8].out, size, size, n),
                  "cuBLASLt", why) &&
        blas_done(blas,
                  calls->lt_gemm(blas->lt, product, &one, a, in, b, in, &zero, c, out, c, out, NULL,
                                 NULL, 0, NULL),
                  "cuBLASLt", why);
    if (out)
        (void)calls->lt_layout_drop(out);
    if (in)
        (void)calls->lt_layout_drop(in);
    if (product)
        (void)calls->lt_product_drop(product);
    return done;
}

bool gpu_blas_gemm(struct gpu_blas *blas, enum gpu_roof_type type, int n, const void *a,
                   const void *b, void *c, char why[GPU_ROOF_WHY])
{
    static const struct {
        double one64, zero64;
        float one32, zero32;
        int32_t one, zero;
    } scalars = {1, 0, 1, 0, 1, 0};
    const void *alpha = type == GPU_ROOF_FP64   ? (const void *)&scalars.one64
                        : type == GPU_ROOF_INT8 ? (const void *)&scalars.one
                                                : (const void *)&scalars.one32;
    const void *beta = type == GPU_ROOF_FP64   ? (const void *)&scalars.zero64
                       : type == GPU_ROOF_INT8 ? (const void *)&scalars.zero
                                               : (const void *)&scalars.zero32;
    if (type == GPU_ROOF_FP8 && !blas->amd)
        return lt_gemm(blas, n, a, b, c, why);
    if (!blas->amd) {
        int in = cuda_types[type].in, out = cuda_types[type].out;
        return blas_done(blas,
                         blas->calls.cuda_gemm(blas->handle, CUDA_FLIPPED, CUDA_NORMAL, n, n, n,
                                               alpha, a, in, n, b, in, n, beta, c, out, n,
                                               cuda_types[type].compute, CUDA_DEFAULT_ALGORITHM),
                         blas->name, why);
    }
    int in = rocm_types[type].in, out = rocm_types[type].out;
    if (!in) {
        snprintf(why, GPU_ROOF_WHY, "rocBLAS has no product of that type");
        return false;
    }
    return blas_done(blas,
                     blas->calls.rocm_gemm(blas->handle, ROCM_FLIPPED, ROCM_NORMAL, n, n, n, alpha,
                                           a, in, n, b, in, n, beta, c, out, n, c, out, n,
                                           rocm_types[type].compute, ROCM_STANDARD_ALGORITHM, 0, 0),
                     blas->name, why);
}
