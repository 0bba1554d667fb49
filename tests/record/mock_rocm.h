/* What mock_rocm.c and mock_rocm_app.c share. Functions by their operations. */
#define MOCK_HIP_CALLS                                                                             \
    "hipMalloc", "hipFree", "hipMemcpyAsync", "hipLaunchKernel", "hipDeviceSynchronize",           \
        "hipGetDevice"
enum { MOCK_MALLOC, MOCK_FREE, MOCK_MEMCPY, MOCK_LAUNCH, MOCK_WAIT, MOCK_GET_DEVICE };
#define MOCK_UNKNOWN_KIND 60
