/* What mock_cupti.c and mock_app.c share: the functions of an imaginary CUDA, by their numbers. */
#ifndef MOCK_CUPTI_H
#define MOCK_CUPTI_H

#define MOCK_STRANGE_KIND 63u

#define MOCK_RUNTIME_CALLS                                                                         \
    "INVALID", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020", "cudaMemsetAsync_v3020",         \
        "cudaStreamSynchronize_v3020", "cudaGetDevice_v3020", "cudaMalloc_v3020",                  \
        "cudaFree_v3020", "cudaGraphLaunch_v10000", "cudaMemcpyPeerAsync_v4000"
enum {
    MOCK_LAUNCH = 1,
    MOCK_MEMCPY,
    MOCK_MEMSET,
    MOCK_SYNC,
    MOCK_GET_DEVICE,
    MOCK_MALLOC,
    MOCK_FREE,
    MOCK_GRAPH_LAUNCH,
    MOCK_PEER
};

#define MOCK_DRIVER_CALLS "INVALID", "cuCtxGetCurrent", "cuLaunchKernelEx_ptsz", "cuMemAlloc_v2"
enum { MOCK_CTX_GET = 1, MOCK_DRIVER_LAUNCH };

#endif
