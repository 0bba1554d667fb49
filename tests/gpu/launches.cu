/*
 * Known GPU work: launches of two kernels on two streams, copies, fills, a graph, waits; prints as JSON how many of each, and
 * how long a launch took. check.py compares that with the recording.
 *
 *   launches COUNT
 */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define TRY(call)                                                                                  \
    do {                                                                                           \
        cudaError_t error = (call);                                                                \
        if (error != cudaSuccess) {                                                                \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

__global__ void scale(float *values, float by)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}

__global__ void add(float *values, float what)
{
    values[blockIdx.x * blockDim.x + threadIdx.x] += what;
}

int main(int count, char **words)
{
    const int launches = count > 1 ? std::atoi(words[1]) : 10000, copies = 100, graphs = 50, nodes = 3;
    const size_t bytes = 64 * 256 * sizeof(float);
    float *device, *pinned;
    cudaStream_t streams[2];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    TRY(cudaMalloc(&device, bytes));
    TRY(cudaMallocHost(&pinned, bytes));
    for (auto &stream : streams)
        TRY(cudaStreamCreate(&stream));
    scale<<<64, 256, 0, streams[0]>>>(device, 1.0f); /* the first one loads the module */
    TRY(cudaDeviceSynchronize());
    auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; i++)
        add<<<64, 256, 0, streams[i % 2]>>>(device, 1.0f);
    auto end = std::chrono::steady_clock::now();
    TRY(cudaGetLastError());
    TRY(cudaDeviceSynchronize());
    auto done = std::chrono::steady_clock::now();
    for (int i = 0; i < copies; i++) {
        TRY(cudaMemcpyAsync(device, pinned, bytes, cudaMemcpyHostToDevice, streams[0]));
        TRY(cudaMemsetAsync(device, 1, bytes, streams[0]));
        TRY(cudaStreamSynchronize(streams[0]));
    }
    TRY(cudaStreamBeginCapture(streams[1], cudaStreamCaptureModeGlobal));
    for (int i = 0; i < nodes; i++)
        scale<<<32, 128, 0, streams[1]>>>(device, 0.5f);
    TRY(cudaStreamEndCapture(streams[1], &graph));
    TRY(cudaGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
    for (int i = 0; i < graphs; i++)
        TRY(cudaGraphLaunch(exec, streams[1]));
    TRY(cudaDeviceSynchronize());
    using ns = std::chrono::nanoseconds;
    std::printf("{\"add\": %d, \"scale\": %d, \"in_graphs\": %d, \"graphs\": %d, \"copies\": %d, \"fills\": %d, \"bytes\": %zu, "
                "\"launch_ns\": %.1f, \"wall_ns\": %lld}\n",
                launches, 1 + graphs * nodes, graphs * nodes, graphs, copies, copies, bytes,
                (double)std::chrono::duration_cast<ns>(end - begin).count() / launches,
                (long long)std::chrono::duration_cast<ns>(done - begin).count());
    return 0;
}
