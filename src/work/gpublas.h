/*
 * gpublas — the few functions of a GPU's runtime and BLAS library that measuring its roofs takes,
 * opened at run time: NVIDIA's driver with cuBLAS and cuBLASLt, AMD's HIP runtime with rocBLAS.
 * Nothing is linked, and no header of theirs is needed: the declarations here are our own. Both
 * runtimes have the same calls under other names; a device pointer of CUDA's driver is an integer
 * as wide as a pointer, and passed like one.
 *
 * Matrices are square, column by column, the first one transposed, which is the order that every
 * library has for every type: C = Aᵀ·B.
 */
#ifndef GPUBLAS_H
#define GPUBLAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPU_ROOF_WHY 256

enum gpu_roof_type {
    GPU_ROOF_FP64,
    GPU_ROOF_FP32,
    GPU_ROOF_TF32,
    GPU_ROOF_FP16,
    GPU_ROOF_BF16,
    GPU_ROOF_INT8,
    GPU_ROOF_FP8,
    GPU_ROOF_TYPES
};

/* A type's name, and bytes of an element of inputs and of the output. */
struct gpu_roof_type_def {
    const char *name;
    unsigned bytes, out_bytes;
};
extern const struct gpu_roof_type_def gpu_roof_types[GPU_ROOF_TYPES];

struct gpu_blas_calls {
    int (*init)(unsigned flags);
    int (*count)(int *count);
    int (*device)(int *device, int ordinal);
    int (*name)(char *text, int room, int device);
    int (*retain)(void **context, int device); /* CUDA */
    int (*release)(int device);                /* CUDA */
    int (*use)(void *context);                 /* CUDA */
    int (*set)(int ordinal);                   /* HIP */
    int (*alloc)(void **memory, size_t bytes);
    int (*free)(void *memory);
    int (*upload)(void *to, const void *from, size_t bytes);
    int (*copy)(void *to, const void *from, size_t bytes, void *stream);
    int (*event)(void **event, unsigned flags);
    int (*record)(void *event, void *stream);
    int (*wait)(void *event);
    int (*elapsed)(float *milliseconds, void *from, void *to);
    int (*drop)(void *event);
    int (*cuda_error)(int code, const char **text);
    const char *(*hip_error)(int code);
    int (*create)(void **handle);
    int (*destroy)(void *handle);
    const char *(*status)(int code);
    int (*cuda_gemm)(void *handle, int flip_a, int flip_b, int m, int n, int k, const void *alpha,
                     const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                     const void *beta, void *c, int c_type, int ldc, int compute, int algorithm);
    int (*rocm_gemm)(void *handle, int flip_a, int flip_b, int m, int n, int k, const void *alpha,
                     const void *a, int a_type, int lda, const void *b, int b_type, int ldb,
                     const void *beta, const void *c, int c_type, int ldc, void *d, int d_type,
                     int ldd, int compute, int algorithm, int32_t solution, uint32_t flags);
    int (*lt_create)(void **handle);
    int (*lt_destroy)(void *handle);
    int (*lt_product)(void **product, int compute, int scale_type);
    int (*lt_product_drop)(void *product);
    int (*lt_set)(void *product, int attribute, const void *value, size_t bytes);
    int (*lt_layout)(void **layout, int type, uint64_t rows, uint64_t columns, int64_t ld);
    int (*lt_layout_drop)(void *layout);
    int (*lt_gemm)(void *handle, void *product, const void *alpha, const void *a, void *a_layout,
                   const void *b, void *b_layout, const void *beta, const void *c, void *c_layout,
                   void *d, void *d_layout, const void *algorithm, void *workspace, size_t bytes,
                   void *stream);
};

struct gpu_blas {
    const char *name; /* "cuBLAS", "rocBLAS" */
    bool amd;
    struct gpu_blas_calls calls;
    void *libraries[3];
    int devices, device; /* device: the selected one, -1 none */
    void *handle, *lt;   /* of the selected device */
    void *events[2];
};

/* Finds the libraries and counts devices. False: `why` says in one line what is missing. */
bool gpu_blas_open(struct gpu_blas *blas, bool amd, char why[GPU_ROOF_WHY]);
void gpu_blas_close(struct gpu_blas *blas);

/* The device that the calls below go to, with its product name. */
bool gpu_blas_select(struct gpu_blas *blas, int ordinal, char *name, size_t room,
                     char why[GPU_ROOF_WHY]);
void gpu_blas_leave(struct gpu_blas *blas);

/* NULL: no memory. */
void *gpu_blas_alloc(struct gpu_blas *blas, size_t bytes);
void gpu_blas_free(struct gpu_blas *blas, void *memory);
bool gpu_blas_upload(struct gpu_blas *blas, void *to, const void *from, size_t bytes);

/* Queued; false with `why`. n: rows and columns of all three. */
bool gpu_blas_copy(struct gpu_blas *blas, void *to, const void *from, size_t bytes,
                   char why[GPU_ROOF_WHY]);
bool gpu_blas_gemm(struct gpu_blas *blas, enum gpu_roof_type type, int n, const void *a,
                   const void *b, void *c, char why[GPU_ROOF_WHY]);

/* What is queued between both, in seconds of the device's clock. */
bool gpu_blas_begin(struct gpu_blas *blas, char why[GPU_ROOF_WHY]);
bool gpu_blas_end(struct gpu_blas *blas, double *seconds, char why[GPU_ROOF_WHY]);

#endif
